//! The live data plane: queue disciplines on real traffic between two Linux interfaces.
//!
//! In each direction packets pass a port: a queue with any of Forebay's disciplines, in front of a line with a rate.
//!
//! | file | what |
//! |---|---|
//! | `port.rs` | the port of one direction in virtual time: `packet.rs`, `pool.rs`, `handover.rs`, `shadow.rs` |
//! | `books.rs`, `flows.rs` | what a port counts; its largest flows |
//! | `forwarder.rs` | the loop of one direction, on a thread of its own |
//! | `command.rs`, `snapshot.rs` | what is asked of a direction while it runs, and what it tells of itself |
//! | `control.rs`, `control/` | the control socket: requests, changes that are undone unless confirmed, streams |
//! | `client.rs` | the other end of the control socket |
//! | `metrics.rs` | Prometheus' text over HTTP |
//! | `taps.rs` | what a capture of drops and marks, and a record of arrivals, listen with |
//! | `io.rs`, `io/` | frames in and out: AF_PACKET, AF_XDP, TAP |
//! | `sys/` | calls of the kernel: all unsafe code |

pub mod books;
pub mod client;
pub mod command;
pub mod control;
pub mod flows;
pub mod handover;
pub mod io;
pub mod metrics;
pub mod packet;
pub mod pool;
pub mod port;
pub mod shadow;
pub mod snapshot;
pub mod taps;
#[cfg(test)]
mod test_direction;
