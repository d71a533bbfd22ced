"""The metrics that an experiment file can name: a short list of functions with parameters, and no expression language.

A metric is evaluated for one variant and one value of the axis (those of its own `variant` and `x`, else those of the
check, table or figure it stands in) and gives one value for each seed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from forebay.ethernet import Fairness

Unit = Literal[
    "", "Mb/s", "kb/s", "Gb/s", "s", "ms", "us", "%", "KB", "packets", "cells", "flows", "bits", "Mbit", "Mibit"
]

UNIT_SCALE: dict[str, float] = {
    "Mb/s": 1e-6,
    "kb/s": 1e-3,
    "Gb/s": 1e-9,
    "ms": 1e3,
    "us": 1e6,
    "%": 100.0,
    "KB": 1e-3,
    "Mbit": 1e-6,
    "Mibit": 2.0**-20,
}
"""What a value in bits/s, seconds, bytes, bits or as a share is multiplied by to be in a unit; 1 by default."""


NumberRef = float | str
"""A number, or the name of one: `x`, or a number of the variant."""


class Strict(BaseModel):
    """What every part of the file has in common: no unknown keys, no silent conversions, no changes afterwards."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Placed(Strict):
    """What all metrics over runs have in common: they may say where they are evaluated."""

    variant: str | None = None
    x: float | None = None


class ColumnMetric(Placed):
    """A column of a result table over the rows named, reduced to one value."""

    kind: Literal["column"]
    column: str
    table: Literal["flows", "queues", "links", "ports", "queue_flows"] = "flows"
    name: str | None = None
    """The row: a flow, queue, link or port. A `*` stands for any characters, and takes all rows that match: `out-*`."""
    group: str | None = None
    """The rows: all flows of a group."""
    queue: str | None = None
    """The queue, in the table `queue_flows`, of which only the rows of data count."""
    minus: str | None = None
    """A column subtracted row by row; in `queue_flows` it may be a column of `flows`."""
    per: str | None = None
    """A column divided by, row by row."""
    times: str | None = None
    """A column multiplied by, row by row: drops per packets sent times the offered rate is the rate lost."""
    unit: Unit = ""
    reduce: Literal["mean", "min", "max", "sum", "jain", "count", "share"] = "mean"
    """`count` counts the rows that have a value at all (are not NaN), `share` is the part of those in the bounds."""
    at_least: float | None = None
    """For `share`: the lower bound, in the column's own unit."""
    at_most: float | None = None
    """For `share`: the upper bound, in the column's own unit."""

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        bounded = self.at_least is not None or self.at_most is not None
        if bounded != (self.reduce == "share"):
            message = "`share` needs `at_least`, `at_most` or both, and nothing else takes them"
            raise ValueError(message)
        return self


class SeriesMetric(Placed):
    """One value of a time series, or of the series of all flows of a group."""

    kind: Literal["series"]
    of: Literal["queue", "flow", "link", "queue_flow"]
    quantity: str
    unit: Unit = ""
    name: str | None = None
    """The component; for a `queue_flow` with `group`, the queue."""
    group: str | None = None
    reduce: Literal["mean", "min", "max", "last", "first_time", "share"]
    """`first_time` is when the bound is first kept, `share` the part of the samples that keep it."""
    at_most: float | None = None
    """For `first_time` and `share`: the value is at or below this."""
    at_least: float | None = None
    """For `first_time` and `share`: the value is at or above this."""
    after_peak: bool = False
    """Look only from the largest value on."""
    from_s: float | None = None
    until_s: float | None = None
    every_s: float | None = Field(None, gt=0)
    """The interval from `from_s` to `until_s` comes again at this distance, `phases` times in all."""
    phases: int = Field(1, ge=1)
    across: Literal["mean", "min", "max", "sum", "jain"] = "mean"
    """How the values of a group's flows become one."""

    @model_validator(mode="after")
    def _threshold(self) -> Self:
        given = (self.at_most is not None) + (self.at_least is not None)
        if self.reduce in ("first_time", "share") and given != 1:
            message = f"`{self.reduce}` needs `at_most` or `at_least`"
            raise ValueError(message)
        if self.reduce not in ("first_time", "share") and given:
            message = "`at_most` and `at_least` belong to `first_time` and `share`"
            raise ValueError(message)
        if self.name is None and self.group is None:
            message = "a series needs `name` or `group`"
            raise ValueError(message)
        if (self.every_s is None) != (self.phases == 1) or (self.every_s and None in (self.from_s, self.until_s)):
            message = "phases that come again need `from_s`, `until_s`, `every_s` and `phases`"
            raise ValueError(message)
        return self


