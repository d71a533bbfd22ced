//! The rate form, rule by rule.

use super::*;
use crate::{DeliveredSegment, Delivery, PragueForm, RoundTrips, RttIndependence};

const MS: Span = Span::from_milliseconds(1);
const SEGMENT: f64 = 1250.0;

fn at(ms: u64) -> Time {
    Time::ZERO + MS * ms
}

/// A connection with segments of 1250 B.
struct Flow {
    prague: RatePrague,
    control: Control,
}

impl Flow {
    /// With a window of so many segments as the state, on a path of `rtt`.
    fn new(segments: f64, rtt: Span) -> Self {
        let mut prague = RatePrague::new(&PragueConfig::default(), &Setup::default());
        prague.segment_bytes = SEGMENT;
        let control = Control::new(segments * WINDOW_FACTOR + 1.0, f64::INFINITY);
        let mut flow = Self { prague, control };
        flow.take(&AckSample { phase: Phase::Recovery, ..ack(0, rtt, 0, 0, 0.0) });
        flow
    }

    fn take(&mut self, ack: &AckSample<'_>) {
        self.prague.on_ack(ack, &mut self.control);
    }

    fn lose(&mut self) {
        self.prague.on_loss(&LOSS, &mut self.control);
    }

    fn state(&self) -> State {
        self.prague.state.unwrap_or_default()
    }

    fn segments(&self) -> f64 {
        self.state().window / SEGMENT
    }

    fn set_wait(&mut self, wait: f64) {
        self.prague.state.as_mut().unwrap().wait = wait;
    }
}

const LOSS: CongestionSample = CongestionSample {
    now: Time::from_picoseconds(2_000_000_000),
    used_segments: 11.0,
    acknowledged: 3,
    next: 10,
    keeps_threshold: false,
};

/// An ACK of one segment at `ms`, on a path of `rtt`.
fn ack(ms: u64, rtt: Span, acknowledged: u64, next: u64, marked_segments: f64) -> AckSample<'static> {
    AckSample {
        now: at(ms),
        acked_segments: 1.0,
        delivered_segments: 1.0,
        acknowledged,
        next,
        is_window_used: true,
        echoes_mark: marked_segments > 0.0,
        marked_segments,
        phase: Phase::Open,
        round_trips: RoundTrips { smoothed: Some(rtt), ..RoundTrips::default() },
        delivery: None,
    }
}

#[track_caller]
fn assert_near(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{value} instead of {expected}");
}

#[test]
fn it_starts_with_the_window_of_the_transport() {
    // 100 segments of 1250 B in 50 ms; the wait is the whole of 2.5 / 1.92, and 7.
    let flow = Flow::new(100.0, MS * 50);
    assert_near(flow.segments(), 100.0);
    assert_near(flow.state().rate, 2.5e6);
    assert_eq!((flow.state().wait, flow.prague.alpha), (8.0, 0.0));
    assert_eq!(flow.control.pacing_rate, Rate::new(20_000_000));
    // Nothing happens before there is a round trip.
    let mut flow = Flow { prague: RatePrague::new(&PragueConfig::default(), &Setup::default()), ..flow };
    let control = flow.control;
    flow.take(&AckSample { round_trips: RoundTrips::default(), ..ack(0, MS, 1, 2, 0.0) });
    flow.take(&ack(0, Span::ZERO, 1, 2, 0.0));
    assert_eq!(flow.control, control);
}

#[test]
fn before_the_first_round_trip_a_loss_halves_the_window() {
    for (window, expected) in [(10.0, 5.0), (3.0, 2.0), (1.0, 1.0)] {
        let mut prague = RatePrague::new(&PragueConfig::default(), &Setup::default());
        let mut control = Control::new(window, f64::INFINITY);
        prague.on_loss(&LOSS, &mut control);
        let threshold = f64::max(expected, 2.0);
        assert_eq!((control.congestion_window, control.slow_start_threshold), (expected, threshold));
    }
}

