//! The topology plan: which nodes and links a scenario has, and between which nodes its flows go.
//!
//! Each topology has a file whose builder makes its plan, in two stages. The [`Outline`] is made first and is small
//! whatever the number of flows. Everything that needs nodes, links or names iterates over outline or plan, and does
//! not depend on the topology.

mod chain;
pub(crate) mod clos;
pub(crate) mod data;
mod dumbbell;
mod ethernet;
mod fat_tree;
pub(crate) mod found_paths;
mod graph;
pub(crate) mod home;
mod leaf_spine;
mod named;
pub(crate) mod outages;
pub(crate) mod outline;
mod star;
mod switch;

use std::collections::{BTreeMap, BTreeSet};

use forebay_document::{Invalid, Path};
use forebay_engine::Distribution;
use forebay_engine::forwarding::{Edge, Forwarding};
use forebay_qdisc::{Rate, Span, Time};
use forebay_records::random::stream;
use forebay_switching::congestion::CongestionManagement;

use crate::schema::{
    Adapter, Fabric, FlowGroup, LinkSpec, ScenarioSpec, ServicePeriod, SharedMemorySwitch, Topology, topologies,
};
pub(crate) use named::EthernetPlan;
use outline::{Direction, Outline};

/// Makes the plan of a topology.
pub(crate) trait TopologyBuilder {
    /// Checks the values of the topology's table at `path`, except those of its links.
    ///
    /// # Errors
    /// The first value that is wrong.
    fn check(&self, _spec: &ScenarioSpec, _path: &Path) -> Result<(), Invalid> {
        Ok(())
    }

    /// The hosts behind one line that all their flows to the rest of the network share; `None` if the topology has no
    /// such line.
    fn hosts_behind_line(&self) -> Option<BTreeSet<&str>> {
        None
    }

    /// Describes the links, and where flows can begin and end.
    fn outline<'s>(&'s self, outline: &mut Outline<'s>);

    /// Adds the nodes, links and flows.
    fn build<'s>(&'s self, plan: &mut Plan<'s>);
}

macro_rules! builders {
    ($($(#[$_doc:meta])+ $variant:ident($_table:ident) = $_name:literal;)+) => {
        impl Topology {
            pub(crate) fn builder(&self) -> &dyn TopologyBuilder {
                match self {
                    $(Self::$variant(topology) => topology,)+
                }
            }
        }
    };
}
topologies!(builders);

/// A node.
pub(crate) struct PlannedNode<'s> {
    /// Its name; also that of its random streams.
    pub name: String,
    pub kind: PlannedKind<'s>,
}

/// The kind of a node.
#[derive(Clone, Debug)]
pub(crate) enum PlannedKind<'s> {
    /// Where flows begin and end.
    Host,
    /// A host with an adapter.
    Adapter(Box<PlannedAdapter<'s>>),
    Router,
    Crossbar(Box<PlannedFabric>),
    EthernetSwitch(Box<PlannedSwitch<'s>>),
}

impl<'s> PlannedKind<'s> {
    /// Whether the node passes packets on.
    pub fn forwards(&self) -> bool {
        !matches!(self, Self::Host | Self::Adapter(_))
    }

    /// Whether the node sends PAUSE and obeys it.
    pub fn is_ethernet(&self) -> bool {
        matches!(self, Self::Adapter(_) | Self::EthernetSwitch(_))
    }

    pub fn ethernet_switch(&self) -> Option<&PlannedSwitch<'s>> {
        if let Self::EthernetSwitch(switch) = self { Some(switch) } else { None }
    }
}

/// An adapter, at a link of `line_rate`.
#[derive(Clone, Debug)]
pub(crate) struct PlannedAdapter<'s> {
    pub spec: &'s Adapter,
    pub congestion_management: Option<&'s CongestionManagement>,
    pub line_rate: Rate,
    /// Periods in which its host takes frames at another rate.
    pub service: Vec<ServicePeriod>,
}

/// An Ethernet switch.
#[derive(Clone, Debug)]
pub(crate) struct PlannedSwitch<'s> {
    pub spec: &'s SharedMemorySwitch,
    pub congestion_management: Option<&'s CongestionManagement>,
    /// The rate of its fastest link.
    pub line_rate: Rate,
    /// The table that describes it.
    pub path: Path,
}

