//! Two ports that share state, by themselves. A packet takes a millisecond.

use super::*;
use crate::driver::one_node::{OneNode, at};
use crate::driver::routes::{Among, TableBuilder};
use crate::router::queue_port::tests::port;

/// Flow 0 leaves by the first port, the others by the second one.
fn bench() -> OneNode {
    let mut table = TableBuilder::default();
    let next_hops: [&[LinkId]; 4] = [&[0], &[1], &[1], &[1]];
    let way =
        table.add_by_destination(0..4, |_, destination| next_hops[destination as usize], |link| link, Among::First);
    let ports = vec![(0, port(0, 1)), (1, port(1, 2))];
    OneNode::new(Box::new(SharedPorts::new(ports, table.finish(), way)), [1, 2], 2)
}

#[test]
fn each_packet_leaves_by_the_port_of_its_destination() {
    let mut bench = bench();
    for (microseconds, flow) in [(0, 0), (10, 1), (20, 0), (30, 2)] {
        bench.arrive(microseconds, 0, flow);
    }
    assert_eq!(bench.run(5000), [(1, 1000, 0), (1, 2000, 0), (2, 1010, 1), (2, 2010, 2)]);
}

#[test]
fn the_node_is_due_with_the_first_of_its_ports() {
    let mut bench = bench();
    for (microseconds, flow) in [(0, 0), (10, 1), (20, 0), (30, 2)] {
        bench.arrive(microseconds, 0, flow);
    }
    bench.run(500);
    assert_eq!(bench.node.next(), at(1000));
    bench.run(1001);
    assert_eq!(bench.node.next(), at(1010), "the first port has sent all");
}

#[test]
fn a_busy_port_takes_its_waiting_packet_before_an_arrival_at_the_other_port() {
    let mut bench = bench();
    for (microseconds, flow) in [(0, 1), (500, 2), (1000, 3), (1000, 0)] {
        bench.arrive(microseconds, 0, flow);
    }
    assert_eq!(bench.run(10_000), [(1, 2000, 0), (2, 1000, 1), (2, 2000, 2), (2, 3000, 3)]);
    let result = bench.finish(&["one", "two"]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(result.links.counts("packets"), [1, 3]);
}
