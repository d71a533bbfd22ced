//! Transfers that arrive during the run: their counters, and a row for each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use forebay_qdisc::{Span, Time};
use forebay_records::{Column, DelayHistogram, Table};

use crate::error::RunError;
use crate::observe::reported::FlowLabels;

/// A transfer that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Its number in its flow, from 0, in the order of arrival.
    pub number: u64,
    /// When it arrived.
    pub arrived: Time,
    /// When its connection was opened: later, if it waited for another connection to end.
    pub started: Time,
    /// When its sender had the acknowledgment of everything.
    pub finished: Time,
    /// Payload.
    pub bytes: u64,
    /// Segments.
    pub retransmitted: u64,
}

/// Takes the rows of transfers during a run.
pub trait TransferTable: Send {
    /// Some transfers of the flow of this name are complete.
    ///
    /// # Errors
    /// If they cannot be written.
    fn add(&mut self, flow: &str, transfers: &[Transfer]) -> Result<(), RunError>;

    /// The run is over.
    ///
    /// # Errors
    /// If the rest cannot be written.
    fn close(&mut self) -> Result<(), RunError>;
}

/// The table that all sources of a run share, also those on other threads.
#[derive(Clone)]
pub(crate) struct SharedTable {
    table: Arc<Mutex<Opened>>,
}

struct Opened {
    table: Box<dyn TransferTable>,
    failure: Option<RunError>,
}

impl SharedTable {
    pub fn new(table: Box<dyn TransferTable>) -> Self {
        Self { table: Arc::new(Mutex::new(Opened { table, failure: None })) }
    }

    fn add(&self, flow: &str, transfers: &[Transfer]) {
        let mut opened = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.failure.is_none() {
            opened.failure = opened.table.add(flow, transfers).err();
        }
    }

    pub fn close(&self) -> Result<(), RunError> {
        let mut opened = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        opened.failure.take().map_or(Ok(()), Err)?;
        opened.table.close()
    }
}

/// The way of the transfers of one flow into the table. The last rows go there when it is dropped.
pub(crate) struct TransferWriter {
    flow: String,
    table: SharedTable,
    rows: Vec<Transfer>,
}

/// Rows that go into the table together.
const ROWS: usize = 512;

impl TransferWriter {
    pub fn new(flow: &str, table: SharedTable) -> Self {
        Self { flow: flow.to_owned(), table, rows: Vec::new() }
    }

    pub fn write(&mut self, transfer: Transfer) {
        self.rows.push(transfer);
        if self.rows.len() == ROWS {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.table.add(&self.flow, &self.rows);
        self.rows.clear();
    }
}

impl Drop for TransferWriter {
    fn drop(&mut self) {
        if !self.rows.is_empty() {
            self.flush();
        }
    }
}

/// The counts of all transfers, by the row of their flow.
#[derive(Default)]
pub(crate) struct TransferSummary {
    rows: BTreeMap<usize, TransferRecord>,
    /// Stale packets at the receiving end.
    stale: BTreeMap<usize, u64>,
}

impl TransferSummary {
    pub fn sent(&mut self, row: usize, record: TransferRecord) {
        self.rows.insert(row, record);
    }

    pub fn received(&mut self, row: usize, stale: u64) {
        if stale > 0 {
            self.stale.insert(row, stale);
        }
    }

    /// The row with most transfers that waited, how many waited and how many arrived; `None` if none waited.
    pub fn most_waited(&self) -> Option<(usize, u64, u64)> {
        let (&row, most) = self.rows.iter().max_by_key(|(_, record)| record.waited)?;
        (most.waited > 0).then_some((row, most.waited, most.arrived))
    }

    pub fn table(&self, labels: &FlowLabels) -> Table {
        let mut table = Table::default();
        if self.rows.is_empty() {
            return table;
        }
        let records = || self.rows.values();
        let text = |of: &dyn Fn(usize) -> String| Column::Text(self.rows.keys().map(|&row| of(row)).collect());
        let count = |of: fn(&TransferRecord) -> u64| Column::Count(records().map(of).collect());
        let time = |of: &dyn Fn(&DelayHistogram) -> f64| Column::Float(records().map(|row| of(&row.time)).collect());
        let stale = |(row, sent): (&usize, &TransferRecord)| sent.stale + self.stale.get(row).copied().unwrap_or(0);
        table.push("name", text(&|row| labels.name(row).to_owned()));
        table.push("group", text(&|row| labels.group(row).to_owned()));
        table.push("arrived", count(|record| record.arrived));
        table.push("waited", count(|record| record.waited));
        table.push("completed", count(|record| record.completed));
        table.push("connections_max", count(|record| record.most_active));
        table.push("time_mean_s", time(&DelayHistogram::mean_s));
        table.push("time_p50_s", time(&|times| times.quantile_s(0.50)));
        table.push("time_p95_s", time(&|times| times.quantile_s(0.95)));
        table.push("time_p99_s", time(&|times| times.quantile_s(0.99)));
        table.push("time_max_s", time(&DelayHistogram::max_s));
        table.push("packets_stale", Column::Count(self.rows.iter().map(stale).collect()));
        table
    }
}

/// Counts of the transfers of one flow, in the measured interval.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransferRecord {
    pub arrived: u64,
    /// Arrived while all connections were in use.
    pub waited: u64,
    pub completed: u64,
    /// From arrival to completion.
    pub time: DelayHistogram,
    /// Connections now, and the most at a time.
    active: u64,
    pub most_active: u64,
    /// ACKs of earlier generations, since the start.
    pub stale: u64,
}

impl TransferRecord {
    pub fn arrived(&mut self, waits: bool) {
        self.arrived += 1;
        self.waited += u64::from(waits);
    }

    pub fn began(&mut self) {
        self.active += 1;
        self.most_active = self.most_active.max(self.active);
    }

    pub fn ended(&mut self, time: Span) {
        self.active -= 1;
        self.completed += 1;
        self.time.record(time);
    }

    pub fn begin_measurement(&mut self) {
        let &mut Self { active, stale, .. } = self;
        *self = Self { active, most_active: active, stale, ..Self::default() };
    }
}
