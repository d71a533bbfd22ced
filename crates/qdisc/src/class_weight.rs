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
    /// Weight of each flow of the class; flows of classes that are not listed have 1.
    pub weight: f64,
}

/// The smallest and the largest weight: beyond them rounds become too many, or too coarse.
pub(crate) const WEIGHTS: core::ops::RangeInclusive<f64> = 1e-3..=1e6;

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

#[cfg(test)]
mod tests {
    use super::*;

    fn by_class(weights: &[(u8, f64)]) -> Result<Vec<f64>, ParameterError> {
        let weights: Vec<ClassWeight> = weights.iter().map(|&(class, weight)| ClassWeight { class, weight }).collect();
        weights_by_class(&weights)
    }

    #[test]
    fn every_class_has_the_weight_that_is_listed_or_1() {
        let weights = by_class(&[(0, 2.0), (255, 0.5)]).unwrap();
        assert_eq!((weights[0], weights[255], weights.len()), (2.0, 0.5, 256));
        assert!(weights[1..255].iter().all(|weight| *weight == 1.0));
    }

    #[test]
    fn weights_have_bounds_and_come_once() {
        for weight in [1e-3, 1e6] {
            assert!(by_class(&[(1, weight)]).is_ok(), "{weight}");
        }
        for weight in [1e-3 - 1e-9, 1e6 + 1e-3, 0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(by_class(&[(1, weight)]).map_err(|error| error.field), Err("weights"), "{weight}");
        }
        assert!(by_class(&[(1, 2.0), (2, 2.0)]).is_ok());
        assert_eq!(by_class(&[(1, 2.0), (2, 2.0), (1, 2.0)]).map_err(|error| error.field), Err("weights"));
    }
}
