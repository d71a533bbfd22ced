//! TCP endpoints: the state machines of `forebay-tcp`, with the simulated packets below and a bulk transfer on top.
//! Requests and responses are in [`crate::host::conversation`].

use std::mem::offset_of;

use forebay_qdisc::{Ecn, Time};
use forebay_tcp::{Ack, AckOut, Receiver, Segment, SegmentOut, Sender, TcpConfig};

use crate::driver::prefetch::{LINE_BYTES, prefetch_lines};
use crate::host::outbox::Outbox;
use crate::observe::flow_book::{EndpointContext, ReceiveBook, SendBook};
use crate::observe::interval::Checkpoint;
use crate::observe::report::Report;
use crate::packet::sack::SackTable;
use crate::packet::{Packet, PacketFields, ack_stamp, departure_stamp, flags, unwrap_number};

/// The sending half: a TCP sender and how its segments become packets.
#[repr(C)]
pub(crate) struct Transmitter {
    pub context: EndpointContext,
    payload_bytes: u32,
    full_len_bytes: u16,
    header_bytes: u16,
    bare_len_bytes: u16,
    pub book: SendBook,
    sender: Sender,
}

impl Transmitter {
    pub fn new(context: EndpointContext, config: &TcpConfig, book: SendBook) -> Self {
        Self {
            context,
            payload_bytes: config.payload_bytes(),
            full_len_bytes: config.segment.0 as u16,
            header_bytes: config.header_bytes() as u16,
            bare_len_bytes: config.ack_bytes() as u16,
            book,
            sender: Sender::new(config),
        }
    }

    /// When its timer is due.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.sender.deadline()
    }

    /// Runs `act` on the sender, with its segments going out as packets at `now`.
    #[inline]
    fn drive(&mut self, now: Time, out: &mut Outbox<'_>, act: impl FnOnce(&mut Sender, &mut Segments<'_, '_>)) {
        let mut segments = Segments {
            now,
            out,
            book: &mut self.book,
            context: &self.context,
            payload_bytes: self.payload_bytes,
            full_len_bytes: self.full_len_bytes,
            header_bytes: self.header_bytes,
            bare_len_bytes: self.bare_len_bytes,
        };
        act(&mut self.sender, &mut segments);
    }

    /// Opens the connection.
    pub fn open(&mut self, now: Time, out: &mut Outbox<'_>) {
        self.book.record.started = Some(now);
        self.drive(now, out, |sender, segments| sender.open(now, segments));
    }

    /// Hands `bytes` to the sender.
    pub fn write(&mut self, bytes: u64, now: Time, out: &mut Outbox<'_>) {
        self.drive(now, out, |sender, segments| sender.write(bytes, now, segments));
    }

    #[inline]
    pub fn receive(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        self.book.count.acks_received += 1;
        let number = unwrap_number(packet.number(), self.sender.unacknowledged());
        let ack = Ack {
            ack: number,
            syn: packet.has(flags::SYN),
            ece: packet.has(flags::ECE),
            sack: out.lanes.sacks.take(packet.stamp),
            echo: ack_stamp::echo(packet.stamp, packet.time),
        };
        self.drive(packet.time, out, |sender, segments| sender.on_ack(&ack, packet.time, segments));
    }

    pub fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        self.drive(now, out, |sender, segments| sender.on_timer(now, segments));
    }

    /// Passes the checkpoints up to `now`.
    pub fn check(&mut self, now: Time) {
        while let Some((_, due)) = self.context.checkpoints.take(now) {
            self.book.count.timeouts = self.sender.counters().timeouts;
            self.book.check(due, self.context.checkpoints.interval());
            if due == Checkpoint::Sample
                && let Some(series) = &mut self.book.record.window_series
            {
                series.push(self.sender.congestion_window_bytes() as f64);
            }
        }
    }

    pub fn finish(&mut self, end: Time, report: &mut Report) {
        self.check(end);
        self.book.count.timeouts = self.sender.counters().timeouts;
        report.sender(self.context.flow, std::mem::take(&mut self.book));
    }
}

/// Turns segments into packets.
struct Segments<'a, 'b> {
    now: Time,
    out: &'a mut Outbox<'b>,
    book: &'a mut SendBook,
    context: &'a EndpointContext,
    payload_bytes: u32,
    full_len_bytes: u16,
    header_bytes: u16,
    bare_len_bytes: u16,
}

