"""Two sweeps beside each other, seed by seed: what they share by chance cancels out of the difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
import polars as pl

from forebay.document import Document, json_text
from forebay.errors import InputError
from forebay.quantity import CI
from forebay.runs.statistics import estimate_mean

from .result import Sweep


@dataclass(frozen=True, eq=False)
class PairedDifferences:
    """How much the second of two sweeps differs from the first, at the points that both have."""

    names: tuple[str, str]
    """The folders."""
    keys: tuple[str, ...]
    """What varies in both."""
    metrics: tuple[str, ...]
    """The metrics that both have."""
    first: pl.DataFrame = field(repr=False)
    """One row a shared point: the keys, `pairs` (seeds that both have), and the mean of each metric in the first."""
    differences: pl.DataFrame = field(repr=False)
    """The same rows: the mean over pairs of second minus first, with half its 95 % interval in `…_ci95`."""

    def _repr_html_(self) -> str:
        from forebay.notebook import html

        from .table import paired_tables

        return html(lambda width: paired_tables(self, width))

    def to_dict(self) -> Document:
        """All of it as plain values; what has no value is None."""
        return {
            "names": list(self.names),
            "keys": list(self.keys),
            "metrics": list(self.metrics),
            "first": self.first.to_dicts(),
            "differences": self.differences.to_dicts(),
        }

    def to_json(self) -> str:
        """The whole comparison as one JSON document."""
        return json_text(self.to_dict())


def compare_sweeps(first: str | PathLike[str], second: str | PathLike[str]) -> PairedDifferences:
    """Compares two folders that `forebay sweep` or `forebay run --seeds` wrote, pairing their runs by point and seed.

    Equal seeds draw the same arrivals in both, so the interval of the difference is narrower than that of either mean.
    It is Student's t over the pairs. Raises InputError for folders without a sweep that has ended, for sweeps of
    different keys, and where no point and seed is in both.
    """
    one, two = Sweep.load(first), Sweep.load(second)
    if one.keys != two.keys:
        message = f"{first} varies {_listed(one.keys)}, and {second} {_listed(two.keys)}"
        raise InputError(message + "\nhint: compare sweeps of the same keys")
    metrics = [name for name in one.metrics if name in two.metrics]
    pairs = _pairs(one, two, metrics)
    if not pairs:
        message = f"no point of {first} with a seed is in {second} too\nhint: sweep both over the same values and seeds"
        raise InputError(message)
    heads = [{**dict(zip(one.keys, at, strict=True)), "pairs": len(found)} for at, found in pairs.items()]
    means, differences = [], []
    for head, found in zip(heads, pairs.values(), strict=True):
        below = {name: [before[name] for before, _ in found] for name in metrics}
        above = {name: [after[name] - before[name] for before, after in found] for name in metrics}
        means.append(head | {name: _mean(values)[0] for name, values in below.items()})
        row = dict(head)
        for name, values in above.items():
            row[name], row[name + CI] = _mean(values)
        differences.append(row)
    frames = [pl.DataFrame(rows, infer_schema_length=None) for rows in (means, differences)]
    return PairedDifferences((str(first), str(second)), one.keys, tuple(metrics), *frames)


def _pairs(one: Sweep, two: Sweep, metrics: list[str]) -> dict[tuple[Any, ...], list[tuple[Any, Any]]]:
    """The runs of both at each point, in pairs of equal seeds; a metric without a value is NaN."""
    others = {_place(row, two.keys): row for row in _known(two, metrics)}
    found: dict[tuple[Any, ...], list[tuple[Any, Any]]] = {}
    for row in _known(one, metrics):
        other = others.get(_place(row, one.keys))
        if other is not None:
            found.setdefault(tuple(row[key] for key in one.keys), []).append((row, other))
    return found


def _known(sweep: Sweep, metrics: list[str]) -> list[dict[str, Any]]:
    runs = sweep.runs.filter(pl.col("error").is_null())
    return runs.with_columns(pl.col(metrics).fill_null(float("nan"))).to_dicts()


def _place(row: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[Any, ...]:
    # A value may be a number in one sweep and, beside a text, a text in the other.
    return (*(str(row[key]) for key in keys), row["seed"])


def _mean(values: list[float]) -> tuple[float | None, float | None]:
    known = np.array([value for value in values if np.isfinite(value)])
    if not known.size:
        return None, None
    estimate = estimate_mean(known)
    return estimate.mean, estimate.ci95


def _listed(keys: tuple[str, ...]) -> str:
    return " and ".join(keys) or "nothing"
