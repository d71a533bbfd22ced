//! CUBIC: the window is a cubic function of the time since the last reduction.
//!
//! # What it does
//! The window returns quickly towards its size at the last loss, stays near it for a while, and then grows further,
//! faster and faster. Because growth depends on time and not on round trips, flows with different round trips grow
//! alike. Where Reno would have the larger window, CUBIC uses Reno's.
//!
//! # When to use it
//! Use it to model today's senders: CUBIC is the default of Linux, Windows and macOS. `preset = "linux"` selects it
//! with the other defaults of Linux, which is closer to a real host than `"cubic"` alone.
//!
//! # Example
//! ```toml
//! transport.tcp = { congestion_control = "cubic", sack = true }
//! ```
//!
//! # Source
//! RFC 9438, section 4; Ha, Rhee & Xu 2008, "CUBIC: a new TCP-friendly high-speed TCP variant".
//!
//! # Where we differ
//! The window is a real number, as in the RFC, unless `arithmetic` is set: Linux computes in whole segments and
//! milliseconds (`linux_cubic.rs`; CUBIC of 2007, which ns-2 has, is `linux_2_6_cubic`). A stage of congestion
//! avoidance begins with its first ACK. The threshold follows from what was in flight, W_max from the window itself.
//! The Reno-friendly estimate never makes the window smaller.
//!
//! # Parameters
//! `transport.tcp.congestion_control`: `"cubic"`, or a table `cubic` with these.

use alloc::boxed::Box;

use crate::control::linux_cubic::LinuxCubic;
use crate::control::loss_based::loss_based;
use crate::control::setup::Setup;
use crate::{CongestionSignal, Control, Controller, ParameterError, RoundTrips, Time, WindowLaw, require};

/// The arithmetic of CUBIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum CubicArithmetic {
    /// Real numbers, as in RFC 9438.
    #[default]
    Exact,
    /// Whole segments and milliseconds, as Linux since 4.1. Before the first loss the window grows by at least 5 % in a
    /// round trip.
    Linux,
}

forebay_units::configuration! {
    /// The parameters of CUBIC.
    #[derive(Copy)]
    pub struct CubicConfig {
        /// Factor by which a sign of congestion reduces the window (β, RFC 9438, 4.6: 0.7). Above 0 and below 1.
        pub beta: f64 = 0.7;
        /// Growth of the window: C, in segments per second cubed (RFC 9438, 5: 0.4). Above 0.
        pub growth: f64 = 0.4;
        /// Whether a flow with a loss below its last maximum aims lower still, which makes room for new flows (RFC
        /// 9438, 4.7).
        pub fast_convergence: bool = true;
        /// Whether the window is at least that of Reno (RFC 9438, 4.3).
        pub reno_friendly: bool = true;
        /// Real numbers ("exact", RFC 9438) or whole segments ("linux").
        pub arithmetic: CubicArithmetic = CubicArithmetic::Exact;
    }
}

impl CubicConfig {
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        require(self.beta > 0.0 && self.beta < 1.0, "congestion_control.cubic.beta", "be above 0 and below 1")?;
        require(
            self.growth > 0.0 && self.growth <= 1e6,
            "congestion_control.cubic.growth",
            "be above 0, at most 1000000",
        )
    }
}

pub(crate) fn build(config: &CubicConfig, setup: &Setup) -> Box<dyn Controller> {
    match config.arithmetic {
        CubicArithmetic::Exact => loss_based(Cubic::new(*config), setup),
        CubicArithmetic::Linux => loss_based(LinuxCubic::new(*config), setup),
    }
}

/// CUBIC of RFC 9438, in real numbers.
#[derive(Clone, Debug)]
pub struct Cubic {
    config: CubicConfig,
    /// Segments that the Reno-friendly estimate adds per window (α).
    reno_increase: f64,
    /// The window at which the last loss came, lowered by fast convergence (W_max), in segments; none before the first
    /// reduction and after a timeout.
    maximum: Option<f64>,
    /// The window when the threshold was last set (cwnd_prior).
    prior_window: Option<f64>,
    /// The running stage of congestion avoidance.
    stage: Option<Stage>,
    /// All three before the last reduction, to undo it if necessary.
    before: (Option<f64>, Option<f64>, Option<Stage>),
}

