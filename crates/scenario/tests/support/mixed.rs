//! Random graphs in which Ethernet switches are next to nodes of other kinds.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::{Ends, QUEUES, Topology, chosen, fabric, link};

/// The key that makes a node an Ethernet switch, but for its other keys.
const SWITCH: &str = "ethernet_switch = { ";

/// A link as an Ethernet may have it.
#[derive(Clone, Debug)]
struct EthernetLink {
    keys: String,
    queue: String,
    /// Not at an adapter.
    service: String,
    /// Only between an Ethernet switch and a node of another kind.
    outside: String,
}

/// The keys of a link, if no Ethernet switch is at its ends, or if one is.
type LinkKeys = (String, EthernetLink);

fn ethernet_link() -> impl Strategy<Value = EthernetLink> {
    let keys = (chosen(&["<r0>", "<r0>", "<r1>"]), chosen(&["<c0>", "<c0>", "<c1>"]), chosen(&["", "", "0.03"]));
    let keys = keys.prop_map(|(rate, delay, loss)| {
        let loss = if loss.is_empty() { loss } else { format!(", impairments.loss = {loss}") };
        format!("rate = {rate}, delay = {delay}{loss}")
    });
    // The outputs of a switch share no table.
    let queues: Vec<String> = QUEUES.iter().filter(|queue| !queue.contains("shared")).cloned().collect();
    let queue = prop::option::of(select(queues.clone()));
    let queue = queue.prop_map(|queue| queue.map_or(String::new(), |queue| format!(", queue = {queue}")));
    let service = chosen(&["", "", ", service = [{ rate = \"0 bps\", from = \"3 ms\", to = \"9 ms\" }]"]);
    let outside = (1_u32..3, prop::option::weighted(0.3, select(queues))).prop_map(|(metric, back)| {
        let reverse =
            back.map_or(String::new(), |queue| format!(", reverse = {{ rate = <r1>, delay = <d1>, queue = {queue} }}"));
        format!(", metric = {metric}{reverse}")
    });
    (keys, queue, service, outside).prop_map(|(keys, queue, service, outside)| EthernetLink {
        keys,
        queue,
        service,
        outside,
    })
}

fn ethernet_switch() -> impl Strategy<Value = String> {
    let memory = chosen(&["\"20 KB\"", "\"100 KB\""]);
    let further = chosen(&[
        "",
        "",
        ", strict_priority = true",
        ", forwarding_delay = \"20 us\"",
        ", buffer.dynamic_threshold.alpha = 1.0",
    ]);
    (memory, further).prop_map(|(memory, further)| format!("{SWITCH}memory = {memory}{further}"))
}

/// Keys for the switches whose neighbours all obey PAUSE.
fn pause() -> impl Strategy<Value = String> {
    chosen(&[
        "",
        ", pause = { high = \"9 KB\", low = \"6 KB\", allow_loss = true }",
        ", priority_pause = { high = \"9 KB\", low = \"6 KB\", allow_loss = true }",
    ])
}

/// A tree of nodes of any kind, which are numbered first, then hosts. The links lead to an earlier node.
#[derive(Clone, Debug)]
struct Tree {
    nodes: Vec<(String, Index, LinkKeys)>,
    hosts: Vec<(Index, LinkKeys)>,
    pause: String,
    /// Whether ports of Ethernet switches have disciplines, or an arbiter.
    has_queues: bool,
}

impl Tree {
    fn name(&self, number: usize) -> String {
        match number.checked_sub(self.nodes.len()) {
            None => format!("n{number}"),
            Some(host) => format!("h{host}"),
        }
    }

    fn is_switch(&self, number: usize) -> bool {
        self.nodes.get(number).is_some_and(|node| node.0.starts_with(SWITCH))
    }

    /// The node that a host is connected to; `None` for other nodes.
    fn node_of(&self, number: usize) -> Option<usize> {
        let host = self.hosts.get(number.checked_sub(self.nodes.len())?)?;
        Some(host.0.index(self.nodes.len()))
    }

    fn has_adapter(&self, number: usize) -> bool {
        self.node_of(number).is_some_and(|node| self.is_switch(node))
    }

    fn is_of_ethernet(&self, number: usize) -> bool {
        self.is_switch(number) || self.has_adapter(number)
    }

    /// Whether two nodes may have a further link. A host with an adapter has none, and others become none.
    fn may_join(&self, ends: [usize; 2]) -> bool {
        let has_host = ends.iter().any(|&end| self.node_of(end).is_some());
        let would_add_adapter = has_host && ends.iter().any(|&end| self.is_switch(end));
        !would_add_adapter && ends.iter().all(|&end| !self.has_adapter(end))
    }

