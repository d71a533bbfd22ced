//! How a reaction point of the QCN family wins its rate back: shared by QCN and DCQCN.
//!
//! After a cut the limiter has two rates: the current one, at which it sends, and the target, near what it had before.
//! Cycles go by, counted by sent bytes and by a timer alike, each with a stage of its own; at the end of each cycle the
//! current rate moves half the way to the target. While both stages are low that is all (*fast recovery*); then the
//! target rises by a fixed step (*active increase*), and once both stages are high by ever larger ones (*hyper-active
//! increase*). The byte counter lets a fast flow recover at its own pace, the timer saves a slow one from waiting for
//! bytes. A limiter whose rate has come up to the line's is gone.

use forebay_units::{Bytes, Rate, Span, Time};
use rand_core::Rng;

use super::{Context, Message, ReactionPoint};
use crate::{ParameterError, require, uniform};

/// A target more than this many times the current rate is lowered ...
const FAR_TARGET: f64 = 10.0;
/// ... by this factor. As 10 / 8 is above 1, it stays above the current rate.
const FAR_TARGET_DIVISOR: f64 = 8.0;

/// Whose reading of the stages: where the phases begin, and which cycles are half as long. The sources differ by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stages {
    /// The serial pseudo-code 2.x of QCN.
    PseudoCode,
    /// The state machine of IEEE 802.1Qau.
    Standard,
    /// Figure 7 of the DCQCN paper. Its cycles all have the same length.
    Dcqcn,
}

/// The parameters of the increase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IncreaseRules {
    pub stages: Stages,
    /// The stage at which fast recovery ends.
    pub threshold: u32,
    /// Bytes in a cycle of the byte counter.
    pub cycle_bytes: u64,
    /// The timer's cycle.
    pub cycle_time: Span,
    /// Cycles after the first are longer or shorter by up to this fraction.
    pub jitter: f64,
    /// `R_AI`, in bits per second.
    pub active_bps: f64,
    /// `R_HAI`, in bits per second.
    pub hyper_bps: f64,
    /// Whether a cut in the first cycle of the byte counter after another one leaves the target alone.
    pub keeps_target: bool,
    /// Whether a target far above the current rate is lowered at the end of a first cycle.
    pub lowers_target: bool,
}

impl IncreaseRules {
    /// Checks the parameters of the increase that every scheme has, on a link of the rate `line`.
    pub fn check(
        line: Rate,
        min_rate: Rate,
        byte_cycle: Bytes,
        timer_cycle: Span,
        fast_recovery_cycles: u32,
    ) -> Result<(), ParameterError> {
        require(min_rate <= line, "min_rate", "be at most the rate of the adapter's link")?;
        require(byte_cycle.0 > 0, "byte_cycle", "be at least 1 B")?;
        require(timer_cycle > Span::ZERO, "timer_cycle", "be more than 0")?;
        require(fast_recovery_cycles > 0, "fast_recovery_cycles", "be at least 1")
    }

    /// The highest stage in fast recovery: it ends when either stage is above.
    fn last_recovering(&self) -> u32 {
        match self.stages {
            Stages::PseudoCode => self.threshold,
            Stages::Standard | Stages::Dcqcn => self.threshold - 1,
        }
    }

    /// The stage that both must exceed for hyper-active increase; its steps are counted from here.
    fn last_active(&self) -> u32 {
        match self.stages {
            Stages::PseudoCode | Stages::Dcqcn => self.threshold,
            Stages::Standard => self.threshold - 1,
        }
    }

    fn is_recovering(&self, byte_stage: u32, time_stage: u32) -> bool {
        byte_stage.max(time_stage) <= self.last_recovering()
    }

    /// The increment of the target at these stages.
    fn increment_bps(&self, byte_stage: u32, time_stage: u32) -> f64 {
        let beyond = byte_stage.min(time_stage).saturating_sub(self.last_active());
        if beyond > 0 {
            self.hyper_bps * f64::from(beyond)
        } else if self.is_recovering(byte_stage, time_stage) {
            0.0
        } else {
            self.active_bps
        }
    }

    /// Whether the cycle that begins now is a short one: its counter has just reached `stage`, in fast recovery or not.
    fn is_short(&self, stage: u32, was_recovering: bool) -> bool {
        match self.stages {
            Stages::PseudoCode => stage >= self.threshold,
            // The states of fast recovery always begin full cycles (RPR_FAST_BYTE, RPR_FAST_TIME).
            Stages::Standard => stage >= self.threshold && !was_recovering,
            Stages::Dcqcn => false,
        }
    }

