//! Tests of LEDBAT++, by the sections of its draft.

use super::*;
use crate::{Phase, RoundTrips};

const fn ms(ms: u64) -> Span {
    Span::from_milliseconds(ms)
}

/// A sender of segments of one byte on a path of 60 ms: the gain is 1/2.
struct Flow {
    ledbat: Ledbat,
    control: Control,
    acknowledged: u64,
    now: Time,
    /// Whether ACKs echo a mark.
    echoes_mark: bool,
}

impl Flow {
    fn new(window: f64, threshold: f64) -> Self {
        let mut ledbat = Ledbat::new(LedbatConfig::default(), Reduction::new(&Setup::default()));
        ledbat.delays.note(ms(60), Time::ZERO);
        ledbat.delays.recent = [Span::MAX; FILTERED_SAMPLES];
        Self { ledbat, control: Control::new(window, threshold), acknowledged: 0, now: Time::ZERO, echoes_mark: false }
    }

    /// One of 10 ACKs of a round trip, after this time and with this queueing delay.
    fn ack(&mut self, after: Span, queueing: Span, is_window_used: bool) -> f64 {
        self.acknowledged += 1;
        self.now += after;
        let latest = Some(ms(60) + queueing);
        let ack = AckSample {
            now: self.now,
            acked_segments: 1.0,
            delivered_segments: 1.0,
            acknowledged: self.acknowledged,
            next: self.acknowledged + 9,
            is_window_used,
            echoes_mark: self.echoes_mark,
            marked_segments: 0.0,
            phase: Phase::Open,
            round_trips: RoundTrips { latest, smoothed: Some(ms(60)), ..RoundTrips::default() },
            delivery: None,
        };
        self.ledbat.on_ack(&ack, &mut self.control);
        self.control.congestion_window
    }

    fn congestion(&self) -> CongestionSample {
        CongestionSample {
            now: self.now,
            used_segments: self.control.congestion_window,
            acknowledged: self.acknowledged,
            next: self.acknowledged + 9,
            keeps_threshold: false,
        }
    }
}

#[test]
fn the_gain_grows_with_the_base_delay() {
    // 4.2.
    let flow = Flow::new(2.0, 2.0);
    let cases = [(1000, 16.0), (7500, 16.0), (8000, 15.0), (20_000, 6.0), (60_000, 2.0), (200_000, 1.0)];
    for (base_us, divisor) in cases {
        assert_eq!(flow.ledbat.gain(Span::from_microseconds(base_us)), 1.0 / divisor, "{base_us} us");
    }
    assert_eq!((flow.ledbat.gain(Span::ZERO), flow.ledbat.gain(Span::MAX)), (1.0 / 16.0, 1.0 / 16.0));
}

#[test]
fn the_window_shrinks_by_the_excess_and_at_most_by_half() {
    // 4.3: max(gain - W (delay / target - 1), -W / 2).
    let flow = Flow::new(2.0, 2.0);
    for (delay, change) in [(0, 1.0 / 6.0), (60, 1.0 / 6.0), (66, 1.0 / 6.0 - 10.0), (600, -50.0)] {
        let measured = flow.ledbat.change(100.0, 1.0 / 6.0, ms(delay));
        assert!((measured - change).abs() < 1e-9, "{delay} ms: {measured}");
    }
}

#[test]
fn the_window_changes_once_a_round_trip() {
    let mut flow = Flow::new(100.0, 2.0);
    flow.ledbat.config.slowdowns = false;
    for _ in 0..10 {
        assert_eq!(flow.ack(ms(6), ms(0), true), 100.5);
    }
    assert_eq!(flow.ack(ms(6), ms(0), true), 101.0);
    assert_eq!(flow.control.slow_start_threshold, 2.0, "a lower threshold stays");
    for _ in 0..4 {
        flow.ack(ms(6), ms(66), true);
    }
    assert_eq!(flow.control.congestion_window, 101.0);
    for _ in 0..6 {
        flow.ack(ms(6), ms(66), true);
    }
    let expected = 101.0 + 0.5 - 101.0 * 0.1;
    assert!((flow.control.congestion_window - expected).abs() < 1e-9);
    // The window shrinks without slow start after it, and not below two segments.
    flow.control = Control::new(3.0, 3.0);
    flow.ledbat.round_end = 0;
    assert!((flow.ack(ms(6), ms(600), true) - (3.0 + 0.5 - 3.0 * 0.1)).abs() < 1e-9);
    flow.ledbat.delays.recent = [ms(660); FILTERED_SAMPLES];
    flow.ledbat.round_end = 0;
    assert_eq!(flow.ack(ms(6), ms(600), true), 2.0);
    assert_eq!(flow.control.slow_start_threshold, 2.0);
}

