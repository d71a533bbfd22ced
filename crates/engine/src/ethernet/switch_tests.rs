//! A switch of three ports without a network. At 10 Gb/s a frame of 1500 B takes 1.2 us.

use forebay_qdisc::{DropReason, Ecn, Queue, Rate, Trimming, TrimmingConfig};
use forebay_records::random::stream;
use forebay_switching::{BufferPolicyConfig, LongestQueueDropConfig, PauseConfig, PauseSender, SharedMemoryConfig};
use forebay_units::{Bytes, QueueSize};

use super::*;
use crate::driver::inbox::Arrivals;
use crate::driver::node::{Node as _, NodeId};
use crate::driver::routes::{Destinations, Routes, TableBuilder, Way};
use crate::driver::ties::Salts;
use crate::ethernet::control::ControlPort;
use crate::ethernet::discipline_queues::DisciplineQueues;
use crate::ethernet::output_queues::OutputQueues;
use crate::ethernet::pause::{PauseRx, PauseTx};
use crate::ethernet::port::SwitchPortParts;
use crate::link::Link;
use crate::link::service::ServiceRate;
use crate::observe::interval::MeasuredInterval;
use crate::observe::queue_counters::{QueueCounters, QueueRecord};
use crate::packet::PacketFields;
use crate::packet::side_tables::SideTables;
use crate::spec::Arbiter;

const LINE: Rate = Rate::megabits(10_000);
const END: Time = Time::from_picoseconds(1_000_000_000);
const PORTS: usize = 3;
/// Flows 0 and 1 go to port 2, and their ACKs to port 1.
const ROWS: ControlRows = ControlRows { flows: 2 };
const SWITCH: NodeId = PORTS as NodeId;

fn at(nanoseconds: u64) -> Time {
    Time::ZERO + Span::from_nanoseconds(nanoseconds)
}

/// A frame of a flow as it comes by a port.
fn frame(flow: u32, class: u8, input: u32, nanoseconds: u64) -> Packet {
    let (time, flags, ecn) = (at(nanoseconds), 0, Ecn::NotCapable);
    let fields = PacketFields { time, stamp: 0, number: 0, flow, len_bytes: 1500, flags, class, ecn };
    Packet::new(fields).arriving(time, input)
}

fn spec(flow_control: FlowControl, strict_priority: bool) -> EthernetSwitchSpec {
    EthernetSwitchSpec {
        memory: SharedMemoryConfig { share: Bytes(4500), policy: BufferPolicyConfig::default() },
        flow_control,
        watchdog: None,
        reaction: Span::ZERO,
        arbiter: Arbiter::Fifo,
        strict_priority,
        forwarding_delay: Span::ZERO,
        congestion: None,
    }
}

/// `queue` is that of port 2.
fn switch(spec: &EthernetSwitchSpec, measured: MeasuredInterval, mut queue: Option<Queue<Packet>>) -> EthernetSwitch {
    let classes = if spec.strict_priority { SharedMemory::CLASSES } else { 1 };
    let port = |number: u32| {
        let queue = if number == 2 { queue.take() } else { None };
        let rows = if number == 0 { Vec::new() } else { vec![0, 2] };
        let counters = QueueCounters::with_rows(measured, rows);
        SwitchPort::new(SwitchPortParts {
            has_telemetry: false,
            control: ControlPort::new(PauseTx::new(spec.flow_control, LINE), PauseRx::new(false, LINE, spec.reaction)),
            link: Link::new(number, LINE, Span::ZERO, 0, Way::to(number)),
            incoming: PORTS as u32 + number,
            service: ServiceRate::new(LINE, Vec::new()),
            queues: OutputQueues::new(spec.arbiter, PORTS, classes, spec.strict_priority),
            managed: queue.map(|queue| Box::new(DisciplineQueues::new(vec![queue], PORTS, false))),
            point: None,
            record: QueueRecord::new("fifo".to_owned(), counters, stream(1, "port")),
        })
    };
    let memory = SharedMemory::new(PORTS, spec.memory).unwrap();
    let entry = |direction: u32| ForwardingEntry::new(2 - (direction % 2) as u8, direction / 2, true);
    let forwarding = (0..4).cycle().take(8).map(entry).collect();
    let ports = (0..PORTS as u32).map(port).collect();
    EthernetSwitch::new(spec, ports, memory, spec.strict_priority, forwarding, ROWS, Checkpoints::new(None, None))
}

/// Runs a switch to the end with these arrivals. Also returns the frames that each neighbour received.
fn run(spec: &EthernetSwitchSpec, arrivals: &[Packet]) -> (EthernetSwitch, Vec<Vec<Packet>>) {
    run_under(None, spec, arrivals)
}

/// The same with a discipline at port 2.
fn run_under(
    queue: Option<Queue<Packet>>,
    spec: &EthernetSwitchSpec,
    arrivals: &[Packet],
) -> (EthernetSwitch, Vec<Vec<Packet>>) {
    let measured = MeasuredInterval { from: Time::ZERO, to: END };
    let mut switch = switch(spec, measured, queue);
    let routes = Routes::new(Destinations::new(vec![0; ROWS.directions(6)], Vec::new()), TableBuilder::default());
    let inputs: Vec<Arrivals> =
        [1, 1, 1, PORTS as u32].map(|inputs| Arrivals::ByLink(Salts::new(0..inputs))).into_iter().collect();
    let mut channels = Channels::new(routes, &inputs, 10, SideTables::new(2..4), measured);
    for packet in arrivals {
        channels.send(Way::to(SWITCH), *packet);
    }
    switch.run(END, SWITCH, &mut channels);
    let received = (0..PORTS as NodeId).map(|neighbour| channels.take(neighbour, END)).collect();
    (switch, received)
}

