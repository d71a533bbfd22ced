//! Tests of trimming: which packet is cut, the order of service, limits and marks.

use alloc::vec::Vec;

use super::*;
use crate::test_support::{Bench, LINK, Labelled};
use crate::{Ecn, MarkReason};

const FULL: u32 = 1000;

fn config() -> TrimmingConfig {
    TrimmingConfig { limit: QueueSize::Packets(3), ..TrimmingConfig::default() }
}

fn bench(config: &TrimmingConfig) -> Bench<Trimming<Labelled>> {
    Bench::new(Trimming::new(config, LINK, 0).unwrap())
}

/// A packet that can be cut.
fn packet(label: u32, len_bytes: u32) -> Labelled {
    Labelled { is_trimmable: true, ..Labelled::new(label, u64::from(label), len_bytes, 0) }
}

/// The labels in the queue for data and in that for headers.
fn queued(bench: &Bench<Trimming<Labelled>>) -> [Vec<u32>; 2] {
    let labels = |fifo: &LimitedFifo<Labelled>| fifo.packets().map(|packet| packet.label).collect();
    [labels(&bench.discipline.data), labels(&bench.discipline.headers)]
}

#[test]
fn a_fair_coin_cuts_the_arriving_packet_or_the_last() {
    let mut bench = bench(&TrimmingConfig { header_limit: Some(QueueSize::Packets(10_000)), ..config() });
    (0..3).for_each(|label| bench.enqueue(packet(label, FULL)));
    let mut last = 2;
    let mut last_is_cut = 0;
    for label in 3..10_003 {
        bench.enqueue(packet(label, FULL));
        let (cut, bytes) = *bench.dropped.2.last().unwrap();
        assert!(bytes == FULL - 64 && (cut == label || cut == last), "{cut} of {last} and {label}");
        if cut == last {
            last_is_cut += 1;
            last = label;
        }
        assert_eq!(queued(&bench)[0], [0, 1, last]);
    }
    // Four standard deviations of 10 000 tosses.
    assert!((4800..=5200).contains(&last_is_cut), "{last_is_cut}");
    assert_eq!(bench.dropped.2.len(), queued(&bench)[1].len());
    assert_eq!(bench.discipline.backlog(), Backlog { packets: 10_003, bytes: 3 * 1000 + 10_000 * 64 });
    let lengths: Vec<u32> = core::iter::from_fn(|| bench.dequeue()).map(|packet| packet.arrival.len_bytes).collect();
    assert_eq!(lengths.iter().filter(|&&len_bytes| len_bytes == 64).count(), 10_000);
    assert_eq!(bench.discipline.backlog(), Backlog::default());
}

#[test]
fn short_packets_wait_with_the_headers_and_take_turns_with_data() {
    let mut bench = bench(&TrimmingConfig { limit: QueueSize::Packets(4), headers_per_data: 2, ..config() });
    for (label, len_bytes) in [(1, 65), (2, FULL), (3, FULL), (10, 64), (11, 40), (12, 64), (13, 64), (14, 64)] {
        bench.enqueue(packet(label, len_bytes));
    }
    assert_eq!(queued(&bench), [[1, 2, 3].to_vec(), [10, 11, 12, 13, 14].to_vec()]);
    assert_eq!([0; 4].map(|_| bench.dequeue().unwrap().label), [10, 11, 1, 12]);
    // One header has gone since the last data.
    bench.enqueue(packet(4, FULL));
    assert_eq!(bench.drain(), [13, 2, 14, 3, 4]);
    // Headers that nothing waits behind do not count.
    for label in [20, 21, 22] {
        bench.enqueue(packet(label, 64));
    }
    assert_eq!([0; 2].map(|_| bench.dequeue().unwrap().label), [20, 21]);
    bench.enqueue(packet(5, FULL));
    assert_eq!(bench.drain(), [22, 5]);
}

#[test]
fn what_cannot_be_cut_or_has_no_room_for_its_header_is_dropped_whole() {
    for (is_trimmable, header_limit) in [(false, 9), (true, 1)] {
        let header_limit = Some(QueueSize::Packets(header_limit));
        let mut bench = bench(&TrimmingConfig { header_limit, ..config() });
        bench.enqueue(packet(90, 64));
        for label in 0..40 {
            bench.enqueue(Labelled { is_trimmable, ..packet(label, FULL) });
        }
        let (data, headers) = (queued(&bench)[0].clone(), queued(&bench)[1].clone());
        assert_eq!((data.len(), &headers[..], bench.dropped.2.len()), (3, &[90][..], 0));
        assert_eq!(bench.dropped.0.len(), 37);
        let mut last = 2;
        for ((dropped, reason, queued), arriving) in bench.dropped.0.iter().zip(3..) {
            let expected = if *queued { core::mem::replace(&mut last, arriving) } else { arriving };
            assert_eq!((dropped.label, dropped.arrival.len_bytes, *reason), (expected, FULL, DropReason::Overflow));
        }
        assert!(last > 2 && last == data[2], "{last}");
    }
    let mut bench = bench(&TrimmingConfig { header_limit: Some(QueueSize::Bytes(100)), ..config() });
    (0..2).for_each(|label| bench.enqueue(packet(label, 60)));
    assert_eq!(bench.dropped.0, [(packet(1, 60), DropReason::Overflow, false)]);
}

