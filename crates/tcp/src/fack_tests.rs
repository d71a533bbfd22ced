//! Tests of the recovery with forward acknowledgement: the board by letters, the news of blocks, the end of a timeout.

use super::*;
use proptest::prelude::*;

const SEGMENT: u64 = 10;

/// Fates by letter, a segment each.
fn letters(board: &Board) -> alloc::string::String {
    let letter = |fate| match fate {
        Fate::Sent => 's',
        Fate::Arrived => 'a',
        Fate::Lost => 'L',
        Fate::Resent { .. } => 'r',
    };
    let stretches = board.stretches.iter();
    stretches.flat_map(|s| core::iter::repeat_n(letter(s.fate), ((s.end - s.start) / SEGMENT) as usize)).collect()
}

/// The board after segments `held` have arrived, the first unacknowledged one being 0.
fn told(board: &mut Board, held: &[(u64, u64)]) -> bool {
    let held: alloc::vec::Vec<_> = held.iter().map(|&(left, right)| (left * SEGMENT, right * SEGMENT)).collect();
    board.update(0, &held, false, SEGMENT).has_found_loss
}

fn resend(board: &mut Board, segment: u64, next: u64) {
    board.resend(segment * SEGMENT, (segment + 1) * SEGMENT, next * SEGMENT);
}

#[test]
fn four_above_mean_lost_whether_or_not_they_arrived() {
    let mut board = Board::default();
    assert!(!told(&mut board, &[(3, 4)]));
    assert_eq!(letters(&board), "sssa");
    assert!(told(&mut board, &[(3, 4), (5, 6)]));
    assert_eq!(letters(&board), "LLsasa");
    assert_eq!((board.arrived_bytes, board.lost_bytes), (20, 20));
}

#[test]
fn a_retransmission_is_lost_when_later_new_data_has_arrived() {
    let mut board = Board::default();
    told(&mut board, &[(1, 5)]);
    resend(&mut board, 0, 9);
    assert_eq!(letters(&board), "raaaa");
    assert!(!told(&mut board, &[(1, 9)]));
    assert!(told(&mut board, &[(1, 10)]));
    assert_eq!(letters(&board), "Laaaaaaaaa");
}

#[test]
fn a_retransmission_is_lost_when_one_more_than_four_later_has_arrived() {
    let mut board = Board::default();
    told(&mut board, &[(10, 14)]);
    for segment in 0..7 {
        resend(&mut board, segment, 100);
    }
    assert_eq!(letters(&board), "rrrrrrrLLLaaaa");
    // The fifth after the first: reported at the next ACK, because the pass goes upwards once.
    assert!(!told(&mut board, &[(5, 6), (10, 14)]));
    assert!(told(&mut board, &[(5, 6), (10, 15)]));
    assert_eq!(letters(&board), "LrrrrarLLLaaaaa");
    assert_eq!(board.first_lost(), Some((0, 10)));
}

#[test]
fn after_a_timeout_everything_else_is_lost() {
    let mut board = Board::default();
    told(&mut board, &[(1, 2)]);
    board.lose_all(0, 60);
    assert_eq!(letters(&board), "LaLLLL");
    resend(&mut board, 0, 6);
    assert_eq!(letters(&board), "raLLLL");
    assert!(board.advance(30));
    assert_eq!(letters(&board), "LLL");
    assert_eq!((board.arrived_bytes, board.lost_bytes), (0, 30));
}

