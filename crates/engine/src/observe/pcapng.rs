//! Packet traces in the pcapng format, with the headers that packets would have on an Ethernet.
//!
//! A trace has one section, a description of each interface, and an enhanced packet block for each packet,
//! little-endian. Timestamps are nanoseconds, rounded down; time zero is the Unix epoch. Headers are made up from what
//! the simulator knows. The payload is zeros, with valid lengths and checksums. Frames have no padding and no frame
//! check sequence. A host's number gives its address 10.x.y.z.
//!
//! Sources: IETF draft-ietf-opsawg-pcapng, sections 4.1 to 4.3 and 4.6; RFC 791 and 1071 (IPv4), RFC 768 (UDP), RFC
//! 9293 (TCP), RFC 7323 (window scale), RFC 2018 (SACK), RFC 2474 and 3168 (DSCP, ECN).

use std::io::{self, Write};

use forebay_qdisc::{Ecn, Time};

/// Bytes of the Ethernet header.
pub const ETHERNET_HEADER_BYTES: u32 = 14;
/// Bytes of the IPv4 header, which has no options.
pub const IPV4_HEADER_BYTES: u32 = 20;
/// Bytes of the TCP header without options.
pub const TCP_HEADER_BYTES: u32 = 20;
/// Bytes of the UDP header.
pub const UDP_HEADER_BYTES: u32 = 8;

/// Announced by every SYN (RFC 7323): windows are in units of 128 bytes.
const WINDOW_SCALE: u8 = 7;
const MAX_WINDOW_BYTES: u32 = 0xffff << WINDOW_SCALE;
/// Without other options (RFC 2018, section 3).
const MAX_SACK_BLOCKS: usize = 4;
/// 10.255.255.254.
const MAX_HOST: u32 = 0x00ff_fffd;
/// Ethernet, IPv4, and TCP with 40 bytes of options.
const MAX_HEADER_BYTES: usize = 14 + 20 + 60;

const LINKTYPE_ETHERNET: u16 = 1;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

/// A simulated packet in a trace.
#[derive(Clone, Copy, Debug)]
pub struct TracePacket<'a> {
    /// Sender: host 0 has the address 10.0.0.1.
    pub source_host: u32,
    /// Receiver.
    pub destination_host: u32,
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// Traffic class; its low six bits become the DSCP.
    pub class: u8,
    /// Behind the transport header.
    pub payload_bytes: u32,
    /// UDP or TCP.
    pub transport: TraceTransport<'a>,
}

/// A transport header.
#[derive(Clone, Copy, Debug)]
pub enum TraceTransport<'a> {
    /// UDP.
    Udp,
    /// TCP.
    Tcp {
        /// Of the first payload byte, or of the SYN.
        sequence: u32,
        /// Written only with the flag ACK.
        acknowledgement: u32,
        /// Header flags.
        flags: TcpFlags,
        /// Cut to 8 MB, on a SYN to 64 KB.
        window_bytes: u32,
        /// (First byte, byte behind the last), the latest first. Only four are written.
        sack: &'a [(u32, u32)],
    },
}

/// Flags of a TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags {
    /// Opens the connection.
    pub syn: bool,
    /// The acknowledgement number is valid.
    pub ack: bool,
    /// Closes this direction.
    pub fin: bool,
    /// ECN echo.
    pub ece: bool,
    /// Congestion window reduced.
    pub cwr: bool,
}

impl TcpFlags {
    const fn bits(self) -> u8 {
        self.fin as u8 | (self.syn as u8) << 1 | (self.ack as u8) << 4 | (self.ece as u8) << 6 | (self.cwr as u8) << 7
    }
}

/// Writes a pcapng file.
pub struct PcapngWriter<W: Write> {
    out: W,
    interfaces: u32,
    snaplen: u32,
    block: Vec<u8>,
}

