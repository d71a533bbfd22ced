//! The adapter (NIC) of a host for the flows of one RDMA transport: one endpoint for all of them.
//!
//! Its port sends control packets first, then the data of ready flows in turn, a packet from each. It asks a flow for a
//! packet when the port is free, and so no queue is between a flow and the link. A flow has a sender from its start
//! until all its data is acknowledged.

pub(crate) mod flows;
mod homa;
mod ndp;
mod pfabric;
mod roce;
mod transport;
mod uec;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use forebay_qdisc::{Ecn, Rate, Time};
use forebay_rdma::Telemetry;
use rand_pcg::Pcg64Mcg;

use crate::host::endpoint::Endpoint;
use crate::host::outbox::Outbox;
use crate::host::tasks::{Effect, Happened, Tasks};
use crate::observe::flow_counters::{ReceiveCounters, SendCounters};
use crate::observe::interval::{Checkpoint, Checkpoints};
use crate::observe::report::Report;
use crate::observe::so_far::Show;
use crate::packet::header::{Carried, Header};
use crate::packet::side_tables::SideTables;
use crate::packet::{FlowId, Packet, PacketFields, departure_stamp, flags};

/// Payload of data without end: more than any run carries.
pub(crate) const UNLIMITED_BYTES: u64 = 1 << 50;

use transport::{Arrival, Control, Outgoing};

pub(crate) use homa::Homa;
pub(crate) use ndp::Ndp;
pub(crate) use pfabric::Pfabric;
pub(crate) use roce::Roce;
pub(crate) use transport::{Message, Transport};
pub(crate) use uec::Uec;

/// A flow that begins here.
pub(crate) struct SendingParts<T: Transport> {
    pub flow: FlowId,
    pub class: u8,
    pub start: Time,
    pub message: Message<T>,
    pub counters: SendCounters,
    pub rng: Pcg64Mcg,
}

/// A flow that ends here.
pub(crate) struct ReceivingParts<T: Transport> {
    pub flow: FlowId,
    pub class: u8,
    pub message: Message<T>,
    pub counters: ReceiveCounters,
}

/// A packet that waits for the port.
struct Queued {
    flow: FlowId,
    class: u8,
    flags: u8,
    carried: Carried,
    wire_bytes: u32,
}

struct Sending<T: Transport> {
    parts: SendingParts<T>,
    /// While it has data that is not acknowledged.
    sender: Option<Box<T::Sender>>,
    /// The time of its earliest entry among the timers.
    planned: Time,
    /// Whether it waits for the port.
    is_ready: bool,
    has_started: bool,
    timeouts: u64,
}

struct Receiving<T: Transport> {
    parts: ReceivingParts<T>,
    /// From the first packet on.
    receiver: Option<Box<T::Receiver>>,
}

pub(crate) struct NicParts<T: Transport> {
    pub transport: T,
    /// In the order in which flows that start at the same time take turns.
    pub sending: Vec<SendingParts<T>>,
    pub receiving: Vec<ReceivingParts<T>>,
    /// The place of each flow among those that begin and end here, by flow.
    pub places: Arc<[[u32; 2]]>,
    /// If messages wait for others.
    pub tasks: Option<Box<Tasks>>,
    pub line_rate: Rate,
    pub checkpoints: Checkpoints,
}

pub(crate) struct Nic<T: Transport> {
    transport: T,
    sending: Vec<Sending<T>>,
    receiving: Vec<Receiving<T>>,
    places: Arc<[[u32; 2]]>,
    tasks: Option<Box<Tasks>>,
    line_rate: Rate,
    /// The port is busy until then.
    free_at: Time,
    /// The flows that begin here and wait for the port.
    ready: VecDeque<u32>,
    control: VecDeque<Queued>,
    /// When flows start or senders act by themselves, and their places. Entries may be too early. Numbers from that of
    /// flows on are of tasks.
    timers: BinaryHeap<Reverse<(Time, u32)>>,
    checkpoints: Checkpoints,
}

