//! Disciplines with queues inside them, in a network: rates, shares and gates as flows experience them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, run, run_in_order};

/// A bottleneck of 80 Mb/s with this queue, and a flow of 60 Mb/s in packets of 1000 B for each traffic class.
fn star(queue: &str, classes: &[u8]) -> String {
    let flow = |class: &u8| {
        format!(
            r#"
            [[flows]]
            name = "class {class}"
            class = {class}
            transport.udp = {{ packet = "1000 B", constant = {{ rate = "60 Mbps" }} }}
            "#
        )
    };
    format!(
        r#"
        duration = "3 s"
        warmup = "1 s"
        [topology.star]
        access = {{ rate = "1 Gbps", delay = "1 ms" }}
        bottleneck = {{ rate = "80 Mbps", delay = "5 ms", queue = {queue} }}
        {}
        "#,
        classes.iter().map(flow).collect::<String>()
    )
}

fn load(text: &str) -> Result<Scenario, String> {
    Scenario::load(text, "classes.toml", &[]).map_err(|error| error.render(false))
}

/// Runs it by both drivers, which must agree.
fn simulate(text: &str) -> RunResult {
    let scenario = load(text).unwrap_or_else(|error| panic!("{error}"));
    let result = run(&scenario, None, None, &mut |_| true).unwrap();
    assert_eq!(result.digest, run_in_order(&scenario, None, None, &mut |_| true).unwrap().digest);
    result
}

/// Asserts the goodput of each flow in Mb/s, to a thousandth of the link.
fn assert_goodput(queue: &str, classes: &[(u8, f64)]) {
    let numbers: Vec<u8> = classes.iter().map(|(class, _)| *class).collect();
    let result = simulate(&star(queue, &numbers));
    for (goodput_bps, (class, expected)) in result.flows.floats("goodput_bps").iter().zip(classes) {
        let megabits = goodput_bps / 1e6;
        assert!((megabits - expected).abs() < 0.08, "class {class} of {queue}: {megabits} Mb/s, not {expected}");
    }
}

#[test]
fn htb_guarantees_rates_and_lends_what_is_left() {
    let htb = |leaves: &str| {
        format!(
            r#"{{ htb = {{ classes = [
                {{ name = "root", rate = "40 Mbps" }},
                {{ name = "a", parent = "root", classes = [1], {leaves} }},
                {{ name = "b", parent = "root", classes = [2], rate = "10 Mbps", ceil = "40 Mbps" }},
            ] }} }}"#
        )
    };
    let (guaranteed, ceiling) = (htb(r#"rate = "30 Mbps""#), htb(r#"rate = "5 Mbps", ceil = "15 Mbps""#));
    assert_goodput(&guaranteed, &[(1, 30.0), (2, 10.0)]);
    assert_goodput(&ceiling, &[(1, 15.0)]);
    assert_goodput(&ceiling, &[(2, 40.0)]);
    // Unlisted traffic is not shaped, and goes first.
    assert_goodput(&guaranteed, &[(1, 20.0), (9, 60.0)]);
}

#[test]
fn tbf_shapes_to_its_rate_whatever_its_queue() {
    assert_goodput(r#"{ tbf = { rate = "20 Mbps" } }"#, &[(0, 20.0)]);
    assert_goodput(r#"{ tbf = { rate = "20 Mbps", queue = "pie" } }"#, &[(0, 20.0)]);
    assert_goodput(r#""tbf""#, &[(0, 60.0)]);
}

#[test]
fn a_packet_that_never_leaves_is_an_error() {
    for queue in [
        r#"{ tbf = { burst = "900 B" } }"#,
        r#"{ taprio = { classes = [{ name = "a" }], schedule = [
            { open = ["a"], interval = "90 us" }, { open = [], interval = "1 us" },
        ] } }"#,
    ] {
        let error = load(&star(queue, &[0])).unwrap_err();
        assert!(error.contains("drops packets of more than 900 B, and there are some of 1000 B"), "{error}");
    }
}

#[test]
fn prio_starves_and_ets_shares() {
    let bands = r#"bands = [{ name = "a", classes = [1] }, { name = "b", classes = [2] }, { name = "c" }]"#;
    let all = |rates: [f64; 3]| [(1, rates[0]), (2, rates[1]), (3, rates[2])];
    assert_goodput(&format!("{{ prio = {{ {bands} }} }}"), &all([60.0, 20.0, 0.0]));
    assert_goodput(&format!("{{ ets = {{ strict = 1, {bands} }} }}"), &all([60.0, 10.0, 10.0]));
    let quanta = bands.replace("[2] }", r#"[2], quantum = "4 KB" }"#).replace(r#""c" }"#, r#""c", quantum = "1 KB" }"#);
    assert_goodput(&format!("{{ ets = {{ strict = 1, {quanta} }} }}"), &all([60.0, 16.0, 4.0]));
}

#[test]
fn gates_divide_the_time() {
    // 10 and 30 of 40 packets of 100 us; an interval half a packet longer carries no more.
    let taprio = |third| {
        format!(
            r#"{{ taprio = {{ classes = [{{ name = "a", classes = [1] }}, {{ name = "b", classes = [2] }}], schedule = [
                {{ open = ["a"], interval = "1 ms" }}, {{ open = ["b"], interval = "2 ms" }},
                {{ open = ["b"], interval = "{third} us" }},
            ] }} }}"#
        )
    };
    assert_goodput(&taprio(1000), &[(1, 20.0), (2, 60.0)]);
    // Alone, a class leaves the link idle while its gate is closed.
    assert_goodput(&taprio(1000), &[(1, 20.0)]);
    assert_goodput(&taprio(1050), &[(1, 80.0 * 10.0 / 40.5), (2, 80.0 * 30.0 / 40.5)]);
}
