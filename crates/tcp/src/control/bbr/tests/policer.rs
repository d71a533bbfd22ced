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
    assert!(near(connection.gain(), 0.5));
    // Its rate applies for 48 rounds at gain 1; then the cycle starts again.
    for _ in 0..47 {
        connection.ack(lossy_round(0));
        assert!(connection.bbr.policer.is_found && near(connection.gain(), 0.5));
    }
    // Rounds of other states do not count.
    connection.bbr.state = State::Drain;
    connection.ack(News { in_flight: 1000, ..lossy_round(0) });
    assert!(connection.bbr.policer.is_found);
    connection.bbr.state = State::ProbeBandwidth;
    connection.ack(lossy_round(0));
    assert!(!connection.bbr.policer.is_found && !connection.bbr.policer.is_sampling);
    assert!(near(connection.gain() / connection.bbr.pacing_gain, 1.0));
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
