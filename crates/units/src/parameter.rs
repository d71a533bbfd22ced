//! A fault of a configuration.

use core::fmt;

/// A parameter outside its bounds: names the field and the bound it breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterError {
    /// The field's name in the configuration.
    pub field: &'static str,
    /// The bound that it breaks, to be read after "`field` must ": "be between 1 and 64".
    pub bound: &'static str,
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` must {}", self.field, self.bound)
    }
}

impl core::error::Error for ParameterError {}

/// Checks a parameter.
///
/// # Errors
/// One about `field` unless `holds`.
pub fn require(holds: bool, field: &'static str, bound: &'static str) -> Result<(), ParameterError> {
    if holds { Ok(()) } else { Err(ParameterError { field, bound }) }
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use alloc::string::ToString;

    use super::*;

    #[test]
    fn an_error_reads_as_a_sentence() {
        assert_eq!(require(true, "limit", "be at least 1 packet"), Ok(()));
        let error = require(false, "limit", "be at least 1 packet").unwrap_err();
        assert_eq!(error.to_string(), "`limit` must be at least 1 packet");
    }
}
