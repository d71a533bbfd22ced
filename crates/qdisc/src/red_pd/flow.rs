//! RED-PD's state of a flow: its drops, its lists, and its drop probability.

use crate::Time;

/// Lists that can be kept at most.
pub(super) const MAX_LISTS: usize = 8;
/// Changes of a flow's probability that are remembered for the unresponsive test (ns-2).
const HISTORY: usize = 5;
/// Highest drop probability with which a flow begins to be monitored (ns-2).
const HIGHEST_FIRST_PROBABILITY: f64 = 0.5;
/// Drop probability below which an unlisted flow is monitored no more, and that of an unresponsive one (ns-2).
const RELEASE_PROBABILITY: f64 = 0.005;
const RELEASE_PROBABILITY_UNRESPONSIVE: f64 = 0.0025;
/// Least ratio of two drop rates that the unresponsive test compares (ns-2).
const LEAST_RATIO: f64 = 0.1;

/// A flow that is monitored, in a list, or was dropped early in this period.
#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    /// Bytes that came in this period.
    pub arrived: u64,
    /// Bytes dropped or marked in this period, by the filter as well.
    pub dropped: u64,
    /// Bytes dropped or marked early by RED in this period.
    pub sampled: u64,
    /// The bytes of `sampled` for each of the last periods in whose list the flow is; else 0.
    pub listed: [u64; MAX_LISTS],
    /// How the flow is held back, if it is.
    pub monitor: Option<Monitor>,
}

impl Flow {
    /// Lists that the flow is in.
    pub fn lists(&self) -> usize {
        self.listed.iter().filter(|bytes| **bytes > 0).count()
    }

    /// Whether the flow is in any list.
    pub fn is_listed(&self) -> bool {
        self.lists() > 0
    }

    /// Its bytes in all lists.
    pub fn listed_bytes(&self) -> u64 {
        self.listed.iter().sum()
    }

    /// Starts counting for a new period.
    pub fn start_period(&mut self) {
        self.arrived = 0;
        self.dropped = 0;
        self.sampled = 0;
    }
}

/// A flow's arrival rate and drop rate over one period.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sample {
    /// Bytes a second that came.
    pub rate: f64,
    /// Share of them that was dropped.
    pub drop_rate: f64,
}

/// How a flow is held back. ns-2 keeps the complement of the probability, as a "target bandwidth".
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Monitor {
    /// Probability with which the filter drops its packets, before the gaps are made uniform.
    pub drop_probability: f64,
    /// Whether it was found not to respond.
    pub unresponsive: bool,
    /// Packets since the filter's last drop.
    pub count: u64,
    /// When the probability was last changed.
    pub changed: Time,
    /// The latest samples, oldest first; `samples` of them are set.
    history: [Sample; HISTORY],
    samples: usize,
}

impl Monitor {
    /// Begins to monitor a flow whose drops call for the drop probability `share`, at RED's `drop_rate`.
    pub fn new(share: f64, drop_rate: f64, now: Time, sample: Sample) -> Self {
        let mut monitor = Self {
            drop_probability: share.min(2.0 * drop_rate).min(HIGHEST_FIRST_PROBABILITY),
            unresponsive: false,
            count: 0,
            changed: now,
            history: [Sample::default(); HISTORY],
            samples: 0,
        };
        monitor.remember(sample);
        monitor
    }

    /// Raises the probability of a flow that is still in the lists, after the unresponsive test if `test` is set.
    pub fn raise(&mut self, share: f64, test: bool, now: Time, sample: Sample) {
        if test && !self.unresponsive {
            self.unresponsive = is_unresponsive(&self.history[..self.samples]);
        }
        let factor = if self.unresponsive { 3.0 } else { 2.0 };
        let before = self.drop_probability;
        // At most this many times its former value; instead of exceeding 1, it leaves that part of the rest.
        let raised = if share > before { factor * before } else { before + (factor - 1.0) * share };
        self.drop_probability = if raised > 1.0 { 1.0 - (1.0 - before) / factor } else { raised };
        self.changed = now;
        self.remember(sample);
    }

