//! HPCC in fabrics: the telemetry of switches keeps the busiest link just below full and its queue almost empty.

use forebay_engine::RunResult;
use forebay_records::Table;
use forebay_scenario::{Scenario, run};

fn scenario(senders: u32, control: &str, gbps: u32, keys: &str) -> String {
    let groups: String = (0..senders)
        .map(|sender| {
            format!(
                r#"
                [[flows]]
                name = "f{sender}"
                from = "host{sender}"
                to = "host8"
                transport.roce = {{ {control} }}"#
            )
        })
        .collect();
    format!(
        r#"
        duration = "6 ms"
        warmup = "2 ms"
        [topology.leaf_spine]
        leaves = 1
        spines = 1
        hosts = 9
        {}
        {groups}
        "#,
        keys.replace("RATE", &format!("rate = \"{gbps} Gbps\", delay = \"1 us\""))
    )
}

/// Hosts of a leaf that send to the last one, without end.
fn converging(senders: u32, control: &str, gbps: u32, keys: &str) -> RunResult {
    let text = scenario(senders, control, gbps, keys);
    let scenario = Scenario::load(&text, "hpcc.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)));
    run(&scenario, None, None, &mut |_| true).unwrap()
}

/// The utilization of the link to the receiver, and the mean length of its queue in packets.
fn bottleneck(result: &RunResult) -> (f64, f64) {
    let of = |table: &Table, column: &str| {
        let place = table.texts("name").iter().position(|name| name.ends_with("port8")).unwrap();
        table.floats(column)[place]
    };
    (of(&result.links, "utilization"), of(&result.queues, "length_mean_packets"))
}

const ROUTERS: &str = r#"host_link = { RATE, queue = "drop_tail" }"#;
const LOSSLESS: &str = r#"host_link = { RATE }
    switch.ethernet_switch = { memory = "16 MB", pause = { high = "500 KB", low = "400 KB" } }
    adapter = { pause = { high = "60 KB", low = "30 KB" } }"#;

#[test]
fn the_busiest_link_is_at_the_target_and_its_queue_is_short() {
    // Paced senders are more regular than a Poisson process, so the queue is shorter than that of M/D/1.
    let is_at = |(utilization, packets): (f64, f64), target: f64| {
        (utilization - target).abs() < 0.005 && packets < target * target / (2.0 * (1.0 - target))
    };
    for keys in [ROUTERS, LOSSLESS] {
        for (senders, gbps) in [(1, 100), (2, 25), (4, 100), (8, 200)] {
            let measured = bottleneck(&converging(senders, "control = \"hpcc\"", gbps, keys));
            assert!(is_at(measured, 0.95), "{senders} senders, {gbps} Gb/s: {measured:?}");
        }
        let measured = bottleneck(&converging(4, "control.hpcc.target_utilization = 0.8", 100, keys));
        assert!(is_at(measured, 0.8), "{measured:?}");
        // Without telemetry a link is full only if its queue is not empty.
        let (utilization, packets) = bottleneck(&converging(4, "control = \"dcqcn\"", 100, keys));
        assert!(utilization > 0.99 && packets > 50.0, "{utilization} {packets}");
    }
}

#[test]
fn telemetry_takes_its_share_of_a_long_flow() {
    let goodput = |control: &str| converging(1, control, 100, ROUTERS).flows.floats("goodput_bps")[0] / 1e9;
    // 1000 B of payload, 48 B of headers, 42 B of telemetry.
    let without = goodput("control = \"timely\"");
    assert!((without - 100.0 * 1000.0 / 1048.0).abs() < 0.05, "{without}");
    let with = goodput("control = \"hpcc\"");
    assert!((with - 95.0 * 1000.0 / 1090.0).abs() < 0.1, "{with}");
}

#[test]
fn a_rate_without_a_code_is_an_error() {
    let text = scenario(1, "control = \"hpcc\"", 10, ROUTERS);
    let error = Scenario::load(&text, "hpcc.toml", &[]).unwrap_err().render(false);
    assert!(error.contains("for which the telemetry of HPCC (`f0`) has no code"), "{error}");
    assert!(error.contains("expected 25, 50, 100, 200 or 400 Gb/s"), "{error}");
}
