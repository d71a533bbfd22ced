//! The cost of a discipline itself.

use forebay_qdisc::ParameterError;
use forebay_scenario::Workload;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::custom_classes::{Plans, PythonClasses, attached_for};
use crate::progress::interruptibly;
use crate::scenario::load;

/// Measures the queue of a scenario's link of that name, apart from the simulator and without the interpreter's lock.
/// Packets of `packet_bytes` arrive at `load` times the link's rate, from each flow in proportion to its weight.
///
/// `custom` are as in `run`. Raises ScenarioError, DisciplineError, and ValueError for a link without a queue of its
/// own or numbers out of range.
#[pyfunction]
#[pyo3(signature = (text, file_name, overrides, queue, flow_weights, packet_bytes, load, custom = Plans::new()))]
#[expect(clippy::too_many_arguments, reason = "a scenario is three arguments, a workload three")]
pub(crate) fn queue_cost<'py>(
    py: Python<'py>,
    text: &str,
    file_name: &str,
    overrides: Vec<(String, String)>,
    queue: &str,
    flow_weights: Vec<f64>,
    packet_bytes: u32,
    load: f64,
    custom: Plans,
) -> PyResult<Bound<'py, PyDict>> {
    let scenario = self::load(py, text, file_name, overrides)?;
    let weighed = flow_weights.iter().all(|weight| weight.is_finite()) && flow_weights.iter().sum::<f64>() > 0.0;
    if !weighed || packet_bytes == 0 || !(load > 0.0 && load.is_finite()) {
        return Err(PyValueError::new_err("weights, packet length and load must be positive"));
    }
    let workload = Workload { flow_weights, packet_bytes, load };
    let name = queue.to_owned();
    let cost = interruptibly(py, None, move |reins| {
        let refused = |error: ParameterError| PyValueError::new_err(error.to_string());
        if custom.is_empty() {
            return forebay_scenario::cost_in(&scenario, &name, &workload, None).map_err(refused);
        }
        attached_for(&custom, reins, || {
            let made = PythonClasses::new(&custom);
            let cost = forebay_scenario::cost_in(&scenario, &name, &workload, Some(&made));
            made.error(scenario.spec(), None).map_or_else(|| cost.map_err(refused), Err)
        })
    })??;
    let Some(cost) = cost else {
        return Err(PyValueError::new_err(format!("the scenario describes no queue `{queue}`")));
    };
    let entries = PyDict::new(py);
    entries.set_item("ns_per_packet", cost.ns_per_packet)?;
    entries.set_item("drop_share", cost.drop_share)?;
    entries.set_item("queued_packets", cost.queued_packets)?;
    entries.set_item("state_bytes", cost.state_bytes)?;
    Ok(entries)
}
