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
        let rate = u128::from(self.0.get());
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
