//! An Ethernet switch whose memory is divided among its inputs and shared by its outputs.
//!
//! A frame that has come to its last bit is charged to the partition of its input, or lost if that has no room, and
//! joins the queue of its output, whose congestion point sees it. Its memory is free again when its transmission has
//! ended. An input whose partition fills stops its feeder by PAUSE; an output that has been stopped ends the frame that
//! it sends and begins no other. Control frames of congestion management on their way to a source go ahead of all data,
//! heed no PAUSE and take no memory; probes on their way to a destination queue with the data.
//!
//! Frames are taken early, while their feeders send them. A switch that is woken runs ahead of the clock as far as the
//! driver knows that nothing else comes. So most frames cost no event of their own.

use forebay_qdisc::{Backlog, DropReason, Ecn, Span, Time};
use forebay_switching::congestion::{Arrival, CongestionPointId, Message, Verdict};
use forebay_switching::{MemoryFull, SharedMemory};

use crate::arrivals::{Arrivals, IncomingLink};
use crate::deadlines::Deadlines;
use crate::deadlock::BufferWait;
use crate::ethernet::{ControlRows, PauseFrame, control_frame};
use crate::packet::{Packet, flags};
use crate::pause_port::EVERY_CLASS;
use crate::process::{LazyTimer, Outbox, Process};
use crate::report::{ControlCount, QueueReport, Report};
use crate::ring::Ring;
use crate::switch_port::{Sending, SwitchPort};
use crate::window::{Checkpoint, Checkpoints};

/// What a switch is made of.
pub(crate) struct EthernetSwitchParts {
    pub ports: Vec<SwitchPort>,
    /// The link by which each port receives.
    pub incoming: Vec<IncomingLink>,
    pub memory: SharedMemory,
    /// Whether classes have queues of their own.
    pub by_class: bool,
    /// The output for each (flow, direction), as in [`Packet::direction_index`], control frames' rows among them.
    pub outputs: Vec<u8>,
    /// For each flow, where a message that begins here stands on the way from the flow's destination to its source: how
    /// many processes of that way lie before the next one.
    pub backward_hops: Vec<u8>,
    pub rows: ControlRows,
    pub forwarding_delay: Span,
    /// With as little of a partition used, its feeder may go on; 0 without flow control.
    pub low_watermark: u64,
    pub checkpoints: Checkpoints,
}

/// The switch at work.
pub(crate) struct EthernetSwitch {
    ports: Vec<SwitchPort>,
    /// What has been sent here and has not been looked at.
    arrivals: Arrivals,
    /// When each port has something to do.
    deadlines: Deadlines,
    /// Of the first 64 ports those, one bit each, that end a transmission at a time that nobody waits for: nothing is
    /// to be sent then, and no neighbour is stopped. Their memory is freed when somebody has to know.
    unwatched: u64,
    memory: SharedMemory,
    /// Whether classes have queues of their own.
    by_class: bool,
    outputs: Vec<u8>,
    backward_hops: Vec<u8>,
    rows: ControlRows,
    forwarding_delay: Span,
    /// Frames that have come and are not in their queues yet.
    delayed: Ring<Packet>,
    /// When a PAUSE has to be said again or begins to hold, a congestion point wants to be called, or a frame has been
    /// delayed long enough.
    upkeep_due: Time,
    timer: LazyTimer,
    sampled: bool,
    checkpoints: Checkpoints,
    control: ControlCount,
    low_watermark: u64,
    /// From how many bytes on in the partition of each input its feeder may have to be told something.
    watched_from: Vec<u64>,
}

impl EthernetSwitch {
    pub fn new(parts: EthernetSwitchParts) -> Self {
        let ports = parts.ports;
        let mut switch = Self {
            arrivals: Arrivals::new(&parts.incoming),
            deadlines: Deadlines::new(ports.len()),
            unwatched: 0,
            watched_from: ports.iter().map(|port| port.orders.watches_from()).collect(),
            sampled: ports.iter().any(|port| port.books.series.is_some()),
            ports,
            memory: parts.memory,
            by_class: parts.by_class,
            outputs: parts.outputs,
            backward_hops: parts.backward_hops,
            rows: parts.rows,
            forwarding_delay: parts.forwarding_delay,
            delayed: Ring::default(),
            upkeep_due: Time::NEVER,
            timer: LazyTimer::default(),
            checkpoints: parts.checkpoints,
            control: ControlCount::default(),
            low_watermark: parts.low_watermark,
        };
        switch.plan_upkeep();
        switch
    }

