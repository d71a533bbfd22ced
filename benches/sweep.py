"""CPU time of a sweep above that of its runs. Prints a JSON document, which `benches/run.py` reads.

A run simulates examples/first.toml for a minute, which takes about 50 ms, and has 34 time series of 1200 samples. A
bare run is the simulation, with its results in memory. The sweep also measures each run, writes its file, and hands out
the next one. Runs take turns with this work, so that one clock measures both, and a machine whose speed drifts slows
both.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import ParamSpec, TypeVar

import forebay as fb

P = ParamSpec("P")
T = TypeVar("T")

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "first.toml"


class TakesTurns(Executor):
    """Runs each call at once, in the caller's thread, and adds up the CPU time that it takes the process."""

    def __init__(self) -> None:
        self.cpu_s = 0.0

    def submit(self, call: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> Future[T]:
        """As any executor."""
        future: Future[T] = Future()
        begun = time.process_time()
        future.set_result(call(*arguments, **named))
        self.cpu_s += time.process_time() - begun
        return future


def sweep(scenario: fb.Scenario, runs: int) -> tuple[float, float]:
    """CPU time of the runs alone, and of the whole sweep, in seconds."""
    with tempfile.TemporaryDirectory() as folder, TakesTurns() as executor:
        begun = time.process_time()
        fb.sweep(scenario, {"flows.tcp.count": [5]}, seeds=runs, out=folder, executor=executor)
        return executor.cpu_s, time.process_time() - begun


def main() -> None:
    """Measures as many runs as asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    runs: int = parser.parse_args().runs
    scenario = fb.Scenario.load(EXAMPLE, overrides={"duration": "60 s", "warmup": "0 s"})
    # The first loads modules.
    sweep(scenario, 2)
    bare, whole = sweep(scenario, runs)
    entry = {"runs": runs, "ms_per_bare_run": 1e3 * bare / runs, "ratio": whole / bare}
    print(json.dumps({"sweep": [entry]}))


if __name__ == "__main__":
    main()
