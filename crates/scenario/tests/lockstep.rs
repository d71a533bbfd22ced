//! Flows that share a queue: none starves because of its position in the file or its phase, and a run warns if one
//! does.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, run};

fn simulate(text: &str, seed: u64, overrides: &[(&str, &str)]) -> RunResult {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let scenario = Scenario::load(text, "lockstep.toml", &overrides).unwrap_or_else(|error| panic!("{error:?}"));
    run(&scenario, Some(seed), None, &mut |_| true).unwrap()
}

/// Goodput in Mb/s by flow, sorted by name.
fn goodputs(result: &RunResult) -> Vec<(String, f64)> {
    let names = result.flows.texts("name").iter().map(str::to_owned);
    let mut goodputs: Vec<_> = names.zip(result.flows.floats("goodput_bps").iter().map(|bps| bps / 1e6)).collect();
    goodputs.sort_by(|one, other| one.0.cmp(&other.0));
    goodputs
}

fn least_and_most(result: &RunResult) -> (f64, f64) {
    let goodputs = goodputs(result).into_iter().map(|(_, mbps)| mbps);
    goodputs.fold((f64::MAX, 0.0), |(least, most), mbps| (mbps.min(least), mbps.max(most)))
}

fn warns(result: &RunResult, words: &str) -> bool {
    result.warnings.iter().any(|warning| warning.text.contains(words))
}

/// Four servers send to one client, over links of one rate.
const SERVERS: &str = r#"
duration = "4 s"
warmup = "1 s"
[topology.star]
access = { rate = "1 Gbps", delay = { uniform = ["20 us", "80 us"] } }
bottleneck = { rate = "1 Gbps", delay = "50 us", queue.drop_tail = { limit = "100 packets" } }
[[flows]]
name = "t"
count = 4
start = { uniform = ["0 s", "100 ms"] }
transport.tcp = { preset = "linux" }
"#;

#[test]
fn the_processing_time_of_hosts_keeps_tcp_flows_from_being_locked_out() {
    for seed in 1..=3 {
        let usual = simulate(SERVERS, seed, &[]);
        assert!(!warns(&usual, "lockstep"), "seed {seed}: {:?}", usual.warnings);
        let (least, most) = least_and_most(&usual);
        // Linux hosts share within a factor of two to five.
        assert!(most < 5.0 * least, "seed {seed}: {least} to {most} Mb/s");
        let in_step = simulate(SERVERS, seed, &[("host_jitter", "none")]);
        assert!(warns(&in_step, "flows at `bottleneck` are in lockstep"), "seed {seed}");
        let (least, most) = least_and_most(&in_step);
        assert!(most > 100.0 * least, "without it, seed {seed}: {least} to {most} Mb/s");
    }
}

const UDP: &str = r#"
duration = "5 s"
warmup = "1 s"
[topology.star]
access = { rate = "200 Mbps", delay = { uniform = ["1 ms", "2 ms"] } }
bottleneck = { rate = "100 Mbps", delay = "1 ms", queue.drop_tail = { limit = "100 packets" } }
[[flows]]
name = "u"
count = 4
transport.udp = { packet = "1000 B", constant = { rate = "27500 kbps" } }
"#;

#[test]
fn constant_rates_lose_alike_and_a_run_in_lockstep_warns() {
    let in_step = simulate(UDP, 1, &[("host_jitter", "none")]);
    assert!(warns(&in_step, "flows at `bottleneck` are in lockstep"), "{:?}", goodputs(&in_step));
    let usual = simulate(UDP, 1, &[("host_jitter", "{ uniform = ['0 us', '100 us'] }")]);
    assert!(!warns(&usual, "lockstep"), "{:?}", usual.warnings);
    let (least, most) = least_and_most(&usual);
    assert!(most < 1.2 * least, "{least} to {most} Mb/s");
}

#[test]
fn two_senders_of_frames_at_the_line_rate_share_the_output() {
    let text = r#"
        duration = "5 ms"
        [topology.ethernet]
        link = { rate = "100 Gbps", delay = "500 ns" }
        switch = { memory = "2600 KB", buffer.partitions.output_limit.static = "1 MB" }
        switches = [{ name = "S", nodes = ["a", "b", "c"] }]
        [[flows]]
        name = "s"
        from = ["a", "b"]
        to = "c"
        transport.frames = { rate = "100 Gbps", size = "1500 B", arrivals = "constant" }
    "#;
    let (least, most) = least_and_most(&simulate(text, 1, &[]));
    assert!(most < 1.1 * least, "{least} to {most} Mb/s");
}

