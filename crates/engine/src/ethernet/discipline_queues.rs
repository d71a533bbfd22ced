//! The queue of an output of an Ethernet switch under one discipline, or under one per class.

use forebay_qdisc::{
    Backlog, ClassQueues, Cx, Discipline, DropReason, FlowInfo, FlowKeysOnly, MarkReason, Queue, Sink, Time,
};
use forebay_switching::SharedMemory;

use crate::driver::node::Channels;
use crate::ethernet::class_turns::{ClassTurns, Classes};
use crate::ethernet::forwarding::ForwardingEntry;
use crate::observe::queue_counters::{Dropped, QueueCounters, QueueRecord};
use crate::packet::Packet;

/// The disciplines of an output. As at any port, a discipline is called when the link is free, and told when the link
/// comes free and nothing is left to send.
pub(crate) struct DisciplineQueues {
    /// One, or one per class.
    pub queues: ClassQueues<Packet>,
    /// Whether they are a single FIFO behind a law, so that later arrivals cannot go first.
    pub is_fifo: bool,
    turns: ClassTurns,
    /// Dropped packets, and bytes cut off packets, that still hold memory.
    pub freed: Vec<Freed>,
    pub held: HeldBytes,
    /// Upper limit of the integral of the queue length.
    integrated: Time,
}

impl DisciplineQueues {
    /// `queues` are one, or one per class.
    pub fn new(queues: Vec<Queue<Packet>>, ports: usize, strict_priority: bool) -> Self {
        let class_mask = queues.len() as u8 - 1;
        Self {
            is_fifo: matches!(queues[..], [Queue::Law(_)]),
            queues: ClassQueues::new(queues.into_iter().map(Queue::into_discipline).collect()),
            turns: ClassTurns::new(strict_priority),
            freed: Vec::new(),
            held: HeldBytes { class_mask, bytes: vec![[0; SharedMemory::CLASSES]; ports] },
            integrated: Time::ZERO,
        }
    }

    pub fn occupied(&self) -> Classes {
        set_of(&self.queues, |class| self.queues.holds(class))
    }

    /// The discipline, if there is only one. Then its gauges describe the whole queue.
    pub fn only(&self) -> Option<&dyn Discipline<Packet>> {
        self.queues.disciplines().next().filter(|_| self.queues.len() == 1)
    }

    /// Updates the integral of the queue length. To be called before each change.
    pub fn integrate(&mut self, counters: &mut QueueCounters, now: Time) {
        let Backlog { packets, bytes } = self.queues.backlog();
        counters.waited(packets, bytes, self.integrated, now);
        self.integrated = now;
    }

    /// A packet joins the queue of its class at `packet.time`. `forwarding` has the rows of the counters.
    pub fn enqueue(
        &mut self,
        packet: Packet,
        class: usize,
        record: &mut QueueRecord,
        forwarding: &[ForwardingEntry],
        channels: &Channels,
    ) {
        let now = packet.time;
        let QueueRecord { counters, rng, .. } = record;
        self.integrate(counters, now);
        let arriving = Some(counters.arrival_at(row(forwarding, &packet), now));
        let Self { queues, freed, held, .. } = self;
        *held.of(&packet) += u64::from(packet.len_bytes());
        let mut sink = Counting { counters, forwarding, channels: Some(channels), now, arriving, freed, held };
        queues.enqueue(class, packet, &mut Cx { now, rng, sink: &mut sink });
        debug_assert_eq!(self.held.bytes.iter().flatten().sum::<u64>(), self.queues.backlog().bytes);
    }

    /// The link is free. Returns the next frame of the classes in `may`, if any.
    pub fn dequeue(
        &mut self,
        may: Classes,
        now: Time,
        record: &mut QueueRecord,
        forwarding: &[ForwardingEntry],
    ) -> Option<Packet> {
        let QueueRecord { counters, rng, .. } = record;
        self.integrate(counters, now);
        let Self { queues, turns, freed, held, .. } = self;
        let counters = &mut *counters;
        let mut sink = Counting { counters, forwarding, channels: None, now, arriving: None, freed, held };
        let (class, packet) = queues.dequeue(&mut Cx { now, rng, sink: &mut sink }, |queues| {
            let candidates = may & set_of(queues, |class| queues.may_send(class, now));
            (candidates != 0).then(|| turns.pick(candidates))
        })?;
        turns.goes(class);
        *held.of(&packet) -= u64::from(packet.len_bytes());
        counters.departure_at(row(forwarding, &packet), packet.time, now);
        Some(packet)
    }

    /// The link is free. Drops the packets that these classes would send now. Returns their number.
    pub fn discard(
        &mut self,
        classes: Classes,
        now: Time,
        record: &mut QueueRecord,
        forwarding: &[ForwardingEntry],
    ) -> u64 {
        let QueueRecord { counters, rng, recorder, .. } = record;
        let Self { queues, freed, held, .. } = self;
        let mut dropped = 0;
        loop {
            let Backlog { packets, bytes } = queues.backlog();
            counters.waited(packets, bytes, self.integrated, now);
            self.integrated = now;
            if let Some(recorder) = recorder {
                recorder.lock().departures_are_drops = true;
            }
            let mut sink =
                Counting { counters: &mut *counters, forwarding, channels: None, now, arriving: None, freed, held };
            // The last call notes that nothing is being sent.
            let next = queues.dequeue(&mut Cx { now, rng, sink: &mut sink }, |queues| {
                (0..queues.len()).find(|&class| classes & 1 << class != 0 && queues.may_send(class, now))
            });
            if let Some(recorder) = recorder {
                recorder.lock().departures_are_drops = false;
            }
            let Some((_, packet)) = next else { break };
            sink.dropped(packet, DropReason::Forced, true);
            dropped += 1;
        }
        dropped
    }
}

