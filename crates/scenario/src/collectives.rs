//! The time of messages that make something together: collective operations and traces.

use forebay_engine::RunResult;
use forebay_records::{Column, Table};

use crate::patterns::Whole;
use crate::plan::outline::Outline;

/// A collective, once.
struct Done<'a> {
    name: String,
    group: &'a str,
    whole: Whole,
    start_s: f64,
    /// NaN if it has not ended.
    end_s: f64,
}

impl Done<'_> {
    fn time_s(&self) -> f64 {
        self.end_s - self.start_s
    }

    fn bytes(&self) -> f64 {
        self.whole.bytes.map_or(f64::NAN, |bytes| bytes as f64)
    }
}

/// Adds the table of collectives; without any, nothing.
pub(crate) fn add(outline: &Outline<'_>, result: &mut RunResult) {
    let groups = || outline.spec.flows.iter().filter(|group| group.waits_for_messages());
    if groups().next().is_none() {
        return;
    }
    let flows = &result.flows;
    let mut all = Vec::new();
    for group in groups() {
        let Some((pattern, setting)) = outline.pattern(group) else { continue };
        let Some(whole) = pattern.whole(&setting) else { continue };
        let rows = flows.texts("group").iter().enumerate().filter(|(_, name)| *name == group.name).map(|(row, _)| row);
        let rows: Vec<usize> = rows.collect();
        let each = (rows.len() / whole.repeat as usize).max(1);
        let (starts, arrivals) = (flows.floats("start_s"), flows.floats("finished_s"));
        for (rows, number) in rows.chunks(each).zip(1..) {
            let latest = |values: &mut dyn Iterator<Item = f64>| {
                // Not a number wins.
                values.fold(0.0_f64, |latest, value| if value > latest || value.is_nan() { value } else { latest })
            };
            let (start_s, end_s) = if whole.bytes.is_some() {
                let start = rows.iter().map(|&row| starts[row]).fold(f64::NAN, f64::min);
                (start, latest(&mut rows.iter().map(|&row| arrivals[row])))
            } else {
                let ranks = result.ranks.texts("group").iter().zip(result.ranks.floats("end_s"));
                let mut ends = ranks.filter(|(name, _)| *name == group.name).map(|(_, end)| *end);
                (setting.begin().seconds(), latest(&mut ends))
            };
            let name = if whole.repeat == 1 { group.name.clone() } else { format!("{} {number}", group.name) };
            all.push(Done { name, group: &group.name, whole, start_s, end_s });
        }
    }
    if !all.is_empty() {
        result.collectives = table(&all);
    }
}

fn table(all: &[Done<'_>]) -> Table {
    let mut table = Table::default();
    table.push("name", Column::Text(all.iter().map(|done| &done.name).collect()));
    table.push("group", Column::Text(all.iter().map(|done| done.group).collect()));
    table.push("operation", Column::Text(all.iter().map(|done| done.whole.operation).collect()));
    table.push("algorithm", Column::Text(all.iter().map(|done| done.whole.algorithm).collect()));
    table.push("hosts", Column::Count(all.iter().map(|done| done.whole.hosts as u64).collect()));
    table.push("size_bytes", Column::Float(all.iter().map(Done::bytes).collect()));
    table.push("start_s", Column::Float(all.iter().map(|done| done.start_s).collect()));
    table.push("end_s", Column::Float(all.iter().map(|done| done.end_s).collect()));
    table.push("time_s", Column::Float(all.iter().map(Done::time_s).collect()));
    let bandwidth = |done: &Done<'_>| done.whole.bus_factor * 8.0 * done.bytes() / done.time_s();
    table.push("bus_bandwidth_bps", Column::Float(all.iter().map(bandwidth).collect()));
    table
}
