//! TCP endpoints: the state machines of `forebay-tcp`, with the simulated packets below and a bulk transfer on top.
//! Data both ways is in [`crate::host::connection`].

mod ends;
mod transfers;

use forebay_qdisc::{Ecn, Time};
use forebay_records::DelayHistogram;
use forebay_tcp::{
    ACCURATE_ECN_OPTION_BYTES, Ack, AckOut, EcnCodepoint, Receiver, Segment, SegmentOut, Sender, SenderCounters,
    TcpConfig, Withdrawn,
};

use crate::host::outbox::Outbox;
use crate::observe::flow_counters::{
    EndpointContext, ReceiveCount, ReceiveCounters, ReceiveRecord, SendCount, SendCounters, SendRecord,
};
use crate::observe::interval::{Checkpoint, Checkpoints};
use crate::observe::report::Report;
use crate::observe::so_far::Show;
use crate::packet::side_tables::AckOptions;
use crate::packet::{FlowId, Packet, PacketFields, ack_stamp, departure_stamp, flags, unwrap_number};

pub(crate) use ends::{Bulk, TcpSink, TcpSource};
pub(crate) use transfers::{TransferSink, TransferSource, TransferSourceParts};

/// The sending half: a TCP sender and how its segments become packets. Fields that every ACK touches come first.
#[repr(C)]
pub(crate) struct Transmitter {
    /// The next of the checkpoints.
    pub next_check: Time,
    form: PacketForm,
    /// Sent, with headers.
    bytes: u64,
    acks_received: u64,
    sender: Sender,
    checkpoints: Checkpoints,
    /// The record until it is reported.
    record: Option<Box<SendRecord>>,
}

impl Transmitter {
    pub fn new(context: EndpointContext, config: &TcpConfig, record: Box<SendRecord>) -> Self {
        let EndpointContext { checkpoints, flow, class } = context;
        Self {
            next_check: checkpoints.next(),
            form: PacketForm::new(flow, class, config),
            bytes: 0,
            acks_received: 0,
            sender: Sender::new(config),
            checkpoints,
            record: Some(record),
        }
    }

    /// The flow sends this much, and its results have the time that it takes.
    pub fn expect(&mut self, bytes: u64) {
        if let Some(record) = &mut self.record {
            record.size_bytes = Some(bytes);
        }
    }

    /// Gives the controller a seed and the name of its flow, as far as it uses them.
    pub fn introduce(&mut self, seed: impl FnOnce() -> u64, name: impl FnOnce() -> String) {
        self.sender.introduce(seed, name);
    }

    #[inline]
    pub fn deadline(&self) -> Time {
        self.sender.deadline()
    }

    #[inline]
    fn drive(&mut self, now: Time, out: &mut Outbox<'_>, act: impl FnOnce(&mut Sender, &mut Segments<'_, '_>)) {
        act(&mut self.sender, &mut Segments { now, out, form: &self.form, bytes: &mut self.bytes });
    }

    pub fn open(&mut self, now: Time, out: &mut Outbox<'_>) {
        if let Some(record) = &mut self.record {
            record.started = Some(now);
        }
        self.drive(now, out, |sender, segments| sender.open(now, segments));
    }

    pub fn write(&mut self, bytes: u64, now: Time, out: &mut Outbox<'_>) {
        self.drive(now, out, |sender, segments| sender.write(bytes, now, segments));
    }

    /// Takes back the bytes that were never sent.
    pub fn withdraw(&mut self) -> Withdrawn {
        self.sender.withdraw()
    }

    #[inline]
    pub fn receive(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        self.acks_received += 1;
        if packet.flags() == flags::ACK && packet.stamp == 0 {
            let number = unwrap_number(packet.number(), self.sender.unacknowledged());
            return self.drive(packet.time, out, |sender, segments| sender.on_plain_ack(number, packet.time, segments));
        }
        let ack = ack_of(packet, &self.sender, out);
        self.drive(packet.time, out, |sender, segments| sender.on_ack(&ack, packet.time, segments));
    }

