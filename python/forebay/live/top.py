"""`forebay live top`: what the queues did in the last second."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from forebay import terminal
from forebay.folding import shortened

if TYPE_CHECKING:
    from .connection import Connection

Stats = Mapping[str, Any]

_REFRESH_S = 1.0
_FLOWS = 10
_RIGHT_COLUMNS = 48
"""What stands to the right of a flow's name: traffic, drops, marks, and its state."""
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
        frame = frame_of(before, now, asked - began, min(console.width, 120))
        before, began = now, asked
        return frame

    if once or not console.is_terminal:
        terminal.show(next_frame())
        return
    from rich.live import Live

    waiting = Text("waiting for the first second…", style="dim")
    with Live(waiting, console=console, auto_refresh=False, screen=True, vertical_overflow="crop") as live:
        while True:
            live.update(next_frame(), refresh=True)


def frame_of(before: Stats, now: Stats, seconds: float, width: int) -> RenderableType:
    """Return what happened between two answers to `stats` that are so far apart."""
    older = {port["direction"]: port for port in before["directions"]}
    parts: list[RenderableType] = []
    for port in now["directions"]:
        parts.extend(_port(older.get(port["direction"], port), port, max(seconds, 1e-3), width))
    return Group(*parts)


def _port(old: Stats, new: Stats, seconds: float, width: int) -> list[RenderableType]:
    def per_second(kind: str, unit: str) -> float:
        return float(max(new[kind][unit] - old[kind][unit], 0)) / seconds

    used, rate = 8 * per_second("sent", "bytes"), float(new["rate_bps"])
    head = Text.assemble(
        (new["direction"], "bold"), f"  {new['from']} > {new['to']}  ", (new["queue"]["discipline"], "bold cyan")
    )
    if new["bypass"]:
        head.append("  BYPASS: packets pass around the queue", "bold yellow")
    offered = _scaled(8 * per_second("received", "bytes"), "bit/s")
    incoming, outgoing = (_scaled(per_second(kind, "packets"), "/s") for kind in ("received", "sent"))
    queued = f"{new['backlog_packets']:,} packets, {_scaled(new['backlog_bytes'], 'B')}"
    lines = [
        ("rate in use", f"{_scaled(used, 'bit/s')} of {_scaled(rate, 'bit/s')} ({used / rate:.0%}), offered {offered}"),
        ("packets", f"{incoming} in, {outgoing} out"),
        ("backlog", f"{queued}; buffers {new['buffers_in_use']:,} of {new['buffers']:,}"),
        ("sojourn", _quantiles(old["sojourn"], new["sojourn"], (0.5, 0.99))),
        ("lateness", _quantiles(old["lateness"], new["lateness"], (0.99,))),
        ("drops", _by_reason(old["dropped"], new["dropped"], seconds)),
        ("marks", _by_reason(old["marked"], new["marked"], seconds)),
    ]
    refused = {**new["refused"], "missed": new["missed_frames"]}
    if any(_packets(count) for count in refused.values()):
        lines.append(("not queued", _by_reason({**old["refused"], "missed": old["missed_frames"]}, refused, seconds)))
    if new["gauges"]:
        lines.append(("gauges", _gauges(new["gauges"])))
    if new["shadow"]:
        was = (old["shadow"] or new["shadow"])["dropped"]
        would = _by_reason(was, new["shadow"]["dropped"], seconds)
        lines.append((f"shadow {new['shadow']['queue']['discipline']}", f"would drop {would}"))
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, text in lines:
        table.add_row(f"  {name}", Text(text))
    return [head, table, *_flows(old["flows"], new["flows"], seconds, width), Text()]


def _flows(old: Sequence[Stats], new: Sequence[Stats], seconds: float, width: int) -> list[RenderableType]:
    """Return the flows with the most traffic in this time, the largest first."""
    older = {flow["flow"]: flow for flow in old}
    rows = []
    for flow in new:
        was = older.get(flow["flow"])
        # Of a flow that is new in the list it is not known what it sent in this time.
        known = was is not None and was["packets"] <= flow["packets"]
        base = was if was is not None and known else flow
        bits, drops, marks = (
            scale * (flow[key] - base[key]) / seconds for key, scale in (("bytes", 8), ("dropped", 1), ("marked", 1))
        )
        rows.append((bits, drops, marks, flow))
    if not rows:
        return []
    rows = sorted(rows, key=lambda row: -row[0])[:_FLOWS]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("  flow", no_wrap=True)
    for heading in ("bit/s", "drops/s", "marks/s"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("state", overflow="ellipsis", no_wrap=True)
    names = shortened([flow["flow"] for *_, flow in rows], max(width - _RIGHT_COLUMNS, 16))
    for name, (bits, drops, marks, flow) in zip(names, rows, strict=True):
        state = Text(_gauges(flow["gauges"]))
        table.add_row(Text(f"  {name}"), _scaled(bits, ""), f"{drops:.0f}", f"{marks:.0f}", state)
    return [table]


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
