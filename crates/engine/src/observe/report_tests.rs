//! The last check of the counters.

use forebay_qdisc::{Backlog, DropReason, Time};
use forebay_records::random::stream;

use super::*;
use crate::observe::queue_counters::QueueCounters;

/// Reports a queue's counters in which one flow lost one packet, after a `change`.
fn close(change: impl FnOnce(&mut QueueCounters)) -> Result<RunResult, RunError> {
    let measured = MeasuredInterval { from: Time::ZERO, to: Time::ZERO + Span::from_seconds(1) };
    let mut labels = FlowLabels::default();
    labels.push("flow", "flow", "udp", [0, 1], 1);
    let mut report = Report::new(measured, labels, ["source", "sink"].into_iter().collect(), StringColumn::new());
    let mut counters = QueueCounters::new(measured);
    counters.refuse_at(0, 1000, DropReason::Overflow, Time::ZERO);
    change(&mut counters);
    let mut sender = SendCounters::default();
    sender.count.packets = 1;
    report.sender(0, sender);
    report.queue(QueueReport {
        name: "queue",
        record: &mut QueueRecord::new("drop_tail".into(), counters, stream(1, "queue")),
        backlog: Backlog::default(),
        holds_packets: true,
        flow_gauges: &|_, _| {},
        port: None,
    });
    report.close(None)
}

#[test]
fn a_queue_that_counts_other_than_its_rows_is_an_error() {
    let rows = close(|_| {}).unwrap_or_else(|error| panic!("{error}")).queue_flows;
    assert_eq!(rows.counts("packets_dropped"), [1]);
    let error = close(|counters| counters.dropped[DropReason::Early as usize] += 1).map(|_| ()).unwrap_err();
    assert!(error.to_string().ends_with("queue `queue`: 2 packets dropped, but 1 in the rows of its flows"), "{error}");
    let error = close(|counters| counters.marked += 1).map(|_| ()).unwrap_err();
    assert!(error.to_string().ends_with("queue `queue`: 1 packets marked, but 0 in the rows of its flows"), "{error}");
}
