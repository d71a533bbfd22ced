//! The rules of RFC 9002, one by one.

use super::*;
use crate::{Segment, SegmentOut};

struct Nowhere;

impl SegmentOut for Nowhere {
    fn segment(&mut self, _segment: Segment) {}
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_milliseconds(ms)
}

/// The recovery and its connection, with a round trip of 100 ms and endless data in segments of 1448 bytes.
fn quic() -> (QuicRecovery, Connection) {
    let config = TcpConfig { sack: true, timestamps: true, ..TcpConfig::default() };
    let mut connection = Connection::new(&config);
    (connection.unacknowledged, connection.next, connection.highest, connection.data_end) = (1, 1, 1, u64::MAX);
    connection.round_trip.sample(Time::ZERO, at(100), false);
    (QuicRecovery::new(&config), connection)
}

/// Calls `act` with a turn of this connection at this time.
fn turn(connection: &mut Connection, now: Time, act: impl FnOnce(&mut RecoveryContext<'_>)) {
    let mut controller = crate::CongestionControl::NewReno.build(&TcpConfig::default().setup());
    let mut out = Nowhere;
    act(&mut RecoveryContext { connection, controller: &mut *controller, now, out: &mut out });
}

/// Sends so many new segments at this time.
fn send(quic: &mut QuicRecovery, connection: &mut Connection, count: u32, now: Time) {
    turn(connection, now, |turn| (0..count).for_each(|_| assert!(quic.send_new(turn, u64::MAX))));
}

fn start(index: u64) -> u64 {
    1 + 1448 * index
}

/// An ACK of everything below the segment `index`, and of the segments `held`, that answers one sent at `echo`.
fn ack(index: u64, held: Option<(u64, u64)>, echo: Time) -> Ack {
    let mut ack = Ack { ack: start(index), echo, ..Ack::default() };
    if let Some((first, end)) = held {
        ack.sack.push(start(first), start(end));
    }
    ack
}

fn learn(quic: &mut QuicRecovery, connection: &mut Connection, ack: &Ack, now: Time) {
    let newly = if ack.ack > connection.unacknowledged { connection.advance(ack, now) } else { 0 };
    assert!(quic.learn(connection, ack, newly, now));
}

fn lost(quic: &QuicRecovery) -> Vec<u32> {
    quic.news.lost.iter().map(|&(number, _)| number).collect()
}

#[test]
fn a_number_three_below_one_that_arrived_is_lost() {
    // Section 6.1.1.
    let (mut quic, mut connection) = quic();
    send(&mut quic, &mut connection, 8, at(200));
    learn(&mut quic, &mut connection, &ack(0, Some((2, 3)), at(200)), at(300));
    // Section 6.1.2: 9/8 of the round trip after they were sent.
    assert_eq!((lost(&quic), quic.loss_time), (Vec::new(), Time::ZERO + Span::from_microseconds(312_500)));
    learn(&mut quic, &mut connection, &ack(0, Some((2, 5)), at(200)), at(301));
    assert_eq!(lost(&quic), [0, 1]);
    assert_eq!(quic.loss_time, Time::NEVER);
    assert!(quic.news.is_congestion && !quic.news.is_persistent);
}

#[test]
fn the_time_threshold_is_that_of_the_longer_round_trip_and_a_millisecond_at_least() {
    // Section 6.1.2.
    for (smoothed_ps, latest_ps, expected_ps) in
        [(800, 400, 1_000_000_000), (8 << 32, 8, 9 << 32), (8 << 32, 8 << 33, 9 << 33)]
    {
        let (mut quic, mut connection) = quic();
        connection.round_trip = crate::RoundTrip::new(&TcpConfig::default());
        connection.round_trip.sample(Time::ZERO, Time::from_picoseconds(smoothed_ps), false);
        quic.latest_round_trip = Span::from_picoseconds(latest_ps);
        assert_eq!(quic.time_threshold(&connection), Span::from_picoseconds(expected_ps));
    }
}

#[test]
fn the_timer_is_for_the_overdue_or_else_for_probes() {
    // Section 6.2.1: 100 + 4 x 50 + 25 ms after the last segment, then the double.
    let (mut quic, mut connection) = quic();
    send(&mut quic, &mut connection, 2, at(200));
    quic.set_timer(&mut connection, at(200));
    assert_eq!((connection.timer, connection.deadline), (Timer::Probe, at(525)));
    for (now, due) in [(525, 525 + 650), (1175, 1175 + 1300), (2475, 2475 + 2600)] {
        turn(&mut connection, at(now), |turn| quic.send_probes(turn));
        assert_eq!((connection.timer, connection.deadline), (Timer::Probe, at(due)));
    }
    assert_eq!((connection.counters.probes, connection.next), (6, start(8)));
    // An arrival ends the doubling. The first two are overdue.
    learn(&mut quic, &mut connection, &ack(0, Some((2, 3)), at(525)), at(2500));
    assert_eq!((quic.timeouts, lost(&quic)), (0, [0, 1].into()));
    // One more is not yet, and no probe is due meanwhile.
    learn(&mut quic, &mut connection, &ack(0, Some((6, 7)), at(2475)), at(2575));
    quic.set_timer(&mut connection, at(2575));
    assert_eq!(connection.timer, Timer::Probe);
    learn(&mut quic, &mut connection, &ack(0, Some((7, 8)), at(2475)), at(2576));
    send(&mut quic, &mut connection, 2, at(2576));
    learn(&mut quic, &mut connection, &ack(0, Some((9, 10)), at(2576)), at(2676));
    quic.set_timer(&mut connection, at(2676));
    assert_eq!(connection.timer, Timer::Reordering);
    // The pacer may be earlier.
    connection.resume_at = at(2677);
    quic.set_timer(&mut connection, at(2676));
    assert_eq!((connection.timer, connection.deadline), (Timer::Pacing, at(2677)));
}

#[test]
fn the_longest_timeout_is_a_bound() {
    let (mut quic, connection) = quic();
    for timeouts in [8, MAX_DOUBLINGS] {
        quic.timeouts = timeouts;
        assert_eq!(quic.probe_timeout(&connection), Span::from_seconds(60));
    }
}

#[test]
fn the_echo_says_which_transmission_has_arrived() {
    // Sections 2 and 5.1. The first segment was sent at 200, 500 and 800 ms.
    let (mut quic, mut connection) = quic();
    send(&mut quic, &mut connection, 2, at(200));
    for now in [500, 800] {
        turn(&mut connection, at(now), |turn| {
            let first = quic.segments.first_missing(0).unwrap();
            quic.retransmit(first, false, turn);
        });
    }
    let first = quic.segments.first_missing(0).unwrap();
    let arrival = |number, ms, is_answered| Arrival { number, sent: at(ms), is_answered };
    let earlier = Time::from_picoseconds(at(500).picoseconds() - 999);
    for (echo, expected) in [
        (at(200), arrival(0, 200, true)),
        (at(500), arrival(2, 500, true)),
        (at(800), arrival(3, 800, true)),
        // A nanosecond is the resolution of a timestamp.
        (earlier, arrival(2, 500, true)),
        (Time::from_picoseconds(earlier.picoseconds() - 1), arrival(0, 200, false)),
        // The ACK answers another segment.
        (at(600), arrival(2, 500, false)),
        (at(900), arrival(3, 800, false)),
        (Time::NEVER, arrival(3, 800, false)),
        (at(100), arrival(0, 200, false)),
    ] {
        assert_eq!(quic.attribute(&first, &ack(1, None, echo)), expected, "{echo:?}");
    }
    // A D-SACK reports the other segment as the one that has arrived.
    let mut twice = ack(2, None, at(800));
    twice.sack.push(start(1), start(2));
    assert_eq!(quic.attribute(&first, &twice), arrival(2, 500, false));
    let mut twice = ack(2, None, at(800));
    twice.sack.push(start(0), start(1));
    assert_eq!(quic.attribute(&first, &twice), arrival(3, 800, true));
}

#[test]
fn repeated_data_yields_a_sample_and_a_probe_shows_the_loss_of_its_original() {
    // Section 5.1: no exception for repeated data, and none for an ACK of nothing but data above a gap.
    for (echo, sample_ms, largest, expected) in
        [(at(600), 100, (3, at(600)), [0, 1].as_slice()), (at(200), 500, (1, at(200)), &[])]
    {
        let (mut quic, mut connection) = quic();
        send(&mut quic, &mut connection, 2, at(200));
        // Probes repeat both, as numbers 2 and 3.
        connection.data_end = start(2);
        turn(&mut connection, at(600), |turn| quic.send_probes(turn));
        learn(&mut quic, &mut connection, &ack(0, Some((1, 2)), echo), at(700));
        assert_eq!(quic.latest_round_trip, Span::from_milliseconds(sample_ms));
        let smoothed = Span::from_picoseconds((7 * 100 + sample_ms) * 1_000_000_000 / 8);
        assert_eq!(connection.round_trip.smoothed(), Some(smoothed));
        assert_eq!(quic.largest, Some(largest));
        // Section 6.1: both originals are overdue, and number 2 is not.
        assert_eq!(lost(&quic), expected);
    }
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
}

#[test]
fn nonsense_does_no_harm() {
    let (mut quic, mut connection) = quic();
    turn(&mut connection, at(1), |turn| quic.send_probes(turn));
    send(&mut quic, &mut connection, 3, at(200));
    for blocks in [[(0, u64::MAX), (9, 3)], [(1, 2), (0, 1)], [(1, start(3)), (5, 5)], [(start(1), start(2)); 2]] {
        let mut ack = Ack { ack: 1, echo: at(5), ..Ack::default() };
        blocks.iter().for_each(|&(left, right)| assert!(ack.sack.push(left, right)));
        learn(&mut quic, &mut connection, &ack, at(300));
        turn(&mut connection, at(301), |turn| quic.send_probes(turn));
        assert!(connection.deadline > at(301));
    }
}
