//! Path policies in fabrics: which flows take which paths, and how evenly these are used.

use std::num::NonZeroUsize;

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, run, run_divided, run_in_order};

use crate::result;

/// Two leaves with two spines for each of `hosts`, and `flows` from the hosts of the first leaf to those of the second.
fn leaf_to_leaf(hosts: u32, spines: u32, keys: &str, flows: &str) -> String {
    let list = |from: u32| (from..from + hosts).map(|host| format!("\"host{host}\"")).collect::<Vec<_>>().join(", ");
    format!(
        r#"
        duration = "2 ms"
        [topology.leaf_spine]
        leaves = 2
        spines = {spines}
        hosts = {hosts}
        host_link = {{ rate = "10 Gbps", delay = "1 us", queue.drop_tail = {{ limit = "1000 packets" }} }}
        {keys}
        [[flows]]
        name = "f"
        from = [{}]
        to = [{}]
        {flows}
        "#,
        list(0),
        list(hosts),
    )
}

/// The rows of the table of equal paths at a node: link, bytes, share over the mean, and the expected largest share.
fn rows<'a>(result: &'a RunResult, node: &str) -> Vec<(&'a str, u64, f64, f64)> {
    let table = &result.equal_paths;
    let (names, nodes) = (table.texts("name"), table.texts("node"));
    let (bytes, over_mean) = (table.counts("bytes"), table.floats("over_mean"));
    let expected = table.floats("expected_over_mean");
    let at_node = (0..nodes.len()).filter(|&row| &nodes[row] == node);
    at_node.map(|row| (&names[row], bytes[row], over_mean[row], expected[row])).collect()
}

#[test]
fn the_table_of_equal_paths_has_the_bytes_of_the_links() {
    let udp = "count = 4\ntransport.udp = { packet = \"1000 B\", constant = { rate = \"2 Gbps\" } }";
    let result = result(&leaf_to_leaf(4, 4, "paths.spray = { order = \"round_robin\" }", udp));
    let rows = rows(&result, "leaf0");
    let names: Vec<&str> = rows.iter().map(|row| row.0).collect();
    assert_eq!(names, ["leaf0.port4", "leaf0.port5", "leaf0.port6", "leaf0.port7"]);
    let of_links = result.links.texts("name").iter().zip(result.links.counts("bytes"));
    for (name, bytes) in of_links.filter(|(name, _)| names.contains(name)) {
        assert_eq!(rows.iter().find(|row| row.0 == name).unwrap().1, *bytes);
    }
    // 2000 packets: the list ends somewhere in a pass.
    assert!(rows.iter().all(|row| (row.2 - 1.0).abs() < 0.005 && row.3.is_nan()), "{rows:?}");
    assert!(result.equal_paths.texts("node").iter().all(|node| node == "leaf0"), "nobody sends back");
}

#[test]
fn the_table_is_there_only_with_a_choice() {
    let udp = "count = 1\ntransport.udp = { packet = \"1000 B\", constant = { rate = \"2 Gbps\" } }";
    for (spines, keys) in [(1, ""), (2, "paths = \"single\"")] {
        assert!(result(&leaf_to_leaf(1, spines, keys, udp)).equal_paths.columns.is_empty());
    }
}

