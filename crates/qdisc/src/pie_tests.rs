//! PIE: the steps of the controller, ns-3's suite, ticks that are made up for.

use alloc::collections::VecDeque;

use proptest::prelude::*;

use super::controller::{Controller, ControllerState};
use super::*;
use crate::test_support::{LINK, gauge, rng};
use crate::{Ecn, FlowKey};

fn milliseconds(count: u64) -> Span {
    Span::from_milliseconds(count)
}

#[test]
fn steps_of_the_probability() {
    let controller = Controller::new(&PieConfig::default());
    let cases = [
        (0.0, 50, 0, 3.265_38e-5),
        (0.005, 50, 40, 2.109_375e-3),
        (0.05, 50, 50, 2.187_5e-3),
        (0.2, 300, 100, 0.02),
        (0.2, 10, 20, -0.013_125),
    ];
    for (probability, delay, before, expected) in cases {
        let step = controller.step(probability, milliseconds(delay), milliseconds(before));
        assert!((step / expected - 1.0).abs() < 1e-5, "{step} instead of {expected}");
    }
    // RFC 8033, section 5.5: the cap holds from 10 % on, and not where it is switched off.
    let uncapped = Controller::new(&PieConfig { cap_adjustment: false, ..PieConfig::default() });
    for (controller, probability, expected) in
        [(&controller, 0.099, 2.061_562_5), (&controller, 0.1, 0.02), (&uncapped, 0.1, 4.123_125)]
    {
        let step = controller.step(probability, milliseconds(3000), Span::ZERO);
        assert!((step / expected - 1.0).abs() < 1e-5, "{step} instead of {expected}");
    }
}

#[test]
fn the_probability_decays_by_two_percent_a_tick_while_there_is_no_delay() {
    // RFC 8033, section 4.2: at a delay of 0 now and at the last tick, after the step.
    let controller = Controller::new(&PieConfig::default());
    let cases = [
        (0.5, 0, 0, (0.5 - 0.001_875) * 0.98),
        (0.05, 0, 0, (0.05 - 0.000_937_5) * 0.98),
        (0.5, 0, 1, 0.5 - 0.003_125),
        (0.5, 1, 0, 0.5 - 0.000_5),
    ];
    for (probability, delay, before, expected) in cases {
        let state =
            ControllerState { probability, delay_before: milliseconds(before), ..ControllerState::quiet(Span::ZERO) };
        let after = controller.ticks(state, milliseconds(delay), true, 1).probability;
        assert!((after - expected).abs() < 1e-14, "{after} instead of {expected}");
    }
}

/// The result of a run of ns-3's suite.
#[derive(Debug, Default)]
struct Outcome {
    early: u32,
    overflow: u32,
    marked: u32,
    max_probability: f64,
    /// Largest rise of the probability from 10 % or more.
    max_rise: f64,
    /// Probabilities as accumulated before and after each arrival that was let in with three packets queued or more.
    accumulated: alloc::vec::Vec<(f64, f64, f64)>,
    /// Arrivals with this many packets queued.
    crowded: u32,
}

/// Parameters of ns-3's suite.
fn suite() -> PieConfig {
    PieConfig {
        limit: QueueSize::Packets(300),
        target: milliseconds(20),
        update_interval: milliseconds(30),
        mean_packet_size: Bytes(1000),
        ..PieConfig::default()
    }
}

/// ns-3's suite: 400 packets of 1000 B, one each 10 ms, and as many departures, one each `gap`; `before` each arrival
/// the test may reach into the law.
fn run(config: &PieConfig, gap: u64, ecn: Ecn, before: impl Fn(&mut Pie)) -> Outcome {
    let mut pie = Pie::new(config, LINK, 0).unwrap();
    let mut rng = rng();
    let mut queue = VecDeque::new();
    let mut outcome = Outcome::default();
    let arrival = Arrival { flow: FlowKey(1), len_bytes: 1000, ecn, ..Arrival::default() };
    let backlog = |packets: usize| Backlog { packets: packets as u64, bytes: 1000 * packets as u64 };
    let (mut arrivals, mut departures) = (1, 1);
    while arrivals <= 400 || departures <= 400 {
        let probability = pie.queue.state.probability;
        if arrivals <= 400 && 10 * arrivals <= gap * departures || departures > 400 {
            let now = Time::ZERO + milliseconds(10 * arrivals);
            arrivals += 1;
            before(&mut pie);
            let accumulated = pie.queue.accumulated;
            let verdict = pie.admit(&arrival, &mut Offer { now, backlog: backlog(queue.len()), rng: &mut rng });
            match verdict {
                Verdict::Drop(DropReason::Overflow) => outcome.overflow += 1,
                Verdict::Drop(_) => outcome.early += 1,
                Verdict::Mark(..) => outcome.marked += 1,
                Verdict::Enqueue(_) => {
                    outcome.accumulated.push((accumulated, pie.queue.accumulated, pie.probability()))
                }
            }
            outcome.crowded += u32::from(queue.len() > 2);
            if !matches!(verdict, Verdict::Drop(_)) {
                queue.push_back(now);
            }
        } else {
            let now = Time::ZERO + milliseconds(gap * departures);
            departures += 1;
            if queue.pop_front().is_some() {
                pie.release(Ticket::default(), 1000, backlog(queue.len()), now);
            }
        }
        if probability >= 0.1 {
            outcome.max_rise = outcome.max_rise.max(pie.queue.state.probability - probability);
        }
        outcome.max_probability = outcome.max_probability.max(pie.queue.state.probability);
    }
    outcome
}

