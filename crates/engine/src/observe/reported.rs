//! The records that the parts of a network report when a run ends.

use std::collections::BTreeMap;

use forebay_qdisc::{Backlog, Rate, Span, Time};
use forebay_records::StringColumn;

use crate::observe::loss_counters::{LinkLosses, LossCounters};
use crate::observe::queue_counters::FlowAtQueue;
use crate::observe::queue_counters::QueueRecord;
use crate::observe::queue_series::FlowGauges;
use crate::observe::trace::Tracer;
use crate::packet::FlowId;

pub(crate) struct QueueReport<'a> {
    pub name: &'a str,
    pub record: &'a mut QueueRecord,
    pub backlog: Backlog,
    /// Whether queued packets are nowhere else: those of a law's port are in its channel already.
    pub holds_packets: bool,
    pub flow_gauges: &'a FlowGauges<'a>,
    /// Only of an Ethernet switch.
    pub port: Option<PortReport>,
}

pub(crate) struct LinkReport {
    pub number: u32,
    pub rate: Rate,
    pub utilization: f64,
    pub hops: u64,
    pub packets: u64,
    pub bytes: u64,
    pub lost: LinkLosses,
    pub duplicated: LossCounters,
    pub tracer: Option<Box<Tracer>>,
    pub series: Option<Vec<f64>>,
}

/// The row of each flow in results. Flows that are slots of the same transfers, or
/// connections of the same application, have one row together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    flows: u32,
    /// The first flow of each row; empty where each row is one flow.
    first: Vec<u32>,
}

impl Rows {
    /// Adds a row of this number of flows.
    pub fn push(&mut self, flows: u32) {
        if flows != 1 && self.first.is_empty() {
            self.first.extend(0..self.flows);
            self.first.push(self.flows);
        } else if !self.first.is_empty() {
            self.first.push(self.flows);
        }
        self.flows += flows;
    }

    pub fn flows(&self) -> usize {
        self.flows as usize
    }

    /// The row of a flow.
    pub fn of(&self, flow: usize) -> usize {
        if self.are_flows() { flow } else { self.first.partition_point(|&first| first as usize <= flow) - 1 }
    }

    /// The row of a flow, and the number of the flow in it.
    pub fn with_number(&self, flow: usize) -> (usize, u32) {
        let row = self.of(flow);
        (row, if self.are_flows() { 0 } else { flow as u32 - self.first[row] })
    }

    /// The counters at a queue by (row, direction), from those by (flow, direction).
    pub fn merged(
        &self,
        counters: impl Iterator<Item = (usize, FlowAtQueue)>,
    ) -> impl Iterator<Item = (usize, FlowAtQueue)> {
        let (mut plain, mut merged) = (None, BTreeMap::new());
        if self.are_flows() {
            plain = Some(counters);
        } else {
            for (direction, counters) in counters {
                let row: &mut FlowAtQueue = merged.entry(2 * self.of(direction / 2) + direction % 2).or_default();
                row.add(&counters);
            }
        }
        plain.into_iter().flatten().chain(merged)
    }

    /// Whether each row is one flow.
    pub fn are_flows(&self) -> bool {
        self.first.is_empty()
    }
}

/// Labels by row.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowLabels {
    pub rows: Rows,
    names: StringColumn,
    /// Name and kind of each group, and the group of each flow.
    groups: Vec<(String, &'static str)>,
    group_of: Vec<u32>,
    /// The nodes that send data and that receive them.
    ends: Vec<[u32; 2]>,
}

impl FlowLabels {
    /// Flows of a group must come one after the other.
    pub fn push(&mut self, name: &str, group: &str, kind: &'static str, ends: [u32; 2], flows: u32) {
        self.rows.push(flows);
        self.names.push(name);
        // A connection with data both ways is two flows of two groups.
        let known = self.groups.iter().rev().take(2).position(|(other, of_kind)| other == group && *of_kind == kind);
        let place = known.map_or(self.groups.len(), |back| self.groups.len() - 1 - back);
        if known.is_none() {
            self.groups.push((group.to_owned(), kind));
        }
        self.group_of.push(place as u32);
        self.ends.push(ends);
    }

    pub fn len(&self) -> usize {
        self.group_of.len()
    }

    pub fn name(&self, row: usize) -> &str {
        &self.names[row]
    }

    pub fn name_of_flow(&self, flow: FlowId) -> &str {
        self.name(self.rows.of(flow as usize))
    }

    pub fn group_number(&self, row: usize) -> u32 {
        self.group_of[row]
    }

    /// With its kind.
    pub fn name_of_group(&self, number: u32) -> (&str, &'static str) {
        let (name, kind) = &self.groups[number as usize];
        (name, kind)
    }

    pub fn group(&self, row: usize) -> &str {
        &self.groups[self.group_of[row] as usize].0
    }

    /// The indices of the nodes that send data and that receive them.
    pub fn ends(&self, row: usize) -> [u32; 2] {
        self.ends[row]
    }

    /// Names, groups, kinds, and the nodes that send and receive, of which `nodes` has the names.
    pub fn into_columns(self, nodes: &StringColumn) -> [StringColumn; 5] {
        let of_flows = || self.group_of.iter().map(|&group| &self.groups[group as usize]);
        let (groups, kinds) = (of_flows().map(|(name, _)| name).collect(), of_flows().map(|(_, kind)| kind).collect());
        let [sources, destinations] =
            [0, 1].map(|end| self.ends.iter().map(|ends| &nodes[ends[end] as usize]).collect());
        [self.names, groups, kinds, sources, destinations]
    }
}

/// Counts of the measured interval at an Ethernet switch's port or an adapter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PortReport {
    /// How long PAUSE stopped it; with PAUSE by class, the class that was stopped longest.
    pub paused: Span,
    pub pause_frames_sent: u64,
    /// Made here, without PAUSE.
    pub control_frames_sent: u64,
    /// The most bytes held of frames received.
    pub memory_max_bytes: u64,
    /// Received without room.
    pub frames_lost: u64,
    /// If it has a watchdog.
    pub watchdog: Option<WatchdogReport>,
}

/// The work of a watchdog of PAUSE at a port.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WatchdogReport {
    pub storms: u64,
    pub packets_dropped: u64,
    /// Time and class of the first storm of the run.
    pub first: Option<(Time, u8)>,
}

#[derive(Clone, Debug)]
pub(crate) struct AdapterReport {
    pub name: String,
    pub port: PortReport,
    /// Frames generated without room in a virtual output queue: they were never sent.
    pub source_drops: u64,
    /// Messages that found no rate limiter left.
    pub messages_ignored: u64,
}

impl PortReport {
    #[inline]
    pub fn memory(&mut self, bytes: u64) {
        self.memory_max_bytes = self.memory_max_bytes.max(bytes);
    }
}

/// Control frames, with PAUSE, since the start of the run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ControlCount {
    /// Sent, or queued to be sent, where they were made.
    pub created: u64,
    /// Received.
    pub consumed: u64,
    /// For want of room.
    pub lost: u64,
    /// Buffered at the end.
    pub held: u64,
}