#[test]
fn ecmp_spreads_flows_as_a_multinomial() {
    let udp = "count = 4000\ntransport.udp = { packet = \"100 B\", poisson = { rate = \"4 Mbps\" } }";
    let result = result(&leaf_to_leaf(8, 8, "paths = \"ecmp\"", udp));
    let (queues, ways) = (result.queue_flows.texts("queue"), result.queue_flows.texts("flow"));
    let up: Vec<&str> = (8..16).map(|port| ["leaf0.port", &port.to_string()].concat().leak() as &str).collect();
    let count = |port: &&str| queues.iter().zip(ways.iter()).filter(|(queue, _)| queue == port).count() as f64;
    let counts: Vec<f64> = up.iter().map(count).collect();
    let mean = counts.iter().sum::<f64>() / 8.0;
    assert!(mean > 490.0, "{counts:?}");
    let chi_square: f64 = counts.iter().map(|count| (count - mean) * (count - mean) / mean).sum();
    // Seven degrees of freedom: the quantiles of 0.001 and 0.999.
    assert!((0.6..24.3).contains(&chi_square), "{counts:?}");
    let rows = rows(&result, "leaf0");
    let largest = rows.iter().map(|row| row.2).fold(0.0, f64::max);
    // Of about 4000 flows with 10 packets each on average, so of 10/11 as many equal ones, over 8 links.
    let expected = 1.0 + 1.4236 * (8.0_f64 / (4000.0 * 10.0 / 11.0)).sqrt();
    assert!(rows.iter().all(|row| (row.3 - expected).abs() < 0.005), "{rows:?} {expected}");
    assert!((1.0..1.2).contains(&largest), "{largest}");
}

