//! Adaptive RED's test vectors.

use super::*;
use crate::test_support::{LINK, Offers, gauge};
use crate::{Backlog, DropReason};

/// A law with fixed thresholds, whose average is the queue itself: 12 packets are above the target band of 9 .. 11.
fn fixed(max_probability: f64) -> AredConfig {
    AredConfig {
        min_threshold: Some(QueueSize::Packets(5)),
        max_threshold: Some(QueueSize::Packets(15)),
        weight: Some(1.0),
        max_probability,
        ..AredConfig::default()
    }
}

/// Offers one packet to a queue of this many at `now`; returns `max_p` after it.
fn look(law: &mut Ared, offers: &mut Offers, packets: u64, now: Time) -> f64 {
    offers.now = now;
    offers.backlog = Backlog { packets, bytes: packets * 500 };
    offers.offer(law, 1, 500);
    gauge(law, "max_p")
}

fn halves(count: u64) -> Time {
    Time::ZERO + Span::from_milliseconds(500) * count
}

/// Early drops, and forced ones, of 300 arrivals without a departure, each `gap` after the one before.
fn burst(law: &mut dyn Admission, gap: Span, seed_draws: u64) -> (usize, usize) {
    let mut offers = Offers::new();
    for _ in 0..seed_draws {
        let _ = crate::uniform(&mut offers.rng);
    }
    let (mut early, mut forced) = (0, 0);
    for _ in 0..300 {
        match offers.offer(law, 1, 500) {
            Verdict::Drop(DropReason::Early) => early += 1,
            Verdict::Drop(_) => forced += 1,
            _ => {}
        }
        offers.now += gap;
    }
    (early, forced)
}

#[test]
fn the_climb_takes_53_steps_and_the_way_down_38() {
    for (start, queue, steps, end) in [(0.01, 12, 53, 0.5), (0.5, 8, 38, 0.01)] {
        let mut law = Ared::new(&fixed(start), LINK, 0).unwrap();
        let mut offers = Offers::new();
        assert_eq!(look(&mut law, &mut offers, queue, Time::ZERO), start);
        for step in 1..=steps {
            let max_p = look(&mut law, &mut offers, queue, halves(step));
            assert_eq!(max_p == end, step == steps, "step {step}: {max_p}");
        }
        assert_eq!(look(&mut law, &mut offers, queue, halves(100)), end);
    }
}

#[test]
fn a_step_has_the_size_of_the_paper() {
    for (start, queue, expected) in
        [(0.1, 12, 0.11), (0.02, 12, 0.025), (0.1, 8, 0.09), (0.1, 9, 0.1), (0.1, 11, 0.1), (0.495, 12, 0.5)]
    {
        let mut law = Ared::new(&fixed(start), LINK, 0).unwrap();
        let mut offers = Offers::new();
        look(&mut law, &mut offers, queue, Time::ZERO);
        assert_eq!(look(&mut law, &mut offers, queue, Time::from_picoseconds(499_999_999_999)), start);
        let max_p = look(&mut law, &mut offers, queue, halves(1));
        assert!((max_p - expected).abs() < 1e-12, "{start} at {queue}: {max_p}");
    }
}

#[test]
fn a_busy_silence_takes_each_interval_s_step() {
    let mut offers = Offers::new();
    let mut law = Ared::new(&fixed(0.1), LINK, 0).unwrap();
    look(&mut law, &mut offers, 12, Time::ZERO);
    assert!((look(&mut law, &mut offers, 12, halves(5)) - 0.15).abs() < 1e-12);
    // The clock continues in its own steps.
    assert!((look(&mut law, &mut offers, 12, Time::from_picoseconds(2_999_999_999_999)) - 0.15).abs() < 1e-12);
    assert!((look(&mut law, &mut offers, 12, halves(6)) - 0.16).abs() < 1e-12);
}

