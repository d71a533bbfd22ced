"""Environments for training queue management: one scenario, whose queue is steered from outside, step by step.

Needs the extra `forebay[gym]`. Each environment runs the scenario on a thread of its own, whose queue stops at the end
of each interval until the next action is there. So the simulation is the one of `forebay.run`, and every step ends:
with an observation, with the end of the run, or with its error.
"""

from __future__ import annotations

import atexit
import inspect
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from os import PathLike
from queue import Empty, SimpleQueue
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode
except ModuleNotFoundError as absent:
    message = "forebay.gym needs Gymnasium, which is not installed\nhint: pip install 'forebay[gym]'"
    raise ModuleNotFoundError(message, name=absent.name) from absent

from . import _core
from .comparison.contenders import find_place
from .disciplines.classes import AdmissionLaw, Verdict
from .disciplines.custom import OF_A_DEPARTURE, OF_AN_ARRIVAL, methods_of
from .errors import DisciplineError, InputError
from .runs.single import run_core
from .scenario import Scenario

Observation = dict[str, float]
"""Values seen at the queue in one interval, by the names in `QUANTITIES` and of the law's gauges."""

QUANTITIES = ("queue_packets", "queue_bytes", "arrived", "dropped", "marked", "sent", "sent_bytes", "wait_s")
"""Names of the first columns of an observation. `queue_packets` and `queue_bytes` are the queue at the end of the
interval; `arrived`, `dropped`, `marked` and `sent` count packets in it; `sent_bytes` are the bytes sent. `wait_s` is
the mean wait of the packets sent in seconds, 0 where none was sent."""


class MarkingProbability(AdmissionLaw):
    """A law that marks packets that can be marked, and drops the others, with a probability set from outside.

    Args:
        limit_packets: The most packets that the queue holds.

    Example:
        >>> law = fb.gym.MarkingProbability(limit_packets=10)
        >>> law.probability = 1.0
        >>> law.admit(ecn=2, queue_packets=0)
        <Verdict.MARK_EARLY: 2>

    """

    def __init__(self, limit_packets: int = 1000) -> None:
        self.limit_packets = limit_packets
        self.probability = 0.0

    def admit(self, ecn: int, queue_packets: int) -> Verdict:
        """Drop a packet that does not fit; otherwise draw a number."""
        if queue_packets >= self.limit_packets:
            return Verdict.DROP_OVERFLOW
        if self.random() >= self.probability:
            return Verdict.ENQUEUE
        return Verdict.MARK_EARLY if ecn else Verdict.DROP_EARLY


