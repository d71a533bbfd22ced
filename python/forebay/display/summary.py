"""A result as tables for people."""

from __future__ import annotations

import heapq
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

from rich.console import RenderableType
from rich.markup import escape

from forebay import runs
from forebay.runs.evenness import over_all, rows_of_sets
from forebay.runs.fairness import jain
from forebay.runs.hosts import LINES, End, shares_of_hosts
from forebay.storage.document import TABLES, Document, Rows

from .folding import Column, folded
from .quantity import CI, Scale, measured_span, scale

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Limits:
    """How many rows are shown."""

    flows: int
    """Of a group of more flows, single flows are not shown."""
    rows: int


_FEW = Limits(flows=20, rows=20)
_EVERY = Limits(flows=sys.maxsize, rows=sys.maxsize)

_TABLES = tuple(table for table in TABLES if table != "queue_flows")
_ALL = "all flows"
_ENDS: dict[End, str] = {"source": "sent", "destination": "received"}
_PLAIN = Scale(1.0, "")


def result_tables(document: Document, width: int, *, every: bool = False) -> list[RenderableType]:
    """Return the tables of groups, flows, queues and links for lines of `width`, and a line about the run itself."""
    tables = _tables(_head(document, f"seed {document['seed']}"), _parts(document), width, every=every)
    tables.extend(_warnings(document))
    engine = document["engine"]
    speed = f"{engine['packet_hops_per_cpu_s'] / 1e6:.1f} million a second"
    cost = f"{engine['packet_hops']:,} packet-hops in {engine['cpu_s']:.3g} s of CPU time: {speed}"
    tables.append(f"[dim]{cost}; {engine['peak_rss_bytes'] / 1e6:.0f} MB; digest {document['digest'][:16]}[/dim]")
    return tables


def seeds_tables(documents: Sequence[Document], width: int, *, every: bool = False) -> list[RenderableType]:
    """Return the same of one scenario under several seeds: means with half their 95 % confidence intervals."""
    parts = [_parts(document) for document in documents]
    means = {name: runs.mean.mean_rows([part[name] for part in parts]) for name in parts[0]}
    tables = _tables(_head(documents[0], f"{len(documents)} seeds"), means, width, every=every)
    return [*tables, "[dim]Means over seeds ± half the 95 % confidence interval.[/]"]


def seeds_document(documents: Sequence[Document]) -> Document:
    """One scenario under several seeds as one document, as `forebay run --seeds --json` prints it.

    Tables have means, with half their 95 % intervals in `…_ci95`; `runs` has seed and digest of each run.
    """
    shared = ("scenario", "duration_s", "warmup_s")
    return {
        **{key: documents[0][key] for key in shared},
        "seeds": [document["seed"] for document in documents],
        **{table: runs.mean.mean_rows([document.get(table, []) for document in documents]) for table in _TABLES},
        "runs": [{"seed": document["seed"], "digest": document["digest"]} for document in documents],
    }


def _head(document: Document, seeds: str) -> str:
    measured = measured_span(document["warmup_s"], document["duration_s"])
    return f"[bold]{escape(document['scenario'])}[/bold]   {seeds}   {measured}"


def _parts(document: Document) -> dict[str, Sequence[Row]]:
    """Return the rows of all tables that are shown."""
    tables = {table: document.get(table, []) for table in _TABLES}
    flows = document["flows"]
    return {"groups": _group_rows(flows), "hosts": _host_rows(flows, document.get("queue_flows", [])), **tables}


