//! Recoveries with ACKs made by hand: when one begins, what is sent next (RFC 6675), how the window deflates (RFC
//! 6582).

mod network;

use forebay_tcp::{Ack, FullAckWindow, PartialAckTimer, RateReduction, SackBlocks, Segment, Span, TcpConfig, Time};
use network::{Fate, Network, Path, at_ms};

const SEGMENT: u64 = 1000;

/// A sender that has sent a window of segments of 1000 bytes; nothing that it sends arrives.
fn sent(window: u32, write: impl FnOnce(&mut Network)) -> Network {
    sent_with(TcpConfig { sack: true, ..TcpConfig::default() }, window, write)
}

fn sent_with(config: TcpConfig, window: u32, write: impl FnOnce(&mut Network)) -> Network {
    let config = TcpConfig {
        handshake: false,
        limited_transmit: false,
        initial_window_segments: window,
        max_window_segments: 1000,
        segment: forebay_tcp::Bytes(SEGMENT),
        header: forebay_tcp::Bytes(0),
        ..config
    };
    let mut network = Network::new(config, Path::delay(Span::ZERO).with_segment_fate(|_, _| Fate::Drop));
    write(&mut network);
    network.now = at_ms(100);
    network
}

/// This many bytes, without an end of the stream.
fn finite(bytes: u64) -> impl FnOnce(&mut Network) {
    move |network| {
        network.drive_sender(|sender, now, out| {
            sender.open(now, out);
            sender.write(bytes, now, out);
        });
    }
}

/// An ACK of the first `acked` bytes, with SACK blocks; bytes count from 0. What it makes the sender send, as first
/// byte and length.
fn ack(network: &mut Network, acked: u64, blocks: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut sack = SackBlocks::default();
    for &(left, right) in blocks {
        assert!(sack.push(left + 1, right + 1));
    }
    let before = network.log.len();
    network.drive_sender(|sender, now, out| sender.on_ack(&Ack { ack: acked + 1, sack, ..Ack::default() }, now, out));
    network.log[before..].iter().map(|sent| (sent.segment.seq - 1, u64::from(sent.segment.payload_bytes))).collect()
}

#[test]
fn more_than_two_segments_above_begin_a_recovery_at_once() {
    // Section 5, step 2: IsLost (HighACK + 1), however few the duplicate ACKs.
    let mut network = sent(10, Network::unlimited);
    assert_eq!(ack(&mut network, 0, &[(1000, 3000)]), []);
    assert_eq!(ack(&mut network, 0, &[(1000, 3001)]), [(0, 1000)]);
    assert_eq!(network.sender.counters().fast_recoveries, 1);
}

#[test]
fn an_ack_of_new_data_may_begin_a_recovery() {
    // The blocks of an ACK count, too, where nothing was missing before.
    let mut network = sent(10, Network::unlimited);
    assert_eq!(ack(&mut network, 2000, &[(3000, 6000)])[0], (2000, 1000));
    assert_eq!(network.sender.counters().fast_recoveries, 1);
}

#[test]
fn three_duplicates_begin_a_recovery_however_little_they_tell() {
    // Section 5, step 1: DupAcks >= DupThresh. A duplicate ACK is one that tells of something new (section 2).
    let mut network = sent(10, Network::unlimited);
    assert_eq!(ack(&mut network, 0, &[(1000, 1100)]), []);
    assert_eq!(ack(&mut network, 0, &[(1000, 1200)]), []);
    assert_eq!(ack(&mut network, 0, &[(1000, 1200)]), []);
    assert_eq!(ack(&mut network, 0, &[(1000, 1300)]), [(0, 1000)]);
}

#[test]
fn blocks_of_what_was_never_sent_are_ignored() {
    let mut network = sent(10, Network::unlimited);
    for right in [11_000, 12_000, 13_000, 14_000] {
        assert_eq!(ack(&mut network, 0, &[(9_000, right)]), []);
    }
    assert_eq!(network.sender.counters().fast_recoveries, 0);
}

