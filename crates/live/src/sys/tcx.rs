//! A program that drops every frame at an interface's entrance, for as long as this process lives.
//!
//! It is attached as a *bpf_link*: the kernel detaches it when the last descriptor of it is closed, so at any end of the
//! process, kill -9 included. Packet sockets are served before it and go on seeing every frame.

#![allow(unsafe_code, reason = "bpf(2) takes pointers")]

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_LINK_CREATE: libc::c_int = 28;
const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;
const BPF_TCX_INGRESS: u32 = 46;

/// `r0 = TCX_DROP; exit`, eight bytes each: operation, registers, offset, immediate value.
const DROP: [u64; 2] = [instruction(0xb7, 2), instruction(0x95, 0)];

const fn instruction(operation: u8, immediate: i32) -> u64 {
    let [a, b, c, d] = immediate.to_ne_bytes();
    u64::from_ne_bytes([operation, 0, 0, 0, a, b, c, d])
}

/// The beginning of the kernel's `union bpf_attr` for loading; it takes what is left out for zeros.
#[repr(C)]
struct Load {
    program_type: u32,
    instructions: u32,
    code: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    expected_attach_type: u32,
}

/// The same for attaching.
#[repr(C)]
struct Attach {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
    relative: u32,
    padding: u32,
    expected_revision: u64,
}

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
        let program = load()?;
        let attach = Attach {
            program: program.as_raw_fd().cast_unsigned(),
            interface,
            attach_type: BPF_TCX_INGRESS,
            flags: 0,
            relative: 0,
            padding: 0,
            expected_revision: 0,
        };
        // SAFETY: `attach` lives through the call and has no pointer in it; the size given is its own.
        let link = unsafe { libc::syscall(libc::SYS_bpf, BPF_LINK_CREATE, &raw const attach, size_of::<Attach>()) };
        // The link keeps the program.
        Ok(Self { link: owned(link)? })
    }

    /// The index of the interface that it is attached to, read back from the kernel: none when it is attached no more,
    /// as after the interface was deleted.
    pub fn attached_to(&self) -> Option<u32> {
        let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", self.link.as_raw_fd())).ok()?;
        attached_interface(&text)
    }
}

/// What the kernel tells about a link: lines such as `ifindex: 3`.
fn attached_interface(text: &str) -> Option<u32> {
    let value = text.lines().find_map(|line| line.strip_prefix("ifindex:"))?;
    value.trim().parse().ok().filter(|index| *index > 0)
}

fn load() -> io::Result<OwnedFd> {
    let mut name = [0; 16];
    name[..12].copy_from_slice(b"forebay_hold");
    let load = Load {
        program_type: BPF_PROG_TYPE_SCHED_CLS,
        instructions: 2,
        code: DROP.as_ptr() as u64,
        license: c"MIT".as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
        name,
        interface: 0,
        expected_attach_type: BPF_TCX_INGRESS,
    };
    // SAFETY: `load` lives through the call; its code points to two instructions, as it says, and its licence to a
    // string that ends in a zero byte, both constants; it asks for no log; the size given is its own.
    let program = unsafe { libc::syscall(libc::SYS_bpf, BPF_PROG_LOAD, &raw const load, size_of::<Load>()) };
    owned(program)
}

/// The descriptor that a call returned. bpf(2) sets close-on-exec on it, so that no other program keeps the entrance
/// shut.
fn owned(returned: libc::c_long) -> io::Result<OwnedFd> {
    let Ok(fd) = libc::c_int::try_from(returned) else { return Err(io::Error::other("not a file descriptor")) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just returned this descriptor, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_two_instructions_that_say_drop() {
        let bytes: Vec<u8> = DROP.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let drop = 2_i32.to_ne_bytes();
        assert_eq!(bytes[..8], [0xb7, 0, 0, 0, drop[0], drop[1], drop[2], drop[3]]);
        assert_eq!(bytes[8..], [0x95, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_link_tells_its_interface_until_that_is_gone() {
        assert_eq!(attached_interface("pos:\t0\nlink_type:\ttcx\nifindex:\t7\nattach_type:\t46\n"), Some(7));
        assert_eq!(attached_interface("ifindex:\t0\n"), None);
        assert_eq!(attached_interface("pos:\t0\n"), None);
    }
}
