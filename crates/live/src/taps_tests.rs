//! Taps without a port.

use super::*;
use crate::test_direction::{UNIX_NS, frame};
use forebay_replay::{CaptureReader, dissect};

fn arrival(at_ns: u64) -> (LivePacket, Vec<u8>) {
    let frame = frame(7, 100);
    let headers = dissect(LinkType::Ethernet, &frame);
    (LivePacket::new(&headers, 124, Time::from_picoseconds(at_ns * 1_000), None), frame)
}

#[test]
fn a_record_says_where_arrivals_are_missing() {
    let Tapped { mut taps, tallies, mut encoder, .. } = record(Time::ZERO, UNIX_NS).unwrap();
    let (packet, frame) = arrival(50);
    for _ in 0..RECORD_ROOM + 3 {
        taps[0].arrived(&packet, &frame);
    }
    assert_eq!(tallies[0].missed.load(Ordering::Relaxed), 3);
    while encoder.fill(usize::MAX).unwrap() {}
    let (packet, frame) = arrival(60);
    taps[0].arrived(&packet, &frame);
    assert!(encoder.fill(usize::MAX).unwrap());
    encoder.end().unwrap();
    let mut record = CaptureReader::new(&encoder.bytes()[..]).unwrap();
    for _ in 0..RECORD_ROOM {
        record.next_frame().unwrap().unwrap();
    }
    assert_eq!(record.missed(), 0);
    assert_eq!(record.next_frame().unwrap().unwrap().time_ps, (i128::from(UNIX_NS) + 60) * 1_000);
    assert_eq!(record.missed(), 3);
    assert!(record.next_frame().unwrap().is_none());
}

#[test]
fn marks_have_their_reason_and_their_sojourn() {
    let Tapped { mut taps, mut encoder, .. } = capture(&["outbound"], UNIX_NS).unwrap();
    let (packet, _) = arrival(1_000);
    let now = Time::from_picoseconds(3_000_000);
    taps[0].marked(now, &packet, &frame(7, 100), MarkReason::FairShare);
    assert!(encoder.fill(usize::MAX).unwrap());
    let text = String::from_utf8_lossy(encoder.bytes()).into_owned();
    assert!(text.contains("marked_fair_share, queued 0.002 ms"), "{text}");
}

#[test]
fn nobody_listens_to_what_is_over() {
    let Tapped { mut taps, tallies, over, encoder, .. } = record(Time::ZERO, UNIX_NS).unwrap();
    let (packet, frame) = arrival(0);
    drop(encoder);
    taps[0].arrived(&packet, &frame);
    assert!(taps[0].is_over() && over.load(Ordering::Relaxed));
    taps[0].arrived(&packet, &frame);
    assert_eq!((tallies[0].taken.load(Ordering::Relaxed), tallies[0].missed.load(Ordering::Relaxed)), (0, 0));
}