#[test]
fn what_is_surely_lost_goes_before_new_data_and_new_data_before_the_rest() {
    // Section 4, NextSeg. Segments 0 and 6 are missing; above 6 only two have arrived. The window is 5, and three are
    // in the network: 6, 9 and the retransmission of 0.
    let arrived: &[(u64, u64)] = &[(1000, 6000), (7000, 9000)];
    let mut network = sent(10, Network::unlimited);
    assert_eq!(ack(&mut network, 0, &arrived[..1]), [(0, 1000)]);
    // (2) new data.
    assert_eq!(ack(&mut network, 0, arrived), [(10_000, 1000), (11_000, 1000)]);
    // (1) once a third has arrived above it, the segment itself, then new data.
    assert_eq!(ack(&mut network, 0, &[(1000, 6000), (7000, 10_000)]), [(6000, 1000), (12_000, 1000)]);

    // Where there is no new data: (3) the segment though it may not be lost, (4) the last one that is missing.
    let mut network = sent(10, finite(10_000));
    assert_eq!(ack(&mut network, 0, &arrived[..1]), [(0, 1000)]);
    assert_eq!(ack(&mut network, 0, arrived), [(6000, 1000), (9000, 1000)]);
}

#[test]
fn the_rescue_retransmission_includes_the_highest_number_missing() {
    // Section 4, NextSeg (4). Segment 0 is lost, of those above 7 nothing is known, and there is no new data.
    let arrived: &[(u64, u64)] = &[(1000, 7000)];
    let rescued = |close: bool| {
        let mut network = sent(20, finite(9_500));
        if close {
            network.drive_sender(|sender, now, out| sender.close(now, out));
        }
        assert_eq!(ack(&mut network, 0, arrived), [(0, 1000)]);
        let rescued = ack(&mut network, 0, &[(1000, 8000)]);
        // Once in a recovery.
        assert_eq!(ack(&mut network, 0, &[(1000, 8200)]), []);
        let fin = network.log.last().unwrap().segment.fin;
        (rescued, fin)
    };
    assert_eq!(rescued(false), (vec![(8500, 1000)], false));
    // The FIN is a segment of its own, behind the last byte.
    assert_eq!(rescued(true), (vec![(9500, 0)], true));
}

#[test]
fn a_short_hole_is_mended_by_as_much() {
    let mut network = sent(10, Network::unlimited);
    assert_eq!(ack(&mut network, 0, &[(1000, 2000), (2400, 6000)]), [(0, 1000)]);
    assert_eq!(ack(&mut network, 0, &[(1000, 2000), (2400, 7000)]), [(2000, 400)]);
}

#[test]
fn after_a_timeout_what_has_arrived_is_left_out() {
    let mut network = sent(10, Network::unlimited);
    assert_eq!(ack(&mut network, 0, &[(3000, 5000)]), []);
    let before = network.log.len();
    network.run_until(network.sender.deadline());
    assert_eq!(network.sender.counters().timeouts, 1);
    assert_eq!(network.log[before..].iter().map(|sent| sent.segment.seq).collect::<Vec<_>>(), [1]);
    // Slow start: two for one, four for two and what had arrived.
    assert_eq!(ack(&mut network, 1000, &[(3000, 5000)]), [(1000, 1000), (2000, 1000)]);
    assert_eq!(ack(&mut network, 2000, &[(3000, 5000)]), [(5000, 1000), (6000, 1000)]);
}

#[test]
fn an_ack_of_new_data_in_a_recovery_restarts_the_timer() {
    // RFC 6298, 5.3.
    for rack in [false, true] {
        let mut network = sent_with(TcpConfig { sack: true, rack, ..TcpConfig::default() }, 10, Network::unlimited);
        ack(&mut network, 0, &[(2000, 10_000)]);
        network.now = at_ms(300);
        ack(&mut network, 1000, &[(2000, 10_000)]);
        let timeout: Time = network.now + network.sender.round_trip().timeout();
        assert_eq!(network.sender.deadline(), timeout, "{rack}");
    }
}

