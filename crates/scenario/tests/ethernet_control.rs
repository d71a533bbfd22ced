//! Congestion management in whole networks: where rates and queues settle, and the bounds of the rate limiters.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use forebay_engine::RunResult;
use forebay_switching::congestion::CongestionManagement;
use support::{LOSSLESS, Timing, assert_near, count, flows, mean_from, number, ports, series, simulate, star, sum};

const LINE_BPS: f64 = 10e9;

fn managed(scheme: &str, rest: &str) -> String {
    format!("{LOSSLESS}congestion_management = {scheme}\n{rest}")
}

/// The rate below which a scheme cuts no flow.
fn min_rate_bps(scheme: &CongestionManagement) -> f64 {
    let rate = match scheme {
        CongestionManagement::Ecm(config) => config.min_rate,
        CongestionManagement::E2cm(config) => config.ecm.min_rate,
        CongestionManagement::Qcn(config) => config.min_rate,
        CongestionManagement::Fecn(config) => config.minimum_rate,
        CongestionManagement::Dbp(config) => config.minimum_rate,
        CongestionManagement::Dcqcn(config) => config.min_rate,
    };
    rate.bits_per_second() as f64
}

fn limits(result: &RunResult) -> impl Iterator<Item = &[f64]> {
    result.series.iter().filter(|series| series.quantity == "rate_limit_bps").map(|series| &series.values[..])
}

