//! Ethernets: a link from each node to its switch, links between switches, and the shortest paths over them.

use std::collections::{BTreeMap, VecDeque};

use super::{FramesOfGenerator, Layout, Pair, PlannedFlow, Source};
use crate::lan::{Cable, Lan};
use crate::names;
use crate::schema::{FlowGroup, LinkSpec, OneOrMany, SpanDistribution, Transport};

/// A switch, or a node with its adapter.
pub(crate) struct Station {
    pub name: String,
    /// Its ports; the number of one is the `far_input_port` of the link that leads to it.
    pub ports: Vec<StationPort>,
}

/// A port of a [`Station`].
pub(crate) struct StationPort {
    /// The link on which it sends.
    pub out: u32,
    /// The link on which it receives.
    pub incoming: u32,
    /// Name of what is at the other end.
    pub faces: String,
}

/// The tree of shortest paths from one switch: of each switch the one before it on the way.
type Tree = Vec<Option<usize>>;

impl Layout {
    pub(super) fn ethernet(&mut self, lan: &Lan<'_>, groups: &[FlowGroup], seed: u64) {
        let switches = lan.switches.len();
        let station = |name: &str| Station { name: name.to_owned(), ports: Vec::new() };
        // Stations are numbered, switches first; and so are the nodes of the layout, which has no others.
        let mut stations: Vec<Station> = lan.switches.iter().map(|switch| station(switch.name)).collect();
        stations.extend(lan.nodes.iter().copied().map(station));
        let numbers: BTreeMap<String, usize> =
            stations.iter().map(|station| (station.name.clone(), self.node())).collect();
        let mut links: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        let mut neighbours = vec![Vec::new(); switches];
        let mut switch_of = BTreeMap::new();
        for &Cable { ends: [one, other], rate, delay, queue, .. } in &lan.cables {
            let (Some(&from), Some(&to)) = (numbers.get(one), numbers.get(other)) else { continue };
            let (name, back_name) = (names::graph_link(one, other), names::graph_link(other, one));
            let spec = |from: usize| {
                let queue = queue.filter(|_| from < switches).map(|queue| Box::new(queue.clone()));
                LinkSpec { rate, delay: SpanDistribution::Constant(delay), queue, loss: 0.0 }
            };
            let there = self.directed_link(name.clone(), &name, &spec(from), (from, to), seed);
            let back = self.directed_link(back_name.clone(), &back_name, &spec(to), (to, from), seed);
            for (link, from) in [(there, from), (back, to)] {
                let switch = lan.switches.get(from);
                let has_class_queues = switch.is_some_and(|switch| lan.has_class_queues(switch.spec));
                self.links[link as usize].has_class_queues = has_class_queues;
            }
            join(&mut stations, (from, to), Pair { there, back });
            links.extend([((from, to), there), ((to, from), back)]);
            if from.max(to) < switches {
                neighbours[from].push(to);
                neighbours[to].push(from);
            } else if from < to {
                switch_of.insert(other, (to, from));
            } else {
                switch_of.insert(one, (from, to));
            }
        }
        let trees: Vec<Tree> = (0..switches).map(|from| tree(&neighbours, from)).collect();
        let route = |from: &str, to: &str| {
            let (&(source, first), &(sink, last)) = (switch_of.get(from)?, switch_of.get(to)?);
            let hops = [vec![source], path(&trees, first, last)?, vec![sink]].concat();
            let forward = hops.windows(2).map(|hop| links.get(&(hop[0], hop[1])).copied()).collect::<Option<_>>()?;
            let backward = hops.windows(2).rev().map(|hop| links.get(&(hop[1], hop[0])).copied());
            Some((forward, backward.collect::<Option<_>>()?))
        };
        self.flows = routes(lan, groups, route);
        self.adapters = stations.split_off(switches);
        self.ethernet_switches = stations;
    }
}

/// Gives a port to each of the stations that `links` join.
fn join(stations: &mut [Station], (from, to): (usize, usize), links: Pair) {
    let (near, far) = (stations[from].name.clone(), stations[to].name.clone());
    stations[from].ports.push(StationPort { out: links.there, incoming: links.back, faces: far });
    stations[to].ports.push(StationPort { out: links.back, incoming: links.there, faces: near });
}

