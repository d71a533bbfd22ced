//! Ethernets: a link from each node to its switch, and links between switches.
//!
//! # Example
//!
//! ```toml
//! duration = "100 ms"
//! warmup = "20 ms"
//!
//! [topology.ethernet]
//! link = { rate = "10 Gbps", delay = "500 ns" }
//! congestion_management = "qcn"
//! switch.pause = { high = "280 KB", low = "260 KB" }
//! adapter.pause = { high = "140 KB", low = "130 KB" }
//! switches = [
//!     { name = "SW1", nodes = ["1", "2"] },
//!     { name = "SW2", nodes = ["3", "4"] },
//! ]
//! trunks = [["SW1", "SW2"]]
//!
//! [[flows]]
//! name = "hot"
//! from = ["1", "2", "3"]
//! to = "4"
//! transport.frames = { rate = "5 Gbps" }
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;

use forebay_document::{Invalid, Path};

use super::outline::{Crossed, Direction, Links, Outline, Traffic};
use super::{FramesOfGenerator, Plan, PlannedFlow, PlannedKind, Source, TopologyBuilder};
use crate::lan::{Cable, Lan, LanSwitch};
use crate::names;
use crate::schema::{Ethernet, LinkSpec, OneOrMany, ScenarioSpec, ServiceAt, SpanDistribution, Transport};
use crate::validate::ethernet;

impl TopologyBuilder for Ethernet {
    fn check(&self, _: &ScenarioSpec, path: &Path) -> Result<(), Invalid> {
        ethernet::validate(self, &self.lan(), path)
    }

    fn outline<'s>(&'s self, outline: &mut Outline<'s>) {
        outline.paths = Some(&self.paths);
        // From a node to its switch, over at most two more links, and to the other node.
        let crossed = 2.0 + self.trunks.len().min(2) as f64;
        let lan = self.lan();
        let crossings = crossed / lan.cables.len() as f64;
        add_cables(outline, lan, crossings, Traffic::Both);
    }

    fn build<'s>(&'s self, plan: &mut Plan<'s>) {
        build_lan(plan);
    }
}

impl Ethernet {
    fn lan(&self) -> Lan<'_> {
        let of_nodes = self
            .switches
            .iter()
            .flat_map(|switch| switch.nodes.iter().map(|node| [node.name.as_str(), switch.name.as_str()]));
        let trunks = self.trunks.iter().map(|[one, other]| [one.as_str(), other.as_str()]);
        let (rate, delay, queue) = (self.link.rate, self.link.delay, self.queue.as_deref());
        let impairments = self.link.impairments;
        let cable = |ends| Cable { link: None, ends, rate, delay, queue, service: &[], impairments };
        let cables = of_nodes.chain(trunks).map(cable).collect();
        let switch = |name| LanSwitch { name, node: None, spec: &self.switch };
        let switches = self.switches.iter().map(|it| switch(it.name.as_str())).collect();
        let stations = (switches, self.nodes().collect());
        Lan::new(stations, cables, &self.adapter, self.congestion_management.as_ref(), &self.paths, &self.service)
    }
}

/// Adds the cables of an Ethernet. Only its switches have queues.
pub(super) fn add_cables<'s>(outline: &mut Outline<'s>, lan: Lan<'s>, crossings: f64, traffic: Traffic) {
    for &Cable { link, ends: [one, other], rate, delay, queue, service, impairments } in &lan.cables {
        let path = link.map_or_else(|| outline.path.clone(), |link| outline.path.key("links").index(link));
        let way = |from: &str, to: &str| {
            let switch = lan.switch(from);
            let queue = queue.filter(|_| switch.is_some()).map(|queue| Box::new(queue.clone()));
            let mut spec = LinkSpec { queue, impairments, ..LinkSpec::of(rate, SpanDistribution::Constant(delay)) };
            if switch.is_some() {
                spec.service = service.iter().copied().chain(lan.service_of(to, ServiceAt::Switch)).collect();
            }
            let name = (names::graph_link(from, to).into(), "");
            let path = Some(path.clone()).filter(|_| switch.is_some());
            let mut direction = Direction::new(name, Cow::Owned(spec), path, traffic);
            direction.has_class_queues = switch.is_some_and(|switch| lan.has_class_queues(switch));
            direction
        };
        let back = Some(way(other, one));
        let ends = Some([one, other]);
        let links = Links { crossed: Crossed::Few, crossings, ends, ..Links::bottleneck(way(one, other), back) };
        outline.links.push(links);
    }
    outline.lan = Some(lan);
}

/// Adds the nodes, links and flows of an Ethernet.
pub(super) fn build_lan(plan: &mut Plan<'_>) {
    let Some(lan) = plan.outline.lan.take() else { return };
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    for switch in &lan.switches {
        numbers.insert(switch.name, plan.node(switch.name, PlannedKind::EthernetSwitch(switch.spec)));
    }
    for &node in &lan.nodes {
        numbers.insert(node, plan.node(node, PlannedKind::Adapter));
    }
    for (index, Cable { ends: [one, other], .. }) in lan.cables.iter().enumerate() {
        if let (Some(&from), Some(&to)) = (numbers.get(one), numbers.get(other)) {
            plan.link(index, "", (from, to));
        }
    }
    add_flows(plan, &lan, &numbers);
    plan.outline.lan = Some(lan);
}

/// The flows of all groups, of frames those of a generator one after the other.
fn add_flows(plan: &mut Plan<'_>, lan: &Lan<'_>, numbers: &BTreeMap<&str, u32>) {
    let groups = &plan.outline.spec.flows;
    let mut number = 0;
    for group in groups.iter().enumerate() {
        let spec = group.1;
        if !matches!(spec.transport, Transport::Frames(_)) {
            for index in 0..spec.flows() {
                let end = |list: &Option<OneOrMany>| numbers.get(list.as_ref()?.at(index as usize)?).copied();
                let (Some(from), Some(to)) = (end(&spec.from), end(&spec.to)) else { continue };
                plan.flow(group, index, spec.flow_name(index), from, to);
            }
            continue;
        }
        for (generator, index) in lan.generators(spec).into_iter().zip(0..) {
            let share = 1.0 / generator.to.len() as f64;
            let name = |to: &str| lan.flow_name(spec, generator.from, to);
            let Some(first) = generator.to.first().map(|to| name(to)) else { continue };
            let Some(link) = lan.rate_of(generator.from) else { continue };
            for &to in &generator.to {
                let (Some(&source), Some(&destination)) = (numbers.get(generator.from), numbers.get(to)) else {
                    continue;
                };
                let frames = FramesOfGenerator { generator: number, share, link, first: first.clone() };
                let supply = Source::Frames(frames);
                plan.flows.push(PlannedFlow { name: name(to), group: group.0, index, source, destination, supply });
            }
            number += 1;
        }
    }
}
