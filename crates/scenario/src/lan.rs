//! An Ethernet, whichever topology describes it: `topology.ethernet`, or a graph with Ethernet switches.

use std::collections::BTreeMap;

use forebay_document::Path;
use forebay_switching::PathPolicyConfig;
use forebay_switching::congestion::CongestionManagement;
use forebay_units::{Rate, Span};

use crate::schema::{
    Adapter, FlowGroup, Generator, Impairments, OneOrMany, QueueSpec, Service, ServiceAt, ServicePeriod,
    SharedMemorySwitch,
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

impl LanSwitch<'_> {
    /// The table that describes it, below that of its topology.
    pub fn path(&self, topology: &Path) -> Path {
        match self.node {
            Some(node) => topology.key("nodes").index(node).key("kind.ethernet_switch"),
            None => topology.key("switch"),
        }
    }
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
    /// Loss of frames on the way.
    pub impairments: Impairments,
}

impl<'a> Lan<'a> {
    /// An Ethernet of these switches, nodes and links.
    pub fn new(
        (switches, nodes): (Vec<LanSwitch<'a>>, Vec<&'a str>),
        cables: Vec<Cable<'a>>,
        adapter: &'a Adapter,
        congestion_management: Option<&'a CongestionManagement>,
        paths: &'a PathPolicyConfig,
        service: &'a [Service],
    ) -> Self {
        let mut stations: BTreeMap<&str, Station<'_>> = BTreeMap::new();
        for switch in &switches {
            stations.entry(switch.name).or_default().switch = Some(switch.spec);
        }
        for (index, cable) in cables.iter().enumerate() {
            for name in cable.ends {
                stations.entry(name).or_default().cables.push(index);
            }
        }
        let by_class = |switch: &LanSwitch<'_>| switch.spec.priority_pause.is_some();
        let stops_classes = adapter.priority_pause.is_some() || switches.iter().any(by_class);
        Self { switches, nodes, cables, adapter, congestion_management, paths, service, stations, stops_classes }
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
    /// Names of the flows of a group of frames.
    pub fn flow_names<'b>(&'b self, group: &'b FlowGroup) -> impl Iterator<Item = String> + 'b {
        let pairs = self.generators(group).into_iter().flat_map(|it| it.to.into_iter().map(move |to| (it.from, to)));
        pairs.map(|(from, to)| self.flow_name(group, from, to))
    }

    /// The name of the frames of `group` from a node to another.
    #[must_use]
    pub fn flow_name(&self, group: &FlowGroup, from: &str, to: &str) -> String {
        let alone = group.generators() == 1 && self.flow_count(group) == 1;
        if alone { group.name.clone() } else { format!("{}-{from}-{to}", group.name) }
    }

    /// How many flows a group of frames has.
    #[must_use]
    pub fn flow_count(&self, group: &FlowGroup) -> u64 {
        let each = if group.to.as_ref().is_some_and(OneOrMany::is_others) {
            // A source is none of the others.
            self.nodes.len().saturating_sub(1)
        } else {
            1
        };
        (group.generators() as u64).saturating_mul(each as u64)
    }
}
