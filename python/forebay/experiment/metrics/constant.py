"""`constant`: a number that is given."""

from __future__ import annotations

from typing import Literal

from forebay.experiment.coordinates import Coordinates

from .formula import Formula, NumberRef
from .metric import MetricRuns


class ConstantMetric(Formula):
    """A number, for comparison with measured ones."""

    kind: Literal["constant"]
    value: NumberRef

    @property
    def scale(self) -> float:
        """The value is in its unit already."""
        return 1.0

    def compute(self, at: Coordinates, runs: MetricRuns) -> float:
        """Return the number."""
        return runs.number(self.value, at)
