//! DualPI2: classification, the scheduler, coupled marks and drops, the step and the ramp, overload.

use alloc::vec;
use alloc::vec::Vec;

use forebay_units::{Bytes, QueueSize};

use super::*;
use crate::pi2_controller::{Pi2Draw, Pi2Preset};
use crate::test_support::{Bench, LINK, Labelled};

const MTU: u32 = 1514;

fn bench(config: &DualPi2Config) -> Bench<DualPi2<Labelled>> {
    Bench::new(DualPi2::new(config, LINK, 0).unwrap())
}

fn linux() -> DualPi2Config {
    DualPi2Config::default()
}

fn rfc() -> DualPi2Config {
    DualPi2Config { preset: Pi2Preset::Rfc, ..DualPi2Config::default() }
}

fn packet(label: u32, ecn: Ecn) -> Labelled {
    sized(label, ecn, MTU)
}

fn sized(label: u32, ecn: Ecn, len_bytes: u32) -> Labelled {
    let mut packet = Labelled::new(label, 1, len_bytes, 0);
    packet.arrival.ecn = ecn;
    packet
}

fn at_us(microseconds: u64) -> Time {
    Time::ZERO + Span::from_microseconds(microseconds)
}

fn gauge(bench: &Bench<DualPi2<Labelled>>, name: &str) -> f64 {
    let mut found = f64::NAN;
    bench.discipline.gauges(&mut |gauge, value| {
        if gauge == name {
            found = value;
        }
    });
    found
}

/// The lengths of the Classic and the L4S queue.
fn lengths(bench: &Bench<DualPi2<Labelled>>) -> [f64; 2] {
    ["length_c", "length_l"].map(|name| gauge(bench, name))
}

use Ecn::{Capable0, Capable1, CongestionExperienced as Ce, NotCapable};

#[test]
fn the_ecn_field_chooses_the_queue() {
    for (ecn_mask, expected) in
        [(DualPi2EcnMask::L4sEct, [false, false, true, true]), (DualPi2EcnMask::AnyEct, [false, true, true, true])]
    {
        let found = [NotCapable, Capable0, Capable1, Ce].map(|ecn| {
            let mut bench = bench(&DualPi2Config { ecn_mask, ..linux() });
            bench.enqueue(packet(1, ecn));
            lengths(&bench) == [0.0, 1.0]
        });
        assert_eq!(found, expected, "{ecn_mask:?}");
    }
}

#[test]
fn traffic_classes_choose_the_queue_of_other_packets() {
    let config = DualPi2Config { l4s_classes: vec![1, 200], llll_classes: vec![3], ..linux() };
    let mut bench = bench(&config);
    let classify = |class: u8, ecn: Ecn, bench: &mut Bench<DualPi2<Labelled>>| {
        bench.discipline.classify(&Arrival { class, ecn, ..Arrival::default() })
    };
    let services = [0, 1, 2, 3, 64, 65, 200].map(|class| classify(class, NotCapable, &mut bench));
    use Service::{Classic as C, L4s as L, Llll};
    assert_eq!(services, [C, L, C, Llll, C, C, L]);
    // The ECN field comes first.
    assert_eq!([3, 64].map(|class| classify(class, Capable1, &mut bench)), [L, L]);
}

#[test]
fn both_backlogged_take_turns_of_nine_to_one() {
    let mut bench = bench(&linux());
    for label in 0..1000 {
        bench.enqueue(packet(label, if label % 2 == 0 { Capable0 } else { Capable1 }));
    }
    assert_eq!(gauge(&bench, "credit"), -121_120.0);
    let is_l4s: Vec<bool> = (0..500).map(|_| bench.dequeue().unwrap().label % 2 == 1).collect();
    // The initial credit is worth 8 packets of the L4S queue, and one at 0 follows.
    let first = is_l4s.iter().position(|l4s| !l4s).unwrap();
    assert_eq!(first, 9);
    for round in is_l4s[first..first + 400].chunks(10) {
        assert_eq!(round, [false, true, true, true, true, true, true, true, true, true]);
    }
}

