//! The window form, rule by rule.

use super::*;
use crate::{Delivery, RoundTrips};

const MS: Span = Span::from_milliseconds(1);

fn at(ms: u64) -> Time {
    Time::ZERO + MS * ms
}

fn prague(config: PragueConfig) -> Prague {
    let setup = Setup { ecn: true, ..Setup::default() };
    Prague { packet_bytes: 1500.0, ..Prague::new(&config, &setup) }
}

const LOSS: CongestionSample = CongestionSample {
    now: Time::from_picoseconds(2_000_000_000),
    used_segments: 11.0,
    acknowledged: 3,
    next: 10,
    keeps_threshold: false,
};

/// An ACK of one segment at `ms`, on a path of `rtt`.
fn ack(ms: u64, rtt: Span, acknowledged: u64, next: u64, marked_segments: f64) -> AckSample<'static> {
    AckSample {
        now: at(ms),
        acked_segments: 1.0,
        delivered_segments: 1.0,
        acknowledged,
        next,
        is_window_used: true,
        echoes_mark: marked_segments > 0.0,
        marked_segments,
        phase: Phase::Open,
        round_trips: RoundTrips { smoothed: Some(rtt), ..RoundTrips::default() },
        delivery: None,
    }
}

#[test]
fn short_round_trips_grow_as_if_they_were_longer() {
    // Mode "rate": (rtt / target)^2 in a round trip.
    let mut controller = prague(PragueConfig::default());
    assert_eq!(controller.growth(MS * 5), 1.0);
    controller.rounds = 500;
    for (ms, growth) in [(1, 0.0016), (5, 0.04), (10, 0.16), (15, 0.36), (20, 0.64), (25, 1.0), (99, 1.0), (101, 1.0)] {
        assert!((controller.growth(MS * ms) - growth).abs() < 1e-12, "{ms} ms");
    }
    assert_eq!(controller.virtual_round_trip(MS * 10), MS * 25);
    assert_eq!(controller.virtual_round_trip(MS * 40), MS * 40);
    controller.config.rtt_independence = RttIndependence::Additive;
    assert_eq!(controller.virtual_round_trip(MS * 10), MS * 35);
    assert!((controller.growth(MS * 25) - 0.25).abs() < 1e-12);
    // Up to a round trip of 100 ms.
    assert!((controller.growth(MS * 100) - 0.64).abs() < 1e-12);
    assert_eq!(controller.growth(MS * 101), 1.0);
    controller.config.rtt_independence = RttIndependence::Scalable;
    assert!((controller.growth(MS * 16) - (0.125 + 14.5 / 16.0)).abs() < 1e-12);
    assert!((controller.growth(MS) - 0.125 / 16.0).abs() < 1e-12);
    assert!((controller.growth(MS * 20) - 1.125 * 20.0 / 16.0).abs() < 1e-12);
    controller.config.rtt_independence = RttIndependence::None;
    assert_eq!(controller.growth(MS * 10), 1.0);
}

#[test]
fn a_mark_reduces_by_half_of_alpha_once_in_a_round_trip() {
    let mut controller = prague(PragueConfig::default());
    let mut control = Control::new(100.0, 50.0);
    controller.alpha = 0.2;
    (controller.round_end, controller.updated_at) = (u64::MAX, at(0));
    controller.on_ack(&ack(100, MS * 40, 10, 1000, 1.0), &mut control);
    // 100 (1 - 0.2 / 2), which the window approaches by a segment an ACK.
    assert_eq!((controller.window, control.congestion_window, control.slow_start_threshold), (90.0, 99.0, 90.0));
    for acknowledged in 11..16 {
        controller.on_ack(&ack(101, MS * 40, acknowledged, 1000, 1.0), &mut control);
    }
    assert_eq!((controller.window, control.congestion_window), (90.0, 94.0));
    // ACKs without marks let it grow meanwhile.
    controller.on_ack(&ack(102, MS * 40, 20, 1000, 0.0), &mut control);
    assert!((controller.window - (90.0 + 1.0 / 90.0)).abs() < 1e-12);
    // The next reduction comes after the data in flight is acknowledged and a round trip has passed.
    controller.on_ack(&ack(139, MS * 40, 1001, 2000, 1.0), &mut control);
    controller.on_ack(&ack(140, MS * 40, 1000, 2000, 1.0), &mut control);
    let timeout = AckSample { phase: Phase::Timeout, ..ack(140, MS * 40, 1002, 2000, 1.0) };
    controller.on_ack(&timeout, &mut control);
    assert!(controller.window > 90.0);
    controller.on_ack(&ack(140, MS * 40, 1002, 2000, 1.0), &mut control);
    assert!(controller.window < 82.0);
}

