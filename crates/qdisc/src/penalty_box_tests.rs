//! The penalty box's tests.

use alloc::boxed::Box;

use super::*;
use crate::test_support::{LINK, Offers, Port, Source, assert_average_decays_in_an_idle_time, flow_gauge, gauge};
use crate::{Backlog, Ecn};

/// A RED that drops every packet which finds a packet waiting, and none that does not.
fn all_or_nothing() -> PenaltyBoxConfig {
    PenaltyBoxConfig {
        min_threshold: QueueSize::Packets(0),
        max_threshold: QueueSize::Packets(1),
        weight: 1.0,
        max_probability: 0.0,
        ..PenaltyBoxConfig::default()
    }
}

fn law(config: &PenaltyBoxConfig) -> PenaltyBox {
    PenaltyBox::new(config, LINK, 0).unwrap()
}

/// Offers packets of 1000 B at a time, this many that RED takes and this many that it drops.
fn traffic(law: &mut PenaltyBox, flow: u64, now: Time, taken: u64, dropped: u64) {
    let mut offers = Offers { now, ..Offers::new() };
    for (packets, waiting) in [(taken, 0), (dropped, 1)] {
        for _ in 0..packets {
            offers.backlog = Backlog { packets: waiting, bytes: waiting * 1000 };
            offers.offer(law, flow, 1000);
        }
    }
}

fn second(second: u64) -> Time {
    Time::ZERO + Span::from_seconds(second)
}

fn boxed(law: &PenaltyBox, flow: u64) -> bool {
    flow_gauge(law, flow, "boxed") > 0.0
}

/// Ends the present interval, with a packet that tells nothing.
fn end(law: &mut PenaltyBox) {
    law.end_intervals(law.interval_end);
}

fn tests() -> Tests {
    let config = PenaltyBoxConfig::default();
    Tests { rtt: config.rtt, packet_size: 1500.0, min_drop_rate: config.min_drop_rate }
}

#[test]
fn the_bounds_are_those_of_the_paper() {
    let tests = tests();
    // 1.5 sqrt(2/3) 1500 B / (40 ms x 0.1).
    assert!((tests.friendly_rate(0.01) - 459_279.3).abs() < 0.1, "{}", tests.friendly_rate(0.01));
    assert!((tests.friendly_rate(0.04) - 229_639.7).abs() < 0.1);
    let low = Some(Reference { drop_rate: 0.01, rate: 1000.0 });
    assert!((tests.responsive_rate(low, 0.04) - 500.0).abs() < 1e-9, "half at four times the drops");
    assert!(tests.responsive_rate(low, 0.039).is_infinite());
    assert!(tests.responsive_rate(None, 0.9).is_infinite());
    let among = |flows, drop_rate| tests.proportionate_rate(&Congestion { drop_rate, arrival_rate: 1000.0, flows });
    assert!((among(10.0, 0.01) - 340.12).abs() < 0.01, "ln(30) / 10");
    assert!((among(2.0, 0.01) - 895.88).abs() < 0.01, "ln(6) / 2");
    assert!(among(1.0, 0.01) > 1000.0, "one flow alone is never out of proportion");
    assert!(among(10.0, 0.009).is_infinite());
}

#[test]
fn the_lowest_broken_bound_counts() {
    let tests = tests();
    let congestion = Congestion { drop_rate: 0.04, arrival_rate: 1e6, flows: 100.0 };
    // Friendly 229 640, proportionate 57 038, responsive 50 000.
    let low = Some(Reference { drop_rate: 0.01, rate: 1e5 });
    let bound = tests.broken_bound(60_000.0, low, &congestion).unwrap();
    assert!((bound - 50_000.0).abs() < 1e-6, "{bound}");
    let bound = tests.broken_bound(60_000.0, None, &congestion).unwrap();
    assert!((bound - 57_037.8).abs() < 0.1, "{bound}");
    assert_eq!(tests.broken_bound(57_000.0, None, &congestion), None);
    let loose = Tests { min_drop_rate: 0.05, ..tests };
    assert_eq!(loose.broken_bound(60_000.0, None, &congestion), None);
    assert!(loose.broken_bound(230_000.0, None, &congestion).is_some());
}

