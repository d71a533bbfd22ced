//! From the description of an Ethernet to its processes: switches first, then adapters, each with what it has to know
//! of the paths around it.

use forebay_qdisc::{Ecn, Rate, Span};
use forebay_switching::SharedMemory;
use forebay_switching::congestion::{CONTROL_FRAME_BYTES, CongestionPointId};

use crate::adapter::{Adapter, AdapterParts, DestinationFlow, GeneratorParts, SourceFlow};
use crate::arrivals::IncomingLink;
use crate::driver::Rounds;
use crate::endpoint::{ReceiveBook, SendBook};
use crate::error::RunError;
use crate::ethernet::{AdapterSpec, Arbiter, ControlRows, EthernetPort, EthernetSwitchSpec, FlowControl, ServiceRate};
use crate::ethernet_switch::{EthernetSwitch, EthernetSwitchParts};
use crate::network::{FlowSpec, LinkId, LinkSpec, Probes, Transport};
use crate::output_queues::OutputQueues;
use crate::pause_port::{PauseObeyed, PauseOrders};
use crate::port::Books;
use crate::process::Process;
use crate::queue_book::{QueueBook, QueueSeries};
use crate::report::PortReport;
use crate::rng::stream;
use crate::switch_port::{SwitchPort, SwitchPortParts};
use crate::window::{Checkpoints, Window};

/// The nodes of an Ethernet, and where they are among the network's processes.
pub(crate) struct Ethernet {
    pub switches: Vec<EthernetSwitchSpec>,
    pub adapters: Vec<AdapterSpec>,
    /// The process of the first switch; the others follow, and then the adapters.
    pub first_process: u32,
}

/// A link as far as its ends know it.
#[derive(Clone, Debug)]
pub(crate) struct LinkLine {
    pub name: String,
    pub rate: Rate,
    pub propagation: Span,
}

impl LinkLine {
    pub fn of(link: &LinkSpec) -> Self {
        Self { name: link.name.clone(), rate: link.rate, propagation: link.propagation }
    }
}

/// What holds for all nodes.
pub(crate) struct Surroundings<'a> {
    pub flows: &'a [FlowSpec],
    pub links: &'a [LinkLine],
    pub seed: u64,
    pub window: Window,
    pub probes: Probes,
    /// Whether any node stops single classes of its neighbours.
    pub pause_by_class: bool,
}

impl Surroundings<'_> {
    /// The rows of control frames.
    fn rows(&self) -> ControlRows {
        ControlRows { flows: self.flows.len() as u32 }
    }

    fn link(&self, id: LinkId) -> &LinkLine {
        &self.links[id as usize]
    }
}

/// The sending and the receiving process of a link between nodes of an Ethernet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkEnds {
    pub sender: Option<u32>,
    pub receiver: Option<u32>,
    /// Whether the sender is a switch, which packets of others cross.
    pub from_switch: bool,
}

impl Ethernet {
    pub fn is_empty(&self) -> bool {
        self.switches.is_empty() && self.adapters.is_empty()
    }

    /// Whether any node stops single classes of its neighbours.
    pub fn pauses_by_class(&self) -> bool {
        let switches = self.switches.iter().map(|switch| switch.flow_control);
        let mut all = switches.chain(self.adapters.iter().map(|adapter| adapter.flow_control));
        all.any(|flow_control| matches!(flow_control, FlowControl::Priority(_)))
    }

    /// The ends of each of `count` links.
    pub fn ends(&self, count: usize) -> Vec<LinkEnds> {
        let mut ends = vec![LinkEnds::default(); count];
        let switches = self.switches.iter().map(|switch| (&switch.ports[..], true));
        let adapters = self.adapters.iter().map(|adapter| (std::slice::from_ref(&adapter.port), false));
        for ((ports, is_switch), process) in switches.chain(adapters).zip(self.first_process..) {
            for port in ports {
                let out = &mut ends[port.out as usize];
                (out.sender, out.from_switch) = (Some(process), is_switch);
                ends[port.incoming as usize].receiver = Some(process);
            }
        }
        ends
    }

