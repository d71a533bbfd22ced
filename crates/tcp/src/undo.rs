//! Giving the window back after a reduction that turns out to have been unnecessary.
//!
//! # What it does
//! Remembers the window at a reduction for a loss or a timeout, and when the first retransmission went out. If the
//! first ACK of new data returns a timestamp from before, it is that of the original: the segment was late, not lost
//! (Eifel). If D-SACKs report every retransmission as a duplicate, the same holds. Then window and threshold are what
//! they were.
//!
//! # Source
//! RFC 3522 (detection by timestamps), RFC 3708 (by D-SACK), RFC 4015 (response).
//!
//! # Where we differ
//! RFC 4015 goes on with what is in flight and the initial window; we with the old window, as Linux does.
//!
//! # Parameters
//! `undo`, with `timestamps` or `dsack`.

use crate::connection::Connection;
use crate::{Ack, Span, Time, Window};

/// A timestamp may have been rounded down by so much on its way.
pub(crate) const TIMESTAMP_RESOLUTION: Span = Span::from_nanoseconds(1);

/// What a reduction can be undone with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    /// The window before.
    window: Window,
    /// When the first retransmission went out, until the first ACK of new data.
    retransmitted_at: Option<Time>,
    /// The first and one past the last number in flight.
    flight: (u64, u64),
    /// Segments sent again before, and those of this reduction that were reported as duplicates.
    retransmitted_before: u64,
    duplicates: u64,
}

impl Undo {
    /// A reduction at `now` of this `window`, of which the connection knows nothing yet.
    pub fn new(window: Window, connection: &Connection, now: Time) -> Self {
        Self {
            window,
            retransmitted_at: Some(now),
            flight: (connection.unacknowledged, connection.highest),
            retransmitted_before: connection.counters.segments_retransmitted,
            duplicates: 0,
        }
    }

    /// The window before the reduction, where `ack` shows that it was unnecessary. `has_advanced`: it acknowledges new
    /// data.
    pub fn on_ack(&mut self, ack: &Ack, has_advanced: bool, segments_retransmitted: u64) -> Option<Window> {
        let duplicate = ack.duplicate_block();
        if duplicate.is_some_and(|(left, right)| left >= self.flight.0 && right <= self.flight.1) {
            self.duplicates += 1;
            let retransmitted = segments_retransmitted - self.retransmitted_before;
            if self.duplicates >= retransmitted {
                return Some(self.window);
            }
        }
        // RFC 3522, section 3.2, steps 4 and 5: the first acceptable ACK decides.
        let retransmitted_at = if has_advanced { self.retransmitted_at.take() } else { None };
        // RFC 4015, section 3: not where a mark came, too.
        let is_of_original =
            retransmitted_at.is_some_and(|at| ack.echo < Time::NEVER && ack.echo + TIMESTAMP_RESOLUTION <= at);
        (is_of_original && !ack.ece).then_some(self.window)
    }
}
