"""Columns of means with their intervals: three digits of each, in one unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.text import Text

from .quantity import CI, Scale, scale

SHARE = Scale(0.01, "%")
PLAIN = Scale(1.0, "")


@dataclass(frozen=True)
class Column:
    """One column: a metric of the whole, or of a group of flows."""

    section: str
    heading: str
    unit: str
    values: list[float | None]
    """In the unit."""
    intervals: list[float | None]
    """Half the 95 % intervals, in the unit."""
    better: int
    """1 where more is better, -1 where less is, 0 where neither can be said."""
    most: float | None = None
    """The largest value that there can be."""
    most_decimals: int = 4
    texts: list[str] | None = None
    """The cells, where they are not values in one unit."""
    rank: int = 0
    """Where there is too little room, columns of the highest rank are left out first, and those of rank 0 never."""

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The values, NaN where there is none."""
        return np.array(self.values, dtype=np.float64)

    @property
    def halves(self) -> NDArray[np.float64]:
        """The intervals, NaN where there is none."""
        return np.array(self.intervals, dtype=np.float64)

    def cell(self, row: int) -> str:
        """Value and interval, such as "16.7 ±0.2"."""
        if self.texts is not None:
            return self.texts[row]
        value, interval = self.values[row], self.intervals[row]
        if value is None:
            return "-"
        # Three digits of the value, and no more than the largest of the column needs.
        largest = max((abs(it) for it in self.values if it is not None), default=0.0)
        decimals = max(0, min(2 - _exponent(value), 4 - _exponent(largest), self.most_decimals))
        if self.most == 1.0:
            decimals = 3
        text = f"{value:z,.{decimals}f}"
        return text if interval is None else f"{text} ±{interval:,.{decimals}f}"


def _exponent(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value else 0


def link_section(*, several_queues: bool) -> str:
    """Return the heading above the columns about the link and its queue."""
    return "Mean of all ports" if several_queues else "Link"


def unit_of(metric: str, *frames: pl.DataFrame) -> Scale:
    """Return the unit that fits the largest value of these frames, whatever its sign."""
    values = [abs(value) for frame in frames for value in frame.get_column(metric).to_list() if value is not None]
    return scale(metric, max(values, default=0.0))


def column_of(section: str, heading: str, frame: pl.DataFrame, metric: str, unit: Scale, better: int) -> Column:
    """Return the column of a metric, which may be that of a group of flows: `tcp.loss`."""
    quantity = metric.rpartition(".")[2]
    values: list[float | None] = frame.get_column(metric).to_list()
    has_interval = metric + CI in frame.columns
    intervals: list[float | None] = frame.get_column(metric + CI).to_list() if has_interval else [None] * len(values)

    def scaled(numbers: Sequence[float | None]) -> list[float | None]:
        return [None if number is None else number / unit.divisor for number in numbers]

    texts = None
    if quantity == "state_bytes":
        texts = ["-" if value is None else size_text(value) for value in values]
    return Column(
        section,
        heading,
        "" if texts else unit.unit,
        scaled(values),
        scaled(intervals),
        better,
        most={"jain": 1.0, "jain_source": 1.0, "jain_destination": 1.0, "loss": 100.0, "utilization": 100.0}.get(
            quantity
        ),
        most_decimals=2 if unit is SHARE else 4,
        texts=texts,
    )


def size_text(value: float) -> str:
    """Bytes in the unit that fits: "132 kB"."""
    unit = scale("_bytes", value)
    return f"{unit.text(value, 3)} {unit.unit}" if unit.divisor > 1 else f"{value:.0f} B"


def dimmed(cell: str) -> Text:
    """Return the cell with its interval in the background."""
    value, sign, interval = cell.partition(" ±")
    return Text.assemble(value, (f"{sign}{interval}", "dim"))
