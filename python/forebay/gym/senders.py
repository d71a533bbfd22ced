"""Environments for training congestion control: a controller written in Python takes the place of a flow's."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

from forebay.disciplines.controllers import CongestionController
from forebay.disciplines.custom import methods_of
from forebay.errors import InputError
from forebay.scenario import Scenario

from .episodes import Observation, Turn
from .single import SteeredRun
from .vector import Bounds, SteeredRuns, picoseconds

SENDER_QUANTITIES = (
    *("window", "in_flight", "acks", "delivered", "lost", "marked"),
    *("round_trip_mean_s", "round_trip_min_s", "delivery_rate"),
)
"""Names of the columns of a sender's observation. `window` and `in_flight` are segments at the last ACK of the
interval. `acks` counts ACKs in it, `marked` those that echo a mark; `delivered` and `lost` count segments.
`round_trip_mean_s` and `round_trip_min_s` are the mean and the shortest round trip in seconds, and `delivery_rate` is
the mean of the samples in segments per second; all three are 0 where there was no sample."""


class SteeredSender(CongestionController):
    """A controller whose window or pacing rate is set from outside. Its segments are paced.

    It does not answer losses, marks and timeouts: that is the agent's task. Actions may set `segments`, the window, and
    `pacing_rate_bps`.

    Args:
        segments: The window at the beginning.

    Example:
        >>> sender = fb.gym.SteeredSender()
        >>> sender.segments = 25.0
        >>> sender.on_ack()
        >>> sender.window
        25.0

    """

    needs = ("recovery",)
    pacing = True

    def __init__(self, segments: float = 10.0) -> None:
        self.segments = segments

    def on_ack(self) -> None:
        """Set the window."""
        self.window = self.segments

    def on_loss(self) -> None:
        """Leave the window to the agent."""

    def on_timeout(self) -> None:
        """Leave the window to the agent."""


class SenderEnv(SteeredRuns):
    """A vector of Gymnasium environments, each a run of the same scenario under a seed of its own.

    A controller written in Python takes the place of that of one TCP flow. A step ends with the first ACK that comes
    `interval_s` seconds of simulated time or more after the last step began. Observations are arrays of shape
    (`num_envs`, `len(names)`). The end of the run truncates an episode, and the next step begins a new one (Gymnasium's
    next-step autoreset). The same seed and the same actions give the same observations.

    Args:
        scenario: The scenario.
        interval_s: The length of a step in seconds of simulated time.
        reward: A function that makes the reward of a step from its observation, a dictionary by `names`.
        num_envs: The number of environments.
        flow: The name of the group with the flow. Default: that of the only TCP flow.
        controller: The controller. The environment adds `"round_trips"` and `"delivery"` to its `needs`.
        parameters: Keyword arguments of the controller's constructor.
        actions: Names of attributes of the controller that an action sets, each with its least and greatest value.
            Default: `{"segments": (1.0, 1000.0)}`.

    Raises:
        InputError: If the interval, the actions or the flow cannot be used. `step` raises ControllerError if the
            controller fails, and if the flow has several senders.

    Example:
        >>> scenario = fb.Scenario.load("examples/first.toml", {"flows.tcp.count": 1})
        >>> env = fb.gym.SenderEnv(
        ...     scenario, interval_s=0.1, reward=lambda seen: seen["delivered"], num_envs=2
        ... )
        >>> seen, _ = env.reset(seed=1)
        >>> seen.shape
        (2, 9)
        >>> env.close()

    """

    names: tuple[str, ...]
    """Names of the columns of an observation: `SENDER_QUANTITIES`."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        interval_s: float,
        reward: Callable[[Observation], float],
        num_envs: int = 1,
        flow: str | None = None,
        controller: type[CongestionController] = SteeredSender,
        parameters: Mapping[str, object] | None = None,
        actions: Bounds | None = None,
    ) -> None:
        interval_ps = picoseconds(interval_s)
        group = _group_of(scenario, flow)
        given = dict(parameters or {})

        def overrides_for(turn: Turn) -> Mapping[str, object]:
            steered = {"python": {"class": _steered(controller, interval_ps, turn), "parameters": given}}
            tcp = {**_tcp_of(group), "congestion_control": steered}
            return {f"flows.{group['name']}.transport": {"tcp": tcp}}

        super().__init__(
            scenario,
            names=SENDER_QUANTITIES,
            reward=reward,
            num_envs=num_envs,
            actions=actions or {"segments": (1.0, 1000.0)},
            overrides_for=overrides_for,
        )


