//! Events of a run that are recorded one by one: they are complete and agree with counters and series, and to record
//! them changes no result.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/networks.rs"]
mod networks;
mod support;

use std::collections::{BTreeMap, BTreeSet};

use forebay_engine::{CrossbarLog, LoggedPacket, LoggedPause, PacketEvent, PacketLog, PauseLog, RunResult, Watched};
use forebay_scenario::{Scenario, WatchSpec, memory_estimate, memory_estimate_watched, names, run, run_watched};
use forebay_units::Span;
use proptest::prelude::*;
use support::{LOSSLESS, TWO_SWITCHES, Timing, classed, disciplines, flows, load as load_ethernet};

const PICOSECONDS: f64 = 1e12;
/// More events than any log here has.
const MANY: usize = 500_000;

fn load(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    Scenario::load(text, "watch.toml", &overrides).unwrap_or_else(|error| panic!("{}\n{text}", error.render(false)))
}

/// From `from_ms` to `to_ms`.
fn watch(links: &[&str], from_ms: u64, to_ms: u64, most: usize) -> WatchSpec {
    let links = links.iter().map(|&link| link.to_owned()).collect();
    WatchSpec { links, from: Span::from_milliseconds(from_ms), to: Span::from_milliseconds(to_ms), most }
}

fn simulate_watched(scenario: &Scenario, watch: &WatchSpec) -> (RunResult, Watched) {
    let mut result = run_watched(scenario, Some(3), watch, &mut |_| true).unwrap_or_else(|error| panic!("{error}"));
    let watched = result.watched.take().unwrap();
    (result, watched)
}

/// The packets and bytes in the queue, from the log.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Backlog {
    packets: i64,
    bytes: i64,
}

/// Checks that each packet has the events of one that passes a queue, and returns the backlog after each event, by its
/// time in picoseconds.
fn check_packets(log: &PacketLog) -> Vec<(u64, Backlog)> {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum State {
        Queued,
        Gone,
    }
    let (mut packets, mut marked) = (BTreeMap::<u32, (State, u32, u32)>::new(), BTreeSet::new());
    let (mut backlog, mut backlogs, mut before) = (Backlog::default(), Vec::new(), 0);
    let mut first_events = 0;
    for event in &log.events {
        let (time, bytes) = (event.time.picoseconds(), i64::from(event.len_bytes));
        assert!(time >= before, "{}: the events are in the order of time", log.link);
        before = time;
        assert!((event.flow as usize) < log.flow_names.len());
        let known = packets.get(&event.packet).copied();
        let is_new = known.is_none() && !marked.contains(&event.packet);
        assert!(!is_new || event.packet == first_events, "numbers are in the order of the first events");
        first_events += u32::from(is_new);
        if let Some((_, flow, len_bytes)) = known {
            assert_eq!(flow, event.flow, "{} packet {}", log.link, event.packet);
            // A packet that is trimmed in the queue leaves with its header alone.
            assert!([len_bytes, 64].contains(&event.len_bytes), "{} packet {}", log.link, event.packet);
        }
        let (then, change) = match (event.event, known.map(|known| known.0)) {
            (PacketEvent::Enqueued, None) => (State::Queued, 1),
            (PacketEvent::DroppedOnArrival, None) => (State::Gone, 0),
            (PacketEvent::Departed | PacketEvent::DroppedLater, Some(State::Queued)) => (State::Gone, -1),
            (PacketEvent::Marked, _) => {
                marked.insert(event.packet);
                continue;
            }
            (event_kind, state) => panic!("{}: {event_kind:?} of {} in {state:?}", log.link, event.packet),
        };
        packets.insert(event.packet, (then, event.flow, event.len_bytes));
        backlog.packets += change;
        backlog.bytes += change * bytes;
        backlogs.push((time, backlog));
    }
    assert!(marked.iter().all(|packet| packets.contains_key(packet)), "{}: a mark of no packet", log.link);
    backlogs
}

