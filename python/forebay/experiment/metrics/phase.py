"""The base of metrics that follow a series through a phase of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from pydantic import model_validator

from .outcome_metric import OutcomeMetric
from .time_series import Component, check_component, series_of
from .unit import Unit, WithUnit

if TYPE_CHECKING:
    from forebay.runs.outcome import Outcome, Series


class Phase(OutcomeMetric, WithUnit):
    """A metric that follows a series through a phase of the run."""

    of: Component
    quantity: str
    unit: Unit = ""
    name: str | None = None
    """The component; for a `queue_flow` with `group`, the queue."""
    group: str | None = None
    from_s: float = 0.0
    """Start of the phase."""
    until_s: float | None = None
    """Its end; by default that of the run."""

    @model_validator(mode="after")
    def _has_a_component(self) -> Self:
        check_component(self.name, self.group)
        return self

    def series_in(self, outcome: Outcome) -> list[Series]:
        """Return the series, or those of a group's flows. Raises MetricError where the run has none."""
        return series_of(outcome, self.of, self.quantity, name=self.name, group=self.group)
