"""`dbl_identification_bound`: how long a belligerent flow can stay unnoticed (DBL section 2.3)."""

from __future__ import annotations

from typing import Literal

from forebay.experiment.coordinates import Coordinates

from .formula import Formula, NumberRef
from .metric import MetricRuns


class DblIdentificationBound(Formula):
    """DBL section 2.3: n (dbl + maxBufferAfterDbl) / ((n - 1) flowInputRate), in seconds."""

    kind: Literal["dbl_identification_bound"]
    input_rate_bps: NumberRef
    ratio: NumberRef
    """n: how many times the drain rate the input rate is."""
    dbl_max_bytes: float = 16384.0
    max_credits: int = 15
    bf_credit_limit: int = 2
    mark_probability: float = 0.333
    packet_bytes: float = 1000.0

    def compute(self, at: Coordinates, runs: MetricRuns) -> float:
        """Return the bound in seconds."""
        return self.bound_s(runs.number(self.input_rate_bps, at), runs.number(self.ratio, at))

    def bound_s(self, input_rate_bps: float, ratio: float) -> float:
        """Return the longest time until a belligerent flow is identified, by the paper's formula."""
        credits_to_lose = self.max_credits - self.bf_credit_limit
        after_dbl_bytes = credits_to_lose * (1.0 / self.mark_probability - 1.0) * self.packet_bytes
        return ratio * 8.0 * (self.dbl_max_bytes + after_dbl_bytes) / ((ratio - 1.0) * input_rate_bps)
