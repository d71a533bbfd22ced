//! Forwards between two interfaces with no queue between them: the cost of moving packets alone.
//!
//! `forward METHOD INSIDE OUTSIDE [SECONDS]`, METHOD being af_packet, af_xdp or tap. Prints packets per second.

mod bare;

use std::error::Error;
use std::os::fd::BorrowedFd;

use bare::{Way, open};
use forebay_live::sys::clock;
use forebay_units::{Span, Time};

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

/// Waits for a frame, a little at most.
fn idle(fds: [BorrowedFd<'_>; 2], now: Time, end: Time) -> std::io::Result<()> {
    clock::wait(&fds, end.min(now + Span::from_milliseconds(100)))?;
    Ok(())
}
