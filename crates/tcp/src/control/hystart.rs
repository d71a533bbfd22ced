//! HyStart: slow start that ends when the path begins to fill, not when it overflows.
//!
//! # What it does
//! Two signs end slow start at the present window. *Delay*: the shortest of the first round-trip samples in a round
//! exceeds the shortest of all by an eighth of it (at least 4 ms, at most 16 ms). *ACK train*: the ACKs of a round have
//! kept coming without a gap for half a round trip, so that as much is in flight as the path holds.
//!
//! # When to use it
//! Use it with CUBIC, to model Linux. Jitter and bursty ACKs can end slow start too early; `hystart_plus_plus` recovers
//! from that.
//!
//! # Example
//! ```toml
//! transport.tcp = { congestion_control = "newreno", slow_start = "hystart" }
//! ```
//!
//! It is the default with `cubic`.
//!
//! # Source
//! Ha & Rhee 2011, "Taming the elephants: new TCP slow start" (sections 4.1 and 4.2), with the constants and the order
//! of tests of Linux (`tcp_cubic.c`), where it is CUBIC's slow start.
//!
//! # Where we differ
//! Rounds are those of Linux since 6.14: the ACK that opens a round belongs to it, also below the smallest window that
//! is watched. Before 5.16 it belonged to the round before. From 5.16 to 6.13 no round began below that window. In
//! contrast, ns-3 compares the train with a whole round trip and the delay with at least twice the shortest one. We use
//! Linux's rules for a sender without pacing. Only the first segments of a round are timed.
//!
//! # Parameters
//! None: `transport.tcp.slow_start = "hystart"`, the default with `cubic`.

use crate::control::slow_start::SlowStartPolicy;
use crate::{AckSample, Control, Span, Time};

/// Smaller windows are left to grow (`hystart_low_window`).
const LOW_WINDOW_SEGMENTS: f64 = 16.0;

/// ACKs further apart end a train (`hystart_ack_delta_us`).
const TRAIN_GAP: Span = Span::from_milliseconds(2);

/// Round-trip samples before the delay of a round is judged (`HYSTART_MIN_SAMPLES`, RFC 9406's `N_RTT_SAMPLE`).
pub(crate) const SAMPLES: u32 = 8;

/// The time by which the round trip may exceed the shortest one: an eighth, from 4 ms to 16 ms (`HYSTART_DELAY_THRESH`;
/// RFC 9406's `RttThresh`).
pub(crate) fn tolerated_delay(shortest: Span) -> Span {
    let eighth = Span::from_picoseconds(shortest.picoseconds() / 8);
    eighth.max(Span::from_milliseconds(4)).min(Span::from_milliseconds(16))
}

/// Linux's HyStart.
#[derive(Debug)]
pub(crate) struct HyStart {
    /// The round ends when more than this is acknowledged.
    round_end: u64,
    round_start: Time,
    /// The last ACK of the train that began with the round.
    last_ack: Time,
    /// The shortest round trip of all.
    shortest: Span,
    /// The shortest of the round, and of how many samples.
    shortest_in_round: Span,
    samples: u32,
    /// The end was found: from then on the standard slow start, until a timeout.
    is_done: bool,
}

impl HyStart {
    pub fn new() -> Self {
        Self {
            round_end: 0,
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            shortest: Span::MAX,
            shortest_in_round: Span::MAX,
            samples: 0,
            is_done: false,
        }
    }

    /// Whether the ACKs since the start of the round have come without a gap for half a round trip.
    fn is_train_long(&mut self, now: Time) -> bool {
        if now.since(self.last_ack) > TRAIN_GAP {
            return false;
        }
        self.last_ack = now;
        now.since(self.round_start).picoseconds() > self.shortest.picoseconds() / 2
    }

    /// Whether this round's shortest delay shows a queue.
    fn is_delay_long(&self) -> bool {
        let limit = self.shortest.picoseconds().saturating_add(tolerated_delay(self.shortest).picoseconds());
        self.samples > SAMPLES && self.shortest_in_round.picoseconds() > limit
    }
}

impl SlowStartPolicy for HyStart {
    fn on_ack(&mut self, ack: &AckSample<'_>, control: &mut Control) {
        if ack.acknowledged > self.round_end {
            self.round_end = ack.next;
            (self.round_start, self.last_ack) = (ack.now, ack.now);
            (self.shortest_in_round, self.samples) = (Span::MAX, 0);
        }
        if let Some(sample) = ack.round_trips.latest {
            self.shortest = self.shortest.min(sample);
            self.shortest_in_round = self.shortest_in_round.min(sample);
            self.samples += 1;
        }
        let is_watching = !self.is_done && control.congestion_window >= LOW_WINDOW_SEGMENTS;
        if is_watching && (self.is_train_long(ack.now) || self.is_delay_long()) {
            self.is_done = true;
            control.slow_start_threshold = control.congestion_window;
        } else {
            control.congestion_window += ack.acked_segments;
        }
    }

