//! Network namespaces. Entering one is for tests and examples, which keep their traffic inside namespaces of their own.
#![allow(unsafe_code, reason = "a socket option")]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::net::{AddressFamily, SocketType};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Moves the calling thread into the network namespace at `path` (`/run/netns/NAME`). Sockets stay in the namespace
/// where they were opened.
///
/// # Errors
/// There is none at `path`, or the thread may not (CAP_SYS_ADMIN).
pub fn enter(path: &Path) -> io::Result<()> {
    Ok(move_into_link_name_space(File::open(path)?.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Whether `socket` was opened in the network namespace that the calling thread is in now. Kernels before 5.14 cannot
/// tell: then it is taken to be so.
pub(crate) fn is_of(socket: BorrowedFd<'_>) -> bool {
    let here = super::socket::open(AddressFamily::INET, SocketType::DGRAM).and_then(|here| cookie(here.as_fd()));
    match (cookie(socket), here) {
        (Ok(of_socket), Ok(here)) => of_socket == here,
        _ => true,
    }
}

/// The number of the namespace of `socket`, which no other had since the machine's start.
fn cookie(socket: BorrowedFd<'_>) -> io::Result<u64> {
    const SO_NETNS_COOKIE: libc::c_int = 71;
    let mut cookie: u64 = 0;
    // SAFETY: a number.
    unsafe { super::socket::get(socket, libc::SOL_SOCKET, SO_NETNS_COOKIE, &mut cookie) }?;
    Ok(cookie)
}
