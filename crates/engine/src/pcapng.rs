//! Packet traces in the pcapng format, with the headers that the simulated packets would have on an Ethernet.
//!
//! # What it does
//! Writes one section, one interface description for each traced link, and one enhanced packet block for each packet,
//! little-endian, with timestamps in nanoseconds (simulated picoseconds are rounded down; time zero is the Unix epoch).
//! A simulated packet has no bytes, so its Ethernet, IPv4 and TCP or UDP headers are made up from what the simulator
//! knows of it. The payload is zeros: lengths and checksums are right for it, and tools that verify them are content.
//!
//! # Source
//! IETF draft-ietf-opsawg-pcapng, sections 4.1 (section header), 4.2 (interface description) and 4.3 (enhanced packet);
//! RFC 791 and RFC 1071 (IPv4 header and checksum), RFC 768 (UDP), RFC 9293 (TCP), RFC 7323 (window scale), RFC 2018
//! (SACK), RFC 2474 and RFC 3168 (DSCP and ECN).
//!
//! # Where we differ
//! Frames shorter than Ethernet's minimum are not padded and carry no frame check sequence, so that a frame is always
//! its headers and its payload. Every host has the address 10.x.y.z that its number gives, whatever the topology.

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

/// The window scale that every SYN of a trace announces (RFC 7323): windows are written in units of 128 bytes.
const WINDOW_SCALE: u8 = 7;
/// The largest window that fits, in bytes.
const MAX_WINDOW_BYTES: u32 = 0xffff << WINDOW_SCALE;
/// A TCP header has room for this many SACK blocks when it carries no other option (RFC 2018, section 3).
const MAX_SACK_BLOCKS: usize = 4;
/// The last host number: 10.255.255.254.
const MAX_HOST: u32 = 0x00ff_fffd;
/// The longest headers: Ethernet, IPv4, TCP with 40 bytes of options.
const MAX_HEADER_BYTES: usize = 14 + 20 + 60;

const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

/// A simulated packet as a trace shows it.
#[derive(Clone, Copy, Debug)]
pub struct TracePacket<'a> {
    /// Number of the sending host: host 0 has the address 10.0.0.1.
    pub source_host: u32,
    /// Number of the receiving host.
    pub destination_host: u32,
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// Traffic class; its low six bits become the DSCP.
    pub class: u8,
    /// Bytes behind the TCP or UDP header.
    pub payload_bytes: u32,
    /// What only TCP or only UDP has.
    pub transport: TraceTransport<'a>,
}

/// The transport header of a [`TracePacket`].
#[derive(Clone, Copy, Debug)]
pub enum TraceTransport<'a> {
    /// UDP.
    Udp,
    /// TCP.
    Tcp {
        /// Sequence number of the first payload byte, or of the SYN.
        sequence: u32,
        /// Acknowledgement number; written only with the flag ACK.
        acknowledgement: u32,
        /// Flags.
        flags: TcpFlags,
        /// Receive window in bytes: cut to 8 MB, on a SYN to 64 KB.
        window_bytes: u32,
        /// SACK blocks as (first byte, byte behind the last one), the latest first; those after the fourth are left
        /// out.
        sack: &'a [(u32, u32)],
    },
}

/// Flags of a TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags {
    /// Opens the connection.
    pub syn: bool,
    /// The acknowledgement number holds.
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
    /// The block under construction.
    block: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the section header and a description of each interface. `snaplen` is how many bytes are kept of a frame
    /// at most; 0 keeps all. `out` should be buffered.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(mut out: W, interfaces: &[&str], snaplen: u32) -> io::Result<Self> {
        let mut block = Vec::with_capacity(256);
        begin_block(&mut block, 0x0a0d_0d0a);
        put_u32(&mut block, 0x1a2b_3c4d); // byte-order magic
        block.extend_from_slice(&[1, 0, 0, 0]); // version 1.0
        block.extend_from_slice(&[0xff; 8]); // section length unknown
        put_option(&mut block, 4, b"Forebay"); // shb_userappl
        put_option(&mut block, 0, &[]);
        end_block(&mut block);
        out.write_all(&block)?;
        for name in interfaces {
            begin_block(&mut block, 1);
            block.extend_from_slice(&[1, 0, 0, 0]); // LINKTYPE_ETHERNET
            put_u32(&mut block, snaplen);
            put_option(&mut block, 2, name.as_bytes()); // if_name
            put_option(&mut block, 9, &[9]); // if_tsresol: 10^-9 s
            put_option(&mut block, 0, &[]);
            end_block(&mut block);
            out.write_all(&block)?;
        }
        Ok(Self { out, interfaces: interfaces.len() as u32, snaplen, block })
    }

    /// Writes a packet that was seen on `interface` (an index into the names given to [`PcapngWriter::new`]) at `time`.
    ///
    /// # Errors
    /// Those of the output; [`io::ErrorKind::InvalidInput`] for an interface that was not described, a host number
    /// above 2^24 - 3, or a payload too long for an IPv4 packet.
    pub fn packet(&mut self, interface: u32, time: Time, packet: &TracePacket<'_>) -> io::Result<()> {
        if interface >= self.interfaces {
            return Err(invalid(format_args!("interface {interface} of a trace that has {}", self.interfaces)));
        }
        let headers = Headers::new(packet)?;
        let frame_bytes = headers.len as u32 + packet.payload_bytes;
        let captured_bytes = if self.snaplen == 0 { frame_bytes } else { frame_bytes.min(self.snaplen) };
        let nanoseconds = time.picoseconds() / 1_000;

        let block = &mut self.block;
        begin_block(block, 6);
        put_u32(block, interface);
        put_u32(block, (nanoseconds >> 32) as u32);
        put_u32(block, nanoseconds as u32);
        put_u32(block, captured_bytes);
        put_u32(block, frame_bytes);
        let data_start = block.len();
        block.extend_from_slice(&headers.bytes[..headers.len.min(captured_bytes as usize)]);
        // The payload and the padding to a multiple of four are zeros alike.
        block.resize(data_start + captured_bytes.next_multiple_of(4) as usize, 0);
        end_block(block);
        self.out.write_all(block)
    }

    /// Flushes and hands the output back.
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

