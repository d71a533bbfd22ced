"""Folders of results: either all files of a result appear in one, or none."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

from .errors import InputError

try:
    import fcntl
except ImportError:  # Windows has no such locks: there, nothing is swept.
    fcntl = None  # type: ignore[assignment]

RESULT_FILE = "result.json"
"""Written last: a folder with this file holds a complete result."""

SCENARIO_FILE = "scenario.toml"
"""The scenario as run, with overrides, stored with its results."""

PARTIAL = ".partial-forebay-"
"""The name of an incomplete file or folder: this, and sixteen hexadecimal digits. Its writer holds a lock on it."""
_PARTIAL_NAME = re.compile(re.escape(PARTIAL) + "[0-9a-f]{16}")

# Errors of the system for a failed write, independent of the program.
_CANNOT_WRITE = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.ENAMETOOLONG,
}


def named(folder: str | PathLike[str]) -> Path:
    """Return the folder of that name. Raises InputError for an empty one, which would be the current folder."""
    if not os.fspath(folder):
        message = "the output folder has no name\nhint: name one, or `.` for the current folder"
        raise InputError(message)
    check_name(Path(folder), "the output folder")
    return Path(folder)


def check_name(path: Path, what: str) -> None:
    """Raise InputError for a path that is not UTF-8, and for a name that `sweep` may remove."""
    check_utf8(path, what)
    if path.name.startswith(PARTIAL):
        message = f"{what} {path} has a name that Forebay uses for incomplete files\nhint: choose another name"
        raise InputError(message)


def check_utf8(path: str | PathLike[str], what: str) -> None:
    """Raise InputError for a path that is not UTF-8: results and messages name it as text."""
    text = os.fspath(path)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        shown = os.fsencode(text).decode("utf-8", "backslashreplace")
        message = f"{what} {shown} has a name that is not UTF-8\nhint: rename it, or use another path"
        raise InputError(message) from None


class NotWrittenError(InputError):
    """A folder that cannot be written, because the disk is full for example."""

    result: Any = None
    """The `Result` that could not be kept there, or None if the run had not ended."""


@contextmanager
def staged(folder: str | PathLike[str]) -> Iterator[Path]:
    """Yield an empty folder to write into; its contents move to `folder` at the end.

    If the block raises, nothing is left behind. Raises InputError before the block if `folder` cannot be written, and
    in place of what the block raises if the disk is full.
    """
    target = named(folder)
    created = _create(target)
    try:
        sweep(target)
        # The inner one sees how much room is left before what was begun is gone.
        with writing_to(target), begun(target, Path.mkdir) as staging, writing_to(target):
            yield staging
            with _undisturbed():
                _publish(staging, target)
    except BaseException:
        _remove(created)
        raise


@contextmanager
def staged_beside_runs(folder: str | PathLike[str]) -> Iterator[Path]:
    """As `staged`, for what is no result of a run. Raises InputError if the folder holds one."""
    if (named(folder) / RESULT_FILE).exists():
        message = f"{folder} holds the result of a run\nhint: name another folder"
        raise InputError(message)
    with staged(folder) as staging:
        yield staging


@contextmanager
def writing_to(target: Path) -> Iterator[None]:
    """Make an InputError of it if something cannot be written there; other errors pass."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        number = _error_number(error)
        place = getattr(error, "filename", None)
        elsewhere = isinstance(place, str | bytes) and target not in Path(os.fsdecode(place)).parents
        if number not in _CANNOT_WRITE or elsewhere:
            raise
        raise NotWrittenError(_cannot_write(target, number)) from error


def sweep(folder: Path) -> None:
    """Remove incomplete files of killed calls from the folder: those without a lock of a process."""
    for path in folder.glob(f"{PARTIAL}*"):
        # Any other name, and any other kind of file, is not ours.
        with suppress(OSError):
            kind = path.lstat().st_mode
            if not _PARTIAL_NAME.fullmatch(path.name) or not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
                continue
            held = _hold(path)
            if held is not None:
                _discard(path)
                os.close(held)


