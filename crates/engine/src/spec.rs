//! The description of a network: links with their queues, switches, adapters, flows, and probes.
//!
//! | file | contents |
//! |---|---|
//! | `link.rs` | a link and the queue at its sending end |
//! | `flow.rs`, `traffic.rs` | flows, their transports and applications; when sources send |
//! | `crossbar.rs` | the fabric of a switch |
//! | `ethernet.rs` | Ethernet switches and adapters |
//! | `links.rs`, `flows.rs` | all links and all flows of a network |
//! | `probes.rs` | the time series |
//! | `distribution.rs` | the distributions of traffic |

pub(crate) mod crossbar;
pub(crate) mod distribution;
pub(crate) mod ethernet;
pub(crate) mod flow;
pub(crate) mod flows;
pub(crate) mod link;
pub(crate) mod links;
pub(crate) mod probes;
pub(crate) mod traffic;

pub use crossbar::{FabricId, FabricSpec, Inputs};
pub use distribution::Distribution;
pub use ethernet::{AdapterSpec, Arbiter, EthernetPort, EthernetSwitchSpec, FlowControl, ServiceStep};
pub use flow::{Application, FlowSpec, Transport};
pub use link::{LinkId, LinkSpec};
pub use probes::Probes;
pub use traffic::{CellArrivals, FrameArrivals, OnOff, RateStep, UdpPattern};
