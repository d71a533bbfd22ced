//! Queues that record their packets: the same decisions as without a record, so that all results are the same. A port
//! has one in place of its own queue if its packets are watched; the others pay nothing.

use forebay_qdisc::{
    Admission, Arrival, Backlog, Cx, Discipline, DropReason, FlowInfo, FlowKey, MarkReason, Offer, Queue, Served, Sink,
    Ticket, Time, Verdict,
};

use crate::observe::packet_recorder::{PacketKey, SharedRecorder, Traits};
use crate::observe::watched::PacketEvent;
use crate::packet::Packet;

/// The queue, recorded. `number` is that among the queues of a port with several.
pub(crate) fn watched(queue: Queue<Packet>, number: usize, recorder: &SharedRecorder) -> Queue<Packet> {
    let recorder = recorder.clone();
    match queue {
        Queue::Law(law) => Queue::Law(Box::new(WatchedLaw { law, key: PacketKey::of_fifo(number), recorder })),
        Queue::Discipline(discipline) => Queue::Discipline(Box::new(WatchedDiscipline { discipline, recorder })),
    }
}

/// A law whose packets are recorded.
struct WatchedLaw {
    law: Box<dyn Admission>,
    key: PacketKey,
    recorder: SharedRecorder,
}

impl Admission for WatchedLaw {
    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        let verdict = self.law.admit(arrival, offer);
        let traits = Traits { direction: Packet::direction_of(arrival.flow) as u32, len_bytes: arrival.len_bytes };
        let mut recorder = self.recorder.lock();
        if let Verdict::Drop(_) = verdict {
            recorder.refuse(traits, offer.now);
        } else {
            recorder.enqueue(self.key, traits, offer.now);
        }
        if let Verdict::Mark(..) = verdict {
            recorder.mark_latest(traits, offer.now);
        }
        verdict
    }

    fn release(&mut self, ticket: Ticket, len_bytes: u32, backlog: Backlog, now: Time) {
        if self.law.watches_departures() {
            self.law.release(ticket, len_bytes, backlog, now);
        }
        self.recorder.lock().leave(self.key, PacketEvent::Departed, now);
    }

    fn idle(&mut self, since: Time) {
        self.law.idle(since);
    }

    fn state_bytes(&self) -> u64 {
        self.law.state_bytes()
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.law.gauges(visit);
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        self.law.flow_gauges(flow, visit);
    }
}

/// A discipline whose packets are recorded.
struct WatchedDiscipline {
    discipline: Box<dyn Discipline<Packet>>,
    recorder: SharedRecorder,
}

impl Discipline<Packet> for WatchedDiscipline {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_, Packet>) {
        let Self { discipline, recorder } = self;
        let key = PacketKey::of(&packet);
        let number = recorder.lock().enqueue(key, Traits::of(&packet), cx.now);
        let mut sink = RecordingSink { sink: cx.sink, recorder, now: cx.now, arriving: Some((key, number)) };
        discipline.enqueue(packet, &mut Cx { now: cx.now, rng: cx.rng, sink: &mut sink });
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, Packet>) -> Served<Packet> {
        let Self { discipline, recorder } = self;
        let mut sink = RecordingSink { sink: cx.sink, recorder, now: cx.now, arriving: None };
        let served = discipline.dequeue(&mut Cx { now: cx.now, rng: cx.rng, sink: &mut sink });
        if let Served::Packet(packet) = &served {
            recorder.lock().leave(PacketKey::of(packet), PacketEvent::Departed, cx.now);
        }
        served
    }

    fn backlog(&self) -> Backlog {
        self.discipline.backlog()
    }

    fn state_bytes(&self) -> u64 {
        self.discipline.state_bytes()
    }

    fn children(&self, visit: &mut dyn FnMut(&dyn Discipline<Packet>)) {
        self.discipline.children(visit);
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.discipline.gauges(visit);
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        self.discipline.flow_gauges(flow, visit);
    }
}

/// Records drops, marks and trims on their way to the sink of the port.
struct RecordingSink<'a> {
    sink: &'a mut dyn Sink<Packet>,
    recorder: &'a SharedRecorder,
    now: Time,
    /// The packet that arrives, until it is dropped.
    arriving: Option<(PacketKey, u64)>,
}

impl Sink<Packet> for RecordingSink<'_> {
    fn dropped(&mut self, packet: Packet, reason: DropReason, queued: bool) {
        let mut recorder = self.recorder.lock();
        match self.arriving.take_if(|_| !queued) {
            Some((key, number)) => recorder.take_back(key, number),
            None => recorder.leave(PacketKey::of(&packet), PacketEvent::DroppedLater, self.now),
        }
        drop(recorder);
        self.sink.dropped(packet, reason, queued);
    }

    fn marked(&mut self, packet: &Packet, reason: MarkReason) {
        self.recorder.lock().mark(PacketKey::of(packet), self.now);
        self.sink.marked(packet, reason);
    }

    fn trimmed(&mut self, packet: &Packet, cut_bytes: u32) {
        self.recorder.lock().trim(PacketKey::of(packet), packet.len_bytes());
        self.sink.trimmed(packet, cut_bytes);
    }

    fn flow_info(&self) -> &dyn FlowInfo<Packet> {
        self.sink.flow_info()
    }
}
