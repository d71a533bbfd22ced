//! Weights of flows by traffic class, for the fair queues.

use alloc::vec::Vec;

use crate::ParameterError;
use crate::require;

/// The weight of the flows of a traffic class.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(deny_unknown_fields))]
pub struct ClassWeight {
    /// The traffic class.
    pub class: u8,
    /// Weight of each of its flows; a flow of a class that is not listed has 1.
    pub weight: f64,
}

/// The smallest and the largest weight: beyond them rounds become too many, or too coarse.
const WEIGHTS: core::ops::RangeInclusive<f64> = 1e-3..=1e6;

/// The weight of each class, checked.
pub(crate) fn weights_by_class(weights: &[ClassWeight]) -> Result<Vec<f64>, ParameterError> {
    let mut by_class = alloc::vec![1.0; 256];
    for (index, entry) in weights.iter().enumerate() {
        require(WEIGHTS.contains(&entry.weight), "weights", "be between 0.001 and 1000000")?;
        let repeated = weights[..index].iter().any(|other| other.class == entry.class);
        require(!repeated, "weights", "name each class once")?;
        by_class[usize::from(entry.class)] = entry.weight;
    }
    Ok(by_class)
}
