"""Collectives and traces from a scenario to tables and files."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import forebay as fb
from conftest import Command

FABRIC = """
duration = "2 ms"

[topology.leaf_spine]
leaves = 2
spines = 2
hosts = 2
host_link = { rate = "100 Gbps", delay = "1 us", queue.trimming = { limit = "28 packets" } }

[[flows]]
name = "sum"
transport = "uec"
"""
RING = FABRIC + 'pattern.all_reduce = { algorithm = "ring", size = "1 MB", repeat = 2 }'
TRACE = """num_ranks 2
rank 0 {
a: calc 1000
b: send 5000b to 1
b requires a
}
rank 1 {
recv 5000b from 0
}
"""


def test_collectives_survive_files(tmp_path: Path) -> None:
    result = fb.run(fb.Scenario.from_toml(RING))
    assert result.collectives.get_column("name").to_list() == ["sum 1", "sum 2"]
    time, bandwidth = result.collectives.select("time_s", "bus_bandwidth_bps").row(0)
    assert bandwidth == pytest.approx(2 * 3 / 4 * 8e6 / time, rel=1e-12)
    assert 80e9 < bandwidth < 100e9
    assert result.ranks.get_column("host").to_list() == [f"host{number}" for number in range(4)]
    assert result.ranks.get_column("end_s").max() > result.collectives.get_column("end_s").max()  # type: ignore[operator]
    result.save(tmp_path / "run")
    loaded = fb.load(tmp_path / "run")
    assert loaded.collectives.equals(result.collectives)
    assert loaded.ranks.equals(result.ranks)


def test_the_summary_and_json_show_a_trace(forebay: Command, tmp_path: Path) -> None:
    (tmp_path / "step.goal").write_text(TRACE)
    scenario = tmp_path / "step.toml"
    scenario.write_text(FABRIC + 'pattern.goal = { file = "step.goal" }')
    shown = forebay("run", str(scenario)).stdout
    assert "Collectives" in shown
    assert "goal" in shown
    assert "Ranks" in shown
    document = json.loads(forebay("run", str(scenario), "--json").stdout)
    (trace,) = document["collectives"]
    assert (trace["operation"], trace["hosts"], trace["size_bytes"]) == ("goal", 2, None)
    assert trace["time_s"] == max(rank["end_s"] for rank in document["ranks"])
    assert document["flows"][0]["start_s"] == 1e-6


def test_messages_that_do_not_begin_are_reported() -> None:
    result = fb.run(fb.Scenario.from_toml(RING.replace("2 ms", "50 us")))
    assert result.collectives.get_column("time_s").is_null().all()
    (warning,) = [warning for warning in result.warnings if "did not begin" in warning.text]
    assert "messages of `sum` did not begin within the run" in warning.text
    assert result.flows.filter(pl.col("start_s").is_null()).height > 0
