//! Messages that wait for others: triggers, collective operations, traces.

use std::num::NonZeroUsize;

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, run, run_divided, run_in_order};

fn load(text: &str) -> Scenario {
    Scenario::load(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn simulate(text: &str) -> RunResult {
    run(&load(text), Some(1), None, &mut |_| true).unwrap_or_else(|error| panic!("{error}"))
}

/// The fabric of the Ultra Ethernet Consortium's simulator at 100 Gb/s.
const LINK: &str = r#"{ rate = "100 Gbps", delay = "1 us", queue.trimming = { limit = "42 packets",
    header_limit = "356900 B", headers_per_data = 100000, ecn = true, min_threshold = "9 packets",
    max_threshold = "35 packets" } }"#;

fn fat_tree(flows: &str) -> String {
    format!("duration = \"20 ms\"\n[topology.fat_tree]\nk = 4\nhost_link = {LINK}\n[[flows]]\nname = \"f\"\n{flows}\n")
}

/// Two leaves with 8 hosts each; links between them never block.
fn leaves(flows: &str) -> String {
    format!(
        "duration = \"20 ms\"\n[topology.leaf_spine]\nleaves = 2\nspines = 8\nhosts = 8\nhost_link = {LINK}\n\
         [[flows]]\nname = \"f\"\n{flows}\n"
    )
}

/// The hosts of the first leaf.
fn one_leaf(flows: &str) -> String {
    let hosts: Vec<String> = (0..8).map(|host| format!("\"host{host}\"")).collect();
    leaves(&format!("hosts = [{}]\n{flows}", hosts.join(", ")))
}

/// From the start of a message until all of it has arrived over so many links, without queues, in us.
fn one_way_us(bytes: u64, links: u64) -> f64 {
    let packets = bytes.div_ceil(4086);
    let us = |bytes: u64| 8.0 * bytes as f64 / 1e5;
    us(bytes + 64 * packets) + us((links - 1) * 4150) + links as f64
}

fn time_us(result: &RunResult) -> f64 {
    result.collectives.floats("time_s")[0] * 1e6
}

/// Control packets go first: ACKs of what a host receives delay what it sends.
fn assert_close(what: &str, measured: f64, ideal: f64) {
    assert!(measured >= ideal * (1.0 - 1e-9) && measured < ideal * 1.02, "{what}: {measured} us, ideal {ideal} us");
}

#[test]
fn a_ring_takes_the_ideal_time() {
    let ring = |operation: &str| {
        format!("transport.uec = {{ paths = 128 }}\npattern.{operation} = {{ algorithm = \"ring\", size = \"8 MB\" }}")
    };
    for (operation, halves) in [("all_reduce", 2.0), ("reduce_scatter", 1.0), ("all_gather", 1.0)] {
        let result = simulate(&one_leaf(&ring(operation)));
        let ideal = halves * 7.0 * one_way_us(1_000_000, 2);
        assert_close(operation, time_us(&result), ideal);
        let bandwidth = result.collectives.floats("bus_bandwidth_bps")[0];
        let expected = halves * 7.0 / 8.0 * 8.0 * 8e6 / (time_us(&result) * 1e-6);
        assert!((bandwidth / expected - 1.0).abs() < 1e-9, "{bandwidth}");
        assert_eq!(result.collectives.texts("operation")[0], *operation);
        assert!(result.ranks.counts("unfinished").iter().all(|tasks| *tasks == 0));
        assert_eq!(result.ranks.texts("host").iter().collect::<Vec<_>>()[7], "host7");
    }
    // Over two leaves a step waits for the neighbour's step before: times of neighbours add up around the ring.
    let times: Vec<f64> = (0..16).map(|host| one_way_us(500_000, if host % 8 == 7 { 4 } else { 2 })).collect();
    let from = |first: usize| (first..first + 30).map(|step| times[step % 16]).sum::<f64>();
    let ideal = (0..16).map(from).fold(0.0, f64::max);
    assert_close("two leaves", time_us(&simulate(&leaves(&ring("all_reduce")))), ideal);
}

