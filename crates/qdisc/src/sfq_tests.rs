//! Tests of SFQ: vectors, fairness, perturbation.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::test_support::{Bench, Dropped, LINK, Labelled, rng};
use crate::uniform;

fn sfq(config: &SfqConfig) -> Sfq<Labelled> {
    Sfq::new(config, LINK, 5).unwrap()
}

fn bench(config: &SfqConfig) -> Bench<Sfq<Labelled>> {
    Bench::new(sfq(config))
}

/// A packet that is its own label: 1000 B of `flow`.
fn packet(label: u32, flow: u64) -> Labelled {
    Labelled::new(label, flow, 1000, 0)
}

/// `count` flows, each with a bucket of its own.
fn flows_apart(sfq: &Sfq<Labelled>, count: usize) -> Vec<u64> {
    let mut flows: Vec<u64> = Vec::new();
    for flow in 0.. {
        let bucket = sfq.bucket_of(FlowKey(flow));
        if flows.iter().all(|other| sfq.bucket_of(FlowKey(*other)) != bucket) {
            flows.push(flow);
        }
        if flows.len() == count {
            break;
        }
    }
    flows
}

#[test]
fn a_lone_flow_gets_13_packets_into_ns2s_40() {
    let config = SfqConfig { limit: QueueSize::Packets(40), buckets: 16, ns2_admission: true, ..SfqConfig::default() };
    let mut bench = bench(&config);
    for label in 0..100 {
        bench.enqueue(packet(label, 1));
    }
    assert_eq!(bench.discipline.backlog().packets, 13);
    assert_eq!(bench.dropped.0[0], (packet(13, 1), DropReason::Overflow, false));
}

#[test]
fn ns2_admission_gives_each_bucket_a_packet_at_least_where_it_is_accepted() {
    for buckets in 2..=64 {
        let limit = QueueSize::Packets(u64::from(buckets));
        let mut bench = bench(&SfqConfig { limit, buckets, ns2_admission: true, ..SfqConfig::default() });
        // The last packet of room stays free: half of it is none.
        let flows = flows_apart(&bench.discipline, buckets as usize - 1);
        flows.iter().for_each(|flow| bench.enqueue(packet(0, *flow)));
        assert_eq!(bench.discipline.backlog().packets, u64::from(buckets) - 1);
        // And while half of the room is left, a bucket that holds one takes a second: a window of two gets across.
        if buckets >= 8 {
            bench.drain();
            (0..2).for_each(|label| bench.enqueue(packet(label, flows[0])));
            assert_eq!(bench.discipline.backlog().packets, 2);
        }
    }
    let starved = SfqConfig { limit: QueueSize::Packets(40), buckets: 41, ns2_admission: true, ..SfqConfig::default() };
    let error = Sfq::<Labelled>::new(&starved, LINK, 0).unwrap_err();
    assert!(alloc::format!("{error}").starts_with("`buckets` must be at most `limit` with `ns2_admission`"));
}

#[test]
fn ns2_admission_holds_buckets_to_their_share_when_room_is_short() {
    let rule = Ns2Admission { limit: 40, share: 2 };
    // 16 left: not short of room, and a bucket may hold up to half of it. 15 left: only the share, 2, may be held.
    assert!(rule.admits(7, 24, 16) && !rule.admits(8, 24, 16));
    assert!(rule.admits(2, 25, 16) && !rule.admits(3, 25, 16));
    // 2 left: half is 1, so that only an empty bucket takes one; 1 or none left: none does.
    assert!(rule.admits(0, 38, 16) && !rule.admits(1, 38, 16));
    assert!(!rule.admits(0, 39, 16) && !rule.admits(0, 40, 16) && !rule.admits(0, 41, 16));
}

#[test]
fn a_bucket_past_its_even_share_is_refused_only_while_room_is_short() {
    // 40 packets among 16 buckets: an even share is 2.
    let rule = Ns2Admission::new(QueueSize::Packets(40), 16).unwrap();
    for (used, total, expected) in [(2, 30, true), (3, 30, false), (3, 24, true), (3, 25, false), (2, 36, false)] {
        assert_eq!(rule.admits(used, total, 16), expected, "{used} of {total}");
    }
}

