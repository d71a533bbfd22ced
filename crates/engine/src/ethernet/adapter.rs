//! The adapter: the end node of an Ethernet.
//!
//! On the way in (`ingress.rs`) each flow has a virtual output queue and, while congestion management wants one, a rate
//! limiter; the queues that may go are served round-robin. On the way out (`egress.rs`) a buffer holds what the node
//! has not taken yet, and stops the switch by PAUSE. When the port is free there go, in this order: orders to the
//! switch to stop or to go on; control frames that follow a data frame (probes); messages to the sources of what has
//! come; data. An order from the switch holds up data and probes and nothing else.
//!
//! A reaction point hears of a data frame when its transmission has ended ([`ReactionPoint::sent`]), or later if it
//! would only count it; the limiter counts from when it began.
//!
//! The driver runs an adapter ahead of the global clock. So it keeps a clock of its own: `due` is when the next thing
//! happens by itself, and whatever comes from outside first runs all that is due by then.

use forebay_qdisc::{Rate, Span, Time};
use forebay_switching::SharedMemory;
use forebay_switching::congestion::{CONTROL_FRAME_BYTES, Message};

use crate::driver::node::Lanes;
use crate::driver::ring::Ring;
use crate::ethernet::control::{ControlRows, PauseFrame, control_frame};
use crate::ethernet::egress::{DestinationFlow, Egress};
use crate::ethernet::frames::GeneratorParts;
use crate::ethernet::ingress::{Ingress, SourceFlow};
use crate::ethernet::pause::{PauseObeyed, PauseOrders};
use crate::link::Wire;
use crate::observe::handed_in::{ControlCount, PortReport};
use crate::observe::interval::Checkpoints;
use crate::observe::loss_book::LossBook;
use crate::packet::{FlowId, Packet, flags};
use crate::spec::{AdapterSpec, LinkId};

mod turns;

/// What an adapter is made of.
pub(crate) struct AdapterParts {
    /// `spec.congestion` is not looked at: its parts come with the flows.
    pub spec: AdapterSpec,
    /// Whether its neighbour may stop single classes.
    pub pause_by_class: bool,
    /// The link on which it sends, and its rate.
    pub uplink: Wire,
    pub out_rate: Rate,
    /// The rate of the link by which it receives.
    pub in_rate: Rate,
    pub rows: ControlRows,
    /// The flows of which it is the source, each with a virtual output queue. They are served round-robin, in this
    /// order.
    pub sources: Vec<SourceFlow>,
    /// What makes their frames: [`SourceFlow::generator`] is an index here.
    pub generators: Vec<GeneratorParts>,
    /// The flows of which it is the destination.
    pub destinations: Vec<DestinationFlow>,
    /// Of the measured interval and, where flows become time series, of their samples.
    pub checkpoints: Checkpoints,
}

/// The end node at work. What comes first, every frame touches.
#[repr(C, align(64))]
pub(crate) struct Adapter {
    /// When the next thing happens by itself, and when the next one that is not the sending of a frame.
    due: Time,
    upkeep_at: Time,
    /// Until when the port is busy.
    free_at: Time,
    uplink: Wire,
    rows: ControlRows,
    /// The classes that have control frames to the destinations, and those of the flows that begin here.
    probing: u8,
    classes: u8,
    /// For each flow that begins here its queue, for each that ends here its number among those.
    numbers: Vec<u32>,
    egress: Egress,
    ingress: Ingress,
    /// The queue of the data frame that it sends, if the reaction point has to hear on time when that has been sent.
    sending: Option<usize>,
    /// Messages to the sources of what has come.
    messages: Ring<Packet>,
    /// What it orders the switch.
    orders: PauseOrders,
    /// What the switch has ordered.
    obeyed: PauseObeyed,
    /// Control frames to the destinations, by class.
    probes: [Ring<Packet>; SharedMemory::CLASSES],
    /// The link on which it sends.
    out_link: LinkId,
    /// How long a control frame takes on the line.
    control_transmission: Span,
    checkpoints: Checkpoints,
    port: PortReport,
    lost: LossBook,
    control: ControlCount,
    /// How long it had been stopped when the warm-up ended.
    stopped_before: Span,
}

