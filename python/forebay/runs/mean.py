"""Tables of several runs as one: means over seeds, with half their 95 % confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from forebay.display.quantity import CI

from .statistics import estimate_mean

Row = Mapping[str, Any]


def mean_rows(tables: Sequence[Sequence[Row]], name: str = "name") -> list[dict[str, Any]]:
    """One row for each name: texts as in the first run that has it, numbers as means with `…_ci95` next to them.

    A missing value counts in no mean; a number that no run has is None.
    """
    by_name: dict[str, list[Row]] = {}
    for table in tables:
        for row in table:
            by_name.setdefault(str(row[name]), []).append(row)
    return [_mean(rows) for rows in by_name.values()]


def _mean(rows: Sequence[Row]) -> dict[str, Any]:
    mean: dict[str, Any] = {}
    for key, first in rows[0].items():
        if isinstance(first, str | bool):
            mean[key] = first
            continue
        known = [value for row in rows if (value := row[key]) is not None and math.isfinite(value)]
        estimate = estimate_mean(np.array(known, dtype=np.float64)) if known else None
        mean[key] = None if estimate is None else estimate.mean
        mean[key + CI] = None if estimate is None else estimate.ci95
    return mean