    pub fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        self.drive(now, out, |sender, segments| sender.on_timer(now, segments));
    }

    /// Passes the checkpoints up to `now`.
    pub fn check(&mut self, now: Time) {
        while let Some((_, due)) = self.checkpoints.take(now) {
            let count = self.count();
            let Some(record) = &mut self.record else { continue };
            record.check(&count, due, self.checkpoints.interval());
            let Some(series) = record.series.as_mut().filter(|_| due == Checkpoint::Sample) else { continue };
            if let Some(window) = &mut series.window {
                window.push(self.sender.congestion_window_bytes() as f64);
            }
            if let Some(series) = &mut series.sender {
                series.sample(&self.sender);
            }
        }
        self.next_check = self.checkpoints.next();
    }

    fn count(&self) -> SendCount {
        let SenderCounters { segments_sent, segments_retransmitted, timeouts, .. } = self.sender.counters();
        SendCount {
            packets: segments_sent,
            bytes: self.bytes,
            retransmitted: segments_retransmitted,
            acks_received: self.acks_received,
            timeouts,
        }
    }

    pub fn flow(&self) -> FlowId {
        self.form.flow
    }

    pub fn show(&self, show: &mut Show<'_>) {
        if let Some(record) = &self.record {
            record.show(self.form.flow, show);
        }
    }

    /// The run is over. Returns the counters at `end`.
    pub fn counters(&mut self, end: Time) -> SendCounters {
        self.check(end);
        let mut record = self.record.take().unwrap_or_default();
        if record.size_bytes.is_some() {
            record.acknowledged = self.sender.finished_at();
        }
        SendCounters { count: self.count(), record }
    }

    pub fn finish(&mut self, end: Time, report: &mut Report) {
        let counters = self.counters(end);
        report.sender(self.form.flow, counters);
    }
}

/// The ACK that a packet carries to a sender.
fn ack_of(packet: &Packet, sender: &Sender, out: &mut Outbox<'_>) -> Ack {
    let AckOptions { sack, marked_bytes } = out.channels.tables.take_options(packet.stamp);
    let bit = |flag: u8, value: u8| if packet.has(flag) { value } else { 0 };
    let ace = bit(flags::AE, 0b100) | bit(flags::CWR, 0b010) | bit(flags::ECE, 0b001);
    Ack {
        ack: unwrap_number(packet.number(), sender.unacknowledged()),
        syn: packet.has(flags::SYN),
        ece: packet.has(flags::ECE) && !sender.asks_for_accurate_ecn(),
        ace: sender.asks_for_accurate_ecn().then_some(ace),
        marked_bytes,
        ect: packet.ecn().is_capable(),
        sack,
        echo: ack_stamp::echo(packet.stamp, packet.time),
    }
}

/// The segment that a packet carries, which begins at `seq`.
fn segment_of(packet: &Packet, seq: u64, header_bytes: u16) -> Segment {
    let control = packet.flags() & (flags::SYN | flags::FIN);
    Segment {
        seq,
        payload_bytes: if control == 0 { packet.len_bytes() - u32::from(header_bytes) } else { 0 },
        syn: control & flags::SYN != 0,
        fin: control & flags::FIN != 0,
        cwr: packet.has(flags::CWR),
        ecn_setup: packet.has(flags::ECN_SETUP),
        accurate_ecn_setup: packet.has(flags::AE) && packet.has(flags::ECN_SETUP),
        ect: packet.ecn().is_capable(),
        retransmission: packet.has(flags::RETRANSMISSION),
        sent: packet.departure(),
    }
}

/// The common fields of all packets of one half.
#[derive(Clone, Copy)]
struct PacketForm {
    flow: FlowId,
    /// Headers of a packet with data.
    header_bytes: u16,
    /// Length of a packet without data.
    bare_len_bytes: u16,
    class: u8,
    generation: u8,
    /// The codepoint of ECN-capable packets.
    ecn: Ecn,
}

impl PacketForm {
    fn new(flow: FlowId, class: u8, config: &TcpConfig) -> Self {
        let (header_bytes, bare_len_bytes) = (config.header_bytes() as u16, config.ack_bytes() as u16);
        let ecn = match config.ecn_codepoint() {
            EcnCodepoint::Ect0 => Ecn::Capable0,
            EcnCodepoint::Ect1 => Ecn::Capable1,
        };
        Self { flow, header_bytes, bare_len_bytes, class, generation: 0, ecn }
    }

