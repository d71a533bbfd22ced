//! An Ethernet switch. A buffer policy divides its memory.
//!
//! A completely arrived frame takes memory, or is lost. It joins the queue of its output and
//! is shown to the congestion point. Its memory is free when its transmission ends. An input that holds too
//! much stops its feeder by PAUSE. A paused output finishes the current frame and begins no other of the paused classes. Messages to sources
//! go ahead of data, ignore PAUSE and take no memory. Probes to destinations queue with the data.
//!
//! A departure is committed as early as possible, mostly on arrival, so that most frames need no further event. An idle
//! port that chooses among its frames waits for the last arrival of the instant: no frame of a high class waits for one
//! of a low class that arrived with it. Committed frames that have not begun are revoked before a control frame and at
//! a PAUSE. Memory is released at once while a feeder waits for it, otherwise before it is read.

use forebay_qdisc::{Ecn, Span, Time};
use forebay_switching::congestion::{Arrival, CongestionPointId, Message, Verdict};
use forebay_switching::{Frame, SharedMemory};

use crate::driver::node::Channels;
use crate::driver::ring::Ring;
use crate::driver::tournament::Tournament;
use crate::ethernet::control::{ControlRows, PauseFrame, control_frame};
use crate::ethernet::departures::Departure;
use crate::ethernet::forwarding::ForwardingEntry;
use crate::ethernet::port::SwitchPort;
use crate::observe::interval::Checkpoints;
use crate::observe::reported::ControlCount;
use crate::packet::{Packet, flags};

mod arrivals;
mod end;
mod managed;
mod turns;

pub(crate) struct EthernetSwitchParts {
    pub ports: Vec<SwitchPort>,
    pub memory: SharedMemory,
    /// Whether each class has a queue of its own.
    pub by_class: bool,
    /// Indexed as in [`Packet::direction_index`]. Includes the rows of control frames.
    pub forwarding: Vec<ForwardingEntry>,
    pub rows: ControlRows,
    pub forwarding_delay: Span,
    /// At this use of an input's memory its feeder may continue. 0: no flow control.
    pub low_watermark: u64,
    pub checkpoints: Checkpoints,
}

/// The switch at work. Hot fields first.
#[repr(C, align(64))]
pub(crate) struct EthernetSwitch {
    ports: Vec<SwitchPort>,
    forwarding: Vec<ForwardingEntry>,
    /// The next upkeep: PAUSE to repeat or to obey, a poll of a congestion point, a delayed frame.
    upkeep_due: Time,
    rows: ControlRows,
    /// 0 if all classes share a queue.
    class_mask: u8,
    /// Whether any feeder is stopped and waits for memory.
    has_stopped: bool,
    /// Whether queues are time series.
    sampled: bool,
    memory: SharedMemory,
    deadlines: Tournament,
    checkpoints: Checkpoints,
    forwarding_delay: Span,
    /// Ports with committed frames that are not on the link yet. None of these begins before `next_begin`.
    holding: Vec<u8>,
    next_begin: Time,
    /// Ports that choose a frame after the last arrival at `choosing_at`.
    choosing: Vec<u8>,
    /// [`Time::NEVER`] without such ports.
    choosing_at: Time,
    /// Frames in the forwarding delay.
    delayed: Ring<Packet>,
    control: ControlCount,
    low_watermark: u64,
}

impl EthernetSwitch {
    pub fn new(parts: EthernetSwitchParts) -> Self {
        let ports = parts.ports;
        let mut switch = Self {
            deadlines: Tournament::new(ports.len()),
            has_stopped: false,
            sampled: ports.iter().any(|port| port.record.series.is_some()),
            ports,
            memory: parts.memory,
            class_mask: if parts.by_class { SharedMemory::CLASSES as u8 - 1 } else { 0 },
            forwarding: parts.forwarding,
            rows: parts.rows,
            forwarding_delay: parts.forwarding_delay,
            delayed: Ring::default(),
            holding: Vec::new(),
            next_begin: Time::NEVER,
            choosing: Vec::new(),
            choosing_at: Time::NEVER,
            upkeep_due: Time::NEVER,
            checkpoints: parts.checkpoints,
            control: ControlCount::default(),
            low_watermark: parts.low_watermark,
        };
        for (input, port) in switch.ports.iter().enumerate() {
            switch.memory.watch(input, port.orders.watches_from());
        }
        switch.plan_upkeep();
        switch
    }

