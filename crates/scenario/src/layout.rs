//! From a topology to links and paths: which links there are, and which of them each flow takes.

mod ethernet;

use std::collections::BTreeMap;

use forebay_engine::{Distribution, stream};
use forebay_qdisc::{Rate, Rng, Span, uniform};
use petgraph::algo::astar;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::{EdgeFiltered, EdgeRef};

pub(crate) use self::ethernet::{Station, StationPort};
use crate::names;
use crate::schema::{
    Chain, Dumbbell, Enters, Fabric, FlowGroup, Graph, HostCount, LinkSpec, NodeKind, Placement, ScenarioSpec, Star,
    SwitchTopology, Topology, Transport,
};

/// One direction of a link.
pub(crate) struct DirectedLink {
    pub name: String,
    pub spec: LinkSpec,
    /// Propagation delay as drawn.
    pub propagation: Span,
    /// The node that sends on it.
    pub node: usize,
    /// Its number among the inputs of the node at its far end.
    pub far_input_port: u16,
    /// The switch at its sending end, as an index of [`Layout::fabrics`], and its number among the outputs there.
    pub fabric: Option<(u32, u8)>,
    /// Whether its sender is an Ethernet switch that has a queue for each class.
    pub has_class_queues: bool,
}

/// The fabric of a switch.
pub(crate) struct PlannedFabric {
    /// The switch's name.
    pub name: String,
    pub ports: usize,
    pub spec: Fabric,
    /// The rate of its links.
    pub line_rate: Rate,
}

/// A flow that is a part of the cells of an input.
#[derive(Clone, Copy)]
pub(crate) struct CellsOfInput {
    pub input: u32,
    /// The part of the slots of the input link, at a load of 1.
    pub share: f64,
    /// The sum of these over the flows of the input.
    pub total: f64,
    pub rate: Rate,
}

/// A flow that is a part of what one generator of frames sends.
#[derive(Clone)]
pub(crate) struct FramesOfGenerator {
    /// Unlike that of any other generator.
    pub generator: u32,
    /// The part of the generator's frames.
    pub share: f64,
    /// The rate of the source's link.
    pub link: Rate,
    /// Name of the generator's first flow, for what is drawn once for all of them.
    pub first: String,
}

/// Whether a flow sends alone, or what its part is.
#[derive(Clone)]
pub(crate) enum Source {
    /// It has a source of its own.
    Own,
    /// Cells of an input.
    Cells(CellsOfInput),
    /// Frames of a generator.
    Frames(FramesOfGenerator),
}

/// A flow and the links that its data and its ACKs take.
pub(crate) struct PlannedFlow {
    pub name: String,
    /// Index of the group.
    pub group: usize,
    /// Index within the group.
    pub index: u32,
    pub forward: Vec<u32>,
    pub backward: Vec<u32>,
    pub source: Source,
}

/// Lines and routes of a scenario.
#[derive(Default)]
pub(crate) struct Layout {
    pub links: Vec<DirectedLink>,
    pub flows: Vec<PlannedFlow>,
    pub fabrics: Vec<PlannedFabric>,
    /// The switches of an Ethernet, in the order of the scenario.
    pub ethernet_switches: Vec<Station>,
    /// The nodes of an Ethernet, in the order of their switches.
    pub adapters: Vec<Station>,
    nodes: usize,
    inputs: Vec<u16>,
}

/// A full-duplex link as two directed links.
#[derive(Clone, Copy)]
struct Pair {
    there: u32,
    back: u32,
}

/// The links of the hosts of those groups whose hosts other groups have, too.
struct SharedHosts<'g, T>(BTreeMap<&'g str, Vec<T>>);

impl<'g, T: Copy> SharedHosts<'g, T> {
    fn new(groups: &'g [FlowGroup]) -> Self {
        Self(groups.iter().filter_map(|group| Some((group.hosts_of.as_deref()?, Vec::new()))).collect())
    }

