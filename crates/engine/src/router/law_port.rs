//! An admission law in front of one FIFO, and the link.
//!
//! Admission commits the departure, so the packet is sent on at once, with a future time.

use forebay_qdisc::{Admission, Backlog, DropReason, Limit, Offer, Packet as _, Ticket, Time, Verdict};

use crate::driver::node::{Channels, Node, NodeId};
use crate::driver::ring::Ring;
use crate::driver::routes::PACKETS_AHEAD;
use crate::link::Link;
use crate::observe::interval::{Checkpoint, Checkpoints};
use crate::observe::queue_counters::QueueRecord;
use crate::observe::report::Report;
use crate::observe::reported::QueueReport;
use crate::observe::so_far::{QueueName, Show};
use crate::packet::Packet;

/// A packet that was let in and has not begun its transmission. Two whole words, as [`Packet`] is four.
#[derive(Clone, Copy)]
struct Waiting {
    start: Time,
    /// Length (low half) and ticket (high half).
    content: u64,
}

impl Waiting {
    const fn new(start: Time, len_bytes: u32, ticket: Ticket) -> Self {
        Self { start, content: len_bytes as u64 | (ticket.0 as u64) << 32 }
    }

    const fn len_bytes(self) -> u32 {
        self.content as u32
    }

    const fn ticket(self) -> Ticket {
        Ticket((self.content >> 32) as u32)
    }
}

pub(crate) struct LawPort {
    link: Link,
    checkpoints: Checkpoints,
    record: QueueRecord,
    law: Box<dyn Admission>,
    /// See [`Admission::only_limit`].
    only_limit: Option<Limit>,
    waiting: Ring<Waiting>,
    /// When the first of them begins its transmission.
    next_start: Time,
    backlog: Backlog,
    /// Whether the law has been notified that the link is idle.
    idle: bool,
    /// Whether the law requires notice of departures.
    watched: bool,
}

impl LawPort {
    pub fn new(link: Link, checkpoints: Checkpoints, record: QueueRecord, law: Box<dyn Admission>) -> Self {
        Self {
            watched: law.watches_departures(),
            only_limit: law.only_limit(),
            link,
            checkpoints,
            record,
            law,
            waiting: Ring::default(),
            next_start: Time::NEVER,
            backlog: Backlog::default(),
            idle: true,
        }
    }

    /// Releases the packets whose transmission has begun by `now`, before anything that arrives at `now`; returns what
    /// is left.
    #[inline(always)]
    fn release_until(&mut self, now: Time) -> Backlog {
        let mut backlog = self.backlog;
        while self.next_start <= now
            && let Some(first) = self.waiting.pop()
        {
            backlog.packets -= 1;
            backlog.bytes -= u64::from(first.len_bytes());
            if self.watched {
                self.law.release(first.ticket(), first.len_bytes(), backlog, first.start);
            }
            self.next_start = self.waiting.of_front(|next| next.start, Time::NEVER);
        }
        if self.link.free_at <= now && !self.idle {
            self.idle = true;
            self.law.idle(self.link.free_at);
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
                self.record.counters.begin_measurement(self.backlog.packets);
                continue;
            }
            self.link.sample(at, self.checkpoints.interval());
            let Self { record, law, backlog, .. } = self;
            record.state_bytes = record.state_bytes.max(law.state_bytes());
            if let Some(series) = &mut record.series {
                series.sample(*backlog, record.counters.dropped_total, &|visit| law.gauges(visit));
            }
            for watched in &mut record.watched {
                let key = watched.key();
                watched.series.sample(&|visit| law.flow_gauges(key, visit));
            }
        }
    }

    #[inline]
    fn receive(&mut self, packet: &Packet, channels: &mut Channels) {
        let now = packet.time;
        if self.checkpoints.next() <= now {
            self.sample(now);
        }
        let mut backlog = self.release_until(now);
        let Self { link, record, law, only_limit, waiting, next_start, idle, watched, .. } = self;
        let start = now.max(link.free_at);
        let mut marked = None;
        let verdict = match only_limit {
            Some(limit) if limit.fits(backlog, packet.len_bytes()) => Verdict::Enqueue(Ticket::default()),
            Some(_) => Verdict::Drop(DropReason::Overflow),
            None => law.admit(&packet.arrival(), &mut Offer { now, backlog, rng: &mut record.rng }),
        };
        let ticket = match verdict {
            Verdict::Enqueue(ticket) => ticket,
            Verdict::Mark(ticket, _) => {
                marked = Some(packet.marked());
                ticket
            }
            Verdict::Drop(reason) => {
                record.counters.refuse(packet, reason);
                return channels.release(packet);
            }
        };
        record.counters.let_in(packet, start);
        let packet = match &marked {
            Some(marked) => {
                record.counters.mark(marked, now);
                marked
            }
            None => packet,
        };
        let len_bytes = packet.len_bytes();
        *idle = false;
        if start > now {
            backlog.packets += 1;
            backlog.bytes += u64::from(len_bytes);
            waiting.push(Waiting::new(start, len_bytes, ticket));
            *next_start = start.min(*next_start);
            record.counters.length(backlog.packets, now);
        } else if *watched {
            law.release(ticket, len_bytes, backlog, now);
        }
        link.send(packet, start, channels);
        self.backlog = backlog;
    }
}

impl Node for LawPort {
    fn next(&self) -> Time {
        Time::NEVER
    }

    fn run(&mut self, until: Time, me: NodeId, channels: &mut Channels) -> (Time, Time) {
        let packets = channels.take(me, until);
        let looks_ahead = channels.routes.are_many();
        for (packet, place) in packets.iter().zip(0..) {
            if looks_ahead && let Some(packet) = packets.get(place + PACKETS_AHEAD) {
                channels.routes.prefetch(packet.direction_index());
                self.record.counters.prefetch(packet.direction_index());
            }
            self.receive(packet, channels);
        }
        channels.give_back(packets);
        (self.link.free_at, self.next())
    }

    fn show(&self, show: &mut Show<'_>) {
        self.record.show(QueueName::OfLink(self.link.number()), show);
        self.link.show(show);
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.sample(end);
        self.release_until(end);
        let Self { link, record, law, backlog, .. } = self;
        let name = report.link_name(link.number()).to_owned();
        record.state_bytes = record.state_bytes.max(law.state_bytes());
        report.queue(QueueReport {
            name: &name,
            record,
            backlog: *backlog,
            holds_packets: false,
            flow_gauges: &|key, visit| law.flow_gauges(key, visit),
            port: None,
        });
        report.link(link.finish(&report.measured()));
    }
}

#[cfg(test)]
#[path = "law_port_tests.rs"]
mod tests;
