//! One node by itself, for tests. It is node 0; the nodes behind it only collect packets. At 8 Mb/s, a packet takes a
//! millisecond.

use forebay_qdisc::{Ecn, Rate, Span, Time};
use forebay_records::StringColumn;
use forebay_records::random::stream;

use crate::driver::inbox::Arrivals;
use crate::driver::node::{Channels, Node};
use crate::driver::routes::{Destinations, Routes, TableBuilder, Way};
use crate::driver::ties::Salts;
use crate::error::RunError;
use crate::link::Link;
use crate::observe::flow_counters::SendCounters;
use crate::observe::interval::{Checkpoints, MeasuredInterval};
use crate::observe::queue_counters::{QueueCounters, QueueRecord};
use crate::observe::report::Report;
use crate::observe::reported::FlowLabels;
use crate::observe::results::RunResult;
use crate::packet::side_tables::SideTables;
use crate::packet::{FlowId, Packet, PacketFields};

/// Flows go to the destination of their number.
pub(crate) const FLOWS: u32 = 4;
pub(crate) const PACKET_BYTES: u16 = 1000;
pub(crate) const MEASURED: MeasuredInterval =
    MeasuredInterval { from: Time::ZERO, to: Time::from_picoseconds(1_000_000_000_000) };

/// A packet that left: the node that it goes to, when it arrives there in microseconds, and its flow.
pub(crate) type Left = (u32, u64, FlowId);

pub(crate) struct OneNode {
    pub node: Box<dyn Node>,
    pub channels: Channels,
    behind: u32,
    sent: [u64; FLOWS as usize],
    left: [u64; FLOWS as usize],
}

pub(crate) fn at(microseconds: u64) -> Time {
    Time::ZERO + Span::from_microseconds(microseconds)
}

/// A link without delay to the node of this number.
pub(crate) fn link(number: u32, to: u32) -> Link {
    Link::new(number, Rate::megabits(8), Span::ZERO, 0, Way::to(to))
}

pub(crate) fn no_checkpoints() -> Checkpoints {
    Checkpoints::new(None, None)
}

pub(crate) fn record() -> QueueRecord {
    QueueRecord::new("test".into(), QueueCounters::new(MEASURED), stream(1, "queue"))
}

pub(crate) fn packet(time: Time, flow: FlowId) -> Packet {
    let (ecn, len_bytes) = (Ecn::NotCapable, PACKET_BYTES);
    Packet::new(PacketFields { time, stamp: 0, number: 0, flow, len_bytes, flags: 0, class: 0, ecn })
}

impl OneNode {
    /// `behind` nodes collect what leaves `node`, whose inputs have these `salts`.
    pub fn new(node: Box<dyn Node>, salts: [u32; 2], behind: u32) -> Self {
        let destinations = Destinations::new((0..FLOWS).flat_map(|flow| [flow, flow]).collect(), Vec::new());
        let mut arrivals = vec![Arrivals::AnyOrder(Salts::new(salts.into_iter()))];
        arrivals.resize(1 + behind as usize, Arrivals::AnyOrder(Salts::new([0].into_iter())));
        let routes = Routes::new(destinations, TableBuilder::default());
        let channels = Channels::new(routes, &arrivals, 30, SideTables::default(), MEASURED);
        Self { node, channels, behind, sent: [0; FLOWS as usize], left: [0; FLOWS as usize] }
    }

    /// A packet comes by this input.
    pub fn arrive(&mut self, microseconds: u64, input: u32, flow: FlowId) {
        self.arrive_as(packet(at(microseconds), flow), input);
    }

    /// The same with a packet that a switch may cut.
    pub fn arrive_trimmable(&mut self, microseconds: u64, input: u32, flow: FlowId) {
        self.arrive_as(packet(at(microseconds), flow).trimmable(), input);
    }

    fn arrive_as(&mut self, packet: Packet, input: u32) {
        self.sent[packet.flow_id() as usize] += 1;
        self.channels.send(Way::to(0), packet.arriving(packet.time, input));
    }

    /// Runs until then, and takes what has arrived behind: node by node, in the order of arrival.
    pub fn run(&mut self, microseconds: u64) -> Vec<Left> {
        self.node.run(at(microseconds), 0, &mut self.channels);
        self.take(at(microseconds))
    }

    fn take(&mut self, until: Time) -> Vec<Left> {
        let mut all = Vec::new();
        for behind in 1..=self.behind {
            for packet in self.channels.take(behind, until) {
                self.left[packet.flow_id() as usize] += 1;
                all.push((behind, packet.time.picoseconds() / 1_000_000, packet.flow_id()));
            }
        }
        all
    }

    /// Reports at the end. Every packet must be accounted for.
    pub fn finish(mut self, links: &[&str]) -> Result<RunResult, RunError> {
        self.take(Time::NEVER);
        let (mut labels, mut names) = (FlowLabels::default(), StringColumn::new());
        links.iter().for_each(|name| names.push(name));
        (0..FLOWS).for_each(|flow| labels.push(&format!("flow-{flow}"), "flow", "udp", [0, 1], 1));
        let mut report = Report::new(MEASURED, labels, ["source", "sink"].into_iter().collect(), names);
        self.node.finish(MEASURED.to, &mut report);
        self.channels.finish(&mut report);
        for (flow, (sent, left)) in self.sent.into_iter().zip(self.left).enumerate() {
            let mut sender = SendCounters::default();
            sender.count.packets = sent;
            report.sender(flow as FlowId, sender);
            report.in_flight(2 * flow, left);
        }
        report.close(None)
    }
}
