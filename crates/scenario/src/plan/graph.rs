//! Any nodes and links.
//!
//! # Example
//!
//! ```toml
//! duration = "10 s"
//! warmup = "2 s"
//!
//! [topology.graph]
//! nodes = [
//!     { name = "client" },
//!     { name = "router", kind = "router" },
//!     { name = "server" },
//! ]
//!
//! [[topology.graph.links]]
//! from = "client"
//! to = "router"
//! rate = "100 Mbps"
//! delay = "1 ms"
//!
//! [[topology.graph.links]]
//! from = "router"
//! to = "server"
//! rate = "10 Mbps"
//! delay = "5 ms"
//! queue.drop_tail = { limit = "50 packets" }
//!
//! [[flows]]
//! name = "upload"
//! count = 4
//! from = "client"
//! to = "server"
//! transport = "tcp"
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;

use forebay_document::{Invalid, Path};
use forebay_qdisc::Rate;

use super::ethernet::{add_cables, build_lan};
use super::outline::{Crossbar, Crossed, Direction, Links, Outline, Traffic};
use super::{Plan, PlannedFabric, PlannedKind, TopologyBuilder};
use crate::lan::{Cable, Lan, LanSwitch};
use crate::names;
use crate::schema::{Fabric, Graph, Node, NodeKind, OneOrMany, ScenarioSpec};
use crate::validate::graph;

/// How many of the longest links a route has at most, as a rule.
const LINKS_OF_A_ROUTE: f64 = 4.0;

impl TopologyBuilder for Graph {
    fn check(&self, spec: &ScenarioSpec, path: &Path) -> Result<(), Invalid> {
        graph::validate(self, path)?;
        graph::ethernet(self, path)?;
        graph::switches(self, spec, &path.key("nodes"))
    }

    fn outline<'s>(&'s self, outline: &mut Outline<'s>) {
        outline.paths = Some(&self.paths);
        outline.named_nodes = self.nodes.iter().map(|node| (node.name.as_str(), node.kind.forwards())).collect();
        let delays = self.links.iter().map(|link| link.forward().mean_delay().seconds());
        let (sum, longest_s) = delays.fold((0.0, 0.0_f64), |(sum, longest), delay| (sum + delay, longest.max(delay)));
        let crossings = if sum > 0.0 { (LINKS_OF_A_ROUTE * longest_s / sum).min(1.0) } else { 1.0 };
        if let Some(lan) = self.lan() {
            add_cables(outline, lan, crossings, Traffic::Some);
            return;
        }
        for (index, link) in self.links.iter().enumerate() {
            let path = outline.path.key("links").index(index);
            let back_path = if link.reverse.is_some() { path.key("reverse") } else { path.clone() };
            let way = |from: &str, to: &str, spec, path| {
                let name = (names::graph_link(from, to).into(), "");
                Direction::new(name, Cow::Owned(spec), Some(path), Traffic::Some)
            };
            let there = way(&link.from, &link.to, link.forward(), path);
            let back = way(&link.to, &link.from, link.backward(), back_path);
            outline.links.push(Links {
                crossed: Crossed::Few,
                crossings,
                ends: Some([&link.from, &link.to]),
                metric: link.metric,
                ..Links::bottleneck(there, Some(back))
            });
        }
        for (index, node) in self.nodes.iter().enumerate() {
            let Some(fabric) = fabric(node) else { continue };
            let path = outline.path.key("nodes").index(index).key("kind");
            let (ports, crossed) = (self.rates_from(node).count(), Crossed::Few);
            outline.crossbars.push(Crossbar { name: &node.name, ports, fabric: Cow::Owned(fabric), path, crossed });
        }
    }

    fn build<'s>(&'s self, plan: &mut Plan<'s>) {
        if plan.outline.lan.is_some() {
            build_lan(plan);
            return;
        }
        let nodes: BTreeMap<&str, u32> = self
            .nodes
            .iter()
            .map(|node| (node.name.as_str(), plan.node(node.name.as_str(), self.planned_kind(node))))
            .collect();
        for (index, link) in self.links.iter().enumerate() {
            let (Some(&from), Some(&to)) = (nodes.get(link.from.as_str()), nodes.get(link.to.as_str())) else {
                continue;
            };
            plan.link(index, "", (from, to));
        }
        plan.each_flow(|plan, group, index, name| {
            let end = |list: &Option<OneOrMany>| nodes.get(list.as_ref()?.at(index as usize)?).copied();
            if let (Some(from), Some(to)) = (end(&group.1.from), end(&group.1.to)) {
                plan.flow(group, index, name, from, to);
            }
        });
    }
}

impl Graph {
    /// The kind of a node. Inputs and outputs of a switch are numbered in the order of the links.
    fn planned_kind<'s>(&'s self, node: &'s Node) -> PlannedKind<'s> {
        match (&node.kind, fabric(node), self.rates_from(node).max()) {
            (NodeKind::Host, ..) => PlannedKind::Host,
            (NodeKind::EthernetSwitch(switch), ..) => PlannedKind::EthernetSwitch(switch),
            (_, Some(spec), Some(line_rate)) => {
                let ports = self.rates_from(node).count();
                PlannedKind::Crossbar(Box::new(PlannedFabric { ports, spec, line_rate }))
            }
            // Nothing crosses a fabric without links.
            _ => PlannedKind::Router,
        }
    }

    /// The rates of the links that lead from a node.
    fn rates_from(&self, node: &Node) -> impl Iterator<Item = Rate> {
        self.links.iter().filter_map(|link| {
            if link.from == node.name {
                Some(link.rate)
            } else {
                (link.to == node.name).then(|| link.reverse.as_ref().map_or(link.rate, |reverse| reverse.rate))
            }
        })
    }

    /// The Ethernet that a graph is, if it has Ethernet switches: then validation lets it have no others.
    fn lan(&self) -> Option<Lan<'_>> {
        let (mut switches, mut nodes) = (Vec::new(), Vec::new());
        for (index, node) in self.nodes.iter().enumerate() {
            match &node.kind {
                NodeKind::EthernetSwitch(spec) => {
                    switches.push(LanSwitch { name: &node.name, node: Some(index), spec });
                }
                _ => nodes.push(node.name.as_str()),
            }
        }
        let cables = self.links.iter().enumerate().map(|(index, link)| Cable {
            link: Some(index),
            ends: [link.from.as_str(), link.to.as_str()],
            rate: link.rate,
            delay: link.delay.mean(),
            queue: link.queue.as_deref(),
            service: &link.service,
            impairments: link.impairments,
        });
        (!switches.is_empty()).then(|| {
            let (stations, scheme) = ((switches, nodes), self.congestion_management.as_ref());
            Lan::new(stations, cables.collect(), &self.adapter, scheme, &self.paths, &[])
        })
    }
}

/// The fabric of a node that has one.
fn fabric(node: &Node) -> Option<Fabric> {
    match &node.kind {
        NodeKind::Cioq(cioq) => Some(Fabric::Cioq(cioq.clone())),
        NodeKind::InputQueued(fifos) => Some(Fabric::InputQueued(fifos.clone())),
        NodeKind::Host | NodeKind::Router | NodeKind::EthernetSwitch(_) => None,
    }
}
