//! The state that every variant shares: sequence numbers, window and timer, and what may be sent by them.

use alloc::boxed::Box;
use core::mem::offset_of;

use crate::delivery_rate::DeliveryRate;
use crate::departures::Departures;
use crate::pacer::Pacer;
use crate::undo::{Undo, Verdict};
use crate::{
    Ack, CongestionSample, CongestionSignal, Control, Controller, EcnFeedback, EcnFloor, ReductionBase, RoundTrip,
    Segment, SegmentOut, SenderCounters, Span, TcpConfig, Time, accurate_ecn,
};

/// The purpose of a sender's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// The retransmission timeout (RFC 6298).
    Retransmission,
    /// A tail loss probe (RFC 8985, section 7).
    Probe,
    /// Looks again for losses (RFC 8985, section 6).
    Reordering,
    /// Lets go what the pacer held back.
    Pacing,
}

/// Sequence numbers, window and timer of a sender. The names in parentheses are the RFCs'.
///
/// In the order of use: fields that every ACK and every segment reads come first. With thousands of connections each
/// line of cache that an ACK touches is one more load from far memory.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Connection {
    /// The first number not yet acknowledged (SND.UNA).
    pub unacknowledged: u64,
    /// The next byte to send (SND.NXT); falls back to `unacknowledged` at a timeout.
    pub next: u64,
    /// One past the highest number ever sent (HighData).
    pub highest: u64,
    /// One past the last byte that the application wrote; the FIN's number once it has closed.
    pub data_end: u64,
    /// The limit of data in flight: the whole segments of window and inflation, at most the receiver's window.
    pub window_bytes: u64,
    /// The receiver's window.
    pub max_window_bytes: u64,
    pub window: Control,
    /// The inflation of the window by duplicate ACKs during fast recovery, in segments (RFC 5681, 3.2, steps 3 and 4).
    pub inflation: f64,
    /// Payload of a full segment (SMSS).
    pub segment_bytes: u64,
    /// The most that was in flight in this round trip, and the ACK that ends the round trip.
    used_bytes: u64,
    round_end: u64,
    /// Data that limited transmit has sent beyond the window since the last new ACK.
    pub limited_transmit_bytes: u64,
    pub deadline: Time,
    /// The time of the last transmission.
    pub last_sent: Time,
    /// Its purpose.
    pub timer: Timer,
    pub in_recovery: bool,
    /// Some of what is in flight is known to have arrived: the recovery keeps a scoreboard.
    pub selective: bool,
    /// The application has closed: a FIN follows the last byte.
    pub closing: bool,
    /// Whether both ends agreed on ECN.
    pub ecn: bool,
    /// A mark came at a window of one segment: nothing new is sent before the timer expires (RFC 3168, 6.1.2).
    pub waits_for_timer: bool,
    /// The next new segment signals the reduction of the window to the receiver.
    pub cwr_pending: bool,
    /// There is an `undo`: a copy here, so that ACKs need not look there.
    pub may_undo: bool,
    /// A mark came at a window of one segment or less: another one doubles the timeout (ns-2's `ecn_backoff_`).
    ecn_backoff: bool,
    /// Lower bound of the window after marks.
    ecn_floor: EcnFloor,
    /// Duplicate ACKs since the last new ACK.
    pub duplicate_acks: u32,
    /// The ACK that ends the running round-trip measurement; 0 when none runs.
    timed_end: u64,
    /// The departures of segments, for a controller that watches the delay.
    pub departures: Option<Box<Departures>>,
    /// See [`SenderCounters::segments_sent`].
    segments_sent: u64,
    pub round_trip: RoundTrip,
    timed_since: Time,
    /// `highest` as it was at the last entry into a recovery or timeout (RFC 6582's `recover`, plus one).
    pub recovery_point: u64,
    /// `highest` as it was at the last reduction for any reason: one reduction per window (RFC 3168, 6.1.2).
    pub reduction_point: u64,
    /// The state that undoes the last reduction for a loss, if this is enabled.
    pub undo: Option<Box<Undo>>,
    wants_undo: bool,
    /// It stops while too many of its bytes wait in its own uplink. This and pacing: only with recoveries by time.
    pub keeps_queue_small: bool,
    pub pacer: Option<Box<Pacer>>,
    /// The measurement of delivery, for a controller that needs it.
    pub delivery: Option<Box<DeliveryRate>>,
    /// The controller sets the window during a recovery.
    pub controller_owns_recovery: bool,
    /// The time at which what the pacer holds back may leave; [`Time::NEVER`] if it holds nothing back.
    pub resume_at: Time,
    /// The pacer lets go what an earlier ACK allowed.
    pub is_resumed: bool,
    /// A tail loss probe has repaired a loss: the window must be reduced.
    pub probe_has_mended: bool,
    /// The last sign of congestion.
    pub last_signal: Option<CongestionSignal>,
    /// Since then all that was sent is acknowledged, when this was last so, and the ACK with which that began.
    pub idle_since: Time,
    idle_from: u64,
    ecn_retransmissions: bool,
    /// SYN, FIN and retransmissions are ECN-capable too.
    ecn_control_packets: bool,
    pub feedback: EcnFeedback,
    decoder: accurate_ecn::Decoder,
    /// Packets that the last ACK newly reports as marked; `None` without accurate ECN.
    pub newly_marked: Option<u64>,
    reduction_base: ReductionBase,
    /// All but the segments sent, which every segment touches.
    pub counters: SenderCounters,
}

