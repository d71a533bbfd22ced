//! The objects of the driver: nodes, and the lanes between them.

use forebay_qdisc::Time;

use crate::driver::agenda::Agenda;
use crate::driver::inbox::{Inbox, Outgoing};
use crate::driver::pool::Pool;
use crate::driver::routes::{RouteRows, Routes, Step};
use crate::driver::ties::Salts;
use crate::ethernet::control::{ControlRows, MessageTable};
use crate::observe::interval::MeasuredInterval;
use crate::observe::report::Report;
use crate::packet::Packet;
use crate::packet::sack::SackTable;
use crate::spec::LinkId;

pub(crate) use crate::driver::routes::NodeId;

/// A part of the network that runs by itself as far as its arrivals are known. At one time its timers come before
/// arrivals, these in the order of [`Salts`], and idle ports choose after all arrivals.
pub(crate) trait Node: Send {
    /// Does what comes before time zero: an endpoint is ahead of its node by the delay of its downlink.
    fn start(&mut self, _me: NodeId, _lanes: &mut Lanes) {}

    /// When it is due without an arrival.
    fn next(&self) -> Time;

    /// Does everything before `until`. Returns how long its link is busy with settled packets: before that, and before
    /// `until`, it begins to send nothing more.
    fn run(&mut self, until: Time, me: NodeId, lanes: &mut Lanes) -> Time;

    /// Runs, and also returns when the node is due next without an arrival: one call for both.
    fn take_turn(&mut self, until: Time, me: NodeId, lanes: &mut Lanes) -> (Time, Time) {
        let silent_until = self.run(until, me, lanes);
        (silent_until, self.next())
    }

    /// Settles nothing ahead of time: the same results, slower.
    #[cfg(feature = "oracle")]
    fn decide_nothing_ahead(&mut self) {}

    /// Brings the books up to `end` and hands them in.
    fn finish(&mut self, end: Time, report: &mut Report);
}

/// The lanes between nodes, and the side tables of the packets there.
pub(crate) struct Lanes {
    pub routes: Routes,
    inboxes: Vec<Inbox>,
    pub agenda: Agenda,
    granule_bits: u32,
    pool: Pool,
    pub measured: MeasuredInterval,
    /// Blocks of the ACKs in flight.
    pub sacks: SackTable,
    /// Messages of the control frames in flight.
    pub messages: MessageTable,
    /// Which packets are control frames, if there are any.
    pub control: Option<ControlRows>,
    /// Packets on their way at the end, by (flow, direction).
    in_flight: Vec<u64>,
    pub taken: u64,
    /// Packets of sources that do not wait for answers.
    pub generated: u64,
}

impl Lanes {
    /// See [`Granules`](crate::driver::granules::Granules) for `granule_bits`.
    pub fn new(routes: Routes, nodes: usize, granule_bits: u32, measured: MeasuredInterval) -> Self {
        let inbox = |node| routes.links_to(node).map_or_else(|| Inbox::of_routes(granule_bits), Inbox::of_links);
        Self {
            inboxes: (0..nodes).map(inbox).collect(),
            agenda: Agenda::new(nodes),
            granule_bits,
            pool: Pool::default(),
            in_flight: vec![0; routes.directions()],
            routes,
            measured,
            sacks: SackTable::default(),
            messages: MessageTable::default(),
            control: None,
            taken: 0,
            generated: 0,
        }
    }

    /// The lanes of one thread: packets for nodes `elsewhere` are kept to be handed over.
    pub fn of_thread(&self, elsewhere: impl Fn(NodeId) -> bool) -> Self {
        let mut lanes = Self::new(self.routes.clone(), self.inboxes.len(), self.granule_bits, self.measured);
        for (inbox, node) in lanes.inboxes.iter_mut().zip(0..) {
            if elsewhere(node) {
                *inbox = Inbox::elsewhere();
            }
        }
        lanes.control = self.control;
        lanes
    }

    /// Packets that were taken or generated so far: a measure of the work.
    pub fn work(&self) -> u64 {
        self.taken + self.generated
    }

    pub fn outgoing(&mut self, node: NodeId) -> Option<&mut Outgoing> {
        self.inboxes[node as usize].outgoing()
    }

    /// Adds a packet from another thread.
    pub fn accept(&mut self, node: NodeId, packet: Packet, feeder: u32) {
        self.agenda.add(node, packet.time);
        self.inboxes[node as usize].accept(packet, feeder, &mut self.pool);
    }

    /// Adds the counts of a thread that has ended.
    pub fn join(&mut self, ended: &Self) {
        self.taken += ended.taken;
        for (all, packets) in self.in_flight.iter_mut().zip(&ended.in_flight) {
            *all += packets;
        }
    }

    /// Lanes that lead nowhere, for the end of the run.
    pub fn nowhere(measured: MeasuredInterval) -> Self {
        Self::new(Routes::new(&RouteRows::default(), 0, Vec::new(), false, Salts::default()), 0, 0, measured)
    }

    /// Sends a packet to the next node of its route, where it arrives at `packet.time`.
    #[inline(always)]
    pub fn send(&mut self, mut packet: Packet) {
        if packet.time > self.measured.to {
            return self.count_in_flight(packet.direction_index(), packet.stamp);
        }
        let Step { node, feeder } = self.routes.next(&packet);
        packet.advance();
        let (room, is_first) = self.inboxes[node as usize].room(packet.time, feeder, &mut self.pool);
        room.push(packet);
        if is_first {
            self.agenda.add(node, packet.time);
        }
    }

    /// Sends a packet over `link`, whose end it reaches at `packet.time`.
    #[inline(always)]
    pub fn send_over(&mut self, link: LinkId, packet: Packet) {
        if packet.time > self.measured.to {
            return self.count_in_flight(packet.direction_index(), packet.stamp);
        }
        let Step { node, feeder } = self.routes.end_of(link);
        self.agenda.add(node, packet.time);
        self.inboxes[node as usize].push(packet, feeder);
    }

    /// A packet of `direction`, with this [`Packet::stamp`], is on its way at the end.
    #[cold]
    #[inline(never)]
    pub fn count_in_flight(&mut self, direction: usize, stamp: u64) {
        self.in_flight[direction] += 1;
        self.release_of(direction, stamp);
    }

    /// Frees the SACK blocks of a packet that ends here.
    #[inline]
    pub fn release(&mut self, packet: &Packet) {
        self.release_of(packet.direction_index(), packet.stamp);
    }

    #[inline]
    fn release_of(&mut self, direction: usize, stamp: u64) {
        let is_ack = direction & 1 != 0;
        if is_ack && stamp != 0 {
            self.sacks.take(stamp);
        }
    }

    /// The end of a granule: to empty inboxes up to there costs least.
    pub fn end_of_granule(&self, time: Time) -> Time {
        Time::from_picoseconds(((time.picoseconds() >> self.granule_bits) + 1) << self.granule_bits)
    }

    /// A node has run, and is due by itself at `next`.
    #[inline]
    pub fn plan(&mut self, node: NodeId, next: Time) {
        self.agenda.set(node, next.min(self.inboxes[node as usize].next()));
    }

    /// Takes the arrivals before `until`, in their order. [Give the vector back](Lanes::give_back) after use.
    #[inline]
    pub fn take(&mut self, node: NodeId, until: Time) -> Vec<Packet> {
        let Self { inboxes, pool, routes, taken, .. } = self;
        let packets = inboxes[node as usize].take(until, pool, |one, other| routes.come_after(one, other));
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
