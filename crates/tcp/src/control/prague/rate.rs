//! The form with a rate: the rules of the L4S team's reference for UDP.
//!
//! The virtual round trip is at least `target_rtt`. Once in it, alpha follows the share of marks, and a mark may reduce
//! rate and window by half of alpha. An ACK without marks adds its share of a growth in a virtual round trip. That is a
//! segment at first, and later what fills a queue of 1 ms.

use super::{LEAST_WINDOW, PragueConfig};
use crate::control::setup::Setup;
use crate::{AckSample, CongestionSample, Control, Controller, EcnNeed, Needs, Pacing, Phase, Rate, Span, Time};

/// Weight of a virtual round trip in alpha.
const GAIN: f64 = 1.0 / 16.0;
/// Up to this round trip the rate is the state variable.
const SHORT_ROUND_TRIP_S: f64 = 2e-3;
/// The least rate, in bytes per second.
const LEAST_RATE: f64 = 12_500.0;
/// No rate is higher, in bytes per second.
const MOST_RATE: f64 = 1.25e14;
/// The fast growth fills a queue of this duration in a virtual round trip.
const QUEUE_GROWTH_S: f64 = 1e-3;
/// Virtual round trips before fast growth, after a mark: seven, and one for each of these bytes per second.
const RATE_STEP: f64 = 1.92e6;
const LEAST_WAIT: f64 = 7.0;
/// The window of the transport: the one of the rate and 3 %, and a segment.
const WINDOW_FACTOR: f64 = 1.03;
const BURST: Pacing = Pacing { burst: Span::from_microseconds(250), least_segments: 1 };

/// The part of the state that a loss changes.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Bytes per second.
    rate: f64,
    /// The window in bytes, with its fraction: that rate in a round trip.
    window: f64,
    /// Virtual round trips before the fast growth (`rtts_to_growth`).
    wait: f64,
    /// The window that was set last, in segments.
    set_window: f64,
    /// The window rises to the one of the rate, after a timeout or an idle time.
    is_rising: bool,
}

#[derive(Debug)]
pub(super) struct RatePrague {
    target_rtt: Span,
    segment_bytes: f64,
    /// The average share of marked segments.
    alpha: f64,
    /// `None` before the first round trip.
    state: Option<State>,
    /// The state before the last answer to a loss.
    before_loss: Option<State>,
    /// Segments since the last update of alpha, and those of them with a mark.
    delivered: f64,
    marked: f64,
    /// The time of the last update of alpha, and the number whose ACK ends its window.
    updated: (Time, u64),
    /// The time of the last reduction for a mark, and the number whose ACK ends its window.
    reduced: Option<(Time, u64)>,
}

/// The smoothed round trip, and the virtual one.
#[derive(Clone, Copy, Debug)]
struct Trip {
    smoothed_s: f64,
    virtual_s: f64,
    virtual_span: Span,
}

impl RatePrague {
    pub fn new(config: &PragueConfig, setup: &Setup) -> Self {
        Self {
            target_rtt: config.target_rtt,
            segment_bytes: f64::from(setup.payload_bytes),
            alpha: 0.0,
            state: None,
            before_loss: None,
            delivered: 0.0,
            marked: 0.0,
            updated: (Time::ZERO, 0),
            reduced: None,
        }
    }

    /// The round trip, if there is one. The virtual one is the longer of it and the target.
    fn trip(&self, ack: &AckSample<'_>) -> Option<Trip> {
        let smoothed = ack.round_trips.smoothed.filter(|&span| span > Span::ZERO)?;
        let virtual_span = smoothed.max(self.target_rtt);
        Some(Trip { smoothed_s: smoothed.seconds(), virtual_s: virtual_span.seconds(), virtual_span })
    }

