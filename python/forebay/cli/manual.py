"""Explanations as pages for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .catalogue import find

if TYPE_CHECKING:
    from forebay._core import _Parameter


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
