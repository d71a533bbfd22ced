//! Which endpoints are on which host, which links are the host's own, and which hosts run together.
//!
//! A link without a queue by which alone packets come to a host, its *downlink*, or leave it, its *uplink*, is part of
//! the host. Hosts that the same nodes feed are a group.

use std::collections::BTreeMap;

use forebay_qdisc::Span;

use crate::assembly::graph::{Distinct, Graph, Hop, Kind, Stream};
use crate::driver::node::NodeId;
use crate::error::RunError;
use crate::host::endpoints::{EndpointId, Numbers};
use crate::host::hosts::NONE;
use crate::spec::flows::Flows;
use crate::spec::links::LinkParameters;
use crate::spec::{LinkId, NodeIndex};

/// A host, or one of several parts of a host that have an uplink each.
#[derive(Clone, Debug)]
pub(crate) struct HostPlan {
    pub node: NodeIndex,
    pub downlink: Option<LinkId>,
    pub uplink: Option<LinkId>,
    pub endpoints: Vec<EndpointId>,
    /// The number of its first endpoint among the inputs of what its node sends on; [`NONE`] if it does not send there.
    pub first_input: u32,
    /// By how much it is ahead of the packets that enter its downlink.
    pub distance: Span,
}

/// The feeder of an endpoint: a node of the driver, or another endpoint whose link leads here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Feeder {
    Node(NodeId),
    Endpoint(EndpointId),
}

/// A node that feeds hosts: one that has its number already, or a group of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum GroupFeeder {
    Node(NodeId),
    Group(u32),
}

/// The use of links at hosts, by the paths of the flows.
struct Use<'a> {
    graph: &'a Graph,
    links: &'a [LinkParameters],
    /// The links by which packets come to each node that are for it, and by which each endpoint sends.
    last: Vec<Distinct>,
    first: Vec<Distinct>,
}

impl<'a> Use<'a> {
    fn new(graph: &'a Graph, links: &'a [LinkParameters], flows: &Flows, numbers: &Numbers) -> Result<Self, RunError> {
        let mut last = vec![Distinct::None; graph.kinds.len()];
        let mut first = vec![Distinct::None; numbers.flow_of.len()];
        each_stream(flows, numbers, |stream, direction, (from, _)| {
            graph.walk(stream, direction, |hop| {
                if hop.before.is_none() {
                    first[from as usize].add(hop.link);
                }
                if hop.is_last {
                    last[stream.to as usize].add(hop.link);
                }
            })
        })?;
        Ok(Self { graph, links, last, first })
    }

    /// Whether nothing but its sender's endpoints decides when a packet enters a link.
    fn is_plain(&self, link: LinkId) -> bool {
        let LinkParameters { edge, has_queue, .. } = self.links[link as usize];
        !has_queue && !self.graph.kind(edge.from).is_ethernet()
    }

    /// The downlink of a node. An impaired link is none: packets may come in another order than they enter it, and one
    /// may come twice.
    fn downlink(&self, node: NodeIndex) -> Option<LinkId> {
        let Distinct::One(link) = self.last[node as usize] else { return None };
        let is_downlink =
            self.graph.kind(node) == Kind::Host && self.is_plain(link) && !self.links[link as usize].is_impaired;
        is_downlink.then_some(link)
    }

    /// The link on which an endpoint sends, if it could be an uplink.
    fn plain_first(&self, endpoint: EndpointId) -> Option<LinkId> {
        match self.first[endpoint as usize] {
            Distinct::One(link) => {
                let sender = self.graph.edges[link as usize].from;
                // The link of a host to its neighbour is the downlink of the neighbour.
                let is_downlink = self.downlink(self.graph.edges[link as usize].to) == Some(link);
                (self.graph.kind(sender) == Kind::Host && self.is_plain(link) && !is_downlink).then_some(link)
            }
            _ => None,
        }
    }