/// Two routers with a host each, and three between them. The link to the first of these is down from 4 to 8 ms.
fn with_an_outage(paths: &str, reroute: &str) -> String {
    let over = |middle: &str, down: &str| {
        format!(
            r#"{{ from = "a", to = "{middle}", rate = "1 Gbps", delay = "1 us" {down} }},
            {{ from = "{middle}", to = "b", rate = "1 Gbps", delay = "1 us" }},"#
        )
    };
    format!(
        r#"
        duration = "12 ms"
        [topology.graph]
        {paths}
        {reroute}
        nodes = [
            {{ name = "a", kind = "router" }}, {{ name = "b", kind = "router" }}, {{ name = "s" }}, {{ name = "d" }},
            {{ name = "m1", kind = "router" }}, {{ name = "m2", kind = "router" }}, {{ name = "m3", kind = "router" }},
        ]
        links = [
            {{ from = "s", to = "a", rate = "10 Gbps", delay = "1 us" }},
            {}{}{}
            {{ from = "b", to = "d", rate = "10 Gbps", delay = "1 us" }},
        ]
        [[flows]]
        name = "f"
        count = 8
        from = "s"
        to = "d"
        transport.udp = {{ packet = "1000 B", constant = {{ rate = "200 Mbps", jitter = 0.9 }} }}
        "#,
        over("m1", r#", down = [{ from = "4 ms", to = "8 ms" }]"#),
        over("m2", ""),
        over("m3", ""),
    )
}

#[test]
fn policies_with_state_follow_routes_around_an_outage() {
    for paths in ["paths.flowlet = { timeout = \"1 ms\" }", "paths.spray = { order = \"round_robin\" }"] {
        let text = with_an_outage(paths, "reroute_after = \"100 us\"");
        let scenario =
            Scenario::load(&text, "paths.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let one = run(&scenario, None, None, &mut |_| true).unwrap();
        let two = NonZeroUsize::new(2).unwrap();
        let divided = run_divided(two, &scenario, None, None, None, &mut |_| true).unwrap();
        let in_order = run_in_order(&scenario, None, None, &mut |_| true).unwrap();
        assert_eq!([&divided.digest, &in_order.digest], [&one.digest; 2], "{paths}");
        let lost: u64 = one.links.counts("packets_lost").iter().sum();
        // 200 packets a millisecond: a third of them, or as many flowlets as are there, until routes change.
        assert!((1..30).contains(&lost), "{paths}: {lost} lost");
        let blind = result(&with_an_outage(paths, ""));
        assert!(blind.links.counts("packets_lost").iter().sum::<u64>() > 100, "{paths}");
    }
}

#[test]
fn a_router_that_chooses_by_state_has_no_shared_flow_table() {
    let queue = r#"host_link = { rate = "10 Gbps", delay = "1 us", queue.dbl = { flow_table = "shared" } }"#;
    let text = leaf_to_leaf(2, 2, "paths = \"flowlet\"", "count = 2\ntransport = \"tcp\"");
    let host_link = text.lines().find(|line| line.contains("host_link")).unwrap();
    let error = Scenario::load(&text.replace(host_link, queue), "paths.toml", &[]).unwrap_err().render(false);
    assert!(error.contains("`flow_table = \"shared\"` with `paths = \"flowlet\"`"), "{error}");
    assert!(error.contains("per_queue"), "{error}");
}

/// Bursts of 24 Gb/s both ways between the hosts of two leaves, whose uplink to the first of four spines has a quarter
/// of the rate: 32.5 Gb/s in all. Returns the bytes that all uplinks of a leaf carried under four seeds, and those of
/// that one.
fn around_a_slow_uplink(paths: &str, switch: &str) -> (u64, u64) {
    let slow = r#"{ ports = ["leaf0.port8", "leaf1.port8"], rate = "2.5 Gbps" }"#;
    let keys = format!("paths = \"{paths}\"\nexceptions = [{slow}]\n{switch}");
    let bursts = r#"on_off = { rate = "2 Gbps", on = { exponential = "200 us" }, off = { exponential = "600 us" } }"#;
    let udp = format!("count = 48\ntransport.udp = {{ packet = \"1000 B\", {bursts} }}");
    let text = leaf_to_leaf(8, 4, &keys, &udp).replace("2 ms", "20 ms");
    let group = &text[text.find("[[flows]]").unwrap()..];
    let back = group.replace("\"f\"", "\"g\"").replace("to =", "FROM =").replace("from =", "to =");
    let text = format!("{text}\n{}", back.replace("FROM =", "from ="));
    let scenario = Scenario::load(&text, "paths.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let results = (1..=4).map(|seed| run(&scenario, Some(seed), None, &mut |_| true).unwrap());
    let bytes = results.map(|result| {
        let rows = rows(&result, "leaf0");
        let slow = rows.iter().find(|row| row.0 == "leaf0.port8").unwrap().1;
        (rows.iter().map(|row| row.1).sum::<u64>(), slow)
    });
    bytes.reduce(|one, other| (one.0 + other.0, one.1 + other.1)).unwrap()
}

#[test]
fn conga_avoids_a_slow_uplink_and_carries_more_than_ecmp() {
    let ethernet = r#"switch.ethernet_switch = { memory = "4 MB" }"#;
    for switch in ["", ethernet] {
        let [(ecmp, _), (conga, slow)] = ["ecmp", "conga"].map(|paths| around_a_slow_uplink(paths, switch));
        // ECMP gives a quarter of the flows to the slow one: about 18 + 2.5 of 24 Gb/s get through.
        assert!(conga as f64 > 1.1 * ecmp as f64, "{switch}: {conga} B, with ECMP {ecmp} B");
        // 2.5 of 32.5 Gb/s is 7.7 %.
        assert!((slow as f64) < 0.12 * conga as f64, "{switch}: {slow} B of {conga} B");
    }
}

#[test]
fn conga_is_for_leaf_spine_networks() {
    let text = leaf_to_leaf(2, 17, "paths = \"conga\"", "count = 2\ntransport = \"tcp\"");
    let error = |text: &str| Scenario::load(text, "paths.toml", &[]).unwrap_err().render(false);
    assert!(error(&text).contains("17 spines with `paths = \"conga\"`"), "{}", error(&text));
    let graph = error(&with_an_outage("paths = \"conga\"", ""));
    assert!(graph.contains("`conga` in the topology `graph`") && graph.contains("use it with `leaf_spine`"), "{graph}");
    let text = leaf_to_leaf(2, 2, "paths = \"conga\"", "count = 2\ntransport = \"tcp\"");
    let labels = error(&text.replace("queue.drop_tail = { limit = \"1000 packets\" }", "queue = \"csfq\""));
    assert!(labels.contains("`csfq` with `paths = \"conga\"`"), "{labels}");
}
