//! Tests of E2CM: the vectors of the slides' parameters, when probes are sent and what they do, and how fast a flow
//! gets its rate back.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::super::CongestionManagement;
use super::super::ecm::SelfIncrease;
use super::super::ecm::tests::{
    HERE, LINE, any_message, assert_near, assert_rate_in_bounds, at, bcn, megabits_per_second, negative_from, receive,
    refused,
};
use super::super::one_queue;
use super::super::sampling::Sampling;
use super::super::{Arrival, CongestionPoint, Verdict};
use super::*;

/// The delay of a probe without queues.
const FLIGHT: Span = Span::from_microseconds(5);
/// 2.5 Gb/s.
const THROUGHPUT: f64 = 312.5e6;

fn report(point: &mut E2cmReactionPoint, queueing: Span, throughput: Option<f64>) {
    receive(point, Message::ProbeReport { latency: FLIGHT + queueing, throughput });
}

/// A reaction point at 5 Gb/s that has had its first report.
fn limited(config: &E2cmConfig) -> E2cmReactionPoint {
    let mut point = config.reaction_point(LINE, Time::ZERO);
    receive(&mut point, Message::BcnMax { from: HERE });
    report(&mut point, Span::ZERO, None);
    point
}

/// Sends frames of 1500 B; returns which of them, counted from 1, probes follow.
fn probes_behind(point: &mut E2cmReactionPoint, frames: usize) -> Vec<usize> {
    let behind =
        |frame: &usize| at(Time::from_picoseconds(*frame as u64), |context| point.sent(1500, context)).is_some();
    (1..=frames).filter(behind).collect()
}

#[test]
fn refuses_parameters_outside_their_bounds_by_name() {
    let good = E2cmConfig::default;
    assert_eq!(good().check(LINE), Ok(()));
    for (ecm, field) in refused() {
        let error = E2cmConfig { ecm, ..good() }.check(LINE).unwrap_err();
        assert_eq!(error.field.strip_prefix("ecm."), Some(field));
    }
    for (config, field) in [
        (E2cmConfig { flow_set_point: Bytes(0), ..good() }, "flow_set_point"),
        (E2cmConfig { flow_weight: f64::INFINITY, ..good() }, "flow_weight"),
        (E2cmConfig { flow_decrease_gain: 1.0, ..good() }, "flow_decrease_gain"),
        (E2cmConfig { flow_increase_gain: -0.1, ..good() }, "flow_increase_gain"),
        (E2cmConfig { flow_severe_threshold: Bytes(15_000), ..good() }, "flow_severe_threshold"),
        (E2cmConfig { probe_interval: Bytes(0), ..good() }, "probe_interval"),
    ] {
        assert_eq!(config.check(LINE).map_err(|error| error.field), Err(field), "{config:?}");
    }
}

/// Slides: 2.5 and 0.025 G_i0 by ECM's set-point of 75 KB.
#[test]
fn gains_are_those_of_the_slides() {
    let config = E2cmConfig::default();
    let point = config.reaction_point(LINE, Time::ZERO);
    assert_near(point.gains.decrease, 2.5 / 375_000.0);
    assert_near(point.gains.increase_bps, 0.025 * (10_000.0 / 375_000.0) * 1e6);
}

#[test]
fn reports_give_the_feedback_of_the_flows_own_queue() {
    // Microseconds of queueing at 2.5 Gb/s; the flow's queue at the last report; the rate, from 5 Gb/s.
    let vectors = [
        (48, 15_000.0, 5_000.0),
        (100, 15_000.0, 5_000.0 * (1.0 - 0.5 * 47_500.0 / 75_000.0)),
        (0, 15_000.0, 5_030.0),
        (0, 0.0, 5_010.0),
        // 56 250 B.
        (180, 56_250.0, 2_500.0),
        // 53 125 B, far below the last: the terms are limited, -15 000 + 2 * 30 000.
        (170, 100_000.0, 5_030.0),
    ];
    for (queueing_us, last_queue_bytes, expected) in vectors {
        let mut point = limited(&E2cmConfig::default());
        point.last_queue_bytes = last_queue_bytes;
        report(&mut point, Span::from_microseconds(queueing_us), Some(THROUGHPUT));
        assert_near(megabits_per_second(&point), expected);
        assert_eq!(point.associated(), Some(HERE));
    }
}

#[test]
fn beyond_the_flows_severe_threshold_feedback_is_the_strongest() {
    for (queue_bytes, expected) in [(56_000.0, 5_000.0 * 0.9), (56_001.0, 2_500.0)] {
        let mut point = limited(&E2cmConfig::default());
        point.last_queue_bytes = 56_000.0;
        report(&mut point, Span::from_microseconds(1000), Some(queue_bytes * 1e3));
        assert_near(megabits_per_second(&point), expected);
    }
}

