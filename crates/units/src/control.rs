//! The interface of a congestion controller, which transports share.
//!
//! A transport reports ACKs and signs of congestion; a controller sets the window in answer. Windows are in segments of
//! full size; fractions count.

use core::fmt;

use crate::{Rate, Span, Time};

/// The values that a controller sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// The congestion window (RFC 5681's `cwnd`).
    pub congestion_window: f64,
    /// Below it the window grows by slow start, from it on by congestion avoidance (`ssthresh`).
    pub slow_start_threshold: f64,
    /// The rate at which payload leaves, where segments are paced. `None` if the transport derives it from window and
    /// round trip.
    pub pacing_rate: Option<Rate>,
}

impl Control {
    /// This window and threshold. The transport derives the pacing rate.
    #[must_use]
    pub const fn new(congestion_window: f64, slow_start_threshold: f64) -> Self {
        Self { congestion_window, slow_start_threshold, pacing_rate: None }
    }
}

/// The measurements that a controller uses, and the tasks that it takes over. A transport leaves other measurements
/// out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// [`RoundTrips::latest`], in slow start and for the first segments of a round trip.
    pub latest_round_trip: bool,
    /// [`RoundTrips::latest`] at all ACKs, also in congestion avoidance.
    pub every_round_trip: bool,
    /// [`RoundTrips::smoothed`], [`RoundTrips::deviation`] and [`RoundTrips::shortest`].
    pub round_trip_estimate: bool,
    /// [`AckSample::delivery`]. ACKs without new data and ACKs during a recovery are reported too.
    pub delivery: bool,
    /// [`AckSample::marked_segments`]. ACKs without new data and ACKs during a recovery are reported too.
    pub marks: bool,
    /// The controller answers marks in [`Controller::on_ack`]: [`Controller::on_ecn`] is not called.
    pub answers_marks: bool,
    /// The controller sets the window during a recovery and after an idle time. Otherwise the transport brings what is
    /// in flight down to the reduced window, and keeps that from growing.
    pub owns_recovery: bool,
    /// The controller has a slow start of its own.
    pub owns_slow_start: bool,
    /// The explicit congestion notification that it is made for.
    pub ecn: EcnNeed,
    /// The controller makes random choices: [`Controller::seed`] is called.
    pub randomness: bool,
    /// The controller begins with its connection: [`Controller::start`] is called.
    pub start: bool,
}

/// The explicit congestion notification that a controller is made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnNeed {
    /// Any, or none.
    #[default]
    Any,
    /// The share of marks, in a network that marks early (RFC 8257).
    Dctcp,
    /// The share of marks, by accurate feedback, with packets that name themselves scalable (RFC 9331).
    L4s,
}

/// Bursts of a paced sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// The duration of a burst at the pacing rate.
    pub burst: Span,
    /// A burst has at least this many segments.
    pub least_segments: u32,
}

impl Pacing {
    /// Linux: bursts of 2^-10 s, of at least two segments (`tcp_tso_autosize`, `sk_pacing_shift`).
    pub const LINUX: Self = Self { burst: Span::from_picoseconds(976_562_500), least_segments: 2 };
}

/// Round trips of a connection; `None` before the first sample and where the controller needs none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrips {
    /// The sample of this ACK, if it has one.
    pub latest: Option<Span>,
    /// The smoothed round trip (RFC 6298's SRTT).
    pub smoothed: Option<Span>,
    /// Its mean deviation (RTTVAR).
    pub deviation: Option<Span>,
    /// The shortest so far.
    pub shortest: Option<Span>,
}

/// A transport's response to losses, at an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// None is under way.
    #[default]
    Open,
    /// A loss is being recovered, or what is in flight comes down to a window that was reduced for a mark. The window
    /// must not grow, unless the controller owns the recovery.
    Recovery,
    /// Data that was sent before a timeout is being recovered.
    Timeout,
}

/// Segments that the network has delivered and lost. Sums count from the start of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Segments delivered, with those that this ACK reports.
    pub delivered: u64,
    /// Segments found lost.
    pub lost: u64,
    /// Segments delivered with a mark.
    pub marked: u64,
    /// Segments that this ACK reports as delivered.
    pub newly_delivered: u64,
    /// Segments found lost at this ACK.
    pub newly_lost: u64,
    /// Segments in flight before this ACK.
    pub in_flight_before: u64,
    /// Segments in flight after it.
    pub in_flight: u64,
    /// The segment sent last among those that this ACK reports.
    pub segment: Option<DeliveredSegment>,
    /// The round trip of that segment, unless it was sent more than once.
    pub round_trip: Option<Span>,
    /// The ACK may have been delayed: it covers one short segment and nothing else.
    pub may_be_delayed: bool,
    /// The earliest time at which the pacing lets the next segment go.
    pub next_departure: Time,
}

