//! Laws of every controller that owns recoveries, and of those that answer marks themselves.

use super::*;
use crate::{
    AckSample, CongestionSample, Control, DeliveredSegment, Delivery, Phase, PragueConfig, PragueForm, RoundTrips,
    Span, Time, TimeoutResponse,
};
use proptest::prelude::*;

/// Segments that every window has outside of recoveries.
const LEAST_WINDOW: f64 = 4.0;
/// The window of a receiver, by which the transport bounds the congestion window.
const RECEIVER_WINDOW: f64 = 16_777_216.0;

#[derive(Clone, Copy, Debug)]
struct Report {
    gap_ps: u64,
    delivered: u64,
    lost: u64,
    marked: u64,
    in_flight: u64,
    /// Segments delivered between the departure of the reported segment and now; none for an ACK without news.
    between: Option<u64>,
    /// Of the segments lost so far, those lost after the departure.
    lost_between: u64,
    interval_ps: Option<u64>,
    round_trip_ps: Option<u64>,
    is_limited: bool,
    may_be_delayed: bool,
    wait_ps: u64,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Ack(Report),
    Loss,
    Mark,
    Timeout { keeps_threshold: bool, in_flight: u64 },
    Undo,
    Idle,
}

/// A span of zero, of everyday length, or of up to months, in picoseconds.
fn span_ps() -> impl Strategy<Value = u64> {
    prop_oneof![1 => Just(0), 10 => 1_u64..1_000_000_000_000, 1 => 0..u64::MAX / 1000]
}

fn segments() -> impl Strategy<Value = u64> {
    prop_oneof![2 => Just(0), 10 => 1_u64..100, 1 => 0_u64..1 << 40]
}

fn reports() -> impl Strategy<Value = Report> {
    let phase = prop_oneof![6 => Just(Phase::Open), 2 => Just(Phase::Recovery), 1 => Just(Phase::Timeout)];
    let counts = (segments(), segments(), segments(), segments(), segments());
    let spans = (span_ps(), prop::option::of(span_ps()), prop::option::of(span_ps()), span_ps());
    let others = (prop::option::weighted(0.9, segments()), any::<bool>(), any::<bool>(), phase);
    (counts, spans, others).prop_map(|(counts, spans, others)| {
        let (delivered, lost, marked, in_flight, lost_between) = counts;
        let (gap_ps, interval_ps, round_trip_ps, wait_ps) = spans;
        let (between, is_limited, may_be_delayed, phase) = others;
        Report {
            gap_ps,
            delivered,
            lost: lost / 4,
            marked,
            in_flight,
            between,
            lost_between,
            interval_ps,
            round_trip_ps,
            is_limited,
            may_be_delayed,
            wait_ps,
            phase,
        }
    })
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        30 => reports().prop_map(Event::Ack),
        1 => Just(Event::Loss),
        1 => Just(Event::Mark),
        1 => (any::<bool>(), segments())
            .prop_map(|(keeps_threshold, in_flight)| Event::Timeout { keeps_threshold, in_flight }),
        1 => Just(Event::Undo),
        1 => Just(Event::Idle),
    ];
    proptest::collection::vec(event, 1..400)
}

/// The sender of a controller.
struct Connection {
    controller: Box<dyn Controller>,
    control: Control,
    now: Time,
    /// The counters so far, and the segments in flight.
    counts: Delivery,
    /// The first byte that is not yet acknowledged.
    acknowledged: u64,
    /// The window before the last answer to a loss, where the transport restores it.
    undoes: Option<Control>,
}

impl Connection {
    fn new(controller: Box<dyn Controller>, start: f64) -> Self {
        let control = Control::new(libm::floor(start), f64::INFINITY);
        let (now, counts) = (Time::ZERO, Delivery::default());
        Self { controller, control, now, counts, acknowledged: 1, undoes: None }
    }

