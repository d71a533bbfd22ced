//! Lossless means lossless: with the headroom that `headroom` computes, and not a byte more, PAUSE loses no frame, in
//! no network and under no load, by watermarks or as a buffer policy decides. With a frame less it may, and says so.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::cell::Cell;

use forebay_engine::RunResult;
use forebay_scenario::run;
use forebay_switching::headroom;
use forebay_units::{Bytes, Rate, Span};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use support::{Timing, classed, count, flows, load, ports, simulate, star, sum};

const CONTROL_FRAME: Bytes = Bytes(64);

/// Where a node is, what it sends, and how fast it is served.
#[derive(Clone, Debug)]
struct Node {
    /// Its switch is one of those there are: the remainder.
    switch: usize,
    /// To one node, by number, or to all others.
    to: Option<usize>,
    /// Part of its link that it fills.
    load: f64,
    class: u8,
    frame_bytes: u32,
    constant: bool,
    /// Where and at which part of the link's rate it is served, if not at all of it.
    service: Option<(&'static str, f64)>,
}

/// A buffer: its high watermark, and the low one as a part of that.
#[derive(Clone, Copy, Debug)]
struct Watermarks {
    high: u64,
    low: f64,
    /// Whether each class has them for itself.
    by_class: bool,
}

impl Watermarks {
    fn keys(self) -> String {
        let kind = if self.by_class { "priority_pause" } else { "pause" };
        let low = (self.high as f64 * self.low) as u64;
        format!("{kind} = {{ high = \"{} B\", low = \"{low} B\" }}", self.high)
    }
}

/// Memory of switches of which a policy decides when feeders stop, in place of watermarks.
#[derive(Clone, Copy, Debug)]
struct Pool {
    alpha: f64,
    reserve: u64,
    resume_offset: u64,
    /// For each port, in addition to reserve and headroom.
    shared: u64,
}

#[derive(Clone, Debug)]
struct Case {
    /// The switch before each but the first, by number.
    parents: Vec<usize>,
    nodes: Vec<Node>,
    link_gigabits: u64,
    propagation_ns: u64,
    switch_reaction_ns: u64,
    adapter_reaction_ns: u64,
    forwarding_ns: u64,
    switch: Watermarks,
    pool: Option<Pool>,
    egress: Watermarks,
    arbiter: &'static str,
    strict_priority: bool,
    scheme: Option<&'static str>,
    rate_limiters: Option<u32>,
    voq_limit: Option<u32>,
    seed: u64,
}

fn node() -> impl Strategy<Value = Node> {
    let service = prop_oneof![
        2 => Just(None),
        1 => (0.01..1.0).prop_map(|part| Some(("switch", part))),
        1 => (0.01..1.0).prop_map(|part| Some(("node", part))),
    ];
    // Many send to the first node: there is a hot spot.
    let to = prop_oneof![2 => Just(Some(0)), 1 => (0_usize..12).prop_map(Some), 2 => Just(None)];
    let load = prop_oneof![Just(1.0), 0.05..1.0];
    let frame_bytes = prop_oneof![3 => Just(1500_u32), 1 => 64_u32..=1500, 1 => Just(9000)];
    (0_usize..8, to, load, 0_u8..3, frame_bytes, any::<bool>(), service).prop_map(
        |(switch, to, load, class, frame_bytes, constant, service)| Node {
            switch,
            to,
            load,
            class,
            frame_bytes,
            constant,
            service,
        },
    )
}

fn watermarks() -> impl Strategy<Value = Watermarks> {
    (prop_oneof![1_u64..20_000, 1_u64..150_000], 0.0..0.99, any::<bool>())
        .prop_map(|(high, low, by_class)| Watermarks { high, low, by_class })
}

fn pool() -> impl Strategy<Value = Pool> {
    (prop_oneof![Just(0.125), 0.01..8.0], 0_u64..8000, 0_u64..6000, prop_oneof![0_u64..20_000, 0_u64..200_000])
        .prop_map(|(alpha, reserve, resume_offset, shared)| Pool { alpha, reserve, resume_offset, shared })
}

fn span_ns(largest: u64) -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(500), 0..largest]
}

