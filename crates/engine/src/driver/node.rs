//! The objects of the driver: nodes, and the channels between them.

use std::sync::Arc;

use forebay_qdisc::{Span, Time};

use crate::driver::agenda::Agenda;
use crate::driver::inbox::{Arrivals, Inbox};
use crate::driver::pool::Pool;
use crate::driver::routes::{Routes, Way};
use crate::driver::ties::Salts;
use crate::observe::interval::MeasuredInterval;
use crate::observe::report::Report;
use crate::observe::so_far::Show;
use crate::packet::Packet;
use crate::packet::side_tables::{Detached, SideTables};

pub(crate) use crate::driver::routes::NodeId;

/// A part of the network that runs by itself as far as its arrivals are known. At one time its timers come before
/// arrivals, these in the order of [`Salts`], and idle ports choose after all arrivals.
pub(crate) trait Node: Send {
    /// Does what comes before time zero: an endpoint is ahead of its node by the delay of its downlink.
    fn start(&mut self, _me: NodeId, _channels: &mut Channels) {}

    /// The time at which it is due without an arrival.
    fn next(&self) -> Time;

    /// Does everything before `until`. Returns how long its link is busy with committed packets (before that, and
    /// before `until`, it begins to send nothing more), and when it is due next without an arrival.
    fn run(&mut self, until: Time, me: NodeId, channels: &mut Channels) -> (Time, Time);

    /// Commits nothing ahead of time: the same results, slower.
    #[cfg(feature = "oracle")]
    fn decide_nothing_ahead(&mut self) {}

    /// Shows the time series so far.
    fn show(&self, _show: &mut Show<'_>) {}

    /// Brings the counters up to `end` and reports them.
    fn finish(&mut self, end: Time, report: &mut Report);
}

/// The last time before `time`, which must not be zero.
pub(crate) fn just_before(time: Time) -> Time {
    time - Span::from_picoseconds(1)
}

/// A node on its way into the driver, and how its packets come.
pub(crate) struct PlacedNode {
    pub node: Box<dyn Node>,
    pub arrivals: Arrivals,
}

/// The channels between nodes: the packets on their way, and when each node is due.
pub(crate) struct Channels {
    pub routes: Routes,
    inboxes: Vec<Inbox>,
    /// The salts of each node's inputs.
    salts: Arc<[Salts]>,
    pub agenda: Agenda,
    bucket_bits: u32,
    pool: Pool,
    pub measured: MeasuredInterval,
    /// Data of packets that does not fit into them.
    pub tables: SideTables,
    /// Packets on their way at the end, by (flow, direction).
    in_flight: Vec<u64>,
    pub taken: u64,
    /// Packets of sources that do not wait for answers.
    pub generated: u64,
}

impl Channels {
    /// See [`Calendar`](crate::driver::calendar::Calendar) for `bucket_bits`.
    pub fn new(
        routes: Routes,
        arrivals: &[Arrivals],
        bucket_bits: u32,
        tables: SideTables,
        measured: MeasuredInterval,
    ) -> Self {
        Self {
            inboxes: arrivals.iter().map(|arrivals| Inbox::new(arrivals, bucket_bits)).collect(),
            salts: arrivals.iter().map(|arrivals| arrivals.salts().clone()).collect(),
            agenda: Agenda::new(arrivals.len()),
            bucket_bits,
            pool: Pool::default(),
            in_flight: vec![0; routes.destinations.len()],
            routes,
            measured,
            tables,
            taken: 0,
            generated: 0,
        }
    }

    /// The channels of one thread: packets for nodes `elsewhere` are kept to be handed over.
    pub fn of_thread(&self, elsewhere: impl Fn(NodeId) -> bool) -> Self {
        let inbox = |(inbox, node): (&Inbox, NodeId)| {
            if elsewhere(node) { Inbox::elsewhere() } else { inbox.empty(&self.salts[node as usize], self.bucket_bits) }
        };
        Self {
            routes: self.routes.clone(),
            inboxes: self.inboxes.iter().zip(0..).map(inbox).collect(),
            salts: Arc::clone(&self.salts),
            agenda: Agenda::new(self.inboxes.len()),
            bucket_bits: self.bucket_bits,
            pool: Pool::default(),
            measured: self.measured,
            tables: self.tables.of_thread(),
            in_flight: vec![0; self.in_flight.len()],
            taken: 0,
            generated: 0,
        }
    }

