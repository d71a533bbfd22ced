//! Giving the window back after a reduction that turns out to have been unnecessary.
//!
//! # What it does
//! Remembers the window at a reduction for a loss or a timeout, and when the first retransmission went out. If the
//! first ACK of new data returns a timestamp from before, it is that of the original: the segment was late, not lost
//! (Eifel). If D-SACKs report every retransmission as a duplicate, the same holds. Then window and threshold are what
//! they were. If a mark came in the meantime, the reduction stands, and only the retransmissions end.
//!
//! # Source
//! RFC 3522 (detection by timestamps), RFC 3708 (by D-SACK), RFC 4015 (response). The count of D-SACKs is that of Linux
//! (`tcp_init_undo`, `undo_retrans`): retransmissions that were in flight before the reduction may be reported too, so
//! they count as well, a tail loss probe included.
//!
//! # Where we differ
//! RFC 4015 continues with what is in flight and the initial window; we continue with the old window, as Linux does.
//! Linux waits for D-SACKs until the next reduction; we wait for one round trip after the recovery.
//!
//! # Parameters
//! `undo`, with `timestamps` or `dsack`.

use crate::connection::Connection;
use crate::{Ack, Control, Span, Time};

/// A timestamp may have been rounded down by up to this on its way.
pub(crate) const TIMESTAMP_RESOLUTION: Span = Span::from_nanoseconds(1);

/// The state that undoes a reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    /// The window before; none once a mark has confirmed the reduction.
    window: Option<Control>,
    /// The first retransmission since: where it began, and when it went out (RetransmitTS).
    first_retransmission: Option<(u64, Time)>,
    /// The ACK of what it repeats has come.
    is_answered: bool,
    /// The first and one past the last number in flight.
    flight: (u64, u64),
    /// Retransmissions that no D-SACK has reported yet; none before the first (Linux's `undo_retrans`).
    unreported: Option<u64>,
    segment_bytes: u64,
    /// Once this is acknowledged, no D-SACK of a retransmission can be on its way.
    last_news_at: Option<u64>,
}

/// Evidence of an ACK about the last reduction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// None so far.
    Open,
    /// Nothing was lost: the window before the reduction, or none if a mark calls for the reduction all the same.
    Spurious(Option<Control>),
}

impl Undo {
    /// A reduction of this `window`, which the connection has not made yet. `resent` retransmissions are in flight.
    pub fn new(window: Control, connection: &Connection, resent: u64) -> Self {
        Self {
            window: Some(window),
            first_retransmission: None,
            is_answered: false,
            flight: (connection.unacknowledged, connection.highest),
            unreported: (resent > 0).then_some(resent),
            segment_bytes: connection.segment_bytes,
            last_news_at: None,
        }
    }

    /// The segment at `seq` is sent again.
    pub fn note_retransmission(&mut self, seq: u64, now: Time) {
        self.first_retransmission.get_or_insert((seq, now));
        self.unreported = Some(self.unreported.unwrap_or(0) + 1);
    }

    /// A mark has come: even if the losses turn out to be none, the window stays reduced (RFC 4015, section 3, step 6;
    /// Linux's `prior_ssthresh`).
    pub fn confirm(&mut self) {
        self.window = None;
    }

    /// Whether no ACK from this one on can show any more that the reduction was unnecessary: a round trip has passed
    /// since all that was in flight at the reduction was acknowledged. `highest` is one past all that was sent.
    pub fn is_over(&mut self, acknowledged: u64, highest: u64) -> bool {
        if acknowledged < self.flight.1 {
            return false;
        }
        acknowledged > *self.last_news_at.get_or_insert(highest)
    }

    /// Judges the reduction by this ACK.
    pub fn on_ack(&mut self, ack: &Ack) -> Verdict {
        if let Some((left, right)) = ack.duplicate_block()
            && left >= self.flight.0
            && let Some(unreported) = &mut self.unreported
        {
            let segments = (right - left).div_ceil(self.segment_bytes);
            *unreported = unreported.saturating_sub(segments);
            if *unreported == 0 {
                return Verdict::Spurious(self.window);
            }
        }
        // RFC 3522, section 3.2, steps 4 and 5: the first ACK of what was sent again decides.
        let Some((seq, sent)) = self.first_retransmission else { return Verdict::Open };
        if self.is_answered || ack.ack <= seq {
            return Verdict::Open;
        }
        self.is_answered = true;
        let is_of_original = ack.echo < Time::NEVER && ack.echo + TIMESTAMP_RESOLUTION <= sent;
        if is_of_original { Verdict::Spurious(self.window) } else { Verdict::Open }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SackBlocks, TcpConfig};

