"""A comparison as a table: for a terminal, and as Markdown."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.markup import escape

from forebay.display import folding
from forebay.display.measured import PLAIN, SHARE, Column, column_of, dimmed, link_section, unit_of
from forebay.display.quantity import Scale, measured_span, scale

from .fit import notes_on

if TYPE_CHECKING:
    import polars as pl

    from .numbers import Numbers

# Tables below each other for which columns of single groups are still shown on a terminal.
_MOST_TABLES = 4


def columns_of(comparison: Numbers, *, every: bool) -> list[Column]:
    """Return the columns; with `every`, also how fairly the flows of each group share: for where there is room."""
    table = comparison.table
    groups = {name: comparison.of_group(name) for name in comparison.group_names}
    sizes = {name: int(frame.get_column("flows")[0]) for name, frame in groups.items()}

    def of_groups(section: str, metric: str, unit: Scale, better: int) -> list[Column]:
        return [
            column_of(section, _named(name, sizes[name]), frame, metric, unit, better)
            for name, frame in groups.items()
            if metric != "jain" or sizes[name] > 1
        ]

    bits = unit_of("goodput_bps", *groups.values())
    columns = of_groups("Goodput of a flow", "goodput_bps", bits, 0)
    columns.append(column_of("Fairness", "Jain's index", table, "jain", PLAIN, 1))
    for metric, ends in (("jain_source", "sources"), ("jain_destination", "destinations")):
        if _has(table, metric):
            columns.append(column_of("Fairness", f"Jain, {ends}", table, metric, PLAIN, 1))
    # With one group, that group is all.
    columns += of_groups("Fairness", "jain", PLAIN, 1) if every and len(groups) > 1 else []
    columns.append(column_of("Loss", "all", table, "loss", SHARE, 0))
    columns += of_groups("Loss", "loss", SHARE, 0)
    # A mean over groups would hide that one waits and another does not.
    time = unit_of("delay_p99_s", *groups.values())
    for name, frame in groups.items():
        whose = f" {_named(name, sizes[name])}" if len(groups) > 1 else ""
        columns.append(column_of("Delay", f"p50{whose}", frame, "delay_p50_s", time, -1))
        columns.append(column_of("Delay", f"p99{whose}", frame, "delay_p99_s", time, -1))
    for name, frame in groups.items():
        whose = f" {_named(name, sizes[name])}" if len(groups) > 1 else ""
        for metric, heading in (("slowdown_mean", "mean"), ("slowdown_p99", "p99")):
            if _has(frame, metric):
                columns.append(column_of("Slowdown", f"{heading}{whose}", frame, metric, PLAIN, -1))
    link = link_section(several_queues=comparison.several_queues)
    columns.append(column_of(link, "used", table, "utilization", SHARE, 1))
    columns.append(column_of(link, "queue", table, "length_mean_packets", Scale(1.0, "packets"), -1))
    columns.append(column_of("Cost", "state", table, "state_bytes", Scale(1.0, "B"), -1))
    columns.append(column_of("Cost", "CPU", table, "cpu_ns_per_packet", Scale(1.0, "ns a packet"), -1))
    return columns


def delay_columns(comparison: Numbers) -> list[Column]:
    """Return mean delay and jitter of each group that has it: for where there is much room."""
    columns = []
    for section, metric in (("Mean delay", "delay_mean_s"), ("Jitter", "jitter_s")):
        groups = {name: comparison.of_group(name) for name in comparison.group_names}
        known = {name: frame for name, frame in groups.items() if _has(frame, metric)}
        if known:
            unit = unit_of(metric, *known.values())
            columns += [
                column_of(section, _named(name, int(frame.get_column("flows")[0])), frame, metric, unit, -1)
                for name, frame in known.items()
            ]
    return columns


def even_share(comparison: Numbers, column: Column) -> float:
    """Return the link's rate divided by the number of flows, in the unit of a column of goodputs."""
    flows = sum(int(comparison.of_group(name).get_column("flows")[0]) for name in comparison.group_names)
    divisor = {"k": 1e3, "M": 1e6, "G": 1e9}.get(column.unit[:1], 1.0)
    return comparison.rate_bps / flows / divisor


