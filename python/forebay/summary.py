"""A result as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from rich import box
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from .captures import ReplayResult
from .frames import single_row
from .quantity import SECONDS, Scale, scale
from .result import Result

# A group of more flows than this becomes one row.
_MOST_FLOWS = 20
_MOST_ROWS = 20


def result_tables(result: Result) -> list[RenderableType]:
    """The tables of flows, queues and links, and a line about the run itself."""
    measured = f"{result.warmup_s:g} to {result.duration_s:g} s" if result.warmup_s else f"{result.duration_s:g} s"
    tables: list[RenderableType] = [
        f"[bold]{escape(result.scenario)}[/bold]   seed {result.seed}   measured {measured}",
        "",
    ]
    tables.append(_flows(result.flows))
    queues = result.queues
    if not queues.is_empty():
        tables.append(_queues(queues))
    links = _notable_links(result)
    if not links.is_empty():
        tables.append(_links(links, len(result.links) - len(links)))
    engine = result.engine
    tables.append(
        f"[dim]{engine.packet_hops:,} packet-hops in {engine.cpu_s:.3g} s of CPU time: "
        f"{engine.packet_hops_per_cpu_s / 1e6:.1f} million a second; {engine.peak_rss_bytes / 1e6:.0f} MB; "
        f"digest {result.digest[:16]}[/dim]"
    )
    return tables


def replay_tables(result: ReplayResult) -> list[RenderableType]:
    """Gives the table of a replay's flows, the most packets first, and lines about the whole."""
    rate = scale("rate_bps", result.rate_bps)
    queue = single_row(result.queue)
    head = f"[bold]{escape(result.capture)}[/bold]   {result.discipline} at {rate.text(result.rate_bps)} {rate.unit}"
    seen = f"{result.packets:,} packets in {result.duration_s:.4g} s, {queue['packets_dropped']:,} dropped"
    if result.packets_unselected:
        seen += f"; {result.packets_unselected:,} to other destinations left out"
    flows = result.flows.sort("packets", descending=True, maintain_order=True)
    return [f"{head}   seed {result.seed}", seen, "", _replayed_flows(flows)]


def _replayed_flows(flows: pl.DataFrame) -> Table:
    offered, delay = _unit(flows, "offered_bps"), _unit(flows, "delay_p99_s")
    table = _table(
        "Flows",
        "flow",
        "packets",
        f"offered\n{offered.unit}",
        "dropped\npackets",
        "marked\npackets",
        f"delay mean\n{delay.unit}",
        f"delay p99\n{delay.unit}",
        "belligerent\nsince s",
        "last drop\ns",
        "dropped because",
    )
    _last_column_is_text(table)
    for row in flows.head(_MOST_ROWS).iter_rows(named=True):
        table.add_row(
            row["flow"],
            f"{row['packets']:,}",
            offered.text(row["offered_bps"]),
            f"{row['packets_dropped']:,}",
            f"{row['packets_marked']:,}",
            delay.text(row["delay_mean_s"]),
            delay.text(row["delay_p99_s"]),
            SECONDS.text(row["classified_at_s"]),
            SECONDS.text(row["last_drop_s"]),
            _reasons(row),
        )
    _say_left_out(table, flows.height - _MOST_ROWS)
    return table


