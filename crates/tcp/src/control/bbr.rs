//! BBR version 1: the sender models the path by its bandwidth and its round trip.
//!
//! # What it does
//! The largest delivery rate of ten rounds is the bandwidth, and the shortest round trip of ten seconds is the delay.
//! Segments are paced near this bandwidth, and the window is twice the product of both. Startup doubles the rate each
//! round until it grows by less than a quarter in three rounds. Drain then removes the queue that this has built. In
//! the steady state, the sender paces at 1.25 times the bandwidth for about a round trip, at 0.75 times for the next,
//! and at the bandwidth itself for six more. If no sample has confirmed the shortest round trip for ten seconds, the
//! window is four segments for at least 200 ms. Losses cut the window for one round only, unless they indicate a token
//! bucket on the path. Marks have no effect.
//!
//! # States
//! ```text
//!            pipe full               queue gone
//!   startup -----------> drain -------------------> probe_bw
//!    |  ^                  |                         |    ^
//!    |  |                  | no RTT as short         |    |
//!    |  |                  v for 10 s                |    |
//!    +--|------------> probe_rtt <-------------------+    |
//!       |               |     |                           |
//!       +---------------+     +---------------------------+
//!         pipe not full         pipe full
//!
//!   state      pacing gain                  window
//!   startup    2.89                         2.89 products
//!   drain      0.34                         2.89 products
//!   probe_bw   1.25, 0.75, 1 six times      2 products
//!   probe_rtt  1                            4 segments
//! ```
//!
//! A product is that of bandwidth and shortest round trip. All volumes have room for three bursts in addition, and the
//! window for segments whose ACKs come together.
//!
//! - The pipe is full after three rounds in which the bandwidth stays below 1.25 times what it was. Rounds that the
//!   application limits do not count.
//! - The queue of Startup is gone when no more than a product is in flight.
//! - In `probe_bw`, a phase lasts for the shortest round trip. The phase at 1.25 goes on until 1.25 products are in
//!   flight or a segment is lost. The phase at 0.75 ends early when no more than a product is in flight. The first
//!   phase is random, but not the one at 0.75.
//! - If no sample was as short as the shortest round trip for 10 s, any state changes to `probe_rtt`, unless the sender
//!   restarts after an idle time. It ends 200 ms and a round after no more than four segments are in flight. The window
//!   is then that of before.
//! - Losses, marks and timeouts change no state. While the rate of a token bucket is in use, all phases of `probe_bw`
//!   have a gain of 1.
//!
//! # When to use it
//! Use it to model servers that were switched to BBR: `bbr` is version 1 in Linux. It fills paths with random losses on
//! which CUBIC and Reno stay slow. In buffers below two bandwidth-delay products, it takes more than its share from
//! CUBIC flows and causes many losses.
//!
//! # Example
//! ```toml
//! transport.tcp = { congestion_control = "bbr" }
//! ```
//!
//! It needs `rack`, which the preset "linux" has.
//!
//! # Source
//! Linux, `tcp_bbr.c` and `win_minmax.c`, read for their rules; each function below names its counterpart there.
//! Cardwell et al. 2016, "BBR: congestion-based congestion control".
//!
//! # Where we differ
//! Times are exact, whereas Linux counts microseconds and, for the window of the round trip, ticks of the kernel. Rates
//! are whole multiples of Linux's unit, and otherwise real numbers. Model and pacing rate start with the first ACK of
//! data instead of the handshake. If the bandwidth is below that unit, Linux does not pace, and we pace by window and
//! round trip. Linux answers an echo of a mark with CWR, and we do not, so that the receiver repeats it.
//!
//! # Parameters
//! `transport.tcp.congestion_control`: `"bbr"`, or a table `bbr` with these.

use alloc::boxed::Box;
use core::mem::take;
use core::ops::RangeInclusive;

use rand_pcg::Pcg64Mcg;

use crate::control::setup::Setup;
use crate::{
    AckSample, CongestionSample, Control, Controller, Delivery, Needs, Pacing, ParameterError, Phase, Rate, Span, Time,
    require,
};

mod aggregation;
mod policer;
mod recent_maximum;
mod states;
mod window;

use aggregation::Aggregation;
use policer::Policer;
use recent_maximum::RecentMaximum;

