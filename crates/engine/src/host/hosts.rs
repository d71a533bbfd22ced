//! Hosts that the same nodes feed, each with its endpoints and the links that are its own.
//!
//! A host has a link by which packets come to it (its *downlink*) and one by which it sends (its *uplink*), where these
//! are plain links; then they are part of it. Hosts know nothing of each other, so that their order does not matter: a
//! packet is followed through the downlink, the endpoint and the uplink before the next one is looked at, and each host
//! has a time of its own. It is ahead of the packets that enter its downlink by what the downlink takes.
//!
//! What the endpoints of a host send on one uplink, they send in the order of time. So the timers of all of them that
//! are due come before a packet. Where endpoints do not share an uplink, each sees to its own timers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use forebay_qdisc::{Span, Time};

use crate::driver::node::{Lanes, Node, NodeId};
use crate::driver::prefetch::prefetch;
use crate::host::endpoint::Endpoint;
use crate::host::outbox::Outbox;
use crate::link::Wire;
use crate::observe::report::Report;
use crate::packet::Packet;

/// Instead of an index: there is none.
pub(crate) const NONE: u32 = u32::MAX;

/// What a host is made of.
pub(crate) struct HostParts {
    pub downlink: Option<Wire>,
    pub uplink: Option<Wire>,
    /// What the downlink takes at least; zero without one.
    pub distance: Span,
    pub endpoints: Vec<Endpoint>,
}

/// Hosts at work.
pub(crate) struct Hosts {
    hosts: Vec<Host>,
    seats: Vec<Seat>,
    /// The seat of the endpoint that packets of a (flow, direction) come to, from the first one that comes here on.
    seat_of: Vec<u32>,
    first_direction: usize,
    /// When endpoints, or hosts in order ([`IN_ORDER`]), have something to do by themselves; later than in their own
    /// time by [`Host::behind`]. Some entries are too early.
    timers: BinaryHeap<Reverse<(Time, u32)>>,
    /// How far the host with the longest downlink is ahead of what enters it.
    farthest: Span,
}

/// A host.
struct Host {
    downlink: Option<Wire>,
    uplink: Option<Wire>,
    /// How much less it is ahead than the host that is farthest ahead.
    behind: Span,
    /// Of endpoints that share an uplink.
    in_order: Option<Box<InOrder>>,
}

/// When the endpoints of a host that share an uplink have something to do by themselves.
struct InOrder {
    /// Some entries are too early.
    timers: BinaryHeap<Reverse<(Time, u32)>>,
    /// When the host's entry among the timers of all is due, in the host's time.
    planned: Time,
}

/// The bit of an entry among the timers of all that says that it is a host's.
const IN_ORDER: u32 = 1 << 31;

/// The place of an endpoint.
struct Seat {
    endpoint: Endpoint,
    host: u32,
    /// When its entry among the timers is due, in its own time.
    planned: Time,
}

impl Hosts {
    /// `endpoint_of` has the (host, endpoint) that packets of each (flow, direction) come to, from `first_direction`
    /// on; [`NONE`] where they come to none here.
    pub fn new(parts: Vec<HostParts>, first_direction: usize, endpoint_of: &[(u32, u32)]) -> Self {
        let farthest = parts.iter().map(|host| host.distance).max().unwrap_or(Span::ZERO);
        let (mut hosts, mut seats, mut first_seats) = (Vec::with_capacity(parts.len()), Vec::new(), Vec::new());
        for HostParts { downlink, uplink, distance, endpoints } in parts {
            let host = hosts.len() as u32;
            first_seats.push(seats.len() as u32);
            let shares = uplink.is_some() && endpoints.len() > 1;
            let in_order = shares.then(|| Box::new(InOrder { timers: BinaryHeap::new(), planned: Time::NEVER }));
            seats.extend(endpoints.into_iter().map(|endpoint| Seat { endpoint, host, planned: Time::NEVER }));
            hosts.push(Host { downlink, uplink, behind: farthest - distance, in_order });
        }
        let seat =
            |&(host, endpoint): &(u32, u32)| if host == NONE { NONE } else { first_seats[host as usize] + endpoint };
        let seat_of = endpoint_of.iter().map(seat).collect();
        Self { hosts, seats, seat_of, first_direction, timers: BinaryHeap::new(), farthest }
    }

    /// A packet enters the downlink of its host.
    #[inline]
    fn receive(&mut self, packet: &Packet, lanes: &mut Lanes) {
        let seat_number = self.seat_of[packet.direction_index() - self.first_direction];
        let seat = &mut self.seats[seat_number as usize];
        let host_number = seat.host;
        let host = &mut self.hosts[host_number as usize];
        let mut packet = *packet;
        if let Some(downlink) = &mut host.downlink {
            match downlink.pass(packet, &lanes.measured, &lanes.sacks) {
                Some(passed) => packet = passed,
                None => return lanes.release(&packet),
            }
            if packet.time > lanes.measured.to {
                return lanes.count_in_flight(packet);
            }
        }
        if host.in_order.is_some() {
            self.run_in_order(host_number, packet.time, lanes);
        }
        let Self { hosts, seats, .. } = self;
        let uplink = hosts[host_number as usize].uplink.as_mut();
        let window_end = lanes.measured.to;
        seats[seat_number as usize].endpoint.receive(&packet, &mut Outbox { uplink, lanes });
        self.plan(seat_number, window_end);
    }

