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

#[test]
fn a_link_that_is_down_loses_what_it_sends() {
    let down = "down = [{ from = \"200 ms\", to = \"500 ms\" }, { from = \"700 ms\", to = \"710 ms\" }]";
    let result = star("1 s", down, &cbr("40 Mbps"));
    // Five packets a millisecond, and those whose transmission an edge cuts.
    let lost = count(&result.links, "bottleneck", "packets_lost");
    assert!((1550..=1554).contains(&lost), "{lost}");
    assert_eq!(count(&result.links, "bottleneck", "lost_outage"), lost);
    assert_eq!(count(&result.flows, "f", "packets_dropped"), lost);
}

/// Two routers with a way around the link between them. The link is down from 1 s to 2 s. 1000 packets a second each
/// way; both ways take 1 ms to come to the link.
fn detour(keys: &str) -> RunResult {
    let flow = |from: &str, to: &str| {
        format!(
            r#"
            [[flows]]
            name = "{from}"
            from = "{from}"
            to = "{to}"
            transport.udp = {{ packet = "1000 B", constant = {{ rate = "8 Mbps" }} }}
            "#
        )
    };
    let link = |from: &str, to: &str, keys: &str| {
        format!(
            "{{ from = \"{from}\", to = \"{to}\", rate = \"8 Gbps\", delay = \"1 ms\", queue = \"drop_tail\"{keys} }},"
        )
    };
    simulate(&format!(
        r#"
        duration = "3 s"
        host_jitter = "none"
        [topology.graph]
        {keys}
        nodes = [
            {{ name = "a" }}, {{ name = "b" }},
            {{ name = "l", kind = "router" }}, {{ name = "r", kind = "router" }}, {{ name = "m", kind = "router" }},
        ]
        links = [{}]
        {}
        "#,
        link("a", "l", "")
            + &link("b", "r", "")
            + &link("l", "r", ", down = [{ from = \"1 s\", to = \"2 s\" }]")
            + &link("l", "m", "")
            + &link("m", "r", ""),
        flow("a", "b") + &flow("b", "a"),
    ))
}

#[test]
fn routes_follow_an_outage_after_a_delay() {
    let expected = [
        // No route follows.
        ("", 1000, 0),
        // It is as long as the outage: too long.
        ("reroute_after = \"1 s\"", 1000, 0),
        ("reroute_after = \"100 ms\"", 100, 1000),
        ("reroute_after = \"250.5 ms\"", 250, 1000),
        ("reroute_after = \"0 s\"", 0, 1000),
    ];
    for (keys, lost, around) in expected {
        let result = detour(keys);
        for (there, back) in [("l->r", "l->m"), ("r->l", "r->m")] {
            let columns = result.links.columns.iter();
            // The column is there if a packet was lost.
            let has_losses = columns.clone().any(|(name, _)| *name == "lost_outage");
            let counted = if has_losses { count(&result.links, there, "lost_outage") } else { 0 };
            assert!(counted.abs_diff(lost) <= 1, "{keys}: {:?}", result.links);
            assert!(count(&result.links, back, "packets").abs_diff(around) <= 1, "{keys}: {:?}", result.links);
        }
        for flow in ["a", "b"] {
            let on_the_way = 5;
            let delivered = count(&result.flows, flow, "packets_delivered");
            assert!(delivered.abs_diff(3000 - lost) <= on_the_way, "{keys}: {:?}", result.flows);
        }
    }
}

#[test]
fn a_period_may_have_another_delay() {
    let mean = |keys: &str| star("1 s", keys, &cbr("40 Mbps")).flows.floats("delay_mean_s")[0];
    let plain = mean("");
    let longer = mean("service = [{ delay = \"20 ms\", from = \"300 ms\", to = \"600 ms\" }]");
    // 15 ms for 300 ms. For another 15 ms packets wait for those before them, which take longer.
    assert!((longer - plain - (0.3 * 0.015 + 0.015 * 0.015 / 2.0)).abs() < 5e-5, "{}", longer - plain);
    let shorter = mean("service = [{ delay = \"1 ms\", from = \"500 ms\" }, { rate = \"60 Mbps\", to = \"10 ms\" }]");
    assert!((plain - shorter - 0.5 * 0.004).abs() < 5e-5, "{}", plain - shorter);
}

