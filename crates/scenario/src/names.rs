//! The names that follow from a scenario: of flows, of links, and of the queues at their sending ends, which have the
//! names of their links.

use forebay_units::Rate;

use crate::lan::Lan;
use crate::plan::Plan;
use crate::schema::{FlowGroup, HostCount, OneOrMany, ScenarioSpec, SwitchTopology, Topology, Transport};

/// The link from the router to the sink (star) or to the other router (dumbbell).
pub const BOTTLENECK: &str = "bottleneck";
/// The link back.
pub const REVERSE: &str = "reverse";

/// From a source host to its router. `host` is the flow's name where each flow has a host of its own, else the host's
/// number from 0.
#[must_use]
pub fn access(host: &str) -> String {
    format!("access-{host}")
}

/// From a source host's router back to it.
#[must_use]
pub fn access_back(host: &str) -> String {
    format!("access-{host}/back")
}

/// From the right router of a dumbbell to a sink host.
#[must_use]
pub fn sink(host: &str) -> String {
    format!("sink-{host}")
}

/// From a sink host of a dumbbell back to its router.
#[must_use]
pub fn sink_back(host: &str) -> String {
    format!("sink-{host}/back")
}

/// From router `number`, from 1, of a chain to the next, or to the sink.
#[must_use]
pub fn hop(number: u32) -> String {
    format!("hop-{number}")
}

/// The way back of [`hop`].
#[must_use]
pub fn hop_back(number: u32) -> String {
    format!("hop-{number}/back")
}

/// A link of a free graph, or of an Ethernet, in the direction from `from` to `to`.
#[must_use]
pub fn graph_link(from: &str, to: &str) -> String {
    format!("{from}->{to}")
}

/// From the multiplexer of an input, from 1, to the switch.
#[must_use]
pub fn switch_input(input: usize) -> String {
    format!("in-{input}")
}

/// From an output of the switch, from 1, to the sinks.
#[must_use]
pub fn switch_output(output: usize) -> String {
    format!("out-{output}")
}

/// The way of a flow's ACKs back around the switch.
#[must_use]
pub fn back(flow: &str) -> String {
    format!("back-{flow}")
}

/// The switch of the topology that has only one.
pub const SWITCH: &str = "switch";

/// Rate of the slowest of these links; `None` if there is none of them.
#[must_use]
pub fn slowest(spec: &ScenarioSpec, links: &[String]) -> Option<Rate> {
    let all = Plan::new(spec, spec.seed).links;
    all.into_iter().filter(|candidate| links.contains(&candidate.name)).map(|link| link.spec.rate).min()
}

/// Names of all flows, group after group.
pub fn flows(spec: &ScenarioSpec) -> impl Iterator<Item = String> {
    spec.flows.iter().flat_map(|group| flows_of(spec, group))
}

/// Names of a group's flows.
pub fn flows_of<'a>(spec: &'a ScenarioSpec, group: &'a FlowGroup) -> Box<dyn Iterator<Item = String> + 'a> {
    match (&group.transport, &spec.topology) {
        (Transport::Cells(_), Topology::Switch(switch)) => {
            Box::new(pairs(switch).map(|(input, output, _)| cell_flow(&group.name, input, output)))
        }
        (Transport::Frames(_), topology) => {
            let Some(lan) = topology.lan() else { return Box::new(std::iter::empty()) };
            let generators = lan.generators(group);
            let pairs = generators.into_iter().flat_map(|it| it.to.into_iter().map(move |to| (it.from, to)));
            Box::new(pairs.map(move |(from, to)| frame_flow(&lan, group, from, to)))
        }
        _ => Box::new((0..group.flows()).map(|index| group.flow_name(index))),
    }
}

/// The cells of `group` from an input to an output, both from 0.
#[must_use]
pub fn cell_flow(group: &str, input: usize, output: usize) -> String {
    format!("{group}/{}-{}", input + 1, output + 1)
}

/// The frames of `group` from a node to another.
#[must_use]
pub fn frame_flow(lan: &Lan<'_>, group: &FlowGroup, from: &str, to: &str) -> String {
    let alone = group.generators() == 1 && frame_flows(lan, group) == 1;
    if alone { group.name.clone() } else { format!("{}-{from}-{to}", group.name) }
}

/// How many flows a group of frames has.
fn frame_flows(lan: &Lan<'_>, group: &FlowGroup) -> u64 {
    let each = if group.to.as_ref().is_some_and(OneOrMany::is_others) {
        // A source is none of the others.
        lan.nodes.len().saturating_sub(1)
    } else {
        1
    };
    (group.generators() as u64).saturating_mul(each as u64)
}

