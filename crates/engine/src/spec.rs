//! The description of a network: links with their queues, switches, adapters, flows, and probes.
//!
//! | file | contents |
//! |---|---|
//! | `node.rs` | hosts, routers, switches |
//! | `link.rs` | a link and the queue at its sending end |
//! | `impairments.rs` | loss, duplication, delay and order of packets after their transmission |
//! | `flow.rs`, `traffic.rs` | flows, their transports and applications; when sources send |
//! | `tasks.rs` | messages that wait for others, and computations |
//! | `detour.rs` | routes that change during a run |
//! | `crossbar.rs` | a router with a fabric |
//! | `ethernet.rs` | Ethernet switches and adapters |
//! | `links.rs`, `flows.rs` | all links and all flows of a network |
//! | `probes.rs`, `watch.rs` | the time series; events that are recorded one by one |
//! | `distribution.rs` | the distributions of traffic |

pub(crate) mod crossbar;
pub(crate) mod detour;
pub(crate) mod distribution;
pub(crate) mod ethernet;
pub(crate) mod flow;
pub(crate) mod flows;
pub(crate) mod impairments;
pub(crate) mod link;
pub(crate) mod links;
pub(crate) mod node;
pub(crate) mod probes;
pub(crate) mod tasks;
pub(crate) mod traffic;
pub(crate) mod watch;

pub use crossbar::{CrossbarSpec, Inputs};
pub use detour::RouteChange;
pub use distribution::{CdfPoint, Distribution};
pub use ethernet::{AdapterSpec, Arbiter, EthernetSwitchSpec, FlowControl, WatchdogSpec};
pub use flow::{Call, FlowSpec, Message, Ping, RdmaTransport, TcpData, Transfers, Transport};
pub use impairments::{ChosenPackets, DelayStep, Impairments, Jitter, LossModel, PacketOrder, Slots};
pub use link::{LinkId, LinkSpec, Opportunities, ServiceStep};
pub use node::{NodeIndex, NodeSpec};
pub use probes::Probes;
pub use tasks::{Action, Dependency, Task, TaskEvent, TaskGraph};
pub use traffic::{CellArrivals, FrameArrivals, OnOff, RateStep, UdpPattern};
pub use watch::Watch;
