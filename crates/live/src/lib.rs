//! The live data plane: queue disciplines on real traffic between two Linux interfaces.
//!
//! In each direction packets pass a port: a queue with any of Forebay's disciplines, in front of a line with a rate.
//!
//! | file | what |
//! |---|---|
//! | `io.rs`, `io/` | frames in and out: AF_PACKET, AF_XDP, TAP |
//! | `checks.rs`, `setup/` | what must hold before anything is touched; what is set up and put back |
//! | `privileges.rs`, `notify.rs` | what is given up after set-up; what the service manager is told |
//! | `sys/` | calls of the kernel: all unsafe code |

pub mod checks;
pub mod io;
pub mod notify;
pub mod privileges;
pub mod setup;
pub mod sys;
