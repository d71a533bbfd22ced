"""Errors that are no fault of the program. This module imports nothing that takes memory."""

from __future__ import annotations

import errno
import re

OUT_OF_MEMORY = (
    "there is not enough memory\n"
    "hint: run fewer jobs at a time (--jobs), a smaller scenario, or raise the memory limit (ulimit -v)"
)
"""The message for a memory limit, which is no fault of the program."""


_SIGNS_OF_NO_MEMORY = (
    "cannot allocate memory",
    "failed to map segment",
    "can't start new thread",
    "cannot start a thread",
    "resource temporarily unavailable",
    "unable to allocate",
)


def lacks_memory(error: BaseException) -> bool:
    """Return whether the error, or its cause, says that memory or threads ran out.

    Libraries report that in their own ways: an import fails, a thread does not start.
    """
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    # A panic of a Rust library derives from BaseException, and each library has a class of its own.
    is_kind = isinstance(error, ImportError | RuntimeError | OSError) or type(error).__name__ == "PanicException"
    if is_kind and any(sign in str(error).lower() for sign in _SIGNS_OF_NO_MEMORY):
        return True
    return any(lacks_memory(cause) for cause in (error.__cause__, error.__context__) if cause is not None)


_NO_FOREBAY = re.compile(r"No module named \\?'forebay(\.[\w.]*)?\\?'")


def absent_forebay(error: BaseException) -> str | None:
    """Return the message of an error that says that Forebay is not installed, or None for any other."""
    # Dask may wrap the worker's error into one of another class.
    if found := _NO_FOREBAY.search(str(error)):
        return found[0]
    cause = error.__cause__ or error.__context__
    return None if cause is None else absent_forebay(cause)
