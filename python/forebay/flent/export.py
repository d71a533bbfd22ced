"""Results in the data format of flent, version 4: JSON, compressed by gzip."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import forebay
from forebay.display.names import listed
from forebay.errors import InputError
from forebay.folder import put, writing_to
from forebay.runs.series import while_active, with_gaps_filled

from .scenarios import DELAY_S, DOWNLOAD, PING, TESTS, UPLOAD

if TYPE_CHECKING:
    from forebay.result import Result
    from forebay.runs.series import Series

SUFFIX = ".flent.gz"
FORMAT_VERSION = 4
START = "1970-01-01T00:00:00.000000Z"
"""A simulation has no date: its times are seconds since the epoch."""

Values = list[float | None]

_NUMBERED = re.compile(r"(TCP (?:up|down)load)-(\d+)")


def export_flent(result: Result, path: str | PathLike[str], *, title: str = "Forebay", test: str | None = None) -> Path:
    """Write the result of one of flent's tests as a data file of flent, which its plots open.

    The result is one of a scenario that `flent_scenario` or `forebay flent` made, or of a copy of it. It needs the
    series of its flows.

    Args:
        result: The result.
        path: The file. Its name ends in `.flent.gz`.
        title: The title of the data set in plots.
        test: The test whose plots flent offers. Default: the name of the scenario.

    Returns:
        The path of the file.

    Raises:
        InputError: If the result has no series with the names of the test, or the file cannot be written.

    Example:
        >>> result = fb.run(fb.flent_scenario("tcp_nup", streams=2, length="2 s"))
        >>> fb.export_flent(result, "out/uploads.flent.gz").name
        'uploads.flent.gz'

    """
    target = Path(path)
    if not target.name.endswith(SUFFIX):
        message = f"{target} does not end in {SUFFIX}\nhint: flent opens files with this ending"
        raise InputError(message)
    document = flent_document(result, title=title, test=test, file_name=target.name)
    content = gzip.compress(json.dumps(document, indent=2, sort_keys=True, allow_nan=False).encode(), mtime=0)
    with writing_to(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        put(target, content)
    return target


def flent_document(result: Result, *, title: str, test: str | None, file_name: str) -> dict[str, Any]:
    """Return the contents of the file."""
    name = result.scenario if test is None else test
    if name not in TESTS:
        message = (
            f"the result is of the scenario {name!r}, which is no test of flent that Forebay has: {listed(TESTS)}\n"
            "hint: `forebay flent` writes their scenarios; for a copy under another name, say which test it is"
        )
        raise InputError(message)
    found = [entry for entry in result.all_series if (entry.kind, entry.quantity) in _SCALES]
    measured = {_flent_name(entry.name): entry for entry in found if _is_of_flent(entry)}
    if not any(series.startswith(PING) for series in measured) or len(measured) < 2:
        message = (
            f"the result has no series of flows with the names of {name}\n"
            'hint: `forebay flent` writes its scenario, with [probes] series = ["flows"]'
        )
        raise InputError(message)
    entry = next(iter(measured.values()))
    values = {series: _values(entry, filled=True) for series, entry in measured.items()}
    derived = _derived(name, values)
    times = [round(float(time), 9) for time in entry.time_s]
    return {
        "version": FORMAT_VERSION,
        "metadata": _metadata(result, name, title, file_name, entry.interval_s, values | derived),
        "x_values": times,
        "results": values | derived,
        "raw_values": {
            series: [
                {"t": time, "val": value}
                for time, value in zip(times, _values(entry), strict=True)
                if value is not None
            ]
            for series, entry in measured.items()
        },
    }


_SCALES = {("flow", "goodput_bps"): 1e-6, ("flow", "rtt_s"): 1e3}
"""Series of flows that flent has, each with what a value is multiplied by: Mbit/s and ms."""


def _is_of_flent(entry: Series) -> bool:
    return entry.name.startswith(PING if entry.quantity == "rtt_s" else (UPLOAD, DOWNLOAD))


def _flent_name(flow: str) -> str:
    """Return flent's name of a flow: flent counts streams from 1."""
    numbered = _NUMBERED.fullmatch(flow)
    return f"{numbered[1]}::{int(numbered[2]) + 1}" if numbered else flow


def _values(entry: Series, *, filled: bool = False) -> Values:
    """Return the values in flent's unit. Before the first byte of a connection and after the last there are none.

    Intervals without an answer have values between their neighbours' if they are `filled`.
    """
    values = while_active(entry) * _SCALES[entry.kind, entry.quantity]
    values = with_gaps_filled(values) if filled else values
    return [None if np.isnan(value) else round(float(value), 9) for value in values]


def _derived(test: str, values: Mapping[str, Values]) -> dict[str, Values]:
    """Return the series that flent computes from others."""

    def of(pattern: str) -> list[Values]:
        return [points for name, points in values.items() if fnmatchcase(name, pattern)]

    derived: dict[str, Values] = {}
    for way in (UPLOAD, DOWNLOAD):
        if streams := of(f"{way}*"):
            derived |= {f"{way} avg": _each(streams, _mean), f"{way} sum": _each(streams, sum)}
            if test in ("tcp_nup", "tcp_ndown"):
                derived[f"{way} fairness"] = _each(streams, _fairness)
    if test in ("rrul", "rrul_be"):
        derived["TCP totals"] = _each(of("TCP*"), sum)
        derived[f"{PING} avg"] = _each(of(f"{PING}*"), _mean)
    return derived


def _each(series: Sequence[Values], combine: Any) -> Values:
    """Return the combination of the values at each time, of those that there are."""
    points = ([value for value in values if value is not None] for values in zip(*series, strict=True))
    return [combine(values) if values else None for values in points]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _fairness(values: Sequence[float]) -> float | None:
    """Return Jain's index."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else None


def _metadata(
    result: Result, test: str, title: str, file_name: str, step_s: float, values: Mapping[str, Values]
) -> dict[str, Any]:
    streams = {way: sum(name.startswith(f"{way}::") for name in values) for way in (UPLOAD, DOWNLOAD)}
    keys = {"upload_streams": streams[UPLOAD], "download_streams": streams[DOWNLOAD]}
    return {
        "NAME": test,
        "TITLE": title,
        "NOTE": f"simulated by Forebay, seed {result.seed}, digest {result.digest}",
        "HOST": "server",
        "HOSTS": ["server"],
        "LOCAL_HOST": "client",
        "TIME": START,
        "T0": START,
        "LENGTH": max(round(result.duration_s - 2 * DELAY_S), 1),
        "TOTAL_LENGTH": result.duration_s,
        "STEP_SIZE": step_s,
        "TEST_PARAMETERS": {key: str(count) for key, count in keys.items() if count},
        "FLENT_VERSION": f"Forebay {forebay.__version__}",
        "IP_VERSION": 4,
        "DATA_FILENAME": file_name,
        "SERIES_META": {name: _series_metadata(name, points) for name, points in values.items()},
    }


def _series_metadata(name: str, points: Values) -> dict[str, Any]:
    units = "ms" if name.startswith(PING) else "Idx" if name.endswith("fairness") else "Mbits/s"
    known = [point for point in points if point is not None]
    return {"UNITS": units, "MEAN_VALUE": _mean(known) if known else None}
