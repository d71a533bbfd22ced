//! Warnings about simplifications that follow from the scenario alone.

mod sizes;

use std::collections::{BTreeMap, BTreeSet};

use forebay_engine::Warning;
use forebay_switching::PathPolicyConfig;
use petgraph::algo::dijkstra;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::{EdgeFiltered, EdgeRef};

use crate::schema::{FlowGroup, ScenarioSpec, Topology, Transport};

/// The warnings of a run of `spec`, which writes no files unless `writes_files`.
pub(crate) fn warnings(spec: &ScenarioSpec, writes_files: bool) -> Vec<Warning> {
    let paths_and_traces = [equal_paths(spec), traces(spec, writes_files)].into_iter().flatten();
    paths_and_traces.chain(sizes::cut_sizes(spec)).collect()
}

fn traces(spec: &ScenarioSpec, writes_files: bool) -> Option<Warning> {
    if writes_files || spec.traces.is_empty() {
        return None;
    }
    let names: Vec<String> = spec.traces.iter().map(|trace| format!("`{}`", trace.link)).collect();
    Some(Warning {
        text: format!("no trace of {} is written: the run has no output folder", names.join(", ")),
        remedy: "name a folder with --out DIR, or `out` in Python".into(),
    })
}

/// Where a route is one of several that are equally short.
fn equal_paths(spec: &ScenarioSpec) -> Option<Warning> {
    let map = Map::new(spec).filter(|_| spec.topology.paths() == Some(&PathPolicyConfig::default()))?;
    let mut pairs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for group in &spec.flows {
        for (from, to) in ends(spec, group) {
            pairs.entry(from).or_default().insert(to);
        }
    }
    let mut affected = Vec::new();
    for (from, destinations) in &pairs {
        let paths = map.paths_from(from);
        let several = |to: &&&str| paths.get(**to).is_some_and(|paths| *paths > 1);
        affected.extend(destinations.iter().filter(several).map(|to| (*from, *to, paths[*to])));
    }
    let &(from, to, paths) = affected.first()?;
    let others = match affected.len() - 1 {
        0 => String::new(),
        1 => "; so has one more pair".into(),
        more => format!("; so have {more} more pairs"),
    };
    Some(Warning {
        text: format!(
            "`{from}` to `{to}` has {paths} equally short paths, of which all packets take the same one{others}"
        ),
        remedy:
            "the capacity of the other paths is not used; `paths = \"ecmp\"` in the table of the topology spreads the \
             flows, and a larger `metric` of a link takes it out of the choice"
                .into(),
    })
}

/// The pairs of hosts between which the flows of a group go.
fn ends<'a>(spec: &'a ScenarioSpec, group: &'a FlowGroup) -> Vec<(&'a str, &'a str)> {
    if let (Transport::Frames(_), Some(lan)) = (&group.transport, spec.topology.lan()) {
        let generators = lan.generators(group);
        return generators.into_iter().flat_map(|it| it.to.into_iter().map(move |to| (it.from, to))).collect();
    }
    let (Some(from), Some(to)) = (&group.from, &group.to) else { return Vec::new() };
    // The lists repeat together after this many flows at the latest.
    let period = from.0.len() * to.0.len();
    let flows = (group.flows() as usize).min(period);
    (0..flows).filter_map(|index| Some((from.at(index)?, to.at(index)?))).collect()
}

/// The nodes and links that routes are made of. Hosts pass no packets on.
struct Map<'a> {
    graph: DiGraph<&'a str, u64>,
    nodes: BTreeMap<&'a str, NodeIndex>,
    hosts: BTreeSet<&'a str>,
}

impl<'a> Map<'a> {
    /// `None` where each route is the only one.
    fn new(spec: &'a ScenarioSpec) -> Option<Self> {
        let mut map = Self { graph: DiGraph::new(), nodes: BTreeMap::new(), hosts: BTreeSet::new() };
        if let Some(lan) = spec.topology.lan() {
            map.hosts = lan.nodes.iter().copied().collect();
            for cable in &lan.cables {
                map.join(cable.ends, 1);
            }
        } else if let Topology::Graph(graph) = &spec.topology {
            map.hosts =
                graph.nodes.iter().filter(|node| !node.kind.forwards()).map(|node| node.name.as_str()).collect();
            for link in &graph.links {
                map.join([&link.from, &link.to], link.metric.into());
            }
        } else {
            return None;
        }
        Some(map)
    }

