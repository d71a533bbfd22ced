//! A discipline that holds its packets: it is asked for one at the end of each transmission.
//!
//! An idle port asks after the last arrival of an instant, so that the discipline chooses among all of them.

use forebay_qdisc::{Cx, Discipline, Served, Server, Time, Transmitter};

use crate::driver::node::{Channels, Node, NodeId, just_before};
use crate::driver::routes::PACKETS_AHEAD;
use crate::link::Link;
use crate::observe::interval::{Checkpoint, Checkpoints};
use crate::observe::queue_counters::QueueRecord;
use crate::observe::report::Report;
use crate::observe::reported::QueueReport;
use crate::observe::so_far::{QueueName, Show};
use crate::packet::Packet;
use crate::router::counting_sink::CountingSink;
use crate::router::port_telemetry::PortTelemetry;

/// When a port serves its queue, relative to the arrivals of the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Turn {
    /// At the end of a transmission, or when the discipline asked for it.
    BeforeArrivals,
    /// As an idle port.
    AfterArrivals,
}

pub(crate) struct QueuePort {
    checkpoints: Checkpoints,
    discipline: Box<dyn Discipline<Packet>>,
    server: Server,
    sender: Sender,
    /// An idle port chooses after all arrivals of this time.
    chooses_at: Option<Time>,
}

struct Sender {
    link: Link,
    record: QueueRecord,
    /// Up to when the queue's length has been integrated.
    integrated: Time,
    /// If the network has packets that take telemetry.
    telemetry: Option<PortTelemetry>,
}

impl Sender {
    /// Integrates the queue's length up to `now`; called before each change.
    #[inline]
    fn integrate(&mut self, now: Time, queue: &dyn Discipline<Packet>) {
        let backlog = queue.backlog();
        self.record.counters.waited(backlog.packets, backlog.bytes, self.integrated, now);
        self.integrated = now;
    }
}

/// A sender with the channels that its packets take.
struct Connected<'a> {
    sender: &'a mut Sender,
    channels: &'a mut Channels,
}

impl Transmitter<Packet> for Connected<'_> {
    #[inline]
    fn advance(&mut self, now: Time, queue: &dyn Discipline<Packet>) {
        self.sender.integrate(now, queue);
    }

    #[inline]
    fn ask(&mut self, now: Time, queue: &mut dyn Discipline<Packet>) -> Served<Packet> {
        let is_last_hop = self.sender.link.leads_to_host();
        let QueueRecord { counters, rng, .. } = &mut self.sender.record;
        let mut sink = CountingSink { counters, channels: self.channels, now, arriving: None, is_last_hop };
        let served = queue.dequeue(&mut Cx { now, rng, sink: &mut sink });
        if let Some(telemetry) = &mut self.sender.telemetry {
            telemetry.queued_bytes = queue.backlog().bytes;
        }
        served
    }

    #[inline]
    fn transmit(&mut self, packet: Packet, now: Time) -> Time {
        let Self { sender: Sender { link, record, telemetry, .. }, channels } = self;
        record.counters.departure(&packet, now);
        if let Some(telemetry) = telemetry {
            telemetry.sends(&packet, now, link.rate(), &mut channels.tables);
        }
        link.send(&packet, now, channels);
        link.free_at
    }
}

impl QueuePort {
    pub fn new(
        link: Link,
        checkpoints: Checkpoints,
        record: QueueRecord,
        discipline: Box<dyn Discipline<Packet>>,
    ) -> Self {
        let sender = Sender { link, record, integrated: Time::ZERO, telemetry: None };
        Self { checkpoints, discipline, server: Server::default(), sender, chooses_at: None }
    }

    /// From now on, appends telemetry to the packets that take it.
    pub fn enable_telemetry(&mut self) {
        self.sender.telemetry = Some(PortTelemetry::default());
    }

    /// Serves everything that comes before the arrivals at `now`.
    fn catch_up(&mut self, now: Time, channels: &mut Channels) {
        if let Some(at) = self.chooses_at {
            if at >= now {
                return;
            }
            self.choose(at, channels);
        }
        let Self { server, discipline, sender, .. } = self;
        server.run_until(now, &mut **discipline, &mut Connected { sender, channels });
    }

    fn choose(&mut self, at: Time, channels: &mut Channels) {
        self.chooses_at = None;
        let Self { server, discipline, sender, .. } = self;
        if !server.is_sending() {
            server.serve(at, &mut **discipline, &mut Connected { sender, channels });
        }
    }

