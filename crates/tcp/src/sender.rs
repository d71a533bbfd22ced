//! The sender: the skeleton that every variant shares.
//!
//! # What it does
//! Opens with a SYN, sends what the window allows, takes each ACK to the controller or to the recovery, keeps the
//! retransmission timer, answers marks, and closes with a FIN.
//!
//! # Source
//! RFC 9293 (opening, closing), RFC 5681 (congestion control), RFC 6298 (timer), RFC 3042 (limited transmit),
//! RFC 3168 (ECN), RFC 6928 (initial window).
//!
//! # Where we differ
//! Data flows one way. The receiver's window is constant (`max_window_segments`). Partial segments are sent at once (no
//! Nagle), and the FIN is a segment of its own. A window that is not in use does not grow (as RFC 7661 and Linux; ns-2
//! lets it grow, to no effect on bulk data). By default, marks do not reduce the window below two segments, as in
//! Linux. With [`EcnFloor::Timer`](crate::EcnFloor::Timer) they do, down to one segment per timeout, as in RFC 3168.
//!
//! # Parameters
//! [`TcpConfig`].

use alloc::boxed::Box;
use alloc::string::String;
use core::mem::offset_of;

use crate::connection::{Connection, Timer};
use crate::departures::Departures;
use crate::fack::ForwardAckRecovery;
use crate::newreno::NewRenoRecovery;
use crate::pacer::Pacer;
use crate::quic::QuicRecovery;
use crate::rack::RackRecovery;
use crate::recovery::{DUPLICATE_THRESHOLD, Recovery, RecoveryContext, RenoRecovery};
use crate::sack::SackRecovery;
use crate::undo::Verdict;
use crate::window_validation::WindowValidation;
use crate::{
    Ack, CongestionControl, CongestionSignal, Controller, EcnFeedback, IdleRestart, Needs, Pacing, RoundTrip,
    SegmentOut, SenderCounters, TcpConfig, Time, TimeoutResponse, accurate_ecn,
};

mod observed;
mod report;

/// The phase of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionPhase {
    Closed,
    SynSent,
    Established,
}

/// Bytes that [`Sender::withdraw`] took back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Withdrawn {
    /// The bytes of the stream before them.
    pub after: u64,
    /// Their number.
    pub bytes: u64,
}

/// The sending end of a connection. In the order of use, as [`Connection`] is.
#[derive(Debug)]
#[repr(C)]
pub struct Sender {
    controller: Box<dyn Controller>,
    max_congestion_window: f64,
    phase: ConnectionPhase,
    wants_handshake: bool,
    wants_ecn: bool,
    wants_limited_transmit: bool,
    grows_at_recovery_exit: bool,
    /// A window that stays unused is reduced.
    validates: bool,
    duplicate_acks_restart_timer: bool,
    needs: Needs,
    /// The controller sees ACKs without new data too, and those during a recovery.
    reports_every_ack: bool,
    /// The controller needs any measurement.
    measures: bool,
    connection: Connection,
    recovery: Box<dyn Recovery>,
    /// The place of the last timeout: a second one at the same place leaves the threshold alone.
    timed_out_at: Option<u64>,
    validation: WindowValidation,
    byte_counting_limit: f64,
    timeout_response: TimeoutResponse,
}

impl Sender {
    /// The bytes from its beginning that ACKs touch without losses, to prefetch.
    pub const HOT_BYTES: usize = offset_of!(Self, connection) + Connection::HOT_BYTES;

