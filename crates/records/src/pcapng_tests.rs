//! Traces as other tools read them.

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{Block, PcapBlockOwned, PcapError, PcapNGReader};
use proptest::prelude::*;

use super::headers::{MAX_HOST, PROTOCOL_TCP, PROTOCOL_UDP, WINDOW_SCALE, fold, sum_words};
use super::*;

/// Interface, nanoseconds, original length, captured bytes.
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
                        assert_eq!(interface.linktype, pcap_parser::Linktype::RAW);
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

/// A TCP packet with room for options of 20 bytes.
fn tcp(flags: TcpFlags, payload_bytes: u16, sack: &[(u32, u32)]) -> TracePacket<'_> {
    TracePacket {
        source_host: 0,
        destination_host: 0x01_02_03,
        source_port: 40_000,
        destination_port: 5_001,
        traffic_class: 46 << 2 | 0b10,
        len_bytes: payload_bytes + 60,
        transport: TraceTransport::Tcp {
            sequence: u32::MAX,
            acknowledgement: 7,
            flags,
            payload_bytes,
            window_bytes: 1_000_000,
            scaled: true,
            sack,
        },
    }
}

#[test]
fn the_file_header_to_the_byte() {
    let file = PcapngWriter::new(Vec::new(), &["up"], 96).unwrap().finish().unwrap();
    let section = b"\x0a\x0d\x0d\x0a\x2c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\
        \x04\0\x07\0Forebay\0\0\0\0\0\x2c\0\0\0";
    let interface = b"\x01\0\0\0\x28\0\0\0\x65\0\0\0\x60\0\0\0\x02\0\x02\0up\0\0\x09\0\x01\0\x09\0\0\0\0\0\0\0\
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
    assert_eq!(*original, 20 + 20 + (4 + 16) + 946);
    assert_eq!(frame.len(), *original as usize);

    let sliced = SlicedPacket::from_ip(frame).unwrap();
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
    let sliced = SlicedPacket::from_ip(&packets[0].3).unwrap();
    let Some(TransportSlice::Tcp(segment)) = sliced.transport else { panic!("no TCP") };
    assert!(segment.syn() && !segment.ack());
    assert_eq!((segment.window_size(), segment.acknowledgment_number()), (0xffff, 0));
    assert!(segment.options_iterator().any(|o| o == Ok(etherparse::TcpOptionElement::WindowScale(WINDOW_SCALE))));
}

#[test]
fn the_snaplen_cuts_what_is_kept_and_not_the_length() {
    let flags = TcpFlags::default();
    let (_, packets) = read_back(&write(&[(0, 0, tcp(flags, 940, &[])), (0, 5_000, tcp(flags, 3, &[]))], 65));
    assert_eq!((packets[0].2, packets[0].3.len()), (1_000, 65));
    assert_eq!((packets[1].2, packets[1].3.len()), (63, 63));
}