/// Checks a log against the series of its queue. Returns how many samples were in its window.
fn check_series(log: &PacketLog, result: &RunResult, (from, to): (Span, Span)) -> usize {
    let backlogs = check_packets(log);
    let mut checked = 0;
    let of = |quantity: &str| {
        result.series.iter().find(|it| it.kind == "queue" && it.name == log.link && it.quantity == quantity)
    };
    let Some(packets) = of("length_packets") else { return 0 };
    let last = if log.is_cut { log.events.last().unwrap().time.picoseconds() } else { to.picoseconds() };
    for (index, value) in packets.values.iter().enumerate() {
        let at = (index as u64 + 1) * (packets.interval_s * PICOSECONDS).round() as u64;
        if at <= from.picoseconds() || at > last {
            continue;
        }
        // A sample shows the state before what happens at its time.
        let number = backlogs.partition_point(|&(time, _)| time < at);
        let backlog = number.checked_sub(1).map_or(Backlog::default(), |number| backlogs[number].1);
        assert_eq!(backlog.packets as f64, *value, "{} at {at} ps", log.link);
        checked += 1;
    }
    checked
}

/// How often this happened to packets, without control frames of an Ethernet, which the tables of queues do not have.
fn count(log: &PacketLog, event: PacketEvent) -> u64 {
    let is_packet = |logged: &&LoggedPacket| !log.flow_names[logged.flow as usize].ends_with("(control)");
    log.events.iter().filter(is_packet).filter(|logged| logged.event == event).count() as u64
}

/// Checks the log of a whole run without warm-up against the table of queues.
fn check_table(log: &PacketLog, result: &RunResult) {
    let row = result.queues.texts("name").iter().position(|name| *name == log.link).unwrap();
    let column = |name: &str| result.queues.counts(name)[row];
    let dropped = [PacketEvent::DroppedOnArrival, PacketEvent::DroppedLater].map(|event| count(log, event));
    assert_eq!(dropped.iter().sum::<u64>(), column("packets_dropped"), "{}", log.link);
    assert_eq!(count(log, PacketEvent::Marked), column("packets_marked"), "{}", log.link);
    assert_eq!(count(log, PacketEvent::Enqueued) + dropped[0], column("packets_arrived"), "{}", log.link);
}

/// The names of all links with queues.
fn queues(scenario: &Scenario, result: &RunResult) -> Vec<String> {
    let links: BTreeSet<String> = names::links(scenario.spec()).into_iter().collect();
    result.queues.texts("name").iter().map(ToString::to_string).filter(|name| links.contains(name)).collect()
}

/// Runs a scenario with and without a record of up to `most_queues` queues, and compares all that there is.
fn compare(scenario: &Scenario, most_queues: usize, has_warmup: bool) -> Watched {
    let plain = run(scenario, Some(3), None, &mut |_| true).unwrap();
    assert_eq!(plain.watched, None);
    let mut links = queues(scenario, &plain);
    links.truncate(most_queues);
    let spec = WatchSpec { links, from: Span::ZERO, to: scenario.spec().duration, most: MANY };
    let (result, watched) = simulate_watched(scenario, &spec);
    assert_eq!(result.digest, plain.digest);
    let tables = |it: &RunResult| format!("{:?} {:?} {:?}", it.flows, it.links, it.delays);
    assert!(tables(&result) == tables(&plain));
    assert_eq!(watched.packets.iter().map(|log| &log.link).collect::<Vec<_>>(), spec.links.iter().collect::<Vec<_>>());
    for log in &watched.packets {
        assert!(!log.is_cut);
        let samples = check_series(log, &result, (spec.from, spec.to));
        let has_series = result.series.iter().any(|series| series.kind == "queue");
        assert!(samples > 0 || !has_series, "{}", log.link);
        if !has_warmup {
            check_table(log, &result);
        }
    }
    check_pauses(&watched, scenario, &result);
    watched
}

fn compare_all(folder: &str, least: usize) {
    let scenarios = networks::scenarios(folder);
    assert!(scenarios.len() >= least, "{folder}: {}", scenarios.len());
    for (path, text) in scenarios {
        let duration = match &text {
            text if text.starts_with("# Benchmark f") => "2 ms",
            text if ["[topology.ethernet]", "[topology.leaf_spine]"].iter().any(|it| text.contains(it)) => "5 ms",
            text if text.contains("ethernet_switch") => "400 ms",
            text if text.contains("trace.file") => "2 s",
            _ => "300 ms",
        };
        let text = text.replace("[\"0 s\", \"1 s\"]", "[\"0 s\", \"200 ms\"]");
        let mut overrides = vec![("duration", duration), ("warmup", "0 s")];
        overrides.extend((!text.contains("probes")).then_some(("probes.interval", "1 ms")));
        let overrides: Vec<(String, String)> =
            overrides.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let scenario =
            Scenario::load(&text, &path, &overrides).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let watched = compare(&scenario, 50, false);
        println!("{path}: {:?}", watched.packets.iter().map(|log| log.events.len()).collect::<Vec<_>>());
    }
}

