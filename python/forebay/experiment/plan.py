"""From an experiment to the runs that it needs."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import tomli_w

from forebay.runs.job import Job

from .coordinates import BASE, Coordinates
from .errors import ExperimentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .schema import Experiment, Point, Sensitivity, Settings, Variant


class Cell(NamedTuple):
    """The purpose of a run: its experiment, and its place there."""

    experiment: str
    at: Coordinates


@dataclass(frozen=True)
class Plan:
    """An experiment with its runs."""

    experiment: Experiment
    quick: bool
    seeds: int
    jobs: list[Job[Cell]]


def make_plan(experiment: Experiment, *, quick: bool, seeds: int | None) -> Plan:
    """Every run of an experiment: settings x variants x values of the axis x seeds."""
    count = seeds or (experiment.quick.seeds if quick else experiment.seeds)
    jobs: list[Job[Cell]] = []
    if experiment.scenario is None:
        return Plan(experiment, quick, count, jobs)
    settings: list[Sensitivity | None] = [None]
    if not quick:
        settings += experiment.sensitivity
    for setting in settings:
        name = setting.name if setting else BASE
        setting_seeds = min(count, setting.seeds) if setting else count
        for variant, point in _places(experiment, setting, quick=quick):
            text = scenario_text(experiment, variant, point, setting.set if setting else {}, quick=quick)
            at = Coordinates(name, variant.name, point.x if point else None)
            called = f"{experiment.id} ({at.label()})"
            jobs += [Job(Cell(experiment.id, at), called, seed, text) for seed in range(1, setting_seeds + 1)]
    return Plan(experiment, quick, count, jobs)


def _places(
    experiment: Experiment, setting: Sensitivity | None, *, quick: bool
) -> Iterator[tuple[Variant, Point | None]]:
    """Yield the variants and values of the axis that are run at a setting."""
    for variant in experiment.variants_run(quick=quick):
        if setting is not None and setting.variants is not None and variant.name not in setting.variants:
            continue
        for point in experiment.points(quick, variant):
            if setting is None or setting.x is None or point is None or point.x in setting.x:
                yield variant, point


def scenario_text(
    experiment: Experiment, variant: Variant, point: Point | None, changes: Settings, *, quick: bool
) -> str:
    """Return the scenario of one run as TOML. Later settings win: file, quick, variant, axis, sensitivity."""
    scenario = copy.deepcopy(experiment.scenario or {})
    scenario.setdefault("name", experiment.id.replace("/", "-"))
    layers: list[Settings] = [experiment.quick.set] if quick else []
    layers.append(variant.set)
    if point is not None and experiment.vary is not None:
        value = point.by_variant.get(variant.name, point.value)
        keys = experiment.vary.keys if variant.keys is None else variant.keys
        layers.append(dict.fromkeys(keys, _integer_if_whole(point.x) if value is None else value))
        layers.append(point.set)
    layers.append(changes)
    for layer in layers:
        for path, value in layer.items():
            put(scenario, path, value, f"{experiment.id} ({variant.name})")
    return tomli_w.dumps(scenario)


def scenario_at(experiment: Experiment, at: Coordinates, *, quick: bool) -> str:
    """Return the scenario of the runs at `at` as TOML."""
    changes = next((item.set for item in experiment.sensitivity if item.name == at.setting), {})
    point = next((point for point in experiment.points(quick=False) if point is not None and point.x == at.x), None)
    return scenario_text(experiment, experiment.variant(at.variant), point, changes, quick=quick)


def _integer_if_whole(x: float) -> int | float:
    return int(x) if x.is_integer() else x


def put(scenario: dict[str, Any], path: str, value: Any, where: str) -> None:
    """Set the value at a key path such as `flows.bf.count`, where an element of a list goes by its `name` or index."""
    place: Any = scenario
    keys = path.split(".")
    for depth, key in enumerate(keys[:-1]):
        place = _element(place, key, path, where) if isinstance(place, list) else place.setdefault(key, {})
        if not isinstance(place, dict | list):
            message = f"{where}: `{path}`: `{'.'.join(keys[: depth + 1])}` is a value, not a table"
            raise ExperimentError(message)
    if isinstance(place, list):
        message = f"{where}: `{path}` must end in a key, not in an element of a list"
        raise ExperimentError(message)
    place[keys[-1]] = copy.deepcopy(value)


def _element(elements: list[Any], key: str, path: str, where: str) -> Any:
    for element in elements:
        if isinstance(element, dict) and element.get("name") == key:
            return element
    if key.isdecimal() and int(key) < len(elements):
        return elements[int(key)]
    names = ", ".join(str(element.get("name")) for element in elements if isinstance(element, dict))
    message = f"{where}: `{path}`: there is no element `{key}`; there are {names}"
    raise ExperimentError(message)
