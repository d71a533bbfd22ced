"""From what a sweep asks for to the runs that it needs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from forebay.comparison.contenders import (
    Fit,
    Place,
    contenders_of,
    find_place,
    fitted_queue,
    fitting,
    with_queue,
)
from forebay.comparison.fit import Fitted
from forebay.disciplines.custom import CustomClasses, digest_of
from forebay.errors import InputError, ScenarioError
from forebay.runs.job import Job
from forebay.runs.seeds import MOST_SEEDS, seeds_from
from forebay.scenario import Scenario

from .axes import Axis, Range, Value, Vary, parse_axes
from .points import Settings, Way, points_of
from .until import Until

QUEUE = "queue"
"""What the axis of disciplines is called."""


@dataclass(frozen=True)
class Request:
    """The parameters to vary, and the number of runs of each point."""

    vary: Vary
    way: Way = "grid"
    samples: int | None = None
    """How many points to draw; only with the ways `random` and `latin`."""
    queues: str | Iterable[str] | Mapping[str, object] | None = None
    """Disciplines in place of the scenario's own, as `compare` takes them: one more axis, the outermost."""
    at: str | None = None
    """Which queue they replace."""
    settings: Mapping[str, Mapping[str, object]] | None = None
    """Parameters by the name of a discipline."""
    seeds: int = 3
    """Runs of each point; with `until` at first."""
    until: Until | None = None
    max_seeds: int = 100
    """The most runs of a point."""


@dataclass(frozen=True)
class Point:
    """One place of a sweep: a scenario that is run under several seeds."""

    index: int
    settings: Mapping[str, Value]
    """The set values, by the paths of their keys; the discipline under `queue`."""
    text: str
    """The scenario as TOML."""
    measured_s: float
    """Simulated time that the result tables cover."""
    links: tuple[str, ...] | None
    """The links whose queues are looked at; None for all that have one."""
    fitted: Fitted = field(default_factory=dict)
    """Parameters of the discipline that were not given and follow from the link and its buffer."""

    @property
    def label(self) -> str:
        """A name for messages: `flows.tcp.count=10, queue=red`."""
        return ", ".join(f"{key}={value}" for key, value in self.settings.items())


@dataclass(frozen=True)
class Plan:
    """A sweep before it runs."""

    scenario: Scenario
    request: Request
    axes: tuple[Axis | Range, ...]
    points: tuple[Point, ...]
    left_out: tuple[str, ...]
    """Disciplines that were left out of "all", with the reason."""
    custom: CustomClasses
    """The Python classes that the scenarios name."""

    @property
    def seeds(self) -> range:
        """The seeds that every point is run under at first."""
        return seeds_from(self.scenario.seed, self.request.seeds)

    @property
    def fitted(self) -> dict[str, Fitted]:
        """Fitted parameters by the label of the discipline, or of the point where they differ from point to point."""
        by_queue: dict[str, list[Point]] = {}
        for point in self.points:
            by_queue.setdefault(str(point.settings.get(QUEUE, "")), []).append(point)
        found: dict[str, Fitted] = {}
        for label, points in by_queue.items():
            alike = all(point.fitted == points[0].fitted for point in points)
            found |= {label: points[0].fitted} if alike else {point.label: point.fitted for point in points}
        return {label: fitted for label, fitted in found.items() if fitted}

    @property
    def several_queues(self) -> bool:
        """Whether the metrics of the queue describe several queues together."""
        return any(point.links is None or len(point.links) > 1 for point in self.points)

    @property
    def keys(self) -> list[str]:
        """The names of what varies, in order."""
        return list(self.points[0].settings)

    def jobs(self, point: Point, seeds: Iterable[int]) -> list[Job[int]]:
        """Return the runs of a point."""
        name = f"{self.scenario.name} ({point.label})" if point.label else self.scenario.name
        return [Job(point.index, name, seed, point.text, self._code) for seed in seeds]

    @cached_property
    def _code(self) -> str:
        """Names the Python code that the runs execute."""
        return digest_of(self.custom)

    def digest(self) -> str:
        """Identify the scenario that is swept, before anything is varied."""
        return hashlib.sha256(self.scenario.to_toml().encode()).hexdigest()[:24]


