"""A vector of environments, each a run of the same scenario, in which an agent steers an object of each run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from forebay.errors import InputError
from forebay.scenario import Scenario

from .episodes import Episode, Observation, Turn

Bounds = Mapping[str, tuple[float, float]]
"""The least and greatest value of each name."""


class SteeredRuns(gymnasium.vector.VectorEnv[NDArray[np.float64], NDArray[np.float64], NDArray[Any]]):
    """A vector of runs. `overrides_for` puts the object that an agent steers into the scenario."""

    names: tuple[str, ...]
    """Names of the columns of an observation."""
    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 - as gymnasium declares it

    def __init__(
        self,
        scenario: Scenario,
        *,
        names: tuple[str, ...],
        reward: Callable[[Observation], float],
        num_envs: int,
        actions: Bounds,
        overrides_for: Callable[[Turn], Mapping[str, object]],
    ) -> None:
        if num_envs < 1:
            message = f"num_envs: must be an integer of at least 1, and is {num_envs!r}\nhint: leave it out for one"
            raise InputError(message)
        self._actions = dict(actions)
        for name, (least, greatest) in self._actions.items():
            if not (math.isfinite(least) and math.isfinite(greatest) and least <= greatest):
                message = f"actions: {name}: {least} to {greatest} is no range\nhint: give two finite numbers in order"
                raise InputError(message)
        self.names = names
        self.num_envs = num_envs
        self._scenario, self._overrides_for, self._reward = scenario, overrides_for, reward
        bounds = np.array(list(self._actions.values()), dtype=np.float64).T
        self.single_action_space = gymnasium.spaces.Box(bounds[0], bounds[1], dtype=np.float64)
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (len(self.names),), dtype=np.float64)
        batch = gymnasium.vector.utils.batch_space
        self.action_space = batch(self.single_action_space, num_envs)
        self.observation_space = batch(self.single_observation_space, num_envs)
        self._episodes: list[Episode] = []
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
        """Set the attributes and run one interval of each environment; begin a new run where one had ended.

        Args:
            actions: An array of shape (`num_envs`, number of actions).

        Returns:
            Observations, rewards, which episodes were terminated (none ever is), which were truncated, and no infos.

        Raises:
            InputError: Before the first `reset`.
            DisciplineError: If a law fails.
            ControllerError: If a congestion controller fails.

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

    def _begin(self) -> Episode:
        seed, self._seed = self._seed, self._seed + 1
        return Episode(self._scenario, self._overrides_for, self.names, seed)

    def _observations(self) -> NDArray[np.float64]:
        return np.array([[episode.seen[name] for name in self.names] for episode in self._episodes], dtype=np.float64)


def picoseconds(interval_s: float) -> int:
    """Return the interval. Raises InputError unless it is finite and at least a picosecond."""
    number = float(interval_s)
    if math.isfinite(number) and (whole := round(number * 1e12)) >= 1:
        return whole
    message = f"interval_s: must be a finite number of seconds, at least 1e-12, and is {interval_s!r}"
    raise InputError(f"{message}\nhint: try interval_s=0.01")
