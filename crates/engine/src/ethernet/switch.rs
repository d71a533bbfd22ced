//! An Ethernet switch whose memory is divided among its inputs and shared by its outputs.
//!
//! A frame that has come to its last bit is charged to the partition of its input, or lost if that has no room, and
//! joins the queue of its output, whose congestion point sees it. Its memory is free again when its transmission has
//! ended. An input whose partition fills stops its feeder by PAUSE; an output that has been stopped ends the frame that
//! it sends and begins no other. Control frames of congestion management on their way to a source go ahead of all data,
//! heed no PAUSE and take no memory; probes on their way to a destination queue with the data.
//!
//! When a frame leaves is settled as soon as it is known, mostly when the frame comes, so that most frames cost no
//! event of their own; what has not begun is taken back when a control frame goes first or the port is stopped. Memory
//! is released when it has to be known: at once while a feeder waits for it, otherwise when it is examined.

use forebay_qdisc::{DropReason, Ecn, Span, Time};
use forebay_switching::congestion::{Arrival, CongestionPointId, Message, Verdict};
use forebay_switching::{MemoryFull, SharedMemory};

use crate::driver::deadlines::Deadlines;
use crate::driver::node::Lanes;
use crate::driver::ring::Ring;
use crate::ethernet::control::{ControlRows, PauseFrame, control_frame};
use crate::ethernet::port::{Departure, SwitchPort};
use crate::observe::handed_in::ControlCount;
use crate::observe::interval::Checkpoints;
use crate::packet::{Packet, flags};

mod end;
mod turns;

/// Where packets of a (flow, direction) go, in 32 bits: the output, and above that their row in its books.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way(u32);

impl Way {
    /// Rows are fewer than that.
    pub const ROWS: u32 = 1 << 24;

    pub fn new(output: u8, row: u32) -> Self {
        Self(u32::from(output) | row << 8)
    }

    fn output(self) -> usize {
        self.0 as usize & 0xff
    }

    fn row(self) -> u32 {
        self.0 >> 8
    }
}

/// What a switch is made of.
pub(crate) struct EthernetSwitchParts {
    pub ports: Vec<SwitchPort>,
    pub memory: SharedMemory,
    /// Whether classes have queues of their own.
    pub by_class: bool,
    /// The way of each (flow, direction), as in [`Packet::direction_index`], control frames' rows among them.
    pub ways: Vec<Way>,
    pub rows: ControlRows,
    pub forwarding_delay: Span,
    /// With as little of a partition used, its feeder may continue; 0 without flow control.
    pub low_watermark: u64,
    pub checkpoints: Checkpoints,
}

/// The switch at work. What comes first, every frame touches.
#[repr(C, align(64))]
pub(crate) struct EthernetSwitch {
    ports: Vec<SwitchPort>,
    ways: Vec<Way>,
    /// When a PAUSE has to be said again or begins to hold, a congestion point wants to be called, or a frame has been
    /// delayed long enough.
    upkeep_due: Time,
    rows: ControlRows,
    /// The bits of a frame's class that count here: all are one class unless they have queues of their own.
    class_mask: u8,
    /// Whether the feeder of any input has been stopped, and so waits for memory to be released.
    has_stopped: bool,
    /// Whether queues are time series.
    sampled: bool,
    memory: SharedMemory,
    /// When each port has something to do.
    deadlines: Deadlines,
    checkpoints: Checkpoints,
    forwarding_delay: Span,
    /// The ports that have settled departures of frames that their links do not have yet, and when the first of these
    /// begins.
    holding: Vec<u8>,
    next_begin: Time,
    /// Frames that have come and are not in their queues yet.
    delayed: Ring<Packet>,
    control: ControlCount,
    low_watermark: u64,
}