impl Connection {
    /// The bytes from its beginning that ACKs and segments touch, when nothing is lost.
    pub const HOT_BYTES: usize = offset_of!(Self, round_trip) + RoundTrip::HOT_BYTES;

    pub fn new(config: &TcpConfig) -> Self {
        let segment_bytes = u64::from(config.payload_bytes().max(1));
        let max_window_bytes = u64::from(config.max_window_segments) * segment_bytes;
        let first = u64::from(!config.handshake);
        let mut connection = Self {
            unacknowledged: first,
            next: first,
            highest: first,
            data_end: 1,
            window_bytes: 0,
            max_window_bytes,
            window: Control::new(
                f64::from(config.initial_window_segments.min(config.congestion_window_limit())),
                config.initial_threshold(),
            ),
            inflation: 0.0,
            recovery_point: 0,
            reduction_point: 0,
            segment_bytes,
            used_bytes: 0,
            round_end: 0,
            limited_transmit_bytes: 0,
            duplicate_acks: 0,
            in_recovery: false,
            selective: false,
            closing: false,
            ecn: config.ecn && !config.handshake,
            may_undo: false,
            ecn_backoff: false,
            ecn_floor: config.ecn_floor,
            timer: Timer::Retransmission,
            undo: None,
            wants_undo: config.undo,
            probe_has_mended: false,
            last_signal: None,
            idle_since: Time::ZERO,
            idle_from: 0,
            ecn_retransmissions: config.ecn_retransmissions,
            ecn_control_packets: config.ecn && config.ecn_control_packets(),
            feedback: config.ecn_feedback(),
            decoder: accurate_ecn::Decoder::default(),
            newly_marked: None,
            reduction_base: config.reduction_base,
            waits_for_timer: false,
            cwr_pending: false,
            deadline: Time::NEVER,
            resume_at: Time::NEVER,
            last_sent: Time::ZERO,
            timed_end: 0,
            timed_since: Time::ZERO,
            departures: None,
            keeps_queue_small: false,
            pacer: None,
            delivery: None,
            controller_owns_recovery: false,
            is_resumed: false,
            segments_sent: 0,
            round_trip: RoundTrip::new(config),
            counters: SenderCounters::default(),
        };
        connection.apply_window();
        connection
    }

    /// The counters so far.
    pub fn counters(&self) -> SenderCounters {
        SenderCounters { segments_sent: self.segments_sent, ..self.counters }
    }

    /// One past the last number to send: the data and, after close, the FIN.
    pub fn end(&self) -> u64 {
        self.data_end.saturating_add(u64::from(self.closing))
    }

