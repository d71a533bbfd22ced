//! Gathers the books of all processes, checks that nothing was lost or made up, and draws up the result tables.

use forebay_qdisc::Span;

use crate::error::RunError;
use crate::link::LinkReport;
use crate::observe::deadlock;
use crate::observe::deadlock::BufferWait;
use crate::observe::digest::digest;
use crate::observe::flow_book::{ReceiveBook, ReceiveCount, SendBook, SendCount};
use crate::observe::handed_in::{ControlCount, FlowLabel, PortReport, QueueReport};
use crate::observe::interval::MeasuredInterval;
use crate::observe::loss_book::LossBook;
use crate::observe::queue_book::{Books, QueueTotals};
use crate::observe::queue_series::{FlowGauges, GaugeSeries, QueueSeries};
use crate::observe::results::{Column, RunResult, Series, Table};
use crate::observe::tables::{QueueFlowTable, QueueTable, link_table, port_table};
use crate::packet::{FlowId, flow_key};

/// What became of the packets of one (flow, direction), since the start.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    dropped: u64,
    lost: u64,
    in_flight: u64,
}

/// Collects what the processes hand in.
pub struct Report {
    measured: MeasuredInterval,
    labels: Vec<FlowLabel>,
    sends: Vec<SendBook>,
    receives: Vec<ReceiveBook>,
    /// Data packets dropped or lost within the measured interval, by flow.
    flow_dropped: Vec<u64>,
    fates: Vec<Fate>,
    held: u64,
    control: ControlCount,
    ports: Vec<PortReport>,
    buffer_waits: Vec<BufferWait>,
    queues: QueueTable,
    queue_flows: QueueFlowTable,
    links: Vec<LinkReport>,
    series: Vec<Series>,
    violation: Option<String>,
    trace_error: Option<RunError>,
}

impl Report {
    pub(crate) fn new(measured: MeasuredInterval, labels: Vec<FlowLabel>) -> Self {
        let flows = labels.len();
        Self {
            measured,
            labels,
            sends: Vec::new(),
            receives: Vec::new(),
            flow_dropped: vec![0; flows],
            fates: vec![Fate::default(); flows * 2],
            held: 0,
            control: ControlCount::default(),
            ports: Vec::new(),
            buffer_waits: Vec::new(),
            queues: QueueTable::default(),
            queue_flows: QueueFlowTable::default(),
            links: Vec::new(),
            series: Vec::new(),
            violation: None,
            trace_error: None,
        }
    }

    /// Packets still on a lane when the run ended, by (flow, direction). The rows behind those of the flows are of
    /// control frames.
    pub(crate) fn in_flight(&mut self, direction_index: usize, packets: u64) {
        match self.fates.get_mut(direction_index) {
            Some(fate) => fate.in_flight += packets,
            None => self.control.held += packets,
        }
    }

    /// Data packets that a process holds outside of any queue's books at the end of the run.
    pub(crate) fn holds(&mut self, packets: u64) {
        self.held += packets;
    }

    /// Data packets that a process other than a queue had no room for.
    pub(crate) fn lost(&mut self, book: &LossBook) {
        for (&flow, (total, measured)) in &book.flows {
            self.fates[flow as usize * 2].lost += total;
            self.flow_dropped[flow as usize] += measured;
        }
    }

    pub(crate) fn control(&mut self, count: ControlCount) {
        let all = &mut self.control;
        all.created += count.created;
        all.consumed += count.consumed;
        all.lost += count.lost;
        all.held += count.held;
    }

    /// Who waits for whom at the ports of a switch.
    pub(crate) fn buffer_waits(&mut self, waits: Vec<BufferWait>) {
        self.buffer_waits.extend(waits);
    }

    pub(crate) fn port(&mut self, port: PortReport) {
        self.ports.push(port);
    }

    pub(crate) fn sender(&mut self, flow: FlowId, mut book: SendBook) {
        self.push_flow_series(flow, "sent_bps", book.record.sent_series.take());
        self.push_flow_series(flow, "congestion_window_bytes", book.record.window_series.take());
        self.push_flow_series(flow, "rate_limit_bps", book.record.rate_limit_series.take());
        put(&mut self.sends, flow as usize, book);
    }

