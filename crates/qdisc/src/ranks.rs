//! Ranks of packets: the order in which a programmable scheduler serves them.
//!
//! A scheduler (`pifo`, `sp_pifo`, `aifo`) asks [`Ranks`] for the rank of each packet that arrives, and reports the
//! packets that it sends and drops. [`Stfq`] needs only flow and length, which every packet has. A rank that a sender
//! sets, such as its remaining bytes or its deadline, comes from the facts about the packet, `cx.flow_info()`; time of
//! arrival plus slack from `cx.now`.

use crate::flow_tags::FlowTags;
use crate::{Cx, FlowKey, Packet, ParameterError};

/// The place of a packet in the order of service: the smallest is served first.
pub type Rank = i64;

/// A way to rank packets.
pub trait Ranks<P>: Send {
    /// The rank of `packet`, which arrives.
    fn rank(&mut self, packet: &P, cx: &Cx<'_, P>) -> Rank;

    /// `packet`, which had this rank, was dropped: it counts as if it had not come. No later packet of its flow is
    /// queued.
    fn dropped(&mut self, packet: &P, rank: Rank);

    /// A packet of this rank leaves.
    fn sent(&mut self, rank: Rank);

    /// Nothing is queued when the link asks for the next packet.
    fn idle(&mut self);

    /// Bytes that it holds on the heap.
    fn heap_bytes(&self) -> u64;

    /// Shows each named gauge with its current value.
    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64));

    /// Shows each gauge for `flow`.
    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64));
}

/// Start-time fair queueing: the rank is the virtual time at which the packet's service starts, in bytes.
///
/// P. Goyal, H. Vin and H. Cheng, "Start-Time Fair Queueing: A Scheduling Algorithm for Integrated Services Packet
/// Switching Networks", SIGCOMM 1996, with equal weights. Virtual time is the start time of the packet that left last;
/// it falls if a scheduler lets a packet out after one of a larger rank, as in the simulator of SP-PIFO's authors. At
/// the end of a busy period it is the largest finish time, as in the paper.
#[derive(Clone, Debug)]
pub struct Stfq {
    /// The finish time of the last packet of each flow.
    finish: FlowTags,
    virtual_time: i64,
}

impl Stfq {
    /// Ranks with a finish time for each of up to `max_flows` flows. `salt` goes into the hash of flows.
    pub(crate) fn new(max_flows: u32, salt: u64) -> Result<Self, ParameterError> {
        Ok(Self { finish: FlowTags::new(max_flows, salt)?, virtual_time: 0 })
    }
}

impl<P: Packet> Ranks<P> for Stfq {
    /// S = max(v, F of the flow's previous packet), F = S + length.
    fn rank(&mut self, packet: &P, _cx: &Cx<'_, P>) -> Rank {
        let flow = packet.flow();
        let start = self.virtual_time.max(self.finish.get(flow));
        self.finish.set(flow, start + i64::from(packet.len_bytes()));
        start
    }

    fn dropped(&mut self, packet: &P, rank: Rank) {
        self.finish.set(packet.flow(), rank);
    }

    fn sent(&mut self, rank: Rank) {
        self.virtual_time = rank;
    }

    fn idle(&mut self) {
        self.virtual_time = self.virtual_time.max(self.finish.forget_all());
    }

    fn heap_bytes(&self) -> u64 {
        self.finish.heap_bytes()
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("active_flows", self.finish.len() as f64);
        visit("virtual_time", self.virtual_time as f64);
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("ahead_bytes", (self.finish.get(flow) - self.virtual_time).max(0) as f64);
    }
}

#[cfg(test)]
pub(crate) mod by_label {
    //! Ranks that a test gives, and the measurement of inversions.

    use alloc::vec::Vec;

    use super::*;
    use crate::test_support::{Bench, Labelled};
    use crate::{Discipline, Time};

    /// The label of a packet is its rank.
    pub struct ByLabel;

