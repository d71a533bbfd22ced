//! Which node a packet reaches next.
//!
//! A channel leads to one node, or to the ports of a router. There the table of the router has the port for each
//! destination. The sender looks it up, so that the packet goes to that port at once.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use forebay_qdisc::Time;
use forebay_switching::PathPolicy;

use crate::driver::prefetch::prefetch;
use crate::packet::side_tables::SideTables;
use crate::packet::{FlowId, Packet};
use crate::spec::LinkId;

pub(crate) type NodeId = u32;

/// The number of (flow, direction)s from which prefetching pays: the caches do not hold what packets touch.
const BEYOND_THE_CACHE: usize = 4096;

/// The number of packets ahead that nodes prefetch then.
pub(crate) const PACKETS_AHEAD: usize = 8;

const WORD_BITS: usize = u64::BITS as usize;

/// The bit of an entry that is a choice among several.
const CHOICE: u32 = 1 << 31;

/// How many choices back an equal one is looked for.
const RECENT_CHOICES: usize = 8;

/// An entry that leads nowhere.
pub(crate) const NOWHERE: u32 = !CHOICE;

/// The next entry, or where in a table the entry for destination 0 is; the others follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Way(u32);

impl Way {
    /// The bit of an entry that needs no table.
    const DIRECT: u32 = 1 << 31;

    /// Leads all packets to the same entry.
    pub const fn to(entry: u32) -> Self {
        Self(entry | Self::DIRECT)
    }
}

/// The number of the routes that hold at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Periods(Arc<[(Time, usize)]>);

impl Periods {
    /// From each time on, the number of the routes, in the order of time.
    pub fn new(changes: impl Iterator<Item = (Time, usize)>) -> Self {
        Self(changes.collect())
    }

    /// How many different routes there are.
    pub fn routes(&self) -> usize {
        1 + self.0.iter().map(|&(_, number)| number).max().unwrap_or(0)
    }

    /// The number of the routes at `time`: 0 for the usual ones.
    pub fn at(&self, time: Time) -> usize {
        let begun = self.0.partition_point(|&(from, _)| from <= time);
        begun.checked_sub(1).map_or(0, |last| self.0[last].1)
    }
}

/// One of several entries.
#[derive(Clone, Debug)]
enum Choice {
    /// The policy chooses, by the flow and perhaps the time.
    ByPolicy { entries: Box<[u32]>, policy: Arc<dyn PathPolicy> },
    /// By the routes that hold when the packet comes to the node.
    ByTime(Box<[u32]>),
    /// The node itself chooses, among the entries of the set of this number.
    OfSet(u32),
}

