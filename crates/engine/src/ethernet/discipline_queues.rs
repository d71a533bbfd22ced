//! The queue of an output of an Ethernet switch under one discipline, or under one per class.

use forebay_qdisc::{Backlog, ClassQueues, Cx, Discipline, DropReason, MarkReason, Queue, Rng, Sink, Time};
use forebay_switching::SharedMemory;

use crate::ethernet::class_turns::{ClassTurns, Classes};
use crate::ethernet::forwarding::ForwardingEntry;
use crate::observe::queue_counters::{Dropped, QueueCounters, QueueRecord};
use crate::packet::Packet;

/// The disciplines of an output. As at any port, a discipline is called when the link is free, and told when the link
/// comes free and nothing is left to send.
pub(crate) struct DisciplineQueues {
    /// One, or one per class.
    queues: ClassQueues<Packet>,
    /// Whether they are a single FIFO behind a law, so that later arrivals cannot go first.
    pub is_fifo: bool,
    turns: ClassTurns,
    /// Dropped packets that still hold memory.
    pub dropped: Vec<Packet>,
    held: HeldBytes,
    /// Upper limit of the integral of the queue length.
    integrated: Time,
}

pub(crate) struct ManagedParts {
    /// One, or one per class.
    pub disciplines: Vec<Box<dyn Discipline<Packet>>>,
    /// Whether they are a single FIFO behind a law.
    pub is_fifo: bool,
    /// Counters of the port.
    pub record: QueueRecord,
}

impl ManagedParts {
    pub fn new(queues: Vec<Queue<Packet>>, record: QueueRecord) -> Self {
        let is_fifo = matches!(queues[..], [Queue::Law(_)]);
        Self { disciplines: queues.into_iter().map(Queue::into_discipline).collect(), is_fifo, record }
    }
}

/// The parts that a port lends its disciplines for a call.
pub(crate) struct Lent<'a> {
    pub now: Time,
    pub rng: &'a mut dyn Rng,
    pub counters: &'a mut QueueCounters,
    /// The rows of the counters.
    pub forwarding: &'a [ForwardingEntry],
}

impl DisciplineQueues {
    pub fn new(
        disciplines: Vec<Box<dyn Discipline<Packet>>>,
        is_fifo: bool,
        ports: usize,
        strict_priority: bool,
    ) -> Self {
        let class_mask = disciplines.len() as u8 - 1;
        Self {
            queues: ClassQueues::new(disciplines),
            is_fifo,
            turns: ClassTurns::new(strict_priority),
            dropped: Vec::new(),
            held: HeldBytes { class_mask, bytes: vec![[0; SharedMemory::CLASSES]; ports] },
            integrated: Time::ZERO,
        }
    }

    pub fn occupied(&self) -> Classes {
        set_of(&self.queues, |class| self.queues.holds(class))
    }

    /// Whether a discipline must be called when the transmission ends.
    pub fn is_sending(&self) -> bool {
        self.queues.is_sending()
    }

    /// When the next discipline that holds its frames wants to be called again, among the classes in `may`.
    /// [`Time::NEVER`] if none does.
    pub fn poll_at(&self, may: Classes) -> Time {
        self.queues.poll_at(|class| may & 1 << class != 0)
    }

    pub fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    pub fn held_bytes(&self) -> &[[u64; SharedMemory::CLASSES]] {
        &self.held.bytes
    }

    /// Memory of the disciplines' own state.
    pub fn state_bytes(&self) -> u64 {
        self.queues.state_bytes()
    }

    /// The discipline, if there is only one. Then its gauges describe the whole queue.
    pub fn only(&self) -> Option<&dyn Discipline<Packet>> {
        self.queues.disciplines().next().filter(|_| self.queues.len() == 1)
    }

    /// Updates the integral of the queue length. To be called before each change.
    pub fn integrate(&mut self, counters: &mut QueueCounters, now: Time) {
        let Backlog { packets, bytes } = self.backlog();
        counters.waited(packets, bytes, self.integrated, now);
        self.integrated = now;
    }

    pub fn enqueue(&mut self, packet: Packet, class: usize, around: Lent<'_>) {
        let Lent { now, rng, counters, forwarding } = around;
        self.integrate(counters, now);
        let arriving = Some(counters.arrival_at(row(forwarding, &packet), now));
        let Self { queues, dropped, held, .. } = self;
        *held.of(&packet) += u64::from(packet.len_bytes());
        let mut sink = Counting { counters, forwarding, now, arriving, dropped, held };
        queues.enqueue(class, packet, &mut Cx { now, rng, sink: &mut sink });
        debug_assert_eq!(self.held.bytes.iter().flatten().sum::<u64>(), self.backlog().bytes);
    }

    /// The link is free. Returns the next frame of the classes in `may`, if any.
    pub fn dequeue(&mut self, may: Classes, around: Lent<'_>) -> Option<Packet> {
        let Lent { now, rng, counters, forwarding } = around;
        self.integrate(counters, now);
        let Self { queues, turns, dropped, held, .. } = self;
        let mut sink = Counting { counters: &mut *counters, forwarding, now, arriving: None, dropped, held };
        let (class, packet) = queues.dequeue(&mut Cx { now, rng, sink: &mut sink }, |queues| {
            let candidates = may & set_of(queues, |class| queues.may_send(class, now));
            (candidates != 0).then(|| turns.pick(candidates))
        })?;
        turns.goes(class);
        *held.of(&packet) -= u64::from(packet.len_bytes());
        counters.departure_at(row(forwarding, &packet), packet.time, now);
        Some(packet)
    }
}

/// The classes of `queues` for which `is_in` holds.
fn set_of(queues: &ClassQueues<Packet>, is_in: impl Fn(usize) -> bool) -> Classes {
    (0..queues.len()).fold(0, |set, class| set | u8::from(is_in(class)) << class)
}

/// Queued bytes by input and class.
struct HeldBytes {
    class_mask: u8,
    bytes: Vec<[u64; SharedMemory::CLASSES]>,
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

/// Counts drops and marks, and keeps dropped packets.
struct Counting<'a> {
    counters: &'a mut QueueCounters,
    forwarding: &'a [ForwardingEntry],
    now: Time,
    /// The row of the packet that arrives.
    arriving: Option<usize>,
    dropped: &'a mut Vec<Packet>,
    held: &'a mut HeldBytes,
}

impl Sink<Packet> for Counting<'_> {
    fn dropped(&mut self, packet: Packet, reason: DropReason, queued: bool) {
        let dropped = if queued { Dropped::AfterEnqueue } else { Dropped::OnArrival(self.arriving.take()) };
        self.counters.drop_at(row(self.forwarding, &packet), packet.len_bytes(), reason, self.now, dropped);
        *self.held.of(&packet) -= u64::from(packet.len_bytes());
        self.dropped.push(packet);
    }

    fn marked(&mut self, packet: &Packet, _reason: MarkReason) {
        self.counters.mark_at(row(self.forwarding, packet), self.now);
    }
}
