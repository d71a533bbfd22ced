"""Means with confidence intervals, and the few other statistics that the papers' claims need."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy

if TYPE_CHECKING:
    from numpy.typing import NDArray

NORMAL_QUANTILE = 1.96
"""The limit of Student's t at 97.5 % for many samples."""

MOST_SAMPLES = 10_000
"""An advice to run more seeds than this helps no user."""


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds. `ci95` is the half-width of its 95 % confidence interval, None with fewer than two seeds."""

    mean: float
    ci95: float | None
    count: int = 1
    """How many samples it is the mean of."""

    def samples_to_tell(self, distance: float) -> int | None:
        """About how many samples would make the interval narrower than `distance`, with the scatter of those at hand.

        None where that many are no answer: with no scatter known, or at no distance at all.
        """
        if self.ci95 is None or distance <= 0.0 or not math.isfinite(self.ci95):
            return None
        deviation = self.ci95 * math.sqrt(self.count) / student_t_quantile(0.975, self.count - 1)
        count = max(2, math.ceil((NORMAL_QUANTILE * deviation / distance) ** 2))
        if count > MOST_SAMPLES:
            return None
        while student_t_quantile(0.975, count - 1) * deviation >= distance * math.sqrt(count):
            count += 1
        return count


def estimate_mean(samples: NDArray[np.float64]) -> Estimate:
    """Return the mean of independent samples with its Student-t interval."""
    count = len(samples)
    mean = float(np.mean(samples))
    if count < 2:
        return Estimate(mean, None, count)
    half_width = student_t_quantile(0.975, count - 1) * float(np.std(samples, ddof=1)) / math.sqrt(count)
    return Estimate(mean, half_width, count)


def estimate_ratio(numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> Estimate:
    """Return the ratio of two means; the interval is the usual first-order (delta) one for paired samples.

    A ratio of means, unlike a mean of ratios, stays finite when single runs have a zero denominator.
    """
    below = float(np.mean(denominator))
    above = float(np.mean(numerator))
    count = max(len(numerator), len(denominator))
    if below == 0.0:
        return Estimate(math.nan if above == 0.0 else math.copysign(math.inf, above), None, count)
    ratio = above / below
    residuals = (numerator - ratio * denominator) / below
    if count < 2:
        return Estimate(ratio, None, count)
    # The residuals' mean is zero by construction when both are paired; centring again covers a broadcast constant.
    spread = float(np.std(residuals, ddof=1)) / math.sqrt(count)
    return Estimate(ratio, student_t_quantile(0.975, count - 1) * spread, count)


def crossing(xs: NDArray[np.float64], ys: NDArray[np.float64], level: float) -> float:
    """Return the smallest x at which the straight lines through the points (`xs` ascending) reach `level` from below.

    The first x where its y reaches the level already; NaN where none does.
    """
    reached = np.flatnonzero(ys >= level)
    if len(reached) == 0:
        return math.nan
    after = int(reached[0])
    if after == 0:
        return float(xs[0])
    share = (level - ys[after - 1]) / (ys[after] - ys[after - 1])
    return float(xs[after - 1] + share * (xs[after] - xs[after - 1]))


def student_t_quantile(probability: float, degrees: float) -> float:
    """Return the value below which Student's t with that many degrees of freedom stays with `probability`."""
    # SciPy loads this part of itself at its first use, which takes longer than many a run.
    return float(scipy.special.stdtrit(degrees, probability))


def differ(one: Estimate, other: Estimate, tests: int = 1) -> bool | None:
    """Return whether two means over seeds differ significantly: Welch's t test at 5 %, shared among so many tests.

    None where one of them has no interval.
    """
    if one.ci95 is None or other.ci95 is None:
        return None
    variances = []
    for estimate, ci95 in ((one, one.ci95), (other, other.ci95)):
        variances.append((ci95 / student_t_quantile(0.975, estimate.count - 1)) ** 2)
    total = sum(variances)
    distance = abs(one.mean - other.mean)
    if total == 0.0:
        return distance > 0.0
    below = sum(part**2 / (estimate.count - 1) for part, estimate in zip(variances, (one, other), strict=True))
    return distance > student_t_quantile(1.0 - 0.025 / tests, total**2 / below) * math.sqrt(total)
