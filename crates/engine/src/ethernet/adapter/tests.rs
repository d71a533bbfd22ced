//! An adapter alone, with arrivals and departures by hand.

mod alone;

use std::sync::Arc;

use forebay_qdisc::Ecn;
use forebay_switching::PauseSender;
use proptest::prelude::*;

use super::*;
use crate::packet::departure_stamp;
use crate::spec::{FlowControl, FrameArrivals, ServiceStep};
use alone::*;

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
    // 12 us after the last frame, not 12 ms. Then at once.
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
    assert_eq!(node.adapter.transmit.messages_ignored, 1);
}

#[test]
fn a_queue_takes_no_more_frames_than_its_limit() {
    let mut setup = Setup::new();
    setup.spec.voq_limit = Some(3);
    let mut node = setup.node();
    node.run(&[], at(120_000));
    node.adapter.transmit.generate(at(120_000));
    // 101 slots: 202 frames generated, 101 sent, at most 2 * 3 queued.
    assert!((95..=98).contains(&node.adapter.transmit.source_drops), "{}", node.adapter.transmit.source_drops);
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
    // Flow 0 sends its second frame from 2400 on. The probe behind it must wait.
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
    let stopped = node.adapter.control.obeyed.stopped(at(20_000));
    assert_eq!(stopped.longest_since(Default::default()), Span::from_nanoseconds(6000));
}

#[test]
fn pause_ends_by_itself_and_begins_after_the_time_of_reaction() {
    let mut setup = Setup::new();
    setup.spec.reaction = Span::from_nanoseconds(700);
    let mut node = setup.node();
    // 100 quanta are 5120 ns. The pause begins at 2400, before the frame that would begin then.
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
    setup.spec.service = vec![ServiceStep { from: Time::ZERO, rate: Some(Rate::megabits(1000)) }];
    let mut node = setup.node();
    let frames: Vec<_> = (1..=5).map(|slot| data(2, at(1200 * slot), Ecn::NotCapable)).collect();
    node.run(&frames, at(100_000));
    // The third frame reaches the high watermark. Each takes 12 us. After the fourth has left, one remains.
    let order = |quanta| PauseFrame { classes: 0xff, quanta };
    assert_eq!(node.orders(), [(order(PauseSender::STOP), 3600), (order(PauseSender::GO), 1200 + 4 * 12_000)]);
    assert_eq!(node.adapter.control.report.memory_max_bytes, 5 * 1500);
    assert_eq!(node.adapter.control.report.pause_frames_sent, 2);
    assert_eq!((node.adapter.receive.used_bytes, node.adapter.control.report.frames_lost), (0, 0));
}

#[test]
fn an_order_to_stop_goes_ahead_of_all_but_the_frame_that_is_being_sent_and_is_said_again() {
    let mut setup = Setup::new();
    setup.spec.service = vec![ServiceStep { from: Time::ZERO, rate: Some(Rate::megabits(1)) }];
    let mut node = setup.node();
    let frames: Vec<_> = (1..=3).map(|slot| data(2, at(1200 * slot + 100), Ecn::NotCapable)).collect();
    node.run(&frames, at(2_000_000));
    let order = PauseFrame { classes: 0xff, quanta: PauseSender::STOP };
    // Repeated after half of 65535 quanta of 51.2 ns, when a frame has ended.
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
    setup.spec.service = vec![ServiceStep { from: Time::ZERO, rate: Some(Rate::megabits(1000)) }];
    let mut node = setup.node();
    let mut frames: Vec<_> = (1..=4).map(|slot| data(3, at(1200 * slot), Ecn::NotCapable)).collect();
    frames.push(probe(3, at(0), at(5000)));
    frames.push(probe(3, at(0), at(5100)));
    node.run(&frames, at(100_000));
    assert_eq!(node.adapter.control.report.frames_lost, 3);
    assert_eq!(node.adapter.lost.directions[&6], (2, 2));
    let ControlCount { created, consumed, lost, .. } = node.adapter.control_count;
    assert_eq!((created, consumed, lost), (1, 1, 1));
    assert_eq!(node.orders(), []);
}

#[test]
fn a_probe_is_answered_when_it_has_left_the_buffer_and_a_mark_when_its_frame_has() {
    let mut setup = silent();
    setup.spec.service = vec![ServiceStep { from: at(5000), rate: Some(Rate::megabits(1000)) }];
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
    // A frame takes 1.2 us on the line and 12 us at the node. Answers are sent one after the other.
    let first = (ROWS.of_flow(2), at(2200), Message::Cnp);
    let second = (ROWS.of_flow(2), at_line, report(at_line.since(at(500))));
    let third = (ROWS.of_flow(3), at(22_000), Message::Cnp);
    assert_eq!(answers, [first, second, third, (ROWS.of_flow(3), slow, report(slow.since(at(9000))))]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    /// The driver delivers packets before their time. This must not change results.
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
            setup.spec.service = vec![ServiceStep { from: at(3000), rate: Some(Rate::megabits(service_mbps)) }];
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
            let Adapter { control, control_count, transmit, .. } = node.adapter;
            let report = control.report;
            let messages: Vec<_> = node.sent.iter().map(|(frame, message)| (*frame, *message)).collect();
            let frames: Vec<_> = messages.iter().map(|(frame, message)| {
                let number = if message.is_some() { 0 } else { frame.number() };
                (frame.time, frame.flow_id(), frame.is_ack(), number, *message)
            }).collect();
            let [created, consumed] = [control_count.created, control_count.consumed];
            (frames, created, consumed, report.frames_lost, report.memory_max_bytes, transmit.source_drops)
        };
        let in_time = run(0);
        prop_assert!(in_time.0.is_sorted_by_key(|frame| frame.0));
        prop_assert_eq!(in_time, run(lead_ns));
    }
}
