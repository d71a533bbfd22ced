//! The parameters of a tin by its rate, what a queue is granted, and the states of queues.

use super::*;
use crate::test_support::rng;

const RTT: Span = Span::from_milliseconds(100);

fn tin(bits_per_second: u64) -> Tin {
    let mut tin = Tin::new(Share { bytes_per_second: bits_per_second / 8, quantum: 1024 }, RTT);
    tin.open(CakeIsolation::TripleIsolate);
    tin
}

#[test]
fn quantum_target_and_interval_follow_from_the_rate() {
    let microseconds = |span: Span| span.picoseconds() / 1_000_000;
    for (bits_per_second, expected) in [
        (1_000_000, (300, 18_168, 113_168)),
        (10_000_000, (305, 5000, 100_000)),
        (20_000_000, (610, 5000, 100_000)),
        (50_000_000, (1514, 5000, 100_000)),
        (0, (1514, 5000, 100_000)),
        // Twice the target is more than the round trip.
        (100_000, (300, 181_680, 363_360)),
    ] {
        let tin = tin(bits_per_second);
        let found = (tin.flow_quantum, microseconds(tin.law.freeze), microseconds(tin.law.interval));
        assert_eq!(found, expected, "{bits_per_second}");
    }
}

#[test]
fn a_delay_of_four_packets_is_no_congestion_and_with_ingress_two_of_each_bulk_flow() {
    let mut tin = tin(8_000_000);
    assert_eq!(tin.mtu_time, Span::from_microseconds(1514));
    assert_eq!(tin.law.congestion_delay, Span::from_microseconds(4 * 1514));
    for (bulk, packets) in [(0, 4), (2, 4), (3, 6), (10, 20)] {
        tin.flows.bulk = bulk;
        assert_eq!(tin.ingress_law().congestion_delay, Span::from_microseconds(packets * 1514));
    }
    let fast = Tin::new(Share { bytes_per_second: 125_000_000, quantum: 1024 }, RTT);
    assert_eq!(fast.law.congestion_delay, Span::from_milliseconds(5));
}

#[test]
fn the_meter_counts_at_least_64_bytes_a_second() {
    let second = Span::from_seconds(1);
    assert_eq!([1, 63, 64, 128].map(|rate| Meter::new(rate).cost(64)), [second, second, second, second / 2]);
    let mut unlimited = Meter::new(0);
    assert_eq!((unlimited.cost(1000), unlimited.is_limited()), (Span::ZERO, false));
    let mut meter = Meter::new(1_000_000);
    assert_eq!([10, 20, 20, 10, 0].map(|bytes| meter.cost(bytes).picoseconds() / 1_000_000), [10, 20, 20, 10, 0]);
}

/// Loads of 1, 2 and 8 at a quantum of 1514 bytes, as edge.md has them.
#[test]
fn a_grant_is_the_quantum_divided_by_the_load() {
    let mut rng = rng();
    for (load, least, most) in [(1, 1513, 1514), (2, 756, 757), (8, 189, 190)] {
        let mut tin = tin(50_000_000);
        let table = &mut tin.queues_mut().table;
        for index in 0..load {
            table.classify(8 * index, || [77, index]);
            table.queues[8 * index as usize].set = Set::Bulk;
            table.enter_bulk(8 * index as usize);
        }
        let grants: alloc::vec::Vec<i32> = (0..1000).map(|_| tin.grant(0, &mut rng)).collect();
        assert!(grants.iter().all(|grant| (least..=most).contains(grant)), "{load}");
        assert!([least, most].iter().all(|grant| grants.contains(grant)), "{load}");
        // The mean is that of the fraction, as far as 16 bits have it.
        let mean = grants.iter().sum::<i32>() as f64 / 1000.0;
        let exact = 1514.0 * f64::from(65_535 / load) / 65_536.0;
        assert!((mean - exact).abs() < 0.06, "{load}: {mean}, {exact}");
    }
}

/// The state of queue 3 and the counts of sparse, bulk and decaying ones.
fn state(tin: &mut Tin) -> (Set, [u32; 3]) {
    let set = tin.queues_mut().table.queues[3].set;
    (set, [tin.flows.sparse, tin.flows.bulk, tin.flows.decaying])
}

