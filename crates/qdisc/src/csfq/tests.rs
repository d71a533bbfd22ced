//! CSFQ as a whole: who is cut off, what a router writes on packets, and what each parameter may be.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::test_support::rng;
use crate::{Ecn, FlowInfo, FlowKeysOnly, MarkReason, Sink};

const LINK: Rate = Rate::megabits(10);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Labelled {
    flow: u64,
    number: u64,
    class: u8,
    label: Option<RateLabel>,
}

impl Packet for Labelled {
    fn flow(&self) -> FlowKey {
        FlowKey(self.flow)
    }
    fn len_bytes(&self) -> u32 {
        1000
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotCapable
    }
    fn class(&self) -> u8 {
        self.class
    }
    fn input_port(&self) -> u16 {
        0
    }
    fn mark_ce(&mut self) {}
    fn set_class(&mut self, class: u8) {
        self.class = class;
    }
    fn rate_label(&self) -> Option<RateLabel> {
        self.label
    }
    fn set_rate_label(&mut self, label: RateLabel) {
        self.label = Some(label);
    }
}

#[derive(Default)]
struct Drops(BTreeMap<(u64, DropReason), u64>);

impl Sink<Labelled> for Drops {
    fn dropped(&mut self, packet: Labelled, reason: DropReason, _queued: bool) {
        *self.0.entry((packet.flow, reason)).or_default() += 1;
    }
    fn marked(&mut self, _packet: &Labelled, _reason: MarkReason) {}
    fn trimmed(&mut self, _packet: &Labelled, _cut_bytes: u32) {}
    fn flow_info(&self) -> &dyn FlowInfo<Labelled> {
        &FlowKeysOnly
    }
}

/// A source of packets of 1000 B at a constant rate.
#[derive(Clone, Copy)]
struct Source {
    packet: Labelled,
    gap: Span,
    next: Time,
}

/// A CSFQ router with its link of 10 Mb/s.
struct Router {
    queue: Csfq<Labelled>,
    rng: rand_pcg::Pcg64Mcg,
    drops: Drops,
    free_at: Time,
    sent: Vec<(Time, Labelled)>,
}

impl Router {
    fn new(config: &CsfqConfig) -> Self {
        let queue = Csfq::new(config, LINK, 0).unwrap();
        Self { queue, rng: rng(), drops: Drops::default(), free_at: Time::ZERO, sent: Vec::new() }
    }

    fn transmit_until(&mut self, until: Time, now: Time) {
        while self.free_at <= until && self.queue.backlog().packets > 0 {
            let start = self.free_at.max(now.min(until));
            let mut cx = Cx { now: start, rng: &mut self.rng, sink: &mut self.drops };
            let packet = self.queue.dequeue(&mut cx).packet().unwrap();
            self.free_at = start + LINK.transmission_time(1000);
            self.sent.push((self.free_at, packet));
        }
    }

    fn arrive(&mut self, packet: Labelled, now: Time) {
        self.transmit_until(now, Time::ZERO);
        let mut cx = Cx { now, rng: &mut self.rng, sink: &mut self.drops };
        self.queue.enqueue(packet, &mut cx);
        self.transmit_until(now, now);
    }

    /// Feeds the router from the sources up to `seconds`.
    fn run(&mut self, sources: &mut [Source], seconds: u64) {
        let until = Time::ZERO + Span::from_seconds(seconds);
        while let Some(source) = sources.iter_mut().min_by_key(|source| source.next).filter(|s| s.next <= until) {
            let (packet, now) = (source.packet, source.next);
            source.packet.number += 1;
            source.next += source.gap;
            self.arrive(packet, now);
        }
    }

    /// Rates in Mb/s by flow of what was sent since `from_s` seconds.
    fn rates_mbps(&self, from_s: u64, to_s: u64) -> BTreeMap<u64, f64> {
        let mut rates = BTreeMap::new();
        let from = Time::ZERO + Span::from_seconds(from_s);
        for (_, packet) in self.sent.iter().filter(|(at, _)| *at >= from) {
            *rates.entry(packet.flow).or_default() += 8e-3 / (to_s - from_s) as f64;
        }
        rates
    }

    fn dropped(&self, flow: u64, reason: DropReason) -> u64 {
        self.drops.0.get(&(flow, reason)).copied().unwrap_or(0)
    }
}

fn source(flow: u64, kilobits_per_second: u64, class: u8) -> Source {
    let packet = Labelled { flow, number: 0, class, label: None };
    let gap = Rate::new(kilobits_per_second * 1000).unwrap().transmission_time(1000);
    // Not all at once: the phase of the golden section.
    let phase = (u128::from(gap.picoseconds()) * u128::from(flow.wrapping_mul(0x9e37_79b9_7f4a_7c15))) >> 64;
    Source { packet, gap, next: Time::ZERO + Span::from_picoseconds(phase as u64) }
}