    /// What it takes to run in rounds: in the shortest time from the first bit of a frame at a node to its last bit at
    /// the next one nobody can surprise another. `None` without nodes, or if a link leads to none.
    pub fn rounds(&self, around: &Surroundings<'_>, ends: &[LinkEnds]) -> Option<Rounds> {
        let lengths = around.flows.iter().filter_map(|flow| match flow.transport {
            Transport::Frames { len_bytes, .. } => Some(u32::from(len_bytes)),
            _ => None,
        });
        let shortest = u64::from(lengths.fold(CONTROL_FRAME_BYTES, u32::min));
        let time = |link: &LinkLine| link.propagation + link.rate.transmission_time(shortest);
        let lookahead = around.links.iter().map(time).min().filter(|_| !self.is_empty())?;
        let receivers: Option<Vec<u32>> = ends.iter().map(|ends| ends.receiver).collect();
        Some(Rounds { lookahead, receivers: receivers? })
    }

    /// Adds the switches, then the adapters, to the processes of the network.
    ///
    /// # Errors
    /// If memory is described that cannot be, or a flow's way back is not its way there.
    pub fn build(self, around: &Surroundings<'_>, processes: &mut Vec<Box<dyn Process>>) -> Result<(), RunError> {
        let ends = self.ends(around.links.len());
        let mut first_point = 0;
        let mut process = self.first_process;
        for spec in self.switches {
            let ports = spec.ports.len() as u32;
            processes.push(Box::new(switch(spec, process, first_point, &ends, around)?));
            first_point += ports;
            process += 1;
        }
        for spec in self.adapters {
            processes.push(Box::new(adapter(spec, process, &ends, around)));
            process += 1;
        }
        Ok(())
    }
}

fn switch(
    spec: EthernetSwitchSpec,
    process: u32,
    first_point: u32,
    ends: &[LinkEnds],
    around: &Surroundings<'_>,
) -> Result<EthernetSwitch, RunError> {
    let ports = spec.ports.len();
    let memory = SharedMemory::new(ports, spec.memory).map_err(|error| RunError::Invariant(error.to_string()))?;
    let output = |links: &[LinkId]| {
        let out = links.iter().find(|&&link| ends[link as usize].sender == Some(process))?;
        spec.ports.iter().position(|port| port.out == *out)
    };
    let flows = around.flows;
    let data = flows.iter().flat_map(|flow| [output(&flow.forward), output(&flow.backward)]);
    // Control frames go the same ways as the flows that they are about.
    let outputs: Vec<u8> = data.clone().chain(data).map(|port| port.unwrap_or(0) as u8).collect();
    let mut backward_hops = Vec::with_capacity(flows.len());
    for flow in flows {
        backward_hops.push(match (output(&flow.forward), backward_hop(&flow.backward, process, ends)) {
            (Some(_), None) => {
                let text = format!("`{}` comes back on another way than it goes", flow.name);
                return Err(RunError::Invariant(text));
            }
            (_, hop) => hop.unwrap_or(0),
        });
    }
    let sampled = around.probes.queues && around.probes.interval.is_some();
    let by_class = around.pause_by_class || spec.strict_priority;
    let incoming = spec
        .ports
        .iter()
        .map(|port| IncomingLink { number: port.incoming, propagation: around.link(port.incoming).propagation });
    Ok(EthernetSwitch::new(EthernetSwitchParts {
        incoming: incoming.collect(),
        ports: switch_ports(&spec, by_class, first_point, sampled, around),
        memory,
        by_class,
        outputs,
        backward_hops,
        rows: around.rows(),
        forwarding_delay: spec.forwarding_delay,
        low_watermark: match spec.flow_control {
            FlowControl::None => 0,
            FlowControl::Pause(config) | FlowControl::Priority(config) => config.low.0,
        },
        checkpoints: Checkpoints::new(Some(around.window.from), around.probes.interval.filter(|_| sampled)),
    }))
}

