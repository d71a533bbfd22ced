//! CAKE as a whole: the shaper's rate, shares of tins, hosts and flows, the full buffer, and what each switch does.

use alloc::format;
use alloc::string::String;
use alloc::vec;

use super::*;
use crate::framing::{CellFraming, LinkLayer};
use crate::test_support::{Bench, LINK, Labelled};
use crate::{Ecn, Hosts, TcpHeader};

/// A megabyte a second: a byte takes a microsecond.
const BANDWIDTH: Rate = Rate::megabits(8);

fn config() -> CakeConfig {
    CakeConfig { bandwidth: Some(BANDWIDTH), ..CakeConfig::default() }
}

fn bench(config: &CakeConfig) -> Bench<Cake<Labelled>> {
    Bench::new(Cake::new(config, LINK, 5).unwrap())
}

fn at(microseconds: u64) -> Time {
    Time::ZERO + Span::from_microseconds(microseconds)
}

fn packet(label: u32, flow: u64) -> Labelled {
    Labelled::new(label, flow, 1000, 0)
}

fn gauge(bench: &Bench<Cake<Labelled>>, name: &str) -> f64 {
    let mut found = f64::NAN;
    bench.discipline.gauges(&mut |gauge, value| {
        if gauge == name {
            found = value;
        }
    });
    found
}

/// Flows that always have packets in the queue, as floods have.
struct Floods {
    bench: Bench<Cake<Labelled>>,
    floods: Vec<Labelled>,
    queued: Vec<i64>,
    sent: Vec<u64>,
    dropped: usize,
}

/// How many packets of each flood are in the queue.
const KEPT: i64 = 20;

impl Floods {
    /// Each flood has packets like this one; its label is its number.
    fn new(config: &CakeConfig, floods: Vec<Labelled>) -> Self {
        let count = floods.len();
        let bench = bench(config);
        Self { bench, floods, queued: vec![0; count], sent: vec![0; count], dropped: 0 }
    }

    /// Packets come until there are enough of each flood.
    fn refill(&mut self) {
        loop {
            for (packet, _, _) in &self.bench.dropped.0[self.dropped..] {
                self.queued[packet.label as usize] -= 1;
            }
            self.dropped = self.bench.dropped.0.len();
            let Some(short) = (0..self.floods.len()).find(|&flood| self.queued[flood] < KEPT) else { return };
            self.queued[short] += 1;
            self.bench.enqueue(self.floods[short]);
        }
    }

    /// Runs until then on a link that takes no time. Returns the bytes sent of each.
    fn run(mut self, until: Time) -> Vec<u64> {
        while self.bench.now < until {
            self.refill();
            match self.bench.serve() {
                Served::Packet(packet) => {
                    self.queued[packet.label as usize] -= 1;
                    self.sent[packet.label as usize] += u64::from(packet.arrival.len_bytes);
                }
                Served::PollAt(time) => self.bench.now = time,
                Served::Idle => panic!("floods are never idle"),
            }
        }
        self.sent
    }

    /// Sends so many packets on a link without a shaper, each in a microsecond.
    fn send(mut self, packets: usize) -> Vec<u64> {
        for _ in 0..packets {
            self.refill();
            self.bench.now += Span::from_microseconds(1);
            let packet = self.bench.dequeue().unwrap();
            self.queued[packet.label as usize] -= 1;
            self.sent[packet.label as usize] += u64::from(packet.arrival.len_bytes);
        }
        self.sent
    }
}

/// The parts of the whole.
fn parts(sent: &[u64]) -> Vec<f64> {
    let all: u64 = sent.iter().sum();
    sent.iter().map(|&bytes| bytes as f64 / all as f64).collect()
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    let is_close = |(found, expected): (&f64, &f64)| (found / expected - 1.0).abs() <= tolerance;
    assert!(found.iter().zip(expected).all(is_close), "{found:?} instead of {expected:?}");
    assert_eq!(found.len(), expected.len());
}

