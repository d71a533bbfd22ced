//! DRR, deficit round robin: a queue for each flow, served round-robin by bytes.
//!
//! # What it does
//! Each flow has a queue. The queues that hold packets take turns. In its turn a flow may send as many bytes as its
//! deficit counter holds; the counter grows by one quantum each turn and carries over what was not used. Long packets
//! gain nothing over short ones, and each packet costs O(1). All flows share one buffer. When it is full, a packet of
//! the longest queue makes room, so that a flood cannot take the buffer from other flows.
//!
//! # When to use it
//! Use it for equal or weighted shares by bytes, with a queue for each flow. Nothing is dropped early: a flow that
//! fills its own queue waits long in it. Use `fq_codel` where that delay matters.
//!
//! # Example
//! ```toml
//! queue.drr = { quantum = "1500 B", weights = [{ class = 1, weight = 4 }] }
//! ```
//!
//! Set `quantum` to at least the length of the longest packet. `weights` gives the flows of a traffic class a multiple
//! of it; without `weights` all shares are equal.
//!
//! # Source
//! M. Shreedhar and G. Varghese, "Efficient Fair Queueing Using Deficit Round Robin", SIGCOMM 1995; the buffer stealing
//! is McKenney's.
//!
//! # Where we differ
//! - Flows are distinguished exactly, unless `buckets` asks for the paper's hash.
//! - The victim comes from the tail of the longest queue, as in the paper; ns-2 takes the head (`steal_from_head`). We
//!   do not copy ns-2's error with a queue emptied by stealing, which loses its quantum.
//! - "Longest" means by bytes. The longest queue is the first of an indexed heap, so that a drop with n flows costs
//!   O(log n) instead of a walk over all of them. Among equally long queues the smallest slot number wins.
//!
//! # Cost
//! An entry for each flow with packets queued, or for each of `buckets`. A packet takes O(1) on average (a hash table;
//! when it doubles, one call moves its entries). Finding the longest of n such queues takes O(log n). This applies if a
//! flow's quantum is at least a packet. Otherwise flows take turns until the first has saved enough: for each of the n
//! flows, up to one turn less than the longest packet has quanta. That is 43 000 turns for 1000 flows with packets of
//! 65535 B and quanta of 1500 B. A packet that arrives at a full buffer evicts one packet, or, where the limit is in
//! bytes, as many as make room for it. No random numbers.
//!
//! # Parameters
//! See [`DrrConfig`].

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::cmp::Reverse;

use forebay_units::{Bytes, QueueSize, Rate};

use crate::class_weight::{ClassWeight, weights_by_class};
use crate::flow_slots::FlowSlots;
use crate::indexed_heap::IndexedHeap;
use crate::limit::Limit;
use crate::memory::{heap_bytes, inline_bytes};
use crate::require;
use crate::{Backlog, Cx, Discipline, DropReason, FlowKey, Packet, ParameterError, Served, hash_flow};

parameters! {
    /// Parameters of DRR.
    pub struct DrrConfig {
        /// Limit of all queues together, in packets or bytes, not counting the packet being sent. Default: 1000
        /// packets.
        pub limit: QueueSize = QueueSize::Packets(1000);
        /// Quantum: bytes that a flow of weight 1 may send in each round. At least one packet makes a round O(1).
        /// Default: 1500 B.
        pub quantum: Bytes = Bytes(1500);
        /// Number of queues to which flows are hashed; flows in one bucket share a queue. Default: a queue for each
        /// flow.
        pub buckets: Option<u32> = None;
        /// Weights of flows by traffic class: multiples of the quantum. A flow has the weight of the class of the first
        /// packet in its queue. Default: 1 for all.
        pub weights: Vec<ClassWeight> = Vec::new();
        /// Whether a full buffer drops the head of the longest queue instead of its tail. Default: no (paper); ns-2
        /// does so.
        pub steal_from_head: bool = false;
    }
}

/// The end of the round's list.
const NONE: u32 = u32::MAX;

/// A flow that has packets queued.
#[derive(Clone, Debug)]
struct Flow<P> {
    packets: VecDeque<P>,
    bytes: u64,
    deficit: u64,
    quantum: u64,
    /// Whether this turn's quantum is still to be granted.
    fresh: bool,
    previous: u32,
    next: u32,
}

impl<P> Default for Flow<P> {
    fn default() -> Self {
        Self { packets: VecDeque::new(), bytes: 0, deficit: 0, quantum: 0, fresh: true, previous: NONE, next: NONE }
    }
}

