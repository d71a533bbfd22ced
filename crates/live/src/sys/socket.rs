//! Sockets and their options.
#![allow(unsafe_code, reason = "bind, setsockopt, getsockopt, sendmmsg")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};

use super::{checked, size};

/// Frames that one call sends or receives at most: beyond it a call's own cost is nothing against theirs.
pub(crate) const MOST_AT_ONCE: usize = 64;

/// A socket that does not block and is closed by exec.
pub(crate) fn open(family: AddressFamily, kind: SocketType) -> io::Result<OwnedFd> {
    Ok(socket_with(family, kind, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)?)
}

/// A packet socket that receives nothing yet.
pub(crate) fn open_packet() -> io::Result<OwnedFd> {
    open(AddressFamily::PACKET, SocketType::RAW)
}

/// Binds a packet socket to the interface `index`; it receives frames of `protocol` from then on: 0 for none.
pub(crate) fn bind_packet(fd: BorrowedFd<'_>, index: u32, protocol: u16) -> io::Result<()> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: protocol.to_be(),
        sll_ifindex: index.cast_signed(),
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let pointer = (&raw const address).cast();
    // SAFETY: the pointer and the length are those of `address`, which is only read.
    checked(unsafe { libc::bind(fd.as_raw_fd(), pointer, size::<libc::sockaddr_ll>()) })?;
    Ok(())
}

/// Sets an option whose value is a number.
pub(crate) fn set_number(fd: BorrowedFd<'_>, level: libc::c_int, name: libc::c_int, value: i32) -> io::Result<()> {
    // SAFETY: a number has no address in it; an option of another structure is refused by its length.
    unsafe { set(fd, level, name, &value) }
}

/// Sets an option whose value is a structure `T`.
///
/// # Safety
/// `T` is the option's structure, and an address in it is valid for whatever the kernel will do with it.
pub(super) unsafe fn set<T>(fd: BorrowedFd<'_>, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    let pointer = std::ptr::from_ref(value).cast();
    // SAFETY: the pointer and the length are those of `value`, which is only read.
    checked(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, pointer, size::<T>()) })?;
    Ok(())
}

/// Reads an option whose value is a structure `T`.
///
/// # Safety
/// `T` consists of numbers, so that whatever the kernel writes is a value of it.
pub(super) unsafe fn get<T: Copy>(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: &mut T,
) -> io::Result<()> {
    let mut bytes = size::<T>();
    let pointer = std::ptr::from_mut(value).cast();
    // SAFETY: the pointer and the length are those of `value`, which stays a value whatever is written, by the caller's
    // promise.
    checked(unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, pointer, &raw mut bytes) })?;
    Ok(())
}

/// The error that happened to the socket since the last call, such as that its interface went down.
pub(crate) fn take_error(fd: BorrowedFd<'_>) -> io::Result<()> {
    Ok(sockopt::socket_error(fd)??)
}

/// Lets the interface `index` take in frames for every address as long as the packet socket is open.
pub(crate) fn be_promiscuous(fd: BorrowedFd<'_>, index: u32) -> io::Result<()> {
    let request = libc::packet_mreq {
        mr_ifindex: index.cast_signed(),
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    // SAFETY: the option's structure, without an address.
    unsafe { set(fd, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request) }
}

/// Frames that a packet socket has dropped for want of room since the last call.
pub(crate) fn dropped_frames(fd: BorrowedFd<'_>) -> io::Result<u32> {
    let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    // SAFETY: the option's structure, of two numbers.
    unsafe { get(fd, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut statistics) }?;
    Ok(statistics.tp_drops)
}

/// Sends the first [`MOST_AT_ONCE`] of `frames` with one call; returns how many of them went.
pub(crate) fn send_frames(fd: BorrowedFd<'_>, frames: &[&[u8]]) -> io::Result<usize> {
    let count = frames.len().min(MOST_AT_ONCE);
    let mut pieces = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; MOST_AT_ONCE];
    // SAFETY: a structure of numbers and pointers; all zero is a value of it.
    let mut messages: [libc::mmsghdr; MOST_AT_ONCE] = unsafe { std::mem::zeroed() };
    one_piece_each(&mut messages, &mut pieces, frames.iter().map(|frame| (frame.as_ptr().cast_mut(), frame.len())));
    // SAFETY: `count` messages are valid, each with one piece that is valid for reading; the kernel does not write to
    // what it sends.
    let sent = unsafe {
        libc::sendmmsg(fd.as_raw_fd(), messages.as_mut_ptr(), count as libc::c_uint, libc::MSG_DONTWAIT as _)
    };
    Ok(checked(sent)?.unsigned_abs() as usize)
}

/// Makes each message consist of one piece of memory, given by its start and its length.
#[inline]
pub(super) fn one_piece_each(
    messages: &mut [libc::mmsghdr],
    pieces: &mut [libc::iovec],
    memory: impl Iterator<Item = (*mut u8, usize)>,
) {
    for ((piece, message), (start, bytes)) in pieces.iter_mut().zip(messages).zip(memory) {
        *piece = libc::iovec { iov_base: start.cast(), iov_len: bytes };
        message.msg_hdr.msg_iov = piece;
        message.msg_hdr.msg_iovlen = 1;
    }
}
