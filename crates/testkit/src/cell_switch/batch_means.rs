//! The mean of a correlated series, and how well it is known.

/// Batches of a run.
const BATCHES: usize = 20;

/// Student's t for 95 % with one degree of freedom less than there are batches.
const T_95: f64 = 2.093;

/// A mean with the half-width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean; NaN if nothing was observed.
    pub mean: f64,
    /// The true value is within this of the mean in 95 % of all runs; infinite with too few observations.
    pub half_width: f64,
}

impl Estimate {
    /// Whether `value` is within `widths` half-widths of the mean.
    #[must_use]
    pub fn agrees_with(&self, value: f64, widths: f64) -> bool {
        (self.mean - value).abs() <= widths * self.half_width
    }
}

/// Batch means: observations follow on each other's heels in a queue and say nearly the same; the means of long batches
/// hardly depend on each other (A. Law, "Simulation Modeling and Analysis", on output analysis).
#[derive(Clone, Debug)]
pub(super) struct BatchMeans {
    slots_per_batch: u64,
    sums: [f64; BATCHES],
    counts: [u64; BATCHES],
}

impl BatchMeans {
    /// Prepares for a run of this many `slots`.
    pub fn new(slots: u64) -> Self {
        Self { slots_per_batch: slots.div_ceil(BATCHES as u64).max(1), sums: [0.0; BATCHES], counts: [0; BATCHES] }
    }

    /// Takes an observation made in `slot`, counted from the start of the run.
    pub fn observe(&mut self, slot: u64, value: f64) {
        let batch = ((slot / self.slots_per_batch) as usize).min(BATCHES - 1);
        self.sums[batch] += value;
        self.counts[batch] += 1;
    }

    pub fn estimate(&self) -> Estimate {
        let (sum, count) = (self.sums.iter().sum::<f64>(), self.counts.iter().sum::<u64>());
        let mean = sum / count as f64;
        if self.counts.contains(&0) {
            return Estimate { mean, half_width: f64::INFINITY };
        }
        let deviation = |(sum, count): (&f64, &u64)| sum / *count as f64 - mean;
        let squares: f64 = self.sums.iter().zip(&self.counts).map(|batch| deviation(batch) * deviation(batch)).sum();
        let batches = BATCHES as f64;
        Estimate { mean, half_width: T_95 * libm::sqrt(squares / (batches * (batches - 1.0))) }
    }
}

#[cfg(test)]
mod tests {
    use forebay_qdisc::uniform;

    use super::*;
    use crate::cell_switch::tests::rng;

    #[test]
    fn nineteen_intervals_in_twenty_hold_the_truth() {
        let mut held = 0;
        for seed in 0..400 {
            let (mut rng, mut batches) = (rng(seed), BatchMeans::new(2000));
            (0..2000).for_each(|slot| batches.observe(slot, uniform(&mut rng)));
            held += u32::from(batches.estimate().agrees_with(0.5, 1.0));
        }
        // Binomial with p = 0.95: mean 380, one standard deviation 4.4.
        assert!((365..=395).contains(&held), "{held} of 400");
    }

    #[test]
    fn too_little_says_nothing() {
        let mut batches = BatchMeans::new(100);
        assert!(batches.estimate().mean.is_nan());
        batches.observe(3, 7.0);
        assert_eq!(batches.estimate(), Estimate { mean: 7.0, half_width: f64::INFINITY });
    }
}
