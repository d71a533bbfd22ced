//! QUIC's recovery: by numbers of packets, by time and by probes.
//!
//! # What it does
//! Each transmission has a number of its own, so that an ACK of data that was sent twice is that of one transmission. A
//! transmission is lost once one sent three later has arrived, or once it is an eighth of a round trip overdue. If no
//! ACK comes for a while, up to two probes are sent. They do not reduce the window, and their ACKs show the losses.
//! There is no retransmission timeout. Losses reduce the window once in a recovery period, and to two segments if
//! nothing has arrived for three such probe timeouts.
//!
//! # Source
//! RFC 9002; the names in parentheses are those of its appendices A and B.
//!
//! # Where we differ
//! The messages are TCP's. An ACK returns the send time of the segment that it answers, which identifies the
//! transmission, and carries at most three ranges. Where one ACK covers several segments that were sent twice, the
//! last transmissions before the answered one count for the others. The first transmission may have arrived
//! though its ACK did not: only D-SACK (`dsack`) shows that, otherwise it counts as lost. A copy that arrives after its
//! data is not evaluated, and of several copies the network counts one as in flight.
//!
//! There is no report of the delay of an ACK, so that round-trip samples contain it. The maximum delay of an ACK
//! (`max_ack_delay`) is `delayed_ack_timeout` with `delayed_ack`, otherwise the RFC's default of 25 ms. `max_rto`
//! bounds the probe timeout, which the RFC does not. A probe takes lost data first, if the window has held it back.
//! Persistent congestion is found among the losses that one ACK reveals. The ACK that ends a recovery period does not
//! open the window, nor do ACKs of nothing but data above a gap. Any ACK that advances is a round-trip sample, also
//! where a later number has arrived before. The handshake is TCP's, and pacing is that of `pacing`.
//!
//! # Parameters
//! `recovery` ("quic"), with `sack` and `timestamps`; `dsack`, `delayed_ack`, `delayed_ack_timeout`, `max_rto`.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::mem::take;
use core::ops::Range;

use crate::connection::{Connection, Timer};
use crate::delivery_rate::TransmissionNumber;
use crate::recovery::{Recovery, RecoveryContext};
use crate::sent_segments::{SentSegment, SentSegments};
use crate::undo::TIMESTAMP_RESOLUTION;
use crate::{Ack, CongestionSignal, Span, TcpConfig, Time};

/// Later transmissions that have arrived when one is lost (section 6.1.1, kPacketThreshold).
const PACKET_THRESHOLD: TransmissionNumber = 3;
/// The least time threshold and deviation (sections 6.1.2 and 6.2.1, kGranularity).
const GRANULARITY: Span = Span::from_milliseconds(1);
/// The round trip before the first sample (section 6.2.2, kInitialRtt).
const INITIAL_ROUND_TRIP: Span = Span::from_milliseconds(333);
/// The maximum delay of an ACK, unless the receiver announces another (RFC 9000, section 18.2, max_ack_delay).
const MAX_ACK_DELAY: Span = Span::from_milliseconds(25);
/// Segments sent at a probe timeout (section 6.2.4).
const PROBES: u32 = 2;
/// The timeout of probes does not double more often than this.
const MAX_DOUBLINGS: u32 = 30;
/// Probe timeouts without an arrival that mean persistent congestion (section 7.6.1, kPersistentCongestionThreshold).
const PERSISTENT_TIMEOUTS: u64 = 3;
/// The window after that, in segments (section 7.2, kMinimumWindow).
const MINIMUM_WINDOW: f64 = 2.0;

