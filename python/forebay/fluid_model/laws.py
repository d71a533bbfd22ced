"""The laws of ECM for one sampled frame: the feedback of a queue, and a source's response.

Source: the setup slides of the E2CM proposal (IEEE 802.1, March 2007), as `forebay explain ecm` has them. The
continuous feedback that the slides print, Fb = -(q - Q_eq) + W (dq/dt) / (μ p_s), has the sign of its second term
reversed: a growing queue would make sources faster. That of their pseudo-code counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from forebay.errors import InputError


@dataclass(frozen=True)
class EcmParameters:
    """Parameters of ECM. Names and defaults are those of a scenario's `congestion_management.ecm`.

    Source: the E2CM proposal (IEEE 802.1, March 2007), whose baseline is ECM.

    Raises:
        InputError: If a value is out of range. The message names the bound.

    """

    line_rate_bps: float = 10e9
    """Rate of the links in bit/s: the rate of a source without a limiter."""
    set_point_bytes: float = 75_000.0
    """Q_eq: the set-point of the queue in bytes."""
    weight: float = 2.0
    """W: the weight of the queue's growth relative to its distance from the set-point."""
    decrease_gain: float = 0.5
    """The share that the strongest negative feedback takes off a rate: G_d (2 W + 1) Q_eq."""
    increase_gain: float = 0.005
    """The share of the line rate that the strongest positive feedback adds: G_i R_unit (2 W + 1) Q_eq over the line
    rate."""
    sample_bytes: float = 75_000.0
    """S: bytes that join the queue between two samples on average, the frame length over the sampling probability."""
    severe_threshold_bytes: float | None = 280_000.0
    """Length of the queue in bytes beyond which a sample sends BCN_MAX, the strongest negative feedback; None for
    never."""
    min_rate_bps: float = 1e6
    """R_min: the rate in bit/s below which feedback cuts no rate."""

    def __post_init__(self) -> None:
        positive = ("line_rate_bps", "set_point_bytes", "sample_bytes", "min_rate_bps")
        for name in positive:
            self._check(name, "above 0", 0.0 < getattr(self, name) < math.inf)
        self._check("weight", "between 0 and 1000", 0.0 <= self.weight <= 1000.0)
        # At 1 a single message would take the whole rate away.
        self._check("decrease_gain", "above 0 and below 1", 0.0 < self.decrease_gain < 1.0)
        self._check("increase_gain", "above 0 and at most 1", 0.0 < self.increase_gain <= 1.0)
        self._check("min_rate_bps", "below the line rate", self.min_rate_bps < self.line_rate_bps)
        threshold = self.severe_threshold_bytes
        severe = threshold is None or threshold > self.set_point_bytes
        self._check("severe_threshold_bytes", "above the set-point", severe)

    def _check(self, name: str, bound: str, holds: bool) -> None:
        if not holds:
            message = f"ECM's {name}: must be {bound}, and is {getattr(self, name):g}"
            raise InputError(message)

    @property
    def strongest_feedback_bytes(self) -> float:
        """(2 W + 1) Q_eq: feedback is between this and its negative, because both of its terms are clipped."""
        return (2.0 * self.weight + 1.0) * self.set_point_bytes

    @property
    def decrease_per_byte(self) -> float:
        """G_d: the share of a rate that a byte of negative feedback takes off."""
        return self.decrease_gain / self.strongest_feedback_bytes

    @property
    def increase_bps_per_byte(self) -> float:
        """G_i R_unit: the rate in bit/s that a byte of positive feedback adds."""
        return self.increase_gain * self.line_rate_bps / self.strongest_feedback_bytes

    def feedback(self, queue_bytes: float, previous_bytes: float) -> float:
        """Return Fb in bytes, for a sample that finds this queue where the sample before it found the previous one."""
        if self.severe_threshold_bytes is not None and queue_bytes > self.severe_threshold_bytes:
            return -self.strongest_feedback_bytes
        set_point = self.set_point_bytes
        offset = max(-set_point, min(set_point, set_point - queue_bytes))
        delta = max(-2.0 * set_point, min(2.0 * set_point, queue_bytes - previous_bytes))
        return offset - self.weight * delta

    def change_bps(self, rate_bps: float, feedback_bytes: float) -> float:
        """Return the change of a limiter's rate by one message: multiplicative decrease, additive increase."""
        if feedback_bytes < 0.0:
            return self.decrease_per_byte * feedback_bytes * rate_bps
        return self.increase_bps_per_byte * feedback_bytes
