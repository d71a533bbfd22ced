//! The rules of RFC 9002, one by one.

use super::*;
use crate::{Segment, SegmentOut};

#[path = "quic_period_tests.rs"]
mod period;

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
    assert_eq!(quic.delivered_bytes(0), 2 * 1448);
    // The next ACK has nothing new.
    learn(&mut quic, &mut connection, &ack(0, Some((2, 5)), at(200)), at(302));
    assert!(lost(&quic).is_empty() && quic.delivered_bytes(0) == 0 && !quic.is_due(&connection));
}

#[test]
fn the_timer_is_for_the_first_to_be_overdue() {
    // Section 6.1.2, loss_time.
    let (mut quic, mut connection) = quic();
    for ms in [200, 205, 206] {
        send(&mut quic, &mut connection, 1, at(ms));
    }
    learn(&mut quic, &mut connection, &ack(0, Some((2, 3)), at(206)), at(306));
    assert_eq!(quic.loss_time, Time::ZERO + Span::from_microseconds(312_500));
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
    // Section 6.2.2: 9/8 of 333 ms before the first sample.
    let (quic, mut connection) = quic();
    connection.round_trip = crate::RoundTrip::new(&TcpConfig::default());
    assert_eq!(quic.time_threshold(&connection), Span::from_microseconds(374_625));
    // Section 6.2.1: four deviations count for a millisecond at least.
    connection.round_trip.sample(Time::ZERO, Time::from_picoseconds(1000), false);
    let expected = Span::from_picoseconds(1000) + Span::from_milliseconds(1 + 25);
    assert_eq!(quic.probe_base(&connection), expected);
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
    // An overdue timer is due at once, and with nothing in flight there is none.
    connection.resume_at = Time::NEVER;
    quic.set_timer(&mut connection, at(9999));
    assert_eq!(connection.deadline, at(9999));
    connection.unacknowledged = connection.highest;
    quic.set_timer(&mut connection, at(9999));
    assert_eq!(connection.deadline, Time::NEVER);
}

#[test]
fn only_an_arrival_ends_the_doubling() {
    // Section 6.2.1.
    let (mut quic, mut connection) = quic();
    send(&mut quic, &mut connection, 2, at(200));
    turn(&mut connection, at(600), |turn| quic.send_probes(turn));
    learn(&mut quic, &mut connection, &ack(0, None, at(100)), at(601));
    assert_eq!(quic.timeouts, 1);
    learn(&mut quic, &mut connection, &ack(1, None, at(200)), at(602));
    assert_eq!(quic.timeouts, 0);
}

