//! Core-stateless fair queueing through a real network: labels from an edge router reach a core router on the packets,
//! with the time at which each left. And PI with real TCP.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use forebay_engine::{Distribution, FlowSpec, LinkSpec, NetworkBuilder, NodeSpec, Packet, Probes, RunResult};
use forebay_qdisc::{Csfq, CsfqConfig, CsfqRole, Pi, PiConfig, Queue, Rate, Span, Time};
use forebay_tcp::TcpConfig;
use support::{Star, drop_tail, off, plain_link, tcp, udp};

const EDGE: Rate = Rate::megabits(100);
const CORE: Rate = Rate::megabits(10);
const PROPAGATION: Span = Span::from_milliseconds(10);

fn csfq(role: CsfqRole, rate: Rate) -> Queue<Packet> {
    let config = CsfqConfig { role, ..CsfqConfig::default() };
    Queue::Discipline(Box::new(Csfq::new(&config, rate, 7).unwrap()))
}

/// UDP flows of these rates in Mb/s from `start` on, for ten seconds of which the first two are not measured, through
/// `first` at 100 Mb/s and then a CSFQ core router at 10 Mb/s.
fn two_routers(first: Queue<Packet>, rates_mbps: &[f64], start: Time) -> RunResult {
    let probes = Probes { interval: Some(Span::from_seconds(1)), queues: true, flows: false, links: false };
    let (warmup, end) = (start + Span::from_seconds(2), start + Span::from_seconds(10));
    let mut builder = NetworkBuilder::new(1, warmup, end, probes);
    let source = builder.add_node("source", NodeSpec::Host(None));
    let router = builder.add_node("router", NodeSpec::Router);
    let destination = builder.add_node("sink", NodeSpec::Host(None));
    let mut link = |name: &str, ends, rate: Rate, queue: Queue<Packet>| {
        let queue = Some(("queue".into(), queue));
        builder.add_link(LinkSpec { queue, ..plain_link(name, ends, rate, PROPAGATION) })
    };
    link("edge", (source, router), EDGE, first);
    link("core", (router, destination), CORE, csfq(CsfqRole::Core, CORE));
    for (index, rate_mbps) in rates_mbps.iter().enumerate() {
        builder.add_flow(FlowSpec {
            host_jitter: [Distribution::ZERO; 2],
            name: format!("udp-{index}"),
            group: "udp".into(),
            transport: udp(*rate_mbps, 0.0),
            source,
            destination,
            start: start + Span::from_microseconds(37 * index as u64),
            stop: Time::NEVER,
            class: 0,
        });
    }
    builder.build().unwrap().run(&mut |_| true).unwrap()
}

/// The most flows for which the core router ever had an estimate of its own.
fn flows_estimated_by_the_core(result: &RunResult) -> f64 {
    let series = result.series.iter().find(|series| series.name == "core" && series.quantity == "active_flows");
    series.unwrap().values.iter().copied().fold(0.0, f64::max)
}

#[test]
fn labels_of_the_edge_make_the_core_fair_without_state() {
    let result = two_routers(csfq(CsfqRole::Edge, EDGE), &[2.0, 6.0, 18.0], Time::ZERO);
    assert_eq!(flows_estimated_by_the_core(&result), 0.0);
    for (goodput, expected) in result.flows.floats("goodput_bps").iter().zip([2e6, 4e6, 4e6]) {
        assert!(off(*goodput, expected) < 0.1, "{goodput} against {expected}");
    }
}

#[test]
fn without_labels_the_core_estimates_for_itself() {
    let result = two_routers(drop_tail(1000), &[2.0, 6.0, 18.0], Time::ZERO);
    assert_eq!(flows_estimated_by_the_core(&result), 3.0);
    for (goodput, expected) in result.flows.floats("goodput_bps").iter().zip([2e6, 4e6, 4e6]) {
        assert!(off(*goodput, expected) < 0.1, "{goodput} against {expected}");
    }
}

#[test]
fn delays_are_right_beside_labels_and_after_hours() {
    let expected_s = (EDGE.transmission_time(1000) + CORE.transmission_time(1000) + PROPAGATION * 2).seconds();
    // From the start, across the wrap of a packet's clock after 2^54 ps, and after six hours.
    let wrap = Time::from_picoseconds(1 << 54) - Span::from_seconds(5);
    for start in [Time::ZERO, wrap, Time::ZERO + Span::from_seconds(6 * 3600)] {
        let result = two_routers(csfq(CsfqRole::Edge, EDGE), &[1.0], start);
        assert_eq!(flows_estimated_by_the_core(&result), 0.0);
        // A percentile is that of a histogram, within 1.6 %.
        for (column, precision) in [("delay_mean_s", 1e-9), ("delay_p99_s", 0.016)] {
            let delay_s = result.flows.floats(column)[0];
            assert!(off(delay_s, expected_s) < precision, "{column} from {start}: {delay_s} against {expected_s}");
        }
    }
}

#[test]
fn pi_holds_60_tcp_flows_at_its_reference() {
    // 3750 packets of 1000 B a second and 200 ms of propagation: the link of the paper's example.
    let pi = Pi::new(&PiConfig::default(), Rate::megabits(30), 0).unwrap();
    let mut star = Star {
        warmup: Span::from_seconds(60),
        end: Span::from_seconds(180),
        bottleneck_mbps: 30,
        propagation: Span::from_milliseconds(50),
        ..Star::default()
    };
    for flow in 0..60 {
        star = star.flow(&format!("tcp-{flow}"), tcp(TcpConfig::ns2(100)), 83 * flow);
    }
    let result = star.run(Queue::Law(Box::new(pi)));
    let length = result.queues.floats("length_mean_packets")[0];
    assert!(off(length, 200.0) < 0.05, "{length} packets");
    assert!(result.links.floats("utilization")[0] > 0.98);
}
