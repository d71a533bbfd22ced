"""`dbl_collision`: how often a flow shares its entry of the flow table (DBL section 5)."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field

from forebay.experiment.coordinates import Coordinates

from .formula import Formula, NumberRef
from .metric import MetricRuns


class DblCollision(Formula):
    """DBL section 5: 1 - (1 - 1/b)^n, the probability that a flow shares the entry of one of n belligerent flows."""

    kind: Literal["dbl_collision"]
    buckets: int = Field(ge=1)
    belligerents: NumberRef

    def compute(self, at: Coordinates, runs: MetricRuns) -> float:
        """Return the probability."""
        return collision_probability(self.buckets, round(runs.number(self.belligerents, at)))


def collision_probability(buckets: int, belligerents: int) -> float:
    """DBL section 5: 1 - (1 - 1/b)^n, without the cancellation that the formula as written suffers for large b."""
    if buckets == 1:
        return float(belligerents > 0)
    return -math.expm1(belligerents * math.log1p(-1.0 / buckets))
