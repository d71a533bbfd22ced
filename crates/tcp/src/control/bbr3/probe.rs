//! The states: Startup, Drain, the cycle of ProbeBW, and ProbeRTT.

use forebay_units::uniform;

use super::model::Sample;
use super::parameters::{
    DRAIN_ROUNDS, ECN_REPROBE_GAIN, LOSS_EVENTS, MOST_DOUBLINGS, MOST_PROBE_ROUNDS, PROBE_BASE_WAIT,
    PROBE_RANDOM_ROUNDS, PROBE_RANDOM_SECONDS, ROUND_TRIP_PROBE_TIME, UP_PACING_GAIN, UP_WINDOW_GAIN, WINDOW_GAIN,
};
use super::{AckPhase, Bbr3, Bbr3Rules, State};
use crate::{Phase, Span, Time};

impl Bbr3 {
    /// The gains of pacing rate and window (`bbr_update_gains`).
    pub(super) fn gains(&self) -> (f64, f64) {
        match self.state {
            State::Startup => (self.constants.startup_pacing_gain, WINDOW_GAIN),
            State::Drain => (self.constants.drain_pacing_gain, WINDOW_GAIN),
            State::Down => (self.constants.down_pacing_gain, WINDOW_GAIN),
            State::Cruise | State::Refill => (1.0, WINDOW_GAIN),
            State::Up => (UP_PACING_GAIN, WINDOW_GAIN + UP_WINDOW_GAIN),
            State::ProbeRoundTrip => (1.0, self.constants.round_trip_probe_window_gain),
        }
    }

    /// `bbr_check_loss_too_high_in_startup`: at the end of a round in a recovery.
    pub(super) fn check_losses_in_startup(&mut self, sample: &Sample) {
        if self.full_pipe.is_reached {
            return;
        }
        if sample.newly_lost > 0 {
            self.loss_round.loss_events = self.loss_round.loss_events.saturating_add(1);
        }
        if !self.loss_round.has_started {
            return;
        }
        let is_recovering = sample.phase == Phase::Recovery;
        if is_recovering && self.loss_round.loss_events >= LOSS_EVENTS && self.is_in_flight_too_high(sample) {
            self.note_end_by_loss();
            return self.handle_queue_in_startup();
        }
        self.loss_round.loss_events = 0;
    }

    /// `bbr_handle_queue_too_high_in_startup`.
    pub(super) fn handle_queue_in_startup(&mut self) {
        self.full_pipe.is_reached = true;
        let product = self.in_flight_of(self.bandwidth.maximum(), 1.0);
        self.bounds.in_flight_high = product.max(self.loss_round.in_flight);
    }

    /// `bbr_check_drain`.
    pub(super) fn check_drain(&mut self, sample: &Sample) {
        let product = self.in_flight_of(self.bandwidth.maximum(), 1.0);
        if self.state == State::Startup && self.full_pipe.is_reached {
            self.state = State::Drain;
            self.slow_start_threshold = product;
            self.loss_round.reset();
            self.drain_started = self.rounds.count;
        }
        if self.state != State::Drain {
            return;
        }
        // The draft's CheckDrainDone: three rounds at most.
        let is_late = self.rules == Bbr3Rules::Draft && self.rounds.count > self.drain_started + DRAIN_ROUNDS;
        if is_late || self.in_network(sample.in_flight, sample) <= product {
            self.start_down(sample.now);
        }
    }

    /// `bbr_update_cycle_phase`.
    pub(super) fn update_cycle(&mut self, sample: &Sample) {
        if !self.full_pipe.is_reached || self.adapt_upper_bounds(sample) {
            return;
        }
        let in_flight = self.in_network(sample.in_flight_before, sample);
        match self.state {
            State::Down => {
                if !self.check_time_to_probe(sample) && self.is_time_to_cruise(in_flight) {
                    self.start_cruise();
                }
            }
            State::Cruise => {
                self.check_time_to_probe(sample);
            }
            State::Refill => {
                if self.rounds.has_started {
                    self.probe.has_samples = true;
                    self.start_up(sample);
                }
            }
            State::Up => {
                if self.is_time_to_go_down(in_flight, sample) {
                    self.probe.was_too_high = false;
                    self.start_down(sample.now);
                }
            }
            State::Startup | State::Drain | State::ProbeRoundTrip => {}
        }
    }

