"""Runs of a scenario at one size of the buffer after another: several seeds each, and more where they do not decide."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.disciplines.custom import digest_of
from forebay.errors import InputError, ScenarioError
from forebay.runs.execute import execute
from forebay.runs.job import Job
from forebay.runs.outcome import Outcome, data_rows
from forebay.runs.simulate import simulate
from forebay.runs.store import Store
from forebay.runs.workers import Where

from .targets import DELAYS, METRICS, Interval, Target, Verdict, interval_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.scenario import Scenario

    from .place import Place

RUNS = "runs"
"""The folder of finished runs within that of a search: a repeated call continues from them."""

OnStep = Callable[[float, int, str], object]
"""Called with the runs done (a fraction counts runs under way), the number of runs expected, and the size measured."""


@dataclass(frozen=True)
class Run:
    """The numbers of one run; NaN where there is none."""

    seed: int
    """The seed of the run."""
    values: Mapping[str, float]
    """Value by the name of the metric, `length_mean_packets` among them."""
    packets_arrived: int
    """Packets that arrived at the queues."""
    flows_by_group: Mapping[str, int]
    """TCP flows of each group that had packets arrive at the queues."""
    rate_bps: float
    """Rate of a link behind the queues in bit/s."""


@dataclass(frozen=True)
class Point:
    """One size of the buffer with its runs."""

    buffer: int
    """The size, in the unit of the limit."""
    runs: tuple[Run, ...]
    """The runs, one per seed."""
    verdicts: Mapping[Target, Verdict]
    """The verdict on each target."""
    intervals: Mapping[str, Interval] = field(repr=False)
    """Mean and interval by the name of the metric."""

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict on all targets together."""
        return _together(self.verdicts.values())

    def side(self, *, more_buffer_helps: bool) -> int:
        """Return the side of the boundary on which the size lies, for those targets: 1 above, -1 below, 0 unknown."""
        found = [
            verdict for target, verdict in self.verdicts.items() if target.metric.more_buffer_helps is more_buffer_helps
        ]
        sides = {Verdict.REACHED: 1, Verdict.FAILED: -1, Verdict.UNDECIDED: 0}
        return sides[_together(found)] * (1 if more_buffer_helps else -1)

    @property
    def drops(self) -> bool:
        """Whether any run dropped a packet at the queues."""
        return any(run.values["drop_rate"] > 0 for run in self.runs)


def _together(verdicts: Any) -> Verdict:
    found = set(verdicts)
    worst = (Verdict.FAILED, Verdict.UNDECIDED)
    return next((verdict for verdict in worst if verdict in found), Verdict.REACHED)


@dataclass(frozen=True)
class Effort:
    """How much is run."""

    seeds: int
    """Runs of each size to begin with."""
    max_seeds: int
    """The most runs of an undecided size."""
    where: Where
    """Threads: how far each run is comes back from it."""


class Measurements:
    """All sizes measured so far. Finished runs are kept in a folder, and not run again."""

    def __init__(
        self,
        scenario: Scenario,
        place: Place,
        targets: Sequence[Target],
        effort: Effort,
        progress: OnStep,
    ) -> None:
        # Parts that a search does not use take time and, under another name each time, would be run again.
        self._scenario = scenario.override({"probes": {"series": []}, "traces": []})
        self._custom = self._scenario.custom()
        self._place = place
        self._targets = tuple(targets)
        self._effort = effort
        self.store = Store(Path(RUNS))
        """Where finished runs are kept."""
        self._meter = _Meter(progress, effort.seeds)
        self.points: dict[int, Point] = {}

    def expect(self, sizes: int) -> None:
        """Say how many sizes may still be measured, for the progress bar."""
        self._meter.expect(sizes)

    def at(self, buffer: int) -> Point:
        """Measure a size, or return what was measured. Raises InputError for one that the scenario cannot have."""
        known = self.points.get(buffer)
        if known is not None:
            return known
        goal = self._effort.seeds
        while True:
            point = self.extend(buffer, goal)
            decided = all(point.side(more_buffer_helps=kind) != 0 for kind in self._kinds())
            if decided or goal >= self._effort.max_seeds:
                return point
            goal = min(2 * goal, self._effort.max_seeds)

    def extend(self, buffer: int, seeds: int) -> Point:
        """See to it that a size has been run under this many seeds. Raises InputError as `at` does."""
        known = self.points.get(buffer)
        runs = [] if known is None else list(known.runs)
        runs += self._run(buffer, self.text(buffer), range(len(runs), seeds))
        self.points[buffer] = self._point(buffer, runs)
        return self.points[buffer]

    def _kinds(self) -> set[bool]:
        return {target.metric.more_buffer_helps for target in self._targets}

    def text(self, buffer: int) -> str:
        """Return the scenario with a buffer of that size. Raises InputError if it cannot have that."""
        try:
            return self._scenario.override({self._place.key: self._place.limit_text(buffer)}).to_toml()
        except ScenarioError as error:
            size = f"a buffer of {self._place.limit_text(buffer)}"
            reason = " ".join(str(error).splitlines()[0].strip(" \u00d7").split())
            message = f"{size} does not fit the scenario: {reason}\nhint: choose --min and --max, or other --set values"
            raise InputError(message) from None

    def _run(self, buffer: int, text: str, numbers: range) -> list[Run]:
        label = self._place.limit_text(buffer)
        first = self._scenario.seed
        name = f"{self._scenario.name} ({label})"
        jobs = [Job(buffer, name, first + number, text, digest_of(self._custom)) for number in numbers]
        self._meter.begin(label, len(jobs))
        with self._effort.where.hire(len(jobs)) as workers:
            found = execute(
                jobs,
                lambda _: self.store,
                self._simulate,
                workers=workers,
                on_done=lambda job, _: self._meter.finish(job.seed),
            )
            with closing(found):
                runs = [_reduce(outcome, job.seed) for job, outcome in found]
        return sorted(runs, key=lambda run: run.seed)

    def _simulate(self, text: str, name: str, seed: int, go_on: Callable[[], bool]) -> Outcome:
        """One run; only the rows that a search looks at are kept, for a switch has many others."""
        outcome = simulate(text, name, seed, go_on, lambda fraction: self._meter.move(seed, fraction), self._custom)
        tables = outcome.tables
        names = {"queues": ("name", self._place.queues), "links": ("name", self._place.links)}
        names["queue_flows"] = ("queue", self._place.queues)
        for table, (column, wanted) in names.items():
            tables[table] = _rows(tables[table], np.isin(tables[table][column].astype(str), list(wanted)))
        return Outcome(tables, digest=outcome.digest)

    def _point(self, buffer: int, runs: Sequence[Run]) -> Point:
        intervals = {metric: interval_of(metric, runs) for metric in (*METRICS, "length_mean_packets")}
        verdicts = {target: target.judge(intervals[target.metric.name]) for target in self._targets}
        return Point(buffer, tuple(runs), verdicts, intervals)


