"""Figures of one result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from .display.figure import (
    COLOURS,
    Figure,
    draw_delays,
    is_wide,
    line_styles,
    literal,
    new_figure,
    save_figures,
    style,
    write_plainly,
)
from .display.quantity import label, scale, time_scale, title, with_unit
from .display.states import Periods, colours_of, under_curves
from .errors import InputError
from .runs.completion import slowdown_curves
from .runs.congestion import OF_PORTS, busiest_first
from .runs.senders import Panel, Sender, sender_of, watched_senders
from .runs.series import Series, SeriesKind, while_active, with_gaps_filled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .result import Result

# More flows than this are drawn as one mark for each group, more lines than this as one band.
_MOST_MARKS = 20
_MOST_LINES = 14
# Of more queues than this, those with the greatest mean are drawn.
_MOST_QUEUES = 8
# Of more senders than this, the first are drawn.
_MOST_SENDERS = 8
_OF_VIDEOS = ("video_bitrate_bps", "video_buffer_s")
# Samples of which a point of a mean over time is made, as in flent.
_SMOOTHED = 10
# The lines of a sender's panel. Often the second covers the first, which is wider.
_SENDER_LINES: tuple[dict[str, Any], ...] = (
    {"color": COLOURS[0], "linewidth": 2.0, "alpha": 0.6},
    {"color": COLOURS[1], "linewidth": 0.9},
    {"color": COLOURS[6], "linewidth": 1.2, "linestyle": "--"},
)


class Plots:
    """The figures of a result, as `result.plot`.

    Each method returns a matplotlib figure. Save it with `savefig`; a notebook shows it by itself.

    Example:
        >>> short = {"duration": "2 s", "warmup": "1 s"}
        >>> result = fb.run("examples/first.toml", overrides=short)
        >>> result.plot.queue("bottleneck").savefig("queue.png")

    """

    def __init__(self, result: Result) -> None:
        self._result = result

    def goodput(self) -> Figure:
        """Draw the goodput of each flow. Of more than 20 flows, draw the mean of each group with its range."""
        return self._flow_bars("goodput_bps", "goodput")

    def delay(self) -> Figure:
        """Draw the one-way delay of each flow: the mean and the 99th percentile."""
        flows = self._result.flows.filter(pl.col("delay_mean_s").is_not_null())
        with style():
            figure, axes = self._figure("one-way delay")
            rows = _by_flow_or_group(flows, ["delay_mean_s", "delay_p99_s"])
            positions = np.arange(rows.height)
            unit = scale("delay_s", _largest(rows.get_column("delay_p99_s")))
            mean = rows.get_column("delay_mean_s").to_numpy() / unit.divisor
            tail = rows.get_column("delay_p99_s").to_numpy() / unit.divisor
            axes.hlines(positions, mean, tail, color="#999999", linewidth=1.2)
            axes.plot(mean, positions, "o", color=COLOURS[0], label="mean", linestyle="none")
            axes.plot(tail, positions, "D", color=COLOURS[1], label="99th percentile", linestyle="none", markersize=5)
            _name_rows(axes, rows.get_column("label").to_list())
            axes.set_xlabel(label("delay_s", unit))
            axes.set_xlim(left=0)
            figure.legend(loc="outside upper right", ncols=2)
        return figure

    def delay_distribution(self) -> Figure:
        """Draw, for each group of flows, the share of delivered packets with no more than a delay.

        The delays come from the histogram that the engine keeps of all packets.

        Raises:
            InputError: If no packet was delivered, or an older version wrote the result.

        """
        distribution = self._result.delay_distribution()
        if distribution.is_empty():
            message = "the result has no histogram of delays\nhint: run the scenario again with this version"
            raise InputError(message)
        with style():
            figure, axes = self._figure("one-way delay of packets")
            draw_delays(axes, distribution, "group")
            figure.legend(loc="outside upper right", ncols=4)
        return figure

    def ports(self) -> Figure:
        """Draw the ports of an Ethernet over time: their queues, the share of time stopped by PAUSE, and their memory.

        The most congested ports come first. Ports that stay at zero are left out.

        Raises:
            InputError: If the run recorded no ports of an Ethernet.

        """
        return self._panels(
            [one for one in self._result.find_series("queue") if one.quantity in ("length_bytes", *OF_PORTS)], "ports"
        )

    def queue(self, name: str, quantity: str = "length_packets") -> Figure:
        """Draw a queue over time, with its mean.

        Args:
            name: The queue. The scenario must record it: `[probes] series = ["queues"]`.
            quantity: The quantity, such as `"length_bytes"` or a gauge of the discipline.

        Raises:
            InputError: If the run did not record that series.

        """
        (series,) = self._result.find_series("queue", name, quantity)
        with style():
            figure, axes = self._figure(f"queue {name}")
            unit = scale(quantity, _peak([series]))
            time = self._time_axis(axes)
            axes.plot(series.time_s / time, series.values / unit.divisor, drawstyle="steps-post", linewidth=1.0)
            measured = series.values[series.time_s >= self._result.warmup_s]
            if np.isfinite(measured).any():
                mean = float(np.nanmean(measured)) / unit.divisor
                axes.axhline(mean, color=COLOURS[1], linestyle="--", linewidth=1.0, label=f"mean {mean:.3g}")
                figure.legend(loc="outside upper right")
            axes.set_ylabel(label(quantity, unit))
            axes.set_ylim(bottom=0)
        return figure

    def sender(self, name: str) -> Figure:
        """Draw a TCP sender over time: its state, the data in flight with its window, its rates and its round trips.

        The upper panel has a row for each state. In the others, bands of the same colours show the states, except the
        steady one (congestion avoidance, or BBR's `probe_bw` or `probe_bw_cruise`) and those with too many periods. A
        dotted line is the end of the warm-up.

        Args:
            name: The flow. The scenario must watch its sender: `[probes] senders = ["NAME"]`.

        Raises:
            InputError: If the run did not watch that sender, or its connection was never open.

        """
        self._result.find_series("sender", name)
        sender = sender_of(self._result.all_series, name)
        if not sender.panels:
            message = f"the connection of {name} was never open at a sample"
            raise InputError(message)
        states = sender.bands()
        heights = [0.3 + 0.2 * len(states), *[1.7] * len(sender.panels)]
        with style():
            figure = new_figure(figsize=(6.4, 0.5 + sum(heights)))
            options: dict[str, Any] = {"sharex": True, "squeeze": False, "height_ratios": heights}
            top, *column = figure.subplots(len(heights), 1, **options)[:, 0]
            unit = time_scale(self._result.duration_s)
            _draw_states(top, sender, unit.divisor)
            for axes, panel in zip(column, sender.panels, strict=True):
                _draw_panel(axes, panel, sender, unit.divisor)
                if self._result.warmup_s > 0:
                    axes.axvline(self._result.warmup_s / unit.divisor, color="#666666", linestyle=":", linewidth=0.9)
            column[-1].set_xlabel(label("time_s", unit))
            column[-1].set_xlim(0, self._result.duration_s / unit.divisor)
            top.set_title(literal(f"{self._result.scenario}: sender {name}"))
        return figure

    def under_load(self) -> Figure:
        """Draw rates of TCP flows and round-trip times of pings over time, as flent's plot `all_scaled`.

        Flows whose names begin with `TCP download` and `TCP upload` have panels of their own, and those with
        `app.transfers` are left out. A black line is the mean
        of several, smoothed over ten samples. Axes begin at zero and end at the 95th percentile of what they show.

        Raises:
            InputError: If the run has no series of round-trip times.

        """
        panels = _panels_under_load(self._result.all_series)
        if not any(entry.quantity == "rtt_s" for entries in panels.values() for entry in entries):
            message = 'the run recorded no round-trip times\nhint: it needs a ping, and [probes] series = ["flows"]'
            raise InputError(message)
        with style():
            figure = new_figure(figsize=(6.4, 0.6 + 1.9 * len(panels)))
            column = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
            for axes, (heading, entries) in zip(column, panels.items(), strict=True):
                _draw_under_load(axes, entries, heading, self._time_axis(axes))
                axes.label_outer()
            column[0].set_title(literal(f"{self._result.scenario}: under load"))
        return figure

    def slowdown(self) -> Figure:
        """Draw the slowdown of flows over their size: the median and the 99th percentile of each group.

        Flows that started after the warm-up and finished are sorted by size and cut into 20 parts of equally many. A
        point is at the largest size of its part.

        Raises:
            InputError: If no flow of a given size finished.

        """
        curves = slowdown_curves(self._result.flows, self._result.warmup_s)
        if not curves:
            message = "no flow of a given size finished\nhint: such flows have `app.fixed` or a `pattern`"
            raise InputError(message)
        with style():
            figure, axes = self._figure("slowdown of flows")
            unit = scale("size_bytes", max(float(curve.size_bytes.max()) for curve in curves))
            for curve, colour in zip(curves, cycle(COLOURS), strict=False):
                for (share, slowdowns), line in zip(curve.slowdowns.items(), ("-", "--"), strict=True):
                    looks: dict[str, Any] = {"color": colour, "linestyle": line, "marker": "o", "markersize": 3}
                    name = literal(f"{curve.group}, p{share}")
                    axes.plot(curve.size_bytes / unit.divisor, slowdowns, label=name, **looks)
            axes.set_xlabel(label("size_bytes", unit))
            axes.set_ylabel("Slowdown")
            if is_wide(np.concatenate([curve.size_bytes for curve in curves])):
                axes.set_xscale("log")
                write_plainly(axes.xaxis)
            if is_wide(np.concatenate([values for curve in curves for values in curve.slowdowns.values()])):
                axes.set_yscale("log")
                write_plainly(axes.yaxis)
            else:
                axes.set_ylim(bottom=0)
            figure.legend(loc="outside upper right", ncols=4)
        return figure

    def videos(self) -> Figure:
        """Draw the bitrates and buffers of videos over time. During a stall the bitrate is zero.

        Raises:
            InputError: If the run has no series of videos.

        """
        chosen = [entry for entry in self._result.all_series if entry.quantity in _OF_VIDEOS]
        if not chosen:
            message = 'the run recorded no videos\nhint: it needs app.video, and [probes] series = ["flows"]'
            raise InputError(message)
        return self._panels(chosen, "videos")

    def series(self, kind: SeriesKind, name: str | None = None, quantity: str | None = None) -> Figure:
        """Draw time series, one panel per quantity. More than 14 lines become their median with the range around it.

        Panels in which all values are zero are left out, unless all panels are so.

        Args:
            kind: `"queue"`, `"flow"`, `"link"`, `"sender"` or `"queue_flow"`.
            name: A component; all of the kind by default.
            quantity: A quantity; all of them by default.

        Raises:
            InputError: If there is no such series.

        """
        chosen = self._result.find_series(kind, name, quantity)
        return self._panels(chosen, name or kind.replace("_", " of "))

    def _panels(self, chosen: list[Series], heading: str) -> Figure:
        """Draw a panel for each quantity. Queues are those that are busiest."""
        panels: dict[str, list[Series]] = {}
        for entry in chosen:
            panels.setdefault(entry.quantity, []).append(entry)
        panels = {quantity: entries for quantity, entries in panels.items() if _peak(entries) > 0.0} or panels
        for quantity, entries in panels.items():
            if entries[0].kind == "queue":
                panels[quantity] = busiest_first(entries)[:_MOST_QUEUES] or entries
        with style():
            figure = new_figure(figsize=(6.4, 1.2 + 2.4 * len(panels)))
            looks = dict(zip(dict.fromkeys(entry.name for entry in chosen), line_styles(), strict=False))
            column = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
            for axes, (quantity, entries) in zip(column, panels.items(), strict=True):
                unit = scale(quantity, _peak(entries))
                _draw_lines(axes, entries, self._time_axis(axes), unit.divisor, looks)
                axes.set_ylabel(label(quantity, unit))
                axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
                axes.label_outer()
            column[0].set_title(literal(f"{self._result.scenario}: {heading}"))
        return figure

    def save_all(self, folder: Path, suffixes: tuple[str, ...] = (".png", ".svg")) -> list[Path]:
        """Draw every figure for which there are data into files of a folder, and return the paths of the files.

        Either all of them appear or none. Queues that stay empty are left out. Of many, the longest are drawn; of many
        senders, the first.

        Args:
            folder: Where to write.
            suffixes: The formats.

        Raises:
            InputError: If the folder cannot be written.

        """
        figures = {"goodput": self.goodput()}
        if self._result.flows.get_column("delay_mean_s").is_not_null().any():
            figures["delay"] = self.delay()
        if self._result.delays.height:
            figures["delay-distribution"] = self.delay_distribution()
        if slowdown_curves(self._result.flows, self._result.warmup_s):
            figures["slowdown"] = self.slowdown()
        if any(entry.quantity in OF_PORTS for entry in self._result.all_series):
            figures["ports"] = self.ports()
        lengths = [one for one in self._result.all_series if (one.kind, one.quantity) == ("queue", "length_packets")]
        for entry in busiest_first(lengths)[:_MOST_QUEUES]:
            figures[f"queue-{_file_part(entry.name)}"] = self.queue(entry.name)
        for sender in watched_senders(self._result.all_series)[:_MOST_SENDERS]:
            figures[f"sender-{_file_part(sender.name)}"] = self.sender(sender.name)
        if any(entry.quantity == "rtt_s" for entry in self._result.all_series):
            figures["under-load"] = self.under_load()
        if self._result.videos.height and any(entry.quantity in _OF_VIDEOS for entry in self._result.all_series):
            figures["videos"] = self.videos()
        kinds = dict.fromkeys(one.kind for one in self._result.all_series if one.kind not in ("queue", "sender"))
        figures |= {f"series-{_file_part(kind)}": self.series(kind) for kind in kinds}
        return save_figures(figures, folder, suffixes)

    def _flow_bars(self, quantity: str, heading: str) -> Figure:
        with style():
            figure, axes = self._figure(heading)
            rows = _by_flow_or_group(self._result.flows, [quantity])
            unit = scale(quantity, _largest(rows.get_column(f"{quantity}_max")))
            value, least, greatest = (
                rows.get_column(quantity + suffix).to_numpy() / unit.divisor for suffix in ("", "_min", "_max")
            )
            groups = rows.get_column("group").to_list()
            order = list(dict.fromkeys(groups))
            colours = [COLOURS[order.index(group) % len(COLOURS)] for group in groups]
            spread = np.vstack([value - least, greatest - value])
            error = spread if bool((spread > 0).any()) else None
            axes.barh(np.arange(rows.height), value, color=colours, height=0.7, xerr=error, ecolor="#333333", capsize=2)
            _name_rows(axes, rows.get_column("label").to_list())
            axes.set_xlabel(label(quantity, unit))
        return figure

    def _figure(self, heading: str) -> tuple[Figure, Axes]:
        figure = new_figure()
        axes = figure.add_subplot()
        axes.set_title(literal(f"{self._result.scenario}: {heading}"))
        return figure, axes

    def _time_axis(self, axes: Axes) -> float:
        """Make the x axis one of time, shade the warm-up, which tables leave out, and return the unit in seconds."""
        unit = time_scale(self._result.duration_s)
        axes.set_xlim(0, self._result.duration_s / unit.divisor)
        axes.set_xlabel(label("time_s", unit))
        if self._result.warmup_s > 0:
            axes.axvspan(0, self._result.warmup_s / unit.divisor, color="#bbbbbb", alpha=0.25, linewidth=0)
        return unit.divisor


def _by_flow_or_group(flows: pl.DataFrame, quantities: list[str]) -> pl.DataFrame:
    """Rows to draw: `label`, `group`, and for each quantity its mean, least and greatest value."""
    if flows.is_empty():
        message = "there is nothing to draw: no flow delivered a packet in the measured time"
        raise InputError(message)
    columns = [
        column.alias(quantity + suffix)
        for quantity in quantities
        for suffix, column in (
            ("", pl.col(quantity).mean()),
            ("_min", pl.col(quantity).min()),
            ("_max", pl.col(quantity).max()),
        )
    ]
    if flows.height <= _MOST_MARKS:
        return flows.group_by("name", maintain_order=True).agg(
            pl.col("name").first().alias("label"), pl.col("group").first(), *columns
        )
    flows_of_one = pl.when(pl.len() == 1).then(pl.lit("flow")).otherwise(pl.lit("flows"))
    several = pl.format("{} ({} {})", pl.col("group").first(), pl.len(), flows_of_one)
    return flows.group_by("group", maintain_order=True).agg(several.first().alias("label"), *columns)


def _name_rows(axes: Axes, names: list[str]) -> None:
    axes.set_yticks(np.arange(len(names)), [literal(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def _draw_lines(
    axes: Axes, entries: list[Series], time: float, divisor: float, looks: Mapping[str, dict[str, Any]]
) -> None:
    if len(entries) <= _MOST_LINES:
        for entry in entries:
            look = {"label": literal(entry.name), "linewidth": 1.0, **looks[entry.name]}
            axes.plot(entry.time_s / time, entry.values / divisor, **look)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")
        return
    values = np.vstack([entry.values for entry in entries]) / divisor
    times = entries[0].time_s / time
    axes.fill_between(times, np.nanmin(values, axis=0), np.nanmax(values, axis=0), color=COLOURS[5], alpha=0.4)
    axes.plot(times, np.nanmedian(values, axis=0), label=f"median of {len(entries)}, with their range")
    axes.legend(loc="best", fontsize="small")


def _panels_under_load(series: Sequence[Series]) -> dict[str, list[Series]]:
    """Return the rates of TCP flows, and the round-trip times, by the heading of their panel."""
    flows = [entry for entry in series if entry.kind == "flow"]
    tcp = {entry.name for entry in flows if entry.quantity == "congestion_window_bytes"}
    panels: dict[str, list[Series]] = {"TCP download": [], "TCP upload": [], "TCP": [], "Ping": []}
    for entry in flows:
        if entry.quantity == "rtt_s":
            panels["Ping"].append(entry)
        elif entry.quantity == "goodput_bps" and entry.name in tcp:
            panels[next(heading for heading in panels if entry.name.startswith(heading) or heading == "TCP")].append(
                entry
            )
    return {heading: entries for heading, entries in panels.items() if entries}


def _draw_under_load(axes: Axes, entries: Sequence[Series], heading: str, time: float) -> None:
    values = np.vstack([with_gaps_filled(while_active(entry)) for entry in entries])
    known = values[np.isfinite(values)]
    most = float(np.percentile(known, 95)) if known.size else 0.0
    unit = scale(entries[0].quantity, most)
    times = entries[0].time_s / time
    if len(entries) <= _MOST_LINES:
        for entry, line, look in zip(entries, values, line_styles(), strict=False):
            name = entry.name.removeprefix(heading).removeprefix(" (ms)").strip(" -") or entry.name
            axes.plot(times, line / unit.divisor, label=literal(name), linewidth=1.0, **look)
    if len(entries) > 1:
        axes.plot(times, _smoothed_mean(values) / unit.divisor, color="black", linewidth=2.0, label="mean")
    axes.set_ylabel(with_unit(heading, unit))
    axes.set_ylim(0, 1.1 * most / unit.divisor or None)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")


def _smoothed_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the lines at each time, and of the samples around it. NaN counts for nothing."""
    known = np.isfinite(values)
    sums, counts = np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0)
    window = np.ones(_SMOOTHED)
    sums, totals = (np.convolve(each, window, mode="same")[: values.shape[1]] for each in (sums, counts))
    mean: NDArray[np.float64] = np.full(len(sums), np.nan)
    return np.divide(sums, totals, out=mean, where=(totals > 0) & (counts > 0), dtype=np.float64)


