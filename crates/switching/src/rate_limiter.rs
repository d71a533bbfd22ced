//! A rate limiter: a token bucket that holds one frame.
//!
//! # What it does
//! Says when a flow may send its next frame: `8 len / r` after the beginning of the last one, of `len` bytes, at rate
//! r. A flow that always sends as soon as it may sends at r, and is short of it by less than a picosecond a frame.
//!
//! It stores the last frame instead of the resulting time, so that a change of the rate changes the current wait.
//! Otherwise a flow cut to 1 Mb/s could not be sped up again for the 12 ms that a frame of 1500 B takes.
//!
//! # Source
//! The rate limiters of the reaction points of IEEE 802.1Q (clauses 30 to 33, congestion notification), and of the
//! proposals before it.
//!
//! # Where we differ
//! Waiting for the line earns no credit: a flow that sends late, because others had the line, is behind by that for
//! good. A bucket of one frame and a bit more would let it catch up.
//!
//! # Cost
//! 16 bytes. A division for each question.
//!
//! # Parameters
//! None: the rate is an argument.

use forebay_units::{Span, Time};

/// Turns bytes over bits per second into picoseconds.
const BIT_PICOSECONDS_PER_BYTE: f64 = 8e12;

/// The limiter of a flow; at first it lets a frame pass at once.
#[derive(Clone, Copy, Debug)]
pub struct RateLimiter {
    last_sent: Time,
    /// Zero before the first frame.
    last_len_bytes: u32,
}

impl Default for RateLimiter {
    fn default() -> Self {
        Self { last_sent: Time::ZERO, last_len_bytes: 0 }
    }
}

impl RateLimiter {
    /// A frame of this many bytes was begun at `now`.
    #[inline]
    pub fn sent(&mut self, len_bytes: u32, now: Time) {
        self.last_sent = now;
        self.last_len_bytes = len_bytes;
    }

    /// The time that a frame of this many bytes takes at `rate_bps` bits per second; rounded up, so that the rate is
    /// never exceeded. At no rate, forever.
    #[must_use]
    pub fn interval(len_bytes: u32, rate_bps: f64) -> Span {
        // Beyond 2^64, and for a rate of zero, the conversion saturates.
        Span::from_picoseconds(libm::ceil(f64::from(len_bytes) * BIT_PICOSECONDS_PER_BYTE / rate_bps) as u64)
    }

    /// The time at which the flow may send again at `rate_bps` bits per second, which must not be negative; at zero,
    /// never.
    #[inline]
    #[must_use]
    pub fn eligible_at(&self, rate_bps: f64) -> Time {
        if self.last_len_bytes == 0 {
            return Time::ZERO;
        }
        self.last_sent.saturating_add(Self::interval(self.last_len_bytes, rate_bps))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn picoseconds(ps: u64) -> Time {
        Time::from_picoseconds(ps)
    }

    #[test]
    fn the_first_frame_may_go_at_once_and_at_no_rate_no_other() {
        let mut limiter = RateLimiter::default();
        assert_eq!(limiter.eligible_at(1e6), Time::ZERO);
        assert_eq!(limiter.eligible_at(0.0), Time::ZERO);
        limiter.sent(1500, picoseconds(5));
        assert_eq!(limiter.eligible_at(0.0), Time::NEVER);
        assert_eq!(limiter.eligible_at(f64::INFINITY), picoseconds(5));
        // 1500 B at 10 Gb/s: 1.2 us.
        assert_eq!(limiter.eligible_at(1e10), picoseconds(1_200_005));
    }

    #[test]
    fn a_change_of_the_rate_changes_the_wait_under_way() {
        let mut limiter = RateLimiter::default();
        limiter.sent(1500, Time::ZERO);
        assert_eq!(limiter.eligible_at(1e6), picoseconds(12_000_000_000));
        // 1 ms later the rate is 10 Mb/s: 1.2 ms after the frame, and not 12 ms.
        assert_eq!(limiter.eligible_at(1e7), picoseconds(1_200_000_000));
    }

    proptest! {
        #[test]
        fn the_rate_is_kept_in_the_long_run(
            rate_bps in 1e6..1e11, lengths in prop::collection::vec(64_u32..=9000, 1..500)
        ) {
            let (mut limiter, mut now) = (RateLimiter::default(), picoseconds(1));
            for &len_bytes in &lengths {
                limiter.sent(len_bytes, now);
                now = limiter.eligible_at(rate_bps);
            }
            let bits = 8.0 * lengths.iter().map(|&len_bytes| f64::from(len_bytes)).sum::<f64>();
            let (exact_ps, taken_ps) = (bits / rate_bps * 1e12, (now.picoseconds() - 1) as f64);
            // Floating point is good for a part in 10^15, which matters over many seconds only.
            let slack_ps = exact_ps * 1e-13;
            prop_assert!(taken_ps >= exact_ps - slack_ps, "too fast: {taken_ps} for {exact_ps}");
            prop_assert!(taken_ps <= exact_ps + slack_ps + lengths.len() as f64, "too slow: {taken_ps} for {exact_ps}");
        }

        #[test]
        fn a_flow_never_exceeds_the_highest_of_its_rates(
            frames in prop::collection::vec((64_u32..=9000, 1e6..1e11, 0_u64..10_000_000), 2..100)
        ) {
            // Whatever the sender's delays, and however the rate changes while it waits.
            let (mut limiter, mut now, mut sent_bits) = (RateLimiter::default(), Time::ZERO, 0.0);
            let highest_bps = frames.iter().map(|frame| frame.1).fold(0.0, f64::max);
            for &(len_bytes, rate_bps, late_ps) in &frames {
                now = picoseconds(now.max(limiter.eligible_at(rate_bps)).picoseconds() + late_ps);
                prop_assert!(sent_bits <= highest_bps * now.seconds() * (1.0 + 1e-12), "{sent_bits} by {now}");
                limiter.sent(len_bytes, now);
                sent_bits += 8.0 * f64::from(len_bytes);
            }
        }
    }
}
