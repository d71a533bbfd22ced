//! An adapter by itself: what comes and goes is written down by hand.

use std::sync::{Arc, Mutex};

use forebay_qdisc::Ecn;
use forebay_switching::congestion::{CongestionPointId, Context, ReactionPoint, Reflector};
use forebay_switching::{PauseConfig, PauseSender};
use forebay_units::Bytes;
use proptest::prelude::*;

use super::*;
use crate::driver::node::Node as _;
use crate::driver::routes::{Routes, Step};
use crate::link::Wire;
use crate::observe::flow_book::{ReceiveBook, SendBook};
use crate::observe::interval::MeasuredInterval;
use crate::packet::{PacketFields, departure_stamp};
use crate::rng::stream;
use crate::spec::{EthernetPort, FlowControl, FrameArrivals, ServiceStep};

const LINE: Rate = Rate::megabits(10_000);
const END: Time = Time::from_picoseconds(10_000_000_000);
const ROWS: ControlRows = ControlRows { flows: 4 };
/// The link takes no time: what it carries is timed by hand.
const WIRE: Rate = Rate::megabits(1_000_000_000_000);
const NODE: NodeId = 0;
const NEIGHBOUR: NodeId = 1;
/// Flows 0 and 1 begin here, flows 2 and 3 end here.
const FORWARD: u8 = 0;
const OUT: LinkId = 0;
const INCOMING: LinkId = 1;

fn at(nanoseconds: u64) -> Time {
    Time::ZERO + Span::from_nanoseconds(nanoseconds)
}