#[test]
fn slow_start_ends_beyond_three_quarters_of_the_target() {
    // 4.1: the gain scales the growth; 45 ms is three quarters of the target.
    let mut flow = Flow::new(2.0, f64::INFINITY);
    assert_eq!(flow.ledbat.initial_window(10.0), 2.0);
    assert_eq!(flow.ledbat.initial_window(1.0), 1.0);
    assert_eq!(flow.ack(ms(6), ms(45), true), 2.5);
    flow.ledbat.delays.recent = [Span::MAX; FILTERED_SAMPLES];
    assert_eq!(flow.ack(ms(6), ms(46), true), 2.5);
    assert_eq!(flow.control.slow_start_threshold, 2.5);
    let slowdown_at = flow.now + ms(120);
    assert_eq!(flow.ledbat.stage, Stage::Running { slowdown_at });
    // The threshold is two segments at least. Each acknowledged segment counts, but none with an echo of a mark.
    let mut flow = Flow::new(1.0, f64::INFINITY);
    assert_eq!(flow.ack(ms(6), ms(46), true), 1.0);
    assert_eq!(flow.control.slow_start_threshold, 2.0);
    let mut flow = Flow::new(2.0, f64::INFINITY);
    flow.ledbat.delays.recent = [ms(60); FILTERED_SAMPLES];
    flow.ledbat.slow_start(4.0, &mut flow.control);
    assert_eq!(flow.control.congestion_window, 4.0);
    flow.echoes_mark = true;
    assert_eq!(flow.ack(ms(6), ms(0), true), 4.0);
    // It also ends at the threshold.
    let mut flow = Flow::new(10.0, 10.2);
    assert_eq!(flow.ack(ms(6), ms(0), true), 10.2);
    assert!(matches!(flow.ledbat.stage, Stage::Running { .. }));
}

#[test]
fn slowdowns_take_a_tenth_of_the_time() {
    // 4.4: the first slowdown comes two round trips after slow start.
    let mut flow = Flow::new(4.0, 4.0);
    assert_eq!(flow.ack(ms(0), ms(0), true), 4.5);
    assert_eq!(flow.ack(ms(119), ms(0), true), 4.5);
    assert_eq!(flow.ack(ms(1), ms(0), true), 2.0);
    assert_eq!(flow.control.slow_start_threshold, 4.5);
    // Two segments for two round trips, then slow start. The delay does not end this one.
    assert_eq!(flow.ack(ms(119), ms(0), true), 2.0);
    flow.ledbat.delays.recent = [ms(600); FILTERED_SAMPLES];
    assert_eq!(flow.ack(ms(1), ms(540), true), 2.5);
    for window in [3.0, 3.5, 4.0, 4.5] {
        assert_eq!(flow.ack(ms(10), ms(540), true), window);
    }
    // The slowdown has lasted 160 ms. The next one comes after nine times that.
    let slowdown_at = flow.now + ms(9 * 160);
    assert_eq!(flow.ledbat.stage, Stage::Running { slowdown_at });
    flow.ledbat.delays.recent = [ms(60); FILTERED_SAMPLES];
    flow.ack(ms(9 * 160 - 1), ms(0), true);
    assert_eq!(flow.ledbat.stage, Stage::Running { slowdown_at });
    assert_eq!(flow.ack(ms(1), ms(0), true), 2.0);
}