def _has(frame: pl.DataFrame, metric: str) -> bool:
    """Return whether a metric has values, which a comparison of an older version may lack."""
    return metric in frame.columns and frame.get_column(metric).is_not_null().any()


def _named(group: str, flows: int) -> str:
    return f"{group} x{flows}" if flows > 1 else group


def terminal_tables(comparison: Numbers, width: int) -> list[RenderableType]:
    """Return a line about the whole and as many tables below each other as the width asks for."""
    names = comparison.table.get_column("queue").to_list()
    essential = {(column.section, column.heading) for column in columns_of(comparison, every=False)}
    columns = [
        folding.Column(
            f"{column.heading}\n{column.unit}",
            [dimmed(column.cell(row)) for row in range(len(names))],
            column.section,
            rank=0 if (column.section, column.heading) in essential else 1,
        )
        for column in columns_of(comparison, every=True)
    ]
    tables: list[RenderableType] = [_head(comparison), ""]
    tables += folding.folded("queue", names, columns, width, most_tables=_MOST_TABLES)
    tables += [f"[dim]{escape(line)}[/]" for line in (*_notes(comparison), *comparison.left_out)]
    return tables


def _head(comparison: Numbers) -> str:
    return f"[bold]{escape(comparison.scenario)}[/bold]   {measured_text(comparison)}"


def measured_text(comparison: Numbers) -> str:
    """How long and how often was measured: "2 s to 10 s, 3 seeds"."""
    seeds = sorted(set(comparison.table.get_column("seeds").to_list()))
    count = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    rate = scale("rate_bps", comparison.rate_bps)
    measured = measured_span(comparison.warmup_s, comparison.duration_s)
    link = f"{rate.text(comparison.rate_bps)} {rate.unit}"
    return f"{link}   {measured}   {count} seed{'' if seeds == [1] else 's'}"


def _notes(comparison: Numbers) -> list[str]:
    notes = []
    if max(comparison.table.get_column("seeds").to_list()) > 1:
        notes.append("Means over seeds ± half the 95 % confidence interval.")
    notes.append("CPU: the discipline alone, measured apart from the simulator under the load of these runs.")
    return [*notes, *notes_on(comparison.fitted)]


def markdown(comparison: Numbers) -> str:
    """Return the table as Markdown, every column a terminal shows."""
    columns = columns_of(comparison, every=False)
    names = comparison.table.get_column("queue").to_list()
    heads = [_plain(f"{_short(column)}{f', {column.unit}' if column.unit else ''}") for column in columns]
    lines = [_row(["queue", *heads]), _row(["---", *["---:"] * len(columns)])]
    lines += [_row([_code(name), *[column.cell(row) for column in columns]]) for row, name in enumerate(names)]
    return "\n".join(lines) + "\n"


def _short(column: Column) -> str:
    words: dict[str, Any] = {
        "Goodput of a flow": f"goodput {column.heading}",
        "Loss": f"loss {column.heading}",
        "Delay": f"delay {column.heading}",
        "Link": "link used" if column.heading == "used" else "mean queue",
        "Mean of all ports": f"mean of all ports: {column.heading}",
    }
    return str(words.get(column.section, column.heading))


def _code(name: str) -> str:
    """Return a name between backticks, more of them than it holds in a row."""
    name = _one_line(name)
    fence = "`" * (max((len(run) for run in re.findall("`+", name)), default=0) + 1)
    edge = " " if "`" in name or not name.strip() else ""
    return f"{fence}{edge}{name}{edge}{fence}"


def _plain(text: str) -> str:
    """Text in which Markdown and HTML find no marks of theirs."""
    return re.sub(r"([\\`*_\[\]~#!$])", r"\\\1", html.escape(_one_line(text), quote=False))


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
