//! Makes the nodes of Ethernet switches and adapters.

use std::collections::BTreeSet;

use forebay_qdisc::Rate;
use forebay_records::random::stream;
use forebay_switching::SharedMemory;
use forebay_switching::congestion::CongestionPointId;

use crate::assembly::Maker;
use crate::assembly::adapter_flows::AdapterFlows;
use crate::assembly::graph::{Hop, Kind, Stream};
use crate::assembly::ports::{CountedQueue, MadeLink};
use crate::driver::inbox::Arrivals;
use crate::driver::node::PlacedNode;
use crate::error::RunError;
use crate::ethernet::adapter::{Adapter, AdapterParts};
use crate::ethernet::attached::AttachedParts;
use crate::ethernet::control::{ControlPort, ControlRows};
use crate::ethernet::discipline_queues::DisciplineQueues;
use crate::ethernet::forwarding::ForwardingEntry;
use crate::ethernet::output_queues::OutputQueues;
use crate::ethernet::pause::{PauseRx, PauseTx};
use crate::ethernet::port::{SwitchPort, SwitchPortParts};
use crate::ethernet::switch::EthernetSwitch;
use crate::host::endpoints::Endpoints;
use crate::link::service::ServiceRate;
use crate::observe::interval::Checkpoints;
use crate::observe::queue_counters::{QueueCounters, QueueRecord};
use crate::observe::queue_series::QueueSeries;
use crate::spec::{AdapterSpec, Arbiter, EthernetSwitchSpec, FlowControl, LinkId, NodeIndex, Transport};

/// The view that all nodes of the Ethernets of a network share.
pub(super) struct EthernetView {
    /// Whether any node stops single classes of its neighbours.
    pub pause_by_class: bool,
    /// By node: the outputs of its flows, by (flow, direction).
    outputs: Vec<Vec<(u32, LinkId)>>,
}

