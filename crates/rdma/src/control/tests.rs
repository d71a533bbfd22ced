//! Laws of every controller, and samples for the tests of each.

use forebay_units::control::{AckSample, CongestionSample, Control, Phase, RoundTrips};
use forebay_units::{Rate, Span, Time};
use proptest::prelude::*;

use super::RdmaControl;
use crate::controller::Setup;
use crate::telemetry::Hop;

/// A path of five hops at 100 Gb/s.
pub(crate) fn setup() -> Setup {
    Setup {
        line_rate: Rate::megabits(100_000),
        base_round_trip: Span::from_nanoseconds(12_240),
        window_bytes: 153_000,
        payload_bytes: 1_000,
        packet_bytes: 1_048,
        hops: 5,
    }
}

/// An ACK at `microseconds` without a round trip.
pub(crate) fn ack(microseconds: u64, acknowledged: u64, next: u64) -> AckSample<'static> {
    AckSample {
        now: Time::ZERO + Span::from_microseconds(microseconds),
        acked_segments: 1.0,
        delivered_segments: 1.0,
        acknowledged,
        next,
        is_window_used: true,
        echoes_mark: false,
        marked_segments: 0.0,
        phase: Phase::Open,
        round_trips: RoundTrips::default(),
        delivery: None,
    }
}

pub(crate) fn ack_after(round_trip: Span, acknowledged: u64, next: u64) -> AckSample<'static> {
    AckSample {
        round_trips: RoundTrips { latest: Some(round_trip), ..RoundTrips::default() },
        ..ack(0, acknowledged, next)
    }
}

pub(crate) fn congestion(now: Time) -> CongestionSample {
    CongestionSample { now, used_segments: 1.0, acknowledged: 0, next: 0, keeps_threshold: false }
}

#[test]
fn names_and_defaults_are_valid() {
    let names: alloc::vec::Vec<_> = RdmaControl::every().iter().map(RdmaControl::name).collect();
    assert_eq!(names, ["dcqcn", "dcqcn_paper", "dctcp", "hpcc", "patched_timely", "swift", "timely"]);
    assert!(RdmaControl::every().iter().all(|control| control.validate().is_ok()));
}

/// An event of a controller.
#[derive(Clone, Copy, Debug)]
enum Event {
    Ack { round_trip_ns: u64, bytes: u64, mark: bool, hop: (u64, u64) },
    Notification,
    Loss,
    Timeout,
    Sent(u32),
    Timer,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0_u64..10_000_000, 0_u64..100_000, any::<bool>(), (any::<u64>(), any::<u64>())).prop_map(
            |(round_trip_ns, bytes, mark, hop)| Event::Ack { round_trip_ns, bytes, mark, hop }
        ),
        2 => Just(Event::Notification),
        1 => Just(Event::Loss),
        1 => Just(Event::Timeout),
        2 => (0_u32..20_000_000).prop_map(Event::Sent),
        2 => Just(Event::Timer),
    ]
}

proptest! {
    #[test]
    fn rates_and_windows_stay_in_bounds(
        events in prop::collection::vec((0_u64..1_000_000_000, event()), 1..200),
        line_megabits in 100_u64..800_000,
    ) {
        let setup = Setup { line_rate: Rate::megabits(line_megabits), ..setup() };
        for config in RdmaControl::every() {
            let mut controller = config.build(&setup);
            let mut control = Control::new(controller.initial_window(f64::INFINITY), f64::INFINITY);
            let (mut now, mut acknowledged) = (Time::ZERO, 0);
            for &(wait, event) in &events {
                now += Span::from_picoseconds(wait);
                match event {
                    Event::Ack { round_trip_ns, bytes, mark, hop } => {
                        acknowledged += bytes;
                        let round_trip = Span::from_nanoseconds(round_trip_ns);
                        let sample = AckSample {
                            now,
                            acked_segments: bytes as f64 / 1_000.0,
                            delivered_segments: bytes as f64 / 1_000.0,
                            echoes_mark: mark,
                            marked_segments: f64::from(u8::from(mark)),
                            ..ack_after(round_trip, acknowledged, acknowledged + 50_000)
                        };
                        let hop = Hop::record(now, hop.0, hop.1, Rate::megabits(100_000), 4).unwrap();
                        controller.on_acknowledgement(&sample, &[hop, hop], &mut control);
                    }
                    Event::Notification => controller.on_ecn(&congestion(now), &mut control),
                    Event::Loss => controller.on_loss(&congestion(now), &mut control),
                    Event::Timeout => controller.on_timeout(&congestion(now), &mut control),
                    Event::Sent(bytes) => controller.on_sent(bytes, now, &mut control),
                    Event::Timer => if controller.timer() <= now { controller.on_timer(now, &mut control) },
                }
                let rate = control.pacing_rate.map_or(1, Rate::bits_per_second);
                prop_assert!(rate <= setup.line_rate.bits_per_second().max(1), "{}: {rate}", config.name());
                prop_assert!(control.congestion_window >= 1.0, "{}", config.name());
                prop_assert!(control.congestion_window <= 256.0 || config.name() != "swift");
                if controller.timer() <= now {
                    controller.on_timer(now, &mut control);
                }
                prop_assert!(controller.timer() > now, "{} asks for the past", config.name());
                let mut finite = true;
                controller.gauges(&mut |_, value| finite &= value.is_finite());
                prop_assert!(finite, "{}", config.name());
            }
        }
    }
}
