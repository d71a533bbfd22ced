//! An Ethernet, whichever topology describes it: `topology.ethernet`, or a graph with Ethernet switches.

use std::collections::BTreeMap;

use forebay_switching::PathPolicyConfig;
use forebay_switching::congestion::CongestionManagement;
use forebay_units::{Rate, Span};

use crate::schema::{
    Adapter, FlowGroup, Generator, Graph, Impairments, NodeKind, QueueSpec, Service, ServiceAt, ServicePeriod,
    SharedMemorySwitch, Topology,
};

/// Switches, nodes with adapters, and what joins them.
#[derive(Clone, Debug)]
pub struct Lan<'a> {
    /// The switches.
    pub switches: Vec<LanSwitch<'a>>,
    /// Names of the nodes.
    pub nodes: Vec<&'a str>,
    /// The links between switches and nodes.
    pub cables: Vec<Cable<'a>>,
    /// Properties of the adapter of every node.
    pub adapter: &'a Adapter,
    /// The scheme that signals sources to slow down.
    pub congestion_management: Option<&'a CongestionManagement>,
    /// Which of several equal paths packets take.
    pub paths: &'a PathPolicyConfig,
    /// Periods in which a port or a node is slower than its link.
    pub service: &'a [Service],
    /// Of each node and switch, by name.
    stations: BTreeMap<&'a str, Station<'a>>,
    /// Whether any of them stops single classes.
    stops_classes: bool,
}

/// A node or a switch of a [`Lan`].
#[derive(Clone, Debug, Default)]
struct Station<'a> {
    /// The properties of a switch.
    switch: Option<&'a SharedMemorySwitch>,
    /// Its cables, as indices of [`Lan::cables`].
    cables: Vec<usize>,
}

/// A switch of a [`Lan`].
#[derive(Clone, Copy, Debug)]
pub struct LanSwitch<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its index among the nodes of a graph, if it is of one.
    pub node: Option<usize>,
    /// Its properties.
    pub spec: &'a SharedMemorySwitch,
}

/// A full-duplex link of a [`Lan`].
#[derive(Clone, Copy, Debug)]
pub struct Cable<'a> {
    /// Its index among the links of a graph, if it is of one.
    pub link: Option<usize>,
    /// Its ends.
    pub ends: [&'a str; 2],
    /// Its rate, in each direction.
    pub rate: Rate,
    /// Its propagation delay, in each direction.
    pub delay: Span,
    /// The queue discipline of each switch that sends on it.
    pub queue: Option<&'a QueueSpec>,
    /// Periods in which the switches at its ends are slower.
    pub service: &'a [ServicePeriod],
    /// What happens to frames on the way.
    pub impairments: Impairments,
}

impl Topology {
    /// The Ethernet, if the network is one.
    #[must_use]
    pub fn lan(&self) -> Option<Lan<'_>> {
        match self {
            Self::Ethernet(ethernet) => {
                let of_nodes = ethernet
                    .switches
                    .iter()
                    .flat_map(|switch| switch.nodes.iter().map(|node| [node.name.as_str(), switch.name.as_str()]));
                let trunks = ethernet.trunks.iter().map(|[one, other]| [one.as_str(), other.as_str()]);
                let cable = |ends| Cable {
                    link: None,
                    ends,
                    rate: ethernet.link.rate,
                    delay: ethernet.link.delay,
                    queue: ethernet.queue.as_deref(),
                    service: &[],
                    impairments: ethernet.link.impairments,
                };
                let switch = |name| LanSwitch { name, node: None, spec: &ethernet.switch };
                let lan = Lan {
                    switches: ethernet.switches.iter().map(|it| switch(it.name.as_str())).collect(),
                    nodes: ethernet.nodes().collect(),
                    cables: of_nodes.chain(trunks).map(cable).collect(),
                    adapter: &ethernet.adapter,
                    congestion_management: ethernet.congestion_management.as_ref(),
                    paths: &ethernet.paths,
                    service: &ethernet.service,
                    stations: BTreeMap::new(),
                    stops_classes: false,
                };
                Some(lan.indexed())
            }
            Self::Graph(graph) => of_graph(graph),
            _ => None,
        }
    }
}

