//! Each fact about a packet, from a packet made for it.

use forebay_qdisc::{Ecn, FlowInfo as _};
use forebay_tcp::SackBlocks;

use super::*;
use crate::driver::routes::{Destinations, Routes, TableBuilder};
use crate::observe::interval::MeasuredInterval;
use crate::packet::PacketFields;
use crate::packet::side_tables::{AckOptions, SideTables};

const NOW: Time = Time::from_picoseconds(5_000_000_000);

/// Flow 0 goes from node 7 to node 3, flow 1 from node 8 to node 3, flow 2 back from node 3 to node 7. The headers of
/// flow 1 are encrypted.
fn channels() -> Channels {
    let destinations = Destinations::new(vec![3, 7, 3, 8, 7, 3], Vec::new()).with_encrypted([1].into_iter());
    let measured = MeasuredInterval { from: Time::ZERO, to: Time::NEVER };
    Channels::new(Routes::new(destinations, TableBuilder::default()), &[], 0, SideTables::default(), measured)
}

fn packet(flow: u32, flags: u8, stamp: u64) -> Packet {
    let (time, number, len_bytes, class, ecn) = (NOW, 4000, 40, 0, Ecn::NotCapable);
    Packet::new(PacketFields { time, stamp, number, flow, len_bytes, flags, class, ecn })
}

#[test]
fn the_hosts_of_a_packet_are_where_both_directions_end() {
    let channels = channels();
    let hosts = |flow, flags| {
        let Hosts { source, destination } = channels.hosts(&packet(flow, flags, 0));
        (source, destination)
    };
    assert_eq!([hosts(0, 0), hosts(0, flags::ACK), hosts(1, 0), hosts(2, 0)], [(7, 3), (3, 7), (8, 3), (3, 7)]);
}

#[test]
fn data_shows_when_it_left_and_an_ack_has_no_bytes_left() {
    let channels = channels();
    let left = Time::from_picoseconds(4_000_000_000);
    let data = packet(0, 0, crate::packet::departure_stamp(left));
    assert_eq!((channels.departure(&data), channels.remaining_bytes(&data)), (Some(left), None));
    let ack = packet(0, flags::ACK, 0);
    assert_eq!((channels.departure(&ack), channels.remaining_bytes(&ack)), (None, Some(0)));
}

#[test]
fn an_ack_shows_its_number_flags_blocks_and_echo() {
    let mut channels = channels();
    let mut options = AckOptions { sack: SackBlocks::default(), marked_bytes: None };
    options.sack.push(5000, (1 << 32) + 6000);
    let slot = channels.tables.put_options(options);
    let echo = Time::from_picoseconds(1_234_567_890);
    let ack = packet(0, flags::ACK | flags::ECE | flags::CWR, ack_stamp::of(slot, echo));
    let seen = channels.tcp_header(&ack).unwrap();
    assert_eq!(seen.flags, TcpHeader::ACK | TcpHeader::ECE | TcpHeader::CWR);
    assert_eq!((seen.number, seen.is_pure, seen.has_other_options), (4000, true, false));
    // Sequence numbers have 32 bits on the wire.
    assert_eq!((seen.sack.as_slice(), seen.timestamps), (&[(5000, 6000)][..], Some((0, 1234))));
    let bare = channels.tcp_header(&packet(0, flags::ACK | flags::SYN | flags::AE, 0)).unwrap();
    assert_eq!(bare.flags, TcpHeader::ACK | TcpHeader::SYN | TcpHeader::AE);
    assert_eq!((bare.sack.as_slice(), bare.timestamps), (&[][..], None));
}

#[test]
fn a_counter_of_marked_bytes_is_another_option() {
    let mut channels = channels();
    let slot = channels.tables.put_options(AckOptions { sack: SackBlocks::default(), marked_bytes: Some(9) });
    let ack = packet(0, flags::ACK, ack_stamp::of(slot, Time::NEVER));
    assert!(channels.tcp_header(&ack).unwrap().has_other_options);
}

#[test]
fn data_and_encrypted_flows_show_no_ack() {
    let channels = channels();
    assert_eq!(channels.tcp_header(&packet(0, 0, 0)), None);
    assert_eq!(channels.tcp_header(&packet(1, flags::ACK, 0)), None);
    assert!(channels.tcp_header(&packet(2, flags::ACK, 0)).is_some());
}
