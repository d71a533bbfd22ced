//! HyStart++: slow start that slows down when the delay rises, and ends if it stays high.
//!
//! # What it does
//! When the shortest round trip of a round exceeds that of the round before by an eighth (at least 4 ms, at most 16
//! ms), conservative slow start begins, with a quarter of the growth. If the delay falls below its value at the start
//! of this phase within five rounds, the rise was jitter and slow start continues; otherwise it ends at the present
//! window.
//!
//! # When to use it
//! Use it to model senders that follow RFC 9406, such as Windows. For Linux with CUBIC use `hystart`.
//!
//! # Example
//! ```toml
//! transport.tcp = { slow_start = "hystart_plus_plus" }
//! ```
//!
//! # Source
//! RFC 9406, sections 4.2 and 4.3.
//!
//! # Where we differ
//! `byte_counting_limit` limits what an ACK adds, rather than the RFC's L of 8. Only the first segments of a round are
//! timed.
//!
//! # Parameters
//! None: `transport.tcp.slow_start = "hystart_plus_plus"`.

use crate::control::hystart::{SAMPLES, tolerated_delay};
use crate::control::slow_start::SlowStartPolicy;
use crate::{AckSample, Control, Span};

/// Rounds of conservative slow start, the one in which it begins included (`CSS_ROUNDS`).
const CONSERVATIVE_ROUNDS: u32 = 5;

/// The factor by which conservative slow start is slower (`CSS_GROWTH_DIVISOR`).
const CONSERVATIVE_DIVISOR: f64 = 4.0;

/// RFC 9406's slow start.
#[derive(Debug)]
pub(crate) struct HyStartPlusPlus {
    /// The round ends when more than this is acknowledged (`windowEnd`).
    round_end: u64,
    /// The shortest round trip of the last round and of this one, and of how many samples (`lastRoundMinRTT`,
    /// `currentRoundMinRTT`, `rttSampleCount`).
    shortest_in_last_round: Span,
    shortest_in_round: Span,
    samples: u32,
    conservative: Option<Conservative>,
    /// The threshold before anything has set it: while it stands, this is the first slow start (section 4.3).
    initial_threshold: f64,
}

/// Conservative slow start (CSS).
#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// The shortest round trip at its start (`cssBaselineMinRtt`).
    baseline: Span,
    /// Rounds that have ended since.
    rounds: u32,
}

impl HyStartPlusPlus {
    pub fn new(initial_threshold: f64) -> Self {
        Self {
            round_end: 0,
            shortest_in_last_round: Span::MAX,
            shortest_in_round: Span::MAX,
            samples: 0,
            conservative: None,
            initial_threshold,
        }
    }

    fn begin_round(&mut self, round_end: u64) {
        self.round_end = round_end;
        self.shortest_in_last_round = self.shortest_in_round;
        (self.shortest_in_round, self.samples) = (Span::MAX, 0);
        if let Some(conservative) = &mut self.conservative {
            conservative.rounds += 1;
        }
    }

    /// RFC 9406, 4.2: enters conservative slow start, or takes it back.
    fn judge_delay(&mut self) {
        let (last, this) = (self.shortest_in_last_round, self.shortest_in_round);
        if self.samples < SAMPLES || last == Span::MAX {
            return;
        }
        match self.conservative {
            None if this.picoseconds() >= last.picoseconds().saturating_add(tolerated_delay(last).picoseconds()) => {
                self.conservative = Some(Conservative { baseline: this, rounds: 0 });
            }
            Some(conservative) if this < conservative.baseline => self.conservative = None,
            _ => {}
        }
    }
}

