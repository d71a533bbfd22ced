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

use forebay_document::{Invalid, Path};
use forebay_qdisc::Rate;

use super::outline::{Crossbar, Crossed, Links, Outline, Traffic};
use super::{EthernetPlan, Plan, PlannedAdapter, PlannedFabric, PlannedKind, PlannedSwitch, TopologyBuilder};
use crate::schema::{Fabric, Graph, Node, NodeKind, ScenarioSpec};
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
        outline.reroute_after = self.reroute_after;
        if self.nodes.iter().any(Node::is_ethernet_switch) {
            outline.ethernet = Some(EthernetPlan::new(&self.adapter, self.congestion_management.as_ref()));
        }
        for (index, (node, ports)) in self.nodes.iter().zip(self.ports()).enumerate() {
            let path = outline.path.key("nodes").index(index).key("kind");
            if let Some(fabric) = fabric(node) {
                let fabric = Cow::Owned(fabric);
                let (ports, crossed) = (ports.count, Crossed::Few);
                outline.crossbars.push(Crossbar { name: &node.name, ports, fabric, path: path.clone(), crossed });
            }
            outline.add_node(&*node.name, self.planned_kind(node, &ports, &path));
        }
        let delays = self.links.iter().map(|link| link.forward().mean_delay().seconds());
        let (sum, longest_s) = delays.fold((0.0, 0.0_f64), |(sum, longest), delay| (sum + delay, longest.max(delay)));
        let crossings = if sum > 0.0 { (LINKS_OF_A_ROUTE * longest_s / sum).min(1.0) } else { 1.0 };
        for (index, link) in self.links.iter().enumerate() {
            let (Some(from), Some(to)) = (outline.node(&link.from), outline.node(&link.to)) else { continue };
            let path = outline.path.key("links").index(index);
            let back_path = if link.reverse.is_some() { path.key("reverse") } else { path.clone() };
            let ways = [(link.forward(), path), (link.backward(), back_path)];
            let joined = outline.joined([from, to], ways, Traffic::Some);
            outline.links.push(Links { crossings, metric: link.metric, ..joined });
        }
    }

    fn build<'s>(&'s self, plan: &mut Plan<'s>) {
        plan.build_named();
    }
}

/// The ports of a node.
#[derive(Clone, Default)]
struct Ports {
    count: usize,
    /// The highest rate at which one of them sends.
    fastest: Option<Rate>,
    /// Whether an Ethernet switch is at the other end of one.
    is_at_switch: bool,
}

impl Graph {
    /// The ports of each node.
    fn ports(&self) -> Vec<Ports> {
        let numbers = self.numbers();
        let mut ports = vec![Ports::default(); self.nodes.len()];
        for link in &self.links {
            let back = link.reverse.as_ref().map_or(link.rate, |reverse| reverse.rate);
            for (from, to, rate) in [(&link.from, &link.to, link.rate), (&link.to, &link.from, back)] {
                let (Some(&from), Some(&to)) = (numbers.get(from.as_str()), numbers.get(to.as_str())) else { continue };
                let of_node = &mut ports[from];
                of_node.count += 1;
                of_node.fastest = of_node.fastest.max(Some(rate));
                of_node.is_at_switch |= self.nodes[to].is_ethernet_switch();
            }
        }
        ports
    }

    /// The kind of a node, whose key is at `path`. Inputs and outputs of a switch are numbered in the order of the
    /// links.
    fn planned_kind<'s>(&'s self, node: &'s Node, ports: &Ports, path: &Path) -> PlannedKind<'s> {
        let congestion_management = self.congestion_management.as_ref();
        match (&node.kind, fabric(node), ports.fastest) {
            (NodeKind::Host, _, Some(line_rate)) if ports.is_at_switch => {
                let (spec, service) = (&self.adapter, Vec::new());
                PlannedKind::Adapter(Box::new(PlannedAdapter { spec, congestion_management, line_rate, service }))
            }
            (NodeKind::Host, ..) => PlannedKind::Host,
            (NodeKind::EthernetSwitch(spec), _, Some(line_rate)) => {
                let path = path.key("ethernet_switch");
                PlannedKind::EthernetSwitch(Box::new(PlannedSwitch { spec, congestion_management, line_rate, path }))
            }
            (_, Some(spec), Some(line_rate)) => {
                PlannedKind::Crossbar(Box::new(PlannedFabric { ports: ports.count, spec, line_rate }))
            }
            // Nothing crosses a fabric without links.
            _ => PlannedKind::Router,
        }
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