/// DRR: deficit round robin.
#[derive(Clone, Debug)]
pub struct Drr<P> {
    limit: Limit,
    quanta: Vec<u64>,
    buckets: Option<u64>,
    salt: u64,
    steal_from_head: bool,

    flows: FlowSlots<Flow<P>>,
    /// The list of active flows: whose turn it is, and the last.
    turn: u32,
    last: u32,
    longest: IndexedHeap<Reverse<u64>>,
    backlog: Backlog,
}

impl<P: Packet> Drr<P> {
    /// An empty DRR. `salt` goes into the hash of flows; the link's rate does not matter.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &DrrConfig, _link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        require((1..=1 << 32).contains(&config.quantum.0), "quantum", "be between 1 B and 4294967296 B")?;
        require(config.buckets != Some(0), "buckets", "be at least 1")?;
        let weights = weights_by_class(&config.weights)?;
        let quantum = config.quantum.0 as f64;
        Ok(Self {
            limit,
            quanta: weights.iter().map(|weight| libm::round(quantum * weight).max(1.0) as u64).collect(),
            buckets: config.buckets.map(u64::from),
            salt,
            steal_from_head: config.steal_from_head,
            flows: FlowSlots::new(salt),
            turn: NONE,
            last: NONE,
            longest: IndexedHeap::new(),
            backlog: Backlog::default(),
        })
    }

    /// The queue of a flow: its own, or its bucket.
    fn queue_of(&self, flow: FlowKey) -> FlowKey {
        match self.buckets {
            Some(buckets) => FlowKey(((hash_flow(flow, self.salt) >> 32) * buckets) >> 32),
            None => flow,
        }
    }

    /// Puts a flow at the end of the round.
    fn append(&mut self, slot: u32) {
        let last = core::mem::replace(&mut self.last, slot);
        self.flows[slot].previous = last;
        self.flows[slot].next = NONE;
        match last {
            NONE => self.turn = slot,
            last => self.flows[last].next = slot,
        }
    }

    /// Takes a flow out of the round.
    fn unlink(&mut self, slot: u32) {
        let (previous, next) = (self.flows[slot].previous, self.flows[slot].next);
        match previous {
            NONE => self.turn = next,
            previous => self.flows[previous].next = next,
        }
        match next {
            NONE => self.last = previous,
            next => self.flows[next].previous = previous,
        }
    }

    /// Keeps the counters after a packet of `len_bytes` has left the queue of `slot`; forgets a flow that has no more.
    fn removed(&mut self, slot: u32, len_bytes: u32) {
        let flow = &mut self.flows[slot];
        flow.bytes -= u64::from(len_bytes);
        self.backlog.bytes -= u64::from(len_bytes);
        self.backlog.packets -= 1;
        if flow.packets.is_empty() {
            self.longest.remove(slot);
            self.unlink(slot);
            self.flows.remove(slot);
        } else {
            self.longest.set(slot, Reverse(flow.bytes));
        }
    }

    /// Drops a packet of the longest queue. `arrived` is the queue whose last packet has just arrived.
    fn steal(&mut self, arrived: u32, cx: &mut Cx<'_, P>) {
        let Some((_, victim)) = self.longest.first() else { return };
        let queue = &mut self.flows[victim].packets;
        let is_arrival = victim == arrived && (queue.len() == 1 || !self.steal_from_head);
        let Some(packet) = (if self.steal_from_head { queue.pop_front() } else { queue.pop_back() }) else { return };
        self.removed(victim, packet.len_bytes());
        let reason = if is_arrival { DropReason::Overflow } else { DropReason::Evicted };
        cx.sink.dropped(packet, reason, !is_arrival);
    }
}

