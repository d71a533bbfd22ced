//! The search for a queue and for the places of its hosts, by hashes made for it.

use alloc::vec::Vec;

use super::*;

fn table(isolation: CakeIsolation) -> FlowTable {
    FlowTable::new(isolation)
}

/// A packet of this flow hash between these hosts comes; its queue becomes a sparse one if it was not in use.
fn arrive(table: &mut FlowTable, flow_hash: u32, hosts: [u32; 2]) -> usize {
    let index = table.classify(flow_hash, || hosts);
    if table.queues[index].set == Set::None {
        table.queues[index].set = Set::Sparse;
    }
    index
}

fn become_bulk(table: &mut FlowTable, index: usize) {
    table.queues[index].set = Set::Bulk;
    table.enter_bulk(index);
}

/// A hash whose own queue this is.
const fn hash(own: u32, number: u32) -> u32 {
    number * QUEUES as u32 + own
}

#[test]
fn a_flow_has_its_own_queue_or_another_of_its_set_or_shares_its_own() {
    let mut table = table(CakeIsolation::Flows);
    let mut come = |own, number| arrive(&mut table, hash(own, number), [0; 2]);
    // Queue 5 is the sixth of the set 0..8. Eight flows fill the set, from their own queue round.
    let queues: Vec<usize> = (1..=8).map(|number| come(5, number)).collect();
    assert_eq!(queues, [5, 6, 7, 0, 1, 2, 3, 4]);
    assert_eq!((1..=8).map(|number| come(5, number)).collect::<Vec<_>>(), queues);
    // Another set has its own queues.
    assert_eq!(come(8, 1), 8);
    assert_eq!(table.ways, WayCounts { directs: 1, hits: 7, misses: 9, collisions: 0 });
    // A ninth flow shares its own queue, and has it by its tag from then on; the first has lost its own.
    assert_eq!([9, 9].map(|number| arrive(&mut table, hash(5, number), [0; 2])), [5, 5]);
    assert_eq!(arrive(&mut table, hash(5, 1), [0; 2]), 5);
    assert_eq!(table.ways, WayCounts { directs: 2, hits: 7, misses: 9, collisions: 2 });
}

#[test]
fn a_queue_out_of_use_is_free_for_any_flow_and_its_last_one_comes_back_to_it() {
    let mut table = table(CakeIsolation::Flows);
    (1..=3).for_each(|number| assert_eq!(arrive(&mut table, hash(0, number), [0; 2]), number as usize - 1));
    table.queues[1].set = Set::None;
    // The flow that had it, which is no miss.
    assert_eq!(arrive(&mut table, hash(0, 2), [0; 2]), 1);
    table.queues[1].set = Set::None;
    // Another one takes the first that is free.
    assert_eq!(arrive(&mut table, hash(0, 9), [0; 2]), 1);
    assert_eq!(table.ways, WayCounts { directs: 0, hits: 1, misses: 4, collisions: 0 });
    // A tag of its own queue that is out of use counts as nothing.
    table.queues[0].set = Set::None;
    assert_eq!(arrive(&mut table, hash(0, 1), [0; 2]), 0);
    assert_eq!(table.ways, WayCounts { directs: 0, hits: 1, misses: 4, collisions: 0 });
    assert!(table.find(hash(0, 1)).is_some() && table.find(hash(0, 2)).is_none());
}

#[test]
fn bulk_flows_load_the_hosts_that_count() {
    use CakeIsolation::{DualDsthost, DualSrchost, Flows, TripleIsolate};
    for (isolation, expected) in
        [(Flows, [1, 1, 1]), (DualSrchost, [2, 2, 1]), (DualDsthost, [1, 2, 2]), (TripleIsolate, [2, 2, 2])]
    {
        let mut table = table(isolation);
        // From host 1 to 11, from 1 to 12, from 2 to 12.
        let queues = [(1, 11), (1, 12), (2, 12)]
            .map(|(source, destination)| arrive(&mut table, hash(source + 8 * destination, 7), [source, destination]));
        assert_eq!(queues.map(|index| table.host_load(index)), [1; 3]);
        queues.into_iter().for_each(|index| become_bulk(&mut table, index));
        assert_eq!(queues.map(|index| table.host_load(index)), expected, "{isolation:?}");
        queues.into_iter().for_each(|index| table.leave_bulk(index));
        assert_eq!(queues.map(|index| table.host_load(index)), [1; 3]);
    }
}

#[test]
fn a_sender_is_no_receiver() {
    let mut table = table(CakeIsolation::TripleIsolate);
    let (there, back) = (arrive(&mut table, hash(1, 1), [5, 6]), arrive(&mut table, hash(9, 1), [6, 5]));
    become_bulk(&mut table, there);
    become_bulk(&mut table, back);
    assert_eq!([there, back].map(|index| table.host_load(index)), [1, 1]);
}

#[test]
fn a_collision_takes_the_queue_over_to_the_hosts_of_the_packet() {
    let mut table = table(CakeIsolation::DualSrchost);
    let queues: Vec<usize> = (1..=8).map(|number| arrive(&mut table, hash(0, number), [1, 0])).collect();
    queues.iter().for_each(|&index| become_bulk(&mut table, index));
    assert_eq!(table.host_load(queues[0]), 8);
    // The queue of the first flow is bulk still, for host 2 now.
    assert_eq!(arrive(&mut table, hash(0, 9), [2, 0]), 0);
    assert_eq!((table.host_load(0), table.host_load(1)), (1, 7));
    // A sparse queue carries no load over.
    table.leave_bulk(0);
    table.queues[0].set = Set::Sparse;
    assert_eq!(arrive(&mut table, hash(0, 10), [1, 0]), 0);
    assert_eq!(table.host_load(1), 7);
    // Counts do not wrap below nothing.
    table.leave_bulk(0);
    (0..20).for_each(|_| table.leave_bulk(1));
    become_bulk(&mut table, 1);
    assert_eq!(table.host_load(1), 1);
}

#[test]
fn a_queue_that_was_out_of_use_refers_to_the_hosts_of_its_next_packet() {
    let mut table = table(CakeIsolation::DualDsthost);
    let index = arrive(&mut table, hash(3, 1), [0, 21]);
    let other = arrive(&mut table, hash(4, 1), [0, 22]);
    become_bulk(&mut table, other);
    become_bulk(&mut table, other);
    table.queues[index].set = Set::None;
    assert_eq!(arrive(&mut table, hash(3, 1), [0, 22]), index);
    assert_eq!(table.host_load(index), 2);
    // While it is in use, the hosts of its first packet stay.
    assert_eq!(arrive(&mut table, hash(3, 1), [0, 21]), index);
    assert_eq!(table.host_load(index), 2);
}

#[test]
fn hosts_beyond_the_ways_of_a_set_share_the_place_of_their_hash() {
    let mut table = table(CakeIsolation::DualSrchost);
    // Nine hosts of one set, each with a bulk flow in a set of its own.
    let queues: Vec<usize> = (0..9)
        .map(|number| {
            let index = arrive(&mut table, hash(8 * number, 1), [hash(2, number + 1), 0]);
            become_bulk(&mut table, index);
            index
        })
        .collect();
    let loads: Vec<u16> = queues.iter().map(|&index| table.host_load(index)).collect();
    assert_eq!(loads, [2, 1, 1, 1, 1, 1, 1, 1, 2]);
    // A place without bulk flows is free for another host.
    table.leave_bulk(queues[3]);
    let index = arrive(&mut table, hash(100, 1), [hash(2, 20), 0]);
    become_bulk(&mut table, index);
    assert_eq!(table.host_load(index), 1);
}