#[test]
fn reductions_leave_two_segments() {
    let marked = ack(100, MS * 40, 10, 1000, 1.0);
    for (window, set, threshold) in [(2.5, 3.0, 2.0), (3.0, 1.0, 2.0)] {
        let mut controller = prague(PragueConfig::default());
        let mut control = Control::new(set, 2.0);
        (controller.window, controller.set_window, controller.round_end) = (window, set, u64::MAX);
        controller.on_ack(&marked, &mut control);
        assert_eq!((controller.window, control.slow_start_threshold), (2.0, threshold), "{window}");
        assert_eq!(control.congestion_window, 2.0);
        assert!(controller.has_seen_mark);
    }
    // A loss and a timeout as well. Both reduce the window that the transport has set.
    for (window, after, threshold) in [(3.0, 2.0, 2.0), (20.0, 10.0, 10.0), (1.0, 1.0, 2.0)] {
        for is_timeout in [false, true] {
            let mut controller = prague(PragueConfig::default());
            let mut control = Control::new(window, f64::INFINITY);
            (controller.window, controller.set_window) = (50.0, 50.0);
            if is_timeout {
                controller.on_timeout(&LOSS, &mut control);
                assert_eq!((control.congestion_window, control.slow_start_threshold), (1.0, threshold));
            } else {
                controller.on_loss(&LOSS, &mut control);
                assert_eq!((control.congestion_window, control.slow_start_threshold), (after, threshold));
            }
        }
    }
}

#[test]
fn alpha_follows_the_share_after_the_first_mark() {
    let mut controller = prague(PragueConfig::default());
    let mut control = Control::new(10.0, 5.0);
    for round in 1..4 {
        controller.on_ack(&ack(50 * round, MS * 40, 10 * round, 10 * round + 10, 0.0), &mut control);
        assert_eq!(controller.alpha, 1.0);
    }
    controller.has_seen_mark = true;
    (controller.delivered, controller.marked) = (9.0, 0.0);
    controller.on_ack(&ack(200, MS * 40, 40, 50, 0.0), &mut control);
    assert_eq!(controller.alpha, 15.0 / 16.0);
    (controller.delivered, controller.marked) = (9.0, 9.0);
    controller.on_ack(&ack(240, MS * 40, 50, 60, 1.0), &mut control);
    assert_eq!(controller.alpha, 15.0 / 16.0 + 1.0 / 256.0);
    // Not twice in a round trip, nor within a window of data, and not without arrivals.
    let alpha = controller.alpha;
    controller.on_ack(&ack(241, MS * 40, 60, 70, 1.0), &mut control);
    controller.on_ack(&ack(299, MS * 40, 65, 75, 0.0), &mut control);
    assert_eq!(controller.alpha, alpha);
    // One of the three since then.
    controller.on_ack(&ack(300, MS * 40, 70, 80, 0.0), &mut control);
    let alpha = alpha * 15.0 / 16.0 + 1.0 / 48.0;
    assert!((controller.alpha - alpha).abs() < 1e-12);
    let nothing = AckSample { acked_segments: 0.0, delivered_segments: 0.0, ..ack(400, MS * 40, 80, 90, 0.0) };
    controller.on_ack(&nothing, &mut control);
    assert!((controller.alpha - alpha).abs() < 1e-12);
}

#[test]
fn slow_start_doubles_and_unused_windows_and_recoveries_do_not_grow() {
    let mut controller = prague(PragueConfig::default());
    let mut control = Control::new(10.0, f64::INFINITY);
    controller.on_ack(&ack(1, MS * 40, 1, 10, 0.0), &mut control);
    assert_eq!(control.congestion_window, 11.0);
    controller.on_ack(&AckSample { is_window_used: false, ..ack(1, MS * 40, 2, 10, 0.0) }, &mut control);
    controller.on_ack(&AckSample { phase: Phase::Recovery, ..ack(1, MS * 40, 3, 10, 0.0) }, &mut control);
    assert_eq!(control.congestion_window, 11.0);
    controller.on_loss(&LOSS, &mut control);
    assert_eq!((controller.window, control.congestion_window, control.slow_start_threshold), (5.5, 6.0, 6.0));
    controller.on_timeout(&LOSS, &mut control);
    assert_eq!((control.congestion_window, control.slow_start_threshold), (1.0, 3.0));
    controller.on_timeout(&CongestionSample { keeps_threshold: true, ..LOSS }, &mut control);
    assert_eq!(control.slow_start_threshold, 3.0);
}