/// The pairs of ports, from 0, that the load of `switch` uses, and the part of the input's line that goes there.
pub fn pairs(switch: &SwitchTopology) -> impl Iterator<Item = (usize, usize, f64)> {
    let ports = switch.ports as usize;
    let matrix = switch.load_matrix().ok();
    (0..ports * ports).filter_map(move |at| {
        let (input, output) = (at / ports, at % ports);
        let share = matrix.as_ref()?.load(input, output);
        (share > 0.0).then_some((input, output, share))
    })
}

/// Number of all flows.
#[must_use]
pub fn flow_count(spec: &ScenarioSpec) -> u64 {
    spec.flows.iter().map(|group| count_of(spec, group)).sum()
}

/// Number of a group's flows.
#[must_use]
pub fn count_of(spec: &ScenarioSpec, group: &FlowGroup) -> u64 {
    match (&group.transport, &spec.topology) {
        (Transport::Cells(_), Topology::Switch(switch)) => pairs(switch).count() as u64,
        (Transport::Frames(_), topology) => topology.lan().map_or(0, |lan| frame_flows(&lan, group)),
        _ => u64::from(group.flows()),
    }
}

/// The groups whose flows have hosts of their own: all but cells and those that share the hosts of others.
fn groups_with_hosts(spec: &ScenarioSpec) -> impl Iterator<Item = &FlowGroup> {
    spec.flows.iter().filter(|group| !matches!(group.transport, Transport::Cells(_)) && group.hosts_of.is_none())
}

/// Names of the flows that have hosts of their own.
fn flows_with_hosts(spec: &ScenarioSpec) -> impl Iterator<Item = String> {
    groups_with_hosts(spec).flat_map(|group| flows_of(spec, group))
}

/// Names of all links; each direction is a link. A queue has the name of the link that it feeds.
#[must_use]
pub fn links(spec: &ScenarioSpec) -> Box<dyn Iterator<Item = String> + '_> {
    let both_ways = |host: String| [access(&host), access_back(&host)];
    let sinks_both_ways = |host: String| [sink(&host), sink_back(&host)];
    let trunk = || [BOTTLENECK.to_owned(), REVERSE.to_owned()].into_iter();
    match &spec.topology {
        Topology::Star(_) => Box::new(trunk().chain(flows_with_hosts(spec).flat_map(both_ways))),
        Topology::Dumbbell(dumbbell) => Box::new(
            trunk()
                .chain(hosts(spec, dumbbell.sources).flat_map(both_ways))
                .chain(hosts(spec, dumbbell.sinks).flat_map(sinks_both_ways)),
        ),
        Topology::Chain(chain) => Box::new(
            (1..=chain.hops)
                .flat_map(|number| [hop(number), hop_back(number)])
                .chain(flows_with_hosts(spec).flat_map(both_ways)),
        ),
        Topology::Switch(switch) => Box::new(
            (1..=switch.ports as usize)
                .flat_map(|port| [switch_input(port), switch_output(port)])
                .chain(flows_with_hosts(spec).flat_map(|flow| [access(&flow), back(&flow)])),
        ),
        Topology::Graph(graph) => Box::new(
            graph.links.iter().flat_map(|link| [graph_link(&link.from, &link.to), graph_link(&link.to, &link.from)]),
        ),
        Topology::Ethernet(_) => {
            let cables = spec.topology.lan().map_or_else(Vec::new, |lan| lan.cables);
            let both = |[one, other]: [&str; 2]| [graph_link(one, other), graph_link(other, one)];
            Box::new(cables.into_iter().flat_map(move |cable| both(cable.ends)))
        }
    }
}

/// Number of all links.
#[must_use]
pub fn link_count(spec: &ScenarioSpec) -> u64 {
    let flows = groups_with_hosts(spec).map(|group| count_of(spec, group)).sum::<u64>();
    let hosts = |count| match count {
        HostCount::PerFlow => flows,
        HostCount::Hosts(number) => u64::from(number),
    };
    match &spec.topology {
        Topology::Star(_) => 2 + 2 * flows,
        Topology::Dumbbell(dumbbell) => 2 + 2 * hosts(dumbbell.sources) + 2 * hosts(dumbbell.sinks),
        Topology::Chain(chain) => 2 * u64::from(chain.hops) + 2 * flows,
        Topology::Switch(switch) => 2 * u64::from(switch.ports) + 2 * flows,
        Topology::Graph(graph) => 2 * graph.links.len() as u64,
        Topology::Ethernet(ethernet) => 2 * (ethernet.nodes().count() + ethernet.trunks.len()) as u64,
    }
}

/// The hosts of one side of a dumbbell, as [`access`] and [`sink`] take them.
fn hosts(spec: &ScenarioSpec, count: HostCount) -> Box<dyn Iterator<Item = String> + '_> {
    match count {
        HostCount::PerFlow => Box::new(flows_with_hosts(spec)),
        HostCount::Hosts(number) => Box::new((0..number).map(|host| host.to_string())),
    }
}
