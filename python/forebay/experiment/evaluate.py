"""Evaluates metrics over the outcomes of an experiment's runs."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from forebay.ethernet import EthernetLoad
from forebay.runs.outcome import data_rows
from forebay.runs.statistics import Estimate, crossing, estimate_mean, estimate_ratio, jain

from . import computed
from .errors import ExperimentError, NotRunError
from .metrics import (
    UNIT_SCALE,
    AverageMetric,
    ColumnMetric,
    ConstantMetric,
    ConvergenceMetric,
    CrossingMetric,
    DblCollision,
    DblCollisionMeasured,
    DblCost,
    DblIdentificationBound,
    DifferenceMetric,
    EFoldingMetric,
    FairShareMetric,
    Metric,
    MetricRef,
    NumberRef,
    Placed,
    RatioMetric,
    RecoveryMetric,
    SeriesMetric,
    SfbBestLevels,
    SfbCrossing,
    SfbMisclassification,
    SfbMisclassificationMeasured,
    SpreadMetric,
    StepMetric,
    WindowsMetric,
)
from .phases import convergence_time, e_folding_time
from .plan import BASE, Coordinates, scenario_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from forebay.runs.outcome import Outcome, Series

    from .schema import Experiment

    Samples = NDArray[np.float64]


@dataclass(frozen=True)
class Value:
    """One value of a metric: its samples, one for each seed, and where it was taken."""

    label: str
    samples: Samples
    over: Samples | None = None
    """For a ratio, the samples of its denominator."""

    def estimate(self) -> Estimate:
        """The mean over seeds with its confidence interval."""
        if self.over is None:
            return estimate_mean(self.samples)
        return estimate_ratio(self.samples, self.over)


@dataclass(frozen=True)
class Runs:
    """An experiment with the outcomes of its runs, by coordinates; the list holds one outcome for each seed."""

    experiment: Experiment
    quick: bool
    outcomes: Mapping[Coordinates, list[Outcome]]

    def base(self) -> Coordinates:
        """The first variant at the first value of the axis."""
        first = self.experiment.variants[0]
        point = next(iter(self.experiment.points(self.quick, first)), None)
        return Coordinates(BASE, first.name, point.x if point else None)

    def seeds(self, setting: str = BASE) -> int:
        """How many seeds every run has at a setting; one where nothing is run."""
        return max((len(outcomes) for at, outcomes in self.outcomes.items() if at.setting == setting), default=1)

    def xs(self, setting: str = BASE, variant: str | None = None) -> list[float]:
        """The values of the axis that are run at a setting: those of a variant, or of all."""
        only = next((item.x for item in self.experiment.sensitivity if item.name == setting), None)
        one = self.experiment.variant(variant) if variant is not None else None
        if one is not None and one not in self.experiment.variants_run(quick=self.quick):
            return []
        points = self.experiment.points(self.quick, one)
        return [point.x for point in points if point is not None and (only is None or point.x in only)]

    def evaluate(self, metric: MetricRef, at: Coordinates) -> list[Value]:
        """The value or values of a metric at `at`, which the metric's own `variant` and `x` override."""
        full = self.experiment.resolve(metric)
        if isinstance(full, Placed):
            at = replace(at, variant=full.variant or at.variant, x=at.x if full.x is None else full.x)
        match full:
            case ColumnMetric():
                values = [self._leaf(full, at, lambda outcome: column_value(full, outcome))]
            case SeriesMetric():
                values = [self._leaf(full, at, lambda outcome: series_value(full, outcome))]
            case ConvergenceMetric():
                values = [self._leaf(full, at, lambda outcome: convergence(full, outcome))]
            case EFoldingMetric():
                values = [self._leaf(full, at, lambda outcome: e_folding(full, outcome))]
            case FairShareMetric():
                values = [self._fair_share(full, at)]
            case WindowsMetric():
                values = self._windows(full, at)
            case RecoveryMetric():
                values = [self._recovery(full, at)]
            case (
                DifferenceMetric() | RatioMetric() | StepMetric() | CrossingMetric() | AverageMetric() | SpreadMetric()
            ):
                values = self._derived(full, at)
            case _:
                values = [Value(at.label(), np.array([self._formula(full, at)]))]
        return values

    def evaluate_one(self, metric: MetricRef, at: Coordinates) -> Value:
        """The value of a metric that has only one."""
        values = self.evaluate(metric, at)
        if len(values) != 1 or values[0].over is not None:
            message = f"{self.experiment.id}: a metric of metrics takes single values, no ratios"
            raise ExperimentError(message)
        return values[0]

    def evaluate_one_estimate(self, metric: MetricRef, at: Coordinates) -> Estimate:
        """The mean over seeds of a metric that has only one value."""
        values = self.evaluate(metric, at)
        if len(values) != 1:
            message = f"{self.experiment.id}: ({at.label()}) a table or line takes metrics of one value"
            raise ExperimentError(message)
        return values[0].estimate()

    def _outcomes(self, at: Coordinates) -> list[Outcome]:
        try:
            return self.outcomes[at]
        except KeyError:
            message = f"{self.experiment.id}: there is no run at ({at.label()})"
            axis = [point.x if point else None for point in self.experiment.points(quick=False)]
            raise (NotRunError if at.x in axis else ExperimentError)(message) from None

    def _leaf(
        self,
        metric: ColumnMetric | SeriesMetric | ConvergenceMetric | EFoldingMetric,
        at: Coordinates,
        value: _Sampler,
    ) -> Value:
        try:
            samples = np.array([value(outcome) for outcome in self._outcomes(at)])
        except KeyError as error:
            message = f"{self.experiment.id}: ({at.label()}) {error.args[0]}"
            raise ExperimentError(message) from None
        return Value(at.label(), samples * UNIT_SCALE.get(metric.unit, 1.0))

    def _fair_share(self, metric: FairShareMetric, at: Coordinates) -> Value:
        load = EthernetLoad.from_toml(scenario_at(self.experiment, at, quick=self.quick))
        names = np.array([source.name for source in load.sources])
        rows = np.ones(len(names), dtype=bool)
        if metric.name is not None:
            rows &= _matching(names, metric.name)
        if metric.group is not None:
            rows &= np.array([source.group == metric.group for source in load.sources])
        if not rows.any():
            message = f"{self.experiment.id}: ({at.label()}) no flow matches {metric.name or metric.group}"
            raise ExperimentError(message)
        rates = load.fair_shares_at(metric.at_s, metric.fairness)[rows]
        return Value(at.label(), np.array([_reduce(rates, metric.reduce) * UNIT_SCALE.get(metric.unit, 1.0)]))

    def _windows(self, metric: WindowsMetric, at: Coordinates) -> list[Value]:
        values = []
        scale = UNIT_SCALE.get(metric.unit, 1.0)
        for k in range(metric.count):
            start_s = metric.first_s + k * metric.step_s
            expected = metric.expected_first + k * metric.expected_step
            try:
                means = [
                    window_mean(
                        _find(outcome, metric.of, metric.name, metric.quantity),
                        start_s + metric.settle_s,
                        start_s + metric.step_s,
                    )
                    for outcome in self._outcomes(at)
                ]
            except KeyError as error:
                message = f"{self.experiment.id}: ({at.label()}) {error.args[0]}"
                raise ExperimentError(message) from None
            values.append(Value(f"step {k + 1}, expected {expected:g}", np.array(means) * scale - expected))
        return values

    def _recovery(self, metric: RecoveryMetric, at: Coordinates) -> Value:
        try:
            pairs = [recovery(metric, outcome) for outcome in self._outcomes(at)]
        except KeyError as error:
            message = f"{self.experiment.id}: ({at.label()}) {error.args[0]}"
            raise ExperimentError(message) from None
        # A run in which no flow was let go says nothing.
        after = [pair[0] for pair in pairs if pair is not None]
        before = [pair[1] for pair in pairs if pair is not None]
        if not after:
            return Value(at.label(), np.array([math.nan]))
        return Value(at.label(), np.array(after), np.array(before))

    def _derived(
        self,
        metric: DifferenceMetric | RatioMetric | StepMetric | CrossingMetric | AverageMetric | SpreadMetric,
        at: Coordinates,
    ) -> list[Value]:
        """The values of a metric of metrics."""
        match metric:
            case DifferenceMetric():
                return [self._difference(metric, at)]
            case RatioMetric():
                return [self._ratio(metric, at)]
            case StepMetric():
                return self._steps(metric, at)
            case CrossingMetric():
                return [self._crossing(metric, at)]
            case AverageMetric():
                return [Value(at.variant, np.mean(self._curves(metric.of, at)[1], axis=0))]
            case SpreadMetric():
                return [self._spread(metric, at)]

    def _difference(self, metric: DifferenceMetric, at: Coordinates) -> Value:
        of = self.evaluate_one(metric.of, at)
        other = replace(at, variant=metric.minus_variant or at.variant)
        minus = self.evaluate_one(metric.minus or metric.of, other)
        return Value(at.label(), of.samples - metric.factor * minus.samples)

    def _ratio(self, metric: RatioMetric, at: Coordinates) -> Value:
        of = self.evaluate_one(metric.of, at)
        over = self.evaluate_one(metric.over or metric.of, replace(at, variant=metric.over_variant or at.variant))
        return Value(at.label(), of.samples, over.samples)

    def _along(self, metric: StepMetric | SpreadMetric, at: Coordinates) -> list[tuple[str, Samples]]:
        """The samples of the metric's part at each value of the axis, or in each of its variants, with a label."""
        if metric.variants is None:
            xs = [x for x in self.xs(at.setting, at.variant) if metric.xs is None or x in metric.xs]
            places = [(f"{at.variant}, {x:g}", replace(at, x=x)) for x in xs]
        else:
            suffix = "" if at.x is None or self.spans_axis(metric.of) else f", {at.x:g}"
            places = [(f"{name}{suffix}", replace(at, variant=name)) for name in metric.variants]
        return [(label, self.evaluate_one(metric.of, place).samples) for label, place in places]

    def _steps(self, metric: StepMetric, at: Coordinates) -> list[Value]:
        return [
            Value(f"{before} to {after}", after_samples - before_samples)
            for (before, before_samples), (after, after_samples) in itertools.pairwise(self._along(metric, at))
        ]

    def _spread(self, metric: SpreadMetric, at: Coordinates) -> Value:
        found = self._along(metric, at)
        if len(found) < len(metric.xs or [at]):
            message = f"{self.experiment.id}: there is no run along ({at.label()})"
            raise NotRunError(message)
        means = [float(np.mean(samples)) for _, samples in found]
        (high, most), (low, least) = found[int(np.argmax(means))], found[int(np.argmin(means))]
        if metric.show == "ratio":
            return Value(f"{high} over {low}", most, least)
        return Value(f"{high} less {low}", most - least)

    def _crossing(self, metric: CrossingMetric, at: Coordinates) -> Value:
        xs, curves = self._curves(metric.of, at)
        reached = [crossing(xs, curve, metric.at_least) for curve in curves.T]
        factor = 1.0 if metric.times is None else self._number(metric.times, at)
        return Value(at.variant, np.array(reached) * factor)

    def _curves(self, metric: MetricRef, at: Coordinates) -> tuple[Samples, Samples]:
        """The values of the axis, ascending, and the metric's samples: a row for each, a column for each seed."""
        xs = sorted(self.xs(at.setting, at.variant))
        if not xs:
            message = f"{self.experiment.id}: there is no run along ({at.label()})"
            raise NotRunError(message)
        return np.array(xs), np.array([self.evaluate_one(metric, replace(at, x=x)).samples for x in xs])

    def spans_axis(self, metric: MetricRef) -> bool:
        """Whether the metric goes along the axis by itself, so that it has the same value at every x."""
        full = self.experiment.resolve(metric)
        match full:
            case CrossingMetric() | AverageMetric():
                return True
            case StepMetric() | SpreadMetric():
                return full.variants is None or self.spans_axis(full.of)
            case DifferenceMetric() | RatioMetric():
                return self.spans_axis(full.of)
        return False

    def unit(self, metric: MetricRef) -> str:
        """The unit that a metric's values are in."""
        full = self.experiment.resolve(metric)
        match full:
            case DifferenceMetric() | StepMetric() | AverageMetric():
                return self.unit(full.of)
            case SpreadMetric():
                return "" if full.show == "ratio" else self.unit(full.of)
            case RatioMetric() | RecoveryMetric():
                return ""
        return full.unit

    def _number(self, ref: NumberRef, at: Coordinates) -> float:
        """A number of a formula: given, the axis's value, or one of the variant's."""
        if not isinstance(ref, str):
            return float(ref)
        numbers = self.experiment.variant(at.variant).numbers
        if ref == "x" and at.x is not None:
            return at.x
        if ref in numbers:
            return numbers[ref]
        message = f"{self.experiment.id}: ({at.label()}) there is no number `{ref}`"
        raise ExperimentError(message)

    def _formula(self, metric: Metric, at: Coordinates) -> float:
        match metric:
            case ConstantMetric():
                return self._number(metric.value, at)
            case DblIdentificationBound():
                rate_bps, ratio = self._number(metric.input_rate_bps, at), self._number(metric.ratio, at)
                value = computed.identification_bound_s(metric, rate_bps, ratio)
            case DblCollision():
                value = computed.collision_probability(metric.buckets, round(self._number(metric.belligerents, at)))
            case DblCollisionMeasured():
                value = self._collisions(metric, round(self._number(metric.belligerents, at)))
            case DblCost():
                value = computed.cost(metric)
            case SfbMisclassification():
                offenders = round(self._number(metric.offenders, at))
                value = computed.misclassification_probability(metric.levels, metric.bins, offenders)
            case SfbMisclassificationMeasured():
                value = self._misclassified(metric, round(self._number(metric.offenders, at)))
            case SfbBestLevels():
                value = float(computed.best_levels(metric.total_bins, round(self._number(metric.offenders, at))))
            case SfbCrossing():
                value = computed.single_level_from(metric.total_bins) / metric.total_bins
            case _:
                message = f"{metric.kind} is no formula"
                raise TypeError(message)
        return value * UNIT_SCALE.get(metric.unit, 1.0)

    def _collisions(self, metric: DblCollisionMeasured, belligerents: int) -> float:
        trials = metric.quick_trials if self.quick else metric.trials
        share = _collision_share(metric.buckets, belligerents, trials, metric.seed)
        if metric.show == "share":
            return share
        expected = computed.collision_probability(metric.buckets, belligerents)
        return (share - expected) / computed.standard_error(expected, trials)

    def _misclassified(self, metric: SfbMisclassificationMeasured, offenders: int) -> float:
        trials = metric.quick_trials if self.quick else metric.trials
        share = _misclassified_share(metric.levels, metric.bins, offenders, trials, metric.seed)
        if metric.show == "share":
            return share
        expected = computed.misclassification_probability(metric.levels, metric.bins, offenders)
        return (share - expected) / computed.standard_error(expected, trials)


