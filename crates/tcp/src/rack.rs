//! Recovery by time: RACK and the tail loss probe.
//!
//! # What it does
//! Each segment keeps the time when it was last sent. Once a segment that was sent later has arrived, those sent before
//! it count as lost if a round trip and a tolerance for reordering have passed. This includes retransmissions. A timer
//! checks again if the tolerance has not passed yet. When no ACK comes for two round trips, a probe is sent: new data,
//! or the last segment again, whose ACK shows what is missing. So neither a lost retransmission nor the loss of the
//! last segments waits for the retransmission timeout.
//!
//! # Source
//! RFC 8985, sections 6 (RACK) and 7 (TLP); the names in parentheses are its. How what is in the network comes down to
//! the window is `rate_reduction.rs`'s.
//!
//! # Where we differ
//! RACK.min_RTT is the shortest round trip of the connection, not that of a sliding window. After a timeout the
//! congestion window is that of the skeleton, one segment.
//!
//! # Parameters
//! `rack`, `tail_loss_probe`, with `sack`.

use core::mem::take;

use crate::connection::{Connection, Timer};
use crate::delivery_rate::TransmissionNumber;
use crate::rate_reduction::{Progress, Reduction};
use crate::recovery::{DUPLICATE_THRESHOLD, Recovery, RecoveryContext};
use crate::sent_segments::{SentSegment, SentSegments};
use crate::undo::TIMESTAMP_RESOLUTION;
use crate::{Ack, RateReduction, Span, TcpConfig, Time, TimeoutResponse};

/// Recoveries for which a widened reordering window stays (RACK.reo_wnd_persist).
const PERSISTENCE: u32 = 16;
/// No tolerance is larger: quarters of the shortest round trip.
const MAX_TOLERANCE: u32 = 1000;
/// The longest that a receiver delays an ACK of a single segment (TLP.max_ack_delay).
const MAX_ACK_DELAY: Span = Span::from_milliseconds(200);
/// The delay of the probe before there is a round-trip sample (section 7.2).
const FIRST_PROBE: Span = Span::from_seconds(1);

/// RFC 8985's recovery.
#[derive(Debug)]
pub(crate) struct RackRecovery {
    segments: SentSegments,
    /// The most recently sent segment that has arrived: when it was sent, and its end (RACK.xmit_ts, RACK.end_seq).
    latest: (Time, u64),
    /// The round trip of the segment sent last among those that the last ACK reported (RACK.rtt).
    round_trip: Span,
    /// The highest number that has arrived (RACK.fack).
    forward: u64,
    reordering_seen: bool,
    /// The tolerance in quarters of the shortest round trip (RACK.reo_wnd_mult).
    tolerance: u32,
    /// Recoveries until the tolerance is one again.
    persistence: u32,
    /// No further D-SACK widens the tolerance until this is acknowledged (RACK.dsack_round).
    widened_until: u64,
    /// The time of the next check for lost segments.
    look_again: Time,
    probe: Probe,
    probe_due: Time,
    /// The due time of the retransmission timeout, even if the timer is set for something else.
    timeout_due: Time,
    rule: RateReduction,
    reduction: Reduction,
    /// The data that may be in flight, by the last ACK.
    limit: u64,
    /// The window comes down after a mark until this is acknowledged.
    marked_until: u64,
    /// The content of the last ACK.
    news: News,
    /// After a timeout the first lost segment goes out in any case.
    sends_one: bool,
    /// Whether data that was sent before the last timeout is still unacknowledged.
    is_after_timeout: bool,
    timeout_response: TimeoutResponse,
    segment_bytes: u64,
}

/// The tail loss probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    Off,
    /// None is in flight.
    Idle,
    /// One is: the number after all that was sent until then (TLP.end_seq), and whether it repeats data
    /// (TLP.is_retrans).
    InFlight {
        end: u64,
        repeats: bool,
    },
}

/// The content of an ACK.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    /// The segment that was sent last among the reported arrivals, and its end.
    latest: (Time, u64),
    delivered_bytes: u64,
    lost_bytes: u64,
    has_advanced: bool,
    /// Whether it has widened the tolerance for reordering.
    has_widened: bool,
    /// A retransmission is lost, or a timer has found a loss. In Linux that ends the recovery from a timeout.
    is_lost_again: bool,
    /// Something new was sent since.
    has_sent: bool,
}