proptest! {
    /// Stretches ascend without gaps after any ACKs and retransmissions, and the sums are those of the stretches.
    #[test]
    fn the_sums_are_those_of_the_stretches(
        steps in proptest::collection::vec((0_u8..5, 0_u64..30, 1_u64..6), 1..80),
    ) {
        let mut board = Board::default();
        let (mut unacknowledged, mut highest) = (0, 40 * SEGMENT);
        for (what, at, count) in steps {
            let left = unacknowledged + at * SEGMENT;
            let right = (left + count * SEGMENT).min(highest);
            match what {
                0 => {
                    unacknowledged = (unacknowledged + count * SEGMENT).min(highest);
                    board.advance(unacknowledged);
                }
                1 => board.lose_all(unacknowledged, highest),
                2 => {
                    if let Some((start, _)) = board.first_lost() {
                        board.resend(start, start + SEGMENT, highest);
                    }
                }
                _ if left < right => {
                    board.update(unacknowledged, &[(left, right)], false, SEGMENT);
                }
                _ => highest += SEGMENT,
            }
            let of = |fate| board.stretches.iter().filter(move |stretch| stretch.fate == fate);
            let sum = |fate| of(fate).map(|stretch| stretch.end - stretch.start).sum::<u64>();
            prop_assert_eq!(board.arrived_bytes, sum(Fate::Arrived));
            prop_assert_eq!(board.lost_bytes, sum(Fate::Lost));
            let within = |s: &Stretch| s.start < s.end && s.start >= unacknowledged && s.end <= highest;
            prop_assert!(board.stretches.iter().all(within));
            let pairs = board.stretches.iter().zip(board.stretches.iter().skip(1));
            prop_assert!(pairs.clone().all(|(a, b)| a.end == b.start));
        }
    }
}
/// Numbers from 100 to 1000 are in the network, in segments of 100.
fn connected() -> (ForwardAckRecovery, Connection) {
    let config = TcpConfig {
        segment: crate::Bytes(100),
        header: crate::Bytes(0),
        sack: true,
        fack: true,
        ..TcpConfig::default()
    };
    let mut connection = Connection::new(&config);
    (connection.unacknowledged, connection.next, connection.highest) = (100, 1000, 1000);
    (ForwardAckRecovery::new(&config), connection)
}

/// An ACK of 100 with these blocks; bytes that have arrived above it.
fn arrived(blocks: &[(u64, u64)]) -> u64 {
    let (mut recovery, mut connection) = connected();
    let mut ack = Ack { ack: 100, ..Ack::default() };
    for &(left, right) in blocks {
        assert!(ack.sack.push(left, right));
    }
    assert_eq!(recovery.learn(&mut connection, &ack, 0, Time::ZERO), recovery.board.arrived_bytes > 0);
    assert_eq!(
        (connection.selective, recovery.newly_bytes),
        (!recovery.board.is_empty(), recovery.board.arrived_bytes)
    );
    recovery.board.arrived_bytes
}

#[test]
fn blocks_below_the_ack_beyond_what_was_sent_or_of_nothing_tell_nothing() {
    assert_eq!(arrived(&[]), 0);
    assert_eq!(arrived(&[(50, 100), (900, 1001), (400, 400)]), 0);
    assert_eq!(arrived(&[(50, 200), (900, 1000), (300, 400)]), 300);
}

#[test]
fn what_ends_after_a_timeout_leaves_three_segments_above_what_is_in_the_network() {
    // Two segments are in the network. A window that has reached the threshold stays.
    for (window, threshold, expected) in
        [(2.0, 10.0, 5.0), (8.0, 10.0, 5.0), (2.0, 4.0, 4.0), (4.0, 4.0, 4.0), (9.0, 4.0, 9.0)]
    {
        let (mut recovery, mut connection) = connected();
        connection.unacknowledged = 800;
        (recovery.has_timed_out, connection.selective) = (true, true);
        (connection.window.congestion_window, connection.window.slow_start_threshold) = (window, threshold);
        recovery.leave_timeout(&mut connection);
        assert_eq!(connection.window.congestion_window, expected, "{window} below {threshold}");
        assert!(!recovery.has_timed_out && !connection.selective);
    }
}

#[test]
fn a_timeout_is_over_when_everything_sent_before_it_has_arrived() {
    let (mut recovery, mut connection) = connected();
    connection.recovery_point = 600;
    for (unacknowledged, has_timed_out, expected) in [(599, true, false), (600, true, true), (600, false, false)] {
        (connection.unacknowledged, recovery.has_timed_out) = (unacknowledged, has_timed_out);
        assert_eq!(recovery.has_recovered_from_timeout(&connection), expected);
        // Losses that it found then start no recovery.
        recovery.has_found_loss = true;
        assert_eq!(recovery.is_due(&connection), !expected);
        recovery.has_found_loss = false;
        assert!(!recovery.is_due(&connection));
    }
}

