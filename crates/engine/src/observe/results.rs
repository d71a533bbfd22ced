//! What a run leaves behind: tables of named columns, time series, and the engine's own figures.

use crate::observe::deadlock::Deadlock;
use crate::observe::texts::Texts;

/// One column of a [`Table`].
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Names.
    Text(Texts),
    /// Numbers with a unit, which the column's name ends in; NaN where there is none.
    Float(Vec<f64>),
    /// Counts.
    Count(Vec<u64>),
}

/// A table of equally long, named columns in a fixed order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Name and values of each column.
    pub columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// Adds a column.
    pub fn push(&mut self, name: &'static str, column: Column) {
        self.columns.push((name, column));
    }

    /// The column of that name, if the table has it.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(column_name, _)| *column_name == name).map(|(_, column)| column)
    }

    /// The numbers of that column; empty if there is none of that name or it holds no `Float`.
    #[must_use]
    pub fn floats(&self, name: &str) -> &[f64] {
        match self.column(name) {
            Some(Column::Float(values)) => values,
            _ => &[],
        }
    }

    /// The counts of that column; empty if there is none of that name or it holds no `Count`.
    #[must_use]
    pub fn counts(&self, name: &str) -> &[u64] {
        match self.column(name) {
            Some(Column::Count(values)) => values,
            _ => &[],
        }
    }

    /// The names of that column; empty if there is none of that name or it holds no `Text`.
    #[must_use]
    pub fn texts(&self, name: &str) -> &Texts {
        const NONE: &Texts = &Texts::new();
        match self.column(name) {
            Some(Column::Text(values)) => values,
            _ => NONE,
        }
    }
}

/// One quantity sampled at equal intervals: `values[i]` belongs to `start_s + i * interval_s`.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// `"queue"`, `"flow"`, `"link"` or `"queue_flow"`.
    pub kind: &'static str,
    /// The component: `"bottleneck"`, `"tcp-0"`, `"bottleneck/bf"`.
    pub name: String,
    /// What was sampled, with its unit last where it has one.
    pub quantity: String,
    /// Time of the first value in seconds.
    pub start_s: f64,
    /// Time between values in seconds.
    pub interval_s: f64,
    /// The values.
    pub values: Vec<f64>,
}

/// How the run went, for benchmarks; not part of the digest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EngineStats {
    /// Packets, data or ACK, that crossed a link.
    pub packet_hops: u64,
    /// Turns of the parts of the network.
    pub events: u64,
    /// CPU time of the thread in seconds.
    pub cpu_s: f64,
    /// Largest resident set of the whole process so far in bytes.
    pub peak_rss_bytes: u64,
}

/// All results of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunResult {
    /// Name of the scenario.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// Simulated time in seconds.
    pub duration_s: f64,
    /// What the tables leave out at the start, in seconds.
    pub warmup_s: f64,
    /// One row a flow.
    pub flows: Table,
    /// One row a queue.
    pub queues: Table,
    /// One row a link.
    pub links: Table,
    /// One row for each flow and direction at each queue with books: those of a queue add up to its row in `queues`.
    pub queue_flows: Table,
    /// One row a port of an Ethernet switch or adapter; without columns where there is none.
    pub ports: Table,
    /// Links that had stopped each other for good when the run ended.
    pub deadlock: Option<Deadlock>,
    /// Time series, in the order in which the scenario asks for them.
    pub series: Vec<Series>,
    /// Speed and memory.
    pub engine: EngineStats,
    /// A hash of everything above except `engine` and the queues' `state_bytes`: equal digests mean equal results.
    pub digest: String,
}
