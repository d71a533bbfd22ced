//! The table of flows.

use forebay_records::{Column, StringColumn, Table};

use crate::observe::digest::{DESTINATION, FCT_S, JITTER_S, SIZE_BYTES, SOURCE};
use crate::observe::flow_counters::{ReceiveCount, ReceiveCounters, SendCount, SendCounters};
use crate::observe::reported::FlowLabels;

/// Counters become rows as they are reported: of a million flows, counters take several times the memory.
#[derive(Default)]
pub(crate) struct FlowTable {
    sends: Vec<Sent>,
    receives: Vec<Received>,
    /// Data packets dropped or lost in the measured interval, by flow.
    pub dropped: Vec<u64>,
}

/// In the measured interval; totals, for the check, since the start.
#[derive(Clone, Copy)]
struct Sent {
    bytes: u64,
    packets: u64,
    retransmitted: u64,
    timeouts: u64,
    start_s: f64,
    /// Payload, if the flow sends a given number of bytes; else NaN.
    size_bytes: f64,
    /// From its start until its sender had the acknowledgment of everything; NaN before.
    fct_s: f64,
    packets_total: u64,
    acks_total: u64,
    /// Completed transfers, where they arrive during the run.
    transfers: u64,
    transfer_time_mean_s: f64,
}

/// As [`Sent`], of the receiving end.
#[derive(Clone, Copy)]
struct Received {
    payload: u64,
    bytes: u64,
    packets: u64,
    marked: u64,
    delay_mean_s: f64,
    delay_p50_s: f64,
    delay_p95_s: f64,
    delay_p99_s: f64,
    delay_max_s: f64,
    jitter_s: f64,
    finished_s: f64,
    transfers: u64,
    transfer_time_mean_s: f64,
    packets_total: u64,
    acks_total: u64,
}

/// Since the start, in one direction.
pub(crate) struct Passed {
    pub sent: u64,
    pub received: u64,
}

impl FlowTable {
    pub fn new(flows: usize) -> Self {
        Self { dropped: vec![0; flows], ..Self::default() }
    }

    pub fn sender(&mut self, flow: usize, counters: &SendCounters) {
        put(&mut self.sends, flow, Sent::of(counters), Sent::of(&SendCounters::default()));
    }

    pub fn receiver(&mut self, flow: usize, counters: &ReceiveCounters) {
        put(&mut self.receives, flow, Received::of(counters), Received::of(&ReceiveCounters::default()));
    }

    /// Whether a flow whose sender has reported began.
    pub fn has_started(&self, flow: usize) -> bool {
        self.sends.get(flow).is_some_and(|row| !row.start_s.is_nan())
    }

    /// Ends without counters have empty rows.
    pub fn complete(&mut self) {
        self.sends.resize(self.dropped.len(), Sent::of(&SendCounters::default()));
        self.receives.resize(self.dropped.len(), Received::of(&ReceiveCounters::default()));
    }

    /// Of data packets, and of ACKs.
    pub fn passed(&self, flow: usize) -> [Passed; 2] {
        let (send, receive) = (&self.sends[flow], &self.receives[flow]);
        [
            Passed { sent: send.packets_total, received: receive.packets_total },
            Passed { sent: receive.acks_total, received: send.acks_total },
        ]
    }

