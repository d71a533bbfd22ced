//! BIC: binary search for the window at which the last loss came.
//!
//! # What it does
//! After a loss the window is between a size that fits and one that did not. In each round trip it grows by a quarter
//! of the distance to the larger one, but by at most `max_increment` segments, and slowly once it is near. Beyond the
//! old maximum it searches upwards, slowly at first, then faster and faster.
//!
//! # When to use it
//! Use it to model Linux between 2.6.8 and 2.6.18, and to compare with CUBIC, its successor. Its growth depends on
//! round trips, so flows with short ones get more.
//!
//! # Example
//! ```toml
//! transport.tcp = { congestion_control = "bic", sack = true }
//! ```
//!
//! # Source
//! Xu, Harfoush & Rhee 2004, "Binary increase congestion control (BIC) for fast long-distance networks", with the
//! constants and the piecewise form of Linux (`tcp_bic.c`).
//!
//! # Where we differ
//! The window is a real number, so that a round trip never adds more than `max_increment`. Linux truncates to whole
//! segments and compensates for delayed ACKs even where there are none, and so grows up to twice as fast or more (see
//! `linux_bic`). Linux goes half as far as the paper (a quarter of the distance, not half), and so do we. A timeout
//! keeps the old maximum; Linux discards it.
//!
//! # Parameters
//! `transport.tcp.congestion_control`: `"bic"`, or a table `bic` with these.

use alloc::boxed::Box;

use crate::control::loss_based::loss_based;
use crate::control::setup::Setup;
use crate::{CongestionSignal, Control, Controller, ParameterError, RoundTrips, Time, WindowLaw, require};

/// The part of the distance to the maximum that a round trip covers, as a divisor (Linux's `BICTCP_B`).
const SEARCH_DIVISOR: f64 = 4.0;

/// Before the first loss the window grows by at least one segment for this many: 5 % in a round trip.
const MOST_SEGMENTS_BEFORE_LOSS: f64 = 20.0;

forebay_units::configuration! {
    /// The parameters of BIC.
    #[derive(Copy)]
    pub struct BicConfig {
        /// Factor by which a sign of congestion reduces the window (β; Linux: 819/1024). Above 0 and below 1.
        pub beta: f64 = 0.8;
        /// Maximum growth in a round trip, in segments (the paper's Smax; Linux: 16). At least 1.
        #[cfg_attr(feature = "config", schemars(range(min = 1)))]
        pub max_increment: u32 = 16;
        /// Window, in segments, up to which it grows and shrinks like Reno's (Linux: 14).
        pub low_window: u32 = 14;
        /// Round trips for the last four segments below the maximum and the first four above it (Linux: 20). At least
        /// 1.
        #[cfg_attr(feature = "config", schemars(range(min = 1)))]
        pub smooth_part: u32 = 20;
        /// Whether a flow with a loss below its last maximum aims lower still, which makes room for new flows.
        pub fast_convergence: bool = true;
    }
}

impl BicConfig {
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        require(self.beta > 0.0 && self.beta < 1.0, "congestion_control.bic.beta", "be above 0 and below 1")?;
        require(self.max_increment >= 1, "congestion_control.bic.max_increment", "be at least 1")?;
        require(self.smooth_part >= 1, "congestion_control.bic.smooth_part", "be at least 1")
    }
}

/// BIC.
#[derive(Clone, Debug)]
pub struct Bic {
    beta: f64,
    max_increment: f64,
    low_window: f64,
    smooth_part: f64,
    fast_convergence: bool,
    /// The window at which the last loss came, lowered by fast convergence, in segments; 0 before the first.
    maximum: f64,
}

impl Bic {
    /// BIC before its first ACK.
    #[must_use]
    pub fn new(config: BicConfig) -> Self {
        Self {
            beta: config.beta,
            max_increment: f64::from(config.max_increment),
            low_window: f64::from(config.low_window),
            smooth_part: f64::from(config.smooth_part),
            fast_convergence: config.fast_convergence,
            maximum: 0.0,
        }
    }

    /// The number of acknowledged segments for which the window grows by one (Linux's `cnt`).
    fn segments_for_one(&self, window: f64) -> f64 {
        if window <= self.low_window {
            return window;
        }
        let increment = if window < self.maximum {
            // Binary search.
            let distance = (self.maximum - window) / SEARCH_DIVISOR;
            if distance <= 1.0 { SEARCH_DIVISOR / self.smooth_part } else { distance }
        } else {
            // Max probing: the mirror image.
            let distance = window - self.maximum;
            if distance < SEARCH_DIVISOR {
                SEARCH_DIVISOR / self.smooth_part
            } else {
                distance / (SEARCH_DIVISOR - 1.0)
            }
        };
        let segments = window / increment.min(self.max_increment);
        if self.maximum == 0.0 { segments.min(MOST_SEGMENTS_BEFORE_LOSS) } else { segments }.max(1.0)
    }
}

pub(crate) fn build(config: &BicConfig, setup: &Setup) -> Box<dyn Controller> {
    loss_based(Bic::new(*config), setup)
}

impl WindowLaw for Bic {
    fn avoid_congestion(&mut self, window: &mut Control, acked_segments: f64, _path: &RoundTrips, _now: Time) {
        window.congestion_window += acked_segments / self.segments_for_one(window.congestion_window);
    }

