//! Warnings and omissions of a replay.

use forebay_qdisc::{DropTail, DropTailConfig, Fifo};
use forebay_units::QueueSize;

use super::*;
use crate::test_captures::{ETHERNET, EXAMPLE, Form, gzip, pcap, udp_frame};

fn replayed(file: &[u8], destination: Option<&str>) -> Result<ReplayResult, ReplayError> {
    let options = ReplayOptions { destination: destination.map(|text| text.parse().unwrap()), ..Default::default() };
    let rate = Rate::megabits(100);
    let law = DropTail::new(&DropTailConfig { limit: QueueSize::Packets(100) }, rate, 0).unwrap();
    let queue = ReplayedQueue {
        name: "drop_tail".to_owned(),
        discipline: "drop_tail".to_owned(),
        queue: Box::new(Fifo::new(Box::new(law))),
        delivered_to: None,
        dropped_to: None,
    };
    replay(file, rate, vec![queue], &options, &mut || true)
}

fn texts(result: &ReplayResult) -> Vec<&str> {
    assert!(result.warnings.iter().all(|warning| !warning.remedy.is_empty()));
    result.warnings.iter().map(|warning| &*warning.text).collect()
}

/// An Ethernet frame of an EtherType for experiments, which hides what it carries.
fn opaque_frame() -> Vec<u8> {
    [&[2_u8; 12][..], &[0x88, 0xb5], &udp_frame(1, 2, &[])[14..]].concat()
}

#[test]
fn an_ordinary_capture_has_no_warnings() {
    assert_eq!(texts(&replayed(EXAMPLE, None).unwrap()), [""; 0]);
}

#[test]
fn frames_without_visible_ip_are_counted() {
    let (visible, opaque) = (udp_frame(1, 2, &[]), opaque_frame());
    let arp = [&[2_u8; 12][..], &[8, 6], &[0; 28]].concat();
    let some = pcap(ETHERNET, &[(0, 0, 0, &visible), (1, 0, 0, &opaque), (2, 0, 0, &arp), (3, 0, 0, &opaque)]);
    let result = replayed(&some, None).unwrap();
    assert_eq!((result.packets, result.packets_opaque), (4, 2));
    assert_eq!(
        texts(&result),
        ["2 of 4 packets show no IP header (EtherType 0x88b5: 2): each of these kinds counts as one flow"]
    );
    let all = replayed(&pcap(ETHERNET, &[(0, 0, 0, &opaque), (1, 0, 0, &opaque)]), None).unwrap();
    assert_eq!(
        texts(&all),
        ["no packet shows an IP header (EtherType 0x88b5: 2): the replay cannot distinguish flows"]
    );
    // An IPv4 header of version 0 is there, and unreadable.
    let mut damaged = visible.clone();
    damaged[14] = 0;
    assert_eq!(replayed(&pcap(ETHERNET, &[(0, 0, 0, &damaged)]), None).unwrap().packets_opaque, 1);
}

#[test]
fn frames_without_visible_ip_have_no_destination() {
    let (visible, opaque) = (udp_frame(1, 2, &[]), opaque_frame());
    let arp = [&[2_u8; 12][..], &[8, 6], &[0; 28]].concat();
    let file = pcap(ETHERNET, &[(0, 0, 0, &visible), (1, 0, 0, &opaque), (2, 0, 0, &arp)]);
    let result = replayed(&file, Some("10.0.0.2")).unwrap();
    assert_eq!((result.packets, result.packets_unselected, result.packets_unaddressed), (1, 0, 2));
    assert_eq!(texts(&result), ["1 packet is left out because no destination address is visible"]);
    let error = replayed(&file, Some("10.0.0.9")).unwrap_err().to_string();
    let expected = "the capture holds 3 packets, 1 of them to other destinations and 2 without a visible IP header";
    assert_eq!(error, format!("no packet to replay: {expected}"));
}

#[test]
fn packets_longer_than_a_frame_are_counted() {
    let frame = udp_frame(1, 2, &[]);
    let with = |lengths: &[u32]| {
        let packets: Vec<_> =
            lengths.iter().zip(0..).map(|(&length, second)| (second, 0, length, &frame[..])).collect();
        replayed(&pcap(ETHERNET, &packets), None).unwrap()
    };
    assert_eq!(texts(&with(&[1_514, 1_518, 1_526])), [""; 0]);
    let merged = with(&[65_226, 1_514, 2_962]);
    assert!(texts(&merged)[0].starts_with("2 packets are longer than an Ethernet frame, up to 65,226 B: segmentation"));
    let jumbo = with(&[9_014]);
    assert!(texts(&jumbo)[0].starts_with("1 packet is longer than an Ethernet frame, up to 9,014 B: unless the link"));
}

