"""An environment with one run, for libraries that train a single agent."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from forebay.errors import InputError

from .vector import Bounds, SteeredRuns


class SteeredRun(gymnasium.Env[NDArray[np.float64], NDArray[np.float64]]):
    """One run, whose observations are clipped to finite bounds."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as gymnasium declares it
    names: tuple[str, ...]
    """Names of the columns of an observation."""

    def __init__(self, one: SteeredRuns, known: Bounds, given: Bounds | None, render_mode: None) -> None:
        if render_mode is not None:
            message = f"render_mode: there is no {render_mode!r}, because nothing is drawn\nhint: leave it out"
            raise InputError(message)
        self._one = one
        self.names = one.names
        self.render_mode = None
        self.action_space = one.single_action_space
        bounds = {**known, **(given or {})}
        if strangers := [name for name in bounds if name not in self.names]:
            message = f"bounds: there is no column {strangers[0]}\nhint: the columns are {', '.join(self.names)}"
            raise InputError(message)
        self._low, self._high = np.array([bounds[name] for name in self.names], dtype=np.float64).T
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
        """Set the attributes and run one interval.

        Args:
            action: One value for each action.

        Returns:
            The observation, the reward, False (no episode is terminated), whether it was truncated, and no infos.

        Raises:
            InputError: Before `reset`, and after the end of the run.
            DisciplineError: If a law fails.
            ControllerError: If a congestion controller fails.

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