#[test]
fn halving_and_doubling_take_the_ideal_time() {
    let pattern = "transport.uec = { paths = 128 }\n\
                   pattern.all_reduce = { algorithm = \"halving_doubling\", size = \"8 MB\" }";
    let ideal: f64 = [4, 2, 1, 1, 2, 4].map(|parts| one_way_us(parts * 1_000_000, 2)).iter().sum();
    assert_close("one leaf", time_us(&simulate(&one_leaf(pattern))), ideal);
}

#[test]
fn a_repetition_begins_at_a_host_when_it_has_everything() {
    let pattern = |repeat: u32| {
        format!(
            "transport.uec = {{ paths = 128 }}\n\
             pattern.all_reduce = {{ algorithm = \"ring\", size = \"800 KB\", repeat = {repeat} }}"
        )
    };
    let (once, thrice) = (simulate(&one_leaf(&pattern(1))), simulate(&one_leaf(&pattern(3))));
    let names: Vec<&str> = thrice.collectives.texts("name").iter().collect();
    assert_eq!(names, ["f 1", "f 2", "f 3"]);
    assert_eq!(thrice.collectives.floats("time_s")[0], once.collectives.floats("time_s")[0]);
    let end = thrice.collectives.floats("end_s")[2];
    assert_close("three times", end * 1e6, 3.0 * 14.0 * one_way_us(100_000, 2));
    // Completion times count from the start of a message.
    let longest = thrice.flows.floats("fct_s").iter().fold(0.0_f64, |longest, time| longest.max(*time));
    assert!(longest * 1e6 < 2.0 * one_way_us(100_000, 2), "{longest}");
}

/// The connections of a ring of 16 hosts: from each host a chain of 31 connections of 125 KB to the next host, each of
/// which starts when the one before is acknowledged.
fn ring_of_chains() -> String {
    let connection = |chain: u32, step: u32| {
        let (from, to) = ((chain + step) % 16, (chain + step + 1) % 16);
        let trigger = chain * 31 + step;
        let begins = if step == 0 { "start 0".to_owned() } else { format!("trigger {}", trigger - 1) };
        let fires = if step == 30 { String::new() } else { format!(" send_done_trigger {trigger}") };
        format!("\"{from}->{to} {begins} size 125000{fires}\"")
    };
    let all: Vec<String> =
        (0..16).flat_map(|chain| (0..31).map(move |step| (chain, step))).map(|(c, s)| connection(c, s)).collect();
    format!("pattern.matrix = {{ nodes = 16, connections = [{}] }}", all.join(", "))
}

#[test]
fn a_ring_of_triggers_takes_the_time_of_the_consortiums_simulator() {
    let result = simulate(&fat_tree(&format!("transport.uec = {{ paths = 128 }}\n{}", ring_of_chains())));
    let ends =
        result.flows.floats("start_s").iter().zip(result.flows.floats("fct_s")).map(|(start, time)| start + time);
    let last_us = ends.fold(0.0_f64, f64::max) * 1e6;
    // The bound, and the range of its seeds with 2 %.
    assert!(last_us > 561.7 && last_us < 569.5 * 1.02, "{last_us} us");
    assert_eq!(result.flows.floats("fct_s").iter().filter(|time| time.is_nan()).count(), 0);
}

#[test]
fn a_barrier_waits_for_all_that_fire_it() {
    let matrix = r#"transport = "uec"
        pattern.matrix = { nodes = 4, triggers = ["trigger id 1 barrier count 2"], connections = [
            "0->1 start 0 size 4000 send_done_trigger 1", "2->0 start 50 size 4000 recv_done_trigger 1",
            "0->3 trigger 1 size 4000" ] }"#;
    let flows = simulate(&fat_tree(matrix)).flows;
    let (starts, arrivals) = (flows.floats("start_s"), flows.floats("finished_s"));
    assert_eq!(starts[2], arrivals[1]);
    assert!(starts[2] > 50e-6);
}