class Phase(Placed):
    """What metrics have in common that follow a series through a phase of the run."""

    of: Literal["queue", "flow", "link", "queue_flow"]
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
        if self.name is None and self.group is None:
            message = "a series needs `name` or `group`"
            raise ValueError(message)
        return self


class ConvergenceMetric(Phase):
    """How long a series takes, from the start of a phase, to come into a band and stay there (E2CM slides).

    It is averaged over consecutive windows; the value is how long after the start of the phase the first window begins
    that lies in the band with all later ones of the phase. There is none (NaN) where the last window lies outside.
    """

    kind: Literal["convergence"]
    average_s: float = Field(1e-3, gt=0)
    """Length of a window: a multiple of the series' interval. The slides' is 1 ms."""
    within: float | None = Field(None, gt=0)
    """Relative accuracy: the band reaches from (1 - `within`) to (1 + `within`) times the steady-state value."""
    around: float | None = None
    """With `within`: the value meant, in the series' own unit. By default the mean over the last part of the phase."""
    steady_share: float = Field(0.25, gt=0, le=1)
    """How much of the phase that last part is."""
    at_least: float | None = None
    """Absolute accuracy: the band's lower end, in the series' own unit."""
    at_most: float | None = None
    """Its upper end."""
    across: Literal["mean", "min", "max"] = "max"
    """How the times of a group's flows become one: by default that of the last."""
    every_s: float | None = Field(None, gt=0)
    """The phase comes again at this distance, `phases` times in all."""
    phases: int = Field(1, ge=1)
    reduce: Literal["mean", "median", "max"] = "median"
    """How the times of several phases become one."""

    @model_validator(mode="after")
    def _band(self) -> Self:
        absolute = self.at_least is not None or self.at_most is not None
        if absolute == (self.within is not None) or (self.around is not None and self.within is None):
            message = "a band is `within` a share (of `around`), or from `at_least` to `at_most`"
            raise ValueError(message)
        if (self.every_s is None) != (self.phases == 1) or (self.every_s and self.until_s is None):
            message = "phases that come again need `until_s`, `every_s` and `phases`"
            raise ValueError(message)
        return self


class EFoldingMetric(Phase):
    """The time in which a series that grows exponentially becomes e times as large; those of a group are added up.

    The slope of a straight line through the logarithms, by least squares, over the values of at least `at_least` from
    the start of the phase until the first above `at_most`. There is none (NaN) with less than three, or without growth.
    """

    kind: Literal["e_folding"]
    at_least: float = Field(gt=0)
    """In the series' own unit."""
    at_most: float
    """In the series' own unit."""


class FairShareMetric(Placed):
    """The fair rate of flows at one time, computed from the scenario; only with `topology.ethernet`."""

    kind: Literal["fair_share"]
    fairness: Fairness = "max_min"
    name: str | None = None
    """The flow; a `*` in it stands for any characters."""
    group: str | None = None
    """The flows of a group. Without it and `name`: all flows."""
    at_s: float = 0.0
    reduce: Literal["mean", "min", "max", "sum"] = "mean"
    unit: Unit = ""


