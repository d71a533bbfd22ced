//! The rules of BBR version 3. Comments cite the functions of google/bbr's `tcp_bbr.c` and the draft's.

use alloc::string::ToString;

use proptest::prelude::*;

use super::*;
use crate::{Bytes, Delivery, RoundTrips};

/// The path of these tests: 1000 segments per second and 40 ms, so 40 segments.
const RATE: f64 = 1000.0;
const ROUND_TRIP: Span = Span::from_milliseconds(40);
const PRODUCT: f64 = 40.0;
/// Segments in flight that no state drains to.
const MANY: u64 = 200;

const DRAFT: Bbr3Config =
    Bbr3Config { rules: Bbr3Rules::Draft, ecn_low: false, least_window_segments: LEAST_WINDOW_SEGMENTS };
const LINUX: Bbr3Config = Bbr3Config { rules: Bbr3Rules::Linux, ..DRAFT };
const ECN: Bbr3Config = Bbr3Config { ecn_low: true, ..LINUX };

/// An ACK of one segment.
#[derive(Clone, Copy)]
struct Arrival {
    newly: u64,
    rate: f64,
    starts_round: bool,
    in_flight: u64,
    sent_in_flight: u64,
    /// Segments lost since the segment was sent, and those found at this ACK.
    lost: u64,
    newly_lost: u64,
    /// Segments marked since then, and whether the ACK echoes a mark.
    marked: u64,
    echoes_mark: bool,
    is_limited: bool,
    round_trip: Option<Span>,
    phase: Phase,
}

/// An ACK within a round.
const ACK: Arrival = Arrival {
    newly: 1,
    rate: RATE,
    starts_round: false,
    in_flight: MANY,
    sent_in_flight: 40,
    lost: 0,
    newly_lost: 0,
    marked: 0,
    echoes_mark: false,
    is_limited: false,
    round_trip: None,
    phase: Phase::Open,
};
/// An ACK that starts a round.
const ROUND: Arrival = Arrival { starts_round: true, ..ACK };

struct Flow {
    bbr: Bbr3,
    control: Control,
    now: Time,
    delivered: u64,
    lost: u64,
    marked: u64,
}

impl Flow {
    /// A flow before its first ACK, with segments of 1400 bytes.
    fn new(config: Bbr3Config) -> Self {
        let tcp = TcpConfig { segment: Bytes(1400), header: Bytes(0), ..TcpConfig::default() };
        assert_eq!((tcp.payload_bytes(), tcp.initial_window_segments), (1400, 10));
        let bbr = Bbr3::new(&config, &tcp);
        Self { bbr, control: Control::new(10.0, f64::INFINITY), now: Time::ZERO, delivered: 0, lost: 0, marked: 0 }
    }

    /// A flow in this state that has measured the path.
    fn in_state(config: Bbr3Config, state: State) -> Self {
        let mut flow = Self::new(config);
        flow.control.congestion_window = 2.0 * PRODUCT;
        flow.ack(Arrival { round_trip: Some(ROUND_TRIP), ..ROUND });
        flow.pass(Span::from_milliseconds(1));
        flow.bbr.full_pipe.is_reached = state != State::Startup;
        match state {
            State::Down | State::Cruise => flow.bbr.start_down(flow.now),
            State::Refill | State::Up => flow.bbr.probe.has_samples = state == State::Up,
            _ => {}
        }
        flow.bbr.state = state;
        // No random number of rounds, and no end of the probe's samples.
        flow.bbr.rounds.since_probe = 0;
        flow.bbr.probe.ack_phase = AckPhase::Initial;
        flow.bbr.loss_round.reset();
        flow.control.congestion_window = 2.0 * PRODUCT;
        flow
    }

    fn pass(&mut self, span: Span) {
        self.now = self.now + span;
    }

    fn ack(&mut self, arrival: Arrival) {
        let delivered_before =
            if arrival.starts_round { self.delivered } else { self.bbr.rounds.next_delivered.saturating_sub(1) };
        self.delivered += arrival.newly;
        self.lost += arrival.newly_lost;
        self.marked += arrival.marked;
        let interval = (self.delivered - delivered_before) as f64 / arrival.rate;
        let segment = DeliveredSegment {
            delivered_before,
            lost_before: self.lost - arrival.lost.min(self.lost),
            marked_before: self.marked - arrival.marked,
            in_flight: arrival.sent_in_flight,
            is_application_limited: arrival.is_limited,
            interval: Some(Span::from_seconds_f64(interval)),
        };
        let delivery = Delivery {
            delivered: self.delivered,
            lost: self.lost,
            marked: self.marked,
            newly_delivered: arrival.newly,
            newly_lost: arrival.newly_lost,
            in_flight_before: arrival.in_flight,
            in_flight: arrival.in_flight,
            segment: Some(segment),
            round_trip: arrival.round_trip,
            may_be_delayed: false,
            next_departure: self.now,
        };
        let round_trips =
            RoundTrips { smoothed: arrival.round_trip, shortest: arrival.round_trip, ..RoundTrips::default() };
        let ack = AckSample {
            now: self.now,
            acked_segments: arrival.newly as f64,
            delivered_segments: arrival.newly as f64,
            acknowledged: 1,
            next: 1,
            is_window_used: true,
            echoes_mark: arrival.echoes_mark,
            marked_segments: 0.0,
            phase: arrival.phase,
            round_trips,
            delivery: Some(&delivery),
        };
        self.bbr.on_ack(&ack, &mut self.control);
    }

