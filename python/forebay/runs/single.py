"""Running one scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, overload

import forebay
from forebay import _core, sweeps
from forebay.errors import InputError
from forebay.folder import SCENARIO_FILE, NotWrittenError, check_name, named, staged
from forebay.scenario import Scenario, scenario_of

from .seeds import check_seed

if TYPE_CHECKING:
    from forebay._core import RawResult
    from forebay.result import Result
    from forebay.sweeps.seeds import SeededRuns

MOST_THREADS = 1024
"""More than a run can make use of."""

Progress = Callable[[float], object]


@overload
def run(
    scenario: Scenario | str | PathLike[str],
    *,
    seed: int | None = None,
    seeds: None = None,
    jobs: int | None = None,
    overrides: Mapping[str, object] | None = None,
    out: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    threads: int = 1,
    allow_python: bool = False,
) -> Result: ...


@overload
def run(
    scenario: Scenario | str | PathLike[str],
    *,
    seed: int | None = None,
    seeds: int,
    jobs: int | None = None,
    overrides: Mapping[str, object] | None = None,
    out: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    threads: int = 1,
    allow_python: bool = False,
) -> SeededRuns: ...


def run(
    scenario: Scenario | str | PathLike[str],
    *,
    seed: int | None = None,
    seeds: int | None = None,
    jobs: int | None = None,
    overrides: Mapping[str, object] | None = None,
    out: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    threads: int = 1,
    allow_python: bool = False,
) -> Result | SeededRuns:
    """Run a scenario and return its results.

    The simulation does not hold the interpreter's lock, so other Python threads continue meanwhile.

    Args:
        scenario: A scenario, or the path of a scenario file.
        seed: The seed of all random numbers, in place of the scenario's own: an integer from 0 to 2^64 - 1.
        seeds: The number of runs, each under a seed of its own: `seed`, or the scenario's, and those that follow.
        jobs: With `seeds`, runs at a time. Default: one per core.
        overrides: Values to replace, by the path of their key: `{"flows.tcp.count": 10}`.
        out: A folder for results and packet traces. Either all files appear in it at the end of the run, or none. With
            `seeds`, the folder of a sweep, without traces.
        progress: Called about ten times a second with the share of the run that is done, from 0 to 1. An exception that
            it raises ends the run.
        threads: How many threads the run may have at most; the results are the same. Without it, one.
            A run with classes in Python has one.
        allow_python: Import and run the Python classes that a scenario file names.

    Returns:
        Tables, time series and the digest of the run. With `seeds`, tables of means with confidence intervals.

    Raises:
        ScenarioError: If the scenario is not valid.
        DisciplineError: If a discipline written in Python fails.
        ControllerError: If a congestion controller written in Python fails.
        InputError: If the seed or the number of threads is out of range, a file cannot be read, or the folder cannot be
            written. If the disk is full at the end of the run, the error's attribute `result` holds the results.

    Example:
        >>> short = {"duration": "2 s", "warmup": "1 s"}
        >>> result = fb.run("examples/first.toml", overrides=short)
        >>> result.flows["name"].to_list()
        ['tcp-0', 'tcp-1', 'tcp-2', 'tcp-3', 'tcp-4', 'flood']

    """
    scenario = scenario_of(scenario, overrides, allow_python=allow_python)
    if seeds is not None:
        if threads != 1:
            message = "threads: with seeds, each run has one thread\nhint: jobs says how many run at a time"
            raise InputError(message)
        check_seed(seed)
        folder = None if out is None else named(out)
        return sweeps.seeds.run_under_seeds(scenario, seed=seed, seeds=seeds, jobs=jobs, out=folder, progress=progress)
    if jobs is not None:
        message = "jobs: this is for runs under several seeds\nhint: for a single run, threads"
        raise InputError(message)
    if out is None:
        return forebay.Result.from_core(run_core(scenario, seed=seed, threads=threads, progress=progress))
    for name in scenario.trace_files:
        check_name(Path(name), "the trace")
    result = None
    try:
        with staged(out) as staging:
            result = forebay.Result.from_core(
                run_core(scenario, seed=seed, threads=threads, progress=progress, traces=staging)
            )
            result.write_files(staging)
            (staging / SCENARIO_FILE).write_text(scenario.to_toml(), encoding="utf-8")
    except NotWrittenError as error:
        error.result = result
        raise
    return result


def check_threads(threads: int, scenario: Scenario) -> None:
    """Raise InputError unless the scenario may run on that many threads."""
    if not 1 <= threads <= MOST_THREADS:
        message = f"threads: must be from 1 to {MOST_THREADS}, and is {threads}\nhint: leave it out for one"
        raise InputError(message)
    if threads > 1 and scenario.python_classes:
        message = (
            f"{scenario.file_name} names Python code, which runs on one thread\nhint: leave out the number of threads"
        )
        raise InputError(message)


def run_core(
    scenario: Scenario,
    *,
    seed: int | None = None,
    progress: Progress | None = None,
    threads: int = 1,
    traces: Path | None = None,
    arrays: bool = True,
) -> RawResult:
    """Run a scenario and return the core's own columns: NumPy arrays, or plain lists if `arrays` is false."""
    check_seed(seed)
    check_threads(threads, scenario)
    return _core.run(
        scenario.text,
        scenario.file_name,
        scenario.overrides,
        seed=seed,
        progress=progress,
        out_dir=None if traces is None else str(traces),
        arrays=arrays,
        threads=threads,
        # The usual run starts without what looks into classes.
        custom=scenario.custom() if scenario.python_classes else {},
    )
