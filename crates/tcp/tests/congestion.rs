//! Growth, losses and timeouts, by the RFCs' rules and the vectors that other simulators publish.

mod network;

use forebay_tcp::{Ack, CongestionControl, PartialAckTimer, Segment, Span, TcpConfig, Time};
use network::{Fate, Network, Path, at_ms, at_seconds};

const DELAY: Span = Span::from_milliseconds(50);
const ROUND_TRIP: Span = Span::from_milliseconds(100);

/// Segments of 1000 bytes, all of them payload, no handshake: segment n (from 1) starts at 1000 (n - 1) + 1.
fn plain(window: u32) -> TcpConfig {
    TcpConfig {
        handshake: false,
        initial_window_segments: window,
        max_window_segments: 1000,
        segment: forebay_tcp::Bytes(1000),
        header: forebay_tcp::Bytes(0),
        ..TcpConfig::default()
    }
}

/// The numbers (from 1) of the data segments sent again.
fn segments_resent(network: &Network) -> Vec<u64> {
    network.retransmissions().iter().map(|sent| sent.segment.seq / 1000 + 1).collect()
}

/// The window, in segments, when this many segments have been acknowledged.
fn window_after(config: TcpConfig, segments: u64) -> f64 {
    let mut network = Network::new(config, Path::delay(DELAY));
    network.unlimited();
    network.run_until_acked(segments * 1000);
    assert_eq!(network.sender.acked_bytes(), segments * 1000);
    network.sender.congestion_window_bytes() as f64 / 1000.0
}

#[test]
fn slow_start_counts_segments_acknowledged() {
    // ns-3's vector: initial window 2, 7 segments: 9.
    assert_eq!(window_after(plain(2), 7), 9.0);
    // Delayed ACKs cover two: with RFC 3465's L = 2 they count for two, in RFC 5681 for one.
    let delayed = TcpConfig { delayed_ack: true, ..plain(2) };
    assert_eq!(window_after(TcpConfig { byte_counting_limit: 2, ..delayed.clone() }, 8), 10.0);
    assert_eq!(window_after(delayed, 8), 6.0);
}

#[test]
fn congestion_avoidance_adds_a_segment_each_round_trip() {
    // ns-3 steps from 2 over 3 to 4 in whole segments; 1/cwnd for each segment stays a little below.
    let config = TcpConfig { initial_ssthresh_segments: Some(2), ..plain(1) };
    let mut expected: f64 = 1.0;
    for segment in 1..=6 {
        expected += if expected < 2.0 { 1.0 } else { 1.0 / expected };
        assert!((window_after(config.clone(), segment) - expected).abs() < 0.002);
    }
    assert!((3.8..=4.0).contains(&expected), "{expected}");
}

#[test]
fn the_window_never_exceeds_the_maximum() {
    let config = TcpConfig { max_window_segments: 12, ..plain(2) };
    let mut network = Network::new(config, Path::delay(DELAY));
    network.unlimited();
    network.run_until(at_seconds(2));
    assert_eq!(network.sender.flight_bytes(), 12_000);
    assert_eq!(network.sender.congestion_window_bytes(), 12_000);
}

#[test]
fn newreno_mends_one_loss_each_round_trip() {
    for timer in [PartialAckTimer::SlowButSteady, PartialAckTimer::Impatient] {
        let config = TcpConfig { partial_ack_timer: timer, ..plain(16) };
        let mut network = Network::new(config, Path::delay(DELAY).losing_first_transmissions(&[1, 4001]));
        network.transfer(40_000);
        network.run_until(Time::NEVER);
        assert_eq!(segments_resent(&network), [1, 5]);
        let resent = network.retransmissions();
        assert_eq!(resent[1].at.since(resent[0].at), ROUND_TRIP);
        assert_eq!(network.sender.counters().timeouts, 0);
        assert_eq!(network.sender.counters().fast_recoveries, 1);
    }
}

