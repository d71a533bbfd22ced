//! Topologies: which nodes there are and which links join them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use forebay_switching::PathPolicyConfig;
use forebay_switching::congestion::CongestionManagement;
use forebay_units::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, Visitor};

use super::tagged;
use super::{
    Adapter, Cioq, Ethernet, FatTree, GraphLink, Home, InputQueued, LeafSpine, LinkSpec, SharedMemorySwitch,
    SwitchTopology,
};

/// The table of topologies, for the macro `$apply`: a sentence for the schema; the variant with its table, and its name
/// in a scenario. `plan/` has a builder for each.
macro_rules! topologies {
    ($apply:ident) => {
        $apply! {
            /// Sources with access links of their own, one router, and one sink behind the bottleneck.
            Star(Star) = "star";
            /// Sources, a router, the bottleneck, a second router, and sinks.
            Dumbbell(Dumbbell) = "dumbbell";
            /// Routers in a row, with flows that may join at each, and one sink at the end.
            Chain(Chain) = "chain";
            /// Sources, a multiplexer before each input of a switch, the switch, and sinks.
            Switch(SwitchTopology) = "switch";
            /// Hosts behind a gateway, its line to the provider, and servers.
            Home(Home) = "home";
            /// Leaf switches with hosts, and spine switches that are connected to every leaf.
            LeafSpine(LeafSpine) = "leaf_spine";
            /// A fat-tree: pods of edge and aggregation switches, and core switches between the pods.
            FatTree(FatTree) = "fat_tree";
            /// Any nodes and links, with shortest-path routes.
            Graph(Graph) = "graph";
            /// Switches with shared memory and nodes with adapters, with PAUSE and congestion management.
            Ethernet(Ethernet) = "ethernet";
        }
    };
}
pub(crate) use topologies;

macro_rules! define {
    ($($(#[$doc:meta])+ $variant:ident($table:ident) = $name:literal;)+) => {
        /// The network: exactly one of these.
        #[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
        pub enum Topology {
            $($(#[$doc])+ #[serde(rename = $name)] $variant($table),)+
        }

        impl Topology {
            /// Its key in a scenario.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)+
                }
            }
        }
    };
}
topologies!(define);

/// Sources with access links of their own, one router, and one sink behind the bottleneck. The network for questions
/// about a single queue. Links: `access-<flow>`, `bottleneck`, `reverse`.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Star {
    /// Link of each flow between its source and the router, in both directions.
    pub access: LinkSpec,
    /// From the router to the sink.
    pub bottleneck: LinkSpec,
    /// From the sink back to the router. Default: the bottleneck's rate and delay, drop-tail without limit.
    #[serde(default)]
    pub reverse: Option<LinkSpec>,
}

/// Sources, a router, the bottleneck, a second router, and sinks. The network for flows that share hosts or differ in
/// round-trip time. Links: `access-<host>`, `bottleneck`, `reverse`, `sink-<host>`.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dumbbell {
    /// Hosts on the left: a number, or "per-flow", one for each flow.
    #[serde(default)]
    pub sources: HostCount,
    /// Hosts on the right: a number, or "per-flow", one for each flow.
    #[serde(default)]
    pub sinks: HostCount,
    /// Placement of flows on hosts, where the number of hosts is given.
    #[serde(default)]
    pub placement: Placement,
    /// Links between the left hosts and their router, in both directions; also for the sinks, unless `sink_access` is
    /// given.
    pub access: LinkSpec,
    /// Links between the right router and the sinks, in both directions. Default: `access`.
    #[serde(default)]
    pub sink_access: Option<LinkSpec>,
    /// From the left router to the right one.
    pub bottleneck: LinkSpec,
    /// From the right router to the left one. Default: the bottleneck's rate and delay, drop-tail without limit.
    #[serde(default)]
    pub reverse: Option<LinkSpec>,
}

/// How many hosts there are on one side of a dumbbell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostCount {
    /// Each flow has a host, and so an access link, of its own.
    #[default]
    PerFlow,
    /// This many, shared by the flows.
    Hosts(u32),
}

/// Placement of flows on several hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Flow i of the scenario on host i modulo their number.
    #[default]
    RoundRobin,
    /// On a random host, drawn for each flow and side.
    Random,
}