fn plain(config: &PieConfig, gap: u64) -> Outcome {
    run(config, gap, Ecn::NotCapable, |_| {})
}

#[test]
fn drops_early_and_nothing_else_as_in_ns3s_suite() {
    let second = plain(&suite(), 12);
    assert!(second.early > 0 && second.overflow == 0, "{second:?}");
    let third = plain(&PieConfig { target: milliseconds(80), ..suite() }, 12);
    assert!(third.early < second.early, "a longer target drops less: {} and {}", third.early, second.early);
    let fourth = plain(&suite(), 15);
    assert!(fourth.early > second.early, "a slower link drops more: {} and {}", fourth.early, second.early);
    let fifth = plain(&PieConfig { update_interval: milliseconds(90), ..suite() }, 15);
    assert!(fifth.early < fourth.early, "a slower controller drops less: {} and {}", fifth.early, fourth.early);
}

#[test]
fn the_cap_bounds_the_rise_as_in_ns3s_suite() {
    let uncapped = plain(&PieConfig { cap_adjustment: false, ..suite() }, 15);
    assert!(uncapped.max_rise > 0.02, "{}", uncapped.max_rise);
    let capped = plain(&suite(), 15);
    // To the rounding of a difference.
    assert!(capped.max_rise > 0.0 && capped.max_rise <= 0.02 + 1e-15, "{}", capped.max_rise);
}

#[test]
fn marks_below_the_threshold_as_in_ns3s_suite() {
    let config = PieConfig { ecn: true, mark_threshold: 0.3, ..suite() };
    let ninth = run(&config, 15, Ecn::NotCapable, |_| {});
    assert!(ninth.marked == 0 && ninth.early > 0);
    let tenth = run(&PieConfig { ecn: false, ..suite() }, 15, Ecn::Capable0, |_| {});
    assert!(tenth.marked == 0 && tenth.early > 0);
    let eleventh = run(&config, 15, Ecn::Capable0, |_| {});
    assert!(eleventh.marked > 0 && eleventh.early > 0 && eleventh.max_probability > 0.3, "{eleventh:?}");
}

#[test]
fn derandomized_drops_as_in_ns3s_suite() {
    let config = PieConfig { derandomize: Some(true), ..suite() };
    let twelfth = plain(&config, 15);
    assert!(twelfth.early > 0);
    let mut grown = 0;
    for (before, after, probability) in twelfth.accumulated {
        // Nothing is added where PIE does not even ask.
        assert!(after == before || after == before + probability);
        grown += u32::from(after > before);
    }
    assert!(grown > 50);
    let thirteenth = run(&config, 15, Ecn::NotCapable, |pie| pie.queue.accumulated = -0.16);
    assert_eq!(thirteenth.early, 0);
    let fourteenth = run(&config, 15, Ecn::NotCapable, |pie| {
        pie.queue.accumulated = 8.6;
        pie.queue.state = ControllerState {
            probability: 0.001,
            delay_before: milliseconds(20),
            burst_allowance: Span::ZERO,
            ..pie.queue.state
        };
    });
    assert!(fourteenth.crowded > 0);
    assert_eq!(fourteenth.early, fourteenth.crowded);
}

#[test]
fn becomes_active_by_the_delay_as_in_ns3s_suite() {
    let with = |threshold| plain(&PieConfig { active_threshold: Some(milliseconds(threshold)), ..suite() }, 12);
    assert_eq!(with(1000).early, 0);
    assert!(with(1).early > 0);
}

#[test]
fn a_burst_passes_unharmed() {
    let mut pie = Pie::new(&PieConfig::default(), LINK, 0).unwrap();
    pie.queue.state.probability = 1.0;
    pie.queue.state.delay_before = milliseconds(100);
    pie.queue.delay = milliseconds(100);
    pie.came_at.push_back(Time::ZERO);
    let mut rng = rng();
    let backlog = Backlog { packets: 10, bytes: 10_000 };
    let arrival = Arrival { len_bytes: 1000, ..Arrival::default() };
    // The allowance of 150 ms ends with the tenth tick.
    for (time, dropped) in [(0, false), (149, false), (150, true)] {
        let now = Time::ZERO + milliseconds(time);
        let verdict = pie.admit(&arrival, &mut Offer { now, backlog, rng: &mut rng });
        assert_eq!(matches!(verdict, Verdict::Drop(DropReason::Early)), dropped, "at {time} ms");
    }
}

