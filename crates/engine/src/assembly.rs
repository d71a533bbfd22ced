//! From the description of a network to the nodes that the driver runs.
//!
//! A router is a node of the driver for each of its ports, a crossbar is one for its fabric and one for each output. An
//! Ethernet switch is one, an adapter is one. Hosts are in groups. A router whose path policy has state is one more, in
//! front of its ports.
//!
//! | file | contents |
//! |---|---|
//! | `graph.rs` | nodes, links, and the paths of flows |
//! | `detours.rs` | routes around links that are avoided for a time |
//! | `hosts.rs`, `placement.rs` | which hosts run together, and where endpoints are |
//! | `channels.rs` | the channels between nodes of the driver, and their load |
//! | `leaf_spine.rs` | leaves and spines, for path policies that see all packets |
//! | `ways.rs` | the tables by which packets find their next node |
//! | `ports.rs` | links and the queues at their sending ends |
//! | `ethernet.rs`, `adapter_flows.rs` | switches and adapters of an Ethernet |

pub(crate) mod adapter_flows;
pub(crate) mod channels;
pub(crate) mod detours;
pub(crate) mod ethernet;
pub(crate) mod graph;
pub(crate) mod hosts;
pub(crate) mod leaf_spine;
pub(crate) mod placement;
pub(crate) mod ports;
pub(crate) mod ways;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use forebay_qdisc::{Rate, Span};
use forebay_records::StringColumn;
use forebay_records::random::stream;
use forebay_switching::PathPolicyConfig;
use forebay_tcp::RecoveryKind;

use crate::assembly::channels::{ChannelFinder, FoundChannels, LinkUse};
use crate::assembly::graph::Graph;
use crate::assembly::hosts::{HostGroups, HostPlan, Hosts};
use crate::assembly::placement::endpoint_places;
use crate::assembly::ports::Ports;
use crate::assembly::ways::{DriverNodes, PortPlan, Ways};
use crate::crossbar::{Crossbar, CrossbarParts};
use crate::driver::inbox::Arrivals;
use crate::driver::node::{Node, PlacedNode};
use crate::driver::node_table::NodeTable;
use crate::driver::routes::{Destinations, Routes, Way};
use crate::driver::ties::{Salts, salt_of_link};
use crate::driver::windows::{Arrangement, Windows};
use crate::error::RunError;
use crate::ethernet::control::ControlRows;
use crate::host::endpoints::{EndpointId, Endpoints, Numbers};
use crate::host::hosts::{HostParts, NONE, hosts};
use crate::host::nic::flows::NicFlows;
use crate::host::outbox::NodePorts;
use crate::host::tasks::{TaskPlan, Tasks};
use crate::observe::interval::{Checkpoints, MeasuredInterval};
use crate::observe::phase_recorder::PhaseRecorder;
use crate::observe::queue_counters::{QueueCounters, QueueRecord};
use crate::observe::queue_series::QueueSeries;
use crate::observe::transfers::SharedTable;
use crate::packet::FlowId;
use crate::packet::flow_sizes::{FlowSize, FlowSizes};
use crate::packet::side_tables::SideTables;
use crate::router::path_chooser::PathChooser;
use crate::spec::flows::Flows;
use crate::spec::links::Links;
use crate::spec::{
    AdapterSpec, CrossbarSpec, EthernetSwitchSpec, LinkId, NodeIndex, NodeSpec, Probes, RouteChange, TaskGraph,
    TcpData, Transport, Watch,
};

/// A network as its builder describes it.
pub(crate) struct Description {
    pub seed: u64,
    pub measured: MeasuredInterval,
    pub probes: Probes,
    pub nodes: Vec<NodeSpec>,
    pub node_names: StringColumn,
    pub links: Links,
    pub flows: Flows,
    pub task_graphs: Vec<TaskGraph>,
    pub paths: PathPolicyConfig,
    pub route_changes: Vec<RouteChange>,
    /// Datagrams that may wait at a host for its own uplink.
    pub device_queue_limit: Option<u32>,
    /// The table of transfers that are complete.
    pub transfer_table: Option<SharedTable>,
    /// Whether queues are shown the sizes of flows.
    pub states_sizes: bool,
    /// Flows whose senders become time series.
    pub watched_senders: BTreeSet<FlowId>,
    /// Events that are recorded one by one.
    pub watch: Option<Watch>,
}

