//! The bounds of rate and data in flight, and their response to losses and marks.

use super::model::Sample;
use super::parameters::{
    ECN_ALPHA_GAIN, ECN_FACTOR, ECN_LONGEST_ROUND_TRIP, ECN_THRESHOLD, MARKED_ROUNDS, MOST_DOUBLINGS,
};
use super::{Bbr3, State};
use crate::{DeliveredSegment, Time};

/// The data in flight at which the share of losses crossed the threshold, within a lost unit of this size
/// (`bbr_inflight_hi_from_lost_skb`). `in_flight` counted when the unit was sent, with it; `lost` since then, with it.
pub(super) fn in_flight_at_loss(size: f64, in_flight: f64, lost: f64, threshold: f64) -> f64 {
    let (in_flight_before, lost_before) = ((in_flight - size).max(0.0), (lost - size).max(0.0));
    let prefix = (threshold * in_flight_before - lost_before) / (1.0 - threshold);
    in_flight_before + prefix.max(0.0)
}

impl Bbr3 {
    /// The state pushes more data into the path (`bbr_is_probing_bandwidth`).
    pub(super) fn is_probing(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }

    /// `bbr_target_inflight`.
    pub(super) fn target_in_flight(&self) -> f64 {
        self.in_flight_of(self.bandwidth(), 1.0).min(self.window)
    }

    /// `bbr_inflight_with_headroom`.
    pub(super) fn in_flight_with_headroom(&self) -> f64 {
        let high = self.bounds.in_flight_high;
        if high.is_infinite() {
            return high;
        }
        let headroom = libm::floor(high * self.constants.headroom).max(1.0);
        (high - headroom).max(self.least_window)
    }

    /// `bbr_adapt_lower_bounds`: at the end of a round, outside of probes.
    pub(super) fn adapt_lower_bounds(&mut self) {
        if self.is_probing() {
            return;
        }
        let mut in_flight_by_marks = f64::INFINITY;
        if self.loss_round.has_mark {
            self.begin_in_flight_low();
            // `bbr_ecn_lower_bounds`.
            in_flight_by_marks = libm::floor(self.bounds.in_flight_low * (1.0 - self.ecn.alpha * ECN_FACTOR));
        }
        if self.loss_round.has_loss {
            if self.bounds.bandwidth_low.is_infinite() {
                self.bounds.bandwidth_low = self.bandwidth.maximum();
            }
            self.begin_in_flight_low();
            // `bbr_loss_lower_bounds`: not below what the path has just delivered.
            let keep = self.constants.loss_keep;
            self.bounds.bandwidth_low = self.loss_round.bandwidth.max(keep * self.bounds.bandwidth_low);
            let in_flight = libm::floor(keep * self.bounds.in_flight_low);
            self.bounds.in_flight_low = self.loss_round.in_flight.max(in_flight);
        }
        self.bounds.in_flight_low = self.bounds.in_flight_low.min(in_flight_by_marks);
    }

    /// `bbr_init_lower_bounds`.
    fn begin_in_flight_low(&mut self) {
        if self.bounds.in_flight_low.is_infinite() {
            self.bounds.in_flight_low = self.window;
        }
    }

    /// `bbr_is_inflight_too_high`, by losses.
    pub(super) fn are_losses_too_many(&self, lost: f64, sent_in_flight: f64) -> bool {
        sent_in_flight > 0.0 && lost > sent_in_flight * self.constants.loss_threshold
    }

    /// `bbr_is_inflight_too_high`.
    pub(super) fn is_in_flight_too_high(&self, sample: &Sample) -> bool {
        let are_marks_too_many = self.ecn.is_eligible && sample.marked > sample.delivered * ECN_THRESHOLD;
        are_marks_too_many || self.are_losses_too_many(sample.lost, sample.sent_in_flight)
    }

    /// `bbr_skb_marked_lost`.
    pub(super) fn evaluate_lost_segment(&mut self, segment: &DeliveredSegment, total_lost: u64, now: Time) {
        self.loss_round.note_loss(self.delivered);
        if !self.probe.has_samples {
            return;
        }
        let (in_flight, lost) = (segment.in_flight as f64, total_lost.saturating_sub(segment.lost_before) as f64);
        if self.are_losses_too_many(lost, in_flight) {
            let at_loss = in_flight_at_loss(1.0, in_flight, lost, self.constants.loss_threshold);
            self.handle_too_high(libm::ceil(at_loss), segment.is_application_limited, now);
        }
    }

    /// `bbr_handle_inflight_too_high`: once for a probe.
    pub(super) fn handle_too_high(&mut self, in_flight: f64, is_application_limited: bool, now: Time) {
        self.probe.was_too_high = true;
        self.probe.has_samples = false;
        if !is_application_limited {
            let least = libm::floor(self.target_in_flight() * self.constants.loss_keep);
            self.bounds.in_flight_high = in_flight.max(least);
        }
        if self.state == State::Up {
            self.note_end_by_loss();
            self.start_down(now);
        }
    }

    /// The draft's HandleInflightTooHigh and CheckStartupHighLoss: a loss ends the state, which may be undone.
    pub(super) fn note_end_by_loss(&mut self) {
        if let Some(saved) = &mut self.saved {
            saved.ended = Some(self.state);
        }
    }

    /// `bbr_raise_inflight_hi_slope`: the growth of a probe doubles with each round.
    pub(super) fn raise_slope(&mut self) {
        let growth = f64::from(1_u32 << self.probe.rounds.min(MOST_DOUBLINGS));
        self.probe.rounds = (self.probe.rounds + 1).min(MOST_DOUBLINGS);
        self.probe.segments_per_increase = libm::floor(self.window / growth).max(1.0);
    }

    /// `bbr_probe_inflight_hi_upward`: where the window is in use, up to the bound.
    pub(super) fn raise_in_flight_high(&mut self, sample: &Sample) {
        if !self.is_window_limited(sample) || self.window < self.bounds.in_flight_high {
            return;
        }
        self.probe.acked += sample.acked;
        if self.probe.acked >= self.probe.segments_per_increase {
            let increase = libm::floor(self.probe.acked / self.probe.segments_per_increase);
            self.probe.acked -= increase * self.probe.segments_per_increase;
            self.bounds.in_flight_high += increase;
        }
        if self.rounds.has_started {
            self.raise_slope();
        }
    }

    /// `bbr_update_ecn_alpha`: at the start of a round.
    pub(super) fn update_ecn_alpha(&mut self, sample: &Sample) {
        let is_short = self.round_trips.shortest.is_some_and(|shortest| shortest <= ECN_LONGEST_ROUND_TRIP);
        self.ecn.is_eligible |= self.ecn.is_enabled && is_short;
        let delivered = sample.total_delivered.saturating_sub(self.ecn.last_delivered);
        if !self.ecn.is_eligible || delivered == 0 {
            return;
        }
        let marked = sample.total_marked.saturating_sub(self.ecn.last_marked);
        let share = (marked as f64 / delivered as f64).min(1.0);
        self.ecn.alpha = (1.0 - ECN_ALPHA_GAIN) * self.ecn.alpha + ECN_ALPHA_GAIN * share;
        (self.ecn.last_delivered, self.ecn.last_marked) = (sample.total_delivered, sample.total_marked);
        // `bbr_check_ecn_too_high_in_startup`.
        if !self.full_pipe.is_reached {
            self.ecn.startup_rounds = if share >= ECN_THRESHOLD { self.ecn.startup_rounds + 1 } else { 0 };
            if self.ecn.startup_rounds >= MARKED_ROUNDS {
                self.handle_queue_in_startup();
            }
        }
    }
}