    fn reduce(&mut self, window: &Control, used_segments: f64, _signal: CongestionSignal, _now: Time) -> f64 {
        let current = window.congestion_window;
        let lost_early = self.fast_convergence && current < self.maximum;
        self.maximum = if lost_early { current * (1.0 + self.beta) / 2.0 } else { current };
        used_segments * if current <= self.low_window { 0.5 } else { self.beta }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(config: BicConfig, maximum: f64) -> Bic {
        Bic { maximum, ..Bic::new(config) }
    }

    fn acked(law: &mut Bic, window: f64, segments: f64) -> f64 {
        let path = RoundTrips::default();
        let mut window = Control::new(window, 2.0);
        law.avoid_congestion(&mut window, segments, &path, Time::ZERO);
        window.congestion_window
    }

    /// The window after each of this many round trips.
    fn rounds(law: &mut Bic, mut window: f64, rounds: usize) -> alloc::vec::Vec<f64> {
        let mut windows = alloc::vec![window];
        for _ in 0..rounds {
            for _ in 0..window as usize {
                window = acked(law, window, 1.0);
            }
            windows.push(window);
        }
        windows
    }

    fn reduce(law: &mut Bic, window: f64, signal: CongestionSignal) -> f64 {
        let window = Control::new(window, 2.0);
        law.reduce(&window, window.congestion_window, signal, Time::ZERO)
    }

    #[test]
    fn grows_where_ns3_does() {
        // ns-3's test suite of BIC: window, segments acknowledged, last maximum, whether a whole segment is gained.
        let cases = [
            (10.0, 11.0, 0.0, true),
            (10.0, 8.0, 0.0, false),
            (18.0, 5.0, 90.0, true),
            (18.0, 24.0, 20.0, true),
            (19.0, 2.0, 83.0, true),
            (15.0, 19.0, 13.0, true),
            (22.0, 9.0, 16.0, false),
            (65.0, 2.0, 16.0, false),
        ];
        for (window, segments, maximum, gains) in cases {
            let mut law = law(BicConfig { smooth_part: 5, ..BicConfig::default() }, maximum);
            let grown = acked(&mut law, window, segments);
            assert_eq!(grown >= window + 1.0, gains, "{segments} segments at {window} below {maximum}: {grown}");
        }
    }

    #[test]
    fn concave_to_the_maximum_then_convex() {
        let mut law = law(BicConfig::default(), 400.0);
        let windows = rounds(&mut law, 320.0, 65);
        let gains: alloc::vec::Vec<f64> = windows.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // Near 16 in a round trip, a quarter of the distance; less and less, and slow around the maximum.
        assert!((15.0..=16.0).contains(&gains[0]), "{gains:?}");
        let turn = windows.iter().position(|&window| window > 398.0).unwrap();
        assert!(gains[..turn].windows(2).all(|pair| pair[1] <= pair[0] + 0.05), "{gains:?}");
        let past = windows.iter().position(|&window| window > 402.0).unwrap();
        assert!(gains[past..].windows(2).all(|pair| pair[1] >= pair[0] - 0.05), "{gains:?}");
        assert!(gains[turn..past].iter().all(|gain| (0.15..0.25).contains(gain)), "{gains:?}");
        assert!((15.5..=16.0).contains(gains.last().unwrap()), "{gains:?}");
    }

    #[test]
    fn segments_for_one_are_those_of_linuxs_pieces() {
        // `bictcp_update` of Linux's tcp_bic.c, without its truncation: window, last maximum, segments.
        let cases = [
            // As Reno up to the low window; before the first loss at least 5 % in a round trip.
            (14.0, 100.0, 14.0),
            (15.0, 0.0, 3.0),
            (400.0, 0.0, 20.0),
            // Search: 16 at most, a quarter of the distance, the last four segments in 20 round trips.
            (20.0, 100.0, 1.25),
            (60.0, 100.0, 6.0),
            (95.0, 100.0, 76.0),
            (96.0, 100.0, 480.0),
            // Probing: four segments in 20 round trips, then a third of the distance (B - 1), 16 at most.
            (100.0, 100.0, 500.0),
            (103.0, 100.0, 515.0),
            (104.0, 100.0, 78.0),
            (130.0, 100.0, 13.0),
            (148.0, 100.0, 9.25),
            (200.0, 100.0, 12.5),
        ];
        for (window, maximum, expected) in cases {
            let segments = law(BicConfig::default(), maximum).segments_for_one(window);
            assert!((segments - expected).abs() < 1e-9, "{segments} instead of {expected} at {window}");
        }
    }

    #[test]
    fn a_round_trip_never_adds_more_than_the_limit() {
        for maximum in [1.0, 30.0, 200.0, 5000.0] {
            let mut law = law(BicConfig::default(), maximum);
            for pair in rounds(&mut law, 15.0, 200).windows(2) {
                assert!(pair[1] - pair[0] <= 16.0 + 1e-9, "{pair:?}");
            }
        }
    }

    #[test]
    fn a_loss_below_the_maximum_lowers_it() {
        let mut law = Bic::new(BicConfig::default());
        assert_eq!(reduce(&mut law, 100.0, CongestionSignal::Loss), 80.0);
        assert_eq!(law.maximum, 100.0);
        assert_eq!(reduce(&mut law, 90.0, CongestionSignal::EcnEcho), 72.0);
        assert_eq!(law.maximum, 81.0);
        // At the maximum, not below it.
        reduce(&mut law, 81.0, CongestionSignal::Loss);
        assert_eq!(law.maximum, 81.0);
        // At and below the low window like Reno.
        assert_eq!(reduce(&mut law, 14.0, CongestionSignal::Timeout), 7.0);
        let mut law = Bic::new(BicConfig { fast_convergence: false, ..BicConfig::default() });
        reduce(&mut law, 100.0, CongestionSignal::Loss);
        reduce(&mut law, 90.0, CongestionSignal::Loss);
        assert_eq!(law.maximum, 90.0);
    }
}