    /// The form of the packets of a later flow, in this generation.
    fn of_slot(self, slot: u32, generation: u8) -> Self {
        Self { flow: self.flow + slot, generation, ..self }
    }
}

struct Segments<'a, 'b> {
    now: Time,
    out: &'a mut Outbox<'b>,
    form: &'a PacketForm,
    bytes: &'a mut u64,
}

impl SegmentOut for Segments<'_, '_> {
    #[inline(always)]
    fn segment(&mut self, segment: Segment) {
        let len_bytes = match segment.payload_bytes {
            0 => self.form.bare_len_bytes,
            payload => payload as u16 + self.form.header_bytes,
        };
        let bit = |on: bool, flag: u8| if on { flag } else { 0 };
        let packet = Packet::new(PacketFields {
            time: self.now,
            stamp: departure_stamp(self.now),
            number: segment.seq as u32,
            flow: self.form.flow,
            len_bytes,
            flags: bit(segment.syn, flags::SYN)
                | bit(segment.fin, flags::FIN)
                | bit(segment.cwr, flags::CWR)
                | bit(segment.ecn_setup, flags::ECN_SETUP)
                | bit(segment.accurate_ecn_setup, flags::AE)
                | bit(segment.retransmission, flags::RETRANSMISSION),
            class: self.form.class,
            ecn: if segment.ect { self.form.ecn } else { Ecn::NotCapable },
        })
        .of_generation(self.form.generation);
        *self.bytes += u64::from(len_bytes);
        self.out.send(packet);
    }

    fn departure(&self) -> Time {
        self.out.departure()
    }
}

/// The receiving half: a TCP receiver and how its ACKs become packets.
#[repr(C)]
pub(crate) struct Acknowledger {
    pub next_check: Time,
    form: PacketForm,
    receiver: Receiver,
    packets: u64,
    bytes: u64,
    acks_sent: u64,
    record: Option<Box<Received>>,
    /// Delays in the measured interval.
    delay: DelayHistogram,
}

/// Fields that few packets of the receiving half touch.
struct Received {
    /// Packets that arrived marked.
    marked: u64,
    checkpoints: Checkpoints,
    record: ReceiveRecord,
}

impl Acknowledger {
    pub fn new(context: EndpointContext, config: &TcpConfig, record: ReceiveRecord) -> Self {
        let EndpointContext { checkpoints, flow, class } = context;
        Self {
            next_check: checkpoints.next(),
            form: PacketForm::new(flow, class, config),
            receiver: Receiver::new(config),
            packets: 0,
            bytes: 0,
            acks_sent: 0,
            record: Some(Box::new(Received { marked: 0, checkpoints, record })),
            delay: DelayHistogram::default(),
        }
    }

    #[inline]
    pub fn deadline(&self) -> Time {
        self.receiver.deadline()
    }

    #[inline]
    fn drive(&mut self, now: Time, out: &mut Outbox<'_>, act: impl FnOnce(&mut Receiver, &mut Acks<'_, '_>)) {
        act(&mut self.receiver, &mut Acks { now, out, form: &self.form, sent: &mut self.acks_sent });
    }

    #[inline]
    pub fn receive(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        let now = packet.time;
        let marked = packet.ecn() == Ecn::CongestionExperienced;
        self.packets += 1;
        self.bytes += u64::from(packet.len_bytes());
        self.delay.record(packet.age());
        let seq = unwrap_number(packet.number(), self.receiver.expected());
        if packet.flags() == 0 && !marked {
            let (payload_bytes, sent) = (packet.len_bytes() - u32::from(self.form.header_bytes), packet.departure());
            self.drive(now, out, |receiver, acks| receiver.on_plain_segment(seq, payload_bytes, sent, now, acks));
        } else {
            self.receive_with_flags(packet, seq, marked, out);
        }
        if self.receiver.is_closed() {
            self.finished(now);
        }
    }

