"""The load of a scenario with `topology.ethernet` on its links, without running it."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from forebay import _core
from forebay.display.texts import bits_per_second, mean_seconds
from forebay.errors import InputError

from .rates import RoutedFlow, max_min_rates, proportional_rates

Fairness = Literal["max_min", "proportional"]

_RATES_OF = {"max_min": max_min_rates, "proportional": proportional_rates}


@dataclass(frozen=True)
class Source:
    """A flow: its path, and what it would send at which time."""

    name: str
    group: str
    path: tuple[str, ...]
    rate_bps: float
    """Rate while it sends."""
    start_s: float
    stop_s: float
    period_s: float = math.inf
    on_s: float = math.inf
    """How much of each period, from its start on, it sends."""

    def demand_bps_at(self, at_s: float) -> float:
        """Return what it sends at that time if the network takes it."""
        since_s = at_s - self.start_s
        if since_s < 0.0 or at_s >= self.stop_s:
            return 0.0
        # Half a nanosecond of grace, as start and period are decimal fractions and their sum is none.
        phase_s = (since_s + 0.5e-9) % self.period_s if self.period_s < math.inf else 0.0
        return self.rate_bps if phase_s < self.on_s else 0.0

    def changes_s(self, until_s: float) -> list[float]:
        """Return the times before that one at which it begins or stops sending."""
        found = [self.start_s, self.stop_s]
        if self.period_s < math.inf:
            periods = max(0, math.ceil((min(until_s, self.stop_s) - self.start_s) / self.period_s))
            begins = [self.start_s + k * self.period_s for k in range(periods)]
            found += [*begins, *[begin + self.on_s for begin in begins]]
        return [time for time in found if time < until_s]


@dataclass(frozen=True)
class _Service:
    link: str
    rate_bps: float
    from_s: float
    to_s: float


@dataclass(frozen=True)
class EthernetLoad:
    """The flows of an Ethernet, its links, and the times at which either changes."""

    sources: tuple[Source, ...]
    capacities_bps: Mapping[str, float]
    """Of all links, where nothing reduces the rate of service."""
    duration_s: float
    _services: tuple[_Service, ...] = field(repr=False)

    @classmethod
    def from_toml(cls, text: str) -> EthernetLoad:
        """Take the text of a valid scenario. Raises InputError if its topology is another one."""
        scenario = tomllib.loads(_core.expanded_toml(text, "scenario.toml"))
        ethernet = scenario["topology"].get("ethernet")
        if ethernet is None:
            message = (
                f"fair rates: expected a scenario with topology.ethernet, and found {', '.join(scenario['topology'])}"
            )
            raise InputError(message)
        network = _Network(ethernet)
        sources = [source for group in scenario["flows"] for source in _sources(group, network)]
        services = [
            _Service(
                f"{network.switch_of[service['node']]}->{service['node']}",
                bits_per_second(service["rate"]),
                mean_seconds(service.get("from", "0 s")),
                mean_seconds(service["to"]) if "to" in service else math.inf,
            )
            for service in ethernet.get("service", [])
        ]
        capacities = dict.fromkeys(network.links(), bits_per_second(ethernet["link"]["rate"]))
        return cls(tuple(sources), capacities, mean_seconds(scenario["duration"]), tuple(services))

    def capacities_bps_at(self, at_s: float) -> dict[str, float]:
        """Return the capacities at that time. The rate at which a node takes frames counts as that of its link."""
        capacities = dict(self.capacities_bps)
        for service in self._services:
            if service.from_s <= at_s < service.to_s:
                capacities[service.link] = min(self.capacities_bps[service.link], service.rate_bps)
        return capacities

    def fair_shares_at(self, at_s: float, fairness: Fairness) -> NDArray[np.float64]:
        """Return the fair rate of each source at that time, in bits/s."""
        flows = [RoutedFlow(source.path, source.demand_bps_at(at_s)) for source in self.sources]
        return _RATES_OF[fairness](flows, self.capacities_bps_at(at_s))

    def changes_s(self) -> list[float]:
        """Return 0 and each later time of the run at which a flow or a rate of service changes, ascending."""
        found = {0.0}
        for source in self.sources:
            found.update(source.changes_s(self.duration_s))
        for service in self._services:
            found.update(time for time in (service.from_s, service.to_s) if time < self.duration_s)
        return sorted(found)

    def fair_shares_over_time(self, fairness: Fairness) -> list[tuple[float, float, NDArray[np.float64]]]:
        """Return the fair rates of all sources over the run, as steps: from when, until when, and the rates."""
        times = [*self.changes_s(), self.duration_s]
        return [(begin, end, self.fair_shares_at(begin, fairness)) for begin, end in pairwise(times)]


class _Network:
    """The links between nodes and switches, and the shortest paths."""

    def __init__(self, ethernet: Mapping[str, Any]) -> None:
        self.switch_of = {node: switch["name"] for switch in ethernet["switches"] for node in switch.get("nodes", [])}
        self._neighbours: dict[str, list[str]] = {switch["name"]: [] for switch in ethernet["switches"]}
        for one, other in ethernet.get("trunks", []):
            self._neighbours[one].append(other)
            self._neighbours[other].append(one)

    def links(self) -> list[str]:
        """Return the names of all links."""
        pairs = [(node, switch) for node, switch in self.switch_of.items()]
        pairs += [pair[::-1] for pair in pairs]
        pairs += [(switch, other) for switch, others in self._neighbours.items() for other in others]
        return [f"{one}->{other}" for one, other in pairs]

    def path(self, source: str, destination: str) -> tuple[str, ...]:
        """Return the links of a shortest path from node to node.

        Of several shortest paths it is the simulator's: the tree of the switch that is listed first decides, in both
        directions.
        """
        ends = [self.switch_of[source], self.switch_of[destination]]
        root, other = sorted(ends, key=list(self._neighbours).index)
        came_from = {root: root}
        for switch in (reached := [root]):
            for neighbour in self._neighbours[switch]:
                if neighbour not in came_from:
                    came_from[neighbour] = switch
                    reached.append(neighbour)
        hops = [other]
        while hops[-1] != root:
            hops.append(came_from[hops[-1]])
        if hops[0] != ends[0]:
            hops.reverse()
        return tuple(f"{one}->{other}" for one, other in pairwise([source, *hops, destination]))


def _sources(group: Mapping[str, Any], network: _Network) -> list[Source]:
    """Return the flows of a group, in the order and with the names of the simulator."""
    if "frames" not in (transport := group["transport"]):
        kind = transport if isinstance(transport, str) else next(iter(transport))
        message = f"fair rates: `{group['name']}` is of {kind}, which has no rate of its own to share\n"
        raise InputError(message + "hint: fair rates are those of `frames`")
    frames = transport["frames"]
    froms, tos = _names(group["from"]), _names(group["to"])
    others = tos == ["others"]
    pairs: list[tuple[int, str, str]] = []
    for index in range(max(len(froms), len(tos))):
        sender = froms[index % len(froms)]
        receivers = [node for node in network.switch_of if node != sender] if others else [tos[index % len(tos)]]
        pairs += [(index, sender, receiver) for receiver in receivers]
    share = 1.0 / (len(network.switch_of) - 1) if others else 1.0
    start_s, stagger_s = mean_seconds(group.get("start", "0 s")), mean_seconds(group.get("stagger", "0 s"))
    times: dict[str, float] = {}
    if "on_off" in frames:
        period_s = mean_seconds(frames["on_off"]["period"])
        times = {"period_s": period_s, "on_s": period_s * frames["on_off"]["duty"]}
    return [
        Source(
            name=group["name"] if len(pairs) == 1 else f"{group['name']}-{sender}-{receiver}",
            group=group["name"],
            path=network.path(sender, receiver),
            rate_bps=share * bits_per_second(frames["rate"]),
            start_s=start_s + index * stagger_s,
            stop_s=mean_seconds(group["stop"]) if "stop" in group else math.inf,
            **times,
        )
        for index, sender, receiver in pairs
    ]


def _names(one_or_many: str | Sequence[str]) -> list[str]:
    return [one_or_many] if isinstance(one_or_many, str) else list(one_or_many)