/// RFC 9002's recovery.
#[derive(Debug)]
pub(crate) struct QuicRecovery {
    segments: SentSegments,
    /// The number of the next transmission.
    next_number: TransmissionNumber,
    /// The earlier transmissions of data that was sent again and has not arrived, by first byte and number.
    earlier: BTreeMap<(u64, TransmissionNumber), Time>,
    /// Transmissions that are not lost, and whose data a probe has repeated.
    repeated: Vec<Repeated>,
    /// The highest number that has arrived, and when it was sent (largest_acked_packet).
    largest: Option<(TransmissionNumber, Time)>,
    /// The last round-trip sample (latest_rtt).
    latest_round_trip: Span,
    /// The time of the first one (first_rtt_sample).
    first_sample: Time,
    /// The time at which the next transmission is overdue (loss_time).
    loss_time: Time,
    /// Probe timeouts since the last arrival (pto_count).
    timeouts: u32,
    period: Period,
    /// A lost segment goes out whatever the window.
    sends_one: bool,
    news: News,
    max_ack_delay: Span,
    max_timeout: Span,
    max_window: f64,
}

/// A recovery period (section 7.3.2).
#[derive(Clone, Copy, Debug, Default)]
struct Period {
    /// The first transmission after its start (congestion_recovery_start_time). Losses before it need no reduction.
    first: TransmissionNumber,
    is_open: bool,
}

/// A transmission of the data from `start` to `end` that a probe has repeated.
#[derive(Clone, Copy, Debug)]
struct Repeated {
    number: TransmissionNumber,
    sent: Time,
    start: u64,
    end: u64,
}

impl Repeated {
    /// Whether this range contains its data.
    fn is_within(&self, left: u64, right: u64) -> bool {
        left <= self.start && self.end <= right
    }
}

/// The transmission that an ACK reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Arrival {
    number: TransmissionNumber,
    sent: Time,
    /// Whether the ACK answers this one: it returns its time.
    is_answered: bool,
}

/// The content of an ACK.
#[derive(Debug, Default)]
struct News {
    delivered_bytes: u64,
    /// Whether the ACK answers a transmission that is now the highest one that has arrived.
    is_sample: bool,
    /// The transmissions found lost.
    lost: Vec<(TransmissionNumber, Time)>,
    is_congestion: bool,
    is_persistent: bool,
}

/// Whether transmission `a` was sent before `b`.
fn is_before(a: TransmissionNumber, b: TransmissionNumber) -> bool {
    (b.wrapping_sub(a) as i32) > 0
}

/// The keys of the earlier transmissions of this data.
fn earlier_range(start: u64, end: u64) -> Range<(u64, TransmissionNumber)> {
    (start, TransmissionNumber::MIN)..(end, TransmissionNumber::MIN)
}

