//! The processing times of hosts.

use std::collections::BTreeSet;

use forebay_engine::Distribution;

use crate::layout::{Layout, PlannedFlow};
use crate::schema::{FlowGroup, HostJitter, ScenarioSpec, Transport};

/// Chooses the processing time of the hosts of each flow.
pub(super) struct HostTimes {
    of_scenario: Option<HostJitter>,
    /// The node at which each link begins.
    senders: Vec<u32>,
    /// Hosts without processing time by default: those of TCP flows that model a simulator's.
    quiet: BTreeSet<u32>,
}

impl HostTimes {
    pub fn new(layout: &Layout, scenario: &ScenarioSpec) -> Self {
        let mut times = Self { of_scenario: scenario.host_jitter, senders: Vec::new(), quiet: BTreeSet::new() };
        if scenario.host_jitter.is_some() || !scenario.flows.iter().any(is_of_a_simulator) {
            return times;
        }
        times.senders = layout.links.iter().map(|link| link.node as u32).collect();
        let flows = layout.flows.iter().filter(|flow| is_of_a_simulator(&scenario.flows[flow.group]));
        times.quiet = flows.flat_map(|flow| times.hosts(flow)).flatten().collect();
        times
    }

    /// The processing times of the hosts at the source and at the destination of a flow, in picoseconds.
    pub fn of(&self, flow: &PlannedFlow, group: &FlowGroup) -> [Distribution; 2] {
        let never = HostJitter::NONE.0.picoseconds();
        if matches!(group.transport, Transport::Cells(_) | Transport::Frames(_)) {
            return [never; 2];
        }
        if let Some(HostJitter(given)) = group.host_jitter.or(self.of_scenario) {
            return [given.picoseconds(); 2];
        }
        let by_default = HostJitter::LINUX.0.picoseconds();
        self.hosts(flow)
            .map(|host| if host.is_some_and(|host| self.quiet.contains(&host)) { never } else { by_default })
    }

    /// The hosts at both ends, by the nodes at which their first links begin.
    fn hosts(&self, flow: &PlannedFlow) -> [Option<u32>; 2] {
        [&flow.forward, &flow.backward].map(|path| self.senders.get(*path.first()? as usize).copied())
    }
}

fn is_of_a_simulator(group: &FlowGroup) -> bool {
    matches!(&group.transport, Transport::Tcp(config) if config.preset.is_of_a_simulator())
}
