//! Captures made by hand, damaged ones, and that of the examples through queues.

use std::io;

use forebay_qdisc::{
    Backlog, Cx, Dbl, DblConfig, DropReason, DropTail, DropTailConfig, Ecn, Fifo, MarkReason, Packet, Served, Span,
    Time, Verdict,
};
use forebay_units::QueueSize;
use proptest::prelude::*;

use super::*;
use crate::test_captures::{ETHERNET, EXAMPLE, Form, pcap, pcapng, udp_frame};

fn drop_tail(limit: QueueSize) -> Box<dyn Discipline<CapturedPacket>> {
    Box::new(Fifo::new(Box::new(DropTail::new(&DropTailConfig { limit }, Rate::megabits(1), 0).unwrap())))
}

fn dbl(salt: u64) -> Box<dyn Discipline<CapturedPacket>> {
    Box::new(Fifo::new(Box::new(Dbl::new(&DblConfig::default(), Rate::megabits(20), salt).unwrap())))
}

fn unwritten<'a>(name: &str, queue: Box<dyn Discipline<CapturedPacket> + 'a>) -> ReplayedQueue<'a> {
    ReplayedQueue { name: name.to_owned(), discipline: name.to_owned(), queue, delivered_to: None, dropped_to: None }
}

fn replay_one(
    file: &[u8],
    rate: Rate,
    name: &str,
    queue: Box<dyn Discipline<CapturedPacket>>,
    options: &ReplayOptions,
) -> Result<ReplayResult, ReplayError> {
    replay(file, rate, vec![unwritten(name, queue)], options, &mut || true)
}

fn run(file: &[u8], megabits: u64, limit: QueueSize) -> Result<ReplayResult, ReplayError> {
    replay_one(file, Rate::megabits(megabits), "drop_tail", drop_tail(limit), &ReplayOptions::default())
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
    assert_eq!(result.queues.counts("length_max_packets"), [1]);
}

