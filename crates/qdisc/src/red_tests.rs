//! RED's test vectors.

use alloc::vec::Vec;

use super::*;
use crate::test_support::{LINK, Offers, gauge};
use crate::{Backlog, Ecn, Span};

/// ns-3's test profile: 300 arrivals of 500 B without a departure.
fn ns3(weight: f64, min: u64, max: u64) -> RedConfig {
    RedConfig {
        limit: QueueSize::Packets(300),
        min_threshold: QueueSize::Packets(min),
        max_threshold: QueueSize::Packets(max),
        weight,
        max_probability: 0.02,
        gentle: true,
        wait: true,
        small_queue_guard: true,
        ..RedConfig::default()
    }
}

/// Drops and marks of 300 arrivals without a departure.
fn burst(config: &RedConfig, ecn: Ecn) -> (usize, usize) {
    let mut law = Red::new(config, Rate::megabits(1), 0).unwrap();
    let mut offers = Offers { ecn, ..Offers::new() };
    let verdicts: Vec<Verdict> = (0..300).map(|_| offers.offer(&mut law, 1, 500)).collect();
    let drops = verdicts.iter().filter(|v| matches!(v, Verdict::Drop(_))).count();
    (drops, verdicts.iter().filter(|v| matches!(v, Verdict::Mark(..))).count())
}

/// The average after `arrivals` packets of which none leaves, and the queue at which it first reaches `threshold`.
fn average(weight: f64, arrivals: usize, threshold: f64) -> (f64, Option<usize>) {
    let config = ns3(weight, 299, 300);
    let mut law = Red::new(&config, LINK, 0).unwrap();
    let mut offers = Offers::new();
    let mut reached = None;
    for n in 0..arrivals {
        offers.offer(&mut law, 1, 500);
        if reached.is_none() && law.average() >= threshold {
            reached = Some(n);
        }
    }
    (law.average(), reached)
}

#[test]
fn the_average_of_a_burst_has_the_closed_form() {
    // Paper, equation 2: after a burst of L into an empty queue, L + 1 + ((1 - w)^(L + 1) - 1) / w. The paper samples
    // after adding the packet, so its average of L packets is ours at packet L + 1.
    for (weight, expected) in [(0.002, 2.4687), (0.0042, 5.0055), (0.02, 18.844)] {
        assert!((average(weight, 51, 1e9).0 - expected).abs() < 1e-3, "{weight}");
    }
    for (weight, arrivals, expected) in [(0.002, 300, 74.241_004), (0.02, 300, 250.116_625), (0.002, 100, 9.283_402)] {
        assert!((average(weight, arrivals, 1e9).0 - expected).abs() < 1e-5, "{weight} {arrivals}");
    }
}

#[test]
fn thresholds_are_reached_at_the_computed_arrival() {
    for (weight, threshold, expected) in [
        (0.02, 70.0, Some(115)),
        (0.02, 100.0, Some(147)),
        (0.02, 150.0, Some(199)),
        (0.002, 30.0, Some(184)),
        (0.002, 90.0, None),
    ] {
        assert_eq!(average(weight, 300, threshold).1, expected, "{weight} {threshold}");
    }
}

#[test]
fn the_profile_is_linear_and_gentle_above() {
    let gentle = Profile::new(5.0, 15.0, 0.1, true);
    for (avg, expected) in [
        (4.9, 0.0),
        (7.5, 0.025),
        (10.0, 0.05),
        (15.0, 0.1),
        (20.0, 0.4),
        (25.0, 0.7),
        (30.0, 1.0),
        (31.0, 1.0),
        (99.0, 1.0),
    ] {
        assert!((gentle.probability(avg) - expected).abs() < 1e-12, "{avg}");
    }
    assert!(!gentle.is_forced(29.9) && gentle.is_forced(30.0));
    let paper = Profile::new(5.0, 15.0, 0.1, false);
    assert!(paper.probability(14.999) < 0.1 && paper.probability(15.0) == 1.0 && paper.is_forced(15.0));
}

