"""From the core's columns to Polars frames."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

_FORMULA = r"^[=+\-@\t\r]"


def frame_of(columns: Mapping[str, NDArray[Any] | list[Any]]) -> pl.DataFrame:
    """Return the columns as a frame, without copying numbers. A missing value is NaN in the core and null here."""
    texts = {name: pl.String for name, values in columns.items() if isinstance(values, list)}
    gaps = [name for name, values in columns.items() if isinstance(values, np.ndarray) and _has_gaps(values)]
    return pl.DataFrame(dict(columns), schema_overrides=texts).with_columns(pl.col(gaps).fill_nan(None))


def write_csv(frame: pl.DataFrame, path: Path) -> None:
    """Write the frame as CSV. A name that a spreadsheet would take for a formula (`=1+1`) gets a `'` before it."""
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    inert = [pl.when(pl.col(it).str.contains(_FORMULA)).then("'" + pl.col(it)).otherwise(pl.col(it)) for it in texts]
    frame = frame.with_columns(one.alias(name) for one, name in zip(inert, texts, strict=True))
    heads = {name: f"'{name}" for name in frame.columns if re.match(_FORMULA, name)}
    frame.rename(heads).write_csv(path)


def single_row(frame: pl.DataFrame) -> dict[str, Any]:
    """Return the only row of a frame."""
    return frame.row(0, named=True)


def _has_gaps(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "f" and bool(np.isnan(values).any())