#[test]
fn only_packets_to_the_destination_are_replayed() {
    let forth = udp_frame(1, 2, &[]);
    let mut back = forth.clone();
    back[26..34].rotate_left(4);
    let file = pcap(ETHERNET, &[(1, 0, 0, &back), (2, 0, 0, &forth), (3, 0, 0, &back)]);
    let replay_to = |destination: &str| {
        let options = ReplayOptions { destination: Some(destination.parse().unwrap()), ..ReplayOptions::default() };
        let queue = drop_tail(QueueSize::Packets(10));
        replay_one(&file, Rate::megabits(1), "drop_tail", queue, &options)
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
    let queue = drop_tail(QueueSize::Packets(10));
    let error = replay_one(&file, Rate::new(1).unwrap(), "drop_tail", queue, &ReplayOptions::default());
    assert!(matches!(error, Err(ReplayError::TooLong)));
}

/// Lets a packet go only at whole milliseconds, or never.
struct Gate {
    packets: Vec<CapturedPacket>,
    opens: bool,
}

impl Discipline<CapturedPacket> for Gate {
    fn enqueue(&mut self, packet: CapturedPacket, _: &mut Cx<'_, CapturedPacket>) {
        self.packets.push(packet);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, CapturedPacket>) -> Served<CapturedPacket> {
        if !self.opens || self.packets.is_empty() {
            return Served::Idle;
        }
        if cx.now.picoseconds().is_multiple_of(1_000_000_000) {
            return self.packets.pop().into();
        }
        let milliseconds = cx.now.picoseconds() / 1_000_000_000 + 1;
        Served::PollAt(Time::ZERO.saturating_add(Span::from_milliseconds(milliseconds)))
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
        let gate = Box::new(Gate { packets: Vec::new(), opens });
        replay_one(&file, Rate::megabits(1_000), "gate", gate, &ReplayOptions::default())
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
    let queue = drop_tail(QueueSize::Bytes(200_000));
    replay_one(EXAMPLE, Rate::megabits(20), "drop_tail", queue, &ReplayOptions::default()).unwrap()
}

fn example_through_dbl(seed: u64) -> ReplayResult {
    let options = ReplayOptions { seed, ..ReplayOptions::default() };
    replay_one(EXAMPLE, Rate::megabits(20), "dbl", dbl(seed), &options).unwrap()
}

#[test]
fn drop_tail_does_not_bring_the_voice_through_unharmed() {
    let result = example_through_drop_tail();
    let (flows, voice) = (&result.flows, row(&result, VOICE));
    assert_eq!((&result.queues.texts("discipline")[0], result.packets), ("drop_tail", 27_777));
    assert!(flows.counts("dropped_overflow")[voice] > 0);
    assert!(flows.floats("delay_mean_s")[voice] > 0.05);
    assert!(result.queues.counts("length_max_bytes")[0] <= 200_000);
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

/// Marks what can be marked, and drops the rest when the queue is longer than a packet.
struct Marker;

impl forebay_qdisc::Admission for Marker {
    fn admit(&mut self, arrival: &forebay_qdisc::Arrival, offer: &mut forebay_qdisc::Offer<'_>) -> Verdict {
        match arrival.ecn {
            Ecn::NotCapable if offer.backlog.packets > 0 => Verdict::Drop(DropReason::Early),
            Ecn::NotCapable => Verdict::Enqueue(forebay_qdisc::Ticket(0)),
            _ => Verdict::Mark(forebay_qdisc::Ticket(0), MarkReason::Early),
        }
    }

    fn state_bytes(&self) -> u64 {
        0
    }
}

/// A UDP frame of IPv4 with that traffic class and a right checksum.
fn frame_with(source_port: u16, traffic_class: u8) -> Vec<u8> {
    let mut frame = udp_frame(source_port, 9, &[7; 58]);
    frame[15] = traffic_class;
    let (header, _) = etherparse::Ipv4Header::from_slice(&frame[14..]).unwrap();
    frame[24..26].copy_from_slice(&header.calc_header_checksum().to_be_bytes());
    frame
}

/// Times and bytes of a capture's packets.
fn packets_of(file: &[u8]) -> Vec<(i128, Vec<u8>)> {
    let mut reader = CaptureReader::new(file).unwrap();
    reader.keep_bytes();
    let mut packets = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        packets.push((frame.time_ps, reader.bytes().clone()));
    }
    packets
}

#[test]
fn what_is_let_through_and_what_is_dropped_are_captures() {
    // 100 bytes at 8 Mb/s take 100 µs. The third and the fifth find a packet queued; the fourth is marked.
    let frames = [frame_with(1, 0b00), frame_with(2, 0b10), frame_with(3, 0b00), frame_with(4, 0xb9), frame_with(5, 0)];
    let packets: Vec<_> = frames.iter().enumerate().map(|(i, frame)| (9, i as u32, 0, &frame[..])).collect();
    let (mut delivered, mut dropped) = (Vec::new(), Vec::new());
    let mut unmarked = Vec::new();
    let mut plain = unwritten("plain", drop_tail(QueueSize::Packets(10)));
    plain.delivered_to = Some(Box::new(&mut unmarked));
    let mut marker = unwritten("marker", Box::new(Fifo::new(Box::new(Marker))));
    marker.delivered_to = Some(Box::new(&mut delivered));
    marker.dropped_to = Some(Box::new(&mut dropped));
    let file = pcap(ETHERNET, &packets);
    let rate = Rate::megabits(8);
    let result = replay(&file[..], rate, vec![marker, plain], &ReplayOptions::default(), &mut || true).unwrap();
    assert_eq!(result.queues.counts("packets_marked"), [2, 0]);
    let microseconds = |packets: &[(i128, Vec<u8>)]| -> Vec<i128> {
        packets.iter().map(|(time_ps, _)| time_ps / 1_000_000 - 9_000_000).collect()
    };

    let through = packets_of(&delivered);
    assert_eq!(microseconds(&through), [100, 200, 300]);
    assert_eq!(through[0].1, frames[0]);
    for ((_, bytes), (came, traffic_class)) in through[1..].iter().zip([(&frames[1], 0b11), (&frames[3], 0xbb)]) {
        assert_eq!(bytes[15], traffic_class);
        let (header, _) = etherparse::Ipv4Header::from_slice(&bytes[14..]).unwrap();
        assert_eq!(header.header_checksum, header.calc_header_checksum());
        // Nothing else is touched.
        assert_eq!((&bytes[..15], &bytes[16..24], &bytes[26..]), (&came[..15], &came[16..24], &came[26..]));
    }
    let lost = packets_of(&dropped);
    assert_eq!(microseconds(&lost), [2, 4]);
    assert_eq!([&lost[0].1, &lost[1].1], [&frames[2], &frames[4]]);
    assert!(dropped.windows(13).any(|bytes| bytes == b"dropped_early"));
    // The other queue has them as they came.
    assert_eq!(packets_of(&unmarked).into_iter().map(|(_, bytes)| bytes).collect::<Vec<_>>(), frames);
}

#[test]
fn an_ipv6_header_is_marked_too() {
    let mut frame = Vec::new();
    let builder = etherparse::PacketBuilder::ethernet2([1; 6], [2; 6]).ipv6([1; 16], [2; 16], 9);
    builder.udp(1, 2).write(&mut frame, &[]).unwrap();
    frame[15] |= 0x20; // ECT(0)
    let headers = dissect(LinkType::Ethernet, &frame);
    assert_eq!((headers.ecn(), headers.ip_at), (Ecn::Capable0, Some(14)));
    mark_ce(&mut frame, 14);
    assert_eq!(dissect(LinkType::Ethernet, &frame).ecn(), Ecn::CongestionExperienced);
}

#[test]
fn a_class_is_set_with_a_right_checksum_and_leaves_ecn_alone() {
    for (before, class, after) in [(0xb9, 0, 0x01), (0x03, 46, 0xbb), (0xff, 63, 0xff), (0x00, 0, 0x00)] {
        let mut frame = frame_with(1, before);
        let came = frame.clone();
        set_class(&mut frame, 14, class);
        let (header, _) = etherparse::Ipv4Header::from_slice(&frame[14..]).unwrap();
        assert_eq!((frame[15], header.header_checksum), (after, header.calc_header_checksum()));
        assert_eq!((&frame[..15], &frame[16..24], &frame[26..]), (&came[..15], &came[16..24], &came[26..]));

        let mut frame = Vec::new();
        let builder = etherparse::PacketBuilder::ethernet2([1; 6], [2; 6]).ipv6([1; 16], [2; 16], 9);
        builder.udp(1, 2).write(&mut frame, &[]).unwrap();
        (frame[14], frame[15]) = (0x60 | before >> 4, before << 4 | 0x0a);
        set_class(&mut frame, 14, class);
        assert_eq!((frame[14], frame[15]), (0x60 | after >> 4, after << 4 | 0x0a), "the flow label stays");
    }
}

/// A queue that clears the class of each packet.
#[derive(Default)]
struct Washer(std::collections::VecDeque<CapturedPacket>);

impl Discipline<CapturedPacket> for Washer {
    fn enqueue(&mut self, mut packet: CapturedPacket, _: &mut Cx<'_, CapturedPacket>) {
        packet.set_class(0);
        self.0.push_back(packet);
    }

    fn dequeue(&mut self, _: &mut Cx<'_, CapturedPacket>) -> Served<CapturedPacket> {
        self.0.pop_front().into()
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.0.len() as u64, bytes: self.0.iter().map(|packet| u64::from(packet.len_bytes)).sum() }
    }

    fn state_bytes(&self) -> u64 {
        0
    }
}

#[test]
fn a_class_that_a_queue_has_set_is_in_its_capture_alone() {
    let frames = [frame_with(1, 0xb9), frame_with(2, 0)];
    let packets: Vec<_> = frames.iter().enumerate().map(|(i, frame)| (9, i as u32, 0, &frame[..])).collect();
    let (mut washed, mut plain) = (Vec::new(), Vec::new());
    let mut washer = unwritten("washer", Box::new(Washer::default()));
    washer.delivered_to = Some(Box::new(&mut washed));
    let mut fifo = unwritten("plain", drop_tail(QueueSize::Packets(10)));
    fifo.delivered_to = Some(Box::new(&mut plain));
    let file = pcap(ETHERNET, &packets);
    replay(&file[..], Rate::megabits(8), vec![washer, fifo], &ReplayOptions::default(), &mut || true).unwrap();
    let bytes = |file: &[u8]| packets_of(file).into_iter().map(|(_, bytes)| bytes).collect::<Vec<_>>();
    assert_eq!(bytes(&washed), [frame_with(1, 0x01), frames[1].clone()]);
    assert_eq!(bytes(&plain), frames);
}

#[test]
fn an_output_that_cannot_be_written_ends_the_replay() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for buffer_bytes in [0, 1_000, 1 << 24] {
        let mut queue = unwritten("drop_tail", drop_tail(QueueSize::Packets(10)));
        queue.delivered_to = Some(Box::new(std::io::BufWriter::with_capacity(buffer_bytes, Full)));
        let ended = replay(EXAMPLE, Rate::megabits(20), vec![queue], &ReplayOptions::default(), &mut || true);
        assert!(matches!(ended, Err(ReplayError::Write(_))), "{buffer_bytes}: {ended:?}");
    }
}

