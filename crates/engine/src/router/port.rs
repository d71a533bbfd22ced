//! A queue with its link: the output port of a host or a router.
//!
//! Two kinds share the link ([`Wire`]; a wire alone is an unlimited FIFO without books, for links that no scenario
//! describes and that are not observed):
//! - [`LawPort`]: an admission law in front of one FIFO. What is let in is settled on arrival, and so is when it
//!   leaves, so the packet goes to its lane at once and no event marks the end of a transmission;
//! - [`QueuePort`]: a discipline that holds its packets, asked at the end of each transmission.

use forebay_qdisc::{Admission, Backlog, Cx, Discipline, Offer, Packet as _, Ticket, Time, Verdict};

use crate::driver::process::{LazyTimer, Outbox, Process};
use crate::driver::ring::Ring;
use crate::link::Wire;
use crate::observe::queue_book::{BookSink, Books};
use crate::observe::report::{QueueReport, Report};
use crate::observe::window::{Checkpoint, Checkpoints};
use crate::packet::Packet;

/// A packet that was let in and has not begun its transmission.
#[derive(Clone, Copy)]
struct Waiting {
    start: Time,
    len_bytes: u32,
    ticket: Ticket,
}

/// An admission law, its FIFO queue and the link.
pub(crate) struct LawPort {
    wire: Wire,
    checkpoints: Checkpoints,
    books: Books,
    law: Box<dyn Admission>,
    waiting: Ring<Waiting>,
    backlog: Backlog,
    /// Whether the law has been told that the link is idle.
    idle: bool,
    /// Whether the law wants to be told of departures.
    watched: bool,
}

impl LawPort {
    pub fn new(wire: Wire, checkpoints: Checkpoints, books: Books, law: Box<dyn Admission>) -> Self {
        Self {
            watched: law.watches_departures(),
            wire,
            checkpoints,
            books,
            law,
            waiting: Ring::default(),
            backlog: Backlog::default(),
            idle: true,
        }
    }

    /// Releases the packets whose transmission has begun by `now`, and returns what is left. One that begins at `now`
    /// has left the queue before anything that arrives at `now`.
    #[inline(always)]
    fn release_until(&mut self, now: Time) -> Backlog {
        let mut backlog = self.backlog;
        while let Some(first) = self.waiting.front() {
            if first.start > now {
                break;
            }
            backlog.packets -= 1;
            backlog.bytes -= u64::from(first.len_bytes);
            if self.watched {
                self.law.release(first.ticket, first.len_bytes, backlog, first.start);
            }
            self.waiting.pop();
        }
        if self.wire.free_at <= now && !self.idle {
            self.idle = true;
            self.law.idle(self.wire.free_at);
        }
        self.backlog = backlog;
        debug_assert_eq!(self.waiting.len() as u64, backlog.packets);
        backlog
    }

    #[cold]
    fn sample(&mut self, now: Time) {
        while let Some((at, due)) = self.checkpoints.take(now) {
            self.release_until(Time::from_picoseconds(at.picoseconds().saturating_sub(1)));
            if due == Checkpoint::WarmUp {
                self.books.book.begin_measurement(self.backlog.packets);
                continue;
            }
            self.wire.sample(at, self.checkpoints.interval());
            let Self { books, law, backlog, .. } = self;
            books.state_bytes = books.state_bytes.max(law.state_bytes());
            if let Some(series) = &mut books.series {
                series.sample(*backlog, books.book.dropped_total, &|visit| law.gauges(visit));
            }
            for watched in &mut books.watched {
                let key = watched.key();
                watched.series.sample(&|visit| law.flow_gauges(key, visit));
            }
        }
    }
}

impl Process for LawPort {
    fn receive(&mut self, packet: &Packet, out: &mut Outbox) {
        let now = packet.time;
        if self.checkpoints.next() <= now {
            self.sample(now);
        }
        if self.wire.loses(packet, &out.window) {
            return out.release(packet);
        }
        let mut backlog = self.release_until(now);
        let Self { wire, books, law, waiting, idle, .. } = self;
        let start = now.max(wire.free_at);
        let mut marked = None;
        let ticket = match law.admit(&packet.arrival(), &mut Offer { now, backlog, rng: &mut books.rng }) {
            Verdict::Enqueue(ticket) => ticket,
            Verdict::Mark(ticket, _) => {
                marked = Some(packet.marked());
                ticket
            }
            Verdict::Drop(reason) => {
                books.book.arrival(packet);
                books.book.drop(packet, reason, now);
                return out.release(packet);
            }
        };
        books.book.let_in(packet, start);
        let packet = match &marked {
            Some(marked) => {
                books.book.mark(marked, now);
                marked
            }
            None => packet,
        };
        let len_bytes = packet.len_bytes();
        *idle = false;
        if start > now {
            backlog.packets += 1;
            backlog.bytes += u64::from(len_bytes);
            waiting.push(Waiting { start, len_bytes, ticket });
            books.book.length(backlog.packets, now);
        } else {
            law.release(ticket, len_bytes, backlog, now);
        }
        let sent = wire.transmit(packet, start, &out.window, &out.sacks);
        self.backlog = backlog;
        out.send(sent);
    }