#[test]
fn a_record_changes_no_result_of_examples() {
    compare_all("examples", 6);
}

#[test]
fn a_record_changes_no_result_of_benchmarks() {
    compare_all("benches/scenarios", 6);
}

/// Greedy flows and a flood through a slow link with this queue.
fn crowd(queue: &str) -> String {
    format!(
        r#"
        duration = "3 s"
        probes.interval = "7 ms"
        [topology.star]
        access = {{ rate = "100 Mbps", delay = "1 ms" }}
        bottleneck = {{ rate = "5 Mbps", delay = "5 ms", queue = {queue} }}
        [[flows]]
        name = "tcp"
        count = 3
        transport.tcp = {{ ecn = true }}
        [[flows]]
        name = "l4s"
        class = 1
        transport.tcp = {{ congestion_control = "prague" }}
        [[flows]]
        name = "flood"
        class = 2
        transport.udp = {{ packet = "1000 B", constant = {{ rate = "4 Mbps" }} }}
        "#
    )
}

#[test]
fn every_discipline_is_recorded_completely() {
    let mut totals = BTreeMap::new();
    for (name, queue) in disciplines() {
        let scenario = load(&crowd(&queue), &[]);
        let watched = compare(&scenario, 9, false);
        let [log] = &watched.packets[..] else { panic!("{name}") };
        assert!(log.flow_names.iter().all(|flow| !flow.contains("ACKs")), "{:?}", log.flow_names);
        assert_eq!(log.flow_names.len(), 5, "{name}");
        assert_eq!(log.rate.bits_per_second(), 5_000_000);
        assert!(count(log, PacketEvent::Departed) > 500, "{name}: {}", log.events.len());
        let kinds = [PacketEvent::DroppedOnArrival, PacketEvent::DroppedLater, PacketEvent::Marked];
        totals.insert(name, kinds.map(|event| count(log, event)));
    }
    let of = |name: &str| totals[name];
    println!("{totals:#?}");
    let [on_arrival, later, marked] = of("drop_tail");
    assert!(on_arrival > 20 && later == 0 && marked == 0);
    assert!(of("codel")[1] > 50, "CoDel drops at the head");
    assert!(of("fq_codel")[1] > 50);
    assert!(of("dualpi2")[2] > 50, "DualPI2 marks");
    assert!(of("cake")[1] > 50);
    assert!(of("cbq").iter().sum::<u64>() > 50 && of("htb").iter().sum::<u64>() > 50);
}

/// Checks that a log from `from` to `to` follows from that of the whole run. Returns how many packets it begins with.
fn check_window(log: &PacketLog, whole: &PacketLog, (from, to): (Span, Span)) -> usize {
    let (from, to) = (from.picoseconds(), to.picoseconds());
    let (before, within): (Vec<&LoggedPacket>, Vec<_>) = whole
        .events
        .iter()
        .filter(|event| event.time.picoseconds() <= to)
        .partition(|event| event.time.picoseconds() < from);
    let mut queued = BTreeMap::new();
    for event in before {
        match event.event {
            PacketEvent::Enqueued => drop(queued.insert(event.packet, event)),
            PacketEvent::Departed | PacketEvent::DroppedLater => drop(queued.remove(&event.packet)),
            PacketEvent::DroppedOnArrival | PacketEvent::Marked => {}
        }
    }
    let facts = |log: &PacketLog, event: &LoggedPacket, time: u64| {
        (time, event.event as u8, log.flow_names[event.flow as usize].clone(), event.len_bytes)
    };
    let mut begin: Vec<_> = queued.values().map(|event| facts(whole, event, from)).collect();
    let within = within.into_iter().map(|event| facts(whole, event, event.time.picoseconds()));
    let mut found: Vec<_> = log.events.iter().map(|event| facts(log, event, event.time.picoseconds())).collect();
    // The order of departures may be another one than that of arrivals.
    begin.sort_unstable();
    found[..begin.len()].sort_unstable();
    let number = begin.len();
    assert!(begin.into_iter().chain(within).eq(found), "{}", log.link);
    number
}

