//! FQ-CoDel: the order of service, who pays for a full buffer, CoDel on each queue.

use alloc::vec::Vec;

use super::*;
use crate::Ecn;
use crate::new_old_lists::Activity;
use crate::test_support::{Bench, LINK, Labelled};

fn bench(config: &FqCodelConfig) -> Bench<FqCodel<Labelled>> {
    Bench::new(FqCodel::new(config, LINK, 5).unwrap())
}

fn at(milliseconds: u64) -> Time {
    Time::ZERO + Span::from_milliseconds(milliseconds)
}

/// The deficit of a flow's queue, and on which list it is.
fn queue_of(bench: &Bench<FqCodel<Labelled>>, flow: u64) -> (i64, Activity) {
    let queue = &bench.discipline.queues[bench.discipline.queue_of(FlowKey(flow)) as usize];
    (queue.turn.deficit, queue.turn.activity)
}

#[test]
fn the_order_is_that_of_ns3s_suite() {
    use Activity::{Inactive, New, Old};
    let mut bench = bench(&FqCodelConfig { quantum: Bytes(90), ..FqCodelConfig::default() });
    bench.enqueue(Labelled::new(10, 1, 120, 0));
    assert_eq!(bench.dequeue().unwrap().label, 10);
    assert_eq!(queue_of(&bench, 1), (-30, New));
    for (label, flow) in [(11, 1), (12, 1), (20, 2), (21, 2)] {
        bench.enqueue(Labelled::new(label, flow, 120, 0));
    }
    let course = [
        (Some(20), (60, Old), (-30, New)),
        (Some(11), (-60, Old), (60, Old)),
        (Some(21), (30, Old), (-60, Old)),
        (Some(12), (-90, Old), (30, Old)),
        (None, (90, Inactive), (30, Inactive)),
    ];
    for (label, first, second) in course {
        assert_eq!(bench.dequeue().map(|packet| packet.label), label);
        // A flow that has just sent its last packet is found empty at its next turn only.
        assert_eq!((queue_of(&bench, 1), queue_of(&bench, 2)), (first, second), "after {label:?}");
    }
}

#[test]
fn a_sparse_flow_goes_first() {
    let mut bench = bench(&FqCodelConfig::default());
    let flows: Vec<u64> = (0..9).collect();
    for label in 0..180 {
        bench.enqueue(Labelled::new(label, flows[label as usize % 8], 1500, 0));
    }
    for _ in 0..16 {
        bench.dequeue();
    }
    // Every eighth packet is followed by one of a flow that never has more than one waiting.
    for round in 0..10 {
        bench.enqueue(Labelled::new(1000 + round, flows[8], 200, 0));
        assert_eq!(bench.dequeue().unwrap().label, 1000 + round);
        for _ in 0..8 {
            assert!(bench.dequeue().unwrap().label < 1000);
        }
    }
}

#[test]
fn a_new_flow_that_ran_empty_waits_for_the_old_ones() {
    // RFC 8290, section 4.2: else a flow that always sends its next packet just after the last one has left would be
    // new for each, and starve the old ones.
    let mut bench = bench(&FqCodelConfig { quantum: Bytes(3000), ..FqCodelConfig::default() });
    let packet = |label| Labelled::new(label, if label < 100 { 1 } else { 2 }, 1000, 0);
    (0..12).for_each(|label| bench.enqueue(packet(label)));
    let mut order = Vec::new();
    let mut dequeue = |bench: &mut Bench<FqCodel<Labelled>>, packets: usize| {
        order.extend((0..packets).map(|_| bench.dequeue().unwrap().label));
    };
    dequeue(&mut bench, 3);
    bench.enqueue(packet(100));
    dequeue(&mut bench, 2);
    assert_eq!(queue_of(&bench, 2), (2000, Activity::Old), "found empty");
    bench.enqueue(packet(101));
    // It was found empty again, on the old list this time: the next packet makes it new.
    dequeue(&mut bench, 4);
    assert_eq!(queue_of(&bench, 2).1, Activity::Inactive);
    bench.enqueue(packet(102));
    dequeue(&mut bench, 2);
    assert_eq!(order, [0, 1, 2, 100, 3, 4, 5, 101, 6, 102, 7]);
}