#[test]
fn a_trace_takes_the_time_of_its_operations() {
    let trace = [
        "num_ranks 3",
        "rank 0 {",
        "c: calc 5000",
        "s: send 4000b to 1 tag 3",
        "s requires c",
        "}",
        "rank 1 {",
        "r: recv 4000b from 0 tag 3",
        "a: calc 3000",
        "b: calc 3000",
        "a requires r",
        "b requires r",
        "}",
        "rank 2 {",
        "calc 100",
        "}",
    ];
    let lines: Vec<String> = trace.iter().map(|line| format!("\"{line}\"")).collect();
    let goal = format!("start = \"1 us\"\npattern.goal = {{ lines = [{}] }}", lines.join(", "));
    for transport in ["uec", "ndp", "homa", "pfabric", "roce"] {
        let result = simulate(&fat_tree(&format!("transport = \"{transport}\"\n{goal}")));
        let (flows, ranks) = (&result.flows, &result.ranks);
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-12, "{value}, not {expected}");
        near(flows.floats("start_s")[0], 6e-6);
        let ends = ranks.floats("end_s");
        near(ends[0], 6e-6 + flows.floats("fct_s")[0]);
        // One processor does both computations.
        near(ends[1], flows.floats("finished_s")[0] + 6e-6);
        near(ends[2], 1.1e-6);
        near(result.collectives.floats("time_s")[0], ends[1] - 1e-6);
        assert_eq!(ranks.counts("tasks"), [2, 3, 1]);
        assert_eq!(result.collectives.counts("hosts"), [3]);
    }
}

#[test]
fn a_collective_over_a_lossless_fabric_loses_nothing() {
    let text = r#"
        duration = "2 ms"
        [topology.fat_tree]
        k = 4
        host_link = { rate = "100 Gbps", delay = "1 us", queue.drop_tail = { limit = "2 MB" } }
        switch.ethernet_switch = { memory = "1 MB", pause = { high = "200 KB", low = "150 KB" } }
        adapter = { pause = { high = "90 KB", low = "60 KB" } }
        [[flows]]
        name = "f"
        transport.roce = { window = "fixed" }
        pattern.all_reduce = { algorithm = "halving_doubling", size = "400 KB", repeat = 2 }
        "#;
    let result = simulate(text);
    assert!(result.flows.floats("fct_s").iter().all(|time| !time.is_nan()));
    assert_eq!(result.queues.counts("packets_dropped").iter().sum::<u64>(), 0);
    // Each host sends 375 KB in each half.
    assert!(time_us(&result) > 2.0 * 8.0 * 375e3 / 1e5);
}

#[test]
fn messages_that_never_begin_are_named_with_the_reason() {
    let pattern = "transport = \"uec\"\npattern.all_reduce = { algorithm = \"ring\", size = \"16 MB\" }";
    let result = simulate(&fat_tree(pattern).replace("20 ms", "500 us"));
    assert!(result.collectives.floats("time_s")[0].is_nan());
    let started = result.flows.floats("start_s").iter().filter(|start| !start.is_nan()).count();
    let waiting = 480 - started;
    let warning = &result.warnings.iter().find(|warning| warning.text.contains("did not begin")).unwrap().text;
    assert!(warning.starts_with(&format!("{waiting} messages of `f` did not begin within the run: `f-")), "{warning}");
    assert!(warning.contains("` waits until all of `f-") && warning.ends_with("` has arrived"), "{warning}");
    let text = fat_tree(pattern);
    assert!(simulate(&text).warnings.iter().all(|warning| !warning.text.contains("did not begin")));
}

#[test]
fn threads_and_the_order_of_groups_change_nothing() {
    let group = |name: &str, algorithm: &str, transport: &str| {
        format!(
            "[[flows]]\nname = \"{name}\"\ntransport.{transport} = {{}}\nstart = {{ exponential = \"2 us\" }}\n\
             pattern.all_reduce = {{ algorithm = \"{algorithm}\", size = \"400 KB\", repeat = 2 }}\n"
        )
    };
    let groups = [
        group("one", "ring", "uec"),
        group("two", "halving_doubling", "uec"),
        group("three", "ring", "ndp"),
        group("four", "halving_doubling", "roce"),
    ];
    let fabric = format!("duration = \"60 ms\"\n[topology.fat_tree]\nk = 4\nhost_link = {LINK}\n");
    let text = format!("{fabric}{}", groups.concat());
    let one = simulate(&text);
    let unfinished = one.flows.texts("name").iter().zip(one.flows.floats("fct_s")).filter(|(_, time)| time.is_nan());
    assert_eq!(unfinished.map(|(name, _)| name).collect::<Vec<_>>(), [""; 0], "{:?}", one.warnings);
    for threads in [2, 3] {
        let threads = NonZeroUsize::new(threads).unwrap();
        let result = run_divided(threads, &load(&text), Some(1), None, None, &mut |_| true).unwrap();
        assert_eq!(result.digest, one.digest, "{threads} threads");
    }
    let in_order = run_in_order(&load(&text), Some(1), None, &mut |_| true).unwrap();
    assert_eq!(in_order.digest, one.digest);
    let mut reversed = groups.to_vec();
    reversed.reverse();
    let other = simulate(&format!("{fabric}{}", reversed.concat()));
    let times = |result: &RunResult| {
        let flows = result.flows.texts("name").iter().map(str::to_owned);
        let mut times: Vec<(String, u64)> =
            flows.zip(result.flows.floats("fct_s").iter().map(|t| t.to_bits())).collect();
        times.sort();
        times
    };
    assert_eq!(times(&one), times(&other));
}

