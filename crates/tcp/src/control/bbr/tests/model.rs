//! The model of the path, the states, and the pacing rate.

use alloc::vec::Vec;

use super::*;

#[test]
fn the_first_rate_is_the_window_in_a_round_trip_at_the_high_gain() {
    // `bbr_init_pacing_rate_from_rtt`: 4194 of Linux's units by 1448 B, 739/256 and 0.99. Without truncation it were
    // 1 034 542 B/s.
    let mut connection = Connection::new();
    connection.bbr.set_first_pacing_rate(Some(ROUND_TRIP), &mut connection.control);
    assert_eq!(connection.control.pacing_rate, Rate::new(8 * 1_034_467));
    // Without a sample, the round trip counts as 1 ms, until there is one.
    connection.smoothed = None;
    connection.ack(News { rate: None, ..ACK });
    assert!(near(connection.gain(), 10.0 * HIGH_GAIN));
    connection.control.congestion_window = 100.0;
    connection.ack(News { rate: None, ..ACK });
    assert!(near(connection.gain(), 10.0 * HIGH_GAIN), "set once");
    connection.smoothed = Some(ROUND_TRIP);
    connection.control.congestion_window = 10.0;
    connection.ack(News { rate: None, ..ACK });
    assert_eq!(connection.control.pacing_rate, Rate::new(8 * 1_034_467));
    // The least that Linux counts is 1 us.
    connection.control.congestion_window = 10.0;
    connection.bbr.set_first_pacing_rate(Some(Span::ZERO), &mut connection.control);
    assert!(near(connection.gain(), 1e4 * HIGH_GAIN));
}

#[test]
fn the_round_trip_of_the_handshake_counts_from_the_first_ack_on() {
    // `bbr_init`: `min_rtt_us`, `min_rtt_stamp`.
    let mut connection = Connection::new();
    (connection.now, connection.shortest) = (Time::ZERO + Span::from_seconds(1000), Some(ROUND_TRIP));
    connection.ack(ACK);
    assert_eq!((connection.bbr.state, connection.bbr.min_round_trip), (State::Startup, Some(ROUND_TRIP)));
}

#[test]
fn the_maximum_of_ten_rounds_is_followed_by_the_best_after_it() {
    // `minmax_running_max`.
    let mut recent = RecentMaximum::default();
    for (round, rate, maximum) in
        [(1, 100.0, 100.0), (4, 80.0, 100.0), (7, 60.0, 100.0), (11, 50.0, 100.0), (12, 50.0, 80.0), (15, 50.0, 60.0)]
    {
        recent.update(round, rate);
        assert_eq!(recent.get(), maximum, "round {round}");
    }
    recent.update(18, 10.0);
    assert_eq!(recent.get(), 50.0);
    recent.update(40, 1.0);
    assert_eq!(recent.get(), 1.0);
}

#[test]
fn the_candidates_of_the_maximum_are_spread_over_its_rounds() {
    // `minmax_running_max`, `minmax_subwin_update`: no lower sample of the first quarter of the window is the second
    // choice, and none of the first half the third. An equal one is the later choice. A choice expires after ten
    // rounds.
    for (samples, choices) in [
        (&[(1, 100.0), (3, 90.0), (4, 80.0), (6, 85.0), (7, 70.0)][..], [(1, 100.0), (6, 85.0), (7, 70.0)]),
        (&[(1, 100.0), (4, 80.0), (5, 70.0), (6, 70.0), (7, 60.0)], [(1, 100.0), (4, 80.0), (7, 60.0)]),
        (&[(1, 100.0), (9, 100.0), (10, 50.0)], [(9, 100.0); 3]),
        (&[(1, 100.0), (4, 80.0), (5, 80.0), (6, 70.0)], [(1, 100.0), (5, 80.0), (5, 80.0)]),
        (&[(1, 100.0), (4, 80.0), (7, 60.0), (8, 60.0), (9, 65.0)], [(1, 100.0), (4, 80.0), (9, 65.0)]),
        (&[(1, 100.0), (4, 80.0), (7, 60.0), (8, 60.0)], [(1, 100.0), (4, 80.0), (8, 60.0)]),
        (&[(1, 100.0), (11, 50.0)], [(1, 100.0), (11, 50.0), (11, 50.0)]),
        (&[(1, 100.0), (4, 80.0), (14, 50.0)], [(4, 80.0), (4, 80.0), (14, 50.0)]),
    ] {
        let mut recent = RecentMaximum::default();
        for &(round, rate) in samples {
            recent.update(round, rate);
        }
        assert_eq!(recent.0, choices, "{samples:?}");
    }
}

