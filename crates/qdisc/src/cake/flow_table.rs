//! The queues of a tin: an 8-way set-associative hash of flows, and another one of the hosts between which they go.

use alloc::vec;
use alloc::vec::Vec;

use super::sizes::{QUEUES, WAYS};
use crate::cobalt::CobaltState;
use crate::memory::heap_bytes;
use crate::packet_pool::Chain;

/// Whose packets share a queue, and between whom the bandwidth is shared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum CakeIsolation {
    /// One queue for all.
    Flowblind,
    /// A queue for each sending host.
    Srchost,
    /// A queue for each receiving host.
    Dsthost,
    /// A queue for each pair of hosts.
    Hosts,
    /// A queue for each flow.
    Flows,
    /// A queue for each flow; sending hosts have equal shares, then the flows of each.
    DualSrchost,
    /// A queue for each flow; receiving hosts have equal shares, then the flows of each.
    DualDsthost,
    /// A queue for each flow; the share of a flow is that of the busier of its two hosts, divided by its flows.
    #[default]
    TripleIsolate,
}

impl CakeIsolation {
    /// `CAKE_FLOW_FLOWS`: whether each flow has a queue.
    pub(super) const fn is_by_flow(self) -> bool {
        matches!(self, Self::Flows | Self::DualSrchost | Self::DualDsthost | Self::TripleIsolate)
    }

    /// `cake_dsrc`: whether flows divide the share of their sender.
    const fn shares_by_source(self) -> bool {
        matches!(self, Self::DualSrchost | Self::TripleIsolate)
    }

    /// `cake_ddst`: whether flows divide the share of their receiver.
    const fn shares_by_destination(self) -> bool {
        matches!(self, Self::DualDsthost | Self::TripleIsolate)
    }
}

/// The state of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    /// It has been empty for long; any flow may have it.
    None,
    /// It has not used up its first quantum.
    Sparse,
    /// It ran empty as a sparse one, and waits among the bulk queues.
    SparseWait,
    Bulk,
    /// It is empty, and its law is not yet at rest.
    Decaying,
}

/// A queue of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowQueue {
    pub packets: Chain,
    /// The law's state. It outlives the packets.
    pub cobalt: CobaltState,
    /// Bytes that it may still send in its turn; negative when it has overdrawn.
    pub deficit: i32,
    /// Places of its hosts in the table of hosts.
    source: u16,
    destination: u16,
    pub set: Set,
}

const UNUSED: FlowQueue = FlowQueue {
    packets: Chain::EMPTY,
    cobalt: CobaltState::NEW,
    deficit: 0,
    source: 0,
    destination: 0,
    set: Set::None,
};

/// The hosts at a place of the table, one that sends and one that receives.
#[derive(Clone, Copy, Debug, Default)]
struct HostPlace {
    tags: [u32; 2],
    bulk_flows: [u16; 2],
}

const SOURCE: usize = 0;
const DESTINATION: usize = 1;

/// The results of searches for a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WayCounts {
    /// The flow had the queue of its hash.
    pub directs: u64,
    /// The flow had another queue of its set.
    pub hits: u64,
    /// The flow got a queue that no other had.
    pub misses: u64,
    /// The flow shares a queue, since all of its set were in use.
    pub collisions: u64,
}

/// The queues of a tin with their hosts.
#[derive(Clone, Debug)]
pub(super) struct FlowTable {
    isolation: CakeIsolation,
    pub queues: Vec<FlowQueue>,
    /// The hash of the flow that had each queue last.
    tags: Vec<u32>,
    hosts: Vec<HostPlace>,
    pub ways: WayCounts,
}

impl FlowTable {
    pub fn new(isolation: CakeIsolation) -> Self {
        Self {
            isolation,
            queues: vec![UNUSED; QUEUES],
            tags: vec![0; QUEUES],
            hosts: vec![HostPlace::default(); QUEUES],
            ways: WayCounts::default(),
        }
    }

    pub fn heap_bytes(&self) -> u64 {
        heap_bytes(&self.queues) + heap_bytes(&self.tags) + heap_bytes(&self.hosts)
    }