impl Description {
    /// Makes the nodes of the driver, and the tasks of hosts without messages. The names of nodes, flows and links
    /// stay.
    ///
    /// # Errors
    /// If the description contradicts itself, or the file of a trace cannot be created.
    pub fn assemble(&mut self) -> Result<(Windows, Vec<Tasks>), RunError> {
        let Self { seed, measured, .. } = *self;
        let edges = self.links.all.iter().map(|link| link.edge).collect();
        let graph =
            Graph::new(&self.nodes, &self.node_names, edges, &self.flows, (&self.paths, &self.route_changes), seed)?;
        let numbers = Numbers::new(&self.flows);
        let of_links = LinkUse::new(&graph, &self.links.all, &self.flows)?;
        let hosts = Hosts::new(&graph, &self.links.all, &self.flows, &numbers, |link| of_links.delay(link))?;
        let mut nodes = DriverNodes::new(&graph, &self.links.all, &hosts.is_private);
        let groups = hosts.group(&graph, &self.flows, &numbers, |link| nodes.feeder(&graph, link))?;
        nodes.set_groups(&groups);
        let count = nodes.of_group(groups.groups.len() as u32) as usize;
        let finder = ChannelFinder::new(&graph, &nodes, &groups, &of_links);
        let FoundChannels { channels, loads, next } = finder.find(&self.flows, &numbers, count)?;
        let arrangement = Arrangement::new(&loads, &channels, nodes.ethernet())?;
        // Planning takes as much memory as endpoints do: all of it is free again before there are any.
        drop((of_links, channels, loads));
        let packet_time = self.packet_time();
        let generated = channels::generated(&self.flows);
        let mut tables = SideTables::new(self.flows.len() as u32..2 * self.flows.len() as u32);
        tables.sizes = self.states_sizes.then(|| FlowSizes::new(self.flows.iter().map(|flow| size(flow.transport))));
        let HostGroups { groups, receiving, .. } = groups;
        let ways = Ways::new(&graph, &nodes, &receiving, &next, &arrangement.places);
        let tasks = TaskPlan::new(std::mem::take(&mut self.task_graphs), &self.flows, &numbers.ends, seed)?;
        let (nodes, routes, alone) = Maker::new(self, &graph, &nodes, ways).make(groups, numbers, tasks)?;
        let windows = Windows::new(arrangement, nodes, routes, tables, packet_time, measured);
        Ok((windows.with_generated(generated), alone))
    }

    /// The time of a packet on the fastest link.
    fn packet_time(&self) -> Span {
        let rates = self.links.all.iter().map(|link| link.fastest);
        rates.map(|rate: Rate| rate.transmission_time(1000)).min().unwrap_or(Span::ZERO)
    }
}

/// The size that packets of TCP show.
fn size(transport: &Transport) -> FlowSize {
    match transport {
        Transport::Tcp { data: TcpData::Fixed { bytes }, .. } => FlowSize::Fixed(*bytes),
        Transport::Tcp { data: TcpData::Transfers(_), .. } => FlowSize::OfTransfers,
        _ => FlowSize::Unknown,
    }
}

