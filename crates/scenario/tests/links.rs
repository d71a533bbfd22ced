//! Rates that change, and what happens to packets on the way, on links of every topology.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_engine::RunResult;
use forebay_records::Table;
use forebay_scenario::{Scenario, run, run_in_order};

/// Runs it by both drivers, which must agree.
fn simulate(text: &str) -> RunResult {
    let scenario = Scenario::load(text, "links.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let result = run(&scenario, None, None, &mut |_| true).unwrap();
    assert_eq!(result.digest, run_in_order(&scenario, None, None, &mut |_| true).unwrap().digest);
    result
}

/// A source of packets of 1000 B at this rate, or a TCP flow, through a bottleneck with these further keys.
fn star(duration: &str, bottleneck: &str, transport: &str) -> RunResult {
    simulate(&format!(
        r#"
        duration = "{duration}"
        [topology.star]
        access = {{ rate = "1 Gbps", delay = "1 ms" }}
        bottleneck = {{ rate = "80 Mbps", delay = "5 ms", {bottleneck} }}
        [[flows]]
        name = "f"
        {transport}
        [probes]
        interval = "100 ms"
        series = ["queues", "flows"]
        "#
    ))
}

fn cbr(rate: &str) -> String {
    format!("transport.udp = {{ packet = \"1000 B\", constant = {{ rate = \"{rate}\" }} }}")
}

fn count(table: &Table, row: &str, column: &str) -> u64 {
    let row = table.texts("name").iter().position(|name| name == row).unwrap();
    table.counts(column)[row]
}

fn series(result: &RunResult, quantity: &str) -> Vec<f64> {
    result.series.iter().find(|series| series.quantity == quantity).unwrap().values.clone()
}

#[test]
fn a_slower_link_fills_its_queue_at_the_difference_of_the_rates() {
    for queue in ["drop_tail", "fq_codel = { limit = \"100000 packets\", target = \"100 s\", interval = \"100 s\" }"] {
        let keys = format!("queue.{queue}, service = [{{ rate = \"20 Mbps\", from = \"200 ms\", to = \"600 ms\" }}]")
            .replace("queue.drop_tail", "queue = \"drop_tail\"");
        let result = star("1 s", &keys, &cbr("40 Mbps"));
        // 20 Mb/s too much are 2.5 packets in a millisecond. Afterwards 40 Mb/s are left to empty it.
        let length = series(&result, "length_packets");
        let expected = [0.0, 0.0, 250.0, 500.0, 750.0, 1000.0, 500.0, 0.0, 0.0, 0.0];
        for (length, expected) in length.iter().zip(expected) {
            assert!((length - expected).abs() <= 2.0, "{queue}: {length} instead of {expected}");
        }
    }
}

#[test]
fn nothing_leaves_at_a_rate_of_zero_and_nothing_is_lost() {
    let result = star("1 s", "service = [{ rate = \"0 bps\", from = \"200 ms\", to = \"500 ms\" }]", &cbr("40 Mbps"));
    let goodput = series(&result, "goodput_bps");
    // From 206 ms to 506 ms nothing arrives; then all of the link's rate until it has caught up.
    assert!(goodput[3] == 0.0 && goodput[4] == 0.0, "{goodput:?}");
    assert!((goodput[6] - 80e6).abs() < 1e6, "{goodput:?}");
    assert_eq!(count(&result.flows, "f", "packets_dropped"), 0);
    let (sent, delivered) = (count(&result.flows, "f", "packets_sent"), count(&result.flows, "f", "packets_delivered"));
    assert!(sent - delivered < 40, "{sent}, {delivered}");
}

#[test]
fn a_faster_period_is_used() {
    let result = star("1 s", "service = [{ rate = \"160 Mbps\", from = \"500 ms\" }]", &cbr("200 Mbps"));
    let goodput = series(&result, "goodput_bps");
    assert!((goodput[3] - 80e6).abs() < 1e6 && (goodput[8] - 160e6).abs() < 1e6, "{goodput:?}");
}

#[test]
fn packets_are_lost_and_duplicated_as_often_as_stated() {
    let result = star("10 s", "impairments = { loss = 0.1, duplication = 0.2 }", &cbr("40 Mbps"));
    let sent = count(&result.flows, "f", "packets_sent") as f64;
    let share = |table, row, column| count(table, row, column) as f64 / sent;
    // Each is within four standard deviations of its mean.
    let near = |share: f64, mean: f64| (share - mean).abs() < 4.0 * (mean / sent).sqrt();
    assert!(near(share(&result.links, "bottleneck", "packets_duplicated"), 0.2));
    assert!(near(share(&result.links, "bottleneck", "packets_lost"), 0.12));
    assert!(near(share(&result.flows, "f", "packets_delivered"), 1.08));
    // The link has sent each packet once, also those that were lost behind it.
    assert!((share(&result.links, "bottleneck", "packets") - 1.0).abs() < 1e-3);
}

#[test]
fn losses_come_behind_the_queue_and_spare_no_acknowledgement() {
    const QUEUE: &str = "queue.drop_tail.limit = \"50 packets\"";
    let text = |link: &str| {
        format!(
            r#"
            duration = "5 s"
            [topology.graph]
            nodes = [{{ name = "a" }}, {{ name = "r", kind = "router" }}, {{ name = "b" }}]
            links = [
                {{ from = "a", to = "r", rate = "1 Gbps", delay = "1 ms" }},
                {{ from = "r", to = "b", rate = "50 Mbps", delay = "5 ms", {QUEUE}, {link} }},
            ]
            [[flows]]
            name = "f"
            from = "a"
            to = "b"
            transport.tcp = {{ delayed_ack = false }}
            "#
        )
    };
    let both = simulate(&text("impairments.loss = 0.05"));
    let sent_acks = count(&both.links, "b->r", "packets") as f64;
    let lost_acks = count(&both.links, "b->r", "packets_lost") as f64;
    assert!(lost_acks > 10.0 && (lost_acks / sent_acks - 0.05).abs() < 0.04, "{lost_acks} of {sent_acks}");
    // The queue has seen all that the link lost.
    assert!(count(&both.links, "r->b", "packets_lost") > 10);
    let arrived: u64 = both.queues.counts("packets_arrived").iter().sum();
    assert!(arrived >= count(&both.links, "r->b", "packets"));
    // With a way back of its own, only data are lost.
    let reverse = "impairments.loss = 0.05, reverse = { rate = \"50 Mbps\", delay = \"5 ms\" }";
    assert_eq!(count(&simulate(&text(reverse)).links, "b->r", "packets_lost"), 0);
}

#[test]
fn jitter_delays_by_its_mean_and_overtakes_only_if_asked() {
    let delay = |keys: &str| {
        let result = star("10 s", &format!("impairments = {{ {keys} }}"), &cbr("8 Mbps"));
        result.flows.floats("delay_mean_s")[0]
    };
    let plain = delay("");
    assert!((delay("jitter = \"3 ms\"") - plain - 0.003).abs() < 1e-9);
    // A packet each millisecond: the next one overtakes if its draw is more than 1 ms shorter.
    let reordered = delay("jitter = { uniform = [\"0 ms\", \"4 ms\"] }, reordering = true");
    assert!((reordered - plain - 0.002).abs() < 0.0001, "{reordered}");
    // In order, each waits for those before it: the greatest of four draws, each 1 ms less than the one before. With
    // F(x) = x / 4 ms its mean is the integral of 1 - F(x) F(x + 1 ms) F(x + 2 ms) F(x + 3 ms).
    let in_order = delay("jitter = { uniform = [\"0 ms\", \"4 ms\"] }");
    assert!((in_order - plain - 0.002_325_4).abs() < 0.0001, "{}", in_order - plain);
}

#[test]
fn tcp_takes_reordering_for_loss_but_loses_nothing() {
    let tcp = "transport.tcp = { preset = \"rfc\", max_window_segments = 60 }";
    let retransmitted = |keys: &str| {
        let result = star("5 s", &format!("queue.drop_tail = {{ limit = \"2000 packets\" }}, {keys}"), tcp);
        assert_eq!(count(&result.links, "bottleneck", "packets_lost"), 0);
        count(&result.flows, "f", "packets_retransmitted")
    };
    let jitter = "jitter = { uniform = [\"0 ms\", \"4 ms\"] }";
    assert_eq!(retransmitted(&format!("impairments = {{ {jitter} }}")), 0);
    assert!(retransmitted(&format!("impairments = {{ {jitter}, reordering = true }}")) > 0);
}

#[test]
fn duplicates_change_nothing_for_tcp_but_the_count() {
    let tcp = "transport.tcp = {}\nhost_jitter = \"0 us\"";
    let with = star("5 s", "impairments.duplication = 0.1", tcp);
    assert!(count(&with.links, "bottleneck", "packets_duplicated") > 100);
    let without = star("5 s", "", tcp);
    let [with, without] = [with, without].map(|result| result.flows.floats("goodput_bps")[0]);
    assert!(with > 0.95 * without, "{with} instead of {without}");
}

#[test]
fn a_host_of_a_lossy_link_loses_in_both_directions() {
    let result = simulate(
        r#"
        duration = "5 s"
        [topology.dumbbell]
        access = { rate = "100 Mbps", delay = "1 ms", impairments.loss = 0.02 }
        bottleneck = { rate = "50 Mbps", delay = "5 ms" }
        [[flows]]
        name = "f"
        transport.tcp = { delayed_ack = false }
        "#,
    );
    for link in ["access-f", "access-f/back", "sink-f", "sink-f/back"] {
        assert!(count(&result.links, link, "packets_lost") > 0, "{link}");
    }
}

#[test]
fn an_ethernet_loses_frames_but_no_pause() {
    let result = simulate(
        r#"
        duration = "20 ms"
        [topology.ethernet]
        link = { rate = "10 Gbps", delay = "1 us", impairments.loss = 0.01 }
        switch = { memory = "600 KB", pause = { high = "150 KB", low = "130 KB" } }
        adapter = { egress_memory = "200 KB", pause = { high = "150 KB", low = "130 KB" } }
        switches = [{ name = "S", nodes = ["a", "b", "c"] }]
        [[flows]]
        name = "frames"
        from = ["a", "b"]
        to = "c"
        transport.frames = { rate = "8 Gbps" }
        "#,
    );
    assert!(result.queues.counts("pause_frames_sent").iter().sum::<u64>() > 10);
    assert_eq!(result.queues.counts("frames_lost").iter().sum::<u64>(), 0, "the memory overflows");
    let (sent, lost) = (count(&result.links, "S->c", "packets"), count(&result.links, "S->c", "packets_lost"));
    assert!((lost as f64 / sent as f64 - 0.01).abs() < 0.003, "{lost} of {sent}");
}

#[test]
fn the_device_queue_of_a_host_limits_a_lossy_link_too() {
    let result = simulate(
        r#"
        duration = "1 s"
        host_queue = "10 packets"
        [topology.star]
        access = { rate = "10 Mbps", delay = "1 ms", impairments.loss = 0.01 }
        bottleneck = { rate = "50 Mbps", delay = "5 ms" }
        [[flows]]
        name = "f"
        transport.udp = { packet = "1000 B", constant = { rate = "20 Mbps" } }
        "#,
    );
    // Half of it finds the queue full.
    let dropped = count(&result.flows, "f", "packets_dropped") as f64;
    assert!((dropped / count(&result.flows, "f", "packets_sent") as f64 - 0.5).abs() < 0.05);
    assert!(
        result.warnings.iter().any(|warning| warning.text.contains("the device queue of")),
        "{:?}",
        result.warnings
    );
}