/// Routers in a row, with flows that may join at each, and one sink behind the last. The network for flows that cross
/// several bottlenecks. Links: `hop-1` to `hop-<hops>`, `access-<flow>`. The DBL paper's Figure 7.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// Number of routers, and of links `hop-i`: from router i to the next, and from the last to the sink.
    #[schemars(range(min = 1))]
    pub hops: u32,
    /// Link of each flow between its source and the router where it joins, in both directions.
    pub access: LinkSpec,
    /// Each of the links `hop-i`.
    pub link: LinkSpec,
}

/// Any nodes and links, with shortest-path routes. The network for everything that the other topologies cannot
/// describe. Links: `<from>-><to>`.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// Hosts, routers and switches.
    pub nodes: Vec<Node>,
    /// Full-duplex links between them.
    pub links: Vec<GraphLink>,
    /// Which of several equally short paths a packet takes. With `congestion_management`: `single`.
    #[serde(default)]
    pub paths: PathPolicyConfig,
    /// How long after the start of an outage routes avoid the link, and after its end take it again. A shorter outage
    /// changes no route. Not with Ethernet switches. Default: routes do not change.
    #[serde(default)]
    pub reroute_after: Option<Span>,
    /// Ethernet switches only: properties of the adapter of every host that is connected to one.
    #[serde(default)]
    pub adapter: Adapter,
    /// Ethernet switches only: congestion management, which slows down the sources of data. Default: none.
    #[serde(default)]
    pub congestion_management: Option<CongestionManagement>,
}

/// A host, a router or a switch.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Hosts only: this many of them, `name-0`, `name-1`, …, each with the links that name them all. In `from` and `to`
    /// of flows their name is a list of all. Default: one, with that name.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub count: Option<u32>,
    /// Kind of node.
    #[serde(default)]
    pub kind: NodeKind,
}

/// Kind of a node.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = bare_kinds)]
pub enum NodeKind {
    /// Carries flows and does not forward packets.
    #[default]
    Host,
    /// Forwards packets; each of its ports has a queue.
    Router,
    /// Forwards packets through a crossbar with virtual output queues; the fastest of its links is its line. Queues of
    /// the inputs: `<node>/input-<number>`, in the order of the links.
    Cioq(Cioq),
    /// Forwards packets from one FIFO queue at each input; the fastest of its links is its line.
    InputQueued(InputQueued),
    /// Forwards frames from memory that is divided among its inputs and shared by its outputs. A host that is connected
    /// to one has an adapter, and no other link. PAUSE works between these switches and adapters only.
    EthernetSwitch(Box<SharedMemorySwitch>),
}

fn bare_kinds(schema: &mut Schema) {
    tagged::allow_bare(schema, &["cioq", "input_queued", "ethernet_switch"]);
}

impl Node {
    /// Whether it is an Ethernet switch.
    #[must_use]
    pub fn is_ethernet_switch(&self) -> bool {
        matches!(self.kind, NodeKind::EthernetSwitch(_))
    }
}

impl Graph {
    /// The number of each node, by name.
    #[must_use]
    pub fn numbers(&self) -> BTreeMap<&str, usize> {
        self.nodes.iter().enumerate().map(|(number, node)| (node.name.as_str(), number)).collect()
    }
}

impl<'de> serde::Deserialize<'de> for HostCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Count;
        impl Visitor<'_> for Count {
            type Value = HostCount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of hosts, or \"per-flow\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<HostCount, E> {
                match text {
                    "per-flow" => Ok(HostCount::PerFlow),
                    _ => Err(E::unknown_variant(text, &["per-flow"])),
                }
            }

            fn visit_u64<E: Error>(self, hosts: u64) -> Result<HostCount, E> {
                match u32::try_from(hosts) {
                    Ok(hosts @ 1..) => Ok(HostCount::Hosts(hosts)),
                    _ => Err(E::custom("there must be at least 1 host and at most 4294967295")),
                }
            }
        }
        deserializer.deserialize_any(Count)
    }
}

impl serde::Serialize for HostCount {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::PerFlow => serializer.serialize_str("per-flow"),
            Self::Hosts(hosts) => serializer.serialize_u32(*hosts),
        }
    }
}

impl JsonSchema for HostCount {
    fn schema_name() -> Cow<'static, str> {
        "HostCount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of hosts, or \"per-flow\": each flow has one of its own.",
            "oneOf": [{ "type": "integer", "minimum": 1 }, { "const": "per-flow" }],
        })
    }
}