impl SlowStartPolicy for HyStartPlusPlus {
    fn on_ack(&mut self, ack: &AckSample<'_>, control: &mut Control) {
        if control.slow_start_threshold != self.initial_threshold {
            control.congestion_window += ack.acked_segments;
            return;
        }
        if ack.acknowledged > self.round_end {
            self.begin_round(ack.next);
        }
        if let Some(sample) = ack.round_trips.latest {
            self.shortest_in_round = self.shortest_in_round.min(sample);
            self.samples += 1;
            self.judge_delay();
        }
        match self.conservative {
            None => control.congestion_window += ack.acked_segments,
            Some(Conservative { rounds, .. }) if rounds < CONSERVATIVE_ROUNDS => {
                control.congestion_window += ack.acked_segments / CONSERVATIVE_DIVISOR;
            }
            Some(_) => control.slow_start_threshold = control.congestion_window,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::slow_start::tests::Rounds;

    /// The window after each round of these round trips, in milliseconds.
    fn windows(rounds: &mut Rounds, round_trips_ms: &[u64]) -> alloc::vec::Vec<f64> {
        let mut policy = HyStartPlusPlus::new(f64::INFINITY);
        let mut round = |ms: &u64| {
            rounds.round(&mut policy, Span::from_milliseconds(*ms), Span::ZERO);
            rounds.window()
        };
        round_trips_ms.iter().map(&mut round).collect()
    }

    #[test]
    fn a_delay_that_stays_ends_slow_start_after_five_slow_rounds() {
        let mut rounds = Rounds::new(16);
        let windows = windows(&mut rounds, &[100, 113, 113, 113, 113, 113, 113]);
        // Seven ACKs at full speed in the second round, then a quarter; the first ACK of the seventh ends it.
        assert_eq!(windows[..3], [32.0, 32.0 + 7.0 + 25.0 / 4.0, 45.25 + 45.0 / 4.0]);
        for round in 2..6 {
            assert_eq!(windows[round], windows[round - 1] + windows[round - 1].floor() / 4.0, "round {round}");
        }
        assert_eq!(windows[5], windows[6]);
        assert!(!rounds.is_in_slow_start());
    }

    #[test]
    fn jitter_is_taken_back() {
        let mut rounds = Rounds::new(16);
        let windows = windows(&mut rounds, &[100, 120, 100, 100, 100]);
        // In the third round the eighth sample shows that the delay has gone.
        assert_eq!(windows[2], windows[1] + 7.0 / 4.0 + (windows[1] - 7.25));
        assert_eq!(windows[4], windows[3] + windows[3].floor());
        assert!(rounds.is_in_slow_start());
    }

    #[test]
    fn a_small_rise_is_nothing() {
        let mut rounds = Rounds::new(16);
        assert_eq!(windows(&mut rounds, &[100, 112, 125]), [32.0, 64.0, 128.0]);
    }

    #[test]
    fn a_rise_of_just_an_eighth_is_one() {
        // RFC 9406, 4.2: "currentRoundMinRTT >= (lastRoundMinRTT + RttThresh)", here 80 ms and 10 ms.
        let mut rounds = Rounds::new(16);
        assert_eq!(windows(&mut rounds, &[80, 90]), [32.0, 32.0 + 7.0 + 25.0 / 4.0]);
        let (mut policy, mut rounds) = (HyStartPlusPlus::new(f64::INFINITY), Rounds::new(16));
        rounds.round(&mut policy, Span::from_milliseconds(80), Span::ZERO);
        rounds.round(&mut policy, Span::from_picoseconds(90_000_000_000 - 1), Span::ZERO);
        assert_eq!(rounds.window(), 64.0);
    }

    #[test]
    fn the_ack_up_to_the_end_of_a_round_belongs_to_it() {
        let (mut policy, mut rounds) = (HyStartPlusPlus::new(f64::INFINITY), Rounds::new(16));
        rounds.round(&mut policy, Span::from_milliseconds(80), Span::ZERO);
        assert_eq!((policy.samples, policy.round_end), (16, rounds.acknowledged));
        rounds.acknowledged += 1;
        rounds.next += 5000;
        rounds.ack(&mut policy, crate::Time::ZERO + Span::from_milliseconds(200));
        assert_eq!((policy.samples, policy.round_end), (0, rounds.next));
        assert_eq!(policy.shortest_in_last_round, Span::from_milliseconds(80));
    }

    #[test]
    fn each_round_times_its_first_segments() {
        let mut rounds = Rounds::new(16);
        // Were they counted once for all, the third round would have no samples, and the rise would not be seen.
        assert_eq!(windows(&mut rounds, &[80, 80, 90])[2], 64.0 + 7.0 + 57.0 / 4.0);
    }

    #[test]
    fn only_the_first_slow_start_is_watched() {
        let mut rounds = Rounds::new(16);
        rounds.control.slow_start_threshold = 1000.0;
        assert_eq!(windows(&mut rounds, &[100, 200, 400]), [32.0, 64.0, 128.0]);
    }
}
