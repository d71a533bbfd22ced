//! An Ethernet switch. A buffer policy divides its memory.
//!
//! A completely arrived frame takes memory, or is lost. It joins the queue of its output and is shown to the congestion
//! point. Its memory is free when its transmission ends. An input that holds too much stops its feeder by PAUSE. A
//! paused output finishes the current frame and begins no other of the paused classes. Messages to sources go ahead of
//! data, ignore PAUSE and take no memory. Probes to destinations queue with the data.
//!
//! A departure is committed as early as possible, mostly on arrival, so that most frames need no further event. An idle
//! port that chooses among its frames waits for the last arrival of the instant: no frame of a high class waits for one
//! of a low class that arrived with it. Committed frames that have not begun are revoked before a control frame and at
//! a PAUSE. Memory is released at once if a stopped feeder waits for it, otherwise before it is read.

use forebay_qdisc::{Ecn, Span, Time};
use forebay_switching::congestion::{Arrival, CongestionPointId, Message, Verdict};
use forebay_switching::{Frame, SharedMemory};

use crate::driver::node::{Channels, just_before};
use crate::driver::node_table::NodeTable;
use crate::driver::ring::Ring;
use crate::driver::tournament::Tournament;
use crate::ethernet::control::{ControlRows, PauseFrame};
use crate::ethernet::departures::Departure;
use crate::ethernet::forwarding::ForwardingEntry;
use crate::ethernet::port::SwitchPort;
use crate::ethernet::watchdog::Watchdog;
use crate::observe::interval::Checkpoints;
use crate::observe::reported::ControlCount;
use crate::packet::{Packet, flags};
use crate::spec::{EthernetSwitchSpec, FlowControl};

mod arrivals;
mod end;
mod policy_pause;
mod push_out;
mod storms;
mod turns;

/// The switch at work. Hot fields first.
#[repr(C, align(64))]
pub(crate) struct EthernetSwitch {
    ports: Vec<SwitchPort>,
    /// Indexed as in [`Packet::direction_index`]. Includes the rows of control frames.
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
    control_count: ControlCount,
    /// Outputs of frames that may take several; `None` without such frames.
    paths: Option<Box<NodeTable>>,
    /// At this use of an input's memory its feeder may continue. 0: no flow control by watermarks.
    low_watermark: u64,
    watchdog: Option<Box<Watchdog>>,
    /// Whether the buffer policy decides when feeders stop.
    stops_by_policy: bool,
}

impl EthernetSwitch {
    /// `by_class`: each class has a queue of its own.
    pub fn new(
        spec: &EthernetSwitchSpec,
        ports: Vec<SwitchPort>,
        memory: SharedMemory,
        by_class: bool,
        forwarding: Vec<ForwardingEntry>,
        rows: ControlRows,
        checkpoints: Checkpoints,
    ) -> Self {
        let mut switch = Self {
            deadlines: Tournament::new(ports.len()),
            has_stopped: false,
            sampled: ports.iter().any(|port| port.record.series.is_some()),
            ports,
            memory,
            class_mask: if by_class { SharedMemory::CLASSES as u8 - 1 } else { 0 },
            forwarding,
            rows,
            forwarding_delay: spec.forwarding_delay,
            delayed: Ring::default(),
            holding: Vec::new(),
            next_begin: Time::NEVER,
            choosing: Vec::new(),
            choosing_at: Time::NEVER,
            upkeep_due: Time::NEVER,
            checkpoints,
            control_count: ControlCount::default(),
            paths: None,
            watchdog: None,
            stops_by_policy: matches!(spec.flow_control, FlowControl::OfBuffer { .. }),
            low_watermark: match spec.flow_control {
                FlowControl::None | FlowControl::OfBuffer { .. } => 0,
                FlowControl::Pause(config) | FlowControl::Priority(config) => config.low.0,
            },
        };
        if let Some(spec) = spec.watchdog {
            switch.watchdog = Some(Box::new(Watchdog::new(spec, switch.ports.len())));
            switch.ports.iter_mut().for_each(|port| port.control.report.watchdog = Some(Default::default()));
        }
        for (input, port) in switch.ports.iter().enumerate() {
            switch.memory.watch(input, port.control.orders.watches_from());
        }
        switch.plan_upkeep(Time::ZERO);
        switch
    }

    /// Frames whose outputs are in a table take those of `table`.
    pub fn with_paths(self, table: NodeTable) -> Self {
        Self { paths: Some(Box::new(table)), ..self }
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
        let (now, number) = (packet.time, SwitchPort::input_of(&packet));
        let port = &mut self.ports[number];
        if self.rows.is_pause(packet.flow_id()) {
            self.control_count.consumed += 1;
            port.control.obeyed.receive(PauseFrame::from_number(packet.number()), now);
            self.upkeep_due = self.upkeep_due.min(port.control.obeyed.next_order());
            return self.obey(number, now, channels);
        }
        let message = channels.tables.messages.get_mut(packet.number());
        port.ask_point(now, |point, context| point.backward(message, context));
        let output = self.entry(&packet).output();
        self.ports[output].control.messages.push(packet);
        self.look_at(output, now, channels);
    }

