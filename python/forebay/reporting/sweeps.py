"""A sweep as a section: each metric against each parameter, over two parameters, and over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from forebay.display.figure import is_wide
from forebay.display.quantity import CI, Scale, label, scale, with_unit
from forebay.runs.measures import GROUP_METRICS
from forebay.runs.outcome import Outcome
from forebay.runs.store import Store
from forebay.sweeps.labels import metric_title, value_label
from forebay.sweeps.manifest import RUNS
from forebay.sweeps.plan import QUEUE
from forebay.sweeps.result import Sweep

from .axes import Axis, axes_of, goes_along, is_grid
from .differences import of_sweep
from .over_time import against_time, queues_over_time, total
from .parts import MOST_LINES, Chart, Charts, Heat, Line, Lines, Part, Section, Text, Values
from .tables import table_of

_MOST_MAPS = 6
_MOST_TICKS = 8
_OF_ALL = ("goodput_total_bps", "jain", "loss")
"""These describe all flows together."""


def sweep_section(sweep: Sweep, heading: str, folder: Path) -> Section:
    """Charts of all metrics, the table of points, failures, and the scenario before anything was varied."""
    view = _View(sweep, axes_of(sweep))
    parts: list[Part] = list(_metric_charts(view))
    if series := _over_time(view, folder):
        parts.append(Charts("Over time", series, "The first run of each point."))
    parts.append(table_of(sweep.points, "Points", str(folder / "points.csv"), sweep.keys, view.title))
    runs = str(folder / "runs.parquet")
    if sweep.failures.height:
        parts.append(table_of(sweep.failures, "Runs that failed", runs, sweep.keys))
    parts.append(table_of(sweep.runs.drop("error"), "Single runs", runs, sweep.keys, view.title))
    parts.append(Text("Scenario", "before anything is varied", sweep.toml))
    failed = sweep.failures.height
    return Section(
        heading,
        conclusion=of_sweep(sweep),
        facts=[
            ("Scenario", sweep.scenario),
            ("Varied", ", ".join(sweep.keys) or "nothing"),
            ("Points", f"{sweep.points.height:,}"),
            ("Runs", f"{sweep.runs.height:,}"),
        ],
        about=[text for text in (sweep.description, *sweep.left_out) if text],
        warnings=[f"{failed:,} run{'' if failed == 1 else 's'} failed."] if failed else [],
        repeat=sweep.command,
        parts=parts,
    )


@dataclass(frozen=True)
class _View:
    """A sweep with its axes."""

    sweep: Sweep
    axes: Sequence[Axis]

    @property
    def numbers(self) -> list[Axis]:
        """The axes of numbers, or if there is none all of them."""
        return [axis for axis in self.axes if axis.is_number] or list(self.axes)

    def title(self, metric: str) -> str:
        """Return the name of a metric for people."""
        return metric_title(metric, several_queues=self.sweep.several_queues)

    def values(self, name: str) -> Values:
        """Return a column of the points; NaN where there is no value."""
        found: Values = self.sweep.points.get_column(name).cast(pl.Float64).fill_null(np.nan).to_numpy()
        return found

    def groups(self, without: Sequence[Axis]) -> dict[str, list[int]]:
        """Return the points that differ in these axes alone, by the values of all others."""
        rest = [axis for axis in self.axes if axis not in without]
        groups: dict[str, list[int]] = {}
        for row, values in enumerate(self.sweep.points.select(axis.key for axis in rest).rows() if rest else []):
            groups.setdefault(_named(rest, values), []).append(row)
        return groups or {"": list(range(self.sweep.points.height))}


def _named(axes: Sequence[Axis], values: Sequence[object]) -> str:
    """Return a name for points that have these values: "dbl, count 10"."""
    pairs = zip(axes, values, strict=True)
    return ", ".join(_value_name(axis, value) for axis, value in pairs)


def _value_name(axis: Axis, value: object) -> str:
    """Return a value that names itself as it is, any other with the last part of its key."""
    label = value_label(value)
    return label if axis.key == QUEUE or label != str(value) else f"{_last(axis)} {label}"


def _last(axis: Axis) -> str:
    return axis.key.rsplit(".", 1)[-1]


def _metric_charts(view: _View) -> Iterator[Charts]:
    """Each group of flows first, then the queue; means over the flows of all groups are folded."""
    by_group: dict[str, list[str]] = {}
    for metric in view.sweep.metrics:
        group, dot, _ = metric.rpartition(".")
        by_group.setdefault(group if dot else "", []).append(metric)
    together = by_group.pop("", [])
    mixed = [metric for metric in together if by_group and metric in GROUP_METRICS and metric not in _OF_ALL]
    for group, metrics in by_group.items():
        yield Charts(f"Flows of {group}", _charts_of(view, metrics))
    heading = "Queue and all flows together" if by_group else "Metrics"
    yield Charts(heading, _charts_of(view, [metric for metric in together if metric not in mixed]))
    if mixed:
        yield Charts("Means over the flows of all groups", _charts_of(view, mixed), folded=True)


def _charts_of(view: _View, metrics: Sequence[str]) -> list[Chart]:
    return [chart for metric in metrics for chart in _of_metric(view, metric)]


def _of_metric(view: _View, metric: str) -> Iterator[Chart]:
    values = view.values(metric)
    if not view.axes or not np.isfinite(values).any() or not np.nan_to_num(values).any():
        return
    quantity = metric.rpartition(".")[2]
    unit = scale(quantity, float(np.nanmax(np.abs(values))))
    grid = is_grid(view.axes, len(values))
    along = view.numbers
    for axis in along if not grid else along[:1]:
        yield _against(view, axis, metric, unit, grid=grid)
    if grid and len(along) > 1:
        yield from _maps(view, along[0], along[1], metric, unit)


def _against(view: _View, axis: Axis, metric: str, unit: Scale, *, grid: bool) -> Lines:
    """Return a metric along one axis, with a line for each combination of the others."""
    values, halves = view.values(metric) / unit.divisor, view.values(metric + CI) / unit.divisor
    others = [other for other in view.axes if other.is_number and other is not axis]
    groups = view.groups([axis] if grid else [axis, *others])
    y_log = is_wide(values)
    lines = []
    joined = True
    for name, members in list(groups.items())[:MOST_LINES]:
        order = sorted(members, key=lambda row: axis.places[row])
        joined = joined and (grid or goes_along(axis, members))
        half = np.nan_to_num(halves[order])
        shown = values[order]
        low = shown - half
        if y_log:
            # An interval that reaches zero has no end on a logarithmic axis.
            low = np.where(low > 0.0, low, shown / 10.0)
        lines.append(Line(name or view.title(metric), axis.places[order], shown, low, shown + half))
    left = len(groups) - len(lines)
    note = f"{left} more combinations are in the table." if left > 0 else ""
    return Lines(
        f"{view.title(metric)} against {_last(axis)}",
        axis.label,
        with_unit(view.title(metric), unit),
        lines,
        "marked" if joined else "points",
        x_log=axis.log,
        y_log=y_log,
        x_names=None if axis.is_number else axis.names,
        x_ticks=np.unique(axis.places).tolist() if len(axis.names) <= _MOST_TICKS else None,
        note=note,
    )


def _maps(view: _View, x: Axis, y: Axis, metric: str, unit: Scale) -> Iterator[Heat]:
    """Yield the metric over two axes, one map for each combination of the others."""
    values, halves = view.values(metric) / unit.divisor, view.values(metric + CI) / unit.divisor
    x_ranks, y_ranks = x.ranks(), y.ranks()
    span = (float(np.nanmin(values)), float(np.nanmax(values)))
    groups = view.groups([x, y])
    for index, (name, members) in enumerate(groups.items()):
        if index == _MOST_MAPS:
            return
        shape = (len(y_ranks), len(x_ranks))
        table, spread = np.full(shape, np.nan), np.full(shape, np.nan)
        for row in members:
            at = (y_ranks[float(y.places[row])], x_ranks[float(x.places[row])])
            table[at], spread[at] = values[row], halves[row]
        left = len(groups) - _MOST_MAPS if index == _MOST_MAPS - 1 else 0
        note = f"{left} more combinations are in the table." if left > 0 else ""
        heading = f"{view.title(metric)}: {name}" if name else view.title(metric)
        yield Heat(heading, x.label, y.label, x.names, y.names, table, spread, unit.unit, span, note)


def _over_time(view: _View, folder: Path) -> list[Chart]:
    """Goodput of all flows and queues over time, of the first run of each point."""
    points = view.sweep.points.select("point", *view.sweep.keys).rows()
    names = {point: _named(view.axes, values) for point, *values in points}
    firsts = view.sweep.runs.filter(pl.col("digest").is_not_null()).group_by("point", maintain_order=True).first()
    wanted = dict(firsts.select("point", "run").head(MOST_LINES).rows())
    outcomes = _outcomes(Store(folder / RUNS), wanted)
    left = len(names) - len(outcomes)
    note = f"The first {len(outcomes)} of {len(names)} points." if left > 0 else ""
    charts: list[Chart] = []
    sums = {}
    queues: dict[str, dict[str, Line]] = {}
    for point, outcome in outcomes.items():
        goodput = [one for one in outcome.series if (one.of, one.quantity) == ("flow", "goodput_bps")]
        if goodput and (line := total(goodput, names[point])) is not None:
            sums[point] = line
        for one in outcome.series:
            if (one.of, one.quantity) == ("queue", "length_packets"):
                queues.setdefault(one.name, {})[names[point]] = Line(names[point], one.times(), one.values)
    if sums:
        unit = scale("goodput_bps", max(float(np.nanmax(line.y, initial=0.0)) for line in sums.values()))
        lines = [Line(line.name, line.x, line.y / unit.divisor) for line in sums.values()]
        charts.append(against_time("Goodput of all flows over time", label("goodput_bps", unit), lines, note=note))
    return charts + queues_over_time({queue: list(found.values()) for queue, found in queues.items()}, note)


def _outcomes(store: Store, wanted: Mapping[int, str]) -> dict[int, Outcome]:
    """Return the outcomes of those files, by their points; of a file that is gone or damaged, none."""
    found = {point: store.read(file) for point, file in wanted.items()}
    return {point: outcome for point, outcome in found.items() if isinstance(outcome, Outcome)}
