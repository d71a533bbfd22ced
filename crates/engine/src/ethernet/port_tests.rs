//! A port alone. At 10 Gb/s a frame of 1500 B takes 1.2 us.

use forebay_qdisc::{Ecn, Rate};
use forebay_records::random::stream;

use super::*;
use crate::driver::inbox::Arrivals;
use crate::driver::routes::{Destinations, Routes, TableBuilder, Way};
use crate::driver::ties::Salts;
use crate::ethernet::pause::{PauseRx, PauseTx};
use crate::observe::interval::MeasuredInterval;
use crate::observe::queue_counters::QueueCounters;
use crate::packet::PacketFields;
use crate::packet::side_tables::SideTables;
use crate::spec::{Arbiter, FlowControl, ServiceStep};

const LINE: Rate = Rate::megabits(10_000);
const MEASURED: MeasuredInterval = MeasuredInterval { from: Time::ZERO, to: Time::from_picoseconds(1_000_000_000) };

fn at(nanoseconds: u64) -> Time {
    Time::ZERO + Span::from_nanoseconds(nanoseconds)
}

fn frame(number: u32) -> Packet {
    let (time, ecn) = (at(0), Ecn::NotCapable);
    Packet::new(PacketFields { time, stamp: 0, number, flow: 0, len_bytes: 1500, flags: 0, class: 0, ecn })
}

fn port(arbiter: Arbiter, service: Vec<ServiceStep>) -> SwitchPort {
    SwitchPort::new(SwitchPortParts {
        has_telemetry: false,
        control: ControlPort::new(PauseTx::new(FlowControl::None, LINE), PauseRx::new(false, LINE, Span::ZERO)),
        link: Link::new(0, LINE, Span::ZERO, 0, Way::to(0)),
        incoming: 1,
        service: ServiceRate::new(LINE, service),
        queues: OutputQueues::new(arbiter, 2, 1, false),
        managed: None,
        point: None,
        record: QueueRecord::new("fifo".to_owned(), QueueCounters::with_rows(MEASURED, vec![0]), stream(1, "port")),
    })
}

/// To a neighbour.
fn channels() -> Channels {
    let routes = Routes::new(Destinations::new(vec![0; 2], Vec::new()), TableBuilder::default());
    Channels::new(routes, &[Arrivals::ByLink(Salts::new([0].into_iter()))], 10, SideTables::default(), MEASURED)
}

/// Commits frames that are all there at the start. Returns when each begins.
fn commit(port: &mut SwitchPort, frames: u32) -> Vec<Time> {
    let mut channels = channels();
    let starts = (0..frames).map_while(|number| {
        let start = port.start_on_arrival(at(0), false)?;
        port.commit(&frame(number), start, 0, 0, at(0), &mut channels);
        port.departures.iter().last().map(|last| last.start)
    });
    starts.collect()
}

#[test]
fn frames_are_committed_one_after_the_other_and_revoked_from_the_last_one() {
    let mut port = port(Arbiter::Fifo, Vec::new());
    assert_eq!(commit(&mut port, 4), [0, 1200, 2400, 3600].map(at));
    port.revoke(at(1200));
    assert_eq!((port.departures.len(), port.queues.len(), port.free_at), (2, 2, at(2400)));
    let queued: Vec<u32> = std::iter::from_fn(|| port.queues.pop(1)).map(|frame| frame.number()).collect();
    assert_eq!(queued, [2, 3]);
}

#[test]
fn a_port_that_chooses_commits_the_next_frame_only() {
    assert_eq!(commit(&mut port(Arbiter::RoundRobin, Vec::new()), 4), [at(0)]);
}

#[test]
fn a_frame_takes_the_time_of_the_rate_that_the_port_has_then() {
    let slow = ServiceStep { from: at(1200), rate: Rate::new(1_000_000_000) };
    let mut port = port(Arbiter::Fifo, vec![slow]);
    // A frame that begins after a change is not committed before it.
    assert_eq!(commit(&mut port, 3), [at(0)]);
    assert_eq!(port.first_end, at(1200));
    port.commit(&frame(1), at(1200), 0, 0, at(1200), &mut channels());
    assert_eq!(port.free_at, at(13_200));
}

#[test]
fn a_port_that_chooses_waits_for_the_end_of_a_rate_of_zero() {
    let steps = [(1000, 0), (5000, 10_000_000_000)];
    let steps = steps.map(|(from, rate)| ServiceStep { from: at(from), rate: Rate::new(rate) });
    let mut port = port(Arbiter::RoundRobin, steps.to_vec());
    port.queues.push(0, 1, frame(7));
    assert!(port.next_departure(at(2000), &[], |_| false).is_none());
    assert_eq!(port.next_turn(at(2000)), at(5000));
    let next = port.next_departure(at(5000), &[], |_| false);
    assert_eq!(next.map(|(frame, start)| (frame.number(), start)), Some((7, at(5000))));
}
