//! Warnings about a result.

/// A property of a result that its user may not expect, and how to avoid it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The property, with the names or the number of the parts that it concerns.
    pub text: String,
    /// How to avoid it.
    pub remedy: String,
}