#[test]
fn bytes_are_shared_whatever_the_packets_lengths() {
    let mut bench = bench(&FqCodelConfig::default());
    for label in 0..3000 {
        let (flow, len_bytes) = if label % 6 == 0 { (1, 1500) } else { (2, 300) };
        bench.enqueue(Labelled::new(label, flow, len_bytes, 0));
    }
    let mut sent = [0_i64; 3];
    for _ in 0..1200 {
        let packet = bench.dequeue().unwrap();
        sent[packet.arrival.flow.0 as usize] += i64::from(packet.arrival.len_bytes);
    }
    assert!((sent[1] - sent[2]).abs() <= 1514 + 1500, "{sent:?}");
}

#[test]
fn the_longest_queue_pays_for_a_full_buffer() {
    // Packets of the long flow, and how many of them go: half of the bytes, or a batch.
    for (long, drop_batch, dropped) in [(60, 64, 30), (60, 10, 10), (190, 64, 64)] {
        let limit = QueueSize::Packets(u64::from(long) + 2);
        let mut bench = bench(&FqCodelConfig { limit, drop_batch, ..FqCodelConfig::default() });
        for label in 0..long {
            bench.enqueue(Labelled::new(label, 1, 1000, 0));
        }
        for label in 0..3 {
            bench.enqueue(Labelled::new(1000 + label, 2, 1500, 0));
        }
        let victims: Vec<u32> = bench.dropped.0.iter().map(|(packet, ..)| packet.label).collect();
        assert_eq!(victims, (0..dropped).collect::<Vec<_>>());
        assert!(bench.dropped.0.iter().all(|(_, reason, queued)| *reason == DropReason::Evicted && *queued));
        assert_eq!(bench.discipline.backlog().packets, u64::from(long - dropped + 3));
    }
}

#[test]
fn the_longest_is_so_by_bytes() {
    let mut bench = bench(&FqCodelConfig { memory_limit: Bytes(10_000), ..FqCodelConfig::default() });
    for label in 0..50 {
        bench.enqueue(Labelled::new(label, 1, 100, 0));
    }
    for label in 0..4 {
        bench.enqueue(Labelled::new(1000 + label, 2, 1300, 0));
    }
    let victims: Vec<u32> = bench.dropped.0.iter().map(|(packet, ..)| packet.label).collect();
    assert_eq!(victims, [1000, 1001]);
}

#[test]
fn the_buffer_holds_as_many_bytes_as_the_memory_limit() {
    // Linux, fq_codel_enqueue(): dropped is what would be more than `memory_limit`.
    let mut bench = bench(&FqCodelConfig { memory_limit: Bytes(10_000), drop_batch: 1, ..FqCodelConfig::default() });
    for label in 0..10 {
        bench.enqueue(Labelled::new(label, 1, 1000, 0));
    }
    assert_eq!((bench.discipline.backlog().bytes, bench.dropped.0.len()), (10_000, 0));
    bench.enqueue(Labelled::new(10, 2, 40, 0));
    assert_eq!((bench.discipline.backlog().bytes, bench.dropped.0.len()), (9_040, 1));
    // A packet longer than the limit pushes no other out. One as long as the limit fits into an empty queue.
    bench.enqueue(Labelled::new(11, 1, 10_001, 0));
    assert_eq!((bench.discipline.backlog().bytes, bench.dropped.0.len()), (9_040, 2));
    let mut alone = self::bench(&FqCodelConfig { memory_limit: Bytes(10_000), ..FqCodelConfig::default() });
    alone.enqueue(Labelled::new(0, 1, 10_000, 0));
    assert_eq!((alone.discipline.backlog().bytes, alone.dropped.0.len()), (10_000, 0));
}