    /// A closed sender; [`Sender::open`] starts it. The configuration has been found valid.
    #[must_use]
    pub fn new(config: &TcpConfig) -> Self {
        let recovery: Box<dyn Recovery> = match config.congestion_control {
            _ if config.is_quic() => Box::new(QuicRecovery::new(config)),
            _ if config.rack => Box::new(RackRecovery::new(config)),
            _ if config.fack => Box::new(ForwardAckRecovery::new(config)),
            _ if config.sack => Box::new(SackRecovery::new(config)),
            CongestionControl::Reno => Box::new(RenoRecovery),
            _ => Box::new(NewRenoRecovery::new(config)),
        };
        let controller = config.congestion_control.build(&config.setup());
        let needs = controller.needs();
        let mut connection = Connection::new(config);
        connection.departures = match needs {
            Needs { every_round_trip: true, .. } => Some(Box::new(Departures::of_all())),
            Needs { latest_round_trip: true, .. } => Some(Box::new(Departures::new())),
            _ => None,
        };
        connection.window.congestion_window = controller.initial_window(connection.window.congestion_window);
        connection.apply_window();
        connection.controller_owns_recovery = needs.owns_recovery;
        connection.delivery = needs.delivery.then(Box::default);
        let pacing = controller.pacing().or(config.pacing.then_some(Pacing::LINUX));
        let segment_bytes = connection.segment_bytes;
        connection.pacer = pacing.map(|pacing| Box::new(Pacer::new(Some(pacing), config.small_queues, segment_bytes)));
        connection.keeps_queue_small = config.small_queues;
        // A recovery that timestamps segments sees every ACK and sends every segment.
        connection.selective = recovery.sends_by_pipe();
        let initial_window = connection.window.congestion_window;
        Self {
            validation: WindowValidation::new(config.idle_restart, initial_window),
            validates: config.idle_restart != IdleRestart::InitialWindow && !needs.owns_recovery,
            connection,
            controller,
            reports_every_ack: needs.delivery || needs.marks,
            measures: needs.delivery
                || needs.marks
                || needs.latest_round_trip
                || needs.every_round_trip
                || needs.round_trip_estimate,
            needs,
            recovery,
            phase: ConnectionPhase::Closed,
            wants_handshake: config.handshake,
            wants_ecn: config.ecn,
            wants_limited_transmit: config.limited_transmit,
            grows_at_recovery_exit: config.grow_at_recovery_exit && !config.sack,
            duplicate_acks_restart_timer: config.duplicate_acks_restart_timer,
            timed_out_at: None,
            max_congestion_window: f64::from(config.congestion_window_limit()),
            byte_counting_limit: f64::from(config.byte_counting_limit),
            timeout_response: config.timeout_response,
        }
    }

    /// Whether it asks for accurate ECN.
    #[must_use]
    pub fn asks_for_accurate_ecn(&self) -> bool {
        self.wants_ecn && self.connection.feedback == EcnFeedback::Accurate
    }

    /// Gives the controller a seed for its random choices and the name of its flow, as far as it uses them. Comes
    /// before [`Sender::open`].
    pub fn introduce(&mut self, seed: impl FnOnce() -> u64, name: impl FnOnce() -> String) {
        if self.needs.randomness {
            self.controller.seed(seed());
        }
        if self.needs.start {
            self.controller.start(&name(), &mut self.connection.window);
            self.limit_window();
        }
    }

    /// Sends the SYN, or starts at once where the configuration has no handshake. Does nothing the second time.
    pub fn open(&mut self, now: Time, out: &mut impl SegmentOut) {
        if self.phase != ConnectionPhase::Closed {
            return;
        }
        if self.wants_handshake {
            self.phase = ConnectionPhase::SynSent;
            self.connection.send_syn(self.wants_ecn, now, out);
        } else {
            self.phase = ConnectionPhase::Established;
            self.send(now, out);
        }
    }

    /// The application hands over `bytes` more to send; ignored after [`Sender::close`].
    pub fn write(&mut self, bytes: u64, now: Time, out: &mut impl SegmentOut) {
        if self.connection.closing {
            return;
        }
        self.note_application_limit(now);
        self.connection.data_end = self.connection.data_end.saturating_add(bytes);
        self.restart_after_idle(now);
        self.send(now, out);
    }

    /// The application takes back the bytes that were never sent; ignored after [`Sender::close`] and for data without
    /// end.
    pub fn withdraw(&mut self) -> Withdrawn {
        let connection = &mut self.connection;
        let sent = connection.highest.max(1);
        let has_end = !connection.closing && connection.data_end != u64::MAX;
        let bytes = if has_end { connection.data_end.saturating_sub(sent) } else { 0 };
        connection.data_end -= bytes;
        Withdrawn { after: connection.data_end - 1, bytes }
    }

