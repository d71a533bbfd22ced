//! Results as columns, handed over without copying.

use forebay_engine::{Deadlock, EngineStats, RunResult};
use forebay_records::{Column, Series, Table, Warning};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::column::{Column as LazyColumn, text_list};

/// The form in which columns are handed over.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// NumPy arrays, without copying.
    Arrays,
    /// Columns that make their values when they are requested.
    Columns,
}

/// The results of one run as the core hands them over: tables of columns, and time series.
#[pyclass(frozen, get_all, module = "forebay._core")]
pub(crate) struct RawResult {
    /// Name of the scenario.
    scenario: String,
    /// The seed.
    seed: u64,
    /// Simulated time in seconds.
    duration_s: f64,
    /// The time that the tables leave out at the start, in seconds.
    warmup_s: f64,
    /// One row a flow.
    flows: Py<PyDict>,
    /// Delays of delivered packets by group of flows: a row for each bucket of the histogram.
    delays: Py<PyDict>,
    /// One row a queue.
    queues: Py<PyDict>,
    /// One row a link.
    links: Py<PyDict>,
    /// One row for each flow at each queue.
    queue_flows: Py<PyDict>,
    /// One row an adapter of an Ethernet.
    adapters: Py<PyDict>,
    /// One row a flow whose transfers arrive during the run.
    transfers: Py<PyDict>,
    /// Completion times of flows of a given size, by group and range of sizes.
    completion_times: Py<PyDict>,
    /// How evenly equal paths are used: a row for each link of each set of equal next hops.
    equal_paths: Py<PyDict>,
    /// One row for each repetition of a collective operation, and for each trace.
    collectives: Py<PyDict>,
    /// One row for each host of a group whose messages wait for others.
    ranks: Py<PyDict>,
    /// One row a flow that plays video.
    videos: Py<PyDict>,
    /// One row a flow that loads web pages.
    pages: Py<PyDict>,
    /// One row a ping.
    pings: Py<PyDict>,
    /// Links that had stopped each other for good, and since when; none if none had.
    deadlock: Option<Py<PyDict>>,
    /// Properties of the run that its user may not expect: dictionaries of `text` and `remedy`.
    warnings: Py<PyList>,
    /// Time series.
    series: Py<PyList>,
    /// Speed and memory of the run.
    engine: Py<PyDict>,
    /// Equal digests mean equal results.
    digest: String,
}

impl RawResult {
    pub(crate) fn new(py: Python<'_>, result: RunResult, form: Form) -> PyResult<Self> {
        let series =
            result.series.into_iter().map(|series| series_entry(py, series, form)).collect::<PyResult<Vec<_>>>()?;
        Ok(Self {
            scenario: result.scenario,
            seed: result.seed,
            duration_s: result.duration_s,
            warmup_s: result.warmup_s,
            flows: columns(py, result.flows, form)?,
            delays: columns(py, result.delays, form)?,
            queues: columns(py, result.queues, form)?,
            links: columns(py, result.links, form)?,
            queue_flows: columns(py, result.queue_flows, form)?,
            adapters: columns(py, result.adapters, form)?,
            transfers: columns(py, result.transfers, form)?,
            completion_times: columns(py, result.completion_times, form)?,
            equal_paths: columns(py, result.equal_paths, form)?,
            collectives: columns(py, result.collectives, form)?,
            ranks: columns(py, result.ranks, form)?,
            videos: columns(py, result.videos, form)?,
            pages: columns(py, result.pages, form)?,
            pings: columns(py, result.pings, form)?,
            deadlock: result.deadlock.map(|deadlock| deadlock_entries(py, deadlock)).transpose()?,
            warnings: warning_entries(py, result.warnings)?,
            series: PyList::new(py, series)?.unbind(),
            engine: engine_entries(py, result.engine)?,
            digest: result.digest,
        })
    }
}

/// A table as a dictionary of its columns in order. Text next to arrays is a list.
pub(crate) fn columns(py: Python<'_>, table: Table, form: Form) -> PyResult<Py<PyDict>> {
    let columns = PyDict::new(py);
    for (name, values) in table.columns {
        match (form, values) {
            (Form::Columns, values) => columns.set_item(name, LazyColumn { values })?,
            (Form::Arrays, Column::Text(texts)) => columns.set_item(name, text_list(py, texts.iter())?)?,
            (Form::Arrays, Column::Float(numbers)) => columns.set_item(name, PyArray1::from_vec(py, numbers))?,
            // Signed, so that a difference of two counts may be negative. The allocation stays the same.
            (Form::Arrays, Column::Count(counts)) => {
                let counts: Vec<i64> = counts.into_iter().map(u64::cast_signed).collect();
                columns.set_item(name, PyArray1::from_vec(py, counts))?;
            }
        }
    }
    Ok(columns.unbind())
}

pub(crate) fn series_entry(py: Python<'_>, series: Series, form: Form) -> PyResult<Py<PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("kind", series.kind)?;
    entry.set_item("name", series.name)?;
    entry.set_item("quantity", series.quantity)?;
    entry.set_item("start_s", series.start_s)?;
    entry.set_item("interval_s", series.interval_s)?;
    if !series.states.is_empty() {
        entry.set_item("states", series.states)?;
    }
    match form {
        Form::Arrays => entry.set_item("values", PyArray1::from_vec(py, series.values))?,
        Form::Columns => entry.set_item("values", series.values)?,
    }
    Ok(entry.unbind())
}

fn deadlock_entries(py: Python<'_>, deadlock: Deadlock) -> PyResult<Py<PyDict>> {
    let entries = PyDict::new(py);
    entries.set_item("links", deadlock.links)?;
    entries.set_item("since_s", deadlock.since_s)?;
    Ok(entries.unbind())
}

pub(crate) fn warning_entries(py: Python<'_>, warnings: Vec<Warning>) -> PyResult<Py<PyList>> {
    let list = PyList::empty(py);
    for Warning { text, remedy } in warnings {
        let entry = PyDict::new(py);
        entry.set_item("text", text)?;
        entry.set_item("remedy", remedy)?;
        list.append(entry)?;
    }
    Ok(list.unbind())
}

fn engine_entries(py: Python<'_>, engine: EngineStats) -> PyResult<Py<PyDict>> {
    let entries = PyDict::new(py);
    entries.set_item("packet_hops", engine.packet_hops)?;
    entries.set_item("events", engine.events)?;
    entries.set_item("threads", engine.threads)?;
    entries.set_item("cpu_s", engine.cpu_s)?;
    entries.set_item("packet_hops_per_cpu_s", engine.packet_hops as f64 / engine.cpu_s.max(1e-9))?;
    entries.set_item("peak_rss_bytes", engine.peak_rss_bytes)?;
    Ok(entries.unbind())
}
