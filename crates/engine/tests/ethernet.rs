//! Ethernets built without a scenario file. Adapters run ahead of the clock, inside the links that feed them, and
//! switches run ahead by the propagation of their links. Neither changes anything; nor does running again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use forebay_engine::{
    AdapterSpec, Arbiter, Distribution, EthernetSwitchSpec, FlowControl, FlowSpec, FrameArrivals, LinkSpec, Network,
    NetworkBuilder, NodeSpec, OnOff, Packet, Probes, RunResult, ServiceStep, Transport, WatchdogSpec,
};
use forebay_qdisc::{Queue, Rate, Span, Time};
use forebay_records::Column;
use forebay_switching::congestion::CongestionManagement;
use forebay_switching::{
    BufferPolicyConfig, HeadroomPoolConfig, LongestQueueDropConfig, OutputLimit, PartitionsConfig, PauseConfig,
    SharedMemory, SharedMemoryConfig,
};
use forebay_units::Bytes;
use proptest::prelude::*;
use support::plain_link;
use support::traffic::{DISCIPLINES, transports};

/// A tree of switches, perhaps with a shortcut, with nodes, every one of which sends to two others.
#[derive(Clone, Debug)]
struct Tree {
    seed: u64,
    /// The switch that each but the first hangs on.
    parents: Vec<usize>,
    /// Two switches with a link between them that the tree does not have, if they are two and have none.
    shortcut: Option<(usize, usize)>,
    /// The switch of each node.
    nodes: Vec<usize>,
    link_megabits: u64,
    /// Propagation of each pair of links, in order.
    propagation_ns: Vec<u64>,
    reaction_ns: u64,
    forwarding_ns: u64,
    switch_memory: SharedMemoryConfig,
    switch_control: FlowControl,
    watchdog: Option<WatchdogSpec>,
    adapter_control: FlowControl,
    arbiter: Arbiter,
    strict_priority: bool,
    voq_limit: Option<u32>,
    rate_limiters: Option<u32>,
    congestion: Option<CongestionManagement>,
    arrivals: FrameArrivals,
    frame_bytes: u16,
    /// Rates of the port to the first node and of the second node, as parts of the link's.
    service: [f64; 2],
    /// Frames on a link that is never idle between two samples.
    sampled: Option<u64>,
    /// Further packets that each node sends in turn from its own endpoints.
    transports: Vec<Transport>,
    /// The discipline at every port of a switch, instead of the arbiter.
    discipline: Option<fn(Rate) -> Queue<Packet>>,
}

impl Default for Tree {
    fn default() -> Self {
        let pause = |high, low| FlowControl::Pause(PauseConfig { high: Bytes(high), low: Bytes(low) });
        Self {
            seed: 1,
            parents: vec![0, 0],
            shortcut: None,
            nodes: vec![0, 0, 1, 1, 2, 2],
            link_megabits: 10_000,
            propagation_ns: vec![500],
            reaction_ns: 0,
            forwarding_ns: 0,
            switch_memory: SharedMemoryConfig { share: Bytes(100_000), policy: BufferPolicyConfig::default() },
            switch_control: pause(80_000, 60_000),
            watchdog: None,
            adapter_control: pause(140_000, 130_000),
            arbiter: Arbiter::Fifo,
            strict_priority: false,
            voq_limit: None,
            rate_limiters: None,
            congestion: None,
            arrivals: FrameArrivals { load: 0.8, constant: false, on_off: None },
            frame_bytes: 1500,
            service: [0.5, 1.0],
            sampled: Some(100),
            transports: Vec::new(),
            discipline: None,
        }
    }
}

/// How long a run is: this many frames on a link that is never idle.
const FRAMES: u64 = 2000;

