//! Captures made by hand, damaged captures, and the capture of the examples through queues.

use std::io::Write;

use etherparse::PacketBuilder;
use flate2::{Compression, write::GzEncoder};
use forebay_qdisc::{
    Admission, Backlog, Cx, Dbl, DblConfig, DropReason, DropTail, DropTailConfig, Ecn, Fifo, Span, Time,
};
use forebay_units::QueueSize;
use proptest::prelude::*;

use super::*;

const EXAMPLE: &[u8] = include_bytes!("../../../../examples/belligerent.pcap.gz");

/// Byte order and timestamps of a pcap file made by hand.
#[derive(Clone, Copy)]
struct Form {
    big_endian: bool,
    nanoseconds: bool,
    link_type: u32,
}

const ETHERNET: Form = Form { big_endian: false, nanoseconds: false, link_type: 1 };

/// A pcap file: each packet is (seconds, fraction, original length or 0 for the captured one, captured bytes).
fn pcap(form: Form, packets: &[(u32, u32, u32, &[u8])]) -> Vec<u8> {
    let mut file = Vec::new();
    let put = |file: &mut Vec<u8>, value: u32| {
        file.extend_from_slice(&if form.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
    };
    put(&mut file, if form.nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 });
    file.extend_from_slice(if form.big_endian { &[0, 2, 0, 4] } else { &[2, 0, 4, 0] });
    for value in [0, 0, 65_535, form.link_type] {
        put(&mut file, value);
    }
    for &(seconds, fraction, original, data) in packets {
        let captured = data.len() as u32;
        for value in [seconds, fraction, captured, if original == 0 { captured } else { original }] {
            put(&mut file, value);
        }
        file.extend_from_slice(data);
    }
    file
}

/// Code and value of an option of a pcapng block.
type BlockOption<'a> = (u16, &'a [u8]);

