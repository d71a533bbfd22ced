"""The rates and latencies that a speed test measured."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import polars as pl

from forebay.display.quantity import text_with_unit

from .scenario import (
    DOWNLOAD,
    IDLE_PING,
    STAGGER_S,
    STEP_S,
    UPLOAD,
    Load,
    Phase,
    check_duration,
    deviation,
    phases,
    refusal,
)

if TYPE_CHECKING:
    from forebay.errors import InputError
    from forebay.result import Result, RunWarning
    from forebay.runs.series import Series


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
    """Median round-trip time of the pings before any load that have an answer.

    None if more than half of the pings have none after 10 s.
    """
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
        InputError: If the result is not one of a speed test, or the test had other times.

    Example:
        >>> test = fb.speed_test(fb.run(fb.speed_test_scenario(down="20 Mbps", up="5 Mbps")))
        >>> 4.5e6 < test.upload_bps < 5e6
        True

    """
    downloads, uploads = _rates_of(result, DOWNLOAD), _rates_of(result, UPLOAD)
    check_duration(result.duration_s, "the result")
    down, up = phases(result.duration_s)
    _check_times(result, [*downloads, *uploads])
    return SpeedTest(
        scenario=result.scenario,
        seed=result.seed,
        download_bps=_rate(downloads, down),
        upload_bps=_rate(uploads, up),
        idle_latency_s=_latency(result, IDLE_PING),
        download_latency_s=_latency(result, DOWNLOAD.ping),
        upload_latency_s=_latency(result, UPLOAD.ping),
        warnings=result.warnings,
    )


def _rates_of(result: Result, load: Load) -> list[Series]:
    """Return the rates of a load's flows over time."""
    flows = [
        entry
        for entry in result.all_series
        if entry.quantity == "goodput_bps" and entry.name.startswith(f"{load.flows}-")
    ]
    if not flows:
        raise refusal(f"the result is not one of a speed test: it has no series of flows `{load.flows}`")
    return flows


def _check_times(result: Result, rates: list[Series]) -> None:
    """Raise InputError if the run left out its beginning, sampled at another interval, or had other starts of flows."""
    if result.warmup_s > 0.0:
        raise _other(result, "warmup", result.warmup_s, 0.0)
    for entry in rates:
        if abs(entry.interval_s - STEP_S) > 1e-9:
            raise _other(result, "probes.interval", entry.interval_s, STEP_S)
    starts = dict(result.flows.select("name", "start_s").iter_rows())
    for load, phase in zip((DOWNLOAD, UPLOAD), phases(result.duration_s), strict=True):
        of_load = [at for name, at in starts.items() if name.startswith(f"{load.flows}-")]
        if len(of_load) != load.streams:
            raise deviation("the result", f"flows.{load.flows}.count", len(of_load), load.streams, result.duration_s)
        for place, at in enumerate(of_load):
            expected = phase.start_s + place * STAGGER_S
            if at is None or abs(at - expected) > STEP_S / 2:
                raise _other(result, f"the start of {load.flows}-{place}", at, expected)


def _other(result: Result, key: str, found_s: float | None, expected_s: float) -> InputError:
    """Return the error for a time that is not that of a speed test."""
    found = None if found_s is None else text_with_unit("time_s", found_s)
    return deviation("the result", key, found, text_with_unit("time_s", expected_s), result.duration_s)


def _rate(flows: list[Series], phase: Phase) -> float:
    """Return the payload that all flows of a load delivered while they were measured, over that time."""
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
    sent, answered, median = found.select("sent", "answered", "rtt_p50_s").row(0)
    return None if 2 * answered < sent else median
