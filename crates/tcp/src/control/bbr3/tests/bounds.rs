//! Bounds: losses, marks, and the caps of the window.

use super::*;
use crate::control::bbr3::bounds::in_flight_at_loss;

#[test]
fn the_data_in_flight_at_a_loss_is_within_the_lost_unit() {
    // `bbr_inflight_hi_from_lost_skb`; s2n's vector.
    assert_eq!(libm::floor(in_flight_at_loss(1200.0, 3000.0, 1210.0, 0.02)), 1826.0);
    // Losses before it have crossed the threshold already.
    assert_eq!(in_flight_at_loss(1.0, 100.0, 4.0, 0.02), 99.0);
    assert_eq!(in_flight_at_loss(1.0, 0.0, 0.0, 0.02), 0.0);
    // The first loss: 2 % of what was in flight before may still be lost.
    assert!(is_near(in_flight_at_loss(1.0, 101.0, 1.0, 0.02), 100.0 + 2.0 / 0.98));
}

#[test]
fn losses_are_compared_with_the_data_in_flight_at_departure() {
    // `bbr_is_inflight_too_high`: `rs->lost && rs->tx_in_flight`.
    let bbr = Flow::new(LINUX).bbr;
    for (lost, sent_in_flight, expected) in [(3.0, 0.0, false), (1.0, 1.0, true), (0.0, 1.0, false)] {
        assert_eq!(bbr.are_losses_too_many(lost, sent_in_flight), expected);
    }
}

#[test]
fn the_growth_of_a_probe_doubles_thirty_times_at_most() {
    // `bbr_raise_inflight_hi_slope`.
    let mut bbr = Flow::new(LINUX).bbr;
    (bbr.probe.rounds, bbr.window) = (29, 80.0);
    for _ in 0..2 {
        bbr.raise_slope();
        assert_eq!((bbr.probe.rounds, bbr.probe.segments_per_increase), (30, 1.0));
    }
}

#[test]
fn a_probe_with_too_many_losses_ends_and_lowers_the_bound() {
    // `bbr_skb_marked_lost`, `bbr_handle_inflight_too_high`. 1.953 % of 100 segments are one, of 103 are two.
    let mut flow = Flow::in_state(LINUX, State::Up);
    flow.lose(103, 2);
    flow.ack(ACK);
    assert!(flow.is_in(State::Up) && flow.bbr.bounds == Bounds::NONE);
    flow.lose(100, 2);
    flow.ack(Arrival { sent_in_flight: 1, ..ACK });
    assert!(flow.is_in(State::Down) && flow.bbr.probe.was_too_high);
    assert_eq!(flow.bbr.bounds.in_flight_high, 100.0);
    // Once for a probe.
    flow.lose(50, 9);
    flow.ack(Arrival { sent_in_flight: 1, ..ACK });
    assert_eq!(flow.bbr.bounds.in_flight_high, 100.0);
}

#[test]
fn the_upper_bound_falls_to_seven_tenths_of_the_target_at_most() {
    // `bbr_handle_inflight_too_high`: the target is the product, with two segments more in a probe, or the window.
    for (window, expected) in [(80.0, 29.0), (20.0, 14.0), (5.0, 5.0)] {
        let mut flow = Flow::in_state(LINUX, State::Up);
        flow.control.congestion_window = window;
        flow.lose(5, 1);
        flow.ack(Arrival { sent_in_flight: 1, ..ACK });
        assert_eq!(flow.bbr.bounds.in_flight_high, expected);
    }
    // Limited by the application, the probe ends without a new bound.
    let mut flow = Flow::in_state(LINUX, State::Up);
    flow.ack(Arrival { sent_in_flight: 40, lost: 1, newly_lost: 1, is_limited: true, ..ACK });
    assert!(flow.is_in(State::Down) && flow.bbr.probe.was_too_high);
    assert_eq!(flow.bbr.bounds.in_flight_high, f64::INFINITY);
    // An ACK shows the losses since its segment was sent (`bbr_is_inflight_too_high`).
    let mut flow = Flow::in_state(LINUX, State::Up);
    flow.ack(Arrival { sent_in_flight: 40, lost: 1, newly_lost: 1, ..ACK });
    assert_eq!(flow.bbr.bounds.in_flight_high, 40.0);
}

