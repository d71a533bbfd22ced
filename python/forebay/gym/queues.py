"""Environments for training queue management: a law written in Python takes the place of a queue."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

from forebay import _core
from forebay.comparison.contenders import find_place
from forebay.disciplines.classes import AdmissionLaw, Verdict
from forebay.disciplines.custom import OF_A_DEPARTURE, OF_AN_ARRIVAL, methods_of
from forebay.errors import InputError
from forebay.scenario import Scenario

from .episodes import Observation, Turn
from .single import SteeredRun
from .vector import Bounds, SteeredRuns, picoseconds

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


class QueueEnv(SteeredRuns):
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

    def __init__(
        self,
        scenario: Scenario,
        *,
        interval_s: float,
        reward: Callable[[Observation], float],
        num_envs: int = 1,
        law: type[AdmissionLaw] = MarkingProbability,
        parameters: Mapping[str, object] | None = None,
        actions: Bounds | None = None,
        at: str | None = None,
    ) -> None:
        interval_ps = picoseconds(interval_s)
        place = find_place(scenario, at)
        if len(place.links) != 1:
            message = f"{place.path} is the key of {len(place.links)} queues\nhint: choose a single one with `at`"
            raise InputError(message)
        given = dict(parameters or {})

        def overrides_for(turn: Turn) -> Mapping[str, object]:
            return {place.path: {"python": {"class": _steered(law, interval_ps, turn), "parameters": given}}}

        super().__init__(
            scenario,
            names=(*QUANTITIES, *law.gauges),
            reward=reward,
            num_envs=num_envs,
            actions=actions or {"probability": (0.0, 1.0)},
            overrides_for=overrides_for,
        )


class SingleQueueEnv(SteeredRun):
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
        actions: Bounds | None = None,
        at: str | None = None,
        bounds: Bounds | None = None,
        render_mode: None = None,
    ) -> None:
        if not isinstance(scenario, Scenario):
            scenario = Scenario.load(scenario)
        one = QueueEnv(
            scenario, interval_s=interval_s, reward=reward, law=law, parameters=parameters, actions=actions, at=at
        )
        super().__init__(one, _bounds(scenario, interval_s, law, parameters or {}, at), bounds, render_mode)


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


def _steered(law: type[AdmissionLaw], interval_ps: int, turn: Turn) -> type[AdmissionLaw]:
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
