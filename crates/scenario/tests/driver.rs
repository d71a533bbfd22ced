//! The driver gives the results of a run in the order of the global clock, to the last bit.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/networks.rs"]
mod networks;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use forebay_engine::{RunResult, Table};
use forebay_scenario::{Scenario, names, run, run_in_order};
use proptest::prelude::*;

fn load(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    Scenario::load(text, "test.toml", &overrides).unwrap_or_else(|error| panic!("{}\n{text}", error.render(false)))
}

/// Where two results differ, table by table and series by series: a digest alone says nothing.
fn differences(one: &RunResult, other: &RunResult) -> String {
    let tables = |run: &RunResult| [&run.flows, &run.queues, &run.links, &run.queue_flows].map(Table::clone);
    let mut differences = String::new();
    for (left, right) in tables(one).into_iter().zip(tables(other)) {
        for ((name, left), (_, right)) in left.columns.iter().zip(&right.columns) {
            let (left, right) = (format!("{left:?}"), format!("{right:?}"));
            if left != right {
                differences += &format!("{name}:\n  {left}\n  {right}\n");
            }
        }
    }
    for (left, right) in one.series.iter().zip(&other.series) {
        if format!("{left:?}") != format!("{right:?}") {
            differences += &format!("series {} of {}\n", left.quantity, left.name);
        }
    }
    differences
}

/// Runs the scenario both ways, with traces into folders of their own below `out`, and returns what the driver gives.
#[track_caller]
fn compare(scenario: &Scenario, out: Option<&Path>) -> RunResult {
    let folder = |name: &str| {
        out.map(|out| {
            let folder = out.join(name);
            fs::create_dir_all(&folder).unwrap();
            folder
        })
    };
    let (in_windows, in_order) = (folder("windows"), folder("order"));
    let result = run(scenario, Some(3), in_windows.as_deref(), &mut |_| true).unwrap();
    let oracle = run_in_order(scenario, Some(3), in_order.as_deref(), &mut |_| true).unwrap();
    assert_eq!(result.digest, oracle.digest, "{}", differences(&result, &oracle));
    for (one, other) in in_windows.iter().zip(&in_order) {
        for file in fs::read_dir(one).unwrap() {
            let name = file.unwrap().file_name();
            let same = fs::read(one.join(&name)).unwrap() == fs::read(other.join(&name)).unwrap();
            assert!(same, "the trace {name:?} differs");
        }
    }
    result
}

/// A folder that is there until the value goes.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("driver-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// As many cases as `PROPTEST_CASES` asks for; few without it.
fn cases() -> ProptestConfig {
    let config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_some() { config } else { ProptestConfig { cases: 64, ..config } }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn random_networks_run_alike(text in networks::network(), traced in any::<Option<prop::sample::Index>>()) {
        let scenario = load(&text, &[]);
        let Some(traced) = traced else {
            compare(&scenario, None);
            return Ok(());
        };
        let links: Vec<String> = names::links(scenario.spec()).collect();
        let link = &links[traced.index(links.len())];
        let traced = load(&format!("{text}[[traces]]\nlink = \"{link}\"\nfile = \"trace.pcapng\"\n"), &[]);
        compare(&traced, Some(&Folder::new().0));
    }
}

/// Hosts that are joined by one link feed one another, and something that nothing feeds sends to them as well.
#[test]
fn hosts_without_a_router_between_them_run() {
    let text = r#"
        duration = "100 ms"
        [topology.graph]
        nodes = [{ name = "a" }, { name = "b" }]
        links = [{ from = "a", to = "b", rate = "10 Mbps", delay = "1 ms" }]
        [[flows]]
        name = "tcp"
        from = ["a", "b"]
        to = ["b", "a"]
        count = 2
        transport = "tcp"
        [[flows]]
        name = "udp"
        from = "a"
        to = "b"
        transport.udp = { packet = "1000 B", constant = { rate = "4 Mbps" } }
    "#;
    let result = compare(&load(text, &[]), None);
    assert!(result.flows.counts("packets_delivered").iter().all(|&packets| packets > 20), "{:?}", result.flows);
}
