//! Topologies whose nodes the scenario names: a free graph, and an Ethernet.
//!
//! The nodes of the outline are those of the plan, in the same order.

use std::borrow::Cow;

use forebay_document::Path;
use forebay_switching::congestion::CongestionManagement;

use super::outline::{Crossed, Direction, Links, Outline, Traffic};
use super::{FramesOfGenerator, Plan, PlannedAdapter, PlannedFlow, PlannedKind, PlannedNode, PlannedSwitch, Source};
use crate::names;
use crate::patterns::{PatternHost, Setting, TrafficPattern};
use crate::schema::{Adapter, FlowGroup, Generator, LinkSpec, OneOrMany, Transport};

/// A node that flows can name.
#[derive(Debug)]
pub(crate) struct NamedNode<'s> {
    pub name: Cow<'s, str>,
    pub kind: PlannedKind<'s>,
}

/// The common properties of all Ethernet switches and adapters of a network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EthernetPlan<'s> {
    pub adapter: &'s Adapter,
    pub congestion_management: Option<&'s CongestionManagement>,
    /// Whether any of them stops single classes of its neighbours.
    pub stops_classes: bool,
}

impl<'s> EthernetPlan<'s> {
    pub fn new(adapter: &'s Adapter, congestion_management: Option<&'s CongestionManagement>) -> Self {
        Self { adapter, congestion_management, stops_classes: adapter.priority_pause.is_some() }
    }
}

impl<'s> Outline<'s> {
    pub(super) fn add_node(&mut self, name: impl Into<Cow<'s, str>>, kind: PlannedKind<'s>) {
        let name = name.into();
        if let (PlannedKind::EthernetSwitch(switch), Some(ethernet)) = (&kind, &mut self.ethernet) {
            ethernet.stops_classes |= switch.spec.priority_pause.is_some();
        }
        self.numbers.insert(name.clone(), self.nodes.len() as u32);
        self.nodes.push(NamedNode { name, kind });
    }

    /// A link between two nodes, with the description of each direction and the table that has it.
    pub(super) fn joined(&self, ends: [u32; 2], ways: [(LinkSpec, Path); 2], traffic: Traffic) -> Links<'s> {
        let [one, other] = ends.map(|end| self.name(end));
        let names = [names::graph_link(one, other), names::graph_link(other, one)];
        self.joined_by(ends, names, ways.map(|(spec, path)| (spec, Some(path))), traffic)
    }

    /// The same with names of its own. An adapter has a queue and a rate of its own.
    pub(super) fn joined_by(
        &self,
        ends: [u32; 2],
        [there, back]: [String; 2],
        [way_there, way_back]: [(LinkSpec, Option<Path>); 2],
        traffic: Traffic,
    ) -> Links<'s> {
        let way = |from: u32, name: String, (mut spec, path): (LinkSpec, Option<Path>)| {
            let is_adapter = matches!(self.kind(from), PlannedKind::Adapter(_));
            if is_adapter {
                (spec.queue, spec.service) = (None, Vec::new());
            }
            Direction::new((name.into(), ""), Cow::Owned(spec), path.filter(|_| !is_adapter), traffic)
        };
        let back = way(ends[1], back, way_back);
        Links {
            crossed: Crossed::Few,
            ends: Some(ends),
            ..Links::bottleneck(way(ends[0], there, way_there), Some(back))
        }
    }

    /// The number of the node of that name.
    pub fn node(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    pub fn name(&self, node: u32) -> &str {
        &self.nodes[node as usize].name
    }

    pub fn kind(&self, node: u32) -> &PlannedKind<'s> {
        &self.nodes[node as usize].kind
    }

    /// The adapter of the host of that name.
    pub fn adapter(&self, host: &str) -> Option<&PlannedAdapter<'s>> {
        if let PlannedKind::Adapter(adapter) = self.kind(self.node(host)?) { Some(adapter) } else { None }
    }

    /// The hosts with adapters.
    pub fn adapters(&self) -> impl Iterator<Item = (&str, &PlannedAdapter<'s>)> {
        self.nodes.iter().filter_map(|node| {
            if let PlannedKind::Adapter(adapter) = &node.kind { Some((&*node.name, &**adapter)) } else { None }
        })
    }

    /// The Ethernet switches.
    pub fn ethernet_switches(&self) -> impl Iterator<Item = &PlannedSwitch<'s>> {
        self.nodes.iter().filter_map(|node| node.kind.ethernet_switch())
    }

    /// The directions of the links between these nodes, each with the node that sends and the one that receives.
    pub fn ways(&self) -> impl Iterator<Item = ([u32; 2], &Direction<'s>)> {
        let joined = self.links.iter().filter_map(|links| Some((links.ends?, links)));
        joined.flat_map(|([one, other], links)| [[one, other], [other, one]].into_iter().zip(links.directions()))
    }

    /// The pattern of a group, if it has one, and its hosts. Names that no host has are left out.
    pub fn pattern<'a>(&'a self, group: &'a FlowGroup) -> Option<(&'a dyn TrafficPattern, Setting<'a>)> {
        let pattern = group.pattern.as_ref()?;
        let mut rates = vec![0.0; self.nodes.len()];
        for ([from, _], direction) in self.ways() {
            rates[from as usize] += direction.spec.rate.bits_per_second() as f64;
        }
        let host = |node: u32| PatternHost { name: self.name(node), rate_bps: rates[node as usize] };
        let is_host = |node: &u32| !self.kind(*node).forwards();
        let hosts = match &group.hosts {
            Some(OneOrMany(names)) => {
                names.iter().filter_map(|name| self.node(name)).filter(is_host).map(host).collect()
            }
            None => (0..self.nodes.len() as u32).filter(is_host).map(host).collect(),
        };
        let setting = Setting {
            name: &group.name,
            hosts,
            has_all_hosts: group.hosts.is_none(),
            start: group.start,
            stop: group.stop,
            duration: self.spec.duration,
        };
        Some((pattern.traffic(), setting))
    }

    /// Whether a node has a queue for each class at its ports.
    pub fn has_class_queues(&self, node: u32) -> bool {
        let switch = self.nodes.get(node as usize).and_then(|node| node.kind.ethernet_switch());
        let stops_classes = self.ethernet.is_some_and(|ethernet| ethernet.stops_classes);
        switch.is_some_and(|switch| stops_classes || switch.spec.strict_priority)
    }

    /// The generators of a group's frames.
    pub fn generators<'a>(&'a self, group: &'a FlowGroup) -> Vec<Generator<'a>> {
        let (Some(from), Some(to)) = (&group.from, &group.to) else { return Vec::new() };
        let of = |index| {
            let from = from.at(index)?;
            let to = if to.is_others() {
                self.adapters().map(|(host, _)| host).filter(|&host| host != from).collect()
            } else {
                vec![to.at(index)?]
            };
            Some(Generator { from, to })
        };
        (0..group.generators()).filter_map(of).collect()
    }

    /// Names of the flows of a group of frames.
    pub(super) fn frame_flows<'a>(&'a self, group: &'a FlowGroup) -> impl Iterator<Item = String> + 'a {
        let pairs = self.generators(group).into_iter().flat_map(|it| it.to.into_iter().map(move |to| (it.from, to)));
        pairs.map(|(from, to)| self.frame_flow(group, from, to))
    }

    fn frame_flow(&self, group: &FlowGroup, from: &str, to: &str) -> String {
        let is_alone = group.generators() == 1 && self.frame_flow_count(group) == 1;
        if is_alone { group.name.clone() } else { format!("{}-{from}-{to}", group.name) }
    }

    /// How many flows a group of frames has.
    pub(super) fn frame_flow_count(&self, group: &FlowGroup) -> u64 {
        let is_to_others = group.to.as_ref().is_some_and(OneOrMany::is_others);
        // A source is none of the others.
        let each = if is_to_others { self.adapters().count().saturating_sub(1) } else { 1 };
        (group.generators() as u64).saturating_mul(each as u64)
    }
}

