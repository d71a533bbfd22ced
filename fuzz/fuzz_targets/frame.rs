//! No frames make a live port panic, lose a buffer, or break its accounting; departing frames are as long as the
//! arriving ones. The short way to a frame's flow ends where the general parser's does. A TCP header is read from any
//! bytes.
#![no_main]

use forebay_live::io::VlanTag;
use forebay_live::pool::Pool;
use forebay_live::port::{Port, PortParts};
use forebay_qdisc::{Rate, Red, RedConfig, Fifo, Span, Time};
use forebay_replay::{LinkType, PacketFacts, dissect, identify, rng};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // Marks from the first packets on, so that bytes of headers are changed.
    let mut config = RedConfig::default();
    (config.ecn, config.weight) = (true, 0.5);
    let rate = Rate::megabits(10);
    let law = Red::new(&config, rate, 0).expect("the configuration is within its bounds");
    let mut port = Port::new(PortParts {
        rate,
        overhead_bytes: 24,
        burst: Span::from_seconds(10),
        queue: Box::new(Fifo::new(Box::new(law))),
        rng: rng(1),
        pool: Pool::new(64, 1518),
    });
    let (mut rest, mut now) = (bytes, Time::ZERO);
    // A frame is its length in two bytes, whether a tag was taken out of it, and its bytes.
    while let [high, low, tagged, tail @ ..] = rest {
        let len = usize::from(u16::from_be_bytes([*high, *low])).min(tail.len());
        let (frame, tail) = tail.split_at(len);
        let headers = dissect(LinkType::Ethernet, frame);
        assert_eq!(headers.key, identify(LinkType::Ethernet, frame).key());
        let facts = PacketFacts::of_frame(frame, headers.ip_at, frame.len() as u32);
        assert!(facts.tcp.is_none_or(|header| header.sack.as_slice().len() <= 4));
        now = now + Span::from_microseconds(100);
        port.run_until(now);
        port.arrive(frame, if tagged % 2 == 1 { VlanTag::new([0x81, 0, 0, *tagged]) } else { None }, now);
        let count = port.departures().len();
        for departure in port.departures() {
            assert_eq!(port.frame(departure.buffer).len() + 24, departure.len_bytes as usize);
        }
        port.departed(count, now);
        port.check().expect("the books balance");
        rest = tail;
    }
    while let Some(next) = port.next() {
        port.run_until(next);
        port.departed(port.departures().len(), next);
    }
    port.check().expect("the books balance");
    assert_eq!(port.held_packets(), 0);
});