#[test]
fn samples_limited_by_the_application_count_if_they_are_no_lower() {
    // `bbr_update_bw`.
    let mut connection = Connection::new();
    connection.ack(ROUND);
    for (rate, is_limited, bandwidth) in
        [(500.0, true, 1000.0), (2000.0, true, 2000.0), (1500.0, true, 2000.0), (2500.0, false, 2500.0)]
    {
        connection.ack(News { rate: Some(rate), is_limited, ..ROUND });
        assert!(near(connection.bbr.bandwidth(), bandwidth), "{rate}");
    }
    // Twelve rounds of limited samples do not replace the maximum; twelve of others do.
    for (is_limited, bandwidth) in [(true, 2500.0), (false, 500.0)] {
        for _ in 0..12 {
            connection.ack(News { rate: Some(500.0), is_limited, ..ROUND });
        }
        assert!(near(connection.bbr.bandwidth(), bandwidth), "{is_limited}");
    }
    // An equal one renews the maximum.
    for rate in [500.0, 100.0] {
        for _ in 0..8 {
            connection.ack(News { rate: Some(rate), is_limited: rate == 500.0, ..ROUND });
        }
    }
    assert!(near(connection.bbr.bandwidth(), 500.0));
}

#[test]
fn a_round_ends_with_a_segment_sent_after_its_start() {
    // `bbr_update_bw`: `next_rtt_delivered`.
    let mut connection = Connection::new();
    connection.ack(News { delivered: 3, ..ROUND });
    assert_eq!((connection.bbr.round, connection.bbr.round_end), (1, 3));
    connection.ack(ACK);
    assert_eq!((connection.bbr.round, connection.bbr.is_round_start), (1, false));
    connection.ack(ROUND);
    assert_eq!((connection.bbr.round, connection.bbr.is_round_start), (2, true));
    // An invalid sample does not end one.
    connection.ack(News { rate: None, ..ROUND });
    assert_eq!((connection.bbr.round, connection.bbr.is_round_start), (2, false));
}

#[test]
fn three_rounds_without_a_quarter_of_growth_fill_the_pipe() {
    // `bbr_check_full_bw_reached`.
    let mut connection = Connection::new();
    let rate = |rate| News { rate: Some(rate), in_flight: 1000, ..ROUND };
    let without_growth = [
        (rate(100.0), 0),
        (rate(200.0), 0),
        (rate(249.0), 1),
        (rate(249.0), 2),
        (rate(250.0), 0),
        (rate(312.0), 1),
        // Neither of these is a round without a limit by the application.
        (News { is_limited: true, ..rate(312.0) }, 1),
        (News { ends_round: false, ..rate(312.0) }, 1),
        (rate(10.0), 2),
    ];
    for (index, (news, rounds)) in without_growth.into_iter().enumerate() {
        connection.ack(news);
        assert_eq!((connection.bbr.full_rounds, connection.bbr.is_pipe_full), (rounds, false), "{index}");
        assert_eq!(connection.bbr.state, State::Startup);
    }
    connection.ack(rate(312.0));
    assert_eq!((connection.bbr.state, connection.bbr.is_pipe_full), (State::Drain, true));
    // `bbr_update_gains`: the window keeps its gain.
    assert_eq!((connection.bbr.pacing_gain, connection.bbr.window_gain), (0.34375, 2.88671875));
    // `bbr_check_drain`: the threshold is what is in flight at gain 1, here ceil(312 · 0.05) and three bursts.
    assert_eq!(connection.control.slow_start_threshold, 22.0);
    // Growth by exactly a quarter is enough; both rates are multiples of Linux's unit.
    let mut connection = Connection::new();
    connection.ack(rate(1e6));
    connection.ack(rate(1.25e6));
    assert_eq!((connection.bbr.full_bandwidth, connection.bbr.full_rounds), (1.25e6, 0));
}