#[test]
fn the_window_of_the_transport_has_3_percent_and_a_segment_more() {
    let mut flow = Flow::new(100.0, MS * 50);
    flow.take(&ack(1, MS * 50, 1, 100, 1.0));
    assert_near(flow.control.congestion_window, 104.0);
    // There is no slow start.
    assert_eq!(flow.control.slow_start_threshold, 2.0);
    // At least two packets, and 100 kb/s.
    let mut flow = Flow::new(0.1, MS * 50);
    flow.take(&ack(1, MS * 50, 1, 100, 1.0));
    assert_eq!((flow.control.congestion_window, flow.state().rate), (2.0, 12_500.0));
    assert_eq!(flow.control.pacing_rate, Rate::new(100_000));
    flow.prague.state.as_mut().unwrap().rate = 1.0;
    flow.take(&ack(1, MS * 50, 1, 100, 1.0));
    assert_eq!(flow.state().rate, 12_500.0);
}

#[test]
fn a_round_trip_without_arrivals_leaves_alpha() {
    let mut flow = Flow::new(100.0, MS * 50);
    (flow.prague.alpha, flow.prague.delivered) = (0.5, 0.0);
    let nothing = AckSample { acked_segments: 0.0, delivered_segments: 0.0, ..ack(60, MS * 50, 1, 100, 0.0) };
    flow.take(&nothing);
    assert_eq!((flow.prague.alpha, flow.prague.updated), (0.5, (at(60), 100)));
}

#[test]
fn bursts_take_250_microseconds() {
    let pacing = Flow::new(10.0, MS).prague.pacing().unwrap();
    assert_eq!((pacing.burst, pacing.least_segments), (Span::from_microseconds(250), 1));
}

#[test]
fn an_ack_adds_its_share_of_a_segment_in_a_virtual_round_trip() {
    // acks * packet * (srtt / vrtt)^2 * inc / window, with inc of a segment: (10 / 25)^2 / 20 segments.
    let mut flow = Flow::new(20.0, MS * 10);
    flow.take(&ack(1, MS * 10, 1, 100, 0.0));
    assert_near(flow.segments(), 20.0 + 0.16 / 20.0);
    assert_near(flow.state().rate, flow.state().window / 0.010);
    // From 25 ms on the virtual round trip is the real one.
    let mut flow = Flow::new(20.0, MS * 50);
    flow.take(&AckSample { acked_segments: 3.0, ..ack(1, MS * 50, 1, 100, 1.0) });
    assert_near(flow.segments(), 20.0 + 2.0 / 20.0);
}

#[test]
fn after_the_wait_growth_fills_a_queue_of_a_millisecond() {
    // inc = 12.5 MB/s * 1 ms = 10 segments.
    let mut flow = Flow::new(500.0, MS * 50);
    flow.set_wait(0.0);
    flow.take(&ack(1, MS * 50, 1, 100, 0.0));
    assert_near(flow.segments(), 500.0 + 10.0 / 500.0);
    // As long as there is a wait, a segment.
    let mut flow = Flow::new(500.0, MS * 50);
    flow.set_wait(1.0);
    flow.take(&ack(1, MS * 50, 1, 100, 0.0));
    assert_near(flow.segments(), 500.0 + 1.0 / 500.0);
    // At 400 kB/s the queue of a millisecond is less than a segment, which is the least.
    let mut flow = Flow::new(16.0, MS * 50);
    flow.set_wait(0.0);
    flow.take(&ack(1, MS * 50, 1, 100, 0.0));
    assert_near(flow.segments(), 16.0 + 1.0 / 16.0);
}

