//! The outline of a plan: the links that each table of a scenario describes, and where flows can begin and end.
//!
//! Its size depends on the tables, not on the number of flows. Validation, names, and the estimate of memory use it,
//! and the plan makes the single links from it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use forebay_document::Path;
use forebay_switching::PathPolicyConfig;
use forebay_units::{Rate, Span};

use super::named::{EthernetPlan, NamedNode};
use crate::schema::{Fabric, FlowGroup, LinkSpec, ScenarioSpec, Transport};

/// Where the links of a table are between the sources and the destinations of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The own link of a source.
    Uplink,
    /// Between the sources' own links and the bottleneck.
    Inner,
    /// Where flows meet.
    Bottleneck,
    /// The own link of a destination.
    Downlink,
}

/// The instances of a table: there is a link for each.
#[derive(Debug)]
pub(crate) enum Each {
    /// One link.
    One,
    /// A link for each of these numbers.
    Number(std::ops::Range<u32>),
    /// A link for each flow of these groups.
    FlowOf(Vec<usize>),
}

/// How many of all flows cross a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crossed {
    /// One flow.
    One,
    /// An equal part of the flows, which may be any.
    Part,
    /// As many as if each flow crossed three links of the network.
    Few,
    /// All flows.
    All,
}

/// The packets that are known to cross a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Traffic {
    /// Data of any flow.
    Data,
    /// Data of this group of flows.
    DataOf(usize),
    /// Acknowledgements of any flow.
    Acks,
    /// Both of any flow.
    Both,
    /// Packets of some flows.
    Some,
}

/// One direction of links that are alike.
#[derive(Debug)]
pub(crate) struct Direction<'s> {
    pub spec: Cow<'s, LinkSpec>,
    /// The table that describes it; none for a way back that follows from the way there.
    pub path: Option<Path>,
    pub traffic: Traffic,
    /// A link's name is the instance between these.
    name: (Cow<'s, str>, &'static str),
}

impl<'s> Direction<'s> {
    /// Links that the table at `path` describes.
    pub fn described(name: impl Into<Cow<'s, str>>, spec: &'s LinkSpec, path: Path, traffic: Traffic) -> Self {
        Self::new((name.into(), ""), Cow::Borrowed(spec), Some(path), traffic)
    }

    /// The way back where none is described: the same rate and delay, drop-tail without limit, no impairments.
    pub fn plain(name: (&'static str, &'static str), there: &LinkSpec) -> Self {
        Self::new((name.0.into(), name.1), Cow::Owned(there.plain()), None, Traffic::Acks)
    }

    /// The way back of a host's link, which the same table describes: drop-tail without limit, the rest is the same.
    pub fn of_access(name: (&'static str, &'static str), there: &LinkSpec) -> Self {
        Self::new((name.0.into(), name.1), Cow::Owned(there.without_queue()), None, Traffic::Acks)
    }

    pub fn new(
        name: (Cow<'s, str>, &'static str),
        spec: Cow<'s, LinkSpec>,
        path: Option<Path>,
        traffic: Traffic,
    ) -> Self {
        Self { spec, path, traffic, name }
    }

    /// The name of the link of this instance.
    pub fn link_name(&self, instance: &str) -> String {
        [&self.name.0, instance, self.name.1].concat()
    }
}

/// Links that are alike, with their way back.
#[derive(Debug)]
pub(crate) struct Links<'s> {
    pub role: Role,
    pub each: Each,
    pub there: Direction<'s>,
    pub back: Option<Direction<'s>>,
    pub crossed: Crossed,
    /// How many of them a flow crosses between its source's own link and its destination, on average.
    pub crossings: f64,
    /// The nodes at the ends, as indices of [`Outline::nodes`], where the scenario names nodes.
    pub ends: Option<[u32; 2]>,
    /// Their length for forwarding.
    pub metric: u32,
}

impl<'s> Links<'s> {
    /// A single link that all flows cross.
    pub fn bottleneck(there: Direction<'s>, back: Option<Direction<'s>>) -> Self {
        Self {
            role: Role::Bottleneck,
            each: Each::One,
            there,
            back,
            crossed: Crossed::All,
            crossings: 1.0,
            ends: None,
            metric: 1,
        }
    }

    /// Own links of sources or of destinations.
    pub fn of_hosts(role: Role, each: Each, there: Direction<'s>, back: Direction<'s>) -> Self {
        let crossed = if matches!(each, Each::FlowOf(_)) { Crossed::One } else { Crossed::Part };
        Self { role, each, crossed, crossings: 0.0, ..Self::bottleneck(there, Some(back)) }
    }

    /// Their directions.
    pub fn directions(&self) -> impl Iterator<Item = &Direction<'s>> {
        [&self.there].into_iter().chain(&self.back)
    }
}

