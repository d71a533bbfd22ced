//! The constants of BBR version 3.

use super::Bbr3Rules;
use crate::Span;

/// A fraction of 256, in which Linux computes gains (BBR_UNIT).
const fn fraction(numerator: u32) -> f64 {
    numerator as f64 / 256.0
}

/// The constants in which the rules differ.
#[derive(Debug)]
pub(super) struct Constants {
    /// `startup_pacing_gain`, BBR.StartupPacingGain.
    pub startup_pacing_gain: f64,
    /// `drain_gain`, BBR.DrainPacingGain.
    pub drain_pacing_gain: f64,
    /// `bbr_pacing_gain`, BBR.ProbeDownPacingGain.
    pub down_pacing_gain: f64,
    /// The window in ProbeRTT, as a multiple of the product of bandwidth and round trip (`bbr_update_gains`,
    /// BBR.ProbeRTTCwndGain).
    pub round_trip_probe_window_gain: f64,
    /// The part of a bound that a loss leaves (1 - `beta`, BBR.Beta).
    pub loss_keep: f64,
    /// The share of lost segments above which the data in flight is too much (`loss_thresh`, BBR.LossThresh).
    pub loss_threshold: f64,
    /// The part of the upper bound that is left free (`inflight_headroom`, BBR.Headroom).
    pub headroom: f64,
}

impl Constants {
    const LINUX: Self = Self {
        startup_pacing_gain: fraction(710),
        drain_pacing_gain: fraction(88),
        down_pacing_gain: fraction(232),
        round_trip_probe_window_gain: 1.0,
        loss_keep: fraction(180),
        loss_threshold: fraction(5),
        headroom: fraction(38),
    };

    const DRAFT: Self = Self {
        startup_pacing_gain: 2.77,
        drain_pacing_gain: 0.5,
        down_pacing_gain: 0.9,
        round_trip_probe_window_gain: 0.5,
        loss_keep: 0.7,
        loss_threshold: 0.02,
        headroom: 0.15,
    };

    pub const fn of(rules: Bbr3Rules) -> &'static Self {
        match rules {
            Bbr3Rules::Linux => &Self::LINUX,
            Bbr3Rules::Draft => &Self::DRAFT,
        }
    }
}

/// The pacing gain of a probe (`bbr_pacing_gain`).
pub(super) const UP_PACING_GAIN: f64 = 1.25;
/// The window, as a multiple of the product of bandwidth and round trip (`cwnd_gain`).
pub(super) const WINDOW_GAIN: f64 = 2.0;
/// Its increase in a probe (`bw_probe_cwnd_gain`).
pub(super) const UP_WINDOW_GAIN: f64 = 0.25;
/// Segments more in flight in a probe (`bbr_quantization_budget`).
pub(super) const UP_EXTRA_SEGMENTS: f64 = 2.0;
/// The pacing rate is that much below the bandwidth (`bbr_pacing_margin_percent`).
pub(super) const PACING_MARGIN: f64 = 0.01;
/// The round trip of the first pacing rate, if none is known (`bbr_init_pacing_rate_from_rtt`).
pub(super) const NOMINAL_ROUND_TRIP: Span = Span::from_milliseconds(1);
/// The largest window that counts as the initial one (`bbr_init`).
pub(super) const LARGEST_INITIAL_WINDOW: f64 = 127.0;
/// Before the pipe is full, the window may grow to this multiple of the initial one (`bbr_set_cwnd`).
pub(super) const EARLY_WINDOW_FACTOR: f64 = 2.0;
/// The rounding of real numbers must not add a segment to a product: it may be too large by this share.
pub(super) const ROUNDING: f64 = 1e-6;
/// Send quanta in flight that end systems need (`bbr_quantization_budget`).
pub(super) const QUANTA_IN_FLIGHT: f64 = 3.0;
/// Below this pacing rate in bits per second, a quantum is one segment (`bbr_min_tso_rate` of version 1).
pub(super) const SLOW_RATE: f64 = 1_200_000.0;
/// The largest quantum in bytes (`GSO_LEGACY_MAX_SIZE`).
pub(super) const LARGEST_QUANTUM_BYTES: f64 = 65_536.0;

