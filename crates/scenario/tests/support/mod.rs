//! Ethernets written as scenarios, and a look into what they leave behind.

#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_engine::RunResult;
use forebay_records::{Column, Series, Table};
use forebay_scenario::{Choice, Scenario, choices, run};

/// Links of the E2CM proposal, with memory and watermarks of its switches and adapters.
pub const LOSSLESS: &str = r#"
link = { rate = "10 Gbps", delay = "500 ns" }
switch = { memory = "300 KB", pause = { high = "280 KB", low = "260 KB" } }
adapter = { egress_memory = "150 KB", pause = { high = "140 KB", low = "130 KB" } }
"#;

/// Its two switches, with the victim's source on the trunk to the hot node.
pub const TWO_SWITCHES: &str = r#"
switches = [{ name = "SW1", nodes = ["1", "2"] }, { name = "SW2", nodes = ["3", "4", "5", "6", "7"] }]
trunks = [["SW1", "SW2"]]
"#;

/// Its four edge switches around a core.
pub const TREE: &str = r#"
switches = [
    { name = "ES1", nodes = ["1", "2", "3"] }, { name = "ES2", nodes = ["4", "5", "6"] },
    { name = "ES3", nodes = ["7", "8"] }, { name = "ES4", nodes = ["9", "10"] }, { name = "C0" },
]
trunks = [["ES1", "C0"], ["ES2", "C0"], ["ES3", "C0"], ["ES4", "C0"]]
"#;

/// Queues with classes, for traffic classes from 0 on.
const CLASSES: [(&str, &str); 4] = [
    (
        "cbq",
        r#"{ cbq = { classes = [
            { name = "a", classes = [1], rate = "2 Mbps", queue = "blue" }, { name = "b", queue = "red_pd" },
        ] } }"#,
    ),
    (
        "htb",
        r#"{ htb = { default_class = "b", classes = [
            { name = "root", rate = "4 Mbps" },
            { name = "a", parent = "root", classes = [1], rate = "1 Mbps", ceil = "3 Mbps" },
            { name = "b", parent = "root", rate = "2 Mbps", ceil = "4 Mbps", queue = "codel" },
        ] } }"#,
    ),
    (
        "taprio",
        r#"{ taprio = {
            classes = [{ name = "a", classes = [1] }, { name = "b", queue = "fq_codel" }],
            schedule = [{ open = ["a"], interval = "7 ms" }, { open = ["a", "b"], interval = "20 ms" }],
        } }"#,
    ),
    (
        "bands and a shaper",
        r#"{ ets = { strict = 1, bands = [
            { name = "a", classes = [1], queue = { tbf = { rate = "1 Mbps" } } },
            { name = "b", classes = [2], queue = "red" },
            { name = "c", quantum = "500 B" },
        ] } }"#,
    ),
];

/// Every discipline, with its name and its text in a scenario.
pub fn disciplines() -> Vec<(String, String)> {
    let all = choices().into_iter().filter(|choice| choice.kind == "discipline");
    let bare = all.filter(Choice::has_defaults).map(|choice| (choice.name.clone(), format!("\"{}\"", choice.name)));
    bare.chain(CLASSES.map(|(name, queue)| (name.to_owned(), queue.to_owned()))).collect()
}

/// One switch `SW` with the nodes 1, 2, …
pub fn star(nodes: usize) -> String {
    let names: Vec<String> = (1..=nodes).map(|node| node.to_string()).collect();
    format!("switches = [{{ name = \"SW\", nodes = {names:?} }}]\n")
}

/// A group of flows; `frames` are the keys of `transport.frames`.
pub fn flows(name: &str, from: &[&str], to: &str, frames: &str) -> String {
    classed(name, 0, from, to, frames)
}

/// The same, in a traffic class.
pub fn classed(name: &str, class: u8, from: &[&str], to: &str, frames: &str) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\nclass = {class}\nfrom = {from:?}\nto = \"{to}\"\n\
         transport.frames = {{ {frames} }}\n"
    )
}

/// A scenario of this many milliseconds, measured after the first `warmup_ms`, with a sample of everything every
/// `interval`, such as `"1 ms"`.
pub struct Timing {
    pub warmup_ms: f64,
    pub duration_ms: f64,
    pub interval: Option<&'static str>,
}

