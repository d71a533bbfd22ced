//! Disciplines that lose packets or report drops wrongly: the run ends with an error.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::VecDeque;

use forebay_engine::{Packet, RunError};
use forebay_qdisc::{Backlog, Cx, Discipline, DropReason, Queue, Served, Span};
use support::{Star, udp};

/// Packets that the queue holds.
const LIMIT: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// Drops a queued packet for one of the other flow, and reports this as a drop on arrival.
    EvictsAsOnArrival,
    /// Drops a packet on arrival when no packet arrives.
    DropsOnDequeue,
    /// Loses a packet.
    Loses,
    /// Sends a packet twice.
    SendsTwice,
}

/// A FIFO that makes a mistake once.
struct Faulty {
    fault: Fault,
    packets: VecDeque<Packet>,
}

impl Faulty {
    /// Whether this is the mistake to make now.
    fn makes(&mut self, fault: Fault) -> bool {
        let makes = self.fault == fault;
        if makes {
            self.fault = Fault::None;
        }
        makes
    }
}

impl Faulty {
    fn next(&mut self, cx: &mut Cx<'_, Packet>) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        if self.makes(Fault::SendsTwice) {
            self.packets.push_front(packet);
        }
        if self.makes(Fault::DropsOnDequeue) {
            cx.sink.dropped(packet, DropReason::Early, false);
            return self.packets.pop_front();
        }
        if self.makes(Fault::Loses) { self.packets.pop_front() } else { Some(packet) }
    }
}

impl Discipline<Packet> for Faulty {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_, Packet>) {
        let mut dropped = None;
        if self.packets.len() == LIMIT {
            let is_of_other = self.packets[0].flow_id() != packet.flow_id();
            if is_of_other && self.makes(Fault::EvictsAsOnArrival) {
                dropped = self.packets.pop_front();
            } else {
                return cx.sink.dropped(packet, DropReason::Overflow, false);
            }
        }
        self.packets.push_back(packet);
        if let Some(dropped) = dropped {
            cx.sink.dropped(dropped, DropReason::Overflow, false);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, Packet>) -> Served<Packet> {
        self.next(cx).map_or(Served::Idle, Served::Packet)
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.packets.len() as u64,
            bytes: self.packets.iter().map(|packet| u64::from(packet.len_bytes())).sum(),
        }
    }

    fn state_bytes(&self) -> u64 {
        0
    }
}

/// The error of a run with two flows of `mbps` each over 10 Mb/s.
fn violation(fault: Fault, mbps: f64) -> Option<String> {
    let star = Star { warmup: Span::from_milliseconds(200), end: Span::from_milliseconds(500), ..Star::default() }
        .flow("a", udp(mbps, 0.0), 0)
        .flow("b", udp(mbps, 0.0), 1);
    let queue = Faulty { fault, packets: VecDeque::new() };
    match star.network(Queue::Discipline(Box::new(queue))).run(&mut |_| true) {
        Ok(_) => None,
        Err(RunError::Invariant(violation)) => Some(violation),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn received_equals_dropped_on_arrival_plus_enqueued() {
    assert_eq!(
        violation(Fault::EvictsAsOnArrival, 6.0).unwrap(),
        "queue `bottleneck`: 1 data packets of flow `a` were received, but neither dropped on arrival nor enqueued"
    );
    assert_eq!(
        violation(Fault::DropsOnDequeue, 6.0).unwrap(),
        "queue `bottleneck`: 1 data packets of flow `a` were dropped on arrival, but not received"
    );
}

#[test]
fn enqueued_equals_dequeued_plus_dropped_after_plus_queued() {
    assert_eq!(
        violation(Fault::Loses, 6.0).unwrap(),
        "queue `bottleneck`: 10 packets were enqueued and have not left, but it holds 9"
    );
    assert_eq!(
        violation(Fault::SendsTwice, 1.0).unwrap(),
        "queue `bottleneck`: 1 data packets of flow `a` were dequeued or dropped later, but not enqueued"
    );
}

#[test]
fn a_queue_without_fault_passes() {
    assert_eq!(violation(Fault::None, 6.0), None);
}