#[test]
fn a_queue_goes_through_its_states() {
    let (mut tin, mut rng) = (tin(50_000_000), rng());
    tin.arrived(3, &mut rng);
    assert_eq!((state(&mut tin), tin.next_queue(true)), ((Set::Sparse, [1, 0, 0]), Some(3)));
    // Empty, and its quantum is used up: it waits among the old ones, and counts as sparse.
    tin.end_turn(3, &mut rng);
    assert_eq!((state(&mut tin), tin.next_queue(true)), ((Set::SparseWait, [1, 0, 0]), Some(3)));
    tin.arrived(3, &mut rng);
    assert_eq!(state(&mut tin), (Set::Bulk, [0, 1, 0]));
    // Its law has been active: `drop_next` is ahead.
    tin.queues_mut().table.queues[3].cobalt.drop_next = Time::ZERO + RTT;
    tin.ran_empty(3, Time::ZERO);
    assert_eq!((state(&mut tin), tin.next_queue(false)), ((Set::Decaying, [0, 0, 1]), Some(3)));
    tin.ran_empty(3, Time::ZERO);
    assert_eq!(state(&mut tin), (Set::Decaying, [0, 0, 1]));
    tin.arrived(3, &mut rng);
    assert_eq!(state(&mut tin), (Set::Sparse, [1, 0, 0]));
    tin.ran_empty(3, Time::ZERO + RTT);
    assert_eq!((state(&mut tin), tin.next_queue(true)), ((Set::None, [0, 0, 0]), None));
    assert_eq!(tin.queues_mut().table.host_load(3), 1);
}

#[test]
fn a_queue_decays_while_its_law_is_not_at_rest() {
    let after = |change: fn(&mut CobaltState)| {
        let mut tin = tin(50_000_000);
        tin.arrived(3, &mut rng());
        change(&mut tin.queues_mut().table.queues[3].cobalt);
        tin.ran_empty(3, Time::ZERO + Span::from_milliseconds(1));
        state(&mut tin).0
    };
    assert_eq!(after(|_| {}), Set::None);
    assert_eq!(after(|cobalt| cobalt.probability = 0.5), Set::Decaying);
    assert_eq!(after(|cobalt| cobalt.count = 2), Set::Decaying);
    assert_eq!(after(|cobalt| cobalt.drop_next = Time::ZERO + RTT), Set::Decaying);
}

#[test]
fn decaying_queues_are_first_once_then_new_old_and_decaying_ones() {
    let (mut tin, mut rng) = (tin(50_000_000), rng());
    for index in [10, 20, 30] {
        tin.arrived(index, &mut rng);
    }
    tin.end_turn(20, &mut rng);
    tin.queues_mut().table.queues[30].cobalt.count = 5;
    tin.ran_empty(30, Time::ZERO);
    assert_eq!([true, false].map(|is_first| tin.next_queue(is_first)), [Some(30), Some(10)]);
    tin.ran_empty(10, Time::ZERO);
    assert_eq!(tin.next_queue(false), Some(20));
    tin.ran_empty(20, Time::ZERO);
    assert_eq!(tin.next_queue(false), Some(30));
}

#[test]
fn queues_on_which_blue_acts_are_counted() {
    let (mut tin, mut rng) = (tin(50_000_000), rng());
    let at = |milliseconds| Time::ZERO + Span::from_milliseconds(milliseconds);
    tin.arrived(3, &mut rng);
    tin.overflowed(3, at(6));
    tin.overflowed(3, at(12));
    assert_eq!((tin.flows.unresponsive, tin.queues_mut().table.queues[3].cobalt.probability), (1, 2.0 / 256.0));
    // 1/4096 each target.
    (0..31).for_each(|step| tin.ran_empty(3, at(18 + 6 * step)));
    assert_eq!(tin.flows.unresponsive, 1);
    tin.ran_empty(3, at(300));
    assert_eq!(tin.flows.unresponsive, 0);
}

#[test]
fn a_tin_above_its_rate_has_its_clock_ahead() {
    let at = |microseconds| Time::ZERO + Span::from_microseconds(microseconds);
    let mut clock = TinClock { meter: Meter::new(1_000_000), next: Time::ZERO };
    clock.wake(at(50));
    assert_eq!(clock.next, at(50));
    // Behind: it advances by the packet. At now, or by less than a packet ahead: to a packet from now.
    let mut after = |bytes, now| {
        clock.charge(bytes, at(now));
        clock.next.since(Time::ZERO).picoseconds() / 1_000_000
    };
    assert_eq!(
        [after(100, 60), after(10, 160), after(1000, 160), after(100, 200), after(5000, 300)],
        [150, 160, 1160, 1160, 5300]
    );
}
