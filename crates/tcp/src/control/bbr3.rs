//! BBR version 3: a model of the path's bandwidth, round trip and room for data in flight sets rate and window.
//!
//! # What it does
//! The sender measures the rate at which the network delivers and the shortest round trip. It paces at that rate, and
//! keeps about two products of rate and round trip in flight at most. Every two to three seconds, or earlier on short
//! paths, it probes for more: it fills the pipe for a round trip, and then sends 25 % faster. Where more than 2 % of
//! the data is lost then, that volume of data is too much, and bounds the window from then on. Losses at other
//! times lower rate and window until the next probe. Every five seconds the window falls to half of the product for 200
//! ms, which shows the round trip without the own queue.
//!
//! # States
//! ```text
//!            pipe full           queue gone
//!   startup -----------> drain ------------> probe_bw_down <--------------+
//!      ^                                      |         |                 |
//!      |                           queue gone |         | time to probe   |
//!      |                                      v         |                 |
//!      |         +----------------> probe_bw_cruise     |                 |
//!      |         |                            |         |                 |
//!      |         | pipe full    time to probe |         |                 |
//!      |         |                            v         v                 |
//!      |         |                           probe_bw_refill              |
//!      |         |                                 |                      |
//!      |         |                                 | one round            |
//!      |         |                                 v                      |
//!      |     probe_rtt                       probe_bw_up -----------------+
//!      |      |  ^                                  pipe full, or
//!      +------+  |                                  too much in flight
//!     pipe not   |
//!     full       from any state: no shorter RTT for 5 s
//!
//!   state            pacing gain      window
//!   startup          2.77             2 products
//!   drain            0.34 (draft 0.5) 2 products
//!   probe_bw_down    0.91 (draft 0.9) 2 products
//!   probe_bw_cruise  1                2 products
//!   probe_bw_refill  1                2 products
//!   probe_bw_up      1.25             2.25 products
//!   probe_rtt        1                half a product, at least 4 segments
//! ```
//!
//! A product is that of bandwidth and shortest round trip, and at least three bursts. The window has room for segments
//! whose ACKs come together. Bounds that losses and marks have set limit it, except in `startup`.
//!
//! - The pipe is full after three rounds in which no sample reaches 1.25 times the bandwidth before. Samples that the
//!   application limits do not count. It also counts as full after a round of a recovery with six loss events and more
//!   than 2 % lost, and with `ecn_low` after two rounds with half of the segments marked.
//! - The queue of Startup is gone when no more than a product is in flight; with `rules = "draft"` Drain takes three
//!   rounds at most. That of a probe is gone when, in addition, 15 % of the upper bound of data in flight is free.
//! - It is time to probe 2 to 3 s after the end of the last probe, and earlier after as many rounds as a product has
//!   segments, at most 63. With `ecn_low`, marks without a loss make a probe due at once. A probe that stopped at the
//!   bound of one before, without harm, is repeated after a round.
//! - Too much is in flight when more than 2 % of it is lost, or half of it is marked with `ecn_low`. This ends a probe
//!   and sets the upper bound. After such a probe, the next one stops at this bound.
//! - If no sample was shorter than the shortest round trip for 5 s, any state changes to `probe_rtt`, unless the sender
//!   restarts after an idle time. It ends 200 ms and a round after no more than its window is in flight.
//! - A timeout changes no state. With `rules = "draft"`, a spurious loss that ended `startup` or `probe_bw_up` leads
//!   back to `startup` or to `probe_bw_refill`.
//!
//! # When to use it
//! Use it to model Google's senders, and hosts that run Google's kernel. It shares a link with CUBIC better than `bbr`
//! does, and loses less in short queues. Behind a very long queue it gets little against CUBIC.
//!
//! # Example
//! ```toml
//! transport.tcp = { congestion_control = "bbr3" }
//! ```
//!
//! # Source
//! google/bbr, branch v3, `tcp_bbr.c`, read for its rules; draft-ietf-ccwg-bbr. Comments cite Linux's functions and,
//! where the rules differ, the draft's.
//!
//! # Where we differ
//! Gains, cuts and thresholds are Linux's 8-bit fractions; rates and products of them are real numbers. Bounds of data
//! in flight are whole segments, as in Linux. The send quantum is the burst of this transport: one segment below 1.2
//! Mb/s, otherwise 2^-10 s, of at least two segments. Linux also makes bursts longer on short paths. The fast path for
//! application-limited ACKs is left out: the model is always updated. The response to a loss that a tail loss probe
//! repairs, and that to moving to another path after timeouts, are left out too. The first pacing rate is set at the
//! first ACK, because the initial window leaves unpaced. Losses that a timer finds take effect at the next ACK. With
//! `rules = "draft"`, the state before a loss is saved once per recovery, not once per round, and departures that are
//! already scheduled are not counted as in flight, as in Linux.
//!
//! # Parameters
//! `transport.tcp.congestion_control`: `"bbr3"`, or a table `bbr3` with these.

