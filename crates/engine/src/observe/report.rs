//! Gathers the counters of all nodes, checks that every packet is accounted for, and makes the tables.

use std::borrow::Cow;
use std::collections::BTreeMap;

use forebay_qdisc::{Rate, Span};
use forebay_records::{Series, StringColumn, Warning};

use crate::error::RunError;
use crate::observe::deadlock;
use crate::observe::deadlock::PortWait;
use crate::observe::delay_table::DelayTable;
use crate::observe::digest::digest;
use crate::observe::flow_counters::{ReceiveCounters, SendCounters, SendRecord};
use crate::observe::flow_table::FlowTable;
use crate::observe::interval::MeasuredInterval;
use crate::observe::loss_counters::LossCounters;
use crate::observe::outcomes::{Outcome, Outcomes};
use crate::observe::queue_counters::{QueueCounters, QueueRecord, QueueTotals};
use crate::observe::queue_series::FlowGauges;
use crate::observe::ranks::{self, RankReport};
use crate::observe::report::logs::Logs;
use crate::observe::reported::{AdapterReport, ControlCount, FlowLabels, LinkReport, PortReport, QueueReport};
use crate::observe::results::RunResult;
use crate::observe::so_far::{Of, QueueName, Show};
use crate::observe::tables::{LinkTable, QueueFlowTable, QueueTable, adapter_table};
use crate::observe::transfers::TransferSummary;
use crate::observe::voice::{self, Playout};
use crate::observe::warnings::{self, DeviceDrops};
use crate::observe::watched::Watched;
use crate::packet::{FlowId, flow_key};
use crate::spec::LinkId;

mod conservation;
mod logs;

/// Kinds of packets by direction.
const PACKETS: [&str; 2] = ["data packets", "ACKs"];

/// By (row, direction), since the start.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    dropped: u64,
    lost: u64,
    duplicated: u64,
    in_flight: u64,
}

/// Collects the counters.
pub struct Report {
    measured: MeasuredInterval,
    labels: FlowLabels,
    nodes: StringColumn,
    flows: FlowTable,
    delays: DelayTable,
    fates: Vec<Fate>,
    held: u64,
    control: ControlCount,
    adapters: Vec<AdapterReport>,
    device_drops: Vec<DeviceDrops>,
    port_waits: Vec<PortWait>,
    queues: QueueTable,
    queue_flows: QueueFlowTable,
    transfers: TransferSummary,
    outcomes: Outcomes,
    playouts: BTreeMap<usize, Playout>,
    ranks: Vec<RankReport>,
    links: LinkTable,
    series: Vec<Series>,
    /// If events are recorded one by one.
    logs: Option<Logs>,
    violation: Option<String>,
    trace_error: Option<RunError>,
}

impl Report {
    pub(crate) fn new(
        measured: MeasuredInterval,
        labels: FlowLabels,
        nodes: StringColumn,
        links: StringColumn,
    ) -> Self {
        let rows = labels.len();
        Self {
            measured,
            labels,
            nodes,
            flows: FlowTable::new(rows),
            delays: DelayTable::default(),
            fates: vec![Fate::default(); rows * 2],
            held: 0,
            control: ControlCount::default(),
            adapters: Vec::new(),
            device_drops: Vec::new(),
            port_waits: Vec::new(),
            queues: QueueTable::default(),
            queue_flows: QueueFlowTable::default(),
            transfers: TransferSummary::default(),
            outcomes: Outcomes::default(),
            playouts: BTreeMap::new(),
            ranks: Vec::new(),
            links: LinkTable::new(links),
            series: Vec::new(),
            logs: None,
            violation: None,
            trace_error: None,
        }
    }

    /// The fate of the packets of a direction, with that of others of the same row; `None` for control frames.
    fn fate(&mut self, direction: usize) -> Option<&mut Fate> {
        let flow = direction / 2;
        let is_control = flow >= self.labels.rows.flows();
        if is_control { None } else { self.fates.get_mut(2 * self.labels.rows.of(flow) + direction % 2) }
    }

    /// Packets on a channel at the end. Indices behind those of flows are of control frames.
    pub(crate) fn in_flight(&mut self, direction_index: usize, packets: u64) {
        match self.fate(direction_index) {
            Some(fate) => fate.in_flight += packets,
            None => self.control.held += packets,
        }
    }

