"""Which queue of a scenario is replaced, and by which disciplines."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebay import _core
from forebay.display.names import listed, remedy_for
from forebay.errors import InputError, ScenarioError
from forebay.scenario import Scenario, override_texts

from .fit import Fitted, fitted_to

if TYPE_CHECKING:
    from forebay._core import _Plan, _QueuePlace

Settings = Mapping[str, Mapping[str, object]]
"""Parameters by the name of a discipline: `{"red": {"min_threshold": "64 packets"}}`; under "all" for each that has
them."""

ALL = "all"


@dataclass(frozen=True)
class Contender:
    """A discipline with the parameters that were asked for."""

    label: str
    discipline: str
    parameters: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """The queue that is replaced."""

    path: str
    """The path of its key in the scenario: `topology.star.bottleneck.queue`."""
    links: tuple[str, ...]
    """The links that it feeds; queues have the names of their links."""


@cache
def disciplines() -> dict[str, dict[str, bool]]:
    """Return the names of all disciplines with their parameters, and whether each of these is required."""
    return {
        choice["name"]: {it["name"]: it["required"] for it in choice["parameters"] if "." not in it["name"]}
        for choice in _core.choices()
        if choice["kind"] == "discipline"
    }


def contenders_of(queues: str | Iterable[str] | Mapping[str, object]) -> list[Contender]:
    """Take names, lists "a,b,c", `[LABEL=]NAME:KEY=VALUE,…`, "all", or a mapping from labels to queues.

    Raises InputError for what is no discipline, and for a label that is given twice.
    """
    if isinstance(queues, Mapping):
        found = [_from_scenario(str(label), queue) for label, queue in queues.items()]
    else:
        words = [queues] if isinstance(queues, str) else list(queues)
        found = [contender for word in words for contender in _from_word(word)]
    if not found:
        message = "there is nothing to compare\nhint: name disciplines, such as red,dbl, or all"
        raise InputError(message)
    seen: dict[str, Contender] = {}
    for contender in found:
        if seen.setdefault(contender.label, contender) != contender:
            message = f"two queues are called {contender.label}\nhint: give one a label: label={contender.discipline}"
            raise InputError(message)
    return list(seen.values())


def word_of(label: str, discipline: str, parameters: Mapping[str, str]) -> str:
    """Return a queue as `contenders_of` and `--queue` take it. Parameters are texts as on the command line."""
    values = ",".join(f"{key}={text}" for key, text in parameters.items())
    word = f"{discipline}:{values}" if values else discipline
    if set(label) & set("=,:") or label in {"", word} or label != label.strip():
        # A label that such words cannot have is made from the parameters.
        return word
    return f"{label}={word}"


def _from_word(word: str) -> list[Contender]:
    if word.strip() == ALL:
        return [Contender(name, name) for name, keys in disciplines().items() if not any(keys.values())]
    if "," in word and ":" not in word:
        return [contender for part in word.split(",") for contender in _from_word(part)]
    head, colon, rest = word.partition(":")
    if "," in head:
        message = f"{word}: a queue with parameters needs an option of its own\nhint: repeat --queue for each of them"
        raise InputError(message)
    label, equals, name = head.rpartition("=")
    discipline = known(name.strip(), word)
    parameters: dict[str, object] = {}
    for part in _split(rest) if colon else []:
        key, given, value = part.partition("=")
        if not given or not key.strip():
            message = f"{word}: `{part.strip()}` is not a parameter\nhint: write {discipline}:key=value,key=value"
            raise InputError(message)
        parameters[key.strip()] = value.strip()
    plain = discipline if not colon else f"{discipline}:{rest.strip()}"
    return [Contender(label.strip() if equals and label.strip() else plain, discipline, parameters)]


def _from_scenario(label: str, queue: object) -> Contender:
    if isinstance(queue, str):
        return Contender(label, known(queue, label))
    match queue:
        case Mapping() if len(queue) == 1:
            ((name, parameters),) = queue.items()
            if name == "python" and isinstance(parameters, str | type):
                parameters = {"class": parameters}
            if isinstance(parameters, Mapping):
                return Contender(label, known(str(name), label), dict(parameters))
    message = f'{label}: expected a queue as in a scenario: "red", or {{"red": {{"min_threshold": "64 packets"}}}}'
    raise InputError(message)


def known(name: str, where: str) -> str:
    """Return the discipline of that name. Raises InputError with the nearest names for any other."""
    names = list(disciplines())
    wanted = name.lower().replace("-", "_")
    if wanted in names:
        return wanted
    place = "" if where == name else f" in `{where}`"
    message = f"there is no discipline named {name or '(nothing)'}{place}\nhint: {remedy_for(wanted, names)}"
    raise InputError(message)


def _split(text: str) -> list[str]:
    """Split at commas outside brackets and quotes."""
    parts, depth, quoted = [""], 0, False
    for letter in text:
        quoted ^= letter == '"'
        if not quoted:
            depth += (letter in "[{") - (letter in "]}")
        if letter == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def read_settings(path: Path) -> dict[str, dict[str, object]]:
    """Read a TOML file with a table of parameters for each discipline. Raises InputError."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}\nhint: --settings wants a TOML file"
        raise InputError(message) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        message = f"{path}: {error}\nhint: write a table for each discipline: [red]"
        raise InputError(message) from None
    for name, table in tables.items():
        if name != ALL:
            known(name, f"{path}: {name}")
        if not isinstance(table, dict):
            message = f"{path}: {name}: expected a table\nhint: write [{name}], and its parameters below"
            raise InputError(message)
    return tables


