//! The skeleton around window laws, rule by rule.

extern crate std;

use alloc::vec::Vec;
use std::sync::mpsc::{Sender, channel};

use super::*;
use crate::control::reno::Reno;
use crate::{Phase, RoundTrips, Time};

fn ack(acked_segments: f64) -> AckSample<'static> {
    AckSample {
        now: Time::ZERO,
        acked_segments,
        delivered_segments: acked_segments,
        acknowledged: 1,
        next: 100_001,
        is_window_used: true,
        echoes_mark: false,
        marked_segments: 0.0,
        phase: Phase::Open,
        round_trips: RoundTrips::default(),
        delivery: None,
    }
}

fn congestion(used_segments: f64, keeps_threshold: bool) -> CongestionSample {
    CongestionSample { now: Time::ZERO, used_segments, acknowledged: 1, next: 100_001, keeps_threshold }
}

/// The window after an ACK, with a threshold of ten segments.
fn after_ack(window: f64, ack: &AckSample<'_>) -> f64 {
    let mut control = Control::new(window, 10.0);
    loss_based(Reno, &Setup::default()).on_ack(ack, &mut control);
    control.congestion_window
}

#[test]
fn slow_start_ends_at_the_threshold_and_the_rest_of_an_ack_avoids_congestion() {
    let cases = [
        (8.0, 1.5, 9.5),
        (8.0, 2.0, 10.0),
        (9.0, 3.0, 10.0 + 2.0 / 10.0),
        // The ACK of one segment is not divided.
        (9.5, 1.0, 10.5),
        (10.0, 2.0, 10.0 + 2.0 / 10.0),
    ];
    for (before, acked, after) in cases {
        assert_eq!(after_ack(before, &ack(acked)), after, "{before} {acked}");
    }
    for ack in [AckSample { echoes_mark: true, ..ack(1.0) }, AckSample { is_window_used: false, ..ack(1.0) }] {
        assert_eq!([5.0, 20.0].map(|window| after_ack(window, &ack)), [5.0, 20.0], "{ack:?}");
    }
}

#[test]
fn a_slow_start_that_watches_the_delay_asks_for_round_trips() {
    for (slow_start, asks) in
        [(SlowStart::Standard, false), (SlowStart::HyStart, true), (SlowStart::HyStartPlusPlus, true)]
    {
        let needs = loss_based(Reno, &Setup { slow_start, ..Setup::default() }).needs();
        assert_eq!((needs.latest_round_trip, needs.round_trip_estimate), (asks, false), "{slow_start:?}");
    }
}

#[test]
fn a_reduction_keeps_the_floors_of_its_signal() {
    // RFC 5681, equation 4: two segments after a loss. After a mark `ecn_floor` decides.
    let floors = [
        (EcnFloor::TwoSegments, 2.0),
        (EcnFloor::OneSegment, 1.0),
        (EcnFloor::Timer, 1.0),
        // Half of what was in flight.
        (EcnFloor::Ns2, 0.75),
    ];
    for (ecn_floor, least) in floors {
        let mut controller = loss_based(Reno, &Setup { ecn_floor, ..Setup::default() });
        let mut control = Control::new(20.0, f64::INFINITY);
        controller.on_loss(&congestion(13.0, false), &mut control);
        assert_eq!((control.congestion_window, control.slow_start_threshold), (6.5, 6.0));
        controller.on_ecn(&congestion(5.0, false), &mut control);
        assert_eq!((control.congestion_window, control.slow_start_threshold), (2.5, 2.0));
        controller.on_ecn(&congestion(1.5, false), &mut control);
        assert_eq!((control.congestion_window, control.slow_start_threshold), (least, 2.0), "{ecn_floor:?}");
        // Never more than before.
        controller.on_loss(&congestion(1.5, false), &mut control);
        assert_eq!(control.congestion_window, least, "{ecn_floor:?}");
    }
    let mut control = Control::new(20.0, f64::INFINITY);
    let mut whole = loss_based(Reno, &Setup { whole_segment_reduction: true, ..Setup::default() });
    whole.on_loss(&congestion(13.0, false), &mut control);
    assert_eq!((control.congestion_window, control.slow_start_threshold), (6.0, 6.0));
    whole.on_timeout(&congestion(9.0, false), &mut control);
    assert_eq!((control.congestion_window, control.slow_start_threshold), (1.0, 4.0));
}

/// A law that notes its calls.
#[derive(Debug)]
struct Noted(Sender<&'static str>);

impl Noted {
    fn note(&self, call: &'static str) {
        self.0.send(call).unwrap_or_else(|error| panic!("{error}"));
    }
}

impl WindowLaw for Noted {
    fn measure(&mut self, _ack: &AckSample<'_>) {
        self.note("measure");
    }

    fn avoid_congestion(&mut self, _window: &mut Control, _acked: f64, _path: &RoundTrips, _now: Time) {
        self.note("avoid congestion");
    }

    fn reduce(&mut self, _window: &Control, used_segments: f64, signal: CongestionSignal, _now: Time) -> f64 {
        self.note(match signal {
            CongestionSignal::Loss => "loss",
            CongestionSignal::EcnEcho => "mark",
            CongestionSignal::Timeout => "timeout",
        });
        used_segments
    }

    fn pause(&mut self, _now: Time) {
        self.note("pause");
    }

    fn forget(&mut self) {
        self.note("forget");
    }

    fn undo(&mut self) {
        self.note("undo");
    }

    fn restart(&mut self) {
        self.note("restart");
    }
}

#[test]
fn the_law_gets_each_event() {
    let (linux, default) = (TimeoutResponse::Linux, TimeoutResponse::default());
    for (timeout_response, kept) in [(linux, &["forget"][..]), (default, &[])] {
        let (sender, calls) = channel();
        let mut controller = loss_based(Noted(sender), &Setup { timeout_response, ..Setup::default() });
        let mut control = Control::new(20.0, 10.0);
        let mut expect = |expected: &[&str], event: &mut dyn FnMut(&mut dyn Controller, &mut Control)| {
            event(&mut *controller, &mut control);
            assert_eq!(calls.try_iter().collect::<Vec<_>>(), expected, "{timeout_response:?}");
        };
        expect(&["measure", "avoid congestion"], &mut |it, control| it.on_ack(&ack(1.0), control));
        let unused = AckSample { is_window_used: false, ..ack(1.0) };
        expect(&["measure", "pause"], &mut |it, control| it.on_ack(&unused, control));
        let marked = AckSample { echoes_mark: true, ..ack(1.0) };
        expect(&["measure"], &mut |it, control| it.on_ack(&marked, control));
        expect(&["loss"], &mut |it, control| it.on_loss(&congestion(20.0, false), control));
        expect(&["undo"], &mut |it, _| it.undo());
        expect(&["mark"], &mut |it, control| it.on_ecn(&congestion(20.0, false), control));
        expect(&["timeout"], &mut |it, control| it.on_timeout(&congestion(20.0, false), control));
        expect(kept, &mut |it, control| it.on_timeout(&congestion(20.0, true), control));
        expect(&["restart"], &mut |it, _| it.restart());
    }
}