    #[inline(never)]
    fn receive_with_flags(&mut self, packet: &Packet, seq: u64, marked: bool, out: &mut Outbox<'_>) {
        if let Some(received) = &mut self.record {
            received.marked += u64::from(marked);
        }
        let segment = segment_of(packet, seq, self.form.header_bytes);
        let now = packet.time;
        self.drive(now, out, |receiver, acks| receiver.on_segment(&segment, marked, now, acks));
    }

    #[cold]
    fn finished(&mut self, now: Time) {
        if let Some(record) = self.record() {
            record.finished.get_or_insert(now);
        }
    }

    /// The record, until it is reported.
    pub fn record(&mut self) -> Option<&mut ReceiveRecord> {
        self.record.as_mut().map(|received| &mut received.record)
    }

    /// Payload handed to the application.
    pub fn delivered_bytes(&self) -> u64 {
        self.receiver.delivered_bytes()
    }

    pub fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        self.drive(now, out, |receiver, acks| receiver.on_timer(now, acks));
    }

    pub fn check(&mut self, now: Time) {
        let count = self.count();
        let Some(Received { checkpoints, record, .. }) = self.record.as_deref_mut() else { return };
        while let Some((_, due)) = checkpoints.take(now) {
            record.check(&count, &mut self.delay, due, checkpoints.interval());
        }
        self.next_check = checkpoints.next();
    }

    fn count(&self) -> ReceiveCount {
        let &Self { packets, bytes, acks_sent, .. } = self;
        let marked = self.record.as_ref().map_or(0, |received| received.marked);
        ReceiveCount { packets, bytes, marked, payload: self.delivered_bytes(), acks_sent }
    }

    pub fn flow(&self) -> FlowId {
        self.form.flow
    }

    pub fn show(&self, show: &mut Show<'_>) {
        if let Some(received) = &self.record {
            received.record.show(self.form.flow, show);
        }
    }

    /// The run is over. Returns the counters at `end`.
    pub fn counters(&mut self, end: Time) -> ReceiveCounters {
        self.check(end);
        let (count, delay) = (self.count(), std::mem::take(&mut self.delay));
        let record = Box::new(self.record.take().map(|received| received.record).unwrap_or_default());
        ReceiveCounters { count, delay, record }
    }

    pub fn finish(&mut self, end: Time, report: &mut Report) {
        let counters = self.counters(end);
        report.receiver(self.form.flow, counters);
    }
}

struct Acks<'a, 'b> {
    now: Time,
    out: &'a mut Outbox<'b>,
    form: &'a PacketForm,
    sent: &'a mut u64,
}

impl Acks<'_, '_> {
    /// The flags and the length of an ACK with accurate feedback.
    fn accurate(&self, ace: u8, marked_bytes: Option<u32>) -> (u8, u16) {
        let bit = |value: u8, flag: u8| if ace & value != 0 { flag } else { 0 };
        let option = if marked_bytes.is_some() { ACCURATE_ECN_OPTION_BYTES as u16 } else { 0 };
        (bit(0b100, flags::AE) | bit(0b010, flags::CWR) | bit(0b001, flags::ECE), self.form.bare_len_bytes + option)
    }
}

impl AckOut for Acks<'_, '_> {
    #[inline(always)]
    fn ack(&mut self, ack: Ack) {
        *self.sent += 1;
        let options = AckOptions { sack: ack.sack, marked_bytes: ack.marked_bytes };
        let stamp = ack_stamp::of(self.out.channels.tables.put_options(options), ack.echo);
        let (flags, len_bytes) = match ack.ace {
            None => (if ack.ece { flags::ECE } else { 0 }, self.form.bare_len_bytes),
            Some(ace) => self.accurate(ace, ack.marked_bytes),
        };
        let packet = Packet::new(PacketFields {
            time: self.now,
            stamp,
            number: ack.ack as u32,
            flow: self.form.flow,
            len_bytes,
            flags: flags::ACK | if ack.syn { flags::SYN } else { 0 } | flags,
            class: self.form.class,
            ecn: if ack.ect { self.form.ecn } else { Ecn::NotCapable },
        });
        self.out.send(packet.of_generation(self.form.generation));
    }
}
