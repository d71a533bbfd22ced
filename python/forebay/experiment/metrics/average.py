"""`average`: the mean of a metric over the axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from forebay.experiment.coordinates import Coordinates

from .derived import Curve
from .metric import MetricRuns, Value

if TYPE_CHECKING:
    from .metric import MetricRef


class AverageMetric(Curve):
    """The mean of a metric over the values of the axis, each counting the same."""

    kind: Literal["average"]
    of: MetricRef

    def evaluate(self, at: Coordinates, runs: MetricRuns) -> list[Value]:
        """One value: the mean over the axis for each seed."""
        _, curves = self.curves(at, runs)
        return [Value(at.variant, np.mean(curves, axis=0))]