    /// The links of the hosts of a flow: those of the flow with this index in another group, or `new` ones.
    fn of(&mut self, group: &FlowGroup, index: u32, new: impl FnOnce() -> T) -> T {
        let others = group.hosts_of.as_deref().and_then(|owner| self.0.get(owner));
        if let Some(&links) = others.and_then(|links| links.get(index as usize)) {
            return links;
        }
        let links = new();
        if let Some(shared) = self.0.get_mut(group.name.as_str()) {
            shared.push(links);
        }
        links
    }
}

impl Layout {
    /// Lays out `scenario`; random delays and places are drawn under `seed`.
    pub fn new(scenario: &ScenarioSpec, seed: u64) -> Self {
        let mut layout = Self::default();
        if let Some(lan) = scenario.topology.lan() {
            layout.ethernet(&lan, &scenario.flows, seed);
            return layout;
        }
        match &scenario.topology {
            Topology::Star(star) => layout.star(star, &scenario.flows, seed),
            Topology::Dumbbell(dumbbell) => layout.dumbbell(dumbbell, &scenario.flows, seed),
            Topology::Chain(chain) => layout.chain(chain, &scenario.flows, seed),
            Topology::Switch(switch) => layout.switch(switch, &scenario.flows, seed),
            Topology::Graph(graph) => layout.graph(graph, &scenario.flows, seed),
            Topology::Ethernet(_) => {}
        }
        layout
    }

    fn node(&mut self) -> usize {
        self.nodes += 1;
        self.inputs.push(0);
        self.nodes - 1
    }

    /// Adds one direction of a link. The delay is drawn from the stream of `delay_name`, so that both directions of a
    /// link can share it.
    fn directed_link(
        &mut self,
        name: String,
        delay_name: &str,
        spec: &LinkSpec,
        (from, to): (usize, usize),
        seed: u64,
    ) -> u32 {
        let propagation = delay(spec, delay_name, seed);
        self.link_with_delay(name, spec.clone(), propagation, (from, to))
    }

    /// Adds one direction of a link with this propagation delay.
    fn link_with_delay(&mut self, name: String, spec: LinkSpec, propagation: Span, (from, to): (usize, usize)) -> u32 {
        let far_input_port = self.inputs[to];
        self.inputs[to] = far_input_port.saturating_add(1);
        self.links.push(DirectedLink {
            name,
            spec,
            propagation,
            node: from,
            far_input_port,
            fabric: None,
            has_class_queues: false,
        });
        self.links.len() as u32 - 1
    }

    /// Adds a full-duplex link between a host and a router. The described queue and loss are those of the data's
    /// direction, from `from` to `to`; the way back has the same rate and delay.
    fn access(&mut self, name: String, spec: &LinkSpec, from: usize, to: usize, seed: u64) -> Pair {
        let propagation = delay(spec, &name, seed);
        let back = format!("{name}/back");
        Pair {
            there: self.link_with_delay(name, spec.clone(), propagation, (from, to)),
            back: self.link_with_delay(back, spec.plain(), propagation, (to, from)),
        }
    }

    /// Calls `each` for every flow, with its group, its index in the group and its name.
    fn flows(groups: &[FlowGroup], mut each: impl FnMut(usize, &FlowGroup, u32, String)) {
        for (group_index, group) in groups.iter().enumerate() {
            for index in 0..group.flows() {
                each(group_index, group, index, group.flow_name(index));
            }
        }
    }

