//! An adapter without a network.

use std::sync::{Arc, Mutex};

use forebay_qdisc::Ecn;
use forebay_records::random::stream;
use forebay_switching::PauseConfig;
use forebay_switching::congestion::{CongestionPointId, Context, DcqcnConfig, ReactionPoint, Reflector};
use forebay_units::Bytes;

use super::super::*;
use crate::driver::inbox::Arrivals;
use crate::driver::node::{Node as _, NodeId};
use crate::driver::routes::{Destinations, Routes, TableBuilder, Way};
use crate::driver::ties::Salts;
use crate::ethernet::attached::AttachedParts;
use crate::ethernet::control::control_frame;
use crate::ethernet::voq::{SourceFlow, Supply};
use crate::link::Link;
use crate::observe::flow_counters::{ReceiveCounters, SendCounters};
use crate::observe::interval::MeasuredInterval;
use crate::packet::side_tables::SideTables;
use crate::packet::{PacketFields, departure_stamp};
use crate::spec::{FlowControl, FrameArrivals, LinkId};

pub(super) const LINE: Rate = Rate::megabits(10_000);
pub(super) const END: Time = Time::from_picoseconds(10_000_000_000);
/// Flows 0 and 1 begin here, flows 2 and 3 end here.
pub(super) const ROWS: ControlRows = ControlRows { flows: 4 };
/// The link takes no time.
pub(super) const WIRE: Rate = Rate::megabits(1_000_000_000_000);
pub(super) const NODE: NodeId = 0;
pub(super) const NEIGHBOUR: NodeId = 1;
/// The class of received data.
pub(super) const FORWARD: u8 = 0;
pub(super) const OUT: LinkId = 0;
pub(super) const INCOMING: LinkId = 1;

pub(super) fn at(nanoseconds: u64) -> Time {
    Time::ZERO + Span::from_nanoseconds(nanoseconds)
}

