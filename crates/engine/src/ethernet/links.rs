//! The links of an Ethernet: each holds what its sender has settled to send, until its receiver takes it.
//!
//! A sender may settle ahead of the clock what it is going to send, and take back what it has not begun. What comes to
//! the far end is final: there it is counted, traced, or lost.

use forebay_qdisc::Time;

use crate::driver::deadlines::Deadlines;
use crate::driver::ring::Ring;
use crate::driver::sides::{DUE_TOGETHER, NodeId};
use crate::ethernet::control::MessageTable;
use crate::link::{Line, Wire};
use crate::observe::interval::MeasuredInterval;
use crate::observe::report::Report;
use crate::packet::Packet;
use crate::packet::sack::SackTable;

/// Where a link is among [`Links`]: those that lead to the same node are neighbours.
pub(crate) type LinkPlace = u32;

/// A link and what is on it: a line of the processor's cache.
#[repr(C, align(64))]
struct Link {
    line: Line,
    /// What is going to be sent, is being sent, or is on its way, each with its time of arrival.
    frames: Ring<Packet>,
}

const _: () = assert!(size_of::<Link>() == 64);

/// All links, and what the nodes share beside.
pub(crate) struct Links {
    /// By receiver, then in the order in which links were added: what comes at the same time is taken in this order.
    links: Vec<Link>,
    /// Where each leads.
    ends: Vec<LinkEnd>,
    /// The links to each node.
    incoming: Vec<Incoming>,
    /// When each node has to run at the latest.
    due: Vec<[Time; DUE_TOGETHER]>,
    /// The earliest of these: of the side that runs, after the horizon that it has reached; and of the other one.
    next_due: Time,
    next_of_other: Time,
    /// Whether there are two sides, so that what is sent goes to the other one.
    has_sides: bool,
    /// All that comes to a node up to this time is there when it runs: so far it may run ahead of the clock.
    pub horizon: Time,
    /// The measured interval.
    pub measured: MeasuredInterval,
    /// Messages of the control frames in flight.
    pub messages: MessageTable,
    /// Frames of an Ethernet hold nothing there.
    no_sacks: SackTable,
}

/// The far end of a link.
struct LinkEnd {
    node: NodeId,
    /// Its place among the links to that node.
    rank: u32,
}

/// The links to a node: a line of the processor's cache.
#[repr(C, align(64))]
struct Incoming {
    /// When the first of all frames arrives, and the rank of its link.
    next: Time,
    next_rank: u32,
    first_place: LinkPlace,
    /// When the first frame of each link arrives.
    first: [Time; FEW],
    /// The same if they are too many to be looked through one after the other.
    many: Option<Box<Deadlines>>,
}

const _: () = assert!(size_of::<Incoming>() == 64);

/// This many links to a node are looked through one after the other.
const FEW: usize = 4;

/// Where each link is, from the node at its far end.
pub(crate) fn places(receivers: &[NodeId]) -> Vec<LinkPlace> {
    let mut order: Vec<usize> = (0..receivers.len()).collect();
    order.sort_by_key(|&link| receivers[link]);
    let mut places = vec![0; receivers.len()];
    for (link, place) in order.into_iter().zip(0..) {
        places[link] = place;
    }
    places
}

impl Links {
    /// From each link with the node at its far end, in the order in which they were added, of this many nodes, which
    /// have two sides or not.
    pub fn new(wires: Vec<(Wire, NodeId)>, nodes: usize, has_sides: bool, measured: MeasuredInterval) -> Self {
        let receivers: Vec<NodeId> = wires.iter().map(|(_, receiver)| *receiver).collect();
        let mut placed: Vec<(LinkPlace, Wire)> =
            places(&receivers).into_iter().zip(wires.into_iter().map(|(wire, _)| wire)).collect();
        placed.sort_by_key(|(place, _)| *place);
        let (mut ends, mut incoming) = (Vec::new(), Vec::new());
        for node in 0..nodes as NodeId {
            let links = receivers.iter().filter(|&&receiver| receiver == node).count();
            incoming.push(Incoming {
                next: Time::NEVER,
                next_rank: 0,
                first_place: ends.len() as LinkPlace,
                first: [Time::NEVER; FEW],
                many: (links > FEW).then(|| Box::new(Deadlines::new(links))),
            });
            ends.extend((0..links as u32).map(|rank| LinkEnd { node, rank }));
        }
        let link = |(_, wire): (LinkPlace, Wire)| Link { line: wire.into_line(), frames: Ring::default() };
        Self {
            links: placed.into_iter().map(link).collect(),
            ends,
            incoming,
            due: vec![[Time::NEVER; DUE_TOGETHER]; nodes.div_ceil(DUE_TOGETHER)],
            next_due: Time::NEVER,
            next_of_other: Time::NEVER,
            has_sides,
            horizon: Time::ZERO,
            measured,
            messages: MessageTable::default(),
            no_sacks: SackTable::default(),
        }
    }