/// Nodes with a fabric.
#[derive(Debug)]
pub(crate) struct Crossbar<'s> {
    pub name: &'s str,
    pub ports: usize,
    pub fabric: Cow<'s, Fabric>,
    /// The key with its fabric.
    pub path: Path,
    pub crossed: Crossed,
}

/// The lines of cells that lead into a switch.
#[derive(Debug)]
pub(crate) struct CellLines {
    pub lines: u32,
    pub rate: Rate,
    /// The pairs of ports, from 0, that the load uses, and the part of the input's line that goes there.
    pub pairs: Vec<(usize, usize, f64)>,
}

/// See [the module](self).
#[derive(Debug)]
pub(crate) struct Outline<'s> {
    pub spec: &'s ScenarioSpec,
    /// The table of the topology.
    pub path: Path,
    pub links: Vec<Links<'s>>,
    pub crossbars: Vec<Crossbar<'s>>,
    /// The nodes, where flows can name them.
    pub nodes: Vec<NamedNode<'s>>,
    pub(super) numbers: BTreeMap<Cow<'s, str>, u32>,
    /// Where there are Ethernet switches.
    pub ethernet: Option<EthernetPlan<'s>>,
    /// The number of routers at which flows can enter, where there is a choice.
    pub entries: Option<u32>,
    /// Whether flows can have the hosts of other flows.
    pub shares_hosts: bool,
    pub cells: Option<CellLines>,
    /// Which of several equal paths packets take, where there may be several.
    pub paths: Option<&'s PathPolicyConfig>,
    /// How long after an outage begins or ends routes follow, if they do.
    pub reroute_after: Option<Span>,
    /// For each group of flows the links of its sources, as an index of `links`.
    uplinks: Vec<Option<usize>>,
}

impl<'s> Outline<'s> {
    pub(super) fn empty(spec: &'s ScenarioSpec) -> Self {
        Self {
            spec,
            path: Path::default().key("topology").key(spec.topology.name()),
            links: Vec::new(),
            crossbars: Vec::new(),
            nodes: Vec::new(),
            numbers: BTreeMap::new(),
            ethernet: None,
            entries: None,
            shares_hosts: false,
            cells: None,
            paths: None,
            reroute_after: None,
            uplinks: vec![None; spec.flows.len()],
        }
    }

