"""The base of metrics without runs."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from forebay.experiment.coordinates import Coordinates

from .metric import MetricRuns, Value
from .unit import Unit, WithUnit

NumberRef = float | str
"""A number, or the name of one: `x`, or a number of the variant."""


class Formula(WithUnit):
    """A metric without runs."""

    needs_runs: ClassVar[bool] = False

    unit: Unit = ""

    @abstractmethod
    def compute(self, at: Coordinates, runs: MetricRuns) -> float:
        """Return the result in bits/s, seconds, bytes, bits or as a share; `runs` has the numbers given by name."""

    def evaluate(self, at: Coordinates, runs: MetricRuns) -> list[Value]:
        """One value, the same for every seed."""
        return [Value(at.label(), np.array([self.compute(at, runs) * self.scale]))]
