//! The channels between the nodes of the driver, and the load of each node.

use std::collections::BTreeMap;

use forebay_qdisc::Span;
use forebay_switching::congestion::CONTROL_FRAME_BYTES;

use crate::assembly::graph::{Distinct, Graph, Hop, Kind, Stream};
use crate::assembly::hosts::{HostGroups, HostPlan};
use crate::assembly::ways::DriverNodes;
use crate::driver::node::NodeId;
use crate::driver::order::Channel;
use crate::error::RunError;
use crate::host::endpoints::Numbers;
use crate::host::hosts::NONE;
use crate::spec::flows::Flows;
use crate::spec::links::LinkParameters;
use crate::spec::{LinkId, NodeIndex, Transport, UdpPattern};

/// Cost of a packet at a group of hosts, with downlink, endpoint and uplink, and elsewhere.
const HOSTS: f64 = 3.0;
const PORT: f64 = 1.0;

/// Any length will do for a rough measure.
const PACKET_BITS: f64 = 8000.0;

/// The packets of the flows on each link.
pub(crate) struct LinkUse<'a> {
    links: &'a [LinkParameters],
    /// The length of the shortest packet.
    least_bytes: Vec<u32>,
    /// How many flows send data.
    flows: Vec<u32>,
}

impl<'a> LinkUse<'a> {
    /// # Errors
    /// If there is no path for a flow.
    pub fn new(graph: &Graph, links: &'a [LinkParameters], flows: &Flows) -> Result<Self, RunError> {
        let (mut least_bytes, mut flows_on) = (vec![u32::MAX; links.len()], vec![0; links.len()]);
        let mut shortest = CONTROL_FRAME_BYTES;
        for (flow, number) in flows.iter().zip(0_usize..) {
            for (stream, direction) in Stream::of(flow).into_iter().flatten().zip(2 * number..) {
                shortest = shortest.min(stream.least_bytes);
                graph.walk(stream, direction, |Hop { link, .. }| {
                    let least = &mut least_bytes[link as usize];
                    *least = stream.least_bytes.min(*least);
                    flows_on[link as usize] += u32::from(direction % 2 == 0);
                })?;
            }
        }
        for (edge, least) in graph.edges.iter().zip(&mut least_bytes) {
            if graph.kind(edge.from).is_ethernet() || graph.kind(edge.to).is_ethernet() {
                *least = shortest;
            }
        }
        Ok(Self { links, least_bytes, flows: flows_on })
    }

    /// The time from the first bit of the shortest packet at one end to its last bit at the other one.
    pub fn delay(&self, link: LinkId) -> Span {
        let LinkParameters { fastest, propagation, has_opportunities, .. } = &self.links[link as usize];
        if *has_opportunities {
            return *propagation;
        }
        *propagation + fastest.transmission_time(u64::from(self.least_bytes[link as usize]))
    }

    /// The rate of a link for each of its flows, in bits per second.
    fn share_bps(&self, link: LinkId) -> f64 {
        self.links[link as usize].rate.bits_per_second() as f64 / f64::from(self.flows[link as usize])
    }
}

/// A packet at a node of the driver, or on its way from it for at least this time.
#[derive(Clone, Copy)]
struct Sent {
    by: NodeId,
    delay: Span,
    /// Expected packets per second.
    packets: f64,
}

/// The node of the driver that packets come to next.
pub(crate) struct NextNodes {
    /// From each link.
    pub behind: Vec<Distinct>,
    /// From the endpoints at each node.
    pub out_of: Vec<Distinct>,
}

pub(crate) struct ChannelFinder<'a> {
    graph: &'a Graph,
    nodes: &'a DriverNodes,
    groups: &'a HostGroups,
    of_links: &'a LinkUse<'a>,
    channels: BTreeMap<(NodeId, NodeId), Channel>,
    next: NextNodes,
}

/// The channels of a network, with the loads and next nodes that follow from the paths of its flows.
pub(crate) struct FoundChannels {
    pub channels: Vec<Channel>,
    /// Expected packets per second at each node of the driver, weighted by cost.
    pub loads: Vec<f64>,
    pub next: NextNodes,
}

