//! Delays in a small logarithmic histogram.
//!
//! Each octave has 32 buckets, so a percentile is within 1.6 % of the true value. Octaves are allocated when first
//! used. Four take half a kilobyte; an HDR histogram takes tens, too much for thousands of flows.

use forebay_units::Span;
use prefetch_index::prefetch_index;

const BUCKETS_PER_OCTAVE: usize = 32;
const SUB_BITS: u32 = BUCKETS_PER_OCTAVE.trailing_zeros();

/// A histogram of spans.
#[derive(Clone, Debug, Default)]
pub struct DelayHistogram {
    octaves: Vec<[u32; BUCKETS_PER_OCTAVE]>,
    first_octave: u32,
    sum_ps: u128,
    max_ps: u64,
}

impl DelayHistogram {
    /// Counts one delay.
    #[inline]
    pub fn record(&mut self, delay: Span) {
        let ps = delay.picoseconds();
        self.sum_ps += u128::from(ps);
        self.max_ps = self.max_ps.max(ps);
        // Lower octaves have fewer picoseconds than buckets.
        let ps = ps.max(BUCKETS_PER_OCTAVE as u64);
        let octave = ps.ilog2();
        let bucket = (ps >> (octave - SUB_BITS)) as usize & (BUCKETS_PER_OCTAVE - 1);
        let index = octave.wrapping_sub(self.first_octave) as usize;
        if index >= self.octaves.len() {
            self.grow(octave);
        }
        self.octaves[(octave - self.first_octave) as usize][bucket] += 1;
    }

    /// Counts the delays of another histogram as well.
    pub fn add(&mut self, other: &Self) {
        self.sum_ps += other.sum_ps;
        self.max_ps = self.max_ps.max(other.max_ps);
        for (octave, buckets) in (other.first_octave..).zip(&other.octaves) {
            if octave.wrapping_sub(self.first_octave) as usize >= self.octaves.len() {
                self.grow(octave);
            }
            let own = &mut self.octaves[(octave - self.first_octave) as usize];
            own.iter_mut().zip(buckets).for_each(|(own, count)| *own += count);
        }
    }

    /// Prefetches the bucket of the longest delay, where the next is likely to fall.
    #[inline]
    pub fn prefetch(&self) {
        let ps = self.max_ps.max(BUCKETS_PER_OCTAVE as u64);
        let octave = ps.ilog2();
        let bucket = (ps >> (octave - SUB_BITS)) as usize & (BUCKETS_PER_OCTAVE - 1);
        if let Some(octave) = self.octaves.get(octave.wrapping_sub(self.first_octave) as usize) {
            prefetch_index(octave, bucket);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, octave: u32) {
        if self.octaves.is_empty() {
            self.first_octave = octave;
        }
        // With no room to spare: for a million flows each octave takes 128 MB.
        while octave < self.first_octave {
            self.octaves.reserve_exact(1);
            self.octaves.insert(0, [0; BUCKETS_PER_OCTAVE]);
            self.first_octave -= 1;
        }
        while octave - self.first_octave >= self.octaves.len() as u32 {
            self.octaves.reserve_exact(1);
            self.octaves.push([0; BUCKETS_PER_OCTAVE]);
        }
    }

    /// Each bucket with delays in it: the greatest delay that it can hold, in picoseconds, and how many.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        let octaves = (self.first_octave..).zip(&self.octaves);
        octaves.flat_map(|(octave, buckets)| {
            let ends = (1_u64..).map(move |bucket| (1_u64 << octave) - 1 + (bucket << (octave - SUB_BITS)));
            ends.zip(buckets.iter().copied()).filter(|(_, count)| *count > 0)
        })
    }

    /// How many delays were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.octaves.iter().flatten().map(|&count| u64::from(count)).sum()
    }

    /// Exact, in seconds; NaN without a delay.
    #[must_use]
    pub fn mean_s(&self) -> f64 {
        self.sum_ps as f64 / self.count() as f64 * 1e-12
    }

    /// Exact, in seconds; NaN without a delay.
    #[must_use]
    pub fn max_s(&self) -> f64 {
        if self.octaves.is_empty() { f64::NAN } else { self.max_ps as f64 * 1e-12 }
    }

    /// The middle of the quantile's bucket in seconds; NaN without a delay.
    #[must_use]
    pub fn quantile_s(&self, quantile: f64) -> f64 {
        let rank = libm::ceil(quantile * self.count() as f64).max(1.0) as u64;
        let mut seen = 0;
        for (octave, buckets) in (self.first_octave..).zip(&self.octaves) {
            for (bucket, &count) in (0_u64..).zip(buckets) {
                seen += u64::from(count);
                if seen >= rank {
                    let width = 1_u64 << (octave - SUB_BITS);
                    let low = (1_u64 << octave) + bucket * width;
                    return (low + width / 2).min(self.max_ps) as f64 * 1e-12;
                }
            }
        }
        f64::NAN
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn percentiles_are_within_two_per_cent(
            mut delays in prop::collection::vec(1_000_u64..10_000_000_000_000, 1..300),
        ) {
            let mut histogram = DelayHistogram::default();
            for &delay in &delays {
                histogram.record(Span::from_picoseconds(delay));
            }
            delays.sort_unstable();
            for quantile in [0.5, 0.95, 0.99, 1.0] {
                let rank = libm::ceil(quantile * delays.len() as f64) as usize;
                let exact = delays[rank - 1] as f64 * 1e-12;
                prop_assert!((histogram.quantile_s(quantile) - exact).abs() <= 0.02 * exact);
            }
            prop_assert_eq!(histogram.max_s(), *delays.last().unwrap() as f64 * 1e-12);
        }

        #[test]
        fn a_sum_of_histograms_has_the_delays_of_both(
            delays in prop::collection::vec((1_000_u64..10_000_000_000_000, any::<bool>()), 0..100),
        ) {
            let [mut one, mut other, mut both] = [(); 3].map(|()| DelayHistogram::default());
            for &(delay, in_one) in &delays {
                for histogram in [if in_one { &mut one } else { &mut other }, &mut both] {
                    histogram.record(Span::from_picoseconds(delay));
                }
            }
            one.add(&other);
            prop_assert_eq!(one.buckets().collect::<Vec<_>>(), both.buckets().collect::<Vec<_>>());
            prop_assert_eq!((one.sum_ps, one.max_ps), (both.sum_ps, both.max_ps));
        }
    }
}
