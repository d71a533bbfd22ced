"""Tables whose rows are made when they are asked for, and their JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import forebay as fb
from forebay import _core
from forebay.runs.single import run_core
from forebay.storage.document import Rows, document_of, json_parts, json_text

ROWS = [
    {"name": f"flow-{number}", "delay_s": number / 4 if number % 3 else None, "count": number} for number in range(9)
]


@given(st.lists(st.tuples(st.text(), st.floats(), st.integers(-(2**63), 2**63 - 1))))
def test_the_core_writes_rows_that_python_reads(table: list[tuple[str, float, int]]) -> None:
    names = [name for name, _, _ in table]
    numbers, counts = np.array([it for _, it, _ in table], np.float64), np.array([it for _, _, it in table], np.int64)
    text = _core.json_rows([('a "name"', names), ("number", numbers), ("count", counts)], 0, len(table))
    rows: list[dict[str, Any]] = [
        {'a "name"': name, "number": number if math.isfinite(number) else None, "count": count}
        for name, number, count in table
    ]
    # Of two shortest texts for a number, such as 70368744177664.62 and .63, each may choose one.
    assert len(f"[{text}]") == len(json.dumps(rows, allow_nan=False, ensure_ascii=False))
    assert json.loads(f"[{text}]") == rows


@given(st.lists(st.tuples(st.text(), st.integers(-(2**63), 2**63 - 1))))
def test_texts_and_counts_are_written_as_python_does(table: list[tuple[str, int]]) -> None:
    names, counts = [name for name, _ in table], np.array([it for _, it in table], np.int64)
    text = _core.json_rows([("name", names), ("count", counts)], 0, len(table))
    rows = [{"name": name, "count": count} for name, count in table]
    assert f"[{text}]" == json.dumps(rows, allow_nan=False, ensure_ascii=False)


def test_numbers_change_to_exponents_where_those_of_python_do() -> None:
    numbers = np.array([1e-4, 9.9e-5, 1e15, 9999999999999998.0, 1e16, -1e16, 1.5e300, 5e-324, -0.0, 1e-10])
    text = _core.json_rows([("x", numbers)], 0, len(numbers))
    assert f"[{text}]" == json.dumps([{"x": number} for number in numbers.tolist()])


def test_rows_are_a_sequence() -> None:
    rows = Rows.of(ROWS)
    assert (len(rows), list(rows), rows[2], rows[-1]) == (9, ROWS, ROWS[2], ROWS[-1])
    assert (rows[1:7:2], rows[::-3], rows[5:2]) == (ROWS[1:7:2], ROWS[::-3], [])
    assert (list(rows.part(2, 5)), rows.part(2, 5)[1:], rows.part(2, 5)[0]) == (ROWS[2:5], ROWS[3:5], ROWS[2])
    assert rows.part(3, 5).column("count") == [3, 4]
    assert rows.find("name", {"flow-8", "flow-1", "flow-3"}, 2) == [ROWS[1], ROWS[3]]
    assert (list(Rows({})), Rows({}).column("name")) == ([], [])


def test_json_in_parts_is_the_same_of_frames_and_of_lists() -> None:
    many = ROWS * 1000
    frame = pl.DataFrame(many)
    expected = json.dumps({"rows": many, "seed": 1})
    assert json_text({"rows": Rows.of(many), "seed": 1}) == expected
    parts = list(json_parts({"rows": Rows(frame.to_dict()), "seed": 1}))
    assert "".join(parts) == expected
    assert max(len(part) for part in parts) < len(expected) / 2
    odd = frame.with_columns(pl.col("count") > 3)
    assert json.loads(json_text({"rows": Rows(odd.to_dict())})) == {"rows": odd.to_dicts()}


def test_a_column_of_the_core_makes_values_when_asked(small: fb.Scenario) -> None:
    raw, arrays = run_core(small, arrays=False), run_core(small)
    column, values = raw.flows["name"], list(arrays.flows["name"])
    assert isinstance(column, _core.Column)
    assert (len(column), column[0], column[-1], column[1:3]) == (len(values), values[0], values[-1], values[1:3])
    assert column.places([values[2], values[0]], 9) == [0, 2]
    assert column.places(values, 1) == [0]
    assert list(raw.flows["packets_sent"]) == arrays.flows["packets_sent"].tolist()
    document = json.loads(json_text(document_of(raw)))
    assert document["flows"] == fb.run(small).to_dict()["flows"]