#[test]
fn gaps_between_drops_are_uniform() {
    let p = |count, wait| uniform_gap_probability(0.02, count, wait);
    for (count, expected) in [(1.0, 0.020_408), (25.0, 0.04), (48.0, 0.5), (49.0, 1.0), (60.0, 1.0)] {
        assert!((p(count, false) - expected).abs() < 1e-6, "{count}");
    }
    for (count, expected) in [(49.0, 0.0), (50.0, 0.02), (75.0, 0.04), (99.0, 1.0), (150.0, 1.0)] {
        assert!((p(count, true) - expected).abs() < 1e-6, "{count}");
    }
}

#[test]
fn the_long_run_gap_matches_its_mean() {
    // p_b = 0.02 at a standing queue of 10: the gap is uniform on 1 .. 49 (mean 25), or on 50 .. 99 (mean 74.5).
    for (wait, expected) in [(false, 25.0), (true, 74.5)] {
        let config = RedConfig { weight: 1.0, max_probability: 0.04, wait, ..RedConfig::default() };
        let mut law = Red::new(&config, LINK, 0).unwrap();
        let mut offers = Offers::new();
        offers.backlog = Backlog { packets: 10, bytes: 5000 };
        let arrivals = 200_000;
        let mut drops = 0;
        for _ in 0..arrivals {
            match offers.offer(&mut law, 1, 500) {
                Verdict::Drop(reason) => {
                    assert_eq!(reason, DropReason::Early);
                    drops += 1;
                }
                _ => offers.backlog = Backlog { packets: 10, bytes: 5000 },
            }
        }
        let gap = f64::from(arrivals) / f64::from(drops);
        assert!((gap / expected - 1.0).abs() < 0.02, "wait {wait}: mean gap {gap}");
    }
}

#[test]
fn the_relations_of_ns3s_suite_hold() {
    let drops = |config: &RedConfig| burst(config, Ecn::NotCapable).0;
    assert_eq!(drops(&ns3(0.002, 70, 150)), 0);
    let third = drops(&ns3(0.02, 70, 150));
    assert!(third > 0);
    assert!(drops(&ns3(0.02, 70, 100)) > third);
    assert!(drops(&RedConfig { max_probability: 0.2, ..ns3(0.02, 70, 150) }) > third);
    assert!(drops(&RedConfig { gentle: false, ..ns3(0.02, 70, 150) }) > third);
    assert!(drops(&RedConfig { wait: false, ..ns3(0.02, 70, 150) }) > third);

    let half = RedConfig { max_probability: 0.5, ..ns3(0.002, 30, 90) };
    let with_ecn = RedConfig { ecn: true, ..half.clone() };
    assert!(matches!(burst(&with_ecn, Ecn::NotCapable), (1.., 0)));
    assert!(matches!(burst(&half, Ecn::Capable0), (1.., 0)));
    assert!(matches!(burst(&with_ecn, Ecn::Capable0), (0, 1..)));
}

#[test]
fn past_the_upper_threshold_every_packet_goes() {
    let config = RedConfig { weight: 1.0, ecn: true, ..RedConfig::default() };
    let mut offers = Offers { ecn: Ecn::Capable1, ..Offers::new() };
    offers.backlog = Backlog { packets: 15, bytes: 7500 };
    let mut hard = Red::new(&config, LINK, 0).unwrap();
    assert_eq!(offers.offer(&mut hard, 1, 500), Verdict::Drop(DropReason::Forced));
    let mut soft = Red::new(&RedConfig { hard_drop: false, ..config }, LINK, 0).unwrap();
    assert_eq!(offers.offer(&mut soft, 1, 500), Verdict::Mark(Ticket(0), MarkReason::Forced));
}

