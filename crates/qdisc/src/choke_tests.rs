//! Tests of CHOKe: vectors, the theory of its peak, the uniform choice.

use alloc::vec::Vec;

use super::*;
use crate::test_support::{Bench, LINK, Labelled};
use crate::{Ecn, Span};

/// The average is the queue itself, and RED drops nothing below the upper threshold.
fn only_matches() -> ChokeConfig {
    ChokeConfig {
        limit: QueueSize::Packets(100_000),
        min_threshold: QueueSize::Packets(4),
        max_threshold: QueueSize::Packets(100_000),
        weight: 1.0,
        max_probability: 0.0,
        ..ChokeConfig::default()
    }
}

fn bench(config: &ChokeConfig) -> Bench<Choke<Labelled>> {
    Bench::new(Choke::new(config, LINK, 5).unwrap())
}

fn packet(label: u32, flow: u64) -> Labelled {
    Labelled::new(label, flow, 1000, 0)
}

/// How many drops of packets that were queued, and of arrivals, had this reason.
fn drops(bench: &Bench<Choke<Labelled>>, reason: DropReason) -> (usize, usize) {
    let of = |queued| bench.dropped.0.iter().filter(|drop| (drop.1, drop.2) == (reason, queued)).count();
    (of(true), of(false))
}

#[test]
fn up_to_the_lower_threshold_nothing_happens() {
    let mut bench = bench(&only_matches());
    // The average is the queue before the arrival: the fifth packet still finds 4, and 4 is not more than 4.
    for label in 0..5 {
        bench.enqueue(packet(label, 1));
    }
    assert!(bench.dropped.0.is_empty());
    bench.enqueue(packet(5, 1));
    let [(drawn, DropReason::Match, true), (arrival, DropReason::Match, false)] = bench.dropped.0[..] else {
        panic!("{:?}", bench.dropped.0)
    };
    assert!(drawn.label < 5 && arrival.label == 5);
    assert_eq!(bench.discipline.backlog(), Backlog { packets: 4, bytes: 4000 });
    assert_eq!(bench.drain().len(), 4);
}

#[test]
fn the_counter_starts_at_the_lower_threshold() {
    // RED's count of -1: the first packet above the threshold has the plain probability, the second, at 0.5, goes.
    let config = ChokeConfig { max_threshold: QueueSize::Packets(100), max_probability: 1.0, ..only_matches() };
    let mut bench = bench(&config);
    bench.enqueue(packet(0, 1));
    assert_eq!(bench.discipline.count, -1);
    bench.discipline.avg = 52.0;
    let mut certain = 0;
    for seed in 0..40 {
        let (mut rng, mut sink) = (crate::test_support::rng(), crate::test_support::Dropped::default());
        for _ in 0..seed {
            let _ = uniform(&mut rng);
        }
        let mut cx = Cx { now: Time::ZERO, rng: &mut rng, sink: &mut sink };
        let mut law = bench.discipline.clone();
        certain += u32::from(law.signal(&mut cx).is_some());
        assert_eq!(law.signal(&mut cx), Some(DropReason::Early));
    }
    assert!((10..=30).contains(&certain), "{certain} of 40 first ones");
}

