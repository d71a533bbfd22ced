"""A finished run as a section, and several side by side."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from forebay.display.figure import is_wide
from forebay.display.quantity import label, scale, title
from forebay.folder import SCENARIO_FILE
from forebay.result import Result
from forebay.runs.completion import slowdown_curves
from forebay.runs.congestion import OF_PORTS, busiest_first, by_congestion, congested
from forebay.runs.evenness import over_all, rows_of_sets
from forebay.runs.fairness import jain
from forebay.runs.hosts import End, Shares, shares_of_hosts
from forebay.runs.measures import measure_result
from forebay.runs.senders import watched_senders
from forebay.runs.series import Series
from forebay.storage.stored import scenario_text

from .conclusion import of_run, of_runs
from .delays import delay_charts, distribution_lines
from .over_time import (
    against_time,
    fairness_over_time,
    heading_of,
    over_time,
    queues_over_time,
    sender_charts,
    time_text,
    total,
)
from .parts import MOST_LINES, Chart, Charts, Line, Lines, Mark, Part, Rows, Section, Terms, Text, Values
from .repeat import options_of
from .tables import number_text, table_of

_TABLES = {
    "flows": "Flows",
    "completion_times": "Completion times",
    "collectives": "Collectives",
    "ranks": "Ranks",
    "transfers": "Transfers",
    "videos": "Videos",
    "pages": "Pages",
    "pings": "Pings",
    "equal_paths": "Equal paths",
    "queues": "Queues",
    "links": "Links",
    "adapters": "Adapters",
    "queue_flows": "Flows at queues",
}
_MEANINGS = {
    "Goodput": "TCP: payload delivered in order to the application. UDP, cells and frames: whole packets delivered, "
    "with the length that the scenario gives, headers included; calls and games without headers",
    "Delay": "one-way, of delivered packets, from the source's sending to the sink",
    "Hosts": "all flows that a host sends (source) or receives (destination); in a home, over its line",
    "Completion time": "of flows of a given size: from the start until the sender has the last acknowledgment",
    "Slowdown": "the completion time as a multiple of the time that the flow takes alone, which the base defines",
    "Jitter": "of UDP: the mean difference between the delays of consecutive packets (RFC 3550)",
    "Stalls": "of videos: how often the buffer ran empty before the end, and for how long in all",
    "Page load time": "from the request of a page's main object to the last byte of the page",
    "Round-trip time": "of pings: from the sending of a packet to its return",
    "Largest over mean": "bytes of the fullest link of a set of equal next hops, over the mean of its links; expected: "
    "that of a hash of the same flows (ECMP)",
    "Utilization": "share of the time in which a link was sending",
    "State": "the most memory that the discipline's own tables were seen to take, without the queued packets",
}
_MOST_ROWS = 40
_OPEN_SENDERS = 4
_STATES = (
    "Bands are states of the sender. The steady one has none (congestion avoidance, or BBR's probe_bw or "
    "probe_bw_cruise), nor has a state with too many periods: forebay plot shows a row for each."
)
_GROUP_COLUMNS = ("goodput_bps", "jain", "loss", "delay_mean_s", "delay_p99_s", "jitter_s")
_PERCENTILES = (("delay_p50_s", 50.0), ("delay_p95_s", 95.0), ("delay_p99_s", 99.0), ("delay_max_s", 100.0))


def run_section(result: Result, heading: str, folder: Path) -> Section:
    """All of a run: its series and percentiles as charts, its tables whole."""
    scenario = scenario_text(folder)
    parts: list[Part] = [_charts(result), *_senders(result)]
    more = _more_series(result)
    if more:
        parts.append(Charts("More over time", more, folded=True))
    for name, heading_of_table in _TABLES.items():
        frame: pl.DataFrame = getattr(result, name)
        if frame.height:
            shown = _shown(name, frame)
            parts.append(table_of(shown, heading_of_table, str(folder / f"{name}.parquet")))
        if name == "flows" and (ends := list(_shares_of_hosts(result))):
            parts.append(table_of(result.hosts.filter(pl.col("by").is_in(ends)), "Hosts"))
    parts.append(Terms("Meanings", list(_MEANINGS.items())))
    if scenario is not None:
        parts.append(Text("Scenario", SCENARIO_FILE, scenario))
    return Section(
        heading,
        conclusion=of_run(result),
        facts=_facts(result),
        warnings=_warnings(result),
        repeat=_repeat(result, folder, scenario) if scenario is not None else "",
        parts=parts,
    )


def _shown(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a table in the order, and as far summed up, as a reader wants them."""
    if name == "queues":
        return by_congestion(frame)
    if name == "equal_paths":
        return pl.DataFrame(rows_of_sets(frame.iter_rows(named=True)))
    return frame