    /// Packets outside of any queue's counters.
    pub(crate) fn holds(&mut self, packets: u64) {
        self.held += packets;
    }

    pub(crate) fn lost(&mut self, counters: &LossCounters) {
        for (&direction, (total, measured)) in &counters.directions {
            let Some(fate) = self.fate(direction) else {
                self.control.lost += total;
                continue;
            };
            fate.lost += total;
            if direction % 2 == 0 {
                self.flows.dropped[self.labels.rows.of(direction / 2)] += measured;
            }
        }
    }

    fn duplicated(&mut self, counters: &LossCounters) {
        for (&direction, (total, _)) in &counters.directions {
            match self.fate(direction) {
                Some(fate) => fate.duplicated += total,
                None => self.control.created += total,
            }
        }
    }

    /// The datagrams that the device queue in front of `uplink` dropped.
    pub(crate) fn device_queue(&mut self, counters: &LossCounters, uplink: LinkId, rate: Rate) {
        self.lost(counters);
        for (direction, &(dropped, _)) in &counters.directions {
            let flow = self.labels.name_of_flow((direction / 2) as FlowId).to_owned();
            let uplink = self.link_name(uplink).to_owned();
            self.device_drops.push(DeviceDrops { flow, uplink, rate, dropped });
        }
    }

    pub(crate) fn control(&mut self, count: ControlCount) {
        let all = &mut self.control;
        all.created += count.created;
        all.consumed += count.consumed;
        all.lost += count.lost;
        all.held += count.held;
    }

    pub(crate) fn port_waits(&mut self, waits: Vec<PortWait>) {
        self.port_waits.extend(waits);
    }

    pub(crate) fn adapter(&mut self, adapter: AdapterReport) {
        self.adapters.push(adapter);
    }

    pub(crate) fn sender(&mut self, flow: FlowId, counters: SendCounters) {
        self.sender_series(flow, &counters.record);
        let row = self.labels.rows.of(flow as usize);
        self.flows.sender(row, &counters);
        if let Some(record) = counters.record.transfers {
            self.transfers.sent(row, *record);
        }
    }

    /// Adds the series of a sender, or of a limiter behind it.
    pub(crate) fn sender_series(&mut self, flow: FlowId, record: &SendRecord) {
        self.add_series(|show| record.show(flow, show));
    }

    pub(crate) fn receiver(&mut self, flow: FlowId, counters: ReceiveCounters) {
        self.add_series(|show| counters.record.show(flow, show));
        let row = self.labels.rows.of(flow as usize);
        self.delays.add(self.labels.group_number(row), &counters.delay);
        self.transfers.received(row, counters.record.stale);
        self.flows.receiver(row, &counters);
    }

    pub(crate) fn outcome(&mut self, flow: FlowId, outcome: Outcome) {
        for (quantity, values) in outcome.series {
            if !values.is_empty() {
                self.add_series(|show| show(Of::Flow(flow), quantity, &values, &[]));
            }
        }
        self.outcomes.add(self.labels.rows.of(flow as usize), outcome.kind, outcome.values);
    }

    /// Takes the playout of a call with a fixed jitter buffer.
    pub(crate) fn playout(&mut self, flow: FlowId, playout: Playout) {
        self.playouts.insert(self.labels.rows.of(flow as usize), playout);
    }

    /// Takes the tasks of a host.
    pub(crate) fn rank(&mut self, rank: RankReport) {
        self.ranks.push(rank);
    }

