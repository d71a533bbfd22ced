"""`step`: how a metric changes along the axis or from variant to variant."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from forebay.experiment.coordinates import Coordinates

from .derived import Spanning
from .metric import MetricRuns, Value

if TYPE_CHECKING:
    from .metric import MetricRef


class StepMetric(Spanning):
    """By how much a metric changes from each value of the axis, or each of `variants`, to the next, in its unit."""

    kind: Literal["step"]
    of: MetricRef
    variants: list[str] | None = Field(None, min_length=2)
    """The order of variants to go along; without it the steps go along the axis."""
    xs: list[float] | None = Field(None, min_length=2)
    """The values of the axis to go along; by default all."""

    def evaluate(self, at: Coordinates, runs: MetricRuns) -> list[Value]:
        """One value for each step."""
        return [
            Value(f"{before} to {after}", after_samples - before_samples)
            for (before, before_samples), (after, after_samples) in itertools.pairwise(self.along(at, runs))
        ]
