"""Charts of the distribution of delays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from forebay.display.figure import is_wide
from forebay.display.quantity import scale, with_unit

from .parts import MOST_LINES, Chart, Line, Lines

_HISTOGRAM_NOTE = "Counted in steps of at most 3 % of the delay."
_PERCENTILE_NOTE = (
    "Through the median, the 95th and 99th percentile and the greatest delay, with straight lines between."
)
# A line through percentiles has no more points than this.
_MOST_PERCENTILES = 4


def distribution_lines(distribution: pl.DataFrame, by: str, before: str = "") -> list[Line]:
    """Return, for each value of the column `by`, the share of packets with no more than a delay in seconds."""
    lines = []
    for (name,), part in distribution.group_by(by, maintain_order=True):
        delays_s, shares = (part.get_column(column).to_numpy() for column in ("delay_s", "share"))
        # Two points for each step.
        lines.append(Line(f"{before}{name}", np.repeat(delays_s, 2), np.append(0.0, np.repeat(100.0 * shares, 2)[:-1])))
    return lines


def delay_charts(lines: Sequence[Line], name: str = "One-way delay") -> list[Chart]:
    """Return the chart of these distributions of delays of that name; none without lines."""
    left_out = len(lines) - MOST_LINES
    lines = lines[:MOST_LINES]
    if not lines:
        return []
    steps = any(len(line.x) > _MOST_PERCENTILES for line in lines)
    note = _HISTOGRAM_NOTE if steps else _PERCENTILE_NOTE
    if left_out > 0:
        note += f" {left_out:,} more groups are in the table."
    every = np.concatenate([line.x for line in lines])
    unit = scale("delay_s", float(every.max()))
    scaled = [Line(line.name, line.x / unit.divisor, line.y) for line in lines]
    log = is_wide(every)
    return [
        Lines(
            "Delay: cumulative distribution",
            with_unit(name, unit),
            "Packets with no more (%)",
            scaled,
            "line" if steps else "marked",
            x_log=log,
            note=note,
        )
    ]
