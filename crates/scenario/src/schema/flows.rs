//! Traffic: groups of flows, their transport and their application.

mod udp;

use std::borrow::Cow;
use std::fmt;

use forebay_rdma::{
    HOMA_HEADER_BYTES, HomaConfig, NDP_HEADER_BYTES, NdpConfig, PfabricConfig, RoceConfig, UEC_HEADER_BYTES, UecConfig,
};
use forebay_tcp::{PAGES, TcpConfig};
use forebay_units::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, Visitor};

use super::tagged::{self, Algorithm};
use super::{Cells, DatagramEcn, Frames, HostJitter, LinkSpec, OneOrMany, SpanDistribution};
use crate::applications::Application;
use crate::patterns::Pattern;

pub use udp::{Constant, Game, OnOff, PacketSize, Ping, PingInterval, Poisson, RateStep, Udp, UdpPattern, Voice};
pub(crate) use udp::{VOICE_BPS, VOICE_INTERVAL};

/// A group of flows that differ only in their random numbers.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowGroup {
    /// Name of the group. Its flows are `name-0`, `name-1`, …; just `name` without `count` and `pattern`.
    pub name: String,
    /// Number of flows. Default: one, with the name of the group. Not for cells and frames.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub count: Option<u32>,
    /// The transport: TCP, UDP, the cells of a switch, or the frames of an Ethernet.
    pub transport: Transport,
    /// Data to send; TCP and, of `unlimited` and `fixed`, RDMA transports only.
    #[serde(default)]
    pub app: Application,
    /// A pattern by which the hosts of the topology send to each other, in place of `count`, `from`, `to` and `app`.
    /// For leaf-spine networks, fat-trees, free graphs and Ethernets, and not for UDP, cells and frames.
    #[serde(default)]
    pub pattern: Option<Pattern>,
    /// With `pattern` only: the hosts that it has. Default: all hosts of the topology.
    #[serde(default)]
    pub hosts: Option<OneOrMany>,
    /// Start of the flow; drawn for each flow.
    #[serde(default)]
    pub start: SpanDistribution,
    /// Additional delay of the start: flow i of the group, counted from 0, starts i times this later.
    #[serde(default)]
    pub stagger: Span,
    /// Time at which the flow stops sending. Default: the end of the run.
    #[serde(default)]
    pub stop: Option<Span>,
    /// Traffic class, for disciplines that use it; in an Ethernet the priority, 0 to 7.
    #[serde(default)]
    pub class: u8,
    /// Link between the source of the flow and the first router, in both directions, instead of the topology's.
    #[serde(default)]
    pub access: Option<LinkSpec>,
    /// Free graph and Ethernet only, required there: the host that sends, or a list of hosts that take turns.
    #[serde(default)]
    pub from: Option<OneOrMany>,
    /// Free graph and Ethernet only, required there: the host that receives, or a list of hosts that take turns; for
    /// frames also "others", every other node.
    #[serde(default)]
    pub to: Option<OneOrMany>,
    /// Direction of the data, as seen from the sources of the topology, or from `from` to `to`. With "both" the group
    /// becomes two between the same hosts: `name`, and `name-back` in the other direction. Not for cells.
    #[serde(default)]
    pub direction: Direction,
    /// Star, dumbbell and chain only: name of an earlier group; flow i of this group has the hosts of flow i of that
    /// one. Default: hosts of its own, or those of the topology.
    #[serde(default)]
    pub hosts_of: Option<String>,
    /// Chain only: the router at which the flows join, from 1, or "each": flow i, from 0, joins at router i + 1.
    #[serde(default)]
    pub enters: Option<Enters>,
    /// Processing time of the hosts for the packets of this group, in both directions. Default: the scenario's
    /// `host_jitter`. Not for cells and frames.
    #[serde(default)]
    pub host_jitter: Option<HostJitter>,
    /// UDP only: whether packets are ECN-capable, ECT(0), or their codepoint: "ect0", or "ect1" for L4S. For TCP see
    /// `transport.tcp.ecn`.
    #[serde(default)]
    pub ecn: DatagramEcn,
}