#[test]
fn the_long_run_rate_is_exact_on_adjusted_length_for_each_framing() {
    let seconds = 20;
    for (link_layer, framing) in [
        (None, None),
        (Some(LinkLayer::Ethernet), None),
        (Some(LinkLayer::Docsis), None),
        (Some(LinkLayer::PppoeLlcsnap), None),
        (Some(LinkLayer::BridgedPtm), None),
        (None, Some(CellFraming::Atm)),
        (None, Some(CellFraming::Ptm)),
    ] {
        // A rate that is no round number of picoseconds for any length.
        let bandwidth = Rate::new(7_654_320);
        let config = CakeConfig { bandwidth, link_layer, framing, isolation: CakeIsolation::Flows, ..config() };
        let lengths = [60, 61, 577, 1514];
        let flood = |(label, len_bytes): (u32, u32)| Labelled {
            framing_bytes: 14,
            ..Labelled::new(label, u64::from(label), len_bytes, 0)
        };
        let floods = Floods::new(&config, (0..).zip(lengths).map(flood).collect());
        let sent = floods.run(Time::ZERO + Span::from_seconds(seconds));
        let framing = Framing::new(link_layer, 0, None, None, framing).unwrap();
        let on_link: u64 = sent
            .iter()
            .zip(lengths)
            .map(|(&bytes, len)| {
                let adjusted = framing.adjusted_bytes(framing.network_bytes(len, || 14));
                bytes / u64::from(len) * u64::from(adjusted)
            })
            .sum();
        let expected = 7_654_320.0 / 8.0 * seconds as f64;
        assert!((on_link as f64 / expected - 1.0).abs() < 0.001, "{link_layer:?} {framing:?}: {on_link}");
        // Flows share the bytes on the link, not those of the packets.
        let adjusted = |len| f64::from(framing.adjusted_bytes(framing.network_bytes(len, || 14)));
        let shares: Vec<f64> =
            sent.iter().zip(lengths).map(|(&bytes, len)| bytes as f64 / f64::from(len) * adjusted(len)).collect();
        let mean = shares.iter().sum::<f64>() / 4.0;
        assert_close(&shares, &[mean; 4], 0.01);
    }
}

#[test]
fn packets_leave_at_the_rate_without_a_burst() {
    let mut bench = bench(&config());
    // A long silence saves nothing up.
    bench.now = at(5_000_000);
    (0..4).for_each(|label| bench.enqueue(packet(label, 1)));
    for label in 0..4 {
        let due = at(5_000_000 + 1000 * u64::from(label));
        if label > 0 {
            assert_eq!(bench.serve(), Served::PollAt(due));
            bench.now = due;
        }
        assert_eq!(bench.dequeue().map(|packet| packet.label), Some(label));
    }
    assert_eq!(bench.serve(), Served::Idle);
    // The last packet has not left the link: the next one waits for it.
    bench.now = at(5_003_500);
    bench.enqueue(packet(4, 1));
    assert_eq!(bench.serve(), Served::PollAt(at(5_004_000)));
}

#[test]
fn a_driver_that_comes_late_catches_up_what_it_has_missed() {
    let mut bench = bench(&config());
    (0..10).for_each(|label| bench.enqueue(packet(label, 1)));
    bench.now = at(3500);
    assert_eq!(bench.drain(), [0, 1, 2, 3]);
    assert_eq!(bench.serve(), Served::PollAt(at(4000)));
}

#[test]
fn without_a_bandwidth_nothing_waits() {
    let mut bench = bench(&CakeConfig::default());
    (0..10).for_each(|label| bench.enqueue(packet(label, 1)));
    assert_eq!(bench.drain(), (0..10).collect::<Vec<_>>());
    assert_eq!(gauge(&bench, "tin1_thresh_bps"), 0.0);
}

