//! Building a network: links, flows and their paths, then processes and lanes.

mod paths;
mod salts;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use forebay_qdisc::{Queue, Rate, Span, Time};

use self::paths::check_paths;
use self::salts::salts;
use crate::crossbar::Crossbar;
use crate::driver::loads::{generated, loads};
use crate::driver::node::Node;
use crate::driver::progress::Progress;
use crate::driver::routes::{RouteRows, Routes};
use crate::driver::windows::Windows;
use crate::error::RunError;
use crate::ethernet::assembly::{Ethernet, Senders, Surroundings};
use crate::ethernet::managed_queues::ManagedParts;
use crate::host::endpoints::{Endpoints, Numbers};
use crate::host::hosts::{HostParts, hosts};
use crate::host::seats::Seats;
use crate::layout::{self, EndpointId, HostPlan, Layout, Place};
use crate::link::Link;
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
use crate::spec::links::{LinkExtras, LinkParameters, Links};
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
    device_queue_limit: Option<u32>,
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
            device_queue_limit: None,
        }
    }

    /// Limits the datagrams that wait at a host for its own uplink. Without a call there is no limit.
    pub fn limit_device_queues(&mut self, packets: u32) {
        self.device_queue_limit = Some(packets);
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
                host_jitter: [flow.host_jitter[1], flow.host_jitter[0]],
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

    /// Creates the nodes and the links between them.
    ///
    /// # Errors
    /// If the file of a trace cannot be created.
    pub fn build(self) -> Result<Network, RunError> {
        let Self { seed, measured, probes, links, fabrics, switches, adapters, flows, device_queue_limit } = self;
        let sampling_interval = probes.interval;
        let traced = traced_flows(&flows, links.all.len());
        let mut wiring = Wiring { links, seed, measured, probes, traced, device_queue_limit };
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
    traced: Arc<[TracedFlow]>,
    device_queue_limit: Option<u32>,
}

impl Wiring {
    /// The nodes of an Ethernet. It is all that there is: every link leads from node to node.
    fn ethernet(&mut self, ethernet: Ethernet, fabrics: &[FabricSpec], flows: &Flows) -> Result<Windows, RunError> {
        let (mut links, mut queues) = (Vec::with_capacity(self.links.all.len()), BTreeMap::new());
        for number in 0..self.links.all.len() as LinkId {
            let (link, queue) = self.link(number, true)?;
            queues.extend(queue.map(|queue| (number, queue.managed())));
            links.push(link);
        }
        if !fabrics.is_empty() || self.links.all.iter().any(|link| link.shares_state || link.loss > 0.0) {
            return Err(RunError::Invariant("a fabric, shared state or random loss in an Ethernet".into()));
        }
        let Self { seed, measured, probes, .. } = *self;
        let surroundings = Surroundings { flows, seed, measured, probes };
        let (lanes, link_ends) = (ethernet.lanes(flows), ethernet.link_ends());
        let directions = surroundings.rows().directions(link_ends.len());
        let routes = Routes::new(
            &RouteRows::default(),
            directions,
            link_ends,
            false,
            salts(self.seed, &self.links, &Flows::default(), &Numbers::default()),
        );
        let nodes =
            ethernet.build(&surroundings, Senders::new(links, queues), &self.endpoints(flows, Numbers::new(flows)))?;
        let all = 0..nodes.len() as u32;
        let windows = Windows::new(nodes, &lanes, &[], all, routes, self.packet_time(), measured)?;
        Ok(windows.with_control(surroundings.rows()).with_generated(generated(flows)))
    }

    /// Nodes, and the links between them.
    fn windows(&mut self, fabrics: Vec<FabricSpec>, flows: &Flows) -> Result<Windows, RunError> {
        let measured = self.measured;
        check_paths(flows, &self.links.all)?;
        let numbers = Numbers::new(flows);
        let mut routes = Vec::with_capacity(2 * flows.len());
        for (flow, &ends) in flows.iter().zip(&numbers.ends) {
            routes.extend(layout::routes(flow, ends)?);
        }
        let layout = Layout::new(&self.links.all, fabrics.len(), numbers.flow_of.len(), &routes);
        let Layout { places, groups, first_group, lanes, routes: steps } = layout;
        let has_shared = self.links.all.iter().any(|link| link.shares_state);
        let tables =
            Routes::new(&steps, steps.len(), Vec::new(), has_shared, salts(self.seed, &self.links, flows, &numbers));
        let rates: Vec<Rate> = self.links.all.iter().map(|link| link.rate).collect();
        let loads = loads(&steps, &rates, first_group as usize + groups.len(), first_group);
        let ends: Vec<Option<EndpointId>> = routes.iter().map(|route| route.as_ref().map(|route| route.to)).collect();
        // Planning takes as much memory as endpoints do: all of it is free again before there are any.
        drop((routes, steps, rates));
        let mut nodes = self.ports(&places)?;
        for (fabric, number) in fabrics.into_iter().zip(0..) {
            nodes.push(Box::new(self.crossbar(fabric, number, flows)));
        }
        let seats = Seats::new(&groups, numbers.flow_of.len(), ends);
        let endpoints = self.endpoints(flows, numbers);
        for (group, number) in groups.into_iter().zip(0..) {
            nodes.push(self.hosts(group, number, &seats, &endpoints)?);
        }
        let windows = Windows::new(nodes, &lanes, &loads, 0..0, tables, self.packet_time(), measured)?;
        Ok(windows.with_generated(generated(flows)))
    }

    /// The time of a packet on the fastest link.
    fn packet_time(&self) -> Span {
        let rates = self.links.all.iter().map(|link| link.rate);
        rates.map(|rate| rate.transmission_time(1000)).min().unwrap_or(Span::ZERO)
    }

    /// The builder of the ends of all flows.
    fn endpoints<'a>(&self, flows: &'a Flows, numbers: Numbers) -> Endpoints<'a> {
        let Self { seed, measured, probes, device_queue_limit, .. } = *self;
        let sampled = probes.flows && probes.interval.is_some();
        let checkpoints = Checkpoints::new(Some(measured.from), probes.interval.filter(|_| sampled));
        Endpoints { flows, numbers, seed, checkpoints, sampled, device_queue_limit }
    }

    /// The links that are nodes, in the order of their numbers.
    fn ports(&mut self, places: &[Place]) -> Result<Vec<Box<dyn Node>>, RunError> {
        let mut nodes: Vec<Option<Box<dyn Node>>> = Vec::new();
        let (mut shared, mut shared_node) = (Vec::new(), 0);
        for (place, number) in places.iter().zip(0..) {
            let Place::Node(node) = *place else { continue };
            let (link, queue) = self.link(number, false)?;
            let shares_state = self.links.all[number as usize].shares_state;
            match queue {
                Some(queue) if shares_state => {
                    shared_node = node as usize;
                    shared.push((number, self.shared_port(link, queue)));
                    nodes.resize_with(nodes.len().max(shared_node + 1), || None);
                }
                Some(queue) => nodes.push(Some(self.port(link, queue))),
                None => nodes.push(Some(Box::new(PlainPort::new(link)))),
            }
        }
        if !shared.is_empty() {
            nodes[shared_node] = Some(Box::new(SharedPorts::new(shared)));
        }
        Ok(nodes.into_iter().flatten().collect())
    }

    /// The hosts of a group, with their endpoints and links.
    fn hosts(
        &mut self,
        group: Vec<HostPlan>,
        number: u32,
        seats: &Seats,
        endpoints: &Endpoints<'_>,
    ) -> Result<Box<dyn Node>, RunError> {
        let (first, of_direction) = seats.of_directions(number);
        let make = |plan: &HostPlan| {
            // A link of a host has no queue.
            let mut link = |number: Option<LinkId>| {
                number.map(|number| self.link(number, false).map(|(link, _)| link)).transpose()
            };
            let (downlink, uplink) = (link(plan.downlink)?, link(plan.uplink)?);
            Ok(HostParts {
                downlink,
                uplink,
                path: endpoints.send_path(&plan.endpoints, plan.uplink.map(|uplink| self.links.name(uplink))),
                salts: plan.endpoints.iter().map(|&endpoint| endpoints.salt(endpoint)).collect(),
                endpoints: plan.endpoints.iter().map(|&endpoint| endpoints.make(endpoint)).collect::<Result<_, _>>()?,
            })
        };
        hosts(group, make, |endpoint| endpoints.bulk_end(endpoint), first, &of_direction)
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

    /// The link itself, and the queue at its sending end if one is described. A link that is `observed_alone` samples
    /// itself even behind a queue.
    fn link(&mut self, number: LinkId, observed_alone: bool) -> Result<(Link, Option<BookedQueue>), RunError> {
        let Self { links, seed, measured, probes, traced, .. } = self;
        let LinkParameters { rate, propagation, loss, far_input_port, .. } = links.all[number as usize];
        let mut link = Link::new(number, rate, propagation, far_input_port);
        if loss > 0.0 {
            link.set_loss(loss, stream(*seed, &format!("link/{}/loss", links.name(number))));
        }
        let LinkExtras { queue, class_queues, trace, watched_flows } = links.extras.remove(&number).unwrap_or_default();
        let name = links.name(number);
        if let Some(trace) = trace {
            link.set_tracer(Tracer::open(trace, name, Arc::clone(traced))?);
        }
        if probes.links {
            let is_alone = observed_alone || queue.is_none();
            link.sample_utilization(is_alone.then(|| Checkpoints::new(None, probes.interval)));
        }
        let queue = queue.map(|(discipline, queue)| {
            let rng = stream(*seed, &format!("link/{name}"));
            let mut books = Books::new(discipline, QueueBook::new(*measured), rng);
            books.series = probes.queues.then(QueueSeries::default);
            books.watched = watched_flows.into_iter().map(WatchedFlow::new).collect();
            BookedQueue { queue, class_queues, books }
        });
        Ok((link, queue))
    }

    /// The port with `queue` at the sending end of `link`.
    fn port(&self, link: Link, queue: BookedQueue) -> Box<dyn Node> {
        let BookedQueue { queue, books, .. } = queue;
        let checkpoints = self.port_checkpoints(&books);
        match queue {
            Queue::Law(law) => Box::new(LawPort::new(link, checkpoints, books, law)),
            Queue::Discipline(discipline) => Box::new(QueuePort::new(link, checkpoints, books, discipline)),
        }
    }

    /// The same of a queue that shares state with others.
    fn shared_port(&self, link: Link, queue: BookedQueue) -> QueuePort {
        let BookedQueue { queue, books, .. } = queue;
        let checkpoints = self.port_checkpoints(&books);
        QueuePort::new(link, checkpoints, books, queue.into_discipline())
    }

    /// At the end of warm-up, a port needs only its queue length. It decides about departures ahead of their time, and
    /// so keeps its counts by the measured interval itself.
    fn port_checkpoints(&self, books: &Books) -> Checkpoints {
        let sampled = self.probes.links || self.probes.queues || !books.watched.is_empty();
        Checkpoints::new(Some(self.measured.from), self.probes.interval.filter(|_| sampled))
    }
}

