//! Start-time fair queueing.

use super::{Rank, Ranks};
use crate::flow_tags::FlowTags;
use crate::{Cx, FlowKey, Packet, ParameterError};

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
    fn rank(&mut self, packet: &P, _cx: &mut Cx<'_, P>) -> Rank {
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
mod tests {
    use super::*;
    use crate::test_support::{Dropped, Labelled, rng};
    use crate::{Sink, Time};

    fn ranks(stfq: &mut Stfq, packets: &[(u64, u32)]) -> alloc::vec::Vec<Rank> {
        let mut sink = Dropped::default();
        let sink: &mut dyn Sink<Labelled> = &mut sink;
        let mut cx = Cx { now: Time::ZERO, rng: &mut rng(), sink };
        packets.iter().map(|&(flow, len_bytes)| stfq.rank(&Labelled::new(0, flow, len_bytes, 0), &mut cx)).collect()
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
