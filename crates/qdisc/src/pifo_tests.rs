//! Tests of PIFO: the order of ranks, the packets pushed out, and the shares under STFQ ranks.

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::ranks::by_label::{ByLabel, inversions, ranked};
use crate::test_support::{Bench, LINK, Labelled};

fn by_label(limit: QueueSize) -> Bench<Pifo<Labelled, ByLabel>> {
    Bench::new(Pifo::with_ranks(&PifoConfig { limit, ..PifoConfig::default() }, ByLabel).unwrap())
}

fn stfq(limit: u64) -> Bench<Pifo<Labelled>> {
    let config = PifoConfig { limit: QueueSize::Packets(limit), ..PifoConfig::default() };
    Bench::new(Pifo::new(&config, LINK, 0).unwrap())
}

/// Rank and number of each packet, in the order of departure.
fn drained<R: Ranks<Labelled>>(bench: &mut Bench<Pifo<Labelled, R>>) -> Vec<(u32, u64)> {
    core::iter::from_fn(|| bench.dequeue()).map(|packet| (packet.label, packet.arrival.flow.0)).collect()
}

#[test]
fn the_smallest_rank_leaves_first_and_equals_in_order() {
    let mut bench = by_label(QueueSize::Packets(9));
    for (number, rank) in [5, 3, 9, 3, 0, 5].into_iter().enumerate() {
        bench.enqueue(ranked(rank, number as u64));
    }
    assert_eq!(drained(&mut bench), [(0, 4), (3, 1), (3, 3), (5, 0), (5, 5), (9, 2)]);
}

#[test]
fn the_latest_of_the_largest_ranks_makes_room() {
    let mut bench = by_label(QueueSize::Packets(3));
    for (number, rank) in [5, 7, 7, 6, 9, 7].into_iter().enumerate() {
        bench.enqueue(ranked(rank, number as u64));
    }
    let dropped = [
        (ranked(7, 2), DropReason::Evicted, true),
        (ranked(9, 4), DropReason::Overflow, false),
        (ranked(7, 5), DropReason::Overflow, false),
    ];
    assert_eq!(bench.dropped.0, dropped);
    assert_eq!(drained(&mut bench), [(5, 0), (6, 3), (7, 1)]);
}

#[test]
fn as_many_make_room_as_a_packet_has_bytes() {
    let mut bench = by_label(QueueSize::Bytes(1000));
    let packet = |rank, len_bytes| Labelled::new(rank, 0, len_bytes, 0);
    for (rank, len_bytes) in [(3, 300), (2, 300), (4, 400), (0, 1001), (1, 700)] {
        bench.enqueue(packet(rank, len_bytes));
    }
    let dropped: Vec<(u32, bool)> = bench.dropped.0.iter().map(|(packet, _, queued)| (packet.label, *queued)).collect();
    assert_eq!(dropped, [(0, false), (4, true), (3, true)]);
    assert_eq!(bench.discipline.backlog(), Backlog { packets: 2, bytes: 1000 });
    assert_eq!(bench.drain(), [1, 2]);
}

#[test]
fn a_packet_longer_than_the_buffer_does_not_count_in_its_flow() {
    let config = PifoConfig { limit: QueueSize::Bytes(1000), ..PifoConfig::default() };
    let mut bench = Bench::new(Pifo::<Labelled>::new(&config, LINK, 0).unwrap());
    bench.enqueue(Labelled::new(1, 1, 1001, 0));
    let mut shown = Vec::new();
    bench.discipline.flow_gauges(FlowKey(1), &mut |name, value| shown.push((name, value)));
    bench.discipline.gauges(&mut |name, value| shown.push((name, value)));
    assert_eq!(shown, [("ahead_bytes", 0.0), ("active_flows", 0.0), ("virtual_time", 0.0)]);
}

#[test]
fn packets_of_start_time_fair_queueing_leave_by_start_time() {
    let mut bench = stfq(9);
    // Starts: flow 1 at 0, 100, 200; flow 2 at 0, 150; flow 3, which comes after the packet of start 100 left, at 100.
    for (label, flow, len_bytes) in [(1, 1, 100), (2, 1, 100), (3, 1, 100), (4, 2, 150), (5, 2, 150)] {
        bench.enqueue(Labelled::new(label, flow, len_bytes, 0));
    }
    let sent: Vec<u32> = (0..3).filter_map(|_| bench.dequeue()).map(|packet| packet.label).collect();
    assert_eq!(sent, [1, 4, 2]);
    bench.enqueue(Labelled::new(6, 3, 100, 0));
    assert_eq!(bench.drain(), [6, 5, 3]);
}