/// The fabric of a crossbar.
#[derive(Clone, Debug)]
pub(crate) struct PlannedFabric {
    pub ports: usize,
    pub spec: Fabric,
    /// The rate of its links.
    pub line_rate: Rate,
}

/// One direction of a link.
pub(crate) struct PlannedLink {
    pub name: String,
    /// Its description, as an index of [`Outline::links`], and which direction of it.
    links: u32,
    is_back: bool,
    /// Propagation delay as drawn.
    pub propagation: Span,
    /// The node that sends on it, and the node that receives.
    pub from: u32,
    pub to: u32,
}

/// A flow that is a part of the cells of an input.
#[derive(Clone, Copy)]
pub(crate) struct CellsOfInput {
    pub input: u32,
    /// The part of the slots of the input link, at a load of 1.
    pub share: f64,
    /// The sum of these over the flows of the input.
    pub total: f64,
    pub rate: Rate,
}

/// A flow that is a part of what one generator of frames sends.
#[derive(Clone)]
pub(crate) struct FramesOfGenerator {
    /// Unlike that of any other generator.
    pub generator: u32,
    /// The part of the generator's frames.
    pub share: f64,
    /// The rate of the source's link.
    pub link: Rate,
    /// Name of the generator's first flow, for what is drawn once for all of them.
    pub first: String,
}

/// Whether a flow sends alone, or what its part is.
#[derive(Clone)]
pub(crate) enum Source {
    /// It has a source of its own.
    Own,
    /// A message of a pattern: so many bytes, from this time on.
    Message { start: Time, bytes: u64 },
    /// Cells of an input.
    Cells(CellsOfInput),
    /// Frames of a generator.
    Frames(FramesOfGenerator),
}

/// A flow between two nodes.
pub(crate) struct PlannedFlow {
    pub name: String,
    /// Index of the group.
    pub group: usize,
    /// Index within the group.
    pub index: u32,
    pub source: u32,
    pub destination: u32,
    pub supply: Source,
}

impl<'s> Outline<'s> {
    /// The outline of `spec`, whose topology is checked.
    pub fn new(spec: &'s ScenarioSpec) -> Self {
        let mut outline = Self::empty(spec);
        spec.topology.builder().outline(&mut outline);
        outline
    }

    /// The description of a link of the plan.
    pub fn direction(&self, link: &PlannedLink) -> &Direction<'s> {
        let links = &self.links[link.links as usize];
        if link.is_back { links.back.as_ref().unwrap_or(&links.there) } else { &links.there }
    }

    /// The length of a link for forwarding.
    pub fn metric(&self, link: &PlannedLink) -> u32 {
        self.links[link.links as usize].metric
    }
}

/// Nodes, links and flows of a scenario.
pub(crate) struct Plan<'s> {
    pub outline: Outline<'s>,
    pub nodes: Vec<PlannedNode<'s>>,
    pub links: Vec<PlannedLink>,
    pub flows: Vec<PlannedFlow>,
    /// Random delays and places are drawn under it.
    seed: u64,
}

impl<'s> Plan<'s> {
    /// The plan of `scenario`; random delays and places are drawn under `seed`.
    pub fn new(scenario: &'s ScenarioSpec, seed: u64) -> Self {
        let outline = Outline::new(scenario);
        let mut plan = Self { outline, nodes: Vec::new(), links: Vec::new(), flows: Vec::new(), seed };
        scenario.topology.builder().build(&mut plan);
        plan
    }

    /// The description of a link.
    pub fn spec(&self, link: &PlannedLink) -> &LinkSpec {
        &self.outline.direction(link).spec
    }

    /// Which links lead where.
    pub fn forwarding(&self) -> (Forwarding, Vec<Edge>) {
        let edge = |link: &PlannedLink| Edge { from: link.from, to: link.to, metric: self.outline.metric(link) };
        let edges: Vec<Edge> = self.links.iter().map(edge).collect();
        let forwards: Vec<bool> = self.nodes.iter().map(|node| node.kind.forwards()).collect();
        let ends = self.flows.iter().flat_map(|flow| [flow.source, flow.destination]);
        (Forwarding::new(&forwards, &edges, ends), edges)
    }

