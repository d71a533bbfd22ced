"""Flows by host: sums over the flows that a host sends or receives, and how fairly hosts share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from .statistics import jain

if TYPE_CHECKING:
    from numpy.typing import NDArray

End = Literal["source", "destination"]
"""The end of a flow whose host counts."""
ENDS: tuple[End, ...] = ("source", "destination")
_LINE = {"source": "up", "destination": "down"}


@dataclass(frozen=True)
class Hosts:
    """The hosts at one end of the flows.

    In a home only flows count whose data cross its line: up for `source`, down for `destination`. So the hosts are
    those behind the gateway, not the servers.
    """

    names: list[str]
    """In the order of their first flows."""
    of_flow: NDArray[np.intp]
    """The place of each flow's host in `names`; -1 for a flow that does not count."""

    @classmethod
    def of(cls, flows: Mapping[str, Any], by: End) -> Self:
        """Return the hosts of a table of flows. Raises KeyError where a version without hosts wrote the table."""
        places: dict[str, int] = {}
        lines = flows["line"] if "line" in flows else repeat(_LINE[by])
        ends = zip(flows[by], lines, strict=False)
        of_flow = [places.setdefault(str(host), len(places)) if line == _LINE[by] else -1 for host, line in ends]
        return cls(list(places), np.array(of_flow, dtype=np.intp))

    @classmethod
    def sharing(cls, flows: Mapping[str, Any], by: End) -> Self | None:
        """Return the hosts if they share otherwise than flows: there are several, and one of them has several flows."""
        hosts = cls.of(flows, by) if by in flows else None
        return hosts if hosts is not None and len(hosts.names) > 1 and hosts.flows().max() > 1 else None

    def flows(self) -> NDArray[np.intp]:
        """Return how many flows each host has."""
        return np.bincount(self.of_flow[self.of_flow >= 0], minlength=len(self.names))

    def sums(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the sum of a column over the flows of each host, NaN where none of them has a value."""
        known = (self.of_flow >= 0) & ~np.isnan(values)
        places, count = self.of_flow[known], len(self.names)
        sums = np.bincount(places, weights=values[known], minlength=count)
        return np.where(np.bincount(places, minlength=count) > 0, sums, np.nan)


def jain_of_hosts(flows: Mapping[str, Any]) -> dict[str, float]:
    """Return Jain's index of the goodputs of hosts at each end, as `jain_source` and `jain_destination`.

    An end is left out where hosts share as flows do.
    """
    found = {}
    for by in ENDS:
        if (hosts := Hosts.sharing(flows, by)) is not None:
            found[f"jain_{by}"] = jain(hosts.sums(np.asarray(flows["goodput_bps"], dtype=np.float64)))
    return found
