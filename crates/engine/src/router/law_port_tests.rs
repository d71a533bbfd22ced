//! A law in front of a FIFO by itself. A packet takes a millisecond.

use forebay_qdisc::{DropTail, DropTailConfig, Rate};

use super::*;
use crate::driver::one_node::{OneNode, link, no_checkpoints, record};

/// Holds this many packets in addition to the one that is sent.
fn bench(limit: &str) -> OneNode {
    let config = DropTailConfig { limit: limit.parse().expect("a limit") };
    let law = DropTail::new(&config, Rate::megabits(8), 0).expect("a law");
    OneNode::new(Box::new(LawPort::new(link(0, 1), no_checkpoints(), record(), Box::new(law))), [1, 2], 1)
}

#[test]
fn the_first_arrival_starts_at_once_and_the_others_follow() {
    let mut bench = bench("10 packets");
    for (microseconds, flow) in [(100, 0), (200, 1), (200, 1), (4000, 2)] {
        bench.arrive(microseconds, 0, flow);
    }
    assert_eq!(bench.run(6000), [(1, 1100, 0), (1, 2100, 1), (1, 3100, 1), (1, 5000, 2)]);
}

#[test]
fn a_busy_port_takes_its_waiting_packet_before_an_arrival_of_that_time() {
    let mut bench = bench("1 packet");
    // One is sent and one waits until 1000 us. The third one then takes its place, the fourth finds none.
    for (microseconds, flow) in [(0, 0), (10, 1), (1000, 2), (1000, 3)] {
        bench.arrive(microseconds, 0, flow);
    }
    assert_eq!(bench.run(5000), [(1, 1000, 0), (1, 2000, 1), (1, 3000, 2)]);
    let result = bench.finish(&["link"]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(result.queues.counts("packets_dropped"), [1]);
    assert_eq!(result.queue_flows.counts("packets_dropped"), [0, 0, 0, 1]);
}

#[test]
fn packets_that_wait_at_the_end_are_on_their_way() {
    let mut bench = bench("10 packets");
    // The end of the run is at 1 s.
    for (microseconds, flow) in [(999_500, 0), (999_600, 1)] {
        bench.arrive(microseconds, 0, flow);
    }
    assert_eq!(bench.run(1_000_000), []);
    let result = bench.finish(&["link"]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(result.queues.counts("packets_dropped"), [0]);
    assert_eq!(result.links.counts("packets"), [0]);
}
