"""Run every point of a sweep under its seeds, and add seeds where the interval is too wide."""

from __future__ import annotations

import tomllib
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import closing
from functools import partial
from os import PathLike
from pathlib import Path

from forebay.errors import InputError
from forebay.folder import named
from forebay.runs.execute import execute_all
from forebay.runs.job import Job
from forebay.runs.measures import COMPLETION_METRICS, GROUP_METRICS, HOST_METRICS, QUEUE_METRICS, measure
from forebay.runs.outcome import Failure, Outcome
from forebay.runs.seeds import seeds_from
from forebay.runs.simulate import simulate
from forebay.runs.store import Store, version_key
from forebay.runs.workers import Where
from forebay.scenario import Scenario, scenario_of

from .axes import Vary
from .manifest import RUNS, sweep_folder
from .plan import Plan, Point, Request, make_plan
from .points import Way
from .result import Run, Sweep, estimate_of, sweep_of
from .until import Until

OnStep = Callable[[int, int], object]
"""Called with the number of runs done and the number of all runs known to be needed."""
OnOutcome = Callable[[int, int, Outcome], object]
"""Called with the point, the seed and the outcome of each run that has one."""


def sweep(  # noqa: PLR0913 - all but two are optional
    scenario: Scenario | str | PathLike[str],
    vary: Vary,
    *,
    in_step: bool = False,
    samples: int | None = None,
    sampling: str = "latin",
    queues: str | Iterable[str] | Mapping[str, object] | None = None,
    at: str | None = None,
    settings: Mapping[str, Mapping[str, object]] | None = None,
    overrides: Mapping[str, object] | None = None,
    seeds: int = 3,
    until: str | None = None,
    max_seeds: int = 100,
    jobs: int | None = None,
    executor: Executor | None = None,
    dask: str | None = None,
    out: str | PathLike[str] | None = None,
    retry_failed: bool = False,
    progress: OnStep | None = None,
    allow_python: bool = False,
) -> Sweep:
    """Run a scenario at many points, each under several seeds.

    Args:
        scenario: A scenario, or the path of a scenario file.
        vary: Values by the path of a key: `{"flows.tcp.count": [1, 10, 100]}`. A text is a range as on the command
            line, such as `"log:1:1000:7"`. Several paths together take tuples: `{("a", "b"): [(1, 10), (2, 20)]}`.
        in_step: Whether all keys change together, in place of a grid.
        samples: The number of points to draw, in place of a grid. The scenario's seed decides them.
        sampling: How to draw them: `"latin"` (a Latin hypercube) or `"random"`.
        queues: Disciplines in place of the bottleneck's, as `compare` takes them: one more axis.
        at: The path of the queue to replace. Default: the bottleneck's.
        settings: Parameters by the name of a discipline.
        overrides: Values that hold at every point, by the path of their key.
        seeds: Runs of each point, from the scenario's seed on; with `until`, the number to begin with.
        until: A rule such as `"goodput < 2 %"`: add seeds to each point until half the 95 % interval is narrower.
        max_seeds: The most runs of a point, whether or not the rule is met.
        jobs: Runs at a time. Default: one per core, or one per thread of a cluster.
        executor: Where to run, in place of threads: any executor, which stays open.
        dask: The address of a Dask scheduler, in place of threads: `"tcp://host:8786"`.
        out: A folder for tables and finished runs. The same call continues a stopped sweep and repeats no finished run.
        retry_failed: Run again what failed in an earlier call, in place of keeping its error.
        progress: Called with the number of runs done and the number of all runs known to be needed.
        allow_python: Import and run the Python classes that a scenario file names. Such runs take turns.

    Returns:
        Means, single runs and failures. A run that fails is kept with its error and stops no other run.

    Raises:
        InputError: If a path or a metric does not exist, a range is empty, the folder holds another sweep or cannot be
            written, or the scheduler does not answer.
        ScenarioError: If a scenario is not valid.

    Example:
        >>> scenario = fb.Scenario.load("examples/first.toml", {"duration": "3 s"})
        >>> sweep = fb.sweep(scenario, {"flows.tcp.count": [1, 5]}, seeds=2)
        >>> sweep.points.select("flows.tcp.count", "seeds").rows()
        [(1, 2), (5, 2)]

    """
    scenario = scenario_of(scenario, overrides, allow_python=allow_python)
    way = way_of(in_step=in_step, samples=samples, sampling=sampling)
    rule = None if until is None else Until.parse(until)
    request = Request(vary, way, samples, queues, at, settings, seeds, rule, max_seeds)
    folder = None if out is None else named(out)
    plan, where = make_plan(scenario, request), Where(jobs, executor, dask)
    result = run_plan(plan, folder, where=where, retry_failed=retry_failed, progress=progress)
    if folder is not None:
        result.save(folder)
    return result


