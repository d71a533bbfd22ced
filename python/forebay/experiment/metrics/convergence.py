"""`convergence`: how long a series takes to settle."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from forebay.experiment.errors import MetricError

from .phase import Phase
from .reduction import reduced_if_all
from .time_series import phase_values

if TYPE_CHECKING:
    from forebay.runs.outcome import Outcome, Series

    from .metric import Samples


class ConvergenceMetric(Phase):
    """How long a series takes, from the start of a phase, to come into a band and stay there (E2CM slides).

    It is averaged over consecutive windows; the value is the time from the start of the phase to the first window that
    is in the band with all later ones of the phase. There is none (NaN) if the last window is outside.
    """

    kind: Literal["convergence"]
    average_s: float = Field(1e-3, gt=0)
    """Length of a window: a multiple of the series' interval. The slides' is 1 ms."""
    within: float | None = Field(None, gt=0)
    """Relative accuracy: the band reaches from (1 - `within`) to (1 + `within`) times the steady-state value."""
    around: float | None = None
    """With `within`: the value meant, in the series' own unit. By default the mean over the last part of the phase."""
    steady_share: float = Field(0.25, gt=0, le=1)
    """How much of the phase that last part is."""
    at_least: float | None = None
    """Absolute accuracy: the band's lower end, in the series' own unit."""
    at_most: float | None = None
    """Its upper end."""
    across: Literal["mean", "min", "max"] = "max"
    """How the times of a group's flows become one: by default that of the last."""
    every_s: float | None = Field(None, gt=0)
    """The phase comes again at this distance, `phases` times in all."""
    phases: int = Field(1, ge=1)
    reduce: Literal["mean", "median", "max"] = "median"
    """How the times of several phases become one."""

    @model_validator(mode="after")
    def _band(self) -> Self:
        absolute = self.at_least is not None or self.at_most is not None
        if absolute == (self.within is not None) or (self.around is not None and self.within is None):
            message = "a band is `within` a share (of `around`), or from `at_least` to `at_most`"
            raise ValueError(message)
        if (self.every_s is None) != (self.phases == 1) or (self.every_s and self.until_s is None):
            message = "phases that come again need `until_s`, `every_s` and `phases`"
            raise ValueError(message)
        return self

    def of_outcome(self, outcome: Outcome) -> float:
        """How long the series, or those of a group's flows, take to settle; NaN where one never does.

        Raises MetricError where the run has no such series, or is over before the phase.
        """
        times = np.array([self._settling_time(series) for series in self.series_in(outcome)])
        return reduced_if_all(times, self.across) * self.scale

    def _settling_time(self, series: Series) -> float:
        """Return the time in seconds, over several phases their `reduce`, without a phase that the run cuts off."""
        per_window = round(self.average_s / series.interval_s) if series.interval_s > 0.0 else 0
        if per_window == 0 or not math.isclose(per_window * series.interval_s, self.average_s, rel_tol=1e-6):
            message = f"`average_s` must be a multiple of the interval of the series, which is {series.interval_s:g} s"
            raise MetricError(message)
        ends_s = float(series.times()[-1]) if len(series.values) else 0.0
        found = []
        for k in range(self.phases):
            later = k * (self.every_s or 0.0)
            from_s = self.from_s + later
            until_s = ends_s if self.until_s is None else self.until_s + later
            if until_s > ends_s + 0.5 * series.interval_s:
                break
            values = phase_values(series, from_s, until_s)
            windows = values[: len(values) // per_window * per_window].reshape(-1, per_window).mean(axis=1)
            if len(windows):
                found.append(self.average_s * self._settled_from(windows))
        if not found:
            message = f"the run is over at {ends_s:g} s, before the phase"
            raise MetricError(message)
        return reduced_if_all(np.array(found), self.reduce)

    def _settled_from(self, windows: Samples) -> float:
        """Return the number of the first window that is in the band with all later ones; NaN if the last does not."""
        low = -math.inf if self.at_least is None else self.at_least
        high = math.inf if self.at_most is None else self.at_most
        if self.within is not None:
            steady = self.around
            if steady is None:
                steady = float(np.mean(windows[-max(1, round(self.steady_share * len(windows))) :]))
            low, high = steady * (1.0 - self.within), steady * (1.0 + self.within)
        outside = np.flatnonzero(~((windows >= low) & (windows <= high)))
        if len(outside) == 0:
            return 0.0
        first = int(outside[-1]) + 1
        return math.nan if first == len(windows) else float(first)