#[test]
fn a_timeout_that_was_not_needed_leaves_nothing_behind() {
    let (mut recovery, mut connection) = connected();
    recovery.on_timeout(&mut connection, Time::ZERO);
    assert_eq!((recovery.board.lost_bytes, recovery.has_timed_out, connection.selective), (900, true, true));
    recovery.has_found_loss = true;
    recovery.on_spurious(&mut connection, Time::ZERO);
    assert_eq!((recovery.board.lost_bytes, recovery.has_timed_out, recovery.has_found_loss), (0, false, false));
}

/// Seven retransmissions around a segment that has arrived, of which the last has arrived, too: the first three are
/// lost by that, but only the next pass that reaches them finds out.
fn with_retransmissions_overtaken() -> Board {
    let mut board = Board::default();
    told(&mut board, &[(1, 2), (10, 14)]);
    assert_eq!(letters(&board), "LaLLLLLLLLaaaa");
    for segment in [0, 2, 3, 4, 5, 6, 7, 8] {
        resend(&mut board, segment, 100);
    }
    assert!(!told(&mut board, &[(1, 2), (8, 9), (10, 14)]));
    assert_eq!(letters(&board), "rarrrrrraLaaaa");
    board
}

#[test]
fn an_ack_without_news_is_read_as_far_as_its_blocks_reach() {
    // The pass ends behind the block: with the segment after it, which is the second that is lost.
    let mut board = with_retransmissions_overtaken();
    assert!(told(&mut board, &[(1, 2)]));
    assert_eq!(letters(&board), "LaLrrrrraLaaaa");
    // Without a block there is nothing to read.
    let mut board = with_retransmissions_overtaken();
    assert!(!told(&mut board, &[]));
    assert_eq!(letters(&board), "rarrrrrraLaaaa");
    // A block at the top has all below it read.
    let mut board = with_retransmissions_overtaken();
    assert!(told(&mut board, &[(10, 14)]));
    assert_eq!(letters(&board), "LaLLrrrraLaaaa");
}

#[test]
fn a_retransmission_that_has_arrived_has_everything_read() {
    // By the cumulative ACK, with no block at all.
    let mut board = with_retransmissions_overtaken();
    assert!(board.update(0, &[], true, SEGMENT).has_found_loss);
    assert_eq!(letters(&board), "LaLLrrrraLaaaa");
    // By a block, below the one that is lost by it and two segments above.
    let mut board = Board::default();
    told(&mut board, &[(10, 14)]);
    board.split(0, 7 * SEGMENT);
    for segment in [7, 0, 1, 2, 3, 4, 5] {
        resend(&mut board, segment, 100);
    }
    assert_eq!(letters(&board), "rrrrrrLrLLaaaa");
    assert!(told(&mut board, &[(5, 6)]));
    assert_eq!(letters(&board), "rrrrraLLLLaaaa");
}

struct Sent(alloc::vec::Vec<u64>);

impl crate::SegmentOut for Sent {
    fn segment(&mut self, segment: crate::Segment) {
        self.0.push(segment.seq);
    }
}

fn at_ms(ms: u64) -> Time {
    Time::ZERO + crate::Span::from_milliseconds(ms)
}

