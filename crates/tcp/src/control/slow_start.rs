//! The interface of a slow start: how the window opens at first and after a timeout.

use core::fmt;

use crate::{AckSample, Control};

/// How the window opens below the threshold.
pub(crate) trait SlowStartPolicy: fmt::Debug + Send {
    /// Whether it uses [`RoundTrips::latest`](crate::RoundTrips::latest).
    const TIMES_ACKS: bool = true;

    /// An ACK during slow start: opens the window, or ends slow start by setting the threshold to it.
    fn on_ack(&mut self, ack: &AckSample<'_>, control: &mut Control);

    /// The retransmission timer has expired: slow start begins again.
    fn on_timeout(&mut self) {}
}

/// RFC 5681, equation 2: adds what an ACK covers, until the first loss.
#[derive(Debug)]
pub(crate) struct StandardSlowStart;

impl SlowStartPolicy for StandardSlowStart {
    const TIMES_ACKS: bool = false;

    #[inline(always)]
    fn on_ack(&mut self, ack: &AckSample<'_>, control: &mut Control) {
        control.congestion_window += ack.acked_segments;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::departures::Departures;
    use crate::{Phase, RoundTrips, Span, Time};

    /// A sender in slow start whose path the test makes up, round by round. Segments have 1000 bytes.
    pub(crate) struct Rounds {
        pub control: Control,
        pub acknowledged: u64,
        pub next: u64,
        departures: Departures,
        now: Time,
    }

    impl Rounds {
        pub fn new(initial_window_segments: u32) -> Self {
            let control = Control::new(f64::from(initial_window_segments), f64::INFINITY);
            Self { control, acknowledged: 1, next: 1, departures: Departures::new(), now: Time::ZERO }
        }

        /// Sends a window at once; the ACKs begin after `round_trip` and come `gap` apart.
        pub fn round(&mut self, policy: &mut impl SlowStartPolicy, round_trip: Span, gap: Span) {
            let segments = self.window() as u64;
            for _ in 0..segments {
                self.next += 1000;
                self.departures.note(self.next, self.now);
            }
            let sent = self.now;
            for segment in 0..segments {
                self.acknowledged += 1000;
                if self.is_in_slow_start() {
                    self.ack(policy, sent + round_trip + gap * segment);
                }
                self.now = sent + round_trip + gap * segment;
            }
        }

        /// An ACK up to [`Rounds::acknowledged`].
        pub fn ack(&mut self, policy: &mut impl SlowStartPolicy, now: Time) {
            let latest = self.departures.sample(self.acknowledged, self.next, now);
            let round_trips = RoundTrips { latest, ..RoundTrips::default() };
            let ack = AckSample {
                now,
                acked_segments: 1.0,
                delivered_segments: 1.0,
                acknowledged: self.acknowledged,
                next: self.next,
                is_window_used: true,
                echoes_mark: false,
                marked_segments: 0.0,
                phase: Phase::Open,
                round_trips,
                delivery: None,
            };
            policy.on_ack(&ack, &mut self.control);
        }

        pub fn window(&self) -> f64 {
            self.control.congestion_window
        }

        pub fn is_in_slow_start(&self) -> bool {
            self.window() < self.control.slow_start_threshold
        }
    }
}