#[test]
fn tins_have_their_parts_of_the_rate_and_the_first_the_rest() {
    // Best effort, bulk, video, voice.
    for (tins, classes, expected) in [
        (CakeTins::Diffserv3, vec![0, 8, 46], vec![11.0 / 16.0, 1.0 / 16.0, 1.0 / 4.0]),
        (CakeTins::Diffserv4, vec![0, 8, 34, 46], vec![3.0 / 16.0, 1.0 / 16.0, 1.0 / 2.0, 1.0 / 4.0]),
        // Both are above their rates. The clock of voice is 3 packets ahead when it is in turn, that of bulk 16 when it
        // was: in between there are 13 packets of voice.
        (CakeTins::Diffserv3, vec![8, 46], vec![1.0 / 14.0, 13.0 / 14.0]),
        (CakeTins::Besteffort, vec![0, 8, 46], vec![1.0 / 3.0; 3]),
    ] {
        let config = CakeConfig { tins, ..config() };
        let flood = |(label, &class): (u32, &u8)| Labelled::new(label, u64::from(label), 1000, class);
        let floods = Floods::new(&config, (0..).zip(&classes).map(flood).collect());
        let sent = floods.run(Time::ZERO + Span::from_seconds(30));
        assert_close(&parts(&sent), &expected, 0.01);
    }
}

#[test]
fn without_a_bandwidth_tins_take_turns_by_their_quanta() {
    let classes = [0, 8, 46];
    let flood = |(label, class): (u32, u8)| Labelled::new(label, u64::from(label), 1000, class);
    let floods = Floods::new(&CakeConfig::default(), (0..).zip(classes).map(flood).collect());
    assert_close(&parts(&floods.send(50_000)), &[16.0 / 21.0, 1.0 / 21.0, 4.0 / 21.0], 0.01);
}

/// A packet of a tin within its rate does not wait for those of lower ones.
#[test]
fn the_highest_tin_within_its_rate_goes_first() {
    let mut bench = bench(&config());
    for (label, class) in [(0, 0), (1, 8), (2, 46), (3, 8), (4, 46)] {
        bench.enqueue(Labelled::new(label, u64::from(label), 1000, class));
    }
    // Voice; then it is above its quarter until 4 ms, and bulk, which is next, until 16 ms.
    let mut order = Vec::new();
    for millisecond in 0..5 {
        bench.now = at(1000 * millisecond);
        order.extend(bench.dequeue().map(|packet| packet.label));
    }
    assert_eq!(order, [2, 1, 0, 4, 3]);
}

#[test]
fn arp_counts_as_network_control() {
    let mut bench = bench(&config());
    bench.enqueue(packet(0, 1));
    bench.enqueue(Labelled { is_arp: true, ..packet(1, 2) });
    assert_eq!(bench.dequeue().map(|packet| packet.label), Some(1));
    // A class is a DSCP of six bits.
    bench.enqueue(Labelled::new(2, 3, 1000, 64 + 46));
    assert_eq!(gauge(&bench, "tin2_pkts"), 2.0);
}

#[test]
fn the_class_is_cleared_after_its_use_if_asked() {
    for (wash, class) in [(false, 46), (true, 0)] {
        let mut bench = bench(&CakeConfig { wash, ..config() });
        bench.enqueue(packet(0, 1));
        bench.enqueue(Labelled::new(1, 2, 1000, 46));
        let first = bench.dequeue().unwrap();
        assert_eq!((first.label, first.arrival.class), (1, class));
    }
}

/// A flood of a host to another, of a flow of its own.
fn between(label: u32, source: u64, destination: u64) -> Labelled {
    Labelled { hosts: Hosts { source, destination }, ..Labelled::new(label, u64::from(label), 1500, 0) }
}