#[test]
fn on_short_round_trips_the_rate_is_the_state_variable() {
    // 12.5 MB/s at 2 ms: a segment in 25 ms, for each of the 250 that arrive in it.
    let mut flow = Flow::new(20.0, MS * 2);
    flow.take(&ack(1, MS * 2, 1, 100, 0.0));
    let rate = 12.5e6 + SEGMENT / 0.025 / 250.0;
    assert_near(flow.state().rate, rate);
    assert_near(flow.state().window, rate * 0.002);
    // Above 2 ms it is the window.
    let mut longer = Flow::new(20.0, Span::from_microseconds(2_100));
    longer.take(&ack(1, Span::from_microseconds(2_050), 1, 100, 1.0));
    assert_near(longer.segments(), 20.0);
    // A shorter round trip keeps the rate.
    flow.take(&ack(1, MS, 1, 100, 1.0));
    assert_near(flow.state().rate, rate);
    assert_near(flow.state().window, rate * 0.001);
    // In longer round trips the window stays.
    flow.take(&ack(1, MS * 4, 1, 100, 1.0));
    assert_near(flow.state().window, rate * 0.001);
    assert_near(flow.state().rate, rate / 4.0);
}

#[test]
fn where_a_segment_takes_a_round_trip_the_rate_is_the_state_variable() {
    // 50 kB/s: a segment takes 25 ms, and a window of that rate is less than a segment.
    let mut flow = Flow::new(0.8, MS * 20);
    flow.take(&ack(1, MS * 20, 1, 100, 1.0));
    flow.take(&ack(1, MS * 10, 1, 100, 1.0));
    assert_near(flow.state().rate, 50_000.0);
    // The growth takes it for a window of a segment.
    let mut flow = Flow::new(0.4, MS * 20);
    flow.take(&ack(1, MS * 20, 1, 100, 0.0));
    assert_near(flow.state().rate, 25_000.0 + SEGMENT / 0.025);
}

#[test]
fn alpha_follows_the_share_once_in_a_window_and_a_virtual_round_trip() {
    let mut flow = Flow::new(20.0, MS * 10);
    flow.prague.updated = (at(0), 100);
    (flow.prague.delivered, flow.prague.marked) = (3.0, 1.0);
    // The window has not passed, then the virtual round trip has not.
    flow.take(&ack(30, MS * 10, 99, 200, 0.0));
    flow.prague.updated.0 = at(6);
    flow.take(&ack(30, MS * 10, 100, 200, 0.0));
    let wait = flow.state().wait;
    assert_eq!(flow.prague.alpha, 0.0);
    // One of six segments has a mark.
    flow.take(&ack(31, MS * 10, 100, 200, 0.0));
    assert_near(flow.prague.alpha, 1.0 / 6.0 / 16.0);
    assert_eq!((flow.state().wait, flow.prague.updated), (wait - 1.0, (at(31), 200)));
    // Two segments until the next, one of them with a mark.
    flow.take(&ack(40, MS * 10, 150, 200, 1.0));
    flow.take(&ack(56, MS * 10, 201, 300, 0.0));
    assert_near(flow.prague.alpha, 15.0 / 6.0 / 256.0 + 0.5 / 16.0);
}

#[test]
fn a_mark_reduces_by_half_of_alpha_once_in_a_virtual_round_trip() {
    let mut flow = Flow::new(100.0, MS * 10);
    (flow.prague.alpha, flow.prague.updated) = (0.2, (at(0), u64::MAX));
    flow.set_wait(0.0);
    flow.take(&ack(100, MS * 10, 10, 1000, 1.0));
    assert_near(flow.segments(), 90.0);
    assert_near(flow.control.congestion_window, 90.0 * 1.03 + 1.0);
    // 12.5 MB/s / 1.92 MB/s + 7.
    assert_eq!(flow.state().wait, 13.0);
    flow.take(&ack(130, MS * 10, 1000, 2000, 1.0));
    flow.take(&ack(124, MS * 10, 1001, 2000, 1.0));
    assert_near(flow.segments(), 90.0);
    flow.take(&ack(125, MS * 10, 1001, 2000, 1.0));
    assert_near(flow.segments(), 81.0);
    // The rate likewise.
    let mut flow = Flow::new(100.0, MS);
    (flow.prague.alpha, flow.prague.updated) = (0.5, (at(0), u64::MAX));
    flow.take(&ack(100, MS, 10, 1000, 1.0));
    assert_near(flow.state().rate, 0.75 * 125e6);
}