impl QuicRecovery {
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            segments: SentSegments::new(),
            next_number: 0,
            earlier: BTreeMap::new(),
            repeated: Vec::new(),
            largest: None,
            latest_round_trip: Span::ZERO,
            // The SYN-ACK is a sample before any data.
            first_sample: if config.handshake { Time::ZERO } else { Time::NEVER },
            loss_time: Time::NEVER,
            timeouts: 0,
            period: Period::default(),
            sends_one: false,
            news: News::default(),
            max_ack_delay: if config.delayed_ack { config.delayed_ack_timeout } else { MAX_ACK_DELAY },
            max_timeout: config.max_rto,
            max_window: f64::from(config.congestion_window_limit()),
        }
    }

    fn begin_news(&mut self) {
        let mut lost = take(&mut self.news.lost);
        lost.clear();
        self.news = News { lost, ..News::default() };
    }

    /// The transmission of a segment that has arrived. In QUIC an ACK returns its number, here the time when it was
    /// sent. If the ACK answers another segment, it is the last transmission before that one.
    fn attribute(&self, segment: &SentSegment, ack: &Ack) -> Arrival {
        // A D-SACK reports which segment the ACK answers.
        let may_be_answered = ack.duplicate_block().is_none_or(|(l, r)| l < segment.end && segment.start < r);
        let arrival = |number, sent: Time| {
            let is_its_time = ack.echo <= sent && sent < ack.echo.saturating_add(TIMESTAMP_RESOLUTION);
            Arrival { number, sent, is_answered: may_be_answered && is_its_time }
        };
        let last = arrival(segment.transmission, segment.sent);
        if !segment.is_retransmitted || last.is_answered {
            return last;
        }
        let earlier = self.earlier.range(earlier_range(segment.start, segment.end)).rev();
        let earlier = earlier.map(|(&(_, number), &sent)| arrival(number, sent));
        let (mut before, mut first) = (None, last);
        for arrival in core::iter::once(last).chain(earlier) {
            if arrival.is_answered {
                return arrival;
            }
            if before.is_none() && arrival.sent < ack.echo {
                before = Some(arrival);
            }
            first = arrival;
        }
        before.unwrap_or(first)
    }

    /// A segment has arrived (OnPacketAcked).
    fn on_arrival(&mut self, segment: SentSegment, ack: &Ack, connection: &mut Connection, now: Time) {
        let arrival = self.attribute(&segment, ack);
        let is_last = arrival.number == segment.transmission;
        if let Some(delivery) = &mut connection.delivery {
            let is_ambiguous = segment.is_retransmitted && !(is_last && arrival.is_answered);
            delivery.on_arrival(segment.transmission, is_ambiguous, now);
        }
        self.news.delivered_bytes += segment.end - segment.start;
        if self.largest.is_none_or(|(largest, _)| is_before(largest, arrival.number)) {
            self.largest = Some((arrival.number, arrival.sent));
            self.news.is_sample = arrival.is_answered;
        }
        if !segment.is_retransmitted {
            return;
        }
        while let Some((&key, _)) = self.earlier.range(earlier_range(segment.start, segment.end)).next() {
            self.earlier.remove(&key);
        }
        // Those sent before it may be lost. Those sent after it need no ACK.
        self.repeated.retain(|repeated| {
            !repeated.is_within(segment.start, segment.end) || is_before(repeated.number, arrival.number)
        });
    }

    /// Section 5.1: an ACK is a sample if the highest number that it acknowledges is news. One that advances has been
    /// taken as one.
    fn learn_round_trip(&mut self, connection: &mut Connection, ack: &Ack, newly: u64, now: Time) {
        if newly == 0 && self.news.is_sample {
            connection.round_trip.sample(ack.echo, now, false);
        }
        if ack.echo < Time::NEVER && (newly > 0 || self.news.is_sample) {
            self.latest_round_trip = now.since(ack.echo);
        }
        if self.first_sample == Time::NEVER && connection.round_trip.smoothed().is_some() {
            self.first_sample = now;
        }
    }

    /// Section 6.1.2: a transmission older than this is lost, once a later one has arrived.
    fn time_threshold(&self, connection: &Connection) -> Span {
        let round_trip = connection.round_trip.smoothed().unwrap_or(INITIAL_ROUND_TRIP).max(self.latest_round_trip);
        Span::from_picoseconds((round_trip.picoseconds() / 8).saturating_mul(9)).max(GRANULARITY)
    }

    /// Section 6.1: finds what is lost (DetectAndRemoveLostPackets).
    fn detect_losses(&mut self, connection: &mut Connection, now: Time) {
        self.loss_time = Time::NEVER;
        let Some((largest, largest_sent)) = self.largest else { return };
        let threshold = self.time_threshold(connection);
        let lost = &mut self.news.lost;
        let loss_time = &mut self.loss_time;
        let is_late = |number, sent: Time| {
            largest.wrapping_sub(number) >= PACKET_THRESHOLD || sent.saturating_add(threshold) <= now
        };
        self.segments.mark_lost((largest_sent, u64::MAX), |segment| {
            let (number, sent) = (segment.transmission, segment.sent);
            if !is_before(number, largest) {
                return false;
            }
            if !is_late(number, sent) {
                *loss_time = sent.saturating_add(threshold).min(*loss_time);
                return false;
            }
            lost.push((number, sent));
            true
        });
        self.repeated.retain(|&Repeated { number, sent, .. }| {
            let is_lost = is_before(number, largest) && is_late(number, sent);
            if is_lost {
                lost.push((number, sent));
            }
            !is_lost
        });
        if lost.is_empty() {
            return;
        }
        lost.sort_unstable_by_key(|&(number, _)| core::cmp::Reverse(largest.wrapping_sub(number)));
        if let Some(delivery) = &mut connection.delivery {
            lost.iter().for_each(|&(number, _)| delivery.on_loss(number));
        }
        self.judge_losses(connection);
    }

    /// Section 7.3.2: losses of what was sent after the start of the last recovery period are a sign of congestion.
    /// Section 7.6.2: those of everything over a long time are one of persistent congestion.
    fn judge_losses(&mut self, connection: &Connection) {
        let period = self.period;
        self.news.is_congestion = self.news.lost.iter().any(|&(number, _)| !is_before(number, period.first));
        let duration = self.probe_base(connection).picoseconds().saturating_mul(PERSISTENT_TIMEOUTS);
        let mut run: Option<(TransmissionNumber, Time)> = None;
        for &(number, sent) in self.news.lost.iter().filter(|&&(_, sent)| sent >= self.first_sample) {
            // Nothing sent between the two may have arrived.
            let began = match run {
                Some((last, began)) if number == last.wrapping_add(1) => began,
                _ => sent,
            };
            run = Some((number, began));
            self.news.is_persistent |= sent.since(began).picoseconds() > duration;
        }
    }

    /// Section 6.2.1: the probe timeout before doubling; section 6.2.2 before the first sample.
    fn probe_base(&self, connection: &Connection) -> Span {
        let smoothed = connection.round_trip.smoothed().unwrap_or(INITIAL_ROUND_TRIP);
        let deviation = connection.round_trip.deviation();
        let deviation = deviation.map_or(INITIAL_ROUND_TRIP.picoseconds() / 2, Span::picoseconds);
        smoothed + Span::from_picoseconds(deviation.saturating_mul(4)).max(GRANULARITY) + self.max_ack_delay
    }

    /// Section 6.2.1: the probe timeout, doubled with each one in a row.
    fn probe_timeout(&self, connection: &Connection) -> Span {
        let base = self.probe_base(connection).picoseconds();
        Span::from_picoseconds(base.saturating_mul(1 << self.timeouts)).min(self.max_timeout)
    }

    /// The number of a transmission that has left. `repeats` was sent before, and was lost or not.
    fn number(
        &mut self,
        connection: &mut Connection,
        repeats: Option<(SentSegment, bool)>,
        now: Time,
    ) -> TransmissionNumber {
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        if let Some((segment, is_lost)) = repeats {
            let SentSegment { start, end, sent, transmission: number, .. } = segment;
            self.earlier.insert((start, number), sent);
            if !is_lost {
                self.repeated.push(Repeated { number, sent, start, end });
            }
        }
        if let Some(delivery) = &mut connection.delivery {
            if let Some((segment, _)) = repeats {
                delivery.end(segment.transmission);
            }
            delivery.note_sent(self.segments.in_flight_segments() as u64 + 1, now);
        }
        number
    }

    /// Sends a segment again, which is lost or which a probe repeats.
    fn retransmit(&mut self, segment: SentSegment, is_lost: bool, turn: &mut RecoveryContext<'_>) {
        let connection = &mut *turn.connection;
        connection.stop_timing();
        let payload = connection.payload_at(segment.start).min(segment.end - segment.start);
        connection.transmit(segment.start, payload, turn.now, turn.out);
        connection.pace(payload, turn.out.departure(), turn.now);
        let number = self.number(connection, Some((segment, is_lost)), turn.now);
        self.segments.note_retransmission(segment.start, number, turn.now);
    }

    /// Sends the next new segment, where there is one, and the window and the receiver's have room.
    fn send_new(&mut self, turn: &mut RecoveryContext<'_>, limit: u64) -> bool {
        let connection = &mut *turn.connection;
        let payload = connection.payload_at(connection.next);
        let is_allowed = connection.next < connection.end()
            && self.segments.in_flight_bytes() + payload <= limit
            && connection.flight_bytes() + payload <= connection.max_window_bytes
            && (limit == u64::MAX || connection.may_send(payload, turn.now));
        if is_allowed {
            let start = connection.next;
            connection.next = connection.transmit(start, payload, turn.now, turn.out);
            connection.pace(payload, turn.out.departure(), turn.now);
            let number = self.number(connection, None, turn.now);
            self.segments.note_new(start, connection.next, number, turn.now);
        }
        is_allowed
    }

    /// Section 6.2.4: up to two probes, beyond the window. New data if there is any, else the oldest again.
    fn send_probes(&mut self, turn: &mut RecoveryContext<'_>) {
        self.timeouts = (self.timeouts + 1).min(MAX_DOUBLINGS);
        let mut from = 0;
        for _ in 0..PROBES {
            if let Some(lost) = self.segments.next_lost() {
                from = lost.end;
                self.retransmit(lost, true, turn);
            } else if !self.send_new(turn, u64::MAX) {
                let Some(oldest) = self.segments.first_missing(from) else { break };
                from = oldest.end;
                self.retransmit(oldest, false, turn);
            }
            turn.connection.counters.probes += 1;
        }
        self.set_timer(turn.connection, turn.now);
    }

    /// Sets the one timer (SetLossDetectionTimer): for the next segment to be overdue or else for probes, or for what
    /// the pacer holds back if that is earlier.
    fn set_timer(&self, connection: &mut Connection, now: Time) {
        if connection.highest > connection.unacknowledged {
            let (timer, due) = if self.loss_time < Time::NEVER {
                // Section 6.2.1: no probes meanwhile.
                (Timer::Reordering, self.loss_time)
            } else {
                (Timer::Probe, connection.last_sent.saturating_add(self.probe_timeout(connection)))
            };
            connection.set_timer(timer, due.max(now));
        } else if connection.timer != Timer::Retransmission {
            // Nothing is in flight: none, or that of a sender whose window marks have closed.
            connection.restart_timer(now);
        }
        if connection.resume_at < connection.deadline {
            connection.set_timer(Timer::Pacing, connection.resume_at);
        }
    }

    /// An ACK during a recovery period, which may end it.
    fn go_on(&mut self, turn: &mut RecoveryContext<'_>) {
        let is_all_acknowledged = turn.connection.unacknowledged >= turn.connection.highest;
        self.period.is_open &= !is_all_acknowledged;
        if !self.period.is_open {
            turn.leave();
        }
    }

    /// Whether a lost segment may be sent again now.
    fn may_repair(&mut self, segment: &SentSegment, limit: u64, turn: &mut RecoveryContext<'_>) -> bool {
        let bytes = segment.end - segment.start;
        take(&mut self.sends_one)
            || self.segments.in_flight_bytes() + bytes <= limit && turn.connection.may_send(bytes, turn.now)
    }
}

