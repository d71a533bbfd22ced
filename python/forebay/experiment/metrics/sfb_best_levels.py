"""`sfb_best_levels`: into how many levels SFB's bins are best cut (SFB Figure 4)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from forebay.experiment.coordinates import Coordinates

from .formula import Formula, NumberRef
from .metric import MetricRuns
from .sfb_misclassification import misclassification_probability


class SfbBestLevels(Formula):
    """SFB Figure 4: of all ways to cut the bins into equal levels, the number of levels that misclassifies least."""

    kind: Literal["sfb_best_levels"]
    total_bins: int = Field(ge=1)
    offenders: NumberRef

    def compute(self, at: Coordinates, runs: MetricRuns) -> float:
        """Return the number of levels."""
        return float(best_levels(self.total_bins, round(runs.number(self.offenders, at))))


def best_levels(total_bins: int, offenders: int) -> int:
    """Return the number of levels that misclassifies least; of equals the smallest."""
    return min(
        _level_counts(total_bins),
        key=lambda levels: misclassification_probability(levels, total_bins // levels, offenders),
    )


def _level_counts(total_bins: int) -> list[int]:
    """Return the ways to cut this many bins into equal levels of at least two bins."""
    return [levels for levels in range(1, total_bins // 2 + 1) if total_bins % levels == 0]
