//! Link and source rates.

use core::fmt;

use crate::time::{PICOSECONDS_PER_SECOND, Span};

/// A rate in bits per second. Always at least one bit per second: a rate of zero is refused where it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(core::num::NonZeroU64);

impl Rate {
    /// A rate of that many bits per second; `None` for zero.
    #[must_use]
    pub const fn new(bits_per_second: u64) -> Option<Self> {
        match core::num::NonZeroU64::new(bits_per_second) {
            Some(rate) => Some(Self(rate)),
            None => None,
        }
    }

    /// A rate of that many whole megabits per second; for constants and tests.
    ///
    /// # Panics
    /// On zero.
    #[must_use]
    pub const fn megabits(megabits_per_second: u64) -> Self {
        match Self::new(megabits_per_second * 1_000_000) {
            Some(rate) => rate,
            None => panic!("a rate must not be zero"),
        }
    }

    /// One bit per second.
    pub const LEAST: Self = match Self::new(1) {
        Some(rate) => rate,
        None => panic!("a rate must not be zero"),
    };

    /// This rate times `share` in whole bits per second, at least [`Rate::LEAST`].
    #[must_use]
    pub fn scaled(self, share: f64) -> Self {
        Self::new((self.bits_per_second() as f64 * share) as u64).unwrap_or(Self::LEAST)
    }

    /// Bits per second.
    #[must_use]
    pub const fn bits_per_second(self) -> u64 {
        self.0.get()
    }

    /// Bytes per second.
    #[must_use]
    pub fn bytes_per_second(self) -> f64 {
        self.0.get() as f64 / 8.0
    }

    /// The time it takes to send `bytes` at this rate, rounded to the nearest picosecond.
    #[must_use]
    pub fn transmission_time(self, bytes: u64) -> Span {
        // Of all but giant packets the picoseconds of all bits fit into 64 bits, which are divided several times
        // faster.
        let rate = self.0.get();
        const PER_BYTE: u64 = 8 * PICOSECONDS_PER_SECOND;
        if bytes <= u64::MAX / PER_BYTE
            && let Some(bit_picoseconds) = (bytes * PER_BYTE).checked_add(rate / 2)
        {
            return Span::from_picoseconds(bit_picoseconds / rate);
        }
        let rate = u128::from(rate);
        let bit_picoseconds = u128::from(bytes) * 8 * u128::from(PICOSECONDS_PER_SECOND);
        Span::from_picoseconds(u64::try_from((bit_picoseconds + rate / 2) / rate).unwrap_or(u64::MAX))
    }

    /// The bytes sent in `span` at this rate, rounded down.
    #[must_use]
    pub fn bytes_in(self, span: Span) -> u64 {
        let bits = u128::from(self.0.get()) * u128::from(span.picoseconds()) / u128::from(PICOSECONDS_PER_SECOND);
        u64::try_from(bits / 8).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::parse::write_scaled(f, self.0.get(), crate::parse::RATE_UNITS)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_part_of_a_rate_is_of_whole_bits_and_never_nothing() {
        let rate = Rate::megabits(100);
        let parts = [1.0, 0.5, 0.123_456_789, 1e-8, 1e-9, 0.0].map(|share| rate.scaled(share).bits_per_second());
        assert_eq!(parts, [100_000_000, 50_000_000, 12_345_678, 1, 1, 1]);
    }

    proptest! {
        #[test]
        fn the_time_of_a_packet_is_the_nearest_picosecond_however_long_it_is(
            bytes in prop_oneof![0_u64..10_000, any::<u64>().prop_map(|bytes| bytes >> 20), 2_305_840_u64..2_305_846],
            rate in 1_u64..2_000_000_000_000,
        ) {
            let transmission = Rate::new(rate).unwrap().transmission_time(bytes);
            let (exact, rate) = (u128::from(bytes) * 8 * u128::from(PICOSECONDS_PER_SECOND), u128::from(rate));
            let twice_off = (2 * exact).abs_diff(2 * u128::from(transmission.picoseconds()) * rate);
            prop_assert!(twice_off <= rate || (transmission == Span::MAX && exact / rate >= u128::from(u64::MAX)));
        }
    }
}
