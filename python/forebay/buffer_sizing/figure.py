"""The figure of a search: measured values against the size of the buffer, with the rules of thumb."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from forebay.display.figure import COLOURS, Figure, new_figure, style
from forebay.display.quantity import Scale, scale

from .answer import size_text
from .targets import DROP_RATE, Target, Verdict, value_text

if TYPE_CHECKING:
    from .result import BufferSize

_MARKS = {Verdict.REACHED: COLOURS[2], Verdict.FAILED: COLOURS[1], Verdict.UNDECIDED: "white"}
_GREY = "#555555"


def draw(size: BufferSize) -> Figure:
    """Return a panel for each target, over the sizes on a logarithmic axis."""
    with style():
        figure = new_figure(figsize=(6.8, 1.4 + 2.9 * len(size.targets)))
        column = figure.subplots(len(size.targets), 1, sharex=True, squeeze=False)[:, 0]
        low, high = _range(size)
        for index, (axes, target) in enumerate(zip(column, size.targets, strict=True)):
            axes.set_xscale("log")
            axes.set_xlim(low, high)
            _measured(axes, size, target)
            _answer(axes, size)
            _rules(axes, size, named=index == 0)
        last = column[-1]
        last.set_xlabel(f"Buffer ({size.unit})")
        _plain_ticks(last.xaxis)
        handles, labels = column[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
        figure.suptitle(f"{size.scenario}: queue {size.queue}", x=0.01, ha="left", fontsize="medium")
    return figure


def _plain_ticks(axis: Axis) -> None:
    """Numbers at 1, 2, 5 and their multiples on a logarithmic axis."""
    axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0), numticks=30))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _range(size: BufferSize) -> tuple[float, float]:
    """Return the range of the sizes measured, with those rules of thumb that do not lie far outside."""
    least, most = size.points[0].buffer, size.points[-1].buffer
    rules = [] if size.rules is None else [size.rules.bandwidth_delay, size.rules.bandwidth_delay_over_sqrt_flows]
    near = [value for value in rules if most < value < 30 * most]
    low = min(least, size.rules.log_window if size.rules is not None and size.rules.log_window >= 1 else least)
    return 0.8 * low, 1.3 * max(most, *near, least + 1)


def _measured(axes: Axes, size: BufferSize, target: Target) -> None:
    name = target.metric.name
    known = [point for point in size.points if math.isfinite(point.intervals[name].mean)]
    sizes = np.array([point.buffer for point in known], dtype=np.float64)
    means = np.array([point.intervals[name].mean for point in known])
    half = np.array([point.intervals[name].ci95 or 0.0 for point in known])
    unit = Scale(0.01, "%") if not name.endswith("_s") else scale(name, float(max(means, default=target.value)))
    axes.plot(sizes, means / unit.divisor, color=COLOURS[0], linewidth=1.0, zorder=2)
    axes.errorbar(
        sizes,
        means / unit.divisor,
        half / unit.divisor,
        fmt="none",
        ecolor=COLOURS[0],
        elinewidth=1.0,
        capsize=2,
        zorder=2,
    )
    for verdict, colour in _MARKS.items():
        chosen = np.array([point.verdicts[target] is verdict for point in known], dtype=bool)
        axes.plot(
            sizes[chosen],
            means[chosen] / unit.divisor,
            "o",
            color=colour,
            markeredgecolor=COLOURS[0],
            markersize=5,
            label=str(verdict),
            zorder=3,
        )
    bound = "≥" if target.metric.at_least else "≤"
    wanted = f"target {bound} {value_text(name, target.value)}"
    axes.axhline(target.value / unit.divisor, color=COLOURS[0], linestyle="--", linewidth=1.0)
    axes.annotate(
        wanted,
        (1.0, target.value / unit.divisor),
        (-2, 3),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="right",
        va="bottom",
        fontsize="small",
        color=COLOURS[0],
    )
    axes.set_ylabel(f"{target.metric.title[0].upper()}{target.metric.title[1:]} ({unit.unit})")
    if target.metric is DROP_RATE and float(min(means, default=0.0)) > 0:
        axes.set_yscale("log")
        _plain_ticks(axes.yaxis)
    elif target.metric.at_least:
        axes.set_ylim(0, 102)
    else:
        axes.set_ylim(bottom=0)


def _answer(axes: Axes, size: BufferSize) -> None:
    """Draw the size found, and the range where it is not sure."""
    if size.buffer is None:
        return
    if size.range is not None and not size.confident:
        axes.axvspan(*size.range, color=COLOURS[5], alpha=0.25, linewidth=0, zorder=0)
    axes.axvline(size.buffer, color="black", linewidth=1.4, zorder=1, label=size_text(size.buffer, size.unit))


def _rules(axes: Axes, size: BufferSize, *, named: bool) -> None:
    if size.rules is None:
        return
    low, high = axes.get_xlim()
    lines = (
        ("ln W", size.rules.log_window),
        ("RTT·C/√N", size.rules.bandwidth_delay_over_sqrt_flows),
        ("RTT·C", size.rules.bandwidth_delay),
    )
    for name, value in lines:
        if not low <= value <= high:
            continue
        axes.axvline(value, color=_GREY, linestyle=":", linewidth=1.1, zorder=1)
        if named:
            axes.annotate(
                f"{name} = {value:,.3g}" if value < 1000 else f"{name} = {value:,.0f}",
                (value, 1.0),
                (0, 3),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize="small",
                color=_GREY,
            )
