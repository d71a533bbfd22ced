//! Makes the nodes of an Ethernet from its description: switches first, then adapters.

mod stations;

use std::collections::BTreeMap;

use forebay_qdisc::{Rate, Span};
use forebay_switching::SharedMemory;
use forebay_switching::congestion::{CONTROL_FRAME_BYTES, CongestionPointId};

use crate::driver::node::{Node, NodeId};
use crate::driver::order::Lane;
use crate::driver::routes::Step;
use crate::error::RunError;
use crate::ethernet::adapter::{Adapter, AdapterParts};
use crate::ethernet::assembly::stations::Stations;
use crate::ethernet::attached::AttachedParts;
use crate::ethernet::control::ControlRows;
use crate::ethernet::forwarding::ForwardingEntry;
use crate::ethernet::managed_queues::{ManagedParts, ManagedQueues};
use crate::ethernet::output_queues::OutputQueues;
use crate::ethernet::pause::{PauseObeyed, PauseOrders};
use crate::ethernet::port::{SwitchPort, SwitchPortParts};
use crate::ethernet::service::ServiceRate;
use crate::ethernet::switch::{EthernetSwitch, EthernetSwitchParts};
use crate::host::endpoints::Endpoints;
use crate::link::Link;
use crate::observe::interval::{Checkpoints, MeasuredInterval};
use crate::observe::queue_book::{Books, QueueBook};
use crate::observe::queue_series::QueueSeries;
use crate::rng::stream;
use crate::spec::flows::Flows;
use crate::spec::links::{LinkParameters, Links};
use crate::spec::{AdapterSpec, Arbiter, EthernetPort, EthernetSwitchSpec, FlowControl, LinkId, Probes, Transport};

#[derive(Clone, Debug)]
struct LinkView {
    name: String,
    rate: Rate,
    propagation: Span,
    sender: NodeId,
    receiver: NodeId,
}

pub(crate) struct Ethernet {
    switches: Vec<EthernetSwitchSpec>,
    adapters: Vec<AdapterSpec>,
    links: Vec<LinkView>,
    /// Whether any node stops single classes of its neighbours.
    pause_by_class: bool,
}

/// The sending ends of links, some with queues. Each is taken once.
pub(crate) struct Senders {
    links: Vec<Option<Link>>,
    queues: BTreeMap<LinkId, ManagedParts>,
}

impl Senders {
    /// `links` are in the order of link numbers.
    pub fn new(links: Vec<Link>, queues: BTreeMap<LinkId, ManagedParts>) -> Self {
        Self { links: links.into_iter().map(Some).collect(), queues }
    }

    fn take(&mut self, link: LinkId) -> Result<Link, RunError> {
        let twice = || RunError::Invariant(format!("two ports send on link {link}"));
        self.links[link as usize].take().ok_or_else(twice)
    }
}

/// The shared state of all nodes.
pub(crate) struct Surroundings<'a> {
    pub flows: &'a Flows,
    pub seed: u64,
    pub measured: MeasuredInterval,
    pub probes: Probes,
}

impl Surroundings<'_> {
    pub fn rows(&self) -> ControlRows {
        ControlRows { flows: self.flows.len() as u32 }
    }
}

impl Ethernet {
    /// # Errors
    /// If a link does not lead from node to node.
    pub fn new(switches: Vec<EthernetSwitchSpec>, adapters: Vec<AdapterSpec>, links: &Links) -> Result<Self, RunError> {
        let mut ends: Vec<(Option<u32>, Option<u32>)> = vec![(None, None); links.all.len()];
        let ports = switches.iter().map(|switch| &switch.ports[..]);
        let ports = ports.chain(adapters.iter().map(|adapter| std::slice::from_ref(&adapter.port)));
        for (ports, node) in ports.zip(0..) {
            for port in ports {
                ends[port.out as usize].0 = Some(node);
                ends[port.incoming as usize].1 = Some(node);
            }
        }
        let complete = |(name, ends): (&str, (Option<u32>, Option<u32>))| {
            let no_end = || RunError::Invariant(format!("`{name}` does not lead from node to node"));
            Ok((ends.0.ok_or_else(no_end)?, ends.1.ok_or_else(no_end)?))
        };
        let ends = links.names.iter().zip(ends).map(complete).collect::<Result<Vec<(u32, u32)>, RunError>>()?;
        let view = |((link, name), (sender, receiver)): ((&LinkParameters, &str), (u32, u32))| LinkView {
            name: name.to_owned(),
            rate: link.rate,
            propagation: link.propagation,
            sender,
            receiver,
        };
        let links: Vec<LinkView> = links.all.iter().zip(links.names.iter()).zip(ends).map(view).collect();
        let of_switches = switches.iter().map(|switch| switch.flow_control);
        let mut all = of_switches.chain(adapters.iter().map(|adapter| adapter.flow_control));
        let pause_by_class = all.any(|flow_control| matches!(flow_control, FlowControl::Priority(_)));
        Ok(Self { switches, adapters, links, pause_by_class })
    }

