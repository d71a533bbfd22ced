//! Recovery with selective acknowledgements.
//!
//! # What it does
//! The scoreboard records which segments have arrived. `pipe` estimates what is in the network; while it is below the
//! window, the next lost segment is sent again or, when there is none, new data. A whole window of losses is thus
//! repaired in about one round trip.
//!
//! # Source
//! RFC 6675 (`Update`, `IsLost`, `SetPipe`, `NextSeg`, sections 4 and 5); RFC 2018.
//!
//! # Where we differ
//! The scoreboard survives a timeout (6675, 5.1, allows it), and what has arrived is not sent again. Before recovery,
//! RFC 3042 decides about new data for the first two duplicate ACKs, which comes to the same as step 3 of section 5.
//! How what is in the network comes down to the window is `rate_reduction.rs`'s.
//! A recovery may begin with the ACK that ended the last one, where it leaves a segment first that is surely lost.
//!
//! # Parameters
//! `sack`, `rate_reduction`.

use crate::connection::Connection;
use crate::rate_reduction::{Progress, Reduction};
use crate::recovery::{DUPLICATE_THRESHOLD, Recovery, RecoveryContext};
use crate::scoreboard::Scoreboard;
use crate::{Ack, RateReduction, TcpConfig, Time};

/// RFC 6675's recovery.
#[derive(Debug)]
pub(crate) struct SackRecovery {
    scoreboard: Scoreboard,
    /// One past the highest number sent again in this recovery (HighRxt).
    highest_retransmitted: u64,
    /// No rescue retransmission until this is acknowledged (RescueRxt).
    rescued_until: u64,
    /// The start of the last rescue retransmission.
    rescued_from: u64,
    rule: RateReduction,
    reduction: Reduction,
    segment_bytes: u64,
    /// The data that has arrived out of order, and the arrivals reported by the last ACK.
    sacked_bytes: u64,
    newly_bytes: u64,
    /// Below this all that is missing is lost.
    lost_below: u64,
    /// Whether the last ACK acknowledged new data and reported no further loss.
    is_safe: bool,
}

impl SackRecovery {
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            scoreboard: Scoreboard::default(),
            highest_retransmitted: 0,
            rescued_until: 0,
            rescued_from: 0,
            rule: config.rate_reduction(),
            reduction: Reduction::AtOnce,
            segment_bytes: u64::from(config.payload_bytes()),
            sacked_bytes: 0,
            newly_bytes: 0,
            lost_below: 0,
            is_safe: false,
        }
    }

    /// The data in the network (`SetPipe`): data neither arrived nor lost, and retransmissions.
    fn pipe_bytes(&self, connection: &Connection) -> u64 {
        let first = connection.unacknowledged;
        let not_lost = self.scoreboard.lost_below(self.segment_bytes).max(first);
        self.scoreboard.missing(not_lost, connection.highest)
            + self.scoreboard.missing(first, self.highest_retransmitted)
    }

    /// Updates the state after the ACK that was just recorded.
    fn note_progress(&mut self, connection: &Connection, newly: u64) {
        let (first, highest) = (connection.unacknowledged, connection.highest);
        let sacked = highest - first - self.scoreboard.missing(first, highest);
        self.newly_bytes = (newly + sacked).saturating_sub(self.sacked_bytes);
        self.sacked_bytes = sacked;
        let lost_below = self.scoreboard.lost_below(self.segment_bytes);
        self.is_safe = newly > 0 && lost_below <= self.lost_below.max(first);
        self.lost_below = lost_below;
    }

    /// The most that may be in the network by the rule for coming down to `window`. Each ACK's progress counts once.
    fn limit(&mut self, window: u64, pipe: u64) -> u64 {
        let progress = Progress { newly: core::mem::take(&mut self.newly_bytes), is_safe: self.is_safe };
        self.reduction.limit(window, pipe, self.segment_bytes, progress)
    }

    /// Sends the next segment that RFC 6675's `NextSeg` yields; returns how much that puts into the pipe, or `None`
    /// where there is nothing to send.
    fn send_next(&mut self, turn: &mut RecoveryContext<'_>) -> Option<u64> {
        let connection = &mut *turn.connection;
        let from = self.highest_retransmitted.max(connection.unacknowledged);
        let highest_sacked = self.scoreboard.highest();
        let lost_below = self.scoreboard.lost_below(self.segment_bytes);
        let hole = self.scoreboard.hole(from, highest_sacked);
        let new_payload = connection.payload_at(connection.next);
        let may_send_new = connection.next < connection.end()
            && connection.flight_bytes() + new_payload <= connection.max_window_bytes;
        match hole {
            // NextSeg (1): the first lost segment.
            Some((start, end)) if start < lost_below => Some(self.retransmit(turn, start, end)),
            // NextSeg (2): new data.
            _ if may_send_new => {
                connection.next = connection.transmit(connection.next, new_payload, turn.now, turn.out);
                Some(new_payload)
            }
            // NextSeg (3): a segment that is missing, though not yet surely lost.
            Some((start, end)) => Some(self.retransmit(turn, start, end)),
            None => self.rescue(turn),
        }
    }

    fn retransmit(&mut self, turn: &mut RecoveryContext<'_>, start: u64, end: u64) -> u64 {
        let payload = turn.connection.payload_at(start).min(end - start);
        self.highest_retransmitted = turn.connection.transmit(start, payload, turn.now, turn.out);
        payload
    }

    /// NextSeg (4): once in a recovery, the highest segment that is missing.
    fn rescue(&mut self, turn: &mut RecoveryContext<'_>) -> Option<u64> {
        let connection = &mut *turn.connection;
        if connection.unacknowledged <= self.rescued_until {
            return None;
        }
        let (start, end) = self.scoreboard.last_hole(connection.unacknowledged, connection.highest)?;
        self.rescued_until = connection.recovery_point;
        // The FIN is a segment of its own, and the highest where it is missing.
        let lowest =
            if end > connection.data_end { connection.data_end } else { end.saturating_sub(self.segment_bytes) };
        let start = start.max(lowest);
        self.rescued_from = start;
        let payload = connection.payload_at(start).min(end - start);
        connection.transmit(start, payload, turn.now, turn.out);
        Some(payload)
    }

    /// After a timeout: the data that the window allows, from the first unacknowledged number on, without arrived data.
    fn send_in_order(&mut self, turn: &mut RecoveryContext<'_>) {
        let connection = &mut *turn.connection;
        loop {
            let Some((start, end)) = self.scoreboard.hole(connection.next, u64::MAX) else { return };
            if start >= connection.end() {
                return;
            }
            let payload = connection.payload_at(start).min(end - start);
            let in_flight = self.scoreboard.missing(connection.unacknowledged, start);
            let is_allowed = in_flight + payload <= connection.window_bytes
                && start + payload - connection.unacknowledged <= connection.max_window_bytes;
            if !is_allowed {
                return;
            }
            connection.next = connection.transmit(start, payload, turn.now, turn.out);
        }
    }
}

