//! The exponential average of a rate, for one flow and for all together.

use crate::{Span, Time};

/// A rate in bits per second, averaged with weights that depend on the time between packets, so that it does not depend
/// on their number or length (paper, section 2.2.1).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RateEstimator {
    rate: f64,
    last: Time,
}

impl RateEstimator {
    /// The estimate at the first packet of a flow: as if it had come together with another, `l / K`.
    pub fn starting(len_bits: f64, averaging_time: AveragingTime, now: Time) -> Self {
        Self { rate: len_bits * averaging_time.per_second, last: now }
    }

    /// `r = (1 - e^(-T/K)) l/T + e^(-T/K) r`, T being the time since the packet before. Where T = 0 its limit
    /// `r = r + l/K`.
    pub fn update(&mut self, len_bits: f64, averaging_time: AveragingTime, now: Time) -> f64 {
        let gaps = now.since(self.last).seconds() * averaging_time.per_second;
        self.last = now;
        // 1 - e^(-T/K) without the cancellation where T is far below K.
        let forgotten = -libm::expm1(-gaps);
        let weight = if gaps > 0.0 { forgotten / gaps } else { 1.0 };
        self.rate += weight * len_bits * averaging_time.per_second - forgotten * self.rate;
        self.rate
    }

    /// The estimate as of the last packet.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The estimate at `now` if no packet has come since the last: `e^(-T/K) r`.
    pub fn faded(&self, averaging_time: AveragingTime, now: Time) -> f64 {
        self.rate * libm::exp(-now.since(self.last).seconds() * averaging_time.per_second)
    }

    /// When the last packet came.
    pub fn last(&self) -> Time {
        self.last
    }
}

/// The averaging constant K of a [`RateEstimator`], as its inverse.
#[derive(Clone, Copy, Debug)]
pub(super) struct AveragingTime {
    per_second: f64,
}

impl AveragingTime {
    /// `span` is not zero.
    pub fn new(span: Span) -> Self {
        Self { per_second: 1.0 / span.seconds() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const K: Span = Span::from_milliseconds(100);

    #[test]
    fn the_estimate_of_a_constant_rate_rises_as_computed_by_hand() {
        let mut estimator = RateEstimator::default();
        let rates = [1, 2, 3, 4, 5].map(|millisecond| {
            let now = Time::ZERO + Span::from_milliseconds(millisecond);
            estimator.update(8000.0, AveragingTime::new(K), now)
        });
        for (rate, expected) in rates.into_iter().zip([79_601.3, 158_410.6, 236_435.7, 313_684.5, 390_164.6]) {
            assert!((rate - expected).abs() < 0.06, "{rate} against {expected}");
        }
    }

    #[test]
    fn a_silence_of_the_averaging_time_leaves_one_part_in_e() {
        let averaging_time = AveragingTime::new(K);
        let estimator = RateEstimator::starting(8000.0, averaging_time, Time::ZERO);
        for (milliseconds, expected) in [(0, 80_000.0), (100, 29_430.4), (200, 10_826.8)] {
            let rate = estimator.faded(averaging_time, Time::ZERO + Span::from_milliseconds(milliseconds));
            assert!((rate - expected).abs() < 0.1, "{milliseconds} ms: {rate}");
        }
    }

    #[test]
    fn a_constant_rate_is_met_exactly_whatever_the_gap() {
        for (gap_us, len_bits) in [(1, 8.0), (1000, 8000.0), (90_000, 720_000.0), (5_000_000, 4e7)] {
            let mut estimator = RateEstimator::default();
            for packet in 1..=20 * 100_000 / gap_us + 50 {
                estimator.update(
                    len_bits,
                    AveragingTime::new(K),
                    Time::ZERO + Span::from_microseconds(packet * gap_us),
                );
            }
            assert!((estimator.rate() / 8e6 - 1.0).abs() < 1e-6, "{gap_us} us: {}", estimator.rate());
        }
    }

    #[test]
    fn packets_at_one_time_add_up_and_are_the_limit_of_short_gaps() {
        let (mut together, mut close) = (RateEstimator::default(), RateEstimator::default());
        for packet in 0..3 {
            together.update(8000.0, AveragingTime::new(K), Time::ZERO);
            close.update(8000.0, AveragingTime::new(K), Time::from_picoseconds(packet));
        }
        assert_eq!(together.rate(), 240_000.0);
        assert!((close.rate() / together.rate() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn after_a_long_silence_nothing_of_the_old_rate_is_left() {
        let mut estimator = RateEstimator::starting(8000.0, AveragingTime::new(K), Time::ZERO);
        assert_eq!(estimator.rate(), 80_000.0);
        let rate = estimator.update(8000.0, AveragingTime::new(K), Time::ZERO + Span::from_seconds(36_000));
        assert!((rate * 36_000.0 / 8000.0 - 1.0).abs() < 1e-9);
    }
}