#[test]
fn an_arrival_may_be_its_own_victim() {
    let mut bench = bench(&FqCodelConfig { limit: QueueSize::Bytes(3000), flows: 1, ..FqCodelConfig::default() });
    bench.enqueue(Labelled::new(1, 1, 100, 0));
    bench.enqueue(Labelled::new(2, 2, 3000, 0));
    bench.enqueue(Labelled::new(3, 2, 3001, 0));
    let fates: Vec<(u32, DropReason, bool)> =
        bench.dropped.0.iter().map(|(packet, reason, queued)| (packet.label, *reason, *queued)).collect();
    let overflow = |label| (label, DropReason::Overflow, false);
    assert_eq!(fates, [(1, DropReason::Evicted, true), overflow(2), overflow(3)]);
    assert_eq!(bench.dequeue(), None);
}

#[test]
fn codel_runs_on_each_queue_by_itself() {
    let mut bench = bench(&FqCodelConfig { ecn: false, ..FqCodelConfig::default() });
    for label in 0..60 {
        bench.enqueue(Labelled::new(label, 1, 1000, 0));
    }
    let mut served = 0;
    for step in 1..=40_u32 {
        bench.now = at(10 * u64::from(step));
        bench.enqueue(Labelled::new(1000 + step, 2, 1000, 0));
        for _ in 0..2 {
            served += u32::from(bench.dequeue().is_some_and(|packet| packet.arrival.flow == FlowKey(2)));
        }
    }
    assert_eq!(served, 40);
    // The long queue is above the target from 10 ms on: drops at 110, 210, 280.7 and 338.5 ms, and at 388.5 ms.
    assert_eq!(bench.dropped.0.len(), 5);
    assert!(bench.dropped.0.iter().all(|(packet, reason, _)| packet.label < 1000 && *reason == DropReason::Early));
}

#[test]
fn codel_remembers_a_flow_whose_queue_ran_empty() {
    let mut bench = bench(&FqCodelConfig { ecn: false, ..FqCodelConfig::default() });
    for label in 0..30 {
        bench.enqueue(Labelled::new(label, 1, 1000, 0));
    }
    for time in [10, 210, 500] {
        bench.now = at(time);
        bench.dequeue();
    }
    while bench.dequeue().is_some() {}
    assert_eq!(gauge(&bench, 1, "count"), 5.0);
}

#[test]
fn marks_by_default() {
    let mut bench = bench(&FqCodelConfig::default());
    for label in 0..30 {
        let mut packet = Labelled::new(label, 1, 1000, 0);
        packet.arrival.ecn = Ecn::Capable0;
        bench.enqueue(packet);
    }
    bench.now = at(10);
    bench.dequeue();
    bench.now = at(210);
    assert_eq!(bench.dequeue().unwrap().arrival.ecn, Ecn::CongestionExperienced);
    assert!(bench.dropped.0.is_empty());
}

fn linux() -> FqCodelConfig {
    FqCodelConfig { preset: FqCodelPreset::Linux, ecn: false, ..FqCodelConfig::default() }
}

/// Value of a gauge of a flow.
fn gauge(bench: &Bench<FqCodel<Labelled>>, flow: u64, wanted: &str) -> f64 {
    let mut found = f64::NAN;
    bench.discipline.flow_gauges(FlowKey(flow), &mut |name, value| {
        if name == wanted {
            found = value;
        }
    });
    found
}

#[test]
fn linux_computes_the_root_by_newtons_method_unless_told_otherwise() {
    let root = |config: FqCodelConfig| config.codel().square_root;
    assert_eq!((root(FqCodelConfig::default()), root(linux())), (SquareRoot::Exact, SquareRoot::Newton16));
    assert_eq!(root(FqCodelConfig { square_root: Some(SquareRoot::Exact), ..linux() }), SquareRoot::Exact);
}

