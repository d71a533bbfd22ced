//! The rules of BBR version 3. Comments cite the functions of google/bbr's `tcp_bbr.c` and the draft's.

use alloc::string::ToString;

use super::*;
use crate::{Delivery, RoundTrips};

mod bounds;
mod cycle;
mod model;
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

/// A sample without content.
fn empty_sample(now: Time) -> Sample {
    Sample::new(&empty_ack(now), &Delivery::default(), None)
}

fn empty_ack(now: Time) -> AckSample<'static> {
    AckSample {
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
    }
}

#[test]
fn parameters_have_bounds() {
    let valid = [LINUX, DRAFT, ECN, Bbr3Config::default(), Bbr3Config { least_window_segments: 5, ..LINUX }];
    assert!(valid.iter().all(|config| config.validate().is_ok()));
    let small = Bbr3Config { least_window_segments: 3, ..LINUX }.validate().unwrap_err();
    assert_eq!(small.to_string(), "`congestion_control.bbr3.least_window_segments` must be at least 4");
    assert!(Bbr3Config { ecn_low: true, ..DRAFT }.validate().is_err());
}
