//! The search for a policer.

use alloc::vec::Vec;

use super::*;

/// A round with so many losses for 100 segments in 200 ms.
fn lossy_round(lost: u64) -> News {
    News { after: ms(200), delivered: 100, lost, round_trip: Some(ROUND_TRIP), ..ROUND }
}

#[test]
fn two_lossy_intervals_of_one_rate_are_a_policer() {
    // `bbr_lt_bw_sampling`, `bbr_lt_bw_interval_done`: 500 segments per second arrive, 30 of 100 are lost.
    let mut connection = Connection::steady(State::ProbeBandwidth, 0);
    connection.ack(lossy_round(0));
    assert!(!connection.bbr.policer.is_sampling);
    // The interval begins with the first loss, whose round counts as the first of it.
    for rounds in 1..=3 {
        connection.ack(lossy_round(30));
        assert_eq!((connection.bbr.policer.is_sampling, connection.bbr.policer.rounds), (true, rounds));
        assert_eq!(connection.bbr.policer.rate, None);
    }
    connection.ack(lossy_round(30));
    assert!(near(connection.bbr.policer.rate.unwrap(), 500.0));
    assert!(!connection.bbr.policer.is_found && connection.bbr.policer.rounds == 0);
    for _ in 0..4 {
        assert!(!connection.bbr.policer.is_found);
        connection.ack(lossy_round(30));
    }
    assert!(connection.bbr.policer.is_found);
    assert!(near(connection.gain(), 0.5) && connection.bbr.window_gain == 2.0);
    // Its rate applies for 48 rounds at gain 1; then the cycle starts again.
    for _ in 0..47 {
        connection.ack(lossy_round(0));
        assert!(connection.bbr.policer.is_found && near(connection.gain(), 0.5));
    }
    // Rounds of other states do not count.
    connection.bbr.state = State::Drain;
    connection.ack(News { in_flight: 1000, ..lossy_round(0) });
    assert!(connection.bbr.policer.is_found);
    (connection.bbr.state, connection.bbr.min_round_trip) = (State::ProbeBandwidth, Some(Span::from_seconds(1)));
    connection.ack(News { in_flight_before: 10_000, ..lossy_round(0) });
    assert!(!connection.bbr.policer.is_found && !connection.bbr.policer.is_sampling);
    assert!(near(connection.gain() / connection.bbr.pacing_gain, 1.0));
    // `bbr_reset_probe_bw_mode`.
    assert_eq!(connection.bbr.phase_start, connection.now);
}

#[test]
fn an_interval_begins_with_a_loss_and_ends_with_one() {
    // `bbr_lt_bw_sampling`.
    let mut connection = Connection::steady(State::ProbeBandwidth, 0);
    for lost in [1, 80, 80, 0] {
        connection.ack(lossy_round(lost));
        assert!(connection.bbr.policer.is_sampling && connection.bbr.policer.rate.is_none());
    }
    connection.ack(lossy_round(1));
    assert!(connection.bbr.policer.rate.is_some());
}

#[test]
fn an_interval_lasts_from_a_millisecond_to_two_to_the_32_microseconds() {
    // `bbr_lt_bw_sampling`: the time from the first ACK to the fourth is below 1 ms, and to the fifth exactly 1 ms.
    let mut connection = Connection::steady(State::ProbeBandwidth, 0);
    for _ in 0..4 {
        connection.ack(News { after: Span::from_microseconds(250), ..lossy_round(30) });
        assert_eq!(connection.bbr.policer.rate, None);
    }
    connection.ack(News { after: Span::from_microseconds(250), ..lossy_round(30) });
    assert!(connection.bbr.policer.rate.is_some());
    for (last, is_sampling) in [(ms(4_294_966), true), (ms(4_294_967), false)] {
        let mut connection = Connection::steady(State::ProbeBandwidth, 0);
        for after in [Span::ZERO, Span::ZERO, Span::ZERO, last] {
            connection.ack(News { after, ..lossy_round(30) });
        }
        assert_eq!(connection.bbr.policer.is_sampling, is_sampling, "{last}");
    }
}

