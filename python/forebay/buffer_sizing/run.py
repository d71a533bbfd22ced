"""Search for the buffer of a scenario that reaches its targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from statistics import fmean

from forebay.errors import InputError
from forebay.folder import kept_in
from forebay.runs.seeds import MOST_SEEDS, seeds_from
from forebay.runs.store import Store
from forebay.runs.workers import Where
from forebay.scenario import Scenario, scenario_of

from .answer import Evidence, answer_of
from .measure import RUNS, Effort, Measurements, OnStep, Point
from .place import Place, find_place
from .result import BufferSize
from .rules import Rules, packet_bytes, rules_of
from .search import Sizes, find_boundary
from .targets import Target, targets_of

# The largest size that is looked at, unless told: this many times RTT C, and at least this many packets.
_MOST_RTT_C = 4
_MOST_PACKETS = 1024


def size_buffer(  # noqa: PLR0913 - each is an option of the command line
    scenario: Scenario | str | PathLike[str],
    target_utilization: float | None = None,
    *,
    target_drop_rate: float | None = None,
    target_delay_p50: str | float | None = None,
    target_delay_p95: str | float | None = None,
    target_delay_p99: str | float | None = None,
    queue: str | None = None,
    key: str | None = None,
    overrides: Mapping[str, object] | None = None,
    seeds: int = 4,
    max_seeds: int | None = None,
    least: int | None = None,
    most: int | None = None,
    precision: float = 0.02,
    jobs: int | None = None,
    out: str | PathLike[str] | None = None,
    progress: OnStep | None = None,
    allow_python: bool = False,
) -> BufferSize:
    """Search for the smallest buffer that reaches a target, by running the scenario with buffers of many sizes.

    The buffer is the limit of a queue, in packets or in bytes as the scenario has it. Each size runs under several
    seeds. It reaches a target if the whole 95 % confidence interval does, and fails if the whole interval fails; an
    undecided size runs under twice as many seeds, up to `max_seeds`. With targets of utilisation or drop rate, the
    answer is the smallest size that reaches all of them. With targets of delay alone, it is the largest size that keeps
    them. With both kinds, it is the smallest size that reaches the former, provided that it keeps the latter.

    Args:
        scenario: A scenario, or the path of a scenario file.
        target_utilization: The least share of its time that the link behind the queue sends: 0.8.
        target_drop_rate: The largest share of arriving packets that the queue drops: 0.001.
        target_delay_p50: The largest median of one-way delay: `"5 ms"`, or a number of seconds.
        target_delay_p95: The largest 95th percentile of one-way delay.
        target_delay_p99: The largest 99th percentile of one-way delay.
        queue: The queue to size, by the name of its link. Default: the bottleneck's.
        key: The queue to size, by the path of its limit in the scenario.
        overrides: Values of the scenario to replace, by the path of their key.
        seeds: The number of runs of each size to begin with. They take the seeds from the scenario's own on.
        max_seeds: The most runs of an undecided size. Default: four times `seeds`.
        least: The smallest size to try, in the unit of the limit. Default: one packet.
        most: The largest size to try. Default: four times the bandwidth-delay product, but at least 1024 packets.
        precision: The relative difference below which two sizes count as equal.
        jobs: Runs at a time. Default: one per core.
        out: A folder for table and figure. It also keeps finished runs: the same call continues a stopped one.
        progress: Called with the number of runs done (a fraction counts runs under way), the number of runs expected,
            and the size that is measured.
        allow_python: Import and run the Python classes that a scenario file names. Such runs take turns.

    Returns:
        The size, every size measured, and the rules of thumb.

    Raises:
        InputError: If there is no target, no such queue, or an argument is out of range, or the folder cannot be
            written.
        ScenarioError: If a scenario is not valid.
        DisciplineError: If a discipline written in Python fails.
        ControllerError: If a congestion controller written in Python fails.

    Example:
        >>> slow = {
        ...     "duration": "2 s",
        ...     "warmup": "1 s",
        ...     "topology.star.bottleneck.rate": "10 Mbps",
        ...     "flows.flood.transport.udp.constant.rate": "1 Mbps",
        ... }
        >>> size = fb.size_buffer(
        ...     "examples/first.toml", 0.8, overrides=slow, seeds=2, precision=0.5
        ... )
        >>> size.buffer, size.unit, size.range
        (2, 'packets', (2, 2))

    """
    scenario = scenario_of(scenario, overrides, allow_python=allow_python)
    delays = {"delay_p50_s": target_delay_p50, "delay_p95_s": target_delay_p95, "delay_p99_s": target_delay_p99}
    result = find_size(
        scenario,
        targets_of(target_utilization, target_drop_rate, delays),
        out,
        queue=queue,
        key=key,
        seeds=seeds,
        max_seeds=max_seeds,
        least=least,
        most=most,
        precision=precision,
        jobs=jobs,
        progress=progress,
    )
    if out is not None:
        result.save(out)
    return result


def find_size(  # noqa: PLR0913 - each is an option of the command line
    scenario: Scenario,
    targets: tuple[Target, ...],
    out: str | PathLike[str] | None,
    *,
    queue: str | None,
    key: str | None,
    seeds: int,
    max_seeds: int | None,
    least: int | None,
    most: int | None,
    precision: float,
    jobs: int | None,
    progress: OnStep | None,
) -> BufferSize:
    """Size a buffer as `size_buffer` does, keep finished runs in `out`, and write nothing else there."""
    effort = _effort(scenario.seed, seeds, max_seeds, jobs)
    place = find_place(scenario, queue, key)
    sizes = _sizes(scenario, place, least, most, precision)
    measurements = Measurements(scenario, place, targets, effort, progress or _no_progress)
    measurements.text(sizes.least)
    search = _Search(scenario, place, targets, measurements, sizes)
    with kept_in(out) as folder:
        measurements.store = Store(folder / RUNS)
        search.run()
    return search.result()


@dataclass
class _Search:
    """Measures the sizes, one after the other, without an interpretation."""

    scenario: Scenario
    place: Place
    targets: tuple[Target, ...]
    measurements: Measurements
    sizes: Sizes
    """A most of 0 is not known yet: it follows from the rules of thumb."""
    rules: Rules | None = None
    enough: int | None = None
    """The smallest size found that surely reaches the targets that a larger buffer helps."""
    short: int | None = None
    """The largest size found that surely keeps the others."""

    @property
    def points(self) -> list[Point]:
        """The measured sizes, the smallest first."""
        return [self.measurements.points[size] for size in sorted(self.measurements.points)]

    def run(self) -> None:
        self.measurements.expect(1)
        self.rules = self._rules(self.measurements.at(self.sizes.least))
        if not self.sizes.most:
            self.sizes = replace(self.sizes, most=self._most())
        kinds = {target.metric.more_buffer_helps for target in self.targets}
        if True in kinds:
            self._find_enough()
        if False in kinds:
            self.short = self._boundary(self.sizes, more_buffer_helps=False)

    def result(self) -> BufferSize:
        """Return what the measured sizes show."""
        points = tuple(self.points)
        evidence = Evidence(points, self.targets, self.sizes, self.place, self.rules, self.enough, self.short)
        found = answer_of(evidence)
        if self.scenario.warmup_s == 0.0:
            found.notes.append("The scenario has no warm-up: every number includes the start of the flows.")
        return BufferSize(
            scenario=self.scenario.name,
            description=self.scenario.description,
            warmup_s=self.scenario.warmup_s,
            duration_s=self.scenario.duration_s,
            key=self.place.key,
            queue=self.place.name,
            unit=self.place.unit,
            targets=self.targets,
            smallest=found.smallest,
            largest=found.largest,
            buffer=found.buffer,
            range=found.range,
            confident=found.confident,
            monotone=found.monotone,
            points=points,
            rules=self.rules,
            notes=tuple(found.notes),
            toml=self.scenario.to_toml(),
        )

    def _find_enough(self) -> None:
        """Measure what it takes to know the smallest size that does, and that twice and four times as much does too.

        Where one of these fails, the curve turns back, and the search starts again from there.
        """
        sizes = self.sizes
        while True:
            self.enough = self._boundary(sizes, more_buffer_helps=True)
            failed = self._look_beyond(self.enough)
            if failed is None:
                return
            sizes = replace(sizes, least=failed)

    def _boundary(self, sizes: Sizes, *, more_buffer_helps: bool) -> int | None:
        """Measure what it takes to know the boundary; return the size there that surely reaches its targets, if any.

        That size must hold with the number of seeds that any other needed. A few seeds that agree by chance decide too
        easily, and repeated looks make such a chance likelier.
        """
        reaches = 1 if more_buffer_helps else -1
        needed = 0

        def side(size: int) -> int:
            point = self.measurements.at(size)
            if point.side(more_buffer_helps=more_buffer_helps) == reaches and len(point.runs) < needed:
                point = self.measurements.extend(size, needed)
            return point.side(more_buffer_helps=more_buffer_helps)

        while True:
            expect = self.measurements.expect
            boundary = find_boundary(side, sizes, exhausted=self._exhausted, expect=expect)
            found = boundary.above if more_buffer_helps else boundary.below
            needed = max(len(point.runs) for point in self.points)
            if found is None or len(self.measurements.points[found].runs) >= needed:
                return found

    def _exhausted(self, size: int) -> bool:
        """Return whether neither this size nor half of it made a run drop a packet: a larger one holds no more."""
        points = self.measurements.points
        halves = [it for it in points if it <= size // 2]
        return bool(halves) and not points[max(halves)].drops and not points[size].drops

    def _look_beyond(self, found: int | None) -> int | None:
        """Twice and four times the size found should do no worse: a test of what the search took for granted.

        Returns the larger of them that surely fails, if one does.
        """
        if found is None:
            return None
        failed = None
        beyond = [it for it in (2 * found, 4 * found) if it <= self.sizes.most]
        for index, size in enumerate(beyond):
            self.measurements.expect(len(beyond) - index)
            if self.measurements.at(size).side(more_buffer_helps=True) < 0:
                failed = size
        return failed

    def _rules(self, point: Point) -> Rules | None:
        groups = {group for run in point.runs for group in run.flows_by_group}
        flows = {group: fmean(run.flows_by_group.get(group, 0) for run in point.runs) for group in groups}
        return rules_of(self.scenario, self.place, flows, point.runs[0].rate_bps)

    def _most(self) -> int:
        bound = max(self.sizes.least, _MOST_PACKETS * self.sizes.step)
        return bound if self.rules is None else max(bound, int(_MOST_RTT_C * self.rules.bandwidth_delay))


def _effort(first: int, seeds: int, max_seeds: int | None, jobs: int | None) -> Effort:
    if seeds < 2:
        message = f"seeds: must be at least 2, and is {seeds}\nhint: a single run has no confidence interval"
        raise InputError(message)
    if max_seeds is not None and max_seeds < seeds:
        message = f"max seeds: must be at least the {seeds} seeds of each size, and is {max_seeds}"
        message += "\nhint: leave it out for four times as many"
        raise InputError(message)
    most = max_seeds or min(4 * seeds, MOST_SEEDS)
    # The last of them must be a seed too, and `seeds` itself is the one that was asked for.
    seeds_from(first, seeds)
    seeds_from(first, most)
    return Effort(seeds, most, Where(jobs))


def _sizes(scenario: Scenario, place: Place, least: int | None, most: int | None, precision: float) -> Sizes:
    """Return the sizes that may be measured; a most of 0 is found out later."""
    for name, value in (("min", least), ("max", most)):
        if value is not None and value < 1:
            message = f"--{name}: must be at least 1, and is {value}\nhint: a buffer holds at least one packet"
            raise InputError(message)
    if not 0.0 <= precision < 1.0:
        message = f"precision: must be at least 0 and below 1, and is {precision:g}\nhint: 0.02 is 2 %"
        raise InputError(message)
    # In a buffer in bytes, differences of less than a packet mean little.
    step = 1 if place.unit == "packets" else max(1, round(packet_bytes(scenario)))
    first = least or step
    if most is not None and most < first:
        message = f"--max {most} is below {first}, the smallest buffer\nhint: give a larger --max, or a smaller --min"
        raise InputError(message)
    return Sizes(first, most or 0, precision, step)


def _no_progress(_done: float, _expected: int, _size: str) -> None:
    """Ignore the progress."""
