"""The display of a result in a notebook: the terminal's tables as HTML for light and dark pages."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Sequence
from html import escape

from pygments import token
from rich.console import Console, RenderableType
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax
from rich.table import Column, Table
from rich.text import Text

# Wider tables are folded: a row fits into the column of a notebook.
_WIDTH = 110
# Each has a contrast of about 4.5 with white and 4 with the dark pages of Jupyter and of the documentation.
_COLOURS = {"green": "#2a8644", "red": "#dc3a30", "yellow": "#9a6f00", "cyan": "#0b7f93"}
# The style without a colour: a theme's own text in any colour, only fainter.
_DIM = "opacity: 0.65"
_LINE = '<div style="margin: 0.25em 0">{}</div>'
_TABLE = (
    '<div style="overflow-x: auto"><table style="margin: 0.5em 0; font-variant-numeric: tabular-nums">{}</table></div>'
)
_SECTION = '<th colspan="{columns}" align="center" style="text-align: center; border-bottom: 1px solid">{text}</th>'
_CODE = '<pre style="overflow-x: auto; line-height: 1.3"><code>{}</code></pre>'


def html(parts: Callable[[int], Iterable[RenderableType]]) -> str:
    """Return the lines and tables, made for lines of some width, as HTML. Markup in names is escaped."""
    return "\n".join(filter(None, map(_part, parts(_WIDTH))))


def scenario_html(name: str, size: str, description: str | None, toml: str) -> str:
    """Return a scenario as HTML: its name, size and description, and its file with colours."""
    head = Text.assemble((name, "bold"), f"   {size}")
    about = [Text(description)] if description else []
    return html(lambda _width: [head, *about, _highlighted(toml)])


def _highlighted(text: str) -> Syntax:
    """Highlight a scenario's tables, strings and numbers."""
    styles = {token.Keyword: "bold", token.String: "green", token.Number: "cyan", token.Keyword.Constant: "cyan"}
    theme = ANSISyntaxTheme({kind: Style.parse(style) for kind, style in styles.items()})
    return Syntax(text, "toml", theme=theme)


def _part(part: RenderableType) -> str:
    match part:
        case Table():
            return _table(part)
        case Syntax():
            return _CODE.format(_inline(part.highlight(part.code)).strip("\n"))
        case str() | Text():
            text = _text(part)
            return _LINE.format(_broken(text)) if text.plain.strip() else ""
    message = f"a notebook has no form for {type(part).__name__}"
    raise TypeError(message)


def _table(table: Table) -> str:
    title = _part(f"[bold]{table.title}[/bold]") if isinstance(table.title, str) else ""
    rows = zip(table.rows, zip(*(column.cells for column in table.columns), strict=True), strict=True)
    body = []
    for row, cells in rows:
        style = str(row.style or "")
        body.append(_row(_cell("td", *cell, style) for cell in zip(table.columns, cells, strict=True)))
    lines = "\n".join(body)
    return title + _TABLE.format(f"\n<thead>\n{_head(table.columns)}\n</thead>\n<tbody>\n{lines}\n</tbody>\n")


def _row(cells: Iterable[str]) -> str:
    """Return a row, each cell on a line of its own: a diff of a stored notebook shows the cells that changed."""
    return "\n".join(["<tr>", *cells, "</tr>"])


def _head(columns: Sequence[Column]) -> str:
    """Return the row of headings, and above it one of sections where a section has several columns."""
    headings = [list(_text(column.header).split("\n", allow_blank=True)) for column in columns]
    continued = [not heading[0].plain for heading in headings]
    if not any(continued[1:]):
        return _headings(columns, headings)
    sections: list[str] = []
    sizes: list[int] = []
    for heading, continues in zip(headings[1:], continued[1:], strict=True):
        if continues and sections:
            sizes[-1] += 1
        else:
            sections.append(_inline(heading[0]))
            sizes.append(1)
    spans = (_SECTION.format(columns=size, text=text) for text, size in zip(sections, sizes, strict=True))
    below = _headings(columns, [heading[1:] for heading in headings])
    return _row(["<th></th>", *spans]) + "\n" + below


def _headings(columns: Sequence[Column], headings: Sequence[Sequence[Text]]) -> str:
    texts = [Text("\n").join(heading) for heading in headings]
    return _row(_cell("th", column, text) for column, text in zip(columns, texts, strict=True))


def _cell(tag: str, column: Column, content: RenderableType, style: str = "") -> str:
    """Return a cell; numbers are aligned right, even where a page removes styles, and stay on one line."""
    text = _text(content).copy()
    text.stylize_before(style)
    side = "right" if column.justify == "right" else "left"
    looks = [f"text-align: {side}"]
    looks += ["vertical-align: bottom"] if tag == "th" else ["vertical-align: top"] if side == "left" else []
    looks += ["white-space: nowrap"] if column.no_wrap else []
    return f'<{tag} align="{side}" style="{"; ".join(looks)}">{_broken(text)}</{tag}>'


def _text(content: RenderableType) -> Text:
    if isinstance(content, Text):
        return content
    # Like the terminal: strings may contain marks of style.
    return Text.from_markup(str(content))


def _broken(text: Text) -> str:
    """One or several lines of text; spaces that set parts of a line apart stay."""
    lines = text.split("\n", allow_blank=True)
    return "<br>".join(re.sub(" {2,}", "&ensp;&ensp;", _inline(line)) for line in lines)


def _inline(text: Text) -> str:
    # Left to itself, a console shows what it renders in Jupyter a second time.
    console = Console(file=io.StringIO(), force_jupyter=False, emoji=False)
    if not text.spans:
        # Rendering leaves out the style of a text that has no other.
        return _styled(text.plain, console.get_style(text.style))
    return "".join(_styled(segment.text, segment.style) for segment in text.render(console))


def _styled(plain: str, style: Style | None) -> str:
    marked = escape(plain, quote=False)
    if style is None or not plain:
        return marked
    if style.color is not None and style.color.name in _COLOURS:
        marked = f'<span style="color: {_COLOURS[style.color.name]}">{marked}</span>'
    if style.dim:
        marked = f'<span style="{_DIM}">{marked}</span>'
    return f"<b>{marked}</b>" if style.bold else marked
