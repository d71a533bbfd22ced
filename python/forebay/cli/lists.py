"""Lists of things to choose from, as tables for a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .catalogue import Kind, entries


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


def _plain(markdown: str) -> str:
    return markdown.replace("`", "")
