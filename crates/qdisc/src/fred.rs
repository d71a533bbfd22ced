//! FRED, flow random early drop: RED with a count of the packets that each flow has queued.
//!
//! # What it does
//! FRED keeps a moving average of the queue, like RED, and also counts the packets of each flow in the queue. A flow
//! with few packets is never dropped at random (it is fragile). A flow with more than its share is (it is robust). A
//! flow that tries to hold more than a fixed maximum collects strikes, and is then held to the average share (it is
//! non-adaptive). State exists only for flows with packets queued, so strikes are forgotten when a flow's last packet
//! leaves.
//!
//! # When to use it
//! Use it for nearly equal shares from one FIFO queue, also against floods, with state only for flows that have packets
//! queued. Where the flows outnumber the packets in the buffer, losses are high and the shares of slow flows suffer.
//!
//! # Example
//! ```toml
//! queue.fred.limit = "200 packets"
//! queue.fred.min_threshold = "50 packets"
//! queue.fred.max_threshold = "100 packets"
//! ```
//!
//! Set the thresholds first: `min_threshold` to about a quarter of `limit`, and `max_threshold` to twice that. No flow
//! may hold more than `min_threshold` packets.
//!
//! # Source
//! D. Lin and R. Morris, "Dynamics of Random Early Detection", SIGCOMM 1997; `many_flows` is its section on supporting
//! many flows. We follow the algorithm line by line.
//!
//! # Where we differ
//! - While the average exceeds the upper threshold, `many_flows` lets each flow hold two packets until the queue is
//!   full; without it every packet is dropped, as in drop-tail. The paper leaves open whether the two go together.
//! - The link counts as idle from the end of its last transmission. Before that, while it sends the last packet, it
//!   counts as idle from the moment the queue became empty, as in the paper.
//! - The physical limit of the queue is tested after the rules. ECN marking in place of random drops is our addition.
//!
//! # Cost
//! An entry for each flow with packets queued, at most one for each packet of the queue. O(1) a packet on average (a
//! hash table; when it doubles, one call moves its entries), and at most one random number.
//!
//! # Parameters
//! See [`FredConfig`].

use forebay_units::{Bytes, QueueSize, Rate};

use crate::flow_slots::FlowSlots;
use crate::limit::{Limit, check_averaging_weight, check_probability};
use crate::memory::inline_bytes;
use crate::red::{IdleDecay, Profile, uniform_gap_probability};
use crate::require;
use crate::{
    Admission, Arrival, Backlog, DropReason, FlowKey, MarkReason, Offer, ParameterError, Ticket, Time, Verdict, uniform,
};

parameters! {
    /// Parameters of FRED.
    pub struct FredConfig {
        queue limit = QueueSize::Packets(1000), "1000 packets";
        /// `min_th`: average queue below which nothing is dropped at random, and the maximum number of packets that one
        /// flow may hold; in packets. Default: 250 packets, a quarter of the default limit (paper, section 6).
        red min_threshold = QueueSize::Packets(250);
        /// `max_th`: average queue from which a flow may hold two packets, or none without `many_flows`; in packets.
        /// Default: 500 packets, twice `min_threshold` (paper, section 6).
        red max_threshold = QueueSize::Packets(500);
        red weight = 0.002, "0.002";
        red max_probability = 0.02, "0.02";
        /// `minq`: packets that a flow may always queue without a random drop: 2 for small buffers, 4 for large ones
        /// (paper, section 6). Default: 2.
        pub min_flow_packets: u32 = 2;
        /// Whether each flow may hold two packets while the average exceeds `max_threshold`, so that all flows can
        /// continue even if they outnumber the shares of the buffer (paper, section 7). Default: yes.
        pub many_flows: bool = true;
        /// Mean packet size: the link's rate divided by it is the number of samples that an idle period counts for.
        /// Default: 500 B (ns-2's for RED).
        red mean_packet_size = Bytes(500);
        /// Whether ECN-capable packets are marked where they would be dropped at random. Default: no.
        red ecn = false;
    }
}