#[test]
fn it_paces_a_window_in_a_round_trip() {
    let mut controller = prague(PragueConfig::default());
    for (threshold, factor) in [(f64::INFINITY, 2), (41.0, 2), (40.0, 1), (20.0, 1)] {
        for phase in [Phase::Recovery, Phase::Timeout] {
            let mut control = Control::new(20.0, threshold);
            controller.on_ack(&AckSample { phase, ..ack(1, MS * 40, 1, 10, 0.0) }, &mut control);
            assert_eq!(control.pacing_rate, Rate::new(factor * 20 * 1500 * 8 * 25), "{threshold} {phase:?}");
        }
    }
    let mut control = Control::new(20.0, 20.0);
    controller.on_ack(&ack(1, Span::ZERO, 1, 10, 0.0), &mut control);
    assert_eq!(control.pacing_rate, None);
    // A packet has the headers too.
    assert_eq!(Prague::new(&PragueConfig::default(), &Setup::default()).packet_bytes, 1500.0);
}

#[test]
fn a_queue_that_marks_late_calls_for_larger_reductions() {
    let mut queue = ClassicQueue { score: 0.0, mean: 0.03, deviation: 3e-3, shortest: 0.022 };
    // log2(4) / 2 for each of the two signs.
    queue.judge();
    assert!((queue.score - 2.0).abs() < 1e-12);
    for _ in 0..3 {
        queue.judge();
    }
    assert_eq!((queue.score, queue.least_alpha()), (8.0, 0.0));
    queue.score = 8.5;
    assert_eq!(queue.least_alpha(), 0.3125);
    for _ in 0..20 {
        queue.judge();
    }
    assert_eq!((queue.score, queue.least_alpha()), (17.0, 0.625));
    // A steady delay speaks for a queue that marks early.
    let mut early = ClassicQueue { score: 10.0, mean: 0.021, deviation: 187.5e-6, shortest: 0.02 };
    early.judge();
    assert_eq!(early.score, 9.0);
    // A path without any variation says nothing.
    let mut steady = ClassicQueue { score: 3.0, mean: 0.02, deviation: 0.0, shortest: 0.02 };
    steady.judge();
    assert_eq!(steady.score, 3.0);
}

#[test]
fn from_a_score_of_nine_on_the_state_is_a_classic_queue() {
    for (classic_fallback, score, state) in [
        (true, 8.9, None),
        (true, 9.0, Some("classic_queue")),
        (true, 17.0, Some("classic_queue")),
        (false, 17.0, None),
    ] {
        let mut controller = prague(PragueConfig { classic_fallback, ..PragueConfig::default() });
        controller.fallback.score = score;
        assert_eq!(controller.state(), state, "{classic_fallback} {score}");
    }
}

#[test]
fn growth_after_a_reduction_is_not_slow_start() {
    // Linux compares the whole window with the threshold, and divides by it: 89.5 segments are a window of 90.
    let mut controller = prague(PragueConfig::default());
    let mut control = Control::new(90.0, 90.0);
    (controller.window, controller.set_window, controller.round_end) = (89.5, 90.0, u64::MAX);
    controller.on_ack(&ack(1, MS * 40, 1, 10, 0.0), &mut control);
    assert_eq!((controller.window, control.congestion_window), (89.5 + 1.0 / 90.0, 90.0));
    // A window that lags behind its fraction has no slow start beyond the threshold.
    let mut control = Control::new(9.0, 10.0);
    (controller.window, controller.set_window) = (12.0, 9.0);
    controller.on_ack(&ack(1, MS * 40, 1, 10, 0.0), &mut control);
    assert_eq!((controller.window, control.congestion_window), (12.0 + 1.0 / 12.0, 10.0));
}

#[test]
fn slow_start_ends_at_the_threshold() {
    // "Slow start Reno": the rest of an ACK counts for congestion avoidance.
    let mut controller = prague(PragueConfig::default());
    let mut control = Control::new(9.0, 10.0);
    let reported = AckSample { acked_segments: 3.0, ..ack(1, MS * 40, 1, 10, 0.0) };
    controller.on_ack(&reported, &mut control);
    assert_eq!((controller.window, control.congestion_window), (10.0 + 2.0 / 10.0, 11.0));
}