impl SegmentOut for Segments<'_, '_> {
    #[inline]
    fn segment(&mut self, segment: Segment) {
        let len_bytes = match segment.payload_bytes {
            0 => self.bare_len_bytes,
            full if full == self.payload_bytes => self.full_len_bytes,
            partial => partial as u16 + self.header_bytes,
        };
        let bit = |on: bool, flag: u8| if on { flag } else { 0 };
        let packet = Packet::new(PacketFields {
            time: self.now,
            stamp: departure_stamp(self.now),
            number: segment.seq as u32,
            flow: self.context.flow,
            len_bytes,
            flags: bit(segment.syn, flags::SYN)
                | bit(segment.fin, flags::FIN)
                | bit(segment.cwr, flags::CWR)
                | bit(segment.ecn_setup, flags::ECN_SETUP)
                | bit(segment.retransmission, flags::RETRANSMISSION),
            class: self.context.class,
            ecn: if segment.ect { Ecn::Capable0 } else { Ecn::NotCapable },
        });
        self.book.sent(&packet, segment.retransmission);
        self.out.send(packet);
    }
}

/// The receiving half: a TCP receiver and how its ACKs become packets.
#[repr(C)]
pub(crate) struct Acknowledger {
    pub context: EndpointContext,
    header_bytes: u16,
    ack_len_bytes: u16,
    receiver: Receiver,
    pub book: ReceiveBook,
}

impl Acknowledger {
    pub fn new(context: EndpointContext, config: &TcpConfig, book: ReceiveBook) -> Self {
        Self {
            context,
            header_bytes: config.header_bytes() as u16,
            ack_len_bytes: config.ack_bytes() as u16,
            receiver: Receiver::new(config),
            book,
        }
    }

    /// When its timer is due.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.receiver.deadline()
    }

    #[inline]
    fn drive(&mut self, now: Time, out: &mut Outbox<'_>, act: impl FnOnce(&mut Receiver, &mut Acks<'_, '_>)) {
        let mut acks = Acks {
            now,
            out,
            sent: &mut self.book.count.acks_sent,
            context: &self.context,
            len_bytes: self.ack_len_bytes,
        };
        act(&mut self.receiver, &mut acks);
    }

    #[inline]
    pub fn receive(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        let now = packet.time;
        self.book.received(packet);
        let seq = unwrap_number(packet.number(), self.receiver.expected());
        let control = packet.flags() & (flags::SYN | flags::FIN);
        let segment = Segment {
            seq,
            payload_bytes: if control == 0 { packet.len_bytes() - u32::from(self.header_bytes) } else { 0 },
            syn: control & flags::SYN != 0,
            fin: control & flags::FIN != 0,
            cwr: packet.has(flags::CWR),
            ecn_setup: packet.has(flags::ECN_SETUP),
            ect: packet.ecn().is_capable(),
            retransmission: packet.has(flags::RETRANSMISSION),
            sent: packet.departure(),
        };
        let marked = packet.ecn() == Ecn::CongestionExperienced;
        self.drive(now, out, |receiver, acks| receiver.on_segment(&segment, marked, now, acks));
        self.book.count.payload = self.receiver.delivered_bytes();
        if self.receiver.is_closed() && self.book.record.finished.is_none() {
            self.book.record.finished = Some(now);
        }
    }

    pub fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        self.drive(now, out, |receiver, acks| receiver.on_timer(now, acks));
    }

    /// Passes the checkpoints up to `now`.
    pub fn check(&mut self, now: Time) {
        while let Some((_, due)) = self.context.checkpoints.take(now) {
            self.book.check(due, self.context.checkpoints.interval());
        }
    }

    pub fn finish(&mut self, end: Time, report: &mut Report) {
        self.check(end);
        report.receiver(self.context.flow, std::mem::take(&mut self.book));
    }
}

/// Turns ACKs into packets.
struct Acks<'a, 'b> {
    now: Time,
    out: &'a mut Outbox<'b>,
    sent: &'a mut u64,
    context: &'a EndpointContext,
    len_bytes: u16,
}

impl AckOut for Acks<'_, '_> {
    #[inline]
    fn ack(&mut self, ack: Ack) {
        *self.sent += 1;
        let sacks: &mut SackTable = &mut self.out.lanes.sacks;
        let stamp = ack_stamp::of(sacks.put(ack.sack), ack.echo);
        self.out.send(Packet::new(PacketFields {
            time: self.now,
            stamp,
            number: ack.ack as u32,
            flow: self.context.flow,
            len_bytes: self.len_bytes,
            flags: flags::ACK | if ack.syn { flags::SYN } else { 0 } | if ack.ece { flags::ECE } else { 0 },
            class: self.context.class,
            ecn: Ecn::NotCapable,
        }));
    }
}

/// What a [`TcpSource`] sends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bulk {
    /// Data without end, until this time; [`Time::NEVER`] for never.
    Until(Time),
    /// This many bytes, then close.
    Bytes(u64),
}