#[test]
fn a_replay_stops_when_told_to() {
    let mut asked = 0;
    let mut control = || {
        asked += 1;
        asked < 3
    };
    let queues = vec![unwritten("drop_tail", drop_tail(QueueSize::Packets(10)))];
    let ended = replay(EXAMPLE, Rate::megabits(20), queues, &ReplayOptions::default(), &mut control);
    assert!(matches!(ended, Err(ReplayError::Stopped)) && asked == 3);
}

#[test]
fn queues_side_by_side_do_not_see_each_other() {
    let both = vec![unwritten("dbl", dbl(1)), unwritten("drop_tail", drop_tail(QueueSize::Bytes(200_000)))];
    let together = replay(EXAMPLE, Rate::megabits(20), both, &ReplayOptions::default(), &mut || true).unwrap();
    let alone = [example_through_dbl(1), example_through_drop_tail()];
    for quantity in ["packets_dropped", "packets_delivered", "bytes_dropped"] {
        let apart: Vec<u64> = alone.iter().flat_map(|result| result.flows.counts(quantity)).copied().collect();
        assert_eq!(together.flows.counts(quantity), apart);
    }
    for quantity in ["delay_p99_s", "length_mean_packets", "utilization"] {
        let apart: Vec<f64> = alone.iter().flat_map(|result| result.queues.floats(quantity)).copied().collect();
        assert_eq!(together.queues.floats(quantity), apart, "{quantity}");
    }
    // The series are equally long, however long a queue takes to drain.
    let lengths: std::collections::BTreeSet<usize> = together.series.iter().map(|series| series.values.len()).collect();
    assert_eq!(lengths.len(), 1);
    // Values that only DBL has are gaps in the other's row.
    let gauges: Vec<_> =
        together.queues.columns.iter().filter(|(_, column)| format!("{column:?}").contains("NaN")).collect();
    assert!(!gauges.is_empty());
}

