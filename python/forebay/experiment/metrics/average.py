"""`average`: the mean of a metric over the axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from .derived import Curve
from .metric import Value

if TYPE_CHECKING:
    from forebay.experiment.plan import Coordinates
    from forebay.experiment.runs import Runs

    from . import MetricRef


class AverageMetric(Curve):
    """The mean of a metric over the values of the axis, each counting the same."""

    kind: Literal["average"]
    of: MetricRef

    def evaluate(self, at: Coordinates, runs: Runs) -> list[Value]:
        """One value: the mean over the axis for each seed."""
        _, curves = self.curves(at, runs)
        return [Value(at.variant, np.mean(curves, axis=0))]
