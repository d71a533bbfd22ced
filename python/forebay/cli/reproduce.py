"""`forebay reproduce`: its options. Its output is in `session.py`."""

from typing import Annotated

import typer

from forebay import cli
from forebay.runs.seeds import MOST_SEEDS

from . import completion, interrupt, terminal
from .catalogue import Kind
from .options import AllowPython, AsJson, Dask, Jobs, folder_of, where_of


def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[EXPERIMENT…|all]",
            help="Names of experiments, from [bold]forebay list experiments[/].",
            show_default=False,
            autocompletion=completion.experiments,
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds", metavar="N", min=1, max=MOST_SEEDS, help="Seeds of each run. Default: the experiment's number."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Take fewer seeds and shorter runs, for a first impression.")
    ] = False,
    as_json: AsJson = False,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Folder for results, tables and figures. Default: out/reproduce."),
    ] = None,
    jobs: Jobs = None,
    dask: Dask = None,
    allow_python: AllowPython = False,
) -> None:
    """Run the experiments of papers and print published and measured values side by side.

    Without a name, list the experiments and end with exit status 2.
    """
    folder = folder_of(out)
    interrupt.tells(lambda: "stopped before the first run; nothing was written")
    if not experiments and not as_json:
        terminal.show(cli.lists.list_table(Kind.experiments))
    status = cli.session.reproduce(
        experiments or [],
        seeds=seeds,
        quick=quick,
        out=folder,
        as_json=as_json,
        where=where_of(jobs, dask),
        allow_python=allow_python,
    )
    raise typer.Exit(status)
