"""Runs jobs on all cores, keeps every finished one on disk, and continues where an interrupted call stopped."""

from __future__ import annotations

import os
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Protocol, TypeVar

from .job import Job
from .outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from .store import Store

Key = TypeVar("Key")


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


def execute(
    jobs: Sequence[Job[Key]],
    store_of: Callable[[Job[Key]], Store],
    simulate: Simulate,
    *,
    threads: int,
    on_done: Callable[[Job[Key], bool], None],
) -> Generator[tuple[Job[Key], Outcome]]:
    """Gives each job with its outcome, as they finish. `on_done(job, kept)` is told of each, and if it is on disk.

    The simulator releases the GIL, so threads suffice. Only a few jobs more than there are threads are submitted at a
    time, so that memory does not grow with their number. When the caller stops early, by Ctrl-C or an error, running
    jobs are told to stop and finished ones are on disk already. Close the generator then: it has threads. A full disk
    ends nothing: an outcome that cannot be kept has to be computed again by the next call, and that is all.
    """
    stop = threading.Event()
    waiting = iter(jobs)
    threads = min(threads, _MOST_THREADS, max(1, len(jobs)))
    running: dict[Future[tuple[Outcome, bool]], Job[Key]] = {}
    swept: set[Path] = set()
    pool = ThreadPoolExecutor(max_workers=threads)
    try:
        while True:
            while len(running) < 2 * threads and (job := next(waiting, None)) is not None:
                store = store_of(job)
                if store.folder not in swept:
                    swept.add(store.folder)
                    store.sweep()
                running[pool.submit(_run, job, store, simulate, stop)] = job
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


def _run(job: Job[Key], store: Store, simulate: Simulate, stop: threading.Event) -> tuple[Outcome, bool]:
    stored = store.find(job)
    if stored is not None:
        return stored, True
    outcome = simulate(job.text, job.name, job.seed, lambda: not stop.is_set())
    return outcome, store.keep(job, outcome)


def default_threads() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
