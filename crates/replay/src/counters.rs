//! The fate of the packets of a replay at one queue, flow by flow.

use forebay_qdisc::{Backlog, Discipline, DropReason, FlowInfo, FlowKey, MarkReason, Rate, Sink, Time, Watcher};
use forebay_records::{Column, DelayHistogram, StringColumn, Table};

use crate::arrivals::CapturedPacket;
use crate::dissect::FlowIdentity;
use crate::facts::PacketFacts;
use crate::frames::Outputs;
use crate::series::SeriesRecord;

const REASONS: usize = DropReason::ALL.len();

/// The gauge that DBL keeps for a flow: when it was first classified belligerent, in seconds; NaN if it was not.
const CLASSIFIED_AT: &str = "classified_at_s";

/// The counters of one flow.
#[derive(Default)]
struct FlowCounters {
    key: FlowKey,
    packets: u64,
    bytes: u64,
    packets_delivered: u64,
    bytes_delivered: u64,
    dropped: [u64; REASONS],
    bytes_dropped: u64,
    marked: u64,
    delay: DelayHistogram,
    first: Time,
    last: Time,
    last_drop: Option<Time>,
    classified_at_s: Option<f64>,
}

/// All counters of one queue.
pub struct QueueCounters<'a> {
    /// The time of what happens now.
    pub now: Time,
    /// Captures of what was let through and what was dropped, if they are written.
    pub outputs: Option<Outputs<'a>>,
    /// The queue over time.
    pub series: SeriesRecord,
    /// Facts about the packet that arrives.
    pub facts: PacketFacts,
    flows: Vec<FlowCounters>,
    /// The flow and the key of the packet that arrives.
    arriving: (usize, FlowKey),
    delay: DelayHistogram,
    dropped_on_arrival: u64,
    dropped_queued: u64,
    length_max_packets: u64,
    length_max_bytes: u64,
}

impl<'a> QueueCounters<'a> {
    /// Empty counters.
    pub fn new(series: SeriesRecord, outputs: Option<Outputs<'a>>) -> Self {
        Self {
            now: Time::ZERO,
            outputs,
            series,
            facts: PacketFacts::default(),
            flows: Vec::new(),
            arriving: (0, FlowKey::default()),
            delay: DelayHistogram::default(),
            dropped_on_arrival: 0,
            dropped_queued: 0,
            length_max_packets: 0,
            length_max_bytes: 0,
        }
    }

    /// Checks that nothing was lost or made up, with `backlog` still queued.
    ///
    /// # Errors
    /// The counters that do not balance.
    pub fn check(&self, backlog: Backlog) -> Result<(), String> {
        let (arrived, delivered) = (self.packets(), self.sum(|flow| flow.packets_delivered));
        let dropped = self.dropped_on_arrival + self.dropped_queued;
        let balanced = |flow: &FlowCounters| flow.packets == flow.packets_delivered + flow.dropped.iter().sum::<u64>();
        if arrived != dropped + delivered || backlog != Backlog::default() || !self.flows.iter().all(balanced) {
            return Err(format!(
                "{arrived} packets arrived, {dropped} dropped, {delivered} delivered, {} packets of {} bytes queued",
                backlog.packets, backlog.bytes
            ));
        }
        Ok(())
    }

    fn sum(&self, count: fn(&FlowCounters) -> u64) -> u64 {
        self.flows.iter().map(count).sum()
    }

    /// Bytes that arrived.
    pub fn bytes(&self) -> u64 {
        self.sum(|flow| flow.bytes)
    }

    /// Packets that arrived.
    pub fn packets(&self) -> u64 {
        self.sum(|flow| flow.packets)
    }

    /// One row a flow, in the order of first arrival; `cut` is how many packets of each were captured without all the
    /// headers that tell their flow.
    pub fn flow_table(
        &self,
        name: &str,
        identities: &[FlowIdentity],
        cut: &[u64],
        queue: &dyn Discipline<CapturedPacket>,
    ) -> Table {
        let mut table = Table::default();
        table.push("queue", Column::Text(std::iter::repeat_n(name, identities.len()).collect()));
        table.push("flow", Column::Text(identities.iter().map(FlowIdentity::to_string).collect()));
        self.push_counts(&mut table);
        table.push("packets_cut", Column::Count(cut.to_vec()));
        self.push_floats(&mut table);
        self.push_gauges(&mut table, queue);
        table
    }

