//! The live port decides as `forebay replay` does: the same verdict for every packet, under every discipline.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use forebay_live::packet::LivePacket;
use forebay_live::pool::Pool;
use forebay_live::port::{Port, PortParts, Tap};
use forebay_qdisc::config::{NoCustomDiscipline, QueueSpec};
use forebay_qdisc::{DropReason, Rate, Span, Time};
use forebay_replay::{CaptureReader, CapturedPacket, ReplayOptions, ReplayedQueue, replay, rng, salt};
use proptest::prelude::*;

const SEED: u64 = 7;

/// A frame at a time in nanoseconds.
#[derive(Clone, Debug)]
struct Arrival {
    at_ns: u64,
    frame: Vec<u8>,
}

/// The headers of a packet of IPv4 of one of some flows, with this byte of DSCP and ECN.
fn headers(flow: u8, protocol: u8, ip_bytes: usize, traffic_class: u8) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    let mut ip = vec![0x45, traffic_class, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, flow, 10, 0, 1, 1];
    ip[2..4].copy_from_slice(&(ip_bytes as u16).to_be_bytes());
    let sum: u32 = ip.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    ip[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    frame.extend(ip);
    frame
}

/// A pure ACK of TCP that acknowledges its number.
fn ack(number: u32, flow: u8) -> Vec<u8> {
    let mut frame = headers(flow, 6, 40, 0);
    frame.extend([0, flow, 0, 9, 0, 0, 0, 1]);
    frame.extend(number.to_be_bytes());
    frame.extend([0x50, 0x10, 0, 9, 0, 0, 0, 0]);
    frame
}

/// A UDP packet of one of some flows. Its number is its payload.
fn frame(number: u32, flow: u8, payload_bytes: usize, traffic_class: u8) -> Vec<u8> {
    let ip_bytes = 20 + 8 + payload_bytes;
    let mut frame = headers(flow, 17, ip_bytes, traffic_class);
    frame.extend([0, flow, 0, 9, 0, 0, 0, 0]);
    frame[38..40].copy_from_slice(&((8 + payload_bytes) as u16).to_be_bytes());
    frame.extend(number.to_be_bytes());
    frame.resize(14 + ip_bytes, 0);
    frame
}

fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[42..46].try_into().unwrap())
}

/// Bursts of packets that offer about 1.5 times the rate of 10 Mb/s.
fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let traffic_class = prop::sample::select(vec![0_u8, 0, 0, 1, 2, 0x21, 0xb8]);
    let packet = (0_u8..7, 0_usize..1400, 0_u64..1_400_000, traffic_class);
    prop::collection::vec(packet, 50..400).prop_map(|packets| {
        let mut at_ns = 0;
        let arrival = |(number, (flow, payload, gap_ns, traffic_class)): (u32, (u8, usize, u64, u8))| {
            // Every fourth packet comes right behind the one before.
            at_ns += if number % 4 == 0 { 0 } else { gap_ns };
            // One flow sends half of all packets, and another one ACKs.
            let frame = match flow {
                6 => ack(number, flow),
                _ => frame(number, flow.saturating_sub(3), payload + 4, traffic_class),
            };
            Arrival { at_ns, frame }
        };
        (0..).zip(packets).map(arrival).collect()
    })
}

/// The fates of packets, in order: those that left, with their bytes, and those dropped.
#[derive(Debug, Default, PartialEq)]
struct Verdicts {
    left: Vec<(u64, Vec<u8>)>,
    dropped: Vec<(u64, u32)>,
}

