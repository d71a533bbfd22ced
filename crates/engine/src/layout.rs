//! Which links belong to hosts, which are nodes of their own, and which route packets go.

use std::collections::BTreeMap;

use forebay_qdisc::Span;

use crate::driver::node::NodeId;
use crate::driver::order::Lane;
use crate::driver::routes::{RouteRows, Step};
use crate::error::RunError;
use crate::spec::flows::Flow;
use crate::spec::links::LinkParameters;
use crate::spec::{FabricId, LinkId};

/// Index of an endpoint.
pub(crate) type EndpointId = u32;

/// The route of the packets of one flow in one direction.
#[derive(Clone, Debug)]
pub(crate) struct Route<'a> {
    pub from: EndpointId,
    pub to: EndpointId,
    pub links: &'a [LinkId],
    /// The least length of its packets in bytes.
    pub least_bytes: u32,
}

/// The routes of a flow between its ends, data first; none for the ACKs of what has no ACKs.
///
/// # Errors
/// If it crosses more links and switches than a packet can count, or none at all.
pub(crate) fn routes<'a>(
    flow: Flow<'a>,
    (source, destination): (EndpointId, EndpointId),
) -> Result<[Option<Route<'a>>; 2], RunError> {
    let route = |from, to, links: &'a [LinkId], least_bytes| {
        if links.is_empty() {
            return Err(RunError::Invariant(format!("`{}` crosses no link", flow.name)));
        }
        Ok(Some(Route { from, to, links, least_bytes }))
    };
    let (data_bytes, ack_bytes) = flow.transport.least_bytes();
    let data = route(source, destination, flow.forward, data_bytes)?;
    let acks = match ack_bytes {
        Some(bytes) => route(destination, source, flow.backward, bytes)?,
        None => None,
    };
    Ok([data, acks])
}

/// The role of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The link to a host.
    Downlink,
    /// The link from a host.
    Uplink,
    /// A node of its own, or part of one.
    Node(NodeId),
}

/// A host: its links, its endpoints, and what it is ahead of the packets that enter its downlink.
#[derive(Clone, Debug)]
pub(crate) struct HostPlan {
    pub downlink: Option<LinkId>,
    pub uplink: Option<LinkId>,
    pub endpoints: Vec<EndpointId>,
    pub distance: Span,
}

/// The properties of each link.
struct LinkView<'a> {
    specs: &'a [LinkParameters],
    /// The length of the shortest packet that takes it.
    least_bytes: Vec<u32>,
}

impl LinkView<'_> {
    /// The time from the first bit of the shortest packet at one end to its last bit at the other one.
    fn delay(&self, link: LinkId) -> Span {
        let LinkParameters { rate, propagation, .. } = &self.specs[link as usize];
        *propagation + rate.transmission_time(u64::from(self.least_bytes[link as usize]))
    }
}

/// The plan of a network of hosts, ports and fabrics.
pub(crate) struct Layout {
    pub places: Vec<Place>,
    /// The nodes of hosts: each has those that the same nodes feed. Their numbers come last.
    pub groups: Vec<Vec<HostPlan>>,
    pub first_group: NodeId,
    pub routes: RouteRows,
    pub lanes: Vec<Lane>,
}

