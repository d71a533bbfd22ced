"""Distributions of delays, from the histograms that the engine keeps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from forebay.storage.stored import check_columns, read_table

DELAYS_FILE = "delays.parquet"


def share(keys: Sequence[str]) -> pl.Expr:
    """Return the part of the packets with no more than the delay of a row, among rows with the same keys.

    Args:
        keys: Columns of a histogram, a row for each step in the order of `delay_s`, with a count of `packets`.

    """
    packets = pl.col("packets")
    return (packets.cum_sum().over(*keys) / packets.sum().over(*keys)).alias("share")


def read_delays(path: Path, keys: Sequence[str]) -> pl.DataFrame:
    """Return the histograms of delays in that file, by these keys. Older versions wrote none."""
    frame = read_table(path, has_rows=False)
    if not frame.is_empty():
        check_columns(frame, keys, path.name)
        for name in ("delay_s", "packets"):
            if not frame.schema[name].is_numeric():
                message = f"{path.name}: the column {name} has no numbers"
                raise TypeError(message)
    return frame