fn switch_ports(
    spec: &EthernetSwitchSpec,
    by_class: bool,
    first_point: u32,
    sampled: bool,
    around: &Surroundings<'_>,
) -> Vec<SwitchPort> {
    let classes = if by_class { SharedMemory::CLASSES } else { 1 };
    let discipline = match spec.arbiter {
        Arbiter::Fifo => "fifo",
        Arbiter::RoundRobin => "round_robin",
    };
    let port = |(number, port): (usize, &EthernetPort)| {
        let LinkLine { name, rate, .. } = around.link(port.out);
        let rng = stream(around.seed, &format!("switch/{}/port/{number}", spec.name));
        let mut books = Books::new(discipline.to_owned(), QueueBook::new(around.window), rng);
        books.series = sampled.then(QueueSeries::default);
        let point = CongestionPointId(first_point + number as u32);
        SwitchPort::new(SwitchPortParts {
            out: port.out,
            incoming: port.incoming,
            line: *rate,
            service: ServiceRate::new(*rate, port.service.clone()),
            orders: PauseOrders::new(spec.flow_control, *rate),
            obeyed: PauseObeyed::new(around.pause_by_class, *rate, spec.reaction),
            queues: OutputQueues::new(spec.arbiter, spec.ports.len(), classes, spec.strict_priority),
            point: spec.congestion.as_ref().map(|scheme| scheme.congestion_point(point, *rate)),
            books,
            report: PortReport::new(name.clone()),
        })
    };
    spec.ports.iter().enumerate().map(port).collect()
}

/// Where a message that begins in the switch `process` stands on the way back: how many processes, links and switches,
/// lie before the link that it leaves by.
fn backward_hop(backward: &[LinkId], process: u32, ends: &[LinkEnds]) -> Option<u8> {
    // Each link but the first has the switch before it.
    let place = backward.iter().position(|&link| ends[link as usize].sender == Some(process))?;
    Some((2 * place) as u8)
}

fn adapter(spec: AdapterSpec, process: u32, ends: &[LinkEnds], around: &Surroundings<'_>) -> Adapter {
    let out_rate = around.link(spec.port.out).rate;
    let in_rate = around.link(spec.port.incoming).rate;
    let sampled = around.probes.flows && around.probes.interval.is_some();
    let random = |flow: &FlowSpec, what: &str| stream(around.seed, &format!("flow/{}/{what}", flow.name));
    let at = |link: Option<&LinkId>, end: fn(&LinkEnds) -> Option<u32>| {
        link.is_some_and(|&link| end(&ends[link as usize]) == Some(process))
    };
    let mut parts = AdapterParts {
        pause_by_class: around.pause_by_class,
        out_rate,
        in_rate,
        rows: around.rows(),
        sources: Vec::new(),
        generators: Vec::new(),
        destinations: Vec::new(),
        checkpoints: Checkpoints::new(Some(around.window.from), around.probes.interval.filter(|_| sampled)),
        spec,
    };
    let scheme = parts.spec.congestion.as_ref();
    let mut generator_of = Vec::new();
    for (flow, id) in around.flows.iter().zip(0..) {
        let Transport::Frames { generator, share, arrivals, len_bytes, ecn, set_point } = &flow.transport else {
            continue;
        };
        if at(flow.forward.last(), |ends| ends.receiver) {
            parts.destinations.push(DestinationFlow {
                flow: id,
                class: flow.class,
                reflector: scheme.and_then(|scheme| scheme.reflector()),
                rng: random(flow, "reflector"),
                book: ReceiveBook::new(sampled),
            });
        }
        if !at(flow.forward.first(), |ends| ends.sender) {
            continue;
        }
        let name = (&flow.group, *generator);
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
    Adapter::new(parts)
}