fn case() -> impl Strategy<Value = Case> {
    let network = (
        prop::collection::vec(0_usize..8, 0..6),
        prop::collection::vec(node(), 3..10),
        prop::sample::select(vec![1_u64, 10, 10, 10, 100]),
        span_ns(5000),
        span_ns(4000),
        span_ns(4000),
        span_ns(1000),
    );
    let schemes = vec![None, Some("ecm"), Some("e2cm"), Some("qcn"), Some("fecn"), Some("dbp"), Some("dcqcn")];
    let devices = (
        (watermarks(), prop::option::of(pool())),
        watermarks(),
        prop::sample::select(vec!["fifo", "round_robin"]),
        any::<bool>(),
        prop::sample::select(schemes),
        prop::option::of(1_u32..4),
        prop::option::of(1_u32..20),
        any::<u64>(),
    );
    (network, devices).prop_map(|(network, devices)| {
        let (parents, nodes, link_gigabits, propagation_ns, switch_reaction_ns, adapter_reaction_ns, forwarding_ns) =
            network;
        let ((switch, pool), egress, arbiter, strict_priority, scheme, rate_limiters, voq_limit, seed) = devices;
        Case {
            parents,
            nodes,
            link_gigabits,
            propagation_ns,
            switch_reaction_ns,
            adapter_reaction_ns,
            forwarding_ns,
            switch,
            pool,
            egress,
            arbiter,
            strict_priority,
            scheme,
            // With FECN every flow has a limiter, always.
            rate_limiters: rate_limiters.filter(|_| scheme != Some("fecn")),
            voq_limit,
            seed,
        }
    })
}

impl Case {
    fn headroom(&self, reaction_ns: u64) -> u64 {
        let largest = self.nodes.iter().map(|node| node.frame_bytes).max().unwrap();
        let (rate, propagation) =
            (Rate::megabits(1000 * self.link_gigabits), Span::from_nanoseconds(self.propagation_ns));
        headroom(rate, propagation, Bytes(largest.into()), CONTROL_FRAME, Span::from_nanoseconds(reaction_ns)).0
    }

    /// How many classes are stopped singly.
    fn classes(&self, by_class: bool) -> u64 {
        let classes = self.nodes.iter().map(|node| node.class).collect::<std::collections::BTreeSet<u8>>().len();
        if by_class { classes as u64 } else { 1 }
    }

    /// The headroom of a switch's input.
    fn switch_headroom(&self) -> u64 {
        let feeder = if self.parents.is_empty() { 0 } else { self.switch_reaction_ns };
        self.headroom(self.adapter_reaction_ns.max(feeder) + self.forwarding_ns)
    }

    /// The memory of a switch's input, and of an adapter's egress: the need of watermark and headroom.
    fn memory(&self) -> (u64, u64) {
        let of = |watermarks: Watermarks, above| (watermarks.high + above) * self.classes(watermarks.by_class);
        let of_switch = match self.pool {
            None => of(self.switch, self.switch_headroom()),
            Some(pool) => {
                let (reserve, headroom) = (pool.reserve, self.switch_headroom() + 1);
                (reserve + headroom) * self.classes(self.switch.by_class) + pool.shared
            }
        };
        (of_switch, of(self.egress, self.headroom(self.switch_reaction_ns)))
    }

    /// PAUSE and the policy of switches.
    fn switch_keys(&self) -> String {
        let Some(Pool { alpha, reserve, resume_offset, .. }) = self.pool else { return self.switch.keys() };
        let by_class = self.switch.by_class;
        format!(
            "{} = {{}}\nbuffer.headroom_pool = {{ alpha = {alpha:?}, reserve = \"{reserve} B\", headroom = \"{} B\", \
             resume_offset = \"{resume_offset} B\", classes = {} }}",
            if by_class { "priority_pause" } else { "pause" },
            self.switch_headroom() + 1,
            self.classes(by_class),
        )
    }