/// The classes of `queues` for which `is_in` holds.
fn set_of(queues: &ClassQueues<Packet>, is_in: impl Fn(usize) -> bool) -> Classes {
    (0..queues.len()).fold(0, |set, class| set | u8::from(is_in(class)) << class)
}

/// Memory that a discipline gives back.
#[derive(Clone, Copy)]
pub(crate) enum Freed {
    /// All of a packet that was dropped.
    Dropped(Packet),
    /// So many bytes of a packet that was cut.
    Cut(Packet, u32),
}

/// Queued bytes by input and class.
pub(crate) struct HeldBytes {
    class_mask: u8,
    pub bytes: Vec<[u64; SharedMemory::CLASSES]>,
}

impl HeldBytes {
    fn of(&mut self, packet: &Packet) -> &mut u64 {
        let input = usize::from(forebay_qdisc::Packet::input_port(packet));
        &mut self.bytes[input][usize::from(packet.class() & self.class_mask)]
    }
}

/// The packet's row in the counters.
fn row(forwarding: &[ForwardingEntry], packet: &Packet) -> usize {
    forwarding[packet.direction_index()].row() as usize
}

/// Counts drops, marks and trims, and keeps what they free.
struct Counting<'a> {
    counters: &'a mut QueueCounters,
    forwarding: &'a [ForwardingEntry],
    /// With facts about the packet that arrives, if one does.
    channels: Option<&'a Channels>,
    now: Time,
    /// The row of the packet that arrives.
    arriving: Option<usize>,
    freed: &'a mut Vec<Freed>,
    held: &'a mut HeldBytes,
}

impl Sink<Packet> for Counting<'_> {
    fn dropped(&mut self, packet: Packet, reason: DropReason, queued: bool) {
        let dropped = if queued { Dropped::AfterEnqueue } else { Dropped::OnArrival(self.arriving.take()) };
        self.counters.drop_at(row(self.forwarding, &packet), packet.len_bytes(), reason, self.now, dropped);
        *self.held.of(&packet) -= u64::from(packet.len_bytes());
        self.freed.push(Freed::Dropped(packet));
    }

    fn marked(&mut self, packet: &Packet, _reason: MarkReason) {
        self.counters.mark_at(row(self.forwarding, packet), self.now);
    }

    fn trimmed(&mut self, packet: &Packet, cut_bytes: u32) {
        self.counters.trim(cut_bytes, self.now);
        *self.held.of(packet) -= u64::from(cut_bytes);
        self.freed.push(Freed::Cut(*packet, cut_bytes));
    }

    fn flow_info(&self) -> &dyn FlowInfo<Packet> {
        match self.channels {
            Some(channels) => channels,
            None => &FlowKeysOnly,
        }
    }
}

#[cfg(test)]
mod tests {
    use forebay_qdisc::{DropTail, DropTailConfig, Ecn, Rate};
    use forebay_records::random::stream;
    use forebay_units::QueueSize;

    use super::*;
    use crate::observe::interval::MeasuredInterval;
    use crate::packet::PacketFields;

    #[test]
    fn bytes_are_held_until_a_frame_leaves_or_is_dropped() {
        let config = DropTailConfig { limit: QueueSize::Packets(1) };
        let queue = || Queue::Law(Box::new(DropTail::new(&config, Rate::megabits(10_000), 1).unwrap()));
        let mut queues = DisciplineQueues::new((0..8).map(|_| queue()).collect(), 2, true);
        let measured = MeasuredInterval { from: Time::ZERO, to: Time::NEVER };
        let counters = QueueCounters::with_rows(measured, vec![0]);
        let mut record = QueueRecord::new("drop_tail".to_owned(), counters, stream(1, "port"));
        let (forwarding, channels) = ([ForwardingEntry::new(0, 0, true)], Channels::nowhere(measured));
        let (time, ecn) = (Time::ZERO, Ecn::NotCapable);
        for (class, input) in [(2, 0), (2, 1), (5, 1)] {
            let fields = PacketFields { time, stamp: 0, number: 0, flow: 0, len_bytes: 100, flags: 0, class, ecn };
            let packet = Packet::new(fields).arriving(time, input);
            queues.enqueue(packet, usize::from(class), &mut record, &forwarding, &channels);
        }
        assert_eq!((queues.occupied(), queues.freed.len()), (0b10_0100, 1));
        let held = |queues: &DisciplineQueues| [0, 1].map(|input| queues.held.bytes[input].iter().sum::<u64>());
        assert_eq!(held(&queues), [100, 100]);
        let next = queues.dequeue(0xff, time, &mut record, &forwarding).map(|packet| packet.class());
        assert_eq!((next, held(&queues)), (Some(5), [100, 0]));
    }
}