use alloc::boxed::Box;
use alloc::vec::Vec;

use rand_pcg::Pcg64Mcg;

use crate::control::setup::Setup;
use crate::{
    AckSample, CongestionSample, Control, Controller, DeliveredSegment, Needs, Pacing, ParameterError, Phase, Span,
    Time, require,
};
use model::{Aggregation, BandwidthFilter, Bounds, Ecn, FullPipe, LossRound, RoundTripFilter, Rounds, Sample};
use parameters::{Constants, LARGEST_INITIAL_WINDOW, PROBE_BASE_WAIT};

mod bounds;
mod model;
mod parameters;
mod probe;
mod window;

/// The least window of the sources, in segments (`cwnd_min_target`, BBR.MinPipeCwnd).
const LEAST_WINDOW_SEGMENTS: u32 = 4;
/// The seed before the transport gives one.
const FIRST_SEED: u64 = 3;

/// The rules of BBR version 3 that sources disagree about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum Bbr3Rules {
    /// Google's kernel (google/bbr, branch v3).
    #[default]
    Linux,
    /// The draft (draft-ietf-ccwg-bbr), with its gains, cuts and thresholds. Drain is at half of the rate, for three
    /// round trips at most. Growth is looked for at the starts of rounds only. Marks have no response. After a spurious
    /// loss that ended Startup or a probe, the sender returns there.
    Draft,
}

forebay_units::configuration! {
    /// The parameters of BBR version 3.
    #[derive(Copy)]
    pub struct Bbr3Config {
        /// Google's kernel ("linux") or the draft ("draft"), which differ in constants and details.
        pub rules: Bbr3Rules = Bbr3Rules::Linux;
        /// Whether marks signal short queues (Linux: the route's `ecn_low`). Then the sender answers the share of
        /// marked segments, once a round trip was at most 5 ms. Otherwise it ignores marks. Only with "linux".
        pub ecn_low: bool = false;
        /// Least window, in segments (both sources: 4). At least 4.
        #[cfg_attr(feature = "config", schemars(range(min = 4)))]
        pub least_window_segments: u32 = LEAST_WINDOW_SEGMENTS;
    }
}

impl Bbr3Config {
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        let is_large_enough = self.least_window_segments >= LEAST_WINDOW_SEGMENTS;
        require(is_large_enough, "congestion_control.bbr3.least_window_segments", "be at least 4")?;
        let has_response = !self.ecn_low || self.rules == Bbr3Rules::Linux;
        require(has_response, "congestion_control.bbr3.ecn_low", "be false unless rules is \"linux\"")
    }
}

pub(crate) fn build(config: &Bbr3Config, setup: &Setup) -> Box<dyn Controller> {
    Box::new(Bbr3::new(config, setup))
}

/// The states; the middle four make up ProbeBW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The rate doubles in each round trip.
    Startup,
    /// The queue of Startup drains.
    Drain,
    /// The queue of a probe drains.
    Down,
    /// The rate is that of the path.
    Cruise,
    /// The pipe fills before a probe.
    Refill,
    /// A probe for bandwidth.
    Up,
    /// The queue drains to measure the shortest round trip (ProbeRTT).
    ProbeRoundTrip,
}

impl State {
    fn is_probe_bandwidth(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }
}

/// The relation of arriving ACKs to the last probe (`ack_phase`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    /// None is being measured.
    Initial,
    /// They are of data sent before the pipe was refilled.
    Refilling,
    /// They are of data sent before the probe began.
    Starting,
    /// They are of the probe.
    Feedback,
    /// The probe is over; they are of its last round trip.
    Stopping,
}

