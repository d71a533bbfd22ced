//! Shows Python the progress of the core, and stops it at any time.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Often enough for a smooth bar and a prompt Ctrl-C, seldom enough to cost nothing.
const INTERVAL: Duration = Duration::from_millis(100);
/// Between attempts to interrupt a class in Python.
const STEP: Duration = Duration::from_millis(25);
/// Time for a stopped call to end. A run reads its flag every few milliseconds; reading a scenario does not.
const GRACE: Duration = Duration::from_millis(300);
/// Time for a class in Python to end once an exception was raised in it.
const CUSTOM_GRACE: Duration = Duration::from_millis(600);
/// Time for all calls to end before the interpreter does.
const EXIT_GRACE: Duration = Duration::from_secs(5);
/// The exit status after Ctrl-C.
const INTERRUPTED: i32 = 130;
/// The stack size of a process's main thread.
const STACK_BYTES: usize = 8 << 20;

/// State that a call of the core shares with the thread that waits for it.
#[derive(Default)]
pub(crate) struct Reins {
    stop: AtomicBool,
    /// The part that is done, as bits.
    fraction: AtomicU64,
    /// Whether the call runs classes written in Python.
    has_custom: AtomicBool,
    /// Python's number of the call's thread while it is attached to the interpreter; otherwise zero.
    thread: AtomicU64,
}

impl Reins {
    /// Stores the part that is done, and returns whether to continue.
    pub(crate) fn go_on(&self, fraction: f64) -> bool {
        self.fraction.store(fraction.to_bits(), Ordering::Relaxed);
        !self.stop.load(Ordering::Relaxed)
    }

    /// Notes that the call runs classes written in Python.
    pub(crate) fn note_custom(&self) {
        self.has_custom.store(true, Ordering::Relaxed);
    }

    /// Does `work` on a thread that is attached to the interpreter. Python code in it can be interrupted.
    pub(crate) fn attached<T>(&self, py: Python<'_>, work: impl FnOnce() -> T) -> PyResult<T> {
        let thread: u64 = py.import("threading")?.call_method0("get_ident")?.extract()?;
        self.thread.store(thread, Ordering::SeqCst);
        let result = work();
        // The thread is attached: no other one can be in `interrupt` now, and the number is not used again after this.
        self.thread.store(0, Ordering::SeqCst);
        Ok(result)
    }

    /// Raises KeyboardInterrupt in the Python code that the call's thread runs, at its next bytecode.
    fn interrupt(&self, py: Python<'_>) -> PyResult<()> {
        let raise = raiser(py)?;
        let exception = py.import("ctypes")?.getattr("py_object")?.call1((py.get_type::<PyKeyboardInterrupt>(),))?;
        let number = |thread: u64| py.import("ctypes")?.getattr("c_ulong")?.call1((thread,));
        let thread = self.thread.load(Ordering::SeqCst);
        let argument = number(thread)?;
        // From this comparison to the call the thread keeps the interpreter, so that the number stays valid.
        if thread != 0 && thread == self.thread.load(Ordering::SeqCst) {
            raise.call1(py, (argument, exception))?;
        }
        Ok(())
    }
}

/// `PyThreadState_SetAsyncExc`. `ctypes` calls it without unsafe code here.
fn raiser(py: Python<'_>) -> PyResult<&Py<PyAny>> {
    static FUNCTION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    FUNCTION.get_or_try_init(py, || {
        // An item of a library, unlike an attribute, is an object of its own.
        let functions = py.import("ctypes")?.getattr("pythonapi")?;
        Ok(functions.get_item("PyThreadState_SetAsyncExc")?.unbind())
    })
}

/// A call that did not end in time.
struct Left {
    thread: JoinHandle<()>,
    reins: Arc<Reins>,
}

/// Stopped calls whose classes in Python still run.
static LEFT: Mutex<Vec<Left>> = Mutex::new(Vec::new());

fn left() -> MutexGuard<'static, Vec<Left>> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The stopped calls that still run.
fn still_left() -> Vec<Arc<Reins>> {
    let mut left = left();
    left.retain(|call| !call.thread.is_finished());
    left.iter().map(|call| Arc::clone(&call.reins)).collect()
}