def make_plan(scenario: Scenario, request: Request) -> Plan:
    """Every point, each with a valid scenario. Raises InputError and ScenarioError."""
    _check_seeds(request)
    # A sweep has no place for traces, of which each run would write its own.
    base = scenario.override({"traces": []})
    variants, left_out = _variants(base, request)

    def fits(settings: Mapping[str, Value]) -> object:
        return variants[0].scenario.override(settings)

    axes = parse_axes(request.vary, fits)
    if QUEUE in request.vary:
        message = f"--vary {QUEUE}: this is not the path of a key\nhint: --queues red,dbl compares disciplines"
        raise InputError(message)
    found = points_of(axes, way=request.way, samples=request.samples, seed=scenario.seed)
    points: list[Point] = []
    moves = any(key.split(".")[0] == "topology" for settings in found[:1] for key in settings)
    for variant in variants:
        links = _watched(variant.scenario, request.at)
        for settings in found:
            points.append(_point(len(points), variant, settings, request, _Watch(links, moves)))
    custom = CustomClasses.together(variant.scenario.custom() for variant in variants)
    return Plan(scenario, request, tuple(axes), tuple(points), tuple(left_out), custom)


@dataclass(frozen=True)
class _Variant:
    """The scenario under a discipline, or as it is."""

    scenario: Scenario
    base: Scenario
    place: Place | None = None
    fit: Fit | None = None

    @property
    def label(self) -> str:
        return self.fit.contender.label if self.fit else ""

    def at(self, settings: Settings, request: Request, *, moves: bool) -> tuple[Scenario, Fitted]:
        """Return the scenario with these settings, its queue fitted to the link that they make, and what was fitted."""
        if self.fit is None or self.place is None:
            return self.scenario.override(settings) if settings else self.scenario, {}
        path = self.place.path
        own = {key: value for key, value in settings.items() if key.startswith(f"{path}.")}
        given = {key.removeprefix(f"{path}.{self.fit.contender.discipline}.") for key in own}
        fitted, there = self.fit.fitted, self.scenario
        rest = {key: value for key, value in settings.items() if key not in own}
        if rest and moves:
            base, chosen = self.base.override(rest), request.settings or {}
            there = with_queue(base, self.place, self.fit.contender, chosen)
            fitted = fitted_queue(base, self.place, self.fit.contender, chosen)
        elif rest:
            there = there.override(rest)
        fitted = {name: value for name, value in fitted.items() if name not in given}
        return there.override(own) if own else there, fitted


@dataclass(frozen=True)
class _Watch:
    links: tuple[str, ...] | None
    moves: bool
    """Whether what varies may change which links there are."""


def _point(index: int, variant: _Variant, settings: Settings, request: Request, watch: _Watch) -> Point:
    try:
        there, fitted = variant.at(settings, request, moves=watch.moves)
    except ScenarioError as error:
        where = ", ".join(f"{key}={value}" for key, value in settings.items())
        message = f"the point {where} is not a valid scenario:\n{error}"
        raise InputError(message) from None
    links = _watched(there, request.at) if watch.moves else watch.links
    named: dict[str, Value] = {QUEUE: variant.label} if variant.label else {}
    return Point(index, named | settings, there.to_toml(), there.duration_s - there.warmup_s, links, fitted)


def _variants(base: Scenario, request: Request) -> tuple[list[_Variant], Sequence[str]]:
    """Return the scenario under each discipline; without disciplines as it is."""
    if request.queues is None:
        for given, option in ((request.at, "--at"), (request.settings, "--settings")):
            if given:
                message = f"{option} needs --queues\nhint: name disciplines: --queues red,dbl"
                raise InputError(message)
        return [_Variant(base, base)], ()
    contenders = contenders_of(request.queues)
    place = find_place(base, request.at)
    lenient = request.queues in ("all", ["all"])
    fit, left_out = fitting(base, place, contenders, request.settings or {}, lenient=lenient)
    if not fit:
        message = f"no discipline fits this scenario: {left_out[0]}\nhint: look at the limit of its queue"
        raise InputError(message)
    return [_Variant(it.scenario, base, place, it) for it in fit], left_out


def _watched(scenario: Scenario, at: str | None) -> tuple[str, ...] | None:
    try:
        return find_place(scenario, at).links
    except InputError:
        if at is not None:
            raise
        return None


def _check_seeds(request: Request) -> None:
    for option, count in (("seeds", request.seeds), ("max-seeds", request.max_seeds)):
        if not 1 <= count <= MOST_SEEDS:
            message = f"{option}: must be from 1 to {MOST_SEEDS}, and is {count}\nhint: three or more make an interval"
            raise InputError(message)
    if request.until is not None and not 2 <= request.seeds <= request.max_seeds:
        message = (
            f"seeds: --until needs at least 2 and at most --max-seeds, {request.max_seeds}, and it is {request.seeds}"
        )
        raise InputError(message + "\nhint: one run alone has no interval")