#[test]
fn many_losses_are_slow_but_steady_or_end_in_an_impatient_timeout() {
    let losses: &[u64] = &[1, 1001, 2001, 3001, 4001, 5001, 6001, 7001, 8001, 9001, 10_001, 11_001];
    for (timer, timeouts) in [(PartialAckTimer::SlowButSteady, 0), (PartialAckTimer::Impatient, 1)] {
        let config = TcpConfig { partial_ack_timer: timer, min_rto: Span::from_milliseconds(400), ..plain(20) };
        let mut network = Network::new(config, Path::delay(DELAY).losing_first_transmissions(losses));
        network.transfer(40_000);
        network.run_until(Time::NEVER);
        assert_eq!(network.sender.counters().timeouts, timeouts, "{timer:?}");
    }
}

#[test]
fn reno_recovers_one_loss_and_times_out_after_several() {
    for (losses, timeouts) in [(&[1][..], 0), (&[1, 2001, 4001][..], 1)] {
        let config = TcpConfig { congestion_control: CongestionControl::Reno, ..plain(12) };
        let mut network = Network::new(config, Path::delay(DELAY).losing_first_transmissions(losses));
        network.transfer(40_000);
        network.run_until(Time::NEVER);
        assert_eq!(network.sender.counters().fast_recoveries, 1);
        assert_eq!(network.sender.counters().timeouts, timeouts);
    }
}

#[test]
fn fast_recovery_halves_and_inflates_and_deflates() {
    let mut network = Network::new(plain(16), Path::delay(DELAY).losing_first_transmissions(&[1]));
    network.unlimited();
    // 15 duplicate ACKs come at once: half of 16 and 15 more; 7 fit beyond the 16 + 2 that are in flight already.
    network.run_until(at_ms(110));
    assert_eq!(network.sender.congestion_window_bytes(), 23_000);
    assert_eq!(network.sender.slow_start_threshold_bytes(), Some(8_000));
    assert_eq!(network.sender.flight_bytes(), 23_000);
    // The full ACK: 18 of them are acknowledged; the window is 5 + 1 in flight (RFC 6582, 3.2, step 3, option 1).
    network.run_until(at_ms(201));
    assert_eq!(network.sender.congestion_window_bytes() / 1000, 8);
}

#[test]
fn sack_mends_a_window_of_losses_in_one_round_trip() {
    let losses: &[u64] = &[1001, 4001, 7001];
    let config = TcpConfig { sack: true, ..plain(10) };
    let mut network = Network::new(config, Path::delay(DELAY).losing_first_transmissions(losses));
    network.transfer(40_000);
    network.run_until(Time::NEVER);
    assert_eq!(segments_resent(&network), [2, 5, 8]);
    let resent = network.retransmissions();
    assert!(resent[2].at.since(resent[0].at) <= ROUND_TRIP);
    assert_eq!(network.sender.counters().timeouts, 0);
    assert_eq!(network.sender.counters().fast_recoveries, 1);

    // NewReno needs a round trip for each.
    let mut network = Network::new(plain(10), Path::delay(DELAY).losing_first_transmissions(losses));
    network.transfer(40_000);
    network.run_until(Time::NEVER);
    assert_eq!(segments_resent(&network), [2, 5, 8]);
    let resent = network.retransmissions();
    assert_eq!(resent[2].at.since(resent[0].at), ROUND_TRIP * 2);
}

#[test]
fn sack_rescues_the_tail_once_in_a_recovery() {
    // RFC 6675, NextSeg (4): a loss at the beginning, and the last two segments, above which nothing is SACKed. While
    // the first retransmission is under way, duplicate ACKs find nothing else to send than the last segment.
    let config = TcpConfig { sack: true, ..plain(12) };
    let losses: &[u64] = &[1, 10_001, 11_001];
    let mut network = Network::new(config, Path::delay(DELAY).losing_first_transmissions(losses));
    // Without an end of the stream: a FIN would be the highest number in flight.
    network.drive_sender(|sender, now, out| {
        sender.open(now, out);
        sender.write(12_000, now, out);
    });
    network.run_until(at_seconds(3));
    assert_eq!(segments_resent(&network), [1, 12, 11]);
    assert_eq!(network.sender.counters().timeouts, 0);
}