impl Tree {
    /// The ends of all cables. Switches are numbered first, then nodes.
    fn cables(&self) -> Vec<(usize, usize)> {
        let switches = self.parents.len() + 1;
        let trunks = self.parents.iter().zip(1..).map(|(&parent, switch)| (parent % switch, switch));
        let trunks: Vec<(usize, usize)> = trunks.collect();
        let shortcut = self.shortcut.map(|(one, other)| (one % switches, other % switches));
        let is_new = |&(one, other): &(usize, usize)| {
            one != other && !trunks.contains(&(one, other)) && !trunks.contains(&(other, one))
        };
        let shortcut = shortcut.filter(is_new);
        let to_nodes = self.nodes.iter().zip(switches..).map(|(&switch, node)| (switch % switches, node));
        trunks.into_iter().chain(shortcut).chain(to_nodes).collect()
    }

    fn add_links(&self, builder: &mut NetworkBuilder) {
        let switches = self.parents.len() + 1;
        for ((one, other), cable) in self.cables().into_iter().zip(0..) {
            for (from, to) in [(one, other), (other, one)] {
                let propagation = Span::from_nanoseconds(self.propagation_ns[cable % self.propagation_ns.len()]);
                let rate = Rate::megabits(self.link_megabits);
                let link = plain_link(&format!("{from}->{to}"), (from as u32, to as u32), rate, propagation);
                let discipline = self.discipline.filter(|_| from < switches);
                let queue = discipline.map(|build| ("queue".to_owned(), build(rate)));
                let classes = if self.has_class_queues() { SharedMemory::CLASSES } else { 1 };
                let class_queues = discipline.map(|build| (1..classes).map(|_| build(rate)).collect());
                let class_queues = class_queues.unwrap_or_default();
                // The port to the first node is slow for a while.
                let step = |frames, part| ServiceStep { from: self.at(frames), rate: Some(self.rate(part)) };
                let slow = vec![step(FRAMES / 10, self.service[0]), step(FRAMES * 4 / 5, 1.0)];
                let service = if to == switches { slow } else { Vec::new() };
                builder.add_link(LinkSpec { queue, class_queues, service, ..link });
            }
        }
    }

    fn rate(&self, part: f64) -> Rate {
        Rate::megabits(((part * self.link_megabits as f64) as u64).max(1))
    }
}

impl Tree {
    /// When this many frames have passed a link that is never idle.
    fn at(&self, frames: u64) -> Time {
        Time::ZERO + Rate::megabits(self.link_megabits).transmission_time(self.frame_bytes.into()) * frames
    }

    fn has_class_queues(&self) -> bool {
        self.strict_priority || self.switch_control.is_by_class() || self.adapter_control.is_by_class()
    }

    fn network(&self) -> Network {
        let interval = self.sampled.map(|frames| self.at(frames).since(Time::ZERO));
        let probes = Probes { interval, queues: true, flows: true, links: true };
        let mut builder = NetworkBuilder::new(self.seed, self.at(FRAMES / 8), self.at(FRAMES), probes);
        let switches = self.parents.len() + 1;
        for switch in 0..switches {
            let spec = EthernetSwitchSpec {
                memory: self.switch_memory,
                flow_control: self.switch_control,
                watchdog: self.watchdog,
                reaction: Span::from_nanoseconds(self.reaction_ns),
                arbiter: self.arbiter,
                strict_priority: self.strict_priority,
                forwarding_delay: Span::from_nanoseconds(self.forwarding_ns),
                congestion: self.congestion.clone(),
            };
            builder.add_node(&format!("switch-{switch}"), NodeSpec::EthernetSwitch(Box::new(spec)));
        }
        for number in 0..self.nodes.len() {
            let slow = ServiceStep { from: Time::ZERO, rate: Some(self.rate(self.service[1])) };
            let spec = AdapterSpec {
                voq_limit: self.voq_limit,
                rate_limiters: self.rate_limiters,
                egress_bytes: 150_000,
                flow_control: self.adapter_control,
                reaction: Span::from_nanoseconds(self.reaction_ns / 2),
                service: if number == 1 { vec![slow] } else { Vec::new() },
                congestion: self.congestion.clone(),
            };
            builder.add_node(&format!("node-{number}"), NodeSpec::Host(Some(Box::new(spec))));
        }
        self.add_links(&mut builder);
        for number in 0..self.nodes.len() {
            self.add_flows(number, &mut builder);
        }
        builder.build().unwrap()
    }

