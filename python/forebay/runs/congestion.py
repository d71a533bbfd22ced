"""Which queues are congested: those come first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from .series import Series

if TYPE_CHECKING:
    from forebay.result import Result

OF_PORTS = {"paused_share": "Ports stopped by PAUSE", "memory_bytes": "Memory of ports"}
"""Series that only the ports of an Ethernet have, with their headings."""


def congested(result: Result) -> list[str]:
    """Return the names of all queues, the longest on average first."""
    queues = result.queues
    return by_congestion(queues).get_column("name").to_list() if "length_mean_packets" in queues.columns else []


def by_congestion(queues: pl.DataFrame) -> pl.DataFrame:
    """Return the queues in this order: the longest on average first, of equal ones that with more drops."""
    keys = ["length_mean_packets", "packets_dropped"]
    return queues.sort(keys, descending=True, nulls_last=True, maintain_order=True)


def busiest_first(entries: Sequence[Series]) -> list[Series]:
    """Return the series without those that are zero all the time, that with the greatest mean first."""
    peaks = [np.abs(entry.values[np.isfinite(entry.values)]).max(initial=0.0) for entry in entries]
    alive = [entry for entry, peak in zip(entries, peaks, strict=True) if peak > 0.0]
    return sorted(alive, key=lambda entry: -float(np.nanmean(entry.values)))