impl FredConfig {
    /// Checks every field but the limit; returns the thresholds in packets.
    fn check(&self) -> Result<(u64, u64), ParameterError> {
        let packets = |size, field| match size {
            QueueSize::Packets(packets) => Ok(packets),
            QueueSize::Bytes(_) => Err(ParameterError { field, bound: "be a number of packets" }),
        };
        let min = packets(self.min_threshold, "min_threshold")?;
        let max = packets(self.max_threshold, "max_threshold")?;
        require(min > 0, "min_threshold", "be at least 1 packet")?;
        require(min < max, "max_threshold", "be more than `min_threshold`")?;
        if let QueueSize::Packets(limit) = self.limit {
            require(max <= limit, "max_threshold", "be at most `limit`")?;
        }
        check_averaging_weight(self.weight, "weight")?;
        check_probability(self.max_probability, "max_probability")?;
        require(self.min_flow_packets > 0, "min_flow_packets", "be at least 1")?;
        require(self.mean_packet_size.0 > 0, "mean_packet_size", "be at least 1 B")?;
        Ok((min, max))
    }
}

/// A flow that has packets queued.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// `qlen_i`: its packets in the queue.
    packets: u32,
    /// `strike_i`: how often it tried to hold more than it may.
    strikes: u32,
}

/// FRED's decision on a packet.
#[derive(Clone, Copy, PartialEq)]
enum Decision {
    Accept,
    Drop(DropReason),
    Random,
}

/// FRED: flow random early drop.
#[derive(Clone, Debug)]
pub struct Fred {
    limit: Limit,
    min_threshold: f64,
    max_threshold: f64,
    profile: Profile,
    idle_decay: IdleDecay,
    weight: f64,
    min_flow_packets: f64,
    many_flows: bool,
    ecn: bool,

    flows: FlowSlots<Flow>,
    avg: f64,
    /// `avgcq`: the average share of an active flow in packets, at least 1.
    avg_flow_queue: f64,
    /// Packets since the last random drop, -1 below the lower threshold.
    count: i64,
    /// `q_time`: since when the queue is empty.
    empty_since: Time,
}

impl Fred {
    /// A FRED law for a link of `link_rate`, which the idle rule needs; `salt` goes into the hash of flows.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &FredConfig, link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        let (min, max) = config.check()?;
        let (min, max) = (min as f64, max as f64);
        Ok(Self {
            limit,
            min_threshold: min,
            max_threshold: max,
            profile: Profile::new(min, max, config.max_probability, false),
            idle_decay: IdleDecay::new(config.weight, link_rate, config.mean_packet_size),
            weight: config.weight,
            min_flow_packets: f64::from(config.min_flow_packets),
            many_flows: config.many_flows,
            ecn: config.ecn,
            flows: FlowSlots::new(salt),
            avg: 0.0,
            avg_flow_queue: 1.0,
            count: -1,
            empty_since: Time::ZERO,
        })
    }

    /// Paper, "Calculate average queue length": at arrivals and departures, the latter being FRED's addition to RED.
    fn update_average(&mut self, queue: u64, departed: bool, now: Time) {
        if queue > 0 || departed {
            self.avg += self.weight * (queue as f64 - self.avg);
        } else {
            self.avg = self.idle_decay.apply(self.avg, self.empty_since, now);
            self.empty_since = now;
        }
        let flows = self.flows.len().max(1);
        self.avg_flow_queue = (self.avg / flows as f64).max(1.0);
        if queue == 0 && departed {
            self.empty_since = now;
        }
    }

    /// Paper, "Identify and manage non-adaptive flows": whether a flow of this many packets and strikes is over its
    /// bound.
    fn is_over_its_bound(&self, flow: Flow) -> bool {
        let packets = f64::from(flow.packets);
        let crowded = self.avg >= self.max_threshold;
        let most = if self.many_flows && crowded { 2.0 } else { self.min_threshold };
        packets >= most
            || (crowded && packets > 2.0 * self.avg_flow_queue)
            || (packets >= self.avg_flow_queue && flow.strikes > 1)
    }

    /// The paper's cases by the average: random drop, no drop, drop-tail.
    fn decide(&mut self, flow: Flow, offer: &mut Offer<'_>) -> Decision {
        if self.avg < self.min_threshold {
            self.count = -1;
            return Decision::Accept;
        }
        if self.avg >= self.max_threshold {
            if self.many_flows {
                return Decision::Accept;
            }
            self.count = 0;
            return Decision::Drop(DropReason::Forced);
        }
        self.count += 1;
        // Only robust flows are dropped at random.
        if f64::from(flow.packets) < self.avg_flow_queue.max(self.min_flow_packets) {
            return Decision::Accept;
        }
        let p_a = uniform_gap_probability(self.profile.probability(self.avg), self.count as f64, false);
        if uniform(offer.rng) < p_a {
            self.count = 0;
            return Decision::Random;
        }
        Decision::Accept
    }
}

