//! How much memory a run takes, estimated before it takes any.
//!
//! Each part of a network takes a constant that was measured; `tests/memory.rs` runs scenarios of all kinds and
//! compares. The number of parts follows from the scenario. The data in buffers is bounded by the windows of the flows,
//! the limits of the queues and the rates of the sources.

mod recorded;
mod waiting;

use forebay_engine::{Packet, RunError, available_memory};
use forebay_qdisc::Queue;
use forebay_units::Rate;

use crate::applications::Application;
use crate::load::Scenario;
use crate::plan::outline::{Crossed, Links, Outline};
use crate::schema::{FlowGroup, Impairments, LinkSpec, QueueSpec, SeriesKind, Switch, Transport, VOICE_INTERVAL};
use crate::watch::WatchSpec;

/// The program with its libraries.
const PROGRAM: f64 = 8e6;
/// Both ends of a flow, its way, its counters, its results and its name. Its data in flight is added.
const TCP_FLOW: f64 = 2_300.0;
const UDP_FLOW: f64 = 1_700.0;
const CELL_FLOW: f64 = 1_300.0;
const FRAME_FLOW: f64 = 1_500.0;
const RDMA_FLOW: f64 = 2_000.0;
/// A link with its counters, its results and its name.
const LINK: f64 = 400.0;
/// The additional memory of a link with impairments, which is no part of a host.
const IMPAIRED_LINK: f64 = 2_900.0;
/// A queue with its counters and results, but for its discipline's state.
const QUEUE: f64 = 1_100.0;
/// The memory of a queue for each flow, in both directions, with the row of results of a flow. Rows are in order from
/// the first flow to the last that the queue has seen, or scattered, if it has seen fewer than one in
/// [`SCATTERED_BELOW`].
const ROW: f64 = 160.0;
const SCATTERED_ROW: f64 = 260.0;
const SCATTERED_BELOW: f64 = 16.0;
const RESULT_ROW: f64 = 100.0;
/// A packet on its way, in rings that double as they grow. It is part of a window, which is on several links at once,
/// or of an Ethernet. Or it comes from a source that does not wait for answers, and is in flight or waits for a slower
/// link.
const PACKET_ON_ITS_WAY: f64 = 90.0;
const PACKET_SENT_UNASKED: f64 = 35.0;
/// A switch of an Ethernet, or an adapter, with its links; and what each has for any flow of the network.
const ETHERNET_NODE: f64 = 6_000.0;
const SWITCH_WAY: f64 = 16.0;
const ADAPTER_WAY: f64 = 4.0;
/// A sample, and a series without its samples.
const SAMPLE: f64 = 8.0;
const SERIES: f64 = 250.0;
/// Gauges that a queue has for a flow.
const FLOW_GAUGES: f64 = 3.0;
/// Series of a watched sender.
const SENDER_GAUGES: f64 = 11.0;
/// A packet of a call with a jitter buffer, with its delay, in a vector that doubles as it grows.
const CALL_DELAY: f64 = 32.0;
/// The size of a flow, with its place; and how many a slot of transfers has.
const FLOW_SIZE: f64 = 12.0;
const GENERATIONS: f64 = 64.0;
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
pub(crate) fn check(outline: &Outline<'_>, watch: Option<&WatchSpec>) -> Result<(), RunError> {
    available_memory().map_or(Ok(()), |available| check_within(outline, watch, available as f64))
}

fn check_within(outline: &Outline<'_>, watch: Option<&WatchSpec>, available: f64) -> Result<(), RunError> {
    let mut parts = parts(outline, watch);
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
    parts(&Outline::new(scenario.spec()), None).iter().map(|part| part.bytes).sum()
}

/// The same with the events that `watch` asks for.
#[must_use]
pub fn memory_estimate_watched(scenario: &Scenario, watch: &WatchSpec) -> f64 {
    parts(&Outline::new(scenario.spec()), Some(watch)).iter().map(|part| part.bytes).sum()
}