#[test]
fn sack_does_not_resend_after_a_timeout_what_has_arrived() {
    // The first segment is lost twice, which only the timer finds out.
    let path = Path::delay(DELAY).with_segment_fate({
        let mut resent_first = false;
        move |_, segment| match segment.seq {
            1 if !segment.retransmission => Fate::Drop,
            1 if !core::mem::replace(&mut resent_first, true) => Fate::Drop,
            6001 if !segment.retransmission => Fate::Drop,
            _ => Fate::Pass,
        }
    });
    let mut network = Network::new(TcpConfig { sack: true, ..plain(10) }, path);
    network.unlimited();
    network.run_until(at_seconds(3));
    assert_eq!(network.sender.counters().timeouts, 1);
    assert_eq!(segments_resent(&network), [1, 7, 1]);
}

#[test]
fn limited_transmit_makes_the_third_duplicate() {
    for (limited_transmit, timeouts) in [(true, 0), (false, 1)] {
        for sack in [false, true] {
            let config = TcpConfig { limited_transmit, sack, ..plain(3) };
            let mut network = Network::new(config, Path::delay(DELAY).losing_first_transmissions(&[1]));
            network.transfer(20_000);
            network.run_until(Time::NEVER);
            assert_eq!(network.sender.counters().timeouts, timeouts, "{limited_transmit} {sack}");
        }
    }
}

#[test]
fn limited_transmit_leaves_window_and_threshold_alone() {
    let mut network = Network::new(plain(4), Path::delay(DELAY).losing_first_transmissions(&[1]));
    network.unlimited();
    network.run_until(at_ms(100));
    // Three duplicates: two new segments, then the threshold is half of 4, not of 6.
    assert_eq!(network.sender.slow_start_threshold_bytes(), Some(2_000));
    assert_eq!(network.log.len(), 4 + 2 + 1);
}

#[test]
fn reordering_after_recovery_does_not_start_another() {
    let mut network = Network::new(plain(10), Path::delay(DELAY).losing_first_transmissions(&[1]));
    network.unlimited();
    network.run_until_acked(12_000);
    assert_eq!(network.sender.counters().fast_recoveries, 1);
    // Recovery ended with an ACK of 12 segments, all sent before it began: duplicates of that ACK prove nothing.
    let recovered = 12_001;
    assert_eq!(network.sender.acked_bytes(), recovered - 1);
    let duplicate = Ack { ack: recovered, ..Ack::default() };
    for _ in 0..5 {
        network.drive_sender(|sender, now, out| sender.on_ack(&duplicate, now, out));
    }
    assert_eq!(network.sender.counters().fast_recoveries, 1);
}

#[test]
fn the_timer_doubles_until_something_arrives() {
    let path = Path::delay(DELAY).with_segment_fate(|n, _| if n < 5 { Fate::Drop } else { Fate::Pass });
    let config = TcpConfig { initial_rto: Span::from_seconds(1), ..plain(1) };
    let mut network = Network::new(config, path);
    network.unlimited();
    network.run_until(at_seconds(31));
    let sent: Vec<Time> = network.log.iter().map(|sent| sent.at).collect();
    assert_eq!(sent, [0, 1, 3, 7, 15, 31].map(at_seconds));
    assert_eq!(network.sender.counters().timeouts, 5);
}

#[test]
fn no_round_trip_is_measured_on_what_was_sent_twice() {
    let path = Path::delay(DELAY).losing_first_transmissions(&[1]);
    let mut network = Network::new(plain(1), path);
    network.transfer(1000);
    network.run_until(Time::NEVER);
    assert_eq!(network.sender.round_trip().smoothed(), None);
    assert_eq!(network.sender.round_trip().timeout(), Span::from_seconds(2));
}

#[test]
fn a_second_timeout_leaves_the_threshold_alone() {
    // RFC 5681, 3.1: a whole window is lost, and two retransmissions.
    let path = Path::delay(DELAY).with_segment_fate(|n, _| if (8..26).contains(&n) { Fate::Drop } else { Fate::Pass });
    let mut network = Network::new(plain(8), path);
    network.unlimited();
    network.run_until(at_seconds(6));
    assert_eq!(network.sender.counters().timeouts, 2);
    // The window had grown to 16 when the timer first expired.
    assert_eq!(network.sender.slow_start_threshold_bytes(), Some(8_000));
}

