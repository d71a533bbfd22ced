//! What is wrong with a configuration.

use core::fmt;

/// A parameter outside its bounds: names the field and the bound it breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterError {
    /// The field's name in the configuration.
    pub field: &'static str,
    /// The bound that it breaks, to be read after "`field` must ": "be between 1 and 64".
    pub bound: &'static str,
}

impl ParameterError {
    /// An error about `field` unless `holds`.
    pub(crate) fn unless(holds: bool, field: &'static str, bound: &'static str) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self { field, bound }) }
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` must {}", self.field, self.bound)
    }
}

impl core::error::Error for ParameterError {}