/// What parts of a scheme were called with.
type Log = Arc<Mutex<Vec<(&'static str, Time)>>>;

/// Does what it is told: a rate report sets the rate, and ends the limit if it is the line's or more. A probe goes
/// behind each `probe_every`th frame, and one every `poll_every`.
#[derive(Clone)]
struct Obedient {
    rate_bps: Option<f64>,
    probe_every: u32,
    sent: u32,
    poll_every: Option<Span>,
    poll_at: Time,
    log: Log,
}

impl ReactionPoint for Obedient {
    fn receive(&mut self, message: &Message, context: &mut Context<'_>) {
        self.log.lock().unwrap().push(("receive", context.now));
        if let Message::RateReport { rate_bps } = *message {
            self.rate_bps = Some(rate_bps).filter(|&rate| rate < 10e9);
        }
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

/// Answers each probe with its latency.
struct Mirror;

impl Reflector for Mirror {
    fn delivered(&mut self, _delivered_bytes: u64, marked: bool, _context: &mut Context<'_>) -> Option<Message> {
        marked.then_some(Message::Cnp)
    }

    fn reflect(&mut self, message: &Message, context: &mut Context<'_>) -> Option<Message> {
        let Message::Probe { sent } = *message else { return None };
        Some(Message::ProbeReport { latency: context.now.since(sent), throughput: None })
    }
}

struct Setup {
    spec: AdapterSpec,
    arrivals: FrameArrivals,
    reaction: Obedient,
    reflects: bool,
}

impl Setup {
    fn new() -> Self {
        let port = EthernetPort { out: OUT, incoming: INCOMING, service: Vec::new() };
        Self {
            spec: AdapterSpec {
                name: "node".to_owned(),
                port,
                voq_limit: None,
                rate_limiters: None,
                egress_bytes: 150_000,
                flow_control: FlowControl::Pause(PauseConfig { high: Bytes(4500), low: Bytes(1500) }),
                reaction: Span::ZERO,
                service: Vec::new(),
                congestion: None,
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

    /// Each of the flows that begin here has a generator, so that the two offer twice what the line carries at load 1.
    fn node(self) -> Node {
        let rng = |what: &str, flow: FlowId| stream(1, &format!("{what}/{flow}"));
        let source = |flow: FlowId| SourceFlow {
            flow,
            class: flow as u8,
            len_bytes: 1500,
            ecn: Ecn::NotCapable,
            generator: flow as usize,
            share: 1.0,
            reaction: Some(Box::new(self.reaction.clone())),
            rng: rng("reaction", flow),
            book: SendBook::new(false),
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
            book: ReceiveBook::new(false),
        };
        let adapter = Adapter::new(AdapterParts {
            sources: vec![source(0), source(1)],
            generators: vec![generator(0), generator(1)],
            destinations: vec![destination(2), destination(3)],
            pause_by_class: matches!(self.spec.flow_control, FlowControl::Priority(_)),
            spec: self.spec,
            uplink: Wire::new(OUT, WIRE, Span::ZERO, 0),
            out_rate: LINE,
            in_rate: LINE,
            rows: ROWS,
            checkpoints: Checkpoints::new(None, None),
        });
        let measured = MeasuredInterval { from: Time::ZERO, to: END };
        let ends = [NEIGHBOUR, NODE].map(|node| Step { node, feeder: 0 });
        let mut routes = Routes::new(&[], ROWS.directions(2), ends.to_vec(), false);
        routes.number(&[NODE, NEIGHBOUR]);
        let lanes = Lanes::new(routes, 2, 10, measured);
        Node { adapter, sent: Vec::new(), lead: Span::ZERO, lanes }
    }
}

/// An adapter, run as the driver would.
struct Node {
    adapter: Adapter,
    sent: Vec<(Packet, Option<Message>)>,
    /// How long before its time a packet is known.
    lead: Span,
    lanes: Lanes,
}

impl Node {
    /// Notes what was sent before `until`.
    fn collect(&mut self, until: Time) {
        for packet in self.lanes.take(NEIGHBOUR, until) {
            let has_message = ROWS.is_control(packet.flow_id()) && !ROWS.is_pause(packet.flow_id());
            self.sent.push((packet, has_message.then(|| self.lanes.messages.take(packet.number()))));
        }
    }

    /// Runs until `end` while these packets come, in the order of time; a message comes with its frame.
    fn run(&mut self, incoming: &[(Packet, Option<Message>)], end: Time) {
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
                    packet = control(packet.flow_id(), packet.flags(), self.lanes.messages.put(*message), packet.time);
                }
                self.lanes.send_over(INCOMING, packet);
                next = next.min(comes);
                continue;
            }
            // As far as is known what comes.
            let known_until = Time::from_picoseconds(comes.picoseconds() - 1);
            let last = next.max(known_until.min(next.saturating_add(self.lead)).min(end));
            let until = last + Span::from_picoseconds(1);
            self.adapter.run(until, NODE, &mut self.lanes);
            self.lanes.plan(NODE, self.adapter.next());
            next = self.lanes.agenda.of(NODE);
            self.collect(until);
        }
    }

    /// Flow and time in nanoseconds of what was sent.
    fn log(&self) -> Vec<(FlowId, u64)> {
        self.sent.iter().map(|(packet, _)| (packet.flow_id(), packet.time.picoseconds() / 1000)).collect()
    }

    /// When frames of a flow, in nanoseconds.
    fn times(&self, flow: FlowId) -> Vec<u64> {
        self.log().into_iter().filter(|&(other, _)| other == flow).map(|(_, at)| at).collect()
    }

    /// The PAUSE frames, and when in nanoseconds.
    fn orders(&self) -> Vec<(PauseFrame, u64)> {
        let orders = self.sent.iter().filter(|(packet, _)| ROWS.is_pause(packet.flow_id()));
        let order = |(packet, _): &(Packet, _)| {
            assert_eq!((packet.flow_id(), packet.is_ack()), ROWS.of_link(OUT));
            (PauseFrame::from_number(packet.number()), packet.time.picoseconds() / 1000)
        };
        orders.map(order).collect()
    }
}

fn control(flow: FlowId, flags: u8, number: u32, time: Time) -> Packet {
    control_frame(flow, 0, flags, number, time)
}

fn data(flow: FlowId, time: Time, ecn: Ecn) -> (Packet, Option<Message>) {
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

fn told(flow: FlowId, rate_bps: f64, time: Time) -> (Packet, Option<Message>) {
    (control(ROWS.of_flow(flow), flags::ACK, 0, time), Some(Message::RateReport { rate_bps }))
}

fn probe(flow: FlowId, sent: Time, time: Time) -> (Packet, Option<Message>) {
    (control(ROWS.of_flow(flow), 0, 0, time), Some(Message::Probe { sent }))
}

fn pause(classes: u8, quanta: u16, time: Time) -> (Packet, Option<Message>) {
    let (flow, backward) = ROWS.of_link(INCOMING);
    (control(flow, u8::from(backward), PauseFrame { classes, quanta }.number(), time), None)
}

/// A silent node: nothing of its own to send.
fn silent() -> Setup {
    Setup { arrivals: FrameArrivals { load: 0.0, constant: true, on_off: None }, ..Setup::new() }
}

#[test]
fn queues_that_have_frames_are_served_in_turn_without_a_pause() {
    let mut node = Setup::new().node();
    node.run(&[], at(12_000));
    let expected: Vec<(FlowId, u64)> = (0..=10).map(|slot| (slot as FlowId % 2, slot * 1200)).collect();
    assert_eq!(node.log(), expected);
    assert!(node.sent.iter().all(|(frame, _)| frame.stamp == departure_stamp(frame.time) && frame.number() == 0));
}

#[test]
fn a_limited_flow_waits_for_its_limiter_and_the_other_has_the_rest() {
    let mut node = Setup::new().node();
    node.run(&[told(0, 2.5e9, at(600))], at(15_000));
    assert_eq!(node.times(0), [0, 4800, 9600, 14_400]);
    assert_eq!(node.times(1), [1200, 2400, 3600, 6000, 7200, 8400, 10_800, 12_000, 13_200]);
    let tags: Vec<u32> = node.sent.iter().filter(|(frame, _)| frame.flow_id() == 0).map(|(f, _)| f.number()).collect();
    assert_eq!(tags, [0, 42, 42, 42]);
}

#[test]
fn a_change_of_rate_changes_the_wait_that_is_under_way() {
    let mut node = Setup { arrivals: FrameArrivals { load: 0.5, constant: true, on_off: None }, ..Setup::new() }.node();
    node.run(
        &[told(0, 1e6, at(100)), told(1, 1e6, at(200)), told(0, 1e9, at(9000)), told(0, 10e9, at(20_000))],
        at(23_000),
    );
    // 12 us after the last frame, not 12 ms; then at once.
    assert_eq!(node.times(0), [0, 12_000, 20_000, 21_200, 22_400]);
    assert_eq!(node.times(1), [1200]);
}

#[test]
fn a_limiter_that_is_not_there_cannot_be_had() {
    let mut setup = Setup::new();
    setup.spec.rate_limiters = Some(1);
    let log = Arc::clone(&setup.reaction.log);
    let mut node = setup.node();
    let messages = [
        told(0, 5e9, at(100)),
        told(1, 5e9, at(200)),
        told(0, 4e9, at(300)),
        told(0, 10e9, at(400)),
        told(1, 5e9, at(500)),
    ];
    node.run(&messages, at(1000));
    let received: Vec<Time> = log.lock().unwrap().iter().map(|&(_, at)| at).collect();
    assert_eq!(received, [at(100), at(300), at(400), at(500)]);
    assert_eq!(node.adapter.ingress.messages_ignored, 1);
}

#[test]
fn a_queue_takes_no_more_frames_than_its_limit() {
    let mut setup = Setup::new();
    setup.spec.voq_limit = Some(3);
    let mut node = setup.node();
    node.run(&[], at(120_000));
    node.adapter.ingress.generate(at(120_000));
    // 101 slots: 202 frames generated, 101 sent, 2 * 3 at most left.
    assert!((95..=98).contains(&node.adapter.ingress.source_drops), "{}", node.adapter.ingress.source_drops);
}

#[test]
fn an_idle_port_wakes_for_the_next_frame() {
    let mut setup = Setup::new();
    setup.arrivals.load = 0.1;
    let mut node = setup.node();
    node.run(&[], at(30_000));
    assert_eq!(node.log(), [(0, 0), (1, 1200), (0, 12_000), (1, 13_200), (0, 24_000), (1, 25_200)]);
}

#[test]
fn pause_lets_the_frame_end_and_holds_up_data_and_probes_but_not_answers() {
    let mut setup = Setup::new();
    setup.reaction.probe_every = 2;
    let mut node = setup.node();
    // Flow 0 sends its second frame from 2400 on, and a probe behind it, which has to wait.
    let incoming = [pause(0xff, u16::MAX, at(3000)), probe(2, at(1000), at(4000)), pause(0xff, 0, at(9000))];
    node.run(&incoming, at(9100));
    let answered = at(4000) + LINE.transmission_time(64);
    assert_eq!(
        node.log(),
        [
            (0, 0),
            (1, 1200),
            (0, 2400),
            (ROWS.of_flow(2), answered.picoseconds() / 1000),
            (ROWS.of_flow(0), 9000),
            (1, 9051)
        ]
    );
    assert_eq!(node.sent[3].1, Some(Message::ProbeReport { latency: answered.since(at(1000)), throughput: None }));
    assert!(node.sent[3].0.is_ack() && !node.sent[4].0.is_ack());
    assert_eq!(node.adapter.obeyed.stopped(at(20_000)), Span::from_nanoseconds(6000));
}

#[test]
fn pause_ends_by_itself_and_begins_after_the_time_of_reaction() {
    let mut setup = Setup::new();
    setup.spec.reaction = Span::from_nanoseconds(700);
    let mut node = setup.node();
    // 100 quanta are 5120 ns, from 2400 on: what begins then has begun before.
    node.run(&[pause(0xff, 100, at(1700))], at(8000));
    assert_eq!(node.log(), [(0, 0), (1, 1200), (0, 7520)]);
}

#[test]
fn with_priority_flow_control_one_class_stops_alone() {
    let mut setup = Setup::new();
    let FlowControl::Pause(config) = setup.spec.flow_control else { unreachable!() };
    setup.spec.flow_control = FlowControl::Priority(config);
    let mut node = setup.node();
    node.run(&[pause(1 << 1, u16::MAX, at(100)), pause(1 << 1, 0, at(5000))], at(6500));
    assert_eq!(node.log(), [(0, 0), (0, 1200), (0, 2400), (0, 3600), (0, 4800), (1, 6000)]);
}

#[test]
fn a_probe_goes_right_behind_its_frame_and_is_not_charged_to_the_limiter() {
    let mut setup = Setup::new();
    setup.reaction.probe_every = 1;
    let log = Arc::clone(&setup.reaction.log);
    let mut node = setup.node();
    node.run(&[told(0, 2.5e9, at(100)), told(1, 2.5e9, at(200))], at(7000));
    let probe_of = |flow| ROWS.of_flow(flow);
    assert_eq!(
        node.log(),
        [(0, 0), (probe_of(0), 1200), (1, 1251), (probe_of(1), 2451), (0, 4800), (probe_of(0), 6000), (1, 6051)]
    );
    assert_eq!(node.sent[1].1, Some(Message::Probe { sent: at(1200) }));
    assert_eq!(log.lock().unwrap()[2..], [("sent", at(1200)), ("sent", node.sent[3].0.time), ("sent", at(6000))]);
}

#[test]
fn what_a_reaction_point_sends_by_itself_goes_when_the_port_is_free() {
    let mut setup = Setup::new();
    setup.reaction.poll_every = Some(Span::from_nanoseconds(3000));
    setup.reaction.poll_at = at(1500);
    let mut node = setup.node();
    node.run(&[], at(5000));
    let discovery = |flow| ROWS.of_flow(flow);
    assert_eq!(
        node.log(),
        [
            (0, 0),
            (1, 1200),
            (discovery(0), 2400),
            (discovery(1), 2451),
            (0, 2502),
            (1, 3702),
            (discovery(0), 4902),
            (discovery(1), 4953)
        ]
    );
}

#[test]
fn a_slow_node_fills_its_buffer_and_stops_the_switch_until_it_has_emptied() {
    let mut setup = silent();
    setup.spec.service = vec![ServiceStep { from: Time::ZERO, rate: Rate::megabits(1000) }];
    let mut node = setup.node();
    let frames: Vec<_> = (1..=5).map(|slot| data(2, at(1200 * slot), Ecn::NotCapable)).collect();
    node.run(&frames, at(100_000));
    // The third frame fills it up to the mark; each takes 12 us; one is left after the fourth has gone.
    let order = |quanta| PauseFrame { classes: 0xff, quanta };
    assert_eq!(node.orders(), [(order(PauseSender::STOP), 3600), (order(PauseSender::GO), 1200 + 4 * 12_000)]);
    assert_eq!(node.adapter.port.memory_max_bytes, 5 * 1500);
    assert_eq!(node.adapter.port.pause_frames_sent, 2);
    assert_eq!((node.adapter.egress.used_bytes(), node.adapter.port.frames_lost), (0, 0));
}

#[test]
fn an_order_to_stop_goes_ahead_of_all_but_the_frame_that_is_being_sent_and_is_said_again() {
    let mut setup = Setup::new();
    setup.spec.service = vec![ServiceStep { from: Time::ZERO, rate: Rate::megabits(1) }];
    let mut node = setup.node();
    let frames: Vec<_> = (1..=3).map(|slot| data(2, at(1200 * slot + 100), Ecn::NotCapable)).collect();
    node.run(&frames, at(2_000_000));
    let order = PauseFrame { classes: 0xff, quanta: PauseSender::STOP };
    // Half of 65535 quanta of 51.2 ns later, when a frame has ended.
    let again = 3700 + 65_535 * 256 / 10;
    let orders = node.orders();
    assert_eq!(orders[0], (order, 4800));
    assert!(orders[1].0 == order && (again..again + 1200).contains(&orders[1].1), "{orders:?}");
    assert_eq!(orders.len(), 2);
}

#[test]
fn what_finds_no_room_is_lost() {
    let mut setup = silent();
    setup.spec.egress_bytes = 3100;
    setup.spec.flow_control = FlowControl::None;
    setup.spec.service = vec![ServiceStep { from: Time::ZERO, rate: Rate::megabits(1000) }];
    let mut node = setup.node();
    let mut frames: Vec<_> = (1..=4).map(|slot| data(3, at(1200 * slot), Ecn::NotCapable)).collect();
    frames.push(probe(3, at(0), at(5000)));
    frames.push(probe(3, at(0), at(5100)));
    node.run(&frames, at(100_000));
    assert_eq!(node.adapter.port.frames_lost, 3);
    assert_eq!(node.adapter.lost.flows[&3], (2, 2));
    let ControlCount { created, consumed, lost, .. } = node.adapter.control;
    assert_eq!((created, consumed, lost), (1, 1, 1));
    assert_eq!(node.orders(), []);
}

#[test]
fn a_probe_is_answered_when_it_has_left_the_buffer_and_a_mark_when_its_frame_has() {
    let mut setup = silent();
    setup.spec.service = vec![ServiceStep { from: at(5000), rate: Rate::megabits(1000) }];
    let mut node = setup.node();
    let frames = [
        data(2, at(1000), Ecn::CongestionExperienced),
        probe(2, at(500), at(1200)),
        data(3, at(10_000), Ecn::CongestionExperienced),
        probe(3, at(9000), at(11_000)),
    ];
    node.run(&frames, at(100_000));
    let at_line = at(2200) + LINE.transmission_time(64);
    let slow = at(22_000) + Rate::megabits(1000).transmission_time(64);
    let answers: Vec<_> =
        node.sent.iter().map(|(frame, message)| (frame.flow_id(), frame.time, message.unwrap())).collect();
    let report = |latency| Message::ProbeReport { latency, throughput: None };
    // A frame is 1.2 us at the line's rate and 12 us at the node's: answers are sent one after the other.
    let first = (ROWS.of_flow(2), at(2200), Message::Cnp);
    let second = (ROWS.of_flow(2), at_line, report(at_line.since(at(500))));
    let third = (ROWS.of_flow(3), at(22_000), Message::Cnp);
    assert_eq!(answers, [first, second, third, (ROWS.of_flow(3), slow, report(slow.since(at(9000))))]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    /// The driver hands packets over before their time. That must not show.
    #[test]
    fn it_makes_no_difference_how_early_packets_are_handed_over(
        load in 0.05_f64..1.0,
        probe_every in 0_u32..4,
        service_mbps in 500_u64..10_000,
        reflects: bool,
        priority: bool,
        reaction_ns in 0_u64..2000,
        lead_ns in 1_u64..5000,
        gaps in prop::collection::vec((52_u64..3000, 0_u8..8, 0.1_f64..12.0), 1..120),
    ) {
        let run = |lead| {
            let mut setup = Setup::new();
            setup.arrivals = FrameArrivals { load, constant: false, on_off: None };
            setup.spec.voq_limit = Some(10);
            setup.spec.service = vec![ServiceStep { from: at(3000), rate: Rate::megabits(service_mbps) }];
            setup.spec.reaction = Span::from_nanoseconds(reaction_ns);
            if let FlowControl::Pause(config) = setup.spec.flow_control && priority {
                setup.spec.flow_control = FlowControl::Priority(config);
            }
            setup.reaction.probe_every = probe_every;
            setup.reaction.poll_every = Some(Span::from_nanoseconds(7000));
            setup.reaction.poll_at = at(7000);
            setup.reflects = reflects;
            let mut node = setup.node();
            node.lead = Span::from_nanoseconds(lead);
            let mut time = at(0);
            let mut incoming = Vec::new();
            for &(gap, kind, gbps) in &gaps {
                time += Span::from_nanoseconds(gap);
                incoming.push(match kind {
                    0 => pause(1, u16::MAX, time),
                    1 => pause(0xff, 30, time),
                    2 => pause(0xff, 0, time),
                    3 => probe(2, Time::ZERO, time),
                    4 => told(0, gbps * 1e9, time),
                    5 => told(1, gbps * 1e9, time),
                    _ => data(2, time, if gbps < 3.0 { Ecn::CongestionExperienced } else { Ecn::NotCapable }),
                });
            }
            node.run(&incoming, at(400_000));
            let Adapter { control, port, ingress, .. } = node.adapter;
            let messages: Vec<_> = node.sent.iter().map(|(frame, message)| (*frame, *message)).collect();
            let frames: Vec<_> = messages.iter().map(|(frame, message)| {
                let number = if message.is_some() { 0 } else { frame.number() };
                (frame.time, frame.flow_id(), frame.is_ack(), number, *message)
            }).collect();
            (frames, control.created, control.consumed, port.frames_lost, port.memory_max_bytes, ingress.source_drops)
        };
        let in_time = run(0);
        prop_assert!(in_time.0.is_sorted_by_key(|frame| frame.0));
        prop_assert_eq!(in_time, run(lead_ns));
    }
}
