//! The few distributions that traffic is drawn from, on `libm`, so that a seed gives the same numbers everywhere.

use forebay_qdisc::{Rng, Span, uniform};

/// A distribution of non-negative numbers; the unit is the caller's (picoseconds, bytes).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Always this.
    Constant(f64),
    /// Uniform between the two.
    Uniform(f64, f64),
    /// Exponential of this mean.
    Exponential(f64),
    /// Pareto of this mean and shape (the shape is above 1, so that there is a mean).
    Pareto {
        /// The mean.
        mean: f64,
        /// The tail's exponent.
        shape: f64,
    },
}

impl Distribution {
    /// One draw. A constant takes no number from the stream.
    pub fn draw(&self, rng: &mut dyn Rng) -> f64 {
        match *self {
            Self::Constant(value) => value,
            Self::Uniform(low, high) => low + (high - low) * uniform(rng),
            // 1 - U is in (0, 1], where the logarithm is finite.
            Self::Exponential(mean) => -mean * libm::log(1.0 - uniform(rng)),
            Self::Pareto { mean, shape } => {
                let scale = mean * (shape - 1.0) / shape;
                scale * libm::pow(1.0 - uniform(rng), -1.0 / shape)
            }
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
            Self::Pareto { mean, shape } => {
                let scale = mean * (shape - 1.0) / shape;
                let from = scale.clamp(least, most);
                let tail = |x: f64| if x > 0.0 { x * libm::pow(scale / x, shape) / (shape - 1.0) } else { 0.0 };
                from - least + tail(from) - tail(most)
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_as_stated() {
        let distributions = [
            Distribution::Constant(7.0),
            Distribution::Uniform(2.0, 12.0),
            Distribution::Exponential(7.0),
            Distribution::Pareto { mean: 7.0, shape: 3.0 },
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
            Distribution::Pareto { mean: 7.0, shape: 1.3 },
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
}
