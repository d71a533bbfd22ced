"""`windows`: a series that ought to go in steps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from forebay.experiment.coordinates import Coordinates

from .metric import MetricRuns, Value
from .outcome_metric import OutcomeMetric
from .time_series import Component, find_series, window_mean
from .unit import Unit, WithUnit

if TYPE_CHECKING:
    from forebay.runs.outcome import Outcome

    from .metric import Samples


class WindowsMetric(OutcomeMetric, WithUnit):
    """A staircase: the mean of a series in equal consecutive windows, less what is expected of each window."""

    kind: Literal["windows"]
    of: Component
    name: str
    quantity: str
    unit: Unit = ""
    first_s: float
    """Start of the first window."""
    step_s: float = Field(gt=0)
    count: int = Field(ge=1)
    settle_s: float = 0.0
    """The excluded time at the start of each window."""
    expected_first: float
    """Expected value in the first window, in `unit`."""
    expected_step: float
    """By how much the expected value changes from window to window, in `unit`."""

    def evaluate(self, at: Coordinates, runs: MetricRuns) -> list[Value]:
        """One value for each window."""
        differences = np.array([self._differences(outcome) for outcome in runs.outcomes_at(at)])
        return [
            Value(f"step {k + 1}, expected {expected:g}", differences[:, k])
            for k, expected in enumerate(self._expected())
        ]

    def of_outcome(self, outcome: Outcome) -> float:
        """Return the difference of the window farthest from what is expected of it; NaN where one has no value."""
        differences = self._differences(outcome)
        if np.isnan(differences).any():
            return math.nan
        return float(differences[np.argmax(np.abs(differences))])

    def _differences(self, outcome: Outcome) -> Samples:
        """Return each window's mean less the expected value. Raises MetricError if the run has no such series."""
        series = find_series(outcome, self.of, self.name, self.quantity)
        starts = [self.first_s + k * self.step_s for k in range(self.count)]
        means = [window_mean(series, start_s + self.settle_s, start_s + self.step_s) for start_s in starts]
        differences: Samples = np.array(means) * self.scale - np.array(self._expected())
        return differences

    def _expected(self) -> list[float]:
        return [self.expected_first + k * self.expected_step for k in range(self.count)]
