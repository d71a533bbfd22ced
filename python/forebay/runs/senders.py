"""The series of a watched TCP sender, as figures show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .series import Period, Series

_PANELS = {
    "Data": ("congestion_window_bytes", "in_flight_bytes", "slow_start_threshold_bytes"),
    "Rate": ("pacing_rate_bps", "delivery_rate_bps", "sent_bps", "bandwidth_bps"),
    "RTT": ("rtt_latest_s", "rtt_smoothed_s", "rtt_min_s", "model_rtt_s"),
    "Alpha": ("alpha",),
}
_LEAST_GAP = 1e-3
"""A gap between two periods of a state is left out of bands if it is a smaller share of the time than this."""


@dataclass(frozen=True)
class Panel:
    """Series over a common axis."""

    title: str
    series: Sequence[Series]


@dataclass(frozen=True)
class Sender:
    """A watched sender."""

    name: str
    panels: Sequence[Panel]
    periods: Sequence[Period]
    """The periods of its states, in order."""

    def bands(self) -> dict[str, list[tuple[float, float]]]:
        """Return the beginnings and ends of the periods of each state, in the order in which states appear.

        Periods that no figure can separate are one.
        """
        least_s = _LEAST_GAP * (self.periods[-1].end_s - self.periods[0].start_s) if self.periods else 0.0
        found: dict[str, list[tuple[float, float]]] = {}
        for period in self.periods:
            band = found.setdefault(period.state, [])
            if band and period.start_s - band[-1][1] < least_s:
                band[-1] = (band[-1][0], period.end_s)
            else:
                band.append((period.start_s, period.end_s))
        return found


def watched_senders(series: Sequence[Series]) -> list[Sender]:
    """Return the watched senders whose connections were open, from all series of a run."""
    names = dict.fromkeys(one.name for one in series if one.kind == "sender")
    found = [sender_of(series, name) for name in names]
    return [sender for sender in found if sender.panels]


def sender_of(series: Sequence[Series], name: str) -> Sender:
    """Return the sender of that name, from all series of a run."""
    known = {one.quantity: one for one in series if (one.kind, one.name) == ("sender", name)}
    if "in_flight_bytes" in known and "delivery_rate_bps" not in known:
        # The sender does not measure it. Its own rate is the closest that there is.
        of_flow = [one for one in series if (one.kind, one.name) == ("flow", name)]
        known |= {one.quantity: one for one in of_flow if one.quantity == "sent_bps"}
    if "model_rtt_s" in known:
        del known["rtt_min_s"]
    panels = []
    for title, quantities in _PANELS.items():
        drawn = [known[quantity] for quantity in quantities if quantity in known]
        drawn = [one for one in drawn if np.isfinite(one.values).any()]
        if drawn:
            panels.append(Panel(title, drawn))
    states = known.get("state")
    return Sender(name, panels, states.periods() if states is not None else [])
