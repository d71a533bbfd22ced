"""The access line of a home on which tests by name run: the part of their scenarios that describes the network."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from forebay.display.quantity import text_with_unit
from forebay.display.texts import rate_bps, seconds
from forebay.errors import InputError

CLIENT, SERVER = "client", "server"
"""The host at home, and the one in the Internet."""

_LEAST_RTT_S = 1e-4
_HOST_LINK_S = 1e-5
_QUEUE = re.compile(r"[A-Za-z0-9_]+")


@dataclass(frozen=True)
class AccessLine:
    """An access line with a client and a server. Nothing waits on the links of these two.

    Raises:
        InputError: If a rate or the round-trip time is none, or the queue is no bare name.

    """

    down: str = "50 Mbps"
    """Rate of the line to the home."""
    up: str = "10 Mbps"
    """Rate of the line from the home."""
    rtt: str = "40 ms"
    """Round-trip time without queues and transmissions."""
    queue: str = "drop_tail"
    """Discipline on both lines, by its bare name. `cake` shapes to 95 % of the line's rate."""

    def __post_init__(self) -> None:
        rate_bps(self.down, "down")
        rate_bps(self.up, "up")
        if not _QUEUE.fullmatch(self.queue):
            message = (
                f"{self.queue!r} is not the bare name of a discipline\nhint: change its parameters in the scenario"
            )
            raise InputError(message)
        if seconds(self.rtt, "rtt") < _LEAST_RTT_S:
            message = f"a round-trip time of {self.rtt} is too short\nhint: expected at least 100 us"
            raise InputError(message)

    @property
    def description(self) -> str:
        """The line in a few words."""
        return " ".join(f"{self.down} down, {self.up} up, {self.rtt}, {self.queue}".split())

    def topology(self) -> str:
        """Return the topology, as a table of a scenario. Its values are checked when the scenario is loaded."""
        quarter_s = seconds(self.rtt, "rtt") / 4
        line, internet = time_text(quarter_s), time_text(quarter_s - _HOST_LINK_S)
        return f"""\
[topology.home]
hosts = [{{ name = "{CLIENT}", link = {{ rate = "100 Gbps", delay = "{time_text(_HOST_LINK_S)}" }} }}]
servers = [{{ name = "{SERVER}", link = {{ rate = "100 Gbps", delay = "{internet}" }} }}]
gateway.rate = "100 Gbps"
down = {{ rate = {json.dumps(self.down)}, delay = "{line}", queue = {self._queue(self.down)} }}
up = {{ rate = {json.dumps(self.up)}, delay = "{line}", queue = {self._queue(self.up)} }}
"""

    def _queue(self, rate: str) -> str:
        if self.queue != "cake":
            return f'"{self.queue}"'
        return f'{{ cake = {{ bandwidth = "{round(0.95 * rate_bps(rate, "rate"))} bps" }} }}'


def time_text(value_s: float) -> str:
    """Return a time as a scenario takes it."""
    return text_with_unit("time_s", value_s, digits=12).replace("µ", "u")