/// Linux, one flow from host A and two from B to one server.
#[test]
fn a_host_with_two_flows_has_the_share_that_the_mode_gives() {
    use CakeIsolation::{Dsthost, DualDsthost, DualSrchost, Flowblind, Flows, Hosts, Srchost, TripleIsolate};
    let by_flow = [1.0 / 3.0; 3];
    let by_host = [1.0 / 2.0, 1.0 / 4.0, 1.0 / 4.0];
    for (isolation, expected) in [
        (Flows, by_flow),
        (Hosts, by_host),
        (Srchost, by_host),
        (Dsthost, by_flow),
        (DualSrchost, by_host),
        (DualDsthost, by_flow),
        (TripleIsolate, by_flow),
        (Flowblind, by_flow),
    ] {
        let config = CakeConfig { bandwidth: Some(Rate::megabits(50)), isolation, ..config() };
        let floods = Floods::new(&config, vec![between(0, 1, 9), between(1, 2, 9), between(2, 2, 9)]);
        let sent = floods.run(Time::ZERO + Span::from_seconds(10));
        assert_close(&parts(&sent), &expected, 0.03);
    }
}

/// Linux, pairs A to X, A to Y, B to X, C to Y of two flows each: all eight get the same. Each of A, X and Y has four
/// flows, and the busier host of every flow is one of them.
#[test]
fn triple_isolation_divides_by_the_busier_host() {
    let pairs = [(1, 8), (1, 9), (2, 8), (3, 9)];
    let flood = |label: u32| {
        let (source, destination) = pairs[label as usize / 2];
        between(label, source, destination)
    };
    let config = CakeConfig { bandwidth: Some(Rate::megabits(50)), ..config() };
    let sent = Floods::new(&config, (0..8).map(flood).collect()).run(Time::ZERO + Span::from_seconds(10));
    assert_close(&parts(&sent), &[1.0 / 8.0; 8], 0.03);
}

#[test]
fn hosts_with_1_and_8_flows_to_hosts_of_their_own_have_halves() {
    let floods = (0..9).map(|label| if label == 0 { between(0, 1, 11) } else { between(label, 2, 12) }).collect();
    let config = CakeConfig { bandwidth: Some(Rate::megabits(50)), ..config() };
    let sent = Floods::new(&config, floods).run(Time::ZERO + Span::from_seconds(10));
    assert_close(&parts(&sent)[..1], &[0.5], 0.03);
    assert_close(&parts(&sent)[1..], &[1.0 / 16.0; 8], 0.03);
}

#[test]
fn a_sparse_flow_goes_before_bulk_ones() {
    let mut bench = bench(&config());
    (0..3).for_each(|label| bench.enqueue(packet(label, 1)));
    bench.now = at(0);
    assert_eq!(bench.dequeue().map(|packet| packet.label), Some(0));
    // The quantum of 300 bytes is used up, so the flow is among the old ones when the next call looks at it.
    bench.enqueue(packet(9, 2));
    bench.now = at(1000);
    assert_eq!(bench.dequeue().map(|packet| packet.label), Some(9));
}

/// DRR++: a flow with a quantum used up waits for others, whether it ran empty or not.
#[test]
fn flows_take_turns_by_bytes() {
    let config = CakeConfig { bandwidth: None, isolation: CakeIsolation::Flows, ..config() };
    let mut bench = bench(&config);
    for label in 0..3 {
        bench.enqueue(Labelled::new(label, 1, 1514, 0));
        bench.enqueue(Labelled::new(10 + label, 2, 757, 0));
        bench.enqueue(Labelled::new(20 + label, 2, 757, 0));
    }
    let order = bench.drain();
    // Two packets of the second flow for one of the first.
    let seconds_before = |label| order.iter().take_while(|&&it| it != label).filter(|&&it| it >= 10).count();
    assert_eq!(order.len(), 9);
    assert_eq!([0, 1, 2].map(seconds_before), [0, 2, 4]);
}

