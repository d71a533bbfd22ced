//! The receiver: reassembly, and when and with what it acknowledges.
//!
//! # What it does
//! Acknowledges each segment at once, or every second one if ACKs are delayed. Segments that are out of order or fill a
//! gap, and the FIN, are always acknowledged at once. Tells what it holds above a gap (SACK) and what came twice
//! (D-SACK), echoes marks until the sender has reacted, and returns timestamps.
//!
//! # Source
//! RFC 5681, section 4.2 (when to acknowledge); RFC 2018, section 4 (which SACK blocks); RFC 2883 (D-SACK). RFC 3168,
//! section 6.1.3 (the echo); RFC 8257, section 3.2 (DCTCP's). RFC 7323, section 4.3 (which timestamp); RFC 9002,
//! section 5.1, with the recovery "quic": that of the latest arrival.
//!
//! # Where we differ
//! Data flows one way: the receiver sends no data, and no FIN of its own. Data that it holds is never dropped.
//!
//! # Parameters
//! `sack`, `dsack`, `recovery`, `timestamps`, `delayed_ack`, `delayed_ack_timeout`, `ecn`, `ecn_option`,
//! `handshake`.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::{Ack, AckOut, EcnCodepoint, EcnFeedback, SackBlocks, Segment, Span, TcpConfig, Time, accurate_ecn};

/// Segments after which a delayed ACK is sent (RFC 5681, 4.2).
const DELAYED_SEGMENTS: u16 = 2;

/// A FIN's number that no sequence number exceeds: none is known.
const NO_FIN: u64 = u64::MAX;

/// The receiving end of a connection.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Receiver {
    /// The next number expected (RCV.NXT); 0 before the SYN.
    next: u64,
    /// Data that has arrived above a gap: disjoint, not adjacent ranges, the most recently changed last.
    held: Vec<(u64, u64)>,
    deadline: Time,
    /// The FIN's number, once it is known; else [`NO_FIN`].
    fin: u64,
    /// The delay of an ACK; zero for none.
    delay: Span,
    /// Segments not yet acknowledged.
    delayed: u16,
    sack: bool,
    dsack: bool,
    wants_ecn: bool,
    /// The ECN echo of the next ACK: a mark has come, and no CWR since; or, for DCTCP, the last segment was marked.
    echo: bool,
    /// An ACK returns the timestamp of the latest arrival, in order or not, as in QUIC.
    returns_latest: bool,
    /// ECN beyond RFC 3168.
    marks: Option<Box<Marks>>,
    timestamps: Timestamps,
}

/// ECN beyond RFC 3168.
#[derive(Clone, Copy, Debug)]
struct Marks {
    feedback: EcnFeedback,
    /// ACKs of accurate ECN have its option.
    has_option: bool,
    /// ACKs are ECN-capable.
    acks_are_capable: bool,
    /// The codepoint of data, for the feedback about a SYN.
    codepoint: EcnCodepoint,
    counters: accurate_ecn::Counters,
}

impl Marks {
    /// `None` if RFC 3168 holds.
    fn new(config: &TcpConfig) -> Option<Self> {
        if !config.ecn {
            return None;
        }
        let (feedback, acks_are_capable) = (config.ecn_feedback(), config.ecn_control_packets());
        let is_special = feedback != EcnFeedback::Classic || acks_are_capable;
        is_special.then(|| Self {
            feedback,
            has_option: feedback == EcnFeedback::Accurate && config.ecn_option,
            acks_are_capable,
            codepoint: config.ecn_codepoint(),
            counters: accurate_ecn::Counters::default(),
        })
    }

    /// ACE of the SYN-ACK for this SYN.
    fn syn_ack(&self, syn: &Segment, ce: bool) -> u8 {
        match (syn.ect, self.codepoint) {
            _ if ce => accurate_ecn::syn_ack::CE,
            (true, EcnCodepoint::Ect0) => accurate_ecn::syn_ack::ECT0,
            (true, EcnCodepoint::Ect1) => accurate_ecn::syn_ack::ECT1,
            (false, _) => accurate_ecn::syn_ack::NOT_ECT,
        }
    }
}

/// Which timestamp the next ACK returns (RFC 7323, section 4.3).
#[derive(Clone, Copy, Debug)]
struct Timestamps {
    /// TS.Recent; [`Time::NEVER`] where timestamps are off.
    recent: Time,
    /// Last.ACK.sent: a segment that begins above it is out of order, or the second of two that one ACK answers.
    last_acknowledged: u64,
}

impl Timestamps {
    /// Takes the timestamp of a segment that begins at `seq`.
    #[inline]
    fn learn(&mut self, seq: u64, sent: Time) {
        if seq <= self.last_acknowledged && self.recent < Time::NEVER {
            self.recent = self.recent.max(sent);
        }
    }
}