/// Gains are fractions of this (`BBR_UNIT`).
const GAIN_UNIT: f64 = 256.0;
/// Doubles the rate each round (`bbr_high_gain`).
const HIGH_GAIN: f64 = 739.0 / GAIN_UNIT;
/// Removes the queue of Startup in about a round (`bbr_drain_gain`).
const DRAIN_GAIN: f64 = 88.0 / GAIN_UNIT;
/// The window of the steady state (`bbr_cwnd_gain`).
const WINDOW_GAIN: f64 = 512.0 / GAIN_UNIT;
/// The pacing gains of the steady state, a phase each (`bbr_pacing_gain`).
const CYCLE: [f64; 8] = [320.0 / GAIN_UNIT, 192.0 / GAIN_UNIT, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The steady state starts in one of so many phases (`bbr_cycle_rand`).
const START_PHASES: usize = 7;
/// Segments that the phase of the highest gain adds, to exceed also a small product (`bbr_quantization_budget`).
const PROBE_SEGMENTS: f64 = 2.0;
/// The share of the bandwidth at which segments are paced (`bbr_pacing_margin_percent`).
const PACING_SHARE: f64 = 0.99;
/// Linux counts rates in 2^-24 segments per microsecond: this many segments per second (`BW_UNIT`).
const RATE_UNIT: f64 = 1e6 / 16_777_216.0;
/// The round trip of the first pacing rate, without a sample (`bbr_init_pacing_rate_from_rtt`).
const NOMINAL_ROUND_TRIP: Span = Span::from_milliseconds(1);
/// The shortest round trip that counts for this rate.
const LEAST_ROUND_TRIP: Span = Span::from_microseconds(1);
/// The window while no round trip was sampled, and the segments until the window is bounded (`TCP_INIT_CWND`).
const INITIAL_SEGMENTS: f64 = 10.0;
/// Growth of the bandwidth in a round by which the pipe is not full (`bbr_full_bw_thresh`).
const FULL_GROWTH: f64 = 320.0 / GAIN_UNIT;
/// Rounds without it after which the pipe is full (`bbr_full_bw_cnt`).
const FULL_ROUNDS: u32 = 3;
/// Bursts per second at the pacing rate (`sk_pacing_shift`).
const BURSTS_PER_SECOND: f64 = 1024.0;
/// The bursts for which the window has room in addition (`bbr_quantization_budget`).
const BURSTS_IN_HOSTS: f64 = 3.0;
/// The longest burst, in bytes and in segments (`GSO_MAX_SIZE - 1 - MAX_TCP_HEADER`, `bbr_tso_segs_goal`).
const LONGEST_BURST: (f64, f64) = (65_215.0, 127.0);
/// From this rate on a burst has two segments at least, and below it one (`bbr_min_tso_rate`).
const SLOW_BITS_PER_SECOND: u64 = 1_200_000;
/// The least window that may be chosen (`bbr_cwnd_min_target`).
const LEAST_WINDOW: u32 = 4;

forebay_units::configuration! {
    /// The parameters of BBR version 1.
    #[derive(Copy)]
    pub struct BbrConfig {
        /// Time for which a sample of the shortest round trip is valid (`bbr_min_rtt_win_sec`: 10 s). Above 0.
        pub min_round_trip_window: Span = Span::from_seconds(10);
        /// Least duration of the state with the least window, in which the round trip is measured again
        /// (`bbr_probe_rtt_mode_ms`: 200 ms). Shorter than the window above; 0 s leaves this state out.
        pub probe_round_trip_time: Span = Span::from_milliseconds(200);
        /// Least window outside of recoveries, and the window while the round trip is measured again, in segments
        /// (`bbr_cwnd_min_target`: 4). At least 4.
        pub least_window_segments: u32 = LEAST_WINDOW;
        /// Whether a token bucket on the path is detected by its losses. Its rate is then used for 48 rounds
        /// (`bbr_lt_bw_sampling`).
        pub policer_detection: bool = true;
    }
}

impl BbrConfig {
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        require(
            self.min_round_trip_window > Span::ZERO,
            "congestion_control.bbr.min_round_trip_window",
            "be longer than 0 s",
        )?;
        require(
            self.probe_round_trip_time < self.min_round_trip_window,
            "congestion_control.bbr.probe_round_trip_time",
            "be shorter than min_round_trip_window",
        )?;
        require(
            self.least_window_segments >= LEAST_WINDOW,
            "congestion_control.bbr.least_window_segments",
            "be at least 4",
        )
    }
}