    /// `bbr_adapt_upper_bounds`: whether it has changed the state.
    fn adapt_upper_bounds(&mut self, sample: &Sample) -> bool {
        if self.rounds.has_started && self.probe.ack_phase == AckPhase::Starting {
            self.probe.ack_phase = AckPhase::Feedback;
        }
        if self.rounds.has_started && self.probe.ack_phase == AckPhase::Stopping {
            // The samples of the probe end here.
            self.probe.has_samples = false;
            self.probe.ack_phase = AckPhase::Initial;
            if self.state.is_probe_bandwidth() {
                if !sample.is_application_limited {
                    self.bandwidth.advance();
                }
                // The bound of the previous probe has held: now go beyond.
                if self.probe.was_risky && !self.probe.was_too_high {
                    self.start_refill(0);
                    return true;
                }
            }
        }
        if self.is_in_flight_too_high(sample) {
            if self.probe.has_samples {
                self.handle_too_high(sample.sent_in_flight, sample.is_application_limited, sample.now);
            }
        } else if self.bounds.in_flight_high.is_finite() {
            self.bounds.in_flight_high = self.bounds.in_flight_high.max(sample.sent_in_flight);
            if self.state == State::Up {
                self.raise_in_flight_high(sample);
            }
        }
        false
    }

    /// `bbr_check_time_to_probe_bw`: begins a probe where one is due, and returns whether it has.
    fn check_time_to_probe(&mut self, sample: &Sample) -> bool {
        let is_open = sample.phase == Phase::Open;
        let (has_mark, has_loss) = (self.loss_round.has_mark_in_cycle, self.loss_round.has_loss_in_cycle);
        if self.ecn.is_eligible && has_mark && !has_loss && is_open {
            // Marks without losses may be over soon: the growth starts with half of the bound in a round.
            let volume = self.bounds.in_flight_high * ECN_REPROBE_GAIN;
            let doublings = libm::log2(volume.max(1.0)).min(f64::from(MOST_DOUBLINGS));
            self.start_refill(doublings as u32);
            return true;
        }
        let is_over = sample.now > self.probe.started.saturating_add(self.probe.wait);
        let is_due = is_over || self.is_reno_probe_time();
        if is_due {
            self.start_refill(0);
        }
        is_due
    }

    /// `bbr_is_reno_coexistence_probe_time`: as many rounds have passed as Reno takes between losses.
    fn is_reno_probe_time(&self) -> bool {
        self.rounds.since_probe as f64 >= self.target_in_flight().min(MOST_PROBE_ROUNDS)
    }

    /// `bbr_check_time_to_cruise`.
    fn is_time_to_cruise(&self, in_flight: f64) -> bool {
        let product = self.in_flight_of(self.bandwidth.maximum(), 1.0);
        in_flight <= self.in_flight_with_headroom() && in_flight <= product
    }

    /// The end of a probe without too many losses or marks (`bbr_update_cycle_phase`).
    fn is_time_to_go_down(&mut self, in_flight: f64, sample: &Sample) -> bool {
        let high = self.bounds.in_flight_high;
        if self.probe.was_too_high && in_flight >= high {
            self.probe.was_risky = true;
            return true;
        }
        if self.is_window_limited(sample) && self.window >= high {
            self.full_pipe.restart_at(sample.bandwidth_or_zero());
            return false;
        }
        self.full_pipe.is_now
    }