#[test]
fn an_undone_loss_restores_the_window_with_its_fraction() {
    let mut controller = prague(PragueConfig::default());
    for is_timeout in [false, true] {
        let mut control = Control::new(51.0, 40.0);
        (controller.window, controller.set_window, controller.round_end) = (50.25, 51.0, u64::MAX);
        let before = control;
        if is_timeout {
            controller.on_timeout(&LOSS, &mut control);
            controller.on_timeout(&CongestionSample { keeps_threshold: true, ..LOSS }, &mut control);
            let timeout = AckSample { phase: Phase::Timeout, ..ack(1, MS * 40, 1, 10, 0.0) };
            controller.on_ack(&timeout, &mut control);
            assert_eq!(controller.window, 1.0);
        } else {
            controller.on_loss(&LOSS, &mut control);
            assert_eq!((controller.window, control.congestion_window), (25.125, 26.0));
        }
        // The transport restores its window first.
        control = before;
        controller.undo();
        controller.on_ack(&AckSample { is_window_used: false, ..ack(1, MS * 40, 1, 10, 0.0) }, &mut control);
        assert_eq!((controller.window, control.congestion_window), (50.25, 51.0));
    }
    // Once only.
    controller.window = 30.0;
    controller.undo();
    assert_eq!(controller.window, 30.0);
}

#[test]
fn marks_that_outnumber_arrivals_do_not_shrink_the_window_by_growth() {
    // n = acked - newly marked: none, or fewer than none.
    let mut controller = prague(PragueConfig::default());
    let mut control = Control::new(10.0, 5.0);
    (controller.window, controller.set_window, controller.round_end) = (10.0, 10.0, u64::MAX);
    controller.reduced = Some((at(0), u64::MAX));
    for (marked, threshold) in [(1.0, 5.0), (3.0, 5.0), (3.0, 100.0)] {
        control.slow_start_threshold = threshold;
        controller.on_ack(&ack(1, MS * 40, 1, 10, marked), &mut control);
        assert_eq!((controller.window, control.congestion_window), (10.0, 10.0));
    }
    // Nor is there growth after a timeout, as long as the data from before it is missing.
    control.slow_start_threshold = 5.0;
    controller.on_ack(&AckSample { phase: Phase::Timeout, ..ack(1, MS * 40, 1, 10, 0.0) }, &mut control);
    assert_eq!(controller.window, 10.0);
    // Each segment adds at least a unit of the fraction.
    (controller.rounds, controller.window) = (500, 9.5);
    controller.on_ack(&ack(1, Span::from_microseconds(10), 1, 10, 0.0), &mut control);
    assert_eq!((controller.window, LEAST_GROWTH), (9.5 + LEAST_GROWTH, libm::exp2(-20.0)));
}

#[test]
fn independence_starts_after_500_rounds_outside_of_slow_start() {
    let mut controller = prague(PragueConfig::default());
    for round in 0..600 {
        // In slow start no round counts.
        let mut control = Control::new(10.0, if round < 100 { 11.0 } else { 10.0 });
        assert_eq!(controller.virtual_round_trip(MS * 10), MS * 10, "{round}");
        let unused = AckSample { is_window_used: false, ..ack(10 * round, MS * 10, 10 * round, 10 * round + 10, 0.0) };
        controller.on_ack(&unused, &mut control);
    }
    assert_eq!((controller.rounds, controller.virtual_round_trip(MS * 10)), (500, MS * 25));
    // A longer round trip than 100 ms counts as it is.
    assert_eq!(controller.growth(MS * 101), 1.0);
}

#[test]
fn without_ecn_it_is_reno_on_every_path() {
    let mut controller = Prague::new(&PragueConfig::default(), &Setup::default());
    controller.rounds = 500;
    assert_eq!((controller.growth(MS), controller.virtual_round_trip(MS)), (1.0, MS));
}

#[test]
fn bursts_take_a_4096th_of_a_second_and_two_segments_or_as_set() {
    for (config, segments) in
        [(PragueConfig::default(), 2), (PragueConfig { least_burst_segments: 1, ..PragueConfig::default() }, 1)]
    {
        let pacing = prague(config).pacing().unwrap();
        assert_eq!((pacing.burst.picoseconds(), pacing.least_segments), (1_000_000_000_000 >> 12, segments));
    }
}