#[test]
fn a_slowdown_does_not_enlarge_the_window() {
    // 4.4, after a timeout.
    let mut flow = Flow::new(1.0, 50.0);
    flow.ledbat.stage = Stage::Running { slowdown_at: Time::ZERO };
    assert_eq!(flow.ack(ms(0), ms(0), true), 1.5);
    assert_eq!(flow.control.slow_start_threshold, 2.0);
    assert!(matches!(flow.ledbat.stage, Stage::Frozen { .. }));
}

#[test]
fn no_slowdown_begins_while_the_window_is_unused_or_without_them() {
    let mut flow = Flow::new(4.0, 4.0);
    flow.ack(ms(0), ms(0), true);
    assert_eq!(flow.ack(ms(500), ms(0), false), 4.5);
    assert_eq!(flow.ack(ms(0), ms(0), true), 2.0);
    let mut flow = Flow::new(4.0, 4.0);
    flow.ledbat.config.slowdowns = false;
    flow.ack(ms(0), ms(0), true);
    assert_eq!(flow.ack(ms(500), ms(0), true), 4.5);
    assert_eq!(flow.ledbat.stage, Stage::Running { slowdown_at: Time::NEVER });
}

#[test]
fn the_way_back_ends_at_the_window_before_even_without_a_threshold() {
    let mut flow = Flow::new(4.0, f64::INFINITY);
    flow.ledbat.stage = Stage::Rising { since: Time::ZERO, window_before: 4.5 };
    assert_eq!(flow.ack(ms(10), ms(0), true), 4.5);
    assert_eq!(flow.control.slow_start_threshold, 4.5);
    assert_eq!(flow.ledbat.stage, Stage::Running { slowdown_at: Time::ZERO + ms(100) });
    // It ends at the threshold, too, which a loss has lowered.
    let mut flow = Flow::new(4.0, 4.2);
    flow.ledbat.stage = Stage::Rising { since: Time::ZERO, window_before: 10.0 };
    assert_eq!(flow.ack(ms(10), ms(0), true), 4.2);
    assert!(matches!(flow.ledbat.stage, Stage::Running { .. }));
}

#[test]
fn a_loss_halves_the_window() {
    let mut flow = Flow::new(21.0, f64::INFINITY);
    let congestion = flow.congestion();
    flow.ledbat.on_loss(&congestion, &mut flow.control);
    assert_eq!(flow.control, Control::new(10.5, 10.0));
    flow.control = Control::new(21.0, f64::INFINITY);
    flow.ledbat.on_ecn(&congestion, &mut flow.control);
    assert_eq!(flow.control, Control::new(10.5, 10.0));
    for (keeps_threshold, threshold) in [(false, 10.0), (true, 15.0)] {
        flow.control = Control::new(21.0, 15.0);
        flow.ledbat.on_timeout(&CongestionSample { keeps_threshold, ..congestion }, &mut flow.control);
        assert_eq!(flow.control, Control::new(1.0, threshold));
    }
}

#[test]
fn delays_are_the_least_of_ten_minutes_and_of_four_samples() {
    // RFC 6817, 4.2.
    let mut delays = Delays::new();
    assert_eq!(delays.queueing(), Span::ZERO);
    for (minute, delay) in [(0, 50), (0, 90), (1, 70), (2, 80)] {
        delays.note(ms(delay), Time::ZERO + MINUTE * minute);
    }
    assert_eq!((delays.base(), delays.queueing()), (ms(50), ms(0)));
    delays.note(ms(85), Time::ZERO + MINUTE * 2);
    assert_eq!(delays.queueing(), ms(20));
    for minute in 3..10 {
        delays.note(ms(85), Time::ZERO + MINUTE * minute);
    }
    assert_eq!(delays.base(), ms(50));
    delays.note(ms(85), Time::ZERO + MINUTE * 10);
    assert_eq!((delays.base(), delays.queueing()), (ms(70), ms(15)));
}

#[test]
fn the_target_has_bounds() {
    for (target, is_valid) in [(ms(0), false), (ms(1), true), (ms(10_000), true), (ms(10_001), false)] {
        assert_eq!(LedbatConfig { target, ..LedbatConfig::default() }.validate().is_ok(), is_valid);
    }
}