    /// `nodes` has the names of all nodes, `seconds` is the length of the measured interval.
    pub fn table(self, labels: FlowLabels, nodes: &StringColumn, seconds: f64) -> Table {
        let Self { sends, receives, dropped } = self;
        let rate = |bytes: u64| bytes as f64 * 8.0 / seconds;
        let received = |of: fn(&Received) -> u64| Column::Count(receives.iter().map(of).collect());
        let received_rate =
            |of: fn(&Received) -> u64| Column::Float(receives.iter().map(|row| rate(of(row))).collect());
        let time = |of: fn(&Received) -> f64| Column::Float(receives.iter().map(of).collect());
        let sent = |of: fn(&Sent) -> u64| Column::Count(sends.iter().map(of).collect());
        let mut table = Table::default();
        let [names, groups, kinds, sources, destinations] = labels.into_columns(nodes);
        table.push("name", Column::Text(names));
        table.push("group", Column::Text(groups));
        table.push("kind", Column::Text(kinds));
        table.push("goodput_bps", received_rate(|row| row.payload));
        table.push("throughput_bps", received_rate(|row| row.bytes));
        table.push("offered_bps", Column::Float(sends.iter().map(|row| rate(row.bytes)).collect()));
        table.push("packets_sent", sent(|row| row.packets));
        table.push("packets_delivered", received(|row| row.packets));
        table.push("packets_dropped", Column::Count(dropped));
        table.push("packets_marked", received(|row| row.marked));
        table.push("packets_retransmitted", sent(|row| row.retransmitted));
        table.push("timeouts", sent(|row| row.timeouts));
        table.push("delay_mean_s", time(|row| row.delay_mean_s));
        table.push("delay_p50_s", time(|row| row.delay_p50_s));
        table.push("delay_p95_s", time(|row| row.delay_p95_s));
        table.push("delay_p99_s", time(|row| row.delay_p99_s));
        table.push("delay_max_s", time(|row| row.delay_max_s));
        table.push(JITTER_S, time(|row| row.jitter_s));
        table.push("start_s", Column::Float(sends.iter().map(|row| row.start_s).collect()));
        table.push("finished_s", time(|row| row.finished_s));
        let rows = || sends.iter().zip(&receives);
        table.push("transfers_completed", Column::Count(rows().map(|(s, r)| s.transfers + r.transfers).collect()));
        let times = rows().map(|(s, r)| if s.transfers > 0 { s.transfer_time_mean_s } else { r.transfer_time_mean_s });
        table.push("transfer_time_mean_s", Column::Float(times.collect()));
        table.push(SOURCE, Column::Text(sources));
        table.push(DESTINATION, Column::Text(destinations));
        if sends.iter().any(|row| !row.size_bytes.is_nan()) {
            table.push(SIZE_BYTES, Column::Float(sends.iter().map(|row| row.size_bytes).collect()));
            table.push(FCT_S, Column::Float(sends.iter().map(|row| row.fct_s).collect()));
        }
        table
    }
}

impl Sent {
    fn of(SendCounters { count, record }: &SendCounters) -> Self {
        let measured = |of: fn(&SendCount) -> u64| of(count) - of(&record.at_warm_up);
        Self {
            bytes: measured(|count| count.bytes),
            packets: measured(|count| count.packets),
            retransmitted: measured(|count| count.retransmitted),
            timeouts: measured(|count| count.timeouts),
            start_s: record.started.map_or(f64::NAN, |at| at.seconds()),
            size_bytes: record.size_bytes.map_or(f64::NAN, |bytes| bytes as f64),
            fct_s: record.acknowledged.zip(record.started).map_or(f64::NAN, |(end, start)| end.since(start).seconds()),
            packets_total: count.packets,
            acks_total: count.acks_received,
            transfers: record.transfers.as_ref().map_or(0, |transfers| transfers.completed),
            transfer_time_mean_s: record.transfers.as_ref().map_or(f64::NAN, |transfers| transfers.time.mean_s()),
        }
    }
}

impl Received {
    fn of(ReceiveCounters { count, delay, record }: &ReceiveCounters) -> Self {
        let measured = |of: fn(&ReceiveCount) -> u64| of(count) - of(&record.at_warm_up);
        Self {
            payload: measured(|count| count.payload),
            bytes: measured(|count| count.bytes),
            packets: measured(|count| count.packets),
            marked: measured(|count| count.marked),
            delay_mean_s: delay.mean_s(),
            delay_p50_s: delay.quantile_s(0.50),
            delay_p95_s: delay.quantile_s(0.95),
            delay_p99_s: delay.quantile_s(0.99),
            delay_max_s: delay.max_s(),
            jitter_s: record.jitter.mean_s(),
            finished_s: record.finished.map_or(f64::NAN, |at| at.seconds()),
            transfers: record.transfers,
            transfer_time_mean_s: record.transfer_time.seconds() / record.transfers as f64,
            packets_total: count.packets,
            acks_total: count.acks_sent,
        }
    }
}

/// Flows come nearly in order, so `none` fills few rows.
fn put<R: Clone>(rows: &mut Vec<R>, place: usize, row: R, none: R) {
    if place >= rows.len() {
        rows.resize(place + 1, none);
    }
    rows[place] = row;
}
