//! The sending end of the transfers between two hosts.

use std::collections::VecDeque;

use forebay_qdisc::{Span, Time};
use forebay_records::random::stream;
use forebay_tcp::{Sender, TcpConfig};
use rand_pcg::rand_core::Rng;

use super::Timers;
use crate::host::endpoint::Endpoint;
use crate::host::outbox::Outbox;
use crate::host::tcp::{PacketForm, Segments, ack_of};
use crate::observe::flow_counters::{EndpointContext, SendCount, SendCounters};
use crate::observe::interval::Checkpoint;
use crate::observe::report::Report;
use crate::observe::transfers::{Transfer, TransferRecord, TransferWriter};
use crate::packet::{FlowId, Packet};
use crate::spec::Transfers;

pub(crate) struct TransferSource {
    context: EndpointContext,
    config: TcpConfig,
    /// Of the first slot, in its first generation.
    form: PacketForm,
    arrivals: Arrivals,
    slots: Vec<Slot>,
    /// Slots without a connection, the one that ended first in front: late packets have most time to arrive.
    free: VecDeque<u32>,
    timers: Timers,
    counters: SendCounters,
    /// Counts of the connections that have ended.
    ended: SendCount,
    record: TransferRecord,
    writer: Option<TransferWriter>,
}

pub(crate) struct TransferSourceParts {
    pub context: EndpointContext,
    pub config: TcpConfig,
    pub transfers: Transfers,
    pub seed: u64,
    /// The path of its random streams: each transfer has one.
    pub path: String,
    pub start: Time,
    pub stop: Time,
    pub counters: SendCounters,
    pub writer: Option<TransferWriter>,
}

/// The transfers, in the order in which they arrive.
struct Arrivals {
    transfers: Transfers,
    seed: u64,
    path: String,
    stop: Time,
    /// The transfer that arrives next, or waits for a slot.
    next: Arrival,
    /// When it arrives, or could begin behind others that waited; [`Time::NEVER`] while it waits, and after the last.
    due: Time,
}

#[derive(Clone, Copy)]
struct Arrival {
    number: u64,
    at: Time,
    bytes: u64,
}

/// A place for one connection at a time.
struct Slot {
    generation: u8,
    connection: Option<Box<Connection>>,
    /// The time of its timer entry.
    planned: Time,
}

struct Connection {
    sender: Sender,
    arrival: Arrival,
    started: Time,
}

impl Arrivals {
    fn new(transfers: Transfers, seed: u64, path: String, start: Time, stop: Time) -> Self {
        let next = Arrival { number: 0, at: start, bytes: 0 };
        let mut arrivals = Self { transfers, seed, path, stop, next, due: Time::NEVER };
        arrivals.draw(0, start);
        arrivals
    }

    /// Takes the next transfer, at `now`.
    fn take(&mut self, now: Time) -> Arrival {
        let taken = self.next;
        self.draw(taken.number + 1, now);
        taken
    }

    /// Draws the transfer of this number, which arrives a gap after the last.
    fn draw(&mut self, number: u64, now: Time) {
        let mut rng = stream(self.seed, &format!("{}/{number}", self.path));
        let gap: Span = self.transfers.gap.draw_span(&mut rng);
        let at = self.next.at.saturating_add(gap);
        let bytes = self.transfers.size.draw_count(&mut rng).max(1);
        self.next = Arrival { number, at, bytes };
        self.due = if at < self.stop { at.max(now) } else { Time::NEVER };
    }

    /// The seed of the controller of the transfer of this number.
    fn controller_seed(&self, number: u64) -> u64 {
        stream(self.seed, &format!("{}/{number}/controller", self.path)).next_u64()
    }

    /// The name of the transfer of this number, for messages.
    fn name(&self, number: u64) -> String {
        let flow = self.path.strip_prefix("flow/").and_then(|path| path.strip_suffix("/transfer"));
        format!("{}, transfer {number}", flow.unwrap_or(&self.path))
    }

    /// The next transfer is there and waits.
    fn wait(&mut self) {
        self.due = Time::NEVER;
    }

    fn waits(&self) -> bool {
        self.due == Time::NEVER && self.next.at < self.stop
    }
}

impl TransferSource {
    pub fn new(parts: TransferSourceParts) -> Self {
        let TransferSourceParts { context, config, transfers, seed, path, start, stop, counters, writer } = parts;
        Self {
            form: PacketForm::new(context.flow, context.class, &config),
            context,
            config,
            arrivals: Arrivals::new(transfers, seed, path, start, stop),
            slots: Vec::new(),
            free: VecDeque::new(),
            timers: Timers::default(),
            counters,
            ended: SendCount::default(),
            record: TransferRecord::default(),
            writer,
        }
    }

    fn first_flow(&self) -> FlowId {
        self.context.flow
    }

    fn advance(&mut self, now: Time, out: &mut Outbox<'_>) {
        loop {
            let deadline = self.next();
            self.check(deadline.min(now));
            if deadline > now {
                return;
            }
            if self.arrivals.due <= deadline {
                self.arrive(deadline, out);
            } else if let Some((at, slot)) = self.timers.take(deadline) {
                self.expire_slot(at, slot, out);
            }
        }
    }