#[test]
fn before_the_pipe_is_full_the_rate_only_rises() {
    // `bbr_set_pacing_rate`.
    let mut connection = Connection::new();
    connection.ack(News { rate: Some(100.0), ..ROUND });
    assert!(near(connection.gain(), HIGH_GAIN * 0.25), "{}", connection.gain());
    connection.ack(News { rate: Some(BANDWIDTH), ..ROUND });
    assert!(near(connection.gain(), HIGH_GAIN));
    for _ in 0..11 {
        connection.ack(News { rate: Some(500.0), is_limited: true, ..ROUND });
    }
    connection.bbr.bandwidths = RecentMaximum([(connection.bbr.round, 500.0); 3]);
    connection.ack(News { rate: Some(500.0), ..ACK });
    assert!(near(connection.gain(), HIGH_GAIN));
    connection.bbr.is_pipe_full = true;
    connection.ack(News { rate: Some(500.0), in_flight: 1000, ..ACK });
    assert!(near(connection.gain(), DRAIN_GAIN / 2.0));
}

#[test]
fn drain_ends_when_the_pipe_is_no_more_than_full() {
    // `bbr_check_drain`.
    for (in_flight, wait, state) in [
        (FULL + 1, Span::ZERO, State::Drain),
        (FULL, Span::ZERO, State::ProbeBandwidth),
        // `bbr_packets_in_net_at_edt`: 20 ms until the next departure deliver 19 segments and most of another.
        (FULL + 20, ms(20), State::Drain),
        (FULL + 19, ms(20), State::ProbeBandwidth),
        (3, ms(20), State::ProbeBandwidth),
    ] {
        let mut connection = Connection::steady(State::Drain, 0);
        connection.ack(News { in_flight, wait, ..ACK });
        assert_eq!(connection.bbr.state, state, "{in_flight}");
    }
    // On the ACK that ends Startup the gain still is the high one: the next burst counts.
    for (in_flight, state) in [(FULL - 1, State::Drain), (FULL - 2, State::ProbeBandwidth)] {
        let mut connection = Connection::steady(State::Startup, 0);
        connection.ack(News { in_flight, ..ACK });
        assert_eq!(connection.bbr.state, state, "{in_flight}");
    }
}

#[test]
fn the_cycle_starts_in_any_phase_but_that_of_the_lowest_gain() {
    // `bbr_reset_probe_bw_mode`.
    let starts: Vec<usize> = (0..200)
        .map(|seed| {
            let mut connection = Connection::steady(State::Drain, 0);
            connection.bbr.seed(u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15));
            connection.bbr.enter_probe_bandwidth();
            connection.bbr.phase
        })
        .collect();
    for phase in 0..CYCLE.len() {
        assert_eq!(starts.contains(&phase), phase != 1, "{phase}");
    }
}

#[test]
fn the_gains_cycle() {
    // `bbr_pacing_gain`, `bbr_advance_cycle_phase`: a round trip each, as something is lost in the first.
    let mut connection = Connection::steady(State::ProbeBandwidth, 0);
    let gains: Vec<f64> = (0..9)
        .map(|_| {
            let gain = connection.gain();
            connection.ack(News { after: ms(41), lost: 1, ..ACK });
            gain
        })
        .collect();
    let expected = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.25];
    assert!(gains.iter().zip(expected).all(|(&gain, expected)| near(gain, expected)), "{gains:?}");
    assert_eq!(connection.bbr.window_gain, 2.0);
}

#[test]
fn a_phase_lasts_until_its_aim_is_reached() {
    // `bbr_is_next_cycle_phase`. In the phase of 1.25, the next burst of two segments counts as in flight.
    for (phase, after, lost, in_flight_before, is_over) in [
        (0, ms(41), 0, PROBED - 3, false),
        (0, ms(41), 0, PROBED - 2, true),
        (0, ms(41), 1, 10, true),
        (0, ms(40), 1, PROBED, false),
        (1, ms(0), 0, FULL + 1, false),
        (1, ms(0), 0, FULL, true),
        (1, ms(40), 0, 100, false),
        (1, ms(41), 0, 100, true),
        (2, ms(40), 1, FULL, false),
        (2, ms(41), 0, 100, true),
        (7, ms(41), 0, 100, true),
    ] {
        let mut connection = Connection::steady(State::ProbeBandwidth, phase);
        connection.ack(News { after, lost, in_flight_before, ..ACK });
        let expected = if is_over { (phase + 1) % 8 } else { phase };
        assert_eq!(connection.bbr.phase, expected, "{phase} {after} {lost} {in_flight_before}");
        let start = if is_over { connection.now } else { connection.now - after };
        assert_eq!(connection.bbr.phase_start, start);
    }
    // The time of the last delivery counts, not that of the ACK.
    let mut connection = Connection::steady(State::ProbeBandwidth, 2);
    connection.ack(News { after: ms(41), delivered: 0, ..ACK });
    assert_eq!(connection.bbr.phase, 2);
}

