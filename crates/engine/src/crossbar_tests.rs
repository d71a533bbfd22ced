//! A fabric of two inputs and two outputs by itself, with a phase each millisecond.

use forebay_records::random::stream;
use forebay_switching::{InputFifos, IslipConfig, SchedulerConfig, VirtualOutputQueues};

use super::*;
use crate::driver::one_node::{OneNode, no_checkpoints, record};
use crate::driver::routes::{Among, TableBuilder};

const PORTS: usize = 2;

fn voqs() -> Inputs {
    let scheduler = SchedulerConfig::Islip(IslipConfig::default()).build(PORTS).expect("a scheduler");
    Inputs::VirtualOutputQueues(VirtualOutputQueues::new(PORTS, Some(2)), scheduler)
}

/// Even flows go to output 0, whose queue is node 1, odd ones to output 1, whose queue is node 2.
fn bench(inputs: Inputs) -> OneNode {
    let mut table = TableBuilder::default();
    let next_hops: [&[u32]; 4] = [&[0], &[1], &[0], &[1]];
    let to_output =
        table.add_by_destination(0..4, |_, destination| next_hops[destination as usize], |output| output, Among::First);
    let speedup = "1".parse().expect("a speedup");
    let crossbar = Crossbar::new(CrossbarParts {
        name: "switch".into(),
        spec: CrossbarSpec { ports: PORTS, inputs, slot: Span::from_milliseconds(1), speedup },
        record: vec![record(), record()],
        table: NodeTable::new(table.finish(), to_output),
        ways: vec![Way::to(1), Way::to(2)],
        rng: stream(1, "switch"),
        checkpoints: no_checkpoints(),
        recorder: None,
    });
    OneNode::new(Box::new(crossbar), [1, 2], 2)
}

#[test]
fn packets_cross_at_phases_to_the_queue_of_their_output() {
    let mut bench = bench(voqs());
    // Both inputs send to both outputs: two phases. A packet at the very time of a phase is too late for it.
    for (microseconds, input, flow) in [(100, 0, 0), (200, 1, 1), (300, 0, 3), (400, 1, 2), (2000, 0, 0)] {
        bench.arrive(microseconds, input, flow);
    }
    let mut crossed = bench.run(10_000);
    crossed.sort_unstable();
    let per_output = |output: u32| -> Vec<u64> {
        crossed.iter().filter(|(to, ..)| *to == output).map(|(_, microseconds, _)| *microseconds).collect()
    };
    assert_eq!(per_output(1), [1000, 2000, 3000]);
    assert_eq!(per_output(2), [1000, 2000]);
    assert!(crossed.iter().all(|(to, _, flow)| flow % 2 == to - 1), "{crossed:?}");
    assert_eq!(bench.node.next(), Time::NEVER, "an empty fabric is due no more");
}

#[test]
fn an_input_sends_one_packet_in_a_phase_and_an_output_receives_one() {
    for (input_of_second, flow_of_second) in [(0, 1), (1, 2)] {
        let mut bench = bench(voqs());
        bench.arrive(100, 0, 0);
        bench.arrive(100, input_of_second, flow_of_second);
        let mut times: Vec<u64> = bench.run(10_000).into_iter().map(|(_, microseconds, _)| microseconds).collect();
        times.sort_unstable();
        assert_eq!(times, [1000, 2000]);
    }
}

#[test]
fn the_first_packet_of_a_fifo_blocks_those_behind_it() {
    let mut bench = bench(Inputs::Fifos(InputFifos::new(PORTS, None)));
    // Two heads want output 0. Flow 1 waits behind one of them, though its output is free.
    for (microseconds, input, flow) in [(100, 0, 0), (110, 1, 2), (120, 0, 1), (130, 1, 3)] {
        bench.arrive(microseconds, input, flow);
    }
    let crossed = bench.run(10_000);
    assert_eq!(crossed.iter().filter(|(_, microseconds, _)| *microseconds == 1000).count(), 1, "{crossed:?}");
    assert_eq!(crossed.len(), 4);
}

#[test]
fn a_packet_that_finds_its_queue_full_is_dropped_and_all_are_accounted_for() {
    let mut bench = bench(voqs());
    for (microseconds, input, flow) in [(100, 0, 0), (110, 0, 2), (120, 0, 0), (130, 0, 1), (999_500, 1, 3)] {
        bench.arrive(microseconds, input, flow);
    }
    assert_eq!(bench.run(1_000_000).len(), 3);
    let result = bench.finish(&[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(result.queues.counts("packets_dropped"), [1, 0]);
    assert_eq!(result.queues.counts("packets_arrived"), [4, 1]);
}