/// The probes for bandwidth.
#[derive(Clone, Copy, Debug)]
struct Probe {
    ack_phase: AckPhase,
    /// The start of the cycle (`cycle_mstamp`).
    started: Time,
    /// The time from that start to the next probe (`probe_wait_us`).
    wait: Span,
    /// Samples come from a probe, which has not gone too high yet (`bw_probe_samples`).
    has_samples: bool,
    /// The previous probe went too high (`prev_probe_too_high`).
    was_too_high: bool,
    /// The probe ended at the bound of the previous one, as a precaution (`stopped_risky_probe`).
    was_risky: bool,
    /// Rounds of growth, each twice as fast as the one before (`bw_probe_up_rounds`).
    rounds: u32,
    /// Segments to acknowledge for one segment of growth (`bw_probe_up_cnt`), and those acknowledged already.
    segments_per_increase: f64,
    acked: f64,
}

/// The times of ProbeRTT.
#[derive(Clone, Copy, Debug, Default)]
struct RoundTripProbe {
    /// The end of the time with a small window, once that is reached (`probe_rtt_done_stamp`).
    done_at: Option<Time>,
    /// A round trip has passed since then.
    is_round_over: bool,
    /// Segments that were sent with so many delivered have application-limited samples.
    limited: Option<(u64, u64)>,
}

/// The state that a spurious loss restores (`undo_bw_lo` and others).
#[derive(Clone, Copy, Debug)]
struct Saved {
    bounds: Bounds,
    /// The state that the losses have ended, Startup or Up (BBR.undo_state).
    ended: Option<State>,
}

/// BBR version 3. Names of Linux are in parentheses.
#[derive(Debug)]
struct Bbr3 {
    constants: &'static Constants,
    rules: Bbr3Rules,
    least_window: f64,
    /// The window at the start (`init_cwnd`).
    initial_window: f64,
    payload_bits: f64,
    random: Pcg64Mcg,
    state: State,
    /// The gain in force (`pacing_gain`).
    pacing_gain: f64,
    /// The rate in force, in bits per second.
    pacing_rate: f64,
    /// A first ACK has come.
    has_begun: bool,
    has_seen_round_trip: bool,
    /// The window, in segments, during a call.
    window: f64,
    slow_start_threshold: f64,
    /// The window was the limit of sending for what is delivered up to here (`is_cwnd_limited`).
    window_limited_until: u64,
    rounds: Rounds,
    bandwidth: BandwidthFilter,
    round_trips: RoundTripFilter,
    aggregation: Aggregation,
    full_pipe: FullPipe,
    loss_round: LossRound,
    bounds: Bounds,
    ecn: Ecn,
    probe: Probe,
    round_trip_probe: RoundTripProbe,
    /// The count of rounds when Drain began (BBR.drain_start_round).
    drain_started: u64,
    /// Sending restarts after an idle time (`idle_restart`).
    restarts: bool,
    /// The last good window (`prior_cwnd`).
    prior_window: f64,
    /// The window before a timeout whose losses are still to be evaluated.
    window_before_timeout: Option<f64>,
    previous_phase: Phase,
    saved: Option<Saved>,
    /// Segments lost since the last ACK, each with the number lost by then.
    losses: Vec<(DeliveredSegment, u64)>,
    /// Segments delivered, by the last ACK.
    delivered: u64,
}

impl Bbr3 {
    /// `bbr_init`.
    fn new(config: &Bbr3Config, setup: &Setup) -> Self {
        let constants = Constants::of(config.rules);
        Self {
            constants,
            rules: config.rules,
            least_window: f64::from(config.least_window_segments),
            initial_window: f64::from(setup.initial_window_segments).min(LARGEST_INITIAL_WINDOW),
            payload_bits: f64::from(setup.payload_bytes) * 8.0,
            random: Pcg64Mcg::new(u128::from(FIRST_SEED)),
            state: State::Startup,
            pacing_gain: constants.startup_pacing_gain,
            pacing_rate: 0.0,
            has_begun: false,
            has_seen_round_trip: false,
            window: 0.0,
            slow_start_threshold: f64::INFINITY,
            window_limited_until: 0,
            rounds: Rounds::default(),
            bandwidth: BandwidthFilter::default(),
            round_trips: RoundTripFilter::default(),
            aggregation: Aggregation::default(),
            full_pipe: FullPipe::default(),
            loss_round: LossRound::default(),
            bounds: Bounds::NONE,
            ecn: Ecn::new(config.ecn_low && config.rules == Bbr3Rules::Linux),
            probe: Probe {
                ack_phase: AckPhase::Initial,
                started: Time::ZERO,
                wait: PROBE_BASE_WAIT,
                has_samples: false,
                was_too_high: false,
                was_risky: false,
                rounds: 0,
                segments_per_increase: f64::INFINITY,
                acked: 0.0,
            },
            round_trip_probe: RoundTripProbe::default(),
            drain_started: 0,
            restarts: false,
            prior_window: 0.0,
            window_before_timeout: None,
            previous_phase: Phase::Open,
            saved: None,
            losses: Vec::new(),
            delivered: 0,
        }
    }