/// The state of a connection when a segment was sent that has now arrived, or was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveredSegment {
    /// [`Delivery::delivered`] then.
    pub delivered_before: u64,
    /// [`Delivery::lost`] then.
    pub lost_before: u64,
    /// [`Delivery::marked`] then.
    pub marked_before: u64,
    /// Segments in flight then, with this one.
    pub in_flight: u64,
    /// The application was the limit of sending then.
    pub is_application_limited: bool,
    /// The longer of two times: between the departures of this segment and of the last one delivered before it was
    /// sent, and between their deliveries. `None` if shorter than the shortest round trip, and for a lost segment.
    pub interval: Option<Span>,
}

impl Delivery {
    /// The delivery rate of this ACK in segments per second, if it has a valid sample
    /// (draft-cheng-iccrg-delivery-rate-estimation, section 3.3).
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        let segment = self.segment?;
        let seconds = segment.interval?.seconds();
        (seconds > 0.0).then(|| self.delivered.saturating_sub(segment.delivered_before) as f64 / seconds)
    }
}

/// An ACK.
#[derive(Clone, Copy, Debug)]
pub struct AckSample<'a> {
    /// Its time of arrival.
    pub now: Time,
    /// Segments that it newly acknowledges, as far as they may open the window (RFC 3465).
    pub acked_segments: f64,
    /// Segments that it newly reports as delivered, whether they may open the window or not.
    pub delivered_segments: f64,
    /// The first byte that is not yet acknowledged (SND.UNA).
    pub acknowledged: u64,
    /// The next byte to send (SND.NXT).
    pub next: u64,
    /// The window was the limit of sending in the round trip before.
    pub is_window_used: bool,
    /// It echoes a mark.
    pub echoes_mark: bool,
    /// Segments that it reports as marked. 0 unless the controller needs it.
    pub marked_segments: f64,
    /// The transport's response to losses. [`Phase::Timeout`] only if the controller owns recoveries: others open the
    /// window after a timeout as always.
    pub phase: Phase,
    /// The round trips that the controller needs.
    pub round_trips: RoundTrips,
    /// The measurements of delivery, if the controller needs them.
    pub delivery: Option<&'a Delivery>,
}

/// A sign of congestion.
#[derive(Clone, Copy, Debug)]
pub struct CongestionSample {
    /// The time of the sign.
    pub now: Time,
    /// The segments in flight: the congestion window with its fraction where that was the limit, otherwise less.
    pub used_segments: f64,
    /// The first byte that is not yet acknowledged (SND.UNA).
    pub acknowledged: u64,
    /// The next byte to send (SND.NXT).
    pub next: u64,
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

    /// The bursts in which segments are paced; `None` if they leave as the window allows. Constant.
    fn pacing(&self) -> Option<Pacing> {
        None
    }

    /// The window at the start of a connection, in segments. `configured` is the transport's.
    fn initial_window(&self, configured: f64) -> f64 {
        configured
    }

    /// Seeds the random choices, before the first ACK. Only with [`Needs::randomness`].
    fn seed(&mut self, _seed: u64) {}

    /// The connection is about to open. `name` is that of its flow; `control` has the initial values. Comes after
    /// [`Controller::seed`]. Only with [`Needs::start`].
    fn start(&mut self, _name: &str, _control: &mut Control) {}

    /// An ACK of new data has come. Without [`Needs::delivery`] and [`Needs::marks`], none comes here during a
    /// recovery.
    fn on_ack(&mut self, ack: &AckSample<'_>, control: &mut Control);

    /// A loss was found.
    fn on_loss(&mut self, congestion: &CongestionSample, control: &mut Control);

    /// The receiver echoes a mark.
    fn on_ecn(&mut self, congestion: &CongestionSample, control: &mut Control);

    /// A segment was found lost. `lost` is the number of segments lost so far, with this one. Comes before the
    /// [`Controller::on_ack`] of the ACK. Only with [`Needs::delivery`].
    fn on_lost_segment(&mut self, _segment: &DeliveredSegment, _lost: u64, _control: &mut Control) {}

    /// The first segment after an idle time is about to leave: nothing is in flight, and the application was the limit
    /// of sending. Only with [`Needs::delivery`].
    fn on_sent_after_idle(&mut self, _now: Time, _control: &mut Control) {}

    /// The retransmission timer has expired.
    fn on_timeout(&mut self, congestion: &CongestionSample, control: &mut Control);

    /// The last answer to a loss is undone, because nothing was lost.
    fn undo(&mut self) {}

    /// The name of its state, for a controller with states of its own. `None` if the transport's are all there are:
    /// slow start, congestion avoidance and the answers to losses and marks.
    fn state(&self) -> Option<&'static str> {
        None
    }

    /// Shows further values to a visitor, each under its name with the unit last.
    fn gauges(&self, _visit: &mut dyn FnMut(&'static str, f64)) {}

    /// The window starts over after an idle time.
    fn restart(&mut self) {}
}