    fn star(&mut self, star: &Star, groups: &[FlowGroup], seed: u64) {
        let (router, sink) = (self.node(), self.node());
        let bottleneck =
            self.directed_link(names::BOTTLENECK.into(), names::BOTTLENECK, &star.bottleneck, (router, sink), seed);
        let reverse_spec = star.reverse.clone().unwrap_or_else(|| star.bottleneck.plain());
        let reverse_delay = if star.reverse.is_some() { names::REVERSE } else { names::BOTTLENECK };
        let reverse = self.directed_link(names::REVERSE.into(), reverse_delay, &reverse_spec, (sink, router), seed);
        let mut shared = SharedHosts::new(groups);
        Self::flows(groups, |group, spec, index, name| {
            let access = shared.of(spec, index, || {
                let host = self.node();
                let link = spec.access.as_ref().unwrap_or(&star.access);
                self.access(names::access(&name), link, host, router, seed)
            });
            let (forward, backward) = spec.direction.paths(vec![access.there, bottleneck], vec![reverse, access.back]);
            self.flows.push(PlannedFlow { name, group, index, forward, backward, source: Source::Own });
        });
    }

    fn dumbbell(&mut self, dumbbell: &Dumbbell, groups: &[FlowGroup], seed: u64) {
        let (left, right) = (self.node(), self.node());
        let bottleneck =
            self.directed_link(names::BOTTLENECK.into(), names::BOTTLENECK, &dumbbell.bottleneck, (left, right), seed);
        let reverse_spec = dumbbell.reverse.clone().unwrap_or_else(|| dumbbell.bottleneck.plain());
        let reverse_delay = if dumbbell.reverse.is_some() { names::REVERSE } else { names::BOTTLENECK };
        let reverse = self.directed_link(names::REVERSE.into(), reverse_delay, &reverse_spec, (right, left), seed);
        let sink_access = dumbbell.sink_access.as_ref().unwrap_or(&dumbbell.access);
        let hosts = |count: HostCount| if let HostCount::Hosts(hosts) = count { hosts } else { 0 };
        let sources: Vec<Pair> = (0..hosts(dumbbell.sources))
            .map(|host| {
                let node = self.node();
                self.access(names::access(&host.to_string()), &dumbbell.access, node, left, seed)
            })
            .collect();
        let sinks: Vec<Pair> = (0..hosts(dumbbell.sinks))
            .map(|host| {
                let node = self.node();
                self.access(names::sink(&host.to_string()), sink_access, right, node, seed)
            })
            .collect();
        let mut place = 0_usize;
        let mut shared = SharedHosts::new(groups);
        Self::flows(groups, |group, spec, index, name| {
            let (source, sink) = shared.of(spec, index, || {
                let mut rng = None;
                let mut choose = |pairs: &[Pair]| -> Option<Pair> {
                    let count = pairs.len().max(1);
                    let at = match dumbbell.placement {
                        Placement::RoundRobin => place % count,
                        Placement::Random => {
                            let rng = rng.get_or_insert_with(|| stream(seed, &format!("flow/{name}/placement")));
                            (rng.next_u64() % (count as u64)) as usize
                        }
                    };
                    pairs.get(at).copied()
                };
                let (source, sink) = (choose(&sources), choose(&sinks));
                place += 1;
                // A group's own access link, or "per-flow" hosts: the flow gets hosts of its own.
                let source = match (source, &spec.access) {
                    (Some(source), None) => source,
                    (_, own) => {
                        let node = self.node();
                        let link = own.as_ref().unwrap_or(&dumbbell.access);
                        self.access(names::access(&name), link, node, left, seed)
                    }
                };
                let sink = sink.unwrap_or_else(|| {
                    let node = self.node();
                    self.access(names::sink(&name), sink_access, right, node, seed)
                });
                (source, sink)
            });
            let (forward, backward) =
                spec.direction.paths(vec![source.there, bottleneck, sink.there], vec![sink.back, reverse, source.back]);
            self.flows.push(PlannedFlow { name, group, index, forward, backward, source: Source::Own });
        });
    }

