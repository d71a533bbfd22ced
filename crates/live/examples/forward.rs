//! Forwards between two interfaces with no queue between them: what a way of moving packets costs by itself.
//!
//! `forward METHOD INSIDE OUTSIDE [SECONDS]`, METHOD being af_packet, af_xdp or tap. Prints packets per second.

use std::error::Error;
use std::os::fd::BorrowedFd;

use forebay_live::io::{Halves, Interface, OpenError, Receive, Transmit, af_packet, af_xdp, tap};
use forebay_live::sys::clock;
use forebay_units::{Span, Time};

const AT_ONCE: usize = 64;
const FOR_EVER: f64 = 1e6;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (method, inside, outside, seconds) = match &arguments[..] {
        [method, inside, outside] => (method, inside, outside, FOR_EVER),
        [method, inside, outside, seconds] => (method, inside, outside, seconds.parse()?),
        _ => return Err("forward METHOD INSIDE OUTSIDE [SECONDS]".into()),
    };
    let (mut inside, mut outside) = (open(method, inside)?, open(method, outside)?);
    let (mut outbound, mut inbound) = (Way::default(), Way::default());
    let start = clock::now();
    let end = start.saturating_add(Span::from_seconds_f64(seconds));
    let mut now = start;
    while now < end {
        let out = outbound.step(&mut *inside.receive, &mut *outside.transmit)?;
        let back = inbound.step(&mut *outside.receive, &mut *inside.transmit)?;
        now = clock::now();
        if out + back == 0 {
            idle([inside.receive.fd(), outside.receive.fd()], now, end)?;
        }
    }
    let per_second = |way: &Way| way.sent as f64 / now.since(start).seconds();
    let lost = inside.receive.dropped_by_kernel() + outside.receive.dropped_by_kernel();
    println!("outbound {:.0} packets/s, {} given up", per_second(&outbound), outbound.given_up);
    println!("inbound {:.0} packets/s, {} given up", per_second(&inbound), inbound.given_up);
    println!("dropped by the kernel before us: {lost}");
    Ok(())
}

fn open(method: &str, name: &str) -> Result<Halves, Box<dyn Error>> {
    let opened: Result<Halves, OpenError> = match method {
        "af_packet" => af_packet::open(&Interface::find(name)?, af_packet::Options::default()),
        "af_xdp" => af_xdp::open(&Interface::find(name)?, af_xdp::Options::default()),
        "tap" => tap::open(name, tap::Options::default()).map(|(_, halves)| halves),
        _ => return Err(format!("{method} is none of af_packet, af_xdp, tap").into()),
    };
    Ok(opened?)
}

/// Waits for a frame, a little at most.
fn idle(fds: [BorrowedFd<'_>; 2], now: Time, end: Time) -> std::io::Result<()> {
    clock::wait(&fds, end.min(now + Span::from_milliseconds(100)))?;
    Ok(())
}

/// One direction.
#[derive(Default)]
struct Way {
    buffers: Vec<Vec<u8>>,
    sent: u64,
    given_up: u64,
}

impl Way {
    /// Forwards what is there; returns how many frames that were.
    fn step(&mut self, from: &mut dyn Receive, to: &mut dyn Transmit) -> std::io::Result<usize> {
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
            buffer.extend(frame.vlan.into_iter().flatten());
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
