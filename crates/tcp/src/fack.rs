//! Recovery with forward acknowledgement: the furthest arrival determines the losses, also of retransmissions.
//!
//! # What it does
//! The furthest segment that has arrived is the measure: all that is missing four segments below it counts as lost, on
//! the assumption that nothing is reordered. A segment sent again counts as lost once more as soon as something has
//! arrived that was sent after it, and goes again at once, where RFC 6675 waits for the timer. In the network is
//! what was sent, less what has arrived, less what is lost; that number alone decides what is sent, before, during and
//! after a recovery.
//!
//! # Source
//! M. Mathis and J. Mahdavi, "Forward Acknowledgement: Refining TCP Congestion Control", SIGCOMM 1996, section 4; the
//! rules for retransmissions are those of ns-2 2.35's `Agent/TCP/Linux`, after Linux 2.6 with `tcp_fack`, read for its
//! rules.
//!
//! # Where we differ
//! - From the paper, as ns-2: four segments, where the paper takes more than three duplicates' worth. A retransmission
//!   is lost, too, when one made more than four later has arrived.
//! - At the end of a recovery the scoreboard is cleared, also above the recovery point, as in ns-2. A recovery after a
//!   timeout leaves the window at no more than three segments above the data in the network.
//! - From ns-2: the first timeout of a segment alone reduces the threshold, and no round trip is measured across a
//!   retransmission (Karn), as everywhere here.
//!
//! # Parameters
//! `fack`, with `sack`; `rate_reduction`.

use alloc::collections::VecDeque;

use crate::connection::Connection;
use crate::rate_reduction::{Progress, Reduction};
use crate::recovery::{Recovery, RecoveryContext};
use crate::{Ack, CongestionSignal, RateReduction, SackBlocks, TcpConfig, Time};

/// A segment is lost when what has arrived reaches this many segments above its start.
const LOST_BELOW_FURTHEST: u64 = 5;

/// A retransmission is lost when a later one has arrived with more than this many between their places in the order.
const LATER_RETRANSMISSIONS: u64 = 4;

/// The most that may be sent in one go when the recovery from a timeout ends, in segments (Linux's `tcp_max_burst`).
const MAX_BURST: f64 = 3.0;

/// The state of a stretch of sent data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Sent once, nothing known.
    Sent,
    /// It has arrived.
    Arrived,
    /// Taken for lost, to be sent again.
    Lost,
    /// Sent again: as the `order`-th retransmission, when the next new number was `next`.
    Resent { next: u64, order: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    start: u64,
    end: u64,
    fate: Fate,
}

/// The content of an ACK.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    has_arrived: bool,
    has_found_loss: bool,
}

/// The state of all data from the cumulative ACK to the furthest number that has arrived; after a timeout, to the
/// highest number sent. Stretches in ascending order, without gaps.
#[derive(Clone, Debug, Default)]
struct Board {
    stretches: VecDeque<Stretch>,
    /// One past the furthest number that has arrived.
    furthest: u64,
    arrived_bytes: u64,
    lost_bytes: u64,
    retransmissions: u64,
    /// The latest retransmission that has arrived, plus one.
    latest_arrived: u64,
}