impl<T: Transport> Nic<T> {
    pub fn new(parts: NicParts<T>) -> Self {
        let NicParts { transport, sending, receiving, places, tasks, line_rate, checkpoints } = parts;
        // A task begins the other messages.
        let timed = sending.iter().zip(0..).filter(|(sending, _)| sending.start < Time::NEVER);
        let timers = timed.map(|(sending, place)| Reverse((sending.start, place))).collect();
        let begins = |parts: SendingParts<T>| Sending {
            planned: parts.start,
            parts,
            sender: None,
            is_ready: false,
            has_started: false,
            timeouts: 0,
        };
        let mut nic = Self {
            transport,
            sending: sending.into_iter().map(begins).collect(),
            receiving: receiving.into_iter().map(|parts| Receiving { parts, receiver: None }).collect(),
            places,
            tasks,
            line_rate,
            free_at: Time::ZERO,
            ready: VecDeque::new(),
            control: VecDeque::new(),
            timers,
            checkpoints,
        };
        nic.follow_tasks(Time::ZERO);
        nic
    }

    /// When a flow starts, or a sender or the host acts.
    fn next_timer(&self) -> Time {
        self.timers.peek().map_or(Time::NEVER, |&Reverse((at, _))| at).min(self.transport.host_timer())
    }

    fn due(&self) -> Time {
        let waits = !self.ready.is_empty() || !self.control.is_empty();
        self.next_timer().min(if waits { self.free_at } else { Time::NEVER })
    }

    /// Does all that is due up to `now`.
    fn advance(&mut self, now: Time, out: &mut Outbox<'_>) {
        loop {
            let due = self.due();
            self.check(due.min(now));
            if due > now {
                return;
            }
            if self.transport.host_timer() <= due {
                self.act_as_host(due);
            } else if let Some(&Reverse((at, place))) = self.timers.peek()
                && at <= due
            {
                self.timers.pop();
                self.act_as_sender(place, at);
            }
            self.transmit(due, out);
        }
    }

    fn check(&mut self, now: Time) {
        while let Some((_, due)) = self.checkpoints.take(now) {
            let interval = self.checkpoints.interval();
            for Sending { parts, sender, timeouts, .. } in &mut self.sending {
                parts.counters.count.timeouts = *timeouts + sender.as_ref().map_or(0, |sender| T::timeouts(sender));
                parts.counters.check(due, interval);
                if due == Checkpoint::Sample
                    && let Some(series) = &mut parts.counters.record.series
                    && let Some(window) = &mut series.window
                {
                    window.push(sender.as_ref().map_or(0.0, |sender| T::window(sender, &parts.message.network)));
                }
            }
            self.receiving.iter_mut().for_each(|Receiving { parts, .. }| parts.counters.check(due, interval));
        }
    }

    fn act_as_host(&mut self, now: Time) {
        if let Some(Control { place, header, wire_bytes }) = self.transport.on_host_timer(now) {
            self.answer(place, header, wire_bytes, 0);
        }
    }

    /// A flow starts, or its sender acts by itself.
    fn act_as_sender(&mut self, place: u32, now: Time) {
        let flows = self.sending.len() as u32;
        let Some(Sending { parts, sender, planned, has_started, .. }) = self.sending.get_mut(place as usize) else {
            return self.happened(Happened::Due(place - flows), now);
        };
        if *planned != now {
            return;
        }
        *planned = Time::NEVER;
        if !*has_started {
            return self.begin(place, now);
        }
        if let Some(sender) = sender
            && let network = &parts.message.network
            && T::timer(sender, network) <= now
            && let Some((header, wire_bytes)) = T::on_timer(sender, network, now, &mut parts.rng)
        {
            let class = T::class(&header, network, parts.class);
            let carried = Carried::new(header, 0, 0);
            self.control.push_back(Queued { flow: parts.flow, class, flags: 0, carried, wire_bytes });
        }
        self.follow(place, now);
    }

    /// A message begins.
    fn begin(&mut self, place: u32, now: Time) {
        let Sending { parts, sender, has_started, .. } = &mut self.sending[place as usize];
        *has_started = true;
        *sender = Some(Box::new(self.transport.sender(&parts.message, &mut parts.rng)));
        parts.counters.record.started = Some(now);
        self.follow(place, now);
    }

    /// An event that other messages may wait for.
    fn happened(&mut self, event: Happened, now: Time) {
        if let Some(tasks) = &mut self.tasks {
            tasks.on(event, now);
            self.follow_tasks(now);
        }
    }

