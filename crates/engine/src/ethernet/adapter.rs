//! The adapter: the end node of an Ethernet.
//!
//! To send (`transmit.rs`), each flow has a virtual output queue and, while congestion management requires one, a rate
//! limiter. To receive (`receive.rs`), a buffer holds the frames that the node has not taken yet, and stops the switch
//! by PAUSE. A free port sends in this order: PAUSE, probes (control frames to destinations), messages to sources,
//! data. PAUSE from the switch stops only data and probes. A reaction point is notified of a data frame when it has
//! been sent, or later if it would only count it.
//!
//! The driver runs an adapter ahead of the global clock. So `due` is its own next event, and all events due run before
//! a packet is received.

use forebay_qdisc::{Rate, Span, Time};
use forebay_switching::SharedMemory;
use forebay_switching::congestion::{CONTROL_FRAME_BYTES, CongestionManagement, Message};

use crate::driver::node::Channels;
use crate::driver::ring::Ring;
use crate::ethernet::attached::{Attached, AttachedParts};
use crate::ethernet::control::{ControlPort, ControlRows, PauseFrame};
use crate::ethernet::frames::GeneratorParts;
use crate::ethernet::pause::{PauseRx, PauseTx};
use crate::ethernet::receive::{DestinationFlow, Receive};
use crate::ethernet::transmit::Transmit;
use crate::ethernet::voq::SourceFlow;
use crate::link::Link;
use crate::observe::interval::Checkpoints;
use crate::observe::loss_counters::LossCounters;
use crate::observe::reported::ControlCount;
use crate::packet::{FlowId, Packet, PacketFields, flags};
use crate::spec::{AdapterSpec, Watch};

mod turns;

pub(crate) struct AdapterParts {
    /// Its host's name.
    pub name: String,
    /// `spec.congestion` is not used: its parts come with the flows.
    pub spec: AdapterSpec,
    /// Whether the neighbour may stop single classes.
    pub pause_by_class: bool,
    pub uplink: Link,
    pub out_rate: Rate,
    pub in_rate: Rate,
    pub rows: ControlRows,
    /// The flows that begin here, in round-robin order.
    pub sources: Vec<SourceFlow>,
    /// Indexed by `SourceFlow::supply`.
    pub generators: Vec<GeneratorParts>,
    pub destinations: Vec<DestinationFlow>,
    pub attached: AttachedParts,
    /// Of the measured interval and, for time series, of samples.
    pub checkpoints: Checkpoints,
    /// Events that are recorded one by one.
    pub watch: Option<Watch>,
}

/// The end node at work. Hot fields first.
#[repr(C, align(64))]
pub(crate) struct Adapter {
    /// The next event, and the next one that is not a transmission.
    due: Time,
    upkeep_at: Time,
    free_at: Time,
    uplink: Link,
    rows: ControlRows,
    /// Classes with probes, and classes of the flows that begin here.
    probing: u8,
    classes: u8,
    /// By flow: index of its data queue in `transmit`, or its index in `receive`.
    numbers: Vec<u32>,
    receive: Receive,
    transmit: Transmit,
    /// The queue of the frame being sent, if its reaction point must be notified on time.
    sending: Option<usize>,
    control: ControlPort,
    /// By class.
    probes: [Ring<Packet>; SharedMemory::CLASSES],
    control_transmission: Span,
    attached: Option<Box<Attached>>,
    checkpoints: Checkpoints,
    name: String,
    lost: LossCounters,
    control_count: ControlCount,
}

