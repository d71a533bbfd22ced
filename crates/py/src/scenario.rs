//! Checking and running scenarios.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, names};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::custom_classes::{Plans, PythonClasses, attached_for, yield_interpreter};
use crate::error::{run_error, scenario_error};
use crate::progress::{Reins, interruptibly};
use crate::results::{Form, RawResult};

/// Validates a scenario and describes it. Raises ScenarioError.
#[pyfunction]
#[pyo3(signature = (text, file_name, overrides = Vec::new()))]
pub(crate) fn check<'py>(
    py: Python<'py>,
    text: &str,
    file_name: &str,
    overrides: Vec<(String, String)>,
) -> PyResult<Bound<'py, PyDict>> {
    let scenario = load(py, text, file_name, overrides)?;
    let spec = scenario.spec();
    let facts = PyDict::new(py);
    facts.set_item("name", scenario.name())?;
    facts.set_item("description", &spec.description)?;
    facts.set_item("duration_s", spec.duration.seconds())?;
    facts.set_item("warmup_s", spec.warmup.seconds())?;
    facts.set_item("seed", spec.seed)?;
    facts.set_item("flow_count", names::flow_count(spec))?;
    facts.set_item("link_count", names::link_count(spec))?;
    facts.set_item("toml", scenario.to_toml())?;
    facts.set_item("python_classes", forebay_scenario::python_classes(spec))?;
    Ok(facts)
}

/// The scenario as TOML with its abbreviations written out. Raises ScenarioError.
#[pyfunction]
#[pyo3(signature = (text, file_name, overrides = Vec::new()))]
pub(crate) fn expanded_toml(
    py: Python<'_>,
    text: &str,
    file_name: &str,
    overrides: Vec<(String, String)>,
) -> PyResult<String> {
    Ok(load(py, text, file_name, overrides)?.to_expanded_toml())
}

/// The names of a scenario's flows and of its links: separate from `check`, because there may be millions. Raises
/// ScenarioError.
#[pyfunction]
#[pyo3(signature = (text, file_name, overrides = Vec::new()))]
pub(crate) fn flow_and_link_names(
    py: Python<'_>,
    text: &str,
    file_name: &str,
    overrides: Vec<(String, String)>,
) -> PyResult<(Vec<String>, Vec<String>)> {
    let scenario = load(py, text, file_name, overrides)?;
    let spec = scenario.spec();
    Ok((names::flows(spec), names::links(spec)))
}

/// Runs a scenario without the interpreter's lock. `progress` is called about ten times a second with the finished
/// part; an exception from it, and Ctrl-C, end the call at once. Traces are written into `out_dir`, if one is given.
/// Columns are NumPy arrays and lists of texts; or, if `arrays` is false, objects of `Column`: NumPy is not loaded
/// then.
///
/// The run has at most `threads` threads; one with custom classes has one.
///
/// `custom` are the classes that the scenario names, by these names; it cannot name others. Unless all are compiled,
/// the thread of the run holds the interpreter's lock.
///
/// Raises ScenarioError, DisciplineError, ControllerError, OSError if a trace cannot be written, and InternalError.
#[pyfunction]
#[pyo3(signature = (text, file_name, overrides = Vec::new(), *, seed = None, progress = None, out_dir = None,
    arrays = true, threads = NonZeroUsize::MIN, custom = Plans::new()))]
#[expect(clippy::too_many_arguments, reason = "Python sees them as keywords with defaults")]
pub(crate) fn run(
    py: Python<'_>,
    text: &str,
    file_name: &str,
    overrides: Vec<(String, String)>,
    seed: Option<u64>,
    progress: Option<Py<PyAny>>,
    out_dir: Option<PathBuf>,
    arrays: bool,
    threads: NonZeroUsize,
    custom: Plans,
) -> PyResult<RawResult> {
    let scenario = load(py, text, file_name, overrides)?;
    let result = interruptibly(py, progress.as_ref(), move |reins| {
        let out = out_dir.as_deref();
        if custom.is_empty() {
            let run =
                forebay_scenario::run_on(threads, &scenario, seed, out, None, &mut |fraction| reins.go_on(fraction));
            return run.map_err(|error| run_error(&error));
        }
        attached_for(&custom, reins, || run_with_custom(&scenario, seed, out, reins, &custom))
    })??;
    RawResult::new(py, result, if arrays { Form::Arrays } else { Form::Columns })
}

fn run_with_custom(
    scenario: &Scenario,
    seed: Option<u64>,
    out: Option<&Path>,
    reins: &Reins,
    plans: &Plans,
) -> PyResult<RunResult> {
    let custom = PythonClasses::new(plans);
    let run = forebay_scenario::run_on(NonZeroUsize::MIN, scenario, seed, out, Some(&custom), &mut |fraction| {
        yield_interpreter(plans);
        reins.go_on(fraction) && !custom.have_failed()
    });
    match custom.error(scenario.spec(), seed) {
        Some(error) => Err(error),
        None => run.map_err(|error| run_error(&error)),
    }
}

/// The JSON Schema of a scenario file.
#[pyfunction]
pub(crate) fn json_schema() -> String {
    forebay_scenario::json_schema()
}

pub(crate) fn load(
    py: Python<'_>,
    text: &str,
    file_name: &str,
    overrides: Vec<(String, String)>,
) -> PyResult<Scenario> {
    let (text, file_name) = (text.to_owned(), file_name.to_owned());
    let loaded = interruptibly(py, None, move |_| Scenario::load(&text, &file_name, &overrides))?;
    loaded.map_err(|error| scenario_error(py, &error))
}
