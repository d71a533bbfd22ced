"""`spread`: how far a metric's means lie apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from forebay.experiment.coordinates import Coordinates

from .derived import Spanning, not_run_along
from .metric import MetricRuns, Value

if TYPE_CHECKING:
    from .metric import MetricRef


class SpreadMetric(Spanning):
    """The spread of a metric's means along the axis, or over `variants`: the largest against the smallest."""

    kind: Literal["spread"]
    of: MetricRef
    show: Literal["difference", "ratio"] = "difference"
    variants: list[str] | None = Field(None, min_length=2)
    """The variants compared; without it the values of the axis are."""
    xs: list[float] | None = Field(None, min_length=2)
    """The values of the axis that are compared, all of which must be run; by default those that are."""

    def unit_in(self, runs: MetricRuns) -> str:
        """Return the unit of the metric; none of a ratio."""
        return "" if self.show == "ratio" else super().unit_in(runs)

    def evaluate(self, at: Coordinates, runs: MetricRuns) -> list[Value]:
        """One value, labelled with the places of the largest and the smallest mean."""
        found = self.along(at, runs)
        if len(found) < len(self.xs or [at]):
            raise not_run_along(at, runs)
        means = [float(np.mean(samples)) for _, samples in found]
        (high, most), (low, least) = found[int(np.argmax(means))], found[int(np.argmin(means))]
        if self.show == "ratio":
            return [Value(f"{high} over {low}", most, least)]
        return [Value(f"{high} less {low}", most - least)]
