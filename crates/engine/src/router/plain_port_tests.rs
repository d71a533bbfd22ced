//! A link without a queue by itself.

use super::*;
use crate::driver::one_node::{OneNode, at, link};

#[test]
fn packets_go_one_after_the_other_and_the_port_says_until_when() {
    let mut bench = OneNode::new(Box::new(PlainPort::new(link(0, 1))), [1, 2], 1);
    for (microseconds, flow) in [(0, 0), (300, 1), (5000, 2)] {
        bench.arrive(microseconds, 0, flow);
    }
    let (busy_until, due) = bench.node.run(at(600), 0, &mut bench.channels);
    assert_eq!((busy_until, due), (at(2000), Time::NEVER));
    assert_eq!(bench.run(10_000), [(1, 1000, 0), (1, 2000, 1), (1, 6000, 2)]);
    let result = bench.finish(&["link"]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(result.links.counts("packets"), [3]);
}

#[test]
fn simultaneous_arrivals_come_in_the_order_of_their_salts() {
    let first = |salts, inputs: [u32; 2]| {
        let mut bench = OneNode::new(Box::new(PlainPort::new(link(0, 1))), salts, 1);
        inputs.into_iter().for_each(|input| bench.arrive(100, input, input));
        bench.run(3000)[0].2
    };
    let winner = first([1, 2], [0, 1]);
    assert_eq!(first([1, 2], [1, 0]), winner, "the order of sending decides nothing");
    assert_eq!(first([2, 1], [0, 1]), 1 - winner, "nor do the numbers of the inputs");
}
