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
        let never = HostJitter::NONE.0.picoseconds();
        if group.transport.is_rdma() || matches!(group.transport, Transport::Cells(_) | Transport::Frames(_)) {
            return [never; 2];
        }
        if let Some(HostJitter(given)) = group.host_jitter.or(self.of_scenario) {
            return [given.picoseconds(); 2];
        }
        let by_default = HostJitter::LINUX.0.picoseconds();
        [flow.source, flow.destination].map(|host| if self.quiet.contains(&host) { never } else { by_default })
    }
}

fn is_of_a_simulator(group: &FlowGroup) -> bool {
    matches!(&group.transport, Transport::Tcp(config) if config.preset.is_of_a_simulator())
}
