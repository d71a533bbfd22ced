"""`forebay compare`: its options and its output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from forebay import interrupt, terminal
from forebay.errors import InputError
from forebay.runs.workers import Where
from forebay.scenario import Scenario
from forebay.sweeps.paired import compare_sweeps
from forebay.sweeps.result import is_sweep
from forebay.sweeps.table import paired_tables

from .contenders import ALL, read_settings
from .finished import compare_runs
from .result import STEM, Comparison, is_comparison
from .run import run_comparison
from .table import terminal_tables

DONE = 0


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    queues: Sequence[str]
    settings: Path | None
    at: str | None
    overrides: Mapping[str, str]
    seeds: int | None
    where: Where
    as_json: bool
    out: Path | None
    allow_python: bool = False


def run_command(what: Sequence[Path], options: Options) -> int:
    """Compare, print, and return the exit status. Raises InputError and ScenarioError."""
    folders = [path for path in what if path.is_dir()]
    if len(folders) == len(what):
        return _finished(folders, options)
    if len(what) > 1:
        stranger = next(path for path in what if not path.is_dir())
        message = f"{stranger} is not a folder\nhint: give one scenario file, or folders that `forebay run --out` wrote"
        raise InputError(message)
    return _scenario(what[0], options)


def _finished(folders: list[Path], options: Options) -> int:
    given = {
        "--queue": options.queues,
        "--settings": options.settings,
        "--set": options.overrides,
        "--seeds": options.seeds,
        "--jobs": options.where.jobs,
        "--dask": options.where.dask,
        "--allow-python": options.allow_python,
    }
    for option, value in given.items():
        if value:
            message = f"{option} cannot be used with finished runs\nhint: give a scenario file instead of {folders[0]}"
            raise InputError(message)
    if any(map(is_sweep, folders)):
        return _paired(folders, options)
    if len(folders) == 1 and is_comparison(folders[0]):
        return _again(folders[0], options)
    comparison = compare_runs(folders, queue=options.at)
    _print(comparison, as_json=options.as_json)
    if options.out is not None:
        _save(comparison, options.out)
    return DONE


def _again(folder: Path, options: Options) -> int:
    """Show a finished comparison."""
    if options.out is not None or options.at is not None:
        message = "--out and --at cannot be used with a finished comparison\nhint: --json prints all numbers"
        raise InputError(message)
    _print(Comparison.load(folder), as_json=options.as_json)
    return DONE


def _paired(folders: list[Path], options: Options) -> int:
    """Two sweeps, run by run of the same seed."""
    if len(folders) != 2 or not all(map(is_sweep, folders)):
        message = "a comparison of sweeps takes two of them\nhint: give the folders of two sweeps"
        raise InputError(message)
    if options.out is not None or options.at is not None:
        message = "--out and --at cannot be used with two sweeps\nhint: --json prints all numbers"
        raise InputError(message)
    paired = compare_sweeps(*folders)
    if options.as_json:
        terminal.write(paired.to_json())
    else:
        terminal.show(*paired_tables(paired, terminal.output().width))
    return DONE


def _scenario(path: Path, options: Options) -> int:
    scenario = Scenario.load(path, options.overrides, allow_python=options.allow_python)
    settings = {} if options.settings is None else read_settings(options.settings)
    out = options.out or Path("out") / STEM / path.stem
    last = (0, 0)

    def stopped() -> str:
        done, steps = last
        kept = f"finished runs are in {out}, and the same command continues from there"
        return f"stopped after {done} of {steps} steps; {kept}"

    interrupt.tells(stopped)
    with terminal.progress("runs", counts=True) as bar:

        def progress(done: int, steps: int) -> None:
            nonlocal last
            last = (done, steps)
            bar.move(done, steps)

        comparison = run_comparison(
            scenario,
            options.queues or ALL,
            out,
            at=options.at,
            settings=settings,
            seeds=3 if options.seeds is None else options.seeds,
            where=options.where,
            progress=progress,
        )
    # Show expensive results, whether or not they can be saved.
    _print(comparison, as_json=options.as_json)
    _save(comparison, out)
    return DONE


def _print(comparison: Comparison, *, as_json: bool) -> None:
    if as_json:
        terminal.write(comparison.to_json())
    else:
        terminal.show(*terminal_tables(comparison, terminal.output().width))


def _save(comparison: Comparison, out: Path) -> None:
    comparison.save(out)
    terminal.note(f"written to {out}: {STEM}.html is a page to show, .png and .svg its figure, .csv and .json its data")