#[test]
fn shares_of_the_link_are_by_bytes() {
    for (protection, c_len, l_len) in [(10, 1514, 100), (30, 300, 1514), (50, 1000, 1000), (90, 64, 1500)] {
        let mut bench = bench(&DualPi2Config { classic_protection: Some(protection), ..linux() });
        let mut sent = [0_u64; 2];
        for label in 0..30_000_u32 {
            while lengths(&bench)[0] < 3.0 {
                bench.enqueue(sized(0, Capable0, c_len));
            }
            while lengths(&bench)[1] < 3.0 {
                bench.enqueue(sized(1, Capable1, l_len));
            }
            let packet = bench.dequeue().unwrap();
            if label > 200 {
                sent[packet.label as usize] += u64::from(packet.arrival.len_bytes);
            }
        }
        let share = sent[0] as f64 / (sent[0] + sent[1]) as f64;
        assert!((share - f64::from(protection) / 100.0).abs() < 0.002, "{protection} %: {share}");
    }
}

#[test]
fn credit_changes_only_while_the_other_queue_has_packets() {
    let mut bench = bench(&linux());
    for (label, ecn) in [(0, Capable1), (1, Capable1), (2, Capable0)] {
        bench.enqueue(sized(label, ecn, 1000));
    }
    let mut course = Vec::new();
    for _ in 0..3 {
        let label = bench.dequeue().unwrap().label;
        course.push((label, gauge(&bench, "credit")));
    }
    // After the L4S packets the Classic one is alone.
    assert_eq!(course, [(0, -111_120.0), (1, -101_120.0), (2, -101_120.0)]);
    assert_eq!(bench.serve(), Served::Idle);
    assert_eq!(gauge(&bench, "credit"), -121_120.0);
    (0..2).for_each(|label| bench.enqueue(packet(label, Capable1)));
    bench.dequeue();
    assert_eq!(gauge(&bench, "credit"), -121_120.0);
}

#[test]
fn a_packet_that_is_dropped_does_not_change_the_credit() {
    let mut bench = bench(&linux());
    (0..4).for_each(|label| bench.enqueue(packet(label, if label == 3 { Capable1 } else { NotCapable })));
    bench.discipline.scheduler = Scheduler::Wrr { credit: 1, initial: 0, classic_weight: 10 };
    bench.discipline.controller.set_probability(1.0);
    // With the last two packets left nothing is dropped.
    assert_eq!(bench.dequeue().unwrap().label, 2);
    assert_eq!(bench.dropped.0.len(), 2);
    assert_eq!(gauge(&bench, "credit"), 1.0 - 90.0 * 1514.0);
}

#[test]
fn both_queues_share_the_limits() {
    let overflow = |config: DualPi2Config| {
        let mut bench = bench(&config);
        (0..6).for_each(|label| bench.enqueue(sized(label, if label % 2 == 0 { Capable0 } else { Capable1 }, 100)));
        assert!(bench.dropped.0.iter().all(|(_, reason, queued)| (*reason, *queued) == (DropReason::Overflow, false)));
        bench.dropped.0.iter().map(|(packet, ..)| packet.label).collect::<Vec<u32>>()
    };
    assert_eq!(overflow(DualPi2Config { limit: QueueSize::Packets(4), ..linux() }), [4, 5]);
    assert_eq!(overflow(DualPi2Config { memory_limit: Some(Bytes(300)), ..linux() }), [3, 4, 5]);
    assert_eq!(overflow(DualPi2Config { memory_limit: Some(Bytes(299)), ..rfc() }), [2, 3, 4, 5]);
    assert_eq!(overflow(DualPi2Config { limit: QueueSize::Bytes(500), ..rfc() }), [5]);
    // Linux: twice the MTU for each packet.
    let jumbo = |preset| {
        let mut bench = bench(&DualPi2Config { preset, limit: QueueSize::Packets(3), ..linux() });
        (0..2).for_each(|label| bench.enqueue(sized(label, Capable0, 9000)));
        (bench.dropped.0.len(), gauge(&bench, "memory_limit"))
    };
    assert_eq!(jumbo(Pi2Preset::Linux), (1, 9084.0));
    assert_eq!(jumbo(Pi2Preset::Rfc).0, 0);
}