    /// `bbr_start_bw_probe_down`.
    pub(super) fn start_down(&mut self, now: Time) {
        self.loss_round.reset();
        self.probe.segments_per_increase = f64::INFINITY;
        // `bbr_pick_probe_wait`.
        self.rounds.since_probe = (uniform(&mut self.random) * PROBE_RANDOM_ROUNDS) as u64;
        let random = Span::from_seconds_f64(uniform(&mut self.random) * PROBE_RANDOM_SECONDS);
        self.probe.wait = PROBE_BASE_WAIT + random;
        self.probe.started = now;
        self.probe.ack_phase = AckPhase::Stopping;
        self.rounds.next_delivered = self.delivered;
        self.state = State::Down;
    }

    /// `bbr_start_bw_probe_cruise`.
    fn start_cruise(&mut self) {
        if self.bounds.in_flight_low.is_finite() {
            self.bounds.in_flight_low = self.bounds.in_flight_low.min(self.bounds.in_flight_high);
        }
        self.state = State::Cruise;
    }

    /// `bbr_start_bw_probe_refill`.
    fn start_refill(&mut self, doublings: u32) {
        self.bounds.reset_lower();
        self.probe.rounds = doublings;
        self.probe.acked = 0.0;
        self.probe.was_risky = false;
        self.probe.ack_phase = AckPhase::Refilling;
        self.rounds.next_delivered = self.delivered;
        self.state = State::Refill;
    }

    /// `bbr_start_bw_probe_up`.
    fn start_up(&mut self, sample: &Sample) {
        self.probe.ack_phase = AckPhase::Starting;
        self.rounds.next_delivered = self.delivered;
        self.probe.started = sample.now;
        self.full_pipe.restart_at(sample.bandwidth_or_zero());
        self.state = State::Up;
        self.raise_slope();
    }

    /// `bbr_update_min_rtt`.
    pub(super) fn update_round_trips(&mut self, sample: &Sample) {
        let is_due = self.round_trips.update(sample);
        if is_due && !self.restarts && self.state != State::ProbeRoundTrip {
            self.save_window(self.window);
            self.state = State::ProbeRoundTrip;
            self.round_trip_probe.done_at = None;
            self.round_trip_probe.limited = Some((self.delivered, self.delivered));
            self.probe.ack_phase = AckPhase::Stopping;
            self.rounds.next_delivered = self.delivered;
        }
        if self.state == State::ProbeRoundTrip {
            self.probe_round_trip(sample);
        }
        if sample.delivered > 0.0 {
            self.restarts = false;
        }
    }

    /// The second part of `bbr_update_min_rtt`: samples during ProbeRTT count as limited by the application.
    fn probe_round_trip(&mut self, sample: &Sample) {
        let limited_until = self.delivered.saturating_add(sample.in_flight as u64);
        if let Some((_, until)) = &mut self.round_trip_probe.limited {
            *until = limited_until;
        }
        if self.round_trip_probe.done_at.is_some() {
            self.round_trip_probe.is_round_over |= self.rounds.has_started;
            if self.round_trip_probe.is_round_over {
                self.check_round_trip_probe_done(sample.now);
            }
        } else if sample.in_flight <= self.round_trip_probe_window() {
            self.round_trip_probe.done_at = Some(sample.now.saturating_add(ROUND_TRIP_PROBE_TIME));
            self.round_trip_probe.is_round_over = false;
            self.rounds.next_delivered = self.delivered;
        }
    }

    /// `bbr_check_probe_rtt_done` and `bbr_exit_probe_rtt`.
    pub(super) fn check_round_trip_probe_done(&mut self, now: Time) {
        if self.round_trip_probe.done_at.is_none_or(|done_at| now <= done_at) {
            return;
        }
        self.round_trips.restart_interval(now);
        self.window = self.window.max(self.prior_window);
        self.bounds.reset_lower();
        if self.full_pipe.is_reached {
            self.start_down(now);
            self.start_cruise();
        } else {
            self.state = State::Startup;
        }
    }

    /// The draft's HandleSpuriousLossDetection: returns to the state that the losses have ended.
    pub(super) fn return_to(&mut self, ended: Option<State>) {
        match ended {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_pipe.is_reached = false;
                if self.state != State::ProbeRoundTrip {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if self.state != State::Up && self.state != State::ProbeRoundTrip => self.start_refill(0),
            _ => {}
        }
    }
}
