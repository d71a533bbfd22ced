//! An interface by its name, and the error if it cannot be opened.

use std::io;
use std::os::fd::BorrowedFd;

use crate::sys::namespace;
use crate::sys::netlink::Netlink;

const ETHERNET_HEADER_BYTES: usize = 14;
const VLAN_TAG_BYTES: usize = 4;

/// An interface of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The name that `ip link` shows.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// The longest packet that it carries, without the Ethernet header.
    pub mtu: u32,
}

impl Interface {
    /// The interface called `name` in the network namespace of the calling thread.
    ///
    /// # Errors
    /// There is none.
    pub fn find(name: &str) -> Result<Self, OpenError> {
        let link = Netlink::open().and_then(|mut kernel| kernel.find(name));
        let link = link.map_err(|error| OpenError::kernel(name, "RTM_GETLINK", error))?;
        Ok(Self { name: link.name, index: link.index, mtu: link.mtu })
    }

    /// Bytes of the longest frame that it carries, with the Ethernet header and a VLAN tag.
    #[must_use]
    pub const fn longest_frame(&self) -> usize {
        self.mtu as usize + ETHERNET_HEADER_BYTES + VLAN_TAG_BYTES
    }

    /// Whether the calling thread is in the network namespace where it was found, by a `socket` that was opened there.
    pub(super) fn is_here(&self, socket: BorrowedFd<'_>) -> bool {
        Self::find(&self.name).is_ok_and(|found| found.index == self.index) && namespace::is_of(socket)
    }

    /// Those of `frames` before the first that cannot be sent on it.
    ///
    /// # Errors
    /// `InvalidInput` where that is the very first.
    pub(super) fn carried<'a, 'b>(&self, frames: &'a [&'b [u8]]) -> io::Result<&'a [&'b [u8]]> {
        match frames.iter().position(|frame| !self.carries(frame)) {
            None => Ok(frames),
            Some(0) => {
                let bytes = frames[0].len();
                let text = format!("a frame of {bytes} bytes exceeds the MTU of {}, which is {}", self.name, self.mtu);
                Err(io::Error::new(io::ErrorKind::InvalidInput, text))
            }
            Some(count) => Ok(&frames[..count]),
        }
    }

    /// Whether `frame` can be sent on it: a header at least, and no more behind it and a VLAN tag than the MTU.
    fn carries(&self, frame: &[u8]) -> bool {
        let tagged = matches!(frame.get(12..14), Some([0x81, 0x00] | [0x88, 0xa8]));
        let header = ETHERNET_HEADER_BYTES + if tagged { VLAN_TAG_BYTES } else { 0 };
        (header..=header + self.mtu as usize).contains(&frame.len())
    }
}

/// Why an interface was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The kernel refused a call.
    #[error("interface {interface}: {call}: {source}: {remedy}")]
    Kernel {
        /// The interface's name.
        interface: String,
        /// The failed call.
        call: &'static str,
        /// The kernel's error.
        source: io::Error,
        /// The remedy.
        remedy: String,
    },
    /// The interface does not fit the method.
    #[error("interface {interface}: {reason}: {remedy}")]
    Unfit {
        /// The interface's name.
        interface: String,
        /// The mismatch.
        reason: String,
        /// The remedy.
        remedy: String,
    },
}

impl OpenError {
    /// `call` on `interface` failed with `source`; the remedy follows from that.
    pub(super) fn kernel(interface: &str, call: &'static str, source: io::Error) -> Self {
        let remedy = remedy(interface, call, &source);
        Self::Kernel { interface: interface.to_owned(), call, source, remedy }
    }
}

fn remedy(interface: &str, call: &str, error: &io::Error) -> String {
    let known = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) if call.contains("bpf") => {
            "run as root or with CAP_BPF, CAP_NET_RAW and CAP_NET_ADMIN"
        }
        Some(libc::EPERM | libc::EACCES) => "run as root or with CAP_NET_RAW and CAP_NET_ADMIN",
        Some(libc::ENETDOWN) => return format!("switch it on: `ip link set {interface} up`"),
        Some(libc::ENODEV | libc::ENXIO) => "this network namespace has no such interface: see `ip link`",
        Some(libc::EBUSY | libc::EEXIST) => {
            return format!("another program holds it (an XDP program or a socket): see `ip -d link show {interface}`");
        }
        Some(libc::ENOMEM | libc::ENOBUFS) => "not enough memory for its rings: free memory, or lower its MTU",
        Some(libc::ENOENT) => "load its driver: `modprobe tun`",
        Some(libc::EAFNOSUPPORT | libc::ENOPROTOOPT | libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL) => {
            "the kernel does not support this; use Linux 5.10 or newer"
        }
        _ => "unexpected error: see the kernel's log (`dmesg`)",
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_interface_the_call_and_the_remedy() {
        let error = OpenError::kernel("lan0", "bind", io::Error::from_raw_os_error(libc::ENETDOWN));
        let text = error.to_string();
        for part in ["lan0", "bind", "Network is down", "ip link set lan0 up"] {
            assert!(text.contains(part), "{text}");
        }
        let error = OpenError::kernel("lan0", "socket", io::Error::from_raw_os_error(libc::EPERM));
        assert!(error.to_string().contains("CAP_NET_RAW"), "{error}");
        let error = Interface::find("no-such-one").unwrap_err();
        assert!(error.to_string().contains("no such interface"), "{error}");
    }

    #[test]
    fn a_vlan_tag_does_not_count_against_the_mtu() {
        let interface = Interface { name: "lan0".to_owned(), index: 1, mtu: 1500 };
        assert_eq!(interface.longest_frame(), 1518);
        let mut frame = vec![0; 1518];
        assert!(!interface.carries(&frame));
        frame[12..14].copy_from_slice(&[0x81, 0x00]);
        assert!(interface.carries(&frame));
        assert!(!interface.carries(&frame[..17]), "a tag that is cut");
        assert!(interface.carries(&[0; 14]) && !interface.carries(&[0; 13]) && !interface.carries(&[]));
    }
}
