"""The figure of a judgement: queue and rates over time, of the model and of the packet simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from forebay.display.figure import COLOURS, Figure, line_styles, new_figure, style
from forebay.display.quantity import scale

from .intervals import means

if TYPE_CHECKING:
    from .result import Stability

# A course is drawn by this many points: more would be closer than a pixel.
_POINTS = 4000
_GREY = "#555555"


def draw(judged: Stability) -> Figure:
    """Return a panel for the queue and one for the rates of the flows."""
    with style():
        figure = new_figure(figsize=(6.8, 5.2))
        above, below = figure.subplots(2, 1, sharex=True)
        _queue(above, judged)
        _rates(below, judged)
        handles, labels = above.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
        verdict = "stable" if judged.stable else "unstable"
        figure.suptitle(f"{judged.scenario}: queue {judged.queue}, {verdict}", x=0.01, ha="left", fontsize="medium")
    return figure


def _queue(axes: Axes, judged: Stability) -> None:
    packets, model = judged.packets, judged.model
    time_s, values = _drawn(judged, judged.trajectory.queue_bytes)
    peak = max(float(values.max()), 0.0 if packets is None else float(packets.queue_bytes.max()))
    unit = scale("queue_bytes", peak)
    if packets is not None:
        measured = packets.queue_bytes / unit.divisor
        axes.plot(1e3 * packets.time_s, measured, color=COLOURS[5], linewidth=0.9, label="packet simulation")
    axes.plot(1e3 * time_s, values / unit.divisor, color=COLOURS[1], label="fluid model")
    axes.axhline(
        model.ecm.set_point_bytes / unit.divisor, color=_GREY, linestyle="--", linewidth=1.0, label="set-point"
    )
    if model.limit_bytes <= 1.1 * peak:
        peak = max(peak, model.limit_bytes)
        limit = model.limit_bytes / unit.divisor
        axes.axhline(limit, color=_GREY, linestyle=":", linewidth=1.0, label="most that it holds")
    axes.set_ylabel(f"Queue ({unit.unit})")
    axes.set_ylim(0, 1.05 * peak / unit.divisor)


def _rates(axes: Axes, judged: Stability) -> None:
    packets = judged.packets
    looks = line_styles()
    unit = scale("rate_bps", float(judged.trajectory.rates_bps.max()))
    for index, source in enumerate(judged.model.sources):
        colour = next(looks)["color"]
        if packets is not None:
            low, high = packets.slowest_bps[index] / unit.divisor, packets.fastest_bps[index] / unit.divisor
            axes.fill_between(1e3 * packets.time_s, low, high, color=colour, alpha=0.18, linewidth=0)
            mean = packets.rates_bps[index] / unit.divisor
            axes.plot(1e3 * packets.time_s, mean, color=colour, alpha=0.55, linewidth=0.8)
        time_s, values = _drawn(judged, judged.trajectory.rates_bps[index])
        number = f" ({source.count} flows)" if source.count > 1 else ""
        axes.plot(1e3 * time_s, values / unit.divisor, color=colour, label=f"{source.name}{number}")
    axes.set_ylabel(f"Rate of a flow ({unit.unit})")
    axes.set_xlabel("Time (ms)")
    axes.set_xlim(0, 1e3 * judged.duration_s)
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper right", title="band: slowest to fastest flow" if packets is not None else None)


def _drawn(judged: Stability, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the course with no more points than can be seen: means over short intervals, at their middles."""
    time_s = judged.trajectory.time_s
    if len(time_s) <= _POINTS:
        return time_s, values
    ends = np.linspace(0.0, time_s[-1], _POINTS + 1)[1:]
    return ends - 0.5 * ends[0], means(time_s, values, ends)