    /// The next transfer begins, or waits for a slot.
    fn arrive(&mut self, now: Time, out: &mut Outbox<'_>) {
        let is_full = self.free.is_empty() && self.slots.len() as u32 >= self.arrivals.transfers.connections;
        self.record.arrived(is_full || self.arrivals.next.at < now);
        if is_full {
            self.arrivals.wait();
        } else {
            self.begin(now, out);
        }
    }

    /// Begins the next transfer in a free slot.
    fn begin(&mut self, now: Time, out: &mut Outbox<'_>) {
        let slot = if let Some(slot) = self.free.pop_front() {
            let generation = &mut self.slots[slot as usize].generation;
            *generation = (*generation + 1) % Packet::GENERATIONS;
            slot
        } else {
            self.slots.push(Slot { generation: 0, connection: None, planned: Time::NEVER });
            self.slots.len() as u32 - 1
        };
        let arrival = self.arrivals.take(now);
        if let Some(sizes) = &out.channels.tables.sizes {
            sizes.begin(self.first_flow() + slot, self.slots[slot as usize].generation, arrival.bytes);
        }
        let mut sender = Sender::new(&self.config);
        sender.introduce(|| self.arrivals.controller_seed(arrival.number), || self.arrivals.name(arrival.number));
        let connection = Connection { sender, arrival, started: now };
        self.slots[slot as usize].connection = Some(Box::new(connection));
        self.record.began();
        self.counters.record.started.get_or_insert(now);
        self.drive(slot, now, out, |sender, segments| {
            sender.open(now, segments);
            sender.write(arrival.bytes, now, segments);
            sender.close(now, segments);
        });
    }

    /// Lets the sender of a slot act. Its connection may have ended then.
    fn drive(
        &mut self,
        number: u32,
        now: Time,
        out: &mut Outbox<'_>,
        act: impl FnOnce(&mut Sender, &mut Segments<'_, '_>),
    ) {
        let slot = &mut self.slots[number as usize];
        let Some(connection) = &mut slot.connection else { return };
        let form = self.form.of_slot(number, slot.generation);
        act(&mut connection.sender, &mut Segments { now, out, form: &form, bytes: &mut self.counters.count.bytes });
        if connection.sender.is_finished() {
            return self.end(number, now, out);
        }
        self.timers.plan(number, connection.sender.deadline(), &mut slot.planned);
    }

    /// The connection of a slot has ended, so that a waiting transfer may begin.
    fn end(&mut self, number: u32, now: Time, out: &mut Outbox<'_>) {
        let Some(connection) = self.slots[number as usize].connection.take() else { return };
        let Connection { sender, arrival, started } = *connection;
        let counters = sender.counters();
        self.ended.add_sender(&counters);
        self.record.ended(now.since(arrival.at));
        if let Some(writer) = &mut self.writer {
            writer.write(Transfer {
                number: arrival.number,
                arrived: arrival.at,
                started,
                finished: now,
                bytes: arrival.bytes,
                retransmitted: counters.segments_retransmitted,
            });
        }
        self.free.push_back(number);
        if self.arrivals.waits() {
            self.begin(now, out);
        }
    }

    fn expire_slot(&mut self, at: Time, number: u32, out: &mut Outbox<'_>) {
        let slot = &mut self.slots[number as usize];
        if slot.planned != at {
            return;
        }
        slot.planned = Time::NEVER;
        let Some(connection) = &slot.connection else { return };
        let deadline = connection.sender.deadline();
        if deadline <= at {
            self.drive(number, at, out, |sender, segments| sender.on_timer(at, segments));
        } else {
            self.timers.plan(number, deadline, &mut slot.planned);
        }
    }

    fn check(&mut self, now: Time) {
        while let Some((_, due)) = self.context.checkpoints.take(now) {
            self.count();
            if due == Checkpoint::WarmUp {
                self.record.begin_measurement();
            }
            self.counters.check(due, self.context.checkpoints.interval());
        }
    }

    /// Brings the counters up to date.
    fn count(&mut self) {
        let SendCount { bytes, acks_received, .. } = self.counters.count;
        let mut count = self.ended;
        for connection in self.slots.iter().filter_map(|slot| slot.connection.as_ref()) {
            count.add_sender(&connection.sender.counters());
        }
        self.counters.count = SendCount { bytes, acks_received, ..count };
    }
}

impl Endpoint for TransferSource {
    fn next(&self) -> Time {
        self.arrivals.due.min(self.timers.next())
    }

    fn receive(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        let now = packet.time;
        self.advance(now, out);
        self.counters.count.acks_received += 1;
        let number = packet.flow_id() - self.first_flow();
        let slot = self.slots.get(number as usize).filter(|slot| slot.generation == packet.generation());
        let Some(connection) = slot.and_then(|slot| slot.connection.as_ref()) else {
            self.record.stale += 1;
            return out.channels.release(packet);
        };
        let ack = ack_of(packet, &connection.sender, out);
        self.drive(number, now, out, |sender, segments| sender.on_ack(&ack, now, segments));
    }

    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        self.advance(now, out);
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.check(end);
        self.count();
        self.counters.record.transfers = Some(Box::new(std::mem::take(&mut self.record)));
        report.sender(self.first_flow(), std::mem::take(&mut self.counters));
        self.writer = None;
    }
}
