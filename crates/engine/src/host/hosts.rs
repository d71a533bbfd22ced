//! Hosts that the same nodes feed, each with its endpoints and the links that are its own.
//!
//! A plain link by which packets come to a host (its *downlink*) or leave it (its *uplink*) is part of the host. Hosts
//! share no state, so a packet passes downlink, endpoint and uplink before the next one is looked at. Each host has a
//! time of its own: it is ahead of the packets that enter its downlink by the delay of the downlink.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem::offset_of;
use std::sync::Arc;

use forebay_qdisc::{Span, Time};

use crate::assembly::hosts::HostPlan;
use crate::driver::node::{Channels, Node, NodeId, just_before};
use crate::driver::prefetch::{LINE_BYTES, prefetch, prefetch_lines};
use crate::driver::routes::PACKETS_AHEAD;
use crate::error::RunError;
use crate::host::by_host::ByHost;
use crate::host::endpoint::AnyEndpoint;
use crate::host::endpoints::BulkEnd;
use crate::host::endpoints::EndpointId;
use crate::host::outbox::{Exit, NodePorts, Outbox};
use crate::host::send_path::SendPath;
use crate::host::several::{Endpoints, HostEndpoint};
use crate::host::tcp::{TcpSink, TcpSource};
use crate::link::Link;
use crate::observe::report::Report;
use crate::observe::so_far::Show;
use crate::packet::Packet;
use crate::packet::side_tables::SideTables;

/// No index.
pub(crate) const NONE: u32 = u32::MAX;

pub(crate) struct HostParts {
    pub downlink: Option<Link>,
    pub uplink: Option<Link>,
    pub ports: NodePorts,
    pub path: Option<Box<SendPath>>,
    pub endpoints: Vec<AnyEndpoint>,
    /// The salts by endpoint.
    pub salts: Vec<u32>,
}

/// The number from which hosts do not fit into the first-level cache: each takes all its packets of a window in one go.
/// With fewer, packets are taken in the order of time, so that the answers are nearly sorted.
const MANY_HOSTS: usize = 64;

/// The node of a group of hosts; `ARE_MANY` is [`MANY_HOSTS`].
struct Hosts<E, const ARE_MANY: bool> {
    hosts: Vec<Host<E>>,
    /// The host of each endpoint; empty where each host has one endpoint.
    host_of: Vec<u32>,
    /// The endpoint of each (flow, direction), in a table for all groups.
    endpoint_of: Arc<[u32]>,
    by_host: ByHost,
    /// The times at which hosts act without a packet, plus [`Host::behind`]. Entries may be too early.
    timers: BinaryHeap<Reverse<(Time, u32)>>,
    /// The delay of the longest downlink.
    farthest: Span,
}

/// A host: fields that every packet touches come first.
#[repr(C, align(64))]
struct Host<E> {
    /// The due time of its earliest timer entry, in its own time; [`Time::NEVER`] without.
    planned: Time,
    /// `None` if packets leave at once.
    path: Option<Box<SendPath>>,
    downlink: Option<Link>,
    uplink: Option<Link>,
    end: E,
    ports: NodePorts,
    /// The difference between its downlink and the longest one.
    behind: Span,
    /// The due time of another timer entry; [`Time::NEVER`] without. A paced sender has one for the next segment and
    /// one for its retransmission timer.
    planned_later: Time,
}

impl<E: HostEndpoint> Host<E> {
    /// Cache lines that a packet touches.
    const HOT_LINES: usize = (offset_of!(Self, end) + E::HOT_BYTES).div_ceil(LINE_BYTES);
}

// With many flows each line is a load from far memory.
const _: () = assert!(Host::<TcpSource>::HOT_LINES == 6 && Host::<TcpSink>::HOT_LINES == 5);

/// The node of hosts, made one by one. `endpoint_of` has the place of an endpoint among all of the group, by the (flow,
/// direction) of the packets that come to it.
///
/// # Errors
/// If a host cannot be made.
pub(crate) fn hosts(
    plans: Vec<HostPlan>,
    make: impl FnMut(&HostPlan) -> Result<HostParts, RunError>,
    bulk_end: impl Fn(EndpointId) -> Option<BulkEnd>,
    endpoint_of: Arc<[u32]>,
) -> Result<Box<dyn Node>, RunError> {
    let all = |end| plans.iter().all(|plan| matches!(plan.endpoints[..], [only] if bulk_end(only) == Some(end)));
    Ok(if plans.len() < MANY_HOSTS {
        Box::new(Hosts::<Endpoints, false>::new(plans, make, endpoint_of)?)
    } else if all(BulkEnd::Source) {
        Box::new(Hosts::<TcpSource, true>::new(plans, make, endpoint_of)?)
    } else if all(BulkEnd::Sink) {
        Box::new(Hosts::<TcpSink, true>::new(plans, make, endpoint_of)?)
    } else {
        Box::new(Hosts::<Endpoints, true>::new(plans, make, endpoint_of)?)
    })
}

