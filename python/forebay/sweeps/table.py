"""A sweep as a table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
from rich.console import RenderableType
from rich.markup import escape

from forebay.comparison.fit import notes_on
from forebay.display import folding
from forebay.display.measured import PLAIN, SHARE, Column, column_of, dimmed, link_section, unit_of
from forebay.display.quantity import Scale

from .labels import value_label

if TYPE_CHECKING:
    from .paired import PairedDifferences
    from .result import Sweep

# More points than this are in the files, and a reader looks at them there.
_MOST_POINTS = 60
_MOST_FAILURES = 3


def terminal_tables(sweep: Sweep, width: int, *, every: bool = False) -> list[RenderableType]:
    """Return a line about the whole, a row for each point, and what failed."""
    shown = sweep.points if every else sweep.points.head(_MOST_POINTS)
    seeds = shown.get_column("seeds").to_list()
    tables: list[RenderableType] = [f"[bold]{escape(sweep.scenario)}[/bold]   {_counts(sweep)}", ""]
    if sweep.metrics:
        names = _names(shown, sweep.keys)
        columns = _cells(columns_of(sweep.metrics, sweep.points, several_queues=sweep.several_queues), len(names))
        if len(set(seeds)) > 1:
            columns.insert(0, folding.Column("seeds", [str(count) for count in seeds]))
        tables += folding.folded(_heading(sweep.keys), names, columns, width, most_tables=4)
        if sweep.points.height > shown.height:
            tables[-1:] = [
                f"[dim]and {sweep.points.height - shown.height:,} more points, which --all shows and points.csv has[/]"
            ]
        if max(seeds, default=0) > 1:
            tables.append("[dim]Means over seeds ± half the 95 % confidence interval.[/]")
    tables += [f"[dim]{escape(line)}[/]" for line in (*sweep.left_out, *notes_on(sweep.fitted))]
    failures = failures_text(sweep)
    return [*tables, f"[red]{escape(failures)}[/]"] if failures else tables


def paired_tables(paired: PairedDifferences, width: int) -> list[RenderableType]:
    """Means of the first sweep, and below them how much the second differs."""
    names = _names(paired.differences, paired.keys)
    pairs = sorted(set(paired.differences.get_column("pairs").to_list()))
    tables: list[RenderableType] = []
    first, second = paired.names
    for frame, title in ((paired.first, first), (paired.differences, f"{second} minus {first}")):
        columns = _cells(columns_of(paired.metrics, frame, several_queues=paired.several_queues), len(names))
        tables += folding.folded(_heading(paired.keys), names, columns, width, most_tables=4, title=escape(title))
    count = f"{pairs[0]}" if len(pairs) == 1 else f"{pairs[0]} to {pairs[-1]}"
    tables.append(f"[dim]Means over {count} pairs of runs with the same seed ± half the 95 % confidence interval.[/]")
    return tables


def _names(frame: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    return [_label(row) for row in frame.select(keys).iter_rows()] if keys else ["all"]


def _heading(keys: tuple[str, ...]) -> str:
    return " / ".join(_short(keys)) or "point"


def _cells(columns: Sequence[Column], rows: int) -> list[folding.Column]:
    return [
        folding.Column(
            f"{column.heading}\n{column.unit}",
            [dimmed(column.cell(row)) for row in range(rows)],
            column.section,
            column.rank,
        )
        for column in columns
    ]


def columns_of(metrics: Sequence[str], points: pl.DataFrame, *, several_queues: bool) -> list[Column]:
    """Return the columns that say most: goodput and delay of each group, and what the queue did."""
    link = link_section(several_queues=several_queues)
    groups = list(dict.fromkeys(name.rpartition(".")[0] for name in metrics if "." in name)) or [""]
    found: list[Column] = []

    def add(section: str, heading: str, metric: str, unit: Scale, better: int, rank: int = 0) -> None:
        if metric in metrics:
            found.append(replace(column_of(section, heading, points, metric, unit, better), rank=rank))

    def of_groups(section: str, metric: str, heading: str = "", rank: int = 0) -> None:
        names = {group: f"{group}.{metric}" if group else metric for group in groups}
        present = [name for name in names.values() if name in metrics]
        if present:
            unit = unit_of(metric, *(points.select(pl.col(name).alias(metric)) for name in present))
            for group, name in names.items():
                add(section, " ".join(filter(None, (heading, group or "all"))), name, unit, 0, rank)

    of_groups("Goodput of a flow", "goodput_bps")
    add("Fairness", "Jain's index", "jain", PLAIN, 1)
    add("Fairness", "Jain, sources", "jain_source", PLAIN, 1)
    add("Fairness", "Jain, destinations", "jain_destination", PLAIN, 1)
    add("Loss", "at all queues" if several_queues else "at the queue", "loss", SHARE, 0)
    of_groups("Delay", "delay_mean_s", "mean", rank=1)
    of_groups("Delay", "delay_p99_s", "p99")
    of_groups("Slowdown", "slowdown_mean", "mean")
    of_groups("Slowdown", "slowdown_p99", "p99")
    of_groups("Jitter", "jitter_s", rank=2)
    add(link, "used", "utilization", SHARE, 1)
    add(link, "queue", "length_mean_packets", Scale(1.0, "packets"), -1)
    return found


def _short(keys: tuple[str, ...]) -> list[str]:
    """Return the last parts of paths, as many as tell them apart."""
    for parts in range(1, 8):
        short = [".".join(key.split(".")[-parts:]) for key in keys]
        if len(set(short)) == len(keys):
            return short
    return list(keys)


def _label(values: tuple[object, ...]) -> str:
    return " / ".join(value_label(value) for value in values)


def _counts(sweep: Sweep) -> str:
    points, runs = sweep.points.height, sweep.runs.height
    return f"{points:,} point{'' if points == 1 else 's'}   {runs:,} run{'' if runs == 1 else 's'}"


def failures_text(sweep: Sweep) -> str:
    """Return which runs failed and why, the first of them; empty where none did."""
    failures = sweep.failures
    if failures.is_empty():
        return ""
    lines = [f"{failures.height} of {sweep.runs.height} runs failed"]
    for row in failures.head(_MOST_FAILURES).to_dicts():
        where = "".join(f"{key}={row[key]}, " for key in sweep.keys)
        lines.append(f"{where}seed {row['seed']}: {row['error'].splitlines()[0]}")
    if failures.height > _MOST_FAILURES:
        lines.append(f"and {failures.height - _MOST_FAILURES} more, which --json has")
    return "\n".join(lines)
