"""Time series as charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import polars as pl

from forebay.display.quantity import label, scale, text_with_unit, time_scale, title, with_unit
from forebay.display.states import colours_of, under_curves
from forebay.runs.congestion import OF_PORTS
from forebay.runs.fairness import jain
from forebay.runs.senders import Sender

from .parts import MOST_LINES, Band, Line, Lines, Values

_WINDOWS = 200


class Sampled(Protocol):
    """A quantity of a component, sampled at equal intervals."""

    @property
    def name(self) -> str:
        """The component."""

    @property
    def quantity(self) -> str:
        """The sampled quantity, with its unit last."""

    @property
    def start_s(self) -> float:
        """Time of the first value."""

    @property
    def interval_s(self) -> float:
        """From one value to the next."""

    @property
    def values(self) -> Values:
        """The values."""


def over_time(
    heading: str, entries: Sequence[Sampled], *, warmup_s: float = 0.0, groups: Mapping[str, str] | None = None
) -> Lines:
    """One quantity of several components; too many for one chart become a band for each group of them."""
    unit = scale(entries[0].quantity, max((_peak(entry.values) for entry in entries), default=0.0))
    label_of_unit = label(entries[0].quantity, unit)
    if len(entries) > MOST_LINES:
        bands = _bands(entries, groups or {}, unit.divisor)
        note = f"{len(entries):,} series: the median of each group, with the range around it."
        return against_time(heading, label_of_unit, bands, warmup_s, shape="band", note=note)
    lines = [Line(entry.name, times(entry), entry.values / unit.divisor) for entry in entries]
    return against_time(heading, label_of_unit, lines, warmup_s)


def sender_charts(sender: Sender, warmup_s: float) -> list[Lines]:
    """Return a chart for each panel of a watched sender, with its states as bands."""
    bands = sender.bands()
    colours = colours_of(bands)
    charts = []
    for panel in sender.panels:
        unit = scale(panel.series[0].quantity, max(_peak(entry.values) for entry in panel.series))
        lines = [Line(title(one.quantity), times(one), one.values / unit.divisor) for one in panel.series]
        chart = against_time(f"{panel.title} of {sender.name}", with_unit(panel.title, unit), lines, warmup_s)
        time = time_scale(max(float(line.x[-1]) for line in lines)).divisor
        shades = [
            Band(state, colours[state], *(np.array(periods).T / time)) for state, periods in under_curves(bands).items()
        ]
        charts.append(replace(chart, bands=shades))
    return charts


def against_time(heading: str, y_label: str, lines: Sequence[Line], warmup_s: float = 0.0, **options: Any) -> Lines:
    """Return a chart of lines whose `x` is in seconds, over time in the unit that fits."""
    unit = time_scale(max((float(line.x[-1]) for line in lines if len(line.x)), default=0.0))
    scaled = [replace(line, x=line.x / unit.divisor) for line in lines]
    return Lines(heading, label("time_s", unit), y_label, scaled, shade_to=warmup_s / unit.divisor, **options)


def queues_over_time(queues: Mapping[str, Sequence[Line]], note: str = "") -> list[Lines]:
    """Return a chart for each queue, the longest on average first, without those that stay empty."""
    means = {
        queue: float(np.nanmean(np.concatenate([line.y for line in lines])))
        for queue, lines in queues.items()
        if any(np.nan_to_num(line.y).any() for line in lines)
    }
    return [
        against_time(f"Queue {queue} over time", "Length (packets)", queues[queue], note=note)
        for queue in sorted(means, key=lambda name: -means[name])[:MOST_LINES]
    ]


def fairness_over_time(goodput: Sequence[Sampled], flows: pl.DataFrame, name: str) -> tuple[Line, float] | None:
    """Jain's index of the goodputs of the flows that have begun and not ended, and the length of its windows in s.

    None where there is at most one flow.
    """
    first = goodput[0] if goodput else None
    alike = [one for one in goodput if first is not None and len(one.values) == len(first.values)]
    if first is None or len(alike) < 2:
        return None
    together = max(1, len(first.values) // _WINDOWS)
    windows = len(first.values) // together
    cut = np.vstack([np.nan_to_num(one.values[: windows * together]) for one in alike])
    rates = cut.reshape(len(alike), windows, together).mean(axis=2)
    ends = times(first)[together - 1 : windows * together : together]
    begun, over = _lifetimes(flows)
    alive = np.vstack([(begun.get(one.name, 0.0) <= ends) & (ends <= over.get(one.name, np.inf)) for one in alike])
    found = [jain(column[there]) if there.sum() > 1 else np.nan for column, there in zip(rates.T, alive.T, strict=True)]
    return Line(name, ends, np.array(found)), together * first.interval_s


def total(entries: Sequence[Sampled], name: str) -> Line | None:
    """Return the sum of series that were sampled at the same times, in their own unit; None of none."""
    alike = [one for one in entries if len(one.values) == len(entries[0].values)]
    if not alike:
        return None
    return Line(name, times(alike[0]), np.nansum([one.values for one in alike], axis=0))


def times(entry: Sampled) -> Values:
    """Return the time of each value in seconds."""
    found: Values = entry.start_s + entry.interval_s * np.arange(len(entry.values), dtype=np.float64)
    return found


def heading_of(kind: str, quantity: str) -> str:
    """Return the heading of a chart: "Congestion window of flows"."""
    if quantity in OF_PORTS:
        return OF_PORTS[quantity]
    whose = {"queue": "queues", "flow": "flows", "link": "links", "queue_flow": "flows at their queues"}
    return f"{title(quantity)} of {whose.get(kind, kind)}"


def time_text(seconds: float) -> str:
    """Return a time in the unit that fits: "20 ms"."""
    return text_with_unit("time_s", seconds)


def _bands(entries: Sequence[Sampled], groups: Mapping[str, str], divisor: float) -> list[Line]:
    members: dict[str, list[Sampled]] = {}
    for entry in entries:
        members.setdefault(groups.get(entry.name, "all"), []).append(entry)
    if len(members) > MOST_LINES:
        members = {"all": list(entries)}
    bands = []
    for group, of in members.items():
        alike = [entry for entry in of if len(entry.values) == len(of[0].values)]
        values = np.vstack([entry.values for entry in alike]) / divisor
        filled = ~np.isnan(values).all(axis=0)
        known = values[:, filled]
        ends = [np.full(values.shape[1], np.nan) for _ in range(3)]
        for end, found in zip(ends, (np.nanmedian(known, 0), np.nanmin(known, 0), np.nanmax(known, 0)), strict=True):
            end[filled] = found
        name = f"{group} ({len(alike)})" if len(alike) > 1 else group
        bands.append(Line(name, times(of[0]), *ends))
    return bands


def _lifetimes(flows: pl.DataFrame) -> tuple[dict[str, float], dict[str, float]]:
    if not {"start_s", "finished_s"} <= set(flows.columns):
        return {}, {}
    rows = flows.select("name", "start_s", "finished_s").rows()
    begun = {name: start for name, start, _ in rows if start is not None}
    return begun, {name: end for name, _, end in rows if end is not None}


def _peak(values: Values) -> float:
    finite = values[np.isfinite(values)]
    return float(np.abs(finite).max()) if finite.size else 0.0
