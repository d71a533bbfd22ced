"""Sweeps: the varied values, the number of runs, the stored results, and the output of the command."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import forebay as fb
from conftest import Command
from forebay import _core
from forebay.display.measured import SHARE, column_of, unit_of
from forebay.runs.statistics import Estimate, estimate_mean
from forebay.sweeps.axes import Axis, Range, parse_axes
from forebay.sweeps.plan import Request, make_plan
from forebay.sweeps.until import Until

SCENARIO = """
duration = "400 ms"
warmup = "100 ms"

[topology.star]
access = { rate = "100 Mbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "2 ms", queue.drop_tail = { limit = "30 packets" } }

[[flows]]
name = "tcp"
count = 2
transport = "tcp"
start = { uniform = ["0 s", "50 ms"] }

[[flows]]
name = "flood"
transport.udp = { packet = "1000 B", constant = { rate = "8 Mbps", jitter = 0.5 } }
"""
RATE = "topology.star.bottleneck.rate"
LIMIT = "topology.star.bottleneck.queue.drop_tail.limit"


@pytest.fixture
def scenario() -> fb.Scenario:
    return fb.Scenario.from_toml(SCENARIO, "office.toml")


@pytest.fixture
def office(tmp_path: Path) -> Path:
    path = tmp_path / "office.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def settings(scenario: fb.Scenario, **request: Any) -> list[dict[str, object]]:
    return [dict(point.settings) for point in make_plan(scenario, Request(**request)).points]


def test_a_grid_has_every_value_with_each_other_and_runs_it_under_the_scenario_s_seeds(scenario: fb.Scenario) -> None:
    swept = fb.sweep(scenario, {"flows.tcp.count": [1, 3], RATE: ["5 Mbps", "10 Mbps"]}, seeds=2)
    assert swept.points.select("flows.tcp.count", RATE).rows() == [
        (count, rate) for count in (1, 3) for rate in ("5 Mbps", "10 Mbps")
    ]
    assert swept.runs.select("point", "seed").rows() == [(point, seed) for point in range(4) for seed in (1, 2)]
    assert swept.failures.is_empty()
    # The very runs that a user would make one by one, and their means.
    for row in swept.runs.iter_rows(named=True):
        values = {"flows.tcp.count": row["flows.tcp.count"], RATE: row[RATE]}
        alone = fb.run(scenario, seed=row["seed"], overrides=values)
        assert alone.digest == row["digest"]
        assert row["goodput_bps"] == pytest.approx(alone.flows.get_column("goodput_bps").mean())
        of_tcp = alone.flows.filter(pl.col("group") == "tcp").get_column("goodput_bps")
        assert row["tcp.goodput_total_bps"] == pytest.approx(of_tcp.sum())
    first = swept.runs.filter(pl.col("point") == 0).get_column("loss").to_numpy()
    estimate = estimate_mean(first)
    assert swept.points.row(0, named=True)["loss"] == pytest.approx(estimate.mean)
    assert swept.points.row(0, named=True)["loss_ci95"] == pytest.approx(estimate.ci95)


def test_keys_in_step_and_keys_that_change_together(scenario: fb.Scenario) -> None:
    vary: dict[str, Any] = {"flows.tcp.count": [1, 2], RATE: ["5 Mbps", "9 Mbps"]}
    assert settings(scenario, vary=vary, way="step") == [
        {"flows.tcp.count": 1, RATE: "5 Mbps"},
        {"flows.tcp.count": 2, RATE: "9 Mbps"},
    ]
    together = {("flows.tcp.count", RATE): [(1, "5 Mbps"), (2, "9 Mbps")], LIMIT: ["9 packets"]}
    assert settings(scenario, vary=together) == [
        {"flows.tcp.count": 1, RATE: "5 Mbps", LIMIT: "9 packets"},
        {"flows.tcp.count": 2, RATE: "9 Mbps", LIMIT: "9 packets"},
    ]
    with pytest.raises(fb.InputError, match=r"need the same number of values.*flows.tcp.count 2"):
        make_plan(scenario, Request({**vary, LIMIT: ["9 packets"]}, "step"))


def test_ranges_end_at_their_ends_and_round_only_where_the_key_takes_whole_numbers(scenario: fb.Scenario) -> None:
    def values(key: str, text: str) -> list[object]:
        return [point[key] for point in settings(scenario, vary={key: text})]

    assert values("flows.tcp.count", "lin:1:10:4") == [1, 4, 7, 10]
    assert values("flows.tcp.count", "lin:1:8:4") == [1, 3, 6, 8]
    assert values("flows.tcp.count", "log:1:1000:4") == [1, 10, 100, 1000]
    assert values(RATE, "log:1 Mbps:100 Mbps:5") == ["1 Mbps", "3.162278 Mbps", "10 Mbps", "31.622777 Mbps", "100 Mbps"]
    assert values(RATE, "lin:1:2 Mbps:3") == ["1 Mbps", "1.5 Mbps", "2 Mbps"]
    assert values("flows.flood.transport.udp.constant.jitter", "lin:0:1:3") == [0, 0.5, 1]


@given(
    st.floats(1e-3, 1e6, allow_nan=False), st.floats(1.001, 1e6), st.integers(2, 40), st.sampled_from(["lin", "log"])
)
def test_a_range_is_monotonous_and_evenly_spaced(low: float, factor: float, count: int, kind: str) -> None:
    high = low * factor
    (axis,) = parse_axes({"key": f"{kind}:{low!r}:{high!r}:{count}"}, lambda _: None)
    assert isinstance(axis, Axis)
    numbers = np.array([float(value) for (value,) in axis.values])
    assert numbers[[0, -1]] == pytest.approx([low, high], rel=1e-9)
    steps = np.diff(np.log(numbers) if kind == "log" else numbers)
    assert (steps > 0).all()
    # Values are written with twelve digits.
    assert np.allclose(steps, steps.mean(), rtol=1e-6, atol=1e-9 * max(1.0, high))


def test_samples_fill_a_latin_hypercube_and_depend_on_the_seed_alone(scenario: fb.Scenario) -> None:
    vary = {RATE: "loguniform:1 Mbps:100 Mbps", "flows.tcp.count": "uniform:1:50", LIMIT: ["9 packets", "30 packets"]}
    drawn = settings(scenario, vary=vary, way="latin", samples=20)
    assert drawn == settings(scenario, vary=vary, way="latin", samples=20)
    assert drawn != settings(scenario.override({"seed": 2}), vary=vary, way="latin", samples=20)
    assert drawn != settings(scenario, vary=vary, way="random", samples=20)
    # One sample in each of twenty equal parts of every axis, and each listed value equally often.
    shares = [np.log10(float(str(point[RATE]).split()[0])) / 2 for point in drawn]
    assert sorted(int(share * 20) for share in shares) == list(range(20))
    assert [point[LIMIT] for point in drawn].count("9 packets") == 10
    assert all(isinstance(point["flows.tcp.count"], int) for point in drawn)


@pytest.mark.parametrize("ends", ["5 Mbps:20 Mbps", "1 Mbps:9 Mbps", "1:40 Mbps", "0.5 Mbps:2 Mbps"])
@pytest.mark.parametrize("kind", ["uniform", "loguniform"])
def test_samples_have_the_decimals_that_their_key_can_have(scenario: fb.Scenario, ends: str, kind: str) -> None:
    vary = {RATE: f"{kind}:{ends}", "topology.star.bottleneck.delay": f"{kind}:1 ms:9 ms"}
    assert len(settings(scenario, vary=vary, way="random", samples=50)) == 50


def test_disciplines_are_an_axis_and_keep_the_limit_of_the_queue(scenario: fb.Scenario) -> None:
    plan = make_plan(scenario, Request({"flows.tcp.count": [1, 2]}, queues="red,drop_tail"))
    assert plan.keys == ["queue", "flows.tcp.count"]
    assert [point.settings["queue"] for point in plan.points] == ["red", "red", "drop_tail", "drop_tail"]
    assert 'limit = "30 packets"' in plan.points[0].text
    assert "[topology.star.bottleneck.queue.red]" in plan.points[0].text


def test_disciplines_are_fitted_to_the_link_of_each_point(scenario: fb.Scenario) -> None:
    rates = {RATE: ["10 Mbps", "240 Mbps"]}
    wide = scenario.override({LIMIT: "1000 packets"})
    plan = make_plan(wide, Request(rates, queues=["red", "drr"]))
    thresholds = [point.fitted.get("min_threshold") for point in plan.points]
    assert thresholds == ["5 packets", "50 packets", None, None]
    assert ['min_threshold = "50 packets"' in point.text for point in plan.points] == [False, True, False, False]
    assert plan.fitted["drr"] == {"limit": "1000 packets"}
    assert len(plan.fitted) == 3
    # Varied keys count as given.
    key = "topology.star.bottleneck.queue.red.min_threshold"
    varied = make_plan(wide, Request({key: ["7 packets"]} | rates, queues=["red"]))
    assert all('min_threshold = "7 packets"' in point.text for point in varied.points)
    assert all("min_threshold" not in point.fitted for point in varied.points)


def test_fitted_parameters_of_a_sweep_are_printed_and_kept(forebay: Command, office: Path, tmp_path: Path) -> None:
    words = ["--vary", "flows.tcp.count=1,2", "--queues", "red,drr", "--seeds", "1", "--out", "swept"]
    done = forebay("sweep", "office.toml", *words)
    assert done.returncode == 0, done.stderr
    assert "drr: limit 30 packets" in done.stdout
    assert fb.Sweep.load(tmp_path / "swept").fitted["drr"] == {"limit": "30 packets"}


def test_seeds_are_added_until_the_interval_is_narrow_enough(scenario: fb.Scenario) -> None:
    swept = fb.sweep(scenario, {"flows.tcp.count": [1, 4]}, seeds=2, until="tcp.goodput < 10 %", max_seeds=40)
    for row in swept.points.to_dicts():
        narrow = row["tcp.goodput_bps_ci95"] < 0.1 * row["tcp.goodput_bps"]
        assert narrow or row["seeds"] == 40
        assert swept.runs.filter(pl.col("point") == row["point"]).get_column("seed").to_list() == list(
            range(1, row["seeds"] + 1)
        )
    assert max(swept.points.get_column("seeds")) > 2
    few = fb.sweep(scenario, {}, seeds=2, until="tcp.goodput < 0.001 %", max_seeds=5)
    assert few.points.get_column("seeds").to_list() == [5]


def test_differences_have_a_unit_of_their_size_and_no_negative_zero() -> None:
    frame = pl.DataFrame({"goodput_bps": [-5e6, 1.0], "goodput_bps_ci95": [1e6, 1e6]})
    unit = unit_of("goodput_bps", frame)
    assert unit.unit == "Mb/s"
    column = column_of("", "", frame, "goodput_bps", unit, 1)
    assert column.cell(0) == "-5.00 ±1.00"
    small = column_of("", "", pl.DataFrame({"loss": [-1e-7, 0.5]}), "loss", SHARE, -1)
    assert small.cell(0) == "0.00"


def test_rules_for_more_seeds() -> None:
    assert Until.parse("goodput < 2 %") == Until("goodput", 0.02, True)
    assert Until.parse("tcp.delay_p99<0.5 ms") == Until("tcp.delay_p99_s", 0.0005, False)
    assert Until.parse("jain < 0.01") == Until("jain", 0.01, False)
    assert Until.parse("goodput < 2 %").column(["goodput_bps", "jain"]) == "goodput_bps"
    rule = Until.parse("jain < 0.1")
    assert rule.met(1.0, 0.09)
    assert not rule.met(1.0, 0.1)
    assert not rule.met(1.0, None)
    # Never more than twice as many at a time: the scatter of few runs is known badly.
    assert rule.seeds(Estimate(1.0, 0.11, 10), 100) == 12
    assert rule.seeds(Estimate(1.0, 5.0, 10), 100) == 20
    assert rule.seeds(Estimate(1.0, 5.0, 10), 15) == 15
    for wrong in ("goodput", "goodput < 0 %", "goodput < 2 furlongs", "< 2 %", "goodput > 2 %"):
        with pytest.raises(fb.InputError, match="--until"):
            Until.parse(wrong)


def test_a_run_that_fails_is_kept_with_its_error_and_stops_no_other(
    scenario: fb.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _core.run
    calls = []

    def sometimes(text: str, name: str, *rest: Any, seed: int, **named: Any) -> Any:
        calls.append(seed)
        if seed == 2:
            message = "the dice fell from the table\nand more"
            raise RuntimeError(message)
        return run(text, name, *rest, seed=seed, **named)

    monkeypatch.setattr(_core, "run", sometimes)
    for _ in range(2):
        swept = fb.sweep(scenario, {"flows.tcp.count": [1, 2]}, seeds=3, out=tmp_path / "out")
        assert swept.failures.select("point", "seed").rows() == [(0, 2), (1, 2)]
        assert swept.failures.get_column("error")[0] == "RuntimeError: the dice fell from the table\nand more"
        assert swept.points.select("seeds", "failed").rows() == [(2, 1), (2, 1)]
        assert swept.points.get_column("jain").null_count() == 0
    assert len(calls) == 6
    monkeypatch.undo()
    swept = fb.sweep(scenario, {"flows.tcp.count": [1, 2]}, seeds=3, out=tmp_path / "out", retry_failed=True)
    assert swept.failures.is_empty()
    assert swept.points.get_column("seeds").to_list() == [3, 3]


def test_a_saved_sweep_is_read_back_and_its_runs_say_what_they_are(scenario: fb.Scenario, tmp_path: Path) -> None:
    vary: dict[str, Any] = {"flows.tcp.count": [1, 2], LIMIT: ["9 packets", "10000 B"]}
    swept = fb.sweep(scenario, vary, seeds=2, out=tmp_path)
    again = fb.Sweep.load(tmp_path)
    assert again.points.equals(swept.points)
    assert again.runs.equals(swept.runs)
    assert (again.keys, again.metrics, again.toml) == (swept.keys, swept.metrics, swept.toml)
    kept = pl.concat([pl.read_parquet(path) for path in (tmp_path / "runs").glob("*.parquet")])
    assert set(kept.get_column("digest")) == set(swept.runs.get_column("digest"))
    assert sorted(kept.get_column("seed")) == [1] * 4 + [2] * 4
    assert set(kept.get_column("run")) == set(swept.runs.get_column("run"))
    flows = kept.select("run", "flows").explode("flows").unnest("flows")
    assert flows.height == 2 * 2 * (2 + 3)
    assert (tmp_path / "points.csv").read_text().startswith("point,flows.tcp.count,")


def test_a_sweep_that_was_not_written_is_saved_and_read_back(scenario: fb.Scenario, tmp_path: Path) -> None:
    swept = fb.sweep(scenario, {"flows.tcp.count": [1, 2]}, seeds=2)
    for _ in range(2):
        swept.save(tmp_path / "saved")
    again = fb.Sweep.load(tmp_path / "saved")
    assert again.points.equals(swept.points)
    assert (again.keys, again.metrics, again.toml) == (swept.keys, swept.metrics, swept.toml)
    other = fb.sweep(scenario, {"flows.tcp.count": [1, 2]}, seeds=2, overrides={"seed": 7})
    with pytest.raises(fb.InputError, match="holds another sweep"):
        other.save(tmp_path / "saved")
    with pytest.raises(fb.InputError, match="without its runs"):
        fb.sweep(scenario, {"flows.tcp.count": [1, 2]}, out=tmp_path / "saved")


def test_more_values_and_seeds_go_into_the_same_folder_and_another_sweep_does_not(
    scenario: fb.Scenario, tmp_path: Path
) -> None:
    fb.sweep(scenario, {"flows.tcp.count": [1, 2]}, seeds=2, out=tmp_path)
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()}
    fb.sweep(scenario, {"flows.tcp.count": [1, 2, 3]}, seeds=3, out=tmp_path)
    assert len(list((tmp_path / "runs").iterdir())) == 9
    assert times.items() <= {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()}.items()
    with pytest.raises(fb.InputError, match=r"a sweep of flows\.tcp\.count, and this one varies topology"):
        fb.sweep(scenario, {RATE: ["5 Mbps"]}, out=tmp_path)
    with pytest.raises(fb.InputError, match="of another scenario"):
        fb.sweep(scenario.override({"duration": "1 s"}), {"flows.tcp.count": [1]}, out=tmp_path)
    manifest = tmp_path / "sweep.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"version": "0.0.1-0123"}))
    with pytest.raises(fb.InputError, match=r"holds a sweep by another build of Forebay: 0\.0\.1-0123"):
        fb.sweep(scenario, {"flows.tcp.count": [1]}, out=tmp_path)


BAD: dict[str, tuple[list[str], str]] = {
    "a path that there is not": (["--vary", "flows.tcp.cuont=1"], "did you mean `count`"),
    "a value that does not fit": (["--vary", "flows.tcp.count=1,many"], "the point flows.tcp.count=many"),
    "an empty list": (["--vary", "flows.tcp.count="], "there is an empty value"),
    "an empty range": (["--vary", "flows.tcp.count=lin:5:5:3"], "the range is empty"),
    "a range of one": (["--vary", "flows.tcp.count=lin:1:5:1"], "a count of at least 2"),
    "a range without a count": (["--vary", "flows.tcp.count=lin:1:5"], "hint:"),
    "two units": (["--vary", f"{RATE}=lin:1 kbps:5 Mbps:3"], "two units"),
    "a logarithm of zero": (["--vary", "flows.tcp.count=log:0:5:3"], "positive bounds"),
    "samples without a number": (["--vary", "flows.tcp.count=uniform:1:5"], "--samples 100"),
    "no equals sign": (["--vary", "flows.tcp.count"], "--vary key.path=a,b,c"),
    "a key twice": (["--vary", "flows.tcp.count=1", "--vary", "flows.tcp.count=2"], "varied twice"),
    "nothing varies": ([], "nothing varies"),
    "a metric that there is not": (
        ["--vary", "flows.tcp.count=1", "--until", "goodputt < 1 %"],
        "did you mean goodput_bps",
    ),
    "a rule for one seed": (["--vary", "flows.tcp.count=1", "--until", "jain < 1 %", "--seeds", "1"], "one run alone"),
    "a discipline that there is not": (["--queues", "rde"], "did you mean red"),
    "at without queues": (["--vary", "flows.tcp.count=1", "--at", LIMIT], "--queues"),
    "samples in step": (["--vary", "flows.tcp.count=1,2", "--samples", "3", "--in-step"], "cannot be combined"),
    "a way to sample that there is not": (
        ["--vary", "flows.tcp.count=1,2", "--samples", "3", "--sampling", "sobol"],
        "latin or random",
    ),
    "too many points": (["--vary", "flows.tcp.count=lin:1:100001:100001"], "are the most"),
}


@pytest.mark.parametrize(("arguments", "said"), BAD.values(), ids=BAD)
def test_bad_input_has_status_2_and_writes_nothing(
    forebay: Command, office: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    result = forebay("sweep", str(office), *arguments, "--out", str(tmp_path / "out"))
    assert result.returncode == 2, result.stderr
    assert said in " ".join(result.stderr.split())
    assert result.stdout == ""
    assert not (tmp_path / "out").exists()


def test_the_command_prints_a_row_for_each_point_and_says_where_the_numbers_are(
    forebay: Command, office: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    result = forebay("sweep", str(office), "--vary", "flows.tcp.count=1,3", "--queues", "red,dbl", "--out", str(out))
    assert result.returncode == 0, result.stderr
    rows = [line for line in result.stdout.splitlines() if line.startswith(("red / ", "dbl / "))]
    assert [row.split("  ")[0] for row in rows] == ["red / 1", "red / 3", "dbl / 1", "dbl / 3"]
    assert all("±" in row for row in rows)
    assert f"written to {out}" in result.stderr
    as_json = forebay(
        "sweep", str(office), "--vary", "flows.tcp.count=1,3", "--queues", "red,dbl", "--out", str(out), "--json"
    )
    document = json.loads(as_json.stdout)
    assert len(document["runs"]) == 12
    assert document["points"][0]["queue"] == "red"


def test_points_that_a_rule_leaves_wide_are_counted(forebay: Command, office: Path, tmp_path: Path) -> None:
    arguments = ["sweep", str(office), "--vary", "flows.tcp.count=1,3", "--seeds", "2", "--max-seeds", "2"]
    wide = forebay(*arguments, "--out", str(tmp_path), "--until", "goodput < 0.0001 %")
    assert "2 of 2 points did not reach --until with 2 seeds" in wide.stderr
    assert "--until" not in forebay(*arguments, "--out", str(tmp_path), "--until", "goodput < 1e9 %").stderr


def test_a_dry_run_counts_and_writes_nothing(forebay: Command, office: Path, tmp_path: Path) -> None:
    arguments = ["sweep", str(office), "--vary", "flows.tcp.count=1,2,3", "--seeds", "4", "--dry-run"]
    result = forebay(*arguments, "--out", str(tmp_path / "out"))
    assert result.stdout.startswith("3 points of flows.tcp.count\n12 runs\nabout ")
    assert "on disk" in result.stdout
    assert not (tmp_path / "out").exists()
    document = json.loads(forebay(*arguments, "--until", "jain < 1 %", "--json").stdout)
    assert (document["points"], document["runs"], document["max_runs"]) == (3, 12, 300)
    assert 0 < document["run_s"] < 60
    size = sum(path.stat().st_size for path in _swept(office, tmp_path).iterdir())
    assert 0.5 < document["bytes"] / size < 2


def _swept(office: Path, folder: Path) -> Path:
    fb.sweep(office, {"flows.tcp.count": [1, 2, 3]}, seeds=4, out=folder / "sized")
    return folder / "sized" / "runs"


def test_run_with_seeds_prints_means_with_intervals(forebay: Command, office: Path, tmp_path: Path) -> None:
    arguments = ["run", str(office), "--seeds", "4", "--seed", "7"]
    document = json.loads(forebay(*arguments, "--json").stdout)
    assert document["seeds"] == [7, 8, 9, 10]
    alone = [fb.run(office, seed=seed) for seed in document["seeds"]]
    assert [run["digest"] for run in document["runs"]] == [result.digest for result in alone]
    goodput = np.array([result.flows.get_column("goodput_bps")[0] for result in alone])
    estimate = estimate_mean(goodput)
    assert document["flows"][0]["goodput_bps"] == pytest.approx(estimate.mean)
    assert document["flows"][0]["goodput_bps_ci95"] == pytest.approx(estimate.ci95)
    shown = forebay(*arguments, "--out", str(tmp_path / "out"))
    assert "4 seeds" in shown.stdout
    assert "±" in shown.stdout
    assert fb.Sweep.load(tmp_path / "out").runs.height == 4
    refused = forebay("run", str(office), "--jobs", "2")
    assert refused.returncode == 2
    assert "--seeds" in refused.stderr


def test_two_sweeps_are_compared_run_by_run_of_the_same_seed(
    forebay: Command, scenario: fb.Scenario, tmp_path: Path
) -> None:
    counts = {"flows.tcp.count": [1, 3]}
    first = fb.sweep(scenario, counts, seeds=4, out=tmp_path / "one")
    second = fb.sweep(scenario, counts, seeds=3, overrides={RATE: "11 Mbps"}, out=tmp_path / "two")
    paired = fb.compare_sweeps(tmp_path / "one", tmp_path / "two")
    assert paired.differences.select("flows.tcp.count", "pairs").rows() == [(1, 3), (3, 3)]
    for point in (0, 1):
        before, after = (
            it.runs.filter((pl.col("point") == point) & (pl.col("seed") <= 3)).get_column("goodput_bps").to_numpy()
            for it in (first, second)
        )
        estimate = estimate_mean(after - before)
        assert paired.differences.get_column("goodput_bps")[point] == pytest.approx(estimate.mean)
        assert paired.differences.get_column("goodput_bps_ci95")[point] == pytest.approx(estimate.ci95)
        assert paired.first.get_column("goodput_bps")[point] == pytest.approx(before.mean())
    shown = forebay("compare", str(tmp_path / "one"), str(tmp_path / "two"))
    assert "3 pairs of runs" in shown.stdout
    fb.sweep(scenario, {RATE: ["5 Mbps"]}, seeds=2, out=tmp_path / "three")
    refused = forebay("compare", str(tmp_path / "one"), str(tmp_path / "three"))
    assert refused.returncode == 2
    assert "compare sweeps of the same keys" in refused.stderr


def sweep_command(office: Path, out: Path, runs: int) -> list[str]:
    vary = ["--vary", "flows.tcp.count=1,2,3,4", "--seeds", str(runs // 4), "--jobs", "2"]
    return [sys.executable, "-m", "forebay", "sweep", str(office), *vary, "--json", "--out", str(out)]


def test_kill_minus_9_at_twenty_moments_loses_no_finished_run(office: Path, tmp_path: Path) -> None:
    out, runs = tmp_path / "out", 400
    dice = random.Random(1)
    kept: dict[Path, int] = {}
    for _ in range(20):
        process = subprocess.Popen(
            sweep_command(office, out, runs), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        # Until a run more has finished, and a moment longer.
        while process.poll() is None and len(list(out.glob("runs/*.parquet"))) <= len(kept):
            time.sleep(0.002)
        time.sleep(dice.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        found = {path: path.stat().st_mtime_ns for path in out.glob("runs/*.parquet")}
        assert kept.items() <= found.items(), "a finished run was lost, or run again"
        kept = found
        assert all(pl.read_parquet(path).height == 1 for path in kept)
        if len(kept) == runs:
            break
    ended = subprocess.run(sweep_command(office, out, runs), capture_output=True, text=True, check=True)
    assert kept.items() <= {path: path.stat().st_mtime_ns for path in out.glob("runs/*.parquet")}.items()
    assert list(out.glob("**/.partial*")) == []
    document = json.loads(ended.stdout)
    alone = fb.sweep(office, {"flows.tcp.count": [1, 2, 3, 4]}, seeds=runs // 4)
    assert [run["digest"] for run in document["runs"]] == alone.runs.get_column("digest").to_list()


def test_two_calls_in_one_folder_at_a_time_are_refused(office: Path, tmp_path: Path, forebay: Command) -> None:
    out = tmp_path / "out"
    command = [*sweep_command(office, out, 40), "--set", "duration=3000 s"]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        while not (out / "sweep.json").exists() and first.poll() is None:
            time.sleep(0.01)
        second = subprocess.run(command, capture_output=True, text=True, check=False)
        assert second.returncode == 2
        assert "another call of Forebay is writing to" in second.stderr
    finally:
        first.send_signal(signal.SIGINT)
        _, said = first.communicate(timeout=10)
    assert first.returncode == 130
    assert "the same command continues from there" in said


def test_ranges_belong_to_samples() -> None:
    (drawn,) = parse_axes({"key": "uniform:0 ms:4 ms"}, lambda _: None)
    assert isinstance(drawn, Range)
    assert [drawn.at(share) for share in (0.0, 0.25, 1.0)] == ["0 ms", "1 ms", "4 ms"]


def test_a_damaged_name_of_a_metric_is_refused(small: fb.Scenario, tmp_path: Path) -> None:
    fb.sweep(small, {"flows.tcp.count": [1]}, seeds=1).save(tmp_path / "sweep")
    points = tmp_path / "sweep" / "points.parquet"
    pl.read_parquet(points).rename({"jain": "jaim"}).write_parquet(points)
    with pytest.raises(fb.InputError, match="sweep"):
        fb.load(tmp_path / "sweep")
