"""A comparison as a table: for a terminal, and as Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
from rich import box
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from forebay.quantity import Scale, scale

from .result import CI

if TYPE_CHECKING:
    from .result import Comparison

_SHARE = Scale(0.01, "%")
_PLAIN = Scale(1.0, "")


@dataclass(frozen=True)
class Column:
    """One column: a metric of the whole, or of a group of flows."""

    section: str
    heading: str
    unit: str
    values: list[float | None]
    """In the unit."""
    intervals: list[float | None]
    """Half the 95 % intervals, in the unit."""
    better: int
    """1 where more is better, -1 where less is, 0 where neither can be said."""
    most: float | None = None
    """The largest value that there can be."""
    most_decimals: int = 4
    texts: list[str] | None = None
    """The cells, where they are not values in one unit."""

    def cell(self, row: int) -> str:
        """Value and interval, such as "16.7 ±0.2"."""
        if self.texts is not None:
            return self.texts[row]
        value, interval = self.values[row], self.intervals[row]
        if value is None:
            return "-"
        # Three digits of the value, and no more than the largest of the column needs.
        largest = max((abs(it) for it in self.values if it is not None), default=0.0)
        decimals = max(0, min(2 - _exponent(value), 4 - _exponent(largest), self.most_decimals))
        if self.most == 1.0:
            decimals = 3
        text = f"{value:,.{decimals}f}"
        return text if interval is None else f"{text} ±{interval:,.{decimals}f}"


def _exponent(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value else 0


def columns_of(comparison: Comparison, *, every: bool) -> list[Column]:
    """The columns; with `every`, those of single groups that a terminal has no room for too."""
    table = comparison.table
    groups = {name: comparison.of_group(name) for name in comparison.group_names}
    sizes = {name: int(frame.get_column("flows")[0]) for name, frame in groups.items()}

    def of_groups(section: str, metric: str, unit: Scale, better: int, heading: str = "") -> list[Column]:
        return [
            _column(section, heading + _named(name, sizes[name]), frame, metric, unit, better)
            for name, frame in groups.items()
            if metric != "jain" or sizes[name] > 1
        ]

    bits = _unit("goodput_bps", *groups.values())
    columns = of_groups("Goodput of a flow", "goodput_bps", bits, 0)
    columns.append(_column("Fairness", "all" if every else "Jain's index", table, "jain", _PLAIN, 1))
    columns += of_groups("Fairness", "jain", _PLAIN, 1) if every else []
    columns.append(_column("Loss", "all", table, "loss", _SHARE, 0))
    columns += of_groups("Loss", "loss", _SHARE, 0)
    time = _unit("delay_p99_s", table, *(groups.values() if every else ()))
    columns.append(_column("Delay", "p50", table, "delay_p50_s", time, -1))
    columns.append(_column("Delay", "p99", table, "delay_p99_s", time, -1))
    columns += of_groups("Delay", "delay_p99_s", time, -1, "p99 ") if every and len(groups) > 1 else []
    columns.append(_column("Link", "used", table, "utilization", _SHARE, 1))
    columns.append(_column("Link", "queue", table, "length_mean_packets", Scale(1.0, "packets"), -1))
    columns.append(_column("Cost", "state", table, "state_bytes", Scale(1.0, "B"), -1))
    columns.append(_column("Cost", "CPU", table, "cpu_ns_per_packet", Scale(1.0, "ns a packet"), -1))
    return columns


def _named(group: str, flows: int) -> str:
    return f"{group} x{flows}" if flows > 1 else group


def _unit(metric: str, *frames: pl.DataFrame) -> Scale:
    """The unit that fits the largest value of these frames."""
    values = [value for frame in frames for value in frame.get_column(metric).to_list() if value is not None]
    return scale(metric, max(values, default=0.0))


def _column(section: str, heading: str, frame: pl.DataFrame, metric: str, unit: Scale, better: int) -> Column:
    values: list[float | None] = frame.get_column(metric).to_list()
    has_interval = metric + CI in frame.columns
    intervals: list[float | None] = frame.get_column(metric + CI).to_list() if has_interval else [None] * len(values)

    def scaled(numbers: Sequence[float | None]) -> list[float | None]:
        return [None if number is None else number / unit.divisor for number in numbers]

    texts = None
    if metric == "state_bytes":
        texts = ["-" if value is None else size_text(value) for value in values]
    return Column(
        section,
        heading,
        "" if texts else unit.unit,
        scaled(values),
        scaled(intervals),
        better,
        most={"jain": 1.0, "loss": 100.0, "utilization": 100.0}.get(metric),
        most_decimals=2 if unit is _SHARE else 4,
        texts=texts,
    )


def size_text(value: float) -> str:
    """Bytes in the unit that fits: "132 kB"."""
    unit = scale("_bytes", value)
    return f"{unit.text(value, 3)} {unit.unit}" if unit.divisor > 1 else f"{value:.0f} B"


def terminal_tables(comparison: Comparison, width: int) -> list[RenderableType]:
    """A line about the whole and as many tables side by side or below each other as the width asks for."""
    names = comparison.table.get_column("queue").to_list()
    columns = columns_of(comparison, every=False)
    name_width = max(len(name) for name in [*names, "queue"])
    tables: list[RenderableType] = [_head(comparison), ""]
    for part in _packed(columns, len(names), width - name_width - 1):
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
        table.add_column("\n\nqueue", no_wrap=True)
        previous = ""
        for column in part:
            section = column.section if column.section != previous else ""
            previous = column.section
            table.add_column(
                f"[bold]{section}[/]\n{escape(column.heading)}\n{column.unit}", justify="right", no_wrap=True
            )
        for row, name in enumerate(names):
            table.add_row(escape(name), *[_dimmed(column.cell(row)) for column in part])
        tables += [table, ""]
    tables += [f"[dim]{escape(line)}[/]" for line in (*_notes(comparison), *comparison.left_out)]
    return tables


def _dimmed(cell: str) -> Text:
    value, sign, interval = cell.partition(" ±")
    return Text.assemble(value, (f"{sign}{interval}", "dim"))


def _packed(columns: list[Column], rows: int, width: int) -> list[list[Column]]:
    """The columns in as few tables as the width allows, each section in one if it fits."""
    parts: list[list[Column]] = []
    room = 0
    sections = list(dict.fromkeys(column.section for column in columns))
    for section in sections:
        members = [column for column in columns if column.section == section]
        sizes = [_width(column, rows) for column in members]
        if parts and sum(sizes) <= room:
            parts[-1] += members
            room -= sum(sizes)
            continue
        for column, size in zip(members, sizes, strict=True):
            if not parts or size > room or column is members[0]:
                parts.append([])
                room = width
            parts[-1].append(column)
            room -= size
    return parts


def _width(column: Column, rows: int) -> int:
    texts = [column.section, column.heading, column.unit, *(column.cell(row) for row in range(rows))]
    return max(map(len, texts)) + 2


def _head(comparison: Comparison) -> str:
    return f"[bold]{escape(comparison.scenario)}[/bold]   {measured_text(comparison)}"


def measured_text(comparison: Comparison) -> str:
    """How long and how often was measured: "2 s to 10 s, 3 seeds"."""
    seeds = sorted(set(comparison.table.get_column("seeds").to_list()))
    count = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    rate = scale("rate_bps", comparison.rate_bps)
    span = f"{comparison.warmup_s:g} s to {comparison.duration_s:g} s" if comparison.warmup_s else ""
    measured = f"measured {span or f'{comparison.duration_s:g} s'}"
    link = f"{rate.text(comparison.rate_bps)} {rate.unit}"
    return f"{link}   {measured}   {count} seed{'' if seeds == [1] else 's'}"


def _notes(comparison: Comparison) -> list[str]:
    notes = []
    if max(comparison.table.get_column("seeds").to_list()) > 1:
        notes.append("Means over seeds ± half the 95 % confidence interval.")
    notes.append("CPU: the discipline alone, measured apart from the simulator under the load of these runs.")
    return notes


def markdown(comparison: Comparison) -> str:
    """The table as Markdown, every column a terminal shows."""
    columns = columns_of(comparison, every=False)
    names = comparison.table.get_column("queue").to_list()
    heads = [f"{_short(column)}{f', {column.unit}' if column.unit else ''}" for column in columns]
    lines = [_row(["queue", *heads]), _row(["---", *["---:"] * len(columns)])]
    lines += [_row([f"`{name}`", *[column.cell(row) for column in columns]]) for row, name in enumerate(names)]
    return "\n".join(lines) + "\n"


def _short(column: Column) -> str:
    words: dict[str, Any] = {
        "Goodput of a flow": f"goodput {column.heading}",
        "Loss": f"loss {column.heading}",
        "Delay": f"delay {column.heading}",
        "Link": "link used" if column.heading == "used" else "mean queue",
    }
    return str(words.get(column.section, column.heading))


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
