//! The estimate of the memory that a run takes, against what runs take in processes of their own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

use forebay_scenario::{Scenario, WatchSpec, memory_estimate, memory_estimate_watched, run, run_watched};
use forebay_units::Span;

const SCENARIO: &str = "FOREBAY_TEST_SCENARIO";
/// The number of events of the bottleneck to record.
const EVENTS: &str = "FOREBAY_TEST_EVENTS";
const PEAK: &str = "peak bytes: ";

/// No test by itself: the code of the processes that the others start.
#[test]
fn runs_what_it_is_given() {
    let Ok(path) = std::env::var(SCENARIO) else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let scenario = scenario(&text);
    let result = match std::env::var(EVENTS) {
        Ok(most) => run_watched(&scenario, None, &watch(most.parse().unwrap()), &mut |_| true),
        Err(_) => run(&scenario, None, None, &mut |_| true),
    };
    let result = result.unwrap_or_else(|error| panic!("{error}"));
    println!("{PEAK}{}", result.engine.peak_rss_bytes);
}

/// The bottleneck, from the start to the end.
fn watch(most: usize) -> WatchSpec {
    WatchSpec { links: vec!["bottleneck".into()], from: Span::ZERO, to: Span::from_seconds(60), most }
}

fn scenario(text: &str) -> Scenario {
    Scenario::load(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// The most memory that a process held that ran the scenario, perhaps with a record of so many events, in bytes.
fn peak(text: &str, events: Option<usize>) -> f64 {
    let this = std::env::current_exe().unwrap();
    let name = format!("forebay-memory-{:?}.toml", std::thread::current().id());
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    let mut child = Command::new(this);
    child.args(["--exact", "runs_what_it_is_given", "--nocapture"]).env(SCENARIO, &path);
    if let Some(events) = events {
        child.env(EVENTS, events.to_string());
    }
    let child = child.output().unwrap();
    std::fs::remove_file(path).unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    let number = output.lines().find_map(|line| line.split_once(PEAK)).map(|(_, number)| number);
    number.and_then(|number| number.trim().parse().ok()).unwrap_or_else(|| panic!("{output}"))
}

/// Checks the estimate of a scenario that takes much more than the process itself.
fn check(text: &str) {
    compare(memory_estimate(&scenario(text)), peak(text, None));
}

fn compare(estimate: f64, peak: f64) {
    if peak == 0.0 {
        // The system does not tell.
        return;
    }
    let summary = format!("estimated {:.0} MB, measured {:.0} MB", estimate / 1e6, peak / 1e6);
    println!("{summary}");
    assert!(peak > 30e6, "too small a scenario to tell: {summary}");
    assert!((0.5..=2.0).contains(&(estimate / peak)), "{summary}");
}

/// A star whose access links are `access`, with flows of `flows`.
fn star(access: &str, bottleneck: &str, flows: &str) -> String {
    format!(
        r#"
        duration = "1 s"
        [topology.star]
        access = {{ delay = "1 ms", {access} }}
        bottleneck = {{ delay = "1 ms", {bottleneck} }}
        [[flows]]
        name = "flow"
        {flows}
        "#
    )
}

const TCP: &str = r#"transport = "tcp"
start = { uniform = ["0 s", "1 s"] }
count = 20000"#;

#[test]
fn many_tcp_flows() {
    check(&star(r#"rate = "1 Gbps""#, r#"rate = "1 Gbps", queue = "drop_tail""#, TCP));
}

#[test]
fn many_tcp_flows_between_hosts_of_their_own_with_sack() {
    check(
        r#"
        duration = "1 s"
        [topology.dumbbell]
        access = { rate = "1 Gbps", delay = "1 ms" }
        bottleneck = { rate = "1 Gbps", delay = "1 ms", queue = "red" }
        [[flows]]
        name = "flow"
        count = 15000
        start = { uniform = ["0 s", "1 s"] }
        transport.tcp = { preset = "linux" }
        "#,
    );
}

#[test]
fn an_open_loop_over_a_fabric() {
    for switch in ["\"router\"", "{ ethernet_switch = { memory = \"4 MB\" } }"] {
        check(&format!(
            r#"
            duration = "20 ms"
            [topology.leaf_spine]
            leaves = 8
            spines = 8
            hosts = 16
            switch = {switch}
            host_link = {{ rate = "10 Gbps", delay = "1 us" }}
            [[flows]]
            name = "web"
            transport = "tcp"
            pattern.open_loop = {{ load = 0.3, size = {{ cdf = "fb_web_server" }} }}
            "#
        ));
    }
}

#[test]
fn messages_without_a_window_hold_no_more_than_their_data() {
    let text = r#"
        duration = "1 s"
        [topology.leaf_spine]
        leaves = 2
        spines = 1
        hosts = 8
        host_link = { rate = "100 Gbps", delay = "1 us" }
        [[flows]]
        name = "m"
        transport.roce = { window = "none" }
        pattern.incast = { receiver = "host0", senders = 15, size = "1 MB" }
    "#;
    // At the rate of their links the hosts would send 190 GB.
    assert!(memory_estimate(&scenario(text)) < 100e6, "{}", memory_estimate(&scenario(text)));
}

#[test]
fn many_tcp_flows_behind_lossy_links() {
    check(&star(r#"rate = "1 Gbps", impairments.loss = 0.01"#, r#"rate = "1 Gbps", queue = "drop_tail""#, TCP));
    // The acknowledgements of all flows come from a few hosts, with a link for each flow.
    let text = format!(
        r#"
        duration = "100 ms"
        [topology.switch]
        ports = 4
        fabric = "output_queued"
        access = {{ rate = "1 Gbps", delay = "1 ms", impairments.loss = 0.01 }}
        input = {{ rate = "1 Gbps", delay = "1 ms" }}
        output = {{ rate = "1 Gbps", delay = "1 ms" }}
        [[flows]]
        name = "flow"
        {TCP}
        "#
    );
    check(&text.replace("1 s", "100 ms"));
}

#[test]
fn many_udp_flows() {
    let flows = r#"count = 30000
        transport.udp = { packet = "100 B", poisson = { rate = "8 kbps" } }"#;
    check(&star(r#"rate = "1 Gbps""#, r#"rate = "1 Gbps", queue = "drop_tail""#, flows));
}

#[test]
fn a_queue_with_books_for_each_of_many_flows() {
    check(&star(r#"rate = "10 Mbps", queue = "drop_tail""#, r#"rate = "1 Gbps", queue = "drop_tail""#, TCP));
}

#[test]
fn a_queue_with_tables_for_each_flow() {
    let flows = r#"count = 500
        transport.udp = { packet = "100 B", poisson = { rate = "8 kbps" } }"#;
    check(&star(r#"rate = "10 Mbps", queue.fq_codel = { flows = 2048 }"#, r#"rate = "1 Gbps""#, flows));
}

#[test]
fn what_waits_in_queues() {
    let flows = r#"transport.udp = { packet = "100 B", constant = { rate = "900 Mbps" } }"#;
    let bottleneck = r#"rate = "100 Mbps", queue.drop_tail = { limit = "10000000 packets" }"#;
    check(&star(r#"rate = "1 Gbps""#, bottleneck, flows));
    let windows = r#"count = 100
        transport.tcp = { max_window_segments = 10000, initial_window_segments = 10000, segment = "100 B" }"#;
    check(&star(r#"rate = "1 Gbps""#, r#"rate = "1 Gbps""#, windows));
}

#[test]
fn what_propagates_over_long_links() {
    let udp = r#"transport.udp = { packet = "50 B", constant = { rate = "900 Mbps" } }"#;
    check(&star(r#"rate = "1 Gbps""#, r#"rate = "1 Gbps""#, udp).replace("1 ms", "400 ms"));
    check(
        r#"
        duration = "2 s"
        [topology.ethernet]
        link = { rate = "10 Gbps", delay = "800 ms" }
        congestion_management = "qcn"
        switches = [{ name = "switch", nodes = ["a", "b"] }]
        [[flows]]
        name = "flow"
        from = "a"
        to = "b"
        transport.frames = { rate = "5 Gbps" }
        "#,
    );
}

#[test]
fn time_series() {
    let probes = r#"probes.interval = "10 us""#;
    let flows = r#"count = 10
        transport.udp = { packet = "1000 B", constant = { rate = "1 Mbps" } }"#;
    check(&format!("{probes}\n{}", star(r#"rate = "1 Gbps""#, r#"rate = "1 Gbps", queue = "red""#, flows)));
}

#[test]
fn a_switch_with_many_flows() {
    check(
        r#"
        duration = "200 ms"
        [topology.switch]
        ports = 16
        access = { rate = "1 Gbps", delay = "1 ms" }
        input = { rate = "1 Gbps", delay = "1 us" }
        output = { rate = "1 Gbps", delay = "1 ms", queue.drop_tail = { limit = "100 packets" } }
        fabric = "cioq"
        [[flows]]
        name = "flow"
        count = 8000
        start = { uniform = ["0 s", "100 ms"] }
        transport = "tcp"
        "#,
    );
}

/// A fat-tree of switches with `k` ports (Al-Fares et al. 2008) as a free graph, with TCP flows between its hosts.
fn fat_tree(k: usize, flows: usize) -> String {
    let (mut hosts, mut routers, mut links) = (Vec::new(), Vec::new(), Vec::new());
    for (pod, one, other) in
        (0..k * k * k / 4).map(|host| (host / (k * k / 4), host / (k / 2) % (k / 2), host % (k / 2)))
    {
        let [host, edge, core] = [format!("h{pod}-{one}-{other}"), format!("e{pod}-{one}"), format!("c{one}-{other}")];
        let aggregation = |number: usize| format!("a{pod}-{number}");
        links.extend([
            (edge.clone(), aggregation(other)),
            (aggregation(one), core.clone()),
            (host.clone(), edge.clone()),
        ]);
        routers.extend([edge, core, aggregation(one)]);
        hosts.push(host);
    }
    routers.sort();
    routers.dedup();
    let listed = |items: Vec<String>| items.join(",\n");
    let node = |name: &String| format!(r#"{{ name = "{name}" }}"#);
    let router = |name: &String| format!(r#"{{ name = "{name}", kind = "router" }}"#);
    let nodes = listed(hosts.iter().map(node).chain(routers.iter().map(router)).collect());
    let ends = |(from, to): &(String, String)| format!(r#"from = "{from}", to = "{to}""#);
    let link = |link| format!(r#"{{ {}, rate = "10 Gbps", delay = "1 us", queue = "drop_tail" }}"#, ends(link));
    let to = |flow: usize| &hosts[(flow + 1 + flow * 7919 % (hosts.len() - 1)) % hosts.len()];
    let quoted = |name: &String| format!("\"{name}\"");
    format!(
        r#"
        duration = "1 ms"
        [topology.graph]
        paths = "ecmp"
        nodes = [{nodes}]
        links = [{}]
        [[flows]]
        name = "flow"
        count = {flows}
        start = {{ uniform = ["0 s", "500 us"] }}
        transport = "tcp"
        from = [{}]
        to = [{}]
        "#,
        listed(links.iter().map(link).collect()),
        listed(hosts.iter().map(quoted).collect()),
        listed((0..flows).map(|flow| quoted(to(flow))).collect())
    )
}

#[test]
fn queues_that_few_of_many_flows_cross() {
    let text = fat_tree(8, 12_500);
    check(&text);
    // A row of each of 768 queues for each flow would take 1.5 GB.
    assert!(memory_estimate(&scenario(&text)) < 150e6);
}

#[test]
fn an_ethernet_of_many_nodes() {
    let switch = |number: usize| {
        let nodes: Vec<String> = (0..40).map(|node| format!("\"n{number}-{node}\"")).collect();
        format!("[[topology.ethernet.switches]]\nname = \"s{number}\"\nnodes = [{}]\n", nodes.join(", "))
    };
    let switches: String = (0..4).map(switch).collect();
    let nodes: Vec<String> = (0..160).map(|node| format!("\"n{}-{}\"", node / 40, node % 40)).collect();
    check(&format!(
        r#"
        duration = "2 ms"
        [topology.ethernet]
        link = {{ rate = "10 Gbps", delay = "1 us" }}
        trunks = [["s0", "s1"], ["s1", "s2"], ["s2", "s3"]]
        {switches}
        [[flows]]
        name = "flow"
        from = [{}]
        to = "others"
        transport.frames = {{ size = "1000 B", rate = "100 Mbps" }}
        "#,
        nodes.join(", ")
    ));
}

#[test]
fn recorded_events_take_what_is_estimated() {
    let flood = r#"transport.udp = { packet = "100 B", constant = { rate = "1 Gbps" } }"#;
    let text = star(r#"rate = "1 Gbps""#, r#"rate = "800 Mbps", queue = "drop_tail""#, flood);
    for events in [500_000, 1_000_000] {
        compare(memory_estimate_watched(&scenario(&text), &watch(events)), peak(&text, Some(events)));
    }
}
