"""Paired comparison of two sweeps: chance that both share cancels out of the difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import polars as pl

from forebay import display, sweeps
from forebay.errors import InputError
from forebay.runs.mean import mean_cells
from forebay.storage.document import Document, json_text

from .result import Sweep


@dataclass(frozen=True, eq=False)
class PairedDifferences:
    """Differences between two sweeps, at the points that both have.

    Example:
        >>> short = {"duration": "2 s", "warmup": "1 s"}
        >>> scenario = fb.Scenario.load("examples/first.toml", short)
        >>> for queue in ("drop_tail", "red"):
        ...     with_queue = scenario.override({"topology.star.bottleneck.queue": queue})
        ...     counts = {"flows.tcp.count": [1, 5]}
        ...     sweep = fb.sweep(with_queue, counts, seeds=2, out=f"out/{queue}")
        >>> paired = fb.compare_sweeps("out/drop_tail", "out/red")
        >>> paired.differences.select("flows.tcp.count", "pairs").rows()
        [(1, 2), (5, 2)]

    """

    names: tuple[str, str]
    """The two folders."""
    keys: tuple[str, ...]
    """The keys that vary, the same in both."""
    metrics: tuple[str, ...]
    """The metrics that both have."""
    first: pl.DataFrame = field(repr=False)
    """One row per shared point: a column for each key, `pairs` (seeds that both have), and the mean of each metric in
    the first sweep."""
    differences: pl.DataFrame = field(repr=False)
    """One row per shared point: a column for each key, `pairs`, and for each metric the mean over pairs of the second
    minus the first, followed by `…_ci95`, half the width of its 95 % interval."""
    several_queues: bool = False
    """Whether `utilization` and `length_mean_packets` are means over several queues."""

    def _repr_html_(self) -> str:
        return display.notebook.html(lambda width: sweeps.table.paired_tables(self, width))

    def to_dict(self) -> Document:
        """Return all of it as plain values, with None for a value that does not exist."""
        return {
            "names": list(self.names),
            "keys": list(self.keys),
            "metrics": list(self.metrics),
            "first": self.first.to_dicts(),
            "differences": self.differences.to_dicts(),
        }

    def to_json(self) -> str:
        """Return all of it as one JSON document, as `forebay compare --json` prints it."""
        return json_text(self.to_dict())


def compare_sweeps(first: str | PathLike[str], second: str | PathLike[str]) -> PairedDifferences:
    """Compare two finished sweeps, pairing their runs by point and seed.

    Equal seeds draw the same arrivals in both, so the interval of the difference is narrower than that of either mean.
    The interval is Student's t over the pairs.

    Args:
        first: A folder that `sweep` with `out`, `forebay sweep` or `forebay run --seeds` wrote.
        second: Another one. It must vary the same keys.

    Returns:
        Second minus first, at each point.

    Raises:
        InputError: If a folder holds no finished sweep, the keys differ, or no point and seed is in both.

    Example:
        >>> short = {"duration": "2 s", "warmup": "1 s"}
        >>> scenario = fb.Scenario.load("examples/first.toml", short)
        >>> for mbps in (50, 100):
        ...     rate = {"topology.star.bottleneck.rate": f"{mbps} Mbps"}
        ...     counts = {"flows.tcp.count": [1, 5]}
        ...     variant = scenario.override(rate)
        ...     sweep = fb.sweep(variant, counts, seeds=2, out=f"out/{mbps}")
        >>> paired = fb.compare_sweeps("out/50", "out/100")
        >>> all(more > 0 for more in paired.differences["goodput_total_bps"])
        True

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
        means.append(head | {name: mean_cells(name, values)[name] for name, values in below.items()})
        row = dict(head)
        for name, values in above.items():
            row |= mean_cells(name, values)
        differences.append(row)
    before, after = (pl.DataFrame(rows, infer_schema_length=None) for rows in (means, differences))
    return PairedDifferences(
        (str(first), str(second)),
        one.keys,
        tuple(metrics),
        first=before,
        differences=after,
        several_queues=one.several_queues or two.several_queues,
    )


def _pairs(one: Sweep, two: Sweep, metrics: list[str]) -> dict[tuple[Any, ...], list[tuple[Any, Any]]]:
    """Return the runs of both at each point, in pairs of equal seeds. A metric without a value is NaN."""
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
    # A value may be a number in one sweep and, in a column with text, a text in the other.
    return (*(str(row[key]) for key in keys), row["seed"])


def _listed(keys: tuple[str, ...]) -> str:
    return " and ".join(keys) or "nothing"
