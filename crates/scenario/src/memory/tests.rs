//! Scenarios that are refused because they need too much memory, and the messages.

use super::*;

/// A star of `count` flows, with the rest of the file.
fn star(count: u64, more: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "10 s"
        {more}
        [topology.star]
        access = {{ rate = "1 Gbps", delay = "1 ms" }}
        bottleneck = {{ rate = "10 Gbps", delay = "1 ms", queue.drop_tail = {{ limit = "1000 packets" }} }}
        [[flows]]
        name = "tcp"
        count = {count}
        transport = "tcp"
        "#
    );
    Scenario::load(&text, "test.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// Whether a run fits into so much memory.
fn fits(scenario: &Scenario, available: f64) -> Result<(), RunError> {
    check_within(&Outline::new(scenario.spec()), None, available)
}

fn refusal(scenario: &Scenario, available: f64) -> String {
    fits(scenario, available).map_err(|error| error.to_string()).unwrap_err()
}

#[test]
fn a_refusal_tells_what_is_needed_what_there_is_and_what_of() {
    insta::assert_snapshot!(refusal(&star(16_000_000, ""), 8e9), @"
    the run needs about 54 GB of memory, and 8.0 GB is available
    16,000,000 TCP flows need about 37 GB; 32,000,002 links need about 13 GB
    hint: reduce their number, or run it on a machine with more memory
    ");
    fits(&star(1000, ""), 8e9).unwrap();
}

#[test]
fn a_source_in_a_graph_has_in_flight_what_its_links_hold() {
    let text = r#"
        duration = "1 s"
        topology.graph.nodes = [{ name = "a" }, { name = "b" }]
        topology.graph.links = [{ from = "a", to = "b", rate = "1 kbps", delay = "1 s", queue = "drop_tail" }]
        [[flows]]
        name = "flood"
        from = "a"
        to = "b"
        transport.udp = { packet = "1 B", constant = { rate = "10 Tbps" } }
        "#;
    fits(&Scenario::load(text, "test.toml", &[]).unwrap(), 1e9).unwrap();
}

#[test]
fn what_is_recorded_of_single_flows_counts() {
    // Nothing but these samples makes the run large, and validation does not count them.
    let gauges =
        r#"probes = { interval = "1 ps", series = [], flow_gauges = [{ queue = "bottleneck", flows = ["tcp"] }] }"#;
    let text = refusal(&star(10, gauges), 8e9);
    assert!(text.contains("samples of `[probes]` need about 2,400 TB"), "{text}");
}

#[test]
fn tables_of_many_queues_count() {
    let tables = r#"[[flows]]
        name = "udp"
        count = 100000
        transport.udp = { packet = "1000 B", constant = { rate = "1 Mbps" } }
        access = { rate = "10 Mbps", delay = "1 ms", queue.fq_codel = { flows = 65536 } }
        "#;
    let scenario = star(10, "");
    let text = format!("{}\n{tables}", scenario.to_toml());
    let scenario = Scenario::load(&text, "test.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let text = refusal(&scenario, 8e9);
    assert!(text.contains("100,001 queues need about"), "{text}");
}

#[test]
fn a_queue_with_room_holds_what_a_source_sends_beyond_the_rate() {
    let text = r#"
        duration = "1000 s"
        [topology.star]
        access = { rate = "10 Gbps", delay = "1 ms" }
        bottleneck = { rate = "1 Gbps", delay = "1 ms", queue.drop_tail = { limit = "1000000000 packets" } }
        [[flows]]
        name = "udp"
        transport.udp = { packet = "100 B", constant = { rate = "9 Gbps" } }
        "#;
    let scenario = Scenario::load(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let text = refusal(&scenario, 8e9);
    assert!(text.contains("packets on their way and in buffers"), "{text}");
}

#[test]
fn a_device_queue_bounds_what_waits_at_a_host() {
    let text = |queue: &str| {
        format!(
            r#"
            duration = "1000 s"
            host_queue = "{queue}"
            [topology.star]
            access = {{ rate = "1 Gbps", delay = "1 ms" }}
            bottleneck = {{ rate = "10 Gbps", delay = "1 ms", queue = "drop_tail" }}
            [[flows]]
            name = "udp"
            transport.udp = {{ packet = "100 B", constant = {{ rate = "9 Gbps" }} }}
            "#
        )
    };
    let load = |queue| Scenario::load(&text(queue), "test.toml", &[]).unwrap();
    fits(&load("1000 packets"), 1e9).unwrap();
    assert!(refusal(&load("unlimited"), 1e9).contains("packets on their way and in buffers"));
}
