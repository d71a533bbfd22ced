//! Tests of the ranks that a configuration names, and of the count of inversions.

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::test_support::{Bench, LINK, Labelled};
use crate::{Aifo, AifoConfig, Discipline, Pifo, PifoConfig, SpPifo, SpPifoConfig, Time};
use forebay_units::QueueSize;

/// A packet with this many bytes of its flow left.
fn left(bytes: u32, flow: u64) -> Labelled {
    Labelled::new(bytes, flow, 1000, 0)
}

fn gauge<D: Discipline<Labelled>>(bench: &Bench<D>, wanted: &str) -> Option<f64> {
    let mut found = None;
    bench.discipline.gauges(&mut |name, value| found = if name == wanted { Some(value) } else { found });
    found
}

fn pifo(ranks: RankConfig) -> Bench<Pifo<Labelled>> {
    let limit = QueueSize::Packets(4);
    Bench::new(Pifo::new(&PifoConfig { limit, ranks, ..PifoConfig::default() }, LINK, 0).unwrap())
}

#[test]
fn flows_with_few_bytes_left_come_first_and_those_without_a_size_last() {
    let mut bench = pifo(RankConfig::RemainingSize);
    for packet in [left(5000, 1), left(Labelled::SIZELESS, 2), left(900, 3), left(0, 4)] {
        bench.enqueue(packet);
    }
    // The buffer is full: the packet of the most bytes makes room, first that of no known number.
    bench.enqueue(left(2000, 5));
    bench.enqueue(left(7000, 6));
    let dropped: Vec<u32> = bench.dropped.0.iter().map(|(packet, ..)| packet.label).collect();
    assert_eq!(dropped, [Labelled::SIZELESS, 7000]);
    assert_eq!(bench.drain(), [0, 900, 2000, 5000]);
    assert_eq!(gauge(&bench, "virtual_time"), None);
}

#[test]
fn the_packet_that_is_due_first_comes_first() {
    let slack = vec![Span::from_picoseconds(100), Span::from_picoseconds(10)];
    let mut bench = pifo(RankConfig::Deadline(DeadlineRanks { slack }));
    bench.now = Time::from_picoseconds(500);
    // Due at 340, 370 (of the last class that has a slack), 410, and, for an ACK that arrives now, at 600.
    for (left_at, class) in [(310, 0), (Labelled::SIZELESS, 0), (330, 1), (360, 7)] {
        bench.enqueue(Labelled::new(left_at, 1, 1000, class));
    }
    assert_eq!(bench.drain(), [330, 360, 310, Labelled::SIZELESS]);
    let none = DeadlineRanks { slack: vec![] };
    assert_eq!(RankConfig::Deadline(none).ranks(1, 0).err().map(|error| error.field), Some("ranks"));
}

#[test]
fn equal_ranks_are_served_in_the_order_of_arrival() {
    let mut bench = pifo(RankConfig::Uniform(UniformRanks { below: 1 }));
    [7, 3, 5].into_iter().for_each(|label| bench.enqueue(left(label, 1)));
    assert_eq!(bench.drain(), [7, 3, 5]);
}

#[test]
fn drawn_ranks_depend_on_nothing_but_the_random_stream() {
    for ranks in [
        RankConfig::Uniform(UniformRanks::default()),
        RankConfig::Exponential(ExponentialRanks::default()),
        RankConfig::Poisson(PoissonRanks::default()),
    ] {
        let order = || {
            let mut bench = pifo(ranks.clone());
            [1, 2, 3, 4].into_iter().for_each(|label| bench.enqueue(left(label, 9)));
            bench.drain()
        };
        assert_eq!(order(), order());
        assert_ne!(order(), [1, 2, 3, 4], "{ranks:?}");
    }
}

