//! From the description of an Ethernet to its processes: switches first, then adapters, each with what it has to know
//! of the paths around it.

use forebay_qdisc::{Ecn, Rate, Span};
use forebay_switching::SharedMemory;
use forebay_switching::congestion::{CONTROL_FRAME_BYTES, CongestionPointId};

use crate::driver::node::{Node, NodeId};
use crate::driver::order::Lane;
use crate::driver::routes::Step;
use crate::error::RunError;
use crate::ethernet::adapter::{Adapter, AdapterParts};
use crate::ethernet::control::ControlRows;
use crate::ethernet::egress::DestinationFlow;
use crate::ethernet::frames::GeneratorParts;
use crate::ethernet::ingress::SourceFlow;
use crate::ethernet::output_queues::OutputQueues;
use crate::ethernet::pause::{PauseObeyed, PauseOrders};
use crate::ethernet::port::{SwitchPort, SwitchPortParts};
use crate::ethernet::service::ServiceRate;
use crate::ethernet::switch::{EthernetSwitch, EthernetSwitchParts, Way};
use crate::link::Wire;
use crate::observe::flow_book::{ReceiveBook, SendBook};
use crate::observe::handed_in::PortReport;
use crate::observe::interval::{Checkpoints, MeasuredInterval};
use crate::observe::queue_book::{Books, QueueBook};
use crate::observe::queue_series::QueueSeries;
use crate::rng::stream;
use crate::spec::flows::{Flow, Flows};
use crate::spec::links::{Link, Links};
use crate::spec::{AdapterSpec, Arbiter, EthernetPort, EthernetSwitchSpec, FlowControl, LinkId, Probes, Transport};

/// What the ends of a link know of it.
#[derive(Clone, Debug)]
struct LinkView {
    name: String,
    rate: Rate,
    propagation: Span,
    sender: NodeId,
    receiver: NodeId,
}

/// The description of an Ethernet.
pub(crate) struct Ethernet {
    switches: Vec<EthernetSwitchSpec>,
    adapters: Vec<AdapterSpec>,
    links: Vec<LinkView>,
    /// Whether any node stops single classes of its neighbours.
    pause_by_class: bool,
}

/// What holds for all nodes.
pub(crate) struct Surroundings<'a> {
    pub flows: &'a Flows,
    pub seed: u64,
    pub measured: MeasuredInterval,
    pub probes: Probes,
}

impl Surroundings<'_> {
    /// The rows of control frames.
    pub fn rows(&self) -> ControlRows {
        ControlRows { flows: self.flows.len() as u32 }
    }
}