    fn ack(&mut self, report: Report) {
        self.now = self.now.saturating_add(Span::from_picoseconds(report.gap_ps));
        let counts = &mut self.counts;
        counts.in_flight_before = counts.in_flight;
        counts.in_flight = report.in_flight;
        (counts.newly_delivered, counts.newly_lost) = (report.delivered, report.lost);
        counts.delivered += report.delivered;
        self.acknowledged += report.delivered;
        counts.marked += report.marked.min(report.delivered);
        let segment = report.between.map(|between| DeliveredSegment {
            delivered_before: counts.delivered.saturating_sub(between.max(1)),
            lost_before: counts.lost.saturating_sub(report.lost_between),
            marked_before: counts.marked.saturating_sub(between),
            in_flight: report.in_flight.max(1),
            is_application_limited: report.is_limited,
            interval: report.interval_ps.map(Span::from_picoseconds),
        });
        if report.lost > 0 {
            counts.lost += report.lost;
            let lost = DeliveredSegment { interval: None, ..segment.unwrap_or_default() };
            self.controller.on_lost_segment(&lost, counts.lost, &mut self.control);
        }
        let delivery = Delivery {
            segment,
            round_trip: report.round_trip_ps.map(Span::from_picoseconds),
            may_be_delayed: report.may_be_delayed,
            next_departure: self.now.saturating_add(Span::from_picoseconds(report.wait_ps)),
            ..*counts
        };
        let smoothed = delivery.round_trip;
        let ack = AckSample {
            now: self.now,
            acked_segments: report.delivered as f64,
            delivered_segments: report.delivered as f64,
            acknowledged: self.acknowledged,
            next: self.acknowledged.saturating_add(report.in_flight),
            is_window_used: true,
            echoes_mark: report.marked > 0,
            marked_segments: report.marked.min(report.delivered) as f64,
            phase: report.phase,
            round_trips: RoundTrips { latest: smoothed, smoothed, deviation: smoothed, shortest: smoothed },
            delivery: Some(&delivery),
        };
        self.controller.on_ack(&ack, &mut self.control);
    }

    fn take(&mut self, event: Event) {
        let (before, acknowledged) = (self.control, self.acknowledged);
        let congestion = CongestionSample {
            now: self.now,
            used_segments: before.congestion_window,
            acknowledged,
            next: acknowledged.saturating_add(self.counts.in_flight),
            keeps_threshold: false,
        };
        match event {
            Event::Ack(report) => self.ack(report),
            Event::Loss => {
                self.undoes = Some(before);
                self.controller.on_loss(&congestion, &mut self.control);
            }
            Event::Mark => self.controller.on_ecn(&congestion, &mut self.control),
            Event::Timeout { keeps_threshold, in_flight } => {
                let congestion = CongestionSample { keeps_threshold, ..congestion };
                self.undoes = (!keeps_threshold).then_some(before);
                self.controller.on_timeout(&congestion, &mut self.control);
                self.counts.in_flight = in_flight;
                self.control.congestion_window = in_flight as f64 + 1.0;
            }
            Event::Undo if self.controller.needs().owns_recovery => self.controller.undo(),
            Event::Undo => {
                if let Some(earlier) = self.undoes.take() {
                    let control = &mut self.control;
                    control.congestion_window = before.congestion_window.max(earlier.congestion_window);
                    control.slow_start_threshold = before.slow_start_threshold.max(earlier.slow_start_threshold);
                    self.controller.undo();
                }
            }
            Event::Idle => self.controller.on_sent_after_idle(self.now, &mut self.control),
        }
    }
}

/// Prague in both forms.
fn pragues() -> Vec<(bool, Box<dyn Controller>)> {
    let setup = Setup { ecn: true, ..Setup::default() };
    let window = PragueConfig { transition_rounds: 20, classic_fallback: true, ..PragueConfig::default() };
    let rate = PragueConfig { form: PragueForm::Rate, ..PragueConfig::default() };
    let built = [(true, window), (false, rate)];
    built.into_iter().map(|(is_window, config)| (is_window, prague::build(&config, &setup))).collect()
}

