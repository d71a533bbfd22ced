//! The model of the path, and the pacing rate and the window that follow from it.

use super::*;

#[test]
fn the_first_rate_is_the_window_in_a_round_trip_at_the_gain_of_startup() {
    // `bbr_init_pacing_rate_from_rtt`; s2n's vector for 2.77, and 710/256. No bandwidth is known yet.
    for (config, expected) in [(DRAFT, 383_922.0), (LINUX, 384_398.0)] {
        let mut flow = Flow::new(config);
        flow.ack(Arrival { newly: 0, rate: 1e-3, round_trip: Some(Span::from_milliseconds(100)), ..ACK });
        assert!((flow.rate() - expected).abs() < 1.0, "{}", flow.rate());
    }
    // Without a round trip it is the window in 1 ms, until one comes.
    let mut flow = Flow::new(LINUX);
    flow.ack(Arrival { newly: 0, ..ACK });
    assert!((flow.rate() - 38_439_843.75).abs() < 1.0, "{}", flow.rate());
    flow.control.congestion_window = 20.0;
    flow.ack(Arrival { newly: 0, ..ACK });
    assert!((flow.rate() - 38_439_843.75).abs() < 1.0, "set once");
    flow.control.congestion_window = 10.0;
    flow.ack(Arrival { newly: 0, round_trip: Some(Span::from_milliseconds(100)), ..ACK });
    assert!((flow.rate() - 384_398.0).abs() < 1.0, "{}", flow.rate());
    flow.control.congestion_window = 20.0;
    flow.ack(Arrival { newly: 0, round_trip: Some(Span::from_milliseconds(100)), ..ACK });
    assert!((flow.rate() - 384_398.0).abs() < 1.0, "set once");
    // A round trip of zero is none.
    let mut flow = Flow::new(LINUX);
    flow.ack(Arrival { newly: 0, round_trip: Some(Span::ZERO), ..ACK });
    assert!((flow.rate() - 38_439_843.75).abs() < 1.0, "{}", flow.rate());
}

#[test]
fn the_initial_window_counts_up_to_127_segments() {
    // `bbr_init`; `bbr_bdp` without a round trip.
    for (configured, expected) in [(120, 120.0), (128, 127.0)] {
        let setup = Setup { initial_window_segments: configured, ..Setup::default() };
        assert_eq!(Bbr3::new(&LINUX, &setup).in_flight_of(RATE, 1.0), expected);
    }
}

#[test]
fn without_a_valid_interval_there_is_no_rate_and_no_round() {
    // `bbr_update_round_start`, `bbr_calculate_bw_sample`.
    for interval in [None, Some(Span::ZERO)] {
        let segment = Some(DeliveredSegment { interval, ..DeliveredSegment::default() });
        let delivery = Delivery { delivered: 5, newly_delivered: 5, segment, ..Delivery::default() };
        let sample = Sample::new(&empty_ack(Time::ZERO), &delivery, None);
        assert_eq!((sample.bandwidth, sample.delivered), (None, 5.0));
        let mut rounds = Rounds::default();
        rounds.update(&sample);
        assert!(!rounds.has_started);
    }
    // An ACK without arrivals reports no losses or marks either.
    let delivery = Delivery { delivered: 5, lost: 3, marked: 2, ..Delivery::default() };
    let sample = Sample::new(&empty_ack(Time::ZERO), &delivery, None);
    assert_eq!((sample.delivered, sample.lost, sample.marked), (0.0, 0.0, 0.0));
}

#[test]
fn the_rate_only_rises_before_the_pipe_is_full() {
    // `bbr_set_pacing_rate`.
    let mut flow = Flow::in_state(LINUX, State::Startup);
    let first = flow.rate();
    flow.bbr.bandwidth = BandwidthFilter::default();
    flow.bbr.bandwidth.take(RATE / 10.0);
    flow.ack(Arrival { rate: 1.0, ..ACK });
    assert_eq!(flow.rate(), first);
    flow.ack(Arrival { rate: 3.0 * RATE, ..ACK });
    assert!(is_near(flow.rate(), 3.0 * RATE * 1400.0 * 710.0 / 256.0 * 0.99), "{}", flow.rate());
}