    /// The monitor of a flow that is in no list: with a lower probability, or none when that was low enough.
    pub fn lowered(mut self, max_reduction: f64, now: Time) -> Option<Self> {
        let (release, factor) = match self.unresponsive {
            false => (RELEASE_PROBABILITY, 2.0),
            true => (RELEASE_PROBABILITY_UNRESPONSIVE, 1.5),
        };
        if self.drop_probability <= release {
            return None;
        }
        if self.drop_probability > factor * max_reduction {
            self.drop_probability -= max_reduction;
        } else {
            self.drop_probability /= factor;
        }
        self.changed = now;
        Some(self)
    }

    fn remember(&mut self, sample: Sample) {
        if self.samples == HISTORY {
            self.history.rotate_left(1);
            self.samples -= 1;
        }
        self.history[self.samples] = sample;
        self.samples += 1;
    }
}

/// Paper, "unresponsive flows": whether, of all pairs of samples with drop rates that differ, nearly all show a
/// rate that fell by less than the square root of the drop rates' ratio.
fn is_unresponsive(history: &[Sample]) -> bool {
    let (mut good, mut bad) = (0, 0);
    for lower in history {
        for higher in history {
            let ratio = lower.drop_rate / higher.drop_rate;
            if lower.drop_rate < higher.drop_rate && ratio > LEAST_RATIO {
                if higher.rate / lower.rate > libm::sqrt(ratio) {
                    bad += 1;
                } else {
                    good += 1;
                }
            }
        }
    }
    match good {
        0 => bad >= 3,
        1 => bad >= 4,
        _ => bad >= 4 * good,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_picoseconds(7);

    fn monitor(drop_probability: f64) -> Monitor {
        Monitor { drop_probability, ..Monitor::new(0.0, 0.0, Time::ZERO, Sample::default()) }
    }

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-12
    }

    #[test]
    fn a_flow_begins_with_its_share_up_to_twice_the_drop_rate() {
        for (share, drop_rate, expected) in
            [(0.03, 0.02, 0.03), (0.05, 0.02, 0.04), (0.7, 0.4, 0.5), (0.01, 0.02, 0.01)]
        {
            let monitor = Monitor::new(share, drop_rate, NOW, Sample::default());
            assert!(close(monitor.drop_probability, expected), "{monitor:?}");
            assert_eq!((monitor.changed, monitor.unresponsive, monitor.samples), (NOW, false, 1));
        }
    }

    #[test]
    fn a_probability_is_raised_by_the_share_or_a_factor() {
        for (unresponsive, before, share, expected) in [
            (false, 0.1, 0.05, 0.15),
            (false, 0.1, 0.2, 0.2),
            (false, 0.8, 0.3, 0.9),
            (false, 0.5, 0.5, 1.0),
            (false, 0.9, 0.95, 0.95),
            (true, 0.1, 0.05, 0.2),
            (true, 0.1, 0.2, 0.3),
            (true, 0.7, 0.2, 0.9),
        ] {
            let mut monitor = Monitor { unresponsive, ..monitor(before) };
            monitor.raise(share, true, NOW, Sample::default());
            assert!(close(monitor.drop_probability, expected), "{unresponsive} {before} {share}: {monitor:?}");
            assert_eq!((monitor.changed, monitor.unresponsive), (NOW, unresponsive));
        }
    }

    #[test]
    fn a_probability_is_lowered_by_halves_and_at_most_by_the_reduction() {
        for (unresponsive, before, expected) in [
            (false, 0.5, Some(0.45)),
            (false, 0.1, Some(0.05)),
            (false, 0.006, Some(0.003)),
            (false, 0.0051, Some(0.00255)),
            (false, 0.005, None),
            (true, 0.5, Some(0.45)),
            (true, 0.08, Some(0.03)),
            (true, 0.075, Some(0.05)),
            (true, 0.005, Some(0.005 / 1.5)),
            (true, 0.0026, Some(0.0026 / 1.5)),
            (true, 0.0025, None),
        ] {
            let lowered = Monitor { unresponsive, ..monitor(before) }.lowered(0.05, NOW);
            match (lowered, expected) {
                (Some(monitor), Some(expected)) => {
                    assert!(close(monitor.drop_probability, expected), "{unresponsive} {before}: {monitor:?}");
                    assert_eq!(monitor.changed, NOW);
                }
                (lowered, expected) => assert_eq!(lowered.is_none(), expected.is_none(), "{unresponsive} {before}"),
            }
        }
    }

    #[test]
    fn the_unresponsive_test_counts_pairs() {
        let samples = |pairs: &[(f64, f64)]| -> bool {
            let mut history = [Sample::default(); HISTORY];
            for (sample, (rate, drop_rate)) in history.iter_mut().zip(pairs) {
                *sample = Sample { rate: *rate, drop_rate: *drop_rate };
            }
            is_unresponsive(&history[..pairs.len()])
        };
        // A constant rate: three samples make three pairs, all bad.
        assert!(samples(&[(100.0, 0.02), (100.0, 0.04), (100.0, 0.08)]));
        assert!(!samples(&[(100.0, 0.02), (100.0, 0.04)]));
        // Two bad pairs are too few: equal drop rates make none.
        assert!(!samples(&[(100.0, 0.02), (100.0, 0.02), (100.0, 0.04)]));
        // Ratios of a tenth and less, and equal drop rates, are not compared.
        assert!(!samples(&[(100.0, 0.005), (100.0, 0.05), (100.0, 0.5)]));
        assert!(!samples(&[(100.0, 0.04), (100.0, 0.04), (100.0, 0.04), (100.0, 0.04)]));
        assert!(!samples(&[(100.0, 0.1), (100.0, 0.1), (100.0, 0.1), (100.0, 1.0)]));
        assert!(samples(&[(100.0, 0.105), (100.0, 0.105), (100.0, 0.105), (100.0, 1.0)]));
        // Exactly the square root is good, and two bad ones in addition are too few.
        assert!(!samples(&[(100.0, 0.01), (100.0, 0.02), (50.0, 0.08)]));
        // It fell once as it should: of six pairs one is good and five are bad.
        assert!(samples(&[(100.0, 0.02), (95.0, 0.0201), (95.0, 0.03), (95.0, 0.04)]));
        // Four bad ones are enough with a good one, three are not; the last is compared with the third only.
        assert!(samples(&[(100.0, 0.02), (95.0, 0.0201), (95.0, 0.03), (95.0, 0.03)]));
        assert!(!samples(&[(100.0, 0.02), (95.0, 0.0201), (95.0, 0.03), (95.0, 0.25)]));
        // With two good ones eight bad ones are necessary, of ten pairs; not seven and three.
        assert!(samples(&[(100.0, 0.02), (95.0, 0.0201), (95.0, 0.0205), (95.0, 0.03), (95.0, 0.04)]));
        assert!(!samples(&[(100.0, 0.02), (95.0, 0.0201), (95.0, 0.0205), (95.0, 0.021), (95.0, 0.04)]));
        // Two good ones and seven bad ones, since the last two are not compared with each other.
        assert!(!samples(&[(100.0, 0.02), (95.0, 0.0201), (95.0, 0.0205), (95.0, 0.03), (95.0, 0.03)]));
    }

    #[test]
    fn the_test_sees_the_samples_before_the_present_one() {
        let mut monitor = monitor(0.01);
        monitor.samples = 0;
        for step in 1..=4 {
            assert!(!monitor.unresponsive, "step {step}");
            monitor.raise(0.01, true, NOW, Sample { rate: 100.0, drop_rate: 0.01 * f64::from(step) });
        }
        assert!(monitor.unresponsive, "three samples at the fourth step");
        let mut untested = Monitor { unresponsive: false, ..monitor };
        untested.raise(0.01, false, NOW, Sample::default());
        assert!(!untested.unresponsive);
        assert_eq!(untested.samples, HISTORY);
        untested.raise(0.01, false, NOW, Sample { rate: 1.0, drop_rate: 0.5 });
        assert_eq!((untested.samples, untested.history[HISTORY - 1].rate), (HISTORY, 1.0));
    }
    #[test]
    fn the_oldest_sample_is_forgotten_first() {
        let mut monitor = monitor(0.01);
        monitor.samples = 0;
        for rate in 1..=7 {
            monitor.remember(Sample { rate: f64::from(rate), drop_rate: 0.1 });
        }
        assert_eq!(monitor.history.map(|sample| sample.rate), [3.0, 4.0, 5.0, 6.0, 7.0]);
        assert_eq!(monitor.samples, HISTORY);
    }
}