/// One pcapng block of that byte order.
fn block(big_endian: bool, block_type: u32, body: &[u8]) -> Vec<u8> {
    let length = (body.len() + 12) as u32;
    let [block_type, length] =
        [block_type, length].map(|value| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
    [&block_type, &length, body, &length].concat()
}

/// A pcapng file of one interface with those options and one packet.
fn pcapng(big_endian: bool, options: &[BlockOption<'_>], timestamp: u64, frame: &[u8]) -> Vec<u8> {
    let u16_bytes = |value: u16| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let u32_bytes = |value: u32| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let section = [&u32_bytes(0x1a2b_3c4d)[..], &u16_bytes(1), &u16_bytes(0), &[0xff; 8]].concat();
    let mut interface = [&u16_bytes(1)[..], &[0; 2], &u32_bytes(0)].concat();
    for (code, value) in options.iter().chain([&(0, &[][..])]) {
        interface.extend_from_slice(&u16_bytes(*code));
        interface.extend_from_slice(&u16_bytes(value.len() as u16));
        interface.extend_from_slice(value);
        interface.resize(interface.len().next_multiple_of(4), 0);
    }
    let mut packet = Vec::new();
    for value in [0, (timestamp >> 32) as u32, timestamp as u32, frame.len() as u32, frame.len() as u32] {
        packet.extend_from_slice(&u32_bytes(value));
    }
    packet.extend_from_slice(frame);
    packet.resize(packet.len().next_multiple_of(4), 0);
    [block(big_endian, 0x0a0d_0d0a, &section), block(big_endian, 1, &interface), block(big_endian, 6, &packet)].concat()
}

fn udp_frame(source_port: u16, destination_port: u16, payload: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
    let mut frame = Vec::new();
    builder.udp(source_port, destination_port).write(&mut frame, payload).unwrap();
    frame
}

fn frames(file: &[u8]) -> Result<Vec<CapturedFrame>, CaptureError> {
    let mut reader = CaptureReader::new(file)?;
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame()? {
        frames.push(frame);
    }
    Ok(frames)
}

fn gunzip(file: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(file), &mut plain).unwrap();
    plain
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn drop_tail(limit: QueueSize) -> Box<dyn Discipline<CapturedPacket>> {
    Box::new(Fifo::new(Box::new(DropTail::new(&DropTailConfig { limit }, Rate::megabits(1), 0).unwrap())))
}

fn run(file: &[u8], megabits: u64, limit: QueueSize) -> Result<ReplayResult, ReplayError> {
    let queue = &mut *drop_tail(limit);
    replay_through(file, Rate::megabits(megabits), "drop_tail", queue, &ReplayOptions::default())
}

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
fn reads_gzip_and_what_the_engine_writes() {
    use forebay_engine::pcapng::{PcapngWriter, TracePacket, TraceTransport};
    let mut writer = PcapngWriter::new(Vec::new(), &["a", "b"], 64).unwrap();
    let packet = TracePacket {
        source_host: 0,
        destination_host: 1,
        source_port: 7,
        destination_port: 8,
        ecn: Ecn::Capable0,
        class: 46,
        payload_bytes: 972,
        transport: TraceTransport::Udp,
    };
    writer.packet(1, Time::from_picoseconds(1_000_000), &packet).unwrap();
    let read = frames(&gzip(&writer.finish().unwrap())).unwrap();
    assert_eq!(read.len(), 1);
    let CapturedFrame { time_ps, len_bytes, flow, ecn, class, interface } = read[0];
    assert_eq!((time_ps, len_bytes, ecn, class, interface), (1_000_000, 1_014, Ecn::Capable0, 46, 1));
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
            let Headers { flow, .. } = dissect(LinkType::Ethernet, &udp_frame(source_port, destination_port, &[]));
            keys.insert(flow.key());
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
        assert_eq!((headers.ecn, headers.class), (ecn, class));
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
        (&good[..10], "byte 0 (packets before it: 0): the file ends within the block that begins here; capture"),
        (&good[..good.len() - 1], "byte 82 (packets before it: 1): the file ends within"),
        (&giant, "byte 82 (packets before it: 1): a block claims to be longer than 16 MiB; the file is damaged"),
        (&compressed[..compressed.len() - 9], "reading stopped at byte "),
        (&pcap(Form { link_type: 105, ..ETHERNET }, &[(0, 0, 0, &frame)]), "link type 105 is not read; Ethernet,"),
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
fn packets_are_brought_into_order() {
    let (a, b) = (udp_frame(1, 1, &[0; 58]), udp_frame(2, 2, &[0; 58]));
    let file = pcap(ETHERNET, &[(5, 10, 0, &a), (5, 2, 0, &b), (5, 2, 0, &a), (5, 11, 0, &b)]);
    let mut arrivals = Arrivals::new(CaptureReader::new(&file[..]).unwrap(), None);
    let mut order = Vec::new();
    while let Some(packet) = arrivals.next_packet().unwrap() {
        order.push((packet.time.picoseconds() / 1_000_000, packet.flow));
    }
    assert_eq!(order, [(0, 0), (0, 1), (8, 1), (9, 0)]);
    assert_eq!(arrivals.flows()[0].to_string(), "UDP 10.0.0.1:2 > 10.0.0.2:2");
    assert_eq!(arrivals.out_of_order, 1);
}

#[test]
fn a_capture_too_far_out_of_order_is_refused() {
    let frame = udp_frame(1, 1, &[]);
    let mut packets = vec![(9, 0, 0, &frame[..]); ORDER_WINDOW_PACKETS + 5];
    packets.push((1, 0, 0, &frame));
    let error = run(&pcap(ETHERNET, &packets), 1_000, QueueSize::Packets(10)).unwrap_err().to_string();
    assert!(error.contains("packet 65542 is earlier") && error.contains("reordercap"), "{error}");
}

/// Four packets of 1000 bytes at 8 Mb/s (1 ms each), the first three 0.1 ms apart, a queue of one packet.
#[test]
fn delays_and_drops_by_hand() {
    let frame = udp_frame(1, 1, &[]);
    let at = [0, 100, 200, 5_000].map(|microseconds| (3, microseconds, 1_000, &frame[..]));
    let result = run(&pcap(ETHERNET, &at), 8, QueueSize::Packets(1)).unwrap();
    let flows = &result.flows;
    assert_eq!((result.packets, result.bytes), (4, 4_000));
    assert_eq!((flows.counts("packets_delivered")[0], flows.counts("dropped_overflow")[0]), (3, 1));
    assert_eq!(flows.counts("bytes_dropped"), [1_000]);
    // 1 ms, 1.9 ms, 1 ms.
    assert!((flows.floats("delay_mean_s")[0] - 0.0013).abs() < 1e-12);
    assert!((flows.floats("delay_max_s")[0] - 0.0019).abs() < 1e-12);
    assert!((flows.floats("last_drop_s")[0] - 0.0002).abs() < 1e-12);
    assert!((flows.floats("offered_bps")[0] - 4_000.0 * 8.0 / 0.005).abs() < 1e-3);
    assert!((result.duration_s - 0.006).abs() < 1e-12);
    assert!(flows.floats("classified_at_s")[0].is_nan());
    assert_eq!(result.queue.counts("length_max_packets"), [1]);
}

#[test]
fn only_packets_to_the_destination_are_replayed() {
    let forth = udp_frame(1, 2, &[]);
    let mut back = forth.clone();
    back[26..34].rotate_left(4);
    let file = pcap(ETHERNET, &[(1, 0, 0, &back), (2, 0, 0, &forth), (3, 0, 0, &back)]);
    let replay_to = |destination: &str| {
        let options = ReplayOptions { destination: Some(destination.parse().unwrap()), ..ReplayOptions::default() };
        let queue = &mut *drop_tail(QueueSize::Packets(10));
        replay_through(&file[..], Rate::megabits(1), "drop_tail", queue, &options)
    };
    let result = replay_to("10.0.0.2").unwrap();
    assert_eq!((result.packets, result.packets_unselected), (1, 2));
    assert_eq!(result.flows.texts("flow"), ["UDP 10.0.0.1:1 > 10.0.0.2:2"]);
    // Times count from the capture's first packet, selected or not.
    assert_eq!(result.flows.floats("first_s"), [1.0]);
    let error = replay_to("10.9.9.9").unwrap_err().to_string();
    assert_eq!(error, "no packet to replay: the capture holds 3 packets, 3 of them to other destinations");
}

#[test]
fn a_replay_without_end_is_refused() {
    let frame = udp_frame(1, 1, &[]);
    let file = pcap(ETHERNET, &[(0, 0, 10_000_000, &frame)]);
    let queue = &mut *drop_tail(QueueSize::Packets(10));
    let error = replay_through(&file[..], Rate::new(1).unwrap(), "drop_tail", queue, &ReplayOptions::default());
    assert!(matches!(error, Err(ReplayError::TooLong)));
}

/// Lets a packet go only at whole milliseconds, or never.
struct Gate {
    packets: Vec<CapturedPacket>,
    opens: bool,
    asked_at: Time,
}

impl Discipline<CapturedPacket> for Gate {
    fn enqueue(&mut self, packet: CapturedPacket, _: &mut Cx<'_, CapturedPacket>) {
        self.packets.push(packet);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, CapturedPacket>) -> Option<CapturedPacket> {
        self.asked_at = cx.now;
        let open = self.opens && cx.now.picoseconds().is_multiple_of(1_000_000_000);
        if open { self.packets.pop() } else { None }
    }

    fn poll_at(&self) -> Option<Time> {
        let milliseconds = self.asked_at.picoseconds() / 1_000_000_000 + 1;
        let waits = self.opens && !self.packets.is_empty();
        waits.then(|| Time::ZERO.saturating_add(Span::from_milliseconds(milliseconds)))
    }

    fn state_bytes(&self) -> u64 {
        0
    }

    fn backlog(&self) -> Backlog {
        let bytes = self.packets.iter().map(|packet| u64::from(packet.len_bytes)).sum();
        Backlog { packets: self.packets.len() as u64, bytes }
    }
}

#[test]
fn a_shaper_is_asked_again_and_a_leak_is_found() {
    let frame = udp_frame(1, 1, &[]);
    let at = [0, 300, 2_500].map(|microseconds| (3, microseconds, 125, &frame[..]));
    let file = pcap(ETHERNET, &at);
    let replay_gate = |opens| {
        let mut gate = Gate { packets: Vec::new(), opens, asked_at: Time::ZERO };
        replay_through(&file[..], Rate::megabits(1_000), "gate", &mut gate, &ReplayOptions::default())
    };
    let result = replay_gate(true).unwrap();
    // Sent at 0, 1 and 3 ms; one microsecond each.
    assert!((result.duration_s - 0.003_001).abs() < 1e-12);
    assert!((result.flows.floats("delay_max_s")[0] - 0.000_701).abs() < 1e-12);
    assert!(matches!(replay_gate(false), Err(ReplayError::Invariant(_))));
}

/// Row of the flow with that destination port in the example's results.
fn row(result: &ReplayResult, protocol_and_port: (&str, &str)) -> usize {
    let (protocol, port) = protocol_and_port;
    result.flows.texts("flow").iter().position(|flow| flow.starts_with(protocol) && flow.ends_with(port)).unwrap()
}

const FLOOD: (&str, &str) = ("UDP", ":5202");
const VOICE: (&str, &str) = ("UDP", ":5203");

/// The example through the queue that its router had: 20 Mb/s, 200 kB.
fn example_through_drop_tail() -> ReplayResult {
    let queue = QueueSpec::DropTail(DropTailConfig { limit: QueueSize::Bytes(200_000) });
    replay(EXAMPLE, Rate::megabits(20), &queue, &ReplayOptions::default()).unwrap()
}

fn example_through_dbl(seed: u64) -> ReplayResult {
    let law = Dbl::new(&DblConfig::default(), Rate::megabits(20), seed).unwrap();
    let options = ReplayOptions { seed, ..ReplayOptions::default() };
    replay_through(EXAMPLE, Rate::megabits(20), "dbl", &mut Fifo::<_, dyn Admission>::new(Box::new(law)), &options)
        .unwrap()
}

#[test]
fn drop_tail_does_not_bring_the_voice_through_unharmed() {
    let result = example_through_drop_tail();
    let (flows, voice) = (&result.flows, row(&result, VOICE));
    assert_eq!((result.discipline.as_str(), result.packets), ("drop_tail", 27_777));
    assert!(flows.counts("dropped_overflow")[voice] > 0);
    assert!(flows.floats("delay_mean_s")[voice] > 0.05);
    assert!(result.queue.counts("length_max_bytes")[0] <= 200_000);
}

#[test]
fn dbl_contains_the_flood_and_brings_the_voice_through() {
    for seed in 1..=5 {
        let result = example_through_dbl(seed);
        let (flows, flood, voice) = (&result.flows, row(&result, FLOOD), row(&result, VOICE));
        // The flood begins at 4.2425 s.
        let classified_at_s = flows.floats("classified_at_s")[flood];
        assert!((4.24..4.5).contains(&classified_at_s), "seed {seed}: flood classified at {classified_at_s}");
        // It is held to what the others leave: it loses nearly all that it offers beyond, as belligerent.
        let dropped = flows.counts("packets_dropped")[flood] as f64;
        assert!(dropped > 0.3 * flows.counts("packets")[flood] as f64);
        assert!(flows.counts("dropped_belligerent")[flood] as f64 > 0.9 * dropped);
        // And it does not fill the buffer: its packets wait less than half of what they wait with drop-tail.
        let drop_tail = example_through_drop_tail();
        let delay_max_s = |result: &ReplayResult| result.flows.floats("delay_max_s")[flood];
        assert!(delay_max_s(&result) < delay_max_s(&drop_tail) / 2.0);
        // The voice is never classified, and loses nothing from then on.
        assert!(flows.floats("classified_at_s")[voice].is_nan());
        let last_drop_s = flows.floats("last_drop_s")[voice];
        assert!(last_drop_s.is_nan() || last_drop_s < classified_at_s, "seed {seed}: voice lost at {last_drop_s}");
        assert!(flows.floats("delay_mean_s")[voice] < drop_tail.flows.floats("delay_mean_s")[voice] / 3.0);
    }
}

#[test]
fn equal_seeds_give_equal_results() {
    let text = |seed| format!("{:?}", example_through_dbl(seed));
    assert_eq!(text(1), text(1));
    assert_ne!(text(1), text(2));
}

#[test]
fn every_packet_is_delivered_or_dropped() {
    for result in [example_through_drop_tail(), example_through_dbl(1)] {
        let flows = &result.flows;
        for (index, packets) in flows.counts("packets").iter().enumerate() {
            let by_reason: u64 = DropReason::ALL.iter().map(|reason| flows.counts(reason.column())[index]).sum();
            assert_eq!(by_reason, flows.counts("packets_dropped")[index]);
            assert_eq!(*packets, flows.counts("packets_delivered")[index] + by_reason);
            let bytes = flows.counts("bytes_delivered")[index] + flows.counts("bytes_dropped")[index];
            assert_eq!(bytes, flows.counts("bytes")[index]);
        }
    }
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
        assert!(frames(&EXAMPLE[..length]).is_err(), "compressed, at {length}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_the_reader_panic(
        head in prop::sample::select(vec![
            &[][..], &[0xd4, 0xc3, 0xb2, 0xa1], &[0xa1, 0xb2, 0x3c, 0x4d], &[0x34, 0xcd, 0xb2, 0xa1], &[0x1f, 0x8b, 8],
            b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0",
        ]),
        tail in prop::collection::vec(any::<u8>(), 0..2_000),
    ) {
        let _ = run(&[head, &tail].concat(), 10, QueueSize::Packets(10));
    }

    #[test]
    fn no_damage_to_a_good_file_makes_a_replay_panic(
        big_endian: bool, ng: bool, damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let frame = udp_frame(5, 6, &[0; 20]);
        let mut file = if ng {
            pcapng(big_endian, &[(9, &[9]), (14, &[0; 8])], 7, &frame)
        } else {
            pcap(Form { big_endian, ..ETHERNET }, &[(0, 0, 0, &frame), (0, 7, 0, &frame), (1, 0, 0, &frame)])
        };
        for (index, byte) in damage {
            let index = index.index(file.len());
            file[index] = byte;
        }
        let _ = run(&file, 10, QueueSize::Packets(10));
    }

    #[test]
    fn no_frame_makes_the_dissector_panic(
        link_type in prop::sample::select(vec![0_u16, 1, 101, 113, 276]),
        ether_type in prop::sample::select(vec![0x0800_u16, 0x86dd, 0x8100, 0x88a8, 0x0806, 0x88e5]),
        mut frame in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        if let Some(field) = frame.get_mut(12..14) {
            field.copy_from_slice(&ether_type.to_be_bytes());
        }
        let headers = dissect(LinkType::from_number(link_type).unwrap(), &frame);
        let _ = (headers.flow.to_string(), headers.flow.key());
    }
}