    /// The state before this ACK. It starts with the transport's window, and follows that where the transport has
    /// reduced it.
    fn state_at(&self, trip: Trip, control: &Control) -> State {
        let own_window = ((control.congestion_window - 1.0) / WINDOW_FACTOR).max(0.0) * self.segment_bytes;
        let Some(mut state) = self.state else {
            let rate = (own_window / trip.smoothed_s).clamp(LEAST_RATE, MOST_RATE);
            let wait = wait_after_mark(rate);
            let set_window = control.congestion_window;
            return State { rate, window: rate * trip.smoothed_s, wait, set_window, is_rising: false };
        };
        if control.congestion_window < state.set_window && !state.is_rising && own_window < state.window {
            state.rate = (state.rate * own_window / state.window).max(LEAST_RATE);
            state.window = own_window;
        }
        state
    }

    /// Whether the rate is the state variable: the round trip is very short, or no longer than a segment takes.
    fn is_by_rate(&self, state: &State, trip: Trip) -> bool {
        trip.smoothed_s <= SHORT_ROUND_TRIP_S || trip.smoothed_s <= self.segment_bytes / state.rate
    }

    /// Once a window and a virtual round trip have passed.
    fn update_alpha(&mut self, ack: &AckSample<'_>, trip: Trip, state: &mut State) {
        let (at, end) = self.updated;
        if ack.acknowledged < end || ack.now.since(at) < trip.virtual_span {
            return;
        }
        self.updated = (ack.now, ack.next);
        if self.delivered > 0.0 {
            let share = (self.marked / self.delivered).min(1.0);
            self.alpha = (self.alpha + (share - self.alpha) * GAIN).clamp(0.0, 1.0);
        }
        state.wait = (state.wait - 1.0).max(0.0);
        (self.delivered, self.marked) = (0.0, 0.0);
    }

    /// Growth in a virtual round trip, in bytes: a segment, or after the wait the queue of 1 ms.
    fn growth(&self, state: &State) -> f64 {
        if state.wait > 0.0 { self.segment_bytes } else { self.segment_bytes.max(state.rate * QUEUE_GROWTH_S) }
    }

    /// All segments without marks let window or rate grow. The window grows by the square of the share of the virtual
    /// round trip that the real one has: fewer segments arrive in it, and each brings less.
    fn grow(&self, ack: &AckSample<'_>, trip: Trip, is_by_rate: bool, state: &mut State) {
        let unmarked = ack.acked_segments - ack.marked_segments;
        let sent = ack.delivery.and_then(|delivery| delivery.segment);
        if unmarked <= 0.0 || sent.is_some_and(|segment| segment.is_application_limited) {
            return;
        }
        let virtual_window = (state.rate * trip.virtual_s).max(self.segment_bytes);
        let added = unmarked * self.segment_bytes * self.growth(state) / virtual_window;
        if is_by_rate {
            state.rate += added / trip.virtual_s;
        } else {
            state.window += added * trip.smoothed_s / trip.virtual_s;
        }
    }

    /// A mark reduces by half of alpha, once in a virtual round trip.
    fn answer_marks(&mut self, ack: &AckSample<'_>, trip: Trip, state: &mut State) {
        if ack.marked_segments <= 0.0 {
            return;
        }
        state.wait = wait_after_mark(state.rate);
        let is_due =
            self.reduced.is_none_or(|(at, end)| ack.acknowledged > end && ack.now.since(at) >= trip.virtual_span);
        if is_due {
            self.reduced = Some((ack.now, ack.next));
            state.window -= state.window * self.alpha / 2.0;
            state.rate -= state.rate * self.alpha / 2.0;
        }
    }

    /// Derives the rate from the window, or the window from the rate, and bounds them.
    fn balance(trip: Trip, is_by_rate: bool, state: &mut State) {
        if !is_by_rate {
            state.rate = state.window / trip.smoothed_s;
        }
        state.rate = state.rate.clamp(LEAST_RATE, MOST_RATE);
        state.window = state.rate * trip.smoothed_s;
    }

    /// The window of the transport, in segments.
    fn allowed(&self, state: &State) -> f64 {
        (state.window / self.segment_bytes * WINDOW_FACTOR + 1.0).max(LEAST_WINDOW)
    }