/// A packet with bytes of its own, for [`PcapngWriter::frame`].
#[derive(Clone, Copy, Debug)]
pub struct TraceFrame<'a> {
    /// Nanoseconds since the Unix epoch.
    pub time_ns: u64,
    /// Length on the wire.
    pub original_bytes: u32,
    /// The bytes kept.
    pub data: &'a [u8],
    /// Shown beside the packet; none if empty.
    pub comment: &'a str,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the section header and describes Ethernet interfaces. `snaplen` is the most bytes kept of a frame; 0
    /// keeps all. `out` should be buffered.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W, interfaces: &[&str], snaplen: u32) -> io::Result<Self> {
        let mut writer = Self::without_interfaces(out, snaplen)?;
        for name in interfaces {
            writer.interface(name, LINKTYPE_ETHERNET)?;
        }
        Ok(writer)
    }

    /// Writes the section header alone, before calls of [`PcapngWriter::interface`].
    ///
    /// # Errors
    /// Those of `out`.
    pub fn without_interfaces(mut out: W, snaplen: u32) -> io::Result<Self> {
        let mut block = Vec::with_capacity(256);
        begin_block(&mut block, 0x0a0d_0d0a);
        put_u32(&mut block, 0x1a2b_3c4d); // byte-order magic
        block.extend_from_slice(&[1, 0, 0, 0]); // version 1.0
        block.extend_from_slice(&[0xff; 8]); // section length unknown
        put_option(&mut block, 4, b"Forebay"); // shb_userappl
        put_option(&mut block, 0, &[]);
        end_block(&mut block);
        out.write_all(&block)?;
        Ok(Self { out, interfaces: 0, snaplen, block })
    }

    /// Describes another interface; returns its number.
    ///
    /// # Errors
    /// Those of the output.
    pub fn interface(&mut self, name: &str, link_type: u16) -> io::Result<u32> {
        let block = &mut self.block;
        begin_block(block, 1);
        block.extend_from_slice(&link_type.to_le_bytes());
        block.extend_from_slice(&[0, 0]);
        put_u32(block, self.snaplen);
        put_option(block, 2, name.as_bytes()); // if_name
        put_option(block, 9, &[9]); // if_tsresol: 10^-9 s
        put_option(block, 0, &[]);
        end_block(block);
        self.out.write_all(block)?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Writes a frame as it is.
    ///
    /// # Errors
    /// Those of the output; [`io::ErrorKind::InvalidInput`] for an unknown interface.
    pub fn frame(&mut self, interface: u32, frame: &TraceFrame<'_>) -> io::Result<()> {
        self.begin_packet(interface, frame.time_ns, frame.data.len() as u32, frame.original_bytes)?;
        let block = &mut self.block;
        block.extend_from_slice(frame.data);
        block.resize(block.len().next_multiple_of(4), 0);
        if !frame.comment.is_empty() {
            put_option(block, 1, frame.comment.as_bytes()); // opt_comment
            put_option(block, 0, &[]);
        }
        end_block(block);
        self.out.write_all(block)
    }

    /// Tells how many packets of an interface were left out until `time_ns`, for want of time to write them.
    ///
    /// # Errors
    /// Those of the output; [`io::ErrorKind::InvalidInput`] for an unknown interface.
    pub fn left_out(&mut self, interface: u32, time_ns: u64, packets: u64) -> io::Result<()> {
        self.check_interface(interface)?;
        let block = &mut self.block;
        begin_block(block, 5);
        put_u32(block, interface);
        put_u32(block, (time_ns >> 32) as u32);
        put_u32(block, time_ns as u32);
        put_option(block, 5, &packets.to_le_bytes()); // isb_ifdrop
        put_option(block, 0, &[]);
        end_block(block);
        self.out.write_all(block)
    }

    /// The output, between two blocks.
    pub fn output(&mut self) -> &mut W {
        &mut self.out
    }

    fn check_interface(&self, interface: u32) -> io::Result<()> {
        if interface >= self.interfaces {
            return Err(invalid(format_args!("interface {interface} of a trace that has {}", self.interfaces)));
        }
        Ok(())
    }

    /// Begins an enhanced packet block, up to the frame.
    fn begin_packet(&mut self, interface: u32, time_ns: u64, captured: u32, original: u32) -> io::Result<()> {
        self.check_interface(interface)?;
        let block = &mut self.block;
        begin_block(block, 6);
        put_u32(block, interface);
        put_u32(block, (time_ns >> 32) as u32);
        put_u32(block, time_ns as u32);
        put_u32(block, captured);
        put_u32(block, original);
        Ok(())
    }

    /// Writes a packet seen at `time` on `interface`, an index into the names of [`PcapngWriter::new`].
    ///
    /// # Errors
    /// Those of the output; [`io::ErrorKind::InvalidInput`] for an unknown interface, a host number above 2^24 - 3, or
    /// a payload too long for IPv4.
    pub fn packet(&mut self, interface: u32, time: Time, packet: &TracePacket<'_>) -> io::Result<()> {
        let headers = Headers::new(packet)?;
        let frame_bytes = headers.len as u32 + packet.payload_bytes;
        let captured_bytes = if self.snaplen == 0 { frame_bytes } else { frame_bytes.min(self.snaplen) };
        self.begin_packet(interface, time.picoseconds() / 1_000, captured_bytes, frame_bytes)?;
        let block = &mut self.block;
        let data_start = block.len();
        block.extend_from_slice(&headers.bytes[..headers.len.min(captured_bytes as usize)]);
        // Payload and padding are zeros alike.
        block.resize(data_start + captured_bytes.next_multiple_of(4) as usize, 0);
        end_block(block);
        self.out.write_all(block)
    }

    /// Flushes and returns the output.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

fn invalid(message: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message.to_string())
}

fn put_u32(block: &mut Vec<u8>, value: u32) {
    block.extend_from_slice(&value.to_le_bytes());
}

