//! Runs of htsim as scenarios.

use forebay_scenario::{HtsimFile, HtsimRun};
use pyo3::prelude::*;

use crate::error::scenario_error;

/// The scenario, as TOML, of a run of htsim_uec: texts and names of its files, and its options. Raises ScenarioError.
#[pyfunction]
pub(crate) fn scenario_from_htsim(
    py: Python<'_>,
    matrix: (String, String),
    topology: Option<(String, String)>,
    options: &str,
) -> PyResult<String> {
    let topology = topology.as_ref().map(|(text, name)| HtsimFile { text, name });
    let run = HtsimRun { matrix: HtsimFile { text: &matrix.0, name: &matrix.1 }, topology, options };
    forebay_scenario::scenario_from_htsim(&run).map_err(|error| scenario_error(py, &error))
}
