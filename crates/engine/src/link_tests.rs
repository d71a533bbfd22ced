//! A link by itself. At 8 Mb/s, a byte takes a microsecond.

use forebay_qdisc::Ecn;

use super::*;
use crate::packet::PacketFields;

const PROPAGATION_US: u64 = 300;

fn link() -> Link {
    let propagation = Span::from_microseconds(PROPAGATION_US);
    Link::new(0, Rate::megabits(8), propagation, 3, Way::to(0))
}

fn at(microseconds: u64) -> Time {
    Time::ZERO + Span::from_microseconds(microseconds)
}

fn packet(sent_us: u64, len_bytes: u16) -> Packet {
    let (time, flags) = (at(sent_us), 0);
    Packet::new(PacketFields { time, stamp: 0, number: 0, flow: 1, len_bytes, flags, class: 0, ecn: Ecn::NotCapable })
}

fn measured(from_us: u64, to_us: u64) -> MeasuredInterval {
    MeasuredInterval { from: at(from_us), to: at(to_us) }
}

/// The end of each transmission in microseconds.
fn ends(link: &mut Link, sent: &[(u64, u16)], interval: &MeasuredInterval) -> Vec<u64> {
    let tables = SideTables::default();
    let arrives = |&(sent_us, len_bytes): &(u64, u16)| {
        let passed = link.pass(&packet(sent_us, len_bytes), interval, &tables);
        assert_eq!(passed.input(), 3);
        passed.time.picoseconds() / 1_000_000 - PROPAGATION_US
    };
    sent.iter().map(arrives).collect()
}

#[test]
fn a_packet_waits_for_the_one_before_it() {
    let sent = [(0, 1000), (500, 1000), (5000, 1000)];
    assert_eq!(ends(&mut link(), &sent, &measured(0, 10_000)), [1000, 2000, 6000]);
}

#[test]
fn packets_of_changing_lengths_take_their_own_times() {
    let sent = [(0, 1000), (0, 40), (0, 1000), (0, 1500), (0, 40), (0, 1000)];
    let mut link = link();
    assert_eq!(ends(&mut link, &sent, &measured(0, 10_000)), [1000, 1040, 2040, 3540, 3580, 4580]);
    let report = link.finish(&measured(0, 10_000));
    assert_eq!((report.hops, report.packets, report.bytes), (6, 6, 4580));
}

#[test]
fn counters_and_utilization_are_those_of_the_measured_interval() {
    let interval = measured(1500, 3500);
    let mut link = link();
    ends(&mut link, &[(0, 1000); 4], &interval);
    let report = link.finish(&interval);
    assert_eq!((report.hops, report.packets, report.bytes), (3, 2, 2000));
    assert_eq!(report.utilization.to_bits(), 1.0_f64.to_bits());
}

#[test]
fn each_transmission_has_the_rate_of_its_time() {
    let mut link = link();
    let step = |from_us, megabits: u64| ServiceStep { from: at(from_us), rate: Rate::new(megabits * 1_000_000) };
    link.set_service(vec![step(1500, 4), step(3000, 0), step(5000, 8)]);
    // Half of the second one is twice as slow; the third one has 250 B left when the link stops.
    let sent = [(0, 1000), (0, 1000), (0, 500), (4000, 40), (4000, 40)];
    assert_eq!(ends(&mut link, &sent, &measured(0, 10_000)), [1000, 2500, 5250, 5290, 5330]);
    let report = link.finish(&measured(0, 10_000));
    assert_eq!((report.hops, report.packets, report.bytes), (5, 5, 2580));
}

#[test]
fn a_sample_is_the_share_of_its_interval_in_which_the_link_was_busy() {
    let (interval, tables) = (measured(0, 4000), SideTables::default());
    let mut link = link();
    link.sample_utilization(Some(Checkpoints::new(None, Some(Span::from_milliseconds(1)))));
    for (sent_us, len_bytes) in [(0, 500), (2200, 1000)] {
        link.pass(&packet(sent_us, len_bytes), &interval, &tables);
    }
    let series = link.finish(&interval).series.expect("a series");
    let tenths: Vec<f64> = series.iter().map(|share| (share * 10.0).round()).collect();
    assert_eq!(tenths, [5.0, 0.0, 8.0, 2.0]);
}
