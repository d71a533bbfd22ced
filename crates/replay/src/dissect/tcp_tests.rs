//! Headers made byte by byte, and by another library.

use etherparse::{PacketBuilder, TcpOptionElement};
use proptest::prelude::*;

use super::*;
use crate::dissect::{LinkType, dissect};

const IP_AT: u16 = 14;

/// An Ethernet frame with a TCP segment of these options and this much data.
fn frame(options: &[TcpOptionElement], data: usize) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
    let builder = builder.tcp(1000, 2000, 7, 4096).ack(0x8765_4321).options(options).unwrap();
    let mut frame = Vec::new();
    builder.write(&mut frame, &vec![0; data]).unwrap();
    frame
}

/// The header of a frame with these bytes as options, padded with zeros.
fn with_raw_options(options: &[u8]) -> TcpHeader {
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
    let mut frame = Vec::new();
    builder.tcp(1, 2, 3, 4).ack(5).options_raw(options).unwrap().write(&mut frame, &[]).unwrap();
    tcp_header(&frame, IP_AT).unwrap()
}

#[test]
fn a_pure_ack_has_its_number_its_blocks_and_its_timestamps() {
    let sack = TcpOptionElement::SelectiveAcknowledgement((100, 200), [Some((300, 400)), None, None]);
    let read = tcp_header(&frame(&[sack, TcpOptionElement::Timestamp(11, 12)], 0), IP_AT).unwrap();
    assert_eq!((read.flags, read.number, read.is_pure), (TcpHeader::ACK, 0x8765_4321, true));
    assert_eq!((read.sack.as_slice(), read.timestamps), (&[(100, 200), (300, 400)][..], Some((11, 12))));
    assert!(!read.has_other_options);
    assert!(!tcp_header(&frame(&[], 1), IP_AT).unwrap().is_pure);
}

#[test]
fn padding_of_ethernet_is_no_data() {
    let mut padded = frame(&[], 0);
    padded.resize(60, 0);
    assert!(tcp_header(&padded, IP_AT).unwrap().is_pure);
}

#[test]
fn flags_are_those_of_the_header() {
    let mut frame = frame(&[], 0);
    let at = usize::from(IP_AT) + 20 + 12;
    for (bytes, flags) in [
        ([0x50, 0x50], TcpHeader::ACK | TcpHeader::ECE),
        ([0x51, 0x90], TcpHeader::ACK | TcpHeader::CWR | TcpHeader::AE),
        ([0x5e, 0x10], TcpHeader::ACK | 0x0e00),
        ([0x50, 0x02], TcpHeader::SYN),
    ] {
        frame[at..at + 2].copy_from_slice(&bytes);
        assert_eq!(tcp_header(&frame, IP_AT).unwrap().flags, flags);
    }
}

#[test]
fn ipv6_has_the_same_header() {
    let mut frame = Vec::new();
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv6([3; 16], [4; 16], 64);
    builder.tcp(1, 2, 3, 4).ack(99).write(&mut frame, &[]).unwrap();
    let read = tcp_header(&frame, IP_AT).unwrap();
    assert_eq!((read.number, read.is_pure, read.flags), (99, true, TcpHeader::ACK));
    frame[usize::from(IP_AT) + 5] += 1;
    assert!(!tcp_header(&frame, IP_AT).unwrap().is_pure);
}

#[test]
fn other_options_and_malformed_ones_are_noted() {
    let other = |options: &[u8]| with_raw_options(options).has_other_options;
    // MD5 signature; no operation; end, behind which nothing counts.
    assert!(!other(&[&[19, 18][..], &[0; 16]].concat()));
    assert!(!other(&[1, 1, 1, 1]));
    assert!(!other(&[0, 2, 4, 5]));
    // Maximum segment size; accurate ECN; SACK of a block and a half; timestamps of one time.
    assert!(other(&[2, 4, 5, 6]));
    assert!(other(&[172, 5, 0, 0, 0, 1, 1, 1]));
    assert!(other(&[5, 14, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3]));
    assert!(other(&[8, 6, 0, 0, 0, 1]));
    // A length beyond the header ends the options.
    assert!(!other(&[2, 40, 0, 0]));
    assert!(!other(&[2, 1, 0, 0]));
    assert_eq!(with_raw_options(&[5, 14, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3]).sack.as_slice(), [(1, 2)]);
}

#[test]
fn other_protocols_fragments_and_what_is_cut_off_have_none() {
    let whole = frame(&[], 0);
    let at = usize::from(IP_AT);
    let changed = |place: usize, value: u8| {
        let mut changed = whole.clone();
        changed[at + place] = value;
        tcp_header(&changed, IP_AT)
    };
    assert!(tcp_header(&whole, IP_AT).is_some());
    assert_eq!([changed(9, 17), changed(6, 0x20), changed(7, 1), changed(0, 0x55)], [None; 4]);
    // A data offset of less than the fixed part; a total length below the header's.
    assert_eq!([changed(32, 0x40), changed(3, 19)], [None; 2]);
    for kept in 0..at + 40 {
        assert_eq!(tcp_header(&whole[..kept], IP_AT), None, "{kept} bytes");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        changes in prop::collection::vec((0_usize..80, any::<u8>()), 0..6),
        kept in 0_usize..90,
    ) {
        let sack = TcpOptionElement::SelectiveAcknowledgement((100, 200), [Some((300, 400)), None, None]);
        let mut frame = frame(&[sack, TcpOptionElement::Timestamp(11, 12)], 4);
        for (at, value) in changes {
            if let Some(byte) = frame.get_mut(at) {
                *byte = value;
            }
        }
        frame.truncate(kept);
        let ip_at = dissect(LinkType::Ethernet, &frame).ip_at;
        let read = ip_at.and_then(|at| tcp_header(&frame, at));
        prop_assert!(read.is_none_or(|header| header.flags <= TcpHeader::ALL && header.sack.as_slice().len() <= 4));
    }
}
