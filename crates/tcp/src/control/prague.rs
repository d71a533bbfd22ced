//! TCP Prague: scalable congestion control for the low-latency queue of L4S.
//!
//! # What it does
//! Prague reduces its window by half of the average share of marks, as DCTCP does, and paces its segments. Its window
//! grows on every ACK without marks, also in a round trip with a reduction. Flows with a short round trip grow as if it
//! were longer, so that they do not take the share of others. Where the queue turns out to be a classic one, which
//! marks late, Prague can fall back to larger reductions.
//!
//! # When to use it
//! Use it with queues that mark early (`codel` with `ce_threshold`, `fq_codel`), and as the sender of L4S. In a queue
//! that marks late it takes more than its share from CUBIC.
//!
//! # Example
//! ```toml
//! transport.tcp = { congestion_control = "prague" }
//! ```
//!
//! # Source
//! RFC 9331 (the requirements); draft-briscoe-iccrg-prague-congestion-control; the rules are those of the L4S team's
//! module for Linux (`tcp_prague.c`, version 0.6), in its form with a window.
//!
//! # Where we differ
//! The window and its fraction are one floating-point number instead of 20 fractional bits. Losses come down by the
//! transport's `rate_reduction`. Without ECN it is Reno with pacing.
//!
//! # Parameters
//! `rtt_independence`, `target_rtt`, `transition_rounds`, `classic_fallback`.

use alloc::boxed::Box;

use crate::{
    AckSample, CongestionSample, Control, Controller, Delivery, EcnNeed, Needs, Pacing, ParameterError, Phase, Rate,
    Span, TcpConfig, Time, require,
};

/// Weight of a round in alpha (`prague_shift_g`).
const GAIN: f64 = 1.0 / 16.0;
/// The least window, in segments.
const LEAST_WINDOW: f64 = 2.0;
/// The least growth for a segment (one unit of the fraction).
const LEAST_GROWTH: f64 = 1.0 / (1 << 20) as f64;
/// Beyond this round trip there is no independence of it (`RTT_UNIT` and `prague_is_rtt_indep`).
const LONGEST_INDEPENDENT: Span = Span::from_milliseconds(100);
/// Mode "scalable": a round trip of this length grows by a segment and an eighth (R0), and the part that does not count
/// (R1).
const SCALABLE_UNIT_S: f64 = 0.016;
const SCALABLE_OFFSET_S: f64 = 0.0015;
/// Bursts of 2^-12 s, of at least one segment.
const BURST: Pacing = Pacing { burst: Span::from_picoseconds(244_140_625), least_segments: 1 };

/// Independence of the round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum RttIndependence {
    /// None: one segment in a round trip.
    None,
    /// The rate grows as with the target round trip.
    #[default]
    Rate,
    /// Growth in proportion to the round trip.
    Scalable,
    /// The rate grows as if the round trip were longer by the target.
    Additive,
}

forebay_units::configuration! {
    /// The parameters of Prague.
    #[derive(Copy)]
    pub struct PragueConfig {
        /// Independence of the round trip: "none", "rate", "scalable" or "additive" (`prague_rtt_scaling`).
        pub rtt_independence: RttIndependence = RttIndependence::Rate;
        /// The round trip as which shorter ones count (`prague_rtt_target`: 25 ms). At most 100 ms.
        pub target_rtt: Span = Span::from_milliseconds(25);
        /// Round trips outside of slow start before that applies (`prague_rtt_transition`: 500).
        pub transition_rounds: u32 = 500;
        /// Whether reductions grow where the delay shows a queue that marks late (`prague_ecn_fallback`).
        pub classic_fallback: bool = false;
    }
}

impl PragueConfig {
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        let is_allowed = self.target_rtt > Span::ZERO && self.target_rtt <= LONGEST_INDEPENDENT;
        require(is_allowed, "congestion_control.prague.target_rtt", "be longer than 0 s and at most 100 ms")
    }
}

