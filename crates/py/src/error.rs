//! What the core's errors become in Python.

use forebay_engine::RunError;
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    forebay._core,
    ScenarioError,
    PyValueError,
    "What was asked for is not possible. The message says what is wrong, where, and what was expected."
);

create_exception!(forebay._core, CaptureError, PyValueError, "A capture that cannot be replayed.");

create_exception!(
    forebay._core,
    InternalError,
    PyRuntimeError,
    "The simulator contradicts itself: a fault in Forebay. Please report it."
);

/// The name of the attribute of ScenarioError that holds its message with colours for a terminal.
pub(crate) const COLOURED: &str = "coloured";

/// The error with the offending text underlined.
pub(crate) fn scenario_error(py: Python<'_>, error: &forebay_scenario::ScenarioError) -> PyErr {
    let raised = ScenarioError::new_err(error.render(false).trim_end().to_owned());
    match raised.value(py).setattr(COLOURED, error.render(true).trim_end()) {
        Ok(()) => raised,
        Err(fault) => fault,
    }
}

/// The error of a run that did not come to its end; `interruption` is what Python raised to stop it.
pub(crate) fn run_error(error: &RunError, interruption: Option<PyErr>) -> PyErr {
    match (error, interruption) {
        (RunError::Stopped, Some(interruption)) => interruption,
        (RunError::PathTooLong { .. }, _) => ScenarioError::new_err(error.to_string()),
        (RunError::Trace { .. }, _) => PyOSError::new_err(error.to_string()),
        (RunError::Stopped | RunError::Invariant(_), _) => InternalError::new_err(error.to_string()),
    }
}
