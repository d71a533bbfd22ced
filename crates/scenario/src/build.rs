//! From a validated scenario to a network.

mod completions;
mod ethernet;
mod hosts;
mod links;
mod messages;
mod tasks;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use forebay_engine::{
    Call, CellArrivals, CrossbarSpec, Distribution, FlowSpec, Inputs, Network, NetworkBuilder, NodeSpec, Ping, Probes,
    RateStep, RunError, SharedKind, TcpData, Transfers, Transport, UdpPattern,
};
use forebay_qdisc::{Ecn, Span, Time};
use forebay_records::random::stream;
use forebay_switching::{InputFifos, VirtualOutputQueues};
use forebay_tcp::{CongestionControl, TcpConfig};
use forebay_units::{ParameterError, QueueSize};

use crate::applications::{Application, FixedSize};
use crate::build::completions::Completions;
use crate::build::hosts::HostTimes;
use crate::build::messages::Messages;
use crate::custom_classes::CustomClasses;
use crate::plan::{CellsOfInput, EthernetPlan, Plan, PlannedFabric, PlannedFlow, PlannedKind, Source};
use crate::schema::{
    self, Cells, Fabric, FlowGroup, HostQueue, PingInterval, ScenarioSpec, SeriesKind, Switch, Udp,
    UdpPattern as Pattern, VOICE_BPS,
};
use crate::watch::WatchSpec;

/// Links or flows that are added between two calls of the control function.
const STEPS_PER_CHECK: usize = 1 << 12;

/// Builds the network of `scenario` under `seed`. Traces go into `out`, if there is such a folder; `watch` is checked.
///
/// # Errors
/// If `control`, which is asked before each step, answers not to continue, the file of a trace cannot be created, or
/// `custom` cannot make one that is named.
pub(crate) fn network(
    scenario: &ScenarioSpec,
    seed: u64,
    watch: Option<&WatchSpec>,
    out: Option<&Path>,
    custom: Option<&dyn CustomClasses>,
    control: &mut dyn FnMut(f64) -> bool,
) -> Result<Network, RunError> {
    let mut go_on = || if control(0.0) { Ok(()) } else { Err(RunError::Stopped) };
    go_on()?;
    let mut plan = Plan::new(scenario, seed);
    go_on()?;
    let at = |span| Time::ZERO + span;
    let mut builder = NetworkBuilder::new(seed, at(scenario.warmup), at(scenario.duration), probes(scenario));
    let mut switches: BTreeMap<u32, Switch<'_>> = BTreeMap::new();
    set_up(&mut builder, &plan, scenario);
    let watched = watched_flows(&plan, scenario);
    let losing = links::losing_flows(&plan, scenario);
    let host_times = HostTimes::new(&plan, scenario);
    let mut messages = Messages::new(&plan, scenario)?;
    if let Some(watch) = watch {
        builder.watch(watch.of_plan(&plan));
    }
    for (index, node) in std::mem::take(&mut plan.nodes).into_iter().enumerate() {
        if index.is_multiple_of(STEPS_PER_CHECK) {
            go_on()?;
        }
        builder.add_node(&node.name, node_spec(&node.kind, scenario)?);
    }
    // Links of a million flows take hundreds of megabytes: each is freed when it has been added.
    for (index, link) in std::mem::take(&mut plan.links).into_iter().enumerate() {
        if index.is_multiple_of(STEPS_PER_CHECK) {
            go_on()?;
        }
        let switch = switches.entry(link.from).or_insert_with(|| Switch::new(seed, custom));
        let watched_flows = watched.get(link.name.as_str()).cloned().unwrap_or_default();
        builder.add_link(links::link_spec(link, &plan.outline, switch, custom, (watched_flows, &losing), seed, out)?);
    }
    if let Some(out) = out.filter(|_| has_transfers(scenario)) {
        builder.write_transfers(Box::new(Completions::create(out.join(completions::FILE))?));
    }
    let senders = watched_senders(scenario);
    let groups = scenario.flows.iter().map(|group| SharedByGroup::new(group, custom)).collect::<Result<Vec<_>, _>>()?;
    let first_flows = tasks::first_flows(&plan);
    for (index, planned) in std::mem::take(&mut plan.flows).into_iter().enumerate() {
        if index.is_multiple_of(STEPS_PER_CHECK) {
            go_on()?;
        }
        let group = &scenario.flows[planned.group];
        let is_watched = senders.contains(planned.name.as_str()) || senders.contains(group.name.as_str());
        let first = builder.flow_count();
        let parts = (&groups[planned.group], &host_times, &mut messages);
        builder.add_flow(flow(planned, scenario, parts, plan.outline.ethernet.as_ref(), seed)?);
        if is_watched {
            (first..builder.flow_count()).for_each(|flow| builder.watch_sender(flow));
        }
    }
    tasks::add(&mut builder, &plan.outline, &first_flows, &messages, seed)?;
    go_on()?;
    drop(switches);
    builder.build()
}