    pub(crate) fn receiver(&mut self, flow: FlowId, mut book: ReceiveBook) {
        self.push_flow_series(flow, "goodput_bps", book.record.goodput_series.take());
        put(&mut self.receives, flow as usize, book);
    }

    fn push_flow_series(&mut self, flow: FlowId, quantity: &str, values: Option<Vec<f64>>) {
        if values.is_some() {
            let name = self.labels[flow as usize].name.clone();
            self.push_series("flow", &name, quantity, values);
        }
    }

    /// Adds a series; its interval is set when the result is drawn up.
    fn push_series(&mut self, kind: &'static str, name: &str, quantity: &str, values: Option<Vec<f64>>) {
        if let Some(values) = values {
            let (name, quantity) = (name.to_owned(), quantity.to_owned());
            self.series.push(Series { kind, name, quantity, start_s: 0.0, interval_s: 0.0, values });
        }
    }

    /// The measured interval.
    pub(crate) fn measured(&self) -> MeasuredInterval {
        self.measured
    }

    pub(crate) fn link(&mut self, mut link: LinkReport) {
        self.lost(&link.lost);
        self.push_series("link", &link.name, "utilization", link.series.take());
        if let Some(tracer) = link.tracer.take()
            && let Err(error) = tracer.close()
        {
            self.trace_error.get_or_insert(error);
        }
        self.links.push(link);
    }

    pub(crate) fn queue(&mut self, report: QueueReport<'_>) {
        let QueueReport { name, books, backlog, holds_packets, flow_gauges, .. } = report;
        let book = &books.book;
        // received = dropped + departed + queued; for a law the queued ones are booked when they are let in.
        let accounted = book.dropped_total + book.departed_total() + backlog.packets;
        if book.arrived_total() != accounted {
            self.violation.get_or_insert(format!(
                "queue `{name}`: {} packets arrived, but {} were dropped, {} departed and {} are queued",
                book.arrived_total(),
                book.dropped_total,
                book.departed_total(),
                backlog.packets
            ));
        }
        if holds_packets {
            self.held += backlog.packets;
        }
        let queues = &mut self.queues;
        queues.name.push(name.to_owned());
        queues.discipline.push(books.discipline.clone());
        let totals = book.totals();
        queues.arrived.push(totals.arrived);
        queues.dropped.push(totals.dropped);
        for (column, count) in queues.by_reason.iter_mut().zip(book.dropped) {
            column.push(count);
        }
        queues.marked.push(totals.marked);
        queues.bytes_dropped.push(book.bytes_dropped);
        queues.mean_packets.push(book.mean_length_packets());
        queues.mean_bytes.push(book.mean_length_bytes());
        queues.longest.push(book.longest);
        let wait_ps: u128 = book.rows().map(|(_, row)| row.wait_ps).sum();
        queues.wait_mean_s.push(wait_ps as f64 / 1e12 / totals.departed as f64);
        queues.state_bytes.push(books.state_bytes);
        self.flows_at_queue(name, books, flow_gauges);
        if let Some(series) = books.series.take() {
            self.queue_series(name, series);
        }
        for watched in std::mem::take(&mut books.watched) {
            let full_name = format!("{name}/{}", self.labels[watched.flow as usize].name);
            self.gauge_series("queue_flow", &full_name, watched.series);
        }
    }

