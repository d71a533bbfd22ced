"""`difference`: a metric less another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from forebay.experiment.coordinates import Coordinates

from .derived import Derived
from .metric import MetricRuns, Parts, Value

if TYPE_CHECKING:
    from .metric import MetricRef


class DifferenceMetric(Derived):
    """A metric less `factor` times another (or the same one in another variant), in the unit of the first."""

    kind: Literal["difference"]
    of: MetricRef
    minus: MetricRef | None = None
    minus_variant: str | None = None
    factor: float = 1.0

    def parts(self) -> Parts:
        """Both metrics, and the variants named."""
        return super().parts().beside(self.minus, self.minus_variant)

    def evaluate(self, at: Coordinates, runs: MetricRuns) -> list[Value]:
        """Return the difference for each seed."""
        of = runs.evaluate_one(self.of, at)
        minus = runs.evaluate_one(self.minus or self.of, replace(at, variant=self.minus_variant or at.variant))
        return [Value(at.label(), of.samples - self.factor * minus.samples)]