#[test]
fn nothing_is_dropped_early_in_a_short_queue() {
    let config = PieConfig { max_burst: Span::ZERO, update_interval: Span::from_seconds(1000), ..PieConfig::default() };
    let mut pie = Pie::new(&config, LINK, 0).unwrap();
    let mut rng = rng();
    let arrival = Arrival { len_bytes: 1000, ..Arrival::default() };
    // Bytes queued, delay at the last tick in microseconds, probability, and whether PIE draws a random number (RFC
    // 8033, section 4.1). With less than half of the target of 15 ms, it draws only from a probability of 0.2 on.
    let cases = [
        (3000, 100_000, 1.0, false),
        (3001, 100_000, 1.0, true),
        (90_000, 7499, 1.0, true),
        (90_000, 7499, 0.2, true),
        (90_000, 7499, 0.199_999, false),
        (90_000, 7500, 0.199_999, true),
    ];
    for (bytes, delay, probability, dropped) in cases {
        pie.queue.state.probability = probability;
        pie.queue.state.delay_before = Span::from_microseconds(delay);
        let verdicts = [(); 50].map(|()| {
            let mut offer = Offer { now: Time::ZERO, backlog: Backlog { packets: 5, bytes }, rng: &mut rng };
            matches!(pie.admit(&arrival, &mut offer), Verdict::Drop(DropReason::Early))
        });
        assert_eq!(verdicts.contains(&true), dropped, "{bytes} B, {delay} us, {probability}");
    }
}

/// A PIE at this probability that asks its rng, and what becomes of a packet that finds 90 000 B queued.
fn verdict(config: &PieConfig, probability: f64, accumulated: f64, ecn: Ecn, rng: &mut rand_pcg::Pcg64Mcg) -> Verdict {
    let config = PieConfig { max_burst: Span::ZERO, ..config.clone() };
    let mut pie = Pie::new(&config, LINK, 0).unwrap();
    pie.queue.state.probability = probability;
    pie.queue.state.delay_before = milliseconds(100);
    pie.queue.accumulated = accumulated;
    let arrival = Arrival { len_bytes: 1000, ecn, ..Arrival::default() };
    pie.admit(&arrival, &mut Offer { now: Time::ZERO, backlog: Backlog { packets: 90, bytes: 90_000 }, rng })
}

#[test]
fn derandomized_drops_wait_for_85_percent_and_are_certain_at_850() {
    // RFC 8033, section 5.4: the sum with this packet's probability.
    let config = PieConfig { derandomize: Some(true), ..PieConfig::default() };
    let mut rng = rng();
    for (accumulated, probability, drops) in
        [(-0.16, 1.0, 0..=0), (-0.15, 1.0, 50..=50), (7.9, 0.5, 10..=40), (8.0, 0.5, 50..=50)]
    {
        let count = (0..50)
            .filter(|_| {
                matches!(verdict(&config, probability, accumulated, Ecn::NotCapable, &mut rng), Verdict::Drop(_))
            })
            .count();
        assert!(drops.contains(&count), "{count} of 50 at {accumulated} + {probability}");
    }
}

#[test]
fn marks_up_to_ten_percent_and_drops_above() {
    // RFC 8033, section 5.1. The sum makes each packet's signal certain.
    let config = PieConfig { derandomize: Some(true), ecn: true, ..PieConfig::default() };
    let mut rng = rng();
    let mark = Verdict::Mark(Ticket::default(), MarkReason::Early);
    let drop = Verdict::Drop(DropReason::Early);
    for (probability, ecn, expected) in [
        (0.05, Ecn::Capable0, mark),
        (0.1, Ecn::Capable0, mark),
        (0.100_001, Ecn::Capable0, drop),
        (0.05, Ecn::NotCapable, drop),
    ] {
        assert_eq!(verdict(&config, probability, 8.6, ecn, &mut rng), expected, "{probability}");
    }
}

