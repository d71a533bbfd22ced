//! fq: the order of service, the longest rate, limits, bands, marks.

use alloc::vec::Vec;

use super::*;
use crate::Ecn;
use crate::test_support::{Bench, LINK, Labelled};

fn bench(config: &FqConfig) -> Bench<Fq<Labelled>> {
    Bench::new(Fq::new(config, LINK, 5).unwrap())
}

fn gauge(bench: &Bench<Fq<Labelled>>, name: &str) -> f64 {
    let mut found = f64::NAN;
    bench.discipline.gauges(&mut |gauge, value| {
        if gauge == name {
            found = value;
        }
    });
    found
}

fn at(microseconds: u64) -> Time {
    Time::ZERO + Span::from_microseconds(microseconds)
}

/// Fills the fast path with eight packets, labelled from 1000 on.
fn fill_fast_path(bench: &mut Bench<Fq<Labelled>>) {
    let before = gauge(bench, "fastpath");
    for label in 1000..1008 {
        bench.enqueue(Labelled::new(label, 1000, 100, 0));
    }
    assert_eq!(gauge(bench, "fastpath"), before + 8.0);
}

/// Takes the packets out of the fast path.
fn empty_fast_path(bench: &mut Bench<Fq<Labelled>>) {
    for label in 1000..1008 {
        assert_eq!(bench.dequeue().map(|packet| packet.label), Some(label));
    }
}

/// Flows with equal quanta, and nothing more at first. Best effort, of the second band.
fn turns() -> FqConfig {
    FqConfig { quantum: Bytes(1000), initial_quantum: Bytes(1000), ..FqConfig::default() }
}

/// The labels in the order of departure, of packets (label, flow, bytes) that find a full fast path.
fn order(config: &FqConfig, packets: &[(u32, u64, u32)]) -> Vec<u32> {
    let mut bench = bench(config);
    fill_fast_path(&mut bench);
    for &(label, flow, len_bytes) in packets {
        bench.enqueue(Labelled::new(label, flow, len_bytes, 0));
    }
    empty_fast_path(&mut bench);
    bench.drain()
}

#[test]
fn flows_take_turns_by_bytes() {
    let packets = [(0, 1, 1000), (1, 1, 1000), (2, 1, 1000), (10, 2, 500), (11, 2, 500), (12, 2, 500), (13, 2, 500)];
    assert_eq!(order(&turns(), &packets), [0, 10, 11, 1, 12, 13, 2]);
    // The first turn is of the initial quantum.
    let config = FqConfig { initial_quantum: Bytes(1900), ..turns() };
    assert_eq!(order(&config, &packets), [0, 1, 10, 11, 12, 13, 2]);
    // A packet of three quanta waits for three turns more.
    let packets = [(0, 1, 3000), (1, 1, 500), (10, 2, 1000), (11, 2, 1000), (12, 2, 1000), (13, 2, 1000)];
    assert_eq!(order(&turns(), &packets), [0, 10, 11, 12, 1, 13]);
}

#[test]
fn a_new_flow_goes_before_old_ones() {
    let mut bench = bench(&turns());
    fill_fast_path(&mut bench);
    for label in 0..4 {
        bench.enqueue(Labelled::new(label, 1, 1000, 0));
    }
    empty_fast_path(&mut bench);
    let mut order = Vec::from_iter(bench.dequeue().map(|packet| packet.label));
    // The first flow has used up its quantum. The second one is new, and then passes through the old flows.
    bench.enqueue(Labelled::new(10, 2, 1000, 0));
    order.extend([bench.dequeue(), bench.dequeue()].into_iter().flatten().map(|packet| packet.label));
    bench.enqueue(Labelled::new(11, 2, 1000, 0));
    order.extend(bench.drain());
    assert_eq!(order, [0, 10, 1, 11, 2, 3]);
}