    /// A segment sent with so many in flight is lost; `lost` were lost since then, with it.
    fn lose(&mut self, in_flight: u64, lost: u64) {
        self.lost += 1;
        let lost_before = self.lost - lost.min(self.lost);
        let segment = DeliveredSegment { in_flight, lost_before, ..DeliveredSegment::default() };
        self.bbr.on_lost_segment(&segment, lost_before + lost, &mut self.control);
    }

    fn congestion(&self) -> CongestionSample {
        CongestionSample { now: self.now, used_segments: 0.0, acknowledged: 1, next: 1, keeps_threshold: false }
    }

    fn enter_recovery(&mut self) {
        let congestion = self.congestion();
        self.bbr.on_loss(&congestion, &mut self.control);
    }

    /// A timeout, after which the transport sets the window.
    fn time_out(&mut self) {
        let congestion = self.congestion();
        self.bbr.on_timeout(&congestion, &mut self.control);
        self.control.congestion_window = 1.0;
    }

    fn rate(&self) -> f64 {
        self.control.pacing_rate.unwrap().bytes_per_second()
    }

    /// The pacing gain in force.
    fn gain(&self) -> f64 {
        self.rate() / (self.bbr.bandwidth() * 1400.0 * 0.99)
    }

    fn is_in(&self, state: State) -> bool {
        self.bbr.state == state
    }
}

fn is_near(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= 1e-6 * expected.abs()
}