impl RackRecovery {
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            segments: SentSegments::new(),
            latest: (Time::ZERO, 0),
            round_trip: Span::ZERO,
            forward: 0,
            reordering_seen: false,
            tolerance: 1,
            persistence: 0,
            widened_until: 0,
            look_again: Time::NEVER,
            probe: if config.tail_loss_probe { Probe::Idle } else { Probe::Off },
            probe_due: Time::NEVER,
            timeout_due: Time::NEVER,
            rule: config.rate_reduction(),
            reduction: Reduction::AtOnce,
            limit: 0,
            marked_until: 0,
            news: News::default(),
            sends_one: false,
            is_after_timeout: false,
            timeout_response: config.timeout_response,
            segment_bytes: u64::from(config.payload_bytes()),
        }
    }

    /// Steps 1 to 3 of section 6.2: a segment has arrived.
    fn on_arrival(&mut self, segment: SentSegment, ack: &Ack, connection: &mut Connection, now: Time) {
        if let Some(delivery) = &mut connection.delivery {
            delivery.on_arrival(segment.transmission, segment.is_retransmitted, now);
        }
        self.news.delivered_bytes += segment.end - segment.start;
        if segment.end > self.forward {
            self.forward = segment.end;
        } else if segment.end < self.forward && !segment.is_retransmitted {
            self.reordering_seen = true;
        }
        let round_trip = now.since(segment.sent);
        if segment.is_retransmitted {
            // Step 2: the ACK may be that of an earlier transmission.
            let is_of_earlier = ack.echo < Time::NEVER && ack.echo + TIMESTAMP_RESOLUTION <= segment.sent;
            let is_too_soon = connection.round_trip.shortest().is_some_and(|shortest| round_trip < shortest);
            if is_of_earlier || is_too_soon {
                return;
            }
        }
        let transmission = (segment.sent, segment.end);
        if transmission > self.news.latest {
            self.news.latest = transmission;
            self.round_trip = round_trip;
        }
        self.latest = self.latest.max(transmission);
    }

    /// Step 4: how much later than a round trip a segment may yet arrive (RACK_update_reo_wnd).
    fn reordering_window(&self, connection: &Connection) -> Span {
        let is_recovering = connection.in_recovery || connection.unacknowledged < connection.recovery_point;
        let are_enough_sacked = self.segments.sacked_segments() >= DUPLICATE_THRESHOLD as usize;
        if !self.reordering_seen && (is_recovering || are_enough_sacked) {
            return Span::ZERO;
        }
        let shortest = connection.round_trip.shortest().unwrap_or(Span::ZERO);
        let window = Span::from_picoseconds(shortest.picoseconds() / 4 * u64::from(self.tolerance));
        window.min(connection.round_trip.smoothed().unwrap_or(window))
    }

    /// Step 4: a D-SACK shows that the tolerance was too small.
    fn learn_tolerance(&mut self, has_dsack: bool, connection: &Connection) {
        if has_dsack && connection.unacknowledged >= self.widened_until {
            self.widened_until = connection.highest;
            self.tolerance = (self.tolerance + 1).min(MAX_TOLERANCE);
            self.persistence = PERSISTENCE;
            self.news.has_widened = true;
        }
    }

    /// Step 4: a recovery, fast or after a timeout, is over.
    fn end_recovery(&mut self) {
        if take(&mut self.news.has_widened) {
            return;
        }
        self.persistence = self.persistence.saturating_sub(1);
        if self.persistence == 0 {
            self.tolerance = 1;
        }
    }

    /// Step 5: marks as lost what was sent before the segment `latest`, the latest that has arrived, and is overdue
    /// (RACK_detect_loss).
    fn detect_losses(&mut self, latest: (Time, u64), connection: &mut Connection, now: Time) {
        let overdue_after = self.round_trip + self.reordering_window(connection);
        let mut wait = Span::ZERO;
        let mut is_lost_again = false;
        let lost = self.segments.mark_lost(latest, |segment| {
            let overdue_at = segment.sent.saturating_add(overdue_after);
            if overdue_at > now {
                wait = wait.max(overdue_at.since(now));
            }
            is_lost_again |= overdue_at <= now && segment.is_resent_loss();
            if overdue_at <= now
                && let Some(delivery) = &mut connection.delivery
            {
                delivery.on_loss(segment.transmission);
            }
            overdue_at <= now
        });
        self.news.lost_bytes += lost;
        self.news.is_lost_again |= is_lost_again;
        self.look_again = if wait > Span::ZERO { now.saturating_add(wait) } else { Time::NEVER };
    }

    /// Section 7.4: evaluates an ACK for the probe in flight. True if the probe has repaired a loss, which requires a
    /// reduction (section 7.4.2); there is none in flight during a recovery.
    fn settle_probe(&mut self, ack: &Ack, duplicate: Option<(u64, u64)>) -> bool {
        let Probe::InFlight { end, repeats } = self.probe else { return false };
        if ack.ack < end {
            return false;
        }
        let is_repeated = duplicate.is_some_and(|(_, right)| right == end);
        let is_bare_duplicate = !self.news.has_advanced && ack.sack.is_empty();
        if !repeats || is_repeated || is_bare_duplicate {
            self.probe = Probe::Idle;
            return false;
        }
        let has_mended = ack.ack > end;
        if has_mended {
            self.probe = Probe::Idle;
        }
        has_mended
    }

    /// Sends a lost segment again, or repeats the last one as a probe. Its ACK must not end the round trip that is
    /// being timed (Karn).
    fn retransmit(&mut self, segment: SentSegment, turn: &mut RecoveryContext<'_>) {
        let connection = &mut *turn.connection;
        connection.stop_timing();
        let payload = connection.payload_at(segment.start).min(segment.end - segment.start);
        connection.transmit(segment.start, payload, turn.now, turn.out);
        connection.pace(payload, turn.out.departure(), turn.now);
        let in_flight = self.segments.in_flight_segments() + 1;
        let transmission = note_transmission(connection, Some(segment), in_flight, turn.now);
        self.segments.note_retransmission(segment.start, transmission, turn.now);
    }

    /// Sends the next new segment, where there is one and the receiver's window has room; returns its bytes.
    fn send_new(&mut self, turn: &mut RecoveryContext<'_>, limit: u64) -> Option<u64> {
        let connection = &mut *turn.connection;
        let payload = connection.payload_at(connection.next);
        let is_allowed = connection.next < connection.end()
            && self.segments.in_flight_bytes() + payload <= limit
            && connection.flight_bytes() + payload <= connection.max_window_bytes
            && (limit == u64::MAX || connection.may_send(payload, turn.now));
        if !is_allowed {
            return None;
        }
        let start = connection.next;
        connection.next = connection.transmit(start, payload, turn.now, turn.out);
        connection.pace(payload, turn.out.departure(), turn.now);
        let in_flight = self.segments.in_flight_segments() + 1;
        let transmission = note_transmission(connection, None, in_flight, turn.now);
        self.segments.note_new(start, connection.next, transmission, turn.now);
        self.news.has_sent = true;
        Some(payload)
    }

    /// Section 7.2: whether a probe may be sent when nothing comes.
    fn may_probe(&self, connection: &Connection) -> bool {
        let is_recovering = connection.in_recovery || connection.unacknowledged < connection.recovery_point;
        self.probe == Probe::Idle
            && !is_recovering
            && self.segments.sacked_bytes() == 0
            && self.segments.in_flight_bytes() > 0
    }

    /// Section 7.2: how long to wait before the probe.
    fn probe_delay(&self, connection: &Connection) -> Span {
        let Some(smoothed) = connection.round_trip.smoothed() else { return FIRST_PROBE };
        let twice = smoothed + smoothed;
        let is_single = self.segments.in_flight_segments() <= 1;
        if is_single { twice + MAX_ACK_DELAY } else { twice }
    }

    /// Sets the one timer: for what the pacer holds back, to look again at what may be lost, to probe, or for the
    /// retransmission timeout, whichever comes first.
    fn set_timer(&mut self, connection: &mut Connection, now: Time) {
        let news = take(&mut self.news);
        if connection.timer == Timer::Retransmission {
            self.timeout_due = connection.deadline;
        }
        if !self.may_probe(connection) {
            self.probe_due = Time::NEVER;
        } else if news.has_advanced || news.has_sent {
            // Section 7.2: at the timeout at the latest, in place of which the probe goes.
            self.probe_due = now.saturating_add(self.probe_delay(connection)).min(self.timeout_due);
        }
        let (mut timer, mut due) = (Timer::Retransmission, self.timeout_due);
        let others = [
            (Timer::Probe, self.probe_due),
            (Timer::Reordering, self.look_again),
            (Timer::Pacing, connection.resume_at),
        ];
        for (other, at) in others {
            if at <= due && at < Time::NEVER {
                (timer, due) = (other, at);
            }
        }
        connection.set_timer(timer, due);
    }

    /// Section 7.3.
    fn send_probe(&mut self, turn: &mut RecoveryContext<'_>) {
        // The probe may exceed the congestion window.
        let repeats = self.send_new(turn, u64::MAX).is_none();
        if repeats {
            let Some(last) = self.segments.last() else { return };
            self.retransmit(last, turn);
        }
        turn.connection.counters.probes += 1;
        self.probe = Probe::InFlight { end: turn.connection.highest, repeats };
        turn.connection.restart_timer(turn.now);
        self.set_timer(turn.connection, turn.now);
    }

    /// Whether a lost segment may be sent again now.
    fn may_repair(
        &mut self,
        segment: &SentSegment,
        in_flight: u64,
        limit: u64,
        turn: &mut RecoveryContext<'_>,
    ) -> bool {
        let bytes = segment.end - segment.start;
        take(&mut self.sends_one) || in_flight + bytes <= limit && turn.connection.may_send(bytes, turn.now)
    }
}