    /// Adds a row for each flow and direction that did anything at the queue. Together they have to come to what was
    /// counted of the queue itself.
    fn flows_at_queue(&mut self, name: &str, books: &Books, flow_gauges: &FlowGauges<'_>) {
        let table = &mut self.queue_flows;
        let mut sum = QueueTotals::default();
        for (direction, data) in books.book.rows() {
            self.fates[direction].dropped += data.dropped_total;
            let (flow, is_ack) = (direction / 2, direction % 2 != 0);
            if !is_ack {
                self.flow_dropped[flow] += data.dropped;
            }
            // A packet that had come before the measured interval may have been dropped or marked within it.
            let counts = [data.arrived, data.dropped, data.marked, data.departed];
            if counts == [0; 4] {
                sum.dropped_total += data.dropped_total;
                continue;
            }
            sum.add(&data);
            table.queue.push(name.to_owned());
            table.flow.push(self.labels[flow].name.clone());
            table.direction.push(if is_ack { "acks" } else { "data" }.to_owned());
            table.arrived.push(data.arrived);
            table.dropped.push(data.dropped);
            table.marked.push(data.marked);
            table.wait_mean_s.push(data.wait_ps as f64 / 1e12 / data.departed as f64);
            let row = table.queue.len();
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
        if let Some((what, of_rows, of_queue)) = sum.differs_from(&books.book.totals()) {
            self.violation.get_or_insert_with(|| {
                format!("queue `{name}`: {of_queue} packets {what}, but {of_rows} in the rows of its flows")
            });
        }
    }

    fn queue_series(&mut self, name: &str, series: QueueSeries) {
        self.push_series("queue", name, "length_packets", Some(series.length_packets));
        self.push_series("queue", name, "length_bytes", Some(series.length_bytes));
        self.push_series("queue", name, "dropped_packets", Some(series.dropped_packets));
        self.gauge_series("queue", name, series.gauges);
    }

    fn gauge_series(&mut self, kind: &'static str, name: &str, gauges: GaugeSeries) {
        for (gauge, values) in gauges.columns {
            self.push_series(kind, name, gauge, Some(values));
        }
    }

    /// Every packet sent has to be received, dropped, lost on a link, on a lane or held by a discipline.
    fn check_conservation(&self) -> Result<(), RunError> {
        if let Some(violation) = &self.violation {
            return Err(RunError::Invariant(violation.clone()));
        }
        self.check_control()?;
        let mut missing_in_all = 0;
        for (flow, label) in self.labels.iter().enumerate() {
            let (send, receive) = (&self.sends[flow], &self.receives[flow]);
            let directions = [
                ("data packets", send.count.packets, receive.count.packets, self.fates[flow * 2]),
                ("ACKs", receive.count.acks_sent, send.count.acks_received, self.fates[flow * 2 + 1]),
            ];
            for (what, sent, received, fate) in directions {
                let known = received + fate.dropped + fate.lost + fate.in_flight;
                let Some(missing) = sent.checked_sub(known) else {
                    return Err(RunError::Invariant(format!(
                        "flow `{}`: {sent} {what} were sent, but {known} are accounted for",
                        label.name
                    )));
                };
                missing_in_all += missing;
            }
        }
        if missing_in_all == self.held {
            Ok(())
        } else {
            Err(RunError::Invariant(format!(
                "{missing_in_all} packets are neither received, dropped nor in flight, but the queues hold {}",
                self.held
            )))
        }
    }

    /// Every control frame has to reach whom it is for, be lost, or be on its way at the end.
    fn check_control(&self) -> Result<(), RunError> {
        let ControlCount { created, consumed, lost, held } = self.control;
        if created == consumed + lost + held {
            return Ok(());
        }
        Err(RunError::Invariant(format!(
            "{created} control frames were sent, but {consumed} came to their end, {lost} were lost and {held} are on \
             their way"
        )))
    }

    /// Checks the books and draws up the tables.
    pub(crate) fn close(mut self, sampling_interval: Option<Span>) -> Result<RunResult, RunError> {
        if let Some(error) = self.trace_error.take() {
            return Err(error);
        }
        self.sends.resize_with(self.labels.len(), SendBook::default);
        self.receives.resize_with(self.labels.len(), ReceiveBook::default);
        self.check_conservation()?;
        let interval_s = sampling_interval.map_or(0.0, Span::seconds);
        for series in &mut self.series {
            series.start_s = interval_s;
            series.interval_s = interval_s;
        }
        self.series.sort_by(|a, b| (a.kind, &a.name, &a.quantity).cmp(&(b.kind, &b.name, &b.quantity)));
        let name = |link: u32| {
            let link = self.links.iter().find(|other| other.number == link);
            link.map_or_else(String::new, |link| link.name.clone())
        };
        let deadlock = deadlock::find(&self.buffer_waits, &name);
        let hops = self.links.iter().map(|link| link.hops).sum();
        let mut result = RunResult {
            duration_s: self.measured.to.seconds(),
            warmup_s: self.measured.from.seconds(),
            flows: self.flow_table(),
            queues: self.queues.table(),
            links: link_table(self.links),
            queue_flows: self.queue_flows.table(),
            ports: port_table(&self.ports),
            deadlock,
            series: self.series,
            ..RunResult::default()
        };
        result.engine.packet_hops = hops;
        result.digest = digest(&result);
        Ok(result)
    }

    /// Takes the names.
    fn flow_table(&mut self) -> Table {
        let seconds = self.measured.seconds();
        let mut table = Table::default();
        let kinds = self.labels.iter().map(|label| label.kind.to_owned()).collect();
        let labels = std::mem::take(&mut self.labels).into_iter();
        let (names, groups) = labels.map(|label| (label.name, label.group)).unzip();
        table.push("name", Column::Text(names));
        table.push("group", Column::Text(groups));
        table.push("kind", Column::Text(kinds));
        let received = |of: &dyn Fn(&ReceiveBook) -> f64| Column::Float(self.receives.iter().map(of).collect());
        let started = |book: &SendBook| book.record.started.map_or(f64::NAN, |at| at.seconds());
        let sent = |of: fn(&SendCount) -> u64| -> Vec<u64> {
            self.sends.iter().map(|book| of(&book.count) - of(&book.record.at_warm_up)).collect()
        };
        let arrived = |of: fn(&ReceiveCount) -> u64| -> Vec<u64> {
            self.receives.iter().map(|book| of(&book.count) - of(&book.record.at_warm_up)).collect()
        };
        let rate = |bytes: Vec<u64>| Column::Float(bytes.iter().map(|&bytes| bytes as f64 * 8.0 / seconds).collect());
        table.push("goodput_bps", rate(arrived(|count| count.payload)));
        table.push("throughput_bps", rate(arrived(|count| count.bytes)));
        table.push("offered_bps", rate(sent(|count| count.bytes)));
        table.push("packets_sent", Column::Count(sent(|count| count.packets)));
        table.push("packets_delivered", Column::Count(arrived(|count| count.packets)));
        table.push("packets_dropped", Column::Count(self.flow_dropped.clone()));
        table.push("packets_marked", Column::Count(arrived(|count| count.marked)));
        table.push("packets_retransmitted", Column::Count(sent(|count| count.retransmitted)));
        table.push("timeouts", Column::Count(sent(|count| count.timeouts)));
        table.push("delay_mean_s", received(&|book| book.delay.mean_s()));
        table.push("delay_p50_s", received(&|book| book.delay.quantile_s(0.50)));
        table.push("delay_p95_s", received(&|book| book.delay.quantile_s(0.95)));
        table.push("delay_p99_s", received(&|book| book.delay.quantile_s(0.99)));
        table.push("delay_max_s", received(&|book| book.delay.max_s()));
        table.push("start_s", Column::Float(self.sends.iter().map(started).collect()));
        table.push("finished_s", received(&|book| book.record.finished.map_or(f64::NAN, |at| at.seconds())));
        table.push("transfers_completed", Column::Count(self.receives.iter().map(|b| b.record.transfers).collect()));
        let transfer_mean = |book: &ReceiveBook| book.record.transfer_time.seconds() / book.record.transfers as f64;
        table.push("transfer_time_mean_s", received(&transfer_mean));
        table
    }
}

/// Puts a book in its place. Flows hand theirs in nearly in order: until then there is none of them here.
fn put<B: Default>(books: &mut Vec<B>, place: usize, book: B) {
    if place >= books.len() {
        books.resize_with(place + 1, B::default);
    }
    books[place] = book;
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
