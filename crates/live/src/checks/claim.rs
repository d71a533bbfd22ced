//! That only one Forebay uses an interface.
//!
//! The claim is an abstract UNIX socket named after the interface: the kernel lets one process have it, and takes it
//! back at any end of that process, so that nothing stale is ever left. It determines which Forebay is first, and is no
//! protection: any local process can take the name, and then Forebay does not start.

use std::fs;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use super::CheckError;

/// Keeps other Forebays from an interface while it is held.
#[derive(Debug)]
pub struct Claim {
    _socket: UnixDatagram,
}

impl Claim {
    /// Claims the interface of this name and number.
    ///
    /// # Errors
    /// Another process has claimed it.
    pub fn of(interface: &str, index: u32) -> Result<Self, CheckError> {
        match claim(index) {
            Ok(socket) => Ok(Self { _socket: socket }),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                Err(CheckError::InUse { interface: interface.into() })
            }
            Err(source) => Err(CheckError::Unreadable { source }),
        }
    }
}

fn claim(index: u32) -> io::Result<UnixDatagram> {
    // The number is one of this network namespace, whose own number is that of this file.
    let namespace = fs::metadata("/proc/thread-self/ns/net")?.ino();
    let name = format!("forebay-live/{index}@{namespace}");
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_claimed_once_at_a_time() {
        // No interface has such a number.
        let index = u32::MAX - std::process::id();
        let first = Claim::of("lan0", index).expect("it is free");
        let second = Claim::of("lan0", index).expect_err("it is taken");
        assert!(matches!(second, CheckError::InUse { interface } if interface == "lan0"));
        drop(first);
        Claim::of("lan0", index).expect("it is free again");
    }
}
