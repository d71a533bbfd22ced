"""From the core's columns to Polars frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray


def frame_of(columns: Mapping[str, NDArray[Any] | list[Any]]) -> pl.DataFrame:
    """The columns as a frame, without copying numbers. What has no value is NaN in the core and null in the frame."""
    texts = {name: pl.String for name, values in columns.items() if isinstance(values, list)}
    gaps = [name for name, values in columns.items() if isinstance(values, np.ndarray) and _has_gaps(values)]
    return pl.DataFrame(dict(columns), schema_overrides=texts).with_columns(pl.col(gaps).fill_nan(None))


def single_row(frame: pl.DataFrame) -> dict[str, Any]:
    """The only row of a frame."""
    return frame.row(0, named=True)


def _has_gaps(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "f" and bool(np.isnan(values).any())
