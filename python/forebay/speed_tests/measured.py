"""The rates and latencies that a speed test measured."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import polars as pl

from .scenario import DOWNLOAD, IDLE_PING, UPLOAD, Load, Phase, phases, refusal

if TYPE_CHECKING:
    from forebay.result import Result, RunWarning


@dataclass(frozen=True)
class SpeedTest:
    """The outcome of a speed test.

    Example:
        >>> test = fb.speed_test(fb.run(fb.speed_test_scenario(queue="fq_codel")))
        >>> test.upload_latency_s < 2 * test.idle_latency_s
        True

    """

    scenario: str
    """Name of the scenario."""
    seed: int
    """The seed of the run."""
    download_bps: float
    """Payload delivered in order by all downloads, from 1.5 s after their start to their end, over that time."""
    upload_bps: float
    """The same for uploads, from 3 s after their start."""
    idle_latency_s: float | None
    """Median round-trip time of the pings before any load. None if no ping was answered."""
    download_latency_s: float | None
    """Median round-trip time of the pings while the downloads are measured."""
    upload_latency_s: float | None
    """Median round-trip time of the pings while the uploads are measured."""
    warnings: tuple[RunWarning, ...] = ()
    """Simplifications and properties of the run that its user may not expect."""

    def to_json(self) -> str:
        """Return all as JSON."""
        return json.dumps(asdict(self), indent=2)


def speed_test(result: Result) -> SpeedTest:
    """Return the rates and latencies of a speed test.

    Args:
        result: The result of a scenario that `speed_test_scenario` or `forebay speedtest` made, or of a copy of it with
            another network.

    Raises:
        InputError: If the result is not one of a speed test.

    Example:
        >>> test = fb.speed_test(fb.run(fb.speed_test_scenario(down="20 Mbps", up="5 Mbps")))
        >>> 4.5e6 < test.upload_bps < 5e6
        True

    """
    down, up = phases(result.duration_s)
    return SpeedTest(
        scenario=result.scenario,
        seed=result.seed,
        download_bps=_rate(result, DOWNLOAD, down),
        upload_bps=_rate(result, UPLOAD, up),
        idle_latency_s=_latency(result, IDLE_PING),
        download_latency_s=_latency(result, DOWNLOAD.ping),
        upload_latency_s=_latency(result, UPLOAD.ping),
        warnings=result.warnings,
    )


def _rate(result: Result, load: Load, phase: Phase) -> float:
    """Return the payload that all flows of a load delivered while they were measured, over that time."""
    flows = [
        entry
        for entry in result.all_series
        if entry.quantity == "goodput_bps" and entry.name.startswith(f"{load.flows}-")
    ]
    if not flows:
        raise refusal(f"the result is not one of a speed test: it has no series of flows `{load.flows}`")
    bits = 0.0
    for entry in flows:
        # A sample counts for the interval that it ends.
        middle_s = entry.time_s - entry.interval_s / 2
        measured = (middle_s > phase.measured_s) & (middle_s < phase.end_s)
        bits += float(entry.values[measured].sum()) * entry.interval_s
    return bits / (phase.end_s - phase.measured_s)


def _latency(result: Result, ping: str) -> float | None:
    found = result.pings.filter(pl.col("name") == ping) if result.pings.width else result.pings
    if found.is_empty():
        raise refusal(f"the result is not one of a speed test: it has no ping `{ping}`")
    median: float | None = found.get_column("rtt_p50_s").item()
    return median