#[derive(Debug)]
struct Prague {
    config: PragueConfig,
    segment_bytes: u64,
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
    fallback: ClassicQueue,
}

pub(crate) fn build(config: &PragueConfig, tcp: &TcpConfig) -> Box<dyn Controller> {
    Box::new(Prague {
        config: *config,
        segment_bytes: u64::from(tcp.payload_bytes()),
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
        fallback: ClassicQueue::default(),
    })
}

impl Prague {
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
        if self.config.classic_fallback {
            self.fallback.judge();
            self.alpha = self.alpha.max(self.fallback.least_alpha());
        }
        (self.delivered, self.marked) = (0.0, 0.0);
    }

    /// `prague_update_cwnd`: all ACKs without marks let the window grow, in a round trip with a reduction too.
    fn grow(&mut self, ack: &AckSample<'_>, round_trip: Span, control: &Control) {
        let unmarked = ack.acked_segments - ack.marked_segments;
        if unmarked <= 0.0 || ack.phase != Phase::Open || !ack.is_window_used {
            return;
        }
        if self.window < control.slow_start_threshold {
            self.window += unmarked;
        } else {
            let growth = unmarked * self.growth(round_trip) / self.window.max(1.0);
            self.window += growth.max(unmarked * LEAST_GROWTH);
        }
    }

    /// `prague_enter_cwr`: a reduction by half of alpha, once in a round trip.
    fn answer_marks(&mut self, ack: &AckSample<'_>, round_trip: Span, control: &mut Control) {
        let is_due = self
            .reduced
            .is_none_or(|(at, end)| ack.acknowledged > end && ack.now.since(at) >= self.virtual_round_trip(round_trip));
        if ack.marked_segments <= 0.0 || !is_due || ack.phase != Phase::Open {
            return;
        }
        self.reduced = Some((ack.now, ack.next));
        self.window = (self.window - self.window * self.alpha / 2.0).max(LEAST_WINDOW);
        control.slow_start_threshold = libm::ceil(self.window).max(LEAST_WINDOW);
    }

    /// The window moves by at most a segment an ACK towards the one with its fraction.
    fn follow(&mut self, control: &mut Control) {
        let target = libm::ceil(self.window).max(LEAST_WINDOW);
        let window = control.congestion_window;
        control.congestion_window = if control.congestion_window < control.slow_start_threshold && target > window {
            target
        } else {
            target.clamp((window - 1.0).max(LEAST_WINDOW), window + 1.0)
        };
        self.set_window = control.congestion_window;
    }

    /// The transport has changed the window, after an idle time or by an undo.
    fn adopt(&mut self, control: &Control) {
        if control.congestion_window != self.set_window {
            (self.window, self.set_window) = (control.congestion_window, control.congestion_window);
        }
    }

    /// `prague_update_pacing_rate`: a window in a round trip; twice that early in slow start.
    fn pace(&self, round_trip: Span, control: &mut Control) {
        let seconds = round_trip.seconds();
        if seconds <= 0.0 {
            return;
        }
        let is_early = control.congestion_window < control.slow_start_threshold / 2.0;
        let bytes = control.congestion_window * self.segment_bytes as f64 * if is_early { 2.0 } else { 1.0 };
        control.pacing_rate = Rate::new((bytes * 8.0 / seconds).clamp(1.0, 1e15) as u64);
    }
}

impl Controller for Prague {
    fn needs(&self) -> Needs {
        Needs {
            round_trip_estimate: true,
            delivery: true,
            marks: true,
            answers_marks: true,
            ecn: EcnNeed::L4s,
            owns_slow_start: true,
            ..Needs::default()
        }
    }

