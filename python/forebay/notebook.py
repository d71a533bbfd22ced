"""What a notebook shows of a result: the tables that the terminal shows."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

# Fits the column of a notebook.
_WIDTH = 110
_FRAME = '<pre style="white-space: pre; overflow-x: auto; line-height: 1.25; font-size: 0.85em">{code}</pre>'


def html(tables: Callable[[int], Iterable[RenderableType]]) -> str:
    """Return the tables for lines of some width as HTML. What is in names is text there."""
    from rich.console import Console

    console = Console(record=True, width=_WIDTH, file=io.StringIO(), highlight=False, color_system="standard")
    console.print(*tables(_WIDTH), sep="\n")
    return console.export_html(inline_styles=True, code_format=_FRAME)