#[test]
fn a_full_buffer_costs_the_first_packet_of_the_longest_queue() {
    let limit = Some(QueueSize::Bytes(5000));
    let mut bench = bench(&CakeConfig { limit, ..config() });
    bench.now = at(6000);
    // In two tins. The voice flow has more packets and fewer bytes.
    for label in 0..3 {
        bench.enqueue(Labelled::new(label, 1, 1000, 0));
    }
    for label in 10..14 {
        bench.enqueue(Labelled::new(label, 2, 500, 46));
    }
    assert!(bench.dropped.0.is_empty());
    bench.enqueue(Labelled::new(20, 3, 40, 8));
    let of_drop = |(packet, reason, queued): &(Labelled, DropReason, bool)| (packet.label, *reason, *queued);
    assert_eq!(bench.dropped.0.iter().map(of_drop).collect::<Vec<_>>(), [(0, DropReason::Evicted, true)]);
    // COBALT has noted the overflow.
    assert_eq!([gauge(&bench, "tin1_drops"), gauge(&bench, "tin1_un_flows")], [1.0, 1.0]);
    assert_eq!(bench.discipline.backlog(), Backlog { packets: 7, bytes: 4040 });
    // As many as make room. The arrival is its own victim where its queue is the longest and holds nothing else.
    bench.enqueue(Labelled::new(21, 4, 2400, 0));
    assert_eq!(bench.dropped.0[1..].iter().map(of_drop).collect::<Vec<_>>(), [(21, DropReason::Overflow, false)]);
    bench.enqueue(Labelled::new(22, 5, 5001, 0));
    assert_eq!(bench.dropped.0.last().map(of_drop), Some((22, DropReason::Overflow, false)));
    assert_eq!(gauge(&bench, "memory_used_bytes"), 6440.0);
}

#[test]
fn the_longest_queue_is_found_while_queues_change() {
    let limit = Some(QueueSize::Packets(4));
    let mut bench = bench(&CakeConfig { limit, bandwidth: None, ..config() });
    let mut label = 0;
    let mut arrive = |bench: &mut Bench<Cake<Labelled>>, flow: u64, len_bytes: u32| {
        label += 1;
        bench.enqueue(Labelled::new(label, flow, len_bytes, 0));
        bench.dropped.0.last().map(|(packet, ..)| packet.arrival.flow.0)
    };
    (0..4).for_each(|_| assert_eq!(arrive(&mut bench, 1, 1000), None));
    assert_eq!(arrive(&mut bench, 2, 100), Some(1));
    // Flow 1 has 3000 bytes, and sends all but one.
    (0..2).for_each(|_| assert_eq!(bench.dequeue().unwrap().arrival.flow.0, 1));
    (0..2).for_each(|_| assert_eq!(arrive(&mut bench, 3, 700), Some(1)));
    assert_eq!(arrive(&mut bench, 2, 100), Some(3));
    assert_eq!(bench.discipline.backlog().packets, 4);
}

#[test]
fn the_limit_follows_from_bandwidth_and_round_trip() {
    let bytes = |bandwidth: Option<u64>, milliseconds, limit| {
        let bandwidth = bandwidth.map(|megabits| Rate::new(megabits * 1_000_000).unwrap());
        let rtt = CakeRoundTrip(Span::from_milliseconds(milliseconds));
        gauge(&bench(&CakeConfig { bandwidth, rtt, limit, ..CakeConfig::default() }), "memory_limit_bytes")
    };
    assert_eq!(bytes(Some(100), 100, None), 5_000_000.0);
    assert_eq!([bytes(Some(83), 100, None), bytes(Some(84), 100, None)], [4_194_304.0, 4_200_000.0]);
    assert_eq!([bytes(None, 100, None), bytes(Some(1000), 100, None)], [15_503_360.0; 2]);
    assert_eq!(bytes(Some(100), 200, None), 10_000_000.0);
    assert_eq!(bytes(Some(100), 100, Some(QueueSize::Bytes(50_000_000))), 50_000_000.0);
    assert_eq!(bytes(Some(100), 100, Some(QueueSize::Packets(10))), 15_140.0);
}