impl Layout {
    /// Of `endpoints` endpoints, with the routes of all flows: data and ACKs alternately. Fabrics are numbered after
    /// the links that are nodes.
    pub fn new(links: &[LinkParameters], fabrics: usize, endpoints: usize, routes: &[Option<Route<'_>>]) -> Self {
        let mut least_bytes = vec![u32::MAX; links.len()];
        for route in routes.iter().flatten() {
            for &link in route.links {
                let least = &mut least_bytes[link as usize];
                *least = route.least_bytes.min(*least);
            }
        }
        let view = LinkView { specs: links, least_bytes };
        let mut ends = Ends::new(links, endpoints, routes);
        ends.find_downlinks(routes);
        ends.find_uplinks(routes);
        let (places, first_fabric) = number(links, &ends);
        let first_group = first_fabric + fabrics as NodeId;
        let hosts = ends.hosts(&view);
        let last_node = |route: &Route<'_>| nodes_of(route, links, &places, first_fabric).last().map(|(node, _)| node);
        let (groups, group_of) = group(hosts, endpoints, routes, last_node);
        let mut layout = Self { places, groups, first_group, routes: RouteRows::default(), lanes: Vec::new() };
        layout.find_routes(&view, routes, first_fabric, &group_of, endpoints);
        layout
    }

    /// The route of each (flow, direction), and the lanes between nodes.
    fn find_routes(
        &mut self,
        view: &LinkView<'_>,
        routes: &[Option<Route<'_>>],
        first_fabric: NodeId,
        group_of: &[(u32, u32)],
        endpoints: usize,
    ) {
        let mut lanes: BTreeMap<(NodeId, NodeId), Span> = BTreeMap::new();
        let beyond_links = view.specs.len() as u32;
        for route in routes {
            let Some(route) = route else {
                self.routes.end_row();
                continue;
            };
            let (group, host) = group_of[route.from as usize];
            let sender = &self.groups[group as usize][host as usize];
            let uplink = sender.uplink.map_or(Span::ZERO, |link| view.delay(link));
            let (mut from, mut delay) = (self.first_group + group, sender.distance + uplink);
            let mut feeder = sender.uplink.unwrap_or(beyond_links + route.from);
            for (node, link) in nodes_of(route, view.specs, &self.places, first_fabric) {
                add(&mut lanes, from, node, delay);
                self.routes.push(Step { node, feeder });
                (from, delay, feeder) = match link {
                    Some(link) => (node, view.delay(link), link),
                    None => (node, Span::ZERO, beyond_links + endpoints as u32 + node),
                };
            }
            let node = self.first_group + group_of[route.to as usize].0;
            add(&mut lanes, from, node, delay);
            self.routes.push(Step { node, feeder });
            self.routes.end_row();
        }
        self.lanes = lanes.into_iter().map(|((from, to), delay)| Lane { from, to, delay }).collect();
    }
}

fn add(lanes: &mut BTreeMap<(NodeId, NodeId), Span>, from: NodeId, to: NodeId, delay: Span) {
    let known = lanes.entry((from, to)).or_insert(delay);
    *known = delay.min(*known);
}

/// The nodes between the ends of a route, each with its link; fabrics have none.
fn nodes_of<'a>(
    route: &'a Route<'_>,
    links: &'a [LinkParameters],
    places: &'a [Place],
    first_fabric: NodeId,
) -> impl Iterator<Item = (NodeId, Option<LinkId>)> + 'a {
    route.links.iter().enumerate().flat_map(move |(place, &link)| {
        let fabric = links[link as usize].fabric.filter(|_| place > 0);
        let fabric = fabric.map(|(fabric, _)| (first_fabric + fabric as FabricId, None));
        let node = match places[link as usize] {
            Place::Node(node) => Some((node, Some(link))),
            Place::Downlink | Place::Uplink => None,
        };
        fabric.into_iter().chain(node)
    })
}

/// Which links are whose.
struct Ends {
    /// Whether a link has no queue, and packets take it.
    plain: Vec<bool>,
    is_downlink: Vec<bool>,
    is_uplink: Vec<bool>,
    /// The links by which packets come to each endpoint, and by which it sends.
    last: OneOfEach,
    first: OneOfEach,
}

/// A link of each endpoint, or of each other link: the first one, if there are several.
struct OneOfEach {
    links: Vec<Option<LinkId>>,
    /// All links of those that have several.
    of_several: Vec<LinkId>,
}

impl OneOfEach {
    fn new(count: usize) -> Self {
        Self { links: vec![None; count], of_several: Vec::new() }
    }

    /// One of them has this link, too.
    fn add(&mut self, of: u32, link: LinkId) {
        let known = *self.links[of as usize].get_or_insert(link);
        if known != link {
            self.of_several.extend([known, link]);
        }
    }
}

