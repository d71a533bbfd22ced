//! The core's errors in Python.

use std::io;

use forebay_engine::RunError;
use forebay_scenario::{PathStep, Words};
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    forebay._core,
    ScenarioError,
    PyValueError,
    "An invalid scenario or request. The message names the fault, its place and the expected value."
);

create_exception!(forebay._core, CaptureError, PyValueError, "A capture that cannot be replayed.");

create_exception!(
    forebay._core,
    InternalError,
    PyRuntimeError,
    "An internal contradiction, which is a fault in Forebay. Please report it."
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

/// A step of a path: an index of a list, or a key.
#[derive(FromPyObject)]
pub(crate) enum Step {
    Index(usize),
    Key(String),
}

/// The fault at `path` of a TOML file that Python reads, as the ScenarioError that shows it with its line. If the text
/// is not TOML, the error says that.
#[pyfunction]
#[pyo3(signature = (text, file_name, path, message, label, *, hint = None, at_key = false))]
#[expect(clippy::too_many_arguments, reason = "Python sees the last of them as keywords with defaults")]
pub(crate) fn error_in_toml(
    py: Python<'_>,
    text: &str,
    file_name: &str,
    path: Vec<Step>,
    message: String,
    label: String,
    hint: Option<String>,
    at_key: bool,
) -> Py<PyAny> {
    let path: Vec<PathStep> = path
        .into_iter()
        .map(|step| match step {
            Step::Index(index) => PathStep::Index(index),
            Step::Key(key) => PathStep::Key(key),
        })
        .collect();
    let words = Words { message, label, help: hint };
    let error = forebay_scenario::ScenarioError::in_toml(text, file_name, &path, at_key, words);
    scenario_error(py, &error).into_value(py).into_any()
}

/// The error of a file that the system refuses. With its number, Python makes the right kind of error of it.
pub(crate) fn os_error(reason: &io::Error, path: &str) -> PyErr {
    PyOSError::new_err((reason.raw_os_error(), reason.to_string(), path.to_owned()))
}

/// The error of a run that did not come to its end. One that Python stopped has no error of its own.
pub(crate) fn run_error(error: &RunError) -> PyErr {
    match error {
        RunError::TooLarge(_) | RunError::Custom(_) | RunError::Watch(_) => ScenarioError::new_err(error.to_string()),
        RunError::Write { path, reason } => os_error(reason, path),
        RunError::Thread(_) => PyOSError::new_err(error.to_string()),
        RunError::Stopped | RunError::Invariant(_) => InternalError::new_err(error.to_string()),
    }
}