    /// The class of a frame here: all are one unless classes have queues of their own.
    #[inline]
    fn class(&self, packet: &Packet) -> usize {
        if self.by_class { usize::from(packet.class()) % SharedMemory::CLASSES } else { 0 }
    }

    /// A frame has come to its last bit.
    #[inline]
    fn arrive(&mut self, mut packet: Packet, out: &mut Outbox) {
        if self.rows.is_control(packet.flow_id()) && (packet.is_ack() || self.rows.is_pause(packet.flow_id())) {
            return self.arrive_control(packet, out);
        }
        if self.forwarding_delay == Span::ZERO {
            return self.admit(packet, packet.time, out);
        }
        packet.time += self.forwarding_delay;
        self.upkeep_due = self.upkeep_due.min(packet.time);
        self.delayed.push(packet);
    }

    /// An order to stop or to go on, or a message on its way to a source, has come.
    #[cold]
    fn arrive_control(&mut self, packet: Packet, out: &mut Outbox) {
        self.free_unwatched(packet.time);
        let (now, number) = (packet.time, SwitchPort::input_of(&packet));
        let port = &mut self.ports[number];
        if self.rows.is_pause(packet.flow_id()) {
            self.control.consumed += 1;
            port.obeyed.receive(PauseFrame::from_number(packet.number()), now);
            self.upkeep_due = self.upkeep_due.min(port.obeyed.next_order());
            return self.look_at(number, now, out);
        }
        let (message, queue_bytes) = (out.messages.get_mut(packet.number()), self.memory.of_output(number));
        port.ask_point(now, |point, context| point.backward(message, queue_bytes, context));
        let output = usize::from(self.outputs[packet.direction_index()]);
        self.ports[output].messages.push(packet);
        self.look_at(output, now, out);
    }

    /// A frame joins the queue of its output, if there is room for it.
    #[inline]
    fn admit(&mut self, mut packet: Packet, now: Time, out: &mut Outbox) {
        let output = usize::from(self.outputs[packet.direction_index()]);
        let (input, class, len_bytes) = (SwitchPort::input_of(&packet), self.class(&packet), packet.len_bytes());
        self.free_if_unwatched(output, now);
        let is_close = self.sampled || self.memory.is_close(input, len_bytes, self.watched_from[input]);
        if !is_close {
            self.memory.take(input, class, output, len_bytes);
        } else if !self.take_closely(&packet, output, now, out) {
            return;
        }
        if !self.rows.is_control(packet.flow_id()) {
            let port = &mut self.ports[output];
            if port.unseen > 0 {
                port.unseen -= 1;
            } else {
                packet = self.consult(packet, output, now, out);
            }
        }
        if is_close {
            self.watch_memory(input, class, now, out);
        }
        let port = &mut self.ports[output];
        if port.lets_through(now) {
            port.queues.let_through(class, input);
            port.books.book.length(1, now);
            return self.send::<false>(packet, output, now, out);
        }
        port.queues.push(class, input, packet);
        port.books.book.length(port.queues.len(), now);
        if port.sending.is_none() {
            self.look_at(output, now, out);
        } else if self.unwatched & bit(output) != 0 {
            self.unwatched &= !bit(output);
            self.deadlines.set(output, port.next_turn(now));
        }
    }

    /// Takes memory for a frame where it matters how much is held; gives whether there was room for it.
    #[inline(never)]
    fn take_closely(&mut self, packet: &Packet, output: usize, now: Time, out: &mut Outbox) -> bool {
        self.free_unwatched(now);
        if self.sampled {
            self.ports[output].integrate_length(self.memory.of_output(output), now);
        }
        let (input, class) = (SwitchPort::input_of(packet), self.class(packet));
        let taken = self.memory.admit(input, class, output, packet.len_bytes());
        if let Err(full) = taken {
            self.lose(*packet, output, full, now, out);
        }
        taken.is_ok()
    }

    /// A frame that finds no room is lost.
    #[cold]
    fn lose(&mut self, packet: Packet, output: usize, full: MemoryFull, now: Time, out: &mut Outbox) {
        let reason = match full {
            MemoryFull::Partition => DropReason::InputPort,
            MemoryFull::Output => DropReason::Overflow,
        };
        self.ports[SwitchPort::input_of(&packet)].report.frames_lost += 1;
        if self.rows.is_control(packet.flow_id()) {
            out.messages.take(packet.number());
            self.control.lost += 1;
            return;
        }
        let book = &mut self.ports[output].books.book;
        book.arrival(&packet);
        book.drop(&packet, reason, now);
    }

