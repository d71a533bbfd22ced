//! The few distributions that traffic is drawn from, on `libm`, so that a seed gives the same numbers everywhere.

use std::sync::Arc;

use forebay_qdisc::{Rng, Span, uniform};

/// A point of a cumulative distribution: this share of the draws has at most this value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CdfPoint {
    /// The value.
    pub value: f64,
    /// The share, from 0 to 1.
    pub share: f64,
}

/// A distribution of non-negative numbers; the unit is the caller's (picoseconds, bytes).
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always this.
    Constant(f64),
    /// Uniform between the two.
    Uniform(f64, f64),
    /// Exponential of this mean.
    Exponential(f64),
    /// Normal of this mean and deviation (at most the mean). A draw that is not between zero and twice the mean is
    /// drawn again, which keeps the mean.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation, before draws are repeated.
        deviation: f64,
    },
    /// Pareto of this mean and shape (the shape is above 1, so that there is a mean).
    Pareto {
        /// The mean.
        mean: f64,
        /// The tail's exponent.
        shape: f64,
    },
    /// Linear between the points of a cumulative distribution, whose values and shares rise up to a share of 1. The
    /// share of the first point has exactly its value.
    Empirical(Arc<[CdfPoint]>),
}

impl Distribution {
    /// Always zero.
    pub const ZERO: Self = Self::Constant(0.0);

    /// One draw. A constant takes no number from the stream.
    pub fn draw(&self, rng: &mut dyn Rng) -> f64 {
        match *self {
            Self::Constant(value) => value,
            Self::Uniform(low, high) => low + (high - low) * uniform(rng),
            // 1 - U is in (0, 1], where the logarithm is finite.
            Self::Exponential(mean) => -mean * libm::log(1.0 - uniform(rng)),
            Self::Normal { mean, deviation } if deviation <= 0.0 => mean,
            Self::Normal { mean, deviation } => loop {
                let draw = mean + deviation * standard_normal(rng);
                if draw > 0.0 && draw < 2.0 * mean {
                    return draw;
                }
            },
            Self::Pareto { mean, shape } => {
                let scale = mean * (shape - 1.0) / shape;
                scale * libm::pow(1.0 - uniform(rng), -1.0 / shape)
            }
            Self::Empirical(ref points) => quantile(points, uniform(rng)),
        }
    }

    /// The mean of the draws.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Constant(mean) | Self::Exponential(mean) | Self::Normal { mean, .. } | Self::Pareto { mean, .. } => {
                mean
            }
            Self::Uniform(low, high) => f64::midpoint(low, high),
            Self::Empirical(ref points) => integral_above(points, 0.0, f64::INFINITY),
        }
    }

    /// The mean of the draws if each is cut to `least` and `most`.
    #[must_use]
    pub fn mean_within(&self, least: f64, most: f64) -> f64 {
        // The integral of P(draw > x) from `least` to `most`.
        let above_least = match *self {
            Self::Constant(value) => value.clamp(least, most) - least,
            Self::Uniform(low, high) if low >= high => low.clamp(least, most) - least,
            Self::Uniform(low, high) => {
                let (from, to) = (low.clamp(least, most), high.clamp(least, most));
                from - least + (to - from) * (high - f64::midpoint(from, to)) / (high - low)
            }
            Self::Exponential(mean) if mean <= 0.0 => 0.0,
            Self::Exponential(mean) => mean * (libm::exp(-least / mean) - libm::exp(-most / mean)),
            Self::Normal { mean, deviation } if deviation <= 0.0 => mean.clamp(least, most) - least,
            Self::Normal { mean, deviation } => {
                let (from, to) = (least.clamp(0.0, 2.0 * mean), most.clamp(0.0, 2.0 * mean));
                let bound = mean / deviation;
                let below = |x: f64| integral_of_normal((x - mean) / deviation);
                let above = (to - from) * normal(bound) - deviation * (below(to) - below(from));
                (from - least).max(0.0) + above / (normal(bound) - normal(-bound))
            }
            Self::Pareto { mean, shape } => {
                let scale = mean * (shape - 1.0) / shape;
                let from = scale.clamp(least, most);
                let tail = |x: f64| if x > 0.0 { x * libm::pow(scale / x, shape) / (shape - 1.0) } else { 0.0 };
                from - least + tail(from) - tail(most)
            }
            Self::Empirical(ref points) => integral_above(points, least, most),
        };
        least + above_least
    }

    /// One draw of a span, where the unit is the picosecond.
    pub fn draw_span(&self, rng: &mut dyn Rng) -> Span {
        Span::from_picoseconds(self.draw(rng) as u64)
    }

    /// One draw of a whole number of at least one.
    pub fn draw_count(&self, rng: &mut dyn Rng) -> u64 {
        (self.draw(rng) as u64).max(1)
    }
}

/// The value that this share of the draws does not exceed.
fn quantile(points: &[CdfPoint], share: f64) -> f64 {
    let next = points.partition_point(|point| point.share <= share);
    match (next.checked_sub(1).map(|before| points[before]), points.get(next)) {
        (Some(low), Some(high)) => {
            low.value + (high.value - low.value) * (share - low.share) / (high.share - low.share)
        }
        (Some(last), None) => last.value,
        (None, first) => first.map_or(0.0, |first| first.value),
    }
}

