//! Which frames a queue shows its congestion point: all, each with a probability, or one in this many bytes.

use forebay_units::Bytes;
use rand_core::Rng;

use super::rate_increase::jittered;
use crate::{ParameterError, require};

/// Which data frames a queue samples.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum Sampling {
    /// Each with this probability.
    Probability(f64),
    /// One in this many bytes.
    Interval(SamplingInterval),
}

impl Sampling {
    pub(super) fn check(self) -> Result<(), ParameterError> {
        match self {
            Self::Probability(probability) => require(
                probability > 0.0 && probability <= 1.0,
                "sampling.probability",
                "be more than 0 and at most 1",
            )?,
            Self::Interval(SamplingInterval { bytes, jitter }) => {
                require(bytes.0 > 0, "sampling.interval.bytes", "be at least 1 B")?;
                let holds = (0.0..1.0).contains(&jitter);
                require(holds, "sampling.interval.jitter", "be at least 0 and less than 1")?;
            }
        }
        Ok(())
    }
}

impl Default for Sampling {
    fn default() -> Self {
        Self::Probability(0.02)
    }
}

/// The bytes that join the queue from one sample to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct SamplingInterval {
    /// Mean number of bytes. Default: 75 KB (slides).
    pub bytes: Bytes,
    /// Maximum deviation from the mean, as a fraction of it, so that samples do not synchronise with the traffic.
    /// Default: 0.15 (as with QCN).
    pub jitter: f64,
}

impl Default for SamplingInterval {
    fn default() -> Self {
        Self { bytes: Bytes(75_000), jitter: 0.15 }
    }
}

/// The most frames whose random numbers are drawn ahead.
const MOST_UNSAMPLED: u64 = 1024;

/// Draws that succeed with a fixed probability: as `uniform(rng) < probability`, but for what is drawn in advance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trials {
    /// The probability in units of 2^-53, rounded up: a draw of 53 bits is less than that or than the probability
    /// itself in the same cases.
    threshold: u64,
    /// The next draws, from the lowest bit on, and the number left. They are drawn together: to ask for one costs more
    /// than to make it.
    says_yes: u32,
    left: u32,
}

impl Trials {
    const TOGETHER: usize = u32::BITS as usize;

    fn new(probability: f64) -> Self {
        let threshold = libm::ceil(probability * (1_u64 << 53) as f64) as u64;
        Self { threshold, says_yes: 0, left: 0 }
    }

    /// Draws until the answer is yes, but at most `most` times: returns how often it was no, and whether it was yes
    /// then.
    fn draw(&mut self, most: u64, rng: &mut dyn Rng) -> (u64, bool) {
        let mut no = 0;
        while no < most {
            if self.left == 0 {
                self.refill(rng);
            }
            let next = u64::from(self.says_yes.trailing_zeros().min(self.left)).min(most - no) as u32;
            no += u64::from(next);
            let says_yes = next < self.left && no < most;
            let drawn = next + u32::from(says_yes);
            self.says_yes = self.says_yes.checked_shr(drawn).unwrap_or(0);
            self.left -= drawn;
            if says_yes {
                return (no, true);
            }
        }
        (no, false)
    }

    fn refill(&mut self, rng: &mut dyn Rng) {
        let mut bytes = [[0; 8]; Self::TOGETHER];
        rng.fill_bytes(bytes.as_flattened_mut());
        let says_yes = bytes.map(|draw| u32::from(u64::from_le_bytes(draw) >> 11 < self.threshold));
        self.says_yes = says_yes.iter().rev().fold(0, |bits, bit| bits << 1 | bit);
        self.left = u32::BITS;
    }
}

/// Says of each data frame of a queue whether its congestion point is to see it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Sampler {
    /// This many frames are known not to be samples. First, on the cache line of a port's hot fields.
    unsampled: u64,
    rule: Rule,
}

#[derive(Clone, Copy, Debug)]
enum Rule {
    None,
    Every,
    Probability {
        trials: Trials,
        /// The draws so far: the unsampled frames are followed by a sample.
        then_one_is: bool,
    },
    Interval {
        mean_bytes: f64,
        jitter: f64,
        /// The frames or bytes left until the next sample.
        left_bytes: f64,
    },
}

impl Sampler {
    /// Samples no frame: for a queue without a congestion point.
    #[must_use]
    pub fn none() -> Self {
        Self { unsampled: u64::MAX, rule: Rule::None }
    }