    fn chain(&mut self, chain: &Chain, groups: &[FlowGroup], seed: u64) {
        let hops = chain.hops as usize;
        let nodes: Vec<usize> = (0..=hops).map(|_| self.node()).collect();
        let mut pairs = Vec::with_capacity(hops);
        for hop in 0..hops {
            let name = names::hop(hop as u32 + 1);
            let there = self.directed_link(name.clone(), &name, &chain.link, (nodes[hop], nodes[hop + 1]), seed);
            let back = self.directed_link(
                names::hop_back(hop as u32 + 1),
                &name,
                &chain.link.plain(),
                (nodes[hop + 1], nodes[hop]),
                seed,
            );
            pairs.push(Pair { there, back });
        }
        let mut shared = SharedHosts::new(groups);
        Self::flows(groups, |group, spec, index, name| {
            let router = match spec.enters.unwrap_or_default() {
                Enters::At(router) => router as usize - 1,
                Enters::Each => index as usize,
            };
            let access = shared.of(spec, index, || {
                let host = self.node();
                let link = spec.access.as_ref().unwrap_or(&chain.access);
                self.access(names::access(&name), link, host, nodes[router], seed)
            });
            let hops = &pairs[router..];
            let there = std::iter::once(access.there).chain(hops.iter().map(|pair| pair.there)).collect();
            let back = hops.iter().rev().map(|pair| pair.back).chain([access.back]).collect();
            let (forward, backward) = spec.direction.paths(there, back);
            self.flows.push(PlannedFlow { name, group, index, forward, backward, source: Source::Own });
        });
    }

    fn switch(&mut self, switch: &SwitchTopology, groups: &[FlowGroup], seed: u64) {
        let ports = switch.ports as usize;
        let node = self.node();
        let muxes: Vec<usize> = (0..ports).map(|_| self.node()).collect();
        let sinks: Vec<usize> = (0..ports).map(|_| self.node()).collect();
        let fabric = !matches!(switch.fabric, Fabric::OutputQueued);
        if fabric {
            let (name, spec, line_rate) = (names::SWITCH.to_owned(), switch.fabric.clone(), switch.input.rate);
            self.fabrics.push(PlannedFabric { name, ports, spec, line_rate });
        }
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for (port, &mux) in muxes.iter().enumerate() {
            let name = names::switch_input(port + 1);
            inputs.push(self.directed_link(name.clone(), &name, &switch.input, (mux, node), seed));
        }
        for (port, &sink) in sinks.iter().enumerate() {
            let name = names::switch_output(port + 1);
            let directed = self.directed_link(name.clone(), &name, &switch.output, (node, sink), seed);
            self.links[directed as usize].fabric = fabric.then_some((0, port as u8));
            outputs.push(directed);
        }
        let pairs: Vec<(usize, usize, f64)> = names::pairs(switch).collect();
        let mut of_input = vec![0.0; ports];
        pairs.iter().for_each(|&(input, _, share)| of_input[input] += share);
        let mut placer = PairPlacer::new(ports, &pairs);
        for (group, spec) in groups.iter().enumerate() {
            if matches!(spec.transport, Transport::Cells(_)) {
                for (index, &(input, output, share)) in pairs.iter().enumerate() {
                    self.flows.push(PlannedFlow {
                        name: names::cell_flow(&spec.name, input, output),
                        group,
                        index: index as u32,
                        forward: vec![inputs[input], outputs[output]],
                        backward: Vec::new(),
                        source: Source::Cells(CellsOfInput {
                            input: input as u32,
                            share,
                            total: of_input[input],
                            rate: switch.input.rate,
                        }),
                    });
                }
                continue;
            }
            for index in 0..spec.flows() {
                let name = spec.flow_name(index);
                let (input, output) = match switch.placement {
                    Placement::RoundRobin => placer.next(),
                    Placement::Random => placer.draw(&mut stream(seed, &format!("flow/{name}/placement"))),
                };
                let Some(access) = spec.access.as_ref().or(switch.access.as_ref()) else { continue };
                let host = self.node();
                let access_name = names::access(&name);
                let there = self.directed_link(access_name.clone(), &access_name, access, (host, muxes[input]), seed);
                let forward = vec![there, inputs[input], outputs[output]];
                let back_name = names::back(&name);
                let back_spec = switch.back.clone().unwrap_or_else(|| access.plain());
                let back = self.directed_link(back_name.clone(), &back_name, &back_spec, (sinks[output], host), seed);
                if switch.back.is_none() {
                    let way_there = forward.iter().map(|&link| self.links[link as usize].propagation);
                    self.links[back as usize].propagation = way_there.fold(Span::ZERO, |sum, span| sum + span);
                }
                self.flows.push(PlannedFlow { name, group, index, forward, backward: vec![back], source: Source::Own });
            }
        }
    }

