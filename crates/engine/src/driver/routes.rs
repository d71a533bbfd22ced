//! Which node a packet reaches next.
//!
//! A channel leads to one node, or to the ports of a router. There the table of the router has the port for each
//! destination. The sender looks it up, so that the packet goes to that port at once.

use std::sync::Arc;

use forebay_switching::PathPolicy;

use crate::driver::prefetch::prefetch;
use crate::packet::{FlowId, Packet};
use crate::spec::LinkId;

pub(crate) type NodeId = u32;

/// The number of (flow, direction)s from which prefetching pays: the caches do not hold what packets touch.
const BEYOND_THE_CACHE: usize = 4096;

/// The number of packets ahead that nodes prefetch then.
pub(crate) const PACKETS_AHEAD: usize = 8;

const WORD_BITS: usize = u64::BITS as usize;

/// The bit of an entry that is a choice among equal paths.
const CHOICE: u32 = 1 << 31;

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

/// One of several entries, the same one for all packets of a flow.
#[derive(Clone, Debug)]
struct Choice {
    entries: Box<[u32]>,
    policy: Arc<dyn PathPolicy>,
}

/// Makes the entries of a table, and the choices among them.
#[derive(Default)]
pub(crate) struct TableBuilder {
    entries: Vec<u32>,
    choices: Vec<Choice>,
}

impl TableBuilder {
    /// Adds a way by destination, with the `entry` of the next hop there. `policy` chooses among several.
    pub fn add_by_destination<'a>(
        &mut self,
        next_hops: impl Iterator<Item = &'a [LinkId]>,
        entry: impl Fn(LinkId) -> u32,
        policy: Option<&Arc<dyn PathPolicy>>,
    ) -> Way {
        let (first, first_choice) = (self.entries.len() as u32, self.choices.len());
        for equal in next_hops {
            let entry = match (equal, policy) {
                ([], _) => NOWHERE,
                (&[only], _) | (&[only, ..], None) => entry(only).min(NOWHERE),
                (_, Some(policy)) => {
                    let entries: Box<[u32]> = equal.iter().map(|&link| entry(link)).collect();
                    // Destinations behind the same node have the same choice.
                    if self.choices[first_choice..].last().is_none_or(|last| last.entries != entries) {
                        self.choices.push(Choice { entries, policy: Arc::clone(policy) });
                    }
                    CHOICE | (self.choices.len() as u32 - 1)
                }
            };
            self.entries.push(entry);
        }
        Way(first)
    }

    pub fn finish(self) -> ForwardingTable {
        ForwardingTable { entries: self.entries.into(), choices: self.choices.into() }
    }
}

/// Entries by destination: nodes for channels, ports within a node. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct ForwardingTable {
    entries: Arc<[u32]>,
    choices: Arc<[Choice]>,
}

impl ForwardingTable {
    #[inline(always)]
    pub fn look_up(&self, way: Way, packet: &Packet, ends: &Destinations) -> u32 {
        if way.0 & Way::DIRECT != 0 {
            return way.0 & !Way::DIRECT;
        }
        let entry = self.entries[(way.0 + ends.of(packet)) as usize];
        if entry & CHOICE == 0 { entry } else { self.choose(entry, packet, ends) }
    }

    #[inline(never)]
    fn choose(&self, entry: u32, packet: &Packet, ends: &Destinations) -> u32 {
        let Choice { entries, policy } = &self.choices[(entry & !CHOICE) as usize];
        entries[policy.choose(ends.entropies[packet.direction_index()], entries.len())]
    }
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

    #[inline]
    pub fn are_many(&self) -> bool {
        self.destinations.len() >= BEYOND_THE_CACHE
    }

    #[inline]
    pub fn prefetch(&self, direction: usize) {
        prefetch(&self.destinations.numbers[direction]);
    }

    /// The next node of a packet that is being sent.
    #[inline(always)]
    pub fn next(&self, way: Way, packet: &Packet) -> NodeId {
        self.table.look_up(way, packet, &self.destinations)
    }
}
