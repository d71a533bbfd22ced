//! The cycle of ProbeBW.

use super::*;

#[test]
fn down_ends_with_room_in_the_bottleneck() {
    // `bbr_check_time_to_cruise`: at most the product, and below the upper bound by 38/256 or 15 %.
    for (config, high, most) in [(LINUX, f64::INFINITY, 40), (LINUX, 40.0, 35), (DRAFT, 40.0, 34)] {
        let mut flow = Flow::in_state(config, State::Down);
        flow.bbr.bounds.in_flight_high = high;
        for in_flight in [MANY, most + 1] {
            flow.ack(Arrival { in_flight, sent_in_flight: 1, ..ACK });
            assert!(flow.is_in(State::Down));
        }
        flow.ack(Arrival { in_flight: most, sent_in_flight: 1, ..ACK });
        assert!(flow.is_in(State::Cruise), "{config:?} {high}");
    }
}

#[test]
fn a_probe_comes_after_two_to_three_seconds() {
    // `bbr_pick_probe_wait`, `bbr_check_time_to_probe_bw`.
    let mut waits = Vec::new();
    for seed in 0..200 {
        let mut flow = Flow::in_state(LINUX, State::Down);
        flow.bbr.seed(seed);
        flow.bbr.start_down(flow.now);
        assert!(flow.bbr.rounds.since_probe <= 1);
        waits.push((flow.bbr.probe.wait, flow.bbr.rounds.since_probe));
        for state in [State::Down, State::Cruise] {
            flow.bbr.state = state;
            flow.now = flow.bbr.probe.started + flow.bbr.probe.wait;
            flow.ack(ACK);
            assert!(flow.is_in(state));
            flow.pass(Span::from_picoseconds(1));
            flow.ack(ACK);
            assert!(flow.is_in(State::Refill));
        }
    }
    let (two, three) = (Span::from_seconds(2), Span::from_seconds(3));
    assert!(waits.iter().all(|&(wait, _)| wait >= two && wait < three));
    let late = waits.iter().filter(|&&(wait, _)| wait > two + Span::from_milliseconds(500)).count();
    let with_one = waits.iter().filter(|&&(_, rounds)| rounds == 1).count();
    assert!((70..130).contains(&late) && (70..130).contains(&with_one), "{late} {with_one}");
}

#[test]
fn a_probe_comes_after_as_many_rounds_as_reno_takes() {
    // `bbr_is_reno_coexistence_probe_time`: 40 segments are the target, 63 rounds the most.
    for (rate, rounds) in [(RATE, 40), (10.0 * RATE, 63)] {
        let mut flow = Flow::in_state(LINUX, State::Cruise);
        flow.bbr.bandwidth.take(rate);
        flow.control.congestion_window = 2.0 * rate * 0.04;
        for _ in 1..rounds {
            flow.ack(ROUND);
            assert!(flow.is_in(State::Cruise));
        }
        flow.ack(ROUND);
        assert!(flow.is_in(State::Refill));
    }
}

#[test]
fn a_refill_lifts_the_lower_bounds_and_takes_one_round() {
    // `bbr_start_bw_probe_refill`, `bbr_start_bw_probe_up`.
    let mut flow = Flow::in_state(LINUX, State::Cruise);
    flow.bbr.bounds = Bounds { bandwidth_low: 500.0, in_flight_low: 20.0, in_flight_high: 100.0 };
    flow.pass(Span::from_seconds(3));
    flow.ack(ACK);
    assert!(flow.is_in(State::Refill) && flow.bbr.probe.ack_phase == AckPhase::Refilling);
    assert_eq!(flow.bbr.probe.rounds, 0);
    assert_eq!(flow.bbr.bounds, Bounds { in_flight_high: 100.0, ..Bounds::NONE });
    assert!(is_near(flow.gain(), 1.0));
    flow.ack(ACK);
    assert!(flow.is_in(State::Refill));
    flow.ack(Arrival { rate: 900.0, ..ROUND });
    assert!(flow.is_in(State::Up) && flow.bbr.probe.has_samples);
    assert!(is_near(flow.bbr.full_pipe.bandwidth, 900.0) && flow.bbr.full_pipe.rounds == 0);
    assert!(is_near(flow.gain(), 1.25));
    // 2.25 times the product and two segments, without aggregation.
    flow.bbr.bounds.in_flight_high = f64::INFINITY;
    flow.control.congestion_window = 300.0;
    flow.ack(ACK);
    assert_eq!(flow.control.congestion_window - flow.bbr.aggregation.maximum(), 92.0);
    assert_eq!(flow.bbr.probe.ack_phase, AckPhase::Starting);
    flow.ack(ROUND);
    assert_eq!(flow.bbr.probe.ack_phase, AckPhase::Feedback);
}

