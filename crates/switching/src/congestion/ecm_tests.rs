//! Tests of ECM: the vectors of the slides' parameters, who hears what, and bounds under any sequence of messages.

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::super::sampling::SamplingInterval;
use super::*;
use crate::congestion::{CongestionManagement, one_queue};
use crate::test_support::rng;

pub const LINE: Rate = Rate::megabits(10_000);
pub const HERE: CongestionPointId = CongestionPointId(7);
pub const ELSEWHERE: CongestionPointId = CongestionPointId(8);

/// Calls `body` with a context at `now`.
pub fn at<T>(now: Time, body: impl FnOnce(&mut Context<'_>) -> T) -> T {
    body(&mut Context { now, capacity: LINE, rng: &mut rng(now.picoseconds()) })
}

pub fn receive(point: &mut impl ReactionPoint, message: Message) {
    at(Time::ZERO, |context| point.receive(&message, context));
}

pub fn bcn(offset_bytes: i32, delta_bytes: i32, from: CongestionPointId) -> Message {
    Message::Bcn { offset_bytes, delta_bytes, from }
}

pub fn megabits_per_second(point: &impl ReactionPoint) -> f64 {
    point.rate_bps().unwrap_or(LINE.bits_per_second() as f64) / 1e6
}

pub fn assert_near(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{value} instead of {expected}");
}

/// Configurations that ECM refuses on links of [`LINE`], and the field that each is refused for.
pub fn refused() -> Vec<(EcmConfig, &'static str)> {
    let good = EcmConfig::default;
    let interval = |bytes, jitter| Sampling::Interval(SamplingInterval { bytes: Bytes(bytes), jitter });
    let self_increase = Some(SelfIncrease { period: Span::ZERO, step: Rate::megabits(1) });
    vec![
        (EcmConfig { set_point: Bytes(0), ..good() }, "set_point"),
        (EcmConfig { set_point: Bytes(2_000_000_000), ..good() }, "set_point"),
        (EcmConfig { weight: -0.1, ..good() }, "weight"),
        (EcmConfig { weight: f64::NAN, ..good() }, "weight"),
        (EcmConfig { decrease_gain: 0.0, ..good() }, "decrease_gain"),
        (EcmConfig { decrease_gain: 1.0, ..good() }, "decrease_gain"),
        (EcmConfig { increase_gain: 0.0, ..good() }, "increase_gain"),
        (EcmConfig { increase_gain: 1.1, ..good() }, "increase_gain"),
        (EcmConfig { sampling: Sampling::Probability(0.0), ..good() }, "sampling.probability"),
        (EcmConfig { sampling: Sampling::Probability(1.1), ..good() }, "sampling.probability"),
        (EcmConfig { sampling: interval(0, 0.15), ..good() }, "sampling.interval.bytes"),
        (EcmConfig { sampling: interval(75_000, 1.0), ..good() }, "sampling.interval.jitter"),
        (EcmConfig { severe_threshold: Bytes(75_000), ..good() }, "severe_threshold"),
        (EcmConfig { min_rate: LINE, ..good() }, "min_rate"),
        (EcmConfig { self_increase, ..good() }, "self_increase.period"),
        (EcmConfig { stop_time: Span::ZERO, ..good() }, "stop_time"),
    ]
}

fn reaction_point() -> EcmReactionPoint {
    EcmConfig::default().reaction_point(LINE, Time::ZERO)
}

/// A congestion point that has seen a queue of this many bytes last.
fn sampled_at(queue_bytes: u64, config: EcmConfig) -> EcmCongestionPoint {
    let mut point = config.congestion_point(HERE, LINE);
    arrive(&mut point, queue_bytes, None);
    point
}

fn arrive(point: &mut EcmCongestionPoint, queue_bytes: u64, limited_by: Option<CongestionPointId>) -> Verdict {
    at(Time::ZERO, |context| point.arrived(Arrival { len_bytes: 1500, queue_bytes, limited_by }, context))
}

fn feedback_bytes(point: &EcmCongestionPoint) -> f64 {
    let mut feedback = None;
    point.gauges(&mut |name, value| {
        assert_eq!(name, "feedback_bytes");
        feedback = Some(value);
    });
    feedback.unwrap()
}

#[test]
fn refuses_parameters_outside_their_bounds_by_name() {
    let self_increase = Some(SelfIncrease { period: Span::from_milliseconds(1), step: Rate::megabits(1) });
    for config in [EcmConfig::default(), EcmConfig { self_increase, ..EcmConfig::default() }] {
        assert_eq!(config.check(LINE), Ok(()));
    }
    // The strongest feedback is that of a queue that grew from nothing to twice its set-point, at any weight.
    for (weight, set_points) in [(1.0, -3.0), (2.0, -5.0), (3.0, -7.0)] {
        assert_eq!(QueueFeedback::new(Bytes(1000), weight).strongest(), set_points * 1000.0);
    }
    for (config, field) in refused() {
        assert_eq!(config.check(LINE).map_err(|error| error.field), Err(field), "{config:?}");
    }
}

/// Slides: G_d = 1.333e-6, and 0.005 G_i0 of 0.026667, times R_unit of 1 Mb/s, all for each byte of feedback.
#[test]
fn gains_are_those_of_the_slides() {
    let point = reaction_point();
    assert_near(point.gains.decrease, 0.5 / 375_000.0);
    assert_near(point.gains.increase_bps, 0.005 * (10_000.0 / 375_000.0) * 1e6);
    assert_near(point.feedback.strongest(), -375_000.0);
}

#[test]
fn samples_give_the_feedback_of_offset_and_growth() {
    // Queue at the last sample, queue now, feedback, and the message to a flow limited by this queue.
    let vectors = [
        (75_000, 75_000, 0.0, None),
        (0, 150_000, -375_000.0, Some((-75_000, 150_000))),
        (150_000, 0, 375_000.0, Some((75_000, -150_000))),
        (80_000, 90_000, -35_000.0, Some((-15_000, 10_000))),
        // Both terms are limited.
        (0, 280_000, -375_000.0, Some((-75_000, 150_000))),
        (280_000, 0, 375_000.0, Some((75_000, -150_000))),
    ];
    for (last, now, feedback, told) in vectors {
        let mut point = sampled_at(last, EcmConfig::default());
        let expected = told.map_or(Verdict::Pass, |(offset, delta)| Verdict::Tell(bcn(offset, delta, HERE)));
        assert_eq!(arrive(&mut point, now, Some(HERE)), expected, "{last} {now}");
        assert_near(feedback_bytes(&point), feedback);
    }
}

#[test]
fn only_flows_limited_by_the_queue_hear_that_it_is_short() {
    for (limited_by, hears) in [(None, false), (Some(ELSEWHERE), false), (Some(HERE), true)] {
        let mut short = sampled_at(75_000, EcmConfig::default());
        assert_eq!(arrive(&mut short, 0, limited_by) != Verdict::Pass, hears, "{limited_by:?}");
        let mut long = sampled_at(75_000, EcmConfig::default());
        assert_ne!(arrive(&mut long, 150_000, limited_by), Verdict::Pass, "{limited_by:?}");
    }
}

#[test]
fn growth_is_counted_from_the_last_sample_even_if_it_was_not_told() {
    let mut point = sampled_at(75_000, EcmConfig::default());
    assert_eq!(arrive(&mut point, 50_000, None), Verdict::Pass);
    assert_eq!(arrive(&mut point, 90_000, None), Verdict::Tell(bcn(-15_000, 40_000, HERE)));
    assert_eq!(arrive(&mut point, 300_000, None), Verdict::Tell(Message::BcnMax { from: HERE }));
    assert_eq!(arrive(&mut point, 279_000, None), Verdict::Tell(bcn(-75_000, -21_000, HERE)));
}

#[test]
fn beyond_the_severe_threshold_every_sampled_source_hears_what_was_chosen() {
    let choices = [
        (SevereMessage::BcnMax, Message::BcnMax { from: HERE }),
        (SevereMessage::BcnZero, Message::BcnZero { from: HERE }),
        (SevereMessage::None, bcn(-75_000, 1, HERE)),
    ];
    for (severe_message, message) in choices {
        let mut point = sampled_at(280_000, EcmConfig { severe_message, ..EcmConfig::default() });
        for limited_by in [None, Some(ELSEWHERE), Some(HERE)] {
            assert_eq!(arrive(&mut point, 280_000, limited_by), Verdict::Tell(bcn(-75_000, 0, HERE)));
            assert_eq!(arrive(&mut point, 280_001, limited_by), Verdict::Tell(message));
            arrive(&mut point, 280_000, None);
        }
    }
}

#[test]
fn negative_feedback_cuts_the_rate_from_that_of_the_link() {
    for (message, megabits) in [
        (bcn(-75_000, 150_000, HERE), 5_000.0),
        (Message::BcnMax { from: HERE }, 5_000.0),
        (bcn(-15_000, 10_000, HERE), 10_000.0 * (1.0 - 0.5 * 35_000.0 / 375_000.0)),
    ] {
        let mut point = reaction_point();
        receive(&mut point, message);
        assert_near(megabits_per_second(&point), megabits);
        assert_eq!(point.associated(), Some(HERE));
    }
}

#[test]
fn positive_feedback_of_the_associated_queue_adds_to_the_rate() {
    let mut point = reaction_point();
    receive(&mut point, Message::BcnMax { from: HERE });
    receive(&mut point, bcn(75_000, -150_000, HERE));
    assert_near(megabits_per_second(&point), 5_050.0);
    receive(&mut point, bcn(75_000, -150_000, ELSEWHERE));
    assert_near(megabits_per_second(&point), 5_050.0);
    receive(&mut point, Message::BcnMax { from: ELSEWHERE });
    receive(&mut point, bcn(75_000, -150_000, HERE));
    assert_near(megabits_per_second(&point), 2_525.0);
    receive(&mut point, bcn(75_000, 0, ELSEWHERE));
    assert_near(megabits_per_second(&point), 2_535.0);
}

#[test]
fn the_limiter_goes_at_the_rate_of_the_link_and_its_association_with_it() {
    let mut point = EcmConfig { increase_gain: 0.25, ..EcmConfig::default() }.reaction_point(LINE, Time::ZERO);
    receive(&mut point, Message::BcnMax { from: HERE });
    receive(&mut point, bcn(75_000, -150_000, HERE));
    assert_near(megabits_per_second(&point), 7_500.0);
    receive(&mut point, bcn(75_000, -150_000, HERE));
    assert_eq!((point.rate_bps(), point.associated()), (None, None));
    receive(&mut point, bcn(75_000, 0, HERE));
    assert_eq!(point.rate_bps(), None);
}

#[test]
fn feedback_cuts_no_rate_below_the_least() {
    let mut point = reaction_point();
    for _ in 0..20 {
        receive(&mut point, Message::BcnMax { from: HERE });
    }
    assert_near(megabits_per_second(&point), 1.0);
}

#[test]
fn bcn_zero_stops_the_flow_for_a_while_and_longer_each_time() {
    let mut point = reaction_point();
    let mut now = Time::ZERO;
    for (longest_us, megabits) in [(10, 1_000.0), (20, 500.0), (40, 250.0)] {
        at(now, |context| point.receive(&Message::BcnZero { from: HERE }, context));
        let restart_at = point.poll_at();
        assert!(restart_at.since(now) <= Span::from_microseconds(longest_us));
        // Later messages about earlier frames change no rate and no timer.
        for message in [Message::BcnZero { from: HERE }, Message::BcnMax { from: HERE }, bcn(75_000, 0, HERE)] {
            at(now, |context| point.receive(&message, context));
            assert_eq!((point.rate_bps(), point.poll_at()), (Some(0.0), restart_at));
        }
        now = restart_at;
        at(now, |context| point.expire(context));
        assert_near(megabits_per_second(&point), megabits);
        assert_eq!((point.poll_at(), point.associated()), (Time::NEVER, Some(HERE)));
    }
}

#[test]
fn stops_are_spread_over_the_whole_time_and_bounded() {
    let mut point = EcmConfig::default().reaction_point(LINE, Time::ZERO);
    let mut now = Time::ZERO;
    let mut longest = Span::ZERO;
    for _ in 0..200 {
        at(now, |context| point.receive(&Message::BcnZero { from: HERE }, context));
        longest = longest.max(point.poll_at().since(now));
        now = point.poll_at();
        at(now, |context| point.expire(context));
        assert!(point.rate_bps() >= Some(1e6));
    }
    // The longest of about 190 draws from [0, 10.24 ms].
    let bound = Span::from_microseconds(10 << MAX_DOUBLINGS);
    assert!(longest <= bound && longest > bound * 9 / 10, "{longest}");
}

#[test]
fn a_limited_flow_gets_faster_by_itself_if_asked_for() {
    let self_increase = Some(SelfIncrease { period: Span::from_milliseconds(1), step: Rate::megabits(2_000) });
    let mut point = EcmConfig { self_increase, ..EcmConfig::default() }.reaction_point(LINE, Time::ZERO);
    assert_eq!(point.poll_at(), Time::NEVER);
    receive(&mut point, Message::BcnMax { from: HERE });
    for expected in [7_000.0, 9_000.0] {
        let now = point.poll_at();
        at(now, |context| point.expire(context));
        assert_near(megabits_per_second(&point), expected);
        assert_eq!(point.poll_at(), now + Span::from_milliseconds(1));
    }
    at(point.poll_at(), |context| point.expire(context));
    assert_eq!((point.rate_bps(), point.poll_at()), (None, Time::NEVER));
}

/// Whatever the split of the rates, the one point of rest of a queue is its set-point.
#[test]
fn the_queue_of_four_greedy_sources_settles_near_its_set_point() {
    for probability in [0.02, 0.1] {
        let config = EcmConfig { sampling: Sampling::Probability(probability), ..EcmConfig::default() };
        let outcome = one_queue::run(&CongestionManagement::Ecm(config), LINE, 4, Span::from_milliseconds(400));
        assert!((outcome.mean_queue_bytes / 75_000.0 - 1.0).abs() < 0.15, "{}", outcome.mean_queue_bytes);
        assert!(outcome.utilization > 0.99, "{}", outcome.utilization);
    }
}

#[cfg(feature = "config")]
#[test]
fn reads_what_a_scenario_says() {
    let parse = |text| toml::from_str::<EcmConfig>(text);
    assert_eq!(parse(""), Ok(EcmConfig::default()));
    let config = parse("sampling.probability = 0.1\nincrease_gain = 0.25\nsevere_message = 'bcn_zero'").unwrap();
    assert_eq!(config.sampling, Sampling::Probability(0.1));
    assert_eq!((config.increase_gain, config.severe_message), (0.25, SevereMessage::BcnZero));
    let config =
        parse("sampling.interval.bytes = '15 KB'\nself_increase = { period = '1 ms', step = '1 Mbps' }").unwrap();
    assert_eq!(config.sampling, Sampling::Interval(SamplingInterval { bytes: Bytes(15_000), jitter: 0.15 }));
    assert_eq!(config.check(LINE), Ok(()));
    assert!(parse("gain = 1").is_err());
}

/// A message of a queue, as its congestion point may send it by default.
pub fn any_message() -> impl Strategy<Value = Message> {
    let from = prop_oneof![Just(HERE), Just(ELSEWHERE)];
    prop_oneof![
        8 => (-75_000..=75_000, -150_000..=150_000, from.clone())
            .prop_map(|(offset, delta, from)| bcn(offset, delta, from)),
        2 => from.clone().prop_map(|from| Message::BcnMax { from }),
        1 => from.prop_map(|from| Message::BcnZero { from }),
    ]
}

/// The source of the message's feedback, if it is negative.
pub fn negative_from(message: &Message) -> Option<CongestionPointId> {
    match *message {
        Message::Bcn { offset_bytes, delta_bytes, from } => (offset_bytes < 2 * delta_bytes).then_some(from),
        Message::BcnMax { from } | Message::BcnZero { from } => Some(from),
        _ => None,
    }
}

/// The rate is that of no limiter, of a stopped flow, or between the least and the link's.
pub fn assert_rate_in_bounds(point: &impl ReactionPoint) {
    if let Some(rate) = point.rate_bps() {
        assert!(rate == 0.0 && point.poll_at() < Time::NEVER || (1e6..1e10).contains(&rate), "{rate}");
    }
}

proptest! {
    #[test]
    fn rates_stay_in_bounds_and_tags_name_the_last_that_complained(
        messages in prop::collection::vec((any_message(), 0_u64..100), 0..200),
        increase_gain in 0.001..=1.0,
        decrease_gain in 0.001..0.999,
    ) {
        let config = EcmConfig { increase_gain, decrease_gain, ..EcmConfig::default() };
        let mut point = config.reaction_point(LINE, Time::ZERO);
        let mut now = Time::ZERO;
        let mut complained = None;
        for (message, pause_us) in messages {
            now += Span::from_microseconds(pause_us);
            if point.poll_at() <= now {
                at(now, |context| point.expire(context));
            }
            let was_limited = point.is_limited();
            at(now, |context| point.receive(&message, context));
            assert_rate_in_bounds(&point);
            complained = negative_from(&message).or(complained);
            if point.is_limited() {
                prop_assert!(was_limited || negative_from(&message).is_some());
                prop_assert_eq!(point.associated(), complained);
            } else {
                prop_assert_eq!(point.associated(), None);
                prop_assert_eq!(point.poll_at(), Time::NEVER);
            }
        }
    }

    #[test]
    fn what_a_queue_tells_moves_the_rate_the_way_it_says(queue_bytes in 0_u64..300_000, last in 0_u64..300_000) {
        let mut queue = sampled_at(last, EcmConfig::default());
        let mut point = reaction_point();
        receive(&mut point, Message::BcnMax { from: HERE });
        if let Verdict::Tell(message) = arrive(&mut queue, queue_bytes, Some(HERE)) {
            receive(&mut point, message);
        }
        let change = megabits_per_second(&point) - 5_000.0;
        let feedback = feedback_bytes(&queue);
        let expected = if feedback < 0.0 { 2_500.0 } else { 50.0 } * feedback / 375_000.0;
        prop_assert!((change - expected).abs() < 1e-6, "{} instead of {}", change, expected);
    }
}
