"""A result as one document of plain values, as `forebay run --json` prints it and a saved result stores it."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, overload

from forebay import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay._core import RawResult

Document = dict[str, Any]
YOUNGER_TABLES = ("videos", "pages", "pings", "completion_times", "equal_paths", "collectives", "ranks")
"""Tables that older versions did not write."""
TABLES = ("flows", "queues", "links", "queue_flows", "adapters", "transfers", *YOUNGER_TABLES)

# So many rows are plain values, or text, at once.
_ROWS_AT_ONCE = 4096


class Rows(Sequence[dict[str, Any]]):
    """The rows of a table of columns, each made when it is asked for: of a million flows all would take gigabytes.

    A column is anything that has a length and parts: of the core, of NumPy or of Polars, or a list.
    """

    def __init__(self, columns: Mapping[str, Any], start: int = 0, stop: int | None = None) -> None:
        self._columns = columns
        self._start = start
        self._stop = min((len(values) for values in columns.values()), default=0) if stop is None else stop

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> Rows:
        """Return the rows, of which all have the same keys, as such an object."""
        if isinstance(rows, Rows):
            return rows
        return cls({key: [row[key] for row in rows] for key in rows[0]} if rows else {})

    def __len__(self) -> int:
        return self._stop - self._start

    @overload
    def __getitem__(self, wanted: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, wanted: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, wanted: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        places = range(self._start, self._stop)[wanted]
        if isinstance(places, int):
            return self._rows(places, places + 1)[0]
        rows = self._rows(min(places), max(places) + 1) if places else []
        return rows[:: places.step]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for start, stop in self._parts():
            yield from self._rows(start, stop)

    def part(self, start: int, stop: int) -> Rows:
        """Return the rows from `start` up to `stop`."""
        return Rows(self._columns, self._start + start, self._start + stop)

    def pick(self, places: Iterable[int]) -> Rows:
        """Return the rows at these places, in their order."""
        wanted = list(places)
        columns = {name: self.column(name) for name in self._columns}
        return Rows({name: [values[place] for place in wanted] for name, values in columns.items()})

    def column(self, name: str) -> list[Any]:
        """Return the values of a column, None for what has no value."""
        return values_of(self._columns[name][self._start : self._stop]) if len(self) else []

    @property
    def columns(self) -> Mapping[str, list[Any]]:
        """All columns by name, each made when it is asked for."""
        return _Columns(self, self._columns)

    def find(self, name: str, wanted: set[str], most: int) -> list[dict[str, Any]]:
        """Return the first `most` rows whose value in column `name` is one of those wanted."""
        values = self._columns[name]
        if isinstance(values, _core.Column):
            places = values.places(list(wanted), most)
        else:
            named = (
                start + at for start, stop in self._parts() for at, it in enumerate(values[start:stop]) if it in wanted
            )
            places = list(islice(named, most))
        return [self._rows(place, place + 1)[0] for place in places]

    def json_parts(self) -> Iterator[str]:
        """Return the rows as JSON objects with commas between them, in parts."""
        for start, stop in self._parts():
            text = _json_rows(self._columns, start, stop) or json.dumps(
                self._rows(start, stop), allow_nan=False, ensure_ascii=False
            ).removeprefix("[").removesuffix("]")
            yield text if start == self._start else f", {text}"

    def _parts(self) -> Iterator[tuple[int, int]]:
        for start in range(self._start, self._stop, _ROWS_AT_ONCE):
            yield start, min(start + _ROWS_AT_ONCE, self._stop)

    def _rows(self, start: int, stop: int) -> list[dict[str, Any]]:
        lists = [values_of(values[start:stop]) for values in self._columns.values()]
        return [dict(zip(self._columns, row, strict=True)) for row in zip(*lists, strict=True)]


class _Columns(Mapping[str, list[Any]]):
    def __init__(self, rows: Rows, names: Collection[str]) -> None:
        self._rows = rows
        self._names = names

    def __getitem__(self, name: str) -> list[Any]:
        return self._rows.column(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _json_rows(columns: Mapping[str, Any], start: int, stop: int) -> str | None:
    """Return these rows as JSON where the core can write all columns, as it can those of the core and of frames."""
    if all(isinstance(values, _core.Column) for values in columns.values()):
        return _core.json_rows(list(columns.items()), start, stop)
    cells = []
    for name, values in columns.items():
        kind = str(getattr(values, "dtype", None))
        part = values[start:stop]
        if kind == "Float64" or (kind == "Int64" and not part.null_count()):
            cells.append((name, part.to_numpy()))
        elif kind == "String" and not part.null_count():
            cells.append((name, part.to_list()))
        else:
            return None
    return _core.json_rows(cells, 0, stop - start)


def document_of(raw: RawResult) -> Document:
    """Return the document of the core's results. Its tables are of `Rows`."""
    return {
        "scenario": raw.scenario,
        "seed": raw.seed,
        "duration_s": raw.duration_s,
        "warmup_s": raw.warmup_s,
        **{table: Rows(getattr(raw, table)) for table in TABLES},
        "deadlock": raw.deadlock,
        "warnings": list(raw.warnings),
        "series": [{**entry, "values": values_of(entry["values"])} for entry in raw.series],
        "engine": dict(raw.engine),
        "digest": raw.digest,
    }


def rows_of(columns: Mapping[str, NDArray[Any] | Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the rows of a table of columns."""
    return list(Rows(columns))


def values_of(values: NDArray[Any] | Iterable[Any]) -> list[Any]:
    """Return the values of a column; a missing value is NaN in the core and None here."""
    plain = values if isinstance(values, list) else list(_listed(values))
    return [None if isinstance(value, float) and not math.isfinite(value) else value for value in plain]


def _listed(values: Any) -> Iterable[Any]:
    """Return the values of an array or of a series of Polars as plain ones."""
    for name in ("tolist", "to_list"):
        if hasattr(values, name):
            listed: list[Any] = getattr(values, name)()
            return listed
    return values  # type: ignore[no-any-return]


def json_text(document: Document) -> str:
    """Return the document on one line."""
    return "".join(json_parts(document))


def json_parts(document: Document) -> Iterator[str]:
    """Return the same in parts, in which no table is text as a whole."""
    before = "{"
    for key, value in document.items():
        yield f"{before}{json.dumps(key, ensure_ascii=False)}: "
        before = ", "
        if isinstance(value, Rows):
            yield "["
            yield from value.json_parts()
            yield "]"
        else:
            yield json.dumps(value, allow_nan=False, ensure_ascii=False)
    yield "}"