    fn ethernet(&self) -> String {
        let (memory, egress_memory) = self.memory();
        let switches = self.parents.len() + 1;
        let named = |switch: usize| {
            let nodes = self.nodes.iter().enumerate().filter(|(_, node)| node.switch % switches == switch);
            let nodes: Vec<String> = nodes.map(|(number, _)| number.to_string()).collect();
            format!("{{ name = \"S{switch}\", nodes = {nodes:?} }}")
        };
        let trunks = self
            .parents
            .iter()
            .zip(1_usize..)
            .map(|(&parent, switch)| format!("[\"S{}\", \"S{switch}\"]", parent % switch));
        let services = self.nodes.iter().enumerate().filter_map(|(number, node)| {
            let (at, part) = node.service?;
            let rate = (part * 1e9 * self.link_gigabits as f64) as u64;
            Some(format!("{{ node = \"{number}\", rate = \"{rate} bps\", at = \"{at}\" }}"))
        });
        let list = |items: Vec<String>| items.join(", ");
        format!(
            "link = {{ rate = \"{} Gbps\", delay = \"{} ns\" }}\n{}switches = [{}]\ntrunks = [{}]\nservice = [{}]\n\
             [topology.ethernet.switch]\nmemory = \"{memory} B\"\n{}\nreaction = \"{} ns\"\narbiter = \"{}\"\n\
             strict_priority = {}\nforwarding_delay = \"{} ns\"\n\
             [topology.ethernet.adapter]\negress_memory = \"{egress_memory} B\"\n{}\nreaction = \"{} ns\"\n{}{}",
            self.link_gigabits,
            self.propagation_ns,
            self.scheme.map_or(String::new(), |scheme| format!("congestion_management = \"{scheme}\"\n")),
            list((0..switches).map(named).collect()),
            list(trunks.collect()),
            list(services.collect()),
            self.switch_keys(),
            self.switch_reaction_ns,
            self.arbiter,
            self.strict_priority,
            self.forwarding_ns,
            self.egress.keys(),
            self.adapter_reaction_ns,
            self.rate_limiters.map_or(String::new(), |limiters| format!("rate_limiters = {limiters}\n")),
            self.voq_limit.map_or(String::new(), |limit| format!("voq_limit = \"{limit} packets\"\n")),
        )
    }

    fn flows(&self) -> String {
        let of = |(number, node): (usize, &Node)| {
            let from = number.to_string();
            let to = node.to.map(|to| to % self.nodes.len()).filter(|&to| to != number);
            let to = to.map_or("others".to_owned(), |to| to.to_string());
            let rate = (node.load * 1e9 * self.link_gigabits as f64) as u64;
            let arrivals = if node.constant { "constant" } else { "bernoulli" };
            let bytes = node.frame_bytes;
            let keys = format!("rate = \"{rate} bps\", size = \"{bytes} B\", arrivals = \"{arrivals}\"");
            classed(&format!("flow-{from}"), node.class, &[&from], &to, &keys)
        };
        self.nodes.iter().enumerate().map(of).collect()
    }

    fn run(&self) -> RunResult {
        // As many frames whatever the rate of the links.
        let duration_ms = if self.link_gigabits == 100 { 0.4 } else { 4.0 };
        let scenario = load(&Timing::new(0.0, duration_ms), &self.ethernet(), &self.flows());
        run(&scenario, Some(self.seed), None, &mut |_| true).unwrap_or_else(|error| panic!("{error}"))
    }
}

