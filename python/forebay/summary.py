"""A result as tables for people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from .document import Document
from .quantity import SECONDS, Scale, scale

Row = Mapping[str, Any]

# A group of more flows than this becomes one row.
_MOST_FLOWS = 20
_MOST_ROWS = 20


def result_tables(document: Document) -> list[RenderableType]:
    """Gives the tables of flows, queues and links, and a line about the run itself."""
    warmup_s, duration_s = document["warmup_s"], document["duration_s"]
    measured = f"{warmup_s:g} s to {duration_s:g} s" if warmup_s else f"{duration_s:g} s"
    head = f"[bold]{escape(document['scenario'])}[/bold]   seed {document['seed']}   measured {measured}"
    tables: list[RenderableType] = [head, "", _flows(document["flows"])]
    if document["queues"]:
        tables.append(_queues(document["queues"]))
    if document["links"]:
        tables.append(_links(document["links"], queued={row["name"] for row in document["queues"]}))
    if document["ports"]:
        tables.append(_ports(document["ports"]))
    tables.extend(_warnings(document))
    engine = document["engine"]
    speed = f"{engine['packet_hops_per_cpu_s'] / 1e6:.1f} million a second"
    cost = f"{engine['packet_hops']:,} packet-hops in {engine['cpu_s']:.3g} s of CPU time: {speed}"
    tables.append(f"[dim]{cost}; {engine['peak_rss_bytes'] / 1e6:.0f} MB; digest {document['digest'][:16]}[/dim]")
    return tables


def replay_tables(document: Document) -> list[RenderableType]:
    """Gives the table of a replay's flows, those with most packets first, and lines about the whole."""
    rate = scale("rate_bps", document["rate_bps"])
    port = f"{document['discipline']} at {rate.text(document['rate_bps'])} {rate.unit}"
    dropped = document["queue"]["packets_dropped"]
    seen = f"{document['packets']:,} packets in {document['duration_s']:.4g} s, {dropped:,} dropped"
    if document["packets_unselected"]:
        seen += f"; {document['packets_unselected']:,} to other destinations left out"
    flows = sorted(document["flows"], key=lambda row: -row["packets"])
    head = f"[bold]{escape(document['capture'])}[/bold]   {port}   seed {document['seed']}"
    return [head, seen, "", _replayed_flows(flows)]


def jain_index(shares: Sequence[float]) -> float:
    """Jain's fairness index: 1 if all shares are equal, 1/n if one of n has everything, NaN if nobody has anything."""
    squares = math.fsum(share * share for share in shares)
    return math.fsum(shares) ** 2 / (len(shares) * squares) if squares else math.nan


def _flows(flows: list[Row]) -> Table:
    goodput, delay = _unit(flows, "goodput_bps"), _unit(flows, "delay_p99_s")
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
        texts=2,
    )
    for _, members in groupby(flows, key=lambda row: row["group"]):
        group = list(members)
        rows = [_mean_of(group)] if len(group) > _MOST_FLOWS else group
        for row in rows:
            table.add_row(
                escape(row["name"]),
                row["kind"],
                goodput.text(row["goodput_bps"]),
                _count(row["packets_sent"]),
                _count(row["packets_dropped"]),
                _count(row["packets_marked"]),
                delay.text(row["delay_mean_s"]),
                delay.text(row["delay_p99_s"]),
            )
    return table


def _mean_of(group: list[Row]) -> Row:
    """One row for a large group: means, and how fairly its flows share."""
    shares = [row["goodput_bps"] or 0.0 for row in group]
    fairness = f"Jain's index {jain_index(shares):.3f}" if any(shares) else "nothing got through"
    name = f"{group[0]['group']}: mean of {len(group)}, {fairness}"
    quantities = ("goodput_bps", "packets_sent", "packets_dropped", "packets_marked", "delay_mean_s", "delay_p99_s")
    known = {name: [row[name] for row in group if row[name] is not None] for name in quantities}
    means = {name: fmean(values) if values else None for name, values in known.items()}
    return {"name": name, "kind": group[0]["kind"], **means}


def _queues(queues: list[Row]) -> Table:
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
        texts=2,
    )
    _last_column_is_text(table)
    for row in queues[:_MOST_ROWS]:
        table.add_row(
            escape(row["name"]),
            row["discipline"],
            _count(row["packets_arrived"]),
            _count(row["packets_dropped"]),
            _count(row["packets_marked"]),
            f"{row['length_mean_packets']:.4g}",
            _count(row["length_max_packets"]),
            wait.text(row["wait_mean_s"]),
            _reasons(row),
        )
    _say_left_out(table, len(queues) - _MOST_ROWS)
    return table


