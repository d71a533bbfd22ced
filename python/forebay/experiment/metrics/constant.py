"""`constant`: a number that is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .formula import Formula, NumberRef

if TYPE_CHECKING:
    from forebay.experiment.plan import Coordinates
    from forebay.experiment.runs import Runs


class ConstantMetric(Formula):
    """A number, for comparison with measured ones."""

    kind: Literal["constant"]
    value: NumberRef

    @property
    def scale(self) -> float:
        """The value is in its unit already."""
        return 1.0

    def compute(self, at: Coordinates, runs: Runs) -> float:
        """Return the number."""
        return runs.number(self.value, at)
