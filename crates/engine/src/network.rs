//! Building a network: links, flows and their paths, then processes and lanes.

use std::rc::Rc;

use forebay_qdisc::{Ecn, Queue, Rate, Span, Time};
use forebay_switching::Bytes;
use forebay_tcp::TcpConfig;

use crate::cells::{CellArrivals, CellFlow, CellSource, CellSourceParts};
use crate::conversation::{Client, Conversation, ConversationParts, Role};
use crate::crossbar::{Crossbar, FabricSpec};
use crate::distribution::Distribution;
use crate::driver::{Network, Routes};
use crate::endpoint::{EndpointContext, ReceiveBook, SendBook};
use crate::error::RunError;
use crate::ethernet::{AdapterSpec, EthernetSwitchSpec, FrameArrivals};
use crate::ethernet_network::{Ethernet, LinkEnds, LinkLine, Surroundings};
use crate::packet::{FlowId, Packet};
use crate::port::{Books, LawPort, QueuePort};
use crate::process::Process;
use crate::queue_book::{QueueBook, QueueSeries, WatchedFlow};
use crate::report::{FlowLabel, Report};
use crate::rng::stream;
use crate::tcp_endpoint::{Acknowledger, Bulk, TcpSink, TcpSource, Transmitter};
use crate::trace::{TraceSpec, TracedFlow, Tracer};
use crate::udp::{UdpPattern, UdpSink, UdpSource, UdpSourceParts};
use crate::ways::Ways;
use crate::window::{Checkpoints, Window};
use crate::wire::Wire;

/// Index of a link, in the order of [`NetworkBuilder::add_link`].
pub type LinkId = u32;

/// Index of a switch fabric, in the order of [`NetworkBuilder::add_fabric`].
pub type FabricId = u32;

/// One direction of a link, with the queue at its sending end.
pub struct LinkSpec {
    /// Its name in results; also that of its random stream.
    pub name: String,
    /// The rate.
    pub rate: Rate,
    /// Propagation delay.
    pub propagation: Span,
    /// The queue, with the discipline's name for the results. `None` is an unlimited FIFO without books.
    pub queue: Option<(String, Queue<Packet>)>,
    /// Whether the queue shares state with others: then it must not run ahead of them, and holds its packets.
    pub shares_state: bool,
    /// Probability with which a data packet is lost on entering the link.
    pub loss: f64,
    /// The link's number among the inputs of the node at its far end.
    pub far_input_port: u16,
    /// The switch whose output the link is, and the number of that output. A packet that comes to the link from another
    /// one has to cross the switch's fabric first.
    pub fabric: Option<(FabricId, u8)>,
    /// Where its packets are recorded.
    pub trace: Option<TraceSpec>,
    /// Flows whose gauges at this queue become time series.
    pub watched_flows: Vec<FlowId>,
}

/// What uses a TCP connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Application {
    /// Data without end.
    Unlimited,
    /// So many bytes, then close.
    Fixed {
        /// The bytes.
        bytes: u64,
    },
    /// The flow's destination asks, its source answers, over one connection.
    RequestResponse {
        /// Bytes of a request.
        request_bytes: u64,
        /// Size of a response in bytes.
        response: Distribution,
        /// Time from a response to the next request in picoseconds.
        think: Distribution,
    },
}

/// What carries a flow.
#[derive(Clone, Debug)]
pub enum Transport {
    /// TCP.
    Tcp {
        /// Its settings, validated.
        config: TcpConfig,
        /// What uses it.
        application: Application,
    },
    /// UDP.
    Udp {
        /// When it sends.
        pattern: UdpPattern,
        /// Packet length in bytes on the wire.
        length: Distribution,
        /// Bytes of each packet that are not payload.
        header_bytes: u16,
        /// Whether its packets are ECT(0).
        ecn: bool,
    },
    /// Cells on the slots of a line. Flows that follow each other and have the same `line` share one source, which
    /// draws for each cell whose it is.
    Cells {
        /// The line.
        line: u32,
        /// How likely a cell of the line is this flow's, relative to the others'.
        share: f64,
        /// When the line's cells come; the first flow of the line decides.
        arrivals: CellArrivals,
        /// Length of a cell in bytes on the wire.
        len_bytes: u16,
        /// Time of a cell on the line.
        slot: Span,
    },
    /// Ethernet frames, between adapters. Flows of a group with the same source and the same `generator` share one,
    /// which draws for each frame whose it is.
    Frames {
        /// The generator.
        generator: u32,
        /// How likely a frame of the generator is this flow's, relative to the others'.
        share: f64,
        /// When the generator's frames come; its first flow decides.
        arrivals: FrameArrivals,
        /// Length of a frame in bytes on the wire.
        len_bytes: u16,
        /// Whether its frames are ECT(0).
        ecn: bool,
        /// The flow's own set-point for E2CM; `None`: the scheme's.
        set_point: Option<Bytes>,
    },
}

