"""The fluid model of ECM: whether its loop is stable, with which margins, and what packets do instead."""

from typing import TYPE_CHECKING

from forebay.lazy import lazily

if TYPE_CHECKING:
    from . import figure, table
    from .laws import EcmParameters
    from .linear import Loop, Margins, OperatingPoint, margins_of, operating_points
    from .model import FluidModel, Source, State, Step, Trajectory
    from .result import Course, Packets, Stability
    from .run import judge_stability
else:
    __getattr__ = lazily(
        __name__,
        ["figure", "table"],
        {
            "laws": ("EcmParameters",),
            "linear": ("Loop", "Margins", "OperatingPoint", "margins_of", "operating_points"),
            "model": ("FluidModel", "Source", "State", "Step", "Trajectory"),
            "result": ("Course", "Packets", "Stability"),
            "run": ("judge_stability",),
        },
    )

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
    "figure",
    "judge_stability",
    "margins_of",
    "operating_points",
    "table",
]
