"""Runs jobs on all cores, keeps every finished one on disk, and goes on where an interrupted call stopped."""

from __future__ import annotations

import hashlib
import os
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from zipfile import BadZipFile

from forebay import _core
from forebay.errors import InputError
from forebay.folder import sweep

from .outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from .plan import Job


class Simulate(Protocol):
    """Runs one scenario. `go_on` is asked now and then, and stops the run by answering False."""

    def __call__(self, text: str, name: str, seed: int, go_on: Callable[[], bool]) -> Outcome:
        """Gives the outcome; raises ScenarioError for a scenario that is not valid."""


class StoppedError(Exception):
    """A run was stopped because the whole call is ending."""


# More threads than any machine has cores only take memory.
_MOST_THREADS = 256
# The waiting thread listens to Ctrl-C at this interval.
_LISTEN_S = 0.1
# How long a stopped call waits for its threads: the core lets go of them at once, writing a file may take longer.
_GRACE_S = 0.5


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
) -> Generator[tuple[Job, Outcome]]:
    """Gives each job with its outcome, as they finish. `on_done(job, kept)` is told of each, and if it is on disk.

    The simulator releases the GIL, so threads suffice. Only a few jobs more than there are threads are submitted at a
    time, so that memory does not grow with their number. When the caller stops early, by Ctrl-C or an error, running
    jobs are told to stop and finished ones are on disk already. Close the generator then: it has threads. A full disk
    ends nothing: an outcome that cannot be kept has to be computed again by the next call, and that is all.
    """
    stop = threading.Event()
    waiting = iter(jobs)
    threads = min(threads, _MOST_THREADS, max(1, len(jobs)))
    running: dict[Future[tuple[Outcome, bool]], Job] = {}
    swept: set[Path] = set()
    pool = ThreadPoolExecutor(max_workers=threads)
    try:
        while True:
            while len(running) < 2 * threads and (job := next(waiting, None)) is not None:
                folder = folder_of(job)
                if folder not in swept:
                    swept.add(folder)
                    sweep(folder)
                path = folder / f"{job.key(version)}.npz"
                running[pool.submit(_run, job, path, simulate, stop)] = job
            if not running:
                return
            # Python hears Ctrl-C in this thread only, which the system need not wake for it.
            finished, _ = wait(running, timeout=_LISTEN_S, return_when=FIRST_COMPLETED)
            for future in finished:
                job = running.pop(future)
                outcome, kept = future.result()
                on_done(job, kept)
                yield job, outcome
    finally:
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
        wait(running, timeout=_GRACE_S)


def _run(job: Job, path: Path, simulate: Simulate, stop: threading.Event) -> tuple[Outcome, bool]:
    stored = _load(path)
    if stored is not None:
        return stored, True
    outcome = simulate(job.text, f"{job.experiment} ({job.at.label()})", job.seed, lambda: not stop.is_set())
    with suppress(OSError, InputError):
        path.parent.mkdir(parents=True, exist_ok=True)
        outcome.save(path)
    return outcome, path.exists()


def _load(path: Path) -> Outcome | None:
    """The stored outcome; None where there is none or the file is damaged, and then the job simply runs."""
    try:
        return Outcome.load(path)
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None


def default_threads() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