    #[inline]
    fn class(&self, packet: &Packet) -> usize {
        usize::from(packet.class() & self.class_mask)
    }

    #[inline]
    fn entry(&self, packet: &Packet) -> ForwardingEntry {
        self.forwarding[packet.direction_index()]
    }

    /// PAUSE, or a message to a source, has arrived.
    #[cold]
    fn arrive_control(&mut self, packet: Packet, channels: &mut Channels) {
        self.release_all(packet.time);
        let (now, number) = (packet.time, SwitchPort::input_of(&packet));
        let port = &mut self.ports[number];
        if self.rows.is_pause(packet.flow_id()) {
            self.control.consumed += 1;
            port.obeyed.receive(PauseFrame::from_number(packet.number()), now);
            self.upkeep_due = self.upkeep_due.min(port.obeyed.next_order());
            return self.obey(number, now, channels);
        }
        let (message, queue_bytes) = (channels.tables.messages.get_mut(packet.number()), self.memory.of_output(number));
        port.ask_point(now, |point, context| point.backward(message, queue_bytes, context));
        let output = self.entry(&packet).output();
        self.ports[output].messages.push(packet);
        self.look_at(output, now, channels);
    }

    /// A change of the pause state takes effect.
    fn obey(&mut self, number: usize, now: Time, channels: &mut Channels) {
        let port = &mut self.ports[number];
        if !port.obeyed.is_free(now) {
            port.revoke(now);
        }
        self.look_at(number, now, channels);
    }

    /// Shows a data frame that has joined the queue to the congestion point. Returns it, perhaps marked.
    #[inline(never)]
    fn consult(&mut self, packet: Packet, output: usize, now: Time, channels: &mut Channels) -> Packet {
        self.release(output, now);
        let limited_by = self.tag(&packet).checked_sub(1).map(CongestionPointId);
        let port = &mut self.ports[output];
        let arrival = Arrival { len_bytes: packet.len_bytes(), queue_bytes: self.memory.of_output(output), limited_by };
        let verdict = port.ask_point(now, |point, context| point.arrived(arrival, context));
        match verdict.unwrap_or(Verdict::Pass) {
            Verdict::Pass => packet,
            Verdict::Tell(message) => {
                self.tell(message, &packet, now, channels);
                packet
            }
            Verdict::Mark if packet.ecn() == Ecn::NotCapable => packet,
            Verdict::Mark => {
                let row = self.entry(&packet).row();
                self.ports[output].record.counters.mark_at(row as usize, now);
                packet.marked()
            }
        }
    }

    /// The congestion point that limits the flow, counted from 1. 0: none.
    fn tag(&self, packet: &Packet) -> u32 {
        // Packets of endpoints need their number for themselves.
        if self.entry(packet).is_generated() { packet.number() } else { packet.limiter_tag() }
    }

    /// Sends a message to the source of `about`.
    #[cold]
    fn tell(&mut self, message: Message, about: &Packet, now: Time, channels: &mut Channels) {
        let flow = about.flow_id();
        let slot = channels.tables.messages.put(message);
        let frame = control_frame(self.rows.of_flow(flow), about.class(), flags::ACK, slot, now);
        self.control.created += 1;
        let number = SwitchPort::input_of(about);
        let port = &mut self.ports[number];
        port.report.control_frames_sent += 1;
        port.messages.push(frame);
        self.look_at(number, now, channels);
    }

    /// Sends PAUSE to the feeder of `input` if required. May revoke committed frames of that port that begin after
    /// `begun`.
    #[inline]
    fn watch_memory(&mut self, input: usize, class: usize, now: Time, begun: Time, channels: &mut Channels) {
        if self.memory.is_watched(input) {
            self.order(input, class, now, begun, channels);
        }
    }

    #[cold]
    fn order(&mut self, input: usize, class: usize, now: Time, begun: Time, channels: &mut Channels) {
        let (used, of_class) = (self.memory.of_input(input), self.memory.of_input_class(input, class));
        let orders = &mut self.ports[input].orders;
        orders.watch(class, used, of_class, now);
        self.memory.watch(input, orders.watches_from());
        if !orders.is_pending() {
            return;
        }
        self.upkeep_due = self.upkeep_due.min(self.ports[input].orders.poll_at());
        self.ports[input].revoke(begun);
        self.look_at(input, now, channels);
        // While a feeder is stopped, the end of every transmission is an event.
        self.has_stopped = self.ports.iter().any(|port| port.orders.has_stopped());
        for (number, port) in self.ports.iter().enumerate().filter(|_| self.has_stopped) {
            self.deadlines.set(number, port.first_end().min(self.deadlines.of(number)));
        }
    }