class WindowsMetric(Placed):
    """A staircase: the mean of a series in equal consecutive windows, less what is expected of each window."""

    kind: Literal["windows"]
    of: Literal["queue", "flow", "link", "queue_flow"]
    name: str
    quantity: str
    unit: Unit = ""
    first_s: float
    """Start of the first window."""
    step_s: float = Field(gt=0)
    count: int = Field(ge=1)
    settle_s: float = 0.0
    """What is left out at the start of each window."""
    expected_first: float
    """Expected value in the first window, in `unit`."""
    expected_step: float
    """By how much the expected value changes from window to window, in `unit`."""


class RecoveryMetric(Placed):
    """How much better flows fare once a gauge lets them go.

    The run is cut into equal windows. Where the gauge of a flow has a mean of at most `at_most` in one window and more
    in the next, its mean goodput in the second counts above the line and that in the first below it.
    """

    kind: Literal["recovery"]
    group: str
    queue: str
    gauge: str
    at_most: float
    first_s: float
    """Start of the first window."""
    window_s: float = Field(gt=0)
    count: int = Field(ge=2)
    settle_s: float = 0.0
    """What is left out at the start of each window."""


class DifferenceMetric(Placed):
    """A metric less `factor` times another (or the same one in another variant), in the unit of the first."""

    kind: Literal["difference"]
    of: MetricRef
    minus: MetricRef | None = None
    minus_variant: str | None = None
    factor: float = 1.0


class RatioMetric(Placed):
    """A metric divided by another (or by the same one in another variant): the ratio of the means over seeds."""

    kind: Literal["ratio"]
    of: MetricRef
    over: MetricRef | None = None
    over_variant: str | None = None


class StepMetric(Placed):
    """By how much a metric changes from each value of the axis, or each of `variants`, to the next, in its unit."""

    kind: Literal["step"]
    of: MetricRef
    variants: list[str] | None = Field(None, min_length=2)
    """The order of variants to go along; without it the steps go along the axis."""
    xs: list[float] | None = Field(None, min_length=2)
    """The values of the axis to go along; by default all."""


class CrossingMetric(Placed):
    """The smallest value of the axis at which a metric reaches a level, interpolated linearly between the values run.

    For each seed, going up the axis: the first value run at which the metric is at least `at_least`, moved back along
    the straight line from the value before it. It is the axis's first value where the level is reached there already,
    and there is none (NaN) where the level is never reached.
    """

    kind: Literal["crossing"]
    of: MetricRef
    at_least: float
    times: NumberRef | None = None
    """Multiplies the result: a number, or the name of one of the variant's."""
    unit: Unit = ""
    """The axis's unit, times that of `times`."""


class AverageMetric(Placed):
    """The mean of a metric over the values of the axis, each counting the same."""

    kind: Literal["average"]
    of: MetricRef


class SpreadMetric(Placed):
    """How far the means of a metric lie apart along the axis, or over `variants`: the largest beside the smallest."""

    kind: Literal["spread"]
    of: MetricRef
    show: Literal["difference", "ratio"] = "difference"
    variants: list[str] | None = Field(None, min_length=2)
    """The variants compared; without it the values of the axis are."""
    xs: list[float] | None = Field(None, min_length=2)
    """The values of the axis that are compared, all of which must be run; by default those that are."""


class Formula(Strict):
    """What all metrics without runs have in common."""

    unit: Unit = ""


class ConstantMetric(Formula):
    """A number, to stand beside measured ones."""

    kind: Literal["constant"]
    value: NumberRef


class DblIdentificationBound(Formula):
    """DBL section 2.3: n (dbl + maxBufferAfterDbl) / ((n - 1) flowInputRate), in seconds."""

    kind: Literal["dbl_identification_bound"]
    input_rate_bps: NumberRef
    ratio: NumberRef
    """n: how many times the drain rate the input rate is."""
    dbl_max_bytes: float = 16384.0
    max_credits: int = 15
    bf_credit_limit: int = 2
    mark_probability: float = 0.333
    packet_bytes: float = 1000.0


class DblCollision(Formula):
    """DBL section 5: 1 - (1 - 1/b)^n, the probability that a flow shares the entry of one of n belligerent flows."""

    kind: Literal["dbl_collision"]
    buckets: int = Field(ge=1)
    belligerents: NumberRef


