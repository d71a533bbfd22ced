//! Links, and the queues at their sending ends.

use std::sync::Arc;

use forebay_qdisc::{Discipline, Queue, Rate};
use forebay_records::random::stream;

use crate::assembly::graph::{Graph, Kind};
use crate::assembly::ways::{PortPlan, Ways};
use crate::driver::node::Node;
use crate::driver::routes::Way;
use crate::error::RunError;
use crate::link::Link;
use crate::link::impaired::Impaired;
use crate::observe::interval::{Checkpoints, MeasuredInterval};
use crate::observe::packet_recorder::SharedRecorder;
use crate::observe::queue_counters::{QueueCounters, QueueRecord};
use crate::observe::queue_series::{QueueSeries, WatchedFlow};
use crate::observe::trace::{TracedFlow, Tracer};
use crate::observe::watched_queue;
use crate::packet::{FlowId, Packet};
use crate::router::law_port::LawPort;
use crate::router::plain_port::PlainPort;
use crate::router::queue_port::QueuePort;
use crate::router::shared_ports::SharedPorts;
use crate::spec::flows::Flows;
use crate::spec::links::{LinkExtras, LinkParameters, Links};
use crate::spec::{LinkId, Probes, ServiceStep, Transport, Watch};

/// Makes links and ports.
pub(crate) struct Ports<'a> {
    pub links: &'a mut Links,
    pub graph: &'a Graph,
    pub seed: u64,
    pub measured: MeasuredInterval,
    pub probes: Probes,
    pub traced: Arc<[TracedFlow]>,
    /// See [`Impaired::new`].
    pub first_pause: FlowId,
    pub watch: Option<&'a Watch>,
    /// Whether packets take telemetry.
    pub has_telemetry: bool,
}

/// The queue of a port, with its counters.
pub(crate) struct CountedQueue {
    pub queue: Queue<Packet>,
    pub class_queues: Vec<Queue<Packet>>,
    pub record: QueueRecord,
}

/// A link on its way to its sender.
pub(crate) struct MadeLink {
    pub link: Link,
    /// The queue at its sending end, if one is described.
    pub queue: Option<CountedQueue>,
    /// The changes of its rate, at an Ethernet.
    pub service: Vec<ServiceStep>,
    /// The log of the packets at its sending end, if they are watched.
    pub recorder: Option<SharedRecorder>,
}

