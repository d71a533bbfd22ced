"""Run a scenario under every queue and every seed, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import closing
from functools import partial
from os import PathLike
from pathlib import Path

from forebay.disciplines.custom import CustomClasses, digest_of
from forebay.errors import InputError
from forebay.folder import kept_in
from forebay.runs.execute import execute
from forebay.runs.job import Job
from forebay.runs.measures import Measures, measure
from forebay.runs.seeds import seeds_from
from forebay.runs.simulate import simulate_tables
from forebay.runs.store import Store
from forebay.runs.workers import Where, Workers
from forebay.scenario import Scenario, scenario_of

from .contenders import ALL, Fit, Place, Settings, contenders_of, find_place, fitting, queue_text
from .result import Comparison, Row, frames_of, measure_cost

RUNS = "runs"
"""The folder of finished runs within that of a comparison: a repeated call continues from them."""

OnStep = Callable[[int, int], object]
"""Called with the number of steps done and the number of all steps."""


def compare(  # noqa: PLR0913 - all but two are optional
    scenario: Scenario | str | PathLike[str],
    queues: str | Iterable[str] | Mapping[str, object] = ALL,
    *,
    at: str | None = None,
    settings: Settings | None = None,
    overrides: Mapping[str, object] | None = None,
    seeds: int = 3,
    jobs: int | None = None,
    executor: Executor | None = None,
    dask: str | None = None,
    out: str | PathLike[str] | None = None,
    progress: OnStep | None = None,
    allow_python: bool = False,
) -> Comparison:
    """Run a scenario under several queue disciplines and return their results side by side.

    Args:
        scenario: A scenario, or the path of a scenario file.
        queues: Names of disciplines, `["red", "dbl"]` or `"red,dbl"`; `"all"`; or queues as a scenario has them, by
            their label: `{"RED": {"red": {"min_threshold": "64 packets"}}}`. A name may carry a label and parameters:
            `"gentle=red:gentle=true"`. Each discipline keeps the limit of the queue that it replaces; its thresholds,
            if they are not given, follow from the link.
        at: The path of the queue to replace. Default: the bottleneck's.
        settings: Parameters by the name of a discipline: `{"red": {"min_threshold": "64 packets"}}`. Those under
            `"all"` go to every discipline that has them.
        overrides: Values of the scenario to replace, by the path of their key.
        seeds: The number of runs of each queue. They take the seeds from the scenario's own on.
        jobs: Runs at a time. Default: one per core, or one per thread of a cluster.
        executor: Where to run, in place of threads: any executor, which stays open.
        dask: The address of a Dask scheduler, in place of threads: `"tcp://host:8786"`.
        out: A folder for tables, figure and page. It also keeps finished runs: the same call continues a stopped one.
        progress: Called with the number of steps done and the number of all steps.
        allow_python: Import and run the Python classes that a scenario file names. Such runs take turns.

    Returns:
        Means over seeds with their confidence intervals, for each queue and each group of flows.

    Raises:
        InputError: If the queues or the arguments cannot be compared, or the folder cannot be written.
        ScenarioError: If a scenario is not valid.
        DisciplineError: If a discipline written in Python fails.
        ControllerError: If a congestion controller written in Python fails.

    Example:
        >>> short = {"duration": "2 s", "warmup": "1 s"}
        >>> comparison = fb.compare(
        ...     "examples/first.toml", "drop_tail,red", overrides=short, seeds=2
        ... )
        >>> comparison.table.select("queue", "seeds").rows()
        [('drop_tail', 2), ('red', 2)]

    """
    scenario = scenario_of(scenario, overrides, allow_python=allow_python)
    where = Where(jobs, executor, dask)
    comparison = run_comparison(
        scenario, queues, out, at=at, settings=settings, seeds=seeds, where=where, progress=progress
    )
    if out is not None:
        comparison.save(out)
    return comparison


def run_comparison(
    scenario: Scenario,
    queues: str | Iterable[str] | Mapping[str, object],
    out: str | PathLike[str] | None,
    *,
    at: str | None,
    settings: Settings | None,
    seeds: int,
    where: Where,
    progress: OnStep | None,
) -> Comparison:
    """Compare as `compare` does, keep finished runs in `out`, and write nothing else there."""
    if seeds < 1:
        message = f"seeds: must be at least 1, and is {seeds}\nhint: three or more make an interval"
        raise InputError(message)
    numbers = seeds_from(scenario.seed, seeds)
    contenders = contenders_of(queues)
    place = find_place(scenario, at)
    fit, left_out = fitting(_unrecorded(scenario), place, contenders, settings or {}, lenient=queues in (ALL, [ALL]))
    if not fit:
        message = f"no discipline fits this scenario: {left_out[0]}\nhint: look at the limit of its queue"
        raise InputError(message)
    # Nothing is written before there is something to run on.
    custom = CustomClasses.together(it.scenario.custom() for it in fit)
    with where.hire(len(fit) * len(numbers), custom) as workers, kept_in(out) as folder:
        rows = _rows(fit, custom, place, scenario, numbers, workers, folder / RUNS, progress or _no_progress)
    table, groups, runs = frames_of(rows)
    return Comparison(
        scenario=scenario.name,
        description=scenario.description,
        warmup_s=scenario.warmup_s,
        duration_s=scenario.duration_s,
        rate_bps=rows[0].runs[0][1].rate_bps,
        parameters={row.label: row.queue for row in rows},
        fitted={it.contender.label: dict(it.fitted) for it in fit},
        toml=scenario.to_toml(),
        left_out=tuple(left_out),
        at=at or "",
        several_queues=len(place.links) > 1,
        table=table,
        groups=groups,
        runs=runs,
    )


def _unrecorded(scenario: Scenario) -> Scenario:
    """Return the scenario without what a comparison has no use for."""
    # Seldom enough to cost nothing: the memory that a discipline's state takes is looked at then.
    interval = f"{max(1, round(scenario.duration_s / 64 * 1e12))} ps"
    return scenario.override({"probes": {"interval": interval, "series": []}, "traces": []})


def _rows(
    fit: list[Fit],
    custom: CustomClasses,
    place: Place,
    scenario: Scenario,
    seeds: range,
    workers: Workers,
    folder: Path,
    progress: OnStep,
) -> list[Row]:
    """Run every contender under every seed, then measure the cost of each, one after the other."""
    texts = {it.contender.label: it.scenario.to_toml() for it in fit}
    code = digest_of(custom)
    todo = [
        Job(label, f"{scenario.name} ({label})", seed, text, code) for label, text in texts.items() for seed in seeds
    ]
    steps, done = len(todo) + len(texts), 0

    def step(*_: object) -> None:
        nonlocal done
        done += 1
        progress(done, steps)

    progress(0, steps)
    measured_s = scenario.duration_s - scenario.warmup_s
    found: dict[str, dict[int, Measures]] = {label: {} for label in texts}
    store = Store(folder)
    finished = execute(todo, lambda _: store, partial(simulate_tables, custom=custom), workers=workers, on_done=step)
    with closing(finished):
        for job, outcome in finished:
            found[job.key][job.seed] = measure(outcome.tables, place.links, measured_s)
    rows = []
    for contender, variant in ((it.contender, it.scenario) for it in fit):
        runs = sorted(found[contender.label].items())
        cost = measure_cost(texts[contender.label], place.links[0], runs, custom)
        rows.append(Row(contender.label, contender.discipline, queue_text(variant, place), runs, cost))
        step()
    return rows


def _no_progress(_done: int, _steps: int) -> None:
    """Ignore the progress."""
