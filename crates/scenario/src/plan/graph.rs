//! Any nodes and links.

use std::collections::BTreeMap;

use super::{Plan, PlannedFabric, PlannedKind, each_flow};
use crate::names;
use crate::schema::{Fabric, FlowGroup, Graph, Node, NodeKind, OneOrMany};

impl<'s> Plan<'s> {
    pub(super) fn graph(&mut self, graph: &'s Graph, groups: &[FlowGroup]) {
        let nodes: BTreeMap<&str, u32> = graph
            .nodes
            .iter()
            .map(|node| (node.name.as_str(), self.node(node.name.as_str(), planned_kind(graph, node))))
            .collect();
        for link in &graph.links {
            let (Some(&from), Some(&to)) = (nodes.get(link.from.as_str()), nodes.get(link.to.as_str())) else {
                continue;
            };
            let (there, back) = (names::graph_link(&link.from, &link.to), names::graph_link(&link.to, &link.from));
            for (name, spec, ends) in [(there, link.forward(), (from, to)), (back, link.backward(), (to, from))] {
                let number = self.link(name.clone(), &name, &spec, ends);
                self.links[number as usize].metric = link.metric;
            }
        }
        each_flow(groups, |group, index, name| {
            let end = |list: &Option<OneOrMany>| nodes.get(list.as_ref()?.at(index as usize)?).copied();
            if let (Some(from), Some(to)) = (end(&group.1.from), end(&group.1.to)) {
                self.flow(group, index, name, from, to);
            }
        });
    }
}

/// The kind of a node. Inputs and outputs of a switch are numbered in the order of the links.
fn planned_kind<'s>(graph: &'s Graph, node: &'s Node) -> PlannedKind<'s> {
    let spec = match &node.kind {
        NodeKind::Host => return PlannedKind::Host,
        NodeKind::Router => return PlannedKind::Router,
        NodeKind::EthernetSwitch(switch) => return PlannedKind::EthernetSwitch(switch),
        NodeKind::Cioq(cioq) => Fabric::Cioq(cioq.clone()),
        NodeKind::InputQueued(fifos) => Fabric::InputQueued(fifos.clone()),
    };
    let from_here = graph.links.iter().filter_map(|link| {
        if link.from == node.name { Some(link.rate) } else { (link.to == node.name).then(|| link.backward().rate) }
    });
    let rates: Vec<_> = from_here.collect();
    match rates.iter().max() {
        Some(&line_rate) => PlannedKind::Crossbar(Box::new(PlannedFabric { ports: rates.len(), spec, line_rate })),
        // Without links nothing crosses it.
        None => PlannedKind::Router,
    }
}
