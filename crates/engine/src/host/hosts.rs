//! Hosts that the same nodes feed, each with its endpoints and the links that are its own.
//!
//! A host has a link by which packets come to it (its *downlink*) and one by which it sends (its *uplink*), where these
//! are plain links; then they are part of it. Hosts know nothing of each other, so that their order does not matter: a
//! packet is followed through the downlink, the endpoint and the uplink before the next one is looked at, and each host
//! has a time of its own. It is ahead of the packets that enter its downlink by what the downlink takes. Where hosts
//! are many, each takes all its packets of a window before the next one has its turn.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem::offset_of;

use forebay_qdisc::{Span, Time};

use crate::driver::node::{Lanes, Node, NodeId};
use crate::driver::prefetch::{LINE_BYTES, prefetch, prefetch_lines};
use crate::host::by_host::ByHost;
use crate::host::endpoint::Endpoint;
use crate::host::outbox::Outbox;
use crate::host::several::{End, Endpoints};
use crate::host::tcp::{TcpSink, TcpSource};
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

/// So many hosts are not in the processor's first-level cache, and are looked at one by one; of fewer each packet is
/// taken in its turn, so that the answers, too, are nearly in the order of time.
const MANY_HOSTS: usize = 64;

/// Hosts at work. Whether they are [many](MANY_HOSTS) is known to the compiler, so that each way is a loop of its
/// own.
struct Hosts<E, const ARE_MANY: bool> {
    hosts: Vec<Host<E>>,
    /// The host of each endpoint, in the order of hosts; none where each host has one endpoint.
    host_of: Vec<u32>,
    /// The endpoint that packets of a (flow, direction) come to, from the first one that comes here on.
    endpoint_of: Vec<u32>,
    first_direction: usize,
    by_host: ByHost,
    /// When hosts have something to do by themselves; later than in their own time by [`Host::behind`]. Some entries
    /// are too early.
    timers: BinaryHeap<Reverse<(Time, u32)>>,
    /// How far the host with the longest downlink is ahead of what enters it.
    farthest: Span,
}

/// A host. What every packet touches lies together.
#[repr(C, align(64))]
struct Host<E> {
    /// When its entry among the timers is due, in its own time.
    planned: Time,
    /// How much less it is ahead than the host that is farthest ahead.
    behind: Span,
    downlink: Option<Wire>,
    uplink: Option<Wire>,
    end: E,
}

impl<E: End> Host<E> {
    /// Lines of cache that a packet touches.
    const HOT_LINES: usize = (offset_of!(Self, end) + E::HOT_BYTES).div_ceil(LINE_BYTES);
}

// With many flows every further line is one more load from far memory.
const _: () = assert!(Host::<TcpSource>::HOT_LINES == 6 && Host::<TcpSink>::HOT_LINES == 5);

/// The node of such hosts. `endpoint_of` has the (host, endpoint) that packets of each (flow, direction) come to, from
/// `first_direction` on; [`NONE`] where they come to none here.
pub(crate) fn hosts(parts: Vec<HostParts>, first_direction: usize, endpoint_of: &[(u32, u32)]) -> Box<dyn Node> {
    let all = |is: fn(&Endpoint) -> bool| parts.iter().all(|host| matches!(&host.endpoints[..], [only] if is(only)));
    if parts.len() < MANY_HOSTS {
        Box::new(Hosts::<Endpoints, false>::new(parts, first_direction, endpoint_of))
    } else if all(|endpoint| matches!(endpoint, Endpoint::TcpSource(_))) {
        Box::new(Hosts::<TcpSource, true>::new(parts, first_direction, endpoint_of))
    } else if all(|endpoint| matches!(endpoint, Endpoint::TcpSink(_))) {
        Box::new(Hosts::<TcpSink, true>::new(parts, first_direction, endpoint_of))
    } else {
        Box::new(Hosts::<Endpoints, true>::new(parts, first_direction, endpoint_of))
    }
}

impl<E: End, const ARE_MANY: bool> Hosts<E, ARE_MANY> {
    fn new(parts: Vec<HostParts>, first_direction: usize, endpoint_of: &[(u32, u32)]) -> Self {
        let farthest = parts.iter().map(|host| host.distance).max().unwrap_or(Span::ZERO);
        let first_of: Vec<u32> = parts
            .iter()
            .scan(0, |end, host| Some(std::mem::replace(end, *end + host.endpoints.len() as u32)))
            .collect();
        let place =
            |&(host, endpoint): &(u32, u32)| if host == NONE { NONE } else { first_of[host as usize] + endpoint };
        let endpoint_of = endpoint_of.iter().map(place).collect();
        let mut host_of = Vec::new();
        if parts.iter().any(|host| host.endpoints.len() != 1) {
            host_of = parts.iter().zip(0..).flat_map(|(parts, host)| vec![host; parts.endpoints.len()]).collect();
        }
        let host = |(HostParts { downlink, uplink, distance, endpoints }, first)| {
            let end = E::of(endpoints, first).expect("a host has endpoints, of the kind that is asked for");
            Host { planned: Time::NEVER, behind: farthest - distance, downlink, uplink, end }
        };
        let hosts: Vec<Host<E>> = parts.into_iter().zip(first_of).map(host).collect();
        let by_host = ByHost::new(hosts.len());
        Self { hosts, host_of, endpoint_of, first_direction, by_host, timers: BinaryHeap::new(), farthest }
    }

    /// The endpoint that a packet comes to.
    #[inline]
    fn endpoint(&self, packet: &Packet) -> u32 {
        self.endpoint_of[packet.direction_index() - self.first_direction]
    }