    /// Settles that `packet` is sent over a link, from `packet.time` on: no sooner than what was sent before has gone.
    #[inline(always)]
    pub fn send(&mut self, place: LinkPlace, packet: &Packet) {
        let Link { line, frames } = &mut self.links[place as usize];
        let packet = line.carry(packet);
        frames.push(packet);
        if frames.len() == 1 {
            let LinkEnd { node, rank } = self.ends[place as usize];
            let incoming = &mut self.incoming[node as usize];
            incoming.set_first(rank, packet.time);
            if (packet.time, rank) < (incoming.next, incoming.next_rank) {
                (incoming.next, incoming.next_rank) = (packet.time, rank);
            }
            let due = &mut self.due[node as usize / DUE_TOGETHER][node as usize % DUE_TOGETHER];
            *due = packet.time.min(*due);
            self.next_of_other = packet.time.min(self.next_of_other);
        }
    }

    /// Takes back what was settled last for a link, which has not begun. Its time and its input are those at the far
    /// end.
    pub fn take_back(&mut self, place: LinkPlace) -> Option<Packet> {
        let frames = &mut self.links[place as usize].frames;
        let packet = frames.pop_back();
        if frames.len() == 0 {
            let LinkEnd { node, rank } = self.ends[place as usize];
            self.incoming[node as usize].replace_first(rank, Time::NEVER);
        }
        packet
    }

    /// Takes what arrives first at a node, in the order of time, at one time in the order of links; or returns when
    /// that is, if it is after `end`.
    #[inline(always)]
    pub fn receive(&mut self, node: NodeId, end: Time) -> Result<Packet, Time> {
        loop {
            let incoming = &mut self.incoming[node as usize];
            if incoming.next > end {
                return Err(incoming.next);
            }
            let rank = incoming.next_rank;
            let Link { line, frames } = &mut self.links[(incoming.first_place + rank) as usize];
            let Some(packet) = frames.pop() else { return Err(Time::NEVER) };
            incoming.replace_first(rank, frames.of_front(|following| following.time, Time::NEVER));
            if line.bring(&packet, &self.measured, &self.no_sacks) {
                return Ok(packet);
            }
        }
    }

    /// When the first node has to run, or before that; one side begins to run, of which all groups are looked through.
    #[inline]
    pub fn begin_half(&mut self) -> Time {
        let begin = self.next_due.min(self.next_of_other);
        self.next_of_other = if self.has_sides { self.next_due } else { Time::NEVER };
        self.next_due = Time::NEVER;
        begin
    }

    /// Which nodes of a group have to run by the horizon, one bit each.
    #[inline]
    pub fn due_in(&mut self, group: usize) -> u32 {
        let due = self.due[group];
        let later = due.map(|at| if at <= self.horizon { Time::NEVER } else { at });
        self.next_due = later.into_iter().fold(self.next_due, Time::min);
        let bits = due.map(|at| u32::from(at <= self.horizon));
        bits.iter().rev().fold(0, |due, bit| due << 1 | bit)
    }

    /// A node has to run again at `next`.
    #[inline]
    pub fn plan(&mut self, node: NodeId, next: Time) {
        self.due[node as usize / DUE_TOGETHER][node as usize % DUE_TOGETHER] = next;
        self.next_due = next.min(self.next_due);
    }

    /// Hands in the books of the links, and what is on its way when the run ends.
    pub fn finish(&mut self, report: &mut Report) {
        for Link { line, frames } in &mut self.links {
            while let Some(packet) = frames.pop() {
                if line.bring(&packet, &self.measured, &self.no_sacks) {
                    report.in_flight(packet.direction_index(), 1);
                }
            }
            report.link(line.finish_brought(&self.measured));
        }
    }
}

impl Incoming {
    /// The first frame of the link of this rank arrives at `time`.
    #[inline(always)]
    fn set_first(&mut self, rank: u32, time: Time) {
        match &mut self.many {
            None => self.first[rank as usize % FEW] = time,
            Some(many) => many.set(rank as usize, time),
        }
    }

