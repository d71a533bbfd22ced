//! The base class of controllers in Python: the values that a controller sets, and its random stream.

use std::sync::{Mutex, MutexGuard, PoisonError};

use forebay_qdisc::{Rng, uniform};
use forebay_tcp::{Control, Rate};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// The least window, which built-in controllers keep after timeouts, in segments.
const LEAST_WINDOW: f64 = 1.0;
/// The least threshold (RFC 5681, equation 4), in segments.
const LEAST_THRESHOLD: f64 = 2.0;
/// A greater pacing rate is a mistake.
const GREATEST_RATE_BPS: f64 = 1e15;

struct State {
    stream: Pcg64Mcg,
    control: Control,
    segment_bytes: u32,
    flow: String,
}

/// A connection that is controlled in Python: the base of `CongestionController`.
#[pyclass(subclass, frozen, module = "forebay._core")]
pub(crate) struct Connection(Mutex<State>);

impl Connection {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives it its place in a run.
    pub(super) fn settle(&self, flow: &str, seed: u64, segment_bytes: u32, control: Control) {
        let stream = Pcg64Mcg::seed_from_u64(seed);
        *self.state() = State { stream, control, segment_bytes, flow: flow.to_owned() };
    }

    pub(super) fn control(&self) -> Control {
        self.state().control
    }

    pub(super) fn set_control(&self, control: Control) {
        self.state().control = control;
    }
}

#[pymethods]
impl Connection {
    #[new]
    #[pyo3(signature = (*_arguments, **_parameters))]
    fn new(_arguments: &Bound<'_, PyTuple>, _parameters: Option<&Bound<'_, PyDict>>) -> Self {
        // Outside a run, for tests of a single class.
        Self(Mutex::new(State {
            stream: forebay_records::random::stream(0, "outside a run"),
            control: Control::new(10.0, f64::INFINITY),
            segment_bytes: 1460,
            flow: String::new(),
        }))
    }

    /// The next number of this connection's own random stream: uniform in [0, 1), with 53 bits. The seed of the run and
    /// the name of the flow decide all of them.
    fn random(&self) -> f64 {
        uniform(&mut self.state().stream)
    }

    /// The next 64 bits of this connection's own random stream, as a number.
    fn random_bits(&self) -> u64 {
        self.state().stream.next_u64()
    }

    /// Payload bytes of a full segment. 1460 outside a run.
    #[getter]
    fn segment_bytes(&self) -> u32 {
        self.state().segment_bytes
    }

    /// The name of the flow. Empty outside a run.
    #[getter]
    fn flow(&self) -> String {
        self.state().flow.clone()
    }

    /// The congestion window in segments, with fractions: finite, at least 1.
    #[getter]
    fn window(&self) -> f64 {
        self.state().control.congestion_window
    }

    #[setter]
    fn set_window(&self, window: f64) -> PyResult<()> {
        if !(window.is_finite() && window >= LEAST_WINDOW) {
            let message = format!("window must be a finite number of segments, at least 1, and is {window}");
            return Err(PyValueError::new_err(message));
        }
        self.state().control.congestion_window = window;
        Ok(())
    }

    /// The slow-start threshold in segments: at least 2, infinite before the first sign of congestion.
    #[getter]
    fn threshold(&self) -> f64 {
        self.state().control.slow_start_threshold
    }

    #[setter]
    fn set_threshold(&self, threshold: f64) -> PyResult<()> {
        if threshold.is_nan() || threshold < LEAST_THRESHOLD {
            let message = format!("threshold must be a number of segments, at least 2, and is {threshold}");
            return Err(PyValueError::new_err(message));
        }
        self.state().control.slow_start_threshold = threshold;
        Ok(())
    }

    /// The rate at which payload leaves where segments are paced, in bits per second: 1 to 10^15. None, as at the
    /// beginning, if the sender derives it from window and round trip.
    #[getter]
    fn pacing_rate_bps(&self) -> Option<u64> {
        self.state().control.pacing_rate.map(Rate::bits_per_second)
    }

    #[setter]
    fn set_pacing_rate_bps(&self, rate: Option<f64>) -> PyResult<()> {
        let refused = |rate| {
            PyValueError::new_err(format!("pacing_rate_bps must be None or a number from 1 to 1e15, and is {rate}"))
        };
        let checked = |rate: f64| {
            let whole = if rate <= GREATEST_RATE_BPS { Rate::new(rate as u64) } else { None };
            whole.ok_or_else(|| refused(rate))
        };
        self.state().control.pacing_rate = rate.map(checked).transpose()?;
        Ok(())
    }
}