    /// Sends what the port may send: PAUSE, then messages, then data.
    #[inline]
    fn look_at(&mut self, number: usize, now: Time, channels: &mut Channels) {
        if !self.has_stopped {
            self.release(number, now);
        }
        let port = &mut self.ports[number];
        if port.control_waits() {
            port.revoke(now);
            if port.is_link_free(now) {
                self.send_control(number, now, channels);
            }
        }
        let rows = self.rows;
        loop {
            let Self { ports, forwarding, .. } = self;
            let next = ports[number].next_departure(now, forwarding, |packet| rows.is_control(packet.flow_id()));
            self.drop_managed(number, now, channels);
            let Some((packet, start)) = next else { break };
            let is_probe = self.rows.is_control(packet.flow_id());
            if is_probe {
                begin_probe(&packet, &mut self.ports[number], self.memory.of_output(number), now, channels);
            }
            let class = self.class(&packet);
            let row = if self.ports[number].managed.is_some() {
                Departure::COUNTED
            } else if is_probe {
                Departure::NOT_COUNTED
            } else {
                self.entry(&packet).row()
            };
            if !self.ports[number].commit(&packet, start, class, row, now, channels) {
                self.keep(number);
            }
        }
        self.plan(number, now);
    }

    /// Sets the deadline of a port. Everything due at `now` must be done.
    #[inline(never)]
    fn plan(&mut self, number: usize, now: Time) {
        let port = &mut self.ports[number];
        let mut next = port.next_turn(now);
        if self.has_stopped {
            next = next.min(port.first_end());
        }
        self.deadlines.set(number, next);
    }

    #[cold]
    fn send_control(&mut self, number: usize, now: Time, channels: &mut Channels) {
        let port = &mut self.ports[number];
        let frame = if let Some(order) = port.orders.take() {
            port.report.pause_frames_sent += 1;
            self.control.created += 1;
            let (flow, backward) = self.rows.of_link(port.out);
            Some(control_frame(flow, 0, if backward { flags::ACK } else { 0 }, order.number(), now))
        } else {
            port.messages.pop()
        };
        if let Some(frame) = frame {
            port.send_control(frame, now, channels);
        }
    }

    #[inline(always)]
    fn release_one(&mut self, number: usize, now: Time) -> Option<Departure> {
        release_one(&mut self.ports[number], &mut self.memory, number, self.sampled, now)
    }

    #[inline(always)]
    fn release(&mut self, number: usize, now: Time) {
        release(&mut self.ports[number], &mut self.memory, number, self.sampled, now);
    }

    #[cold]
    fn release_all(&mut self, now: Time) {
        for number in 0..self.ports.len() {
            self.release(number, now);
        }
    }
}

/// Releases the memory of the first departure of port `number`, if it has ended by `now`.
#[inline(always)]
fn release_one(
    port: &mut SwitchPort,
    memory: &mut SharedMemory,
    number: usize,
    sampled: bool,
    now: Time,
) -> Option<Departure> {
    if port.first_end() > now {
        return None;
    }
    let ended = port.release()?;
    if sampled {
        port.integrate_length(memory.of_output(number), ended.end);
    }
    let Departure { input, class, len_bytes, .. } = ended;
    let (input, class, len_bytes) = (usize::from(input), usize::from(class), u32::from(len_bytes));
    memory.release(Frame { input, class, output: number, len_bytes });
    Some(ended)
}

/// Releases all ended departures of port `number`. While a feeder waits, they have been released on time.
#[inline(always)]
fn release(port: &mut SwitchPort, memory: &mut SharedMemory, number: usize, sampled: bool, now: Time) {
    while release_one(port, memory, number, sampled, now).is_some() {}
}

/// A probe begins at a port whose queue holds `queue_bytes`.
#[cold]
fn begin_probe(packet: &Packet, port: &mut SwitchPort, queue_bytes: u64, now: Time, channels: &mut Channels) {
    let message = channels.tables.messages.get_mut(packet.number());
    port.ask_point(now, |point, context| point.forward(message, queue_bytes, context));
}