/// One stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// The start of the stage (epoch_start).
    start: Time,
    /// The time up to which the stage has been counted.
    last_ack: Time,
    /// The turning point of the cubic function: W_max in segments, K in seconds after the start.
    maximum: f64,
    k: f64,
    /// The window that Reno would have (W_est).
    reno_window: f64,
}

impl Cubic {
    /// CUBIC before its first ACK.
    #[must_use]
    pub fn new(config: CubicConfig) -> Self {
        // RFC 9438, 4.3: Reno's mean window with β instead of a half.
        let reno_increase = 3.0 * (1.0 - config.beta) / (1.0 + config.beta);
        Self { config, reno_increase, maximum: None, prior_window: None, stage: None, before: (None, None, None) }
    }

    /// RFC 9438, 4.2: where the cubic function of a new stage lies. Without a maximum, in the first stage and after a
    /// timeout, it starts at its turning point (4.8 and 4.10).
    fn begin(&self, window: f64, now: Time) -> Stage {
        let maximum = self.maximum.map_or(window, |maximum| maximum.max(window));
        let k = libm::cbrt((maximum - window) / self.config.growth);
        Stage { start: now, last_ack: now, maximum, k, reno_window: window }
    }
}

impl WindowLaw for Cubic {
    fn uses_round_trips(&self) -> bool {
        true
    }

    /// RFC 9438, 4.2 to 4.5.
    fn avoid_congestion(&mut self, window: &mut Control, acked_segments: f64, path: &RoundTrips, now: Time) {
        let current = window.congestion_window;
        let mut stage = match self.stage {
            Some(stage) => stage,
            None => self.begin(current, now),
        };
        stage.last_ack = now;
        // Figure 1: W_cubic(t) = C (t - K)^3 + W_max, now and a round trip ahead.
        let cubic = |offset: f64| self.config.growth * offset * offset * offset + stage.maximum;
        let offset = now.since(stage.start).seconds() - stage.k;
        let round_trip = path.smoothed.map_or(0.0, |span| span.seconds());
        // 4.2: never down, and by half in a round trip at most.
        let target = cubic(offset + round_trip).max(current).min(1.5 * current);

        // 4.3, figure 4: once it has caught up, the estimate grows as Reno does.
        let has_caught_up = self.prior_window.is_none_or(|prior| stage.reno_window >= prior);
        let increase = if has_caught_up { 1.0 } else { self.reno_increase };
        stage.reno_window += increase * acked_segments / current;

        window.congestion_window = if self.config.reno_friendly && cubic(offset) < stage.reno_window {
            stage.reno_window.max(current)
        } else {
            // 4.4 and 4.5.
            current + (target - current) / current * acked_segments
        };
        self.stage = Some(stage);
    }

    /// RFC 9438, 4.6 to 4.8.
    fn reduce(&mut self, window: &Control, used_segments: f64, signal: CongestionSignal, _now: Time) -> f64 {
        let current = window.congestion_window;
        self.before = (self.maximum, self.prior_window, self.stage);
        self.prior_window = Some(current);
        self.maximum = match (signal, self.maximum) {
            // 4.8: the next stage starts at its own turning point.
            (CongestionSignal::Timeout, _) => None,
            // 4.7.
            (_, Some(maximum)) if self.config.fast_convergence && current < maximum => {
                Some(current * (1.0 + self.config.beta) / 2.0)
            }
            _ => Some(current),
        };
        self.stage = None;
        used_segments * self.config.beta
    }

    /// RFC 9438, 4.2: time in which the application was the limit does not count.
    fn pause(&mut self, now: Time) {
        if let Some(stage) = &mut self.stage {
            stage.start = stage.start.saturating_add(now.since(stage.last_ack));
            stage.last_ack = now;
        }
    }

    /// RFC 9438, 4.8: as after any timeout, the next stage starts at its own turning point.
    fn forget(&mut self) {
        (self.maximum, self.stage) = (None, None);
    }