    fn graph(&mut self, graph: &Graph, groups: &[FlowGroup], seed: u64) {
        let nodes: BTreeMap<&str, usize> = graph.nodes.iter().map(|node| (node.name.as_str(), self.node())).collect();
        let mut map: DiGraph<(), (u32, u32)> = DiGraph::new();
        let indices: Vec<NodeIndex> = (0..self.nodes).map(|_| map.add_node(())).collect();
        for link in &graph.links {
            let (Some(&from), Some(&to)) = (nodes.get(link.from.as_str()), nodes.get(link.to.as_str())) else {
                continue;
            };
            let (there, back) = (names::graph_link(&link.from, &link.to), names::graph_link(&link.to, &link.from));
            let directed = self.directed_link(there.clone(), &there, &link.forward(), (from, to), seed);
            map.add_edge(indices[from], indices[to], (directed, link.metric));
            let directed = self.directed_link(back.clone(), &back, &link.backward(), (to, from), seed);
            map.add_edge(indices[to], indices[from], (directed, link.metric));
        }
        self.graph_fabrics(graph);
        let is_host = |node: NodeIndex| !graph.nodes[node.index()].kind.forwards();
        Self::flows(groups, |group, spec, index, name| {
            let end = |list: &Option<crate::schema::OneOrMany>| {
                let host = list.as_ref()?.at(index as usize)?;
                nodes.get(host).map(|&node| indices[node])
            };
            let (Some(from), Some(to)) = (end(&spec.from), end(&spec.to)) else { return };
            let (Some(forward), Some(backward)) =
                (shortest_path(&map, from, to, is_host), shortest_path(&map, to, from, is_host))
            else {
                return;
            };
            self.flows.push(PlannedFlow { name, group, index, forward, backward, source: Source::Own });
        });
    }
}

impl Layout {
    /// The fabrics of those nodes of a graph that are switches. Inputs and outputs are numbered in the order of the
    /// links.
    fn graph_fabrics(&mut self, graph: &Graph) {
        for (node, spec) in graph.nodes.iter().enumerate() {
            let fabric = match &spec.kind {
                NodeKind::Host | NodeKind::Router | NodeKind::EthernetSwitch(_) => continue,
                NodeKind::Cioq(cioq) => Fabric::Cioq(cioq.clone()),
                NodeKind::InputQueued(fifos) => Fabric::InputQueued(fifos.clone()),
            };
            let id = self.fabrics.len() as u32;
            let mut line_rate = None;
            let mut ports = 0_u8;
            for link in self.links.iter_mut().filter(|link| link.node == node) {
                link.fabric = Some((id, ports));
                line_rate = line_rate.max(Some(link.spec.rate));
                ports += 1;
            }
            let Some(line_rate) = line_rate else { continue };
            self.fabrics.push(PlannedFabric { name: spec.name.clone(), ports: ports.into(), spec: fabric, line_rate });
        }
    }
}

/// The propagation delay of a link, drawn from the stream of `name` if it is drawn.
fn delay(spec: &LinkSpec, name: &str, seed: u64) -> Span {
    match spec.delay.picoseconds() {
        Distribution::Constant(delay) => Span::from_picoseconds(delay as u64),
        drawn => drawn.draw_span(&mut stream(seed, &format!("link/{name}/delay"))),
    }
}