/// The entry of a table where several next hops are equal.
pub(crate) enum Among<'a> {
    /// That of the first next hop.
    First,
    /// A choice by this policy.
    Policy(&'a Arc<dyn PathPolicy>),
    /// This one: a node of the driver that chooses.
    Entry(u32),
    /// A set of entries, among which the owner of the table chooses.
    Sets(&'a mut EntrySets),
    /// The same, and a set where there is one next hop, too.
    All(&'a mut EntrySets),
}

/// The different sets of entries of a table.
#[derive(Default)]
pub(crate) struct EntrySets {
    /// The entry in the table for each set, whose entries rise.
    by_entries: BTreeMap<Box<[u32]>, u32>,
    pub sets: Vec<Box<[u32]>>,
}

/// Makes the entries of a table, and the choices among them.
#[derive(Default)]
pub(crate) struct TableBuilder {
    entries: Vec<u32>,
    choices: Vec<Choice>,
    periods: Periods,
}

impl TableBuilder {
    /// A table for routes that change in these `periods`.
    pub fn new(periods: Periods) -> Self {
        Self { entries: Vec::new(), choices: Vec::new(), periods }
    }

    /// Adds a way by destination, with the `entry` of the next hop there. `hops` are the next ones in the routes of a
    /// number to a destination.
    pub fn add_by_destination<'a>(
        &mut self,
        destinations: Range<u32>,
        hops: impl Fn(usize, u32) -> &'a [LinkId],
        entry: impl Fn(LinkId) -> u32,
        mut among: Among<'_>,
    ) -> Way {
        let (first, first_choice, routes) = (self.entries.len() as u32, self.choices.len(), self.periods.routes());
        for destination in destinations {
            let mut of_routes = |number| {
                let equal = hops(number, destination);
                let entries = || equal.iter().map(|&link| entry(link));
                match (equal, &mut among) {
                    ([], _) => NOWHERE,
                    (_, Among::All(known)) => self.add_set(known, entries().collect()),
                    (&[only], _) | (&[only, ..], Among::First) => entry(only).min(NOWHERE),
                    (_, Among::Policy(policy)) => self.add_choice(first_choice, entries().collect(), policy),
                    (_, Among::Entry(entry)) => *entry,
                    (_, Among::Sets(known)) => self.add_set(known, entries().collect()),
                }
            };
            let usual = of_routes(0);
            let others: Vec<u32> = (1..routes).map(of_routes).collect();
            let changes = others.iter().any(|&entry| entry != usual);
            if changes {
                self.choices.push(Choice::ByTime(std::iter::once(usual).chain(others).collect()));
            }
            self.entries.push(if changes { CHOICE | (self.choices.len() as u32 - 1) } else { usual });
        }
        Way(first)
    }

    /// The entry of a choice by a policy, of those from `first` on: destinations behind the same node have the same
    /// one.
    fn add_choice(&mut self, first: usize, entries: Box<[u32]>, policy: &Arc<dyn PathPolicy>) -> u32 {
        let is_same = |choice: &Choice| matches!(choice, Choice::ByPolicy { entries: known, .. } if *known == entries);
        let recent = self.choices.len().saturating_sub(RECENT_CHOICES).max(first);
        let known = self.choices[recent..].iter().rposition(is_same).map(|place| recent + place);
        let place = known.unwrap_or_else(|| {
            self.choices.push(Choice::ByPolicy { entries, policy: Arc::clone(policy) });
            self.choices.len() - 1
        });
        CHOICE | place as u32
    }

    /// The entry of a choice among the entries of a set.
    fn add_set(&mut self, known: &mut EntrySets, mut entries: Vec<u32>) -> u32 {
        entries.sort_unstable();
        let entries: Box<[u32]> = entries.into();
        *known.by_entries.entry(entries).or_insert_with_key(|entries| {
            self.choices.push(Choice::OfSet(known.sets.len() as u32));
            known.sets.push(entries.clone());
            CHOICE | (self.choices.len() as u32 - 1)
        })
    }

    pub fn finish(self) -> ForwardingTable {
        ForwardingTable { entries: self.entries.into(), choices: self.choices.into(), periods: self.periods }
    }
}

/// Entries by destination: nodes for channels, ports within a node. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct ForwardingTable {
    entries: Arc<[u32]>,
    choices: Arc<[Choice]>,
    periods: Periods,
}

impl ForwardingTable {
    /// The entry for a packet. In a table with sets it may be [one of these](ForwardingTable::set_of).
    #[inline(always)]
    pub fn look_up(&self, way: Way, packet: &Packet, ends: &Destinations, tables: &SideTables) -> u32 {
        if way.0 & Way::DIRECT != 0 {
            return way.0 & !Way::DIRECT;
        }
        let entry = self.entries[(way.0 + ends.of(packet)) as usize];
        if entry & CHOICE == 0 { entry } else { self.choose(entry, packet, ends, tables) }
    }

