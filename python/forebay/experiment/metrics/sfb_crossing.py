"""`sfb_crossing`: from how many offenders on SFB is best with one level (SFB Figure 4)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from forebay.experiment.coordinates import Coordinates

from .formula import Formula
from .metric import MetricRuns
from .sfb_best_levels import best_levels


class SfbCrossing(Formula):
    """SFB Figure 4: the least number of offenders at which one level misclassifies least, as a share of the bins."""

    kind: Literal["sfb_crossing"]
    total_bins: int = Field(ge=1)

    def compute(self, _at: Coordinates, _runs: MetricRuns) -> float:
        """Return the share of the bins."""
        return single_level_from(self.total_bins) / self.total_bins


def single_level_from(total_bins: int) -> int:
    """Return the least number of offenders at which no other number of levels beats one level."""
    return next(offenders for offenders in range(1, 2 * total_bins) if best_levels(total_bins, offenders) == 1)
