"""How narrow the confidence interval of a metric is to become: `goodput < 2 %`."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from forebay.errors import InputError
from forebay.runs.statistics import Estimate

_FORM = re.compile(r"\s*([^\s<]+)\s*<\s*(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)\s*(\S*)\s*")
_UNITS: dict[str, dict[str, float]] = {
    "_bps": {"b/s": 1.0, "kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9, "bps": 1.0, "kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9},
    "_s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9},
    "_packets": {"packets": 1.0},
    "_bytes": {"B": 1.0, "KB": 1e3, "kB": 1e3, "MB": 1e6},
}


@dataclass(frozen=True)
class Until:
    """The rule by which seeds are added."""

    metric: str
    """As it was asked for: `goodput`, `tcp.delay_p99_s`."""
    bound: float
    """The most that half the 95 % interval may be: a share of the mean, or in the metric's own unit."""
    relative: bool

    @classmethod
    def parse(cls, text: str) -> Until:
        """Parse "goodput < 2 %" and "tcp.delay_p99 < 0.5 ms". Raises InputError for anything else."""
        match = _FORM.fullmatch(text)
        # A number that is zero in the smallest unit, a billionth, would never be reached.
        if match is None or float(match[2]) * 1e-9 == 0.0:
            message = f"--until {text}: this is not a rule\nhint: write METRIC < NUMBER %, such as goodput < 2 %"
            raise InputError(message)
        metric, number, unit = match[1], float(match[2]), match[3]
        if unit == "%":
            return cls(metric, number / 100.0, True)
        factors = {name: factor for units in _UNITS.values() for name, factor in units.items()} | {"": 1.0}
        if unit not in factors:
            message = f"--until {text}: there is no unit {unit}\nhint: write %, or one such as Mb/s, ms or packets"
            raise InputError(message)
        suffix = next((suffix for suffix, units in _UNITS.items() if unit in units), "")
        if unit and not metric.endswith(suffix):
            metric += suffix
        return cls(metric, number * factors[unit], False)

    def column(self, metrics: Sequence[str]) -> str:
        """Return the metric's full name among those of the sweep. Raises InputError if it is none of them."""
        return metric_named(self.metric, metrics, "--until")

    def met(self, mean: float | None, ci95: float | None) -> bool:
        """Return whether the interval of that mean is narrow enough."""
        return mean is not None and ci95 is not None and ci95 < self._distance(mean)

    def seeds(self, estimate: Estimate, most: int) -> int:
        """Return how many seeds to run in all before looking again: at most twice as many, and no more than `most`."""
        needed = estimate.samples_to_tell(self._distance(estimate.mean))
        return min(most, 2 * estimate.count, max(estimate.count + 1, needed or most))

    def _distance(self, mean: float) -> float:
        return self.bound * abs(mean) if self.relative and math.isfinite(mean) else self.bound


def metric_named(name: str, metrics: Sequence[str], where: str) -> str:
    """Return the metric of that name, whose unit may be left out: `goodput` is `goodput_bps`. Raises InputError."""
    for suffix in ("", *_UNITS):
        if name + suffix in metrics:
            return name + suffix
    near = difflib.get_close_matches(name, metrics, n=3, cutoff=0.5)
    remedy = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(metrics)}"
    message = f"{where}: there is no metric {name}\nhint: {remedy}"
    raise InputError(message)
