"""What there is to choose from, and what each of it does."""

from __future__ import annotations

import difflib
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from . import _core
from .errors import InputError

if TYPE_CHECKING:
    from ._core import _Choice, _Parameter


class Kind(StrEnum):
    """What `forebay list` can list."""

    disciplines = "disciplines"
    transports = "transports"
    schedulers = "schedulers"
    topologies = "topologies"
    experiments = "experiments"


_CORE_KINDS = {Kind.disciplines: "discipline", Kind.transports: "transport", Kind.topologies: "topology"}


def entries(kind: Kind) -> list[dict[str, Any]]:
    """What there is of that kind: objects with at least `name` and `summary`."""
    if kind is Kind.experiments:
        # Imported here: experiments bring numerical code and figures that no other list needs.
        from .experiment import list_experiments  # noqa: PLC0415

        return [
            {"name": it.id, "summary": it.title, "paper": it.paper, "where": it.where, "claims": it.claims}
            for it in list_experiments()
        ]
    wanted = _CORE_KINDS.get(kind)
    return [{"name": it["name"], "summary": it["summary"]} for it in _core.choices() if it["kind"] == wanted]


def list_table(kind: Kind) -> RenderableType:
    """The list of that kind as a table for people."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for entry in entries(kind):
        table.add_row(entry["name"], Text(_plain(entry["summary"])))
    return table


def find(name: str) -> _Choice:
    """The discipline, transport or topology of that name. Raises InputError with the nearest name for any other."""
    choices = {choice["name"]: choice for choice in _core.choices()}
    found = choices.get(name.strip().lower().replace("-", "_"))
    if found is None:
        near = difflib.get_close_matches(name, choices, n=1)
        remedy = f"did you mean {near[0]}?" if near else f"there are {', '.join(choices)}"
        message = f"there is nothing named {name}\nhint: {remedy}"
        raise InputError(message)
    return found


def explanation(name: str) -> RenderableType:
    """What the thing of that name does, its parameters with units and defaults, and its source."""
    choice = find(name)
    parts: list[RenderableType] = [
        Text.assemble((choice["name"], "bold"), ("  a " + choice["kind"], "dim")),
        Markdown(choice["summary"]),
    ]
    sections = [(heading, text) for heading, text in choice["sections"] if text != choice["summary"]]
    for heading, text in sections:
        parts += ["", Text(heading, "bold"), Padding(Markdown(text), (0, 0, 0, 2))]
    if choice["parameters"]:
        parts += ["", Text("Parameters", "bold"), _parameter_table(choice["parameters"])]
    return Group(*parts)


def _parameter_table(parameters: list[_Parameter]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=True, show_edge=False)
    table.add_column("key", style="bold", no_wrap=True)
    table.add_column("takes")
    table.add_column("default")
    table.add_column("meaning", ratio=1)
    for parameter in parameters:
        default = parameter["default"]
        missing = "required" if parameter["required"] else "none"
        table.add_row(
            parameter["name"],
            Text(parameter["takes"]),
            Text(missing, "dim") if default is None else Text(default),
            Markdown(parameter["description"]),
        )
    return table


def _plain(markdown: str) -> str:
    return markdown.replace("`", "")
