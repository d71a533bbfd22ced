//! Closed forms of queueing theory, through real sources, a real queue and a real link.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use forebay_engine::{
    Distribution, FlowSpec, LinkSpec, NetworkBuilder, NodeSpec, Probes, RunResult, Transport, UdpPattern,
};
use forebay_qdisc::{DropTail, DropTailConfig, Queue, Rate, Span, Time};
use forebay_units::QueueSize;
use support::plain_link;

/// Poisson packets of this length into a queue of `limit` packets at a link of 10 Mb/s.
fn poisson_through_drop_tail(load: f64, length: Distribution, limit: u64, seconds: u64, seed: u64) -> RunResult {
    let rate = Rate::megabits(10);
    let end = Time::ZERO + Span::from_seconds(seconds);
    let warmup = Time::ZERO + Span::from_seconds(seconds / 10);
    let mut builder = NetworkBuilder::new(seed, warmup, end, Probes::default());
    let config = DropTailConfig { limit: QueueSize::Packets(limit) };
    let queue = Queue::Law(Box::new(DropTail::new(&config, rate, 0).unwrap()));
    let [source, destination] = ["source", "sink"].map(|name| builder.add_node(name, NodeSpec::Host(None)));
    builder.add_link(LinkSpec {
        queue: Some(("drop_tail".into(), queue)),
        ..plain_link("bottleneck", (source, destination), rate, Span::from_milliseconds(1))
    });
    builder.add_flow(FlowSpec {
        host_jitter: [Distribution::ZERO; 2],
        name: "poisson".into(),
        group: "poisson".into(),
        transport: Transport::Udp {
            pattern: UdpPattern::Poisson { rate_bps: load * rate.bits_per_second() as f64 },
            length,
            header_bytes: 0,
            ecn: forebay_qdisc::Ecn::NotCapable,
            call: None,
        },
        source,
        destination,
        start: Time::ZERO,
        stop: Time::NEVER,
        class: 0,
    });
    builder.build().unwrap().run(&mut |_| true).unwrap()
}

/// Relative difference.
fn off(measured: f64, expected: f64) -> f64 {
    (measured - expected).abs() / expected
}

#[test]
fn the_wait_of_md1_is_that_of_pollaczek_and_khinchine() {
    for load in [0.3, 0.6, 0.9] {
        let service_s = 1000.0 * 8.0 / 10e6;
        let result = poisson_through_drop_tail(load, Distribution::Constant(1000.0), 1_000_000, 2000, 1);
        let expected_s = forebay_testkit::md1_mean_wait_s(load, service_s);
        let wait_s = result.queues.floats("wait_mean_s")[0];
        assert!(off(wait_s, expected_s) < 0.04, "load {load}: {wait_s} against {expected_s}");
        // Little's law ties the integral of the length to the wait.
        let length = result.queues.floats("length_mean_packets")[0];
        let arrivals_per_s = load * 10e6 / 8000.0;
        assert!(off(length, arrivals_per_s * wait_s) < 0.02, "load {load}: {length}");
    }
}

#[test]
fn the_blocking_of_mm1k_is_the_truncated_geometric() {
    // K counts the packet in service: K - 1 wait.
    for (load, capacity) in [(0.5, 4_u32), (0.9, 10), (1.2, 8)] {
        let result =
            poisson_through_drop_tail(load, Distribution::Exponential(1000.0), u64::from(capacity) - 1, 2000, 2);
        let arrived = result.queues.counts("packets_arrived")[0] as f64;
        let dropped = result.queues.counts("packets_dropped")[0] as f64;
        let expected = forebay_testkit::mm1k_blocking(load, capacity);
        assert!(
            off(dropped / arrived, expected) < 0.05,
            "{load}, {capacity}: {} against {expected}",
            dropped / arrived
        );
    }
}
