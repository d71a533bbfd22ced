"""`e_folding`: how fast a series grows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from .phase import Phase
from .time_series import phase_values

if TYPE_CHECKING:
    from forebay.runs.outcome import Outcome


class EFoldingMetric(Phase):
    """The time in which a series that grows exponentially becomes e times as large; those of a group are added up.

    The slope of a straight line through the logarithms, by least squares, over the values of at least `at_least` from
    the start of the phase until the first above `at_most`. There is none (NaN) with less than three, or without growth.
    """

    kind: Literal["e_folding"]
    at_least: float = Field(gt=0)
    """In the series' own unit."""
    at_most: float
    """In the series' own unit."""

    def of_outcome(self, outcome: Outcome) -> float:
        """Return the time; NaN without growth. Raises MetricError where the run has no such series."""
        parts = self.series_in(outcome)
        total = np.sum([phase_values(series, self.from_s, self.until_s) for series in parts], axis=0)
        above = np.flatnonzero(total > self.at_most)
        if len(above):
            total = total[: above[0]]
        fitted = np.flatnonzero(total >= self.at_least)
        if len(fitted) < 3:
            return math.nan
        slope = np.polynomial.Polynomial.fit(fitted * parts[0].interval_s, np.log(total[fitted]), 1).convert().coef[1]
        return float(1.0 / slope) * self.scale if slope > 0.0 else math.nan