#[test]
fn an_arrival_is_matched_in_proportion_to_what_its_flow_has_queued() {
    // 20 of 100 packets are of flow 1: its arrivals go with probability 0.2, with m candidates 1 - 0.8^m.
    for (candidates, all_matches) in [(1, true), (1, false), (5, true), (5, false)] {
        let mut filled = bench(&ChokeConfig { candidates, all_matches, ..only_matches() });
        (0..100)
            .for_each(|label| filled.enqueue(packet(label, if label % 5 == 0 { 1 } else { 1000 + u64::from(label) })));
        // Some early arrivals may have gone: the share is what is queued now.
        let queue = filled.discipline.clone();
        let held = queue.backlog.packets as f64;
        let of_flow = filled.drain().iter().filter(|label| **label % 5 == 0).count() as f64;
        filled.dropped.0.clear();
        let trials = 20_000;
        for _ in 0..trials {
            filled.discipline = queue.clone();
            filled.enqueue(packet(100, 1));
        }
        let (queued, arrivals) = drops(&filled, DropReason::Match);
        let share = of_flow / held;
        let expected = 1.0 - libm::pow(1.0 - share, f64::from(candidates));
        let measured = arrivals as f64 / f64::from(trials);
        assert!((measured - expected).abs() < 0.015, "{candidates}: {measured}, expected {expected}");
        // Drawn with replacement: of `of_flow` packets each is hit with 1 - (1 - 1/held)^m.
        let victims = of_flow * (1.0 - libm::pow(1.0 - 1.0 / held, f64::from(candidates)));
        let expected = if all_matches { victims } else { expected };
        let measured = queued as f64 / f64::from(trials);
        assert!((measured - expected).abs() < 0.04, "{candidates}: {measured} victims, expected {expected}");
    }
}

#[test]
fn the_packet_drawn_is_any_of_the_queue() {
    let mut bench = bench(&only_matches());
    (0..5).for_each(|label| bench.enqueue(packet(label, 1)));
    let queue = bench.discipline.clone();
    let mut hits = [0_i32; 5];
    for _ in 0..10_000 {
        bench.discipline = queue.clone();
        bench.enqueue(packet(9, 1));
    }
    bench.dropped.0.iter().filter(|drop| drop.2).for_each(|drop| hits[drop.0.label as usize] += 1);
    // 2000 each; the standard deviation is 40.
    assert!(hits.iter().all(|count| (count - 2000).abs() < 160), "{hits:?}");
}

#[test]
fn candidates_follow_the_region_of_the_average() {
    let config = ChokeConfig { regions: Some(8), ..ChokeConfig::default() };
    let mut choke = Choke::<Labelled>::new(&config, LINK, 5).unwrap();
    // m = 2 i in region i of eight between 100 and 200, and still 16 past them.
    for (avg, candidates) in [(100.1, 2), (112.4, 2), (112.5, 4), (150.0, 10), (187.4, 14), (187.5, 16), (500.0, 16)] {
        choke.avg = avg;
        assert_eq!(choke.candidates(), candidates, "at {avg}");
    }
}

#[test]
fn what_meets_none_of_its_flow_is_before_red() {
    // Distinct flows: no match. At an average of 6.5 between 5 and 8, p_b is half of max_p.
    let config = ChokeConfig {
        limit: QueueSize::Packets(20),
        min_threshold: QueueSize::Packets(5),
        max_threshold: QueueSize::Packets(8),
        weight: 1e-12,
        max_probability: 0.1,
        ..ChokeConfig::default()
    };
    let mut bench = bench(&config);
    bench.discipline.avg = 6.5;
    bench.discipline.idle_since = None;
    let mut gaps = Vec::new();
    let mut since = 0;
    for label in 0..200_000 {
        since += 1;
        let before = bench.dropped.0.len();
        bench.enqueue(packet(label, u64::from(label)));
        bench.dequeue();
        // The idle period that `dequeue` has found would decay the average.
        bench.discipline.idle_since = None;
        if bench.dropped.0.len() > before {
            gaps.push(since);
            since = 0;
        }
    }
    assert_eq!(drops(&bench, DropReason::Early), (0, gaps.len()));
    // p_b = 0.05: the gaps are uniform on 1 .. 19, for the first packet after a drop has a count of 1.
    let (least, most) = gaps[1..].iter().fold((u32::MAX, 0), |(least, most), gap| (least.min(*gap), most.max(*gap)));
    let mean = f64::from(gaps[1..].iter().sum::<u32>()) / (gaps.len() - 1) as f64;
    assert_eq!((least, most), (1, 19));
    assert!((mean - 10.0).abs() < 0.3, "{mean}");

    bench.discipline.avg = 8.1;
    bench.enqueue(packet(0, 0));
    assert_eq!(drops(&bench, DropReason::Forced), (0, 1));
}