impl<P: Packet> Discipline<P> for Drr<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let len_bytes = packet.len_bytes();
        if !self.limit.fits(Backlog::default(), len_bytes) {
            // Longer than the whole buffer: no other packet should be lost for it.
            return cx.sink.dropped(packet, DropReason::Overflow, false);
        }
        let (slot, fresh) = self.flows.find_or_insert(self.queue_of(packet.flow()));
        if fresh {
            let flow = &mut self.flows[slot];
            (flow.bytes, flow.deficit, flow.fresh) = (0, 0, true);
            flow.quantum = self.quanta[usize::from(packet.class())];
            self.append(slot);
        }
        let flow = &mut self.flows[slot];
        flow.packets.push_back(packet);
        flow.bytes += u64::from(len_bytes);
        self.longest.set(slot, Reverse(flow.bytes));
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(len_bytes);
        while self.limit.is_exceeded_by(self.backlog) {
            self.steal(slot, cx);
        }
    }

    /// Paper, section 3: one quantum a turn; a flow keeps its turn while its deficit covers its first packet.
    fn dequeue(&mut self, _cx: &mut Cx<'_, P>) -> Served<P> {
        loop {
            let slot = self.turn;
            if slot == NONE {
                return Served::Idle;
            }
            let flow = &mut self.flows[slot];
            if core::mem::take(&mut flow.fresh) {
                flow.deficit += flow.quantum;
            }
            let Some(len_bytes) = flow.packets.front().map(Packet::len_bytes) else { return Served::Idle };
            if u64::from(len_bytes) <= flow.deficit {
                flow.deficit -= u64::from(len_bytes);
                let packet = flow.packets.pop_front();
                self.removed(slot, len_bytes);
                return packet.into();
            }
            flow.fresh = true;
            self.unlink(slot);
            self.append(slot);
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + heap_bytes(&self.quanta) + self.flows.heap_bytes() + self.longest.heap_bytes()
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("active_flows", self.flows.len() as f64);
        visit("longest_queue_bytes", self.longest.first().map_or(0.0, |(Reverse(bytes), _)| bytes as f64));
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        let state = self.flows.find(self.queue_of(flow)).map(|slot| &self.flows[slot]);
        visit("length_bytes", state.map_or(0.0, |flow| flow.bytes as f64));
        visit("deficit_bytes", state.map_or(0.0, |flow| flow.deficit as f64));
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::test_support::{Bench, LINK, Labelled};

    fn bench(config: &DrrConfig) -> Bench<Drr<Labelled>> {
        Bench::new(Drr::new(config, LINK, 5).unwrap())
    }

    #[test]
    fn the_papers_example_is_served_in_its_order() {
        // Figures 1 to 3 of the paper: quantum 500, four queues. Labels are flow * 1000 + size.
        let mut bench = bench(&DrrConfig { quantum: Bytes(500), ..DrrConfig::default() });
        let queues: [(u32, &[u32]); 4] =
            [(1, &[20, 750, 200]), (2, &[500, 500]), (3, &[200, 600, 100]), (4, &[50, 700, 180])];
        for (flow, sizes) in queues {
            for size in sizes {
                bench.enqueue(Labelled::new(flow * 1000 + size, u64::from(flow), *size, 0));
            }
        }
        let order = vec![1020, 2500, 3200, 4050, 1750, 1200, 2500, 3600, 3100, 4700, 4180];
        assert_eq!(bench.drain(), order);
        assert_eq!(bench.discipline.flows.len(), 0);
    }

    #[test]
    fn weights_share_the_link() {
        let weights = vec![ClassWeight { class: 1, weight: 2.0 }, ClassWeight { class: 2, weight: 4.0 }];
        let mut bench = bench(&DrrConfig { weights, limit: QueueSize::Packets(10_000), ..DrrConfig::default() });
        for label in 0..9000 {
            bench.enqueue(Labelled::new(label % 3, u64::from(label % 3), 700, (label % 3) as u8));
        }
        let mut sent = [0_i64; 3];
        for _ in 0..5000 {
            sent[bench.dequeue().unwrap().label as usize] += 700;
        }
        // Paper, theorem on fairness: normalised shares differ by at most a quantum and two packets.
        for (flow, weight) in [(0, 1), (1, 2), (2, 4)] {
            assert!((sent[flow] / weight - sent[0]).abs() <= 1500 + 2 * 700, "{sent:?}");
        }
    }

    #[test]
    fn a_quantum_below_a_packet_takes_more_rounds() {
        let mut bench = bench(&DrrConfig { quantum: Bytes(100), ..DrrConfig::default() });
        for (label, flow, size) in [(1, 1, 1000), (2, 2, 150), (3, 2, 150)] {
            bench.enqueue(Labelled::new(label, flow, size, 0));
        }
        assert_eq!(bench.drain(), [2, 3, 1]);
    }

    #[test]
    fn a_full_buffer_takes_from_the_longest_queue() {
        for (steal_from_head, evicted) in [(false, 3), (true, 1)] {
            let limit = QueueSize::Packets(4);
            let mut bench = bench(&DrrConfig { limit, steal_from_head, ..DrrConfig::default() });
            for label in 1..=3 {
                bench.enqueue(Labelled::new(label, 1, 1000, 0));
            }
            bench.enqueue(Labelled::new(4, 2, 1000, 0));
            bench.enqueue(Labelled::new(5, 2, 1000, 0));
            let [(packet, DropReason::Evicted, true)] = bench.dropped.0[..] else { panic!("{:?}", bench.dropped.0) };
            assert_eq!(packet.label, evicted);
            // Now both hold two: a third of flow 1 makes its own queue the longest.
            bench.enqueue(Labelled::new(6, 1, 1000, 0));
            let (packet, reason, queued) = bench.dropped.0[1];
            let expected =
                if steal_from_head { (2, DropReason::Evicted, true) } else { (6, DropReason::Overflow, false) };
            assert_eq!((packet.label, reason, queued), expected);
            assert_eq!(bench.discipline.backlog(), Backlog { packets: 4, bytes: 4000 });
        }
    }

    #[test]
    fn a_packet_longer_than_the_buffer_drives_nobody_out() {
        let mut bench = bench(&DrrConfig { limit: QueueSize::Bytes(3000), ..DrrConfig::default() });
        bench.enqueue(Labelled::new(1, 1, 1000, 0));
        bench.enqueue(Labelled::new(2, 2, 3001, 0));
        assert_eq!(bench.drain(), [1]);
    }

    #[test]
    fn flows_of_a_bucket_share_a_queue() {
        let mut bench = bench(&DrrConfig { buckets: Some(1), ..DrrConfig::default() });
        for label in 0..10 {
            bench.enqueue(Labelled::new(label, u64::from(label), 1000, 0));
        }
        assert_eq!(bench.discipline.flows.len(), 1);
        assert_eq!(bench.drain(), (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn flows_spread_over_all_buckets() {
        let mut bench = bench(&DrrConfig { buckets: Some(4), ..DrrConfig::default() });
        for label in 0..400 {
            bench.enqueue(Labelled::new(label, u64::from(label), 1000, 0));
        }
        assert_eq!(bench.discipline.flows.len(), 4);
        let lengths = [0, 1, 2, 3].map(|slot| bench.discipline.flows[slot].packets.len());
        // 100 each, with a deviation of 9.
        assert!(lengths.iter().all(|length| (60..=140).contains(length)), "{lengths:?}");
    }

    #[test]
    fn a_new_flow_gets_its_quantum_in_the_round_that_it_joins() {
        let mut bench = bench(&DrrConfig { quantum: Bytes(500), ..DrrConfig::default() });
        for label in [11, 12, 13] {
            bench.enqueue(Labelled::new(label, 1, 400, 0));
        }
        assert_eq!(bench.dequeue().map(|packet| packet.label), Some(11));
        bench.enqueue(Labelled::new(21, 2, 400, 0));
        // Flow 1 has 100 B left of its turn.
        assert_eq!(bench.drain(), [21, 12, 13]);
    }

    #[test]
    fn a_queue_that_begins_anew_has_nothing_left_and_gets_its_quantum() {
        for (size, order) in [(400, [2, 3]), (600, [3, 2])] {
            let mut bench = bench(&DrrConfig { quantum: Bytes(500), ..DrrConfig::default() });
            bench.enqueue(Labelled::new(1, 1, 200, 0));
            assert_eq!(bench.drain(), [1]);
            bench.enqueue(Labelled::new(2, 2, size, 0));
            bench.enqueue(Labelled::new(3, 3, 400, 0));
            assert_eq!(bench.drain(), order);
        }
    }

    #[test]
    fn each_parameter_is_checked() {
        let weight = |class, weight| ClassWeight { class, weight };
        let cases = [
            (DrrConfig { limit: QueueSize::Bytes(0), ..DrrConfig::default() }, "limit"),
            (DrrConfig { quantum: Bytes(0), ..DrrConfig::default() }, "quantum"),
            (DrrConfig { buckets: Some(0), ..DrrConfig::default() }, "buckets"),
            (DrrConfig { weights: vec![weight(1, 0.0)], ..DrrConfig::default() }, "weights"),
            (DrrConfig { weights: vec![weight(1, 1.0), weight(1, 2.0)], ..DrrConfig::default() }, "weights"),
        ];
        for (config, field) in cases {
            assert_eq!(Drr::<Labelled>::new(&config, LINK, 0).unwrap_err().field, field);
        }
    }
}
