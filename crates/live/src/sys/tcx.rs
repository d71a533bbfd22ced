//! A program that drops every frame at an interface's entrance, for as long as this process lives.
//!
//! It is attached as a *bpf_link*: the kernel detaches it when the last descriptor of it is closed, so at any end of
//! the process, kill -9 included. Packet sockets are served before it and go on seeing every frame.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use super::bpf::{self, Instruction, Place};

/// The program's return value for every frame: TCX_DROP.
const TCX_DROP: i32 = 2;

/// The interface's entrance is shut while this is held.
#[derive(Debug)]
pub struct TcxDrop {
    link: OwnedFd,
}

impl TcxDrop {
    /// Shuts the entrance of the interface with this index.
    ///
    /// # Errors
    /// The kernel is older than 6.6 (`EINVAL`), or the process lacks `CAP_BPF` or `CAP_NET_ADMIN` (`EPERM`).
    pub fn attach(interface: u32) -> io::Result<Self> {
        let drop = [Instruction::result(TCX_DROP), Instruction::EXIT];
        let program = bpf::load(Place::TcxIngress, b"forebay_hold", &drop)?;
        Ok(Self { link: bpf::attach(Place::TcxIngress, program.as_fd(), interface)? })
    }

    /// The index of the interface that it is attached to, read back from the kernel: none when it is attached no more,
    /// as after the interface was deleted.
    pub fn attached_to(&self) -> Option<u32> {
        let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", self.link.as_raw_fd())).ok()?;
        attached_interface(&text)
    }
}

/// Information of the kernel about a link: lines such as `ifindex: 3`.
fn attached_interface(text: &str) -> Option<u32> {
    let value = text.lines().find_map(|line| line.strip_prefix("ifindex:"))?;
    value.trim().parse().ok().filter(|index| *index > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_tells_its_interface_until_that_is_gone() {
        assert_eq!(attached_interface("pos:\t0\nlink_type:\ttcx\nifindex:\t7\nattach_type:\t46\n"), Some(7));
        assert_eq!(attached_interface("ifindex:\t0\n"), None);
        assert_eq!(attached_interface("pos:\t0\n"), None);
    }
}
