//! The form with a window: the rules of the L4S team's module for Linux.

use super::classic_queue::ClassicQueue;
use super::{LEAST_WINDOW, LONGEST_INDEPENDENT, PragueConfig, RttIndependence};
use crate::control::setup::Setup;
use crate::{AckSample, CongestionSample, Control, Controller, EcnNeed, Needs, Pacing, Phase, Rate, Span, Time};

/// Weight of a round in alpha (`prague_shift_g`).
const GAIN: f64 = 1.0 / 16.0;
/// The least growth for a segment (one unit of the fraction).
const LEAST_GROWTH: f64 = 1.0 / (1 << 20) as f64;
/// Mode "scalable": a round trip of this length grows by a segment and an eighth (R0), and the part that does not count
/// (R1).
const SCALABLE_UNIT_S: f64 = 0.016;
const SCALABLE_OFFSET_S: f64 = 0.0015;
/// Bursts last up to 2^-12 s (`prague_tso_segs`).
const BURST: Span = Span::from_picoseconds(244_140_625);

#[derive(Debug)]
pub(super) struct Prague {
    config: PragueConfig,
    /// Bytes of a full packet, with its headers.
    packet_bytes: f64,
    /// The average share of marked segments.
    alpha: f64,
    has_seen_mark: bool,
    /// The window with its fraction, and the window that was set last.
    window: f64,
    set_window: f64,
    /// Segments since the last update of alpha, and those of them with a mark.
    delivered: f64,
    marked: f64,
    updated_at: Time,
    /// The round ends when this is acknowledged.
    round_end: u64,
    /// Rounds outside of slow start.
    rounds: u32,
    /// The time of the last reduction for a mark, and the number whose ACK ends its round trip.
    reduced: Option<(Time, u64)>,
    /// The window with its fraction, and the window that was set last, before the last answer to a loss.
    before_loss: Option<(f64, f64)>,
    fallback: ClassicQueue,
}

impl Prague {
    pub fn new(config: &PragueConfig, setup: &Setup) -> Self {
        let mut config = *config;
        if !setup.ecn {
            config.rtt_independence = RttIndependence::None;
        }
        Self {
            config,
            packet_bytes: f64::from(setup.payload_bytes) + setup.header_bytes as f64,
            alpha: 1.0,
            has_seen_mark: false,
            window: 0.0,
            set_window: 0.0,
            delivered: 0.0,
            marked: 0.0,
            updated_at: Time::ZERO,
            round_end: 0,
            rounds: 0,
            reduced: None,
            before_loss: None,
            fallback: ClassicQueue::default(),
        }
    }

    /// Whether the round trip is longer for the rules than it is (`prague_is_rtt_indep`).
    fn is_independent(&self, round_trip: Span) -> bool {
        self.config.rtt_independence != RttIndependence::None
            && self.rounds >= self.config.transition_rounds
            && round_trip <= LONGEST_INDEPENDENT
    }

    /// The round trip that counts (`prague_target_rtt`).
    fn virtual_round_trip(&self, round_trip: Span) -> Span {
        if !self.is_independent(round_trip) {
            return round_trip;
        }
        match self.config.rtt_independence {
            RttIndependence::Additive => self.config.target_rtt + round_trip,
            _ => self.config.target_rtt.max(round_trip),
        }
    }

    /// Growth in a round trip, in segments (`prague_ai_ack_increase`).
    fn growth(&self, round_trip: Span) -> f64 {
        if !self.is_independent(round_trip) {
            return 1.0;
        }
        let seconds = round_trip.seconds();
        if self.config.rtt_independence == RttIndependence::Scalable {
            let beyond = (seconds - SCALABLE_OFFSET_S).clamp(0.0, SCALABLE_UNIT_S);
            return (0.125 + beyond / SCALABLE_UNIT_S) * seconds / SCALABLE_UNIT_S;
        }
        let share = seconds / self.virtual_round_trip(round_trip).seconds();
        (share * share).min(1.0)
    }

    /// `prague_update_alpha`: once in a window and in a round trip.
    fn update_alpha(&mut self, ack: &AckSample<'_>, round_trip: Span, control: &Control) {
        if ack.acknowledged < self.round_end {
            return;
        }
        self.round_end = ack.next;
        if control.congestion_window >= control.slow_start_threshold {
            self.rounds = self.rounds.saturating_add(1);
        }
        if ack.now.since(self.updated_at) < self.virtual_round_trip(round_trip) {
            return;
        }
        self.updated_at = ack.now;
        if self.has_seen_mark && self.delivered > 0.0 {
            let share = (self.marked / self.delivered).min(1.0);
            self.alpha = (self.alpha + (share - self.alpha) * GAIN).clamp(0.0, 1.0);
        }
        if self.config.classic_fallback && self.has_seen_mark {
            self.fallback.judge();
        }
        (self.delivered, self.marked) = (0.0, 0.0);
    }

    /// The window in full segments (`prague_frac_cwnd_to_snd_cwnd`).
    fn segments(&self) -> f64 {
        libm::ceil(self.window).max(LEAST_WINDOW)
    }

