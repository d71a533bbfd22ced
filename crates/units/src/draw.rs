//! Draws from a random generator that the caller owns.

use rand_core::Rng;

/// A uniform draw in [0, 1) with 53 bits. An event of probability `p` fires when `uniform(rng) < p`, so that `p = 0`
/// never and `p = 1` always fires.
#[must_use]
pub fn uniform(rng: &mut dyn Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// A number below `bound`, which is positive, each with exactly the same probability: the upper half of a product,
/// drawn again in the few cases that would favour some (D. Lemire, "Fast Random Integer Generation in an Interval",
/// 2019).
#[must_use]
pub fn uniform_below(rng: &mut dyn Rng, bound: u64) -> u64 {
    let mut draw = || u128::from(rng.next_u64()) * u128::from(bound);
    let mut product = draw();
    if (product as u64) < bound {
        let excess = bound.wrapping_neg() % bound;
        while (product as u64) < excess {
            product = draw();
        }
    }
    (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws these words, one after the other.
    struct Script(&'static [u64]);

    impl rand_core::TryRng for Script {
        type Error = core::convert::Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            self.try_next_u64().map(|word| word as u32)
        }

        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            let (first, rest) = self.0.split_first().expect("a word for each draw");
            self.0 = rest;
            Ok(*first)
        }

        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
            bytes.fill(0);
            Ok(())
        }
    }

    #[test]
    fn zero_can_be_drawn_and_one_cannot() {
        assert_eq!(uniform(&mut Script(&[0])), 0.0);
        assert_eq!(uniform(&mut Script(&[1 << 63])), 0.5);
        assert!(uniform(&mut Script(&[u64::MAX])) < 1.0);
    }

    #[test]
    fn draws_that_would_favour_some_are_repeated() {
        // 2^64 mod 3 = 1: exactly one of the 2^64 draws, 0, must be discarded.
        assert_eq!(uniform_below(&mut Script(&[0, u64::MAX]), 3), 2);
        assert_eq!(uniform_below(&mut Script(&[1]), 3), 0);
        assert_eq!(uniform_below(&mut Script(&[u64::MAX / 2]), 3), 1);
        // 3 times this is 2 * 2^64 + 1: the least product that is kept.
        assert_eq!(uniform_below(&mut Script(&[0xaaaa_aaaa_aaaa_aaab]), 3), 2);
    }
}