    /// The ends of all links, with their keys.
    fn links<'a>(&'a self, further: &'a [(Index, Index, LinkKeys)]) -> Vec<([usize; 2], &'a LinkKeys)> {
        let all = self.nodes.len() + self.hosts.len();
        let of_nodes = self.nodes.iter().enumerate().skip(1);
        let of_nodes = of_nodes.map(|(number, (_, parent, keys))| ([parent.index(number), number], keys));
        let of_hosts = self.hosts.iter().zip(self.nodes.len()..);
        let of_hosts = of_hosts.map(|((node, keys), number)| ([node.index(self.nodes.len()), number], keys));
        let further = further.iter().map(|(one, other, keys)| {
            let (one, other) = (one.index(all), other.index(all));
            ([one.min(other), one.max(other)], keys)
        });
        let further = further.filter(|&(ends, _)| self.may_join(ends));
        let mut seen = BTreeSet::new();
        let links = of_nodes.chain(of_hosts).chain(further);
        links.filter(|&([one, other], _)| one != other && seen.insert([one, other])).collect()
    }

    fn link(&self, ends: [usize; 2], (any, ethernet): &LinkKeys) -> String {
        let EthernetLink { keys, queue, service, outside } = ethernet;
        let queue = if self.has_queues { queue.as_str() } else { "" };
        let keys = match ends.map(|end| (self.is_switch(end), self.is_of_ethernet(end))) {
            [(false, _), (false, _)] => any.clone(),
            [(true, _), (true, _)] => format!("{keys}{queue}{service}"),
            [(_, true), (_, true)] => format!("{keys}{queue}"),
            // A `reverse` has a queue.
            _ if self.has_queues => format!("{keys}{queue}{service}{outside}"),
            _ => format!("{keys}{service}"),
        };
        format!("{{ from = \"{}\", to = \"{}\", {keys} }}", self.name(ends[0]), self.name(ends[1]))
    }

    fn node(&self, number: usize, neighbours: &[usize]) -> String {
        let kind = match self.nodes.get(number) {
            None => return format!("{{ name = \"{}\" }}", self.name(number)),
            Some((kind, ..)) if self.is_switch(number) => {
                let are_obeying = neighbours.iter().all(|&neighbour| self.is_of_ethernet(neighbour));
                let pause = if are_obeying { self.pause.as_str() } else { "" };
                let order = if self.has_queues { "" } else { ", arbiter = \"round_robin\"" };
                format!("{{ {kind}{pause}{order} }} }}")
            }
            Some((kind, ..)) if neighbours.len() > 1 => kind.clone(),
            // A crossbar of one port may not be faster than its line.
            Some(_) => "\"router\"".to_owned(),
        };
        format!("{{ name = \"{}\", kind = {kind} }}", self.name(number))
    }
}

/// A tree of nodes of any kind with hosts; further links close circles.
pub fn graph() -> impl Strategy<Value = Topology> {
    let kind = prop_oneof![2 => Just("\"router\"".to_owned()), 1 => fabric(), 3 => ethernet_switch()];
    let keys = || (link(3), ethernet_link());
    let nodes = prop::collection::vec((kind, any::<Index>(), keys()), 2..6);
    let hosts = prop::collection::vec((any::<Index>(), keys()), 2..6);
    let tree = (nodes, hosts, pause(), any::<bool>()).prop_map(|(nodes, hosts, pause, has_queues)| Tree {
        nodes,
        hosts,
        pause,
        has_queues,
    });
    let further = prop::collection::vec((any::<Index>(), any::<Index>(), keys()), 0..4);
    let paths = chosen(&["", "paths = \"ecmp\"\n"]);
    let adapter = chosen(&["", "adapter.voq_limit = \"9 packets\"\n", "adapter.reaction = \"5 us\"\n"]);
    (tree, further, paths, adapter).prop_map(|(tree, further, paths, adapter)| {
        let links = tree.links(&further);
        let neighbours = |number: usize| -> Vec<usize> {
            let of_node = links.iter().filter(|(ends, _)| ends.contains(&number));
            of_node.map(|([one, other], _)| one + other - number).collect()
        };
        let all = tree.nodes.len() + tree.hosts.len();
        let nodes: Vec<String> = (0..all).map(|number| tree.node(number, &neighbours(number))).collect();
        let texts: Vec<String> = links.iter().map(|&(ends, keys)| tree.link(ends, keys)).collect();
        let adapter = if (0..all).any(|number| tree.is_switch(number)) { adapter } else { String::new() };
        let (nodes, texts) = (nodes.join(", "), texts.join(",\n"));
        let graph = format!("[topology.graph]\n{paths}{adapter}nodes = [{nodes}]\nlinks = [\n{texts},\n]\n");
        (graph, Ends::OfAGraph(tree.hosts.len()))
    })
}