#[test]
fn a_lost_handshake_is_repeated_and_starts_with_one_segment() {
    let config = TcpConfig { handshake: true, ..plain(10) };
    for lose_syn_ack in [false, true] {
        let mut path = Path::delay(DELAY);
        if lose_syn_ack {
            path.ack_is_lost = Box::new(|n, _| n == 0);
        } else {
            path.segment_fate = Box::new(|n, _| if n == 0 { Fate::Drop } else { Fate::Pass });
        }
        let mut network = Network::new(config.clone(), path);
        network.transfer(30_000);
        network.run_until(at_ms(1101));
        let syns: Vec<_> = network.log.iter().filter(|sent| sent.segment.syn).collect();
        assert_eq!(syns.len(), 2);
        assert_eq!(syns[1].at, at_seconds(1));
        assert_eq!([0, 1].map(|n| syns[n].segment.retransmission), [false, true]);
        assert_eq!([0, 1].map(|n| syns[n].segment.sent), [0, 1].map(at_seconds));
        // RFC 5681, 3.1: one segment. RFC 6298, 5.7: a timeout of 3 s.
        assert_eq!(network.log.len(), 3);
        assert_eq!(network.sender.deadline(), at_ms(4100));
        network.run_until(Time::NEVER);
        assert!(network.sender.is_finished() && network.receiver.is_closed());
    }
}

#[test]
fn the_handshake_gives_the_first_round_trip() {
    let mut network = Network::new(TcpConfig::default(), Path::delay(DELAY));
    network.unlimited();
    network.run_until(at_ms(100));
    assert_eq!(network.sender.round_trip().smoothed(), Some(ROUND_TRIP));
    assert_eq!(network.log.len(), 1 + 10);
}

#[test]
fn idle_time_brings_the_window_back() {
    let config = TcpConfig { min_rto: Span::from_milliseconds(300), ..plain(4) };
    let mut network = Network::new(config, Path::delay(DELAY));
    network.drive_sender(|sender, now, out| {
        sender.open(now, out);
        sender.write(60_000, now, out);
    });
    network.run_until(at_seconds(2));
    assert!(network.sender.congestion_window_bytes() > 16_000);
    network.drive_sender(|sender, now, out| sender.write(60_000, now, out));
    assert_eq!(network.sender.congestion_window_bytes(), 4_000);
    assert_eq!(network.sender.flight_bytes(), 4_000);
}

#[test]
fn a_pause_within_the_timeout_leaves_the_window_alone() {
    let config = TcpConfig { min_rto: Span::from_milliseconds(300), ..plain(4) };
    let mut network = Network::new(config, Path::delay(DELAY));
    network.drive_sender(|sender, now, out| {
        sender.open(now, out);
        sender.write(60_000, now, out);
    });
    network.run_until_acked(60_000);
    let window = network.sender.congestion_window_bytes();
    network.now += Span::from_milliseconds(150);
    network.drive_sender(|sender, now, out| sender.write(60_000, now, out));
    assert_eq!(network.sender.congestion_window_bytes(), window);
}

#[test]
fn a_window_out_of_use_does_not_grow() {
    let mut network = Network::new(plain(4), Path::delay(DELAY));
    network.drive_sender(|sender, now, out| sender.open(now, out));
    for _ in 0..50 {
        network.drive_sender(|sender, now, out| sender.write(1000, now, out));
        network.run_until(network.now + ROUND_TRIP);
    }
    assert_eq!(network.sender.congestion_window_bytes(), 4_000);
}

#[test]
fn acks_of_what_was_never_sent_are_ignored() {
    let mut network = Network::new(plain(4), Path::delay(DELAY));
    network.unlimited();
    let nonsense = Ack { ack: 1_000_000, ..Ack::default() };
    network.drive_sender(|sender, now, out| sender.on_ack(&nonsense, now, out));
    assert_eq!(network.sender.acked_bytes(), 0);
}

#[test]
fn nothing_is_sent_before_the_handshake_is_through() {
    let mut network = Network::new(TcpConfig::default(), Path::delay(DELAY));
    network.unlimited();
    network.run_until(at_ms(99));
    assert_eq!(network.log.len(), 1);
    assert_eq!(network.log[0].segment, Segment { syn: true, ..Segment::default() });
}
