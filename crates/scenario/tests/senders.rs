//! Scenarios that watch the senders of TCP flows.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, run};

/// One flow, or two, over 10 Mb/s and 20 ms there and back.
fn watched(queue: &str, flows: &str, senders: &str) -> RunResult {
    let text = format!(
        "duration = \"20 s\"\n[topology.star]\naccess = {{ rate = \"1 Gbps\", delay = \"1 ms\" }}\n\
         bottleneck = {{ rate = \"10 Mbps\", delay = \"9 ms\", queue = {queue} }}\n{flows}\n\
         [probes]\ninterval = \"5 ms\"\nseries = []\nsenders = {senders}\n"
    );
    run(&Scenario::load(&text, "senders.toml", &[]).unwrap(), None, None, &mut |_| true).unwrap()
}

fn controller(name: &str) -> String {
    format!("[[flows]]\nname = \"tcp\"\ntransport.tcp = {{ congestion_control = \"{name}\" }}\n")
}

/// The states of a sender, in the order of their changes.
fn changes(result: &RunResult, name: &str) -> Vec<&'static str> {
    let series = support::series(result, name, "state");
    let mut states: Vec<&str> =
        series.values.iter().filter(|index| index.is_finite()).map(|&index| series.states[index as usize]).collect();
    states.dedup();
    states
}

/// Marks from 17 packets on.
const STEP: &str = "{ red = { ecn = true, hard_drop = false, limit = \"500 packets\", weight = 1.0, \
                    min_threshold = \"17 packets\", max_threshold = \"18 packets\" } }";

#[test]
fn a_mark_is_a_reduction_and_no_recovery() {
    let result = watched(STEP, &controller("dctcp"), "[\"tcp\"]");
    let states = changes(&result, "tcp");
    assert_eq!(states[..3], ["slow_start", "reduction", "congestion_avoidance"]);
    assert!(!states.contains(&"recovery") && states.len() > 20);
    // Alpha starts at 1, and is a share.
    let alpha = &support::series(&result, "tcp", "alpha").values;
    let first = alpha.iter().position(|share| share.is_finite()).unwrap();
    assert!(alpha[first] == 1.0 && alpha[first..].iter().all(|share| (0.0..=1.0).contains(share)));
    let mean = alpha[2_000..].iter().sum::<f64>() / (alpha.len() - 2_000) as f64;
    assert!((0.1..0.3).contains(&mean), "{mean}");
}

#[test]
fn version_three_of_bbr_cycles() {
    let result = watched("\"drop_tail\"", &controller("bbr3"), "[\"tcp\"]");
    let states = changes(&result, "tcp");
    assert_eq!(states[..2], ["startup", "drain"]);
    for pair in states[2..].windows(2) {
        let follows: &[&str] = match pair[0] {
            "probe_bw_down" => &["probe_bw_cruise", "probe_bw_refill", "probe_rtt"],
            "probe_bw_cruise" => &["probe_bw_refill", "probe_rtt"],
            "probe_bw_refill" => &["probe_bw_up", "probe_rtt"],
            "probe_bw_up" => &["probe_bw_down", "probe_rtt"],
            "probe_rtt" => &["probe_bw_cruise"],
            state => panic!("{state}"),
        };
        assert!(follows.contains(&pair[1]), "{pair:?}");
    }
    // The shortest round trip is that of the handshake, until it is measured again five seconds later.
    let series = support::series(&result, "tcp", "state");
    let probe = series.states.iter().position(|&state| state == "probe_rtt").unwrap() as f64;
    let first = series.values.iter().position(|&state| state == probe).unwrap();
    support::assert_near("time", (first + 1) as f64 * series.interval_s, 5.05, 0.01);
}

#[test]
fn ledbat_slows_down() {
    let result = watched("\"drop_tail\"", &controller("ledbat"), "[\"tcp\"]");
    let slowdowns = changes(&result, "tcp").into_iter().filter(|&state| state == "slowdown").count();
    assert!(slowdowns > 1, "{slowdowns}");
}

#[test]
fn a_group_names_all_its_flows_and_both_directions() {
    let web = "[[flows]]\nname = \"web\"\ncount = 2\ntransport = \"tcp\"\n\
               app.request_response = { request = \"200 B\", response = \"20 kB\", think = \"0.1 s\" }\n";
    let names = |senders: &str| -> Vec<String> {
        let result = watched("\"drop_tail\"", &format!("{web}{}", controller("cubic")), senders);
        let states = result.series.into_iter().filter(|series| series.quantity == "state");
        states.map(|series| series.name).collect()
    };
    assert_eq!(names("[\"web\"]"), ["web-0", "web-0/request", "web-1", "web-1/request"]);
    assert_eq!(names("[\"web-1\", \"tcp\"]"), ["tcp", "web-1", "web-1/request"]);
}
