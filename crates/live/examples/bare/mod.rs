//! Forwarding with nothing between the two interfaces: the reference for every way through a queue.

use std::error::Error;
use std::io;
use std::os::fd::BorrowedFd;

use forebay_live::io::{
    Halves, Interface, OpenError, Receive, ReceivedFrame, Transmit, VlanTag, af_packet, af_xdp, tap,
};
use forebay_live::sys::packet_messages::PacketMessages;

const AT_ONCE: usize = 64;
/// Room in the kernel for 4096 frames of 1514 B, each in a buffer of 4 KB.
const MESSAGES_BYTES: i32 = 16 << 20;

/// Opens an interface by a method's name: af_packet, messages (AF_PACKET without a receive ring), af_xdp or tap.
pub fn open(method: &str, name: &str) -> Result<Halves, Box<dyn Error>> {
    let opened: Result<Halves, OpenError> = match method {
        "af_packet" => af_packet::open(&Interface::find(name)?, af_packet::Options::default()),
        "messages" => return messages(&Interface::find(name)?),
        "af_xdp" => af_xdp::open(&Interface::find(name)?, af_xdp::Options::default()),
        "tap" => tap::open(name, tap::Options::default()).map(|(_, halves)| halves),
        _ => return Err(format!("{method} is none of af_packet, messages, af_xdp, tap").into()),
    };
    Ok(opened?)
}

/// Receives with recvmmsg and sends as af_packet does.
fn messages(interface: &Interface) -> Result<Halves, Box<dyn Error>> {
    let transmit = af_packet::open(interface, af_packet::Options { ring_frames: 1, ..Default::default() })?.transmit;
    let socket = PacketMessages::open(interface.index, interface.longest_frame(), MESSAGES_BYTES)?;
    Ok(Halves { receive: Box::new(Messages { socket, dropped: 0 }), transmit })
}

/// AF_PACKET without a ring. It omits information that a forwarder needs: VLAN tags, and whether a checksum is
/// finished.
struct Messages {
    socket: PacketMessages,
    dropped: u64,
}

impl Receive for Messages {
    fn receive(&mut self, most: usize, take: &mut dyn FnMut(ReceivedFrame<'_>)) -> io::Result<usize> {
        self.socket.receive(most, |bytes| {
            take(ReceivedFrame { bytes, vlan: None, wire_bytes: bytes.len() as u32, checksum_unfinished: false });
        })
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.fd()
    }

    fn dropped_by_kernel(&mut self) -> u64 {
        self.dropped += u64::from(self.socket.dropped().unwrap_or(0));
        self.dropped
    }
}

/// One direction.
#[derive(Default)]
pub struct Way {
    buffers: Vec<Vec<u8>>,
    /// Frames that the kernel took.
    pub sent: u64,
    /// Frames that it did not take.
    pub given_up: u64,
}

impl Way {
    /// Forwards what is there; returns how many frames that were.
    pub fn step(&mut self, from: &mut dyn Receive, to: &mut dyn Transmit) -> io::Result<usize> {
        self.buffers.resize_with(AT_ONCE, Vec::new);
        let mut filled = 0;
        from.receive(AT_ONCE, &mut |frame| {
            // A superpacket or an unfinished checksum: the sender's offloads are on.
            if frame.checksum_unfinished || frame.wire_bytes as usize != frame.bytes.len() {
                return;
            }
            let buffer = &mut self.buffers[filled];
            buffer.clear();
            let addresses = frame.bytes.len().min(12);
            buffer.extend_from_slice(&frame.bytes[..addresses]);
            buffer.extend(frame.vlan.into_iter().flat_map(VlanTag::bytes));
            buffer.extend_from_slice(&frame.bytes[addresses..]);
            filled += 1;
        })?;
        let mut frames = [&[][..]; AT_ONCE];
        for (frame, buffer) in frames.iter_mut().zip(&self.buffers[..filled]) {
            *frame = buffer;
        }
        let sent = if filled > 0 { to.send(&frames[..filled])? } else { 0 };
        self.sent += sent as u64;
        self.given_up += (filled - sent) as u64;
        Ok(filled)
    }
}