#[test]
fn series_add_up_to_the_tables() {
    let result = example_through_drop_tail();
    let values = |quantity: &str| {
        let series = result.series.iter().find(|series| series.quantity == quantity).unwrap();
        (series.interval_s, &series.values)
    };
    let (interval_s, dropped) = values("packets_dropped");
    assert_eq!(dropped.iter().sum::<f64>(), result.queues.counts("packets_dropped")[0] as f64);
    assert_eq!(dropped.len(), (result.duration_s / interval_s).round() as usize);
    // Neither does the line carry more than its rate at any time, the end included.
    assert!(values("delivered_bps").1.iter().all(|&bps| bps <= 20e6 * (1.0 + 1e-9)));
    let longest = values("length_max_packets").1.iter().copied().fold(0.0, f64::max);
    assert_eq!(longest, result.queues.counts("length_max_packets")[0] as f64);
    let worst = values("delay_max_s").1.iter().copied().fold(0.0, f64::max);
    assert_eq!(worst, result.queues.floats("delay_max_s")[0]);
}

#[test]
fn packets_without_their_ports_are_counted() {
    let frame = udp_frame(1, 1, &[0; 58]);
    let other = udp_frame(2, 2, &[0; 58]);
    let file = pcap(ETHERNET, &[(1, 0, 100, &frame[..36]), (1, 1, 100, &other[..36]), (1, 2, 0, &other)]);
    let result = run(&file, 8, QueueSize::Packets(10)).unwrap();
    assert_eq!(result.flows.texts("flow"), ["UDP 10.0.0.1 > 10.0.0.2", "UDP 10.0.0.1:2 > 10.0.0.2:2"]);
    assert_eq!((result.packets_cut, result.flows.counts("packets_cut")), (2, &[2, 0][..]));
    // A packet that is as long as on the wire is not cut.
    let whole = run(&pcap(ETHERNET, &[(1, 0, 0, &frame[..36])]), 8, QueueSize::Packets(10)).unwrap();
    assert_eq!(whole.packets_cut, 0);
}