class SingleSenderEnv(SteeredRun):
    """A Gymnasium environment with one run, for libraries that train a single agent.

    It is registered as `forebay/Sender-v0`. It differs from a `SenderEnv` with one run in three ways: arrays have no
    dimension for the environments; an episode that was truncated needs a `reset`; and the observation space is bounded.
    Values outside the bounds are clipped.

    Args:
        scenario: The scenario, or the path of a scenario file.
        interval_s: The length of a step in seconds of simulated time.
        reward: A function that makes the reward of a step from its observation, a dictionary by `names`, not clipped.
        flow: The name of the group with the flow. Default: that of the only TCP flow.
        controller: The controller.
        parameters: Keyword arguments of the controller's constructor.
        actions: Names of attributes of the controller that an action sets, each with its least and greatest value.
            Default: `{"segments": (1.0, 1000.0)}`.
        bounds: The least and greatest value of a column, by its name. Default for round trips: the duration; for
            others a million.

    Raises:
        InputError: If the interval, the actions, the bounds or the flow cannot be used. `step` raises ControllerError
            if the controller fails, and if the flow has several senders.

    Example:
        >>> import gymnasium
        >>> env = gymnasium.make(
        ...     "forebay.gym:forebay/Sender-v0",
        ...     scenario=fb.Scenario.load("examples/first.toml", {"flows.tcp.count": 1}),
        ...     interval_s=0.1,
        ...     reward=lambda seen: seen["delivered"],
        ... )
        >>> seen, _ = env.reset(seed=1)
        >>> seen.shape
        (9,)
        >>> env.close()

    """

    names: tuple[str, ...]
    """Names of the columns of an observation: `SENDER_QUANTITIES`."""

    def __init__(
        self,
        scenario: Scenario | str | PathLike[str],
        *,
        interval_s: float,
        reward: Callable[[Observation], float],
        flow: str | None = None,
        controller: type[CongestionController] = SteeredSender,
        parameters: Mapping[str, object] | None = None,
        actions: Bounds | None = None,
        bounds: Bounds | None = None,
        render_mode: None = None,
    ) -> None:
        if not isinstance(scenario, Scenario):
            scenario = Scenario.load(scenario)
        one = SenderEnv(
            scenario,
            interval_s=interval_s,
            reward=reward,
            flow=flow,
            controller=controller,
            parameters=parameters,
            actions=actions,
        )
        round_trips = dict.fromkeys(("round_trip_mean_s", "round_trip_min_s"), (0.0, scenario.duration_s))
        super().__init__(one, dict.fromkeys(SENDER_QUANTITIES, (0.0, 1e6)) | round_trips, bounds, render_mode)


def _group_of(scenario: Scenario, flow: str | None) -> Mapping[str, Any]:
    """Return the group with the flow that is steered. Raises InputError unless it is a single TCP flow."""
    groups: list[Mapping[str, Any]] = [group for group in tomllib.loads(scenario.to_toml())["flows"] if _is_tcp(group)]
    found = [group for group in groups if flow in (None, group["name"])]
    if len(found) != 1:
        names = ", ".join(group["name"] for group in groups) or "none"
        problem = f"there is no group {flow} of TCP flows" if flow else "there is not exactly one group of TCP flows"
        message = f"flow: {problem}\nhint: choose one of them with `flow`: {names}"
        raise InputError(message)
    if (count := found[0].get("count", 1)) != 1:
        message = f"flow: {found[0]['name']} has {count} flows, and an agent steers one"
        raise InputError(f"{message}\nhint: give that flow a group of its own")
    return found[0]


def _is_tcp(group: Mapping[str, Any]) -> bool:
    return group["transport"] == "tcp" or "tcp" in group["transport"]


def _tcp_of(group: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of `transport.tcp`; the bare name has none."""
    transport = group["transport"]
    return {} if isinstance(transport, str) else dict(transport["tcp"])


_COUNTED = ("now", "newly_delivered", "echoes_mark", "round_trip_s", "newly_lost", "in_flight", "delivery_rate")


def _steered(controller: type[CongestionController], interval_ps: int, turn: Turn) -> type[CongestionController]:
    """Return the controller with counters for observations, which waits for actions."""
    asked = methods_of(controller, controller.__name__)["on_ack"]
    names = tuple(dict.fromkeys((*_COUNTED, *asked)))
    made: list[object] = []

    class Steered(controller):  # type: ignore[valid-type, misc]
        """The controller at one connection of one run."""

        needs = tuple(dict.fromkeys((*controller.needs, "round_trips", "delivery")))

        def __init__(self, **parameters: Any) -> None:
            made.append(self)
            if len(made) > 1:
                message = f"{self.flow} has several senders, and an agent steers one"
                raise InputError(message)
            super().__init__(**parameters)
            self._interval_end = interval_ps
            self._in_flight = 0
            self._clear()

        def _clear(self) -> None:
            self._counts = dict.fromkeys(("acks", "delivered", "lost", "marked"), 0.0)
            self._round_trips: list[float] = []
            self._rates: list[float] = []

        def observation(self) -> Observation:
            return {
                "window": self.window,
                "in_flight": float(self._in_flight),
                **self._counts,
                "round_trip_mean_s": _mean(self._round_trips),
                "round_trip_min_s": min(self._round_trips, default=0.0),
                "delivery_rate": _mean(self._rates),
            }

        def on_ack(self, *told: Any) -> None:
            seen = dict(zip(names, told, strict=True))
            while seen["now"] >= self._interval_end:
                turn(self)
                self._clear()
                self._interval_end += interval_ps
            self._in_flight = seen["in_flight"]
            self._counts["acks"] += 1.0
            self._counts["delivered"] += seen["newly_delivered"]
            self._counts["lost"] += seen["newly_lost"]
            self._counts["marked"] += seen["echoes_mark"]
            if seen["round_trip_s"] is not None:
                self._round_trips.append(seen["round_trip_s"])
            if seen["delivery_rate"] is not None:
                self._rates.append(seen["delivery_rate"])
            super().on_ack(*[seen[name] for name in asked])

    taken = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(name, taken) for name in ("self", *names)])
    Steered.on_ack.__signature__ = signature  # type: ignore[attr-defined]
    return Steered


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
