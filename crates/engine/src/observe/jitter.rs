//! Jitter: how much the delay differs from packet to packet.

use forebay_qdisc::Span;

/// The mean of |D| of RFC 3550, section 6.4.1: D is the delay of a packet minus that of the packet before it. The RFC's
/// own estimate weighs the latest packets; it has the same mean.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Jitter {
    previous: Option<Span>,
    sum_ps: u64,
    differences: u64,
}

impl Jitter {
    #[inline]
    pub fn record(&mut self, delay: Span) {
        if let Some(previous) = self.previous.replace(delay) {
            self.sum_ps += delay.picoseconds().abs_diff(previous.picoseconds());
            self.differences += 1;
        }
    }

    /// Starts the measured interval.
    pub fn begin_measurement(&mut self) {
        *self = Self { previous: self.previous, ..Self::default() };
    }

    /// In seconds; NaN with fewer than two packets.
    pub fn mean_s(&self) -> f64 {
        self.sum_ps as f64 * 1e-12 / self.differences as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(milliseconds: &[u64]) -> Jitter {
        let mut jitter = Jitter::default();
        milliseconds.iter().for_each(|&delay| jitter.record(Span::from_milliseconds(delay)));
        jitter
    }

    #[test]
    fn it_is_the_mean_difference_between_consecutive_delays() {
        assert!(of(&[]).mean_s().is_nan() && of(&[5]).mean_s().is_nan());
        assert_eq!(of(&[5, 5, 5]).mean_s(), 0.0);
        let jitter = of(&[1, 4, 2, 3]).mean_s();
        assert!((jitter - 0.002).abs() < 1e-15, "{jitter}");
    }

    #[test]
    fn the_estimate_of_the_rfc_has_the_same_mean() {
        // Delays without a pattern: the multiples of a large number.
        let delays: Vec<u64> = (0..20_000_u64).map(|number| number * 7919 % 101).collect();
        let (mut estimate, mut sum) = (0.0, 0.0);
        for pair in delays.windows(2) {
            estimate += (pair[1].abs_diff(pair[0]) as f64 - estimate) / 16.0;
            sum += estimate;
        }
        let mean_s = sum / (delays.len() - 1) as f64 * 1e-3;
        assert!((of(&delays).mean_s() / mean_s - 1.0).abs() < 0.01);
    }

    #[test]
    fn the_first_packet_of_the_measured_interval_is_compared_with_the_last_before_it() {
        let mut jitter = of(&[0, 90, 10]);
        jitter.begin_measurement();
        jitter.record(Span::from_milliseconds(13));
        assert!((jitter.mean_s() - 0.003).abs() < 1e-15);
    }
}
