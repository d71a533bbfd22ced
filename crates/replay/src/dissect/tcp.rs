//! The TCP header of a frame, as an ACK filter reads it.
//!
//! Sources: RFC 791, section 3.1; RFC 8200, section 3; RFC 9293, section 3.1. Options: RFC 2018 (SACK), RFC 2385 (MD5
//! signature), RFC 7323 (timestamps).

use etherparse::ip_number;
use forebay_qdisc::{SackOption, TcpHeader};

const TCP: u8 = ip_number::TCP.0;

/// Of an IPv4 header's word at byte 6, the bits that a fragment has set: more fragments, offset.
const FRAGMENT: u16 = 0x3fff;

/// The least length of a TCP header.
const FIXED_BYTES: usize = 20;

/// Kinds of options.
mod kind {
    pub const END: u8 = 0;
    pub const NO_OPERATION: u8 = 1;
    pub const SACK: u8 = 5;
    pub const TIMESTAMPS: u8 = 8;
    pub const MD5_SIGNATURE: u8 = 19;
}

/// The header directly after the IP header at `ip_at`. `None` for other protocols, for fragments, behind extension
/// headers of IPv6, and where the frame ends before it.
#[must_use]
pub fn tcp_header(frame: &[u8], ip_at: u16) -> Option<TcpHeader> {
    let packet = frame.get(usize::from(ip_at)..)?;
    let (ip_header_bytes, payload_bytes) = match packet.first()? >> 4 {
        4 => {
            let header_bytes = usize::from(packet[0] & 0x0f) * 4;
            if *packet.get(9)? != TCP || word(packet, 6)? & FRAGMENT != 0 {
                return None;
            }
            (header_bytes, usize::from(word(packet, 2)?).checked_sub(header_bytes)?)
        }
        6 if *packet.get(6)? == TCP => (40, usize::from(word(packet, 4)?)),
        _ => return None,
    };
    let segment = packet.get(ip_header_bytes..)?;
    let header_bytes = usize::from(*segment.get(12)? >> 4) * 4;
    let header = segment.get(..header_bytes)?;
    let options = header.get(FIXED_BYTES..)?;
    Some(with_options(
        options,
        TcpHeader {
            flags: word(header, 12)? & TcpHeader::ALL,
            number: number(header, 8)?,
            is_pure: payload_bytes == header_bytes,
            ..TcpHeader::default()
        },
    ))
}

/// Reads the options up to the first whose length makes no sense. The first of several of a kind counts.
fn with_options(mut options: &[u8], mut header: TcpHeader) -> TcpHeader {
    let mut sack = None;
    loop {
        let (option, value) = match *options {
            [] | [kind::END, ..] => break,
            [kind::NO_OPERATION, ref rest @ ..] => {
                options = rest;
                continue;
            }
            [option, length, ..] if (2..=options.len()).contains(&usize::from(length)) => {
                let (value, rest) = options.split_at(usize::from(length));
                options = rest;
                (option, &value[2..])
            }
            _ => break,
        };
        let is_whole = match option {
            kind::MD5_SIGNATURE => true,
            kind::SACK => {
                let blocks = value.chunks_exact(8).filter_map(|block| Some((number(block, 0)?, number(block, 4)?)));
                sack.get_or_insert_with(|| SackOption::new(blocks));
                value.len().is_multiple_of(8)
            }
            kind::TIMESTAMPS => {
                let times = number(value, 0).zip(number(value, 4)).filter(|_| value.len() == 8);
                header.timestamps = header.timestamps.or(times);
                times.is_some()
            }
            _ => false,
        };
        header.has_other_options |= !is_whole;
    }
    TcpHeader { sack: sack.unwrap_or_default(), ..header }
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_be_bytes)
}

#[cfg(test)]
#[path = "tcp_tests.rs"]
mod tests;