#[test]
fn the_slow_means_have_a_gain_by_the_threshold() {
    // 2^-(1.5 log2(16) + 1) = 2^-7, and half of that for the deviation.
    let control = Control::new(20.0, 16.0);
    let sample = |ms| Delivery { round_trip: Some(MS * ms), ..Delivery::default() };
    let mut queue = ClassicQueue::default();
    queue.sample(Some(&sample(32)), &control);
    // There is no deviation yet (`mdev_pace_us` of 1 us).
    assert_eq!((queue.mean, queue.deviation, queue.shortest), (0.032, 1e-6, 0.032));
    queue.sample(Some(&sample(64)), &control);
    assert!((queue.mean - (0.032 + 0.032 / 128.0)).abs() < 1e-12);
    assert!((queue.deviation - (1e-6 + (0.032 - 1e-6) / 256.0)).abs() < 1e-12);
    queue.sample(Some(&sample(20)), &control);
    queue.sample(Some(&sample(30)), &control);
    assert_eq!(queue.shortest, 0.020);
    // An ACK without a round trip changes nothing.
    let mean = queue.mean;
    queue.sample(Some(&Delivery::default()), &control);
    assert_eq!(queue.mean, mean);
}

#[test]
fn the_fallback_judges_at_updates_of_alpha_and_bounds_the_reduction() {
    let mut controller = prague(PragueConfig { classic_fallback: true, ..PragueConfig::default() });
    assert!(controller.needs().delivery && !prague(PragueConfig::default()).needs().delivery);
    let mut control = Control::new(10.0, 5.0);
    controller.fallback = ClassicQueue { score: 7.5, mean: 0.022, deviation: 3e-3, shortest: 0.020 };
    controller.alpha = 0.0;
    // No update before the first mark.
    controller.on_ack(&ack(50, MS * 40, 10, 20, 0.0), &mut control);
    assert_eq!(controller.alpha, 0.0);
    // The delay is neutral, and the deviation adds log2(4) / 2: alpha counts as 0.625 * 0.5, unless it is larger.
    controller.has_seen_mark = true;
    controller.on_ack(&ack(100, MS * 40, 20, 30, 0.0), &mut control);
    assert_eq!((controller.fallback.score, controller.alpha), (8.5, 0.0));
    for (alpha, used) in [(0.0, 0.3125), (0.8, 0.8)] {
        (controller.alpha, controller.reduced, controller.window) = (alpha, None, 100.0);
        controller.answer_marks(&ack(101, MS * 40, 21, 40, 1.0), MS * 40, &mut control);
        assert_eq!((controller.window, controller.alpha), (100.0 * (1.0 - used / 2.0), alpha));
    }
    // Each round trip counts, with the option alone.
    let delivery = Delivery { round_trip: Some(MS * 30), ..Delivery::default() };
    for (classic_fallback, mean) in [(true, 0.030), (false, 0.0)] {
        let mut controller = prague(PragueConfig { classic_fallback, ..PragueConfig::default() });
        let timed = AckSample { delivery: Some(&delivery), ..ack(1, MS * 40, 1, 10, 0.0) };
        controller.on_ack(&timed, &mut control);
        assert_eq!(controller.fallback.mean, mean);
    }
}

#[test]
fn a_window_of_less_than_a_segment_comes_up_to_the_floor() {
    let mut controller = prague(PragueConfig::default());
    let mut control = Control::new(0.5, 5.0);
    let timeout = AckSample { phase: Phase::Timeout, ..ack(1, MS * 40, 1, 10, 0.0) };
    controller.on_ack(&timeout, &mut control);
    assert_eq!(control.congestion_window, 2.0);
    // There it stays, and from there it follows its fraction.
    for (window, set) in [(1.2, 2.0), (5.0, 0.5)] {
        (controller.window, controller.set_window, control.congestion_window) = (window, set, set);
        controller.on_ack(&timeout, &mut control);
        assert_eq!(control.congestion_window, 2.0);
    }
}

#[test]
fn a_mark_does_not_put_a_lagging_window_into_slow_start() {
    // The window moves by at most a segment an ACK, here from 4 towards 30.
    let mut controller = prague(PragueConfig::default());
    let mut control = Control::new(4.0, 2.0);
    (controller.window, controller.set_window, controller.alpha, controller.round_end) = (40.0, 4.0, 0.5, u64::MAX);
    controller.on_ack(&ack(100, MS * 40, 10, 1000, 1.0), &mut control);
    assert_eq!((controller.window, control.congestion_window, control.slow_start_threshold), (30.0, 5.0, 4.0));
}
