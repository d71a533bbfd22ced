"""What a time series does in a phase of a run: how long it takes to settle, and how fast it grows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from forebay.runs.outcome import Series

    from .metrics import ConvergenceMetric, EFoldingMetric

    Samples = NDArray[np.float64]


def phase_values(series: Series, from_s: float, until_s: float | None) -> Samples:
    """The values of the intervals that lie in the phase. The time of a value is the end of its interval."""
    # Half an interval of slack keeps rounding of the sampling times from moving a value out of its phase.
    slack = 0.5 * series.interval_s
    ends = series.times()
    inside = ends - series.interval_s >= from_s - slack
    if until_s is not None:
        inside &= ends <= until_s + slack
    return series.values[inside]


def convergence_time(metric: ConvergenceMetric, series: Series) -> float:
    """How long the series takes to settle, in seconds: over several phases their `reduce`. NaN where it does not.

    A phase that the run is too short for has no part in it. Raises KeyError with a message if no phase fits, or the
    windows do not consist of intervals of the series.
    """
    per_window = round(metric.average_s / series.interval_s) if series.interval_s > 0.0 else 0
    if per_window == 0 or not math.isclose(per_window * series.interval_s, metric.average_s, rel_tol=1e-6):
        message = f"`average_s` must be a multiple of the interval of the series, which is {series.interval_s:g} s"
        raise KeyError(message)
    ends_s = float(series.times()[-1]) if len(series.values) else 0.0
    found = []
    for k in range(metric.phases):
        later = k * (metric.every_s or 0.0)
        from_s = metric.from_s + later
        until_s = ends_s if metric.until_s is None else metric.until_s + later
        if until_s > ends_s + 0.5 * series.interval_s:
            break
        values = phase_values(series, from_s, until_s)
        windows = values[: len(values) // per_window * per_window].reshape(-1, per_window).mean(axis=1)
        if len(windows):
            found.append(metric.average_s * _settled_from(metric, windows))
    if not found:
        message = f"the run is over at {ends_s:g} s, before the phase"
        raise KeyError(message)
    match metric.reduce:
        case "mean":
            return float(np.mean(found))
        case "median":
            return float(np.median(found))
        case "max":
            return float(np.max(found))


def _settled_from(metric: ConvergenceMetric, windows: Samples) -> float:
    """The number of the first window that lies in the band with all later ones; NaN if the last does not."""
    low = -math.inf if metric.at_least is None else metric.at_least
    high = math.inf if metric.at_most is None else metric.at_most
    if metric.within is not None:
        steady = metric.around
        if steady is None:
            steady = float(np.mean(windows[-max(1, round(metric.steady_share * len(windows))) :]))
        low, high = steady * (1.0 - metric.within), steady * (1.0 + metric.within)
    outside = np.flatnonzero(~((windows >= low) & (windows <= high)))
    if len(outside) == 0:
        return 0.0
    first = int(outside[-1]) + 1
    return math.nan if first == len(windows) else float(first)


def e_folding_time(metric: EFoldingMetric, parts: Sequence[Series]) -> float:
    """The time in which the sum of the series becomes e times as large, in seconds; NaN without growth."""
    total = np.sum([phase_values(series, metric.from_s, metric.until_s) for series in parts], axis=0)
    above = np.flatnonzero(total > metric.at_most)
    if len(above):
        total = total[: above[0]]
    fitted = np.flatnonzero(total >= metric.at_least)
    if len(fitted) < 3:
        return math.nan
    slope = np.polynomial.Polynomial.fit(fitted * parts[0].interval_s, np.log(total[fitted]), 1).convert().coef[1]
    return float(1.0 / slope) if slope > 0.0 else math.nan
