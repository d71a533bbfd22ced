"""`sfb_misclassification_measured`: how often SFB's own hashes take a flow for an offender (SFB equation 1)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from forebay import _core
from forebay.experiment.coordinates import Coordinates

from .formula import Formula, NumberRef
from .metric import MetricRuns
from .sfb_misclassification import misclassification_probability
from .trials import Shown, share_of_trials, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .trials import FiveTuples


class SfbMisclassificationMeasured(Formula):
    """The same probability measured: SFB's own hashes over random five-tuples."""

    kind: Literal["sfb_misclassification_measured"]
    levels: int = Field(ge=1)
    bins: int = Field(ge=1)
    offenders: NumberRef
    trials: int = Field(1_000_000, ge=1)
    quick_trials: int = Field(100_000, ge=1)
    seed: int = Field(1, ge=0)
    show: Shown = "share"
    """The share itself, or its distance from the formula in standard errors of the formula."""

    def compute(self, at: Coordinates, runs: MetricRuns) -> float:
        """Return the share of trials in which a flow is misclassified, or its distance from the formula."""
        offenders = round(runs.number(self.offenders, at))
        trials = self.quick_trials if runs.quick else self.trials
        share = misclassified_share(self.levels, self.bins, offenders, trials, self.seed)
        return shown(self.show, share, misclassification_probability(self.levels, self.bins, offenders), trials)


# The same share is asked for by a claim, a table and a figure.
@cache
def misclassified_share(levels: int, bins: int, offenders: int, trials: int, seed: int) -> float:
    """Return the share of trials in which each of a TCP flow's bins is also that of one of the offenders."""

    def misclassified(flows: FiveTuples, salt: int) -> NDArray[np.bool]:
        bin_of = _core.sfb_bins(*flows, salt, levels, bins).reshape(-1, offenders + 1, levels)
        polluted: NDArray[np.bool] = (bin_of[:, 1:] == bin_of[:, :1]).any(axis=1).all(axis=1)
        return polluted

    return share_of_trials(misclassified, offenders, trials, seed, hashes_a_flow=levels)
