"""The figures of an experiment file: the data and the axes of each."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from forebay.fair_rates.ethernet import Fairness

from .metrics import MetricRef
from .metrics.time_series import Component
from .strict import Strict


class PaperData(Strict):
    """Points that the paper states in numbers, drawn with ours."""

    label: str
    x: list[float]
    y: list[float]

    @model_validator(mode="after")
    def _same_length(self) -> Self:
        if len(self.x) != len(self.y):
            message = f"`x` has {len(self.x)} values and `y` {len(self.y)}"
            raise ValueError(message)
        return self


class Line(Strict):
    """A metric over the axis, or over variants that differ in a number."""

    metric: MetricRef
    label: str
    variant: str | None = None
    variants: list[str] | None = Field(None, min_length=2)
    """The variants that are the line's points, in this order."""
    number: str | None = None
    """With `variants`: the number of theirs that is the x."""
    style: Literal["line", "dashed", "points"] = "line"

    @model_validator(mode="after")
    def _variants_have_a_number(self) -> Self:
        if (self.variants is None) != (self.number is None) or (self.variants and self.variant):
            message = "a line over `variants` needs their `number`, and no `variant`"
            raise ValueError(message)
        return self


class SeriesLine(Strict):
    """A time series of the first seed's run."""

    label: str
    of: Component
    name: str
    """A component, or with `group` the queue whose flows are drawn."""
    quantity: str
    group: str | None = None
    variant: str | None = None
    x: float | None = None
    style: Literal["line", "dashed", "points"] = "line"


class FairShareLine(Strict):
    """The fair rate of a flow in the course of the run, computed from the scenario; with `topology.ethernet`."""

    label: str
    flow: str
    fairness: Fairness = "max_min"
    variant: str | None = None
    x: float | None = None


class FlowValues(Strict):
    """One value of each flow of a group."""

    label: str
    group: str
    column: str = "goodput_bps"
    variant: str | None = None
    x: float | None = None


class Level(Strict):
    """A horizontal line."""

    label: str
    y: float


class Figure(Strict):
    """A figure in the paper's axes. Its kind decides which of `lines`, `series`, `table` and `flows` it draws.

    `fair_shares` have the time on their x axis, as `series` do.
    """

    file: str = Field(pattern=r"^[a-z0-9-]+$")
    title: str
    kind: Literal["lines", "series", "bars", "flows", "histogram"]
    """`flows` draws the value of each flow of the first seed's run, `histogram` how those of all seeds spread."""
    x_label: str = ""
    y_label: str
    x_scale: float = 1.0
    y_scale: float = 1.0
    x_range: list[float] | None = Field(None, min_length=2, max_length=2)
    y_range: list[float] | None = Field(None, min_length=2, max_length=2)
    x_log: bool = False
    y_log: bool = False
    lines: list[Line] = Field(default_factory=list)
    series: list[SeriesLine] = Field(default_factory=list)
    levels: list[Level] = Field(default_factory=list)
    fair_shares: list[FairShareLine] = Field(default_factory=list)
    table: str | None = None
    flows: list[FlowValues] = Field(default_factory=list)
    bin_width: float | None = Field(None, gt=0)
    """Of a histogram, on its x axis. Its `x_range` is cut into bins; values outside count in those at the ends."""
    paper: list[PaperData] = Field(default_factory=list)

    @model_validator(mode="after")
    def _kind_has_its_data(self) -> Self:
        data = {"lines": "lines", "series": "series", "bars": "table", "flows": "flows", "histogram": "flows"}
        needed = [data[self.kind], *(["bin_width", "x_range"] if self.kind == "histogram" else [])]
        for key in needed:
            if not getattr(self, key):
                message = f"a figure of kind `{self.kind}` needs `{key}`"
                raise ValueError(message)
        if self.fair_shares and self.kind != "series":
            message = "`fair_shares` belong to a figure of kind `series`"
            raise ValueError(message)
        return self