def _tables(head: str, parts: Mapping[str, Sequence[Row]], width: int, *, every: bool) -> list[RenderableType]:
    limits = _EVERY if every else _FEW
    tables: list[RenderableType] = [head, "", *_groups(parts["groups"], width), *_flows(parts["flows"], width, limits)]
    if parts["hosts"]:
        tables += _hosts(parts["hosts"], width, limits.rows)
    for table, shown in (
        ("completion_times", _completion_times),
        ("collectives", _collectives),
        ("ranks", _ranks),
        ("transfers", _transfers),
    ):
        if parts[table]:
            tables += shown(parts[table], width, limits.rows)
    for title, table in (("Videos", "videos"), ("Pages", "pages"), ("Pings", "pings")):
        if parts[table]:
            tables += _outcomes(title, parts[table], width, limits.rows)
    if parts["equal_paths"]:
        tables += _equal_paths(rows_of_sets(parts["equal_paths"]), width, limits.rows)
    if parts["queues"]:
        tables += _queues(parts["queues"], width, limits.rows)
    if parts["links"]:
        tables += _links(parts["links"], set(Rows.of(parts["queues"]).column("name")), width, limits.rows)
    if parts["adapters"]:
        tables += _ports([*parts["queues"], *parts["adapters"]], width, limits.rows)
    return tables


def _group_rows(flows: Sequence[Row]) -> list[Row]:
    """Return a row for each group of flows, and one of all: means of a flow, and how fairly the flows share."""
    groups = dict(_runs(flows))
    rows = [{"name": name, "flows": len(members), **_means(members)} for name, members in groups.items()]
    return [*rows, {"name": _ALL, "flows": len(flows), "kind": "", "jain": _fairness(Rows.of(flows))}]


def _runs(flows: Sequence[Row]) -> Iterator[tuple[str, Rows]]:
    """Yield the flows of each group. They come one after the other, but those of requests and responses in turn."""
    table, start = Rows.of(flows), 0
    places: dict[str, list[range]] = {}
    for group, members in groupby(table.column("group")):
        stop = start + sum(1 for _ in members)
        places.setdefault(group, []).append(range(start, stop))
        start = stop
    for group, ranges in places.items():
        yield group, table.part(ranges[0].start, ranges[0].stop) if len(ranges) == 1 else table.pick(chain(*ranges))


def _host_rows(flows: Sequence[Row], queue_flows: Sequence[Row]) -> list[Row]:
    """Return a row for each host, and one of all, if hosts share otherwise than flows; else none.

    Each end at which they do has columns of its own, in a home named after the direction of the line.
    """
    columns = Rows.of(flows).columns
    ends = LINES if "line" in columns else _ENDS
    rows: dict[str, dict[str, Any]] = {}
    of_all: dict[str, Any] = {}
    for by, shares in shares_of_hosts(columns, Rows.of(queue_flows).columns).items():
        hosts, end = shares.hosts, ends[by]
        for name, count, goodput in zip(hosts.names, hosts.flows(), shares.goodput_bps, strict=True):
            rows.setdefault(name, {})[end] = (count, goodput)
        of_all[f"{end}_jain"] = shares.jain
    shown = [end for end in ends.values() if f"{end}_jain" in of_all]

    def row(name: str, of_host: Mapping[str, tuple[int, float]]) -> dict[str, Any]:
        cells: dict[str, Any] = {"name": name, **dict.fromkeys(of_all)}
        for end in shown:
            cells[f"{end}_flows"], cells[f"{end}_bps"] = of_host.get(end, (None, None))
        return cells

    return [row(name, of_host) for name, of_host in rows.items()] + [row(_ALL, {}) | of_all] if rows else []


def _hosts(rows: Sequence[Row], width: int, most: int) -> list[RenderableType]:
    """Return the goodput of all flows of each host, and how fairly hosts share."""
    *hosts, every = rows
    shown, columns, fairness = hosts[:most], [], []
    for end in (*_ENDS.values(), *LINES.values()):
        if f"{end}_jain" in every:
            unit = _unit(hosts, f"{end}_bps")
            columns += [
                Column(f"goodput {end}\n{unit.unit}", [_value(row, f"{end}_bps", unit) for row in shown]),
                Column(f"flows\n{end}", [_flow_count(row[f"{end}_flows"]) for row in shown], rank=1),
            ]
            fairness.append(f"{end} {_share(every, f'{end}_jain')}")
    tables = folded("host", [row["name"] for row in shown], columns, width, title="Hosts: all flows of each")
    tables[-1:] = [f"[dim]Jain's index of hosts: {', '.join(fairness)}[/]", ""]
    return tables + _more("hosts", len(hosts) - len(shown))