/// The integral of the share of draws above x, for x from `least` to `most`.
fn integral_above(points: &[CdfPoint], least: f64, most: f64) -> f64 {
    let first = points.first().map_or(0.0, |first| first.value);
    // All draws are above what is below the first point.
    let below_all = first.clamp(least, most) - least;
    let pieces = points.windows(2).map(|ends| {
        let (low, high) = (ends[0], ends[1]);
        let share_at = |x: f64| low.share + (high.share - low.share) * (x - low.value) / (high.value - low.value);
        let (from, to) = (low.value.clamp(least, most), high.value.clamp(least, most));
        if from < to { (to - from) * (1.0 - f64::midpoint(share_at(from), share_at(to))) } else { 0.0 }
    });
    below_all + pieces.sum::<f64>()
}

/// One of a pair by Box and Muller. The other is not used, so that a draw depends on nothing before it.
fn standard_normal(rng: &mut dyn Rng) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - uniform(rng)));
    radius * libm::cos(std::f64::consts::TAU * uniform(rng))
}

/// The standard normal distribution function.
fn normal(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// Its integral up to x.
fn integral_of_normal(x: f64) -> f64 {
    x * normal(x) + libm::exp(-0.5 * x * x) / libm::sqrt(std::f64::consts::TAU)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empirical(points: &[(f64, f64)]) -> Distribution {
        Distribution::Empirical(points.iter().map(|&(value, share)| CdfPoint { value, share }).collect())
    }

    #[test]
    fn draws_are_linear_between_the_points() {
        struct Given(u64);
        impl rand_pcg::rand_core::TryRng for Given {
            type Error = std::convert::Infallible;

            fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
                Ok((self.0 >> 32) as u32)
            }

            fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
                Ok(self.0)
            }

            fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
                Ok(())
            }
        }
        let sizes = empirical(&[(10.0, 0.25), (20.0, 0.5), (100.0, 1.0)]);
        let draw = |share: f64| sizes.draw(&mut Given((share * 18_446_744_073_709_551_616.0) as u64));
        let drawn = [0.0, 0.125, 0.25, 0.375, 0.5, 0.75].map(draw);
        assert_eq!(drawn, [10.0, 10.0, 10.0, 15.0, 20.0, 60.0], "a quarter has the first value");
        assert!(draw(1.0 - 1e-12) < 100.0);
    }

    #[test]
    fn means_are_as_stated() {
        let distributions = [
            Distribution::Constant(7.0),
            Distribution::Uniform(2.0, 12.0),
            Distribution::Exponential(7.0),
            Distribution::Normal { mean: 7.0, deviation: 2.0 },
            Distribution::Normal { mean: 7.0, deviation: 7.0 },
            Distribution::Normal { mean: 7.0, deviation: 0.0 },
            Distribution::Pareto { mean: 7.0, shape: 3.0 },
            // 2 x 0.2, and 0.3 x 5 and 0.5 x 10.2 from the pieces.
            empirical(&[(2.0, 0.2), (8.0, 0.5), (12.4, 1.0)]),
        ];
        for distribution in distributions {
            let mut rng = forebay_records::random::stream(1, "test");
            let draws = 200_000;
            let mean = (0..draws).map(|_| distribution.draw(&mut rng)).sum::<f64>() / f64::from(draws);
            assert!((mean - 7.0).abs() < 0.1, "{distribution:?}: {mean}");
            assert!((distribution.mean_within(0.0, 1e15) - 7.0).abs() < 1e-9, "{distribution:?}");
        }
    }

    #[test]
    fn means_of_cut_draws_are_as_stated() {
        let distributions = [
            Distribution::Constant(7.0),
            Distribution::Uniform(2.0, 12.0),
            Distribution::Uniform(7.0, 7.0),
            Distribution::Exponential(7.0),
            Distribution::Normal { mean: 7.0, deviation: 2.0 },
            Distribution::Normal { mean: 7.0, deviation: 6.0 },
            Distribution::Pareto { mean: 7.0, shape: 1.3 },
            empirical(&[(2.0, 0.2), (8.0, 0.5), (12.4, 1.0)]),
        ];
        for distribution in distributions {
            for (least, most) in [(0.0, 5.0), (3.0, 9.0), (6.0, 100.0), (8.0, 10.0), (1.0, 1.5), (20.0, 30.0)] {
                let mut rng = forebay_records::random::stream(1, "test");
                let draws = 200_000;
                let cut = (0..draws).map(|_| distribution.draw(&mut rng).clamp(least, most));
                let mean = cut.sum::<f64>() / f64::from(draws);
                // Four standard deviations, of at most half the range each.
                let tolerance = 2.0 * (most - least) / f64::from(draws).sqrt() + 1e-9;
                let expected = distribution.mean_within(least, most);
                assert!((mean - expected).abs() < tolerance, "{distribution:?}: {mean} instead of {expected}");
            }
        }
    }

    #[test]
    fn normal_draws_are_positive_and_deviate_as_stated() {
        let draws = |mean, deviation| {
            let mut rng = forebay_records::random::stream(1, "test");
            let normal = Distribution::Normal { mean, deviation };
            (0..100_000).map(|_| normal.draw(&mut rng)).collect::<Vec<f64>>()
        };
        let narrow = draws(404.0, 60.0);
        let variance = narrow.iter().map(|draw| (draw - 404.0) * (draw - 404.0)).sum::<f64>() / 1e5;
        assert!((variance.sqrt() / 60.0 - 1.0).abs() < 0.01, "{}", variance.sqrt());
        let within = narrow.iter().filter(|draw| (344.0..464.0).contains(*draw)).count() as f64 / 1e5;
        assert!((within - 0.6827).abs() < 0.006, "{within}");
        assert!(draws(5.0, 5.0).iter().all(|draw| (0.0..=10.0).contains(draw)));
    }
}
