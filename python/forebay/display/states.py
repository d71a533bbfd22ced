"""Colours of a sender's states: the steady state is pale, and states that follow each other differ in lightness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .figure import COLOURS

_BLUE, _VERMILLION, _GREEN, _PURPLE, _ORANGE, _SKY, _BLACK = COLOURS
_STEADY = "#BBBBBB"
_MOST_BANDS = 150
"""More under curves are noise."""
_OF_STATES = {
    "slow_start": _ORANGE,
    "congestion_avoidance": _STEADY,
    "recovery": _VERMILLION,
    "reduction": _SKY,
    "timeout": _BLACK,
    "startup": _ORANGE,
    "drain": _BLUE,
    "probe_bw": _STEADY,
    "probe_bw_down": _SKY,
    "probe_bw_cruise": _STEADY,
    "probe_bw_refill": "#F0E442",
    "probe_bw_up": _GREEN,
    "probe_rtt": _PURPLE,
    "slowdown": _PURPLE,
    "classic_queue": _PURPLE,
}


def colours_of(states: Iterable[str]) -> dict[str, str]:
    """Return a colour for each state: the same one in all figures if the state is one of Forebay's own."""
    names = list(dict.fromkeys(states))
    free = [colour for colour in COLOURS if colour not in {_OF_STATES.get(name) for name in names}] or list(COLOURS)
    unknown = [name for name in names if name not in _OF_STATES]
    chosen = {name: free[index % len(free)] for index, name in enumerate(unknown)}
    return {name: _OF_STATES.get(name) or chosen[name] for name in names}


Periods = Sequence[tuple[float, float]]


def under_curves(bands: Mapping[str, Periods]) -> dict[str, Periods]:
    """Return the bands to draw under curves: not those of the steady state, and not those of states with many.

    Args:
        bands: The periods of each state.

    """
    colours = colours_of(bands)
    shown = {state: periods for state, periods in bands.items() if colours[state] != _STEADY}
    while sum(map(len, shown.values())) > _MOST_BANDS:
        del shown[max(shown, key=lambda state: len(shown[state]))]
    return shown