#[test]
fn the_last_packet_is_cut_only_if_that_makes_room() {
    let mut bench = bench(&TrimmingConfig { limit: QueueSize::Bytes(3000), ..config() });
    for (label, len_bytes) in [(1, 2800), (2, 200)] {
        bench.enqueue(packet(label, len_bytes));
    }
    for label in 3..23 {
        bench.enqueue(packet(label, 201));
    }
    assert_eq!(queued(&bench), [[1, 2].to_vec(), (3..23).collect()]);
    for label in 23..43 {
        bench.enqueue(packet(label, 150));
    }
    assert!(bench.dropped.2.contains(&(2, 200 - 64)));
    // Longer than the queue.
    bench.enqueue(packet(99, 3001));
    assert_eq!(bench.dropped.2.last(), Some(&(99, 3001 - 64)));
}

#[test]
fn data_is_marked_by_the_length_that_it_leaves_behind() {
    let config = |min, max| TrimmingConfig {
        limit: QueueSize::Packets(20),
        ecn: true,
        min_threshold: Some(QueueSize::Packets(min)),
        max_threshold: Some(QueueSize::Packets(max)),
        ..TrimmingConfig::default()
    };
    let capable_of = |label, len_bytes| {
        let mut packet = packet(label, len_bytes);
        packet.arrival.ecn = Ecn::Capable0;
        packet
    };
    let capable = |label| capable_of(label, FULL);
    // The packets leave 11, 10, … 0 behind.
    let mut step = bench(&config(6, 6));
    (0..12).for_each(|label| step.enqueue(capable(label)));
    assert_eq!(step.drain().len(), 12);
    assert_eq!(step.dropped.1, (0..5).map(|label| (label, MarkReason::Forced)).collect::<Vec<_>>());
    // Headers and packets that are not capable are not marked; headers do not count.
    let mut others = bench(&config(0, 1));
    (0..3).for_each(|label| others.enqueue(packet(label, FULL)));
    others.enqueue(capable(3));
    (4..30).for_each(|label| others.enqueue(capable_of(label, 64)));
    others.drain();
    assert_eq!(others.dropped.1, []);

    let mut marks = [0_u32; 12];
    let mut ramp = bench(&config(2, 10));
    for _ in 0..4000 {
        (0..12).for_each(|label| ramp.enqueue(capable(label)));
        ramp.drain();
        for (label, reason) in ramp.dropped.1.drain(..) {
            marks[11 - label as usize] += 1;
            assert_eq!(reason == MarkReason::Forced, label == 0);
        }
    }
    for (left, marked) in (0_u32..).zip(marks) {
        let expected = (f64::from(left.saturating_sub(2)) / 8.0).min(1.0);
        let share = f64::from(marked) / 4000.0;
        assert!((share - expected).abs() < 0.03, "{left}: {share} for {expected}");
    }
}

/// Ultra Ethernet's queue of 43 packets of 4150 B marks from 9 and 35 on.
#[test]
fn thresholds_are_parts_of_the_limit_unless_they_are_given() {
    let of = |limit| TrimmingConfig { limit, ..TrimmingConfig::default() }.thresholds();
    assert_eq!(of(QueueSize::Packets(43)), (QueueSize::Packets(9), QueueSize::Packets(35)));
    assert_eq!(of(QueueSize::Bytes(178_450)), (QueueSize::Bytes(35_690), QueueSize::Bytes(142_760)));
    let mut silent = bench(&TrimmingConfig { min_threshold: Some(QueueSize::Packets(0)), ..config() });
    for label in 0..3 {
        let mut packet = packet(label, FULL);
        packet.arrival.ecn = Ecn::Capable0;
        silent.enqueue(packet);
    }
    assert_eq!((silent.drain().len(), silent.dropped.1.len()), (3, 0), "without `ecn`");
}

#[test]
fn parameters_that_cannot_work_are_refused_by_name() {
    let packets = QueueSize::Packets;
    let ecn = |min, max| TrimmingConfig { min_threshold: Some(min), max_threshold: Some(max), ..config() };
    let field = |config: &TrimmingConfig| Trimming::<Labelled>::new(config, LINK, 0).err().map(|error| error.field);
    for (config, expected) in [
        (config(), None),
        (TrimmingConfig { limit: packets(0), ..config() }, Some("limit")),
        (TrimmingConfig { header: Bytes(39), ..config() }, Some("header")),
        (TrimmingConfig { header: Bytes(65_536), ..config() }, Some("header")),
        (TrimmingConfig { header: Bytes(65_535), limit: packets(8), ..config() }, None),
        (TrimmingConfig { header_limit: Some(packets(0)), ..config() }, Some("header_limit")),
        (TrimmingConfig { header_limit: Some(QueueSize::Bytes(63)), ..config() }, Some("header_limit")),
        (TrimmingConfig { headers_per_data: 0, ..config() }, Some("headers_per_data")),
        (ecn(packets(2), packets(3)), None),
        (ecn(packets(3), packets(2)), Some("max_threshold")),
        (ecn(packets(2), packets(4)), Some("max_threshold")),
        (ecn(packets(2), QueueSize::Bytes(9000)), Some("max_threshold")),
        (ecn(QueueSize::Bytes(2), QueueSize::Bytes(9_000_000)), None),
    ] {
        assert_eq!(field(&config), expected, "{config:?}");
    }
}
