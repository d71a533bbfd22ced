//! The topology plan: which nodes and links a scenario has, and between which nodes its flows go.
//!
//! Each topology has a file whose builder makes its plan. Everything that needs nodes, links or names iterates over the
//! plan, and does not depend on the topology.

mod chain;
mod dumbbell;
mod ethernet;
mod graph;
mod star;
mod switch;

use std::collections::BTreeMap;

use forebay_engine::Distribution;
use forebay_engine::forwarding::{Edge, Forwarding};
use forebay_qdisc::{Rate, Span};
use forebay_records::random::stream;

use crate::schema::{Fabric, FlowGroup, LinkSpec, ScenarioSpec, SharedMemorySwitch, Topology};

/// A node.
pub(crate) struct PlannedNode<'s> {
    /// Its name; also that of its random streams.
    pub name: String,
    pub kind: PlannedKind<'s>,
}

/// The kind of a node.
pub(crate) enum PlannedKind<'s> {
    /// Where flows begin and end.
    Host,
    /// A host with an adapter.
    Adapter,
    Router,
    Crossbar(Box<PlannedFabric>),
    EthernetSwitch(&'s SharedMemorySwitch),
}

/// The fabric of a crossbar.
pub(crate) struct PlannedFabric {
    pub ports: usize,
    pub spec: Fabric,
    /// The rate of its links.
    pub line_rate: Rate,
}

/// One direction of a link.
pub(crate) struct PlannedLink {
    pub name: String,
    pub spec: LinkSpec,
    /// Propagation delay as drawn.
    pub propagation: Span,
    /// The node that sends on it, and the node that receives.
    pub from: u32,
    pub to: u32,
    /// Its length for forwarding.
    pub metric: u32,
    /// Whether its sender is an Ethernet switch that has a queue for each class.
    pub has_class_queues: bool,
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

/// Nodes, links and flows of a scenario.
#[derive(Default)]
pub(crate) struct Plan<'s> {
    pub nodes: Vec<PlannedNode<'s>>,
    pub links: Vec<PlannedLink>,
    pub flows: Vec<PlannedFlow>,
    /// Random delays and places are drawn under it.
    seed: u64,
}

impl<'s> Plan<'s> {
    /// The plan of `scenario`; random delays and places are drawn under `seed`.
    pub fn new(scenario: &'s ScenarioSpec, seed: u64) -> Self {
        let mut plan = Self { seed, ..Self::default() };
        if let Some(lan) = scenario.topology.lan() {
            plan.ethernet(&lan, &scenario.flows);
            return plan;
        }
        match &scenario.topology {
            Topology::Star(star) => plan.star(star, &scenario.flows),
            Topology::Dumbbell(dumbbell) => plan.dumbbell(dumbbell, &scenario.flows),
            Topology::Chain(chain) => plan.chain(chain, &scenario.flows),
            Topology::Switch(switch) => plan.switch(switch, &scenario.flows),
            Topology::Graph(graph) => plan.graph(graph, &scenario.flows),
            Topology::Ethernet(_) => {}
        }
        plan
    }

    /// Which links lead where.
    pub fn forwarding(&self) -> (Forwarding, Vec<Edge>) {
        let edge = |link: &PlannedLink| Edge { from: link.from, to: link.to, metric: link.metric };
        let edges: Vec<Edge> = self.links.iter().map(edge).collect();
        let is_host = |node: &PlannedNode<'_>| matches!(node.kind, PlannedKind::Host | PlannedKind::Adapter);
        let forwards: Vec<bool> = self.nodes.iter().map(|node| !is_host(node)).collect();
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

    /// Adds one direction of a link. The delay is drawn from the stream of `delay_name`, so that both directions of a
    /// link can share it.
    fn link(&mut self, name: String, delay_name: &str, spec: &LinkSpec, (from, to): (u32, u32)) -> u32 {
        let propagation = self.delay(spec, delay_name);
        self.link_with_delay(name, spec.clone(), propagation, (from, to))
    }

    /// Adds one direction of a link with this propagation delay.
    fn link_with_delay(&mut self, name: String, spec: LinkSpec, propagation: Span, (from, to): (u32, u32)) -> u32 {
        self.links.push(PlannedLink { name, spec, propagation, from, to, metric: 1, has_class_queues: false });
        self.links.len() as u32 - 1
    }

    /// Adds a full-duplex link between a host and a router. The described queue is that of the data's direction, from
    /// `from` to `to`.
    fn access(&mut self, name: String, spec: &LinkSpec, from: u32, to: u32) {
        let propagation = self.delay(spec, &name);
        let back = format!("{name}/back");
        self.link_with_delay(name, spec.clone(), propagation, (from, to));
        self.link_with_delay(back, spec.without_queue(), propagation, (to, from));
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
}

/// Calls `each` for every flow, with its group, its index in the group and its name.
fn each_flow<'g>(groups: &'g [FlowGroup], mut each: impl FnMut((usize, &'g FlowGroup), u32, String)) {
    for group in groups.iter().enumerate() {
        for index in 0..group.1.flows() {
            each(group, index, group.1.flow_name(index));
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
