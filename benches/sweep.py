"""CPU time of a sweep beside that of its bare runs. Prints a JSON document, which `benches/run.py` reads.

A run simulates examples/first.toml for a minute, which takes about 50 ms, and has 34 time series of 1200 samples. The
sweep measures each run and writes its file; the bare runs only have their results in memory. Both use one thread.
Blocks of both alternate, so that a machine whose speed drifts slows both.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from pathlib import Path

import forebay as fb
from forebay.runs.simulate import simulate

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "first.toml"
BLOCK = 200
"""Runs of a block."""


def cpu_s() -> float:
    """CPU time of this process and all its threads."""
    times = os.times()
    return times.user + times.system


def bare(scenario: fb.Scenario, seeds: range) -> float:
    """CPU time of the runs alone."""
    text = scenario.to_toml()
    begun = cpu_s()
    for seed in seeds:
        simulate(text, "first.toml", seed, lambda: True)
    return cpu_s() - begun


def swept(scenario: fb.Scenario, seeds: range) -> float:
    """CPU time of the same runs in a sweep."""
    with tempfile.TemporaryDirectory() as folder:
        begun = cpu_s()
        fb.sweep(
            scenario, {"flows.tcp.count": [5]}, overrides={"seed": seeds.start}, seeds=len(seeds), out=folder, jobs=1
        )
        return cpu_s() - begun


def main() -> None:
    """Measures as many runs as asked, each twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    runs: int = parser.parse_args().runs
    scenario = fb.Scenario.load(EXAMPLE, overrides={"duration": "60 s", "warmup": "0 s"})
    # The first of each loads modules.
    bare(scenario, range(1, 3))
    swept(scenario, range(1, 3))
    pairs = []
    for start in range(1, runs + 1, BLOCK):
        seeds = range(start, min(start + BLOCK, runs + 1))
        alone = bare(scenario, seeds)
        pairs.append((alone / len(seeds), swept(scenario, seeds) / alone))
    ratio = statistics.median(ratio for _, ratio in pairs)
    entry = {"runs": runs, "ms_per_bare_run": 1e3 * statistics.median(alone for alone, _ in pairs), "ratio": ratio}
    print(json.dumps({"sweep": [entry]}))


if __name__ == "__main__":
    main()
