//! BBR version 1, each rule by hand. The names of functions are those of Linux's `tcp_bbr.c`.

use super::*;
use crate::{DeliveredSegment, RoundTrips};

mod model;
mod policer;
mod window;

const PAYLOAD: u32 = 1448;
/// The path of most tests: 1000 segments per second and 40 ms are a product of 40 segments.
const BANDWIDTH: f64 = 1000.0;
const ROUND_TRIP: Span = Span::from_milliseconds(40);
/// In flight at gain 1 and at 1.25: the product, three bursts of two segments, and two more in the phase of 1.25.
const FULL: u64 = 46;
const PROBED: u64 = 58;

const fn ms(milliseconds: u64) -> Span {
    Span::from_milliseconds(milliseconds)
}

/// The content of an ACK.
#[derive(Clone, Copy)]
struct News {
    after: Span,
    delivered: u64,
    lost: u64,
    /// The delivery rate; none without a valid sample.
    rate: Option<f64>,
    /// The segment was sent after the start of the current round.
    ends_round: bool,
    is_limited: bool,
    in_flight_before: u64,
    in_flight: u64,
    round_trip: Option<Span>,
    may_be_delayed: bool,
    wait: Span,
    phase: Phase,
}

/// An ACK of a segment at the bandwidth, which ends no round, with a longer round trip than the shortest one.
const ACK: News = News {
    after: Span::ZERO,
    delivered: 1,
    lost: 0,
    rate: Some(BANDWIDTH),
    ends_round: false,
    is_limited: false,
    in_flight_before: 50,
    in_flight: 50,
    round_trip: Some(Span::from_milliseconds(50)),
    may_be_delayed: false,
    wait: Span::ZERO,
    phase: Phase::Open,
};
const ROUND: News = News { ends_round: true, ..ACK };
/// Without a rate, nothing adds to the target of the window.
const UNRATED: News = News { rate: None, ..ACK };

struct Connection {
    bbr: Bbr,
    control: Control,
    now: Time,
    delivered: u64,
    lost: u64,
    smoothed: Option<Span>,
    /// The shortest round trip of the transport, which the handshake has measured.
    shortest: Option<Span>,
}

impl Connection {
    /// Before the first ACK.
    fn new() -> Self {
        Self {
            bbr: Bbr::new(BbrConfig::default(), PAYLOAD),
            control: Control::new(10.0, f64::INFINITY),
            now: Time::ZERO + Span::from_seconds(1),
            delivered: 0,
            lost: 0,
            smoothed: Some(ROUND_TRIP),
            shortest: None,
        }
    }

    /// In this state and phase, with a full pipe: the path is known since now.
    fn steady(state: State, phase: usize) -> Self {
        let mut connection = Self::new();
        connection.ack(News { round_trip: Some(ROUND_TRIP), delivered: 100, in_flight: 1000, ..ROUND });
        let bbr = &mut connection.bbr;
        (bbr.state, bbr.phase, bbr.is_pipe_full) = (state, phase, true);
        bbr.full_bandwidth = BANDWIDTH;
        (bbr.phase_start, bbr.aggregation) = (connection.now, Aggregation::default());
        bbr.update_gains();
        let gain = bbr.pacing_gain;
        bbr.set_pacing_rate(gain, None, &mut connection.control);
        connection.control.congestion_window = 86.0;
        connection
    }

    fn ack(&mut self, news: News) {
        self.now += news.after;
        let delivered_before = if news.ends_round { self.delivered } else { self.bbr.round_end.saturating_sub(1) };
        self.delivered += news.delivered;
        self.lost += news.lost;
        let between = self.delivered.saturating_sub(delivered_before) as f64;
        let segment = (news.delivered > 0).then(|| DeliveredSegment {
            delivered_before,
            is_application_limited: news.is_limited,
            interval: news.rate.map(|rate| Span::from_seconds_f64(between / rate)),
            ..DeliveredSegment::default()
        });
        let delivery = Delivery {
            delivered: self.delivered,
            lost: self.lost,
            marked: 0,
            newly_delivered: news.delivered,
            newly_lost: news.lost,
            in_flight_before: news.in_flight_before,
            in_flight: news.in_flight,
            segment,
            round_trip: news.round_trip,
            may_be_delayed: news.may_be_delayed,
            next_departure: self.now + news.wait,
        };
        let ack = AckSample {
            now: self.now,
            acked_segments: news.delivered as f64,
            delivered_segments: news.delivered as f64,
            acknowledged: 1,
            next: 1,
            is_window_used: true,
            echoes_mark: false,
            marked_segments: 0.0,
            phase: news.phase,
            round_trips: RoundTrips { smoothed: self.smoothed, shortest: self.shortest, ..RoundTrips::default() },
            delivery: Some(&delivery),
        };
        self.bbr.on_ack(&ack, &mut self.control);
    }

    fn congestion(&self) -> CongestionSample {
        CongestionSample { now: self.now, used_segments: 1.0, acknowledged: 1, next: 1, keeps_threshold: false }
    }

    fn lose(&mut self) {
        self.bbr.on_loss(&self.congestion(), &mut self.control);
    }

    /// The transport sets the window after a timeout to what is in flight and a segment.
    fn time_out(&mut self, in_flight: f64) {
        self.bbr.on_timeout(&self.congestion(), &mut self.control);
        self.control.congestion_window = in_flight + 1.0;
    }

    fn window(&self) -> f64 {
        self.control.congestion_window
    }

    /// The pacing rate by the bandwidth of the path.
    fn gain(&self) -> f64 {
        let bits = self.control.pacing_rate.unwrap().bits_per_second() as f64;
        bits / (8.0 * f64::from(PAYLOAD) * BANDWIDTH * PACING_SHARE)
    }
}

fn near(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() < 1e-3
}