/// The transport: exactly one of these.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = bare_transports)]
#[allow(clippy::large_enum_variant, reason = "one a group; a box would only be in the builder's way")]
pub enum Transport {
    /// TCP with a choice of congestion control, with or without SACK. Slow start, fast retransmit and recovery (RFC
    /// 5681, 6582, 6675), timeouts (RFC 6298), and optionally HyStart (RFC 9406), limited transmit (RFC
    /// 3042), delayed ACKs and ECN (RFC 3168).
    Tcp(TcpConfig),
    /// Ultra Ethernet: packets sprayed over all paths, with congestion control by window (NSCC), by credit (RCCC) or
    /// both, and selective retransmission. Sends one message (`app.fixed`) or data without end.
    Uec(UecConfig),
    /// NDP: full windows at once, trimmed packets, and receivers that pull. Sends one message (`app.fixed`) or data
    /// without end, through queues that trim.
    Ndp(NdpConfig),
    /// Homa: short messages go unasked, receivers grant the rest by the bytes left, and packets carry priorities. Sends
    /// one message (`app.fixed`) or data without end, through ports that serve classes by priority.
    Homa(HomaConfig),
    /// pFabric: a window sent at once, and repaired by short timeouts alone. Sends one message (`app.fixed`) or data
    /// without end, through short queues that rank packets by the bytes left.
    Pfabric(PfabricConfig),
    /// RoCE: queue pairs at a rate that congestion control sets, with go-back-N or IRN. Sends one message (`app.fixed`)
    /// or data without end.
    Roce(RoceConfig),
    /// UDP: packets at a rate of their own, regardless of losses.
    Udp(Udp),
    /// Cells in the slots of a line, as in switch theory; for the switch topology only.
    Cells(Cells),
    /// Ethernet frames at a rate of their own, within the limits of congestion management; for the Ethernet topology
    /// and graphs with Ethernet switches only.
    Frames(Frames),
}

/// The values of TCP's congestion control and slow start in the manual.
pub(crate) fn tcp_variants() -> impl Iterator<Item = Algorithm> {
    let controllers = PAGES.iter().map(|&page| Algorithm::from(page));
    let slow_starts = [
        ("hystart", include_str!("../../../tcp/src/control/hystart.rs")),
        ("hystart_plus_plus", include_str!("../../../tcp/src/control/hystart_plus_plus.rs")),
    ];
    let parameters = <() as JsonSchema>::json_schema;
    controllers.chain(slow_starts.map(|(name, source)| Algorithm { name, source, parameters }))
}

impl Transport {
    /// Its name in a scenario.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tcp(_) => "tcp",
            Self::Uec(_) => "uec",
            Self::Ndp(_) => "ndp",
            Self::Homa(_) => "homa",
            Self::Pfabric(_) => "pfabric",
            Self::Roce(_) => "roce",
            Self::Udp(_) => "udp",
            Self::Cells(_) => "cells",
            Self::Frames(_) => "frames",
        }
    }

    /// The bytes of a full packet and of an answer that count for the round trip, of an RDMA transport. Those of RoCE
    /// are as in HPCC's simulator: without headers and answers.
    #[must_use]
    pub fn rdma_packets(&self) -> Option<(u64, u64)> {
        match self {
            Self::Uec(config) => Some((config.packet.0, u64::from(UEC_HEADER_BYTES))),
            Self::Ndp(config) => Some((config.packet.0, u64::from(NDP_HEADER_BYTES))),
            Self::Homa(config) => Some((config.packet.0, u64::from(HOMA_HEADER_BYTES))),
            Self::Pfabric(config) => Some((config.packet.0, config.header.0)),
            Self::Roce(config) => Some((config.payload.0, 0)),
            Self::Tcp(_) | Self::Udp(_) | Self::Cells(_) | Self::Frames(_) => None,
        }
    }

    /// Whether receivers acknowledge what they receive, and senders repeat what is lost. So a flow can send a given
    /// number of bytes, and a window bounds what is on its way.
    #[must_use]
    pub fn is_reliable(&self) -> bool {
        self.is_rdma() || matches!(self, Self::Tcp(_))
    }

    /// Whether it is an RDMA transport.
    #[must_use]
    pub fn is_rdma(&self) -> bool {
        self.rdma_packets().is_some()
    }
}

/// The values of the congestion control of RDMA transports in the manual, with the names of the transports.
pub(crate) fn rdma_variants() -> impl Iterator<Item = (&'static str, Algorithm)> {
    let parameters = <() as JsonSchema>::json_schema;
    let of_uec = [
        ("nscc", include_str!("../../../rdma/src/control/nscc.rs")),
        ("rccc", include_str!("../../../rdma/src/control/rccc.rs")),
    ];
    let of_roce = forebay_rdma::PAGES.iter().map(|&page| ("roce", Algorithm::from(page)));
    of_roce.chain(of_uec.map(|(name, source)| ("uec", Algorithm { name, source, parameters })))
}

