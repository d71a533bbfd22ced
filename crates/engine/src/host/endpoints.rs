//! The endpoints of the flows.

use forebay_qdisc::{Ecn, Time};
use forebay_tcp::TcpConfig;

use crate::error::RunError;
use crate::host::cells::{CellFlow, CellSource, CellSourceParts};
use crate::host::conversation::{Client, Conversation, ConversationParts, Role};
use crate::host::endpoint::Endpoint;
use crate::host::tcp::{Acknowledger, Bulk, TcpSink, TcpSource, Transmitter};
use crate::host::udp::{UdpSink, UdpSource, UdpSourceParts};
use crate::layout::EndpointId;
use crate::observe::flow_book::{EndpointContext, ReceiveBook, SendBook};
use crate::observe::interval::Checkpoints;
use crate::packet::FlowId;
use crate::rng::stream;
use crate::spec::{Application, Distribution, FlowSpec, Transport};

/// Makes the endpoints of the flows and remembers which is which end.
pub(crate) struct Endpoints {
    pub seed: u64,
    pub checkpoints: Checkpoints,
    /// Whether the flows become time series.
    pub sampled: bool,
    pub made: Vec<Endpoint>,
    /// (source, destination) of each flow.
    pub ends: Vec<(EndpointId, EndpointId)>,
}

impl Endpoints {
    fn push(&mut self, endpoint: Endpoint) -> EndpointId {
        self.made.push(endpoint);
        self.made.len() as EndpointId - 1
    }

    fn context(&self, flow: usize, spec: &FlowSpec) -> EndpointContext {
        EndpointContext { flow: flow as FlowId, class: spec.class, checkpoints: self.checkpoints }
    }

    fn transmitter(&self, flow: usize, spec: &FlowSpec, config: &TcpConfig) -> Transmitter {
        let mut book = SendBook::new(self.sampled);
        book.record.window_series = self.sampled.then(Vec::new);
        Transmitter::new(self.context(flow, spec), config, book.record)
    }

    fn acknowledger(&self, flow: usize, spec: &FlowSpec, config: &TcpConfig) -> Acknowledger {
        Acknowledger::new(self.context(flow, spec), config, ReceiveBook::new(self.sampled).record)
    }

    /// Adds the ends of flow `index`, and of the one after it where the two are a conversation; returns how many flows
    /// that were.
    ///
    /// # Errors
    /// If it consists of frames, which have adapters for ends.
    pub fn add(&mut self, flows: &[FlowSpec], index: usize) -> Result<usize, RunError> {
        let spec = &flows[index];
        match &spec.transport {
            Transport::Udp { .. } => self.udp(index, spec),
            Transport::Cells { .. } => return Ok(self.cells(flows, index)),
            Transport::Frames { .. } => {
                return Err(RunError::Invariant(format!("`{}`: frames without adapters", spec.name)));
            }
            Transport::Tcp { config, application } => {
                let bulk = match application {
                    Application::Unlimited => Bulk::Until(spec.stop),
                    Application::Fixed { bytes } => Bulk::Bytes(*bytes),
                    Application::RequestResponse { request_bytes, response, think } => {
                        let sizes = (*request_bytes, *response, *think);
                        self.conversation(index, spec, &flows[index + 1], config, sizes);
                        return Ok(2);
                    }
                };
                let transmitter = self.transmitter(index, spec, config);
                let acknowledger = self.acknowledger(index, spec, config);
                let source = self.push(Endpoint::TcpSource(Box::new(TcpSource::new(transmitter, bulk, spec.start))));
                let destination = self.push(Endpoint::TcpSink(Box::new(TcpSink::new(acknowledger))));
                self.ends.push((source, destination));
            }
        }
        Ok(1)
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
        let source = self.push(Endpoint::UdpSource(Box::new(source)));
        let sink = self.push(Endpoint::UdpSink(Box::new(UdpSink::new(
            context,
            *header_bytes,
            ReceiveBook::new(self.sampled),
        ))));
        self.ends.push((source, sink));
    }

    /// The source of a line, with all flows that share it; returns how many.
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
        let source = self.push(Endpoint::CellSource(Box::new(CellSource::new(parts))));
        for (index, spec) in flows[index..index + count].iter().enumerate().map(|(at, spec)| (index + at, spec)) {
            let sink = self.push(Endpoint::UdpSink(Box::new(UdpSink::new(
                self.context(index, spec),
                0,
                ReceiveBook::new(self.sampled),
            ))));
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
        let server = self.push(Endpoint::Conversation(Box::new(server)));
        let client = self.push(Endpoint::Conversation(Box::new(client)));
        self.ends.push((server, client));
        self.ends.push((client, server));
    }
}
