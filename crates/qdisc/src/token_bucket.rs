//! A token bucket that never looks at a packet before it is sent.
//!
//! The state is the time at which all sent packets would have left at the bucket's rate. This is the virtual scheduling
//! form of the generic cell rate algorithm (ITU-T I.371): integer picoseconds, no refill, no rounding that adds up.

use crate::{Rate, Span, Time};

/// A token bucket. While it is ready one more packet may pass, whatever its length; its bytes are then owed. So a burst
/// may exceed the bucket's depth by at most one packet, and the rate holds over any longer time.
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

    /// When the next packet may pass.
    pub fn ready_at(&self) -> Time {
        Time::ZERO + self.paid_until.since(Time::ZERO + self.depth)
    }

    /// Whether a packet may pass at `now`.
    pub fn is_ready(&self, now: Time) -> bool {
        self.ready_at() <= now
    }

    /// Counts a packet of `len_bytes` that passes at `now`.
    pub fn take(&mut self, len_bytes: u32, now: Time) {
        let start = self.paid_until.max(now);
        self.paid_until = start.saturating_add(self.rate.transmission_time(u64::from(len_bytes)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_burst_passes_at_once_and_the_rate_holds_after() {
        // 8 Mb/s: 1000 B a millisecond. A depth of 3000 B lets packets of 1000 B pass while at most 3000 B are owed.
        let mut bucket = TokenBucket::new(Rate::megabits(8), 3000);
        let mut passed = 0;
        while bucket.is_ready(Time::ZERO) {
            bucket.take(1000, Time::ZERO);
            passed += 1;
        }
        assert_eq!(passed, 4);
        assert_eq!(bucket.ready_at(), Time::ZERO + Span::from_milliseconds(1));
        for millisecond in 1..100 {
            let now = Time::ZERO + Span::from_milliseconds(millisecond);
            assert!(bucket.is_ready(now));
            bucket.take(1000, now);
            assert!(!bucket.is_ready(now));
        }
    }
}