#[test]
fn linux_drops_the_last_packet_of_a_queue_while_others_wait() {
    for (config, drops) in [(FqCodelConfig { ecn: false, ..FqCodelConfig::default() }, false), (linux(), true)] {
        let mut bench = bench(&FqCodelConfig { interval: Span::from_milliseconds(10), ..config });
        for label in 0..200 {
            bench.enqueue(Labelled::new(label, 2, 1000, 0));
        }
        // Flow 1 has two packets, both late, whenever it is served: one is left, less than the largest packet.
        bench.enqueue(Labelled::new(1000, 1, 1000, 0));
        for round in 1..4_u32 {
            bench.enqueue(Labelled::new(1000 + round, 1, 1000, 0));
            bench.now += Span::from_milliseconds(10);
            while bench.dequeue().is_some_and(|packet| packet.arrival.flow == FlowKey(2)) {}
        }
        assert_eq!(bench.dropped.0.iter().any(|(packet, ..)| packet.arrival.flow == FlowKey(1)), drops);
    }
}

#[test]
fn in_linux_a_new_queue_that_ran_empty_with_no_others_is_new_again() {
    for (config, activity) in [(FqCodelConfig::default(), Activity::Old), (linux(), Activity::Inactive)] {
        let mut bench = bench(&config);
        bench.enqueue(Labelled::new(0, 1, 100, 0));
        // Two calls: the second finds the queue empty, and forgets it after a pass through the old list.
        bench.dequeue();
        let index = bench.discipline.queue_of(FlowKey(1));
        assert_eq!(bench.discipline.queues[index as usize].turn.activity, Activity::New);
        bench.enqueue(Labelled::new(1, 2, 100, 0));
        bench.dequeue();
        assert_eq!(queue_of(&bench, 1).1, activity);
    }
}

#[test]
fn in_linux_evicted_packets_count_as_drops_of_their_queue() {
    for (config, count) in [(FqCodelConfig::default(), 0.0), (linux(), 30.0)] {
        let mut bench = bench(&FqCodelConfig { limit: QueueSize::Packets(59), ..config });
        for label in 0..60 {
            bench.enqueue(Labelled::new(label, 1, 1000, 0));
        }
        assert_eq!((bench.dropped.0.len(), gauge(&bench, 1, "count")), (30, count));
    }
}

#[test]
fn state_does_not_grow_with_the_flows() {
    let mut bench = bench(&FqCodelConfig { limit: QueueSize::Packets(100), ..FqCodelConfig::default() });
    for label in 0..3000 {
        bench.enqueue(Labelled::new(label, u64::from(label), 1000, 0));
    }
    let before = bench.discipline.state_bytes();
    for label in 0..100_000 {
        bench.enqueue(Labelled::new(label, u64::from(label) << 20, 1000, 0));
    }
    assert!(bench.discipline.state_bytes() <= 2 * before);
    assert!(before < 1024 * 160);
}

#[test]
fn each_parameter_is_checked() {
    let defaults = FqCodelConfig::default;
    let cases = [
        (FqCodelConfig { limit: QueueSize::Packets(0), ..defaults() }, "limit"),
        (FqCodelConfig { memory_limit: Bytes(39), ..defaults() }, "memory_limit"),
        (FqCodelConfig { flows: 0, ..defaults() }, "flows"),
        (FqCodelConfig { flows: 65_537, ..defaults() }, "flows"),
        (FqCodelConfig { quantum: Bytes(0), ..defaults() }, "quantum"),
        (FqCodelConfig { drop_batch: 0, ..defaults() }, "drop_batch"),
        (FqCodelConfig { target: Span::ZERO, ..defaults() }, "target"),
        (FqCodelConfig { interval: Span::from_milliseconds(4), ..defaults() }, "interval"),
        (FqCodelConfig { max_packet_size: Bytes(0), ..defaults() }, "max_packet_size"),
    ];
    for (config, field) in cases {
        assert_eq!(FqCodel::<Labelled>::new(&config, LINK, 0).unwrap_err().field, field);
    }
}
