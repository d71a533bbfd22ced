"""The base of metrics that have a value in every single run."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from forebay.experiment.coordinates import Coordinates

from .metric import MetricRuns, Placed, Value

if TYPE_CHECKING:
    from forebay.runs.outcome import Outcome


class OutcomeMetric(Placed):
    """A metric that has a value in every single run, and so one for each seed."""

    @abstractmethod
    def of_outcome(self, outcome: Outcome) -> float:
        """Its value in one run, in its unit; NaN where there is none. It takes no experiment, `variant` or `x`.

        Raises MetricError where the run has no such row, column or series.
        """

    def evaluate(self, at: Coordinates, runs: MetricRuns) -> list[Value]:
        """One value: that of each seed's run."""
        return [Value(at.label(), np.array([self.of_outcome(outcome) for outcome in runs.outcomes_at(at)]))]
