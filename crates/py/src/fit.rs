//! Parameters that fit a discipline to its link.

use forebay_qdisc::Rate;
use forebay_qdisc::config::{FittedValue, QueueSize, fitted};
use forebay_scenario::names;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::scenario::load;

/// The value of a parameter: a text or a number.
#[derive(IntoPyObject)]
pub(crate) enum Value {
    Text(String),
    Number(f64),
}

/// The parameters of a discipline that depend on its link and its buffer, by name, for a link of `rate` and in place of
/// a queue with `limit`. Raises ValueError for a rate or a limit that cannot be read.
#[pyfunction]
pub(crate) fn fitted_queue(discipline: &str, rate: &str, limit: Option<&str>) -> PyResult<Vec<(&'static str, Value)>> {
    let rate: Rate = rate.parse().map_err(|error| PyValueError::new_err(format!("{error}")))?;
    let limit: Option<QueueSize> =
        limit.map(str::parse).transpose().map_err(|error| PyValueError::new_err(format!("{error}")))?;
    let values = fitted(discipline, rate, limit).into_iter().map(|(name, value)| match value {
        FittedValue::Size(text) => (name, Value::Text(text)),
        FittedValue::Number(number) => (name, Value::Number(number)),
    });
    Ok(values.collect())
}

/// The rate of the slowest of these links of a scenario in bit/s; None if it has none of them. Raises ScenarioError.
#[pyfunction]
pub(crate) fn slowest_rate(
    py: Python<'_>,
    text: &str,
    file_name: &str,
    overrides: Vec<(String, String)>,
    links: Vec<String>,
) -> PyResult<Option<u64>> {
    let scenario = load(py, text, file_name, overrides)?;
    Ok(names::slowest(scenario.spec(), &links).map(Rate::bits_per_second))
}