impl<E: HostEndpoint, const ARE_MANY: bool> Hosts<E, ARE_MANY> {
    fn new(
        plans: Vec<HostPlan>,
        mut make: impl FnMut(&HostPlan) -> Result<HostParts, RunError>,
        endpoint_of: Arc<[u32]>,
    ) -> Result<Self, RunError> {
        let farthest = plans.iter().map(|plan| plan.distance).max().unwrap_or(Span::ZERO);
        let first_of: Vec<u32> = plans
            .iter()
            .scan(0, |end, plan| Some(std::mem::replace(end, *end + plan.endpoints.len() as u32)))
            .collect();
        let mut host_of = Vec::new();
        if plans.iter().any(|plan| plan.endpoints.len() != 1) {
            host_of = plans.iter().zip(0..).flat_map(|(plan, host)| vec![host; plan.endpoints.len()]).collect();
        }
        let mut hosts = Vec::with_capacity(plans.len());
        for (plan, first) in plans.into_iter().zip(first_of) {
            let HostParts { downlink, uplink, ports, path, endpoints, salts } = make(&plan)?;
            let end = E::of(endpoints, first, salts).expect("a host has endpoints, of the kind that is asked for");
            let behind = farthest - plan.distance;
            hosts.push(Host {
                planned: Time::NEVER,
                planned_later: Time::NEVER,
                behind,
                downlink,
                uplink,
                ports,
                path,
                end,
            });
        }
        let by_host = ByHost::new(hosts.len());
        Ok(Self { hosts, host_of, endpoint_of, by_host, timers: BinaryHeap::new(), farthest })
    }

    #[inline]
    fn endpoint(&self, packet: &Packet) -> u32 {
        self.endpoint_of[packet.direction_index()]
    }

    #[inline]
    fn host(&self, endpoint: u32) -> u32 {
        if self.host_of.is_empty() { endpoint } else { self.host_of[endpoint as usize] }
    }

    /// A packet comes to `host`, for its endpoint of this number.
    #[inline(always)]
    fn receive(&mut self, host: u32, endpoint: u32, packet: &Packet, channels: &mut Channels) {
        let Host { downlink, uplink, ports, path, end, .. } = &mut self.hosts[host as usize];
        let arrived;
        let packet = if let Some(downlink) = downlink {
            arrived = downlink.pass(packet, &channels.measured, &channels.tables);
            if arrived.time > channels.measured.to {
                return channels.count_in_flight(&arrived);
            }
            &arrived
        } else {
            packet
        };
        let (exit, path) = (Exit::over(uplink.as_mut(), ports), path.as_deref_mut());
        end.receive(packet, endpoint, &mut Outbox { exit, path, channels });
    }

    #[inline]
    fn receive_in_order(&mut self, packets: &[Packet], channels: &mut Channels) {
        let looks_ahead = channels.routes.are_many();
        for packets in packets.chunks(if looks_ahead { PACKETS_AHEAD } else { usize::MAX }) {
            if looks_ahead {
                self.prefetch_in_order(packets, &channels.tables);
            }
            for packet in packets {
                let endpoint = self.endpoint(packet);
                let host = self.host(endpoint);
                self.receive(host, endpoint, packet, channels);
                self.plan(host, channels.measured.to);
            }
        }
    }

    /// Prefetches what these packets will touch, in the order in which one thing leads to another.
    fn prefetch_in_order(&self, packets: &[Packet], tables: &SideTables) {
        let end_of = |packet| {
            let endpoint = self.endpoint(packet);
            (&self.hosts[self.host(endpoint) as usize].end, endpoint)
        };
        for packet in packets {
            tables.prefetch_header(packet);
            let (end, endpoint) = end_of(packet);
            end.prefetch(endpoint);
        }
        for packet in packets {
            let (end, endpoint) = end_of(packet);
            end.prefetch_further(endpoint);
        }
    }