#[test]
fn classic_packets_are_marked_or_dropped_with_the_square() {
    let mut bench = bench(&linux());
    bench.discipline.controller.set_probability(0.4);
    let mut counts = [0.0; 2];
    for label in 0..40_000 {
        (0..2).for_each(|ahead| bench.enqueue(packet(2 * label + ahead, NotCapable)));
        bench.enqueue(packet(label, Capable0));
        let marked = bench.dropped.1.len();
        while let Some(packet) = bench.dequeue() {
            counts[1] += f64::from(u8::from(packet.arrival.ecn == Ce));
        }
        counts[0] = bench.dropped.0.len() as f64;
        assert!(bench.dropped.1.len() - marked <= 1);
    }
    // The last two packets of each round have less than two packets behind them.
    assert!((counts[0] / 40_000.0 - 0.16).abs() < 0.01, "{counts:?}");
    assert_eq!(counts[1], 0.0);
    assert!(bench.dropped.0.iter().all(|(_, reason, queued)| (*reason, *queued) == (DropReason::Early, true)));
}

/// Shares of packets that are dropped and marked when all are of this kind, with these probabilities, and enough of
/// them remain.
fn shares(config: &DualPi2Config, probability: f64, ecn: Ecn) -> [f64; 2] {
    let mut bench = bench(config);
    bench.discipline.controller.set_probability(probability);
    let mut packet = packet(0, ecn);
    packet.arrival.class = 7;
    let rounds = 20_000;
    let mut served = 0;
    for _ in 0..rounds {
        while bench.discipline.backlog().packets < 40 {
            bench.enqueue(packet);
        }
        served += u32::from(bench.dequeue().is_some());
    }
    let (dropped, marked) = (bench.dropped.0.len() as f64, bench.dropped.1.len() as f64);
    let all = f64::from(served) + dropped;
    [dropped / all, marked / all]
}

fn assert_shares(found: [f64; 2], expected: [f64; 2]) {
    let is_near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.012);
    assert!(is_near, "{found:?} instead of {expected:?}");
}

#[test]
fn probabilities_are_coupled() {
    let lists = DualPi2Config { l4s_classes: vec![7], ..linux() };
    for config in [lists.clone(), DualPi2Config { preset: Pi2Preset::Rfc, ..lists }] {
        let classic = DualPi2Config { l4s_classes: vec![], ..config.clone() };
        // Below overload: p squared, and 2 p; those that are not capable are dropped.
        assert_shares(shares(&classic, 0.3, NotCapable), [0.09, 0.0]);
        assert_shares(shares(&classic, 0.3, Capable0), [0.0, 0.09]);
        assert_shares(shares(&config, 0.3, Capable1), [0.0, 0.6]);
        assert_shares(shares(&config, 0.3, NotCapable), [0.6, 0.0]);
        // Overload: ECN no longer counts in the Classic queue; L4S packets are dropped with p squared, else marked.
        assert_shares(shares(&classic, 0.5, Capable0), [0.25, 0.0]);
        assert_shares(shares(&classic, 0.8, Capable0), [0.64, 0.0]);
        assert_shares(shares(&config, 0.8, Capable1), [0.64, 0.36]);
        assert_shares(shares(&config, 0.8, NotCapable), [0.64, 0.0]);
        // Just below it.
        assert_shares(shares(&classic, 0.499_999, Capable0), [0.0, 0.25]);
        assert_shares(shares(&config, 0.499_999, Capable1), [0.0, 1.0]);
        let k4 = DualPi2Config { coupling_factor: 4.0, ..config.clone() };
        assert_shares(shares(&k4, 0.2, Capable1), [0.0, 0.8]);
        assert_shares(shares(&k4, 0.25, Capable1), [0.0625, 0.9375]);
    }
}

