"""What the data plane does now, refreshed each second: `forebay live top`."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from forebay import interrupt, terminal

from .socket import Connection

_EVERY_S = 1.0
_FLOWS = 8
# Fits beside three numbers in 80 columns.
_FLOW_WIDTH = 42

_Port: TypeAlias = Mapping[str, Any]


def top(path: Path, *, once: bool, as_json: bool) -> None:
    """Show rates, queues and flows of each direction until Ctrl-C; with `once`, a second of them."""
    interrupt.tells(lambda: "stopped watching; the data plane runs on")
    with Connection(path) as connection:
        before, at = connection.ask("stats"), time.monotonic()
        if as_json:
            terminal.write(json.dumps(before))
            return
        if once:
            time.sleep(_EVERY_S)
            terminal.show(frame(before, connection.ask("stats"), time.monotonic() - at))
            return
        with Live(console=terminal.output(), auto_refresh=False, screen=terminal.output().is_terminal) as live:
            while True:
                time.sleep(_EVERY_S)
                now, then = connection.ask("stats"), time.monotonic()
                live.update(frame(before, now, then - at), refresh=True)
                before, at = now, then


def frame(before: Mapping[str, Any], now: Mapping[str, Any], seconds: float) -> RenderableType:
    """One picture: what happened between two snapshots."""
    old = {port["direction"]: port for port in before["directions"]}
    parts: list[RenderableType] = []
    for port in now["directions"]:
        earlier = old.get(port["direction"], port)
        parts += [_head(port), _numbers(earlier, port, seconds), _flows(earlier, port, seconds), Text()]
    if not parts:
        parts.append(Text("no direction has a queue"))
    return Group(*parts)


def _head(port: _Port) -> Text:
    queue = port["queue"]["discipline"] + (", bypassed" if port["bypass"] else "")
    shadow = f", shadow {port['shadow']['queue']['discipline']}" if port["shadow"] else ""
    return Text.assemble(
        (port["direction"], "bold"), f"  {port['from']} > {port['to']}  {queue} at {_rate(port['rate_bps'])}{shadow}"
    )


def _numbers(before: _Port, now: _Port, seconds: float) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="left")
    table.add_column(justify="left", overflow="fold")
    sent_bps = (now["sent"]["bytes"] - before["sent"]["bytes"]) * 8 / seconds
    received_bps = (now["received"]["bytes"] - before["received"]["bytes"]) * 8 / seconds
    use = f"{sent_bps / now['rate_bps']:.0%} of the rate" if now["rate_bps"] else ""
    table.add_row("  sent", f"{_rate(sent_bps)}, {use}; {_rate(received_bps)} came")
    table.add_row("  queue", f"{now['backlog_packets']:,} packets, {now['backlog_bytes'] / 1e3:,.1f} KB")
    table.add_row("  delay", _quantiles(now["sojourn"]))
    table.add_row("  released late by", _quantiles(now["lateness"]))
    for what, style in (("dropped", "red"), ("marked", "yellow"), ("refused", "bold red")):
        text = _by_reason(before[what], now[what], seconds)
        if text:
            table.add_row(f"  {what}", Text(text, style))
    missed = now["missed_frames"]
    if missed:
        table.add_row("  missed", Text(f"{missed:,} frames came too fast for us", "bold red"))
    if now["shadow"]:
        earlier = (before["shadow"] or now["shadow"])["dropped"]
        table.add_row("  shadow drops", _by_reason(earlier, now["shadow"]["dropped"], seconds) or "nothing")
    gauges = ", ".join(f"{name} {value:,.4g}" for name, value in now["gauges"].items() if value is not None)
    if gauges:
        table.add_row("  state", gauges)
    return table


def _by_reason(before: Mapping[str, Any], now: Mapping[str, Any], seconds: float) -> str:
    def packets(count: Any) -> int:
        return int(count["packets"] if isinstance(count, Mapping) else count)

    rates = {reason: (packets(count) - packets(before[reason])) / seconds for reason, count in now.items()}
    shown = [f"{reason.replace('_', ' ')} {rate:,.0f}/s" for reason, rate in rates.items() if rate > 0]
    return ", ".join(shown)


def _quantiles(histogram: Mapping[str, Any]) -> str:
    if not histogram["count"]:
        return "nothing has left yet"
    p50, p99, most = (_time(histogram[key]) for key in ("p50_s", "p99_s", "max_s"))
    return f"median {p50}, p99 {p99}, longest {most}"


def _flows(before: _Port, now: _Port, seconds: float) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
    table.add_column("  flow", no_wrap=True)
    for heading in ("rate", "dropped/s"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("state", overflow="ellipsis", no_wrap=True)
    earlier = {flow["flow"]: flow for flow in before["flows"]}
    rows: list[tuple[float, Sequence[str]]] = []
    for flow in now["flows"]:
        old = earlier.get(flow["flow"])
        if old is None or flow["bytes"] < old["bytes"]:
            continue
        rate = (flow["bytes"] - old["bytes"]) * 8 / seconds
        lost = (flow["dropped"] - old["dropped"]) / seconds
        state = ", ".join(f"{name} {value:.4g}" for name, value in flow["gauges"].items() if value is not None)
        rows.append((rate, (f"  {_short(flow['flow'])}", _rate(rate), f"{lost:,.0f}", state)))
    for _, row in sorted(rows, key=lambda row: -row[0])[:_FLOWS]:
        table.add_row(*row)
    return table


def _short(flow: str) -> str:
    return flow if len(flow) <= _FLOW_WIDTH else f"{flow[: _FLOW_WIDTH - 1]}…"


def _rate(bits_per_second: float) -> str:
    for unit, size in (("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3)):
        if bits_per_second >= size:
            return f"{bits_per_second / size:.4g} {unit}"
    return f"{bits_per_second:.0f} b/s"


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"
