"""Sweeps: one scenario at many points, each under several seeds."""

from __future__ import annotations

from .result import Sweep
from .run import sweep

__all__ = ["Sweep", "sweep"]
