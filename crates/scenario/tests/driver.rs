//! The driver gives the results of a run in the order of the global clock, to the last bit, on any number of threads.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/networks.rs"]
mod networks;

use std::fs;
use std::num::NonZeroUsize;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use forebay_engine::{RunError, RunResult};
use forebay_qdisc::{Admission, Arrival, CustomDiscipline, Offer, Ticket, Verdict};
use forebay_records::Table;
use forebay_scenario::{CustomClasses, Scenario, Site, names, run, run_divided, run_in_order};
use forebay_tcp::ControllerMaker;
use forebay_units::PythonClass;
use proptest::prelude::*;
use proptest::sample::Index;

fn load(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    load_file("test.toml", text, overrides)
}

fn load_file(path: &str, text: &str, overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    Scenario::load(text, path, &overrides).unwrap_or_else(|error| panic!("{}\n{text}", error.render(false)))
}

/// Where two results differ, table by table and series by series: a digest alone says nothing.
fn differences(one: &RunResult, other: &RunResult) -> String {
    let tables = |run: &RunResult| [&run.flows, &run.queues, &run.links, &run.queue_flows].map(Table::clone);
    let mut differences = String::new();
    for (left, right) in tables(one).into_iter().zip(tables(other)) {
        for ((name, left), (_, right)) in left.columns.iter().zip(&right.columns) {
            let (left, right) = (format!("{left:?}"), format!("{right:?}"));
            // Samples see more of the memory of disciplines than the end of a run does.
            if left != right && *name != "state_bytes" {
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

/// Runs the scenario both ways and on several threads, with traces into folders of their own below `out`, and returns
/// what the driver gives on one thread.
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
    let mut folders = vec![in_order];
    for threads in [2, 4] {
        let folder = folder(&format!("threads-{threads}"));
        let most = NonZeroUsize::new(threads).unwrap();
        let threaded = run_divided(most, scenario, Some(3), folder.as_deref(), None, &mut |_| true).unwrap();
        assert!(threaded.engine.threads <= threads as u64);
        assert_eq!(threaded.digest, oracle.digest, "{threads} threads: {}", differences(&threaded, &oracle));
        folders.push(folder);
    }
    for (one, other) in folders.iter().flat_map(|other| in_windows.iter().zip(other)) {
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

/// Runs the scenarios of a folder for a short time, in which all their flows start.
fn compare_all(folder: &str, least: usize) {
    let scenarios = networks::scenarios(folder);
    assert!(scenarios.len() >= least, "{folder}: {}", scenarios.len());
    for (path, text) in scenarios {
        let duration = match &text {
            // Hundreds of hosts, under load all the time.
            text if text.starts_with("# Benchmark f") => "200 us",
            text if text.contains("[topology.ethernet]") => "5 ms",
            text if text.contains("[topology.switch]") => "300 ms",
            text if text.contains("ethernet_switch") => "400 ms",
            // The trace begins slowly.
            text if text.contains("trace.file") => "2 s",
            _ => "1 s",
        };
        let text = text.replace("[\"0 s\", \"1 s\"]", "[\"0 s\", \"200 ms\"]");
        let scenario = load_file(&path, &text, &[("duration", duration), ("warmup", "0 s")]);
        let result = compare(&scenario, None);
        let sent = result.flows.counts("packets_sent").iter().sum::<u64>();
        assert!(sent > 700, "{path}: {sent} packets");
    }
}

#[test]
fn examples_run_alike() {
    compare_all("examples", 6);
}

#[test]
fn benchmarks_run_alike() {
    compare_all("benches/scenarios", 6);
}

/// Two cities with five milliseconds between them.
const CITIES: &str = r#"
    duration = "20 s"
    [topology.dumbbell]
    access = { rate = "100 Mbps", delay = "1 ms" }
    bottleneck = { rate = "50 Mbps", delay = "5 ms", queue = "red" }
    [[flows]]
    name = "tcp"
    count = 20
    transport = "tcp"
"#;

fn on_threads(
    scenario: &Scenario,
    threads: usize,
    control: &mut dyn FnMut(f64) -> bool,
) -> Result<RunResult, RunError> {
    run_divided(NonZeroUsize::new(threads).unwrap(), scenario, None, None, None, control)
}

#[test]
fn a_run_tells_how_many_threads_it_had() {
    let scenario = load(CITIES, &[]);
    assert_eq!(run(&scenario, None, None, &mut |_| true).unwrap().engine.threads, 1);
    assert_eq!(on_threads(&scenario, 1, &mut |_| true).unwrap().engine.threads, 1);
    assert_eq!(on_threads(&scenario, 2, &mut |_| true).unwrap().engine.threads, 2);
    // No more than there are parts.
    assert!(on_threads(&scenario, 1000, &mut |_| true).unwrap().engine.threads < 10);
}

#[test]
fn threads_stop_when_one_is_told_to() {
    let scenario = load(CITIES, &[]);
    for threads in [2, 4] {
        let mut seen = Vec::new();
        let stopped = on_threads(&scenario, threads, &mut |fraction| {
            seen.push(fraction);
            fraction < 0.3
        });
        assert!(matches!(stopped, Err(RunError::Stopped)));
        assert!(seen.is_sorted() && seen.len() > 1, "{seen:?}");
        assert!(matches!(on_threads(&scenario, threads, &mut |_| false), Err(RunError::Stopped)));
    }
}

#[test]
fn a_panic_of_the_control_function_ends_all_threads() {
    let scenario = load(CITIES, &[]);
    let panicking = || on_threads(&scenario, 2, &mut |fraction| fraction < 0.3 || panic!("on purpose"));
    assert!(std::panic::catch_unwind(AssertUnwindSafe(panicking)).is_err());
}

/// A discipline that fails on the thread on which it happens to run.
struct Panicking;

impl Admission for Panicking {
    fn admit(&mut self, _: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        assert!(offer.now.seconds() < 1.0, "on purpose");
        Verdict::Enqueue(Ticket::default())
    }

    fn state_bytes(&self) -> u64 {
        0
    }
}

impl CustomClasses for Panicking {
    fn discipline(&self, _: &PythonClass, _: Site<'_>) -> Option<CustomDiscipline> {
        Some(CustomDiscipline::Law(Box::new(Self)))
    }

    fn name(&self, _: &PythonClass) -> String {
        "panicking".into()
    }

    fn controllers(&self, _: &PythonClass) -> Option<Arc<dyn ControllerMaker>> {
        None
    }
}

#[test]
fn a_panic_of_a_node_ends_all_threads() {
    for queue in ["bottleneck.queue", "reverse.queue"] {
        let reverse = "{ rate = \"50 Mbps\", delay = \"5 ms\" }";
        let overrides = [
            ("topology.dumbbell.reverse", reverse),
            (&format!("topology.dumbbell.{queue}"), "{ python = \"module:Panicking\" }"),
        ];
        let scenario = load(CITIES, &overrides);
        let two = NonZeroUsize::new(2).unwrap();
        let run = || run_divided(two, &scenario, None, None, Some(&Panicking), &mut |_| true);
        assert!(std::panic::catch_unwind(AssertUnwindSafe(run)).is_err(), "{queue}");
    }
}

/// A conversation over links so short that nothing can be done in bulk, among hosts that have nothing to do.
#[test]
fn a_conversation_among_idle_hosts_runs_alike() {
    let text = r#"
        duration = "20 ms"
        host_jitter = "none"
        [topology.dumbbell]
        access = { rate = "1 Gbps", delay = "550 ns" }
        bottleneck = { rate = "1 Gbps", delay = "550 ns", queue = "red" }
        [[flows]]
        name = "talk"
        transport = "tcp"
        app.request_response = { request = "200 B", response = "1 KB" }
        [[flows]]
        name = "idle"
        count = 500
        transport.udp = { packet = "1000 B", steps = [{ from = "1 s", rate = "1 Mbps" }] }
    "#;
    let result = compare(&load(text, &[]), None);
    assert!(result.flows.counts("transfers_completed")[0] > 500, "{:?}", result.flows);
}

/// As many cases as `PROPTEST_CASES` asks for; few without it.
fn cases() -> ProptestConfig {
    let config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_some() { config } else { ProptestConfig { cases: 128, ..config } }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn random_networks_run_alike(
        text in networks::network(),
        probes in prop::option::weighted(0.3, networks::probes()),
        traced in any::<Option<Index>>(),
    ) {
        let scenario = load(&text, &[]);
        let trace = traced.map(|link| trace(&scenario, link));
        let watched = [&text, probes.as_deref().unwrap_or_default(), trace.as_deref().unwrap_or_default()].concat();
        compare(&load(&watched, &[]), trace.map(|_| Folder::new()).as_ref().map(|folder| folder.0.as_path()));
    }

    #[test]
    fn watching_random_networks_changes_no_table(
        text in networks::network(),
        probes in networks::probes(),
        traced in any::<Index>(),
    ) {
        let scenario = load(&text, &[]);
        let watched = load(&[&text, &*probes, &*trace(&scenario, traced)].concat(), &[]);
        let unwatched = run(&scenario, Some(3), None, &mut |_| true).unwrap();
        let watched = run(&watched, Some(3), Some(&Folder::new().0), &mut |_| true).unwrap();
        prop_assert_eq!(differences(&watched, &RunResult { series: watched.series.clone(), ..unwatched }), "");
    }
}

/// The table of a trace of one of the links.
fn trace(scenario: &Scenario, link: Index) -> String {
    let links: Vec<String> = names::links(scenario.spec());
    format!("[[traces]]\nlink = \"{}\"\nfile = \"trace.pcapng\"\n", links[link.index(links.len())])
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

/// No node is between these hosts. A flow that never receives is named before one that shares its link and does.
#[test]
fn hosts_around_a_router_without_queues_run() {
    let text = r#"
        duration = "100 ms"
        [topology.graph]
        nodes = [{ name = "a" }, { name = "b" }, { name = "router", kind = "router" }]
        links = [
            { from = "a", to = "router", rate = "8 Mbps", delay = "0 s" },
            { from = "b", to = "router", rate = "8 Mbps", delay = "0 s" },
        ]
        [[flows]]
        name = "udp"
        from = ["a", "b"]
        to = ["b", "a"]
        count = 2
        transport.udp = { packet = "1000 B", constant = { rate = "3 Mbps" } }
        [[flows]]
        name = "tcp"
        from = "a"
        to = "b"
        transport = "tcp"
    "#;
    let result = compare(&load(text, &[]), None);
    let row = result.links.texts("name").iter().position(|name| name == "a->router").unwrap();
    let sent = result.flows.counts("packets_sent");
    assert!(result.links.counts("packets")[row] > sent[0] + 20, "{:?}", result.links);
}

/// Where headers are not counted, data still take their time: no circle is without delay.
#[test]
fn a_conversation_without_headers_and_propagation_runs() {
    let text = r#"
        duration = "100 ms"
        [topology.star]
        access = { rate = "8 Mbps", delay = "0 s" }
        bottleneck = { rate = "8 Mbps", delay = "0 s" }
        [[flows]]
        name = "talk"
        transport.tcp.preset = "ns2"
        app.request_response = { request = "1 B", response = "5 KB" }
    "#;
    let result = compare(&load(text, &[]), None);
    assert!(result.flows.counts("transfers_completed")[0] > 10, "{:?}", result.flows);
}
