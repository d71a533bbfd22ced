"""From sections to one HTML file, which holds its styles, scripts and data and asks no network for anything."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby

from bokeh.resources import Resources
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from forebay import _core

from .figures import INK, Drawing, draw
from .parts import Charts, Section, Table
from .thin import fitted


def html_of(title: str, sections: Sequence[Section]) -> str:
    """Return the page."""
    has_charts = any(isinstance(part, Charts) for section in sections for part in section.parts)
    return (
        _environment()
        .get_template("page.html")
        .render(
            title=title,
            sections=fitted(sections),
            style=_own("page.css"),
            script=_own("page.js"),
            bokeh=_bokeh() if has_charts else [],
            version=_core.__version__,
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__, "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(
        drawings=_drawings, json=_json, data=_data, sections=_sections, dashes=_dashes, code=_code
    )
    environment.globals.update(ink=INK)
    return environment


def _own(name: str) -> Markup:
    return Markup(files(__package__).joinpath(name).read_text(encoding="utf-8"))  # noqa: S704 - a file of ours


def _bokeh() -> list[Markup]:
    # Its parts for widgets, tables and formulas are twice as large, and not used.
    return [Markup(text) for text in Resources(mode="inline", components=["bokeh"]).js_raw]  # noqa: S704


def _drawings(part: Charts) -> list[Drawing]:
    return [draw(chart) for chart in part.charts]


def _json(value: object) -> Markup:
    """JSON that a script element can hold: no name in it ends the element."""
    return Markup(json.dumps(value, separators=(",", ":")).replace("<", "\\u003c"))  # noqa: S704


def _code(text: str) -> Markup:
    """Return a text in which words between backticks are code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped


def _data(svg: bytes) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()


def _sections(table: Table) -> list[tuple[str, int]]:
    """Return the names over the columns, each with how many it covers; nothing where no column has one."""
    if not any(head.section for head in table.heads):
        return []
    return [(name, len(list(heads))) for name, heads in groupby(head.section for head in table.heads)]


def _dashes(dash: str) -> str:
    return {"solid": "none", "dashed": "6 3", "dotted": "2 3", "dashdot": "6 3 2 3"}[dash]
