//! Functions for disciplines written in Python: mathematics with the same bits everywhere, as the built-in ones have
//! it, and the random numbers of compiled ones.

use pyo3::prelude::*;

/// e to the power of `exponent`.
#[pyfunction]
pub(crate) fn exponential(exponent: f64) -> f64 {
    libm::exp(exponent)
}

/// The natural logarithm of `number`: minus infinity at 0, NaN below.
#[pyfunction]
pub(crate) fn logarithm(number: f64) -> f64 {
    libm::log(number)
}

/// `base` to the power of `exponent`: NaN where that is no real number.
#[pyfunction]
pub(crate) fn power(base: f64, exponent: f64) -> f64 {
    libm::pow(base, exponent)
}

/// The address at which compiled laws find the function that draws for them.
#[pyfunction]
pub(crate) fn draw_address() -> usize {
    forebay_compiled::draw_address()
}
