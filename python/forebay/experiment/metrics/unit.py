"""The units that a metric's values can be in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .metric import Metric, MetricRuns

Unit = Literal[
    "", "Mb/s", "kb/s", "Gb/s", "s", "ms", "us", "%", "KB", "packets", "cells", "flows", "bits", "Mbit", "Mibit"
]

_SCALE: dict[str, float] = {
    "Mb/s": 1e-6,
    "kb/s": 1e-3,
    "Gb/s": 1e-9,
    "ms": 1e3,
    "us": 1e6,
    "%": 100.0,
    "KB": 1e-3,
    "Mbit": 1e-6,
    "Mibit": 2.0**-20,
}
"""The factor from bits/s, seconds, bytes, bits or a share to the unit; 1 by default."""


class WithUnit(Metric):
    """A metric whose key `unit` sets the unit of its values."""

    if TYPE_CHECKING:
        # Each kind declares the key itself: messages list keys in the order in which they are declared.
        unit: Unit

    def unit_in(self, _runs: MetricRuns) -> str:
        """Its `unit`."""
        return self.unit

    @property
    def scale(self) -> float:
        """The factor from bits/s, seconds, bytes, bits or a share to its unit."""
        return _SCALE.get(self.unit, 1.0)