pub(crate) fn build(config: &BbrConfig, setup: &Setup) -> Box<dyn Controller> {
    Box::new(Bbr::new(*config, setup.payload_bytes))
}

/// The whole number of Linux's units in a rate.
fn truncated(segments_per_second: f64) -> f64 {
    libm::floor(segments_per_second / RATE_UNIT) * RATE_UNIT
}

/// The states (`enum bbr_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The rate doubles each round, until the pipe is full.
    Startup,
    /// The queue of Startup is removed.
    Drain,
    /// The steady state: the gain cycles.
    ProbeBandwidth,
    /// The window is the least one, to measure the round trip without a queue.
    ProbeRoundTrip,
}

/// The counters of the connection at an ACK.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    delivered: u64,
    lost: u64,
    /// The time of the last delivery.
    delivered_at: Time,
}

/// An ACK as the rules need it (`struct rate_sample`).
struct Sample<'a> {
    now: Time,
    delivery: &'a Delivery,
    /// The delivery rate in segments per second, if it is valid.
    rate: Option<f64>,
    is_application_limited: bool,
}

/// BBR version 1.
#[derive(Debug)]
struct Bbr {
    config: BbrConfig,
    payload_bytes: f64,
    random: Pcg64Mcg,
    has_started: bool,
    /// The pacing rate was set by a round trip (`has_seen_rtt`).
    has_round_trip: bool,
    state: State,
    pacing_gain: f64,
    window_gain: f64,
    counters: Counters,
    /// The current round, and the segments that must be delivered before one that ends it is sent.
    round: u64,
    round_end: u64,
    is_round_start: bool,
    bandwidths: RecentMaximum,
    /// The shortest round trip, and the time of its sample.
    min_round_trip: Option<Span>,
    min_round_trip_at: Time,
    /// The bandwidth that must grow (`full_bw`), and the rounds in which it has not.
    full_bandwidth: f64,
    full_rounds: u32,
    is_pipe_full: bool,
    /// The phase of the cycle, and its start.
    phase: usize,
    phase_start: Time,
    /// The state with the least window ends at this time at the earliest, after a round.
    probe_end: Option<Time>,
    is_probe_round_over: bool,
    /// Segments sent while so many were delivered are limited by the state with the least window.
    probe_limited: RangeInclusive<u64>,
    aggregation: Aggregation,
    policer: Policer,
    /// The window before a recovery or the least window (`prior_cwnd`).
    prior_window: f64,
    /// The phase at the last ACK that reported a delivery, or at a timeout since (`prev_ca_state`).
    prior_phase: Phase,
    conserves_segments: bool,
    is_idle_restart: bool,
    /// Timeouts since the last ACK.
    timeouts: u32,
}

impl Bbr {
    /// `bbr_init`.
    fn new(config: BbrConfig, payload_bytes: u32) -> Self {
        Self {
            config,
            payload_bytes: f64::from(payload_bytes),
            random: Pcg64Mcg::new(0),
            has_started: false,
            has_round_trip: false,
            state: State::Startup,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            counters: Counters::default(),
            round: 0,
            round_end: 0,
            is_round_start: false,
            bandwidths: RecentMaximum::default(),
            min_round_trip: None,
            min_round_trip_at: Time::ZERO,
            full_bandwidth: 0.0,
            full_rounds: 0,
            is_pipe_full: false,
            phase: 0,
            phase_start: Time::ZERO,
            probe_end: None,
            is_probe_round_over: false,
            probe_limited: RangeInclusive::new(1, 0),
            aggregation: Aggregation::default(),
            policer: Policer::default(),
            prior_window: 0.0,
            prior_phase: Phase::Open,
            conserves_segments: false,
            is_idle_restart: false,
            timeouts: 0,
        }
    }

    /// `bbr_init`, as far as the round trips of the handshake are needed.
    fn start(&mut self, ack: &AckSample<'_>, control: &mut Control) {
        self.has_started = true;
        self.min_round_trip = ack.round_trips.shortest;
        self.min_round_trip_at = ack.now;
        self.aggregation.start = ack.now;
        self.set_first_pacing_rate(ack.round_trips.smoothed, control);
    }

