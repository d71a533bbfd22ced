"""Courses over time as means over intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def means(time_s: NDArray[np.float64], values: NDArray[np.float64], ends_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the means of a course over the intervals that end at these times, the first as long as the second."""
    steps = np.diff(time_s)
    integral = np.concatenate(([0.0], np.cumsum(0.5 * (values[1:] + values[:-1]) * steps)))
    first = ends_s[0] - (ends_s[1] - ends_s[0] if len(ends_s) > 1 else ends_s[0])
    edges = np.concatenate(([first], ends_s))
    return np.diff(np.interp(edges, time_s, integral)) / np.diff(edges)
