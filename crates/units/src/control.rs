//! The interface of a congestion controller, which transports share.
//!
//! A transport reports ACKs and signs of congestion; a controller sets the window in answer. Windows are in segments of
//! full size; fractions count.

use core::fmt;

use crate::{Span, Time};

/// The values that a controller sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// The congestion window (RFC 5681's `cwnd`).
    pub congestion_window: f64,
    /// Below it the window grows by slow start, from it on by congestion avoidance (`ssthresh`).
    pub slow_start_threshold: f64,
}

/// The measurements that a controller uses. A transport leaves the others out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// [`RoundTrips::latest`].
    pub latest_round_trip: bool,
    /// [`RoundTrips::smoothed`] and [`RoundTrips::shortest`].
    pub round_trip_estimate: bool,
}

/// Round trips of a connection; `None` before the first sample and where the controller needs none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrips {
    /// The sample of this ACK, if it has one.
    pub latest: Option<Span>,
    /// The smoothed round trip (RFC 6298's SRTT).
    pub smoothed: Option<Span>,
    /// The shortest so far.
    pub shortest: Option<Span>,
}

/// An ACK.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Its time of arrival.
    pub now: Time,
    /// Segments that it newly acknowledges, as far as they may open the window (RFC 3465).
    pub acked_segments: f64,
    /// The first byte that is not yet acknowledged (SND.UNA).
    pub acknowledged: u64,
    /// The next byte to send (SND.NXT).
    pub next: u64,
    /// The window was the limit of sending in the round trip before.
    pub is_window_used: bool,
    /// It echoes a mark.
    pub echoes_mark: bool,
    /// The round trips that the controller needs.
    pub round_trips: RoundTrips,
}

/// A sign of congestion.
#[derive(Clone, Copy, Debug)]
pub struct CongestionSample {
    /// The time of the sign.
    pub now: Time,
    /// The segments in flight: the congestion window with its fraction where that was the limit, otherwise less.
    pub used_segments: f64,
    /// The window has been reduced for this window of data before, or for this segment: the threshold stays. Only for
    /// timeouts.
    pub keeps_threshold: bool,
}

/// Congestion control: the answer of a sender to its ACKs and to signs of congestion.
///
/// The transport bounds the window from above, sees to one answer in a window of data, and restores window and
/// threshold when it undoes a reduction.
pub trait Controller: fmt::Debug + Send {
    /// The measurements it uses. Constant.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// An ACK of new data has come. None comes here during a recovery.
    fn on_ack(&mut self, ack: &AckSample, control: &mut Control);

    /// A loss was found.
    fn on_loss(&mut self, congestion: &CongestionSample, control: &mut Control);

    /// The receiver echoes a mark.
    fn on_ecn(&mut self, congestion: &CongestionSample, control: &mut Control);

    /// The retransmission timer has expired.
    fn on_timeout(&mut self, congestion: &CongestionSample, control: &mut Control);

    /// The last answer to a loss is undone, because nothing was lost.
    fn undo(&mut self) {}

    /// The window starts over after an idle time.
    fn restart(&mut self) {}
}
