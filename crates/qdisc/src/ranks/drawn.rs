//! Ranks that are drawn for each packet, as in the tests of SP-PIFO's authors.

use forebay_units::uniform;

use super::Rank;
use crate::{ParameterError, Rng, require};

forebay_units::configuration! {
    /// Uniform ranks.
    pub struct UniformRanks {
        /// Ranks are from 0 to one less than this, which is from 1 to 4294967295. Default: 100 (SP-PIFO's paper).
        pub below: u32 = 100;
    }
}

forebay_units::configuration! {
    /// Exponential ranks.
    pub struct ExponentialRanks {
        /// The mean before ranks are drawn again and rounded down, more than 0. Default: 25 (SP-PIFO's simulator).
        pub mean: f64 = 25.0;
        /// A rank of this or more is drawn again; at least a hundredth of `mean`. Default: 100 (SP-PIFO's simulator).
        pub below: u32 = 100;
    }
}

forebay_units::configuration! {
    /// Poisson ranks.
    pub struct PoissonRanks {
        /// The mean, more than 0 and at most 500. Default: 50 (SP-PIFO's simulator).
        pub mean: f64 = 50.0;
    }
}

/// A distribution of ranks.
#[derive(Clone, Debug)]
pub enum Drawn {
    /// Below this.
    Uniform(u32),
    /// With this mean, below this.
    Exponential(f64, u32),
    /// With this mean.
    Poisson(f64),
}

/// Beyond this mean e^-mean is no normal number.
const MOST_POISSON: f64 = 500.0;

impl UniformRanks {
    pub(super) fn drawn(&self) -> Result<Drawn, ParameterError> {
        require(self.below > 0, "ranks", "have a `uniform.below` of at least 1")?;
        Ok(Drawn::Uniform(self.below))
    }
}

impl ExponentialRanks {
    pub(super) fn drawn(&self) -> Result<Drawn, ParameterError> {
        let Self { mean, below } = *self;
        require(mean > 0.0 && mean.is_finite(), "ranks", "have an `exponential.mean` of more than 0")?;
        // At a hundredth of the mean, one draw in a hundred is kept.
        let keeps = f64::from(below) >= mean / 100.0 && below > 0;
        require(keeps, "ranks", "have an `exponential.below` of at least 1 and a hundredth of the mean")?;
        Ok(Drawn::Exponential(mean, below))
    }
}

impl PoissonRanks {
    pub(super) fn drawn(&self) -> Result<Drawn, ParameterError> {
        let holds = self.mean > 0.0 && self.mean <= MOST_POISSON;
        require(holds, "ranks", "have a `poisson.mean` of more than 0 and at most 500")?;
        Ok(Drawn::Poisson(self.mean))
    }
}

impl Drawn {
    /// Draws a rank.
    pub fn draw(&self, rng: &mut dyn Rng) -> Rank {
        match *self {
            Self::Uniform(below) => (f64::from(below) * uniform(rng)) as Rank,
            Self::Exponential(mean, below) => loop {
                let rank = -mean * libm::log(1.0 - uniform(rng));
                if rank < f64::from(below) {
                    return rank as Rank;
                }
            },
            Self::Poisson(mean) => poisson(mean, uniform(rng)),
        }
    }
}

/// The rank below which, or at which, a share `u` of a Poisson distribution is.
fn poisson(mean: f64, u: f64) -> Rank {
    let (mut rank, mut part) = (0, libm::exp(-mean));
    let mut sum = part;
    // Parts that are too small to change the sum end the tail.
    while u >= sum && (f64::from(rank) < mean || sum + part > sum) {
        rank += 1;
        part *= mean / f64::from(rank);
        sum += part;
    }
    Rank::from(rank)
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::test_support::rng;

    fn counts(drawn: &Drawn, draws: u32, ranks: usize) -> Vec<u32> {
        let mut rng = rng();
        let mut counts = vec![0; ranks];
        (0..draws).for_each(|_| counts[drawn.draw(&mut rng) as usize] += 1);
        counts
    }

    /// Mean and variance of `n` draws.
    fn moments(drawn: &Drawn, n: u32) -> (f64, f64) {
        let mut rng = rng();
        let ranks: Vec<f64> = (0..n).map(|_| drawn.draw(&mut rng) as f64).collect();
        let mean = ranks.iter().sum::<f64>() / f64::from(n);
        (mean, ranks.iter().map(|rank| (rank - mean) * (rank - mean)).sum::<f64>() / f64::from(n))
    }

    #[test]
    fn uniform_ranks_are_equally_frequent() {
        let counts = counts(&UniformRanks::default().drawn().unwrap(), 100_000, 100);
        // Chi-square of 99 degrees of freedom: above 149 once in a thousand times.
        let chi_square: f64 = counts.iter().map(|&n| (f64::from(n) - 1000.0) * (f64::from(n) - 1000.0) / 1000.0).sum();
        assert!(chi_square < 149.0, "{chi_square}");
    }

    #[test]
    fn exponential_ranks_have_the_mean_of_the_part_that_is_kept() {
        let counts = counts(&ExponentialRanks::default().drawn().unwrap(), 100_000, 100);
        // P(rank = 0) = (1 - e^(-1/25)) / (1 - e^-4).
        let zero = (1.0 - libm::exp(-0.04)) / (1.0 - libm::exp(-4.0));
        assert!((f64::from(counts[0]) / 1e5 - zero).abs() < 0.002, "{}", counts[0]);
        assert!(counts[99] > 0);
    }

    #[test]
    fn poisson_ranks_have_equal_mean_and_variance() {
        for mean in [0.5, 50.0, 500.0] {
            let (of_draws, variance) = moments(&PoissonRanks { mean }.drawn().unwrap(), 40_000);
            assert!((of_draws / mean - 1.0).abs() < 0.03, "{mean}: {of_draws}");
            assert!((variance / mean - 1.0).abs() < 0.04, "{mean}: {variance}");
        }
        // The tail ends.
        assert!(poisson(50.0, 1.0 - f64::EPSILON / 2.0) < 130 && poisson(500.0, 1.0) < 800);
        assert_eq!(poisson(50.0, 0.0), 0);
    }

    #[test]
    fn parameters_have_bounds() {
        assert!(UniformRanks { below: 0 }.drawn().is_err() && UniformRanks { below: 1 }.drawn().is_ok());
        for (mean, below, holds) in
            [(0.0, 9, false), (f64::NAN, 9, false), (f64::INFINITY, 9, false), (1000.0, 9, false), (900.0, 9, true)]
        {
            assert_eq!(ExponentialRanks { mean, below }.drawn().is_ok(), holds, "{mean} {below}");
        }
        assert!(ExponentialRanks { mean: 1e-9, below: 0 }.drawn().is_err());
        for (mean, holds) in [(0.0, false), (500.1, false), (f64::NAN, false), (500.0, true)] {
            assert_eq!(PoissonRanks { mean }.drawn().is_ok(), holds, "{mean}");
        }
    }
}
