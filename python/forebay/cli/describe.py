"""`forebay list`, `explain` and `schema`: the things to choose from, and their descriptions."""

import json
from typing import Annotated

import typer

from forebay import _core, cli

from . import catalogue, completion, terminal
from .catalogue import Kind
from .options import AsJson


def list_(
    kind: Annotated[
        Kind | None,
        typer.Argument(metavar="[KIND]", help=f"One of {', '.join(Kind)}. Default: all, by name.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List disciplines, transports, experiments or other things to choose from."""
    if as_json:
        found = {one: catalogue.entries(one) for one in Kind} if kind is None else catalogue.entries(kind)
        terminal.write(json.dumps(found, ensure_ascii=False))
        return
    terminal.show(cli.lists.overview() if kind is None else cli.lists.list_table(kind))


def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A discipline, scheduler, scheme, path or buffer policy, transport or topology.",
            show_default=False,
            autocompletion=completion.names,
        ),
    ],
) -> None:
    """Explain what a discipline does, its parameters with units and defaults, and its source."""
    terminal.show_page(cli.manual.explanation(name))


def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    terminal.write(_core.json_schema())