    /// A change of the pause state takes effect.
    fn obey(&mut self, number: usize, now: Time, channels: &mut Channels) {
        let port = &mut self.ports[number];
        if !port.control.obeyed.is_free(now) {
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
                let port = &mut self.ports[output];
                port.record.counters.mark_at(row as usize, now);
                port.record_mark(&packet, now);
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
        let frame = self.rows.message(flow, about.class(), flags::ACK, message, now, channels);
        self.control_count.created += 1;
        let number = SwitchPort::input_of(about);
        let port = &mut self.ports[number];
        port.control.report.control_frames_sent += 1;
        port.control.messages.push(frame);
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
        if self.stops_by_policy {
            return self.note_release(input, class, now);
        }
        let (used, of_class) = (self.memory.of_input(input), self.memory.of_input_class(input, class));
        self.ports[input].control.orders.watch(class, used, of_class, now);
        self.send_orders(input, now, begun, channels);
    }

    /// Sends PAUSE to the feeder of `input` if it has been decided on.
    fn send_orders(&mut self, input: usize, now: Time, begun: Time, channels: &mut Channels) {
        let orders = &mut self.ports[input].control.orders;
        self.memory.watch(input, orders.watches_from());
        if !orders.is_pending() {
            return;
        }
        self.upkeep_due = self.upkeep_due.min(self.ports[input].control.orders.poll_at());
        self.ports[input].revoke(begun);
        self.look_at(input, now, channels);
        self.has_stopped = self.ports.iter().any(|port| port.control.orders.has_stopped());
        for number in 0..self.ports.len() {
            self.plan_release(number);
        }
    }

    /// Makes the next release an event, too.
    #[inline(never)]
    fn plan_release(&mut self, number: usize) {
        self.deadlines.set(number, self.next_release(number).min(self.deadlines.of(number)));
    }

    /// The end of the first transmission at a port that frees memory for a stopped feeder. It is an event.
    fn next_release(&self, number: usize) -> Time {
        if !self.has_stopped {
            return Time::NEVER;
        }
        let frees = |departure: &&Departure| self.ports[usize::from(departure.input)].control.orders.has_stopped();
        self.ports[number].departures.iter().find(frees).map_or(Time::NEVER, |departure| departure.end)
    }

    /// Sends what the port may send: PAUSE, then messages, then data.
    #[inline]
    fn look_at(&mut self, number: usize, now: Time, channels: &mut Channels) {
        // If this port ends a transmission at `now`, its own turn handles the feeder that waits for it.
        self.release(number, if self.has_stopped { just_before(now) } else { now });
        if self.ports[number].control.dropped != 0 {
            self.discard(number, now, channels);
        }
        let port = &mut self.ports[number];
        if port.control.waits() {
            port.revoke(now);
            if port.link_free_at() <= now {
                self.send_control(number, now, channels);
            }
        }
        let rows = self.rows;
        loop {
            let Self { ports, forwarding, .. } = self;
            let next = ports[number].next_departure(now, forwarding, |packet| rows.is_control(packet.flow_id()));
            let is_managed = self.ports[number].managed.is_some();
            if is_managed {
                self.free_managed(number, now, channels);
            }
            let Some((packet, start)) = next else { break };
            let is_probe = self.rows.is_control(packet.flow_id());
            if is_probe {
                begin_probe(&packet, &mut self.ports[number], now, channels);
            }
            let class = self.class(&packet);
            let row = if is_managed {
                Departure::COUNTED
            } else if is_probe {
                Departure::NOT_COUNTED
            } else {
                self.entry(&packet).row()
            };
            if self.ports[number].telemetry.is_some() {
                let queued_bytes = self.memory.of_output(number);
                self.ports[number].append_telemetry(&packet, start, queued_bytes, channels);
            }
            if !self.ports[number].commit(&packet, start, class, row, now, channels) {
                self.keep(number);
            }
        }
        self.plan(number, now);
    }

    /// Sets the deadline of a port. Everything due at `now` must be done.
    #[inline(never)]
    fn plan(&mut self, number: usize, now: Time) {
        let next = self.ports[number].next_turn(now);
        self.deadlines.set(number, next.min(self.next_release(number)));
    }

    #[cold]
    fn send_control(&mut self, number: usize, now: Time, channels: &mut Channels) {
        let port = &mut self.ports[number];
        let order = port.control.take_order(self.rows, port.link.number(), now);
        self.control_count.created += u64::from(order.is_some());
        if let Some(frame) = order.or_else(|| port.control.messages.pop()) {
            port.send_control(frame, now, channels);
        }
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
    if port.first_end > now {
        return None;
    }
    let ended = port.release()?;
    if sampled {
        port.integrate_length(memory.of_output(number), ended.end);
    }
    let Departure { input, class, len_bytes, .. } = ended;
    let (input, class, len_bytes) = (usize::from(input), usize::from(class), u32::from(len_bytes));
    memory.release(Frame { input, class, output: number, len_bytes }, Some(ended.end));
    Some(ended)
}

/// Releases all ended departures of port `number`. Those that a stopped feeder waits for have been released on time.
#[inline(always)]
fn release(port: &mut SwitchPort, memory: &mut SharedMemory, number: usize, sampled: bool, now: Time) {
    while release_one(port, memory, number, sampled, now).is_some() {}
}

/// A probe begins to leave by a port.
#[cold]
fn begin_probe(packet: &Packet, port: &mut SwitchPort, now: Time, channels: &mut Channels) {
    let message = channels.tables.messages.get_mut(packet.number());
    port.ask_point(now, |point, context| point.forward(message, context));
    port.record_passage(packet, Some(now));
}

#[cfg(test)]
#[path = "switch_tests.rs"]
mod tests;
