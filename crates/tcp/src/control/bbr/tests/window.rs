//! The window: target, aggregation, recoveries, timeouts.

use super::*;

#[test]
fn in_flight_is_the_product_and_three_bursts() {
    // `bbr_inflight`, `bbr_quantization_budget`.
    let mut connection = Connection::steady(State::ProbeBandwidth, 2);
    let mut in_flight = |state, phase, round_trip, gain| {
        (connection.bbr.state, connection.bbr.phase) = (state, phase);
        connection.bbr.min_round_trip = round_trip;
        connection.bbr.in_flight_at(gain, &connection.control)
    };
    assert_eq!(in_flight(State::ProbeBandwidth, 2, Some(ROUND_TRIP), 1.0), 40.0 + 6.0);
    assert_eq!(in_flight(State::ProbeBandwidth, 2, Some(ms(41)), 1.0), 41.0 + 6.0 + 1.0);
    assert_eq!(in_flight(State::ProbeBandwidth, 0, Some(ROUND_TRIP), 1.25), 50.0 + 6.0 + 2.0);
    assert_eq!(in_flight(State::Startup, 0, Some(ROUND_TRIP), 1.25), 50.0 + 6.0);
    assert_eq!(in_flight(State::ProbeBandwidth, 2, Some(Span::from_microseconds(40_100)), 1.0), 41.0 + 6.0 + 1.0);
    // `bbr_bdp`: the initial window without a round trip.
    assert_eq!(in_flight(State::ProbeBandwidth, 2, None, 1.25), 10.0 + 6.0);
}

#[test]
fn a_burst_is_what_leaves_in_a_millisecond() {
    // `bbr_tso_segs_goal`.
    for (payload, bits_per_second, segments) in [
        (PAYLOAD, 1_199_999, 1.0),
        (PAYLOAD, 1_200_000, 2.0),
        (PAYLOAD, 100_000_000, 8.0),
        (PAYLOAD, 10_000_000_000, 45.0),
        (100, 10_000_000_000, 127.0),
    ] {
        let bbr = Bbr::new(BbrConfig::default(), payload);
        let control = Control { pacing_rate: Rate::new(bits_per_second), ..Control::new(10.0, 2.0) };
        assert_eq!(bbr.burst_segments(&control), segments, "{bits_per_second}");
    }
}

#[test]
fn the_window_grows_to_its_target_and_is_cut_only_if_the_pipe_is_full() {
    // `bbr_set_cwnd`. The target of Startup is ceil(40 · 2.887) + 6, that of the steady state 80 + 6.
    let startup = || {
        let mut connection = Connection::steady(State::Startup, 0);
        (connection.bbr.is_pipe_full, connection.bbr.full_bandwidth) = (false, 0.0);
        connection
    };
    for (window, expected) in [(86.0, 89.0), (121.0, 124.0), (122.0, 122.0), (500.0, 500.0), (0.5, 4.0)] {
        let mut connection = startup();
        connection.control.congestion_window = window;
        connection.ack(News { delivered: 3, ..ACK });
        assert_eq!(connection.window(), expected);
    }
    for (window, delivered, expected) in [(80.0, 3, 83.0), (80.0, 7, 86.0), (300.0, 3, 86.0), (1.0, 1, 4.0)] {
        let mut connection = Connection::steady(State::ProbeBandwidth, 2);
        connection.control.congestion_window = window;
        connection.ack(News { delivered, ..UNRATED });
        assert_eq!(connection.window(), expected);
    }
    let mut connection = Connection::steady(State::ProbeBandwidth, 2);
    (connection.control.congestion_window, connection.bbr.config.least_window_segments) = (1.0, 9);
    connection.ack(ACK);
    assert_eq!(connection.window(), 9.0);
    // Until ten segments are delivered it grows beyond the target.
    for (delivered, expected) in [(9, 1009.0), (10, 1000.0)] {
        let mut connection = startup();
        (connection.control.congestion_window, connection.delivered) = (1000.0, 0);
        connection.ack(News { delivered, ..ACK });
        assert_eq!(connection.window(), expected);
    }
    // An ACK without a delivery changes nothing.
    let mut connection = Connection::steady(State::ProbeBandwidth, 2);
    connection.control.congestion_window = 300.0;
    connection.ack(News { delivered: 0, lost: 5, round_trip: None, ..ACK });
    assert_eq!(connection.window(), 300.0);
    // While the round trip is measured, a smaller window than the least one stays.
    let mut connection = Connection::steady(State::ProbeRoundTrip, 0);
    connection.control.congestion_window = 2.0;
    connection.ack(News { delivered: 0, round_trip: None, ..ACK });
    assert_eq!(connection.window(), 2.0);
}

