//! The queue of an output of an Ethernet switch under one discipline, or under one per class.

use forebay_qdisc::{Backlog, Cx, Discipline, DropReason, MarkReason, Queue, Rng, Sink, Time};
use forebay_switching::SharedMemory;

use crate::ethernet::class_turns::{ClassTurns, Classes};
use crate::ethernet::forwarding::ForwardingEntry;
use crate::observe::queue_book::{Books, Dropped, QueueBook};
use crate::packet::Packet;

/// The disciplines of an output. As at any port, a discipline is called when the link is free, and told when the link
/// comes free and nothing is left to send.
pub(crate) struct ManagedQueues {
    /// One, or one per class.
    disciplines: Vec<Box<dyn Discipline<Packet>>>,
    /// Whether they are a single FIFO behind a law, so that later arrivals cannot go first.
    pub is_fifo: bool,
    turns: ClassTurns,
    occupied: Classes,
    /// The class of the frame on the link, until its discipline has been called again.
    sending: Option<usize>,
    /// Dropped packets that still hold memory.
    pub dropped: Vec<Packet>,
    /// Queued bytes by input and class.
    held_bytes: Vec<[u64; SharedMemory::CLASSES]>,
    /// Upper limit of the integral of the queue length.
    integrated: Time,
}

pub(crate) struct ManagedParts {
    /// One, or one per class.
    pub disciplines: Vec<Box<dyn Discipline<Packet>>>,
    /// Whether they are a single FIFO behind a law.
    pub is_fifo: bool,
    /// Counters of the port.
    pub books: Books,
}

impl ManagedParts {
    pub fn new(queues: Vec<Queue<Packet>>, books: Books) -> Self {
        let is_fifo = matches!(queues[..], [Queue::Law(_)]);
        Self { disciplines: queues.into_iter().map(Queue::into_discipline).collect(), is_fifo, books }
    }
}

/// The parts that a port lends its disciplines for a call.
pub(crate) struct Lent<'a> {
    pub now: Time,
    pub rng: &'a mut dyn Rng,
    pub book: &'a mut QueueBook,
    /// The rows of the book.
    pub forwarding: &'a [ForwardingEntry],
}

impl ManagedQueues {
    pub fn new(
        disciplines: Vec<Box<dyn Discipline<Packet>>>,
        is_fifo: bool,
        ports: usize,
        strict_priority: bool,
    ) -> Self {
        Self {
            disciplines,
            is_fifo,
            turns: ClassTurns::new(strict_priority),
            occupied: 0,
            sending: None,
            dropped: Vec::new(),
            held_bytes: vec![[0; SharedMemory::CLASSES]; ports],
            integrated: Time::ZERO,
        }
    }

    pub fn occupied(&self) -> Classes {
        self.occupied
    }

    /// Whether a discipline must be called when the transmission ends.
    pub fn is_sending(&self) -> bool {
        self.sending.is_some()
    }

    /// When the next discipline that holds its frames wants to be called again, among the classes in `may`.
    /// [`Time::NEVER`] if none does.
    pub fn poll_at(&self, may: Classes) -> Time {
        let waits = self.disciplines.iter().enumerate().filter(|(class, _)| self.occupied & may & 1 << class != 0);
        waits.filter_map(|(_, discipline)| discipline.poll_at()).min().unwrap_or(Time::NEVER)
    }

    pub fn backlog(&self) -> Backlog {
        self.disciplines.iter().fold(Backlog::default(), |sum, discipline| {
            let Backlog { packets, bytes } = discipline.backlog();
            Backlog { packets: sum.packets + packets, bytes: sum.bytes + bytes }
        })
    }

    pub fn held_bytes(&self) -> &[[u64; SharedMemory::CLASSES]] {
        &self.held_bytes
    }

    /// Memory of the disciplines' own state.
    pub fn state_bytes(&self) -> u64 {
        self.disciplines.iter().map(|discipline| discipline.state_bytes()).sum()
    }

    /// The discipline, if there is only one. Then its gauges describe the whole queue.
    pub fn only(&self) -> Option<&dyn Discipline<Packet>> {
        if let [only] = &self.disciplines[..] { Some(&**only) } else { None }
    }