def runs_beside(results: Mapping[str, Result]) -> Section:
    """Several runs on common axes, and their totals in one table."""
    totals = [{"run": name, **_totals(result)} for name, result in results.items()]
    frame = pl.DataFrame(totals, schema_overrides={"seed": pl.UInt64}, infer_schema_length=None)
    groups = [{"run": name, **row} for name, result in results.items() for row in _groups(result)]
    note = f"The first {MOST_LINES} of {len(results)} runs." if len(results) > MOST_LINES else ""
    shown = dict(list(results.items())[:MOST_LINES])
    charts = [*_lines_beside(shown), *_delays_beside(shown)]
    by_group = pl.DataFrame(groups, infer_schema_length=None)
    parts: list[Part] = [table_of(by_group, "Groups of flows"), table_of(frame, "All flows and the longest queue")]
    if charts:
        parts.insert(0, Charts("On common axes", charts, note))
    return Section("The runs side by side", conclusion=of_runs(results), parts=parts)


def _facts(result: Result) -> list[tuple[str, str]]:
    flows = result.flows
    facts = [
        ("Scenario", result.scenario),
        ("Seed", str(result.seed)),
        ("Measured", f"{time_text(result.warmup_s)} to {time_text(result.duration_s)}"),
        ("Flows", f"{flows.height:,}"),
    ]
    if flows.height > 1:
        facts.append(("Jain's index of goodputs", _index_text(jain(_column(flows, "goodput_bps")))))
    facts += [(title(f"jain_{by}"), _index_text(shares.jain)) for by, shares in _shares_of_hosts(result).items()]
    if (largest := over_all(rows_of_sets(result.equal_paths.iter_rows(named=True)))) is not None:
        facts.append(("Fullest of equal paths over the mean", number_text(largest)))
    facts.append(("Packet-hops", f"{result.engine.packet_hops:,}"))
    facts.append(("CPU time", time_text(result.engine.cpu_s)))
    return [*facts, ("Digest", result.digest)]


def _shares_of_hosts(result: Result) -> dict[End, Shares]:
    return shares_of_hosts(result.flows.to_dict(), result.queue_flows.to_dict())


def _index_text(index: float | None) -> str:
    """Return Jain's index; where nothing got through, there is none."""
    return "-" if index is None or np.isnan(index) else number_text(index)


def _warnings(result: Result) -> list[str]:
    warnings = [f"{warning.text}. {warning.remedy}." for warning in result.warnings]
    if result.deadlock is None:
        return warnings
    ring = " waits for ".join([*result.deadlock.links, result.deadlock.links[0]])
    return [*warnings, f"Deadlock since {time_text(result.deadlock.since_s)}: {ring}."]


def _repeat(result: Result, folder: Path, text: str) -> str:
    """Return the command that repeats the run; none if this version does not read its scenario."""
    options = options_of(text)
    if options is None:
        return ""
    return shlex.join(["forebay", "run", str(folder / SCENARIO_FILE), "--seed", str(result.seed), *options])


def _charts(result: Result) -> Charts:
    charts: list[Chart] = [_goodput_rows(result.flows), *delay_charts(_delay_lines(result)), *_slowdowns(result)]
    goodput = _series(result, "flow", "goodput_bps")
    if goodput:
        charts.append(_flows_over_time(result, "Goodput over time", goodput))
    if queues := _series(result, "queue", "length_packets"):
        charts += _queues_over_time("Queues over time", queues, result.warmup_s)
    for quantity, heading in OF_PORTS.items():
        charts += _queues_over_time(heading, _series(result, "queue", quantity), result.warmup_s)
    if (fairness := fairness_over_time(goodput, result.flows, "all flows")) is not None:
        charts.append(fairness_chart([fairness[0]], fairness[1], result.warmup_s))
    note = ""
    if not goodput or not queues:
        note = 'Only recorded values are drawn over time. To record them: [probes] series = ["queues", "flows"].'
    return Charts("Figures", charts, note)


