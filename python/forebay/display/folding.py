"""Tables of any width: columns that find no room go into a table below, and names stay whole or lose their middle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

_GAP = 2
"""Spaces between two columns."""
_LEAST_TEXT = 24
"""A column of text is not made narrower than this."""
_ELLIPSIS = "…"


@dataclass(frozen=True)
class Column:
    """A column next to the names."""

    heading: str
    """One line, or two of which the second is the unit."""
    cells: Sequence[str | Text]
    section: str = ""
    """The heading of columns that belong together. They share a table if they fit into one."""
    rank: int = 0
    """Where there is too little room, columns of the highest rank are left out first, and those of rank 0 never."""
    is_text: bool = False
    """Text is set to the left and broken into lines."""

    @property
    def width(self) -> int:
        """The least width, with the gap before it."""
        widest = max((cell_len(line) for cell in self.cells for line in str(cell).split("\n")), default=0)
        heads = [cell_len(line) for line in (self.section, *self.heading.split("\n"))]
        return max(min(widest, _LEAST_TEXT) if self.is_text else widest, *heads) + _GAP

    @property
    def full_name(self) -> str:
        """Section and heading on one line, without the unit."""
        return f"{self.section} {self.heading.partition(chr(10))[0]}".strip()


def folded(
    heading: str,
    names: Sequence[str],
    columns: Sequence[Column],
    width: int,
    *,
    title: str = "",
    most_tables: int = 3,
    leading: int = 0,
) -> list[RenderableType]:
    """Tables below each other, each with the names, and what there is to say about them.

    Names stay whole as long as one column fits next to them. Beyond that their middle goes, so that ends and ports
    stay.
    Columns that fit into no more than `most_tables` are left out by their rank, and a line below names them.

    Args:
        heading: The heading of the names.
        names: The first cell of each row, as it is: markup in it is text.
        columns: The other columns.
        width: Characters of a line.
        title: The heading of the first table.
        most_tables: More tables than this are made only for columns of rank 0.
        leading: Empty lines between rows, for cells of several lines.

    """
    needed = max((column.width for column in columns if column.rank == 0), default=0)
    room = max(width - needed, 8)
    shown = shortened(names, room)
    name_width = min(max(map(cell_len, [heading, *shown])), room)
    kept = list(columns)
    parts = _packed(kept, width - name_width)
    while len(parts) > most_tables and (rank := max(column.rank for column in kept)) > 0:
        last = max(index for index, column in enumerate(kept) if column.rank == rank)
        del kept[last]
        parts = _packed(kept, width - name_width)
    tables: list[RenderableType] = []
    for part in parts:
        tables += [_table(heading, shown, name_width, part, title if not tables else "", leading), ""]
    left_out = [column.full_name for column in columns if column not in kept]
    notes = []
    if left_out:
        notes.append(f"{', '.join(left_out)}: left out, too wide for the terminal")
    if shown != list(names):
        notes.append(f"names shortened at {_ELLIPSIS}")
    if notes:
        note = Text(f"{'; '.join(notes)}; a wider terminal, a pipe and --json show all", "dim")
        tables[-1:] = [note, ""]
    return tables


def shortened(names: Sequence[str], width: int) -> list[str]:
    """Return the names, those longer than `width` without their middle, as long as they stay different from each other.

    Names mostly differ at an end: numbers, ports, hosts. Where no cut leaves them different, they
    come back whole, to be broken into lines.
    """
    for share in (0.5, 0.35, 0.65, 0.2, 0.8):
        short = [_without_middle(name, width, share) for name in names]
        if len(set(short)) == len(set(names)):
            return short
    return list(names)


def _without_middle(name: str, width: int, share: float) -> str:
    """Return the name in `width`; `share` is the part of it that the end takes."""
    if cell_len(name) <= width:
        return name
    room = width - cell_len(_ELLIPSIS)
    end = round(room * share)
    return set_cell_size(name, room - end).rstrip() + _ELLIPSIS + set_cell_size(name[::-1], end).rstrip()[::-1]


def _packed(columns: Sequence[Column], width: int) -> list[list[Column]]:
    """Return the columns in as few tables as the width allows, each section in one if it fits."""
    parts: list[list[Column]] = []
    room = 0
    for members in _sections(columns):
        sizes = [column.width for column in members]
        starts_anew = not parts or sum(sizes) > room
        for column, size in zip(members, sizes, strict=True):
            if (starts_anew and column is members[0]) or size > room:
                parts.append([])
                room = width
            parts[-1].append(column)
            room -= size
    return parts


def _sections(columns: Sequence[Column]) -> Iterator[list[Column]]:
    for section, group in groupby(columns, key=lambda column: column.section):
        members = list(group)
        yield from [members] if section else ([column] for column in members)


def _table(
    heading: str, names: Sequence[str], name_width: int, columns: Sequence[Column], title: str, leading: int
) -> Table:
    table = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        padding=(0, 1, 0, 0),
        leading=leading,
    )
    lines = max(column.heading.count("\n") for column in columns) + 1
    has_sections = any(column.section for column in columns)
    # A name that is still too long is broken into lines.
    fits = all(cell_len(name) <= name_width for name in names)
    blank = "\n" * (lines - 1 + has_sections)
    table.add_column(Text(blank + heading), no_wrap=fits, overflow="fold", width=name_width)
    previous = ""
    for column in columns:
        section = column.section if column.section != previous else ""
        previous = column.section
        head = (
            (f"{section}\n" if has_sections else "") + column.heading + "\n" * (lines - 1 - column.heading.count("\n"))
        )
        table.add_column(Text(head), justify="left" if column.is_text else "right", no_wrap=not column.is_text)
    for row, name in enumerate(names):
        table.add_row(Text(name), *[_cell(column.cells[row]) for column in columns])
    return table


def _cell(cell: str | Text) -> Text:
    return cell if isinstance(cell, Text) else Text(cell)
