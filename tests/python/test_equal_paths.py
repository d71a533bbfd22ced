"""How evenly equal paths are used: the table, its summary, and what people see of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import forebay as fb
from forebay.runs.evenness import over_all, rows_of_sets

SCENARIO = """
duration = "2 ms"
[topology.leaf_spine]
leaves = 2
spines = 2
hosts = 4
paths = {paths}
host_link = {{ rate = "10 Gbps", delay = "1 us", queue.drop_tail = {{ limit = "1000 packets" }} }}
[[flows]]
name = "f"
count = 16
from = ["host0", "host1", "host2", "host3"]
to = ["host4", "host5", "host6", "host7"]
transport.udp = {{ packet = "1000 B", constant = {{ rate = "500 Mbps" }} }}
"""


def scenario(paths: str) -> fb.Scenario:
    """Return a leaf-spine network with this path policy."""
    return fb.Scenario.from_toml(SCENARIO.format(paths=paths))


def test_a_set_is_summed_up_with_its_largest_share() -> None:
    """The measure over all sets is weighted by their bytes."""
    shares = {"largest_over_mean": 1.5, "expected_over_mean": None}
    rows = [
        {"set": "a", "bytes": 300, **shares},
        {"set": "a", "bytes": 100, **shares},
        {"set": "b", "bytes": 50, **shares, "largest_over_mean": 1.0},
        {"set": "b", "bytes": 50, **shares, "largest_over_mean": 1.0},
    ]
    sets = rows_of_sets(rows)
    assert [(row["name"], row["paths"], row["total_bytes"]) for row in sets] == [("a", 2, 400), ("b", 2, 100)]
    assert over_all(sets) == pytest.approx(1.4)
    assert over_all([]) is None


def test_the_table_survives_a_file_and_is_shown(tmp_path: Path) -> None:
    """Of a run, and of several seeds."""
    result = fb.run(scenario('{ spray = { order = "round_robin" } }'), out=tmp_path / "run")
    table = result.equal_paths
    assert table["link"].to_list() == ["leaf0.port4", "leaf0.port5"]
    assert table["largest_over_mean"].max() == pytest.approx(1, abs=0.01)
    assert fb.Result.load(tmp_path / "run").equal_paths.equals(table)
    assert json.loads(result.to_json())["equal_paths"][0]["node"] == "leaf0"
    assert "Equal paths" in result._repr_html_()
    seeds = fb.run(scenario('"ecmp"'), seeds=2)
    assert seeds.equal_paths["expected_over_mean"].to_list() == pytest.approx([1.2, 1.2], abs=0.02)
    assert "expected" in seeds._repr_html_()


def test_the_report_has_the_sets(tmp_path: Path) -> None:
    """As a table, and as a fact."""
    fb.run(scenario('"spray"'), out=tmp_path / "run")
    text = fb.report(tmp_path / "run", out=tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Equal paths" in text
    assert "Fullest of equal paths over the mean" in text