#[test]
fn parameters_have_bounds() {
    let valid = [LINUX, DRAFT, ECN, Bbr3Config::default(), Bbr3Config { least_window_segments: 5, ..LINUX }];
    assert!(valid.iter().all(|config| config.validate().is_ok()));
    let small = Bbr3Config { least_window_segments: 3, ..LINUX }.validate().unwrap_err();
    assert_eq!(small.to_string(), "`congestion_control.bbr3.least_window_segments` must be at least 4");
    assert!(Bbr3Config { ecn_low: true, ..DRAFT }.validate().is_err());
}

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
    flow.ack(Arrival { newly: 0, round_trip: Some(Span::from_milliseconds(100)), ..ACK });
    assert!((flow.rate() - 384_398.0).abs() < 1.0, "{}", flow.rate());
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
fn the_pipe_is_full_after_three_rounds_below_a_quarter_of_growth() {
    // `bbr_check_full_bw_reached`.
    let mut flow = Flow::in_state(LINUX, State::Startup);
    flow.ack(Arrival { rate: 1.25 * RATE, ..ROUND });
    for round in 1..=3 {
        assert!(flow.is_in(State::Startup) && !flow.bbr.full_pipe.is_reached);
        // Limited samples and ACKs within the round do not count.
        flow.ack(Arrival { is_limited: true, rate: RATE, ..ROUND });
        flow.ack(Arrival { rate: 1.2 * RATE, ..ACK });
        assert_eq!(flow.bbr.full_pipe.rounds, round - 1);
        flow.ack(Arrival { rate: 1.5 * RATE, ..ROUND });
    }
    assert!(flow.is_in(State::Drain) && flow.bbr.full_pipe.is_reached && flow.bbr.full_pipe.is_now);
    // The threshold is for display: the product of 1500 segments per second and 40 ms.
    assert_eq!(flow.control.slow_start_threshold, 60.0);
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

#[test]
fn down_ends_with_room_in_the_bottleneck() {
    // `bbr_check_time_to_cruise`: at most the product, and below the upper bound by 38/256 or 15 %.
    for (config, high, most) in [(LINUX, f64::INFINITY, 40), (LINUX, 40.0, 35), (DRAFT, 40.0, 34)] {
        let mut flow = Flow::in_state(config, State::Down);
        flow.bbr.bounds.in_flight_high = high;
        flow.ack(Arrival { in_flight: most + 1, sent_in_flight: 1, ..ACK });
        assert!(flow.is_in(State::Down));
        flow.ack(Arrival { in_flight: most, sent_in_flight: 1, ..ACK });
        assert!(flow.is_in(State::Cruise), "{config:?} {high}");
    }
}

#[test]
fn departures_already_scheduled_are_not_in_the_network() {
    // `bbr_packets_in_net_at_edt`: 3 ms at 1000 segments per second; a burst more while the gain is above 1.
    let mut flow = Flow::in_state(LINUX, State::Cruise);
    flow.ack(ACK);
    let sample = Sample::new(
        &AckSample {
            now: flow.now,
            acked_segments: 0.0,
            delivered_segments: 0.0,
            acknowledged: 1,
            next: 1,
            is_window_used: false,
            echoes_mark: false,
            marked_segments: 0.0,
            phase: Phase::Open,
            round_trips: RoundTrips::default(),
            delivery: None,
        },
        &Delivery { next_departure: flow.now + Span::from_milliseconds(3), ..Delivery::default() },
        None,
    );
    assert_eq!(flow.bbr.in_network(10.0, &sample), 7.0);
    assert_eq!(flow.bbr.in_network(1.0, &sample), 0.0);
    flow.bbr.pacing_gain = 1.25;
    assert_eq!(flow.bbr.in_network(10.0, &sample), 9.0);
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
}

#[test]
fn up_ends_on_a_plateau_unless_the_bound_limits_it() {
    // `bbr_update_cycle_phase`, condition 2.
    let mut flow = Flow::in_state(LINUX, State::Refill);
    flow.ack(ROUND);
    for _ in 0..3 {
        assert!(flow.is_in(State::Up));
        flow.ack(ROUND);
    }
    assert!(flow.is_in(State::Down) && !flow.bbr.probe.was_risky);
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
    flow.ack(Arrival { sent_in_flight: 1, in_flight: 50, ..ACK });
    assert!(flow.is_in(State::Up));
    flow.ack(Arrival { sent_in_flight: 1, in_flight: 60, ..ACK });
    assert!(flow.is_in(State::Down) && flow.bbr.probe.was_risky && !flow.bbr.probe.was_too_high);
    // Nothing is too high in the round after it: the pipe is refilled at once.
    flow.ack(Arrival { sent_in_flight: 1, ..ROUND });
    assert!(flow.is_in(State::Refill) && !flow.bbr.probe.was_risky && !flow.bbr.probe.has_samples);
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
fn the_data_in_flight_at_a_loss_is_within_the_lost_unit() {
    // `bbr_inflight_hi_from_lost_skb`; s2n's vector.
    assert_eq!(libm::floor(bounds::in_flight_at_loss(1200.0, 3000.0, 1210.0, 0.02)), 1826.0);
    // Losses before it have crossed the threshold already.
    assert_eq!(bounds::in_flight_at_loss(1.0, 100.0, 4.0, 0.02), 99.0);
    assert_eq!(bounds::in_flight_at_loss(1.0, 0.0, 0.0, 0.02), 0.0);
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
    for (window, expected) in [(80.0, 29.0), (20.0, 14.0)] {
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
    assert_eq!(flow.bbr.round_trips.update(&limited_sample(start + ms(5000))), false);
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

/// A sample without content.
fn limited_sample(now: Time) -> Sample {
    let ack = AckSample {
        now,
        acked_segments: 0.0,
        delivered_segments: 0.0,
        acknowledged: 1,
        next: 1,
        is_window_used: false,
        echoes_mark: false,
        marked_segments: 0.0,
        phase: Phase::Open,
        round_trips: RoundTrips::default(),
        delivery: None,
    };
    Sample::new(&ack, &Delivery::default(), None)
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
        assert_eq!(flow.control.congestion_window, 18.0, "half of 900 segments per second and 40 ms");
        flow.ack(Arrival { in_flight: 19, ..ACK });
        assert_eq!(flow.bbr.round_trip_probe.done_at, None);
        flow.ack(Arrival { in_flight: 18, ..ACK });
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
    flow.ack(ACK);
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
}

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
    flow.ack(Arrival { phase: Phase::Timeout, rate: 100.0, ..ACK });
    assert!(!flow.is_in(State::Up));
    assert_eq!(flow.bbr.bounds, Bounds { in_flight_low: 80.0, in_flight_high: 40.0, ..Bounds::NONE });
    assert_eq!(flow.control.congestion_window, 4.0);
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
        assert_eq!(flow.bbr.bounds, Bounds::NONE);
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
}

#[test]
fn the_share_of_marks_is_smoothed_and_cuts_the_window() {
    // `bbr_update_ecn_alpha`: 1/16 of each round; `bbr_ecn_lower_bounds`: 85/256 of alpha, without a floor.
    let mut flow = marked_flow(State::Cruise);
    flow.ack(Arrival { newly: 4, marked: 1, ..ROUND });
    assert_eq!(flow.bbr.ecn.alpha, 15.0 / 16.0 + 1.0 / 64.0);
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

#[derive(Clone, Copy, Debug)]
enum Event {
    Ack { sample: Delivery, gap_ps: u64, phase: Phase, echoes_mark: bool },
    Lost(DeliveredSegment, u64),
    Loss,
    Timeout,
    Undo,
    Restart,
}

/// Small numbers, and all.
fn count() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0_u64..300, 1 => any::<u64>()]
}

fn span() -> impl Strategy<Value = Span> {
    let picoseconds = prop_oneof![Just(0), 1_u64..100_000_000_000, any::<u64>()];
    picoseconds.prop_map(Span::from_picoseconds)
}

prop_compose! {
    fn segment()(
        counts in (count(), count(), count(), count()),
        is_application_limited in any::<bool>(),
        interval in proptest::option::weighted(0.9, span()),
    ) -> DeliveredSegment {
        let (delivered_before, lost_before, marked_before, in_flight) = counts;
        DeliveredSegment { delivered_before, lost_before, marked_before, in_flight, is_application_limited, interval }
    }
}

prop_compose! {
    fn delivery()(
        totals in (count(), count(), count()),
        news in (count(), count()),
        flights in (count(), count()),
        segment in proptest::option::weighted(0.9, segment()),
        round_trip in proptest::option::of(span()),
        may_be_delayed in any::<bool>(),
        departure in span(),
    ) -> Delivery {
        Delivery {
            delivered: totals.0,
            lost: totals.1,
            marked: totals.2,
            newly_delivered: news.0,
            newly_lost: news.1,
            in_flight_before: flights.0,
            in_flight: flights.1,
            segment,
            round_trip,
            may_be_delayed,
            next_departure: Time::ZERO.saturating_add(departure),
        }
    }
}

fn event() -> impl Strategy<Value = Event> {
    let phase = prop_oneof![Just(Phase::Open), Just(Phase::Recovery), Just(Phase::Timeout)];
    let gap = prop_oneof![0_u64..50_000_000_000, 0..u64::MAX / 100];
    let ack = (delivery(), gap, phase, any::<bool>());
    prop_oneof![
        20 => ack.prop_map(|(sample, gap_ps, phase, echoes_mark)| Event::Ack { sample, gap_ps, phase, echoes_mark }),
        5 => (segment(), count()).prop_map(|(segment, lost)| Event::Lost(segment, lost)),
        1 => Just(Event::Loss),
        1 => Just(Event::Timeout),
        1 => Just(Event::Undo),
        1 => Just(Event::Restart),
    ]
}

proptest! {
    /// No sequence of samples panics, or makes the window other than a number from the least window on, up to which it
    /// grows after a timeout.
    #[test]
    fn window_and_rate_stay_sane(
        events in proptest::collection::vec(event(), 1..300),
        smoothed in proptest::option::of(span()),
    ) {
        for config in [LINUX, DRAFT, ECN] {
            let mut flow = Flow::new(config);
            let mut has_arrivals = true;
            for &event in &events {
                let congestion = flow.congestion();
                match event {
                    Event::Ack { sample, gap_ps, phase, echoes_mark } => {
                        flow.now = flow.now.saturating_add(Span::from_picoseconds(gap_ps));
                        let ack = AckSample {
                            now: flow.now,
                            acked_segments: 1.0, delivered_segments: 1.0,
                            acknowledged: 1,
                            next: 1,
                            is_window_used: true,
                            echoes_mark,
                            marked_segments: 0.0,
                            phase,
                            round_trips: RoundTrips { smoothed, shortest: smoothed, ..RoundTrips::default() },
                            delivery: Some(&sample),
                        };
                        flow.bbr.on_ack(&ack, &mut flow.control);
                        has_arrivals |= sample.newly_delivered > 0;
                        prop_assert!(flow.control.pacing_rate.is_some());
                    }
                    Event::Lost(segment, lost) => flow.bbr.on_lost_segment(&segment, lost, &mut flow.control),
                    Event::Loss => flow.enter_recovery(),
                    Event::Timeout => {
                        flow.time_out();
                        has_arrivals = false;
                    }
                    Event::Undo => flow.bbr.undo(),
                    Event::Restart => flow.bbr.on_sent_after_idle(congestion.now, &mut flow.control),
                }
                let window = flow.control.congestion_window;
                let least = if has_arrivals { 4.0 } else { 1.0 };
                prop_assert!(window.is_finite() && window >= least, "{window} {event:?}");
                let rates = [flow.bbr.pacing_rate, flow.bbr.bandwidth.maximum(), flow.bbr.target_in_flight()];
                prop_assert!(rates.iter().all(|rate| rate.is_finite() && *rate >= 0.0), "{rates:?}");
                let Bounds { bandwidth_low, in_flight_low, in_flight_high } = flow.bbr.bounds;
                prop_assert!(bandwidth_low >= 0.0 && in_flight_low >= 0.0 && in_flight_high >= 0.0);
            }
        }
    }
}
