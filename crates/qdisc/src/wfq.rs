//! WFQ, weighted fair queueing: packets leave in the order in which an ideal fluid server would finish them.
//!
//! # What it does
//! WFQ simulates a fluid server that serves all backlogged flows at once, each with a share of the link proportional to
//! its weight (generalised processor sharing, GPS). It sends the packet that this server would finish first. A packet
//! leaves at most one transmission time of the largest packet later than it would there. All flows share one buffer:
//! when it is full, the last packet of the longest queue makes room. This is the ideal per-flow queueing with which
//! papers compare.
//!
//! # When to use it
//! Use it as the ideal of fair or weighted sharing with which other disciplines are compared. It needs the most CPU
//! time of all disciplines; `drr` comes close to its shares at about half the cost.
//!
//! # Example
//! ```toml
//! queue.wfq = { weights = [{ class = 1, weight = 4 }] }
//! ```
//!
//! `weights` gives each flow of a traffic class that weight; without `weights` all shares are equal.
//!
//! # Source
//! A. Demers, S. Keshav and S. Shenker, "Analysis and Simulation of a Fair Queueing Algorithm", SIGCOMM 1989; virtual
//! time as in A. Parekh and R. Gallager, "A Generalized Processor Sharing Approach to Flow Control in Integrated
//! Services Networks: The Single-Node Case", IEEE/ACM Transactions on Networking 1(3), 1993, section III.
//!
//! # Where we differ
//! - Virtual time follows the fluid server exactly, flow by flow as they empty there; ns-2's `Queue/FQ` only estimates
//!   it.
//! - An evicted packet is taken back from the fluid server too, to the extent that the server has not yet served it.
//! - Packets that would finish at the same time leave in the order of their arrival. Flows are distinguished exactly.
//!
//! # Cost
//! An entry for each flow that is backlogged in the fluid system. O(log n) a packet with n such flows (found by a hash
//! table, on average; when it doubles, one call moves its entries). An arrival may first remove several flows that the
//! fluid system has finished, each of them once. A packet that arrives at a full buffer evicts one packet, or, where
//! the limit is in bytes, as many as make room for it. No random numbers. With a thousand flows a packet costs about
//! twice as much as with DRR, and more than with any other discipline here. One heap has the next finish in the fluid
//! system, one the next packet to send, and one the longest queue.
//!
//! # Parameters
//! See [`WfqConfig`].

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::cmp::Reverse;

use forebay_units::{QueueSize, Rate};

use crate::class_weight::{ClassWeight, weights_by_class};
use crate::flow_slots::FlowSlots;
use crate::indexed_heap::IndexedHeap;
use crate::limit::Limit;
use crate::memory::{heap_bytes, inline_bytes};
use crate::{Backlog, Cx, Discipline, DropReason, FlowKey, Packet, ParameterError, Served, Time};

parameters! {
    /// Parameters of WFQ.
    pub struct WfqConfig {
        /// Limit of all queues together, in packets or bytes, not counting the packet being sent. Default: 1000
        /// packets.
        pub limit: QueueSize = QueueSize::Packets(1000);
        /// Weights of flows by traffic class. A flow has the weight of the class of the packet with which it became
        /// active. Default: 1 for all.
        pub weights: Vec<ClassWeight> = Vec::new();
    }
}

/// A point of virtual time in bytes per unit of weight; never negative or NaN, so that it orders like its bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Virtual(u64);

impl Virtual {
    fn new(value: f64) -> Self {
        Self(value.to_bits())
    }

    fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// A packet with its tags.
#[derive(Clone, Debug)]
struct Tagged<P> {
    packet: P,
    start: Virtual,
    finish: Virtual,
    /// Its place in the order of arrivals.
    number: u64,
}

/// A flow that has packets queued or is backlogged in the fluid server.
#[derive(Clone, Debug)]
struct Flow<P> {
    packets: VecDeque<Tagged<P>>,
    bytes: u64,
    weight: f64,
    /// When the fluid server will have served all that has come of this flow.
    finish: Virtual,
    in_fluid: bool,
}

impl<P> Default for Flow<P> {
    fn default() -> Self {
        Self { packets: VecDeque::new(), bytes: 0, weight: 1.0, finish: Virtual::default(), in_fluid: false }
    }
}

/// WFQ: weighted fair queueing.
#[derive(Clone, Debug)]
pub struct Wfq<P> {
    limit: Limit,
    weights: Vec<f64>,
    bytes_per_second: f64,