/// Names of flows and groups whose senders become time series.
fn watched_senders(scenario: &ScenarioSpec) -> BTreeSet<&str> {
    scenario.probes.iter().flat_map(|probes| &probes.senders).map(String::as_str).collect()
}

/// Sets what holds for the whole network.
fn set_up(builder: &mut NetworkBuilder, plan: &Plan<'_>, scenario: &ScenarioSpec) {
    if let HostQueue::Packets(packets) = scenario.host_queue {
        builder.limit_device_queues(packets);
    }
    if let Some(paths) = plan.outline.paths {
        builder.choose_paths(paths.clone());
    }
    if let Some(after) = plan.outline.reroute_after {
        builder.change_routes(plan.route_changes(after));
    }
    let queue = |link| plan.outline.direction(link).spec.queue.as_ref();
    if plan.links.iter().filter_map(queue).any(|queue| queue.needs_senders()) {
        builder.state_sizes();
    }
}

fn has_transfers(scenario: &ScenarioSpec) -> bool {
    scenario.flows.iter().any(|group| matches!(group.app, Application::Transfers(_)))
}

fn probes(scenario: &ScenarioSpec) -> Probes {
    let Some(probes) = &scenario.probes else { return Probes::default() };
    let wanted = |kind| probes.series.contains(&kind);
    Probes {
        interval: Some(probes.interval),
        queues: wanted(SeriesKind::Queues),
        flows: wanted(SeriesKind::Flows),
        links: wanted(SeriesKind::Links),
    }
}

fn node_spec(kind: &PlannedKind<'_>, scenario: &ScenarioSpec) -> Result<NodeSpec, RunError> {
    Ok(match kind {
        PlannedKind::Host => NodeSpec::Host(None),
        PlannedKind::Adapter(adapter) => NodeSpec::Host(Some(Box::new(ethernet::adapter(adapter)))),
        PlannedKind::Router => NodeSpec::Router,
        PlannedKind::Crossbar(fabric) => NodeSpec::Crossbar(Box::new(crossbar(fabric, scenario)?)),
        PlannedKind::EthernetSwitch(switch) => NodeSpec::EthernetSwitch(Box::new(ethernet::switch(switch))),
    })
}

/// By queue, the flows whose gauges are sampled there: named one by one or by their group. Only queues that are asked
/// for are in it, so that the others, which may be as many as there are flows, cost nothing.
fn watched_flows<'a>(plan: &Plan<'_>, scenario: &'a ScenarioSpec) -> BTreeMap<&'a str, Vec<u32>> {
    let mut names: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for gauges in scenario.probes.iter().flat_map(|probes| &probes.flow_gauges) {
        names.entry(&gauges.queue).or_default().extend(gauges.flows.iter().map(String::as_str));
    }
    names.into_iter().map(|(queue, names)| (queue, flows_named(&names, plan, scenario))).collect()
}

/// The flows, named one by one or by their group.
fn flows_named(names: &BTreeSet<&str>, plan: &Plan<'_>, scenario: &ScenarioSpec) -> Vec<u32> {
    let mut flow = 0;
    let mut named = Vec::new();
    for planned in &plan.flows {
        let group = &scenario.flows[planned.group];
        if names.contains(planned.name.as_str()) || names.contains(group.name.as_str()) {
            named.push(flow);
        }
        flow += group.flows_each();
    }
    named
}

/// A limit in packets.
fn packets(limit: Option<QueueSize>) -> Option<u32> {
    match limit {
        // Validation refuses a limit in bytes.
        Some(QueueSize::Packets(packets) | QueueSize::Bytes(packets)) => Some(packets.min(u64::from(u32::MAX)) as u32),
        None => None,
    }
}