    /// The application has data without end, until [`Sender::close`].
    pub fn write_unlimited(&mut self, now: Time, out: &mut impl SegmentOut) {
        self.write(u64::MAX, now, out);
    }

    /// The application has written its last byte: a FIN follows it. Where data had no end, it ends with what has been
    /// sent so far.
    pub fn close(&mut self, now: Time, out: &mut impl SegmentOut) {
        let connection = &mut self.connection;
        if connection.closing {
            return;
        }
        if connection.data_end == u64::MAX {
            connection.data_end = connection.highest.max(1);
        }
        connection.closing = true;
        self.send(now, out);
    }

    /// Takes an ACK that carries nothing but its number, as most do: the same as [`Sender::on_ack`], in less time.
    #[inline]
    pub fn on_plain_ack(&mut self, ack: u64, now: Time, out: &mut impl SegmentOut) {
        let plain = || Ack { ack, ..Ack::default() };
        let connection = &mut self.connection;
        let is_new = ack > connection.unacknowledged && ack <= connection.highest;
        if self.phase != ConnectionPhase::Established || !is_new || connection.looks_for_losses() {
            return self.on_ack(&plain(), now, out);
        }
        let is_in_use = connection.window_is_in_use();
        let newly = connection.advance(&plain(), now);
        self.go_on(newly, is_in_use, false, now, out);
    }

    /// Takes an ACK. One that acknowledges what was never sent is ignored.
    #[inline(never)]
    pub fn on_ack(&mut self, ack: &Ack, now: Time, out: &mut impl SegmentOut) {
        let connection = &self.connection;
        if ack.ack > connection.highest {
            return;
        }
        if ack.ack < connection.unacknowledged {
            // It was overtaken by a later one; its blocks may still be news.
            if self.recovery.sends_by_pipe() && !ack.sack.is_empty() {
                self.on_duplicate_ack(ack, now, out);
            }
            return;
        }
        if self.phase != ConnectionPhase::Established || ack.syn {
            return self.on_syn_ack(ack, now, out);
        }
        if self.connection.feedback == EcnFeedback::Accurate && self.connection.ecn {
            let arrived = self.recovery.news_of(&self.connection, ack);
            let marked = self.connection.decode_marks(ack, arrived);
            let translated = Ack { ece: marked > Some(0), ace: None, ..*ack };
            return self.on_established_ack(&translated, now, out);
        }
        self.on_established_ack(ack, now, out);
    }

    /// An ACK whose echo says whether it reports a mark.
    fn on_established_ack(&mut self, ack: &Ack, now: Time, out: &mut impl SegmentOut) {
        if ack.ece && self.connection.ecn {
            self.on_ecn_echo(ack, now);
        }
        if ack.ack > self.connection.unacknowledged {
            self.on_new_ack(ack, now, out);
        } else if self.connection.highest > ack.ack || ack.duplicate_block().is_some() || self.recovery.sends_by_pipe()
        {
            // With nothing in flight it may still show that a retransmission or a probe was unnecessary.
            self.on_duplicate_ack(ack, now, out);
        }
    }

    /// The due time of [`Sender::on_timer`]; [`Time::NEVER`] when no timer runs. May move either way with any call.
    #[must_use]
    pub fn deadline(&self) -> Time {
        self.connection.deadline
    }

    /// The timer: to be called at [`Sender::deadline`]; does nothing before.
    pub fn on_timer(&mut self, now: Time, out: &mut impl SegmentOut) {
        if now < self.connection.deadline {
            return;
        }
        if self.connection.timer == Timer::Pacing {
            return self.resume(now, out);
        }
        if self.connection.timer != Timer::Retransmission {
            let mut turn =
                RecoveryContext { connection: &mut self.connection, controller: &mut *self.controller, now, out };
            if self.recovery.on_deadline(&mut turn) {
                self.report_losses();
                self.recover_if_due(now, out);
                self.send(now, out);
            }
            return;
        }
        let connection = &mut self.connection;
        if connection.resume_after_marks() {
            // RFC 3168, 6.1.2: nothing is lost, the next segment may go.
            connection.restart_timer(now);
            return self.send(now, out);
        }
        self.on_timeout(now, out);
    }

