"""`series`: a value of a time series."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from .outcome_metric import OutcomeMetric
from .reduction import reduced, share_within
from .time_series import Component, check_component, series_of
from .unit import Unit, WithUnit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.runs.outcome import Outcome, Series

    from .metric import Samples


class SeriesMetric(OutcomeMetric, WithUnit):
    """One value of a time series, or of the series of all flows of a group."""

    kind: Literal["series"]
    of: Component
    quantity: str
    unit: Unit = ""
    name: str | None = None
    """The component; for a `queue_flow` with `group`, the queue."""
    group: str | None = None
    reduce: Literal["mean", "min", "max", "last", "first_time", "share"]
    """`first_time` is when the bound is first kept, `share` the part of the samples that keep it."""
    at_most: float | None = None
    """For `first_time` and `share`: the value is at or below this."""
    at_least: float | None = None
    """For `first_time` and `share`: the value is at or above this."""
    after_peak: bool = False
    """Look only from the largest value on."""
    from_s: float | None = None
    until_s: float | None = None
    every_s: float | None = Field(None, gt=0)
    """The interval from `from_s` to `until_s` comes again at this distance, `phases` times in all."""
    phases: int = Field(1, ge=1)
    across: Literal["mean", "min", "max", "sum", "jain"] = "mean"
    """How the values of a group's flows become one."""

    @model_validator(mode="after")
    def _threshold(self) -> Self:
        given = (self.at_most is not None) + (self.at_least is not None)
        if self.reduce in ("first_time", "share") and given != 1:
            message = f"`{self.reduce}` needs `at_most` or `at_least`"
            raise ValueError(message)
        if self.reduce not in ("first_time", "share") and given:
            message = "`at_most` and `at_least` belong to `first_time` and `share`"
            raise ValueError(message)
        check_component(self.name, self.group)
        if (self.every_s is None) != (self.phases == 1) or (self.every_s and None in (self.from_s, self.until_s)):
            message = "phases that come again need `from_s`, `until_s`, `every_s` and `phases`"
            raise ValueError(message)
        return self

    def of_outcome(self, outcome: Outcome) -> float:
        """Return the value of the series, or of those of a group's flows. Raises MetricError where the run has none."""
        series = series_of(outcome, self.of, self.quantity, name=self.name, group=self.group)
        values = [self._value(one) for one in series]
        return (values[0] if self.group is None else reduced(np.array(values), self.across)) * self.scale

    def _value(self, series: Series) -> float:
        times = series.times()
        inside = ~np.isnan(series.values) & self._in_phases(times)
        if self.after_peak and inside.any():
            peak = int(np.argmax(np.where(inside, series.values, -np.inf)))
            inside[:peak] = False
        values, times = series.values[inside], times[inside]
        if len(values) == 0:
            return math.nan
        if self.reduce == "last":
            return float(values[-1])
        if self.reduce == "share":
            return share_within(values, self.at_least, self.at_most)
        if self.reduce != "first_time":
            return reduced(values, self.reduce)
        # The schema allows `first_time` only with one of the two thresholds.
        reached = values <= self.at_most if self.at_most is not None else values >= (self.at_least or 0.0)
        return float(times[np.argmax(reached)]) if reached.any() else math.nan

    def _in_phases(self, times: Samples) -> NDArray[np.bool]:
        """Return which times are in the given interval, or in one of its repetitions."""
        inside = np.zeros(len(times), dtype=bool)
        for k in range(self.phases):
            later = k * (self.every_s or 0.0)
            begin = -math.inf if self.from_s is None else self.from_s + later
            end = math.inf if self.until_s is None else self.until_s + later
            inside |= (times >= begin) & (times < end)
        return inside