impl EthernetSwitch {
    pub fn new(parts: EthernetSwitchParts) -> Self {
        let ports = parts.ports;
        let mut switch = Self {
            deadlines: Deadlines::new(ports.len()),
            has_stopped: false,
            sampled: ports.iter().any(|port| port.books.series.is_some()),
            ports,
            memory: parts.memory,
            class_mask: if parts.by_class { SharedMemory::CLASSES as u8 - 1 } else { 0 },
            ways: parts.ways,
            rows: parts.rows,
            forwarding_delay: parts.forwarding_delay,
            delayed: Ring::default(),
            holding: Vec::new(),
            next_begin: Time::NEVER,
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

    /// The class of a frame here.
    #[inline]
    fn class(&self, packet: &Packet) -> usize {
        usize::from(packet.class() & self.class_mask)
    }

    #[inline]
    fn way(&self, packet: &Packet) -> Way {
        self.ways[packet.direction_index()]
    }

    /// A frame has come to its last bit.
    #[inline]
    fn arrive(&mut self, mut packet: Packet, lanes: &mut Lanes) {
        if self.rows.is_control(packet.flow_id()) && (packet.is_ack() || self.rows.is_pause(packet.flow_id())) {
            return self.arrive_control(packet, lanes);
        }
        if self.forwarding_delay == Span::ZERO {
            return self.admit(packet, packet.time, lanes);
        }
        packet.time += self.forwarding_delay;
        self.upkeep_due = self.upkeep_due.min(packet.time);
        self.delayed.push(packet);
    }

    /// An order to stop or to continue, or a message on its way to a source, has come.
    #[cold]
    fn arrive_control(&mut self, packet: Packet, lanes: &mut Lanes) {
        self.release_all(packet.time);
        let (now, number) = (packet.time, SwitchPort::input_of(&packet));
        let port = &mut self.ports[number];
        if self.rows.is_pause(packet.flow_id()) {
            self.control.consumed += 1;
            port.obeyed.receive(PauseFrame::from_number(packet.number()), now);
            self.upkeep_due = self.upkeep_due.min(port.obeyed.next_order());
            return self.obey(number, now, lanes);
        }
        let (message, queue_bytes) = (lanes.messages.get_mut(packet.number()), self.memory.of_output(number));
        port.ask_point(now, |point, context| point.backward(message, queue_bytes, context));
        let output = self.way(&packet).output();
        self.ports[output].messages.push(packet);
        self.look_at(output, now, lanes);
    }

    /// An order to stop or to continue takes effect from now on.
    fn obey(&mut self, number: usize, now: Time, lanes: &mut Lanes) {
        let port = &mut self.ports[number];
        if !port.obeyed.is_free(now) {
            port.take_back(now);
        }
        self.look_at(number, now, lanes);
    }

    /// A frame joins the queue of its output, if there is room for it. Inlined, so that the frame stays in registers:
    /// to be passed it would be stored word by word and loaded as a whole at once, which a processor has to wait for.
    #[inline(always)]
    fn admit(&mut self, mut packet: Packet, now: Time, lanes: &mut Lanes) {
        let (way, input, class) = (self.way(&packet), SwitchPort::input_of(&packet), self.class(&packet));
        let (output, len_bytes) = (way.output(), packet.len_bytes());
        let is_probe = self.rows.is_control(packet.flow_id());
        let is_close = self.sampled || self.memory.is_close(input, len_bytes);
        if !is_close {
            self.memory.take(input, class, output, len_bytes);
        } else if !self.take_closely(&packet, output, now, lanes) {
            return;
        }
        if !is_probe {
            let port = &mut self.ports[output];
            if port.unseen > 0 {
                port.unseen -= 1;
            } else {
                packet = self.consult(packet, output, now, lanes);
            }
        }
        if is_close {
            self.watch_memory(input, class, now, now, lanes);
        }
        packet.time = now;
        let port = &mut self.ports[output];
        let start = if port.is_open_and_free(now) {
            port.note_alone(now);
            now
        } else {
            self.release(output, now);
            let port = &mut self.ports[output];
            let Some(start) = port.start_on_arrival(now, is_probe) else {
                return self.wait(packet, output, now, lanes);
            };
            port.note_length(1, now);
            start
        };
        self.ports[output].let_through(class, input);
        if is_probe {
            self.begin_probe(&packet, output, now, lanes);
        }
        let port = &mut self.ports[output];
        if !port.settle(&packet, start, class, (!is_probe).then_some(way.row()), now, lanes) {
            self.keep(output);
        }
        if self.has_stopped {
            self.plan(output, now);
        }
    }

    /// A frame has to wait in its queue until it is settled when it leaves.
    #[inline(never)]
    fn wait(&mut self, packet: Packet, output: usize, now: Time, lanes: &mut Lanes) {
        let (input, class) = (SwitchPort::input_of(&packet), self.class(&packet));
        let port = &mut self.ports[output];
        port.queues.push(class, input, packet);
        port.note_length(0, now);
        if port.queues.len() == 1 || port.is_idle() {
            self.look_at(output, now, lanes);
        }
    }

    /// A probe begins: its congestion point may tell it something.
    #[cold]
    fn begin_probe(&mut self, packet: &Packet, output: usize, now: Time, lanes: &mut Lanes) {
        let (message, queue_bytes) = (lanes.messages.get_mut(packet.number()), self.memory.of_output(output));
        self.ports[output].ask_point(now, |point, context| point.forward(message, queue_bytes, context));
    }

    #[inline(never)]
    fn admit_delayed(&mut self, packet: Packet, now: Time, lanes: &mut Lanes) {
        self.admit(packet, now, lanes);
    }

    /// Takes memory for a frame where it matters how much is held; returns whether there was room for it.
    #[inline(never)]
    fn take_closely(&mut self, packet: &Packet, output: usize, now: Time, lanes: &mut Lanes) -> bool {
        self.release_all(now);
        if self.sampled {
            self.ports[output].integrate_length(self.memory.of_output(output), now);
        }
        let (input, class) = (SwitchPort::input_of(packet), self.class(packet));
        let taken = self.memory.admit(input, class, output, packet.len_bytes());
        if let Err(full) = taken {
            self.lose(*packet, output, full, now, lanes);
        }
        taken.is_ok()
    }

    /// A frame that finds no room is lost.
    #[cold]
    fn lose(&mut self, packet: Packet, output: usize, full: MemoryFull, now: Time, lanes: &mut Lanes) {
        let reason = match full {
            MemoryFull::Partition => DropReason::InputPort,
            MemoryFull::Output => DropReason::Overflow,
        };
        self.ports[SwitchPort::input_of(&packet)].report.frames_lost += 1;
        if self.rows.is_control(packet.flow_id()) {
            lanes.messages.take(packet.number());
            self.control.lost += 1;
            return;
        }
        let row = self.way(&packet).row() as usize;
        let book = &mut self.ports[output].books.book;
        book.arrival_at(row, now);
        book.drop_at(row, packet.len_bytes(), reason, now);
    }

    /// Shows a data frame that has joined the queue of `output` to its congestion point; returns it, perhaps marked.
    #[inline(never)]
    fn consult(&mut self, packet: Packet, output: usize, now: Time, lanes: &mut Lanes) -> Packet {
        self.release(output, now);
        let port = &mut self.ports[output];
        let arrival = Arrival {
            len_bytes: packet.len_bytes(),
            queue_bytes: self.memory.of_output(output),
            limited_by: packet.number().checked_sub(1).map(CongestionPointId),
        };
        let (verdict, unseen) = port
            .ask_point(now, |point, context| (point.arrived(arrival, context), point.take_unseen()))
            .unwrap_or((Verdict::Pass, u64::MAX));
        port.unseen = unseen;
        match verdict {
            Verdict::Pass => packet,
            Verdict::Tell(message) => {
                self.tell(message, &packet, now, lanes);
                packet
            }
            Verdict::Mark if packet.ecn() == Ecn::NotCapable => packet,
            Verdict::Mark => {
                let row = self.way(&packet).row();
                self.ports[output].books.book.mark_at(row as usize, now);
                packet.marked()
            }
        }
    }

    /// Sends a message to the source of `about`, back where that came from.
    #[cold]
    fn tell(&mut self, message: Message, about: &Packet, now: Time, lanes: &mut Lanes) {
        let flow = about.flow_id();
        let slot = lanes.messages.put(message);
        let frame = control_frame(self.rows.of_flow(flow), about.class(), flags::ACK, slot, now);
        self.control.created += 1;
        let number = SwitchPort::input_of(about);
        let port = &mut self.ports[number];
        port.report.control_frames_sent += 1;
        port.messages.push(frame);
        self.look_at(number, now, lanes);
    }

    /// Orders the feeder of `input` to stop or to continue, if it is time for that. What was to begin by `begun` has
    /// begun at that port.
    #[inline]
    fn watch_memory(&mut self, input: usize, class: usize, now: Time, begun: Time, lanes: &mut Lanes) {
        if self.memory.is_watched(input) {
            self.order(input, class, now, begun, lanes);
        }
    }

    /// The feeder of `input` is to stop, or has stopped and may have to continue.
    #[cold]
    fn order(&mut self, input: usize, class: usize, now: Time, begun: Time, lanes: &mut Lanes) {
        let (used, of_class) = (self.memory.of_input(input), self.memory.of_input_class(input, class));
        let orders = &mut self.ports[input].orders;
        orders.watch(class, used, of_class, now);
        self.memory.watch(input, orders.watches_from());
        if !orders.is_pending() {
            return;
        }
        self.upkeep_due = self.upkeep_due.min(self.ports[input].orders.poll_at());
        self.ports[input].take_back(begun);
        self.look_at(input, now, lanes);
        // The end of every transmission may be what a neighbour waits for now.
        self.has_stopped = self.ports.iter().any(|port| port.orders.has_stopped());
        for (number, port) in self.ports.iter().enumerate().filter(|_| self.has_stopped) {
            self.deadlines.set(number, port.first_end().min(self.deadlines.of(number)));
        }
    }

    /// Lets a port send what it may: an order to stop or to continue before a message, a message before data.
    #[inline]
    fn look_at(&mut self, number: usize, now: Time, lanes: &mut Lanes) {
        if !self.has_stopped {
            self.release(number, now);
        }
        let port = &mut self.ports[number];
        if port.control_waits() {
            port.take_back(now);
            if port.is_link_free(now) {
                self.send_control(number, now, lanes);
            }
        }
        let rows = self.rows;
        while let Some((packet, start)) =
            self.ports[number].next_departure(now, |packet| rows.is_control(packet.flow_id()))
        {
            let is_probe = self.rows.is_control(packet.flow_id());
            if is_probe {
                self.begin_probe(&packet, number, now, lanes);
            }
            let (class, row) = (self.class(&packet), self.way(&packet).row());
            if !self.ports[number].settle(&packet, start, class, (!is_probe).then_some(row), now, lanes) {
                self.keep(number);
            }
        }
        self.plan(number, now);
    }

    /// Settles when the port has something to do next, having done at `now` what there was.
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
    fn send_control(&mut self, number: usize, now: Time, lanes: &mut Lanes) {
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
            port.send_control(frame, now, lanes);
        }
    }

    /// Releases the memory of the frame that ended first at a port, if one has by `now`.
    #[inline(always)]
    fn release_one(&mut self, number: usize, now: Time) -> Option<Departure> {
        let port = &mut self.ports[number];
        if port.first_end() > now {
            return None;
        }
        let ended = port.release()?;
        if self.sampled {
            port.integrate_length(self.memory.of_output(number), ended.end);
        }
        let Departure { input, class, len_bytes, .. } = ended;
        self.memory.release(usize::from(input), usize::from(class), number, u32::from(len_bytes));
        Some(ended)
    }

    /// The same of all that have ended. Nobody waits for that: else it has been done on time.
    #[inline(always)]
    fn release(&mut self, number: usize, now: Time) {
        while self.release_one(number, now).is_some() {}
    }

    /// The same at all ports.
    #[cold]
    fn release_all(&mut self, now: Time) {
        for number in 0..self.ports.len() {
            self.release(number, now);
        }
    }
}

/// The last instant before `time`, which is not the first.
fn just_before(time: Time) -> Time {
    time - Span::from_picoseconds(1)
}
