//! Ranks that senders state, through whole networks; and queues of hosts.

use std::num::NonZeroUsize;

use forebay_engine::RunResult;
use forebay_scenario::{PortSpec, Scenario, run, run_divided, run_in_order};

fn load(text: &str) -> Scenario {
    Scenario::load(text, "ranks.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn result(text: &str) -> RunResult {
    run(&load(text), None, None, &mut |_| true).unwrap_or_else(|error| panic!("{error}"))
}

fn mistake(text: &str) -> String {
    Scenario::load(text, "ranks.toml", &[]).unwrap_err().render(false)
}

/// Two long flows fill the link to host 3; a short one of 20 KB starts among them.
fn short_among_long(queue: &str, more: &str) -> String {
    format!(
        r#"
        duration = "30 ms"
        host_jitter = "none"
        [topology.leaf_spine]
        leaves = 2
        spines = 1
        hosts = 2
        host_link = {{ rate = "1 Gbps", delay = "1 us", queue = {queue} }}
        uplink = {{ rate = "10 Gbps", delay = "1 us" }}
        {more}
        [[flows]]
        name = "long"
        count = 2
        from = ["host0", "host1"]
        to = "host3"
        transport.tcp = {{ preset = "rfc", max_window_segments = 60 }}
        app.fixed = {{ size = "50 MB" }}
        [[flows]]
        name = "short"
        from = "host2"
        to = "host3"
        start = "20 ms"
        transport.tcp = {{ preset = "rfc", initial_window_segments = 20 }}
        app.fixed = {{ size = "20 KB" }}
        "#
    )
}

fn fct_s(result: &RunResult, flow: &str) -> f64 {
    let row = result.flows.texts("name").iter().position(|name| name == flow).unwrap();
    result.flows.floats("fct_s")[row]
}

#[test]
fn by_remaining_size_a_short_flow_waits_for_no_long_one() {
    let by_size = result(&short_among_long(r#"{ pifo = { limit = "300 packets", ranks = "remaining_size" } }"#, ""));
    let fifo = result(&short_among_long(r#"{ drop_tail = { limit = "300 packets" } }"#, ""));
    // Alone: a round trip of the handshake, and 14 segments over two links. Each packet may find one in transmission.
    let alone_s = 4.0 * 2e-6 + 2.0 * 12e-6 + 21_000.0 * 8.0 / 1e9;
    let shortest = fct_s(&by_size, "short");
    assert!(shortest < alone_s + 4.0 * 12e-6, "{shortest} of {alone_s}");
    assert!(fct_s(&fifo, "short") > 5.0 * alone_s, "{}", fct_s(&fifo, "short"));
}

#[test]
fn a_short_message_of_any_adapter_waits_for_no_long_one() {
    let transports = ["uec = { trimming = false }", "ndp = {}", "homa = {}", "pfabric = {}", "roce = {}"];
    let duration = |transport: &str, ranks: &str| {
        let queue = format!(r#"{{ pifo = {{ limit = "1 MB", ranks = "{ranks}" }} }}"#);
        let of_tcp =
            ["{ preset = \"rfc\", max_window_segments = 60 }", "{ preset = \"rfc\", initial_window_segments = 20 }"];
        let text = of_tcp.iter().fold(short_among_long(&queue, ""), |text, tcp| {
            text.replace(&format!("transport.tcp = {tcp}"), &format!("transport.{transport}"))
        });
        let result = result(&text);
        let row = result.flows.texts("name").iter().position(|name| name == "short").unwrap();
        (result.flows.floats("fct_s")[row], result.flows.floats("base_s")[row], text)
    };
    for transport in transports {
        let (by_size, alone, text) = duration(transport, "remaining_size");
        let largest = if transport.starts_with("ndp") { 72e-6 } else { 36e-6 };
        assert!(by_size < alone + 2.0 * largest, "{transport}: {by_size} of {alone}\n{text}");
        // A packet that draws a large rank may wait for the end of the long messages.
        let (drawn, ..) = duration(transport, "uniform");
        assert!(drawn.is_nan() || drawn > by_size, "{transport}: {by_size} by size, {drawn} at random");
    }
}

#[test]
fn a_flow_without_a_size_comes_after_those_with_one() {
    let queue = r#"{ pifo = { limit = "300 packets", ranks = "remaining_size" } }"#;
    let text = short_among_long(queue, "").replace("app.fixed = { size = \"50 MB\" }", "app = \"unlimited\"");
    let short = fct_s(&result(&text), "short");
    assert!(short < 300e-6, "{short}");
}

#[test]
fn the_packet_that_left_first_passes_one_with_more_slack() {
    let queue = |ranks: &str| format!(r#"{{ pifo = {{ limit = "300 packets", ranks.deadline.slack = {ranks} }} }}"#);
    let urgent = |ranks: &str| {
        let text = short_among_long(&queue(ranks), "").replace("name = \"short\"", "name = \"short\"\nclass = 1");
        fct_s(&result(&text), "short")
    };
    let (equal, less) = (urgent(r#"["0 s"]"#), urgent(r#"["100 ms", "0 s"]"#));
    assert!(less < 300e-6 && equal > 3.0 * less, "{less} with less slack, {equal} with the same");
}

/// Transfers of mean 20 KB that follow one another in few slots.
fn transfers(queue: &str) -> String {
    format!(
        r#"
        duration = "40 ms"
        [topology.leaf_spine]
        leaves = 2
        spines = 2
        hosts = 4
        host_link = {{ rate = "1 Gbps", delay = "10 us", queue = {queue} }}
        host_port = {{ queue = {queue} }}
        [[flows]]
        name = "web"
        count = 4
        from = ["host0", "host1", "host2", "host3"]
        to = ["host4", "host5", "host6", "host4"]
        transport = "tcp"
        app.transfers = {{ size = {{ exponential = "20 KB" }}, gap = {{ exponential = "200 us" }}, connections = 40 }}
        "#
    )
}

#[test]
fn ranks_of_transfers_do_not_depend_on_threads_or_the_order_of_nodes() {
    for ranks in ["ranks = \"remaining_size\"", "ranks = \"deadline\"", "ranks = \"poisson\", count_inversions = true"]
    {
        let scenario = load(&transfers(&format!(r#"{{ sp_pifo = {{ limit = "40 packets", {ranks} }} }}"#)));
        let one = run(&scenario, None, None, &mut |_| true).unwrap();
        let threads = NonZeroUsize::new(3).unwrap();
        let divided = run_divided(threads, &scenario, None, None, None, &mut |_| true).unwrap();
        let in_order = run_in_order(&scenario, None, None, &mut |_| true).unwrap();
        assert_eq!((one.digest.clone(), one.digest.clone()), (divided.digest, in_order.digest), "{ranks}");
        assert!(one.engine.packet_hops > 10_000);
    }
}

#[test]
fn short_transfers_gain_from_ranks_by_remaining_size() {
    let mean_s = |queue: &str| {
        let result = result(&transfers(queue));
        result.transfers.floats("time_mean_s").iter().sum::<f64>()
    };
    let fifo = mean_s(r#"{ drop_tail = { limit = "100 packets" } }"#);
    let by_size = mean_s(r#"{ pifo = { limit = "100 packets", ranks = "remaining_size" } }"#);
    assert!(by_size < 0.8 * fifo, "{by_size} and {fifo}");
}

#[test]
fn a_queue_of_a_host_holds_and_drops_the_packets_of_all_its_flows() {
    let host_port = r#"host_port.queue.drop_tail = { limit = "5 packets" }"#;
    let text =
        short_among_long(r#""drop_tail""#, host_port).replace("[\"host0\", \"host1\"]", "[\"host0\", \"host0\"]");
    let queues = result(&text).queues;
    let row = queues.texts("name").iter().position(|name| name == "host0.port0").unwrap();
    assert_eq!(queues.counts("length_max_packets")[row], 5);
    assert!(queues.counts("packets_dropped")[row] > 0);
}

#[test]
fn mistakes_have_a_place_and_a_remedy() {
    let lossless = r#"host_port.queue = "drop_tail"
        switch.ethernet_switch = { memory = "300 KB", pause = { high = "200 KB", low = "100 KB" } }"#;
    for (text, expected) in [
        (short_among_long(r#"{ pifo = { ranks.poisson = { mean = 0 } } }"#, ""), "`poisson.mean` of more than 0"),
        (short_among_long(r#"{ pifo = { ranks = "size" } }"#, ""), "remaining_size"),
        (short_among_long(r#"{ aifo = { ranks.deadline = { slack = [] } } }"#, ""), "for at least one class"),
        (short_among_long(r#""drop_tail""#, lossless), "adapters have no queue"),
        (short_among_long(r#""drop_tail""#, "host_port.queue.drop_tail = { limit = \"0 packets\" }"), "host_port"),
    ] {
        let message = mistake(&text);
        assert!(message.contains(expected), "{message}");
    }
    let settings = [("ranks".to_owned(), "remaining_size".to_owned())];
    let message = PortSpec::load("20 Mbps", "pifo", &settings).unwrap_err().render(false);
    assert!(message.contains("only simulated packets show what else ranks need"), "{message}");
}