def _flow_count(count: float | None) -> str:
    return "-" if count is None else f"{count:,.0f}"


def _groups(rows: Sequence[Row], width: int) -> list[RenderableType]:
    """Return a row for each group of flows, if one has several."""
    *groups, every = rows
    if len(groups) == every["flows"]:
        return []
    goodput, delay = _unit(groups, "goodput_bps"), _unit(groups, "delay_p99_s")
    columns = [
        Column("kind", [row["kind"] for row in groups], rank=8, is_text=True),
        Column("flows", [f"{row['flows']:,.0f}" for row in groups], rank=3),
        Column(f"goodput\n{goodput.unit}", [_value(row, "goodput_bps", goodput) for row in groups]),
        Column("Jain's\nindex", [_share(row, "jain") for row in groups], rank=1),
        *_delays(groups, delay),
        *_quality(groups),
        *_losses(groups),
    ]
    names = [row["name"] for row in groups]
    tables = folded("group", names, columns, width, title="Groups of flows: means of a flow")
    if len(groups) > 1:
        tables[-1:] = [f"[dim]Jain's index of all {every['flows']:,.0f} flows: {_share(every, 'jain')}[/]", ""]
    return tables


def _flows(flows: Sequence[Row], width: int, limits: Limits) -> list[RenderableType]:
    """Return a row for each flow of the groups that have not too many."""
    shown = [row for _, members in _runs(flows) if len(members) <= limits.flows for row in members]
    if not shown:
        return [f"[dim]--all shows each of the {len(flows):,} flows[/]", ""] if len(flows) else []
    goodput, delay = _unit(shown, "goodput_bps"), _unit(shown, "delay_p99_s")
    columns = [
        Column("kind", [row["kind"] for row in shown], rank=8, is_text=True),
        Column(f"goodput\n{goodput.unit}", [_value(row, "goodput_bps", goodput) for row in shown]),
        *_delays(shown, delay),
        *_completion(shown),
        *_quality(shown),
        *_losses(shown),
    ]
    names = [row["name"] for row in shown]
    return folded("flow", names, columns, width, title="Flows") + _more("flows", len(flows) - len(shown))


def _transfers(transfers: Sequence[Row], width: int, most: int) -> list[RenderableType]:
    shown = transfers[:most]
    time = _unit(shown, "time_p99_s")
    columns = [
        Column("arrived", [_counted(row, "arrived") for row in shown], rank=2),
        Column("completed", [_counted(row, "completed") for row in shown]),
        Column("connections\nmax", [_counted(row, "connections_max") for row in shown], rank=3),
        Column(f"time mean\n{time.unit}", [_value(row, "time_mean_s", time) for row in shown]),
        Column(f"time p50\n{time.unit}", [_value(row, "time_p50_s", time) for row in shown], rank=1),
        Column(f"time p99\n{time.unit}", [_value(row, "time_p99_s", time) for row in shown]),
    ]
    names = [row["name"] for row in shown]
    return folded("flow", names, columns, width, title="Transfers") + _more("flows", len(transfers) - len(shown))