    /// `cake_hash`: the queue for a packet whose flow has this hash. `host_hashes` are those of its sender and its
    /// receiver.
    pub fn classify(&mut self, flow_hash: u32, host_hashes: impl FnOnce() -> [u32; 2]) -> usize {
        let own = flow_hash as usize % QUEUES;
        if self.tags[own] == flow_hash && self.queues[own].set != Set::None {
            self.ways.directs += 1;
            return own;
        }
        let index = match ways(own).find(|&way| self.tags[way] == flow_hash) {
            Some(way) => {
                self.ways.hits += u64::from(way != own);
                if self.queues[way].set == Set::None {
                    self.refer_to_hosts(way, host_hashes);
                }
                way
            }
            None => match ways(own).find(|&way| self.queues[way].set == Set::None) {
                Some(way) => {
                    self.ways.misses += 1;
                    self.refer_to_hosts(way, host_hashes);
                    way
                }
                None => {
                    self.ways.collisions += 1;
                    // The queue goes over to the hosts of the packet.
                    let is_bulk = self.queues[own].set == Set::Bulk;
                    if is_bulk {
                        self.leave_bulk(own);
                    }
                    self.refer_to_hosts(own, host_hashes);
                    if is_bulk {
                        self.enter_bulk(own);
                    }
                    own
                }
            },
        };
        self.tags[index] = flow_hash;
        index
    }

    /// The queue of a flow that is in use, if there is one.
    pub fn find(&self, flow_hash: u32) -> Option<&FlowQueue> {
        let is_its = |&way: &usize| self.tags[way] == flow_hash && self.queues[way].set != Set::None;
        ways(flow_hash as usize % QUEUES).find(is_its).map(|way| &self.queues[way])
    }

    /// Notes the hosts of the packet that comes to a queue, if they matter.
    fn refer_to_hosts(&mut self, index: usize, hashes: impl FnOnce() -> [u32; 2]) {
        let (by_source, by_destination) = (self.isolation.shares_by_source(), self.isolation.shares_by_destination());
        if !by_source && !by_destination {
            return;
        }
        let hashes = hashes();
        if by_source {
            self.queues[index].source = self.host(SOURCE, hashes[SOURCE]);
        }
        if by_destination {
            self.queues[index].destination = self.host(DESTINATION, hashes[DESTINATION]);
        }
    }

    /// The place of a host at this end: its own, one without bulk flows, or that of its hash.
    fn host(&mut self, end: usize, hash: u32) -> u16 {
        let own = hash as usize % QUEUES;
        let known = ways(own).find(|&way| self.hosts[way].tags[end] == hash);
        let free = || ways(own).find(|&way| self.hosts[way].bulk_flows[end] == 0);
        let place = known.or_else(free).unwrap_or(own);
        self.hosts[place].tags[end] = hash;
        place as u16
    }

    /// A queue becomes a bulk one.
    pub fn enter_bulk(&mut self, index: usize) {
        self.change_bulk_flows(index, |flows| (flows + 1).min(QUEUES as u16));
    }

    /// A queue is a bulk one no longer.
    pub fn leave_bulk(&mut self, index: usize) {
        self.change_bulk_flows(index, |flows| flows.saturating_sub(1));
    }

    fn change_bulk_flows(&mut self, index: usize, change: impl Fn(u16) -> u16) {
        let FlowQueue { source, destination, .. } = self.queues[index];
        if self.isolation.shares_by_source() {
            let flows = &mut self.hosts[usize::from(source)].bulk_flows[SOURCE];
            *flows = change(*flows);
        }
        if self.isolation.shares_by_destination() {
            let flows = &mut self.hosts[usize::from(destination)].bulk_flows[DESTINATION];
            *flows = change(*flows);
        }
    }

    /// `host_load`: the bulk flows of the busier of the hosts that count.
    pub fn host_load(&self, index: usize) -> u16 {
        let FlowQueue { source, destination, .. } = self.queues[index];
        let bulk_flows = |counts: bool, place: u16, end: usize| {
            if counts { self.hosts[usize::from(place)].bulk_flows[end] } else { 0 }
        };
        let of_source = bulk_flows(self.isolation.shares_by_source(), source, SOURCE);
        let of_destination = bulk_flows(self.isolation.shares_by_destination(), destination, DESTINATION);
        of_source.max(of_destination).max(1)
    }
}

/// The ways of a set, from this one round.
fn ways(own: usize) -> impl Iterator<Item = usize> {
    let (way, first) = (own % WAYS, own - own % WAYS);
    (0..WAYS).map(move |step| first + (way + step) % WAYS)
}

#[cfg(test)]
#[path = "flow_table_tests.rs"]
mod tests;