#[test]
fn flows_that_are_backlogged_share_the_link_equally() {
    let mut bench = bench(&FqConfig { flows: 65_536, ..FqConfig::default() });
    let mut sent = [0_u64; 4];
    let (lengths, mut queued) = ([1514, 64, 700, 1400], [0_u32; 4]);
    fill_fast_path(&mut bench);
    for round in 0..200_000 {
        for (flow, len_bytes) in lengths.into_iter().enumerate() {
            while queued[flow] < 60 {
                bench.enqueue(Labelled::new(0, flow as u64, len_bytes, 0));
                queued[flow] += 1;
            }
        }
        let packet = bench.dequeue().unwrap();
        if round >= 8 {
            sent[packet.arrival.flow.0 as usize] += u64::from(packet.arrival.len_bytes);
            queued[packet.arrival.flow.0 as usize] -= 1;
        }
    }
    // Each pair differs by less than a quantum and a packet of each, but for the first turn.
    let (most, least) = (sent.iter().max().unwrap(), sent.iter().min().unwrap());
    assert!(most - least <= 15_140 + 2 * (3028 + 1514), "{sent:?}");
}

/// The bytes that a backlogged flow sends in ten seconds after its first turn, on a link that is free for each packet
/// after it `busy` for that long.
fn paced_bytes(config: &FqConfig, len_bytes: u32, busy: Span) -> u64 {
    let mut bench = bench(config);
    let (start, end) = (at(1_000_000), at(11_000_000));
    let mut sent = 0;
    while bench.now < end {
        while bench.discipline.backlog().packets < 20 {
            bench.enqueue(Labelled::new(0, 1, len_bytes, 0));
        }
        match bench.serve() {
            Served::Packet(packet) => {
                if bench.now >= start {
                    sent += u64::from(packet.arrival.len_bytes);
                }
                bench.now += busy;
            }
            Served::PollAt(due_at) => bench.now = due_at,
            Served::Idle => unreachable!("a packet is queued"),
        }
    }
    sent
}

#[test]
fn a_flow_does_not_exceed_its_longest_rate() {
    for (bits_per_second, len_bytes, low) in [
        (20_000_000, 1514, 550_000),
        (20_000_000, 100, 550_000),
        (20_000_000, 9000, 550_000),
        (3_000_000, 1000, 550_000),
        (3_000_000, 1000, 3_000_000),
        (500_000, 1514, 550_000),
    ] {
        let rate = |bits_per_second| Rate::new(bits_per_second).unwrap();
        let config = FqConfig {
            flow_max_rate: Some(rate(bits_per_second)),
            low_rate_threshold: rate(low),
            ..FqConfig::default()
        };
        // Late departures, by a link that is busy for a packet, are made up for.
        for busy in [Span::ZERO, LINK.transmission_time(u64::from(len_bytes))] {
            let sent = paced_bytes(&config, len_bytes, busy) as f64;
            // A quantum more or less at both ends.
            let expected = bits_per_second as f64 / 8.0 * 10.0;
            let error = (sent - expected).abs() - f64::from(len_bytes.max(3028));
            assert!(error <= 0.001 * expected, "{bits_per_second} {len_bytes} {low} {busy}: {sent}, not {expected}");
        }
    }
}

