//! What the driver runs: nodes, and what lies between them.

use forebay_qdisc::Time;

use crate::driver::agenda::Agenda;
use crate::driver::inbox::Inbox;
use crate::driver::pool::Pool;
use crate::driver::routes::{RouteRows, Routes, Step};
use crate::ethernet::control::MessageTable;
use crate::observe::interval::MeasuredInterval;
use crate::observe::report::Report;
use crate::packet::Packet;
use crate::packet::sack::SackTable;
use crate::spec::LinkId;

pub(crate) use crate::driver::routes::NodeId;

/// A part of the network that runs by itself as long as it is known what reaches it.
///
/// At one time a node's own timers come before what arrives, and arrivals come in the order of the links by which they
/// come.
pub(crate) trait Node {
    /// Does what happens before time zero: an endpoint behind a link is that much ahead of the packets that enter the
    /// link.
    fn start(&mut self, _me: NodeId, _lanes: &mut Lanes) {}

    /// When it has something to do next by itself, whatever arrives.
    fn next(&self) -> Time;

    /// Does all that happens before `until`. Returns until when what it has settled keeps its link busy: it begins to
    /// send nothing more before that, nor before `until`.
    fn run(&mut self, until: Time, me: NodeId, lanes: &mut Lanes) -> Time;

    /// Decides about nothing ahead of its time: the same results, slower.
    #[cfg(feature = "oracle")]
    fn decide_nothing_ahead(&mut self) {}

    /// The run is over: brings the books up to `end` and hands them in.
    fn finish(&mut self, end: Time, report: &mut Report);
}

/// What lies between the nodes.
pub(crate) struct Lanes {
    pub routes: Routes,
    inboxes: Vec<Inbox>,
    pub agenda: Agenda,
    granule_bits: u32,
    pool: Pool,
    /// The measured interval.
    pub measured: MeasuredInterval,
    /// SACK blocks of the ACKs in flight.
    pub sacks: SackTable,
    /// Messages of the control frames in flight.
    pub messages: MessageTable,
    /// Packets that are still on their way when the run ends, by (flow, direction).
    in_flight: Vec<u64>,
    /// Packets that nodes have taken.
    pub taken: u64,
}

impl Lanes {
    /// Between this many nodes; for the granules see [`Granules`](crate::driver::granules::Granules).
    pub fn new(routes: Routes, nodes: usize, granule_bits: u32, measured: MeasuredInterval) -> Self {
        let inbox = |node| match routes.links_to(node) {
            0 => Inbox::of_routes(granule_bits),
            links => Inbox::of_links(links),
        };
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
            taken: 0,
        }
    }

    /// Lanes that lead nowhere, for what is left to be told when the run is over and nothing can be sent.
    pub fn nowhere(measured: MeasuredInterval) -> Self {
        Self::new(Routes::new(&RouteRows::default(), 0, Vec::new(), false), 0, 0, measured)
    }

    /// Sends a packet, which arrives at the next node of its route at `packet.time`.
    #[inline(always)]
    pub fn send(&mut self, mut packet: Packet) {
        if packet.time > self.measured.to {
            return self.count_in_flight(packet);
        }
        let step = self.routes.next(&packet);
        packet.advance();
        self.put(packet, step);
    }

    /// Sends a packet, which arrives where `link` leads at `packet.time`.
    #[inline(always)]
    pub fn send_over(&mut self, link: LinkId, packet: Packet) {
        if packet.time > self.measured.to {
            return self.count_in_flight(packet);
        }
        self.put(packet, self.routes.end_of(link));
    }

    #[inline(always)]
    fn put(&mut self, packet: Packet, Step { node, feeder }: Step) {
        self.agenda.add(node, packet.time);
        self.inboxes[node as usize].push(packet, feeder, &mut self.pool);
    }

    /// A packet is on its way when the run ends.
    #[cold]
    pub fn count_in_flight(&mut self, packet: Packet) {
        self.in_flight[packet.direction_index()] += 1;
        self.release(&packet);
    }

    /// Lets go of what a packet holds in side tables, when it ends.
    #[inline]
    pub fn release(&mut self, packet: &Packet) {
        if packet.is_ack() && packet.stamp != 0 {
            self.sacks.take(packet.stamp);
        }
    }

    /// The end of the granule in which `time` lies: up to there inboxes are emptied at the least cost.
    pub fn end_of_granule(&self, time: Time) -> Time {
        Time::from_picoseconds(((time.picoseconds() >> self.granule_bits) + 1) << self.granule_bits)
    }

    /// A node has run, and has something to do by itself at `next`.
    #[inline]
    pub fn plan(&mut self, node: NodeId, next: Time) {
        self.agenda.set(node, next.min(self.inboxes[node as usize].next()));
    }

    /// Takes what arrives at a node before `until`, in the order of time, at one time in that of the links by which it
    /// comes. The vector is to be [given back](Lanes::give_back).
    #[inline]
    pub fn take(&mut self, node: NodeId, until: Time) -> Vec<Packet> {
        let Self { inboxes, pool, routes, taken, .. } = self;
        let packets = inboxes[node as usize].take(until, pool, |packet| routes.feeder(packet));
        *taken += packets.len() as u64;
        packets
    }

    /// Takes what arrives first at a node to which links lead, if that is before `until`.
    #[inline(always)]
    pub fn receive(&mut self, node: NodeId, until: Time) -> Option<Packet> {
        let packet = self.inboxes[node as usize].receive(until);
        self.taken += u64::from(packet.is_some());
        packet
    }

    /// Gives back what [`Lanes::take`] has given.
    #[inline]
    pub fn give_back(&mut self, packets: Vec<Packet>) {
        self.pool.give_back(packets);
    }

    /// Hands in what was on its way when the run ended.
    pub fn finish(&self, report: &mut Report) {
        for (direction, &packets) in self.in_flight.iter().enumerate() {
            report.in_flight(direction, packets);
        }
    }
}
