//! BREATHe rule by rule, and what it leaves of constant-rate flows.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::*;
use crate::Ecn;
use crate::test_support::{LINK, Offers, Port, Source, flow_gauge, gauge};

/// The average is the queue itself, and nothing is dropped at random.
fn config() -> BreatheConfig {
    BreatheConfig {
        limit: QueueSize::Packets(20),
        min_threshold: QueueSize::Packets(4),
        max_threshold: QueueSize::Packets(8),
        weight: 1.0,
        max_probability: 0.0,
        counters: Some(3),
        ..BreatheConfig::default()
    }
}

fn breathe(config: &BreatheConfig) -> Breathe {
    Breathe::new(config, LINK, 0).unwrap()
}

fn is_let_in(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Enqueue(_))
}

#[test]
fn below_the_lower_threshold_everyone_is_let_in_and_counted() {
    let mut law = breathe(&config());
    let mut offers = Offers::new();
    for packet in 1..=4 {
        assert!(is_let_in(offers.offer(&mut law, 1, 1000)));
        assert_eq!(flow_gauge(&law, 1, "counter"), f64::from(packet));
        assert_eq!(flow_gauge(&law, 1, "blocked"), 0.0);
    }
}

#[test]
fn between_the_thresholds_members_are_blocked_until_their_counter_is_gone() {
    let mut law = breathe(&config());
    let mut offers = Offers::new();
    for flow in [1, 1, 2, 3] {
        offers.offer(&mut law, flow, 1000);
    }
    assert_eq!((gauge(&law, "members"), gauge(&law, "total_count")), (3.0, 4.0));
    for flow in [1, 2, 3] {
        assert_eq!(offers.offer(&mut law, flow, 1000), Verdict::Drop(DropReason::FairShare));
        assert_eq!(flow_gauge(&law, flow, "blocked"), 1.0);
    }
    // Dropped packets do not count.
    assert_eq!(gauge(&law, "total_count"), 4.0);
    // Another flow's packet takes one off each counter, and is let in without one of its own.
    assert!(is_let_in(offers.offer(&mut law, 4, 1000)));
    assert_eq!([1, 2, 3, 4].map(|flow| flow_gauge(&law, flow, "counter")), [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(gauge(&law, "decrements"), 1.0);
    assert_eq!(offers.offer(&mut law, 1, 1000), Verdict::Drop(DropReason::FairShare));
    for flow in [2, 3] {
        assert!(is_let_in(offers.offer(&mut law, flow, 1000)));
    }
    // 7 packets queued, and all counters are taken again: the next stranger sets all three free.
    assert!(is_let_in(offers.offer(&mut law, 4, 1000)));
    assert_eq!(gauge(&law, "members"), 0.0);
    assert!(is_let_in(offers.offer(&mut law, 1, 1000)));
}

/// "Greater than max_th" (paper, section 3).
#[test]
fn above_the_upper_threshold_everyone_is_dropped() {
    let mut law = breathe(&config());
    let mut offers = Offers::new();
    offers.backlog.packets = 8;
    assert!(is_let_in(offers.offer(&mut law, 1, 1000)));
    assert_eq!(offers.backlog.packets, 9);
    for flow in [1, 2] {
        assert_eq!(offers.offer(&mut law, flow, 1000), Verdict::Drop(DropReason::Forced));
    }
    assert_eq!(flow_gauge(&law, 1, "blocked"), 0.0);
}

#[test]
fn others_are_dropped_with_the_probability_of_red() {
    // Half way p_b = 0.1: gaps are uniform on 1 .. 9, or geometric. Only flow 0 gets a counter.
    for (uniform_gaps, mean_gap) in [(true, 5.0), (false, 10.0)] {
        let config = BreatheConfig { max_probability: 0.2, counters: Some(1), uniform_gaps, ..config() };
        let mut law = breathe(&config);
        law.heavy_hitters.record(FlowKey(0));
        let mut offers = Offers::new();
        let (mut drops, packets) = (0, 100_000);
        for flow in 1..=packets {
            offers.backlog.packets = 6;
            drops += u32::from(offers.offer(&mut law, flow, 1000) == Verdict::Drop(DropReason::Early));
        }
        let gap = packets as f64 / f64::from(drops);
        assert!((gap / mean_gap - 1.0).abs() < 0.02, "uniform_gaps = {uniform_gaps}: {gap}");
    }
}

#[test]
fn blocked_packets_neither_count_in_a_gap_nor_end_it() {
    let mut law = breathe(&BreatheConfig { max_probability: 1e-9, ..config() });
    let mut offers = Offers::new();
    for flow in [1, 1, 1, 1, 1, 2, 1, 3] {
        offers.backlog.packets = offers.backlog.packets.min(5);
        offers.offer(&mut law, flow, 1000);
    }
    // Flows 2 and 3 once each, from -1 on; flow 1 is blocked from its fifth packet on.
    assert_eq!(law.count, 1);
}

#[test]
fn a_full_queue_drops_and_does_not_count() {
    let config =
        BreatheConfig { min_threshold: QueueSize::Packets(19), max_threshold: QueueSize::Packets(20), ..config() };
    let mut law = breathe(&BreatheConfig { weight: 0.1, ..config });
    let mut offers = Offers::new();
    offers.backlog.packets = 20;
    assert_eq!(offers.offer(&mut law, 1, 1000), Verdict::Drop(DropReason::Overflow));
    assert_eq!(flow_gauge(&law, 1, "counter"), 0.0);
}

#[test]
fn ecn_marks_what_red_would_drop_and_nothing_else() {
    let mut law = breathe(&BreatheConfig { max_probability: 1.0, ecn: true, uniform_gaps: false, ..config() });
    let mut offers = Offers { ecn: Ecn::Capable0, ..Offers::new() };
    offers.backlog.packets = 8;
    assert_eq!(offers.offer(&mut law, 1, 1000), Verdict::Mark(Ticket(0), MarkReason::Early));
    offers.backlog.packets = 8;
    assert_eq!(offers.offer(&mut law, 1, 1000), Verdict::Drop(DropReason::FairShare));
    offers.backlog.packets = 9;
    assert_eq!(offers.offer(&mut law, 2, 1000), Verdict::Drop(DropReason::Forced));
    offers.ecn = Ecn::NotCapable;
    offers.backlog.packets = 8;
    assert_eq!(offers.offer(&mut law, 2, 1000), Verdict::Drop(DropReason::Early));
}

#[test]
fn the_member_threshold_leaves_members_some_packets() {
    let mut law = breathe(&BreatheConfig { member_threshold: 2, ..config() });
    let mut offers = Offers::new();
    offers.backlog.packets = 4;
    let verdicts = [1; 4].map(|flow| offers.offer(&mut law, flow, 1000));
    assert!(verdicts[..3].iter().all(|verdict| is_let_in(*verdict)));
    assert_eq!(verdicts[3], Verdict::Drop(DropReason::FairShare));
}

#[test]
fn bytes_may_count_instead_of_packets() {
    let mut law = breathe(&BreatheConfig { bytes_per_count: Some(Bytes(500)), ..config() });
    let mut offers = Offers::new();
    for (flow, len_bytes) in [(1, 1000), (2, 501), (3, 1)] {
        offers.offer(&mut law, flow, len_bytes);
    }
    assert_eq!([1, 2, 3].map(|flow| flow_gauge(&law, flow, "counter")), [2.0, 2.0, 1.0]);
}

#[test]
fn departures_may_count_instead_of_admissions() {
    let mut law = breathe(&BreatheConfig { count_departures: true, ..config() });
    assert!(law.watches_departures() && !breathe(&config()).watches_departures());
    let mut offers = Offers::new();
    offers.offer(&mut law, 1, 1000);
    offers.offer(&mut law, 2, 1000);
    assert_eq!(gauge(&law, "total_count"), 0.0);
    law.release(Ticket(0), 1000, Backlog { packets: 1, bytes: 1000 }, offers.now);
    assert_eq!([1, 2].map(|flow| flow_gauge(&law, flow, "counter")), [1.0, 0.0]);
    law.release(Ticket(0), 1000, Backlog::default(), offers.now);
    assert_eq!([1, 2].map(|flow| flow_gauge(&law, flow, "counter")), [1.0, 1.0]);
}

#[test]
fn counters_are_halved_once_for_each_period_that_has_ended() {
    let mut law = breathe(&BreatheConfig { decay_period: Some(Span::from_seconds(1)), ..config() });
    let mut offers = Offers::new();
    for _ in 0..5 {
        offers.backlog.packets = 0;
        offers.offer(&mut law, 1, 1000);
    }
    let mut counter_at = |milliseconds| {
        offers.now = Time::ZERO + Span::from_milliseconds(milliseconds);
        // Past the upper threshold: it is dropped, and not counted.
        offers.backlog.packets = 9;
        offers.offer(&mut law, 1, 1000);
        flow_gauge(&law, 1, "counter")
    };
    assert_eq!(counter_at(999), 5.0);
    assert_eq!(counter_at(1000), 2.0);
    assert_eq!(counter_at(1999), 2.0);
    assert_eq!(counter_at(2500), 1.0);
    // The periods end at whole seconds, however late they are noticed.
    assert_eq!(counter_at(2999), 1.0);
    assert_eq!(counter_at(3000), 0.0);
    assert_eq!(counter_at(3_600_000_000), 0.0);
}

#[test]
fn periods_that_end_in_an_idle_time_halve_once_each() {
    let mut law = breathe(&BreatheConfig { decay_period: Some(Span::from_seconds(1)), ..config() });
    let mut offers = Offers::new();
    (0..16).for_each(|_| law.record(FlowKey(1), 1000));
    offers.backlog.packets = 9;
    for (milliseconds, counter) in [(3999, 2.0), (4000, 1.0), (4999, 1.0)] {
        offers.now = Time::ZERO + Span::from_milliseconds(milliseconds);
        offers.offer(&mut law, 1, 1000);
        assert_eq!(flow_gauge(&law, 1, "counter"), counter, "{milliseconds} ms");
    }
}

#[test]
fn counters_are_halved_before_a_departure_counts() {
    let decay_period = Some(Span::from_seconds(1));
    let mut law = breathe(&BreatheConfig { count_departures: true, decay_period, ..config() });
    let mut offers = Offers::new();
    (0..5).for_each(|_| assert!(is_let_in(offers.offer(&mut law, 1, 1000))));
    let mut depart = |milliseconds| {
        law.release(Ticket(0), 1000, Backlog::default(), Time::ZERO + Span::from_milliseconds(milliseconds));
        flow_gauge(&law, 1, "counter")
    };
    assert_eq!([0, 0, 0, 999, 1000].map(&mut depart), [1.0, 2.0, 3.0, 4.0, 3.0]);
}

#[test]
fn the_average_decays_while_the_link_is_idle() {
    // RED: as if as many empty queues had been sampled as the link has time for packets of 500 B, at 100 Mb/s two in
    // 80 us. The weight is a half, and the packet that ends the idle time samples once more.
    let mut law = breathe(&BreatheConfig { weight: 0.5, ..config() });
    let mut offers = Offers::new();
    let mut average_at = |law: &mut Breathe, packets, microseconds| {
        offers.backlog.packets = packets;
        offers.now = Time::ZERO + Span::from_microseconds(microseconds);
        let is_let_in = is_let_in(offers.offer(law, 1, 1000));
        (gauge(law, "avg"), is_let_in)
    };
    assert_eq!(average_at(&mut law, 16, 1000), (8.0, true));
    law.idle(Time::ZERO + Span::from_microseconds(2000));
    assert_eq!(average_at(&mut law, 0, 2080), (1.0, true));
    // The link is not idle any more.
    assert_eq!(average_at(&mut law, 256, 2160), (128.5, false));
    assert_eq!(average_at(&mut law, 256, 2240), (192.25, false));
    // A dropped packet leaves it idle: the time so far is subtracted once.
    law.idle(Time::ZERO + Span::from_microseconds(3000));
    assert_eq!(average_at(&mut law, 0, 3080), (24.03125, false));
    assert_eq!(average_at(&mut law, 0, 3160), (3.00390625, true));
    assert_eq!(average_at(&mut law, 0, 3240), (1.501953125, true));
}

#[test]
fn a_rate_gives_the_counters_that_it_needs() {
    let with = |rate: u64| BreatheConfig { counters: None, flow_rate_limit: Rate::new(rate), ..config() };
    for (rate, counters) in [(100_000_000, 1), (1_000_000, 100), (999_999, 101), (300_000_000, 1)] {
        assert_eq!(breathe(&with(rate)).heavy_hitters.counters(), counters);
    }
    assert_eq!(breathe(&BreatheConfig::default()).heavy_hitters.counters(), DEFAULT_COUNTERS);
    assert_eq!(Breathe::new(&with(1), LINK, 0).unwrap_err().field, "flow_rate_limit");
}

/// A fair link leaves these to 20 flows: 2.5 Mb/s to each of the first 10, which send no more, and 7.5 Mb/s to each of
/// the others, which send from 10 to 37 Mb/s.
const FAIR: [f64; 2] = [2.5, 7.5];

fn sending_rate(flow: u64) -> f64 {
    if flow <= 10 { 2.503 + 0.001 * flow as f64 } else { 10.017 + 3.007 * (flow - 11) as f64 }
}

/// The goodput of these flows over 20 s after a warm-up, in Mb/s, and the number of decrements of the counters.
fn throughput(counters: u32) -> (Vec<f64>, f64) {
    let law = breathe(&BreatheConfig { counters: Some(counters), ..BreatheConfig::default() });
    let rate = |flow| Rate::new((1e6 * sending_rate(flow)) as u64).unwrap();
    let mut port = Port::new(Box::new(law), (1..=20).map(|flow| Source::new(flow, rate(flow), 1000)).collect());
    port.run(Time::ZERO + Span::from_seconds(5), |_| {});
    port.sent_bytes.clear();
    port.run(Time::ZERO + Span::from_seconds(25), |_| {});
    let bytes = |flow| port.sent_bytes.iter().find(|(sent, _)| *sent == flow).map_or(0, |(_, bytes)| *bytes);
    let sent = (1..=20).map(|flow| bytes(flow) as f64 * 8e-6 / 20.0).collect();
    (sent, gauge(&*port.law, "decrements"))
}

#[test]
fn flows_above_the_fair_rate_are_throttled_to_about_it() {
    // 12 is the most counters whose share of the link, 1/13, is no less than the fair rate.
    let (sent, _) = throughput(12);
    for (index, sent) in sent.iter().enumerate() {
        let fair = FAIR[index / 10];
        assert!((sent / fair - 1.0).abs() < 0.1, "flow {} gets {sent} Mb/s, its share is {fair}", index + 1);
    }
}

#[test]
fn no_flow_gets_more_than_the_share_of_a_counter() {
    for counters in 8..=12 {
        let share = 100.0 / f64::from(counters + 1);
        let (sent, _) = throughput(counters);
        assert!(sent.iter().all(|sent| *sent < 1.03 * share), "{counters} counters: {sent:?}");
    }
}

/// The limits of the method: with less than the fair rate to a counter, the fast flows are all blocked or all let in.
#[test]
fn with_too_many_counters_flows_are_not_told_apart() {
    let share = |sent: &[f64], flow: u64| sent[flow as usize - 1] / sending_rate(flow);
    let (sent, decrements) = throughput(16);
    assert!(decrements > 0.0);
    assert!(sent[..10].iter().all(|sent| (sent / FAIR[0] - 1.0).abs() < 0.02), "{sent:?}");
    assert!((share(&sent, 15) / share(&sent, 20) - 1.0).abs() < 0.1, "{sent:?}");
    // A counter for each flow: no flow is ever forgiven, and the link, which has room for 0.38 of all that is sent, is
    // shared by the rates.
    let (sent, decrements) = throughput(20);
    assert_eq!(decrements, 0.0);
    assert!((1..=20).all(|flow| (0.3..0.5).contains(&share(&sent, flow))), "{sent:?}");
}

#[test]
fn parameters_out_of_range_are_refused() {
    let bad = |change: fn(&mut BreatheConfig), field: &str| {
        let mut config = BreatheConfig::default();
        change(&mut config);
        assert_eq!(Breathe::new(&config, LINK, 0).unwrap_err().field, field);
    };
    bad(|config| config.limit = QueueSize::Packets(0), "limit");
    bad(|config| config.min_threshold = QueueSize::Packets(200), "max_threshold");
    bad(|config| config.min_threshold = QueueSize::Bytes(100), "max_threshold");
    bad(|config| config.max_threshold = QueueSize::Packets(301), "max_threshold");
    bad(|config| config.weight = 0.0, "weight");
    bad(|config| config.weight = f64::NAN, "weight");
    bad(|config| config.max_probability = 1.1, "max_probability");
    bad(|config| config.mean_packet_size = Bytes(0), "mean_packet_size");
    bad(|config| config.counters = Some(0), "counters");
    bad(|config| config.counters = Some((1 << 20) + 1), "counters");
    bad(|config| config.flow_rate_limit = Rate::new(1), "flow_rate_limit");
    bad(|config| config.decay_period = Some(Span::ZERO), "decay_period");
    bad(|config| config.bytes_per_count = Some(Bytes(39)), "bytes_per_count");
    let both = BreatheConfig { flow_rate_limit: Some(Rate::megabits(1)), ..config() };
    assert_eq!(Breathe::new(&both, LINK, 0).unwrap_err().field, "flow_rate_limit");
}