    pub fn link_ends(&self) -> Vec<Step> {
        self.links.iter().zip(0..).map(|(link, feeder)| Step { node: link.receiver, feeder }).collect()
    }

    /// The lanes between nodes. Their delay is that of the shortest frame: transmission and propagation.
    pub fn lanes(&self, flows: &Flows) -> Vec<Lane> {
        let lengths = flows.iter().flat_map(|flow| {
            let (data_bytes, ack_bytes) = flow.transport.least_bytes();
            [Some(data_bytes), ack_bytes].into_iter().flatten()
        });
        let shortest = u64::from(lengths.fold(CONTROL_FRAME_BYTES, u32::min));
        let lane = |link: &LinkView| Lane {
            from: link.sender,
            to: link.receiver,
            delay: link.propagation + link.rate.transmission_time(shortest),
        };
        self.links.iter().map(lane).collect()
    }

    /// Makes the nodes, switches first. `endpoints` makes the endpoints of flows.
    ///
    /// # Errors
    /// If a part of the description is invalid: the memory, the number of flows or disciplines at a switch, a queue at
    /// an adapter, or two ports that send on one link. Also for the ends or the way back of a flow, its endpoints, or
    /// its transport.
    pub fn build(
        mut self,
        around: &Surroundings<'_>,
        mut senders: Senders,
        endpoints: &Endpoints<'_>,
    ) -> Result<Vec<Box<dyn Node>>, RunError> {
        let mut stations = Stations::new(&self, endpoints)?;
        let (switches, adapters) = (std::mem::take(&mut self.switches), std::mem::take(&mut self.adapters));
        let mut nodes: Vec<Box<dyn Node>> = Vec::with_capacity(switches.len() + adapters.len());
        let mut first_point = 0;
        for spec in switches {
            let ports = spec.ports.len() as u32;
            let node = nodes.len() as NodeId;
            nodes.push(Box::new(self.switch(spec, node, first_point, around, &mut senders)?));
            first_point += ports;
        }
        for spec in adapters {
            nodes.push(Box::new(self.adapter(spec, nodes.len() as NodeId, around, &mut stations, &mut senders)?));
        }
        if let Some(link) = senders.queues.keys().next() {
            return Err(RunError::Invariant(format!("`{}`: an adapter has queues of its own", self.link(*link).name)));
        }
        Ok(nodes)
    }

    fn link(&self, id: LinkId) -> &LinkView {
        &self.links[id as usize]
    }

    fn switch(
        &self,
        spec: EthernetSwitchSpec,
        node: NodeId,
        first_point: u32,
        around: &Surroundings<'_>,
        senders: &mut Senders,
    ) -> Result<EthernetSwitch, RunError> {
        let ports = spec.ports.len();
        let memory = SharedMemory::new(ports, spec.memory).map_err(|error| RunError::Invariant(error.to_string()))?;
        let output = |links: &[LinkId]| {
            let out = links.iter().find(|&&link| self.link(link).sender == node)?;
            spec.ports.iter().position(|port| port.out == *out)
        };
        let flows = around.flows;
        let (mut forwarding, mut rows) = (Vec::with_capacity(4 * flows.len()), vec![Vec::new(); ports]);
        for (flow, number) in flows.iter().zip(0_u32..) {
            let has_acks = flow.transport.least_bytes().1.is_some();
            let is_generated = matches!(flow.transport, Transport::Frames { .. });
            for (path, direction, has_row) in [(flow.forward, 0, true), (flow.backward, 1, has_acks)] {
                let output = output(path);
                let rows = &mut rows[output.unwrap_or(0)];
                forwarding.push(ForwardingEntry::new(output.unwrap_or(0) as u8, rows.len() as u32, is_generated));
                rows.extend((output.is_some() && has_row).then_some(2 * number + direction));
            }
        }
        if rows.iter().any(|rows| rows.len() > ForwardingEntry::ROWS as usize) {
            return Err(RunError::Invariant(format!("{} flows, more than a switch has rows for", flows.len())));
        }
        // Control frames are forwarded like the flows that they are about.
        forwarding.extend_from_within(..);
        // A message to a source leaves by the port on which its data frame arrived.
        if let Some(flow) = flows.iter().find(|flow| output(flow.forward).is_some() != output(flow.backward).is_some())
        {
            return Err(RunError::Invariant(format!("`{}` returns by a different path", flow.name)));
        }
        let sampled = around.probes.queues && around.probes.interval.is_some();
        let by_class = self.pause_by_class || spec.strict_priority;
        Ok(EthernetSwitch::new(EthernetSwitchParts {
            ports: self.switch_ports(&spec, rows, by_class, first_point, around, senders)?,
            memory,
            by_class,
            forwarding,
            rows: around.rows(),
            forwarding_delay: spec.forwarding_delay,
            low_watermark: match spec.flow_control {
                FlowControl::None => 0,
                FlowControl::Pause(config) | FlowControl::Priority(config) => config.low.0,
            },
            checkpoints: Checkpoints::new(Some(around.measured.from), around.probes.interval.filter(|_| sampled)),
        }))
    }

