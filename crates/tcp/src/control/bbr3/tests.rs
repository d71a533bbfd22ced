//! The rules of BBR version 3. Comments cite the functions of google/bbr's `tcp_bbr.c` and the draft's.

use alloc::string::ToString;

use super::*;
use crate::{Delivery, RoundTrips};

mod bounds;
mod cycle;
mod recovery;
mod round_trip;
mod sane;
mod startup;

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
        let setup = Setup { payload_bytes: 1400, header_bytes: 0, ..Setup::default() };
        assert_eq!((setup.payload_bytes, setup.initial_window_segments), (1400, 10));
        let bbr = Bbr3::new(&config, &setup);
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
        self.now += span;
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
