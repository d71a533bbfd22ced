"""`forebay plot` and `report`: figures and a page from saved results."""

from pathlib import Path
from typing import Annotated

import typer

import forebay
from forebay import captures

from . import interrupt, terminal


def plot(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="A folder that [bold]forebay run --out[/] or [bold]forebay replay --out[/] wrote.",
            show_default=False,
        ),
    ],
) -> None:
    """Draw the figures of a saved run or replay into its folder, as PNG and SVG."""
    interrupt.tells(lambda: f"stopped; no figure was written, and the results in {folder} are unchanged")
    is_replay = captures.result.is_replay(folder)
    result = captures.result.ReplayResult.load(folder) if is_replay else forebay.load(folder)
    for path in result.plot.save_all(folder):
        terminal.write(str(path))


def report(
    folders: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR…", help="Folders that run, replay, sweep, compare or reproduce wrote.", show_default=False
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FILE.html", help="The page to write. Default: report.html in the first folder."),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option("--title", metavar="TEXT", help="Heading of the page. Default: the names of the folders."),
    ] = None,
) -> None:
    """Write one HTML page about finished results: tables, interactive figures, verdicts, and how to repeat them."""
    interrupt.tells(lambda: "stopped; no page was written")
    terminal.write(str(forebay.report(folders, out, title=title)))