class QueueEnv(gymnasium.vector.VectorEnv[NDArray[np.float64], NDArray[np.float64], NDArray[Any]]):
    """A vector of Gymnasium environments, each a run of the same scenario under a seed of its own.

    A law written in Python takes the place of a queue. A step ends every `interval_s` seconds of simulated time.
    Observations are arrays of shape (`num_envs`, `len(names)`). The end of the run truncates an episode, and the next
    step begins a new one (Gymnasium's next-step autoreset). The same seed and the same actions give the same
    observations.

    Args:
        scenario: The scenario.
        interval_s: The length of a step in seconds of simulated time.
        reward: A function that makes the reward of a step from its observation, a dictionary by `names`.
        num_envs: The number of environments.
        law: The law at the queue.
        parameters: Keyword arguments of the law's constructor.
        actions: Names of attributes of the law that an action sets, each with its least and greatest value. Default:
            `{"probability": (0.0, 1.0)}`.
        at: The path of the queue that the law replaces. Default: the bottleneck's.

    Raises:
        InputError: If the interval, the actions or the queue cannot be used. `step` raises DisciplineError if the law
            fails.

    Example:
        >>> scenario = fb.Scenario.load("examples/first.toml")
        >>> env = fb.gym.QueueEnv(
        ...     scenario, interval_s=0.5, reward=lambda seen: seen["sent_bytes"], num_envs=2
        ... )
        >>> seen, _ = env.reset(seed=1)
        >>> seen.shape
        (2, 8)
        >>> env.close()

    """

    names: tuple[str, ...]
    """Names of the columns of an observation: `QUANTITIES`, then the gauges of the law."""
    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 - as gymnasium declares it

    def __init__(
        self,
        scenario: Scenario,
        *,
        interval_s: float,
        reward: Callable[[Observation], float],
        num_envs: int = 1,
        law: type[AdmissionLaw] = MarkingProbability,
        parameters: Mapping[str, object] | None = None,
        actions: Mapping[str, tuple[float, float]] | None = None,
        at: str | None = None,
    ) -> None:
        self._interval_ps = _picoseconds(interval_s)
        if num_envs < 1:
            message = f"num_envs: must be an integer of at least 1, and is {num_envs!r}\nhint: leave it out for one"
            raise InputError(message)
        self._actions = dict(actions or {"probability": (0.0, 1.0)})
        for name, (least, greatest) in self._actions.items():
            if not (math.isfinite(least) and math.isfinite(greatest) and least <= greatest):
                message = f"actions: {name}: {least} to {greatest} is no range\nhint: give two finite numbers in order"
                raise InputError(message)
        place = find_place(scenario, at)
        if len(place.links) != 1:
            message = f"{place.path} is the key of {len(place.links)} queues\nhint: choose a single one with `at`"
            raise InputError(message)
        self.names = (*QUANTITIES, *law.gauges)
        self.num_envs = num_envs
        self._scenario, self._place, self._law = scenario, place.path, law
        self._parameters = dict(parameters or {})
        self._reward = reward
        bounds = np.array(list(self._actions.values()), dtype=np.float64).T
        self.single_action_space = gymnasium.spaces.Box(bounds[0], bounds[1], dtype=np.float64)
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (len(self.names),), dtype=np.float64)
        batch = gymnasium.vector.utils.batch_space
        self.action_space = batch(self.single_action_space, num_envs)
        self.observation_space = batch(self.single_observation_space, num_envs)
        self._episodes: list[_Episode] = []
        self._seed = scenario.seed

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """End all runs and begin new ones, up to the end of their first interval.

        Args:
            seed: The seed of the first environment; the others and all later episodes count on from it. Default: count
                on from the last seed, at first from the scenario's.
            options: None: there are no options.

        Returns:
            Observations, and no infos.

        Raises:
            InputError: For a seed that is not an integer, and for options.

        """
        if options:
            message = f"reset has no options, and {', '.join(options)} was given"
            raise InputError(message)
        if seed is not None and not isinstance(seed, int):
            message = "seed: expected one integer, from which all environments count"
            raise InputError(message)
        self.close_extras()
        if seed is not None:
            self._seed = seed
        self._episodes = [self._begin() for _ in range(self.num_envs)]
        self._wait()
        return self._observations(), {}

    def step(
        self, actions: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Set the law's attributes and run one interval of each environment; begin a new run where one had ended.

        Args:
            actions: An array of shape (`num_envs`, number of actions).

        Returns:
            Observations, rewards, which episodes were terminated (none ever is), which were truncated, and no infos.

        Raises:
            InputError: Before the first `reset`.
            DisciplineError: If the law fails.

        """
        if not self._episodes:
            message = "step before reset\nhint: call reset(seed=...) first"
            raise InputError(message)
        ended = [episode.ended for episode in self._episodes]
        for index, values in enumerate(np.asarray(actions, dtype=np.float64).reshape(self.num_envs, -1)):
            if ended[index]:
                self._episodes[index] = self._begin()
            else:
                self._episodes[index].act(dict(zip(self._actions, values.tolist(), strict=True)))
        self._wait()
        rewards = [0.0 if new else self._reward(it.seen) for new, it in zip(ended, self._episodes, strict=True)]
        truncated = np.array([episode.ended for episode in self._episodes])
        return self._observations(), np.array(rewards), np.zeros(self.num_envs, dtype=bool), truncated, {}

    def close_extras(self, **_: Any) -> None:
        """End all runs. `close` calls it."""
        for episode in self._episodes:
            episode.end()
        self._episodes = []

    def _wait(self) -> None:
        """Wait until every run has reached the end of its interval. An error or Ctrl-C ends all runs."""
        try:
            for episode in self._episodes:
                episode.wait()
        except BaseException:
            self.close_extras()
            raise

    def _begin(self) -> _Episode:
        seed, self._seed = self._seed, self._seed + 1
        return _Episode(self._scenario, self._place, self._law, self._parameters, self._interval_ps, seed)

    def _observations(self) -> NDArray[np.float64]:
        return np.array([[episode.seen[name] for name in self.names] for episode in self._episodes], dtype=np.float64)


def _picoseconds(interval_s: float) -> int:
    """Return the interval. Raises InputError unless it is finite and at least a picosecond."""
    number = float(interval_s)
    if math.isfinite(number) and (picoseconds := round(number * 1e12)) >= 1:
        return picoseconds
    message = f"interval_s: must be a finite number of seconds, at least 1e-12, and is {interval_s!r}"
    raise InputError(f"{message}\nhint: try interval_s=0.01")


_GRACE_S = 2.0
"""Time for a stopped run to end. A simulation ends within milliseconds, a loop of the law when it is interrupted."""
_LISTEN_S = 0.1
"""Time between two checks for Ctrl-C."""


class SingleQueueEnv(gymnasium.Env[NDArray[np.float64], NDArray[np.float64]]):
    """A Gymnasium environment with one run, for libraries that train a single agent.

    It is registered as `forebay/Queue-v0`. It differs from a `QueueEnv` with one run in three ways: arrays have no
    dimension for the environments; an episode that was truncated needs a `reset`; and the observation space is bounded.
    Values outside the bounds are clipped.

    Args:
        scenario: The scenario, or the path of a scenario file.
        interval_s: The length of a step in seconds of simulated time.
        reward: A function that makes the reward of a step from its observation, a dictionary by `names`, not clipped.
        law: The law at the queue.
        parameters: Keyword arguments of the law's constructor.
        actions: Names of attributes of the law that an action sets, each with its least and greatest value. Default:
            `{"probability": (0.0, 1.0)}`.
        at: The path of the queue that the law replaces. Default: the bottleneck's.
        bounds: The least and greatest value of a column, by its name. Default for counts of packets: the capacity of
            the link in an interval, in packets of 20 bytes, and ten times as many arrivals. Other defaults: for the
            queue the law's `limit_packets` or
            100 000 packets; for waits the duration; for gauges ±10^9.

    Raises:
        InputError: If the interval, the actions, the bounds or the queue cannot be used. `step` raises DisciplineError
            if the law fails.

    Example:
        >>> import gymnasium
        >>> env = gymnasium.make(
        ...     "forebay.gym:forebay/Queue-v0",
        ...     scenario="examples/first.toml",
        ...     interval_s=0.5,
        ...     reward=lambda seen: seen["sent_bytes"],
        ... )
        >>> seen, _ = env.reset(seed=1)
        >>> seen.shape
        (8,)
        >>> env.close()

    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as gymnasium declares it
    names: tuple[str, ...]
    """Names of the columns of an observation: `QUANTITIES`, then the gauges of the law."""

    def __init__(
        self,
        scenario: Scenario | str | PathLike[str],
        *,
        interval_s: float,
        reward: Callable[[Observation], float],
        law: type[AdmissionLaw] = MarkingProbability,
        parameters: Mapping[str, object] | None = None,
        actions: Mapping[str, tuple[float, float]] | None = None,
        at: str | None = None,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        render_mode: None = None,
    ) -> None:
        if not isinstance(scenario, Scenario):
            scenario = Scenario.load(scenario)
        if render_mode is not None:
            message = f"render_mode: there is no {render_mode!r}, because nothing is drawn\nhint: leave it out"
            raise InputError(message)
        self._one = QueueEnv(
            scenario, interval_s=interval_s, reward=reward, law=law, parameters=parameters, actions=actions, at=at
        )
        self.names = self._one.names
        self.render_mode = None
        self.action_space = self._one.single_action_space
        known = _bounds(scenario, interval_s, law, parameters or {}, at) | dict(bounds or {})
        if strangers := [name for name in known if name not in self.names]:
            message = f"bounds: there is no column {strangers[0]}\nhint: the columns are {', '.join(self.names)}"
            raise InputError(message)
        self._low, self._high = np.array([known[name] for name in self.names], dtype=np.float64).T
        if not (np.isfinite([self._low, self._high]).all() and (self._low <= self._high).all()):
            message = "bounds: each must be two finite numbers, the least one first"
            raise InputError(message)
        self.observation_space = gymnasium.spaces.Box(self._low, self._high, dtype=np.float64)
        self._ended = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """End the run and begin a new one, up to the end of its first interval.

        Args:
            seed: The seed of the run. Default: one more than the last, at first the scenario's.
            options: Nothing: there are no options.

        Returns:
            The observation, and no infos.

        """
        super().reset(seed=seed)
        seen, infos = self._one.reset(seed=seed, options=options)
        self._ended = False
        return self._clipped(seen), infos

    def step(self, action: NDArray[np.float64]) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        """Set the law's attributes and run one interval.

        Args:
            action: One value for each action.

        Returns:
            The observation, the reward, False (no episode is terminated), whether it was truncated, and no infos.

        Raises:
            InputError: Before `reset`, and after the end of the run.
            DisciplineError: If the law fails.

        """
        if self._ended:
            message = "step without a run: it has not begun, or it has ended\nhint: call reset() first"
            raise InputError(message)
        seen, rewards, _, truncated, infos = self._one.step(np.asarray(action, dtype=np.float64)[np.newaxis])
        self._ended = bool(truncated[0])
        return self._clipped(seen), float(rewards[0]), False, self._ended, infos

    def close(self) -> None:
        """End the run."""
        self._ended = True
        self._one.close()

    def _clipped(self, seen: NDArray[np.float64]) -> NDArray[np.float64]:
        clipped: NDArray[np.float64] = np.clip(seen[0], self._low, self._high)
        return clipped


_SMALLEST_BYTES = 20
_LARGEST_BYTES = 65_535
_MOST_PACKETS = 100_000
_MOST_OF_A_GAUGE = 1e9


def _bounds(
    scenario: Scenario, interval_s: float, law: type[AdmissionLaw], parameters: Mapping[str, object], at: str | None
) -> dict[str, tuple[float, float]]:
    """Return bounds of all columns."""
    rate_bps = _core.slowest_rate(scenario.text, scenario.file_name, scenario.overrides, find_place(scenario, at).links)
    # A packet whose transmission began in the interval before ends in this one.
    sent_bytes = (rate_bps or 0) / 8.0 * interval_s + _LARGEST_BYTES
    sent = math.ceil(sent_bytes / _SMALLEST_BYTES)
    arrived = 10.0 * sent
    limit = parameters.get("limit_packets", _default_of(law, "limit_packets"))
    waiting = float(limit) if isinstance(limit, int | float) and math.isfinite(limit) else float(_MOST_PACKETS)
    most = {
        "queue_packets": waiting,
        "queue_bytes": waiting * _LARGEST_BYTES,
        "arrived": arrived,
        "dropped": arrived,
        "marked": arrived,
        "sent": float(sent),
        "sent_bytes": sent_bytes,
        "wait_s": scenario.duration_s,
    }
    gauges = dict.fromkeys(law.gauges, (-_MOST_OF_A_GAUGE, _MOST_OF_A_GAUGE))
    return {name: (0.0, value) for name, value in most.items()} | gauges


def _default_of(law: type[AdmissionLaw], name: str) -> object:
    """Return the default of an argument of the law's constructor. The law itself may need a run to be constructed."""
    parameter = inspect.signature(law.__init__).parameters.get(name)
    return None if parameter is None else parameter.default


gymnasium.register(id="forebay/Queue-v0", entry_point="forebay.gym:SingleQueueEnv")


class _EndedError(Exception):
    """Stops a run whose episode is over."""


class _Episode:
    """One run, on a thread of its own."""

    def __init__(
        self,
        scenario: Scenario,
        place: str,
        law: type[AdmissionLaw],
        parameters: Mapping[str, object],
        interval_ps: int,
        seed: int,
    ) -> None:
        self.seen: Observation = {}
        self.ended = False
        self._to_law: SimpleQueue[Mapping[str, float] | None] = SimpleQueue()
        # True at the end of an interval, False at that of the run, or its error.
        self._from_law: SimpleQueue[bool | BaseException] = SimpleQueue()
        steered = _steered(law, interval_ps, self._turn)
        queue = {"python": {"class": steered, "parameters": parameters}}
        self._scenario, self._seed = scenario.override({place: queue}), seed
        self._watch: Any = None
        self._thread = threading.Thread(target=self._run, name="forebay-gym", daemon=True)
        _running.add(self)
        self._thread.start()

    def _run(self) -> None:
        last: bool | BaseException = False
        try:
            run_core(self._scenario, seed=self._seed, progress=self._go_on)
        except _EndedError:
            pass
        except DisciplineError as error:
            if not isinstance(error.__cause__, _EndedError):
                last = error
        except BaseException as error:
            # The waiting side gets any exception.
            last = error
        self._from_law.put(last)

    def _go_on(self, _fraction: float) -> None:
        """Stop the run if its episode is over. A law in a loop of its own is interrupted then."""
        if self.ended:
            raise _EndedError

    def _turn(self, watch: Any, *, whole: bool = True) -> None:
        """Show what was seen at the end of an interval, on the run's thread, and wait for the action."""
        self._watch = watch
        self.seen = watch.observation()
        if not whole:
            return
        self._from_law.put(True)
        action = self._to_law.get()
        if action is None:
            raise _EndedError
        for name, value in action.items():
            setattr(watch, name, value)

    def act(self, action: Mapping[str, float]) -> None:
        """Let the run continue with these values of the law's attributes."""
        self._to_law.put(action)

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
        self.seen = self._watch.observation() if self._watch is not None else dict.fromkeys(QUANTITIES, 0.0)

    def _next(self) -> bool | BaseException:
        while True:
            # Python checks for Ctrl-C between two waits, whatever thread the signal interrupts.
            with suppress(Empty):
                return self._from_law.get(timeout=_LISTEN_S)

    def end(self) -> None:
        """Stop the run and wait for its end."""
        if not self.ended:
            self.ended = True
            self._to_law.put(None)
        self._thread.join(_GRACE_S)


_running: WeakSet[_Episode] = WeakSet()
"""All episodes. Their runs must end before the interpreter does."""


@atexit.register
def _end_all() -> None:
    for episode in list(_running):
        episode.end()


def _steered(law: type[AdmissionLaw], interval_ps: int, turn: Callable[[Any], None]) -> type[AdmissionLaw]:
    """Return the law with counters for observations, which waits for actions."""
    methods = methods_of(law, law.__name__)
    admits = [OF_AN_ARRIVAL.index(name) for name in methods["admit"]]
    releases = [OF_A_DEPARTURE.index(name) for name in methods["release"]] if "release" in methods else None

    class Steered(law):  # type: ignore[valid-type, misc]
        """The law at one queue of one run."""

        compiled = False

        def __init__(self, **parameters: Any) -> None:
            super().__init__(**parameters)
            self._interval_end = interval_ps
            self._queue = (0, 0)
            self._arrivals: dict[int, int] = {}
            self._clear()

        def _clear(self) -> None:
            self._counts = dict.fromkeys(QUANTITIES[2:], 0.0)

        def _until(self, now: int) -> None:
            while now >= self._interval_end:
                turn(self)
                self._clear()
                self._interval_end += interval_ps

        def observation(self) -> Observation:
            counts = dict(self._counts)
            counts["wait_s"] /= max(1.0, counts["sent"])
            gauges = {name: float(getattr(self, name)) for name in law.gauges}
            return {"queue_packets": float(self._queue[0]), "queue_bytes": float(self._queue[1]), **counts, **gauges}

        def admit(
            self,
            now: int,
            packet: int,
            flow: int,
            length: int,
            ecn: int,
            traffic_class: int,
            input_port: int,
            queue_packets: int,
            queue_bytes: int,
        ) -> int:
            self._until(now)
            told = (now, queue_packets, queue_bytes, packet, flow, length, ecn, traffic_class, input_port)
            verdict: int = super().admit(*[told[index] for index in admits])
            self._counts["arrived"] += 1.0
            self._counts["marked"] += verdict > 1
            if verdict <= 0:
                self._counts["dropped"] += 1.0
            else:
                self._arrivals[packet] = now
                self._queue = (queue_packets + 1, queue_bytes + length)
            return verdict

        def release(self, now: int, packet: int, flow: int, length: int, queue_packets: int, queue_bytes: int) -> None:
            self._until(now)
            self._queue = (queue_packets, queue_bytes)
            self._counts["sent"] += 1.0
            self._counts["sent_bytes"] += length
            self._counts["wait_s"] += (now - self._arrivals.pop(packet)) * 1e-12
            if releases is not None:
                told = (now, queue_packets, queue_bytes, packet, flow, length)
                super().release(*[told[index] for index in releases])

    return Steered
