//! How much memory a run takes, estimated before it takes any.
//!
//! Each part of a network takes a constant that was measured; `tests/memory.rs` runs scenarios of all kinds and
//! compares. The number of parts follows from the scenario. The data in buffers is bounded by the windows of the flows,
//! the limits of the queues and the rates of the sources.

mod waiting;

use forebay_engine::{Packet, RunError, available_memory};
use forebay_qdisc::Queue;
use forebay_units::Rate;

use crate::load::Scenario;
use crate::names;
use crate::schema::{
    Application, Fabric, Graph, HostCount, LinkSpec, NodeKind, QueueSpec, ScenarioSpec, SeriesKind, Switch, Topology,
    Transport,
};

/// The program with its libraries.
const PROGRAM: f64 = 8e6;
/// Both ends of a flow, its way, its books, its results and its name. Its data in flight is added.
const TCP_FLOW: f64 = 2_300.0;
const UDP_FLOW: f64 = 1_700.0;
const CELL_FLOW: f64 = 1_300.0;
const FRAME_FLOW: f64 = 1_500.0;
/// A link with its books, its results and its name.
const LINK: f64 = 400.0;
/// A queue with its books and results, but for its discipline's state.
const QUEUE: f64 = 1_100.0;
/// The memory of a queue for each flow, in both directions, from the first to the last that it has seen, and the row of
/// results of a flow that it has seen.
const ROW: f64 = 160.0;
const RESULT_ROW: f64 = 100.0;
/// A packet on its way, in rings that double as they grow. It is part of a window, which is on several links at once,
/// or of an Ethernet. Or it comes from a source that does not wait for answers, and is in flight or waits for a slower
/// link.
const PACKET_ON_ITS_WAY: f64 = 90.0;
const PACKET_SENT_UNASKED: f64 = 35.0;
/// A switch of an Ethernet, or an adapter, with its links; and what each has for any flow of the network.
const STATION: f64 = 6_000.0;
const SWITCH_WAY: f64 = 16.0;
const ADAPTER_WAY: f64 = 4.0;
/// A sample, and a series without its samples.
const SAMPLE: f64 = 8.0;
const SERIES: f64 = 250.0;
/// Gauges that a queue has for a flow.
const FLOW_GAUGES: f64 = 3.0;
/// A trace with its buffer.
const TRACE: f64 = 10_000.0;

/// The users of memory, with their bytes.
struct Part {
    what: String,
    bytes: f64,
}

/// Refuses a run that would take more memory than the system says is available.
///
/// # Errors
/// With what it would take and what there is.
pub(crate) fn check(scenario: &Scenario) -> Result<(), RunError> {
    available_memory().map_or(Ok(()), |available| check_within(scenario.spec(), available as f64))
}

fn check_within(spec: &ScenarioSpec, available: f64) -> Result<(), RunError> {
    let mut parts = parts(spec);
    let total: f64 = parts.iter().map(|part| part.bytes).sum();
    if total <= available {
        return Ok(());
    }
    parts.sort_by(|a, b| b.bytes.total_cmp(&a.bytes));
    let large = parts.iter().filter(|part| part.bytes > 0.1 * total);
    let listed: Vec<String> = large.map(|part| format!("{} need about {}", part.what, text(part.bytes))).collect();
    Err(RunError::TooLarge(format!(
        "the run needs about {} of memory, and {} is available\n{}\nhint: reduce their number, or run it on a \
         machine with more memory",
        text(total),
        text(available),
        listed.join("; ")
    )))
}

/// About how much memory the process takes that runs `scenario`, at its peak, in bytes; without what is done with the
/// results.
#[must_use]
pub fn memory_estimate(scenario: &Scenario) -> f64 {
    parts(scenario.spec()).iter().map(|part| part.bytes).sum()
}