#[test]
fn ns2s_placement_leaves_no_bucket_to_others_than_heavy_flows() {
    // BREATHe's comparator: 16 buckets of 18 packets. 20 consecutive floods fill each of them, whatever the seed, so
    // that no other flow gets a packet in; under a random hash 27.5 % of flows have a bucket without a flood.
    let floods = 1010..1030;
    for salt in 0..20 {
        let config = SfqConfig { limit: QueueSize::Packets(300), buckets: 16, ..SfqConfig::default() };
        let config = SfqConfig { bucket_limit: Some(QueueSize::Packets(18)), placement: SfqPlacement::Ns2, ..config };
        let mut bench = Bench::new(Sfq::new(&config, LINK, salt).unwrap());
        floods.clone().cycle().take(20 * 18).for_each(|flow| bench.enqueue(packet(0, 2 * flow)));
        assert_eq!(bench.discipline.backlog().packets, 16 * 18);
        (0..1000).for_each(|flow| bench.enqueue(packet(1, 2 * flow)));
        assert_eq!(bench.discipline.backlog().packets, 16 * 18);
    }
}

#[test]
fn flows_of_one_bucket_share_its_turns() {
    // Ten flows in nine buckets: the pair that collides gets one turn between the two.
    let mut bench = bench(&SfqConfig { buckets: 9, limit: QueueSize::Packets(10_000), ..SfqConfig::default() });
    let mut flows = flows_apart(&bench.discipline, 9);
    let bucket = |flow| bench.discipline.bucket_of(FlowKey(flow));
    flows.push((flows[8] + 1..).find(|flow| bucket(*flow) == bucket(flows[0])).unwrap());
    for round in 0..100 {
        for flow in &flows {
            bench.enqueue(packet(round, *flow));
        }
    }
    let mut sent = [0; 10];
    for _ in 0..90 {
        let flow = bench.dequeue().unwrap().arrival.flow.0;
        sent[flows.iter().position(|other| *other == flow).unwrap()] += 1;
    }
    assert_eq!(sent, [5, 10, 10, 10, 10, 10, 10, 10, 10, 5]);
}

#[test]
fn flows_collide_as_often_as_at_random() {
    // P(a flow shares its bucket) = 1 - (1 - 1/B)^(n - 1).
    for (buckets, flows) in [(9, 10_u32), (16, 10), (1024, 400), (46, 2)] {
        let config = SfqConfig { buckets, ..SfqConfig::default() };
        let trials = 200_000 / flows;
        let mut shared = 0_u32;
        for salt in 0..trials {
            let sfq = Sfq::<Labelled>::new(&config, LINK, u64::from(salt)).unwrap();
            let mut members = vec![0_u32; buckets as usize];
            (0..flows).for_each(|flow| members[sfq.bucket_of(FlowKey(u64::from(flow))) as usize] += 1);
            shared += members.iter().filter(|count| **count > 1).sum::<u32>();
        }
        let measured = f64::from(shared) / f64::from(trials * flows);
        let expected = 1.0 - libm::pow(1.0 - 1.0 / f64::from(buckets), f64::from(flows - 1));
        assert!((measured - expected).abs() < 0.005, "{flows} flows in {buckets}: {measured}, expected {expected}");
    }
}

#[test]
fn a_full_buffer_takes_from_the_longest_bucket() {
    for (steal_from_head, evicted) in [(false, 3), (true, 1)] {
        let mut bench = bench(&SfqConfig { limit: QueueSize::Packets(4), steal_from_head, ..SfqConfig::default() });
        let flows = flows_apart(&bench.discipline, 2);
        for label in 1..=3 {
            bench.enqueue(packet(label, flows[0]));
        }
        bench.enqueue(packet(4, flows[1]));
        bench.enqueue(packet(5, flows[1]));
        assert_eq!(bench.dropped.0, [(packet(evicted, flows[0]), DropReason::Evicted, true)]);
        // Now both hold two: a third makes its own bucket the longest.
        bench.enqueue(packet(6, flows[0]));
        let expected = if steal_from_head {
            (packet(2, flows[0]), DropReason::Evicted, true)
        } else {
            (packet(6, flows[0]), DropReason::Overflow, false)
        };
        assert_eq!(bench.dropped.0[1], expected);
        assert_eq!(bench.discipline.backlog(), Backlog { packets: 4, bytes: 4000 });
    }
}