#[test]
fn too_many_intervals_are_refused() {
    let frame = udp_frame(1, 1, &[]);
    let file = pcap(ETHERNET, &[(0, 0, 0, &frame), (2, 0, 0, &frame)]);
    let options = ReplayOptions { interval: Some(Span::from_microseconds(1)), ..ReplayOptions::default() };
    let queue = drop_tail(QueueSize::Packets(10));
    let error = replay_one(&file, Rate::megabits(8), "drop_tail", queue, &options).unwrap_err().to_string();
    assert!(error.contains("longer interval"), "{error}");
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
}

/// The example's packets, recorded and replayed, meet the same fate as those of the capture itself.
#[test]
fn a_record_is_replayed_like_its_capture() {
    let mut capture = CaptureReader::new(EXAMPLE).unwrap();
    let mut writer = None;
    while let Some(frame) = capture.next_frame().unwrap() {
        let CapturedFrame { time_ps, flow, len_bytes, ecn, class, .. } = frame;
        let time_ns = (time_ps / 1_000) as u64;
        let writer = writer.get_or_insert_with(|| RecordWriter::new(Vec::new(), time_ns).unwrap());
        writer.arrival(&RecordedArrival { time_ns, flow, len_bytes, ecn, class }).unwrap();
    }
    let mut writer = writer.unwrap();
    writer.missed(3).unwrap();
    let record = std::mem::take(writer.output());
    let options = ReplayOptions { destination: Some("192.0.2.1".parse().unwrap()), ..ReplayOptions::default() };
    assert!(matches!(
        replay_one(&record, Rate::megabits(20), "dbl", dbl(1), &options),
        Err(ReplayError::NoPackets { unselected: 27_777, .. })
    ));
    let replayed =
        |file: &[u8]| replay_one(file, Rate::megabits(20), "dbl", dbl(1), &ReplayOptions::default()).unwrap();
    let (from_capture, from_record) = (replayed(EXAMPLE), replayed(&record));
    assert_eq!(from_record.packets_missed, 3);
    // As text, in which NaN is NaN.
    assert_eq!(format!("{:?}", from_record.flows), format!("{:?}", from_capture.flows));
    assert_eq!(format!("{:?}", from_record.series), format!("{:?}", from_capture.series));
}

#[test]
fn a_record_has_no_bytes_to_write() {
    let record = std::mem::take(RecordWriter::new(Vec::new(), 0).unwrap().output());
    let queue = ReplayedQueue { dropped_to: Some(Box::new(io::sink())), ..unwritten("dbl", dbl(1)) };
    let error = replay(&record[..], Rate::megabits(1), vec![queue], &ReplayOptions::default(), &mut || true);
    assert!(error.unwrap_err().to_string().contains("leave out --capture-out and --drops-out"));
}