impl Ends {
    fn new(links: &[LinkParameters], endpoints: usize, routes: &[Option<Route<'_>>]) -> Self {
        let (mut last, mut first) = (OneOfEach::new(endpoints), OneOfEach::new(endpoints));
        for route in routes.iter().flatten() {
            last.add(route.to, route.links[route.links.len() - 1]);
            first.add(route.from, route.links[0]);
        }
        let mut taken = vec![false; links.len()];
        routes.iter().flatten().flat_map(|route| route.links).for_each(|&link| taken[link as usize] = true);
        let plain = links.iter().zip(taken).map(|(link, taken)| !link.has_queue && taken).collect();
        let (is_downlink, is_uplink) = (vec![false; links.len()], vec![false; links.len()]);
        Self { plain, is_downlink, is_uplink, last, first }
    }

    /// A downlink is the last link of every route that takes it, and each endpoint to which it leads has no other.
    fn find_downlinks(&mut self, routes: &[Option<Route<'_>>]) {
        let mut may = self.plain.clone();
        for route in routes.iter().flatten() {
            route.links[..route.links.len() - 1].iter().for_each(|&link| may[link as usize] = false);
        }
        self.last.of_several.iter().for_each(|&link| may[link as usize] = false);
        self.is_downlink = may;
    }

    /// The downlink of an endpoint.
    fn downlink(&self, endpoint: usize) -> Option<LinkId> {
        self.last.links[endpoint].filter(|&link| self.is_downlink[link as usize])
    }

    /// The uplink of an endpoint.
    fn uplink(&self, endpoint: usize) -> Option<LinkId> {
        self.first.links[endpoint].filter(|&link| self.is_uplink[link as usize])
    }

    /// An uplink is the first link of every route that takes it and no downlink. Each endpoint that sends on it has no
    /// other one. All that send on it have the same downlink and share that with none that sends on another one.
    fn find_uplinks(&mut self, routes: &[Option<Route<'_>>]) {
        let mut may: Vec<bool> =
            self.plain.iter().zip(&self.is_downlink).map(|(&plain, &down)| plain && !down).collect();
        for route in routes.iter().flatten() {
            route.links[1..].iter().for_each(|&link| may[link as usize] = false);
        }
        self.first.of_several.iter().for_each(|&link| may[link as usize] = false);
        let mut downlink_of: Vec<Option<Option<LinkId>>> = vec![None; may.len()];
        let mut uplink_of = OneOfEach::new(may.len());
        for endpoint in 0..self.first.links.len() {
            let Some(uplink) = self.first.links[endpoint] else { continue };
            let downlink = self.downlink(endpoint);
            // An endpoint that never receives matches any downlink.
            if self.last.links[endpoint].is_some() {
                let known = *downlink_of[uplink as usize].get_or_insert(downlink);
                may[uplink as usize] &= known == downlink;
            }
            if let Some(downlink) = downlink {
                uplink_of.add(downlink, uplink);
            }
        }
        uplink_of.of_several.iter().for_each(|&link| may[link as usize] = false);
        self.is_uplink = may;
    }

    /// The hosts: endpoints that share a downlink or an uplink are in one.
    fn hosts(&self, view: &LinkView<'_>) -> Vec<HostPlan> {
        let links = |endpoint: usize| (self.downlink(endpoint), self.uplink(endpoint));
        // An endpoint that sends on an uplink and never receives has the downlink of the others that send on it.
        let mut downlink_of: Vec<Option<LinkId>> = vec![None; self.plain.len()];
        for endpoint in 0..self.first.links.len() {
            if let (Some(downlink), Some(uplink)) = links(endpoint) {
                downlink_of[uplink as usize] = Some(downlink);
            }
        }
        let mut hosts: Vec<HostPlan> = Vec::new();
        let mut host_of: Vec<Option<u32>> = vec![None; self.plain.len()];
        for endpoint in 0..self.first.links.len() {
            let (downlink, uplink) = links(endpoint);
            let downlink = downlink.or_else(|| downlink_of[uplink? as usize]);
            let mut new = || {
                hosts.push(HostPlan { downlink, uplink: None, endpoints: Vec::new(), distance: Span::ZERO });
                hosts.len() as u32 - 1
            };
            let number = match downlink.or(uplink) {
                Some(link) => *host_of[link as usize].get_or_insert_with(&mut new),
                None => new(),
            };
            let host = &mut hosts[number as usize];
            host.endpoints.push(endpoint as EndpointId);
            host.uplink = host.uplink.or(uplink);
            host.distance = downlink.map_or(Span::ZERO, |link| view.delay(link));
        }
        hosts
    }
}

/// The role of each link: those that belong to no host are nodes, in their order; those that share state are one, which
/// has the number of the first of them. Returns how many nodes that are, too.
fn number(links: &[LinkParameters], ends: &Ends) -> (Vec<Place>, NodeId) {
    let (mut nodes, mut sharing) = (0, None);
    let mut new = || {
        nodes += 1;
        nodes - 1
    };
    let place = |(link, number): (&LinkParameters, usize)| {
        if ends.is_downlink[number] {
            Place::Downlink
        } else if ends.is_uplink[number] {
            Place::Uplink
        } else if link.shares_state {
            Place::Node(*sharing.get_or_insert_with(&mut new))
        } else {
            Place::Node(new())
        }
    };
    let places = links.iter().zip(0..).map(place).collect();
    (places, nodes)
}

/// Puts hosts that the same nodes feed together; returns the group and the place in it of each endpoint's host, too.
fn group(
    hosts: Vec<HostPlan>,
    endpoints: usize,
    routes: &[Option<Route<'_>>],
    last_node: impl Fn(&Route<'_>) -> Option<NodeId>,
) -> (Vec<Vec<HostPlan>>, Vec<(u32, u32)>) {
    let feeder = |route: &Route<'_>| (route.to, last_node(route).map_or(Feeder::Endpoint(route.from), Feeder::Node));
    let feeders = Feeders::new(routes.iter().flatten().map(feeder).collect(), endpoints);
    let mut grouped = Grouped { groups: Vec::new(), of: vec![None; endpoints], by_feeders: BTreeMap::new() };
    // Hosts that other hosts feed without a node between them wait until those are in groups.
    let mut waiting = hosts;
    loop {
        let before = waiting.len();
        waiting = waiting.into_iter().filter_map(|host| grouped.add(host, &feeders)).collect();
        if waiting.len() == before {
            break;
        }
    }
    // Hosts that feed one another in a circle, and what they feed, are a group that feeds itself. Each of them has a
    // downlink, so that no packet comes back without delay. An endpoint without feeders has none, and is in another
    // group.
    let itself = vec![GroupFeeder::Group(grouped.groups.len() as u32)];
    for host in waiting {
        grouped.put(host, itself.clone());
    }
    let Grouped { groups, of, .. } = grouped;
    (groups, of.into_iter().map(Option::unwrap_or_default).collect())
}

/// The feeder of an endpoint: a node, or another endpoint whose link leads here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Feeder {
    Node(NodeId),
    Endpoint(EndpointId),
}

/// The feeders of each endpoint, one endpoint's behind the other's.
struct Feeders {
    of_all: Vec<(EndpointId, Feeder)>,
    ends: Vec<u32>,
}

impl Feeders {
    fn new(mut of_all: Vec<(EndpointId, Feeder)>, endpoints: usize) -> Self {
        of_all.sort_unstable();
        of_all.dedup();
        let mut ends = vec![0; endpoints];
        for (&(endpoint, _), end) in of_all.iter().zip(1..) {
            ends[endpoint as usize] = end;
        }
        // An endpoint without feeders ends where the one before it does.
        let mut last = 0;
        for end in &mut ends {
            last = last.max(*end);
            *end = last;
        }
        Self { of_all, ends }
    }

    fn of(&self, endpoint: EndpointId) -> impl Iterator<Item = Feeder> {
        let begin = endpoint.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        self.of_all[begin as usize..self.ends[endpoint as usize] as usize].iter().map(|&(_, feeder)| feeder)
    }
}

/// A node that feeds hosts: one that is a node already, or a group of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum GroupFeeder {
    Node(NodeId),
    Group(u32),
}

/// Hosts in groups.
struct Grouped {
    groups: Vec<Vec<HostPlan>>,
    /// The group and the place in it of each endpoint's host.
    of: Vec<Option<(u32, u32)>>,
    by_feeders: BTreeMap<Vec<GroupFeeder>, usize>,
}

impl Grouped {
    /// Puts a host into the group of those with the same feeders; returns it if one of them is in no group yet.
    fn add(&mut self, host: HostPlan, feeders: &Feeders) -> Option<HostPlan> {
        let known = |feeder: Feeder| match feeder {
            Feeder::Node(node) => Some(GroupFeeder::Node(node)),
            Feeder::Endpoint(endpoint) => self.of[endpoint as usize].map(|(group, _)| GroupFeeder::Group(group)),
        };
        let of_host = host.endpoints.iter().flat_map(|&endpoint| feeders.of(endpoint));
        let Some(mut of_host) = of_host.map(known).collect::<Option<Vec<GroupFeeder>>>() else { return Some(host) };
        of_host.sort_unstable();
        of_host.dedup();
        self.put(host, of_host);
        None
    }

    fn put(&mut self, host: HostPlan, feeders: Vec<GroupFeeder>) {
        let group = *self.by_feeders.entry(feeders).or_insert_with(|| {
            self.groups.push(Vec::new());
            self.groups.len() - 1
        });
        for &endpoint in &host.endpoints {
            self.of[endpoint as usize] = Some((group as u32, self.groups[group].len() as u32));
        }
        self.groups[group].push(host);
    }
}