    fn switch_ports(
        &self,
        spec: &EthernetSwitchSpec,
        rows: Vec<Vec<u32>>,
        by_class: bool,
        first_point: u32,
        around: &Surroundings<'_>,
        senders: &mut Senders,
    ) -> Result<Vec<SwitchPort>, RunError> {
        let sampled = around.probes.queues && around.probes.interval.is_some();
        let classes = if by_class { SharedMemory::CLASSES } else { 1 };
        let discipline = match spec.arbiter {
            Arbiter::Fifo => "fifo",
            Arbiter::RoundRobin => "round_robin",
        };
        let port = |(number, (port, rows)): (usize, (&EthernetPort, Vec<u32>))| {
            let LinkView { name, rate, .. } = self.link(port.out);
            let rng = stream(around.seed, &format!("switch/{}/port/{number}", spec.name));
            let (mut books, managed) = match senders.queues.remove(&port.out) {
                Some(queue) => {
                    let ManagedParts { disciplines, is_fifo, books } = queue;
                    if disciplines.len() != classes {
                        return Err(RunError::Invariant(format!("`{name}`: {classes} classes have a queue each")));
                    }
                    let managed = ManagedQueues::new(disciplines, is_fifo, spec.ports.len(), spec.strict_priority);
                    (books, Some(Box::new(managed)))
                }
                None => (Books::new(discipline.to_owned(), QueueBook::new(around.measured), rng), None),
            };
            books.book = QueueBook::with_rows(around.measured, rows);
            books.series = sampled.then(QueueSeries::default);
            let point = CongestionPointId(first_point + number as u32);
            Ok(SwitchPort::new(SwitchPortParts {
                out: port.out,
                link: senders.take(port.out)?,
                incoming: port.incoming,
                line: *rate,
                service: ServiceRate::new(*rate, port.service.clone()),
                orders: PauseOrders::new(spec.flow_control, *rate),
                obeyed: PauseObeyed::new(self.pause_by_class, *rate, spec.reaction),
                managed,
                queues: OutputQueues::new(spec.arbiter, spec.ports.len(), classes, spec.strict_priority),
                point: spec.congestion.as_ref().map(|it| (it.congestion_point(point, *rate), it.sampler())),
                books,
                name: name.clone(),
            }))
        };
        spec.ports.iter().zip(rows).enumerate().map(port).collect()
    }

    fn adapter(
        &self,
        spec: AdapterSpec,
        node: NodeId,
        around: &Surroundings<'_>,
        stations: &mut Stations<'_>,
        senders: &mut Senders,
    ) -> Result<Adapter, RunError> {
        let sampled = around.probes.flows && around.probes.interval.is_some();
        let mut parts = AdapterParts {
            pause_by_class: self.pause_by_class,
            uplink: senders.take(spec.port.out)?,
            out_rate: self.link(spec.port.out).rate,
            in_rate: self.link(spec.port.incoming).rate,
            rows: around.rows(),
            sources: Vec::new(),
            generators: Vec::new(),
            destinations: Vec::new(),
            attached: AttachedParts::default(),
            checkpoints: Checkpoints::new(Some(around.measured.from), around.probes.interval.filter(|_| sampled)),
            spec,
        };
        stations.add_flows(&mut parts, node, around.seed, sampled)?;
        Ok(Adapter::new(parts))
    }
}
