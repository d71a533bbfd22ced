//! The fallback of Prague's window form: the search for a queue that marks late.

use crate::{Control, Delivery};

/// The search for a queue that marks late (`prague_classic_ecn_fallback`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClassicQueue {
    /// 0 to 17: from 8 on the queue may be a classic one, from 9 on it is taken for one.
    pub score: f64,
    /// Slow means of the round trip and of its deviation, and the shortest, in seconds.
    pub mean: f64,
    pub deviation: f64,
    pub shortest: f64,
}

impl ClassicQueue {
    const MOST: f64 = 17.0;
    const FIRST_SUSPICION: f64 = 8.0;
    const CERTAINTY: f64 = 9.0;
    /// Weights of both signs (V, D).
    const WEIGHT: f64 = 0.5;
    /// Deviation and queuing delay that speak for neither, in seconds (V0, D0).
    const NEUTRAL_DEVIATION_S: f64 = 750e-6;
    const NEUTRAL_DELAY_S: f64 = 2e-3;
    /// The first deviation: there is none yet.
    const FIRST_DEVIATION_S: f64 = 1e-6;
    /// Alpha of a reduction to 0.6875: CUBIC's.
    const CLASSIC_ALPHA: f64 = 0.625;

    /// Takes the round trip of an ACK.
    pub fn sample(&mut self, delivery: Option<&Delivery>, control: &Control) {
        let Some(round_trip) = delivery.and_then(|delivery| delivery.round_trip) else { return };
        let seconds = round_trip.seconds();
        if self.mean == 0.0 {
            (self.mean, self.deviation, self.shortest) = (seconds, Self::FIRST_DEVIATION_S, seconds);
            return;
        }
        self.shortest = self.shortest.min(seconds);
        let threshold = control.slow_start_threshold.clamp(2.0, 1e6);
        let gain = libm::exp2(-(1.5 * libm::log2(threshold) + 1.0));
        let error = seconds - self.mean;
        self.mean += error * gain;
        self.deviation += (error.abs() - self.deviation) * gain / 2.0;
    }

    /// Weighs both signs.
    pub fn judge(&mut self) {
        if self.deviation > 0.0 {
            self.score += Self::WEIGHT * libm::log2(self.deviation / Self::NEUTRAL_DEVIATION_S);
        }
        let delay = self.mean - self.shortest;
        self.score += Self::WEIGHT * libm::log2((delay / Self::NEUTRAL_DELAY_S).max(1.0));
        self.score = self.score.clamp(0.0, Self::MOST);
    }

    /// Whether the queue is taken for a classic one.
    pub fn is_certain(&self) -> bool {
        self.score >= Self::CERTAINTY
    }

    pub fn least_alpha(&self) -> f64 {
        Self::CLASSIC_ALPHA * (self.score.min(Self::CERTAINTY) - Self::FIRST_SUSPICION).max(0.0)
    }
}