class DblCollisionMeasured(Formula):
    """The same probability measured: the flow table's own hash over random five-tuples."""

    kind: Literal["dbl_collision_measured"]
    buckets: int = Field(ge=1)
    belligerents: NumberRef
    trials: int = Field(1_000_000, ge=1)
    quick_trials: int = Field(100_000, ge=1)
    seed: int = Field(1, ge=0)
    show: Literal["share", "standard_errors"] = "share"
    """The share itself, or its distance from the formula in standard errors of the formula."""


class DblCost(Formula):
    """DBL sections 3 and 5.1: the memory that a flow costs, step by step."""

    kind: Literal["dbl_cost"]
    quantity: Literal[
        "dbl_bits_per_flow",
        "dbl_flows",
        "pointer_bits",
        "list_bits",
        "length_bits",
        "per_flow_total_bits",
        "per_flow_bits_per_flow",
        "per_flow_over_dbl",
        "exact_match_over_dbl",
        "exact_match_flows",
    ]
    rounding: Literal["exact", "paper"] = "exact"
    """`paper` rounds as the paper's own arithmetic does (see `computed.py`)."""
    table_entries: int = 512 * 1024
    entry_bits: int = 18
    utilization: float = 0.25
    queue_entries: int = 256 * 1024
    address_bits: int = 18
    length_field_bits: int = 13
    exact_match_entry_bits: int = 121
    dbl_state_bits: int = 17


class SfbMisclassification(Formula):
    """SFB equation 1: [1 - (1 - 1/B)^M]^L, the probability that every bin of a flow holds an offender as well."""

    kind: Literal["sfb_misclassification"]
    levels: int = Field(ge=1)
    """L."""
    bins: int = Field(ge=1)
    """B, of each level."""
    offenders: NumberRef
    """M, non-responsive flows."""


class SfbMisclassificationMeasured(Formula):
    """The same probability measured: SFB's own hashes over random five-tuples."""

    kind: Literal["sfb_misclassification_measured"]
    levels: int = Field(ge=1)
    bins: int = Field(ge=1)
    offenders: NumberRef
    trials: int = Field(1_000_000, ge=1)
    quick_trials: int = Field(100_000, ge=1)
    seed: int = Field(1, ge=0)
    show: Literal["share", "standard_errors"] = "share"
    """The share itself, or its distance from the formula in standard errors of the formula."""


class SfbBestLevels(Formula):
    """SFB Figure 4: of all ways to cut the bins into equal levels, the number of levels that misclassifies least."""

    kind: Literal["sfb_best_levels"]
    total_bins: int = Field(ge=1)
    offenders: NumberRef


class SfbCrossing(Formula):
    """SFB Figure 4: the least number of offenders at which one level misclassifies least, as a share of the bins."""

    kind: Literal["sfb_crossing"]
    total_bins: int = Field(ge=1)


_KINDS: dict[str, type[Strict]] = {
    "column": ColumnMetric,
    "series": SeriesMetric,
    "windows": WindowsMetric,
    "recovery": RecoveryMetric,
    "convergence": ConvergenceMetric,
    "e_folding": EFoldingMetric,
    "fair_share": FairShareMetric,
    "difference": DifferenceMetric,
    "ratio": RatioMetric,
    "step": StepMetric,
    "crossing": CrossingMetric,
    "average": AverageMetric,
    "spread": SpreadMetric,
    "constant": ConstantMetric,
    "dbl_identification_bound": DblIdentificationBound,
    "dbl_collision": DblCollision,
    "dbl_collision_measured": DblCollisionMeasured,
    "dbl_cost": DblCost,
    "sfb_misclassification": SfbMisclassification,
    "sfb_misclassification_measured": SfbMisclassificationMeasured,
    "sfb_best_levels": SfbBestLevels,
    "sfb_crossing": SfbCrossing,
}

METRIC_KINDS = tuple(_KINDS)
"""The names that `kind` can have."""


