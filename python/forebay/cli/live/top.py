"""`forebay live top`: traffic, queues and flows of the last second."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from forebay.cli import terminal
from forebay.display.folding import shortened

if TYPE_CHECKING:
    from .connection import Connection

Stats = Mapping[str, Any]

_REFRESH_S = 1.0
_FLOWS = 10
_FEWEST_FLOWS = 3
"""Lines about a direction are left out before fewer flows than this are shown."""
_WIDEST = 160
_SHORTEST_NAME = 16
_GAP = 2
"""Spaces around columns: before the first one, and after each."""
BUCKETS_S = (
    *(1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2),
    *(2e-2, 5e-2, 0.1, 0.2, 0.5, 1.0),
)
"""Upper bounds of the histograms' buckets: `BUCKETS_S` of crates/live/src/snapshot.rs."""


def watch(connection: Connection, *, once: bool) -> None:
    """Show what happens, each second; with `once`, and in a pipe, a single time."""
    console = terminal.output()
    before, began = connection.ask({"command": "stats"}), time.monotonic()

    def next_frame() -> RenderableType:
        nonlocal before, began
        time.sleep(_REFRESH_S)
        now, asked = connection.ask({"command": "stats"}), time.monotonic()
        height = None if once or not console.is_terminal else console.height
        frame = frame_of(before, now, asked - began, min(console.width, _WIDEST), height)
        before, began = now, asked
        return frame

    if once or not console.is_terminal:
        terminal.show(next_frame())
        return
    waiting = Text("waiting for the first second…", style="dim")
    with Live(waiting, console=console, auto_refresh=False, screen=True, vertical_overflow="crop") as live:
        while True:
            live.update(next_frame(), refresh=True)


def frame_of(before: Stats, now: Stats, seconds: float, width: int, height: int | None = None) -> RenderableType:
    """Return what happened between two answers to `stats`, which are `seconds` apart.

    With a height, each direction gets an equal share of the lines: first flows are left out, then details.
    """
    older = {port["direction"]: port for port in before["directions"]}
    rows = None if height is None else height // max(len(now["directions"]), 1)
    parts: list[RenderableType] = []
    for port in now["directions"]:
        parts.extend(_port(older.get(port["direction"], port), port, max(seconds, 1e-3), width, rows))
    return Group(*parts)


@dataclass(frozen=True)
class _Line:
    """A line about a direction."""

    name: str
    text: str
    rank: int = 0
    """If there is too little room, lines of the highest rank are left out first, and those of rank 0 never."""