    fn restart(&mut self) {
        self.stage = None;
    }

    /// RFC 9438, 4.9.
    fn undo(&mut self) {
        (self.maximum, self.prior_window, self.stage) = self.before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    /// A path whose round trip is known.
    fn path(round_trip: Span) -> RoundTrips {
        RoundTrips { smoothed: Some(round_trip), ..RoundTrips::default() }
    }

    fn window(segments: f64) -> Control {
        Control::new(segments, 2.0)
    }

    /// The window after each of this many round trips from `start` on, an ACK for each segment.
    fn rounds(
        law: &mut Cubic,
        window: &mut Control,
        start: Time,
        round_trip: Span,
        rounds: u64,
    ) -> alloc::vec::Vec<f64> {
        let path = path(round_trip);
        let mut windows = alloc::vec![window.congestion_window];
        for round in 0..rounds {
            let segments = window.congestion_window as u64;
            for segment in 0..segments {
                law.avoid_congestion(window, 1.0, &path, start + round_trip * round + round_trip * segment / segments);
            }
            windows.push(window.congestion_window);
        }
        windows
    }

    /// CUBIC after a loss at `maximum`, and its window.
    fn after_loss(config: CubicConfig, maximum: f64) -> (Cubic, Control) {
        let mut law = Cubic::new(config);
        let reduced = law.reduce(&window(maximum), maximum, CongestionSignal::Loss, Time::ZERO);
        (law, window(reduced))
    }

    #[test]
    fn k_is_the_cube_root_of_what_was_lost() {
        for (maximum, k) in [(10.0, 1.9574), (100.0, 4.2172), (1000.0, 9.0856)] {
            let (law, window) = after_loss(CubicConfig::default(), maximum);
            assert_eq!(window.congestion_window, maximum * 0.7);
            let stage = law.begin(window.congestion_window, Time::ZERO);
            assert!((stage.k - k).abs() < 1e-4, "{} for {maximum}", stage.k);
        }
    }

    #[test]
    fn the_window_follows_the_cubic_function() {
        let round_trip = Span::from_milliseconds(100);
        let (mut law, mut window) = after_loss(CubicConfig::default(), 1000.0);
        let windows = rounds(&mut law, &mut window, Time::ZERO, round_trip, 150);
        for (round, &window) in windows.iter().enumerate().skip(1) {
            let offset = round as f64 * 0.1 - 9.0856;
            let expected = 0.4 * offset * offset * offset + 1000.0;
            assert!((window / expected - 1.0).abs() < 0.01, "round {round}: {window}, {expected}");
        }
        // Concave before K, convex after it.
        let gains: alloc::vec::Vec<f64> = windows.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gains[2..88].windows(2).all(|pair| pair[1] <= pair[0]));
        assert!(gains[93..].windows(2).all(|pair| pair[1] >= pair[0]));
    }

    #[test]
    fn a_timeout_that_leaves_the_threshold_ends_the_stage() {
        // RFC 9438, 4.8. Without that the window of one segment jumps to Reno's estimate of the stage.
        let (mut law, mut grown) = after_loss(CubicConfig::default(), 100.0);
        rounds(&mut law, &mut grown, Time::ZERO, Span::from_milliseconds(10), 20);
        law.forget();
        let mut window = window(2.0);
        law.avoid_congestion(&mut window, 1.0, &path(Span::from_milliseconds(10)), Time::ZERO + Span::from_seconds(1));
        assert!(window.congestion_window < 2.5, "{window:?}");
    }