def find_place(scenario: Scenario, at: str | None) -> Place:
    """Return the place of the compared queue: the bottleneck unless `at` is given. Raises InputError."""
    queues = [it for it in _plan(scenario)["queues"] if it["path"] is not None]
    path = at or _default_path(queues)
    if path.split(".")[-1] != "queue":
        message = f"--at {path}: this is not a queue\nhint: name its key, such as {_default_path(queues)}"
        raise InputError(message)
    for queue in queues:
        if path in (queue["path"], queue["named_path"]):
            return Place(path, tuple(queue["links"]))
    bottlenecks = [it for it in queues if it["role"] == "bottleneck"]
    paths = [_named(it) for it in bottlenecks] if len(bottlenecks) == 1 else _described(queues)
    message = f"--at {path}: the scenario has no such queue\nhint: {_choices(queues, paths, path)}"
    raise InputError(message)


def _plan(scenario: Scenario) -> _Plan:
    return _core.plan(scenario.text, scenario.file_name, scenario.overrides)


def _named(queue: _QueuePlace) -> str:
    return str(queue["named_path"])


def _default_path(queues: list[_QueuePlace]) -> str:
    bottlenecks = [it for it in queues if it["role"] == "bottleneck"]
    described = _described(queues)
    if len(bottlenecks) == 1:
        return _named(bottlenecks[0])
    if len(described) == 1:
        return described[0]
    message = f"a graph has no single bottleneck: {len(described)} of its links have a queue"
    raise InputError(f"{message}\nhint: {_choices(queues, described, '')}")


def _choices(queues: list[_QueuePlace], paths: list[str], wanted: str) -> str:
    """Return a hint with the paths, those like the wanted one first. A shell needs quotes around `>`."""
    if not paths:
        return f"--at {queues[0]['path']} is the queue of the first link"
    quoted = [f"'{path}'" if ">" in path else path for path in paths]
    return f"try --at {quoted[0]}" if len(quoted) == 1 else f"--at takes one of {listed(quoted, wanted)}"


def _described(queues: list[_QueuePlace]) -> list[str]:
    """Return the paths of the queues that a graph describes, each in the direction of its link."""
    return [_named(it) for it in queues if it["discipline"] and it["role"] == "bottleneck" and not it["is_back"]]