def _completion_times(rows: Sequence[Row], width: int, most: int) -> list[RenderableType]:
    """Return a row for each group and range of sizes of its flows."""
    shown = rows[:most]
    time = _unit(shown, "fct_p99_s")
    columns = [
        Column("flows", [_counted(row, "completed") for row in shown], rank=1),
        Column("not\nfinished", [_counted(row, "unfinished") for row in shown], rank=1),
        Column(f"time mean\n{time.unit}", [_value(row, "fct_mean_s", time) for row in shown]),
        Column(f"time p50\n{time.unit}", [_value(row, "fct_p50_s", time) for row in shown], rank=2),
        Column(f"time p95\n{time.unit}", [_value(row, "fct_p95_s", time) for row in shown], rank=4),
        Column(f"time p99\n{time.unit}", [_value(row, "fct_p99_s", time) for row in shown]),
        Column("slowdown\nmean", [_value(row, "slowdown_mean", _PLAIN) for row in shown]),
        Column("slowdown\np50", [_value(row, "slowdown_p50", _PLAIN) for row in shown], rank=2),
        Column("slowdown\np95", [_value(row, "slowdown_p95", _PLAIN) for row in shown], rank=4),
        Column("slowdown\np99", [_value(row, "slowdown_p99", _PLAIN) for row in shown]),
    ]
    names = [row["name"] for row in shown]
    title = f"Completion times: slowdown against the base {shown[0]['base']}"
    return folded("flows", names, columns, width, title=title) + _more("rows", len(rows) - len(shown))


def _collectives(rows: Sequence[Row], width: int, most: int) -> list[RenderableType]:
    """Return a row for each repetition of a collective operation, and for each trace."""
    shown = rows[:most]
    time, rate = _unit(shown, "time_s"), _unit(shown, "bus_bandwidth_bps")
    columns = [
        Column("operation", [f"{row['operation']} {row['algorithm']}".strip() for row in shown], rank=1),
        Column("hosts", [_counted(row, "hosts") for row in shown], rank=2),
        Column(f"time\n{time.unit}", [_value(row, "time_s", time) for row in shown]),
        Column(f"bus bandwidth\n{rate.unit}", [_value(row, "bus_bandwidth_bps", rate) for row in shown]),
    ]
    names = [row["name"] for row in shown]
    return folded("group", names, columns, width, title="Collectives") + _more("rows", len(rows) - len(shown))


def _ranks(rows: Sequence[Row], width: int, most: int) -> list[RenderableType]:
    """Return a row for each host of a group whose messages wait for others."""
    shown = rows[:most]
    time = _unit(shown, "end_s")
    columns = [
        Column("tasks", [_counted(row, "tasks") for row in shown], rank=1),
        Column("not\nfinished", [_counted(row, "unfinished") for row in shown], rank=1),
        Column(f"end\n{time.unit}", [_value(row, "end_s", time) for row in shown]),
    ]
    names = [row["name"] for row in shown]
    return folded("host", names, columns, width, title="Ranks") + _more("hosts", len(rows) - len(shown))


def _completion(rows: Sequence[Row]) -> list[Column]:
    """Return the completion times and slowdowns of flows, if any has a given size."""
    if all(row.get("size_bytes") is None for row in rows):
        return []
    rows = [{"fct_s": None, "slowdown": None, **row} for row in rows]
    time = _unit(rows, "fct_s")
    return [
        Column(f"time\n{time.unit}", [_value(row, "fct_s", time) for row in rows], rank=1),
        Column("slowdown", [_value(row, "slowdown", _PLAIN) for row in rows], rank=1),
    ]


_OUTCOMES = {
    "segments": ("segments", 3),
    "bitrate_mean_bps": ("bitrate", 0),
    "bitrate_changes": ("bitrate\nchanges", 2),
    "startup_s": ("start-up", 1),
    "stalls": ("stalls", 0),
    "stalled_s": ("stalled", 0),
    "segments_abandoned": ("abandoned", 3),
    "sent": ("sent", 3),
    "answered": ("answered", 0),
    "requested": ("requested", 2),
    "loaded": ("loaded", 0),
    "load_mean_s": ("time mean", 0),
    "load_p50_s": ("time p50", 1),
    "load_p95_s": ("time p95", 0),
    "load_max_s": ("time max", 2),
    "rtt_min_s": ("rtt min", 1),
    "rtt_mean_s": ("rtt mean", 0),
    "rtt_p50_s": ("rtt p50", 2),
    "rtt_p99_s": ("rtt p99", 0),
    "rtt_max_s": ("rtt max", 3),
    "jitter_s": ("jitter", 4),
}
"""Columns of the tables of applications and probes: title, and rank among those that narrow terminals leave out."""


