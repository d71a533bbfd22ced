"""A description of a trace as tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from forebay.display.quantity import scale

if TYPE_CHECKING:
    from .description import RateTrace

_MOST_OUTAGES = 10


def terminal_tables(trace: RateTrace) -> list[RenderableType]:
    """Return the rates and the outages."""
    unit = scale("mean_bps", trace.most_bps)
    head = f"[bold]{escape(trace.file)}[/bold]   {trace.format}, {trace.period_s:g} s, then it repeats"
    rates = Table(box=box.SIMPLE_HEAD)
    rates.add_column(f"rate ({unit.unit})")
    rates.add_column("", justify="right")
    rates.add_row("mean", unit.text(trace.mean_bps))
    rates.add_row(f"least in {trace.interval_s:g} s", unit.text(trace.least_bps))
    for percentile, rate in trace.percentiles_bps.items():
        rates.add_row("median" if percentile == 50 else f"{percentile} %", unit.text(rate))
    rates.add_row(f"most in {trace.interval_s:g} s", unit.text(trace.most_bps))
    return [head, rates, *_outages(trace)]


def _outages(trace: RateTrace) -> list[RenderableType]:
    if not trace.outages:
        return [f"No outage of {trace.outage_s:g} s or more."]
    lost_s = sum(length_s for _, length_s in trace.outages)
    share = 100.0 * lost_s / trace.period_s
    longest = sorted(trace.outages, key=lambda outage: -outage[1])[:_MOST_OUTAGES]
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("outage from (s)", "length (s)"):
        table.add_column(heading, justify="right")
    for from_s, length_s in sorted(longest):
        table.add_row(f"{from_s:.3f}", f"{length_s:.3f}")
    count = len(trace.outages)
    of_all = "" if count <= _MOST_OUTAGES else f"; the {_MOST_OUTAGES} longest:"
    outages = "1 outage" if count == 1 else f"{count} outages"
    return [f"{outages} of {trace.outage_s:g} s or more, {lost_s:.1f} s in all ({share:.1f} %){of_all}", table]