    flows: FlowSlots<Flow<P>>,
    /// V(t) at `updated`.
    virtual_time: f64,
    updated: Time,
    /// Flows backlogged in the fluid server by the end of their backlog there, and the sum of their weights.
    fluid: IndexedHeap<Virtual>,
    fluid_weight: f64,
    /// Flows with packets queued, by the tag of the first.
    first: IndexedHeap<(Virtual, u64)>,
    longest: IndexedHeap<Reverse<u64>>,
    arrivals: u64,
    backlog: Backlog,
}

impl<P: Packet> Wfq<P> {
    /// An empty WFQ for a link of `link_rate`, the rate of the fluid server; `salt` goes into the hash of flows.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &WfqConfig, link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        Ok(Self {
            limit: Limit::new(config.limit, "limit")?,
            weights: weights_by_class(&config.weights)?,
            bytes_per_second: link_rate.bytes_per_second(),
            flows: FlowSlots::new(salt),
            virtual_time: 0.0,
            updated: Time::ZERO,
            fluid: IndexedHeap::new(),
            fluid_weight: 0.0,
            first: IndexedHeap::new(),
            longest: IndexedHeap::new(),
            arrivals: 0,
            backlog: Backlog::default(),
        })
    }

    /// Advances V to `now`: dV/dt is the link's rate over the weights of the flows backlogged in the fluid server
    /// (Parekh and Gallager, equation 9), which is constant between two of them emptying.
    fn advance(&mut self, now: Time) {
        let mut served = self.bytes_per_second * now.since(self.updated).seconds();
        self.updated = now;
        while let Some((finish, slot)) = self.fluid.first() {
            let needed = (finish.value() - self.virtual_time).max(0.0) * self.fluid_weight;
            if needed > served {
                self.virtual_time += served / self.fluid_weight;
                return;
            }
            served -= needed;
            self.virtual_time = self.virtual_time.max(finish.value());
            self.leave_fluid(slot);
        }
    }

    fn leave_fluid(&mut self, slot: u32) {
        self.fluid.remove(slot);
        let flow = &mut self.flows[slot];
        flow.in_fluid = false;
        self.fluid_weight -= flow.weight;
        if self.fluid.is_empty() {
            // Nothing is left of rounding either.
            self.fluid_weight = 0.0;
        }
        if self.flows[slot].packets.is_empty() {
            self.flows.remove(slot);
        }
    }

    /// The link is idle and so is the fluid server, which does the same work: virtual time restarts.
    fn reset(&mut self) {
        while let Some((_, slot)) = self.fluid.first() {
            self.leave_fluid(slot);
        }
        self.virtual_time = 0.0;
    }

    /// Keeps the counters after `removed` has left the queue of `slot`; its tags are still the fluid server's.
    fn removed(&mut self, slot: u32, len_bytes: u32) {
        self.backlog.bytes -= u64::from(len_bytes);
        self.backlog.packets -= 1;
        let flow = &mut self.flows[slot];
        flow.bytes -= u64::from(len_bytes);
        match flow.packets.front() {
            Some(next) => {
                self.first.set(slot, (next.finish, next.number));
                self.longest.set(slot, Reverse(flow.bytes));
            }
            None => {
                self.first.remove(slot);
                self.longest.remove(slot);
                if !flow.in_fluid {
                    self.flows.remove(slot);
                }
            }
        }
    }

    /// Drops the last packet of the longest queue, and takes it back from the fluid server.
    fn evict(&mut self, cx: &mut Cx<'_, P>) {
        let Some((_, victim)) = self.longest.first() else { return };
        let Some(tagged) = self.flows[victim].packets.pop_back() else { return };
        let is_arrival = tagged.number == self.arrivals;
        let flow = &mut self.flows[victim];
        flow.finish = tagged.start;
        let in_fluid = flow.in_fluid;
        self.removed(victim, tagged.packet.len_bytes());
        if in_fluid {
            if tagged.start.value() > self.virtual_time {
                self.fluid.set(victim, tagged.start);
            } else {
                self.leave_fluid(victim);
            }
        }
        let reason = if is_arrival { DropReason::Overflow } else { DropReason::Evicted };
        cx.sink.dropped(tagged.packet, reason, !is_arrival);
    }
}

