"""Decisions per CPU second of disciplines written in Python. Prints a JSON document, which `benches/run.py` reads.

Each law is offered 1.2 times what a port of 100 Mb/s sends, from 16 flows, in the loop that measures the built-in
disciplines (crates/scenario/src/cost.rs). The figure includes the decision, the call, and the queue behind it.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass

import forebay as fb
from forebay import _core


@dataclass
class Threshold(fb.AdmissionLaw):
    """A small law."""

    limit: int = 30_000

    def admit(self, now: int, length: int, queue_bytes: int) -> bool:  # noqa: ARG002 - what a law mostly asks for
        """Lets in what fits."""
        return queue_bytes + length <= self.limit


@dataclass
class CompiledThreshold(fb.CompiledLaw):
    """The same, compiled."""

    limit: int = 30_000

    def admit(self, now: int, length: int, queue_bytes: int) -> bool:  # noqa: ARG002
        """Lets in what fits."""
        return queue_bytes + length <= self.limit


class Fifo(fb.QueueDiscipline):
    """A small discipline: two calls for a packet."""

    def __init__(self) -> None:
        self.waiting: deque[int] = deque()

    def enqueue(self, packet: int, queue_packets: int) -> None:
        """Lets in what fits."""
        if queue_packets < 30:
            self.waiting.append(packet)
        else:
            self.drop(packet)

    def dequeue(self) -> int:
        """The oldest."""
        return self.waiting.popleft()


def ns_per_decision(guest: type[fb.AdmissionLaw | fb.QueueDiscipline]) -> float:
    """CPU time of a class for each packet offered, in nanoseconds."""
    link = {"rate": "100 Mbps", "delay": "1 ms"}
    scenario = fb.Scenario(
        duration="1 s",
        topology={"star": {"access": link, "bottleneck": {**link, "queue": {"python": guest}}}},
        flows=[{"name": "tcp", "transport": "tcp"}],
    )
    text, guests = scenario.to_toml(), scenario.custom()
    return _core.queue_cost(text, "guests.toml", (), "bottleneck", [1.0] * 16, 1000, 1.2, guests)["ns_per_packet"]


def main() -> None:
    """Measures all of them."""
    guests: list[type[fb.AdmissionLaw | fb.QueueDiscipline]] = [Threshold, CompiledThreshold, Fifo]
    measured = [{"name": it.__name__, "ns_per_packet": ns_per_decision(it)} for it in guests]
    print(json.dumps({"guests": measured}))


if __name__ == "__main__":
    main()