/// Eight nodes and a ninth that takes next to nothing, so that every rate falls to its minimum.
#[test]
fn a_limiter_stays_between_the_least_rate_and_the_line() {
    let network = format!("{}service = [{{ node = \"9\", rate = \"20 Mbps\", to = \"40 ms\" }}]", star(9));
    let all = flows("all", &["1", "2", "3", "4", "5", "6", "7", "8"], "9", r#"rate = "9 Gbps""#);
    for scheme in CongestionManagement::every() {
        let keys = managed(&format!("\"{}\"", scheme.name()), &network);
        let result = simulate(&Timing::new(0.0, 60.0).sampled("50 us"), &keys, &all);
        let (name, least) = (scheme.name(), min_rate_bps(&scheme));
        assert_eq!(limits(&result).count(), 8, "{name}");
        let lowest = limits(&result).flatten().copied().fold(f64::INFINITY, f64::min);
        let highest = limits(&result).flatten().copied().fold(0.0, f64::max);
        assert!(lowest >= least * (1.0 - 1e-9) && highest <= LINE_BPS, "{name}: {lowest} to {highest}");
        assert!(lowest < 0.05 * LINE_BPS, "{name}: {lowest} is no cut");
        assert_eq!(sum(&ports(&result), "frames_lost"), 0, "{name}");
    }
}

/// A node with flows to many slow ones, and a limiter for one of them.
#[test]
fn no_node_has_more_limiters_than_it_may() {
    let targets = ["2", "3", "4", "5", "6"];
    let services: Vec<String> =
        targets.iter().map(|node| format!("{{ node = \"{node}\", rate = \"500 Mbps\" }}")).collect();
    let network =
        format!("{}service = [{}]\n[topology.ethernet.adapter]\nrate_limiters = 1", star(6), services.join(", "));
    let keys = |scheme: &str| {
        format!(
            "link = {{ rate = \"10 Gbps\", delay = \"500 ns\" }}\ncongestion_management = \"{scheme}\"\n\
             switch = {{ memory = \"300 KB\", pause = {{ high = \"280 KB\", low = \"260 KB\" }} }}\n{network}"
        )
    };
    let one_for_each: String =
        targets.iter().map(|to| flows(&format!("to-{to}"), &["1"], to, r#"rate = "1900 Mbps""#)).collect();
    for scheme in ["ecm", "e2cm", "qcn", "dbp", "dcqcn"] {
        let result = simulate(&Timing::new(0.0, 60.0).sampled("50 us"), &keys(scheme), &one_for_each);
        let all: Vec<&[f64]> = limits(&result).collect();
        let most = (0..all[0].len()).map(|at| all.iter().filter(|values| values[at] < LINE_BPS).count()).max();
        assert_eq!(most, Some(1), "{scheme}");
        assert!(count(&result.adapters, "1", "messages_ignored") > 0, "{scheme}");
    }
}

/// The switch of `N` equal senders to one more node, all at the line's rate.
fn one_bottleneck(scheme: &str, senders: usize, timing: &Timing, service: &str) -> RunResult {
    let names: Vec<String> = (1..=senders).map(|node| node.to_string()).collect();
    let from: Vec<&str> = names.iter().map(String::as_str).collect();
    let keys = managed(scheme, &format!("{}service = [{service}]", star(senders + 1)));
    simulate(timing, &keys, &flows("flow", &from, &(senders + 1).to_string(), r#"rate = "10 Gbps""#))
}

fn rates(result: &RunResult) -> Vec<f64> {
    result.flows.floats("goodput_bps").iter().map(|bps| bps / 1e9).collect()
}

fn jain(rates: &[f64]) -> f64 {
    let (sum, squares): (f64, f64) = (rates.iter().sum(), rates.iter().map(|rate| rate * rate).sum());
    sum * sum / (rates.len() as f64 * squares)
}

/// Schemes that send by the clock do so at a pace that suits the line: at 53 Mb/s a control frame each way for each
/// flow and 0.1 ms would leave no room for data.
#[test]
fn rates_by_the_clock_are_found_on_slow_links_too() {
    for (scheme, frames_of_a_flow) in [("fecn", 2.0), ("dbp", 1.0)] {
        let slow = |text: String| text.replace("10 Gbps", "53 Mbps");
        let keys = slow(managed(&format!("\"{scheme}\""), &star(5)));
        let all = slow(flows("flow", &["1", "2", "3", "4"], "5", r#"rate = "10 Gbps""#));
        let result = simulate(&Timing::new(3000.0, 6000.0), &keys, &all);
        for bps in result.flows.floats("goodput_bps") {
            assert_near(scheme, *bps, 53e6 / 4.0, 0.05);
        }
        // Four flows for 3 s, in intervals as long as 125 KB take.
        let expected = 4.0 * frames_of_a_flow * 3.0 * 53e6 / 1e6;
        assert_near(scheme, sum(&ports(&result), "control_frames_sent") as f64, expected, 0.02);
    }
}

/// The probe loop of E2CM converges when each flow has its set-point in the queue. The queue is then `N` of them and
/// the rates are equal, as long as that is below the set-point of the queue itself.
#[test]
fn e2cm_settles_at_the_set_points_of_its_flows() {
    for senders in [2, 3, 4] {
        let result = one_bottleneck("\"e2cm\"", senders, &Timing::new(200.0, 300.0).sampled("1 ms"), "");
        let queue = series(&result, &format!("SW->{}", senders + 1), "length_mean_bytes");
        assert_near(&format!("queue of {senders}"), mean_from(queue, 0.2), 15e3 * senders as f64, 0.12);
        for rate in rates(&result) {
            assert_near(&format!("rate of {senders}"), rate, 10.0 / senders as f64, 0.1);
        }
        assert_eq!(sum(&ports(&result), "frames_lost"), 0);
    }
}

/// After a rise of the service, with the path empty, each probe of a flow adds 10 Mb/s for 75 KB of its own data. So
/// does each sampled frame: rates grow e-fold in 30 ms.
#[test]
fn e2cm_recovers_exponentially() {
    let slow = r#"{ node = "3", rate = "500 Mbps", to = "200 ms" }"#;
    let result = one_bottleneck("\"e2cm\"", 2, &Timing::new(0.0, 300.0).sampled("1 ms"), slow);
    let carried = &series(&result, "SW->3", "utilization").values;
    let first_at = |part: f64| 200 + carried[200..].iter().position(|&utilization| utilization > part).unwrap();
    let (low, high) = (first_at(0.1), first_at(0.8));
    let e_folding_ms = (high - low) as f64 / libm::log(carried[high] / carried[low]);
    assert_near("e-folding time in ms", e_folding_ms, 30.0, 0.3);
}

/// Ten sources, as in the studies of QCN, with the standard's set-point and with ECM's.
#[test]
fn qcn_settles_at_its_set_point_and_the_fair_rate() {
    for (scheme, set_point_bytes) in
        [(r#""qcn""#, 26e3), (r#"{ qcn = { set_point = "75 KB", min_rate = "1 Mbps" } }"#, 75e3)]
    {
        let result = one_bottleneck(scheme, 10, &Timing::new(200.0, 3200.0).sampled("1 ms"), "");
        let queue = series(&result, "SW->11", "length_mean_bytes");
        assert_near("queue", mean_from(queue, 0.2), set_point_bytes, 0.2);
        assert!(number(&result.links, "SW->11", "utilization") > 0.95);
        // Shares are equal in the long run only: in three seconds they are not far from it.
        let rates = rates(&result);
        assert!(jain(&rates) > 0.95, "{rates:?}");
        for rate in rates {
            assert_near("rate", rate, 1.0, 0.5);
        }
        assert_eq!(sum(&ports(&result), "frames_lost"), 0);
    }
}

/// A port that carries a twentieth of its former rate. The queue returns into the band of the E2CM proposal, from a
/// frame to the high watermark, and stays there, within the time that E2CM takes at such a port. When the port is fast
/// again the sources are so slow that only the timer, of 15 ms, drives them. It takes five cycles for the last loss,
/// and no more than five in which they speed up.
#[test]
fn qcn_follows_a_port_that_becomes_slow_and_fast_again() {
    let slow = r#"{ node = "11", rate = "500 Mbps", from = "200 ms", to = "500 ms" }"#;
    let result = one_bottleneck("\"qcn\"", 10, &Timing::new(0.0, 800.0).sampled("1 ms"), slow);
    let queue = &series(&result, "SW->11", "length_mean_bytes").values;
    let outside = (200..500).rev().find(|&at| !(1500.0..=280e3).contains(&queue[at])).unwrap();
    assert!(outside < 271, "out of the band at {outside} ms");
    let carried = &series(&result, "SW->11", "utilization").values;
    let recovered = 500 + carried[500..].iter().position(|&utilization| utilization > 0.95).unwrap();
    assert!(recovered < 650, "{recovered} ms");
    assert_eq!(sum(&ports(&result), "frames_lost"), 0);
}
