"""The experiment file: a scenario, what varies, what is measured, and what the paper says about it.

An experiment is one TOML file and no code. Every key is declared here, unknown keys are errors, and references from one
part of the file to another (a variant, a named metric) are checked when the file is read.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from .figure_schema import Figure
from .metrics import Metric, MetricRef
from .strict import Strict

Settings = dict[str, Any]
"""Key path in the scenario -> the value put there. A table replaces the existing table."""


class Choice(Strict):
    """A parameter that the paper leaves open, the value taken, and why."""

    what: str
    value: str
    why: str


class Quick(Strict):
    """How `--quick` shortens the experiment."""

    seeds: int = Field(default=3, ge=1)
    set: Settings = Field(default_factory=dict)
    why: str = ""


class Variant(Strict):
    """One named way to run the scenario: usually one queue discipline."""

    name: str = Field(min_length=1)
    label: str = ""
    quick: bool = True
    """Whether `--quick` runs it."""
    x: list[float] | None = None
    """The values of the axis that it is run at; by default all."""
    keys: list[str] | None = None
    """The keys that the axis sets in this variant; by default the axis's own."""
    set: Settings = Field(default_factory=dict)
    numbers: dict[str, float] = Field(default_factory=dict)
    """Numbers of this variant that formulae may refer to by name."""
    not_judged: str = ""
    """Why it cannot run yet: "needs a queue that is not offered". It is never run, and its claims are not judged."""


class Point(Strict):
    """One value of what varies."""

    x: float
    value: Any = None
    """The value written to the axis's keys; by default `x` itself."""
    by_variant: dict[str, Any] = Field(default_factory=dict)
    """The value written to the axis's keys, if it differs from variant to variant."""
    set: Settings = Field(default_factory=dict)
    """Further settings that go with this value."""


class Axis(Strict):
    """The values that vary from run to run within each variant."""

    name: str
    keys: list[str] = Field(default_factory=list)
    points: list[Point] = Field(min_length=1)
    quick: list[float] | None = None
    """The values of x that `--quick` keeps."""

    @model_validator(mode="before")
    @classmethod
    def _values_are_points(cls, data: Any) -> Any:
        """`values = [1, 2]` is short for points whose value is x."""
        if isinstance(data, dict) and "values" in data:
            if "points" in data:
                message = "give `values` or `points`, not both"
                raise ValueError(message)
            data = dict(data)
            values = data.pop("values")
            if not isinstance(values, list):
                message = "`values` must be a list, such as [1, 2]"
                raise ValueError(message)
            data["points"] = [{"x": x, "value": x} for x in values]
        return data

    @model_validator(mode="after")
    def _quick_is_known(self) -> Self:
        known = [point.x for point in self.points]
        for x in self.quick or []:
            if x not in known:
                message = f"`quick` holds {x:g}, which is none of the axis's values"
                raise ValueError(message)
        return self


class Sensitivity(Strict):
    """A run of the whole experiment with one open choice changed. It is reported and never judged."""

    name: str
    set: Settings
    why: str
    seeds: int = Field(default=3, ge=1)
    x: list[float] | None = None
    """The values of the axis that it is run at; by default all."""
    variants: list[str] | None = Field(None, min_length=1)
    """The variants that it is run with; by default all."""


class Band(Strict):
    """Where a value must lie. `min` and `max` belong to the band, `above` and `below` do not."""

    min: float | None = None
    max: float | None = None
    above: float | None = None
    below: float | None = None
    equals: float | None = None

    @model_validator(mode="after")
    def _has_a_bound(self) -> Self:
        if not self.model_fields_set:
            message = "a band needs at least one of min, max, above, below, equals"
            raise ValueError(message)
        return self

    def margin(self, value: float) -> float:
        """How far inside the band `value` lies; negative outside. The worst of several values has the least."""
        margins = [value - bound for bound in (self.min, self.above) if bound is not None]
        margins += [bound - value for bound in (self.max, self.below) if bound is not None]
        if self.equals is not None:
            margins.append(-abs(value - self.equals))
        return min(margins)

    @property
    def width(self) -> float:
        """Distance between the edges; zero for `equals`, infinite for a band with one edge."""
        if self.equals is not None:
            return 0.0
        lower = [bound for bound in (self.min, self.above) if bound is not None]
        upper = [bound for bound in (self.max, self.below) if bound is not None]
        return min(upper) - max(lower) if lower and upper else math.inf

    def holds(self, value: float) -> bool:
        """Return whether `value` is in the band. NaN is in none."""
        return not math.isnan(value) and (
            (self.min is None or value >= self.min)
            and (self.max is None or value <= self.max)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
            and (self.equals is None or value == self.equals)
        )

    def text(self, unit: str = "") -> str:
        """Return the band in a few characters: "13 to 22 Mb/s", ">= 0.98"."""
        parts = []
        if self.min is not None and self.max is not None:
            parts.append(f"{self.min:g} to {self.max:g}")
        else:
            parts += [f">= {self.min:g}"] if self.min is not None else []
            parts += [f"<= {self.max:g}"] if self.max is not None else []
        parts += [f"> {self.above:g}"] if self.above is not None else []
        parts += [f"< {self.below:g}"] if self.below is not None else []
        parts += [f"= {self.equals:g}"] if self.equals is not None else []
        return " and ".join(parts) + (f" {unit}" if unit else "")