    /// The time of the next departure, and whether it comes after the arrivals of that time. An empty queue has none:
    /// the next arrival looks at the link.
    pub fn next_departure(&self) -> (Time, Turn) {
        match self.chooses_at {
            Some(at) => (at, Turn::AfterArrivals),
            None if self.discipline.backlog().packets > 0 => {
                (self.server.next().unwrap_or(Time::NEVER), Turn::BeforeArrivals)
            }
            None => (Time::NEVER, Turn::BeforeArrivals),
        }
    }

    /// Sends the packets that are due up to `last`.
    pub fn expire(&mut self, last: (Time, Turn), channels: &mut Channels) {
        loop {
            let next = self.next_departure();
            if next > last {
                return;
            }
            if self.checkpoints.next() <= next.0 {
                self.sample(next.0, channels);
            }
            match self.chooses_at {
                Some(at) => self.choose(at, channels),
                None => self.catch_up(next.0, channels),
            }
        }
    }

    #[cold]
    fn sample(&mut self, now: Time, channels: &mut Channels) {
        while let Some((at, due)) = self.checkpoints.take(now) {
            self.catch_up(Time::from_picoseconds(at.picoseconds().saturating_sub(1)), channels);
            if due == Checkpoint::WarmUp {
                self.sender.record.counters.begin_measurement(self.discipline.backlog().packets);
                continue;
            }
            let Self { sender: Sender { link, record, .. }, discipline, .. } = self;
            link.sample(at, self.checkpoints.interval());
            record.state_bytes = record.state_bytes.max(discipline.state_bytes());
            if let Some(series) = &mut record.series {
                series.sample(discipline.backlog(), record.counters.dropped_total, &|visit| discipline.gauges(visit));
            }
            for watched in &mut record.watched {
                let key = watched.key();
                watched.series.sample(&|visit| discipline.flow_gauges(key, visit));
            }
        }
    }

    pub fn receive(&mut self, packet: &Packet, channels: &mut Channels) {
        let now = packet.time;
        if self.checkpoints.next() <= now {
            self.sample(now, channels);
        }
        self.catch_up(now, channels);
        let Self { discipline, server, sender, chooses_at, .. } = self;
        sender.integrate(now, &**discipline);
        let QueueRecord { counters, rng, .. } = &mut sender.record;
        let arriving = Some(counters.arrival(packet));
        let is_last_hop = sender.link.leads_to_host();
        let mut sink = CountingSink { counters, channels, now, arriving, is_last_hop };
        discipline.enqueue(*packet, &mut Cx { now, rng, sink: &mut sink });
        if !server.is_sending() {
            *chooses_at = Some(now);
        }
        counters.length(discipline.backlog().packets, now);
    }

    pub fn show_series(&self, show: &mut Show<'_>) {
        let Sender { link, record, .. } = &self.sender;
        record.show(QueueName::OfLink(link.number()), show);
        link.show(show);
    }

    pub fn hand_in(&mut self, end: Time, report: &mut Report) {
        // All that is left is to tell an empty queue that the link came free.
        let mut channels = Channels::nowhere(report.measured());
        self.sample(end, &mut channels);
        self.expire((end, Turn::AfterArrivals), &mut channels);
        self.catch_up(end, &mut channels);
        let Self { sender, discipline, .. } = self;
        sender.integrate(end, &**discipline);
        let Sender { link, record, .. } = sender;
        let backlog = discipline.backlog();
        let name = report.link_name(link.number()).to_owned();
        record.state_bytes = record.state_bytes.max(discipline.state_bytes());
        report.queue(QueueReport {
            name: &name,
            record,
            backlog,
            holds_packets: true,
            flow_gauges: &|key, visit| discipline.flow_gauges(key, visit),
            port: None,
        });
        report.link(link.finish(&report.measured()));
    }
}

impl Node for QueuePort {
    fn next(&self) -> Time {
        self.next_departure().0
    }

    fn run(&mut self, until: Time, me: NodeId, channels: &mut Channels) -> (Time, Time) {
        let packets = channels.take(me, until);
        if channels.routes.are_many() {
            // These are few: a port has a turn about once in the delay of a link.
            let ahead = packets.len().min(2 * PACKETS_AHEAD);
            self.sender.record.counters.prefetch_arrivals(&packets[..ahead]);
        }
        for packet in &packets {
            self.receive(packet, channels);
        }
        channels.give_back(packets);
        self.expire((just_before(until), Turn::AfterArrivals), channels);
        (if self.server.is_sending() { self.sender.link.free_at } else { until }, self.next())
    }

    fn show(&self, show: &mut Show<'_>) {
        self.show_series(show);
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.hand_in(end, report);
    }
}

#[cfg(test)]
#[path = "queue_port_tests.rs"]
pub(super) mod tests;
