//! Arbitrary sequences of samples.

use proptest::prelude::*;

use super::*;

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
                            acked_segments: 1.0,
                            delivered_segments: 1.0,
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
