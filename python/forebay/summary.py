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
from .folding import Column, folded
from .quantity import Scale, scale

Row = Mapping[str, Any]

# Of a group of more flows than this, single flows are not shown.
_MOST_FLOWS = 20
_MOST_ROWS = 20


def result_tables(document: Document, width: int) -> list[RenderableType]:
    """Gives the tables of groups, flows, queues and links for lines of `width`, and a line about the run itself."""
    warmup_s, duration_s = document["warmup_s"], document["duration_s"]
    measured = f"{warmup_s:g} s to {duration_s:g} s" if warmup_s else f"{duration_s:g} s"
    head = f"[bold]{escape(document['scenario'])}[/bold]   seed {document['seed']}   measured {measured}"
    flows = document["flows"]
    tables: list[RenderableType] = [head, "", *_groups(flows, width), *_flows(flows, width)]
    if document["queues"]:
        tables += _queues(document["queues"], width)
    if document["links"]:
        tables += _links(document["links"], {row["name"] for row in document["queues"]}, width)
    if document["ports"]:
        tables += _ports(document["ports"], width)
    tables.extend(_warnings(document))
    engine = document["engine"]
    speed = f"{engine['packet_hops_per_cpu_s'] / 1e6:.1f} million a second"
    cost = f"{engine['packet_hops']:,} packet-hops in {engine['cpu_s']:.3g} s of CPU time: {speed}"
    tables.append(f"[dim]{cost}; {engine['peak_rss_bytes'] / 1e6:.0f} MB; digest {document['digest'][:16]}[/dim]")
    return tables


def jain_index(shares: Sequence[float]) -> float:
    """Jain's fairness index: 1 if all shares are equal, 1/n if one of n has everything, NaN if nobody has anything."""
    squares = math.fsum(share * share for share in shares)
    return math.fsum(shares) ** 2 / (len(shares) * squares) if squares else math.nan


def _groups(flows: list[Row], width: int) -> list[RenderableType]:
    """A row for each group of flows, if one has several: means of a flow, and how fairly its flows share."""
    groups = {name: list(members) for name, members in groupby(flows, key=lambda row: row["group"])}
    if len(groups) == len(flows):
        return []
    rows = [_means(members) for members in groups.values()]
    goodput, delay = _unit(rows, "goodput_bps"), _unit(rows, "delay_p99_s")
    columns = [
        Column("kind", [row["kind"] for row in rows], rank=8, is_text=True),
        Column("flows", [_count(len(members)) for members in groups.values()], rank=3),
        Column(f"goodput\n{goodput.unit}", [goodput.text(row["goodput_bps"]) for row in rows]),
        Column("Jain's\nindex", [_fairness(members) for members in groups.values()], rank=1),
        *_delays(rows, delay),
        *_losses(rows),
    ]
    tables = folded("group", list(groups), columns, width, title="Groups of flows: means of a flow")
    if len(groups) > 1:
        tables[-1:] = [f"[dim]Jain's index of all {len(flows):,} flows: {_fairness(flows)}[/]", ""]
    return tables


def _flows(flows: list[Row], width: int) -> list[RenderableType]:
    """A row for each flow of the groups that have not too many."""
    groups = [list(members) for _, members in groupby(flows, key=lambda row: row["group"])]
    shown = [row for members in groups if len(members) <= _MOST_FLOWS for row in members]
    if not shown:
        return []
    goodput, delay = _unit(shown, "goodput_bps"), _unit(shown, "delay_p99_s")
    columns = [
        Column("kind", [row["kind"] for row in shown], rank=8, is_text=True),
        Column(f"goodput\n{goodput.unit}", [goodput.text(row["goodput_bps"]) for row in shown]),
        *_delays(shown, delay),
        *_losses(shown),
    ]
    names = [row["name"] for row in shown]
    return folded("flow", names, columns, width, title="Flows") + _more("flows", len(flows) - len(shown))


def _losses(rows: list[Row]) -> list[Column]:
    return [
        Column("lost\n%", [_lost(row) for row in rows], rank=5),
        Column("dropped\npackets", [_count(row["packets_dropped"]) for row in rows], rank=1),
        Column("sent\npackets", [_count(row["packets_sent"]) for row in rows], rank=4),
        Column("marked\npackets", [_count(row["packets_marked"]) for row in rows], rank=6),
    ]


def _delays(rows: list[Row], unit: Scale) -> list[Column]:
    return [
        Column(f"delay mean\n{unit.unit}", [unit.text(row["delay_mean_s"]) for row in rows], rank=3),
        Column(f"delay p50\n{unit.unit}", [unit.text(row["delay_p50_s"]) for row in rows], rank=7),
        Column(f"delay p99\n{unit.unit}", [unit.text(row["delay_p99_s"]) for row in rows]),
    ]