/// Flow and time (ns) of the arrival of each packet.
fn log(packets: &[Packet]) -> Vec<(u32, u64)> {
    packets.iter().map(|packet| (packet.flow_id(), packet.time.picoseconds() / 1000)).collect()
}

#[test]
fn frames_of_all_inputs_leave_one_after_the_other() {
    let arrivals = [frame(0, 0, 0, 0), frame(1, 0, 1, 100), frame(0, 0, 0, 200), frame(1, 0, 1, 9000)];
    let (switch, received) = run(&spec(FlowControl::None, false), &arrivals);
    assert_eq!(log(&received[2]), [(0, 1200), (1, 2400), (0, 3600), (1, 10_200)]);
    assert_eq!(switch.ports[2].record.counters.longest, 2);
}

#[test]
fn a_frame_without_room_in_its_partition_is_lost() {
    let arrivals = [0, 1, 2, 3].map(|nanoseconds| frame(0, 0, 0, nanoseconds));
    let (switch, received) = run(&spec(FlowControl::None, false), &arrivals);
    assert_eq!((received[2].len(), switch.ports[0].control.report.frames_lost), (3, 1));
    assert_eq!(switch.ports[2].record.counters.dropped_total, 1);
}

#[test]
fn an_input_stops_its_feeder_at_the_high_watermark_until_the_low_one() {
    let pause = FlowControl::Pause(PauseConfig { high: Bytes(3000), low: Bytes(1500) });
    let (switch, received) = run(&spec(pause, false), &[frame(0, 0, 0, 0), frame(0, 0, 0, 50), frame(1, 0, 1, 60)]);
    let orders: Vec<(u16, u64)> = received[0]
        .iter()
        .map(|it| PauseFrame::from_number(it.number()).quanta)
        .zip(log(&received[0]))
        .map(|(quanta, (_, at))| (quanta, at))
        .collect();
    // A control frame of 64 B takes 51.2 ns. The first frame has left after 1200 ns.
    assert_eq!(orders, [(PauseSender::STOP, 101), (PauseSender::GO, 1251)]);
    assert!(received[1].is_empty());
    assert_eq!(switch.control_count.created, 2);
}

#[test]
fn the_higher_class_of_one_instant_goes_first_and_no_frame_is_interrupted() {
    let arrivals = [frame(0, 1, 0, 0), frame(1, 6, 1, 0), frame(0, 0, 0, 1300), frame(1, 7, 1, 1400)];
    let (_, received) = run(&spec(FlowControl::None, true), &arrivals);
    let classes: Vec<u8> = received[2].iter().map(Packet::class).collect();
    assert_eq!(classes, [6, 1, 7, 0]);
}

/// The memory of an input has room for three whole frames and two that were cut.
#[test]
fn a_frame_that_is_cut_frees_memory_for_others() {
    let mut spec = spec(FlowControl::None, false);
    spec.memory.share = Bytes(4700);
    let config = TrimmingConfig { limit: QueueSize::Packets(1), header: Bytes(100), ..TrimmingConfig::default() };
    let queue = Queue::Discipline(Box::new(Trimming::new(&config, LINE, 0).unwrap()));
    let arrivals = [0, 10, 20, 30, 40].map(|nanoseconds| frame(0, 0, 0, nanoseconds).trimmable());
    let (mut switch, received) = run_under(Some(queue), &spec, &arrivals);
    let lengths: Vec<u32> = received[2].iter().map(Packet::len_bytes).collect();
    assert_eq!(lengths, [1500, 100, 100, 100, 1500]);
    let counters = &switch.ports[2].record.counters;
    assert_eq!((counters.trimmed, counters.bytes_trimmed, counters.dropped_total), (3, 4200, 0));
    switch.release_all(END);
    assert_eq!(switch.memory.total(), 0);
}

/// Of 13 500 bytes port 2 holds nine frames, of which one is being sent, when a frame for port 1 comes.
#[test]
fn a_full_memory_pushes_the_last_frame_of_the_longest_queue_out() {
    let mut spec = spec(FlowControl::None, false);
    spec.memory.policy = BufferPolicyConfig::LongestQueueDrop(LongestQueueDropConfig {});
    let to_port_2 = (0..11).map(|frame_number| frame(0, 0, 0, 10 * frame_number));
    let to_port_1 = Packet::new(PacketFields {
        time: at(200),
        stamp: 0,
        number: 7,
        flow: 0,
        len_bytes: 1500,
        flags: flags::ACK,
        class: 0,
        ecn: Ecn::NotCapable,
    });
    let arrivals: Vec<Packet> = to_port_2.chain([to_port_1.arriving(at(200), 0)]).collect();
    let (switch, received) = run(&spec, &arrivals);
    // The tenth and the eleventh frame find their own queue the longest.
    assert_eq!(log(&received[1]), [(0, 1400)]);
    assert_eq!(received[2].len(), 8);
    assert_eq!(received[2].last().map(|last| last.time), Some(at(8 * 1200)));
    let counters = &switch.ports[2].record.counters;
    assert_eq!(
        (counters.dropped[DropReason::Overflow as usize], counters.dropped[DropReason::Evicted as usize]),
        (2, 1)
    );
    assert_eq!(switch.ports[0].control.report.frames_lost, 3);
}
