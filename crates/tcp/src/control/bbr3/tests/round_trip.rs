//! The shortest round trip, ProbeRTT, and idle times.

use super::*;

#[test]
fn the_shortest_round_trip_counts_for_ten_seconds() {
    // `bbr_update_min_rtt`.
    let mut flow = Flow::in_state(LINUX, State::Cruise);
    let ms = Span::from_milliseconds;
    let shortest = |flow: &Flow| flow.bbr.round_trips.shortest.unwrap();
    flow.ack(Arrival { round_trip: Some(ms(39)), ..ACK });
    assert_eq!(shortest(&flow), ms(39));
    let start = flow.now;
    flow.bbr.restarts = true;
    flow.now = start + ms(5000);
    flow.ack(Arrival { round_trip: Some(ms(50)), ..ACK });
    assert!(!flow.bbr.round_trips.update(&empty_sample(start + ms(5000))));
    flow.now = start + ms(5001);
    flow.bbr.restarts = true;
    flow.ack(Arrival { round_trip: Some(ms(50)), ..ACK });
    assert_eq!(shortest(&flow), ms(39));
    flow.now = start + ms(10_000);
    flow.ack(Arrival { round_trip: Some(ms(45)), ..ACK });
    assert_eq!(shortest(&flow), ms(39));
    flow.now = start + ms(10_001);
    flow.bbr.restarts = true;
    flow.ack(ACK);
    assert_eq!(shortest(&flow), ms(45));
}

#[test]
fn probe_rtt_takes_200_ms_and_a_round() {
    // `bbr_update_min_rtt`, `bbr_probe_rtt_cwnd`: each 5 s, with half of the product in flight.
    for config in [LINUX, DRAFT] {
        let mut flow = Flow::in_state(config, State::Cruise);
        flow.bbr.bounds = Bounds { bandwidth_low: 900.0, in_flight_low: 70.0, ..Bounds::NONE };
        flow.bbr.probe.wait = Span::from_seconds(9);
        flow.now = Time::ZERO + Span::from_seconds(5);
        flow.ack(ACK);
        assert!(flow.is_in(State::Cruise));
        let window = flow.control.congestion_window;
        flow.pass(Span::from_picoseconds(1));
        flow.ack(ACK);
        assert!(flow.is_in(State::ProbeRoundTrip));
        assert_eq!(flow.bbr.rounds.next_delivered, flow.delivered, "`bbr_start_round`");
        assert_eq!(flow.control.congestion_window, 18.0, "half of 900 segments per second and 40 ms");
        flow.ack(Arrival { in_flight: 19, ..ACK });
        assert_eq!(flow.bbr.round_trip_probe.done_at, None);
        flow.ack(Arrival { in_flight: 18, ..ACK });
        assert_eq!(flow.bbr.rounds.next_delivered, flow.delivered);
        let start = flow.now;
        // A round, and no more than 200 ms.
        flow.now = start + Span::from_milliseconds(200);
        flow.ack(Arrival { in_flight: 18, ..ROUND });
        assert!(flow.is_in(State::ProbeRoundTrip) && flow.bbr.round_trip_probe.is_round_over);
        flow.pass(Span::from_picoseconds(1));
        flow.ack(Arrival { in_flight: 18, ..ACK });
        // `bbr_exit_probe_rtt`: a new wait for the probe, no lower bounds, and the window of before.
        assert!(flow.is_in(State::Cruise) && flow.bbr.bounds == Bounds::NONE);
        assert_eq!(flow.bbr.probe.started, flow.now);
        assert!(flow.control.congestion_window >= window);
        // The next one is due after 5 s.
        flow.bbr.probe.wait = Span::from_seconds(9);
        flow.pass(Span::from_seconds(5));
        flow.ack(ACK);
        assert!(flow.is_in(State::Cruise));
    }
}

#[test]
fn probe_rtt_ends_the_samples_of_a_probe_and_has_its_own_round() {
    // `bbr_update_min_rtt`: `bw_probe_samples` end a round later, and `probe_rtt_round_done` starts over.
    let mut flow = Flow::in_state(LINUX, State::Up);
    flow.bbr.round_trip_probe.is_round_over = true;
    flow.pass(Span::from_seconds(6));
    flow.ack(Arrival { in_flight: 3, ..ACK });
    assert!(flow.is_in(State::ProbeRoundTrip) && flow.bbr.probe.has_samples);
    assert!(!flow.bbr.round_trip_probe.is_round_over);
    flow.ack(Arrival { in_flight: 3, ..ROUND });
    assert!(!flow.bbr.probe.has_samples);
}

#[test]
fn probe_rtt_needs_a_round_and_returns_to_startup() {
    // `bbr_update_min_rtt`, `bbr_exit_probe_rtt`.
    let mut flow = Flow::in_state(LINUX, State::Startup);
    flow.now = Time::ZERO + Span::from_seconds(6);
    flow.ack(Arrival { in_flight: 3, ..ACK });
    assert!(flow.is_in(State::ProbeRoundTrip));
    flow.pass(Span::from_milliseconds(300));
    flow.ack(Arrival { in_flight: 3, ..ACK });
    assert!(flow.is_in(State::ProbeRoundTrip));
    flow.ack(Arrival { in_flight: 3, ..ROUND });
    assert!(flow.is_in(State::Startup));
}

