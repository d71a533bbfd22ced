"""Names of flows, queues, links and ports with a `*` in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def matching(names: NDArray[Any], pattern: str) -> NDArray[np.bool]:
    """Return the matching names; `*` matches any characters."""
    matcher = re.compile(".*".join(map(re.escape, pattern.split("*"))))
    return np.array([matcher.fullmatch(name) is not None for name in names], dtype=bool)