#[test]
fn llll_packets_are_neither_marked_nor_dropped() {
    let config = DualPi2Config { llll_classes: vec![7], step_threshold: Some(Span::ZERO), ..linux() };
    let mut bench = bench(&config);
    bench.discipline.controller.set_probability(1.0);
    let mut packet = packet(0, Capable0);
    packet.arrival.class = 7;
    (0..9).for_each(|_| bench.enqueue(packet));
    bench.now = at_us(100_000);
    for _ in 0..9 {
        bench.discipline.controller.set_probability(1.0);
        assert_eq!(bench.dequeue().unwrap().arrival.ecn, Capable0);
    }
}

#[test]
fn without_drops_on_overload_the_base_probability_stops() {
    let config = DualPi2Config { drop_on_overload: false, ..linux() };
    let mut bench = bench(&config);
    (0..10).for_each(|label| bench.enqueue(packet(label, Capable1)));
    bench.now = at_us(10_000_000);
    (0..5).for_each(|_| assert_eq!(bench.dequeue().unwrap().arrival.ecn, Ce));
    assert_eq!(gauge(&bench, "prob"), 2_147_483_647.0 / 4_294_967_296.0);
    assert!(bench.dropped.0.is_empty());
}

#[test]
fn nothing_is_dropped_with_less_than_two_packets_queued() {
    // The packets that stay: how many bytes are behind the one that leaves, or ahead of the one that comes.
    let dropped = |drop_on_enqueue: bool, min_backlog: Option<Bytes>, behind: &[u32]| {
        let mut bench = bench(&DualPi2Config { drop_on_enqueue, min_backlog, ..linux() });
        if !drop_on_enqueue {
            bench.enqueue(sized(0, NotCapable, 9000));
        }
        behind.iter().for_each(|len_bytes| bench.enqueue(sized(1, NotCapable, *len_bytes)));
        bench.discipline.controller.set_probability(1.0);
        if drop_on_enqueue {
            bench.enqueue(sized(0, NotCapable, 9000));
        } else {
            bench.dequeue();
        }
        bench.dropped.0.iter().filter(|(packet, ..)| packet.label == 0).count()
    };
    for drop_on_enqueue in [false, true] {
        assert_eq!(dropped(drop_on_enqueue, None, &[1514, 1513]), 0);
        assert_eq!(dropped(drop_on_enqueue, None, &[1514, 1514]), 1);
        assert_eq!(dropped(drop_on_enqueue, None, &[3027]), 0);
        assert_eq!(dropped(drop_on_enqueue, None, &[3028]), 1);
        assert_eq!(dropped(drop_on_enqueue, Some(Bytes(100)), &[99]), 0);
        assert_eq!(dropped(drop_on_enqueue, Some(Bytes(100)), &[100]), 1);
    }
    // It is both queues that count.
    let mut bench = bench(&linux());
    bench.enqueue(packet(0, NotCapable));
    (1..3).for_each(|label| bench.enqueue(packet(label, Capable1)));
    bench.discipline.scheduler = Scheduler::Wrr { credit: 1, initial: 0, classic_weight: 10 };
    bench.discipline.controller.set_probability(1.0);
    bench.dequeue();
    assert_eq!(bench.dropped.0[0].0.label, 0);
}

#[test]
fn packets_may_be_dropped_and_marked_on_arrival() {
    let mut bench = bench(&DualPi2Config { drop_on_enqueue: true, ..linux() });
    (0..3).for_each(|label| bench.enqueue(packet(label, NotCapable)));
    bench.discipline.controller.set_probability(4_294_967_295.0 / 4_294_967_296.0);
    bench.enqueue(packet(3, Capable0));
    assert_eq!(bench.dropped.0, [(packet(3, Capable0), DropReason::Early, false)]);
    bench.discipline.controller.set_probability(0.499_999_9);
    bench.enqueue(packet(4, Capable1));
    assert_eq!(bench.dropped.1, [(4, MarkReason::Early)]);
    // Nothing more when they leave, but for the step; the sink hears of each packet once.
    bench.now = at_us(1_001);
    bench.discipline.controller.set_probability(1.0);
    assert_eq!(bench.drain(), [4, 0, 1, 2]);
    assert_eq!(bench.dropped.1, [(4, MarkReason::Early)]);
    assert_eq!([gauge(&bench, "ecn_mark"), gauge(&bench, "step_marks")], [2.0, 1.0]);
}