    const WINDOW: Control = Control::new(10.0, f64::INFINITY);
    const UNDONE: Verdict = Verdict::Spurious(Some(WINDOW));

    /// A reduction with ten segments of 1000 bytes in flight, from 1 on; `resent` of them are retransmissions.
    fn undo(resent: u64) -> Undo {
        let config = TcpConfig { segment: crate::Bytes(1000), header: crate::Bytes(0), ..TcpConfig::default() };
        let mut connection = Connection::new(&config);
        (connection.unacknowledged, connection.highest) = (1, 10_001);
        Undo::new(WINDOW, &connection, resent)
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_milliseconds(ms)
    }

    /// An ACK up to `ack` that reports a segment that arrived twice.
    fn duplicate(ack: u64, left: u64) -> Ack {
        let mut sack = SackBlocks::default();
        sack.push(left, left + 1000);
        Ack { ack, sack, ..Ack::default() }
    }

    #[test]
    fn as_many_duplicates_as_retransmissions_undo() {
        // RFC 3708, section 3: of the retransmissions since the reduction, all arrived twice.
        let mut undo = undo(0);
        undo.note_retransmission(1, at(100));
        undo.note_retransmission(1001, at(100));
        assert_eq!(undo.on_ack(&duplicate(5001, 1)), Verdict::Open);
        assert_eq!(undo.on_ack(&duplicate(5001, 1001)), UNDONE);
    }

    #[test]
    fn a_duplicate_of_an_earlier_retransmission_does_not_stand_for_the_one_of_this_reduction() {
        // Linux: undo_retrans begins with the retransmissions in flight.
        let mut undo = undo(1);
        undo.note_retransmission(1, at(100));
        assert_eq!(undo.on_ack(&duplicate(10_001, 9001)), Verdict::Open);
        assert_eq!(undo.on_ack(&duplicate(10_001, 1)), UNDONE);
    }

    #[test]
    fn a_duplicate_of_several_segments_counts_each() {
        let mut undo = undo(0);
        for seq in [1, 1001, 2001] {
            undo.note_retransmission(seq, at(100));
        }
        let mut ack = Ack { ack: 5001, ..Ack::default() };
        ack.sack.push(1, 3001);
        assert_eq!(undo.on_ack(&ack), UNDONE);
    }

    #[test]
    fn without_a_retransmission_duplicates_undo_nothing() {
        assert_eq!(undo(0).on_ack(&duplicate(5001, 1)), Verdict::Open);
    }

    #[test]
    fn duplicates_of_what_was_acknowledged_before_do_not_count() {
        for (left, verdict) in [(0, Verdict::Open), (1, UNDONE), (9001, UNDONE), (12_001, UNDONE)] {
            let mut undo = undo(0);
            undo.note_retransmission(left, at(100));
            assert_eq!(undo.on_ack(&duplicate(20_001, left)), verdict, "{left}");
        }
    }

    #[test]
    fn a_mark_keeps_the_reduction_but_ends_the_retransmissions() {
        // RFC 4015, section 3: the transfer continues with new data, and the window is not restored.
        for is_dsack in [true, false] {
            let mut undo = undo(0);
            undo.note_retransmission(1, at(100));
            undo.confirm();
            let ack = if is_dsack { duplicate(1001, 1) } else { Ack { ack: 1001, echo: at(50), ..Ack::default() } };
            assert_eq!(undo.on_ack(&ack), Verdict::Spurious(None), "{is_dsack}");
        }
    }

    #[test]
    fn the_first_ack_of_the_retransmitted_segment_decides_by_its_timestamp() {
        // RFC 3522, section 3.2.
        for (echo, verdict) in [(at(99), UNDONE), (at(100), Verdict::Open), (Time::NEVER, Verdict::Open)] {
            let mut undo = undo(0);
            undo.note_retransmission(1, at(100));
            assert_eq!(undo.on_ack(&Ack { ack: 1, echo: at(50), ..Ack::default() }), Verdict::Open);
            assert_eq!(undo.on_ack(&Ack { ack: 1001, echo, ..Ack::default() }), verdict);
            if verdict == Verdict::Open {
                assert_eq!(undo.on_ack(&Ack { ack: 2001, echo: at(50), ..Ack::default() }), Verdict::Open);
            }
        }
    }

    #[test]
    fn it_is_over_a_round_trip_after_all_was_acknowledged() {
        let mut undo = undo(0);
        assert!(!undo.is_over(10_000, 14_001));
        // From here on, what was sent up to now ends the round trip.
        assert!(!undo.is_over(10_001, 15_001));
        assert!(!undo.is_over(15_001, 20_001));
        assert!(undo.is_over(15_002, 20_001));
    }
}
