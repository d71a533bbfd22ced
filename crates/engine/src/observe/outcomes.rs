//! The outcomes of applications and probes: a row of the table of their kind for each flow.

use std::collections::{BTreeMap, BTreeSet};

use forebay_records::{Column, Table};

use crate::observe::reported::FlowLabels;

/// A kind of outcomes, with a table of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutcomeKind {
    /// A video that was watched.
    Video,
    /// Web pages that were loaded.
    Pages,
    /// Round trips of a probe.
    Ping,
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OutcomeValue {
    /// A number of things.
    Count(u64),
    /// A time in seconds, a rate in bit/s.
    Float(f64),
}

/// The outcome of an application or a probe, in the measured interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The table.
    pub kind: OutcomeKind,
    /// Its columns, the same ones for all outcomes of a kind.
    pub values: Vec<(&'static str, OutcomeValue)>,
    /// Time series by quantity, with a value for each sample.
    pub series: Vec<(&'static str, Vec<f64>)>,
}

/// The rows of all tables, by kind and the row of the flow.
#[derive(Default)]
pub(crate) struct Outcomes {
    rows: BTreeMap<(OutcomeKind, usize), Vec<(&'static str, OutcomeValue)>>,
}

impl Outcomes {
    pub fn add(&mut self, row: usize, kind: OutcomeKind, values: Vec<(&'static str, OutcomeValue)>) {
        self.rows.insert((kind, row), values);
    }

    /// The names of the flows with an outcome.
    pub fn flows<'a>(&self, labels: &'a FlowLabels) -> BTreeSet<&'a str> {
        self.rows.keys().map(|&(_, row)| labels.name(row)).collect()
    }

    /// The tables of videos, pages and pings.
    pub fn tables(&self, labels: &FlowLabels) -> [Table; 3] {
        [OutcomeKind::Video, OutcomeKind::Pages, OutcomeKind::Ping].map(|kind| self.table(kind, labels))
    }

    /// The table of a kind; no columns without outcomes.
    fn table(&self, kind: OutcomeKind, labels: &FlowLabels) -> Table {
        let mut table = Table::default();
        let rows = || self.rows.range((kind, 0)..=(kind, usize::MAX)).map(|(&(_, row), values)| (row, values));
        let Some((_, first)) = rows().next() else { return table };
        table.push("name", Column::Text(rows().map(|(row, _)| labels.name(row).to_owned()).collect()));
        table.push("group", Column::Text(rows().map(|(row, _)| labels.group(row).to_owned()).collect()));
        for (place, &(name, value)) in first.iter().enumerate() {
            let values = rows().map(|(_, values)| values[place].1);
            let column = match value {
                OutcomeValue::Count(_) => Column::Count(values.map(OutcomeValue::count).collect()),
                OutcomeValue::Float(_) => Column::Float(values.map(OutcomeValue::float).collect()),
            };
            table.push(name, column);
        }
        table
    }
}

impl OutcomeValue {
    fn count(self) -> u64 {
        match self {
            Self::Count(count) => count,
            Self::Float(value) => value as u64,
        }
    }

    fn float(self) -> f64 {
        match self {
            Self::Count(count) => count as f64,
            Self::Float(value) => value,
        }
    }
}
