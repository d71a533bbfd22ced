//! Verdicts as numbers: `forebay.Verdict` has their names.

use forebay_qdisc::{DropReason, MarkReason};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBool;

const MARK_REASONS: [MarkReason; 4] =
    [MarkReason::Early, MarkReason::Forced, MarkReason::FlowLimit, MarkReason::FairShare];

/// The error for a mark on a packet that cannot carry one.
pub(super) const NOT_CAPABLE: &str = "it marked a packet that is not ECN-capable (`ecn` is 0)";

/// The error for a number that is no verdict.
pub(super) fn is_none(number: i64) -> String {
    format!("it returned {number}, which is not a forebay.Verdict")
}

/// The decision on a packet.
#[derive(Clone, Copy)]
pub(super) enum Sentence {
    Enqueue,
    Mark(MarkReason),
    Drop(DropReason),
}

/// The verdict of that number: 1 lets in, so that `True` does; above are marks, and from 0 down drops, in the order of
/// their reasons.
#[inline]
pub(super) fn of(number: i64) -> Option<Sentence> {
    match number {
        1 => Some(Sentence::Enqueue),
        2.. => usize::try_from(number - 2).ok().and_then(|it| MARK_REASONS.get(it)).copied().map(Sentence::Mark),
        _ => {
            let index = usize::try_from(number.unsigned_abs()).ok()?;
            DropReason::ALL.get(index).copied().map(Sentence::Drop)
        }
    }
}

/// The verdict that a method returned.
#[inline]
pub(super) fn returned(value: &Bound<'_, PyAny>) -> PyResult<Sentence> {
    let number = if let Ok(lets_in) = value.cast::<PyBool>() {
        i64::from(lets_in.is_true())
    } else if let Ok(number) = value.extract::<i64>() {
        number
    } else if let Ok(lets_in) = value.extract::<bool>() {
        // NumPy's.
        i64::from(lets_in)
    } else {
        let message = format!("it returned {}, which is neither True, False nor a forebay.Verdict", value.repr()?);
        return Err(PyTypeError::new_err(message));
    };
    of(number).ok_or_else(|| PyValueError::new_err(is_none(number)))
}
