//! Calls of the kernel: all unsafe code of this crate.
//!
//! Each file wraps one interface of the kernel in safe functions that return [`std::io::Error`]; who calls them says
//! which interface or file was meant.

pub mod ethtool;
pub mod identity;
pub mod netlink;
mod netlink_message;
pub mod realtime;
pub mod seccomp;
pub mod signals;
pub mod tcx;