@cache
def _collision_share(buckets: int, belligerents: int, trials: int, seed: int) -> float:
    """The same share is asked for by a claim, a table and a figure; it is computed once."""
    return computed.collision_share(buckets, belligerents, trials, seed)


@cache
def _misclassified_share(levels: int, bins: int, offenders: int, trials: int, seed: int) -> float:
    return computed.misclassified_share(levels, bins, offenders, trials, seed)


if TYPE_CHECKING:
    from collections.abc import Callable

    _Sampler = Callable[[Outcome], float]


def column_value(metric: ColumnMetric, outcome: Outcome) -> float:
    """A table's column over the rows named, reduced. Raises KeyError with a message where something is not there."""
    table = outcome.tables[metric.table]
    key = "flow" if metric.table == "queue_flows" else "name"
    rows = np.ones(len(_column(table, key, metric.table)), dtype=bool)
    if metric.table == "queue_flows":
        rows &= data_rows(table)
    if metric.name is not None:
        rows &= _matching(table[key], metric.name) if "*" in metric.name else table[key] == metric.name
    if metric.group is not None:
        rows &= np.isin(table[key], outcome.group(metric.group))
    if metric.queue is not None:
        rows &= _column(table, "queue", metric.table) == metric.queue
    if not rows.any():
        message = f"no row of `{metric.table}` matches {metric.name or metric.group or metric.queue or 'this'}"
        raise KeyError(message)
    values = _column(table, metric.column, metric.table)[rows].astype(np.float64)
    if metric.minus is not None:
        values = values - _aligned(outcome, metric, metric.minus, rows)
    if metric.per is not None:
        with np.errstate(invalid="ignore", divide="ignore"):
            values = values / _aligned(outcome, metric, metric.per, rows)
    if metric.times is not None:
        values = values * _aligned(outcome, metric, metric.times, rows)
    if metric.reduce == "share":
        return _share_within(values, metric.at_least, metric.at_most)
    return _reduce(values, metric.reduce)


