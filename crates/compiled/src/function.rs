//! A function that Numba compiled, and its call.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rand_pcg::Pcg64Mcg;

use crate::record::{Record, State};
use crate::rng::with_stream;

/// Integer arguments of a function: now, packet, flow, length, ECN codepoint, traffic class, input port, and the
/// packets and bytes of the queue.
pub const ARGUMENTS: usize = 9;

/// The return value of a function whose law has raised an exception.
pub const FAILED: i64 = i64::MIN;

type Entry = unsafe extern "C" fn(*mut u64, i64, i64, i64, i64, i64, i64, i64, i64, i64) -> i64;

/// A compiled function of a law.
pub struct Function {
    entry: Entry,
    /// The number of words in the record of its signature.
    words: usize,
    /// Owns the machine code.
    _owner: Py<PyAny>,
}

impl Function {
    /// The function that Numba compiled as `compiled`, for states of that record.
    ///
    /// # Errors
    /// If it is no `CFunc` of Numba, or one of another signature.
    pub fn new(compiled: &Bound<'_, PyAny>, record: &Record) -> PyResult<Self> {
        let py = compiled.py();
        let kind = py.import("numba.core.ccallback")?.getattr("CFunc")?;
        if !compiled.get_type().is(&kind) {
            return Err(PyTypeError::new_err("this is not a function compiled by numba.cfunc"));
        }
        let signature = compiled.getattr("_sig")?;
        if !signature.eq(expected_signature(py, record)?)? {
            return Err(PyTypeError::new_err(format!("a law cannot have the signature {signature}")));
        }
        let address: usize = compiled.getattr("address")?.extract()?;
        if address == 0 {
            return Err(PyValueError::new_err("this function has no address"));
        }
        let address: *const () = std::ptr::with_exposed_provenance(address);
        #[expect(unsafe_code, reason = "Numba tells the address of its functions as a number")]
        // SAFETY: not null, and the address of a C function of this type. The object is a `CFunc`, and its signature is
        // the one that `Entry` spells in Rust (points 1 and 2 of the proof). A pointer to data and one to a function
        // have the same size on every platform that Numba compiles for.
        let entry = unsafe { std::mem::transmute::<*const (), Entry>(address) };
        Ok(Self { entry, words: record.words(), _owner: compiled.clone().unbind() })
    }

    /// Calls it. Its draws come from `stream`.
    ///
    /// # Panics
    /// If the state is that of another record.
    #[inline]
    pub fn call(&self, state: &mut State, stream: &mut Pcg64Mcg, arguments: [i64; ARGUMENTS]) -> i64 {
        assert_eq!(state.words.len(), self.words, "a function is called with the state of its own law");
        let [now, packet, flow, length, ecn, class, port, queue_packets, queue_bytes] = arguments;
        let state = state.words.as_mut_ptr();
        with_stream(stream, || {
            #[expect(unsafe_code, reason = "a compiled function is called through its pointer")]
            // SAFETY: the pointer is valid for reads and writes of as many words as the record of the signature has. It
            // is unique for the time of the call, since it comes from a unique reference (point 3 of the proof). The
            // function does not unwind (point 4) and does not need the interpreter (point 5).
            unsafe {
                (self.entry)(state, now, packet, flow, length, ecn, class, port, queue_packets, queue_bytes)
            }
        })
    }
}

/// `int64(CPointer(record), int64, …)`, as Numba has it.
fn expected_signature<'py>(py: Python<'py>, record: &Record) -> PyResult<Bound<'py, PyAny>> {
    let numba = py.import("numba")?;
    let types = numba.getattr("types")?;
    let integer = types.getattr("int64")?;
    let of_record = numba.getattr("from_dtype")?.call1((record.dtype(py)?,))?;
    let pointer = types.getattr("CPointer")?.call1((of_record,))?;
    let arguments = std::iter::once(pointer).chain(std::iter::repeat_n(integer.clone(), ARGUMENTS));
    integer.call1(PyTuple::new(py, arguments.collect::<Vec<_>>())?)
}
