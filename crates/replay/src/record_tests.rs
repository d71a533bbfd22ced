//! Records written and read, by hand, at random, and damaged; and replayed.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;
use crate::test_captures::{EXAMPLE, frames, gzip};
use crate::{CaptureReader, RecordWriter};

const START_NS: u64 = 1_700_000_000_000_000_000;

fn udp(port: u16) -> FlowIdentity {
    let end = |last, port| SocketAddr::new(Ipv4Addr::new(10, 0, 0, last).into(), port);
    FlowIdentity::Ports { protocol: 17, source: end(1, port), destination: end(2, 9) }
}

fn arrival(at_ns: u64, flow: FlowIdentity, len_bytes: u32) -> RecordedArrival {
    RecordedArrival { time_ns: START_NS + at_ns, flow, len_bytes, ecn: Ecn::Capable0, class: 0 }
}

fn record(arrivals: &[RecordedArrival]) -> Vec<u8> {
    let mut writer = RecordWriter::new(Vec::new(), START_NS).unwrap();
    arrivals.iter().for_each(|arrival| writer.arrival(arrival).unwrap());
    std::mem::take(writer.output())
}

fn read(file: &[u8]) -> Result<(Vec<RecordedArrival>, u64), CaptureError> {
    let mut reader = CaptureReader::new(file)?;
    let mut arrivals = Vec::new();
    while let Some(frame) = reader.next_frame()? {
        let CapturedFrame { time_ps, flow, len_bytes, ecn, class, .. } = frame;
        arrivals.push(RecordedArrival { time_ns: (time_ps / 1_000) as u64, flow, len_bytes, ecn, class });
    }
    assert_eq!(reader.packets(), arrivals.len() as u64);
    Ok((arrivals, reader.missed()))
}

/// Byte by byte as the module's documentation says.
#[test]
fn a_record_by_hand() {
    let arp = FlowIdentity::NotIp { ether_type: 0x0806 };
    let marked = RecordedArrival { ecn: Ecn::CongestionExperienced, class: 46, ..arrival(400, udp(7), 1_538) };
    let arrivals = [arrival(0, udp(7), 1_538), arrival(300, udp(7), 1_538), arrival(300, arp, 84), marked];
    let file = record(&arrivals);
    let (header, entries) = file.split_at(16);
    assert_eq!(header, [&b"FBRA\x01\0\0\0"[..], &START_NS.to_le_bytes()].concat());
    let expected: [&[u8]; 4] = [
        &[0b110, 0, 1, 17, 4, 10, 0, 0, 1, 7, 0, 4, 10, 0, 0, 2, 9, 0, 0x82, 0x0c],
        &[0b11_0010, 0xac, 0x02],
        &[0b110, 0, 0, 6, 8, 84],
        &[0b1_1011, 100, 0, 46],
    ];
    assert_eq!(entries, expected.concat());
    assert_eq!(read(&file).unwrap(), (arrivals.to_vec(), 0));
    assert_eq!(read(&gzip(&file)).unwrap().0, arrivals);
}

#[test]
fn what_was_missed_is_told() {
    let mut writer = RecordWriter::new(Vec::new(), START_NS).unwrap();
    writer.missed(300).unwrap();
    writer.arrival(&arrival(5, udp(1), 84)).unwrap();
    writer.missed(1).unwrap();
    assert_eq!(read(writer.output()).unwrap(), (vec![arrival(5, udp(1), 84)], 301));
}

#[test]
fn flows_are_forgotten_before_they_are_too_many() {
    let address = |number: u32| IpAddr::from(Ipv4Addr::from_bits(number));
    let arrivals: Vec<_> = (0..MOST_FLOWS as u32 + 3)
        .flat_map(|number| {
            let (source, destination) = (address(number), address(1));
            let flow = FlowIdentity::Addresses { protocol: 47, source, destination };
            [arrival(number.into(), flow, 100), arrival(number.into(), udp(1), 200)]
        })
        .collect();
    let file = record(&arrivals);
    assert_eq!(read(&file).unwrap().0, arrivals);
}

#[test]
fn times_that_go_back_stand_still_and_lengths_have_bounds() {
    let file = record(&[arrival(10, udp(1), 84), arrival(4, udp(1), 84)]);
    assert_eq!(read(&file).unwrap().0, [arrival(10, udp(1), 84); 2]);
    let mut writer = RecordWriter::new(Vec::new(), START_NS).unwrap();
    assert!(writer.arrival(&arrival(0, udp(1), 0)).is_err());
    assert!(writer.arrival(&arrival(0, udp(1), (1 << 24) + 1)).is_err());
}

