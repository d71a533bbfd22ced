"""The time series of a run, as metrics name them, and what they are in a part of the run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from forebay.experiment.errors import MetricError

if TYPE_CHECKING:
    from forebay.runs.outcome import Outcome, Series

    from .metric import Samples

Component = Literal["queue", "flow", "link", "sender", "queue_flow"]
"""The subject of a series."""


def check_component(name: str | None, group: str | None) -> None:
    """Raise ValueError where the keys of a metric say of no component that the series is its."""
    if name is None and group is None:
        message = "a series needs `name` or `group`"
        raise ValueError(message)


def find_series(outcome: Outcome, of: Component, name: str, quantity: str) -> Series:
    """Return the series of that component and quantity. Raises MetricError where there is none."""
    series = outcome.find_series(of, name, quantity)
    if series is None:
        there = sorted({f"{item.of} {item.name} {item.quantity}" for item in outcome.series})
        message = f"there is no series {of} {name} {quantity}; there are: {'; '.join(there) or 'none'}"
        raise MetricError(message)
    return series


def series_of(outcome: Outcome, of: Component, quantity: str, *, name: str | None, group: str | None) -> list[Series]:
    """Return the series of the component `name`, or of each flow of a group (of a `queue_flow`, `name` is the queue).

    Raises MetricError where there is none.
    """
    if group is None:
        return [find_series(outcome, of, name or "", quantity)]
    prefix = f"{name}/" if name else ""
    names = [f"{prefix}{flow}" for flow in outcome.group(group)]
    if not names:
        message = f"there is no group `{group}`"
        raise MetricError(message)
    return [find_series(outcome, of, name, quantity) for name in names]


def window_mean(series: Series, from_s: float, until_s: float) -> float:
    """Return the mean of the values whose intervals are in [from, until); NaN where there is none."""
    # Half an interval of slack keeps rounding of the sampling times from moving a value out of its window.
    slack = 0.5 * series.interval_s
    times = series.times()
    inside = (times >= from_s - slack) & (times < until_s - slack)
    return float(np.mean(series.values[inside])) if inside.any() else math.nan


def phase_values(series: Series, from_s: float, until_s: float | None) -> Samples:
    """Return the values of the intervals in the phase. The time of a value is the end of its interval."""
    # Half an interval of slack keeps rounding of the sampling times from moving a value out of its phase.
    slack = 0.5 * series.interval_s
    ends = series.times()
    inside = ends - series.interval_s >= from_s - slack
    if until_s is not None:
        inside &= ends <= until_s + slack
    return series.values[inside]