#[test]
fn the_step_marks_packets_that_waited_for_longer() {
    let after = |config: &DualPi2Config, microseconds: u64, ecn: Ecn| {
        let mut bench = bench(config);
        let mut packet = packet(1, ecn);
        packet.arrival.class = 7;
        bench.enqueue(packet);
        bench.now = at_us(microseconds);
        let sent = bench.dequeue().map(|packet| packet.arrival.ecn);
        let reasons = (bench.dropped.0.first().map(|(_, reason, _)| *reason), bench.dropped.1.first().copied());
        (sent, reasons, gauge(&bench, "step_marks"))
    };
    let lists = DualPi2Config { l4s_classes: vec![7], ..linux() };
    assert_eq!(after(&lists, 1000, Capable1), (Some(Capable1), (None, None), 0.0));
    assert_eq!(after(&lists, 1001, Capable1), (Some(Ce), (None, Some((1, MarkReason::Forced))), 1.0));
    assert_eq!(after(&lists, 1000, NotCapable), (Some(NotCapable), (None, None), 0.0));
    assert_eq!(after(&lists, 1001, NotCapable), (None, (Some(DropReason::Forced), None), 0.0));
    // Not in the Classic queue.
    assert_eq!(after(&linux(), 1001, Capable0).0, Some(Capable0));
    let long = DualPi2Config { step_threshold: Some(Span::from_milliseconds(2)), ..linux() };
    assert_eq!([2000, 2001].map(|it| after(&long, it, Capable1).0), [Some(Capable1), Some(Ce)]);
}

#[test]
fn the_step_applies_to_packets_that_found_a_queue() {
    let mut bench = bench(&DualPi2Config { min_qlen_step: Some(2), ..linux() });
    // Classic packets do not count.
    (0..4).for_each(|label| bench.enqueue(packet(label, Capable0)));
    (10..14).for_each(|label| bench.enqueue(packet(label, Capable1)));
    bench.now = at_us(1500);
    bench.drain();
    assert_eq!(bench.dropped.1, [(12, MarkReason::Forced), (13, MarkReason::Forced)]);
}

#[test]
fn the_step_may_be_in_packets() {
    let mut bench = bench(&DualPi2Config { step_threshold_packets: Some(2), ..linux() });
    (0..5).for_each(|label| bench.enqueue(packet(label, Capable1)));
    bench.drain();
    // More than two are left behind them.
    assert_eq!(bench.dropped.1, [(0, MarkReason::Forced), (1, MarkReason::Forced)]);
}

#[test]
fn a_packet_marked_by_both_counts_twice_in_the_statistics() {
    let mut bench = bench(&linux());
    (0..4).for_each(|label| bench.enqueue(packet(label, Capable1)));
    bench.enqueue(packet(4, Ce));
    bench.now = at_us(1_001);
    bench.discipline.controller.set_probability(0.499_999_999);
    let marks = |bench: &Bench<DualPi2<Labelled>>| [gauge(bench, "ecn_mark"), gauge(bench, "step_marks")];
    let course: Vec<[f64; 2]> = (0..5)
        .map(|_| {
            bench.dequeue();
            marks(&bench)
        })
        .collect();
    // The last two have less than two packets behind them: only the step. A packet with CE counts as well.
    assert_eq!(course, [[2.0, 1.0], [4.0, 2.0], [6.0, 3.0], [7.0, 4.0], [8.0, 5.0]]);
    let reasons: Vec<_> = bench.dropped.1.iter().map(|(_, reason)| *reason).collect();
    assert_eq!(reasons[..3], [MarkReason::Early; 3]);
    assert_eq!(reasons[3..], [MarkReason::Forced; 2]);
}