impl Recovery for SackRecovery {
    /// RFC 6675, `Update`; a duplicate ACK counts if it reports something new (section 2, "DupAck").
    fn learn(&mut self, connection: &mut Connection, ack: &Ack, newly: u64, _now: Time) -> bool {
        let mut is_news = false;
        for (left, right) in ack.sack.iter() {
            // Older blocks may be below the cumulative ACK; a block beyond what was sent is nonsense.
            if right > connection.unacknowledged && right <= connection.highest {
                is_news |= self.scoreboard.insert(left.max(connection.unacknowledged), right);
            }
        }
        self.scoreboard.advance(connection.unacknowledged);
        connection.selective = !self.scoreboard.is_empty();
        self.note_progress(connection, newly);
        is_news
    }

    /// RFC 6675, section 5, steps 1 and 2.
    fn is_due(&self, connection: &Connection) -> bool {
        let is_lost = self.scoreboard.lost_below(self.segment_bytes) > connection.unacknowledged;
        (connection.duplicate_acks >= DUPLICATE_THRESHOLD || is_lost)
            && connection.unacknowledged >= connection.recovery_point
    }

    /// RFC 6675, section 5, step 4.
    fn enter(&mut self, turn: &mut RecoveryContext<'_>) {
        let connection = &turn.connection;
        // RFC 9937, section 6.2: data SACKed before does not count, data of this ACK does.
        let flight = (connection.flight_bytes() + self.newly_bytes).saturating_sub(self.sacked_bytes);
        let first_bytes = connection.payload_at(connection.unacknowledged);
        turn.enter(self.resent_in_flight(turn.connection));
        self.highest_retransmitted = turn.connection.unacknowledged + first_bytes;
        self.rescued_until = 0;
        let pipe = self.pipe_bytes(turn.connection);
        let before = pipe.saturating_sub(first_bytes);
        self.reduction = Reduction::begin(self.rule, flight, before);
        // The first retransmission is out already.
        self.limit(turn.connection.window_bytes, before);
        self.reduction.note_sent(first_bytes, pipe);
    }

    /// Below HighRxt during a recovery, below SND.NXT after a timeout; and the rescue retransmission.
    fn resent_in_flight(&self, connection: &Connection) -> u64 {
        let first = connection.unacknowledged;
        let resent_below = if connection.in_recovery {
            self.highest_retransmitted
        } else {
            connection.next.min(connection.recovery_point)
        };
        let is_rescue_in_flight = self.rescued_from >= first.max(resent_below)
            && self.scoreboard.missing(self.rescued_from, self.rescued_from + 1) > 0;
        self.scoreboard.missing(first, resent_below).div_ceil(self.segment_bytes) + u64::from(is_rescue_in_flight)
    }

    fn in_flight_bytes(&self, connection: &Connection) -> u64 {
        if connection.in_recovery { self.pipe_bytes(connection) } else { connection.flight_bytes() }
    }

    fn on_duplicate(&mut self, _turn: &mut RecoveryContext<'_>) {}

    /// RFC 6298, 5.3: any ACK of new data restarts the timer.
    fn on_partial_ack(&mut self, turn: &mut RecoveryContext<'_>, _newly: u64) {
        turn.connection.restart_timer(turn.now);
    }

    /// RFC 6675, 5.1.
    fn on_timeout(&mut self, _connection: &mut Connection, _now: Time) {
        self.highest_retransmitted = 0;
    }

    /// RFC 6675, section 5, step C.
    fn send(&mut self, turn: &mut RecoveryContext<'_>) {
        if !turn.connection.in_recovery {
            return self.send_in_order(turn);
        }
        let mut pipe = self.pipe_bytes(turn.connection);
        let limit = self.limit(turn.connection.window_bytes, pipe);
        while pipe + self.segment_bytes <= limit {
            match self.send_next(turn) {
                Some(sent) if sent > 0 => {
                    pipe += sent;
                    self.reduction.note_sent(sent, pipe);
                }
                // A bare FIN takes no room; it is the last thing to send.
                _ => return,
            }
        }
    }
}