def _tag(value: Any) -> str:
    if isinstance(value, str):
        return "name"
    if isinstance(value, dict):
        return str(value.get("kind", "none"))
    return str(getattr(value, "kind", "none"))


Metric = (
    ColumnMetric
    | SeriesMetric
    | WindowsMetric
    | RecoveryMetric
    | ConvergenceMetric
    | EFoldingMetric
    | FairShareMetric
    | DifferenceMetric
    | RatioMetric
    | StepMetric
    | CrossingMetric
    | AverageMetric
    | SpreadMetric
    | ConstantMetric
    | DblIdentificationBound
    | DblCollision
    | DblCollisionMeasured
    | DblCost
    | SfbMisclassification
    | SfbMisclassificationMeasured
    | SfbBestLevels
    | SfbCrossing
)
"""Any metric."""

MetricRef = Annotated[
    Annotated[str, Tag("name")]
    | Annotated[ColumnMetric, Tag("column")]
    | Annotated[SeriesMetric, Tag("series")]
    | Annotated[WindowsMetric, Tag("windows")]
    | Annotated[RecoveryMetric, Tag("recovery")]
    | Annotated[ConvergenceMetric, Tag("convergence")]
    | Annotated[EFoldingMetric, Tag("e_folding")]
    | Annotated[FairShareMetric, Tag("fair_share")]
    | Annotated[DifferenceMetric, Tag("difference")]
    | Annotated[RatioMetric, Tag("ratio")]
    | Annotated[StepMetric, Tag("step")]
    | Annotated[CrossingMetric, Tag("crossing")]
    | Annotated[AverageMetric, Tag("average")]
    | Annotated[SpreadMetric, Tag("spread")]
    | Annotated[ConstantMetric, Tag("constant")]
    | Annotated[DblIdentificationBound, Tag("dbl_identification_bound")]
    | Annotated[DblCollision, Tag("dbl_collision")]
    | Annotated[DblCollisionMeasured, Tag("dbl_collision_measured")]
    | Annotated[DblCost, Tag("dbl_cost")]
    | Annotated[SfbMisclassification, Tag("sfb_misclassification")]
    | Annotated[SfbMisclassificationMeasured, Tag("sfb_misclassification_measured")]
    | Annotated[SfbBestLevels, Tag("sfb_best_levels")]
    | Annotated[SfbCrossing, Tag("sfb_crossing")],
    Discriminator(
        _tag,
        custom_error_type="metric_kind",
        custom_error_message="a metric is the name of one under [metrics], or a table whose `kind` is one of "
        + ", ".join(METRIC_KINDS),
    ),
]
"""A metric as the file gives it: in full, or the name of one under `[metrics]`."""

for _model in (DifferenceMetric, RatioMetric, StepMetric, CrossingMetric, AverageMetric, SpreadMetric):
    _model.model_rebuild()


@dataclass(frozen=True)
class Parts:
    """What a metric refers to."""

    metrics: list[Any] = field(default_factory=list)
    variants: list[str] = field(default_factory=list)


def metric_parts(metric: Metric) -> Parts:
    """The metrics and variants that `metric` is made of."""
    parts = Parts()
    if isinstance(metric, Placed) and metric.variant is not None:
        parts.variants.append(metric.variant)
    if isinstance(metric, DifferenceMetric):
        parts.metrics.extend(part for part in (metric.of, metric.minus) if part is not None)
        parts.variants.extend([metric.minus_variant] if metric.minus_variant else [])
    elif isinstance(metric, RatioMetric):
        parts.metrics.extend(part for part in (metric.of, metric.over) if part is not None)
        parts.variants.extend([metric.over_variant] if metric.over_variant else [])
    elif isinstance(metric, StepMetric | SpreadMetric):
        parts.metrics.append(metric.of)
        parts.variants.extend(metric.variants or [])
    elif isinstance(metric, CrossingMetric | AverageMetric):
        parts.metrics.append(metric.of)
    return parts


def is_formula(metric: Metric) -> bool:
    """Whether the metric needs no runs."""
    return isinstance(metric, Formula)