fn crossbar(fabric: &PlannedFabric, scenario: &ScenarioSpec) -> Result<CrossbarSpec, RunError> {
    let ports = fabric.ports;
    let (inputs, cell, speedup) = match &fabric.spec {
        Fabric::Cioq(cioq) => {
            // Validation has built it once before.
            let scheduler = cioq.scheduler.build(ports).map_err(|error| RunError::Invariant(error.to_string()))?;
            let queues = VirtualOutputQueues::new(ports, packets(cioq.voq_limit));
            (Inputs::VirtualOutputQueues(queues, scheduler), cioq.cell, cioq.speedup)
        }
        Fabric::InputQueued(fifos) => {
            (Inputs::Fifos(InputFifos::new(ports, packets(fifos.limit))), fifos.cell, fifos.speedup)
        }
        Fabric::OutputQueued => return Err(RunError::Invariant("an output-queued switch has no fabric".into())),
    };
    let slot = fabric.line_rate.transmission_time(cell.map_or_else(|| scenario.largest_packet(), |cell| cell.0).max(1));
    Ok(CrossbarSpec { ports, inputs, slot, speedup })
}

/// The parts that all flows of a group share.
struct SharedByGroup {
    kind: Option<SharedKind>,
    /// The configuration of TCP where the scenario's names a custom controller: with the maker of its controllers.
    custom_config: Option<TcpConfig>,
}

impl SharedByGroup {
    fn new(group: &FlowGroup, custom: Option<&dyn CustomClasses>) -> Result<Self, RunError> {
        let custom_config = match &group.transport {
            schema::Transport::Tcp(config) => custom_config(config, custom),
            _ => Ok(None),
        };
        let refused = |error| RunError::Custom(format!("the flows `{}`: {error}", group.name));
        Ok(Self { kind: group.app.shared_kind(), custom_config: custom_config.map_err(refused)? })
    }
}

/// The configuration with the maker of its controllers, if they are custom.
fn custom_config(config: &TcpConfig, custom: Option<&dyn CustomClasses>) -> Result<Option<TcpConfig>, ParameterError> {
    let CongestionControl::Custom(control) = &config.congestion_control else { return Ok(None) };
    let error = |bound| ParameterError { field: "congestion_control", bound };
    let custom = custom.ok_or(error("be run by `forebay run`, `forebay.run` or a command that uses them"))?;
    let maker = custom.controllers(&control.class).ok_or(error("be a class derived from CongestionController"))?;
    let config = TcpConfig { congestion_control: CongestionControl::Custom(control.made_by(maker)), ..config.clone() };
    // The needs of its controllers were unknown until now.
    config.validate()?;
    Ok(Some(config))
}

fn flow(
    planned: PlannedFlow,
    scenario: &ScenarioSpec,
    (shared, host_times, messages): (&SharedByGroup, &HostTimes, &mut Messages),
    ethernet: Option<&EthernetPlan<'_>>,
    seed: u64,
) -> Result<FlowSpec, RunError> {
    let group = &scenario.flows[planned.group];
    let drawn_as = if let Source::Frames(frames) = &planned.supply { &frames.first } else { &planned.name };
    let draw = |what: &str, from: Distribution| match from {
        Distribution::Constant(value) => value,
        drawn => drawn.draw(&mut stream(seed, &format!("flow/{drawn_as}/{what}"))),
    };
    let (start, bytes) = match planned.supply {
        Source::Message { start, bytes } => (start, Some(bytes)),
        _ => {
            let start = Span::from_picoseconds(draw("start", group.start.picoseconds()) as u64);
            (Time::ZERO + start + group.stagger * u64::from(planned.index), None)
        }
    };
    let size = |fixed: &FixedSize| (draw("size", fixed.size.bytes()) as u64).max(1);
    let transport = match &group.transport {
        schema::Transport::Tcp(config) => Transport::Tcp {
            config: shared.custom_config.as_ref().unwrap_or(config).clone(),
            data: match (bytes, &group.app, &shared.kind) {
                (Some(bytes), ..) => TcpData::Fixed { bytes },
                (_, _, Some(kind)) => TcpData::BothWays(kind.clone()),
                (_, Application::Fixed(fixed), None) => TcpData::Fixed { bytes: size(fixed) },
                (_, Application::Transfers(transfers), None) => TcpData::Transfers(Transfers {
                    gap: transfers.gap.picoseconds(),
                    size: transfers.size.bytes(),
                    connections: transfers.connections,
                }),
                (_, _, None) => TcpData::Unlimited,
            },
        },
        schema::Transport::Uec(_)
        | schema::Transport::Ndp(_)
        | schema::Transport::Homa(_)
        | schema::Transport::Pfabric(_)
        | schema::Transport::Roce(_) => {
            let fixed = || if let Application::Fixed(fixed) = &group.app { Some(size(fixed)) } else { None };
            Transport::Message(messages.message(&planned, group, bytes.or_else(fixed))?)
        }
        schema::Transport::Udp(udp) => udp_transport(udp, group.ecn.0),
        schema::Transport::Cells(cells) => cells_transport(cells, &planned)?,
        schema::Transport::Frames(frames) => ethernet::frames_transport(frames, &planned, ethernet)?,
    };
    let host_jitter = host_times.of(&planned, group);
    Ok(FlowSpec {
        name: planned.name,
        group: group.name.clone(),
        transport,
        source: planned.source,
        destination: planned.destination,
        start,
        // A message ends with its last byte.
        stop: group.stop.filter(|_| bytes.is_none()).map_or(Time::NEVER, |stop| Time::ZERO + stop),
        class: group.class,
        host_jitter,
    })
}