impl Plan<'_> {
    /// Adds the nodes and links of the outline, and the flows between them.
    pub(super) fn build_named(&mut self) {
        for number in 0..self.outline.nodes.len() {
            let NamedNode { name, kind } = &self.outline.nodes[number];
            self.nodes.push(PlannedNode { name: name.clone().into_owned(), kind: kind.clone() });
        }
        for index in 0..self.outline.links.len() {
            if let Some([from, to]) = self.outline.links[index].ends {
                self.link(index, "", (from, to));
            }
        }
        let mut generators = 0;
        for group in self.outline.spec.flows.iter().enumerate() {
            if matches!(group.1.transport, Transport::Frames(_)) {
                self.frames(group, &mut generators);
                continue;
            }
            if group.1.pattern.is_some() {
                self.messages(group);
                continue;
            }
            for index in 0..group.1.flows() {
                let end = |list: &Option<OneOrMany>| self.outline.node(list.as_ref()?.at(index as usize)?);
                if let (Some(from), Some(to)) = (end(&group.1.from), end(&group.1.to)) {
                    self.flow(group, index, group.1.flow_name(index), from, to);
                }
            }
        }
    }

    /// Adds the flows of a group with a pattern.
    fn messages(&mut self, (number, group): (usize, &FlowGroup)) {
        let Self { outline, flows, seed, .. } = self;
        let Some((pattern, setting)) = outline.pattern(group) else { return };
        for (message, index) in pattern.messages(&setting, *seed).into_iter().zip(0..) {
            let [Some(source), Some(destination)] = message.ends.map(|end| outline.node(setting.hosts[end].name))
            else {
                continue;
            };
            let supply = Source::Message { start: message.start, bytes: message.bytes };
            let name = group.flow_name(index);
            flows.push(PlannedFlow { name, group: number, index, source, destination, supply });
        }
    }

    /// Adds the flows of a group of frames, those of a generator one after the other.
    fn frames(&mut self, (number, group): (usize, &FlowGroup), generators: &mut u32) {
        let Self { outline, flows, .. } = self;
        for (Generator { from, to }, index) in outline.generators(group).into_iter().zip(0..) {
            let name = |to: &str| outline.frame_flow(group, from, to);
            let (Some(first), Some(adapter)) = (to.first().map(|to| name(to)), outline.adapter(from)) else { continue };
            let frames = FramesOfGenerator {
                generator: *generators,
                share: 1.0 / to.len() as f64,
                link: adapter.line_rate,
                first,
            };
            for to in to {
                let (Some(source), Some(destination)) = (outline.node(from), outline.node(to)) else { continue };
                let supply = Source::Frames(frames.clone());
                flows.push(PlannedFlow { name: name(to), group: number, index, source, destination, supply });
            }
            *generators += 1;
        }
    }
}