/// The data sent when `act` runs after 7 ms.
fn sent_by(connection: &mut Connection, act: impl FnOnce(&mut RecoveryContext<'_>)) -> alloc::vec::Vec<u64> {
    let (mut out, mut reno) =
        (Sent(alloc::vec::Vec::new()), crate::CongestionControl::NewReno.build(&TcpConfig::default().setup()));
    act(&mut RecoveryContext { connection, controller: &mut *reno, now: at_ms(7), out: &mut out });
    out.0
}

#[test]
fn a_loss_in_a_window_that_a_mark_has_reduced_does_not_reduce_it_again() {
    // 100 is the first number that is not acknowledged. Without ECN the cause of the reduction does not count.
    for (ecn, reduction_point, threshold) in
        [(true, 0, 4.0), (true, 100, 4.0), (true, 101, 20.0), (true, 1000, 20.0), (false, 101, 4.0)]
    {
        let (mut recovery, mut connection) = connected();
        (connection.ecn, connection.reduction_point) = (ecn, reduction_point);
        connection.window = crate::Control::new(9.0, 20.0);
        connection.apply_window();
        recovery.has_timed_out = true;
        sent_by(&mut connection, |turn| recovery.enter(turn));
        // Half of nine segments, and the whole part of it.
        assert_eq!(connection.window.slow_start_threshold, threshold, "{ecn}, {reduction_point}");
        assert_eq!(connection.window.congestion_window, if threshold == 4.0 { 4.5 } else { 9.0 });
        assert_eq!((connection.in_recovery, connection.recovery_point, recovery.has_timed_out), (true, 1000, false));
        assert_eq!(connection.counters.fast_recoveries, 1);
    }
}

#[test]
fn the_reduction_begins_with_what_was_in_flight_before_the_ack_and_with_the_old_window() {
    let (mut recovery, mut connection) = connected();
    connection.window = crate::Control::new(8.0, 20.0);
    connection.apply_window();
    // 200 bytes above the cumulative ACK had arrived.
    (recovery.rule, recovery.arrived_before) = (RateReduction::Proportional, 300);
    sent_by(&mut connection, |turn| recovery.enter(turn));
    assert!(matches!(recovery.reduction, Reduction::Proportional { flight: 700, delivered: 0, sent: 0 }));
    connection.window.congestion_window = 8.0;
    connection.apply_window();
    recovery.rule = RateReduction::RateHalving;
    sent_by(&mut connection, |turn| recovery.enter(turn));
    assert!(matches!(recovery.reduction, Reduction::Halving { ceiling: 800 }));
}

#[test]
fn a_recovery_and_its_partial_acks_start_the_timer_anew() {
    let (mut recovery, mut connection) = connected();
    let timeout = connection.round_trip.timeout();
    connection.deadline = at_ms(1);
    sent_by(&mut connection, |turn| recovery.enter(turn));
    assert_eq!(connection.deadline, at_ms(7) + timeout);
    // RFC 6298, 5.3.
    connection.deadline = at_ms(1);
    sent_by(&mut connection, |turn| recovery.on_partial_ack(turn, 100));
    assert_eq!(connection.deadline, at_ms(7) + timeout);
}

#[test]
fn when_everything_is_acknowledged_nothing_is_remembered() {
    let (mut recovery, mut connection) = connected();
    recovery.board.lose_all(100, 1000);
    (recovery.has_found_loss, connection.selective, connection.in_recovery) = (true, true, true);
    sent_by(&mut connection, |turn| recovery.on_full_ack(turn));
    assert_eq!((connection.selective, connection.in_recovery, recovery.has_found_loss), (false, false, false));
    assert!(recovery.board.is_empty());
}

#[test]
fn only_an_ack_of_new_data_that_tells_of_no_loss_lets_slow_start_catch_up() {
    // RFC 9937, SafeACK: "SND.UNA advances and no further loss is indicated". One of nine segments is in the network
    // again, one has arrived: one for one, and one more where that is safe.
    for (has_advanced, has_found_loss, expected) in
        [(true, false, &[200, 300][..]), (true, true, &[200]), (false, false, &[200]), (false, true, &[200])]
    {
        let (mut recovery, mut connection) = connected();
        (connection.in_recovery, connection.window_bytes, connection.data_end) = (true, 900, 1000);
        recovery.board.lose_all(100, 1000);
        recovery.board.resend(100, 200, 1000);
        recovery.reduction = Reduction::begin(RateReduction::Proportional, 900, 900);
        recovery.reduction.note_sent(100, 100);
        (recovery.has_advanced, recovery.has_found_loss, recovery.newly_bytes) = (has_advanced, has_found_loss, 100);
        assert_eq!(sent_by(&mut connection, |turn| recovery.send(turn)), expected);
        // Arrived data counts once.
        assert!(sent_by(&mut connection, |turn| recovery.send(turn)).is_empty());
    }
}

#[test]
fn an_ack_has_advanced_where_it_covers_new_data() {
    for newly in [0, 1, 100] {
        let (mut recovery, mut connection) = connected();
        connection.unacknowledged += newly;
        recovery.learn(&mut connection, &Ack { ack: 100 + newly, ..Ack::default() }, newly, Time::ZERO);
        assert_eq!((recovery.has_advanced, recovery.arrived_before, recovery.newly_bytes), (newly > 0, 100, newly));
    }
}
