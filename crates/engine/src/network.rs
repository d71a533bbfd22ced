//! Building a network: links, flows and their paths, then processes and lanes.

use std::rc::Rc;

use forebay_qdisc::{Queue, Span, Time};

use crate::crossbar::Crossbar;
use crate::driver::node::Node;
use crate::driver::progress::Progress;
use crate::driver::routes::{RouteRows, Routes};
use crate::driver::windows::Windows;
use crate::error::RunError;
use crate::ethernet::assembly::{Ethernet, Surroundings};
use crate::host::endpoint::Endpoint;
use crate::host::endpoints::{self, Endpoints};
use crate::host::hosts::{HostParts, hosts};
use crate::host::seats::Seats;
use crate::layout::{self, EndpointId, HostPlan, Layout, Place};
use crate::link::Wire;
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
use crate::spec::flows::Flows;
use crate::spec::links::{Link, LinkExtras, Links};
use crate::spec::{
    AdapterSpec, Application, EthernetSwitchSpec, FabricId, FabricSpec, FlowSpec, LinkId, LinkSpec, Probes, Transport,
};

/// Collects links and flows; [`NetworkBuilder::build`] makes the network.
pub struct NetworkBuilder {
    seed: u64,
    measured: MeasuredInterval,
    probes: Probes,
    links: Links,
    fabrics: Vec<FabricSpec>,
    switches: Vec<EthernetSwitchSpec>,
    adapters: Vec<AdapterSpec>,
    flows: Flows,
}

impl NetworkBuilder {
    /// A network without anything, to be run until `end` and measured from `warmup` on.
    #[must_use]
    pub fn new(seed: u64, warmup: Time, end: Time, probes: Probes) -> Self {
        Self {
            seed,
            measured: MeasuredInterval { from: warmup, to: end },
            probes,
            links: Links::default(),
            fabrics: Vec::new(),
            switches: Vec::new(),
            adapters: Vec::new(),
            flows: Flows::default(),
        }
    }

    /// Adds one direction of a link.
    pub fn add_link(&mut self, link: LinkSpec) -> LinkId {
        self.links.add(link)
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
        self.flows.add(flow);
        if let Some(request) = request {
            self.flows.add(request);
        }
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
        let Self { seed, measured, probes, links, fabrics, switches, adapters, flows } = self;
        let sampling_interval = probes.interval;
        let traced = traced_flows(&flows, links.all.len());
        let mut wiring = Wiring { links, seed, measured, probes, traced };
        let driver = if switches.is_empty() && adapters.is_empty() {
            wiring.windows(fabrics, &flows)?
        } else {
            let ethernet = Ethernet::new(switches, adapters, &wiring.links)?;
            wiring.ethernet(ethernet, &fabrics, &flows)?
        };
        let report = Report::new(measured, flows.labels, wiring.links.names);
        Ok(Network { driver, report, measured, sampling_interval })
    }
}

/// The links of a network on their way to where they belong.
struct Wiring {
    links: Links,
    seed: u64,
    measured: MeasuredInterval,
    probes: Probes,
    traced: Rc<[TracedFlow]>,
}

impl Wiring {
    /// The nodes of an Ethernet. It is all that there is: every link leads from node to node.
    fn ethernet(&mut self, ethernet: Ethernet, fabrics: &[FabricSpec], flows: &Flows) -> Result<Windows, RunError> {
        let mut wires = Vec::with_capacity(self.links.all.len());
        for number in 0..self.links.all.len() as LinkId {
            let (wire, queue) = self.wire(number)?;
            if queue.is_some() || !fabrics.is_empty() {
                return Err(RunError::Invariant("a queue or a fabric in an Ethernet".into()));
            }
            wires.push(wire);
        }
        let Self { seed, measured, probes, .. } = *self;
        let surroundings = Surroundings { flows, seed, measured, probes };
        let (lanes, link_ends) = (ethernet.lanes(flows), ethernet.link_ends());
        let routes =
            Routes::new(&RouteRows::default(), surroundings.rows().directions(link_ends.len()), link_ends, false);
        let nodes = ethernet.build(&surroundings, wires)?;
        let all = 0..nodes.len() as u32;
        Windows::new(nodes, &lanes, all, routes, self.packet_time(), measured)
    }

