"""Sweeps: one scenario at many points, each under several seeds."""

from __future__ import annotations

from .paired import PairedDifferences, compare_sweeps
from .result import Sweep
from .run import sweep
from .seeds import SeededRuns

__all__ = ["PairedDifferences", "SeededRuns", "Sweep", "compare_sweeps", "sweep"]