    /// The first frame of the link of this rank has gone, or does not come, and the following one arrives at `time`.
    #[inline(always)]
    fn replace_first(&mut self, rank: u32, time: Time) {
        // Nothing is loaded again that has just been stored: where several are loaded as one, a processor has to wait.
        let [a, b, c, d] = self.first;
        self.set_first(rank, time);
        let at = |number: u32, before: Time| (if number == rank { time } else { before }, number);
        let earlier = |one: (Time, u32), other: (Time, u32)| if other.0 < one.0 { other } else { one };
        (self.next, self.next_rank) = match &self.many {
            None => earlier(earlier(at(0, a), at(1, b)), earlier(at(2, c), at(3, d))),
            Some(many) => (many.earliest(), many.due(Time::NEVER).unwrap_or(0) as u32),
        };
    }
}

#[cfg(test)]
mod tests {
    use forebay_qdisc::{Ecn, Rate, Span};
    use proptest::prelude::*;

    use super::*;
    use crate::packet::PacketFields;

    const RATE: Rate = Rate::megabits(8);
    const END: Time = Time::from_picoseconds(1 << 60);

    fn at(microseconds: u64) -> Time {
        Time::ZERO + Span::from_microseconds(microseconds)
    }

    /// A frame of one byte, which takes a microsecond.
    fn frame(number: u32, time: Time) -> Packet {
        let ecn = Ecn::NotCapable;
        Packet::new(PacketFields { time, stamp: 0, number, flow: 0, len_bytes: 1, flags: 0, class: 0, ecn })
    }

    /// Links with these receivers and propagation delays in microseconds.
    fn links(ends: &[(NodeId, u64)]) -> Links {
        let wire = |(&(receiver, delay), number): (&(NodeId, u64), u32)| {
            (Wire::new(number, RATE, Span::from_microseconds(delay), 0), receiver)
        };
        Links::new(ends.iter().zip(0..).map(wire).collect(), 3, false, MeasuredInterval { from: Time::ZERO, to: END })
    }

    proptest! {
        #[test]
        fn frames_are_taken_in_the_order_of_time_and_link_and_what_is_taken_back_never_comes(
            ends in prop::collection::vec((0_u32..3, 0_u64..4), 1..14),
            steps in prop::collection::vec((0_usize..14, 0_u64..20, 0_u32..10), 1..200),
        ) {
            let mut links = links(&ends);
            let receivers: Vec<NodeId> = ends.iter().map(|&(receiver, _)| receiver).collect();
            let places = places(&receivers);
            // (receiver, arrival, link, number) of what is on its way, and until when each link is busy.
            let mut model: Vec<(NodeId, Time, usize, u32)> = Vec::new();
            let mut busy = vec![Time::ZERO; ends.len()];
            for ((link, microseconds, what), number) in steps.into_iter().zip(0..) {
                let link = link % ends.len();
                let (receiver, delay) = ends[link];
                match what {
                    0..5 => {
                        let start = busy[link] + Span::from_microseconds(microseconds % 3);
                        links.send(places[link], &frame(number, start));
                        busy[link] = start + Span::from_microseconds(1);
                        model.push((receiver, busy[link] + Span::from_microseconds(delay), link, number));
                    }
                    5 => {
                        let last = model.iter().rposition(|&(_, _, other, _)| other == link);
                        let taken = links.take_back(places[link]).map(|frame| frame.number());
                        prop_assert_eq!(taken, last.map(|last| model.remove(last).3));
                    }
                    _ => {
                        let here = (0..model.len()).filter(|&frame| model[frame].0 == receiver);
                        let first = here.min_by_key(|&frame| (model[frame].1, model[frame].2));
                        let expected = match first.map(|first| (first, model[first].1)) {
                            Some((first, arrival)) if arrival <= at(microseconds) => Ok(model.remove(first).3),
                            Some((_, arrival)) => Err(arrival),
                            None => Err(Time::NEVER),
                        };
                        let taken = links.receive(receiver, at(microseconds)).map(|frame| frame.number());
                        prop_assert_eq!(taken, expected);
                    }
                }
            }
        }
    }

    #[test]
    fn a_node_is_due_when_something_comes_to_it_and_a_round_knows_when_the_next_one_begins() {
        let mut links = links(&[(1, 0), (2, 5)]);
        let places = places(&[1, 2]);
        assert_round(&mut links, Time::NEVER, 0);
        links.send(places[1], &frame(0, at(1)));
        links.send(places[0], &frame(1, at(3)));
        links.horizon = at(6);
        assert_round(&mut links, at(4), 0b10);
        // Node 1 has run, and has something to do at 9; what comes to node 2 is left.
        assert!(links.receive(1, at(6)).is_ok());
        links.plan(1, at(9));
        links.horizon = at(8);
        assert_round(&mut links, at(7), 0b100);
    }

    /// The next round begins at `begin`, with these nodes due.
    fn assert_round(links: &mut Links, begin: Time, due: u32) {
        assert_eq!((links.begin_half(), links.due_in(0)), (begin, due));
    }
}