    fn follow_tasks(&mut self, now: Time) {
        while let Some(effect) = self.tasks.as_mut().and_then(|tasks| tasks.effect()) {
            match effect {
                Effect::Begin(flow) => self.begin(self.places[flow as usize][0], now),
                Effect::Due(at, task) => self.timers.push(Reverse((at, self.sending.len() as u32 + task))),
            }
        }
    }

    /// Plans what a sender does next.
    fn follow(&mut self, place: u32, now: Time) {
        let Sending { parts, sender, planned, is_ready, timeouts, .. } = &mut self.sending[place as usize];
        let network = &parts.message.network;
        let Some(active) = sender else { return };
        if T::is_complete(active, network) {
            *timeouts = T::timeouts(active);
            parts.counters.record.acknowledged = Some(now);
            *sender = None;
            let flow = parts.flow;
            return self.happened(Happened::Sent(flow), now);
        }
        let ready_at = if *is_ready { Time::NEVER } else { T::ready_at(active, network) };
        let mut timer = T::timer(active, network);
        if ready_at <= now {
            *is_ready = true;
            self.ready.push_back(place);
        } else {
            timer = timer.min(ready_at);
        }
        if timer < *planned {
            *planned = timer;
            self.timers.push(Reverse((timer, place)));
        }
    }

    /// Queues a control packet to the source of a flow that ends here.
    fn answer(&mut self, place: u32, header: Header, wire_bytes: u32, telemetry: u32) {
        let ReceivingParts { flow, class, ref message, .. } = self.receiving[place as usize].parts;
        let class = T::class(&header, &message.network, class);
        let carried = Carried::new(header, telemetry, 0);
        self.control.push_back(Queued { flow, class, flags: flags::ACK, carried, wire_bytes });
    }

    /// Sends while the port is free.
    fn transmit(&mut self, now: Time, out: &mut Outbox<'_>) {
        while !self.control.is_empty() || !self.ready.is_empty() {
            self.free_at = self.free_at.max(out.departure());
            if self.free_at > now {
                return;
            }
            if let Some(queued) = self.control.pop_front() {
                self.send_control(queued, now, out);
            } else if let Some(place) = self.take_ready() {
                self.send_data(place, now, out);
            }
        }
    }

    /// The flow that sends next.
    fn take_ready(&mut self) -> Option<u32> {
        let senders = self.ready.iter().map(|&place| self.sending[place as usize].sender.as_deref());
        let index = self.transport.choose(senders);
        self.ready.remove(index)
    }

    fn send_control(&mut self, queued: Queued, now: Time, out: &mut Outbox<'_>) {
        let [source, sink] = self.places[queued.flow as usize];
        let packet = self.send(queued, (Ecn::NotCapable, false), now, out);
        if packet.is_ack() {
            self.receiving[sink as usize].parts.counters.count.acks_sent += 1;
        } else {
            self.sending[source as usize].parts.counters.sent(&packet, false);
        }
    }

    fn send_data(&mut self, place: u32, now: Time, out: &mut Outbox<'_>) {
        let waiting = self.ready.len() as u32 + 1;
        let Sending { parts, sender, is_ready, .. } = &mut self.sending[place as usize];
        *is_ready = false;
        let Some(sender) = sender else { return };
        let next = T::next_packet(sender, &parts.message.network, now, waiting, &mut parts.rng);
        if let Some(Outgoing { header, wire_bytes, ranked_from, is_retransmission, is_trimmable }) = next {
            let network = &*parts.message.network;
            let tables = &mut out.channels.tables;
            let takes = T::takes_telemetry(network);
            let telemetry = if takes { tables.put_telemetry(Telemetry::new(self.line_rate)) } else { 0 };
            let class = T::class(&header, network, parts.class);
            let carried = Carried::new(header, telemetry, parts.message.bytes.saturating_sub(ranked_from));
            let queued = Queued { flow: parts.flow, class, flags: 0, carried, wire_bytes };
            let packet = self.send(queued, (Ecn::Capable0, is_trimmable), now, out);
            self.sending[place as usize].parts.counters.sent(&packet, is_retransmission);
        }
        self.follow(place, now);
    }

