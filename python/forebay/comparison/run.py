"""Runs a scenario under every queue and every seed, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import closing
from functools import partial
from os import PathLike
from pathlib import Path

from forebay.errors import InputError
from forebay.folder import kept_in
from forebay.guests import Guests, digest_of
from forebay.runs.execute import execute
from forebay.runs.job import Job
from forebay.runs.measures import Measures, measure
from forebay.runs.simulate import simulate_tables
from forebay.runs.store import Store
from forebay.runs.workers import Where, Workers
from forebay.scenario import Scenario
from forebay.seeds import seeds_from

from .contenders import ALL, Contender, Place, Settings, contenders_of, find_place, fitting, queue_text
from .result import Comparison, Row, frames_of, measure_cost

RUNS = "runs"
"""The folder of finished runs within that of a comparison: a call that was stopped goes on from them."""

OnStep = Callable[[int, int], object]
"""Told of the steps done and of all."""


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
    """Runs a scenario under several queue disciplines and gives their results side by side.

    `queues` are names of disciplines, "all", or a mapping from labels to queues as a scenario has them:
    `{"RED": {"red": {"min_threshold": "64 packets"}}}`. They take the place of the bottleneck's queue, or of that at
    the path `at`, and keep its limit. `settings` are parameters by the name of a discipline. Each runs under `seeds`
    seeds, from the scenario's own on, `jobs` at a time (default: one on each core), on threads, on an `executor` of
    yours, or on the Dask cluster whose scheduler has the address `dask`. With `out`, tables, figure and page are
    written to that folder, and finished runs are kept there, so that the same call goes on where it was stopped.
    `progress` is told of steps done and of all. With `allow_python`, the classes that a scenario file names may be
    imported and run; such runs take turns.

    Raises InputError for what cannot be compared, ScenarioError for a scenario that is not valid, and DisciplineError
    if a discipline written in Python fails.
    """
    if not isinstance(scenario, Scenario):
        scenario = Scenario.load(scenario, allow_python=allow_python)
    scenario = scenario.override(overrides) if overrides else scenario
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
    """As `compare`, with finished runs kept in `out`, where nothing else is written."""
    if seeds < 1:
        message = f"seeds: must be at least 1, and is {seeds}\nhint: three or more give an interval"
        raise InputError(message)
    numbers = seeds_from(scenario.seed, seeds)
    contenders = contenders_of(queues)
    place = find_place(scenario, at)
    fit, left_out = fitting(_unrecorded(scenario), place, contenders, settings or {}, lenient=queues in (ALL, [ALL]))
    if not fit:
        message = f"no discipline fits this scenario: {left_out[0]}\nhint: look at the limit of its queue"
        raise InputError(message)
    # Nothing is written before there is something to run on.
    guests = Guests.together(variant.guests() for _, variant in fit)
    with where.hire(len(fit) * len(numbers), guests) as workers, kept_in(out) as folder:
        rows = _rows(fit, guests, place, scenario, numbers, workers, folder / RUNS, progress or _no_progress)
    table, groups, runs = frames_of(rows)
    return Comparison(
        scenario=scenario.name,
        description=scenario.description,
        warmup_s=scenario.warmup_s,
        duration_s=scenario.duration_s,
        rate_bps=rows[0].runs[0][1].rate_bps,
        parameters={row.label: row.queue for row in rows},
        toml=scenario.to_toml(),
        left_out=tuple(left_out),
        table=table,
        groups=groups,
        runs=runs,
    )


def _unrecorded(scenario: Scenario) -> Scenario:
    """The scenario without what a comparison has no use for."""
    # Seldom enough to cost nothing: the memory that a discipline's state takes is looked at then.
    interval = f"{max(1, round(scenario.duration_s / 64 * 1e12))} ps"
    return scenario.override({"probes": {"interval": interval, "series": []}, "traces": []})


def _rows(
    fit: list[tuple[Contender, Scenario]],
    guests: Guests,
    place: Place,
    scenario: Scenario,
    seeds: range,
    workers: Workers,
    folder: Path,
    progress: OnStep,
) -> list[Row]:
    """Every contender under every seed, then the cost of each, one after the other."""
    texts = {contender.label: variant.to_toml() for contender, variant in fit}
    code = digest_of(guests)
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
    finished = execute(todo, lambda _: store, partial(simulate_tables, guests=guests), workers=workers, on_done=step)
    with closing(finished):
        for job, outcome in finished:
            found[job.key][job.seed] = measure(outcome.tables, place.links, measured_s)
    rows = []
    for contender, variant in fit:
        runs = sorted(found[contender.label].items())
        cost = measure_cost(texts[contender.label], place.links[0], runs, guests)
        rows.append(Row(contender.label, contender.discipline, queue_text(variant, place), runs, cost))
        step()
    return rows


def _no_progress(_done: int, _steps: int) -> None:
    """For a caller who does not ask how far it is."""