/// A pure ACK of flow 7.
fn ack(label: u32, number: u32) -> Labelled {
    let tcp_header = Some(TcpHeader { flags: TcpHeader::ACK, number, is_pure: true, ..TcpHeader::default() });
    Labelled { tcp_header, ..Labelled::new(label, 7, 64, 0) }
}

#[test]
fn redundant_acks_are_dropped_from_their_place_in_the_queue() {
    for (ack_filter, left) in
        [(CakeAckFilter::Off, vec![0, 1, 2, 3]), (CakeAckFilter::On, vec![2, 3]), (CakeAckFilter::Aggressive, vec![3])]
    {
        let mut bench = bench(&CakeConfig { ack_filter, bandwidth: None, ..config() });
        (0..4).for_each(|label| bench.enqueue(ack(label, 100 * label)));
        let dropped = bench.dropped.0.iter().map(|&(packet, reason, queued)| {
            assert_eq!((reason, queued), (DropReason::Match, true));
            packet.label
        });
        assert_eq!(dropped.collect::<Vec<_>>(), (0..left[0]).collect::<Vec<_>>());
        assert_eq!(gauge(&bench, "tin1_ack_drop"), f64::from(left[0]));
        assert_eq!(bench.discipline.backlog().packets, left.len() as u64);
        assert_eq!(bench.drain(), left);
    }
    // One that is not the first of its queue.
    let mut bench = bench(&CakeConfig { ack_filter: CakeAckFilter::On, bandwidth: None, ..config() });
    bench.enqueue(packet(50, 7));
    [ack(0, 0), ack(1, 10)].into_iter().for_each(|ack| bench.enqueue(ack));
    bench.enqueue(packet(51, 7));
    bench.enqueue(ack(2, 20));
    assert_eq!(bench.drain(), [50, 1, 51, 2]);
    // A later packet in its place has a note of its own.
    (0..9).for_each(|label| bench.enqueue(packet(label, 7)));
    assert_eq!(bench.drain().len(), 9);
}

#[test]
fn acks_of_flows_in_one_queue_are_told_apart() {
    let config = CakeConfig { ack_filter: CakeAckFilter::Aggressive, isolation: CakeIsolation::Flowblind, ..config() };
    let mut bench = bench(&config);
    bench.enqueue(ack(0, 0));
    let mut other = ack(1, 10);
    other.arrival.flow = FlowKey(8);
    bench.enqueue(other);
    assert!(bench.dropped.0.is_empty());
}

/// At the end of the link a dropped packet has taken its time on it. The failsafe clock, which counts only what is
/// sent, lets a packet go before the other does.
#[test]
fn with_ingress_dropped_packets_are_charged() {
    let filtered = |ingress| {
        let config = CakeConfig { ack_filter: CakeAckFilter::Aggressive, ingress, ..config() };
        let mut bench = bench(&config);
        (0..2).for_each(|label| bench.enqueue(packet(label, 1)));
        bench.dequeue().unwrap();
        // Ten ACKs of 64 bytes, of which nine go.
        (0..10).for_each(|label| bench.enqueue(ack(label, label)));
        bench.serve()
    };
    assert_eq!(filtered(false), Served::PollAt(at(1000)));
    assert_eq!(filtered(true), Served::PollAt(at(1500)));

    let overflowed = |ingress| {
        let config = CakeConfig { limit: Some(QueueSize::Packets(3)), ingress, ..config() };
        let mut bench = bench(&config);
        (0..4).for_each(|label| bench.enqueue(packet(label, 1)));
        bench.dequeue().unwrap();
        bench.serve()
    };
    assert_eq!(overflowed(false), Served::PollAt(at(1000)));
    assert_eq!(overflowed(true), Served::PollAt(at(1500)));
}

