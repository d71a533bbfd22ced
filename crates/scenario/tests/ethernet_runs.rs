//! Ethernets at work: the rates that PAUSE alone leaves, what PAUSE costs, who is stopped and who is not, and deadlock.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, run};
use support::{
    LOSSLESS, TREE, TWO_SWITCHES, Timing, assert_near, classed, count, flows, gigabits, load, number, ports, series,
    simulate, star, sum, total_gigabits,
};

/// Culprits that all send to node 6, and a victim whose destination is free.
fn baseline() -> String {
    flows("culprit", &["2", "3", "4", "5"], "6", r#"rate = "5 Gbps""#)
        + &flows("victim", &["1"], "7", r#"rate = "5 Gbps""#)
}

fn assert_lossless(result: &RunResult) {
    assert_eq!((sum(&ports(result), "frames_lost"), sum(&result.flows, "packets_dropped")), (0, 0));
    assert_eq!(result.deadlock, None);
}

/// The exact rates of a saturation tree: each port that is stopped shares what it gets among those that feed it.
#[test]
fn a_saturation_tree_leaves_the_victim_what_its_port_gets() {
    let timing = Timing::new(60.0, 110.0);
    let shapes = [
        (TWO_SWITCHES, [2.5, 2.5, 2.5, 2.5, 2.5]),
        // The hot port serves three inputs alike, and two of them bring two flows each.
        (TREE, [5.0 / 3.0, 5.0 / 3.0, 10.0 / 3.0, 10.0 / 3.0, 5.0 / 3.0]),
    ];
    for (network, expected) in shapes {
        let result = simulate(&timing, &format!("{LOSSLESS}{network}"), &baseline());
        for (flow, expected) in
            ["culprit-2-6", "culprit-3-6", "culprit-4-6", "culprit-5-6", "victim"].iter().zip(expected)
        {
            assert_near(flow, gigabits(&result, flow), expected, 0.05);
        }
        assert_lossless(&result);
    }
}

/// One slow node, and all nodes send to all: traffic to other nodes gets no further than traffic to it.
#[test]
fn one_slow_node_takes_the_throughput_of_all() {
    let timing = Timing::new(100.0, 150.0);
    let single = format!("{LOSSLESS}{}service = [{{ node = \"1\", rate = \"1 Gbps\" }}]", star(8));
    let everybody = ["1", "2", "3", "4", "5", "6", "7", "8"];
    let result = simulate(&timing, &single, &flows("all", &everybody, "others", r#"rate = "8500 Mbps""#));
    // 7 nodes with 7 flows each, all as slow as the one to node 1; and node 1, whom nothing stops.
    assert_near("single hop", total_gigabits(&result), 15.5, 0.05);
    assert_lossless(&result);

    let multi = format!("{LOSSLESS}{TREE}service = [{{ node = \"7\", rate = \"500 Mbps\" }}]");
    let light = flows("light", &["1", "2", "3", "4", "5", "6"], "others", r#"rate = "2500 Mbps""#);
    let heavy = flows("heavy", &["7", "8", "9", "10"], "others", r#"rate = "4 Gbps""#);
    let result = simulate(&timing, &multi, &(light + &heavy));
    assert_near("multi-hop", total_gigabits(&result), 8.5, 0.1);
    assert_lossless(&result);
}

/// A port with frames that is not stopped sends: a link's used and paused times add up to the whole.
#[test]
fn the_time_that_a_link_is_paused_is_the_time_that_it_is_not_used() {
    let seconds = 20e-3;
    for gigabits_at_node in [5.0, 0.7] {
        let keys = format!(
            "{LOSSLESS}switches = [{{ name = \"A\", nodes = [\"1\"] }}, {{ name = \"B\", nodes = [\"2\"] }}]\n\
             trunks = [[\"A\", \"B\"]]\nservice = [{{ node = \"2\", rate = \"{gigabits_at_node} Gbps\" }}]"
        );
        let result = simulate(&Timing::new(10.0, 30.0), &keys, &flows("only", &["1"], "2", r#"rate = "10 Gbps""#));
        assert_near("goodput", gigabits(&result, "only"), gigabits_at_node, 0.01);
        // The adapter's port, and that of the switch behind it; each with the port that stops it.
        for (sender, link, stops) in [("1", "1->A", "A->1"), ("A->B", "A->B", "B->A")] {
            let paused = number(&ports(&result), sender, "paused_s") / seconds;
            let used = number(&result.links, link, "utilization");
            assert_near(link, used, gigabits_at_node / 10.0, 0.03);
            // A frame that has begun ends while the port is paused already: once for every order to stop.
            let orders = count(&ports(&result), stops, "pause_frames_sent") as f64;
            let overlap = orders * 1.2e-6 / seconds;
            let frame = 2.4e-6 / seconds;
            let all = used + paused;
            assert!(all >= 1.0 - frame && all <= 1.0 + overlap + frame, "{link}: {used} + {paused}, {orders} orders");
            assert!(orders > 10.0, "{link}: {orders} orders");
        }
        let port = |name: &str| number(&ports(&result), name, "paused_s");
        assert_eq!((port("B->2"), port("2")), (0.0, 0.0), "nobody stops who does not send too much");
        assert_lossless(&result);
    }
}

/// A long pause is said again before it ends.
#[test]
fn a_pause_lasts_as_long_as_the_buffer_is_full() {
    // 1500 B every 12 ms: the partition is over its low watermark for much longer than the 3.4 ms of the longest pause.
    let keys = format!("{LOSSLESS}{}service = [{{ node = \"2\", rate = \"1 Mbps\" }}]", star(2));
    let result = simulate(&Timing::new(1.0, 51.0), &keys, &flows("only", &["1"], "2", r#"rate = "10 Gbps""#));
    assert_near("paused", number(&ports(&result), "1", "paused_s"), 50e-3, 1e-6);
    // Every half of 65535 quanta of 51.2 ns.
    let orders = count(&ports(&result), "SW->1", "pause_frames_sent");
    assert!((29..=30).contains(&orders), "{orders}");
    assert_lossless(&result);
}

#[test]
fn a_node_that_takes_frames_slowly_stops_its_switch() {
    let at_node = format!("{LOSSLESS}{}service = [{{ node = \"3\", rate = \"2 Gbps\", at = \"node\" }}]", star(3));
    let result = simulate(&Timing::new(5.0, 15.0), &at_node, &flows("hot", &["1", "2"], "3", r#"rate = "3 Gbps""#));
    assert_near("goodput", total_gigabits(&result), 2.0, 0.01);
    assert_near("paused", number(&ports(&result), "SW->3", "paused_s"), 8e-3, 0.02);
    assert!(count(&ports(&result), "3", "memory_max_bytes") <= 150_000);
    assert_lossless(&result);
}

/// A ring of five switches on which every flow goes two hops the same way round.
fn ring(gigabits: f64, pause: &str) -> RunResult {
    let switches: Vec<String> =
        (1..=5).map(|index| format!("{{ name = \"R{index}\", nodes = [\"{index}\"] }}")).collect();
    let trunks: Vec<[String; 2]> =
        (0..5).map(|index| [index, (index + 1) % 5].map(|at| format!("R{}", at + 1))).collect();
    let lossless = LOSSLESS.replace("pause", pause);
    let keys = format!("{lossless}switches = [{}]\ntrunks = {trunks:?}\n", switches.join(", "));
    let flows = (0..5).map(|index| {
        let (from, to) = (index + 1, (index + 2) % 5 + 1);
        flows(&format!("flow-{from}"), &[&from.to_string()], &to.to_string(), &format!("rate = \"{gigabits} Gbps\""))
    });
    simulate(&Timing::new(20.0, 30.0), &keys, &flows.collect::<String>())
}

#[test]
fn a_ring_of_full_buffers_is_a_deadlock_and_is_named() {
    for pause in ["pause", "priority_pause"] {
        let result = ring(10.0, pause);
        let deadlock = result.deadlock.as_ref().expect("five links that stop each other");
        assert_eq!(deadlock.links, ["R1->R2", "R2->R3", "R3->R4", "R4->R5", "R5->R1"]);
        assert!(deadlock.since_s > 0.0 && deadlock.since_s < 20e-3, "{}", deadlock.since_s);
        // Nothing has moved since.
        assert_eq!(total_gigabits(&result), 0.0);
        assert_eq!(sum(&ports(&result), "frames_lost"), 0);
    }
}

/// The ring in class 3, with frames of class 0 from each switch to the next one, in a run of so many milliseconds.
fn ring_beside_class_0(gigabits: f64, duration_ms: f64, seed: u64) -> RunResult {
    let switches: Vec<String> =
        (1..=5).map(|index| format!("{{ name = \"R{index}\", nodes = [\"{index}\", \"b{index}\"] }}")).collect();
    let trunks: Vec<[String; 2]> =
        (0..5).map(|index| [index, (index + 1) % 5].map(|at| format!("R{}", at + 1))).collect();
    let keys = format!(
        "link = {{ rate = \"10 Gbps\", delay = \"500 ns\" }}\n\
         switch = {{ memory = \"600 KB\", priority_pause = {{ high = \"280 KB\", low = \"260 KB\" }} }}\n\
         adapter = {{ egress_memory = \"300 KB\", priority_pause = {{ high = \"140 KB\", low = \"130 KB\" }} }}\n\
         switches = [{}]\ntrunks = {trunks:?}\n",
        switches.join(", ")
    );
    let mut groups = String::new();
    for index in 0..5 {
        let number = index + 1;
        let to = (index + 2) % 5 + 1;
        groups += &classed(&format!("ring-{number}"), 3, &[&number.to_string()], &to.to_string(), "rate = \"10 Gbps\"");
        let (from, to) = (format!("b{number}"), format!("b{}", (index + 1) % 5 + 1));
        groups += &flows(&format!("free-{number}"), &[&from], &to, &format!("rate = \"{gigabits} Gbps\""));
    }
    let scenario = load(&Timing::new(0.0, duration_ms), &keys, &groups);
    run(&scenario, Some(seed), None, &mut |_| true).unwrap_or_else(|error| panic!("{error}"))
}

/// The time of a deadlock is that from which on a run that ends finds it, whatever other classes send.
#[test]
fn a_ring_of_one_class_is_found_with_its_time_whatever_other_classes_send() {
    for gigabits in [0.1, 1.0, 4.0, 9.0] {
        for seed in 1..=3 {
            let what = format!("{gigabits} Gb/s, seed {seed}");
            let since_ms = |end_ms: f64| {
                // To the nanosecond.
                let end_ms = (end_ms * 1e6).round() / 1e6;
                ring_beside_class_0(gigabits, end_ms, seed).deadlock.map(|deadlock| {
                    assert_eq!(deadlock.links, ["R1->R2", "R2->R3", "R3->R4", "R4->R5", "R5->R1"], "{what}");
                    deadlock.since_s * 1e3
                })
            };
            let since = since_ms(5.0).unwrap_or_else(|| panic!("no deadlock with {what}"));
            assert!(since < 4.0, "{what}: {since} ms");
            assert_eq!(since_ms(since - 2e-6), None, "{what}: before {since} ms");
            // The last frame must arrive, and the last order to stop must take effect.
            assert_eq!(since_ms(since + 0.01), Some(since), "{what}: after {since} ms");
        }
    }
}

#[test]
fn a_ring_with_room_is_no_deadlock() {
    let result = ring(4.0, "pause");
    assert_near("goodput", total_gigabits(&result), 20.0, 0.02);
    assert_lossless(&result);
}

/// Two flows from one node, one of them to a slow one; the other is of class 3.
fn two_classes(switch: &str) -> RunResult {
    let keys = format!(
        "link = {{ rate = \"10 Gbps\", delay = \"500 ns\" }}\nswitch = {{ memory = \"300 KB\", {switch} }}\n\
         {}service = [{{ node = \"2\", rate = \"1 Gbps\" }}]",
        star(3)
    );
    let flows =
        flows("slow", &["1"], "2", r#"rate = "5 Gbps""#) + &classed("free", 3, &["1"], "3", r#"rate = "4 Gbps""#);
    simulate(&Timing::new(10.0, 30.0), &keys, &flows)
}

#[test]
fn priority_pause_stops_its_class_and_no_other() {
    let result = two_classes(r#"pause = { high = "280 KB", low = "260 KB" }"#);
    assert_near("slow", gigabits(&result, "slow"), 1.0, 0.01);
    assert_near("free, where all classes stop", gigabits(&result, "free"), 1.0, 0.05);
    assert_lossless(&result);
    let result = two_classes(r#"priority_pause = { high = "130 KB", low = "120 KB" }"#);
    assert_near("slow", gigabits(&result, "slow"), 1.0, 0.01);
    assert_near("free", gigabits(&result, "free"), 4.0, 0.02);
    assert_lossless(&result);
    // With several classes, the time is that of the one that was stopped longest.
    assert!(number(&ports(&result), "1", "paused_s") <= 20e-3);
}

#[test]
fn a_high_class_does_not_wait_for_a_low_one() {
    let delay = |strict: bool, low: &str| {
        let keys = format!(
            "link = {{ rate = \"10 Gbps\", delay = \"500 ns\" }}\n\
             switch = {{ memory = \"300 KB\", strict_priority = {strict} }}\n{}",
            star(4)
        );
        let high = classed("high", 7, &["1"], "4", r#"rate = "3 Gbps", arrivals = "constant""#);
        let result = simulate(&Timing::new(2.0, 12.0), &keys, &(high + low));
        assert_eq!(count(&result.flows, "high", "packets_dropped"), 0);
        number(&result.flows, "high", "delay_max_s")
    };
    let low = flows("low", &["2", "3"], "4", r#"rate = "10 Gbps""#);
    let (alone, frame) = (delay(true, ""), 1.2e-6);
    let strict = delay(true, &low);
    assert!(strict <= alone + frame, "{strict} with others, {alone} alone");
    let mixed = delay(false, &low);
    assert!(mixed > alone + 100e-6, "{mixed}: 600 KB of others go first");
}

/// The largest queue that the port to node `6` of a switch of six had in memory, and what `2 -> 5` lost.
fn limited(buffer: &str, hot: &[(&str, &str)]) -> RunResult {
    let keys = format!(
        "link = {{ rate = \"10 Gbps\", delay = \"500 ns\" }}\n\
         switch = {{ memory = \"300 KB\", buffer = {buffer} }}\n{}",
        star(6)
    );
    let flows: String =
        hot.iter().map(|(from, to)| flows(&format!("{from}-{to}"), &[from], to, r#"rate = "9 Gbps""#)).collect();
    simulate(&Timing::new(5.0, 15.0).sampled("1 ms"), &keys, &flows)
}

#[test]
fn an_output_holds_what_its_limit_allows_and_no_more() {
    let largest = |result: &RunResult, queue: &str| {
        series(result, queue, "length_bytes").values.iter().copied().fold(0.0, f64::max)
    };
    // Two nodes want 18 Gb/s of one port; a third output is free.
    let result =
        limited(r#"{ partitions = { output_limit.static = "60 KB" } }"#, &[("1", "6"), ("2", "6"), ("3", "5")]);
    assert_eq!(largest(&result, "SW->6"), 60_000.0);
    assert_near("throughput", gigabits(&result, "1-6") + gigabits(&result, "2-6"), 10.0, 0.001);
    assert_eq!((count(&result.flows, "3-5", "packets_dropped"), largest(&result, "SW->5") <= 3000.0), (0, true));
    let lost = sum(&ports(&result), "frames_lost");
    assert!(lost > 0 && lost == sum(&result.flows, "packets_dropped"), "{lost}");

    // Choudhury and Hahne: n outputs that take what they can hold alpha / (1 + n alpha) each of all memory.
    let memory = 6.0 * 300_000.0;
    for buffer in ["{ partitions = { output_limit.dynamic = 0.25 } }", "{ dynamic_threshold = { alpha = 0.25 } }"] {
        let one = limited(buffer, &[("1", "6"), ("2", "6"), ("3", "5")]);
        assert_near("one hot output", largest(&one, "SW->6"), 0.25 / 1.25 * memory, 0.01);
        let two = limited(buffer, &[("1", "6"), ("2", "6"), ("3", "5"), ("4", "5")]);
        assert_near("the first of two", largest(&two, "SW->6"), 0.25 / 1.5 * memory, 0.01);
        assert_near("the second", largest(&two, "SW->5"), 0.25 / 1.5 * memory, 0.01);
    }
    // Only two inputs send to the hot output. It takes the memory of all six.
    let shared = limited(r#""complete_sharing""#, &[("1", "6"), ("2", "6"), ("3", "5")]);
    assert_near("all of the memory", largest(&shared, "SW->6"), memory, 0.01);
}

/// PAUSE goes out by a port whose rate is zero for a while, and that chooses among frames.
#[test]
fn no_frame_vanishes_at_a_port_without_a_rate() {
    for choice in ["strict_priority = true", "arbiter = \"round_robin\""] {
        let keys = format!(
            "link = {{ rate = \"10 Gbps\", delay = \"500 ns\" }}\n\
             service = [{{ node = \"1\", rate = \"0 bps\", from = \"1 ms\", to = \"3 ms\" }}]\n\
             switch = {{ memory = \"40 KB\", pause = {{ high = \"20 KB\", low = \"10 KB\" }}, {choice} }}\n{}",
            star(4)
        );
        let low = flows("low", &["1", "3", "4"], "2", r#"rate = "8 Gbps""#);
        let high = classed("high", 5, &["2", "3"], "1", r#"rate = "1 Gbps""#);
        let result = simulate(&Timing::new(0.0, 5.0), &keys, &(low + &high));
        assert!(sum(&ports(&result), "pause_frames_sent") > 0);
        assert_lossless(&result);
    }
}

/// A switch of many ports is as good as any other.
#[test]
fn a_hundred_nodes_share_a_switch() {
    let keys = format!("{LOSSLESS}{}", star(100));
    let names: Vec<String> = (1..=100).map(|node| node.to_string()).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let hot = flows("hot", &all[60..80], "100", r#"rate = "1 Gbps""#);
    let result = simulate(&Timing::new(1.0, 3.0), &keys, &(flows("all", &all, "others", r#"rate = "1 Gbps""#) + &hot));
    assert_near("goodput", total_gigabits(&result), 99.0 + 10.0, 0.02);
    assert_lossless(&result);
}

#[test]
fn a_switch_with_more_ports_than_it_can_number_is_refused() {
    let scenario = |nodes| {
        let network = format!("{LOSSLESS}{}", star(nodes));
        let one = flows("one", &["1"], "256", r#"rate = "1 Gbps""#);
        format!("duration = \"1 ms\"\n[topology.ethernet]\n{network}\n{one}")
    };
    let load = |nodes| Scenario::load(&scenario(nodes), "wide.toml", &[]).map_err(|error| error.to_string());
    assert!(load(256).is_ok());
    assert!(load(257).is_err_and(|error| error.contains("`SW` with 257 ports")));
}

#[test]
fn a_way_may_lead_over_any_number_of_switches() {
    let text = |switches: usize| {
        let names: Vec<String> = (0..switches)
            .map(|switch| {
                let nodes = if switch == 0 {
                    "[\"a\"]"
                } else if switch + 1 == switches {
                    "[\"b\"]"
                } else {
                    "[]"
                };
                format!("{{ name = \"S{switch}\", nodes = {nodes} }}")
            })
            .collect();
        let trunks: Vec<String> = (1..switches).map(|switch| format!("[\"S{}\", \"S{switch}\"]", switch - 1)).collect();
        let network = format!("{LOSSLESS}switches = [{}]\ntrunks = [{}]\n", names.join(", "), trunks.join(", "));
        format!(
            "duration = \"1 ms\"\n[topology.ethernet]\n{network}\n{}",
            flows("one", &["a"], "b", r#"rate = "1 Gbps""#)
        )
    };
    let outcome = |switches| {
        let scenario = Scenario::load(&text(switches), "long.toml", &[]).unwrap();
        delivered(&run(&scenario, None, None, &mut |_| true).unwrap())
    };
    // A frame every 12 us, at random, and 1.7 us for each hop; within four standard deviations of a Poisson number.
    for switches in [126, 300] {
        let expected = (1000.0 - 1.7 * (switches + 1) as f64) / 12.0;
        assert!((outcome(switches) as f64 - expected).abs() <= 4.0 * expected.sqrt(), "{switches}");
    }
}

fn delivered(result: &RunResult) -> u64 {
    result.flows.counts("packets_delivered").iter().sum()
}