impl Ports<'_> {
    /// The links that are nodes of the driver, or a group of them.
    ///
    /// # Errors
    /// If the file of a trace cannot be created.
    pub fn make(&mut self, plan: PortPlan, ways: &mut Ways<'_>) -> Result<Box<dyn Node>, RunError> {
        let (node, links) = match plan {
            PortPlan::One(link) => {
                let MadeLink { link, queue, .. } = self.link(link, ways.behind(link))?;
                return Ok(match queue {
                    Some(queue) => self.port(link, queue),
                    None => Box::new(PlainPort::new(link)),
                });
            }
            PortPlan::Sharing(node, links) => (node, links),
        };
        if self.graph.has_chooser(node) {
            let why = "a node that chooses paths by what it has seen has ports that share state";
            return Err(RunError::Invariant(why.into()));
        }
        let mut ports = Vec::with_capacity(links.len());
        for &number in &links {
            let MadeLink { link, queue, .. } = self.link(number, ways.behind(number))?;
            let no_queue =
                || RunError::Invariant(format!("`{}` shares the state of no queue", self.links.name(number)));
            let CountedQueue { queue, record, .. } = queue.ok_or_else(no_queue)?;
            ports.push((number, self.queue_port(link, record, queue.into_discipline())));
        }
        let place = |link: LinkId| links.binary_search(&link).map_or(u32::MAX, |place| place as u32);
        let (table, way) = ways.table_of(node, place);
        Ok(Box::new(SharedPorts::new(ports, table, way)))
    }

    /// A link, whose packets go `way` from its far end.
    ///
    /// # Errors
    /// If the file of a trace cannot be created.
    pub fn link(&mut self, number: LinkId, way: Way) -> Result<MadeLink, RunError> {
        let Self { links, graph, seed, measured, probes, traced, first_pause, watch, .. } = self;
        let LinkParameters { edge, rate, propagation, .. } = links.all[number as usize];
        let mut link = Link::new(number, rate, propagation, graph.inputs[number as usize], way);
        let LinkExtras { queue, class_queues, trace, watched_flows, mut service, opportunities, framing, impairments } =
            links.extras.remove(&number).unwrap_or_default();
        if matches!(graph.kind(edge.to), Kind::Host | Kind::Adapter) {
            link.set_leads_to_host();
        }
        let name = links.name(number);
        if impairments.are_some() {
            let rng = stream(*seed, &format!("link/{name}/impairments"));
            link.impair(Impaired::new(impairments, *first_pause, rng));
        }
        let is_ethernet = graph.kind(edge.from).is_ethernet();
        if !service.is_empty() && !is_ethernet {
            link.set_service(std::mem::take(&mut service));
        }
        if let Some(framing) = framing {
            link.set_framing(framing);
        }
        if let Some(opportunities) = opportunities {
            link.set_opportunities(&opportunities);
        }
        if let Some(trace) = trace {
            link.set_tracer(Tracer::open(trace, name, Arc::clone(traced))?);
        }
        if probes.links {
            // Behind a queue the port takes the samples.
            let is_alone = queue.is_none() || is_ethernet;
            link.sample_utilization(is_alone.then(|| Checkpoints::new(None, probes.interval)));
        }
        let recorder = watch.and_then(|watch| recorder(watch, number, rate));
        let watched = |queue: Queue<Packet>, number: usize| match &recorder {
            Some(recorder) => watched_queue::watched(queue, number, recorder),
            None => queue,
        };
        let queue = queue.map(|(discipline, queue)| {
            let rng = stream(*seed, &format!("link/{name}"));
            let mut record = QueueRecord::new(discipline, QueueCounters::new(*measured), rng);
            record.series = probes.queues.then(QueueSeries::default);
            record.watched = watched_flows.into_iter().map(WatchedFlow::new).collect();
            let queue = watched(queue, 0);
            let class_queues = class_queues.into_iter().zip(1..).map(|(queue, class)| watched(queue, class)).collect();
            record.recorder.clone_from(&recorder);
            CountedQueue { queue, class_queues, record }
        });
        Ok(MadeLink { link, queue, service, recorder })
    }

    /// The port with `queue` at the sending end of `link`.
    fn port(&self, link: Link, queue: CountedQueue) -> Box<dyn Node> {
        let CountedQueue { queue, record, .. } = queue;
        match queue {
            // A law decides on arrival. The queue behind a packet that leaves is not known then.
            Queue::Law(law) if !self.has_telemetry => {
                Box::new(LawPort::new(link, self.checkpoints(&record), record, law))
            }
            queue => Box::new(self.queue_port(link, record, queue.into_discipline())),
        }
    }

    fn queue_port(&self, link: Link, record: QueueRecord, discipline: Box<dyn Discipline<Packet>>) -> QueuePort {
        let mut port = QueuePort::new(link, self.checkpoints(&record), record, discipline);
        if self.has_telemetry {
            port.enable_telemetry();
        }
        port
    }

    /// At the end of warm-up, a port needs only its queue length. It decides about departures ahead of their time, and
    /// so keeps its counts by the measured interval itself.
    fn checkpoints(&self, record: &QueueRecord) -> Checkpoints {
        let sampled = self.probes.links || self.probes.queues || !record.watched.is_empty();
        Checkpoints::new(Some(self.measured.from), self.probes.interval.filter(|_| sampled))
    }
}

/// The recorder of the packets at a link, if it is watched.
fn recorder(watch: &Watch, link: LinkId, rate: Rate) -> Option<SharedRecorder> {
    let place = watch.links.iter().position(|&watched| watched == link)?;
    Some(SharedRecorder::new(watch, place, rate))
}

/// The data of each flow for a trace, also of `control` frames.
pub(crate) fn traced_flows(flows: &Flows, control: usize) -> Arc<[TracedFlow]> {
    let traced_flow = |transport: &Transport| match transport {
        Transport::Tcp { config, .. } => TracedFlow {
            is_tcp: true,
            header_bytes: config.header_bytes() as u16,
            bare_len_bytes: config.ack_bytes() as u16,
        },
        Transport::Udp { .. }
        | Transport::Ping(_)
        | Transport::Message(_)
        | Transport::Cells { .. }
        | Transport::Frames { .. } => TracedFlow::default(),
    };
    let control = std::iter::repeat_n(TracedFlow::default(), control);
    flows.iter().map(|flow| traced_flow(flow.transport)).chain(control).collect()
}