/// Notes a transmission that makes so many segments in flight, where delivery is measured; `repeats` was sent before.
fn note_transmission(
    connection: &mut Connection,
    repeats: Option<SentSegment>,
    in_flight: usize,
    now: Time,
) -> TransmissionNumber {
    let Some(delivery) = &mut connection.delivery else { return 0 };
    if let Some(repeats) = repeats {
        delivery.end(repeats.transmission);
    }
    delivery.note_sent(in_flight as u64, now)
}

impl Recovery for RackRecovery {
    fn learn(&mut self, connection: &mut Connection, ack: &Ack, newly: u64, now: Time) -> bool {
        let duplicate = ack.duplicate_block();
        if let Some(delivery) = &mut connection.delivery {
            delivery.begin(self.segments.in_flight_segments() as u64);
        }
        self.news = News { has_advanced: newly > 0, ..News::default() };
        while let Some(segment) = self.segments.pop_acknowledged(connection.unacknowledged) {
            self.on_arrival(segment, ack, connection, now);
        }
        for (left, right) in ack.sack.iter().skip(usize::from(duplicate.is_some())) {
            // Older blocks may be below the cumulative ACK; a block beyond what was sent is nonsense.
            if right > connection.unacknowledged && right <= connection.highest {
                let mut from = left.max(connection.unacknowledged);
                while let Some(segment) = self.segments.sack_next(&mut from, right) {
                    self.on_arrival(segment, ack, connection, now);
                }
            }
        }
        self.learn_tolerance(duplicate.is_some(), connection);
        if self.is_after_timeout && connection.unacknowledged >= connection.recovery_point {
            self.is_after_timeout = false;
            self.end_recovery();
        }
        if self.settle_probe(ack, duplicate) {
            connection.probe_has_mended = true;
        }
        if self.segments.may_be_overtaken(self.latest) {
            self.detect_losses(self.latest, connection, now);
        } else {
            self.look_again = Time::NEVER;
        }
        self.news.delivered_bytes > 0 || self.news.lost_bytes > 0 || duplicate.is_some()
    }