    fn push_counts(&self, table: &mut Table) {
        let mut push = |name, count: &dyn Fn(&FlowCounters) -> u64| {
            table.push(name, Column::Count(self.flows.iter().map(count).collect()));
        };
        push("packets", &|flow| flow.packets);
        push("bytes", &|flow| flow.bytes);
        push("packets_delivered", &|flow| flow.packets_delivered);
        push("bytes_delivered", &|flow| flow.bytes_delivered);
        push("packets_dropped", &|flow| flow.dropped.iter().sum());
        push("bytes_dropped", &|flow| flow.bytes_dropped);
        for &reason in DropReason::ALL {
            push(reason.column(), &|flow| flow.dropped[reason as usize]);
        }
        push("packets_marked", &|flow| flow.marked);
    }

    fn push_floats(&self, table: &mut Table) {
        let mut push = |name, value: &dyn Fn(&FlowCounters) -> f64| {
            table.push(name, Column::Float(self.flows.iter().map(value).collect()));
        };
        // Over the flow's own lifetime; a flow of one moment has no rate.
        let rate = |flow: &FlowCounters, bytes: u64| {
            let lifetime_s = flow.last.since(flow.first).seconds();
            if lifetime_s > 0.0 { bytes as f64 * 8.0 / lifetime_s } else { f64::NAN }
        };
        push("offered_bps", &|flow| rate(flow, flow.bytes));
        push("delivered_bps", &|flow| rate(flow, flow.bytes_delivered));
        push("delay_mean_s", &|flow| flow.delay.mean_s());
        push("delay_p50_s", &|flow| flow.delay.quantile_s(0.5));
        push("delay_p99_s", &|flow| flow.delay.quantile_s(0.99));
        push("delay_max_s", &|flow| flow.delay.max_s());
        push("first_s", &|flow| flow.first.seconds());
        push("last_s", &|flow| flow.last.seconds());
        push("last_drop_s", &|flow| flow.last_drop.map_or(f64::NAN, Time::seconds));
        push(CLASSIFIED_AT, &|flow| flow.classified_at_s.unwrap_or(f64::NAN));
    }

    /// A column for each other gauge that the discipline keeps of flows.
    fn push_gauges(&self, table: &mut Table, queue: &dyn Discipline<CapturedPacket>) {
        let mut columns: Vec<(&'static str, Vec<f64>)> = Vec::new();
        for (row, flow) in self.flows.iter().enumerate() {
            queue.flow_gauges(flow.key, &mut |name, value| {
                if name == CLASSIFIED_AT {
                    return;
                }
                let index = columns.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                    columns.push((name, vec![f64::NAN; self.flows.len()]));
                    columns.len() - 1
                });
                columns[index].1[row] = value;
            });
        }
        for (name, values) in columns {
            table.push(name, Column::Float(values));
        }
    }

    /// The delays of the queue: one row for each step of their histogram.
    pub fn delay_table(&self, name: &str) -> Table {
        let (mut queues, mut delays, mut packets) = (StringColumn::new(), Vec::new(), Vec::new());
        for (end_ps, count) in self.delay.buckets() {
            queues.push(name);
            // No step ends after the greatest delay.
            delays.push((end_ps as f64 / 1e12).min(self.delay.max_s()));
            packets.push(u64::from(count));
        }
        let mut table = Table::default();
        table.push("queue", Column::Text(queues));
        table.push("delay_s", Column::Float(delays));
        table.push("packets", Column::Count(packets));
        table
    }

    /// One row: the queue, in front of a line of `rate`.
    pub fn queue_table(
        &self,
        name: &str,
        discipline: &str,
        rate: Rate,
        queue: &dyn Discipline<CapturedPacket>,
    ) -> Table {
        let mut table = Table::default();
        table.push("queue", Column::Text([name].into_iter().collect()));
        table.push("discipline", Column::Text([discipline].into_iter().collect()));
        let mut push = |name, count| table.push(name, Column::Count(vec![count]));
        push("packets_arrived", self.packets());
        push("packets_delivered", self.sum(|flow| flow.packets_delivered));
        push("packets_dropped", self.dropped_on_arrival + self.dropped_queued);
        push("packets_marked", self.sum(|flow| flow.marked));
        push("bytes_dropped", self.sum(|flow| flow.bytes_dropped));
        for &reason in DropReason::ALL {
            push(reason.column(), self.flows.iter().map(|flow| flow.dropped[reason as usize]).sum());
        }
        push("length_max_packets", self.length_max_packets);
        push("length_max_bytes", self.length_max_bytes);
        let mut push = |name, value| table.push(name, Column::Float(vec![value]));
        let (packets, bytes) = self.series.length_means();
        push("length_mean_packets", packets);
        push("length_mean_bytes", bytes);
        let sent_bits = self.sum(|flow| flow.bytes_delivered) as f64 * 8.0;
        push("utilization", sent_bits / (rate.bits_per_second() as f64 * self.now.seconds()));
        push("delay_mean_s", self.delay.mean_s());
        push("delay_p50_s", self.delay.quantile_s(0.5));
        push("delay_p99_s", self.delay.quantile_s(0.99));
        push("delay_max_s", self.delay.max_s());
        queue.gauges(&mut |name, value| table.push(name, Column::Float(vec![value])));
        table
    }
}

