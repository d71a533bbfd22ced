"""Patterns of a fabric, measured sizes and completion times from a scenario to tables, files and figures."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import forebay as fb
from conftest import Command
from forebay.runs.completion import slowdown_curves

SCENARIO = """
duration = "12 ms"
warmup = "1 ms"
host_jitter = "none"

[topology.leaf_spine]
leaves = 2
spines = 2
hosts = 4
host_link = { rate = "10 Gbps", delay = "1 us", queue.drop_tail = { limit = "200 packets" } }

[[flows]]
name = "web"
transport.tcp = { max_window_segments = 40, min_rto = "1 ms" }
pattern.open_loop = { load = 0.3, size = { cdf = "fb_web_server" } }
stop = "8 ms"
"""
OTHER = """
[[flows]]
name = "burst"
transport.tcp = { max_window_segments = 40, min_rto = "1 ms" }
pattern.incast = { receiver = "host0", senders = 5, size = "30 KB" }
start = "2 ms"
"""


def load(more: str = "") -> fb.Scenario:
    return fb.Scenario.from_toml(SCENARIO + more)


def test_columns_and_summary_agree_and_survive_files(tmp_path: Path) -> None:
    result = fb.run(load(OTHER))
    times = result.completion_times
    assert times.filter(pl.col("sizes") == "all").get_column("group").to_list() == ["web", "burst"]
    assert set(times.get_column("base")) == {"store_and_forward"}
    web = result.flows.filter((pl.col("group") == "web") & (pl.col("start_s") >= 1e-3))
    small = web.filter(pl.col("size_bytes") <= 10_000)
    row = times.row(by_predicate=pl.col("name") == "web <= 10 KB", named=True)
    assert row["completed"] + row["unfinished"] == small.height > 20
    assert row["fct_mean_s"] == pytest.approx(small.get_column("fct_s").mean(), rel=1e-12)
    assert row["slowdown_p99"] == small.get_column("slowdown").drop_nulls().sort()[int(row["completed"] * 0.99)]
    burst = result.flows.filter(pl.col("group") == "burst")
    assert burst.get_column("name").to_list() == [f"burst-{number}" for number in range(5)]
    assert burst.select((pl.col("fct_s") / pl.col("base_s") - pl.col("slowdown")).abs().max()).item() < 1e-12
    result.save(tmp_path / "run")
    loaded = fb.load(tmp_path / "run")
    assert loaded.completion_times.equals(times)
    assert loaded.flows.equals(result.flows)


def test_seeds_have_means_with_intervals() -> None:
    seeds = fb.run(load(), seeds=3)
    row = seeds.completion_times.row(by_predicate=pl.col("name") == "web all", named=True)
    assert row["slowdown_mean"] > 1.0
    assert row["slowdown_mean_ci95"] > 0.0
    counts = [
        run.completion_times["completed"].to_list()[-1] for run in (fb.run(load(), seed=seed) for seed in (1, 2, 3))
    ]
    assert len(set(counts)) > 1, "the number of flows depends on the seed"
    assert row["completed"] == pytest.approx(sum(counts) / 3)


def test_a_sweep_over_the_load_has_slowdowns() -> None:
    sweep = fb.sweep(load(), {"flows.web.pattern.open_loop.load": [0.1, 0.6]}, seeds=2)
    slow = sweep.points.get_column("slowdown_p99").to_list()
    assert 1.0 < slow[0] < slow[1]
    assert "slowdown_mean_ci95" in sweep.points.columns


def test_a_comparison_has_slowdowns_though_seeds_differ_in_their_flows() -> None:
    comparison = fb.compare(load(OTHER), queues=["drop_tail", "red"], at="topology.leaf_spine.host_link.queue", seeds=2)
    groups = comparison.groups
    slowdowns = groups.filter(pl.col("group") == "burst").get_column("slowdown_p99").to_list()
    assert len(slowdowns) == 2
    assert all(slowdown > 1.0 for slowdown in slowdowns)
    assert "slowdown_mean" not in comparison.table.columns, "of two groups there is no common one"


def test_figure_and_report_show_slowdowns_by_size(tmp_path: Path) -> None:
    result = fb.run(load(OTHER))
    web, burst = slowdown_curves(result.flows, result.warmup_s)
    assert (web.group, burst.group) == ("web", "burst")
    assert len(web.size_bytes) == 20
    assert (web.slowdowns[99] >= web.slowdowns[50]).all()
    assert burst.size_bytes.tolist() == [30_000.0]
    (axes,) = result.plot.slowdown().axes
    assert axes.get_xscale() == "log"
    assert len(axes.lines) == 4
    assert "slowdown.png" in [path.name for path in result.plot.save_all(tmp_path / "figures", (".png",))]
    result.save(tmp_path / "run")
    page = fb.report(tmp_path / "run", out=tmp_path / "report.html")
    assert "Slowdown by size" in page.read_text(encoding="utf-8")


def test_a_run_without_sizes_has_no_such_table_and_no_figure() -> None:
    result = fb.run("examples/first.toml", overrides={"duration": "2 s", "warmup": "1 s"})
    assert result.completion_times.is_empty()
    assert "slowdown" not in result.flows.columns
    with pytest.raises(fb.InputError, match="no flow of a given size finished"):
        result.plot.slowdown()


def test_the_command_shows_a_table_and_not_each_flow(forebay: Command, tmp_path: Path) -> None:
    (tmp_path / "sizes.csv").write_text("bytes,cdf\n0,0\n2000,0.5\n40000,1\n", encoding="utf-8")
    (tmp_path / "f.toml").write_text(SCENARIO.replace('"fb_web_server"', '"sizes.csv"') + OTHER, encoding="utf-8")
    done = forebay("run", tmp_path / "f.toml")
    assert done.returncode == 0, done.stderr
    assert "slowdown against the base store_and_forward" in done.stdout
    assert "web <= 100 KB" in done.stdout
    assert "burst-4" in done.stdout
    assert "web-0" not in done.stdout
    (tmp_path / "sizes.csv").write_text("bytes,cdf\n0,0\n2000,0.5\n1000,1\n", encoding="utf-8")
    done = forebay("run", tmp_path / "f.toml")
    assert done.returncode == 2
    assert "line 4" in done.stderr
    assert "1000 B come after 2000 B" in done.stderr


def test_large_tables_are_in_their_files_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebay.result._MOST_ROWS_AS_TEXT", 50)
    result = fb.run(load())
    assert result.flows.height > 50
    result.save(tmp_path / "run")
    document = json.loads((tmp_path / "run" / "result.json").read_text(encoding="utf-8"))
    assert document["flows"] is None
    assert len(document["queues"]) == result.queues.height
    assert fb.load(tmp_path / "run").flows.equals(result.flows)
    (tmp_path / "run" / "flows.parquet").unlink()
    with pytest.raises(fb.InputError):
        fb.load(tmp_path / "run")