    fn delivered_bytes(&self, _newly: u64) -> u64 {
        self.news.delivered_bytes
    }

    /// A segment found lost calls for a recovery until it arrives, even if it was sent again (`tcp_time_to_recover`).
    /// One above the recovery point may have been found and sent again during the recovery that ends now. RFC 5681,
    /// section 4.3: losses in two successive windows of data lower the window twice.
    fn is_due(&self, connection: &Connection) -> bool {
        let is_after_timeout = self.news.is_lost_again && self.timeout_response == TimeoutResponse::Linux;
        self.segments.has_unrepaired() && (connection.unacknowledged >= connection.recovery_point || is_after_timeout)
    }

    fn enter(&mut self, turn: &mut RecoveryContext<'_>) {
        let resent = self.resent_in_flight(turn.connection);
        let is_coming_down = self.is_coming_down(turn.connection);
        let connection = &mut *turn.connection;
        if take(&mut self.is_after_timeout) {
            // RFC 5681, section 4.3: the loss of a retransmission is a second sign of congestion.
            connection.reduction_point = connection.unacknowledged;
        }
        // RFC 9937, section 6.2: data SACKed before does not count, data of this ACK does.
        let flight =
            (connection.flight_bytes() + self.news.delivered_bytes).saturating_sub(self.segments.sacked_bytes());
        turn.begin(resent);
        if !is_coming_down {
            self.reduction = Reduction::begin(self.rule, flight, self.segments.in_flight_bytes());
        }
        if let Probe::InFlight { .. } = self.probe {
            self.probe = Probe::Idle;
        }
    }