#[test]
fn up_raises_the_bound_by_one_two_and_four_in_successive_rounds() {
    // `bbr_raise_inflight_hi_slope`, `bbr_probe_inflight_hi_upward`.
    let mut flow = Flow::in_state(LINUX, State::Refill);
    flow.bbr.bounds.in_flight_high = 40.0;
    flow.control.congestion_window = 40.0;
    flow.ack(Arrival { sent_in_flight: 1, in_flight: 40, ..ROUND });
    assert!(flow.is_in(State::Up));
    for expected in [41.0, 43.0, 47.0] {
        let window = flow.control.congestion_window as u64;
        // The first ACK of a round still has the slope of the one before.
        for index in 0..window {
            let in_flight = flow.control.congestion_window as u64;
            flow.ack(Arrival { sent_in_flight: 1, in_flight, starts_round: index == window - 1, ..ACK });
        }
        assert_eq!(flow.bbr.bounds.in_flight_high, expected);
    }
    // A window that is not in use, or below the bound, proves nothing.
    let mut idle = Flow::in_state(LINUX, State::Up);
    idle.bbr.bounds.in_flight_high = 40.0;
    idle.bbr.probe.segments_per_increase = 1.0;
    idle.bbr.window_limited_until = 0;
    idle.control.congestion_window = 40.0;
    idle.ack(Arrival { sent_in_flight: 1, in_flight: 39, ..ACK });
    assert_eq!(idle.bbr.bounds.in_flight_high, 40.0);
    idle.control.congestion_window = 39.0;
    idle.ack(Arrival { sent_in_flight: 1, in_flight: 39, ..ACK });
    assert_eq!(idle.bbr.bounds.in_flight_high, 40.0);
    // With as much in flight as the window has, it is in use.
    (idle.control.congestion_window, idle.bbr.window_limited_until) = (40.0, 0);
    idle.ack(Arrival { sent_in_flight: 1, in_flight: 40, ..ACK });
    assert_eq!(idle.bbr.bounds.in_flight_high, 41.0);
}

#[test]
fn an_acknowledged_volume_raises_the_bound_in_any_state() {
    // `bbr_adapt_upper_bounds`.
    let mut flow = Flow::in_state(LINUX, State::Cruise);
    flow.bbr.bounds.in_flight_high = 50.0;
    flow.ack(Arrival { sent_in_flight: 60, lost: 2, newly_lost: 2, ..ACK });
    assert_eq!(flow.bbr.bounds.in_flight_high, 50.0);
    flow.ack(Arrival { sent_in_flight: 60, ..ACK });
    assert_eq!(flow.bbr.bounds.in_flight_high, 60.0);
    // `bbr_update_cycle_phase`: not before the pipe is full.
    let mut flow = Flow::in_state(LINUX, State::Startup);
    flow.bbr.bounds.in_flight_high = 50.0;
    flow.ack(Arrival { sent_in_flight: 60, ..ACK });
    assert_eq!(flow.bbr.bounds.in_flight_high, 50.0);
}