#[test]
fn losses_outside_of_probes_lower_rate_and_window_once_a_round() {
    // `bbr_adapt_lower_bounds`, `bbr_loss_lower_bounds`: 180/256 or 0.7.
    for (config, keep) in [(LINUX, 180.0 / 256.0), (DRAFT, 0.7)] {
        for state in [State::Drain, State::Cruise] {
            let mut flow = Flow::in_state(config, state);
            flow.lose(40, 1);
            flow.ack(Arrival { rate: 100.0, ..ACK });
            assert_eq!(flow.bbr.bounds, Bounds::NONE, "within the round");
            flow.ack(Arrival { rate: 100.0, ..ROUND });
            let low = Bounds { bandwidth_low: keep * RATE, in_flight_low: 56.0, ..Bounds::NONE };
            assert_eq!(flow.bbr.bounds, low);
            assert_eq!(flow.bbr.bandwidth(), keep * RATE);
            assert!(flow.control.congestion_window <= 56.0);
            // A round without loss changes nothing, the next one with loss does.
            flow.ack(Arrival { rate: 100.0, ..ROUND });
            assert_eq!(flow.bbr.bounds, low);
            flow.lose(40, 1);
            flow.ack(Arrival { rate: 100.0, ..ACK });
            flow.ack(Arrival { rate: 100.0, ..ROUND });
            assert!(is_near(flow.bbr.bounds.bandwidth_low, keep * keep * RATE));
            assert_eq!(flow.bbr.bounds.in_flight_low, 39.0);
        }
    }
    // Probes do not respond so.
    for state in [State::Startup, State::Refill, State::Up] {
        let mut flow = Flow::in_state(LINUX, state);
        flow.lose(400, 1);
        flow.ack(Arrival { rate: 100.0, ..ROUND });
        flow.ack(Arrival { rate: 100.0, ..ROUND });
        assert_eq!(flow.bbr.bounds, Bounds::NONE, "{state:?}");
    }
}

#[test]
fn the_lower_bounds_are_not_below_the_latest_delivery() {
    // `bbr_loss_lower_bounds`, `bbr_update_latest_delivery_signals`.
    let mut flow = Flow::in_state(LINUX, State::Cruise);
    flow.lose(40, 1);
    flow.ack(Arrival { rate: 950.0, ..ACK });
    flow.ack(Arrival { newly: 70, rate: 100.0, ..ROUND });
    assert!(is_near(flow.bbr.bounds.bandwidth_low, 950.0));
    assert_eq!(flow.bbr.bounds.in_flight_low, 70.0);
    // `bbr_advance_latest_delivery_signals`: the next round starts with this sample.
    assert_eq!((flow.bbr.loss_round.bandwidth, flow.bbr.loss_round.in_flight), (100.0, 70.0));
    // The largest volume of the round counts, here that of an earlier ACK.
    let mut flow = Flow::in_state(LINUX, State::Cruise);
    flow.lose(40, 1);
    flow.ack(Arrival { newly: 70, rate: 100.0, ..ACK });
    flow.control.congestion_window = 80.0;
    flow.ack(Arrival { rate: 100.0, ..ROUND });
    assert_eq!(flow.bbr.bounds.in_flight_low, 71.0);
}

