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
use crate::spec::flows::{Flow, Flows};
use crate::spec::{Application, Distribution, Transport};

/// Makes the endpoints of the flows.
pub(crate) struct Endpoints {
    pub seed: u64,
    pub checkpoints: Checkpoints,
    /// Whether the flows become time series.
    pub sampled: bool,
    pub made: Vec<Endpoint>,
}

/// The numbers that endpoints get when [`Endpoints`] makes them: the (source, destination) of each flow; and how many
/// endpoints that will be. They are known before, so that the ways between them need not be planned beside them.
pub(crate) fn ends(flows: &Flows) -> (Vec<(EndpointId, EndpointId)>, usize) {
    let mut ends = Vec::with_capacity(flows.len());
    let mut next: EndpointId = 0;
    while ends.len() < flows.len() {
        let index = ends.len();
        match flows.get(index).transport {
            Transport::Tcp { application: Application::RequestResponse { .. }, .. } => {
                ends.extend([(next, next + 1), (next + 1, next)]);
                next += 2;
            }
            Transport::Cells { .. } => {
                let sinks = sharing(flows, index) as EndpointId;
                ends.extend((1..=sinks).map(|sink| (next, next + sink)));
                next += 1 + sinks;
            }
            _ => {
                ends.push((next, next + 1));
                next += 2;
            }
        }
    }
    (ends, next as usize)
}

/// How many flows, from that one on, share the source of a line of cells.
fn sharing(flows: &Flows, index: usize) -> usize {
    let line_of = |index: usize| {
        let flow = flows.get(index);
        if let Transport::Cells { line, .. } = flow.transport { Some((flow.group, *line)) } else { None }
    };
    let line = line_of(index);
    (index..flows.len()).take_while(|&index| line_of(index) == line).count()
}

impl Endpoints {
    fn push(&mut self, endpoint: Endpoint) {
        self.made.push(endpoint);
    }

    fn context(&self, flow: usize, spec: Flow<'_>) -> EndpointContext {
        EndpointContext { flow: flow as FlowId, class: spec.class, checkpoints: self.checkpoints }
    }

    fn transmitter(&self, flow: usize, spec: Flow<'_>, config: &TcpConfig) -> Transmitter {
        let mut book = SendBook::new(self.sampled);
        book.record.window_series = self.sampled.then(Vec::new);
        Transmitter::new(self.context(flow, spec), config, book.record)
    }

    fn acknowledger(&self, flow: usize, spec: Flow<'_>, config: &TcpConfig) -> Acknowledger {
        Acknowledger::new(self.context(flow, spec), config, ReceiveBook::new(self.sampled).record)
    }

    /// Adds the ends of flow `index`, and of the one after it where the two are a conversation; returns how many flows
    /// that were.
    ///
    /// # Errors
    /// If it consists of frames, which have adapters for ends.
    pub fn add(&mut self, flows: &Flows, index: usize) -> Result<usize, RunError> {
        let spec = flows.get(index);
        match spec.transport {
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
                        self.conversation(index, spec, flows.get(index + 1), config, sizes);
                        return Ok(2);
                    }
                };
                let transmitter = self.transmitter(index, spec, config);
                let acknowledger = self.acknowledger(index, spec, config);
                self.push(Endpoint::TcpSource(Box::new(TcpSource::new(transmitter, bulk, spec.start))));
                self.push(Endpoint::TcpSink(Box::new(TcpSink::new(acknowledger))));
            }
        }
        Ok(1)
    }

    fn udp(&mut self, index: usize, spec: Flow<'_>) {
        let Transport::Udp { pattern, length, header_bytes, ecn } = spec.transport else { return };
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
        self.push(Endpoint::UdpSource(Box::new(source)));
        self.push(Endpoint::UdpSink(Box::new(UdpSink::new(context, *header_bytes, ReceiveBook::new(self.sampled)))));
    }

    /// The source of a line, with all flows that share it; returns how many.
    fn cells(&mut self, flows: &Flows, index: usize) -> usize {
        let spec = flows.get(index);
        let &Transport::Cells { arrivals, len_bytes, slot, .. } = spec.transport else { return 0 };
        let count = sharing(flows, index);
        let of_line = (index..index + count).map(|index| (index, flows.get(index)));
        let cell_flow = |(index, spec): (usize, Flow<'_>)| CellFlow {
            context: self.context(index, spec),
            share: if let Transport::Cells { share, .. } = spec.transport { *share } else { 0.0 },
            book: SendBook::new(self.sampled),
        };
        let rng = stream(self.seed, &format!("flow/{}", spec.name));
        let (start, stop, checkpoints) = (spec.start, spec.stop, self.checkpoints);
        let flows = of_line.clone().map(cell_flow).collect();
        let parts = CellSourceParts { flows, arrivals, len_bytes, slot, start, stop, checkpoints, rng };
        self.push(Endpoint::CellSource(Box::new(CellSource::new(parts))));
        for (index, spec) in of_line {
            let book = ReceiveBook::new(self.sampled);
            self.push(Endpoint::UdpSink(Box::new(UdpSink::new(self.context(index, spec), 0, book))));
        }
        count
    }

    /// The two ends of a conversation: the server sends `response` and receives `request`, the client the other way
    /// round.
    fn conversation(
        &mut self,
        index: usize,
        response: Flow<'_>,
        request: Flow<'_>,
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
        self.push(Endpoint::Conversation(Box::new(server)));
        self.push(Endpoint::Conversation(Box::new(client)));
    }
}