fn cells_transport(cells: &Cells, planned: &PlannedFlow) -> Result<Transport, RunError> {
    let Source::Cells(CellsOfInput { input, share, total, rate }) = planned.supply else {
        return Err(RunError::Invariant(format!("`{}`: cells without an input", planned.name)));
    };
    // A line that is asked for more than it carries is full.
    let load = (cells.load * total).min(1.0);
    Ok(Transport::Cells {
        line: input,
        share,
        arrivals: match cells.burst_cells {
            None => CellArrivals::Bernoulli { load },
            Some(burst_cells) => CellArrivals::Bursty { load, burst_cells },
        },
        len_bytes: cells.size.0 as u16,
        slot: rate.transmission_time(cells.size.0),
    })
}

fn udp_transport(udp: &Udp, ecn: Ecn) -> Transport {
    let bps = |rate: forebay_qdisc::Rate| rate.bits_per_second() as f64;
    let pattern = match &udp.pattern {
        Pattern::Constant(constant) => UdpPattern::Constant {
            rate_bps: bps(constant.rate),
            jitter: constant.jitter,
            random_phase: constant.random_phase,
        },
        Pattern::Voice(_) => UdpPattern::Constant { rate_bps: VOICE_BPS, jitter: 0.0, random_phase: true },
        Pattern::Game(game) => UdpPattern::Gaps(game.gap().picoseconds()),
        Pattern::OnOff(on_off) => {
            UdpPattern::OnOff { rate_bps: bps(on_off.rate), on: on_off.on.picoseconds(), off: on_off.off.picoseconds() }
        }
        Pattern::Poisson(poisson) => UdpPattern::Poisson { rate_bps: bps(poisson.rate) },
        Pattern::Steps(steps) => UdpPattern::Steps(
            steps.iter().map(|step| RateStep { from: Time::ZERO + step.from, rate_bps: bps(step.rate) }).collect(),
        ),
        Pattern::Ping(ping) => {
            let gap = match ping.interval {
                PingInterval::Every(interval) => Some(interval),
                PingInterval::OnAnswer => None,
            };
            return Transport::Ping(Ping { gap, timeout: ping.timeout, len_bytes: udp.packet.mean().0 as u16, ecn });
        }
    };
    Transport::Udp {
        pattern,
        length: udp.packet.bytes(),
        header_bytes: udp.header_bytes(),
        ecn,
        call: udp.call().map(|voice| Call { jitter_buffer: voice.jitter_buffer }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    /// The queues and flows that are watched in a star of two UDP flows and two conversations.
    fn watched(probes: &str) -> Vec<(String, Vec<u32>)> {
        let text = format!(
            r#"
            duration = "1 s"
            {probes}
            [topology.star]
            access = {{ rate = "10 Mbps", delay = "1 ms" }}
            bottleneck = {{ rate = "1 Mbps", delay = "1 ms", queue = "dbl" }}
            [[flows]]
            name = "talk"
            count = 2
            transport = "tcp"
            app.request_response = {{ request = "100 B", response = "10 KB" }}
            [[flows]]
            name = "udp"
            count = 2
            transport.udp = {{ packet = "1000 B", constant = {{ rate = "1 Mbps" }} }}
            "#
        );
        let scenario =
            Scenario::load(&text, "test.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let plan = Plan::new(scenario.spec(), 1);
        watched_flows(&plan, scenario.spec()).into_iter().map(|(queue, flows)| (queue.to_owned(), flows)).collect()
    }

    #[test]
    fn flows_are_looked_for_at_no_queue_but_those_asked_for() {
        assert_eq!(watched(""), []);
        assert_eq!(watched("probes.interval = \"1 s\""), []);
        let asked = r#"probes.flow_gauges = [
            { queue = "bottleneck", flows = ["udp-1", "talk-1"] }, { queue = "bottleneck", flows = ["udp"] },
        ]"#;
        // A conversation is two flows.
        assert_eq!(watched(asked), [("bottleneck".to_owned(), vec![2, 4, 5])]);
    }
}
