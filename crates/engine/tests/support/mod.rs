//! A star of flows around one bottleneck, built without a scenario file.

#![allow(dead_code, reason = "each test binary uses a part of it")]

pub mod traffic;

use forebay_engine::{
    Distribution, FlowSpec, Impairments, LinkSpec, Network, NetworkBuilder, NodeIndex, NodeSpec, Packet, Probes,
    RunResult, TcpData, Transport, UdpPattern,
};
use forebay_qdisc::{DropTail, DropTailConfig, Queue, Rate, Span, Time};
use forebay_tcp::TcpConfig;
use forebay_units::QueueSize;

/// A star: every flow its own access link, one bottleneck, one link back.
pub struct Star {
    pub seed: u64,
    pub warmup: Span,
    pub end: Span,
    pub probes: Probes,
    pub access_mbps: u64,
    pub bottleneck_mbps: u64,
    /// Propagation of each of the four links of a round trip.
    pub propagation: Span,
    pub impairments: Impairments,
    pub flows: Vec<(String, Transport, Time)>,
    /// When the flows stop.
    pub stop: Time,
}

impl Default for Star {
    fn default() -> Self {
        Self {
            seed: 1,
            warmup: Span::from_seconds(2),
            end: Span::from_seconds(12),
            probes: Probes::default(),
            access_mbps: 100,
            bottleneck_mbps: 10,
            propagation: Span::from_milliseconds(10),
            impairments: Impairments::default(),
            flows: Vec::new(),
            stop: Time::NEVER,
        }
    }
}

/// Drop-tail of this many packets.
pub fn drop_tail(packets: u64) -> Queue<Packet> {
    let config = DropTailConfig { limit: QueueSize::Packets(packets) };
    Queue::Law(Box::new(DropTail::new(&config, Rate::megabits(10), 0).unwrap()))
}

/// A link from one node to another without a queue of its own, impairments or traces.
pub fn plain_link(name: &str, (from, to): (NodeIndex, NodeIndex), rate: Rate, propagation: Span) -> LinkSpec {
    LinkSpec {
        name: name.to_owned(),
        from,
        to,
        metric: 1,
        rate,
        propagation,
        queue: None,
        class_queues: Vec::new(),
        shares_state: false,
        service: Vec::new(),
        opportunities: None,
        framing: None,
        impairments: Impairments::default(),
        trace: None,
        watched_flows: Vec::new(),
    }
}

pub fn tcp(config: TcpConfig) -> Transport {
    Transport::Tcp { config, data: TcpData::Unlimited }
}

pub fn udp(mbps: f64, jitter: f64) -> Transport {
    Transport::Udp {
        pattern: UdpPattern::Constant { rate_bps: mbps * 1e6, jitter, random_phase: false },
        length: Distribution::Constant(1000.0),
        header_bytes: 0,
        ecn: forebay_qdisc::Ecn::NotCapable,
        call: None,
    }
}

impl Star {
    /// Adds a flow that starts `start_ms` after the run.
    pub fn flow(mut self, name: &str, transport: Transport, start_ms: u64) -> Self {
        self.flows.push((name.to_owned(), transport, Time::ZERO + Span::from_milliseconds(start_ms)));
        self
    }

    pub fn network(self, queue: Queue<Packet>) -> Network {
        self.builder(queue).build().unwrap()
    }

    pub fn builder(self, queue: Queue<Packet>) -> NetworkBuilder {
        let mut builder = NetworkBuilder::new(self.seed, Time::ZERO + self.warmup, Time::ZERO + self.end, self.probes);
        let link = |name: &str, ends, mbps: u64| plain_link(name, ends, Rate::megabits(mbps), self.propagation);
        let (router, sink) =
            (builder.add_node("router", NodeSpec::Router), builder.add_node("sink", NodeSpec::Host(None)));
        let bottleneck = link("bottleneck", (router, sink), self.bottleneck_mbps);
        let queue = Some(("queue".to_owned(), queue));
        builder.add_link(LinkSpec { queue, impairments: self.impairments, ..bottleneck });
        builder.add_link(link("reverse", (sink, router), self.bottleneck_mbps));
        for (name, transport, start) in self.flows {
            let host = builder.add_node(&name, NodeSpec::Host(None));
            builder.add_link(link(&format!("access-{name}"), (host, router), self.access_mbps));
            builder.add_link(link(&format!("access-{name}/back"), (router, host), self.access_mbps));
            builder.add_flow(FlowSpec {
                host_jitter: [Distribution::ZERO; 2],
                group: name.clone(),
                name,
                transport,
                source: host,
                destination: sink,
                start,
                stop: self.stop,
                class: 0,
            });
        }
        builder
    }

    pub fn run(self, queue: Queue<Packet>) -> RunResult {
        self.network(queue).run(&mut |_| true).unwrap()
    }
}

/// Relative difference.
pub fn off(measured: f64, expected: f64) -> f64 {
    (measured - expected).abs() / expected
}
