"""Comparison of finished runs."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from itertools import takewhile
from os import PathLike
from pathlib import Path

import polars as pl

from forebay.display.names import listed
from forebay.errors import InputError
from forebay.folder import RESULT_FILE, SCENARIO_FILE
from forebay.result import Result
from forebay.runs.measures import Measures, measure_result
from forebay.scenario import Scenario
from forebay.storage.stored import scenario_text

from .contenders import queue_before
from .result import Comparison, Row, frames_of, measure_cost


def compare_runs(folders: Sequence[str | PathLike[str]], *, queue: str | None = None) -> Comparison:
    """Compare finished runs.

    Runs of the same scenario under several seeds become one row.

    Args:
        folders: Folders that `forebay run --out` or `Result.save` wrote.
        queue: The name of the queue to compare. Default: `bottleneck`, or the only one that all runs have.

    Returns:
        One row per scenario. With one seed, means have no intervals.

    Raises:
        InputError: If a folder holds no complete result, or a run has no such queue.

    Example:
        >>> short = {"duration": "2 s", "warmup": "1 s"}
        >>> for seed in (1, 2):
        ...     result = fb.run(
        ...         "examples/first.toml", seed=seed, overrides=short, out=f"out/{seed}"
        ...     )
        >>> fb.compare_runs(["out/1", "out/2"]).table["seeds"].to_list()
        [2]

    """
    if not folders:
        message = "there is nothing to compare\nhint: name folders that `forebay run --out` wrote"
        raise InputError(message)
    paths = [Path(folder) for folder in dict.fromkeys(os.fspath(folder) for folder in folders)]
    results = {path: Result.load(path) for path in paths}
    name = _queue_name(results, queue)
    together: dict[tuple[str, float, float] | Path, list[Path]] = {}
    for path, result in results.items():
        text = scenario_text(path)
        key = path if text is None else (text, result.warmup_s, result.duration_s)
        together.setdefault(key, []).append(path)
    rows = []
    for label, members in _labels(list(together.values())).items():
        rows.append(_row(label, members, results, name))
    first = results[paths[0]]
    names = list(dict.fromkeys(result.scenario for result in results.values()))
    texts = {scenario_text(path) for path in paths}
    table, groups, runs = frames_of(rows)
    return Comparison(
        scenario=", ".join(names),
        description=None,
        warmup_s=first.warmup_s,
        duration_s=first.duration_s,
        rate_bps=rows[0].runs[0][1].rate_bps,
        parameters={row.label: row.queue for row in rows},
        toml=texts.pop() or "" if len(texts) == 1 else "",
        table=table,
        groups=groups,
        runs=runs,
    )


def is_run(path: Path) -> bool:
    """Return whether the path is a folder with a result."""
    return (path / RESULT_FILE).is_file()


def _queue_name(results: dict[Path, Result], wanted: str | None) -> str:
    names = {path: _names(result.queues) for path, result in results.items()}
    for path, those in names.items():
        if not those:
            message = f"{path}: the run has no queue to compare: its scenario describes none"
            message += '\nhint: give its link a queue, such as queue = "drop_tail", and run it again'
            raise InputError(message)
    shared = [name for name in next(iter(names.values())) if all(name in those for those in names.values())]
    if wanted is None:
        wanted = "bottleneck" if "bottleneck" in shared or len(shared) != 1 else shared[0]
    if wanted in shared:
        return wanted
    lacking = next(path for path, those in names.items() if wanted not in those)
    there = f"all runs have {listed(shared, wanted)}" if shared else "no queue is in all runs"
    message = f"{lacking}: the run has no queue named {wanted}\nhint: {there}; choose one with --at"
    raise InputError(message)


def _names(queues: pl.DataFrame) -> list[str]:
    return queues.get_column("name").to_list() if "name" in queues.columns else []


def _labels(groups: list[list[Path]]) -> dict[str, list[Path]]:
    """Return a name for each row: that of its folder; of several, what their names begin with."""
    labels: dict[str, list[Path]] = {}
    for members in groups:
        label = _shared_start([path.resolve().name for path in members]).rstrip("-_. ")
        if not label or label in labels:
            label = str(members[0])
        labels[label] = members
    return labels


def _shared_start(names: list[str]) -> str:
    """Return what all of them begin with."""
    return "".join(
        letters[0] for letters in takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    )


def _row(label: str, members: list[Path], results: dict[Path, Result], queue: str) -> Row:
    runs: list[tuple[int, Measures]] = []
    for path in members:
        result = results[path]
        if "state_bytes" not in result.queues.columns:
            message = f"{path} was written by an older version: it has no state_bytes\nhint: run the scenario again"
            raise InputError(message)
        runs.append((result.seed, measure_result(result, [queue])))
    first = results[members[0]].queues
    discipline = str(first.row(first.get_column("name").to_list().index(queue), named=True)["discipline"])
    text = scenario_text(members[0])
    if text is None:
        return Row(label, discipline, discipline, runs, math.nan)
    scenario = Scenario.from_toml(text, str(members[0] / SCENARIO_FILE))
    # The arbiter of an Ethernet switch is no discipline that could be measured; Python code is not run without leave.
    is_measured = discipline not in ("fifo", "round_robin") and not scenario.python_classes
    cost = measure_cost(text, queue, runs, {}) if is_measured else math.nan
    return Row(label, discipline, queue_before(scenario, queue) or discipline, runs, cost)
