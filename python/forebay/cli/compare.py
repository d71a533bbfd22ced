"""`forebay compare`: a scenario under several queues, or finished runs."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import forebay
from forebay import comparison, sweeps
from forebay.errors import InputError
from forebay.runs.seeds import MOST_SEEDS

from . import interrupt, terminal
from .options import (
    AllowPython,
    AsJson,
    Dask,
    Jobs,
    Overrides,
    Queues,
    QueueSettings,
    folder_of,
    pairs,
    where_of,
)

if TYPE_CHECKING:
    from forebay.comparison.result import Comparison
    from forebay.runs.workers import Where
    from forebay.scenario import Scenario


Compared = Annotated[
    list[Path],
    typer.Argument(
        metavar="SCENARIO.toml|DIR…",
        help="A scenario file; folders that [bold]forebay run --out[/] wrote; those of two sweeps; or that of a "
        "finished comparison, to show it again.",
        show_default=False,
    ),
]
At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="PATH",
        help="Queue to replace, by the path of its key; of finished runs, its name. Default: the bottleneck's.",
    ),
]
Seeds = Annotated[
    int | None,
    typer.Option("--seeds", metavar="N", min=1, max=MOST_SEEDS, help="Runs of each discipline. Default: 3."),
]
OutputFolder = Annotated[
    str | None,
    typer.Option("--out", metavar="DIR", help="Folder for page, tables and figure. Default: out/compare/<scenario>."),
]


def compare(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    what: Compared,
    queues: Queues = None,
    settings: QueueSettings = None,
    at: At = None,
    overrides: Overrides = None,
    seeds: Seeds = None,
    jobs: Jobs = None,
    dask: Dask = None,
    as_json: AsJson = False,
    out: OutputFolder = None,
    allow_python: AllowPython = False,
) -> None:
    """Run a scenario under several queue disciplines, or take finished runs, and print them side by side."""
    folder = folder_of(out)
    interrupt.tells(lambda: "stopped before the first run; nothing was written")
    changes, where = pairs(overrides), where_of(jobs, dask)
    folders = [path for path in what if path.is_dir()]
    if len(folders) == len(what):
        of_runs = {
            "--queue": queues,
            "--settings": settings,
            "--set": changes,
            "--seeds": seeds,
            "--jobs": jobs,
            "--dask": dask,
            "--allow-python": allow_python,
        }
        _finished(folders, of_runs, at, folder, as_json=as_json)
        return
    if len(what) > 1:
        stranger = next(path for path in what if not path.is_dir())
        message = f"{stranger} is not a folder\nhint: give one scenario file, or folders that `forebay run --out` wrote"
        raise InputError(message)
    scenario = forebay.Scenario.load(what[0], changes, allow_python=allow_python)
    target = folder or Path("out") / comparison.result.STEM / what[0].stem
    compared = _run(scenario, queues, settings, at, seeds, where, target)
    # Show expensive results, whether or not they can be saved.
    _print(compared, as_json=as_json)
    _save(compared, target)


def _finished(
    folders: list[Path], of_runs: Mapping[str, object], at: str | None, out: Path | None, *, as_json: bool
) -> None:
    """Compare finished runs or two sweeps, or show a finished comparison; `of_runs` are the options that need a run."""
    for option, value in of_runs.items():
        if value:
            message = f"{option} cannot be used with finished runs\nhint: give a scenario file instead of {folders[0]}"
            raise InputError(message)
    are_sweeps = [sweeps.result.is_sweep(folder) for folder in folders]
    if any(are_sweeps):
        if are_sweeps != [True, True]:
            message = "a comparison of sweeps takes two of them\nhint: give the folders of two sweeps"
            raise InputError(message)
        _refuse_out(at, out, "two sweeps")
        paired = sweeps.paired.compare_sweeps(*folders)
        terminal.show_result(paired, lambda width: sweeps.table.paired_tables(paired, width), as_json=as_json)
    elif len(folders) == 1 and comparison.result.is_comparison(folders[0]):
        _refuse_out(at, out, "a finished comparison")
        _print(comparison.result.Comparison.load(folders[0]), as_json=as_json)
    else:
        compared = comparison.finished.compare_runs(folders, queue=at)
        _print(compared, as_json=as_json)
        if out is not None:
            _save(compared, out)


def _refuse_out(at: str | None, out: Path | None, what: str) -> None:
    if out is not None or at is not None:
        message = f"--out and --at cannot be used with {what}\nhint: --json prints all numbers"
        raise InputError(message)


def _run(
    scenario: "Scenario",
    queues: list[str] | None,
    settings: Path | None,
    at: str | None,
    seeds: int | None,
    where: "Where",
    out: Path,
) -> "Comparison":
    contenders = comparison.contenders
    parameters = {} if settings is None else contenders.read_settings(settings)

    def stopped(done: int, steps: int) -> str:
        return (
            f"stopped after {done} of {steps} steps; "
            f"finished runs are in {out}, and the same command continues from there"
        )

    with terminal.counted(stopped) as progress:
        return comparison.run.run_comparison(
            scenario,
            queues or contenders.ALL,
            out,
            at=at,
            settings=parameters,
            seeds=3 if seeds is None else seeds,
            where=where,
            progress=progress,
        )


def _print(compared: "Comparison", *, as_json: bool) -> None:
    terminal.show_result(compared, lambda width: comparison.table.terminal_tables(compared, width), as_json=as_json)


def _save(compared: "Comparison", out: Path) -> None:
    compared.save(out)
    stem = comparison.result.STEM
    terminal.note(f"written to {out}: {stem}.html is a page to show, .png and .svg its figure, .csv and .json its data")