/// A sample below this multiple of the bandwidth is no growth (`full_bw_thresh`).
pub(super) const GROWTH: f64 = 1.25;
/// The pipe is full after so many rounds without growth (`full_bw_cnt`).
pub(super) const ROUNDS_WITHOUT_GROWTH: u32 = 3;
/// Startup ends by loss only after so many loss events in a round (`full_loss_cnt`).
pub(super) const LOSS_EVENTS: u32 = 6;
/// Startup ends after so many rounds with many marks (`full_ecn_cnt`).
pub(super) const MARKED_ROUNDS: u32 = 2;
/// Drain takes so many rounds at most (the draft's CheckDrainDone).
pub(super) const DRAIN_ROUNDS: u64 = 3;

/// The shortest wait for a probe (`bw_probe_base_us`).
pub(super) const PROBE_BASE_WAIT: Span = Span::from_seconds(2);
/// The longest random addition to it, in seconds (`bw_probe_rand_us`).
pub(super) const PROBE_RANDOM_SECONDS: f64 = 1.0;
/// The most rounds to wait for a probe (`bw_probe_max_rounds`).
pub(super) const MOST_PROBE_ROUNDS: f64 = 63.0;
/// Rounds start to count from a random number below this (`bw_probe_rand_rounds`).
pub(super) const PROBE_RANDOM_ROUNDS: f64 = 2.0;
/// The growth of a probe doubles at most so often (`bbr_raise_inflight_hi_slope`).
pub(super) const MOST_DOUBLINGS: u32 = 30;

/// The window of the shortest round trip (`min_rtt_win_sec`).
pub(super) const ROUND_TRIP_WINDOW: Span = Span::from_seconds(10);
/// ProbeRTT comes when no sample was as short for this time (`probe_rtt_win_ms`).
pub(super) const ROUND_TRIP_PROBE_INTERVAL: Span = Span::from_seconds(5);
/// The time with a small window in ProbeRTT (`probe_rtt_mode_ms`).
pub(super) const ROUND_TRIP_PROBE_TIME: Span = Span::from_milliseconds(200);
/// That window, as a multiple of the product of bandwidth and round trip (`probe_rtt_cwnd_gain`).
pub(super) const ROUND_TRIP_PROBE_CAP: f64 = 0.5;

/// Rounds of one of two windows of the maximum aggregation (`extra_acked_win_rtts`), and in Startup.
pub(super) const AGGREGATION_ROUNDS: u32 = 5;
pub(super) const AGGREGATION_ROUNDS_IN_STARTUP: u32 = 1;
/// The most aggregation, as time at the bandwidth (`bbr_extra_acked_max_us`), in seconds.
pub(super) const MOST_AGGREGATION_SECONDS: f64 = 0.1;
/// Segments after which an epoch of aggregation ends (`bbr_ack_epoch_acked_reset_thresh`).
pub(super) const LONGEST_EPOCH: f64 = 1_048_576.0;

/// Marks count once a round trip was at most this (`ecn_max_rtt_us`).
pub(super) const ECN_LONGEST_ROUND_TRIP: Span = Span::from_milliseconds(5);
/// The weight of a round in the share of marks (`ecn_alpha_gain`).
pub(super) const ECN_ALPHA_GAIN: f64 = fraction(16);
/// The part of that share by which the lower bound falls (`ecn_factor`).
pub(super) const ECN_FACTOR: f64 = fraction(85);
/// The share of marks above which the data in flight is too much (`ecn_thresh`).
pub(super) const ECN_THRESHOLD: f64 = fraction(128);
/// The part of the upper bound by which a probe after marks grows in its first round (`ecn_reprobe_gain`).
pub(super) const ECN_REPROBE_GAIN: f64 = fraction(128);
