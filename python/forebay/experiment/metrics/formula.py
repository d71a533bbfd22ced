"""The base of metrics without runs."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .metric import Value
from .unit import Unit, WithUnit

if TYPE_CHECKING:
    from forebay.experiment.plan import Coordinates
    from forebay.experiment.runs import Runs


NumberRef = float | str
"""A number, or the name of one: `x`, or a number of the variant."""


class Formula(WithUnit):
    """A metric without runs."""

    needs_runs: ClassVar[bool] = False

    unit: Unit = ""

    @abstractmethod
    def compute(self, at: Coordinates, runs: Runs) -> float:
        """Return the result in bits/s, seconds, bytes, bits or as a share; `runs` has the numbers given by name."""

    def evaluate(self, at: Coordinates, runs: Runs) -> list[Value]:
        """One value, the same for every seed."""
        return [Value(at.label(), np.array([self.compute(at, runs) * self.scale]))]