#[test]
fn from_a_drop_probability_on_packets_are_dropped_instead_of_marked() {
    // Gentle, max_p 0.1: at the upper threshold of 20 packets p_b is 0.1, above it climbs to 1 at 40.
    let config = RedConfig {
        min_threshold: QueueSize::Packets(10),
        max_threshold: QueueSize::Packets(20),
        weight: 1.0,
        max_probability: 0.1,
        gentle: true,
        wait: true,
        ecn: true,
        hard_drop: false,
        ..RedConfig::default()
    };
    let signals = |packets: u64, max_marking_probability: Option<f64>, ecn: Ecn| {
        let mut law = Red::new(&RedConfig { max_marking_probability, ..config.clone() }, LINK, 0).unwrap();
        let mut offers = Offers { ecn, ..Offers::new() };
        let mut offer = || {
            offers.backlog = Backlog { packets, bytes: 500 * packets };
            offers.offer(&mut law, 1, 500)
        };
        let verdicts: Vec<Verdict> = (0..1000).map(|_| offer()).collect();
        let drops = verdicts.iter().filter(|v| matches!(v, Verdict::Drop(_))).count();
        (drops, verdicts.iter().filter(|v| matches!(v, Verdict::Mark(..))).count())
    };
    // Below: marks either way. From there on drops, where the key is given; past twice the threshold as well.
    assert!(matches!(signals(19, Some(0.1), Ecn::Capable0), (0, 1..)));
    for packets in [20, 30, 40] {
        assert!(matches!(signals(packets, Some(0.1), Ecn::Capable0), (1.., 0)), "{packets}");
        assert!(matches!(signals(packets, None, Ecn::Capable0), (0, 1..)), "{packets}");
        // As many packets get a signal.
        assert_eq!(signals(packets, Some(0.1), Ecn::Capable0).0, signals(packets, None, Ecn::Capable0).1);
    }
    assert!(matches!(signals(19, Some(0.1), Ecn::NotCapable), (1.., 0)));
    assert!(Red::new(&RedConfig { max_marking_probability: Some(1.5), ..config.clone() }, LINK, 0).is_err());
}

#[test]
fn the_guard_spares_a_lone_packet() {
    let config = RedConfig {
        min_threshold: QueueSize::Packets(0),
        max_threshold: QueueSize::Packets(1),
        weight: 1.0,
        ..RedConfig::default()
    };
    let mut offers = Offers::new();
    offers.backlog = Backlog { packets: 1, bytes: 500 };
    let mut plain = Red::new(&config, LINK, 0).unwrap();
    assert_eq!(offers.offer(&mut plain, 1, 500), Verdict::Drop(DropReason::Forced));
    let mut guarded = Red::new(&RedConfig { small_queue_guard: true, ..config }, LINK, 0).unwrap();
    assert_eq!(offers.offer(&mut guarded, 1, 500), Verdict::Enqueue(Ticket(0)));
}

#[test]
fn each_crossing_of_the_lower_threshold_exempts_a_packet() {
    // The counter is -1 below the threshold (paper, section 4; ns-2's `old`). The average is the queue, p_b 0.9 at 14:
    // the first packet there passes and counts as one, the next is dropped for certain.
    let config = RedConfig { weight: 1.0, max_probability: 1.0, ..RedConfig::default() };
    let mut law = Red::new(&config, LINK, 0).unwrap();
    let mut offers = Offers::new();
    let drops = [14, 14, 14, 4, 14, 14, 5, 14].map(|packets| {
        offers.backlog = Backlog { packets, bytes: 500 * packets };
        matches!(offers.offer(&mut law, 1, 500), Verdict::Drop(_))
    });
    // At the threshold itself the average is not below it.
    assert_eq!(drops, [false, true, true, false, false, true, false, true]);
}

#[test]
fn an_idle_link_decays_the_average() {
    // 500 B at 100 Mb/s are 40 us: an idle millisecond counts for 25 packets, the arrival's own sample for one more.
    let config = RedConfig { weight: 0.02, ..RedConfig::default() };
    let mut law = Red::new(&config, LINK, 0).unwrap();
    law.avg = 10.0;
    law.idle(Time::from_picoseconds(5));
    let mut offers = Offers { now: Time::from_picoseconds(5) + Span::from_milliseconds(1), ..Offers::new() };
    offers.offer(&mut law, 1, 500);
    assert!((law.average() - 10.0 * libm::pow(0.98, 26.0)).abs() < 1e-12);
    offers.now += Span::from_seconds(1);
    offers.offer(&mut law, 1, 500);
    assert!(law.average() > 5.0, "no decay without an idle link");
}

