"""Reductions that make a page small enough to send: thinner series and shorter tables, each with a note."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from .parts import Chart, Charts, Line, Lines, Part, Section, Table, Values

MOST_POINTS = 250_000
"""Of all lines of a page, together about 3 MB."""
MOST_CELLS = 60_000
"""Of all tables of a page, together about 4 MB."""
_LINE_POINTS = (100, 4000)
_LEAST_ROWS = 20


def fitted(sections: Sequence[Section]) -> list[Section]:
    """Return the sections with no more points and rows than a page can hold."""
    lines = sum(len(chart.lines) for chart in _charts(sections) if isinstance(chart, Lines))
    least, most = _LINE_POINTS
    points = max(least, min(most, MOST_POINTS // max(1, lines)))
    rows = _most_rows([part for section in sections for part in section.parts if isinstance(part, Table)])
    return [replace(section, parts=[_fitted(part, points, rows) for part in section.parts]) for section in sections]


def thinned(line: Line, most: int) -> Line:
    """At most `most` of the values of a line: of each of equal stretches, the least and the greatest."""
    count = len(line.x)
    if count <= most:
        return line
    keep = kept_indices(line.y, most)
    low, high = (None if end is None else end[keep] for end in (line.low, line.high))
    return Line(line.name, line.x[keep], line.y[keep], low, high)


def kept_indices(values: Values, most: int) -> np.ndarray:
    """Return which values a thinned line keeps: no peak is lost."""
    stretch = math.ceil(len(values) / (most // 2))
    stretches = math.ceil(len(values) / stretch)
    padded = np.full(stretches * stretch, np.nan)
    padded[: len(values)] = values
    table = padded.reshape(stretches, stretch)
    starts = stretch * np.arange(stretches)
    least = starts + np.argmin(np.where(np.isnan(table), np.inf, table), axis=1)
    greatest = starts + np.argmax(np.where(np.isnan(table), -np.inf, table), axis=1)
    found = np.unique(np.concatenate([least, greatest]))
    return found[found < len(values)]


def _charts(sections: Iterable[Section]) -> Iterator[Chart]:
    for section in sections:
        for part in section.parts:
            if isinstance(part, Charts):
                yield from part.charts


def _fitted(part: Part, points: int, rows: int) -> Part:
    if isinstance(part, Charts):
        return replace(part, charts=[_fitted_chart(chart, points) for chart in part.charts])
    if isinstance(part, Table) and len(part.rows) > rows:
        where = f": all are in {part.source}" if part.source else ""
        note = f"The first {rows:,} of {len(part.rows):,} rows{where}."
        return replace(part, rows=part.rows[:rows], note=f"{part.note} {note}".strip())
    return part


def _fitted_chart(chart: Chart, points: int) -> Chart:
    if not isinstance(chart, Lines) or all(len(line.x) <= points for line in chart.lines):
        return chart
    longest = max(len(line.x) for line in chart.lines)
    note = f"Thinned from {longest:,} to {points:,} values per line: the extremes of each stretch are drawn."
    lines = [thinned(line, points) for line in chart.lines]
    return replace(chart, lines=lines, note=f"{chart.note} {note}".strip())


def _most_rows(tables: Sequence[Table]) -> int:
    """Return the most rows of a table with which all tables together stay within their bounds."""
    low, high = _LEAST_ROWS, max((len(table.rows) for table in tables), default=_LEAST_ROWS)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(len(table.rows), middle) * len(table.heads) for table in tables) <= MOST_CELLS:
            low = middle
        else:
            high = middle - 1
    return max(low, _LEAST_ROWS)