#[test]
fn proportional_reduction_sends_one_more_where_an_ack_is_safe() {
    // RFC 9937, section 6.2: 20 in flight, three arrive, the others below are lost; the window is 10. Delivered less
    // sent: 3 - 1 at the next ACK, and what that brings.
    let rate_reduction = Some(RateReduction::Proportional);
    let segments = |first: &[(u64, u64)], acked, then: &[(u64, u64)]| {
        let config = TcpConfig { sack: true, rate_reduction, ..TcpConfig::default() };
        let mut network = sent_with(config, 20, Network::unlimited);
        assert_eq!(ack(&mut network, 0, first), [(0, 1000)]);
        ack(&mut network, acked, then).len()
    };
    // New data is acknowledged, and nothing more is lost: SafeACK.
    assert_eq!(segments(&[(17_000, 20_000)], 1000, &[(17_000, 20_000)]), 3 + 1);
    // New data is acknowledged, but more is lost.
    assert_eq!(segments(&[(10_000, 13_000)], 1000, &[(10_000, 13_000), (17_000, 20_000)]), 6);
    // Nothing more is lost, but no new data acknowledged.
    assert_eq!(segments(&[(16_000, 19_000)], 0, &[(16_000, 20_000)]), 3);
}

#[test]
fn partial_acks_deflate_the_window_by_what_they_acknowledge() {
    // RFC 6582, section 3.2, step 3: less the data acknowledged, plus the segment sent again if that was a whole one.
    let config = TcpConfig { sack: false, ..TcpConfig::default() };
    let mut network = sent_with(config, 16, Network::unlimited);
    for duplicate in 1..=7 {
        let again: &[(u64, u64)] = if duplicate == 3 { &[(0, 1000)] } else { &[] };
        assert_eq!(ack(&mut network, 0, &[]), again);
    }
    // Half of 16, and seven duplicates.
    assert_eq!(network.sender.congestion_window_bytes(), 15_000);
    for (acked, window) in [(5000, 11_000), (10_000, 7_000), (10_500, 6_500), (11_500, 6_500), (12_500, 6_500)] {
        assert_eq!(ack(&mut network, acked, &[])[0], (acked, 1000));
        assert_eq!(network.sender.congestion_window_bytes(), window, "{acked}");
    }
}

#[test]
fn a_full_ack_leaves_no_room_for_a_burst() {
    // RFC 6582, section 3.2, step 3, "Full acknowledgments", the two options: what is in flight and one segment (the
    // least is two), or the threshold. Eleven duplicates make room for three new segments.
    use FullAckWindow::{FlightSize, SlowStartThreshold};
    for (full_ack_window, duplicates, window) in
        [(FlightSize, 3, 2_000), (FlightSize, 11, 4_000), (SlowStartThreshold, 3, 8_000)]
    {
        let config = TcpConfig { sack: false, full_ack_window, ..TcpConfig::default() };
        let mut network = sent_with(config, 16, Network::unlimited);
        (0..duplicates).for_each(|_| drop(ack(&mut network, 0, &[])));
        ack(&mut network, 16_000, &[]);
        assert_eq!(network.sender.congestion_window_bytes(), window, "{full_ack_window:?}, {duplicates}");
    }
}