/// Calls of a scheme's parts.
pub(super) type Log = Arc<Mutex<Vec<(&'static str, Time)>>>;

/// A rate report sets the rate. The line rate or more ends the limit. A probe follows every `probe_every`th frame, and
/// a rate discovery is sent every `poll_every`.
#[derive(Clone)]
pub(super) struct Obedient {
    pub(super) rate_bps: Option<f64>,
    pub(super) probe_every: u32,
    pub(super) sent: u32,
    pub(super) poll_every: Option<Span>,
    pub(super) poll_at: Time,
    pub(super) log: Log,
}

impl ReactionPoint for Obedient {
    fn receive(&mut self, message: &Message, context: &mut Context<'_>) {
        self.log.lock().unwrap().push(("receive", context.now));
        if let Message::RateReport { rate_bps } = *message {
            self.rate_bps = Some(rate_bps).filter(|&rate| rate < 10e9);
        }
    }

    /// Every frame.
    fn byte_counter(&self) -> u64 {
        0
    }

    fn sent(&mut self, _sent_bytes: u64, context: &mut Context<'_>) -> Option<Message> {
        self.log.lock().unwrap().push(("sent", context.now));
        self.sent += 1;
        (self.probe_every > 0 && self.sent.is_multiple_of(self.probe_every))
            .then_some(Message::Probe { sent: context.now })
    }

    fn poll_at(&self) -> Time {
        self.poll_at
    }

    fn expire(&mut self, context: &mut Context<'_>) -> Option<Message> {
        self.poll_at = self.poll_at.saturating_add(self.poll_every.unwrap_or(Span::MAX));
        Some(Message::RateDiscovery { rate_bps: context.now.seconds() })
    }

    fn rate_bps(&self) -> Option<f64> {
        self.rate_bps
    }

    fn associated(&self) -> Option<CongestionPointId> {
        self.rate_bps.map(|_| CongestionPointId(41))
    }
}

/// Answers a probe with its latency, and a mark with a CNP.
pub(super) struct Mirror;

impl Reflector for Mirror {
    fn delivered(&mut self, marked: bool, _context: &mut Context<'_>) -> Option<Message> {
        marked.then_some(Message::Cnp)
    }

    fn reflect(&mut self, message: &Message, _delivered_bytes: u64, context: &mut Context<'_>) -> Option<Message> {
        let Message::Probe { sent } = *message else { return None };
        Some(Message::ProbeReport { latency: context.now.since(sent), throughput: None })
    }
}

pub(super) struct Setup {
    pub(super) spec: AdapterSpec,
    pub(super) arrivals: FrameArrivals,
    pub(super) reaction: Obedient,
    pub(super) reflects: bool,
}

impl Setup {
    pub(super) fn new() -> Self {
        Self {
            spec: AdapterSpec {
                voq_limit: None,
                rate_limiters: None,
                egress_bytes: 150_000,
                flow_control: FlowControl::Pause(PauseConfig { high: Bytes(4500), low: Bytes(1500) }),
                reaction: Span::ZERO,
                service: Vec::new(),
                // Its destinations answer data.
                congestion: Some(CongestionManagement::Dcqcn(DcqcnConfig::default())),
            },
            arrivals: FrameArrivals { load: 1.0, constant: true, on_off: None },
            reaction: Obedient {
                rate_bps: None,
                probe_every: 0,
                sent: 0,
                poll_every: None,
                poll_at: Time::NEVER,
                log: Log::default(),
            },
            reflects: true,
        }
    }

    /// Each flow that begins here has a generator, so that they offer twice the line rate at load 1.
    pub(super) fn node(self) -> Node {
        let rng = |what: &str, flow: FlowId| stream(1, &format!("{what}/{flow}"));
        let source = |flow: FlowId| SourceFlow {
            flow,
            class: flow as u8,
            is_ack: false,
            supply: Supply::Generator { generator: flow as usize, share: 1.0, len_bytes: 1500, ecn: Ecn::NotCapable },
            reaction: Some(Box::new(self.reaction.clone())),
            rng: rng("reaction", flow),
            counters: SendCounters::new(false),
        };
        let generator = |flow: FlowId| GeneratorParts {
            arrivals: self.arrivals,
            slot: LINE.transmission_time(1500),
            start: Time::ZERO,
            stop: Time::NEVER,
            rng: rng("frames", flow),
        };
        let destination = |flow: FlowId| DestinationFlow {
            flow,
            class: FORWARD,
            reflector: self.reflects.then(|| Box::new(Mirror) as Box<dyn Reflector>),
            rng: rng("reflector", flow),
            has_endpoint: false,
            counters: ReceiveCounters::new(false),
        };
        let (out, incoming) = (Way::to(NEIGHBOUR), Way::to(NODE));
        let adapter = Adapter::new(AdapterParts {
            name: "node".to_owned(),
            sources: vec![source(0), source(1)],
            generators: vec![generator(0), generator(1)],
            destinations: vec![destination(2), destination(3)],
            attached: AttachedParts::default(),
            pause_by_class: matches!(self.spec.flow_control, FlowControl::Priority(_)),
            spec: self.spec,
            uplink: Link::new(OUT, WIRE, Span::ZERO, 0, out),
            out_rate: LINE,
            in_rate: LINE,
            rows: ROWS,
            checkpoints: Checkpoints::new(None, None),
            watch: None,
        });
        let measured = MeasuredInterval { from: Time::ZERO, to: END };
        let routes = Routes::new(Destinations::new(vec![0; ROWS.directions(2)], Vec::new()), TableBuilder::default());
        let arrivals = [NODE, NEIGHBOUR].map(|_| Arrivals::ByLink(Salts::new([0].into_iter())));
        let channels = Channels::new(routes, &arrivals, 10, SideTables::new(4..8), measured);
        Node { adapter, sent: Vec::new(), lead: Span::ZERO, channels, incoming }
    }
}

/// An adapter, run as by the driver.
pub(super) struct Node {
    pub(super) adapter: Adapter,
    pub(super) sent: Vec<(Packet, Option<Message>)>,
    /// How long before its time a packet is delivered.
    pub(super) lead: Span,
    pub(super) channels: Channels,
    /// To the adapter.
    incoming: Way,
}

impl Node {
    /// Collects what was sent before `until`.
    pub(super) fn collect(&mut self, until: Time) {
        for packet in self.channels.take(NEIGHBOUR, until) {
            let has_message = ROWS.is_control(packet.flow_id()) && !ROWS.is_pause(packet.flow_id());
            self.sent.push((packet, has_message.then(|| self.channels.tables.messages.take(packet.number()))));
        }
    }

    /// Runs until `end` with these arrivals, in the order of time, each with its message.
    pub(super) fn run(&mut self, incoming: &[(Packet, Option<Message>)], end: Time) {
        let mut incoming = incoming.iter().peekable();
        let mut next = self.adapter.next();
        loop {
            let comes = incoming.peek().map_or(Time::NEVER, |(packet, _)| packet.time);
            let known_at = Time::ZERO + comes.since(Time::ZERO + self.lead);
            if next.min(known_at) > end {
                return;
            }
            if let Some((packet, message)) = incoming.next_if(|_| known_at < next || comes <= next) {
                let mut packet = *packet;
                if let Some(message) = message {
                    packet = control(
                        packet.flow_id(),
                        packet.flags(),
                        self.channels.tables.messages.put(*message),
                        packet.time,
                    );
                }
                self.channels.send(self.incoming, packet);
                next = next.min(comes);
                continue;
            }
            // Up to where the arrivals are known.
            let known_until = Time::from_picoseconds(comes.picoseconds() - 1);
            let last = next.max(known_until.min(next.saturating_add(self.lead)).min(end));
            let until = last + Span::from_picoseconds(1);
            let (_, due) = self.adapter.run(until, NODE, &mut self.channels);
            self.channels.plan(NODE, due);
            next = self.channels.agenda.of(NODE);
            self.collect(until);
        }
    }

    /// Flow and time (ns) of sent packets.
    pub(super) fn log(&self) -> Vec<(FlowId, u64)> {
        self.sent.iter().map(|(packet, _)| (packet.flow_id(), packet.time.picoseconds() / 1000)).collect()
    }

    /// Times (ns) of a flow's frames.
    pub(super) fn times(&self, flow: FlowId) -> Vec<u64> {
        self.log().into_iter().filter(|&(other, _)| other == flow).map(|(_, at)| at).collect()
    }

    /// The PAUSE frames and their times (ns).
    pub(super) fn orders(&self) -> Vec<(PauseFrame, u64)> {
        let orders = self.sent.iter().filter(|(packet, _)| ROWS.is_pause(packet.flow_id()));
        let order = |(packet, _): &(Packet, _)| {
            let order = PauseFrame::from_number(packet.number());
            assert_eq!(packet.direction_index(), ROWS.pause(OUT, order, packet.time).direction_index());
            (order, packet.time.picoseconds() / 1000)
        };
        orders.map(order).collect()
    }
}

pub(super) fn control(flow: FlowId, flags: u8, number: u32, time: Time) -> Packet {
    control_frame(flow, 0, flags, number, time)
}

pub(super) fn data(flow: FlowId, time: Time, ecn: Ecn) -> (Packet, Option<Message>) {
    let fields = PacketFields {
        time,
        stamp: departure_stamp(Time::ZERO),
        number: 0,
        flow,
        len_bytes: 1500,
        flags: 0,
        class: FORWARD,
        ecn,
    };
    (Packet::new(fields), None)
}

pub(super) fn told(flow: FlowId, rate_bps: f64, time: Time) -> (Packet, Option<Message>) {
    (control(ROWS.of_flow(flow), flags::ACK, 0, time), Some(Message::RateReport { rate_bps }))
}

pub(super) fn probe(flow: FlowId, sent: Time, time: Time) -> (Packet, Option<Message>) {
    (control(ROWS.of_flow(flow), 0, 0, time), Some(Message::Probe { sent }))
}

pub(super) fn pause(classes: u8, quanta: u16, time: Time) -> (Packet, Option<Message>) {
    (ROWS.pause(INCOMING, PauseFrame { classes, quanta }, time), None)
}

/// A node with nothing to send.
pub(super) fn silent() -> Setup {
    Setup { arrivals: FrameArrivals { load: 0.0, constant: true, on_off: None }, ..Setup::new() }
}