    fn send(&mut self, queued: Queued, (ecn, is_trimmable): (Ecn, bool), now: Time, out: &mut Outbox<'_>) -> Packet {
        let Queued { flow, class, flags, carried, wire_bytes } = queued;
        let packet = Packet::new(PacketFields {
            time: now,
            // Those of ACKs refer to other data.
            stamp: if flags & flags::ACK == 0 { departure_stamp(now) } else { 0 },
            number: out.channels.tables.put_header(carried),
            flow,
            len_bytes: wire_bytes as u16,
            flags: flags | flags::HEADER,
            class,
            ecn,
        });
        let packet = if is_trimmable { packet.trimmable() } else { packet };
        self.free_at = now.saturating_add(self.line_rate.transmission_time(u64::from(wire_bytes)));
        out.send(packet);
        packet
    }

    fn receive_data(&mut self, packet: &Packet, carried: &Carried, tables: &mut SideTables) {
        let place = self.places[packet.flow_id() as usize][1];
        let Receiving { parts, receiver } = &mut self.receiving[place as usize];
        let transport = &mut self.transport;
        let receiver = receiver.get_or_insert_with(|| Box::new(transport.receiver(&parts.message, place)));
        parts.counters.received(packet);
        let arrival = Arrival {
            header: carried.header,
            now: packet.time,
            is_marked: packet.ecn() == Ecn::CongestionExperienced,
            is_trimmed: carried.header.data_bytes().is_some_and(|bytes| packet.len_bytes() < bytes),
            trimmed_at_last_hop: carried.trimmed_at_last_hop,
            sent_at: packet.departure(),
        };
        let answer = transport.on_data(receiver, &parts.message.network, &arrival);
        let count = &mut parts.counters.count;
        let before = std::mem::replace(&mut count.payload, T::payload_bytes(receiver));
        let has_all = before < parts.message.bytes && count.payload >= parts.message.bytes;
        if has_all {
            parts.counters.record.finished = Some(packet.time);
            transport.on_delivered(receiver);
        }
        // An answer returns the telemetry of its packet.
        match answer {
            Some((header, wire_bytes)) => self.answer(place, header, wire_bytes, carried.telemetry),
            None => _ = tables.take_telemetry(carried.telemetry),
        }
        if has_all {
            self.happened(Happened::Received(packet.flow_id()), packet.time);
        }
    }

    fn receive_answer(&mut self, packet: &Packet, carried: &Carried, tables: &mut SideTables) {
        let place = self.places[packet.flow_id() as usize][0];
        let Sending { parts, sender, .. } = &mut self.sending[place as usize];
        parts.counters.count.acks_received += 1;
        let telemetry = tables.take_telemetry(carried.telemetry);
        let hops = telemetry.as_ref().map_or(&[][..], Telemetry::hops);
        if let Some(sender) = sender {
            T::on_answer(sender, &parts.message.network, &carried.header, hops, packet.time);
        }
        self.follow(place, packet.time);
    }
}

impl<T: Transport> Endpoint for Nic<T> {
    fn next(&self) -> Time {
        self.due()
    }

    fn receive(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        let now = packet.time;
        self.advance(now, out);
        let tables = &mut out.channels.tables;
        let carried = tables.take_header(packet);
        if packet.is_ack() {
            self.receive_answer(packet, &carried, tables);
        } else {
            self.receive_data(packet, &carried, tables);
        }
        self.transmit(now, out);
    }

    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        self.advance(now, out);
    }

    fn show(&self, show: &mut Show<'_>) {
        self.sending.iter().for_each(|Sending { parts, .. }| parts.counters.record.show(parts.flow, show));
        self.receiving.iter().for_each(|Receiving { parts, .. }| parts.counters.record.show(parts.flow, show));
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.check(end);
        for Sending { parts, sender, timeouts, .. } in &mut self.sending {
            let mut counters = std::mem::take(&mut parts.counters);
            counters.count.timeouts = *timeouts + sender.as_ref().map_or(0, |sender| T::timeouts(sender));
            report.sender(parts.flow, counters);
        }
        for Receiving { parts, .. } in &mut self.receiving {
            report.receiver(parts.flow, std::mem::take(&mut parts.counters));
        }
        if let Some(tasks) = &self.tasks {
            tasks.report(report);
        }
    }
}