    /// The data in flight according to cumulative ACKs (FlightSize).
    pub fn flight_bytes(&self) -> u64 {
        self.next - self.unacknowledged
    }

    /// The payload of a segment that starts at `seq`.
    pub fn payload_at(&self, seq: u64) -> u64 {
        self.data_end.saturating_sub(seq).min(self.segment_bytes)
    }

    /// Sends the SYN, again if need be.
    pub fn send_syn(&mut self, ecn_setup: bool, now: Time, out: &mut (impl SegmentOut + ?Sized)) {
        let retransmission = self.highest > 0;
        self.count_and_time(0, 1, retransmission, now);
        let accurate_ecn_setup = ecn_setup && self.feedback == EcnFeedback::Accurate;
        let ect = ecn_setup && self.ecn_control_packets;
        self.next = 1;
        out.segment(Segment {
            syn: true,
            ecn_setup,
            accurate_ecn_setup,
            ect,
            retransmission,
            sent: now,
            ..Segment::default()
        });
        self.restart_timer(now);
    }

    /// Whether an ACK of new data may call for more than to send the next segments.
    pub fn looks_for_losses(&self) -> bool {
        self.in_recovery || self.selective || self.may_undo
    }

    /// Whether the next segment, if it has data, is a plain one: new, and with nothing to signal or to record.
    fn sends_plainly(&self) -> bool {
        self.next == self.highest && !self.cwr_pending && self.departures.is_none()
    }

    /// Sends the next segment as [`Connection::transmit`] does, if that is a plain one.
    #[inline(always)]
    fn transmit_plain(&mut self, payload: u64, now: Time, out: &mut (impl SegmentOut + ?Sized)) {
        let seq = self.next;
        self.next = seq + payload;
        self.highest = self.next;
        self.segments_sent += 1;
        self.last_sent = now;
        if self.timed_end == 0 {
            self.timed_end = self.next;
            self.timed_since = now;
        }
        let (payload_bytes, ect) = (payload as u32, self.ecn);
        out.segment(Segment { seq, payload_bytes, ect, sent: now, ..Segment::default() });
        if self.deadline == Time::NEVER {
            self.restart_timer(now);
        }
    }

    /// Sends the segment of `payload` bytes at `seq`, the FIN if there are none; returns the number after it.
    #[inline(never)]
    pub fn transmit(&mut self, seq: u64, payload: u64, now: Time, out: &mut (impl SegmentOut + ?Sized)) -> u64 {
        let fin = payload == 0;
        let end = seq + payload + u64::from(fin);
        let retransmission = seq < self.highest;
        self.count_and_time(seq, end, retransmission, now);
        // RFC 3168, 6.1.2 and 6.1.5: CWR on new data only, and as a rule no ECT on what is sent again.
        let new_data = payload > 0 && !retransmission;
        let may_signal = new_data || payload > 0 && self.ecn_retransmissions;
        if let Some(departures) = &mut self.departures {
            if new_data { departures.note(end, now) } else { departures.forget() }
        }
        let cwr = may_signal && core::mem::take(&mut self.cwr_pending);
        out.segment(Segment {
            seq,
            payload_bytes: payload as u32,
            syn: false,
            fin,
            cwr,
            ecn_setup: false,
            accurate_ecn_setup: false,
            ect: self.ecn && (may_signal || self.ecn_control_packets),
            retransmission,
            sent: now,
        });
        if self.deadline == Time::NEVER {
            // RFC 6298, 5.1.
            self.restart_timer(now);
        }
        end
    }

    fn count_and_time(&mut self, seq: u64, end: u64, retransmission: bool, now: Time) {
        self.segments_sent += 1;
        if retransmission {
            self.counters.segments_retransmitted += 1;
            if let Some(undo) = &mut self.undo {
                undo.note_retransmission(seq, now);
            }
            if seq < self.timed_end && self.timed_end <= end {
                // The ACK may be that of either transmission (Karn).
                self.stop_timing();
            }
        } else if self.timed_end == 0 {
            // One measurement at a time, and never of something sent twice (Karn).
            self.timed_end = end;
            self.timed_since = now;
        }
        self.highest = self.highest.max(end);
        self.last_sent = now;
    }

