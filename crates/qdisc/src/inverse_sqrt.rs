//! The inverse square root of a count in fixed point, by Newton's method: how CoDel in Linux and COBALT space their
//! drops, bit for bit.

use crate::Span;

/// The inverse square root of 1, in units of 2^-32: as near to 1 as they go.
pub(crate) const ONE: u32 = u32::MAX;

/// One step of Newton's method, x (3 - n x²) / 2, from the estimate `inverse` of 1/sqrt(`count`) in units of 2^-32. If
/// `count` has jumped up so far that the bracket is negative, the result wraps as in Linux.
pub(crate) const fn newton_step(inverse: u32, count: u32) -> u32 {
    let x = inverse as u64;
    let x_squared = (x * x) >> 32;
    // Two bits less, so that the product fits.
    let bracket = (3_u64 << 32).wrapping_sub(count as u64 * x_squared) >> 2;
    (bracket.wrapping_mul(x) >> 31) as u32
}

/// `span` over the square root whose inverse is given in units of 2^-32.
pub(crate) const fn shortened(span: Span, inverse: u32) -> Span {
    Span::from_picoseconds(((span.picoseconds() as u128 * inverse as u128) >> 32) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newton_converges_to_the_inverse_square_root() {
        for count in [2, 3, 7, 100, 10_000] {
            // From below, at a tenth of the value.
            let exact = 1.0 / libm::sqrt(f64::from(count));
            let mut inverse = (exact / 10.0 * 4_294_967_296.0) as u32;
            for _ in 0..12 {
                inverse = newton_step(inverse, count);
            }
            assert!((f64::from(inverse) / 4_294_967_296.0 / exact - 1.0).abs() < 1e-6, "{count}");
        }
    }

    #[test]
    fn a_jump_of_the_count_wraps_as_in_linux() {
        // Linux, codel_Newton_step(), evaluated by hand for 16 bits of the inverse.
        let bits = |count| newton_step(ONE & 0xffff_0000, count) >> 16;
        assert_eq!([2, 5, 31, 65].map(bits), [32769, 5, 44, 95]);
    }

    #[test]
    fn a_span_is_scaled_without_overflow() {
        assert_eq!(shortened(Span::MAX, 1 << 31), Span::from_picoseconds(u64::MAX / 2));
        assert_eq!(shortened(Span::from_milliseconds(100), 1 << 30), Span::from_milliseconds(25));
    }
}
