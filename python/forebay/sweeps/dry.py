"""The cost of a sweep, estimated by running a few of its points for a moment."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass

from forebay.runs.execute import StoppedError
from forebay.runs.job import Job
from forebay.runs.outcome import Outcome
from forebay.runs.simulate import simulate
from forebay.runs.store import stored_bytes
from forebay.runs.workers import Where
from forebay.storage.document import Document

from .plan import Plan

# The points tried, spread over the plan, and how long each is tried.
_TRIED = 5
_TRY_S = 1.0


@dataclass(frozen=True)
class Effort:
    """How much a sweep is. Times and sizes are estimates from runs that were tried for a moment."""

    points: int
    runs: int
    """With a rule for more seeds: at first."""
    max_runs: int
    """With a rule for more seeds: at most."""
    run_s: float
    """CPU time of a run, the mean of the points tried, in seconds."""
    wall_s: float
    """Until the end, of the runs at first, in seconds."""
    bytes: int | None
    """On disk; None where no run that was tried came to its end."""

    def to_dict(self) -> Document:
        """All of it as plain values."""
        return asdict(self)


def estimate(plan: Plan, where: Where) -> Effort:
    """Try a few points. Nothing is written."""
    step = max(1, -(-len(plan.points) // _TRIED))
    tried = [_try(plan, plan.jobs(point, plan.seeds[:1])[0]) for point in plan.points[::step]]
    run_s = sum(seconds for seconds, _ in tried) / len(tried)
    sizes = [size for _, size in tried if size is not None]
    runs = len(plan.points) * plan.request.seeds
    most = len(plan.points) * plan.request.max_seeds if plan.request.until else runs
    with where.hire(runs) as workers:
        slots = workers.slots
    return Effort(
        points=len(plan.points),
        runs=runs,
        max_runs=most,
        run_s=run_s,
        wall_s=run_s * runs / min(slots, runs),
        bytes=round(sum(sizes) / len(sizes) * runs) if sizes else None,
    )


def _try(plan: Plan, job: Job[int]) -> tuple[float, int | None]:
    """Return the seconds that a run takes, and the size of its file if it ended."""
    begun = time.monotonic()
    share = 0.0

    def progress(fraction: float) -> None:
        nonlocal share
        share = fraction

    def go_on() -> bool:
        return time.monotonic() - begun < _TRY_S or share == 0.0

    try:
        outcome: Outcome = simulate(job.text, job.name, job.seed, go_on, progress, plan.custom)
    except StoppedError:
        return (time.monotonic() - begun) / share, None
    return time.monotonic() - begun, stored_bytes(job, outcome)
