//! Times of packets in a logarithmic histogram of fixed size.
//!
//! A port records every packet in two of them, so that recording has no branch and changes three numbers. Eight
//! significant bits of a value are kept: quantiles are at most 0.8 % too long. The simulator's histogram is smaller and
//! coarser, since each of thousands of flows has one, and its 32-bit counts could overflow within a day here.

use forebay_qdisc::Span;

/// The bits of a value that are kept, after its leading one.
const KEPT_BITS: u32 = 7;
/// Nanoseconds of more bits than this, 137 s, are counted in the last bucket.
const MOST_BITS: u32 = 37;
const BUCKETS: usize = ((MOST_BITS - KEPT_BITS + 1) as usize) << KEPT_BITS;

/// A histogram of spans in nanoseconds.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Box<[u64]>,
    sum_ns: u64,
    longest_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS].into(), sum_ns: 0, longest_ns: 0 }
    }
}

/// The bucket of a value. Below 2^8 each has its own; above, each octave has 2^7.
#[inline]
fn bucket(ns: u64) -> usize {
    let shift = (ns | 1 << KEPT_BITS).ilog2() - KEPT_BITS;
    (((u64::from(shift) << KEPT_BITS) + (ns >> shift)) as usize).min(BUCKETS - 1)
}

/// The longest value in a bucket.
fn longest_in(bucket: usize) -> u64 {
    let shift = (bucket >> KEPT_BITS).saturating_sub(1);
    let kept = bucket - (shift << KEPT_BITS);
    ((kept as u64 + 1) << shift) - 1
}

impl Histogram {
    /// Counts a span.
    #[inline]
    pub fn record(&mut self, span: Span) {
        let ns = span.picoseconds() / 1000;
        self.counts[bucket(ns)] += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.longest_ns = self.longest_ns.max(ns);
    }

    /// Spans counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Their sum in nanoseconds.
    #[must_use]
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// The longest in nanoseconds; 0 without any.
    #[must_use]
    pub fn longest_ns(&self) -> u64 {
        self.longest_ns
    }

    /// Returns the number of values in the bucket of `bound_ns` and those below it.
    #[must_use]
    pub fn count_up_to(&self, bound_ns: u64) -> u64 {
        self.counts[..=bucket(bound_ns)].iter().sum()
    }

    /// The shortest span, rounded up to the end of its bucket, that this share of all does not exceed, in nanoseconds;
    /// 0 without any.
    #[must_use]
    pub fn quantile_ns(&self, share: f64) -> u64 {
        let rank = ((share * self.count() as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let found = self.counts.iter().position(|&count| {
            seen += count;
            seen >= rank
        });
        match found {
            // The last bucket has no end.
            Some(last) if last == BUCKETS - 1 => self.longest_ns,
            Some(bucket) => longest_in(bucket).min(self.longest_ns),
            None => self.longest_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(spans: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        spans.iter().for_each(|&ns| histogram.record(Span::from_nanoseconds(ns)));
        histogram
    }

    /// Every octave alike.
    fn spans() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec((0_u32..MOST_BITS).prop_flat_map(|bits| 0..1_u64 << bits), 1..300)
    }

    proptest! {
        #[test]
        fn quantiles_are_less_than_a_hundredth_too_long(mut values in spans(), share in 0.0..=1.0) {
            let found = of(&values).quantile_ns(share);
            values.sort_unstable();
            let rank = ((share * values.len() as f64).ceil() as usize).max(1);
            let exact = values[rank - 1];
            prop_assert!(found >= exact && found as f64 <= exact as f64 * (1.0 + 1.0 / 128.0), "{found} for {exact}");
        }

        #[test]
        fn counts_below_a_bound_are_those_to_the_end_of_its_bucket(values in spans(), bound in 0..1_u64 << MOST_BITS) {
            let histogram = of(&values);
            let end = longest_in(bucket(bound));
            prop_assert!(end >= bound && end as f64 <= bound as f64 * (1.0 + 1.0 / 128.0));
            let exact = values.iter().filter(|&&value| value <= end).count();
            prop_assert_eq!(histogram.count_up_to(bound), exact as u64);
            prop_assert_eq!(histogram.count(), values.len() as u64);
            prop_assert_eq!(histogram.sum_ns(), values.iter().sum::<u64>());
        }
    }

    #[test]
    fn buckets_follow_one_another_without_a_gap() {
        for bucket_before in 0..BUCKETS - 1 {
            assert_eq!(bucket(longest_in(bucket_before)), bucket_before);
            assert_eq!(bucket(longest_in(bucket_before) + 1), bucket_before + 1);
        }
    }

    #[test]
    fn any_span_has_its_place() {
        let mut histogram = Histogram::default();
        for picoseconds in [0, 999, 1_000, u64::MAX] {
            histogram.record(Span::from_picoseconds(picoseconds));
        }
        assert_eq!((histogram.count(), histogram.count_up_to(0), histogram.longest_ns()), (4, 2, u64::MAX / 1000));
        assert_eq!(histogram.quantile_ns(1.0), u64::MAX / 1000);
        assert_eq!(Histogram::default().quantile_ns(0.5), 0);
    }
}
