//! Tests of SP-PIFO: the bounds, the bypass of an idle link, and inversions compared with a FIFO queue.

use alloc::boxed::Box;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::ranks::by_label::{ByLabel, inversions, ranked};
use crate::test_support::{Bench, LINK, Labelled, rng};
use crate::{DropTail, DropTailConfig, Fifo, Pifo, PifoConfig, Rng, uniform};

fn config(queues: u32, packets: u64) -> SpPifoConfig {
    SpPifoConfig { limit: QueueSize::Packets(packets), queues, ..SpPifoConfig::default() }
}

fn sp_pifo(queues: u32, packets: u64) -> SpPifo<Labelled, ByLabel> {
    SpPifo::with_ranks(&config(queues, packets), ByLabel).unwrap()
}

/// A queue behind a link that is sending a packet.
fn busy(queues: u32, packets: u64) -> Bench<SpPifo<Labelled, ByLabel>> {
    let mut bench = Bench::new(sp_pifo(queues, packets));
    bench.enqueue(ranked(99, 0));
    assert_eq!(bench.dequeue(), Some(ranked(99, 0)));
    bench
}

fn bounds(bench: &Bench<SpPifo<Labelled, ByLabel>>) -> Vec<Rank> {
    bench.discipline.levels.iter().map(|level| level.bound).collect()
}

/// The vector of three queues of two packets, executed by hand: rank, queue (from 1, or 0 for a drop), bounds.
#[test]
fn bounds_follow_the_ranks() {
    let mut bench = busy(3, 6);
    let lengths = |bench: &Bench<SpPifo<Labelled, ByLabel>>| -> Vec<usize> {
        bench.discipline.levels.iter().map(|level| level.packets.len()).collect()
    };
    for (rank, queue, after) in [
        (4, 3, [0, 0, 4]),
        (2, 2, [0, 2, 4]),
        (7, 3, [0, 2, 7]),
        (1, 1, [1, 2, 7]),
        (0, 1, [0, 1, 6]),
        (9, 0, [0, 1, 6]),
        (3, 2, [0, 3, 6]),
    ] {
        let before = lengths(&bench);
        bench.enqueue(ranked(rank, u64::from(rank)));
        let grown = lengths(&bench).iter().zip(&before).position(|(after, before)| after > before);
        assert_eq!((grown.map_or(0, |index| index + 1), &bounds(&bench)[..]), (queue, &after[..]), "rank {rank}");
    }
    assert_eq!(bench.dropped.0, [(ranked(9, 9), DropReason::Overflow, false)]);
    assert_eq!([1, 0, 2].map(|_| bench.dequeue().unwrap().label), [1, 0, 2]);
    // Queue 3 holds 4 and 7.
    bench.enqueue(ranked(6, 6));
    assert_eq!((bench.dropped.0.len(), bounds(&bench)), (2, alloc::vec![0, 3, 6]));
    assert_eq!(bench.drain(), [3, 4, 7]);
}

#[test]
fn a_packet_at_an_idle_link_leaves_the_bounds() {
    let mut bench = Bench::new(sp_pifo(2, 4));
    bench.enqueue(ranked(9, 0));
    assert_eq!(bounds(&bench), [0, 0]);
    // Others that come before it is sent find the port busy, and wait behind it.
    bench.enqueue(ranked(3, 1));
    assert_eq!(bounds(&bench), [0, 3]);
    assert_eq!(bench.drain(), [9, 3]);
    bench.enqueue(ranked(8, 2));
    assert_eq!(bounds(&bench), [0, 3]);
    assert_eq!(bench.drain(), [8]);
}

#[test]
fn each_queue_has_an_equal_part_of_the_limit() {
    let mut bench = busy(3, 11);
    (0..4).for_each(|number| bench.enqueue(ranked(5, number)));
    assert_eq!(bench.dropped.0, [(ranked(5, 3), DropReason::Overflow, false)]);
    let config = SpPifoConfig { limit: QueueSize::Bytes(4000), queues: 2, ..SpPifoConfig::default() };
    let mut bench = Bench::new(SpPifo::with_ranks(&config, ByLabel).unwrap());
    bench.enqueue(ranked(0, 0));
    (1..4).for_each(|number| bench.enqueue(ranked(5, number)));
    assert_eq!(bench.dropped.0, [(ranked(5, 3), DropReason::Overflow, false)]);
}

#[test]
fn a_dropped_packet_does_not_count_in_its_flow() {
    let mut bench = Bench::new(SpPifo::<Labelled>::new(&config(1, 2), LINK, 0).unwrap());
    (0..5).for_each(|label| bench.enqueue(Labelled::new(label, 1, 1000, 0)));
    let mut shown = Vec::new();
    bench.discipline.gauges(&mut |name, value| shown.push((name, value)));
    bench.discipline.flow_gauges(FlowKey(1), &mut |name, value| shown.push((name, value)));
    let names = ["active_flows", "virtual_time", "first_bound", "last_bound", "ahead_bytes"];
    assert_eq!(shown.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names);
    assert_eq!(shown.iter().map(|(_, value)| *value).collect::<Vec<_>>(), [1.0, 0.0, 1000.0, 1000.0, 2000.0]);
    assert_eq!([0, 1].map(|_| bench.dequeue().unwrap().label), [0, 1]);
    shown.clear();
    bench.discipline.gauges(&mut |name, value| shown.push((name, value)));
    assert_eq!(shown[..2], [("active_flows", 1.0), ("virtual_time", 1000.0)]);
    assert_eq!(bench.dequeue(), None);
    shown.clear();
    bench.discipline.gauges(&mut |name, value| shown.push((name, value)));
    // The link has found nothing to send: a busy period has ended.
    assert_eq!(shown[..2], [("active_flows", 0.0), ("virtual_time", 2000.0)]);
}

