"""The rules of thumb for the size of a buffer, and what they need to know of a scenario."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING

from forebay import _core
from forebay.display.texts import mean_bytes

if TYPE_CHECKING:
    from forebay.scenario import Scenario

    from .place import Place


@dataclass(frozen=True)
class Rules:
    """The rules of thumb in the unit of the buffer, with the quantities that they use."""

    flows: float
    """N: the number of TCP flows through one link behind the queue, the mean over these links."""
    rtt_s: float
    """RTT: two-way propagation in seconds without any queueing, the mean over these flows; of a distribution, its
    mean."""
    rate_bps: float
    """C: rate of the link in bit/s."""
    packet_bytes: float
    """Length of a full segment on the wire in bytes, the mean over these flows."""
    window_packets: float
    """W: the largest window that the flows may have, in segments, the mean over these flows."""
    bandwidth_delay: float
    """RTT·C: it keeps a link busy while the window of a single flow is halved (Villamizar and Song, 1994)."""
    bandwidth_delay_over_sqrt_flows: float
    """RTT·C/√N: the same for many flows out of step (Appenzeller, Keslassy and McKeown, 2004)."""
    log_window: float
    """ln W packets: the order O(log W) that suffices for some utilisation below 1 if packets of a flow are spaced out
    (Enachescu, Ganjali, Goel, McKeown and Roughgarden, 2006), with a constant of 1."""

    @property
    def window_load(self) -> float:
        """The largest share of the link's rate that the windows let the flows send without a queue: N·W/(RTT·C)."""
        if self.rtt_s == 0.0:
            return math.inf
        return self.flows * self.window_packets * self.packet_bytes * 8.0 / (self.rtt_s * self.rate_bps)

    def to_dict(self) -> dict[str, float]:
        """Return all of it by name."""
        return asdict(self)


def rules_of(scenario: Scenario, place: Place, flows_by_group: Mapping[str, float], rate_bps: float) -> Rules | None:
    """Return the rules for the buffer at `place`; None if no TCP flow goes through it.

    `flows_by_group` counts the flows of each group at all queues of the place together. Where several queues hold what
    waits for one link, each has its part of what the rules give for the link.
    """
    document = tomllib.loads(scenario.to_toml(expanded=True))
    plan = _core.plan(scenario.text, scenario.file_name, scenario.overrides)
    rtts = {group["name"]: group["rtt_s"] for group in plan["groups"]}
    flows: list[tuple[float, float, float, float]] = []
    for group in document["flows"]:
        count = flows_by_group.get(group["name"], 0.0)
        if count and "tcp" in group["transport"]:
            tcp = {} if isinstance(group["transport"], str) else group["transport"]["tcp"]
            defaults = _tcp_defaults()
            segment = mean_bytes(tcp.get("segment", defaults["segment"]))
            window = float(tcp.get("max_window_segments", defaults["max_window_segments"]))
            flows.append((count, rtts[group["name"]] or 0.0, segment, window))
    total = sum(count for count, *_ in flows)
    if not total:
        return None
    rtt_s, packet_bytes, window = (sum(row[0] * row[column] for row in flows) / total for column in (1, 2, 3))
    of_one_link = total / len(place.links)
    packets = rtt_s * rate_bps / 8.0 / packet_bytes
    in_unit = (packet_bytes if place.unit == "bytes" else 1.0) / place.of_link
    return Rules(
        flows=of_one_link,
        rtt_s=rtt_s,
        rate_bps=rate_bps,
        packet_bytes=packet_bytes,
        window_packets=window,
        bandwidth_delay=packets * in_unit,
        bandwidth_delay_over_sqrt_flows=packets / math.sqrt(max(1.0, of_one_link)) * in_unit,
        log_window=math.log(window) * in_unit,
    )


def packet_bytes(scenario: Scenario) -> float:
    """Return the longest packet of any group of flows, of drawn lengths the mean: a smaller buffer holds none."""
    lengths = [1.0]
    for group in tomllib.loads(scenario.to_toml(expanded=True))["flows"]:
        match group["transport"]:
            case "tcp":
                lengths.append(mean_bytes(_tcp_defaults()["segment"]))
            case {"tcp": tcp}:
                lengths.append(mean_bytes(tcp.get("segment", _tcp_defaults()["segment"])))
            case {"udp": {"packet": length}} | {"cells": {"size": length}}:
                lengths.append(mean_bytes(length))
    return max(lengths)


@cache
def _tcp_defaults() -> dict[str, str]:
    tcp = next(it for it in _core.choices() if (it["kind"], it["name"]) == ("transport", "tcp"))
    return {it["name"]: str(it["default"]).strip('"') for it in tcp["parameters"]}
