"""A result as one document of plain values: what `forebay run --json` prints and a saved result keeps."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._core import RawResult

Document = dict[str, Any]
TABLES = ("flows", "queues", "links", "queue_flows", "ports")


def document_of(raw: RawResult) -> Document:
    """Return the document of the core's results."""
    return {
        "scenario": raw.scenario,
        "seed": raw.seed,
        "duration_s": raw.duration_s,
        "warmup_s": raw.warmup_s,
        **{table: rows_of(getattr(raw, table)) for table in TABLES},
        "deadlock": raw.deadlock,
        "series": [{**entry, "values": values_of(entry["values"])} for entry in raw.series],
        "engine": dict(raw.engine),
        "digest": raw.digest,
    }


def rows_of(columns: Mapping[str, NDArray[Any] | Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the rows of a table of columns."""
    lists = [values_of(values) for values in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def values_of(values: NDArray[Any] | Iterable[Any]) -> list[Any]:
    """Return the values of a column; what has no value is NaN in the core and None here."""
    plain = values if isinstance(values, list) else list(getattr(values, "tolist", lambda: values)())
    return [None if isinstance(value, float) and not math.isfinite(value) else value for value in plain]


def json_text(document: Document) -> str:
    """Return the document on one line."""
    return json.dumps(document, allow_nan=False, ensure_ascii=False)
