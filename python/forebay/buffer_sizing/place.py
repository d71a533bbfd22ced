"""Which queue of a scenario is sized: the key of its limit, and the links that it feeds."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from forebay import _core
from forebay.display.names import nearest_first
from forebay.errors import InputError
from forebay.scenario import Scenario

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
    ((kind, table),) = tomllib.loads(scenario.to_toml())["topology"].items()
    if kind not in _PLACES:
        message = "the queues of an Ethernet have no limit to size: its switches share their memory"
        message += "\nhint: vary topology.ethernet.switch.memory with `forebay sweep`"
        raise InputError(message)
    places = list(_PLACES[kind](table, scenario.links))
    if key is not None:
        if queue is not None:
            message = "--queue and --key both choose the queue to size\nhint: give one of them"
            raise InputError(message)
        return _at_key(places, key, scenario)
    settable = [place for place in places if place.settable]
    if queue is not None:
        return _named(settable, queue)
    return _default(kind, table, settable)


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


def _default(kind: str, table: dict[str, Any], places: list[Place]) -> Place:
    """Return the bottleneck's queue of the topologies that have one; elsewhere the only one with a limit."""
    by_name = {place.name: place for place in places}
    if kind in ("star", "dumbbell", "chain"):
        name = "link" if kind == "chain" else "bottleneck"
        if name in by_name:
            return by_name[name]
        discipline, _ = _tagged(table[name]["queue"])
        message = f"{discipline}, the queue of topology.{kind}.{name}, has no limit of its own"
        message += f"\nhint: name one within it: --key topology.{kind}.{name}.queue.{discipline}.….limit"
        raise InputError(message)
    inner = [place for place in places if place.name not in ("access", "input")]
    limited = [place for place in inner if place.limit is not None]
    if kind == "switch" and not limited and table.get("fabric", "output_queued") == "output_queued":
        limited = inner
    if len(limited) == 1:
        return limited[0]
    count = f"{len(limited)} queues have" if limited else "no queue has"
    message = f"{count} a limit: it is not clear which one to size"
    message += f"\nhint: {_choices('--queue', [it.name for it in limited or places])}"
    raise InputError(message)


def _choices(option: str, names: list[str], wanted: str = "") -> str:
    if not names:
        return "describe its queue in the scenario, with a limit"
    options = [f"{option} {shlex.quote(name)}" for name in nearest_first(names, wanted)]
    shown = options[: _MOST_CHOICES if len(options) > _MOST_CHOICES + 1 else None]
    more = f" or one of {len(options) - len(shown)} more" if len(options) > len(shown) else ""
    return "say which: " + " or ".join(shown) + more


@cache
def _default_limits() -> dict[str, str]:
    """Return the disciplines that have a limit, with its default."""
    return {
        choice["name"]: str(it["default"]).strip('"')
        for choice in _core.choices()
        if choice["kind"] == "discipline"
        for it in choice["parameters"]
        if it["name"] == "limit"
    }


def _of_link(
    spec: dict[str, Any], path: str, name: str, queues: tuple[str, ...], links: tuple[str, ...] | None = None
) -> Iterator[Place]:
    """Yield the queue of a link's description."""
    # A link without a queue has a drop-tail one without limit.
    discipline, parameters = _tagged(spec["queue"]) if "queue" in spec else ("drop_tail", {})
    default = _default_limits().get(discipline)
    limit = None if default is None or "queue" not in spec else str(parameters.get("limit", default))
    key = f"{path}.queue.{discipline}.limit"
    yield Place(name, key, queues, links or queues, limit, settable=default is not None)


def _star(table: dict[str, Any], links: list[str], kind: str = "star") -> Iterator[Place]:
    yield from _of_link(table["bottleneck"], f"topology.{kind}.bottleneck", "bottleneck", ("bottleneck",))
    if "queue" in table.get("reverse", {}):
        yield from _of_link(table["reverse"], f"topology.{kind}.reverse", "reverse", ("reverse",))
    yield from _access(table, links, kind)


def _dumbbell(table: dict[str, Any], links: list[str]) -> Iterator[Place]:
    yield from _star(table, links, "dumbbell")
    if "queue" in table.get("sink_access", {}):
        sinks = _beginning("sink-", links)
        yield from _of_link(table["sink_access"], "topology.dumbbell.sink_access", "sink_access", sinks)


def _chain(table: dict[str, Any], links: list[str]) -> Iterator[Place]:
    yield from _of_link(table["link"], "topology.chain.link", "link", _beginning("hop-", links))
    yield from _access(table, links, "chain")


def _access(table: dict[str, Any], links: list[str], kind: str) -> Iterator[Place]:
    if "queue" in (table.get("access") or {}):
        yield from _of_link(table["access"], f"topology.{kind}.access", "access", _beginning("access-", links))


def _switch(table: dict[str, Any], links: list[str]) -> Iterator[Place]:
    outputs = _beginning("out-", links)
    yield from _of_link(table["output"], "topology.switch.output", "output", outputs)
    yield from _fabric(
        table.get("fabric", "output_queued"), "topology.switch.fabric", "switch", table["ports"], outputs
    )
    if "queue" in table["input"]:
        yield from _of_link(table["input"], "topology.switch.input", "input", _beginning("in-", links))
    yield from _access(table, links, "switch")


def _tagged(spec: str | dict[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Return the name of what was chosen, and its parameters: `"red"`, or `{ red = { … } }`."""
    return (spec, {}) if isinstance(spec, str) else next(iter(spec.items()))


def _fabric(
    spec: str | dict[str, dict[str, Any]], path: str, switch: str, ports: int, outputs: tuple[str, ...]
) -> Iterator[Place]:
    """Yield the queues at the inputs of a switch."""
    inputs = tuple(f"{switch}/input-{number}" for number in range(1, ports + 1))
    kind, parameters = _tagged(spec)
    name = switch if switch != "switch" else ""
    if kind == "cioq":
        limit = parameters.get("voq_limit")
        yield Place(f"{name}/voq".lstrip("/"), f"{path}.cioq.voq_limit", inputs, outputs, limit, of_link=ports)
    elif kind == "input_queued":
        limit = parameters.get("limit")
        yield Place(f"{name}/fifo".lstrip("/"), f"{path}.input_queued.limit", inputs, outputs, limit)


def _graph(table: dict[str, Any], _links: list[str]) -> Iterator[Place]:
    for index, link in enumerate(table["links"]):
        path, ends = f"topology.graph.links.{index}", (link["from"], link["to"])
        if "queue" in link:
            yield from _of_link(link, path, "->".join(ends), ("->".join(ends),))
        if "queue" in link.get("reverse", {}):
            back = "->".join(reversed(ends))
            yield from _of_link(link["reverse"], f"{path}.reverse", back, (back,))
    for node in table["nodes"]:
        name = node["name"]
        ways = [(it["from"], it["to"]) for it in table["links"] if name in (it["from"], it["to"])]
        outputs = tuple(f"{name}->{there if here == name else here}" for here, there in ways)
        path = f"topology.graph.nodes.{name}.kind"
        yield from _fabric(node.get("kind", "host"), path, name, len(ways), outputs)


def _beginning(start: str, links: list[str]) -> tuple[str, ...]:
    return tuple(name for name in links if name.startswith(start) and not name.endswith("/back"))


_PLACES: dict[str, Callable[[dict[str, Any], list[str]], Iterator[Place]]] = {
    "star": _star,
    "dumbbell": _dumbbell,
    "chain": _chain,
    "switch": _switch,
    "graph": _graph,
}