/// Checks the logs of a window against those of the whole run, and those with at most `most` events against both.
fn compare_windows(scenario: &Scenario, whole: &Watched, (from, to): (Span, Span), most: usize) -> Vec<usize> {
    let links = whole.packets.iter().map(|log| log.link.clone()).collect();
    let spec = WatchSpec { links, from, to, most: MANY };
    let (result, watched) = simulate_watched(scenario, &spec);
    let cut = simulate_watched(scenario, &WatchSpec { most, ..spec }).1;
    let logs = watched.packets.iter().zip(&whole.packets).zip(&cut.packets);
    let queued = logs.map(|((log, whole), cut)| {
        check_series(log, &result, (from, to));
        assert_eq!(cut.events, log.events[..log.events.len().min(most)], "{}", log.link);
        assert_eq!((cut.is_cut, log.is_cut), (log.events.len() > most, false));
        check_window(log, whole, (from, to))
    });
    queued.collect()
}

#[test]
fn a_window_begins_with_the_packets_in_the_queue() {
    for queue in ["\"drop_tail\"", "\"codel\"", "\"fq_codel\"", "\"pi\""] {
        let scenario = load(&crowd(queue), &[]);
        let whole = simulate_watched(&scenario, &watch(&["bottleneck"], 0, 3000, MANY)).1;
        for most in [0, 1, 30, 500] {
            let window = (Span::from_milliseconds(1000), Span::from_milliseconds(1300));
            let queued = compare_windows(&scenario, &whole, window, most);
            assert!(queued[0] > 0, "{queue}");
        }
        // At the begin, and at the end.
        let at_edges = [(0, 1), (2999, 4000)].map(|(from, to)| {
            let window = (Span::from_milliseconds(from), Span::from_milliseconds(to));
            compare_windows(&scenario, &whole, window, 10)[0]
        });
        assert!(at_edges[0] == 0 && at_edges[1] > 0, "{at_edges:?}");
        let (_, late) = simulate_watched(&scenario, &watch(&["bottleneck"], 4000, 5000, MANY));
        assert!(late.packets[0].events.is_empty() && !late.packets[0].is_cut);
    }
}

#[test]
fn acks_are_a_flow_of_their_own() {
    let text = r#"
        duration = "1 s"
        topology.graph.nodes = [{ name = "a" }, { name = "r", kind = "router" }, { name = "b" }]
        topology.graph.links = [
            { from = "a", to = "r", rate = "100 Mbps", delay = "1 ms" },
            { from = "r", to = "b", rate = "5 Mbps", delay = "1 ms", queue = "codel",
              reverse = { rate = "100 Mbps", delay = "1 ms" } },
        ]
        [[flows]]
        name = "there"
        from = "a"
        to = "b"
        transport = "tcp"
        [[flows]]
        name = "back"
        from = "b"
        to = "a"
        transport = "tcp"
    "#;
    let watched = compare(&load(text, &[]), 9, false);
    let [log] = &watched.packets[..] else { panic!("{watched:?}") };
    assert_eq!(log.link, "r->b");
    let names: BTreeSet<&str> = log.flow_names.iter().map(String::as_str).collect();
    assert_eq!(names, BTreeSet::from(["there", "back (ACKs)"]));
}

