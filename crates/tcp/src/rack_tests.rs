//! RACK's steps, and the tail loss probe's, one by one (RFC 8985).

use super::*;
use crate::{SackBlocks, Segment, SegmentOut};

struct Nowhere;

impl SegmentOut for Nowhere {
    fn segment(&mut self, _segment: Segment) {}
}

/// Section 6.2, step 4: a D-SACK widens the window once in a round trip; 16 recoveries without one forget it. The
/// recovery that ends with the D-SACK itself does not count.
#[test]
fn the_tolerance_grows_with_dsacks_and_lasts_for_sixteen_recoveries() {
    let config = TcpConfig { sack: true, rack: true, ..TcpConfig::default() };
    let mut rack = RackRecovery::new(&config);
    let mut connection = Connection::new(&config);
    (connection.unacknowledged, connection.highest) = (1, 10_001);
    for (acknowledged, has_dsack, tolerance) in
        [(1, false, 1), (1, true, 2), (5001, true, 2), (10_000, true, 2), (10_001, false, 2), (10_001, true, 3)]
    {
        connection.unacknowledged = acknowledged;
        rack.learn_tolerance(has_dsack, &connection);
        assert_eq!(rack.tolerance, tolerance, "{acknowledged}, {has_dsack}");
    }
    for recovery in 0..=16 {
        let mut out = Nowhere;
        let mut turn =
            RecoveryContext { connection: &mut connection, controller: &mut *reno(), now: Time::ZERO, out: &mut out };
        rack.on_full_ack(&mut turn);
        assert_eq!(rack.tolerance, if recovery < 16 { 3 } else { 1 }, "{recovery}");
    }
}

fn reno() -> alloc::boxed::Box<dyn crate::Controller> {
    crate::CongestionControl::NewReno.build(&TcpConfig::default().setup())
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_milliseconds(ms)
}

/// RACK, and a connection whose shortest round trip is 100 ms.
fn rack() -> (RackRecovery, Connection) {
    let config = TcpConfig { sack: true, rack: true, tail_loss_probe: true, ..TcpConfig::default() };
    let mut connection = Connection::new(&config);
    connection.round_trip.sample(Time::ZERO, at(100), false);
    (RackRecovery::new(&config), connection)
}

/// A segment of 1000 bytes with this end, sent last at this time.
fn segment(end: u64, sent: Time, is_retransmitted: bool) -> SentSegment {
    let mut segments = SentSegments::new();
    segments.note_new(end - 1000, end, 0, sent);
    let mut segment = segments.last().unwrap();
    segment.is_retransmitted = is_retransmitted;
    segment
}

#[test]
fn reordering_is_what_arrives_below_the_highest_and_was_sent_once() {
    // Section 6.2, step 3 (RACK_detect_reordering).
    let arrivals = [(2001, false), (2001, false), (4001, true), (3001, true), (5001, false)];
    for (last, forward, is_reordering) in [
        ((5001, false), 5001, false),
        ((6001, false), 6001, false),
        ((1001, true), 5001, false),
        ((1001, false), 5001, true),
    ] {
        let (mut rack, mut connection) = rack();
        for (end, is_retransmitted) in arrivals.into_iter().chain([last]) {
            assert!(!rack.reordering_seen);
            rack.on_arrival(segment(end, at(0), is_retransmitted), &Ack::default(), &mut connection, at(100));
        }
        assert_eq!((rack.forward, rack.reordering_seen), (forward, is_reordering), "{last:?}");
    }
}

#[test]
fn the_latest_that_has_arrived_is_the_one_sent_last() {
    // Section 6.2, steps 1 and 2: by the time sent, and by the number where that is the same (RACK_sent_after). The
    // round trip is that of the one sent last of those that an ACK reports.
    let (mut rack, mut connection) = rack();
    for (end, sent, latest, round_trip_ms) in [
        (3001, 20, (at(20), 3001), 180),
        (2001, 20, (at(20), 3001), 180),
        (9001, 10, (at(20), 3001), 180),
        (4001, 20, (at(20), 4001), 180),
        (1001, 30, (at(30), 1001), 170),
    ] {
        rack.on_arrival(segment(end, at(sent), false), &Ack::default(), &mut connection, at(200));
        assert_eq!((rack.latest, rack.news.latest), (latest, latest));
        assert_eq!(rack.round_trip, Span::from_milliseconds(round_trip_ms));
    }
    assert_eq!(rack.news.delivered_bytes, 5000);
    // Another ACK reports what was sent earlier.
    rack.news = News::default();
    rack.on_arrival(segment(5001, at(25), false), &Ack::default(), &mut connection, at(225));
    assert_eq!((rack.latest, rack.news.latest), ((at(30), 1001), (at(25), 5001)));
    assert_eq!(rack.round_trip, Span::from_milliseconds(200));
}