def with_queue(scenario: Scenario, place: Place, contender: Contender, settings: Settings) -> Scenario:
    """Return the scenario with that queue.

    Where the scenario has the same discipline there already, its parameters are kept. `settings`, then the contender's
    own parameters, come on top. Values that are not given are fitted to the link. Raises ScenarioError.
    """
    name = contender.discipline
    own = _present(scenario, place.path).get(name, {})
    kept = {**fitted_queue(scenario, place, contender, settings), **own}
    overrides: list[tuple[str, object]] = [(place.path, {name: kept})]
    overrides += [(f"{place.path}.{name}.{key}", value) for key, value in _given(contender, settings).items()]
    return scenario.override(dict(overrides))


def fitted_queue(scenario: Scenario, place: Place, contender: Contender, settings: Settings) -> Fitted:
    """Return the parameters that the link and the limit of the replaced queue decide: those that nothing gives."""
    rate_bps = _core.slowest_rate(scenario.to_toml(), scenario.file_name, (), place.links)
    if rate_bps is None:
        return {}
    present = _present(scenario, place.path)
    given = {**present.get(contender.discipline, {}), **_given(contender, settings)}
    limits = [str(table["limit"]) for table in present.values() if "limit" in table]
    return fitted_to(contender.discipline, f"{rate_bps} bps", limits[0] if limits else None, given)


def _given(contender: Contender, settings: Settings) -> dict[str, object]:
    """Return the parameters that `settings` and the contender give."""
    keys = disciplines()[contender.discipline]
    shared = {key: value for key, value in settings.get(ALL, {}).items() if key in keys}
    return {**shared, **settings.get(contender.discipline, {}), **contender.parameters}


def _present(scenario: Scenario, path: str) -> dict[str, dict[str, Any]]:
    """Return the queue at this place: its discipline with its parameters; nothing if there is none."""
    place: Any = tomllib.loads(scenario.to_toml())
    for key in path.split("."):
        if isinstance(place, list):
            named = {f"{it.get('from')}->{it.get('to')}": it for it in place} | {
                str(i): it for i, it in enumerate(place)
            }
            place = named.get(key)
        else:
            place = place.get(key) if isinstance(place, dict) else None
    if isinstance(place, str):
        return {place: {}}
    return place if isinstance(place, dict) else {}


@dataclass(frozen=True)
class Fit:
    """A contender that fits the scenario."""

    contender: Contender
    scenario: Scenario
    fitted: Fitted
    """Parameters that were not given."""


def fitting(
    scenario: Scenario, place: Place, contenders: Sequence[Contender], settings: Settings, *, lenient: bool
) -> tuple[list[Fit], list[str]]:
    """Each contender with its scenario, and why others were left out.

    With `lenient`, for all disciplines at once, one that does not fit the scenario is left out; else it is an error.
    """
    fit, left_out = [], []
    for contender in contenders:
        try:
            variant = with_queue(scenario, place, contender, settings)
        except ScenarioError as error:
            if not lenient:
                raise
            reason = str(error).splitlines()[0].strip(" \u00d7")
            left_out.append(f"{contender.label} is left out: {reason}")
            continue
        fit.append(Fit(contender, variant, fitted_queue(scenario, place, contender, settings)))
    return fit, left_out


def queue_text(scenario: Scenario, place: Place) -> str:
    """Return the queue as TOML on one line."""
    return override_texts({"queue": _present(scenario, place.path)})[0][1]


def queue_before(scenario: Scenario, link: str) -> str:
    """Return the queue in front of that link as TOML on one line; empty where the scenario describes none."""
    plan = _plan(scenario)
    places = dict(zip(plan["links"]["name"], plan["links"]["queue"], strict=True))
    number = places.get(link)
    path = None if number is None else plan["queues"][number]["path"]
    return queue_text(scenario, Place(path, (link,))) if path and _present(scenario, path) else ""