/// COBALT drops for seconds from a queue whose sender does not slow down. The rate of arrivals, not of departures, is
/// the bandwidth then, as far as the failsafe clock allows.
#[test]
fn with_ingress_drops_of_the_law_take_bandwidth() {
    let sent = |ingress| {
        let floods = Floods::new(&CakeConfig { ingress, ..config() }, vec![packet(0, 1)]);
        floods.run(Time::ZERO + Span::from_seconds(20))[0]
    };
    let (egress, ingress) = (sent(false), sent(true));
    assert!((egress as f64 / 20e6 - 1.0).abs() < 0.001, "{egress}");
    // The failsafe clock lets at least two thirds go.
    assert!((0.66..0.99).contains(&(ingress as f64 / 20e6)), "{ingress}");
}

/// ns-3's suite for COBALT: no signal at 10 ms, then one for each packet. Drops, of which several may be due at once,
/// are at 10 + 100 (1/sqrt(2) + 1/sqrt(3) + …) ms: four by 210 ms, ten by 420 ms.
#[test]
fn cobalt_marks_what_it_may_and_drops_the_rest() {
    for ecn in [Ecn::NotCapable, Ecn::Capable1] {
        let mut bench = bench(&CakeConfig { bandwidth: None, ..config() });
        for label in 0..20 {
            let mut packet = packet(label, 1);
            packet.arrival.ecn = ecn;
            bench.enqueue(packet);
        }
        let mut signals = Vec::new();
        for milliseconds in [10, 210, 210, 420] {
            bench.now = at(1000 * milliseconds);
            let packet = bench.dequeue().unwrap();
            assert_eq!(packet.arrival.ecn == Ecn::CongestionExperienced, ecn.is_capable() && milliseconds > 10);
            signals.push(["tin1_marks", "tin1_drops"].map(|name| gauge(&bench, name) as usize));
        }
        let expected =
            if ecn.is_capable() { [[0, 0], [1, 0], [2, 0], [3, 0]] } else { [[0, 0], [0, 4], [0, 4], [0, 10]] };
        assert_eq!(signals, expected);
        assert_eq!(bench.dropped.0.len(), signals[3][1]);
        assert!(bench.dropped.0.iter().all(|(_, reason, queued)| (*reason, *queued) == (DropReason::Early, true)));
    }
}

#[test]
fn the_last_packet_of_a_queue_is_never_dropped() {
    let mut bench = bench(&CakeConfig { bandwidth: None, ..config() });
    for second in 0..50 {
        bench.now = at(10_000_000 * second);
        bench.enqueue(packet(second as u32, 1));
        bench.now = at(10_000_000 * second + 5_000_000);
        assert!(bench.dequeue().is_some());
    }
    assert!(bench.dropped.0.is_empty());
}

#[test]
fn a_queue_decays_for_an_interval_and_a_new_flow_may_have_it_then() {
    let mut bench = bench(&CakeConfig { bandwidth: None, ..config() });
    let mut pass = |milliseconds: u64, flow: u64| {
        bench.now = at(1000 * milliseconds);
        bench.enqueue(Labelled::new(0, flow, 100, 0));
        assert_eq!(bench.drain().len(), 1);
        ["tin1_way_directs", "tin1_way_miss", "tin1_sp_flows", "tin1_bk_flows"].map(|name| gauge(&bench, name))
    };
    assert_eq!(pass(0, 1), [0.0, 1.0, 1.0, 0.0]);
    assert_eq!(pass(0, 1), [1.0, 1.0, 1.0, 0.0]);
    // The queue of flow 1 is found empty, and decays: it still is its own.
    assert_eq!(pass(50, 2), [1.0, 2.0, 2.0, 0.0]);
    assert_eq!(pass(99, 1), [2.0, 2.0, 2.0, 0.0]);
    // An interval after its last packet it is at rest.
    assert_eq!(pass(200, 2), [3.0, 2.0, 1.0, 0.0]);
    assert_eq!(pass(201, 1), [3.0, 2.0, 2.0, 0.0]);
}

#[path = "cake/statistics_tests.rs"]
mod statistics_and_parameters;