def _draw_states(axes: Axes, sender: Sender, time: float) -> None:
    """Draw a row for each state, with a bar for each of its periods."""
    bands = sender.bands()
    colours = colours_of(bands)
    for row, (state, periods) in enumerate(bands.items()):
        # The edge keeps short periods visible.
        look: dict[str, Any] = {"color": colours[state], "linewidth": 0.7}
        axes.broken_barh(_spans(periods, time), (row - 0.36, 0.72), **look)
    _name_rows(axes, list(bands))
    axes.tick_params(axis="y", length=0)
    # It would cover the states at the start.
    axes.spines.left.set_visible(False)


def _draw_panel(axes: Axes, panel: Panel, sender: Sender, time: float) -> None:
    bands = sender.bands()
    colours = colours_of(bands)
    for state, periods in under_curves(bands).items():
        look: dict[str, Any] = {"color": colours[state], "alpha": 0.28, "linewidth": 0.7, "zorder": 0}
        axes.broken_barh(_spans(periods, time), (0, 1), transform=axes.get_xaxis_transform(), **look)
    unit = scale(panel.series[0].quantity, _peak(list(panel.series)))
    for entry, look in zip(panel.series, _SENDER_LINES, strict=False):
        axes.plot(entry.time_s / time, entry.values / unit.divisor, label=title(entry.quantity), **look)
    axes.set_ylabel(with_unit(panel.title, unit))
    axes.set_ylim(bottom=0)
    if len(panel.series) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")


def _spans(periods: Periods, time: float) -> list[tuple[float, float]]:
    return [(start / time, (end - start) / time) for start, end in periods]


def _largest(column: pl.Series) -> float:
    largest = column.max()
    return float(largest) if isinstance(largest, int | float) else 0.0


def _peak(entries: list[Series]) -> float:
    finite = [values for entry in entries if (values := entry.values[np.isfinite(entry.values)]).size]
    return max((float(np.abs(values).max()) for values in finite), default=0.0)


def _file_part(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)
