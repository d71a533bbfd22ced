//! SFRED's tests. The paper has no algorithm and so no vectors; its ordering of loss is for the experiments.

use alloc::boxed::Box;
use alloc::vec;

use super::*;
use crate::Ecn;
use crate::test_support::{LINK, Offers, Port, Source, flow_gauge, gauge};

fn law(config: &SfredConfig) -> Sfred {
    Sfred::new(config, LINK, 0).unwrap()
}

/// A bin of thresholds 5 and 15 with `max_p` 0.1.
fn bin(avg: f64, region: Region) -> (Rules, BinRed) {
    let config = SfredConfig { bin_size: Some(15), weight: 1.0, ..SfredConfig::default() };
    (law(&config).rules, BinRed { avg, max_probability: 0.1, region, sampled_at: Time::ZERO })
}

#[test]
fn only_capable_packets_are_marked_and_only_with_ecn() {
    for (ecn, capable) in [(false, true), (true, false)] {
        let config =
            SfredConfig { bin_size: Some(15), ecn, limit: QueueSize::Packets(10_000), ..SfredConfig::default() };
        let mut law = law(&config);
        let mut offers = Offers { ecn: if capable { Ecn::Capable0 } else { Ecn::NotCapable }, ..Offers::new() };
        let mut early = 0;
        for _ in 0..2000 {
            match offers.offer(&mut law, 1, 1000) {
                Verdict::Drop(DropReason::Early) => early += 1,
                Verdict::Mark(..) => panic!("marked with ecn {ecn} and capable {capable}"),
                _ => {}
            }
        }
        assert!(early > 0);
    }
}

#[test]
fn max_p_changes_once_for_each_crossing() {
    let (rules, mut red) = bin(0.0, Region::Below);
    let mut p = |packets| {
        rules.sample(&mut red, packets, Time::ZERO);
        red.max_probability
    };
    // Thresholds are "less than" the lower and "more than" the upper one.
    for (packets, expected) in
        [(4, 0.1), (5, 0.1), (15, 0.1), (16, 0.2), (17, 0.2), (15, 0.2), (16, 0.4), (10, 0.4), (4, 0.4 / 3.0)]
    {
        assert!((p(packets) - expected).abs() < 1e-12, "{packets}");
    }
    for _ in 0..10 {
        p(16);
        p(15);
    }
    assert_eq!(p(16), 1.0);
    for _ in 0..1000 {
        p(4);
        p(15);
    }
    assert_eq!(p(4), LEAST_MAX_PROBABILITY);
}

#[test]
fn the_profile_is_reds() {
    for (avg, expected) in [(4.9, 0.0), (5.0, 0.0), (10.0, 0.05), (14.999_999, 0.1), (15.0, 1.0)] {
        let (rules, red) = bin(avg, Region::Between);
        assert!((rules.probability(&red) - expected).abs() < 1e-6, "{avg}");
    }
}

#[test]
fn an_empty_bin_decays_at_its_share_of_the_link() {
    // 100 Mb/s are 12500 packets of 1000 B a second, 543 for one of 23 bins. The arrival's own sample is one more.
    let config = SfredConfig { weight: 0.01, ..SfredConfig::default() };
    let rules = law(&config).rules;
    let mut red = BinRed { avg: 10.0, max_probability: 0.1, region: Region::Between, sampled_at: Time::ZERO };
    let second = |n| Time::ZERO + Span::from_seconds(n);
    rules.sample(&mut red, 0, second(1));
    assert!((red.avg / (10.0 * libm::pow(0.99, 544.0)) - 1.0).abs() < 1e-9);
    // From the last sample on.
    let before = red.avg;
    rules.sample(&mut red, 0, second(1));
    assert!((red.avg / (before * 0.99) - 1.0).abs() < 1e-9);
    rules.sample(&mut red, 0, second(1_000_000));
    assert_eq!(red.avg, 0.0);
}

