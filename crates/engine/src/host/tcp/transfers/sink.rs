//! The receiving end of the transfers between two hosts.

use forebay_qdisc::{Ecn, Time};
use forebay_tcp::{Receiver, TcpConfig};

use super::{Timers, comes_after};
use crate::host::endpoint::Endpoint;
use crate::host::outbox::Outbox;
use crate::host::tcp::{Acks, PacketForm, segment_of};
use crate::observe::flow_counters::{EndpointContext, ReceiveCounters};
use crate::observe::report::Report;
use crate::packet::{FlowId, Packet, unwrap_number};

pub(crate) struct TransferSink {
    context: EndpointContext,
    config: TcpConfig,
    /// Of the first slot, in its first generation.
    form: PacketForm,
    /// By number; none before the first packet of a slot.
    slots: Vec<Option<Box<Slot>>>,
    timers: Timers,
    counters: ReceiveCounters,
    /// Payload of connections that have ended.
    ended_bytes: u64,
}

/// The latest connection of a slot. It stays when it has ended: a FIN may come again.
struct Slot {
    generation: u8,
    receiver: Receiver,
    /// The time of its timer entry.
    planned: Time,
}

impl TransferSink {
    pub fn new(context: EndpointContext, config: TcpConfig, counters: ReceiveCounters) -> Self {
        let form = PacketForm::new(context.flow, context.class, &config);
        Self { context, config, form, slots: Vec::new(), timers: Timers::default(), counters, ended_bytes: 0 }
    }

    fn first_flow(&self) -> FlowId {
        self.context.flow
    }

    fn advance(&mut self, now: Time, out: &mut Outbox<'_>) {
        loop {
            let deadline = self.next();
            self.check(deadline.min(now));
            let Some((at, number)) = self.timers.take(now) else { return };
            let Some(slot) = &mut self.slots[number as usize] else { continue };
            if slot.planned == at {
                slot.planned = Time::NEVER;
                self.drive(number, at, out, |receiver, acks| receiver.on_timer(at, acks));
            }
        }
    }

    /// Lets the receiver of a slot act.
    fn drive(
        &mut self,
        number: u32,
        now: Time,
        out: &mut Outbox<'_>,
        act: impl FnOnce(&mut Receiver, &mut Acks<'_, '_>),
    ) {
        let Some(slot) = &mut self.slots[number as usize] else { return };
        let form = self.form.of_slot(number, slot.generation);
        act(&mut slot.receiver, &mut Acks { now, out, form: &form, sent: &mut self.counters.count.acks_sent });
        self.timers.plan(number, slot.receiver.deadline(), &mut slot.planned);
    }

    /// Turns to the connection of this generation; `false` if it is an earlier one.
    fn turn_to(&mut self, number: u32, generation: u8) -> bool {
        if self.slots.len() <= number as usize {
            self.slots.resize_with(number as usize + 1, || None);
        }
        let slot = &mut self.slots[number as usize];
        if let Some(slot) = slot {
            if slot.generation == generation {
                return true;
            }
            if !comes_after(generation, slot.generation) {
                return false;
            }
            self.ended_bytes += slot.receiver.delivered_bytes();
        }
        let receiver = Receiver::new(&self.config);
        *slot = Some(Box::new(Slot { generation, receiver, planned: Time::NEVER }));
        true
    }

    fn check(&mut self, now: Time) {
        while let Some((_, due)) = self.context.checkpoints.take(now) {
            self.count();
            self.counters.check(due, self.context.checkpoints.interval());
        }
    }

    /// Brings the counters up to date.
    fn count(&mut self) {
        let of_slots: u64 = self.slots.iter().flatten().map(|slot| slot.receiver.delivered_bytes()).sum();
        self.counters.count.payload = self.ended_bytes + of_slots;
    }
}

impl Endpoint for TransferSink {
    fn next(&self) -> Time {
        self.timers.next()
    }

    fn receive(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        let now = packet.time;
        self.advance(now, out);
        self.counters.received(packet);
        let number = packet.flow_id() - self.first_flow();
        if !self.turn_to(number, packet.generation()) {
            self.counters.record.stale += 1;
            return out.channels.release(packet);
        }
        let Some(slot) = &self.slots[number as usize] else { return };
        let seq = unwrap_number(packet.number(), slot.receiver.expected());
        let segment = segment_of(packet, seq, self.form.header_bytes);
        let marked = packet.ecn() == Ecn::CongestionExperienced;
        self.drive(number, now, out, |receiver, acks| receiver.on_segment(&segment, marked, now, acks));
    }

    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        self.advance(now, out);
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.check(end);
        self.count();
        report.receiver(self.first_flow(), std::mem::take(&mut self.counters));
    }
}
