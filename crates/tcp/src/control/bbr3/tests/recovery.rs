//! Recoveries, timeouts, and spurious losses.

use super::*;

#[test]
fn the_window_returns_after_a_timeout() {
    // `bbr_set_state`, `bbr_exit_loss_recovery`, `bbr_save_cwnd`.
    let mut flow = Flow::in_state(LINUX, State::Up);
    flow.bbr.full_pipe.rounds = 2;
    flow.time_out();
    assert_eq!((flow.bbr.prior_window, flow.bbr.full_pipe.rounds), (80.0, 0));
    assert_eq!(flow.bbr.bounds.in_flight_low, f64::INFINITY);
    flow.ack(Arrival { phase: Phase::Timeout, rate: 100.0, ..ACK });
    assert_eq!(flow.control.congestion_window, 4.0);
    // A second timeout keeps the good window.
    flow.time_out();
    assert_eq!(flow.bbr.prior_window, 80.0);
    flow.ack(Arrival { phase: Phase::Timeout, rate: 100.0, ..ACK });
    flow.ack(Arrival { rate: 100.0, ..ACK });
    assert_eq!(flow.control.congestion_window, 81.0);
    // Once, and also if the first ACK leaves nothing missing. A larger window stays.
    flow.control.congestion_window = 20.0;
    flow.ack(Arrival { rate: 100.0, ..ACK });
    assert_eq!(flow.control.congestion_window, 21.0);
    for (window, expected) in [(4.0, 22.0), (30.0, 31.0)] {
        flow.control.congestion_window = 21.0;
        flow.time_out();
        flow.control.congestion_window = window;
        flow.ack(Arrival { rate: 100.0, ..ACK });
        assert_eq!(flow.control.congestion_window, expected);
    }
}

#[test]
fn only_the_draft_restores_the_window_after_every_recovery() {
    // The draft's RestoreCwnd.
    for (config, expected) in [(LINUX, [31.0, 32.0, 33.0, 34.0]), (DRAFT, [31.0, 32.0, 81.0, 82.0])] {
        let mut flow = Flow::in_state(config, State::Cruise);
        flow.enter_recovery();
        flow.control.congestion_window = 30.0;
        let phases = [Phase::Recovery, Phase::Recovery, Phase::Open, Phase::Open];
        let windows = phases.map(|phase| {
            flow.ack(Arrival { phase, ..ACK });
            flow.control.congestion_window.min(82.0)
        });
        assert_eq!(windows, expected, "{config:?}");
        // Outside of recoveries there is nothing to restore.
        flow.control.congestion_window = 30.0;
        flow.ack(ACK);
        assert_eq!(flow.control.congestion_window, 31.0);
    }
}

#[test]
fn the_larger_window_is_saved_in_recoveries_and_in_probe_rtt() {
    // `bbr_save_cwnd`.
    for (state, phase, prior, expected) in [
        (State::Cruise, Phase::Open, 90.0, 80.0),
        (State::Cruise, Phase::Recovery, 90.0, 90.0),
        (State::Cruise, Phase::Recovery, 70.0, 80.0),
        (State::ProbeRoundTrip, Phase::Open, 90.0, 90.0),
    ] {
        let mut flow = Flow::in_state(LINUX, state);
        (flow.bbr.previous_phase, flow.bbr.prior_window) = (phase, prior);
        flow.enter_recovery();
        assert_eq!(flow.bbr.prior_window, expected, "{state:?} {phase:?}");
    }
}

#[test]
fn a_timeout_outside_of_probes_bounds_the_data_by_the_window_before() {
    // `bbr_set_state`, TCP_CA_Loss. The losses are evaluated with that window (`tcp_timeout_mark_lost` comes first).
    let mut flow = Flow::in_state(LINUX, State::Cruise);
    flow.time_out();
    flow.lose(40, 1);
    flow.ack(Arrival { phase: Phase::Timeout, rate: 100.0, ..ACK });
    assert_eq!(flow.bbr.bounds, Bounds { in_flight_low: 80.0, ..Bounds::NONE });
    flow.ack(Arrival { phase: Phase::Timeout, rate: 100.0, ..ROUND });
    assert_eq!(flow.bbr.bounds.in_flight_low, 56.0);
    let mut flow = Flow::in_state(LINUX, State::Up);
    flow.time_out();
    flow.lose(10, 3);
    flow.ack(Arrival { phase: Phase::Timeout, rate: 100.0, sent_in_flight: 1, ..ACK });
    assert!(!flow.is_in(State::Up));
    // 180/256 of the product and two segments, as the window was larger.
    assert_eq!(flow.bbr.bounds, Bounds { in_flight_low: 80.0, in_flight_high: 29.0, ..Bounds::NONE });
    assert_eq!(flow.control.congestion_window, 4.0);
    // The larger one of the window and the last good one, unless there is a bound.
    for (state, window, prior, bound, expected) in [
        (State::ProbeRoundTrip, 4.0, 70.0, f64::INFINITY, 70.0),
        (State::Cruise, 80.0, 70.0, f64::INFINITY, 80.0),
        (State::Cruise, 80.0, 70.0, 20.0, 20.0),
    ] {
        let mut flow = Flow::in_state(LINUX, state);
        (flow.control.congestion_window, flow.bbr.prior_window) = (window, prior);
        flow.bbr.bounds.in_flight_low = bound;
        let congestion = CongestionSample { keeps_threshold: true, ..flow.congestion() };
        flow.bbr.on_timeout(&congestion, &mut flow.control);
        flow.control.congestion_window = 1.0;
        flow.ack(Arrival { phase: Phase::Timeout, rate: 100.0, ..ACK });
        assert_eq!(flow.bbr.bounds.in_flight_low, expected, "{state:?} {bound}");
    }
}

