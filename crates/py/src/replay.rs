//! Replaying captures.

use std::fs::File;
use std::io::BufReader;
use std::net::IpAddr;
use std::path::PathBuf;

use forebay_scenario::replay::{PortSpec, ReplayError, ReplayOptions, ReplayResult};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{CaptureError, InternalError, scenario_error};
use crate::results::{Form, columns};

/// Replays a pcap or pcapng file, gzip too, into a port of `rate` with the discipline named `queue`, whose parameters
/// `settings` gives. With `destination` only packets to that address are replayed.
///
/// Raises ScenarioError for rate, queue and settings, OSError for a file that cannot be opened, CaptureError for one
/// that cannot be replayed, and InternalError.
#[pyfunction]
#[pyo3(signature = (capture, rate, queue, settings = Vec::new(), *, destination = None, seed = 1))]
pub(crate) fn replay<'py>(
    py: Python<'py>,
    capture: PathBuf,
    rate: &str,
    queue: &str,
    settings: Vec<(String, String)>,
    destination: Option<IpAddr>,
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let port = PortSpec::load(rate, queue, &settings).map_err(|error| scenario_error(py, &error))?;
    let file = BufReader::new(File::open(capture)?);
    let options = ReplayOptions { destination, seed };
    let outcome = py.detach(|| forebay_scenario::replay::replay(file, port.rate, &port.queue, &options));
    match outcome {
        Ok(result) => entries(py, result),
        Err(error @ ReplayError::Invariant(_)) => Err(InternalError::new_err(error.to_string())),
        Err(error) => Err(CaptureError::new_err(error.to_string())),
    }
}

fn entries(py: Python<'_>, result: ReplayResult) -> PyResult<Bound<'_, PyDict>> {
    let entries = PyDict::new(py);
    entries.set_item("discipline", result.discipline)?;
    entries.set_item("rate_bps", result.rate_bps)?;
    entries.set_item("seed", result.seed)?;
    entries.set_item("duration_s", result.duration_s)?;
    entries.set_item("packets", result.packets)?;
    entries.set_item("bytes", result.bytes)?;
    entries.set_item("packets_unselected", result.packets_unselected)?;
    entries.set_item("packets_out_of_order", result.packets_out_of_order)?;
    entries.set_item("flows", columns(py, result.flows, Form::Arrays)?)?;
    entries.set_item("queue", columns(py, result.queue, Form::Arrays)?)?;
    Ok(entries)
}