    /// `bbr_init`: the values that depend on the handshake.
    fn begin(&mut self, ack: &AckSample<'_>) {
        self.has_begun = true;
        self.round_trips.begin(ack.round_trips.shortest, ack.now);
        self.aggregation.restart(ack.now);
        self.set_first_pacing_rate(ack.round_trips.smoothed);
    }

    /// `bbr_main`: the order of the rules at an ACK.
    fn evaluate(&mut self, sample: &Sample) {
        self.note_window_limit(sample);
        self.rounds.update(sample);
        if self.rounds.has_started {
            self.update_ecn_alpha(sample);
        }
        self.loss_round.has_mark |= self.ecn.is_eligible && sample.echoes_mark;
        self.loss_round.update(sample);

        self.update_model(sample);

        let (pacing_gain, window_gain) = self.gains();
        self.pacing_gain = pacing_gain;
        self.set_pacing_rate(pacing_gain, sample.smoothed);
        self.set_window(sample, window_gain);
        self.bound_window();

        self.loss_round.advance(sample);
        self.previous_phase = sample.phase;
        self.loss_round.has_loss_in_cycle |= sample.lost > 0.0;
        self.loss_round.has_mark_in_cycle |= sample.marked > 0.0;
    }

    /// `bbr_update_model`.
    fn update_model(&mut self, sample: &Sample) {
        self.update_congestion_signals(sample);
        let (bandwidth, window, is_full) = (self.bandwidth(), self.window, self.full_pipe.is_reached);
        self.aggregation.update(sample, self.rounds.has_started, is_full, bandwidth, window);
        self.check_losses_in_startup(sample);
        let waits_for_round = self.rules == Bbr3Rules::Draft;
        self.full_pipe.update(sample, self.rounds.has_started, waits_for_round);
        self.check_drain(sample);
        self.update_cycle(sample);
        self.update_round_trips(sample);
    }

    /// `bbr_update_congestion_signals`.
    fn update_congestion_signals(&mut self, sample: &Sample) {
        let Some(bandwidth) = sample.valid_bandwidth() else { return };
        if !sample.is_application_limited || bandwidth >= self.bandwidth.maximum() {
            self.bandwidth.take(bandwidth);
        }
        self.loss_round.has_loss |= sample.newly_lost > 0;
        if self.loss_round.has_started {
            self.adapt_lower_bounds();
            (self.loss_round.has_loss, self.loss_round.has_mark) = (false, false);
        }
    }

    /// The segments found lost (`bbr_skb_marked_lost`). At a timeout, Linux evaluates them before it lowers the window.
    fn evaluate_losses(&mut self, now: Time) {
        let window = self.window;
        let before_timeout = self.window_before_timeout.take();
        if let Some(before) = before_timeout {
            self.window = before;
        }
        let mut losses = core::mem::take(&mut self.losses);
        for (segment, lost) in losses.drain(..) {
            self.evaluate_lost_segment(&segment, lost, now);
        }
        self.losses = losses;
        if before_timeout.is_some() && !self.is_probing() && self.bounds.in_flight_low.is_infinite() {
            // `bbr_set_state`: the bound must not follow from the window after the timeout.
            self.bounds.in_flight_low = self.window.max(self.prior_window);
        }
        self.window = window;
    }

