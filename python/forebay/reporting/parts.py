"""The parts of a report: sections of tables, charts and texts. Pure data: how they look is said elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

MOST_LINES = 14
"""The most distinguishable lines on one chart."""


@dataclass(frozen=True)
class Line:
    """One series of a chart, in the units of its axes. A missing value is NaN."""

    name: str
    x: Values
    y: Values
    low: Values | None = None
    """The lower end of the interval at each value."""
    high: Values | None = None


@dataclass(frozen=True)
class Band:
    """Stretches of the x axis that are shaded, such as the periods of a state."""

    name: str
    colour: str
    starts: Values
    ends: Values


@dataclass(frozen=True)
class Lines:
    """Series over a common axis."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    shape: Literal["line", "marked", "points", "band"] = "line"
    """`marked` has a mark and an interval at each value, `points` only these; `band` shades from `low` to `high`."""
    x_log: bool = False
    y_log: bool = False
    x_names: Sequence[str] | None = None
    """Names in place of the numbers 0, 1, 2, … of the axis."""
    x_ticks: Sequence[float] | None = None
    """Where the axis has its numbers; None for round ones."""
    shade_to: float = 0.0
    """Up to here lies the warm-up, which the tables leave out."""
    y_from_zero: bool = True
    bands: Sequence[Band] = ()
    """Drawn under the lines."""
    note: str = ""


@dataclass(frozen=True)
class Mark:
    """One series of a chart with a row for each name."""

    name: str
    values: Values
    low: Values | None = None
    high: Values | None = None


@dataclass(frozen=True)
class Rows:
    """A row for each name, with a mark for each series in it."""

    title: str
    x_label: str
    names: Sequence[str]
    marks: Sequence[Mark]
    shape: Literal["dots", "bars", "spans"] = "dots"
    """`spans` runs from the value to `high`; the others have an interval from `low` to `high`."""
    x_log: bool = False
    most: float | None = None
    """The largest value that there can be."""
    level: tuple[str, float] | None = None
    """A line across all rows, with its name."""
    note: str = ""


@dataclass(frozen=True)
class Heat:
    """A value for each pair of two parameters."""

    title: str
    x_label: str
    y_label: str
    x_names: Sequence[str]
    y_names: Sequence[str]
    values: Values
    """Rows are those of `y_names`; NaN where there is no value."""
    halves: Values
    """Half the 95 % intervals; NaN where there is none."""
    unit: str
    span: tuple[float, float]
    """The values at the ends of the colours: common to maps that are compared."""
    note: str = ""


Chart = Lines | Rows | Heat


@dataclass(frozen=True)
class Charts:
    """Charts side by side; folded ones are drawn when a reader opens them."""

    heading: str
    charts: Sequence[Chart]
    note: str = ""
    folded: bool = False
    kind: str = "charts"


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    text: str
    key: float | str | None = None
    """The sort key of the column; rows without one come last."""
    interval: str = ""
    """Half the 95 % interval."""
    part: float | None = None
    """Its share of the largest value, for a bar behind it."""
    tone: Literal["", "good", "bad", "open"] = ""
    hint: str = ""


@dataclass(frozen=True)
class Head:
    """The head of a column."""

    name: str
    unit: str = ""
    section: str = ""
    """Columns of one section are next to each other, under its name."""
    is_text: bool = False


@dataclass(frozen=True)
class Table:
    """A table that sorts by any of its columns; the first one names the row."""

    heading: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell]]
    source: str = ""
    """The file that has all rows, for a table that has more than a page can hold."""
    note: str = ""
    kind: str = "table"


@dataclass(frozen=True)
class Text:
    """A text as it is, such as a scenario; folded unless it is short."""

    heading: str
    summary: str
    body: str
    folded: bool = True
    kind: str = "text"


@dataclass(frozen=True)
class Terms:
    """The meanings of the words in tables."""

    heading: str
    terms: Sequence[tuple[str, str]]
    kind: str = "terms"


@dataclass(frozen=True)
class Picture:
    """A drawing that exists already, as SVG."""

    caption: str
    svg: bytes
    kind: str = "picture"


Part = Charts | Table | Text | Terms | Picture


@dataclass(frozen=True)
class Section:
    """One folder, or several side by side."""

    heading: str
    facts: Sequence[tuple[str, str]] = ()
    """Short facts, by their names."""
    about: Sequence[str] = ()
    """Paragraphs."""
    conclusion: Sequence[str] = ()
    """Sentences built from the numbers: the section opens with them."""
    warnings: Sequence[str] = ()
    repeat: str = ""
    """The commands that give the same results."""
    parts: Sequence[Part] = field(default=())
