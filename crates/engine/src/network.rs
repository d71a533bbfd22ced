//! Building a network: links, flows and their paths, then processes and lanes.

use std::collections::BTreeMap;
use std::rc::Rc;

use forebay_qdisc::{Queue, Span, Time};

use crate::crossbar::Crossbar;
use crate::driver::node::Node;
use crate::driver::progress::Progress;
use crate::driver::rounds::Rounds;
use crate::driver::routes::Routes;
use crate::driver::windows::Windows;
use crate::error::RunError;
use crate::ethernet::assembly::{Ethernet, Surroundings};
use crate::host::endpoint::Endpoint;
use crate::host::endpoints::Endpoints;
use crate::host::hosts::{HostParts, NONE, hosts};
use crate::layout::{self, EndpointId, HostPlan, Layout, Place};
use crate::link::Wire;
use crate::observe::handed_in::FlowLabel;
use crate::observe::interval::{Checkpoints, MeasuredInterval};
use crate::observe::meter::{Meter, peak_rss_bytes};
use crate::observe::queue_book::{Books, QueueBook};
use crate::observe::queue_series::{QueueSeries, WatchedFlow};
use crate::observe::report::Report;
use crate::observe::results::RunResult;
use crate::observe::trace::{TracedFlow, Tracer};
use crate::packet::Packet;
use crate::rng::stream;
use crate::router::law_port::LawPort;
use crate::router::plain_port::PlainPort;
use crate::router::queue_port::QueuePort;
use crate::router::shared_ports::SharedPorts;
use crate::spec::{
    AdapterSpec, Application, EthernetSwitchSpec, FabricId, FabricSpec, FlowSpec, LinkId, LinkSpec, Probes, Transport,
};

/// Collects links and flows; [`NetworkBuilder::build`] makes the network.
pub struct NetworkBuilder {
    seed: u64,
    measured: MeasuredInterval,
    probes: Probes,
    links: Vec<LinkSpec>,
    fabrics: Vec<FabricSpec>,
    switches: Vec<EthernetSwitchSpec>,
    adapters: Vec<AdapterSpec>,
    flows: Vec<FlowSpec>,
}

impl NetworkBuilder {
    /// A network without anything, to be run until `end` and measured from `warmup` on.
    #[must_use]
    pub fn new(seed: u64, warmup: Time, end: Time, probes: Probes) -> Self {
        Self {
            seed,
            measured: MeasuredInterval { from: warmup, to: end },
            probes,
            links: Vec::new(),
            fabrics: Vec::new(),
            switches: Vec::new(),
            adapters: Vec::new(),
            flows: Vec::new(),
        }
    }

    /// Adds one direction of a link.
    pub fn add_link(&mut self, link: LinkSpec) -> LinkId {
        self.links.push(link);
        self.links.len() as LinkId - 1
    }

    /// Adds the fabric of a switch, between the links that lead to its inputs and those that name it.
    pub fn add_fabric(&mut self, fabric: FabricSpec) -> FabricId {
        self.fabrics.push(fabric);
        self.fabrics.len() as FabricId - 1
    }

    /// Adds an Ethernet switch. Its links, which have no queues of their own, are there already.
    pub fn add_ethernet_switch(&mut self, switch: EthernetSwitchSpec) {
        self.switches.push(switch);
    }

    /// Adds the adapter of a node, in front of an Ethernet switch or of another adapter. Its links are there already.
    pub fn add_adapter(&mut self, adapter: AdapterSpec) {
        self.adapters.push(adapter);
    }

    /// Adds a flow. A request/response flow becomes two: its requests travel as a flow of their own, named
    /// `NAME/request`.
    pub fn add_flow(&mut self, flow: FlowSpec) {
        let request = match &flow.transport {
            Transport::Tcp { application: Application::RequestResponse { .. }, .. } => Some(FlowSpec {
                name: format!("{}/request", flow.name),
                group: format!("{}/request", flow.group),
                transport: flow.transport.clone(),
                forward: flow.backward.clone(),
                backward: flow.forward.clone(),
                ..flow
            }),
            _ => None,
        };
        self.flows.push(flow);
        self.flows.extend(request);
    }

    /// How many flows there are; the next one added gets this index.
    #[must_use]
    pub fn flow_count(&self) -> u32 {
        self.flows.len() as u32
    }

    /// Makes the nodes and what lies between them.
    ///
    /// # Errors
    /// If the file of a trace cannot be created.
    pub fn build(self) -> Result<Network, RunError> {
        let (measured, sampling_interval) = (self.measured, self.probes.interval);
        let report = Report::new(measured, self.flows.iter().map(label).collect());
        let driver = if self.switches.is_empty() && self.adapters.is_empty() {
            Driver::Windows(Box::new(self.windows()?))
        } else {
            Driver::Rounds(Box::new(self.rounds()?))
        };
        Ok(Network { driver, report, measured, sampling_interval })
    }