    /// The flows of a node, which share a generator: to the first node or its neighbour, and to one further on.
    fn add_flows(&self, number: usize, builder: &mut NetworkBuilder) {
        let (first, count) = (self.parents.len() + 1, self.nodes.len());
        let near = usize::from(number == 0);
        let far = (number + count / 2) % count;
        let targets = if far == near || far == number { vec![near] } else { vec![near, far] };
        let mut add = |to: usize, group: &str, transport: Transport| {
            builder.add_flow(FlowSpec {
                host_jitter: [Distribution::ZERO; 2],
                name: format!("{group}-{number}-{to}"),
                group: group.into(),
                transport,
                source: (first + number) as u32,
                destination: (first + to) as u32,
                start: Time::ZERO + Span::from_nanoseconds(70 * number as u64),
                stop: Time::NEVER,
                class: (number % 3) as u8,
            });
        };
        for &to in &targets {
            add(
                to,
                "frames",
                Transport::Frames {
                    generator: number as u32,
                    share: 1.0 + to as f64,
                    arrivals: self.arrivals,
                    len_bytes: self.frame_bytes,
                    ecn: true,
                    set_point: None,
                },
            );
        }
        if !self.transports.is_empty() {
            add(targets[0], "transport", self.transports[number % self.transports.len()].clone());
        }
    }

    fn run(&self) -> RunResult {
        self.network().run(&mut |_| true).unwrap()
    }

    /// The same, with every process run in the order of the global clock.
    fn run_in_order(&self) -> RunResult {
        self.network().run_in_order(&mut |_| true).unwrap()
    }
}

fn schemes() -> Vec<Option<CongestionManagement>> {
    [None].into_iter().chain(CongestionManagement::every().into_iter().map(Some)).collect()
}

/// Where two results differ, table by table: a digest alone says nothing.
fn differences(one: &RunResult, other: &RunResult) -> Vec<String> {
    let tables = [
        ("flows", &one.flows, &other.flows),
        ("queues", &one.queues, &other.queues),
        ("links", &one.links, &other.links),
        ("adapters", &one.adapters, &other.adapters),
    ];
    let mut differences = Vec::new();
    for (name, left, right) in tables {
        for (column, right) in left.columns.iter().zip(&right.columns) {
            let (left, right) = (format!("{:?}", column.1), format!("{:?}", right.1));
            if left != right && column.0 != "state_bytes" {
                differences.push(format!("{name}.{}:\n  {left}\n  {right}", column.0));
            }
        }
    }
    for (left, right) in one.series.iter().zip(&other.series) {
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        if bits(&left.values) != bits(&right.values) {
            differences.push(format!("{} {}", left.name, left.quantity));
        }
    }
    differences
}

#[test]
fn the_order_of_running_changes_no_result_under_any_scheme() {
    for congestion in schemes() {
        let name = congestion.as_ref().map(CongestionManagement::name);
        let tree = Tree { congestion, ..Tree::default() };
        let (fused, in_order) = (tree.run(), tree.run_in_order());
        assert_eq!(differences(&fused, &in_order), [""; 0], "{name:?}");
        assert_eq!(fused.digest, in_order.digest, "{name:?}");
        assert!(in_order.engine.events > fused.engine.events, "{name:?}");
        assert_eq!(tree.run().digest, fused.digest, "{name:?} again");
        assert_ne!(Tree { seed: 2, ..tree }.run().digest, fused.digest, "{name:?} with another seed");
    }
}