impl Timing {
    /// Without samples.
    pub fn new(warmup_ms: f64, duration_ms: f64) -> Self {
        Self { warmup_ms, duration_ms, interval: None }
    }

    pub fn sampled(self, interval: &'static str) -> Self {
        Self { interval: Some(interval), ..self }
    }
}

/// Loads the scenario of an Ethernet with these keys and these flows.
pub fn load(timing: &Timing, ethernet: &str, flows: &str) -> Scenario {
    let probes = timing.interval.map_or(String::new(), |interval| {
        format!("[probes]\ninterval = \"{interval}\"\nseries = [\"queues\", \"flows\", \"links\"]\n")
    });
    let text = format!(
        "duration = \"{} ms\"\nwarmup = \"{} ms\"\n[topology.ethernet]\n{ethernet}\n{flows}\n{probes}",
        timing.duration_ms, timing.warmup_ms
    );
    Scenario::load(&text, "ethernet.toml", &[]).unwrap_or_else(|error| panic!("{}\n{text}", error.render(false)))
}

/// Runs it.
pub fn simulate(timing: &Timing, ethernet: &str, flows: &str) -> RunResult {
    run(&load(timing, ethernet, flows), Some(1), None, &mut |_| true).unwrap_or_else(|error| panic!("{error}"))
}

fn row(table: &Table, name: &str) -> usize {
    let names = table.texts("name");
    names.iter().position(|row| row == name).unwrap_or_else(|| panic!("no `{name}` in {names:?}"))
}

/// A count in the row of this name.
pub fn count(table: &Table, name: &str, column: &str) -> u64 {
    table.counts(column)[row(table, name)]
}

/// A number in the row of this name.
pub fn number(table: &Table, name: &str, column: &str) -> f64 {
    table.floats(column)[row(table, name)]
}

/// The goodput of a flow, in Gb/s.
pub fn gigabits(result: &RunResult, flow: &str) -> f64 {
    number(&result.flows, flow, "goodput_bps") / 1e9
}

/// The goodput of all flows together, in Gb/s.
pub fn total_gigabits(result: &RunResult) -> f64 {
    result.flows.floats("goodput_bps").iter().sum::<f64>() / 1e9
}

/// The sum of this column over all rows of the table.
pub fn sum(table: &Table, column: &str) -> u64 {
    table.counts(column).iter().sum()
}

/// The counters of both the ports and the adapters of an Ethernet, in one table.
pub fn ports(result: &RunResult) -> Table {
    let together = |name: &str, column: &Column| match (column, result.queues.column(name)?) {
        (Column::Text(ends), Column::Text(ports)) => Some(Column::Text(ports.iter().chain(ends.iter()).collect())),
        (Column::Float(ends), Column::Float(ports)) => Some(Column::Float([&ports[..], ends].concat())),
        (Column::Count(ends), Column::Count(ports)) => Some(Column::Count([&ports[..], ends].concat())),
        _ => None,
    };
    let columns = result.adapters.columns.iter();
    Table { columns: columns.filter_map(|(name, column)| Some((*name, together(name, column)?))).collect() }
}

/// The time series of this name.
pub fn series<'a>(result: &'a RunResult, name: &str, quantity: &str) -> &'a Series {
    let found = result.series.iter().find(|series| series.name == name && series.quantity == quantity);
    found.unwrap_or_else(|| panic!("no series `{quantity}` of `{name}`"))
}

/// The mean of the values from `from_s` on.
pub fn mean_from(series: &Series, from_s: f64) -> f64 {
    let skipped = ((from_s - series.start_s) / series.interval_s).ceil().max(0.0) as usize;
    let values = &series.values[skipped..];
    values.iter().sum::<f64>() / values.len() as f64
}

/// Asserts that a number is within so much of what it should be, relative to that.
#[track_caller]
pub fn assert_near(what: &str, value: f64, expected: f64, relative: f64) {
    assert!((value - expected).abs() <= relative * expected, "{what}: {value} instead of {expected} +- {relative}");
}