impl Recovery for QuicRecovery {
    /// An ACK (OnAckReceived).
    fn learn(&mut self, connection: &mut Connection, ack: &Ack, newly: u64, now: Time) -> bool {
        if let Some(delivery) = &mut connection.delivery {
            delivery.begin(self.segments.in_flight_segments() as u64);
        }
        self.begin_news();
        let duplicate = ack.duplicate_block();
        if let Some((left, right)) = duplicate {
            // The data has arrived twice.
            self.repeated.retain(|repeated| !repeated.is_within(left, right));
        }
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
        if !self.earlier.is_empty() {
            self.earlier = self.earlier.split_off(&(connection.unacknowledged, TransmissionNumber::MIN));
        }
        self.learn_round_trip(connection, ack, newly, now);
        if self.news.delivered_bytes > 0 {
            // Section 6.2.1.
            self.timeouts = 0;
        }
        // Section 7.3.2: something sent after the start has arrived.
        let first = self.period.first;
        self.period.is_open &= self.largest.is_none_or(|(largest, _)| is_before(largest, first));
        self.detect_losses(connection, now);
        true
    }

    fn delivered_bytes(&self, _newly: u64) -> u64 {
        self.news.delivered_bytes
    }

    fn is_due(&self, _connection: &Connection) -> bool {
        self.news.is_congestion || self.news.is_persistent
    }

