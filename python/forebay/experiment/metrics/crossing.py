"""`crossing`: where on the axis a metric reaches a level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from forebay.experiment.coordinates import Coordinates
from forebay.runs.statistics import crossing

from .derived import Curve
from .formula import NumberRef
from .metric import MetricRuns, Value
from .unit import Unit

if TYPE_CHECKING:
    from .metric import MetricRef


class CrossingMetric(Curve):
    """The smallest value of the axis at which a metric reaches a level, interpolated linearly between the values run.

    For each seed, going up the axis: the first value run at which the metric is at least `at_least`, moved back along
    the straight line from the value before it. It is the axis's first value where the level is reached there already,
    and there is none (NaN) where the level is never reached.
    """

    kind: Literal["crossing"]
    of: MetricRef
    at_least: float
    times: NumberRef | None = None
    """Multiplies the result: a number, or the name of one of the variant's."""
    unit: Unit = ""
    """The axis's unit, times that of `times`."""

    def unit_in(self, _runs: MetricRuns) -> str:
        """Its `unit`."""
        return self.unit

    def evaluate(self, at: Coordinates, runs: MetricRuns) -> list[Value]:
        """One value: the place on the axis for each seed."""
        xs, curves = self.curves(at, runs)
        reached = [crossing(xs, curve, self.at_least) for curve in curves.T]
        factor = 1.0 if self.times is None else runs.number(self.times, at)
        return [Value(at.variant, np.array(reached) * factor)]
