"""Finished runs on disk: one file each, which appears complete or not at all."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

from forebay import _core
from forebay.errors import InputError
from forebay.folder import sweep

from .outcome import Outcome

if TYPE_CHECKING:
    from .job import Job


@cache
def version_key() -> str:
    """Identifies the simulator that made a stored outcome: Forebay's version and the very extension module."""
    digest = hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()
    return f"{_core.__version__}-{digest[:16]}"


class Store:
    """A folder of finished runs, from which a call continues where another one stopped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def sweep(self) -> None:
        """Removes what killed calls left incomplete."""
        sweep(self.folder)

    def find(self, job: Job[Any]) -> Outcome | None:
        """The outcome of the job; None where there is none or the file is damaged, and then the job simply runs."""
        try:
            return Outcome.load(self._path(job))
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return None

    def keep(self, job: Job[Any], outcome: Outcome) -> bool:
        """Writes the outcome; whether it is there. On a full disk it is not, and the next call computes it again."""
        path = self._path(job)
        with suppress(OSError, InputError):
            path.parent.mkdir(parents=True, exist_ok=True)
            outcome.save(path)
        return path.exists()

    def _path(self, job: Job[Any]) -> Path:
        return self.folder / f"{job.digest(version_key())}.npz"
