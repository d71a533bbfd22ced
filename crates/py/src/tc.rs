//! The commands that set up a scenario's queue on Linux, and the way back.

use forebay_scenario::TcTarget;
use pyo3::prelude::*;

use crate::error::scenario_error;
use crate::scenario::load;

/// Names of the links whose queue the scenario describes. Raises ScenarioError.
#[pyfunction]
pub(crate) fn described_queues(
    py: Python<'_>,
    text: &str,
    file_name: &str,
    overrides: Vec<(String, String)>,
) -> PyResult<Vec<String>> {
    Ok(forebay_scenario::described_queues(&load(py, text, file_name, overrides)?))
}

/// The `tc` commands for a link on the interface `device`; None if the scenario has no such link. `packet_bytes` is
/// the size of a packet where Linux counts bytes and the scenario packets. Raises ScenarioError.
#[pyfunction]
pub(crate) fn tc_commands(
    py: Python<'_>,
    text: &str,
    file_name: &str,
    overrides: Vec<(String, String)>,
    link: &str,
    device: &str,
    packet_bytes: u64,
) -> PyResult<Option<String>> {
    let scenario = load(py, text, file_name, overrides)?;
    Ok(forebay_scenario::tc_commands(&scenario, link, TcTarget { device, packet_bytes }))
}

/// The keys of a link as TOML, from `tc` commands or the output of `tc qdisc show`. `device` chooses one of several
/// interfaces. Raises ScenarioError.
#[pyfunction]
pub(crate) fn link_from_tc(py: Python<'_>, text: &str, file_name: &str, device: Option<&str>) -> PyResult<String> {
    forebay_scenario::link_from_tc(text, file_name, device).map_err(|error| scenario_error(py, &error))
}