def _port(old: Stats, new: Stats, seconds: float, width: int, rows: int | None) -> list[RenderableType]:
    head = Text.assemble(
        (new["direction"], "bold"), f"  {new['from']} > {new['to']}  ", (new["queue"]["discipline"], "bold cyan")
    )
    if new["bypass"]:
        head.append("  BYPASS: packets pass around the queue", "bold yellow")
    lines, flows = _lines(old, new, seconds), min(len(new["flows"]), _FLOWS)
    if rows is not None:
        lines, flows = _fitting(lines, flows, rows - 2)
    table = Table.grid(padding=(0, _GAP, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    room = width - max(cell_len(line.name) for line in lines) - 3 * _GAP
    for line in lines:
        table.add_row(f"  {line.name}", Text(line.text if rows is None else _cut(line.text, room)))
    return [head, table, *_flows(old["flows"], new["flows"], seconds, width, flows), Text()]


def _lines(old: Stats, new: Stats, seconds: float) -> list[_Line]:
    def per_second(kind: str, unit: str) -> float:
        return float(max(new[kind][unit] - old[kind][unit], 0)) / seconds

    used, rate = 8 * per_second("sent", "bytes"), float(new["rate_bps"])
    offered = _scaled(8 * per_second("received", "bytes"), "bit/s")
    incoming, outgoing = (_scaled(per_second(kind, "packets"), "/s") for kind in ("received", "sent"))
    queued = f"{new['backlog_packets']:,} packets, {_scaled(new['backlog_bytes'], 'B')}"
    in_use = f"{_scaled(used, 'bit/s')} of {_scaled(rate, 'bit/s')} ({used / rate:.0%}), offered {offered}"
    marks = _by_reason(old["marked"], new["marked"], seconds)
    lines = [
        _Line("rate in use", in_use),
        _Line("packets", f"{incoming} in, {outgoing} out", rank=4),
        _Line("backlog", f"{queued}; buffers {new['buffers_in_use']:,} of {new['buffers']:,}"),
        _Line("sojourn", _quantiles(old["sojourn"], new["sojourn"], (0.5, 0.99))),
        _Line("lateness", _quantiles(old["lateness"], new["lateness"], (0.99,)), rank=3),
        _Line("drops", _by_reason(old["dropped"], new["dropped"], seconds)),
        _Line("marks", marks, rank=1 if any(map(_packets, new["marked"].values())) else 5),
    ]
    refused = {**new["refused"], "missed": new["missed_frames"]}
    if any(_packets(count) for count in refused.values()):
        was = {**old["refused"], "missed": old["missed_frames"]}
        lines.append(_Line("not queued", _by_reason(was, refused, seconds), rank=1))
    if new["gauges"]:
        lines.append(_Line("gauges", _gauges(new["gauges"]), rank=3))
    if new["shadow"]:
        was = (old["shadow"] or new["shadow"])["dropped"]
        would = _by_reason(was, new["shadow"]["dropped"], seconds)
        lines.append(_Line(f"shadow {new['shadow']['queue']['discipline']}", f"would drop {would}", rank=2))
    return lines


def _fitting(lines: list[_Line], flows: int, rows: int) -> tuple[list[_Line], int]:
    """Return the lines and the number of flows that fit into so many rows."""
    lines = list(lines)

    def excess() -> int:
        # Flows have a heading.
        return len(lines) + (flows + 1 if flows else 0) - rows

    flows -= min(max(excess(), 0), max(flows - _FEWEST_FLOWS, 0))
    while excess() > 0 and (rank := max(line.rank for line in lines)) > 0:
        lines.remove(next(line for line in reversed(lines) if line.rank == rank))
    return lines, max(flows - max(excess(), 0), 0)


def _flows(old: Sequence[Stats], new: Sequence[Stats], seconds: float, width: int, most: int) -> list[RenderableType]:
    """Return the flows with the most traffic in this time, the largest first."""
    older = {flow["flow"]: flow for flow in old}
    rows = []
    for flow in new:
        was = older.get(flow["flow"])
        # The traffic of a flow that is new in the list is unknown for this time.
        known = was is not None and was["packets"] <= flow["packets"]
        base = was if was is not None and known else flow
        bits, drops, marks = (
            scale * (flow[key] - base[key]) / seconds for key, scale in (("bytes", 8), ("dropped", 1), ("marked", 1))
        )
        rows.append((bits, [_scaled(bits, ""), f"{drops:.0f}", f"{marks:.0f}"], flow))
    rows = sorted(rows, key=lambda row: -row[0])[:most]
    if not rows:
        return []
    columns = [(heading, [row[1][at] for row in rows]) for at, heading in enumerate(("bit/s", "drops/s", "marks/s"))]
    left = width - _GAP - sum(map(_column_width, columns))
    names = shortened([flow["flow"] for *_, flow in rows], max(left - _GAP, _SHORTEST_NAME))
    left -= max(map(cell_len, ["flow", *names])) + _GAP
    # As much of the state as there is room for, in whole columns.
    for name in dict.fromkeys(name for *_, flow in rows for name in flow["gauges"]):
        values = [flow["gauges"].get(name) for *_, flow in rows]
        column = (name, ["" if value is None else f"{value:.4g}" for value in values])
        if (needed := _column_width(column)) <= left:
            columns.append(column)
            left -= needed
    table = Table(box=None, padding=(0, _GAP, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("  flow", no_wrap=True)
    for heading, _ in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    for at, name in enumerate(names):
        table.add_row(Text(f"  {name}"), *(cells[at] for _, cells in columns))
    return [table]


def _cut(text: str, room: int) -> str:
    """Return as many whole parts of a text as fit into one line."""
    if cell_len(text) <= room:
        return text
    ends = [found.start() for found in re.finditer(r"[,;] |  ", text) if found.start() <= room - 2]
    return f"{text[: ends[-1] if ends else max(room - 2, 0)]} …"


def _column_width(column: tuple[str, Sequence[str]]) -> int:
    heading, cells = column
    return max(map(cell_len, [heading, *cells])) + _GAP


def _packets(count: Any) -> int:
    return int(count["packets"] if isinstance(count, Mapping) else count)


def _by_reason(old: Stats, new: Stats, seconds: float) -> str:
    rates = {
        reason.replace("_", " "): (_packets(count) - _packets(old.get(reason, count))) / seconds
        for reason, count in new.items()
    }
    text = ", ".join(f"{reason} {_scaled(rate, '/s')}" for reason, rate in rates.items() if rate > 0)
    total = sum(map(_packets, new.values()))
    return f"{text or 'none'}; {total:,} since the start" if total else "none"


def _gauges(gauges: Mapping[str, float | None]) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in gauges.items() if value is not None)


def _quantiles(old: Stats, new: Stats, wanted: Sequence[float]) -> str:
    """Quantiles of what was counted between the two, as exact as buckets are; without any, of all since the start."""
    counts = [after - before for before, after in zip(old["buckets"], new["buckets"], strict=True)]
    total = new["count"] - old["count"]
    if total <= 0:
        names = {0.5: "p50_s", 0.99: "p99_s"}
        values = [new[names[share]] for share in wanted]
        note = " since the start" if new["count"] else ""
    else:
        values, note = [_quantile(counts, total, share) for share in wanted], ""
    texts = (f"p{share * 100:.0f} {_time(value)}" for share, value in zip(wanted, values, strict=True))
    return ", ".join(texts) + note


def _quantile(cumulative: Sequence[int], total: int, share: float) -> float:
    """Interpolate within the bucket, as Prometheus does."""
    rank, below, lower = share * total, 0, 0.0
    for count, upper in zip(cumulative, BUCKETS_S, strict=True):
        if count >= rank:
            return lower + (upper - lower) * (rank - below) / max(count - below, 1)
        below, lower = count, upper
    return BUCKETS_S[-1]


def _time(seconds: float) -> str:
    for least, factor, unit in ((1.0, 1.0, "s"), (1e-3, 1e3, "ms"), (0.0, 1e6, "us")):
        if seconds >= least:
            return f"{seconds * factor:.3g} {unit}"
    return "0 us"


def _scaled(value: float, unit: str) -> str:
    for least, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= least * 0.9995:
            return f"{value / least:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}".rstrip()