impl Adapter {
    pub fn new(parts: AdapterParts) -> Self {
        let AdapterParts { spec, out_rate, in_rate, .. } = parts;
        let attached = Attached::new(parts.attached).map(Box::new);
        let mut numbers = vec![0; parts.rows.flows as usize];
        for (source, number) in parts.sources.iter().zip(0..).filter(|(source, _)| !source.is_ack) {
            numbers[source.flow as usize] = number;
        }
        for (destination, number) in parts.destinations.iter().zip(0..) {
            numbers[destination.flow as usize] = number;
        }
        let answers_data =
            attached.is_some() || spec.congestion.as_ref().is_some_and(CongestionManagement::answers_data);
        let transmit = Transmit::new(parts.sources, parts.generators, spec.voq_limit, spec.rate_limiters, out_rate);
        let mut adapter = Self {
            classes: transmit.classes(),
            transmit,
            receive: Receive::new(parts.destinations, answers_data, spec.egress_bytes, in_rate, spec.service),
            control: ControlPort::new(
                PauseTx::new(spec.flow_control, in_rate),
                PauseRx::new(parts.pause_by_class, out_rate, spec.reaction).watched(parts.watch.as_ref()),
            ),
            probes: Default::default(),
            probing: 0,
            uplink: parts.uplink,
            control_transmission: out_rate.transmission_time(u64::from(CONTROL_FRAME_BYTES)),
            free_at: Time::ZERO,
            sending: None,
            due: Time::NEVER,
            upkeep_at: Time::NEVER,
            rows: parts.rows,
            numbers,
            attached,
            checkpoints: parts.checkpoints,
            name: parts.name,
            lost: LossCounters::default(),
            control_count: ControlCount::default(),
        };
        adapter.plan(Time::ZERO);
        adapter
    }

    /// Tells the reaction point of a sent data frame, if this must be on time.
    #[inline(always)]
    fn end_transmission(&mut self, now: Time, channels: &mut Channels) {
        if self.free_at <= now
            && let Some(number) = self.sending.take()
        {
            self.tell_sent(number, now, channels);
        }
    }

    #[cold]
    fn tell_sent(&mut self, number: usize, now: Time, channels: &mut Channels) {
        let probe = self.transmit.sent(number, self.free_at);
        self.send_probe(number, probe, now, channels);
        self.plan_upkeep();
    }

    #[inline(always)]
    fn empty_until(&mut self, now: Time, channels: &mut Channels) {
        while self.receive.leaves_at <= now {
            let frame = self.receive.leave();
            if self.rows.is_control(frame.flow_id()) || self.receive.answers_data {
                self.answer(&frame, channels);
            } else {
                self.receive.deliver(self.numbers[frame.flow_id() as usize] as usize, &frame);
            }
            self.watch_buffer(usize::from(frame.class() & 7), frame.time);
        }
    }

    /// Processes a frame that has left the buffer and may be answered.
    #[inline(never)]
    fn answer(&mut self, frame: &Packet, channels: &mut Channels) {
        if !self.rows.is_control(frame.flow_id()) && self.hand_over(frame, channels) && frame.is_ack() {
            return;
        }
        let number = self.number(frame.flow_id());
        let answer = if self.rows.is_control(frame.flow_id()) {
            let probe = channels.tables.messages.take(frame.number());
            self.control_count.consumed += 1;
            self.receive.reflect(number, &probe, frame.time)
        } else {
            self.receive.deliver(number, frame);
            self.receive.tell_delivered(number, frame)
        };
        self.tell_source(number, answer, frame.time, channels);
    }

    /// Hands a packet to its endpoint. Returns false without one.
    fn hand_over(&mut self, packet: &Packet, channels: &mut Channels) -> bool {
        let Some(attached) = &mut self.attached else { return false };
        let has_taken = attached.receive(packet, channels);
        self.take_sent(packet.time, channels);
        has_taken
    }

    fn take_sent(&mut self, now: Time, channels: &mut Channels) {
        let Self { attached, transmit, lost, .. } = self;
        let Some(attached) = attached else { return };
        for (packet, queue) in attached.take_sent(now) {
            if !transmit.push(queue, packet, packet.time) {
                lost.add(&packet, &channels.measured);
                channels.release(&packet);
            }
        }
    }

    /// Index of the flow that a packet belongs to, or that a control frame is about.
    #[inline]
    fn number(&self, flow: FlowId) -> usize {
        let flow = if self.rows.is_control(flow) { self.rows.about(flow) } else { flow };
        self.numbers[flow as usize] as usize
    }

    #[inline]
    fn watch_buffer(&mut self, class: usize, now: Time) {
        self.control.orders.watch(class, self.receive.used_bytes, self.receive.used_by_class[class], now);
    }

    /// `number` is the index of the flow in `receive`.
    #[cold]
    fn tell_source(&mut self, number: usize, message: Option<Message>, now: Time, channels: &mut Channels) {
        let Some(message) = message else { return };
        let DestinationFlow { flow, class, .. } = self.receive.flows[number];
        self.control.messages.push(self.rows.message(flow, class, flags::ACK, message, now, channels));
    }