#[test]
fn a_recovery_keeps_the_window() {
    // `bbr_ssthresh` sets nothing; the model responds.
    let mut flow = Flow::in_state(LINUX, State::Cruise);
    let before = flow.control;
    flow.enter_recovery();
    let congestion = flow.congestion();
    flow.bbr.on_ecn(&congestion, &mut flow.control);
    assert_eq!(flow.control, before);
}

#[test]
fn a_spurious_loss_restores_the_bounds() {
    // `bbr_undo_cwnd`.
    let mut flow = Flow::in_state(LINUX, State::Cruise);
    flow.bbr.bounds = Bounds { in_flight_high: 60.0, ..Bounds::NONE };
    flow.enter_recovery();
    flow.bbr.bounds = Bounds { bandwidth_low: 500.0, in_flight_low: 20.0, in_flight_high: 70.0 };
    (flow.bbr.full_pipe.rounds, flow.bbr.loss_round.has_loss) = (2, true);
    flow.lose(40, 1);
    flow.bbr.undo();
    assert_eq!(flow.bbr.bounds, Bounds { in_flight_high: 70.0, ..Bounds::NONE });
    assert!(!flow.bbr.loss_round.has_loss && flow.bbr.full_pipe.rounds == 0 && flow.bbr.losses.is_empty());
    assert!(flow.is_in(State::Cruise));
    // The higher bounds count, and an undone timeout sets none.
    flow.bbr.bounds = Bounds { bandwidth_low: 300.0, in_flight_low: 10.0, ..Bounds::NONE };
    flow.enter_recovery();
    let later = Bounds { bandwidth_low: 500.0, in_flight_low: 20.0, in_flight_high: 70.0 };
    flow.bbr.bounds = later;
    flow.bbr.undo();
    assert_eq!(flow.bbr.bounds, Bounds { in_flight_high: f64::INFINITY, ..later });
    let mut flow = Flow::in_state(LINUX, State::Cruise);
    flow.time_out();
    flow.bbr.undo();
    flow.ack(ACK);
    assert_eq!(flow.bbr.bounds, Bounds::NONE);
}

#[test]
fn only_the_draft_returns_to_the_state_that_a_spurious_loss_has_ended() {
    // The draft's HandleSpuriousLossDetection.
    for (config, end) in [(LINUX, State::Down), (DRAFT, State::Refill)] {
        let mut flow = Flow::in_state(config, State::Up);
        flow.enter_recovery();
        flow.lose(40, 2);
        flow.ack(Arrival { sent_in_flight: 1, phase: Phase::Recovery, ..ACK });
        assert!(flow.is_in(State::Down));
        flow.bbr.undo();
        assert!(flow.is_in(end), "{config:?}");
        assert_eq!((flow.bbr.bounds, flow.bbr.probe.rounds), (Bounds::NONE, 0));
    }
    // Not from ProbeRTT, nor from the next probe.
    for state in [State::ProbeRoundTrip, State::Up] {
        let mut flow = Flow::in_state(DRAFT, State::Up);
        flow.enter_recovery();
        flow.lose(40, 2);
        flow.ack(Arrival { sent_in_flight: 1, phase: Phase::Recovery, ..ACK });
        flow.bbr.state = state;
        flow.bbr.undo();
        assert!(flow.is_in(state));
    }
    for (config, end, is_full) in [(LINUX, State::Drain, true), (DRAFT, State::Startup, false)] {
        let mut flow = Flow::in_state(config, State::Startup);
        flow.enter_recovery();
        flow.bbr.loss_round.loss_events = 6;
        flow.ack(Arrival { lost: 4, newly_lost: 4, sent_in_flight: 40, phase: Phase::Recovery, ..ROUND });
        assert!(flow.is_in(State::Drain));
        flow.bbr.undo();
        assert!(flow.is_in(end) && flow.bbr.full_pipe.is_reached == is_full, "{config:?}");
    }
    // A state that something else has ended stays so.
    let mut flow = Flow::in_state(DRAFT, State::Cruise);
    flow.enter_recovery();
    flow.bbr.undo();
    assert!(flow.is_in(State::Cruise));
}

#[test]
fn a_timeout_that_keeps_the_threshold_leaves_the_saved_state() {
    // `tcp_enter_loss` calls `bbr_ssthresh` only for the first timeout of a window of data.
    let mut flow = Flow::in_state(LINUX, State::Cruise);
    flow.enter_recovery();
    flow.bbr.bounds.in_flight_low = 20.0;
    let congestion = CongestionSample { keeps_threshold: true, ..flow.congestion() };
    flow.bbr.on_timeout(&congestion, &mut flow.control);
    flow.bbr.undo();
    assert_eq!(flow.bbr.bounds, Bounds::NONE);
}
