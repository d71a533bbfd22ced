//! Replaying captures.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::net::IpAddr;
use std::path::PathBuf;

use forebay_qdisc::{Rate, Span};
use forebay_replay::{ReplayError, ReplayOptions, ReplayResult, ReplayedQueue};
use forebay_scenario::PortSpec;
use forebay_scenario::schema::Switch;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::error::{CaptureError, InternalError, os_error, scenario_error};
use crate::progress::{Reins, interruptibly};
use crate::results::{Form, columns, series_entry, warning_entries};

/// A queue: its label, the name of its discipline with its parameters, and the files for what is let through and for
/// what is dropped.
type QueueArguments = (String, String, Vec<(String, String)>, Option<PathBuf>, Option<PathBuf>);

/// Replays a pcap or pcapng file, gzip too, into ports of `rate`, one for each of `queues`. With `destination` only
/// packets to that address are replayed. `interval` is that of the time series. `progress` is called about ten times a
/// second with the part of the file that has been read; an exception from it, and Ctrl-C, end the replay.
///
/// Raises ScenarioError for rate, queues and settings, ValueError for the interval, OSError for a file that cannot be
/// opened or written, CaptureError for one that cannot be replayed, and InternalError.
#[pyfunction]
#[pyo3(signature = (capture, rate, queues, *, destination = None, seed = 1, interval = None, progress = None))]
#[expect(clippy::too_many_arguments, reason = "Python sees them as keywords with defaults")]
pub(crate) fn replay<'py>(
    py: Python<'py>,
    capture: PathBuf,
    rate: &str,
    queues: Vec<QueueArguments>,
    destination: Option<IpAddr>,
    seed: u64,
    interval: Option<&str>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let interval = interval.map(interval_of).transpose()?;
    let ports = queues
        .iter()
        .map(|(_, name, settings, ..)| PortSpec::load(rate, name, settings))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| scenario_error(py, &error))?;
    let name_of_capture = capture.display().to_string();
    let options = ReplayOptions { destination, seed, interval };
    // A pipe is opened here too, for its other end may not be there yet.
    let replaying = move |reins: &Reins| {
        let Some(rate) = ports.first().map(|port| port.rate) else { return Ok(Ok(None)) };
        let file = File::open(&capture)?;
        let size = file.metadata()?.len();
        let replayed =
            queues.iter().zip(&ports).map(|(queue, port)| open(queue, port, rate, seed)).collect::<io::Result<_>>();
        let read = Cell::new(0);
        let reader = BufReader::new(Counting { inner: file, read: &read });
        // How much a pipe will give is not known.
        let part = |read: u64| if size == 0 { 0.0 } else { read as f64 / size as f64 };
        let mut control = || reins.go_on(part(read.get()));
        Ok(replayed
            .map_err(ReplayError::Write)
            .and_then(|queues| forebay_replay::replay(reader, rate, queues, &options, &mut control))
            .map(Some))
    };
    let refused = |reason: io::Error| os_error(&reason, &name_of_capture);
    match interruptibly(py, progress.as_ref(), replaying)?.map_err(refused)? {
        Ok(Some(result)) => entries(py, result),
        Ok(None) => Err(PyValueError::new_err("there is no queue to replay through")),
        Err(error @ (ReplayError::Invariant(_) | ReplayError::Stopped)) => {
            Err(InternalError::new_err(error.to_string()))
        }
        Err(ReplayError::Write(error)) => Err(write_error(&error)),
        Err(error) => Err(CaptureError::new_err(error.to_string())),
    }
}

fn interval_of(text: &str) -> PyResult<Span> {
    let interval: Span = text.parse().map_err(|error| PyValueError::new_err(format!("{error}")))?;
    if interval == Span::ZERO {
        return Err(PyValueError::new_err("an interval must be longer than 0 s"));
    }
    Ok(interval)
}

/// The queue with its files opened.
fn open(
    (label, name, _, delivered, dropped): &QueueArguments,
    port: &PortSpec,
    rate: Rate,
    seed: u64,
) -> io::Result<ReplayedQueue<'static>> {
    let create = |path: &Option<PathBuf>| -> io::Result<Option<Box<dyn Write>>> {
        path.as_ref().map(|path| Ok(Box::new(BufWriter::new(File::create(path)?)) as Box<dyn Write>)).transpose()
    };
    let queue =
        port.queue.build_in(&mut Switch::default(), rate, forebay_replay::salt(seed)).map_err(io::Error::other)?;
    Ok(ReplayedQueue {
        name: label.clone(),
        discipline: name.clone(),
        queue: queue.into_discipline(),
        delivered_to: create(delivered)?,
        dropped_to: create(dropped)?,
    })
}

/// The error of a file that cannot be written, whichever of them it is.
fn write_error(error: &io::Error) -> PyErr {
    match error.raw_os_error() {
        Some(number) => PyOSError::new_err((number, error.to_string())),
        None => PyOSError::new_err(error.to_string()),
    }
}

/// Counts what is read.
struct Counting<'c, R> {
    inner: R,
    read: &'c Cell<u64>,
}

impl<R: Read> Read for Counting<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        self.read.set(self.read.get() + bytes as u64);
        Ok(bytes)
    }
}

fn entries(py: Python<'_>, result: ReplayResult) -> PyResult<Bound<'_, PyDict>> {
    let series =
        result.series.into_iter().map(|series| series_entry(py, series, Form::Arrays)).collect::<PyResult<Vec<_>>>()?;
    let entries = PyDict::new(py);
    entries.set_item("rate_bps", result.rate_bps)?;
    entries.set_item("seed", result.seed)?;
    entries.set_item("duration_s", result.duration_s)?;
    entries.set_item("packets", result.packets)?;
    entries.set_item("bytes", result.bytes)?;
    entries.set_item("packets_unselected", result.packets_unselected)?;
    entries.set_item("packets_unaddressed", result.packets_unaddressed)?;
    entries.set_item("packets_out_of_order", result.packets_out_of_order)?;
    entries.set_item("packets_missed", result.packets_missed)?;
    entries.set_item("packets_cut", result.packets_cut)?;
    entries.set_item("packets_opaque", result.packets_opaque)?;
    entries.set_item("warnings", warning_entries(py, result.warnings)?)?;
    entries.set_item("flows", columns(py, result.flows, Form::Arrays)?)?;
    entries.set_item("queues", columns(py, result.queues, Form::Arrays)?)?;
    entries.set_item("delays", columns(py, result.delays, Form::Arrays)?)?;
    entries.set_item("series", PyList::new(py, series)?)?;
    Ok(entries)
}
