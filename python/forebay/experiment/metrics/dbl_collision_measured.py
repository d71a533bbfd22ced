"""`dbl_collision_measured`: how often the flow table's own hash lets flows share an entry (DBL section 5)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from forebay import _core
from forebay.experiment.coordinates import Coordinates

from .dbl_collision import collision_probability
from .formula import Formula, NumberRef
from .metric import MetricRuns
from .trials import Shown, share_of_trials, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .trials import FiveTuples


class DblCollisionMeasured(Formula):
    """The same probability measured: the flow table's own hash over random five-tuples."""

    kind: Literal["dbl_collision_measured"]
    buckets: int = Field(ge=1)
    belligerents: NumberRef
    trials: int = Field(1_000_000, ge=1)
    quick_trials: int = Field(100_000, ge=1)
    seed: int = Field(1, ge=0)
    show: Shown = "share"
    """The share itself, or its distance from the formula in standard errors of the formula."""

    def compute(self, at: Coordinates, runs: MetricRuns) -> float:
        """Return the share of trials in which a flow collides, or its distance from the formula."""
        belligerents = round(runs.number(self.belligerents, at))
        trials = self.quick_trials if runs.quick else self.trials
        share = collision_share(self.buckets, belligerents, trials, self.seed)
        return shown(self.show, share, collision_probability(self.buckets, belligerents), trials)


# The same share is asked for by a claim, a table and a figure.
@cache
def collision_share(buckets: int, belligerents: int, trials: int, seed: int) -> float:
    """Return the share of trials in which a flow falls into the entry of one of `belligerents` others."""

    def collides(flows: FiveTuples, salt: int) -> NDArray[np.bool]:
        entries = _core.flow_table_entries(*flows, salt, buckets).reshape(-1, belligerents + 1)
        shared: NDArray[np.bool] = (entries[:, 1:] == entries[:, :1]).any(axis=1)
        return shared

    return share_of_trials(collides, belligerents, trials, seed)
