//! The headers of RDMA transports.

use forebay_qdisc::Time;
use forebay_rdma::{
    DataPacket, HomaControl, HomaPacket, NdpPacket, NdpReply, PfabricAck, PfabricPacket, Reply, RequestToSend, UecAck,
    UecNack, UecPacket,
};

/// The header of a packet of an RDMA transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    UecData(UecPacket),
    UecRequest(RequestToSend),
    UecAck(UecAck),
    UecNack(UecNack),
    /// The credit granted so far, and the choice of its path.
    UecPull(i64, u16),
    NdpData(NdpPacket),
    NdpReply(NdpReply),
    /// The number of the pull, and the choice of its path.
    NdpPull(u64, u16),
    HomaData(HomaPacket),
    HomaControl(HomaControl),
    PfabricData(PfabricPacket),
    PfabricAck(PfabricAck),
    /// With the choice of its path.
    RoceData(DataPacket, u16),
    RoceAnswer(RoceAnswer),
}

/// An ACK, a NACK or a notification of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoceAnswer {
    pub reply: Reply,
    /// When the packet that caused it left.
    pub sent_at: Time,
}

impl Header {
    /// By this a packet of the flow chooses among equal paths.
    pub fn entropy(&self) -> u16 {
        match self {
            Self::UecData(UecPacket { entropy, .. })
            | Self::UecRequest(RequestToSend { entropy, .. })
            | Self::UecAck(UecAck { entropy, .. })
            | Self::UecNack(UecNack { entropy, .. })
            | Self::UecPull(_, entropy)
            | Self::NdpData(NdpPacket { path: entropy, .. })
            | Self::NdpReply(NdpReply { path: entropy, .. })
            | Self::NdpPull(_, entropy)
            | Self::RoceData(_, entropy) => *entropy,
            Self::RoceAnswer(_)
            | Self::HomaData(_)
            | Self::HomaControl(_)
            | Self::PfabricData(_)
            | Self::PfabricAck(_) => 0,
        }
    }

    /// The length of a data packet with its payload.
    pub fn data_bytes(&self) -> Option<u32> {
        match self {
            Self::UecData(UecPacket { wire_bytes, .. })
            | Self::NdpData(NdpPacket { wire_bytes, .. })
            | Self::HomaData(HomaPacket { wire_bytes, .. })
            | Self::PfabricData(PfabricPacket { wire_bytes, .. })
            | Self::RoceData(DataPacket { wire_bytes, .. }, _) => Some(*wire_bytes),
            _ => None,
        }
    }
}

/// A header in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carried {
    pub header: Header,
    /// Whether its packet lost its payload at the port that leads to its destination.
    pub trimmed_at_last_hop: bool,
    /// The slot of its telemetry; 0 if it takes none.
    pub telemetry: u32,
    /// Bytes of its message by which a queue may rank it; 0 for control packets.
    pub remaining_bytes: u64,
}

impl Carried {
    /// A header as it leaves, with the slot of its telemetry.
    pub fn new(header: Header, telemetry: u32, remaining_bytes: u64) -> Self {
        Self { header, trimmed_at_last_hop: false, telemetry, remaining_bytes }
    }
}
