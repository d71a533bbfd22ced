"""The result of a search: the buffer, every size measured, and the rules of thumb beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import polars as pl

from forebay.document import Document, json_text
from forebay.folder import staged_beside_runs
from forebay.frames import write_csv

from .targets import METRICS, Target

if TYPE_CHECKING:
    from forebay.figure import Figure

    from .measure import Point
    from .rules import Rules

STEM = "size-buffer"
"""The files of a search are called so."""

CI = "_ci95"
"""A column of this name behind a metric's holds half the width of its 95 % confidence interval over seeds."""

MEASURED = (*METRICS, "length_mean_packets")
"""What is known of each size."""


@dataclass(frozen=True, eq=False)
class BufferSize:
    """The buffer that reaches the targets. Sizes are in `unit`; numbers are means over seeds."""

    scenario: str
    """The scenario's name."""
    description: str | None
    warmup_s: float
    duration_s: float
    key: str
    """The path of the limit that was varied."""
    queue: str
    """The queue that it belongs to."""
    unit: str
    """"packets" or "bytes"."""
    targets: tuple[Target, ...]
    smallest: int | None
    """The smallest size found to reach the targets of utilisation and drop rate; None without such a target, and if no
    size was found."""
    largest: int | None
    """The largest size found to keep the targets of delay; None without such a target, if no size was found, and if
    every size up to the most keeps them."""
    buffer: int | None
    """The answer: `smallest`; where only delay has a target, `largest`. None if no size reaches every target."""
    range: tuple[int, int] | None
    """Between which sizes the exact answer lies: those inside were undecided, or not told apart from `buffer`."""
    confident: bool
    """Whether the answer is as exact as was asked for; else `range` is what can be said."""
    monotone: bool
    """Whether what was measured moves one way with the size of the buffer, as the search takes for granted."""
    points: tuple[Point, ...] = field(repr=False)
    """Every size measured, the smallest first."""
    rules: Rules | None
    """The rules of thumb; None where no TCP flow goes through the queue."""
    notes: tuple[str, ...]
    """What one should know of the answer, in words."""
    toml: str = field(repr=False)
    """The scenario, for the record."""

    @property
    def table(self) -> pl.DataFrame:
        """One row a size: `buffer`, `seeds`, `verdict`, and every metric with its `…_ci95`."""
        rows = [_row(point) for point in self.points]
        whole = dict.fromkeys(("buffer", "seeds"), pl.Int64)
        kinds: dict[str, Any] = {**whole, "verdict": pl.String}
        return pl.DataFrame(rows, schema={name: kinds.get(name, pl.Float64) for name in rows[0]}, orient="row")

    def plot(self) -> Figure:
        """What was measured against the size of the buffer, with the target, the answer and the rules of thumb."""
        # Imported here: matplotlib takes longer to load than many a run.
        from .figure import draw

        return draw(self)

    def _repr_html_(self) -> str:
        from forebay.notebook import html

        from .table import terminal_tables

        return html(lambda _width: terminal_tables(self))

    def to_dict(self) -> Document:
        """All of it as plain values; what has no value is None."""
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
        """The whole result as one JSON document: what `forebay size-buffer --json` prints."""
        return json_text(self.to_dict())

    def save(self, folder: str | PathLike[str]) -> None:
        """Writes `size-buffer.csv`, `.json`, `.png` and `.svg`. Raises InputError if it cannot."""
        from forebay.figure import save_figure

        with staged_beside_runs(folder) as staging:
            write_csv(self.table, staging / f"{STEM}.csv")
            (staging / f"{STEM}.json").write_text(self.to_json() + "\n", encoding="utf-8")
            save_figure(self.plot(), staging, STEM)


def _row(point: Point) -> dict[str, Any]:
    row: dict[str, Any] = {"buffer": point.buffer, "seeds": len(point.runs), "verdict": str(point.verdict)}
    for metric in MEASURED:
        interval = point.intervals[metric]
        row[metric] = interval.mean if math.isfinite(interval.mean) else None
        row[metric + CI] = interval.ci95
    return row