/// A flow.
pub struct FlowSpec {
    /// Its name in results; also that of its random streams.
    pub name: String,
    /// The group it belongs to.
    pub group: String,
    /// What carries it.
    pub transport: Transport,
    /// The links of the data, in order.
    pub forward: Vec<LinkId>,
    /// The links of the ACKs, in order.
    pub backward: Vec<LinkId>,
    /// When it starts.
    pub start: Time,
    /// When it stops; [`Time::NEVER`] for never.
    pub stop: Time,
    /// Traffic class of its packets.
    pub class: u8,
}

/// What becomes a time series.
#[derive(Clone, Copy, Debug, Default)]
pub struct Probes {
    /// Time between samples; `None` for no series at all.
    pub interval: Option<Span>,
    /// Queue lengths, drops and gauges.
    pub queues: bool,
    /// Goodput, sending rate and congestion window of each flow.
    pub flows: bool,
    /// Utilisation of each link.
    pub links: bool,
}

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

    /// Makes processes and lanes.
    ///
    /// # Errors
    /// If the file of a trace cannot be created.
    pub fn build(self) -> Result<Network, RunError> {
        let Self { seed, window, probes, links, fabrics, switches, adapters, flows } = self;
        let report = Report::new(window, flows.iter().map(label).collect());
        let traced: Rc<[TracedFlow]> = traced_flows(&flows, links.len());
        // Processes are numbered: wires that stand alone, ports with books, endpoints. Packets that reach a process at
        // the same instant come in the order of their senders' numbers.
        let mut wires = Vec::new();
        let mut processes: Vec<Box<dyn Process>> = Vec::new();
        let booked_from = links.iter().filter(|link| link.queue.is_none()).count() as u32;
        let mut process_of = Vec::with_capacity(links.len());
        let mut in_global_order = Vec::new();
        let outputs: Vec<Option<(FabricId, u8)>> = links.iter().map(|link| link.fabric).collect();
        let described: Vec<LinkLine> = links.iter().map(LinkLine::of).collect();
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
                    processes.push(port(wire, queue, probes));
                }
            }
        }
        let first_fabric = booked_from + processes.len() as u32;
        for (fabric, number) in fabrics.into_iter().zip(0..) {
            // One input or several: what it sends comes from its own timer, so it is no link in a chain of fusion.
            in_global_order.push(booked_from + processes.len() as u32);
            processes.push(Box::new(crossbar(fabric, number, &outputs, &flows, seed, window, probes)));
        }
        let first_switch = booked_from + processes.len() as u32;
        let first_adapter = first_switch + switches.len() as u32;
        in_global_order.extend(first_switch..first_adapter);
        let ethernet = Ethernet { switches, adapters, first_process: first_switch };
        let has_ethernet = !ethernet.is_empty();
        let link_ends = ethernet.ends(described.len());
        let pause_by_class = ethernet.pauses_by_class();
        let around = Surroundings { flows: &flows, links: &described, seed, window, probes, pause_by_class };
        let rounds = ethernet.rounds(&around, &link_ends);
        ethernet.build(&around, &mut processes)?;
        let sampled = probes.flows && probes.interval.is_some();
        let mut endpoints = Endpoints {
            processes: &mut processes,
            first: booked_from,
            seed,
            checkpoints: Checkpoints::new(Some(window.from), probes.interval.filter(|_| sampled)),
            sampled,
            link_ends: &link_ends,
            ends: Vec::new(),
        };
        let mut index = 0;
        while index < flows.len() {
            index += endpoints.add(&flows, index);
        }
        let ends = endpoints.ends;
        let ways = Ways { process_of, outputs, first_fabric, link_ends };
        let mut paths = ways.of_flows(&flows, &ends)?;
        if has_ethernet {
            ways.add_control(&mut paths);
        }
        let mut routes = Routes::new(paths.into_iter());
        let early: Vec<u32> = (first_fabric..first_adapter).collect();
        routes.fuse(booked_from as usize + processes.len(), &in_global_order, &early);
        Ok(Network::new(wires, processes, routes, report, window, probes.interval).in_rounds(rounds))
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
        Transport::Tcp { config, .. } => TracedFlow { is_tcp: true, header_bytes: config.header.0 as u16 },
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
    Crossbar::new(fabric, books, outputs, rng, Checkpoints::new(None, probes.interval.filter(|_| sampled)))
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
fn port(wire: Wire, queue: BookedQueue, probes: Probes) -> Box<dyn Process> {
    let BookedQueue { queue, books } = queue;
    let sampled = probes.links || probes.queues || !books.watched.is_empty();
    // A port keeps its books by the measured interval itself: it decides about departures ahead of their time.
    let checkpoints = Checkpoints::new(None, probes.interval.filter(|_| sampled));
    match queue {
        Queue::Law(law) => Box::new(LawPort::new(wire, checkpoints, books, law)),
        Queue::Discipline(discipline) => Box::new(QueuePort::new(wire, checkpoints, books, discipline)),
    }
}

