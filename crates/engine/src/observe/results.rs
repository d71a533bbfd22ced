//! The results of a run: tables, time series, and figures of the engine.

use crate::observe::deadlock::Deadlock;
use crate::observe::texts::Texts;

/// One column of a [`Table`].
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Names.
    Text(Texts),
    /// Numbers, with the unit in the column's name; NaN for none.
    Float(Vec<f64>),
    /// Counts.
    Count(Vec<u64>),
}

/// Named columns of equal length, in a fixed order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Name and values.
    pub columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// Adds a column.
    pub fn push(&mut self, name: &'static str, column: Column) {
        self.columns.push((name, column));
    }

    /// The column of that name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(column_name, _)| *column_name == name).map(|(_, column)| column)
    }

    /// The column's numbers; empty if it has none.
    #[must_use]
    pub fn floats(&self, name: &str) -> &[f64] {
        match self.column(name) {
            Some(Column::Float(values)) => values,
            _ => &[],
        }
    }

    /// The column's counts; empty if it has none.
    #[must_use]
    pub fn counts(&self, name: &str) -> &[u64] {
        match self.column(name) {
            Some(Column::Count(values)) => values,
            _ => &[],
        }
    }

    /// The column's names; empty if it has none.
    #[must_use]
    pub fn texts(&self, name: &str) -> &Texts {
        const NONE: &Texts = &Texts::new();
        match self.column(name) {
            Some(Column::Text(values)) => values,
            _ => NONE,
        }
    }
}

/// A quantity sampled at equal intervals: `values[i]` belongs to `start_s + i * interval_s`.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// `"queue"`, `"flow"`, `"link"` or `"queue_flow"`.
    pub kind: &'static str,
    /// The component: `"bottleneck"`, `"tcp-0"`, `"bottleneck/bf"`.
    pub name: String,
    /// The sampled quantity, with its unit last.
    pub quantity: String,
    /// Time of the first value.
    pub start_s: f64,
    /// Time between values.
    pub interval_s: f64,
    /// The samples.
    pub values: Vec<f64>,
}

/// Cost of a run, for benchmarks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EngineStats {
    /// Packets that crossed a link.
    pub packet_hops: u64,
    /// Turns of nodes.
    pub events: u64,
    /// Threads that ran the network.
    pub threads: u64,
    /// CPU time of these threads.
    pub cpu_s: f64,
    /// Largest resident set of the process so far.
    pub peak_rss_bytes: u64,
}

/// A property of a run that its user may not expect, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The property, with the names of what it concerns.
    pub text: String,
    /// How to avoid it.
    pub remedy: String,
}

/// All results of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunResult {
    /// Name of the scenario.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// Simulated time.
    pub duration_s: f64,
    /// Time left out at the start.
    pub warmup_s: f64,
    /// One row a flow.
    pub flows: Table,
    /// Delays of delivered packets by group of flows: the packets with no more than `delay_s`, and more than in the row
    /// before. The digest leaves them out: the table of flows has their percentiles.
    pub delays: Table,
    /// One row a queue, with its port's counts in an Ethernet.
    pub queues: Table,
    /// One row a link.
    pub links: Table,
    /// One row for each (flow, direction) at a queue: they add up to the queue's row.
    pub queue_flows: Table,
    /// One row an adapter; no columns without adapters.
    pub adapters: Table,
    /// Links stopped for good by each other.
    pub deadlock: Option<Deadlock>,
    /// Time series, sorted by kind, name and quantity.
    pub series: Vec<Series>,
    /// Properties of the run that its user may not expect.
    pub warnings: Vec<Warning>,
    /// Speed and memory.
    pub engine: EngineStats,
    /// A hash of the tables and the values of the series, without `delays`, `state_bytes`, `jitter_s`, and the series
    /// of PAUSE and memory.
    pub digest: String,
}
