"""A judgement as tables for a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich import box
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from forebay.display.quantity import scale

if TYPE_CHECKING:
    from .linear import Loop, OperatingPoint
    from .result import Course, Stability


def terminal_tables(judged: Stability) -> list[RenderableType]:
    """Return the loop in each state, the verdict, and how the queue went."""
    head = f"[bold]{escape(judged.scenario)}[/bold]   queue {escape(judged.queue)}"
    tables: list[RenderableType] = [head]
    for point in judged.points:
        tables += ["", escape(_state(judged, point)), "", _margins(point)]
    tables += ["", f"[bold]{escape(verdict_text(judged))}[/bold]", "", _courses(judged)]
    tables += [escape(note) for note in judged.notes]
    return tables


def verdict_text(judged: Stability) -> str:
    """Return the verdict in a sentence."""
    worst = max(judged.points, key=lambda point: point.cycle_gain)
    if worst.cycle_gain == 0.0:
        return "Stable: a small deviation dies out without oscillation."
    left = f"{100.0 * worst.cycle_gain:.3g} % of a small deviation"
    if not judged.stable:
        return f"Unstable: after a cycle {left} is left, until the queue or a rate reaches a bound."
    spare = min(loop.margins.delay_margin_s for loop in (worst.increase, worst.decrease))
    if spare <= 0.0:
        # The other side takes more away than this one adds.
        return f"Stable: after a cycle {left} is left, though one side by itself is unstable."
    return f"Stable: after a cycle {left} is left; {_time(spare)} more delay would be too much for one side."


def _state(judged: Stability, point: OperatingPoint) -> str:
    delay = sum(delay_s * part for delay_s, part in point.increase.delays)
    several = "" if len(judged.points) == 1 else f"From {_time(point.from_s)} on: "
    flows = "1 flow is" if point.limited_count == 1 else f"{point.limited_count} flows are"
    loop = f"sampled every {_time(point.increase.sample_s)}, and answered after {_time(delay)}"
    held = f"{flows} held back to {_rate(point.share_bps)} each"
    return f"{several}{held}; the queue is served at {_rate(point.service_bps)}, {loop}."


def _margins(point: OperatingPoint) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    table.add_column("the queue\nasks for", no_wrap=True)
    for heading in (
        "crossover\nrad/s",
        "phase margin\ndegrees",
        "gain margin\nfactor",
        "delay margin\n",
        "delay\nlimit",
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, loop in (("more", point.increase), ("less", point.decrease)):
        table.add_row(name, *_cells(loop))
    return table


def _cells(loop: Loop) -> list[str]:
    margins = loop.margins
    gain = "any" if math.isinf(margins.gain_margin) else f"{margins.gain_margin:.3g}"
    spare, longest = _time(margins.delay_margin_s), _time(loop.longest_delay_s)
    return [f"{margins.crossover_rad_per_s:,.4g}", f"{margins.phase_margin_deg:.3g}", gain, spare, longest]


def _courses(judged: Stability) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    table.add_column("queue", no_wrap=True)
    for heading in ("peak\nKB", "last quarter\nKB", "within 20 %\nfrom", "empty\nfor"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_row("fluid model", *_course(judged.fluid_course))
    if judged.packet_course is not None:
        table.add_row("packet simulation", *_course(judged.packet_course))
    return table


def _course(course: Course) -> list[str]:
    settled = "never" if course.settled_s is None else _time(course.settled_s)
    last = f"{course.mean_bytes / 1e3:.4g} ±{course.deviation_bytes / 1e3:.2g}"
    return [f"{course.peak_bytes / 1e3:,.4g}", last, settled, _time(course.empty_s)]


def _time(value_s: float) -> str:
    unit = scale("time_s", value_s)
    return f"{unit.text(value_s, 3)} {unit.unit}"


def _rate(value_bps: float) -> str:
    unit = scale("rate_bps", value_bps)
    return f"{unit.text(value_bps)} {unit.unit}"
