"""Running a scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from . import _core
from .folder import NotWrittenError, staged
from .scenario import Scenario
from .seeds import check_seed

if TYPE_CHECKING:
    from ._core import RawResult
    from .result import Result

SCENARIO_FILE = "scenario.toml"
"""The scenario as it was run, overrides included, beside its results."""

Progress = Callable[[float], object]


def scenario_text(folder: Path) -> str | None:
    """The scenario of a saved run as it was run; None where it was not kept."""
    try:
        return (folder / SCENARIO_FILE).read_text(encoding="utf-8")
    except OSError:
        return None


def run(
    scenario: Scenario | str | PathLike[str],
    *,
    seed: int | None = None,
    overrides: Mapping[str, object] | None = None,
    out: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    allow_python: bool = False,
) -> Result:
    """Runs a scenario, or the scenario file of that path, and gives its results.

    `seed` replaces the scenario's own, `overrides` its values by the path of their key: `{"flows.tcp.count": 10}`.
    With `out`, results and packet traces are saved in that folder. `progress` is called now and then with the part of
    the run that is done; an exception that it raises ends the call. Other Python threads go on meanwhile. With
    `allow_python`, the classes that a scenario file names may be imported and run.

    Raises ScenarioError for a scenario that is not valid, DisciplineError if a discipline written in Python fails, and
    InputError for a seed that there is not, a file that
    cannot be read or a folder that cannot be written. If the disk is full at the end of the run, the error has the
    results as its attribute `result`.
    """
    from .result import Result

    if not isinstance(scenario, Scenario):
        scenario = Scenario.load(scenario, overrides, allow_python=allow_python)
    elif overrides:
        scenario = scenario.override(overrides)
    if out is None:
        return Result.from_core(run_core(scenario, seed=seed, progress=progress))
    result = None
    try:
        with staged(out) as staging:
            result = Result.from_core(run_core(scenario, seed=seed, progress=progress, traces=staging))
            result.write_files(staging)
            (staging / SCENARIO_FILE).write_text(scenario.to_toml(), encoding="utf-8")
    except NotWrittenError as error:
        error.result = result
        raise
    return result


def run_core(
    scenario: Scenario,
    *,
    seed: int | None = None,
    progress: Progress | None = None,
    traces: Path | None = None,
    arrays: bool = True,
) -> RawResult:
    """Runs a scenario and gives the core's own columns: NumPy arrays, or plain lists if `arrays` is false."""
    check_seed(seed)
    return _core.run(
        scenario.text,
        scenario.file_name,
        scenario.overrides,
        seed=seed,
        progress=progress,
        out_dir=None if traces is None else str(traces),
        arrays=arrays,
        # The usual run starts without what looks into classes.
        guests=scenario.guests() if scenario.python_classes else {},
    )