    fn join(&mut self, ends: [&'a str; 2], metric: u64) {
        let [from, to] = ends.map(|name| *self.nodes.entry(name).or_insert_with(|| self.graph.add_node(name)));
        self.graph.add_edge(from, to, metric);
        self.graph.add_edge(to, from, metric);
    }

    /// How many shortest paths lead from `from` to each node.
    fn paths_from(&self, from: &str) -> BTreeMap<&'a str, u64> {
        let Some(&source) = self.nodes.get(from) else { return BTreeMap::new() };
        let passes = |node: NodeIndex| node == source || !self.hosts.contains(self.graph[node]);
        let passable = EdgeFiltered::from_fn(&self.graph, |edge| passes(edge.source()));
        let distances = dijkstra(&passable, source, None, |edge| *edge.weight());
        let mut order: Vec<NodeIndex> = self.graph.node_indices().filter(|node| distances.contains_key(node)).collect();
        order.sort_by_key(|node| (distances[node], *node));
        let mut paths = BTreeMap::from([(source, 1_u64)]);
        for &node in order.iter().filter(|node| passes(**node)) {
            let ways = paths.get(&node).copied().unwrap_or(0);
            for edge in self.graph.edges(node) {
                if distances.get(&edge.target()) == Some(&(distances[&node] + edge.weight())) {
                    let count = paths.entry(edge.target()).or_default();
                    *count = count.saturating_add(ways);
                }
            }
        }
        paths.into_iter().map(|(node, paths)| (self.graph[node], paths)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    fn texts(scenario: &str) -> Vec<String> {
        let scenario = Scenario::load(scenario, "w.toml", &[]).unwrap_or_else(|error| panic!("{error:?}"));
        warnings(scenario.spec(), false).into_iter().map(|warning| warning.text).collect()
    }

    fn graph(links: &str) -> String {
        format!(
            r#"
            duration = "1 s"
            [topology.graph]
            nodes = [
                {{ name = "a" }}, {{ name = "b" }}, {{ name = "c" }},
                {{ name = "L", kind = "router" }}, {{ name = "R", kind = "router" }}, {{ name = "S", kind = "router" }},
            ]
            links = [{links}]
            [[flows]]
            name = "f"
            count = 4
            from = ["a", "b"]
            to = "c"
            transport = "tcp"
            "#
        )
    }

    fn link(from: &str, to: &str, rest: &str) -> String {
        format!("{{ from = \"{from}\", to = \"{to}\", rate = \"1 Gbps\", delay = \"1 us\"{rest} }},")
    }

    fn links(rest: &str) -> String {
        let access = [("a", "L"), ("b", "L"), ("R", "c")].map(|(from, to)| link(from, to, "")).concat();
        access + &link("L", "R", ", metric = 2") + rest
    }

    #[test]
    fn equal_paths_are_named_and_a_longer_one_is_not() {
        assert_eq!(texts(&graph(&links(""))), [""; 0]);
        let diamond = links(&(link("L", "S", "") + &link("S", "R", "")));
        let expected =
            "`a` to `c` has 2 equally short paths, of which all packets take the same one; so has one more pair";
        assert_eq!(texts(&graph(&diamond)), [expected]);
        let detour = links(&(link("L", "S", ", metric = 2") + &link("S", "R", "")));
        assert_eq!(texts(&graph(&detour)), [""; 0]);
    }

    #[test]
    fn a_trace_without_a_folder_is_named() {
        let trace = graph(&links("")) + "\n[[traces]]\nlink = \"L->R\"\n";
        assert_eq!(texts(&trace), ["no trace of `L->R` is written: the run has no output folder"]);
    }

    #[test]
    fn an_ethernet_with_two_spines_warns_for_each_pair() {
        let ethernet = r#"
            duration = "1 ms"
            [topology.ethernet]
            link = { rate = "10 Gbps", delay = "1 us" }
            switches = [
                { name = "A", nodes = ["1", "2"] }, { name = "B", nodes = ["3"] }, { name = "C" }, { name = "D" },
            ]
            trunks = [["A", "C"], ["A", "D"], ["B", "C"], ["B", "D"]]
            [[flows]]
            name = "f"
            from = ["1", "2"]
            to = "others"
            transport.frames = { rate = "1 Gbps" }
            "#;
        let expected =
            "`1` to `3` has 2 equally short paths, of which all packets take the same one; so has one more pair";
        assert_eq!(texts(ethernet), [expected]);
    }
}