def _table(heading: str, *columns: str, text_columns: int = 1) -> Table:
    table = Table(title=heading, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        is_text = index < text_columns
        table.add_column(column, justify="left" if is_text else "right", no_wrap=not is_text)
    return table


def _flows(flows: pl.DataFrame) -> Table:
    goodput = _unit(flows, "goodput_bps")
    delay = _unit(flows, "delay_p99_s")
    table = _table(
        "Flows",
        "flow",
        "kind",
        f"goodput\n{goodput.unit}",
        "sent\npackets",
        "dropped\npackets",
        "marked\npackets",
        f"delay mean\n{delay.unit}",
        f"delay p99\n{delay.unit}",
        "Jain's\nindex",
        text_columns=2,
    )
    for group in flows.partition_by("group", maintain_order=True):
        if group.height > _MOST_FLOWS:
            table.add_row(*_group_row(group, goodput, delay))
            continue
        for row in group.iter_rows(named=True):
            table.add_row(
                row["name"],
                row["kind"],
                goodput.text(row["goodput_bps"]),
                f"{row['packets_sent']:,}",
                f"{row['packets_dropped']:,}",
                f"{row['packets_marked']:,}",
                delay.text(row["delay_mean_s"]),
                delay.text(row["delay_p99_s"]),
                "",
            )
    return table


def _group_row(group: pl.DataFrame, goodput: Scale, delay: Scale) -> list[str]:
    """Means over the flows of a group, and how fairly they share."""
    mean = group.select(pl.col(pl.Float64, pl.Int64).mean()).row(0, named=True)
    counts = (f"{mean[name]:,.1f}" for name in ("packets_sent", "packets_dropped", "packets_marked"))
    return [
        f"{group.item(0, 'group')}: mean of {group.height}",
        group.item(0, "kind"),
        goodput.text(mean["goodput_bps"]),
        *counts,
        delay.text(mean["delay_mean_s"]),
        delay.text(mean["delay_p99_s"]),
        f"{jain_index(group.get_column('goodput_bps')):.3f}",
    ]


def jain_index(shares: pl.Series) -> float:
    """Jain's fairness index: 1 if all shares are equal, 1/n if one of n has everything."""
    values = shares.to_numpy()
    squares = float(values @ values)
    return float(values.sum()) ** 2 / (len(values) * squares) if squares else 1.0


def _queues(queues: pl.DataFrame) -> Table:
    wait = _unit(queues, "wait_mean_s")
    table = _table(
        "Queues",
        "queue",
        "discipline",
        "arrived\npackets",
        "dropped\npackets",
        "marked\npackets",
        "length mean\npackets",
        "length max\npackets",
        f"wait mean\n{wait.unit}",
        "dropped because",
        text_columns=2,
    )
    _last_column_is_text(table)
    for row in queues.head(_MOST_ROWS).iter_rows(named=True):
        table.add_row(
            row["name"],
            row["discipline"],
            f"{row['packets_arrived']:,}",
            f"{row['packets_dropped']:,}",
            f"{row['packets_marked']:,}",
            f"{row['length_mean_packets']:.4g}",
            f"{row['length_max_packets']:,}",
            wait.text(row["wait_mean_s"]),
            _reasons(row),
        )
    _say_left_out(table, queues.height - _MOST_ROWS)
    return table


def _notable_links(result: Result) -> pl.DataFrame:
    """All links if they are few, else those with a queue of their own and the busiest."""
    links = result.links
    if links.height <= _MOST_ROWS:
        return links
    queued = links.filter(pl.col("name").is_in(result.queues.get_column("name").to_list()))
    return queued.head(_MOST_ROWS) if queued.height else links.top_k(_MOST_ROWS, by="utilization")


def _links(links: pl.DataFrame, left_out: int) -> Table:
    rate = _unit(links, "rate_bps")
    table = _table("Links", "link", f"rate\n{rate.unit}", "utilization\n%", "packets", "bytes")
    for row in links.iter_rows(named=True):
        table.add_row(
            row["name"],
            rate.text(row["rate_bps"]),
            f"{100 * row['utilization']:.2f}",
            f"{row['packets']:,}",
            f"{row['bytes']:,}",
        )
    _say_left_out(table, left_out)
    return table


def _last_column_is_text(table: Table) -> None:
    table.columns[-1].justify = "left"
    table.columns[-1].no_wrap = False


def _reasons(row: Mapping[str, Any]) -> str:
    """Why packets were dropped, and how many for each reason."""
    prefix = "dropped_"
    dropped = {name.removeprefix(prefix): count for name, count in row.items() if name.startswith(prefix) and count}
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in dropped.items())


def _say_left_out(table: Table, rows: int) -> None:
    if rows > 0:
        table.caption = f"and {rows:,} more: --json or --out has them all"
        table.caption_justify = "left"


def _unit(frame: pl.DataFrame, quantity: str) -> Scale:
    largest = frame.get_column(quantity).max()
    return scale(quantity, float(largest) if isinstance(largest, int | float) else 0.0)
