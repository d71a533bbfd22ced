"""`recovery`: how flows fare once they are let go."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from forebay.experiment.coordinates import Coordinates

from .metric import MetricRuns, Value
from .outcome_metric import OutcomeMetric
from .time_series import find_series, window_mean

if TYPE_CHECKING:
    from forebay.runs.outcome import Outcome


class RecoveryMetric(OutcomeMetric):
    """How much better flows fare once a gauge lets them go.

    The run is cut into equal windows. Consider two windows where the gauge of a flow has a mean of at most `at_most` in
    the first and more in the second. Its mean goodput in the second counts above the line and that in the first below
    it.
    """

    kind: Literal["recovery"]
    group: str
    queue: str
    gauge: str
    at_most: float
    first_s: float
    """Start of the first window."""
    window_s: float = Field(gt=0)
    count: int = Field(ge=2)
    settle_s: float = 0.0
    """The excluded time at the start of each window."""

    def evaluate(self, at: Coordinates, runs: MetricRuns) -> list[Value]:
        """Return the ratio of the means over seeds."""
        return [self._ratio(at.label(), runs.outcomes_at(at))]

    def of_outcome(self, outcome: Outcome) -> float:
        """Return the ratio in one run; NaN where no flow was let go. Raises MetricError where it has no such series."""
        return self._ratio("", [outcome]).estimate().mean

    def unit_in(self, _runs: MetricRuns) -> str:
        """None: it is a ratio."""
        return ""

    def _ratio(self, label: str, outcomes: list[Outcome]) -> Value:
        # A run in which no flow was let go says nothing.
        pairs = [pair for outcome in outcomes if (pair := self._goodput(outcome)) is not None]
        if not pairs:
            return Value(label, np.array([math.nan]))
        return Value(label, np.array([after for after, _ in pairs]), np.array([before for _, before in pairs]))

    def _goodput(self, outcome: Outcome) -> tuple[float, float] | None:
        """After and before, summed over the flows and windows in which the gauge let go; None if it never did."""
        edges = [self.first_s + k * self.window_s for k in range(self.count + 1)]
        windows = [(start_s + self.settle_s, end_s) for start_s, end_s in itertools.pairwise(edges)]
        after = before = 0.0
        found = False
        for flow in outcome.group(self.group):
            gauge = find_series(outcome, "queue_flow", f"{self.queue}/{flow}", self.gauge)
            goodput = find_series(outcome, "flow", flow, "goodput_bps")
            held = [window_mean(gauge, *window) <= self.at_most for window in windows]
            rates = [window_mean(goodput, *window) for window in windows]
            for k in range(self.count - 1):
                if held[k] and not held[k + 1]:
                    found = True
                    before += rates[k]
                    after += rates[k + 1]
        return (after, before) if found else None
