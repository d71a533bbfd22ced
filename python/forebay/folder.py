"""Folders of results: either all files of a result appear in one, or none."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from .errors import InputError

RESULT_FILE = "result.json"
"""Written last: a folder with this file holds a complete result."""


@contextmanager
def staged(folder: str | PathLike[str]) -> Iterator[Path]:
    """Gives an empty folder to write into; what is in it moves to `folder` at the end.

    If the block raises, nothing is left behind. Raises InputError before the block if `folder` cannot be written.
    """
    target = Path(folder)
    created = _create(target)
    staging = target / f".partial-{os.getpid()}"
    try:
        _make_writable(staging, target)
        yield staging
        _publish(staging, target)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        _remove(created)
        raise


@contextmanager
def staged_beside_runs(folder: str | PathLike[str]) -> Iterator[Path]:
    """As `staged`, for what is no result of a run. Raises InputError if the folder holds one."""
    if (Path(folder) / RESULT_FILE).exists():
        message = f"{folder} holds the result of a run\nhint: name another folder"
        raise InputError(message)
    with staged(folder) as staging:
        yield staging


def _create(target: Path) -> list[Path]:
    """Creates the folder with its parents; gives those that did not exist, the innermost first."""
    missing = [path for path in (target, *target.parents) if not path.exists()]
    try:
        target.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        message = f"{target} is a file, not a folder\nhint: name another output folder"
        raise InputError(message) from None
    except OSError as error:
        _remove(missing)
        message = f"cannot create the folder {target}: {error.strerror}\nhint: name one that you may write to"
        raise InputError(message) from None
    return missing


def _make_writable(staging: Path, target: Path) -> None:
    try:
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir()
    except OSError as error:
        message = f"cannot write to the folder {target}: {error.strerror}\nhint: name one that you may write to"
        raise InputError(message) from None


def _publish(staging: Path, target: Path) -> None:
    # While the files of an older result are replaced, the folder must not pass for complete.
    (target / RESULT_FILE).unlink(missing_ok=True)
    for path in sorted(staging.iterdir(), key=lambda path: path.name == RESULT_FILE):
        path.replace(target / path.name)
    staging.rmdir()


def _remove(folders: list[Path]) -> None:
    for path in folders:
        try:
            path.rmdir()
        except OSError:
            return


@contextmanager
def kept_in(out: str | PathLike[str] | None) -> Iterator[Path]:
    """Where finished runs are kept: in `out`, or nowhere for long."""
    if out is None:
        with tempfile.TemporaryDirectory(prefix="forebay-") as folder:
            yield Path(folder)
        return
    path = Path(out)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot create the folder {path}: {error.strerror}\nhint: name one that you may write to"
        raise InputError(message) from None
    yield path