#[test]
fn a_packet_pushed_out_does_not_count_in_its_flow() {
    let mut bench = stfq(2);
    for (label, flow) in [(1, 1), (2, 1), (3, 2), (4, 1)] {
        bench.enqueue(Labelled::new(label, flow, 1000, 0));
    }
    // 2, of start 1000, makes room for 3; 4 has start 1000 again and is dropped itself.
    let dropped: Vec<(u32, bool)> = bench.dropped.0.iter().map(|(packet, _, queued)| (packet.label, *queued)).collect();
    assert_eq!(dropped, [(2, true), (4, false)]);
    let mut ahead = 0.0;
    bench.discipline.flow_gauges(FlowKey(1), &mut |_, value| ahead = value);
    assert_eq!(ahead, 1000.0);
}

#[test]
fn flows_start_alike_after_an_idle_time() {
    let mut bench = stfq(9);
    bench.enqueue(Labelled::new(1, 1, 1000, 0));
    assert_eq!(bench.drain(), [1]);
    bench.enqueue(Labelled::new(2, 1, 1000, 0));
    bench.enqueue(Labelled::new(3, 2, 1000, 0));
    assert_eq!(bench.drain(), [2, 3]);
}

#[test]
fn parameters_have_bounds() {
    let field = |config: &PifoConfig| Pifo::<Labelled>::new(config, LINK, 0).err().map(|error| error.field);
    assert_eq!(field(&PifoConfig { max_flows: 0, ..PifoConfig::default() }), Some("max_flows"));
    assert_eq!(field(&PifoConfig { limit: QueueSize::Packets(0), ..PifoConfig::default() }), Some("limit"));
    assert_eq!(field(&PifoConfig { max_flows: 1, limit: QueueSize::Packets(1), ..PifoConfig::default() }), None);
}

proptest! {
    /// The model sorts all packets at each call.
    #[test]
    fn agrees_with_a_sorted_list(operations in prop::collection::vec(prop::option::weighted(0.6, 0_u32..9), 0..200)) {
        let mut bench = by_label(QueueSize::Packets(7));
        let mut model: Vec<(u32, u64)> = Vec::new();
        for (number, operation) in operations.into_iter().enumerate() {
            match operation {
                Some(rank) => {
                    bench.enqueue(ranked(rank, number as u64));
                    model.push((rank, number as u64));
                    model.sort_unstable();
                    let dropped = if model.len() > 7 { model.pop() } else { None };
                    let seen = bench.dropped.0.pop().map(|(packet, ..)| (packet.label, packet.arrival.flow.0));
                    prop_assert_eq!(seen, dropped);
                }
                None => {
                    let first = if model.is_empty() { None } else { Some(model.remove(0)) };
                    let seen = bench.dequeue().map(|packet| (packet.label, packet.arrival.flow.0));
                    prop_assert_eq!(seen, first);
                }
            }
        }
    }

    /// Goyal, Vin and Cheng, theorem 1: while both have packets, the service of two flows differs by no more than one
    /// packet of each.
    #[test]
    fn backlogged_flows_get_equal_service(lengths in prop::collection::vec((40_u32..1500, 40_u32..1500), 1..60)) {
        prop_assert!(stfq(1000).largest_difference(&lengths) <= 3000);
    }

    #[test]
    fn no_departure_leaves_a_smaller_rank_behind(
        slots in prop::collection::vec(prop::collection::vec(0_u32..100, 0..4), 0..200),
    ) {
        let config = PifoConfig { limit: QueueSize::Packets(10), ..PifoConfig::default() };
        prop_assert_eq!(inversions(Pifo::with_ranks(&config, ByLabel).unwrap(), &slots), 0);
    }
}

#[test]
fn inversions_of_a_fifo_queue_are_found() {
    let law = crate::DropTail::new(&crate::DropTailConfig::default(), LINK, 0).unwrap();
    let fifo = crate::Fifo::<Labelled, crate::DropTail>::new(alloc::boxed::Box::new(law));
    // 5 leaves 3 behind, 3 leaves nothing smaller, 4 leaves 1 and 2 behind and counts once, and 1 leaves 2.
    assert_eq!(inversions(fifo, &[vec![5, 3], vec![4], vec![1, 2], vec![], vec![]]), 2);
}