#[test]
fn a_loss_halves_and_an_undo_restores() {
    for rtt in [MS, MS * 10, MS * 50] {
        let mut flow = Flow::new(100.5, rtt);
        let (before, control) = (flow.state(), flow.control);
        flow.lose();
        assert_near(flow.segments(), 50.25);
        assert_near(flow.state().rate, before.rate / 2.0);
        assert_near(flow.control.congestion_window, 50.25 * 1.03 + 1.0);
        // rate / 2 / packet * 25 ms * 25 ms / vrtt.
        let virtual_rtt = rtt.seconds().max(0.025);
        let wait = (before.rate / 2.0 / SEGMENT * 0.025 * 0.025 / virtual_rtt).floor();
        assert_eq!(flow.state().wait, wait);
        assert_eq!(flow.control.pacing_rate, Rate::new((before.rate / 2.0 * 8.0) as u64));
        assert_eq!(flow.control.slow_start_threshold, flow.control.congestion_window);
        // In the recovery the window stays.
        flow.take(&AckSample { phase: Phase::Recovery, ..ack(3, rtt, 1, 2, 1.0) });
        assert_near(flow.control.congestion_window, 50.25 * 1.03 + 1.0);
        // The transport restores its window first.
        flow.control = control;
        flow.prague.undo();
        assert_eq!((flow.state().wait, flow.state().set_window), (wait.min(before.wait), before.set_window));
        flow.take(&ack(3, rtt, 1, 2, 1.0));
        assert_near(flow.segments(), 100.5);
        assert_near(flow.control.congestion_window, control.congestion_window);
        flow.prague.undo();
        assert_near(flow.segments(), 100.5);
    }
}

#[test]
fn a_window_of_a_segment_stays_at_a_loss() {
    let mut flow = Flow::new(10.0, MS * 50);
    flow.control.congestion_window = 1.0;
    flow.lose();
    assert_eq!((flow.control.congestion_window, flow.control.slow_start_threshold), (1.0, 2.0));
}

#[test]
fn an_undone_timeout_ends_the_rise_of_the_window() {
    let mut flow = Flow::new(10.0, MS * 50);
    let control = flow.control;
    flow.prague.updated = (at(0), u64::MAX);
    flow.prague.on_timeout(&LOSS, &mut flow.control);
    flow.control = control;
    flow.prague.undo();
    flow.take(&ack(60, MS * 50, 1, 100, 1.0));
    assert_near(flow.control.congestion_window, control.congestion_window);
}

#[test]
fn after_a_timeout_the_window_rises_by_the_arrivals() {
    let mut flow = Flow::new(10.0, MS * 50);
    flow.prague.on_timeout(&LOSS, &mut flow.control);
    assert_eq!(flow.control.congestion_window, 1.0);
    assert_near(flow.segments(), 5.0);
    // A second timeout halves no more.
    flow.prague.on_timeout(&CongestionSample { keeps_threshold: true, ..LOSS }, &mut flow.control);
    let mut half = Flow { control: flow.control, ..Flow::new(10.0, MS * 50) };
    half.prague.restart();
    half.take(&AckSample { acked_segments: 0.5, ..ack(60, MS * 50, 1, 100, 0.0) });
    assert_eq!(half.control.congestion_window, 2.0, "two segments at least");
    for window in [2.0, 3.0, 4.0, 5.0, 6.0, 5.0 * 1.03 + 1.0] {
        flow.take(&AckSample { phase: Phase::Timeout, ..ack(60, MS * 50, 1, 100, 0.0) });
        assert_near(flow.control.congestion_window, window);
    }
    // After an idle time too.
    flow.control.congestion_window = 3.0;
    flow.prague.restart();
    flow.take(&ack(60, MS * 50, 1, 100, 1.0));
    assert_near(flow.control.congestion_window, 4.0);
    assert_near(flow.segments(), 5.0);
}

