//! The plan of a scenario.

use forebay_scenario::{GroupData, PlanData, QueueData, plan_data};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::scenario::load;

/// The nodes and links of a scenario, the places of its queues, and the ends of its groups of flows. Raises
/// ScenarioError.
#[pyfunction]
#[pyo3(signature = (text, file_name, overrides = Vec::new()))]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    text: &str,
    file_name: &str,
    overrides: Vec<(String, String)>,
) -> PyResult<Bound<'py, PyDict>> {
    let scenario = load(py, text, file_name, overrides)?;
    let PlanData { nodes, links, queues, groups, memory_paths } = py.detach(|| plan_data(&scenario));
    let (node_names, kinds): (Vec<String>, Vec<&str>) = nodes.into_iter().unzip();
    let plan = PyDict::new(py);
    plan.set_item("topology", scenario.spec().topology.name())?;
    let columns = PyDict::new(py);
    columns.set_item("source", links.iter().map(|link| &*node_names[link.ends[0] as usize]).collect::<Vec<_>>())?;
    columns
        .set_item("destination", links.iter().map(|link| &*node_names[link.ends[1] as usize]).collect::<Vec<_>>())?;
    columns.set_item("rate_bps", links.iter().map(|link| link.rate.bits_per_second()).collect::<Vec<_>>())?;
    columns.set_item("delay_s", links.iter().map(|link| link.delay.seconds()).collect::<Vec<_>>())?;
    columns.set_item("queue", links.iter().map(|link| link.queue).collect::<Vec<_>>())?;
    columns.set_item("name", links.into_iter().map(|link| link.name).collect::<Vec<_>>())?;
    plan.set_item("links", columns)?;
    let queues = queues.into_iter().map(|queue| queue_of(py, queue)).collect::<PyResult<Vec<_>>>()?;
    plan.set_item("queues", PyList::new(py, queues)?)?;
    let groups = groups.into_iter().map(|group| group_of(py, group, &node_names)).collect::<PyResult<Vec<_>>>()?;
    plan.set_item("groups", PyList::new(py, groups)?)?;
    plan.set_item("memory_paths", memory_paths)?;
    let columns = PyDict::new(py);
    columns.set_item("name", node_names)?;
    columns.set_item("kind", kinds)?;
    plan.set_item("nodes", columns)?;
    Ok(plan)
}

fn queue_of(py: Python<'_>, queue: QueueData) -> PyResult<Bound<'_, PyDict>> {
    let QueueData { name, paths, role, is_back, discipline, limit_path, limit, queues, links, queues_per_link } = queue;
    let (path, named_path) = paths.map(|[path, named_path]| (path, named_path)).unzip();
    let item = PyDict::new(py);
    item.set_item("name", name)?;
    item.set_item("path", path)?;
    item.set_item("named_path", named_path)?;
    item.set_item("role", role)?;
    item.set_item("is_back", is_back)?;
    item.set_item("discipline", discipline)?;
    item.set_item("limit_path", limit_path)?;
    item.set_item("limit", limit)?;
    item.set_item("queues", queues)?;
    item.set_item("links", links)?;
    item.set_item("queues_per_link", queues_per_link)?;
    Ok(item)
}

fn group_of<'py>(py: Python<'py>, group: GroupData, nodes: &[String]) -> PyResult<Bound<'py, PyDict>> {
    let GroupData { name, ends, rtt_s } = group;
    let [sources, destinations] =
        ends.map(|ends| ends.into_iter().map(|node| &*nodes[node as usize]).collect::<Vec<_>>());
    let item = PyDict::new(py);
    item.set_item("name", name)?;
    item.set_item("sources", sources)?;
    item.set_item("destinations", destinations)?;
    item.set_item("rtt_s", rtt_s)?;
    Ok(item)
}