/// Puts flows onto the pairs of ports of a switch, to each pair its share.
struct PairPlacer {
    /// (input, output, share of all flows), in the order in which equally good pairs are taken.
    pairs: Vec<(usize, usize, f64)>,
    /// Flows on each pair so far.
    placed: Vec<u32>,
    total: u32,
}

impl PairPlacer {
    fn new(ports: usize, pairs: &[(usize, usize, f64)]) -> Self {
        let sum: f64 = pairs.iter().map(|pair| pair.2).sum();
        let mut pairs: Vec<_> = pairs.iter().map(|&(input, output, share)| (input, output, share / sum)).collect();
        // Along the diagonals: this many flows as there are ports go to as many different outputs, if they are alike.
        pairs.sort_by_key(|&(input, output, _)| ((output + ports - input) % ports, input));
        Self { placed: vec![0; pairs.len()], pairs, total: 0 }
    }

    /// The pair that lags furthest behind its share.
    fn next(&mut self) -> (usize, usize) {
        self.total += 1;
        let lag = |at: usize| self.pairs[at].2 * f64::from(self.total) - f64::from(self.placed[at]);
        // Lags that differ only by rounding are equal.
        let best = (1..self.pairs.len()).fold(0, |best, at| if lag(at) > lag(best) + 1e-9 { at } else { best });
        self.placed[best] += 1;
        (self.pairs[best].0, self.pairs[best].1)
    }

    /// A pair drawn by the shares.
    fn draw(&self, rng: &mut dyn Rng) -> (usize, usize) {
        let mut point = uniform(rng);
        let found = self.pairs.iter().find(|pair| {
            point -= pair.2;
            point < 0.0
        });
        let pair = found.or(self.pairs.last()).expect("validation refuses a load without any traffic");
        (pair.0, pair.1)
    }
}

/// The links of the shortest path, if there is one. Hosts pass no packets on.
fn shortest_path(
    map: &DiGraph<(), (u32, u32)>,
    from: NodeIndex,
    to: NodeIndex,
    is_host: impl Fn(NodeIndex) -> bool,
) -> Option<Vec<u32>> {
    let passable = EdgeFiltered::from_fn(map, |edge| edge.source() == from || !is_host(edge.source()));
    let (_, path) = astar(&passable, from, |node| node == to, |edge| u64::from(edge.weight().1), |_| 0)?;
    path.windows(2)
        .map(|step| {
            // Of parallel links the one of the smallest metric, and of those the first.
            map.edges_connecting(step[0], step[1])
                .map(|edge| *edge.weight())
                .min_by_key(|&(link, metric)| (metric, link))
        })
        .map(|best| best.map(|(link, _)| link))
        .collect()
}

#[cfg(test)]
mod tests {
    use forebay_switching::LoadPattern;

    use super::*;

    #[test]
    fn flows_in_turn_give_each_pair_its_share_and_each_port_as_many() {
        // The tiny-buffers paper, section 3.1: 490 flows for each of 8 outputs.
        for pattern in [LoadPattern::Uniform, LoadPattern::Diagonal] {
            let matrix = pattern.matrix(8, 1.0).unwrap_or_else(|error| panic!("{error}"));
            let all = (0..64).map(|at| (at / 8, at % 8, matrix.load(at / 8, at % 8)));
            let pairs: Vec<_> = all.filter(|pair| pair.2 > 0.0).collect();
            let mut placer = PairPlacer::new(8, &pairs);
            let mut flows = [[0_u32; 8]; 8];
            for _ in 0..3920 {
                let (input, output) = placer.next();
                flows[input][output] += 1;
            }
            for port in 0..8 {
                assert_eq!(flows[port].iter().sum::<u32>(), 490, "{pattern:?}");
                assert_eq!(flows.iter().map(|row| row[port]).sum::<u32>(), 490, "{pattern:?}");
            }
            for (input, output, share) in pairs {
                let off = f64::from(flows[input][output]) - 490.0 * share;
                assert!(off.abs() <= 1.0, "{pattern:?}: {off} flows too many from {input} to {output}");
            }
        }
    }
}