/// The flows of all groups, of frames those of a generator one after the other.
fn routes(
    lan: &Lan<'_>,
    groups: &[FlowGroup],
    route: impl Fn(&str, &str) -> Option<(Vec<u32>, Vec<u32>)>,
) -> Vec<PlannedFlow> {
    let mut routes = Vec::new();
    let mut number = 0;
    for (group, spec) in groups.iter().enumerate() {
        if !matches!(spec.transport, Transport::Frames(_)) {
            for index in 0..spec.flows() {
                let end = |list: &'_ Option<OneOrMany>| list.as_ref()?.at(index as usize).map(str::to_owned);
                let (Some(from), Some(to)) = (end(&spec.from), end(&spec.to)) else { continue };
                let Some((forward, backward)) = route(&from, &to) else { continue };
                let name = spec.flow_name(index);
                routes.push(PlannedFlow { name, group, index, forward, backward, source: Source::Own });
            }
            continue;
        }
        for (index, generator) in lan.generators(spec).into_iter().enumerate() {
            let share = 1.0 / generator.to.len() as f64;
            let name = |to: &str| names::frame_flow(lan, spec, generator.from, to);
            let Some(first) = generator.to.first().map(|to| name(to)) else { continue };
            let Some(link) = lan.rate_of(generator.from) else { continue };
            for &to in &generator.to {
                let Some((forward, backward)) = route(generator.from, to) else { continue };
                let source = Source::Frames(FramesOfGenerator { generator: number, share, link, first: first.clone() });
                routes.push(PlannedFlow { name: name(to), group, index: index as u32, forward, backward, source });
            }
            number += 1;
        }
    }
    routes
}

/// Breadth first; of equally short paths the first in the order of the trunks.
fn tree(neighbours: &[Vec<usize>], from: usize) -> Tree {
    let mut before = vec![None; neighbours.len()];
    before[from] = Some(from);
    let mut reached = VecDeque::from([from]);
    while let Some(switch) = reached.pop_front() {
        for &next in &neighbours[switch] {
            if before[next].is_none() {
                before[next] = Some(switch);
                reached.push_back(next);
            }
        }
    }
    before
}

