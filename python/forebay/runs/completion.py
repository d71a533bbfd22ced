"""Slowdowns of flows of a given size, by their size."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

PARTS = 20
"""How many parts of equally many flows a curve over the size has, as in HPCC's analysis."""
SLOWDOWN_PERCENTILES = (50, 99)


@dataclass(frozen=True)
class SlowdownCurve:
    """Slowdowns of a group of flows, which are sorted by size and cut into parts of equally many flows."""

    group: str
    size_bytes: NDArray[np.float64]
    """The largest size of each part."""
    slowdowns: dict[int, NDArray[np.float64]]
    """By per cent: the slowdown that this share of the flows of each part does not exceed."""


def slowdown_curves(flows: pl.DataFrame, warmup_s: float) -> list[SlowdownCurve]:
    """Return the curve of each group that has flows of a given size which started after the warm-up and finished."""
    if not {"size_bytes", "slowdown"} <= set(flows.columns):
        return []
    finished = flows.filter(pl.col("slowdown").is_not_null() & (pl.col("start_s") >= warmup_s))
    return [_curve(str(group), part) for (group,), part in finished.group_by("group", maintain_order=True)]


def _curve(group: str, flows: pl.DataFrame) -> SlowdownCurve:
    ordered = flows.select("size_bytes", "slowdown").sort("size_bytes", maintain_order=True)
    parts = min(PARTS, len(ordered.get_column("size_bytes").unique()))
    bounds = np.linspace(0, ordered.height, parts + 1).astype(int)
    sizes, slowdowns = ordered.get_column("size_bytes").to_numpy(), ordered.get_column("slowdown").to_numpy()
    ranges = [slice(start, stop) for start, stop in pairwise(bounds) if stop > start]
    return SlowdownCurve(
        group,
        np.array([sizes[part].max() for part in ranges]),
        {
            share: np.array([_percentile(np.sort(slowdowns[part]), share) for part in ranges])
            for share in SLOWDOWN_PERCENTILES
        },
    )


def _percentile(ordered: NDArray[np.float64], share: int) -> float:
    return float(ordered[len(ordered) * share // 100])