    /// `prague_update_cwnd`: all ACKs without marks let the window grow, in a round trip with a reduction too. Returns
    /// the growth by slow start.
    fn grow(&mut self, ack: &AckSample<'_>, round_trip: Span, control: &Control) -> f64 {
        let unmarked = ack.acked_segments - ack.marked_segments;
        if unmarked <= 0.0 || ack.phase != Phase::Open || !ack.is_window_used {
            return 0.0;
        }
        // Slow start is Reno's: up to the threshold. The window that is set decides: after a reduction the one with its
        // fraction is less than the threshold.
        let mut opened = 0.0;
        if control.congestion_window < control.slow_start_threshold {
            opened = unmarked.min((control.slow_start_threshold - self.window).max(0.0));
            self.window += opened;
        }
        let rest = unmarked - opened;
        if rest > 0.0 {
            self.window += (rest * self.growth(round_trip) / self.segments()).max(rest * LEAST_GROWTH);
        }
        opened
    }

    /// `prague_enter_cwr`: a reduction by half of alpha, once in a round trip. The fallback bounds alpha only here.
    fn answer_marks(&mut self, ack: &AckSample<'_>, round_trip: Span, control: &mut Control) {
        let is_due = self
            .reduced
            .is_none_or(|(at, end)| ack.acknowledged > end && ack.now.since(at) >= self.virtual_round_trip(round_trip));
        if ack.marked_segments <= 0.0 || !is_due || ack.phase != Phase::Open {
            return;
        }
        self.reduced = Some((ack.now, ack.next));
        let alpha = self.alpha.max(self.fallback.least_alpha());
        self.window = (self.window - self.window * alpha / 2.0).max(LEAST_WINDOW);
        // A window that has yet to come up to its fraction is not in slow start.
        let window = self.segments().min(control.congestion_window);
        control.slow_start_threshold = window.max(LEAST_WINDOW);
    }

    /// The window moves by at most a segment an ACK towards the one with its fraction, apart from slow start.
    fn follow(&mut self, opened: f64, control: &mut Control) {
        let target = self.segments();
        let window = control.congestion_window;
        control.congestion_window = target.max(window - 1.0).min((window + opened + 1.0).max(LEAST_WINDOW));
        self.set_window = control.congestion_window;
    }

    /// The transport has changed the window, after a timeout or an idle time.
    fn adopt(&mut self, control: &Control) {
        if control.congestion_window != self.set_window {
            (self.window, self.set_window) = (control.congestion_window, control.congestion_window);
        }
    }

    /// `prague_update_pacing_rate`: a window of full packets in a round trip; twice that early in slow start. The
    /// headers count, but the pacer counts payload: the pace leaves no part of the window unused.
    fn pace(&self, round_trip: Span, control: &mut Control) {
        let seconds = round_trip.seconds();
        if seconds <= 0.0 {
            return;
        }
        let is_early = control.congestion_window < control.slow_start_threshold / 2.0;
        let bytes = control.congestion_window * self.packet_bytes * if is_early { 2.0 } else { 1.0 };
        control.pacing_rate = Rate::new((bytes * 8.0 / seconds).clamp(1.0, 1e15) as u64);
    }
}

impl Controller for Prague {
    fn needs(&self) -> Needs {
        Needs {
            round_trip_estimate: true,
            delivery: self.config.classic_fallback,
            marks: true,
            answers_marks: true,
            owns_slow_start: true,
            ecn: EcnNeed::L4s,
            ..Needs::default()
        }
    }

    fn pacing(&self) -> Option<Pacing> {
        Some(Pacing { burst: BURST, least_segments: self.config.least_burst_segments })
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, control: &mut Control) {
        self.adopt(control);
        let round_trip = ack.round_trips.smoothed.unwrap_or_default();
        if self.config.classic_fallback {
            self.fallback.sample(ack.delivery, control);
        }
        self.has_seen_mark |= ack.marked_segments > 0.0;
        self.delivered += ack.delivered_segments;
        self.marked += ack.marked_segments;
        self.update_alpha(ack, round_trip, control);
        if ack.phase == Phase::Recovery {
            return self.pace(round_trip, control);
        }
        self.answer_marks(ack, round_trip, control);
        let opened = self.grow(ack, round_trip, control);
        self.follow(opened, control);
        self.pace(round_trip, control);
    }

    /// A loss halves the window, with its fraction.
    fn on_loss(&mut self, _congestion: &CongestionSample, control: &mut Control) {
        self.adopt(control);
        self.before_loss = Some((self.window, self.set_window));
        self.window = (self.window / 2.0).max(LEAST_WINDOW);
        let window = self.segments().min(control.congestion_window);
        control.slow_start_threshold = window.max(LEAST_WINDOW);
        (control.congestion_window, self.set_window) = (window, window);
    }

    /// The answer to a mark comes in `on_ack`.
    fn on_ecn(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    fn on_timeout(&mut self, congestion: &CongestionSample, control: &mut Control) {
        if !congestion.keeps_threshold {
            self.adopt(control);
            self.before_loss = Some((self.window, self.set_window));
            control.slow_start_threshold = libm::floor(control.congestion_window / 2.0).max(LEAST_WINDOW);
        }
        control.congestion_window = 1.0;
    }

    fn state(&self) -> Option<&'static str> {
        (self.config.classic_fallback && self.fallback.is_certain()).then_some("classic_queue")
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("alpha", self.alpha);
    }

    /// The window with its fraction is restored together with the window of the transport.
    fn undo(&mut self) {
        if let Some((window, set_window)) = self.before_loss.take() {
            (self.window, self.set_window) = (self.window.max(window), self.set_window.max(set_window));
        }
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
