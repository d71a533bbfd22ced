//! The actions of custom disciplines on a queue, scripted and at random.

extern crate std;

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::Mutex;

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use super::*;
use crate::test_support::{Bench, Labelled, rng};
use crate::{Ecn, Span};

/// A call that a scripted custom discipline received.
#[derive(Default)]
struct Notes {
    failed: AtomicBool,
    refused: Mutex<Vec<(u64, Option<FlowKey>, CustomFault)>>,
    backlogs: Mutex<Vec<Backlog>>,
}

/// Answers each call by a function.
struct Scripted<E, D> {
    notes: Arc<Notes>,
    enqueue: E,
    dequeue: D,
}

impl<E, D> NumberedDiscipline for Scripted<E, D>
where
    E: FnMut(u64, &mut Vec<Order>) + Send,
    D: FnMut(&mut Vec<Order>) -> Option<u64> + Send,
{
    fn enqueue(&mut self, number: u64, _arrival: &Arrival, moment: Moment, orders: &mut Vec<Order>) {
        assert!(!self.has_failed());
        self.notes.backlogs.lock().unwrap().push(moment.backlog);
        (self.enqueue)(number, orders);
    }

    fn dequeue(&mut self, moment: Moment, orders: &mut Vec<Order>) -> Served<u64> {
        assert!(!self.has_failed());
        self.notes.backlogs.lock().unwrap().push(moment.backlog);
        (self.dequeue)(orders).into()
    }

    fn refused(&mut self, number: u64, flow: Option<FlowKey>, _now: Time, fault: CustomFault) {
        self.notes.failed.store(true, Relaxed);
        self.notes.refused.lock().unwrap().push((number, flow, fault));
    }

    fn has_failed(&self) -> bool {
        self.notes.failed.load(Relaxed)
    }

    fn state_bytes(&self) -> u64 {
        0
    }
}

fn bench(
    enqueue: impl FnMut(u64, &mut Vec<Order>) + Send + 'static,
    dequeue: impl FnMut(&mut Vec<Order>) -> Option<u64> + Send + 'static,
) -> (Bench<CustomQueue<Labelled>>, Arc<Notes>) {
    let notes = Arc::new(Notes::default());
    let custom = Scripted { notes: Arc::clone(&notes), enqueue, dequeue };
    (Bench::new(CustomQueue::new(Box::new(custom))), notes)
}

fn packet(label: u32) -> Labelled {
    Labelled::new(label, u64::from(label), 100, 0)
}

#[test]
fn the_discipline_chooses_the_order_and_what_is_dropped() {
    let mut left = alloc::vec![0, 2];
    let (mut bench, notes) = bench(
        |number, orders| match number {
            1 => orders.push(Order::Drop(1, DropReason::Early)),
            3 => orders.extend([Order::Drop(0, DropReason::Evicted), Order::Drop(3, DropReason::Overflow)]),
            _ => {}
        },
        move |_| left.pop().filter(|&number| number != 0),
    );
    (0..4).for_each(|label| bench.enqueue(packet(label)));
    let dropped = bench.dropped.0.iter().map(|(packet, reason, queued)| (packet.label, *reason, *queued));
    let dropped: Vec<_> = dropped.collect();
    assert_eq!(
        dropped,
        [(1, DropReason::Early, false), (0, DropReason::Evicted, true), (3, DropReason::Overflow, false)]
    );
    assert_eq!(bench.drain(), [2]);
    assert!(notes.refused.lock().unwrap().is_empty());
    let lengths: Vec<u64> = notes.backlogs.lock().unwrap().iter().map(|backlog| backlog.packets).collect();
    assert_eq!(lengths, [0, 1, 1, 2, 1, 0]);
}

#[test]
fn a_number_that_is_not_queued_is_a_fault_and_the_queue_goes_on_as_a_fifo() {
    let (mut bench, notes) = bench(|_, _| {}, |_| Some(17));
    (0..3).for_each(|label| bench.enqueue(packet(label)));
    assert_eq!(bench.drain(), [0, 1, 2]);
    assert_eq!(*notes.refused.lock().unwrap(), [(17, None, CustomFault::NotQueued)]);
    assert_eq!(bench.discipline.backlog(), Backlog::default());
}

#[test]
fn a_packet_is_dropped_once() {
    let orders = |_, orders: &mut Vec<Order>| orders.extend([Order::Drop(0, DropReason::Early); 2]);
    let (mut bench, notes) = bench(orders, |_| None);
    bench.enqueue(packet(0));
    assert_eq!(bench.dropped.0.len(), 1);
    assert_eq!(*notes.refused.lock().unwrap(), [(0, None, CustomFault::NotQueued)]);
}

#[test]
fn only_a_packet_that_is_ecn_capable_is_marked() {
    let (mut bench, notes) = bench(|number, orders| orders.push(Order::Mark(number, MarkReason::Early)), |_| Some(0));
    let mut capable = packet(0);
    capable.arrival.ecn = Ecn::Capable0;
    bench.enqueue(capable);
    assert!(!notes.failed.load(Relaxed));
    bench.enqueue(packet(1));
    assert_eq!(*notes.refused.lock().unwrap(), [(1, Some(FlowKey(1)), CustomFault::NotCapable)]);
    assert_eq!(bench.dequeue().map(|packet| packet.arrival.ecn), Some(Ecn::CongestionExperienced));
    assert_eq!(bench.drain(), [1]);
}

/// Orders whatever comes to mind about packets that are, were or never will be there.
fn chaos(rng: &mut Pcg64Mcg, arrived: u64, orders: &mut Vec<Order>) -> u64 {
    for _ in 0..rng.next_u64() % 3 {
        let number = rng.next_u64() % (arrived + 1);
        orders.push(match rng.next_u64() % 2 {
            0 => Order::Drop(number, DropReason::Early),
            _ => Order::Mark(number, MarkReason::Early),
        });
    }
    rng.next_u64() % (arrived + 1)
}

#[test]
fn whatever_a_discipline_does_every_packet_is_accounted_for() {
    let mut seeds = rng();
    for _ in 0..500 {
        let arrived = Arc::new(AtomicU64::new(0));
        let mut rng = || Pcg64Mcg::seed_from_u64(seeds.next_u64());
        let (mut one, mut other) = (rng(), rng());
        let (seen, count) = (Arc::clone(&arrived), Arc::clone(&arrived));
        let (mut bench, _) = bench(
            move |number, orders| {
                chaos(&mut one, number, orders);
            },
            move |orders| (count.load(Relaxed) > 0).then(|| chaos(&mut other, count.load(Relaxed), orders)),
        );
        let mut sent = 0;
        for label in 0..64 {
            bench.now += Span::from_microseconds(1);
            if !seeds.next_u64().is_multiple_of(3) {
                let mut packet = packet(label);
                packet.arrival.ecn = if label % 2 == 0 { Ecn::Capable0 } else { Ecn::NotCapable };
                bench.enqueue(packet);
                seen.fetch_add(1, Relaxed);
            } else {
                sent += u64::from(bench.dequeue().is_some());
            }
            let backlog = bench.discipline.backlog();
            assert_eq!(seen.load(Relaxed), sent + bench.dropped.0.len() as u64 + backlog.packets);
            assert_eq!(backlog.bytes, 100 * backlog.packets);
        }
    }
}