/// Makes the nodes of the driver, each part of the description when its node is made.
struct Maker<'a> {
    seed: u64,
    measured: MeasuredInterval,
    probes: Probes,
    /// The nodes that are no hosts without adapters and no routers, each with its number.
    crossbars: Vec<(NodeIndex, CrossbarSpec)>,
    switches: Vec<(NodeIndex, EthernetSwitchSpec)>,
    adapters: Vec<(NodeIndex, AdapterSpec)>,
    names: &'a StringColumn,
    flows: &'a Flows,
    device_queue_limit: Option<u32>,
    transfer_table: Option<SharedTable>,
    watched_senders: &'a BTreeSet<FlowId>,
    graph: &'a Graph,
    nodes: &'a DriverNodes,
    ports: Ports<'a>,
    ways: Ways<'a>,
    /// The salts of the links into each node, as far as they are known.
    salts: BTreeMap<NodeIndex, Salts>,
    /// The salts of what nodes with endpoints send, likewise.
    salts_sending: BTreeMap<NodeIndex, Salts>,
}

impl<'a> Maker<'a> {
    fn new(network: &'a mut Description, graph: &'a Graph, nodes: &'a DriverNodes, ways: Ways<'a>) -> Self {
        let Description { seed, measured, probes, device_queue_limit, .. } = *network;
        let Description { nodes: specs, node_names, links, flows, transfer_table, watched_senders, watch, .. } =
            network;
        let control = flows.len() + links.all.len().div_ceil(2);
        let traced = ports::traced_flows(flows, control);
        let (mut crossbars, mut switches, mut adapters) = (Vec::new(), Vec::new(), Vec::new());
        for (spec, node) in std::mem::take(specs).into_iter().zip(0..) {
            match spec {
                NodeSpec::Crossbar(spec) => crossbars.push((node, *spec)),
                NodeSpec::EthernetSwitch(spec) => switches.push((node, *spec)),
                NodeSpec::Host(Some(spec)) => adapters.push((node, *spec)),
                NodeSpec::Host(None) | NodeSpec::Router => {}
            }
        }
        Self {
            seed,
            measured,
            probes,
            crossbars,
            switches,
            adapters,
            names: node_names,
            flows,
            device_queue_limit,
            transfer_table: transfer_table.take(),
            watched_senders,
            graph,
            nodes,
            ports: Ports {
                links,
                graph,
                seed,
                measured,
                probes,
                traced,
                first_pause: 2 * flows.len() as FlowId,
                watch: watch.as_ref(),
                has_telemetry: flows.iter().any(|flow| flow.transport.takes_telemetry()),
            },
            ways,
            salts: BTreeMap::new(),
            salts_sending: BTreeMap::new(),
        }
    }

    fn make(
        mut self,
        groups: Vec<Vec<HostPlan>>,
        numbers: Numbers,
        tasks: TaskPlan,
    ) -> Result<(Vec<PlacedNode>, Routes, Vec<Tasks>), RunError> {
        let endpoints = self.endpoints(numbers, tasks);
        let mut nodes = Vec::with_capacity(self.nodes.of_group(groups.len() as u32) as usize);
        let at_ports = self.endpoints_at_ports(&groups, &endpoints);
        for plan in &self.nodes.ports {
            let sender = match plan {
                PortPlan::One(link) => self.graph.edges[*link as usize].from,
                PortPlan::Sharing(node, _) => *node,
            };
            let node = self.ports.make(plan.clone(), &mut self.ways)?;
            nodes.push(PlacedNode { node, arrivals: Arrivals::AnyOrder(self.sending_salts(sender, &at_ports)) });
        }
        for &node in &self.nodes.choosing {
            let arrivals = Arrivals::AnyOrder(self.sending_salts(node, &at_ports));
            nodes.push(PlacedNode { node: Box::new(self.path_chooser(node)), arrivals });
        }
        for (node, spec) in std::mem::take(&mut self.crossbars) {
            let arrivals = Arrivals::AnyOrder(self.salts_into(node));
            nodes.push(PlacedNode { node: Box::new(self.crossbar(spec, node)), arrivals });
        }
        self.ethernet(&endpoints, &mut nodes)?;
        let ends = self.flows.iter().zip(&endpoints.numbers.ends).flat_map(|(flow, &(source, destination))| {
            let has_acks = flow.transport.least_bytes().1.is_some();
            [Some(destination), has_acks.then_some(source)].map(|end| end.filter(|&end| end != EndpointId::MAX))
        });
        let endpoint_of = endpoint_places(&groups, endpoints.numbers.flow_of.len(), ends);
        for group in groups {
            let arrivals = Arrivals::AnyOrder(match group.first() {
                Some(HostPlan { downlink: Some(downlink), .. }) => {
                    self.sending_salts(self.graph.edges[*downlink as usize].from, &at_ports)
                }
                Some(plan) => self.salts_into(plan.node),
                None => Salts::default(),
            });
            nodes.push(PlacedNode { node: self.hosts(group, &endpoint_of, &endpoints)?, arrivals });
        }
        let destinations = self.destinations();
        Ok((nodes, Routes::new(destinations, self.ways.table), endpoints.tasks.into_inner().into_alone()))
    }

