//! Networks in which Ethernet switches are next to routers and crossbars.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::num::NonZeroUsize;

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, memory_estimate, plan_data, run, run_divided, run_in_order};

fn load(text: &str) -> Scenario {
    Scenario::load(text, "mixed.toml", &[]).unwrap_or_else(|error| panic!("{}\n{text}", error.render(false)))
}

/// The results, which are the same in the order of the global clock and on several threads. Every run checks that no
/// packet is lost without a count.
fn result(text: &str) -> RunResult {
    let scenario = load(text);
    let result = run(&scenario, Some(3), None, &mut |_| true).unwrap();
    assert_eq!(result.digest, run_in_order(&scenario, Some(3), None, &mut |_| true).unwrap().digest);
    for threads in [2, 4] {
        let most = NonZeroUsize::new(threads).unwrap();
        let divided = run_divided(most, &scenario, Some(3), None, None, &mut |_| true).unwrap();
        assert_eq!(result.digest, divided.digest, "{threads} threads");
    }
    result
}

/// A count of a row of a table.
fn count(table: &forebay_records::Table, name: &str, column: &str) -> u64 {
    let row = table.texts("name").iter().position(|row| row == name).unwrap_or_else(|| panic!("no {name}"));
    table.counts(column)[row]
}

/// Hosts on a router, on an Ethernet switch and on a crossbar, in a row. `switch` are keys of the Ethernet switch, and
/// `trunk` those of its link to the router.
fn row(switch: &str, trunk: &str, flows: &str) -> String {
    format!(
        r#"
        duration = "200 ms"
        [topology.graph]
        nodes = [
            {{ name = "a" }}, {{ name = "b" }}, {{ name = "c" }}, {{ name = "d" }}, {{ name = "e" }},
            {{ name = "R", kind = "router" }},
            {{ name = "S", kind.ethernet_switch = {{ {switch} }} }},
            {{ name = "X", kind = "cioq" }},
        ]
        links = [
            {{ from = "a", to = "R", rate = "1 Gbps", delay = "100 us" }},
            {{ from = "R", to = "S", rate = "100 Mbps", delay = "20 us"{trunk} }},
            {{ from = "S", to = "b", rate = "1 Gbps", delay = "1 us" }},
            {{ from = "S", to = "c", rate = "1 Gbps", delay = "1 us" }},
            {{ from = "R", to = "X", rate = "100 Mbps", delay = "50 us" }},
            {{ from = "X", to = "d", rate = "100 Mbps", delay = "50 us" }},
            {{ from = "X", to = "e", rate = "100 Mbps", delay = "50 us" }},
        ]
        {flows}
        "#
    )
}

fn tcp(name: &str, from: &str, to: &str) -> String {
    format!("[[flows]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\ntransport = \"tcp\"\n")
}

const UDP: &str = r#"
    [[flows]]
    name = "udp"
    from = "c"
    to = "d"
    transport.udp = { packet = "1000 B", constant = { rate = "300 Mbps" } }
"#;

#[test]
fn tcp_fills_the_link_between_a_router_and_an_ethernet_switch_both_ways() {
    for (from, to) in [("a", "b"), ("b", "a"), ("d", "c")] {
        let result = result(&row("", ", queue.drop_tail = { limit = \"60 packets\" }", &tcp("tcp", from, to)));
        // The link carries 1666 full-sized packets in 200 ms.
        let delivered = count(&result.flows, "tcp", "packets_delivered");
        assert!((1300..=1666).contains(&delivered), "{from} to {to}: {delivered}");
    }
}

#[test]
fn a_switch_loses_what_its_memory_does_not_hold_for_a_router() {
    let result = result(&row("memory = \"50 KB\"", "", UDP));
    let [sent, delivered, dropped] =
        ["packets_sent", "packets_delivered", "packets_dropped"].map(|column| count(&result.flows, "udp", column));
    assert_eq!(sent, 7500);
    // A third of it leaves the switch, at 12500 packets per second.
    assert!((2440..=2500).contains(&delivered), "{delivered}");
    // The rest is in the 50 KB of the switch, or on its way.
    let held = sent - delivered - dropped;
    assert!((40..=70).contains(&held), "{held}");
    assert_eq!(count(&result.queues, "S->R", "packets_dropped"), dropped);
}

