//! The nodes and links of a free graph.

use forebay_document::{Invalid, Path, did_you_mean};

use std::collections::BTreeSet;

use forebay_switching::MAX_PORTS;

use super::check::{DAY, Validity, check_name, check_span, require};
use super::ethernet::{MOST_ETHERNET_NODES, MOST_PORTS, check_node_name};
use super::{links, switch};
use crate::names;
use crate::schema::{Adapter, Graph, GraphLink, Node, NodeKind, ScenarioSpec, SpanDistribution};

/// More than any scenario has; keeps `--set` with a slip of the finger from eating all memory.
pub(super) const MOST_NODES: usize = 1_000_000;

pub(crate) fn validate(graph: &Graph, path: &Path) -> Validity {
    let nodes = path.key("nodes");
    require(
        !graph.nodes.is_empty(),
        || nodes.clone(),
        || "a graph without nodes".into(),
        "expected at least two hosts",
    )?;
    require(
        graph.nodes.len() <= MOST_NODES,
        || nodes.clone(),
        || "too many nodes".into(),
        "expected at most a million",
    )?;
    if let Some(after) = graph.reroute_after {
        check_span(&SpanDistribution::Constant(after), DAY, &path.key("reroute_after"))?;
    }
    let mut known = BTreeSet::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        let name = nodes.index(index).key("name");
        check_name(&node.name, &name)?;
        require(
            !node.name.contains("->"),
            || name.clone(),
            || "a name contains `->`".into(),
            "`->` separates the names in the name of a link",
        )?;
        require(
            known.insert(node.name.as_str()),
            || name.clone(),
            || format!("two nodes are named `{}`", node.name),
            "the second one",
        )?;
    }
    let mut links = BTreeSet::new();
    for (index, link) in graph.links.iter().enumerate() {
        let at = path.key("links").index(index);
        for (end, name) in [("from", &link.from), ("to", &link.to)] {
            if !known.contains(name.as_str()) {
                return Err(Invalid::new(
                    at.key(end),
                    format!("there is no node `{name}`"),
                    "expected the name of a node",
                )
                .with_help(did_you_mean(name, known.iter().copied())));
            }
        }
        let joins = || format!("a link connects `{}` to itself", link.from);
        require(link.from != link.to, || at.key("to"), joins, "expected another node")?;
        require(link.metric > 0, || at.key("metric"), || "`metric` is zero".into(), "expected at least 1")?;
        let ends = (link.from.as_str().min(&link.to), link.from.as_str().max(&link.to));
        let name = names::graph_link(&link.from, &link.to);
        require(
            links.insert(ends),
            || at.key("from"),
            || format!("a second link between the ends of `{name}`"),
            "links are full duplex: one is enough",
        )?;
    }
    Ok(())
}

/// Checks a graph whose links are known to be good and that has Ethernet switches, or has none and nothing for them.
pub(crate) fn ethernet(graph: &Graph, path: &Path) -> Validity {
    if !graph.nodes.iter().any(Node::is_ethernet_switch) {
        for (key, given) in [
            ("adapter", graph.adapter != Adapter::default()),
            ("congestion_management", graph.congestion_management.is_some()),
        ] {
            let message = || format!("`{key}` is for a graph with Ethernet switches");
            require(!given, || path.key(key), message, "this graph has none")?;
        }
        return Ok(());
    }
    let message = || "`reroute_after` with Ethernet switches".to_owned();
    let label = "expected none: their links do not go down, and frames keep their paths";
    require(graph.reroute_after.is_none(), || path.key("reroute_after"), message, label)?;
    let numbers = graph.numbers();
    let mut degrees = vec![0; graph.nodes.len()];
    let mut is_of_ethernet: Vec<bool> = graph.nodes.iter().map(Node::is_ethernet_switch).collect();
    for link in &graph.links {
        let ends = [&link.from, &link.to].map(|name| numbers[name.as_str()]);
        ends.iter().for_each(|&end| degrees[end] += 1);
        for [one, other] in [ends, [ends[1], ends[0]]] {
            let is_host = matches!(graph.nodes[other].kind, NodeKind::Host);
            is_of_ethernet[other] |= is_host && graph.nodes[one].is_ethernet_switch();
        }
    }
    let nodes = path.key("nodes");
    let count = is_of_ethernet.iter().filter(|is_of_ethernet| **is_of_ethernet).count();
    let many = || format!("{count} Ethernet switches and hosts with adapters");
    require(count <= MOST_ETHERNET_NODES, || nodes.clone(), many, "expected at most 4096")?;
    for (index, node) in graph.nodes.iter().enumerate() {
        let at = nodes.index(index).key("name");
        check_node_name(&node.name, &at)?;
        let links = degrees[index];
        if node.is_ethernet_switch() {
            let message = || format!("the switch `{}` has {links} links", node.name);
            require((1..=MOST_PORTS).contains(&links), || at, message, "expected 1 to 256")?;
        } else if is_of_ethernet[index] {
            let message = || format!("the host `{}` has {links} links, one of them to an Ethernet switch", node.name);
            require(links == 1, || at, message, "expected that one alone: its adapter has one port")?;
        }
    }
    for (index, link) in graph.links.iter().enumerate() {
        let ends = [&link.from, &link.to].map(|name| numbers[name.as_str()]);
        let switches = ends.map(|end| graph.nodes[end].is_ethernet_switch());
        if switches != [false; 2] {
            let is_inside = ends.iter().all(|&end| is_of_ethernet[end]);
            ethernet_link(link, switches, is_inside, &path.key("links").index(index))?;
        }
    }
    Ok(())
}

