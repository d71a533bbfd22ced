//! A bucket of HTB: its tokens are time at its rate, and may be owed.

use crate::{Rate, Span};

/// The most time for which a bucket fills, and the most that it owes: `mbuffer` of Linux, 60 s.
pub(super) const MOST_PICOSECONDS: i64 = 60_000_000_000_000;

/// A deeper bucket would not fit the arithmetic; it is 53 days of sending at once.
const DEEPEST_PICOSECONDS: u64 = 1 << 62;

/// Tokens in picoseconds at a rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    rate: Rate,
    depth: i64,
    tokens: i64,
    /// A length in bytes with its cost: packets of one length come in rows, and a division is slow.
    last: (u32, i64),
}

impl Bucket {
    /// A full bucket.
    pub fn new(rate: Rate, burst_bytes: u64) -> Self {
        let depth = rate.transmission_time(burst_bytes).picoseconds().min(DEEPEST_PICOSECONDS) as i64;
        Self { rate, depth, tokens: depth, last: (0, 0) }
    }

    /// Its tokens after this many picoseconds.
    pub fn tokens_after(&self, elapsed: i64) -> i64 {
        self.tokens + elapsed
    }

    /// Fills for `elapsed` picoseconds, and pays for a packet (`htb_accnt_tokens`).
    pub fn pay(&mut self, len_bytes: u32, elapsed: i64) {
        if self.last.0 != len_bytes {
            let cost = self.rate.transmission_time(u64::from(len_bytes));
            self.last = (len_bytes, cost.min(Span::from_picoseconds(DEEPEST_PICOSECONDS)).picoseconds() as i64);
        }
        let tokens = (self.tokens + elapsed).min(self.depth) - self.last.1;
        self.tokens = tokens.max(1 - MOST_PICOSECONDS);
    }

    /// Fills for `elapsed` picoseconds, without regard to the depth, which the next payment restores.
    pub fn fill(&mut self, elapsed: i64) {
        self.tokens += elapsed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECOND: i64 = 1_000_000;

    #[test]
    fn a_bucket_is_full_at_first_and_never_fuller() {
        // 8 Mb/s: a byte a microsecond.
        let mut bucket = Bucket::new(Rate::megabits(8), 1600);
        assert_eq!(bucket.tokens_after(0), 1600 * MICROSECOND);
        bucket.pay(1000, 500 * MICROSECOND);
        assert_eq!(bucket.tokens_after(0), 600 * MICROSECOND);
        bucket.pay(1000, 300 * MICROSECOND);
        assert_eq!(bucket.tokens_after(0), -100 * MICROSECOND);
        bucket.pay(40, 0);
        assert_eq!(bucket.tokens_after(7), -140 * MICROSECOND + 7);
        // Elsewhere paid for, it overflows until it pays again.
        bucket.fill(3000 * MICROSECOND);
        assert_eq!(bucket.tokens_after(0), 2860 * MICROSECOND);
        bucket.pay(100, 0);
        assert_eq!(bucket.tokens_after(0), 1500 * MICROSECOND);
    }

    #[test]
    fn debts_end_before_60_seconds() {
        let mut bucket = Bucket::new(Rate::LEAST, 0);
        bucket.pay(8, 0);
        assert_eq!(bucket.tokens_after(0), 1 - MOST_PICOSECONDS);
        let mut bucket = Bucket::new(Rate::new(8).unwrap(), 0);
        bucket.pay(59, 0);
        assert_eq!(bucket.tokens_after(0), -59_000_000 * MICROSECOND);
        bucket.pay(1, 0);
        assert_eq!(bucket.tokens_after(0), 1 - MOST_PICOSECONDS);
    }

    #[test]
    fn the_deepest_bucket_and_the_longest_packet_do_not_overflow() {
        let mut bucket = Bucket::new(Rate::LEAST, u64::MAX);
        bucket.fill(MOST_PICOSECONDS);
        bucket.pay(u32::MAX, MOST_PICOSECONDS);
        assert!(bucket.tokens_after(MOST_PICOSECONDS) > 0);
    }
}
