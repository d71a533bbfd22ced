//! An Ethernet switch next to a router: which packets cross, and which descriptions are refused.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use forebay_engine::{
    AdapterSpec, Arbiter, Distribution, EthernetSwitchSpec, FlowControl, FlowSpec, FrameArrivals, LinkSpec, Network,
    NetworkBuilder, NodeSpec, Probes, RunError, Transport,
};
use forebay_qdisc::{Rate, Span, Time};
use forebay_switching::congestion::CongestionManagement;
use forebay_switching::{BufferPolicyConfig, PauseConfig, SharedMemoryConfig};
use forebay_units::Bytes;
use support::{drop_tail, plain_link, udp};

/// A host without an adapter, a router, a switch, and two hosts behind it, in this order.
const NODES: [&str; 5] = ["outside", "router", "switch", "one", "two"];
const LINKS: [(u32, u32); 4] = [(0, 1), (1, 2), (2, 3), (2, 4)];
/// Packets of 1000 B that cross a link of 100 Mb/s in the time of a run.
const PACKETS: u64 = 1250;

fn network(
    flow_control: FlowControl,
    congestion: Option<CongestionManagement>,
    flows: &[(u32, u32, Transport)],
) -> Result<Network, RunError> {
    let end = Time::ZERO + Rate::megabits(100).transmission_time(1000) * PACKETS;
    let mut builder = NetworkBuilder::new(1, Time::ZERO, end, Probes::default());
    let adapter = || AdapterSpec {
        voq_limit: None,
        rate_limiters: None,
        egress_bytes: 150_000,
        flow_control: FlowControl::None,
        reaction: Span::ZERO,
        service: Vec::new(),
        congestion: congestion.clone(),
    };
    let switch = EthernetSwitchSpec {
        memory: SharedMemoryConfig { share: Bytes(100_000), policy: BufferPolicyConfig::default() },
        flow_control,
        watchdog: None,
        reaction: Span::ZERO,
        arbiter: Arbiter::Fifo,
        strict_priority: false,
        forwarding_delay: Span::ZERO,
        congestion: congestion.clone(),
    };
    let kinds = [
        NodeSpec::Host(None),
        NodeSpec::Router,
        NodeSpec::EthernetSwitch(Box::new(switch)),
        NodeSpec::Host(Some(Box::new(adapter()))),
        NodeSpec::Host(Some(Box::new(adapter()))),
    ];
    for (name, kind) in NODES.into_iter().zip(kinds) {
        builder.add_node(name, kind);
    }
    for (from, to) in LINKS.into_iter().flat_map(|(one, other)| [(one, other), (other, one)]) {
        let name = format!("{}->{}", NODES[from as usize], NODES[to as usize]);
        let link = plain_link(&name, (from, to), Rate::megabits(100), Span::from_microseconds(1));
        let queue = (from == 1).then(|| ("queue".to_owned(), drop_tail(10)));
        builder.add_link(LinkSpec { queue, ..link });
    }
    for (source, destination, transport) in flows {
        builder.add_flow(FlowSpec {
            name: format!("{source}-{destination}"),
            group: "flows".into(),
            transport: transport.clone(),
            source: *source,
            destination: *destination,
            start: Time::ZERO,
            stop: Time::NEVER,
            class: 0,
            host_jitter: [Distribution::ZERO; 2],
        });
    }
    builder.build()
}

fn frames() -> Transport {
    let arrivals = FrameArrivals { load: 0.5, constant: true, on_off: None };
    Transport::Frames { generator: 0, share: 1.0, arrivals, len_bytes: 1000, ecn: false, set_point: None }
}

#[test]
fn datagrams_share_a_router_and_a_switch_in_both_directions() {
    let flows = [(0, 3, udp(80.0, 0.0)), (0, 4, udp(80.0, 0.0)), (4, 0, udp(40.0, 0.0)), (3, 4, frames())];
    let network = || network(FlowControl::None, None, &flows).unwrap();
    let result = network().run(&mut |_| true).unwrap();
    assert_eq!(result.digest, network().run_in_order(&mut |_| true).unwrap().digest);
    let delivered = result.flows.counts("packets_delivered");
    let sum = delivered[0] + delivered[1];
    assert!((PACKETS - 5..=PACKETS).contains(&sum), "{delivered:?}");
    assert!(delivered[2] >= PACKETS * 2 / 5 - 5 && delivered[3] >= PACKETS / 2 - 5, "{delivered:?}");
    // Only ports of switches have counts of PAUSE and memory; the rows of others are zero.
    let memory = result.queues.counts("memory_max_bytes");
    let names = result.queues.texts("name");
    assert_eq!(memory.len(), names.len());
    for (name, &bytes) in names.iter().zip(memory) {
        assert_eq!(bytes > 0, name.starts_with("switch->"), "{name}: {bytes}");
    }
}

#[test]
fn what_needs_ethernet_nodes_alone_is_refused_next_to_others() {
    let refused = |flow_control, congestion, flow: (u32, u32, Transport)| {
        network(flow_control, congestion, &[flow]).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let pause = FlowControl::Pause(PauseConfig { high: Bytes(80_000), low: Bytes(60_000) });
    let message = refused(pause, None, (3, 4, udp(10.0, 0.0)));
    assert!(message.contains("`switch` sends PAUSE to a node that does not obey it"), "{message}");
    let message = refused(FlowControl::None, None, (3, 0, frames()));
    assert!(message.contains("`3-0`: frames without adapters"), "{message}");
    let scheme = || CongestionManagement::every().into_iter().next();
    for flow in [(3, 0, udp(10.0, 0.0)), (0, 3, udp(10.0, 0.0))] {
        let (source, destination, _) = flow;
        let message = refused(FlowControl::None, scheme(), flow);
        assert!(message.contains(&format!("`{source}-{destination}` crosses other nodes")), "{message}");
    }
    assert_eq!(refused(FlowControl::None, scheme(), (3, 4, udp(10.0, 0.0))), "");
}
