//! The pacing rate and the window that follow from the model.

use super::model::Sample;
use super::parameters::{
    EARLY_WINDOW_FACTOR, LARGEST_QUANTUM_BYTES, MOST_AGGREGATION_SECONDS, NOMINAL_ROUND_TRIP, PACING_MARGIN,
    QUANTA_IN_FLIGHT, ROUND_TRIP_PROBE_CAP, ROUNDING, SLOW_RATE, UP_EXTRA_SEGMENTS,
};
use super::{Bbr3, Bbr3Rules, State};
use crate::{Pacing, Rate, Span};

impl Bbr3 {
    /// The estimated bandwidth in segments per second (`bbr_bw`).
    pub(super) fn bandwidth(&self) -> f64 {
        self.bandwidth.maximum().min(self.bounds.bandwidth_low)
    }

    /// The pacing rate in bits per second at this bandwidth and gain (`bbr_bw_to_pacing_rate`).
    fn pacing_rate_at(&self, bandwidth: f64, gain: f64) -> f64 {
        bandwidth * self.payload_bits * gain * (1.0 - PACING_MARGIN)
    }

    /// `bbr_init_pacing_rate_from_rtt`.
    pub(super) fn set_first_pacing_rate(&mut self, smoothed: Option<Span>) {
        let round_trip = smoothed.filter(|&smoothed| smoothed > Span::ZERO);
        self.has_seen_round_trip = round_trip.is_some();
        let bandwidth = self.window / round_trip.unwrap_or(NOMINAL_ROUND_TRIP).seconds();
        self.pacing_rate = self.pacing_rate_at(bandwidth, self.constants.startup_pacing_gain);
    }

    /// `bbr_set_pacing_rate`: before the pipe is full, the rate only rises.
    pub(super) fn set_pacing_rate(&mut self, gain: f64, smoothed: Option<Span>) {
        let rate = self.pacing_rate_at(self.bandwidth(), gain);
        if !self.has_seen_round_trip && smoothed.is_some() {
            self.set_first_pacing_rate(smoothed);
        }
        if self.full_pipe.is_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// The pacing rate for the transport.
    pub(super) fn rate(&self) -> Rate {
        Rate::new(self.pacing_rate as u64).unwrap_or(Rate::LEAST)
    }

    /// The segments of a burst (`bbr_tso_segs_goal`).
    fn quantum(&self) -> f64 {
        let bytes = (self.pacing_rate / 8.0 * Pacing::LINUX.burst.seconds()).min(LARGEST_QUANTUM_BYTES);
        let least = if self.pacing_rate < SLOW_RATE { 1.0 } else { f64::from(Pacing::LINUX.least_segments) };
        libm::floor(bytes * 8.0 / self.payload_bits).max(least)
    }

    /// The product of bandwidth, shortest round trip and gain, in whole segments (`bbr_bdp`).
    fn product(&self, bandwidth: f64, gain: f64) -> f64 {
        let Some(shortest) = self.round_trips.shortest else { return self.initial_window };
        libm::ceil(bandwidth * shortest.seconds() * gain * (1.0 - ROUNDING))
    }

    /// `bbr_quantization_budget`.
    fn with_budget(&self, segments: f64) -> f64 {
        let least = (QUANTA_IN_FLIGHT * self.quantum()).max(self.least_window);
        segments.max(least) + if self.state == State::Up { UP_EXTRA_SEGMENTS } else { 0.0 }
    }

    /// `bbr_inflight`.
    pub(super) fn in_flight_of(&self, bandwidth: f64, gain: f64) -> f64 {
        self.with_budget(self.product(bandwidth, gain))
    }

    /// The segments in the network when the next one leaves (`bbr_packets_in_net_at_edt`).
    pub(super) fn in_network(&self, in_flight: f64, sample: &Sample) -> f64 {
        let wait = sample.next_departure.since(sample.now).seconds();
        let delivered = libm::floor(self.bandwidth() * wait);
        let departing = if self.pacing_gain > 1.0 { self.quantum() } else { 0.0 };
        (in_flight + departing - delivered).max(0.0)
    }

    /// The window has no room for a segment: it is the limit of sending for a round trip.
    pub(super) fn note_window_limit(&mut self, sample: &Sample) {
        if sample.in_flight_before + 1.0 > self.window {
            self.window_limited_until = sample.total_delivered.saturating_add(sample.in_flight as u64);
        }
    }

    pub(super) fn is_window_limited(&self, sample: &Sample) -> bool {
        sample.total_delivered <= self.window_limited_until
    }

    /// `bbr_probe_rtt_cwnd`.
    pub(super) fn round_trip_probe_window(&self) -> f64 {
        self.product(self.bandwidth(), ROUND_TRIP_PROBE_CAP).max(self.least_window)
    }

    /// `bbr_set_cwnd`.
    pub(super) fn set_window(&mut self, sample: &Sample, gain: f64) {
        if sample.acked > 0.0 {
            let bandwidth = self.bandwidth();
            // `bbr_ack_aggregation_cwnd`.
            let most = libm::floor(bandwidth * MOST_AGGREGATION_SECONDS);
            let target = self.with_budget(self.product(bandwidth, gain) + self.aggregation.maximum().min(most));
            if self.full_pipe.is_reached {
                self.window = (self.window + sample.acked).min(target);
            } else if self.window < target || self.is_early(sample) {
                self.window += sample.acked;
            }
            self.window = self.window.max(self.least_window);
        }
        if self.state == State::ProbeRoundTrip {
            self.window = self.window.min(self.round_trip_probe_window());
        }
    }

    /// Too little is known yet to bound the window (`bbr_set_cwnd`; the draft's SetCwnd).
    fn is_early(&self, sample: &Sample) -> bool {
        match self.rules {
            Bbr3Rules::Linux => self.window < EARLY_WINDOW_FACTOR * self.initial_window,
            Bbr3Rules::Draft => (sample.total_delivered as f64) < self.initial_window,
        }
    }

    /// `bbr_bound_cwnd_for_inflight_model`.
    pub(super) fn bound_window(&mut self) {
        let cap = match self.state {
            State::Startup | State::Drain => f64::INFINITY,
            State::Down | State::Refill | State::Up => self.bounds.in_flight_high,
            State::Cruise | State::ProbeRoundTrip => self.in_flight_with_headroom(),
        };
        let cap = cap.min(self.bounds.in_flight_low).max(self.least_window);
        self.window = self.window.min(cap);
    }
}