/// The Ethernet that a graph is, if it has Ethernet switches: then validation lets it have no others.
fn of_graph(graph: &Graph) -> Option<Lan<'_>> {
    let switch = |node: &'_ crate::schema::Node| matches!(node.kind, NodeKind::EthernetSwitch(_));
    if !graph.nodes.iter().any(switch) {
        return None;
    }
    let mut lan = Lan {
        switches: Vec::new(),
        nodes: Vec::new(),
        cables: Vec::with_capacity(graph.links.len()),
        adapter: &graph.adapter,
        congestion_management: graph.congestion_management.as_ref(),
        paths: &graph.paths,
        service: &[],
        stations: BTreeMap::new(),
        stops_classes: false,
    };
    for (index, node) in graph.nodes.iter().enumerate() {
        match &node.kind {
            NodeKind::EthernetSwitch(spec) => {
                lan.switches.push(LanSwitch { name: &node.name, node: Some(index), spec });
            }
            _ => lan.nodes.push(&node.name),
        }
    }
    lan.cables.extend(graph.links.iter().enumerate().map(|(index, link)| Cable {
        link: Some(index),
        ends: [link.from.as_str(), link.to.as_str()],
        rate: link.rate,
        delay: link.delay.mean(),
        queue: link.queue.as_deref(),
        service: &link.service,
        impairments: link.impairments,
    }));
    Some(lan.indexed())
}

impl<'a> Lan<'a> {
    /// Takes note of what is asked for by name.
    fn indexed(mut self) -> Self {
        for switch in &self.switches {
            self.stations.entry(switch.name).or_default().switch = Some(switch.spec);
        }
        for (index, cable) in self.cables.iter().enumerate() {
            for name in cable.ends {
                self.stations.entry(name).or_default().cables.push(index);
            }
        }
        let by_class = |switch: &LanSwitch<'_>| switch.spec.priority_pause.is_some();
        self.stops_classes = self.adapter.priority_pause.is_some() || self.switches.iter().any(by_class);
        self
    }

    /// Whether each class has a queue of its own at this switch.
    #[must_use]
    pub fn has_class_queues(&self, switch: &SharedMemorySwitch) -> bool {
        self.stops_classes || switch.strict_priority
    }

    /// The switch of that name.
    #[must_use]
    pub fn switch(&self, name: &str) -> Option<&'a SharedMemorySwitch> {
        self.stations.get(name)?.switch
    }

    /// The cables of a node or a switch.
    pub fn cables_of(&self, name: &str) -> impl Iterator<Item = &Cable<'a>> {
        let cables = self.stations.get(name).map_or(&[][..], |station| &station.cables);
        cables.iter().map(|&cable| &self.cables[cable])
    }

    /// The rate of the fastest link of a node or a switch.
    #[must_use]
    pub fn rate_of(&self, name: &str) -> Option<Rate> {
        self.cables_of(name).map(|cable| cable.rate).max()
    }

    /// The periods of other rates at the port to a node, or at the node itself.
    pub fn service_of(&self, node: &str, at: ServiceAt) -> impl Iterator<Item = ServicePeriod> {
        self.service.iter().filter(move |service| service.node == node && service.at == at).map(Service::period)
    }

    /// The generators of a group's frames.
    #[must_use]
    pub fn generators(&self, group: &'a FlowGroup) -> Vec<Generator<'a>> {
        let (Some(from), Some(to)) = (&group.from, &group.to) else { return Vec::new() };
        let others = to.is_others();
        let of = |index| {
            let from = from.at(index)?;
            let to = if others {
                self.nodes.iter().copied().filter(|&node| node != from).collect()
            } else {
                vec![to.at(index)?]
            };
            Some(Generator { from, to })
        };
        (0..group.generators()).filter_map(of).collect()
    }
}
