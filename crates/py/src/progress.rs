//! Lets Python see how far the core is, and stop it at any time.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Often enough for a smooth bar and a prompt Ctrl-C, seldom enough to cost nothing.
const INTERVAL: Duration = Duration::from_millis(100);
/// How long a stopped call is waited for: a run looks at its flag every few milliseconds, reading a scenario does not.
const GRACE: Duration = Duration::from_millis(300);
/// As much as the main thread of a process has.
const STACK_BYTES: usize = 8 << 20;

/// What a call of the core and the thread that waits for it share.
#[derive(Default)]
pub(crate) struct Reins {
    stop: AtomicBool,
    /// The part that is done, as bits.
    fraction: AtomicU64,
}

impl Reins {
    /// Notes the part that is done; whether to continue.
    pub(crate) fn go_on(&self, fraction: f64) -> bool {
        self.fraction.store(fraction.to_bits(), Ordering::Relaxed);
        !self.stop.load(Ordering::Relaxed)
    }
}

/// Where the result is left.
struct Slot<T> {
    result: Mutex<Option<Result<T, Box<dyn Any + Send>>>>,
    filled: Condvar,
}

impl<T> Slot<T> {
    fn lock(&self) -> MutexGuard<'_, Option<Result<T, Box<dyn Any + Send>>>> {
        self.result.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the result, but no longer than that.
    fn take_within(&self, time: Duration) -> Option<Result<T, Box<dyn Any + Send>>> {
        let waited = self.filled.wait_timeout_while(self.lock(), time, |result| result.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    }
}

/// Does `work` on a thread of its own, without the interpreter's lock. Meanwhile `callback` is told about ten times a
/// second of the part that is done, and Ctrl-C is heard.
///
/// What either raises ends the call at once, whatever the core is doing. `work` is told so by its [`Reins`]; where it
/// does not look at them for long, it is left behind and its result forgotten.
pub(crate) fn interruptibly<T, W>(py: Python<'_>, callback: Option<&Py<PyAny>>, work: W) -> PyResult<T>
where
    T: Send + 'static,
    W: FnOnce(&Reins) -> T + Send + 'static,
{
    let reins = Arc::new(Reins::default());
    let slot = Arc::new(Slot { result: Mutex::new(None), filled: Condvar::new() });
    let (their_reins, their_slot) = (Arc::clone(&reins), Arc::clone(&slot));
    let body = move || {
        let result = catch_unwind(AssertUnwindSafe(|| work(&their_reins)));
        *their_slot.lock() = Some(result);
        their_slot.filled.notify_all();
    };
    let started = thread::Builder::new().name("forebay-core".into()).stack_size(STACK_BYTES).spawn(body);
    started.map_err(|error| PyRuntimeError::new_err(format!("cannot start a thread: {error}")))?;
    loop {
        match py.detach(|| slot.take_within(INTERVAL)) {
            Some(Ok(result)) => return Ok(result),
            Some(Err(panic)) => resume_unwind(panic),
            None => {}
        }
        let told = |callback: &Py<PyAny>| callback.call1(py, (f64::from_bits(reins.fraction.load(Ordering::Relaxed)),));
        let heard = py.check_signals().and_then(|()| callback.map_or(Ok(()), |callback| told(callback).map(drop)));
        if let Err(interruption) = heard {
            reins.stop.store(true, Ordering::Relaxed);
            py.detach(|| slot.take_within(GRACE));
            return Err(interruption);
        }
    }
}
