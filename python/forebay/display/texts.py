"""Quantities as written in a scenario, as numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from forebay.errors import InputError

_TIMES = {
    "ps": 1e-12,
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "\u03bcs": 1e-6,  # the Greek letter, in addition to the sign for micro
    "ms": 1e-3,
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
    "min": 60.0,
    "h": 3600.0,
}
_SIZES = {
    **dict.fromkeys(("B", "byte", "bytes"), 1.0),
    **dict.fromkeys(("KB", "kB"), 1e3),
    "MB": 1e6,
    "GB": 1e9,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
}
_RATES = {
    **dict.fromkeys(("bps", "b/s", "bit/s"), 1.0),
    **dict.fromkeys(("kbps", "kb/s", "kbit/s", "Kbps", "Kb/s", "Kbit/s"), 1e3),
    **dict.fromkeys(("Mbps", "Mb/s", "Mbit/s"), 1e6),
    **dict.fromkeys(("Gbps", "Gb/s", "Gbit/s"), 1e9),
    **dict.fromkeys(("Tbps", "Tb/s", "Tbit/s"), 1e12),
}
_QUANTITY = re.compile(r"\s*([0-9][0-9_]*(?:\.[0-9][0-9_]*)?|\.[0-9][0-9_]*)\s*(\S+)\s*")


def _number(text: str, units: Mapping[str, float]) -> float | None:
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2] not in units:
        return None
    return float(match[1].replace("_", "")) * units[match[2]]


def seconds(given: str | float, what: str) -> float:
    """Return a time above 0, given as "5 ms" or a number of seconds. Raises InputError that begins with `what`."""
    value = _number(given, _TIMES) if isinstance(given, str) else float(given)
    if value is None or not 0.0 < value < float("inf"):
        message = f"{what}: expected a time above 0, and found {given!r}\nhint: write it with its unit: '5 ms'"
        raise InputError(message)
    return value


def rate_bps(given: str, what: str) -> float:
    """Return a rate above 0, given as "5 Mbps". Raises InputError that begins with `what`."""
    value = _number(given, _RATES)
    if value is None or not 0.0 < value < float("inf"):
        message = f"{what}: expected a rate above 0, and found {given!r}\nhint: write it with its unit: '5 Mbps'"
        raise InputError(message)
    return value


def mean_seconds(delay: Any) -> float:
    """Return the mean of a time of a valid scenario: "10 ms", or a table such as `{ uniform = ["1 ms", "9 ms"] }`."""
    return _mean(delay, _TIMES)


def mean_bytes(size: Any) -> float:
    """Return the mean of a size of a valid scenario: "1000 B", or a table such as `{ exponential = "1000 B" }`."""
    return _mean(size, _SIZES)


def bits_per_second(rate: str) -> float:
    """Return a rate of a valid scenario: "10 Gbps"."""
    return _mean(rate, _RATES)


def _mean(value: Any, units: Mapping[str, float]) -> float:
    match value:
        case str():
            number = _number(value, units)
            # Zero may stand without a fraction of any unit, but not without a unit: the scenario is valid.
            return 0.0 if number is None else number
        case {"uniform": [low, high]}:
            return (_mean(low, units) + _mean(high, units)) / 2
        case {"exponential": mean} | {"pareto": {"mean": mean}} | {"normal": {"mean": mean}}:
            return _mean(mean, units)
    return 0.0