fn parts(spec: &ScenarioSpec) -> Vec<Part> {
    let queues = queues(spec);
    let mut parts = vec![Part { what: "program and libraries".into(), bytes: PROGRAM }];
    let mut add = |count: f64, what: &str, bytes: f64| {
        if bytes > 0.0 {
            parts.push(Part { what: format!("{} {what}", grouped(count)), bytes });
        }
    };
    for (what, count, bytes) in flows(spec) {
        add(count, what, count * bytes);
    }
    let links = names::link_count(spec) as f64;
    add(links, "links", links * LINK);
    let count: f64 = queues.iter().map(|queues| queues.count).sum();
    add(count, "queues", queues.iter().map(Queues::bytes).sum());
    let (on_their_way, unasked) = waiting::packets(spec);
    let bytes = on_their_way * PACKET_ON_ITS_WAY + unasked * PACKET_SENT_UNASKED;
    add(on_their_way + unasked, "packets on their way and in buffers", bytes);
    if let Some(lan) = spec.topology.lan() {
        let (switches, adapters) = (lan.switches.len() as f64, lan.nodes.len() as f64);
        let ways = (switches * SWITCH_WAY + adapters * ADAPTER_WAY) * names::flow_count(spec) as f64;
        add(switches + adapters, "switches and adapters", (switches + adapters) * STATION + ways);
    }
    let (series, samples) = samples(spec, &queues);
    add(samples, "samples of `[probes]`", samples * SAMPLE + series * SERIES);
    let traces = spec.traces.len() as f64;
    add(traces, "traces", traces * TRACE);
    parts
}