impl Adapter {
    pub fn new(parts: AdapterParts) -> Self {
        let AdapterParts {
            spec,
            pause_by_class,
            uplink,
            out_rate,
            in_rate,
            rows,
            sources,
            generators,
            destinations,
            checkpoints,
        } = parts;
        let mut numbers = vec![0; rows.flows as usize];
        for (source, number) in sources.iter().zip(0..) {
            numbers[source.flow as usize] = number;
        }
        for (destination, number) in destinations.iter().zip(0..) {
            numbers[destination.flow as usize] = number;
        }
        let ingress = Ingress::new(sources, generators, spec.voq_limit, spec.rate_limiters, out_rate);
        let mut adapter = Self {
            classes: ingress.classes(),
            ingress,
            egress: Egress::new(destinations, spec.egress_bytes, in_rate, spec.service),
            orders: PauseOrders::new(spec.flow_control, in_rate),
            obeyed: PauseObeyed::new(pause_by_class, out_rate, spec.reaction),
            messages: Ring::default(),
            probes: Default::default(),
            probing: 0,
            out_link: spec.port.out,
            uplink,
            control_transmission: out_rate.transmission_time(u64::from(CONTROL_FRAME_BYTES)),
            free_at: Time::ZERO,
            sending: None,
            due: Time::NEVER,
            upkeep_at: Time::NEVER,
            rows,
            numbers,
            checkpoints,
            port: PortReport::new(spec.name),
            lost: LossBook::default(),
            control: ControlCount::default(),
            stopped_before: Span::ZERO,
        };
        adapter.plan(Time::ZERO);
        adapter
    }

    /// Tells the reaction point of the data frame that has been sent, if it has to hear of that on time.
    #[inline(always)]
    fn end_transmission(&mut self, now: Time, lanes: &mut Lanes) {
        if self.free_at <= now
            && let Some(number) = self.sending.take()
        {
            self.tell_sent(number, now, lanes);
        }
    }

    #[cold]
    fn tell_sent(&mut self, number: usize, now: Time, lanes: &mut Lanes) {
        if let Some(probe) = self.ingress.sent(number, self.free_at) {
            self.send_probe(number, probe, now, lanes);
        }
        self.plan_upkeep();
    }

    /// The node takes what it has the time to take by `now`.
    #[inline(always)]
    fn empty_until(&mut self, now: Time, lanes: &mut Lanes) {
        while self.egress.leaves_at() <= now {
            let frame = self.egress.leave();
            if self.rows.is_control(frame.flow_id()) || self.egress.answers_data() {
                self.answer(&frame, lanes);
            } else {
                self.egress.deliver(self.numbers[frame.flow_id() as usize] as usize, &frame);
            }
            self.watch_buffer(usize::from(frame.class() & 7), frame.time);
        }
    }

    /// The node has taken a frame that may have an answer: that is told to the source.
    #[inline(never)]
    fn answer(&mut self, frame: &Packet, lanes: &mut Lanes) {
        let number = self.number(frame.flow_id());
        let answer = if self.rows.is_control(frame.flow_id()) {
            let probe = lanes.messages.take(frame.number());
            self.control.consumed += 1;
            self.egress.reflect(number, &probe, frame.time)
        } else {
            self.egress.deliver(number, frame);
            self.egress.tell_delivered(number, frame.time)
        };
        if let Some(answer) = answer {
            self.tell_source(number, answer, frame.time, lanes);
        }
    }

    /// The number here of the flow that a packet belongs to, or is about.
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
    fn poll_reflectors(&mut self, now: Time, lanes: &mut Lanes) {
        while let Some((number, message)) = self.egress.poll(now) {
            if let Some(message) = message {
                self.tell_source(number, message, now, lanes);
            }
        }
    }

    #[cold]
    fn poll_reactions(&mut self, now: Time, lanes: &mut Lanes) {
        while let Some((number, message)) = self.ingress.poll(now) {
            if let Some(message) = message {
                self.send_probe(number, message, now, lanes);
            }
        }
        self.sending = self.ingress.to_be_heard(now);
    }

    /// A message goes to the source of the flow that ends at `number`.
    #[cold]
    fn tell_source(&mut self, number: usize, message: Message, now: Time, lanes: &mut Lanes) {
        let identity = self.egress.identity(number);
        self.messages.push(self.control_frame(identity, flags::ACK, message, now, lanes));
    }