def _outcomes(title: str, rows: Sequence[Row], width: int, most: int) -> list[RenderableType]:
    """Return the table of a kind of applications or probes."""
    shown = rows[:most]
    columns = []
    for name in filter(_OUTCOMES.__contains__, shown[0]):
        heading, rank = _OUTCOMES[name]
        if name.endswith(("_s", "_bps")):
            unit = _unit(shown, name)
            heading, cells = f"{heading}\n{unit.unit}", [_value(row, name, unit) for row in shown]
        else:
            cells = [_counted(row, name) for row in shown]
        columns.append(Column(heading, cells, rank=rank))
    names = [row["name"] for row in shown]
    return folded("flow", names, columns, width, title=title) + _more("flows", len(rows) - len(shown))


def _equal_paths(sets: Sequence[Row], width: int, most: int) -> list[RenderableType]:
    """Return the sets of equal next hops, those that are used least evenly first if they are many."""
    shown = sets if len(sets) <= most else heapq.nlargest(most, sets, key=lambda row: row["largest_over_mean"])
    total = _unit(shown, "total_bytes")
    columns = [
        Column("links", [f"{row['paths']}" for row in shown], rank=1),
        Column(f"bytes\n{total.unit}", [_value(row, "total_bytes", total) for row in shown], rank=2),
        Column("fullest\nover mean", [_value(row, "largest_over_mean", _PLAIN) for row in shown]),
    ]
    if any(row["expected_over_mean"] is not None for row in shown):
        expected = [_value(row, "expected_over_mean", _PLAIN) for row in shown]
        columns.append(Column("expected\nfrom ECMP", expected, rank=1))
    tables = folded("node", [row["name"] for row in shown], columns, width, title="Equal paths: bytes of their links")
    tables[-1:] = [f"[dim]fullest links over the mean, weighted by bytes: {over_all(sets):.4g}[/]", ""]
    return tables + _more("sets of equal paths", len(sets) - len(shown))


def _losses(rows: Sequence[Row]) -> list[Column]:
    return [
        Column("lost\n%", [_ended(row, "packets_dropped") for row in rows], rank=5),
        Column("dropped\npackets", [_counted(row, "packets_dropped") for row in rows], rank=1),
        Column("sent\npackets", [_counted(row, "packets_sent") for row in rows], rank=4),
        Column("marked\npackets", [_counted(row, "packets_marked") for row in rows], rank=6),
    ]


def _delays(rows: Sequence[Row], unit: Scale) -> list[Column]:
    return [
        Column(f"delay mean\n{unit.unit}", [_value(row, "delay_mean_s", unit) for row in rows], rank=3),
        Column(f"delay p50\n{unit.unit}", [_value(row, "delay_p50_s", unit) for row in rows], rank=7),
        Column(f"delay p99\n{unit.unit}", [_value(row, "delay_p99_s", unit) for row in rows]),
    ]


def _quality(rows: Sequence[Row]) -> list[Column]:
    """Return the mean opinion score of calls and, with a jitter buffer, the share of late packets, if there are any."""
    scores = [row.get("mos") for row in rows]
    texts = ["-" if score is None or math.isnan(score) else f"{score:.2f}" for score in scores]
    if all(text == "-" for text in texts):
        return []
    columns = [Column("MOS", texts, rank=2)]
    if "packets_late" in rows[0]:
        shares = ["-" if text == "-" else _ended(row, "packets_late") for text, row in zip(texts, rows, strict=True)]
        columns.append(Column("late\n%", shares, rank=2))
    return columns