    /// Copies the series that a component shows. `close` sets the interval.
    fn add_series(&mut self, show_all: impl FnOnce(&mut Show<'_>)) {
        let mut found = Vec::new();
        show_all(&mut |of, quantity, values, states| {
            let (kind, name) = self.component(of);
            let (name, quantity) = (name.into_owned(), quantity.to_owned());
            let (values, states) = (values.to_vec(), states.to_vec());
            found.push(Series { kind, name, quantity, start_s: 0.0, interval_s: 0.0, values, states });
        });
        self.series.append(&mut found);
    }

    /// The kind and the name of a component.
    pub(crate) fn component<'r>(&'r self, of: Of<'r>) -> (&'static str, Cow<'r, str>) {
        let queue = |name: QueueName<'r>| match name {
            QueueName::OfLink(link) => self.link_name(link),
            QueueName::Text(name) => name,
        };
        match of {
            Of::Flow(flow) => ("flow", self.labels.name_of_flow(flow).into()),
            Of::Sender(flow) => ("sender", self.labels.name_of_flow(flow).into()),
            Of::Queue(name) => ("queue", queue(name).into()),
            Of::QueueFlow(name, flow) => {
                ("queue_flow", format!("{}/{}", queue(name), self.labels.name_of_flow(flow)).into())
            }
            Of::Link(link) => ("link", self.link_name(link).into()),
        }
    }

    pub(crate) fn measured(&self) -> MeasuredInterval {
        self.measured
    }

    pub(crate) fn link(&mut self, mut link: LinkReport) {
        self.lost(&link.lost.all);
        self.duplicated(&link.duplicated);
        if let Some(series) = link.series.take() {
            self.add_series(|show| show(Of::Link(link.number), "utilization", &series, &[]));
        }
        if let Some(tracer) = link.tracer.take()
            && let Err(error) = tracer.close()
        {
            self.trace_error.get_or_insert(error);
        }
        self.links.put(&link);
    }

    pub(crate) fn link_name(&self, link: LinkId) -> &str {
        &self.links.name[link as usize]
    }

    pub(crate) fn queue(&mut self, report: QueueReport<'_>) {
        let QueueReport { name, record, backlog, holds_packets, flow_gauges, port } = report;
        let counters = &record.counters;
        self.check_queue(name, counters, backlog.packets);
        if holds_packets {
            self.held += backlog.packets;
        }
        let queues = &mut self.queues;
        if let Some(port) = port {
            queues.ports.resize(queues.name.len(), PortReport::default());
            queues.ports.push(port);
        }
        queues.name.push(name);
        queues.discipline.push(&record.discipline);
        let totals = counters.totals();
        queues.arrived.push(totals.arrived);
        queues.dropped.push(totals.dropped);
        for (column, count) in queues.by_reason.iter_mut().zip(counters.dropped) {
            column.push(count);
        }
        queues.marked.push(totals.marked);
        queues.bytes_dropped.push(counters.bytes_dropped);
        queues.trimmed[0].push(counters.trimmed);
        queues.trimmed[1].push(counters.bytes_trimmed);
        queues.mean_packets.push(counters.mean_length_packets());
        queues.mean_bytes.push(counters.mean_length_bytes());
        queues.longest.push(counters.longest);
        let wait_ps: u128 = counters.rows().map(|(_, row)| row.wait_ps).sum();
        queues.wait_mean_s.push(wait_ps as f64 / 1e12 / totals.departed as f64);
        queues.state_bytes.push(record.state_bytes);
        self.flows_at_queue(name, record, flow_gauges);
        self.add_series(|show| record.show(QueueName::Text(name), show));
        if let Some(recorder) = record.recorder.take() {
            self.packets_of_queue(name, &mut recorder.lock());
        }
    }

    /// The queue holds `held` packets of all flows together.
    fn check_queue(&mut self, name: &str, counters: &QueueCounters, held: u64) {
        let mut queued = 0;
        for (direction, row) in counters.rows() {
            queued += row.queued;
            if let Some((packets, fault)) = row.violation() {
                let kind = PACKETS[direction % 2];
                let flow = self.labels.name_of_flow((direction / 2) as FlowId);
                self.violation
                    .get_or_insert_with(|| format!("queue `{name}`: {packets} {kind} of flow `{flow}` {fault}"));
            }
        }
        if i64::try_from(held) != Ok(queued) {
            self.violation.get_or_insert_with(|| {
                format!("queue `{name}`: {queued} packets were enqueued and have not left, but it holds {held}")
            });
        }
    }

    /// Adds a row for each (flow, direction) that did anything. The rows must add up to the queue's own counts.
    fn flows_at_queue(&mut self, name: &str, record: &QueueRecord, flow_gauges: &FlowGauges<'_>) {
        let table = &mut self.queue_flows;
        let mut sum = QueueTotals::default();
        for (direction, data) in self.labels.rows.merged(record.counters.rows()) {
            self.fates[direction].dropped += data.dropped_total;
            let (flow, is_ack) = (direction / 2, direction % 2 != 0);
            if !is_ack {
                self.flows.dropped[flow] += data.dropped;
            }
            // A packet from before the measured interval may be dropped or marked within it.
            let counts = [data.arrived, data.dropped, data.marked, data.departed];
            if counts == [0; 4] {
                sum.dropped_total += data.dropped_total;
                continue;
            }
            sum.add(&data);
            table.queue.push(name);
            table.flow.push(self.labels.name(flow));
            table.group.push(self.labels.group_number(flow));
            table.direction.push(if is_ack { "acks" } else { "data" });
            table.arrived.push(data.arrived);
            table.dropped.push(data.dropped);
            table.marked.push(data.marked);
            table.wait_mean_s.push(data.wait_ps as f64 / 1e12 / data.departed as f64);
            let row = table.queue.len();
            if !self.labels.rows.are_flows() {
                continue;
            }
            flow_gauges(flow_key(flow as FlowId, is_ack), &mut |gauge, value| {
                let column = table.gauges.iter().position(|(column, _)| *column == gauge).unwrap_or_else(|| {
                    table.gauges.push((gauge, Vec::new()));
                    table.gauges.len() - 1
                });
                let values = &mut table.gauges[column].1;
                values.resize(row - 1, f64::NAN);
                values.push(value);
            });
        }
        if let Some((what, of_rows, of_queue)) = sum.differs_from(&record.counters.totals()) {
            self.violation.get_or_insert_with(|| {
                format!("queue `{name}`: {of_queue} packets {what}, but {of_rows} in the rows of its flows")
            });
        }
    }

    fn warnings(&self) -> Vec<Warning> {
        let mut warnings = warnings::of_lockstep(&self.queues, &self.queue_flows, &self.outcomes.flows(&self.labels));
        warnings.extend(warnings::of_device_queues(&self.device_drops));
        warnings.extend(warnings::of_storms(&self.queues));
        warnings.extend(warnings::of_waiting_transfers(&self.transfers, &self.labels));
        warnings.extend(ranks::waiting(&self.ranks, &self.labels, |flow| {
            self.flows.has_started(self.labels.rows.of(flow as usize))
        }));
        warnings
    }

    pub(crate) fn close(mut self, sampling_interval: Option<Span>) -> Result<RunResult, RunError> {
        if let Some(error) = self.trace_error.take() {
            return Err(error);
        }
        self.flows.complete();
        self.check_conservation()?;
        let interval_s = sampling_interval.map_or(0.0, Span::seconds);
        for series in &mut self.series {
            series.start_s = interval_s;
            series.interval_s = interval_s;
        }
        self.series.sort_by(|a, b| (a.kind, &a.name, &a.quantity).cmp(&(b.kind, &b.name, &b.quantity)));
        let deadlock = deadlock::find(&self.port_waits, &|link| self.link_name(link).to_owned());
        ranks::sort(&mut self.ranks);
        let warnings = self.warnings();
        let ranks = ranks::table(&self.ranks, &self.nodes);
        let hops = self.links.hops;
        let (delays, transfers) = (self.delays.table(&self.labels), self.transfers.table(&self.labels));
        let [videos, pages, pings] = self.outcomes.tables(&self.labels);
        let mut flows = self.flows.table(self.labels, &self.nodes, self.measured.seconds());
        voice::add_scores(&mut flows, &self.playouts);
        let mut result = RunResult {
            duration_s: self.measured.to.seconds(),
            warmup_s: self.measured.from.seconds(),
            delays,
            transfers,
            videos,
            pages,
            pings,
            ranks,
            flows,
            queues: self.queues.table(),
            links: self.links.table(),
            queue_flows: self.queue_flows.table(),
            adapters: adapter_table(&self.adapters),
            deadlock,
            series: self.series,
            watched: self.logs.map(Watched::from),
            warnings,
            ..RunResult::default()
        };
        result.engine.packet_hops = hops;
        result.digest = digest(&result);
        Ok(result)
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
