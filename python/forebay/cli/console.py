"""The terminal by way of Rich, which takes a while to load: consoles and coloured messages."""

from __future__ import annotations

import os
import re

from rich.console import Console, RenderableType
from rich.text import Text

# The width of a pipe without COLUMNS; no table loses a column.
_PIPE_WIDTH = 200
_NARROWEST = 20
_TRAILING = re.compile(r"(?: |\x1b\[[0-9;]*m)+$", re.MULTILINE)


def console_of(*, stderr: bool) -> Console:
    """Return standard output or standard error, without colours in a pipe or where NO_COLOR is set."""
    console = Console(stderr=stderr, highlight=False, emoji=False, soft_wrap=False)
    if not console.is_terminal:
        console.width = _pipe_width()
    return console


def _pipe_width() -> int:
    """Return the width that COLUMNS asks for, or a default if it is no number."""
    columns = os.environ.get("COLUMNS", "")
    return max(int(columns), _NARROWEST) if columns.isascii() and columns.isdigit() else _PIPE_WIDTH


def rendered(console: Console, *renderables: RenderableType, width: int | None = None) -> str:
    """Return tables or texts as the console prints them, without blanks at the ends of lines."""
    with console.capture() as captured:
        console.print(*renderables, sep="\n", width=width)
    # Colours may end between or after the blanks.
    return _TRAILING.sub(lambda found: found[0].replace(" ", ""), captured.get())


def complaint(message: str) -> Text:
    """Return the message of an error with its colours. Lines that begin with `hint:` have the remedy."""
    first, *rest = message.splitlines() or [""]
    text = Text.assemble(("error: ", "bold red"), first)
    for line in rest:
        text.append("\n" + line, "cyan" if line.startswith("hint:") else "")
    return text
