//! LEDBAT++: a background transfer that gives way to everything else.
//!
//! # What it does
//! The sender keeps the delay that its data adds to the path near a target of 60 ms. Below it, the window grows slower
//! than Reno's; above it, the window shrinks in proportion to the excess. In slowdowns, the window is two segments for
//! two round trips: the queue drains, and each flow measures the path without it. Slowdowns take at most a tenth of the
//! time.
//!
//! # When to use it
//! Use it for updates and backups that must not disturb other traffic, as Windows does. A shared queue shorter than the
//! target overflows first; then it takes up to Reno's share.
//!
//! # Example
//! ```toml
//! transport.tcp = { congestion_control = "ledbat", sack = true }
//! ```
//!
//! # Source
//! draft-irtf-iccrg-ledbat-plus-plus, section 4: slow start (4.1), gain (4.2), decrease (4.3), slowdowns (4.4), round
//! trips instead of one-way delays (4.5). RFC 6817 for the history of the base delay and the filter.
//!
//! # Where we differ
//! The window changes once a round trip. The draft limits the check of the delay to the initial slow start. Here it
//! applies to every one but that of a slowdown, because a timeout or an idle time may leave a threshold beyond the
//! path. No slowdown begins while the window is unused. A timeout leaves one segment. `slow_start` has no effect.
//!
//! # Parameters
//! `transport.tcp.congestion_control`: `"ledbat"`, or a table `ledbat` with these.

use alloc::boxed::Box;

use crate::control::loss_based::Reduction;
use crate::control::setup::Setup;
use crate::{
    AckSample, CongestionSample, CongestionSignal, Control, Controller, Needs, ParameterError, Span, Time, require,
};

/// Windows at the start, during slowdowns and at least (4.1, 4.4; RFC 6817's `MIN_CWND`).
const LEAST_WINDOW: f64 = 2.0;

/// The greatest divisor of the gain (4.2).
const GREATEST_DIVISOR: u64 = 16;

/// Round trips from slow start to the first slowdown, and with the least window (4.4).
const SLOWDOWN_ROUND_TRIPS: u64 = 2;

/// The time between two slowdowns, in durations of the first (4.4).
const SLOWDOWN_DISTANCE: u64 = 9;

/// RFC 6817, 4.2: the base delay is the least of the last ten minutes.
const MINUTES: usize = 10;
const MINUTE: Span = Span::from_seconds(60);

/// RFC 6817, 4.2 (`CURRENT_FILTER`): the current delay is the least of the last samples.
const FILTERED_SAMPLES: usize = 4;

forebay_units::configuration! {
    /// The parameters of LEDBAT++.
    #[derive(Copy)]
    pub struct LedbatConfig {
        /// Target of the queueing delay (4.5: 60 ms). Above 0 s, at most 10 s.
        pub target: Span = Span::from_milliseconds(60);
        /// Whether the sender slows down periodically to measure the path without its own queue (4.4).
        pub slowdowns: bool = true;
    }
}

impl LedbatConfig {
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        let is_valid = self.target > Span::ZERO && self.target <= Span::from_seconds(10);
        require(is_valid, "congestion_control.ledbat.target", "be longer than 0 s, at most 10 s")
    }
}

pub(crate) fn build(config: &LedbatConfig, setup: &Setup) -> Box<dyn Controller> {
    Box::new(Ledbat::new(*config, Reduction::new(setup)))
}

/// The measured delays (RFC 6817, 4.2).
#[derive(Clone, Debug)]
struct Delays {
    /// The least of each of the last minutes, the running one first.
    minutes: [Span; MINUTES],
    minute_end: Time,
    /// The last samples, the latest first.
    recent: [Span; FILTERED_SAMPLES],
}

impl Delays {
    fn new() -> Self {
        Self { minutes: [Span::MAX; MINUTES], minute_end: Time::ZERO, recent: [Span::MAX; FILTERED_SAMPLES] }
    }

    fn note(&mut self, sample: Span, now: Time) {
        if now >= self.minute_end {
            self.minutes.rotate_right(1);
            self.minutes[0] = Span::MAX;
            self.minute_end = now.saturating_add(MINUTE);
        }
        self.minutes[0] = self.minutes[0].min(sample);
        self.recent.rotate_right(1);
        self.recent[0] = sample;
    }

    /// The round trip without queues; [`Span::MAX`] before the first sample.
    fn base(&self) -> Span {
        self.minutes.into_iter().min().unwrap_or(Span::MAX)
    }

    fn queueing(&self) -> Span {
        self.recent.into_iter().min().unwrap_or(Span::MAX).saturating_sub(self.base())
    }
}

/// The course of the slowdowns (4.4).
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// Slow start at the beginning of the connection.
    Initial,
    /// The next slowdown begins at this time.
    Running { slowdown_at: Time },
    /// The window is two segments.
    Frozen { since: Time, until: Time, window_before: f64 },
    /// Slow start leads back to the window before.
    Rising { since: Time, window_before: f64 },
}

#[derive(Clone, Debug)]
struct Ledbat {
    config: LedbatConfig,
    reduction: Reduction,
    delays: Delays,
    stage: Stage,
    /// The round trip ends when more than this is acknowledged.
    round_end: u64,
}