#[test]
fn what_cannot_be_written_is_refused() {
    let mut writer = PcapngWriter::new(Vec::new(), &["only"], 0).unwrap();
    let good = tcp(TcpFlags::default(), 0, &[]);
    for (interface, packet) in [(1, good), (0, TracePacket { source_host: MAX_HOST + 1, ..good })] {
        assert_eq!(writer.packet(interface, Time::ZERO, &packet).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
    writer.packet(0, Time::ZERO, &good).unwrap();
}

/// SACK blocks and TCP header bytes in the trace of an ACK of that length, and whether there is a comment.
fn sack_in(len_bytes: u16) -> (usize, usize, bool) {
    let sack = [(10, 20), (30, 40), (50, 60)];
    let ack = TracePacket { len_bytes, ..tcp(TcpFlags { ack: true, ..TcpFlags::default() }, 0, &sack) };
    let file = write(&[(0, 0, ack)], 0);
    let (_, packets) = read_back(&file);
    assert_eq!(packets[0].2, u32::from(len_bytes));
    let sliced = SlicedPacket::from_ip(&packets[0].3).unwrap();
    let Some(TransportSlice::Tcp(segment)) = sliced.transport else { panic!("no TCP") };
    assert!(segment.payload().is_empty());
    let mut blocks = 0;
    for option in segment.options_iterator() {
        if let etherparse::TcpOptionElement::SelectiveAcknowledgement(_, more) = option.unwrap() {
            blocks = 1 + more.iter().flatten().count();
        }
    }
    (blocks, segment.header_len(), file.windows(4).any(|bytes| bytes == b"SACK"))
}

#[test]
fn sack_blocks_use_the_room_of_the_ack_and_never_lengthen_it() {
    assert_eq!(sack_in(40), (0, 20, true));
    assert_eq!(sack_in(52), (1, 32, true));
    assert_eq!(sack_in(60), (2, 40, true));
    assert_eq!(sack_in(68), (3, 48, false));
    // Bytes beyond the header are behind the packet.
    assert_eq!(sack_in(83), (3, 60, false));
}

#[test]
fn a_packet_shorter_than_its_headers_is_cut() {
    let short = TracePacket { len_bytes: 24, transport: TraceTransport::Udp, ..tcp(TcpFlags::default(), 0, &[]) };
    let (_, packets) = read_back(&write(&[(0, 0, short)], 0));
    assert_eq!((packets[0].2, packets[0].3.len()), (24, 24));
    assert_eq!(packets[0].3[20..24], [40_000_u16.to_be_bytes(), 5_001_u16.to_be_bytes()].concat());
}

/// The sum with the checksum in `bytes` is all ones (RFC 1071, section 1).
fn checks(bytes: &[u8], pseudo: u32) -> bool {
    let mut even = bytes.to_vec();
    even.resize(bytes.len().next_multiple_of(2), 0);
    fold(sum_words(&even) + pseudo) == 0xffff
}

proptest! {
    #[test]
    fn lengths_and_checksums_hold(
        hosts in (0..=MAX_HOST, 0..=MAX_HOST), ports: (u16, u16), traffic_class: u8,
        len_bytes in 40..=u16::MAX, header_bytes in 0..100_u16, numbers: (u32, u32), window_bytes: u32,
        bits in 0..32_u8,
        udp: bool, scaled: bool, sack in prop::collection::vec(any::<(u32, u32)>(), 0..6), picoseconds: u64,
    ) {
        let flag = |bit: u8| bits >> bit & 1 == 1;
        let flags = TcpFlags { syn: flag(0), ack: flag(1), fin: flag(2), ece: flag(3), cwr: flag(4), ae: flag(5) };
        let payload_bytes = len_bytes.saturating_sub(header_bytes);
        let packet = TracePacket {
            source_host: hosts.0, destination_host: hosts.1, source_port: ports.0, destination_port: ports.1,
            traffic_class, len_bytes,
            transport: if udp { TraceTransport::Udp } else {
                TraceTransport::Tcp {
                    sequence: numbers.0, acknowledgement: numbers.1, flags, payload_bytes, window_bytes, scaled,
                    sack: &sack,
                }
            },
        };
        let (_, packets) = read_back(&write(&[(0, picoseconds, packet)], 0));
        let (_, nanoseconds, original, frame) = &packets[0];
        prop_assert_eq!(*nanoseconds, picoseconds / 1_000);
        prop_assert_eq!((*original, frame.len()), (u32::from(len_bytes), usize::from(len_bytes)));
        let sliced = SlicedPacket::from_ip(frame).unwrap();
        let Some(NetSlice::Ipv4(ip)) = &sliced.net else { panic!("no IPv4") };
        prop_assert!(checks(&frame[..20], 0));
        let protocol = if udp { PROTOCOL_UDP } else { PROTOCOL_TCP };
        let total_bytes = usize::from(ip.header().total_len());
        let pseudo = sum_words(&frame[12..20]) + u32::from(protocol) + (total_bytes - 20) as u32;
        prop_assert!(checks(&frame[20..total_bytes], pseudo));
        match sliced.transport {
            Some(TransportSlice::Udp(datagram)) => {
                prop_assert_eq!((datagram.length(), total_bytes), (len_bytes - 20, len_bytes.into()));
                prop_assert!(datagram.checksum() != 0);
            }
            Some(TransportSlice::Tcp(segment)) => {
                // The payload is that of the simulation wherever the simulated header has room for the real one.
                let real_headers = 20 + segment.header_len() as u16;
                let expected = payload_bytes.min(len_bytes - real_headers);
                prop_assert_eq!(segment.payload().len(), usize::from(expected));
                prop_assert!(header_bytes < 40 || len_bytes < header_bytes || expected == payload_bytes);
                prop_assert!(segment.options_iterator().all(|option| option.is_ok()));
            }
            other => panic!("unexpected {other:?}"),
        }
    }
}

#[test]
fn frames_are_written_as_they_are() {
    let mut writer = PcapngWriter::without_interfaces(Vec::new(), 0).unwrap();
    let ethernet = writer.interface("a", LINKTYPE_RAW).unwrap();
    let frame = TraceFrame { time_ns: u64::MAX - 1, original_bytes: 900, data: &[1, 2, 3, 4, 5], comment: "overflow" };
    writer.frame(ethernet, &frame).unwrap();
    writer.frame(ethernet, &TraceFrame { time_ns: 7, comment: "", data: &[], ..frame }).unwrap();
    assert_eq!(writer.frame(1, &frame).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    let file = writer.finish().unwrap();
    let (interfaces, packets) = read_back(&file);
    assert_eq!(interfaces, ["a"]);
    assert_eq!(packets, [(0, u64::MAX - 1, 900, vec![1, 2, 3, 4, 5]), (0, 7, 900, vec![])]);
    assert!(file.windows(8).any(|bytes| bytes == b"overflow"));
}