#[test]
fn every_state_has_its_gains() {
    // `bbr_update_gains`, and the draft's table of states.
    let states = [
        (State::Startup, 710.0 / 256.0, 2.77, [2.0; 2]),
        (State::Drain, 88.0 / 256.0, 0.5, [2.0; 2]),
        (State::Down, 232.0 / 256.0, 0.9, [2.0; 2]),
        (State::Cruise, 1.0, 1.0, [2.0; 2]),
        (State::Refill, 1.0, 1.0, [2.0; 2]),
        (State::Up, 1.25, 1.25, [2.25; 2]),
        (State::ProbeRoundTrip, 1.0, 1.0, [1.0, 0.5]),
    ];
    for (state, linux, draft, window) in states {
        for (config, pacing, window) in [(LINUX, linux, window[0]), (DRAFT, draft, window[1])] {
            let mut flow = Flow::new(config);
            flow.bbr.state = state;
            assert_eq!(flow.bbr.gains(), (pacing, window), "{state:?}");
        }
    }
    let mut flow = Flow::in_state(LINUX, State::Cruise);
    flow.ack(ACK);
    assert!(is_near(flow.gain(), 1.0), "{}", flow.gain());
    // Twice the product, and the one segment of this ACK as aggregation.
    assert_eq!(flow.control.congestion_window, 81.0);
}

#[test]
fn departures_already_scheduled_are_not_in_the_network() {
    // `bbr_packets_in_net_at_edt`: 3 ms at 1000 segments per second; a burst more while the gain is above 1.
    let mut flow = Flow::in_state(LINUX, State::Cruise);
    flow.ack(ACK);
    let sample = Sample { next_departure: flow.now + Span::from_milliseconds(3), ..empty_sample(flow.now) };
    assert_eq!(flow.bbr.in_network(10.0, &sample), 7.0);
    assert_eq!(flow.bbr.in_network(1.0, &sample), 0.0);
    flow.bbr.pacing_gain = 1.25;
    assert_eq!(flow.bbr.in_network(10.0, &sample), 9.0);
    // One segment at a slow rate.
    flow.bbr.pacing_rate = 1e6;
    assert_eq!(flow.bbr.in_network(10.0, &sample), 8.0);
}

#[test]
fn the_bandwidth_is_the_maximum_of_two_cycles() {
    // `bbr_advance_max_bw_filter`, `bbr_adapt_upper_bounds`: a round after the end of a probe.
    let mut flow = Flow::in_state(LINUX, State::Down);
    for (is_limited, maximum) in [(true, RATE), (false, RATE), (false, 800.0)] {
        flow.bbr.probe.ack_phase = AckPhase::Stopping;
        flow.bbr.probe.started = flow.now;
        flow.ack(Arrival { rate: 700.0, ..ACK });
        flow.ack(Arrival { rate: 800.0, is_limited, ..ROUND });
        assert_eq!(flow.bbr.bandwidth.maximum(), maximum);
        assert_eq!(flow.bbr.probe.ack_phase, AckPhase::Initial);
    }
    // A limited sample that equals the maximum renews it (`bbr_update_congestion_signals`).
    let mut renewed = Flow::in_state(LINUX, State::Cruise);
    renewed.bbr.bandwidth.advance();
    renewed.ack(Arrival { rate: 100.0, ..ROUND });
    renewed.ack(Arrival { is_limited: true, ..ROUND });
    renewed.bbr.bandwidth.advance();
    assert_eq!(renewed.bbr.bandwidth.maximum(), RATE);
    // Without a sample in the cycle, the one before still counts.
    let mut filter = BandwidthFilter::default();
    filter.take(5.0);
    filter.advance();
    filter.advance();
    assert_eq!(filter.maximum(), 5.0);
    // A limited sample counts if it is as high as the maximum (`bbr_update_congestion_signals`).
    flow.ack(Arrival { rate: 801.0, is_limited: true, ..ACK });
    assert!(is_near(flow.bbr.bandwidth.maximum(), 801.0));
    flow.bbr.bandwidth = BandwidthFilter::default();
    flow.bbr.bandwidth.take(900.0);
    flow.bbr.bandwidth.advance();
    flow.ack(Arrival { rate: 801.0, is_limited: true, ..ACK });
    flow.bbr.bandwidth.advance();
    flow.bbr.bandwidth.take(1.0);
    flow.bbr.bandwidth.advance();
    assert_eq!(flow.bbr.bandwidth.maximum(), 1.0);
}