#[test]
fn the_shortest_round_trip_is_that_of_ten_seconds() {
    // `bbr_update_min_rtt`.
    let ten = Span::from_seconds(10);
    for (after, round_trip, may_be_delayed, expected) in [
        (ms(1), ms(39), false, ms(39)),
        (ten, ms(50), false, ms(40)),
        (ten + ms(1), ms(50), false, ms(50)),
        (ten + ms(1), ms(50), true, ms(40)),
        (ten + ms(1), ms(39), true, ms(39)),
    ] {
        let mut connection = Connection::steady(State::ProbeBandwidth, 2);
        connection.ack(News { after, round_trip: Some(round_trip), may_be_delayed, ..ACK });
        assert_eq!(connection.bbr.min_round_trip, Some(expected), "{after} {round_trip}");
    }
    // An equal one renews it.
    let mut connection = Connection::steady(State::ProbeBandwidth, 2);
    connection.ack(News { after: ten, round_trip: Some(ROUND_TRIP), ..ACK });
    assert_eq!(connection.bbr.min_round_trip_at, connection.now);
}

#[test]
fn once_expired_it_is_measured_with_the_least_window() {
    // `bbr_update_min_rtt`, `bbr_check_probe_rtt_done`.
    let mut connection = Connection::steady(State::ProbeBandwidth, 2);
    connection.ack(News { after: Span::from_seconds(10), ..ACK });
    assert_eq!(connection.bbr.state, State::ProbeBandwidth);
    connection.ack(News { after: ms(1), in_flight: 5, ..ACK });
    assert_eq!(connection.bbr.state, State::ProbeRoundTrip);
    assert_eq!((connection.bbr.pacing_gain, connection.bbr.window_gain, connection.window()), (1.0, 1.0, 4.0));
    assert_eq!(connection.bbr.probe_end, None);
    // The time begins with at most four segments in flight.
    connection.ack(News { after: ms(30), in_flight: 4, ..ACK });
    let end = connection.now + ms(200);
    assert_eq!((connection.bbr.probe_end, connection.window()), (Some(end), 4.0));
    assert_eq!(connection.bbr.round_end, connection.delivered);
    // Neither the time without a round is enough, nor a round without the time, which must have passed.
    connection.ack(News { after: ms(201), in_flight: 4, ..ACK });
    assert_eq!(connection.bbr.state, State::ProbeRoundTrip);
    connection.now = end - ms(100);
    connection.ack(News { in_flight: 4, ..ROUND });
    assert_eq!((connection.bbr.state, connection.bbr.is_probe_round_over), (State::ProbeRoundTrip, true));
    connection.ack(News { after: ms(100), in_flight: 4, ..ACK });
    assert_eq!(connection.bbr.state, State::ProbeRoundTrip);
    connection.ack(News { after: ms(1), in_flight: 4, round_trip: None, ..ACK });
    assert_eq!(connection.bbr.state, State::ProbeBandwidth);
    assert_eq!(connection.bbr.min_round_trip_at, connection.now);
    assert!(connection.window() >= 86.0);
    // `bbr_reset_mode`: without a full pipe, Startup continues.
    connection.bbr.is_pipe_full = false;
    connection.bbr.resume();
    assert_eq!(connection.bbr.state, State::Startup);
}

#[test]
fn each_time_with_the_least_window_has_its_round() {
    // `bbr_update_min_rtt`: `probe_rtt_round_done` starts over with the time.
    let mut connection = Connection::steady(State::ProbeRoundTrip, 2);
    connection.bbr.is_probe_round_over = true;
    connection.ack(News { in_flight: 4, ..ACK });
    connection.ack(News { after: ms(201), in_flight: 4, ..ACK });
    assert_eq!(connection.bbr.state, State::ProbeRoundTrip);
    // It does not start over, even if no sample renews the round trip meanwhile.
    let end = connection.bbr.probe_end;
    connection.ack(News { after: Span::from_seconds(11), in_flight: 4, round_trip: None, ..ACK });
    assert_eq!((connection.bbr.state, connection.bbr.probe_end), (State::ProbeRoundTrip, end));
}