#[test]
fn limited_flows_probe_behind_every_interval_of_their_data() {
    let mut point = E2cmConfig::default().reaction_point(LINE, Time::ZERO);
    assert!(probes_behind(&mut point, 200).is_empty());
    receive(&mut point, Message::BcnMax { from: HERE });
    assert_eq!(probes_behind(&mut point, 170), [50, 100, 150]);
    // With the limiter, what was sent is forgotten.
    release(&mut point);
    assert!(probes_behind(&mut point, 100).is_empty());
    receive(&mut point, Message::BcnMax { from: HERE });
    assert_eq!(probes_behind(&mut point, 60), [50]);
}

fn release(point: &mut E2cmReactionPoint) {
    while point.rate_bps().is_some() {
        receive(point, bcn(75_000, -150_000, HERE));
    }
}

#[test]
fn a_probe_carries_the_time_of_its_departure() {
    let mut point = limited(&E2cmConfig { probe_interval: Bytes(1500), ..E2cmConfig::default() });
    let now = Time::from_picoseconds(123);
    assert_eq!(at(now, |context| point.sent(1500, context)), Some(Message::Probe { sent: now }));
}

#[test]
fn flows_without_a_limiter_probe_if_asked_for_and_are_limited_by_what_comes_back() {
    let config = E2cmConfig { autonomous_probes: true, ..E2cmConfig::default() };
    let mut point = config.reaction_point(LINE, Time::ZERO);
    assert_eq!(probes_behind(&mut point, 120), [50, 100]);
    report(&mut point, Span::ZERO, None);
    report(&mut point, Span::ZERO, Some(THROUGHPUT));
    assert_eq!(point.rate_bps(), None);
    report(&mut point, Span::from_microseconds(200), Some(THROUGHPUT));
    assert_near(megabits_per_second(&point), 5_000.0);
    assert_eq!(point.associated(), None);
}

#[test]
fn the_time_of_flight_outlives_the_limiter() {
    let mut point = limited(&E2cmConfig::default());
    release(&mut point);
    report(&mut point, Span::from_microseconds(180), Some(THROUGHPUT));
    assert_eq!((point.rate_bps(), point.flight_time), (None, Some(FLIGHT)));
    receive(&mut point, Message::ProbeReport { latency: FLIGHT / 2, throughput: None });
    assert_eq!(point.flight_time, Some(FLIGHT / 2));
    receive(&mut point, Message::BcnMax { from: HERE });
    assert_eq!((point.flight_time, point.last_queue_bytes), (Some(FLIGHT / 2), 0.0));
}

#[test]
fn the_first_report_of_a_limiter_changes_no_rate() {
    let mut point = E2cmConfig::default().reaction_point(LINE, Time::ZERO);
    receive(&mut point, Message::BcnMax { from: HERE });
    report(&mut point, Span::from_microseconds(100), Some(THROUGHPUT));
    assert_near(megabits_per_second(&point), 5_000.0);
    report(&mut point, Span::from_microseconds(100), None);
    assert_near(megabits_per_second(&point), 5_000.0);
    report(&mut point, Span::from_microseconds(100), Some(THROUGHPUT));
    assert_near(megabits_per_second(&point), 5_010.0);
}

#[test]
fn the_first_report_of_an_autonomous_flow_changes_no_rate() {
    let config = E2cmConfig { autonomous_probes: true, ..E2cmConfig::default() };
    let mut point = config.reaction_point(LINE, Time::ZERO);
    // A queue far beyond the severe threshold: the second such report creates a limiter.
    for limited in [false, true] {
        report(&mut point, Span::from_milliseconds(1), Some(THROUGHPUT));
        report(&mut point, Span::ZERO, None);
        assert_eq!(point.rate_bps().is_some(), limited);
    }
}

#[test]
fn the_byte_counter_expires_with_the_interval_of_probes() {
    let config = E2cmConfig { probe_interval: Bytes(6000), ..E2cmConfig::default() };
    assert_eq!(config.reaction_point(LINE, Time::ZERO).byte_counter(), u64::MAX);
    let mut point = limited(&config);
    for sent in [0, 1500, 3000, 4500, 0] {
        assert_eq!(point.byte_counter(), 5999 - sent);
        probes_behind(&mut point, 1);
    }
}

#[test]
fn the_rates_own_increase_is_that_of_ecm() {
    let ecm = EcmConfig {
        self_increase: Some(SelfIncrease { step: Rate::megabits(10), period: Span::from_microseconds(100) }),
        ..EcmConfig::default()
    };
    let mut point = limited(&E2cmConfig { ecm, ..E2cmConfig::default() });
    let (due, before) = (point.poll_at(), point.rate_bps().unwrap());
    assert!(due > Time::ZERO && due < Time::NEVER);
    at(due, |context| point.expire(context));
    assert!(point.rate_bps().unwrap() > before && point.poll_at() > due);
}