class Check(Strict):
    """One metric and its band. Every value of the metric over the named variants and points must be in it."""

    metric: MetricRef
    band: Band
    label: str = ""
    variants: list[str] | None = None
    x: list[float] | None = None
    x_from: float | None = None


class Claim(Strict):
    """The paper's statement, the words of the band, and the checks that decide it."""

    id: str
    where: str
    paper: str
    band: str
    checks: list[Check] = Field(default_factory=list)
    quick: bool = True
    """Whether `--quick` can judge it."""
    seeds: int = Field(default=1, ge=1)
    """The number of seeds needed to judge it: with fewer, chance may put its mean on either side of the band's edge."""
    not_judged: str = ""
    """Why nothing can judge it yet: "needs a queue that is not offered"."""
    note: str = ""

    @model_validator(mode="after")
    def _has_a_check(self) -> Self:
        if not self.checks and not self.not_judged:
            message = "a claim needs `checks`, or the reason why it is `not_judged`"
            raise ValueError(message)
        return self


class TableColumn(Strict):
    """One column of a table of results."""

    label: str
    metric: MetricRef
    variant: str | None = None
    unit: str = ""
    decimals: int = Field(2, ge=0)


class Table(Strict):
    """Paper and measured values side by side."""

    title: str
    rows: Literal["variants", "x", "once"] = "variants"
    only: list[str] | None = None
    """The variants that have a row; by default all."""
    columns: list[TableColumn] = Field(min_length=1)
    paper: dict[str, list[float | str]] = Field(default_factory=dict)
    """The paper's own numbers by row: a variant's name, the x as text, or "paper" in a table of one row."""

    @model_validator(mode="after")
    def _paper_fills_the_row(self) -> Self:
        for row, cells in self.paper.items():
            if len(cells) != len(self.columns):
                message = f"paper.{row} has {len(cells)} cells for {len(self.columns)} columns"
                raise ValueError(message)
        return self