#[test]
fn the_times_of_departure_follow_from_the_longest_rate() {
    // A byte a microsecond.
    let config = FqConfig { flow_max_rate: Some(Rate::megabits(8)), ..FqConfig::default() };
    let mut bench = bench(&config);
    for label in 0..20 {
        bench.enqueue(Labelled::new(label, 1, 1514, 0));
    }
    // Ten packets use up the first turn, and the next ones come in pairs, 3028 us apart.
    for label in 0..10 {
        assert_eq!(bench.dequeue().map(|packet| packet.label), Some(label));
    }
    assert_eq!(bench.serve(), Served::PollAt(at(3028)));
    bench.now = at(3027);
    assert_eq!(bench.serve(), Served::PollAt(at(3028)));
    assert_eq!((gauge(&bench, "throttled_flows"), gauge(&bench, "throttled")), (1.0, 1.0));
    // 100 us late: the next wait is as much shorter.
    bench.now = at(3128);
    assert_eq!([bench.dequeue(), bench.dequeue()].map(|packet| packet.unwrap().label), [10, 11]);
    assert_eq!(bench.serve(), Served::PollAt(at(2 * 3028)));
    // Very late: it is half as long.
    bench.now = at(20_000);
    assert_eq!([bench.dequeue(), bench.dequeue()].map(|packet| packet.unwrap().label), [12, 13]);
    assert_eq!(bench.serve(), Served::PollAt(at(20_000 + 1514)));
    // Another flow need not wait.
    bench.enqueue(Labelled::new(30, 2, 1514, 0));
    assert_eq!(bench.dequeue().map(|packet| packet.label), Some(30));
}

#[test]
fn at_a_low_rate_each_packet_waits_and_never_longer_than_a_second() {
    let config = FqConfig { flow_max_rate: Rate::new(400_000), ..FqConfig::default() };
    let mut slow = bench(&config);
    for label in 0..3 {
        slow.enqueue(Labelled::new(label, 1, 1000, 0));
    }
    assert!(slow.dequeue().is_some());
    assert_eq!(slow.serve(), Served::PollAt(at(20_000)));
    let mut slowest = bench(&FqConfig { flow_max_rate: Rate::new(1000), ..FqConfig::default() });
    for label in 0..2 {
        slowest.enqueue(Labelled::new(label, 1, 1000, 0));
    }
    assert!(slowest.dequeue().is_some());
    assert_eq!(slowest.serve(), Served::PollAt(at(1_000_000)));
    assert_eq!(gauge(&slowest, "pkts_too_long"), 1.0);
}

#[test]
fn flows_that_are_due_together_keep_their_order() {
    let mut bench = bench(&FqConfig { flow_max_rate: Some(Rate::megabits(8)), initial_quantum: Bytes(1), ..turns() });
    for label in [3, 1, 2] {
        for part in 0..2 {
            bench.enqueue(Labelled::new(10 * label + part, u64::from(label), 1000, 0));
        }
    }
    assert_eq!(bench.drain(), [30, 10, 20]);
    assert_eq!(bench.serve(), Served::PollAt(at(1000)));
    bench.now = at(1000);
    assert_eq!(bench.drain(), [31, 11, 21]);
}

#[test]
fn eight_packets_bypass_the_flows_and_only_while_no_flow_has_any() {
    let mut bench = bench(&turns());
    fill_fast_path(&mut bench);
    bench.enqueue(Labelled::new(0, 1, 1000, 0));
    assert!(bench.dequeue().is_some());
    // There is room, but a flow has a packet.
    bench.enqueue(Labelled::new(1, 2, 1000, 0));
    assert_eq!((gauge(&bench, "fastpath"), gauge(&bench, "active_flows")), (8.0, 2.0));
    assert_eq!(bench.drain().len(), 9);
    // With a longest rate there is no such path.
    let mut paced = self::bench(&FqConfig { flow_max_rate: Some(Rate::megabits(8)), ..turns() });
    paced.enqueue(Labelled::new(0, 1, 1000, 0));
    assert_eq!(gauge(&paced, "fastpath"), 0.0);
}

