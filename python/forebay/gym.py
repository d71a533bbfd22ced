"""Environments for those who train queue management: one scenario, its queue steered from outside, step by step.

Needs the extra `forebay[gym]`. Each environment runs the scenario on a thread of its own, whose queue stops at the end
of each interval until the next action is there. So the simulation is the one that `forebay.run` runs, and whatever it
does, a step ends: with an observation, with the end of the run, or with its error.
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
"""What was seen at the queue, by the names in `QUANTITIES` and of the law's gauges."""

QUANTITIES = ("queue_packets", "queue_bytes", "arrived", "dropped", "marked", "sent", "sent_bytes", "wait_s")
"""The queue at the end of the interval, in packets and bytes; the packets that arrived, were dropped, marked and sent
in it; the bytes sent; and the mean wait of the packets sent, in seconds (0 where none was)."""


class MarkingProbability(AdmissionLaw):
    """Marks what can be marked, and drops the rest, with a probability that is set from outside."""

    def __init__(self, limit_packets: int = 1000) -> None:
        self.limit_packets = limit_packets
        self.probability = 0.0

    def admit(self, ecn: int, queue_packets: int) -> Verdict:
        """Drops what does not fit, then draws."""
        if queue_packets >= self.limit_packets:
            return Verdict.DROP_OVERFLOW
        if self.random() >= self.probability:
            return Verdict.ENQUEUE
        return Verdict.MARK_EARLY if ecn else Verdict.DROP_EARLY


class QueueEnv(gymnasium.vector.VectorEnv[NDArray[np.float64], NDArray[np.float64], NDArray[Any]]):
    """A vector of environments, each a run of the same scenario under a seed of its own.

    The law takes the place of the bottleneck's queue, or of that at the path `at`. Every `interval_s` seconds of
    simulated time a step ends. An action sets attributes of the law: `actions` has their names with the least and the
    greatest value. Observations are arrays of shape (num_envs, quantities), in the order of `names`: `QUANTITIES`, then
    the gauges of the law. `reward` makes the reward of a step from what was seen in it. The end of the run truncates an
    episode; the next step begins a new one (gymnasium's next-step autoreset).

        >>> import forebay as fb
        >>> link = {"rate": "10 Mbps", "delay": "5 ms"}
        >>> scenario = fb.Scenario(
        ...     duration="1 s",
        ...     topology={"star": {"access": {"rate": "100 Mbps", "delay": "1 ms"}, "bottleneck": link}},
        ...     flows=[{"name": "tcp", "transport": "tcp"}],
        ... )
        >>> env = QueueEnv(scenario, interval_s=0.1, reward=lambda seen: seen["sent_bytes"], num_envs=2)
        >>> seen, _ = env.reset(seed=1)
        >>> seen.shape
        (2, 8)
        >>> env.close()

    Raises InputError for an interval, actions or a place that cannot be. `step` raises DisciplineError if the law does.
    """

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
            message = f"{place.path} stands for {len(place.links)} queues\nhint: name a single one with `at`"
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
        """Ends all runs and begins new ones, up to the end of their first interval.

        The seeds are `seed`, `seed` + 1 and so on, on through all later episodes; without one they go on from the last,
        at first from the scenario's. There are no `options`. Raises InputError for other seeds and for options.
        """
        if options:
            message = f"there are no options of a reset, and {', '.join(options)} was given"
            raise InputError(message)
        if seed is not None and not isinstance(seed, int):
            message = "seed: give one number, from which all environments count on"
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
        """Sets the law's attributes and runs one interval of each; where a run had ended, begins the next instead.

        Gives observations, rewards, which episodes were terminated (none ever is), which were truncated, and no infos.
        Raises InputError before the first reset.
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
        """Ends all runs."""
        for episode in self._episodes:
            episode.end()
        self._episodes = []

    def _begin(self) -> _Episode:
        seed, self._seed = self._seed, self._seed + 1
        return _Episode(self._scenario, self._place, self._law, self._parameters, self._interval_ps, seed)

    def _observations(self) -> NDArray[np.float64]:
        return np.array([[episode.seen[name] for name in self.names] for episode in self._episodes], dtype=np.float64)


_GRACE_S = 5.0
"""How long a run that is stopped is waited for; it ends within milliseconds of simulating."""


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
        """At the end of an interval, on the run's thread: shows what was seen, and waits for the action."""
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
        """Lets the run go on with these values of the law's attributes."""
        self._to_law.put(action)

    def wait(self) -> None:
        """Waits until the interval or the run has ended."""
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
        """Stops the run and waits for its end."""
        if not self.ended:
            self.ended = True
            self._to_law.put(None)
            # A law that is caught in a loop of its own is left behind.
            self._thread.join(_GRACE_S)


def _steered(law: type[AdmissionLaw], interval_ps: int, turn: Callable[[Any], None]) -> type[AdmissionLaw]:
    """The law, with books for observations, that takes turns with whoever steers it."""
    methods = methods_of(law, law.__name__)
    admits = [OF_AN_ARRIVAL.index(name) for name in methods["admit"]]
    releases = [OF_A_DEPARTURE.index(name) for name in methods["release"]] if "release" in methods else None

    class Steered(law):  # type: ignore[valid-type, misc]
        """At one queue of one run."""

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