def _matching(names: NDArray[Any], pattern: str) -> NDArray[np.bool]:
    """Which names match; `*` stands for any characters."""
    matcher = re.compile(".*".join(map(re.escape, pattern.split("*"))))
    return np.array([matcher.fullmatch(name) is not None for name in names], dtype=bool)


def _share_within(values: Samples, at_least: float | None, at_most: float | None) -> float:
    """The part of the values (those that are not NaN) that lie in the bounds given."""
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return math.nan
    inside = np.ones(len(values), dtype=bool)
    if at_least is not None:
        inside &= values >= at_least
    if at_most is not None:
        inside &= values <= at_most
    return float(np.mean(inside))


def _column(table: Mapping[str, NDArray[np.float64]], column: str, name: str) -> NDArray[np.float64]:
    if column not in table:
        message = f"the table `{name}` has no column `{column}`; it has {', '.join(table) or 'none'}"
        raise KeyError(message)
    return table[column]


def _aligned(outcome: Outcome, metric: ColumnMetric, column: str, rows: NDArray[np.bool]) -> Samples:
    """Another column for the same rows; for `queue_flows` also one of the flow's own table."""
    table = outcome.tables[metric.table]
    if column not in table and metric.table == "queue_flows":
        flows = outcome.tables["flows"]
        of_flow = dict(zip(flows["name"], _column(flows, column, "flows"), strict=True))
        return np.array([float(of_flow[name]) for name in table["flow"][rows]])
    return _column(table, column, metric.table)[rows].astype(np.float64)


