//! The whole file.

use forebay_units::Span;
use schemars::JsonSchema;

use super::Lab;
use super::{FlowGroup, HostJitter, HostQueue, Probes, SlowdownBase, Topology, Trace};

/// A scenario: a network, its traffic, and what is recorded.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Scenario")]
pub struct ScenarioSpec {
    /// Name, for results. Default: the file's name without its extension.
    #[serde(default)]
    pub name: Option<String>,
    /// Description of the scenario, for its readers.
    #[serde(default)]
    pub description: Option<String>,
    /// Simulated time.
    pub duration: Span,
    /// Time at the start that the tables leave out. Shorter than `duration`.
    #[serde(default)]
    pub warmup: Span,
    /// Seed of all random numbers.
    #[serde(default = "first")]
    pub seed: u64,
    /// The network: exactly one topology.
    pub topology: Topology,
    /// The traffic: at least one group.
    #[schemars(length(min = 1))]
    pub flows: Vec<FlowGroup>,
    /// Processing time of the hosts: a random delay before a packet leaves a host of TCP or UDP. Packets of a host keep
    /// their order. "none" switches it off. Default: { uniform = ["0 us", "10 us"] }, the variation of a Linux host;
    /// "none" on a host with a TCP flow of the presets "basic", "ns2", "ns2_linux" or "ns2_pre2001".
    #[serde(default)]
    pub host_jitter: Option<HostJitter>,
    /// Limit of the device queue of a host: how many UDP packets may wait for the host's own uplink. The host drops the
    /// others. Default: "1000 packets", as Linux; "unlimited" for no limit. TCP is not dropped there.
    #[serde(default)]
    pub host_queue: HostQueue,
    /// Time that a flow of a given size takes alone; its slowdown is its completion time as a multiple of this.
    #[serde(default)]
    pub slowdown_base: SlowdownBase,
    /// Time series. Default: none.
    #[serde(default)]
    pub probes: Option<Probes>,
    /// Packet traces.
    #[serde(default)]
    pub traces: Vec<Trace>,
    /// Values with sliders in the lab, Forebay's page in a browser. Default: none.
    #[serde(default)]
    pub lab: Option<Lab>,
}

impl ScenarioSpec {
    /// The group whose hosts, and links to them, the flows of `group` have.
    #[must_use]
    pub fn host_group<'a>(&'a self, group: &'a FlowGroup) -> &'a FlowGroup {
        let owner = group.hosts_of.as_ref().and_then(|name| self.flows.iter().find(|it| it.name == *name));
        owner.unwrap_or(group)
    }

    /// The largest packet that any flow sends, in bytes on the wire; for drawn sizes the largest that can be drawn.
    #[must_use]
    pub fn largest_packet(&self) -> u64 {
        self.flows.iter().map(FlowGroup::largest_packet).max().unwrap_or(0)
    }
}

fn first() -> u64 {
    1
}
