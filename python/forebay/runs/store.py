"""Finished runs on disk: one Parquet file each, which appears complete or not at all."""

from __future__ import annotations

import hashlib
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebay import _core
from forebay.errors import DamagedFileWarning
from forebay.folder import put, sweep
from forebay.storage.stored import UNREADABLE, read_frame, reason_of, sealed

from .outcome import Failure, Outcome

if TYPE_CHECKING:
    from .job import Job


@cache
def version_key() -> str:
    """Identify the simulator that made a stored outcome: Forebay's version and the extension module."""
    digest = hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()
    return f"{_core.__version__}-{digest[:16]}"


class Store:
    """A folder of finished runs, from which a call continues where another one stopped.

    The file of a run has one row: `run` (the name of the file), `scenario` and `seed` identify the run, `version` is
        Forebay's version, `digest` the outcome; `error` is the reason of a failure. The result tables are lists of
        rows: in Polars,
    `frame.explode("flows").unnest("flows")` has a row for each flow.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def sweep(self) -> None:
        """Remove what killed calls left incomplete."""
        sweep(self.folder)

    def find(self, job: Job[Any]) -> Outcome | Failure | None:
        """Return the outcome of the job, or None if it must run.

        Warns of a damaged file with a DamagedFileWarning.
        """
        path = self.path(job)
        try:
            return _read(path)
        except FileNotFoundError:
            return None
        except UNREADABLE as error:
            message = f"{path} is damaged: {reason_of(error)}; the run is repeated"
            warnings.warn(message, DamagedFileWarning, stacklevel=2)
            return None

    def read(self, name: str) -> Outcome | Failure | None:
        """Return the content of the file of that name (no suffix), or None if there is none or it is damaged."""
        try:
            return _read(self.folder / f"{name}.parquet")
        except UNREADABLE:
            return None

    def keep(self, job: Job[Any], outcome: Outcome | Failure) -> bool:
        """Write the outcome, and return whether it is on disk. If the disk is full, the next call computes it again."""
        path = self.path(job)
        file = _file(path.stem, job, outcome)
        with suppress(OSError):
            try:
                put(path, file)
            except FileNotFoundError:
                self.folder.mkdir(parents=True, exist_ok=True)
                put(path, file)
            return True
        return False

    def path(self, job: Job[Any]) -> Path:
        """Return the path of the run's file."""
        return self.folder / f"{job.digest(version_key())}.parquet"


def _read(path: Path) -> Outcome | Failure:
    """Return the content of a run's file. Raises one of `UNREADABLE`, also for the file of another run."""
    frame = read_frame(path)
    if frame.height != 1 or frame.item(0, "run") != path.stem:
        message = "it holds another run"
        raise ValueError(message)
    error = frame.item(0, "error")
    return Outcome.from_frame(frame) if error is None else Failure.from_text(error)


def stored_bytes(job: Job[Any], outcome: Outcome) -> int:
    """How large the file of an outcome is."""
    return len(_file("", job, outcome))


def _file(name: str, job: Job[Any], outcome: Outcome | Failure) -> bytes:
    """Return the content of a run's file."""
    facts: list[tuple[str, str | int | None]] = [
        ("run", name),
        ("scenario", job.name),
        ("seed", job.seed),
        ("version", version_key()),
        ("digest", outcome.digest if isinstance(outcome, Outcome) else None),
        ("error", outcome.to_text() if isinstance(outcome, Failure) else None),
    ]
    return sealed(_core.run_file(facts, outcome.to_tables() if isinstance(outcome, Outcome) else []))