    fn node(&mut self, name: impl Into<String>, kind: PlannedKind<'s>) -> u32 {
        self.nodes.push(PlannedNode { name: name.into(), kind });
        self.nodes.len() as u32 - 1
    }

    fn host(&mut self, name: impl Into<String>) -> u32 {
        self.node(name, PlannedKind::Host)
    }

    /// Adds the way there of one of the links of this index in the outline, with its random delay.
    fn way_there(&mut self, links: usize, instance: &str, ends: (u32, u32)) -> u32 {
        self.way(links, false, instance, ends, None)
    }

    fn way(&mut self, links: usize, is_back: bool, instance: &str, (from, to): (u32, u32), delay: Option<Span>) -> u32 {
        let group = &self.outline.links[links];
        let direction = group.back.as_ref().filter(|_| is_back).unwrap_or(&group.there);
        let name = direction.link_name(instance);
        let propagation = delay.unwrap_or_else(|| self.delay(&direction.spec, &name));
        self.links.push(PlannedLink { name, links: links as u32, is_back, propagation, from, to });
        self.links.len() as u32 - 1
    }

    /// Adds both directions of a link from `from` to `to`. A way back that no table describes has the same random
    /// delay.
    fn link(&mut self, links: usize, instance: &str, (from, to): (u32, u32)) {
        let there = self.way_there(links, instance, (from, to));
        let is_described = self.outline.links[links].back.as_ref().is_some_and(|back| back.path.is_some());
        let delay = Some(self.links[there as usize].propagation).filter(|_| !is_described);
        self.way(links, true, instance, (to, from), delay);
    }

    /// Adds the host at which a flow begins, and its link to `next`.
    fn source(&mut self, group: usize, flow: &str, next: u32) -> u32 {
        let host = self.host(format!("source-{flow}"));
        if let Some(uplink) = self.outline.uplink(group) {
            self.link(uplink, flow, (host, next));
        }
        host
    }

    /// The propagation delay of a link, drawn from the stream of `name` if it is drawn.
    fn delay(&self, spec: &LinkSpec, name: &str) -> Span {
        match spec.delay.picoseconds() {
            Distribution::Constant(delay) => Span::from_picoseconds(delay as u64),
            drawn => drawn.draw_span(&mut stream(self.seed, &format!("link/{name}/delay"))),
        }
    }

    /// Adds a flow that goes from `source` to `destination` if it is a forward one, else the other way.
    fn flow(&mut self, group: (usize, &FlowGroup), index: u32, name: String, source: u32, destination: u32) {
        let (source, destination) = group.1.direction.ends(source, destination);
        self.flows.push(PlannedFlow { name, group: group.0, index, source, destination, supply: Source::Own });
    }

    /// Calls `each` for every flow, with its group, its index in the group and its name.
    fn each_flow(&mut self, mut each: impl FnMut(&mut Self, (usize, &'s FlowGroup), u32, String)) {
        for group in self.outline.spec.flows.iter().enumerate() {
            for index in 0..group.1.flows() {
                each(self, group, index, group.1.flow_name(index));
            }
        }
    }
}

/// The hosts of those groups whose hosts other groups have, too.
struct SharedHosts<'g, T>(BTreeMap<&'g str, Vec<T>>);

impl<'g, T: Copy> SharedHosts<'g, T> {
    fn new(groups: &'g [FlowGroup]) -> Self {
        Self(groups.iter().filter_map(|group| Some((group.hosts_of.as_deref()?, Vec::new()))).collect())
    }

    /// The hosts of a flow: those of the flow with this index in another group, or `new` ones.
    fn of(&mut self, group: &FlowGroup, index: u32, new: impl FnOnce() -> T) -> T {
        let others = group.hosts_of.as_deref().and_then(|owner| self.0.get(owner));
        if let Some(&hosts) = others.and_then(|hosts| hosts.get(index as usize)) {
            return hosts;
        }
        let hosts = new();
        if let Some(shared) = self.0.get_mut(group.name.as_str()) {
            shared.push(hosts);
        }
        hosts
    }
}