/// Hosts of an Ethernet whose switch has drop-tail outputs.
fn ethernet(duration: &str, link: &str, limit: u32, from: &str, transport: &str) -> String {
    format!(
        r#"
        duration = "{duration}"
        [topology.ethernet]
        link = {link}
        queue.drop_tail = {{ limit = "{limit} packets" }}
        switch = {{ memory = "8 MB" }}
        switches = [{{ name = "S", nodes = ["a", "b", "c", "d", "z"] }}]
        [[flows]]
        name = "t"
        count = 4
        from = {from}
        to = "z"
        transport.{transport}
        "#
    )
}

/// Both senders fill their links, so that one of them may lose more in a run; but neither is favored over many runs.
#[test]
fn two_udp_senders_at_the_line_rate_win_alike_over_seeds() {
    let link = r#"{ rate = "100 Gbps", delay = "500 ns" }"#;
    let udp = r#"udp = { packet = "1500 B", constant = { rate = "100 Gbps" } }"#;
    let share = |from: &str, seed| {
        let text = ethernet("2 ms", link, 1000, from, udp).replace("count = 4", "count = 2");
        let goodputs = goodputs(&simulate(&text, seed, &[]));
        goodputs[0].1 / (goodputs[0].1 + goodputs[1].1)
    };
    let shares = |from: &str| (1..=20).map(|seed| share(from, seed)).collect::<Vec<f64>>();
    let (one, other) = (shares(r#"["a", "b"]"#), shares(r#"["b", "a"]"#));
    assert!(one.iter().zip(&other).all(|(one, other)| (one + other - 1.0).abs() < 1e-9), "{one:?} {other:?}");
    let mean = one.iter().sum::<f64>() / 20.0;
    assert!((0.35..0.65).contains(&mean), "{one:?}");
}

#[test]
fn tcp_flows_of_an_ethernet_share_a_drop_tail_output() {
    let link = r#"{ rate = "1 Gbps", delay = "50 us" }"#;
    let text = ethernet("2 s", link, 100, r#"["a", "b", "c", "d"]"#, r#"tcp = { preset = "linux" }"#);
    for seed in 1..=3 {
        let (least, most) = least_and_most(&simulate(&text, seed, &[("warmup", "500 ms")]));
        assert!(most < 5.0 * least, "seed {seed}: {least} to {most} Mb/s");
    }
}

/// Two groups of one transport each, in both orders. `keys` come first, `links` are of the topology.
fn in_both_orders(transports: [&str; 2], keys: &str, links: &str) {
    let group = |name: &str, transport: &str| format!("[[flows]]\nname = \"{name}\"\ncount = 2\n{transport}\n");
    let [a, b] = [group("a", transports[0]), group("b", transports[1])];
    let head = format!(
        r#"
        duration = "3 s"
        {keys}
        [topology.star]
        access = {{ rate = "10 Mbps", delay = "1 ms" }}
        bottleneck = {{ rate = "10 Mbps", delay = "1 ms", queue.drop_tail = {{ limit = "20 packets" }} }}
        {links}
        "#
    );
    let [one, other] = [[&a, &b], [&b, &a]].map(|[first, second]| simulate(&format!("{head}{first}{second}"), 1, &[]));
    assert_eq!(goodputs(&one), goodputs(&other), "{keys} {links}");
}

/// All links have the same rate and delay, so that packets meet at the same instants.
#[test]
fn the_order_of_groups_in_the_file_changes_nothing() {
    let tcp = r#"transport.tcp = { preset = "ns2" }"#;
    let udp = r#"transport.udp = { packet = "1000 B", constant = { rate = "5 Mbps" } }"#;
    for keys in ["", "host_jitter = \"none\""] {
        in_both_orders([tcp, tcp], keys, "");
        in_both_orders([tcp, udp], keys, "");
        in_both_orders([udp, udp], keys, "");
        in_both_orders(["transport = \"tcp\"", "transport = \"tcp\""], keys, "");
    }
    // The sinks of both groups are on one host, and send in one order.
    let reverse = r#"reverse = { rate = "300 kbps", delay = "1 ms", queue = "drop_tail" }"#;
    in_both_orders(["transport = \"tcp\"", "transport = \"tcp\""], "", reverse);
}

/// Two sources on one host send at the same instants, and the device queue is full.
#[test]
fn sources_of_one_host_share_its_device_queue_in_any_order() {
    let group = |name: &str| {
        format!(
            "[[flows]]\nname = \"{name}\"\nfrom = \"h\"\nto = \"s\"\n\
             transport.udp = {{ packet = \"1000 B\", constant = {{ rate = \"10 Mbps\" }} }}\n"
        )
    };
    let head = r#"
        duration = "3 s"
        warmup = "1 s"
        host_jitter = "none"
        host_queue = "10 packets"
        [topology.graph]
        nodes = [{ name = "h" }, { name = "r", kind = "router" }, { name = "s" }]
        links = [
            { from = "h", to = "r", rate = "10 Mbps", delay = "1 ms" },
            { from = "r", to = "s", rate = "100 Mbps", delay = "1 ms" },
        ]
    "#;
    let run = |first: &str, second: &str| simulate(&(head.to_owned() + &group(first) + &group(second)), 1, &[]);
    let (one, other) = (run("a", "b"), run("b", "a"));
    assert_eq!(goodputs(&one), goodputs(&other));
    let (least, most) = least_and_most(&one);
    assert!(most < 1.2 * least, "{least} to {most} Mb/s");
}

const FAST_SOURCE: &str = r#"
duration = "4 s"
[topology.star]
access = { rate = "100 Mbps", delay = "1 ms" }
bottleneck = { rate = "1 Gbps", delay = "1 ms", queue = "drop_tail" }
[[flows]]
name = "u"
transport.udp = { packet = "1000 B", constant = { rate = "200 Mbps" } }
"#;

#[test]
fn the_device_queue_of_a_host_holds_a_thousand_packets_and_a_run_warns() {
    let result = simulate(FAST_SOURCE, 1, &[]);
    // 1000 packets of 80 us each, and what one of them takes on the way.
    let longest = result.flows.floats("delay_max_s")[0];
    assert!((0.080..0.085).contains(&longest), "{longest} s");
    let (sent, dropped) = (result.flows.counts("packets_sent")[0], result.flows.counts("packets_dropped")[0]);
    assert!(dropped.abs_diff(sent / 2) < 1100, "{dropped} of {sent}");
    assert!(warns(&result, "`u` sends faster than the uplink of its host"), "{:?}", result.warnings);
    let unlimited = simulate(FAST_SOURCE, 1, &[("host_queue", "unlimited")]);
    assert_eq!((unlimited.flows.counts("packets_dropped")[0], unlimited.warnings.len()), (0, 0));
    let short = simulate(FAST_SOURCE, 1, &[("host_queue", "10 packets")]);
    assert!(short.flows.floats("delay_max_s")[0] < 0.005);
}

/// Two nodes send to a third at the same times, one in a high class.
const CLASSES: &str = r#"
duration = "2 ms"
[topology.ethernet]
link = { rate = "10 Gbps", delay = "1 us" }
switch = { strict_priority = true }
switches = [{ name = "S", nodes = ["low", "high", "sink"] }]
[[flows]]
name = "low"
from = "low"
to = "sink"
transport.frames = { rate = "4 Gbps", arrivals = "constant" }
[[flows]]
name = "high"
from = "high"
to = "sink"
class = 7
transport.frames = { rate = "4 Gbps", arrivals = "constant" }
"#;

#[test]
fn a_high_class_never_waits_for_a_low_one_that_arrived_with_it() {
    for seed in 1..=5 {
        let result = simulate(CLASSES, seed, &[]);
        let longest = result.flows.floats("delay_max_s");
        // A slot of 1.2 us at the source, two links of 1 us, and a frame on each. The low class waits for one more.
        assert!((longest[1] - 5.6e-6).abs() < 1e-9, "seed {seed}: {longest:?}");
        assert!((longest[0] - 6.8e-6).abs() < 1e-9, "seed {seed}: {longest:?}");
    }
}

#[test]
fn the_first_of_two_frames_of_an_instant_leaves_the_queue_behind_a_law_at_once() {
    let one_packet = CLASSES
        .replace("switch = { strict_priority = true }", r#"queue.drop_tail = { limit = "1 packets" }"#)
        .replace("class = 7\n", "");
    for seed in 1..=5 {
        let result = simulate(&one_packet, seed, &[]);
        assert_eq!(result.flows.counts("packets_dropped"), [0, 0], "seed {seed}");
    }
}
