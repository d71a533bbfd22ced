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
use crate::ethernet::control::{ControlRows, PauseFrame, control_frame};
use crate::ethernet::frames::GeneratorParts;
use crate::ethernet::pause::{PauseRx, PauseTx};
use crate::ethernet::receive::{DestinationFlow, Receive};
use crate::ethernet::transmit::Transmit;
use crate::ethernet::voq::SourceFlow;
use crate::link::Link;
use crate::observe::interval::Checkpoints;
use crate::observe::loss_counters::LossCounters;
use crate::observe::reported::{ControlCount, PortReport};
use crate::packet::{FlowId, Packet, flags};
use crate::spec::{AdapterSpec, LinkId};

mod turns;

pub(crate) struct AdapterParts {
    /// Its host's name.
    pub name: String,
    /// `spec.congestion` is not used: its parts come with the flows.
    pub spec: AdapterSpec,
    /// Whether the neighbour may stop single classes.
    pub pause_by_class: bool,
    pub uplink: Link,
    pub out_link: LinkId,
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
    /// By flow: index of its data queue in `ingress`, or its index in `egress`.
    numbers: Vec<u32>,
    egress: Receive,
    ingress: Transmit,
    /// The queue of the frame being sent, if its reaction point must be notified on time.
    sending: Option<usize>,
    /// To sources.
    messages: Ring<Packet>,
    orders: PauseTx,
    obeyed: PauseRx,
    /// By class.
    probes: [Ring<Packet>; SharedMemory::CLASSES],
    out_link: LinkId,
    control_transmission: Span,
    attached: Option<Box<Attached>>,
    checkpoints: Checkpoints,
    port: PortReport,
    name: String,
    lost: LossCounters,
    control: ControlCount,
    /// Pause time before the end of the warm-up.
    stopped_before: Span,
}

