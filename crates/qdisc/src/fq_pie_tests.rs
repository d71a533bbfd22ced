//! FQ-PIE: the order of service, PIE on each queue, the limits, statistics.

use alloc::boxed::Box;
use alloc::vec::Vec;

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use super::*;
use crate::new_old_lists::Activity;
use crate::test_support::{Bench, LINK, Labelled};
use crate::{Ecn, Fifo, Pie, Rng, Time};

fn bench(config: &FqPieConfig) -> Bench<FqPie<Labelled>> {
    Bench::new(FqPie::new(config, LINK, 5).unwrap())
}

fn gauge(bench: &Bench<FqPie<Labelled>>, name: &str) -> f64 {
    let mut found = f64::NAN;
    bench.discipline.gauges(&mut |gauge, value| {
        if gauge == name {
            found = value;
        }
    });
    found
}

fn queue_of(bench: &mut Bench<FqPie<Labelled>>, flow: u64) -> &mut FlowQueue {
    let index = bench.discipline.queue_of(FlowKey(flow)) as usize;
    &mut bench.discipline.queues[index]
}

/// Sets a flow's queue to signal with each packet, or with none.
fn congest(bench: &mut Bench<FqPie<Labelled>>, flow: u64, probability: f64) {
    let pie = &mut queue_of(bench, flow).pie;
    pie.state.probability = probability;
    pie.state.burst_allowance = Span::ZERO;
    pie.state.delay_before = Span::from_milliseconds(100);
    pie.delay = Span::from_milliseconds(100);
    // Certain, whatever the probability.
    pie.accumulated = 9.0;
}

fn packet(label: u32, flow: u64, ecn: Ecn) -> Labelled {
    let mut packet = Labelled::new(label, flow, 1514, 0);
    packet.arrival.ecn = ecn;
    packet
}

#[test]
fn new_queues_go_first_and_turns_are_by_a_quantum() {
    let mut bench = bench(&FqPieConfig { quantum: Bytes(90), ..FqPieConfig::default() });
    // As in FQ-CoDel's suite of ns-3, whose lists it has.
    bench.enqueue(Labelled::new(10, 1, 120, 0));
    assert_eq!(bench.dequeue().unwrap().label, 10);
    for (label, flow) in [(11, 1), (12, 1), (20, 2), (21, 2)] {
        bench.enqueue(Labelled::new(label, flow, 120, 0));
    }
    let order = bench.drain();
    assert_eq!(order, [20, 11, 21, 12]);
    assert_eq!(queue_of(&mut bench, 1).turn.activity, Activity::Inactive);
    // Flow 1 was still on the new list when its next packet came.
    assert_eq!([gauge(&bench, "new_flow_count"), gauge(&bench, "old_flows_len")], [2.0, 0.0]);
}

#[test]
fn an_empty_new_queue_goes_to_the_old_list_only_if_that_has_others() {
    for preset in [PiePreset::Linux, PiePreset::Rfc] {
        let mut bench = bench(&FqPieConfig { preset, quantum: Bytes(9000), ..FqPieConfig::default() });
        (1..9).for_each(|label| bench.enqueue(packet(label, 2, Ecn::NotCapable)));
        (0..7).for_each(|_| assert!(bench.dequeue().is_some()));
        assert_eq!(queue_of(&mut bench, 2).turn.activity, Activity::Old);
        bench.enqueue(packet(9, 1, Ecn::NotCapable));
        assert_eq!(bench.dequeue().unwrap().label, 9);
        assert_eq!(bench.dequeue().unwrap().label, 8);
        assert_eq!(queue_of(&mut bench, 1).turn.activity, Activity::Old);
    }
    // Alone: the RFC's goes through the old list, which shows when a packet comes meanwhile.
    let after_empty = |preset| {
        let mut lists = NewOldLists::new(1000);
        let law = PieLaw::new(&PieConfig::default()).unwrap();
        let mut queues = [FlowQueue { packets: Chain::EMPTY, turn: Turn::INACTIVE, pie: PieState::new(&law) }];
        lists.activate(0, &mut queues);
        lists.found_empty(0, &mut queues, preset == PiePreset::Rfc);
        queues[0].turn.activity
    };
    assert_eq!([PiePreset::Rfc, PiePreset::Linux].map(after_empty), [Activity::Old, Activity::Inactive]);
}

