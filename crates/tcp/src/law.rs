//! The seam for window laws: how the congestion window grows with ACKs and shrinks at signs of congestion.

use core::fmt;

use crate::{RoundTrip, Time};

/// The congestion window and what ends slow start, both in full segments; fractions count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// The congestion window (RFC 5681's `cwnd`).
    pub congestion_window: f64,
    /// Below it the window grows by slow start, from it on by congestion avoidance (`ssthresh`).
    pub slow_start_threshold: f64,
}

/// What tells a sender that the path is congested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionSignal {
    /// A segment was lost, and duplicate ACKs or SACKs told of it.
    Loss,
    /// The receiver echoes a mark.
    EcnEcho,
    /// The retransmission timer expired.
    Timeout,
}

/// A window law. The skeleton calls it only when the window was in use, never during a recovery, and sees to the lower
/// and upper bounds of the window.
pub trait WindowLaw: fmt::Debug + Send {
    /// An ACK of `acked_segments` new segments during slow start. The standard adds as many (RFC 5681, equation 2).
    fn slow_start(&mut self, window: &mut Window, acked_segments: f64, _path: &RoundTrip, _now: Time) {
        window.congestion_window += acked_segments;
    }

    /// An ACK of `acked_segments` new segments during congestion avoidance.
    fn avoid_congestion(&mut self, window: &mut Window, acked_segments: f64, path: &RoundTrip, now: Time);

    /// A sign of congestion: the window to go on with, in segments. `used_segments` is what was in flight: the
    /// congestion window with its fraction where that was the limit, otherwise less.
    ///
    /// The skeleton takes the whole part as slow-start threshold, at least 2, and goes on with the window itself
    /// or, after a timeout, with one segment.
    fn reduce(&mut self, window: &Window, used_segments: f64, signal: CongestionSignal, now: Time) -> f64;
}
