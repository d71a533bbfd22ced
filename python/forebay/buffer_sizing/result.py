"""The result of a search: the buffer, every size measured, and the rules of thumb."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import polars as pl

from forebay import buffer_sizing, display
from forebay.display.quantity import CI
from forebay.storage.document import Document, json_text

from .targets import METRICS, Target

if TYPE_CHECKING:
    from forebay.display.figure import Figure

    from .measure import Point
    from .rules import Rules

STEM = "size-buffer"
"""The files of a search begin with this name."""

MEASURED = (*METRICS, "length_mean_packets")
"""The metrics of each size."""


@dataclass(frozen=True, eq=False)
class BufferSize:
    """The buffer that reaches the targets.

    Sizes are in `unit`, and metrics are means over seeds.

    Example:
        >>> slow = {
        ...     "duration": "2 s",
        ...     "warmup": "1 s",
        ...     "topology.star.bottleneck.rate": "10 Mbps",
        ...     "flows.flood.transport.udp.constant.rate": "1 Mbps",
        ... }
        >>> size = fb.size_buffer(
        ...     "examples/first.toml", 0.8, overrides=slow, seeds=2, precision=0.5
        ... )
        >>> size.key
        'topology.star.bottleneck.queue.drop_tail.limit'
        >>> size.table.columns[:3]
        ['buffer', 'seeds', 'verdict']

    """

    scenario: str
    """Name of the scenario."""
    description: str | None
    """Description of the scenario, or None."""
    warmup_s: float
    """Seconds at the start that the metrics leave out."""
    duration_s: float
    """Simulated time of each run in seconds."""
    key: str
    """The path of the limit that was varied."""
    queue: str
    """The queue whose limit that is."""
    unit: str
    """`"packets"` or `"bytes"`."""
    targets: tuple[Target, ...]
    """The targets asked for."""
    smallest: int | None
    """The smallest size found to reach the targets of utilisation and drop rate. None without such a target, and if no
    size was found."""
    largest: int | None
    """The largest size found to keep the targets of delay. None without such a target, and if no size was found."""
    buffer: int | None
    """The answer: `smallest`, or `largest` where only delay has a target. None if no size reaches every target."""
    range: tuple[int, int] | None
    """The two sizes between which the exact answer lies, or None. Sizes inside were undecided, or count as equal to
    `buffer`."""
    confident: bool
    """Whether the answer is as exact as was asked for. Otherwise `range` describes the findings."""
    monotone: bool
    """Whether what was measured moves in one direction with the size of the buffer, as the search assumes."""
    points: tuple[Point, ...] = field(repr=False)
    """Every size measured, the smallest first."""
    rules: Rules | None
    """The rules of thumb, or None where no TCP flow passes the queue."""
    notes: tuple[str, ...]
    """Remarks on the answer: why there is none, or how far to trust it."""
    toml: str = field(repr=False)
    """The scenario as TOML."""

    @property
    def table(self) -> pl.DataFrame:
        """One row per size measured.

        Columns: `buffer`, `seeds`, `verdict`; then `utilization`, `drop_rate`, `delay_p50_s`, `delay_p95_s`,
        `delay_p99_s` and `length_mean_packets`, each followed by its `…_ci95`, half the width of its 95 % confidence
        interval.
        """
        rows = [_row(point) for point in self.points]
        whole = dict.fromkeys(("buffer", "seeds"), pl.Int64)
        kinds: dict[str, Any] = {**whole, "verdict": pl.String}
        return pl.DataFrame(rows, schema={name: kinds.get(name, pl.Float64) for name in rows[0]}, orient="row")

    def plot(self) -> Figure:
        """Draw each target's metric against the size of the buffer, with the answer and the rules of thumb."""
        return buffer_sizing.figure.draw(self)

    def _repr_html_(self) -> str:
        return display.notebook.html(lambda _width: buffer_sizing.table.terminal_tables(self))

    def to_dict(self) -> Document:
        """Return all of it as plain values, with None for a value that does not exist."""
        facts = ("scenario", "description", "warmup_s", "duration_s", "key", "queue", "unit")
        answer = ("buffer", "smallest", "largest", "confident", "monotone")
        return {
            **{name: getattr(self, name) for name in facts},
            "target": {target.metric.name: target.value for target in self.targets},
            **{name: getattr(self, name) for name in answer},
            "range": None if self.range is None else list(self.range),
            "points": [_row(point) for point in self.points],
            "rules": None if self.rules is None else self.rules.to_dict(),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return all of it as one JSON document, as `forebay size-buffer --json` prints it."""
        return json_text(self.to_dict())

    def save(self, folder: str | PathLike[str]) -> None:
        """Write `size-buffer.csv`, `.json`, `.png` and `.svg`.

        Args:
            folder: Where to write. It is made if it does not exist.

        Raises:
            InputError: If the folder cannot be written, or holds the result of a run.

        """
        display.figure.save_study(folder, STEM, self.table, self.to_json(), self.plot())


def _row(point: Point) -> dict[str, Any]:
    row: dict[str, Any] = {"buffer": point.buffer, "seeds": len(point.runs), "verdict": str(point.verdict)}
    for metric in MEASURED:
        interval = point.intervals[metric]
        row[metric] = interval.mean if math.isfinite(interval.mean) else None
        row[metric + CI] = interval.ci95
    return row
