//! Packet traces in the pcapng format, with the IPv4 headers that packets would have.
//!
//! A trace has one section, a description of each interface, and an enhanced packet block for each packet,
//! little-endian. Timestamps are nanoseconds, rounded down; time zero is the Unix epoch. A host's number gives its
//! address 10.x.y.z. The payload is zeros, with valid lengths and checksums.
//!
//! # Lengths
//! The length of a simulated packet is the number of bytes that its link transmits. In a trace it is the original
//! length of a raw IP packet (LINKTYPE_RAW), without a link layer, so that a replay of the trace offers the same load.
//! The headers are within this length:
//!
//! * A TCP header is as long as in the simulation. Its options are window scale, SACK as far as there is room (blocks
//!   without room are in the packet's comment), and no-operation options in place of timestamps.
//! * A simulated header shorter than 40 bytes, such as ns-2's, leaves less payload in the trace than in the simulation.
//! * Bytes that are neither header nor payload, as in a long ACK, follow the IP packet.
//! * Of a packet shorter than its headers, the trace has the first bytes of the headers.
//!
//! Sources: IETF draft-ietf-opsawg-pcapng, sections 4.1 to 4.3 and 4.6; RFC 791 and 1071 (IPv4), RFC 768 (UDP), RFC
//! 9293 (TCP), RFC 7323 (window scale), RFC 2018 (SACK), RFC 2474 and 3168 (DSCP, ECN).

mod headers;

use std::io::{self, Write};

use forebay_units::Time;

use headers::Headers;

/// IPv4 or IPv6 without a link layer.
const LINKTYPE_RAW: u16 = 101;

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
    /// DSCP in the high six bits, ECN codepoint in the low two.
    pub traffic_class: u8,
    /// Length in the simulation: that of the IP packet with all bytes behind it.
    pub len_bytes: u16,
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
        /// Payload in the simulation.
        payload_bytes: u16,
        /// Cut to 8 MB, on a SYN and without a scale to 64 KB.
        window_bytes: u32,
        /// Whether SYNs have room for the option that scales windows.
        scaled: bool,
        /// (First byte, byte behind the last), the latest first.
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
    /// Accurate ECN (RFC 9768), in the byte before the others.
    pub ae: bool,
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
    /// Shown with the packet; none if empty.
    pub comment: &'a str,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the section header and describes interfaces of raw IP. `snaplen` is the most bytes kept of a packet; 0
    /// keeps all. `out` should be buffered.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W, interfaces: &[&str], snaplen: u32) -> io::Result<Self> {
        let mut writer = Self::without_interfaces(out, snaplen)?;
        for name in interfaces {
            writer.interface(name, LINKTYPE_RAW)?;
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
    /// Those of the output; [`io::ErrorKind::InvalidInput`] for an unknown interface or a host number above 2^24 - 3.
    pub fn packet(&mut self, interface: u32, time: Time, packet: &TracePacket<'_>) -> io::Result<()> {
        let headers = Headers::new(packet)?;
        let original_bytes = u32::from(packet.len_bytes);
        let captured_bytes = if self.snaplen == 0 { original_bytes } else { original_bytes.min(self.snaplen) };
        self.begin_packet(interface, time.picoseconds() / 1_000, captured_bytes, original_bytes)?;
        let block = &mut self.block;
        let data_start = block.len();
        block.extend_from_slice(&headers.bytes[..headers.len.min(captured_bytes as usize)]);
        // Payload and padding are zeros alike.
        block.resize(data_start + captured_bytes.next_multiple_of(4) as usize, 0);
        if !headers.comment.is_empty() {
            put_option(block, 1, headers.comment.as_bytes()); // opt_comment
            put_option(block, 0, &[]);
        }
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

#[cfg(test)]
#[path = "pcapng_tests.rs"]
mod tests;