def _means(group: Rows) -> Row:
    """One row for a group: means; of delays with the packets delivered as weights."""
    first = group[0]
    means: dict[str, Any] = {"kind": first["kind"], "jain": _fairness(group)}
    late = ("packets_late",) if "packets_late" in first else ()
    for name in ("goodput_bps", "packets_sent", "packets_delivered", "packets_dropped", "packets_marked", *late):
        values = [value or 0 for value in group.column(name)]
        means[name] = math.fsum(values) / len(values) if len(values) > 1 else first[name]
    delivered = group.column("packets_delivered")
    for name in ("delay_mean_s", "delay_p50_s", "delay_p99_s"):
        of_flows = zip(group.column(name), delivered, strict=True)
        delays = [(delay, packets) for delay, packets in of_flows if packets and delay is not None]
        total = math.fsum(delay * packets for delay, packets in delays)
        means[name] = total / math.fsum(packets for _, packets in delays) if delays else None
    if "mos" in first:
        scores = [score for score in group.column("mos") if score is not None and not math.isnan(score)]
        means["mos"] = math.fsum(scores) / len(scores) if scores else None
    return means


def _fairness(flows: Rows) -> float | None:
    """Jain's index of the flows' goodputs; of one flow, or where nothing got through, there is none."""
    shares = [goodput or 0.0 for goodput in flows.column("goodput_bps")]
    return jain(shares) if len(shares) > 1 and any(shares) else None


def _ended(row: Row, quantity: str) -> str:
    """Return the share of a number of packets among those that were dropped or delivered."""
    ended = row["packets_dropped"] + row["packets_delivered"]
    return f"{100 * row[quantity] / ended:.2f}" if ended else "-"


def _trims(rows: Sequence[Row]) -> list[Column]:
    """Return the trimmed packets, if a queue trimmed any."""
    if "packets_trimmed" not in rows[0]:
        return []
    return [Column("trimmed\npackets", [_counted(row, "packets_trimmed") for row in rows], rank=1)]


def _queues(queues: Sequence[Row], width: int, most: int) -> list[RenderableType]:
    shown = queues[:most]
    wait = _unit(shown, "wait_mean_s")
    columns = [
        Column("discipline", [row["discipline"] for row in shown], rank=2, is_text=True),
        Column("arrived\npackets", [_counted(row, "packets_arrived") for row in shown], rank=4),
        Column("dropped\npackets", [_counted(row, "packets_dropped") for row in shown]),
        Column("marked\npackets", [_counted(row, "packets_marked") for row in shown], rank=6),
        *_trims(shown),
        Column("length mean\npackets", [_value(row, "length_mean_packets", _PLAIN) for row in shown], rank=1),
        Column("length max\npackets", [_counted(row, "length_max_packets") for row in shown], rank=3),
        Column(f"wait mean\n{wait.unit}", [_value(row, "wait_mean_s", wait) for row in shown]),
        Column("state", [_memory(row["state_bytes"]) for row in shown], rank=7),
        Column("dropped because", [drop_reasons(row) for row in shown], rank=5, is_text=True),
    ]
    names = [row["name"] for row in shown]
    return folded("queue", names, columns, width, title="Queues") + _more("queues", len(queues) - len(shown))


def _links(links: Sequence[Row], queued: set[str], width: int, most: int) -> list[RenderableType]:
    """All links if they are few, else those with a queue of their own, else the busiest."""
    shown = links
    if len(links) > most:
        table = Rows.of(links)
        shown = table.find("name", queued, most) or _busiest(table, most)
    rate = _unit(shown, "rate_bps")
    columns = [
        Column(f"rate\n{rate.unit}", [rate.text(row["rate_bps"]) for row in shown], rank=1),
        Column("utilization\n%", [_percent(row, "utilization") for row in shown]),
        Column("packets", [_counted(row, "packets") for row in shown], rank=2),
        Column("bytes", [_counted(row, "bytes") for row in shown], rank=3),
    ]
    for heading in ("lost", "duplicated"):
        if any(Rows.of(links).column(f"packets_{heading}")):
            counts = [_counted(row, f"packets_{heading}") for row in shown]
            columns.append(Column(f"{heading}\npackets", counts, rank=4))
    names = [row["name"] for row in shown]
    return folded("link", names, columns, width, title="Links") + _more("links", len(links) - len(shown))


def _busiest(links: Rows, most: int) -> list[Row]:
    utilization = links.column("utilization")
    places = heapq.nsmallest(most, range(len(links)), key=lambda place: -utilization[place])
    return [links[place] for place in places]


