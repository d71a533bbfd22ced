"""How several values become one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from forebay.runs.fairness import jain

if TYPE_CHECKING:
    from .metric import Samples


def reduced(values: Samples, how: Literal["mean", "median", "min", "max", "sum", "jain", "count"]) -> float:
    """Return the values that are not NaN as one; NaN where there is none. `count` is how many there are."""
    # A flow that delivered nothing has no delay, and no part in the mean one.
    values = values[~np.isnan(values)]
    if how == "count":
        return float(len(values))
    if len(values) == 0:
        return math.nan
    match how:
        case "mean":
            return float(np.mean(values))
        case "median":
            return float(np.median(values))
        case "min":
            return float(np.min(values))
        case "max":
            return float(np.max(values))
        case "sum":
            return float(np.sum(values))
        case "jain":
            return jain(values)


def reduced_if_all(values: Samples, how: Literal["mean", "median", "min", "max"]) -> float:
    """Return the values as one; NaN where one of them is NaN."""
    return math.nan if np.isnan(values).any() else reduced(values, how)


def share_within(values: Samples, at_least: float | None, at_most: float | None) -> float:
    """Return the part of the values (those that are not NaN) within the given bounds; NaN where there is none."""
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return math.nan
    low = -math.inf if at_least is None else at_least
    high = math.inf if at_most is None else at_most
    return float(np.mean((values >= low) & (values <= high)))