#[test]
fn a_flow_too_fast_for_a_tcp_goes_into_the_box_at_the_end_of_the_interval() {
    // At a drop rate of a tenth a TCP sends 145 packets of 1000 B a second.
    let mut law = law(&all_or_nothing());
    traffic(&mut law, 1, Time::ZERO, 900, 100);
    traffic(&mut law, 2, Time::ZERO, 90, 9);
    assert!(!boxed(&law, 1));
    end(&mut law);
    assert!(boxed(&law, 1) && !boxed(&law, 2));
    assert!((gauge(&law, "drop_rate") - 109.0 / 1099.0).abs() < 1e-12);
    assert_eq!((gauge(&law, "boxed_flows"), gauge(&law, "logged_flows")), (1.0, 1.0));
    assert_eq!(flow_gauge(&law, 1, "logged_drops"), 0.0, "its drops leave the log");
    assert_eq!((law.log.len(), law.log_bytes), (9, 9000));
}

#[test]
fn few_drops_say_nothing() {
    // The only flow with drops is all of the log: a rate of 1 MB/s. Nine drops are too few.
    for (drops, expected) in [(9, false), (10, true)] {
        let mut law = law(&all_or_nothing());
        traffic(&mut law, 1, Time::ZERO, 1000, drops);
        end(&mut law);
        assert_eq!(boxed(&law, 1), expected, "{drops}");
    }
}

#[test]
fn a_flow_that_does_not_slow_down_goes_into_the_box() {
    // Five flows of 100 packets a second, slow enough for a TCP at a drop rate of 0.1, and of 0.4.
    let config = PenaltyBoxConfig { rtt: Span::from_milliseconds(10), log_entries: 200, ..all_or_nothing() };
    let mut law = law(&config);
    for flow in 1..=5 {
        traffic(&mut law, flow, Time::ZERO, 90, 10);
    }
    end(&mut law);
    assert_eq!(gauge(&law, "boxed_flows"), 0.0);
    // Then drops are four times as frequent. Flow 1 keeps its rate; the others fall to 45, under half of it.
    traffic(&mut law, 1, second(1), 60, 40);
    for flow in 2..=5 {
        traffic(&mut law, flow, second(1), 27, 18);
    }
    end(&mut law);
    assert!((gauge(&law, "drop_rate") - 0.4).abs() < 1e-12);
    assert!(boxed(&law, 1));
    assert_eq!(gauge(&law, "boxed_flows"), 1.0);
}

#[test]
fn the_log_forgets_the_oldest_drop() {
    let mut law = law(&PenaltyBoxConfig { log_entries: 10, ..all_or_nothing() });
    traffic(&mut law, 1, Time::ZERO, 0, 7);
    traffic(&mut law, 2, Time::ZERO, 0, 8);
    assert_eq!([1, 2].map(|flow| flow_gauge(&law, flow, "logged_drops")), [2.0, 8.0]);
    assert_eq!((law.log.len(), law.log_bytes), (10, 10_000));
    traffic(&mut law, 2, Time::ZERO, 0, 2);
    assert_eq!(law.flows.len(), 1, "flow 1 is forgotten");
}

#[test]
fn a_mark_is_logged_as_a_drop() {
    let mut law = law(&PenaltyBoxConfig { ecn: true, hard_drop: false, ..all_or_nothing() });
    let mut offers = Offers { ecn: Ecn::Capable0, ..Offers::new() };
    offers.backlog = Backlog { packets: 1, bytes: 1000 };
    assert!(matches!(offers.offer(&mut law, 1, 1000), Verdict::Mark(..)));
    assert_eq!(flow_gauge(&law, 1, "logged_drops"), 1.0);
}

#[test]
fn the_box_has_its_share_of_the_link_and_lets_out_who_slows_down() {
    let mut law = law(&all_or_nothing());
    traffic(&mut law, 1, Time::ZERO, 900, 100);
    end(&mut law);
    let bound = law.flows[law.flows.find(FlowKey(1)).unwrap()].boxed.unwrap();
    assert!((bound - tests().friendly_rate(0.1)).abs() < 1e-6);
    // 5 Mb/s are 625 packets of 1000 B a second, after 16 at once. At the bound of 145 a second it is let out.
    let per_second = [2000, 146, 145];
    for (index, packets) in per_second.into_iter().enumerate() {
        assert!(boxed(&law, 1), "{packets}");
        let mut taken = 0;
        for packet in 0..packets {
            let mut offers = Offers { now: second(1 + index as u64), ..Offers::new() };
            offers.now += Span::from_picoseconds(1_000_000_000_000 / packets * packet);
            match offers.offer(&mut law, 1, 1000) {
                Verdict::Drop(reason) => assert_eq!(reason, DropReason::RateLimit),
                _ => taken += 1,
            }
        }
        match packets {
            2000 => assert!((639..=641).contains(&taken), "{taken}"),
            _ => assert_eq!(taken, packets),
        }
        assert_eq!(gauge(&law, "logged_flows"), 0.0);
    }
    end(&mut law);
    assert!(!boxed(&law, 1));
    assert_eq!(law.flows.len(), 0);
}

