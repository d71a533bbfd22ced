//! Folded Clos networks: switches in tiers, with hosts below the lowest.

use std::collections::{BTreeMap, BTreeSet};

use forebay_document::{Invalid, Path};
use forebay_switching::PathPolicyConfig;
use forebay_switching::congestion::CongestionManagement;
use forebay_units::Rate;

use super::outline::{Links, Outline, Traffic};
use super::{EthernetPlan, Plan, PlannedAdapter, PlannedKind, PlannedSwitch, TopologyBuilder};
use crate::schema::{Adapter, ClosSwitch, HostPort, LinkException, LinkSpec, QueueSpec, ScenarioSpec};
use crate::validate::clos;

/// A topology that is such a network.
pub(crate) trait ClosBuilder {
    /// Checks its numbers, so that the network can be made.
    ///
    /// # Errors
    /// The first number that is wrong.
    fn check_numbers(&self, path: &Path) -> Result<(), Invalid>;

    fn clos(&self) -> Clos<'_>;
}

impl<T: ClosBuilder> TopologyBuilder for T {
    fn check(&self, _: &ScenarioSpec, path: &Path) -> Result<(), Invalid> {
        self.check_numbers(path)?;
        clos::validate(&self.clos(), path)
    }

    fn outline<'s>(&'s self, outline: &mut Outline<'s>) {
        self.clos().outline(outline);
    }

    fn build<'s>(&'s self, plan: &mut Plan<'s>) {
        plan.build_named();
    }
}

/// The common parts of all such networks.
pub(crate) struct Clos<'s> {
    pub switch: &'s ClosSwitch,
    pub host_port: Option<&'s HostPort>,
    pub adapter: &'s Adapter,
    pub congestion_management: Option<&'s CongestionManagement>,
    pub paths: &'s PathPolicyConfig,
    pub exceptions: &'s [LinkException],
    /// The links of each tier, from the hosts upwards, with the keys that describe them.
    pub tiers: Vec<(&'s LinkSpec, &'static str)>,
    pub switches: Vec<String>,
    pub hosts: u32,
    /// In the order of the ports of each switch; those of a host come first.
    pub cables: Vec<Cable>,
}

/// A link between a node and one of the next tier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cable {
    /// The tier of its upper end: 0 for a switch with hosts.
    pub tier: usize,
    /// Numbers of the nodes: those of switches are places in `switches`, and hosts follow.
    pub lower: u32,
    pub upper: u32,
}

/// A direction of a cable.
#[derive(Clone, Copy)]
struct Way<'s> {
    rate: Rate,
    /// Its queue and the number of the exception that gives it, unless it has that of its tier.
    queue: Option<(&'s QueueSpec, usize)>,
}

/// The directions of a cable, upwards and downwards; `None` where it is down.
type Ways<'s> = Option<[Way<'s>; 2]>;

impl<'s> Clos<'s> {
    pub fn name(&self, node: u32) -> String {
        let host = node.checked_sub(self.switches.len() as u32);
        host.map_or_else(|| self.switches[node as usize].clone(), |host| format!("host{host}"))
    }

    /// The names of the ports at both ends of each cable, the lower end first.
    pub fn ports(&self) -> Vec<[String; 2]> {
        let mut used = vec![0_u32; self.switches.len() + self.hosts as usize];
        let mut port = |node: u32| {
            let number = &mut used[node as usize];
            *number += 1;
            format!("{}.port{}", self.name(node), *number - 1)
        };
        self.cables.iter().map(|cable| [port(cable.lower), port(cable.upper)]).collect()
    }