    /// `bbr_set_state`: the window returns after a timeout. The draft's RestoreCwnd: after any recovery.
    fn restore_window(&mut self, phase: Phase) {
        let is_over = match self.rules {
            Bbr3Rules::Linux => self.previous_phase == Phase::Timeout && phase != Phase::Timeout,
            Bbr3Rules::Draft => self.previous_phase != Phase::Open && phase == Phase::Open,
        };
        if is_over {
            self.window = self.window.max(self.prior_window);
        }
    }

    /// `bbr_save_cwnd`.
    fn save_window(&mut self, window: f64) {
        let is_good = self.previous_phase == Phase::Open && self.state != State::ProbeRoundTrip;
        self.prior_window = if is_good { window } else { self.prior_window.max(window) };
    }

    /// `bbr_ssthresh`: a recovery begins.
    fn save(&mut self, window: f64) {
        self.save_window(window);
        self.saved = Some(Saved { bounds: self.bounds, ended: None });
    }

    fn write(&self, control: &mut Control) {
        control.congestion_window = self.window;
        control.slow_start_threshold = self.slow_start_threshold;
        control.pacing_rate = Some(self.rate());
    }
}

impl Controller for Bbr3 {
    fn needs(&self) -> Needs {
        Needs {
            delivery: true,
            round_trip_estimate: true,
            owns_recovery: true,
            marks: true,
            answers_marks: true,
            randomness: true,
            owns_slow_start: true,
            ..Needs::default()
        }
    }

    fn pacing(&self) -> Option<Pacing> {
        Some(Pacing::LINUX)
    }

    fn seed(&mut self, seed: u64) {
        self.random = Pcg64Mcg::new(u128::from(seed));
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, control: &mut Control) {
        let Some(delivery) = ack.delivery else { return };
        self.window = control.congestion_window;
        if !self.has_begun {
            self.begin(ack);
        }
        self.delivered = delivery.delivered;
        self.evaluate_losses(ack.now);
        self.restore_window(ack.phase);
        self.evaluate(&Sample::new(ack, delivery, self.round_trip_probe.limited));
        self.write(control);
    }

    /// The model, not the loss, sets the window.
    fn on_loss(&mut self, _congestion: &CongestionSample, control: &mut Control) {
        self.save(control.congestion_window);
    }

    fn on_ecn(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    fn on_lost_segment(&mut self, segment: &DeliveredSegment, lost: u64, _control: &mut Control) {
        self.losses.push((*segment, lost));
    }

    /// `bbr_cwnd_event`, CA_EVENT_TX_START.
    fn on_sent_after_idle(&mut self, now: Time, control: &mut Control) {
        if !self.has_begun {
            return;
        }
        self.window = control.congestion_window;
        self.restarts = true;
        self.aggregation.restart(now);
        if self.state.is_probe_bandwidth() {
            self.set_pacing_rate(1.0, None);
        } else if self.state == State::ProbeRoundTrip {
            self.check_round_trip_probe_done(now);
        }
        self.write(control);
    }

    /// `bbr_set_state`, TCP_CA_Loss. The transport sets the window.
    fn on_timeout(&mut self, congestion: &CongestionSample, control: &mut Control) {
        let window = control.congestion_window;
        if !congestion.keeps_threshold {
            self.save(window);
        }
        self.window_before_timeout.get_or_insert(window);
        self.previous_phase = Phase::Timeout;
        self.full_pipe.reset();
    }

    /// `bbr_undo_cwnd`. The transport restores the window.
    fn undo(&mut self) {
        self.losses.clear();
        self.window_before_timeout = None;
        self.full_pipe.reset();
        self.loss_round.has_loss = false;
        let Some(saved) = self.saved.take() else { return };
        self.bounds = self.bounds.max(saved.bounds);
        if self.rules == Bbr3Rules::Draft {
            self.return_to(saved.ended);
        }
    }

    fn state(&self) -> Option<&'static str> {
        Some(match self.state {
            State::Startup => "startup",
            State::Drain => "drain",
            State::Down => "probe_bw_down",
            State::Cruise => "probe_bw_cruise",
            State::Refill => "probe_bw_refill",
            State::Up => "probe_bw_up",
            State::ProbeRoundTrip => "probe_rtt",
        })
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("bandwidth_bps", self.bandwidth() * self.payload_bits);
        visit("pacing_gain", self.pacing_gain);
        if let Some(shortest) = self.round_trips.shortest {
            visit("model_rtt_s", shortest.seconds());
        }
    }
}

#[cfg(test)]
mod tests;
