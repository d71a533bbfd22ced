//! Traces of a link's rate.

use forebay_scenario::TraceFile;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A trace: the name of its format, the period in seconds, the mean rate in bits per second, the rates of the
/// intervals, and its outages as start and length in seconds.
type Trace = (&'static str, f64, f64, Vec<f64>, Vec<(f64, f64)>);

/// Reads the text of a trace file. `interval_s` is the time over which a rate is averaged, `outage_s` the shortest
/// outage. Raises ValueError for text that is no trace, with the line, and for an interval that does not suit it.
#[pyfunction]
pub(crate) fn read_trace(text: &str, interval_s: f64, outage_s: f64) -> PyResult<Trace> {
    let trace = TraceFile::parse(text).map_err(PyValueError::new_err)?;
    let format = match trace {
        TraceFile::Opportunities(_) => "mahimahi",
        TraceFile::Steps(_) => "csv",
    };
    let bits = trace.bits(interval_s).map_err(PyValueError::new_err)?;
    let rates = bits.into_iter().map(|bits| bits / interval_s).collect();
    let outages = trace.outages(outage_s).into_iter().map(|outage| (outage.from_s, outage.length_s)).collect();
    Ok((format, trace.period_s(), trace.mean_bps(), rates, outages))
}
