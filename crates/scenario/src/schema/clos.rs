//! Folded Clos networks, the fabrics of data centers: leaf-spine networks and fat-trees.

use forebay_switching::PathPolicyConfig;
use forebay_switching::congestion::CongestionManagement;
use forebay_switching::paths::EcmpConfig;
use forebay_units::Rate;
use schemars::{JsonSchema, Schema};

use super::{Adapter, LinkSpec, OneOrMany, QueueSpec, SharedMemorySwitch, tagged};

/// Leaf switches with hosts, and spine switches that are connected to every leaf. Nodes: `leaf0`, `spine0`, `host0`, …;
/// the hosts of a leaf follow one another, and `hosts` in `from` and `to` of flows is a list of all. Links have the
/// names of the ports that send: `leaf3.port2`, `host7.port0`. The first ports of a leaf lead to its hosts, the others
/// to the spines, one spine after the other.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeafSpine {
    /// Number of leaves.
    #[schemars(range(min = 1))]
    pub leaves: u32,
    /// Number of spines.
    #[schemars(range(min = 1))]
    pub spines: u32,
    /// Number of hosts at each leaf.
    #[schemars(range(min = 1))]
    pub hosts: u32,
    /// Number of links between each leaf and each spine.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub parallel: u32,
    /// Each link between a host and its leaf, in both directions. `queue` is that of the leaf's port; see `host_port`.
    pub host_link: LinkSpec,
    /// Each link between a leaf and a spine, in both directions. Default: `host_link`.
    #[serde(default)]
    pub uplink: Option<LinkSpec>,
    /// Links that differ from the others.
    #[serde(default)]
    pub exceptions: Vec<LinkException>,
    /// Kind of all switches.
    #[serde(default)]
    pub switch: ClosSwitch,
    /// Which of several equally short paths a packet takes. With `congestion_management`: `single`.
    #[serde(default = "ecmp")]
    pub paths: PathPolicyConfig,
    /// Routers only: the port of every host. Default: packets wait in it without limit, in the order of their sending.
    #[serde(default)]
    pub host_port: Option<HostPort>,
    /// Ethernet switches only: properties of the adapter of every host.
    #[serde(default)]
    pub adapter: Adapter,
    /// Ethernet switches only: congestion management, which slows down the sources of data. Default: none.
    #[serde(default)]
    pub congestion_management: Option<CongestionManagement>,
}

/// A fat-tree of switches with `k` ports: `k` pods of k/2 edge and k/2 aggregation switches, k²/4 core switches, and
/// k³/4 hosts (Al-Fares et al. 2008). Nodes: `pod1.edge0`, `pod1.agg0`, `core3`, `host7`, …; the hosts of an edge
/// switch follow one another, and `hosts` in `from` and `to` of flows is a list of all. Links have the names of the
/// ports that send: `pod1.agg0.port2`. The first ports of a switch lead down. Aggregation switch a of each pod leads
/// to cores a, a + A, a + 2A, …, where A is the number of aggregation switches of a pod.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FatTree {
    /// Number of ports of a switch: even.
    #[schemars(range(min = 2))]
    pub k: u32,
    /// How many hosts of an edge switch share one of its links upwards. It divides k/2; a pod has that many times fewer
    /// aggregation switches.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub edge_oversubscription: u32,
    /// How many links from edge switches share one link of an aggregation switch to a core. It divides k/2; there are
    /// that many times fewer cores.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub core_oversubscription: u32,
    /// Each link between a host and its edge switch, in both directions. `queue` is that of the switch's port; see
    /// `host_port`.
    pub host_link: LinkSpec,
    /// Each link between an edge switch and an aggregation switch, in both directions. Default: `host_link`.
    #[serde(default)]
    pub edge_link: Option<LinkSpec>,
    /// Each link between an aggregation switch and a core, in both directions. Default: `edge_link`.
    #[serde(default)]
    pub core_link: Option<LinkSpec>,
    /// Links that differ from the others.
    #[serde(default)]
    pub exceptions: Vec<LinkException>,
    /// Kind of all switches.
    #[serde(default)]
    pub switch: ClosSwitch,
    /// Which of several equally short paths a packet takes. With `congestion_management`: `single`.
    #[serde(default = "ecmp")]
    pub paths: PathPolicyConfig,
    /// Routers only: the port of every host. Default: packets wait in it without limit, in the order of their sending.
    #[serde(default)]
    pub host_port: Option<HostPort>,
    /// Ethernet switches only: properties of the adapter of every host.
    #[serde(default)]
    pub adapter: Adapter,
    /// Ethernet switches only: congestion management, which slows down the sources of data. Default: none.
    #[serde(default)]
    pub congestion_management: Option<CongestionManagement>,
}

/// The port by which a host sends.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostPort {
    /// Its queue. All flows of the host share it.
    pub queue: Box<QueueSpec>,
}

/// Links with another rate or queue, or without service.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkException {
    /// The ports at one end, such as `leaf0.port16`: a name, or a list of names.
    pub ports: OneOrMany,
    /// The rate of their links.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// The queue of these ports.
    #[serde(default)]
    pub queue: Option<Box<QueueSpec>>,
    /// Whether `rate` is that of the direction in which the port sends; the other one keeps its own. Default: both.
    #[serde(default)]
    pub one_way: bool,
    /// Whether the links are down for the whole run: no path takes them.
    #[serde(default)]
    pub down: bool,
}

/// Kind of the switches of a fabric.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = bare_switches)]
pub enum ClosSwitch {
    /// Each port has a queue of its own.
    #[default]
    Router,
    /// Ports share memory, with PAUSE. Hosts have adapters.
    EthernetSwitch(Box<SharedMemorySwitch>),
}

fn bare_switches(schema: &mut Schema) {
    tagged::allow_bare(schema, &["ethernet_switch"]);
}

fn one() -> u32 {
    1
}

fn ecmp() -> PathPolicyConfig {
    PathPolicyConfig::Ecmp(EcmpConfig::default())
}

impl FatTree {
    /// Numbers of hosts at an edge switch, of aggregation switches in a pod, and of links from each of these to cores.
    #[must_use]
    pub fn widths(&self) -> [u32; 3] {
        let half = self.k / 2;
        [half, half / self.edge_oversubscription.max(1), half / self.core_oversubscription.max(1)]
    }
}
