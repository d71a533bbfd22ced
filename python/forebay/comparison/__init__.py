"""Comparisons: one scenario under several queue disciplines, or several finished runs."""

from __future__ import annotations

from .finished import compare_runs
from .result import Comparison
from .run import compare

__all__ = ["Comparison", "compare", "compare_runs"]