#[test]
fn the_window_grows_by_what_is_acknowledged() {
    // `bbr_set_cwnd`: before the pipe is full up to the target, or to twice the initial window; the draft: or until the
    // initial window is delivered.
    for (config, expected) in [(LINUX, 20.0), (DRAFT, 18.0)] {
        let mut flow = Flow::new(config);
        flow.ack(Arrival { rate: 1.0, round_trip: Some(Span::from_seconds(1)), ..ROUND });
        flow.control.congestion_window = 10.0;
        for _ in 0..30 {
            flow.ack(Arrival { rate: 1.0, ..ACK });
        }
        assert_eq!(flow.control.congestion_window, expected, "{config:?}");
    }
    // Afterwards, down to the target at once.
    let mut flow = Flow::in_state(LINUX, State::Cruise);
    flow.control.congestion_window = 30.0;
    flow.ack(Arrival { newly: 3, ..ACK });
    assert_eq!(flow.control.congestion_window, 33.0);
    flow.control.congestion_window = 300.0;
    flow.ack(ACK);
    assert_eq!(flow.control.congestion_window - flow.bbr.aggregation.maximum(), 80.0);
    // An ACK of no arrival leaves it.
    flow.control.congestion_window = 300.0;
    flow.ack(Arrival { newly: 0, ..ACK });
    assert_eq!(flow.control.congestion_window, 300.0);
    // Before the pipe is full, only below the target, which one segment of aggregation raises to 81.
    for (window, expected) in [(80.5, 81.5), (81.0, 81.0)] {
        let mut flow = Flow::in_state(LINUX, State::Startup);
        (flow.bbr.aggregation, flow.control.congestion_window) = (Aggregation::default(), window);
        flow.bbr.aggregation.restart(flow.now);
        flow.ack(ACK);
        assert_eq!(flow.control.congestion_window, expected);
    }
}

#[test]
fn a_small_product_leaves_the_least_window_and_the_rate() {
    // The draft's MinPipeCwnd: 10 segments per second and 40 ms are less than a segment.
    for (least, expected) in [(4, 4.0), (9, 9.0)] {
        let mut flow = Flow::in_state(Bbr3Config { least_window_segments: least, ..LINUX }, State::Cruise);
        flow.bbr.bandwidth = BandwidthFilter::default();
        for _ in 0..2 {
            flow.ack(Arrival { rate: 10.0, ..ACK });
        }
        assert_eq!(flow.control.congestion_window, expected);
        assert!(is_near(flow.rate(), 10.0 * 1400.0 * 0.99), "{}", flow.rate());
    }
    // ProbeRTT: half of the product, but no less than the least window, and never more than before.
    let mut flow = Flow::in_state(LINUX, State::ProbeRoundTrip);
    flow.control.congestion_window = 10.0;
    flow.ack(Arrival { newly: 0, ..ACK });
    assert_eq!(flow.control.congestion_window, 10.0);
    flow.bbr.bandwidth = BandwidthFilter::default();
    flow.ack(Arrival { rate: 10.0, ..ROUND });
    assert_eq!(flow.control.congestion_window, 4.0);
    // Three send quanta at 1.2 Mb/s and more (`bbr_quantization_budget`).
    let mut flow = Flow::in_state(LINUX, State::Cruise);
    flow.bbr.round_trips.begin(Some(Span::from_microseconds(1)), flow.now);
    flow.bbr.pacing_rate = 1.2e6;
    assert_eq!(flow.bbr.in_flight_of(RATE, 1.0), 6.0);
    flow.bbr.pacing_rate = 1.1e6;
    assert_eq!(flow.bbr.in_flight_of(RATE, 1.0), 4.0);
    flow.bbr.pacing_rate = 1.4 * 8e6 * 1024.0 / 100.0;
    assert_eq!(flow.bbr.in_flight_of(RATE, 1.0), 30.0);
    flow.bbr.pacing_rate = 1e15;
    assert_eq!(flow.bbr.in_flight_of(RATE, 1.0), 138.0);
}

