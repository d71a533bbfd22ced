//! Several equal paths: which links carry the packets, and that nothing depends on the driver.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::num::NonZeroUsize;

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, run, run_divided, run_in_order};

/// Two leaves, each with eight hosts of 1 Gb/s, and four spines: the hosts of the first leaf send to those of the
/// second, together as much as all spines carry.
fn leaf_spine(kind: &str, keys: &str) -> String {
    let hosts = (0..8).flat_map(|host| [(format!("a{host}"), "A"), (format!("b{host}"), "B")]);
    let hosts: Vec<(String, &str)> = hosts.collect();
    let mut nodes: Vec<String> = hosts.iter().map(|(name, _)| format!("{{ name = \"{name}\" }}")).collect();
    let switches = ["A", "B", "S1", "S2", "S3", "S4"];
    nodes.extend(switches.iter().map(|name| format!("{{ name = \"{name}\", kind = {kind} }}")));
    let link = |from: &str, to: &str, rate: &str| {
        format!("{{ from = \"{from}\", to = \"{to}\", rate = \"{rate}\", delay = \"1 us\" }}")
    };
    let mut links: Vec<String> = hosts.iter().map(|(host, leaf)| link(host, leaf, "1 Gbps")).collect();
    for leaf in ["A", "B"] {
        links.extend(["S1", "S2", "S3", "S4"].map(|spine| link(leaf, spine, "2 Gbps")));
    }
    let list = |side: &str| (0..8).map(|host| format!("\"{side}{host}\"")).collect::<Vec<_>>().join(", ");
    format!(
        r#"
        duration = "20 ms"
        [topology.graph]
        {keys}
        nodes = [{}]
        links = [{}]
        [[flows]]
        name = "udp"
        count = 64
        from = [{}]
        to = [{}]
        transport.udp = {{ packet = "1000 B", constant = {{ rate = "100 Mbps", jitter = 0.3 }} }}
        "#,
        nodes.join(", "),
        links.join(", "),
        list("a"),
        list("b"),
    )
}