    /// The hosts at a node with these endpoints.
    fn hosts(&self, node: NodeIndex, endpoints: &[EndpointId], delay: &impl Fn(LinkId) -> Span) -> Vec<HostPlan> {
        let downlink = self.downlink(node);
        let distance = downlink.map_or(Span::ZERO, delay);
        let sends = |endpoint: &&EndpointId| self.first[**endpoint as usize] != Distinct::None;
        let plan = |uplink: Option<LinkId>, endpoints: Vec<EndpointId>| {
            let first_input =
                if uplink.is_none() && endpoints.iter().any(|endpoint| sends(&endpoint)) { 0 } else { NONE };
            HostPlan { node, downlink, uplink, endpoints, first_input, distance }
        };
        if downlink.is_some() {
            let mut firsts = endpoints.iter().filter(sends);
            let uplink = firsts.next().and_then(|&endpoint| self.plain_first(endpoint));
            let is_for_all = uplink.is_some() && firsts.all(|&endpoint| self.plain_first(endpoint) == uplink);
            return vec![plan(uplink.filter(|_| is_for_all), endpoints.to_vec())];
        }
        // Endpoints that share their way out share the host's order of packets. Where one of them has several ways, a
        // link of the others could be one of them.
        let has_several = endpoints.iter().any(|&endpoint| self.first[endpoint as usize] == Distinct::Several);
        let mut by_first: BTreeMap<Option<LinkId>, Vec<EndpointId>> = BTreeMap::new();
        let mut plans = Vec::new();
        for &endpoint in endpoints {
            match self.first[endpoint as usize] {
                Distinct::None => plans.push(plan(None, vec![endpoint])),
                Distinct::One(link) if !has_several => by_first.entry(Some(link)).or_default().push(endpoint),
                Distinct::One(_) | Distinct::Several => by_first.entry(None).or_default().push(endpoint),
            }
        }
        let of_first = |(first, endpoints): (Option<LinkId>, Vec<EndpointId>)| {
            plan(first.and_then(|_| self.plain_first(endpoints[0])), endpoints)
        };
        plans.extend(by_first.into_iter().map(of_first));
        plans
    }
}

/// Calls `visit` for the packets of each flow in each direction that has any, with its number and the endpoints at
/// which they begin and end. Frames have no endpoints.
pub(crate) fn each_stream(
    flows: &Flows,
    numbers: &Numbers,
    mut visit: impl FnMut(Stream, usize, (EndpointId, EndpointId)) -> Result<(), RunError>,
) -> Result<(), RunError> {
    for ((flow, &(source, destination)), number) in flows.iter().zip(&numbers.ends).zip(0_usize..) {
        if source == EndpointId::MAX {
            continue;
        }
        let [data, acks] = Stream::of(flow);
        if let Some(data) = data {
            visit(data, 2 * number, (source, destination))?;
        }
        if let Some(acks) = acks {
            visit(acks, 2 * number + 1, (destination, source))?;
        }
    }
    Ok(())
}

/// All hosts but those with adapters.
pub(crate) struct Hosts {
    pub plans: Vec<HostPlan>,
    /// Whether each link is the downlink or the uplink of one of them.
    pub is_private: Vec<bool>,
    /// The host of each endpoint; [`NONE`] for one behind an adapter.
    pub host_of: Vec<u32>,
}

