"""The stored outcome of a run: its result tables and time series as plain columns, or the reason of its failure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from forebay.storage.document import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

Columns = dict[str, "NDArray[Any]"]
StoredColumn: TypeAlias = "NDArray[Any] | list[str] | list[NDArray[np.float64]]"
StoredTable: TypeAlias = tuple[str, list[tuple[str, StoredColumn]]]


def data_rows(queue_flows: Mapping[str, NDArray[Any]]) -> NDArray[np.bool]:
    """Return which rows of `queue_flows` are of data; all of them in a run of a version without rows for ACKs."""
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
    states: Sequence[str] = ()
    """Names of states: a value is the index of its name."""

    def times(self) -> NDArray[np.float64]:
        """Return the time of each value in seconds."""
        return self.start_s + self.interval_s * np.arange(len(self.values), dtype=np.float64)


@dataclass(frozen=True)
class Outcome:
    """The result of one run: `tables["flows"]["goodput_bps"]` and the like."""

    tables: dict[str, Columns]
    series: list[Series] = field(default_factory=list)
    digest: str = ""
    """Identifies the whole result: equal scenarios and seeds have equal digests."""

    def find_series(self, of: str, name: str, quantity: str) -> Series | None:
        """Return the series of that component and quantity."""
        for series in self.series:
            if (series.of, series.name, series.quantity) == (of, name, quantity):
                return series
        return None

    def group(self, group: str) -> list[str]:
        """Return the names of a group's flows."""
        flows = self.tables["flows"]
        return [str(name) for name in flows["name"][flows["group"] == group]]

    def to_tables(self) -> list[StoredTable]:
        """Return the tables that have columns, and the time series as one more, as `_core.run_file` takes them."""
        tables: list[StoredTable] = []
        for table, columns in self.tables.items():
            if columns:
                tables.append((table, [(name, _plain(values)) for name, values in columns.items()]))
        if self.series:
            rows: list[tuple[str, StoredColumn]] = [
                (name, _plain(np.array([getattr(one, name) for one in self.series]))) for name in _HEADS
            ]
            rows.append(("values", [one.values for one in self.series]))
            if any(one.states for one in self.series):
                rows.append(("states", [" ".join(one.states) for one in self.series]))
            tables.append((_SERIES, rows))
        return tables

    @classmethod
    def from_frame(cls, frame: pl.DataFrame) -> Outcome:
        """Return the outcome in the only row of a frame, which may have other columns. Raises KeyError."""
        tables: dict[str, Columns] = {table: {} for table in TABLES}
        for table in set(TABLES).intersection(frame.columns):
            tables[table] = {rows.name: _array(rows) for rows in _unlisted(frame, table)}
        series = []
        if _SERIES in frame.columns:
            rows = {column.name: column for column in _unlisted(frame, _SERIES)}
            heads = zip(*(rows[name].to_list() for name in _HEADS), strict=True)
            states = rows["states"].to_list() if "states" in rows else [""] * len(rows["values"])
            series = [
                Series(of, name, quantity, start_s, interval_s, values.to_numpy(), names.split())
                for (of, name, quantity, start_s, interval_s), values, names in zip(
                    heads, rows["values"], states, strict=True
                )
            ]
        return cls(tables, series, frame.item(0, "digest"))


_SERIES = "series"
_HEADS = ("of", "name", "quantity", "start_s", "interval_s")


def _plain(values: NDArray[Any]) -> StoredColumn:
    return values.tolist() if values.dtype.kind == "U" else np.ascontiguousarray(values)


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
    lasts: bool = True
    """Whether the same run would fail again, so that its failure is kept on disk."""

    def to_text(self) -> str:
        """Kind and message in one text, as a stored run has it."""
        return f"{self.kind}: {self.message}"

    @classmethod
    def from_text(cls, text: str) -> Failure:
        """Return the failure of that text."""
        kind, _, message = text.partition(": ")
        return cls(kind, message)