class Experiment(Strict):
    """One experiment of one paper."""

    id: str = Field(pattern=r"^[a-z0-9-]+/[a-z0-9-]+$")
    title: str
    paper: str
    where: str
    about: str = ""
    seeds: int = Field(default=10, ge=1)
    quick: Quick = Field(default_factory=Quick)
    choices: list[Choice] = Field(default_factory=list)
    scenario: dict[str, Any] | None = None
    variants: list[Variant] = Field(default_factory=lambda: [Variant(name="base")])
    vary: Axis | None = None
    sensitivity: list[Sensitivity] = Field(default_factory=list)
    metrics: dict[str, MetricRef] = Field(default_factory=dict)
    tables: list[Table] = Field(default_factory=list)
    figures: list[Figure] = Field(default_factory=list)
    claims: list[Claim] = Field(default_factory=list)
    """The judged claims; none in an experiment that only shows the effect of a choice."""

    _file: tuple[Path, str] | None = PrivateAttr(None)

    @property
    def file(self) -> tuple[Path, str] | None:
        """The file that it was read from and its text; None where there was none."""
        return self._file

    def model_post_init(self, context: Any) -> None:
        """Keep the file, which the reader passes as the context."""
        self._file = context

    @model_validator(mode="after")
    def _references_resolve(self) -> Self:
        self._unique("variants", [variant.name for variant in self.variants])
        self._unique("claims", [claim.id for claim in self.claims])
        self._unique("figures", [figure.file for figure in self.figures])
        self._unique("sensitivity", [setting.name for setting in self.sensitivity])
        if self.sensitivity and not self.claims:
            message = "sensitivity: shows what becomes of claims, and there are none"
            raise ValueError(message)
        for claim in self.claims:
            if claim.seeds > self.seeds:
                message = f"claim `{claim.id}`: needs {claim.seeds} seeds, and the experiment has {self.seeds}"
                raise ValueError(message)
        self._check_places()
        names = {variant.name for variant in self.variants}
        for where, variant in self._variants_named():
            if variant not in names:
                message = f"{where}: there is no variant `{variant}`; there are {', '.join(sorted(names))}"
                raise ValueError(message)
        for where, metric in self._metrics_used():
            self._check_metric(where, metric, ())
        titles = {table.title for table in self.tables}
        for figure in self.figures:
            if figure.table is not None and figure.table not in titles:
                message = f"figure `{figure.file}`: there is no table with the title `{figure.table}`"
                raise ValueError(message)
        return self

    @staticmethod
    def _unique(where: str, names: list[str]) -> None:
        for name in names:
            if names.count(name) > 1:
                message = f"{where}: `{name}` is given twice"
                raise ValueError(message)

    def _check_places(self) -> None:
        """Check what variants say of the axis, and lines of variants' numbers."""
        known = [point.x for point in self.vary.points] if self.vary else []
        for variant in self.variants:
            if self.vary is None and (variant.x is not None or variant.keys is not None):
                message = f"variant `{variant.name}`: `x` and `keys` are about the axis, and there is no [vary]"
                raise ValueError(message)
            for x in variant.x or []:
                if x not in known:
                    message = f"variant `{variant.name}`: `x` holds {x:g}, which is none of the axis's values"
                    raise ValueError(message)
        numbers = {variant.name: variant.numbers for variant in self.variants}
        for figure in self.figures:
            for line in figure.lines:
                for name in line.variants or []:
                    if line.number not in numbers.get(name, {line.number: 0.0}):
                        message = f"figure `{figure.file}`: the variant `{name}` has no number `{line.number}`"
                        raise ValueError(message)

    def _variants_named(self) -> list[tuple[str, str]]:
        found = []
        for claim in self.claims:
            for check in claim.checks:
                found += [(f"claim `{claim.id}`", name) for name in check.variants or []]
        for table in self.tables:
            found += [(f"table `{table.title}`", name) for name in table.only or []]
            found += [(f"table `{table.title}`", column.variant) for column in table.columns if column.variant]
        for figure in self.figures:
            found += [(f"figure `{figure.file}`", line.variant) for line in figure.lines if line.variant]
            found += [(f"figure `{figure.file}`", name) for line in figure.lines for name in line.variants or []]
            found += [(f"figure `{figure.file}`", line.variant) for line in figure.series if line.variant]
            found += [(f"figure `{figure.file}`", line.variant) for line in figure.flows if line.variant]
            found += [(f"figure `{figure.file}`", line.variant) for line in figure.fair_shares if line.variant]
        for setting in self.sensitivity:
            found += [(f"sensitivity `{setting.name}`", name) for name in setting.variants or []]
        for point in self.vary.points if self.vary else []:
            found += [(f"vary, x = {point.x:g}", name) for name in point.by_variant]
        return found

    def _metrics_used(self) -> list[tuple[str, MetricRef]]:
        used: list[tuple[str, MetricRef]] = [(f"metric `{name}`", metric) for name, metric in self.metrics.items()]
        for claim in self.claims:
            used += [(f"claim `{claim.id}`", check.metric) for check in claim.checks]
        for table in self.tables:
            used += [(f"table `{table.title}`", column.metric) for column in table.columns]
        for figure in self.figures:
            used += [(f"figure `{figure.file}`", line.metric) for line in figure.lines]
        return used

    def _check_metric(self, where: str, metric: MetricRef, path: tuple[str, ...]) -> None:
        if isinstance(metric, str):
            if metric in path:
                message = f"{where}: the metric `{metric}` refers to itself"
                raise ValueError(message)
            if metric not in self.metrics:
                message = f"{where}: there is no metric `{metric}`; there are {', '.join(sorted(self.metrics))}"
                raise ValueError(message)
            self._check_metric(where, self.metrics[metric], (*path, metric))
            return
        parts = metric.parts()
        for variant in parts.variants:
            if variant not in {known.name for known in self.variants}:
                message = f"{where}: there is no variant `{variant}`"
                raise ValueError(message)
        if self.scenario is None and metric.needs_runs:
            message = f"{where}: a metric of kind `{metric.name_of_kind()}` needs runs, and the file has no [scenario]"
            raise ValueError(message)
        for part in parts.metrics:
            self._check_metric(where, part, path)

    def resolve(self, metric: MetricRef) -> Metric:
        """Return the metric itself if it is given by name."""
        while isinstance(metric, str):
            metric = self.metrics[metric]
        return metric

    def variant(self, name: str) -> Variant:
        """Return the variant of that name."""
        return next(variant for variant in self.variants if variant.name == name)

    def variants_run(self, *, quick: bool) -> list[Variant]:
        """Return the variants that a call runs."""
        return [variant for variant in self.variants if (variant.quick or not quick) and not variant.not_judged]

    def why_not_judged(self, claim: Claim) -> str:
        """Why nothing can judge the claim yet: its own reason, or that of a variant that it names; else nothing."""
        if claim.not_judged:
            return claim.not_judged
        waiting = {variant.name: variant.not_judged for variant in self.variants if variant.not_judged}
        named = [name for check in claim.checks for name in (*(check.variants or []), *self._variants_of(check.metric))]
        return next((waiting[name] for name in named if name in waiting), "")

    def _variants_of(self, metric: MetricRef) -> list[str]:
        """Return the variants that a metric, or one that it is made of, names."""
        parts = self.resolve(metric).parts()
        return [*parts.variants, *(name for part in parts.metrics for name in self._variants_of(part))]

    def points(self, quick: bool, variant: Variant | None = None) -> list[Point | None]:
        """Return the values of the axis (those that a variant is run at), or one None without an axis."""
        if self.vary is None:
            return [None]
        limits = [self.vary.quick if quick else None, variant.x if variant else None]
        return [point for point in self.vary.points if all(xs is None or point.x in xs for xs in limits)]