#[test]
fn a_flow_has_a_limit_and_each_band_another() {
    let config = FqConfig { flow_limit: 3, limit: QueueSize::Packets(5), ..turns() };
    let mut bench = bench(&config);
    fill_fast_path(&mut bench);
    let dropped = |bench: &mut Bench<Fq<Labelled>>, flow, class| {
        bench.enqueue(Labelled::new(0, flow, 1000, class));
        core::mem::take(&mut bench.dropped.0).pop().map(|(_, reason, queued)| (reason, queued))
    };
    let outcomes: Vec<_> = (0..4).map(|_| dropped(&mut bench, 1, 0)).collect();
    assert_eq!(outcomes, [None, None, None, Some((DropReason::FlowLimit, false))]);
    assert_eq!(gauge(&bench, "flows_plimit"), 1.0);
    let outcomes: Vec<_> = (2..5).map(|flow| dropped(&mut bench, flow, 0)).collect();
    assert_eq!(outcomes, [None, None, Some((DropReason::Overflow, false))]);
    // Priority 2 belongs to the third band.
    assert_eq!(dropped(&mut bench, 5, 2), None);
    assert_eq!(config.limits(), [5, 5, 5, 8].map(QueueSize::Packets));
}

#[test]
fn bands_share_the_link_by_their_weights() {
    // Priorities 6, 0 and 2 belong to the three bands.
    let mut bench = bench(&FqConfig { flow_limit: 1000, ..FqConfig::default() });
    fill_fast_path(&mut bench);
    let classes = [6_u8, 0, 2];
    let (mut sent, mut queued) = ([0_u64; 3], [0; 3]);
    for departure in 0..60_000 {
        for (band, class) in classes.into_iter().enumerate() {
            while queued[band] < 100 {
                bench.enqueue(Labelled::new(0, band as u64, 1000, class));
                queued[band] += 1;
            }
        }
        let packet = bench.dequeue().unwrap();
        if departure >= 8 {
            let band = packet.arrival.flow.0 as usize;
            queued[band] -= 1;
            sent[band] += 1000;
        }
    }
    for (sent, share) in sent.into_iter().zip([9.0, 3.0, 1.0]) {
        assert!((sent as f64 / 60e6 / (share / 13.0) - 1.0).abs() < 0.02, "{sent} {share}");
    }
}

#[test]
fn the_first_turn_is_in_the_band_of_the_previous_packet() {
    let mut bench = bench(&turns());
    fill_fast_path(&mut bench);
    // Packets of the third band, and those of the first.
    for label in 0..3 {
        bench.enqueue(Labelled::new(label, 1, 1000, 2));
    }
    for label in 10..13 {
        bench.enqueue(Labelled::new(label, 2, 1000, 6));
    }
    assert_eq!(bench.discipline.bands[0].new.first(), Some(bench.discipline.queue_of(FlowKey(1))));
    empty_fast_path(&mut bench);
    // Linux begins with the second band, which is empty, and the third.
    assert_eq!(bench.drain(), [0, 10, 11, 12, 1, 2]);
    // It comes back to the third.
    find_empty_flows(&mut bench, 2);
    fill_fast_path(&mut bench);
    bench.enqueue(Labelled::new(3, 1, 1000, 6));
    assert_eq!(bench.discipline.bands[2].new.first(), Some(bench.discipline.queue_of(FlowKey(1))));
}

/// Sends packets of another flow and of this class, which is not the first of its band: empty flows become inactive.
fn find_empty_flows(bench: &mut Bench<Fq<Labelled>>, class: u8) {
    for label in 1000..1012 {
        bench.enqueue(Labelled::new(label, 1000, 1000, class));
    }
    assert_eq!(bench.drain().len(), 12);
}

#[test]
fn a_flow_has_a_quantum_again_after_the_delay() {
    for (microseconds, expected) in [(40_000, 500), (40_001, 1000)] {
        let mut bench = bench(&turns());
        fill_fast_path(&mut bench);
        for (label, flow, len_bytes) in [(0, 1, 500), (1, 1, 1000), (2, 2, 1000)] {
            bench.enqueue(Labelled::new(label, flow, len_bytes, 0));
        }
        empty_fast_path(&mut bench);
        assert_eq!(bench.drain(), [0, 1, 2]);
        let turn =
            |bench: &Bench<Fq<Labelled>>| bench.discipline.queues[bench.discipline.queue_of(FlowKey(1)) as usize].turn;
        // Two packets of 1500 B in two quanta. The flow is found empty when another one sends.
        assert_eq!((turn(&bench).deficit, turn(&bench).activity), (500, Activity::Old));
        find_empty_flows(&mut bench, 0);
        assert_eq!(turn(&bench).activity, Activity::Inactive);
        bench.now += Span::from_microseconds(microseconds);
        fill_fast_path(&mut bench);
        bench.enqueue(Labelled::new(3, 1, 100, 0));
        assert_eq!((turn(&bench).deficit, turn(&bench).activity), (expected, Activity::New), "{microseconds}");
    }
}