    /// The nodes of an Ethernet. It is all that there is: every link leads from node to node.
    fn rounds(self) -> Result<Rounds, RunError> {
        let Self { seed, measured, probes, links, fabrics, switches, adapters, flows } = self;
        let traced: Rc<[TracedFlow]> = traced_flows(&flows, links.len());
        let mut wires = Vec::with_capacity(links.len());
        let ethernet = Ethernet::new(switches, adapters, &links)?;
        for (link, number) in links.into_iter().zip(0..) {
            let (wire, queue) = wire(number, link, seed, measured, probes, &traced)?;
            if queue.is_some() || !fabrics.is_empty() {
                return Err(RunError::Invariant("a queue or a fabric in an Ethernet".into()));
            }
            wires.push(wire);
        }
        ethernet.build(&Surroundings { flows: &flows, seed, measured, probes }, wires)
    }

    /// Nodes, and what lies between them.
    fn windows(self) -> Result<Windows, RunError> {
        let Self { seed, measured, probes, links, fabrics, flows, .. } = self;
        let sampled = probes.flows && probes.interval.is_some();
        let mut endpoints = Endpoints {
            seed,
            checkpoints: Checkpoints::new(Some(measured.from), probes.interval.filter(|_| sampled)),
            sampled,
            made: Vec::new(),
            ends: Vec::new(),
        };
        let mut index = 0;
        while index < flows.len() {
            index += endpoints.add(&flows, index)?;
        }
        let Endpoints { made, ends, .. } = endpoints;
        let mut ways = Vec::with_capacity(2 * flows.len());
        for (flow, &ends) in flows.iter().zip(&ends) {
            ways.extend(layout::ways(flow, ends)?);
        }
        let layout = Layout::new(&links, fabrics.len(), made.len(), &ways);
        let ends: Vec<Option<EndpointId>> = ways.iter().map(|way| way.as_ref().map(|way| way.to)).collect();
        check_lengths(&flows, &links)?;
        let packet_time = links.iter().map(|link| link.rate.transmission_time(1000)).min().unwrap_or(Span::ZERO);
        let outputs: Vec<Option<(FabricId, u8)>> = links.iter().map(|link| link.fabric).collect();
        let traced: Rc<[TracedFlow]> = traced_flows(&flows, links.len());
        let mut nodes: Vec<Option<Box<dyn Node>>> = Vec::new();
        let (mut shared, mut shared_node) = (Vec::new(), 0);
        let mut of_hosts: BTreeMap<LinkId, Wire> = BTreeMap::new();
        for (link, number) in links.into_iter().zip(0..) {
            let shares_state = link.shares_state;
            let (wire, queue) = wire(number, link, seed, measured, probes, &traced)?;
            match (layout.places[number as usize], queue) {
                (Place::Node(node), Some(queue)) if shares_state => {
                    shared_node = node as usize;
                    shared.push((number, shared_port(wire, queue, measured, probes)));
                    nodes.resize_with(nodes.len().max(shared_node + 1), || None);
                }
                (Place::Node(_), Some(queue)) => nodes.push(Some(port(wire, queue, measured, probes))),
                (Place::Node(_), None) => nodes.push(Some(Box::new(PlainPort::new(wire)))),
                (Place::Downlink | Place::Uplink, _) => {
                    of_hosts.insert(number, wire);
                }
            }
        }
        if !shared.is_empty() {
            nodes[shared_node] = Some(Box::new(SharedPorts::new(shared)));
        }
        for (fabric, number) in fabrics.into_iter().zip(0..) {
            nodes.push(Some(Box::new(crossbar(fabric, number, &outputs, &flows, seed, measured, probes))));
        }
        let mut made: Vec<Option<Endpoint>> = made.into_iter().map(Some).collect();
        for group in layout.groups {
            nodes.push(Some(hosts_of(group, &mut made, &mut of_hosts, &ends)));
        }
        let nodes: Vec<Box<dyn Node>> = nodes.into_iter().flatten().collect();
        Windows::new(nodes, &layout.lanes, Routes::new(&layout.routes), packet_time, measured)
    }
}

/// A packet counts the links and switches that it has crossed.
fn check_lengths(flows: &[FlowSpec], links: &[LinkSpec]) -> Result<(), RunError> {
    let crossed = |path: &[LinkId]| {
        let fabrics = path.iter().skip(1).filter(|&&link| links[link as usize].fabric.is_some()).count();
        path.len() + fabrics
    };
    for flow in flows {
        let processes = crossed(&flow.forward).max(crossed(&flow.backward));
        if processes >= usize::from(u8::MAX) {
            return Err(RunError::PathTooLong { flow: flow.name.clone(), processes });
        }
    }
    Ok(())
}