def _reduce(values: Samples, how: Literal["mean", "min", "max", "sum", "jain", "count"]) -> float:
    if how != "count":
        # A flow that delivered nothing has no delay, and no part in the mean one.
        values = values[~np.isnan(values)]
        if len(values) == 0:
            return math.nan
    match how:
        case "mean":
            return float(np.mean(values))
        case "min":
            return float(np.min(values))
        case "max":
            return float(np.max(values))
        case "sum":
            return float(np.sum(values))
        case "jain":
            return jain(values)
        case "count":
            return float(np.count_nonzero(~np.isnan(values)))


def series_value(metric: SeriesMetric, outcome: Outcome) -> float:
    """One value of a series, or of the series of a group's flows. Raises KeyError where there is none."""
    values = [_one_series_value(metric, series) for series in _series_of(metric, outcome)]
    return values[0] if metric.group is None else _reduce(np.array(values), metric.across)


def convergence(metric: ConvergenceMetric, outcome: Outcome) -> float:
    """How long the series, or those of a group's flows, take to settle. Raises KeyError where there is none."""
    times = np.array([convergence_time(metric, series) for series in _series_of(metric, outcome)])
    # A flow that never settles leaves the whole group without a time.
    return math.nan if np.isnan(times).any() else _reduce(times, metric.across)