def _ports(ports: Sequence[Row], width: int, most: int) -> list[RenderableType]:
    """Return the ports and adapters of an Ethernet, those that were stopped longest first if they are many."""
    shown = ports if len(ports) <= most else sorted(ports, key=lambda row: -row["paused_s"])[:most]
    paused = _unit(shown, "paused_s")
    columns = [
        Column(f"paused\n{paused.unit}", [_value(row, "paused_s", paused) for row in shown]),
        Column("PAUSE\nsent", [_counted(row, "pause_frames_sent") for row in shown], rank=2),
        Column("control\nsent", [_counted(row, "control_frames_sent") for row in shown], rank=3),
        Column("memory max\nbytes", [_counted(row, "memory_max_bytes") for row in shown], rank=4),
        Column("frames\nlost", [_counted(row, "frames_lost") for row in shown]),
        Column(
            "dropped at\nthe source",
            [_counted(row, "source_drops") if "source_drops" in row else "" for row in shown],
            rank=1,
        ),
    ]
    names = [row["name"] for row in shown]
    return folded("port", names, columns, width, title="Ports") + _more("ports", len(ports) - len(shown))


def run_warnings(warnings: Iterable[Mapping[str, str]]) -> list[RenderableType]:
    """Return warnings, each of which has a `text` and a `remedy`."""
    return [
        f"[yellow]warning:[/yellow] {escape(warning['text'])}\n[dim]hint: {escape(warning['remedy'])}[/dim]"
        for warning in warnings
    ]


def _warnings(document: Document) -> list[RenderableType]:
    """Return the warnings of the run, and those about faults of an Ethernet."""
    warnings = run_warnings(document["warnings"])
    ports = [*document["queues"], *document["adapters"]] if document["adapters"] else []
    lossy = [row for row in ports if row["frames_lost"] and row["pause_frames_sent"]]
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


def _more(what: str, rows: int) -> list[RenderableType]:
    return [f"[dim]and {rows:,} more {what}, which --all shows[/]", ""] if rows > 0 else []


def _value(row: Row, quantity: str, unit: Scale) -> str:
    """Return a value, and of a mean over seeds half its interval."""
    text, interval = unit.text(row[quantity]), row.get(quantity + CI)
    return text if interval is None else f"{text} ±{unit.text(interval, 2)}"


def _percent(row: Row, quantity: str) -> str:
    interval = row.get(quantity + CI)
    text = f"{100 * row[quantity]:.2f}"
    return text if interval is None else f"{text} ±{100 * interval:.2f}"


def _share(row: Row, quantity: str) -> str:
    value, interval = row[quantity], row.get(quantity + CI)
    if value is None:
        return "-"
    return f"{value:.3f}" if interval is None else f"{value:.3f} ±{interval:.3f}"


def _counted(row: Row, quantity: str) -> str:
    text, interval = _count(row[quantity]), row.get(quantity + CI)
    return text if interval is None else f"{text} ±{interval:,.1f}"


def _count(count: float | None) -> str:
    """Return a number of packets or bytes; of a mean, one decimal."""
    if count is None:
        return "-"
    return f"{count:,}" if isinstance(count, int) else f"{count:,.1f}"


def drop_reasons(row: Row) -> str:
    """Why packets were dropped, and how many for each reason."""
    prefix = "dropped_"
    counts = {name: count for name, count in row.items() if name.startswith(prefix) and not name.endswith(CI)}
    dropped = {name.removeprefix(prefix): count for name, count in counts.items() if count}
    return ", ".join(f"{name.replace('_', ' ')} {_count(count)}" for name, count in dropped.items())


def _memory(size: float) -> str:
    unit = scale("state_bytes", size)
    return f"{unit.text(size, 3)} {unit.unit}"


def _unit(rows: Iterable[Row], quantity: str) -> Scale:
    return scale(quantity, max((row[quantity] for row in rows if row[quantity] is not None), default=0.0))