impl Board {
    fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }

    fn clear(&mut self) {
        self.stretches.clear();
        *self = Self { stretches: core::mem::take(&mut self.stretches), ..Self::default() };
    }

    /// Gives a stretch another fate, and keeps the sums.
    fn set(&mut self, index: usize, fate: Fate) {
        let Stretch { start, end, fate: before } = self.stretches[index];
        match before {
            Fate::Arrived => self.arrived_bytes -= end - start,
            Fate::Lost => self.lost_bytes -= end - start,
            Fate::Sent | Fate::Resent { .. } => {}
        }
        match fate {
            Fate::Arrived => self.arrived_bytes += end - start,
            Fate::Lost => self.lost_bytes += end - start,
            Fate::Sent | Fate::Resent { .. } => {}
        }
        self.stretches[index].fate = fate;
    }

    /// Cuts the stretch at `index` in two at `at`, if that is within it.
    fn split(&mut self, index: usize, at: u64) {
        let Stretch { start, end, fate } = self.stretches[index];
        if start < at && at < end {
            self.stretches[index].end = at;
            self.stretches.insert(index + 1, Stretch { start: at, end, fate });
        }
    }

    /// The stretches reach up to `end`.
    fn extend(&mut self, from: u64, end: u64) {
        let start = self.stretches.back().map_or(from, |last| last.end);
        if start < end {
            self.stretches.push_back(Stretch { start, end, fate: Fate::Sent });
        }
    }

    /// Everything below `unacknowledged` has arrived; whether a retransmission that was not known to has.
    fn advance(&mut self, unacknowledged: u64) -> bool {
        let before = self.latest_arrived;
        while let Some(&first) = self.stretches.front()
            && first.start < unacknowledged
        {
            self.split(0, unacknowledged);
            if let Fate::Resent { order, .. } = first.fate {
                self.latest_arrived = self.latest_arrived.max(order + 1);
            }
            self.set(0, Fate::Sent);
            self.stretches.pop_front();
        }
        let is_news = self.latest_arrived > before;
        if self.is_empty() {
            self.clear();
        }
        is_news
    }

    /// The receiver holds these ranges, in ascending order and disjoint: takes note, finds what is lost by now, and
    /// joins what has the same fate. `retransmission_arrived` is what [`Board::advance`] said. One pass from below, so
    /// that arrivals above affect lower data only at the next ACK, as in ns-2.
    fn update(
        &mut self,
        unacknowledged: u64,
        held: &[(u64, u64)],
        retransmission_arrived: bool,
        segment_bytes: u64,
    ) -> News {
        let furthest = held.iter().map(|&(_, right)| right).max().unwrap_or(0);
        self.extend(unacknowledged, furthest);
        let mut is_thorough = retransmission_arrived || furthest > self.furthest;
        self.furthest = self.furthest.max(furthest);
        let mut news = News::default();
        let mut held = held.iter().copied().peekable();
        let mut index = 0;
        while index < self.stretches.len() && (is_thorough || held.peek().is_some()) {
            let Stretch { start, end, fate } = self.stretches[index];
            while held.next_if(|&(_, right)| right <= start).is_some() {}
            match held.peek() {
                _ if fate == Fate::Arrived => {}
                Some(&(left, right)) if left <= start => {
                    self.split(index, right);
                    if let Fate::Resent { order, .. } = fate {
                        self.latest_arrived = order + 1;
                        is_thorough = true;
                    }
                    self.set(index, Fate::Arrived);
                    news.has_arrived = true;
                }
                after => {
                    if let Some(&(left, _)) = after
                        && left < end
                    {
                        self.split(index, left);
                    }
                    news.has_found_loss |= self.check_lost(index, segment_bytes);
                }
            }
            if index > 0 && self.stretches[index - 1].fate == self.stretches[index].fate {
                self.stretches[index - 1].end = self.stretches[index].end;
                self.stretches.remove(index);
            } else {
                index += 1;
            }
        }
        news
    }

    /// Whether the stretch at `index`, or its beginning, is lost by now.
    fn check_lost(&mut self, index: usize, segment_bytes: u64) -> bool {
        let Stretch { start, fate, .. } = self.stretches[index];
        // Segments that start below this are lost.
        let lost_below = (self.furthest + 1).saturating_sub(LOST_BELOW_FURTHEST * segment_bytes);
        let is_lost = match fate {
            Fate::Sent => start < lost_below,
            Fate::Resent { next, order } => {
                self.furthest > next || order + 1 + LATER_RETRANSMISSIONS < self.latest_arrived
            }
            Fate::Arrived | Fate::Lost => false,
        };
        if is_lost {
            if fate == Fate::Sent {
                let segments = (lost_below - start).div_ceil(segment_bytes);
                self.split(index, start + segments * segment_bytes);
            }
            self.set(index, Fate::Lost);
        }
        is_lost
    }

    /// Segments sent again that have neither arrived nor been lost.
    fn resent_segments(&self, segment_bytes: u64) -> u64 {
        let resent = self.stretches.iter().filter(|stretch| matches!(stretch.fate, Fate::Resent { .. }));
        resent.map(|stretch| (stretch.end - stretch.start).div_ceil(segment_bytes)).sum()
    }

    /// Everything that has not arrived is lost.
    fn lose_all(&mut self, unacknowledged: u64, highest: u64) {
        self.extend(unacknowledged, highest);
        for index in 0..self.stretches.len() {
            if self.stretches[index].fate != Fate::Arrived {
                self.set(index, Fate::Lost);
            }
        }
        self.retransmissions = 0;
        self.latest_arrived = 0;
    }

    /// The first lost stretch.
    fn first_lost(&self) -> Option<(u64, u64)> {
        if self.lost_bytes == 0 {
            return None;
        }
        let first = self.stretches.iter().find(|stretch| stretch.fate == Fate::Lost)?;
        Some((first.start, first.end))
    }

    /// The lost segment `[start, end)` is sent again, when the next new number is `next`.
    fn resend(&mut self, start: u64, end: u64, next: u64) {
        let index = self.stretches.partition_point(|stretch| stretch.end <= start);
        self.split(index, end);
        self.set(index, Fate::Resent { next, order: self.retransmissions });
        self.retransmissions += 1;
    }
}

