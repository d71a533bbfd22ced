"""Figures of a replay."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from forebay.display.figure import COLOURS, Figure, draw_delays, line_styles, literal, new_figure, save_figures, style
from forebay.display.quantity import Scale, label, scale, text_with_unit, time_scale
from forebay.errors import InputError

if TYPE_CHECKING:
    from .result import ReplayResult

_MOST_FLOWS = 20
_MOST_COUNTS = 200
_PANELS = ("length_mean_packets", "delay_mean_s", "packets_dropped", "packets_marked")
_MARKERS = "oDs^vPX"


class ReplayPlots:
    """The figures of a replay, as `result.plot`.

    Each method returns a matplotlib figure. Save it with `savefig`; a notebook shows it by itself.

    Example:
        >>> capture = "examples/belligerent.pcap.gz"
        >>> replayed = fb.replay(capture, rate="20 Mbps", queue="dbl")
        >>> replayed.plot.flows().savefig("flows.png")

    """

    def __init__(self, result: ReplayResult) -> None:
        self._result = result

    def queues(self) -> Figure:
        """Draw length, delay, drops and marks of each queue over time. Quantities that stay at zero are left out."""
        result = self._result
        panels = [quantity for quantity in _PANELS if self._is_drawn(quantity)] or list(_PANELS[:1])
        with style():
            figure = new_figure(figsize=(6.4, 0.8 + 1.9 * len(panels)))
            column = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
            for axes, quantity in zip(column, panels, strict=True):
                self._draw_over_time(axes, quantity)
            name, rate = literal(Path(result.capture).name), text_with_unit("rate_bps", result.rate_bps)
            column[0].set_title(f"{name}: {rate}")
            time = time_scale(result.duration_s)
            column[-1].set_xlabel(label("time_s", time))
            column[-1].set_xlim(0, result.duration_s / time.divisor)
            handles, labels = column[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=4)
        return figure

    def flows(self) -> Figure:
        """Draw the share dropped and the 99th percentile of delay at each queue, of the 20 flows with most packets."""
        result = self._result
        chosen = (
            result.flows.group_by("flow", maintain_order=True)
            .agg(pl.col("packets").first())
            .sort("packets", descending=True, maintain_order=True)
            .head(_MOST_FLOWS)
            .get_column("flow")
            .to_list()
        )
        delay = scale("delay_s", _largest(result.flows.get_column("delay_p99_s")))
        with style():
            figure = new_figure(figsize=(8.4, 1.4 + 0.32 * len(chosen)))
            dropped, delays = figure.subplots(1, 2, sharey=True)
            names = result.queues.get_column("queue").to_list()
            for index, name in enumerate(names):
                rows = result.flows.filter(pl.col("queue") == name)
                of_flow = {row["flow"]: row for row in rows.iter_rows(named=True)}
                flows = [of_flow[flow] for flow in chosen]
                # Side by side within the row of the flow, so that equal values do not hide each other.
                at = np.arange(len(flows)) + (index - (len(names) - 1) / 2) * min(0.2, 0.7 / len(names))
                look = {"color": COLOURS[index % len(COLOURS)], "marker": _MARKERS[index % len(_MARKERS)]}
                shares = [100 * row["packets_dropped"] / row["packets"] for row in flows]
                p99 = [np.nan if row["delay_p99_s"] is None else row["delay_p99_s"] / delay.divisor for row in flows]
                dropped.plot(shares, at, linestyle="none", markersize=5, label=name, clip_on=False, **look)
                delays.plot(p99, at, linestyle="none", markersize=5, clip_on=False, **look)
            dropped.set_yticks(np.arange(len(chosen)), chosen)
            dropped.set_ylim(len(chosen) - 0.4, -0.6)
            dropped.set_xlabel("Packets dropped (%)")
            delays.set_xlabel(f"Delay, 99th percentile ({delay.unit})")
            for axes in (dropped, delays):
                axes.set_xlim(left=0)
            figure.legend(loc="outside upper right", ncols=4)
        return figure

    def delay_distribution(self) -> Figure:
        """Draw, for each queue, the share of delivered packets with no more than a delay.

        The delays come from the histogram that the replay keeps of all packets.

        Raises:
            InputError: If no packet was delivered, or an older version wrote the result.

        """
        distribution = self._result.delay_distribution()
        if distribution.is_empty():
            message = "the result has no histogram of delays\nhint: replay the capture again with this version"
            raise InputError(message)
        with style():
            figure = new_figure(figsize=(6.4, 3.4))
            draw_delays(figure.subplots(), distribution, "queue")
            figure.legend(loc="outside upper right", ncols=4)
        return figure

    def save_all(self, folder: Path) -> list[Path]:
        """Draw every figure into files of a folder, as PNG and SVG, and return the paths of the files.

        Either all of them appear or none.

        Args:
            folder: Where to write.

        Raises:
            InputError: If the folder cannot be written.

        """
        figures = {"queues": self.queues(), "flows": self.flows()}
        if self._result.delays.height:
            figures["delay-distribution"] = self.delay_distribution()
        return save_figures(figures, folder)

    def _is_drawn(self, quantity: str) -> bool:
        return any(_peak(series.values) > 0 for series in self._result.find_series(quantity=quantity))

    def _draw_over_time(self, axes: Axes, quantity: str) -> None:
        chosen = self._result.find_series(quantity=quantity)
        unit = scale(quantity, max((_peak(series.values) for series in chosen), default=0.0))
        # Counts of short intervals would cover each other.
        together = _together(len(chosen[0].values)) if quantity.startswith("packets_") else 1
        for series, look in zip(chosen, line_styles(), strict=False):
            starts = np.arange(0, len(series.values), together)
            axes.plot(
                series.time_s[starts] / time_scale(self._result.duration_s).divisor,
                (np.add.reduceat(series.values, starts) if together > 1 else series.values) / unit.divisor,
                drawstyle="steps-post",
                linewidth=1.0,
                label=series.name,
                **look,
            )
        axes.set_ylabel(_axis_label(quantity, unit, together * chosen[0].interval_s))
        axes.set_ylim(bottom=0)


def _axis_label(quantity: str, unit: Scale, interval_s: float) -> str:
    if quantity.startswith("packets_"):
        what = quantity.removeprefix("packets_").capitalize()
        return f"{what}\n(packets in {text_with_unit('interval_s', interval_s)})"
    return label(quantity, unit).replace(" (", "\n(")


def _together(values: int) -> int:
    """Return how many values become one, so that a line has 200 at most: 1, 2, 5, 10, …"""
    steps = (step * int(10**power) for power in range(10) for step in (1, 2, 5))
    return next(step for step in steps if values <= step * _MOST_COUNTS)


def _peak(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.max()) if finite.size else 0.0


def _largest(column: pl.Series) -> float:
    largest = column.max()
    return float(largest) if isinstance(largest, int | float) else 0.0