/// Checks that the phases of a switch are matchings of what waits, and that a packet comes to the queue of each matched
/// output then. Returns how many packets crossed.
fn check_phases(log: &CrossbarLog, outputs: &[PacketLog]) -> u64 {
    let ports = log.ports;
    assert_eq!(outputs.len(), ports);
    let arrivals: Vec<BTreeMap<u64, u64>> = outputs
        .iter()
        .map(|output| {
            let mut arrivals = BTreeMap::new();
            for event in &output.events {
                if matches!(event.event, PacketEvent::Enqueued | PacketEvent::DroppedOnArrival) {
                    *arrivals.entry(event.time.picoseconds()).or_default() += 1;
                }
            }
            arrivals
        })
        .collect();
    let mut crossed = vec![BTreeMap::new(); ports];
    let mut left: Option<Vec<u16>> = None;
    assert!(log.times.is_sorted());
    assert_eq!((log.matchings.len(), log.lengths.len()), (log.times.len() * ports, log.times.len() * ports * ports));
    let phases = log.times.iter().zip(log.matchings.chunks(ports).zip(log.lengths.chunks(ports * ports)));
    for (time, (matching, lengths)) in phases {
        assert!(lengths.iter().any(|&length| length > 0), "a phase in which nothing waits");
        if let Some(left) = left {
            assert!(left.iter().zip(lengths).all(|(left, length)| left <= length), "packets leave at phases alone");
        }
        let mut after = lengths.to_vec();
        for (input, &output) in matching.iter().enumerate().filter(|(_, output)| **output >= 0) {
            let (output, time) = (output as usize, time.picoseconds());
            assert!(after[input * ports + output] > 0, "a scheduler matches what waits");
            after[input * ports + output] -= 1;
            assert_eq!(crossed[output].insert(time, 1), None, "two inputs for one output");
        }
        left = Some(after);
    }
    assert!(crossed == arrivals);
    crossed.iter().map(|times| times.len() as u64).sum()
}

#[test]
fn the_phases_of_crossbars_are_recorded() {
    let text = |fabric: &str| {
        format!(
            r#"
            duration = "30 ms"
            probes.interval = "1 ms"
            [topology.switch]
            ports = 4
            input = {{ rate = "100 Mbps", delay = "1 us" }}
            output = {{ rate = "100 Mbps", delay = "1 us", queue.drop_tail = {{ limit = "20 packets" }} }}
            fabric = {fabric}
            load = "uniform"
            [[flows]]
            name = "cells"
            transport.cells = {{ size = "500 B", load = 0.9 }}
            "#
        )
    };
    for fabric in [
        "{ cioq = { scheduler = \"islip\", speedup = 2 } }",
        "{ cioq = { scheduler = \"mwm\", voq_limit = \"4 packets\" } }",
        "{ cioq = { scheduler = \"pim\" } }",
        "{ cioq = { scheduler = \"wavefront\" } }",
        "\"input_queued\"",
    ] {
        let scenario = load(&text(fabric), &[]);
        let watched = compare(&scenario, 9, false);
        let [log] = &watched.crossbars[..] else { panic!("{fabric}: {watched:?}") };
        assert_eq!((log.ports, log.is_cut), (4, false));
        assert!(check_phases(log, &watched.packets) > 500, "{fabric}");

        // A window, and a full log.
        let cut = simulate_watched(&scenario, &watch(&[], 10, 20, 100)).1;
        let (cut, from) = (&cut.crossbars[0], Span::from_milliseconds(10).picoseconds());
        let first = log.times.partition_point(|time| time.picoseconds() < from);
        assert!(cut.is_cut);
        assert_eq!(cut.times, log.times[first..first + 25]);
        assert_eq!(cut.matchings, log.matchings[4 * first..4 * (first + 25)]);
        assert_eq!(cut.lengths, log.lengths[16 * first..16 * (first + 25)]);
    }
}

/// The time for which each class of a link was stopped between two times, from the log.
fn stopped(log: &PauseLog, from_s: f64, to_s: f64) -> BTreeMap<Option<u8>, f64> {
    let (mut since, mut stopped, mut before) = (BTreeMap::new(), BTreeMap::new(), 0.0);
    for event in &log.events {
        let time = event.time.seconds();
        assert!(time >= before);
        before = time;
        let pause = if event.is_stopped {
            assert_eq!(since.insert(event.class, time), None, "{} is stopped twice", log.link);
            0.0
        } else {
            let since: f64 = since.remove(&event.class).unwrap();
            (time.min(to_s) - since.max(from_s)).max(0.0)
        };
        *stopped.entry(event.class).or_insert(0.0) += pause;
    }
    for (class, since) in since {
        *stopped.entry(class).or_insert(0.0) += to_s - since.max(from_s);
    }
    stopped
}

