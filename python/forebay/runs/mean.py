"""Means over seeds of what has a value, with half their 95 % confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from forebay.display.quantity import CI

from .statistics import Estimate, estimate_mean

Row = Mapping[str, Any]


def known(value: float | None) -> float | None:
    """Return the value, or None where there is none: for a value that is not finite too."""
    return value if value is not None and math.isfinite(value) else None


def estimate_known(values: Iterable[float | None]) -> Estimate | None:
    """Return the mean of those that have a value, or None if none has."""
    found = [value for value in values if known(value) is not None]
    return estimate_mean(np.array(found, dtype=np.float64)) if found else None


def mean_cells(name: str, values: Iterable[float | None]) -> dict[str, float | None]:
    """Return two cells of a table: the mean, and half its interval in `…_ci95`; None for what has no value."""
    estimate = estimate_known(values)
    return {
        name: None if estimate is None else estimate.mean,
        name + CI: None if estimate is None else estimate.ci95,
    }


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
        mean |= mean_cells(key, [row[key] for row in rows])
    return mean