impl<'a> ChannelFinder<'a> {
    pub fn new(graph: &'a Graph, nodes: &'a DriverNodes, groups: &'a HostGroups, of_links: &'a LinkUse<'a>) -> Self {
        let (behind, out_of) = (vec![Distinct::None; graph.edges.len()], vec![Distinct::None; graph.kinds.len()]);
        let next = NextNodes { behind, out_of };
        Self { graph, nodes, groups, of_links, channels: BTreeMap::new(), next }
    }

    fn add(&mut self, Sent { by: from, delay, packets }: Sent, to: NodeId) {
        let channel = self.channels.entry((from, to)).or_insert(Channel { from, to, delay, packets: 0.0 });
        channel.delay = delay.min(channel.delay);
        channel.packets += packets;
    }

    /// A packet behind a link. A host's own link is part of the host, whose packets are `from_host` behind it.
    fn behind(&self, link: LinkId, from_host: Sent) -> Sent {
        self.nodes.of_link(link).map_or(from_host, |by| Sent { by, delay: self.of_links.delay(link), ..from_host })
    }

    /// The node of the driver that a packet comes to before the port of its next link: a fabric, or one that chooses.
    fn in_front(&self, hop: Hop) -> Option<NodeId> {
        let from = self.graph.edges[hop.link as usize].from;
        let chooses = hop.is_chosen && self.graph.has_chooser(from);
        (chooses || self.graph.kind(from) == Kind::Crossbar).then(|| self.nodes.of_node(from))
    }

    /// Adds the channels to the sender of the next link.
    fn cross(&mut self, mut sent: Sent, hop: Hop) -> Sent {
        let link = hop.link;
        if let Some(fabric) = self.in_front(hop) {
            self.add(sent, fabric);
            sent = Sent { by: fabric, delay: Span::ZERO, ..sent };
        }
        if let Some(sender) = self.nodes.of_link(link) {
            self.add(sent, sender);
        }
        self.behind(link, sent)
    }

    fn plan(&self, (group, host): (u32, u32)) -> &HostPlan {
        &self.groups.groups[group as usize][host as usize]
    }

    /// Notes the node that comes next in front of a link, and behind it if packets end there, at a node of the driver.
    /// They begin at `from`.
    fn note_next(&mut self, from: NodeIndex, hop: Hop, end: NodeId) {
        let Hop { before, link, is_last, .. } = hop;
        let next = self.in_front(hop).or(self.nodes.of_link(link));
        // A downlink is part of the group of its host, an uplink of its host.
        let is_downlink = next.is_none() && self.nodes.group_behind(link).is_some();
        let NextNodes { behind, out_of } = &mut self.next;
        let in_front = before.map_or(&mut out_of[from as usize], |before| &mut behind[before as usize]);
        if let Some(next) = next.or(is_downlink.then_some(end)) {
            in_front.add(next);
        }
        if is_last && !is_downlink {
            behind[link as usize].add(end);
        }
    }

    /// A packet leaves the host of an endpoint, over its uplink if there is one.
    fn leave(&self, host: (u32, u32), packets: f64) -> Sent {
        let HostPlan { uplink, distance, .. } = self.plan(host);
        let uplink = uplink.map_or(Span::ZERO, |link| self.of_links.delay(link));
        Sent { by: self.nodes.of_group(host.0), delay: *distance + uplink, packets }
    }