/// Checks the pauses of all ports and adapters of a whole run against their tables.
fn check_pauses(watched: &Watched, scenario: &Scenario, result: &RunResult) {
    let logs: BTreeMap<&str, &PauseLog> = watched.pauses.iter().map(|log| (log.link.as_str(), log)).collect();
    let links = names::links(scenario.spec());
    let mut found = 0;
    for table in [&result.queues, &result.adapters] {
        let has_pauses = table.columns.iter().any(|(name, _)| *name == "paused_s");
        for (row, name) in table.texts("name").iter().enumerate().filter(|_| has_pauses) {
            // An adapter has the name of its node, and its link that of both ends.
            let begin = format!("{name}->");
            let link = links.iter().find(|link| *link == name || link.starts_with(&begin)).map_or(name, String::as_str);
            let log = logs.get(link);
            let classes = log.map(|log| stopped(log, result.warmup_s, result.duration_s));
            let of_log = classes.iter().flat_map(BTreeMap::values).copied().fold(0.0, f64::max);
            let paused_s = table.floats("paused_s")[row];
            assert!((of_log - paused_s).abs() < 1e-9, "{name}: {of_log} s, not {paused_s} s");
            found += usize::from(log.is_some());
        }
    }
    assert_eq!(found, logs.len(), "{:?}", logs.keys());
}

/// As [`LOSSLESS`], with PAUSE by class.
const BY_CLASS: &str = r#"
link = { rate = "10 Gbps", delay = "500 ns" }
switch = { memory = "600 KB", priority_pause = { high = "280 KB", low = "260 KB" } }
adapter = { egress_memory = "300 KB", priority_pause = { high = "140 KB", low = "130 KB" } }
"#;

#[test]
fn pauses_are_those_of_the_tables() {
    let culprits = flows("culprit", &["2", "3", "4", "5"], "6", "rate = \"5 Gbps\"");
    let all = |by_class: bool| {
        let lossless = if by_class { BY_CLASS } else { LOSSLESS };
        let flows = [culprits.clone(), classed("victim", 5, &["1"], "7", "rate = \"5 Gbps\"")].concat();
        load_ethernet(&Timing::new(2.0, 8.0).sampled("100 us"), &[lossless, TWO_SWITCHES].concat(), &flows)
    };
    for by_class in [false, true] {
        let scenario = all(by_class);
        let watched = compare(&scenario, usize::MAX, true);
        assert!(watched.pauses.len() >= 3, "{:?}", watched.pauses);
        let is_by_class = |log: &PauseLog| log.events.iter().all(|event| event.class.is_some() == by_class);
        assert!(watched.pauses.iter().all(|log| !log.is_cut && is_by_class(log)));
        assert!(watched.pauses.iter().map(|log| log.events.len()).sum::<usize>() > 20);

        // A window begins with the classes that are stopped, and a log that is full ends.
        for log in &watched.pauses {
            let (from, to) = (Span::from_milliseconds(3), Span::from_milliseconds(5));
            let cut = WatchSpec { links: Vec::new(), from, to, most: 3 };
            let cut = simulate_watched(&scenario, &cut).1;
            let cut = cut.pauses.iter().find(|cut| cut.link == log.link);
            let begin = forebay_units::Time::ZERO + from;
            let before = log.events.iter().filter(|event| event.time < begin);
            let mut stopped = BTreeMap::new();
            stopped.extend(before.map(|event| (event.class, event.is_stopped)));
            let stopped = stopped.iter().filter(|(_, is_stopped)| **is_stopped);
            let at_begin = stopped.map(|(&class, _)| LoggedPause { time: begin, class, is_stopped: true });
            let end = forebay_units::Time::ZERO + to;
            let later = log.events.iter().copied().filter(|event| event.time >= begin && event.time <= end);
            let expected: Vec<LoggedPause> = at_begin.chain(later).collect();
            let events = cut.map_or(&[][..], |cut| &cut.events);
            assert_eq!(events, &expected[..expected.len().min(3)], "{}", log.link);
            assert_eq!(cut.is_some_and(|cut| cut.is_cut), expected.len() > 3);
        }
    }
}

/// Class 0 is stopped until the end of the warm-up, class 5 from then on and for less time.
#[test]
fn pauses_since_the_warm_up_are_those_of_the_class_that_is_stopped_longest_since_then() {
    let culprits = |name: &str, class: u8, times: &str| {
        let group = classed(name, class, &["2", "3", "4", "5"], "6", "rate = \"5 Gbps\"");
        group.replace("[[flows]]\n", &format!("[[flows]]\n{times}\n"))
    };
    let flows = culprits("before", 0, "stop = \"3 ms\"") + &culprits("after", 5, "start = \"6 ms\"");
    let scenario = load_ethernet(&Timing::new(6.0, 8.0), &[BY_CLASS, TWO_SWITCHES].concat(), &flows);
    let watched = compare(&scenario, usize::MAX, true);
    let time = |log: &PauseLog, class: u8| stopped(log, 0.0, 8e-3).get(&Some(class)).copied().unwrap_or(0.0);
    assert!(watched.pauses.iter().any(|log| time(log, 0) > time(log, 5) && time(log, 5) > 0.0));
}

