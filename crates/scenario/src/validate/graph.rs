//! The nodes and links of a free graph.

use forebay_document::{Invalid, Path, did_you_mean};

use std::collections::{BTreeMap, BTreeSet};

use forebay_switching::MAX_PORTS;
use petgraph::unionfind::UnionFind;

use super::check::{Validity, check_name, require};
use super::ethernet::{MOST_PORTS, MOST_STATIONS, check_station};
use super::{links, switch};
use crate::names;
use crate::schema::{Adapter, Graph, GraphLink, Node, NodeKind, ScenarioSpec, SpanDistribution};

/// More than any scenario has; keeps `--set` with a slip of the finger from eating all memory.
const MOST_NODES: usize = 1_000_000;

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
    let is_switch = |node: &Node| matches!(node.kind, NodeKind::EthernetSwitch(_));
    if !graph.nodes.iter().any(is_switch) {
        for (key, given) in [
            ("adapter", graph.adapter != Adapter::default()),
            ("congestion_management", graph.congestion_management.is_some()),
        ] {
            let message = || format!("`{key}` is for a graph with Ethernet switches");
            require(!given, || path.key(key), message, "this graph has none")?;
        }
        return Ok(());
    }
    let nodes = path.key("nodes");
    let count = graph.nodes.len();
    let many = || format!("{count} switches and hosts");
    require(count <= MOST_STATIONS, || nodes.clone(), many, "expected at most 4096 in an Ethernet")?;
    let numbers: BTreeMap<&str, usize> =
        graph.nodes.iter().enumerate().map(|(index, node)| (node.name.as_str(), index)).collect();
    let mut degrees = vec![0; count];
    graph.links.iter().flat_map(|link| [&link.from, &link.to]).for_each(|name| degrees[numbers[name.as_str()]] += 1);
    for (index, node) in graph.nodes.iter().enumerate() {
        let at = nodes.index(index);
        check_station(&node.name, &at.key("name"))?;
        let links = degrees[index];
        match &node.kind {
            NodeKind::EthernetSwitch(_) => {
                let message = || format!("the switch `{}` has {links} links", node.name);
                require((1..=MOST_PORTS).contains(&links), || at.key("name"), message, "expected 1 to 256")?;
            }
            NodeKind::Host => {
                let message = || format!("the host `{}` has {links} links", node.name);
                require(links == 1, || at.key("name"), message, "expected one: its adapter has one port")?;
            }
            NodeKind::Router | NodeKind::Cioq(_) | NodeKind::InputQueued(_) => {
                let message = format!("`{}` forwards packets next to Ethernet switches", node.name);
                let label = "expected `ethernet_switch`: a graph that has one has no routers or other switches";
                return Err(Invalid::new(at.key("kind"), message, label));
            }
        }
    }
    let mut joined = UnionFind::new(count);
    for (index, link) in graph.links.iter().enumerate() {
        let at = path.key("links").index(index);
        let name = names::graph_link(&link.from, &link.to);
        for (key, given, label) in [
            ("reverse", link.reverse.is_some(), "expected none: a link of an Ethernet is alike in both directions"),
            ("metric", link.metric != 1, "expected 1: a path of an Ethernet is that of the fewest switches"),
            (
                "delay",
                !matches!(link.delay, SpanDistribution::Constant(_)),
                "expected one time: headroom follows from it",
            ),
        ] {
            require(!given, || at.key(key), || format!("`{key}` of `{name}`, a link of an Ethernet"), label)?;
        }
        links::ethernet_impairments(&link.impairments, &at.key("impairments"))?;
        let [from, to] = [&link.from, &link.to].map(|name| numbers[name.as_str()]);
        let [from_switch, to_switch] = [from, to].map(|node| is_switch(&graph.nodes[node]));
        service(link, from_switch && to_switch, &at.key("service"))?;
        let hosts = || format!("`{name}` joins two hosts");
        require(from_switch || to_switch, || at.key("to"), hosts, "expected an Ethernet switch at one end")?;
        joined.union(from, to);
    }
    for (index, node) in graph.nodes.iter().enumerate() {
        let message = || format!("no links lead from `{}` to `{}`", graph.nodes[0].name, node.name);
        let name = || nodes.index(index).key("name");
        require(joined.equiv(0, index), name, message, "not connected to the first node")?;
    }
    Ok(())
}

/// Checks the periods of another rate of a link of an Ethernet, which joins two switches or has none.
fn service(link: &GraphLink, joins_switches: bool, path: &Path) -> Validity {
    let message = || format!("`service` of `{}`, a link of an adapter", names::graph_link(&link.from, &link.to));
    let label = "expected none: an adapter sends at the rate of its link";
    require(link.service.is_empty() || joins_switches, || path.clone(), message, label)?;
    for (number, period) in link.service.iter().enumerate() {
        let above = || format!("a service above {}, the rate of the link", link.rate);
        let holds = period.rate.is_none_or(|rate| rate <= link.rate);
        require(holds, || path.index(number).key("rate"), above, "expected at most the link's rate")?;
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