fn core() -> CsfqConfig {
    CsfqConfig { role: CsfqRole::Core, ..CsfqConfig::default() }
}

#[test]
fn of_32_flows_that_send_1_to_32_shares_each_gets_one() {
    let mut router = Router::new(&CsfqConfig::default());
    let mut sources: Vec<Source> = (0..32).map(|flow| source(flow, (flow + 1) * 625 / 2, 0)).collect();
    router.run(&mut sources, 30);
    let rates = router.rates_mbps(5, 30);
    for (flow, rate) in &rates {
        assert!((rate / 0.3125 - 1.0).abs() < 0.1, "flow {flow}: {rate} Mb/s of {rates:?}");
    }
    assert_eq!(rates.len(), 32);
    assert!(rates.values().sum::<f64>() > 9.7, "the link is not filled: {rates:?}");
}

#[test]
fn flows_below_the_share_lose_nothing_and_the_rest_is_for_the_others() {
    let mut router = Router::new(&CsfqConfig::default());
    let mut sources = [source(1, 1000, 0), source(2, 2000, 0), source(3, 8000, 0), source(4, 20_000, 0)];
    router.run(&mut sources, 30);
    let rates = router.rates_mbps(5, 30);
    for (flow, expected) in [(1, 1.0), (2, 2.0), (3, 3.5), (4, 3.5)] {
        assert!((rates[&flow] / expected - 1.0).abs() < 0.1, "{rates:?}");
    }
    assert_eq!(router.dropped(1, DropReason::FairShare) + router.dropped(2, DropReason::FairShare), 0);
}

#[test]
fn weights_multiply_the_share() {
    let weights = vec![ClassWeight { class: 1, weight: 3.0 }];
    let mut router = Router::new(&CsfqConfig { weights, ..CsfqConfig::default() });
    router.run(&mut [source(1, 20_000, 0), source(2, 20_000, 1)], 30);
    let rates = router.rates_mbps(5, 30);
    assert!((rates[&1] / 2.5 - 1.0).abs() < 0.1 && (rates[&2] / 7.5 - 1.0).abs() < 0.1, "{rates:?}");
}

#[test]
fn a_core_router_shares_its_link_by_labels_and_knows_no_flow() {
    let mut router = Router::new(&core());
    // Both send 10 Mb/s; the label of the first is 2 Mb/s, so the core router takes it for a fifth of that.
    let mut sources = [source(1, 10_000, 0), source(2, 10_000, 0)];
    sources[0].packet.label = Some(RateLabel::nearest(2e6));
    sources[1].packet.label = Some(RateLabel::nearest(10e6));
    router.run(&mut sources, 10);
    assert_eq!(router.queue.flows.len(), 0);
    let (first, second) = (router.dropped(1, DropReason::FairShare), router.dropped(2, DropReason::FairShare));
    assert!(second > 2 * first, "{first} and {second} drops");
}

#[test]
fn a_core_router_estimates_the_rate_of_flows_without_labels() {
    let mut router = Router::new(&core());
    router.run(&mut [source(1, 4000, 0), source(2, 16_000, 0)], 20);
    let rates = router.rates_mbps(5, 20);
    assert!((rates[&1] / 4.0 - 1.0).abs() < 0.1 && (rates[&2] / 6.0 - 1.0).abs() < 0.1, "{rates:?}");
    assert_eq!(router.queue.flows.len(), 2);
}

#[test]
fn an_edge_router_overwrites_labels_and_a_core_router_only_lowers_them() {
    let claimed = RateLabel::nearest(1e3);
    for (config, kept) in [(CsfqConfig::default(), false), (core(), true)] {
        let mut router = Router::new(&config);
        let mut source = source(1, 5000, 0);
        source.packet.label = Some(claimed);
        router.run(&mut [source], 5);
        let last = router.sent.last().unwrap().1.label.unwrap();
        assert_eq!(last == claimed, kept);
        assert!(kept || (last.bits_per_second() / 5e6 - 1.0).abs() < 1.0 / 32.0, "{last:?}");
    }
    let mut router = Router::new(&core());
    let mut source = source(1, 20_000, 0);
    source.packet.label = Some(RateLabel::nearest(20e6));
    router.run(&mut [source], 5);
    // One that is let in now has the share for its label.
    let queued = router.queue.backlog().packets;
    while router.queue.backlog().packets <= queued {
        router.arrive(source.packet, router.free_at - LINK.transmission_time(1));
    }
    let share = RateLabel::nearest(router.queue.fair_share.bits_per_second());
    assert_eq!(router.queue.packets.back().unwrap().label, Some(share));
    assert!(share < source.packet.label.unwrap());
}