#[test]
fn two_probes_at_one_time_measure_no_throughput() {
    let mut reflector = E2cmConfig::default().reflector(LINE).unwrap();
    let mut reflect =
        || at(Time::from_picoseconds(9), |context| reflector.reflect(&Message::Probe { sent: Time::ZERO }, 0, context));
    for _ in 0..2 {
        assert!(matches!(reflect(), Some(Message::ProbeReport { throughput: None, .. })));
    }
}

#[test]
fn the_destination_measures_between_two_probes() {
    let mut reflector = E2cmConfig::default().reflector(LINE).unwrap();
    let mut delivered_bytes = 0;
    let mut reflect = |sent_us: u64, now_us: u64, frames: u64| {
        let now = Time::ZERO + Span::from_microseconds(now_us);
        delivered_bytes += 1500 * frames;
        let probe = Message::Probe { sent: Time::ZERO + Span::from_microseconds(sent_us) };
        at(now, |context| reflector.reflect(&probe, delivered_bytes, context))
    };
    let answer =
        |latency_us, throughput| Message::ProbeReport { latency: Span::from_microseconds(latency_us), throughput };
    assert_eq!(reflect(90, 100, 7), Some(answer(10, None)));
    assert_eq!(reflect(300, 340, 50), Some(answer(40, Some(75_000.0 / 240e-6))));
    assert_eq!(reflect(440, 440, 0), Some(answer(0, Some(0.0))));
    assert_eq!(at(Time::ZERO, |context| reflector.reflect(&Message::Cnp, 0, context)), None);
}

#[test]
fn a_flow_may_have_another_set_point_if_there_is_one() {
    for scheme in CongestionManagement::every() {
        let own = scheme.with_flow_set_point(Bytes(30_000));
        let expected = E2cmConfig { flow_set_point: Bytes(30_000), ..E2cmConfig::default() };
        assert_eq!(own, (scheme.name() == "e2cm").then_some(CongestionManagement::E2cm(expected)));
        let too_long = scheme.with_flow_set_point(Bytes(56_000)).map(|scheme| scheme.check(LINE).is_err());
        assert_eq!(too_long, (scheme.name() == "e2cm").then_some(true));
    }
}

#[test]
fn congestion_points_are_those_of_ecm() {
    let mut point = E2cmConfig::default().congestion_point(HERE, LINE);
    let frame = Arrival { len_bytes: 1500, queue_bytes: 300_000, limited_by: None };
    let verdict = at(Time::ZERO, |context| point.arrived(frame, context));
    assert_eq!(verdict, Verdict::Tell(Message::BcnMax { from: HERE }));
}

/// The time in which a flow on an empty path gets from 2.5 to 5 Gb/s, with a report, or a positive BCN, or both, behind
/// each interval of its data.
fn doubling_time_seconds(interval_bytes: u64, probes: bool, messages: bool) -> f64 {
    let config = E2cmConfig { probe_interval: Bytes(interval_bytes), ..E2cmConfig::default() };
    let mut point = limited(&config);
    receive(&mut point, Message::BcnMax { from: HERE });
    let mut seconds = 0.0;
    loop {
        let rate_bps = point.rate_bps().unwrap();
        if rate_bps >= 5e9 {
            return seconds;
        }
        seconds += 1500.0 * 8.0 / rate_bps;
        let probe = at(Time::ZERO, |context| point.sent(1500, context));
        if probe.is_some() && probes {
            report(&mut point, Span::ZERO, Some(rate_bps / 8.0));
        }
        if probe.is_some() && messages {
            receive(&mut point, bcn(75_000, 0, HERE));
        }
    }
}

/// On an empty path a report has the feedback Q_eq,flow, a BCN that of Q_eq: 10 Mb/s each, for each interval X of data.
/// The rate grows as exp(t / T) with T = 8 X / 10 Mb/s, or half of that with both.
#[test]
fn rates_recover_exponentially() {
    for (interval_bytes, probes, messages, e_folding_seconds) in [
        (75_000, true, false, 0.060),
        (75_000, false, true, 0.060),
        (75_000, true, true, 0.030),
        (15_000, true, false, 0.012),
        (15_000, true, true, 0.006),
    ] {
        let expected = libm::log(2.0) * e_folding_seconds;
        let seconds = doubling_time_seconds(interval_bytes, probes, messages);
        assert!((seconds / expected - 1.0).abs() < 0.01, "{seconds} instead of {expected}");
    }
}