    /// The direction that the key of this name in the topology's table describes.
    pub(super) fn described(&self, name: &'static str, spec: &'s LinkSpec, key: &str, of: Traffic) -> Direction<'s> {
        Direction::described(name, spec, self.path.key(key), of)
    }

    /// Adds the links between a router and another node, `bottleneck` and `reverse`.
    pub(super) fn add_bottleneck(&mut self, there: &'s LinkSpec, reverse: Option<&'s LinkSpec>) {
        let back = match reverse {
            Some(reverse) => self.described("reverse", reverse, "reverse", Traffic::Acks),
            None => Direction::plain(("reverse", ""), there),
        };
        let there = self.described("bottleneck", there, "bottleneck", Traffic::Data);
        self.links.push(Links::bottleneck(there, Some(back)));
    }

    /// Adds the own links of sources: those that `access` describes, one for each of `hosts` or else for each flow, and
    /// those of groups that describe their own. `back` makes the way back of such a link.
    pub(super) fn add_uplinks(
        &mut self,
        access: Option<&'s LinkSpec>,
        hosts: Option<u32>,
        back: impl Fn(&'s LinkSpec) -> Direction<'s>,
    ) {
        let groups: &'s [FlowGroup] = &self.spec.flows;
        let has_hosts = |group: &FlowGroup| {
            !matches!(group.transport, Transport::Cells(_)) && group.hosts_of.is_none() && group.access.is_none()
        };
        if let Some(access) = access {
            let flows = || (0..groups.len()).filter(|&index| has_hosts(&groups[index])).collect();
            let each = hosts.map_or_else(|| Each::FlowOf(flows()), |hosts| Each::Number(0..hosts));
            let there = self.described("access-", access, "access", Traffic::Data);
            self.uplinks.fill(Some(self.links.len()));
            self.links.push(Links::of_hosts(Role::Uplink, each, there, back(access)));
        }
        for (index, group) in groups.iter().enumerate() {
            if let Some(access) = &group.access {
                let path = Path::default().key("flows").index(index).key("access");
                let there = Direction::described("access-", access, path, Traffic::DataOf(index));
                self.uplinks[index] = Some(self.links.len());
                let each = Each::FlowOf(vec![index]);
                self.links.push(Links::of_hosts(Role::Uplink, each, there, back(access)));
            }
        }
        for (index, group) in groups.iter().enumerate() {
            let owner = group.hosts_of.as_ref().and_then(|name| groups.iter().position(|it| it.name == *name));
            if let Some(owner) = owner {
                self.uplinks[index] = self.uplinks[owner];
            }
        }
    }

    /// The links of the sources of a group of flows, as an index of `links`.
    pub fn uplink(&self, group: usize) -> Option<usize> {
        self.uplinks[group]
    }

    /// Links of this role.
    pub fn of_role(&self, role: Role) -> impl Iterator<Item = &Links<'s>> {
        self.links.iter().filter(move |links| links.role == role)
    }

    fn instances(&self, each: &Each) -> Box<dyn Iterator<Item = String> + '_> {
        match each {
            Each::One => Box::new(std::iter::once(String::new())),
            Each::Number(numbers) => Box::new(numbers.clone().map(|number| number.to_string())),
            Each::FlowOf(groups) => {
                let groups: Vec<&FlowGroup> = groups.iter().map(|&group| &self.spec.flows[group]).collect();
                Box::new(groups.into_iter().flat_map(|group| self.flows_of(group)))
            }
        }
    }

    /// Names of all links; each direction is a link. A queue has the name of the link that it feeds.
    pub fn link_names(&self) -> impl Iterator<Item = String> + '_ {
        self.links.iter().flat_map(|links| {
            let names = move |instance: String| links.directions().map(move |way| way.link_name(&instance));
            self.instances(&links.each).flat_map(names)
        })
    }

    /// Names of the links in this direction of `links`.
    pub fn names_of<'a>(
        &'a self,
        links: &'a Links<'_>,
        direction: &'a Direction<'_>,
    ) -> impl Iterator<Item = String> + 'a {
        self.instances(&links.each).map(|instance| direction.link_name(&instance))
    }

    /// How many links there are in each direction.
    pub fn count(&self, links: &Links<'_>) -> u64 {
        match &links.each {
            Each::One => 1,
            Each::Number(numbers) => numbers.len() as u64,
            Each::FlowOf(groups) => groups.iter().map(|&group| self.count_of(&self.spec.flows[group])).sum(),
        }
    }

    /// Number of all links.
    pub fn link_count(&self) -> u64 {
        self.links.iter().map(|links| self.count(links) * links.directions().count() as u64).sum()
    }

    /// Names of all flows, group after group.
    pub fn flow_names(&self) -> impl Iterator<Item = String> + '_ {
        self.spec.flows.iter().flat_map(|group| self.flows_of(group))
    }

    /// About the most flows of a group that are under way at once.
    pub fn flows_at_once(&self, group: &FlowGroup) -> f64 {
        let of_pattern = self.pattern(group).map(|(pattern, setting)| pattern.at_once(&setting));
        of_pattern.unwrap_or_else(|| f64::from(group.flows()))
    }

    /// Names of a group's flows. Where a pattern draws their number, it is that under the scenario's own seed.
    pub fn flows_of<'a>(&'a self, group: &'a FlowGroup) -> Box<dyn Iterator<Item = String> + 'a> {
        self.flows_under(group, self.spec.seed)
    }

    /// Names of a group's flows under a seed.
    pub fn flows_under<'a>(&'a self, group: &'a FlowGroup, seed: u64) -> Box<dyn Iterator<Item = String> + 'a> {
        match (&group.transport, &self.cells) {
            (Transport::Cells(_), Some(cells)) => {
                Box::new(cells.pairs.iter().map(|&(input, output, _)| cell_flow(&group.name, input, output)))
            }
            (Transport::Frames(_), _) => Box::new(self.frame_flows(group)),
            _ if group.pattern.is_some() => {
                let names = self.pattern(group).map(|(pattern, setting)| pattern.messages(&setting, seed).len());
                Box::new((0..names.unwrap_or(0) as u32).map(|index| group.flow_name(index)))
            }
            _ => Box::new((0..group.flows()).map(|index| group.flow_name(index))),
        }
    }

    /// Number of all flows.
    pub fn flow_count(&self) -> u64 {
        self.spec.flows.iter().map(|group| self.count_of(group)).sum()
    }

    /// Number of a group's flows; about so many, if a pattern draws their number.
    pub fn count_of(&self, group: &FlowGroup) -> u64 {
        match (&group.transport, &self.cells) {
            (Transport::Cells(_), Some(cells)) => cells.pairs.len() as u64,
            (Transport::Frames(_), _) => self.frame_flow_count(group),
            _ if group.pattern.is_some() => {
                self.pattern(group).map_or(0, |(pattern, setting)| pattern.count(&setting).ceil() as u64)
            }
            _ => u64::from(group.flows()),
        }
    }
}

/// The name of the cells of `group` from an input to an output, both from 0.
pub(super) fn cell_flow(group: &str, input: usize, output: usize) -> String {
    format!("{group}/{}-{}", input + 1, output + 1)
}
