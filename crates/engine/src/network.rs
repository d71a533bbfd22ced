//! Building a network: links, flows and their paths, then processes and lanes.

use std::rc::Rc;

use forebay_qdisc::{Queue, Span, Time};

use crate::crossbar::Crossbar;
use crate::driver::events::{EventDriver, Progress, Routes};
use crate::driver::process::Process;
use crate::driver::rounds::Rounds;
use crate::driver::ways::Ways;
use crate::error::RunError;
use crate::ethernet::assembly::{Ethernet, Surroundings};
use crate::host::endpoints::Endpoints;
use crate::link::Wire;
use crate::observe::meter::{Meter, peak_rss_bytes};
use crate::observe::queue_book::{Books, QueueBook, QueueSeries, WatchedFlow};
use crate::observe::report::{FlowLabel, Report};
use crate::observe::results::RunResult;
use crate::observe::trace::{TracedFlow, Tracer};
use crate::observe::window::{Checkpoints, Window};
use crate::packet::Packet;
use crate::rng::stream;
use crate::router::port::{LawPort, QueuePort};
use crate::spec::{
    AdapterSpec, Application, EthernetSwitchSpec, FabricId, FabricSpec, FlowSpec, LinkId, LinkSpec, Probes, Transport,
};

/// Collects links and flows; [`NetworkBuilder::build`] makes the network.
pub struct NetworkBuilder {
    seed: u64,
    window: Window,
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
            window: Window { from: warmup, to: end },
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

    /// Makes processes and lanes, or the nodes of an Ethernet.
    ///
    /// # Errors
    /// If the file of a trace cannot be created.
    pub fn build(self) -> Result<Network, RunError> {
        let (window, sampling_interval) = (self.window, self.probes.interval);
        let report = Report::new(window, self.flows.iter().map(label).collect());
        let driver = if self.switches.is_empty() && self.adapters.is_empty() {
            Driver::Events(Box::new(self.events()?))
        } else {
            Driver::Rounds(Box::new(self.rounds()?))
        };
        Ok(Network { driver, report, window, sampling_interval })
    }

    /// The nodes of an Ethernet. It is all that there is: every link leads from node to node.
    fn rounds(self) -> Result<Rounds, RunError> {
        let Self { seed, window, probes, links, fabrics, switches, adapters, flows } = self;
        let traced: Rc<[TracedFlow]> = traced_flows(&flows, links.len());
        let mut wires = Vec::with_capacity(links.len());
        let ethernet = Ethernet::new(switches, adapters, &links)?;
        for (link, number) in links.into_iter().zip(0..) {
            let (wire, queue) = wire(number, link, seed, window, probes, &traced)?;
            if queue.is_some() || !fabrics.is_empty() {
                return Err(RunError::Invariant("a queue or a fabric in an Ethernet".into()));
            }
            wires.push(wire);
        }
        ethernet.build(&Surroundings { flows: &flows, seed, window, probes }, wires)
    }

