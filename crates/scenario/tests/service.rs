//! Rates of service that change: a transmission is the integral of the rate.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, run, run_in_order};

/// Two nodes at a switch with this much time, rate of the links, service and transport.
fn scenario(duration: &str, link: &str, service: &str, transport: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "{duration}"
        [topology.ethernet]
        link = {{ rate = "{link}", delay = "1 us" }}
        switch = {{ memory = "100 MB" }}
        adapter = {{ egress_memory = "100 MB" }}
        switches = [{{ name = "S", nodes = ["a", "b"] }}]
        service = [{service}]
        [[flows]]
        name = "f"
        from = "a"
        to = "b"
        transport.{transport}
        "#
    );
    Scenario::load(&text, "service.toml", &[]).unwrap_or_else(|error| panic!("{}\n{text}", error.render(false)))
}

/// Runs it by both drivers, which must agree.
fn simulate(scenario: &Scenario) -> RunResult {
    let result = run(scenario, Some(1), None, &mut |_| true).unwrap();
    assert_eq!(run_in_order(scenario, Some(1), None, &mut |_| true).unwrap().digest, result.digest);
    result
}

fn megabits(result: &RunResult) -> f64 {
    result.flows.floats("throughput_bps")[0] / 1e6
}

#[test]
fn a_dip_costs_no_more_than_its_own_time() {
    const UDP: &str = r#"udp = { packet = "1500 B", poisson = { rate = "80 Mbps" } }"#;
    const FRAMES: &str = r#"frames = { rate = "8 Gbps" }"#;
    for at in ["switch", "node"] {
        for rate in ["10 kbps", "0 bps"] {
            let service = format!(r#"{{ node = "b", rate = "{rate}", from = "100 ms", to = "110 ms", at = "{at}" }}"#);
            let result = simulate(&scenario("1 s", "100 Mbps", &service, UDP));
            let offered = result.flows.floats("offered_bps")[0] / 1e6;
            // At the end a few packets of 1500 B are on their way.
            assert!(megabits(&result) > offered - 0.2, "{at}, {rate}: {} of {offered} Mb/s", megabits(&result));
            assert!(result.flows.floats("delay_max_s")[0] > 9.9e-3, "{at}, {rate}: somebody waits for the dip");
        }
        let service = format!(r#"{{ node = "b", rate = "1 Mbps", from = "10 ms", to = "11 ms", at = "{at}" }}"#);
        let result = simulate(&scenario("50 ms", "10 Gbps", &service, FRAMES));
        assert!((megabits(&result) / 8000.0 - 1.0).abs() < 0.01, "{at}: {} Mb/s", megabits(&result));
    }
}

/// While the rate is zero no frame begins, and what waits goes on afterwards.
#[test]
fn a_port_may_stand_still() {
    let frames = r#"frames = { rate = "2 Gbps", arrivals = "constant" }"#;
    let halt = r#"{ node = "b", rate = "0 bps", from = "2 ms", to = "4 ms" }"#;
    let result = simulate(&scenario("10 ms", "10 Gbps", halt, frames));
    assert!((megabits(&result) / 2000.0 - 1.0).abs() < 0.01, "{} Mb/s", megabits(&result));
    let longest = result.flows.floats("delay_max_s")[0];
    assert!((1.99e-3..2.1e-3).contains(&longest), "{longest} s");
    // Permanently: the frames that arrived before, and no more.
    let halt = r#"{ node = "b", rate = "0 bps", from = "2 ms" }"#;
    let result = simulate(&scenario("10 ms", "10 Gbps", halt, frames));
    assert!((megabits(&result) / 400.0 - 1.0).abs() < 0.01, "{} Mb/s", megabits(&result));
}

/// Many short steps are as good as their mean.
#[test]
fn the_rate_in_steps_shorter_than_a_frame_is_their_mean() {
    let steps: Vec<String> = (0..2000)
        .map(|number| {
            let rate = ["0 bps", "4 Gbps", "1 Gbps", "2 Gbps"][number % 4];
            format!(r#"{{ node = "b", rate = "{rate}", from = "{number} us", to = "{} us" }}"#, number + 1)
        })
        .collect();
    let frames = r#"frames = { rate = "5 Gbps", arrivals = "constant" }"#;
    let result = simulate(&scenario("2 ms", "10 Gbps", &steps.join(", "), frames));
    // The mean of the four rates.
    assert!((megabits(&result) / 1750.0 - 1.0).abs() < 0.01, "{} Mb/s", megabits(&result));
}