    #[test]
    fn reno_is_the_lower_bound_on_a_short_path() {
        // In 4 ms times 100 the cubic function has hardly moved; Reno with β = 0.7 gains 0.529 a round trip.
        let round_trip = Span::from_milliseconds(4);
        let (mut law, mut window) = after_loss(CubicConfig::default(), 200.0);
        let windows = rounds(&mut law, &mut window, Time::ZERO, round_trip, 100);
        assert!((windows[100] - windows[0] - 52.9).abs() < 1.0, "{}", windows[100]);
        // Once it has caught up it gains 1.
        let windows = rounds(&mut law, &mut window, Time::ZERO + round_trip * 100, round_trip, 200);
        assert!((windows[200] - windows[199] - 1.0).abs() < 0.01);
        let config = CubicConfig { reno_friendly: false, ..CubicConfig::default() };
        let (mut law, mut window) = after_loss(config, 200.0);
        let windows = rounds(&mut law, &mut window, Time::ZERO, round_trip, 100);
        let cubic = 0.4 * libm::pow(0.4 - 5.3133, 3.0) + 200.0;
        assert!((windows[100] - cubic).abs() < 0.5, "{}", windows[100]);
    }

    #[test]
    fn fast_convergence_lowers_the_maximum() {
        let (mut law, _) = after_loss(CubicConfig::default(), 100.0);
        assert_eq!(law.maximum, Some(100.0));
        let reduced = law.reduce(&window(90.0), 90.0, CongestionSignal::EcnEcho, Time::ZERO);
        assert!((reduced - 63.0).abs() < 1e-9);
        assert_eq!(law.maximum, Some(76.5));
        law.reduce(&window(80.0), 80.0, CongestionSignal::Loss, Time::ZERO);
        assert_eq!(law.maximum, Some(80.0));
        let (mut law, _) = after_loss(CubicConfig { fast_convergence: false, ..CubicConfig::default() }, 100.0);
        law.reduce(&window(90.0), 90.0, CongestionSignal::Loss, Time::ZERO);
        assert_eq!(law.maximum, Some(90.0));
    }

    #[test]
    fn a_timeout_starts_at_the_turning_point() {
        let (mut law, _) = after_loss(CubicConfig::default(), 100.0);
        law.reduce(&window(100.0), 100.0, CongestionSignal::Timeout, Time::ZERO);
        let stage = law.begin(50.0, Time::ZERO);
        assert_eq!((stage.k, stage.maximum, stage.reno_window), (0.0, 50.0, 50.0));
        assert_eq!(law.prior_window, Some(100.0));
    }

    #[test]
    fn an_undone_reduction_leaves_no_trace() {
        // RFC 9438, section 4.9: cwnd_prior, W_max, K, the start of the stage and the estimate are what they were.
        let round_trip = Span::from_milliseconds(100);
        let (mut untouched, mut steady) = after_loss(CubicConfig::default(), 500.0);
        rounds(&mut untouched, &mut steady, Time::ZERO, round_trip, 10);
        for signal in [CongestionSignal::Loss, CongestionSignal::EcnEcho, CongestionSignal::Timeout] {
            let (mut law, mut window) = (untouched.clone(), steady);
            law.reduce(&window, window.congestion_window, signal, Time::ZERO + round_trip * 10);
            law.undo();
            assert_eq!((law.maximum, law.prior_window), (Some(500.0), Some(500.0)));
            let (mut untouched, mut steady) = (untouched.clone(), steady);
            let start = Time::ZERO + round_trip * 20;
            let expected = rounds(&mut untouched, &mut steady, start, round_trip, 50);
            assert_eq!(rounds(&mut law, &mut window, start, round_trip, 50), expected, "{signal:?}");
        }
    }

    #[test]
    fn time_out_of_use_does_not_count() {
        let round_trip = Span::from_milliseconds(100);
        let (mut law, mut steady) = after_loss(CubicConfig::default(), 500.0);
        rounds(&mut law, &mut steady, Time::ZERO, round_trip, 10);
        let (mut paused, mut window) = after_loss(CubicConfig::default(), 500.0);
        rounds(&mut paused, &mut window, Time::ZERO, round_trip, 5);
        let idle = Span::from_seconds(1000);
        paused.pause(Time::ZERO + round_trip * 5 + idle);
        rounds(&mut paused, &mut window, Time::ZERO + round_trip * 5 + idle, round_trip, 5);
        let ratio = window.congestion_window / steady.congestion_window;
        assert!((ratio - 1.0).abs() < 0.001, "{ratio}");
        paused.restart();
        assert!(paused.stage.is_none());
    }
}
