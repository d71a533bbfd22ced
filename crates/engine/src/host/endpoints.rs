//! The endpoints of the flows.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use forebay_qdisc::Time;
use forebay_records::random::{salt, stream};
use forebay_tcp::TcpConfig;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng;

use crate::driver::ties::salt_of_endpoint;
use crate::error::RunError;
use crate::host::application::{Role, SharedKind};
use crate::host::cells::{CellFlow, CellSource, CellSourceParts};
use crate::host::connection::{Connections, End};
use crate::host::endpoint::AnyEndpoint;
use crate::host::nic::flows::NicFlows;
use crate::host::nic::{self, Homa, Ndp, Nic, NicParts, Pfabric, ReceivingParts, Roce, SendingParts, Uec};
use crate::host::send_path::SendPath;
use crate::host::tasks::TaskPlan;
use crate::host::tcp::{
    Acknowledger, Bulk, TcpSink, TcpSource, TransferSink, TransferSource, TransferSourceParts, Transmitter,
};
use crate::host::udp::{CallSink, PingSink, PingSource, UdpSink, UdpSource, UdpSourceParts};
use crate::host::withdrawals::Withdrawals;
use crate::observe::flow_counters::{EndpointContext, ReceiveCounters, ReceiveRecord, SendCounters};
use crate::observe::interval::Checkpoints;
use crate::observe::sender_series::SenderSeries;
use crate::observe::transfers::{SharedTable, TransferWriter};
use crate::packet::FlowId;
use crate::spec::flows::{Flow, Flows};
use crate::spec::{Distribution, Message, NodeIndex, RdmaTransport, TcpData, Transfers, Transport};

/// Index of an endpoint.
pub(crate) type EndpointId = u32;

/// Makes the endpoints of the flows, each when its host is made: all of them in addition to the hosts would nearly
/// double the memory of a million flows.
pub(crate) struct Endpoints<'a> {
    pub flows: &'a Flows,
    pub numbers: Numbers,
    pub nic_flows: NicFlows,
    /// Those of an adapter are taken when it is made.
    pub tasks: RefCell<TaskPlan>,
    /// Those of connections of which one end is made, by the flow that receives at the client.
    pub withdrawals: RefCell<BTreeMap<usize, Arc<Withdrawals>>>,
    pub seed: u64,
    pub checkpoints: Checkpoints,
    /// Whether the flows become time series.
    pub sampled: bool,
    /// Flows whose senders become time series.
    pub watched_senders: &'a BTreeSet<FlowId>,
    pub checkpoints_of_watched: Checkpoints,
    /// Datagrams that may wait for a private uplink; `None` for any number.
    pub device_queue_limit: Option<u32>,
    /// The table of transfers that are complete, if there is one.
    pub transfer_table: Option<SharedTable>,
}

#[derive(Default)]
pub(crate) struct Numbers {
    /// The (source, destination) of each flow.
    pub ends: Vec<(EndpointId, EndpointId)>,
    /// The first flow that each endpoint is an end of.
    pub flow_of: Vec<FlowId>,
}

