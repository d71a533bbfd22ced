"""One run of a scenario, on a thread of its own, which waits at the end of each interval for an action."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Protocol
from weakref import WeakSet

from forebay.errors import ControllerError, DisciplineError
from forebay.runs.single import run_core
from forebay.scenario import Scenario

Observation = dict[str, float]
"""Values seen in one interval, by the names of their columns."""

_GRACE_S = 2.0
"""Time for a stopped run to end. A simulation ends within milliseconds, a loop in Python when it is interrupted."""
_LISTEN_S = 0.1
"""Time between two checks for Ctrl-C."""


class Watch(Protocol):
    """The object of the run that an agent steers: it counts, and an action sets its attributes."""

    def observation(self) -> Observation:
        """Return the values of the interval so far."""


Turn = Callable[[Watch], None]
"""Called at the end of an interval; returns when the action is there."""


class _EndedError(Exception):
    """Stops a run whose episode is over."""


class Episode:
    """One run, on a thread of its own."""

    def __init__(
        self,
        scenario: Scenario,
        overrides_for: Callable[[Turn], Mapping[str, object]],
        names: Sequence[str],
        seed: int,
    ) -> None:
        self.seen: Observation = {}
        self.ended = False
        # None ends the run.
        self._actions: SimpleQueue[Mapping[str, float] | None] = SimpleQueue()
        # True at the end of an interval, False at that of the run, or its error.
        self._turns: SimpleQueue[bool | BaseException] = SimpleQueue()
        self._scenario, self._seed = scenario.override(overrides_for(self._turn)), seed
        self._names = names
        self._watch: Watch | None = None
        self._thread = threading.Thread(target=self._run, name="forebay-gym", daemon=True)
        _running.add(self)
        self._thread.start()

    def _run(self) -> None:
        last: bool | BaseException = False
        try:
            run_core(self._scenario, seed=self._seed, progress=self._go_on)
        except _EndedError:
            pass
        except (DisciplineError, ControllerError) as error:
            if not isinstance(error.__cause__, _EndedError):
                last = error
        except BaseException as error:
            # The waiting side gets any exception.
            last = error
        self._turns.put(last)

    def _go_on(self, _fraction: float) -> None:
        """Stop the run if its episode is over. Python code in a loop of its own is interrupted then."""
        if self.ended:
            raise _EndedError

    def _turn(self, watch: Watch) -> None:
        """Show what was seen at the end of an interval, on the run's thread, and wait for the action."""
        self._watch = watch
        self.seen = watch.observation()
        self._turns.put(True)
        action = self._actions.get()
        if action is None:
            raise _EndedError
        for name, value in action.items():
            setattr(watch, name, value)

    def act(self, action: Mapping[str, float]) -> None:
        """Let the run continue with these values of the attributes."""
        self._actions.put(action)

    def wait(self) -> None:
        """Wait until the interval or the run has ended."""
        if self.ended:
            return
        told = self._next()
        if told is True:
            return
        self.ended = True
        self._thread.join()
        if isinstance(told, BaseException):
            raise told
        self.seen = self._watch.observation() if self._watch is not None else dict.fromkeys(self._names, 0.0)

    def _next(self) -> bool | BaseException:
        while True:
            # Python checks for Ctrl-C between two waits, whatever thread the signal interrupts.
            with suppress(Empty):
                return self._turns.get(timeout=_LISTEN_S)

    def end(self) -> None:
        """Stop the run and wait for its end."""
        if not self.ended:
            self.ended = True
            self._actions.put(None)
        self._thread.join(_GRACE_S)


_running: WeakSet[Episode] = WeakSet()
"""All episodes. Their runs must end before the interpreter does."""


@atexit.register
def _end_all() -> None:
    for episode in list(_running):
        episode.end()
