"""The judgement of a control loop: its margins, the model's course, and the packet simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from forebay import display, fluid_model
from forebay.storage.document import Document, json_text

from .intervals import means
from .linear import OperatingPoint
from .model import FluidModel, Trajectory

if TYPE_CHECKING:
    from forebay.display.figure import Figure

STEM = "stability"
"""The files of a judgement begin with this name."""

# The part of a run, at its end, that counts as settled: as the E2CM proposal's measure of convergence takes it.
_SETTLED = 0.25
# A queue shorter than this wastes the port: the lower end of the proposal's absolute accuracy, a frame.
_FRAME_BYTES = 1500.0
# A queue within this part of its set-point has arrived there.
_NEAR = 0.2


@dataclass(frozen=True)
class Packets:
    """The packet simulation of the same scenario, in means over equal intervals."""

    seed: int
    """The seed of the simulation."""
    time_s: NDArray[np.float64] = field(repr=False)
    """End of each interval in seconds."""
    queue_bytes: NDArray[np.float64] = field(repr=False)
    """Mean length of the queue in each interval, in bytes."""
    rates_bps: NDArray[np.float64] = field(repr=False)
    """Rates in bit/s, one row per source of the model: the mean over its flows in each interval."""
    slowest_bps: NDArray[np.float64] = field(repr=False)
    """The same for the slowest of these flows in each interval."""
    fastest_bps: NDArray[np.float64] = field(repr=False)
    """The same for the fastest of these flows in each interval."""


@dataclass(frozen=True)
class Course:
    """Summary of how a queue moved over time."""

    peak_bytes: float
    """The greatest length in bytes."""
    mean_bytes: float
    """The mean length in the last quarter of the run."""
    deviation_bytes: float
    """The standard deviation in the last quarter of the run."""
    settled_s: float | None
    """The time from which on the queue stayed within 20 % of the set-point, in seconds; None if it was not there at the
    end."""
    empty_s: float
    """For how many seconds the queue was shorter than a frame, after it had first reached the set-point."""


@dataclass(frozen=True, eq=False)
class Stability:
    """Whether ECM holds a queue at its set-point, and how far the loop is from the limit of stability.

    Example:
        >>> ecm = {"topology.ethernet.congestion_management": "ecm"}
        >>> short = {"duration": "5 ms", "warmup": "0 s", **ecm}
        >>> judged = fb.judge_stability(
        ...     "examples/ethernet.toml", overrides=short, packets=False
        ... )
        >>> (point,) = judged.points
        >>> point.limited_count, round(point.increase.margins.phase_margin_deg, 1)
        (4, 3.5)

    """

    scenario: str
    """Name of the scenario."""
    description: str | None
    """Description of the scenario, or None."""
    duration_s: float
    """Simulated time in seconds."""
    queue: str
    """The queue, by the name of its link."""
    model: FluidModel = field(repr=False)
    """The fluid model."""
    points: tuple[OperatingPoint, ...] = field(repr=False)
    """One operating point for each state of demands and service in which the queue is congested."""
    trajectory: Trajectory = field(repr=False)
    """The model's solution from the start of the run."""
    packets: Packets | None = field(repr=False)
    """The packet simulation, or None if it was not asked for."""
    notes: tuple[str, ...]
    """Aspects of the scenario that the model leaves out, in words."""
    toml: str = field(repr=False)
    """The scenario as TOML."""

    @property
    def stable(self) -> bool:
        """Whether small deviations die out at every operating point."""
        return all(point.stable for point in self.points)

    @property
    def fluid_course(self) -> Course:
        """How the queue of the model moved."""
        return self._course(self.trajectory.time_s, self.trajectory.queue_bytes)

    @property
    def packet_course(self) -> Course | None:
        """How the queue of the packet simulation moved, in means over intervals; None without a simulation."""
        return None if self.packets is None else self._course(self.packets.time_s, self.packets.queue_bytes)

    def _course(self, time_s: NDArray[np.float64], queue_bytes: NDArray[np.float64]) -> Course:
        set_point = self.model.ecm.set_point_bytes
        last = queue_bytes[time_s >= (1.0 - _SETTLED) * time_s[-1]]
        far = np.flatnonzero(np.abs(queue_bytes - set_point) > _NEAR * set_point)
        settled = (
            None if far.size and far[-1] == len(queue_bytes) - 1 else float(time_s[far[-1] + 1]) if far.size else 0.0
        )
        reached = np.flatnonzero(queue_bytes >= set_point)
        after = queue_bytes[reached[0] :] if reached.size else queue_bytes[:0]
        return Course(
            peak_bytes=float(queue_bytes.max()),
            mean_bytes=float(last.mean()),
            deviation_bytes=float(last.std()),
            settled_s=settled,
            empty_s=float(np.count_nonzero(after < _FRAME_BYTES) * (time_s[1] - time_s[0])),
        )

    def plot(self) -> Figure:
        """Draw queue and rates over time, of the model and of the packet simulation."""
        return fluid_model.figure.draw(self)

    @property
    def table(self) -> pl.DataFrame:
        """Queue and rates at the intervals of the packet simulation, or at a thousand instants without one.

        Columns: `time_s`, `fluid_queue_bytes`, and `fluid_rate_bps_<source>` for each source; with a packet simulation
        also `packet_queue_bytes` and `packet_rate_bps_<source>`.
        """
        fluid = self.trajectory
        time_s = np.linspace(0.0, self.duration_s, 1001)[1:] if self.packets is None else self.packets.time_s
        names = [source.name for source in self.model.sources]
        columns = {"time_s": time_s, "fluid_queue_bytes": means(fluid.time_s, fluid.queue_bytes, time_s)}
        for name, rates in zip(names, fluid.rates_bps, strict=True):
            columns[f"fluid_rate_bps_{name}"] = means(fluid.time_s, rates, time_s)
        if self.packets is not None:
            columns["packet_queue_bytes"] = self.packets.queue_bytes
            for name, rates in zip(names, self.packets.rates_bps, strict=True):
                columns[f"packet_rate_bps_{name}"] = rates
        return pl.DataFrame(columns)

    def _repr_html_(self) -> str:
        return display.notebook.html(lambda _width: fluid_model.table.terminal_tables(self))

    def to_dict(self) -> Document:
        """Return all but the courses, which `table` has, as plain values, with None for a value that does not exist."""
        ecm = self.model.ecm
        courses = {"fluid": self.fluid_course, "packets": self.packet_course}
        limit = self.model.limit_bytes
        return {
            **{name: getattr(self, name) for name in ("scenario", "description", "duration_s", "queue", "stable")},
            "ecm": vars(ecm),
            "limit_bytes": limit if math.isfinite(limit) else None,
            "sources": [
                {"name": source.name, "count": source.count, "delay_s": source.delay_s} for source in self.model.sources
            ],
            "points": [point.to_dict() for point in self.points],
            **{name: None if course is None else vars(course) for name, course in courses.items()},
            "seed": None if self.packets is None else self.packets.seed,
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return `to_dict` as one JSON document, as `forebay stability --json` prints it."""
        return json_text(self.to_dict())

    def save(self, folder: str | PathLike[str]) -> None:
        """Write `stability.csv`, `.json`, `.png` and `.svg`.

        Args:
            folder: Where to write. It is made if it does not exist.

        Raises:
            InputError: If the folder cannot be written, or holds the result of a run.

        """
        display.figure.save_study(folder, STEM, self.table, self.to_json(), self.plot())