    /// Asks for what the packets behind `place` are going to meet, step by step as their turn comes nearer.
    #[inline]
    fn prefetch(&self, packets: &[Packet], place: usize, lanes: &Lanes) {
        let seat_of = |packet: &Packet| &self.seat_of[packet.direction_index() - self.first_direction];
        if let Some(packet) = packets.get(place + 16) {
            prefetch(seat_of(packet));
        }
        if let Some(packet) = packets.get(place + 12) {
            // The route of the answer.
            lanes.routes.prefetch(packet.direction_index() ^ 1);
            prefetch(&self.seats[*seat_of(packet) as usize]);
        }
        if let Some(packet) = packets.get(place + 8) {
            let seat = &self.seats[*seat_of(packet) as usize];
            let host = &self.hosts[seat.host as usize];
            prefetch(&host.downlink);
            prefetch(&host.uplink);
            prefetch(&host.behind);
            seat.endpoint.prefetch();
        }
        if let Some(packet) = packets.get(place + 4) {
            self.seats[*seat_of(packet) as usize].endpoint.prefetch_further();
        }
    }

    /// Sees to it that what an endpoint has to do next is done on time. What comes after the end is not done at all.
    #[inline]
    fn plan(&mut self, seat_number: u32, end: Time) {
        let seat = &mut self.seats[seat_number as usize];
        let next = seat.endpoint.next();
        if next >= seat.planned || next > end {
            return;
        }
        seat.planned = next;
        let host_number = seat.host;
        let Host { behind, in_order, .. } = &mut self.hosts[host_number as usize];
        match in_order {
            None => self.timers.push(Reverse((next + *behind, seat_number))),
            Some(in_order) => {
                in_order.timers.push(Reverse((next, seat_number)));
                if next < in_order.planned {
                    in_order.planned = next;
                    self.timers.push(Reverse((next + *behind, host_number | IN_ORDER)));
                }
            }
        }
    }

    /// Does what an endpoint has to do by itself up to `now`, if its entry among the timers is the one of `at`.
    fn expire(&mut self, seat_number: u32, at: Time, now: Time, lanes: &mut Lanes) {
        let seat = &mut self.seats[seat_number as usize];
        if seat.planned != at {
            return;
        }
        seat.planned = Time::NEVER;
        let host_number = seat.host;
        if seat.endpoint.next() <= now {
            let uplink = self.hosts[host_number as usize].uplink.as_mut();
            seat.endpoint.expire(now, &mut Outbox { uplink, lanes });
        }
        self.plan(seat_number, lanes.measured.to);
    }

    /// Does what the endpoints of a host that share an uplink have to do by themselves up to `now`, in the order of
    /// time.
    fn run_in_order(&mut self, host_number: u32, now: Time, lanes: &mut Lanes) {
        while let Some(in_order) = &mut self.hosts[host_number as usize].in_order
            && let Some(&Reverse((at, seat_number))) = in_order.timers.peek()
            && at <= now
        {
            in_order.timers.pop();
            self.expire(seat_number, at, at, lanes);
        }
    }

    /// Does what hosts have to do by themselves before `until`, each in its own time.
    fn run_timers(&mut self, until: Time, lanes: &mut Lanes) {
        let due = until + self.farthest;
        while let Some(&Reverse((at, number))) = self.timers.peek()
            && at < due
        {
            self.timers.pop();
            let host_number =
                if number & IN_ORDER == 0 { self.seats[number as usize].host } else { number & !IN_ORDER };
            let Host { behind, in_order, .. } = &mut self.hosts[host_number as usize];
            let (at, behind) = (at - *behind, *behind);
            let last = (due - behind - Span::from_picoseconds(1)).min(lanes.measured.to);
            let Some(in_order) = in_order else {
                self.expire(number, at, last, lanes);
                continue;
            };
            if in_order.planned != at {
                continue;
            }
            self.run_in_order(host_number, last, lanes);
            if let Some(in_order) = &mut self.hosts[host_number as usize].in_order {
                in_order.planned = in_order.timers.peek().map_or(Time::NEVER, |&Reverse((next, _))| next);
                if in_order.planned < Time::NEVER {
                    self.timers.push(Reverse((in_order.planned + behind, number)));
                }
            }
        }
    }
}

impl Node for Hosts {
    fn start(&mut self, _me: NodeId, lanes: &mut Lanes) {
        for seat in 0..self.seats.len() as u32 {
            self.plan(seat, lanes.measured.to);
        }
        self.run_timers(Time::ZERO, lanes);
    }

    fn next(&self) -> Time {
        let first = self.timers.peek().map_or(Time::NEVER, |&Reverse((at, _))| at);
        if first == Time::NEVER { first } else { Time::ZERO + first.since(Time::ZERO + self.farthest) }
    }

    fn run(&mut self, until: Time, me: NodeId, lanes: &mut Lanes) -> Time {
        let packets = lanes.take(me, until);
        let looks_ahead = lanes.routes.are_many();
        for (packet, place) in packets.iter().zip(0..) {
            if looks_ahead {
                self.prefetch(&packets, place, lanes);
            }
            self.receive(packet, lanes);
        }
        lanes.give_back(packets);
        self.run_timers(until, lanes);
        until
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        let measured = report.measured();
        for host in &mut self.hosts {
            for link in [&mut host.downlink, &mut host.uplink].into_iter().flatten() {
                report.link(link.finish(&measured));
            }
        }
        for seat in &mut self.seats {
            seat.endpoint.finish(end, report);
        }
    }
}
