"""From what a sweep varies to its points: a grid, values in step, or samples."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import scipy

from forebay.errors import InputError

from .axes import MOST_VALUES, Axis, Range, Value

Way = Literal["grid", "step", "random", "latin"]
"""How the axes are combined: each value with each other, all in step, or random samples, drawn independently or as a
Latin hypercube."""

Settings = dict[str, Value]


def points_of(
    axes: Sequence[Axis | Range],
    *,
    way: Way,
    samples: int | None,
    seed: int,
) -> list[Settings]:
    """Return the settings of each point, in order; without axes one point that changes nothing.

    Samples are drawn with `seed` (McKay, Beckman and Conover 1979 for the Latin hypercube); a key with a list of values
    takes each of them equally often. Raises InputError for too many points, and for axes that the way cannot have.
    """
    sampled = way in ("random", "latin")
    ranges = [axis for axis in axes if isinstance(axis, Range)]
    if sampled != (samples is not None):
        message = "random and latin samples need a number\nhint: --samples 100; leave it out for a grid"
        raise InputError(message)
    if ranges and not sampled:
        message = f"--vary {ranges[0].key}: samples are drawn from this range\nhint: say how many: --samples 100"
        raise InputError(message)
    if sampled:
        return _sampled(axes, way, samples or 0, seed)
    lists = [[dict(zip(axis.keys, row, strict=True)) for row in axis.values] for axis in axes if isinstance(axis, Axis)]
    if way == "step":
        lengths = {axis.keys: len(axis.values) for axis in axes if isinstance(axis, Axis)}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{' and '.join(keys)} {count}" for keys, count in lengths.items())
            message = (
                f"keys in step need the same number of values, and these have {counts}"
                "\nhint: leave --in-step out for a grid"
            )
            raise InputError(message)
        return [_merged(parts) for parts in zip(*lists, strict=True)] if lists else [{}]
    _check(math.prod(map(len, lists)))
    return [_merged(parts) for parts in itertools.product(*lists)]


def _sampled(axes: Sequence[Axis | Range], way: Way, samples: int, seed: int) -> list[Settings]:
    if not axes:
        message = "there is nothing to sample\nhint: name a key: --vary PATH=uniform:LOW:HIGH"
        raise InputError(message)
    _check(samples)
    rng = np.random.default_rng(seed)
    if way == "latin":
        # SciPy loads this part of itself at its first use, which takes longer than many a run.
        shares = scipy.stats.qmc.LatinHypercube(len(axes), rng=rng).random(samples)
    else:
        shares = rng.random((samples, len(axes)))
    return [_merged([_at(axis, float(share)) for axis, share in zip(axes, row, strict=True)]) for row in shares]


def _at(axis: Axis | Range, share: float) -> Settings:
    if isinstance(axis, Range):
        return {axis.key: axis.at(share)}
    row = axis.values[min(int(share * len(axis.values)), len(axis.values) - 1)]
    return dict(zip(axis.keys, row, strict=True))


def _merged(parts: Sequence[Settings]) -> Settings:
    return {key: value for part in parts for key, value in part.items()}


def _check(points: int) -> None:
    if not 1 <= points <= MOST_VALUES:
        message = f"that makes {points} points, and {MOST_VALUES} are the most\nhint: vary less, or take --samples"
        raise InputError(message)