    /// The builder of the ends of all flows.
    fn endpoints(&self, numbers: Numbers, tasks: TaskPlan) -> Endpoints<'a> {
        let Self { flows, seed, measured, probes, device_queue_limit, watched_senders, .. } = *self;
        let sampled = probes.flows && probes.interval.is_some();
        let checkpoints = |sampled| Checkpoints::new(Some(measured.from), probes.interval.filter(|_| sampled));
        Endpoints {
            flows,
            nic_flows: NicFlows::new(flows, &numbers.ends, seed),
            tasks: RefCell::new(tasks),
            withdrawals: RefCell::default(),
            numbers,
            seed,
            checkpoints: checkpoints(sampled),
            sampled,
            watched_senders,
            checkpoints_of_watched: checkpoints(true),
            device_queue_limit,
            transfer_table: self.transfer_table.clone(),
        }
    }

    /// The salts of those endpoints of each node that send without an uplink.
    fn endpoints_at_ports(
        &self,
        groups: &[Vec<HostPlan>],
        endpoints: &Endpoints<'_>,
    ) -> BTreeMap<NodeIndex, BTreeMap<u32, Vec<u32>>> {
        let mut at_ports: BTreeMap<NodeIndex, BTreeMap<u32, Vec<u32>>> = BTreeMap::new();
        for plan in groups.iter().flatten().filter(|plan| plan.first_input != NONE) {
            let salts = plan.endpoints.iter().map(|&endpoint| endpoints.salt(endpoint)).collect();
            at_ports.entry(plan.node).or_default().insert(plan.first_input, salts);
        }
        at_ports
    }

    /// The salts of all packets that a node sends: those that came by links, unless it is a host, then its endpoints'.
    fn sending_salts(&mut self, node: NodeIndex, at_ports: &BTreeMap<NodeIndex, BTreeMap<u32, Vec<u32>>>) -> Salts {
        let Some(endpoints) = at_ports.get(&node) else { return self.salts_into(node) };
        // A host may have a link for each of its flows, and all have these salts.
        if let Some(known) = self.salts_sending.get(&node) {
            return known.clone();
        }
        let links = self.graph.links_before_endpoints(node);
        let of_links = if links == 0 { Salts::default() } else { self.salts_into(node) };
        let salts = Salts::new((0..links).map(|link| of_links.of(link)).chain(endpoints.values().flatten().copied()));
        self.salts_sending.insert(node, salts.clone());
        salts
    }

    /// The salts of the links into a node.
    fn salts_into(&mut self, node: NodeIndex) -> Salts {
        let Self { salts, seed, graph, ports, .. } = self;
        let of_links =
            || Salts::new(graph.into.of(node).iter().map(|&link| salt_of_link(*seed, ports.links.name(link))));
        salts.entry(node).or_insert_with(of_links).clone()
    }

    /// Where the packets of each (flow, direction) end, also of control frames.
    fn destinations(&self) -> Destinations {
        let (mut numbers, mut entropies) = self.graph.destinations(self.flows);
        if self.graph.kinds.iter().any(|kind| kind.is_ethernet()) {
            let rows = ControlRows { flows: self.flows.len() as u32 };
            numbers.extend_from_within(..);
            entropies.extend_from_within(..);
            numbers.resize(rows.directions(self.ports.links.all.len()), 0);
        }
        // The answers of a ping and of RDMA are no ACKs of TCP either.
        let shows_no_acks = |transport: &Transport| match transport {
            Transport::Tcp { config, .. } => config.recovery == RecoveryKind::Quic,
            transport => matches!(transport, Transport::Ping(_) | Transport::Message(_)),
        };
        let encrypted = self.flows.iter().zip(0..).filter(|(flow, _)| shows_no_acks(flow.transport));
        Destinations::new(numbers, entropies).with_encrypted(encrypted.map(|(_, flow)| flow))
    }

    /// The hosts of a group, with their endpoints and links.
    fn hosts(
        &mut self,
        group: Vec<HostPlan>,
        endpoint_of: &Arc<[u32]>,
        endpoints: &Endpoints<'_>,
    ) -> Result<Box<dyn Node>, RunError> {
        let make = |plan: &HostPlan| {
            let Self { ports, ways, names, .. } = self;
            let mut link = |number: Option<LinkId>| {
                // A host's own link has no queue.
                let make = |number| ports.link(number, ways.behind(number)).map(|made| made.link);
                number.map(make).transpose()
            };
            let (downlink, uplink) = (link(plan.downlink)?, link(plan.uplink)?);
            let out_of = |ways: &mut Ways<'_>| ways.out_of(plan.node);
            Ok(HostParts {
                downlink,
                ports: NodePorts {
                    way: if plan.first_input == NONE { Way::default() } else { out_of(ways) },
                    first_input: plan.first_input,
                },
                uplink,
                path: endpoints.send_path(
                    &plan.endpoints,
                    &names[plan.node as usize],
                    plan.uplink.map(|uplink| ports.links.name(uplink)),
                ),
                salts: plan.endpoints.iter().map(|&endpoint| endpoints.salt(endpoint)).collect(),
                endpoints: plan.endpoints.iter().map(|&endpoint| endpoints.make(endpoint)).collect::<Result<_, _>>()?,
            })
        };
        hosts(group, make, |endpoint| endpoints.bulk_end(endpoint), Arc::clone(endpoint_of))
    }

    /// The node that chooses among the ports of a router, or of a host with several links.
    fn path_chooser(&self, node: NodeIndex) -> PathChooser {
        let ways = self.graph.out.of(node).iter().map(|&link| self.ways.to(link)).collect();
        PathChooser::new(self.node_table(node), ways)
    }

    /// The table of a node that is one of the driver, with the random stream of its path policy.
    fn node_table(&self, node: NodeIndex) -> NodeTable {
        let rng = stream(self.seed, &format!("node/{}/paths", &self.names[node as usize]));
        self.ways.node_table(node, rng, |link| self.ports.links.all[link as usize].rate)
    }

    /// The fabric of a node, with counters for each of its inputs.
    fn crossbar(&mut self, spec: CrossbarSpec, node: NodeIndex) -> Crossbar {
        let Self { seed, measured, probes, graph, .. } = *self;
        let name = self.names[node as usize].to_owned();
        let sampled = probes.queues && probes.interval.is_some();
        let record = |input: usize| {
            let rng = stream(seed, &format!("switch/{name}/input/{input}"));
            let mut record = QueueRecord::new(spec.inputs.name().to_owned(), QueueCounters::new(measured), rng);
            record.series = sampled.then(QueueSeries::default);
            record
        };
        let record = (0..spec.ports).map(record).collect();
        let rng = stream(seed, &format!("switch/{name}"));
        let checkpoints = Checkpoints::new(Some(measured.from), probes.interval.filter(|_| sampled));
        let table = self.node_table(node);
        let ways = graph.out.of(node).iter().map(|&link| self.ways.to(link)).collect();
        let recorder = self.ports.watch.map(|watch| Box::new(PhaseRecorder::new(watch, &name, spec.ports)));
        Crossbar::new(CrossbarParts { name, spec, record, table, ways, rng, checkpoints, recorder })
    }
}
