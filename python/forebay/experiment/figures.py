"""The figures of an experiment, in the paper's axes, as PNG and SVG."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from cycler import cycler

from forebay.display.figure import Figure as Canvas
from forebay.fair_rates.ethernet import EthernetLoad

from .coordinates import Coordinates
from .errors import ExperimentError, NotRunError
from .tables import Row, table_rows

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from forebay.runs.outcome import Outcome
    from forebay.runs.statistics import Estimate

    from .figure_schema import FairShareLine, Figure, FlowValues, Line, SeriesLine
    from .runs import Runs
    from .schema import Table

_STYLES: dict[str, dict[str, Any]] = {
    "line": {"linestyle": "-", "marker": "o", "markersize": 3.5},
    "dashed": {"linestyle": "--"},
    "points": {"linestyle": "none", "marker": "o", "markersize": 4},
}
_LEVEL: dict[str, Any] = {"color": "grey", "linewidth": 0.9, "linestyle": ":", "zorder": 3}
# The colours of Okabe and Ito, told apart by colour-blind readers as well, and a grey.
_COLOURS = ["#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000", "#999999"]
_RC: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.prop_cycle": cycler(color=_COLOURS),
    "svg.fonttype": "none",
    # Equal results give equal files.
    "svg.hashsalt": "forebay",
}


def draw_figures(runs: Runs, folder: Path) -> list[Path]:
    """Draw every figure of the experiment; return the files written."""
    written = []
    for figure in runs.experiment.figures:
        with mpl.rc_context(_RC):
            canvas = draw_figure(runs, figure)
            for suffix in (".png", ".svg"):
                path = folder / f"{figure.file}{suffix}"
                canvas.savefig(path, dpi=160, metadata={"Date": None} if suffix == ".svg" else None)
                written.append(path)
    return written


@mpl.rc_context(_RC)
def draw_figure(runs: Runs, figure: Figure) -> Canvas:
    """One figure. It belongs to no window, so that threads do not meet; a notebook shows it by itself."""
    canvas = Canvas(figsize=(6.0, 3.8), layout="constrained")
    axes = canvas.add_subplot()
    match figure.kind:
        case "lines":
            _draw_lines(axes, runs, figure)
        case "series":
            _draw_series(axes, runs, figure)
        case "bars":
            table = next(table for table in runs.experiment.tables if table.title == figure.table)
            _draw_bars(axes, table, table_rows(runs, table), figure)
        case "flows":
            _draw_flows(axes, runs, figure)
        case "histogram":
            _draw_histogram(axes, runs, figure)
    for paper in figure.paper:
        axes.plot(paper.x, paper.y, "x", color="black", label=paper.label, markersize=6)
    for level in figure.levels:
        axes.axhline(level.y, **_LEVEL)
        _name_level(axes, level.label, level.y)
    for line in figure.fair_shares:
        _draw_fair_share(axes, runs, figure, line)
    _dress(axes, figure)
    return canvas


def _name_level(axes: Axes, label: str, y: float) -> None:
    """Name a level outside the axes, where no line can cross it."""
    place: Any = {"xytext": (4, 0), "textcoords": "offset points", "va": "center", "fontsize": 8}
    axes.annotate(label, (1.0, y), xycoords=("axes fraction", "data"), **place)


def _draw_fair_share(axes: Axes, runs: Runs, figure: Figure, line: FairShareLine) -> None:
    """Draw a level that moves when flows begin or end, or a rate of service changes."""
    base = runs.base()
    at = Coordinates(base.setting, line.variant or base.variant, base.x if line.x is None else line.x)
    load = EthernetLoad.from_toml(runs.scenario_at(at))
    names = [source.name for source in load.sources]
    if line.flow not in names:
        message = f"{runs.experiment.id}: figure `{figure.file}`: there is no flow {line.flow}"
        raise ExperimentError(message, line)
    steps = load.fair_shares_over_time(line.fairness)
    times = [time for begin, end, _ in steps for time in (begin, end)]
    rates = [float(shares[names.index(line.flow)]) for _, _, shares in steps for _ in range(2)]
    axes.plot(np.array(times) * figure.x_scale, np.array(rates) * figure.y_scale, **_LEVEL)
    _name_level(axes, line.label, rates[-1] * figure.y_scale)


def _dress(axes: Axes, figure: Figure) -> None:
    """Title, labels, ranges and legend."""
    axes.set(title=figure.title, xlabel=figure.x_label, ylabel=figure.y_label)
    if figure.x_log:
        axes.set_xscale("log")
    if figure.y_log:
        axes.set_yscale("log")
    if figure.x_range:
        axes.set_xlim(*figure.x_range)
    if figure.y_range:
        axes.set_ylim(*figure.y_range)
    elif not figure.y_log:
        axes.set_ylim(bottom=0)
    handles, _ = axes.get_legend_handles_labels()
    if 1 < len(handles) <= 12:
        axes.legend(frameon=False)


def _draw_lines(axes: Axes, runs: Runs, figure: Figure) -> None:
    colours: dict[str, str] = {}
    for line in figure.lines:
        # Lines of one variant share its colour: measured and formula, say.
        colour = colours.setdefault(line.variant or line.label, _COLOURS[len(colours) % len(_COLOURS)])
        xs, estimates = _line_points(runs, line)
        if not xs:
            continue
        means = np.array([estimate.mean for estimate in estimates]) * figure.y_scale
        errors = np.array([estimate.ci95 or 0.0 for estimate in estimates]) * figure.y_scale
        axes.errorbar(
            np.array(xs) * figure.x_scale,
            means,
            yerr=errors if errors.any() else None,
            label=line.label,
            color=colour,
            capsize=2,
            **_STYLES[line.style],
        )


def _line_points(runs: Runs, line: Line) -> tuple[list[float], list[Estimate]]:
    """Return the points of a line that this call has run."""
    base = runs.base()
    if line.variants is not None and line.number is not None:
        numbers = {name: runs.experiment.variant(name).numbers[line.number] for name in line.variants}
        places = [(x, replace(base, variant=name)) for name, x in numbers.items()]
    else:
        variant = line.variant or base.variant
        places = [(x, replace(base, variant=variant, x=x)) for x in runs.xs(base.setting, variant)]
    xs, estimates = [], []
    for x, at in places:
        try:
            estimates.append(runs.evaluate_one_estimate(line.metric, at))
        except NotRunError:
            if not runs.quick:
                raise
            continue
        xs.append(x)
    return xs, estimates


def _draw_series(axes: Axes, runs: Runs, figure: Figure) -> None:
    for line, colour in zip(figure.series, itertools.cycle(_COLOURS)):
        base = runs.base()
        at = Coordinates(base.setting, line.variant or base.variant, base.x if line.x is None else line.x)
        # One run is shown, that of the first seed: a mean over seeds would smear the steps that matter.
        outcome = next(iter(_outcomes(runs, at)), None)
        if outcome is None:
            continue
        for index, name in enumerate(_series_names(line, outcome.group(line.group) if line.group else [])):
            series = outcome.find_series(line.of, name, line.quantity)
            if series is None:
                message = (
                    f"{runs.experiment.id}: figure `{figure.file}`: there is no series {line.of} {name} {line.quantity}"
                )
                raise ExperimentError(message, line)
            axes.plot(
                series.times() * figure.x_scale,
                series.values * figure.y_scale,
                linestyle="--" if line.style == "dashed" else "-",
                linewidth=0.9 if line.group else 1.4,
                alpha=0.7 if line.group else 1.0,
                color=colour,
                label=line.label if index == 0 else None,
            )


def _outcomes(runs: Runs, at: Coordinates) -> list[Outcome]:
    """Return the outcomes there, one for each seed; none where a quick run leaves them out."""
    try:
        return runs.outcomes_at(at)
    except NotRunError:
        if not runs.quick:
            raise
        return []


def _series_names(line: SeriesLine, flows: list[str]) -> list[str]:
    if line.group is None:
        return [line.name]
    return [f"{line.name}/{flow}" for flow in flows] if line.of == "queue_flow" else flows


def _draw_bars(axes: Axes, table: Table, rows: list[Row], figure: Figure) -> None:
    """Draw groups of bars: a group for each column, a bar for each row, and a cross for the paper's value."""
    positions = np.arange(len(table.columns), dtype=np.float64)
    width = 0.8 / len(rows)
    drawn = False
    for index, row in enumerate(rows):
        offsets = positions + (index - 0.5 * (len(rows) - 1)) * width
        means = np.array([estimate.mean for estimate in row.measured]) * figure.y_scale
        errors = np.array([estimate.ci95 or 0.0 for estimate in row.measured]) * figure.y_scale
        axes.bar(offsets, means, width, yerr=errors, label=row.label, capsize=1.5, error_kw={"linewidth": 0.8})
        numbers = [
            (x, cell * figure.y_scale)
            for x, cell in zip(offsets, row.paper or [], strict=False)
            if not isinstance(cell, str)
        ]
        if numbers:
            axes.plot(*zip(*numbers, strict=True), "x", color="black", label=None if drawn else "paper")
            drawn = True
    axes.set_xticks(positions, [column.label for column in table.columns])
    axes.grid(visible=False, axis="x")