#[test]
fn an_idle_silence_takes_its_steps_by_the_decayed_average() {
    // 200 packets a second and a weight of 0.001: the average of 14 falls through the band within seconds.
    let config = AredConfig { weight: Some(0.001), ..fixed(0.1) };
    let link = Rate::new(800_000).unwrap();
    for intervals in [1, 2, 3, 10, 50, 7200, 30_000_000] {
        let mut law = Ared::new(&config, link, 0).unwrap();
        let mut offers = Offers::new();
        while law.red.average() < 14.0 {
            look(&mut law, &mut offers, 100, Time::ZERO);
        }
        let avg = law.red.average();
        law.idle(Time::ZERO);
        let mut expected: f64 = 0.1;
        for tick in 1..=intervals.min(100_000) {
            let decayed = avg * libm::pow(0.999, (tick * 100) as f64);
            if decayed > 11.0 {
                expected = (expected + 0.01_f64.min(expected / 4.0)).min(0.5);
            } else if decayed < 9.0 {
                expected = (expected * 0.9).max(0.01);
            }
        }
        let max_p = look(&mut law, &mut offers, 0, halves(intervals));
        assert!((max_p - expected).abs() < 1e-12, "{intervals}: {max_p}, not {expected}");
    }
}

#[test]
fn the_clock_of_ns_takes_one_step_and_counts_from_the_change() {
    let mut offers = Offers::new();
    let mut law = Ared::new(&AredConfig { ns_clock: true, ..fixed(0.1) }, LINK, 0).unwrap();
    look(&mut law, &mut offers, 10, Time::ZERO);
    assert!((look(&mut law, &mut offers, 10, halves(4)) - 0.1).abs() < 1e-12);
    // By the new average, at once, since nothing has changed for longer than an interval; and one step only.
    let at = halves(4) + Span::from_milliseconds(1);
    assert!((look(&mut law, &mut offers, 12, at) - 0.11).abs() < 1e-12);
    assert!((look(&mut law, &mut offers, 12, at + Span::from_milliseconds(500)) - 0.11).abs() < 1e-12);
    assert!((look(&mut law, &mut offers, 12, at + Span::from_milliseconds(501)) - 0.12).abs() < 1e-12);
}

#[test]
fn the_gentle_part_follows_the_maximum_probability() {
    let mut law = Ared::new(&fixed(0.1), LINK, 0).unwrap();
    let mut offers = Offers::new();
    look(&mut law, &mut offers, 20, Time::ZERO);
    look(&mut law, &mut offers, 20, halves(200));
    // max_p is 0.5: at 20, a third of the way from 15 to 30, the probability is 0.5 + 0.5 / 3.
    assert!((gauge(&law, "p_mark") - 2.0 / 3.0).abs() < 1e-12, "{}", gauge(&law, "p_mark"));
}

#[test]
fn settings_follow_from_the_link() {
    let settings = |config: &AredConfig, rate: Rate| {
        let packets_per_second = rate.bytes_per_second() / 500.0;
        let (min, max, in_bytes) = config.thresholds(packets_per_second);
        let weight = config.red(min, max, in_bytes, packets_per_second).weight;
        assert_eq!(Ared::new(config, rate, 0).unwrap().red.thresholds(), (min, max));
        (min, max, weight)
    };
    let default = AredConfig::default();
    // 1.5 Mb/s are 375 packets of 500 B a second.
    let (min, max, weight) = settings(&default, Rate::new(1_500_000).unwrap());
    assert_eq!((min, max), (5.0, 15.0));
    assert!((weight - 0.002_663_1).abs() < 1e-7, "{weight}");
    assert_eq!(settings(&default, Rate::megabits(150)).0, 93.75);
    assert_eq!(settings(&default, Rate::megabits(150)).1, 281.25);
    // Anything above the limit is cut.
    assert_eq!(settings(&default, Rate::megabits(10_000)).1, 1000.0);
    assert_eq!(settings(&default, Rate::megabits(10_000)).0, 1000.0 / 3.0);
    let in_bytes = AredConfig { limit: QueueSize::Bytes(40), ..default.clone() };
    assert_eq!(settings(&in_bytes, LINK).1, 1.0);
    // One that is set gives the other its unit.
    let given = AredConfig { min_threshold: Some(QueueSize::Bytes(4000)), ..default.clone() };
    assert_eq!((settings(&given, LINK).0, settings(&given, LINK).1), (4000.0, 12_000.0));
    let given = AredConfig { max_threshold: Some(QueueSize::Bytes(60_000)), ..default };
    assert_eq!((settings(&given, LINK).0, settings(&given, LINK).1), (20_000.0, 60_000.0));
}