#[test]
fn of_equally_long_buckets_the_one_served_last_loses() {
    let mut bench = bench(&SfqConfig { limit: QueueSize::Packets(6), ..SfqConfig::default() });
    let flows = flows_apart(&bench.discipline, 3);
    for label in 0..6 {
        bench.enqueue(packet(label, flows[label as usize % 3]));
    }
    // The first two buckets are served once each, and filled up again: all hold two, the second was served last.
    assert_eq!(bench.dequeue().map(|packet| packet.label), Some(0));
    assert_eq!(bench.dequeue().map(|packet| packet.label), Some(1));
    bench.enqueue(packet(6, flows[0]));
    bench.enqueue(packet(7, flows[1]));
    let newcomer = flows_apart(&bench.discipline, 4)[3];
    bench.enqueue(packet(8, newcomer));
    assert_eq!(bench.dropped.0, [(packet(7, flows[1]), DropReason::Evicted, true)]);
}

#[test]
fn the_longest_is_in_the_unit_of_the_limit() {
    for (limit, evicted) in [(QueueSize::Bytes(2400), 1), (QueueSize::Packets(4), 4)] {
        let mut bench = bench(&SfqConfig { limit, ..SfqConfig::default() });
        let flows = flows_apart(&bench.discipline, 3);
        let long = (1, flows[0], 1500);
        for (label, flow, len_bytes) in [long, (2, flows[1], 100), (3, flows[1], 100), (4, flows[1], 100)] {
            bench.enqueue(Labelled::new(label, flow, len_bytes, 0));
        }
        bench.enqueue(packet(5, flows[2]));
        let labels: Vec<u32> = bench.dropped.0.iter().map(|(packet, ..)| packet.label).collect();
        assert_eq!(labels, [evicted]);
    }
}

#[test]
fn a_bucket_has_its_own_limit() {
    // BREATHe's comparator: 16 buckets of 300 / 16 packets each.
    let bucket_limit = Some(QueueSize::Packets(18));
    let limit = QueueSize::Packets(300);
    let mut bench = bench(&SfqConfig { limit, bucket_limit, buckets: 16, ..SfqConfig::default() });
    for label in 0..40 {
        bench.enqueue(packet(label, 1));
    }
    assert_eq!(bench.discipline.backlog().packets, 18);
    assert_eq!(bench.dropped.0[0], (packet(18, 1), DropReason::Overflow, false));
}

#[test]
fn a_packet_longer_than_the_buffer_drives_nobody_out() {
    let mut bench = bench(&SfqConfig { limit: QueueSize::Bytes(3000), ..SfqConfig::default() });
    bench.enqueue(Labelled::new(1, 1, 1000, 0));
    bench.enqueue(Labelled::new(2, 2, 3001, 0));
    assert_eq!(bench.drain(), [1]);
}

#[test]
fn perturbation_parts_flows_that_collide_and_keeps_each_in_order() {
    let interval = Span::from_milliseconds(10);
    let config = SfqConfig { buckets: 4, perturbation_interval: Some(interval), ..SfqConfig::default() };
    let mut bench = bench(&config);
    let flows = 6;
    let mut label = 0;
    let mut last = [None; 6];
    let mut meetings = 0;
    for millisecond in 0..2000 {
        bench.now = Time::ZERO.saturating_add(Span::from_milliseconds(millisecond));
        for _ in 0..7 {
            bench.enqueue(packet(label, u64::from(label % flows)));
            label += 1;
        }
        for _ in 0..6 {
            let packet = bench.dequeue().unwrap();
            let before = last[packet.arrival.flow.0 as usize].replace(packet.label);
            assert!(before < Some(packet.label), "{packet:?} after {before:?}");
        }
        let (first, second) = (bench.discipline.bucket_of(FlowKey(0)), bench.discipline.bucket_of(FlowKey(1)));
        meetings += u32::from(first == second);
        check_counts(&bench.discipline);
    }
    // Two of six flows share one of four buckets in a quarter of 200 intervals of 10 ms; 3.3 standard deviations.
    assert!((300..=700).contains(&meetings), "{meetings}");
    assert!(!bench.dropped.0.is_empty(), "the buffer was never full");
}

