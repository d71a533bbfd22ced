"""Which queue of a scenario is sized: the key of its limit, and the links that it feeds."""

from __future__ import annotations

import shlex
import tomllib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from forebay import _core
from forebay.display.names import nearest_first
from forebay.errors import InputError
from forebay.scenario import Scenario

if TYPE_CHECKING:
    from forebay._core import _QueuePlace

_ROLES = ("bottleneck", "return", "input", "inner", "uplink", "downlink")
"""The roles of queues in the order in which they are offered."""
_PACKETS = ("packet", "pkt")
_MOST_CHOICES = 12


@dataclass(frozen=True)
class Place:
    """A queue, or several alike that one key describes, with a limit that can be set."""

    name: str
    """Its name in `--queue`: a link's name if it belongs to one link."""
    key: str
    """The path of the limit."""
    queues: tuple[str, ...]
    """Names of the queues, as in results: drops are counted there."""
    links: tuple[str, ...]
    """Names of the links behind them: utilisation is measured there."""
    limit: str | None
    """The limit in the scenario, or the discipline's default; None where there is none yet."""
    settable: bool = True
    """Whether there is such a key: a discipline may have no limit of its own."""
    of_link: int = 1
    """How many of the queues together hold what waits for one link: for virtual output queues, one at each input."""

    @property
    def unit(self) -> str:
        """In what the limit counts: "packets" or "bytes"."""
        return "bytes" if self.limit is not None and not any(it in self.limit for it in _PACKETS) else "packets"

    def limit_text(self, size: int) -> str:
        """Return a limit of that size as a scenario has it."""
        return f"{size} packets" if self.unit == "packets" else f"{size} B"


def find_place(scenario: Scenario, queue: str | None, key: str | None) -> Place:
    """Return the queue named `queue` or with its limit at `key`; by default the bottleneck's. Raises InputError."""
    plan = _core.plan(scenario.text, scenario.file_name, scenario.overrides)
    queues = _offered(plan["queues"])
    places = [_place(it) for it in queues]
    settable = [place for place in places if place.settable]
    if plan["memory_paths"] and not settable:
        message = "the queues of an Ethernet have no limit to size: its switches share their memory"
        message += f"\nhint: vary {plan['memory_paths'][0]} with `forebay sweep`"
        raise InputError(message)
    if key is not None:
        if queue is not None:
            message = "--queue and --key both choose the queue to size\nhint: give one of them"
            raise InputError(message)
        return _at_key(places, key, scenario)
    if queue is not None:
        return _named(settable, queue)
    return _default(queues)


def _offered(queues: list[_QueuePlace]) -> list[_QueuePlace]:
    """Return the places whose queue is described, or that is the only bottleneck; bottlenecks come first."""
    alone = len([it for it in queues if it["role"] == "bottleneck"]) == 1
    undescribed = ("bottleneck", "input") if alone else ("input",)
    found = [it for it in queues if it["discipline"] or it["role"] in undescribed]
    return sorted(found, key=lambda it: _ROLES.index(it["role"]))


def _place(queue: _QueuePlace) -> Place:
    return Place(
        queue["name"],
        queue["limit_path"] or f"{queue['path']}.{queue['discipline']}.limit",
        tuple(queue["queues"]),
        tuple(queue["links"]),
        queue["limit"],
        settable=queue["limit_path"] is not None,
        of_link=queue["queues_per_link"],
    )


def _named(places: list[Place], name: str) -> Place:
    for names_of in (lambda it: (it.name,), lambda it: it.queues, lambda it: it.links):
        for place in places:
            if name in names_of(place):
                return place
    message = f"--queue {name}: the scenario has no such queue with a limit that can be set"
    message += f"\nhint: {_choices('--queue', [it.name for it in places], name)}"
    raise InputError(message)


def _at_key(places: list[Place], key: str, scenario: Scenario) -> Place:
    for place in places:
        if place.key == key and place.settable:
            return place
    for place in places:
        # Within the same queue: a discipline of a class, say, which has a limit of its own.
        root = place.key.split(".queue.")[0] + ".queue."
        if key.startswith(root) and key.endswith("limit"):
            limit = _value_at(tomllib.loads(scenario.to_toml()), key)
            return replace(place, name=key, key=key, limit=limit if isinstance(limit, str) else None, settable=True)
    settable = [place for place in places if place.settable]
    choices = _choices("--key", [it.key for it in settable], key)
    message = f"--key {key}: this is not the limit of a queue\nhint: {choices}"
    raise InputError(message)


def _value_at(document: Any, key: str) -> object:
    for part in key.split("."):
        if isinstance(document, list):
            named = {it.get("name", f"{it.get('from')}->{it.get('to')}"): it for it in document if isinstance(it, dict)}
            numbered = {str(index): it for index, it in enumerate(document)}
            document = (named | numbered).get(part)
        else:
            document = document.get(part) if isinstance(document, dict) else None
    return document


def _default(queues: list[_QueuePlace]) -> Place:
    """Return the bottleneck's queue of the topologies that have one; elsewhere the only one with a limit."""
    central = [it for it in queues if it["role"] in ("bottleneck", "input")]
    if len(central) == 1:
        (queue,) = central
        place = _place(queue)
        if place.settable:
            return place
        path = str(queue["path"])
        message = f"{queue['discipline']}, the queue of {path.removesuffix('.queue')}, has no limit of its own"
        message += f"\nhint: name one within it: --key {path}.{queue['discipline']}.….limit"
        raise InputError(message)
    limited = [_place(it) for it in central if it["limit"] is not None]
    if len(limited) == 1:
        return limited[0]
    count = f"{len(limited)} queues have" if limited else "no queue has"
    message = f"{count} a limit: it is not clear which one to size"
    places = [_place(it) for it in queues if it["limit_path"] is not None]
    message += f"\nhint: {_choices('--queue', [it.name for it in limited or places])}"
    raise InputError(message)


def _choices(option: str, names: list[str], wanted: str = "") -> str:
    if not names:
        return "describe its queue in the scenario, with a limit"
    options = [f"{option} {shlex.quote(name)}" for name in nearest_first(names, wanted)]
    shown = options[: _MOST_CHOICES if len(options) > _MOST_CHOICES + 1 else None]
    more = f" or one of {len(options) - len(shown)} more" if len(options) > len(shown) else ""
    return "say which: " + " or ".join(shown) + more