    fn on_timeout(&mut self) {
        self.is_done = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::slow_start::tests::Rounds;

    const fn ms(ms: u64) -> Span {
        Span::from_milliseconds(ms)
    }

    #[test]
    fn the_tolerated_delay_is_an_eighth_within_bounds() {
        assert_eq!(tolerated_delay(ms(1)), ms(4));
        assert_eq!(tolerated_delay(ms(80)), ms(10));
        assert_eq!(tolerated_delay(ms(1000)), ms(16));
    }

    #[test]
    fn a_longer_delay_ends_slow_start_after_eight_samples() {
        for (delay, ends) in [(112, false), (113, true)] {
            let (mut policy, mut rounds) = (HyStart::new(), Rounds::new(16));
            rounds.round(&mut policy, ms(100), Span::ZERO);
            rounds.round(&mut policy, ms(delay), Span::ZERO);
            assert_eq!(!rounds.is_in_slow_start(), ends, "{delay} ms");
            assert_eq!(rounds.window(), if ends { 40.0 } else { 64.0 });
        }
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        // ACKs 1 ms apart on a path of 20 ms: the twelfth comes 11 ms after the first.
        let (mut policy, mut rounds) = (HyStart::new(), Rounds::new(20));
        rounds.round(&mut policy, ms(20), ms(1));
        assert!(!rounds.is_in_slow_start());
        assert_eq!(rounds.window(), 31.0);
        // A gap of more than 2 ms is the end of the train.
        let (mut policy, mut rounds) = (HyStart::new(), Rounds::new(20));
        rounds.round(&mut policy, ms(20), ms(3));
        assert!(rounds.is_in_slow_start());
    }

    #[test]
    fn a_delay_of_just_the_tolerated_one_is_none() {
        // An eighth of 80 ms is 10 ms, and Linux asks for more than that.
        for (delay, ends) in [(ms(90), false), (ms(90) + Span::from_picoseconds(1), true)] {
            let (mut policy, mut rounds) = (HyStart::new(), Rounds::new(16));
            rounds.round(&mut policy, ms(80), Span::ZERO);
            rounds.round(&mut policy, delay, Span::ZERO);
            assert_eq!(!rounds.is_in_slow_start(), ends, "{delay:?}");
        }
    }

    #[test]
    fn a_train_has_no_gap_of_more_than_two_milliseconds() {
        // On a path of 20 ms the train is long after more than 10 ms: with the seventh ACK, the sixth being 10 ms late.
        for (gap, window) in [(ms(2), 26.0), (ms(2) + Span::from_picoseconds(1), 40.0)] {
            let (mut policy, mut rounds) = (HyStart::new(), Rounds::new(20));
            rounds.round(&mut policy, ms(20), gap);
            assert_eq!((rounds.window(), rounds.is_in_slow_start()), (window, window == 40.0), "{gap:?}");
        }
    }

    #[test]
    fn the_end_is_looked_for_from_sixteen_segments_on() {
        // On a path of 1 ms the second of ACKs 1 ms apart makes a long train. Below that window none is looked at.
        for initial in [14, 15] {
            let (mut policy, mut rounds) = (HyStart::new(), Rounds::new(initial));
            rounds.round(&mut policy, ms(1), ms(1));
            assert_eq!((rounds.window(), rounds.is_in_slow_start()), (16.0, false), "from {initial}");
        }
    }

    #[test]
    fn the_ack_up_to_the_end_of_a_round_belongs_to_it() {
        let (mut policy, mut rounds) = (HyStart::new(), Rounds::new(16));
        rounds.round(&mut policy, ms(80), ms(1));
        // Sixteen samples, of which the last is that of the ACK up to the end of the round.
        assert_eq!((policy.samples, policy.round_end), (16, rounds.acknowledged));
        assert_eq!(policy.round_start, Time::ZERO + ms(80));
        // The next byte opens a round, which lasts until all that has been sent by then is acknowledged.
        rounds.acknowledged += 1;
        rounds.next += 5000;
        rounds.ack(&mut policy, Time::ZERO + ms(200));
        assert_eq!((policy.samples, policy.round_end), (0, rounds.next));
        assert_eq!((policy.round_start, policy.last_ack), (Time::ZERO + ms(200), Time::ZERO + ms(200)));
    }

    #[test]
    fn each_round_times_its_first_segments() {
        // Were they counted once for all, the third round would have none left: 24 segments are timed.
        let (mut policy, mut rounds) = (HyStart::new(), Rounds::new(16));
        for delay in [80, 80, 91] {
            assert!(rounds.is_in_slow_start());
            rounds.round(&mut policy, ms(delay), Span::ZERO);
        }
        // Eight samples of the third round, then the ninth ends slow start at the window reached.
        assert_eq!((rounds.window(), rounds.is_in_slow_start()), (64.0 + 8.0, false));
    }

    #[test]
    fn small_windows_grow_whatever_the_delay() {
        let (mut policy, mut rounds) = (HyStart::new(), Rounds::new(4));
        rounds.round(&mut policy, ms(20), ms(1));
        rounds.round(&mut policy, ms(200), Span::ZERO);
        assert_eq!(rounds.window(), 16.0);
        assert!(rounds.is_in_slow_start());
    }

    #[test]
    fn looks_out_again_after_a_timeout_only() {
        let (mut policy, mut rounds) = (HyStart::new(), Rounds::new(20));
        rounds.round(&mut policy, ms(20), ms(1));
        for looks_out in [false, true] {
            rounds.control.slow_start_threshold = f64::INFINITY;
            rounds.round(&mut policy, ms(20), ms(1));
            assert_eq!(rounds.is_in_slow_start(), !looks_out);
            policy.on_timeout();
        }
    }
}
