//! CAKE in networks: hosts and headers of simulated packets, and its shaper in front of a link.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_engine::RunResult;
use forebay_records::Table;
use forebay_scenario::{Scenario, run, run_in_order};

/// Runs it by both drivers, which must agree.
fn simulate(text: &str) -> RunResult {
    let scenario = Scenario::load(text, "cake.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let result = run(&scenario, None, None, &mut |_| true).unwrap();
    assert_eq!(result.digest, run_in_order(&scenario, None, None, &mut |_| true).unwrap().digest);
    result
}

fn row(table: &Table, name: &str) -> usize {
    table.texts("name").iter().position(|row| row == name).unwrap()
}

fn number(table: &Table, name: &str, column: &str) -> f64 {
    table.floats(column)[row(table, name)]
}

fn count(table: &Table, name: &str, column: &str) -> u64 {
    table.counts(column)[row(table, name)]
}

/// One flow from host `a` and two from host `b` to a server, behind a queue of CAKE with these keys.
fn hosts(cake: &str, transport: &str) -> RunResult {
    simulate(&format!(
        r#"
        duration = "20 s"
        warmup = "5 s"
        [topology.graph]
        nodes = [{{ name = "a" }}, {{ name = "b" }}, {{ name = "server" }}, {{ name = "gateway", kind = "router" }}]
        links = [
            {{ from = "a", to = "gateway", rate = "1 Gbps", delay = "1 ms" }},
            {{ from = "b", to = "gateway", rate = "1 Gbps", delay = "1 ms" }},
            {{ from = "gateway", to = "server", rate = "1 Gbps", delay = "5 ms", queue.cake = {{ {cake} }} }},
        ]
        [[flows]]
        name = "one"
        from = "a"
        to = "server"
        {transport}
        [[flows]]
        name = "two"
        count = 2
        from = "b"
        to = "server"
        {transport}
        "#
    ))
}

/// The shares that Linux 5.10 gives to TCP flows, from one host and two from another: 16/16/16 against 24/12/12 of
/// 48 Mb/s.
#[test]
fn hosts_of_simulated_flows_share_as_in_linux() {
    for (isolation, expected) in [
        ("flows", [1.0 / 3.0; 3]),
        ("dual-dsthost", [1.0 / 3.0; 3]),
        ("dual-srchost", [1.0 / 2.0, 1.0 / 4.0, 1.0 / 4.0]),
        ("hosts", [1.0 / 2.0, 1.0 / 4.0, 1.0 / 4.0]),
    ] {
        let cake = format!("bandwidth = \"50 Mbps\", isolation = \"{isolation}\"");
        let result = hosts(&cake, "transport = \"tcp\"");
        let rates = ["one", "two-0", "two-1"].map(|flow| number(&result.flows, flow, "throughput_bps"));
        let total: f64 = rates.iter().sum();
        assert!((total / 50e6 - 1.0).abs() < 0.01, "{isolation}: {rates:?}");
        // A queue of two flows is theirs together.
        let (rates, expected) = match isolation {
            "hosts" => (vec![rates[0], rates[1] + rates[2]], vec![0.5, 0.5]),
            _ => (rates.to_vec(), expected.to_vec()),
        };
        for (rate, expected) in rates.iter().zip(&expected) {
            assert!((rate / total / expected - 1.0).abs() < 0.03, "{isolation}: {rates:?}");
        }
    }
}

/// No packet is sent to the sources of UDP, which have identities of their own nevertheless.
#[test]
fn sources_without_answers_are_hosts_too() {
    let flood = "transport.udp = { packet = \"1000 B\", constant = { rate = \"100 Mbps\" } }";
    let result = hosts("bandwidth = \"50 Mbps\", isolation = \"dual-srchost\"", flood);
    let rates = ["one", "two-0", "two-1"].map(|flow| number(&result.flows, flow, "throughput_bps"));
    for (rate, expected) in rates.iter().zip([25e6, 12.5e6, 12.5e6]) {
        assert!((rate / expected - 1.0).abs() < 0.03, "{rates:?}");
    }
}

/// A download whose ACKs pass a slow uplink with this filter.
fn download(ack_filter: &str, transport: &str) -> RunResult {
    simulate(&format!(
        r#"
        duration = "20 s"
        warmup = "5 s"
        [topology.graph]
        nodes = [{{ name = "server" }}, {{ name = "client" }}, {{ name = "gateway", kind = "router" }}]
        [[topology.graph.links]]
        from = "server"
        to = "gateway"
        rate = "1 Gbps"
        delay = "10 ms"
        [topology.graph.links.reverse]
        rate = "200 kbps"
        delay = "10 ms"
        queue.cake = {{ bandwidth = "190 kbps", ack_filter = "{ack_filter}" }}
        [[topology.graph.links]]
        from = "gateway"
        to = "client"
        rate = "50 Mbps"
        delay = "1 ms"
        queue.fq_codel = {{}}
        [[flows]]
        name = "download"
        from = "server"
        to = "client"
        {transport}
        "#
    ))
}

#[test]
fn the_ack_filter_lets_a_download_use_its_link_and_leaves_quic_alone() {
    let filtered = |result: &RunResult| count(&result.queues, "gateway->server", "dropped_match");
    let goodput = |result: &RunResult| number(&result.flows, "download", "goodput_bps");
    let [off, on, aggressive] = ["off", "on", "aggressive"].map(|filter| download(filter, "transport = \"tcp\""));
    assert_eq!(filtered(&off), 0);
    assert!(filtered(&on) > 1000 && filtered(&aggressive) > 1000);
    assert!(goodput(&on) > 1.5 * goodput(&off), "{} instead of {}", goodput(&on), goodput(&off));
    assert!(goodput(&aggressive) > 0.9 * goodput(&on), "{} instead of {}", goodput(&aggressive), goodput(&on));
    let quic = "transport.tcp = { recovery = \"quic\", sack = true, timestamps = true }";
    assert_eq!(filtered(&download("aggressive", quic)), 0);
}

/// Packets that leave are as long on the link as the bandwidth allows, with 53 bytes for each 48.
#[test]
fn the_shaper_counts_cells_in_front_of_a_faster_link() {
    let flood = "transport.udp = { packet = \"1000 B\", constant = { rate = \"30 Mbps\" } }";
    let result = hosts("bandwidth = \"10 Mbps\", framing = \"atm\"", flood);
    let sent: f64 = ["one", "two-0", "two-1"].map(|flow| number(&result.flows, flow, "throughput_bps")).iter().sum();
    let expected = 10e6 * 1000.0 / f64::from(21 * 53);
    assert!((sent / expected - 1.0).abs() < 0.001, "{sent} instead of {expected}");
}
