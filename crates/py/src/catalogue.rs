//! Everything that a scenario can choose by name.

use forebay_scenario::{Choice, Parameter};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Every discipline, transport and topology with its text and its parameters.
#[pyfunction]
pub(crate) fn choices(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let entries = forebay_scenario::choices().iter().map(|choice| entry(py, choice)).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, entries)
}

/// The remedy for a name that is unknown: that of a queue discipline of another system, or else the nearest of `names`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "taken from Python")]
pub(crate) fn remedy_for_name(written: &str, names: Vec<String>) -> Option<String> {
    forebay_scenario::remedy_for_name(written, names.iter().map(String::as_str))
}

fn entry<'py>(py: Python<'py>, choice: &Choice) -> PyResult<Bound<'py, PyDict>> {
    let parameters = choice.parameters.iter().map(|it| parameter_entry(py, it)).collect::<PyResult<Vec<_>>>()?;
    let entry = PyDict::new(py);
    entry.set_item("kind", choice.kind)?;
    entry.set_item("name", &choice.name)?;
    entry.set_item("summary", &choice.summary)?;
    entry.set_item("when_to_use", choice.when_to_use())?;
    entry.set_item("sections", &choice.sections)?;
    entry.set_item("parameters", parameters)?;
    Ok(entry)
}

fn parameter_entry<'py>(py: Python<'py>, parameter: &Parameter) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("name", &parameter.name)?;
    entry.set_item("takes", &parameter.takes)?;
    entry.set_item("default", &parameter.default)?;
    entry.set_item("required", parameter.required)?;
    entry.set_item("description", &parameter.description)?;
    Ok(entry)
}