    fn prefetch(&self, direction: usize) {
        self.books.book.prefetch(direction);
    }

    fn expire(&mut self, _now: Time, _out: &mut Outbox) {}

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.sample(end);
        self.release_until(end);
        let Self { wire, books, law, backlog, .. } = self;
        books.state_bytes = books.state_bytes.max(law.state_bytes());
        report.queue(QueueReport {
            name: wire.name(),
            books,
            backlog: *backlog,
            holds_packets: false,
            flow_gauges: &|key, visit| law.flow_gauges(key, visit),
        });
        report.link(wire.finish(&report.window()));
    }
}

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
    timer: LazyTimer,
}

impl QueuePort {
    pub fn new(wire: Wire, checkpoints: Checkpoints, books: Books, discipline: Box<dyn Discipline<Packet>>) -> Self {
        Self { wire, checkpoints, books, discipline, busy: false, integrated: Time::ZERO, timer: LazyTimer::default() }
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
    fn serve(&mut self, now: Time, out: &mut Outbox) {
        self.integrate(now);
        let Self { wire, books, discipline, busy, .. } = self;
        let mut sink = BookSink { book: &mut books.book, sacks: &mut out.sacks, now };
        let next = discipline.dequeue(&mut Cx { now, rng: &mut books.rng, sink: &mut sink });
        *busy = next.is_some();
        if let Some(packet) = next {
            books.book.departure(&packet, now);
            let sent = wire.transmit(&packet, now, &out.window, &out.sacks);
            out.send(sent);
        }
    }

    /// Does what was due strictly before or at `now`.
    fn catch_up(&mut self, now: Time, out: &mut Outbox) {
        loop {
            let deadline = self.deadline();
            if deadline > now {
                return;
            }
            self.serve(deadline, out);
            // A shaper that asks to be polled again at once has to make progress; a later poll comes with the timer.
            if !self.busy && self.deadline() <= deadline {
                return;
            }
        }
    }

    /// Asks for a wake-up where packets wait; an empty queue needs none, for the next arrival looks at the link itself.
    fn rearm(&mut self, out: &mut Outbox) {
        if self.discipline.backlog().packets > 0 {
            let deadline = self.deadline();
            if deadline < Time::NEVER {
                self.timer.ensure(deadline, out);
            }
        }
    }

    #[cold]
    fn sample(&mut self, now: Time, out: &mut Outbox) {
        while let Some((at, due)) = self.checkpoints.take(now) {
            self.catch_up(Time::from_picoseconds(at.picoseconds().saturating_sub(1)), out);
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
}

impl Process for QueuePort {
    fn receive(&mut self, packet: &Packet, out: &mut Outbox) {
        let now = packet.time;
        if self.checkpoints.next() <= now {
            self.sample(now, out);
        }
        if self.wire.loses(packet, &out.window) {
            return out.release(packet);
        }
        self.catch_up(now, out);
        self.integrate(now);
        let Self { books, discipline, .. } = self;
        books.book.arrival(packet);
        let mut sink = BookSink { book: &mut books.book, sacks: &mut out.sacks, now };
        discipline.enqueue(*packet, &mut Cx { now, rng: &mut books.rng, sink: &mut sink });
        if !self.busy {
            self.serve(now, out);
        }
        let queued = self.discipline.backlog().packets;
        let book = &mut self.books.book;
        book.length(queued, now);
        debug_assert_eq!(book.arrived_total(), book.dropped_total + book.departed_total() + queued);
        self.rearm(out);
    }

    fn expire(&mut self, now: Time, out: &mut Outbox) {
        if self.timer.woken(now) {
            if self.checkpoints.next() <= now {
                self.sample(now, out);
            }
            self.catch_up(now, out);
            self.rearm(out);
        }
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        let mut out = Outbox::new(report.window());
        self.sample(end, &mut out);
        // What is queued has been woken for; an empty queue has yet to be told that the link came free.
        self.catch_up(end, &mut out);
        self.integrate(end);
        let Self { wire, books, discipline, .. } = self;
        let backlog = discipline.backlog();
        books.state_bytes = books.state_bytes.max(discipline.state_bytes());
        report.queue(QueueReport {
            name: wire.name(),
            books,
            backlog,
            holds_packets: true,
            flow_gauges: &|key, visit| discipline.flow_gauges(key, visit),
        });
        report.link(wire.finish(&report.window()));
    }
}