#[test]
fn each_queue_has_a_pie_of_its_own() {
    let mut bench = bench(&FqPieConfig::default());
    (0..4).for_each(|label| bench.enqueue(packet(label, 1 + u64::from(label % 2), Ecn::NotCapable)));
    for (flow, probability) in [(1, 0.5), (2, 0.0)] {
        bench.enqueue(packet(9, flow, Ecn::NotCapable));
        congest(&mut bench, flow, probability);
    }
    bench.enqueue(packet(10, 1, Ecn::NotCapable));
    queue_of(&mut bench, 2).pie.accumulated = 0.0;
    bench.enqueue(packet(11, 2, Ecn::NotCapable));
    assert_eq!(bench.dropped.0, [(packet(10, 1, Ecn::NotCapable), DropReason::Early, false)]);
}

#[test]
fn only_the_bytes_of_the_own_queue_count() {
    // Two full packets of its own, whatever the others have.
    let mut bench = bench(&FqPieConfig::default());
    (0..20).for_each(|label| bench.enqueue(packet(label, 2, Ecn::NotCapable)));
    for (label, dropped) in [(30, 0), (31, 0), (32, 1)] {
        congest(&mut bench, 1, 0.5);
        bench.enqueue(packet(label, 1, Ecn::NotCapable));
        assert_eq!(bench.dropped.0.len(), dropped, "{label}");
    }
}

#[test]
fn marks_up_to_the_threshold() {
    for (ecn, threshold, probability, codepoint, marked) in [
        (true, 0.1, 0.1, Ecn::Capable0, true),
        (true, 0.1, 0.100_001, Ecn::Capable0, false),
        (true, 0.3, 0.3, Ecn::CongestionExperienced, true),
        (true, 0.1, 0.1, Ecn::NotCapable, false),
        (false, 0.1, 0.1, Ecn::Capable0, false),
    ] {
        let mut bench = bench(&FqPieConfig { ecn, mark_threshold: threshold, ..FqPieConfig::default() });
        (0..2).for_each(|label| bench.enqueue(packet(label, 1, codepoint)));
        congest(&mut bench, 1, probability);
        bench.enqueue(packet(2, 1, codepoint));
        assert_eq!(bench.dropped.1.len(), usize::from(marked));
        assert_eq!(bench.dropped.0.len(), usize::from(!marked));
        assert_eq!(gauge(&bench, "ecn_mark"), f64::from(u8::from(marked)));
        let last = bench.drain().len();
        assert_eq!(last, if marked { 3 } else { 2 });
    }
}

#[test]
fn all_queues_share_the_limit_and_the_arrival_is_dropped() {
    let mut bench = bench(&FqPieConfig { limit: QueueSize::Packets(3), ..FqPieConfig::default() });
    (0..3).for_each(|label| bench.enqueue(packet(label, label.into(), Ecn::NotCapable)));
    queue_of(&mut bench, 7).pie.accumulated = 0.5;
    bench.enqueue(packet(3, 7, Ecn::NotCapable));
    assert_eq!(bench.dropped.0, [(packet(3, 7, Ecn::NotCapable), DropReason::Overflow, false)]);
    assert_eq!(queue_of(&mut bench, 7).pie.accumulated, 0.0);
    assert_eq!(["dropped", "overlimit", "packets_in"].map(|name| gauge(&bench, name)), [1.0, 1.0, 3.0]);
}

#[test]
fn packets_over_the_memory_limit_are_counted_and_kept() {
    let mut bench = bench(&FqPieConfig { memory_limit: Bytes(1000), ..FqPieConfig::default() });
    // More is queued than the limit and the arriving packet together.
    for (label, len_bytes, counted) in [(0, 1000, 0.0), (1, 500, 0.0), (2, 500, 0.0), (3, 999, 1.0), (4, 9999, 1.0)] {
        bench.enqueue(Labelled::new(label, label.into(), len_bytes, 0));
        assert_eq!(gauge(&bench, "overmemory"), counted, "{label}");
    }
    assert!(bench.dropped.0.is_empty());
    assert_eq!(gauge(&bench, "memory_used"), 12_998.0);
}