def _means(group: list[Row]) -> Row:
    """One row for a group: means; of delays with the packets delivered as weights."""
    means: dict[str, Any] = {"kind": group[0]["kind"]}
    for name in ("goodput_bps", "packets_sent", "packets_delivered", "packets_dropped", "packets_marked"):
        means[name] = fmean(row[name] or 0 for row in group) if len(group) > 1 else group[0][name]
    delivered = [row for row in group if row["packets_delivered"]]
    for name in ("delay_mean_s", "delay_p50_s", "delay_p99_s"):
        known = [(row[name], row["packets_delivered"]) for row in delivered if row[name] is not None]
        means[name] = fmean(*zip(*known, strict=True)) if known else None
    return means


def _fairness(flows: list[Row]) -> str:
    """Jain's index of the flows' goodputs; of one flow, or where nothing got through, there is none."""
    shares = [row["goodput_bps"] or 0.0 for row in flows]
    return f"{jain_index(shares):.3f}" if len(shares) > 1 and any(shares) else "-"


def _lost(row: Row) -> str:
    """Packets dropped, of those that were dropped or delivered."""
    ended = row["packets_dropped"] + row["packets_delivered"]
    return f"{100 * row['packets_dropped'] / ended:.2f}" if ended else "-"


def _queues(queues: list[Row], width: int) -> list[RenderableType]:
    shown = queues[:_MOST_ROWS]
    wait = _unit(shown, "wait_mean_s")
    columns = [
        Column("discipline", [row["discipline"] for row in shown], rank=2, is_text=True),
        Column("arrived\npackets", [_count(row["packets_arrived"]) for row in shown], rank=4),
        Column("dropped\npackets", [_count(row["packets_dropped"]) for row in shown]),
        Column("marked\npackets", [_count(row["packets_marked"]) for row in shown], rank=6),
        Column("length mean\npackets", [f"{row['length_mean_packets']:.4g}" for row in shown], rank=1),
        Column("length max\npackets", [_count(row["length_max_packets"]) for row in shown], rank=3),
        Column(f"wait mean\n{wait.unit}", [wait.text(row["wait_mean_s"]) for row in shown]),
        Column("state", [_memory(row["state_bytes"]) for row in shown], rank=7),
        Column("dropped because", [drop_reasons(row) for row in shown], rank=5, is_text=True),
    ]
    names = [row["name"] for row in shown]
    return folded("queue", names, columns, width, title="Queues") + _more("queues", len(queues) - len(shown))


def _links(links: list[Row], queued: set[str], width: int) -> list[RenderableType]:
    """All links if they are few, else those with a queue of their own, else the busiest."""
    shown = links
    if len(links) > _MOST_ROWS:
        busiest = sorted(links, key=lambda row: -row["utilization"])
        shown = ([row for row in links if row["name"] in queued] or busiest)[:_MOST_ROWS]
    rate = _unit(shown, "rate_bps")
    columns = [
        Column(f"rate\n{rate.unit}", [rate.text(row["rate_bps"]) for row in shown], rank=1),
        Column("utilization\n%", [f"{100 * row['utilization']:.2f}" for row in shown]),
        Column("packets", [_count(row["packets"]) for row in shown], rank=2),
        Column("bytes", [_count(row["bytes"]) for row in shown], rank=3),
    ]
    names = [row["name"] for row in shown]
    return folded("link", names, columns, width, title="Links") + _more("links", len(links) - len(shown))


def _ports(ports: list[Row], width: int) -> list[RenderableType]:
    """The ports of an Ethernet, those that were stopped longest first if they are many."""
    shown = ports if len(ports) <= _MOST_ROWS else sorted(ports, key=lambda row: -row["paused_s"])[:_MOST_ROWS]
    paused = _unit(shown, "paused_s")
    columns = [
        Column(f"paused\n{paused.unit}", [paused.text(row["paused_s"]) for row in shown]),
        Column("PAUSE\nsent", [_count(row["pause_frames_sent"]) for row in shown], rank=2),
        Column("control\nsent", [_count(row["control_frames_sent"]) for row in shown], rank=3),
        Column("memory max\nbytes", [_count(row["memory_max_bytes"]) for row in shown], rank=4),
        Column("frames\nlost", [_count(row["frames_lost"]) for row in shown]),
        Column("dropped at\nthe source", [_count(row["source_drops"]) for row in shown], rank=1),
    ]
    names = [row["name"] for row in shown]
    return folded("port", names, columns, width, title="Ports") + _more("ports", len(ports) - len(shown))


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


def _more(what: str, rows: int) -> list[RenderableType]:
    return [f"[dim]and {rows:,} more {what}, which --json shows[/]", ""] if rows > 0 else []


def _count(count: float | None) -> str:
    """A number of packets or bytes; of a mean, one decimal."""
    if count is None:
        return "-"
    return f"{count:,}" if isinstance(count, int) else f"{count:,.1f}"


def drop_reasons(row: Row) -> str:
    """Why packets were dropped, and how many for each reason."""
    prefix = "dropped_"
    dropped = {name.removeprefix(prefix): count for name, count in row.items() if name.startswith(prefix) and count}
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in dropped.items())


def _memory(size: float) -> str:
    unit = scale("state_bytes", size)
    return f"{unit.text(size, 3)} {unit.unit}"


def _unit(rows: Iterable[Row], quantity: str) -> Scale:
    return scale(quantity, max((row[quantity] for row in rows if row[quantity] is not None), default=0.0))