    /// Nodes, and what lies between them.
    fn windows(&mut self, fabrics: Vec<FabricSpec>, flows: &Flows) -> Result<Windows, RunError> {
        let measured = self.measured;
        check_lengths(flows, &self.links.all)?;
        let (ends, endpoints) = endpoints::ends(flows);
        let mut ways = Vec::with_capacity(2 * flows.len());
        for (flow, &ends) in flows.iter().zip(&ends) {
            ways.extend(layout::ways(flow, ends)?);
        }
        let layout = Layout::new(&self.links.all, fabrics.len(), endpoints, &ways);
        let Layout { places, groups, lanes, routes: steps, .. } = layout;
        let has_shared = self.links.all.iter().any(|link| link.shares_state);
        let routes = Routes::new(&steps, steps.len(), Vec::new(), has_shared);
        let ends: Vec<Option<EndpointId>> = ways.iter().map(|way| way.as_ref().map(|way| way.to)).collect();
        // Planning takes as much memory as endpoints do: all of it is free again before there are any.
        drop((ways, steps));
        let mut nodes = self.ports(&places)?;
        for (fabric, number) in fabrics.into_iter().zip(0..) {
            nodes.push(Box::new(self.crossbar(fabric, number, flows)));
        }
        let mut seats = Seats::new(&groups, self.endpoints(flows)?, ends);
        for (group, number) in groups.into_iter().zip(0..) {
            nodes.push(self.hosts(group, number, &mut seats)?);
        }
        Windows::new(nodes, &lanes, 0..0, routes, self.packet_time(), measured)
    }

    /// The time of a packet on the fastest link.
    fn packet_time(&self) -> Span {
        let rates = self.links.all.iter().map(|link| link.rate);
        rates.map(|rate| rate.transmission_time(1000)).min().unwrap_or(Span::ZERO)
    }

    /// The ends of all flows.
    fn endpoints(&self, flows: &Flows) -> Result<Vec<Endpoint>, RunError> {
        let Self { seed, measured, probes, .. } = *self;
        let sampled = probes.flows && probes.interval.is_some();
        let checkpoints = Checkpoints::new(Some(measured.from), probes.interval.filter(|_| sampled));
        let mut endpoints = Endpoints { seed, checkpoints, sampled, made: Vec::new() };
        let mut index = 0;
        while index < flows.len() {
            index += endpoints.add(flows, index)?;
        }
        Ok(endpoints.made)
    }

    /// The links that are nodes, in the order of their numbers.
    fn ports(&mut self, places: &[Place]) -> Result<Vec<Box<dyn Node>>, RunError> {
        let mut nodes: Vec<Option<Box<dyn Node>>> = Vec::new();
        let (mut shared, mut shared_node) = (Vec::new(), 0);
        for (place, number) in places.iter().zip(0..) {
            let Place::Node(node) = *place else { continue };
            let (wire, queue) = self.wire(number)?;
            let shares_state = self.links.all[number as usize].shares_state;
            match queue {
                Some(queue) if shares_state => {
                    shared_node = node as usize;
                    shared.push((number, self.shared_port(wire, queue)));
                    nodes.resize_with(nodes.len().max(shared_node + 1), || None);
                }
                Some(queue) => nodes.push(Some(self.port(wire, queue))),
                None => nodes.push(Some(Box::new(PlainPort::new(wire)))),
            }
        }
        if !shared.is_empty() {
            nodes[shared_node] = Some(Box::new(SharedPorts::new(shared)));
        }
        Ok(nodes.into_iter().flatten().collect())
    }

    /// The hosts of a group, with their endpoints and links.
    fn hosts(&mut self, group: Vec<HostPlan>, number: u32, seats: &mut Seats) -> Result<Box<dyn Node>, RunError> {
        let (first, of_direction) = seats.of_directions(number);
        let mut parts = Vec::with_capacity(group.len());
        for plan in group {
            // A link of a host has no queue.
            let mut wire = |link: Option<LinkId>| link.map(|link| self.wire(link).map(|(wire, _)| wire)).transpose();
            parts.push(HostParts {
                downlink: wire(plan.downlink)?,
                uplink: wire(plan.uplink)?,
                distance: plan.distance,
                endpoints: seats.take(&plan),
            });
        }
        Ok(hosts(parts, first, &of_direction))
    }