    /// Shows a data frame that has joined the queue of `output` to its congestion point; gives it back, perhaps marked.
    #[inline(never)]
    fn consult(&mut self, packet: Packet, output: usize, now: Time, out: &mut Outbox) -> Packet {
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
                self.tell(message, &packet, now, out);
                packet
            }
            Verdict::Mark if packet.ecn() == Ecn::NotCapable => packet,
            Verdict::Mark => {
                port.books.book.mark(&packet, now);
                packet.marked()
            }
        }
    }

    /// Sends a message to the source of `about`, back where that came from.
    #[cold]
    fn tell(&mut self, message: Message, about: &Packet, now: Time, out: &mut Outbox) {
        let flow = about.flow_id();
        let slot = out.messages.put(message);
        let frame = control_frame(self.rows.of_flow(flow), about.class(), flags::ACK, slot, now);
        self.control.created += 1;
        let number = SwitchPort::input_of(about);
        let port = &mut self.ports[number];
        port.report.control_frames_sent += 1;
        port.messages.push(frame.at_hop(self.backward_hops[flow as usize]));
        self.look_at(number, now, out);
    }

    /// Orders the feeder of `input` to stop or to go on, if it is time for that.
    #[inline]
    fn watch_memory(&mut self, input: usize, class: usize, now: Time, out: &mut Outbox) {
        if self.memory.of_input(input) >= self.watched_from[input] {
            self.order(input, class, now, out);
        }
    }

    /// The feeder of `input` is to stop, or has stopped and may be to go on.
    #[cold]
    fn order(&mut self, input: usize, class: usize, now: Time, out: &mut Outbox) {
        let (used, of_class) = (self.memory.of_input(input), self.memory.of_input_class(input, class));
        let orders = &mut self.ports[input].orders;
        orders.watch(class, used, of_class, now);
        self.watched_from[input] = orders.watches_from();
        if !orders.is_pending() {
            return;
        }
        self.upkeep_due = self.upkeep_due.min(self.ports[input].orders.poll_at());
        self.look_at(input, now, out);
        // The end of every transmission may be what a neighbour waits for now.
        for number in 0..self.ports.len() {
            if self.unwatched & bit(number) != 0 {
                self.settle(number, now);
            }
        }
    }

    /// Lets a port send what it may: an order to stop or to go on before a message, a message before data.
    #[inline]
    fn look_at(&mut self, number: usize, now: Time, out: &mut Outbox) {
        let port = &mut self.ports[number];
        if port.link_free_at <= now && port.control_waits() {
            self.send_control(number, now, out);
        }
        let port = &mut self.ports[number];
        if port.link_free_at <= now
            && port.sending.is_none()
            && let Some(packet) = port.queues.pop(port.obeyed.free_classes(now))
        {
            return self.send::<true>(packet, number, now, out);
        }
        self.settle(number, now);
    }

    /// Settles when the port has something to do next, having done at `now` what there was.
    #[inline]
    fn settle(&mut self, number: usize, now: Time) {
        let port = &self.ports[number];
        let next = port.next_turn(now);
        let ends_unwatched = bit(number) != 0
            && !port.has_more()
            && port.sending.is_some_and(|frame| !self.ports[usize::from(frame.input)].orders.has_stopped());
        if ends_unwatched {
            self.unwatched |= bit(number);
            self.deadlines.set(number, Time::NEVER);
        } else {
            self.unwatched &= !bit(number);
            self.deadlines.set(number, next);
        }
    }

    #[cold]
    fn send_control(&mut self, number: usize, now: Time, out: &mut Outbox) {
        let port = &mut self.ports[number];
        let frame = if let Some(order) = port.orders.take() {
            port.report.pause_frames_sent += 1;
            self.control.created += 1;
            let (flow, backward) = self.rows.of_link(port.out);
            Some(control_frame(flow, 0, if backward { flags::ACK } else { 0 }, order.number(), now))
        } else {
            port.messages.pop()
        };
        if let Some(mut frame) = frame {
            port.begin_control(frame.len_bytes(), now);
            frame.time = now;
            out.send_by(port.out, frame);
        }
    }

    /// The port `number` begins to send a frame that takes memory, and has `WAITED` or has not.
    #[inline(always)]
    fn send<const WAITED: bool>(&mut self, mut packet: Packet, number: usize, now: Time, out: &mut Outbox) {
        if self.rows.is_control(packet.flow_id()) {
            let (message, queue_bytes) = (out.messages.get_mut(packet.number()), self.memory.of_output(number));
            self.ports[number].ask_point(now, |point, context| point.forward(message, queue_bytes, context));
        } else if WAITED {
            self.ports[number].books.book.let_in(&packet, now);
        } else {
            self.ports[number].books.book.let_through(&packet);
        }
        let input = SwitchPort::input_of(&packet);
        let frame = Sending { input: input as u8, class: self.class(&packet) as u8, len_bytes: packet.len_bytes() };
        packet.time = now;
        let port = &mut self.ports[number];
        out.send_by(port.out, packet);
        port.begin(frame, now);
        // Without orders to the feeder there is nobody who waits for the end.
        if bit(number) != 0 && !port.has_more() && self.watched_from[input] > 0 {
            self.unwatched |= bit(number);
            if WAITED {
                self.deadlines.set(number, Time::NEVER);
            }
        } else {
            self.unwatched &= !bit(number);
            self.deadlines.set(number, port.next_turn(now));
        }
    }

    /// Frees the memory of what ended by `now` without anyone waiting for it.
    #[cold]
    fn free_unwatched(&mut self, now: Time) {
        let mut rest = self.unwatched;
        while rest != 0 {
            self.free_if_unwatched(rest.trailing_zeros() as usize, now);
            rest &= rest - 1;
        }
    }

    /// The same of one port.
    #[inline]
    fn free_if_unwatched(&mut self, number: usize, now: Time) {
        let port = &mut self.ports[number];
        if self.unwatched & bit(number) != 0
            && port.served_at <= now
            && let Some(Sending { input, class, len_bytes }) = port.sending.take()
        {
            self.unwatched &= !bit(number);
            if self.sampled {
                port.integrate_length(self.memory.of_output(number), port.served_at);
            }
            self.memory.release(usize::from(input), usize::from(class), number, len_bytes);
        }
    }

    /// A port has something to do: what it sent has ended, its link is free, or nothing holds it up any more.
    #[inline]
    fn turn(&mut self, number: usize, now: Time, out: &mut Outbox) {
        let port = &mut self.ports[number];
        if let Some(Sending { input, class, len_bytes }) = port.sending
            && port.served_at <= now
        {
            port.sending = None;
            if self.sampled {
                port.integrate_length(self.memory.of_output(number), now);
            }
            let (input, class) = (usize::from(input), usize::from(class));
            self.memory.release(input, class, number, len_bytes);
            self.watch_memory(input, class, now, out);
        }
        self.look_at(number, now, out);
    }

    /// Says PAUSE again where it is time, heeds what holds from now on, calls the congestion points that want it, and
    /// lets in what has been delayed long enough.
    #[cold]
    fn upkeep(&mut self, now: Time, out: &mut Outbox) {
        self.free_unwatched(now);
        for number in 0..self.ports.len() {
            if self.ports[number].orders.poll_at() <= now {
                for class in 0..SharedMemory::CLASSES {
                    self.watch_memory(number, class, now, out);
                }
            }
            let port = &mut self.ports[number];
            let queue_bytes = self.memory.of_output(number);
            while port.point.as_ref().is_some_and(|point| point.poll_at() <= now) {
                port.ask_point(now, |point, context| point.expire(queue_bytes, context));
            }
            if port.obeyed.next_order() <= now {
                port.obeyed.obey(now);
                self.look_at(number, now, out);
            }
        }
        while let Some(&packet) = self.delayed.front()
            && packet.time <= now
        {
            self.delayed.pop();
            self.admit(packet, now, out);
        }
        self.plan_upkeep();
    }

    /// Settles when there is upkeep to do next.
    fn plan_upkeep(&mut self) {
        let of_port = |port: &SwitchPort| {
            let point = port.point.as_ref().map_or(Time::NEVER, |point| point.poll_at());
            point.min(port.orders.poll_at()).min(port.obeyed.next_order())
        };
        let delayed = self.delayed.front().map_or(Time::NEVER, |packet| packet.time);
        self.upkeep_due = self.ports.iter().map(of_port).fold(delayed, Time::min);
    }

    /// Does everything that happens up to `end`, in the order of time: at one time ports first, then upkeep, then what
    /// arrives.
    fn run_until(&mut self, end: Time, out: &mut Outbox) {
        while let Some(packet) = self.arrivals.take(end) {
            self.run_ports_until(packet.time, out);
            self.check(packet.time);
            self.arrive(packet, out);
        }
        self.run_ports_until(end, out);
    }

    /// Does all that the ports and the upkeep have to do up to `end`.
    #[inline]
    fn run_ports_until(&mut self, end: Time, out: &mut Outbox) {
        loop {
            let next = self.deadlines.earliest().min(self.upkeep_due);
            if next > end || next == Time::NEVER {
                return;
            }
            self.check(next);
            if let Some(number) = self.deadlines.due(next) {
                self.turn(number, next, out);
            } else {
                self.upkeep(next, out);
            }
        }
    }

    /// When the switch has to be woken at the latest, if nothing comes.
    #[inline]
    fn next_wake_up(&self) -> Time {
        self.deadlines.earliest().min(self.upkeep_due).min(self.arrivals.first())
    }

    /// Does what is to be done at the checkpoints up to `now`.
    #[inline]
    fn check(&mut self, now: Time) {
        if self.checkpoints.next() <= now {
            self.take_checkpoints(now);
        }
    }

    #[cold]
    fn take_checkpoints(&mut self, now: Time) {
        while let Some((at, checkpoint)) = self.checkpoints.take(now) {
            self.free_unwatched(Time::from_picoseconds(at.picoseconds() - 1));
            if checkpoint == Checkpoint::WarmUp {
                self.memory.forget_most();
            }
            for (number, port) in self.ports.iter_mut().enumerate() {
                match checkpoint {
                    Checkpoint::WarmUp => port.begin_measurement(at),
                    Checkpoint::Sample => {
                        port.sample(self.memory.of_output(number), at, self.checkpoints.interval());
                    }
                }
            }
        }
    }

    /// Takes a frame that has not left by the end of the run into the books of its output.
    fn book_waiting(&mut self, packet: &Packet, number: usize, end: Time, backlog: &mut Backlog) {
        if self.rows.is_control(packet.flow_id()) {
            self.control.held += 1;
            return;
        }
        let len_bytes = u64::from(packet.len_bytes());
        backlog.packets += 1;
        backlog.bytes += len_bytes;
        let book = &mut self.ports[number].books.book;
        book.arrival(packet);
        book.waited(1, len_bytes, packet.time, end);
    }

    /// Who waits for whom.
    fn buffer_waits(&self, end: Time) -> Vec<BufferWait> {
        let held: Vec<_> = self.ports.iter().map(|port| (port.out, 0)).collect();
        let excess_bytes = |number| self.memory.of_input(number).saturating_sub(self.low_watermark);
        let waits = self.ports.iter().enumerate();
        waits.map(|(number, port)| port.buffer_wait(excess_bytes(number), held.clone(), end)).collect()
    }
}