    /// Sends what the window allows, in order.
    #[inline(always)]
    pub fn send_allowed(&mut self, now: Time, out: &mut (impl SegmentOut + ?Sized)) {
        if self.waits_for_timer {
            return;
        }
        let limit = self.unacknowledged + self.window_bytes;
        let end = self.end();
        while self.next < end {
            let payload = self.payload_at(self.next);
            if self.next + payload > limit {
                return;
            }
            if payload > 0 && self.sends_plainly() {
                self.transmit_plain(payload, now, out);
            } else {
                self.next = self.transmit(self.next, payload, now, out);
            }
        }
    }

    /// Sends the first unacknowledged segment again.
    pub fn retransmit_first(&mut self, now: Time, out: &mut (impl SegmentOut + ?Sized)) {
        let seq = self.unacknowledged;
        let end = self.transmit(seq, self.payload_at(seq), now, out);
        self.next = self.next.max(end);
    }

    /// One new segment for one of the first duplicate ACKs (RFC 3042).
    pub fn limited_transmit(&mut self, now: Time, out: &mut (impl SegmentOut + ?Sized)) {
        let payload = self.payload_at(self.next);
        let flight = self.flight_bytes() + payload;
        let allowed = self.window_bytes + u64::from(self.duplicate_acks) * self.segment_bytes;
        if self.next == self.highest && self.next < self.end() && flight <= allowed.min(self.max_window_bytes) {
            self.next = self.transmit(self.next, payload, now, out);
            self.limited_transmit_bytes += payload;
        }
    }

    /// Whether the window was in use during the last round trip before an ACK, so that it may grow. In slow start
    /// half of it is enough, because each ACK makes room for two segments; Linux has the same rule.
    pub fn window_is_in_use(&mut self) -> bool {
        let flight = self.flight_bytes();
        if self.unacknowledged >= self.round_end {
            self.used_bytes = flight;
            self.round_end = self.next;
        } else {
            self.used_bytes = self.used_bytes.max(flight);
        }
        if self.is_in_slow_start() {
            self.window_bytes < 2 * self.used_bytes
        } else {
            self.window_bytes < self.used_bytes + self.segment_bytes
        }
    }

    pub fn is_in_slow_start(&self) -> bool {
        self.window.congestion_window < self.window.slow_start_threshold
    }

    /// Takes note that everything below `ack.ack` has arrived; returns the number of bytes that are new.
    #[inline(always)]
    pub fn advance(&mut self, ack: &Ack, now: Time) -> u64 {
        let newly = ack.ack - self.unacknowledged;
        self.unacknowledged = ack.ack;
        self.next = self.next.max(ack.ack);
        self.ecn_backoff &= ack.ece;
        let is_timed = self.timed_end != 0 && ack.ack >= self.timed_end;
        if ack.echo < Time::NEVER {
            // RFC 7323, 4.1: with timestamps each ACK that advances is a sample, also of what was sent again.
            self.round_trip.sample(ack.echo, now, self.ecn_backoff);
        } else if is_timed {
            self.round_trip.sample(self.timed_since, now, self.ecn_backoff);
        }
        if is_timed {
            self.timed_end = 0;
        }
        newly
    }

    /// Gives up the running round-trip measurement, because a segment is sent again (Karn).
    pub fn stop_timing(&mut self) {
        self.timed_end = 0;
    }

    /// A round-trip sample from the ACK that has just come, for a controller that watches the delay.
    pub fn sample_round_trip(&mut self, now: Time) -> Option<Span> {
        let (acknowledged, next) = (self.unacknowledged, self.next);
        self.departures.as_mut()?.sample(acknowledged, next, now)
    }

    /// Restarts the retransmission timer, or stops it if nothing is in flight (RFC 6298, 5.2 and 5.3).
    pub fn restart_timer(&mut self, now: Time) {
        let waits = self.highest > self.unacknowledged || {
            self.note_idle(now);
            self.waits_for_timer || self.window_bytes == 0
        };
        self.deadline = if waits { now.saturating_add(self.round_trip.timeout()) } else { Time::NEVER };
        self.timer = Timer::Retransmission;
    }

