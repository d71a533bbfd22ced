//! Recovery periods and persistent congestion: section 7 of RFC 9002.

use super::*;

#[test]
fn losses_are_in_the_order_of_their_numbers() {
    // Section 7.6.2: a run of losses has no gap. Numbers 2 and 3 are in flight, and repeat 0 and 1.
    let (mut quic, mut connection) = quic();
    send(&mut quic, &mut connection, 2, at(200));
    connection.data_end = start(2);
    turn(&mut connection, at(600), |turn| quic.send_probes(turn));
    connection.data_end = u64::MAX;
    send(&mut quic, &mut connection, 3, at(700));
    learn(&mut quic, &mut connection, &ack(0, Some((4, 5)), at(700)), at(800));
    assert_eq!(lost(&quic), [0, 1, 2, 3]);
}

#[test]
fn congestion_is_persistent_only_after_the_first_sample() {
    // Section 7.6.2, first_rtt_sample.
    let config = TcpConfig { sack: true, timestamps: true, handshake: false, ..TcpConfig::default() };
    let mut quic = QuicRecovery::new(&config);
    let (_, mut connection) = self::quic();
    connection.round_trip = crate::RoundTrip::new(&config);
    send(&mut quic, &mut connection, 2, at(200));
    learn(&mut quic, &mut connection, &ack(0, None, Time::NEVER), at(250));
    assert_eq!(quic.first_sample, Time::NEVER);
    learn(&mut quic, &mut connection, &ack(1, None, at(200)), at(300));
    assert_eq!(quic.first_sample, at(300));
    learn(&mut quic, &mut connection, &ack(2, None, at(200)), at(301));
    assert_eq!(quic.first_sample, at(300));
    // With a handshake the SYN-ACK is one.
    assert_eq!(self::quic().0.first_sample, Time::ZERO);
}

#[test]
fn one_lost_segment_precedes_the_reduction() {
    // Section 7.3.2.
    let (mut quic, mut connection) = quic();
    send(&mut quic, &mut connection, 10, at(200));
    connection.data_end = connection.next;
    for (end, has_lost) in [(4, false), (5, true)] {
        learn(&mut quic, &mut connection, &ack(0, Some((3, end)), at(200)), at(300));
        turn(&mut connection, at(300), |turn| {
            if quic.is_due(turn.connection) {
                quic.enter(turn);
                assert_eq!(turn.connection.recovery_point, turn.connection.highest);
            }
            turn.connection.apply_window();
            quic.send(turn);
        });
        // Eight, then seven segments are in flight, and the window has room for five.
        assert_eq!(quic.has_lost(), has_lost, "{end}");
    }
    // Others need room for the whole segment.
    let segment = quic.segments.next_lost().unwrap();
    let in_flight = quic.segments.in_flight_bytes();
    for (limit, is_allowed) in [(in_flight + 1448, true), (in_flight + 1447, false)] {
        turn(&mut connection, at(301), |turn| {
            assert_eq!(quic.may_repair(&segment, limit, turn), is_allowed);
        });
    }
    // The exception does not outlast its time.
    for _ in 0..2 {
        quic.sends_one = true;
        turn(&mut connection, at(302), |turn| quic.send(turn));
        assert!(!quic.sends_one && !quic.has_lost());
    }
    // No probe has repeated anything.
    assert!(quic.repeated.is_empty());
}

#[test]
fn a_period_ends_with_the_last_arrival() {
    // All that was in flight has arrived, the supposedly lost as well.
    let (mut quic, mut connection) = quic();
    send(&mut quic, &mut connection, 10, at(200));
    learn(&mut quic, &mut connection, &ack(0, Some((3, 4)), at(200)), at(300));
    turn(&mut connection, at(300), |turn| quic.enter(turn));
    learn(&mut quic, &mut connection, &ack(9, None, at(200)), at(301));
    turn(&mut connection, at(301), |turn| quic.on_partial_ack(turn, 1448));
    assert!(connection.in_recovery);
    learn(&mut quic, &mut connection, &ack(10, None, at(200)), at(302));
    turn(&mut connection, at(302), |turn| quic.on_full_ack(turn));
    assert!(!connection.in_recovery);
}

#[test]
fn a_period_ends_when_something_sent_after_its_start_arrives() {
    // Section 7.3.2.
    let (mut quic, mut connection) = quic();
    send(&mut quic, &mut connection, 10, at(200));
    learn(&mut quic, &mut connection, &ack(0, Some((3, 4)), at(200)), at(300));
    assert!(quic.is_due(&connection));
    turn(&mut connection, at(300), |turn| {
        quic.enter(turn);
        let lost = quic.segments.next_lost().unwrap();
        quic.retransmit(lost, true, turn);
    });
    let reduced = connection.window.congestion_window;
    assert_eq!((reduced, connection.in_recovery, quic.period.first), (5.0, true, 10));
    // Further losses of what was sent before the start are part of the same event.
    learn(&mut quic, &mut connection, &ack(0, Some((3, 8)), at(200)), at(301));
    assert_eq!(lost(&quic), [1, 2]);
    assert!(!quic.is_due(&connection) && quic.period.is_open);
    // The retransmission arrives.
    learn(&mut quic, &mut connection, &ack(1, Some((3, 8)), at(300)), at(400));
    turn(&mut connection, at(400), |turn| quic.on_partial_ack(turn, 1448));
    assert!(!connection.in_recovery && !quic.period.is_open);
    assert_eq!(connection.window.congestion_window, reduced);
    // A mark begins one, too.
    quic.on_mark(&connection);
    assert!(quic.is_coming_down(&connection));
}

#[test]
fn persistent_congestion_is_a_run_of_losses_longer_than_three_timeouts() {
    // Section 7.6: 3 x (100 + 4 x 50 + 25) ms = 975 ms after a first sample at 50 ms.
    for (losses, is_persistent) in [
        ([(0, 100), (1, 1075)], false),
        ([(0, 100), (1, 1076)], true),
        // Number 1 has arrived.
        ([(0, 100), (2, 1200)], false),
        // There was no sample before.
        ([(0, 49), (1, 1076)], false),
        // A transmission at the time of the sample follows it.
        ([(0, 50), (1, 1026)], true),
        ([(u32::MAX, 100), (0, 1076)], true),
    ] {
        let (mut quic, connection) = quic();
        quic.first_sample = at(50);
        quic.news.lost = losses.into_iter().map(|(number, ms)| (number, at(ms))).collect();
        quic.judge_losses(&connection);
        assert_eq!(quic.news.is_persistent, is_persistent, "{losses:?}");
    }
}

#[test]
fn persistent_congestion_leaves_the_minimum_window_and_no_period() {
    // Section 7.6.2.
    let (mut quic, mut connection) = quic();
    send(&mut quic, &mut connection, 10, at(200));
    (quic.news.is_congestion, quic.news.is_persistent) = (true, true);
    turn(&mut connection, at(2000), |turn| quic.enter(turn));
    let window = connection.window;
    assert_eq!((window.congestion_window, window.slow_start_threshold), (2.0, 5.0));
    assert!(!connection.in_recovery && !quic.period.is_open && !quic.is_due(&connection));
    // Within a period, the window was reduced for the same losses: the threshold stays.
    connection.window = crate::Control::new(8.0, 6.0);
    quic.news.is_persistent = true;
    assert!(quic.is_due(&connection));
    turn(&mut connection, at(2001), |turn| quic.enter(turn));
    assert_eq!((connection.window.congestion_window, connection.window.slow_start_threshold), (2.0, 6.0));
}