/// A file in memory.
#[derive(Clone, Default)]
struct Memory(Rc<RefCell<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Memory {
    /// The times in nanoseconds and the bytes of its packets.
    fn packets(&self) -> Vec<(u64, Vec<u8>)> {
        let bytes = self.0.borrow();
        let mut reader = CaptureReader::new(&bytes[..]).unwrap();
        reader.keep_bytes();
        let mut packets = Vec::new();
        while let Some(frame) = reader.next_frame().unwrap() {
            packets.push(((frame.time_ps / 1000) as u64, reader.bytes().clone()));
        }
        packets
    }
}

/// A pcap file with nanoseconds.
fn capture(arrivals: &[Arrival]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        file.extend(word.to_le_bytes());
    }
    for Arrival { at_ns, frame } in arrivals {
        let (seconds, fraction) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000);
        for word in [seconds as u32, fraction as u32, frame.len() as u32, frame.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    file
}

fn replayed(spec: &QueueSpec<NoCustomDiscipline>, rate: Rate, arrivals: &[Arrival]) -> Verdicts {
    let (delivered, dropped) = (Memory::default(), Memory::default());
    let queue = ReplayedQueue {
        name: "queue".into(),
        discipline: spec.name().into(),
        queue: spec.build::<CapturedPacket>(rate, salt(SEED)).unwrap().into_discipline(),
        delivered_to: Some(Box::new(delivered.clone())),
        dropped_to: Some(Box::new(dropped.clone())),
    };
    let options = ReplayOptions { seed: SEED, ..ReplayOptions::default() };
    let file = capture(arrivals);
    replay(&file[..], rate, vec![queue], &options, &mut || true).unwrap();
    let of_number = |(at, frame): (u64, Vec<u8>)| (at, number(&frame));
    Verdicts { left: delivered.packets(), dropped: dropped.packets().into_iter().map(of_number).collect() }
}

/// Tells of drops.
struct Drops(Arc<Mutex<Vec<(u64, u32)>>>);

impl Tap for Drops {
    fn dropped(&mut self, now: Time, _: &LivePacket, frame: &[u8], _: DropReason) {
        self.0.lock().unwrap().push((now.picoseconds() / 1000, number(frame)));
    }

    fn is_over(&self) -> bool {
        false
    }
}

fn live(spec: &QueueSpec<NoCustomDiscipline>, rate: Rate, arrivals: &[Arrival]) -> Verdicts {
    let mut port = Port::new(PortParts {
        rate,
        overhead_bytes: 0,
        burst: Span::from_seconds(1_000_000),
        queue: spec.build::<LivePacket>(rate, salt(SEED)).unwrap().into_discipline(),
        rng: rng(SEED),
        pool: Pool::new(2048, 1518),
    });
    let drops = Arc::new(Mutex::new(Vec::new()));
    port.add_tap(Box::new(Drops(Arc::clone(&drops))));
    let mut left = Vec::new();
    let hand_over = |port: &mut Port, left: &mut Vec<(u64, Vec<u8>)>| {
        let departures = port.departures().iter();
        left.extend(departures.map(|one| (one.due.picoseconds() / 1000, port.frame(one.buffer).to_vec())));
        let (count, last) = (port.departures().len(), port.departures().back().map_or(Time::ZERO, |one| one.due));
        port.departed(count, last);
        port.check().unwrap();
    };
    for Arrival { at_ns, frame } in arrivals {
        let now = Time::ZERO + Span::from_nanoseconds(*at_ns);
        port.run_until(now);
        port.arrive(frame, None, now);
        hand_over(&mut port, &mut left);
    }
    while let Some(next) = port.next() {
        port.run_until(next);
        hand_over(&mut port, &mut left);
    }
    assert_eq!(port.held_packets(), 0);
    let dropped = drops.lock().unwrap().clone();
    Verdicts { left, dropped }
}

/// CAKE with all that it asks and changes: hosts, TCP headers, lengths without Ethernet's header, classes.
const CAKE: &str = r#"{"cake": {"bandwidth": "8 Mbps", "tins": "diffserv4", "isolation": "dual-srchost",
    "link_layer": "docsis", "ack_filter": "aggressive", "ingress": true, "wash": true}}"#;

