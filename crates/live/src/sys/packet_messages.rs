//! A packet socket that is read with recvmmsg(2). `forebay-live` reads a ring instead ([`super::packet_ring`]): this is
//! what the example `drain` compares the ring with.
#![allow(unsafe_code, reason = "recvmmsg")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::checked;
use super::socket::{self, MOST_AT_ONCE};

/// A packet socket with a buffer for each frame of a call.
pub struct PacketMessages {
    socket: OwnedFd,
    buffers: Vec<Vec<u8>>,
}

impl PacketMessages {
    /// Receives the frames of the interface `index` from now on, in promiscuous mode, and cuts them after
    /// `frame_bytes`. The kernel holds up to `queue_bytes` of them, its own structures included.
    ///
    /// # Errors
    /// A refusal of the kernel.
    pub fn open(index: u32, frame_bytes: usize, queue_bytes: i32) -> io::Result<Self> {
        let socket = socket::open_packet()?;
        socket::set_number(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, queue_bytes)?;
        socket::set_number(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        socket::bind_packet(socket.as_fd(), index, libc::ETH_P_ALL as u16)?;
        socket::be_promiscuous(socket.as_fd(), index)?;
        Ok(Self { socket, buffers: vec![vec![0; frame_bytes]; MOST_AT_ONCE] })
    }

    /// Shows up to `most` frames, and at most those of one call, in their order and without waiting. Returns how many.
    ///
    /// # Errors
    /// The interface is gone or down.
    pub fn receive(&mut self, most: usize, mut take: impl FnMut(&[u8])) -> io::Result<usize> {
        let mut pieces = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; MOST_AT_ONCE];
        // SAFETY: a structure of numbers and pointers; all zero is a value of it.
        let mut messages: [libc::mmsghdr; MOST_AT_ONCE] = unsafe { std::mem::zeroed() };
        let buffers = self.buffers.iter_mut().map(|buffer| (buffer.as_mut_ptr(), buffer.len()));
        socket::one_piece_each(&mut messages, &mut pieces, buffers);
        let count = most.min(MOST_AT_ONCE) as libc::c_uint;
        let fd = self.socket.as_raw_fd();
        // SAFETY: `count` messages are valid. Each has one piece, a buffer that is borrowed for it alone.
        let received =
            unsafe { libc::recvmmsg(fd, messages.as_mut_ptr(), count, libc::MSG_DONTWAIT as _, std::ptr::null_mut()) };
        let received = match checked(received) {
            Ok(received) => received.unsigned_abs() as usize,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        for (message, buffer) in messages[..received].iter().zip(&self.buffers) {
            take(&buffer[..message.msg_len as usize]);
        }
        Ok(received)
    }

    /// Becomes readable when there are frames.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Frames that the kernel dropped since the last call because it held enough.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn dropped(&self) -> io::Result<u32> {
        socket::dropped_frames(self.socket.as_fd())
    }
}
