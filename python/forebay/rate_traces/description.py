"""Traces of a link's rate: mahimahi's format, or CSV with `duration_ms` and `bandwidth_kbps`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from forebay import _core
from forebay.errors import InputError

PERCENTILES = (5, 25, 50, 75, 95)
"""The percentiles of the rate that a description has."""


@dataclass(frozen=True)
class RateTrace:
    """Properties of a trace of a link's rate.

    Example:
        >>> trace = fb.describe_trace("examples/traces/lte-train.csv")
        >>> trace.format, round(trace.period_s), len(trace.outages)
        ('csv', 121, 0)

    """

    file: str
    """The file."""
    format: str
    """`mahimahi` or `csv`."""
    period_s: float
    """Seconds until it repeats."""
    mean_bps: float
    """Mean rate."""
    interval_s: float
    """The time over which the rates below are averaged."""
    percentiles_bps: dict[int, float]
    """Percentiles of the rate, by their number."""
    least_bps: float
    """The lowest rate of an interval."""
    most_bps: float
    """The highest."""
    outage_s: float
    """The shortest time without capacity that counts as an outage."""
    outages: list[tuple[float, float]]
    """Start and length of each outage, in seconds."""

    def to_json(self) -> str:
        """Return all as JSON."""
        return json.dumps(asdict(self), indent=2)


def describe_trace(file: str | Path, *, interval_s: float = 1.0, outage_s: float = 0.5) -> RateTrace:
    """Read a trace and describe its rates and outages.

    Args:
        file: The trace, in mahimahi's format or CSV with the columns `duration_ms` and `bandwidth_kbps`.
        interval_s: Time over which a rate is averaged, in seconds.
        outage_s: Shortest time without capacity that counts as an outage, in seconds.

    Raises:
        InputError: If the file cannot be read or is no trace, or if the interval does not suit it.

    Example:
        >>> trace = fb.describe_trace("examples/traces/lte-train.csv")
        >>> f"{trace.mean_bps / 1e6:.1f} Mb/s"
        '27.2 Mb/s'

    """
    for name, value in (("interval_s", interval_s), ("outage_s", outage_s)):
        if not value > 0.0:
            message = f"{name} is {value}: expected more than 0"
            raise InputError(message)
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"cannot read {file}: {error}"
        raise InputError(message) from None
    try:
        kind, period_s, mean_bps, rates, outages = _core.read_trace(text, interval_s, outage_s)
    except ValueError as error:
        message = f"{file}: {error}"
        raise InputError(message) from None
    percentiles = dict(zip(PERCENTILES, np.percentile(rates, PERCENTILES).tolist(), strict=True))
    return RateTrace(
        str(file), kind, period_s, mean_bps, interval_s, percentiles, min(rates), max(rates), outage_s, outages
    )
