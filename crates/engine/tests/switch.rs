//! A switch fabric among ports and endpoints: its counters, and that the order of running changes nothing.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use forebay_engine::{
    CrossbarSpec, Distribution, FlowSpec, Inputs, LinkSpec, Network, NetworkBuilder, NodeIndex, NodeSpec, Probes,
    RunResult, Transport,
};
use forebay_qdisc::{Rate, Span, Time};
use forebay_switching::{InputFifos, IslipConfig, MwmConfig, PimConfig, SchedulerConfig, Speedup, VirtualOutputQueues};
use forebay_tcp::TcpConfig;
use support::{drop_tail, plain_link, tcp, udp};

const PORTS: usize = 3;
const LINE: Rate = Rate::megabits(10);

fn voqs(scheduler: &SchedulerConfig, limit: u32) -> Inputs {
    Inputs::VirtualOutputQueues(VirtualOutputQueues::new(PORTS, Some(limit)), scheduler.build(PORTS).unwrap())
}

/// Two flows of each kind between all pairs of ports of a 3 x 3 switch, each with an access link of its own; ACKs go
/// around the switch.
fn network(inputs: Inputs, speedup: &str, probes: Probes) -> Network {
    let mut builder =
        NetworkBuilder::new(1, Time::ZERO + Span::from_seconds(1), Time::ZERO + Span::from_seconds(6), probes);
    let crossbar =
        CrossbarSpec { ports: PORTS, inputs, slot: LINE.transmission_time(1000), speedup: speedup.parse().unwrap() };
    let switch = builder.add_node("switch", NodeSpec::Crossbar(Box::new(crossbar)));
    let mut add = |name: &str, kind: fn() -> NodeSpec| -> Vec<NodeIndex> {
        (0..PORTS).map(|port| builder.add_node(&format!("{name}-{port}"), kind())).collect()
    };
    let (muxes, sinks) = (add("mux", || NodeSpec::Router), add("sink", || NodeSpec::Host(None)));
    let propagation = |port: usize| Span::from_microseconds(700 + 310 * port as u64);
    for (port, &mux) in muxes.iter().enumerate() {
        builder.add_link(plain_link(&format!("in-{port}"), (mux, switch), LINE, propagation(port)));
    }
    for (port, &sink) in sinks.iter().enumerate() {
        let queue = Some(("queue".to_owned(), drop_tail(4)));
        let link = plain_link(&format!("out-{port}"), (switch, sink), LINE, propagation(0));
        builder.add_link(LinkSpec { queue, ..link });
    }
    for pair in 0..PORTS * PORTS {
        let config = TcpConfig { sack: pair % 2 == 0, ..TcpConfig::ns2(64) };
        for (kind, transport) in [("tcp", tcp(config)), ("udp", udp(0.7 + 0.05 * pair as f64, 0.5))] {
            let name = format!("{kind}-{pair}");
            let (source, destination) = (builder.add_node(&name, NodeSpec::Host(None)), sinks[pair % PORTS]);
            let ends = (source, muxes[pair / PORTS]);
            builder.add_link(plain_link(&format!("access-{name}"), ends, LINE, propagation(0)));
            builder.add_link(plain_link(&format!("back-{name}"), (destination, source), LINE, propagation(0)));
            builder.add_flow(FlowSpec {
                host_jitter: [Distribution::ZERO; 2],
                group: kind.into(),
                name,
                transport,
                source,
                destination,
                start: Time::ZERO + Span::from_microseconds(1_003 * pair as u64),
                stop: Time::NEVER,
                class: 0,
            });
        }
    }
    builder.build().unwrap()
}

fn run(network: Network) -> RunResult {
    // The run itself checks that every packet is accounted for.
    network.run(&mut |_| true).unwrap()
}