    /// Section 7.3.2 (OnCongestionEvent).
    fn enter(&mut self, turn: &mut RecoveryContext<'_>) {
        let (is_congestion, is_persistent) = (take(&mut self.news.is_congestion), take(&mut self.news.is_persistent));
        let RecoveryContext { connection, controller, now, .. } = turn;
        connection.in_recovery = true;
        connection.counters.fast_recoveries += 1;
        if is_congestion {
            connection.reduce(*controller, CongestionSignal::Loss, 0, *now);
        }
        connection.recovery_point = connection.highest;
        self.period = Period { first: self.next_number, is_open: true };
        // One packet may precede the reduction.
        self.sends_one = true;
        if is_persistent {
            // Section 7.6.2: slow start from the minimum window, and no recovery period.
            connection.reduce_again(*controller, *now);
            connection.window.congestion_window = MINIMUM_WINDOW.min(self.max_window);
            self.period.is_open = false;
            turn.leave();
        }
    }

    fn on_duplicate(&mut self, turn: &mut RecoveryContext<'_>) {
        self.go_on(turn);
        if !turn.connection.in_recovery && self.is_due(turn.connection) {
            self.enter(turn);
        }
    }

    fn on_partial_ack(&mut self, turn: &mut RecoveryContext<'_>, _newly: u64) {
        self.go_on(turn);
    }