#[test]
fn the_controller_sees_the_older_head_or_the_classic_one() {
    let delay_at_tick = |config: &DualPi2Config, classic_us: Option<u64>, l4s_us: Option<u64>, period: u64| {
        let mut bench = bench(config);
        let mut arrivals: Vec<(u64, Ecn)> =
            [(classic_us, Capable0), (l4s_us, Capable1)].iter().filter_map(|(at, ecn)| Some(((*at)?, *ecn))).collect();
        arrivals.sort_by_key(|(at, _)| *at);
        for (at, ecn) in arrivals {
            bench.now = at_us(at);
            bench.enqueue(packet(0, ecn));
        }
        // Long after the tick: the age at the tick counts.
        bench.now = at_us(period + 5000);
        bench.dequeue();
        bench.discipline.controller.delay_before()
    };
    let us = Span::from_microseconds;
    assert_eq!(delay_at_tick(&linux(), Some(4000), Some(9000), 16_000), us(12_000));
    assert_eq!(delay_at_tick(&linux(), Some(9000), Some(4000), 16_000), us(12_000));
    assert_eq!(delay_at_tick(&linux(), None, Some(4000), 16_000), us(12_000));
    assert_eq!(delay_at_tick(&linux(), Some(4000), None, 16_000), us(12_000));
    assert_eq!(delay_at_tick(&rfc(), Some(9000), Some(4000), 15_000), us(6_000));
    assert_eq!(delay_at_tick(&rfc(), None, Some(4000), 15_000), us(0));
    let older = DualPi2Config { delay: Some(DualPi2Delay::OlderHead), ..rfc() };
    assert_eq!(delay_at_tick(&older, Some(9000), Some(4000), 15_000), us(11_000));
}

#[test]
fn ticks_between_packets_see_the_head_of_their_time() {
    // Two packets 2 ms apart; the first leaves at 20 ms and the second at 40 ms, after ticks at 16 and 32 ms.
    let mut bench = bench(&linux());
    (0..2).for_each(|label| {
        bench.now = at_us(1000 + 2000 * u64::from(label));
        bench.enqueue(packet(label, Capable0));
    });
    let mut probabilities = Vec::new();
    for at in [20_000, 40_000, 60_000] {
        bench.now = at_us(at);
        bench.serve();
        probabilities.push(gauge(&bench, "prob") * 4_294_967_296.0);
    }
    let (a, b, target) = (44_i64, 879_i64, 15_000_000_i64);
    let first = (15_000_000 - target) * a + 15_000_000 * b;
    let second = (29_000_000 - target) * a + (29_000_000 - 15_000_000) * b;
    let third = (0 - target) * a + (0 - 29_000_000) * b;
    let p1 = first / 64;
    let p2 = p1 + second / 64;
    assert_eq!(probabilities, [p1 as f64, p2 as f64, (p2 + third / 64).max(0) as f64]);
}

#[test]
fn the_ramp_marks_with_the_larger_probability() {
    let ramp = |config: &DualPi2Config, packets: u32, microseconds: u64| {
        let mut bench = bench(config);
        (0..packets).for_each(|label| bench.enqueue(packet(label, Capable1)));
        bench.discipline.l4s.pop_tagged();
        bench.discipline.ramp(Span::from_microseconds(microseconds))
    };
    let found = [0, 800, 900, 1000, 1150, 1200, 9000].map(|delay| ramp(&rfc(), 3, delay));
    for (found, expected) in found.iter().zip([0.0, 0.0, 0.25, 0.5, 0.875, 1.0, 1.0]) {
        assert!((found - expected).abs() < 1e-12, "{found} instead of {expected}");
    }
    // More than `Th_len` packets must remain.
    assert_eq!(ramp(&rfc(), 2, 9000), 0.0);
    let long = DualPi2Config { ramp_min_packets: Some(4), ..rfc() };
    assert_eq!([ramp(&long, 5, 9000), ramp(&long, 6, 9000)], [0.0, 1.0]);
    let wide = DualPi2Config {
        ramp_min: Some(Span::from_milliseconds(1)),
        ramp_max: Some(Span::from_milliseconds(3)),
        ..rfc()
    };
    assert_eq!([ramp(&wide, 3, 1000), ramp(&wide, 3, 2000), ramp(&wide, 3, 3000)], [0.0, 0.5, 1.0]);
    assert_eq!(ramp(&linux(), 9, 9000), 0.0);
}