    #[inline]
    fn receive_by_host(&mut self, packets: &[Packet], channels: &mut Channels) {
        let mut by_host = std::mem::take(&mut self.by_host);
        by_host.chain(packets.iter().map(|packet| self.host(self.endpoint(packet))));
        self.by_host = by_host;
        let looks_ahead = channels.routes.are_many();
        let mut due = 0;
        while let Some(host) = self.by_host.host(due) {
            if looks_ahead {
                self.prefetch(packets, due, channels);
            }
            let mut place = self.by_host.begin(host);
            while place != NONE {
                let packet = &packets[place as usize];
                let endpoint = if E::IS_ONE { 0 } else { self.endpoint(packet) };
                self.receive(host, endpoint, packet, channels);
                place = self.by_host.next(place);
            }
            self.plan(host, channels.measured.to);
            due += 1;
        }
    }

    /// Prefetches what the hosts behind `place` will touch.
    #[inline]
    fn prefetch(&self, packets: &[Packet], place: usize, channels: &Channels) {
        if let Some(host) = self.by_host.host(place + 6) {
            prefetch_lines(&self.hosts[host as usize].planned, Host::<E>::HOT_LINES);
            prefetch(&packets[self.by_host.first(host)]);
        }
        if let Some(host) = self.by_host.host(place + 4) {
            let packet = &packets[self.by_host.first(host)];
            self.hosts[host as usize].end.prefetch(self.endpoint(packet));
            // The route of the answer.
            channels.routes.prefetch(packet.direction_index() ^ 1);
        }
        if let Some(host) = self.by_host.host(place + 2) {
            let packet = &packets[self.by_host.first(host)];
            self.hosts[host as usize].end.prefetch_further(self.endpoint(packet));
        }
    }

    /// Enters the next timer of a host, unless it is after the end.
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
        host.planned_later = host.planned_later.min(host.planned);
        host.planned = next;
        self.timers.push(Reverse((next + host.behind, host_number)));
    }

    /// Runs the timers before `until`, each host in its own time.
    fn run_timers(&mut self, until: Time, channels: &mut Channels) {
        let due = until + self.farthest;
        while let Some(&Reverse((at, number))) = self.timers.peek()
            && at < due
        {
            self.timers.pop();
            let host = &mut self.hosts[number as usize];
            if host.planned != at - host.behind {
                continue;
            }
            host.planned = std::mem::replace(&mut host.planned_later, Time::NEVER);
            let last = just_before(due - host.behind).min(channels.measured.to);
            if host.end.next() <= last {
                let (exit, path) = (Exit::over(host.uplink.as_mut(), &host.ports), host.path.as_deref_mut());
                host.end.expire(last, &mut Outbox { exit, path, channels });
            }
            self.plan(number, channels.measured.to);
        }
    }
}

impl<E: HostEndpoint, const ARE_MANY: bool> Node for Hosts<E, ARE_MANY> {
    fn start(&mut self, _me: NodeId, channels: &mut Channels) {
        for host in 0..self.hosts.len() as u32 {
            self.plan(host, channels.measured.to);
        }
        self.run_timers(Time::ZERO, channels);
    }

    fn next(&self) -> Time {
        let first = self.timers.peek().map_or(Time::NEVER, |&Reverse((at, _))| at);
        if first == Time::NEVER { first } else { Time::ZERO + first.since(Time::ZERO + self.farthest) }
    }

    fn run(&mut self, until: Time, me: NodeId, channels: &mut Channels) -> (Time, Time) {
        let packets = channels.take(me, until);
        if ARE_MANY {
            self.receive_by_host(&packets, channels);
        } else {
            self.receive_in_order(&packets, channels);
        }
        channels.give_back(packets);
        self.run_timers(until, channels);
        (until, self.next())
    }

    fn show(&self, show: &mut Show<'_>) {
        for Host { downlink, uplink, end, .. } in &self.hosts {
            for link in [downlink, uplink].into_iter().flatten() {
                link.show(show);
            }
            end.show(show);
        }
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        let measured = report.measured();
        for Host { downlink, uplink, path, end: ends, .. } in &mut self.hosts {
            if let (Some(path), Some(uplink)) = (path, &uplink) {
                report.device_queue(path.dropped(), uplink.number(), uplink.rate());
            }
            for link in [downlink, uplink].into_iter().flatten() {
                report.link(link.finish(&measured));
            }
            ends.finish(end, report);
        }
    }
}

#[cfg(test)]
#[path = "hosts_tests.rs"]
mod tests;
