"""What is kept of a run: its result tables and time series as plain columns, and a file for them."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.document import TABLES
from forebay.folder import begun

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

    def save(self, path: Path) -> None:
        """Writes the outcome; the file appears complete or not at all. Raises OSError if it cannot."""
        arrays: dict[str, Any] = {}
        for table, columns in self.tables.items():
            for column, values in columns.items():
                arrays[f"{table}/{column}"] = values
        for index, series in enumerate(self.series):
            arrays[f"series/{index}/what"] = np.array([series.of, series.name, series.quantity])
            arrays[f"series/{index}/clock"] = np.array([series.start_s, series.interval_s])
            arrays[f"series/{index}/values"] = series.values
        with begun(path.parent, Path.touch) as partial:
            # In one piece: a ZIP file that is cut short by a full disk complains again when it is forgotten.
            archive = io.BytesIO()
            np.savez_compressed(archive, **arrays)
            partial.write_bytes(archive.getbuffer())
            partial.replace(path)

    @classmethod
    def load(cls, path: Path) -> Outcome:
        """Reads what `save` wrote. Raises OSError, ValueError, KeyError or BadZipFile for any other file."""
        tables: dict[str, Columns] = {table: {} for table in TABLES}
        series = []
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            for key in arrays.files:
                head, _, rest = key.partition("/")
                if head in tables:
                    tables[head][rest] = arrays[key]
                elif key.endswith("/what"):
                    stem = key.removesuffix("what")
                    of, name, quantity = (str(text) for text in arrays[key])
                    start_s, interval_s = (float(number) for number in arrays[f"{stem}clock"])
                    series.append(Series(of, name, quantity, start_s, interval_s, arrays[f"{stem}values"]))
        return cls(tables, series)