impl Sink<CapturedPacket> for QueueCounters<'_> {
    fn dropped(&mut self, packet: CapturedPacket, reason: DropReason, queued: bool) {
        *(if queued { &mut self.dropped_queued } else { &mut self.dropped_on_arrival }) += 1;
        let flow = &mut self.flows[packet.flow as usize];
        flow.dropped[reason as usize] += 1;
        flow.bytes_dropped += u64::from(packet.len_bytes);
        flow.last_drop = Some(self.now);
        self.series.dropped();
        if let Some(outputs) = &mut self.outputs {
            outputs.dropped(&packet, reason, self.now);
        }
    }

    fn marked(&mut self, packet: &CapturedPacket, _reason: MarkReason) {
        self.flows[packet.flow as usize].marked += 1;
        self.series.marked();
    }

    /// Captured packets cannot be cut.
    fn trimmed(&mut self, _packet: &CapturedPacket, _cut_bytes: u32) {}

    fn flow_info(&self) -> &dyn FlowInfo<CapturedPacket> {
        &self.facts
    }
}

impl Watcher<CapturedPacket> for QueueCounters<'_> {
    fn advance(&mut self, now: Time, queue: &dyn Discipline<CapturedPacket>) {
        self.now = now;
        self.series.advance(now, queue.backlog(), &|visit| queue.gauges(visit));
    }

    fn arriving(&mut self, packet: &CapturedPacket) {
        let index = packet.flow as usize;
        if index >= self.flows.len() {
            self.flows.resize_with(index + 1, FlowCounters::default);
            self.flows[index].first = self.now;
            self.flows[index].key = packet.key;
        }
        let flow = &mut self.flows[index];
        flow.packets += 1;
        flow.bytes += u64::from(packet.len_bytes);
        flow.last = self.now;
        self.arriving = (index, packet.key);
        self.series.arrived(packet.len_bytes);
    }

    /// Notes the queue's length, and whether the packet's flow has just been classified belligerent. Only a flow's own
    /// packets get it classified, so a check of one flow at each arrival misses none. A check at the end may be too
    /// late, because DBL's hash function can change during operation.
    fn arrived(&mut self, queue: &dyn Discipline<CapturedPacket>) {
        let Backlog { packets, bytes } = queue.backlog();
        self.length_max_packets = self.length_max_packets.max(packets);
        self.length_max_bytes = self.length_max_bytes.max(bytes);
        self.series.seen(packets);
        let (index, key) = self.arriving;
        let flow = &mut self.flows[index];
        if flow.classified_at_s.is_none() {
            queue.flow_gauges(key, &mut |name, value| {
                if name == CLASSIFIED_AT && value.is_finite() {
                    flow.classified_at_s = Some(value);
                }
            });
        }
    }

    fn sent(&mut self, packet: &CapturedPacket) {
        let delay = self.now.since(packet.time);
        let flow = &mut self.flows[packet.flow as usize];
        flow.packets_delivered += 1;
        flow.bytes_delivered += u64::from(packet.len_bytes);
        flow.delay.record(delay);
        self.delay.record(delay);
        self.series.sent(packet.len_bytes, delay);
        if let Some(outputs) = &mut self.outputs {
            outputs.sent(packet, self.now);
        }
    }
}
