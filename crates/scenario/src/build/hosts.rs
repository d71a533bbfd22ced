//! The processing times of hosts.

use std::collections::BTreeSet;

use forebay_engine::Distribution;

use crate::plan::{Plan, PlannedFlow};
use crate::schema::{FlowGroup, HostJitter, ScenarioSpec, Transport};

/// Chooses the processing time of the hosts of each flow.
pub(super) struct HostTimes {
    of_scenario: Option<HostJitter>,
    /// Hosts without processing time by default: those of TCP flows that model a simulator's.
    quiet: BTreeSet<u32>,
}

impl HostTimes {
    pub fn new(plan: &Plan<'_>, scenario: &ScenarioSpec) -> Self {
        let mut times = Self { of_scenario: scenario.host_jitter, quiet: BTreeSet::new() };
        if scenario.host_jitter.is_none() {
            let flows = plan.flows.iter().filter(|flow| is_of_a_simulator(&scenario.flows[flow.group]));
            times.quiet = flows.flat_map(|flow| [flow.source, flow.destination]).collect();
        }
        times
    }

    /// The processing times of the hosts at the source and at the destination of a flow, in picoseconds.
    pub fn of(&self, flow: &PlannedFlow, group: &FlowGroup) -> [Distribution; 2] {
        if group.transport.is_rdma() || matches!(group.transport, Transport::Cells(_) | Transport::Frames(_)) {
            return [Distribution::ZERO; 2];
        }
        [flow.source, flow.destination].map(|host| {
            let by_default = if self.quiet.contains(&host) { HostJitter::NONE } else { HostJitter::LINUX };
            group.host_jitter.or(self.of_scenario).unwrap_or(by_default).0.picoseconds()
        })
    }
}

fn is_of_a_simulator(group: &FlowGroup) -> bool {
    matches!(&group.transport, Transport::Tcp(config) if config.preset.is_of_a_simulator())
}