    /// The fabric `number`, with books for each of its inputs.
    fn crossbar(&self, fabric: FabricSpec, number: FabricId, flows: &Flows) -> Crossbar {
        let Self { seed, measured, probes, .. } = *self;
        // A path without loops crosses a fabric once, in each direction.
        let output = |&link: &LinkId| self.links.all[link as usize].fabric.filter(|&(id, _)| id == number);
        let crossing = |path: &[LinkId]| path.iter().find_map(output).map_or(0, |(_, to)| to);
        let outputs = flows.iter().flat_map(|flow| [crossing(flow.forward), crossing(flow.backward)]).collect();
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

    /// The link itself, and the queue at its sending end if one is described.
    fn wire(&mut self, number: LinkId) -> Result<(Wire, Option<BookedQueue>), RunError> {
        let Self { links, seed, measured, probes, traced } = self;
        let Link { rate, propagation, loss, far_input_port, .. } = links.all[number as usize];
        let mut wire = Wire::new(number, rate, propagation, far_input_port);
        if loss > 0.0 {
            wire.set_loss(loss, stream(*seed, &format!("link/{}/loss", links.name(number))));
        }
        let LinkExtras { queue, trace, watched_flows } = links.extras.remove(&number).unwrap_or_default();
        let name = links.name(number);
        if let Some(trace) = trace {
            wire.set_tracer(Tracer::open(trace, name, Rc::clone(traced))?);
        }
        if probes.links {
            wire.sample_utilization(queue.is_none().then(|| Checkpoints::new(None, probes.interval)));
        }
        let queue = queue.map(|(discipline, queue)| {
            let rng = stream(*seed, &format!("link/{name}"));
            let mut books = Books::new(discipline, QueueBook::new(*measured), rng);
            books.series = probes.queues.then(QueueSeries::default);
            books.watched = watched_flows.into_iter().map(WatchedFlow::new).collect();
            BookedQueue { queue, books }
        });
        Ok((wire, queue))
    }

    /// The port with `queue` at the sending end of `wire`.
    fn port(&self, wire: Wire, queue: BookedQueue) -> Box<dyn Node> {
        let BookedQueue { queue, books } = queue;
        let checkpoints = self.port_checkpoints(&books);
        match queue {
            Queue::Law(law) => Box::new(LawPort::new(wire, checkpoints, books, law)),
            Queue::Discipline(discipline) => Box::new(QueuePort::new(wire, checkpoints, books, discipline)),
        }
    }

    /// The same of a queue that shares state with others.
    fn shared_port(&self, wire: Wire, queue: BookedQueue) -> QueuePort {
        let BookedQueue { queue, books } = queue;
        let checkpoints = self.port_checkpoints(&books);
        QueuePort::new(wire, checkpoints, books, queue.into_discipline())
    }

    /// Of the end of the warm-up a port has to know only what is queued then: it decides about departures ahead of
    /// their time, and so keeps its counts by the measured interval itself.
    fn port_checkpoints(&self, books: &Books) -> Checkpoints {
        let sampled = self.probes.links || self.probes.queues || !books.watched.is_empty();
        Checkpoints::new(Some(self.measured.from), self.probes.interval.filter(|_| sampled))
    }
}

/// The queue of a port, with its books.
struct BookedQueue {
    queue: Queue<Packet>,
    books: Books,
}

/// A packet counts the links and switches that it has crossed.
fn check_lengths(flows: &Flows, links: &[Link]) -> Result<(), RunError> {
    let crossed = |path: &[LinkId]| {
        let fabrics = path.iter().skip(1).filter(|&&link| links[link as usize].fabric.is_some()).count();
        path.len() + fabrics
    };
    for flow in flows.iter() {
        let processes = crossed(flow.forward).max(crossed(flow.backward));
        if processes >= usize::from(u8::MAX) {
            return Err(RunError::PathTooLong { flow: flow.name.to_owned(), processes });
        }
    }
    Ok(())
}

fn traced_flow(transport: &Transport) -> TracedFlow {
    match transport {
        Transport::Tcp { config, .. } => TracedFlow { is_tcp: true, header_bytes: config.header_bytes() as u16 },
        Transport::Udp { header_bytes, .. } => TracedFlow { is_tcp: false, header_bytes: *header_bytes },
        Transport::Cells { .. } | Transport::Frames { .. } => TracedFlow { is_tcp: false, header_bytes: 0 },
    }
}

/// What a trace has to know of each flow, those of control frames among them.
fn traced_flows(flows: &Flows, links: usize) -> Rc<[TracedFlow]> {
    let control = std::iter::repeat_n(TracedFlow { is_tcp: false, header_bytes: 0 }, flows.len() + links.div_ceil(2));
    flows.iter().map(|flow| traced_flow(flow.transport)).chain(control).collect()
}

/// A network that is ready to run.
pub struct Network {
    driver: Windows,
    report: Report,
    measured: MeasuredInterval,
    sampling_interval: Option<Span>,
}

impl Network {
    /// Runs to the end. `control` is called now and then with the part of the run that is done; it answers whether to
    /// go on.
    ///
    /// # Errors
    /// If `control` stops the run, a trace cannot be written, or the books do not balance.
    pub fn run(self, control: &mut dyn FnMut(f64) -> bool) -> Result<RunResult, RunError> {
        self.run_by(control, Windows::run)
    }

    /// As [`Network::run`], with everything in the order of the global clock: the same results, slower.
    ///
    /// # Errors
    /// As [`Network::run`].
    #[cfg(feature = "oracle")]
    #[doc(hidden)]
    pub fn run_in_order(self, control: &mut dyn FnMut(f64) -> bool) -> Result<RunResult, RunError> {
        self.run_by(control, Windows::run_in_order)
    }

    fn run_by(
        self,
        control: &mut dyn FnMut(f64) -> bool,
        run: fn(&mut Windows, &mut Progress<'_>) -> Result<(), RunError>,
    ) -> Result<RunResult, RunError> {
        let Self { mut driver, mut report, measured, sampling_interval } = self;
        let meter = Meter::start();
        let mut progress = Progress::new(control, measured.to);
        run(&mut driver, &mut progress)?;
        driver.finish(&mut report);
        let mut result = report.close(sampling_interval)?;
        result.engine.events = progress.events;
        result.engine.cpu_s = meter.cpu_s();
        result.engine.peak_rss_bytes = peak_rss_bytes();
        Ok(result)
    }
}
