"""Lists and explanations as pages for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .catalogue import Kind, entries, find

if TYPE_CHECKING:
    from forebay._core import _Parameter


def list_table(kind: Kind) -> RenderableType:
    """Return the list of that kind as a table for a terminal."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for entry in entries(kind):
        text = Text(_plain(entry["summary"]))
        if when := entry.get("when_to_use"):
            text.append(f"\n{_plain(when)}", style="dim")
        table.add_row(entry["name"], text)
    return table


def overview() -> RenderableType:
    """Return the names of all kinds as a table for a terminal."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 1, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for kind in Kind:
        # Experiments take a second to read.
        names = [] if kind is Kind.experiments else [entry["name"] for entry in entries(kind)]
        table.add_row(kind, ", ".join(names) or "`forebay list experiments` lists them")
    hint = "`forebay list disciplines` describes all of one kind, `forebay explain dbl` one of them"
    return Group(table, Text(hint, style="dim"))


def explanation(name: str) -> RenderableType:
    """Return the page of that name: function, use, example, source and parameters."""
    choice = find(name)
    parts: list[RenderableType] = [
        Text.assemble((choice["name"], "bold"), ("  a " + choice["kind"], "dim")),
        Markdown(choice["summary"]),
    ]
    sections = dict(choice["sections"])
    about_parameters = sections.pop("Parameters", "")
    for heading, text in sections.items():
        # The summary of a choice without a manual of its own is the beginning of its only section.
        rest = text.removeprefix(choice["summary"]).strip()
        if rest:
            parts += ["", Text(heading, "bold"), Padding(Markdown(rest), (0, 0, 0, 2))]
    if choice["parameters"]:
        parts += ["", Text("Parameters", "bold"), Padding(Markdown(about_parameters), (0, 0, 0, 2))]
        parts.append(_parameter_table(choice["parameters"]))
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