impl Numbers {
    pub fn new(flows: &Flows) -> Self {
        let (mut ends, mut flow_of) = (Vec::with_capacity(flows.len()), Vec::with_capacity(2 * flows.len()));
        // The adapter of a node for each transport.
        let mut nics: BTreeMap<(NodeIndex, &str), EndpointId> = BTreeMap::new();
        while ends.len() < flows.len() {
            let (flow, next) = (ends.len() as FlowId, flow_of.len() as EndpointId);
            match flows.get(ends.len()).transport {
                Transport::Tcp { data: TcpData::BothWays(kind), .. } => {
                    let connections = || 0..kind.0.connections();
                    ends.extend(connections().map(|_| (next, next + 1)));
                    ends.extend(connections().map(|_| (next + 1, next)));
                    flow_of.extend([flow; 2]);
                }
                Transport::Tcp { data: TcpData::Transfers(transfers), .. } => {
                    ends.extend((0..transfers.connections).map(|_| (next, next + 1)));
                    flow_of.extend([flow; 2]);
                }
                Transport::Cells { .. } => {
                    let sinks = sharing(flows, ends.len()) as u32;
                    ends.extend((1..=sinks).map(|sink| (next, next + sink)));
                    flow_of.push(flow);
                    flow_of.extend(flow..flow + sinks);
                }
                Transport::Frames { .. } => ends.push((EndpointId::MAX, EndpointId::MAX)),
                Transport::Message(message) => {
                    let spec = flows.get(ends.len());
                    let [source, destination] = [spec.source, spec.destination].map(|node| {
                        *nics.entry((node, message.transport.name())).or_insert_with(|| {
                            flow_of.push(flow);
                            flow_of.len() as EndpointId - 1
                        })
                    });
                    ends.push((source, destination));
                }
                _ => {
                    ends.push((next, next + 1));
                    flow_of.extend([flow; 2]);
                }
            }
        }
        Self { ends, flow_of }
    }

    /// The first flow that an endpoint is an end of, and whether it is the source.
    fn flow(&self, endpoint: EndpointId) -> (usize, bool) {
        let flow = self.flow_of[endpoint as usize] as usize;
        (flow, self.ends[flow].0 == endpoint)
    }

    /// The node at which an endpoint is.
    pub fn node(&self, endpoint: EndpointId, flows: &Flows) -> NodeIndex {
        let (flow, is_source) = self.flow(endpoint);
        let flow = flows.get(flow);
        if is_source { flow.source } else { flow.destination }
    }

