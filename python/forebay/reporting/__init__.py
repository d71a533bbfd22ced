"""Reports: one HTML page about finished runs, replays, sweeps, comparisons and claims."""

from __future__ import annotations

from .write import report

__all__ = ["report"]
