//! Transports of data-center adapters as state machines: ACKs, notices and timer expiries in; packets and a deadline
//! out. No clock, no queue, no sockets: the caller owns time and the network.
//!
//! | file | contents | source |
//! |---|---|---|
//! | `controller.rs` | the interface of a controller in an adapter | |
//! | `control.rs` | the table of controllers | |
//! | `control/dcqcn.rs`, `control/dcqcn_paper.rs` | DCQCN of HPCC's simulator, and of its paper | Zhu et al. 2015 |
//! | `control/dctcp.rs` | DCTCP in hardware | Alizadeh et al. 2010 |
//! | `control/hpcc.rs`, `telemetry.rs` | HPCC, and the telemetry of switches | Li et al. 2019, int-header.h |
//! | `control/swift.rs` | Swift with PLB | Kumar et al. 2020 |
//! | `queue_pair.rs`, `roce.rs` | the sender of RoCE: window, pace, retransmissions; parameters | rdma-hw.cc |
//! | `roce_network.rs` | the constants of a network with RoCE | |
//! | `go_back_n.rs`, `irn.rs` | recovery of losses | InfiniBand; Mittal et al. 2018 |
//! | `control/nscc.rs`, `control/rccc.rs` | Ultra Ethernet: control by the sender, by credit | UE 1.0, uec.cpp |
//! | `uec.rs`, `uec/sender.rs`, `uec/receiver.rs` | sender and receiver of Ultra Ethernet | UE 1.0, uec.cpp |
//! | `ndp.rs`, `ndp/paths.rs` | NDP: sender, receiver, pull queue | Handley et al. 2017, ndp.cpp |
//! | `homa.rs`, `homa/` | Homa: sender, and the grants of a receiving host | Montazeri et al. 2018, homa_grant.c |
//! | `pfabric.rs` | pFabric: sender and receiver | Alizadeh et al. 2013, pfabricflow.cpp |
//! | `arrived.rs` | packet numbers at a receiver | |
//! | `entropy.rs` | the choice of paths by entropies | uec_mp.cpp |
//! | `control/timely.rs`, `control/patched_timely.rs` | TIMELY, and TIMELY with a fixed point | Mittal et al. 2015 |
#![no_std]

extern crate alloc;

mod arrived;
mod control;
mod controller;
mod entropy;
mod go_back_n;
mod homa;
mod irn;
mod ndp;
mod pfabric;
mod queue_pair;
mod roce;
mod roce_network;
mod telemetry;
mod uec;

#[cfg(feature = "config")]
pub use control::PAGES;
pub use control::RdmaControl;
pub use control::dcqcn::DcqcnConfig;
pub use control::dcqcn_paper::DcqcnPaperConfig;
pub use control::dctcp::DctcpConfig;
pub use control::hpcc::HpccConfig;
pub use control::nscc::{Nscc, NsccAck, NsccLaw};
pub use control::patched_timely::PatchedTimelyConfig;
pub use control::rccc::{OversubscribedControl, Pull, PullPacer, QUANTUM_BITS};
pub use control::swift::SwiftConfig;
pub use control::timely::TimelyConfig;
pub use controller::{NicController, Setup};
pub use entropy::{Entropies, LoadBalancing, PathFeedback};
pub use go_back_n::GoBackNReceiver;
pub use homa::{
    HEADER_BYTES as HOMA_HEADER_BYTES, HomaConfig, HomaControl, HomaNetwork, HomaOrder, HomaOutgoing, HomaPacket,
    HomaReceivers, HomaSender,
};
pub use irn::IrnReceiver;
pub use ndp::{
    HEADER_BYTES as NDP_HEADER_BYTES, NdpConfig, NdpNetwork, NdpPacket, NdpPull, NdpPullQueue, NdpReceiver, NdpReply,
    NdpSender,
};
pub use pfabric::{
    PfabricAck, PfabricConfig, PfabricNetwork, PfabricPacket, PfabricRanks, PfabricReceiver, PfabricSender,
};
pub use queue_pair::{Next, QueuePair};
pub use roce::{Acknowledgement, DataPacket, Recovery, Reply, ReplyKind, RoceConfig, RoceWindow};
pub use roce_network::RoceNetwork;
pub use telemetry::{Hop, Telemetry, can_name as telemetry_can_name};
pub use uec::{
    HEADER_BYTES as UEC_HEADER_BYTES, RequestToSend, SenderControl, TrimReply, UecAck, UecConfig, UecControl, UecNack,
    UecNetwork, UecNext, UecPacket, UecReceiver, UecSender,
};