    /// The length of the next cycle, as a multiple of the full one's.
    fn cycle_scale(&self, short: bool, rng: &mut dyn Rng) -> f64 {
        let scale = if short { 0.5 } else { 1.0 };
        if self.jitter == 0.0 { scale } else { scale * jittered(self.jitter, rng) }
    }
}

/// A factor drawn uniformly from 1 - `jitter` .. 1 + `jitter`.
pub(crate) fn jittered(jitter: f64, rng: &mut dyn Rng) -> f64 {
    1.0 + jitter * (2.0 * uniform(rng) - 1.0)
}

/// A rate limiter that is cut from outside and recovers by itself.
#[derive(Clone, Debug)]
pub(crate) struct RateIncrease {
    rules: IncreaseRules,
    line_bps: f64,
    min_bps: f64,
    current_bps: f64,
    target_bps: f64,
    byte_stage: u32,
    time_stage: u32,
    /// The bytes left in this cycle of the byte counter.
    bytes_left: u64,
    /// The end of the timer's cycle; [`Time::NEVER`] while there is no limit.
    timer_at: Time,
}

impl RateIncrease {
    /// Starts without a limit on a link of rate `line`; no cut goes below `min`.
    pub fn new(rules: IncreaseRules, line: Rate, min: Rate) -> Self {
        let line_bps = line.bits_per_second() as f64;
        Self {
            rules,
            line_bps,
            min_bps: min.bits_per_second() as f64,
            current_bps: line_bps,
            target_bps: line_bps,
            byte_stage: 0,
            time_stage: 0,
            bytes_left: rules.cycle_bytes,
            timer_at: Time::NEVER,
        }
    }

    /// The limit in bits per second, if there is one.
    pub fn rate_bps(&self) -> Option<f64> {
        self.is_limiting().then_some(self.current_bps)
    }

    fn is_limiting(&self) -> bool {
        self.timer_at < Time::NEVER
    }

    /// The due time of [`RateIncrease::expire`].
    pub fn poll_at(&self) -> Time {
        self.timer_at
    }

    /// Multiplies the rate by `factor`, and begins again with fast recovery.
    pub fn cut(&mut self, factor: f64, now: Time) {
        if self.byte_stage > 0 || !self.rules.keeps_target {
            self.target_bps = self.current_bps;
            self.bytes_left = self.rules.cycle_bytes;
        }
        self.byte_stage = 0;
        self.time_stage = 0;
        self.current_bps = (self.current_bps * factor).max(self.min_bps);
        self.timer_at = now.saturating_add(self.rules.cycle_time);
    }

    /// This many bytes may be sent before a cycle ends: the byte counter.
    pub fn bytes_left(&self) -> u64 {
        if self.is_limiting() { self.bytes_left } else { u64::MAX }
    }

    /// Frames of this many bytes have been sent.
    pub fn sent(&mut self, sent_bytes: u64, rng: &mut dyn Rng) {
        if !self.is_limiting() {
            return;
        }
        if let Some(left) = self.bytes_left.checked_sub(sent_bytes) {
            self.bytes_left = left;
            return;
        }
        let was_recovering = self.rules.is_recovering(self.byte_stage, self.time_stage);
        self.byte_stage = self.byte_stage.saturating_add(1);
        let short = self.rules.is_short(self.byte_stage, was_recovering);
        self.bytes_left = (self.rules.cycle_bytes as f64 * self.rules.cycle_scale(short, rng)) as u64;
        self.increase();
    }

    /// The timer's cycle has ended.
    pub fn expire(&mut self, now: Time, rng: &mut dyn Rng) {
        if now < self.timer_at {
            return;
        }
        let was_recovering = self.rules.is_recovering(self.byte_stage, self.time_stage);
        self.time_stage = self.time_stage.saturating_add(1);
        let short = self.rules.is_short(self.time_stage, was_recovering);
        let picoseconds = self.rules.cycle_time.picoseconds() as f64 * self.rules.cycle_scale(short, rng);
        // However short the cycle: the next one ends later.
        self.timer_at = now.saturating_add(Span::from_picoseconds((picoseconds as u64).max(1)));
        self.increase();
    }

