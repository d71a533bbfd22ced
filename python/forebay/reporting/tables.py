"""From frames to tables with units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl

from forebay.display.quantity import CI, scale, title

from .parts import Cell, Head, Table

NONE = Cell("-")


def table_of(
    frame: pl.DataFrame,
    heading: str,
    source: str = "",
    keys: Sequence[str] = (),
    titles: Callable[[str], str] = title,
) -> Table:
    """Return the columns of a frame; quantities get a unit of fitting size, `…_ci95` columns go next to their metric's.

    Columns of `group.metric` appear below the name of the group. `keys` are shown as they are, others by `titles`.
    Reasons for which nothing was dropped are left out.
    """
    shown = [name for name in frame.columns if not (_is_interval(name, frame) or _is_unused_reason(name, frame))]
    heads, columns = [], []
    for name in shown:
        values = frame.get_column(name)
        halves = frame.get_column(name + CI) if name + CI in frame.columns else None
        group, _, quantity = ("", "", name) if name in keys else name.rpartition(".")
        head, cells = _column(quantity, values, halves, titles)
        heads.append(replace(head, name=name if name in keys else head.name, section=group))
        columns.append(cells)
    return Table(heading, heads, list(zip(*columns, strict=True)), source)


def number_text(value: float, digits: int = 4) -> str:
    """Return a number with `digits` significant digits, with separators where it is large."""
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def name_cell(name: str, hint: str = "") -> Cell:
    """Return a cell that holds a text."""
    return Cell(name, name, hint=hint)


def _is_interval(name: str, frame: pl.DataFrame) -> bool:
    return name.endswith(CI) and name.removesuffix(CI) in frame.columns


def _is_unused_reason(name: str, frame: pl.DataFrame) -> bool:
    return name.startswith("dropped_") and not (frame.get_column(name) != 0).any()


def _column(
    name: str, values: pl.Series, halves: pl.Series | None, titles: Callable[[str], str]
) -> tuple[Head, list[Cell]]:
    if not values.dtype.is_numeric():
        return Head(titles(name), is_text=True), [
            NONE if value is None else name_cell(str(value)) for value in values.to_list()
        ]
    numbers = values.to_list()
    unit = scale(name, max((abs(it) for it in numbers if it is not None), default=0.0))
    intervals = [None] * len(numbers) if halves is None else halves.to_list()
    whole = values.dtype.is_integer() and unit.divisor == 1.0
    cells = []
    for value, half in zip(numbers, intervals, strict=True):
        if value is None:
            cells.append(NONE)
            continue
        # Seeds and counters are shown whole.
        text = f"{value:,}" if whole and name != "seed" else str(value) if whole else number_text(value / unit.divisor)
        cells.append(Cell(text, value, "" if half is None else number_text(half / unit.divisor, 2)))
    # "Packets sent" says its unit itself.
    return Head(titles(name), "" if unit.unit in titles(name).lower().split() else unit.unit), cells
