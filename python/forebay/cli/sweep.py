"""`forebay sweep`: a scenario at many points."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import forebay
from forebay import comparison, sweeps
from forebay.display.quantity import CI, scale
from forebay.errors import InputError
from forebay.runs.seeds import MOST_SEEDS
from forebay.storage.document import json_text

from . import completion, interrupt, terminal
from .options import (
    AllowPython,
    AsJson,
    Dask,
    EveryRow,
    Jobs,
    Overrides,
    Queues,
    QueueSettings,
    ScenarioFile,
    folder_of,
    pairs,
    where_of,
)

if TYPE_CHECKING:
    from forebay.runs.workers import Where
    from forebay.sweeps.dry import Effort
    from forebay.sweeps.plan import Plan, Request
    from forebay.sweeps.result import Sweep
    from forebay.sweeps.run import OnOutcome

DONE, SOME_FAILED = 0, 1


Varied = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="KEY.PATH=VALUES",
        help="Values [bold]a,b,c[/]; or a range [bold]lin:10 Mbps:100 Mbps:4[/] or [bold]log:1:1000:7[/]; "
        "with --samples, [bold]uniform:0:1[/] or [bold]loguniform:1 ms:1 s[/]. Repeatable.",
        show_default=False,
        autocompletion=completion.paths,
    ),
]
InStep = Annotated[bool, typer.Option("--in-step", help="Change all keys together, in place of a grid.")]
Samples = Annotated[
    int | None, typer.Option("--samples", metavar="N", min=1, help="Draw N points, in place of a grid.")
]
Sampling = Annotated[
    str,
    typer.Option("--sampling", metavar="latin|random", help="Draw a Latin hypercube, or independent points."),
]
At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="PATH",
        help="Queue that --queues replaces, by the path of its key. Default: the bottleneck's.",
    ),
]
Seeds = Annotated[
    int,
    typer.Option(
        "--seeds",
        metavar="N",
        min=1,
        max=MOST_SEEDS,
        help="Runs of each point; with --until, the number to begin with.",
    ),
]
UntilRule = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="RULE",
        help="Add seeds until half the 95 % interval of a metric is narrower: [bold]goodput < 2 %[/].",
        autocompletion=completion.metrics,
    ),
]
MaxSeeds = Annotated[
    int, typer.Option("--max-seeds", metavar="N", min=1, max=MOST_SEEDS, help="The most runs of a point.")
]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Run again what failed before, in place of keeping its error.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Estimate the number of runs, their time and their size; keep nothing.")
]
OutputFolder = Annotated[
    str | None,
    typer.Option("--out", metavar="DIR", help="Folder for tables and runs. Default: out/sweep/<scenario>."),
]


def sweep(  # noqa: PLR0913 - typer makes an option of each
    scenario: ScenarioFile,
    *,
    vary: Varied = None,
    in_step: InStep = False,
    samples: Samples = None,
    sampling: Sampling = "latin",
    queues: Queues = None,
    settings: QueueSettings = None,
    at: At = None,
    overrides: Overrides = None,
    seeds: Seeds = 3,
    until: UntilRule = None,
    max_seeds: MaxSeeds = 100,
    jobs: Jobs = None,
    dask: Dask = None,
    retry_failed: RetryFailed = False,
    dry_run: DryRun = False,
    every_row: EveryRow = False,
    as_json: AsJson = False,
    out: OutputFolder = None,
    allow_python: AllowPython = False,
) -> None:
    """Run a scenario at many points, each under several seeds, and print means with intervals.

    The same command continues a stopped sweep and repeats no finished run. Exit status 1: some runs failed.
    """
    folder = folder_of(out)
    interrupt.tells(lambda: "stopped before the first run; nothing was written")
    changes, where = pairs(overrides), where_of(jobs, dask)
    if not vary and not queues:
        message = "nothing varies\nhint: name a key, such as --vary flows.tcp.count=1,10,100, or --queues red,dbl"
        raise InputError(message)
    checked = forebay.Scenario.load(scenario, changes, allow_python=allow_python)
    request = sweeps.plan.Request(
        vary=_varied(vary or ()),
        way=sweeps.run.way_of(in_step=in_step, samples=samples, sampling=sampling),
        samples=samples,
        queues=queues or None,
        at=at,
        settings=comparison.contenders.read_settings(settings) if settings else None,
        seeds=seeds,
        until=sweeps.until.Until.parse(until) if until is not None else None,
        max_seeds=max_seeds,
    )
    plan = sweeps.plan.make_plan(checked, request)
    if dry_run:
        _show_effort(plan, sweeps.dry.estimate(plan, where), as_json=as_json)
        return
    target = folder or Path("out") / "sweep" / scenario.stem
    result = run_shown(plan, target, where, retry_failed=retry_failed)
    # Show expensive results, whether or not they can be saved.
    terminal.show_result(
        result, lambda width: sweeps.table.terminal_tables(result, width, every=every_row), as_json=as_json
    )
    result.save(target)
    _tell_of_unmet(request, result)
    terminal.note(f"written to {target}: points.csv has the means, points.parquet and runs.parquet all numbers")
    if not result.failures.is_empty():
        raise typer.Exit(SOME_FAILED)


def _varied(texts: Sequence[str]) -> dict[str | tuple[str, ...], str]:
    found: dict[str | tuple[str, ...], str] = {}
    for text in texts:
        path, equals, values = text.partition("=")
        if not equals or not path.strip():
            message = f"--vary {text}: there are no values\nhint: write --vary key.path=a,b,c"
            raise InputError(message)
        if path.strip() in found:
            message = f"--vary {path.strip()}: the key is varied twice\nhint: put all values into one list"
            raise InputError(message)
        found[path.strip()] = values.strip()
    return found


def run_shown(
    plan: "Plan",
    out: Path | None,
    where: "Where",
    *,
    retry_failed: bool = False,
    on_outcome: "OnOutcome | None" = None,
) -> "Sweep":
    """Run a plan with a progress bar, and say after Ctrl-C how to continue."""

    def stopped(done: int, runs: int) -> str:
        kept = "nothing was written" if out is None else f"they are in {out}, and the same command continues from there"
        return f"stopped after {done} of {runs} runs; {kept}"

    with terminal.counted(stopped) as progress:
        command = shlex.join(["forebay", *sys.argv[1:]])
        return sweeps.run.run_plan(
            plan,
            out,
            where=where,
            command=command,
            retry_failed=retry_failed,
            progress=progress,
            on_outcome=on_outcome,
        )


def _tell_of_unmet(request: "Request", result: "Sweep") -> None:
    """Say at how many points `--until` is not met, which the table does not show."""
    if request.until is None or not result.metrics:
        return
    column = request.until.column(result.metrics)
    unmet = sum(not request.until.met(*row) for row in result.points.select(column, column + CI).iter_rows())
    if unmet:
        points = f"{unmet} of {result.points.height} points"
        terminal.note(f"{points} did not reach --until with {request.max_seeds} seeds; --max-seeds sets that number")


def _show_effort(plan: "Plan", effort: "Effort", *, as_json: bool) -> None:
    if as_json:
        terminal.write(json_text(effort.to_dict()))
        return
    most = f", at most {effort.max_runs:,} with more seeds" if effort.max_runs > effort.runs else ""
    lines = [
        f"{effort.points:,} points of {', '.join(plan.keys)}",
        f"{effort.runs:,} runs{most}",
        f"about {_duration(effort.run_s)} of CPU time a run, {_duration(effort.wall_s)} in all",
    ]
    if effort.bytes is not None:
        unit = scale("_bytes", effort.bytes)
        lines.append(f"about {unit.text(effort.bytes, 3)} {unit.unit} on disk")
    terminal.write("\n".join(lines))


def _duration(seconds: float) -> str:
    for size, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.2g} {name}"
    unit = scale("_s", seconds)
    return f"{unit.text(seconds, 3)} {unit.unit}"