#[test]
fn the_last_bound_is_that_of_the_lowest_priority() {
    let mut bench = busy(3, 9);
    bench.enqueue(ranked(4, 0));
    let mut shown = Vec::new();
    bench.discipline.gauges(&mut |name, value| shown.push((name, value)));
    assert_eq!(shown, [("first_bound", 0.0), ("last_bound", 4.0)]);
}

#[test]
fn parameters_have_bounds() {
    let error = |config: &SpPifoConfig| SpPifo::<Labelled>::new(config, LINK, 0).err().map(|error| error.field);
    assert_eq!(error(&config(0, 10)), Some("queues"));
    assert_eq!(error(&config(1025, 5000)), Some("queues"));
    assert_eq!(error(&config(1024, 1024)), None);
    assert_eq!(error(&config(8, 7)), Some("limit"));
    assert_eq!(error(&config(8, 8)), None);
    let bytes = |bytes| SpPifoConfig { limit: QueueSize::Bytes(bytes), ..SpPifoConfig::default() };
    assert_eq!([error(&bytes(319)), error(&bytes(320))], [Some("limit"), None]);
    assert_eq!(error(&SpPifoConfig { max_flows: 0, ..SpPifoConfig::default() }), Some("max_flows"));
}

proptest! {
    /// For this reason they are never below the smallest rank: a push-down keeps their distances to the first.
    #[test]
    fn bounds_ascend_with_falling_priority(
        operations in prop::collection::vec(prop::option::weighted(0.7, 0_u32..100), 0..300),
        queues in 1_u32..9,
    ) {
        let mut bench = busy(queues, 40);
        for operation in operations {
            match operation {
                Some(rank) => bench.enqueue(ranked(rank, 0)),
                None => drop(bench.dequeue()),
            }
            prop_assert!(bounds(&bench).is_sorted() && bounds(&bench)[0] >= 0, "{:?}", bounds(&bench));
        }
    }

    #[test]
    fn one_queue_is_a_fifo_queue(ranks in prop::collection::vec(0_u32..100, 0..30)) {
        let mut bench = busy(1, 10);
        ranks.iter().for_each(|rank| bench.enqueue(ranked(*rank, 0)));
        prop_assert_eq!(bench.drain(), ranks.into_iter().take(10).collect::<Vec<u32>>());
    }
}

/// Distributions of ranks in the paper's simulations: uniform below 100; exponential of mean 25, drawn again from 100
/// on; Poisson of mean 50.
fn draw(distribution: &str, rng: &mut dyn Rng) -> u32 {
    match distribution {
        "uniform" => (100.0 * uniform(rng)) as u32,
        "exponential" => loop {
            let rank = -25.0 * libm::log(1.0 - uniform(rng));
            if rank < 100.0 {
                return rank as u32;
            }
        },
        _ => {
            let (mut product, mut rank) = (uniform(rng), 0);
            while product > libm::exp(-50.0) {
                product *= uniform(rng);
                rank += 1;
            }
            rank
        }
    }
}

/// Packets as the ACK clock of TCP sends them: `window` come at first, and one for each that leaves.
fn slots(distribution: &str, window: usize) -> Vec<Vec<u32>> {
    let mut rng = rng();
    let mut slot = |packets: usize| (0..packets).map(|_| draw(distribution, &mut rng)).collect();
    (0..20_000).map(|number| slot(if number == 0 { window } else { 1 })).collect()
}

/// The paper's simulations have ratios of 0.30 (uniform), 0.29 (exponential) and 0.31 (Poisson). They depend on how TCP
/// fills the queue, which a test without senders cannot repeat: with a window that never changes they are lower, and
/// with batches of packets at 95 % load they are 0.56.
#[test]
fn inversions_are_far_fewer_than_in_a_fifo_queue() {
    for (distribution, ratio) in [("uniform", 0.25), ("exponential", 0.10), ("poisson", 0.22)] {
        let slots = slots(distribution, 20);
        let limit = QueueSize::Packets(80);
        let law = DropTail::new(&DropTailConfig { limit }, LINK, 0).unwrap();
        let fifo = inversions(Fifo::<Labelled, DropTail>::new(Box::new(law)), &slots) as f64;
        let [two, eight] = [2, 8].map(|queues| inversions(sp_pifo(queues, 80), &slots) as f64 / fifo);
        let pifo = Pifo::with_ranks(&PifoConfig { limit, ..PifoConfig::default() }, ByLabel).unwrap();
        assert_eq!(inversions(pifo, &slots), 0);
        assert!((0.5..0.8).contains(&two), "{distribution}: {two} with two queues");
        assert!((eight - ratio).abs() < 0.03, "{distribution}: {eight} with eight queues");
    }
}
