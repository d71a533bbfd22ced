"""What is kept of a run: its result tables and time series as plain columns, or the reason why there are none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from forebay.document import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

Columns = dict[str, "NDArray[Any]"]


def data_rows(queue_flows: Mapping[str, NDArray[Any]]) -> NDArray[np.bool]:
    """Which rows of `queue_flows` are of data; all of them in a run kept by a version that had no rows for ACKs."""
    if "direction" not in queue_flows:
        return np.ones(len(queue_flows["flow"]), dtype=bool)
    are_data: NDArray[np.bool] = np.asarray(queue_flows["direction"]) == "data"
    return are_data


@dataclass(frozen=True)
class Series:
    """One quantity sampled at equal intervals."""

    of: str
    name: str
    quantity: str
    start_s: float
    interval_s: float
    values: NDArray[np.float64]

    def times(self) -> NDArray[np.float64]:
        """The time of each value in seconds."""
        return self.start_s + self.interval_s * np.arange(len(self.values), dtype=np.float64)


@dataclass(frozen=True)
class Outcome:
    """The result of one run: `tables["flows"]["goodput_bps"]` and the like."""

    tables: dict[str, Columns]
    series: list[Series] = field(default_factory=list)
    digest: str = ""
    """Identifies the whole result: equal scenarios and seeds have equal digests."""

    def find_series(self, of: str, name: str, quantity: str) -> Series | None:
        """The series of that component and quantity."""
        for series in self.series:
            if (series.of, series.name, series.quantity) == (of, name, quantity):
                return series
        return None

    def group(self, group: str) -> list[str]:
        """The names of a group's flows."""
        flows = self.tables["flows"]
        return [str(name) for name in flows["name"][flows["group"] == group]]

    def to_lists(self) -> list[pl.Series]:
        """A column of one value for each table, a list of its rows, and one for the time series."""
        lists = [_listed(table, columns) for table, columns in self.tables.items() if columns]
        if self.series:
            heads = {name: [getattr(one, name) for one in self.series] for name in _HEADS}
            lists.append(_listed(_SERIES, {**heads, "values": [one.values for one in self.series]}))
        return lists

    @classmethod
    def from_frame(cls, frame: pl.DataFrame) -> Outcome:
        """The outcome in the only row of a frame, where it may have other columns beside it. Raises KeyError."""
        tables: dict[str, Columns] = {table: {} for table in TABLES}
        for table in set(TABLES).intersection(frame.columns):
            tables[table] = {rows.name: _array(rows) for rows in _unlisted(frame, table)}
        series = []
        if _SERIES in frame.columns:
            rows = {column.name: column for column in _unlisted(frame, _SERIES)}
            heads = zip(*(rows[name].to_list() for name in _HEADS), strict=True)
            series = [
                Series(of, name, quantity, start_s, interval_s, values.to_numpy())
                for (of, name, quantity, start_s, interval_s), values in zip(heads, rows["values"], strict=True)
            ]
        return cls(tables, series, frame.item(0, "digest"))


_SERIES = "series"
_HEADS = ("of", "name", "quantity", "start_s", "interval_s")


def _listed(name: str, columns: Mapping[str, Any]) -> pl.Series:
    """All rows of a table as one value."""
    return pl.Series(name, [pl.DataFrame([_column(key, values) for key, values in columns.items()]).to_struct()])


def _column(name: str, values: Any) -> pl.Series:
    # A kind that is told need not be found out, which for a run of 50 ms is time that counts.
    if isinstance(values, np.ndarray) and values.dtype.kind in "UO":
        return pl.Series(name, values.tolist(), dtype=pl.String)
    return pl.Series(name, values)


def _unlisted(frame: pl.DataFrame, name: str) -> list[pl.Series]:
    rows: pl.Series = frame.item(0, name)
    return rows.struct.unnest().get_columns()


def _array(values: pl.Series) -> NDArray[Any]:
    return np.array(values.to_list(), dtype=np.str_) if values.dtype == pl.String else values.to_numpy()


@dataclass(frozen=True)
class Failure:
    """Why a run has no result."""

    kind: str
    """The name of the exception."""
    message: str

    def to_text(self) -> str:
        """Kind and message in one text, as a stored run has it."""
        return f"{self.kind}: {self.message}"

    @classmethod
    def from_text(cls, text: str) -> Failure:
        """The failure of that text."""
        kind, _, message = text.partition(": ")
        return cls(kind, message)
