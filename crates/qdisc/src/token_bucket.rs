//! A token bucket: its depth at once, and its rate over any time.
//!
//! The state is the time at which all sent packets would have left at the bucket's rate. This is the virtual scheduling
//! form of the generic cell rate algorithm (ITU-T I.371): integer picoseconds, no refill, no rounding that adds up.

use crate::{Rate, Span, Time};

/// A token bucket. A packet passes when there are tokens for all its bytes: over any time t, at most depth + rate x t
/// bytes do. A packet longer than the depth passes when the bucket is full, and its remaining bytes are owed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBucket {
    rate: Rate,
    /// The depth of the bucket as time at its rate.
    depth: Span,
    /// When what was sent would have gone out at `rate`.
    paid_until: Time,
}

impl TokenBucket {
    /// A full bucket of `burst_bytes` that refills at `rate`.
    pub fn new(rate: Rate, burst_bytes: u64) -> Self {
        Self { rate, depth: rate.transmission_time(burst_bytes), paid_until: Time::ZERO }
    }

    /// When a packet of `len_bytes` may pass, if none passes before.
    pub fn ready_at(&self, len_bytes: u32) -> Time {
        let left = self.depth - self.cost(len_bytes).min(self.depth);
        Time::ZERO + self.paid_until.since(Time::ZERO + left)
    }

    /// Takes the tokens of a packet of `len_bytes` that passes at `now`.
    pub fn take(&mut self, len_bytes: u32, now: Time) {
        self.paid_until = self.paid_until.max(now).saturating_add(self.cost(len_bytes));
    }

    /// Takes the tokens of a packet of `len_bytes` if it may pass at `now`; returns whether it may.
    pub fn try_take(&mut self, len_bytes: u32, now: Time) -> bool {
        let passes = self.ready_at(len_bytes) <= now;
        if passes {
            self.take(len_bytes, now);
        }
        passes
    }

    fn cost(&self, len_bytes: u32) -> Span {
        self.rate.transmission_time(u64::from(len_bytes))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_milliseconds(milliseconds)
    }

    #[test]
    fn the_burst_passes_at_once_and_the_rate_holds_after() {
        // 8 Mb/s: 1000 B a millisecond.
        let mut bucket = TokenBucket::new(Rate::megabits(8), 3000);
        let passed = (0..9).filter(|_| bucket.try_take(1000, Time::ZERO)).count();
        assert_eq!(
            (passed, bucket.ready_at(1000), bucket.ready_at(500)),
            (3, at(1), Time::ZERO + Span::from_microseconds(500))
        );
        for millisecond in 1..100 {
            let now = at(millisecond);
            assert!(bucket.try_take(1000, now) && !bucket.try_take(1, now));
        }
    }

    #[test]
    fn a_packet_longer_than_the_bucket_needs_a_full_one() {
        let mut bucket = TokenBucket::new(Rate::megabits(8), 1000);
        assert!(bucket.try_take(3000, Time::ZERO));
        // The 2000 B owed take 2 ms, and a full bucket another.
        assert_eq!(
            (bucket.ready_at(1), bucket.ready_at(1000), bucket.ready_at(3000)),
            (at(2) + Span::from_microseconds(1), at(3), at(3))
        );
        let mut paced = TokenBucket::new(Rate::megabits(8), 0);
        assert!(paced.try_take(1000, Time::ZERO));
        assert_eq!(paced.ready_at(1), at(1));
    }

    proptest! {
        /// The law of a token bucket, up to half a picosecond of rounding for each packet.
        #[test]
        fn no_interval_passes_more_than_the_burst_and_the_rate(
            rate_bps in 1_000_u64..400_000_000_000,
            burst_bytes in 1500_u64..20_000,
            arrivals in prop::collection::vec((0_u64..3_000_000_000, 1_u32..=1500), 1..60),
        ) {
            let mut bucket = TokenBucket::new(Rate::new(rate_bps).unwrap(), burst_bytes);
            let (mut now, mut passed) = (Time::ZERO, Vec::new());
            for (gap_ps, len_bytes) in arrivals {
                // A shaper waits for the packet's tokens.
                now = (now + Span::from_picoseconds(gap_ps)).max(bucket.ready_at(len_bytes));
                prop_assert!(bucket.try_take(len_bytes, now));
                passed.push((now, u128::from(len_bytes)));
            }
            let picobits = |bytes: u128| bytes * 8_000_000_000_000;
            for (first, &(from, _)) in passed.iter().enumerate() {
                let mut bytes = 0;
                for (last, &(to, len_bytes)) in passed.iter().enumerate().skip(first) {
                    bytes += len_bytes;
                    let packets = (last - first + 2) as u128;
                    let most = 2 * picobits(u128::from(burst_bytes))
                        + u128::from(rate_bps) * (2 * u128::from(to.since(from).picoseconds()) + packets);
                    prop_assert!(2 * picobits(bytes) <= most, "{bytes} bytes from {from:?} to {to:?}");
                }
            }
        }
    }
}