/// The recovery with forward acknowledgement.
#[derive(Debug)]
pub(crate) struct ForwardAckRecovery {
    board: Board,
    /// Whether the last ACK reported a loss.
    has_found_loss: bool,
    /// The last ACK was one of new data.
    has_advanced: bool,
    /// The total arrived, in order or not, before the last ACK, and the amount that it added.
    arrived_before: u64,
    newly_bytes: u64,
    /// A timeout has struck, and not everything sent before is acknowledged.
    has_timed_out: bool,
    rule: RateReduction,
    reduction: Reduction,
    segment_bytes: u64,
}

impl ForwardAckRecovery {
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            board: Board::default(),
            has_found_loss: false,
            has_advanced: false,
            arrived_before: 0,
            newly_bytes: 0,
            has_timed_out: false,
            rule: config.rate_reduction(),
            reduction: Reduction::AtOnce,
            segment_bytes: u64::from(config.payload_bytes()),
        }
    }

    /// The data in the network: neither arrived nor lost.
    fn pipe_bytes(&self, connection: &Connection) -> u64 {
        connection.highest - connection.unacknowledged - self.board.arrived_bytes - self.board.lost_bytes
    }

    /// The running total of what has arrived, in order or not.
    fn total_arrived_bytes(&self, connection: &Connection) -> u64 {
        connection.unacknowledged + self.board.arrived_bytes
    }

    /// Sends the first lost segment or, without one, new data; returns how much that puts into the network.
    fn send_next(&mut self, turn: &mut RecoveryContext<'_>) -> Option<u64> {
        let connection = &mut *turn.connection;
        if let Some((start, end)) = self.board.first_lost() {
            let payload = connection.payload_at(start).min(end - start);
            let next = connection.highest;
            let sent_to = connection.transmit(start, payload, turn.now, turn.out);
            self.board.resend(start, sent_to, next);
            return Some(sent_to - start);
        }
        let payload = connection.payload_at(connection.next);
        let is_allowed =
            connection.next < connection.end() && connection.flight_bytes() + payload <= connection.max_window_bytes;
        if !is_allowed {
            return None;
        }
        connection.next = connection.transmit(connection.next, payload, turn.now, turn.out);
        Some(payload)
    }

    fn has_recovered_from_timeout(&self, connection: &Connection) -> bool {
        self.has_timed_out && connection.unacknowledged >= connection.recovery_point
    }

    /// Everything sent before the timeout has arrived.
    fn leave_timeout(&mut self, connection: &mut Connection) {
        self.has_timed_out = false;
        self.board.clear();
        connection.selective = false;
        if connection.window.congestion_window < connection.window.slow_start_threshold {
            let in_network = self.pipe_bytes(connection) as f64 / self.segment_bytes as f64;
            connection.window.congestion_window = connection.window.slow_start_threshold.min(in_network + MAX_BURST);
            connection.apply_window();
        }
    }
}