#[test]
fn byte_mode_weighs_a_packet_by_its_size() {
    let config = RedConfig {
        min_threshold: QueueSize::Bytes(1000),
        max_threshold: QueueSize::Bytes(9000),
        weight: 1.0,
        byte_mode: true,
        ..RedConfig::default()
    };
    let drops = |len_bytes| {
        let mut law = Red::new(&config, LINK, 0).unwrap();
        let mut offers = Offers::new();
        (0..100_000)
            .filter(|_| {
                offers.backlog = Backlog { packets: 10, bytes: 5000 };
                matches!(offers.offer(&mut law, 1, len_bytes), Verdict::Drop(_))
            })
            .count() as f64
    };
    // A mean-sized packet loses as without byte mode, p_b = 0.01: gaps uniform on 1 .. 99. A tenth of it loses less.
    assert!((drops(500) / 2000.0 - 1.0).abs() < 0.05, "{}", drops(500));
    assert!(drops(50) < drops(500) / 5.0);
}

#[test]
fn in_byte_mode_a_certain_drop_is_certain_for_short_packets_too() {
    // p_b 0.5, so that the packet after two mean-sized ones goes for certain; bytes count in whole mean sizes (ns-2).
    let config = RedConfig {
        min_threshold: QueueSize::Bytes(1000),
        max_threshold: QueueSize::Bytes(9000),
        max_probability: 1.0,
        byte_mode: true,
        ..RedConfig::default()
    };
    let mut law = Red::new(&config, LINK, 0).unwrap();
    law.avg = 5000.0;
    let short = Arrival { len_bytes: 50, ..Arrival::default() };
    for (count_bytes, expected) in [(0, 0.05), (499, 0.05), (1000, 1.0), (5000, 1.0)] {
        law.count_bytes = count_bytes;
        assert!((law.probability(&short) - expected).abs() < 1e-12, "{count_bytes}");
    }
}

#[test]
fn each_parameter_is_checked() {
    let default = RedConfig::default;
    let cases = [
        (RedConfig { limit: QueueSize::Packets(0), ..default() }, "limit"),
        (RedConfig { max_threshold: QueueSize::Packets(5), ..default() }, "max_threshold"),
        (RedConfig { max_threshold: QueueSize::Bytes(5000), ..default() }, "max_threshold"),
        (RedConfig { max_threshold: QueueSize::Packets(1001), ..default() }, "max_threshold"),
        (RedConfig { weight: 1.5, ..default() }, "weight"),
        (RedConfig { max_probability: -0.1, ..default() }, "max_probability"),
        (RedConfig { mean_packet_size: Bytes(0), ..default() }, "mean_packet_size"),
    ];
    for (config, field) in cases {
        assert_eq!(Red::new(&config, LINK, 0).unwrap_err().field, field);
    }
}

#[test]
fn the_average_decays_with_time_while_an_idle_link_drops_what_arrives() {
    // 100 packets wait, the average passes the threshold, then the queue empties and the link goes idle.
    let config = RedConfig {
        limit: QueueSize::Packets(300),
        min_threshold: QueueSize::Packets(5),
        max_threshold: QueueSize::Packets(10),
        weight: 0.02,
        gentle: false,
        ..RedConfig::default()
    };
    let mut law = Red::new(&config, LINK, 0).unwrap();
    let mut offers = Offers::new();
    offers.backlog = Backlog { packets: 100, bytes: 100_000 };
    while gauge(&law, "avg") < 40.0 {
        offers.offer(&mut law, 1, 1000);
    }
    offers.backlog = Backlog::default();
    law.idle(offers.now);
    // Two arrivals, 1 ms apart, each dropped: 25 transmission times of a mean packet (500 B at 100 Mb/s) pass before
    // each. They decay the average by far more than two samples would.
    for _ in 0..2 {
        offers.now += Span::from_milliseconds(1);
        assert!(matches!(offers.offer(&mut law, 1, 1000), Verdict::Drop(_)));
    }
    let decayed = 41.0 * libm::pow(0.98, 50.0);
    assert!(gauge(&law, "avg") <= decayed, "{} against {decayed}", gauge(&law, "avg"));
}
