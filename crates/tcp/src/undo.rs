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
//! RFC 4015 continues with what is in flight and the initial window; we continue with the old window, as Linux does.
//!
//! # Parameters
//! `undo`, with `timestamps` or `dsack`.

use crate::connection::Connection;
use crate::{Ack, Span, Time, Window};

/// A timestamp may have been rounded down by up to this on its way.
pub(crate) const TIMESTAMP_RESOLUTION: Span = Span::from_nanoseconds(1);

/// What a reduction can be undone with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    /// The window before.
    window: Window,
    /// The first retransmission since: where it began, and when it went out (RetransmitTS).
    first_retransmission: Option<(u64, Time)>,
    /// The ACK of what it repeats has come.
    is_answered: bool,
    /// The first and one past the last number in flight.
    flight: (u64, u64),
    /// Segments sent again before, and those of this reduction that were reported as duplicates.
    retransmitted_before: u64,
    duplicates: u64,
    /// When this is acknowledged no D-SACK of what was sent again can be on its way any more.
    last_news_at: Option<u64>,
}

impl Undo {
    /// A reduction of this `window`, of which the connection knows nothing yet.
    pub fn new(window: Window, connection: &Connection) -> Self {
        Self {
            window,
            first_retransmission: None,
            is_answered: false,
            flight: (connection.unacknowledged, connection.highest),
            retransmitted_before: connection.counters.segments_retransmitted,
            duplicates: 0,
            last_news_at: None,
        }
    }

    /// The segment at `seq` is sent again.
    pub fn note_retransmission(&mut self, seq: u64, now: Time) {
        self.first_retransmission.get_or_insert((seq, now));
    }

    /// Whether no ACK from this one on can show any more that the reduction was unnecessary: a round trip has passed
    /// since all that was in flight at the reduction was acknowledged. `highest` is one past all that was sent.
    pub fn is_over(&mut self, acknowledged: u64, highest: u64) -> bool {
        if acknowledged < self.flight.1 {
            return false;
        }
        acknowledged > *self.last_news_at.get_or_insert(highest)
    }

    /// The window before the reduction, where `ack` shows that it was unnecessary.
    pub fn on_ack(&mut self, ack: &Ack, segments_retransmitted: u64) -> Option<Window> {
        let duplicate = ack.duplicate_block();
        if duplicate.is_some_and(|(left, right)| left >= self.flight.0 && right <= self.flight.1) {
            self.duplicates += 1;
            let retransmitted = segments_retransmitted - self.retransmitted_before;
            if retransmitted > 0 && self.duplicates >= retransmitted {
                return Some(self.window);
            }
        }
        // RFC 3522, section 3.2, steps 4 and 5: the first ACK of what was sent again decides.
        let (seq, sent) = self.first_retransmission?;
        if self.is_answered || ack.ack <= seq {
            return None;
        }
        self.is_answered = true;
        let is_of_original = ack.echo < Time::NEVER && ack.echo + TIMESTAMP_RESOLUTION <= sent;
        // RFC 4015, section 3: not where a mark came, too.
        (is_of_original && !ack.ece).then_some(self.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SackBlocks, TcpConfig};

    const WINDOW: Window = Window { congestion_window: 10.0, slow_start_threshold: f64::INFINITY };

    /// A reduction with ten segments of 1000 bytes in flight, from 1 on; three had been sent again before.
    fn undo() -> Undo {
        let mut connection = Connection::new(&TcpConfig::default());
        (connection.unacknowledged, connection.highest) = (1, 10_001);
        connection.counters.segments_retransmitted = 3;
        Undo::new(WINDOW, &connection)
    }

    /// An ACK up to `ack` that tells of a segment that arrived twice.
    fn duplicate(ack: u64, left: u64) -> Ack {
        let mut sack = SackBlocks::default();
        sack.push(left, left + 1000);
        Ack { ack, sack, ..Ack::default() }
    }

    #[test]
    fn as_many_duplicates_as_retransmissions_undo() {
        // RFC 3708, section 3: of the retransmissions since the reduction, all arrived twice.
        let mut undo = undo();
        assert_eq!(undo.on_ack(&duplicate(5001, 1), 5), None);
        assert_eq!(undo.on_ack(&duplicate(5001, 1001), 5), Some(WINDOW));
    }

    #[test]
    fn without_a_retransmission_duplicates_undo_nothing() {
        assert_eq!(undo().on_ack(&duplicate(5001, 1), 3), None);
    }

    #[test]
    fn duplicates_of_other_flights_do_not_count() {
        for (left, undone) in [(0, false), (1, true), (9001, true), (9002, false)] {
            assert_eq!(undo().on_ack(&duplicate(20_001, left), 4).is_some(), undone, "{left}");
        }
    }

    #[test]
    fn it_is_over_a_round_trip_after_all_was_acknowledged() {
        let mut undo = undo();
        assert!(!undo.is_over(10_000, 14_001));
        // From here on, what was sent up to now ends the round trip.
        assert!(!undo.is_over(10_001, 15_001));
        assert!(!undo.is_over(15_001, 20_001));
        assert!(undo.is_over(15_002, 20_001));
    }
}