impl<P: Packet> Discipline<P> for Wfq<P> {
    /// Parekh and Gallager, equation 10: S = max(F of the flow's previous packet, V), F = S + L / weight.
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let len_bytes = packet.len_bytes();
        if !self.limit.fits(Backlog::default(), len_bytes) {
            // Longer than the whole buffer: no other packet should be lost for it.
            return cx.sink.dropped(packet, DropReason::Overflow, false);
        }
        self.advance(cx.now);
        self.arrivals += 1;
        let (slot, fresh) = self.flows.find_or_insert(packet.flow());
        let flow = &mut self.flows[slot];
        if fresh {
            (flow.bytes, flow.finish, flow.in_fluid) = (0, Virtual::default(), false);
            flow.weight = self.weights[usize::from(packet.class())];
        }
        let start = Virtual::new(self.virtual_time).max(flow.finish);
        let finish = Virtual::new(start.value() + f64::from(len_bytes) / flow.weight);
        flow.finish = finish;
        flow.bytes += u64::from(len_bytes);
        if !core::mem::replace(&mut flow.in_fluid, true) {
            self.fluid_weight += flow.weight;
        }
        self.fluid.set(slot, finish);
        self.longest.set(slot, Reverse(flow.bytes));
        if flow.packets.is_empty() {
            self.first.set(slot, (finish, self.arrivals));
        }
        flow.packets.push_back(Tagged { packet, start, finish, number: self.arrivals });
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(len_bytes);
        while self.limit.is_exceeded_by(self.backlog) {
            self.evict(cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        self.advance(cx.now);
        let Some((_, slot)) = self.first.first() else {
            self.reset();
            return Served::Idle;
        };
        let Some(tagged) = self.flows[slot].packets.pop_front() else { return Served::Idle };
        self.removed(slot, tagged.packet.len_bytes());
        Served::Packet(tagged.packet)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn state_bytes(&self) -> u64 {
        let heaps = self.fluid.heap_bytes() + self.first.heap_bytes() + self.longest.heap_bytes();
        inline_bytes(self) + heap_bytes(&self.weights) + self.flows.heap_bytes() + heaps
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("active_flows", self.flows.len() as f64);
        visit("virtual_time", self.virtual_time);
        visit("longest_queue_bytes", self.longest.first().map_or(0.0, |(Reverse(bytes), _)| bytes as f64));
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        let bytes = self.flows.find(flow).map_or(0, |slot| self.flows[slot].bytes);
        visit("length_bytes", bytes as f64);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::Span;
    use crate::test_support::{Bench, LINK, Labelled};

    fn bench(config: &WfqConfig, bytes_per_second: u64) -> Bench<Wfq<Labelled>> {
        Bench::new(Wfq::new(config, Rate::new(8 * bytes_per_second).unwrap(), 5).unwrap())
    }

    #[test]
    fn packets_leave_in_the_order_of_the_fluid_server() {
        // Two flows of equal weight at 100 B/s: 100 B twice, and 50 B four times. Virtual finishing times 100, 200
        // and 50, 100, 150, 200; both end at 4 s in the fluid server, where each has half the link.
        let mut bench = bench(&WfqConfig::default(), 100);
        for (label, flow, size) in [(11, 1, 100), (12, 1, 100), (21, 2, 50), (22, 2, 50), (23, 2, 50), (24, 2, 50)] {
            bench.enqueue(Labelled::new(label, flow, size, 0));
        }
        assert_eq!(bench.discipline.flows[0].finish.value(), 200.0);
        assert_eq!(bench.discipline.flows[1].finish.value(), 200.0);
        let mut order = Vec::new();
        while let Some(packet) = bench.dequeue() {
            order.push(packet.label);
            bench.now += Span::from_milliseconds(10 * u64::from(packet.len_bytes()));
        }
        assert_eq!(order, [21, 11, 22, 23, 12, 24]);
        assert_eq!(bench.now, Time::ZERO + Span::from_seconds(4));
        assert_eq!((bench.discipline.flows.len(), bench.discipline.virtual_time), (0, 0.0));
    }

    #[test]
    fn virtual_time_runs_faster_when_a_flow_empties_in_the_fluid() {
        // At 100 B/s: flow 1 has 100 B, flow 2 has 300 B. Until 2 s each gets 50 B/s, then flow 2 all of it.
        let mut bench = bench(&WfqConfig::default(), 100);
        bench.enqueue(Labelled::new(1, 1, 100, 0));
        bench.enqueue(Labelled::new(2, 2, 300, 0));
        for (milliseconds, expected) in [(1000, 50.0), (2000, 100.0), (2500, 150.0), (3500, 250.0)] {
            bench.discipline.advance(Time::ZERO + Span::from_milliseconds(milliseconds));
            assert!((bench.discipline.virtual_time - expected).abs() < 1e-9, "{milliseconds}");
        }
    }

    #[test]
    fn weights_share_the_link() {
        let weights = vec![ClassWeight { class: 1, weight: 2.0 }, ClassWeight { class: 2, weight: 4.0 }];
        let mut bench = bench(&WfqConfig { weights, limit: QueueSize::Packets(10_000) }, 1_000_000);
        for label in 0..9000 {
            bench.enqueue(Labelled::new(label % 3, u64::from(label % 3), 700, (label % 3) as u8));
        }
        let mut sent = [0_i32; 3];
        for _ in 0..5000 {
            sent[bench.dequeue().unwrap().label as usize] += 1;
        }
        assert!((sent[1] - 2 * sent[0]).abs() <= 2 && (sent[2] - 4 * sent[0]).abs() <= 4, "{sent:?}");
    }

    #[test]
    fn a_full_buffer_evicts_from_the_longest_queue() {
        let mut bench = bench(&WfqConfig { limit: QueueSize::Packets(3), ..WfqConfig::default() }, 1000);
        for label in 1..=3 {
            bench.enqueue(Labelled::new(label, 1, 100, 0));
        }
        bench.enqueue(Labelled::new(4, 2, 100, 0));
        bench.enqueue(Labelled::new(5, 1, 100, 0));
        let dropped: Vec<_> = bench.dropped.0.iter().map(|(packet, reason, _)| (packet.label, *reason)).collect();
        assert_eq!(dropped, [(3, DropReason::Evicted), (5, DropReason::Overflow)]);
        // The evicted packet costs its flow nothing in the fluid server.
        assert_eq!(bench.discipline.flows[0].finish.value(), 200.0);
        assert_eq!(bench.drain(), [1, 4, 2]);
    }

    #[test]
    fn an_evicted_packet_is_taken_back_from_the_fluid_server() {
        // At 1000 B/s: flow 1 is left with 200 B and flow 2 has 100 B. Each gets half until 0.2 s, then flow 1 all.
        let mut bench = bench(&WfqConfig { limit: QueueSize::Packets(3), ..WfqConfig::default() }, 1000);
        for (label, flow) in [(1, 1), (2, 1), (3, 1), (4, 2)] {
            bench.enqueue(Labelled::new(label, flow, 100, 0));
        }
        let [(packet, DropReason::Evicted, true)] = bench.dropped.0[..] else { panic!("{:?}", bench.dropped.0) };
        assert_eq!(packet.label, 3);
        for (milliseconds, expected) in [(200, 100.0), (300, 200.0), (400, 200.0)] {
            bench.discipline.advance(Time::ZERO + Span::from_milliseconds(milliseconds));
            assert!((bench.discipline.virtual_time - expected).abs() < 1e-9, "{milliseconds}");
        }
        assert!(bench.discipline.fluid.is_empty());
    }

    #[test]
    fn a_flow_whose_only_packet_is_evicted_leaves_the_fluid_server() {
        let mut bench = bench(&WfqConfig { limit: QueueSize::Bytes(1050), ..WfqConfig::default() }, 1000);
        bench.enqueue(Labelled::new(1, 1, 100, 0));
        bench.enqueue(Labelled::new(2, 2, 1000, 0));
        assert_eq!(bench.dropped.0.len(), 1);
        assert_eq!((bench.dropped.0[0].1, bench.dropped.0[0].2), (DropReason::Overflow, false));
        // Flow 1 has all of the link.
        bench.discipline.advance(Time::ZERO + Span::from_milliseconds(50));
        assert!((bench.discipline.virtual_time - 50.0).abs() < 1e-9);
        assert_eq!(bench.discipline.flows.len(), 1);
    }

    #[test]
    fn each_parameter_is_checked() {
        let weights = vec![ClassWeight { class: 1, weight: f64::NAN }];
        let cases = [
            (WfqConfig { limit: QueueSize::Packets(0), ..WfqConfig::default() }, "limit"),
            (WfqConfig { weights, ..WfqConfig::default() }, "weights"),
        ];
        for (config, field) in cases {
            assert_eq!(Wfq::<Labelled>::new(&config, LINK, 0).unwrap_err().field, field);
        }
    }
}