impl Ethernet {
    /// From its nodes and the links between them.
    ///
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
        let view = |((link, name), (sender, receiver)): ((&Link, &str), (u32, u32))| LinkView {
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

    /// Where each link leads.
    pub fn link_ends(&self) -> Vec<Step> {
        self.links.iter().zip(0..).map(|(link, feeder)| Step { node: link.receiver, feeder }).collect()
    }

    /// The lanes between nodes: what begins to be sent is there when the shortest frame is.
    pub fn lanes(&self, flows: &Flows) -> Vec<Lane> {
        let lengths = flows.iter().filter_map(|flow| match flow.transport {
            Transport::Frames { len_bytes, .. } => Some(u32::from(*len_bytes)),
            _ => None,
        });
        let shortest = u64::from(lengths.fold(CONTROL_FRAME_BYTES, u32::min));
        let lane = |link: &LinkView| Lane {
            from: link.sender,
            to: link.receiver,
            delay: link.propagation + link.rate.transmission_time(shortest),
        };
        self.links.iter().map(lane).collect()
    }

    /// Makes the nodes, switches first, each with the `wires` on which it sends.
    ///
    /// # Errors
    /// If memory is described that cannot be, a flow's way back is not its way there, or a flow is of anything but
    /// frames.
    pub fn build(mut self, around: &Surroundings<'_>, wires: Vec<Wire>) -> Result<Vec<Box<dyn Node>>, RunError> {
        if let Some(flow) = around.flows.iter().find(|flow| !matches!(flow.transport, Transport::Frames { .. })) {
            return Err(RunError::Invariant(format!("`{}`: an Ethernet carries frames", flow.name)));
        }
        let mut wires: Vec<Option<Wire>> = wires.into_iter().map(Some).collect();
        let (switches, adapters) = (std::mem::take(&mut self.switches), std::mem::take(&mut self.adapters));
        let mut nodes: Vec<Box<dyn Node>> = Vec::with_capacity(switches.len() + adapters.len());
        let mut first_point = 0;
        for spec in switches {
            let ports = spec.ports.len() as u32;
            nodes.push(Box::new(self.switch(spec, nodes.len() as NodeId, first_point, around, &mut wires)?));
            first_point += ports;
        }
        for spec in adapters {
            nodes.push(Box::new(self.adapter(spec, nodes.len() as NodeId, around, &mut wires)?));
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
        wires: &mut [Option<Wire>],
    ) -> Result<EthernetSwitch, RunError> {
        let ports = spec.ports.len();
        let memory = SharedMemory::new(ports, spec.memory).map_err(|error| RunError::Invariant(error.to_string()))?;
        let output = |links: &[LinkId]| {
            let out = links.iter().find(|&&link| self.link(link).sender == node)?;
            spec.ports.iter().position(|port| port.out == *out)
        };
        let flows = around.flows;
        let data = flows.iter().flat_map(|flow| [output(flow.forward), output(flow.backward)]);
        let (mut ways, mut rows) = (Vec::with_capacity(4 * flows.len()), vec![Vec::new(); ports]);
        for (output, direction) in data.zip(0_u32..) {
            let rows = &mut rows[output.unwrap_or(0)];
            ways.push(Way::new(output.unwrap_or(0) as u8, rows.len() as u32));
            // Data goes forward.
            rows.extend((output.is_some() && direction.is_multiple_of(2)).then_some(direction));
        }
        if flows.len() >= Way::ROWS as usize {
            return Err(RunError::Invariant(format!("{} flows, more than a switch has rows for", flows.len())));
        }
        // Control frames go the same ways as the flows that they are about.
        ways.extend_from_within(..);
        // A message that begins here goes back by the port by which the frame came.
        if let Some(flow) = flows.iter().find(|flow| output(flow.forward).is_some() != output(flow.backward).is_some())
        {
            return Err(RunError::Invariant(format!("`{}` returns by a different path", flow.name)));
        }
        let sampled = around.probes.queues && around.probes.interval.is_some();
        let by_class = self.pause_by_class || spec.strict_priority;
        Ok(EthernetSwitch::new(EthernetSwitchParts {
            ports: self.switch_ports(&spec, rows, by_class, first_point, around, wires)?,
            memory,
            by_class,
            ways,
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
        wires: &mut [Option<Wire>],
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
            let mut books = Books::new(discipline.to_owned(), QueueBook::with_rows(around.measured, rows), rng);
            books.series = sampled.then(QueueSeries::default);
            let point = CongestionPointId(first_point + number as u32);
            Ok(SwitchPort::new(SwitchPortParts {
                out: port.out,
                wire: take(wires, port.out)?,
                incoming: port.incoming,
                line: *rate,
                service: ServiceRate::new(*rate, port.service.clone()),
                orders: PauseOrders::new(spec.flow_control, *rate),
                obeyed: PauseObeyed::new(self.pause_by_class, *rate, spec.reaction),
                queues: OutputQueues::new(spec.arbiter, spec.ports.len(), classes, spec.strict_priority),
                point: spec.congestion.as_ref().map(|scheme| scheme.congestion_point(point, *rate)),
                books,
                report: PortReport::new(name.clone()),
            }))
        };
        spec.ports.iter().zip(rows).enumerate().map(port).collect()
    }

    fn adapter(
        &self,
        spec: AdapterSpec,
        node: NodeId,
        around: &Surroundings<'_>,
        wires: &mut [Option<Wire>],
    ) -> Result<Adapter, RunError> {
        let sampled = around.probes.flows && around.probes.interval.is_some();
        let mut parts = AdapterParts {
            pause_by_class: self.pause_by_class,
            uplink: take(wires, spec.port.out)?,
            out_rate: self.link(spec.port.out).rate,
            in_rate: self.link(spec.port.incoming).rate,
            rows: around.rows(),
            sources: Vec::new(),
            generators: Vec::new(),
            destinations: Vec::new(),
            checkpoints: Checkpoints::new(Some(around.measured.from), around.probes.interval.filter(|_| sampled)),
            spec,
        };
        self.add_flows(&mut parts, node, around, sampled);
        Ok(Adapter::new(parts))
    }

    /// Adds the flows that begin or end at an adapter.
    fn add_flows(&self, parts: &mut AdapterParts, node: NodeId, around: &Surroundings<'_>, sampled: bool) {
        let AdapterParts { out_rate, in_rate, .. } = *parts;
        let random = |flow: Flow<'_>, what: &str| stream(around.seed, &format!("flow/{}/{what}", flow.name));
        let at = |link: Option<&LinkId>, end: fn(&LinkView) -> NodeId| {
            link.is_some_and(|&link| end(self.link(link)) == node)
        };
        let scheme = parts.spec.congestion.as_ref();
        let mut generator_of = Vec::new();
        for (flow, id) in around.flows.iter().zip(0..) {
            let Transport::Frames { generator, share, arrivals, len_bytes, ecn, set_point } = flow.transport else {
                continue;
            };
            if at(flow.forward.last(), |ends| ends.receiver) {
                parts.destinations.push(DestinationFlow {
                    flow: id,
                    class: flow.class,
                    reflector: scheme.and_then(|scheme| scheme.reflector(in_rate)),
                    rng: random(flow, "reflector"),
                    book: ReceiveBook::new(sampled),
                });
            }
            if !at(flow.forward.first(), |ends| ends.sender) {
                continue;
            }
            let name = (flow.group, *generator);
            let known = generator_of.iter().position(|other| *other == name);
            let generator = known.unwrap_or_else(|| {
                generator_of.push(name);
                parts.generators.push(GeneratorParts {
                    arrivals: *arrivals,
                    slot: out_rate.transmission_time(u64::from(*len_bytes)),
                    start: flow.start,
                    stop: flow.stop,
                    rng: random(flow, "frames"),
                });
                parts.generators.len() - 1
            });
            parts.sources.push(SourceFlow {
                flow: id,
                class: flow.class,
                len_bytes: *len_bytes,
                ecn: if *ecn { Ecn::Capable0 } else { Ecn::NotCapable },
                generator,
                share: *share,
                reaction: scheme.map(|scheme| {
                    let own = set_point.and_then(|set_point| scheme.with_flow_set_point(set_point));
                    own.as_ref().unwrap_or(scheme).reaction_point(out_rate, flow.start)
                }),
                rng: random(flow, "reaction"),
                book: SendBook::new(sampled),
            });
        }
    }
}

/// Takes the link on which a port sends; no other one does.
fn take(wires: &mut [Option<Wire>], link: LinkId) -> Result<Wire, RunError> {
    let twice = || RunError::Invariant(format!("two ports send on link {link}"));
    wires[link as usize].take().ok_or_else(twice)
}