impl Adapter {
    pub fn new(parts: AdapterParts) -> Self {
        let AdapterParts {
            name,
            spec,
            pause_by_class,
            uplink,
            out_link,
            out_rate,
            in_rate,
            rows,
            sources,
            generators,
            destinations,
            attached,
            checkpoints,
        } = parts;
        let attached = Attached::new(attached).map(Box::new);
        let mut numbers = vec![0; rows.flows as usize];
        for (source, number) in sources.iter().zip(0..).filter(|(source, _)| !source.is_ack) {
            numbers[source.flow as usize] = number;
        }
        for (destination, number) in destinations.iter().zip(0..) {
            numbers[destination.flow as usize] = number;
        }
        let answers_data =
            attached.is_some() || spec.congestion.as_ref().is_some_and(CongestionManagement::answers_data);
        let ingress = Transmit::new(sources, generators, spec.voq_limit, spec.rate_limiters, out_rate);
        let mut adapter = Self {
            classes: ingress.classes(),
            ingress,
            egress: Receive::new(destinations, answers_data, spec.egress_bytes, in_rate, spec.service),
            orders: PauseTx::new(spec.flow_control, in_rate),
            obeyed: PauseRx::new(pause_by_class, out_rate, spec.reaction),
            messages: Ring::default(),
            probes: Default::default(),
            probing: 0,
            out_link,
            uplink,
            control_transmission: out_rate.transmission_time(u64::from(CONTROL_FRAME_BYTES)),
            free_at: Time::ZERO,
            sending: None,
            due: Time::NEVER,
            upkeep_at: Time::NEVER,
            rows,
            numbers,
            attached,
            checkpoints,
            port: PortReport::default(),
            name,
            lost: LossCounters::default(),
            control: ControlCount::default(),
            stopped_before: Span::ZERO,
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
        if let Some(probe) = self.ingress.sent(number, self.free_at) {
            self.send_probe(number, probe, now, channels);
        }
        self.plan_upkeep();
    }

    #[inline(always)]
    fn empty_until(&mut self, now: Time, channels: &mut Channels) {
        while self.egress.leaves_at() <= now {
            let frame = self.egress.leave();
            if self.rows.is_control(frame.flow_id()) || self.egress.answers_data() {
                self.answer(&frame, channels);
            } else {
                self.egress.deliver(self.numbers[frame.flow_id() as usize] as usize, &frame);
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
            self.control.consumed += 1;
            self.egress.reflect(number, &probe, frame.time)
        } else {
            self.egress.deliver(number, frame);
            self.egress.tell_delivered(number, frame)
        };
        if let Some(answer) = answer {
            self.tell_source(number, answer, frame.time, channels);
        }
    }

    /// Hands a packet to its endpoint. Returns false without one.
    fn hand_over(&mut self, packet: &Packet, channels: &mut Channels) -> bool {
        let Some(attached) = &mut self.attached else { return false };
        let has_taken = attached.receive(packet, channels);
        self.take_sent(packet.time, channels);
        has_taken
    }

    #[cold]
    fn run_endpoints(&mut self, now: Time, channels: &mut Channels) {
        if let Some(attached) = &mut self.attached {
            attached.expire(now, channels);
            self.take_sent(now, channels);
        }
    }

    #[inline]
    fn next_of_endpoints(&self) -> Time {
        self.attached.as_ref().map_or(Time::NEVER, |attached| attached.next())
    }

    fn take_sent(&mut self, now: Time, channels: &mut Channels) {
        let Self { attached, ingress, lost, .. } = self;
        let Some(attached) = attached else { return };
        for (packet, queue) in attached.take_sent(now) {
            if !ingress.push(queue, packet, packet.time) {
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
        self.orders.watch(class, self.egress.used_bytes(), self.egress.used_by_class(class), now);
    }

    #[cold]
    fn poll_reflectors(&mut self, now: Time, channels: &mut Channels) {
        while let Some((number, message)) = self.egress.poll(now) {
            if let Some(message) = message {
                self.tell_source(number, message, now, channels);
            }
        }
    }

    #[cold]
    fn poll_reactions(&mut self, now: Time, channels: &mut Channels) {
        while let Some((number, message)) = self.ingress.poll(now) {
            if let Some(message) = message {
                self.send_probe(number, message, now, channels);
            }
        }
        self.sending = self.ingress.to_be_heard(now);
    }

    /// `number` is the index of the flow in `egress`.
    #[cold]
    fn tell_source(&mut self, number: usize, message: Message, now: Time, channels: &mut Channels) {
        let identity = self.egress.identity(number);
        self.messages.push(self.control_frame(identity, flags::ACK, message, now, channels));
    }

    /// `number` is the index of the queue in `ingress`.
    #[cold]
    fn send_probe(&mut self, number: usize, message: Message, now: Time, channels: &mut Channels) {
        let identity = self.ingress.identity(number);
        self.probes[usize::from(identity.1)].push(self.control_frame(identity, 0, message, now, channels));
        self.probing |= 1 << identity.1;
    }

    fn control_frame(
        &self,
        (flow, class): (FlowId, u8),
        flags: u8,
        message: Message,
        now: Time,
        channels: &mut Channels,
    ) -> Packet {
        control_frame(self.rows.of_flow(flow), class, flags, channels.tables.messages.put(message), now)
    }

    /// Begins the next transmission if the port is free.
    #[inline(always)]
    fn transmit(&mut self, now: Time, channels: &mut Channels) {
        if self.free_at > now {
            return;
        }
        self.end_transmission(now, channels);
        let control_waits = self.orders.is_pending() || self.probing != 0 || self.messages.len() > 0;
        if control_waits && let Some(frame) = self.next_control(now) {
            self.free_at = now + self.control_transmission;
            return self.send(frame, channels);
        }
        self.ingress.generate(now);
        if let Some(number) = self.ingress.next_queue(self.obeyed.free_classes(now), now) {
            let (frame, sent_at, is_heard) = self.ingress.take(number, now);
            self.sending = is_heard.then_some(number);
            self.free_at = sent_at;
            self.send(frame, channels);
        }
    }

    #[inline(always)]
    fn send(&mut self, frame: Packet, channels: &mut Channels) {
        self.uplink.pass_on_by_link(&frame, channels);
    }

    /// The next control frame in order of priority.
    #[cold]
    #[inline(never)]
    fn next_control(&mut self, now: Time) -> Option<Packet> {
        if let Some(order) = self.orders.take() {
            self.control.created += 1;
            self.port.pause_frames_sent += 1;
            let (flow, backward) = self.rows.of_link(self.out_link);
            return Some(control_frame(flow, 0, if backward { flags::ACK } else { 0 }, order.number(), now));
        }
        let classes = self.probing & self.obeyed.free_classes(now);
        let mut frame = if classes == 0 {
            self.messages.pop()?
        } else {
            let class = classes.trailing_zeros();
            let probes = &mut self.probes[class as usize];
            let probe = probes.pop()?;
            if probes.len() == 0 {
                self.probing &= !(1 << class);
            }
            probe
        };
        self.control.created += 1;
        self.port.control_frames_sent += 1;
        frame.time = now;
        Some(frame)
    }

    #[inline(always)]
    fn buffer(&mut self, frame: &Packet, is_probe: bool, channels: &mut Channels) {
        if !self.egress.arrive(frame, is_probe) {
            return self.lose(frame, channels);
        }
        self.port.memory(self.egress.used_bytes());
        self.watch_buffer(usize::from(frame.class() & 7), frame.time);
    }

    #[cold]
    #[inline(never)]
    fn lose(&mut self, frame: &Packet, channels: &mut Channels) {
        self.port.frames_lost += 1;
        if self.rows.is_control(frame.flow_id()) {
            channels.tables.messages.take(frame.number());
            self.control.lost += 1;
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
            self.control.consumed += 1;
            self.obeyed.receive(PauseFrame::from_number(frame.number()), frame.time);
        } else if frame.is_ack() {
            self.control.consumed += 1;
            let message = channels.tables.messages.take(frame.number());
            self.end_transmission(frame.time, channels);
            self.ingress.receive(self.number(frame.flow_id()), &message, frame.time);
            self.sending = self.ingress.to_be_heard(frame.time);
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
        if is_control || self.orders.is_pending() {
            self.react(now, channels);
        } else if self.is_emptied_on_time() {
            // Another frame can change only the next departure from the buffer.
            self.due = self.due.min(self.egress.leaves_at());
            self.upkeep_at = self.upkeep_at.min(self.egress.leaves_at());
        }
    }
}

#[cfg(test)]
mod tests;