#[test]
fn a_departure_counts_once_however_many_it_overtakes() {
    let config = SpPifoConfig {
        limit: QueueSize::Packets(9),
        queues: 1,
        ranks: RankConfig::RemainingSize,
        count_inversions: true,
        ..SpPifoConfig::default()
    };
    let mut bench = Bench::new(SpPifo::<Labelled>::new(&config, LINK, 0).unwrap());
    // 5 leaves 3 and 1 behind, 3 leaves 1, 1 leaves nothing smaller, 4 leaves another 4.
    [5, 3, 1, 4, 4].into_iter().for_each(|label| bench.enqueue(left(label, 1)));
    assert_eq!(bench.drain(), [5, 3, 1, 4, 4]);
    assert_eq!(gauge(&bench, "inversions"), Some(2.0));
}

#[test]
fn inversions_are_counted_only_if_asked_for() {
    assert_eq!(gauge(&pifo(RankConfig::Stfq), "inversions"), None);
}

/// The departures of a discipline that leave a smaller label behind, by a look at all that is queued.
fn counted<D: Discipline<Labelled>>(discipline: D, slots: &[Vec<u32>]) -> (usize, f64) {
    let mut bench = Bench::new(discipline);
    let (mut queued, mut inverted, mut flow) = (Vec::<Labelled>::new(), 0, 0);
    for slot in slots {
        for &label in slot {
            flow += 1;
            queued.push(left(label, flow));
            bench.enqueue(left(label, flow));
        }
        for (dropped, ..) in bench.dropped.0.drain(..) {
            queued.retain(|packet| *packet != dropped);
        }
        let Some(sent) = bench.dequeue() else { continue };
        queued.retain(|packet| *packet != sent);
        inverted += usize::from(queued.iter().any(|packet| packet.label < sent.label));
    }
    (inverted, gauge(&bench, "inversions").unwrap())
}

fn slots() -> impl Strategy<Value = Vec<Vec<u32>>> {
    prop::collection::vec(prop::collection::vec(0_u32..100, 0..4), 0..150)
}

proptest! {
    #[test]
    fn the_gauge_is_the_number_of_departures_that_leave_a_smaller_rank(slots in slots()) {
        let (limit, ranks, count_inversions) = (QueueSize::Packets(12), RankConfig::RemainingSize, true);
        let config =
            SpPifoConfig { limit, queues: 3, ranks: ranks.clone(), count_inversions, ..SpPifoConfig::default() };
        let (expected, seen) = counted(SpPifo::<Labelled>::new(&config, LINK, 0).unwrap(), &slots);
        prop_assert_eq!(expected as f64, seen);
        let config = AifoConfig { limit, ranks: ranks.clone(), count_inversions, ..AifoConfig::default() };
        let (expected, seen) = counted(Aifo::<Labelled>::new(&config, LINK, 0).unwrap(), &slots);
        prop_assert_eq!(expected as f64, seen);
        let config = PifoConfig { limit, ranks, count_inversions, ..PifoConfig::default() };
        prop_assert_eq!(counted(Pifo::<Labelled>::new(&config, LINK, 0).unwrap(), &slots), (0, 0.0));
    }

    /// pFabric's order: by what is left, and by arrival among equals.
    #[test]
    fn a_pifo_by_remaining_bytes_is_a_stable_sort(labels in prop::collection::vec(0_u32..9, 0..60)) {
        let config = PifoConfig { ranks: RankConfig::RemainingSize, ..PifoConfig::default() };
        let mut bench = Bench::new(Pifo::<Labelled>::new(&config, LINK, 0).unwrap());
        let mut expected = vec![];
        for (flow, &label) in labels.iter().enumerate() {
            bench.enqueue(left(label, flow as u64));
            expected.push((label, flow as u64));
        }
        expected.sort_by_key(|&(label, _)| label);
        let sent: Vec<(u32, u64)> =
            core::iter::from_fn(|| bench.dequeue()).map(|packet| (packet.label, packet.arrival.flow.0)).collect();
        prop_assert_eq!(sent, expected);
    }
}