fn parts(outline: &Outline<'_>, watch: Option<&WatchSpec>) -> Vec<Part> {
    let queues = queues(outline);
    let mut parts = vec![Part { what: "program and libraries".into(), bytes: PROGRAM }];
    let mut add = |count: f64, what: &str, bytes: f64| {
        if bytes > 0.0 {
            parts.push(Part { what: format!("{} {what}", grouped(count)), bytes });
        }
    };
    for (what, count, bytes) in flows(outline) {
        add(count, what, count * bytes);
    }
    let links = outline.link_count() as f64;
    add(links, "links", links * LINK);
    let impaired = impaired_links(outline);
    add(impaired, "links with impairments", impaired * IMPAIRED_LINK);
    let count: f64 = queues.iter().map(|queues| queues.count).sum();
    add(count, "queues", queues.iter().map(Queues::bytes).sum());
    let (on_their_way, unasked) = waiting::packets(outline);
    let bytes = on_their_way * PACKET_ON_ITS_WAY + unasked * PACKET_SENT_UNASKED;
    add(on_their_way + unasked, "packets on their way and in buffers", bytes);
    let (switches, adapters) = (outline.ethernet_switches().count() as f64, outline.adapters().count() as f64);
    let ways = (switches * SWITCH_WAY + adapters * ADAPTER_WAY) * outline.flow_count() as f64;
    add(switches + adapters, "switches and adapters", (switches + adapters) * ETHERNET_NODE + ways);
    let (series, samples) = samples(outline, &queues);
    add(samples, "samples of `[probes]`", samples * SAMPLE + series * SERIES);
    let delays = call_delays(outline);
    add(delays, "delays of packets of calls", delays * CALL_DELAY);
    let sizes = stated_sizes(outline);
    add(sizes, "sizes of flows that queues see", sizes * FLOW_SIZE);
    let traces = outline.spec.traces.len() as f64;
    add(traces, "traces", traces * TRACE);
    for (what, count, bytes) in watch.into_iter().flat_map(|watch| recorded::recorded(outline, watch)) {
        add(count, what, count * bytes);
    }
    parts
}

/// How many links lose packets, or change their delays or order.
fn impaired_links(outline: &Outline<'_>) -> f64 {
    let is_impaired = |link: &LinkSpec| {
        let changes_delay = link.service.iter().any(|period| period.delay.is_some());
        link.impairments != Impairments::default() || !link.down.is_empty() || changes_delay
    };
    let impaired = |links| Links::directions(links).filter(|direction| is_impaired(&direction.spec)).count();
    outline.links.iter().map(|links| (outline.count(links) * impaired(links) as u64) as f64).sum()
}

/// Of each kind of flow: its name, how many there are, and the bytes of one.
fn flows(outline: &Outline<'_>) -> [(&'static str, f64, f64); 5] {
    let mut kinds = [
        ("TCP flows", TCP_FLOW),
        ("UDP flows", UDP_FLOW),
        ("flows of cells", CELL_FLOW),
        ("flows of frames", FRAME_FLOW),
        ("RDMA flows", RDMA_FLOW),
    ]
    .map(|(what, bytes)| (what, 0.0, bytes));
    for group in &outline.spec.flows {
        let kind = match group.transport {
            Transport::Tcp(_) => 0,
            Transport::Udp(_) => 1,
            Transport::Cells(_) => 2,
            Transport::Frames(_) => 3,
            _ => 4,
        };
        kinds[kind].1 += outline.count_of(group) as f64 * f64::from(group.flows_each());
    }
    kinds
}

/// Sizes of flows, where queues rank packets by them: one, or one for each generation of a slot of transfers.
fn stated_sizes(outline: &Outline<'_>) -> f64 {
    let needs_them = |links: &Links<'_>| {
        links.directions().any(|direction| direction.spec.queue.as_ref().is_some_and(|queue| queue.needs_senders()))
    };
    if !outline.links.iter().any(needs_them) {
        return 0.0;
    }
    let of_group = |group: &FlowGroup| match group.app {
        Application::Transfers(_) => outline.count_of(group) as f64 * f64::from(group.flows_each()) * GENERATIONS,
        _ => outline.count_of(group) as f64 * f64::from(group.flows_each()),
    };
    outline.spec.flows.iter().map(of_group).sum()
}