#[test]
fn rates_with_the_least_window_count_as_limited_by_the_application() {
    let mut connection = Connection::steady(State::ProbeBandwidth, 2);
    connection.ack(News { after: Span::from_seconds(11), in_flight: 4, ..ACK });
    assert_eq!(connection.bbr.state, State::ProbeRoundTrip);
    // Segments that were sent since; also those after it, until those that were in flight are delivered.
    for _ in 0..30 {
        connection.ack(News { rate: Some(100.0), in_flight: 4, ..ROUND });
    }
    assert!(near(connection.bbr.bandwidth(), BANDWIDTH));
    assert_eq!(connection.bbr.probe_limited, connection.delivered - 30..=connection.delivered + 4);
    connection.bbr.resume();
    for _ in 0..5 {
        connection.ack(News { rate: Some(100.0), in_flight: 4, ..ROUND });
        assert!(near(connection.bbr.bandwidth(), BANDWIDTH));
    }
    connection.ack(News { rate: Some(100.0), in_flight: 4, ..ROUND });
    assert!(near(connection.bbr.bandwidth(), 100.0));
}

#[test]
fn a_time_of_zero_leaves_the_least_window_out() {
    // `bbr_probe_rtt_mode_ms > 0`.
    let mut connection = Connection::steady(State::ProbeBandwidth, 2);
    connection.bbr.config.probe_round_trip_time = Span::ZERO;
    connection.ack(News { after: Span::from_seconds(11), ..ACK });
    assert_eq!(connection.bbr.state, State::ProbeBandwidth);
    assert_eq!(connection.bbr.min_round_trip, Some(ms(50)));
}

#[test]
fn after_an_idle_time_segments_are_paced_at_the_bandwidth() {
    // `bbr_cwnd_event`.
    let mut connection = Connection::steady(State::ProbeBandwidth, 0);
    assert!(near(connection.gain(), 1.25));
    connection.now += Span::from_seconds(11);
    connection.bbr.on_sent_after_idle(connection.now, &mut connection.control);
    assert!(near(connection.gain(), 1.0));
    assert_eq!((connection.bbr.aggregation.start, connection.bbr.aggregation.acked), (connection.now, 0.0));
    // The expired round trip is not measured again on purpose, if the next delivery reports it.
    connection.ack(ACK);
    assert_eq!((connection.bbr.state, connection.bbr.is_idle_restart), (State::ProbeBandwidth, false));
    let mut connection = Connection::steady(State::Startup, 0);
    let before = connection.control;
    connection.bbr.on_sent_after_idle(connection.now, &mut connection.control);
    assert_eq!(connection.control, before);
    // The least window ends if its time has passed, without a round.
    let mut connection = Connection::steady(State::ProbeRoundTrip, 0);
    connection.bbr.probe_end = Some(connection.now);
    connection.bbr.on_sent_after_idle(connection.now, &mut connection.control);
    assert_eq!(connection.bbr.state, State::ProbeRoundTrip);
    connection.control.congestion_window = 100.0;
    connection.bbr.on_sent_after_idle(connection.now + ms(1), &mut connection.control);
    assert_eq!((connection.bbr.state, connection.window()), (State::ProbeBandwidth, 100.0));
}

#[test]
fn a_bandwidth_below_the_unit_leaves_pacing_to_the_transport() {
    let mut connection = Connection::new();
    connection.bbr.is_pipe_full = true;
    connection.ack(News { rate: Some(0.01), ..ROUND });
    assert_eq!(connection.control.pacing_rate, None);
    assert!(connection.window() >= 4.0);
}

#[test]
fn parameters_have_bounds() {
    let default = BbrConfig::default();
    assert_eq!(default.validate(), Ok(()));
    assert_eq!(BbrConfig { probe_round_trip_time: Span::ZERO, ..default }.validate(), Ok(()));
    for (config, field) in [
        (BbrConfig { min_round_trip_window: Span::ZERO, ..default }, "min_round_trip_window"),
        (BbrConfig { probe_round_trip_time: Span::from_seconds(10), ..default }, "probe_round_trip_time"),
        (BbrConfig { least_window_segments: 3, ..default }, "least_window_segments"),
    ] {
        assert!(config.validate().unwrap_err().field.ends_with(field), "{field}");
    }
}

#[test]
fn it_sets_the_window_in_recoveries_and_ignores_marks() {
    // `bbr_main` is a `cong_control`: the transport does not reduce the rate. `bbr_init` takes the round trips of the
    // handshake.
    let needs = Connection::new().bbr.needs();
    assert!(needs.owns_recovery && needs.answers_marks && needs.round_trip_estimate && needs.randomness);
    assert!(!needs.marks);
}