/// The sending end of a one-way transfer. What every ACK touches comes first ([`SOURCE_LINES`]).
#[repr(C, align(64))]
pub(crate) struct TcpSource {
    /// When the application acts next.
    app_due: Time,
    transmitter: Transmitter,
    bulk: Bulk,
    opened: bool,
}

/// Lines of cache that hold what an ACK touches at a [`TcpSource`].
const SOURCE_LINES: usize =
    (offset_of!(TcpSource, transmitter) + offset_of!(Transmitter, sender) + Sender::HOT_BYTES).div_ceil(LINE_BYTES);

/// Lines of cache of a [`TcpSink`]: a data packet touches all of them.
const SINK_LINES: usize = size_of::<TcpSink>().div_ceil(LINE_BYTES);

// With many flows every further line is one more load from far memory.
const _: () = assert!(SOURCE_LINES == 5 && SINK_LINES == 4);

impl TcpSource {
    /// A source that opens its connection at `start`; never, if it is to stop before.
    pub fn new(transmitter: Transmitter, bulk: Bulk, start: Time) -> Self {
        let app_due = if matches!(bulk, Bulk::Until(stop) if stop <= start) { Time::NEVER } else { start };
        Self { app_due, transmitter, bulk, opened: false }
    }

    #[inline]
    fn deadline(&self) -> Time {
        self.app_due.min(self.transmitter.deadline())
    }

    /// Passes checkpoints and runs timers that are due up to `now`, in their order; a checkpoint comes before a timer
    /// of the same instant.
    #[cold]
    fn advance(&mut self, now: Time, out: &mut Outbox<'_>) {
        loop {
            let deadline = self.deadline();
            self.transmitter.check(deadline.min(now));
            if deadline > now {
                return;
            }
            if self.app_due <= deadline {
                self.act(deadline, out);
            } else {
                self.transmitter.expire(deadline, out);
            }
        }
    }

    /// The application opens the connection and writes, or stops.
    fn act(&mut self, now: Time, out: &mut Outbox<'_>) {
        let opening = !self.opened;
        self.app_due = Time::NEVER;
        if opening {
            self.opened = true;
            self.transmitter.open(now, out);
        }
        match self.bulk {
            Bulk::Until(stop) if opening => {
                self.app_due = stop;
                self.transmitter.drive(now, out, |sender, segments| sender.write_unlimited(now, segments));
            }
            Bulk::Until(_) => self.transmitter.drive(now, out, |sender, segments| sender.close(now, segments)),
            Bulk::Bytes(bytes) => {
                self.transmitter.write(bytes, now, out);
                self.transmitter.drive(now, out, |sender, segments| sender.close(now, segments));
            }
        }
    }
}

impl TcpSource {
    #[inline]
    pub fn next(&self) -> Time {
        self.deadline()
    }

    pub fn receive(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        let now = packet.time;
        if self.deadline().min(self.transmitter.context.checkpoints.next()) <= now {
            self.advance(now, out);
        }
        self.transmitter.receive(packet, out);
    }

    pub fn prefetch(&self) {
        prefetch_lines(&self.app_due, SOURCE_LINES);
    }

    pub fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        self.advance(now, out);
    }

    pub fn finish(&mut self, end: Time, report: &mut Report) {
        self.transmitter.finish(end, report);
    }
}

/// The receiving end of a one-way transfer.
#[repr(C, align(64))]
pub(crate) struct TcpSink {
    acknowledger: Acknowledger,
}

impl TcpSink {
    pub fn new(acknowledger: Acknowledger) -> Self {
        Self { acknowledger }
    }

    #[cold]
    fn advance(&mut self, now: Time, out: &mut Outbox<'_>) {
        loop {
            let deadline = self.acknowledger.deadline();
            self.acknowledger.check(deadline.min(now));
            if deadline > now {
                return;
            }
            self.acknowledger.expire(deadline, out);
        }
    }
}

impl TcpSink {
    #[inline]
    pub fn next(&self) -> Time {
        self.acknowledger.deadline()
    }

    pub fn receive(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        let now = packet.time;
        if self.acknowledger.deadline().min(self.acknowledger.context.checkpoints.next()) <= now {
            self.advance(now, out);
        }
        self.acknowledger.receive(packet, out);
    }

    pub fn prefetch(&self) {
        prefetch_lines(&self.acknowledger.context.flow, SINK_LINES);
    }

    pub fn prefetch_further(&self) {
        self.acknowledger.book.delay.prefetch();
    }

    pub fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        self.advance(now, out);
    }

    pub fn finish(&mut self, end: Time, report: &mut Report) {
        self.acknowledger.finish(end, report);
    }
}
