"""The Parquet file of a run, as other readers of the format see it."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import polars as pl
import pytest

from forebay import _core
from forebay.errors import InternalError

FLOWS: list[tuple[str, Any]] = [
    ("name", ["tcp-0", "tcp-1", "ünï"]),
    ("goodput_bps", np.array([1.5, np.nan, -0.0])),
    ("packets", np.array([0, -1, 2**63 - 1])),
]


def read(facts: list[tuple[str, Any]], tables: list[tuple[str, Any]]) -> pl.DataFrame:
    return pl.read_parquet(io.BytesIO(_core.run_file(facts, tables)))


def test_a_table_is_a_list_of_rows() -> None:
    frame = read([("run", "a"), ("seed", 2**64 - 1), ("error", None)], [("flows", FLOWS)])
    assert frame.drop("flows").rows() == [("a", 2**64 - 1, None)]
    assert frame.schema["seed"] == pl.UInt64
    flows = frame.select("flows").explode("flows").unnest("flows")
    assert flows.schema == {"name": pl.String, "goodput_bps": pl.Float64, "packets": pl.Int64}
    assert flows["name"].to_list() == ["tcp-0", "tcp-1", "ünï"]
    assert flows["goodput_bps"].to_numpy().tobytes() == FLOWS[1][1].tobytes()
    assert flows["packets"].to_list() == [0, -1, 2**63 - 1]


@pytest.mark.parametrize("lengths", [(0,), (3,), (0, 2, 0), (1, 5, 1), (30_000, 25_000)])
def test_series_have_lengths_of_their_own(lengths: tuple[int, ...]) -> None:
    values = [np.arange(length, dtype=np.float64) + 0.1 for length in lengths]
    names = [f"series {number}" for number in range(len(lengths))]
    frame = read([("run", "a")], [("series", [("name", names), ("values", values)]), ("flows", FLOWS)])
    series = frame.select("series").explode("series").unnest("series")
    assert series["name"].to_list() == names
    assert [row.to_list() for row in series["values"]] == [row.tolist() for row in values]
    assert len(frame.item(0, "flows")) == 3


def test_a_table_may_have_no_rows() -> None:
    empty = [("name", []), ("goodput_bps", np.array([], dtype=np.float64)), ("packets", np.array([], dtype=np.int64))]
    frame = pl.concat([read([("run", "a")], [("flows", empty)]), read([("run", "b")], [("flows", FLOWS)])])
    assert [len(rows) for rows in frame["flows"]] == [0, 3]


def test_columns_that_differ_in_length_are_refused() -> None:
    with pytest.raises(InternalError, match="columns of flows differ in length"):
        _core.run_file([], [("flows", [*FLOWS, ("more", np.array([1.0]))])])


def test_only_numbers_and_text_are_taken() -> None:
    with pytest.raises(TypeError):
        _core.run_file([], [("flows", [("name", [1, 2])])])  # type: ignore[list-item]
