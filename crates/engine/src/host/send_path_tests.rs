//! The processing time of a host and the queue of its device. The link takes a millisecond for each packet.

use forebay_qdisc::{Ecn, Rate, Span};
use forebay_records::random::stream;

use super::*;
use crate::driver::routes::Way;
use crate::packet::PacketFields;
use crate::packet::side_tables::SideTables;

const MEASURED: MeasuredInterval = MeasuredInterval { from: Time::ZERO, to: Time::NEVER };

fn at(microseconds: u64) -> Time {
    Time::ZERO + Span::from_microseconds(microseconds)
}

fn packet(sent_us: u64) -> Packet {
    let (time, ecn) = (at(sent_us), Ecn::NotCapable);
    Packet::new(PacketFields { time, stamp: 0, number: 0, flow: 0, len_bytes: 1000, flags: 0, class: 0, ecn })
}

/// A path of endpoints with these processing times.
fn path(delays_us: &[u32], limit: Option<u32>) -> Option<Box<SendPath>> {
    let delays = delays_us.iter().map(|delay| Distribution::Constant(f64::from(*delay) * 1e6)).collect();
    SendPath::new(delays, limit, stream(1, "host"))
}

#[test]
fn packets_without_processing_time_and_limit_need_no_path() {
    assert!(path(&[0, 0], None).is_none());
    assert!(path(&[0, 5], None).is_some() && path(&[0], Some(10)).is_some());
}

#[test]
fn a_fast_endpoint_does_not_overtake_a_slow_one() {
    let mut path = path(&[50, 10], None).expect("processing times");
    let mut send = |place, sent_us| {
        let mut packet = packet(sent_us);
        path.turn_to(place);
        path.process(&mut packet);
        packet.time
    };
    assert_eq!([send(0, 0), send(1, 20), send(1, 60)], [at(50), at(50), at(70)]);
}

#[test]
fn a_datagram_finds_room_once_the_transmission_of_another_has_begun() {
    let (mut path, tables) = (path(&[0], Some(2)).expect("a limit"), SideTables::default());
    let mut uplink = Link::new(0, Rate::megabits(8), Span::ZERO, 0, Way::to(0));
    let mut admits = |sent_us| {
        let datagram = packet(sent_us);
        let admitted = path.admit(&datagram, &uplink, &MEASURED);
        if admitted {
            uplink.pass(&datagram, &MEASURED, &tables);
        }
        admitted
    };
    // One is on the link and two wait, of which the first begins after a millisecond.
    assert_eq!([0, 0, 0, 0, 999, 1000, 1000].map(&mut admits), [true, true, true, false, false, true, false]);
    assert_eq!(path.dropped().directions.values().collect::<Vec<_>>(), [&(3, 3)]);
}
