//! An Ethernet switch whose memory is divided among its inputs and shared by its outputs.
//!
//! A frame that has come to its last bit is charged to the partition of its input, or lost if that has no room, and
//! joins the queue of its output, whose congestion point sees it. Its memory is free again when its transmission has
//! ended. An input whose partition fills stops its feeder by PAUSE; an output that has been stopped ends the frame that
//! it sends and begins no other. Control frames of congestion management on their way to a source go ahead of all data,
//! heed no PAUSE and take no memory; probes on their way to a destination queue with the data.
//!
//! Frames are taken early, while their feeders send them, into an inbox for each input. A switch that is woken runs
//! ahead of the clock as far as its inboxes are complete: what a neighbour has not sent yet comes no sooner than the
//! shortest propagation delay of the links that lead here. So most frames cost no event of their own.

use forebay_qdisc::{Backlog, DropReason, Ecn, Rate, Span, Time};
use forebay_switching::congestion::{Arrival, CongestionPointId, Context, Message, Verdict};
use forebay_switching::{MemoryFull, SharedMemory};

use crate::deadlines::Deadlines;
use crate::deadlock::BufferWait;
use crate::ethernet::{ControlRows, EthernetSwitchSpec, FlowControl, PauseFrame, ServiceRate, control_frame};
use crate::output_queues::OutputQueues;
use crate::packet::{Packet, flags};
use crate::pause_port::{EVERY_CLASS, PauseObeyed, PauseOrders};
use crate::port::Books;
use crate::process::{LazyTimer, Outbox, Process};
use crate::report::{ControlCount, PortReport, QueueReport, Report};
use crate::ring::Ring;
use crate::switch_port::{Sending, SwitchPort, SwitchPortParts};
use crate::window::{Checkpoint, Checkpoints};

/// What the switch has to know of the network around it.
pub(crate) struct SwitchSurroundings {
    /// The output for each (flow, direction), as in [`Packet::direction_index`], control frames' rows among them.
    pub outputs: Vec<u8>,
    /// For each flow, where a message that begins here stands on the way from the flow's destination to its source: how
    /// many processes of that way lie before the next one.
    pub backward_hops: Vec<u8>,
    pub rows: ControlRows,
    /// Whether its neighbours may stop single classes.
    pub pause_by_class: bool,
    /// Name and rate of the link on which each port sends.
    pub links: Vec<(String, Rate)>,
    /// Books of each output's queue.
    pub books: Vec<Books>,
    /// The number of the first port among the congestion points of all switches.
    pub first_point: u32,
    pub checkpoints: Checkpoints,
    /// The shortest propagation delay of the links that lead here.
    pub lookahead: Span,
}

/// The switch at work.
pub(crate) struct EthernetSwitch {
    ports: Vec<SwitchPort>,
    /// What has been sent here and has not been looked at, by the rank of its link among those that lead here: frames
    /// that come at the same time are taken in the order of their links.
    inboxes: Vec<Ring<Packet>>,
    /// The rank of each port's link.
    ranks: Vec<u8>,
    /// When each port has something to do, and behind the ports when the first frame of each inbox comes.
    deadlines: Deadlines,
    /// Of the first 64 ports those, one bit each, that end a transmission at a time that nobody waits for: nothing is
    /// to be sent then, and no neighbour is stopped. Their memory is freed before anything looks at it.
    unwatched: u64,
    /// When the first of them ends.
    unwatched_end: Time,
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
    lookahead: Span,
    timer: LazyTimer,
    sampled: bool,
    checkpoints: Checkpoints,
    control: ControlCount,
    low_watermark: u64,
}

