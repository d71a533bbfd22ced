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
    /// What an adapter does not have.
    service: String,
    /// What links inside an Ethernet do not have.
    outside: String,
}

fn ethernet_link() -> impl Strategy<Value = EthernetLink> {
    let keys = (chosen(&["<r0>", "<r0>", "<r1>"]), chosen(&["<c0>", "<c0>", "<c1>"]), chosen(&["", "", "0.03"]));
    let keys = keys.prop_map(|(rate, delay, loss)| {
        let loss = if loss.is_empty() { loss } else { format!(", impairments.loss = {loss}") };
        format!("rate = {rate}, delay = {delay}{loss}")
    });
    // The outputs of a switch share no table.
    let queues: Vec<String> = QUEUES.iter().filter(|queue| !queue.contains("shared")).cloned().collect();
    let queue = prop::option::of(select(queues));
    let queue = queue.prop_map(|queue| queue.map_or(String::new(), |queue| format!(", queue = {queue}")));
    let service = chosen(&["", "", ", service = [{ rate = \"0 bps\", from = \"3 ms\", to = \"9 ms\" }]"]);
    let outside = (1_u32..3, prop::option::weighted(0.3, select(QUEUES.clone())));
    let outside = outside.prop_map(|(metric, back)| {
        // The far end is a switch, or a router, whichever it is.
        let back = back.filter(|queue| !queue.contains("shared"));
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
    let further =
        chosen(&["", "", "strict_priority = true", "forwarding_delay = \"20 us\"", "output_limit.dynamic = 1.0"]);
    (memory, further).prop_map(|(memory, further)| format!("{SWITCH}memory = {memory}, {further}"))
}

/// How a switch stops its neighbours where all of them obey, and which order its ports have where they have no
/// disciplines.
fn control() -> impl Strategy<Value = (String, bool)> {
    let pause = chosen(&[
        "",
        "pause = { high = \"9 KB\", low = \"6 KB\", allow_loss = true }",
        "priority_pause = { high = \"9 KB\", low = \"6 KB\", allow_loss = true }",
    ]);
    (pause, any::<bool>())
}

/// A tree of nodes of any kind with hosts; further links close circles.
pub fn graph() -> impl Strategy<Value = Topology> {
    let kind = prop_oneof![2 => Just("\"router\"".to_owned()), 1 => fabric(), 3 => ethernet_switch()];
    let links = || (link(3), ethernet_link());
    let nodes = prop::collection::vec((kind, any::<Index>(), links()), 2..6);
    let hosts = prop::collection::vec((any::<Index>(), links()), 2..6);
    let further = prop::collection::vec((any::<Index>(), any::<Index>(), links()), 0..4);
    let paths = chosen(&["", "paths = \"ecmp\"\n"]);
    let adapter = chosen(&["", "adapter.voq_limit = \"9 packets\"\n", "adapter.reaction = \"5 us\"\n"]);
    (nodes, hosts, further, paths, adapter, control()).prop_map(|(nodes, hosts, further, paths, adapter, control)| {
        let name = |number: usize| {
            if number < nodes.len() { format!("n{number}") } else { format!("h{}", number - nodes.len()) }
        };
        let is_switch = |number: usize| nodes.get(number).is_some_and(|node| node.0.starts_with(SWITCH));
        let place_of = |host: usize| hosts[host - nodes.len()].0.index(nodes.len());
        let is_of_ethernet =
            |number: usize| is_switch(number) || (number >= nodes.len() && is_switch(place_of(number)));
        let mut ends = BTreeSet::new();
        let mut text = Vec::new();
        let (pause, has_queues) = control;
        let mut join = |from: usize, to: usize, (any, ethernet): &(String, EthernetLink)| {
            // A host with an adapter has one link, which is its first.
            let is_second = |end: usize, other: usize| {
                end >= nodes.len() && is_of_ethernet(end) && (place_of(end) != other || from < to)
            };
            let is_new_adapter =
                |end: usize, other: usize| end >= nodes.len() && !is_of_ethernet(end) && is_switch(other);
            let is_refused = [(from, to), (to, from)]
                .into_iter()
                .any(|(end, other)| is_second(end, other) || is_new_adapter(end, other));
            if from == to || is_refused || !ends.insert((from.min(to), from.max(to))) {
                return;
            }
            let EthernetLink { keys, queue, service, outside } = ethernet;
            let queue = if has_queues { queue.as_str() } else { "" };
            let keys = match [from, to] {
                ends if !ends.iter().any(|&end| is_switch(end)) => any.clone(),
                ends if ends.iter().all(|&end| is_switch(end)) => format!("{keys}{queue}{service}"),
                ends if ends.iter().all(|&end| is_of_ethernet(end)) => format!("{keys}{queue}"),
                _ if has_queues => format!("{keys}{queue}{service}{outside}"),
                _ => format!("{keys}{service}"),
            };
            text.push(format!("{{ from = \"{}\", to = \"{}\", {keys} }}", name(from), name(to)));
        };
        for (number, (_, parent, links)) in nodes.iter().enumerate().skip(1) {
            join(number, parent.index(number), links);
        }
        for (host, (at, links)) in hosts.iter().enumerate() {
            join(nodes.len() + host, at.index(nodes.len()), links);
        }
        for (one, other, links) in &further {
            let all = nodes.len() + hosts.len();
            let (one, other) = (one.index(all), other.index(all));
            join(one.min(other), one.max(other), links);
        }
        let neighbours = |number: usize| {
            let ends = ends.iter().filter(move |(one, other)| *one == number || *other == number);
            ends.map(move |&(one, other)| one + other - number)
        };
        let node = |(number, (kind, ..)): (usize, &(String, Index, (String, EthernetLink)))| {
            let kind = if is_switch(number) {
                let are_obeying = neighbours(number).all(is_of_ethernet);
                let pause = if are_obeying && !kind.contains("output_limit") { pause.as_str() } else { "" };
                let order = if has_queues { "" } else { "arbiter = \"round_robin\"" };
                let keys = [pause, order].into_iter().filter(|keys| !keys.is_empty());
                let kind = kind.trim_end_matches([',', ' ']);
                format!("{{ {kind}{} }} }}", keys.map(|keys| format!(", {keys}")).collect::<String>())
            } else if neighbours(number).count() > 1 {
                kind.clone()
            } else {
                // A switch of one port may not be faster than its line.
                "\"router\"".to_owned()
            };
            format!("{{ name = \"{}\", kind = {kind} }}", name(number))
        };
        let hosts_too = (0..hosts.len()).map(|number| format!("{{ name = \"h{number}\" }}"));
        let has_switch = (0..nodes.len()).any(is_switch);
        let adapter = if has_switch { adapter.as_str() } else { "" };
        let nodes: Vec<String> = nodes.iter().enumerate().map(node).chain(hosts_too).collect();
        let graph = format!(
            "[topology.graph]\n{paths}{adapter}nodes = [{}]\nlinks = [\n{},\n]\n",
            nodes.join(", "),
            text.join(",\n")
        );
        (graph, Ends::OfAGraph(hosts.len()))
    })
}