impl Admission for Fred {
    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        if offer.backlog.packets == 0 {
            self.update_average(0, false, offer.now);
        }
        let known = self.flows.find(arrival.flow);
        let flow = known.map_or(Flow::default(), |slot| self.flows[slot]);
        if self.is_over_its_bound(flow) {
            if let Some(slot) = known {
                self.flows[slot].strikes += 1;
            }
            return Verdict::Drop(DropReason::FlowLimit);
        }
        let mark = match self.decide(flow, offer) {
            Decision::Accept => false,
            Decision::Random if self.ecn && arrival.ecn.is_capable() => true,
            Decision::Random => return Verdict::Drop(DropReason::Early),
            Decision::Drop(reason) => return Verdict::Drop(reason),
        };
        if !self.limit.fits(offer.backlog, arrival.len_bytes) {
            return Verdict::Drop(DropReason::Overflow);
        }
        let (slot, fresh) = self.flows.find_or_insert(arrival.flow);
        if fresh {
            self.flows[slot] = Flow::default();
        }
        self.flows[slot].packets += 1;
        self.update_average(offer.backlog.packets, false, offer.now);
        if mark { Verdict::Mark(Ticket(slot), MarkReason::Early) } else { Verdict::Enqueue(Ticket(slot)) }
    }

    fn release(&mut self, ticket: Ticket, _len_bytes: u32, backlog: Backlog, now: Time) {
        self.flows[ticket.0].packets -= 1;
        self.update_average(backlog.packets, true, now);
        if self.flows[ticket.0].packets == 0 {
            self.flows.remove(ticket.0);
        }
    }

    fn idle(&mut self, since: Time) {
        self.empty_since = since;
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + self.flows.heap_bytes()
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("avg", self.avg);
        visit("avg_flow_queue", self.avg_flow_queue);
        visit("active_flows", self.flows.len() as f64);
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        let flow = self.flows.find(flow).map_or(Flow::default(), |slot| self.flows[slot]);
        visit("packets_queued", f64::from(flow.packets));
        visit("strikes", f64::from(flow.strikes));
    }
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;
    use alloc::vec;

    use super::*;
    use crate::test_support::{LINK, Offers, Port, Source, flow_gauge, gauge};
    use crate::{Ecn, Span};

    /// The DBL paper's configuration (section 4).
    fn config() -> FredConfig {
        FredConfig {
            limit: QueueSize::Packets(1024),
            min_threshold: QueueSize::Packets(64),
            max_threshold: QueueSize::Packets(192),
            ..FredConfig::default()
        }
    }

    fn few_flows() -> FredConfig {
        FredConfig { many_flows: false, ..config() }
    }

    /// A law with this average of the queue and of the flows.
    fn law(config: FredConfig, avg: f64, avg_flow_queue: f64) -> Fred {
        Fred { avg, avg_flow_queue, ..Fred::new(&config, LINK, 0).unwrap() }
    }

    #[test]
    fn a_flows_bounds_are_those_of_the_paper() {
        // "Identify and manage non-adaptive flows": the average, that of a flow (avgcq), packets and strikes of this
        // one.
        let cases = [
            // maxq is min_th.
            (100.0, 40.0, 63, 0, false),
            (100.0, 40.0, 64, 0, true),
            // From max_th on more than 2 avgcq.
            (191.9, 10.0, 21, 0, false),
            (192.0, 10.0, 20, 0, false),
            (192.0, 10.0, 21, 0, true),
            // avgcq with more than one strike.
            (100.0, 10.0, 10, 1, false),
            (100.0, 10.0, 9, 2, false),
            (100.0, 10.0, 10, 2, true),
        ];
        for (avg, avg_flow_queue, packets, strikes, over) in cases {
            let flow = Flow { packets, strikes };
            let case = (avg, avg_flow_queue, packets, strikes);
            assert_eq!(law(few_flows(), avg, avg_flow_queue).is_over_its_bound(flow), over, "{case:?}");
        }
    }

    #[test]
    fn robust_flows_are_dropped_at_random_between_the_thresholds() {
        let config = FredConfig { max_probability: 1.0, min_flow_packets: 2, ..config() };
        let mut rng = crate::test_support::rng();
        let mut offer = Offer { now: Time::ZERO, backlog: Backlog { packets: 128, bytes: 128_000 }, rng: &mut rng };
        let robust = Flow { packets: 10, ..Flow::default() };
        // The counter starts at min_th; p_b is 0.5 at 128: the second packet goes for certain.
        let mut law = law(config, 63.9, 10.0);
        law.count = 7;
        assert!(matches!(law.decide(robust, &mut offer), Decision::Accept));
        assert_eq!(law.count, -1);
        law.avg = 64.0;
        assert!(matches!(law.decide(robust, &mut offer), Decision::Accept));
        assert_eq!(law.count, 0);
        law.avg = 128.0;
        for packets in [1, 9] {
            law.count = 5;
            let fragile = Flow { packets, ..Flow::default() };
            assert!(matches!(law.decide(fragile, &mut offer), Decision::Accept), "{packets}");
            assert_eq!(law.count, 6);
        }
        let mut first = 0;
        for _ in 0..40 {
            law.count = -1;
            first += u32::from(matches!(law.decide(robust, &mut offer), Decision::Random));
            assert!(matches!(law.decide(robust, &mut offer), Decision::Random));
            assert_eq!(law.count, 0);
        }
        assert!((10..=30).contains(&first), "{first} of 40 first ones");
    }

    #[test]
    fn marks_where_both_ends_and_the_configuration_allow() {
        for (ecn, field, marks) in
            [(true, Ecn::Capable0, true), (true, Ecn::NotCapable, false), (false, Ecn::Capable0, false)]
        {
            let config = FredConfig { ecn, max_probability: 1.0, min_flow_packets: 1, ..config() };
            let mut law = law(config, 0.0, 1.0);
            let mut offers = Offers { ecn: field, ..Offers::new() };
            offers.backlog.packets = 128;
            offers.offer(&mut law, 1, 1000);
            (law.avg, law.avg_flow_queue, law.count) = (128.0, 1.0, 5);
            let expected =
                if marks { Verdict::Mark(Ticket(0), MarkReason::Early) } else { Verdict::Drop(DropReason::Early) };
            assert_eq!(offers.offer(&mut law, 1, 1000), expected, "{ecn} {field:?}");
        }
    }

    #[test]
    fn the_averages_follow_arrivals_departures_and_idle_time() {
        // "Calculate average queue length".
        let mut law = law(FredConfig { weight: 0.5, ..config() }, 10.0, 1.0);
        law.update_average(20, false, Time::ZERO);
        assert_eq!((law.avg, law.avg_flow_queue), (15.0, 15.0));
        let mut offers = Offers::new();
        for flow in 1..=3 {
            offers.backlog.packets = 15;
            offers.offer(&mut law, flow, 1000);
        }
        assert_eq!((law.avg, law.avg_flow_queue), (15.0, 5.0));
        // The queue has been empty since the departure that left nothing, or since the link went idle.
        let at = |milliseconds| Time::ZERO + Span::from_milliseconds(milliseconds);
        for (packets, time, since) in [(3, 5, 0), (0, 6, 6)] {
            law.update_average(packets, true, at(time));
            assert_eq!(law.empty_since, at(since));
        }
        law.idle(at(7));
        // 500 B at 100 Mb/s are 40 us: the average falls below min_th before the arrival is judged.
        (law.avg, law.weight, law.count) = (65.0, 0.002, 9);
        law.idle_decay = IdleDecay::new(0.002, LINK, Bytes(500));
        (offers.now, offers.backlog) = (at(8), Backlog::default());
        offers.offer(&mut law, 1, 1000);
        assert!((law.avg - 65.0 * libm::pow(0.998, 25.0)).abs() < 1e-9, "{}", law.avg);
        assert_eq!(law.count, -1);
    }

    #[test]
    fn a_lone_flood_never_holds_more_than_the_lower_threshold() {
        let law = Box::new(Fred::new(&config(), LINK, 0).unwrap());
        let mut port = Port::new(law, vec![Source::new(1, Rate::megabits(200), 1000)]);
        port.run(Time::ZERO + Span::from_seconds(5), |port| {
            assert!(flow_gauge(&*port.law, 1, "packets_queued") <= 64.0);
        });
        assert!(port.dropped.iter().any(|(_, reason)| *reason == DropReason::FlowLimit));
    }

    #[test]
    fn a_fragile_flow_loses_nothing_beside_a_flood() {
        let law = Box::new(Fred::new(&config(), LINK, 0).unwrap());
        let flood = Source::new(1, Rate::megabits(100), 1000);
        let mut port = Port::new(law, vec![flood, Source::new(2, Rate::megabits(2), 1000)]);
        port.run(Time::ZERO + Span::from_seconds(5), |_| {});
        assert!(!port.dropped.is_empty() && port.dropped.iter().all(|(flow, _)| *flow == 1));
    }

    #[test]
    fn past_the_upper_threshold_many_flows_hold_two_packets_each() {
        for many_flows in [true, false] {
            let config = FredConfig { weight: 1.0, many_flows, ..config() };
            let mut law = Fred::new(&config, LINK, 0).unwrap();
            let mut offers = Offers::new();
            // 200 flows of one packet each: the average is past 192.
            for flow in 0..200 {
                offers.offer(&mut law, flow, 1000);
            }
            let verdicts = [0; 3].map(|flow| offers.offer(&mut law, flow, 1000));
            if many_flows {
                assert!(matches!(verdicts[0], Verdict::Enqueue(_)));
                assert_eq!(verdicts[1..], [Verdict::Drop(DropReason::FlowLimit); 2]);
            } else {
                assert_eq!(verdicts, [Verdict::Drop(DropReason::Forced); 3]);
            }
        }
    }

    #[test]
    fn a_flow_with_strikes_is_held_to_the_average_share() {
        let config = FredConfig { weight: 1.0, max_probability: 0.0, ..config() };
        let mut law = Fred::new(&config, LINK, 0).unwrap();
        let mut offers = Offers::new();
        for flow in 2..32 {
            offers.offer(&mut law, flow, 1000);
        }
        let mut held = 0;
        while held < 64 {
            assert!(matches!(offers.offer(&mut law, 1, 1000), Verdict::Enqueue(_)));
            held += 1;
        }
        for strikes in 1..=2 {
            assert_eq!(offers.offer(&mut law, 1, 1000), Verdict::Drop(DropReason::FlowLimit));
            assert_eq!(flow_gauge(&law, 1, "strikes"), f64::from(strikes));
        }
        // Its share is 94 packets over 31 flows. With two strikes it may hold no more, however many have left.
        let slot = law.flows.find(FlowKey(1)).unwrap();
        while held > 10 {
            offers.backlog.packets -= 1;
            held -= 1;
            law.release(Ticket(slot), 1000, offers.backlog, offers.now);
        }
        assert!(gauge(&law, "avg_flow_queue") < 10.0);
        assert_eq!(offers.offer(&mut law, 1, 1000), Verdict::Drop(DropReason::FlowLimit));
    }

    #[test]
    fn random_drops_may_be_marks_and_spare_short_queues() {
        let config = FredConfig { weight: 1.0, max_probability: 1.0, ecn: true, ..config() };
        let mut law = Fred::new(&config, LINK, 0).unwrap();
        let mut offers = Offers { ecn: Ecn::Capable0, ..Offers::new() };
        for flow in 0..100 {
            assert!(matches!(offers.offer(&mut law, flow, 1000), Verdict::Enqueue(_)));
        }
        let (mut marks, mut packets) = (0, 0);
        while packets < 40 {
            marks += u32::from(matches!(offers.offer(&mut law, 100, 1000), Verdict::Mark(_, MarkReason::Early)));
            packets += 1;
        }
        assert!(marks > 10);
        assert!(matches!(offers.offer(&mut law, 101, 1000), Verdict::Enqueue(_)));
    }

    #[test]
    fn state_is_kept_for_queued_flows_only() {
        let law = Box::new(Fred::new(&config(), LINK, 0).unwrap());
        let sources = (0..20).map(|flow| Source::new(flow, Rate::megabits(1), 1000)).collect();
        let mut port = Port::new(law, sources);
        port.run(Time::ZERO + Span::from_milliseconds(95), |_| {});
        assert_eq!((port.backlog.packets, gauge(&*port.law, "active_flows")), (0, 0.0));
    }

    #[test]
    fn each_parameter_is_checked() {
        let cases = [
            (FredConfig { limit: QueueSize::Packets(0), ..config() }, "limit"),
            (FredConfig { min_threshold: QueueSize::Bytes(64), ..config() }, "min_threshold"),
            (FredConfig { max_threshold: QueueSize::Packets(64), ..config() }, "max_threshold"),
            (FredConfig { max_threshold: QueueSize::Packets(2000), ..config() }, "max_threshold"),
            (FredConfig { weight: 0.0, ..config() }, "weight"),
            (FredConfig { max_probability: 2.0, ..config() }, "max_probability"),
            (FredConfig { min_flow_packets: 0, ..config() }, "min_flow_packets"),
            (FredConfig { mean_packet_size: Bytes(0), ..config() }, "mean_packet_size"),
        ];
        for (config, field) in cases {
            assert_eq!(Fred::new(&config, LINK, 0).unwrap_err().field, field);
        }
    }
}
