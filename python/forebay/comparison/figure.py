"""The figure of a comparison: a row for each queue, a panel for each question."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator
from numpy.typing import NDArray

from forebay.display.figure import COLOURS, Figure, is_wide, literal, new_figure, style
from forebay.display.measured import Column, link_section, size_text

from .table import columns_of, even_share, measured_text

if TYPE_CHECKING:
    from .numbers import Numbers

_LOOKS = tuple(zip(COLOURS, "oDs^vPX", strict=True))
# Values that lie further apart are drawn on a logarithmic axis.
_SPREAD = 20.0


_PANELS = {
    "Goodput of a flow": 2.3,
    "Fairness": 1.2,
    "Loss": 1.6,
    "Delay": 1.6,
    "Link used": 1.1,
    "State": 1.2,
    "CPU time": 1.2,
}
"""The panels, and their relative widths."""


def draw(comparison: Numbers) -> Figure:
    """Goodput, fairness, loss, delay, the link, state and CPU time side by side."""
    columns = columns_of(comparison, every=True)
    by_section = {section: [it for it in columns if it.section == section] for section in _sections(columns)}
    names = comparison.table.get_column("queue").to_list()
    with style():
        figure = new_figure(figsize=(14.0, 2.0 + 0.26 * len(names)))
        all_axes = figure.subplots(1, len(_PANELS), sharey=True, width_ratios=list(_PANELS.values()))
        for axes, title in zip(all_axes, _PANELS, strict=True):
            _prepare(axes, title, len(names))
            axes.tick_params(labelleft=axes is all_axes[0])
        goodput, fairness, loss, delay, used, state, cpu = all_axes
        _dots(goodput, by_section["Goodput of a flow"], "per flow")
        if not comparison.several_queues:
            _even_share(goodput, comparison, by_section["Goodput of a flow"][0])
        _bars(fairness, by_section["Fairness"][0], "Jain's index, all flows")
        _dots(loss, [it for it in by_section["Loss"] if it.heading != "all"], "of packets at the queue")
        _spans(delay, by_section["Delay"])
        section = link_section(several_queues=comparison.several_queues)
        _bars(used, by_section[section][0], "mean of all ports" if comparison.several_queues else "of its rate")
        _memory(state, by_section["Cost"][0])
        _bars(cpu, by_section["Cost"][1], "")
        goodput.set_yticks(np.arange(len(names)), [literal(name) for name in names])
        goodput.set_ylim(len(names) - 0.4, -0.6)
        handles, labels = goodput.get_legend_handles_labels()
        more = delay.get_legend_handles_labels()
        figure.legend(handles + more[0], labels + more[1], loc="outside lower center", ncols=7)
        figure.align_xlabels()
        heading = f"{comparison.scenario}:  {measured_text(comparison).replace('   ', ',  ')}"
        figure.suptitle(literal(heading), x=0.01, ha="left")
    return figure


def _sections(columns: list[Column]) -> list[str]:
    return list(dict.fromkeys(column.section for column in columns))


def _prepare(axes: Axes, title: str, rows: int) -> None:
    axes.set_title(title)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    for row in range(0, rows, 2):
        axes.axhspan(row - 0.5, row + 0.5, color="#f2f2f2", linewidth=0, zorder=0)


def _error(column: Column) -> NDArray[np.float64] | None:
    """Half the intervals, where there are some."""
    found = column.halves
    return None if np.isnan(found).all() else np.nan_to_num(found)


def _dots(axes: Axes, columns: list[Column], what: str) -> None:
    """One mark for each group of flows in each row, with its interval."""
    positions = np.arange(len(columns[0].values))
    offsets = np.linspace(-0.2, 0.2, len(columns)) if len(columns) > 1 else [0.0]
    for column, (colour, marker), offset in zip(columns, cycle(_LOOKS), offsets):
        axes.errorbar(
            column.numbers,
            positions + offset,
            xerr=_error(column),
            fmt=marker,
            color=colour,
            markersize=4.5,
            elinewidth=0.8,
            label=literal(column.heading),
        )
    together = np.concatenate([column.numbers for column in columns])
    known = together[np.isfinite(together) & (together > 0)]
    if columns[0].most is not None:
        axes.set_xlim(-0.03 * columns[0].most, 1.03 * columns[0].most)
    elif known.size and known.max() > _SPREAD * np.median(known):
        # Linear up to where a quarter of the values lies: zero stays on the axis.
        threshold = float(10 ** np.floor(np.log10(np.percentile(known, 25))))
        axes.set_xscale("symlog", linthresh=threshold)
        axes.set_xlim(-0.3 * threshold, 2 * float(known.max()))
    else:
        most = float(known.max()) if known.size else 1.0
        axes.set_xlim(-0.03 * most, 1.08 * most)
    axes.set_xlabel(f"{columns[0].unit} {what}")


def _even_share(axes: Axes, comparison: Numbers, column: Column) -> None:
    """Draw the link's rate divided by the number of flows."""
    axes.axvline(
        even_share(comparison, column),
        color="#666666",
        linestyle=":",
        linewidth=1.0,
        label="link's rate / flows",
        zorder=1,
    )


def _bars(axes: Axes, column: Column, what: str) -> None:
    values = column.numbers
    axes.barh(
        np.arange(len(values)),
        values,
        height=0.62,
        color=COLOURS[5],
        xerr=_error(column),
        error_kw={"elinewidth": 0.8, "ecolor": "#333333"},
    )
    if column.most is not None:
        axes.set_xlim(0, column.most * 1.02)
    axes.set_xlabel(f"{column.unit} {what}".strip())


def _memory(axes: Axes, column: Column) -> None:
    """Memory spans many powers of ten: marks on a logarithmic axis, for a bar would begin nowhere."""
    values = column.numbers
    axes.plot(values, np.arange(len(values)), "s", color=COLOURS[0], markersize=5)
    if np.nanmax(values, initial=0.0) > 0:
        axes.set_xscale("log")
        axes.set_xlim(float(np.nanmin(values[values > 0])) / 3, float(np.nanmax(values)) * 3)
        axes.xaxis.set_major_locator(LogLocator(base=100))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size_text(value)))
    axes.set_xlabel("of memory")


def _spans(axes: Axes, columns: list[Column]) -> None:
    """From the median to the 99th percentile, of each group of flows."""
    pairs = list(zip(columns[::2], columns[1::2], strict=True))
    offsets = np.linspace(-0.2, 0.2, len(pairs)) if len(pairs) > 1 else [0.0]
    found: list[NDArray[np.float64]] = []
    for (median, tail), (colour, _), offset in zip(pairs, cycle(_LOOKS), offsets):
        low, high = median.numbers, tail.numbers
        positions = np.arange(len(low)) + offset
        first = not found
        axes.hlines(positions, low, high, color=colour, linewidth=1.4)
        axes.plot(low, positions, "|", color=colour, markersize=7, label="delay p50" if first else None)
        axes.plot(high, positions, "d", color=colour, markersize=4, label="delay p99" if first else None)
        found += [low, high]
    if is_wide(np.concatenate(found)):
        axes.set_xscale("log")
        # Between powers of ten there is no room for numbers.
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(left=0)
    axes.set_xlabel(f"{columns[0].unit} one way")