    /// A message goes to the destination of the flow that begins at `number`.
    #[cold]
    fn send_probe(&mut self, number: usize, message: Message, now: Time, lanes: &mut Lanes) {
        let identity = self.ingress.identity(number);
        self.probes[usize::from(identity.1)].push(self.control_frame(identity, 0, message, now, lanes));
        self.probing |= 1 << identity.1;
    }

    fn control_frame(
        &self,
        (flow, class): (FlowId, u8),
        flags: u8,
        message: Message,
        now: Time,
        lanes: &mut Lanes,
    ) -> Packet {
        control_frame(self.rows.of_flow(flow), class, flags, lanes.messages.put(message), now)
    }

    /// Begins to send what comes next, if the port is free.
    #[inline(always)]
    fn transmit(&mut self, now: Time, lanes: &mut Lanes) {
        if self.free_at > now {
            return;
        }
        self.end_transmission(now, lanes);
        let control_waits = self.orders.is_pending() || self.probing != 0 || self.messages.len() > 0;
        if control_waits && let Some(frame) = self.next_control(now) {
            self.free_at = now + self.control_transmission;
            return self.send(frame, lanes);
        }
        self.ingress.generate(now);
        if let Some(number) = self.ingress.next_queue(self.obeyed.free_classes(now), now) {
            let (frame, sent_at) = self.ingress.take(number, now);
            self.sending = self.ingress.to_be_heard(now);
            self.free_at = sent_at;
            self.send(frame, lanes);
        }
    }

    /// Hands a frame to the link that begins at `frame.time`.
    #[inline(always)]
    fn send(&mut self, frame: Packet, lanes: &mut Lanes) {
        if let Some(sent) = self.uplink.pass(frame, &lanes.measured, &lanes.sacks) {
            lanes.send_over(self.out_link, sent);
        }
    }

    /// The control frame that is to be sent next.
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

    /// A frame for this node has come, to be taken in its turn.
    #[inline(always)]
    fn buffer(&mut self, frame: &Packet, is_probe: bool, lanes: &mut Lanes) {
        if !self.egress.arrive(frame, is_probe) {
            return self.lose(frame, lanes);
        }
        self.port.memory(self.egress.used_bytes());
        self.watch_buffer(usize::from(frame.class() & 7), frame.time);
    }

    /// A frame that finds no room is lost.
    #[cold]
    #[inline(never)]
    fn lose(&mut self, frame: &Packet, lanes: &mut Lanes) {
        self.port.frames_lost += 1;
        if self.rows.is_control(frame.flow_id()) {
            lanes.messages.take(frame.number());
            self.control.lost += 1;
        } else {
            self.lost.lost(frame, &lanes.measured);
        }
    }

    /// Does at once what follows from what has come.
    #[cold]
    #[inline(never)]
    fn react(&mut self, now: Time, lanes: &mut Lanes) {
        self.transmit(now, lanes);
        self.plan(now);
    }

    #[cold]
    #[inline(never)]
    fn receive_control(&mut self, frame: &Packet, lanes: &mut Lanes) {
        if self.rows.is_pause(frame.flow_id()) {
            self.control.consumed += 1;
            self.obeyed.receive(PauseFrame::from_number(frame.number()), frame.time);
        } else if frame.is_ack() {
            self.control.consumed += 1;
            let message = lanes.messages.take(frame.number());
            self.end_transmission(frame.time, lanes);
            self.ingress.receive(self.number(frame.flow_id()), &message, frame.time);
            self.sending = self.ingress.to_be_heard(frame.time);
        } else {
            self.buffer(frame, true, lanes);
        }
    }
}

impl Adapter {
    #[inline]
    fn receive(&mut self, packet: &Packet, lanes: &mut Lanes) {
        let now = packet.time;
        if self.due <= now {
            self.catch_up(now, lanes);
        }
        self.empty_until(now, lanes);
        let is_control = self.rows.is_control(packet.flow_id());
        if is_control {
            self.receive_control(packet, lanes);
        } else {
            self.buffer(packet, false, lanes);
        }
        if is_control || self.orders.is_pending() {
            self.react(now, lanes);
        } else if self.is_emptied_on_time() {
            // A frame more in the buffer changes nothing but when the first one leaves.
            self.due = self.due.min(self.egress.leaves_at());
            self.upkeep_at = self.upkeep_at.min(self.egress.leaves_at());
        }
    }
}

#[cfg(test)]
mod tests;