/// The hosts of a group, with their endpoints and links. `ends` has the endpoint that packets of each (flow, direction)
/// come to.
fn hosts_of(
    group: Vec<HostPlan>,
    made: &mut [Option<Endpoint>],
    of_hosts: &mut BTreeMap<LinkId, Wire>,
    ends: &[Option<EndpointId>],
) -> Box<dyn Node> {
    let mut seats: BTreeMap<EndpointId, (u32, u32)> = BTreeMap::new();
    let mut parts = Vec::with_capacity(group.len());
    for (plan, host) in group.into_iter().zip(0..) {
        seats.extend(plan.endpoints.iter().zip(0..).map(|(&endpoint, seat)| (endpoint, (host, seat))));
        parts.push(HostParts {
            downlink: plan.downlink.and_then(|link| of_hosts.remove(&link)),
            uplink: plan.uplink.and_then(|link| of_hosts.remove(&link)),
            distance: plan.distance,
            endpoints: plan.endpoints.iter().filter_map(|&endpoint| made[endpoint as usize].take()).collect(),
        });
    }
    let seat = |end: &Option<EndpointId>| end.and_then(|end| seats.get(&end).copied());
    let first = ends.iter().position(|end| seat(end).is_some()).unwrap_or(0);
    let last = ends.iter().rposition(|end| seat(end).is_some()).map_or(first, |last| last + 1);
    let of_direction: Vec<(u32, u32)> = ends[first..last].iter().map(|end| seat(end).unwrap_or((NONE, NONE))).collect();
    hosts(parts, first, &of_direction)
}

/// A network that is ready to run.
pub struct Network {
    driver: Driver,
    report: Report,
    measured: MeasuredInterval,
    sampling_interval: Option<Span>,
}

/// What runs it.
enum Driver {
    Windows(Box<Windows>),
    Rounds(Box<Rounds>),
}

impl Network {
    /// Runs to the end. `control` is called now and then with the part of the run that is done; it answers whether to
    /// go on.
    ///
    /// # Errors
    /// If `control` stops the run, a trace cannot be written, or the books do not balance.
    pub fn run(self, control: &mut dyn FnMut(f64) -> bool) -> Result<RunResult, RunError> {
        self.run_by(control, Windows::run, Rounds::run)
    }

    /// As [`Network::run`], with everything in the order of the global clock: the same results, slower.
    ///
    /// # Errors
    /// As [`Network::run`].
    #[cfg(feature = "oracle")]
    #[doc(hidden)]
    pub fn run_in_order(self, control: &mut dyn FnMut(f64) -> bool) -> Result<RunResult, RunError> {
        self.run_by(control, Windows::run_in_order, |rounds, progress| {
            rounds.in_order();
            rounds.run(progress)
        })
    }