/// All these controllers with their defaults.
fn controllers() -> Vec<(&'static str, Box<dyn Controller>)> {
    let setup = Setup { timeout_response: TimeoutResponse::Linux, ..Setup::default() };
    let built = CongestionControl::every().into_iter().map(|control| (control.name(), control.build(&setup)));
    let owns = |needs: Needs| needs.owns_recovery;
    built.filter(|(_, controller)| owns(controller.needs())).collect()
}

proptest! {
    /// Whatever the times, rates and counts: window and threshold are numbers. The window is at least one segment, and
    /// at least four after an ACK of new data outside of recoveries. It grows by no more than an ACK reports, apart
    /// from that floor and from what was in the network before.
    #[test]
    fn owned_windows_stay_sane(events in events(), seed in any::<u64>(), start in 1.0_f64..1e7) {
        for (name, mut controller) in controllers() {
            controller.seed(seed);
            let mut connection = Connection::new(controller, start);
            let mut largest = start.max(LEAST_WINDOW);
            for &event in &events {
                connection.take(event);
                let Control { congestion_window: window, slow_start_threshold: threshold, .. } = connection.control;
                prop_assert!(window.is_finite() && window >= 1.0, "{name}: {window} after {event:?}");
                prop_assert!(threshold >= 2.0, "{name}: {threshold} after {event:?}");
                if let Event::Ack(report) = event {
                    let is_open = report.phase == Phase::Open && report.delivered > 0;
                    prop_assert!(!is_open || window >= LEAST_WINDOW, "{name}: {window} after {event:?}");
                    let most = largest.max(report.in_flight as f64) + report.delivered as f64;
                    prop_assert!(window <= most, "{name}: {window} after {event:?}, {most}");
                }
                connection.control.congestion_window = window.min(RECEIVER_WINDOW);
                largest = largest.max(connection.control.congestion_window);
            }
        }
    }

    /// Whatever the times, rates and counts: Prague's window, threshold and rate are numbers. The window is at least
    /// two segments after an ACK outside of recoveries, and no sign of congestion enlarges it. In the form with a
    /// window it grows by at most a segment more than an ACK reports. In the form with a rate the rate is at least 100
    /// kb/s.
    #[test]
    fn pragues_windows_stay_sane(events in events(), start in 1.0_f64..1e7) {
        for (is_window, controller) in pragues() {
            let mut connection = Connection::new(controller, start);
            for &event in &events {
                let before = connection.control.congestion_window;
                connection.take(event);
                let Control { congestion_window: window, slow_start_threshold: threshold, pacing_rate } =
                    connection.control;
                prop_assert!(window.is_finite() && window >= 1.0, "{window} after {event:?}");
                prop_assert!(threshold >= 2.0, "{threshold} after {event:?}");
                prop_assert!(!matches!(event, Event::Loss | Event::Mark) || window <= before, "{window}, {event:?}");
                if let Some(rate) = pacing_rate {
                    let least = if is_window { 1 } else { 100_000 };
                    prop_assert!((least..=1_000_000_000_000_000).contains(&rate.bits_per_second()), "{rate}");
                }
                if let Event::Ack(report) = event {
                    let is_timed = is_window || report.round_trip_ps.is_some_and(|round_trip| round_trip > 0);
                    let has_floor = report.phase != Phase::Recovery && is_timed;
                    prop_assert!(!has_floor || window >= 2.0, "{window} after {event:?}");
                    let most = before.max(2.0) + report.delivered as f64 + 1.0;
                    prop_assert!(!is_window || window <= most, "{before} to {window} after {event:?}");
                    prop_assert!(report.phase != Phase::Recovery || window == before, "{before} to {window}");
                }
                connection.control.congestion_window = window.min(RECEIVER_WINDOW);
            }
        }
    }
}