impl Recovery for ForwardAckRecovery {
    fn learn(&mut self, connection: &mut Connection, ack: &Ack, newly: u64, _now: Time) -> bool {
        self.has_advanced = newly > 0;
        self.arrived_before = self.total_arrived_bytes(connection) - newly;
        let retransmission_arrived = self.board.advance(connection.unacknowledged);
        let mut held = [(0, 0); SackBlocks::CAPACITY];
        let mut count = 0;
        for (left, right) in ack.sack.iter() {
            // Older blocks may be below the cumulative ACK; a block beyond what was sent is nonsense.
            if right > connection.unacknowledged && right <= connection.highest && left < right {
                held[count] = (left.max(connection.unacknowledged), right);
                count += 1;
            }
        }
        let held = &mut held[..count];
        held.sort_unstable();
        let news = self.board.update(connection.unacknowledged, held, retransmission_arrived, self.segment_bytes);
        self.has_found_loss = news.has_found_loss;
        self.newly_bytes = self.total_arrived_bytes(connection) - self.arrived_before;
        connection.selective = !self.board.is_empty() || self.has_timed_out;
        news.has_arrived || news.has_found_loss
    }

    fn in_flight_bytes(&self, connection: &Connection) -> u64 {
        if connection.in_recovery { self.pipe_bytes(connection) } else { connection.flight_bytes() }
    }

    fn sends_by_pipe(&self) -> bool {
        true
    }

    fn is_due(&self, connection: &Connection) -> bool {
        self.has_found_loss && !self.has_recovered_from_timeout(connection)
    }

    fn enter(&mut self, turn: &mut RecoveryContext<'_>) {
        let RecoveryContext { connection, controller, now, .. } = turn;
        let before_bytes = connection.window_bytes;
        connection.in_recovery = true;
        self.has_timed_out = false;
        connection.counters.fast_recoveries += 1;
        connection.stop_timing();
        // Not again where a mark in the same window of data has reduced it (RFC 3168, 6.1.2).
        if !connection.ecn || connection.unacknowledged >= connection.reduction_point {
            connection.reduce(
                *controller,
                CongestionSignal::Loss,
                self.board.resent_segments(self.segment_bytes),
                *now,
            );
        }
        connection.recovery_point = connection.highest;
        connection.restart_timer(*now);
        let flight = connection.highest.saturating_sub(self.arrived_before);
        self.reduction = Reduction::begin(self.rule, flight, before_bytes);
    }

    fn on_duplicate(&mut self, _turn: &mut RecoveryContext<'_>) {}

    /// RFC 6298, 5.3: any ACK of new data restarts the timer.
    fn on_partial_ack(&mut self, turn: &mut RecoveryContext<'_>, _newly: u64) {
        turn.connection.restart_timer(turn.now);
    }

    fn on_full_ack(&mut self, turn: &mut RecoveryContext<'_>) {
        turn.leave();
        self.board.clear();
        self.has_found_loss = false;
        turn.connection.selective = false;
    }

    /// Everything that has not arrived is lost; nothing is forgotten.
    fn on_timeout(&mut self, connection: &mut Connection, _now: Time) {
        connection.next = connection.highest;
        self.board.lose_all(connection.unacknowledged, connection.highest);
        self.has_timed_out = true;
        connection.selective = true;
    }

    fn resent_in_flight(&self, _connection: &Connection) -> u64 {
        self.board.resent_segments(self.segment_bytes)
    }

    fn on_spurious(&mut self, _connection: &mut Connection, _now: Time) {
        self.board.clear();
        self.has_found_loss = false;
        self.has_timed_out = false;
    }

    fn send(&mut self, turn: &mut RecoveryContext<'_>) {
        if self.has_recovered_from_timeout(turn.connection) {
            self.leave_timeout(turn.connection);
        }
        let mut pipe = self.pipe_bytes(turn.connection);
        let window = turn.connection.window_bytes;
        let limit = if turn.connection.in_recovery {
            let newly = core::mem::take(&mut self.newly_bytes);
            let progress = Progress { newly, is_safe: self.has_advanced && !self.has_found_loss };
            self.reduction.limit(window, pipe, self.segment_bytes, progress)
        } else {
            window
        };
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

#[cfg(test)]
#[path = "fack_tests.rs"]
mod tests;
