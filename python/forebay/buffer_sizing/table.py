"""A search as tables for a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich import box
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from forebay.display.quantity import Scale, scale

from .answer import size_text
from .targets import METRICS, Interval, Verdict

if TYPE_CHECKING:
    from .result import BufferSize
    from .rules import Rules

_HEADINGS = {
    "utilization": "link used",
    "drop_rate": "dropped",
    "delay_p50_s": "delay p50",
    "delay_p95_s": "delay p95",
    "delay_p99_s": "delay p99",
}
# Columns in addition to the metrics that have a target.
_ALWAYS = ("utilization", "drop_rate", "delay_p99_s")
_COLOURS = {Verdict.REACHED: "green", Verdict.FAILED: "red", Verdict.UNDECIDED: "yellow"}
_SHARE = Scale(0.01, "%")


def terminal_tables(size: BufferSize) -> list[RenderableType]:
    """Return the targets, the sizes measured, the answer, and the rules of thumb."""
    goals = " and ".join(target.text for target in size.targets)
    head = f"[bold]{escape(size.scenario)}[/bold]   queue {escape(size.queue)}   {escape(goals)}"
    tables: list[RenderableType] = [head, "", _sizes(size), "", f"[bold]{escape(answer_text(size))}[/bold]"]
    tables += [escape(note) for note in size.notes]
    if size.rules is not None:
        tables += ["", _rules(size, size.rules), f"[dim]{escape(_basis(size.rules))}[/dim]"]
    return tables


def answer_text(size: BufferSize) -> str:
    """Return the answer in a sentence."""
    if size.buffer is None:
        return "No buffer reaches the target." if len(size.targets) == 1 else "No buffer reaches the targets."
    words = ("smallest", "reaches") if size.smallest is not None else ("largest", "keeps")
    targets = "target" if len(size.targets) == 1 else "targets"
    surely = "" if size.confident else "surely "
    return f"{size_text(size.buffer, size.unit)}: the {words[0]} buffer that {surely}{words[1]} the {targets}."


def _sizes(size: BufferSize) -> Table:
    targets = {target.metric.name for target in size.targets}
    shown = [name for name in METRICS if name in targets or name in _ALWAYS]
    units = {name: _unit(size, name) for name in shown}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    table.add_column(f"buffer\n{size.unit}", justify="right", no_wrap=True)
    for name in shown:
        table.add_column(f"{_HEADINGS[name]}\n{units[name].unit}", justify="right", no_wrap=True)
    table.add_column("seeds", justify="right", no_wrap=True)
    table.add_column("target" if len(targets) == 1 else "targets", no_wrap=True)
    for point in size.points:
        cells = [_cell(point.intervals[name], units[name]) for name in shown]
        verdict = Text(str(point.verdict), style=_COLOURS[point.verdict])
        style = "bold" if point.buffer == size.buffer else ""
        table.add_row(f"{point.buffer:,}", *cells, str(len(point.runs)), verdict, style=style)
    return table


def _unit(size: BufferSize, name: str) -> Scale:
    if not name.endswith("_s"):
        return _SHARE
    means = [point.intervals[name].mean for point in size.points]
    return scale(name, max((mean for mean in means if math.isfinite(mean)), default=0.0))


def _cell(interval: Interval, unit: Scale) -> Text:
    """Value and interval, such as "81.3 ±0.4"."""
    if not math.isfinite(interval.mean):
        return Text("-")
    value = interval.mean / unit.divisor
    digits = 2 - math.floor(math.log10(abs(value))) if value else 1
    decimals = max(1, min(4, digits))
    half = "" if interval.ci95 is None else f" ±{interval.ci95 / unit.divisor:.{decimals}f}"
    return Text.assemble(f"{value:.{decimals}f}", (half, "dim"))


def _rules(size: BufferSize, rules: Rules) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    table.add_column("rule of thumb", no_wrap=True)
    table.add_column(size.unit, justify="right", no_wrap=True)
    if size.buffer is not None:
        table.add_column("answer / rule", justify="right", no_wrap=True)
    rows = {
        "RTT·C": rules.bandwidth_delay,
        "RTT·C/√N": rules.bandwidth_delay_over_sqrt_flows,
        "O(log W), as ln W packets": rules.log_window,
    }
    for name, value in rows.items():
        ratio = [] if size.buffer is None else [f"{size.buffer / value:.3g}" if value else "-"]
        table.add_row(name, f"{value:,.4g}" if value < 1000 else f"{value:,.0f}", *ratio)
    return table


def _basis(rules: Rules) -> str:
    rtt, rate = scale("rtt_s", rules.rtt_s), scale("rate_bps", rules.rate_bps)
    return (
        f"RTT = {rtt.text(rules.rtt_s)} {rtt.unit} of propagation there and back, "
        f"C = {rate.text(rules.rate_bps)} {rate.unit}, N = {rules.flows:,.4g} TCP flows, "
        f"W = {rules.window_packets:,.4g} segments of {rules.packet_bytes:,.4g} B at most"
    )
