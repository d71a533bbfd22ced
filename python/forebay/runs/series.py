"""Time series of runs and replays, and the file that holds them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from forebay.display.names import listed
from forebay.errors import InputError
from forebay.storage.document import values_of
from forebay.storage.stored import check_columns, check_kinds, read_frame

SeriesKind = Literal["queue", "flow", "link", "sender", "queue_flow"]
SERIES_FILE = "series.parquet"

_SERIES_KINDS = {"kind": "text", "name": "text", "quantity": "text", "start_s": "number", "interval_s": "number"}


@dataclass(frozen=True)
class Period:
    """A stretch of time in one state."""

    state: str
    """The name of the state."""
    start_s: float
    """Its beginning, in seconds from the start of the run."""
    end_s: float
    """Its end."""


@dataclass(frozen=True)
class Series:
    """One quantity of one component, sampled at equal intervals.

    Example:
        >>> short = {"duration": "2 s", "warmup": "1 s", "probes.interval": "100 ms"}
        >>> result = fb.run("examples/first.toml", overrides=short)
        >>> (series,) = result.find_series("queue", "bottleneck", "length_packets")
        >>> series.interval_s, series.values.shape
        (0.1, (20,))

    """

    kind: SeriesKind
    """The kind of component: `"queue"`, `"flow"`, `"link"`, `"sender"` for the TCP sender of a flow, or `"queue_flow"`
    for a flow at a queue."""
    name: str
    """The component: `bottleneck`, `tcp-0`; for a flow at a queue, `bottleneck/tcp-0`."""
    quantity: str
    """The quantity sampled, with its unit last: `length_packets`."""
    start_s: float
    """Time of the first value, in seconds from the start of the run."""
    interval_s: float
    """Seconds between two values."""
    values: NDArray[np.float64] = field(repr=False)
    """The values, an array of one dimension; NaN where there is none."""
    states: tuple[str, ...] = ()
    """Names of states in a series of states: a value is the index of its name. Empty in all others."""

    @property
    def time_s(self) -> NDArray[np.float64]:
        """Time of each value in seconds, an array as long as `values`."""
        return self.start_s + self.interval_s * np.arange(len(self.values), dtype=np.float64)

    def periods(self) -> list[Period]:
        """Return the periods of a series of states, in order; none of a series of numbers.

        A sample counts for the interval that it ends.

        Example:
            >>> bbr = {"duration": "2 s", "warmup": "1 s", "probes.senders": ["tcp-0"], "probes.interval": "10 ms"}
            >>> bbr |= {"flows.0.transport.tcp.congestion_control": "bbr"}
            >>> result = fb.run("examples/first.toml", overrides=bbr)
            >>> (series,) = result.find_series("sender", "tcp-0", "state")
            >>> series.periods()[0].state
            'startup'

        """
        if not self.states:
            return []
        codes = np.where(np.isfinite(self.values), self.values, -1.0).astype(np.int64)
        changes = np.flatnonzero(np.diff(codes)) + 1
        bounds = [0, *changes.tolist(), len(codes)]
        first_s = self.start_s - self.interval_s
        return [
            Period(self.states[codes[start]], first_s + start * self.interval_s, first_s + end * self.interval_s)
            for start, end in pairwise(bounds)
            if start < end and codes[start] >= 0
        ]

    def to_dict(self, *, values: bool = True) -> dict[str, Any]:
        """Return the series as plain values.

        Args:
            values: Whether to include the values; otherwise only what describes them.

        """
        head = {key: getattr(self, key) for key in ("kind", "name", "quantity", "start_s", "interval_s")}
        head |= {"states": list(self.states)} if self.states else {}
        return {**head, "values": values_of(self.values)} if values else head


def read_series(path: Path, entries: Iterable[dict[str, Any]]) -> tuple[Series, ...]:
    """Return the series of that file; `entries` are their heads."""
    entries = list(entries)
    if not entries:
        return ()
    for entry in entries:
        check_kinds(entry, _SERIES_KINDS, "series")
        if "states" in entry:
            check_kinds(entry, {"states": "texts"}, "series")
    frame = read_frame(path)
    check_columns(frame, ("kind", "name", "quantity"), path.name)
    values = {
        key: part.get_column("value").to_numpy()
        for key, part in frame.partition_by("kind", "name", "quantity", as_dict=True, maintain_order=True).items()
    }
    series = tuple(
        Series(
            **{**entry, "states": tuple(entry.get("states", ()))},
            values=values.get((entry["kind"], entry["name"], entry["quantity"]), np.empty(0)),
        )
        for entry in entries
    )
    if any(one.states and np.nanmax(one.values, initial=0.0) >= len(one.states) for one in series):
        message = "series: a state has no name"
        raise TypeError(message)
    return series


def narrowed(series: list[Series], name: str | None, quantity: str | None, what: str) -> list[Series]:
    """Those of that name and quantity. Raises InputError, which speaks of `what`, if there is none."""
    for key, wanted in (("name", name), ("quantity", quantity)):
        known = dict.fromkeys(getattr(entry, key) for entry in series)
        if wanted is not None and wanted not in known:
            message = f"there is no {what} of {key} {wanted!r}\nhint: it is one of {listed(known, wanted)}"
            raise InputError(message)
        series = [entry for entry in series if wanted in (None, getattr(entry, key))]
    return series


def while_active(series: Series) -> NDArray[np.float64]:
    """Return the values, with NaN for zeros before the first other value and after the last."""
    (places,) = np.nonzero(series.values)
    values = np.full(len(series.values), np.nan)
    if len(places):
        active = slice(places[0], places[-1] + 1)
        values[active] = series.values[active]
    return values


def with_gaps_filled(values: NDArray[np.float64], most: int = 5) -> NDArray[np.float64]:
    """Return the values with up to so many NaN in a row interpolated between those around them, as flent does."""
    (known,) = np.nonzero(np.isfinite(values))
    if not len(known):
        return values
    places = np.arange(len(values))
    gap = np.diff(known, prepend=known[0])[np.minimum(np.searchsorted(known, places), len(known) - 1)]
    inside = (places >= known[0]) & (places <= known[-1]) & (gap <= most + 1)
    return np.where(inside, np.interp(places, known, values[known]), values)


def long_frame(series: Iterable[Series]) -> pl.DataFrame:
    """One frame of them all: `time_s`, `name`, `quantity`, `value`."""
    frames = [
        pl.DataFrame({"time_s": entry.time_s, "value": entry.values}).select(
            "time_s", pl.lit(entry.name).alias("name"), pl.lit(entry.quantity).alias("quantity"), "value"
        )
        for entry in series
    ]
    return pl.concat(frames)