def _links(links: list[Row], queued: set[str]) -> Table:
    """All links if they are few, else those with a queue of their own, else the busiest."""
    shown = links
    if len(links) > _MOST_ROWS:
        busiest = sorted(links, key=lambda row: -row["utilization"])
        shown = ([row for row in links if row["name"] in queued] or busiest)[:_MOST_ROWS]
    rate = _unit(shown, "rate_bps")
    table = _table("Links", "link", f"rate\n{rate.unit}", "utilization\n%", "packets", "bytes")
    for row in shown:
        share = f"{100 * row['utilization']:.2f}"
        table.add_row(
            escape(row["name"]), rate.text(row["rate_bps"]), share, _count(row["packets"]), _count(row["bytes"])
        )
    _say_left_out(table, len(links) - len(shown))
    return table


def _ports(ports: list[Row]) -> Table:
    """The ports of an Ethernet, those that were stopped longest first if they are many."""
    shown = ports if len(ports) <= _MOST_ROWS else sorted(ports, key=lambda row: -row["paused_s"])[:_MOST_ROWS]
    paused = _unit(shown, "paused_s")
    table = _table(
        "Ports",
        "port",
        f"paused\n{paused.unit}",
        "PAUSE\nsent",
        "control\nsent",
        "memory max\nbytes",
        "frames\nlost",
        "dropped at\nthe source",
    )
    for row in shown:
        table.add_row(
            escape(row["name"]),
            paused.text(row["paused_s"]),
            _count(row["pause_frames_sent"]),
            _count(row["control_frames_sent"]),
            _count(row["memory_max_bytes"]),
            _count(row["frames_lost"]),
            _count(row["source_drops"]),
        )
    _say_left_out(table, len(ports) - len(shown))
    return table


def _warnings(document: Document) -> list[RenderableType]:
    """What an Ethernet is not supposed to do."""
    warnings: list[RenderableType] = []
    lossy = [row for row in document["ports"] if row["frames_lost"] and row["pause_frames_sent"]]
    if lossy:
        lost, worst = sum(row["frames_lost"] for row in lossy), max(lossy, key=lambda row: row["frames_lost"])
        text = f"{lost:,} frames were lost in spite of PAUSE, most of them at {worst['name']}"
        remedy = "leave more memory above the high watermark"
        warnings.append(f"[yellow]warning:[/yellow] {escape(text)}\n[dim]hint: {remedy}[/dim]")
    if deadlock := document["deadlock"]:
        ring = " waits for ".join([*deadlock["links"], deadlock["links"][0]])
        text = f"deadlock since {deadlock['since_s']:.6g} s: {ring}"
        remedy = "no set of routes may let buffers wait for each other in a ring"
        warnings.append(f"[yellow]warning:[/yellow] {escape(text)}\n[dim]hint: {remedy}[/dim]")
    return warnings


def _replayed_flows(flows: list[Row]) -> Table:
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
    for row in flows[:_MOST_ROWS]:
        table.add_row(
            escape(row["flow"]),
            _count(row["packets"]),
            offered.text(row["offered_bps"]),
            _count(row["packets_dropped"]),
            _count(row["packets_marked"]),
            delay.text(row["delay_mean_s"]),
            delay.text(row["delay_p99_s"]),
            SECONDS.text(row["classified_at_s"]),
            SECONDS.text(row["last_drop_s"]),
            _reasons(row),
        )
    _say_left_out(table, len(flows) - _MOST_ROWS)
    return table


def _table(heading: str, *columns: str, texts: int = 1) -> Table:
    """An empty table of which the first `texts` columns hold text and the others numbers."""
    table = Table(title=heading, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        is_text = index < texts
        table.add_column(column, justify="left" if is_text else "right", no_wrap=not is_text)
    return table


def _last_column_is_text(table: Table) -> None:
    table.columns[-1].justify = "left"
    table.columns[-1].no_wrap = False


def _say_left_out(table: Table, rows: int) -> None:
    if rows > 0:
        table.caption = f"and {rows:,} more, which --json shows"
        table.caption_justify = "left"


def _count(count: float | None) -> str:
    """A number of packets or bytes; of a mean, one decimal."""
    if count is None:
        return "-"
    return f"{count:,}" if isinstance(count, int) else f"{count:,.1f}"


def _reasons(row: Row) -> str:
    """Why packets were dropped, and how many for each reason."""
    prefix = "dropped_"
    dropped = {name.removeprefix(prefix): count for name, count in row.items() if name.startswith(prefix) and count}
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in dropped.items())


def _unit(rows: Iterable[Row], quantity: str) -> Scale:
    return scale(quantity, max((row[quantity] for row in rows if row[quantity] is not None), default=0.0))
