"""Every experiment gives what it gave: a digest for each variant, and the same one with packets traced.

Runs are those of `--quick`, cut to a thirtieth of their length so that all fit into the tests. `make digests` compares
them at their full length.
"""

from __future__ import annotations

import os
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import tomli_w

import forebay as fb
from forebay.experiment.load import experiment_files, load_experiment
from forebay.experiment.plan import make_plan

GOLDEN = Path(__file__).parents[1] / "golden"
UPDATE = "FOREBAY_GOLDEN_UPDATE" in os.environ
WHOLE = "FOREBAY_WHOLE_DIGESTS" in os.environ
PART = 30
UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}


def cut(text: str, name: str) -> fb.Scenario:
    """The scenario with a `PART`th of its duration and warm-up; with all of it where flows begin later than that."""
    scenario = tomllib.loads(text)
    for key in {"duration", "warmup"} & scenario.keys():
        number, unit = scenario[key].split()
        scenario[key] = f"{round(float(number) * UNITS[unit] / PART)} ns"
    try:
        return fb.Scenario.from_toml(tomli_w.dumps(scenario), name)
    except fb.ScenarioError:
        return fb.Scenario.from_toml(text, name)


def runs() -> dict[str, fb.Scenario]:
    """The first seed of every variant, at the first value of its axis; all values of the axis if the runs are whole."""
    found: dict[str, fb.Scenario] = {}
    for path in experiment_files().values():
        for job in make_plan(load_experiment(path), quick=True, seeds=1).jobs:
            experiment, at = job.key
            name = f"{experiment}: {at.variant}"
            if WHOLE:
                found[name + ("" if at.x is None else f", {at.x:g}")] = fb.Scenario.from_toml(job.text, name)
            elif name not in found:
                found[name] = cut(job.text, name)
    return found


def test_every_experiment_gives_the_digest_that_it_gave() -> None:
    scenarios = runs()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        digests = pool.map(lambda scenario: fb.run(scenario).digest, scenarios.values())
        measured = dict(zip(scenarios, digests, strict=True))
    golden = GOLDEN / ("experiments-quick.toml" if WHOLE else "experiments.toml")
    if UPDATE:
        golden.write_text(tomli_w.dumps(measured), encoding="utf-8")
    recorded = tomllib.loads(golden.read_text(encoding="utf-8"))
    changed = {name for name, digest in measured.items() if recorded.get(name) != digest}
    message = "if the change is meant: FOREBAY_GOLDEN_UPDATE=1 pytest tests/python/test_experiment_digests.py"
    assert (sorted(changed), sorted(recorded.keys() - measured.keys())) == ([], []), message


@pytest.mark.parametrize("paper", ["dbl", "sfb", "breathe", "tiny-buffers", "e2cm", "linux", "bbr", "l4s", "quic"])
def test_a_trace_changes_no_result(paper: str, tmp_path: Path) -> None:
    paths = [path for name, path in experiment_files().items() if name.startswith(f"{paper}/")]
    job = next(job for path in paths for job in make_plan(load_experiment(path), quick=True, seeds=1).jobs)
    plain = cut(job.text, paper)
    link = str(fb.run(plain).links["name"][0])
    traced = plain.to_toml() + f'\n[[traces]]\nlink = "{link}"\nfile = "traced.pcapng"\n'
    result = fb.run(fb.Scenario.from_toml(traced, paper), out=tmp_path / "out")
    assert (tmp_path / "out" / "traced.pcapng").stat().st_size > 1000
    assert result.digest == fb.run(plain).digest