/// Packets of the calls with a jitter buffer.
fn call_delays(outline: &Outline<'_>) -> f64 {
    let is_buffered = |group: &&FlowGroup| match &group.transport {
        Transport::Udp(udp) => udp.call().is_some_and(|call| call.jitter_buffer.is_some()),
        _ => false,
    };
    let groups = outline.spec.flows.iter().filter(is_buffered);
    let calls: f64 = groups.map(|group| outline.count_of(group) as f64).sum();
    calls * outline.spec.duration.seconds() / VOICE_INTERVAL.seconds()
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
    /// `count` queues of a network with so many flows and links.
    fn new(count: f64, crossed: Crossed, all: f64, links: f64) -> Self {
        let (flows, span) = match crossed {
            Crossed::One => (1.0, 1.0),
            Crossed::Part => (all / count.max(1.0), all),
            Crossed::Few => {
                let of_each = (3.0 * all / links).min(all);
                (of_each, if of_each > 2.0 { all } else { of_each })
            }
            Crossed::All => (all, all),
        };
        Self { count, flows, span, state_bytes: 0.0, gauges: 0.0 }
    }

    fn bytes(&self) -> f64 {
        let Self { flows, span, .. } = *self;
        let rows = if flows < span / SCATTERED_BELOW { flows * SCATTERED_ROW } else { span * ROW };
        self.count * (QUEUE + self.state_bytes + rows + flows * RESULT_ROW)
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

/// All queues with counters.
fn queues(outline: &Outline<'_>) -> Vec<Queues> {
    let mut found = Vec::new();
    // Counted once: in a fabric each link is an entry of its own.
    let (flow_count, link_count) = (outline.flow_count() as f64, outline.link_count() as f64);
    let is_of_ethernet = |node: &u32| outline.kind(*node).is_ethernet();
    let outputs = outline.ways().filter(|([from, _], _)| is_of_ethernet(from)).count() as f64;
    if outputs > 0.0 {
        // Each output of a switch; its rows are those of its flows alone. It has a gauge or two of its scheme's.
        let flows = 2.0 * flow_count / outputs;
        found.push(Queues { count: outputs, flows, span: flows, state_bytes: 0.0, gauges: 2.0 });
    }
    for links in outline.links.iter().filter(|links| !links.ends.iter().flatten().any(is_of_ethernet)) {
        let count = outline.count(links) as f64;
        for LinkSpec { queue, rate, .. } in links.directions().map(|direction| &*direction.spec) {
            let Some(queue) = queue else { continue };
            let (state_bytes, gauges) = measured(queue, *rate);
            let queues = Queues::new(count, links.crossed, flow_count, link_count);
            found.push(Queues { state_bytes, gauges, ..queues });
        }
    }
    let crossbars = outline.crossbars.iter();
    let inputs = crossbars.map(|it| Queues::new(it.ports as f64, it.crossed, flow_count, link_count));
    found.extend(inputs);
    found
}

/// How many series there are, and how many samples they have together.
fn samples(outline: &Outline<'_>, queues: &[Queues]) -> (f64, f64) {
    let spec = outline.spec;
    let Some(probes) = &spec.probes else { return (0.0, 0.0) };
    let intervals = spec.duration.picoseconds() / probes.interval.picoseconds().max(1);
    let of_kind = |kind: &SeriesKind| match kind {
        SeriesKind::Queues => queues.iter().map(|queues| queues.count * (3.0 + queues.gauges)).sum(),
        SeriesKind::Flows => 3.0 * outline.flow_count() as f64,
        SeriesKind::Links => outline.link_count() as f64,
    };
    let flows = |name: &String| {
        let group = spec.flows.iter().find(|group| group.name == *name);
        group.map_or(1.0, |group| outline.count_of(group) as f64)
    };
    let of_gauges = probes.flow_gauges.iter().flat_map(|gauges| &gauges.flows).map(|name| FLOW_GAUGES * flows(name));
    let of_senders = probes.senders.iter().map(|name| SENDER_GAUGES * flows(name));
    let series = probes.series.iter().map(of_kind).chain(of_gauges).chain(of_senders).sum::<f64>();
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
