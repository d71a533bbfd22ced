"""The fluid model of ECM: whether its loop is stable, with which margins, and what packets do instead."""

from __future__ import annotations

from .laws import EcmParameters
from .linear import Loop, Margins, OperatingPoint, margins_of, operating_points
from .model import FluidModel, Source, State, Step, Trajectory
from .result import Course, Packets, Stability
from .run import judge_stability

__all__ = [
    "Course",
    "EcmParameters",
    "FluidModel",
    "Loop",
    "Margins",
    "OperatingPoint",
    "Packets",
    "Source",
    "Stability",
    "State",
    "Step",
    "Trajectory",
    "judge_stability",
    "margins_of",
    "operating_points",
]
