//! The headers of simulated packets: IPv4 with UDP or TCP.

use std::io;

use super::{TracePacket, TraceTransport, invalid};

/// Without options.
const IPV4_HEADER_BYTES: u32 = 20;
/// Without options.
const TCP_HEADER_BYTES: u32 = 20;

/// Announced by every SYN (RFC 7323): windows are in units of 128 bytes.
pub(super) const WINDOW_SCALE: u8 = 7;
/// The TCP option that pads (RFC 9293, section 3.1).
const NO_OPERATION: u8 = 1;
const MAX_WINDOW_BYTES: u32 = 0xffff << WINDOW_SCALE;
/// Without other options (RFC 2018, section 3).
const MAX_SACK_BLOCKS: usize = 4;
/// 10.255.255.254.
pub(super) const MAX_HOST: u32 = 0x00ff_fffd;
/// TCP with 40 bytes of options.
const MAX_TCP_HEADER_BYTES: u32 = 60;
/// IPv4, and the longest TCP header.
const MAX_HEADER_BYTES: usize = 20 + 60;

pub(super) const PROTOCOL_TCP: u8 = 6;
pub(super) const PROTOCOL_UDP: u8 = 17;

/// The first bytes of a packet.
pub(super) struct Headers {
    pub bytes: [u8; MAX_HEADER_BYTES],
    pub len: usize,
    /// SACK blocks without room in the header.
    pub comment: String,
}

impl Headers {
    pub fn new(packet: &TracePacket<'_>) -> io::Result<Self> {
        let source = address(packet.source_host)?;
        let destination = address(packet.destination_host)?;
        let mut headers = Self { bytes: [0; MAX_HEADER_BYTES], len: 0, comment: String::new() };
        let transport_start = IPV4_HEADER_BYTES as usize;
        headers.len = transport_start;
        let (protocol, payload_bytes) = headers.put_transport(packet);
        let ip_bytes = (headers.len as u32 + payload_bytes).min(packet.len_bytes.into()).max(headers.len as u32) as u16;
        headers.fill_ipv4(0, packet, ip_bytes, protocol, source, destination);
        headers.fill_transport(transport_start, protocol, ip_bytes - IPV4_HEADER_BYTES as u16);
        Ok(headers)
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn set_u16(&mut self, at: usize, value: u16) {
        self.bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
    }

    /// Leaves checksum and length zero. Returns the protocol number and the simulated payload.
    fn put_transport(&mut self, packet: &TracePacket<'_>) -> (u8, u32) {
        self.put(&packet.source_port.to_be_bytes());
        self.put(&packet.destination_port.to_be_bytes());
        match packet.transport {
            TraceTransport::Udp => {
                self.put(&[0; 4]);
                (PROTOCOL_UDP, packet.len_bytes.into())
            }
            TraceTransport::Tcp { sequence, acknowledgement, flags, payload_bytes, window_bytes, scaled, sack } => {
                self.put(&sequence.to_be_bytes());
                self.put(&(if flags.ack { acknowledgement } else { 0 }).to_be_bytes());
                let offset_at = self.len;
                // RFC 7323, section 2.2: the window of a SYN is never scaled.
                let window = if flags.syn || !scaled {
                    window_bytes.min(0xffff)
                } else {
                    window_bytes.min(MAX_WINDOW_BYTES) >> WINDOW_SCALE
                };
                self.put(&[u8::from(flags.ae), flags.bits()]);
                self.put(&(window as u16).to_be_bytes());
                self.put(&[0; 4]); // checksum, urgent pointer
                let around_payload = u32::from(packet.len_bytes.saturating_sub(payload_bytes));
                let header_bytes =
                    around_payload.saturating_sub(IPV4_HEADER_BYTES).clamp(TCP_HEADER_BYTES, MAX_TCP_HEADER_BYTES);
                let end = IPV4_HEADER_BYTES as usize + header_bytes as usize / 4 * 4;
                if flags.syn && scaled && self.len + 4 <= end {
                    self.put(&[1, 3, 3, WINDOW_SCALE]);
                }
                self.put_sack(sack, end);
                while self.len < end {
                    self.put(&[NO_OPERATION]);
                }
                self.bytes[offset_at] = ((self.len - IPV4_HEADER_BYTES as usize) as u8 / 4) << 4;
                (PROTOCOL_TCP, payload_bytes.into())
            }
        }
    }

    /// The blocks that have room in the header before `end`; the others go into the comment.
    fn put_sack(&mut self, sack: &[(u32, u32)], end: usize) {
        let room = (end - self.len).saturating_sub(4) / 8;
        let (written, left) = sack.split_at(sack.len().min(room).min(MAX_SACK_BLOCKS));
        if !written.is_empty() {
            self.put(&[NO_OPERATION, NO_OPERATION, 5, 2 + 8 * written.len() as u8]);
            for (first, end) in written {
                self.put(&first.to_be_bytes());
                self.put(&end.to_be_bytes());
            }
        }
        if !left.is_empty() {
            let blocks: Vec<String> = left.iter().map(|(first, end)| format!("{first}-{end}")).collect();
            self.comment = format!("SACK without room in the header: {}", blocks.join(" "));
        }
    }

    fn fill_ipv4(
        &mut self,
        at: usize,
        packet: &TracePacket<'_>,
        ip_bytes: u16,
        protocol: u8,
        source: [u8; 4],
        destination: [u8; 4],
    ) {
        self.bytes[at] = 0x45;
        self.bytes[at + 1] = packet.traffic_class;
        self.set_u16(at + 2, ip_bytes);
        self.bytes[at + 6] = 0x40; // don't fragment: RFC 6864 lets the identification be zero
        self.bytes[at + 8] = 64; // time to live
        self.bytes[at + 9] = protocol;
        self.bytes[at + 12..at + 16].copy_from_slice(&source);
        self.bytes[at + 16..at + 20].copy_from_slice(&destination);
        let checksum = !fold(sum_words(&self.bytes[at..at + IPV4_HEADER_BYTES as usize]));
        self.set_u16(at + 10, checksum);
    }

    /// The length of UDP, and the checksum. It covers the pseudo-header (RFC 9293, section 3.1) and the transport
    /// header; a payload of zeros adds nothing.
    fn fill_transport(&mut self, at: usize, protocol: u8, segment_bytes: u16) {
        if protocol == PROTOCOL_UDP {
            self.set_u16(at + 4, segment_bytes);
        }
        let addresses = &self.bytes[at - 8..at];
        let sum = sum_words(addresses)
            + u32::from(protocol)
            + u32::from(segment_bytes)
            + sum_words(&self.bytes[at..self.len]);
        let checksum = !fold(sum);
        if protocol == PROTOCOL_UDP {
            // RFC 768: zero would mean that there is no checksum.
            self.set_u16(at + 6, if checksum == 0 { 0xffff } else { checksum });
        } else {
            self.set_u16(at + 16, checksum);
        }
    }
}

/// 10.0.0.1 for host 0.
fn address(host: u32) -> io::Result<[u8; 4]> {
    if host > MAX_HOST {
        return Err(invalid(format_args!("host {host} has no address in 10.0.0.0/8")));
    }
    let [_, b, c, d] = (host + 1).to_be_bytes();
    Ok([10, b, c, d])
}

/// RFC 1071: the sum of 16-bit words. All headers have an even length.
pub(super) fn sum_words(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum()
}

pub(super) fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