/// Every discipline that needs no parameters, with its defaults, those that need classes, and CAKE with many
/// parameters.
fn specs() -> Vec<QueueSpec<NoCustomDiscipline>> {
    let classes = concat!(
        r#"{"cbq": {"default_class": "rest", "classes": ["#,
        r#"{"name": "urgent", "classes": [46], "queue": {"drop_tail": {}}}, "#,
        r#"{"name": "rest", "queue": {"fq_codel": {}}}]}}"#
    );
    let of_name = |name: &str| serde_json::from_str(&format!(r#"{{"{name}": {{}}}}"#)).ok();
    let mut specs: Vec<QueueSpec<NoCustomDiscipline>> =
        QueueSpec::<NoCustomDiscipline>::DISCIPLINES.iter().filter_map(|one| of_name(one.name)).collect();
    let htb = concat!(
        r#"{"htb": {"default_class": "rest", "classes": [{"name": "root", "rate": "5 Mbps"}, "#,
        r#"{"name": "urgent", "parent": "root", "classes": [46], "rate": "1 Mbps", "ceil": "5 Mbps"}, "#,
        r#"{"name": "rest", "parent": "root", "rate": "2 Mbps", "ceil": "4 Mbps", "queue": {"codel": {}}}]}}"#
    );
    let taprio = concat!(
        r#"{"taprio": {"classes": [{"name": "urgent", "classes": [46]}, {"name": "rest"}], "schedule": ["#,
        r#"{"open": ["urgent"], "interval": "3 ms"}, {"open": ["rest"], "interval": "5 ms"}]}}"#
    );
    let fq = r#"{"fq": {"flow_max_rate": "2 Mbps", "ce_threshold": "1 ms", "initial_quantum": "2 KB"}}"#;
    let hhf = r#"{"hhf": {"admit_bytes": "4 KB", "limit": "9 packets"}}"#;
    let rem = r#"{"rem": {"target": "1 packets", "gamma": 1.0, "phi": 1.1, "ecn": true}}"#;
    let ranked = [
        r#"{"pifo": {"limit": "9 packets", "max_flows": 2}}"#,
        r#"{"sp_pifo": {"limit": "12 packets", "queues": 3}}"#,
        r#"{"aifo": {"limit": "9 packets", "window": 6, "sample_every": 2, "headroom": 0.2}}"#,
        r#"{"afq": {"queues": 4, "bytes_per_round": "1500 B", "queue_limit": 5}}"#,
    ];
    let trimming = r#"{"trimming": {"limit": "3 packets", "header": "200 B", "headers_per_data": 2}}"#;
    specs.push(serde_json::from_str(trimming).unwrap());
    let thresholds = r#"{"ecn_threshold": {"min_threshold": "1 packets", "max_threshold": "5 packets"}}"#;
    specs.push(serde_json::from_str(thresholds).unwrap());
    specs.extend(ranked.map(|text| serde_json::from_str(text).unwrap()));
    specs.extend([classes, htb, taprio, CAKE, fq, hhf, rem].map(|text| serde_json::from_str(text).unwrap()));
    specs
}

#[test]
fn no_discipline_is_left_out() {
    let tried: Vec<&str> = specs().iter().map(QueueSpec::name).collect();
    for discipline in QueueSpec::<NoCustomDiscipline>::DISCIPLINES {
        assert!(tried.contains(&discipline.name), "{}", discipline.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_trace_gets_the_verdicts_of_a_replay(arrivals in arrivals()) {
        let rate = Rate::megabits(10);
        for spec in specs() {
            prop_assert_eq!(replayed(&spec, rate, &arrivals), live(&spec, rate, &arrivals), "{}", spec.name());
        }
    }
}

#[test]
fn cake_filters_acks_and_clears_classes() {
    let queue: QueueSpec<NoCustomDiscipline> = serde_json::from_str(CAKE).unwrap();
    let rate = Rate::megabits(10);
    // Two frames keep the shaper closed while five ACKs come.
    let frames = [frame(0, 1, 1000, 0xb9), frame(1, 1, 1000, 0x20)].into_iter();
    let frames = frames.chain((2..7).map(|number| ack(number, 2)));
    let arrivals: Vec<Arrival> = frames.map(|frame| Arrival { at_ns: 0, frame }).collect();
    let (replayed, live) = (replayed(&queue, rate, &arrivals), live(&queue, rate, &arrivals));
    assert_eq!(replayed, live);
    let mut left: Vec<(u32, u8)> = live.left.iter().map(|(_, frame)| (number(frame), frame[15])).collect();
    left.sort_unstable();
    // The ECN codepoint stays.
    assert_eq!(left, [(0, 0x01), (1, 0), (6, 0)]);
    assert_eq!(live.dropped.iter().map(|&(_, number)| number).collect::<Vec<_>>(), [2, 3, 4, 5]);
}

#[test]
fn a_flood_gets_the_verdicts_of_a_replay() {
    let rate = Rate::megabits(10);
    let arrival = |number: u32| Arrival { at_ns: u64::from(number) * 100_000, frame: frame(number, 1, 958, 0) };
    let arrivals: Vec<Arrival> = (0..1300).map(arrival).collect();
    let mut dropping = Vec::new();
    for spec in specs() {
        let (replayed, live) = (replayed(&spec, rate, &arrivals), live(&spec, rate, &arrivals));
        assert_eq!(replayed, live, "{}", spec.name());
        if !live.dropped.is_empty() {
            dropping.push(spec.name());
        }
    }
    assert!(dropping.len() > specs().len() / 2, "only these dropped packets: {dropping:?}");
}