    fn least_window(&self) -> f64 {
        f64::from(self.config.least_window_segments)
    }

    /// The bandwidth of the path in segments per second (`bbr_bw`).
    fn bandwidth(&self) -> f64 {
        self.policer.rate.filter(|_| self.policer.is_found).unwrap_or(self.bandwidths.get())
    }

    /// `bbr_rate_bytes_per_sec`.
    fn bytes_per_second(&self, bandwidth: f64, gain: f64) -> f64 {
        libm::floor(bandwidth * self.payload_bytes * gain * PACING_SHARE)
    }

    fn pacing_rate(&self, bandwidth: f64, gain: f64) -> Option<Rate> {
        Rate::new((8.0 * self.bytes_per_second(bandwidth, gain)) as u64)
    }

    /// `bbr_init_pacing_rate_from_rtt`.
    fn set_first_pacing_rate(&mut self, smoothed: Option<Span>, control: &mut Control) {
        self.has_round_trip = smoothed.is_some();
        let round_trip = smoothed.map_or(NOMINAL_ROUND_TRIP, |smoothed| smoothed.max(LEAST_ROUND_TRIP));
        let bandwidth = truncated(control.congestion_window / round_trip.seconds());
        control.pacing_rate = self.pacing_rate(bandwidth, HIGH_GAIN);
    }

    /// `bbr_set_pacing_rate`: before the pipe is full, the rate only rises.
    fn set_pacing_rate(&mut self, gain: f64, smoothed: Option<Span>, control: &mut Control) {
        if !self.has_round_trip && smoothed.is_some() {
            self.set_first_pacing_rate(smoothed, control);
        }
        let rate = self.pacing_rate(self.bandwidth(), gain);
        if self.is_pipe_full || rate > control.pacing_rate {
            control.pacing_rate = rate;
        }
    }

    /// The segments of a burst (`bbr_tso_segs_goal`).
    fn burst_segments(&self, control: &Control) -> f64 {
        let bits_per_second = control.pacing_rate.map_or(0, Rate::bits_per_second);
        let least = if bits_per_second < SLOW_BITS_PER_SECOND { 1.0 } else { 2.0 };
        let (most_bytes, most_segments) = LONGEST_BURST;
        let bytes = (bits_per_second as f64 / 8.0 / BURSTS_PER_SECOND).min(most_bytes);
        libm::floor(bytes / self.payload_bytes).max(least).min(most_segments)
    }

    /// The product of bandwidth and shortest round trip (`bbr_bdp`).
    fn product(&self, bandwidth: f64, gain: f64) -> f64 {
        self.min_round_trip.map_or(INITIAL_SEGMENTS, |shortest| libm::ceil(bandwidth * shortest.seconds() * gain))
    }

    /// `bbr_quantization_budget`.
    fn with_bursts(&self, segments: f64, control: &Control) -> f64 {
        let with_bursts = segments + BURSTS_IN_HOSTS * self.burst_segments(control);
        let even = 2.0 * libm::ceil(with_bursts / 2.0);
        let is_probing = self.state == State::ProbeBandwidth && self.phase == 0;
        if is_probing { even + PROBE_SEGMENTS } else { even }
    }

    /// The segments in flight at this gain (`bbr_inflight`).
    fn in_flight_at(&self, gain: f64, control: &Control) -> f64 {
        self.with_bursts(self.product(self.bandwidths.get(), gain), control)
    }

    /// Segments in the network at the time when the pacing lets the next one go (`bbr_packets_in_net_at_edt`).
    fn in_flight_at_departure(&self, in_flight: u64, sample: &Sample<'_>, control: &Control) -> f64 {
        let wait = sample.delivery.next_departure.since(sample.now);
        let departing = if self.pacing_gain > 1.0 { self.burst_segments(control) } else { 0.0 };
        (in_flight as f64 + departing - libm::floor(self.bandwidth() * wait.seconds())).max(0.0)
    }

