"""`forebay flent` and `export`: flent's tests as scenarios, and results as files of flent."""

from pathlib import Path
from typing import Annotated

import typer

import forebay
from forebay import flent as tests
from forebay.access_line import AccessLine

from . import terminal


def flent(
    test: Annotated[
        str, typer.Argument(metavar="TEST", help="rrul, rrul_be, tcp_nup or tcp_ndown.", show_default=False)
    ],
    *,
    down: Annotated[
        str, typer.Option("--down", metavar="RATE", help="Rate of the line to the home.")
    ] = AccessLine.down,
    up: Annotated[str, typer.Option("--up", metavar="RATE", help="Rate of the line from the home.")] = AccessLine.up,
    rtt: Annotated[str, typer.Option("--rtt", metavar="TIME", help="Round-trip time without queues.")] = AccessLine.rtt,
    queue: Annotated[str, typer.Option("--queue", metavar="NAME", help="Discipline on both lines.")] = AccessLine.queue,
    streams: Annotated[
        int | None,
        typer.Option("--streams", metavar="N", min=1, help="Uploads of tcp_nup, downloads of tcp_ndown. Default: 4."),
    ] = None,
    length: Annotated[
        str, typer.Option("--length", metavar="TIME", help="Length of the load; pings begin 5 s before, end 5 s after.")
    ] = "60 s",
) -> None:
    """Print the scenario of one of flent's tests, to keep in a file and run.

    Draw the run with [bold]forebay plot[/]; [bold]forebay export[/] writes it for flent.
    """
    text = tests.scenarios.scenario_text(test, down=down, up=up, rtt=rtt, queue=queue, streams=streams, length=length)
    forebay.Scenario.from_toml(text, file_name=f"{test}.toml")
    terminal.write(text.rstrip())


def export(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="A folder that [bold]forebay run --out[/] wrote.", show_default=False),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE.flent.gz", help="The file to write. Default: TEST.flent.gz in the folder."),
    ] = None,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="Title in plots. Default: the name of the folder.")
    ] = None,
    test: Annotated[
        str | None, typer.Option("--test", metavar="TEST", help="The test. Default: the name of the scenario.")
    ] = None,
) -> None:
    """Write the saved run of one of flent's tests as a data file of flent, which its plots open."""
    result = forebay.load(folder)
    target = folder / f"{test or result.scenario}{tests.export.SUFFIX}" if out is None else out
    name = title or folder.resolve().name
    terminal.write(str(forebay.export_flent(result, target, title=name, test=test)))
