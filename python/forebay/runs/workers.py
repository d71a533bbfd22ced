"""Where runs are computed: threads of this process, processes, a Dask cluster, or any executor of the caller's."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forebay import runs
from forebay.errors import InputError

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event

    from forebay.disciplines.custom import CustomClasses

# More threads than any machine has cores only take memory.
_MOST_THREADS = 256

# In a process that `_processes` started: set when the whole call is ending.
_stopped_here: Event | None = None


class Stop:
    """Tells the runs of a call that it is ending. Sent to another process, it asks the call that started the process.

    Runs on a cluster cannot be stopped: they end by themselves, and their results are dropped.
    """

    def __init__(self) -> None:
        self._ending = threading.Event()

    def go_on(self) -> bool:
        """Return whether a run is to go on."""
        return not self._ending.is_set() and not (_stopped_here is not None and _stopped_here.is_set())

    def set(self) -> None:
        """End the call."""
        self._ending.set()

    def __reduce__(self) -> tuple[type[Stop], tuple[()]]:
        return Stop, ()


@dataclass(frozen=True)
class Workers:
    """An executor, and its properties for the runner."""

    executor: Executor
    slots: int
    """Runs at a time."""
    stop: Callable[[], None] = lambda: None
    """Tells runs in other processes to stop."""


@dataclass(frozen=True)
class Where:
    """Where the runs of a call are computed; by default on threads, one for each core.

    At most one of `executor` and `dask` is given. Raises InputError for fewer than one job.
    """

    jobs: int | None = None
    """Runs at a time. Default: one for each core; of a cluster, one for each of its threads."""
    executor: Executor | None = None
    """The caller's own, which is left open. Its processes must be able to import Forebay."""
    dask: str | None = None
    """The address of a Dask scheduler: `tcp://host:8786`."""
    may_start_processes: bool = False
    """Whether processes may take the place of threads for runs that hold Python's lock, those with a discipline written
    in Python. The command may; a script whose file a process imports again may not."""

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            message = f"jobs: must be at least 1, and is {self.jobs}\nhint: leave it out for one on each core"
            raise InputError(message)
        if self.executor is not None and self.dask is not None:
            message = "an executor and a Dask scheduler were both given\nhint: give one of them"
            raise InputError(message)

    @contextmanager
    def hire(self, expected: int | None = None, custom: CustomClasses | None = None) -> Iterator[Workers]:
        """Yield the workers for about that many runs with these custom classes, let go at the end.

        Raises InputError if there are none.
        """
        if self.executor is not None:
            yield Workers(self.executor, self.jobs or _slots_of(self.executor))
        elif self.dask is not None:
            try:
                executor_at = runs.cluster.executor_at
            except ImportError:
                message = "--dask needs the package distributed\nhint: pip install 'forebay[dask]'"
                raise InputError(message) from None
            with executor_at(self.dask) as (executor, threads):
                yield Workers(executor, self.jobs or threads)
        else:
            count = min(self.jobs or cores(), _MOST_THREADS, max(1, _MOST_THREADS if expected is None else expected))
            apart = self.may_start_processes and custom is not None and custom.take_turns and custom.can_move
            with (_processes if apart and count > 1 else _threads)(count) as workers:
                yield workers


def cores() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def _slots_of(executor: Executor) -> int:
    # Executors of the standard library say it, in an attribute without documentation.
    count = getattr(executor, "_max_workers", None)
    return count if isinstance(count, int) else cores()


@contextmanager
def _threads(count: int) -> Iterator[Workers]:
    """Yield the simulator releases Python's lock, so threads suffice."""
    pool = ThreadPoolExecutor(max_workers=count)
    try:
        yield Workers(pool, count)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _processes(count: int) -> Iterator[Workers]:
    # A fork would copy locks that threads of this process hold at that moment.
    context = multiprocessing.get_context("spawn")
    stopped = context.Event()
    pool = ProcessPoolExecutor(max_workers=count, mp_context=context, initializer=_begin, initargs=(stopped,))
    try:
        yield Workers(pool, count, stopped.set)
    finally:
        stopped.set()
        pool.shutdown(wait=False, cancel_futures=True)


def _begin(stopped: Event) -> None:
    """Of a process: Ctrl-C is heard by the one that started it, which tells the others."""
    global _stopped_here  # noqa: PLW0603 - an executor's initializer has no other place to leave something
    _stopped_here = stopped
    signal.signal(signal.SIGINT, signal.SIG_IGN)
