//! Calls of the kernel: all unsafe code of this crate, each call behind a function that cannot be used wrongly.

mod bpf;
pub mod clock;
pub mod interface;
mod mapping;
pub mod namespace;
pub(crate) mod packet_ring;
pub(crate) mod socket;
pub(crate) mod tun;
pub(crate) mod xdp;
mod xdp_ring;

use std::io;

/// What a system call that returns -1 and sets `errno` returned.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The size of `T` as the calls of sockets want it.
const fn size<T>() -> libc::socklen_t {
    size_of::<T>() as libc::socklen_t
}
