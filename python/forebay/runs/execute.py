"""Runs jobs at once, keeps every finished one on disk, and continues where an interrupted call stopped."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from forebay.errors import InputError

from .faults import OUT_OF_MEMORY, absent_forebay, lacks_memory
from .job import Job
from .outcome import Failure, Outcome
from .workers import Stop, Workers

if TYPE_CHECKING:
    from pathlib import Path

    from .store import Store

Key = TypeVar("Key")


class Simulate(Protocol):
    """Runs one scenario. `go_on` is asked now and then, and stops the run by answering False."""

    def __call__(self, text: str, name: str, seed: int, go_on: Callable[[], bool]) -> Outcome:
        """Return the outcome. Raises ScenarioError for a scenario that is not valid."""


Failures = Literal["keep", "retry", "raise"]
"""A run that fails is kept with its error, and so it stays; or is run again by the next call; or ends the call."""


class StoppedError(Exception):
    """A run was stopped because the whole call is ending."""


# The waiting thread listens to Ctrl-C at this interval.
_LISTEN_S = 0.1
# How long a stopped call waits for its runs: the core stops at once.
_GRACE_S = 0.5


def execute(
    jobs: Iterable[Job[Key]],
    store_of: Callable[[Job[Key]], Store],
    simulate: Simulate,
    *,
    workers: Workers,
    on_done: Callable[[Job[Key], bool], None],
) -> Generator[tuple[Job[Key], Outcome]]:
    """Yield each job with its outcome, as they finish. For each, call `on_done(job, kept)`: whether it is on disk.

    A run that raises ends the call with its exception. For the rest see `execute_all`.
    """
    for job, outcome in execute_all(jobs, store_of, simulate, workers=workers, on_done=on_done, failures="raise"):
        assert isinstance(outcome, Outcome)  # noqa: S101 - a failure was raised
        yield job, outcome


def execute_all(
    jobs: Iterable[Job[Key]],
    store_of: Callable[[Job[Key]], Store],
    simulate: Simulate,
    *,
    workers: Workers,
    on_done: Callable[[Job[Key], bool], None],
    failures: Failures = "keep",
) -> Generator[tuple[Job[Key], Outcome | Failure]]:
    """Yield each job with its outcome, or with the failure that it ended in.

    A `deque` of jobs may grow while the caller looks at outcomes. `simulate` must be picklable where the workers are
    other processes. Only a few jobs more than run at a time are submitted, so that memory does not grow with their
    number. A finished run is on disk before it is yielded. When the caller stops early, by Ctrl-C or an error, running
    jobs get a request to stop. Close the generator then. A full disk ends nothing: the next call must compute an
    outcome again if it cannot be kept.
    """
    waiting = jobs if isinstance(jobs, deque) else deque(jobs)
    swept: set[Path] = set()
    running: dict[Future[Outcome], tuple[Job[Key], Store]] = {}
    stop = Stop()
    try:
        while True:
            while waiting and len(running) < 2 * workers.slots:
                job = waiting.popleft()
                store = store_of(job)
                if store.folder not in swept:
                    swept.add(store.folder)
                    store.sweep()
                stored = store.find(job)
                if isinstance(stored, Outcome) or (stored is not None and failures == "keep"):
                    on_done(job, True)
                    yield job, stored
                else:
                    running[_submit(workers, simulate, job, stop)] = job, store
            if not running:
                return
            # Python hears Ctrl-C in this thread only, which the system need not wake for it.
            finished, _ = wait(running, timeout=_LISTEN_S, return_when=FIRST_COMPLETED)
            for future in finished:
                job, store = running[future]
                outcome = _outcome(future, failures)
                kept = (isinstance(outcome, Outcome) or outcome.lasts) and store.keep(job, outcome)
                del running[future]
                on_done(job, kept)
                yield job, outcome
    finally:
        _end(running, stop, workers)


def _submit(workers: Workers, simulate: Simulate, job: Job[Key], stop: Stop) -> Future[Outcome]:
    try:
        return workers.executor.submit(_run, simulate, job.text, job.name, job.seed, stop)
    except BrokenExecutor as error:
        raise InputError(_gone(error)) from error


def _gone(error: BaseException) -> str:
    message = f"the workers are gone: {str(error) or type(error).__name__}\n"
    return message + "hint: finished runs are kept, and the same command continues; does a run need too much memory?"


def _run(simulate: Simulate, text: str, name: str, seed: int, stop: Stop) -> Outcome:
    return simulate(text, name, seed, stop.go_on)


def _outcome(future: Future[Outcome], failures: Failures) -> Outcome | Failure:
    try:
        return future.result()
    except (BrokenExecutor, CancelledError) as error:
        raise InputError(_gone(error)) from error
    except Exception as error:
        if missing := absent_forebay(error):
            message = f"a worker cannot import Forebay: {missing}\nhint: install Forebay with its dependencies there"
            raise InputError(message) from error
        if lacks_memory(error):
            # The fault of the place and not of the run, which may succeed next time.
            if failures == "raise":
                raise MemoryError(str(error)) from error
            return Failure("MemoryError", OUT_OF_MEMORY.partition("\n")[0], lasts=False)
        if failures == "raise" or isinstance(error, StoppedError):
            raise
        return Failure(type(error).__name__, str(error))


def _end(running: dict[Future[Outcome], tuple[Job[Key], Store]], stop: Stop, workers: Workers) -> None:
    """Stop what still runs, and keep what has finished meanwhile."""
    stop.set()
    workers.stop()
    for future in running:
        future.cancel()
    wait(running, timeout=_GRACE_S)
    for future, (job, store) in running.items():
        if future.done() and not future.cancelled():
            with suppress(Exception):
                store.keep(job, future.result())
