"""`forebay sweep`: its options and its output."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from forebay import interrupt, terminal
from forebay.comparison.contenders import read_settings
from forebay.document import json_text
from forebay.errors import InputError
from forebay.quantity import CI, scale
from forebay.runs.workers import Where
from forebay.scenario import Scenario

from .dry import Effort, estimate
from .plan import Plan, Request, make_plan
from .result import Sweep
from .run import OnOutcome, run_plan, way_of
from .table import terminal_tables
from .until import Until

ALL_RUN, SOME_FAILED = 0, 1


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    vary: Sequence[str]
    in_step: bool
    samples: int | None
    sampling: str
    queues: Sequence[str] | None
    at: str | None
    settings: Path | None
    overrides: Mapping[str, str]
    seeds: int
    until: str | None
    max_seeds: int
    where: Where
    retry_failed: bool
    dry_run: bool
    every_row: bool
    as_json: bool
    out: Path | None
    allow_python: bool


def run_command(path: Path, options: Options) -> int:
    """Sweeps, prints, and returns the exit status. Raises InputError and ScenarioError."""
    if not options.vary and not options.queues:
        message = "nothing varies\nhint: name a key, such as --vary flows.tcp.count=1,10,100, or --queues red,dbl"
        raise InputError(message)
    plan = make_plan(Scenario.load(path, options.overrides, allow_python=options.allow_python), _request(options))
    if options.dry_run:
        _show_effort(plan, estimate(plan, options.where), as_json=options.as_json)
        return ALL_RUN
    out = options.out or Path("out") / "sweep" / path.stem
    result = run_shown(plan, out, options.where, retry_failed=options.retry_failed)
    # Show expensive results, whether or not they can be saved.
    if options.as_json:
        terminal.write(result.to_json())
    else:
        terminal.show(*terminal_tables(result, terminal.output().width, every=options.every_row))
    result.save(out)
    _tell_of_unmet(plan.request, result)
    terminal.note(f"written to {out}: points.csv has the means, points.parquet and runs.parquet all numbers")
    return ALL_RUN if result.failures.is_empty() else SOME_FAILED


def _tell_of_unmet(request: Request, result: Sweep) -> None:
    """Say at how many points `--until` is not met, which the table does not show."""
    if request.until is None or not result.metrics:
        return
    column = request.until.column(result.metrics)
    unmet = sum(not request.until.met(*row) for row in result.points.select(column, column + CI).iter_rows())
    if unmet:
        points = f"{unmet} of {result.points.height} points"
        terminal.note(f"{points} did not reach --until with {request.max_seeds} seeds; --max-seeds sets that number")


def run_shown(
    plan: Plan,
    out: Path | None,
    where: Where,
    *,
    retry_failed: bool = False,
    on_outcome: OnOutcome | None = None,
) -> Sweep:
    """Run a plan with a progress bar, and say after Ctrl-C how to continue."""
    last = (0, 0)

    def stopped() -> str:
        kept = "nothing was written" if out is None else f"they are in {out}, and the same command continues from there"
        return f"stopped after {last[0]} of {last[1]} runs; {kept}"

    interrupt.tells(stopped)
    with terminal.progress("runs", counts=True) as bar:

        def progress(done: int, runs: int) -> None:
            nonlocal last
            last = (done, runs)
            bar.move(done, runs)

        command = shlex.join(["forebay", *sys.argv[1:]])
        return run_plan(
            plan,
            out,
            where=where,
            command=command,
            retry_failed=retry_failed,
            progress=progress,
            on_outcome=on_outcome,
        )


def _request(options: Options) -> Request:
    return Request(
        vary=_varied(options.vary),
        way=way_of(in_step=options.in_step, samples=options.samples, sampling=options.sampling),
        samples=options.samples,
        queues=list(options.queues) if options.queues else None,
        at=options.at,
        settings=read_settings(options.settings) if options.settings else None,
        seeds=options.seeds,
        until=Until.parse(options.until) if options.until is not None else None,
        max_seeds=options.max_seeds,
    )


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


def _show_effort(plan: Plan, effort: Effort, *, as_json: bool) -> None:
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