/// Leaves room for the length.
fn begin_block(block: &mut Vec<u8>, block_type: u32) {
    block.clear();
    put_u32(block, block_type);
    put_u32(block, 0);
}

fn end_block(block: &mut Vec<u8>) {
    let length = block.len() as u32 + 4;
    block[4..8].copy_from_slice(&length.to_le_bytes());
    put_u32(block, length);
}

/// Cuts the value to 16 bits of length.
fn put_option(block: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    block.extend_from_slice(&code.to_le_bytes());
    block.extend_from_slice(&(value.len() as u16).to_le_bytes());
    block.extend_from_slice(value);
    block.resize(block.len().next_multiple_of(4), 0);
}

struct Headers {
    bytes: [u8; MAX_HEADER_BYTES],
    len: usize,
}

impl Headers {
    fn new(packet: &TracePacket<'_>) -> io::Result<Self> {
        let source = address(packet.source_host)?;
        let destination = address(packet.destination_host)?;
        let mut headers = Self { bytes: [0; MAX_HEADER_BYTES], len: 0 };
        // Ethernet: locally administered addresses that show the IPv4 address.
        for [a, b, c, d] in [destination, source] {
            headers.put(&[0x02, 0x00, a, b, c, d]);
        }
        headers.put(&[0x08, 0x00]);
        let ip_start = headers.len;
        let transport_start = ip_start + IPV4_HEADER_BYTES as usize;
        headers.len = transport_start;
        let protocol = headers.put_transport(packet);

        let ip_bytes = (headers.len - ip_start) as u64 + u64::from(packet.payload_bytes);
        let Ok(ip_bytes) = u16::try_from(ip_bytes) else {
            return Err(invalid(format_args!("a packet of {ip_bytes} bytes does not fit into IPv4")));
        };
        headers.fill_ipv4(ip_start, packet, ip_bytes, protocol, source, destination);
        headers.fill_transport_checksum(transport_start, protocol, ip_bytes - IPV4_HEADER_BYTES as u16);
        Ok(headers)
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn set_u16(&mut self, at: usize, value: u16) {
        self.bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
    }

    /// Leaves the checksum zero. Returns the protocol number.
    fn put_transport(&mut self, packet: &TracePacket<'_>) -> u8 {
        self.put(&packet.source_port.to_be_bytes());
        self.put(&packet.destination_port.to_be_bytes());
        match packet.transport {
            TraceTransport::Udp => {
                // The IPv4 length refuses what does not fit.
                self.put(&(packet.payload_bytes.saturating_add(UDP_HEADER_BYTES) as u16).to_be_bytes());
                self.put(&[0, 0]);
                PROTOCOL_UDP
            }
            TraceTransport::Tcp { sequence, acknowledgement, flags, window_bytes, sack } => {
                self.put(&sequence.to_be_bytes());
                self.put(&(if flags.ack { acknowledgement } else { 0 }).to_be_bytes());
                let offset_at = self.len;
                // RFC 7323, section 2.2: the window of a SYN is never scaled.
                let window = if flags.syn {
                    window_bytes.min(0xffff)
                } else {
                    window_bytes.min(MAX_WINDOW_BYTES) >> WINDOW_SCALE
                };
                self.put(&[0, flags.bits()]);
                self.put(&(window as u16).to_be_bytes());
                self.put(&[0; 4]); // checksum, urgent pointer
                if flags.syn {
                    self.put(&[1, 3, 3, WINDOW_SCALE]);
                }
                let sack = &sack[..sack.len().min(MAX_SACK_BLOCKS)];
                if !sack.is_empty() {
                    self.put(&[1, 1, 5, 2 + 8 * sack.len() as u8]);
                    for (first, end) in sack {
                        self.put(&first.to_be_bytes());
                        self.put(&end.to_be_bytes());
                    }
                }
                let header_words = (self.len - (offset_at - 12)) / 4;
                self.bytes[offset_at] = (header_words as u8) << 4;
                PROTOCOL_TCP
            }
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
        self.bytes[at + 1] = packet.class << 2 | packet.ecn.codepoint();
        self.set_u16(at + 2, ip_bytes);
        self.bytes[at + 6] = 0x40; // don't fragment: RFC 6864 lets the identification be zero
        self.bytes[at + 8] = 64; // time to live
        self.bytes[at + 9] = protocol;
        self.bytes[at + 12..at + 16].copy_from_slice(&source);
        self.bytes[at + 16..at + 20].copy_from_slice(&destination);
        let checksum = !fold(sum_words(&self.bytes[at..at + IPV4_HEADER_BYTES as usize]));
        self.set_u16(at + 10, checksum);
    }

    /// Covers the pseudo-header (RFC 9293, section 3.1) and the transport header. A payload of zeros adds nothing.
    fn fill_transport_checksum(&mut self, at: usize, protocol: u8, segment_bytes: u16) {
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
fn sum_words(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum()
}

fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
#[path = "pcapng_tests.rs"]
mod tests;
