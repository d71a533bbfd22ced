//! Which node a packet reaches next.
//!
//! A channel leads to one node, or to the ports of a router. There the table of the router has the port for each
//! destination. The sender looks it up, so that the packet goes to that port at once.

use std::sync::Arc;

use forebay_switching::PathPolicy;

use crate::driver::prefetch::prefetch;
use crate::packet::Packet;
use crate::spec::LinkId;

pub(crate) type NodeId = u32;

/// With this many (flow, direction)s the caches do not hold what packets touch, and prefetching pays.
const BEYOND_THE_CACHE: usize = 4096;

/// The bit of an entry that is a choice among equal paths.
const CHOICE: u32 = 1 << 31;

/// An entry that leads nowhere.
const NOWHERE: u32 = !CHOICE;

/// Where to look an entry up: the same for all packets, or by destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Way(u32);

impl Way {
    /// The bit of a way by destination.
    const BY_DESTINATION: u32 = 1 << 31;

    #[inline(always)]
    fn entry(self, destination: u32) -> usize {
        // All bits if by destination, else none.
        let mask = (self.0 as i32 >> 31) as u32;
        ((self.0 & !Self::BY_DESTINATION) + (destination & mask)) as usize
    }
}

/// One of several entries, the same one for all packets of a flow.
#[derive(Clone, Debug)]
struct Choice {
    entries: Box<[u32]>,
    policy: Arc<dyn PathPolicy>,
}

/// Entries by destination: nodes for channels, ports within a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct ForwardingTable {
    entries: Vec<u32>,
    choices: Vec<Choice>,
}

impl ForwardingTable {
    /// Adds a way to the same entry for all packets.
    pub fn add(&mut self, entry: u32) -> Way {
        self.entries.push(entry.min(NOWHERE));
        Way(self.entries.len() as u32 - 1)
    }

    /// Adds a way by destination: what `entry` makes of the next hop there. Of several, `policy` chooses.
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
        Way(first | Way::BY_DESTINATION)
    }

    /// Changes every entry.
    pub fn number(&mut self, number: impl Fn(u32) -> u32) {
        let choices = self.choices.iter_mut().flat_map(|choice| &mut choice.entries);
        for entry in self.entries.iter_mut().filter(|entry| **entry < NOWHERE).chain(choices) {
            *entry = number(*entry);
        }
    }

    #[inline(always)]
    pub fn look_up(&self, way: Way, packet: &Packet, ends: &Destinations) -> u32 {
        let entry = self.entries[way.entry(ends.of(packet))];
        if entry & CHOICE == 0 { entry } else { self.choose(entry, packet, ends) }
    }

    #[inline(never)]
    fn choose(&self, entry: u32, packet: &Packet, ends: &Destinations) -> u32 {
        let Choice { entries, policy } = &self.choices[(entry & !CHOICE) as usize];
        entries[policy.choose(ends.entropies[packet.direction_index()], entries.len())]
    }
}

/// Where packets end, by (flow, direction).
#[derive(Debug, Default)]
pub(crate) struct Destinations {
    numbers: Vec<u32>,
    /// What equal paths are chosen by; empty without any.
    entropies: Vec<u32>,
}

impl Destinations {
    pub fn new(numbers: Vec<u32>, entropies: Vec<u32>) -> Self {
        Self { numbers, entropies }
    }

    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    #[inline(always)]
    pub fn of(&self, packet: &Packet) -> u32 {
        self.numbers[packet.direction_index()]
    }
}

/// Clones share the tables.
#[derive(Clone, Default)]
pub(crate) struct Routes {
    pub destinations: Arc<Destinations>,
    table: Arc<ForwardingTable>,
}

impl Routes {
    pub fn new(destinations: Destinations, table: ForwardingTable) -> Self {
        Self { destinations: Arc::new(destinations), table: Arc::new(table) }
    }

    /// Renumbers nodes by their `places`.
    pub fn number(&mut self, places: &[NodeId]) {
        if let Some(table) = Arc::get_mut(&mut self.table) {
            table.number(|node| places[node as usize]);
        }
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
