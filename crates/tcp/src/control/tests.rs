//! Laws of every controller that leaves recoveries to the transport.

use super::*;
use crate::{
    AckSample, CongestionSample, Control, CubicArithmetic, CubicConfig, Phase, RoundTrips, Span, Time, TimeoutResponse,
};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Event {
    Ack { segments: f64, gap_ps: u64, is_window_used: bool, echoes_mark: bool },
    Loss,
    Mark,
    Timeout { keeps_threshold: bool },
    Undo,
    Restart,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let gap = || prop_oneof![0_u64..1_000_000_000, 0..u64::MAX / 1000];
    let ack = (0.0..4.0, gap(), prop::bool::weighted(0.9), prop::bool::weighted(0.1));
    let event = prop_oneof![
        20 => ack.prop_map(|(segments, gap_ps, is_window_used, echoes_mark)| {
            Event::Ack { segments, gap_ps, is_window_used, echoes_mark }
        }),
        1 => Just(Event::Loss),
        1 => Just(Event::Mark),
        1 => prop::bool::ANY.prop_map(|keeps_threshold| Event::Timeout { keeps_threshold }),
        1 => Just(Event::Undo),
        1 => Just(Event::Restart),
    ];
    proptest::collection::vec(event, 1..400)
}

/// The controllers that leave recoveries to the transport, with their defaults, and CUBIC in Linux's arithmetic.
fn controllers() -> Vec<(&'static str, Box<dyn Controller>)> {
    let linux = CubicConfig { arithmetic: CubicArithmetic::Linux, ..CubicConfig::default() };
    let every = CongestionControl::every().into_iter().chain([CongestionControl::Cubic(linux)]);
    // A timeout may leave the threshold after growth by Linux's rules alone.
    let setup = Setup { timeout_response: TimeoutResponse::Linux, ..Setup::default() };
    let built = every.map(|control| (control.name(), control.build(&setup)));
    // Others have laws of their own (`owning_tests.rs`).
    let is_plain = |needs: Needs| !needs.owns_recovery && !needs.answers_marks;
    built.filter(|(_, controller)| is_plain(controller.needs())).collect()
}

/// Controllers that shrink the window when the delay rises, LEDBAT++ also to measure the path without its queue.
const CONTROLLED_BY_DELAY: &[&str] = &["vegas", "ledbat"];

/// The path of a sender: the round trip without a queue, the time and the data that is acknowledged.
struct Path {
    round_trip: Span,
    now: Time,
    acknowledged: u64,
}

impl Path {
    /// An ACK that arrives `gap_ps` after the last one. The queueing delay follows from the gap.
    fn ack(&mut self, segments: f64, gap_ps: u64, window: f64) -> AckSample<'static> {
        let queueing = Span::from_picoseconds(gap_ps % (4 * self.round_trip.picoseconds()).max(1));
        self.now = self.now.saturating_add(Span::from_picoseconds(gap_ps));
        self.acknowledged += (segments * 1000.0) as u64;
        let round_trips = RoundTrips {
            latest: Some(self.round_trip + queueing),
            smoothed: Some(self.round_trip),
            deviation: Some(self.round_trip),
            shortest: Some(self.round_trip),
        };
        AckSample {
            now: self.now,
            acked_segments: segments,
            delivered_segments: segments,
            acknowledged: self.acknowledged,
            next: self.acknowledged + 1000 * window as u64,
            is_window_used: true,
            echoes_mark: false,
            marked_segments: 0.0,
            phase: Phase::Open,
            round_trips,
            delivery: None,
        }
    }

    fn congestion(&self, window: f64, keeps_threshold: bool) -> CongestionSample {
        let next = self.acknowledged + 1000 * window as u64;
        let (now, acknowledged) = (self.now, self.acknowledged);
        CongestionSample { now, used_segments: window, acknowledged, next, keeps_threshold }
    }
}

proptest! {
    /// Whatever the times, round trips and windows: both values are numbers. An ACK never shrinks the window, unless
    /// the delay controls it. It adds at most what it acknowledges, or a segment more where earlier ACKs have paid for
    /// it. A sign of congestion never enlarges the window.
    #[test]
    fn windows_stay_sane(
        events in events(),
        start in 1.0_f64..1e7,
        threshold in prop_oneof![Just(f64::INFINITY), 2.0_f64..1e7],
        round_trip_ps in 1_u64..u64::MAX / 4,
    ) {
        let round_trip = Span::from_picoseconds(round_trip_ps / 8);
        for (name, mut controller) in controllers() {
            let mut path = Path { round_trip, now: Time::ZERO, acknowledged: 1 };
            let mut control = Control::new(start, threshold);
            let mut undoes = None;
            for &event in &events {
                let before = control.congestion_window;
                match event {
                    Event::Ack { segments, gap_ps, is_window_used, echoes_mark } => {
                        let ack = path.ack(segments, gap_ps, before);
                        controller.on_ack(&AckSample { is_window_used, echoes_mark, ..ack }, &mut control);
                        let after = control.congestion_window;
                        let may_shrink = CONTROLLED_BY_DELAY.contains(&name);
                        prop_assert!(after.is_finite() && after >= 1.0, "{name}: {before} to {after}");
                        prop_assert!(may_shrink || after >= before, "{name}: {before} to {after}");
                        let most = before + segments + 1.0 + 1e-6 * before;
                        prop_assert!(after <= most, "{name}: {before} to {after}");
                        prop_assert!(is_window_used || after == before, "{name}: {before} to {after}, unused");
                    }
                    Event::Loss => {
                        undoes = Some(control);
                        controller.on_loss(&path.congestion(before, false), &mut control);
                    }
                    Event::Mark => {
                        undoes = None;
                        controller.on_ecn(&path.congestion(before, false), &mut control);
                    }
                    Event::Timeout { keeps_threshold } => {
                        undoes = (!keeps_threshold).then_some(control);
                        controller.on_timeout(&path.congestion(before, keeps_threshold), &mut control);
                        prop_assert_eq!(control.congestion_window, 1.0);
                    }
                    Event::Undo => {
                        if let Some(earlier) = undoes.take() {
                            controller.undo();
                            control.congestion_window = before.max(earlier.congestion_window);
                            control.slow_start_threshold =
                                control.slow_start_threshold.max(earlier.slow_start_threshold);
                        }
                    }
                    Event::Restart => controller.restart(),
                }
                let after = control.congestion_window;
                let may_grow = matches!(event, Event::Ack { .. } | Event::Undo);
                prop_assert!(may_grow || after <= before, "{name}: {before} to {after}");
                prop_assert!(after > 0.0 && control.slow_start_threshold >= 2.0, "{name}: {control:?}");
                control.congestion_window = after.max(1.0);
            }
        }
    }
}