#[test]
fn up_ends_on_a_plateau_unless_the_bound_limits_it() {
    // `bbr_update_cycle_phase`, condition 2.
    let mut flow = Flow::in_state(LINUX, State::Refill);
    flow.ack(ROUND);
    flow.bbr.loss_round.has_loss_in_cycle = true;
    for _ in 0..3 {
        assert!(flow.is_in(State::Up));
        flow.ack(ROUND);
    }
    assert!(flow.is_in(State::Down) && !flow.bbr.probe.was_risky);
    // `bbr_start_bw_probe_down`: `bbr_reset_congestion_signals`.
    assert!(!flow.bbr.loss_round.has_loss_in_cycle);
    assert!(is_near(flow.gain(), 232.0 / 256.0));
    let mut flow = Flow::in_state(LINUX, State::Refill);
    flow.bbr.bounds.in_flight_high = 40.0;
    flow.control.congestion_window = 40.0;
    for _ in 0..4 {
        for starts_round in [true, false] {
            let in_flight = flow.control.congestion_window as u64;
            flow.ack(Arrival { sent_in_flight: 1, in_flight, starts_round, ..ACK });
        }
    }
    assert!(flow.is_in(State::Up) && flow.bbr.full_pipe.rounds == 0);
    // The bound does not limit a sender with less in flight.
    flow.bbr.window_limited_until = 0;
    for _ in 0..3 {
        assert!(flow.is_in(State::Up));
        flow.ack(Arrival { sent_in_flight: 1, in_flight: 3, ..ROUND });
    }
    assert!(!flow.is_in(State::Up));
    // Limited by the application, it never ends without loss.
    let mut flow = Flow::in_state(LINUX, State::Refill);
    flow.ack(ROUND);
    for _ in 0..100 {
        flow.ack(Arrival { is_limited: true, ..ROUND });
    }
    assert!(flow.is_in(State::Up));
}

#[test]
fn after_a_probe_that_went_too_high_the_next_one_is_brief() {
    // `bbr_update_cycle_phase`, condition 1; `bbr_adapt_upper_bounds`.
    let mut flow = Flow::in_state(LINUX, State::Refill);
    flow.bbr.bounds.in_flight_high = 60.0;
    flow.bbr.probe.was_too_high = true;
    flow.ack(Arrival { sent_in_flight: 1, in_flight: 50, ..ROUND });
    // With the next burst of two segments.
    flow.ack(Arrival { sent_in_flight: 1, in_flight: 57, ..ACK });
    assert!(flow.is_in(State::Up));
    flow.ack(Arrival { sent_in_flight: 1, in_flight: 58, ..ACK });
    assert!(flow.is_in(State::Down) && flow.bbr.probe.was_risky && !flow.bbr.probe.was_too_high);
    // `bbr_start_round`: the round after the probe begins.
    assert_eq!(flow.bbr.rounds.next_delivered, flow.delivered);
    // Nothing is too high in the round after it: the pipe is refilled at once.
    flow.ack(Arrival { sent_in_flight: 1, ..ROUND });
    assert!(flow.is_in(State::Refill) && !flow.bbr.probe.was_risky && !flow.bbr.probe.has_samples);
    assert_eq!(flow.bbr.probe.rounds, 0);
}

#[test]
fn losses_after_a_brief_probe_prevent_the_next_one() {
    // `bbr_adapt_upper_bounds`, `bbr_handle_inflight_too_high`: the samples of the probe still come.
    let mut flow = Flow::in_state(LINUX, State::Up);
    flow.bbr.bounds.in_flight_high = 60.0;
    flow.bbr.probe.was_too_high = true;
    flow.ack(Arrival { sent_in_flight: 1, in_flight: 60, ..ACK });
    assert!(flow.is_in(State::Down) && flow.bbr.probe.has_samples);
    flow.lose(60, 2);
    flow.ack(Arrival { sent_in_flight: 60, ..ACK });
    assert!(flow.bbr.probe.was_too_high && !flow.bbr.probe.has_samples);
    flow.ack(Arrival { sent_in_flight: 1, ..ROUND });
    assert!(flow.is_in(State::Down));
}

#[test]
fn the_lower_bound_is_not_above_the_upper_one_in_cruise_and_growth_starts_from_zero() {
    // `bbr_start_bw_probe_cruise`, `bbr_start_bw_probe_refill`.
    for (low, expected) in [(30.0, 30.0), (70.0, 50.0)] {
        let mut flow = Flow::in_state(LINUX, State::Down);
        flow.bbr.bounds = Bounds { in_flight_low: low, in_flight_high: 50.0, ..Bounds::NONE };
        flow.ack(Arrival { in_flight: 20, ..ACK });
        assert!(flow.is_in(State::Cruise));
        assert_eq!(flow.bbr.bounds.in_flight_low, expected);
    }
    let mut flow = Flow::in_state(LINUX, State::Cruise);
    flow.bbr.probe.acked = 3.0;
    flow.pass(Span::from_seconds(3));
    flow.ack(ACK);
    assert!(flow.is_in(State::Refill));
    assert_eq!(flow.bbr.probe.acked, 0.0);
}