#[test]
fn gauges_of_a_flow() {
    let mut bench = bench(&FqPieConfig::default());
    (0..2).for_each(|label| bench.enqueue(packet(label, 1, Ecn::NotCapable)));
    bench.now = Time::ZERO + Span::from_milliseconds(3);
    bench.dequeue();
    let mut gauges = Vec::new();
    bench.discipline.flow_gauges(FlowKey(1), &mut |name, value| gauges.push((name, value)));
    let expected = [
        ("length_bytes", 1514.0),
        ("deficit_bytes", 0.0),
        ("p_drop", 0.0),
        ("queueing_delay_s", 0.003),
        ("burst_allowance_s", 0.15),
    ];
    assert_eq!(gauges, expected);
    assert_eq!(["new_flows_len", "memory_used"].map(|name| gauge(&bench, name)), [1.0, 1514.0]);
}

/// One queue is PIE, tick for tick and draw for draw, however long it is idle.
#[test]
fn one_queue_is_pie() {
    let mut signals = [0, 0];
    for case in 0..100_u64 {
        let shared = FqPieConfig {
            preset: if case % 2 == 0 { PiePreset::Linux } else { PiePreset::Rfc },
            limit: QueueSize::Packets(60),
            flows: 1,
            target: Span::from_milliseconds(1),
            update_interval: Span::from_milliseconds(2),
            max_burst: Span::from_milliseconds(5),
            alpha: 10.0,
            beta: 20.0,
            ecn: case % 4 < 2,
            mark_threshold: 0.5,
            ..FqPieConfig::default()
        };
        let pie = PieConfig { limit: shared.limit, ..shared.inner() };
        let mut one = bench(&shared);
        let mut other = Bench::new(Fifo::new(Box::new(Pie::new(&pie, LINK, 0).unwrap())));
        let mut random = Pcg64Mcg::seed_from_u64(case);
        let mut below = |bound: u64| random.next_u64() % bound;
        for label in 0..400 {
            let idle = if below(20) == 0 { 40 } else { 1 };
            one.now += Span::from_microseconds(idle * below(1500));
            other.now = one.now;
            if below(4) > 0 {
                assert_eq!(one.dequeue(), other.dequeue());
                continue;
            }
            // Bursts, so that delays build up.
            for copy in 0..5 {
                let mut packet = packet(5 * label + copy, 1, Ecn::Capable0);
                packet.arrival.len_bytes = 40 + below(1475) as u32;
                one.enqueue(packet);
                other.enqueue(packet);
            }
        }
        assert_eq!(one.drain(), other.drain());
        assert_eq!(one.dropped.0, other.dropped.0);
        assert_eq!(one.dropped.1, other.dropped.1);
        signals[0] += one.dropped.0.iter().filter(|(_, reason, _)| *reason == DropReason::Early).count();
        signals[1] += one.dropped.1.len();
    }
    assert!(signals[0] > 1000 && signals[1] > 200, "{signals:?}");
}

#[test]
fn bounds_are_checked() {
    for (config, field) in [
        (FqPieConfig { limit: QueueSize::Packets(0), ..FqPieConfig::default() }, "limit"),
        (FqPieConfig { memory_limit: Bytes(39), ..FqPieConfig::default() }, "memory_limit"),
        (FqPieConfig { flows: 0, ..FqPieConfig::default() }, "flows"),
        (FqPieConfig { flows: 65_537, ..FqPieConfig::default() }, "flows"),
        (FqPieConfig { quantum: Bytes(0), ..FqPieConfig::default() }, "quantum"),
        (FqPieConfig { quantum: Bytes(1_048_577), ..FqPieConfig::default() }, "quantum"),
        (FqPieConfig { target: Span::ZERO, ..FqPieConfig::default() }, "target"),
        (FqPieConfig { mark_threshold: 1.1, ..FqPieConfig::default() }, "mark_threshold"),
    ] {
        assert_eq!(FqPie::<Labelled>::new(&config, LINK, 0).map(|_| ()).unwrap_err().field, field);
    }
}