    fn on_full_ack(&mut self, turn: &mut RecoveryContext<'_>) {
        self.go_on(turn);
    }

    /// Not part of RFC 9002, and not due while anything is in flight. The first segment counts as lost.
    fn on_timeout(&mut self, connection: &mut Connection, _now: Time) {
        connection.next = connection.highest;
        if let Some(first) = self.segments.mark_first_lost()
            && let Some(delivery) = &mut connection.delivery
        {
            delivery.on_loss(first.transmission);
        }
        self.sends_one = true;
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

    /// Section 7.3.2: a mark begins a recovery period, too.
    fn on_mark(&mut self, _connection: &Connection) {
        self.period = Period { first: self.next_number, is_open: true };
    }

    fn is_coming_down(&self, _connection: &Connection) -> bool {
        self.period.is_open
    }

    fn news_of(&self, _connection: &Connection, ack: &Ack) -> u64 {
        self.segments.news_of(ack)
    }

    fn sends_by_pipe(&self) -> bool {
        true
    }

    fn on_deadline(&mut self, turn: &mut RecoveryContext<'_>) -> bool {
        if turn.connection.timer == Timer::Probe {
            self.send_probes(turn);
            return false;
        }
        self.begin_news();
        self.detect_losses(turn.connection, turn.now);
        true
    }

    fn send(&mut self, turn: &mut RecoveryContext<'_>) {
        let limit = turn.connection.window_bytes;
        turn.connection.resume_at = Time::NEVER;
        while !turn.connection.waits_for_timer {
            match self.segments.next_lost() {
                Some(segment) if self.may_repair(&segment, limit, turn) => self.retransmit(segment, true, turn),
                Some(_) => break,
                None => {
                    if !self.send_new(turn, limit) {
                        break;
                    }
                }
            }
        }
        self.sends_one = false;
        self.set_timer(turn.connection, turn.now);
    }
}

#[cfg(test)]
#[path = "quic_tests.rs"]
mod tests;