#[test]
fn a_limit_counts_the_packets_on_their_way() {
    // Ten packets in 5 ms are 16 Mb/s, less the packets that find no room at the moment of an arrival.
    let result = star("1 s", "impairments.limit = 10", &cbr("40 Mbps"));
    let delivered = count(&result.flows, "f", "packets_delivered") as f64;
    assert!((1920.0..=2000.0).contains(&delivered), "{delivered}");
    let lost = count(&result.links, "bottleneck", "lost_limit");
    assert_eq!(count(&result.links, "bottleneck", "packets_lost"), lost);
    assert!(lost > 2900, "{lost}");
}

#[test]
fn chosen_packets_of_a_flow_are_lost() {
    let lose = |lost: &str| {
        let keys = format!("impairments.lose = [{{ flow = \"f\", {lost} }}]");
        star("2 s", &keys, "transport.tcp = { max_window_segments = 20 }")
    };
    let result = lose("packets = [5, 3, 20, 20]");
    assert_eq!(count(&result.links, "bottleneck", "packets_lost"), 3);
    assert_eq!(count(&result.flows, "f", "packets_retransmitted"), 3);
    assert!(result.links.counts("packets_lost").iter().sum::<u64>() == 3);
    // No acknowledgement crosses the bottleneck in this direction.
    assert_eq!(count(&lose("acks = [1, 2]").links, "bottleneck", "packets_lost"), 0);
}

#[test]
fn every_fifth_packet_is_early() {
    let mean = |keys: &str| {
        star("2 s", &format!("impairments = {{ {keys} }}"), &cbr("8 Mbps")).flows.floats("delay_mean_s")[0]
    };
    let early = mean("jitter = \"10 ms\", reordering = { probability = 1, gap = 5 }");
    assert!((early - mean("") - 0.8 * 0.010).abs() < 5e-5, "{early}");
}

#[test]
fn packets_wait_for_slots() {
    // A slot each 10 ms, which takes all that is ready: half of it on average, and the first one's wait.
    let mean = |keys: &str| {
        star("2 s", &format!("impairments = {{ {keys} }}"), &cbr("8 Mbps")).flows.floats("delay_mean_s")[0]
    };
    let slots = mean("slots = { min = \"10 ms\" }");
    let expected = (1..=10).map(f64::from).sum::<f64>() / 10.0 * 1e-3;
    assert!((slots - mean("") - expected).abs() < 6e-4, "{}", slots - mean(""));
}

#[test]
fn a_trace_is_the_rate_of_the_link() {
    let rate = |trace: &str| star("2 s", &format!("trace = {trace}"), &cbr("70 Mbps")).flows.floats("goodput_bps")[0];
    // Packets share opportunities: 1504 B each millisecond.
    let opportunities = rate("{ opportunities = { times_ms = [1] } }");
    assert!((opportunities / 12.032e6 - 1.0).abs() < 0.01, "{opportunities}");
    let half = rate("{ opportunities = { times_ms = [1], bytes = \"752 B\" } }");
    assert!((half / 6.016e6 - 1.0).abs() < 0.01, "{half}");
    let steps = "[{ duration = \"100 ms\", rate = \"10 Mbps\" }, { duration = \"50 ms\", rate = \"0 bps\" }, \
                 { duration = \"50 ms\", rate = \"60 Mbps\" }]";
    let steps = rate(&format!("{{ steps = {steps} }}"));
    assert!((steps / 20e6 - 1.0).abs() < 0.01, "{steps}");
}