#[test]
fn a_packet_has_the_least_of_its_bins() {
    let config = SfredConfig { weight: 1e-9, ..SfredConfig::default() };
    let mut law = law(&config);
    let place = law.bins.locate(FlowKey(1));
    let mut max_probability = 0.25;
    law.bins.update(&place, |bin| {
        // At the upper threshold's edge the probability is `max_p`.
        bin.state = BinRed { avg: 13.0 - 1e-6, max_probability, region: Region::Between, sampled_at: Time::ZERO };
        bin.packets = 13;
        max_probability = 1.0;
    });
    assert!((flow_gauge(&law, 1, "p_min") - 0.25).abs() < 1e-6);
    assert_eq!(flow_gauge(&law, 1, "max_p_min"), 0.25);
    assert_eq!(flow_gauge(&law, 1, "rate_limited"), 0.0);
    assert_eq!(gauge(&law, "polluted_bins"), 1.0);
    let mut offers = Offers { ecn: Ecn::Capable0, ..Offers::new() };
    let mut marks = 0;
    for _ in 0..10_000 {
        offers.backlog = Backlog::default();
        match offers.offer(&mut law, 1, 1000) {
            Verdict::Mark(ticket, MarkReason::Early) => {
                marks += 1;
                law.release(ticket, 1000, Backlog::default(), Time::ZERO);
            }
            Verdict::Enqueue(ticket) => law.release(ticket, 1000, Backlog::default(), Time::ZERO),
            verdict => panic!("{verdict:?}"),
        }
    }
    assert!((2370..=2630).contains(&marks), "{marks}");
}

#[test]
fn past_the_upper_threshold_every_packet_goes_and_at_max_p_1_the_limiter_decides() {
    for (max_probability, reason) in [(0.5, DropReason::Forced), (1.0, DropReason::RateLimit)] {
        let mut law = law(&SfredConfig { weight: 1e-9, ..SfredConfig::default() });
        let place = law.bins.locate(FlowKey(1));
        law.bins.update(&place, |bin| {
            bin.state = BinRed { avg: 20.0, max_probability, region: Region::Above, sampled_at: Time::ZERO };
            bin.packets = 20;
        });
        let mut offers = Offers::new();
        let drops: alloc::vec::Vec<bool> =
            (0..10).map(|_| offers.offer(&mut law, 1, 1000) == Verdict::Drop(reason)).collect();
        // The limiter's bucket passes four.
        let passed = if reason == DropReason::RateLimit { 4 } else { 0 };
        assert!(drops.iter().enumerate().all(|(index, drop)| *drop == (index >= passed)), "{drops:?}");
    }
}

#[test]
fn a_flood_loses_most_and_its_bins_are_found() {
    let law = Box::new(law(&SfredConfig { weight: 0.02, ..SfredConfig::default() }));
    let sources = vec![Source::new(1, Rate::megabits(150), 1000), Source::new(2, Rate::megabits(2), 1000)];
    let mut port = Port::new(law, sources);
    port.run(Time::ZERO + Span::from_seconds(10), |_| {});
    let of = |flow| port.dropped.iter().filter(|(dropped, _)| *dropped == flow).count();
    // The flood offers 187500 packets, a third more than the link carries.
    assert!(of(1) > 62_500 && of(2) < 25, "{} {}", of(1), of(2));
}

#[test]
fn parameters_out_of_range_are_refused() {
    let config = SfredConfig::default;
    for (config, field) in [
        (SfredConfig { limit: QueueSize::Packets(0), ..config() }, "limit"),
        (SfredConfig { levels: 0, ..config() }, "levels"),
        (SfredConfig { bins: 0, ..config() }, "bins"),
        (SfredConfig { bin_size: Some(0), ..config() }, "bin_size"),
        (SfredConfig { weight: 0.0, ..config() }, "weight"),
        (SfredConfig { max_probability: 0.0, ..config() }, "max_probability"),
        (SfredConfig { max_probability: 1.1, ..config() }, "max_probability"),
        (SfredConfig { decrease_factor: 0.9, ..config() }, "decrease_factor"),
        (SfredConfig { increase_factor: f64::INFINITY, ..config() }, "increase_factor"),
        (SfredConfig { burst: Bytes(0), ..config() }, "burst"),
        (SfredConfig { rehash_interval: Some(Span::ZERO), ..config() }, "rehash_interval"),
        (SfredConfig { mean_packet_size: Bytes(0), ..config() }, "mean_packet_size"),
    ] {
        assert_eq!(Sfred::new(&config, LINK, 0).unwrap_err().field, field);
    }
}