#[test]
fn marks_and_probes_of_congestion_management_are_recorded() {
    let culprits = flows("culprit", &["2", "3", "4", "5"], "6", "rate = \"5 Gbps\"");
    let mut marking = BTreeSet::new();
    for scheme in ["ecm", "e2cm", "qcn", "fecn", "dbp", "dcqcn"] {
        let ethernet = format!("congestion_management = \"{scheme}\"\n{LOSSLESS}{TWO_SWITCHES}");
        let scenario = load_ethernet(&Timing::new(0.0, 5.0).sampled("50 us"), &ethernet, &culprits);
        let watched = compare(&scenario, usize::MAX, false);
        let control = watched.packets.iter().flat_map(|log| &log.flow_names).filter(|name| name.ends_with("(control)"));
        // Probes of E2CM, and the frames of FECN that discover rates, queue with data.
        assert_eq!(control.count() > 0, ["e2cm", "fecn"].contains(&scheme), "{scheme}");
        let marks = watched.packets.iter().map(|log| count(log, PacketEvent::Marked)).sum::<u64>();
        marking.extend((marks > 0).then_some(scheme));
    }
    assert_eq!(marking, BTreeSet::from(["dcqcn"]));
}

#[test]
fn a_link_without_a_queue_is_refused_with_the_remedy() {
    let scenario = load(&crowd("\"codel\""), &[]);
    let refusal = |links: &[&str]| {
        run_watched(&scenario, None, &watch(links, 0, 1, 1), &mut |_| true).map(drop).unwrap_err().to_string()
    };
    insta::assert_snapshot!(refusal(&["bottlenek"]), @"
    there is no link `bottlenek`, so that its packets cannot be recorded
    hint: did you mean `bottleneck`?
    ");
    insta::assert_snapshot!(refusal(&["bottleneck", "x"]), @"
    there is no link `x`, so that its packets cannot be recorded
    hint: links with a queue: bottleneck
    ");
    insta::assert_snapshot!(refusal(&["access-tcp-1"]), @"
    the link `access-tcp-1` has no `queue`, so that there are no packets to record
    hint: links with a queue: bottleneck
    ");
    assert_eq!(refusal(&["bottleneck", "bottleneck"]), "the queue of `bottleneck` cannot be recorded twice");
}

#[test]
fn the_estimate_of_memory_has_the_events() {
    let scenario = load(&crowd("\"codel\""), &[]);
    let more =
        memory_estimate_watched(&scenario, &watch(&["bottleneck"], 0, 1, 1_000_000)) - memory_estimate(&scenario);
    assert!((50e6..300e6).contains(&more), "{more}");
    let all = watch(&["bottleneck"], 0, 1, usize::MAX);
    let refusal = run_watched(&scenario, None, &all, &mut |_| true).map(drop).unwrap_err().to_string();
    assert!(refusal.contains("recorded events of packets"), "{refusal}");
}

/// As many cases as `PROPTEST_CASES` asks for; few without it.
fn cases() -> ProptestConfig {
    let config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_some() { config } else { ProptestConfig { cases: 64, ..config } }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn random_networks_are_recorded_completely(text in networks::network(), probes in networks::probes()) {
        compare(&load(&[&text, &*probes].concat(), &[]), usize::MAX, true);
    }

    #[test]
    fn windows_of_random_networks_are_recorded_completely(
        text in networks::network(),
        from in 0.0..0.9_f64,
        length in 0.0..0.5_f64,
        most in 0_usize..200,
    ) {
        let scenario = load(&text, &[]);
        let whole = compare(&scenario, 20, true);
        let at = |part: f64| Span::from_seconds_f64(part * scenario.spec().duration.seconds());
        compare_windows(&scenario, &whole, (at(from), at(from + length)), most);
    }
}