#[test]
fn the_first_partial_ack_of_each_recovery_restarts_the_impatient_timer() {
    // RFC 6582, section 3.2, step 3: "Impatient"; after a timeout the next recovery is another one.
    let config = TcpConfig { sack: false, partial_ack_timer: PartialAckTimer::Impatient, ..TcpConfig::default() };
    let mut network = sent_with(config, 16, Network::unlimited);
    let restarts = |network: &mut Network, acked| {
        network.now += Span::from_milliseconds(10);
        ack(network, acked, &[]);
        network.sender.deadline() == network.now + network.sender.round_trip().timeout()
    };
    (0..3).for_each(|_| drop(ack(&mut network, 0, &[])));
    assert_eq!([1000, 2000].map(|acked| restarts(&mut network, acked)), [true, false]);
    network.run_until(network.sender.deadline());
    assert_eq!(network.sender.counters().timeouts, 1);
    for acked in [16_000, 18_000, 20_000] {
        ack(&mut network, acked, &[]);
    }
    (0..3).for_each(|_| drop(ack(&mut network, 20_000, &[])));
    assert_eq!(network.sender.counters().fast_recoveries, 2);
    assert_eq!([21_000, 22_000].map(|acked| restarts(&mut network, acked)), [true, false]);
}

#[test]
fn only_a_syn_ack_of_its_syn_opens_a_connection() {
    // RFC 9293, 3.10.7.3. ECN where both ends ask for it (RFC 3168, 6.1.1).
    let nothing = Ack { ack: 1, ..Ack::default() };
    let other = Ack { ack: 2, syn: true, ..Ack::default() };
    for (ecn, ece) in [(false, false), (false, true), (true, false), (true, true)] {
        let config = TcpConfig { ecn, ..TcpConfig::default() };
        let mut network = Network::new(config, Path::delay(Span::ZERO).with_segment_fate(|_, _| Fate::Drop));
        network.unlimited();
        let syn_ack = Ack { ack: 1, syn: true, ece, ..Ack::default() };
        for (answer, segments) in [(nothing, 1), (other, 1), (syn_ack, 11), (syn_ack, 11)] {
            network.drive_sender(|sender, now, out| sender.on_ack(&answer, now, out));
            assert_eq!(network.log.len(), segments, "{answer:?}");
        }
        let data: Segment = network.log[1].segment;
        assert_eq!(data.ect, ecn && ece, "{ecn} {ece}");
    }
}

#[test]
fn a_loss_halves_what_was_in_flight() {
    // RFC 5681, equation 4: FlightSize, not the window; the window where less than a segment of it was free.
    for (written, threshold) in [(10_000, 5_000), (19_000, 9_000), (19_001, 10_000), (20_000, 10_000)] {
        let mut network = sent_with(TcpConfig { sack: false, ..TcpConfig::default() }, 20, finite(written));
        (0..3).for_each(|_| drop(ack(&mut network, 0, &[])));
        assert_eq!(network.sender.slow_start_threshold_bytes(), Some(threshold), "{written}");
    }
}

#[test]
fn after_a_timeout_an_ack_counts_for_one_segment() {
    // RFC 3465, section 2.3: until what was in flight then is acknowledged, however much an ACK covers.
    let config = TcpConfig { sack: false, byte_counting_limit: 2, ..TcpConfig::default() };
    let mut network = sent_with(config, 40, Network::unlimited);
    network.run_until(network.sender.deadline());
    for (acked, window) in [(2000, 2_000), (6000, 3_000), (39_000, 4_000), (40_000, 5_000), (42_000, 7_000)] {
        ack(&mut network, acked, &[]);
        assert_eq!(network.sender.congestion_window_bytes(), window, "{acked}");
    }
}

#[test]
fn a_bare_fin_has_no_part_in_ecn() {
    // RFC 3168, 6.1.4: nor has what carries no data, as a FIN.
    let config = TcpConfig { ecn: true, ..TcpConfig::default() };
    let mut network = sent_with(config, 10, finite(1000));
    ack(&mut network, 1000, &[]);
    network.drive_sender(|sender, now, out| sender.close(now, out));
    let flags: Vec<(bool, bool)> = network.log.iter().map(|sent| (sent.segment.fin, sent.segment.ect)).collect();
    assert_eq!(flags, [(false, true), (true, false)]);
}
