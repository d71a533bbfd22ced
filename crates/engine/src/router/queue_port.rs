//! A discipline that holds its packets, and the link: it is asked for a packet at the end of each transmission.

use forebay_qdisc::{Cx, Discipline, Span, Time};

use crate::driver::node::{Lanes, Node, NodeId};
use crate::link::Wire;
use crate::observe::handed_in::QueueReport;
use crate::observe::interval::{Checkpoint, Checkpoints};
use crate::observe::queue_book::{BookSink, Books};
use crate::observe::report::Report;
use crate::packet::Packet;

/// A discipline that holds its packets, and the link.
pub(crate) struct QueuePort {
    wire: Wire,
    checkpoints: Checkpoints,
    books: Books,
    discipline: Box<dyn Discipline<Packet>>,
    /// Whether a packet is on the wire, or its end has not been looked at.
    busy: bool,
    /// Up to when the queue's length has been integrated.
    integrated: Time,
}

impl QueuePort {
    pub fn new(wire: Wire, checkpoints: Checkpoints, books: Books, discipline: Box<dyn Discipline<Packet>>) -> Self {
        Self { wire, checkpoints, books, discipline, busy: false, integrated: Time::ZERO }
    }

    /// When the discipline has to be asked next, if no packet arrives before.
    fn deadline(&self) -> Time {
        if self.busy { self.wire.free_at } else { self.discipline.poll_at().unwrap_or(Time::NEVER) }
    }

    /// Adds the time since the last change to the integral of the queue's length. Called before each change.
    #[inline]
    fn integrate(&mut self, now: Time) {
        let backlog = self.discipline.backlog();
        self.books.book.waited(backlog.packets, backlog.bytes, self.integrated, now);
        self.integrated = now;
    }

    /// The link is free at `now`: sends the next packet, if there is one.
    fn serve(&mut self, now: Time, lanes: &mut Lanes) {
        self.integrate(now);
        let Self { wire, books, discipline, busy, .. } = self;
        let mut sink = BookSink { book: &mut books.book, sacks: &mut lanes.sacks, now };
        let next = discipline.dequeue(&mut Cx { now, rng: &mut books.rng, sink: &mut sink });
        *busy = next.is_some();
        if let Some(packet) = next {
            books.book.departure(&packet, now);
            let sent = wire.transmit(&packet, now, &lanes.measured, &lanes.sacks);
            lanes.send(sent);
        }
    }

    /// Does what was due strictly before or at `now`.
    fn catch_up(&mut self, now: Time, lanes: &mut Lanes) {
        loop {
            let deadline = self.deadline();
            if deadline > now {
                return;
            }
            self.serve(deadline, lanes);
            // A shaper that asks to be polled again at once has to make progress; a later poll comes with the timer.
            if !self.busy && self.deadline() <= deadline {
                return;
            }
        }
    }

    /// When a packet that waits may go next. An empty queue waits for an arrival, which looks at the link itself.
    pub fn next_departure(&self) -> Time {
        if self.discipline.backlog().packets > 0 { self.deadline() } else { Time::NEVER }
    }

    /// Sends what is due up to `now`, where packets wait.
    pub fn expire(&mut self, now: Time, lanes: &mut Lanes) {
        while self.next_departure() <= now {
            if self.checkpoints.next() <= now {
                self.sample(now, lanes);
            }
            self.catch_up(now, lanes);
        }
    }

    #[cold]
    fn sample(&mut self, now: Time, lanes: &mut Lanes) {
        while let Some((at, due)) = self.checkpoints.take(now) {
            self.catch_up(Time::from_picoseconds(at.picoseconds().saturating_sub(1)), lanes);
            if due == Checkpoint::WarmUp {
                self.books.book.begin_measurement(self.discipline.backlog().packets);
                continue;
            }
            self.wire.sample(at, self.checkpoints.interval());
            let Self { books, discipline, .. } = self;
            books.state_bytes = books.state_bytes.max(discipline.state_bytes());
            if let Some(series) = &mut books.series {
                series.sample(discipline.backlog(), books.book.dropped_total, &|visit| discipline.gauges(visit));
            }
            for watched in &mut books.watched {
                let key = watched.key();
                watched.series.sample(&|visit| discipline.flow_gauges(key, visit));
            }
        }
    }

    pub fn receive(&mut self, packet: &Packet, lanes: &mut Lanes) {
        let now = packet.time;
        if self.checkpoints.next() <= now {
            self.sample(now, lanes);
        }
        if self.wire.loses(packet, &lanes.measured) {
            return lanes.release(packet);
        }
        self.catch_up(now, lanes);
        self.integrate(now);
        let Self { books, discipline, .. } = self;
        books.book.arrival(packet);
        let mut sink = BookSink { book: &mut books.book, sacks: &mut lanes.sacks, now };
        discipline.enqueue(*packet, &mut Cx { now, rng: &mut books.rng, sink: &mut sink });
        if !self.busy {
            self.serve(now, lanes);
        }
        let queued = self.discipline.backlog().packets;
        let book = &mut self.books.book;
        book.length(queued, now);
        debug_assert_eq!(book.arrived_total(), book.dropped_total + book.departed_total() + queued);
    }

    pub fn hand_in(&mut self, end: Time, report: &mut Report) {
        // All that waited has had its turn: what is left to do is to tell an empty queue that the link came free.
        let mut lanes = Lanes::nowhere(report.measured());
        self.sample(end, &mut lanes);
        self.catch_up(end, &mut lanes);
        self.integrate(end);
        let Self { wire, books, discipline, .. } = self;
        let backlog = discipline.backlog();
        let name = report.link_name(wire.number()).to_owned();
        books.state_bytes = books.state_bytes.max(discipline.state_bytes());
        report.queue(QueueReport {
            name: &name,
            books,
            backlog,
            holds_packets: true,
            flow_gauges: &|key, visit| discipline.flow_gauges(key, visit),
        });
        report.link(wire.finish(&report.measured()));
    }
}

impl Node for QueuePort {
    fn next(&self) -> Time {
        self.next_departure()
    }

    fn run(&mut self, until: Time, me: NodeId, lanes: &mut Lanes) -> Time {
        let packets = lanes.take(me, until);
        for packet in &packets {
            self.receive(packet, lanes);
        }
        lanes.give_back(packets);
        self.expire(until - Span::from_picoseconds(1), lanes);
        if self.busy { self.wire.free_at } else { until }
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.hand_in(end, report);
    }
}
