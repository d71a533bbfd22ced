"""`sfb_misclassification`: how often SFB takes a flow for an offender (SFB equation 1)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from forebay.experiment.coordinates import Coordinates

from .dbl_collision import collision_probability
from .formula import Formula, NumberRef
from .metric import MetricRuns


class SfbMisclassification(Formula):
    """SFB equation 1: [1 - (1 - 1/B)^M]^L, the probability that every bin of a flow holds an offender as well."""

    kind: Literal["sfb_misclassification"]
    levels: int = Field(ge=1)
    """L."""
    bins: int = Field(ge=1)
    """B, of each level."""
    offenders: NumberRef
    """M, non-responsive flows."""

    def compute(self, at: Coordinates, runs: MetricRuns) -> float:
        """Return the probability."""
        return misclassification_probability(self.levels, self.bins, round(runs.number(self.offenders, at)))


def misclassification_probability(levels: int, bins: int, offenders: int) -> float:
    """SFB equation 1: the probability that each of a flow's bins, one per level, is also that of an offender."""
    return collision_probability(bins, offenders) ** levels