#[test]
fn a_long_silence_opens_the_box() {
    for (seconds, still) in [(1, true), (2, false), (1_000_000, false)] {
        let mut law = law(&all_or_nothing());
        traffic(&mut law, 1, Time::ZERO, 900, 100);
        traffic(&mut law, 1, second(1), 300, 0);
        assert!(boxed(&law, 1));
        let at = second(1 + seconds);
        let mut offers = Offers { now: at, ..Offers::new() };
        offers.offer(&mut law, 2, 1000);
        assert_eq!(boxed(&law, 1), still, "{seconds}");
        assert_eq!(law.interval_end, at + Span::from_seconds(1));
    }
}

#[test]
fn a_flood_among_many_is_held_to_the_box() {
    // 60 Mb/s among a hundred flows of 0.6 Mb/s on 100 Mb/s.
    let config = PenaltyBoxConfig { limit: QueueSize::Packets(200), ..PenaltyBoxConfig::default() };
    let other = |flow| {
        let source = Source::new(flow, Rate::new(600_000).unwrap(), 1000);
        // Out of step.
        Source { next: source.next + source.gap * flow / 100, ..source }
    };
    let mut sources: Vec<Source> = (1..=100).map(other).collect();
    sources.push(Source::new(0, Rate::megabits(60), 1000));
    let mut port = Port::new(Box::new(law(&config)), sources);
    port.run(second(3), |_| {});
    assert_eq!(flow_gauge(&*port.law, 0, "boxed"), 1.0);
    port.dropped.clear();
    port.sent_bytes.clear();
    port.run(second(23), |_| {});
    let flood = port.sent_bytes.iter().find(|(flow, _)| *flow == 0).unwrap().1 as f64 * 8.0 / 20.0;
    assert!((flood / 5e6 - 1.0).abs() < 0.02, "{flood} b/s");
    assert!(port.dropped.iter().all(|(flow, reason)| (*flow, *reason) == (0, DropReason::RateLimit)));
}

#[test]
fn a_response_is_held_against_the_lowest_drop_rate_until_it_comes() {
    let config = PenaltyBoxConfig { rtt: Span::from_milliseconds(10), log_entries: 1000, ..all_or_nothing() };
    let mut law = law(&config);
    // Five equal flows: packets taken and dropped of each in a second; the drop rate and the packets a second kept.
    for (interval, (taken, dropped, expected)) in [
        (90, 10, (0.1, 100.0)),
        (190, 10, (0.05, 200.0)),
        (85, 15, (0.05, 200.0)), // three times the lowest
        (40, 10, (0.2, 50.0)),   // four times, and the flow has come down
    ]
    .into_iter()
    .enumerate()
    {
        for flow in 1..=5 {
            traffic(&mut law, flow, second(interval as u64), taken, dropped);
        }
        end(&mut law);
        let reference = law.flows[law.flows.find(FlowKey(1)).unwrap()].reference.unwrap();
        assert!((reference.drop_rate - expected.0).abs() < 1e-12, "{interval}: {reference:?}");
        assert!((reference.rate - 1000.0 * expected.1).abs() < 1e-6, "{interval}: {reference:?}");
    }
}

#[test]
fn bytes_that_leave_the_log_leave_their_flow() {
    let mut law = law(&PenaltyBoxConfig { log_entries: 10, ..all_or_nothing() });
    traffic(&mut law, 1, Time::ZERO, 0, 7);
    traffic(&mut law, 2, Time::ZERO, 0, 8);
    let bytes = [1, 2].map(|flow| law.flows[law.flows.find(FlowKey(flow)).unwrap()].drop_bytes);
    assert_eq!(bytes, [2000, 8000]);
}