    /// The end of a cycle.
    fn increase(&mut self) {
        let ends_first_cycle = self.byte_stage == 1 || self.time_stage == 1;
        if self.rules.lowers_target && ends_first_cycle && self.target_bps > FAR_TARGET * self.current_bps {
            self.target_bps /= FAR_TARGET_DIVISOR;
        } else {
            self.target_bps += self.rules.increment_bps(self.byte_stage, self.time_stage);
        }
        // The target may be beyond the line's rate, or the current rate would approach that and never get there.
        self.current_bps = (self.current_bps + self.target_bps) / 2.0;
        if self.current_bps >= self.line_bps {
            self.release();
        }
    }

    /// Ends the limit; the next cut is the first one again.
    fn release(&mut self) {
        self.current_bps = self.line_bps;
        self.target_bps = self.line_bps;
        self.byte_stage = 0;
        self.time_stage = 0;
        self.bytes_left = self.rules.cycle_bytes;
        self.timer_at = Time::NEVER;
    }
}

/// The effect of a message on the rate, in which the schemes of the family differ.
pub(crate) trait Answer: Send {
    /// A message about the flow has come.
    fn receive(&mut self, message: &Message, rate: &mut RateIncrease, now: Time);
}

/// A reaction point: messages cut its rate, which then recovers.
#[derive(Clone, Debug)]
pub(crate) struct RecoveringRate<A> {
    pub answer: A,
    pub rate: RateIncrease,
}

impl<A: Answer> ReactionPoint for RecoveringRate<A> {
    fn receive(&mut self, message: &Message, context: &mut Context<'_>) {
        self.answer.receive(message, &mut self.rate, context.now);
    }

    fn sent(&mut self, sent_bytes: u64, context: &mut Context<'_>) -> Option<Message> {
        self.rate.sent(sent_bytes, context.rng);
        None
    }

    fn byte_counter(&self) -> u64 {
        self.rate.bytes_left()
    }

    fn poll_at(&self) -> Time {
        self.rate.poll_at()
    }

    fn expire(&mut self, context: &mut Context<'_>) -> Option<Message> {
        self.rate.expire(context.now, context.rng);
        None
    }

