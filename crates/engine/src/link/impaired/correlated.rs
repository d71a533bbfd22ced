//! Random numbers of which each depends on the one before.

use forebay_qdisc::{Rng, uniform};

/// netem's `get_crandom`: x = (1 - rho) u + rho x', with u uniform in [0, 1) and x' the number before.
#[derive(Clone, Debug)]
pub(super) struct Correlated {
    rho: f64,
    last: f64,
}

impl Correlated {
    /// Draws the number before the first one, unless numbers are independent.
    pub fn new(rho: f64, rng: &mut dyn Rng) -> Self {
        Self { rho, last: if rho > 0.0 { uniform(rng) } else { 0.0 } }
    }

    pub fn draw(&mut self, rng: &mut dyn Rng) -> f64 {
        self.last = (1.0 - self.rho) * uniform(rng) + self.rho * self.last;
        self.last
    }

    /// Whether an event of this probability happens. One of probability 0 takes no number from the stream.
    pub fn happens(&mut self, probability: f64, rng: &mut dyn Rng) -> bool {
        probability > 0.0 && self.draw(rng) < probability
    }
}

/// Whether an independent event of this probability happens. One of probability 0 takes no number from the stream.
pub(super) fn happens(probability: f64, rng: &mut dyn Rng) -> bool {
    probability > 0.0 && uniform(rng) < probability
}