def _draw_flows(axes: Axes, runs: Runs, figure: Figure) -> None:
    """Draw a point for each flow of the first seed's run, in the order of the flows."""
    for values, colour in zip(figure.flows, itertools.cycle(_COLOURS)):
        first = next(iter(_flow_values(runs, values, figure)), np.empty(0))
        numbers = np.arange(1, len(first) + 1)
        axes.plot(numbers, first * figure.y_scale, ".", markersize=3.5, color=colour, label=values.label)


def _draw_histogram(axes: Axes, runs: Runs, figure: Figure) -> None:
    """Draw the share of the flows of all seeds in each bin; values outside count in the bins at the ends."""
    # A figure of this kind has both: its schema asks for them.
    low, high = figure.x_range or [0.0, 1.0]
    bins = max(1, round((high - low) / (figure.bin_width or 1.0)))
    edges = np.linspace(low, high, bins + 1)
    for values, colour in zip(figure.flows, itertools.cycle(_COLOURS)):
        found = _flow_values(runs, values, figure)
        if not found:
            continue
        pooled = np.concatenate(found) * figure.x_scale
        counts, _ = np.histogram(np.clip(pooled, low, high), edges)
        axes.stairs(counts / len(pooled) * figure.y_scale, edges, color=colour, label=values.label, linewidth=1.4)


def _flow_values(runs: Runs, values: FlowValues, figure: Figure) -> list[NDArray[np.float64]]:
    """Return the column for each flow of the group, one array for each seed."""
    base = runs.base()
    at = Coordinates(base.setting, values.variant or base.variant, base.x if values.x is None else values.x)
    found = []
    for outcome in _outcomes(runs, at):
        flows = outcome.tables["flows"]
        if values.column not in flows:
            message = f"{runs.experiment.id}: figure `{figure.file}`: there is no column `{values.column}`"
            raise ExperimentError(message, values)
        found.append(flows[values.column][flows["group"] == values.group].astype(np.float64))
    return found