    /// Nothing is in flight. Keeps the time at which this began.
    #[cold]
    fn note_idle(&mut self, now: Time) {
        if self.idle_from != self.unacknowledged {
            self.idle_from = self.unacknowledged;
            self.idle_since = now;
        }
    }

    /// Sets the timer for something else than a retransmission.
    pub fn set_timer(&mut self, timer: Timer, deadline: Time) {
        self.timer = timer;
        self.deadline = deadline;
    }

    /// Recomputes what may be in flight, after a change of the window or its inflation.
    pub fn apply_window(&mut self) {
        // The cast takes the whole segments: the rest of the window is less than one. The receiver's window has no more
        // segments than a `u32` holds.
        let whole = (self.window.congestion_window + self.inflation) as u32;
        let least = u32::from(self.ecn_floor != EcnFloor::Ns2);
        self.window_bytes = (u64::from(whole.max(least)) * self.segment_bytes).min(self.max_window_bytes);
    }

    /// The data in flight, in segments: the window if that was the limit, with its fraction. Data of limited transmit
    /// does not count (RFC 5681, 3.2, step 2).
    fn used_segments(&self) -> f64 {
        if self.reduction_base == ReductionBase::CongestionWindow {
            return self.window.congestion_window;
        }
        let flight = self.flight_bytes().saturating_sub(self.limited_transmit_bytes);
        let window = self.window.congestion_window;
        let is_full = flight + self.segment_bytes > window as u64 * self.segment_bytes;
        if is_full { window } else { flight as f64 / self.segment_bytes as f64 }
    }

    fn congestion_sample(&self, keeps_threshold: bool, now: Time) -> CongestionSample {
        let (acknowledged, next) = (self.unacknowledged, self.next);
        CongestionSample { now, used_segments: self.used_segments(), acknowledged, next, keeps_threshold }
    }

    /// A sign of congestion: the controller reduces the window, once, while `resent` retransmissions are in flight. An
    /// earlier reduction can no longer be undone, nor can one for a mark.
    pub fn reduce(&mut self, controller: &mut dyn Controller, signal: CongestionSignal, resent: u64, now: Time) {
        let before = self.window;
        let sample = self.congestion_sample(false, now);
        match signal {
            CongestionSignal::Loss => controller.on_loss(&sample, &mut self.window),
            CongestionSignal::EcnEcho => controller.on_ecn(&sample, &mut self.window),
            CongestionSignal::Timeout => controller.on_timeout(&sample, &mut self.window),
        }
        self.forget_undo();
        if self.wants_undo && signal != CongestionSignal::EcnEcho {
            self.undo = Some(Box::new(Undo::new(before, self, resent)));
            self.may_undo = true;
        }
        if signal == CongestionSignal::EcnEcho {
            self.slow_down_at_one_segment(before.congestion_window);
        }
        self.last_signal = Some(signal);
        self.note_reduction();
    }

    /// A timeout after a reduction that it leaves in force.
    pub fn reduce_again(&mut self, controller: &mut dyn Controller, now: Time) {
        let sample = self.congestion_sample(true, now);
        controller.on_timeout(&sample, &mut self.window);
        self.last_signal = Some(CongestionSignal::Timeout);
        self.note_reduction();
    }

    /// A mark has come at this window: where it was one segment, the sender slows down by its timer.
    fn slow_down_at_one_segment(&mut self, window: f64) {
        match self.ecn_floor {
            EcnFloor::TwoSegments | EcnFloor::OneSegment => {}
            // RFC 3168, 6.1.2.
            EcnFloor::Timer => self.waits_for_timer = window <= 1.0,
            // ns-2 2.35, TcpAgent::ecn().
            EcnFloor::Ns2 => {
                if window <= 1.0 && self.ecn_backoff {
                    self.round_trip.back_off();
                }
                self.ecn_backoff = window <= 1.0;
            }
        }
    }