#[test]
fn the_window_is_capped_by_the_bounds_of_the_state() {
    // `bbr_bound_cwnd_for_inflight_model`: 38/256 of 50 segments are seven of room.
    let caps = [
        (State::Startup, 1000.0),
        (State::Drain, 1000.0),
        (State::Down, 50.0),
        (State::Refill, 50.0),
        (State::Up, 50.0),
        (State::Cruise, 43.0),
        (State::ProbeRoundTrip, 43.0),
    ];
    for (state, cap) in caps {
        let mut flow = Flow::in_state(LINUX, state);
        flow.bbr.bounds.in_flight_high = 50.0;
        flow.bbr.window = 1000.0;
        flow.bbr.bound_window();
        assert_eq!(flow.bbr.window, cap, "{state:?}");
        flow.bbr.bounds.in_flight_low = 30.0;
        flow.bbr.bound_window();
        assert_eq!(flow.bbr.window, 30.0, "{state:?}");
        flow.bbr.bounds.in_flight_low = 1.0;
        flow.bbr.bound_window();
        assert_eq!(flow.bbr.window, 4.0, "{state:?}");
    }
    // A segment of room at least.
    let mut flow = Flow::in_state(LINUX, State::Cruise);
    flow.bbr.bounds.in_flight_high = 6.0;
    assert_eq!(flow.bbr.in_flight_with_headroom(), 5.0);
    flow.bbr.bounds.in_flight_high = 4.0;
    assert_eq!(flow.bbr.in_flight_with_headroom(), 4.0);
}

/// A flow on a path of 5 ms with marks of short queues.
fn marked_flow(state: State) -> Flow {
    let mut flow = Flow::in_state(ECN, state);
    flow.bbr.round_trips.begin(Some(Span::from_milliseconds(5)), flow.now);
    flow.ack(Arrival { sent_in_flight: 1, ..ROUND });
    assert!(flow.bbr.ecn.is_eligible);
    flow.bbr.state = state;
    flow.bbr.ecn.alpha = 1.0;
    flow.control.congestion_window = 80.0;
    flow
}

#[test]
fn marks_count_on_a_short_path_with_the_option_alone() {
    // `bbr_update_ecn_alpha`, `bbr_can_use_ecn`.
    for (config, microseconds, is_eligible) in [(ECN, 5000, true), (ECN, 5001, false), (LINUX, 5000, false)] {
        let mut flow = Flow::in_state(config, State::Cruise);
        flow.bbr.round_trips.begin(Some(Span::from_microseconds(microseconds)), flow.now);
        flow.ack(Arrival { newly: 10, marked: 10, echoes_mark: true, ..ROUND });
        assert_eq!(flow.bbr.ecn.is_eligible, is_eligible);
        assert_eq!(flow.bbr.bounds.in_flight_low.is_finite(), is_eligible);
    }
    // Otherwise they end neither a probe nor Startup, and bring no probe.
    for state in [State::Up, State::Startup, State::Cruise] {
        let mut flow = Flow::in_state(LINUX, state);
        flow.bbr.loss_round.has_mark_in_cycle = true;
        for _ in 0..2 {
            flow.ack(Arrival { newly: 10, marked: 10, echoes_mark: true, rate: 2.0 * RATE, ..ROUND });
            flow.bbr.full_pipe.rounds = 0;
        }
        assert!(flow.is_in(state) && flow.bbr.ecn.alpha == 1.0, "{state:?}");
    }
}

#[test]
fn the_share_of_marks_is_smoothed_and_cuts_the_window() {
    // `bbr_update_ecn_alpha`: 1/16 of each round; `bbr_ecn_lower_bounds`: 85/256 of alpha, without a floor.
    let mut flow = marked_flow(State::Cruise);
    flow.ack(Arrival { newly: 4, marked: 1, ..ROUND });
    assert_eq!(flow.bbr.ecn.alpha, 15.0 / 16.0 + 1.0 / 64.0);
    flow.bbr.ecn.alpha = 0.5;
    flow.ack(ROUND);
    assert_eq!(flow.bbr.ecn.alpha, 0.5 * 15.0 / 16.0, "a round of one segment");
    let mut flow = marked_flow(State::Cruise);
    flow.ack(Arrival { echoes_mark: true, rate: 10.0, sent_in_flight: 1, ..ACK });
    let window = flow.control.congestion_window;
    flow.ack(Arrival { newly: 2, marked: 1, rate: 10.0, sent_in_flight: 1, ..ROUND });
    let alpha = 15.0 / 16.0 + 1.0 / 32.0;
    assert_eq!(flow.bbr.bounds.in_flight_low, libm::floor(window * (1.0 - alpha * 85.0 / 256.0)));
    assert_eq!(flow.bbr.bounds.bandwidth_low, f64::INFINITY);
}

