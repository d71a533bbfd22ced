"""Sweeps: one scenario at many points, each under several seeds."""

from __future__ import annotations

from .paired import PairedDifferences, compare_sweeps
from .result import Sweep
from .run import sweep

__all__ = ["PairedDifferences", "Sweep", "compare_sweeps", "sweep"]