/// The switches on the way from `first` to `last`. Where several paths are equally short, the way back must still be
/// the way there, reversed: both are taken from the tree of the end with the lower number.
fn path(trees: &[Tree], first: usize, last: usize) -> Option<Vec<usize>> {
    let (low, high) = (first.min(last), first.max(last));
    let mut hops = vec![high];
    let mut at = high;
    while at != low {
        at = trees[low][at]?;
        hops.push(at);
    }
    if first == low {
        hops.reverse();
    }
    Some(hops)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::load::Scenario;

    fn neighbours(switches: usize, trunks: &[(usize, usize)]) -> Vec<Vec<usize>> {
        let mut neighbours = vec![Vec::new(); switches];
        for &(one, other) in trunks {
            neighbours[one].push(other);
            neighbours[other].push(one);
        }
        neighbours
    }

    #[test]
    fn a_path_takes_the_fewest_switches() {
        // A ring of five, and a spur.
        let neighbours = neighbours(6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (2, 5)]);
        let trees: Vec<Tree> = (0..6).map(|from| tree(&neighbours, from)).collect();
        assert_eq!(path(&trees, 0, 5), Some(vec![0, 1, 2, 5]));
        assert_eq!(path(&trees, 5, 4), Some(vec![5, 2, 3, 4]));
        assert_eq!(path(&trees, 3, 3), Some(vec![3]));
    }

    fn layout(switches: &str, flows: &str) -> Layout {
        let link = "link = { rate = \"10 Gbps\", delay = \"1 us\" }";
        let text = format!("duration = \"1 s\"\n[topology.ethernet]\n{link}\n{switches}\n{flows}");
        let scenario = Scenario::load(&text, "layout.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
        Layout::new(scenario.spec(), 1)
    }

    /// A square with two ways from corner to corner.
    const SQUARE: &str = r#"
        switches = [
            { name = "A", nodes = ["1", "5"] }, { name = "B", nodes = ["2"] },
            { name = "C", nodes = ["3"] }, { name = "D", nodes = ["4"] },
        ]
        trunks = [["A", "B"], ["B", "C"], ["C", "D"], ["D", "A"]]
    "#;

    const EVERYBODY: &str = r#"
        [[flows]]
        name = "all"
        from = ["1", "2", "3", "4", "5"]
        to = "others"
        transport.frames = { rate = "1 Gbps" }
    "#;

    #[test]
    fn control_frames_go_back_the_way_that_the_data_came() {
        let layout = layout(SQUARE, EVERYBODY);
        let names = |links: &[u32]| -> Vec<String> {
            links.iter().map(|&link| layout.links[link as usize].name.clone()).collect()
        };
        assert_eq!(layout.flows.len(), 20);
        for route in &layout.flows {
            let reversed = names(&route.backward).into_iter().rev().map(|name| {
                let (from, to) = name.split_once("->").unwrap_or_else(|| panic!("{name}"));
                names::graph_link(to, from)
            });
            assert_eq!(names(&route.forward), reversed.collect::<Vec<_>>(), "{}", route.name);
        }
        let of = |name: &str| {
            let route = layout.flows.iter().find(|route| route.name == name);
            names(&route.unwrap_or_else(|| panic!("no `{name}`")).forward)
        };
        assert_eq!(of("all-1-3"), ["1->A", "A->B", "B->C", "C->3"]);
        assert_eq!(of("all-3-1"), ["3->C", "C->B", "B->A", "A->1"]);
        assert_eq!(of("all-1-5"), ["1->A", "A->5"]);
    }

    #[test]
    fn the_number_of_a_port_is_that_of_the_line_that_leads_to_it() {
        let layout = layout(SQUARE, EVERYBODY);
        for station in layout.ethernet_switches.iter().chain(&layout.adapters) {
            for (port, number) in station.ports.iter().zip(0..) {
                let (out, incoming) = (&layout.links[port.out as usize], &layout.links[port.incoming as usize]);
                assert_eq!(out.name, names::graph_link(&station.name, &port.faces));
                assert_eq!(incoming.name, names::graph_link(&port.faces, &station.name));
                assert_eq!(incoming.far_input_port, number, "{}", incoming.name);
            }
        }
        let ports = |stations: &[Station]| stations.iter().map(|station| station.ports.len()).collect::<Vec<_>>();
        assert_eq!(ports(&layout.ethernet_switches), [4, 3, 3, 3]);
        assert_eq!(ports(&layout.adapters), [1; 5]);
    }

    #[test]
    fn the_flows_of_a_generator_follow_each_other_and_share_it_evenly() {
        let layout = layout(SQUARE, EVERYBODY);
        for (route, index) in layout.flows.iter().zip(0..) {
            let Source::Frames(frames) = &route.source else { panic!("{}", route.name) };
            assert_eq!((frames.generator, route.index), (index / 4, index / 4));
            assert_eq!(frames.share, 0.25);
            assert_eq!(frames.first, layout.flows[index as usize / 4 * 4].name);
        }
    }

    proptest! {
        #[test]
        fn the_way_back_is_the_way_there_reversed(
            trunks in proptest::collection::vec((0_usize..7, 0_usize..7), 0..20),
        ) {
            let neighbours = neighbours(7, &trunks);
            let trees: Vec<Tree> = (0..7).map(|from| tree(&neighbours, from)).collect();
            for (first, last) in (0..7).flat_map(|first| (0..7).map(move |last| (first, last))) {
                let there = path(&trees, first, last);
                let back = path(&trees, last, first).map(|mut hops| {
                    hops.reverse();
                    hops
                });
                prop_assert_eq!(&there, &back);
                for hop in there.iter().flat_map(|hops| hops.windows(2)) {
                    prop_assert!(neighbours[hop[0]].contains(&hop[1]));
                }
            }
        }
    }
}
