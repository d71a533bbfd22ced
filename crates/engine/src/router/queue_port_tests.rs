//! A discipline that sends the latest packet first, at a port by itself. A packet takes a millisecond.

use forebay_qdisc::{Backlog, Cake, CakeAckFilter, CakeConfig, DropReason, Ecn, Rate, Trimming, TrimmingConfig};
use forebay_tcp::SackBlocks;
use forebay_units::{Bytes, QueueSize};

use super::*;
use crate::driver::one_node::{OneNode, PACKET_BYTES, at, link, no_checkpoints, record};
use crate::driver::routes::Way;
use crate::packet::side_tables::AckOptions;
use crate::packet::{PacketFields, ack_stamp, flags};

/// A stack, which drops its oldest packet if it is full.
#[derive(Default)]
pub(crate) struct LatestFirst(Vec<Packet>);

const MOST: usize = 2;

impl Discipline<Packet> for LatestFirst {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_, Packet>) {
        if self.0.len() == MOST {
            cx.sink.dropped(self.0.remove(0), DropReason::Overflow, true);
        }
        self.0.push(packet);
    }

    fn dequeue(&mut self, _cx: &mut Cx<'_, Packet>) -> Served<Packet> {
        self.0.pop().into()
    }

    fn backlog(&self) -> Backlog {
        let packets = self.0.len() as u64;
        Backlog { packets, bytes: packets * u64::from(PACKET_BYTES) }
    }

    fn state_bytes(&self) -> u64 {
        0
    }
}

pub(crate) fn port(number: u32, to: u32) -> QueuePort {
    QueuePort::new(link(number, to), no_checkpoints(), record(), Box::new(LatestFirst::default()))
}

fn bench() -> OneNode {
    OneNode::new(Box::new(port(0, 1)), [1, 2], 1)
}

#[test]
fn an_idle_port_chooses_among_all_arrivals_of_an_instant() {
    let mut bench = bench();
    bench.arrive(100, 0, 0);
    bench.arrive(100, 0, 1);
    assert_eq!(bench.run(3000), [(1, 1100, 1), (1, 2100, 0)]);
}

#[test]
fn a_busy_port_takes_its_waiting_packet_before_an_arrival_of_that_time() {
    let mut bench = bench();
    for (microseconds, flow) in [(0, 0), (500, 1), (1000, 2)] {
        bench.arrive(microseconds, 0, flow);
    }
    assert_eq!(bench.run(10_000), [(1, 1000, 0), (1, 2000, 1), (1, 3000, 2)]);
}

#[test]
fn a_drop_is_that_of_the_packet_dropped_and_all_are_accounted_for() {
    let mut bench = bench();
    for (microseconds, flow) in [(0, 0), (100, 1), (200, 2), (300, 3), (999_999, 3)] {
        bench.arrive(microseconds, 0, flow);
    }
    assert_eq!(bench.run(1_000_000), [(1, 1000, 0), (1, 2000, 3), (1, 3000, 2)]);
    let result = bench.finish(&["link"]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(result.queue_flows.counts("packets_dropped"), [0, 1, 0, 0]);
    assert_eq!(result.queue_flows.counts("packets_arrived"), [1, 1, 1, 2]);
}

/// Headers go first and take less time, and the queue's mean length has the bytes that were cut no more.
#[test]
fn a_packet_that_does_not_fit_is_cut_and_counted() {
    let config = TrimmingConfig { limit: QueueSize::Packets(1), header: Bytes(100), ..TrimmingConfig::default() };
    let trimming = Trimming::new(&config, Rate::megabits(8), 1).unwrap();
    let port = QueuePort::new(link(0, 1), no_checkpoints(), record(), Box::new(trimming));
    let mut bench = OneNode::new(Box::new(port), [1, 2], 1);
    for (microseconds, flow) in [(0, 0), (100, 1)] {
        bench.arrive_trimmable(microseconds, 0, flow);
    }
    // Does not fit, and cannot be cut, unless the one that waits is.
    bench.arrive(200, 0, 2);
    for (microseconds, flow) in [(300, 3), (400, 3)] {
        bench.arrive_trimmable(microseconds, 0, flow);
    }
    let left = bench.run(1_000_000);
    let times: Vec<u64> = left.iter().map(|(_, microseconds, _)| *microseconds).collect();
    let result = bench.finish(&["link"]).unwrap_or_else(|error| panic!("{error}"));
    let [trimmed, bytes] = ["packets_trimmed", "bytes_trimmed"].map(|column| result.queues.counts(column)[0]);
    let dropped = result.queues.counts("packets_dropped")[0];
    assert_eq!((trimmed + dropped, bytes), (3, 900 * trimmed));
    let headers = (1..=trimmed).map(|number| 1000 + 100 * number);
    let data = 2000 + 100 * trimmed;
    assert_eq!(times, [1000].into_iter().chain(headers).chain([data]).collect::<Vec<_>>());
}

/// The options of an ACK that a discipline takes out of its queue are free again, and it is accounted for.
#[test]
fn a_filtered_ack_gives_its_slot_back() {
    let config = CakeConfig { ack_filter: CakeAckFilter::Aggressive, ..CakeConfig::default() };
    let cake = Cake::new(&config, Rate::megabits(8), 1).unwrap();
    let port = QueuePort::new(link(0, 1), no_checkpoints(), record(), Box::new(cake));
    let mut bench = OneNode::new(Box::new(port), [1, 2], 1);
    let mut slots = Vec::new();
    // The first leaves at once. Each ACK that waits is redundant when the next one comes.
    for number in 0..4 {
        let mut sack = SackBlocks::default();
        sack.push(5000, 6000 + u64::from(number));
        let slot = bench.channels.tables.put_options(AckOptions { sack, marked_bytes: None });
        let (time, flow, len_bytes) = (at(u64::from(number)), 1, PACKET_BYTES);
        let (stamp, ecn) = (ack_stamp::of(slot, Time::NEVER), Ecn::NotCapable);
        let fields = PacketFields { time, stamp, number, flow, len_bytes, flags: flags::ACK, class: 0, ecn };
        bench.channels.send(Way::to(0), Packet::new(fields).arriving(time, 0));
        slots.push(slot);
    }
    assert_eq!(bench.run(10_000), [(1, 1000, 1), (1, 2000, 1)]);
    let free: Vec<u64> = (0..2)
        .map(|_| bench.channels.tables.put_options(AckOptions { marked_bytes: Some(1), ..AckOptions::default() }))
        .collect();
    assert_eq!(free, [slots[2], slots[1]]);
}