def way_of(*, in_step: bool, samples: int | None, sampling: str) -> Way:
    """Return how the axes are combined. Raises InputError for arguments that exclude each other."""
    if samples is None:
        return "step" if in_step else "grid"
    if in_step:
        message = "--samples and --in-step cannot be combined\nhint: name keys together in Python, or leave one out"
        raise InputError(message)
    if sampling not in ("latin", "random"):
        message = f"sampling: must be latin or random, and is {sampling}"
        raise InputError(message)
    return "latin" if sampling == "latin" else "random"


def run_plan(
    plan: Plan,
    out: Path | None,
    *,
    where: Where,
    command: str = "",
    retry_failed: bool = False,
    progress: OnStep | None = None,
    on_outcome: OnOutcome | None = None,
) -> Sweep:
    """Run a plan and keep finished runs in `out`. Its tables are not written there yet."""
    if plan.request.until is not None:
        plan.request.until.column(_possible_metrics(plan))
    runs = len(plan.points) * plan.request.seeds
    # Nothing is written before there is something to run on.
    with where.hire(runs, plan.custom) as workers, sweep_folder(out, plan, command) as folder:
        session = _Session(plan, progress, on_outcome)
        store = Store(folder / RUNS)
        run_one = partial(simulate, custom=plan.custom)
        finished = execute_all(
            session.waiting,
            lambda _: store,
            run_one,
            workers=workers,
            on_done=session.count,
            failures="retry" if retry_failed else "keep",
        )
        with closing(finished):
            for job, outcome in finished:
                session.take(job, outcome)
    return sweep_of(plan, (run for runs in session.runs.values() for run in runs), command)


def _possible_metrics(plan: Plan) -> list[str]:
    """Return the metrics that runs may have, before there is one."""
    groups = [flow["name"] for flow in tomllib.loads(plan.scenario.to_toml(expanded=True))["flows"]]
    of_groups = [f"{group}.{metric}" for group in groups for metric in (*GROUP_METRICS, *COMPLETION_METRICS)]
    return [*QUEUE_METRICS, *HOST_METRICS, *COMPLETION_METRICS, *(of_groups if len(groups) > 1 else [])]


class _Session:
    """One call: the runs that wait, and the outcomes of the others."""

    def __init__(self, plan: Plan, progress: OnStep | None, on_outcome: OnOutcome | None) -> None:
        self._plan = plan
        self._progress = progress
        self._on_outcome = on_outcome
        self.waiting = deque(job for point in plan.points for job in plan.jobs(point, plan.seeds))
        self.runs: dict[int, list[Run]] = {point.index: [] for point in plan.points}
        self._goals = dict.fromkeys(self.runs, plan.request.seeds)
        self._total = len(self.waiting)
        self._done = 0
        self._tell()

    def count(self, _job: Job[int], _kept: bool) -> None:
        """Count a run that has ended."""
        self._done += 1
        self._tell()

    def take(self, job: Job[int], outcome: Outcome | Failure) -> None:
        """Take the outcome of a run, and add seeds to its point where it needs more."""
        point, file = self._plan.points[job.key], job.digest(version_key())
        if isinstance(outcome, Outcome):
            self.runs[job.key].append(Run(job.key, job.seed, values_of(point, outcome), outcome.digest, file))
            if self._on_outcome is not None:
                self._on_outcome(job.key, job.seed, outcome)
        else:
            self.runs[job.key].append(Run(job.key, job.seed, {}, "", file, outcome))
        if self._plan.request.until is not None and len(self.runs[job.key]) == self._goals[job.key]:
            self._extend(point, self._plan.request.until)

    def _extend(self, point: Point, until: Until) -> None:
        runs = self.runs[point.index]
        most = self._plan.request.max_seeds
        known = list(dict.fromkeys(name for run in runs for name in run.values))
        # With every run of the point failed there is nothing that more seeds would make narrower.
        estimate = estimate_of(runs, until.column(known)) if known else None
        if estimate is None or until.met(estimate.mean, estimate.ci95) or len(runs) >= most:
            return
        goal = max(until.seeds(estimate, most), len(runs) + 1)
        self._goals[point.index] = goal
        more = seeds_from(self._plan.scenario.seed, goal)[len(runs) :]
        self.waiting.extend(self._plan.jobs(point, more))
        self._total += len(more)
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self._done, self._total)


def values_of(point: Point, outcome: Outcome) -> dict[str, float]:
    """Return the metrics of one run: of all flows and the queue, and of each group where there are several."""
    links = point.links
    if links is None:
        links = tuple(str(name) for name in outcome.tables["queues"].get("name", ()))
    found = measure(outcome.tables, links, point.measured_s)
    values = dict(found.queue)
    if len(found.groups) > 1:
        values |= {f"{group}.{name}": value for group, of in found.groups.items() for name, value in of.items()}
    return values