    /// Packets that were taken or generated so far: a measure of the work.
    pub fn work(&self) -> u64 {
        self.taken + self.generated
    }

    /// The packets for a node on another thread.
    pub fn outgoing(&mut self, node: NodeId) -> Option<&mut Vec<Packet>> {
        self.inboxes[node as usize].outgoing()
    }

    /// Adds packets from another thread.
    pub fn accept(&mut self, node: NodeId, packets: impl Iterator<Item = Packet>, detached: &mut Detached) {
        let Self { agenda, inboxes, pool, tables, .. } = self;
        for packet in packets.map(|packet| tables.attach(packet, detached)) {
            agenda.add(node, packet.time);
            inboxes[node as usize].push(packet, pool);
        }
    }

    /// Adds the counts of a thread that has ended.
    pub fn join(&mut self, ended: &Self) {
        self.taken += ended.taken;
        for (all, packets) in self.in_flight.iter_mut().zip(&ended.in_flight) {
            *all += packets;
        }
    }

    /// Channels that lead nowhere, for the end of the run.
    pub fn nowhere(measured: MeasuredInterval) -> Self {
        Self::new(Routes::default(), &[], 0, SideTables::default(), measured)
    }

    /// Sends a packet on its way, whose end it reaches at `packet.time`.
    #[inline(always)]
    pub fn send(&mut self, way: Way, packet: Packet) {
        if packet.time > self.measured.to {
            return self.count_in_flight(&packet);
        }
        let node = self.routes.next(way, &packet, &self.tables);
        let time = packet.time;
        if self.inboxes[node as usize].push(packet, &mut self.pool) {
            self.agenda.add(node, time);
        }
    }

    /// The same, mostly to a node whose packets come in order on each link.
    #[inline(always)]
    pub fn send_by_link(&mut self, way: Way, packet: Packet) {
        if packet.time > self.measured.to {
            return self.count_in_flight(&packet);
        }
        let node = self.routes.next(way, &packet, &self.tables);
        let time = packet.time;
        if self.inboxes[node as usize].push_by_link(packet, &mut self.pool) {
            self.agenda.add(node, time);
        }
    }

    /// A packet is on its way at the end.
    #[cold]
    #[inline(never)]
    pub fn count_in_flight(&mut self, packet: &Packet) {
        self.in_flight[packet.direction_index()] += 1;
        self.tables.release(packet);
    }

    /// Frees the data of a packet that ends here.
    #[inline]
    pub fn release(&mut self, packet: &Packet) {
        self.tables.release(packet);
    }

    /// A node has run, and is due by itself at `next`.
    #[inline]
    pub fn plan(&mut self, node: NodeId, next: Time) {
        self.agenda.set(node, next.min(self.inboxes[node as usize].next()));
    }

    /// Takes the arrivals before `until`, in their order. [Give the vector back](Channels::give_back) after use.
    #[inline]
    pub fn take(&mut self, node: NodeId, until: Time) -> Vec<Packet> {
        let Self { inboxes, pool, salts, taken, .. } = self;
        let salts = &salts[node as usize];
        let come_after = |one: &Packet, other: &Packet| salts.come_after(one.input(), other.input(), one.time);
        let packets = inboxes[node as usize].take(until, pool, come_after);
        *taken += packets.len() as u64;
        packets
    }

    /// A node that links lead to runs until then.
    #[inline]
    pub fn close(&mut self, node: NodeId, until: Time) {
        self.inboxes[node as usize].close(until);
    }

    /// The first arrival at a node; [`Time::NEVER`] without one.
    #[inline]
    pub fn next_arrival(&self, node: NodeId) -> Time {
        self.inboxes[node as usize].next()
    }

    /// Takes the first arrival at a node that links lead to; there must be one.
    #[inline(always)]
    pub fn receive(&mut self, node: NodeId) -> Packet {
        self.taken += 1;
        self.inboxes[node as usize].receive()
    }

    #[inline]
    pub fn give_back(&mut self, packets: Vec<Packet>) {
        self.pool.give_back(packets);
    }

    pub fn finish(&self, report: &mut Report) {
        for (direction, &packets) in self.in_flight.iter().enumerate() {
            report.in_flight(direction, packets);
        }
    }
}