    /// The retransmission timer has expired while something is in flight, the SYN or data.
    fn on_timeout(&mut self, now: Time, out: &mut impl SegmentOut) {
        let is_linux = self.timeout_response == TimeoutResponse::Linux;
        let connection = &mut self.connection;
        connection.counters.timeouts += 1;
        connection.round_trip.back_off();
        connection.stop_timing();
        if self.phase == ConnectionPhase::SynSent {
            return connection.send_syn(self.wants_ecn, now, out);
        }
        // RFC 5681, 3.1: the threshold is set by the first timeout of a segment only.
        connection.inflation = 0.0;
        let keeps_threshold = self.timed_out_at == Some(connection.unacknowledged)
            || connection.keeps_threshold_at_timeout()
            || is_linux && connection.was_reduced_in_this_window();
        if keeps_threshold {
            connection.reduce_again(&mut *self.controller, now);
        } else {
            let resent = self.recovery.resent_in_flight(connection);
            connection.reduce(&mut *self.controller, CongestionSignal::Timeout, resent, now);
        }
        self.timed_out_at = Some(connection.unacknowledged);
        connection.in_recovery = false;
        connection.duplicate_acks = 0;
        connection.limited_transmit_bytes = 0;
        // Go back: everything not acknowledged counts as lost (RFC 5681, 3.1; RFC 6582, 3.2, step 4).
        connection.recovery_point = connection.highest;
        connection.next = connection.unacknowledged;
        self.recovery.on_timeout(connection, now);
        if is_linux || self.needs.owns_recovery {
            let window = &mut connection.window.congestion_window;
            *window = (self.recovery.in_flight_segments() as f64 + 1.0).min(self.max_congestion_window);
            connection.apply_window();
        }
        connection.restart_timer(now);
        self.report_losses();
        self.send(now, out);
    }

    /// Segments that the pacer held back may leave.
    #[cold]
    fn resume(&mut self, now: Time, out: &mut impl SegmentOut) {
        self.connection.is_resumed = true;
        self.send(now, out);
        self.connection.is_resumed = false;
    }