def e_folding(metric: EFoldingMetric, outcome: Outcome) -> float:
    """The time of e-fold growth. Raises KeyError where there is no such series."""
    return e_folding_time(metric, _series_of(metric, outcome))


def _series_of(metric: SeriesMetric | ConvergenceMetric | EFoldingMetric, outcome: Outcome) -> list[Series]:
    """The series that is named, or those of a group's flows. Raises KeyError where there is none."""
    if metric.group is None:
        return [_find(outcome, metric.of, metric.name or "", metric.quantity)]
    prefix = f"{metric.name}/" if metric.name else ""
    names = [f"{prefix}{flow}" for flow in outcome.group(metric.group)]
    if not names:
        message = f"there is no group `{metric.group}`"
        raise KeyError(message)
    return [_find(outcome, metric.of, name, metric.quantity) for name in names]


def _find(outcome: Outcome, of: str, name: str, quantity: str) -> Series:
    series = outcome.find_series(of, name, quantity)
    if series is None:
        there = sorted({f"{item.of} {item.name} {item.quantity}" for item in outcome.series})
        message = f"there is no series {of} {name} {quantity}; there are: {'; '.join(there) or 'none'}"
        raise KeyError(message)
    return series


def _one_series_value(metric: SeriesMetric, series: Series) -> float:
    times = series.times()
    inside = ~np.isnan(series.values) & _in_phases(metric, times)
    if metric.after_peak and inside.any():
        peak = int(np.argmax(np.where(inside, series.values, -np.inf)))
        inside[:peak] = False
    values, times = series.values[inside], times[inside]
    if len(values) == 0:
        return math.nan
    if metric.reduce == "last":
        return float(values[-1])
    if metric.reduce == "share":
        return _share_within(values, metric.at_least, metric.at_most)
    if metric.reduce != "first_time":
        return _reduce(values, metric.reduce)
    # The schema allows `first_time` only with one of the two thresholds.
    reached = values <= metric.at_most if metric.at_most is not None else values >= (metric.at_least or 0.0)
    return float(times[np.argmax(reached)]) if reached.any() else math.nan