#[test]
fn the_ramp_and_the_coupled_probability_are_not_added() {
    let marked = |probability: f64, microseconds: u64| {
        let mut bench = bench(&rfc());
        (0..402).for_each(|label| bench.enqueue(packet(label, Capable1)));
        bench.now = at_us(microseconds);
        for _ in 0..400 {
            bench.discipline.controller.set_probability(probability);
            bench.dequeue();
        }
        assert_eq!(gauge(&bench, "step_marks"), 0.0);
        bench.dropped.1.len()
    };
    // Recurring marks: every fourth, after the first gap of five.
    assert_eq!(marked(0.125, 100), 99);
    assert_eq!(marked(0.0, 900), 99);
    assert_eq!(marked(0.125, 900), 99);
    assert_eq!(marked(0.25, 900), 199);
    assert_eq!(marked(0.125, 1000), 199);
}

#[test]
fn recurring_choices_of_the_queues_are_separate() {
    let mut bench = bench(&rfc());
    (0..40).for_each(|label| bench.enqueue(packet(label, if label % 2 == 0 { Capable0 } else { Capable1 })));
    let mut marked = [Vec::new(), Vec::new()];
    let mut sent = [0, 0];
    for _ in 0..40 {
        // A quarter of the Classic packets would be marked below overload, so just less than that.
        bench.discipline.controller.set_probability(0.499_999);
        let packet = bench.dequeue().unwrap();
        let queue = (packet.label % 2) as usize;
        sent[queue] += 1;
        if packet.arrival.ecn == Ce {
            marked[queue].push(sent[queue]);
        }
    }
    assert_eq!(marked[0], [5, 9, 13, 17]);
    // Nearly 1: the sums exceed 1 with the second packet and then with each.
    assert_eq!(marked[1], (2..=20).collect::<Vec<i32>>());
}

#[test]
fn the_time_shifted_fifo_prefers_l4s_packets_by_50_ms() {
    let order = |config: &DualPi2Config, classic_us: u64, l4s_us: u64| {
        let mut bench = bench(config);
        bench.now = at_us(classic_us);
        bench.enqueue(packet(0, Capable0));
        bench.now = at_us(l4s_us);
        bench.enqueue(packet(1, Capable1));
        bench.drain()
    };
    assert_eq!(order(&rfc(), 0, 1), [1, 0]);
    assert_eq!(order(&rfc(), 1000, 50_999), [1, 0]);
    assert_eq!(order(&rfc(), 1000, 51_000), [0, 1]);
    let short = DualPi2Config { time_shift: Some(Span::from_milliseconds(2)), ..rfc() };
    assert_eq!([order(&short, 1000, 2999), order(&short, 1000, 3000)], [[1, 0], [0, 1]]);
    let wrr = DualPi2Config { scheduler: Some(DualPi2Scheduler::Wrr), ..rfc() };
    assert_eq!(order(&wrr, 1000, 90_000), [1, 0]);
}

#[test]
fn keys_override_the_rules_of_the_preset() {
    let random = DualPi2Config { classic_draw: Some(Pi2Draw::Random), l4s_draw: Some(Pi2Draw::Random), ..rfc() };
    assert_shares(shares(&random, 0.3, Capable0), [0.0, 0.09]);
    assert_shares(shares(&random, 0.3, Capable1), [0.0, 0.6]);
    // In the RFC nothing spares the last packets.
    let mut bench = bench(&rfc());
    (0..3).for_each(|label| bench.enqueue(packet(label, NotCapable)));
    bench.discipline.controller.set_probability(1.0);
    assert_eq!(bench.drain(), [0]);
    let linux_step = DualPi2Config { l4s_aqm: Some(DualPi2L4sAqm::Step), ..rfc() };
    let mut bench = self::bench(&linux_step);
    bench.enqueue(packet(0, Capable1));
    bench.now = at_us(1001);
    bench.dequeue();
    assert_eq!(gauge(&bench, "step_marks"), 1.0);
}