    /// The channels that the packets of all flows take, and those between neighbours on an Ethernet. Also the expected
    /// packets per second at each node, weighted by cost; flows share links equally.
    ///
    /// # Errors
    /// If there is no path for a flow, or no adapter for frames.
    pub fn find(mut self, flows: &Flows, numbers: &Numbers, nodes: usize) -> Result<FoundChannels, RunError> {
        let mut loads = vec![0.0; nodes];
        let mut hops: Vec<Hop> = Vec::new();
        for (flow, number) in flows.iter().zip(0_usize..) {
            let mut packets = 0.0;
            let (source, destination) = numbers.ends[number];
            let are_adapters = [flow.source, flow.destination].map(|end| self.graph.kind(end) == Kind::Adapter);
            if matches!(flow.transport, Transport::Frames { .. }) && are_adapters != [true; 2] {
                return Err(RunError::Invariant(format!("`{}`: frames without adapters", flow.name)));
            }
            for (stream, direction) in Stream::of(flow).into_iter().flatten().zip(2 * number..) {
                hops.clear();
                self.graph.walk(stream, direction, |hop| hops.push(hop))?;
                let is_data = direction % 2 == 0;
                if is_data {
                    let shares = hops.iter().map(|hop| self.of_links.share_bps(hop.link));
                    packets = shares.fold(f64::INFINITY, f64::min) / PACKET_BITS;
                }
                let (from, to) = if is_data { (source, destination) } else { (destination, source) };
                let host_of = |endpoint: u32| {
                    Some(*self.groups.group_of.get(endpoint as usize)?).filter(|&(group, _)| group != NONE)
                };
                let (from, to) = (host_of(from), host_of(to));
                let mut load = |node: NodeId, cost: f64| loads[node as usize] += packets * cost;
                // An adapter sends on its link itself.
                let adapter = || Sent { by: self.nodes.of_node(stream.from), delay: Span::ZERO, packets };
                let start = from.map_or_else(adapter, |host| self.leave(host, packets));
                load(start.by, HOSTS);
                let end = to.map_or_else(|| self.nodes.of_node(stream.to), |(group, _)| self.nodes.of_group(group));
                load(end, HOSTS);
                for &hop in &hops {
                    let mut sent = hop.before.map_or(start, |before| self.behind(before, start));
                    let before = sent.by;
                    if self.nodes.of_link(hop.link) == Some(before) {
                        sent.delay = self.of_links.delay(hop.link);
                    } else {
                        sent = self.cross(sent, hop);
                    }
                    if sent.by != before {
                        load(sent.by, PORT);
                    }
                    if hop.is_last {
                        self.add(sent, end);
                    }
                    self.note_next(stream.from, hop, end);
                }
            }
        }
        self.join_ethernet();
        Ok(FoundChannels { channels: self.channels.into_values().collect(), loads, next: self.next })
    }

    /// PAUSE goes from neighbour to neighbour.
    fn join_ethernet(&mut self) {
        for (edge, link) in self.graph.edges.iter().zip(0..) {
            if self.graph.kind(edge.from).is_ethernet() && self.graph.kind(edge.to).is_ethernet() {
                let (by, delay) = (self.nodes.of_node(edge.from), self.of_links.delay(link));
                let sent = Sent { by, delay, packets: 0.0 };
                self.add(sent, self.nodes.of_node(edge.to));
            }
        }
    }
}

/// Packets per second that UDP sources and pings generate together at their highest rates. Sources of cells and frames
/// generate no more than their lines carry, and pings that wait for answers have one packet.
pub(crate) fn generated(flows: &Flows) -> f64 {
    let of_flow = |transport: &Transport| {
        let (pattern, length) = match transport {
            Transport::Udp { pattern, length, .. } => (pattern, length),
            Transport::Ping(ping) => return ping.gap.map_or(0.0, |gap| 1.0 / gap.seconds()),
            _ => return 0.0,
        };
        if let UdpPattern::Gaps(gap) = pattern {
            return 1e12 / gap.mean();
        }
        let rate_bps = match pattern {
            UdpPattern::Constant { rate_bps, .. }
            | UdpPattern::OnOff { rate_bps, .. }
            | UdpPattern::Poisson { rate_bps } => *rate_bps,
            UdpPattern::Gaps(_) => 0.0,
            UdpPattern::Steps(steps) => steps.iter().map(|step| step.rate_bps).fold(0.0, f64::max),
        };
        rate_bps / (8.0 * length.mean_within(1.0, f64::from(u16::MAX)))
    };
    flows.iter().map(|flow| of_flow(flow.transport)).sum()
}