impl Hosts {
    /// `delay` is the least time that a packet spends on a link.
    ///
    /// # Errors
    /// If there is no path for a flow.
    pub fn new(
        graph: &Graph,
        links: &[LinkParameters],
        flows: &Flows,
        numbers: &Numbers,
        delay: impl Fn(LinkId) -> Span,
    ) -> Result<Self, RunError> {
        let of_flows = Use::new(graph, links, flows, numbers)?;
        let all = (0..numbers.flow_of.len() as EndpointId).map(|endpoint| (numbers.node(endpoint, flows), endpoint));
        let mut placed: Vec<(NodeIndex, EndpointId)> =
            all.filter(|(node, _)| !graph.kind(*node).is_ethernet()).collect();
        placed.sort_unstable();
        let mut plans: Vec<HostPlan> = Vec::new();
        for of_node in placed.chunk_by(|one, other| one.0 == other.0) {
            let endpoints: Vec<EndpointId> = of_node.iter().map(|&(_, endpoint)| endpoint).collect();
            plans.extend(of_flows.hosts(of_node[0].0, &endpoints, &delay));
        }
        drop(placed);
        plans.sort_by_key(|plan| plan.endpoints[0]);
        // The endpoints of a node are numbered behind its links.
        let mut next_input: BTreeMap<NodeIndex, u32> = BTreeMap::new();
        for plan in plans.iter_mut().filter(|plan| plan.first_input != NONE) {
            let next = next_input.entry(plan.node).or_insert_with(|| graph.links_before_endpoints(plan.node));
            plan.first_input = *next;
            *next += plan.endpoints.len() as u32;
        }
        let (mut is_private, mut host_of) = (vec![false; links.len()], vec![NONE; numbers.flow_of.len()]);
        for (plan, host) in plans.iter().zip(0..) {
            plan.downlink.iter().chain(&plan.uplink).for_each(|&link| is_private[link as usize] = true);
            plan.endpoints.iter().for_each(|&endpoint| host_of[endpoint as usize] = host);
        }
        Ok(Self { plans, is_private, host_of })
    }

    /// Puts hosts together that the same nodes feed. `node_of` is the node of the driver that sends on a link, if the
    /// link is no host's own.
    ///
    /// # Errors
    /// If there is no path for a flow.
    pub fn group(
        self,
        graph: &Graph,
        flows: &Flows,
        numbers: &Numbers,
        node_of: impl Fn(LinkId) -> Option<NodeId>,
    ) -> Result<HostGroups, RunError> {
        let (receivers, feeders) = self.receivers(graph, flows, numbers, node_of)?;
        let Self { plans, host_of, .. } = self;
        let mut grouped = Grouped { groups: Vec::new(), of: vec![None; plans.len()], by_feeders: BTreeMap::new() };
        // Those who receive nothing have no feeders.
        for host in (0..plans.len() as u32).filter(|&host| receivers.of_host[host as usize] == NONE) {
            grouped.put(&[host], (NONE, false, Vec::new()));
        }
        let place = |hosts: &[u32], feeders| {
            let plan = &plans[hosts[0] as usize];
            let node = plan.downlink.map_or(plan.node, |downlink| graph.edges[downlink as usize].from);
            (node, plan.downlink.is_some(), feeders)
        };
        // Hosts that other hosts feed without a node between them wait until those are in groups.
        let mut waiting: Vec<&[(u32, Feeder)]> = feeders.chunk_by(|one, other| one.0 == other.0).collect();
        loop {
            let before = waiting.len();
            waiting.retain(|of_receiver| {
                let hosts = &receivers.hosts[of_receiver[0].0 as usize];
                let feeders = grouped.feeders(of_receiver, &host_of);
                feeders.map(|feeders| grouped.put(hosts, place(hosts, feeders))).is_none()
            });
            if waiting.len() == before {
                break;
            }
        }
        // Hosts that feed one another in a circle, and what they feed, have a group each: within one, a packet could
        // come from one host to the next without delay.
        for of_receiver in waiting {
            let alone = vec![GroupFeeder::Group(grouped.groups.len() as u32)];
            let hosts = &receivers.hosts[of_receiver[0].0 as usize];
            grouped.put(hosts, place(hosts, alone));
        }
        let Grouped { groups, of, .. } = grouped;
        let of_host: Vec<(u32, u32)> = of.into_iter().map(Option::unwrap_or_default).collect();
        let group_of = host_of.iter().map(|&host| if host == NONE { (NONE, NONE) } else { of_host[host as usize] });
        let group_of = group_of.collect();
        let group_at = |receiver: u32| of_host[receivers.hosts[receiver as usize][0] as usize].0;
        let receiving = receivers.at_node.iter().map(|(&node, &receiver)| (node, group_at(receiver))).collect();
        let mut plans: Vec<Option<HostPlan>> = plans.into_iter().map(Some).collect();
        let take = |hosts: Vec<u32>| hosts.into_iter().filter_map(|host| plans[host as usize].take()).collect();
        Ok(HostGroups { groups: groups.into_iter().map(take).collect(), group_of, receiving })
    }