#[test]
fn aggregated_acks_enlarge_the_window() {
    // `bbr_update_ack_aggregation`: 30 segments at once after 20 ms, where 20 were expected.
    let mut flow = Flow::in_state(LINUX, State::Cruise);
    flow.bbr.aggregation = Aggregation::default();
    flow.bbr.aggregation.restart(flow.now);
    flow.ack(Arrival { newly: 25, ..ACK });
    assert_eq!(flow.bbr.aggregation.maximum(), 25.0);
    assert_eq!(flow.control.congestion_window, 105.0);
    flow.pass(Span::from_milliseconds(20));
    flow.ack(Arrival { newly: 30, ..ACK });
    assert_eq!(flow.bbr.aggregation.maximum(), 35.0);
    assert_eq!(flow.control.congestion_window, 115.0);
    // The rate of ACKs is below the bandwidth: the epoch ends.
    flow.pass(Span::from_milliseconds(60));
    flow.ack(ACK);
    assert_eq!((flow.bbr.aggregation.maximum(), flow.bbr.window), (35.0, 115.0));
    // Forgotten after two windows of five rounds, or of one in Startup.
    for (is_full, rounds) in [(true, 10), (false, 2)] {
        flow.bbr.full_pipe.is_reached = is_full;
        flow.bbr.aggregation = Aggregation::default();
        flow.ack(Arrival { newly: 35, ..ACK });
        for round in 1..=rounds {
            assert_eq!(flow.bbr.aggregation.maximum(), 35.0, "{round}");
            flow.pass(Span::from_seconds(1));
            flow.bbr.probe.started = flow.now;
            flow.bbr.rounds.since_probe = 0;
            flow.bbr.round_trips.restart_interval(flow.now);
            flow.ack(ROUND);
        }
        assert_eq!(flow.bbr.aggregation.maximum(), 1.0);
    }
    // 100 ms at the bandwidth at most.
    flow.bbr.full_pipe.is_reached = true;
    flow.ack(Arrival { newly: 1000, ..ACK });
    flow.ack(Arrival { newly: 1000, ..ACK });
    assert_eq!(flow.control.congestion_window, 180.0);
}

#[test]
fn an_epoch_of_aggregation_ends_when_the_bandwidth_explains_it_or_after_a_million_segments() {
    // `bbr_update_ack_aggregation`, at 1000 segments per second.
    let maximum = |window, acks: &[(u64, u32)]| {
        let mut aggregation = Aggregation::default();
        for &(microseconds, acked) in acks {
            let now = Time::ZERO + Span::from_microseconds(microseconds);
            let sample = Sample { acked: f64::from(acked), bandwidth: Some(RATE), ..empty_sample(now) };
            aggregation.update(&sample, false, true, RATE, window);
        }
        aggregation.maximum()
    };
    // The ten segments of the first ACK are explained after 10 ms: the third ACK is of the second epoch.
    assert_eq!(maximum(1e9, &[(0, 10), (10_500, 1), (11_400, 20)]), 21.0);
    assert_eq!(maximum(1e9, &[(0, 10), (9_500, 1), (11_400, 20)]), 20.0);
    // 2^20 segments end it, and it counts less than these.
    assert_eq!(maximum(1e9, &[(0, (1 << 20) - 3), (0, 2)]), 1_048_575.0);
    assert_eq!(maximum(1e9, &[(0, (1 << 20) - 2), (0, 2)]), 1_048_574.0);
    assert_eq!(maximum(1e9, &[(0, 1 << 21)]), 1_048_575.0);
    // At most a window.
    assert_eq!(maximum(7.0, &[(0, 10)]), 7.0);
}

#[test]
fn the_same_seed_gives_the_same_waits() {
    let wait = |seed| {
        let mut flow = Flow::new(LINUX);
        flow.bbr.seed(seed);
        flow.bbr.start_down(Time::ZERO);
        flow.bbr.probe.wait
    };
    assert_eq!(wait(1), wait(1));
    assert_ne!(wait(1), wait(2));
}

#[test]
fn it_sets_the_window_in_recoveries_and_answers_marks_itself() {
    // `bbr_main` is a `cong_control`: the transport does not reduce the rate. `bbr_init` takes the round trips of the
    // handshake.
    let needs = Flow::new(LINUX).bbr.needs();
    assert!(needs.owns_recovery && needs.answers_marks && needs.round_trip_estimate && needs.randomness);
}
