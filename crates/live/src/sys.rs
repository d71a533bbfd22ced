//! Calls of the kernel: all unsafe code of this crate, each call behind a function that cannot be used wrongly.
//!
//! Each file wraps one interface of the kernel in safe functions that return [`std::io::Error`]; who calls them says
//! which interface or file was meant.

mod bpf;
pub mod clock;
pub mod ethtool;
pub mod identity;
mod mapping;
pub mod namespace;
pub mod netlink;
pub mod packet_messages;
pub(crate) mod packet_ring;
pub mod realtime;
pub mod seccomp;
pub mod signals;
pub(crate) mod socket;
pub mod tcx;
pub(crate) mod tun;
pub(crate) mod unix_listener;
pub(crate) mod xdp;
mod xdp_ring;

use std::io;

/// The result of a system call that returns -1 and sets `errno`.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A request about the interface `name`, with `data` for the call that takes it.
fn interface_request(name: &str, data: libc::__c_anonymous_ifr_ifru) -> io::Result<libc::ifreq> {
    let mut request = libc::ifreq { ifr_name: [0; libc::IFNAMSIZ], ifr_ifru: data };
    if name.is_empty() || name.len() >= request.ifr_name.len() || name.contains('\0') {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from.cast_signed() as libc::c_char;
    }
    Ok(request)
}

/// The size of `T` as the calls of sockets want it.
const fn size<T>() -> libc::socklen_t {
    size_of::<T>() as libc::socklen_t
}
