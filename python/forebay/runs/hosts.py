"""Flows by host: sums over the flows that a host sends or receives, and how fairly hosts share.

Imports no library, so that a run on the command line starts at once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Literal, Self

from .fairness import jain

End = Literal["source", "destination"]
"""The end of a flow whose host counts."""
ENDS: tuple[End, ...] = ("source", "destination")
LINES: dict[End, str] = {"source": "up", "destination": "down"}
"""In a home: the direction in which the data of hosts at this end cross its line."""
_OTHER: dict[End, End] = {"source": "destination", "destination": "source"}
_REQUEST = "/request"
"""The end of the names of the rows of requests."""


@dataclass(frozen=True)
class Hosts:
    """The hosts at one end of the flows.

    In a home only flows count whose data cross its line: up for `source`, down for `destination`. So the hosts are
    those behind the gateway, not the servers. Requests do not count: they are a few packets that ask for the data of
    another flow.
    """

    names: list[str]
    """In the order of their first flows."""
    of_flow: list[int]
    """The place of each flow's host in `names`; -1 for a flow that does not count."""

    @classmethod
    def of(cls, flows: Mapping[str, Any], by: End) -> Self:
        """Return the hosts of a table of flows. Raises KeyError where a version without hosts wrote the table."""
        places: dict[str, int] = {}
        lines = flows["line"] if "line" in flows else repeat(LINES[by])
        of_flow = [
            places.setdefault(str(host), len(places)) if line == LINES[by] and not name.endswith(_REQUEST) else -1
            for host, line, name in zip(flows[by], lines, flows["name"], strict=False)
        ]
        return cls(list(places), of_flow)

    @classmethod
    def sharing(cls, flows: Mapping[str, Any], queue_flows: Mapping[str, Any], by: End) -> Self | None:
        """Return the hosts if they share otherwise than flows: there are several, and one of them has several flows.

        Outside of a home, they are only known to share if all have flows to or from the same hosts, or if all their
        flows pass one queue.
        """
        hosts = cls.of(flows, by) if by in flows else None
        if hosts is None or len(hosts.names) < 2 or max(hosts.flows()) < 2:
            return None
        shared = "line" in flows or hosts._have_peers_in_common(flows[_OTHER[by]])
        return hosts if shared or hosts._pass_one_queue(flows, queue_flows) else None

    def _have_peers_in_common(self, others: Any) -> bool:
        peers: list[set[str]] = [set() for _ in self.names]
        for place, other in zip(self.of_flow, others, strict=True):
            if place >= 0:
                peers[place].add(other)
        return all(of_host == peers[0] for of_host in peers)

    def _pass_one_queue(self, flows: Mapping[str, Any], queue_flows: Mapping[str, Any]) -> bool:
        if "queue" not in queue_flows:
            return False
        # A flow that was idle in the measured interval has no row of a queue.
        of_flows = zip(flows["name"], flows["goodput_bps"], self.of_flow, strict=True)
        counted = {name for name, goodput, place in of_flows if place >= 0 and goodput}
        # A version without rows for ACKs wrote no directions.
        directions = queue_flows["direction"] if "direction" in queue_flows else repeat("data")
        rows = zip(queue_flows["queue"], queue_flows["flow"], directions, strict=False)
        passing = Counter(queue for queue, flow, direction in rows if direction == "data" and flow in counted)
        return len(counted) in passing.values()

    def flows(self) -> list[int]:
        """Return how many flows each host has."""
        counts = Counter(self.of_flow)
        return [counts[place] for place in range(len(self.names))]

    def sums(self, values: Iterable[float | None]) -> list[float]:
        """Return the sum of a column over the flows of each host, NaN where none of them has a value."""
        parts: list[list[float]] = [[] for _ in self.names]
        for place, value in zip(self.of_flow, values, strict=True):
            if place >= 0 and value is not None and not math.isnan(value):
                parts[place].append(float(value))
        return [math.fsum(part) if part else math.nan for part in parts]


@dataclass(frozen=True)
class Shares:
    """The goodput that each host at one end of the flows has."""

    hosts: Hosts
    goodput_bps: list[float]

    @property
    def jain(self) -> float | None:
        """Jain's index; None where nothing got through."""
        index = jain(self.goodput_bps)
        return None if math.isnan(index) else index


def shares_of_hosts(flows: Mapping[str, Any], queue_flows: Mapping[str, Any]) -> dict[End, Shares]:
    """Return the shares of hosts at each end, from two tables of a run. An end is left out where none are known."""
    found: dict[End, Shares] = {}
    for by in ENDS:
        if (hosts := Hosts.sharing(flows, queue_flows, by)) is not None:
            found[by] = Shares(hosts, hosts.sums(flows["goodput_bps"]))
    return found