#[test]
fn probes_send_lost_data_and_then_what_is_missing_behind_it() {
    // Section 6.2.4. Lost data comes first: its transmission, number 0, is over.
    let (mut quic, mut connection) = quic();
    send(&mut quic, &mut connection, 5, at(200));
    connection.data_end = connection.next;
    learn(&mut quic, &mut connection, &ack(0, Some((3, 4)), at(200)), at(300));
    turn(&mut connection, at(900), |turn| {
        turn.connection.timer = Timer::Probe;
        assert!(!quic.on_deadline(turn), "a probe reports no loss");
    });
    // The other probe repeats the next segment, not the one just sent again.
    let repeated: Vec<u32> = quic.repeated.iter().map(|repeated| repeated.number).collect();
    assert_eq!((repeated.as_slice(), quic.has_lost()), ([1].as_slice(), false));
    // The timer for what is overdue reports losses, and no arrival.
    turn(&mut connection, at(1000), |turn| {
        turn.connection.timer = Timer::Reordering;
        assert!(quic.on_deadline(turn));
    });
    assert_eq!((lost(&quic), quic.delivered_bytes(0)), ([1, 2].into(), 0));
    assert!(quic.has_lost());
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
fn an_arrival_leaves_what_was_repeated_of_other_data_and_what_was_sent_before_it() {
    // Section 6.1. Two rounds of probes repeat both segments: numbers 0 and 2 are of the first, 1 and 3 of the second.
    let (mut quic, mut connection) = quic();
    send(&mut quic, &mut connection, 2, at(200));
    connection.data_end = start(2);
    for now in [600, 1250] {
        turn(&mut connection, at(now), |turn| quic.send_probes(turn));
    }
    learn(&mut quic, &mut connection, &ack(0, Some((1, 2)), at(200)), at(1300));
    let repeated: Vec<u32> = quic.repeated.iter().map(|repeated| repeated.number).collect();
    assert_eq!((repeated.as_slice(), lost(&quic)), ([0, 2].as_slice(), Vec::new()));
}

#[test]
fn an_ack_is_a_sample_if_it_advances_or_answers_the_highest_number() {
    // Section 5.1.
    let ms = Span::from_milliseconds;
    let (mut quic, mut connection) = quic();
    send(&mut quic, &mut connection, 5, at(200));
    let mut check = |ack: Ack, now, latest, smoothed_us| {
        learn(&mut quic, &mut connection, &ack, at(now));
        let smoothed = connection.round_trip.smoothed();
        assert_eq!((quic.latest_round_trip, smoothed), (ms(latest), Some(Span::from_microseconds(smoothed_us))));
    };
    // An ACK of number 1 alone, then one that reports number 2 but answers another segment, and one of nothing new.
    check(ack(0, Some((1, 2)), at(200)), 380, 180, 110_000);
    check(ack(0, Some((1, 3)), at(100)), 390, 180, 110_000);
    check(ack(0, Some((1, 3)), at(200)), 395, 180, 110_000);
    // One that advances counts once.
    check(ack(1, Some((1, 3)), at(200)), 390, 190, 120_000);
    check(ack(4, None, at(200)), 420, 220, 132_500);
    learn(&mut quic, &mut connection, &ack(5, None, Time::NEVER), at(430));
    assert_eq!(quic.latest_round_trip, ms(220), "without a timestamp");
}

#[test]
fn delivery_is_measured_by_transmission() {
    // draft-cheng-iccrg-delivery-rate-estimation, section 3. An ACK that answers a retransmission has its round trip.
    for (echo, round_trip) in [(at(600), Some(Span::from_milliseconds(100))), (at(200), None), (at(650), None)] {
        let (mut quic, mut connection) = quic();
        connection.delivery = Some(Default::default());
        send(&mut quic, &mut connection, 5, at(200));
        connection.data_end = connection.next;
        // A segment that was sent once has its round trip, whichever segment the ACK answers.
        learn(&mut quic, &mut connection, &ack(0, Some((1, 4)), at(150)), at(300));
        let delivery = connection.delivery.as_mut().unwrap();
        let first = delivery.evaluate(1, None, at(300));
        assert_eq!(first.round_trip, Some(Span::from_milliseconds(100)));
        assert_eq!((first.newly_delivered, first.newly_lost, first.in_flight_before), (3, 1, 5));
        assert_eq!(delivery.losses.len(), 1);
        turn(&mut connection, at(600), |turn| {
            let lost = quic.segments.next_lost().unwrap();
            quic.retransmit(lost, true, turn);
        });
        learn(&mut quic, &mut connection, &ack(1, Some((1, 4)), echo), at(700));
        let second = connection.delivery.as_mut().unwrap().evaluate(1, None, at(700));
        assert_eq!((second.newly_delivered, second.round_trip), (1, round_trip), "{echo:?}");
        // The last segment and the retransmission were in flight.
        assert_eq!((second.in_flight_before, second.segment.unwrap().in_flight), (2, 2));
    }
}

#[test]
fn segments_are_paced_and_probes_are_not() {
    // Sections 7.7 and 6.2.4. Ten segments leave at once, and then bursts of two.
    let (mut quic, mut connection) = quic();
    connection.pacer = Some(crate::pacer::Pacer::new(Some(crate::Pacing::LINUX), false, 1448).into());
    connection.window_bytes = 100 * 1448;
    turn(&mut connection, at(200), |turn| quic.send(turn));
    assert_eq!(connection.next, start(12));
    assert!(connection.resume_at > at(200) && connection.resume_at < Time::NEVER);
    turn(&mut connection, at(200), |turn| quic.send_probes(turn));
    assert_eq!(connection.next, start(14));
}

#[test]
fn a_timeout_of_a_closed_window_sends_the_first_segment() {
    let (mut quic, mut connection) = quic();
    connection.delivery = Some(Default::default());
    send(&mut quic, &mut connection, 3, at(200));
    connection.next = 1;
    quic.on_timeout(&mut connection, at(900));
    assert_eq!((connection.next, quic.segments.next_lost().unwrap().start), (connection.highest, 1));
    assert!(quic.sends_one && connection.delivery.unwrap().losses.len() == 1);
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
    // A block that goes beyond what was sent counts for nothing.
    let mut beyond = ack(0, None, at(5));
    assert!(beyond.sack.push(start(2), connection.highest + 1));
    let held = quic.segments.sacked_segments();
    learn(&mut quic, &mut connection, &beyond, at(302));
    assert_eq!((quic.delivered_bytes(0), quic.segments.sacked_segments()), (0, held));
}
