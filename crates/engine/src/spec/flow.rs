//! A flow: its transport, its data, and its ends.

use std::sync::Arc;

use forebay_qdisc::{Ecn, Span, Time};
use forebay_rdma::{
    HOMA_HEADER_BYTES, HomaNetwork, NDP_HEADER_BYTES, NdpNetwork, PfabricNetwork, RoceNetwork, UEC_HEADER_BYTES,
    UecNetwork,
};
use forebay_switching::Bytes;
use forebay_tcp::TcpConfig;

use crate::host::application::SharedKind;
use crate::spec::{CellArrivals, Distribution, FrameArrivals, NodeIndex, UdpPattern};

/// The data of a TCP connection.
#[derive(Clone, Debug, PartialEq)]
pub enum TcpData {
    /// Data without end.
    Unlimited,
    /// This many bytes, then close.
    Fixed {
        /// The bytes.
        bytes: u64,
    },
    /// A connection for each of the transfers that arrive between `start` and `stop`.
    Transfers(Transfers),
    /// Those of applications at both ends. The flow's source is the server.
    BothWays(SharedKind),
}

/// Transfers that arrive during the run, of the same two hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfers {
    /// Time between the arrivals of two transfers in picoseconds.
    pub gap: Distribution,
    /// Payload of a transfer in bytes.
    pub size: Distribution,
    /// The most connections at a time: a transfer that finds all of them in use waits. At least 1.
    pub connections: u32,
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// How long its receiver holds the packet with the least delay; `None`: the receiver adapts to the jitter.
    pub jitter_buffer: Option<Span>,
}

/// A ping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ping {
    /// Time from packet to packet; `None`: the next follows when the one before is answered or lost.
    pub gap: Option<Span>,
    /// A packet is lost if it has no answer after this time.
    pub timeout: Span,
    /// Length of a packet, and of its answer, in bytes on the wire.
    pub len_bytes: u16,
    /// ECN codepoint of packets and answers.
    pub ecn: Ecn,
}

/// A message over an RDMA transport.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The transport, with the constants of the network.
    pub transport: RdmaTransport,
    /// Payload; `None`: data without end.
    pub bytes: Option<u64>,
    /// The round trip of a full packet and its answer between the two hosts, without queues.
    pub base_round_trip: Span,
    /// Links of the path, one way.
    pub hops: u32,
}

/// An RDMA transport. The flows of a group share its constants.
#[derive(Clone, Debug, PartialEq)]
pub enum RdmaTransport {
    /// Ultra Ethernet.
    Uec(Arc<UecNetwork>),
    /// NDP.
    Ndp(Arc<NdpNetwork>),
    /// Homa.
    Homa(Arc<HomaNetwork>),
    /// pFabric.
    Pfabric(Arc<PfabricNetwork>),
    /// RoCE.
    Roce(Arc<RoceNetwork>),
}

impl RdmaTransport {
    /// Its name in results.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Uec(_) => "uec",
            Self::Ndp(_) => "ndp",
            Self::Homa(_) => "homa",
            Self::Pfabric(_) => "pfabric",
            Self::Roce(_) => "roce",
        }
    }

    /// Whether its packets carry what equal paths are chosen by.
    #[must_use]
    pub fn sprays(&self) -> bool {
        match self {
            // With one path, too, the packets and not the name of the flow choose it.
            Self::Uec(_) | Self::Ndp(_) => true,
            Self::Homa(_) | Self::Pfabric(_) => false,
            // Few controllers change the path of a flow, but each may.
            Self::Roce(network) => network.config.control.changes_paths(),
        }
    }

    /// Bytes of a control packet, and of a packet that was trimmed.
    pub(crate) fn least_bytes(&self) -> u32 {
        match self {
            Self::Uec(_) => UEC_HEADER_BYTES,
            Self::Ndp(_) => NDP_HEADER_BYTES,
            Self::Homa(_) => HOMA_HEADER_BYTES,
            Self::Pfabric(network) => network.header_bytes(),
            Self::Roce(network) => network.config.answer_bytes().min(network.config.header_bytes() as u32 + 1),
        }
    }
}