    fn rate_bps(&self) -> Option<f64> {
        self.rate.rate_bps()
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::test_support::rng;

    const LINE: Rate = Rate::megabits(10_000);
    const LINE_BPS: f64 = 1e10;
    const PERIOD: Span = Span::from_milliseconds(15);

    fn rules(stages: Stages) -> IncreaseRules {
        IncreaseRules {
            stages,
            threshold: 5,
            cycle_bytes: 150_000,
            cycle_time: PERIOD,
            jitter: 0.0,
            active_bps: 5e6,
            hyper_bps: 50e6,
            keeps_target: true,
            lowers_target: true,
        }
    }

    fn limiter(rules: IncreaseRules) -> RateIncrease {
        RateIncrease::new(rules, LINE, Rate::megabits(1))
    }

    /// Ends a cycle of the timer.
    fn tick(limiter: &mut RateIncrease) {
        let now = limiter.poll_at();
        limiter.expire(now, &mut rng(1));
    }

    /// Ends a cycle of the byte counter.
    fn count(limiter: &mut RateIncrease) {
        let stage = limiter.byte_stage;
        while limiter.byte_stage == stage {
            limiter.sent(1500, &mut rng(1));
        }
    }

    #[test]
    fn fast_recovery_halves_the_distance_each_cycle() {
        for (stages, cycles) in [(Stages::PseudoCode, 5), (Stages::Standard, 4), (Stages::Dcqcn, 4)] {
            let mut limiter = limiter(rules(stages));
            limiter.cut(0.5, Time::ZERO);
            for cycle in 1..=cycles {
                tick(&mut limiter);
                // line - (line - rate after the cut) / 2^n; all of it exact in binary.
                assert_eq!(limiter.rate_bps(), Some(LINE_BPS - 5e9 / f64::from(1 << cycle)), "{stages:?}");
            }
            tick(&mut limiter);
            let recovered = LINE_BPS - 5e9 / f64::from(1 << (cycles + 1));
            assert_eq!(limiter.rate_bps(), Some(recovered + 2.5e6), "{stages:?}: half of an active increase");
        }
    }

    /// The increment at each pair of stages: none, active, or this many times the hyper-active one. A row for each byte
    /// stage.
    fn increments(stages: Stages) -> Vec<String> {
        let rules = rules(stages);
        let symbol = |increment: f64| match increment {
            0.0 => '.',
            5e6 => 'A',
            _ => char::from_digit((increment / 50e6) as u32, 10).unwrap(),
        };
        (0..8).map(|byte| (0..8).map(|time| symbol(rules.increment_bps(byte, time))).collect()).collect()
    }

    #[test]
    fn phases_by_the_stages_of_byte_counter_and_timer() {
        #[rustfmt::skip]
        assert_eq!(
            increments(Stages::PseudoCode),
            ["......AA", "......AA", "......AA", "......AA", "......AA", "......AA", "AAAAAA11", "AAAAAA12"]
        );
        #[rustfmt::skip]
        assert_eq!(
            increments(Stages::Standard),
            [".....AAA", ".....AAA", ".....AAA", ".....AAA", ".....AAA", "AAAAA111", "AAAAA122", "AAAAA123"]
        );
        #[rustfmt::skip]
        assert_eq!(
            increments(Stages::Dcqcn),
            [".....AAA", ".....AAA", ".....AAA", ".....AAA", ".....AAA", "AAAAAAAA", "AAAAAA11", "AAAAAA12"]
        );
    }

    #[test]
    fn cycles_are_halved_after_fast_recovery() {
        // In half periods; the first cycle is the one that the cut begins.
        for (stages, halves) in [
            (Stages::PseudoCode, [2, 2, 2, 2, 2, 1, 1, 1]),
            (Stages::Standard, [2, 2, 2, 2, 2, 2, 1, 1]),
            (Stages::Dcqcn, [2, 2, 2, 2, 2, 2, 2, 2]),
        ] {
            let mut limiter = limiter(IncreaseRules { active_bps: 0.0, ..rules(stages) });
            limiter.cut(0.5, Time::ZERO);
            let mut before = Time::ZERO;
            for half_periods in halves {
                assert_eq!(limiter.poll_at().since(before), PERIOD / 2 * half_periods, "{stages:?}");
                before = limiter.poll_at();
                tick(&mut limiter);
            }
        }
        // The byte counter follows the same rule, by its own stage: with the timer past fast recovery, the standard
        // halves from the fifth on.
        let mut limiter = limiter(IncreaseRules { active_bps: 0.0, hyper_bps: 0.0, ..rules(Stages::Standard) });
        limiter.cut(0.5, Time::ZERO);
        (0..5).for_each(|_| tick(&mut limiter));
        (0..4).for_each(|_| count(&mut limiter));
        assert_eq!(limiter.bytes_left, 150_000);
        count(&mut limiter);
        assert_eq!(limiter.bytes_left, 75_000);
    }

    #[test]
    fn cycles_are_jittered_but_for_the_first() {
        let mut limiter = limiter(IncreaseRules { jitter: 0.15, ..rules(Stages::Standard) });
        let mut rng = rng(1);
        limiter.cut(0.5, Time::ZERO);
        assert_eq!((limiter.poll_at(), limiter.bytes_left), (Time::ZERO + PERIOD, 150_000));
        limiter.expire(limiter.poll_at(), &mut rng);
        let second = limiter.poll_at().since(Time::ZERO + PERIOD).seconds() / PERIOD.seconds();
        assert!((0.85..1.15).contains(&second) && second != 1.0, "{second}");
    }

    #[test]
    fn a_byte_cycle_ends_with_the_frame_that_exceeds_it() {
        let mut limiter = limiter(rules(Stages::Standard));
        limiter.cut(0.5, Time::ZERO);
        (0..100).for_each(|_| limiter.sent(1500, &mut rng(1)));
        assert_eq!((limiter.byte_stage, limiter.bytes_left), (0, 0));
        limiter.sent(64, &mut rng(1));
        assert_eq!((limiter.byte_stage, limiter.rate_bps()), (1, Some(7.5e9)));
    }

    #[test]
    fn a_cut_in_the_first_byte_cycle_keeps_the_target() {
        let mut limiter = limiter(rules(Stages::Standard));
        limiter.cut(0.5, Time::ZERO);
        assert_eq!((limiter.target_bps, limiter.current_bps), (1e10, 5e9));
        // Neither a second cut nor cycles of the timer alone change that.
        limiter.cut(0.5, Time::ZERO);
        tick(&mut limiter);
        limiter.cut(0.5, Time::ZERO);
        assert_eq!((limiter.target_bps, limiter.current_bps), (1e10, 3.125e9));
        count(&mut limiter);
        let recovered = limiter.current_bps;
        limiter.cut(0.5, Time::ZERO);
        assert_eq!((limiter.target_bps, limiter.current_bps), (recovered, recovered / 2.0));

        let mut plain = RateIncrease::new(
            IncreaseRules { keeps_target: false, ..rules(Stages::Standard) },
            LINE,
            Rate::megabits(1),
        );
        plain.cut(0.5, Time::ZERO);
        plain.cut(0.5, Time::ZERO);
        assert_eq!((plain.target_bps, plain.current_bps), (5e9, 2.5e9));
    }

    #[test]
    fn a_far_target_is_lowered_at_the_end_of_the_first_cycle() {
        for (lowers_target, target) in [(true, 1.25e9), (false, 1e10)] {
            let mut limiter = limiter(IncreaseRules { lowers_target, ..rules(Stages::Standard) });
            (0..4).for_each(|_| limiter.cut(0.5, Time::ZERO));
            assert_eq!(limiter.current_bps, 0.625e9);
            tick(&mut limiter);
            assert_eq!((limiter.target_bps, limiter.current_bps), (target, (0.625e9 + target) / 2.0));
            // Only once: the second cycle is an ordinary one.
            tick(&mut limiter);
            assert_eq!(limiter.target_bps, target);
        }
        // Ten times is not yet far.
        let mut near = limiter(rules(Stages::Standard));
        near.cut(0.1, Time::ZERO);
        tick(&mut near);
        assert_eq!(near.target_bps, 1e10);
    }

    #[test]
    fn the_limit_ends_at_the_rate_of_the_line() {
        let mut limiter = limiter(rules(Stages::PseudoCode));
        limiter.cut(0.5, Time::ZERO);
        // Five cycles of fast recovery leave 156 Mb/s; the target then exceeds the line by 5, 10, 15 and 20 Mb/s.
        let mut cycles = 0;
        while limiter.rate_bps().is_some() {
            tick(&mut limiter);
            cycles += 1;
        }
        assert_eq!((cycles, limiter.poll_at()), (9, Time::NEVER));
        limiter.sent(1500, &mut rng(1));
        assert_eq!((limiter.bytes_left, limiter.target_bps), (150_000, LINE_BPS));
        limiter.cut(0.75, Time::ZERO);
        assert_eq!(limiter.rate_bps(), Some(7.5e9));
    }

    #[test]
    fn no_cut_goes_below_the_least_rate() {
        let mut limiter = limiter(rules(Stages::Standard));
        (0..50).for_each(|_| limiter.cut(0.5, Time::ZERO));
        assert_eq!(limiter.rate_bps(), Some(1e6));
    }

    proptest! {
        #[test]
        fn the_rate_stays_in_bounds_and_the_timer_in_the_future(
            stages in prop_oneof![Just(Stages::PseudoCode), Just(Stages::Standard), Just(Stages::Dcqcn)],
            (keeps_target, lowers_target) in any::<(bool, bool)>(),
            (jitter, threshold) in (0.0..1.0, 1_u32..8),
            cycle_time in prop_oneof![Just(Span::from_picoseconds(1)), Just(Span::from_microseconds(55)), Just(PERIOD)],
            (cycle_bytes, min_mbps) in (1_u64..1_000_000, 1_u64..=10_000),
            steps in prop::collection::vec((0_u8..3, 0.0..1.0, 1_u32..9000), 1..300),
        ) {
            let rules = IncreaseRules {
                threshold, cycle_bytes, cycle_time, jitter, keeps_target, lowers_target, ..rules(stages)
            };
            let mut limiter = RateIncrease::new(rules, LINE, Rate::megabits(min_mbps));
            let (mut now, mut rng) = (Time::ZERO, rng(7));
            for (what, factor, len_bytes) in steps {
                let before = limiter.rate_bps().unwrap_or(LINE_BPS);
                match what {
                    0 => limiter.cut(factor, now),
                    1 => limiter.sent(u64::from(len_bytes), &mut rng),
                    _ => {
                        if limiter.poll_at() < Time::NEVER {
                            // On time, or late.
                            now = now.max(limiter.poll_at()) + Span::from_nanoseconds(u64::from(len_bytes % 3));
                        }
                        limiter.expire(now, &mut rng);
                        prop_assert!(limiter.poll_at() > now);
                    }
                }
                let rate = limiter.rate_bps().unwrap_or(LINE_BPS);
                prop_assert!((min_mbps as f64 * 1e6..=LINE_BPS).contains(&rate), "{rate}");
                let is_cut = what == 0;
                prop_assert!(rate == before || (rate < before) == is_cut, "{before} to {rate}");
                prop_assert!(limiter.target_bps >= limiter.current_bps);
                prop_assert!(limiter.poll_at() >= now);
            }
        }
    }
}
