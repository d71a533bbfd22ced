//! Recoveries with ACKs made by hand: when one begins, what is sent next (RFC 6675), how the window deflates (RFC
//! 6582).

mod network;

use forebay_tcp::{
    Ack, CongestionControl, CubicConfig, EcnFloor, FullAckWindow, IdleRestart, PartialAckTimer, RateReduction,
    SackBlocks, Segment, Span, TcpConfig, Time,
};
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

/// An ACK of the first `acked` bytes, with SACK blocks; bytes count from 0. The segment that the sender then sends, as
/// first byte and length.
fn ack(network: &mut Network, acked: u64, blocks: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut sack = SackBlocks::default();
    for &(left, right) in blocks {
        assert!(sack.push(left + 1, right + 1));
    }
    answer(network, Ack { ack: acked + 1, sack, ..Ack::default() })
}

/// An ACK of the first `acked` bytes that echoes a mark.
fn echo(network: &mut Network, acked: u64) -> Vec<(u64, u64)> {
    answer(network, Ack { ack: acked + 1, ece: true, ..Ack::default() })
}

fn answer(network: &mut Network, ack: Ack) -> Vec<(u64, u64)> {
    let before = network.log.len();
    network.drive_sender(|sender, now, out| sender.on_ack(&ack, now, out));
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
    // Section 5, step 1: DupAcks >= DupThresh. A duplicate ACK is one that reports something new (section 2).
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
    // RFC 6582, section 3.2, step 3, "Full acknowledgments", the two options: the data in flight and one segment (the
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

#[test]
fn in_ns2_a_mark_counts_after_a_timeout() {
    // RFC 3168, 6.1.2: one reduction for each window of data. ns-2 2.35, TcpAgent::ecn(): above `recover_`, or when the
    // last reduction was that of a timeout.
    for (ecn_floor, reductions) in
        [(EcnFloor::Ns2, [1, 1]), (EcnFloor::OneSegment, [0, 0]), (EcnFloor::TwoSegments, [0, 0])]
    {
        let config = TcpConfig { sack: false, ecn: true, ecn_floor, ..TcpConfig::default() };
        let mut network = sent_with(config, 16, Network::unlimited);
        network.run_until(network.sender.deadline());
        let found = [1000, 2000].map(|acked| {
            echo(&mut network, acked);
            network.sender.counters().ecn_reductions
        });
        assert_eq!(found, reductions, "{ecn_floor:?}");
    }
}

#[test]
fn in_ns2_a_mark_does_not_count_after_a_loss() {
    // TcpAgent::ecn(): the exception is for timeouts only.
    let config = TcpConfig { sack: false, ecn: true, ecn_floor: EcnFloor::Ns2, ..TcpConfig::default() };
    let config = TcpConfig { congestion_control: CongestionControl::Reno, ..config };
    let mut network = sent_with(config, 16, Network::unlimited);
    (0..3).for_each(|_| drop(ack(&mut network, 0, &[])));
    ack(&mut network, 1000, &[]);
    echo(&mut network, 2000);
    assert_eq!((network.sender.counters().fast_recoveries, network.sender.counters().ecn_reductions), (1, 0));
}

#[test]
fn in_ns2_a_timeout_leaves_the_threshold_of_a_mark_alone() {
    // TcpAgent::timeout(): CLOSE_CWND_ONE without CLOSE_SSTHRESH_HALF. Elsewhere it is RFC 5681's equation 4: half of
    // what the mark left. The window was 16, and 17 where the ACK had no echo.
    for (ecn_floor, is_marked, threshold) in
        [(EcnFloor::Ns2, true, 8_000), (EcnFloor::Ns2, false, 8_000), (EcnFloor::OneSegment, true, 4_000)]
    {
        let config = TcpConfig { sack: false, ecn: true, ecn_floor, ..TcpConfig::default() };
        let mut network = sent_with(config, 16, Network::unlimited);
        if is_marked {
            echo(&mut network, 1000)
        } else {
            ack(&mut network, 1000, &[])
        };
        let before = network.log.len();
        network.run_until(network.sender.deadline());
        assert_eq!(network.sender.counters().timeouts, 1);
        assert_eq!(network.sender.slow_start_threshold_bytes(), Some(threshold), "{ecn_floor:?}, {is_marked}");
        assert_eq!((network.sender.congestion_window_bytes(), network.log.len() - before), (1_000, 1));
        // The last action is a timeout all the same: in ns-2 the next mark counts.
        echo(&mut network, 2000);
        let marks = u64::from(is_marked) + u64::from(ecn_floor == EcnFloor::Ns2);
        assert_eq!(network.sender.counters().ecn_reductions, marks, "{ecn_floor:?}, {is_marked}");
    }
}

#[test]
fn in_ns2_the_ack_that_ends_a_recovery_opens_the_window() {
    // ns-2 2.35 calls opencwnd() for that ACK, too. opencwnd() grows the window by one ACK's part, however much the ACK
    // covers. By RFC 5681 (3.2, step 6) the window stays at the threshold, half of 16; so it does in ns-2 with SACK.
    use CongestionControl::{NewReno, Reno};
    let windows = |grow_at_recovery_exit, congestion_control, sack, acks: &[u64]| {
        let config = TcpConfig {
            congestion_control,
            sack,
            grow_at_recovery_exit,
            byte_counting_limit: 2,
            full_ack_window: FullAckWindow::SlowStartThreshold,
            ..TcpConfig::default()
        };
        let mut network = sent_with(config, 16, Network::unlimited);
        for arrived in [2000, 3000, 4000] {
            let blocks: &[(u64, u64)] = if sack { &[(1000, arrived)] } else { &[] };
            ack(&mut network, 0, blocks);
        }
        let window = |acked: &u64| {
            ack(&mut network, *acked, &[]);
            network.sender.congestion_window_bytes()
        };
        acks.iter().map(window).collect::<Vec<_>>()
    };
    for (grows, opened) in [(false, 8_000), (true, 8_125)] {
        assert_eq!(windows(grows, NewReno, false, &[16_000]), [opened]);
        assert_eq!(windows(grows, Reno, false, &[16_000]), [opened]);
        assert_eq!(windows(grows, NewReno, true, &[16_000]), [8_000]);
        // A part of a segment counts as that, and what ends no recovery not at all.
        assert_eq!(windows(grows, Reno, false, &[500]), [if grows { 8_062 } else { 8_000 }]);
        assert_eq!(windows(grows, NewReno, false, &[5000, 16_000]), [7_000, if grows { 8_000 } else { 7_000 }]);
    }
}

#[test]
fn outside_of_recoveries_the_window_opens_once_an_ack() {
    // RFC 5681, equation 3: 1/8 and, for the ACK after it, 1/8.125. Without `sack` the
    // receiver's SACK blocks change nothing.
    let config = TcpConfig {
        grow_at_recovery_exit: true,
        full_ack_window: FullAckWindow::SlowStartThreshold,
        sack: false,
        ..TcpConfig::default()
    };
    let mut network = sent_with(config, 16, Network::unlimited);
    (0..3).for_each(|_| drop(ack(&mut network, 0, &[])));
    ack(&mut network, 16_000, &[]);
    ack(&mut network, 17_000, &[(20_000, 21_000)]);
    assert_eq!(network.sender.congestion_window_bytes(), 8_248);
}

#[test]
fn an_ack_of_new_data_ends_the_count_of_duplicates() {
    // RFC 6675, section 5: DupAcks is set to zero. Less than two segments have arrived.
    let mut network = sent(10, Network::unlimited);
    for (acked, arrived, recoveries) in
        [(0, 2100, 0), (0, 2200, 0), (1000, 2200, 0), (1000, 2300, 0), (1000, 2400, 0), (1000, 2500, 1)]
    {
        ack(&mut network, acked, &[(2000, arrived)]);
        assert_eq!(network.sender.counters().fast_recoveries, recoveries, "{acked}, {arrived}");
    }
}

#[test]
fn an_ack_of_new_data_restarts_the_timer_where_later_data_has_arrived() {
    // RFC 6298, 5.3.
    let mut network = sent(10, Network::unlimited);
    network.now = at_ms(300);
    ack(&mut network, 1000, &[(2000, 2100)]);
    assert_eq!(network.sender.deadline(), network.now + network.sender.round_trip().timeout());
}

#[test]
fn a_window_that_stays_unused_is_brought_halfway_to_what_was_used() {
    // RFC 2861, section 3.1: "each time a RTO passes", to (cwnd + W_used) / 2, W_used being the most in flight in a
    // round trip. The window is 40, of which it last needed more than half after 200 ms; then 20 are in flight.
    for (idle_restart, windows, room) in
        [(IdleRestart::Halving, [40_000, 40_000, 30_000], 13), (IdleRestart::InitialWindow, [40_000; 3], 23)]
    {
        let config = TcpConfig { sack: false, idle_restart, ..TcpConfig::default() };
        let mut network = sent_with(config, 10, finite(30_000));
        (1..=10).for_each(|n| drop(ack(&mut network, 1000 * n, &[])));
        network.now = at_ms(200);
        (11..=30).for_each(|n| drop(ack(&mut network, 1000 * n, &[])));
        assert_eq!(network.sender.congestion_window_bytes(), 40_000);
        network.now = at_ms(1050);
        network.drive_sender(|sender, now, out| sender.write(20_000, now, out));
        let found = [(31, 1150), (32, 1199), (33, 1200)].map(|(n, ms)| {
            network.now = at_ms(ms);
            ack(&mut network, 1000 * n, &[]);
            network.sender.congestion_window_bytes()
        });
        assert_eq!(network.sender.round_trip().timeout(), Span::from_seconds(1));
        assert_eq!(found, windows, "{idle_restart:?}");
        // The segments sent follow it.
        let before = network.log.len();
        network.drive_sender(|sender, now, out| sender.write(100_000, now, out));
        assert_eq!(network.log.len() - before, room, "{idle_restart:?}");
    }
}

#[test]
fn what_limited_transmit_sent_is_in_flight_once_new_data_is_acknowledged() {
    // RFC 5681, section 3.2, step 2: it does not count in FlightSize at the loss for whose duplicates it went out. Two
    // were sent, then 1200 bytes are acknowledged; of a window of 11 less than one segment is free.
    let config = TcpConfig { limited_transmit: true, ..sent(10, Network::unlimited).config };
    let mut network = Network::new(config, Path::delay(Span::ZERO).with_segment_fate(|_, _| Fate::Drop));
    network.unlimited();
    assert_eq!(ack(&mut network, 0, &[(1000, 1100)]), [(10_000, 1000)]);
    assert_eq!(ack(&mut network, 0, &[(1000, 1200)]), [(11_000, 1000)]);
    assert_eq!(ack(&mut network, 1200, &[]), []);
    ack(&mut network, 1200, &[(3000, 6000)]);
    assert_eq!(network.sender.slow_start_threshold_bytes(), Some(5_000));
}

#[test]
fn the_time_out_of_use_does_not_count_for_cubic() {
    // RFC 9438, section 4.2: the window is 100, of which one segment is used for 10 s. The cubic function, still at its
    // turning point, adds no more than a hundredth of a segment; 10 s on it would add a half.
    let cubic = CubicConfig { reno_friendly: false, ..CubicConfig::default() };
    let congestion_control = CongestionControl::Cubic(cubic);
    let config = TcpConfig { congestion_control, initial_ssthresh_segments: Some(2), ..TcpConfig::default() };
    let mut network = sent_with(config, 100, finite(101_000));
    ack(&mut network, 1000, &[]);
    network.now = at_ms(200);
    ack(&mut network, 101_000, &[]);
    for used in 1..=13 {
        network.now += Span::from_milliseconds(800);
        network.drive_sender(|sender, now, out| sender.write(1000, now, out));
        ack(&mut network, 101_000 + 1000 * used, &[]);
    }
    network.drive_sender(|sender, now, out| sender.write(200_000, now, out));
    ack(&mut network, 115_000, &[]);
    assert!((100_000..100_010).contains(&network.sender.congestion_window_bytes()));
}

#[test]
fn cubic_goes_on_where_it_was_before_a_spurious_reduction() {
    // RFC 9438, section 4.9: the window is 100, and the cubic function, which began 10 s ago, asks for the most: half a
    // segment for each that is acknowledged. One that restarts would not advance.
    let cubic = CubicConfig { reno_friendly: false, ..CubicConfig::default() };
    let config = TcpConfig {
        congestion_control: CongestionControl::Cubic(cubic),
        sack: true,
        dsack: true,
        undo: true,
        initial_ssthresh_segments: Some(2),
        ..TcpConfig::default()
    };
    let mut network = sent_with(config, 100, Network::unlimited);
    ack(&mut network, 1000, &[]);
    network.now = at_ms(10_100);
    assert_eq!(ack(&mut network, 1000, &[(2000, 5000)])[0], (1000, 1000));
    assert_eq!(network.sender.congestion_window_bytes(), 70_000);
    ack(&mut network, 5000, &[(1000, 2000)]);
    assert_eq!(network.sender.counters().spurious_reductions, 1);
    assert_eq!(network.sender.congestion_window_bytes(), 100_500);
}

#[test]
fn after_a_mark_the_window_comes_down_evenly() {
    // RFC 9937, section 6.2, for any reduction: from 10 in flight to 5, one for two that arrive. The window opens again
    // with the ACK of all that was in flight at the mark. At the ninth, no more than the window is in flight.
    let config = TcpConfig { sack: true, rack: true, ecn: true, ..TcpConfig::default() };
    let mut network = sent_with(config.clone(), 10, Network::unlimited);
    let mut step = |n: u64| {
        let sent = if n == 1 { echo(&mut network, 1000) } else { ack(&mut network, 1000 * n, &[]) };
        (sent.len(), network.sender.congestion_window_bytes())
    };
    let steps: Vec<(usize, u64)> = (1..=10).map(&mut step).collect();
    assert_eq!(steps.iter().map(|step| step.0).collect::<Vec<_>>(), [1, 0, 1, 0, 1, 0, 1, 0, 0, 1]);
    assert!(steps[..9].iter().all(|step| step.1 == 5_000), "{steps:?}");
    assert_eq!(steps[9].1, 5_200);
    // A timeout ends it: slow start.
    let mut network = sent_with(config, 10, Network::unlimited);
    echo(&mut network, 1000);
    network.run_until(network.sender.deadline());
    assert_eq!(network.sender.counters().timeouts, 1);
    ack(&mut network, 2000, &[]);
    assert_eq!(network.sender.congestion_window_bytes(), 2_000);
}