#[test]
fn byte_mode_spares_short_packets() {
    let config = PieConfig { byte_mode: true, ..PieConfig::default() };
    let mut pie = Pie::new(&config, LINK, 0).unwrap();
    let mut rng = rng();
    let mut drops = [0, 0];
    for index in 0..2000 {
        pie.queue.state = ControllerState {
            probability: 0.5,
            delay_before: milliseconds(20),
            burst_allowance: Span::ZERO,
            is_quiet: false,
        };
        let arrival = Arrival { len_bytes: [150, 1500][index % 2], ..Arrival::default() };
        let mut offer = Offer { now: Time::ZERO, backlog: Backlog { packets: 9, bytes: 9000 }, rng: &mut rng };
        drops[index % 2] += u32::from(matches!(pie.admit(&arrival, &mut offer), Verdict::Drop(_)));
    }
    assert!((30..=70).contains(&drops[0]) && (450..=550).contains(&drops[1]), "{drops:?}");
}

#[test]
fn an_empty_queue_has_no_delay() {
    let mut pie = Pie::new(&PieConfig::default(), LINK, 0).unwrap();
    let mut rng = rng();
    for packets in 0..2 {
        let backlog = Backlog { packets, bytes: 1000 * packets };
        pie.admit(&Arrival::default(), &mut Offer { now: Time::ZERO, backlog, rng: &mut rng });
    }
    for (time, packets, delay) in [(10, 1, 0.010), (20, 0, 0.0)] {
        pie.release(
            Ticket::default(),
            1000,
            Backlog { packets, bytes: 1000 * packets },
            Time::ZERO + milliseconds(time),
        );
        assert_eq!(gauge(&pie, "queueing_delay_s"), delay);
    }
}

/// This many ticks, one by one.
fn one_by_one(
    controller: &Controller,
    mut state: ControllerState,
    delay: Span,
    is_empty: bool,
    ticks: u64,
) -> ControllerState {
    for _ in 0..ticks {
        state = controller.ticks(state, delay, is_empty, 1);
    }
    state
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ticks_made_up_for_are_as_ticks_in_time(
        delays in prop::collection::vec((prop_oneof![
            Just(0_u64), Just(15_000_000_000), 0_u64..40_000_000_000, 14_999_000_000_u64..15_001_000_000,
            200_000_000_000_u64..300_000_000_000,
        ], 0_u64..3000, any::<bool>()), 1..8),
        is_linux: bool,
        max_burst in prop_oneof![Just(0_u64), 0_u64..40_000_000_000_000],
        cap_adjustment: bool,
        alpha in prop_oneof![Just(0.125), Just(0.0), 0.0..10.0],
    ) {
        let max_burst = Span::from_picoseconds(max_burst);
        let preset = if is_linux { PiePreset::Linux } else { PiePreset::Rfc };
        let config = PieConfig { preset, max_burst, cap_adjustment, alpha, ..PieConfig::default() };
        let controller = Controller::new(&config);
        let (mut at_once, mut in_time) = (ControllerState::quiet(max_burst), ControllerState::quiet(max_burst));
        for (delay, ticks, is_empty) in delays {
            let delay = Span::from_picoseconds(delay);
            at_once = controller.ticks(at_once, delay, is_empty, ticks);
            in_time = one_by_one(&controller, in_time, delay, is_empty, ticks);
            prop_assert_eq!(at_once, in_time);
        }
    }
}

#[test]
fn years_of_silence_pass_at_once() {
    // 10 ps above the target and a tick each nanosecond: a loop would take too long for so slow a rise.
    let config = PieConfig {
        update_interval: Span::from_nanoseconds(1),
        max_burst: Span::from_seconds(1_000_000),
        ..PieConfig::default()
    };
    let controller = Controller::new(&config);
    for delay in [Span::ZERO, config.target, config.target + Span::from_picoseconds(10), milliseconds(14), Span::MAX] {
        for probability in [0.0, 1e-7, 0.05, 1.0] {
            let state = ControllerState { probability, ..ControllerState::quiet(config.max_burst) };
            let after = controller.ticks(state, delay, true, u64::MAX);
            assert!((0.0..=1.0).contains(&after.probability));
            assert_eq!(after, controller.ticks(after, delay, true, u64::MAX), "it is at rest");
        }
    }
}

#[test]
fn each_parameter_is_checked() {
    let cases = [
        (PieConfig { limit: QueueSize::Packets(0), ..PieConfig::default() }, "limit"),
        (PieConfig { target: Span::ZERO, ..PieConfig::default() }, "target"),
        (PieConfig { update_interval: Span::ZERO, ..PieConfig::default() }, "update_interval"),
        (PieConfig { alpha: -0.1, ..PieConfig::default() }, "alpha"),
        (PieConfig { beta: f64::NAN, ..PieConfig::default() }, "beta"),
        (PieConfig { mean_packet_size: Bytes(0), ..PieConfig::default() }, "mean_packet_size"),
        (PieConfig { mark_threshold: 1.1, ..PieConfig::default() }, "mark_threshold"),
    ];
    for (config, field) in cases {
        assert_eq!(Pie::new(&config, LINK, 0).unwrap_err().field, field);
    }
}