impl EthernetSwitch {
    pub fn new(spec: EthernetSwitchSpec, memory: SharedMemory, around: SwitchSurroundings) -> Self {
        let count = spec.ports.len();
        let by_class = around.pause_by_class || spec.strict_priority;
        let classes = if by_class { SharedMemory::CLASSES } else { 1 };
        let sampled = around.books.iter().any(|books| books.series.is_some());
        let mut ports = Vec::with_capacity(count);
        let described = spec.ports.into_iter().zip(around.links).zip(around.books).zip(around.first_point..);
        for (((port, (name, line)), books), point) in described {
            ports.push(SwitchPort::new(SwitchPortParts {
                out: port.out,
                incoming: port.incoming,
                line,
                service: ServiceRate::new(line, port.service),
                orders: PauseOrders::new(spec.flow_control, line),
                obeyed: PauseObeyed::new(around.pause_by_class, line, spec.reaction),
                queues: OutputQueues::new(spec.arbiter, count, classes, spec.strict_priority),
                point: spec.congestion.as_ref().map(|scheme| scheme.congestion_point(CongestionPointId(point), line)),
                books,
                report: PortReport::new(name),
            }));
        }
        let rank = |port: &SwitchPort| ports.iter().filter(|other| other.incoming < port.incoming).count() as u8;
        let mut switch = Self {
            inboxes: (0..count).map(|_| Ring::default()).collect(),
            ranks: ports.iter().map(rank).collect(),
            deadlines: Deadlines::new(2 * count),
            unwatched: 0,
            unwatched_end: Time::NEVER,
            ports,
            memory,
            by_class,
            outputs: around.outputs,
            backward_hops: around.backward_hops,
            rows: around.rows,
            forwarding_delay: spec.forwarding_delay,
            delayed: Ring::default(),
            upkeep_due: Time::NEVER,
            lookahead: around.lookahead,
            timer: LazyTimer::default(),
            sampled,
            checkpoints: around.checkpoints,
            control: ControlCount::default(),
            low_watermark: match spec.flow_control {
                FlowControl::None => 0,
                FlowControl::Pause(config) | FlowControl::Priority(config) => config.low.0,
            },
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
        let (now, number) = (packet.time, SwitchPort::input_of(&packet));
        let port = &mut self.ports[number];
        if self.rows.is_pause(packet.flow_id()) {
            self.control.consumed += 1;
            port.obeyed.receive(PauseFrame::from_number(packet.number()), now);
            self.upkeep_due = self.upkeep_due.min(port.obeyed.next_order());
            return self.look_at(number, now, out);
        }
        if let Some(point) = &mut port.point {
            let capacity = port.service.at(now);
            let mut context = Context { now, capacity, rng: &mut port.books.rng };
            point.backward(out.messages.get_mut(packet.number()), self.memory.of_output(number), &mut context);
        }
        let output = usize::from(self.outputs[packet.direction_index()]);
        self.ports[output].messages.push(packet);
        self.look_at(output, now, out);
    }

    /// A frame joins the queue of its output, if there is room for it.
    #[inline]
    fn admit(&mut self, mut packet: Packet, now: Time, out: &mut Outbox) {
        let output = usize::from(self.outputs[packet.direction_index()]);
        let (input, class) = (SwitchPort::input_of(&packet), self.class(&packet));
        let is_probe = self.rows.is_control(packet.flow_id());
        if self.sampled {
            self.ports[output].integrate_length(self.memory.of_output(output), now);
        }
        if let Err(full) = self.memory.admit(input, class, output, packet.len_bytes()) {
            return self.lose(packet, output, full, now, out);
        }
        self.ports[input].report.memory(self.memory.of_input(input));
        if !is_probe {
            packet = self.consult(packet, output, now, out);
        }
        packet.time = now;
        let port = &mut self.ports[output];
        port.queues.push(class, input, packet);
        port.books.book.length(port.queues.len(), now);
        self.watch_memory(input, class, now, out);
        if self.ports[output].sending.is_none() {
            self.look_at(output, now, out);
        } else if self.unwatched & bit(output) != 0 {
            self.settle(output, now);
        }
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
    #[inline]
    fn consult(&mut self, packet: Packet, output: usize, now: Time, out: &mut Outbox) -> Packet {
        let port = &mut self.ports[output];
        let Some(point) = &mut port.point else { return packet };
        let arrival = Arrival {
            len_bytes: packet.len_bytes(),
            queue_bytes: self.memory.of_output(output),
            limited_by: packet.number().checked_sub(1).map(CongestionPointId),
        };
        let capacity = port.service.at(now);
        match point.arrived(arrival, &mut Context { now, capacity, rng: &mut port.books.rng }) {
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
        let (used, of_class) = (self.memory.of_input(input), self.memory.of_input_class(input, class));
        let port = &mut self.ports[input];
        port.orders.watch(class, used, of_class, now);
        if port.orders.is_pending() {
            self.order(input, now, out);
        }
    }

    /// An order is to be sent to the feeder of `input`.
    #[cold]
    fn order(&mut self, input: usize, now: Time, out: &mut Outbox) {
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
            self.send(packet, number, now, out);
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
            self.unwatched_end = self.unwatched_end.min(next);
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
            out.send(frame);
        }
    }

    /// The port `number` begins to send a frame that takes memory.
    #[inline]
    fn send(&mut self, mut packet: Packet, number: usize, now: Time, out: &mut Outbox) {
        if self.rows.is_control(packet.flow_id()) {
            self.write_into_probe(&packet, number, now, out);
        } else {
            self.ports[number].books.book.let_in(&packet, now);
        }
        let frame = Sending {
            input: SwitchPort::input_of(&packet) as u8,
            class: self.class(&packet) as u8,
            len_bytes: packet.len_bytes(),
        };
        self.ports[number].begin(frame, now);
        packet.time = now;
        out.send(packet);
    }

    /// A probe leaves by `number`: its congestion point may write into it.
    #[cold]
    fn write_into_probe(&mut self, probe: &Packet, number: usize, now: Time, out: &mut Outbox) {
        let port = &mut self.ports[number];
        if let Some(point) = &mut port.point {
            let capacity = port.service.at(now);
            let mut context = Context { now, capacity, rng: &mut port.books.rng };
            point.forward(out.messages.get_mut(probe.number()), self.memory.of_output(number), &mut context);
        }
    }

    /// Frees the memory of what ended by `now` without anyone waiting for it.
    #[inline]
    fn free_unwatched(&mut self, now: Time) {
        let mut rest = self.unwatched;
        self.unwatched_end = Time::NEVER;
        while rest != 0 {
            let number = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let port = &mut self.ports[number];
            if port.served_at > now {
                self.unwatched_end = self.unwatched_end.min(port.served_at);
            } else if let Some(Sending { input, class, len_bytes }) = port.sending.take() {
                self.unwatched &= !bit(number);
                if self.sampled {
                    port.integrate_length(self.memory.of_output(number), port.served_at);
                }
                self.memory.release(usize::from(input), usize::from(class), number, len_bytes);
            }
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
        for number in 0..self.ports.len() {
            if self.ports[number].orders.poll_at() <= now {
                for class in 0..SharedMemory::CLASSES {
                    self.watch_memory(number, class, now, out);
                }
            }
            let port = &mut self.ports[number];
            if let Some(point) = &mut port.point {
                let queue_bytes = self.memory.of_output(number);
                while point.poll_at() <= now {
                    let capacity = port.service.at(now);
                    point.expire(queue_bytes, &mut Context { now, capacity, rng: &mut port.books.rng });
                }
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

    /// Does everything that happens before `horizon`, in the order of time: at one time ports first, then upkeep, then
    /// what arrives.
    #[inline]
    fn run_before(&mut self, horizon: Time, out: &mut Outbox) {
        loop {
            let next = self.deadlines.earliest().min(self.upkeep_due);
            if next >= horizon {
                return;
            }
            if self.checkpoints.next() <= next {
                self.check(next);
            }
            if self.unwatched_end <= next {
                self.free_unwatched(next);
            }
            let part = self.deadlines.due(next).unwrap_or(usize::MAX);
            if part < self.ports.len() {
                self.turn(part, next, out);
            } else if self.upkeep_due <= next {
                self.upkeep(next, out);
            } else {
                let inbox = &mut self.inboxes[part - self.ports.len()];
                let Some(packet) = inbox.pop() else { unreachable!("a deadline is that of a frame") };
                self.deadlines.set(part, inbox.front().map_or(Time::NEVER, |packet| packet.time));
                self.arrive(packet, out);
            }
        }
    }

    /// When the switch has to be woken at the latest, if nothing comes.
    #[inline]
    fn next_wake_up(&self) -> Time {
        self.deadlines.earliest().min(self.upkeep_due)
    }

    #[cold]
    fn check(&mut self, now: Time) {
        while let Some((at, checkpoint)) = self.checkpoints.take(now) {
            self.free_unwatched(Time::from_picoseconds(at.picoseconds() - 1));
            for (number, port) in self.ports.iter_mut().enumerate() {
                match checkpoint {
                    Checkpoint::WarmUp => port.begin_measurement(self.memory.of_input(number), at),
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

    /// Who waits for whom: whether each port has stopped the link by which it receives, and may itself not send.
    fn buffer_waits(&self, end: Time) -> Vec<BufferWait> {
        let waits = self.ports.iter().enumerate().map(|(number, port)| BufferWait {
            incoming: port.incoming,
            stops_incoming: port.orders.has_stopped(),
            excess_bytes: self.memory.of_input(number).saturating_sub(self.low_watermark),
            held: self.ports.iter().map(|port| (port.out, 0)).collect(),
            out: port.out,
            blocked: port.is_blocked(end),
            last_sent: port.last_sent,
        });
        waits.collect()
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

    fn without_lookahead(&mut self) {
        self.lookahead = Span::ZERO;
    }

    #[inline]
    fn receive(&mut self, packet: &Packet, out: &mut Outbox) {
        let rank = usize::from(self.ranks[SwitchPort::input_of(packet)]);
        let inbox = &mut self.inboxes[rank];
        if inbox.len() == 0 {
            self.deadlines.set(self.ports.len() + rank, packet.time);
            self.timer.ensure(packet.time, out);
        }
        inbox.push(*packet);
    }

    fn expire(&mut self, now: Time, out: &mut Outbox) {
        if self.timer.woken(now) {
            let instant = Span::from_picoseconds(1);
            let horizon = (now + self.lookahead.max(instant)).min(out.window.to + instant);
            self.run_before(horizon, out);
            let next = self.next_wake_up();
            if next < Time::NEVER {
                self.timer.ensure(next, out);
            }
        }
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        // What may be seen to later is seen to now. It sends nothing.
        let mut out = Outbox::new(report.window());
        self.run_before(end + Span::from_picoseconds(1), &mut out);
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
        for (port, backlog) in self.ports.iter_mut().zip(backlogs) {
            let port_report = port.report(end);
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