    /// Updates the integral of the queue length. To be called before each change.
    pub fn integrate(&mut self, book: &mut QueueBook, now: Time) {
        let Backlog { packets, bytes } = self.backlog();
        book.waited(packets, bytes, self.integrated, now);
        self.integrated = now;
    }

    pub fn enqueue(&mut self, packet: Packet, class: usize, mut around: Lent<'_>) {
        self.integrate(around.book, around.now);
        let arriving = Some(around.book.arrival_at(around.row(&packet), around.now));
        self.held_bytes[input_of(&packet)][class] += u64::from(packet.len_bytes());
        self.ask(class, &mut around, arriving, |discipline, cx| discipline.enqueue(packet, cx));
        debug_assert_eq!(self.held_bytes.iter().flatten().sum::<u64>(), self.backlog().bytes);
    }

    /// The link is free. Returns the next frame of the classes in `may`, if any.
    pub fn dequeue(&mut self, may: Classes, mut around: Lent<'_>) -> Option<Packet> {
        self.integrate(around.book, around.now);
        // The discipline that sent last must know that the link came free, even if it is empty.
        let last = self.sending.take().filter(|class| self.occupied & 1 << class == 0);
        if let Some(class) = last {
            self.ask(class, &mut around, None, |discipline, cx| discipline.dequeue(cx));
        }
        let mut candidates = self.occupied & may;
        while candidates != 0 {
            let class = self.turns.pick(candidates);
            if let Some(packet) = self.ask(class, &mut around, None, |discipline, cx| discipline.dequeue(cx)) {
                self.turns.goes(class);
                self.sending = Some(class);
                self.held_bytes[input_of(&packet)][class] -= u64::from(packet.len_bytes());
                around.book.departure_at(around.row(&packet), packet.time, around.now);
                return Some(packet);
            }
            candidates &= !(1 << class);
        }
        None
    }

    fn ask<T>(
        &mut self,
        class: usize,
        around: &mut Lent<'_>,
        arriving: Option<usize>,
        call: impl FnOnce(&mut dyn Discipline<Packet>, &mut Cx<'_, Packet>) -> T,
    ) -> T {
        let Self { disciplines, occupied, dropped, held_bytes, .. } = self;
        let Lent { now, rng, book, forwarding } = around;
        let mut sink = Booked { book, forwarding, now: *now, class, arriving, dropped, held_bytes };
        let discipline = &mut *disciplines[class];
        let answer = call(discipline, &mut Cx { now: *now, rng: &mut **rng, sink: &mut sink });
        let bit = 1 << class;
        *occupied = if discipline.backlog().packets > 0 { *occupied | bit } else { *occupied & !bit };
        answer
    }
}

impl Lent<'_> {
    fn row(&self, packet: &Packet) -> usize {
        self.forwarding[packet.direction_index()].row() as usize
    }
}

/// Books drops and marks, and keeps dropped packets.
struct Booked<'a> {
    book: &'a mut QueueBook,
    forwarding: &'a [ForwardingEntry],
    now: Time,
    /// Class of the discipline.
    class: usize,
    /// The row of the packet that arrives.
    arriving: Option<usize>,
    dropped: &'a mut Vec<Packet>,
    held_bytes: &'a mut [[u64; SharedMemory::CLASSES]],
}

impl Sink<Packet> for Booked<'_> {
    fn dropped(&mut self, packet: Packet, reason: DropReason, queued: bool) {
        let row = self.forwarding[packet.direction_index()].row();
        let dropped = if queued { Dropped::AfterEnqueue } else { Dropped::OnArrival(self.arriving.take()) };
        self.book.drop_at(row as usize, packet.len_bytes(), reason, self.now, dropped);
        self.held_bytes[input_of(&packet)][self.class] -= u64::from(packet.len_bytes());
        self.dropped.push(packet);
    }

    fn marked(&mut self, packet: &Packet, _reason: MarkReason) {
        self.book.mark_at(self.forwarding[packet.direction_index()].row() as usize, self.now);
    }
}

fn input_of(packet: &Packet) -> usize {
    usize::from(forebay_qdisc::Packet::input_port(packet))
}
