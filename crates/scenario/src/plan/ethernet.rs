//! Ethernets: a link from each node to its switch, and links between switches.

use std::collections::BTreeMap;

use super::{FramesOfGenerator, Plan, PlannedFlow, PlannedKind, Source};
use crate::lan::{Cable, Lan};
use crate::names;
use crate::schema::{FlowGroup, LinkSpec, OneOrMany, ServiceAt, SpanDistribution, Transport};

impl<'s> Plan<'s> {
    pub(super) fn ethernet(&mut self, lan: &Lan<'s>, groups: &[FlowGroup]) {
        let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
        for switch in &lan.switches {
            numbers.insert(switch.name, self.node(switch.name, PlannedKind::EthernetSwitch(switch.spec)));
        }
        for &node in &lan.nodes {
            numbers.insert(node, self.node(node, PlannedKind::Adapter));
        }
        for &Cable { ends: [one, other], rate, delay, queue, service, impairments, .. } in &lan.cables {
            let (Some(&from), Some(&to)) = (numbers.get(one), numbers.get(other)) else { continue };
            let both = [(names::graph_link(one, other), (from, to)), (names::graph_link(other, one), (to, from))];
            for (name, ends) in both {
                let switch = lan.switches.get(ends.0 as usize);
                let queue = queue.filter(|_| switch.is_some()).map(|queue| Box::new(queue.clone()));
                let mut spec = LinkSpec { queue, impairments, ..LinkSpec::of(rate, SpanDistribution::Constant(delay)) };
                if switch.is_some() {
                    let of_port = lan.service_of(self.nodes[ends.1 as usize].name.as_str(), ServiceAt::Switch);
                    spec.service = service.iter().copied().chain(of_port).collect();
                }
                let number = self.link(name.clone(), &name, &spec, ends);
                let has_class_queues = switch.is_some_and(|switch| lan.has_class_queues(switch.spec));
                self.links[number as usize].has_class_queues = has_class_queues;
            }
        }
        self.ethernet_flows(lan, groups, &numbers);
    }

    /// The flows of all groups, of frames those of a generator one after the other.
    fn ethernet_flows(&mut self, lan: &Lan<'s>, groups: &[FlowGroup], numbers: &BTreeMap<&str, u32>) {
        let mut number = 0;
        for group in groups.iter().enumerate() {
            let spec = group.1;
            if !matches!(spec.transport, Transport::Frames(_)) {
                for index in 0..spec.flows() {
                    let end = |list: &Option<OneOrMany>| numbers.get(list.as_ref()?.at(index as usize)?).copied();
                    let (Some(from), Some(to)) = (end(&spec.from), end(&spec.to)) else { continue };
                    self.flow(group, index, spec.flow_name(index), from, to);
                }
                continue;
            }
            for (generator, index) in lan.generators(spec).into_iter().zip(0..) {
                let share = 1.0 / generator.to.len() as f64;
                let name = |to: &str| names::frame_flow(lan, spec, generator.from, to);
                let Some(first) = generator.to.first().map(|to| name(to)) else { continue };
                let Some(link) = lan.rate_of(generator.from) else { continue };
                for &to in &generator.to {
                    let (Some(&source), Some(&destination)) = (numbers.get(generator.from), numbers.get(to)) else {
                        continue;
                    };
                    let frames = FramesOfGenerator { generator: number, share, link, first: first.clone() };
                    let supply = Source::Frames(frames);
                    self.flows.push(PlannedFlow { name: name(to), group: group.0, index, source, destination, supply });
                }
                number += 1;
            }
        }
    }
}