    /// `number` is the index of the queue in `transmit`.
    #[cold]
    fn send_probe(&mut self, number: usize, message: Option<Message>, now: Time, channels: &mut Channels) {
        let Some(message) = message else { return };
        let PacketFields { flow, class, .. } = self.transmit.queues[number].fields;
        self.probes[usize::from(class)].push(self.rows.message(flow, class, 0, message, now, channels));
        self.probing |= 1 << class;
    }

    /// Begins the next transmission if the port is free.
    #[inline(always)]
    fn transmit(&mut self, now: Time, channels: &mut Channels) {
        if self.free_at > now {
            return;
        }
        self.end_transmission(now, channels);
        if (self.control.waits() || self.probing != 0)
            && let Some(frame) = self.next_control(now)
        {
            self.free_at = now + self.control_transmission;
            return self.uplink.pass_on_by_link(&frame, channels);
        }
        self.transmit.generate(now);
        if let Some(number) = self.transmit.next_queue(self.control.obeyed.free_classes(now), now) {
            let (frame, sent_at, is_heard) = self.transmit.take(number, now);
            self.sending = is_heard.then_some(number);
            self.free_at = sent_at;
            self.uplink.pass_on_by_link(&frame, channels);
        }
    }

    /// The next control frame in order of priority.
    #[cold]
    #[inline(never)]
    fn next_control(&mut self, now: Time) -> Option<Packet> {
        if let Some(pause) = self.control.take_order(self.rows, self.uplink.number(), now) {
            self.control_count.created += 1;
            return Some(pause);
        }
        let classes = self.probing & self.control.obeyed.free_classes(now);
        let mut frame = if classes == 0 {
            self.control.messages.pop()?
        } else {
            let class = classes.trailing_zeros();
            let probes = &mut self.probes[class as usize];
            let probe = probes.pop()?;
            if probes.len() == 0 {
                self.probing &= !(1 << class);
            }
            probe
        };
        self.control_count.created += 1;
        self.control.report.control_frames_sent += 1;
        frame.time = now;
        Some(frame)
    }

    #[inline(always)]
    fn buffer(&mut self, frame: &Packet, is_probe: bool, channels: &mut Channels) {
        if !self.receive.arrive(frame, is_probe) {
            return self.lose(frame, channels);
        }
        self.control.report.memory(self.receive.used_bytes);
        self.watch_buffer(usize::from(frame.class() & 7), frame.time);
    }

    #[cold]
    #[inline(never)]
    fn lose(&mut self, frame: &Packet, channels: &mut Channels) {
        self.control.report.frames_lost += 1;
        if self.rows.is_control(frame.flow_id()) {
            channels.tables.messages.take(frame.number());
            self.control_count.lost += 1;
        } else {
            self.lost.add(frame, &channels.measured);
            channels.release(frame);
        }
    }

    #[cold]
    #[inline(never)]
    fn react(&mut self, now: Time, channels: &mut Channels) {
        self.transmit(now, channels);
        self.plan(now);
    }

    #[cold]
    #[inline(never)]
    fn receive_control(&mut self, frame: &Packet, channels: &mut Channels) {
        if self.rows.is_pause(frame.flow_id()) {
            self.control_count.consumed += 1;
            self.control.obeyed.receive(PauseFrame::from_number(frame.number()), frame.time);
        } else if frame.is_ack() {
            self.control_count.consumed += 1;
            let message = channels.tables.messages.take(frame.number());
            self.end_transmission(frame.time, channels);
            self.transmit.receive(self.number(frame.flow_id()), &message, frame.time);
            self.sending = self.transmit.to_be_heard(frame.time);
        } else {
            self.buffer(frame, true, channels);
        }
    }
}

impl Adapter {
    #[inline]
    fn receive(&mut self, packet: &Packet, channels: &mut Channels) {
        let now = packet.time;
        if self.due <= now {
            self.catch_up(now, channels);
        }
        self.empty_until(now, channels);
        let is_control = self.rows.is_control(packet.flow_id());
        if is_control {
            self.receive_control(packet, channels);
        } else {
            self.buffer(packet, false, channels);
        }
        if is_control || self.control.orders.is_pending() {
            self.react(now, channels);
        } else if self.is_emptied_on_time() {
            // Another frame can change only the next departure from the buffer.
            self.due = self.due.min(self.receive.leaves_at);
            self.upkeep_at = self.upkeep_at.min(self.receive.leaves_at);
        }
    }
}

#[cfg(test)]
mod tests;
