"""The outcome of a speed test as a table for a terminal."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from rich import box
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from forebay import display
from forebay.display.quantity import column_scale

from .scenario import TIMEOUT_S

if TYPE_CHECKING:
    from .measured import SpeedTest


def terminal_tables(test: SpeedTest, description: str | None) -> list[RenderableType]:
    """Return the rates and latencies. `description` is the scenario's."""
    rows = [
        ("idle", None, test.idle_latency_s),
        ("download", test.download_bps, test.download_latency_s),
        ("upload", test.upload_bps, test.upload_latency_s),
    ]
    rate = column_scale("rate_bps", (row[1] for row in rows))
    latency = column_scale("latency_s", (row[2] for row in rows))
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("")
    table.add_column(f"rate\n{rate.unit}", justify="right")
    table.add_column(f"latency\n{latency.unit}", justify="right")
    for phase, bps, median_s in rows:
        table.add_row(phase, rate.text(bps), f"> {TIMEOUT_S:g} s" if median_s is None else latency.text(median_s))
    of = f"   {escape(description)}" if description else ""
    warnings = display.summary.run_warnings(asdict(warning) for warning in test.warnings)
    return [f"[bold]{escape(test.scenario)}[/bold]   seed {test.seed}{of}", table, *warnings]
