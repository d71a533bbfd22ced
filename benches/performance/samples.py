"""The measurements of one simulator on one scenario: every repeat, and the medians of all."""

from __future__ import annotations

import dataclasses
import statistics
from dataclasses import dataclass, field
from typing import Any, Self

LEAST_S = 1e-3
"""A run phase that the clock cannot tell from none is taken for this long."""


@dataclass(frozen=True)
class Start:
    """A run of no simulated time."""

    cpu_s: float
    wall_s: float
    peak_mb: float


@dataclass(frozen=True)
class Run:
    """A run to the end."""

    packet_hops: int
    run_cpu_s: float | None
    """Of the run phase, where the simulator reports it."""
    cpu_s: float
    """CPU time of the whole process."""
    wall_s: float
    peak_mb: float
    """Peak memory of the whole process, with its results."""
    run_peak_mb: float | None = None
    """Up to the end of the run phase, where the simulator reports it."""


@dataclass
class Samples:
    """All repeats of one simulator on one scenario."""

    scenario: str
    simulator: str
    threads: int
    simulated_s: float
    size: int = 0
    """How many flows, ports or packets, where these vary."""
    starts: list[Start] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """What `to_document` made."""
        starts = [Start(**start) for start in document["starts"]]
        runs = [Run(**run) for run in document["runs"]]
        return cls(**(document | {"starts": starts, "runs": runs}))

    def to_document(self) -> dict[str, Any]:
        """Plain values."""
        return dataclasses.asdict(self)

    @property
    def setup_cpu_s(self) -> float:
        """CPU time before the run phase."""
        return statistics.median(start.cpu_s for start in self.starts)

    @property
    def setup_wall_s(self) -> float:
        """Time before the run phase."""
        return statistics.median(start.wall_s for start in self.starts)

    @property
    def speeds(self) -> list[float]:
        """Packet-hops per second of CPU time in the run phase, in millions, of each run."""
        setup_s = self.setup_cpu_s
        return [
            run.packet_hops / (max(run.cpu_s - setup_s, LEAST_S) if run.run_cpu_s is None else run.run_cpu_s) / 1e6
            for run in self.runs
        ]

    @property
    def mhops_per_cpu_s(self) -> float:
        """The median of these."""
        return statistics.median(self.speeds)

    @property
    def ns_per_hop(self) -> float:
        """CPU time of the run phase for a packet-hop."""
        return 1e3 / self.mhops_per_cpu_s

    @property
    def whole_process_mhops_per_cpu_s(self) -> float:
        """The same over the CPU time of the whole process."""
        return statistics.median(run.packet_hops / run.cpu_s / 1e6 for run in self.runs)

    @property
    def run_wall_s(self) -> float:
        """How long the run phase takes."""
        return max(statistics.median(run.wall_s for run in self.runs) - self.setup_wall_s, LEAST_S)

    @property
    def peak_mb(self) -> float:
        """The peak resident set."""
        return statistics.median(run.peak_mb for run in self.runs)

    @property
    def run_peak_mb(self) -> float:
        """The same up to the end of the run phase."""
        return statistics.median(run.peak_mb if run.run_peak_mb is None else run.run_peak_mb for run in self.runs)
