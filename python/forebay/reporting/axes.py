"""The axes of a sweep: which keys are numbers, which points are on one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from forebay.display.figure import is_wide
from forebay.sweeps.axes import number_of
from forebay.sweeps.labels import value_label

from .parts import Values

if TYPE_CHECKING:
    from forebay.sweeps.result import Sweep

_EQUAL_RATIOS = 1.05
"""Ratios that differ by less than this factor count as equal: `--vary` rounds some values to whole numbers."""


@dataclass(frozen=True)
class Axis:
    """A key of a sweep, with the place of each point on it."""

    key: str
    label: str
    """The key with its unit, if its values have one."""
    places: Values
    """Of each point: its number, or the rank of its name."""
    names: Sequence[str]
    """The distinct values, in order."""
    is_number: bool
    log: bool

    def ranks(self) -> dict[float, int]:
        """Return the rank of each place."""
        return {float(place): rank for rank, place in enumerate(np.unique(self.places))}


def axes_of(sweep: Sweep) -> list[Axis]:
    """All axes, in the order of the sweep's keys."""
    return [_axis(key, sweep.points.get_column(key)) for key in sweep.keys]


def is_grid(axes: Sequence[Axis], points: int) -> bool:
    """Return whether every value of each axis was run with every value of each other."""
    return bool(np.prod([len(axis.names) for axis in axes]) == points)


def goes_along(axis: Axis, members: Sequence[int]) -> bool:
    """Return whether these points, in their order, go along the axis in one direction, so that a line may join them."""
    steps = np.diff(axis.places[list(members)])
    return bool((steps > 0).all() or (steps < 0).all())


def _has_equal_ratios(places: Values) -> bool:
    """Return whether ascending values have equal ratios, as those of `log:1:8:4`, but for rounding."""
    if places[0] <= 0.0:
        return False
    ratios = places[1:] / places[:-1]
    return bool(ratios.max() < _EQUAL_RATIOS * ratios.min() and not _has_equal_steps(places))


def _has_equal_steps(places: Values) -> bool:
    return bool(np.allclose(np.diff(places), places[1] - places[0], rtol=0.01))


def _axis(key: str, values: pl.Series) -> Axis:
    short = key.rsplit(".", 1)[-1] if key.count(".") < 2 else ".".join(key.split(".")[-2:])
    plain = values.to_list()
    numbers = [number_of(value) for value in plain]
    found = [number for number in numbers if number is not None]
    units = {unit for _, unit in found}
    if len(found) == len(plain) and len(units) == 1:
        unit = units.pop()
        places = np.array([number for number, _ in found])
        distinct = np.unique(places)
        log = len(distinct) > 2 and (is_wide(distinct) or _has_equal_ratios(distinct))
        names = [f"{place:.6g}" for place in distinct]
        return Axis(key, f"{short} ({unit})" if unit else short, places, names, True, log)
    texts = [value_label(value) for value in plain]
    order = {text: rank for rank, text in enumerate(dict.fromkeys(texts))}
    return Axis(key, short, np.array([float(order[text]) for text in texts]), list(order), False, False)
