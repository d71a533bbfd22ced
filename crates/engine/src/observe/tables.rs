//! The tables of a result.

use forebay_qdisc::DropReason;
use forebay_records::{Column, StringColumn, Table};

use crate::observe::digest::{PACKETS_DUPLICATED, STATE_BYTES};
use crate::observe::loss_counters::LossReason;
use crate::observe::reported::{AdapterReport, LinkReport, PortReport};

#[derive(Default)]
pub(crate) struct QueueTable {
    pub name: StringColumn,
    pub discipline: StringColumn,
    pub arrived: Vec<u64>,
    pub dropped: Vec<u64>,
    pub by_reason: [Vec<u64>; DropReason::ALL.len()],
    pub marked: Vec<u64>,
    pub bytes_dropped: Vec<u64>,
    /// Packets that were cut, and the bytes that were cut off them.
    pub trimmed: [Vec<u64>; 2],
    pub mean_packets: Vec<f64>,
    pub mean_bytes: Vec<f64>,
    pub longest: Vec<u64>,
    pub wait_mean_s: Vec<f64>,
    pub state_bytes: Vec<u64>,
    /// Up to the last queue of an Ethernet switch. The values of other queues are zero.
    pub ports: Vec<PortReport>,
}

#[derive(Default)]
pub(crate) struct QueueFlowTable {
    pub queue: StringColumn,
    pub flow: StringColumn,
    /// Number of the flow's group, for warnings.
    pub group: Vec<u32>,
    pub direction: StringColumn,
    pub arrived: Vec<u64>,
    pub dropped: Vec<u64>,
    pub marked: Vec<u64>,
    pub wait_mean_s: Vec<f64>,
    pub gauges: Vec<(&'static str, Vec<f64>)>,
}

/// In the order in which links were added.
pub(crate) struct LinkTable {
    pub name: StringColumn,
    rate_bps: Vec<f64>,
    utilization: Vec<f64>,
    packets: Vec<u64>,
    bytes: Vec<u64>,
    lost: Vec<u64>,
    /// By reason, and empty without such losses.
    lost_by_reason: [Vec<u64>; LossReason::ALL.len()],
    duplicated: Vec<u64>,
    /// On all links.
    pub hops: u64,
    /// Links that have not reported their counters.
    pub missing: usize,
}

impl QueueTable {
    pub fn table(mut self) -> Table {
        if !self.ports.is_empty() {
            self.ports.resize(self.name.len(), PortReport::default());
        }
        let mut table = Table::default();
        table.push("name", Column::Text(self.name));
        table.push("discipline", Column::Text(self.discipline));
        table.push("packets_arrived", Column::Count(self.arrived));
        table.push("packets_dropped", Column::Count(self.dropped));
        table.push("packets_marked", Column::Count(self.marked));
        table.push("bytes_dropped", Column::Count(self.bytes_dropped));
        for (reason, column) in DropReason::ALL.iter().zip(self.by_reason) {
            table.push(reason.column(), Column::Count(column));
        }
        if self.trimmed[0].iter().any(|&packets| packets > 0) {
            let [packets, bytes] = self.trimmed;
            table.push("packets_trimmed", Column::Count(packets));
            table.push("bytes_trimmed", Column::Count(bytes));
        }
        table.push("length_mean_packets", Column::Float(self.mean_packets));
        table.push("length_mean_bytes", Column::Float(self.mean_bytes));
        table.push("length_max_packets", Column::Count(self.longest));
        table.push("wait_mean_s", Column::Float(self.wait_mean_s));
        table.push(STATE_BYTES, Column::Count(self.state_bytes));
        push_ports(&mut table, &self.ports);
        table
    }
}

impl QueueFlowTable {
    pub fn table(self) -> Table {
        let rows = self.queue.len();
        let mut table = Table::default();
        table.push("queue", Column::Text(self.queue));
        table.push("flow", Column::Text(self.flow));
        table.push("direction", Column::Text(self.direction));
        table.push("packets_arrived", Column::Count(self.arrived));
        table.push("packets_dropped", Column::Count(self.dropped));
        table.push("packets_marked", Column::Count(self.marked));
        table.push("wait_mean_s", Column::Float(self.wait_mean_s));
        for (gauge, mut values) in self.gauges {
            values.resize(rows, f64::NAN);
            table.push(gauge, Column::Float(values));
        }
        table
    }
}

impl LinkTable {
    pub fn new(name: StringColumn) -> Self {
        let links = name.len();
        let (floats, counts) = (vec![0.0; links], vec![0; links]);
        Self {
            name,
            rate_bps: floats.clone(),
            utilization: floats,
            packets: counts.clone(),
            bytes: counts.clone(),
            duplicated: counts.clone(),
            lost: counts,
            lost_by_reason: Default::default(),
            hops: 0,
            missing: links,
        }
    }

