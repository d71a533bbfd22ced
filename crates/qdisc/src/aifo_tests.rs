//! Tests of AIFO: which ranks are admitted, the window, and the unit of the limit.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::ranks::by_label::{ByLabel, ranked};
use crate::test_support::{Bench, LINK, Labelled};

fn config() -> AifoConfig {
    AifoConfig { limit: QueueSize::Packets(4), window: 4, headroom: 0.25, ..AifoConfig::default() }
}

fn aifo(config: &AifoConfig) -> Bench<Aifo<Labelled, ByLabel>> {
    Bench::new(Aifo::with_ranks(config, ByLabel).unwrap())
}

/// Offers packets of these ranks; returns whether each was admitted.
fn offer<const N: usize>(bench: &mut Bench<Aifo<Labelled, ByLabel>>, ranks: [u32; N]) -> [bool; N] {
    ranks.map(|rank| {
        let before = bench.dropped.0.len();
        bench.enqueue(ranked(rank, 0));
        bench.dropped.0.len() == before
    })
}

/// The vector of a queue of 4 packets, a window of 4 and a headroom of a quarter.
#[test]
fn the_fuller_the_queue_the_smaller_the_rank() {
    let mut bench = aifo(&config());
    assert_eq!(offer(&mut bench, [5, 9, 1, 7, 8, 2, 6]), [true, true, true, false, false, true, false]);
    assert_eq!(bench.dequeue().map(|packet| packet.label), Some(5));
    assert_eq!(offer(&mut bench, [3, 9]), [true, false]);
    let reasons: Vec<DropReason> = bench.dropped.0.iter().map(|(_, reason, _)| *reason).collect();
    assert_eq!(reasons, [DropReason::Early; 4]);
    assert_eq!(bench.drain(), [9, 1, 2, 3]);
}

#[test]
fn the_fraction_must_be_strictly_less() {
    // With one of two packets queued and no headroom, less than half of the window may be below.
    let config = AifoConfig { limit: QueueSize::Packets(2), window: 4, headroom: 0.0, ..AifoConfig::default() };
    let mut bench = aifo(&config);
    offer(&mut bench, [1]);
    bench.discipline.window = [1, 1, 9, 9].into();
    assert_eq!(offer(&mut bench, [2]), [false]);
    bench.discipline.window = [1, 9, 9, 9].into();
    assert_eq!(offer(&mut bench, [2]), [true]);
}

#[test]
fn equal_ranks_are_not_below() {
    let config = AifoConfig { limit: QueueSize::Packets(3), headroom: 0.0, ..config() };
    assert_eq!(offer(&mut aifo(&config), [7, 7, 7]), [true; 3]);
}

#[test]
fn an_empty_window_admits_and_a_full_queue_does_not() {
    // Nothing has been sampled: the fourth packet would be the first.
    let config = AifoConfig { limit: QueueSize::Packets(3), sample_every: 5, headroom: 0.0, ..config() };
    let mut bench = aifo(&config);
    assert_eq!(offer(&mut bench, [1, 9, 9, 9]), [true, true, true, false]);
    assert_eq!(bench.dropped.0[0].1, DropReason::Overflow);
}

#[test]
fn one_of_so_many_packets_enters_the_window() {
    let mut bench = aifo(&AifoConfig { sample_every: 3, window: 2, ..config() });
    offer(&mut bench, [1, 2, 3, 4, 5, 6]);
    assert_eq!(bench.discipline.window, [3, 6]);
    offer(&mut bench, [7, 8, 9]);
    assert_eq!(bench.discipline.window, [6, 9]);
}

#[test]
fn the_headroom_admits_every_rank() {
    let mut bench = aifo(&AifoConfig { limit: QueueSize::Packets(10), headroom: 0.2, ..config() });
    // The queue is within its headroom up to two packets: the third is the last to enter without a test.
    assert_eq!(offer(&mut bench, [1, 90, 91, 92]), [true, true, true, false]);
}

#[test]
fn bytes_are_counted_where_the_limit_is_in_bytes() {
    let mut bench = aifo(&AifoConfig { limit: QueueSize::Bytes(4000), ..config() });
    // The packets of the vector have 1000 B.
    assert_eq!(offer(&mut bench, [5, 9, 1, 7, 8, 2, 6]), [true, true, true, false, false, true, false]);
}

#[test]
fn the_gauge_is_the_quantile_that_is_admitted() {
    let mut bench = aifo(&config());
    let quantile = |bench: &Bench<Aifo<Labelled, ByLabel>>| {
        let mut shown = Vec::new();
        bench.discipline.gauges(&mut |name, value| shown.push((name, value)));
        shown
    };
    offer(&mut bench, [5]);
    assert_eq!(quantile(&bench), [("admitted_quantile", 1.0)]);
    offer(&mut bench, [1]);
    assert_eq!(quantile(&bench), [("admitted_quantile", 2.0 / 3.0)]);
}

#[test]
fn a_dropped_packet_does_not_count_in_its_flow() {
    let config = AifoConfig { limit: QueueSize::Packets(2), headroom: 1.0, ..AifoConfig::default() };
    let mut bench = Bench::new(Aifo::<Labelled>::new(&config, LINK, 0).unwrap());
    (0..5).for_each(|label| bench.enqueue(Labelled::new(label, 1, 1000, 0)));
    let mut shown = Vec::new();
    bench.discipline.flow_gauges(FlowKey(1), &mut |name, value| shown.push((name, value)));
    assert_eq!(shown, [("ahead_bytes", 2000.0)]);
    assert_eq!([0, 1].map(|_| bench.dequeue().unwrap().label), [0, 1]);
    shown.clear();
    bench.discipline.gauges(&mut |name, value| shown.push((name, value)));
    assert_eq!(shown[..2], [("active_flows", 1.0), ("virtual_time", 1000.0)]);
    assert_eq!(bench.dequeue(), None);
    shown.clear();
    bench.discipline.gauges(&mut |name, value| shown.push((name, value)));
    assert_eq!(shown, [("active_flows", 0.0), ("virtual_time", 2000.0), ("admitted_quantile", 1.0)]);
}

#[test]
fn parameters_have_bounds() {
    let field = |config: &AifoConfig| Aifo::<Labelled>::new(config, LINK, 0).err().map(|error| error.field);
    assert_eq!(field(&AifoConfig { limit: QueueSize::Packets(0), ..config() }), Some("limit"));
    assert_eq!(field(&AifoConfig { window: 0, ..config() }), Some("window"));
    assert_eq!(field(&AifoConfig { window: 65_537, ..config() }), Some("window"));
    assert_eq!(field(&AifoConfig { sample_every: 0, ..config() }), Some("sample_every"));
    assert_eq!(field(&AifoConfig { headroom: 1.1, ..config() }), Some("headroom"));
    assert_eq!(field(&AifoConfig { max_flows: 0, ..config() }), Some("max_flows"));
    assert_eq!(field(&AifoConfig { window: 65_536, headroom: 1.0, ..config() }), None);
}

proptest! {
    #[test]
    fn with_headroom_for_all_it_is_drop_tail(ranks in prop::collection::vec(0_u32..100, 0..30)) {
        let mut bench = aifo(&AifoConfig { limit: QueueSize::Packets(10), headroom: 1.0, ..config() });
        ranks.iter().for_each(|rank| bench.enqueue(ranked(*rank, 0)));
        prop_assert_eq!(bench.drain(), ranks.into_iter().take(10).collect::<Vec<u32>>());
    }
}
