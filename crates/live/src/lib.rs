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
//! | `io.rs`, `io/` | frames in and out: AF_PACKET, AF_XDP, TAP |
//! | `checks.rs`, `setup/` | what must hold before anything is touched; what is set up and put back |
//! | `privileges.rs`, `notify.rs` | what is given up after set-up; what the service manager is told |
//! | `sys/` | calls of the kernel: all unsafe code |

pub mod books;
pub mod checks;
pub mod command;
pub mod flows;
pub mod forwarder;
pub mod handover;
pub mod io;
pub mod notify;
pub mod packet;
pub mod pool;
pub mod port;
pub mod privileges;
pub mod setup;
pub mod shadow;
pub mod snapshot;
pub mod sys;