/// The bit of a port in [`EthernetSwitch::unwatched`]; ports beyond the 64th have none, and are always watched.
fn bit(port: usize) -> u64 {
    1_u64.checked_shl(port as u32).unwrap_or(0)
}

impl Process for EthernetSwitch {
    fn start(&mut self, out: &mut Outbox) {
        self.timer.ensure(self.next_wake_up(), out);
    }

    #[inline]
    fn receive(&mut self, packet: &Packet, out: &mut Outbox) {
        self.arrivals.insert(packet);
        self.timer.ensure(packet.time, out);
    }

    fn expire(&mut self, now: Time, out: &mut Outbox) {
        if self.timer.woken(now) {
            self.run_until(out.horizon, out);
            let next = self.next_wake_up();
            if next < Time::NEVER {
                self.timer.ensure(next, out);
            }
        }
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        // What may be seen to later is seen to now. It sends nothing.
        let mut out = Outbox::new(report.window());
        self.run_until(end, &mut out);
        self.check(end);
        self.free_unwatched(end);
        let mut waits = self.buffer_waits(end);
        let mut backlogs = vec![Backlog::default(); self.ports.len()];
        while let Some(packet) = self.delayed.pop() {
            let output = usize::from(self.outputs[packet.direction_index()]);
            self.book_waiting(&packet, output, end, &mut backlogs[output]);
        }
        for (number, backlog) in backlogs.iter_mut().enumerate() {
            self.control.held += self.ports[number].messages.len() as u64;
            while let Some(packet) = self.ports[number].queues.pop(EVERY_CLASS) {
                waits[SwitchPort::input_of(&packet)].held[number].1 += u64::from(packet.len_bytes());
                self.book_waiting(&packet, number, end, backlog);
            }
        }
        for ((number, port), backlog) in self.ports.iter_mut().enumerate().zip(backlogs) {
            let port_report = port.report(self.memory.most_of_input(number), end);
            report.queue(QueueReport {
                name: &port_report.name,
                books: &mut port.books,
                backlog,
                holds_packets: true,
                flow_gauges: &|_, _| {},
            });
            report.port(port_report);
        }
        report.buffer_waits(waits);
        report.control(self.control);
    }
}
