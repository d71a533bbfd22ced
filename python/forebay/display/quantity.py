"""Names of quantities end in their unit: from these names come axis labels, column heads and fitting prefixes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite

CI = "_ci95"
"""A column of this name behind a metric's holds half the width of its 95 % confidence interval over seeds."""

_DECIMAL = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_FRACTIONS = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_SHARES = ("loss", "utilization", "paused_share")
_TITLES = {
    "jain_source": "Jain's index of sources",
    "jain_destination": "Jain's index of destinations",
    "paused_share": "Stopped by PAUSE",
    "rtt_smoothed_s": "Smoothed RTT",
    "rtt_latest_s": "Latest RTT",
    "rtt_min_s": "Shortest RTT",
    "rtt_s": "Round-trip time",
    "size_bytes": "Size of a flow",
    "base_s": "Time alone",
    "fct_s": "Completion time",
    "fct_mean_s": "Mean completion time",
    "fct_p50_s": "Median completion time",
    "fct_p95_s": "Completion time p95",
    "fct_p99_s": "Completion time p99",
    "slowdown_mean": "Mean slowdown",
    "slowdown_p50": "Median slowdown",
    "slowdown_p95": "Slowdown p95",
    "slowdown_p99": "Slowdown p99",
    "video_bitrate_bps": "Bitrate",
    "video_buffer_s": "Buffer",
    "largest_over_mean": "Largest over mean",
    "expected_over_mean": "Expected over mean",
    "model_rtt_s": "RTT of the model",
}
_BYTES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


@dataclass(frozen=True)
class Scale:
    """A unit of fitting size: a value divided by `divisor` is in `unit`."""

    divisor: float
    unit: str

    def text(self, value: float | None, digits: int = 4) -> str:
        """Return the value in this unit, without the unit's name."""
        return "-" if value is None else f"{value / self.divisor:.{digits}g}"


def scale(quantity: str, largest: float) -> Scale:
    """Return the unit for a quantity of that name of which the largest value is `largest`."""
    for suffix, unit, prefixes in (("_bps", "b/s", _DECIMAL), ("_s", "s", _FRACTIONS), ("_bytes", "B", _BYTES)):
        if quantity.endswith(suffix):
            divisor, prefix = next(((d, p) for d, p in prefixes if abs(largest) >= d), prefixes[-1])
            if largest == 0:
                divisor, prefix = 1.0, ""
            return Scale(divisor, prefix + unit)
    if quantity in _SHARES:
        return Scale(0.01, "%")
    if quantity.endswith("_packets") or quantity.startswith("packets_"):
        return Scale(1.0, "packets")
    return Scale(1.0, "")


_MOST_BEFORE_POINT = 10_000
"""A column of numbers has fewer than five digits before the point, if a unit allows it."""


def column_scale(quantity: str, values: Iterable[float | None]) -> Scale:
    """Return the unit for a column of values of that name: the one that fits the smallest value.

    If the largest value would have more than four digits before the point, a larger unit is taken.
    """
    sizes = sorted(abs(value) for value in values if value is not None and value != 0 and isfinite(value))
    if not sizes:
        return scale(quantity, 0.0)
    units = (scale(quantity, size) for size in sizes)
    return next((unit for unit in units if sizes[-1] / unit.divisor < _MOST_BEFORE_POINT), scale(quantity, sizes[-1]))


def time_scale(until_s: float) -> Scale:
    """Return the unit of a time axis that ends at `until_s`."""
    return scale("time_s", until_s)


def text_with_unit(quantity: str, value: float, digits: int = 4) -> str:
    """Return a value in the unit that fits: "20 ms"."""
    unit = scale(quantity, value)
    return f"{unit.text(value, digits)} {unit.unit}".strip()


def measured_span(warmup_s: float, duration_s: float) -> str:
    """Return the measured part of a run: "measured 2 s to 10 s", "measured 2 ms"."""
    end = text_with_unit("time_s", duration_s)
    return f"measured {text_with_unit('time_s', warmup_s)} to {end}" if warmup_s else f"measured {end}"


def title(quantity: str) -> str:
    """Return the quantity's name without its unit, for people: `congestion_window_bytes` is "Congestion window"."""
    if quantity in _TITLES:
        return _TITLES[quantity]
    for suffix in ("_bps", "_s", "_bytes", "_packets"):
        quantity = quantity.removesuffix(suffix)
    return quantity.replace("_", " ").capitalize()


def label(quantity: str, unit: Scale) -> str:
    """Name and unit for an axis: "Goodput (Mb/s)"."""
    return with_unit(title(quantity), unit)


def with_unit(name: str, unit: Scale) -> str:
    """Return a name with its unit in parentheses."""
    return f"{name} ({unit.unit})" if unit.unit else name
