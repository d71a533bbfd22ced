//! The live data plane: queue disciplines on real traffic between two Linux interfaces.
//!
//! In each direction packets pass a port: a queue with any of Forebay's disciplines, in front of a line with a rate.
//!
//! | file | what |
//! |---|---|
//! | `io.rs`, `io/` | frames in and out: AF_PACKET, AF_XDP, TAP |
//! | `sys/` | calls of the kernel: all unsafe code |

pub mod io;
pub mod sys;
