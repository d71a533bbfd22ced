"""Seeds of all 64 bits work everywhere; others, and more than one may ask for, are refused everywhere alike."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import forebay as fb
from conftest import SMALL, Command
from forebay.runs.seeds import LAST_SEED

BRIEF = {"duration": "600 ms", "warmup": "100 ms", "flows.bf.start": "0 s", "flows.bf.stop": "500 ms"}


@pytest.mark.parametrize("seed", [2**63 - 1, 2**63, LAST_SEED])
def test_a_seed_has_64_bits(small: fb.Scenario, tmp_path: Path, seed: int) -> None:
    brief = small.override(BRIEF)
    result = fb.run(brief, seed=seed, out=tmp_path / "run")
    assert (result.seed, fb.load(tmp_path / "run").seed) == (seed, seed)
    seeded = brief.override({"seed": seed})
    assert (seeded.seed, fb.Scenario.from_toml(seeded.to_toml()).seed) == (seed, seed)
    again = fb.run(seeded, out=tmp_path / "seeded")
    assert again.digest == result.digest
    assert fb.run(tmp_path / "seeded" / "scenario.toml").digest == result.digest
    assert fb.compare_runs([tmp_path / "run"]).runs.get_column("seed").to_list() == [seed]


def test_comparisons_and_searches_run_under_seeds_of_64_bits(small: fb.Scenario, tmp_path: Path) -> None:
    seeded = small.override({**BRIEF, "seed": LAST_SEED - 1, "topology.star.bottleneck.queue": "drop_tail"})
    comparison = fb.compare(seeded, ["red"], seeds=2, out=tmp_path)
    assert comparison.runs.get_column("seed").to_list() == [LAST_SEED - 1, LAST_SEED]
    assert comparison.runs.schema["seed"] == pl.UInt64
    assert [run["seed"] for run in json.loads((tmp_path / "compare.json").read_text())["runs"]][-1] == LAST_SEED
    size = fb.size_buffer(seeded, 0.01, seeds=2, max_seeds=2, most=2)
    assert [run.seed for run in size.points[0].runs] == [LAST_SEED - 1, LAST_SEED]


@pytest.mark.parametrize("seed", [-1, LAST_SEED + 1, 10**30])
def test_what_is_no_seed_is_refused_by_the_package(small: fb.Scenario, tmp_path: Path, seed: int) -> None:
    for call in (
        lambda: fb.run(small, seed=seed),
        lambda: fb.run(small, seed=seed, out=tmp_path / "out"),
        lambda: fb.replay(tmp_path / "none.pcap", rate="1 Mbps", queue="red", seed=seed),
        lambda: small.override({"seed": seed}),
    ):
        with pytest.raises((fb.InputError, fb.ScenarioError), match="seed"):
            call()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("seeds", [0, -1, 10_001, 99999999999999999999])
def test_so_many_seeds_are_refused_by_the_package(small: fb.Scenario, seeds: int) -> None:
    with pytest.raises(fb.InputError, match="seeds: must be at"):
        fb.compare(small, ["red"], seeds=seeds)
    with pytest.raises(fb.InputError, match="seeds: must be at"):
        fb.size_buffer(small.override({"topology.star.bottleneck.queue": "red"}), 0.5, seeds=seeds)


def test_seeds_beyond_the_last_are_refused(small: fb.Scenario) -> None:
    last = small.override({"seed": LAST_SEED, "topology.star.bottleneck.queue": "red"})
    for call in (lambda: fb.compare(last, ["red"], seeds=2), lambda: fb.size_buffer(last, 0.5, seeds=2)):
        with pytest.raises(fb.InputError, match="the last"):
            call()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["run", "small.toml", "--seed", "18446744073709551616"], "--seed"),
        (["run", "small.toml", "--seed", "-1"], "--seed"),
        (["run", "small.toml", "--set", "seed=18446744073709551616"], "seed"),
        (["replay", "x.pcap", "--rate", "1Mbps", "--queue", "red", "--seed", "18446744073709551616"], "--seed"),
        (["stability", "small.toml", "--seed", "18446744073709551616"], "--seed"),
        (["compare", "small.toml", "--seeds", "99999999999999999999"], "--seeds"),
        (["compare", "small.toml", "--set", "seed=18446744073709551615"], "the last"),
        (["size-buffer", "small.toml", "--target-utilization", "0.5", "--seeds", "99999999999999999999"], "--seeds"),
        (["size-buffer", "small.toml", "--target-utilization", "0.5", "--max-seeds", "99999999999999999999"], "seeds"),
        (["reproduce", "dbl/table2", "--seeds", "99999999999999999999"], "--seeds"),
    ],
)
def test_the_command_refuses_them_in_one_message(
    forebay: Command, tmp_path: Path, words: list[str], named: str
) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    done = forebay(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_a_run_under_several_seeds_has_means_of_single_runs(small: fb.Scenario, tmp_path: Path) -> None:
    brief = small.override({**BRIEF, "traces": []})
    runs = fb.run(brief, seeds=3, out=tmp_path / "runs")
    single = [fb.run(brief, seed=seed) for seed in (1, 2, 3)]
    assert runs.seeds == [1, 2, 3]
    assert runs.sweep.runs.get_column("digest").to_list() == [one.digest for one in single]
    lengths = [one.queues.item(0, "length_mean_packets") for one in single]
    assert runs.queues.item(0, "length_mean_packets") == pytest.approx(sum(lengths) / 3)
    assert runs.queues.item(0, "length_mean_packets_ci95") > 0
    assert fb.Sweep.load(tmp_path / "runs").runs.equals(runs.sweep.runs)
    with pytest.raises(fb.InputError, match="each run has one thread"):
        fb.run(brief, seeds=2, threads=2)
    with pytest.raises(fb.InputError, match="several seeds"):
        fb.run(brief, jobs=2)