#[test]
fn aggregated_acks_add_to_the_window() {
    // `bbr_update_ack_aggregation`.
    let mut connection = Connection::steady(State::ProbeBandwidth, 2);
    connection.ack(News { delivered: 5, ..ACK });
    assert_eq!(connection.bbr.aggregation.excess, [5.0, 0.0]);
    // Of 15 segments in 10.1 ms, 10 are expected.
    connection.ack(News { after: Span::from_microseconds(4_100), delivered: 10, ..ACK });
    assert_eq!(connection.bbr.aggregation.excess, [11.0, 0.0]);
    assert_eq!(connection.window(), 86.0 + 12.0);
    // After a silence, an epoch begins: nothing is expected yet.
    connection.ack(News { after: ms(12), delivered: 2, ..ACK });
    assert_eq!((connection.bbr.aggregation.acked, connection.bbr.aggregation.start), (2.0, connection.now));
    // The same if as much has arrived as is expected, 2 segments in 2.1 ms.
    connection.ack(News { after: Span::from_microseconds(2_100), delivered: 2, ..ACK });
    assert_eq!((connection.bbr.aggregation.acked, connection.bbr.aggregation.start), (2.0, connection.now));
    // Five rounds later the other half of the window begins, and after ten the excess is forgotten.
    for round in 1..=10 {
        connection.ack(News { after: ms(40), ..ROUND });
        let expected = if round < 5 {
            [11.0, 0.0]
        } else if round < 10 {
            [1.0, 11.0]
        } else {
            [1.0, 1.0]
        };
        assert_eq!(connection.bbr.aggregation.excess, expected, "{round}");
        assert_eq!(connection.bbr.aggregation_segments(), if round < 10 { 11.0 } else { 1.0 });
    }
    // `bbr_ack_aggregation_cwnd`: at most 100 ms of the bandwidth, none before the pipe is full. The excess itself is
    // at most a window.
    connection.control.congestion_window = 150.0;
    connection.ack(News { delivered: 600, ..ACK });
    assert_eq!(connection.bbr.aggregation.excess[0], 150.0);
    assert_eq!(connection.bbr.aggregation_segments(), 99.0);
    assert_eq!(connection.window(), 186.0);
    connection.bbr.is_pipe_full = false;
    assert_eq!(connection.bbr.aggregation_segments(), 0.0);
    // 2^20 segments end an epoch.
    for (acked, delivered, expected) in [(3.0, 2, 1_048_575.0), (2.0, 2, 2.0), (1.0, 1 << 21, 1_048_575.0)] {
        connection.bbr.aggregation.acked = f64::from(1 << 20) - acked;
        connection.ack(News { delivered, ..ACK });
        assert_eq!(connection.bbr.aggregation.acked, expected);
    }
}

#[test]
fn the_first_round_of_a_recovery_conserves_segments() {
    // `bbr_set_cwnd_to_recover_or_restore`.
    let recovery = News { phase: Phase::Recovery, in_flight: 30, ..ACK };
    let mut connection = Connection::steady(State::ProbeBandwidth, 2);
    connection.lose();
    connection.ack(News { delivered: 2, lost: 3, ..recovery });
    assert_eq!(connection.window(), 32.0);
    // Losses come off, but never more than what arrives.
    connection.ack(News { delivered: 2, lost: 3, in_flight: 20, ..recovery });
    assert_eq!(connection.window(), 29.0);
    connection.ack(News { delivered: 2, lost: 3, in_flight: 27, ..recovery });
    assert_eq!(connection.window(), 29.0);
    // From the second round on the window grows to its target.
    connection.ack(News { ends_round: true, ..recovery });
    assert_eq!(connection.window(), 30.0);
    connection.ack(News { lost: 100, ..recovery });
    assert_eq!(connection.window(), 4.0);
    // Losses leave at least a segment, to which arrivals add.
    connection.ack(News { delivered: 9, lost: 100, ..recovery });
    assert_eq!(connection.window(), 10.0);
    // At the end it is what it was before, and grows.
    connection.ack(ACK);
    assert_eq!(connection.window(), 87.0);
    assert!(!connection.bbr.conserves_segments);
}