    fn run_by(
        self,
        control: &mut dyn FnMut(f64) -> bool,
        run_windows: fn(&mut Windows, &mut Progress<'_>) -> Result<(), RunError>,
        run_rounds: fn(&mut Rounds, &mut Progress<'_>) -> Result<(), RunError>,
    ) -> Result<RunResult, RunError> {
        let Self { driver, mut report, measured, sampling_interval } = self;
        let meter = Meter::start();
        let mut progress = Progress::new(control, measured.to);
        match driver {
            Driver::Windows(driver) => {
                let mut driver = *driver;
                run_windows(&mut driver, &mut progress)?;
                driver.finish(&mut report);
            }
            Driver::Rounds(driver) => {
                let mut driver = *driver;
                run_rounds(&mut driver, &mut progress)?;
                driver.finish(&mut report);
            }
        }
        let mut result = report.close(sampling_interval)?;
        result.engine.events = progress.events;
        result.engine.cpu_s = meter.cpu_s();
        result.engine.peak_rss_bytes = peak_rss_bytes();
        Ok(result)
    }
}

fn label(flow: &FlowSpec) -> FlowLabel {
    let kind = match flow.transport {
        Transport::Tcp { .. } => "tcp",
        Transport::Udp { .. } => "udp",
        Transport::Cells { .. } => "cells",
        Transport::Frames { .. } => "frames",
    };
    FlowLabel { name: flow.name.clone(), group: flow.group.clone(), kind }
}

fn traced_flow(transport: &Transport) -> TracedFlow {
    match transport {
        Transport::Tcp { config, .. } => TracedFlow { is_tcp: true, header_bytes: config.header_bytes() as u16 },
        Transport::Udp { header_bytes, .. } => TracedFlow { is_tcp: false, header_bytes: *header_bytes },
        Transport::Cells { .. } | Transport::Frames { .. } => TracedFlow { is_tcp: false, header_bytes: 0 },
    }
}

/// What a trace has to know of each flow, those of control frames among them.
fn traced_flows(flows: &[FlowSpec], links: usize) -> Rc<[TracedFlow]> {
    let control = std::iter::repeat_n(TracedFlow { is_tcp: false, header_bytes: 0 }, flows.len() + links.div_ceil(2));
    flows.iter().map(|flow| traced_flow(&flow.transport)).chain(control).collect()
}

/// The fabric `number`, with books for each of its inputs.
fn crossbar(
    fabric: FabricSpec,
    number: FabricId,
    outputs: &[Option<(FabricId, u8)>],
    flows: &[FlowSpec],
    seed: u64,
    measured: MeasuredInterval,
    probes: Probes,
) -> Crossbar {
    // A path without loops crosses a fabric once, in each direction.
    let crossing = |links: &[LinkId]| {
        links.iter().find_map(|&link| outputs[link as usize].filter(|&(id, _)| id == number)).map_or(0, |(_, to)| to)
    };
    let outputs = flows.iter().flat_map(|flow| [crossing(&flow.forward), crossing(&flow.backward)]).collect();
    let sampled = probes.queues && probes.interval.is_some();
    let books = |input: usize| {
        let rng = stream(seed, &format!("switch/{}/input/{input}", fabric.name));
        let mut books = Books::new(fabric.inputs.name().to_owned(), QueueBook::new(measured), rng);
        books.series = sampled.then(QueueSeries::default);
        books
    };
    let books = (0..fabric.ports).map(books).collect();
    let rng = stream(seed, &format!("switch/{}", fabric.name));
    let checkpoints = Checkpoints::new(Some(measured.from), probes.interval.filter(|_| sampled));
    Crossbar::new(fabric, books, outputs, rng, checkpoints)
}

/// The queue of a port, with its books.
struct BookedQueue {
    queue: Queue<Packet>,
    books: Books,
}

/// The link itself, and the queue at its sending end if one is described.
fn wire(
    number: LinkId,
    link: LinkSpec,
    seed: u64,
    measured: MeasuredInterval,
    probes: Probes,
    traced: &Rc<[TracedFlow]>,
) -> Result<(Wire, Option<BookedQueue>), RunError> {
    let LinkSpec { name, rate, propagation, queue, loss, far_input_port, trace, watched_flows, .. } = link;
    let path = format!("link/{name}");
    let tracer = trace.map(|trace| Tracer::open(trace, &name, Rc::clone(traced))).transpose()?;
    let mut wire = Wire::new(number, name, rate, propagation, far_input_port);
    wire.set_loss(loss, stream(seed, &format!("{path}/loss")));
    if let Some(tracer) = tracer {
        wire.set_tracer(tracer);
    }
    if probes.links {
        wire.sample_utilization(queue.is_none().then(|| Checkpoints::new(None, probes.interval)));
    }
    let queue = queue.map(|(discipline, queue)| {
        let mut books = Books::new(discipline, QueueBook::new(measured), stream(seed, &path));
        books.series = probes.queues.then(QueueSeries::default);
        books.watched = watched_flows.into_iter().map(WatchedFlow::new).collect();
        BookedQueue { queue, books }
    });
    Ok((wire, queue))
}

/// The port with `queue` at the sending end of `wire`.
fn port(wire: Wire, queue: BookedQueue, measured: MeasuredInterval, probes: Probes) -> Box<dyn Node> {
    let BookedQueue { queue, books } = queue;
    let checkpoints = port_checkpoints(&books, measured, probes);
    match queue {
        Queue::Law(law) => Box::new(LawPort::new(wire, checkpoints, books, law)),
        Queue::Discipline(discipline) => Box::new(QueuePort::new(wire, checkpoints, books, discipline)),
    }
}

/// The same of a queue that shares state with others.
fn shared_port(wire: Wire, queue: BookedQueue, measured: MeasuredInterval, probes: Probes) -> QueuePort {
    let BookedQueue { queue, books } = queue;
    let checkpoints = port_checkpoints(&books, measured, probes);
    QueuePort::new(wire, checkpoints, books, queue.into_discipline())
}

/// Of the end of the warm-up a port has to know only what is queued then: it decides about departures ahead of their
/// time, and so keeps its counts by the measured interval itself.
fn port_checkpoints(books: &Books, measured: MeasuredInterval, probes: Probes) -> Checkpoints {
    let sampled = probes.links || probes.queues || !books.watched.is_empty();
    Checkpoints::new(Some(measured.from), probes.interval.filter(|_| sampled))
}
