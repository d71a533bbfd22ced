//! Where packets go from each link: the numbers of the driver's nodes, and its tables.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use forebay_qdisc::Rate;
use rand_pcg::Pcg64Mcg;

use crate::assembly::channels::NextNodes;
use crate::assembly::graph::{Distinct, Graph, Kind};
use crate::assembly::hosts::HostGroups;
use crate::assembly::leaf_spine::LeafSpine;
use crate::driver::node::NodeId;
use crate::driver::node_table::NodeTable;
use crate::driver::routes::{Among, EntrySets, ForwardingTable, NOWHERE, TableBuilder, Way};
use crate::host::hosts::NONE;
use crate::spec::links::LinkParameters;
use crate::spec::{LinkId, NodeIndex};

/// The ports of a node of the driver: one, or those of a router that share state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PortPlan {
    One(LinkId),
    Sharing(NodeIndex, Vec<LinkId>),
}

/// Which node of the driver does what. Ports come first, in the order of their links, then those that choose among the
/// ports of a node, crossbars, Ethernet switches and adapters, and last groups of hosts.
pub(crate) struct DriverNodes {
    pub ports: Vec<PortPlan>,
    /// By link: the node that sends on it; [`NONE`] for a host's own.
    senders: Vec<NodeId>,
    /// The nodes with one that chooses among their ports.
    pub choosing: Vec<NodeIndex>,
    /// By node: the one that chooses, its fabric, switch or adapter; else [`NONE`].
    of_nodes: Vec<NodeId>,
    /// By link: the group of the host whose downlink it is; else [`NONE`].
    groups: Vec<u32>,
    first_switch: NodeId,
    first_group: NodeId,
}

impl DriverNodes {
    pub fn new(graph: &Graph, links: &[LinkParameters], is_private: &[bool]) -> Self {
        let (mut ports, mut sharing) = (Vec::new(), BTreeMap::new());
        let mut senders = vec![NONE; links.len()];
        for (link, number) in links.iter().zip(0..) {
            let from = link.edge.from;
            if is_private[number as usize] || graph.kind(from).is_ethernet() {
                continue;
            }
            let place = if link.shares_state {
                let place = *sharing.entry(from).or_insert_with(|| {
                    ports.push(PortPlan::Sharing(from, Vec::new()));
                    ports.len() - 1
                });
                if let PortPlan::Sharing(_, links) = &mut ports[place] {
                    links.push(number);
                }
                place
            } else {
                ports.push(PortPlan::One(number));
                ports.len() - 1
            };
            senders[number as usize] = place as NodeId;
        }
        let mut of_nodes = vec![NONE; graph.kinds.len()];
        let choosing = (0..graph.kinds.len() as NodeIndex).filter(|&node| graph.has_chooser(node));
        let choosing: Vec<NodeIndex> = choosing.collect();
        let mut next = ports.len() as NodeId;
        for &node in &choosing {
            (of_nodes[node as usize], next) = (next, next + 1);
        }
        let mut number = |kind: Kind| {
            let first = next;
            for (of, of_node) in graph.kinds.iter().zip(&mut of_nodes) {
                if *of == kind {
                    (*of_node, next) = (next, next + 1);
                }
            }
            first
        };
        number(Kind::Crossbar);
        let first_switch = number(Kind::EthernetSwitch);
        number(Kind::Adapter);
        for (link, sender) in links.iter().zip(&mut senders) {
            if graph.kind(link.edge.from).is_ethernet() {
                *sender = of_nodes[link.edge.from as usize];
            }
        }
        Self { ports, senders, choosing, of_nodes, groups: vec![NONE; links.len()], first_switch, first_group: next }
    }

    /// Notes the groups of the hosts.
    pub fn set_groups(&mut self, groups: &HostGroups) {
        for (group, number) in groups.groups.iter().zip(0..) {
            for downlink in group.iter().filter_map(|plan| plan.downlink) {
                self.groups[downlink as usize] = number;
            }
        }
    }

    /// The nodes of Ethernets.
    pub fn ethernet(&self) -> Range<NodeId> {
        self.first_switch..self.first_group
    }

    /// The node of a group of hosts.
    pub fn of_group(&self, group: u32) -> NodeId {
        self.first_group + group
    }

    /// The node that sends on a link; `None` for a host's own.
    pub fn of_link(&self, link: LinkId) -> Option<NodeId> {
        Some(self.senders[link as usize]).filter(|&node| node != NONE)
    }

    /// The fabric, the switch or the adapter of a node, or the node of the driver that chooses for it.
    pub fn of_node(&self, node: NodeIndex) -> NodeId {
        self.of_nodes[node as usize]
    }

    /// The group of the host whose downlink a link is.
    pub fn group_behind(&self, link: LinkId) -> Option<u32> {
        Some(self.groups[link as usize]).filter(|&group| group != NONE)
    }

    /// The last node in front of those behind a link.
    pub fn feeder(&self, graph: &Graph, link: LinkId) -> Option<NodeId> {
        let from = graph.edges[link as usize].from;
        let has_fabric = graph.kind(from) == Kind::Crossbar || graph.sees_all(from);
        let fabric = || Some(self.of_node(from)).filter(|_| has_fabric);
        self.of_link(link).or_else(fabric)
    }
}

/// Makes the tables of the driver.
pub(crate) struct Ways<'a> {
    pub graph: &'a Graph,
    pub nodes: &'a DriverNodes,
    pub receiving: &'a BTreeMap<NodeIndex, u32>,
    next: &'a NextNodes,
    /// The place of each node of the driver.
    places: &'a [NodeId],
    pub table: TableBuilder,
    leaf_spine: LeafSpine,
    /// Into each node, and out of it for what begins there.
    into: BTreeMap<NodeIndex, Way>,
    out_of: BTreeMap<NodeIndex, Way>,
}