    /// The host that a packet comes to.
    #[inline]
    fn host(&self, packet: &Packet) -> u32 {
        let endpoint = self.endpoint(packet);
        if self.host_of.is_empty() { endpoint } else { self.host_of[endpoint as usize] }
    }

    /// A packet enters the downlink of its host.
    #[inline(always)]
    fn receive(&mut self, host: u32, mut packet: Packet, lanes: &mut Lanes) {
        let Host { downlink, uplink, end, .. } = &mut self.hosts[host as usize];
        if let Some(downlink) = downlink {
            match downlink.pass(packet, &lanes.measured, &lanes.sacks) {
                Some(passed) => packet = passed,
                None => return lanes.release(&packet),
            }
            if packet.time > lanes.measured.to {
                return lanes.count_in_flight(packet);
            }
        }
        let number = self.endpoint_of[packet.direction_index() - self.first_direction];
        end.receive(&packet, number, &mut Outbox { uplink: uplink.as_mut(), lanes });
    }

    /// Takes the packets of a window in their order.
    #[inline]
    fn receive_in_order(&mut self, packets: &[Packet], lanes: &mut Lanes) {
        for packet in packets {
            let host = self.host(packet);
            self.receive(host, *packet, lanes);
            self.plan(host, lanes.measured.to);
        }
    }

    /// Takes the packets of a window host by host.
    #[inline]
    fn receive_by_host(&mut self, packets: &[Packet], lanes: &mut Lanes) {
        let mut by_host = std::mem::take(&mut self.by_host);
        by_host.chain(packets.iter().map(|packet| self.host(packet)));
        self.by_host = by_host;
        let looks_ahead = lanes.routes.are_many();
        let mut due = 0;
        while let Some(host) = self.by_host.host(due) {
            if looks_ahead {
                self.prefetch(packets, due, lanes);
            }
            let mut place = self.by_host.begin(host);
            while place != NONE {
                self.receive(host, packets[place as usize], lanes);
                place = self.by_host.next(place);
            }
            self.plan(host, lanes.measured.to);
            due += 1;
        }
    }

    /// Asks for what the hosts behind `place` are going to meet, step by step as their turn comes nearer.
    #[inline]
    fn prefetch(&self, packets: &[Packet], place: usize, lanes: &Lanes) {
        if let Some(host) = self.by_host.host(place + 6) {
            prefetch_lines(&self.hosts[host as usize].planned, Host::<E>::HOT_LINES);
            prefetch(&packets[self.by_host.first(host)]);
        }
        if let Some(host) = self.by_host.host(place + 4) {
            let packet = &packets[self.by_host.first(host)];
            self.hosts[host as usize].end.prefetch(self.endpoint(packet));
            // The route of the answer.
            lanes.routes.prefetch(packet.direction_index() ^ 1);
        }
        if let Some(host) = self.by_host.host(place + 2) {
            let packet = &packets[self.by_host.first(host)];
            self.hosts[host as usize].end.prefetch_further(self.endpoint(packet));
        }
    }

    /// Sees to it that what a host has to do next is done on time. What comes after the end is not done at all.
    #[inline(always)]
    fn plan(&mut self, host_number: u32, end: Time) {
        let host = &self.hosts[host_number as usize];
        let next = host.end.next();
        if next < host.planned && next <= end {
            self.plan_at(host_number, next);
        }
    }

    #[cold]
    #[inline(never)]
    fn plan_at(&mut self, host_number: u32, next: Time) {
        let host = &mut self.hosts[host_number as usize];
        host.planned = next;
        self.timers.push(Reverse((next + host.behind, host_number)));
    }

    /// Does what hosts have to do by themselves before `until`, each in its own time.
    fn run_timers(&mut self, until: Time, lanes: &mut Lanes) {
        let due = until + self.farthest;
        while let Some(&Reverse((at, number))) = self.timers.peek()
            && at < due
        {
            self.timers.pop();
            let host = &mut self.hosts[number as usize];
            if host.planned != at - host.behind {
                continue;
            }
            host.planned = Time::NEVER;
            let last = (due - host.behind - Span::from_picoseconds(1)).min(lanes.measured.to);
            if host.end.next() <= last {
                host.end.expire(last, &mut Outbox { uplink: host.uplink.as_mut(), lanes });
            }
            self.plan(number, lanes.measured.to);
        }
    }
}

impl<E: End, const ARE_MANY: bool> Node for Hosts<E, ARE_MANY> {
    fn start(&mut self, _me: NodeId, lanes: &mut Lanes) {
        for host in 0..self.hosts.len() as u32 {
            self.plan(host, lanes.measured.to);
        }
        self.run_timers(Time::ZERO, lanes);
    }

    fn next(&self) -> Time {
        let first = self.timers.peek().map_or(Time::NEVER, |&Reverse((at, _))| at);
        if first == Time::NEVER { first } else { Time::ZERO + first.since(Time::ZERO + self.farthest) }
    }

    fn run(&mut self, until: Time, me: NodeId, lanes: &mut Lanes) -> Time {
        let packets = lanes.take(me, until);
        if ARE_MANY {
            self.receive_by_host(&packets, lanes);
        } else {
            self.receive_in_order(&packets, lanes);
        }
        lanes.give_back(packets);
        self.run_timers(until, lanes);
        until
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        let measured = report.measured();
        for Host { downlink, uplink, end: ends, .. } in &mut self.hosts {
            for link in [downlink, uplink].into_iter().flatten() {
                report.link(link.finish(&measured));
            }
            ends.finish(end, report);
        }
    }
}
