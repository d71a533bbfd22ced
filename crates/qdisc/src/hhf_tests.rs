//! HHF: which flows are heavy hitters, the shares of the queues, what a full buffer drops.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::Time;
use crate::test_support::{Bench, LINK, Labelled};

fn bench(config: &HhfConfig) -> Bench<Hhf<Labelled>> {
    Bench::new(Hhf::new(config, LINK, 5).unwrap())
}

fn gauge(bench: &Bench<Hhf<Labelled>>, name: &str) -> f64 {
    let mut found = f64::NAN;
    bench.discipline.gauges(&mut |gauge, value| {
        if gauge == name {
            found = value;
        }
    });
    found
}

fn is_heavy(bench: &Bench<Hhf<Labelled>>, flow: u64) -> bool {
    let hash = bench.discipline.hash(FlowKey(flow));
    bench.discipline.classifier.is_heavy_hitter(hash)
}

/// A flow that sends at a constant rate for a second, on a link that sends each packet at once. Returns how many
/// packets it had sent when it became a heavy hitter.
fn packets_until_heavy(rate: Rate, len_bytes: u32) -> Option<u32> {
    let mut bench = bench(&HhfConfig::default());
    let gap = rate.transmission_time(u64::from(len_bytes));
    let mut sent = 0;
    while bench.now < Time::ZERO + Span::from_seconds(1) {
        bench.enqueue(Labelled::new(sent, 1, len_bytes, 0));
        sent += 1;
        bench.dequeue();
        if is_heavy(&bench, 1) {
            return Some(sent);
        }
        bench.now += gap;
    }
    None
}

#[test]
fn a_flow_is_heavy_above_26_megabits_a_second() {
    // The 88th packet of 1500 B exceeds 131072 B, as 87 of them do not.
    assert_eq!(packets_until_heavy(Rate::megabits(100), 1500), Some(88));
    assert_eq!(packets_until_heavy(Rate::megabits(1000), 64), Some(2049));
    // 131072 B in 40 ms are 26.2 Mb/s.
    assert_eq!(packets_until_heavy(Rate::megabits(26), 1500), None);
    assert_eq!(packets_until_heavy(Rate::megabits(27), 1500), Some(88));
}

/// A heavy flow of this number, without packets in the queue.
fn make_heavy(bench: &mut Bench<Hhf<Labelled>>, flow: u64) {
    while !is_heavy(bench, flow) {
        bench.enqueue(Labelled::new(u32::MAX, flow, 1500, 0));
        bench.dequeue();
    }
    assert_eq!(bench.serve(), Served::Idle);
}

/// Packets of heavy flow 1 and of flows from 100 on, with their number as label; returns the bytes of flow 1 among
/// those that leave.
fn heavy_share(config: &HhfConfig, heavy_bytes: u32, other_bytes: u32, departures: u32) -> f64 {
    let mut bench = bench(&HhfConfig { limit: QueueSize::Packets(100_000), ..config.clone() });
    make_heavy(&mut bench, 1);
    for number in 0..departures {
        bench.enqueue(Labelled::new(number, 1, heavy_bytes, 0));
        bench.enqueue(Labelled::new(number, 100 + u64::from(number), other_bytes, 0));
    }
    let sent: Vec<Labelled> = (0..departures).filter_map(|_| bench.dequeue()).collect();
    let bytes = |heavy: bool| {
        let of_class = sent.iter().filter(|packet| (packet.arrival.flow == FlowKey(1)) == heavy);
        of_class.map(|packet| f64::from(packet.arrival.len_bytes)).sum::<f64>()
    };
    bytes(true) / (bytes(true) + bytes(false))
}

#[test]
fn heavy_hitters_have_a_third_of_the_link() {
    let equal = |share: f64, expected: f64| assert!((share / expected - 1.0).abs() < 0.01, "{share} {expected}");
    equal(heavy_share(&HhfConfig::default(), 1514, 1514, 3000), 1.0 / 3.0);
    equal(heavy_share(&HhfConfig::default(), 1514, 100, 20_000), 1.0 / 3.0);
    equal(heavy_share(&HhfConfig::default(), 64, 1000, 20_000), 1.0 / 3.0);
    equal(heavy_share(&HhfConfig { non_hh_weight: 1, ..HhfConfig::default() }, 1000, 1000, 3000), 0.5);
    equal(heavy_share(&HhfConfig { non_hh_weight: 9, ..HhfConfig::default() }, 1000, 1000, 10_000), 0.1);
}

#[test]
fn others_that_were_silent_go_first_for_their_quantum() {
    let mut bench = bench(&HhfConfig::default());
    make_heavy(&mut bench, 1);
    for label in 0..5 {
        bench.enqueue(Labelled::new(label, 1, 1514, 0));
    }
    assert_eq!(bench.dequeue().map(|packet| packet.label), Some(0));
    for label in 10..15 {
        bench.enqueue(Labelled::new(label, 2, 1514, 0));
    }
    // Two quanta. The heavy hitter has used up its own, and so gets its next turn after two more of the others.
    assert_eq!(bench.drain(), [10, 11, 12, 13, 1, 14, 2, 3, 4]);
}

#[test]
fn an_empty_new_queue_waits_for_the_old_one() {
    let mut bench = bench(&HhfConfig::default());
    make_heavy(&mut bench, 1);
    for label in 0..4 {
        bench.enqueue(Labelled::new(label, 1, 1514, 0));
    }
    let mut order = Vec::new();
    // A flow that sends one packet whenever its queue was found empty does not starve the other.
    for label in 10..14 {
        bench.enqueue(Labelled::new(label, 2, 100, 0));
        order.extend([bench.dequeue(), bench.dequeue()].into_iter().flatten().map(|packet| packet.label));
    }
    assert_eq!(order, [10, 0, 11, 1, 12, 2, 13, 3]);
}

