"""Runs jobs on all cores, keeps every finished one on disk, and goes on where an interrupted call stopped."""

from __future__ import annotations

import hashlib
import os
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from zipfile import BadZipFile

from forebay import _core

from .outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .plan import Job


class Simulate(Protocol):
    """Runs one scenario. `go_on` is asked now and then, and stops the run by answering False."""

    def __call__(self, text: str, name: str, seed: int, go_on: Callable[[], bool]) -> Outcome:
        """Gives the outcome; raises ScenarioError for a scenario that is not valid."""


class StoppedError(Exception):
    """A run was stopped because the whole call is ending."""


@cache
def version_key() -> str:
    """Identifies the simulator that made a stored outcome: Forebay's version and the very extension module."""
    digest = hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()
    return f"{_core.__version__}-{digest[:16]}"


def execute(
    jobs: Sequence[Job],
    folder_of: Callable[[Job], Path],
    simulate: Simulate,
    *,
    threads: int,
    version: str,
    on_done: Callable[[Job, bool], None],
) -> Iterator[tuple[Job, Outcome]]:
    """Gives each job with its outcome, as they finish. `on_done(job, fresh)` is told of each for the progress bar.

    The simulator releases the GIL, so threads suffice. Only a few jobs more than there are threads are submitted at a
    time, so that memory does not grow with their number. When the caller stops early, by Ctrl-C or an error, running
    jobs are told to stop and finished ones are on disk already.
    """
    stop = threading.Event()
    waiting = iter(jobs)
    running: dict[Future[tuple[Outcome, bool]], Job] = {}
    with ThreadPoolExecutor(max_workers=threads) as pool:
        try:
            while True:
                for job in waiting:
                    path = folder_of(job) / f"{job.key(version)}.npz"
                    running[pool.submit(_run, job, path, simulate, stop)] = job
                    if len(running) >= 2 * threads:
                        break
                if not running:
                    return
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    job = running.pop(future)
                    outcome, fresh = future.result()
                    on_done(job, fresh)
                    yield job, outcome
        finally:
            stop.set()
            for future in running:
                future.cancel()


def _run(job: Job, path: Path, simulate: Simulate, stop: threading.Event) -> tuple[Outcome, bool]:
    stored = _load(path)
    if stored is not None:
        return stored, False
    outcome = simulate(job.text, f"{job.experiment} ({job.at.label()})", job.seed, lambda: not stop.is_set())
    path.parent.mkdir(parents=True, exist_ok=True)
    outcome.save(path)
    return outcome, True


def _load(path: Path) -> Outcome | None:
    """The stored outcome; None where there is none or the file is damaged, and then the job simply runs."""
    try:
        return Outcome.load(path)
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None


def default_threads() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