    fn on_duplicate(&mut self, _turn: &mut RecoveryContext<'_>) {}

    /// RFC 6298, 5.3: any ACK of new data restarts the timer.
    fn on_partial_ack(&mut self, turn: &mut RecoveryContext<'_>, _newly: u64) {
        turn.connection.restart_timer(turn.now);
    }

    fn on_full_ack(&mut self, turn: &mut RecoveryContext<'_>) {
        self.end_recovery();
        turn.leave();
    }

    /// Section 6.3: the first segment is lost, and all that is overdue, whether anything sent later has arrived or
    /// not.
    fn on_timeout(&mut self, connection: &mut Connection, now: Time) {
        connection.next = connection.highest;
        if self.latest.1 == 0 {
            // Only the SYN has arrived.
            self.round_trip = connection.round_trip.shortest().unwrap_or(Span::ZERO);
        }
        if let Some(first) = self.segments.mark_first_lost()
            && let Some(delivery) = &mut connection.delivery
        {
            delivery.on_loss(first.transmission);
        }
        self.detect_losses((Time::NEVER, 0), connection, now);
        self.look_again = Time::NEVER;
        self.marked_until = 0;
        self.news = News::default();
        self.sends_one = true;
        self.is_after_timeout = true;
        if let Probe::InFlight { .. } = self.probe {
            self.probe = Probe::Idle;
        }
    }

    /// Whatever else is overdue stays lost (`rack.advanced`).
    fn on_spurious(&mut self, connection: &mut Connection, now: Time) {
        self.segments.forgive();
        self.is_after_timeout = false;
        (self.news.lost_bytes, self.news.is_lost_again, self.look_again) = (0, false, Time::NEVER);
        if self.segments.may_be_overtaken(self.latest) {
            self.detect_losses(self.latest, connection, now);
        }
    }

    fn resent_in_flight(&self, connection: &Connection) -> u64 {
        let probe_end = match self.probe {
            Probe::InFlight { end, repeats: true } if end > connection.unacknowledged => Some(end),
            _ => None,
        };
        self.segments.resent_in_flight(probe_end)
    }

    fn in_flight_segments(&self) -> u64 {
        self.segments.in_flight_segments() as u64
    }

    fn in_flight_bytes(&self, _connection: &Connection) -> u64 {
        self.segments.in_flight_bytes()
    }

    fn has_lost(&self) -> bool {
        self.segments.has_lost()
    }

    /// RFC 9937, section 6.2: any reduction, as in Linux.
    fn on_mark(&mut self, connection: &Connection) {
        let flight = connection.flight_bytes().saturating_sub(self.segments.sacked_bytes());
        self.reduction = Reduction::begin(self.rule, flight, self.segments.in_flight_bytes());
        self.marked_until = connection.highest;
        // The window is reduced: a loss that the probe may have repaired requires no more.
        if let Probe::InFlight { .. } = self.probe {
            self.probe = Probe::Idle;
        }
    }

    fn is_coming_down(&self, connection: &Connection) -> bool {
        connection.unacknowledged < self.marked_until
    }

    fn news_of(&self, _connection: &Connection, ack: &Ack) -> u64 {
        self.segments.news_of(ack)
    }

    fn sends_by_pipe(&self) -> bool {
        true
    }

    fn on_deadline(&mut self, turn: &mut RecoveryContext<'_>) -> bool {
        if turn.connection.timer == Timer::Probe {
            self.send_probe(turn);
            return false;
        }
        self.detect_losses(self.latest, turn.connection, turn.now);
        self.news.is_lost_again = self.news.lost_bytes > 0;
        // No ACK has come, but what is lost has left the network: it counts as one arrival, as in Linux.
        self.news.delivered_bytes = self.segment_bytes.min(self.news.lost_bytes);
        true
    }

    fn send(&mut self, turn: &mut RecoveryContext<'_>) {
        let window = turn.connection.window_bytes;
        let mut limit = window;
        let comes_down = turn.connection.in_recovery || self.is_coming_down(turn.connection);
        if turn.connection.is_resumed && comes_down {
            limit = self.limit;
        } else if comes_down && !turn.connection.controller_owns_recovery {
            let progress = Progress {
                newly: self.news.delivered_bytes,
                is_safe: self.news.has_advanced && self.news.lost_bytes == 0,
            };
            limit = self.reduction.limit(window, self.segments.in_flight_bytes(), self.segment_bytes, progress);
        }
        self.limit = limit;
        turn.connection.resume_at = Time::NEVER;
        while !turn.connection.waits_for_timer {
            let in_flight = self.segments.in_flight_bytes();
            let sent = match self.segments.next_lost() {
                Some(segment) if self.may_repair(&segment, in_flight, limit, turn) => {
                    self.retransmit(segment, turn);
                    segment.end - segment.start
                }
                Some(_) => break,
                None => match self.send_new(turn, limit) {
                    Some(bytes) => bytes,
                    None => break,
                },
            };
            self.sends_one = false;
            self.reduction.note_sent(sent, self.segments.in_flight_bytes());
        }
        self.set_timer(turn.connection, turn.now);
    }
}

#[cfg(test)]
#[path = "rack_tests.rs"]
mod tests;