/// Checks a link with Ethernet switches at these ends. It is inside an Ethernet, or leads to a node of another kind.
fn ethernet_link(link: &GraphLink, switches: [bool; 2], is_inside: bool, at: &Path) -> Validity {
    let name = names::graph_link(&link.from, &link.to);
    for (key, given, label) in [
        ("reverse", link.reverse.is_some(), "expected none: a link of an Ethernet is alike in both directions"),
        ("metric", link.metric != 1, "expected 1: a path of an Ethernet is that of the fewest switches"),
        ("delay", !matches!(link.delay, SpanDistribution::Constant(_)), "expected one time: headroom follows from it"),
    ] {
        require(!given || !is_inside, || at.key(key), || format!("`{key}` of `{name}`, a link of an Ethernet"), label)?;
    }
    let is_of_adapter = is_inside && switches != [true; 2];
    let message = || format!("`service` of `{name}`, a link of an adapter");
    let label = "expected none: an adapter sends at the rate of its link";
    require(link.service.is_empty() || !is_of_adapter, || at.key("service"), message, label)?;
    let back = link.reverse.as_ref().map_or_else(|| at.clone(), |_| at.key("reverse"));
    for ((spec, at), is_switch) in [(link.forward(), at.clone()), (link.backward(), back)].into_iter().zip(switches) {
        links::ethernet_impairments(&spec.impairments, &at.key("impairments"))?;
        links::ethernet_service(&spec, &at)?;
        for (number, period) in spec.service.iter().enumerate() {
            let above = || format!("a service above {}, the rate of the link", spec.rate);
            let holds = !is_switch || period.highest_rate().is_none_or(|rate| rate <= spec.rate);
            require(holds, || at.key("service").index(number).key("rate"), above, "expected at most the link's rate")?;
        }
    }
    Ok(())
}

/// Checks the nodes that are switches, whose links are known to be good.
pub(crate) fn switches(graph: &Graph, spec: &ScenarioSpec, path: &Path) -> Validity {
    for (index, node) in graph.nodes.iter().enumerate() {
        let kind = path.index(index).key("kind");
        if !matches!(node.kind, NodeKind::Cioq(_) | NodeKind::InputQueued(_)) {
            continue;
        }
        let ports = graph.links.iter().filter(|link| link.from == node.name || link.to == node.name).count();
        let message = || format!("the switch `{}` has {ports} links", node.name);
        require((1..=MAX_PORTS).contains(&ports), || kind.clone(), message, "expected at most 64")?;
        match &node.kind {
            NodeKind::Cioq(cioq) => switch::cioq(cioq, ports, spec, &kind.key("cioq"))?,
            NodeKind::InputQueued(fifos) => switch::input_queued(fifos, ports, spec, &kind.key("input_queued"))?,
            NodeKind::Host | NodeKind::Router | NodeKind::EthernetSwitch(_) => {}
        }
    }
    Ok(())
}