#[test]
fn rates_are_by_the_second_whatever_the_interval() {
    // At a drop rate of a tenth a TCP sends 145 packets of 1000 B a second.
    let config = PenaltyBoxConfig { interval: Span::from_seconds(2), ..all_or_nothing() };
    for (taken, dropped, expected) in [(252, 28, false), (270, 30, true)] {
        let mut law = law(&config);
        traffic(&mut law, 1, Time::ZERO, taken, dropped);
        end(&mut law);
        assert_eq!(boxed(&law, 1), expected, "{taken}");
    }
    for (packets, expected) in [(300, true), (280, false)] {
        let mut law = law(&config);
        traffic(&mut law, 1, Time::ZERO, 900, 100);
        end(&mut law);
        traffic(&mut law, 1, second(2), packets, 0);
        end(&mut law);
        assert_eq!(boxed(&law, 1), expected, "{packets}");
    }
}

#[test]
fn flows_in_the_box_do_not_count_among_those_that_share() {
    let mut law = law(&all_or_nothing());
    traffic(&mut law, 1, Time::ZERO, 900, 100);
    end(&mut law);
    traffic(&mut law, 1, second(1), 300, 0);
    // Of two flows one may have ln(6)/2, nine tenths, of what arrives; of four it would be ln(12)/4, six tenths.
    traffic(&mut law, 2, second(1), 15, 30);
    traffic(&mut law, 3, second(1), 5, 10);
    end(&mut law);
    assert_eq!([1, 2, 3].map(|flow| boxed(&law, flow)), [true, false, false]);
}

#[test]
fn reds_average_decays_in_an_idle_time() {
    let mut law = law(&PenaltyBoxConfig { weight: 0.5, ..PenaltyBoxConfig::default() });
    assert_average_decays_in_an_idle_time(&mut law);
}

#[test]
fn each_parameter_is_checked() {
    let default = PenaltyBoxConfig::default;
    let cases = [
        (PenaltyBoxConfig { limit: QueueSize::Packets(0), ..default() }, "limit"),
        (PenaltyBoxConfig { log_entries: 0, ..default() }, "log_entries"),
        (PenaltyBoxConfig { log_entries: 1_000_001, ..default() }, "log_entries"),
        (PenaltyBoxConfig { interval: Span::ZERO, ..default() }, "interval"),
        (PenaltyBoxConfig { min_drops: 0, ..default() }, "min_drops"),
        (PenaltyBoxConfig { rtt: Span::ZERO, ..default() }, "rtt"),
        (PenaltyBoxConfig { packet_size: Bytes(0), ..default() }, "packet_size"),
        (PenaltyBoxConfig { min_drop_rate: f64::NAN, ..default() }, "min_drop_rate"),
        (PenaltyBoxConfig { box_share: 0.0, ..default() }, "box_share"),
        (PenaltyBoxConfig { box_share: 1e-12, ..default() }, "box_share"),
        (PenaltyBoxConfig { max_threshold: QueueSize::Packets(5), ..default() }, "max_threshold"),
        (PenaltyBoxConfig { weight: 1.5, ..default() }, "weight"),
        (PenaltyBoxConfig { max_probability: -0.1, ..default() }, "max_probability"),
        (PenaltyBoxConfig { mean_packet_size: Bytes(0), ..default() }, "mean_packet_size"),
    ];
    for (config, field) in cases {
        assert_eq!(PenaltyBox::new(&config, LINK, 0).unwrap_err().field, field);
    }
}

#[test]
fn a_parameter_may_be_at_its_bound() {
    let default = PenaltyBoxConfig::default;
    for config in [
        PenaltyBoxConfig { log_entries: 1, min_drops: 1, ..default() },
        PenaltyBoxConfig { log_entries: 1_000_000, ..default() },
        PenaltyBoxConfig { packet_size: Bytes(1), ..default() },
        PenaltyBoxConfig { box_share: 1.0, ..default() },
    ] {
        assert!(PenaltyBox::new(&config, LINK, 0).is_ok(), "{config:?}");
    }
    assert_eq!(
        PenaltyBox::new(&PenaltyBoxConfig { box_share: 1.01, ..default() }, LINK, 0).unwrap_err().field,
        "box_share"
    );
}