#[test]
fn a_match_comes_before_the_upper_threshold() {
    let config = ChokeConfig { max_threshold: QueueSize::Packets(5), ..only_matches() };
    let mut bench = bench(&config);
    for label in 0..5 {
        bench.enqueue(packet(label, 1));
    }
    bench.enqueue(packet(5, 2));
    bench.enqueue(packet(6, 1));
    assert_eq!((drops(&bench, DropReason::Forced), drops(&bench, DropReason::Match)), ((0, 1), (1, 1)));
}

#[test]
fn only_reds_early_drops_become_marks() {
    let config = ChokeConfig {
        min_threshold: QueueSize::Packets(1),
        max_threshold: QueueSize::Packets(3),
        max_probability: 1.0,
        weight: 1.0,
        ecn: true,
        ..ChokeConfig::default()
    };
    let mut bench = bench(&config);
    let capable = |label: u32| {
        let mut packet = packet(label, u64::from(label % 10));
        packet.arrival.ecn = Ecn::Capable0;
        packet
    };
    // Averages 0, 1, 2, 3: let in, let in, RED with p_b = 1/2, forced. The count of -1 makes the first p_a = 1/2.
    bench.enqueue(capable(0));
    bench.enqueue(capable(1));
    bench.discipline.count = 1;
    bench.enqueue(capable(2));
    bench.enqueue(capable(3));
    assert_eq!(drops(&bench, DropReason::Forced), (0, 1));
    bench.enqueue(capable(10));
    bench.enqueue(capable(13));
    let marked: Vec<bool> =
        core::iter::from_fn(|| bench.dequeue()).map(|packet| packet.ecn() == Ecn::CongestionExperienced).collect();
    assert_eq!(marked, [false, false, true]);
}

#[test]
fn an_idle_link_lets_the_average_decay() {
    let config = ChokeConfig { weight: 0.01, mean_packet_size: Bytes(1250), ..ChokeConfig::default() };
    let mut bench = bench(&config);
    bench.discipline.avg = 150.0;
    bench.dequeue();
    // 10 000 packets a second: 100 samples in 10 ms, and that of the arrival.
    bench.now += Span::from_milliseconds(10);
    bench.enqueue(packet(0, 1));
    assert!((bench.discipline.avg - 150.0 * libm::pow(0.99, 101.0)).abs() < 1e-6, "{}", bench.discipline.avg);
    // Busy now: the next packet is a sample like any other.
    bench.now += Span::from_milliseconds(10);
    let before = bench.discipline.avg;
    bench.enqueue(packet(1, 2));
    assert!((bench.discipline.avg - (before + 0.01 * (1.0 - before))).abs() < 1e-9);
}

/// UDP's share of the link by the fluid model of Tang, Wang and Low with many TCP flows and no drops by RED, for a UDP
/// input of `x` links. The share of UDP in the queue is h. A UDP packet is admitted with 1 - h. It is drawn at rate x /
/// b in the queue, so it survives with exp(-x T / b), and a part 1 - 2 h arrives. T / b follows from the TCP packets in
/// the queue: (1 - h) b = (1 - share) T.
fn fluid_share(x: f64) -> f64 {
    let (mut low, mut high) = (0.0, 0.5);
    for _ in 0..100 {
        let h = 0.5 * (low + high);
        let share = x * (1.0 - 2.0 * h);
        let survives = (1.0 - h) * libm::exp(-x * (1.0 - h) / (1.0 - share));
        // Too few arrive for so few drawn if h is too small, or UDP alone would overload the link.
        if share >= 1.0 || survives < 1.0 - 2.0 * h { low = h } else { high = h }
    }
    x * (1.0 - low - high)
}

