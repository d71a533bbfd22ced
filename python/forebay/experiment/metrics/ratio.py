"""`ratio`: a metric over another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from forebay.experiment.coordinates import Coordinates

from .derived import Derived
from .metric import MetricRuns, Parts, Value

if TYPE_CHECKING:
    from .metric import MetricRef


class RatioMetric(Derived):
    """A metric divided by another (or by the same one in another variant): the ratio of the means over seeds."""

    kind: Literal["ratio"]
    of: MetricRef
    over: MetricRef | None = None
    over_variant: str | None = None

    def parts(self) -> Parts:
        """Both metrics, and the variants named."""
        return super().parts().beside(self.over, self.over_variant)

    def unit_in(self, _runs: MetricRuns) -> str:
        """None: it is a ratio."""
        return ""

    def evaluate(self, at: Coordinates, runs: MetricRuns) -> list[Value]:
        """Both for each seed."""
        of = runs.evaluate_one(self.of, at)
        over = runs.evaluate_one(self.over or self.of, replace(at, variant=self.over_variant or at.variant))
        return [Value(at.label(), of.samples, over.samples)]