/// The message of an operation, whether it is a receive, and whether it waits for the one before at its rank.
type Operation = (usize, bool, bool);

/// Messages as (from, to, bytes, whether the send and the receive each wait). Returns the pattern, and the operations
/// of each rank.
fn trace(messages: &[(usize, usize, u64, [bool; 2])]) -> (String, Vec<Vec<Operation>>) {
    let mut ranks: Vec<Vec<Operation>> = vec![Vec::new(); 4];
    for (number, &(from, to, _, [send_waits, receive_waits])) in messages.iter().enumerate() {
        ranks[from].push((number, false, send_waits));
        ranks[to].push((number, true, receive_waits));
    }
    let mut lines = vec!["num_ranks 4".to_owned()];
    for (rank, operations) in ranks.iter().enumerate() {
        lines.push(format!("rank {rank} {{"));
        for (place, &(message, is_receive, waits)) in operations.iter().enumerate() {
            let (from, to, bytes, _) = messages[message];
            let operation = if is_receive {
                format!("recv {bytes}b from {from} tag {message}")
            } else {
                format!("send {bytes}b to {to} tag {message}")
            };
            lines.push(format!("l{place}: {operation}"));
            if waits && place > 0 {
                lines.push(format!("l{place} requires l{}", place - 1));
            }
        }
        lines.push("}".to_owned());
    }
    let lines: Vec<String> = lines.iter().map(|line| format!("\"{line}\"")).collect();
    (format!("pattern.goal = {{ lines = [{}] }}", lines.join(", ")), ranks)
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(32))]

    #[test]
    fn operations_of_any_trace_start_after_those_that_they_wait_for(
        drawn in proptest::collection::vec((0_usize..4, 1_usize..4, 1_u64..60_000, [proptest::bool::ANY; 2]), 1..24),
        transport in proptest::sample::select(vec!["uec", "ndp", "homa", "pfabric", "roce"]),
    ) {
        let messages: Vec<_> =
            drawn.into_iter().map(|(from, step, bytes, waits)| (from, (from + step) % 4, bytes, waits)).collect();
        let (pattern, ranks) = trace(&messages);
        let text = fat_tree(&format!("transport = \"{transport}\"\n{pattern}")).replace("20 ms", "100 ms");
        let flows = simulate(&text).flows;
        let columns = ["start_s", "fct_s", "finished_s"].map(|column| flows.floats(column));
        let [starts, times, arrivals] = columns;
        proptest::prop_assert!(times.iter().chain(arrivals).all(|time| !time.is_nan()), "all are done");
        // Flows are numbered in the order of sends in the trace.
        let sends: Vec<usize> =
            ranks.iter().flatten().filter(|(_, is_receive, _)| !is_receive).map(|(message, ..)| *message).collect();
        let flow = |message: usize| sends.iter().position(|other| *other == message).unwrap();
        for operations in &ranks {
            let mut ended = 0.0_f64;
            for &(message, is_receive, waits) in operations {
                let flow = flow(message);
                let begins = if waits { ended } else { 0.0 };
                if is_receive {
                    ended = arrivals[flow].max(begins);
                } else {
                    proptest::prop_assert!((starts[flow] - begins).abs() < 1e-12, "{} {}", starts[flow], begins);
                    ended = starts[flow] + times[flow];
                }
            }
        }
    }
}