#[test]
fn a_file_that_ends_early_is_replayed_with_a_warning() {
    let frame = udp_frame(1, 2, &[]);
    let plain = pcap(ETHERNET, &[(0, 0, 0, &frame), (1, 0, 0, &frame), (2, 0, 0, &frame)]);
    for cut in [&plain[..plain.len() - 3], &gzip(&plain[..plain.len() - 3])] {
        let result = replayed(cut, None).unwrap();
        assert_eq!(result.packets, 2);
        assert_eq!(
            texts(&result),
            ["the file ends within the packet after packet 2: only the complete ones were replayed"]
        );
    }
    let compressed = gzip(&plain);
    let result = replayed(&compressed[..compressed.len() - 4], None).unwrap();
    assert_eq!((result.packets, result.warnings.len()), (3, 1));
}

#[test]
fn frames_of_zero_bytes_are_skipped_with_a_warning() {
    let frame = udp_frame(1, 2, &[]);
    let result = replayed(&pcap(ETHERNET, &[(0, 0, 0, &[]), (1, 0, 0, &frame), (2, 0, 0, &[])]), None).unwrap();
    assert_eq!((result.packets, texts(&result)), (1, vec!["2 frames of zero bytes were skipped"]));
}

const DAY_S: u32 = 86_400;

#[test]
fn a_pause_that_time_does_not_hold_becomes_a_day() {
    let frame = udp_frame(1, 2, &[0; 58]);
    let after = 1_000_000_000 + 300 * DAY_S;
    let packets = [
        (1_000_000_000, 0, 0, &frame[..]),
        (1_000_000_000, 10_000, 0, &frame),
        (after, 0, 0, &frame),
        (after, 20_000, 0, &frame),
    ];
    let result = replayed(&pcap(ETHERNET, &packets), None).unwrap();
    assert_eq!(
        texts(&result),
        ["packet 3 comes 300.0 days after the packet before it: the replay shortens this pause to 1 day"]
    );
    assert_eq!(result.packets, 4);
    // A day, both distances, and a transmission of 100 bytes.
    assert!((result.duration_s - (f64::from(DAY_S) + 0.03 + 8e-6)).abs() < 1e-6, "{}", result.duration_s);

    // A first packet without a time, as some tools write it.
    let first = [(0, 0, 0, &frame[..]), (1_700_000_000, 0, 0, &frame), (1_700_000_000, 10_000, 0, &frame)];
    let result = replayed(&pcap(ETHERNET, &first), None).unwrap();
    assert!(texts(&result)[0].starts_with("packet 2 comes 19675.9 days after"), "{:?}", result.warnings);
}

#[test]
fn pauses_that_time_holds_are_kept_and_many_are_shortened() {
    let frame = udp_frame(1, 2, &[]);
    let every = |days: u32, packets: u32| {
        let packets: Vec<_> = (0..packets).map(|number| (number * days * DAY_S, 0, 0, &frame[..])).collect();
        replayed(&pcap(ETHERNET, &packets), None)
    };
    let kept = every(90, 3).unwrap();
    assert!(kept.warnings.is_empty() && kept.duration_s > f64::from(180 * DAY_S));
    let shortened = every(90, 5).unwrap();
    assert_eq!(
        texts(&shortened),
        ["packet 4 comes 90.0 days after the packet before it: the replay shortens this pause and 1 more to 1 day"]
    );
    // Pauses of a day are not shortened.
    let error = every(1, 300).unwrap_err().to_string();
    assert!(error.contains("packet 202 comes 201 days after the first packet"), "{error}");
    assert!(error.contains("`editcap -r IN OUT 1-201`"), "{error}");
}

/// The output keeps the times of the capture, on both sides of a pause that the replay shortens.
#[test]
fn captures_written_after_a_shortened_pause_have_the_times_of_the_capture() {
    let frame = udp_frame(1, 2, &[0; 58]);
    let after = 1_000_000_000 + 300 * DAY_S;
    let file = pcap(ETHERNET, &[(1_000_000_000, 0, 0, &frame), (after, 5, 0, &frame)]);
    let mut delivered = Vec::new();
    let rate = Rate::megabits(100);
    let law = DropTail::new(&DropTailConfig { limit: QueueSize::Packets(100) }, rate, 0).unwrap();
    let queue = ReplayedQueue {
        name: "drop_tail".to_owned(),
        discipline: "drop_tail".to_owned(),
        queue: Box::new(Fifo::new(Box::new(law))),
        delivered_to: Some(Box::new(&mut delivered)),
        dropped_to: None,
    };
    replay(&file[..], rate, vec![queue], &ReplayOptions::default(), &mut || true).unwrap();
    let times: Vec<i128> =
        crate::test_captures::frames(&delivered).unwrap().iter().map(|frame| frame.time_ps / 1_000_000).collect();
    assert_eq!(times, [1_000_000_000_000_008, i128::from(after) * 1_000_000 + 13]);
}

#[test]
fn a_radiotap_header_is_written_again_and_not_sent() {
    let radiotap = [0, 0, 8, 0, 0, 0, 0, 0];
    let file = pcap(Form { link_type: 127, ..ETHERNET }, &[(0, 0, 108, &[&radiotap[..], &[8; 40]].concat())]);
    let result = replayed(&file, None).unwrap();
    assert_eq!(result.bytes, 100);
}