/// A capture's packets take a few bytes each.
#[test]
fn an_arrival_takes_a_few_bytes() {
    let frames = frames(EXAMPLE).unwrap();
    let start_ns = (frames[0].time_ps / 1_000) as u64;
    let mut writer = RecordWriter::new(Vec::new(), start_ns).unwrap();
    for CapturedFrame { time_ps, flow, len_bytes, ecn, class, .. } in &frames {
        let time_ns = (time_ps / 1_000) as u64;
        writer
            .arrival(&RecordedArrival { time_ns, flow: *flow, len_bytes: *len_bytes, ecn: *ecn, class: *class })
            .unwrap();
    }
    let bytes_each = writer.output().len() as f64 / frames.len() as f64;
    assert!(bytes_each < 8.0, "{bytes_each}");
    // The queues get the same input, so a replay of either gives the same result.
    let same = |(frame, recorded): (&CapturedFrame, &RecordedArrival)| {
        frame.time_ps / 1_000 == i128::from(recorded.time_ns) && frame.flow == recorded.flow
    };
    assert!(frames.iter().zip(&read(writer.output()).unwrap().0).all(same));
}

#[test]
fn damage_is_told_with_its_place() {
    let file = record(&[arrival(0, udp(7), 84), arrival(1, udp(7), 84)]);
    let error = |file: &[u8]| read(file).unwrap_err().to_string();
    assert!(error(&file[..12]).contains("byte 0"));
    let cut = error(&file[..30]);
    assert!(cut.contains("byte 16 (arrivals before it: 0)"), "{cut}");
    let with = |at: usize, byte: u8| {
        let mut damaged = file.clone();
        damaged[at] = byte;
        error(&damaged)
    };
    assert!(with(4, 2).contains("a record of version 2"));
    assert!(with(16, 0x40).contains("byte 16 (packets before it: 0): 40 is the tag of no entry"));
    assert!(with(16, 0b10).contains("flow 1 is not described"));
    assert!(with(16, SAME_FLOW).contains("there is no arrival before"));
    assert!(with(16, SAME_FLOW | NEW_FLOW).contains("new and the same"));
    assert!(with(18, 3).contains("a flow of kind 3"));
    assert!(with(20, 5).contains("IP version 5"));
    assert!(with(34, 0).contains("a packet of 0 bytes"));
    let mut number = file[..16].to_vec();
    number.extend([MISSED, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    assert!(error(&number).contains("more than 64 bits"));
}

#[test]
fn a_record_that_ends_early_keeps_its_complete_arrivals() {
    let file = record(&[arrival(0, udp(7), 84), arrival(1, udp(7), 84)]);
    let mut reader = crate::CaptureReader::new(&file[..file.len() - 1]).unwrap();
    assert!(reader.next_frame().unwrap().is_some() && reader.next_frame().unwrap().is_none());
    let early = reader.ended_early().unwrap().to_string();
    assert!(early.contains("byte 35 (arrivals before it: 1)"), "{early}");
}

fn any_address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|bits| Ipv4Addr::from_bits(bits).into()),
        any::<u128>().prop_map(|bits| Ipv6Addr::from_bits(bits).into()),
    ]
}

fn any_flow() -> impl Strategy<Value = FlowIdentity> {
    let end = || (any_address(), any::<u16>()).prop_map(|(address, port)| SocketAddr::new(address, port));
    prop_oneof![
        any::<u16>().prop_map(|ether_type| FlowIdentity::NotIp { ether_type }),
        (any::<u8>(), end(), end()).prop_map(|(protocol, source, destination)| FlowIdentity::Ports {
            protocol,
            source,
            destination
        }),
        (any::<u8>(), any_address(), any_address())
            .prop_map(|(protocol, source, destination)| FlowIdentity::Addresses { protocol, source, destination }),
    ]
}

fn any_arrivals() -> impl Strategy<Value = Vec<RecordedArrival>> {
    let ecn =
        prop_oneof![Just(Ecn::NotCapable), Just(Ecn::Capable0), Just(Ecn::Capable1), Just(Ecn::CongestionExperienced)];
    let gap = prop_oneof![Just(0), 0_u64..100_000, 0_u64..1 << 50];
    let packet = (gap, any::<prop::sample::Index>(), prop_oneof![Just(84), 1..=MAX_PACKET_BYTES], ecn, any::<u8>());
    (prop::collection::vec(any_flow(), 1..8), prop::collection::vec(packet, 0..60)).prop_map(|(flows, packets)| {
        let mut time_ns = START_NS;
        let arrival = |(gap, flow, len_bytes, ecn, class): (u64, prop::sample::Index, u32, Ecn, u8)| {
            time_ns += gap;
            RecordedArrival { time_ns, flow: *flow.get(&flows), len_bytes, ecn, class: class & 0x21 }
        };
        packets.into_iter().map(arrival).collect()
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(arrivals in any_arrivals()) {
        prop_assert_eq!(read(&record(&arrivals)).unwrap(), (arrivals, 0));
    }

    #[test]
    fn damage_is_an_error_or_other_arrivals(
        arrivals in any_arrivals(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut file = record(&arrivals);
        for (at, byte) in damage {
            let at = at.index(file.len());
            file[at] = byte;
        }
        file.truncate(cut.index(file.len()) + 1);
        if let Err(error) = read(&file) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn any_bytes_behind_a_header_are_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut file = record(&[arrival(0, udp(1), 84)]);
        file.extend(bytes);
        if let Err(error) = read(&file) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