/// Whether the interpreter is about to end.
static ENDING: AtomicBool = AtomicBool::new(false);
/// Number of calls that wait for the core.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Counts a call in [`WAITING`] while it exists.
struct Waiting;

impl Waiting {
    fn new() -> Self {
        WAITING.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Ends all calls of the core before the interpreter ends. `atexit` calls it.
///
/// A thread of a call that needs the interpreter after its end would abort the process. If one does not stop in time,
/// this ends the process at once, with status 130.
#[pyfunction]
pub(crate) fn _end_runs(py: Python<'_>) -> PyResult<()> {
    ENDING.store(true, Ordering::SeqCst);
    for step in 0_u32.. {
        let left = still_left();
        if left.is_empty() && WAITING.load(Ordering::SeqCst) == 0 {
            return Ok(());
        }
        let interrupted = left.iter().try_for_each(|call| call.interrupt(py)).and_then(|()| py.check_signals());
        if interrupted.is_err() || STEP * step >= EXIT_GRACE {
            let streams = py.import("sys")?;
            for stream in ["stdout", "stderr"] {
                // It may be closed.
                let _ = streams.getattr(stream).and_then(|stream| stream.call_method0("flush"));
            }
            eprintln!("forebay: a class written in Python did not stop; the process ends without waiting for it");
            py.import("os")?.call_method1("_exit", (INTERRUPTED,))?;
        }
        py.detach(|| thread::sleep(STEP));
    }
    Ok(())
}

/// The place of the result.
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

/// Does `work` on a thread of its own, without the interpreter's lock. Meanwhile it calls `callback` about ten times a
/// second with the part that is done, and checks for Ctrl-C.
///
/// An exception of either ends the call. [`Reins`] signals the end to `work`, and an exception is raised in Python code
/// that `work` runs. If `work` does not end in time, its result is dropped; [`_end_runs`] waits for it.
pub(crate) fn interruptibly<T, W>(py: Python<'_>, callback: Option<&Py<PyAny>>, work: W) -> PyResult<T>
where
    T: Send + 'static,
    W: FnOnce(&Reins) -> T + Send + 'static,
{
    let _waiting = Waiting::new();
    let reins = Arc::new(Reins::default());
    let slot = Arc::new(Slot { result: Mutex::new(None), filled: Condvar::new() });
    let (their_reins, their_slot) = (Arc::clone(&reins), Arc::clone(&slot));
    let body = move || {
        let result = catch_unwind(AssertUnwindSafe(|| work(&their_reins)));
        *their_slot.lock() = Some(result);
        their_slot.filled.notify_all();
    };
    let started = thread::Builder::new().name("forebay-core".into()).stack_size(STACK_BYTES).spawn(body);
    let thread = started.map_err(|error| PyRuntimeError::new_err(format!("cannot start a thread: {error}")))?;
    loop {
        match py.detach(|| slot.take_within(INTERVAL)) {
            Some(Ok(result)) => return Ok(result),
            Some(Err(panic)) => resume_unwind(panic),
            None => {}
        }
        let told = |callback: &Py<PyAny>| callback.call1(py, (f64::from_bits(reins.fraction.load(Ordering::Relaxed)),));
        let heard = py.check_signals().and_then(|()| {
            if ENDING.load(Ordering::SeqCst) {
                return Err(PyRuntimeError::new_err("the run was stopped, because the process ends"));
            }
            callback.map_or(Ok(()), |callback| told(callback).map(drop))
        });
        if let Err(interruption) = heard {
            reins.stop.store(true, Ordering::Relaxed);
            if !ends(py, &slot, &reins) && reins.has_custom.load(Ordering::Relaxed) {
                left().push(Left { thread, reins });
            }
            return Err(interruption);
        }
    }
}

/// Waits for a stopped call, and returns whether it ended.
fn ends<T: Send>(py: Python<'_>, slot: &Slot<T>, reins: &Reins) -> bool {
    if py.detach(|| slot.take_within(GRACE)).is_some() {
        return true;
    }
    for _ in (0_u32..).take_while(|&step| reins.has_custom.load(Ordering::Relaxed) && STEP * step < CUSTOM_GRACE) {
        // Again and again: the Python code may catch the exception.
        if reins.interrupt(py).is_err() {
            return false;
        }
        if py.detach(|| slot.take_within(STEP)).is_some() {
            return true;
        }
    }
    false
}
