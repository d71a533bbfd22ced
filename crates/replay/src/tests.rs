//! Reading of captures and of frames.

use etherparse::PacketBuilder;
use forebay_qdisc::{Ecn, Time};
use proptest::prelude::*;

use super::*;
use crate::test_captures::{
    BlockOption, ETHERNET, EXAMPLE, Form, block, frames, gunzip, gzip, pcap, pcapng, udp_frame,
};

#[test]
fn reads_both_byte_orders_and_both_resolutions() {
    let frame = udp_frame(5, 6, &[0; 100]);
    for big_endian in [false, true] {
        for nanoseconds in [false, true] {
            let form = Form { big_endian, nanoseconds, link_type: 1 };
            let read = frames(&pcap(form, &[(7, 500, 1_442, &frame)])).unwrap();
            let fraction_ps = if nanoseconds { 500_000 } else { 500_000_000 };
            assert_eq!(read[0].time_ps, 7_000_000_000_000 + fraction_ps);
            assert_eq!(read[0].len_bytes, 1_442);
            assert_eq!(read[0].flow.to_string(), "UDP 10.0.0.1:5 > 10.0.0.2:6");
        }
    }
}

#[test]
fn reads_pcapng_with_any_resolution_and_offset() {
    let frame = udp_frame(5, 6, &[]);
    for big_endian in [false, true] {
        let ten_seconds = if big_endian { 10_i64.to_be_bytes() } else { 10_i64.to_le_bytes() };
        let cases: [(&[BlockOption<'_>], u64, i128); 4] = [
            (&[], 1_500_000, 1_500_000_000_000),              // microseconds by default
            (&[(9, &[9])], 1_500_000_000, 1_500_000_000_000), // nanoseconds
            (&[(9, &[0x80 | 10])], 1_536, 1_500_000_000_000), // 2^-10 s
            (&[(9, &[3]), (14, &ten_seconds)], 1_500, 11_500_000_000_000), // milliseconds, offset
        ];
        for (options, timestamp, time_ps) in cases {
            let read = frames(&pcapng(big_endian, options, timestamp, &frame)).unwrap();
            assert_eq!(read.iter().map(|frame| frame.time_ps).collect::<Vec<_>>(), [time_ps]);
        }
    }
    let error = frames(&pcapng(false, &[(9, &[127])], 1, &frame)).unwrap_err().to_string();
    assert!(error.contains("resolution"), "{error}");
}

#[test]
fn reads_gzip_and_traces_of_simulated_packets() {
    use forebay_records::pcapng::{PcapngWriter, TracePacket, TraceTransport};
    let mut writer = PcapngWriter::new(Vec::new(), &["a", "b"], 64).unwrap();
    let packet = TracePacket {
        source_host: 0,
        destination_host: 1,
        source_port: 7,
        destination_port: 8,
        traffic_class: 46 << 2 | Ecn::Capable0.codepoint(),
        len_bytes: 1_000,
        transport: TraceTransport::Udp,
    };
    writer.packet(1, Time::from_picoseconds(1_000_000), &packet).unwrap();
    let read = frames(&gzip(&writer.finish().unwrap())).unwrap();
    assert_eq!(read.len(), 1);
    let CapturedFrame { time_ps, len_bytes, flow, ecn, class, interface, .. } = read[0];
    assert_eq!((time_ps, len_bytes, ecn, class, interface), (1_000_000, 1_000, Ecn::Capable0, 46, 1));
    assert_eq!(flow.to_string(), "UDP 10.0.0.1:7 > 10.0.0.2:8");
}

#[test]
fn flows_of_every_kind_of_frame() {
    let mut vlan_tcp6 = Vec::new();
    PacketBuilder::ethernet2([1; 6], [2; 6])
        .single_vlan(5.try_into().unwrap())
        .ipv6([0x20; 16], [0x30; 16], 64)
        .tcp(443, 50_000, 1, 2)
        .write(&mut vlan_tcp6, &[])
        .unwrap();
    let mut ping = Vec::new();
    PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).icmpv4_echo_request(1, 1).write(&mut ping, &[]).unwrap();
    let udp = udp_frame(5, 6, &[0; 8]);
    let ip = &udp[14..];
    let mut fragment = ip.to_vec();
    fragment[6] = 0x20; // more fragments
    let arp = [&[0_u8; 12][..], &[8, 6], &[0; 28]].concat();
    let lldp = [&[0_u8; 12][..], &[0x88, 0xcc], &[0; 28]].concat();
    let length_field = [&[0_u8; 12][..], &[0, 38], &[0; 38]].concat();
    let cooked = [&[0_u8; 14][..], &[8, 0], ip].concat();
    let cooked2 = [&[8_u8, 0][..], &[0; 18], ip].concat();
    let loopback = [&[2_u8, 0, 0, 0][..], ip].concat();
    let udp_text = "UDP 10.0.0.1:5 > 10.0.0.2:6";
    let tcp6_text =
        "TCP [2020:2020:2020:2020:2020:2020:2020:2020]:443 > [3030:3030:3030:3030:3030:3030:3030:3030]:50000";
    let cases: [(u32, &[u8], &str); 14] = [
        (1, &vlan_tcp6, tcp6_text),
        (1, &vlan_tcp6[..62], tcp6_text), // the snaplen leaves four bytes of the TCP header
        (1, &udp, udp_text),
        (1, &udp[..37], "UDP 10.0.0.1 > 10.0.0.2"),
        (1, &udp[..20], "EtherType 0x0800"),
        (1, &udp[..9], "no EtherType"),
        (1, &arp, "ARP"),
        (1, &lldp, "EtherType 0x88cc"),
        (1, &length_field, "no EtherType"),
        (101, &ping, "ICMP 10.0.0.1 > 10.0.0.2"),
        (228, &fragment, "UDP 10.0.0.1 > 10.0.0.2"),
        (113, &cooked, udp_text),
        (276, &cooked2, udp_text),
        (0, &loopback, udp_text),
    ];
    for (link_type, frame, flow) in cases {
        let read = frames(&pcap(Form { link_type, ..ETHERNET }, &[(0, 0, 0, frame)])).unwrap();
        assert_eq!(read[0].flow.to_string(), flow, "link type {link_type}, {} bytes", frame.len());
    }
}

#[test]
fn keys_differ_where_flows_do() {
    let mut keys = std::collections::BTreeSet::new();
    for source_port in 0..100 {
        for destination_port in 0..100 {
            keys.insert(dissect(LinkType::Ethernet, &udp_frame(source_port, destination_port, &[])).key);
        }
    }
    assert_eq!(keys.len(), 10_000);
}

#[test]
fn ecn_and_dscp_come_from_the_header() {
    let mut frame = udp_frame(5, 6, &[]);
    for (traffic_class, ecn, class) in [
        (0x00, Ecn::NotCapable, 0),
        (0x01, Ecn::Capable1, 0),
        (0xba, Ecn::Capable0, 46),
        (0xff, Ecn::CongestionExperienced, 63),
    ] {
        frame[15] = traffic_class;
        let headers = dissect(LinkType::Ethernet, &frame);
        assert_eq!((headers.ecn(), headers.class()), (ecn, class));
    }
}

#[test]
fn what_is_no_capture_is_refused_with_place_and_remedy() {
    let frame = udp_frame(5, 6, &[]);
    let good = pcap(ETHERNET, &[(0, 0, 0, &frame), (1, 0, 0, &frame)]);
    let mut giant = [&good[..], &vec![0; 20_000_000]].concat();
    giant[24 + 16 + frame.len() + 8..][..4].copy_from_slice(&u32::MAX.to_le_bytes());
    let compressed = gzip(&good);
    let simple = [&pcapng(false, &[], 0, &frame)[..], &block(false, 3, &[0; 8])].concat();
    let foreign =
        [&pcapng(false, &[], 0, &frame)[..28 + 24], &block(false, 6, &[[9; 12].as_slice(), &[0; 8]].concat())].concat();
    let cases: [(&[u8], &str); 9] = [
        (b"", "the file is empty; expected a pcap or pcapng capture"),
        (b"flow,bytes\n", "byte 0: 66 6c 6f 77 is neither pcap nor pcapng"),
        (&good[..10], "byte 0 (packets before it: 0): the file ends within the block that starts here; capture"),
        (&good[..81], "byte 24 (packets before it: 0): the file ends within"),
        (&giant, "byte 82 (packets before it: 1): a block claims to be longer than 16 MiB; the file is damaged"),
        (&compressed[..compressed.len() / 2], "cannot read beyond byte "),
        (&pcap(Form { link_type: 147, ..ETHERNET }, &[(0, 0, 0, &frame)]), "link type 147 is not supported; Ethernet,"),
        (&simple, "(packets before it: 1): a simple packet block has no timestamp; capture again"),
        (&foreign, "byte 52 (packets before it: 0): the packet's interface 151587081 is not described"),
    ];
    for (file, message) in cases {
        let error = frames(file).unwrap_err().to_string();
        assert!(error.contains(message), "{error}\nis not\n{message}");
    }
}

#[test]
fn a_packet_longer_than_the_buffer_is_read() {
    let long = [&udp_frame(5, 6, &[])[..], &[0; 700_000]].concat();
    let read = frames(&pcap(ETHERNET, &[(0, 0, 0, &long), (1, 0, 0, &long)])).unwrap();
    assert_eq!(read.iter().map(|frame| frame.len_bytes as usize).collect::<Vec<_>>(), [long.len(); 2]);
}

#[test]
fn every_truncation_of_the_example_is_an_error_or_fewer_packets() {
    let plain = gunzip(EXAMPLE);
    for length in 0..2_048 {
        if let Ok(read) = frames(&plain[..length]) {
            assert!(read.len() < 2_048 / 82, "at {length}");
        }
    }
    for length in 0..2_048 {
        if let Ok(read) = frames(&EXAMPLE[..length]) {
            assert!(read.len() < 2_048, "compressed, at {length}");
        }
    }
}

/// All packets of a file that are complete, and whether it ended early.
fn complete(file: &[u8]) -> (usize, bool) {
    let mut reader = CaptureReader::new(file).unwrap();
    let mut packets = 0;
    while reader.next_frame().unwrap().is_some() {
        packets += 1;
    }
    assert!(reader.next_frame().unwrap().is_none());
    (packets, reader.ended_early().is_some())
}

#[test]
fn a_file_that_ends_early_keeps_its_complete_packets() {
    let frame = udp_frame(5, 6, &[]);
    let good = pcap(ETHERNET, &[(0, 0, 0, &frame), (1, 0, 0, &frame), (2, 0, 0, &frame)]);
    assert_eq!(complete(&good), (3, false));
    for cut in 1..16 + frame.len() {
        assert_eq!(complete(&good[..good.len() - cut]), (2, true));
    }
    let compressed = gzip(&good);
    assert_eq!(complete(&compressed), (3, false));
    // Without the checksum and the length at its end.
    assert_eq!(complete(&compressed[..compressed.len() - 8]), (3, true));
    let next_generation = pcapng(false, &[], 0, &frame);
    let twice = [&next_generation[..], &next_generation].concat();
    assert_eq!(complete(&twice[..twice.len() - 4]), (1, true));
    let half = &EXAMPLE[..EXAMPLE.len() / 2];
    let (packets, early) = complete(half);
    assert!((1_000..27_000).contains(&packets) && early, "{packets} packets");
}

#[test]
fn frames_of_zero_bytes_are_skipped_and_counted() {
    let frame = udp_frame(5, 6, &[]);
    let file = pcap(ETHERNET, &[(0, 0, 0, &[]), (1, 0, 0, &frame), (2, 0, 0, &[]), (3, 0, 0, &frame)]);
    let mut reader = CaptureReader::new(&file[..]).unwrap();
    while reader.next_frame().unwrap().is_some() {}
    assert_eq!((reader.packets(), reader.empty(), reader.number()), (2, 2, 4));
}

#[test]
fn a_radiotap_header_is_no_part_of_the_packet() {
    let radiotap = [0, 0, 10, 0, 0, 0, 0, 0, 0, 0];
    let file = pcap(Form { link_type: 127, ..ETHERNET }, &[(0, 0, 1_010, &[&radiotap[..], &[8; 40]].concat())]);
    let read = frames(&file).unwrap();
    assert_eq!((read[0].len_bytes, read[0].added_bytes), (1_000, 10));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_frame_makes_the_dissector_panic(
        link_type in prop::sample::select(vec![0_u16, 1, 9, 50, 51, 101, 104, 105, 113, 127, 276]),
        ether_type in prop::sample::select(vec![
            0x0800_u16, 0x86dd, 0x8100, 0x88a8, 0x0806, 0x88e5, 0x8847, 0x8864, 0x88e7, 0x8909, 40,
        ]),
        mut frame in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        if let Some(field) = frame.get_mut(12..14) {
            field.copy_from_slice(&ether_type.to_be_bytes());
        }
        let link_type = LinkType::from_number(link_type).unwrap();
        let flow = identify(link_type, &frame);
        prop_assert_eq!(dissect(link_type, &frame).key, flow.key());
        prop_assert!(!flow.to_string().is_empty());
    }
}
