//! Forwarding with nothing between the two interfaces: what every way through a queue is compared with.

use std::error::Error;

use forebay_live::io::{Halves, Interface, OpenError, Receive, Transmit, VlanTag, af_packet, af_xdp, tap};

const AT_ONCE: usize = 64;

/// Opens an interface by a method's name: af_packet, af_xdp or tap.
pub fn open(method: &str, name: &str) -> Result<Halves, Box<dyn Error>> {
    let opened: Result<Halves, OpenError> = match method {
        "af_packet" => af_packet::open(&Interface::find(name)?, af_packet::Options::default()),
        "af_xdp" => af_xdp::open(&Interface::find(name)?, af_xdp::Options::default()),
        "tap" => tap::open(name, tap::Options::default()).map(|(_, halves)| halves),
        _ => return Err(format!("{method} is none of af_packet, af_xdp, tap").into()),
    };
    Ok(opened?)
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
    pub fn step(&mut self, from: &mut dyn Receive, to: &mut dyn Transmit) -> std::io::Result<usize> {
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