#[test]
fn no_frame_is_lost_in_any_network_under_any_load() {
    let mut runner =
        TestRunner::new(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() });
    let (paused, near_the_brim, by_policy) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let verdict = runner.run(&case(), |case| {
        let result = case.run();
        prop_assert_eq!(sum(&ports(&result), "frames_lost"), 0);
        prop_assert_eq!(sum(&result.flows, "packets_dropped"), 0);
        prop_assert_eq!(&result.deadlock, &None, "a tree has no ring");
        let (memory, egress_memory) = case.memory();
        let all = ports(&result);
        let ports = all.texts("name").iter().zip(all.counts("memory_max_bytes"));
        for (name, &largest) in ports {
            // A port of a switch has the name of its link, an adapter has the name of its node.
            let (size, watermarks, pool) =
                if name.contains("->") { (memory, case.switch, case.pool) } else { (egress_memory, case.egress, None) };
            // Inputs share the memory of a policy.
            let size = if pool.is_some() { size * 20 } else { size };
            prop_assert!(largest <= size, "{} held {} of {} B", name, largest, size);
            let is_near = !watermarks.by_class && pool.is_none() && largest > watermarks.high;
            near_the_brim.set(near_the_brim.get() + u32::from(is_near));
        }
        let has_paused = sum(&all, "pause_frames_sent") > 0;
        paused.set(paused.get() + u32::from(has_paused));
        by_policy.set(by_policy.get() + u32::from(has_paused && case.pool.is_some()));
        Ok(())
    });
    verdict.unwrap_or_else(|error| panic!("{error}"));
    assert!(paused.get() >= 16, "PAUSE was tried in {} cases only", paused.get());
    assert!(by_policy.get() >= 8, "a policy stopped feeders in {} cases only", by_policy.get());
    assert!(near_the_brim.get() >= 16, "headroom was tried at {} ports only", near_the_brim.get());
}

/// One sender at the line's rate to a node that takes next to nothing. The port of the switch back to the sender is
/// busy with frames that two others send. All begin at the same time. So the order to stop the sender, who passes the
/// watermark by all of a frame but a byte, waits for a whole frame.
fn overshoot(memory: u64, allow_loss: bool) -> RunResult {
    let keys = format!(
        "link = {{ rate = \"10 Gbps\", delay = \"600 ns\" }}\n\
         switch.memory = \"{memory} B\"\n\
         switch.pause = {{ high = \"15001 B\", low = \"10 KB\", allow_loss = {allow_loss} }}\n\
         {}service = [{{ node = \"2\", rate = \"10 Mbps\" }}]",
        star(4)
    );
    let full = r#"rate = "10 Gbps", arrivals = "constant""#;
    simulate(&Timing::new(0.0, 0.1), &keys, &(flows("hot", &["1"], "2", full) + &flows("back", &["3", "4"], "1", full)))
}

#[test]
fn with_the_headroom_a_frame_short_frames_are_lost_and_counted() {
    let (rate, propagation) = (Rate::megabits(10_000), Span::from_nanoseconds(600));
    let above = headroom(rate, propagation, Bytes(1500), CONTROL_FRAME, Span::ZERO).0;
    let enough = overshoot(15_001 + above, false);
    assert_eq!(sum(&ports(&enough), "frames_lost"), 0);
    // Eleven frames pass the watermark, and three more are on their way before the sender stops.
    assert_eq!(count(&ports(&enough), "SW->1", "memory_max_bytes"), 14 * 1500);

    let short = overshoot(15_001 + above - 1500, true);
    assert_eq!(count(&ports(&short), "SW->1", "frames_lost"), 1);
    assert_eq!(count(&short.flows, "hot", "packets_dropped"), 1);
    assert_eq!(count(&ports(&short), "SW->1", "memory_max_bytes"), 13 * 1500);
}

#[test]
fn too_little_headroom_is_refused_unless_loss_is_accepted() {
    let keys = |allow_loss: bool| {
        format!(
            "duration = \"1 ms\"\n[topology.ethernet]\nlink = {{ rate = \"10 Gbps\", delay = \"600 ns\" }}\n\
             switch.memory = \"21064 B\"\n\
             switch.pause = {{ high = \"15001 B\", low = \"10 KB\", allow_loss = {allow_loss} }}\n\
             {}{}",
            star(2),
            flows("hot", &["1"], "2", r#"rate = "10 Gbps""#)
        )
    };
    let load = |allow_loss| forebay_scenario::Scenario::load(&keys(allow_loss), "short.toml", &[]);
    let error = load(false).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("headroom"), "{error}");
    assert!(load(true).is_ok());
}
