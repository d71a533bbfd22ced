"""The figures of the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.display.figure import COLOURS, new_figure, style
from performance.samples import Samples
from performance.scaling import CURVES, Curve
from performance.suite import name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forebay.display.figure import Figure

MARKERS = "osD^v"


def draw(suite: Sequence[Samples], curves: dict[str, list[Samples]], folder: Path) -> dict[str, Path]:
    """Writes a figure for the suite and each curve into the folder. Returns their files by name."""
    folder.mkdir(parents=True, exist_ok=True)
    by_name = {curve.name: curve for curve in CURVES}
    with style():
        figures = {"suite": suite_figure(suite)} if suite else {}
        figures |= {name: curve_figure(by_name[name], measured) for name, measured in curves.items()}
        files = {}
        for name, figure in figures.items():
            files[name] = folder / f"performance-{name}.svg"
            figure.savefig(files[name], metadata={"Date": None})
    return files


def suite_figure(suite: Sequence[Samples]) -> Figure:
    """A point for each scenario and simulator, with the range of the repeats."""
    scenarios = list(dict.fromkeys(samples.scenario for samples in suite))
    names = list(dict.fromkeys(map(name_of, suite)))
    figure = new_figure(figsize=(6.4, 3.2))
    axes = figure.subplots()
    for number, name in enumerate(names):
        of_name = [samples for samples in suite if name_of(samples) == name]
        # Side by side, so that ranges do not hide each other.
        places = [scenarios.index(it.scenario) + 0.12 * (number - (len(names) - 1) / 2) for it in of_name]
        speeds = [it.mhops_per_cpu_s for it in of_name]
        lowest = [speed - min(it.speeds) for speed, it in zip(speeds, of_name, strict=True)]
        highest = [max(it.speeds) - speed for speed, it in zip(speeds, of_name, strict=True)]
        marker = MARKERS[number % len(MARKERS)]
        axes.errorbar(places, speeds, [lowest, highest], fmt=marker, color=COLOURS[number % len(COLOURS)], label=name)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xticks(range(len(scenarios)), scenarios)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel("million packet-hops per CPU second")
    axes.legend(ncols=len(names), loc="lower left", bbox_to_anchor=(0, 1))
    return figure


def curve_figure(curve: Curve, measured: Sequence[Samples]) -> Figure:
    """Time of a packet-hop, and for flows the memory, against the size."""
    with_memory = curve.unit == "flows"
    figure = new_figure(figsize=(6.4, 2.8))
    panels = figure.subplots(1, 2) if with_memory else [figure.subplots()]
    for threads in sorted({samples.threads for samples in measured}):
        of_threads = [samples for samples in measured if samples.threads == threads]
        sizes = [samples.size for samples in of_threads]
        if threads == 1:
            line(panels[0], sizes, [samples.ns_per_hop for samples in of_threads], "CPU time, one thread")
        else:
            walls = [samples.run_wall_s * 1e9 / samples.runs[0].packet_hops for samples in of_threads]
            line(panels[0], sizes, walls, f"wall time, {threads} threads")
        if with_memory and threads == 1:
            line(panels[1], sizes, [samples.peak_mb for samples in of_threads], "peak")
            panels[1].set_yscale("log")
            panels[1].set_ylim(10, max(100.0, 2 * max(samples.peak_mb for samples in of_threads)))
            panels[1].yaxis.set_major_formatter("{x:g}")
            panels[1].set_ylabel("peak memory, MB")
    panels[0].set_ylabel("ns a packet-hop")
    panels[0].set_ylim(0, 1.1 * panels[0].dataLim.y1)
    panels[0].legend()
    for axes in panels:
        axes.set_xscale("log", base=2 if curve.name == "ports" else 10)
        axes.set_xlabel(curve.unit)
    return figure


def line(axes: Axes, sizes: Sequence[int], values: Sequence[float], label: str) -> None:
    """A line through marked points."""
    axes.plot(sizes, values, marker="o", markersize=3, label=label)
