//! Lets Python see how far a run is, and stop it.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Often enough for a smooth bar and a prompt Ctrl-C, seldom enough to cost nothing.
const INTERVAL: Duration = Duration::from_millis(100);

/// Calls Python now and then while a run goes on without the interpreter's lock.
pub(crate) struct Progress {
    callback: Option<Py<PyAny>>,
    next: Instant,
    /// What Python raised: the run was stopped by it.
    pub(crate) interruption: Option<PyErr>,
}

#[expect(clippy::disallowed_methods, reason = "paces the calls to Python; no result depends on it")]
fn wall_clock() -> Instant {
    Instant::now()
}

impl Progress {
    pub(crate) fn new(callback: Option<Py<PyAny>>) -> Self {
        Self { callback, next: wall_clock() + INTERVAL, interruption: None }
    }

    /// Tells Python the part of the run that is done, if it is time to; false if Python raised: Ctrl-C or an exception
    /// of the callback.
    pub(crate) fn report(&mut self, fraction: f64) -> bool {
        if wall_clock() < self.next {
            return true;
        }
        let answer = Python::attach(|py| {
            py.check_signals()?;
            if let Some(callback) = &self.callback {
                callback.call1(py, (fraction,))?;
            }
            PyResult::Ok(())
        });
        self.next = wall_clock() + INTERVAL;
        self.interruption = answer.err();
        self.interruption.is_none()
    }
}