def _slowdowns(result: Result) -> list[Chart]:
    """Return the chart of slowdowns over the size of flows; none without such flows."""
    curves = slowdown_curves(result.flows, result.warmup_s)
    lines = [
        Line(f"{curve.group} p{share}", curve.size_bytes, slowdowns)
        for curve in curves
        for share, slowdowns in curve.slowdowns.items()
    ]
    if not lines:
        return []
    unit = scale("size_bytes", max(float(line.x.max()) for line in lines))
    scaled = [Line(line.name, line.x / unit.divisor, line.y) for line in lines[:MOST_LINES]]
    note = "Flows are sorted by size and cut into parts of equally many. A point is at the largest size of its part."
    sizes = np.concatenate([line.x for line in lines])
    x_label = label("size_bytes", unit)
    return [Lines("Slowdown by size", x_label, "Slowdown", scaled, "marked", x_log=is_wide(sizes), note=note)]


def _senders(result: Result) -> list[Charts]:
    """Return the charts of the watched senders; from the fifth sender on folded."""
    senders = watched_senders(result.all_series)
    parts = []
    for heading, some in (("Senders", senders[:_OPEN_SENDERS]), ("More senders", senders[_OPEN_SENDERS:MOST_LINES])):
        if charts := [chart for sender in some for chart in sender_charts(sender, result.warmup_s)]:
            parts.append(Charts(heading, charts, _STATES, folded=heading != "Senders"))
    return parts


def _more_series(result: Result) -> list[Chart]:
    drawn = {("flow", "goodput_bps"), ("queue", "length_packets"), *(("queue", quantity) for quantity in OF_PORTS)}
    kinds = dict.fromkeys((one.kind, one.quantity) for one in result.all_series)
    charts: list[Chart] = []
    for kind, quantity in kinds:
        entries, heading = _series(result, kind, quantity), heading_of(kind, quantity)
        if (kind, quantity) in drawn or kind == "sender":
            continue
        if kind in ("queue", "link"):
            charts += _queues_over_time(heading, entries, result.warmup_s)
        elif any(entry.values[np.isfinite(entry.values)].any() for entry in entries):
            charts.append(_flows_over_time(result, heading, entries))
    return charts


def _queues_over_time(heading: str, entries: Sequence[Series], warmup_s: float) -> list[Chart]:
    """Return a chart of the most congested queues or links; none where all values are zero."""
    busy = busiest_first(entries)
    if not busy:
        return []
    chart = over_time(heading, busy[:MOST_LINES], warmup_s=warmup_s)
    notes = []
    if len(busy) > MOST_LINES:
        notes.append(f"The {MOST_LINES} with the greatest mean, of {len(busy):,}.")
    if empty := len(entries) - len(busy):
        only = f"Only {busy[0].name}: " if len(busy) == 1 else ""
        notes.append(f"{only}{empty:,} that stay at zero {'is' if empty == 1 else 'are'} left out.")
    return [replace(chart, note=" ".join([chart.note, *notes]).strip())]


def _flows_over_time(result: Result, heading: str, entries: Sequence[Series]) -> Lines:
    groups = dict(result.flows.select("name", "group").rows())
    # A flow at a queue is called `queue/flow`.
    groups |= {entry.name: groups.get(entry.name.split("/")[-1], "all") for entry in entries if "/" in entry.name}
    return over_time(heading, entries, warmup_s=result.warmup_s, groups=groups)


def _series(result: Result, kind: str, quantity: str) -> list[Series]:
    return [one for one in result.all_series if (one.kind, one.quantity) == (kind, quantity) and len(one.values)]


def fairness_chart(lines: Sequence[Line], window_s: float, warmup_s: float) -> Lines:
    """Jain's index over time."""
    note = f"Of the flows alive, over windows of {time_text(window_s)}."
    return against_time("Fairness over time", "Jain's index", lines, warmup_s, note=note)


def _goodput_rows(flows: pl.DataFrame) -> Rows:
    """Return a bar for each flow; of many flows one for each group, with the least and the greatest."""
    rate = pl.col("goodput_bps")
    named = flows.select(pl.col("name").alias("row"), rate, rate.alias("least"), rate.alias("most"))
    note = ""
    if flows.height > _MOST_ROWS:
        grouped = flows.group_by("group", maintain_order=True)
        named = grouped.agg(rate.mean(), rate.min().alias("least"), rate.max().alias("most"), pl.len().alias("count"))
        named = named.with_columns(pl.format("{} ({})", "group", "count").alias("row"))
        note = "The mean of each group, with the smallest and the largest value of its flows."
    unit = scale("goodput_bps", float(np.max(_column(named, "most"), initial=0.0)))
    value, least, most = (_column(named, name) / unit.divisor for name in ("goodput_bps", "least", "most"))
    mark = Mark("goodput", value, least, most)
    names = named.get_column("row").to_list()
    return Rows("Goodput", label("goodput_bps", unit), names, [mark], "bars", note=note)


