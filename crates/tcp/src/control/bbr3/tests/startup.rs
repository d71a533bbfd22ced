//! Startup and Drain.

use super::*;

#[test]
fn the_pipe_is_full_after_three_rounds_below_a_quarter_of_growth() {
    // `bbr_check_full_bw_reached`.
    for config in [LINUX, DRAFT] {
        let mut flow = Flow::in_state(config, State::Startup);
        flow.ack(Arrival { rate: 1.25 * RATE, ..ROUND });
        (flow.bbr.loss_round.has_loss, flow.bbr.loss_round.has_loss_in_cycle) = (true, true);
        for round in 1..=3 {
            assert!(flow.is_in(State::Startup) && !flow.bbr.full_pipe.is_reached);
            // Limited samples and ACKs within the round do not count.
            flow.ack(Arrival { is_limited: true, rate: RATE, ..ROUND });
            flow.ack(Arrival { rate: 1.2 * RATE, ..ACK });
            assert_eq!(flow.bbr.full_pipe.rounds, round - 1);
            flow.ack(Arrival { rate: 1.5 * RATE, ..ROUND });
        }
        // The draft's CheckDrainDone counts rounds from here.
        assert!(flow.is_in(State::Drain) && flow.bbr.full_pipe.is_reached && flow.bbr.full_pipe.is_now);
        // The threshold is for display: the product of 1500 segments per second and 40 ms.
        assert_eq!(flow.control.slow_start_threshold, 60.0);
        // `bbr_reset_congestion_signals`: the losses of Startup do not count in the first cycle.
        assert!(!flow.bbr.loss_round.has_loss_in_cycle);
    }
}

#[test]
fn only_the_draft_looks_for_growth_at_starts_of_rounds_alone() {
    // `bbr_check_full_bw_reached`; the draft's CheckFullBWReached.
    for (config, rounds) in [(LINUX, 0), (DRAFT, 2)] {
        let mut flow = Flow::in_state(config, State::Startup);
        flow.ack(ROUND);
        flow.ack(ROUND);
        assert_eq!(flow.bbr.full_pipe.rounds, 2);
        flow.ack(Arrival { rate: 1.25 * RATE, ..ACK });
        assert_eq!(flow.bbr.full_pipe.rounds, rounds, "{config:?}");
    }
}

/// Startup after a round of a recovery with so many ACKs that find losses; `last` ends the round.
fn startup_after(events: u64, last: Arrival) -> Flow {
    let mut flow = Flow::in_state(LINUX, State::Startup);
    flow.enter_recovery();
    for _ in 0..events {
        flow.lose(MANY, 1);
        flow.ack(Arrival { newly_lost: 1, rate: 0.5 * RATE, phase: Phase::Recovery, ..ACK });
    }
    flow.ack(Arrival { rate: 0.5 * RATE, phase: Phase::Recovery, ..last });
    flow
}

#[test]
fn startup_ends_by_six_loss_events_in_a_round_of_a_recovery() {
    // `bbr_check_loss_too_high_in_startup`: 5 of 256 segments are 1.953 %.
    let lossy = Arrival { lost: 5, sent_in_flight: 255, newly: 50, ..ROUND };
    let flow = startup_after(6, lossy);
    assert!(flow.is_in(State::Drain) && flow.bbr.full_pipe.is_reached && !flow.bbr.full_pipe.is_now);
    // The highest volume delivered in a round trip exceeds the product.
    assert_eq!(flow.bbr.bounds.in_flight_high, 50.0);
    assert_eq!(startup_after(6, Arrival { newly: 30, ..lossy }).bbr.bounds.in_flight_high, PRODUCT);
    assert!(startup_after(5, lossy).is_in(State::Startup));
    assert!(startup_after(6, Arrival { sent_in_flight: 256, ..lossy }).is_in(State::Startup));
    let mut flow = Flow::in_state(LINUX, State::Startup);
    for _ in 0..6 {
        flow.ack(Arrival { newly_lost: 1, rate: 0.5 * RATE, ..ACK });
    }
    flow.ack(Arrival { rate: 0.5 * RATE, ..lossy });
    assert!(flow.is_in(State::Startup), "not in a recovery");
    // The next round counts from the start.
    assert_eq!(flow.bbr.loss_round.loss_events, 0);
}

#[test]
fn drain_ends_when_only_the_product_is_in_flight() {
    // `bbr_check_drain`.
    for config in [LINUX, DRAFT] {
        let mut flow = Flow::in_state(config, State::Drain);
        flow.ack(Arrival { in_flight: 41, ..ACK });
        assert!(flow.is_in(State::Drain));
        assert!(is_near(flow.gain(), flow.bbr.constants.drain_pacing_gain), "{}", flow.gain());
        flow.ack(Arrival { in_flight: 40, ..ACK });
        // `bbr_update_cycle_phase` of the same ACK finds that there is room.
        assert!(flow.is_in(State::Cruise), "{:?}", flow.bbr.state);
    }
}

#[test]
fn only_the_draft_ends_drain_after_three_rounds() {
    // The draft's CheckDrainDone.
    for (config, end) in [(LINUX, State::Drain), (DRAFT, State::Down)] {
        let mut flow = Flow::in_state(config, State::Drain);
        flow.bbr.drain_started = flow.bbr.rounds.count;
        for _ in 0..3 {
            flow.ack(ROUND);
            assert!(flow.is_in(State::Drain));
        }
        flow.ack(ROUND);
        assert!(flow.is_in(end), "{config:?}");
    }
}