#[test]
fn a_second_router_gives_each_flow_the_lesser_of_its_shares() {
    // The first link leaves 5 Mb/s each to flows 1 and 2; with the 20 Mb/s of flow 3 they have 10 Mb/s to share.
    let mut edge = Router::new(&CsfqConfig::default());
    edge.run(&mut [source(1, 20_000, 0), source(2, 20_000, 0)], 20);
    let mut core = Router::new(&core());
    let mut third = source(3, 20_000, 0);
    third.packet.label = Some(RateLabel::nearest(20e6));
    for (at, packet) in edge.sent {
        while third.next <= at {
            core.arrive(third.packet, third.next);
            third.next += third.gap;
        }
        core.arrive(packet, at);
    }
    let rates = core.rates_mbps(5, 20);
    assert_eq!(core.queue.flows.len(), 0);
    for rate in rates.values() {
        assert!((rate / (10.0 / 3.0) - 1.0).abs() < 0.1, "{rates:?}");
    }
}

#[test]
fn a_burst_into_a_short_queue_loses_nothing_without_congestion() {
    // A flow of 1 Mb/s has set the share; another begins at 8 Mb/s.
    let mut router = Router::new(&CsfqConfig::default());
    let mut late = source(2, 8000, 0);
    late.next += Span::from_seconds(2);
    router.run(&mut [source(1, 1000, 0), late], 10);
    assert!(router.drops.0.is_empty(), "{:?}", router.drops.0);
    // With no threshold the share of the past holds the new flow back until it is estimated again.
    let mut strict = Router::new(&CsfqConfig { threshold: QueueSize::Bytes(0), ..CsfqConfig::default() });
    strict.run(&mut [source(1, 1000, 0), late], 10);
    assert!(strict.dropped(2, DropReason::FairShare) > 0);
}

#[test]
fn an_overflow_lowers_the_share() {
    let config = CsfqConfig { limit: QueueSize::Packets(5), threshold: QueueSize::Packets(5), ..CsfqConfig::default() };
    let mut router = Router::new(&config);
    for number in 0..7 {
        router.arrive(Labelled { flow: 1, number, class: 0, label: None }, Time::ZERO);
    }
    assert_eq!(router.dropped(1, DropReason::Overflow), 1);
    assert!((router.queue.fair_share.bits_per_second() - 9.9e6).abs() < 1.0);
}

#[test]
fn packets_leave_in_the_order_of_arrival() {
    let mut router = Router::new(&CsfqConfig::default());
    router.run(&mut [source(1, 10_000, 0), source(2, 10_000, 0)], 2);
    for flow in [1, 2] {
        let numbers: Vec<u64> = router.sent.iter().filter(|(_, p)| p.flow == flow).map(|(_, p)| p.number).collect();
        assert!(!numbers.is_empty() && numbers.is_sorted());
    }
}

#[test]
fn a_queue_is_long_from_its_threshold_on() {
    let queue = |threshold, packets| {
        let config = CsfqConfig { limit: QueueSize::Packets(10), threshold, ..CsfqConfig::default() };
        let mut queue = Csfq::<Labelled>::new(&config, LINK, 0).unwrap();
        queue.backlog = Backlog { packets, bytes: 1000 * packets };
        queue.queue_is_long()
    };
    for (packets, expected) in [(2, false), (3, true), (4, true)] {
        assert_eq!(queue(QueueSize::Packets(3), packets), expected, "{packets}");
        assert_eq!(queue(QueueSize::Bytes(3000), packets), expected, "{packets}");
    }
}

#[test]
fn each_parameter_is_checked() {
    let config = CsfqConfig::default;
    let weights = vec![ClassWeight { class: 1, weight: 0.0 }];
    let cases = [
        (CsfqConfig { limit: QueueSize::Packets(0), ..config() }, "limit"),
        (CsfqConfig { threshold: QueueSize::Bytes(64_001), ..config() }, "threshold"),
        (CsfqConfig { flow_averaging_time: Span::ZERO, ..config() }, "flow_averaging_time"),
        (CsfqConfig { link_averaging_time: Span::ZERO, ..config() }, "link_averaging_time"),
        (CsfqConfig { window: Span::ZERO, ..config() }, "window"),
        (CsfqConfig { weights, ..config() }, "weights"),
        (CsfqConfig { idle_timeout: Span::from_milliseconds(99), ..config() }, "idle_timeout"),
        (CsfqConfig { max_flows: 0, ..config() }, "max_flows"),
        (CsfqConfig { max_flows: (1 << 24) + 1, ..config() }, "max_flows"),
    ];
    for (config, field) in cases {
        assert_eq!(Csfq::<Labelled>::new(&config, LINK, 0).unwrap_err().field, field);
    }
}