    /// The salt of an endpoint. That of an adapter does not depend on the order of its flows.
    pub fn salt(&self, endpoint: EndpointId, flows: &Flows, seed: u64) -> u32 {
        let (flow, is_source) = self.flow(endpoint);
        match flows.get(flow).transport {
            Transport::Message(message) => {
                salt(seed, &format!("node/{}/{}", self.node(endpoint, flows), message.transport.name()))
            }
            _ => salt_of_endpoint(seed, flows.get(flow).name, is_source),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BulkEnd {
    Source,
    Sink,
}

/// The number of flows, from that one on, that share the source of a line of cells.
fn sharing(flows: &Flows, index: usize) -> usize {
    let line_of = |index: usize| {
        let flow = flows.get(index);
        if let Transport::Cells { line, .. } = flow.transport { Some((flow.group, *line)) } else { None }
    };
    let line = line_of(index);
    (index..flows.len()).take_while(|&index| line_of(index) == line).count()
}

fn no_adapters(flow: &str) -> RunError {
    RunError::Invariant(format!("`{flow}`: frames without adapters"))
}

impl Endpoints<'_> {
    fn context(&self, flow: usize, spec: Flow<'_>) -> EndpointContext {
        EndpointContext { flow: flow as FlowId, class: spec.class, checkpoints: self.checkpoints }
    }

    fn transmitter(&self, flow: usize, spec: Flow<'_>, config: &TcpConfig) -> Transmitter {
        let mut counters = SendCounters::new(self.sampled);
        if let Some(series) = &mut counters.record.series {
            series.window = Some(Vec::new());
        }
        let mut context = self.context(flow, spec);
        if self.watched_senders.contains(&context.flow) {
            context.checkpoints = self.checkpoints_of_watched;
            counters.record.series.get_or_insert_default().sender = Some(SenderSeries::default());
        }
        let mut transmitter = Transmitter::new(context, config, counters.record);
        let of_connection = |first: &str, other: &dyn Fn(u32) -> String| match spec.slot {
            0 => first.to_owned(),
            slot => other(slot),
        };
        let path = || of_connection("/controller", &|slot| format!("/connection/{slot}/controller"));
        let name = || of_connection(spec.name, &|slot| format!("{}, connection {slot}", spec.name));
        transmitter.introduce(|| self.random(spec, &path()).next_u64(), name);
        transmitter
    }

    fn acknowledger(&self, flow: usize, spec: Flow<'_>, config: &TcpConfig) -> Acknowledger {
        Acknowledger::new(self.context(flow, spec), config, ReceiveRecord::new(self.sampled))
    }

    fn random(&self, spec: Flow<'_>, what: &str) -> Pcg64Mcg {
        stream(self.seed, &format!("flow/{}{what}", spec.name))
    }

    /// The first flow that an endpoint is an end of, and whether it is the source.
    fn flow(&self, endpoint: EndpointId) -> (usize, bool) {
        self.numbers.flow(endpoint)
    }

    /// The processing time of an endpoint's host, in picoseconds.
    pub fn processing_time(&self, endpoint: EndpointId) -> Distribution {
        let (flow, is_source) = self.flow(endpoint);
        self.flows.get(flow).host_jitter[usize::from(!is_source)].clone()
    }

    /// The salt of an endpoint.
    pub fn salt(&self, endpoint: EndpointId) -> u32 {
        self.numbers.salt(endpoint, self.flows, self.seed)
    }

    /// Whether an endpoint sends datagrams.
    fn sends_datagrams(&self, endpoint: EndpointId) -> bool {
        let (flow, is_source) = self.flow(endpoint);
        match self.flows.get(flow).transport {
            Transport::Udp { .. } => is_source,
            Transport::Ping(_) => true,
            _ => false,
        }
    }

    /// The way of packets from these endpoints, which are on the host `node`. `uplink` is the name of its private
    /// uplink.
    pub fn send_path(&self, endpoints: &[EndpointId], node: &str, uplink: Option<&str>) -> Option<Box<SendPath>> {
        let has_datagrams = endpoints.iter().any(|&endpoint| self.sends_datagrams(endpoint));
        let limit = self.device_queue_limit.filter(|_| has_datagrams && uplink.is_some());
        let delays = endpoints.iter().map(|&endpoint| self.processing_time(endpoint)).collect();
        let path = match (uplink, endpoints) {
            (Some(uplink), _) => format!("link/{uplink}"),
            (None, &[only]) => {
                let (flow, is_source) = self.flow(only);
                format!("flow/{}/{}", self.flows.get(flow).name, if is_source { "source" } else { "sink" })
            }
            (None, _) => format!("node/{node}"),
        };
        SendPath::new(delays, limit, stream(self.seed, &format!("{path}/processing")))
    }

    /// Which end of a one-way TCP transfer an endpoint is, if it is one.
    pub fn bulk_end(&self, endpoint: EndpointId) -> Option<BulkEnd> {
        let (flow, is_source) = self.flow(endpoint);
        match self.flows.get(flow).transport {
            Transport::Tcp { data: TcpData::Unlimited | TcpData::Fixed { .. }, .. } => {
                Some(if is_source { BulkEnd::Source } else { BulkEnd::Sink })
            }
            _ => None,
        }
    }

    /// Makes the endpoint of this number.
    ///
    /// # Errors
    /// If its flow consists of frames, which have adapters for ends.
    pub fn make(&self, endpoint: EndpointId) -> Result<AnyEndpoint, RunError> {
        let (index, is_source) = self.flow(endpoint);
        let spec = self.flows.get(index);
        let context = self.context(index, spec);
        let udp_sink = |header_bytes| UdpSink::new(context, header_bytes, ReceiveCounters::new(self.sampled));
        Ok(match spec.transport {
            Transport::Udp { header_bytes, call, .. } if !is_source => {
                let sink = udp_sink(*header_bytes);
                match call.and_then(|call| call.jitter_buffer) {
                    Some(jitter_buffer) => AnyEndpoint::Other(Box::new(CallSink::new(sink, jitter_buffer))),
                    None => AnyEndpoint::UdpSink(Box::new(sink)),
                }
            }
            Transport::Udp { pattern, length, ecn, .. } => {
                AnyEndpoint::Other(Box::new(UdpSource::new(UdpSourceParts {
                    context,
                    pattern: pattern.clone(),
                    length: length.clone(),
                    ecn: *ecn,
                    start: spec.start,
                    stop: spec.stop,
                    rng: self.random(spec, ""),
                    counters: SendCounters::new(self.sampled),
                })))
            }
            &Transport::Ping(ping) if is_source => {
                AnyEndpoint::Other(Box::new(PingSource::new(context, ping, [spec.start, spec.stop], self.sampled)))
            }
            Transport::Ping(ping) => {
                AnyEndpoint::Other(Box::new(PingSink::new(context, ping, ReceiveCounters::new(self.sampled))))
            }
            Transport::Cells { .. } if !is_source => AnyEndpoint::UdpSink(Box::new(udp_sink(0))),
            &Transport::Cells { arrivals, len_bytes, slot, .. } => {
                AnyEndpoint::Other(Box::new(CellSource::new(CellSourceParts {
                    flows: self.cell_flows(index),
                    arrivals,
                    len_bytes,
                    slot,
                    start: spec.start,
                    stop: spec.stop,
                    checkpoints: self.checkpoints,
                    rng: self.random(spec, ""),
                })))
            }
            Transport::Frames { .. } => return Err(no_adapters(spec.name)),
            Transport::Message(message) => return self.nic_of(&message.transport, endpoint),
            Transport::Tcp { config, data } => {
                let bulk = match data {
                    TcpData::Unlimited => Bulk::Until(spec.stop),
                    TcpData::Fixed { bytes } => Bulk::Bytes(*bytes),
                    TcpData::Transfers(transfers) if is_source => {
                        return Ok(self.transfer_source(index, config, transfers));
                    }
                    TcpData::Transfers(_) => {
                        let counters = ReceiveCounters::new(self.sampled);
                        let sink = TransferSink::new(context, config.clone(), counters);
                        return Ok(AnyEndpoint::Other(Box::new(sink)));
                    }
                    TcpData::BothWays(kind) => return Ok(self.connections(index, is_source, config, kind)),
                };
                if is_source {
                    let transmitter = self.transmitter(index, spec, config);
                    AnyEndpoint::TcpSource(Box::new(TcpSource::new(transmitter, bulk, spec.start)))
                } else {
                    AnyEndpoint::TcpSink(Box::new(TcpSink::new(self.acknowledger(index, spec, config))))
                }
            }
        })
    }

    fn nic_of(&self, transport: &RdmaTransport, endpoint: EndpointId) -> Result<AnyEndpoint, RunError> {
        Ok(AnyEndpoint::Other(match transport {
            RdmaTransport::Uec(_) => Box::new(self.nic::<Uec>(endpoint)?),
            RdmaTransport::Ndp(_) => Box::new(self.nic::<Ndp>(endpoint)?),
            RdmaTransport::Homa(_) => Box::new(self.nic::<Homa>(endpoint)?),
            RdmaTransport::Pfabric(_) => Box::new(self.nic::<Pfabric>(endpoint)?),
            RdmaTransport::Roce(_) => Box::new(self.nic::<Roce>(endpoint)?),
        }))
    }

    /// The adapter of a host for the flows of a transport.
    fn nic<T: nic::Transport>(&self, endpoint: EndpointId) -> Result<Nic<T>, RunError> {
        let message = |id: FlowId| {
            let Transport::Message(message) = self.flows.get(id as usize).transport else { return None };
            let network = Arc::clone(T::network(&message.transport)?);
            let Message { bytes, base_round_trip, hops, .. } = *message;
            let bytes = bytes.unwrap_or(nic::UNLIMITED_BYTES);
            let source = self.numbers.ends[id as usize].0;
            Some(nic::Message { bytes, base_round_trip, hops, source, network })
        };
        let [begin, end] = self.nic_flows.at(endpoint);
        let sending: Vec<SendingParts<T>> = begin
            .iter()
            .filter_map(|&flow| {
                let spec = self.flows.get(flow as usize);
                let mut counters = SendCounters::new(self.sampled);
                let message = message(flow)?;
                if let Some(series) = &mut counters.record.series {
                    series.window = T::has_window(&message).then(Vec::new);
                }
                counters.record.size_bytes = Some(message.bytes).filter(|bytes| *bytes < nic::UNLIMITED_BYTES);
                let rng = self.random(spec, "/paths");
                Some(SendingParts { flow, class: spec.class, start: spec.start, message, counters, rng })
            })
            .collect();
        let receiving: Vec<ReceivingParts<T>> = end
            .iter()
            .filter_map(|&flow| {
                let class = self.flows.get(flow as usize).class;
                Some(ReceivingParts {
                    flow,
                    class,
                    message: message(flow)?,
                    counters: ReceiveCounters::new(self.sampled),
                })
            })
            .collect();
        let networks = || sending.iter().map(|parts| &*parts.message.network);
        let ending = || receiving.iter().map(|parts| &*parts.message.network);
        let none = || RunError::Invariant("an adapter without flows".into());
        let line_rate = networks().chain(ending()).map(T::line_rate).next().ok_or_else(none)?;
        let (transport, places, checkpoints) = (T::new(ending()), self.nic_flows.places(), self.checkpoints);
        let tasks = self.tasks.borrow_mut().take(endpoint);
        Ok(Nic::new(NicParts { transport, sending, receiving, places, tasks, line_rate, checkpoints }))
    }

    /// The flows that share the source of the line, of which this is the first.
    fn cell_flows(&self, first: usize) -> Vec<CellFlow> {
        let cell_flow = |index| {
            let spec = self.flows.get(index);
            CellFlow {
                context: self.context(index, spec),
                share: if let Transport::Cells { share, .. } = spec.transport { *share } else { 0.0 },
                counters: SendCounters::new(self.sampled),
            }
        };
        (first..first + sharing(self.flows, first)).map(cell_flow).collect()
    }

    fn transfer_source(&self, index: usize, config: &TcpConfig, transfers: &Transfers) -> AnyEndpoint {
        let spec = self.flows.get(index);
        let table = self.transfer_table.as_ref();
        AnyEndpoint::Other(Box::new(TransferSource::new(TransferSourceParts {
            context: self.context(index, spec),
            config: config.clone(),
            transfers: transfers.clone(),
            seed: self.seed,
            path: format!("flow/{}/transfer", spec.name),
            start: spec.start,
            stop: spec.stop,
            counters: SendCounters::new(self.sampled),
            writer: table.map(|table| TransferWriter::new(spec.name, table.clone())),
        })))
    }

    /// Those of the connection of this flow, which both its ends get.
    fn shared_withdrawals(&self, flow: usize) -> Arc<Withdrawals> {
        let mut of_first_end = self.withdrawals.borrow_mut();
        of_first_end.remove(&flow).unwrap_or_else(|| of_first_end.entry(flow).or_default().clone())
    }

    /// The ends of the connections of an application: the server sends the first flows and receives the others, the
    /// client the other way round.
    fn connections(&self, first: usize, is_server: bool, config: &TcpConfig, kind: &SharedKind) -> AnyEndpoint {
        let connections = kind.0.connections() as usize;
        let response_config = TcpConfig { handshake: false, ..config.clone() };
        let end = |connection| {
            let response = (first + connection, &response_config);
            let request = (first + connections + connection, config);
            let (sent, received) = if is_server { (response, request) } else { (request, response) };
            let transmitter = self.transmitter(sent.0, self.flows.get(sent.0), sent.1);
            let acknowledger = self.acknowledger(received.0, self.flows.get(received.0), received.1);
            End::new(transmitter, acknowledger, kind.0.withdraws().then(|| self.shared_withdrawals(response.0)))
        };
        let spec = self.flows.get(first);
        let (role, start) = if is_server { (Role::Server, Time::NEVER) } else { (Role::Client, spec.start) };
        let stream = |name: &str| self.random(spec, &format!("/{name}"));
        let application = kind.0.end(role, &stream, spec.stop);
        let ends = (0..connections).map(end).collect();
        AnyEndpoint::Other(Box::new(Connections::new(ends, application, start, self.context(first, spec))))
    }
}