    impl Ranks<Labelled> for ByLabel {
        fn rank(&mut self, packet: &Labelled, _cx: &Cx<'_, Labelled>) -> Rank {
            i64::from(packet.label)
        }
        fn dropped(&mut self, _: &Labelled, _: Rank) {}
        fn sent(&mut self, _: Rank) {}
        fn idle(&mut self) {}
        fn heap_bytes(&self) -> u64 {
            0
        }
        fn gauges(&self, _: &mut dyn FnMut(&'static str, f64)) {}
        fn flow_gauges(&self, _: FlowKey, _: &mut dyn FnMut(&'static str, f64)) {}
    }

    /// A packet of this rank; `number` separates it from others of the rank.
    pub fn ranked(rank: u32, number: u64) -> Labelled {
        Labelled::new(rank, number, 1000, 0)
    }

    /// Departures that leave at least one smaller rank behind, as SP-PIFO's figures count them. Each of `slots` is the
    /// ranks of the packets that arrive while one is sent.
    pub fn inversions<D: Discipline<Labelled>>(discipline: D, slots: &[Vec<u32>]) -> usize {
        let mut bench = Bench::new(discipline);
        let mut queued: Vec<Labelled> = Vec::new();
        let mut number = 0;
        let mut inverted = 0;
        for ranks in slots {
            for rank in ranks {
                number += 1;
                let packet = ranked(*rank, number);
                queued.push(packet);
                bench.enqueue(packet);
            }
            for (dropped, ..) in bench.dropped.0.drain(..) {
                queued.retain(|packet| *packet != dropped);
            }
            bench.now = Time::ZERO;
            if let Some(sent) = bench.dequeue() {
                queued.retain(|packet| *packet != sent);
                inverted += usize::from(queued.iter().any(|packet| packet.label < sent.label));
            }
        }
        inverted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{Dropped, Labelled, rng};
    use crate::{Sink, Time};

    fn ranks(stfq: &mut Stfq, packets: &[(u64, u32)]) -> alloc::vec::Vec<Rank> {
        let mut sink = Dropped::default();
        let sink: &mut dyn Sink<Labelled> = &mut sink;
        let cx = Cx { now: Time::ZERO, rng: &mut rng(), sink };
        packets.iter().map(|&(flow, len_bytes)| stfq.rank(&Labelled::new(0, flow, len_bytes, 0), &cx)).collect()
    }

    fn sent(stfq: &mut Stfq, rank: Rank) {
        Ranks::<Labelled>::sent(stfq, rank);
    }

    fn gauges(stfq: &Stfq) -> alloc::vec::Vec<(&'static str, f64)> {
        let mut shown = alloc::vec::Vec::new();
        Ranks::<Labelled>::gauges(stfq, &mut |name, value| shown.push((name, value)));
        Ranks::<Labelled>::flow_gauges(stfq, FlowKey(1), &mut |name, value| shown.push((name, value)));
        shown
    }

    #[test]
    fn a_packet_starts_where_its_flow_finished_or_at_the_virtual_time() {
        let mut stfq = Stfq::new(9, 0).unwrap();
        assert_eq!(ranks(&mut stfq, &[(1, 100), (1, 200), (2, 50), (2, 1), (1, 7)]), [0, 100, 0, 50, 300]);
        sent(&mut stfq, 100);
        assert_eq!(ranks(&mut stfq, &[(3, 10), (2, 10), (1, 10)]), [100, 100, 307]);
        assert_eq!(gauges(&stfq), [("active_flows", 3.0), ("virtual_time", 100.0), ("ahead_bytes", 217.0)]);
    }

    #[test]
    fn virtual_time_falls_with_a_smaller_rank_and_flows_keep_their_finish() {
        let mut stfq = Stfq::new(9, 0).unwrap();
        assert_eq!(ranks(&mut stfq, &[(1, 500), (1, 500)]), [0, 500]);
        sent(&mut stfq, 500);
        sent(&mut stfq, 0);
        assert_eq!(ranks(&mut stfq, &[(2, 10), (1, 10)]), [0, 1000]);
    }

    #[test]
    fn a_dropped_packet_gives_its_bytes_back() {
        let mut stfq = Stfq::new(9, 0).unwrap();
        assert_eq!(ranks(&mut stfq, &[(1, 100), (1, 200)]), [0, 100]);
        stfq.dropped(&Labelled::new(0, 1, 200, 0), 100);
        assert_eq!(ranks(&mut stfq, &[(1, 30), (1, 1)]), [100, 130]);
    }

    #[test]
    fn a_busy_period_ends_at_the_largest_finish_time() {
        let mut stfq = Stfq::new(9, 0).unwrap();
        ranks(&mut stfq, &[(1, 100), (2, 700)]);
        sent(&mut stfq, 0);
        Ranks::<Labelled>::idle(&mut stfq);
        assert_eq!(gauges(&stfq), [("active_flows", 0.0), ("virtual_time", 700.0), ("ahead_bytes", 0.0)]);
        assert_eq!(ranks(&mut stfq, &[(1, 10), (3, 10)]), [700, 700]);
        sent(&mut stfq, 900);
        Ranks::<Labelled>::idle(&mut stfq);
        assert_eq!(ranks(&mut stfq, &[(3, 10)]), [900]);
    }
}