impl Maker<'_> {
    fn rows(&self) -> ControlRows {
        ControlRows { flows: self.flows.len() as u32 }
    }

    /// Adds switches, then adapters.
    ///
    /// # Errors
    /// If a part of the description is invalid: the memory, the number of flows or disciplines at a switch, or a queue
    /// at an adapter. Also for PAUSE towards another kind of node, for a link in one direction alone, and for the ends
    /// or the path of a flow, its endpoints, or its transport.
    pub(super) fn ethernet(&mut self, endpoints: &Endpoints<'_>, nodes: &mut Vec<PlacedNode>) -> Result<(), RunError> {
        let (switches, adapters) = (std::mem::take(&mut self.switches), std::mem::take(&mut self.adapters));
        if switches.is_empty() && adapters.is_empty() {
            return Ok(());
        }
        let congestion = switches.iter().find_map(|(_, switch)| switch.congestion.as_ref());
        let view = self.view(&switches, &adapters, congestion.is_some())?;
        let mut adapter_flows = AdapterFlows::new(self.graph, congestion, endpoints)?;
        let mut first_point = 0;
        for (node, spec) in switches {
            let switch = self.switch(spec, node, first_point, &view)?;
            first_point += self.graph.out.of(node).len() as u32;
            let arrivals = Arrivals::ByLink(self.salts_into(node));
            nodes.push(PlacedNode { node: Box::new(switch), arrivals });
        }
        for (node, spec) in adapters {
            let adapter = self.adapter(spec, node, &view, &mut adapter_flows)?;
            let arrivals = Arrivals::ByLink(self.salts_into(node));
            nodes.push(PlacedNode { node: Box::new(adapter), arrivals });
        }
        Ok(())
    }

    fn view(
        &self,
        switches: &[(NodeIndex, EthernetSwitchSpec)],
        adapters: &[(NodeIndex, AdapterSpec)],
        is_managed: bool,
    ) -> Result<EthernetView, RunError> {
        let of_switches = switches.iter().map(|(node, switch)| (*node, switch.flow_control));
        let flow_controls = of_switches.chain(adapters.iter().map(|(node, adapter)| (*node, adapter.flow_control)));
        for (node, _) in flow_controls.clone().filter(|(_, flow_control)| *flow_control != FlowControl::None) {
            let mut neighbours = self.graph.into.of(node).iter().map(|&link| self.graph.edges[link as usize].from);
            if !neighbours.all(|neighbour| self.graph.kind(neighbour).is_ethernet()) {
                let name = &self.names[node as usize];
                return Err(RunError::Invariant(format!("`{name}` sends PAUSE to a node that does not obey it")));
            }
        }
        let pause_by_class = flow_controls.into_iter().any(|(_, control)| control.is_by_class());
        let mut outputs = vec![Vec::new(); self.graph.kinds.len()];
        for (flow, number) in self.flows.iter().zip(0_usize..) {
            let [data, acks] = Stream::of(flow);
            // Messages to the source of frames take the way that ACKs would.
            let back = data.filter(|data| self.graph.kind(data.from) == Kind::Adapter);
            let back = acks.or(back.map(|data| Stream { from: data.to, to: data.from, ..data }));
            for (stream, direction) in [data, back].into_iter().zip(2 * number..) {
                let Some(stream) = stream else { continue };
                let (mut has_switch, mut leaves) = (false, !self.graph.kind(stream.to).is_ethernet());
                self.graph.walk(stream, direction, |Hop { link, .. }| {
                    let sender = self.graph.edges[link as usize].from;
                    if self.graph.kind(sender) == Kind::EthernetSwitch {
                        outputs[sender as usize].push((direction as u32, link));
                        has_switch = true;
                    }
                    leaves |= !self.graph.kind(sender).is_ethernet();
                })?;
                let are_frames = matches!(flow.transport, Transport::Frames { .. });
                if leaves && has_switch && (is_managed || are_frames) {
                    let why = "crosses other nodes, which pass on no control frames";
                    return Err(RunError::Invariant(format!("`{}` {why}", flow.name)));
                }
            }
        }
        Ok(EthernetView { pause_by_class, outputs })
    }

    /// The links of each port, out of the node and into it.
    fn port_links(&self, node: NodeIndex) -> Result<Vec<(LinkId, LinkId)>, RunError> {
        let (out, into) = (self.graph.out.of(node), self.graph.into.of(node));
        let edges = &self.graph.edges;
        let joins = |(&out, &into): (&LinkId, &LinkId)| edges[out as usize].to == edges[into as usize].from;
        if out.len() != into.len() || !out.iter().zip(into).all(joins) {
            let name = &self.names[node as usize];
            return Err(RunError::Invariant(format!("`{name}` has a link in one direction alone")));
        }
        Ok(out.iter().copied().zip(into.iter().copied()).collect())
    }

    fn link_rate(&self, link: LinkId) -> Rate {
        self.ports.links.all[link as usize].rate
    }

    fn switch(
        &mut self,
        spec: EthernetSwitchSpec,
        node: NodeIndex,
        first_point: u32,
        view: &EthernetView,
    ) -> Result<EthernetSwitch, RunError> {
        let links = self.port_links(node)?;
        let ports = links.len();
        let memory = SharedMemory::new(ports, spec.memory).map_err(|error| RunError::Invariant(error.to_string()))?;
        let rates: Vec<Rate> = links.iter().map(|&(_, incoming)| self.link_rate(incoming)).collect();
        let memory = memory.fed_by(&rates, spec.flow_control.is_by_class());
        let flows = self.flows;
        let is_generated = |number: usize| matches!(flows.get(number).transport, Transport::Frames { .. });
        let mut forwarding: Vec<ForwardingEntry> =
            (0..2 * flows.len()).map(|direction| ForwardingEntry::new(0, 0, is_generated(direction / 2))).collect();
        let mut rows = vec![Vec::new(); ports];
        let mut has_table = false;
        for of_direction in view.outputs[node as usize].chunk_by(|one, other| one.0 == other.0) {
            let (direction, number) = (of_direction[0].0, of_direction[0].0 as usize / 2);
            let outputs = of_direction.iter().map(|&(_, link)| self.graph.outputs[link as usize] as usize);
            let outputs: BTreeSet<usize> = outputs.collect();
            // The same row at each output: those between have no counts, and are not reported.
            let row = outputs.iter().map(|&output| rows[output].len()).max().unwrap_or(0);
            let first = outputs.first().copied().unwrap_or(0);
            let entry = ForwardingEntry::new(first as u8, row as u32, is_generated(number));
            let in_table = outputs.len() > 1 || self.graph.sees_all(node);
            forwarding[direction as usize] = if in_table { entry.in_table() } else { entry };
            has_table |= in_table;
            let has_row = direction % 2 == 0 || flows.get(number).transport.least_bytes().1.is_some();
            for output in outputs.into_iter().filter(|_| has_row) {
                rows[output].resize(row + 1, direction);
            }
        }
        if rows.iter().any(|rows| rows.len() > ForwardingEntry::ROWS as usize) {
            return Err(RunError::Invariant(format!("{} flows, more than a switch has rows for", flows.len())));
        }
        // Control frames are forwarded like the flows that they are about.
        forwarding.extend_from_within(..);
        if spec.congestion.is_some() {
            self.check_ways_back(node, &view.outputs[node as usize])?;
        }
        let sampled = self.probes.queues && self.probes.interval.is_some();
        let by_class = view.pause_by_class || spec.strict_priority;
        let ports = self.switch_ports(&spec, node, &links, rows, (by_class, first_point), view)?;
        let checkpoints = Checkpoints::new(Some(self.measured.from), self.probes.interval.filter(|_| sampled));
        let switch = EthernetSwitch::new(&spec, ports, memory, by_class, forwarding, self.rows(), checkpoints);
        Ok(if has_table { switch.with_paths(self.node_table(node)) } else { switch })
    }

    fn switch_ports(
        &mut self,
        spec: &EthernetSwitchSpec,
        node: NodeIndex,
        links: &[(LinkId, LinkId)],
        rows: Vec<Vec<u32>>,
        (by_class, first_point): (bool, u32),
        view: &EthernetView,
    ) -> Result<Vec<SwitchPort>, RunError> {
        let sampled = self.probes.queues && self.probes.interval.is_some();
        let classes = if by_class { SharedMemory::CLASSES } else { 1 };
        let discipline = match spec.arbiter {
            Arbiter::Fifo => "fifo",
            Arbiter::RoundRobin => "round_robin",
        };
        let mut ports = Vec::with_capacity(links.len());
        for ((number, &(out, incoming)), rows) in links.iter().enumerate().zip(rows) {
            let name = self.ports.links.name(out).to_owned();
            let rate = self.link_rate(out);
            let rng = stream(self.seed, &format!("switch/{}/port/{number}", &self.names[node as usize]));
            let MadeLink { link, queue, service, recorder } = self.ports.link(out, self.ways.behind(out))?;
            let (mut record, managed) = match queue {
                Some(CountedQueue { queue, class_queues, record }) => {
                    if class_queues.len() + 1 != classes {
                        return Err(RunError::Invariant(format!("`{name}`: {classes} classes have a queue each")));
                    }
                    let queues = std::iter::once(queue).chain(class_queues).collect();
                    let managed = DisciplineQueues::new(queues, links.len(), spec.strict_priority);
                    (record, Some(Box::new(managed)))
                }
                None => (QueueRecord::new(discipline.to_owned(), QueueCounters::new(self.measured), rng), None),
            };
            record.counters = QueueCounters::with_rows(self.measured, rows);
            record.series = sampled.then(QueueSeries::default);
            if let Some(recorder) = recorder {
                // Disciplines record their packets themselves.
                if managed.is_none() {
                    record.counters.record(recorder.clone());
                }
                record.recorder = Some(recorder);
            }
            let point = CongestionPointId(first_point + number as u32);
            ports.push(SwitchPort::new(SwitchPortParts {
                control: ControlPort::new(
                    PauseTx::new(spec.flow_control, rate),
                    PauseRx::new(view.pause_by_class, rate, spec.reaction).watched(self.ports.watch),
                ),
                link,
                incoming,
                service: ServiceRate::new(rate, service),
                managed,
                queues: OutputQueues::new(spec.arbiter, links.len(), classes, spec.strict_priority),
                point: spec.congestion.as_ref().map(|it| (it.congestion_point(point, rate), it.sampler())),
                record,
                has_telemetry: self.ports.has_telemetry,
            }));
        }
        Ok(ports)
    }

    /// A message to a source leaves by the port on which its data frame arrived.
    fn check_ways_back(&self, node: NodeIndex, outputs: &[(u32, LinkId)]) -> Result<(), RunError> {
        let returns =
            |ways: &[(u32, LinkId)]| ways.len() == 2 && ways[0].0.is_multiple_of(2) && ways[1].0 == ways[0].0 + 1;
        let Some(ways) = outputs.chunks(2).find(|ways| !returns(ways)) else { return Ok(()) };
        let (name, node) = (self.flows.get(ways[0].0 as usize / 2).name, &self.names[node as usize]);
        Err(RunError::Invariant(format!("`{name}` crosses `{node}` in one direction alone")))
    }

    fn adapter(
        &mut self,
        spec: AdapterSpec,
        node: NodeIndex,
        view: &EthernetView,
        adapter_flows: &mut AdapterFlows<'_>,
    ) -> Result<Adapter, RunError> {
        let name = self.names[node as usize].to_owned();
        let links = self.port_links(node)?;
        let &[(out, incoming)] = &links[..] else {
            return Err(RunError::Invariant(format!("`{name}` has an adapter and {} links", links.len())));
        };
        let MadeLink { link, queue, service, .. } = self.ports.link(out, self.ways.behind(out))?;
        if queue.is_some() || !service.is_empty() {
            return Err(RunError::Invariant(format!("`{name}`: an adapter has queues and a rate of its own")));
        }
        let sampled = self.probes.flows && self.probes.interval.is_some();
        let mut parts = AdapterParts {
            name,
            pause_by_class: view.pause_by_class,
            uplink: link,
            out_rate: self.link_rate(out),
            in_rate: self.link_rate(incoming),
            rows: self.rows(),
            sources: Vec::new(),
            generators: Vec::new(),
            destinations: Vec::new(),
            attached: AttachedParts::default(),
            checkpoints: Checkpoints::new(Some(self.measured.from), self.probes.interval.filter(|_| sampled)),
            watch: self.ports.watch.cloned(),
            spec,
        };
        adapter_flows.add_flows(&mut parts, node, self.seed, sampled)?;
        Ok(Adapter::new(parts))
    }
}