#[test]
fn disciplines_and_classes_of_a_switch_serve_a_router() {
    let flows = [tcp("one", "b", "a"), tcp("two", "c", "d"), tcp("back", "e", "b"), UDP.to_owned()].concat();
    for (switch, trunk) in [
        ("strict_priority = true", ", queue = \"codel\""),
        ("", ", queue = \"fq_codel\""),
        ("", ", queue.csfq = { role = \"edge\" }"),
        ("", ", reverse = { rate = \"50 Mbps\", delay = { uniform = [\"10 us\", \"1 ms\"] }, queue = \"red\" }"),
        ("arbiter = \"round_robin\", forwarding_delay = \"3 us\"", ", metric = 3"),
    ] {
        let result = result(&row(switch, trunk, &flows));
        for flow in ["one", "two", "back"] {
            let delivered = count(&result.flows, flow, "packets_delivered");
            assert!(delivered > 0, "{switch}{trunk}: {flow}");
        }
    }
}

/// Two lossless Ethernets with a router between them, at switches without PAUSE.
const ISLANDS: &str = r#"
    duration = "10 ms"
    [topology.graph]
    adapter.pause = { high = "140 KB", low = "130 KB" }
    nodes = [
        { name = "left", count = 3 }, { name = "right", count = 2 },
        { name = "L", kind.ethernet_switch = { memory = "300 KB", pause = { high = "60 KB", low = "50 KB" } } },
        { name = "E", kind = "ethernet_switch" },
        { name = "R", kind = "router" },
        { name = "F", kind = "ethernet_switch" },
    ]
    links = [
        { from = "left", to = "L", rate = "10 Gbps", delay = "500 ns" },
        { from = "L", to = "E", rate = "10 Gbps", delay = "500 ns" },
        { from = "E", to = "R", rate = "10 Gbps", delay = "1 us" },
        { from = "R", to = "F", rate = "10 Gbps", delay = "1 us", queue = "codel" },
        { from = "F", to = "right", rate = "10 Gbps", delay = "500 ns" },
    ]
    [[flows]]
    name = "frames"
    from = ["left-0", "left-1"]
    to = "left-2"
    transport.frames = { rate = "8 Gbps" }
    [[flows]]
    name = "tcp"
    from = ["left-0", "right-1"]
    to = ["right-0", "left-1"]
    count = 2
    transport = "tcp"
"#;

#[test]
fn frames_stay_lossless_next_to_tcp_that_leaves_their_ethernet() {
    let result = result(ISLANDS);
    for (row, name) in result.flows.texts("name").iter().enumerate() {
        let delivered = result.flows.counts("packets_delivered")[row];
        assert!(delivered > 20, "{name}: {delivered}");
        if name.starts_with("frames") {
            assert_eq!(result.flows.counts("packets_dropped")[row], 0, "{name}");
        }
    }
    assert!(count(&result.queues, "L->left-0", "pause_frames_sent") > 0);
    assert_eq!(count(&result.queues, "R->F", "pause_frames_sent"), 0);
}

#[test]
fn the_plan_of_a_mixed_graph_has_adapters_at_ethernet_switches_only() {
    let scenario = load(&row("", ", queue = \"codel\"", &tcp("tcp", "a", "b")));
    let plan = plan_data(&scenario);
    let kinds: Vec<(&str, &str)> = plan.nodes.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
    assert_eq!(
        kinds,
        [
            ("a", "host"),
            ("b", "adapter"),
            ("c", "adapter"),
            ("d", "host"),
            ("e", "host"),
            ("R", "router"),
            ("S", "ethernet_switch"),
            ("X", "crossbar"),
        ]
    );
    let trunk = plan.queues.iter().find(|queue| queue.queues.iter().any(|name| name == "R->S")).unwrap();
    assert_eq!(trunk.discipline, Some("codel"));
    let without = memory_estimate(&load(&row("", "", &tcp("tcp", "a", "d"))));
    assert!(memory_estimate(&scenario) > without * 0.99);
}