#[test]
fn half_of_the_segments_marked_are_too_many() {
    // `bbr_is_inflight_too_high`.
    for (marked, end) in [(5, State::Up), (6, State::Down)] {
        let mut flow = marked_flow(State::Up);
        flow.bbr.probe.has_samples = true;
        flow.ack(Arrival { newly: 10, marked, ..ROUND });
        assert!(flow.is_in(end), "{marked}");
    }
    // `bbr_check_ecn_too_high_in_startup`: two rounds of half.
    let mut flow = marked_flow(State::Startup);
    for (marked, is_full) in [(5, false), (4, false), (5, false), (5, true)] {
        flow.ack(Arrival { newly: 10, marked, rate: 1e6, sent_in_flight: 1, ..ROUND });
        assert_eq!(flow.bbr.full_pipe.is_reached, is_full);
        flow.bbr.full_pipe.reset();
    }
}

#[test]
fn after_marks_without_losses_a_probe_comes_at_once() {
    // `bbr_check_time_to_probe_bw`: half of a bound of 64 segments are 2^5.
    let mut flow = marked_flow(State::Cruise);
    flow.bbr.bounds.in_flight_high = 64.0;
    flow.bbr.loss_round.has_mark_in_cycle = true;
    flow.ack(Arrival { phase: Phase::Recovery, ..ACK });
    assert!(flow.is_in(State::Cruise));
    flow.ack(ACK);
    assert!(flow.is_in(State::Refill) && flow.bbr.probe.rounds == 5);
    // Also where the queue is drained, and without a bound, of which half are 2^30 and more.
    let mut flow = marked_flow(State::Down);
    flow.bbr.loss_round.has_mark_in_cycle = true;
    flow.ack(Arrival { in_flight: 3, ..ACK });
    assert!(flow.is_in(State::Refill) && flow.bbr.probe.rounds == 30);
}

#[test]
fn losses_and_marks_together_call_for_no_probe() {
    // `bbr_check_time_to_probe_bw`.
    let mut flow = marked_flow(State::Cruise);
    flow.bbr.bounds.in_flight_high = 64.0;
    (flow.bbr.loss_round.has_mark_in_cycle, flow.bbr.loss_round.has_loss_in_cycle) = (true, true);
    flow.ack(ACK);
    assert!(flow.is_in(State::Cruise));
}

#[test]
fn a_cycle_remembers_losses_and_marks() {
    // `bbr_main`: since the segment was sent that the ACK reports.
    for (lost, marked) in [(1, 0), (0, 1)] {
        let mut flow = Flow::in_state(ECN, State::Cruise);
        flow.lost = lost;
        flow.ack(Arrival { lost, marked, sent_in_flight: 100, ..ACK });
        let round = flow.bbr.loss_round;
        assert_eq!((round.has_loss_in_cycle, round.has_mark_in_cycle), (lost > 0, marked > 0));
    }
}

#[test]
fn the_first_loss_begins_a_round() {
    // `bbr_note_loss`: later ones do not restart it.
    let mut round = LossRound::default();
    round.note_loss(10);
    round.note_loss(20);
    assert!(round.next_delivered == 10 && round.has_loss_in_cycle);
    // An ACK that finds losses makes its round one with loss (`bbr_update_congestion_signals`).
    let mut flow = Flow::in_state(LINUX, State::Cruise);
    flow.ack(Arrival { newly_lost: 1, ..ACK });
    assert!(flow.bbr.loss_round.has_loss);
}
