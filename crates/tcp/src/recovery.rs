//! The seam for loss recovery, and what Reno and NewReno have in common: fast retransmit and fast recovery.
//!
//! # What it does
//! The third duplicate ACK means a loss: the first unacknowledged segment is sent again and the window is halved. Each
//! further duplicate ACK means that a segment has left the network, and inflates the window by one segment, so that new
//! data keeps the ACKs coming. Reno ends that at the next ACK of new data.
//!
//! # Source
//! RFC 5681, section 3.2; the guard against a second fast retransmit for the same window is RFC 6582's `recover`.
//!
//! # Where we differ
//! RFC 5681 leaves it open whether duplicate ACKs for data sent before the last recovery may start another one. As in
//! ns-2 they may not, in Reno either, so that Reno takes a timeout when a window loses several segments.
//!
//! # Parameters
//! `congestion_control` ("reno").

use core::fmt;

use crate::connection::Connection;
use crate::{Ack, CongestionSignal, Controller, SegmentOut, Time};

/// Duplicate ACKs that mean a loss (RFC 5681's and RFC 6675's DupThresh).
pub(crate) const DUPLICATE_THRESHOLD: u32 = 3;

/// The state of a recovery.
pub(crate) struct RecoveryContext<'a> {
    pub connection: &'a mut Connection,
    pub controller: &'a mut dyn Controller,
    pub now: Time,
    pub out: &'a mut dyn SegmentOut,
}

impl RecoveryContext<'_> {
    /// Enters a recovery, and sends the first unacknowledged segment again. `resent` retransmissions are in flight.
    pub fn enter(&mut self, resent: u64) {
        self.begin(resent);
        self.connection.retransmit_first(self.now, self.out);
        self.connection.restart_timer(self.now);
    }

    /// Enters a recovery: halves the window, unless that was done for a mark in the same window of data (RFC 3168,
    /// 6.1.2). `resent` retransmissions are in flight.
    pub fn begin(&mut self, resent: u64) {
        let RecoveryContext { connection, controller, now, .. } = self;
        connection.in_recovery = true;
        connection.counters.fast_recoveries += 1;
        connection.stop_timing();
        if connection.unacknowledged >= connection.reduction_point {
            connection.reduce(*controller, CongestionSignal::Loss, resent, *now);
        }
        // The recovery ends with the window of data that the reduction was for. A loss above it calls for another.
        connection.recovery_point = connection.reduction_point;
        connection.restart_timer(*now);
    }

    /// Leaves a recovery.
    pub fn leave(&mut self) {
        self.connection.in_recovery = false;
        self.connection.inflation = 0.0;
        self.connection.duplicate_acks = 0;
        self.connection.limited_transmit_bytes = 0;
        self.connection.apply_window();
        self.connection.restart_timer(self.now);
    }
}

/// A recovery: it sees the ACKs while it lasts and decides what is sent. The provided methods are Reno's.
pub(crate) trait Recovery: fmt::Debug + Send {
    /// Takes what an ACK of `newly` bytes tells beyond the cumulative number; whether it counts as a duplicate if it
    /// acknowledges nothing new.
    fn learn(&mut self, _connection: &mut Connection, _ack: &Ack, _newly: u64, _now: Time) -> bool {
        true
    }

    /// Bytes that an ACK newly reports as arrived, before it is taken in. Without reports of single segments, those
    /// that it acknowledges.
    fn news_of(&self, connection: &Connection, ack: &Ack) -> u64 {
        ack.ack - connection.unacknowledged
    }

    /// Bytes reported by the last ACK that open the window; it acknowledges `newly` bytes.
    fn delivered_bytes(&self, newly: u64) -> u64 {
        newly
    }

    /// Whether duplicate ACKs make room by what they report, so that there is no limited transmit of its own.
    fn sends_by_pipe(&self) -> bool {
        false
    }

    /// Whether the duplicate ACKs so far mean a loss that requires recovery.
    fn is_due(&self, connection: &Connection) -> bool {
        // RFC 6582, 3.2, step 2: only if the ACK covers more than what was sent before the last recovery.
        connection.duplicate_acks >= DUPLICATE_THRESHOLD && connection.unacknowledged > connection.recovery_point
    }

    /// Begins, if [`Recovery::is_due`] (RFC 5681, 3.2, steps 2 and 3).
    fn enter(&mut self, turn: &mut RecoveryContext<'_>) {
        turn.enter(self.resent_in_flight(turn.connection));
        turn.connection.inflation = f64::from(DUPLICATE_THRESHOLD);
        turn.connection.apply_window();
    }

    /// A further duplicate ACK (RFC 5681, 3.2, step 4).
    fn on_duplicate(&mut self, turn: &mut RecoveryContext<'_>) {
        turn.connection.inflation += 1.0;
        turn.connection.apply_window();
    }

    /// An ACK of `newly` bytes that does not cover all that was in flight at the start.
    fn on_partial_ack(&mut self, turn: &mut RecoveryContext<'_>, newly: u64);

    /// An ACK of everything that was in flight at the start (RFC 5681, 3.2, step 6).
    fn on_full_ack(&mut self, turn: &mut RecoveryContext<'_>) {
        turn.leave();
    }

    /// The retransmission timer has expired; the window is already back to one segment.
    fn on_timeout(&mut self, _connection: &mut Connection, _now: Time) {}

    /// The losses of the last reduction were none.
    fn on_spurious(&mut self, _connection: &mut Connection, _now: Time) {}

    /// Retransmissions that may still arrive, and be reported as duplicates. Without SACK there are no such reports.
    fn resent_in_flight(&self, _connection: &Connection) -> u64 {
        0
    }

    /// Segments that are in the network after a timeout. As a rule all counts as lost.
    fn in_flight_segments(&self) -> u64 {
        0
    }

    /// The data in the network as far as the recovery can tell. Without reports of single segments, it is what no
    /// cumulative ACK covers.
    fn in_flight_bytes(&self, connection: &Connection) -> u64 {
        connection.flight_bytes()
    }

    /// Whether something is lost and has not been sent again.
    fn has_lost(&self) -> bool {
        false
    }

    /// A mark has reduced the window, which is to come down as it does after a loss.
    fn on_mark(&mut self, _connection: &Connection) {}

    /// Whether the window is still coming down after a mark, so that it must not grow.
    fn is_coming_down(&self, _connection: &Connection) -> bool {
        false
    }

    /// A timer other than that of retransmissions has expired. Whether a check for losses is due.
    fn on_deadline(&mut self, _turn: &mut RecoveryContext<'_>) -> bool {
        false
    }

    /// Sends what may be sent, during a recovery or while a scoreboard is kept.
    fn send(&mut self, turn: &mut RecoveryContext<'_>) {
        turn.connection.send_allowed(turn.now, turn.out);
    }
}

/// Reno: the first ACK of new data ends fast recovery.
#[derive(Debug, Default)]
pub(crate) struct RenoRecovery;

impl Recovery for RenoRecovery {
    fn on_partial_ack(&mut self, turn: &mut RecoveryContext<'_>, _newly: u64) {
        turn.leave();
    }
}
