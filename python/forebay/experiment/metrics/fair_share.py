"""`fair_share`: the share in a fair network."""

from __future__ import annotations

from typing import Literal

import numpy as np

from forebay.experiment.coordinates import Coordinates
from forebay.experiment.errors import MetricError
from forebay.fair_rates.ethernet import EthernetLoad, Fairness

from .metric import MetricRuns, Placed, Value
from .names import matching
from .reduction import reduced
from .unit import Unit, WithUnit


class FairShareMetric(Placed, WithUnit):
    """The fair rate of flows at one time, computed from the scenario; only with `topology.ethernet`."""

    kind: Literal["fair_share"]
    fairness: Fairness = "max_min"
    name: str | None = None
    """The flow; a `*` in it matches any characters."""
    group: str | None = None
    """The flows of a group. Without it and `name`: all flows."""
    at_s: float = 0.0
    reduce: Literal["mean", "min", "max", "sum"] = "mean"
    unit: Unit = ""

    def evaluate(self, at: Coordinates, runs: MetricRuns) -> list[Value]:
        """One value, the same for every seed."""
        load = EthernetLoad.from_toml(runs.scenario_at(at))
        names = np.array([source.name for source in load.sources])
        rows = np.ones(len(names), dtype=bool)
        if self.name is not None:
            rows &= matching(names, self.name)
        if self.group is not None:
            rows &= np.array([source.group == self.group for source in load.sources])
        if not rows.any():
            message = f"no flow matches {self.name or self.group}"
            raise MetricError(message)
        rates = load.fair_shares_at(self.at_s, self.fairness)[rows]
        return [Value(at.label(), np.array([reduced(rates, self.reduce) * self.scale]))]