@contextmanager
def begun(folder: Path, make: Callable[[Path], object]) -> Iterator[Path]:
    """Yield a new file or folder within `folder`, made by `make`, which is removed at the end unless moved away."""
    while True:
        path = folder / f"{PARTIAL}{os.urandom(8).hex()}"
        make(path)
        try:
            held = _hold(path)
        except (BlockingIOError, FileNotFoundError):
            continue  # Another call sweeps here, and took it for what was left.
        except OSError:
            held = None  # A file system without locks.
        break
    try:
        yield path
    finally:
        _discard(path)
        if held is not None:
            os.close(held)


def put(path: Path, content: bytes) -> None:
    """Write a file that appears complete or not at all. Raises OSError if it cannot.

    As `begun`, with the fewest calls of the system: a sweep does this thousands of times.
    """
    while True:
        partial = path.with_name(f"{PARTIAL}{os.urandom(8).hex()}")
        file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            if fcntl is not None:
                with suppress(OSError):  # A file system without locks, or a sweep that is about to remove the file.
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            unwritten = memoryview(content)
            while unwritten:
                unwritten = unwritten[os.write(file, unwritten) :]
            partial.replace(path)
        except FileNotFoundError:
            if not path.parent.exists():
                raise
            continue  # Another call sweeps here, and took it for what was left.
        except BaseException:
            with suppress(OSError):
                partial.unlink()
            raise
        finally:
            os.close(file)
        return


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Only this call works in the folder meanwhile. Raises InputError if another does."""
    try:
        held = _hold(folder)
    except BlockingIOError:
        message = f"another call of Forebay is writing to {folder}\nhint: wait until it ends, or name another folder"
        raise InputError(message) from None
    except OSError:
        held = None  # A file system without locks.
    try:
        yield
    finally:
        if held is not None:
            os.close(held)


def _hold(path: Path) -> int | None:
    """Locks a file or folder until the descriptor is closed, or the process ends. Raises OSError if it cannot."""
    if fcntl is None:
        return None
    # Opening a FIFO would otherwise wait for its other end.
    held = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(held), path.stat()):
            raise FileNotFoundError(path)
    except BaseException:
        os.close(held)
        raise
    return held


def _discard(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _error_number(error: Exception) -> int | None:
    """Return the number of the system's error. Polars has it in words only."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    said = re.search(r"\(os error (\d+)\)", str(error))
    return int(said[1]) if said else None


def _cannot_write(target: Path, number: int | None) -> str:
    reason = "" if number is None else f": {os.strerror(number)}"
    if number not in (errno.ENOSPC, errno.EDQUOT):
        return f"cannot write to the folder {target}{reason}\nhint: name one that you can write to"
    there = next(path for path in (target, *target.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    return f"cannot write to the folder {target}{reason}, {_size(free)} free\nhint: make room, or name another folder"


def _size(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"


def _create(target: Path) -> list[Path]:
    """Create the folder with its parents; return those that did not exist, the innermost first."""
    missing = [path for path in (target, *target.parents) if not path.exists()]
    try:
        target.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        message = f"{target} is a file, not a folder\nhint: name another output folder"
        raise NotWrittenError(message) from None
    except OSError as error:
        _remove(missing)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NotWrittenError(_cannot_write(target, error.errno)) from None
        message = f"cannot create the folder {target}: {error.strerror}\nhint: name one that you can write to"
        raise NotWrittenError(message) from None
    return missing


def _publish(staging: Path, target: Path) -> None:
    if (staging / RESULT_FILE).exists():
        # While the files of an older result are replaced, the folder must not pass for complete.
        (target / RESULT_FILE).unlink(missing_ok=True)
    for path in sorted(staging.iterdir(), key=lambda path: path.name == RESULT_FILE):
        path.replace(target / path.name)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Put Ctrl-C off until the end of the block, which takes no time."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or handler is None:
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if came:
        signal.raise_signal(signal.SIGINT)


def _remove(folders: list[Path]) -> None:
    for path in folders:
        try:
            path.rmdir()
        except OSError:
            return


@contextmanager
def kept_in(out: str | PathLike[str] | None) -> Iterator[Path]:
    """Where finished runs are kept: in `out`, or nowhere for long. Raises InputError if `out` cannot be written."""
    if out is None:
        with tempfile.TemporaryDirectory(prefix="forebay-") as folder:
            yield Path(folder)
        return
    path = named(out)
    _create(path)
    yield path
