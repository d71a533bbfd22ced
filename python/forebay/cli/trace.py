"""`forebay trace`: the rates and outages of a trace."""

from pathlib import Path
from typing import Annotated

import typer

import forebay
from forebay import rate_traces
from forebay.display.texts import seconds

from . import terminal
from .options import AsJson


def trace(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Trace in mahimahi's format, or CSV.")],
    *,
    interval: Annotated[
        str, typer.Option("--interval", metavar="TIME", help="Time over which a rate is averaged.")
    ] = "1 s",
    outage: Annotated[
        str, typer.Option("--outage", metavar="TIME", help="Shortest time without capacity that is an outage.")
    ] = "500 ms",
    as_json: AsJson = False,
) -> None:
    """Show the mean rate of a trace, percentiles of its rate, and its outages."""
    described = forebay.describe_trace(
        file, interval_s=seconds(interval, "--interval"), outage_s=seconds(outage, "--outage")
    )
    terminal.show_result(described, lambda _width: rate_traces.table.terminal_tables(described), as_json=as_json)