#[test]
fn any_transport_crosses_an_ethernet_under_any_discipline_or_scheme() {
    let arrivals = FrameArrivals { load: 0.1, ..Tree::default().arrivals };
    let with = |discipline, congestion| {
        let service = [1.0, 1.0];
        Tree { transports: transports(), discipline, congestion, arrivals, service, ..Tree::default() }
    };
    let disciplines = DISCIPLINES.into_iter().map(|discipline| with(Some(discipline), None));
    for (number, tree) in disciplines.chain(schemes().into_iter().map(|scheme| with(None, scheme))).enumerate() {
        let (ahead, in_order) = (tree.run(), tree.run_in_order());
        assert_eq!(differences(&ahead, &in_order), [""; 0], "{number}");
        assert_eq!(ahead.digest, in_order.digest, "{number}");
        let column = |wanted: &str| &ahead.flows.columns.iter().find(|(name, _)| *name == wanted).unwrap().1;
        let (Column::Text(kinds), Column::Float(goodputs)) = (column("kind"), column("goodput_bps")) else {
            panic!("other columns");
        };
        for kind in ["frames", "tcp", "udp"] {
            let of_kind = kinds.iter().zip(goodputs).filter(|(of, _)| *of == kind);
            assert!(of_kind.map(|(_, goodput)| goodput).sum::<f64>() > 0.0, "{number}: {kind}");
        }
    }
}

/// Committed frames are revoked and pushed out, also with TCP, probes and queues by class.
#[test]
fn the_order_of_running_changes_nothing_where_frames_are_pushed_out() {
    for (strict_priority, arbiter) in [(false, Arbiter::Fifo), (true, Arbiter::Fifo), (true, Arbiter::RoundRobin)] {
        for congestion in schemes() {
            let name = congestion.as_ref().map(CongestionManagement::name);
            let tree = Tree {
                switch_memory: SharedMemoryConfig {
                    share: Bytes(6000),
                    policy: BufferPolicyConfig::LongestQueueDrop(LongestQueueDropConfig {}),
                },
                switch_control: FlowControl::None,
                strict_priority,
                arbiter,
                congestion,
                arrivals: FrameArrivals { load: 1.0, ..Tree::default().arrivals },
                service: [0.1, 1.0],
                transports: transports(),
                ..Tree::default()
            };
            let (ahead, in_order) = (tree.run(), tree.run_in_order());
            assert_eq!(differences(&ahead, &in_order), [""; 0], "{name:?}");
            let count = |column| ahead.queues.counts(column).iter().sum::<u64>();
            let [evicted, refused] = [count("dropped_evicted"), count("dropped_overflow")];
            assert!(evicted > 100 && refused > 100, "{name:?}: {evicted} pushed out, {refused} refused");
        }
    }
}

fn flow_control() -> impl Strategy<Value = FlowControl> {
    let watermarks = || {
        (1_u64..90_000, 0.0..0.99)
            .prop_map(|(high, low)| PauseConfig { high: Bytes(high), low: Bytes((high as f64 * low) as u64) })
    };
    prop_oneof![
        Just(FlowControl::None),
        watermarks().prop_map(FlowControl::Pause),
        watermarks().prop_map(FlowControl::Priority),
    ]
}

/// As [`flow_control`], or as the policy decides, if it does.
fn switch_control() -> impl Strategy<Value = FlowControl> {
    prop_oneof![flow_control(), any::<bool>().prop_map(|by_class| FlowControl::OfBuffer { by_class })]
}

fn watchdog() -> impl Strategy<Value = Option<WatchdogSpec>> {
    let span = || (1_u64..60).prop_map(Span::from_microseconds);
    let spec = (span(), span(), span(), any::<bool>());
    let spec = spec.prop_map(|(poll, detection, restoration, drops)| {
        let poll = poll.min(detection);
        WatchdogSpec { poll, detection, restoration, drops }
    });
    prop::option::of(spec)
}

fn span_ns(largest: u64) -> impl Strategy<Value = u64> {
    // Whole frames and halves of them, so that many things happen at the same time.
    prop_oneof![Just(0), Just(600), Just(1200), 0..largest]
}

