"""Environments for training queue management: one scenario, whose queue is steered from outside, step by step.

Needs the extra `forebay[gym]`. Each environment runs the scenario on a thread of its own, whose queue stops at the end
of each interval until the next action is there. So the simulation is the one of `forebay.run`, and every step ends:
with an observation, with the end of the run, or with its error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode
except ModuleNotFoundError as absent:
    message = "forebay.gym needs Gymnasium, which is not installed\nhint: pip install 'forebay[gym]'"
    raise ModuleNotFoundError(message, name=absent.name) from absent

from .comparison.contenders import find_place
from .disciplines import AdmissionLaw, Verdict
from .errors import DisciplineError, InputError
from .guests import OF_A_DEPARTURE, OF_AN_ARRIVAL, methods_of
from .scenario import Scenario
from .simulate import run_core

Observation = dict[str, float]
"""Values seen at the queue in one interval, by the names in `QUANTITIES` and of the law's gauges."""

QUANTITIES = ("queue_packets", "queue_bytes", "arrived", "dropped", "marked", "sent", "sent_bytes", "wait_s")
"""Names of the first columns of an observation. `queue_packets` and `queue_bytes` are the queue at the end of the
interval; `arrived`, `dropped`, `marked` and `sent` count packets in it; `sent_bytes` are the bytes sent; `wait_s` is
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
        if not interval_s > 0.0 or num_envs < 1:
            message = "interval_s must be more than 0 and num_envs at least 1\nhint: try interval_s=0.01"
            raise InputError(message)
        place = find_place(scenario, at)
        if len(place.links) != 1:
            message = f"{place.path} is the key of {len(place.links)} queues\nhint: choose a single one with `at`"
            raise InputError(message)
        self.names = (*QUANTITIES, *law.gauges)
        self.num_envs = num_envs
        self._scenario, self._place, self._law = scenario, place.path, law
        self._parameters = dict(parameters or {})
        self._interval_ps = round(interval_s * 1e12)
        self._reward = reward
        self._actions = dict(actions or {"probability": (0.0, 1.0)})
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
        for episode in self._episodes:
            episode.wait()
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
        for episode in self._episodes:
            episode.wait()
        rewards = [0.0 if new else self._reward(it.seen) for new, it in zip(ended, self._episodes, strict=True)]
        truncated = np.array([episode.ended for episode in self._episodes])
        return self._observations(), np.array(rewards), np.zeros(self.num_envs, dtype=bool), truncated, {}

    def close_extras(self, **_: Any) -> None:
        """End all runs. `close` calls it."""
        for episode in self._episodes:
            episode.end()
        self._episodes = []

    def _begin(self) -> _Episode:
        seed, self._seed = self._seed, self._seed + 1
        return _Episode(self._scenario, self._place, self._law, self._parameters, self._interval_ps, seed)

    def _observations(self) -> NDArray[np.float64]:
        return np.array([[episode.seen[name] for name in self.names] for episode in self._episodes], dtype=np.float64)


_GRACE_S = 5.0
"""How long to wait for a run that is stopped. It ends within milliseconds of simulating."""


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
        self._thread.start()

    def _run(self) -> None:
        last: bool | BaseException = False
        try:
            run_core(self._scenario, seed=self._seed)
        except DisciplineError as error:
            if not isinstance(error.__cause__, _EndedError):
                last = error
        except BaseException as error:
            # Whoever waits is told, whatever it is.
            last = error
        self._from_law.put(last)

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
        told = self._from_law.get()
        if told is True:
            return
        self.ended = True
        self._thread.join()
        if isinstance(told, BaseException):
            raise told
        self.seen = self._watch.observation() if self._watch is not None else dict.fromkeys(QUANTITIES, 0.0)

    def end(self) -> None:
        """Stop the run and wait for its end."""
        if not self.ended:
            self.ended = True
            self._to_law.put(None)
            # A law that is caught in a loop of its own is left behind.
            self._thread.join(_GRACE_S)


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