impl Receiver {
    /// A receiver that waits for a SYN, or for the first byte where the configuration has no handshake.
    #[must_use]
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            next: u64::from(!config.handshake),
            held: Vec::new(),
            deadline: Time::NEVER,
            fin: NO_FIN,
            delay: if config.delayed_ack { config.delayed_ack_timeout } else { Span::ZERO },
            delayed: 0,
            sack: config.sack,
            dsack: config.dsack,
            wants_ecn: config.ecn,
            echo: false,
            returns_latest: config.timestamps && config.is_quic(),
            marks: Marks::new(config).map(Box::new),
            timestamps: Timestamps {
                recent: if config.timestamps { Time::ZERO } else { Time::NEVER },
                last_acknowledged: u64::from(!config.handshake),
            },
        }
    }

    /// Takes a segment of `payload_bytes` that carries no flags and no mark, as most do: the same as
    /// [`Receiver::on_segment`], in less time.
    #[inline]
    pub fn on_plain_segment(&mut self, seq: u64, payload_bytes: u32, sent: Time, now: Time, out: &mut impl AckOut) {
        if seq != self.next
            || seq == 0
            || !self.held.is_empty()
            || self.echo
            || self.delay > Span::ZERO
            || self.marks.is_some()
        {
            return self.on_segment(&Segment { seq, payload_bytes, sent, ..Segment::default() }, false, now, out);
        }
        self.learn_timestamp(seq, sent);
        self.next = seq + u64::from(payload_bytes);
        self.send_ack(SackBlocks::default(), false, out);
    }

    /// Takes a segment; `ce` is true if a router marked it. A segment before the SYN is ignored.
    #[inline(never)]
    pub fn on_segment(&mut self, segment: &Segment, ce: bool, now: Time, out: &mut impl AckOut) {
        if segment.syn {
            return self.on_syn(segment, ce, out);
        }
        if self.next == 0 {
            return;
        }
        let acknowledges_at_once = self.note_mark(segment, ce, out);
        self.learn_timestamp(segment.seq, segment.sent);
        if segment.fin {
            self.fin = segment.end() - 1;
        }
        let is_plain = segment.seq == self.next && self.held.is_empty() && !segment.fin;
        if is_plain {
            self.next = segment.end();
            if self.delay > Span::ZERO && !acknowledges_at_once {
                return self.acknowledge_later(now, out);
            }
            return self.acknowledge(None, out);
        }
        let twice = self.reassemble(segment.seq, segment.end());
        self.acknowledge(twice.filter(|_| self.dsack), out);
    }

    /// The due time of [`Receiver::on_timer`]; [`Time::NEVER`] if no ACK is delayed.
    #[must_use]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// The delayed ACK: to be called at [`Receiver::deadline`]; does nothing before.
    pub fn on_timer(&mut self, now: Time, out: &mut impl AckOut) {
        if now >= self.deadline {
            self.acknowledge(None, out);
        }
    }

    /// The next number expected (RCV.NXT).
    #[must_use]
    pub fn expected(&self) -> u64 {
        self.next
    }

    /// Payload bytes handed to the application: each once, in order.
    #[must_use]
    pub fn delivered_bytes(&self) -> u64 {
        self.next.saturating_sub(1 + u64::from(self.is_closed()))
    }

    /// Whether the FIN and everything before it have arrived.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.next > self.fin
    }

    /// Takes the timestamp of a segment that begins at `seq`.
    #[inline]
    fn learn_timestamp(&mut self, seq: u64, sent: Time) {
        if self.returns_latest {
            self.timestamps.recent = sent;
        } else {
            self.timestamps.learn(seq, sent);
        }
    }

    /// Takes note of a mark, or of none. Returns whether the segment calls for an ACK at once.
    fn note_mark(&mut self, segment: &Segment, ce: bool, out: &mut impl AckOut) -> bool {
        match self.marks.as_ref().map_or(EcnFeedback::Classic, |marks| marks.feedback) {
            // RFC 3168, 6.1.3: CWR ends the echo, a mark on the same packet restarts it.
            EcnFeedback::Classic => self.echo = (self.echo && !segment.cwr) || ce,
            EcnFeedback::Dctcp => {
                // RFC 8257, section 3.2: an ACK echoes one state for all that it covers.
                if ce != self.echo && self.delayed > 0 {
                    self.acknowledge(None, out);
                }
                self.echo = ce;
            }
            EcnFeedback::Accurate => {
                return self.marks.as_mut().is_some_and(|marks| marks.counters.count(ce, segment.payload_bytes));
            }
        }
        false
    }

    fn on_syn(&mut self, segment: &Segment, ce: bool, out: &mut impl AckOut) {
        self.next = self.next.max(1);
        self.learn_timestamp(segment.seq, segment.sent);
        self.timestamps.last_acknowledged = self.next;
        let marks = self.marks.as_ref();
        let ace = marks.filter(|_| segment.accurate_ecn_setup).map(|marks| marks.syn_ack(segment, ce));
        // RFC 3168, 6.1.1: ECE alone on the SYN-ACK agrees to ECN.
        let ece = self.wants_ecn && segment.ecn_setup && ace.is_none();
        let ect = marks.is_some_and(|marks| marks.acks_are_capable);
        out.ack(Ack { ack: self.next, syn: true, ece, ace, ect, echo: self.timestamps.recent, ..Ack::default() });
    }

    fn acknowledge_later(&mut self, now: Time, out: &mut impl AckOut) {
        self.delayed += 1;
        if self.delayed >= DELAYED_SEGMENTS {
            self.acknowledge(None, out);
        } else {
            self.deadline = now.saturating_add(self.delay);
        }
    }

    /// Sends an ACK; `twice` is what the segment that it answers brought again.
    fn acknowledge(&mut self, twice: Option<(u64, u64)>, out: &mut impl AckOut) {
        let mut sack = SackBlocks::default();
        if let Some((left, right)) = twice {
            // RFC 2883, section 4: the first block, and only in this ACK.
            sack.push(left, right);
        }
        if self.sack && !self.held.is_empty() {
            // RFC 2018, section 4: first the block that the latest segment belongs to, then the most recent others.
            // The option of accurate ECN takes the room of one.
            let room = SackBlocks::CAPACITY - usize::from(self.marks.as_ref().is_some_and(|marks| marks.has_option));
            for &(left, right) in self.held.iter().rev().take(room.saturating_sub(sack.len())) {
                sack.push(left, right);
            }
        }
        self.send_ack(sack, self.echo, out);
    }

    #[inline(always)]
    fn send_ack(&mut self, sack: SackBlocks, ece: bool, out: &mut impl AckOut) {
        self.delayed = 0;
        self.deadline = Time::NEVER;
        self.timestamps.last_acknowledged = self.next;
        let (ack, echo) = (self.next, self.timestamps.recent);
        let plain = Ack { ack, ece, sack, echo, ..Ack::default() };
        let Some(marks) = &mut self.marks else { return out.ack(plain) };
        let ect = marks.acks_are_capable;
        if marks.feedback != EcnFeedback::Accurate {
            return out.ack(Ack { ect, ..plain });
        }
        let (ace, marked_bytes) = marks.counters.report();
        out.ack(Ack { ace: Some(ace), marked_bytes: marks.has_option.then_some(marked_bytes), ect, ..plain });
    }

    /// Puts `[left, right)` into what is held, and moves on to the first gap. Returns what had arrived before.
    #[cold]
    fn reassemble(&mut self, mut left: u64, mut right: u64) -> Option<(u64, u64)> {
        if right <= self.next {
            return Some((left, right));
        }
        if let Some(index) = self.held.iter().position(|&(l, r)| l <= left && right <= r) {
            // RFC 2883, section 4: the block that holds it follows the report.
            let block = self.held.remove(index);
            self.held.push(block);
            return Some((left, right));
        }
        self.held.retain(|&(l, r)| {
            let is_apart = r < left || l > right;
            if !is_apart {
                left = left.min(l);
                right = right.max(r);
            }
            is_apart
        });
        if left <= self.next {
            self.next = right;
        } else {
            self.held.push((left, right));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Acks(Vec<Ack>);

    impl AckOut for Acks {
        fn ack(&mut self, ack: Ack) {
            self.0.push(ack);
        }
    }

    /// A receiver past the handshake that has been given these segments of one byte each, and its last ACK.
    fn after(config: &TcpConfig, seqs: &[u64]) -> (Receiver, Acks) {
        let mut receiver = Receiver::new(config);
        let mut acks = Acks::default();
        for &seq in seqs {
            let segment = Segment { seq, payload_bytes: 1, ..Segment::default() };
            receiver.on_segment(&segment, false, Time::ZERO, &mut acks);
        }
        (receiver, acks)
    }

    fn sack_config() -> TcpConfig {
        TcpConfig { sack: true, handshake: false, ..TcpConfig::default() }
    }

    #[test]
    fn reports_the_latest_blocks_first() {
        let (_, acks) = after(&sack_config(), &[3, 5, 7, 9, 4]);
        let last = acks.0.last().unwrap();
        assert_eq!(last.ack, 1);
        // 4 has joined 3 and 5; the oldest of the others, none here, would be left out.
        assert_eq!(last.sack.iter().collect::<Vec<_>>(), [(3, 6), (9, 10), (7, 8)]);
        let (_, acks) = after(&sack_config(), &[3, 5, 7, 9]);
        assert_eq!(acks.0.last().unwrap().sack.iter().collect::<Vec<_>>(), [(9, 10), (7, 8), (5, 6)]);
    }

    /// RFC 9768, section 3.2.3.3: two blocks go before the option of accurate ECN, which takes the room of the third.
    #[test]
    fn the_option_of_accurate_ecn_takes_the_room_of_a_block() {
        for (feedback, ecn_option, blocks) in
            [(EcnFeedback::Accurate, true, 2), (EcnFeedback::Accurate, false, 3), (EcnFeedback::Dctcp, true, 3)]
        {
            let config = TcpConfig { ecn: true, ecn_feedback: Some(feedback), ecn_option, ..sack_config() };
            let (_, acks) = after(&config, &[3, 5, 7, 9]);
            let last = acks.0.last().unwrap();
            assert_eq!((last.sack.len(), last.marked_bytes.is_some()), (blocks, blocks == 2), "{feedback:?}");
        }
    }

    #[test]
    fn moves_on_over_what_it_holds() {
        let (receiver, acks) = after(&sack_config(), &[2, 3, 5, 1]);
        let last = acks.0.last().unwrap();
        assert_eq!((last.ack, receiver.delivered_bytes()), (4, 3));
        assert_eq!(last.sack.iter().collect::<Vec<_>>(), [(5, 6)]);
        let without = TcpConfig { sack: false, ..sack_config() };
        let (_, acks) = after(&without, &[2, 3, 5, 1]);
        assert!(acks.0.iter().all(|ack| ack.sack.is_empty()));
    }

    #[test]
    fn what_has_arrived_before_is_acknowledged_but_not_delivered_again() {
        let (receiver, acks) = after(&sack_config(), &[1, 1, 2, 1]);
        assert_eq!(acks.0.iter().map(|ack| ack.ack).collect::<Vec<_>>(), [2, 2, 3, 3]);
        assert_eq!(receiver.delivered_bytes(), 2);
    }

    #[test]
    fn delays_every_other_ack_and_none_that_tells_of_a_gap() {
        let config = TcpConfig { delayed_ack: true, ..sack_config() };
        let (mut receiver, mut acks) = after(&config, &[1]);
        assert!(acks.0.is_empty());
        assert_eq!(receiver.deadline(), Time::ZERO + Span::from_milliseconds(200));
        receiver.on_timer(Time::ZERO, &mut acks);
        assert!(acks.0.is_empty());
        receiver.on_timer(receiver.deadline(), &mut acks);
        assert_eq!((acks.0.len(), receiver.deadline()), (1, Time::NEVER));
        let (_, acks) = after(&config, &[1, 2, 3, 5, 4, 6]);
        // 1 and 2 together; 3 waits, and 5, out of order, takes it along; 4 fills the gap; 6 waits.
        assert_eq!(acks.0.iter().map(|ack| ack.ack).collect::<Vec<_>>(), [3, 4, 6]);
    }

    #[test]
    fn with_quics_recovery_an_ack_returns_the_time_of_the_latest_arrival() {
        let tcp = TcpConfig { timestamps: true, ..sack_config() };
        let quic = TcpConfig { recovery: crate::RecoveryKind::Quic, ..tcp.clone() };
        for (config, expected) in [(tcp, [10, 10, 15]), (quic, [10, 30, 15])] {
            let mut receiver = Receiver::new(&config);
            let mut acks = Acks::default();
            // The third fills the gap.
            for (seq, sent) in [(1, 10), (3, 30), (2, 15)] {
                receiver.on_plain_segment(seq, 1, Time::from_picoseconds(sent), Time::ZERO, &mut acks);
            }
            assert!(acks.0.iter().map(|ack| ack.echo).eq(expected.map(Time::from_picoseconds)));
        }
    }

    #[test]
    fn ignores_data_before_the_syn() {
        let (receiver, acks) = after(&TcpConfig::default(), &[1, 2]);
        assert!(acks.0.is_empty());
        assert_eq!(receiver.delivered_bytes(), 0);
    }

    #[test]
    fn a_fin_that_overtakes_closes_only_in_order() {
        let (mut receiver, mut acks) = after(&sack_config(), &[1]);
        let fin = Segment { seq: 3, payload_bytes: 1, fin: true, ..Segment::default() };
        receiver.on_segment(&fin, false, Time::ZERO, &mut acks);
        assert!(!receiver.is_closed());
        let gap = Segment { seq: 2, payload_bytes: 1, ..Segment::default() };
        receiver.on_segment(&gap, false, Time::ZERO, &mut acks);
        assert!(receiver.is_closed());
        assert_eq!((receiver.delivered_bytes(), acks.0.last().unwrap().ack), (3, 5));
    }
}