#[test]
fn the_relations_of_ns3s_suite_hold() {
    let ns3 = |min, max, weight| AredConfig {
        limit: QueueSize::Packets(300),
        min_threshold: min,
        max_threshold: max,
        weight,
        max_probability: 0.02,
        wait: true,
        small_queue_guard: true,
        ..AredConfig::default()
    };
    let early = |config: &AredConfig, bits_per_second| {
        let mut law = Ared::new(config, Rate::new(bits_per_second).unwrap(), 0).unwrap();
        burst(&mut law, Span::ZERO, 0).0
    };
    let (low, high) = (Some(QueueSize::Packets(70)), Some(QueueSize::Packets(150)));
    assert_eq!(early(&ns3(low, high, None), 1_500_000), 0);
    assert!(early(&ns3(low, high, None), 15_000) > 0);
    // A weight for an average over a tenth of a second.
    assert!(early(&ns3(low, high, Some(-libm::expm1(-10.0 / 375.0))), 1_500_000) > 0);
    assert!(early(&ns3(None, None, Some(0.002)), 1_500_000) > 0);
    assert_eq!(early(&ns3(None, None, Some(0.002)), 150_000_000), 0);
}

#[test]
fn fewer_drops_than_red_with_a_high_maximum_probability() {
    // ns-3's suite: 300 arrivals, 10 ms apart; RED with max_p = 0.5. Its one run is 40 here.
    let red = RedConfig {
        limit: QueueSize::Packets(300),
        max_probability: 0.5,
        gentle: true,
        wait: true,
        small_queue_guard: true,
        ..RedConfig::default()
    };
    let ared = AredConfig {
        limit: QueueSize::Packets(300),
        weight: Some(0.002),
        wait: true,
        small_queue_guard: true,
        ..fixed(0.5)
    };
    let link = Rate::new(1_500_000).unwrap();
    let gap = Span::from_milliseconds(10);
    let total = |make: &dyn Fn() -> alloc::boxed::Box<dyn Admission>| -> usize {
        (0..40).map(|seed| burst(&mut *make(), gap, seed)).map(|(early, forced)| early + forced).sum()
    };
    let plain = total(&|| alloc::boxed::Box::new(Red::new(&red, link, 0).unwrap()));
    let adaptive = total(&|| alloc::boxed::Box::new(Ared::new(&ared, link, 0).unwrap()));
    assert!(plain > adaptive, "RED {plain}, Adaptive RED {adaptive}");
}

#[test]
fn each_parameter_is_checked() {
    let default = AredConfig::default;
    let cases = [
        (AredConfig { limit: QueueSize::Packets(0), ..default() }, "limit"),
        (AredConfig { min_threshold: Some(QueueSize::Packets(1000)), ..default() }, "max_threshold"),
        (AredConfig { max_threshold: Some(QueueSize::Packets(1001)), ..default() }, "max_threshold"),
        (
            AredConfig {
                min_threshold: Some(QueueSize::Packets(5)),
                max_threshold: Some(QueueSize::Bytes(9000)),
                ..default()
            },
            "max_threshold",
        ),
        (AredConfig { weight: Some(0.0), ..default() }, "weight"),
        (AredConfig { max_probability: 0.6, ..default() }, "max_probability"),
        (AredConfig { bottom: 0.0, ..default() }, "bottom"),
        (AredConfig { top: 0.001, ..default() }, "top"),
        (AredConfig { alpha: f64::NAN, ..default() }, "alpha"),
        (AredConfig { beta: 1.0, ..default() }, "beta"),
        (AredConfig { interval: Span::ZERO, ..default() }, "interval"),
        (AredConfig { mean_packet_size: Bytes(0), ..default() }, "mean_packet_size"),
    ];
    for (config, field) in cases {
        assert_eq!(Ared::new(&config, LINK, 0).unwrap_err().field, field);
    }
}

#[test]
fn a_parameter_may_be_at_its_bound() {
    let default = AredConfig::default;
    for config in [
        AredConfig { bottom: 1e-4, ..default() },
        AredConfig { bottom: 1.0, top: 1.0, max_probability: 1.0, ..default() },
        AredConfig { alpha: 1e-4, ..default() },
        AredConfig { alpha: 1.0, beta: 0.0, ..default() },
        AredConfig { beta: 0.999, ..default() },
    ] {
        assert!(Ared::new(&config, LINK, 0).is_ok(), "{config:?}");
    }
    for (config, field) in [
        (AredConfig { top: 1.05, ..default() }, "top"),
        (AredConfig { alpha: 1.05, ..default() }, "alpha"),
        (AredConfig { alpha: 0.99e-4, ..default() }, "alpha"),
    ] {
        assert_eq!(Ared::new(&config, LINK, 0).unwrap_err().field, field);
    }
}