    /// Samples all frames.
    #[must_use]
    pub fn every() -> Self {
        Self { unsampled: 0, rule: Rule::Every }
    }

    /// Samples as a scheme's parameters say.
    #[must_use]
    pub fn new(sampling: Sampling) -> Self {
        let rule = match sampling {
            Sampling::Probability(probability) => {
                Rule::Probability { trials: Trials::new(probability), then_one_is: false }
            }
            // The first interval is the mean: no random number is there yet.
            Sampling::Interval(SamplingInterval { bytes, jitter }) => {
                Rule::Interval { mean_bytes: bytes.0 as f64, jitter, left_bytes: bytes.0 as f64 }
            }
        };
        Self { unsampled: 0, rule }
    }

    /// Whether the next frame is certainly no sample, at any length.
    #[inline]
    #[must_use]
    pub fn skips_next(&self) -> bool {
        self.unsampled > 0
    }

    /// Counts a frame. Returns whether it is a sample.
    #[inline]
    pub fn sample(&mut self, len_bytes: u32, rng: &mut dyn Rng) -> bool {
        if self.unsampled > 0 {
            self.unsampled -= 1;
            return false;
        }
        self.decide(len_bytes, rng)
    }

    #[inline(never)]
    fn decide(&mut self, len_bytes: u32, rng: &mut dyn Rng) -> bool {
        match &mut self.rule {
            Rule::None => false,
            Rule::Every => true,
            Rule::Probability { trials, then_one_is } => {
                let sampled = core::mem::take(then_one_is) || trials.draw(1, rng).1;
                (self.unsampled, *then_one_is) = trials.draw(MOST_UNSAMPLED, rng);
                sampled
            }
            Rule::Interval { mean_bytes, jitter, left_bytes } => {
                *left_bytes -= f64::from(len_bytes);
                let due = *left_bytes <= 0.0;
                if due {
                    *left_bytes = *mean_bytes * jittered(*jitter, rng);
                }
                due
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::test_support::rng;
    use crate::uniform;

    #[test]
    fn frames_are_sampled_with_the_probability_given() {
        let mut sampler = Sampler::new(Sampling::Probability(0.02));
        let mut rng = rng(1);
        let samples = (0..100_000).filter(|_| sampler.sample(1500, &mut rng)).count();
        // Binomial: 2000 with a standard deviation of 44.
        assert!((1_820..=2_180).contains(&samples), "{samples}");
    }

    #[test]
    fn trials_drawn_ahead_are_those_of_one_draw_for_each_frame() {
        for probability in [0.5, 0.02, 0.000_2, 1.0] {
            let mut sampler = Sampler::new(Sampling::Probability(probability));
            let (mut one_by_one, mut ahead) = (rng(3), rng(3));
            for frame in 0..20_000 {
                let (skipped, sampled) = (sampler.skips_next(), uniform(&mut one_by_one) < probability);
                assert_eq!(sampler.sample(1500, &mut ahead), sampled, "{probability} {frame}");
                assert!(!(skipped && sampled), "{probability} {frame}");
            }
        }
    }

    #[test]
    fn a_queue_shows_every_frame_or_none() {
        let (mut every, mut none, mut rng) = (Sampler::every(), Sampler::none(), rng(4));
        for _ in 0..1000 {
            assert!(!every.skips_next() && every.sample(64, &mut rng));
            assert!(none.skips_next() && !none.sample(64, &mut rng));
        }
    }

    #[test]
    fn intervals_between_samples_stay_within_the_jitter() {
        let mut sampler = Sampler::new(Sampling::Interval(SamplingInterval::default()));
        let mut rng = rng(2);
        let mut samples = Vec::new();
        for frame in 0..500_000 {
            if sampler.sample(100, &mut rng) {
                samples.push(100 * frame);
            }
        }
        let gaps: Vec<i64> = samples.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| (63_750..=86_250 + 100).contains(gap)), "{gaps:?}");
        assert!(gaps.iter().any(|gap| *gap < 66_000) && gaps.iter().any(|gap| *gap > 84_000), "{gaps:?}");
        // The standard error of the mean of 666 gaps is 250 B; a gap is rounded up to the next 100 B.
        let mean = gaps.iter().sum::<i64>() as f64 / gaps.len() as f64;
        assert!((74_000.0..=76_100.0).contains(&mean), "{mean}");
    }
}
