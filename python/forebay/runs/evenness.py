"""How evenly the links of each set of equal next hops are used."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

Row = Mapping[str, Any]


def rows_of_sets(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return a row for each set: the number of its links, their bytes, and its largest share over the mean.

    `rows` are those of the table of equal paths. Those with `_ci95` keep the intervals of the shares.
    """
    sets = []
    for name, group in groupby(rows, key=lambda row: row["set"]):
        links = list(group)
        shares = {key: value for key, value in links[0].items() if "_over_mean" in key}
        sets.append(
            {"name": name, "paths": len(links), "total_bytes": math.fsum(row["bytes"] for row in links), **shares}
        )
    return sets


def over_all(sets: Sequence[Row]) -> float | None:
    """Return the mean of the largest shares, weighted by bytes: the fullest links have so many times an even share."""
    total = math.fsum(row["total_bytes"] for row in sets)
    return math.fsum(row["total_bytes"] * row["largest_over_mean"] for row in sets) / total if total else None
