"""Ctrl-C in the command: heard wherever it comes, never lost, and answered with what is kept."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

INTERRUPTED = 130
"""The exit status after Ctrl-C."""

# Everything ends within a second. If something does not, a second press ends it at once.
_PATIENCE_S = 1.0


class _State:
    def __init__(self) -> None:
        self.heard_at: float | None = None
        self.what_is_kept: Callable[[], str] = str
        self.told = False


_state = _State()


def listen() -> None:
    """Hears Ctrl-C from now on, in the command's own process. Not where it is ignored, as in the background."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _hear)
        if hasattr(signal, "pthread_kill"):
            sys.unraisablehook = _not_lost


def heard() -> bool:
    """Return whether Ctrl-C has come. Later errors are no faults, for example an interrupted import."""
    return _state.heard_at is not None


def tells(what_is_kept: Callable[[], str]) -> None:
    """Set the message for Ctrl-C: the kept results, their place, and the way to continue."""
    _state.what_is_kept = what_is_kept


def tell(message: str | None = None) -> None:
    """Print `message` on standard error; without one, what `tells` set, unless a message was printed already."""
    if message is not None or not _state.told:
        _state.told = True
        # Not by way of the terminal's console, whose import takes a while.
        with suppress(OSError):
            # A terminal shows ^C where the cursor was.
            start = "\n" if sys.stderr.isatty() else ""
            sys.stderr.write(f"{start}{message or _state.what_is_kept() or 'stopped'}\n")


def leave() -> None:
    """End the process with status 130 at once: threads that are still in the core are not waited for."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(INTERRUPTED)


def _hear(_signal: int, _frame: object) -> None:
    now = time.monotonic()
    if _state.heard_at is None:
        _state.heard_at = now
        raise KeyboardInterrupt
    # The clean-up after the first is not to be disturbed by an impatient second.
    if now - _state.heard_at > _PATIENCE_S:
        tell()
        leave()


def _interrupt_main() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _not_lost(unraisable: sys.UnraisableHookArgs) -> None:
    """Python drops what is raised in a finalizer or a callback; Ctrl-C is raised again behind it."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        _state.heard_at = None
        # Not here, where it would be dropped again.
        again = threading.Timer(0.02, _interrupt_main)
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(unraisable)
