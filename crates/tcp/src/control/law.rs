//! The seam for window laws: how the congestion window grows with ACKs and shrinks at signs of congestion.

use core::fmt;

use crate::{AckSample, Control, RoundTrips, Time};

/// The signal of congestion on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionSignal {
    /// A segment was lost, as duplicate ACKs or SACKs reported.
    Loss,
    /// The receiver echoes a mark.
    EcnEcho,
    /// The retransmission timer expired.
    Timeout,
}

/// A window law: congestion avoidance and what a sign of congestion does. It is called for growth only when the window
/// was in use, never during a recovery, and others see to the lower and upper bounds of the window.
pub trait WindowLaw: fmt::Debug + Send {
    /// Whether it uses the smoothed or the shortest round trip.
    fn uses_round_trips(&self) -> bool {
        false
    }

    /// An ACK, whether the window grows or not: for a law that measures the path.
    fn measure(&mut self, _ack: &AckSample<'_>) {}

    /// An ACK of `acked_segments` new segments during congestion avoidance.
    fn avoid_congestion(&mut self, window: &mut Control, acked_segments: f64, path: &RoundTrips, now: Time);

    /// A sign of congestion: the window to continue with, in segments. `used_segments` is what was in flight: the
    /// congestion window with its fraction where that was the limit, otherwise less.
    ///
    /// The skeleton takes the whole part as slow-start threshold, at least 2, and continues with the window itself or,
    /// after a timeout, with one segment.
    fn reduce(&mut self, window: &Control, used_segments: f64, signal: CongestionSignal, now: Time) -> f64;

    /// An ACK has come while the window was not in use: for a law that grows with time, the time up to `now` does not
    /// count.
    fn pause(&mut self, _now: Time) {}

    /// The retransmission timer has expired in a window of data for which the window was reduced already: nothing from
    /// before counts, as after a timeout, but the threshold stays. Only with [`TimeoutResponse::Linux`].
    ///
    /// [`TimeoutResponse::Linux`]: crate::TimeoutResponse::Linux
    fn forget(&mut self) {}

    /// The last reduction is undone, because nothing was lost: the state before it applies again.
    fn undo(&mut self) {}

    /// The window starts over after an idle time: slow start comes before the next congestion avoidance.
    fn restart(&mut self) {}
}
