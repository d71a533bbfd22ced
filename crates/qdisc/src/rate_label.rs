//! A flow's rate as a packet carries it.

use core::num::NonZeroU16;

/// A flow's rate in ten bits, as an edge router writes it on a packet and core routers read it (CSFQ).
///
/// A small floating-point number: five bits of exponent and five of mantissa over 1 kb/s, so 32 steps an octave over 32
/// octaves, from 1.03 kb/s to 4.2 Tb/s. A rate is rounded to the nearest step, halves up, and is off by at most 1/64
/// (1.6 %); a rate outside the range becomes the lowest or the highest label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RateLabel(NonZeroU16);

/// The rate whose exponent and mantissa are both zero; its code means "no label".
const UNIT_BITS_PER_SECOND: f64 = 1000.0;
const MANTISSA_BITS: u32 = 5;
/// Bits that a label's mantissa is shorter than that of a double.
const SHIFT: u32 = f64::MANTISSA_DIGITS - 1 - MANTISSA_BITS;
/// The code of 1.0 if a label's exponent had the bias of a double's.
const BIAS: u64 = 1023 << MANTISSA_BITS;

impl RateLabel {
    /// How many bits a label takes.
    pub const BITS: u32 = 10;

    /// The label nearest to a rate; the lowest for zero, negative rates and NaN.
    #[must_use]
    pub fn nearest(bits_per_second: f64) -> Self {
        // A double's own bits are its logarithm, linear within each octave: rounded to fewer bits they are the label.
        let scaled = (bits_per_second / UNIT_BITS_PER_SECOND).max(1.0);
        let code = ((scaled.to_bits() + (1 << (SHIFT - 1))) >> SHIFT) - BIAS;
        let code = code.min((1 << Self::BITS) - 1) as u16;
        Self(NonZeroU16::new(code).unwrap_or(NonZeroU16::MIN))
    }

    /// The rate in bits per second.
    #[must_use]
    pub fn bits_per_second(self) -> f64 {
        f64::from_bits((u64::from(self.0.get()) + BIAS) << SHIFT) * UNIT_BITS_PER_SECOND
    }

    /// The label as a number of [`RateLabel::BITS`] bits, never zero.
    #[must_use]
    pub const fn code(self) -> u16 {
        self.0.get()
    }

    /// The label with this code; `None` for zero, which means "no label", and for codes of more bits.
    #[must_use]
    pub const fn from_code(code: u16) -> Option<Self> {
        match NonZeroU16::new(code) {
            Some(code) if code.get() >> Self::BITS == 0 => Some(Self(code)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_code_survives_the_way_there_and_back() {
        assert_eq!((RateLabel::from_code(0), RateLabel::from_code(1024)), (None, None));
        let mut last = 0.0;
        for code in 1..1024 {
            let label = RateLabel::from_code(code).unwrap();
            let rate = label.bits_per_second();
            assert!(rate > last);
            assert_eq!((RateLabel::nearest(rate), label.code()), (label, code));
            last = rate;
        }
    }

    #[test]
    fn rates_out_of_range_become_the_lowest_and_the_highest_label() {
        for low in [0.0, -1.0, f64::NEG_INFINITY, f64::NAN, 999.0, 1000.0, 1030.0] {
            assert_eq!(RateLabel::nearest(low).code(), 1);
        }
        for high in [4.3e12, 1e30, f64::MAX, f64::INFINITY] {
            assert_eq!(RateLabel::nearest(high).code(), 1023);
        }
        assert_eq!(RateLabel::nearest(0.0).bits_per_second(), 1031.25);
        assert_eq!(RateLabel::nearest(1e30).bits_per_second(), 1000.0 * 2_147_483_648.0 * (1.0 + 31.0 / 32.0));
    }

    #[test]
    fn known_rates_have_known_labels() {
        // 312.5 kb/s is 256 kb/s and 7.06 of the 32 steps to 512 kb/s: exponent 8, mantissa 7.
        assert_eq!(RateLabel::nearest(312_500.0).code(), 8 << 5 | 7);
        assert_eq!(RateLabel::nearest(312_500.0).bits_per_second(), 312_000.0);
        // Half a step rounds up, into the next octave where need be.
        assert_eq!(RateLabel::nearest(256_000.0 * (1.0 + 0.5 / 32.0)).code(), 8 << 5 | 1);
        assert_eq!(RateLabel::nearest(256_000.0 * (1.0 + 31.5 / 32.0)).code(), 9 << 5);
    }

    proptest! {
        #[test]
        fn a_rate_in_range_is_off_by_at_most_a_64th(rate in 1_031.25_f64..4.2e12) {
            let error = RateLabel::nearest(rate).bits_per_second() / rate - 1.0;
            prop_assert!(error.abs() <= 1.0 / 64.0, "{rate}: {error}");
        }

        #[test]
        fn labels_keep_the_order_of_rates(a in 0.0_f64..1e13, b in 0.0_f64..1e13) {
            prop_assert_eq!(a <= b, a <= b && RateLabel::nearest(a) <= RateLabel::nearest(b));
        }
    }
}
