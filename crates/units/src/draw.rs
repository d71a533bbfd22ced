//! Draws from a random generator that the caller owns.

use rand_core::Rng;

/// A uniform draw in [0, 1) with 53 bits. An event of probability `p` fires when `uniform(rng) < p`, so that `p = 0`
/// never and `p = 1` always fires.
#[must_use]
pub fn uniform(rng: &mut dyn Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws the same word each time.
    struct Constant(u64);

    impl rand_core::TryRng for Constant {
        type Error = core::convert::Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            Ok(self.0 as u32)
        }

        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            Ok(self.0)
        }

        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
            bytes.fill(self.0 as u8);
            Ok(())
        }
    }

    #[test]
    fn zero_can_be_drawn_and_one_cannot() {
        assert_eq!(uniform(&mut Constant(0)), 0.0);
        assert_eq!(uniform(&mut Constant(1 << 63)), 0.5);
        assert!(uniform(&mut Constant(u64::MAX)) < 1.0);
    }
}
