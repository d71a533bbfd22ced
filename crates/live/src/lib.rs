//! The live data plane: queue disciplines on real traffic between two Linux interfaces.
//!
//! In each direction packets pass a port: a queue with any of Forebay's disciplines, in front of a line with a rate.
//!
//! | file | contents |
//! |---|---|
//! | `port.rs` | the port of one direction in virtual time: `packet.rs`, `pool.rs`, `handover.rs`, `shadow.rs` |
//! | `counters.rs`, `flows.rs` | the counters of a port; its largest flows |
//! | `config.rs`, `configure.rs` | the TOML file; from another one to changes of what runs |
//! | `run.rs`, `run/` | from a configuration to two directions that forward, and to the network as it was |
//! | `forwarder.rs` | the loop of one direction, on a thread of its own |
//! | `command.rs`, `snapshot.rs` | commands to a running direction, and its state |
//! | `control.rs`, `control/` | the control socket: requests, changes that are undone unless confirmed, streams |
//! | `client.rs` | the other end of the control socket |
//! | `metrics.rs` | Prometheus' text over HTTP |
//! | `taps.rs` | the taps of a capture of drops and marks, and of a record of arrivals |
//! | `io.rs`, `io/` | frames in and out: AF_PACKET, AF_XDP, TAP |
//! | `checks.rs`, `setup/` | conditions that must hold before any change; setup and restoration |
//! | `privileges.rs`, `notify.rs` | dropped privileges after setup; messages to the service manager |
//! | `sys/` | calls of the kernel: all unsafe code |

pub mod checks;
pub mod client;
pub mod command;
pub mod config;
pub mod configure;
pub mod control;
pub mod counters;
pub mod flows;
pub mod forwarder;
pub mod handover;
pub mod histogram;
pub mod io;
pub mod metrics;
pub mod notify;
pub mod packet;
pub mod pool;
pub mod port;
pub mod privileges;
pub mod run;
pub mod setup;
pub mod shadow;
pub mod snapshot;
pub mod sys;
pub mod taps;
#[cfg(test)]
mod test_direction;
