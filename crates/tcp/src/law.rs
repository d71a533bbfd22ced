//! The seam for window laws: how the congestion window grows with ACKs and shrinks at signs of congestion.

use core::fmt;

use crate::{RoundTrip, Time};

/// The congestion window and what ends slow start, both in full segments; fractions count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// The congestion window (RFC 5681's `cwnd`).
    pub congestion_window: f64,
    /// Below it the window grows by slow start, from it on by congestion avoidance (`ssthresh`).
    pub slow_start_threshold: f64,
}

/// The signal of congestion on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionSignal {
    /// A segment was lost, as duplicate ACKs or SACKs reported.
    Loss,
    /// The receiver echoes a mark.
    EcnEcho,
    /// The retransmission timer expired.
    Timeout,
}

/// A window law: congestion avoidance and what a sign of congestion does. The skeleton calls for growth only when the
/// window was in use, never during a recovery, and sees to the lower and upper bounds of the window.
pub trait WindowLaw: fmt::Debug + Send {
    /// An ACK of `acked_segments` new segments during congestion avoidance.
    fn avoid_congestion(&mut self, window: &mut Window, acked_segments: f64, path: &RoundTrip, now: Time);

    /// A sign of congestion: the window to continue with, in segments. `used_segments` is what was in flight: the
    /// congestion window with its fraction where that was the limit, otherwise less.
    ///
    /// The skeleton takes the whole part as slow-start threshold, at least 2, and continues with the window itself or,
    /// after a timeout, with one segment.
    fn reduce(&mut self, window: &Window, used_segments: f64, signal: CongestionSignal, now: Time) -> f64;

    /// An ACK has come while the window was not in use: for a law that grows with time, the time up to `now` does not
    /// count.
    fn pause(&mut self, _now: Time) {}

    /// The retransmission timer has expired in a window of data for which the window was reduced already: nothing from
    /// before counts, as after a timeout, but the threshold stays. Only with [`TimeoutResponse::Linux`].
    ///
    /// [`TimeoutResponse::Linux`]: crate::TimeoutResponse::Linux
    fn forget(&mut self) {}

    /// The last reduction is undone, because nothing was lost: the state before it applies again.
    fn undo(&mut self) {}

    /// The window starts over after an idle time: slow start comes before the next congestion avoidance.
    fn restart(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bic, BicConfig, Cubic, CubicArithmetic, CubicConfig, Linux26Cubic, LinuxBic, Reno, Span, TcpConfig};
    use alloc::boxed::Box;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug)]
    enum Event {
        Ack { segments: f64, gap_ps: u64 },
        Signal(CongestionSignal),
        Pause { gap_ps: u64 },
        Restart,
    }

    fn events() -> impl Strategy<Value = Vec<Event>> {
        let gap = || prop_oneof![0_u64..1_000_000_000, 0..u64::MAX / 1000];
        let signal =
            prop_oneof![Just(CongestionSignal::Loss), Just(CongestionSignal::EcnEcho), Just(CongestionSignal::Timeout)];
        let event = prop_oneof![
            20 => (0.0..4.0, gap()).prop_map(|(segments, gap_ps)| Event::Ack { segments, gap_ps }),
            1 => signal.prop_map(Event::Signal),
            1 => gap().prop_map(|gap_ps| Event::Pause { gap_ps }),
            1 => Just(Event::Restart),
        ];
        proptest::collection::vec(event, 1..400)
    }

    fn laws() -> [Box<dyn WindowLaw>; 6] {
        let linux = CubicConfig { arithmetic: CubicArithmetic::Linux, ..CubicConfig::default() };
        [
            Box::new(Reno),
            Box::new(Bic::new(BicConfig::default())),
            Box::new(Cubic::new(CubicConfig::default())),
            linux.law(),
            Box::new(LinuxBic::new()),
            Box::new(Linux26Cubic::new()),
        ]
    }

    proptest! {
        /// Whatever the times, round trips and windows: growth never shrinks the window and never more than doubles it
        /// (one segment for each acknowledged, where an ACK counts at least one), a reduction never enlarges it.
        #[test]
        fn windows_stay_sane(
            events in events(),
            start in 1.0_f64..1e7,
            round_trip_ps in 1_u64..u64::MAX / 4,
            granularity_ps in prop_oneof![Just(0_u64), Just(10_000_000_000)],
        ) {
            let config =
                TcpConfig { timer_granularity: Span::from_picoseconds(granularity_ps), ..TcpConfig::default() };
            let mut path = RoundTrip::new(&config);
            path.sample(Time::ZERO, Time::from_picoseconds(round_trip_ps / 8), false);
            for mut law in laws() {
                let mut now = Time::ZERO;
                let mut window = Window { congestion_window: start, slow_start_threshold: 0.0 };
                for &event in &events {
                    let before = window.congestion_window;
                    match event {
                        Event::Ack { segments, gap_ps } => {
                            now = now.saturating_add(Span::from_picoseconds(gap_ps));
                            law.avoid_congestion(&mut window, segments, &path, now);
                            let after = window.congestion_window;
                            prop_assert!(after.is_finite() && after >= before, "{law:?}: {before} to {after}");
                            let most = before + segments.max(1.0) + 1e-6 * before;
                            prop_assert!(after <= most, "{law:?}: {before} to {after}");
                        }
                        Event::Signal(signal) => {
                            let reduced = law.reduce(&window, before, signal, now);
                            prop_assert!((0.0..before).contains(&reduced), "{law:?}: {before} to {reduced}");
                            window.congestion_window = reduced.max(1.0);
                        }
                        Event::Pause { gap_ps } => {
                            now = now.saturating_add(Span::from_picoseconds(gap_ps));
                            law.pause(now);
                        }
                        Event::Restart => law.restart(),
                    }
                }
            }
        }
    }
}