/// Every policy with its defaults, and some with less room.
fn policies() -> Vec<BufferPolicyConfig> {
    let limits = [Some(OutputLimit::Static(Bytes(30_000))), Some(OutputLimit::Dynamic(0.3))];
    let limited = limits.map(|output_limit| BufferPolicyConfig::Partitions(PartitionsConfig { output_limit }));
    let pools = [(1000, 0.1), (20_000, 0.02), (60_000, 2.0)].map(|(headroom, alpha)| {
        let config = HeadroomPoolConfig { headroom: Bytes(headroom), alpha, ..HeadroomPoolConfig::default() };
        BufferPolicyConfig::HeadroomPool(config)
    });
    BufferPolicyConfig::every().into_iter().chain(limited).chain(pools).collect()
}

fn tree() -> impl Strategy<Value = Tree> {
    let network = (
        prop::collection::vec(0_usize..8, 0..4),
        prop::option::of((0_usize..5, 0_usize..5)),
        prop::collection::vec(0_usize..8, 3..8),
        prop::sample::select(vec![1000_u64, 10_000, 10_000, 100_000]),
        prop::collection::vec(span_ns(3000), 1..4),
        span_ns(4000),
        span_ns(1000),
    );
    let devices = (
        prop::sample::select(policies()),
        (switch_control(), watchdog()),
        flow_control(),
        prop::sample::select(vec![Arbiter::Fifo, Arbiter::RoundRobin]),
        any::<bool>(),
        prop::option::of(1_u32..10),
        prop::option::of(1_u32..3),
        prop::sample::select(schemes()),
    );
    let on_off = OnOff { period: Span::from_microseconds(200), on: Span::from_microseconds(100) };
    let traffic = (
        (prop_oneof![Just(1.0), 0.1..1.0], any::<bool>(), prop::sample::select(vec![None, Some(on_off)])),
        prop::sample::select(vec![64_u16, 700, 1500, 9000]),
        [0.01..1.0, 0.01..1.0],
        prop::sample::select(vec![None, Some(100), Some(7)]),
        any::<u64>(),
        (any::<bool>(), prop::option::of(prop::sample::select(&DISCIPLINES[..]))),
    );
    (network, devices, traffic).prop_map(|(network, devices, traffic)| {
        let (parents, shortcut, nodes, link_megabits, propagation_ns, reaction_ns, forwarding_ns) = network;
        let (policy, of_switch, adapter_control, arbiter, strict_priority, voq_limit, limiters, congestion) = devices;
        let (switch_control, watchdog) = of_switch;
        let decides = matches!(policy, BufferPolicyConfig::HeadroomPool(_));
        let ((load, constant, on_off), frame_bytes, service, sampled, seed, (has_endpoints, discipline)) = traffic;
        let no_scheme = congestion.is_none();
        Tree {
            seed,
            parents,
            shortcut,
            nodes,
            link_megabits,
            propagation_ns,
            reaction_ns,
            forwarding_ns,
            switch_memory: SharedMemoryConfig { share: Bytes(100_000), policy },
            switch_control: match switch_control {
                FlowControl::OfBuffer { .. } if !decides => FlowControl::None,
                control => control,
            },
            watchdog,
            adapter_control,
            arbiter,
            strict_priority,
            voq_limit,
            // With FECN every flow has a limiter, always.
            rate_limiters: limiters.filter(|_| !matches!(congestion, Some(CongestionManagement::Fecn(_)))),
            congestion,
            arrivals: FrameArrivals { load, constant, on_off },
            frame_bytes,
            service,
            sampled,
            transports: if has_endpoints { transports() } else { Vec::new() },
            // Either looks after the queue.
            discipline: discipline.filter(|_| no_scheme),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Also where frames are lost, where there is no propagation to run ahead by, and where much happens at once.
    #[test]
    fn the_order_of_running_changes_no_result(tree in tree()) {
        let (fused, in_order) = (tree.run(), tree.run_in_order());
        prop_assert_eq!(differences(&fused, &in_order), Vec::<String>::new());
        prop_assert_eq!(fused.digest, in_order.digest);
    }
}