    /// `bbr_update_bw`.
    fn update_bandwidth(&mut self, sample: &Sample<'_>) {
        self.is_round_start = false;
        let (Some(segment), Some(rate)) = (sample.delivery.segment, sample.rate) else { return };
        if segment.delivered_before >= self.round_end {
            self.round_end = sample.delivery.delivered;
            self.round += 1;
            self.is_round_start = true;
            self.conserves_segments = false;
        }
        let has_losses = sample.delivery.newly_lost > 0;
        self.look_for_policer(self.counters, self.is_round_start, has_losses, sample.is_application_limited);
        if !sample.is_application_limited || rate >= self.bandwidths.get() {
            self.bandwidths.update(self.round, rate);
        }
    }

    /// The counters of this ACK. Timeouts since the last one count now (`bbr_set_state`), with the losses that they
    /// have found.
    fn count(&mut self, now: Time, delivery: &Delivery) {
        let before = Counters { lost: delivery.lost.saturating_sub(delivery.newly_lost), ..self.counters };
        for _ in 0..take(&mut self.timeouts) {
            self.look_for_policer(before, true, true, false);
        }
        let delivered_at = if delivery.newly_delivered > 0 { now } else { before.delivered_at };
        self.counters = Counters { delivered: delivery.delivered, lost: delivery.lost, delivered_at };
    }
}

impl Controller for Bbr {
    fn needs(&self) -> Needs {
        Needs {
            delivery: true,
            round_trip_estimate: true,
            owns_recovery: true,
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

    /// `bbr_main`, `bbr_update_model`.
    fn on_ack(&mut self, ack: &AckSample<'_>, control: &mut Control) {
        let Some(delivery) = ack.delivery else { return };
        if !self.has_started {
            self.start(ack, control);
        }
        self.count(ack.now, delivery);
        let is_application_limited = delivery.segment.is_some_and(|segment| {
            segment.is_application_limited || self.probe_limited.contains(&segment.delivered_before)
        });
        let sample = Sample { now: ack.now, delivery, rate: delivery.rate().map(truncated), is_application_limited };
        self.update_bandwidth(&sample);
        self.update_aggregation(&sample, control.congestion_window);
        self.update_phase(&sample, control);
        self.check_full_pipe(&sample);
        self.check_drain(&sample, control);
        self.update_min_round_trip(&sample, control);
        self.update_gains();
        self.set_pacing_rate(self.pacing_gain, ack.round_trips.smoothed, control);
        self.set_window(&sample, ack.phase, control);
    }

    /// `bbr_ssthresh`: the window is kept for the end of the recovery.
    fn on_loss(&mut self, _congestion: &CongestionSample, control: &mut Control) {
        self.save_window(control);
    }

    /// Marks have no effect.
    fn on_ecn(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    /// `bbr_cwnd_event`: after an idle time, the bandwidth is enough.
    fn on_sent_after_idle(&mut self, now: Time, control: &mut Control) {
        self.is_idle_restart = true;
        (self.aggregation.start, self.aggregation.acked) = (now, 0.0);
        match self.state {
            State::ProbeBandwidth => self.set_pacing_rate(1.0, None, control),
            State::ProbeRoundTrip => self.end_probe_if_over(now, control),
            State::Startup | State::Drain => {}
        }
    }

    /// `bbr_ssthresh`, `bbr_set_state`.
    fn on_timeout(&mut self, congestion: &CongestionSample, control: &mut Control) {
        if !congestion.keeps_threshold {
            self.save_window(control);
        }
        self.prior_phase = Phase::Timeout;
        self.full_bandwidth = 0.0;
        self.timeouts = self.timeouts.saturating_add(1);
    }

    /// `bbr_undo_cwnd`.
    fn undo(&mut self) {
        (self.full_bandwidth, self.full_rounds) = (0.0, 0);
        self.policer = Policer::default();
    }

    fn state(&self) -> Option<&'static str> {
        Some(match self.state {
            State::Startup => "startup",
            State::Drain => "drain",
            State::ProbeBandwidth => "probe_bw",
            State::ProbeRoundTrip => "probe_rtt",
        })
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("bandwidth_bps", 8.0 * self.payload_bytes * self.bandwidth());
        visit("pacing_gain", self.pacing_gain);
        if let Some(shortest) = self.min_round_trip {
            visit("model_rtt_s", shortest.seconds());
        }
    }
}

#[cfg(test)]
mod tests;