/// The queue of a port, with its books.
struct BookedQueue {
    queue: Queue<Packet>,
    class_queues: Vec<Queue<Packet>>,
    books: Books,
}

impl BookedQueue {
    /// As a port of an Ethernet switch has it.
    fn managed(self) -> ManagedParts {
        ManagedParts::new(std::iter::once(self.queue).chain(self.class_queues).collect(), self.books)
    }
}

fn traced_flow(transport: &Transport) -> TracedFlow {
    match transport {
        Transport::Tcp { config, .. } => TracedFlow {
            is_tcp: true,
            header_bytes: config.header_bytes() as u16,
            bare_len_bytes: config.ack_bytes() as u16,
        },
        Transport::Udp { .. } | Transport::Cells { .. } | Transport::Frames { .. } => TracedFlow::default(),
    }
}

/// The data of each flow for a trace, also of control frames.
fn traced_flows(flows: &Flows, links: usize) -> Arc<[TracedFlow]> {
    let control = std::iter::repeat_n(TracedFlow::default(), flows.len() + links.div_ceil(2));
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
    /// Runs to the end, on one thread. `control` is called now and then with the part of the run that is done; it
    /// answers whether to go on.
    ///
    /// # Errors
    /// If `control` stops the run, a trace cannot be written, or the books do not balance.
    pub fn run(self, control: &mut dyn FnMut(f64) -> bool) -> Result<RunResult, RunError> {
        self.run_on(NonZeroUsize::MIN, control)
    }

    /// As [`Network::run`], on at most this many threads, this one among them: the same results. `control` is called on
    /// this thread.
    ///
    /// # Errors
    /// As [`Network::run`]; if a thread cannot be started.
    pub fn run_on(self, threads: NonZeroUsize, control: &mut dyn FnMut(f64) -> bool) -> Result<RunResult, RunError> {
        self.run_by(control, |driver, progress| match driver.partition(threads) {
            Some(partition) => Ok((partition.threads, driver.run_on_threads(&partition, progress)?)),
            None => driver.run(progress).map(|()| (1, 0.0)),
        })
    }

    /// As [`Network::run`], with everything in the order of the global clock: the same results, slower.
    ///
    /// # Errors
    /// As [`Network::run`].
    #[cfg(feature = "oracle")]
    #[doc(hidden)]
    pub fn run_in_order(self, control: &mut dyn FnMut(f64) -> bool) -> Result<RunResult, RunError> {
        self.run_by(control, |driver, progress| driver.run_in_order(progress).map(|()| (1, 0.0)))
    }

    /// `run` returns how many threads it used, and the CPU time of those other than this one.
    fn run_by(
        self,
        control: &mut dyn FnMut(f64) -> bool,
        run: impl FnOnce(&mut Windows, &mut Progress<'_>) -> Result<(usize, f64), RunError>,
    ) -> Result<RunResult, RunError> {
        let Self { mut driver, mut report, measured, sampling_interval } = self;
        let meter = Meter::start();
        let mut progress = Progress::new(control, measured.to);
        let (threads, other_cpu_s) = run(&mut driver, &mut progress)?;
        driver.finish(&mut report);
        let mut result = report.close(sampling_interval)?;
        result.engine.events = progress.events;
        result.engine.threads = threads as u64;
        result.engine.cpu_s = meter.cpu_s() + other_cpu_s;
        result.engine.peak_rss_bytes = peak_rss_bytes();
        Ok(result)
    }
}