#[test]
fn a_full_buffer_drops_the_oldest_of_the_heavy_hitters() {
    let mut bench = bench(&HhfConfig { limit: QueueSize::Packets(3), ..HhfConfig::default() });
    make_heavy(&mut bench, 1);
    let dropped = |bench: &mut Bench<Hhf<Labelled>>, label, flow| {
        bench.enqueue(Labelled::new(label, flow, 1000, 0));
        core::mem::take(&mut bench.dropped.0).pop().map(|(packet, reason, queued)| (packet.label, reason, queued))
    };
    for (label, flow) in [(0, 1), (1, 1), (2, 2)] {
        assert_eq!(dropped(&mut bench, label, flow), None);
    }
    assert_eq!(dropped(&mut bench, 3, 3), Some((0, DropReason::Evicted, true)));
    assert_eq!(dropped(&mut bench, 4, 4), Some((1, DropReason::Evicted, true)));
    // Without any, the oldest of all, and a packet of a heavy hitter itself.
    assert_eq!(dropped(&mut bench, 5, 5), Some((2, DropReason::Evicted, true)));
    assert_eq!(dropped(&mut bench, 6, 1), Some((6, DropReason::Overflow, false)));
    assert_eq!(bench.drain(), [3, 4, 5]);
    assert_eq!(gauge(&bench, "drop_overlimit"), 4.0);
}

#[test]
fn a_limit_in_bytes_makes_room_for_an_arrival() {
    let mut bench = bench(&HhfConfig { limit: QueueSize::Bytes(1000), ..HhfConfig::default() });
    for label in 0..5 {
        bench.enqueue(Labelled::new(label, u64::from(label), 200, 0));
    }
    bench.enqueue(Labelled::new(5, 5, 500, 0));
    bench.enqueue(Labelled::new(6, 6, 1001, 0));
    let dropped: Vec<(u32, bool)> = bench.dropped.0.iter().map(|(packet, _, queued)| (packet.label, *queued)).collect();
    assert_eq!(dropped, [(0, true), (1, true), (2, true), (6, false)]);
    assert_eq!(bench.drain(), [3, 4, 5]);
}

#[test]
fn each_parameter_is_checked() {
    let config = HhfConfig::default;
    for (config, field) in [
        (HhfConfig { limit: QueueSize::Packets(0), ..config() }, "limit"),
        (HhfConfig { quantum: Bytes(0), ..config() }, "quantum"),
        (HhfConfig { quantum: Bytes(1 << 31), ..config() }, "quantum"),
        (HhfConfig { quantum: Bytes(1 << 30), ..config() }, "non_hh_weight"),
        (HhfConfig { non_hh_weight: 0, ..config() }, "non_hh_weight"),
        (HhfConfig { hh_limit: 2049, ..config() }, "hh_limit"),
        (HhfConfig { admit_bytes: Bytes(1 << 32), ..config() }, "admit_bytes"),
        (HhfConfig { reset_timeout: Span::from_microseconds(999), ..config() }, "reset_timeout"),
        (HhfConfig { evict_timeout: Span::from_microseconds(999), ..config() }, "evict_timeout"),
    ] {
        assert_eq!(Hhf::<Labelled>::new(&config, LINK, 0).err().unwrap().field, field, "{config:?}");
    }
    let tick = Span::from_milliseconds(1);
    for config in [
        HhfConfig { quantum: Bytes((1 << 30) - 1), hh_limit: 0, admit_bytes: Bytes(0), ..config() },
        HhfConfig { non_hh_weight: 1, quantum: Bytes((1 << 31) - 1), ..config() },
        HhfConfig { reset_timeout: tick, evict_timeout: tick, admit_bytes: Bytes((1 << 32) - 1), ..config() },
    ] {
        assert!(Hhf::<Labelled>::new(&config, LINK, 0).is_ok(), "{config:?}");
    }
}

proptest! {
    /// Estan and Varghese: no flow that sends more than the bound between two resets of the counters escapes.
    #[test]
    fn no_heavy_hitter_escapes(
        packets in prop::collection::vec((0_u64..40, 40_u32..1500, 0_u64..3_000), 1..400),
        admit_bytes in 0_u64..20_000,
    ) {
        let config = HhfConfig { admit_bytes: Bytes(admit_bytes), ..HhfConfig::default() };
        let mut bench = bench(&config);
        let (mut sent, mut reset_at) = ([0_u64; 40], Time::ZERO);
        for (label, (flow, len_bytes, gap_us)) in (0..).zip(packets) {
            bench.now += Span::from_microseconds(gap_us);
            if bench.now.since(reset_at) > config.reset_timeout {
                (sent, reset_at) = ([0; 40], bench.now);
            }
            sent[flow as usize] += u64::from(len_bytes);
            bench.enqueue(Labelled::new(label, flow, len_bytes, 0));
            if sent[flow as usize] > admit_bytes {
                prop_assert!(is_heavy(&bench, flow), "flow {flow} has sent {} B", sent[flow as usize]);
            }
            if is_heavy(&bench, flow) {
                prop_assert!(bench.discipline.buckets[0].packets.back().is_some_and(|packet| packet.label == label));
            }
        }
    }
}
