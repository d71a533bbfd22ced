//! Packet sockets: any interface, any kernel of the last ten years, and no privilege once they are open.
//!
//! Frames come through a ring of the second version of packet(7), because the third adds the time-out of its blocks to
//! every delay. They go by sendmmsg on a second socket past the interface's own queue: the one queue is ours.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::{Halves, Interface, OpenError, Receive, ReceivedFrame, Transmit, VlanTag};
use crate::sys::packet_ring::{PacketRing, Slot};
use crate::sys::socket::{self, MOST_AT_ONCE};

/// The options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Frames that the receive ring holds at least.
    pub ring_frames: usize,
    /// Bytes of frames that the kernel holds at most for sending.
    pub send_buffer_bytes: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { ring_frames: 4096, send_buffer_bytes: 4 << 20 }
    }
}

/// Opens both halves of `interface`. It receives from now on, in promiscuous mode as long as the receiving half lives.
///
/// # Errors
/// A refusal of the kernel, with the remedy.
pub fn open(interface: &Interface, options: Options) -> Result<Halves, OpenError> {
    let receive = Box::new(Receiver::open(interface, options)?);
    let transmit = Box::new(Transmitter::open(interface, options)?);
    Ok(Halves { receive, transmit })
}

struct Receiver {
    ring: PacketRing,
    dropped: u64,
}

impl Receiver {
    fn open(interface: &Interface, options: Options) -> Result<Self, OpenError> {
        let failed = |call| move |error| OpenError::kernel(&interface.name, call, error);
        let socket = socket::open_packet().map_err(failed("socket(AF_PACKET)"))?;
        let ring = PacketRing::new(socket, options.ring_frames, interface.longest_frame())
            .map_err(failed("setsockopt(PACKET_RX_RING)"))?;
        socket::set_number(ring.fd(), libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)
            .map_err(failed("setsockopt(PACKET_IGNORE_OUTGOING)"))?;
        // Only now, so that nothing comes before the ring is there or from another interface.
        socket::bind_packet(ring.fd(), interface.index, libc::ETH_P_ALL as u16).map_err(failed("bind"))?;
        // If the interface is down, bind succeeds and the error arrives here.
        socket::take_error(ring.fd()).map_err(failed("bind"))?;
        socket::be_promiscuous(ring.fd(), interface.index).map_err(failed("setsockopt(PACKET_ADD_MEMBERSHIP)"))?;
        Ok(Self { ring, dropped: 0 })
    }
}

impl Receive for Receiver {
    fn receive(&mut self, most: usize, take: &mut dyn FnMut(ReceivedFrame<'_>)) -> io::Result<usize> {
        let shown = self.ring.show(most, |slot| take(frame(slot)));
        if shown == 0 && most > 0 {
            socket::take_error(self.ring.fd())?;
        }
        Ok(shown)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.ring.fd()
    }

    fn dropped_by_kernel(&mut self) -> u64 {
        // The kernel counts from zero again after each answer; where it does not answer, nothing is added.
        self.dropped += u64::from(socket::dropped_frames(self.ring.fd()).unwrap_or(0));
        self.dropped
    }
}

fn frame(slot: Slot<'_>) -> ReceivedFrame<'_> {
    ReceivedFrame {
        bytes: slot.bytes,
        vlan: vlan_tag(slot.status, slot.vlan),
        wire_bytes: slot.wire_bytes,
        checksum_unfinished: slot.status & libc::TP_STATUS_CSUMNOTREADY != 0,
    }
}

/// The tag as in the frame.
fn vlan_tag(status: u32, (control, protocol): (u16, u16)) -> Option<VlanTag> {
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let known = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
    let [p0, p1] = if known { protocol } else { libc::ETH_P_8021Q as u16 }.to_be_bytes();
    let [c0, c1] = control.to_be_bytes();
    VlanTag::new([p0, p1, c0, c1])
}

struct Transmitter {
    socket: OwnedFd,
}

impl Transmitter {
    fn open(interface: &Interface, options: Options) -> Result<Self, OpenError> {
        let failed = |call| move |error| OpenError::kernel(&interface.name, call, error);
        let socket = socket::open_packet().map_err(failed("socket(AF_PACKET)"))?;
        // Protocol 0: it receives nothing.
        socket::bind_packet(socket.as_fd(), interface.index, 0).map_err(failed("bind"))?;
        socket::take_error(socket.as_fd()).map_err(failed("bind"))?;
        let bypass = socket::set_number(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1);
        bypass.map_err(failed("setsockopt(PACKET_QDISC_BYPASS)"))?;
        let bytes = i32::try_from(options.send_buffer_bytes).unwrap_or(i32::MAX);
        // Beyond the limit of net.core.wmem_max, which needs a privilege: without it, the limit.
        if socket::set_number(socket.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, bytes).is_err() {
            socket::set_number(socket.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUF, bytes)
                .map_err(failed("setsockopt(SO_SNDBUF)"))?;
        }
        Ok(Self { socket })
    }
}

impl Transmit for Transmitter {
    fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize> {
        let mut sent = 0;
        for batch in frames.chunks(MOST_AT_ONCE) {
            match socket::send_frames(self.socket.as_fd(), batch) {
                Ok(count) => {
                    sent += count;
                    if count < batch.len() {
                        break;
                    }
                }
                // An error of this frame is reported when it is the first.
                Err(_) if sent > 0 => break,
                Err(error) => return refused(error),
            }
        }
        Ok(sent)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The meaning of a refusal of the first frame with `error`.
fn refused(error: io::Error) -> io::Result<usize> {
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => Ok(0),
        Some(libc::EMSGSIZE | libc::EINVAL) => Err(io::Error::new(io::ErrorKind::InvalidInput, error)),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_put_together_as_it_stood() {
        let valid = libc::TP_STATUS_VLAN_VALID;
        assert_eq!(vlan_tag(0, (5, 0x8100)), None);
        assert_eq!(vlan_tag(valid, (0x2005, 0)), VlanTag::new([0x81, 0x00, 0x20, 0x05]));
        assert_eq!(vlan_tag(valid | libc::TP_STATUS_VLAN_TPID_VALID, (7, 0x88a8)), VlanTag::new([0x88, 0xa8, 0, 7]));
    }

    #[test]
    fn a_full_queue_is_no_error_and_a_long_frame_is_its_own() {
        assert_eq!(refused(io::Error::from_raw_os_error(libc::ENOBUFS)).unwrap(), 0);
        let long = refused(io::Error::from_raw_os_error(libc::EMSGSIZE)).unwrap_err();
        assert_eq!(long.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(
            refused(io::Error::from_raw_os_error(libc::ENETDOWN)).unwrap_err().raw_os_error(),
            Some(libc::ENETDOWN)
        );
    }
}
