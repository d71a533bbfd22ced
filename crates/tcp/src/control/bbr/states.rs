//! The states: Startup, Drain, the cycle of ProbeBW, and ProbeRTT.

use core::ops::RangeInclusive;

use super::{
    Bbr, CYCLE, DRAIN_GAIN, FULL_GROWTH, FULL_ROUNDS, HIGH_GAIN, START_PHASES, Sample, State, WINDOW_GAIN, truncated,
};
use crate::{Control, Span, Time};

impl Bbr {
    /// `bbr_is_next_cycle_phase`.
    fn is_phase_over(&self, sample: &Sample<'_>, control: &Control) -> bool {
        let elapsed = self.counters.delivered_at.since(self.phase_start);
        let is_full_length = self.min_round_trip.is_some_and(|shortest| elapsed > shortest);
        let delivery = sample.delivery;
        let in_flight = || self.in_flight_at_departure(delivery.in_flight_before, sample, control);
        if self.pacing_gain > 1.0 {
            let is_filled = || in_flight() >= self.in_flight_at(self.pacing_gain, control);
            is_full_length && (delivery.newly_lost > 0 || is_filled())
        } else if self.pacing_gain < 1.0 {
            is_full_length || in_flight() <= self.in_flight_at(1.0, control)
        } else {
            is_full_length
        }
    }

    /// `bbr_advance_cycle_phase`.
    fn advance_phase(&mut self) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_start = self.counters.delivered_at;
    }

    /// `bbr_update_cycle_phase`.
    pub(super) fn update_phase(&mut self, sample: &Sample<'_>, control: &Control) {
        if self.state == State::ProbeBandwidth && self.is_phase_over(sample, control) {
            self.advance_phase();
        }
    }

    /// `bbr_reset_probe_bw_mode`: in any phase but the one of the lowest gain.
    pub(super) fn enter_probe_bandwidth(&mut self) {
        self.state = State::ProbeBandwidth;
        let drawn = (forebay_units::uniform(&mut self.random) * START_PHASES as f64) as usize;
        self.phase = CYCLE.len() - 1 - drawn;
        self.advance_phase();
    }

    /// `bbr_reset_mode`.
    pub(super) fn resume(&mut self) {
        if self.is_pipe_full {
            self.enter_probe_bandwidth();
        } else {
            self.state = State::Startup;
        }
    }

    /// `bbr_check_full_bw_reached`.
    pub(super) fn check_full_pipe(&mut self, sample: &Sample<'_>) {
        if self.is_pipe_full || !self.is_round_start || sample.is_application_limited {
            return;
        }
        let bandwidth = self.bandwidths.get();
        if bandwidth >= truncated(FULL_GROWTH * self.full_bandwidth) {
            (self.full_bandwidth, self.full_rounds) = (bandwidth, 0);
            return;
        }
        self.full_rounds += 1;
        self.is_pipe_full = self.full_rounds >= FULL_ROUNDS;
    }

    /// `bbr_check_drain`.
    pub(super) fn check_drain(&mut self, sample: &Sample<'_>, control: &mut Control) {
        if self.state == State::Startup && self.is_pipe_full {
            self.state = State::Drain;
            control.slow_start_threshold = self.in_flight_at(1.0, control);
        }
        let in_flight = self.in_flight_at_departure(sample.delivery.in_flight, sample, control);
        if self.state == State::Drain && in_flight <= self.in_flight_at(1.0, control) {
            self.enter_probe_bandwidth();
        }
    }

    /// `bbr_check_probe_rtt_done`.
    pub(super) fn end_probe_if_over(&mut self, now: Time, control: &mut Control) {
        if self.probe_end.is_some_and(|end| now > end) {
            self.min_round_trip_at = now;
            control.congestion_window = control.congestion_window.max(self.prior_window);
            self.resume();
        }
    }

    /// `bbr_update_min_rtt`.
    pub(super) fn update_min_round_trip(&mut self, sample: &Sample<'_>, control: &mut Control) {
        let delivery = sample.delivery;
        let is_expired = sample.now > self.min_round_trip_at.saturating_add(self.config.min_round_trip_window);
        if let Some(round_trip) = delivery.round_trip {
            let is_shortest = self.min_round_trip.is_none_or(|shortest| round_trip <= shortest);
            if is_shortest || is_expired && !delivery.may_be_delayed {
                (self.min_round_trip, self.min_round_trip_at) = (Some(round_trip), sample.now);
            }
        }
        let probes = self.config.probe_round_trip_time > Span::ZERO;
        if probes && is_expired && !self.is_idle_restart && self.state != State::ProbeRoundTrip {
            self.save_window(control);
            self.state = State::ProbeRoundTrip;
            self.probe_end = None;
            self.probe_limited = RangeInclusive::new(delivery.delivered, delivery.delivered);
        }
        if self.state == State::ProbeRoundTrip {
            self.probe_round_trip(sample, control);
        }
        if delivery.segment.is_some() {
            self.is_idle_restart = false;
        }
    }

    /// The rest of `bbr_update_min_rtt`: rates count as limited by the application, and the state ends after its time
    /// and a round.
    fn probe_round_trip(&mut self, sample: &Sample<'_>, control: &mut Control) {
        let delivery = sample.delivery;
        let limited_until = delivery.delivered.saturating_add(delivery.in_flight);
        self.probe_limited = RangeInclusive::new(*self.probe_limited.start(), limited_until);
        if self.probe_end.is_none() {
            if delivery.in_flight as f64 <= self.least_window() {
                self.probe_end = Some(sample.now.saturating_add(self.config.probe_round_trip_time));
                self.is_probe_round_over = false;
                self.round_end = delivery.delivered;
            }
            return;
        }
        self.is_probe_round_over |= self.is_round_start;
        if self.is_probe_round_over {
            self.end_probe_if_over(sample.now, control);
        }
    }

    /// `bbr_update_gains`.
    pub(super) fn update_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.state {
            State::Startup => (HIGH_GAIN, HIGH_GAIN),
            State::Drain => (DRAIN_GAIN, HIGH_GAIN),
            State::ProbeBandwidth if self.policer.is_found => (1.0, WINDOW_GAIN),
            State::ProbeBandwidth => (CYCLE[self.phase], WINDOW_GAIN),
            State::ProbeRoundTrip => (1.0, 1.0),
        };
    }
}