    /// The receivers of packets, and the feeders of each, in order.
    fn receivers(
        &self,
        graph: &Graph,
        flows: &Flows,
        numbers: &Numbers,
        node_of: impl Fn(LinkId) -> Option<NodeId>,
    ) -> Result<(Receivers, Vec<(u32, Feeder)>), RunError> {
        let mut receivers =
            Receivers { hosts: Vec::new(), of_host: vec![NONE; self.plans.len()], at_node: BTreeMap::new() };
        let mut feeders = Vec::new();
        each_stream(flows, numbers, |stream, direction, (from, to)| {
            let host = self.host_of[to as usize];
            if host == NONE {
                return Ok(());
            }
            let receiver = receivers.of(host, &self.plans[host as usize]);
            // Links of hosts alone have no node: the first one, and the last one.
            let feeder = |hop: Hop| node_of(hop.link).or_else(|| node_of(hop.before?));
            graph.walk(stream, direction, |hop| {
                let feeder = || feeder(hop).map_or(Feeder::Endpoint(from), Feeder::Node);
                feeders.extend(hop.is_last.then(|| (receiver, feeder())));
            })
        })?;
        feeders.sort_unstable();
        feeders.dedup();
        Ok((receivers, feeders))
    }
}

/// Hosts that receive at one place: one with a downlink, or all parts of one without.
struct Receivers {
    hosts: Vec<Vec<u32>>,
    /// The receiver that each host is a part of; [`NONE`] if it receives nothing.
    of_host: Vec<u32>,
    /// Those without a downlink.
    at_node: BTreeMap<NodeIndex, u32>,
}

impl Receivers {
    /// The receiver of a host, which may be new.
    fn of(&mut self, host: u32, plan: &HostPlan) -> u32 {
        let Self { hosts, of_host, at_node } = self;
        let known = &mut of_host[host as usize];
        if *known == NONE {
            let mut new = || {
                hosts.push(Vec::new());
                hosts.len() as u32 - 1
            };
            *known = if plan.downlink.is_some() { new() } else { *at_node.entry(plan.node).or_insert_with(new) };
            hosts[*known as usize].push(host);
        }
        *known
    }
}

/// Hosts in groups.
struct Grouped {
    groups: Vec<Vec<u32>>,
    /// The group of each host, and the place in it.
    of: Vec<Option<(u32, u32)>>,
    /// By the node whose inputs order the packets, whether the hosts have downlinks, and their feeders.
    by_feeders: BTreeMap<(NodeIndex, bool, Vec<GroupFeeder>), usize>,
}

impl Grouped {
    /// The feeders of a receiver, if all of them are in groups.
    fn feeders(&self, of_receiver: &[(u32, Feeder)], host_of: &[u32]) -> Option<Vec<GroupFeeder>> {
        let known = |&(_, feeder): &(u32, Feeder)| match feeder {
            Feeder::Node(node) => Some(GroupFeeder::Node(node)),
            Feeder::Endpoint(endpoint) => {
                let host = host_of[endpoint as usize];
                self.of[host as usize].map(|(group, _)| GroupFeeder::Group(group))
            }
        };
        let mut feeders = of_receiver.iter().map(known).collect::<Option<Vec<GroupFeeder>>>()?;
        feeders.sort_unstable();
        feeders.dedup();
        Some(feeders)
    }

    fn put(&mut self, hosts: &[u32], feeders: (NodeIndex, bool, Vec<GroupFeeder>)) {
        let group = *self.by_feeders.entry(feeders).or_insert_with(|| {
            self.groups.push(Vec::new());
            self.groups.len() - 1
        });
        for &host in hosts {
            self.of[host as usize] = Some((group as u32, self.groups[group].len() as u32));
            self.groups[group].push(host);
        }
    }
}

pub(crate) struct HostGroups {
    pub groups: Vec<Vec<HostPlan>>,
    /// The group of each endpoint's host, and the place in it; [`NONE`] for an endpoint behind an adapter.
    pub group_of: Vec<(u32, u32)>,
    /// The group that receives the packets for a node without a downlink.
    pub receiving: BTreeMap<NodeIndex, u32>,
}