#[test]
fn a_recovery_that_ends_in_its_first_round_restores_the_window() {
    let mut connection = Connection::steady(State::ProbeBandwidth, 2);
    connection.control.congestion_window = 50.0;
    connection.lose();
    connection.ack(News { phase: Phase::Recovery, in_flight: 30, ..ACK });
    assert_eq!(connection.bbr.round_end, connection.delivered);
    // `bbr_save_cwnd`: a second loss during the recovery keeps the larger one.
    connection.lose();
    connection.ack(News { in_flight: 30, ..ACK });
    assert_eq!(connection.window(), 51.0);
    // The next recovery saves its own, but a window that has grown meanwhile stays.
    connection.control.congestion_window = 40.0;
    connection.lose();
    assert_eq!(connection.bbr.prior_window, 40.0);
    connection.ack(News { phase: Phase::Recovery, in_flight: 59, ..ACK });
    connection.ack(ACK);
    assert_eq!(connection.window(), 61.0);
    // Outside of recoveries, nothing is restored.
    (connection.control.congestion_window, connection.bbr.prior_window) = (20.0, 80.0);
    connection.ack(ACK);
    assert_eq!(connection.window(), 21.0);
}

#[test]
fn the_larger_window_is_saved_in_recoveries_and_with_the_least_window() {
    // `bbr_save_cwnd`.
    for (state, phase, prior, window, expected) in [
        (State::ProbeBandwidth, Phase::Open, 86.0, 4.0, 4.0),
        (State::ProbeRoundTrip, Phase::Open, 86.0, 4.0, 86.0),
        (State::ProbeBandwidth, Phase::Recovery, 86.0, 4.0, 86.0),
        (State::ProbeBandwidth, Phase::Recovery, 40.0, 50.0, 50.0),
    ] {
        let mut connection = Connection::steady(state, 2);
        (connection.bbr.prior_phase, connection.bbr.prior_window) = (phase, prior);
        connection.control.congestion_window = window;
        connection.lose();
        assert_eq!(connection.bbr.prior_window, expected, "{state:?} {phase:?}");
    }
}

#[test]
fn a_timeout_restarts_the_growth_of_the_bandwidth() {
    // `bbr_set_state`.
    let mut connection = Connection::steady(State::ProbeBandwidth, 2);
    connection.bbr.full_rounds = 2;
    connection.time_out(0.0);
    assert_eq!((connection.bbr.full_bandwidth, connection.bbr.full_rounds), (0.0, 2));
    assert_eq!(connection.bbr.prior_window, 86.0);
    // No conservation: the window grows from what the transport has set.
    let timeout = News { phase: Phase::Timeout, ..ACK };
    connection.ack(timeout);
    assert_eq!(connection.window(), 4.0);
    connection.ack(News { delivered: 3, ..timeout });
    assert_eq!(connection.window(), 7.0);
    connection.ack(ACK);
    assert_eq!(connection.window(), 87.0);
    // One that keeps the threshold keeps the window that was saved.
    connection.bbr.prior_phase = Phase::Open;
    let again = CongestionSample { keeps_threshold: true, ..connection.congestion() };
    connection.control.congestion_window = 1.0;
    connection.bbr.on_timeout(&again, &mut connection.control);
    assert_eq!(connection.bbr.prior_window, 86.0);
    // It counts as a round with a loss: the search for a policer begins, from the losses found then on.
    connection.bbr.policer = Policer::default();
    connection.lost = 40;
    connection.ack(timeout);
    assert!(connection.bbr.policer.is_sampling);
    assert_eq!((connection.bbr.policer.rounds, connection.bbr.policer.start.lost), (1, 40));
    // The window also returns if the next ACK leaves nothing missing.
    let mut connection = Connection::steady(State::ProbeBandwidth, 2);
    connection.control.congestion_window = 50.0;
    connection.time_out(0.0);
    connection.ack(ACK);
    assert_eq!(connection.window(), 51.0);
}

#[test]
fn an_unnecessary_reduction_restarts_the_growth_of_the_bandwidth() {
    // `bbr_undo_cwnd`.
    let mut connection = Connection::steady(State::ProbeBandwidth, 0);
    connection.ack(News { lost: 1, ..ACK });
    connection.bbr.full_rounds = 2;
    connection.bbr.undo();
    assert_eq!((connection.bbr.full_bandwidth, connection.bbr.full_rounds), (0.0, 0));
    assert!(!connection.bbr.policer.is_sampling);
}