    /// The directions of each cable. Names that no port has change nothing.
    fn ways(&self, ports: &[[String; 2]]) -> Vec<Ways<'s>> {
        let usual = |cable: &Cable| Some([Way { rate: self.tiers[cable.tier].0.rate, queue: None }; 2]);
        let mut ways: Vec<Ways<'s>> = self.cables.iter().map(usual).collect();
        if self.exceptions.is_empty() {
            return ways;
        }
        let ends = ports.iter().zip(0..).flat_map(|(ends, cable)| ends.iter().zip(0..).map(move |it| (it, cable)));
        let places: BTreeMap<&str, (usize, usize)> =
            ends.map(|((name, end), cable)| (name.as_str(), (cable, end))).collect();
        for (exception, number) in self.exceptions.iter().zip(0..) {
            for &(cable, end) in exception.ports.0.iter().filter_map(|name| places.get(name.as_str())) {
                let Some(of_cable) = ways[cable].as_mut().filter(|_| !exception.down) else {
                    ways[cable] = None;
                    continue;
                };
                for (way, of_end) in of_cable.iter_mut().zip(0..) {
                    way.rate = exception.rate.filter(|_| of_end == end || !exception.one_way).unwrap_or(way.rate);
                }
                let queue = exception.queue.as_deref().map(|queue| (queue, number));
                of_cable[end].queue = queue.or(of_cable[end].queue);
            }
        }
        ways
    }

    pub fn outline(&self, outline: &mut Outline<'s>) {
        outline.paths = Some(self.paths);
        let ports = self.ports();
        let ways = self.ways(&ports);
        self.add_nodes(outline, &ways);
        let mut of_tier = vec![0_u32; self.tiers.len()];
        self.cables.iter().for_each(|cable| of_tier[cable.tier] += 1);
        for ((cable, ports), ways) in self.cables.iter().zip(ports).zip(ways) {
            let Some([up, down]) = ways else { continue };
            let (spec, key) = self.tiers[cable.tier];
            let path = outline.path.key(key);
            let is_of_host = cable.tier == 0;
            let upwards = match self.host_port.filter(|_| is_of_host) {
                Some(port) => {
                    let queue = Some(port.queue.clone());
                    (LinkSpec { queue, ..spec.clone() }, Some(outline.path.key("host_port")))
                }
                // The device of a host has no queue that a table describes.
                None if is_of_host => (spec.without_queue(), None),
                None => (spec.clone(), Some(path.clone())),
            };
            let exceptions = outline.path.key("exceptions");
            let at = |(spec, path), way: Way<'s>| match way.queue {
                Some((queue, number)) => {
                    let queue = Some(Box::new(queue.clone()));
                    (LinkSpec { rate: way.rate, queue, ..spec }, Some(exceptions.index(number)))
                }
                None => (LinkSpec { rate: way.rate, ..spec }, path),
            };
            let ways = [at(upwards, up), at((spec.clone(), Some(path)), down)];
            let joined = outline.joined_by([cable.lower, cable.upper], ports, ways, Traffic::Some);
            // A flow goes up through a tier and down again, at most.
            let crossings = (2.0 / f64::from(of_tier[cable.tier])).min(1.0);
            outline.links.push(Links { crossings, ..joined });
        }
    }

    fn add_nodes(&self, outline: &mut Outline<'s>, ways: &[Ways<'s>]) {
        let congestion_management = self.congestion_management;
        let spec = match self.switch {
            ClosSwitch::Router => None,
            ClosSwitch::EthernetSwitch(spec) => Some(spec),
        };
        if spec.is_some() {
            outline.ethernet = Some(EthernetPlan::new(self.adapter, congestion_management));
        }
        let mut fastest: Vec<Option<Rate>> = vec![None; self.switches.len() + self.hosts as usize];
        for (cable, ways) in self.cables.iter().zip(ways) {
            for (end, way) in [cable.lower, cable.upper].into_iter().zip(ways.iter().flatten()) {
                fastest[end as usize] = fastest[end as usize].max(Some(way.rate));
            }
        }
        let is_switch = |node: u32| (node as usize) < self.switches.len();
        for (node, line_rate) in (0..).zip(fastest) {
            let kind = match (spec, line_rate) {
                (Some(spec), Some(line_rate)) if is_switch(node) => {
                    let path = outline.path.key("switch").key("ethernet_switch");
                    let switch = PlannedSwitch { spec, congestion_management, line_rate, path };
                    PlannedKind::EthernetSwitch(Box::new(switch))
                }
                (Some(_), Some(line_rate)) => {
                    let (spec, service) = (self.adapter, Vec::new());
                    PlannedKind::Adapter(Box::new(PlannedAdapter { spec, congestion_management, line_rate, service }))
                }
                _ if is_switch(node) => PlannedKind::Router,
                _ => PlannedKind::Host,
            };
            outline.add_node(self.name(node), kind);
        }
    }

    /// The ports of all nodes.
    pub fn port_names(&self) -> BTreeSet<String> {
        self.ports().into_iter().flatten().collect()
    }
}

#[cfg(test)]
#[path = "clos_tests.rs"]
mod tests;