    pub fn put(&mut self, link: &LinkReport) {
        let row = link.number as usize;
        self.rate_bps[row] = link.rate.bits_per_second() as f64;
        self.utilization[row] = link.utilization;
        self.packets[row] = link.packets;
        self.bytes[row] = link.bytes;
        self.lost[row] = link.lost.all.measured();
        for (lost, &count) in self.lost_by_reason.iter_mut().zip(&link.lost.by_reason) {
            if count > 0 {
                lost.resize(self.lost.len(), 0);
                lost[row] = count;
            }
        }
        self.duplicated[row] = link.duplicated.measured();
        self.hops += link.hops;
        self.missing -= 1;
    }

    pub fn table(self) -> Table {
        let mut table = Table::default();
        table.push("name", Column::Text(self.name));
        table.push("rate_bps", Column::Float(self.rate_bps));
        table.push("utilization", Column::Float(self.utilization));
        table.push("packets", Column::Count(self.packets));
        table.push("bytes", Column::Count(self.bytes));
        table.push("packets_lost", Column::Count(self.lost));
        for (reason, lost) in LossReason::ALL.iter().zip(self.lost_by_reason) {
            if let Some(column) = reason.column().filter(|_| !lost.is_empty()) {
                table.push(column, Column::Count(lost));
            }
        }
        table.push(PACKETS_DUPLICATED, Column::Count(self.duplicated));
        table
    }
}

fn push_ports(table: &mut Table, ports: &[PortReport]) {
    if ports.is_empty() {
        return;
    }
    let count = |of: fn(&PortReport) -> u64| Column::Count(ports.iter().map(of).collect());
    table.push("paused_s", Column::Float(ports.iter().map(|port| port.paused.seconds()).collect()));
    table.push("pause_frames_sent", count(|port| port.pause_frames_sent));
    table.push("control_frames_sent", count(|port| port.control_frames_sent));
    table.push("memory_max_bytes", count(|port| port.memory_max_bytes));
    table.push("frames_lost", count(|port| port.frames_lost));
    if ports.iter().any(|port| port.watchdog.is_some()) {
        table.push("watchdog_storms", count(|port| port.watchdog.map_or(0, |watchdog| watchdog.storms)));
        table.push("watchdog_drops", count(|port| port.watchdog.map_or(0, |watchdog| watchdog.packets_dropped)));
    }
}

/// No columns without adapters.
pub(crate) fn adapter_table(adapters: &[AdapterReport]) -> Table {
    let mut table = Table::default();
    if adapters.is_empty() {
        return table;
    }
    let ports: Vec<_> = adapters.iter().map(|adapter| adapter.port).collect();
    table.push("name", Column::Text(adapters.iter().map(|adapter| &adapter.name).collect()));
    push_ports(&mut table, &ports);
    table.push("source_drops", Column::Count(adapters.iter().map(|adapter| adapter.source_drops).collect()));
    table.push("messages_ignored", Column::Count(adapters.iter().map(|adapter| adapter.messages_ignored).collect()));
    table
}