impl<'a> Ways<'a> {
    pub fn new(
        graph: &'a Graph,
        nodes: &'a DriverNodes,
        receiving: &'a BTreeMap<NodeIndex, u32>,
        next: &'a NextNodes,
        places: &'a [NodeId],
    ) -> Self {
        let table = TableBuilder::new(graph.routing.periods.clone());
        let (into, out_of) = (BTreeMap::new(), BTreeMap::new());
        let leaf_spine = LeafSpine::new(graph);
        Self { graph, nodes, receiving, next, places, table, leaf_spine, into, out_of }
    }

    fn place(&self, node: Option<NodeId>) -> u32 {
        node.and_then(|node| self.places.get(node as usize)).copied().unwrap_or(NOWHERE)
    }

    /// The node of the driver that a packet comes to which is sent on a link.
    fn sender(&self, link: LinkId) -> u32 {
        let group = || self.nodes.group_behind(link).map(|group| self.nodes.of_group(group));
        self.place(self.nodes.of_link(link).or_else(group))
    }

    /// Where a packet goes that a link has brought to its far end.
    pub fn behind(&mut self, link: LinkId) -> Way {
        if let Distinct::One(node) = self.next.behind[link as usize] {
            return Way::to(self.place(Some(node)));
        }
        let node = self.graph.edges[link as usize].to;
        if let Some(&way) = self.into.get(&node) {
            return way;
        }
        let way = match self.graph.kind(node) {
            Kind::Router => self.through(node),
            Kind::Host => Way::to(self.place(self.receiving.get(&node).map(|&group| self.nodes.of_group(group)))),
            Kind::Adapter | Kind::Crossbar | Kind::EthernetSwitch => {
                Way::to(self.place(Some(self.nodes.of_node(node))))
            }
        };
        self.into.insert(node, way);
        way
    }

    /// Where a packet goes that an endpoint at a node sends.
    pub fn out_of(&mut self, node: NodeIndex) -> Way {
        match self.next.out_of[node as usize] {
            Distinct::One(next) => Way::to(self.place(Some(next))),
            _ => self.through(node),
        }
    }

    /// Where a packet goes that a node sends, or passes on at once.
    fn through(&mut self, node: NodeIndex) -> Way {
        if let Some(&way) = self.out_of.get(&node) {
            return way;
        }
        let way = match (self.graph.kind(node), self.graph.routing.usual.only(node)) {
            (Kind::Crossbar, _) => Way::to(self.place(Some(self.nodes.of_node(node)))),
            _ if self.graph.sees_all(node) => Way::to(self.place(Some(self.nodes.of_node(node)))),
            (_, Some(link)) => self.to(link),
            (_, None) => {
                let mut table = std::mem::take(&mut self.table);
                let way = self.add_table(&mut table, node, |link| self.sender(link));
                self.table = table;
                way
            }
        };
        self.out_of.insert(node, way);
        way
    }

    /// The way to the queue of a link.
    pub fn to(&self, link: LinkId) -> Way {
        Way::to(self.sender(link))
    }

    /// A table of its own for a node without a policy of its own, with the `entry` of the next link.
    pub fn table_of(&self, node: NodeIndex, entry: impl Fn(LinkId) -> u32) -> (ForwardingTable, Way) {
        let mut table = TableBuilder::new(self.graph.routing.periods.clone());
        let way = self.add_table(&mut table, node, entry);
        (table.finish(), way)
    }

    /// The table of a node that is one of the driver, and chooses itself.
    pub fn node_table(&self, node: NodeIndex, rng: Pcg64Mcg, rate: impl Fn(LinkId) -> Rate) -> NodeTable {
        let output = |link: LinkId| self.graph.outputs[link as usize];
        let Some(mut policy) = self.graph.stateful_policy(node) else {
            let (table, way) = self.table_of(node, output);
            return NodeTable::new(table, way);
        };
        let (mut table, mut sets) = (TableBuilder::new(self.graph.routing.periods.clone()), EntrySets::default());
        let leaf_of = self.graph.sees_all(node).then(|| {
            policy.place_at(self.leaf_spine.node(self.graph, node, rate));
            Arc::clone(&self.leaf_spine.leaf_of)
        });
        let among = if leaf_of.is_some() { Among::All(&mut sets) } else { Among::Sets(&mut sets) };
        let way = self.add_entries(&mut table, node, output, among);
        NodeTable::new(table.finish(), way).choosing(sets.sets, policy, rng, leaf_of)
    }

    fn add_table(&self, table: &mut TableBuilder, node: NodeIndex, entry: impl Fn(LinkId) -> u32) -> Way {
        let among = match self.graph.policy(node) {
            Some(policy) => Among::Policy(policy),
            None if self.graph.has_chooser(node) => Among::Entry(self.place(Some(self.nodes.of_node(node)))),
            None => Among::First,
        };
        self.add_entries(table, node, entry, among)
    }

    fn add_entries(
        &self,
        table: &mut TableBuilder,
        node: NodeIndex,
        entry: impl Fn(LinkId) -> u32,
        among: Among<'_>,
    ) -> Way {
        let routing = &self.graph.routing;
        let hops = |routes, destination| routing.next_hops(routes, node, destination);
        table.add_by_destination(0..routing.usual.destinations(), hops, entry, among)
    }
}