#[test]
fn samples_of_probe_rtt_are_limited() {
    // `bbr_update_min_rtt`: app_limited up to what is in flight.
    let mut flow = Flow::in_state(LINUX, State::Startup);
    flow.now = Time::ZERO + Span::from_seconds(6);
    flow.ack(Arrival { in_flight: 3, ..ACK });
    let (entered, full) = (flow.delivered, flow.bbr.full_pipe);
    flow.ack(Arrival { rate: 1.0, in_flight: 3, ..ROUND });
    flow.ack(Arrival { rate: 1.0, in_flight: 3, ..ROUND });
    assert_eq!(flow.bbr.round_trip_probe.limited, Some((entered, flow.delivered + 3)));
    assert_eq!((flow.bbr.full_pipe.rounds, flow.bbr.full_pipe.bandwidth), (full.rounds, full.bandwidth));
    flow.bbr.state = State::Startup;
    flow.bbr.round_trips.restart_interval(flow.now);
    for rounds in [0, 0, 0, 0, 1] {
        flow.ack(ROUND);
        assert_eq!(flow.bbr.full_pipe.rounds, full.rounds + rounds);
    }
}

#[test]
fn an_idle_time_skips_probe_rtt_and_paces_at_the_bandwidth() {
    // `bbr_cwnd_event`, CA_EVENT_TX_START.
    let mut flow = Flow::in_state(LINUX, State::Down);
    flow.ack(ACK);
    assert!(is_near(flow.gain(), 232.0 / 256.0));
    flow.pass(Span::from_seconds(20));
    let now = flow.now;
    flow.bbr.on_sent_after_idle(now, &mut flow.control);
    assert!(is_near(flow.gain(), 1.0));
    flow.ack(Arrival { newly: 0, ..ROUND });
    assert!(flow.bbr.restarts, "nothing has arrived yet");
    flow.ack(ROUND);
    assert!(flow.bbr.state.is_probe_bandwidth());
    assert!(!flow.bbr.restarts);
    // During ProbeRTT, the idle time completes it.
    let mut flow = Flow::in_state(LINUX, State::ProbeRoundTrip);
    flow.bbr.prior_window = 77.0;
    flow.bbr.round_trip_probe.done_at = Some(flow.now);
    let now = flow.now;
    flow.bbr.on_sent_after_idle(now, &mut flow.control);
    assert!(flow.is_in(State::ProbeRoundTrip));
    flow.control.congestion_window = 4.0;
    flow.bbr.on_sent_after_idle(now + Span::from_picoseconds(1), &mut flow.control);
    assert!(flow.is_in(State::Cruise));
    assert_eq!(flow.control.congestion_window, 77.0);
    // `bbr_check_probe_rtt_done`: a larger window stays.
    let mut flow = Flow::in_state(LINUX, State::ProbeRoundTrip);
    (flow.bbr.prior_window, flow.control.congestion_window) = (5.0, 10.0);
    flow.bbr.round_trip_probe.done_at = Some(Time::ZERO);
    let now = flow.now;
    flow.bbr.on_sent_after_idle(now, &mut flow.control);
    assert_eq!(flow.control.congestion_window, 10.0);
}

#[test]
fn an_idle_time_begins_an_epoch_of_aggregation() {
    // `bbr_cwnd_event`: the 25 segments before do not count with the ten after it.
    let mut flow = Flow::in_state(LINUX, State::Cruise);
    flow.bbr.aggregation = Aggregation::default();
    flow.bbr.aggregation.restart(flow.now);
    flow.ack(Arrival { newly: 25, ..ACK });
    flow.pass(Span::from_milliseconds(5));
    let now = flow.now;
    flow.bbr.on_sent_after_idle(now, &mut flow.control);
    flow.ack(Arrival { newly: 10, ..ACK });
    assert_eq!(flow.bbr.aggregation.maximum(), 25.0);
}

#[test]
fn an_equal_round_trip_renews_the_shortest_and_a_delayed_ack_does_not_replace_it() {
    // `bbr_update_min_rtt`.
    let at = |seconds| Time::ZERO + Span::from_seconds(seconds);
    let sample = |now, milliseconds, may_be_delayed| Sample {
        round_trip: Some(Span::from_milliseconds(milliseconds)),
        may_be_delayed,
        ..empty_sample(now)
    };
    // Only a shorter one postpones ProbeRTT.
    for (milliseconds, is_due) in [(40, true), (39, false)] {
        let mut filter = RoundTripFilter::default();
        filter.begin(Some(ROUND_TRIP), Time::ZERO);
        filter.update(&sample(at(3), milliseconds, false));
        assert_eq!(filter.update(&sample(at(6), 50, false)), is_due);
    }
    let mut filter = RoundTripFilter::default();
    filter.begin(Some(ROUND_TRIP), Time::ZERO);
    assert!(filter.update(&sample(at(6), 50, true)));
    assert!(filter.update(&sample(at(6), 40, false)));
    assert!(!filter.update(&sample(at(7), 50, false)));
    // The equal one at 6 s counts until 16 s.
    assert!(filter.update(&sample(at(12), 50, false)));
    assert_eq!(filter.shortest, Some(ROUND_TRIP));
    filter.update(&sample(at(17), 50, false));
    assert_eq!(filter.shortest, Some(Span::from_milliseconds(50)));
}