    /// The timer has expired while nothing was in flight, because marks had left no window: returns one segment to
    /// continue with. Otherwise false.
    pub fn resume_after_marks(&mut self) -> bool {
        let is_waiting = self.waits_for_timer || self.window_bytes == 0;
        self.waits_for_timer = false;
        self.window.congestion_window = self.window.congestion_window.max(1.0);
        self.apply_window();
        is_waiting && self.highest == self.unacknowledged
    }

    /// The packets that an ACK newly reports as marked, by accurate ECN. It reports so many bytes as arrived.
    pub fn decode_marks(&mut self, ack: &Ack, arrived: u64) -> Option<u64> {
        let ace = ack.ace?;
        self.newly_marked = Some(self.decoder.decode(ace, ack.marked_bytes, arrived, self.segment_bytes));
        self.newly_marked
    }

    /// Whether an echo that acknowledges up to `ack` calls for a reduction: one for each window of data (RFC 3168,
    /// 6.1.2). In ns-2 a timeout does not count as that one.
    pub fn heeds_echo(&self, ack: u64) -> bool {
        ack > self.reduction_point
            || self.ecn_floor == EcnFloor::Ns2 && self.last_signal == Some(CongestionSignal::Timeout)
    }

    /// Whether the timer's expiry leaves the threshold alone: in ns-2 it does while the window is that of a mark.
    pub fn keeps_threshold_at_timeout(&self) -> bool {
        self.ecn_floor == EcnFloor::Ns2 && self.last_signal == Some(CongestionSignal::EcnEcho)
    }

    /// Keeps the last reduction, even if ACKs show that it was unnecessary.
    pub fn forget_undo(&mut self) {
        self.undo = None;
        self.may_undo = false;
    }

    /// A mark has come: an unnecessary retransmission does not restore the window any more.
    pub fn confirm_reduction(&mut self) {
        if let Some(undo) = &mut self.undo {
            undo.confirm();
        }
    }

    /// Whether `ack` shows that the last reduction was unnecessary. Then nothing is recovered any more, and the window
    /// is what it was, unless a mark came.
    pub fn judge_reduction(&mut self, ack: &Ack) -> Verdict {
        let highest = self.highest;
        let Some(undo) = &mut self.undo else { return Verdict::Open };
        let verdict = undo.on_ack(ack);
        if verdict != Verdict::Open || undo.is_over(ack.ack, highest) {
            self.forget_undo();
        }
        let Verdict::Spurious(before) = verdict else { return verdict };
        if let Some(before) = before {
            self.counters.spurious_reductions += 1;
            let window = &mut self.window;
            window.congestion_window = window.congestion_window.max(before.congestion_window);
            window.slow_start_threshold = window.slow_start_threshold.max(before.slow_start_threshold);
            // It is as if there had been no reduction: the next sign of congestion counts, and no CWR is due.
            self.reduction_point = self.unacknowledged;
            self.cwr_pending = false;
        }
        self.in_recovery = false;
        self.inflation = 0.0;
        self.duplicate_acks = 0;
        self.next = self.highest;
        self.recovery_point = self.unacknowledged;
        self.apply_window();
        verdict
    }

    /// Whether the window was reduced for a loss or a mark, and not all that was in flight then is acknowledged.
    pub fn was_reduced_in_this_window(&self) -> bool {
        self.unacknowledged < self.reduction_point && self.last_signal != Some(CongestionSignal::Timeout)
    }

    /// The most segments that were in flight in this round trip.
    pub fn most_used_segments(&self) -> f64 {
        self.used_bytes as f64 / self.segment_bytes as f64
    }

    /// Notes that the window was reduced: no mark counts within this window of data, and the receiver gets a signal.
    pub fn note_reduction(&mut self) {
        self.reduction_point = self.highest;
        self.cwr_pending = self.ecn && self.feedback == EcnFeedback::Classic;
        self.apply_window();
    }

    /// The time since the last transmission.
    pub fn idle_since_last_sent(&self, now: Time) -> Span {
        now.since(self.last_sent)
    }
}