/// Type, and room for the length.
fn begin_block(block: &mut Vec<u8>, block_type: u32) {
    block.clear();
    put_u32(block, block_type);
    put_u32(block, 0);
}

/// Fills in the length at both ends.
fn end_block(block: &mut Vec<u8>) {
    let length = block.len() as u32 + 4;
    block[4..8].copy_from_slice(&length.to_le_bytes());
    put_u32(block, length);
}

/// An option whose value is cut to what its 16-bit length can tell.
fn put_option(block: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    block.extend_from_slice(&code.to_le_bytes());
    block.extend_from_slice(&(value.len() as u16).to_le_bytes());
    block.extend_from_slice(value);
    block.resize(block.len().next_multiple_of(4), 0);
}

/// All headers of one frame.
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

    /// Appends the transport header with its checksum still zero; gives the protocol number.
    fn put_transport(&mut self, packet: &TracePacket<'_>) -> u8 {
        self.put(&packet.source_port.to_be_bytes());
        self.put(&packet.destination_port.to_be_bytes());
        match packet.transport {
            TraceTransport::Udp => {
                // A length that does not fit is refused with that of the IPv4 packet.
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
        // RFC 3168, section 5: the two low bits of the former TOS byte.
        let ecn = match packet.ecn {
            Ecn::NotCapable => 0b00,
            Ecn::Capable1 => 0b01,
            Ecn::Capable0 => 0b10,
            Ecn::CongestionExperienced => 0b11,
        };
        self.bytes[at] = 0x45;
        self.bytes[at + 1] = packet.class << 2 | ecn;
        self.set_u16(at + 2, ip_bytes);
        self.bytes[at + 6] = 0x40; // don't fragment: RFC 6864 lets the identification be zero
        self.bytes[at + 8] = 64; // time to live
        self.bytes[at + 9] = protocol;
        self.bytes[at + 12..at + 16].copy_from_slice(&source);
        self.bytes[at + 16..at + 20].copy_from_slice(&destination);
        let checksum = !fold(sum_words(&self.bytes[at..at + IPV4_HEADER_BYTES as usize]));
        self.set_u16(at + 10, checksum);
    }

    /// The checksum over the pseudo-header (RFC 9293, section 3.1), the transport header and a payload of zeros, which
    /// adds nothing.
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

/// The IPv4 address of a host: 10.0.0.1 for host 0.
fn address(host: u32) -> io::Result<[u8; 4]> {
    if host > MAX_HOST {
        return Err(invalid(format_args!("host {host} has no address in 10.0.0.0/8")));
    }
    let [_, b, c, d] = (host + 1).to_be_bytes();
    Ok([10, b, c, d])
}

/// RFC 1071: the sum of the 16-bit words. All headers here have an even length.
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
mod tests {
    use etherparse::{NetSlice, SlicedPacket, TransportSlice};
    use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
    use pcap_parser::{Block, PcapBlockOwned, PcapError, PcapNGReader};
    use proptest::prelude::*;

    use super::*;

    /// What was read back of a packet: interface, nanoseconds, original length, captured bytes.
    type Read = (u32, u64, u32, Vec<u8>);

    fn read_back(file: &[u8]) -> (Vec<String>, Vec<Read>) {
        let mut reader = PcapNGReader::new(1 << 17, file).unwrap();
        let (mut interfaces, mut packets) = (Vec::new(), Vec::new());
        loop {
            match reader.next() {
                Ok((length, PcapBlockOwned::NG(block))) => {
                    match block {
                        Block::SectionHeader(_) => {}
                        Block::InterfaceDescription(interface) => {
                            assert_eq!(interface.ts_resolution(), Some(1_000_000_000));
                            assert_eq!(interface.linktype, pcap_parser::Linktype::ETHERNET);
                            interfaces.push(interface.if_name().unwrap().unwrap().to_owned());
                        }
                        Block::EnhancedPacket(packet) => packets.push((
                            packet.if_id,
                            u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low),
                            packet.origlen,
                            packet.packet_data().to_vec(),
                        )),
                        other => panic!("unexpected {other:?}"),
                    }
                    reader.consume(length);
                }
                Err(PcapError::Incomplete(_)) => reader.refill().unwrap(),
                Err(PcapError::Eof) => return (interfaces, packets),
                _ => panic!("not readable"),
            }
        }
    }

    fn write(packets: &[(u32, u64, TracePacket<'_>)], snaplen: u32) -> Vec<u8> {
        let mut writer = PcapngWriter::new(Vec::new(), &["bottleneck", "reverse"], snaplen).unwrap();
        for (interface, picoseconds, packet) in packets {
            writer.packet(*interface, Time::from_picoseconds(*picoseconds), packet).unwrap();
        }
        writer.finish().unwrap()
    }

    fn tcp(flags: TcpFlags, payload_bytes: u32, sack: &[(u32, u32)]) -> TracePacket<'_> {
        TracePacket {
            source_host: 0,
            destination_host: 0x01_02_03,
            source_port: 40_000,
            destination_port: 5_001,
            ecn: Ecn::Capable0,
            class: 46,
            payload_bytes,
            transport: TraceTransport::Tcp {
                sequence: u32::MAX,
                acknowledgement: 7,
                flags,
                window_bytes: 1_000_000,
                sack,
            },
        }
    }

    #[test]
    fn the_file_header_to_the_byte() {
        let file = PcapngWriter::new(Vec::new(), &["up"], 96).unwrap().finish().unwrap();
        let section = b"\x0a\x0d\x0d\x0a\x2c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\
            \x04\0\x07\0Forebay\0\0\0\0\0\x2c\0\0\0";
        let interface = b"\x01\0\0\0\x28\0\0\0\x01\0\0\0\x60\0\0\0\x02\0\x02\0up\0\0\x09\0\x01\0\x09\0\0\0\0\0\0\0\
            \x28\0\0\0";
        assert_eq!(file, [&section[..], &interface[..]].concat());
    }

    #[test]
    fn a_tcp_segment_reads_back() {
        let flags = TcpFlags { ack: true, ece: true, ..TcpFlags::default() };
        let file = write(&[(1, 1_999_999, tcp(flags, 946, &[(10, 20), (30, 40)]))], 0);
        let (interfaces, packets) = read_back(&file);
        assert_eq!(interfaces, ["bottleneck", "reverse"]);
        let (interface, nanoseconds, original, frame) = &packets[0];
        assert_eq!((*interface, *nanoseconds), (1, 1_999));
        assert_eq!(*original, 14 + 20 + 20 + (4 + 16) + 946);
        assert_eq!(frame.len(), *original as usize);

        let sliced = SlicedPacket::from_ethernet(frame).unwrap();
        let Some(NetSlice::Ipv4(ip)) = sliced.net else { panic!("no IPv4") };
        let Some(TransportSlice::Tcp(segment)) = sliced.transport else { panic!("no TCP") };
        assert_eq!(ip.header().source(), [10, 0, 0, 1]);
        assert_eq!(ip.header().destination(), [10, 1, 2, 4]);
        assert_eq!((ip.header().ecn().value(), ip.header().dcp().value()), (0b10, 46));
        assert_eq!((segment.source_port(), segment.destination_port()), (40_000, 5_001));
        assert_eq!((segment.sequence_number(), segment.acknowledgment_number()), (u32::MAX, 7));
        assert!(segment.ack() && segment.ece() && !segment.syn() && !segment.fin() && !segment.cwr());
        assert_eq!(u32::from(segment.window_size()) << WINDOW_SCALE, 1_000_000 / 128 * 128);
        let options: Vec<_> = segment.options_iterator().map(Result::unwrap).collect();
        use etherparse::TcpOptionElement::{Noop, SelectiveAcknowledgement};
        assert_eq!(options, [Noop, Noop, SelectiveAcknowledgement((10, 20), [Some((30, 40)), None, None])]);
        assert_eq!(segment.payload().len(), 946);
    }

    #[test]
    fn a_syn_announces_the_window_scale_and_does_not_use_it() {
        let flags = TcpFlags { syn: true, ece: true, cwr: true, ..TcpFlags::default() };
        let (_, packets) = read_back(&write(&[(0, 0, tcp(flags, 0, &[]))], 0));
        let sliced = SlicedPacket::from_ethernet(&packets[0].3).unwrap();
        let Some(TransportSlice::Tcp(segment)) = sliced.transport else { panic!("no TCP") };
        assert!(segment.syn() && !segment.ack());
        assert_eq!((segment.window_size(), segment.acknowledgment_number()), (0xffff, 0));
        assert!(segment.options_iterator().any(|o| o == Ok(etherparse::TcpOptionElement::WindowScale(WINDOW_SCALE))));
    }

    #[test]
    fn the_snaplen_cuts_what_is_kept_and_not_the_length() {
        let flags = TcpFlags::default();
        let (_, packets) = read_back(&write(&[(0, 0, tcp(flags, 946, &[])), (0, 5_000, tcp(flags, 3, &[]))], 65));
        assert_eq!((packets[0].2, packets[0].3.len()), (1_000, 65));
        assert_eq!((packets[1].2, packets[1].3.len()), (57, 57));
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        let mut writer = PcapngWriter::new(Vec::new(), &["only"], 0).unwrap();
        let good = tcp(TcpFlags::default(), 0, &[]);
        let refused = [
            (1, good),
            (0, TracePacket { payload_bytes: 65_496, ..good }),
            (0, TracePacket { payload_bytes: u32::MAX, transport: TraceTransport::Udp, ..good }),
            (0, TracePacket { source_host: MAX_HOST + 1, ..good }),
        ];
        for (interface, packet) in refused {
            assert_eq!(writer.packet(interface, Time::ZERO, &packet).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
        writer.packet(0, Time::ZERO, &TracePacket { payload_bytes: 65_495, ..good }).unwrap();
    }

    /// The sum over `bytes` together with the checksum that they hold is all ones (RFC 1071, section 1).
    fn checks(bytes: &[u8], pseudo: u32) -> bool {
        let mut even = bytes.to_vec();
        even.resize(bytes.len().next_multiple_of(2), 0);
        fold(sum_words(&even) + pseudo) == 0xffff
    }

    proptest! {
        #[test]
        fn lengths_and_checksums_hold(
            hosts in (0..=MAX_HOST, 0..=MAX_HOST), ports: (u16, u16), class: u8, ecn in 0..4_usize,
            payload_bytes in 0..9_000_u32, numbers: (u32, u32), window_bytes: u32, bits in 0..32_u8, udp: bool,
            sack in prop::collection::vec(any::<(u32, u32)>(), 0..6), picoseconds: u64,
        ) {
            let flag = |bit: u8| bits >> bit & 1 == 1;
            let flags = TcpFlags { syn: flag(0), ack: flag(1), fin: flag(2), ece: flag(3), cwr: flag(4) };
            let packet = TracePacket {
                source_host: hosts.0, destination_host: hosts.1, source_port: ports.0, destination_port: ports.1,
                ecn: [Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::CongestionExperienced][ecn],
                class, payload_bytes,
                transport: if udp { TraceTransport::Udp } else {
                    TraceTransport::Tcp {
                        sequence: numbers.0, acknowledgement: numbers.1, flags, window_bytes, sack: &sack,
                    }
                },
            };
            let (_, packets) = read_back(&write(&[(0, picoseconds, packet)], 0));
            let (_, nanoseconds, original, frame) = &packets[0];
            prop_assert_eq!(*nanoseconds, picoseconds / 1_000);
            let sliced = SlicedPacket::from_ethernet(frame).unwrap();
            let Some(NetSlice::Ipv4(ip)) = &sliced.net else { panic!("no IPv4") };
            prop_assert!(checks(&frame[14..34], 0));
            prop_assert_eq!(u32::from(ip.header().total_len()) + ETHERNET_HEADER_BYTES, *original);
            let protocol = if udp { PROTOCOL_UDP } else { PROTOCOL_TCP };
            let pseudo = sum_words(&frame[26..34]) + u32::from(protocol) + (frame.len() - 34) as u32;
            prop_assert!(checks(&frame[34..], pseudo));
            match sliced.transport {
                Some(TransportSlice::Udp(datagram)) => {
                    prop_assert_eq!(u32::from(datagram.length()), UDP_HEADER_BYTES + payload_bytes);
                    prop_assert!(datagram.checksum() != 0);
                }
                Some(TransportSlice::Tcp(segment)) => {
                    prop_assert_eq!(segment.payload().len() as u32, payload_bytes);
                    prop_assert!(segment.options_iterator().all(|option| option.is_ok()));
                }
                other => panic!("unexpected {other:?}"),
            }
        }
    }
}
