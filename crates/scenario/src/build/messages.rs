//! Messages over RDMA transports: the round trips of their paths, and the constants of the network.

use std::collections::BTreeMap;
use std::sync::Arc;

use forebay_engine::forwarding::{Edge, Forwarding};
use forebay_engine::{Message, RdmaTransport, RunError};
use forebay_qdisc::{Rate, Span};
use forebay_rdma::RoceNetwork;

use crate::plan::{Plan, PlannedFlow};
use crate::schema::{FlowGroup, ScenarioSpec, Transport};

/// The path of a message, without queues.
#[derive(Clone, Copy)]
struct Trip {
    round_trip: Span,
    /// The way of an answer.
    back: Span,
    /// The rate of its first link.
    line_rate: Rate,
    /// Links one way.
    hops: u32,
}

/// Makes the transports of messages.
pub(super) struct Messages {
    /// By group and ends.
    trips: BTreeMap<(usize, u32, u32), Trip>,
    /// The longest round trip of each group's transport, over all groups of its kind.
    longest: BTreeMap<&'static str, Span>,
    /// By group and rate of the hosts.
    networks: BTreeMap<(usize, Rate), RdmaTransport>,
}

impl Messages {
    /// # Errors
    /// If no path leads from one end of a flow to the other.
    pub fn new(plan: &Plan<'_>, scenario: &ScenarioSpec) -> Result<Self, RunError> {
        let mut messages = Self { trips: BTreeMap::new(), longest: BTreeMap::new(), networks: BTreeMap::new() };
        if !scenario.flows.iter().any(|group| group.transport.is_rdma()) {
            return Ok(messages);
        }
        let paths = Paths::new(plan);
        for flow in &plan.flows {
            let transport = &scenario.flows[flow.group].transport;
            let key = (flow.group, flow.source, flow.destination);
            let Some((packet, answer)) = transport.rdma_packets() else { continue };
            if messages.trips.contains_key(&key) {
                continue;
            }
            let trip = paths.trip(flow, packet, answer)?;
            messages.trips.insert(key, trip);
            let longest = messages.longest.entry(transport.name()).or_default();
            *longest = trip.round_trip.max(*longest);
        }
        Ok(messages)
    }

    /// The time of an answer to a message of a group between these nodes, without queues.
    pub fn answer_time(&self, group: usize, [source, destination]: [u32; 2]) -> Option<Span> {
        self.trips.get(&(group, source, destination)).map(|trip| trip.back)
    }

    /// The message of a flow; without `bytes`, one without end.
    ///
    /// # Errors
    /// If the group's transport has no messages.
    pub fn message(&mut self, flow: &PlannedFlow, group: &FlowGroup, bytes: Option<u64>) -> Result<Message, RunError> {
        let unknown = || RunError::Invariant(format!("`{}` has no messages", flow.name));
        let trip = *self.trips.get(&(flow.group, flow.source, flow.destination)).ok_or_else(unknown)?;
        let longest = self.longest.get(group.transport.name()).copied().unwrap_or(trip.round_trip);
        let transport = match self.networks.get(&(flow.group, trip.line_rate)) {
            Some(known) => known.clone(),
            None => {
                let made = rdma(&group.transport, trip.line_rate, longest).ok_or_else(unknown)?;
                self.networks.insert((flow.group, trip.line_rate), made.clone());
                made
            }
        };
        Ok(Message { transport, bytes, base_round_trip: trip.round_trip, hops: trip.hops })
    }
}

/// The constants of a transport for hosts of `line_rate`.
fn rdma(transport: &Transport, line_rate: Rate, round_trip: Span) -> Option<RdmaTransport> {
    match transport {
        Transport::Uec(config) => Some(RdmaTransport::Uec(Arc::new(config.network(line_rate, round_trip)))),
        Transport::Ndp(config) => Some(RdmaTransport::Ndp(Arc::new(config.network(line_rate)))),
        Transport::Homa(config) => Some(RdmaTransport::Homa(Arc::new(config.network(line_rate, round_trip)))),
        Transport::Pfabric(config) => Some(RdmaTransport::Pfabric(Arc::new(config.network(line_rate, round_trip)))),
        Transport::Roce(config) => {
            Some(RdmaTransport::Roce(Arc::new(RoceNetwork::new(config.clone(), line_rate, round_trip))))
        }
        Transport::Tcp(_) | Transport::Udp(_) | Transport::Cells(_) | Transport::Frames(_) => None,
    }
}

struct Paths<'a> {
    plan: &'a Plan<'a>,
    forwarding: Forwarding,
    edges: Vec<Edge>,
}

impl<'a> Paths<'a> {
    fn new(plan: &'a Plan<'a>) -> Self {
        let (forwarding, edges) = plan.forwarding();
        Self { plan, forwarding, edges }
    }

    fn trip(&self, flow: &PlannedFlow, packet: u64, answer: u64) -> Result<Trip, RunError> {
        let (there, line_rate, hops) = self.way(flow.source, flow.destination, packet, &flow.name)?;
        let (back, ..) = self.way(flow.destination, flow.source, answer, &flow.name)?;
        Ok(Trip { round_trip: there + back, back, line_rate, hops })
    }

    /// The time of a packet over a shortest path, the rate of the first link, and the number of links.
    fn way(&self, from: u32, to: u32, bytes: u64, flow: &str) -> Result<(Span, Rate, u32), RunError> {
        let nowhere = || RunError::Invariant(format!("no path for `{flow}`"));
        let path = self.forwarding.path(&self.edges, from, to).ok_or_else(nowhere)?;
        let links = || path.iter().map(|&link| &self.plan.links[link as usize]);
        let rate = |link| self.plan.spec(link).rate;
        let time = links().fold(Span::ZERO, |time, link| time + link.propagation + rate(link).transmission_time(bytes));
        Ok((time, links().next().map(rate).ok_or_else(nowhere)?, path.len() as u32))
    }
}
