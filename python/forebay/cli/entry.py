"""One call of the command `forebay`: its exit status, and messages for all that may end it."""

from __future__ import annotations

import os
import signal
import sys
import traceback
import warnings
from contextlib import suppress
from typing import TextIO

from forebay.errors import ControllerError, DamagedFileWarning, DisciplineError, InputError, ScenarioError
from forebay.folder import check_utf8
from forebay.runs.faults import OUT_OF_MEMORY, lacks_memory

from . import interrupt, terminal
from .app import app

DONE, BAD_INPUT, INTERNAL_ERROR = 0, 2, 3


def run_command() -> int:
    """Run the command and return its exit status. Raises KeyboardInterrupt after Ctrl-C."""
    # The reader of our output may have closed it: end as other commands do, without a message.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    warnings.showwarning = _show_warning
    status = _status()
    try:
        with terminal.printing():
            pass
    except InputError as error:
        terminal.complain(str(error))
        return BAD_INPUT
    return status


def _status() -> int:
    try:
        for word in sys.argv[1:]:
            check_utf8(word, "the argument")
        app()
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else DONE
    except (ScenarioError, DisciplineError, ControllerError, InputError) as error:
        terminal.complain_of(error)
        return BAD_INPUT
    except OSError as error:
        terminal.complain(OUT_OF_MEMORY if lacks_memory(error) else _refused(error))
        return BAD_INPUT
    except UnicodeEncodeError as error:
        shown = error.object.encode("utf-8", "backslashreplace").decode()
        terminal.complain(f"a name is not UTF-8: {shown[:200]}\nhint: rename the file or folder")
        return BAD_INPUT
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if interrupt.heard():
            # An import that Ctrl-C cuts short may say so by an error of its own.
            raise KeyboardInterrupt from error
        if lacks_memory(error):
            terminal.complain(OUT_OF_MEMORY)
            return BAD_INPUT
        terminal.note(traceback.format_exc().rstrip())
        terminal.complain(f"this is a fault in Forebay: {error}\nhint: please report it with the lines above")
        return INTERNAL_ERROR
    return DONE


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning of Forebay as a message; others as Python prints them."""
    if issubclass(category, DamagedFileWarning):
        terminal.note(f"warning: {message}")
    elif file is None and sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))


def _refused(error: OSError) -> str:
    """Return the message for an error of the system, which is no fault of the program."""
    reason = os.strerror(error.errno) if error.errno is not None else str(error)
    if error.filename is None:
        # A file is always named: this is standard output.
        terminal.give_up_output()
        return f"cannot write to standard output: {reason}\nhint: is its disk full?"
    return f"{error.filename}: {reason}"
