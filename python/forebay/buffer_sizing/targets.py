"""The targets of a buffer, and when a measurement shows that they are reached."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from forebay.display.quantity import scale
from forebay.display.texts import seconds
from forebay.errors import InputError
from forebay.runs.statistics import estimate_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .measure import Run


class Verdict(StrEnum):
    """Whether a size reaches a target."""

    REACHED = "reached"
    """The whole 95 % confidence interval is on the right side of the target."""
    FAILED = "failed"
    """The whole interval is on the wrong side."""
    UNDECIDED = "undecided"
    """The target is within the interval after the permitted number of seeds."""


@dataclass(frozen=True)
class Metric:
    """A quantity that a target is set for."""

    name: str
    """Name of the quantity and of its column: `utilization`, `delay_p99_s`."""
    title: str
    """Name for people: "link utilisation", "delay p99"."""
    at_least: bool
    """Whether the target is a lower bound; otherwise it is an upper bound."""
    more_buffer_helps: bool
    """Whether a larger buffer is expected to bring the quantity nearer to its target."""


UTILIZATION = Metric("utilization", "link utilisation", at_least=True, more_buffer_helps=True)
DROP_RATE = Metric("drop_rate", "drop rate", at_least=False, more_buffer_helps=True)
DELAYS = tuple(
    Metric(f"delay_{quantile}_s", f"delay {quantile}", at_least=False, more_buffer_helps=False)
    for quantile in ("p50", "p95", "p99")
)
METRICS = {metric.name: metric for metric in (UTILIZATION, DROP_RATE, *DELAYS)}
"""By name. Delays are one-way from source to sink, propagation included, as in a run's table of flows."""


@dataclass(frozen=True)
class Interval:
    """A mean over seeds with its 95 % confidence interval. With fewer than two values, the interval has no bounds."""

    mean: float
    """The mean; NaN if no run has a value."""
    ci95: float | None
    """Half the width of Student's interval; None with fewer than two values."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""


@dataclass(frozen=True)
class Target:
    """A metric and its bound."""

    metric: Metric
    """The metric."""
    value: float
    """The bound: a share, or seconds."""

    def judge(self, interval: Interval) -> Verdict:
        """Compare the target with a measurement."""
        if self.metric.at_least:
            reached, failed = interval.low >= self.value, interval.high < self.value
        else:
            reached, failed = interval.high <= self.value, interval.low > self.value
        return Verdict.REACHED if reached else Verdict.FAILED if failed else Verdict.UNDECIDED

    @property
    def text(self) -> str:
        """The target in words: "link utilisation of at least 80 %", "delay p99 of at most 5 ms"."""
        bound = "at least" if self.metric.at_least else "at most"
        return f"{self.metric.title} of {bound} {value_text(self.metric.name, self.value)}"


def value_text(metric: str, value: float) -> str:
    """Return a value of a metric with its unit: "80 %", "5 ms"."""
    if not math.isfinite(value):
        return "unknown"
    if metric.endswith("_s"):
        unit = scale(metric, value)
        return f"{unit.text(value)} {unit.unit}"
    return f"{100 * value:.4g} %"


def interval_of(metric: str, runs: Sequence[Run]) -> Interval:
    """Return the mean of a metric over runs with its interval."""
    values = np.array([value for run in runs if math.isfinite(value := run.values[metric])])
    if values.size < 2:
        mean = float(values[0]) if values.size else math.nan
        return Interval(mean, None, -math.inf, math.inf)
    estimate = estimate_mean(values)
    half = estimate.ci95 or 0.0
    high = estimate.mean + half
    if metric == DROP_RATE.name and estimate.mean == 0.0:
        # No drop among n packets bounds the rate by 3/n with a confidence of 95 % (the rule of three): Student's
        # interval of equal samples has no width, however few packets there were.
        arrived = sum(run.packets_arrived for run in runs)
        high = 3.0 / arrived if arrived else math.inf
    return Interval(estimate.mean, estimate.ci95, estimate.mean - half, high)


def targets_of(
    utilization: float | None, drop_rate: float | None, delays: Mapping[str, str | float | None]
) -> tuple[Target, ...]:
    """Return the targets that were given, with `delays` by the name of their metric. Raises InputError."""
    targets = []
    if utilization is not None:
        if not 0.0 < utilization <= 1.0:
            hint = f"{utilization:g} % is {utilization / 100:g}" if 1.0 < utilization <= 100.0 else "try 0.8"
            message = f"target utilization: must be above 0 and at most 1, and is {utilization:g}\nhint: {hint}"
            raise InputError(message)
        targets.append(Target(UTILIZATION, utilization))
    if drop_rate is not None:
        if not 0.0 < drop_rate < 1.0:
            message = f"target drop rate: must be above 0 and below 1, and is {drop_rate:g}\nhint: 0.1 % is 0.001"
            raise InputError(message)
        targets.append(Target(DROP_RATE, drop_rate))
    for metric in DELAYS:
        given = delays.get(metric.name)
        if given is not None:
            targets.append(Target(metric, seconds(given, f"target {metric.title}")))
    if not targets:
        message = "there is no target\nhint: say what the buffer must reach, such as --target-utilization 0.8"
        raise InputError(message)
    return tuple(targets)