#[test]
fn packets_that_waited_for_the_link_are_marked() {
    let config = FqConfig { ce_threshold: Some(Span::from_microseconds(100)), ..turns() };
    let mut bench = bench(&config);
    fill_fast_path(&mut bench);
    let packet = |label, ecn| {
        let mut packet = Labelled::new(label, u64::from(label), 500, 0);
        packet.arrival.ecn = ecn;
        packet
    };
    bench.enqueue(packet(0, Ecn::Capable0));
    bench.enqueue(packet(1, Ecn::NotCapable));
    bench.enqueue(packet(2, Ecn::Capable1));
    bench.now = at(100);
    empty_fast_path(&mut bench);
    assert!(bench.dequeue().is_some());
    bench.now = at(101);
    assert_eq!(bench.drain(), [1, 2]);
    assert_eq!(bench.dropped.1, [(2, MarkReason::Forced)]);
}

#[test]
fn the_wait_for_the_longest_rate_marks_nothing() {
    let rate = Some(Rate::megabits(8));
    let config = FqConfig { ce_threshold: Some(Span::from_microseconds(100)), flow_max_rate: rate, ..turns() };
    let mut bench = bench(&config);
    for label in 0..3 {
        let mut packet = Labelled::new(label, 1, 1000, 0);
        packet.arrival.ecn = Ecn::Capable0;
        bench.enqueue(packet);
    }
    for (microseconds, marks) in [(0, 0), (1100, 0), (2101, 1)] {
        bench.now = at(microseconds);
        assert!(bench.dequeue().is_some(), "{microseconds}");
        assert_eq!(bench.dropped.1.len(), marks, "{microseconds}");
    }
}

#[test]
fn each_parameter_is_checked() {
    let config = FqConfig::default;
    let weights = |third| [1 << 14, 1 << 14, third];
    let priomap = |band| [band; 16];
    for (config, field) in [
        (FqConfig { limit: QueueSize::Packets(0), ..config() }, "limit"),
        (FqConfig { flow_limit: 0, ..config() }, "flow_limit"),
        (FqConfig { flows: 0, ..config() }, "flows"),
        (FqConfig { flows: 65_537, ..config() }, "flows"),
        (FqConfig { quantum: Bytes(255), ..config() }, "quantum"),
        (FqConfig { quantum: Bytes((1 << 20) + 1), ..config() }, "quantum"),
        (FqConfig { initial_quantum: Bytes((1 << 20) + 1), ..config() }, "initial_quantum"),
        (FqConfig { priomap: priomap(3), ..config() }, "priomap"),
        (FqConfig { weights: weights((1 << 14) - 1), ..config() }, "weights"),
        (FqConfig { weights: weights(1 << 31), ..config() }, "weights"),
    ] {
        assert_eq!(Fq::<Labelled>::new(&config, LINK, 0).err().unwrap().field, field, "{config:?}");
    }
    let largest = Bytes(1 << 20);
    for config in [
        FqConfig { quantum: Bytes(256), initial_quantum: Bytes(0), flow_limit: 1, flows: 1, ..config() },
        FqConfig { quantum: largest, initial_quantum: largest, flows: 65_536, ..config() },
        FqConfig { weights: weights((1 << 31) - 1), priomap: priomap(2), ..config() },
    ] {
        assert!(Fq::<Labelled>::new(&config, LINK, 0).is_ok(), "{config:?}");
    }
}
