//! The window law of Reno and NewReno: additive increase, multiplicative decrease.
//!
//! # What it does
//! Slow start doubles the window each round trip. Congestion avoidance adds one segment each round trip. A sign of
//! congestion halves the window.
//!
//! # When to use it
//! Use it to show what NewReno improves: Reno leaves fast recovery at the first ACK of new data, so that several losses
//! in one window often end in a timeout. For everything else use `newreno` or `cubic`.
//!
//! # Example
//! ```toml
//! transport.tcp = { congestion_control = "reno" }
//! ```
//!
//! # Source
//! RFC 5681, section 3.1 (equations 2 to 4); RFC 3465 for counting what an ACK covers.
//!
//! # Where we differ
//! The window is kept in segments with its fraction, so that 1/cwnd per ACK adds up exactly. If the window was full, we
//! halve the *window* (RFC 5681: the flight), so that the fraction is not lost. A timeout during a recovery halves the
//! already halved window, not the old flight. Linux and ns-2 do the same.
//!
//! # Parameters
//! `byte_counting_limit`, applied by the skeleton.

use alloc::boxed::Box;

use crate::control::loss_based::loss_based;
use crate::control::setup::Setup;
use crate::{CongestionSignal, Control, Controller, RoundTrips, Time, WindowLaw};

/// Additive increase by one segment each round trip, decrease by half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reno;

pub(crate) fn build(setup: &Setup) -> Box<dyn Controller> {
    loss_based(Reno, setup)
}

impl WindowLaw for Reno {
    /// RFC 5681, equation 3, for each segment that the ACK covers.
    fn avoid_congestion(&mut self, window: &mut Control, acked_segments: f64, _path: &RoundTrips, _now: Time) {
        window.congestion_window += acked_segments / window.congestion_window;
    }

    /// RFC 5681, equation 4; RFC 3168, 6.1.2: a mark counts like a loss.
    fn reduce(&mut self, _window: &Control, used_segments: f64, _signal: CongestionSignal, _now: Time) -> f64 {
        used_segments / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_acks_adds_about_a_segment_and_a_loss_halves() {
        let path = RoundTrips::default();
        let mut window = Control::new(10.0, 5.0);
        Reno.avoid_congestion(&mut window, 1.0, &path, Time::ZERO);
        assert_eq!(window.congestion_window, 10.1);
        window.congestion_window = 20.0;
        Reno.avoid_congestion(&mut window, 2.0, &path, Time::ZERO);
        assert_eq!(window.congestion_window, 20.1);
        for signal in [CongestionSignal::Loss, CongestionSignal::EcnEcho, CongestionSignal::Timeout] {
            assert_eq!(Reno.reduce(&window, 13.0, signal, Time::ZERO), 6.5);
        }
    }
}