    #[inline(never)]
    fn choose(&self, entry: u32, packet: &Packet, ends: &Destinations, tables: &SideTables) -> u32 {
        match &self.choices[(entry & !CHOICE) as usize] {
            Choice::ByPolicy { entries, policy } => {
                let entropy = with_packet(ends.entropies[packet.direction_index()], tables.entropy(packet));
                entries[policy.choose(entropy, packet.time, entries.len())]
            }
            Choice::ByTime(entries) => {
                let entry = entries[self.periods.at(packet.time)];
                if entry & CHOICE == 0 { entry } else { self.choose(entry, packet, ends, tables) }
            }
            Choice::OfSet(number) => CHOICE | number,
        }
    }

    /// The number of the set that a looked up entry is; `None` for a single entry.
    #[inline]
    pub fn set_of(entry: u32) -> Option<usize> {
        (entry & CHOICE != 0).then_some((entry & !CHOICE) as usize)
    }
}

/// The entropy of a packet, from that of its flow and direction and its own; 0 for none.
fn with_packet(of_flow: u32, of_packet: u16) -> u32 {
    // The policy mixes the bits; here different packets of a flow only must differ.
    of_flow ^ u32::from(of_packet).wrapping_mul(0x9e37_79b1)
}

/// The destinations of packets, by (flow, direction). Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Destinations {
    /// The number of a node where no packets end is beyond those of destinations.
    numbers: Arc<[u32]>,
    /// The hashes by which equal paths are chosen; empty without any.
    entropies: Arc<[u32]>,
    /// The flows whose headers are encrypted, and pings, which have no TCP header: a bit each; empty without any.
    encrypted: Arc<[u64]>,
}

impl Destinations {
    pub fn new(numbers: Vec<u32>, entropies: Vec<u32>) -> Self {
        Self { numbers: numbers.into(), entropies: entropies.into(), encrypted: Arc::default() }
    }

    /// The same, where the headers of these flows are encrypted.
    pub fn with_encrypted(self, flows: impl Iterator<Item = FlowId>) -> Self {
        let mut bits = Vec::new();
        for flow in flows {
            let word = flow as usize / WORD_BITS;
            bits.resize(bits.len().max(word + 1), 0);
            bits[word] |= 1 << (flow as usize % WORD_BITS);
        }
        Self { encrypted: bits.into(), ..self }
    }

    /// Whether no node can read the headers of a flow behind its addresses and ports.
    pub fn is_encrypted(&self, flow: FlowId) -> bool {
        let word = self.encrypted.get(flow as usize / WORD_BITS);
        word.is_some_and(|word| word >> (flow as usize % WORD_BITS) & 1 != 0)
    }

    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The number of the node where the packets of a (flow, direction) end; `None` if there are no such packets.
    pub fn get(&self, direction: usize) -> Option<u32> {
        self.numbers.get(direction).copied()
    }

    #[inline(always)]
    pub fn of(&self, packet: &Packet) -> u32 {
        self.numbers[packet.direction_index()]
    }

    /// The numbers of the nodes where a packet begins and ends: the packets of the other direction end where it begins.
    pub fn of_both_ends(&self, packet: &Packet) -> [u32; 2] {
        [packet.direction_index() ^ 1, packet.direction_index()].map(|direction| self.numbers[direction])
    }
}

/// Clones share the tables.
#[derive(Clone, Default)]
pub(crate) struct Routes {
    pub destinations: Destinations,
    table: ForwardingTable,
}

impl Routes {
    pub fn new(destinations: Destinations, table: TableBuilder) -> Self {
        Self { destinations, table: table.finish() }
    }

    /// Whether prefetching pays. WebAssembly has no instruction for it.
    #[inline]
    pub fn are_many(&self) -> bool {
        !cfg!(target_family = "wasm") && self.destinations.len() >= BEYOND_THE_CACHE
    }

    #[inline]
    pub fn prefetch(&self, direction: usize) {
        prefetch(&self.destinations.numbers[direction]);
    }

    /// The next node of a packet that is being sent.
    #[inline(always)]
    pub fn next(&self, way: Way, packet: &Packet, tables: &SideTables) -> NodeId {
        self.table.look_up(way, packet, &self.destinations, tables)
    }
}