    /// Processes and lanes.
    fn events(self) -> Result<EventDriver, RunError> {
        let Self { seed, window, probes, links, fabrics, flows, .. } = self;
        let traced: Rc<[TracedFlow]> = traced_flows(&flows, links.len());
        // Processes are numbered: wires that stand alone, ports with books, endpoints. Packets that reach a process at
        // the same instant come in the order of their senders' numbers.
        let mut wires = Vec::new();
        let mut processes: Vec<Box<dyn Process>> = Vec::new();
        let booked_from = links.iter().filter(|link| link.queue.is_none()).count() as u32;
        let mut process_of = Vec::with_capacity(links.len());
        let mut in_global_order = Vec::new();
        let outputs: Vec<Option<(FabricId, u8)>> = links.iter().map(|link| link.fabric).collect();
        for (link, number) in links.into_iter().zip(0..) {
            let shares_state = link.shares_state;
            let (wire, queue) = wire(number, link, seed, window, probes, &traced)?;
            match queue {
                None => {
                    process_of.push(wires.len() as u32);
                    wires.push(wire);
                }
                Some(queue) => {
                    process_of.push(booked_from + processes.len() as u32);
                    in_global_order.extend(shares_state.then_some(booked_from + processes.len() as u32));
                    processes.push(port(wire, queue, window, probes));
                }
            }
        }
        let first_fabric = booked_from + processes.len() as u32;
        for (fabric, number) in fabrics.into_iter().zip(0..) {
            // One input or several: what it sends comes from its own timer, so it is no link in a chain of fusion.
            in_global_order.push(booked_from + processes.len() as u32);
            processes.push(Box::new(crossbar(fabric, number, &outputs, &flows, seed, window, probes)));
        }
        let early: Vec<u32> = (first_fabric..booked_from + processes.len() as u32).collect();
        let sampled = probes.flows && probes.interval.is_some();
        let mut endpoints = Endpoints {
            processes: &mut processes,
            first: booked_from,
            seed,
            checkpoints: Checkpoints::new(Some(window.from), probes.interval.filter(|_| sampled)),
            sampled,
            ends: Vec::new(),
        };
        let mut index = 0;
        while index < flows.len() {
            index += endpoints.add(&flows, index)?;
        }
        let ends = endpoints.ends;
        let ways = Ways { process_of, outputs, first_fabric };
        let mut routes = Routes::new(ways.of_flows(&flows, &ends)?.into_iter());
        routes.fuse(booked_from as usize + processes.len(), &in_global_order, &early);
        Ok(EventDriver::new(wires, processes, routes, window))
    }
}

/// A network that is ready to run.
pub struct Network {
    driver: Driver,
    report: Report,
    window: Window,
    sampling_interval: Option<Span>,
}

/// What runs it.
enum Driver {
    Events(Box<EventDriver>),
    Rounds(Box<Rounds>),
}

impl Network {
    /// Makes everything happen in the order of the global clock: the same results, slower. For tests.
    pub fn without_fusion(&mut self) {
        match &mut self.driver {
            Driver::Events(driver) => driver.without_fusion(),
            Driver::Rounds(driver) => driver.in_order(),
        }
    }

    /// Runs to the end. `control` is called now and then with the part of the run that is done; it answers whether to
    /// go on.
    ///
    /// # Errors
    /// If `control` stops the run, a trace cannot be written, or the books do not balance.
    pub fn run(self, control: &mut dyn FnMut(f64) -> bool) -> Result<RunResult, RunError> {
        let Self { driver, mut report, window, sampling_interval } = self;
        let meter = Meter::start();
        let mut progress = Progress::new(control, window.to);
        match driver {
            Driver::Events(driver) => {
                // Not behind a pointer: what is a variable of this function is faster to come by.
                let mut driver = *driver;
                driver.run(&mut progress)?;
                driver.finish(&mut report);
            }
            Driver::Rounds(driver) => {
                let mut driver = *driver;
                driver.run(&mut progress)?;
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
    window: Window,
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
        let mut books = Books::new(fabric.inputs.name().to_owned(), QueueBook::new(window), rng);
        books.series = sampled.then(QueueSeries::default);
        books
    };
    let books = (0..fabric.ports).map(books).collect();
    let rng = stream(seed, &format!("switch/{}", fabric.name));
    let checkpoints = Checkpoints::new(Some(window.from), probes.interval.filter(|_| sampled));
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
    window: Window,
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
        let mut books = Books::new(discipline, QueueBook::new(window), stream(seed, &path));
        books.series = probes.queues.then(QueueSeries::default);
        books.watched = watched_flows.into_iter().map(WatchedFlow::new).collect();
        BookedQueue { queue, books }
    });
    Ok((wire, queue))
}

/// The port with `queue` at the sending end of `wire`.
fn port(wire: Wire, queue: BookedQueue, window: Window, probes: Probes) -> Box<dyn Process> {
    let BookedQueue { queue, books } = queue;
    let sampled = probes.links || probes.queues || !books.watched.is_empty();
    // Of the end of the warm-up it has to know only what is queued then: it decides about departures ahead of their
    // time, and so keeps its counts by the measured interval itself.
    let checkpoints = Checkpoints::new(Some(window.from), probes.interval.filter(|_| sampled));
    match queue {
        Queue::Law(law) => Box::new(LawPort::new(wire, checkpoints, books, law)),
        Queue::Discipline(discipline) => Box::new(QueuePort::new(wire, checkpoints, books, discipline)),
    }
}