#[test]
fn the_ack_of_an_earlier_transmission_is_no_news_of_the_later() {
    // Section 6.2, step 2: the timestamp returned is older, or the round trip shorter than the shortest.
    let earlier = |by_ps| Time::from_picoseconds(at(200).picoseconds() - by_ps);
    for (is_retransmitted, echo, now_ms, counts) in [
        (true, Time::NEVER, 300, true),
        (true, Time::NEVER, 299, false),
        (true, at(200), 300, true),
        (true, at(201), 301, true),
        // A nanosecond is what a timestamp may lose on its way.
        (true, earlier(999), 300, true),
        (true, earlier(1000), 300, false),
        (true, at(100), 300, false),
        (true, at(200), 299, false),
        (false, Time::NEVER, 299, true),
        (false, at(100), 300, true),
    ] {
        let (mut rack, mut connection) = rack();
        let ack = Ack { echo, ..Ack::default() };
        rack.on_arrival(segment(2001, at(200), is_retransmitted), &ack, &mut connection, at(now_ms));
        assert_eq!(rack.latest == (at(200), 2001), counts, "{is_retransmitted}, {echo:?}, {now_ms}");
        // It has arrived either way.
        assert_eq!((rack.news.delivered_bytes, rack.forward), (1000, 2001));
    }
}

#[test]
fn what_the_ack_of_a_probe_tells() {
    // Section 7.4 (TLP_process_ack); all that was sent ends at 5001.
    let end = 5001;
    let (fresh, repeats) = (Probe::InFlight { end, repeats: false }, Probe::InFlight { end, repeats: true });
    let (twice, other, held) = (Some((4001, 5001)), Some((1, 1001)), Some((7001, 8001)));
    for (probe, acknowledged, block, has_advanced, then, has_mended) in [
        // Not all of it.
        (fresh, 5000, None, true, fresh, false),
        (repeats, 5000, twice, true, repeats, false),
        // New data, which has arrived.
        (fresh, 5001, None, true, Probe::Idle, false),
        (fresh, 6001, None, true, Probe::Idle, false),
        // The repeated data had arrived, as shown by a D-SACK of it, or a duplicate ACK without SACK.
        (repeats, 5001, twice, true, Probe::Idle, false),
        (repeats, 6001, twice, true, Probe::Idle, false),
        (repeats, 5001, None, false, Probe::Idle, false),
        (repeats, 5001, None, true, repeats, false),
        (repeats, 5001, other, false, repeats, false),
        (repeats, 5001, held, false, repeats, false),
        // Later data has arrived without such an ACK: the probe has repaired a loss.
        (repeats, 5002, None, true, Probe::Idle, true),
        (repeats, 6001, other, true, Probe::Idle, true),
        (repeats, 6001, held, true, Probe::Idle, true),
        (Probe::Idle, 6001, None, true, Probe::Idle, false),
        (Probe::Off, 6001, None, true, Probe::Off, false),
    ] {
        let (mut rack, _) = rack();
        (rack.probe, rack.news.has_advanced) = (probe, has_advanced);
        let mut sack = SackBlocks::default();
        if let Some((left, right)) = block {
            sack.push(left, right);
        }
        let ack = Ack { ack: acknowledged, sack, ..Ack::default() };
        let found = rack.settle_probe(&ack, ack.duplicate_block());
        assert_eq!((rack.probe, found), (then, has_mended), "{probe:?}, {acknowledged}, {block:?}, {has_advanced}");
    }
}

#[test]
fn a_mark_begins_a_reduction_of_what_has_not_arrived() {
    // RFC 9937, section 6.2: RecoverFS is what is in flight, without what has been SACKed. Until all of it is
    // acknowledged the window comes down.
    let (mut rack, mut connection) = rack();
    for index in 0..10 {
        rack.segments.note_new(1 + 1000 * index, 1001 + 1000 * index, 0, at(0));
    }
    (connection.unacknowledged, connection.next, connection.highest) = (1, 10_001, 10_001);
    let mut from = 5001;
    while rack.segments.sack_next(&mut from, 7001).is_some() {}
    rack.on_mark(&connection);
    assert!(matches!(rack.reduction, Reduction::Proportional { flight: 8000, delivered: 0, sent: 0 }));
    for (acknowledged, is_coming_down) in [(1, true), (10_000, true), (10_001, false), (10_002, false)] {
        connection.unacknowledged = acknowledged;
        assert_eq!(rack.is_coming_down(&connection), is_coming_down, "{acknowledged}");
    }
    rack.on_timeout(&mut connection, at(1000));
    connection.unacknowledged = 1;
    assert!(!rack.is_coming_down(&connection));
}

/// Ten segments of 1000 bytes sent at once, and their connection.
fn ten_in_flight() -> (RackRecovery, Connection) {
    let (mut rack, mut connection) = rack();
    for index in 0..10 {
        rack.segments.note_new(1 + 1000 * index, 1001 + 1000 * index, 0, at(0));
    }
    (connection.unacknowledged, connection.next, connection.highest) = (1, 10_001, 10_001);
    (rack, connection)
}