/// Every packet is in the bucket of the present hash, and the heap knows the lengths.
fn check_counts(sfq: &Sfq<Labelled>) {
    let longest = (0..sfq.buckets).map(|bucket| sfq.queues.backlog_of(bucket).packets).max().unwrap();
    let (Reverse(length), _) = sfq.longest.first().map_or((Reverse(0), Reverse(0)), |(key, _)| key);
    assert_eq!(length, longest);
    let mut copy = sfq.clone();
    while let Some((bucket, packet)) = copy.queues.pop() {
        assert_eq!(bucket, sfq.bucket_of(packet.arrival.flow));
    }
}

#[test]
fn the_hash_changes_at_the_first_call_after_each_period() {
    let interval = Span::from_milliseconds(10);
    let mut bench = bench(&SfqConfig { perturbation_interval: Some(interval), ..SfqConfig::default() });
    let at = |microseconds| Time::ZERO.saturating_add(Span::from_microseconds(microseconds));
    let mut salts = Vec::new();
    // Before the first period's end, past it, in the same period, long after, and right at an end.
    for microseconds in [9_999, 14_000, 19_999, 86_400_003_000, 86_400_010_000] {
        bench.now = at(microseconds);
        bench.dequeue();
        salts.push(bench.discipline.salt);
    }
    assert_eq!(salts[0], 5);
    assert_eq!(salts[1], salts[2]);
    let mut distinct = salts.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 4, "{salts:?}");
}

#[test]
fn the_hash_changes_at_multiples_of_the_period() {
    let interval = Span::from_milliseconds(10);
    let mut bench = bench(&SfqConfig { perturbation_interval: Some(interval), ..SfqConfig::default() });
    bench.now = Time::ZERO + Span::from_milliseconds(25);
    bench.dequeue();
    assert_eq!(bench.discipline.perturbation.unwrap().next, Time::ZERO + Span::from_milliseconds(30));
}

#[test]
fn a_lone_bucket_still_knows_its_length_after_the_hash_has_changed() {
    let mut bench = bench(&SfqConfig { buckets: 1, ..SfqConfig::default() });
    for label in 1..=3 {
        bench.enqueue(packet(label, 1));
    }
    let (mut rng, mut dropped) = (rng(), Dropped::default());
    bench.discipline.rehash(&mut Cx { now: Time::ZERO, rng: &mut rng, sink: &mut dropped });
    check_counts(&bench.discipline);
}

#[test]
fn rehashing_drops_what_a_bucket_has_no_room_for() {
    let config = SfqConfig {
        buckets: 2,
        bucket_limit: Some(QueueSize::Packets(10)),
        perturbation_interval: Some(Span::from_milliseconds(1)),
        ..SfqConfig::default()
    };
    let mut bench = bench(&config);
    let flows = flows_apart(&bench.discipline, 2);
    for label in 0..20 {
        bench.enqueue(packet(label, flows[label as usize % 2]));
    }
    assert!(bench.dropped.0.is_empty());
    while bench.dropped.0.is_empty() {
        bench.now += Span::from_milliseconds(1);
        bench.discipline.perturb_if_due(&mut Cx { now: bench.now, rng: &mut rng(), sink: &mut bench.dropped });
    }
    // Both flows met in one bucket of ten: the rest goes, and what stays is the older half of each.
    assert_eq!(bench.discipline.backlog().packets, 10);
    assert!(bench.dropped.0.iter().all(|(_, reason, queued)| (*reason, *queued) == (DropReason::Overflow, true)));
    assert_eq!(bench.drain(), (0..10).collect::<Vec<u32>>());
}

