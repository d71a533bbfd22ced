"""The options that several commands take."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forebay import runs
from forebay.errors import InputError
from forebay.folder import named
from forebay.runs.seeds import LAST_SEED

from . import completion

if TYPE_CHECKING:
    from forebay.runs.workers import Where


def seed_number(text: str) -> int:
    """Return the seed; a range that click checks would take half of the help's width."""
    if not text.strip().isdecimal() or int(text) > LAST_SEED:
        message = f"{text} is not a seed: a whole number from 0 to {LAST_SEED}"
        raise typer.BadParameter(message)
    return int(text)


ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output and nothing else.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY.PATH=VALUE",
        help="Replace a value of the scenario, by the path of its key: [bold]flows.tcp.count=10[/]. Repeatable.",
        autocompletion=completion.paths,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", metavar="N", parser=seed_number, help="Seed of all random numbers. Default: the scenario's."
    ),
]
Jobs = Annotated[int | None, typer.Option("--jobs", metavar="N", min=1, help="Runs at a time. Default: one per core.")]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask", metavar="ADDRESS", help="Run on a Dask cluster: the address of its scheduler, tcp://host:8786."
    ),
]
EveryRow = Annotated[
    bool, typer.Option("--all", help="Print every row of the tables. Without it, long tables are cut.")
]
Queues = Annotated[
    list[str] | None,
    typer.Option(
        "--queue",
        "--queues",
        metavar="all|NAME,NAME…",
        help="Disciplines to compare. One with parameters stands alone: [bold]RED=red:gentle=false,wait=true[/]. "
        "Repeatable.",
        show_default=False,
        autocompletion=completion.disciplines,
    ),
]
QueueSettings = Annotated[
    Path | None,
    typer.Option("--settings", metavar="FILE.toml", help="Parameters: a TOML file with a table for each discipline."),
]
AllowPython = Annotated[
    bool,
    typer.Option(
        "--allow-python",
        help="Import and run the Python code that the scenario names. Use it only if you trust that code.",
    ),
]


def pairs(overrides: list[str] | None) -> Mapping[str, str]:
    """Return the value of `--set key=value`. Raises InputError for one without a value."""
    pairs: dict[str, str] = {}
    for text in overrides or ():
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            message = f"--set {text}: the value is missing\nhint: write --set key.path=value"
            raise InputError(message)
        # A later value of the same key wins, and comes last.
        pairs.pop(path.strip(), None)
        pairs[path.strip()] = value.strip()
    return pairs


def folder_of(out: str | None) -> Path | None:
    """Return the folder of `--out`, a text, as the path of an empty one would be the current folder.

    Raises InputError for a name that no folder may have.
    """
    return None if out is None else named(out)


def where_of(jobs: int | None, dask: str | None = None) -> Where:
    """Return the place of the runs of a command."""
    return runs.workers.Where(jobs, dask=dask, may_start_processes=True)