fn bare_transports(schema: &mut Schema) {
    tagged::allow_bare(schema, &["tcp", "uec", "ndp", "homa", "pfabric", "roce"]);
}

/// Router of a chain at which the flows of a group join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enters {
    /// At this router, from 1.
    At(u32),
    /// Flow i, from 0, at router i + 1.
    Each,
}

impl Default for Enters {
    fn default() -> Self {
        Self::At(1)
    }
}

/// Time that a flow of a given size takes alone on a shortest path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlowdownBase {
    /// Until the last ACK is at the sender, with the packets of the transport, where every node stores a packet before
    /// it passes it on. No window, no handshake and no processing time delays it.
    #[default]
    StoreAndForward,
    /// As in HPCC's analysis: the base round trip with a full payload on each link, and the flow with its headers at
    /// the lowest rate of the path. A slowdown below 1 counts as 1.
    Hpcc,
}

/// Direction in which a group sends its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the sources to the sinks.
    #[default]
    Forward,
    /// From the sinks to the sources.
    Backward,
    /// In both directions: this group sends forward, and the next one, `name-back`, backward between the same hosts.
    Both,
}

impl Direction {
    /// Where the data begins and where it ends, from the source and the sink of a forward flow.
    pub(crate) fn ends<T>(self, source: T, sink: T) -> (T, T) {
        if self == Self::Backward { (sink, source) } else { (source, sink) }
    }
}

impl FlowGroup {
    /// Number of flows of a group without a pattern.
    #[must_use]
    pub fn flows(&self) -> u32 {
        self.count.unwrap_or(1)
    }

    /// Whether messages of its pattern start when others are done.
    pub(crate) fn waits_for_messages(&self) -> bool {
        self.pattern.as_ref().is_some_and(|pattern| pattern.traffic().waits_for_messages())
    }

    /// Number of flows of the engine that each is: two for each connection with data both ways, one for each connection
    /// of `transfers`.
    #[must_use]
    pub fn flows_each(&self) -> u32 {
        match (&self.app, self.app.both_ways()) {
            (_, Some(app)) => 2 * app.connections(),
            (Application::Transfers(transfers), None) => transfers.connections,
            _ => 1,
        }
    }

    /// Name of the group's flow `index`, from 0.
    #[must_use]
    pub fn flow_name(&self, index: u32) -> String {
        let is_alone = self.count.is_none() && self.pattern.is_none();
        if is_alone { self.name.clone() } else { format!("{}-{index}", self.name) }
    }

    /// The largest packet that the group sends, in bytes on the wire; for drawn sizes the largest that can be drawn.
    #[must_use]
    pub fn largest_packet(&self) -> u64 {
        match &self.transport {
            Transport::Tcp(config) => config.segment.0.max(config.ack_bytes()),
            Transport::Uec(UecConfig { packet, .. })
            | Transport::Ndp(NdpConfig { packet, .. })
            | Transport::Homa(HomaConfig { packet, .. })
            | Transport::Pfabric(PfabricConfig { packet, .. }) => packet.0,
            Transport::Roce(config) => config.packet_bytes(),
            Transport::Udp(udp) => {
                udp.packet.largest().map_or(u64::from(u16::MAX), |bytes| bytes.0.min(u64::from(u16::MAX)))
            }
            Transport::Cells(cells) => cells.size.0,
            Transport::Frames(frames) => frames.size.0,
        }
    }
}

impl<'de> serde::Deserialize<'de> for Enters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Router;
        impl Visitor<'_> for Router {
            type Value = Enters;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the number of a router, from 1, or \"each\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Enters, E> {
                match text {
                    "each" => Ok(Enters::Each),
                    _ => Err(E::unknown_variant(text, &["each"])),
                }
            }

            fn visit_u64<E: Error>(self, router: u64) -> Result<Enters, E> {
                match u32::try_from(router) {
                    Ok(router @ 1..) => Ok(Enters::At(router)),
                    _ => Err(E::custom("routers are numbered from 1")),
                }
            }
        }
        deserializer.deserialize_any(Router)
    }
}

impl JsonSchema for Enters {
    fn schema_name() -> Cow<'static, str> {
        "Enters".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The number of a router, from 1, or \"each\": flow i, from 0, joins at router i + 1.",
            "oneOf": [{ "type": "integer", "minimum": 1 }, { "const": "each" }],
        })
    }
}