#[test]
fn on_the_ack_that_shows_a_policer_the_gain_is_one() {
    // `bbr_lt_bw_interval_done` precedes `bbr_update_cycle_phase`: the phase of the lowest gain does not end early.
    let mut connection = Connection::steady(State::ProbeBandwidth, 0);
    for _ in 0..7 {
        connection.ack(lossy_round(30));
    }
    let bbr = &mut connection.bbr;
    (bbr.phase, bbr.min_round_trip) = (1, Some(Span::from_seconds(1)));
    bbr.update_gains();
    bbr.phase_start = connection.now;
    connection.ack(News { in_flight_before: 0, ..lossy_round(30) });
    assert!(connection.bbr.policer.is_found && connection.bbr.phase == 1);
}

/// Runs these rounds from the first interval on; returns whether they were found to be a policer's.
fn is_policer(rounds: &[News]) -> bool {
    let mut connection = Connection::steady(State::ProbeBandwidth, 0);
    connection.bbr.config.min_round_trip_window = Span::MAX;
    for &round in rounds {
        connection.ack(round);
    }
    connection.bbr.policer.is_found
}

#[test]
fn a_policer_needs_losses_equal_rates_and_data_without_end() {
    let interval = |news: News| [News { lost: 30, ..news }; 4];
    let two = |first, second| [interval(first), interval(second)].concat();
    assert!(is_policer(&two(lossy_round(30), lossy_round(30))));
    // 50/256 of what is delivered must be lost.
    assert!(!is_policer(&two(lossy_round(30), lossy_round(30))[..7]));
    let at = |lost| [lossy_round(40), lossy_round(lost), lossy_round(lost), lossy_round(lost)];
    let twice = |lost| [at(lost), at(lost)].concat();
    // The start of the first interval includes the losses of its first ACK.
    assert!(is_policer(&twice(27)) && !is_policer(&twice(15)));
    // Rates may differ by an eighth of the earlier one, or by 500 B/s.
    let slower = |milliseconds| News { after: ms(milliseconds), ..lossy_round(30) };
    assert!(is_policer(&two(lossy_round(30), slower(227))) && !is_policer(&two(lossy_round(30), slower(230))));
    let slow = |delivered, seconds| News { after: Span::from_seconds(seconds), delivered, ..lossy_round(30) };
    assert!(is_policer(&two(slow(100, 400), slow(100, 180))) && !is_policer(&two(slow(100, 400), slow(100, 160))));
    // All three bounds are inclusive: 50 of 256, an eighth, and five of Linux's units, which are 500 B/s here.
    let fast = |delivered| News { after: ms(1000), delivered, lost: delivered, ..ROUND };
    let just_lossy = News { delivered: 256, lost: 50, ..lossy_round(0) };
    assert!(is_policer(&[just_lossy; 8]));
    for (second, expected) in [(140_625, true), (140_626, false)] {
        assert_eq!(is_policer(&[[fast(125_000); 4], [fast(second); 4]].concat()), expected, "{second}");
    }
    let mut connection = Connection::steady(State::ProbeBandwidth, 0);
    (connection.bbr.config.min_round_trip_window, connection.bbr.payload_bytes) = (Span::MAX, 1695.0);
    two(slow(100, 400), slow(100, 180)).into_iter().for_each(|news| connection.ack(news));
    assert!(connection.bbr.policer.is_found);
    // A rate below the unit is none.
    assert!(!is_policer(&two(slow(10, 1000), slow(10, 1000))));
    // The application must not be the limit.
    let mut limited = two(lossy_round(30), lossy_round(30));
    limited[5].is_limited = true;
    assert!(!is_policer(&limited));
    // An interval of more than 16 rounds is discarded, one that ends with the 16th is not.
    for (quiet, expected) in [(12, true), (13, false)] {
        let mut long = Vec::from(interval(lossy_round(30)));
        long.extend([lossy_round(0)].repeat(quiet + 3));
        long.push(News { lost: 1000, ..lossy_round(0) });
        assert_eq!(is_policer(&long), expected, "{quiet}");
    }
}

#[test]
fn the_search_for_a_policer_may_be_off() {
    let mut connection = Connection::steady(State::ProbeBandwidth, 0);
    connection.bbr.config.policer_detection = false;
    for _ in 0..20 {
        connection.ack(lossy_round(30));
    }
    assert!(!connection.bbr.policer.is_sampling && !connection.bbr.policer.is_found);
}