/// UDP's share of the link in open loop. A UDP flow sends `x` packets for each that the link sends. TCP flows, so many
/// that none meets itself, refill the queue to `depth` packets whenever it is shorter.
fn measured_share(x: f64, depth: u64) -> f64 {
    let mut bench = bench(&only_matches());
    let (warm_up, measured) = (20 * depth, 100 * depth);
    let (mut due, mut tcp, mut sent) = (0.0, 1_u64, 0_u64);
    for served in 0..warm_up + measured {
        while bench.discipline.backlog.packets < depth {
            tcp += 1;
            bench.enqueue(packet(0, tcp));
        }
        due += x;
        while due >= 1.0 {
            due -= 1.0;
            bench.enqueue(packet(1, 0));
        }
        let is_udp = bench.dequeue().unwrap().label == 1;
        sent += u64::from(is_udp && served >= warm_up);
        bench.dropped.0.clear();
    }
    sent as f64 / measured as f64
}

#[test]
fn the_fluid_model_peaks_at_one_in_e_plus_one() {
    let e = core::f64::consts::E;
    let peak = (2.0 * e - 1.0) / (e + 1.0);
    assert!((fluid_share(peak) - 1.0 / (e + 1.0)).abs() < 1e-6, "{}", fluid_share(peak));
    let most = (1..400).map(|step| fluid_share(f64::from(step) * 0.02)).fold(0.0, f64::max);
    assert!((most - 1.0 / (e + 1.0)).abs() < 1e-4, "{most}");
}

/// Tang, Wang and Low: whatever it sends, UDP gets no more than 1 / (e + 1) = 26.9 % of the link, at an input of 1.19
/// links, and next to nothing at a high input. The tolerance of 0.006 is four standard deviations of 100 000 packets
/// that are drawn independently.
#[test]
fn a_flow_that_does_not_respond_gets_at_most_27_percent() {
    let inputs = [0.4, 0.7, 0.9, 1.05, 1.19, 1.35, 1.6, 2.5, 5.0, 10.0];
    let shares = inputs.map(|x| measured_share(x, 1000));
    for (x, share) in inputs.into_iter().zip(shares) {
        assert!((share - fluid_share(x)).abs() < 0.006, "at {x}: {share}, in the fluid {}", fluid_share(x));
    }
    let peak = shares.iter().copied().fold(0.0, f64::max);
    assert!((peak - 0.26894).abs() < 0.006, "{shares:?}");
    assert!(shares[9] < 0.04, "{shares:?}");
}

#[test]
fn each_parameter_is_checked() {
    let default = ChokeConfig::default;
    let cases = [
        (ChokeConfig { limit: QueueSize::Packets(0), ..default() }, "limit"),
        (ChokeConfig { min_threshold: QueueSize::Packets(200), ..default() }, "max_threshold"),
        (ChokeConfig { max_threshold: QueueSize::Bytes(200_000), ..default() }, "max_threshold"),
        (ChokeConfig { max_threshold: QueueSize::Packets(301), ..default() }, "max_threshold"),
        (ChokeConfig { weight: 0.0, ..default() }, "weight"),
        (ChokeConfig { max_probability: -0.1, ..default() }, "max_probability"),
        (ChokeConfig { candidates: 0, ..default() }, "candidates"),
        (ChokeConfig { candidates: 1001, ..default() }, "candidates"),
        (ChokeConfig { candidates: 2, regions: Some(8), ..default() }, "candidates"),
        (ChokeConfig { regions: Some(0), ..default() }, "regions"),
        (ChokeConfig { regions: Some(501), ..default() }, "regions"),
        (ChokeConfig { mean_packet_size: Bytes(0), ..default() }, "mean_packet_size"),
    ];
    for (config, field) in cases {
        assert_eq!(Choke::<Labelled>::new(&config, LINK, 0).err().map(|error| error.field), Some(field));
    }
}