#[test]
fn the_window_follows_the_one_of_the_transport_if_that_is_less() {
    let mut flow = Flow::new(100.0, MS * 50);
    flow.control.congestion_window = 52.5;
    flow.take(&ack(1, MS * 50, 1, 100, 1.0));
    assert_near(flow.segments(), 50.0);
    assert_near(flow.state().rate, 50.0 * SEGMENT / 0.05);
    assert_near(flow.control.congestion_window, 52.5);
    // So does the rate where that is the state variable.
    let mut flow = Flow::new(100.0, MS);
    flow.control.congestion_window = 52.5;
    flow.take(&ack(1, MS, 1, 100, 1.0));
    assert_near(flow.state().rate, 50.0 * SEGMENT / 0.001);
    // A window that was at its floor does not enlarge the state.
    let mut flow = Flow::new(0.6, MS * 50);
    flow.take(&ack(1, MS * 50, 1, 100, 1.0));
    let state = flow.state();
    flow.control.congestion_window = 1.9;
    flow.take(&ack(1, MS * 50, 1, 100, 1.0));
    assert_near(flow.state().window, state.window);
}

#[test]
fn the_transport_treats_both_forms_alike() {
    // This form always asks whether the application limits the rate.
    let [window, rate] = [PragueForm::Window, PragueForm::Rate].map(|form| {
        let config = PragueConfig { form, ..PragueConfig::default() };
        crate::control::prague::build(&config, &Setup::default()).needs()
    });
    assert_eq!(rate, Needs { delivery: true, ..window });
}

#[test]
fn marks_recoveries_and_idle_applications_bring_no_growth() {
    let mut flow = Flow::new(100.0, MS * 50);
    flow.take(&ack(1, MS * 50, 1, 100, 1.0));
    flow.take(&ack(1, MS * 50, 1, 100, 2.0));
    flow.take(&AckSample { phase: Phase::Recovery, ..ack(1, MS * 50, 1, 100, 0.0) });
    flow.take(&AckSample { phase: Phase::Timeout, ..ack(1, MS * 50, 1, 100, 0.0) });
    let segment = Some(DeliveredSegment { is_application_limited: true, ..DeliveredSegment::default() });
    let delivery = Delivery { segment, ..Delivery::default() };
    flow.take(&AckSample { delivery: Some(&delivery), ..ack(1, MS * 50, 1, 100, 0.0) });
    assert_near(flow.segments(), 100.0);
    // Pacing may leave a part of the window unused.
    flow.take(&AckSample { is_window_used: false, ..ack(1, MS * 50, 1, 100, 0.0) });
    assert_near(flow.segments(), 100.01);
}

#[test]
fn parameters_of_the_other_form_are_refused() {
    let rate = PragueConfig { form: PragueForm::Rate, ..PragueConfig::default() };
    assert!(rate.validate().is_ok());
    assert!(PragueConfig { classic_fallback: true, ..rate }.validate().is_err());
    assert!(PragueConfig { rtt_independence: RttIndependence::Additive, ..rate }.validate().is_err());
    assert!(PragueConfig { least_burst_segments: 1, ..rate }.validate().is_err());
    // The form with a window takes all of them, and both a target of up to 100 ms.
    let window = PragueConfig {
        classic_fallback: true,
        rtt_independence: RttIndependence::None,
        least_burst_segments: 1,
        ..PragueConfig::default()
    };
    assert!(window.validate().is_ok());
    assert!(PragueConfig { least_burst_segments: 0, ..window }.validate().is_err());
    for (target_rtt, is_valid) in [(Span::ZERO, false), (MS * 100, true), (MS * 101, false)] {
        assert_eq!(PragueConfig { target_rtt, ..window }.validate().is_ok(), is_valid);
    }
}