#[test]
fn a_trace_comes_from_a_file_and_stays_in_the_scenario() {
    let folder = std::env::temp_dir().join(format!("forebay-traces-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("cell.mahimahi"), "1\n2\n2\n").unwrap();
    std::fs::write(folder.join("bus.csv"), "duration_ms,bandwidth_kbps,latency_ms\n100,5000.5,7\n").unwrap();
    let text = |file: &str| {
        format!(
            "duration = \"1 s\"\ntopology.star = {{ access = {{ rate = \"1 Gbps\", delay = \"1 ms\" }}, bottleneck = \
             {{ rate = \"20 Mbps\", delay = \"1 ms\", trace.file = \"{file}\" }} }}\n[[flows]]\nname = \"f\"\n{}",
            cbr("10 Mbps")
        )
    };
    let name = folder.join("scenario.toml").to_str().unwrap().to_owned();
    for file in ["cell.mahimahi", "bus.csv"] {
        let scenario =
            Scenario::load(&text(file), &name, &[]).unwrap_or_else(|error| panic!("{}", error.render(false)));
        // Without the file.
        let again = Scenario::load(&scenario.to_toml(), "elsewhere.toml", &[]).unwrap();
        let digests = [&scenario, &again].map(|scenario| run(scenario, None, None, &mut |_| true).unwrap().digest);
        assert_eq!(digests[0], digests[1]);
    }
    std::fs::write(folder.join("cell.mahimahi"), "1\n2\nx\n").unwrap();
    for (file, message) in [("cell.mahimahi", "line 3 is \"x\""), ("none.csv", "cannot read `none.csv`")] {
        let error = Scenario::load(&text(file), &name, &[]).unwrap_err().render(false);
        assert!(error.contains(message) && error.contains("trace.file"), "{error}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_framed_link_carries_what_its_cells_leave() {
    // Packets of 1000 B.
    for (framing, on_link) in [
        ("\"ethernet\"", 1038.0),
        ("\"docsis\"", 1018.0),
        ("\"pppoe-ptm\"", 1030.0 + 17.0),
        ("\"pppoa-vcmux\"", 22.0 * 53.0),
        ("{ layer = \"ethernet\", vlan_tags = 1 }", 1042.0),
        ("{ overhead = 10, mpu = 64 }", 1010.0),
        ("{ cells = \"atm\" }", 21.0 * 53.0),
    ] {
        for queue in ["\"drop_tail\"", "\"fq_codel\"", "{ tbf = { rate = \"10 Gbps\" } }"] {
            let keys = format!("queue = {queue}, framing = {framing}");
            let result = star("1 s", &keys, &format!("{}\nhost_jitter = \"none\"", cbr("100 Mbps")));
            let expected = 80e6 * 1000.0 / on_link;
            let goodput = result.flows.floats("goodput_bps")[0];
            // Less the 6 ms before the first packet arrives.
            assert!((goodput / (0.994 * expected) - 1.0).abs() < 2e-3, "{framing}, {queue}: {goodput}");
        }
    }
}

#[test]
fn framing_and_a_rate_that_varies_work_together() {
    let steps = "service = [{ rate = \"40 Mbps\", from = \"0 s\", to = \"10 s\" }], framing = \"ethernet\"";
    let result = star("1 s", &format!("queue = \"drop_tail\", {steps}"), &cbr("100 Mbps"));
    let goodput = result.flows.floats("goodput_bps")[0];
    assert!((goodput / (0.994 * 40e6 * 1000.0 / 1038.0) - 1.0).abs() < 2e-3, "{goodput}");
}

#[test]
fn framing_out_of_bounds_is_refused() {
    for (framing, message) in [
        ("\"adsl\"", "unknown variant"),
        ("{ overhead = 300 }", "between -64 and 256"),
        ("{ mpu = 300 }", "at most 256"),
        ("{ vlan_tags = 9 }", "at most 8"),
        ("38", "a link layer such as"),
    ] {
        let text = format!(
            "duration = \"1 s\"\n[topology.star]\naccess = {{ rate = \"1 Gbps\", delay = \"1 ms\" }}\n\
             bottleneck = {{ rate = \"1 Mbps\", delay = \"1 ms\", framing = {framing} }}\n\
             [[flows]]\nname = \"f\"\ntransport = \"tcp\"\n"
        );
        let error = Scenario::load(&text, "links.toml", &[]).unwrap_err().render(false);
        assert!(error.contains(message), "{framing}: {error}");
    }
}