/// The fluid of N flows in one FIFO, with reports alone: each has its set-point waiting, so that rates are as these.
#[test]
fn rates_settle_in_proportion_to_set_points() {
    let set_points = [15_000, 15_000, 30_000];
    let capacity_bps = 2.5e9;
    let mut points: Vec<_> = set_points
        .iter()
        .map(|&bytes| limited(&E2cmConfig { flow_set_point: Bytes(bytes), ..E2cmConfig::default() }))
        .collect();
    let mut queue_bytes = 0.0;
    // In 100 us all send, and all have a report; as often as with intervals of 8 to 16 KB.
    for _ in 0..50_000 {
        let rates: Vec<f64> = points.iter().map(|point| point.rate_bps().unwrap_or(1e10)).collect();
        let offered: f64 = rates.iter().sum();
        queue_bytes = f64::max(0.0, queue_bytes + (offered - capacity_bps) / 8.0 * 100e-6);
        let queueing = Span::from_seconds_f64(queue_bytes * 8.0 / capacity_bps);
        for (point, rate) in points.iter_mut().zip(rates) {
            report(point, queueing, Some(rate / 8.0 * (capacity_bps / offered).min(1.0)));
        }
    }
    for (point, bytes) in points.iter().zip(set_points) {
        let share = point.rate_bps().unwrap() / capacity_bps;
        assert!((share - bytes as f64 / 60_000.0).abs() < 0.01, "{share} of {bytes}");
    }
    assert!((queue_bytes - 60_000.0).abs() < 1_000.0, "{queue_bytes}");
}

/// While the flows' set-points together are below that of the queue, it is as long as they are, and shared equally.
#[test]
fn greedy_sources_get_equal_rates_and_a_queue_of_their_set_points() {
    for (sources, interval_bytes, probability) in [(2, 75_000, 0.02), (4, 75_000, 0.02), (4, 15_000, 0.1)] {
        let ecm = EcmConfig { sampling: Sampling::Probability(probability), ..EcmConfig::default() };
        let config = E2cmConfig { ecm, probe_interval: Bytes(interval_bytes), ..E2cmConfig::default() };
        let outcome = one_queue::run(&CongestionManagement::E2cm(config), LINE, sources, Span::from_milliseconds(600));
        let expected_bytes = sources as f64 * 15_000.0;
        assert!((outcome.mean_queue_bytes / expected_bytes - 1.0).abs() < 0.12, "{}", outcome.mean_queue_bytes);
        assert!(outcome.utilization > 0.99, "{}", outcome.utilization);
        for rate_bps in outcome.rates_bps {
            assert!((rate_bps * sources as f64 / 1e10 - 1.0).abs() < 0.05, "{rate_bps}");
        }
    }
}

#[cfg(feature = "config")]
#[test]
fn reads_what_a_scenario_says() {
    let text = "probe_interval = '15 KB'\necm.sampling.probability = 0.1\nflow_increase_gain = 0.05";
    let config: E2cmConfig = toml::from_str(text).unwrap();
    let ecm = EcmConfig { sampling: Sampling::Probability(0.1), ..EcmConfig::default() };
    let expected = E2cmConfig { ecm, probe_interval: Bytes(15_000), flow_increase_gain: 0.05, ..E2cmConfig::default() };
    assert_eq!(config, expected);
    assert!(toml::from_str::<E2cmConfig>("sampling.probability = 0.1").is_err());
}

fn any_report() -> impl Strategy<Value = Message> {
    let throughput = prop::option::of(0.0..1.25e9);
    (0_u64..400, throughput).prop_map(|(latency_us, throughput)| Message::ProbeReport {
        latency: Span::from_microseconds(latency_us),
        throughput,
    })
}

proptest! {
    #[test]
    fn rates_stay_in_bounds_and_only_queues_are_named(
        messages in prop::collection::vec(prop_oneof![any_message(), any_report()], 0..200),
        autonomous_probes: bool,
    ) {
        let mut point = E2cmConfig { autonomous_probes, ..E2cmConfig::default() }.reaction_point(LINE, Time::ZERO);
        let mut complained = None;
        for message in messages {
            if point.poll_at() < Time::NEVER {
                at(point.poll_at(), |context| point.expire(context));
            }
            let was_limited = point.rate_bps().is_some();
            receive(&mut point, message);
            assert_rate_in_bounds(&point);
            // A limiter that a report created has no association until a queue complains.
            complained = negative_from(&message).or(complained.filter(|_| was_limited));
            if point.rate_bps().is_some() {
                let is_report = matches!(message, Message::ProbeReport { .. });
                prop_assert!(was_limited || negative_from(&message).is_some() || autonomous_probes && is_report);
                prop_assert_eq!(point.associated(), complained);
            } else {
                prop_assert_eq!(point.associated(), None);
            }
        }
    }
}