def _in_phases(metric: SeriesMetric, times: Samples) -> NDArray[np.bool]:
    """Which times lie in the interval asked for, or one of those that come again."""
    inside = np.zeros(len(times), dtype=bool)
    for k in range(metric.phases):
        later = k * (metric.every_s or 0.0)
        begin = -math.inf if metric.from_s is None else metric.from_s + later
        end = math.inf if metric.until_s is None else metric.until_s + later
        inside |= (times >= begin) & (times < end)
    return inside


def recovery(metric: RecoveryMetric, outcome: Outcome) -> tuple[float, float] | None:
    """Goodput after and before, summed over the flows and windows in which the gauge let go; None if it never did."""
    after = before = 0.0
    found = False
    for flow in outcome.group(metric.group):
        gauge = _find(outcome, "queue_flow", f"{metric.queue}/{flow}", metric.gauge)
        goodput = _find(outcome, "flow", flow, "goodput_bps")
        windows = [
            (metric.first_s + k * metric.window_s + metric.settle_s, metric.first_s + (k + 1) * metric.window_s)
            for k in range(metric.count)
        ]
        held = [window_mean(gauge, *window) <= metric.at_most for window in windows]
        rates = [window_mean(goodput, *window) for window in windows]
        for k in range(metric.count - 1):
            if held[k] and not held[k + 1]:
                found = True
                before += rates[k]
                after += rates[k + 1]
    return (after, before) if found else None


def window_mean(series: Series, from_s: float, until_s: float) -> float:
    """The mean of the values whose intervals lie in [from, until)."""
    # Half an interval of slack keeps rounding of the sampling times from moving a value out of its window.
    slack = 0.5 * series.interval_s
    times = series.times()
    inside = (times >= from_s - slack) & (times < until_s - slack)
    return float(np.mean(series.values[inside])) if inside.any() else math.nan