fn scenario(text: &str) -> Scenario {
    Scenario::load(text, "paths.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn result(text: &str) -> RunResult {
    run(&scenario(text), None, None, &mut |_| true).unwrap()
}

/// The utilization of the four links from the first leaf to the spines.
fn spines(result: &RunResult) -> Vec<f64> {
    let (names, utilization) = (result.links.texts("name"), result.links.floats("utilization"));
    let up = names.iter().zip(utilization).filter(|(name, _)| name.starts_with("A->S"));
    up.map(|(_, utilization)| *utilization).collect()
}

#[test]
fn a_single_path_leaves_the_others_empty_and_says_so() {
    let result = result(&leaf_spine("\"router\"", ""));
    let mut used = spines(&result);
    used.sort_by(f64::total_cmp);
    assert_eq!(used[..3], [0.0; 3]);
    assert!(result.warnings.iter().any(|warning| warning.text.contains("4 equally short paths")));
}

#[test]
fn ecmp_spreads_flows_over_all_paths_and_each_stays_on_one() {
    for kind in ["\"router\"", "{ ethernet_switch = { memory = \"1 MB\" } }", "\"cioq\""] {
        let text = leaf_spine(kind, "paths = \"ecmp\"");
        let result = result(&text);
        let used = spines(&result);
        // 16 of 64 flows on average, 1.6 Gb/s of 2; the standard deviation is 3.5 flows.
        assert!(used.iter().all(|utilization| (0.2..=1.0).contains(utilization)), "{kind}: {used:?}");
        assert!(!result.warnings.iter().any(|warning| warning.text.contains("equally short")), "{kind}");
        // A flow is on one link from its leaf: its packets at the others would make rows there.
        let queues = result.queue_flows.texts("queue");
        let flows = result.queue_flows.texts("flow");
        let mut up: Vec<&str> = queues
            .iter()
            .zip(flows.iter())
            .filter(|(queue, _)| queue.starts_with("A->S"))
            .map(|(_, flow)| flow)
            .collect();
        let rows = up.len();
        up.sort_unstable();
        up.dedup();
        assert_eq!(up.len(), rows, "{kind}");
    }
}

#[test]
fn neither_threads_nor_the_order_of_running_change_the_paths() {
    for kind in ["\"router\"", "{ ethernet_switch = { memory = \"1 MB\" } }"] {
        let scenario = scenario(&leaf_spine(kind, "paths.ecmp = { salt = \"common\" }"));
        let one = run(&scenario, None, None, &mut |_| true).unwrap();
        let two = NonZeroUsize::new(2).unwrap();
        let two = run_divided(two, &scenario, None, None, None, &mut |_| true).unwrap();
        let in_order = run_in_order(&scenario, None, None, &mut |_| true).unwrap();
        assert_eq!([&two.digest, &in_order.digest], [&one.digest; 2], "{kind}");
    }
}

#[test]
fn congestion_management_refuses_to_spread() {
    let text = leaf_spine("\"ethernet_switch\"", "paths = \"ecmp\"\ncongestion_management = \"qcn\"");
    let error = Scenario::load(&text, "paths.toml", &[]).unwrap_err().to_string();
    assert!(error.contains("`ecmp` with congestion management"), "{error}");
}

#[test]
fn a_flow_alone_crosses_the_fabric_of_its_switch() {
    let text = r#"
        duration = "1 s"
        [topology.switch]
        ports = 2
        fabric = "cioq"
        access = { rate = "10 Mbps", delay = "1 ms" }
        input = { rate = "1 Mbps", delay = "1 ms" }
        output = { rate = "1 Mbps", delay = "1 ms", queue = "drop_tail" }
        [[flows]]
        name = "tcp"
        transport = "tcp"
    "#;
    let result = result(text);
    let (names, arrived) = (result.queues.texts("name"), result.queues.counts("packets_arrived"));
    let counts = |of: &str| -> u64 {
        names.iter().zip(arrived).filter(|(name, _)| name.starts_with(of)).map(|(_, arrived)| arrived).sum()
    };
    assert!(counts("out-") > 50);
    assert!(counts("switch/input-").abs_diff(counts("out-")) < 5, "{} and {}", counts("switch/input-"), counts("out-"));
}

#[test]
fn hosts_with_links_to_each_other_and_to_a_router_use_both() {
    let text = r#"
        duration = "1 s"
        [topology.graph]
        nodes = [{ name = "r", kind = "router" }, { name = "a" }, { name = "b" }, { name = "c" }]
        links = [
            { from = "a", to = "r", rate = "10 Mbps", delay = "0 s", queue = "drop_tail" },
            { from = "b", to = "r", rate = "10 Mbps", delay = "0 s", queue = "drop_tail" },
            { from = "c", to = "r", rate = "10 Mbps", delay = "0 s", queue = "drop_tail" },
            { from = "a", to = "b", rate = "1 Gbps", delay = "0 s" },
        ]
        [[flows]]
        name = "tcp"
        count = 4
        from = ["a", "b", "a", "c"]
        to = ["b", "a", "c", "a"]
        transport = "tcp"
        app.request_response = { request = "100 B", response = "10 KB", think = "1 ms" }
    "#;
    let scenario = scenario(text);
    let one = run(&scenario, None, None, &mut |_| true).unwrap();
    let in_order = run_in_order(&scenario, None, None, &mut |_| true).unwrap();
    assert_eq!(one.digest, in_order.digest);
    assert!(one.links.floats("utilization").iter().filter(|utilization| **utilization > 0.0).count() >= 6);
}

/// The requests and the responses of a client leave it by links of their own: no link is part of the host.
#[test]
fn an_endpoint_with_two_equal_ways_out_uses_both() {
    let text = r#"
        duration = "1 s"
        [topology.graph]
        paths.ecmp = { salt = "common" }
        nodes = [{ name = "r", kind = "router" }, { name = "a" }, { name = "b" }]
        links = [
            { from = "a", to = "r", rate = "10 Mbps", delay = "1 ms" },
            { from = "b", to = "r", rate = "10 Mbps", delay = "1 ms" },
            { from = "a", to = "b", rate = "10 Mbps", delay = "1 ms", metric = 2 },
        ]
        [[flows]]
        name = "talk"
        count = 16
        from = ["a", "b"]
        to = ["b", "a"]
        transport = "tcp"
        app.request_response = { request = "100 B", response = "10 KB", think = "1 ms" }
    "#;
    let scenario = scenario(text);
    let one = run(&scenario, None, None, &mut |_| true).unwrap();
    let in_order = run_in_order(&scenario, None, None, &mut |_| true).unwrap();
    assert_eq!(one.digest, in_order.digest);
    assert!(one.links.floats("utilization").iter().all(|utilization| *utilization > 0.0), "{:?}", one.links);
}