impl Ledbat {
    fn new(config: LedbatConfig, reduction: Reduction) -> Self {
        Self { config, reduction, delays: Delays::new(), stage: Stage::Initial, round_end: 0 }
    }

    /// 4.2: 1 / min(16, ceil(2 target / base)), with the greatest divisor before the first sample.
    fn gain(&self, base: Span) -> f64 {
        let divisor = match base {
            Span::ZERO | Span::MAX => GREATEST_DIVISOR,
            base => (2 * self.config.target.picoseconds()).div_ceil(base.picoseconds()).clamp(1, GREATEST_DIVISOR),
        };
        1.0 / divisor as f64
    }

    /// 4.3: the change of the window in a round trip.
    fn change(&self, window: f64, gain: f64, queueing: Span) -> f64 {
        if queueing <= self.config.target {
            return gain;
        }
        let excess = queueing.seconds() / self.config.target.seconds() - 1.0;
        (gain - window * excess).max(-window / 2.0)
    }

    /// 4.1. Ends at the threshold.
    fn slow_start(&mut self, acked_segments: f64, control: &mut Control) {
        let is_rising = matches!(self.stage, Stage::Rising { .. });
        let limit = self.config.target.picoseconds() / 4 * 3;
        if !is_rising && self.delays.queueing().picoseconds() > limit {
            control.slow_start_threshold = control.congestion_window.max(LEAST_WINDOW);
        } else {
            let grown = control.congestion_window + self.gain(self.delays.base()) * acked_segments;
            control.congestion_window = grown.min(control.slow_start_threshold);
        }
    }

    /// 4.2 and 4.3. The threshold never exceeds the window, or slow start would follow.
    fn avoid_congestion(&self, control: &mut Control) {
        let change = self.change(control.congestion_window, self.gain(self.delays.base()), self.delays.queueing());
        control.congestion_window = (control.congestion_window + change).max(LEAST_WINDOW);
        control.slow_start_threshold = control.slow_start_threshold.min(control.congestion_window);
    }

    /// 4.4: the stage at this time, after the window has changed.
    fn advance(&mut self, round_trip: Span, now: Time, control: &mut Control) {
        let later = |span: Span, factor: u64| {
            now.saturating_add(Span::from_picoseconds(span.picoseconds().saturating_mul(factor)))
        };
        let in_two_round_trips = later(round_trip, SLOWDOWN_ROUND_TRIPS);
        let is_in_slow_start = control.congestion_window < control.slow_start_threshold;
        match self.stage {
            Stage::Initial if !is_in_slow_start => {
                let slowdown_at = if self.config.slowdowns { in_two_round_trips } else { Time::NEVER };
                self.stage = Stage::Running { slowdown_at };
            }
            Stage::Running { slowdown_at } if now >= slowdown_at => {
                let window_before = control.congestion_window;
                control.slow_start_threshold = window_before.max(LEAST_WINDOW);
                control.congestion_window = window_before.min(LEAST_WINDOW);
                self.stage = Stage::Frozen { since: now, until: in_two_round_trips, window_before };
            }
            Stage::Rising { since, window_before }
                if !is_in_slow_start || control.congestion_window >= window_before =>
            {
                control.slow_start_threshold =
                    control.slow_start_threshold.min(control.congestion_window.max(LEAST_WINDOW));
                self.stage = Stage::Running { slowdown_at: later(now.since(since), SLOWDOWN_DISTANCE) };
            }
            _ => {}
        }
    }
}

impl Controller for Ledbat {
    fn needs(&self) -> Needs {
        Needs {
            latest_round_trip: true,
            every_round_trip: true,
            round_trip_estimate: true,
            owns_slow_start: true,
            ..Needs::default()
        }
    }

    /// 4.1.
    fn initial_window(&self, configured: f64) -> f64 {
        configured.min(LEAST_WINDOW)
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, control: &mut Control) {
        if let Some(sample) = ack.round_trips.latest {
            self.delays.note(sample, ack.now);
        }
        let is_round_over = ack.acknowledged > self.round_end;
        if is_round_over {
            self.round_end = ack.next;
        }
        if let Stage::Frozen { since, until, window_before } = self.stage {
            if ack.now < until {
                return;
            }
            self.stage = Stage::Rising { since, window_before };
        }
        if !ack.is_window_used || ack.echoes_mark {
            return;
        }
        if control.congestion_window < control.slow_start_threshold {
            self.slow_start(ack.acked_segments, control);
        } else if is_round_over {
            self.avoid_congestion(control);
        }
        self.advance(ack.round_trips.smoothed.unwrap_or_default(), ack.now, control);
    }

    fn on_loss(&mut self, congestion: &CongestionSample, control: &mut Control) {
        self.reduction.halve(congestion, CongestionSignal::Loss, control);
    }

    fn on_ecn(&mut self, congestion: &CongestionSample, control: &mut Control) {
        self.reduction.halve(congestion, CongestionSignal::EcnEcho, control);
    }

    fn on_timeout(&mut self, congestion: &CongestionSample, control: &mut Control) {
        self.reduction.halve(congestion, CongestionSignal::Timeout, control);
    }

    fn state(&self) -> Option<&'static str> {
        matches!(self.stage, Stage::Frozen { .. } | Stage::Rising { .. }).then_some("slowdown")
    }
}

#[cfg(test)]
#[path = "ledbat_tests.rs"]
mod tests;