/// Of each kind of flow: its name, how many there are, and the bytes of one.
fn flows(spec: &ScenarioSpec) -> [(&'static str, f64, f64); 4] {
    let mut kinds = [
        ("TCP flows", TCP_FLOW),
        ("UDP flows", UDP_FLOW),
        ("flows of cells", CELL_FLOW),
        ("flows of frames", FRAME_FLOW),
    ]
    .map(|(what, bytes)| (what, 0.0, bytes));
    for group in &spec.flows {
        let kind = match group.transport {
            Transport::Tcp(_) => 0,
            Transport::Udp(_) => 1,
            Transport::Cells(_) => 2,
            Transport::Frames(_) => 3,
        };
        // Requests and responses are a flow each.
        let each = if matches!(group.app, Application::RequestResponse(_)) { 2.0 } else { 1.0 };
        kinds[kind].1 += names::count_of(spec, group) as f64 * each;
    }
    kinds
}

/// Queues that are alike.
struct Queues {
    count: f64,
    /// How many flows each sees, and how many are between the first and the last of them.
    flows: f64,
    span: f64,
    state_bytes: f64,
    gauges: f64,
}

impl Queues {
    /// For this many links with this queue; `None` if it is not described.
    fn of_link(link: &LinkSpec, count: f64, (flows, span): (f64, f64)) -> Option<Self> {
        let (state_bytes, gauges) = measured(link.queue.as_deref()?, link.rate);
        Some(Self { count, flows, span, state_bytes, gauges })
    }

    /// The inputs of switches.
    fn of_inputs(count: f64, flows: f64, span: f64) -> Self {
        Self { count, flows, span, state_bytes: 0.0, gauges: 0.0 }
    }

    fn bytes(&self) -> f64 {
        self.count * (QUEUE + self.state_bytes + self.span * ROW + self.flows * RESULT_ROW)
    }
}

/// Bytes of the discipline's state as it is at first, and the number of its gauges.
fn measured(queue: &QueueSpec, rate: Rate) -> (f64, f64) {
    let mut gauges = 0.0;
    let mut count = |_: &'static str, _: f64| gauges += 1.0;
    // Validation has built every queue once before.
    let state_bytes = match queue.build_in::<Packet>(&mut Switch::of_stand_ins(), rate, 0) {
        Ok(Queue::Law(law)) => {
            law.gauges(&mut count);
            law.state_bytes()
        }
        Ok(Queue::Discipline(discipline)) => {
            discipline.gauges(&mut count);
            discipline.state_bytes()
        }
        Err(_) => 0,
    };
    (state_bytes as f64, gauges)
}

/// All queues with books.
fn queues(spec: &ScenarioSpec) -> Vec<Queues> {
    let flows = names::flow_count(spec) as f64;
    let all = (flows, flows);
    let one = (1.0, 1.0);
    let mut found = Vec::new();
    let mut own_access = 0.0;
    for group in &spec.flows {
        if let Some(access) = &group.access {
            own_access += f64::from(group.flows());
            found.extend(Queues::of_link(access, f64::from(group.flows()), one));
        }
    }
    let with_access = flows - own_access;
    match &spec.topology {
        Topology::Star(star) => {
            found.extend(Queues::of_link(&star.access, with_access, one));
            found.extend(Queues::of_link(&star.bottleneck, 1.0, all));
            found.extend(star.reverse.as_ref().and_then(|reverse| Queues::of_link(reverse, 1.0, all)));
        }
        Topology::Dumbbell(dumbbell) => {
            let sinks = dumbbell.sink_access.as_ref().unwrap_or(&dumbbell.access);
            for (link, hosts, own) in
                [(&dumbbell.access, dumbbell.sources, with_access), (sinks, dumbbell.sinks, flows)]
            {
                let (count, of_each) = match hosts {
                    HostCount::PerFlow => (own, one),
                    HostCount::Hosts(hosts) => (f64::from(hosts), (flows / f64::from(hosts.max(1)), flows)),
                };
                found.extend(Queues::of_link(link, count, of_each));
            }
            found.extend(Queues::of_link(&dumbbell.bottleneck, 1.0, all));
            found.extend(dumbbell.reverse.as_ref().and_then(|reverse| Queues::of_link(reverse, 1.0, all)));
        }
        Topology::Chain(chain) => {
            found.extend(Queues::of_link(&chain.access, with_access, one));
            found.extend(Queues::of_link(&chain.link, f64::from(chain.hops), all));
        }
        Topology::Switch(switch) => {
            let ports = f64::from(switch.ports);
            let of_port = (flows / ports, flows);
            found.extend(switch.access.as_ref().and_then(|access| Queues::of_link(access, with_access, one)));
            found.extend(switch.back.as_ref().and_then(|back| Queues::of_link(back, flows, one)));
            for link in [&switch.input, &switch.output] {
                found.extend(Queues::of_link(link, ports, of_port));
            }
            if !matches!(switch.fabric, Fabric::OutputQueued) {
                found.push(Queues::of_inputs(ports, of_port.0, flows));
            }
        }
        Topology::Graph(graph) if spec.topology.lan().is_none() => of_graph(graph, flows, &mut found),
        Topology::Graph(_) | Topology::Ethernet(_) => {
            // Each output of a switch; its rows are those of its flows alone. It has a gauge or two of its scheme's.
            let outputs = names::link_count(spec) as f64;
            let of_each = 2.0 * flows / outputs;
            found.push(Queues { count: outputs, flows: of_each, span: of_each, state_bytes: 0.0, gauges: 2.0 });
        }
    }
    found
}

/// Which flows take which link of a graph is not looked at: a link sees as many as if all took three links each.
fn of_graph(graph: &Graph, flows: f64, found: &mut Vec<Queues>) {
    let directions = 2.0 * graph.links.len() as f64;
    let of_each = (3.0 * flows / directions).min(flows);
    let sees = (of_each, if of_each > 2.0 { flows } else { of_each });
    for link in &graph.links {
        found.extend([link.forward(), link.backward()].iter().filter_map(|line| Queues::of_link(line, 1.0, sees)));
    }
    for node in &graph.nodes {
        if matches!(node.kind, NodeKind::Cioq(_) | NodeKind::InputQueued(_)) {
            let ports = graph.links.iter().filter(|link| link.from == node.name || link.to == node.name).count();
            found.push(Queues::of_inputs(ports as f64, sees.0, sees.1));
        }
    }
}

/// How many series there are, and how many samples they have together.
fn samples(spec: &ScenarioSpec, queues: &[Queues]) -> (f64, f64) {
    let Some(probes) = &spec.probes else { return (0.0, 0.0) };
    let intervals = spec.duration.picoseconds() / probes.interval.picoseconds().max(1);
    let of_kind = |kind: &SeriesKind| match kind {
        SeriesKind::Queues => queues.iter().map(|queues| queues.count * (3.0 + queues.gauges)).sum(),
        SeriesKind::Flows => 3.0 * names::flow_count(spec) as f64,
        SeriesKind::Links => names::link_count(spec) as f64,
    };
    let of_gauges = probes.flow_gauges.iter().flat_map(|gauges| &gauges.flows).map(|name| {
        let group = spec.flows.iter().find(|group| group.name == *name);
        FLOW_GAUGES * group.map_or(1.0, |group| names::count_of(spec, group) as f64)
    });
    let series = probes.series.iter().map(of_kind).sum::<f64>() + of_gauges.sum::<f64>();
    (series, series * intervals as f64)
}

/// A number of bytes for people.
fn text(bytes: f64) -> String {
    let (scaled, unit) = [(1e3, "KB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")]
        .into_iter()
        .rev()
        .find(|(unit, _)| bytes >= *unit)
        .map_or((bytes, "B"), |(unit, name)| (bytes / unit, name));
    if scaled < 10.0 { format!("{scaled:.1} {unit}") } else { format!("{} {unit}", grouped(scaled)) }
}

/// A count with its thousands apart.
fn grouped(count: f64) -> String {
    let digits = format!("{count:.0}");
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
#[path = "memory/tests.rs"]
mod tests;