#[test]
fn statistics_are_those_of_tc() {
    let mut bench = bench(&linux());
    for (label, ecn) in [(0, Capable0), (1, Capable1), (2, Capable1)] {
        bench.now = at_us(100 * u64::from(label));
        bench.enqueue(sized(label, ecn, 1000));
    }
    let gauges = |bench: &Bench<DualPi2<Labelled>>, names: [&str; 4]| names.map(|name| gauge(bench, name));
    assert_eq!(gauges(&bench, ["packets_in_c", "packets_in_l", "maxq", "prob"]), [1.0, 2.0, 2.0, 0.0]);
    let memory = ["memory_used", "max_memory_used", "memory_limit", "ecn_mark"];
    assert_eq!(gauges(&bench, memory), [3000.0, 3000.0, 30_280_000.0, 0.0]);
    let delays = |bench: &Bench<DualPi2<Labelled>>| ["delay_c", "delay_l"].map(|name| gauge(bench, name));
    assert!((delays(&bench)[0] - 200.0).abs() < 1e-9 && (delays(&bench)[1] - 100.0).abs() < 1e-9);
    bench.now = at_us(500);
    bench.drain();
    assert_eq!(delays(&bench), [0.0, 0.0]);
    assert_eq!(gauges(&bench, memory)[..2], [0.0, 3000.0]);
    assert_eq!(gauges(&bench, ["packets_in_c", "packets_in_l", "maxq", "length_l"]), [1.0, 2.0, 2.0, 0.0]);
}

#[test]
fn bounds_are_checked() {
    let us = |count| Some(Span::from_microseconds(count));
    for (config, field) in [
        (DualPi2Config { limit: QueueSize::Packets(0), ..linux() }, "limit"),
        (DualPi2Config { memory_limit: Some(Bytes(39)), ..linux() }, "memory_limit"),
        (DualPi2Config { mtu: Bytes(0), memory_limit: Some(Bytes(100)), ..linux() }, "mtu"),
        (DualPi2Config { alpha: Some(-1.0), ..linux() }, "alpha"),
        (DualPi2Config { classic_protection: Some(101), ..linux() }, "classic_protection"),
        (DualPi2Config { classic_protection: Some(10), ..rfc() }, "classic_protection"),
        (DualPi2Config { time_shift: us(1), ..linux() }, "time_shift"),
        (DualPi2Config { step_threshold: us(1), ..rfc() }, "step_threshold"),
        (DualPi2Config { step_threshold_packets: Some(1), ..rfc() }, "step_threshold_packets"),
        (DualPi2Config { min_qlen_step: Some(1), ..rfc() }, "min_qlen_step"),
        (DualPi2Config { drop_on_enqueue: true, ..rfc() }, "drop_on_enqueue"),
        (DualPi2Config { step_threshold: us(1), step_threshold_packets: Some(1), ..linux() }, "step_threshold_packets"),
        (DualPi2Config { ramp_min: us(1), ..linux() }, "ramp_min"),
        (DualPi2Config { ramp_max: us(1), ..linux() }, "ramp_max"),
        (DualPi2Config { ramp_min_packets: Some(1), ..linux() }, "ramp_min_packets"),
        (DualPi2Config { ramp_min: us(1200), ..rfc() }, "ramp_max"),
        (DualPi2Config { l4s_classes: vec![3], llll_classes: vec![2, 3], ..linux() }, "llll_classes"),
    ] {
        let error = DualPi2::<Labelled>::new(&config, LINK, 0).map(|_| ()).unwrap_err();
        assert_eq!(error.field, field, "{config:?}");
    }
}