/// The transport of a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// TCP.
    Tcp {
        /// Its settings, validated.
        config: TcpConfig,
        /// Its data.
        data: TcpData,
    },
    /// UDP.
    Udp {
        /// When it sends.
        pattern: UdpPattern,
        /// Packet length in bytes on the wire.
        length: Distribution,
        /// Bytes of each packet that are not payload.
        header_bytes: u16,
        /// ECN codepoint of its packets.
        ecn: Ecn,
        /// If it is a call, whose quality the results have.
        call: Option<Call>,
    },
    /// Datagrams that the destination sends back.
    Ping(Ping),
    /// Cells on the slots of a line. Flows that follow each other and have the same `line` share one source, which
    /// draws for each cell whose it is.
    Cells {
        /// The line.
        line: u32,
        /// How likely a cell of the line is this flow's, relative to the others'.
        share: f64,
        /// When the line's cells come; the first flow of the line decides.
        arrivals: CellArrivals,
        /// Length of a cell in bytes on the wire.
        len_bytes: u16,
        /// Time of a cell on the line.
        slot: Span,
    },
    /// A message over an RDMA transport.
    Message(Message),
    /// Ethernet frames, between adapters. Flows of a group with the same source and the same `generator` share one,
    /// which draws for each frame whose it is.
    Frames {
        /// The generator.
        generator: u32,
        /// How likely a frame of the generator is this flow's, relative to the others'.
        share: f64,
        /// When the generator's frames come; its first flow decides.
        arrivals: FrameArrivals,
        /// Length of a frame in bytes on the wire.
        len_bytes: u16,
        /// Whether its frames are ECT(0).
        ecn: bool,
        /// The flow's own set-point for E2CM; `None`: the scheme's.
        set_point: Option<Bytes>,
    },
}

impl Transport {
    /// Whether switches append telemetry to its packets.
    pub(crate) fn takes_telemetry(&self) -> bool {
        matches!(self, Self::Message(Message { transport: RdmaTransport::Roce(network), .. })
            if network.config.control.takes_telemetry())
    }

    /// The least length of its data packets and of its ACKs in bytes on the wire; `None` if it has no ACKs. Those of a
    /// ping are its answers.
    pub(crate) fn least_bytes(&self) -> (u32, Option<u32>) {
        match self {
            Self::Tcp { config, .. } => {
                let ack_bytes = config.ack_bytes() as u32;
                // A data packet carries a byte or more, even if headers are not counted.
                (ack_bytes.min(config.header_bytes() as u32 + 1), Some(ack_bytes))
            }
            Self::Udp { length, .. } => match *length {
                Distribution::Constant(bytes) | Distribution::Uniform(bytes, _) => {
                    (bytes.clamp(1.0, 65_535.0) as u32, None)
                }
                Distribution::Empirical(ref points) => {
                    (points.first().map_or(1, |least| least.value.clamp(1.0, 65_535.0) as u32), None)
                }
                Distribution::Exponential(_) | Distribution::Normal { .. } | Distribution::Pareto { .. } => (1, None),
            },
            Self::Message(Message { transport, .. }) => (transport.least_bytes(), Some(transport.least_bytes())),
            Self::Ping(Ping { len_bytes, .. }) => (u32::from(*len_bytes), Some(u32::from(*len_bytes))),
            Self::Cells { len_bytes, .. } | Self::Frames { len_bytes, .. } => (u32::from(*len_bytes), None),
        }
    }
}

/// A flow.
pub struct FlowSpec {
    /// Its name in results; also that of its random streams.
    pub name: String,
    /// The group it belongs to.
    pub group: String,
    /// Its transport.
    pub transport: Transport,
    /// The node where it begins.
    pub source: NodeIndex,
    /// The node where it ends.
    pub destination: NodeIndex,
    /// When it starts.
    pub start: Time,
    /// When it stops; [`Time::NEVER`] for never.
    pub stop: Time,
    /// Traffic class of its packets.
    pub class: u8,
    /// Processing times of the hosts at its source and at its destination, in picoseconds: a random delay before a
    /// packet leaves. Packets of a host keep their order.
    pub host_jitter: [Distribution; 2],
}