    /// Whether everything written has been acknowledged, the FIN included where [`Sender::close`] was called.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.phase == ConnectionPhase::Established && self.connection.unacknowledged == self.connection.end()
    }

    /// The time of the ACK of the last of it; `None` before.
    #[must_use]
    pub fn finished_at(&self) -> Option<Time> {
        self.is_finished().then_some(self.connection.idle_since)
    }

    /// The first number not yet acknowledged (SND.UNA).
    #[must_use]
    pub fn unacknowledged(&self) -> u64 {
        self.connection.unacknowledged
    }

    /// Payload bytes that are acknowledged.
    #[must_use]
    pub fn acked_bytes(&self) -> u64 {
        // Byte 0 is the SYN's; the FIN's comes after the data.
        self.connection.unacknowledged.min(self.connection.data_end).saturating_sub(1)
    }

    /// The congestion window in bytes of payload, with what duplicate ACKs add during fast recovery.
    #[must_use]
    pub fn congestion_window_bytes(&self) -> u64 {
        let segments = self.connection.window.congestion_window + self.connection.inflation;
        (segments * self.connection.segment_bytes as f64) as u64
    }

    /// The end of slow start, in bytes of payload; `None` before the first loss or mark.
    #[must_use]
    pub fn slow_start_threshold_bytes(&self) -> Option<u64> {
        let segments = self.connection.window.slow_start_threshold;
        segments.is_finite().then_some((segments * self.connection.segment_bytes as f64) as u64)
    }

    /// The data in flight according to cumulative ACKs, in bytes.
    #[must_use]
    pub fn flight_bytes(&self) -> u64 {
        self.connection.flight_bytes()
    }

    /// The round-trip estimate and the retransmission timeout.
    #[must_use]
    pub fn round_trip(&self) -> &RoundTrip {
        &self.connection.round_trip
    }

    /// The counters so far.
    #[must_use]
    pub fn counters(&self) -> SenderCounters {
        self.connection.counters()
    }

    fn on_syn_ack(&mut self, ack: &Ack, now: Time, out: &mut impl SegmentOut) {
        let connection = &mut self.connection;
        if self.phase != ConnectionPhase::SynSent || !ack.syn || ack.ack != 1 {
            return;
        }
        self.phase = ConnectionPhase::Established;
        connection.ecn = self.wants_ecn && (ack.ece || ack.ace.is_some_and(accurate_ecn::syn_ack::agrees));
        connection.advance(ack, now);
        let is_linux = self.timeout_response == TimeoutResponse::Linux;
        let lost_syns = connection.counters.timeouts;
        if lost_syns > u64::from(is_linux) {
            // RFC 5681, 3.1: the loss of a SYN means an initial window of one segment.
            connection.window.congestion_window = 1.0;
            connection.apply_window();
        }
        if lost_syns > 0 && !(is_linux && connection.round_trip.smoothed().is_some()) {
            connection.round_trip.distrust_handshake();
        }
        connection.restart_timer(now);
        self.send(now, out);
    }

    fn on_new_ack(&mut self, ack: &Ack, now: Time, out: &mut impl SegmentOut) {
        let connection = &mut self.connection;
        let is_in_use = connection.window_is_in_use();
        let newly = connection.advance(ack, now);
        if connection.looks_for_losses() || !ack.sack.is_empty() {
            return self.on_new_ack_with_losses(ack, newly, is_in_use, now, out);
        }
        self.go_on(newly, is_in_use, ack.ece, now, out);
    }

    /// An ACK of `newly` acknowledged bytes, while nothing is known to be lost.
    #[inline(always)]
    fn go_on(&mut self, newly: u64, is_in_use: bool, ece: bool, now: Time, out: &mut impl SegmentOut) {
        self.connection.duplicate_acks = 0;
        self.connection.limited_transmit_bytes = 0;
        self.open_window(newly, is_in_use, ece, now);
        self.connection.restart_timer(now);
        self.connection.send_allowed(now, out);
    }

    /// An ACK of new data during a recovery, or while it is known that later data has arrived.
    #[cold]
    fn on_new_ack_with_losses(&mut self, ack: &Ack, newly: u64, is_in_use: bool, now: Time, out: &mut impl SegmentOut) {
        self.recovery.learn(&mut self.connection, ack, newly, now);
        self.undo_if_spurious(ack, now);
        self.answer_mended_probe(now);
        let was_in_recovery = self.connection.in_recovery;
        let mut turn =
            RecoveryContext { connection: &mut self.connection, controller: &mut *self.controller, now, out };
        if !was_in_recovery {
            turn.connection.duplicate_acks = 0;
            turn.connection.limited_transmit_bytes = 0;
            turn.connection.restart_timer(now);
            self.report_outside_recovery(newly, is_in_use, ack.ece, now);
        } else if ack.ack >= turn.connection.recovery_point {
            self.recovery.on_full_ack(&mut turn);
        } else {
            self.recovery.on_partial_ack(&mut turn, newly);
        }
        if was_in_recovery && !self.connection.in_recovery && self.grows_at_recovery_exit {
            self.grow(newly.min(self.connection.segment_bytes), false, now);
        }
        // A loss above the last recovery point may be known already, and perhaps no duplicate ACK follows to report it.
        if self.connection.selective {
            self.recover_if_due(now, out);
        }
        if self.needs.owns_recovery || was_in_recovery && self.reports_every_ack {
            self.report_in_any_phase(newly, is_in_use, ack.ece, now);
        }
        self.send(now, out);
    }

    /// Enters a recovery where a loss is known and none is under way.
    fn recover_if_due(&mut self, now: Time, out: &mut impl SegmentOut) {
        let mut turn =
            RecoveryContext { connection: &mut self.connection, controller: &mut *self.controller, now, out };
        if !turn.connection.in_recovery && self.recovery.is_due(turn.connection) {
            self.recovery.enter(&mut turn);
        }
    }

    /// Gives the window back where the ACK shows that the last reduction was unnecessary.
    fn undo_if_spurious(&mut self, ack: &Ack, now: Time) {
        let Verdict::Spurious(restored) = self.connection.judge_reduction(ack) else { return };
        if restored.is_some() {
            self.controller.undo();
        }
        self.recovery.on_spurious(&mut self.connection, now);
        self.timed_out_at = None;
    }

    /// RFC 8985, 7.4.2: a loss repaired by a tail loss probe requires the response to a loss. Its ACK proves the loss,
    /// so that nothing undoes this answer.
    fn answer_mended_probe(&mut self, now: Time) {
        if core::mem::take(&mut self.connection.probe_has_mended) {
            self.connection.reduce(&mut *self.controller, CongestionSignal::Loss, 0, now);
            self.connection.forget_undo();
        }
    }

    /// RFC 5681, 3.2.
    fn on_duplicate_ack(&mut self, ack: &Ack, now: Time, out: &mut impl SegmentOut) {
        if self.duplicate_acks_restart_timer {
            self.connection.restart_timer(now);
        }
        let counts = self.recovery.learn(&mut self.connection, ack, 0, now);
        self.undo_if_spurious(ack, now);
        if !counts {
            return;
        }
        self.answer_mended_probe(now);
        let is_in_use = self.reports_every_ack && self.connection.window_is_in_use();
        let connection = &mut self.connection;
        connection.duplicate_acks = connection.duplicate_acks.saturating_add(1);
        let mut turn = RecoveryContext { connection, controller: &mut *self.controller, now, out };
        if turn.connection.in_recovery {
            self.recovery.on_duplicate(&mut turn);
        } else if self.recovery.is_due(turn.connection) {
            self.recovery.enter(&mut turn);
        } else if !self.recovery.sends_by_pipe() {
            if turn.connection.duplicate_acks < DUPLICATE_THRESHOLD && self.wants_limited_transmit {
                turn.connection.limited_transmit(now, turn.out);
            }
            return;
        }
        if self.reports_every_ack {
            self.report_in_any_phase(0, is_in_use, ack.ece, now);
        }
        self.send(now, out);
    }

    /// RFC 3168, 6.1.2: one reduction for each window of data, and none while a loss is being recovered.
    fn on_ecn_echo(&mut self, ack: &Ack, now: Time) {
        let connection = &mut self.connection;
        connection.confirm_reduction();
        if connection.heeds_echo(ack.ack) && !connection.in_recovery && !self.needs.answers_marks {
            connection.counters.ecn_reductions += 1;
            connection.reduce(&mut *self.controller, CongestionSignal::EcnEcho, 0, now);
            self.recovery.on_mark(connection);
        }
    }

    /// RFC 5681, 4.1: after an idle time longer than the timeout the window starts over, by the rule in force.
    fn restart_after_idle(&mut self, now: Time) {
        let connection = &mut self.connection;
        let is_idle = self.phase == ConnectionPhase::Established && connection.highest == connection.unacknowledged;
        let (idle, timeout) = (connection.idle_since_last_sent(now), connection.round_trip.timeout());
        if is_idle && idle > timeout && !self.needs.owns_recovery {
            self.validation.restart(&mut connection.window, idle, timeout, now);
            self.controller.restart();
            connection.apply_window();
        }
    }

    #[inline(never)]
    fn send(&mut self, now: Time, out: &mut impl SegmentOut) {
        if self.phase != ConnectionPhase::Established {
            return;
        }
        if self.connection.in_recovery || self.connection.selective {
            let mut turn =
                RecoveryContext { connection: &mut self.connection, controller: &mut *self.controller, now, out };
            self.recovery.send(&mut turn);
        } else {
            self.connection.send_allowed(now, out);
        }
    }
}