#[test]
fn the_order_of_running_changes_no_result() {
    let probes = Probes { interval: Some(Span::from_milliseconds(13)), queues: true, flows: true, links: true };
    let fabrics: [(&dyn Fn() -> Inputs, &str); 5] = [
        (&|| voqs(&SchedulerConfig::Mwm(MwmConfig {}), 3), "1"),
        (&|| voqs(&SchedulerConfig::Islip(IslipConfig::default()), 3), "6/5"),
        (&|| voqs(&SchedulerConfig::Pim(PimConfig::default()), 1), "1.5"),
        (&|| voqs(&SchedulerConfig::Mwm(MwmConfig {}), 3), "3"),
        (&|| Inputs::Fifos(InputFifos::new(PORTS, Some(5))), "1"),
    ];
    for (inputs, speedup) in fabrics {
        let in_windows = run(network(inputs(), speedup, probes));
        let in_order = network(inputs(), speedup, probes).run_in_order(&mut |_| true).unwrap();
        assert!(in_order.engine.events > in_windows.engine.events);
        assert_eq!(in_order.digest, in_windows.digest, "speedup {speedup}");
    }
}

/// The value of the queue of this name in this column.
fn count(result: &RunResult, queue: &str, column: &str) -> u64 {
    let row = result.queues.texts("name").iter().position(|name| name == queue).unwrap();
    result.queues.counts(column)[row]
}

#[test]
fn the_speedup_moves_the_queue_from_the_inputs_to_the_outputs() {
    let dropped = |speedup: &str| {
        let result = run(network(voqs(&SchedulerConfig::Mwm(MwmConfig {}), 3), speedup, Probes::default()));
        let sum = |side: &str, from: usize| {
            (from..from + PORTS).map(|port| count(&result, &format!("{side}-{port}"), "packets_dropped")).sum::<u64>()
        };
        (sum("switch/input", 1), sum("out", 0))
    };
    let (inputs, outputs) = dropped("1");
    assert!(inputs > 0 && outputs == 0, "no faster than the lines: nothing waits behind the fabric: {outputs}");
    let (inputs, outputs) = dropped("3");
    assert!(inputs < outputs / 20, "as fast as all lines together: {inputs} before it, {outputs} behind it");
}

#[test]
fn a_packet_crosses_at_the_first_phase_after_its_arrival() {
    // A single packet: 1000 B take 800 us on each line. In at 800 + 700 us; the phases of speedup 1 come each 800 us,
    // so the next is at 1600 us; out at 2400 + 700 us.
    let mut builder = NetworkBuilder::new(1, Time::ZERO, Time::ZERO + Span::from_milliseconds(10), Probes::default());
    let crossbar = CrossbarSpec {
        ports: PORTS,
        inputs: voqs(&SchedulerConfig::Mwm(MwmConfig {}), 1),
        slot: LINE.transmission_time(1000),
        speedup: Speedup::ONE,
    };
    let switch = builder.add_node("switch", NodeSpec::Crossbar(Box::new(crossbar)));
    let hosts: Vec<NodeIndex> =
        (0..PORTS + 1).map(|host| builder.add_node(&format!("host-{host}"), NodeSpec::Host(None))).collect();
    // The source is at the third input, the destination at the second output.
    for ends in [(hosts[0], switch), (hosts[1], switch), (hosts[2], switch), (switch, hosts[0]), (switch, hosts[3])] {
        builder.add_link(plain_link(&format!("{ends:?}"), ends, LINE, Span::from_microseconds(700)));
    }
    let Transport::Udp { length, header_bytes, ecn, call, .. } = udp(1.0, 0.0) else { unreachable!() };
    let pattern = forebay_engine::UdpPattern::Constant { rate_bps: 1.0, jitter: 0.0, random_phase: false };
    builder.add_flow(FlowSpec {
        host_jitter: [Distribution::ZERO; 2],
        name: "one".into(),
        group: "one".into(),
        transport: Transport::Udp { pattern, length, header_bytes, ecn, call },
        source: hosts[2],
        destination: hosts[3],
        start: Time::ZERO,
        stop: Time::NEVER,
        class: 0,
    });
    let result = run(builder.build().unwrap());
    assert_eq!(result.flows.counts("packets_delivered"), [1]);
    assert_eq!(result.flows.floats("delay_mean_s"), [3.1e-3]);
    assert_eq!(result.queues.floats("wait_mean_s")[2], 0.1e-3, "waited for the phase at input 3");
}