/// Serves `flows` kept busy with random sizes, and returns the widest gap in what any two were served over any
/// interval: in packets and in bytes.
fn widest_gaps(config: &SfqConfig, seed: u64, longest: u32) -> (i64, i64) {
    let mut bench = bench(config);
    let flows = flows_apart(&bench.discipline, 4);
    let mut rng = rand_pcg::Pcg64Mcg::new(u128::from(seed) | 1);
    let mut size = || 40 + (uniform(&mut rng) * f64::from(longest - 39)) as u32;
    for (index, flow) in flows.iter().enumerate() {
        // Some begin with more than others, and all have two packets at least.
        for _ in 0..2 + index {
            bench.enqueue(Labelled::new(0, *flow, size(), 0));
        }
    }
    let mut sent = [(0_i64, 0_i64); 4];
    let mut ranges = [[[(0_i64, 0_i64); 2]; 4]; 4];
    for _ in 0..400 {
        let packet = bench.dequeue().unwrap();
        let served = flows.iter().position(|flow| *flow == packet.arrival.flow.0).unwrap();
        bench.enqueue(Labelled::new(0, flows[served], size(), 0));
        sent[served].0 += 1;
        sent[served].1 += i64::from(packet.arrival.len_bytes);
        for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
            let (packets, bytes) = (sent[i].0 - sent[j].0, sent[i].1 - sent[j].1);
            let [least, most] = &mut ranges[i][j];
            *least = (least.0.min(packets), least.1.min(bytes));
            *most = (most.0.max(packets), most.1.max(bytes));
        }
    }
    let gaps = || ranges.iter().flatten().map(|[least, most]| (most.0 - least.0, most.1 - least.1));
    (gaps().map(|gap| gap.0).max().unwrap_or(0), gaps().map(|gap| gap.1).max().unwrap_or(0))
}

proptest! {
    /// Between two backlogged buckets, over any interval, one packet each: |served_i - served_j| <= 1.
    #[test]
    fn packet_turns_are_fair_to_a_packet(seed in any::<u64>()) {
        let (packets, _) = widest_gaps(&SfqConfig::default(), seed, 1500);
        prop_assert_eq!(packets, 1);
    }

    /// Surplus round robin: over any interval, the bytes of two backlogged buckets differ by less than a quantum and
    /// two longest packets.
    #[test]
    fn byte_turns_are_fair_to_a_quantum_and_two_packets(seed in any::<u64>(), quantum in 1_u64..5000) {
        let config = SfqConfig { quantum: Some(Bytes(quantum)), ..SfqConfig::default() };
        let (_, bytes) = widest_gaps(&config, seed, 1500);
        prop_assert!(bytes < quantum as i64 + 2 * 1500, "{bytes}");
    }
}

#[test]
fn each_parameter_is_checked() {
    let default = SfqConfig::default;
    let cases = [
        (SfqConfig { limit: QueueSize::Packets(0), ..default() }, "limit"),
        (SfqConfig { buckets: 0, ..default() }, "buckets"),
        (SfqConfig { buckets: (1 << 20) + 1, ..default() }, "buckets"),
        (SfqConfig { bucket_limit: Some(QueueSize::Bytes(39)), ..default() }, "bucket_limit"),
        (SfqConfig { quantum: Some(Bytes(0)), ..default() }, "quantum"),
        (SfqConfig { quantum: Some(Bytes((1 << 32) + 1)), ..default() }, "quantum"),
        (SfqConfig { perturbation_interval: Some(Span::ZERO), ..default() }, "perturbation_interval"),
        (
            SfqConfig { perturbation_interval: Some(Span::from_seconds(1)), placement: SfqPlacement::Ns2, ..default() },
            "perturbation_interval",
        ),
        (SfqConfig { limit: QueueSize::Bytes(9000), ns2_admission: true, ..default() }, "ns2_admission"),
        // ns-2's rule with more buckets than packets, as the defaults have them, and with a buffer it keeps empty.
        (SfqConfig { ns2_admission: true, ..default() }, "buckets"),
        (SfqConfig { ns2_admission: true, limit: QueueSize::Packets(1), buckets: 1, ..default() }, "limit"),
    ];
    for (config, field) in cases {
        assert_eq!(Sfq::<Labelled>::new(&config, LINK, 0).err().map(|error| error.field), Some(field));
    }
}