def _rows(columns: Mapping[str, NDArray[Any]], chosen: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    return {column: values[chosen] for column, values in columns.items()}


def _reduce(outcome: Outcome, seed: int) -> Run:
    """Return the numbers of a run, of which `_simulate` kept the queues that are sized and the links behind them."""
    flows, queues, links = (outcome.tables[table] for table in ("flows", "queues", "links"))
    at_queue = outcome.tables["queue_flows"]
    arrived, dropped = int(queues["packets_arrived"].sum()), int(queues["packets_dropped"].sum())
    passing = at_queue["flow"][(at_queue["packets_arrived"] > 0) & data_rows(at_queue)].astype(str)
    members = np.isin(flows["name"].astype(str), passing)
    groups = flows["group"][members & (flows["kind"].astype(str) == "tcp")].astype(str)
    names, counts = np.unique(groups, return_counts=True)
    values = {
        "utilization": float(links["utilization"].mean()) if links["utilization"].size else math.nan,
        "drop_rate": dropped / arrived if arrived else math.nan,
        "length_mean_packets": float(queues["length_mean_packets"].mean()) if queues["name"].size else math.nan,
        **{metric.name: _delay(flows, members, metric.name) for metric in DELAYS},
    }
    rates = links["rate_bps"]
    return Run(
        seed=seed,
        values=values,
        packets_arrived=arrived,
        flows_by_group={str(name): int(count) for name, count in zip(names, counts, strict=True)},
        rate_bps=float(rates.mean()) if rates.size else math.nan,
    )


def _delay(flows: Mapping[str, NDArray[Any]], members: NDArray[np.bool_], column: str) -> float:
    """Return the quantile of the flows' one-way delays, averaged over flows with their delivered packets as weights."""
    weights = flows["packets_delivered"][members].astype(np.float64)
    values = flows[column][members].astype(np.float64)
    known = np.isfinite(values)
    total = float(weights[known].sum())
    return float((values[known] * weights[known]).sum()) / total if total > 0 else math.nan


class _Meter:
    """Adds up how far runs on several threads are."""

    def __init__(self, progress: OnStep, seeds: int) -> None:
        self._progress = progress
        self._seeds = seeds
        self._lock = threading.Lock()
        self._done = 0
        self._total = 0
        self._under_way: dict[int, float] = {}
        self._label = ""

    def expect(self, sizes: int) -> None:
        with self._lock:
            self._total = self._done + sizes * self._seeds

    def begin(self, label: str, runs: int) -> None:
        with self._lock:
            self._label = label
            self._total = max(self._total, self._done + runs)
            self._tell()

    def move(self, seed: int, fraction: float) -> None:
        with self._lock:
            self._under_way[seed] = fraction
            self._tell()

    def finish(self, seed: int) -> None:
        with self._lock:
            self._under_way.pop(seed, None)
            self._done += 1
            self._tell()

    def _tell(self) -> None:
        self._progress(self._done + sum(self._under_way.values()), self._total, self._label)
