//! The summary of completion times, by group and size.

use forebay_records::{Column, Table};

/// A flow that started in the measured interval.
pub(super) struct Flow<'a> {
    pub group: &'a str,
    pub size_bytes: f64,
    /// NaN if it did not finish.
    pub fct_s: f64,
    pub slowdown: f64,
}

/// The flows of a group.
pub(super) struct Group<'a> {
    pub name: &'a str,
    pub flows: Vec<Flow<'a>>,
}

/// Ranges of sizes: their names, the size above which and the one up to which.
const RANGES: [(&str, f64, f64); 5] = [
    ("<= 10 KB", 0.0, 1e4),
    ("<= 100 KB", 1e4, 1e5),
    ("<= 1 MB", 1e5, 1e6),
    ("> 1 MB", 1e6, f64::INFINITY),
    ("all", 0.0, f64::INFINITY),
];

impl Group<'_> {
    pub fn unfinished(&self) -> usize {
        self.flows.iter().filter(|flow| flow.fct_s.is_nan()).count()
    }
}

/// The groups of the flows, which come one group after the other.
pub(super) fn groups<'a>(flows: impl Iterator<Item = Flow<'a>>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for flow in flows {
        match groups.iter_mut().find(|group| group.name == flow.group) {
            Some(group) => group.flows.push(flow),
            None => groups.push(Group { name: flow.group, flows: vec![flow] }),
        }
    }
    groups
}

/// Mean and percentiles of some values. As in HPCC's analysis, a percentile is the value at that share of the sorted
/// list, rounded down.
#[derive(Default)]
struct Statistics {
    mean: Vec<f64>,
    percentiles: [Vec<f64>; 3],
}

const SHARES: [f64; 3] = [0.50, 0.95, 0.99];

impl Statistics {
    fn add(&mut self, mut values: Vec<f64>) {
        values.sort_unstable_by(f64::total_cmp);
        self.mean.push(values.iter().sum::<f64>() / values.len() as f64);
        for (column, share) in self.percentiles.iter_mut().zip(SHARES) {
            column.push(values.get((values.len() as f64 * share) as usize).copied().unwrap_or(f64::NAN));
        }
    }
}

/// A row for each group and range of sizes that has flows; `base` is the name of the base of slowdowns.
pub(super) fn table(groups: &[Group<'_>], base: &'static str) -> Table {
    let (mut names, mut of_groups, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
    let (mut completed, mut unfinished) = (Vec::new(), Vec::new());
    let [mut times, mut slowdowns] = [(); 2].map(|()| Statistics::default());
    for group in groups {
        for (range, above, up_to) in RANGES {
            let is_in = |flow: &&Flow<'_>| (flow.size_bytes > above || above == 0.0) && flow.size_bytes <= up_to;
            let (finished, others): (Vec<_>, Vec<_>) =
                group.flows.iter().filter(is_in).partition(|flow| !flow.fct_s.is_nan());
            if finished.is_empty() && others.is_empty() {
                continue;
            }
            names.push(format!("{} {range}", group.name));
            of_groups.push(group.name);
            ranges.push(range);
            completed.push(finished.len() as u64);
            unfinished.push(others.len() as u64);
            times.add(finished.iter().map(|flow| flow.fct_s).collect());
            slowdowns.add(finished.iter().map(|flow| flow.slowdown).filter(|it| !it.is_nan()).collect());
        }
    }
    let mut table = Table::default();
    if names.is_empty() {
        return table;
    }
    table.push("name", Column::Text(names.iter().collect()));
    table.push("group", Column::Text(of_groups.into_iter().collect()));
    table.push("sizes", Column::Text(ranges.iter().collect()));
    table.push("base", Column::Text(ranges.iter().map(|_| base).collect()));
    table.push("completed", Column::Count(completed));
    table.push("unfinished", Column::Count(unfinished));
    let [fct_p50, fct_p95, fct_p99] = times.percentiles;
    let [p50, p95, p99] = slowdowns.percentiles;
    for (name, values) in [
        ("fct_mean_s", times.mean),
        ("fct_p50_s", fct_p50),
        ("fct_p95_s", fct_p95),
        ("fct_p99_s", fct_p99),
        ("slowdown_mean", slowdowns.mean),
        ("slowdown_p50", p50),
        ("slowdown_p95", p95),
        ("slowdown_p99", p99),
    ] {
        table.push(name, Column::Float(values));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_counted_in_the_range_of_their_size() {
        let flow = |group, size_bytes, fct_s| Flow { group, size_bytes, fct_s, slowdown: fct_s };
        let flows = [
            flow("web", 1.0, 1.0),
            flow("web", 1e4, 3.0),
            flow("web", 10_001.0, 5.0),
            flow("web", 2e6, f64::NAN),
            flow("incast", 1e6, 2.0),
        ];
        let table = table(&groups(flows.into_iter()), "hpcc");
        let names: Vec<&str> = table.texts("name").iter().collect();
        assert_eq!(names, ["web <= 10 KB", "web <= 100 KB", "web > 1 MB", "web all", "incast <= 1 MB", "incast all"]);
        assert_eq!(table.counts("completed"), [2, 1, 0, 3, 1, 1]);
        assert_eq!(table.counts("unfinished"), [0, 0, 1, 1, 0, 0]);
        let means = table.floats("fct_mean_s");
        assert!(means[2].is_nan());
        assert_eq!([means[0], means[1], means[3], means[4]], [2.0, 5.0, 3.0, 2.0]);
        assert_eq!(table.floats("slowdown_p50")[3], 3.0);
    }

    #[test]
    fn a_percentile_is_the_value_at_its_share_rounded_down() {
        let mut statistics = Statistics::default();
        statistics.add((0..200).rev().map(f64::from).collect());
        assert_eq!(statistics.percentiles.map(|column| column[0]), [100.0, 190.0, 198.0]);
        assert_eq!(statistics.mean, [99.5]);
    }
}
