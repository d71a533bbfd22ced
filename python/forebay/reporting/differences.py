"""Which differences between queues, points or runs are significant, in sentences built from the numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from forebay.display.quantity import CI, text_with_unit
from forebay.runs.statistics import Estimate, differ
from forebay.sweeps.labels import metric_title, value_label

from .axes import Axis, axes_of, is_grid

if TYPE_CHECKING:
    from forebay.comparison.numbers import Numbers
    from forebay.sweeps.result import Sweep

_MOST_NAMED = 6
_ONE_SEED = "There is one run each: no difference can be called significant. More seeds give intervals."


@dataclass(frozen=True)
class _Metric:
    name: str
    words: str
    better: int
    """1 if more is better, -1 if less is, 0 if neither."""


def _metrics(weakest: str, *, several_queues: bool) -> list[_Metric]:
    """Return the metrics to compare. The group with the least goodput represents those that a queue may harm."""
    of, before = (f" of {weakest}", f"{weakest}.") if weakest else ("", "")
    return [
        _Metric(f"{before}goodput_bps", f"Goodput per flow{of}", 1),
        _Metric(f"{before}delay_mean_s", f"Mean delay{of}", -1),
        _Metric(f"{before}loss", f"Loss{of}", -1),
        _Metric("utilization", metric_title("utilization", several_queues=several_queues), 1),
    ]


def of_comparison(comparison: Numbers) -> list[str]:
    """Return a sentence for each metric: the best queue, and the significantly worse ones."""
    table = comparison.wide()
    if table.height < 2:
        return []
    weakest = _weakest(table, comparison.group_names)
    fairness = _Metric("jain", "Fairness (Jain's index)", 1)
    sentences = []
    for metric in (fairness, *_metrics(weakest, several_queues=comparison.several_queues)):
        estimates = _by_name(table, "queue", metric.name)
        if len(estimates) > 1:
            sentences.append(_best(metric, estimates))
    if not sentences:
        return []
    return [*sentences, _ONE_SEED if table.get_column("seeds").max() == 1 else _rule(table.height - 1)]


def of_sweep(sweep: Sweep) -> list[str]:
    """Return a sentence for each axis and metric: how the metric changes, and whether significantly."""
    points = sweep.points
    axes = axes_of(sweep)
    if points.height < 2 or not axes or not is_grid(axes, points.height):
        return []
    groups = list(dict.fromkeys(name.rpartition(".")[0] for name in sweep.metrics if "." in name))
    weakest = _weakest(points, groups)
    single = points.get_column("seeds").max() == 1
    metrics = [
        metric for metric in _metrics(weakest, several_queues=sweep.several_queues) if metric.name in sweep.metrics
    ]
    found = [_along(points, axes, axis, metric, single=single) for axis in axes for metric in metrics]
    sentences = [text for text in found if text]
    return [*sentences, _ONE_SEED] if sentences and single else sentences


def _rule(tests: int) -> str:
    tested = "Significant: Welch's t test at 5 %"
    return f"{tested}, shared among the {tests} comparisons of a line." if tests > 1 else f"{tested}."


def _best(metric: _Metric, estimates: Mapping[str, Estimate]) -> str:
    best = max(estimates, key=lambda name: metric.better * estimates[name].mean)
    others = [name for name in estimates if name != best]
    verdicts = {name: differ(estimates[best], estimates[name], len(others)) for name in others}
    worse = [name for name, verdict in verdicts.items() if verdict]
    alike = [name for name, verdict in verdicts.items() if verdict is False]
    text = (
        f"{metric.words}: {best} has the {'most' if metric.better > 0 else 'least'}, {_value(metric, estimates[best])}"
    )
    if worse:
        shown = [f"{name} ({_value(metric, estimates[name])})" for name in worse]
        text += f"; {_named(shown)} {'is' if len(worse) == 1 else 'are'} significantly worse"
    if alike:
        text += f"; {_named(alike)} {'does' if len(alike) == 1 else 'do'} not differ significantly"
    return text + "."


def _along(points: pl.DataFrame, axes: Sequence[Axis], axis: Axis, metric: _Metric, *, single: bool) -> str:
    """Return how the metric changes from the first to the last value of an axis; of names, from least to most."""
    pairs = list(_ends(points, axes, axis, metric))
    if all(first.mean == last.mean == 0.0 for (_, first), (_, last) in pairs):
        return ""
    tests = len(pairs) if axis.is_number else len(pairs) * math.comb(len(axis.names), 2)
    verdicts = [differ(first, last, tests) for (_, first), (_, last) in pairs]
    short = axis.key.rsplit(".", 1)[-1]
    rises = sum(last.mean > first.mean for (_, first), (_, last) in pairs)
    falls = sum(last.mean < first.mean for (_, first), (_, last) in pairs)
    if len(pairs) == 1:
        ((first_name, first), (last_name, last)) = pairs[0]
        if first.mean == last.mean:
            return f"{metric.words} is {_value(metric, first)} at both {short} {first_name} and {last_name}."
        from_to = f"from {_value(metric, first)} ({short} {first_name}) to {_value(metric, last)} ({last_name})"
        significance = "" if single else ", significantly" if verdicts[0] else ", not significantly"
        return f"{metric.words} {'rises' if rises else 'falls'} {from_to}{significance}."
    count = "" if single else f" ({sum(bool(verdict) for verdict in verdicts)} significant)"
    if not rises + falls:
        return f"{metric.words} is the same at all values of {short}."
    if not axis.is_number:
        return f"{metric.words} differs between values of {short} in {rises + falls} of {len(pairs)} cases{count}."
    parts = [
        f"{verb} in {number} of {len(pairs)} cases" for verb, number in (("rises", rises), ("falls", falls)) if number
    ]
    words = metric.words[0].lower() + metric.words[1:]
    return f"From {short} {axis.names[0]} to {axis.names[-1]}, {words} {' and '.join(parts)}{count}."


def _ends(
    points: pl.DataFrame, axes: Sequence[Axis], axis: Axis, metric: _Metric
) -> Iterator[tuple[tuple[str, Estimate], tuple[str, Estimate]]]:
    """Yield, for each combination of the other axes, the points at the ends of this one."""
    rest = [other.key for other in axes if other is not axis]
    places = pl.Series("_place", axis.places)
    frame = points.with_columns(places).drop_nulls(metric.name)
    parts = [part for _, part in frame.group_by(rest, maintain_order=True)] if rest else [frame]
    for part in parts:
        ordered = part.sort("_place" if axis.is_number else metric.name, maintain_order=True)
        if ordered.height > 1:
            ends = [ordered.row(place, named=True) for place in (0, -1)]
            first, last = [(value_label(row[axis.key]), _estimate(row, metric.name)) for row in ends]
            yield first, last


def _by_name(table: pl.DataFrame, key: str, metric: str) -> dict[str, Estimate]:
    if metric not in table.columns:
        return {}
    return {row[key]: _estimate(row, metric) for row in table.drop_nulls(metric).iter_rows(named=True)}


def _estimate(row: Mapping[str, float | None], metric: str) -> Estimate:
    count = int(row["seeds"] or 1) - int(row.get("failed") or 0)
    return Estimate(float(row[metric] or 0.0), row.get(metric + CI), count)


def _weakest(frame: pl.DataFrame, groups: Sequence[str]) -> str:
    """Return the group whose flows get the least goodput in most rows; nothing where there is only one group."""
    if len(groups) < 2:
        return ""
    columns = {f"{group}.goodput_bps": group for group in groups}
    rows = frame.select(name for name in columns if name in frame.columns).fill_null(math.inf).to_dicts()
    least = Counter(min(row, key=lambda name: row[name]) for row in rows if row)
    return columns[least.most_common(1)[0][0]] if least else ""


def _value(metric: _Metric, estimate: Estimate) -> str:
    quantity = metric.name.rpartition(".")[2]
    if quantity in ("loss", "utilization"):
        return f"{100 * estimate.mean:.3g} %"
    return text_with_unit(quantity, estimate.mean, 3)


def _named(names: Sequence[str]) -> str:
    names = list(names)
    if len(names) > _MOST_NAMED:
        names = [*names[: _MOST_NAMED - 1], f"{len(names) - _MOST_NAMED + 1} others"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
