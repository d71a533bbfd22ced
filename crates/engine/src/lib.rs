//! The simulator: packets, links, nodes, the driver that runs them, and what is observed.
//!
//! [`NetworkBuilder`] makes a network from its description, [`Network::run`] runs it and gives a [`RunResult`]. Time is
//! an integer number of picoseconds; equal seeds give equal results to the last bit.
//!
//! | folder or file | contents |
//! |---|---|
//! | `spec/` | the description of a network: nodes, links, flows |
//! | `network.rs`, `run_so_far.rs` | the builder of a network, its run, and its time series before the end |
//! | `forwarding.rs` | which links lead to which destinations |
//! | `assembly.rs`, `assembly/` | from the description to the nodes of the driver |
//! | `driver/` | the order in which parts run, and its containers |
//! | `packet.rs`, `packet/` | the packet, and what only some packets carry |
//! | `link.rs` | a link: serialisation at a rate, propagation, impairments |
//! | `host/` | the endpoints of flows, with their applications |
//! | `router/` | the ports of hosts and routers: a queue with its link |
//! | `crossbar.rs` | a switch fabric with its inputs |
//! | `ethernet/` | switches and adapters of a lossless Ethernet |
//! | `observe/` | counters, series, traces, results |
//! | `error.rs` | why a run ends without a result |

mod assembly;
mod crossbar;
mod driver;
mod error;
mod ethernet;
pub mod forwarding;
mod host;
mod link;
mod network;
mod observe;
mod packet;
mod router;
mod run_so_far;
mod spec;

pub use driver::windows::GENERATED_IN_ROUND;
pub use error::RunError;
pub use host::application::{Application, ApplicationKind, Role, SharedKind, Socket};
pub use network::{Network, NetworkBuilder};
pub use observe::deadlock::Deadlock;
pub use observe::interval::Checkpoint;
pub use observe::machine::available_memory;
pub use observe::meter::Meter;
pub use observe::outcomes::{Outcome, OutcomeKind, OutcomeValue};
pub use observe::results::{EngineStats, RunResult};
pub use observe::trace::TraceSpec;
pub use observe::transfers::{Transfer, TransferTable};
pub use observe::watched::{CrossbarLog, LoggedPacket, LoggedPause, PacketEvent, PacketLog, PauseLog, Watched};
pub use packet::{FlowId, Packet};
pub use run_so_far::{RunSoFar, SeriesSoFar};
pub use spec::*;
