//! Tests of AFQ: rounds, the horizon, the limits, and the shares of backlogged flows.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::test_support::{Bench, LINK, Labelled};

fn config() -> AfqConfig {
    AfqConfig { queues: 4, bytes_per_round: Bytes(1000), ..AfqConfig::default() }
}

fn bench(config: &AfqConfig) -> Bench<Afq<Labelled>> {
    Bench::new(Afq::new(config, LINK, 0).unwrap())
}

fn lengths(bench: &Bench<Afq<Labelled>>) -> Vec<usize> {
    bench.discipline.queues.iter().map(VecDeque::len).collect()
}

fn gauges(bench: &Bench<Afq<Labelled>>, flow: u64) -> Vec<(&'static str, f64)> {
    let mut shown = Vec::new();
    bench.discipline.gauges(&mut |name, value| shown.push((name, value)));
    bench.discipline.flow_gauges(FlowKey(flow), &mut |name, value| shown.push((name, value)));
    shown
}

#[test]
fn a_packet_is_in_the_round_in_which_it_ends() {
    let mut bench = bench(&config());
    for (label, flow, len_bytes) in [(1, 1, 999), (2, 2, 1000), (3, 1, 1001), (4, 3, 1)] {
        bench.enqueue(Labelled::new(label, flow, len_bytes, 0));
    }
    // Bids 999, 1000, 2000 and 1.
    assert_eq!(lengths(&bench), [2, 1, 1, 0]);
    assert_eq!(bench.drain(), [1, 4, 2, 3]);
}

#[test]
fn a_packet_as_many_rounds_ahead_as_there_are_queues_is_dropped() {
    let mut bench = bench(&config());
    bench.enqueue(Labelled::new(1, 1, 3999, 0));
    bench.enqueue(Labelled::new(2, 1, 1, 0));
    bench.enqueue(Labelled::new(3, 2, 4000, 0));
    let drops: Vec<(u32, DropReason, bool)> =
        bench.dropped.0.iter().map(|(packet, reason, queued)| (packet.label, *reason, *queued)).collect();
    assert_eq!(drops, [(2, DropReason::FlowLimit, false), (3, DropReason::FlowLimit, false)]);
    // Dropped packets do not count: flow 2 is not ahead.
    assert_eq!(gauges(&bench, 2), [("active_flows", 1.0), ("round", 0.0), ("ahead_bytes", 0.0)]);
    assert_eq!(gauges(&bench, 1)[2], ("ahead_bytes", 3999.0));
}

#[test]
fn the_round_advances_over_empty_queues_and_stays_when_all_are_empty() {
    let mut bench = bench(&config());
    bench.enqueue(Labelled::new(1, 1, 2500, 0));
    assert_eq!(bench.drain(), [1]);
    assert_eq!(gauges(&bench, 1), [("active_flows", 1.0), ("round", 2.0), ("ahead_bytes", 500.0)]);
    // A flow that comes now starts at the begin of the round, flow 1 where it ended.
    bench.enqueue(Labelled::new(2, 1, 600, 0));
    bench.enqueue(Labelled::new(3, 2, 999, 0));
    assert_eq!(lengths(&bench), [0, 0, 1, 1]);
    assert_eq!(bench.drain(), [3, 2]);
    // The queues rotate: round 4 has the first.
    bench.enqueue(Labelled::new(4, 1, 1500, 0));
    assert_eq!(lengths(&bench), [1, 0, 0, 0]);
    bench.enqueue(Labelled::new(5, 2, 999, 0));
    assert_eq!(bench.drain(), [5, 4]);
    // Bids below the round are forgotten.
    assert_eq!(gauges(&bench, 2), [("active_flows", 1.0), ("round", 4.0), ("ahead_bytes", 0.0)]);
}

#[test]
fn packets_of_the_round_in_service_join_its_queue() {
    let mut bench = bench(&config());
    bench.enqueue(Labelled::new(1, 1, 100, 0));
    bench.enqueue(Labelled::new(2, 1, 1000, 0));
    assert_eq!(bench.dequeue().map(|packet| packet.label), Some(1));
    bench.enqueue(Labelled::new(3, 2, 100, 0));
    assert_eq!(bench.drain(), [3, 2]);
}

#[test]
fn a_full_queue_and_a_full_buffer_drop() {
    let mut one = bench(&AfqConfig { queue_limit: 2, ..config() });
    (0..3).for_each(|flow| one.enqueue(Labelled::new(flow as u32, flow, 100, 0)));
    assert_eq!(one.dropped.0[0], (Labelled::new(2, 2, 100, 0), DropReason::Overflow, false));
    assert_eq!(gauges(&one, 2)[2], ("ahead_bytes", 0.0));
    let mut all = bench(&AfqConfig { limit: QueueSize::Packets(2), ..config() });
    for (label, len_bytes) in [(0, 100), (1, 1100), (2, 2100)] {
        all.enqueue(Labelled::new(label, u64::from(label), len_bytes, 0));
    }
    assert_eq!(all.dropped.0[0], (Labelled::new(2, 2, 2100, 0), DropReason::Overflow, false));
    assert_eq!(all.drain(), [0, 1]);
}

#[test]
fn parameters_have_bounds() {
    let field = |config: &AfqConfig| Afq::<Labelled>::new(config, LINK, 0).err().map(|error| error.field);
    let bytes = |queues, bytes| AfqConfig { queues, bytes_per_round: Bytes(bytes), ..config() };
    assert_eq!(field(&AfqConfig { limit: QueueSize::Packets(0), ..config() }), Some("limit"));
    assert_eq!(field(&bytes(0, 3000)), Some("queues"));
    assert_eq!(field(&bytes(65_537, 3000)), Some("queues"));
    assert_eq!(field(&bytes(32, 0)), Some("bytes_per_round"));
    assert_eq!(field(&bytes(2, 1 << 31)), Some("bytes_per_round"));
    assert_eq!(field(&bytes(2, 750)), Some("bytes_per_round"));
    assert_eq!(field(&bytes(2, 751)), None);
    assert_eq!(field(&bytes(65_536, (1 << 31) - 1)), None);
    assert_eq!(field(&AfqConfig { queue_limit: 0, ..config() }), Some("queue_limit"));
    assert_eq!(field(&AfqConfig { max_flows: 0, ..config() }), Some("max_flows"));
}

proptest! {
    /// While both have packets, the service of two flows differs by no more than a round and a packet.
    #[test]
    fn backlogged_flows_get_equal_service(lengths in prop::collection::vec((40_u32..1500, 40_u32..1500), 1..60)) {
        let config = AfqConfig { queues: 100, bytes_per_round: Bytes(1000), ..AfqConfig::default() };
        prop_assert!(bench(&config).largest_difference(&lengths) <= 2500);
    }
}