#[test]
fn the_end_of_a_recovery_from_a_timeout_counts_for_the_tolerance() {
    // Section 6.2, step 4: "exiting Fast or RTO recovery".
    let (mut rack, mut connection) = ten_in_flight();
    (rack.tolerance, rack.persistence) = (3, 1);
    rack.on_timeout(&mut connection, at(1000));
    connection.recovery_point = connection.highest;
    for (acknowledged, tolerance) in [(9001, 3), (10_001, 1)] {
        connection.unacknowledged = acknowledged;
        rack.learn(&mut connection, &Ack { ack: acknowledged, ..Ack::default() }, 1000, at(1100));
        assert_eq!(rack.tolerance, tolerance, "{acknowledged}");
    }
}

#[test]
fn a_loss_calls_for_a_recovery_until_it_arrives() {
    // Linux: `lost_out` counts what was sent again, too.
    let (mut rack, mut connection) = ten_in_flight();
    assert!(!rack.is_due(&connection));
    rack.segments.mark_lost((at(1), 0), |segment| segment.start == 1);
    assert!(rack.is_due(&connection));
    rack.segments.note_retransmission(1, 0, at(100));
    assert!(rack.is_due(&connection));
    // Below the recovery point one is under way.
    connection.recovery_point = 2;
    assert!(!rack.is_due(&connection));
    connection.recovery_point = 0;
    while rack.segments.pop_acknowledged(1001).is_some() {}
    assert!(!rack.is_due(&connection));
}

#[test]
fn after_a_timeout_a_lost_retransmission_calls_for_a_recovery_in_linux() {
    for response in [TimeoutResponse::Rfc, TimeoutResponse::Linux] {
        let (mut rack, mut connection) = ten_in_flight();
        rack.timeout_response = response;
        rack.on_timeout(&mut connection, at(1000));
        connection.recovery_point = connection.highest;
        assert!(!rack.is_due(&connection));
        rack.segments.note_retransmission(1, 0, at(1000));
        rack.segments.note_retransmission(1001, 0, at(1000));
        rack.round_trip = Span::from_milliseconds(100);
        // The second has arrived, not the first.
        let mut from = 1001;
        while rack.segments.sack_next(&mut from, 2001).is_some() {}
        rack.detect_losses((at(1000), 2001), &mut connection, at(1099));
        assert!(!rack.is_due(&connection));
        rack.detect_losses((at(1000), 2001), &mut connection, at(1100));
        assert_eq!(rack.is_due(&connection), response == TimeoutResponse::Linux);
    }
}

#[test]
fn retransmissions_in_flight_are_counted_with_the_probe() {
    let (mut rack, mut connection) = ten_in_flight();
    assert_eq!(rack.resent_in_flight(&connection), 0);
    // One lost and sent again, one lost; the last repeated by a probe.
    rack.segments.mark_lost((at(1), 0), |segment| segment.start <= 1001);
    rack.segments.note_retransmission(1, 0, at(100));
    assert_eq!(rack.resent_in_flight(&connection), 1);
    rack.segments.note_retransmission(9001, 0, at(200));
    rack.probe = Probe::InFlight { end: 10_001, repeats: true };
    assert_eq!(rack.resent_in_flight(&connection), 2);
    // The original of the last arrives: the probe is still on its way.
    let mut from = 9001;
    while rack.segments.sack_next(&mut from, 10_001).is_some() {}
    assert_eq!(rack.resent_in_flight(&connection), 2);
    rack.probe = Probe::Idle;
    assert_eq!(rack.resent_in_flight(&connection), 1);
    connection.unacknowledged = 10_001;
    while rack.segments.pop_acknowledged(10_001).is_some() {}
    assert_eq!(rack.resent_in_flight(&connection), 0);
}

#[test]
fn a_mark_ends_the_episode_of_a_probe() {
    // One reduction for each window of data, even if the probe turns out to have repaired a loss.
    let (mut rack, connection) = ten_in_flight();
    rack.probe = Probe::InFlight { end: 10_001, repeats: true };
    rack.on_mark(&connection);
    assert_eq!(rack.probe, Probe::Idle);
}

#[test]
fn a_loss_while_the_window_comes_down_after_a_mark_does_not_start_over() {
    let (mut rack, mut connection) = ten_in_flight();
    rack.on_mark(&connection);
    connection.reduction_point = connection.highest;
    rack.reduction.note_sent(1000, 10_000);
    rack.segments.mark_lost((at(1), 0), |segment| segment.start == 1);
    let mut out = Nowhere;
    let mut turn =
        RecoveryContext { connection: &mut connection, controller: &mut *reno(), now: at(100), out: &mut out };
    rack.enter(&mut turn);
    assert!(matches!(rack.reduction, Reduction::Proportional { flight: 10_000, delivered: 0, sent: 1000 }));
}