def _delay_lines(result: Result, run: str = "") -> list[Line]:
    """Return, for each group of flows, the share of packets with no more than a delay in seconds."""
    before = f"{run}: " if run else ""
    if not result.delays.height:
        # A result of a version without histograms.
        return _percentile_lines(result, before)
    return distribution_lines(result.delay_distribution(), "group", before)


def _percentile_lines(result: Result, before: str) -> list[Line]:
    flows = result.flows
    if not {column for column, _ in _PERCENTILES} <= set(flows.columns):
        return []
    flows = flows.drop_nulls([column for column, _ in _PERCENTILES]).filter(pl.col("packets_delivered") > 0)
    lines = []
    for (group,), part in flows.group_by("group", maintain_order=True):
        weights = _column(part, "packets_delivered")
        delays = [float(np.average(_column(part, column), weights=weights)) for column, _ in _PERCENTILES]
        lines.append(Line(f"{before}{group}", np.array(delays), np.array([share for _, share in _PERCENTILES])))
    return lines


def _delays_beside(results: Mapping[str, Result]) -> list[Chart]:
    return delay_charts([line for name, result in results.items() for line in _delay_lines(result, name)])


def _lines_beside(results: Mapping[str, Result]) -> list[Chart]:
    """Return the goodput of all flows together, a queue that all runs have, and fairness, over time."""
    charts: list[Chart] = []
    lines = [line for name, result in results.items() for line in _goodput_of_groups(result, name)]
    if lines:
        note = f"The first {MOST_LINES} of {len(lines)}." if len(lines) > MOST_LINES else ""
        lines = lines[:MOST_LINES]
        unit = scale("goodput_bps", max(float(np.nanmax(line.y)) for line in lines))
        scaled = [Line(line.name, line.x, line.y / unit.divisor) for line in lines]
        charts.append(against_time("Goodput of groups over time", label("goodput_bps", unit), scaled, note=note))
    queues: dict[str, list[Line]] = {}
    for name, result in results.items():
        for one in _series(result, "queue", "length_packets"):
            queues.setdefault(one.name, []).append(Line(name, one.time_s, one.values))
    charts += queues_over_time({queue: lines for queue, lines in queues.items() if len(lines) > 1})
    found = {name: _fairness(result, name) for name, result in results.items()}
    if fair := [pair for pair in found.values() if pair is not None]:
        charts.append(fairness_chart([line for line, _ in fair], fair[0][1], 0.0))
    return charts


def _goodput_of_groups(result: Result, run: str) -> list[Line]:
    """Return the goodput of each group over time, all its flows together."""
    members: dict[str, list[Series]] = {}
    groups = dict(result.flows.select("name", "group").rows())
    for entry in _series(result, "flow", "goodput_bps"):
        members.setdefault(groups.get(entry.name, "all"), []).append(entry)
    lines = [total(entries, f"{run}: {group}") for group, entries in members.items()]
    return [line for line in lines if line is not None]


def _fairness(result: Result, name: str) -> tuple[Line, float] | None:
    return fairness_over_time(_series(result, "flow", "goodput_bps"), result.flows, name)


def _totals(result: Result) -> dict[str, Any]:
    """Return the total goodput with its fairness, and the numbers of the longest queue and its link."""
    rates = _column(result.flows, "goodput_bps")
    facts: dict[str, Any] = {"scenario": result.scenario, "seed": result.seed, "flows": result.flows.height}
    facts |= {"goodput_total_bps": float(rates.sum()), "jain": _known(jain(rates))}
    longest = congested(result)[:1]
    if longest:
        found = measure_result(result, longest).queue
        names = ("loss", "utilization", "length_mean_packets", "state_bytes")
        facts |= {"longest_queue": longest[0], **{name: _known(found[name]) for name in names}}
    return facts


def _groups(result: Result) -> list[dict[str, Any]]:
    """Return the metrics of each group; losses are those of all queues."""
    queues = result.queues
    names = queues.get_column("name").to_list() if "name" in queues.columns else []
    if not names:
        rates = result.flows.group_by("group", maintain_order=True).agg(pl.len().alias("flows"), pl.mean("goodput_bps"))
        return rates.to_dicts()
    found = measure_result(result, names)
    return [
        {"group": group, "flows": found.flows[group], **{name: _known(values[name]) for name in _GROUP_COLUMNS}}
        for group, values in found.groups.items()
    ]


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _column(frame: pl.DataFrame, name: str) -> Values:
    values: Values = frame.get_column(name).to_numpy().astype(np.float64)
    return values