    fn set_window(&self, acked_segments: f64, state: &mut State, control: &mut Control) {
        let allowed = self.allowed(state);
        let risen = (control.congestion_window + acked_segments.max(0.0)).max(LEAST_WINDOW);
        state.is_rising &= risen < allowed;
        control.congestion_window = if state.is_rising { risen } else { allowed };
        state.set_window = control.congestion_window;
    }

    /// Half of window and rate. Fast growth waits as long as single segments take to make up for it.
    fn halve(&self, state: &mut State) {
        let target = self.target_rtt.seconds();
        let longer = (state.window / state.rate).max(target);
        state.wait = libm::floor(state.rate / 2.0 / self.segment_bytes * target * target / longer);
        state.window /= 2.0;
        state.rate = (state.rate / 2.0).max(LEAST_RATE);
    }
}

/// The wait for the fast growth after a mark, and at first.
fn wait_after_mark(rate: f64) -> f64 {
    libm::floor(rate / RATE_STEP) + LEAST_WAIT
}

/// The pacing rate of so many bytes per second.
fn pacing_rate(rate: f64) -> Option<Rate> {
    Rate::new((rate * 8.0) as u64)
}

impl Controller for RatePrague {
    fn needs(&self) -> Needs {
        Needs {
            round_trip_estimate: true,
            delivery: true,
            marks: true,
            answers_marks: true,
            owns_slow_start: true,
            ecn: EcnNeed::L4s,
            ..Needs::default()
        }
    }

    fn pacing(&self) -> Option<Pacing> {
        Some(BURST)
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, control: &mut Control) {
        self.delivered += ack.delivered_segments;
        self.marked += ack.marked_segments;
        let Some(trip) = self.trip(ack) else { return };
        let mut state = self.state_at(trip, control);
        let is_by_rate = self.is_by_rate(&state, trip);
        self.update_alpha(ack, trip, &mut state);
        if ack.phase == Phase::Open {
            self.grow(ack, trip, is_by_rate, &mut state);
            self.answer_marks(ack, trip, &mut state);
        }
        Self::balance(trip, is_by_rate, &mut state);
        if ack.phase != Phase::Recovery {
            self.set_window(ack.acked_segments, &mut state, control);
            // There is no slow start.
            control.slow_start_threshold = LEAST_WINDOW;
        }
        control.pacing_rate = pacing_rate(state.rate);
        self.state = Some(state);
    }

    fn on_loss(&mut self, _congestion: &CongestionSample, control: &mut Control) {
        self.before_loss = self.state;
        let mut window = (control.congestion_window / 2.0).max(LEAST_WINDOW);
        if let Some(mut state) = self.state {
            self.halve(&mut state);
            window = self.allowed(&state);
            state.set_window = window.min(control.congestion_window);
            control.pacing_rate = pacing_rate(state.rate);
            self.state = Some(state);
        }
        control.congestion_window = window.min(control.congestion_window);
        control.slow_start_threshold = control.congestion_window.max(LEAST_WINDOW);
    }

    /// The answer to a mark comes in `on_ack`.
    fn on_ecn(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    /// A timeout is a loss, after which the window rises from one segment.
    fn on_timeout(&mut self, congestion: &CongestionSample, control: &mut Control) {
        if !congestion.keeps_threshold {
            self.on_loss(congestion, control);
        }
        self.restart();
        control.congestion_window = 1.0;
    }

    fn undo(&mut self) {
        if let (Some(before), Some(state)) = (self.before_loss.take(), &mut self.state) {
            state.rate = state.rate.max(before.rate);
            state.window = state.window.max(before.window);
            state.wait = state.wait.min(before.wait);
            state.set_window = state.set_window.max(before.set_window);
            state.is_rising = before.is_rising;
        }
    }

    fn restart(&mut self) {
        if let Some(state) = &mut self.state {
            state.is_rising = true;
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("alpha", self.alpha);
    }
}

#[cfg(test)]
#[path = "rate_tests.rs"]
mod tests;