    fn pacing(&self) -> Option<Pacing> {
        Some(BURST)
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, control: &mut Control) {
        self.adopt(control);
        let round_trip = ack.round_trips.smoothed.unwrap_or_default();
        self.fallback.sample(ack.delivery, control);
        self.has_seen_mark |= ack.marked_segments > 0.0;
        self.delivered += ack.delivered_segments;
        self.marked += ack.marked_segments;
        self.update_alpha(ack, round_trip, control);
        if ack.phase == Phase::Recovery {
            return self.pace(round_trip, control);
        }
        self.answer_marks(ack, round_trip, control);
        self.grow(ack, round_trip, control);
        self.follow(control);
        self.pace(round_trip, control);
    }

    /// A loss halves the window, with its fraction.
    fn on_loss(&mut self, _congestion: &CongestionSample, control: &mut Control) {
        self.adopt(control);
        self.window = (self.window / 2.0).max(LEAST_WINDOW);
        let window = libm::ceil(self.window).min(control.congestion_window);
        control.slow_start_threshold = window.max(LEAST_WINDOW);
        (control.congestion_window, self.set_window) = (window, window);
    }

    /// The answer to a mark comes in `on_ack`.
    fn on_ecn(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    fn on_timeout(&mut self, congestion: &CongestionSample, control: &mut Control) {
        if !congestion.keeps_threshold {
            control.slow_start_threshold = libm::floor(control.congestion_window / 2.0).max(LEAST_WINDOW);
        }
        control.congestion_window = 1.0;
    }
}

/// The search for a queue that marks late (`prague_classic_ecn_fallback`).
#[derive(Clone, Copy, Debug, Default)]
struct ClassicQueue {
    /// 0 to 17: from 8 on the queue may be a classic one, from 9 on it is taken for one.
    score: f64,
    /// Slow means of the round trip and of its deviation, and the shortest, in seconds.
    mean: f64,
    deviation: f64,
    shortest: f64,
}

impl ClassicQueue {
    const MOST: f64 = 17.0;
    const FIRST_SUSPICION: f64 = 8.0;
    const CERTAINTY: f64 = 9.0;
    /// Weights of both signs (V, D).
    const WEIGHT: f64 = 0.5;
    /// Deviation and queuing delay that speak for neither, in seconds (V0, D0).
    const NEUTRAL_DEVIATION_S: f64 = 750e-6;
    const NEUTRAL_DELAY_S: f64 = 2e-3;
    /// Alpha of a reduction to 0.6875: CUBIC's.
    const CLASSIC_ALPHA: f64 = 0.625;

    /// Takes the round trip of an ACK.
    fn sample(&mut self, delivery: Option<&Delivery>, control: &Control) {
        let Some(round_trip) = delivery.and_then(|delivery| delivery.round_trip) else { return };
        let seconds = round_trip.seconds();
        if self.mean == 0.0 {
            (self.mean, self.deviation, self.shortest) = (seconds, seconds / 2.0, seconds);
            return;
        }
        self.shortest = self.shortest.min(seconds);
        let threshold = control.slow_start_threshold.clamp(2.0, 1e6);
        let gain = libm::exp2(-(1.5 * libm::log2(threshold) + 1.0));
        let error = seconds - self.mean;
        self.mean += error * gain;
        self.deviation += (error.abs() - self.deviation) * gain / 2.0;
    }

    /// Weighs both signs.
    fn judge(&mut self) {
        if self.deviation > 0.0 {
            self.score += Self::WEIGHT * libm::log2(self.deviation / Self::NEUTRAL_DEVIATION_S);
        }
        let delay = self.mean - self.shortest;
        if delay > 0.0 {
            self.score += Self::WEIGHT * libm::log2(delay / Self::NEUTRAL_DELAY_S).max(0.0);
        }
        self.score = self.score.clamp(0.0, Self::MOST);
    }

    fn least_alpha(&self) -> f64 {
        Self::CLASSIC_ALPHA * (self.score.min(Self::CERTAINTY) - Self::FIRST_SUSPICION).max(0.0)
    }
}

#[cfg(test)]
#[path = "prague_tests.rs"]
mod tests;
