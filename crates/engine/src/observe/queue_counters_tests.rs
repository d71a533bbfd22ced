//! Counters by themselves.

use forebay_qdisc::{Ecn, Span};

use super::*;
use crate::packet::{FlowId, PacketFields, flags};

fn packet(flow: FlowId) -> Packet {
    packet_of(flow, 0)
}

fn packet_of(flow: FlowId, flags: u8) -> Packet {
    Packet::new(PacketFields {
        time: Time::ZERO,
        stamp: 0,
        number: 0,
        flow,
        len_bytes: 100,
        flags,
        class: 0,
        ecn: Ecn::NotCapable,
    })
}

/// A counters that let in a packet of each flow, one after the other.
fn counters_of(flows: impl Iterator<Item = FlowId>) -> QueueCounters {
    let end = Time::ZERO + Span::from_seconds(1);
    let mut counters = QueueCounters::new(MeasuredInterval { from: Time::ZERO, to: end });
    flows.for_each(|flow| counters.let_in(&packet(flow), Time::ZERO));
    counters
}

/// 2^64 ps are 213 days: a million packets that wait 20 s each.
#[test]
fn waits_are_summed_beyond_64_bits_of_picoseconds() {
    let days = |days: u64| Time::ZERO + Span::from_seconds(days * 86_400);
    for counted_at_once in [true, false] {
        let mut counters = QueueCounters::new(MeasuredInterval { from: Time::ZERO, to: days(200) });
        for _ in 0..3 {
            if counted_at_once {
                counters.let_in(&packet(7), days(150));
            } else {
                counters.arrival(&packet(7));
                counters.waited(1, 100, Time::ZERO, days(150));
                counters.departure(&packet(7), days(150));
            }
        }
        // A full sum begins again: else each later departure would look for the wider one.
        assert_eq!(counters.flows[0].departed, 0, "{counted_at_once}");
        let wait_ps: u128 = counters.rows().map(|(_, row)| row.wait_ps).sum();
        assert_eq!(wait_ps, 450 * 86_400 * 1_000_000_000_000, "{counted_at_once}");
        assert!((counters.mean_length_packets() - 2.25).abs() < 1e-12, "{counted_at_once}");
    }
}

/// A row has 32 bits for a count, and gives it away when the last of them is set.
#[test]
fn counts_beyond_a_row_are_kept() {
    const HALF: u32 = 1 << 31;
    let (before, now) = (Time::ZERO, Time::ZERO + Span::from_seconds(1));
    for others in [0..1, 0..1000] {
        let mut counters = QueueCounters::new(MeasuredInterval { from: now, to: now });
        let row = counters.arrival_at(counters.row_of(14), now);
        // As if so many had come and gone.
        counters.flows[row] = Row { arrived: HALF - 1, departed: HALF - 2, marked: 5, ..counters.flows[row] };
        counters.arrival_at(row, now);
        assert_eq!(counters.flows[row], Row { queued: 2, ..Row::default() });
        for _ in 0..2 {
            counters.departure_at(row, now, now);
        }
        // The rows of others move this one.
        others.for_each(|flow| _ = counters.arrival(&packet(flow * 611 % 1000 * 100)));
        for dropped_outside in [HALF - 2, HALF - 1] {
            let row = counters.existing(counters.row_of(14));
            counters.flows[row].dropped_outside = dropped_outside;
            counters.refuse_at(row, 100, DropReason::Overflow, before);
        }
        let flow = counters.rows().find(|&(direction, _)| direction == 14).map(|(_, flow)| flow);
        let (arrived, dropped_total) = (u64::from(HALF), u64::from(HALF));
        let expected = FlowAtQueue { arrived, departed: arrived, marked: 5, dropped_total, ..FlowAtQueue::default() };
        assert_eq!(flow, Some(expected));
    }
}

#[test]
fn a_queue_of_few_flows_has_few_rows_whatever_their_numbers() {
    assert_eq!(counters_of([1_000_000].into_iter()).flows.len(), 1);
    assert_eq!(counters_of([1_000_000, 1_000_003].into_iter()).flows.len(), 4);
    // One flow in a hundred, in no order.
    let few = counters_of((0..1000).map(|flow| flow * 611 % 1000 * 100));
    assert_eq!((few.flows.len(), few.let_in.len()), (1000, 1000));
    let first = few.rows().next().map(|(direction, row)| (direction, row.arrived));
    assert_eq!(first, Some((0, 1)));
}

#[test]
fn rows_are_in_order_once_enough_flows_have_come() {
    // 611 has no factor in common with 1000.
    let counters = counters_of((0..1000).map(|flow| flow * 611 % 1000));
    assert!(matches!(counters.order, RowOrder::InOrder));
    assert!(counters.rows().map(|(direction, _)| direction).eq((0..1000).map(|flow| 2 * flow)));
}

#[test]
fn rows_are_those_of_their_flows_in_whatever_order_these_come() {
    let thousands = |flow: FlowId| flow * 7 % 90 * 1000;
    for flows in [
        (10..500).collect::<Vec<FlowId>>(),
        (10..500).rev().collect(),
        vec![300, 499, 10, 12, 300],
        // Scattered, and then in order.
        (0..180).map(thousands).collect(),
        (0..40).map(|flow| flow * 100).chain((0..3900).rev()).collect(),
    ] {
        let mut counters = counters_of(flows.iter().copied());
        let of_rows: Vec<(usize, u64)> =
            counters.rows().map(|(direction, row)| (direction, row.arrived)).filter(|row| row.1 > 0).collect();
        let mut seen = flows.clone();
        seen.sort_unstable();
        seen.dedup();
        let expected: Vec<(usize, u64)> = seen
            .iter()
            .map(|&flow| (flow as usize * 2, flows.iter().filter(|&&other| other == flow).count() as u64))
            .collect();
        assert_eq!(of_rows, expected);
        assert_eq!(counters.totals().arrived, flows.len() as u64);
        // The rows that are prefetched are those that count.
        for flow in seen {
            let known = counters.known_row(flow as usize * 2);
            assert_eq!(counters.arrival(&packet(flow)), known);
        }
    }
}

#[test]
fn data_and_acks_have_rows_of_their_own_whichever_come_first() {
    for directions in [[10, 15, 2, 7], [15, 21, 10, 7], [7, 2, 3, 6], [70_001, 2, 40_000, 90_003]] {
        let mut counters = counters_of(std::iter::empty());
        for direction in directions {
            let flags = if direction % 2 == 0 { 0 } else { flags::ACK };
            counters.let_in(&packet_of(direction / 2, flags), Time::ZERO);
        }
        let of_rows =
            counters.rows().filter(|(_, row)| row.arrived > 0).map(|(direction, row)| (direction, row.arrived));
        let mut expected = directions.map(|direction| (direction as usize, 1));
        expected.sort_unstable();
        assert!(of_rows.eq(expected), "{directions:?}");
    }
}