/// Makes the endpoints of the flows and remembers which process is which end.
struct Endpoints<'a> {
    processes: &'a mut Vec<Box<dyn Process>>,
    /// The number of the first of `processes`.
    first: u32,
    seed: u64,
    checkpoints: Checkpoints,
    /// Whether the flows become time series.
    sampled: bool,
    link_ends: &'a [LinkEnds],
    /// (source, destination) of each flow.
    ends: Vec<(u32, u32)>,
}

impl Endpoints<'_> {
    fn push(&mut self, process: impl Process + 'static) -> u32 {
        self.processes.push(Box::new(process));
        self.first + self.processes.len() as u32 - 1
    }

    fn context(&self, flow: usize, spec: &FlowSpec) -> EndpointContext {
        EndpointContext { flow: flow as FlowId, class: spec.class, checkpoints: self.checkpoints }
    }

    fn transmitter(&self, flow: usize, spec: &FlowSpec, config: &TcpConfig) -> Transmitter {
        let mut book = SendBook::new(self.sampled);
        book.record.window_series = self.sampled.then(Vec::new);
        Transmitter::new(self.context(flow, spec), config, book)
    }

    fn acknowledger(&self, flow: usize, spec: &FlowSpec, config: &TcpConfig) -> Acknowledger {
        Acknowledger::new(self.context(flow, spec), config, ReceiveBook::new(self.sampled))
    }

    /// Adds the ends of flow `index`, and of the one after it where the two are a conversation; gives how many flows
    /// that were.
    fn add(&mut self, flows: &[FlowSpec], index: usize) -> usize {
        let spec = &flows[index];
        match &spec.transport {
            Transport::Udp { .. } => self.udp(index, spec),
            Transport::Cells { .. } => return self.cells(flows, index),
            Transport::Frames { .. } => {
                let end = |link: Option<&LinkId>, end: fn(&LinkEnds) -> Option<u32>| {
                    link.and_then(|&link| end(&self.link_ends[link as usize])).unwrap_or(u32::MAX)
                };
                let source = end(spec.forward.first(), |ends| ends.sender);
                self.ends.push((source, end(spec.forward.last(), |ends| ends.receiver)));
            }
            Transport::Tcp { config, application } => {
                let bulk = match application {
                    Application::Unlimited => Bulk::Until(spec.stop),
                    Application::Fixed { bytes } => Bulk::Bytes(*bytes),
                    Application::RequestResponse { request_bytes, response, think } => {
                        let sizes = (*request_bytes, *response, *think);
                        self.conversation(index, spec, &flows[index + 1], config, sizes);
                        return 2;
                    }
                };
                let transmitter = self.transmitter(index, spec, config);
                let acknowledger = self.acknowledger(index, spec, config);
                let source = self.push(TcpSource::new(transmitter, bulk, spec.start));
                let destination = self.push(TcpSink::new(acknowledger));
                self.ends.push((source, destination));
            }
        }
        1
    }

    fn udp(&mut self, index: usize, spec: &FlowSpec) {
        let Transport::Udp { pattern, length, header_bytes, ecn } = &spec.transport else { return };
        let context = self.context(index, spec);
        let source = UdpSource::new(UdpSourceParts {
            context,
            pattern: pattern.clone(),
            length: *length,
            ecn: if *ecn { Ecn::Capable0 } else { Ecn::NotCapable },
            start: spec.start,
            stop: spec.stop,
            rng: stream(self.seed, &format!("flow/{}", spec.name)),
            book: SendBook::new(self.sampled),
        });
        let source = self.push(source);
        let sink = self.push(UdpSink::new(context, *header_bytes, ReceiveBook::new(self.sampled)));
        self.ends.push((source, sink));
    }

    /// The source of a line, with all flows that share it; gives how many.
    fn cells(&mut self, flows: &[FlowSpec], index: usize) -> usize {
        let line_of = |spec: &FlowSpec| match spec.transport {
            Transport::Cells { line, .. } => Some((spec.group.clone(), line)),
            _ => None,
        };
        let Transport::Cells { arrivals, len_bytes, slot, .. } = flows[index].transport else { return 0 };
        let line = line_of(&flows[index]);
        let sharing = flows[index..].iter().take_while(|spec| line_of(spec) == line);
        let of_line: Vec<CellFlow> = sharing
            .zip(index..)
            .map(|(spec, index)| CellFlow {
                context: self.context(index, spec),
                share: if let Transport::Cells { share, .. } = spec.transport { share } else { 0.0 },
                book: SendBook::new(self.sampled),
            })
            .collect();
        let count = of_line.len();
        let spec = &flows[index];
        let rng = stream(self.seed, &format!("flow/{}", spec.name));
        let (start, stop, checkpoints) = (spec.start, spec.stop, self.checkpoints);
        let parts = CellSourceParts { flows: of_line, arrivals, len_bytes, slot, start, stop, checkpoints, rng };
        let source = self.push(CellSource::new(parts));
        for (index, spec) in flows[index..index + count].iter().enumerate().map(|(at, spec)| (index + at, spec)) {
            let sink = self.push(UdpSink::new(self.context(index, spec), 0, ReceiveBook::new(self.sampled)));
            self.ends.push((source, sink));
        }
        count
    }

    /// The two ends of a conversation: the server sends `response` and receives `request`, the client the other way
    /// round.
    fn conversation(
        &mut self,
        index: usize,
        response: &FlowSpec,
        request: &FlowSpec,
        config: &TcpConfig,
        (request_bytes, size, think): (u64, Distribution, Distribution),
    ) {
        let response_config = TcpConfig { handshake: false, ..config.clone() };
        let random = |what: &str| stream(self.seed, &format!("flow/{}/{what}", response.name));
        let server = Conversation::new(ConversationParts {
            transmitter: self.transmitter(index, response, &response_config),
            acknowledger: self.acknowledger(index + 1, request, config),
            role: Role::Server,
            request_bytes,
            response: size,
            response_rng: random("response"),
            start: Time::NEVER,
        });
        let client = Conversation::new(ConversationParts {
            transmitter: self.transmitter(index + 1, request, config),
            acknowledger: self.acknowledger(index, response, &response_config),
            role: Role::Client(Client { think, think_rng: random("think"), stop: response.stop, asked: None }),
            request_bytes,
            response: size,
            response_rng: random("response"),
            start: response.start,
        });
        let (server, client) = (self.push(server), self.push(client));
        self.ends.push((server, client));
        self.ends.push((client, server));
    }
}
