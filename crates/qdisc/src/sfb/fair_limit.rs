//! An estimate of the fair share, to which identified flows may be held (paper, section V, future work).
//!
//! The paper would estimate the number of all flows and that of the non-responsive ones, the latter from the polluted
//! bins. Here:
//!
//! - All flows, n: linear counting (K.-Y. Whang, B. Vander-Zanden and H. Taylor, "A Linear-Time Probabilistic Counting
//!   Algorithm for Database Applications", ACM TODS 15(2), 1990). Each flow that sends sets one bit of a map of m; of
//!   n flows, m e^(-n/m) bits are expected to stay clear. The bins cannot tell: hundreds of flows fill all of them.
//! - Non-responsive flows, M. N (1 - 1/N)^M of the N bins of a level are expected to stay unpolluted (equation 1 of the
//!   paper for one level). This is solved for M, with the mean number of polluted bins over all levels.
//!
//! The fair share is the link's rate over n. It is exact when all flows have more to send than that, and too small
//! where others leave their share unused: offenders then get less than they might, never more. A limiter in each bin
//! holds each offender to it; an aggregate limiter holds all to M times as much.

use alloc::vec;
use alloc::vec::Vec;

use super::config::SfbFairLimit;
use crate::memory::heap_bytes;
use crate::{FlowKey, Span, Time, hash_flow, table_index};

/// Counts flows, interval by interval.
#[derive(Clone, Debug)]
pub(crate) struct FlowCount {
    interval: Span,
    bits: u32,
    salt: u64,
    map: Vec<u64>,
    /// When the interval ends in which flows are being counted; it begins with a packet.
    ends_at: Option<Time>,
    /// n of the last full interval.
    pub flows: Option<f64>,
}

impl FlowCount {
    /// Nothing counted yet.
    pub fn new(config: &SfbFairLimit, salt: u64) -> Self {
        let map = vec![0; config.flow_bits.div_ceil(64) as usize];
        Self { interval: config.interval, bits: config.flow_bits, salt, map, ends_at: None, flows: None }
    }

    /// Counts the flow of an arriving packet. Whether an interval ended before it, so that there is a new estimate. A
    /// silence puts off the end: the packets before it are the latest that there are.
    #[inline]
    pub fn observe(&mut self, flow: FlowKey, now: Time) -> bool {
        let ends_at = *self.ends_at.get_or_insert(now.saturating_add(self.interval));
        let ended = now >= ends_at;
        if ended {
            self.flows = Some(self.estimate());
            self.map.fill(0);
            self.ends_at = Some(now.saturating_add(self.interval));
        }
        let bit = table_index(hash_flow(flow, self.salt), self.bits);
        self.map[bit as usize / 64] |= 1 << (bit % 64);
        ended
    }

    /// -m ln(share of clear bits), more than 1 because a packet begins each interval; a full map counts as one with
    /// half a bit clear.
    fn estimate(&self) -> f64 {
        let set: u32 = self.map.iter().map(|word| word.count_ones()).sum();
        let (bits, clear) = (f64::from(self.bits), f64::from(self.bits - set).max(0.5));
        -bits * libm::log(clear / bits)
    }

    /// Bytes that it holds on the heap.
    pub fn heap_bytes(&self) -> u64 {
        heap_bytes(&self.map)
    }
}

/// M: the offenders that pollute `polluted` of the `bins` of a level, on average over the levels. A level that is
/// polluted throughout counts as one with half a bin clean.
pub(crate) fn offenders(polluted: f64, bins: u32) -> f64 {
    let bins = f64::from(bins);
    if bins < 2.0 {
        return polluted;
    }
    libm::log((1.0 - polluted / bins).max(0.5 / bins)) / libm::log1p(-1.0 / bins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_counted_to_a_few_percent() {
        let config = SfbFairLimit::default();
        for flows in [1_u64, 10, 401, 4000, 20_000] {
            let mut count = FlowCount::new(&config, 11);
            for packet in 0..3 * flows {
                assert!(!count.observe(FlowKey(packet % flows), Time::ZERO));
            }
            assert!(count.observe(FlowKey(0), Time::ZERO + config.interval));
            // Three standard errors of linear counting: sqrt(m (e^t - t - 1)), t = n/m.
            let (m, n) = (f64::from(config.flow_bits), flows as f64);
            let error = 3.0 * libm::sqrt(m * (libm::exp(n / m) - n / m - 1.0));
            let found = count.flows.unwrap();
            assert!((found - n).abs() <= error + 0.01, "{found} for {n}, error {error}");
        }
    }

    #[test]
    fn a_full_map_has_half_a_bit_clear() {
        for flow_bits in [64, 65, 8192] {
            let config = SfbFairLimit { flow_bits, ..SfbFairLimit::default() };
            let mut count = FlowCount::new(&config, 11);
            // With 30 flows to a bit, the share of clear bits is e^-30: none.
            for flow in 0..30 * u64::from(flow_bits) {
                count.observe(FlowKey(flow), Time::ZERO);
            }
            count.observe(FlowKey(0), Time::ZERO + config.interval);
            let m = f64::from(flow_bits);
            assert_eq!(count.flows, Some(-m * libm::log(0.5 / m)), "{flow_bits}");
        }
    }

    #[test]
    fn each_interval_counts_anew_and_silence_changes_nothing() {
        let config = SfbFairLimit { interval: Span::from_seconds(1), ..SfbFairLimit::default() };
        let mut count = FlowCount::new(&config, 11);
        for flow in 0..100 {
            count.observe(FlowKey(flow), Time::ZERO);
        }
        let hours = Time::ZERO + Span::from_seconds(36_000);
        assert!(count.observe(FlowKey(0), hours));
        assert!((count.flows.unwrap() - 100.0).abs() < 10.0);
        assert!(!count.observe(FlowKey(0), hours));
        assert!(count.observe(FlowKey(0), hours + Span::from_seconds(1)));
        assert!((count.flows.unwrap() - 1.0).abs() < 0.01);
    }

    #[test]
    fn polluted_bins_give_the_number_of_offenders() {
        // N (1 - (1 - 1/N)^M) bins of 23 for 1, 4 and 8 offenders; the paper's "approximately 6" for 8 is 6.88.
        for (expected, polluted) in [(0.0, 0.0), (1.0, 1.0), (4.0, 3.7470), (8.0, 6.8835)] {
            assert!((offenders(polluted, 23) - expected).abs() < 1e-3, "{expected}");
        }
        // All 23: as 22.5, ln(0.5 / 23) / ln(22 / 23).
        assert!((offenders(23.0, 23) - 86.131).abs() < 1e-2);
        assert!((offenders(22.5, 23) - 86.131).abs() < 1e-2);
        // M offenders leave 2^-M of two bins clean; one bin shows whether there is any.
        assert!((offenders(1.5, 2) - 2.0).abs() < 1e-9 && (offenders(2.0, 2) - 2.0).abs() < 1e-9);
        assert_eq!([0.0, 0.5, 1.0].map(|polluted| offenders(polluted, 1)), [0.0, 0.5, 1.0]);
    }
}
