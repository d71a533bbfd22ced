"""A replay as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.markup import escape

from forebay.comparison.fit import notes_on
from forebay.display.folding import Column, folded
from forebay.display.quantity import Scale, column_scale, text_with_unit, time_scale
from forebay.display.summary import drop_reasons
from forebay.storage.document import Document

Row = Mapping[str, Any]

_MOST_FLOWS = 20
_LONG_S = 10_000
# Of more queues than this, only the table of queues is shown.
_MOST_QUEUES_OF_FLOWS = 6


def terminal_tables(document: Document, width: int) -> list[RenderableType]:
    """Lines about the whole, the table of queues, and the flows with most packets."""
    queues: list[Row] = document["queues"]
    tables: list[RenderableType] = [*_head(document), ""]
    tables += folded("queue", [row["queue"] for row in queues], _queue_columns(queues), width, title="Queues")
    tables += [f"[dim]{_safe(line)}[/]" for line in notes_on(document.get("fitted", {}))]
    if len(queues) > _MOST_QUEUES_OF_FLOWS:
        hint = f"flows are shown for at most {_MOST_QUEUES_OF_FLOWS} queues; --json and --out have those of all queues"
        return [*tables, f"[dim]{hint}[/]"]
    # The rows of each queue have the same flows in the same order.
    by_queue = {row["queue"]: [flow for flow in document["flows"] if flow["queue"] == row["queue"]] for row in queues}
    flows = next(iter(by_queue.values()))
    order = sorted(range(len(flows)), key=lambda index: -flows[index]["packets"])[:_MOST_FLOWS]
    shown = {name: [rows[index] for index in order] for name, rows in by_queue.items()}
    names = [flows[index]["flow"] for index in order]
    columns = _columns_of_one(shown) if len(queues) == 1 else _columns_of_several(shown)
    tables += folded("flow", names, columns, width, title="Flows")
    if len(flows) > len(order):
        tables.append(f"[dim]and {len(flows) - len(order):,} more flows, which --json shows[/]")
    return tables


def _head(document: Document) -> list[str]:
    port = text_with_unit("rate_bps", document["rate_bps"])
    duration_s = document["duration_s"]
    lasted = text_with_unit("duration_s", duration_s) if duration_s < _LONG_S else f"{duration_s:,.0f} s"
    seen = f"{document['packets']:,} packets in {lasted}"
    if document["packets_unselected"]:
        seen += f"; {document['packets_unselected']:,} to other destinations left out"
    if document["packets_unaddressed"]:
        seen += f"; {document['packets_unaddressed']:,} without an IP header left out"
    lines = [f"[bold]{_safe(document['capture'])}[/bold]   {port}   seed {document['seed']}", seen]
    if late := document["packets_out_of_order"]:
        were = "1 packet was earlier than the one before it" if late == 1 else f"{late:,} packets were out of order"
        lines.append(f"{were} in the file; all were put in order of time")
    for warning in document["warnings"]:
        text, remedy = _safe(warning["text"]), _safe(warning["remedy"])
        lines.append(f"[yellow]warning:[/yellow] {text}\n[dim]hint: {remedy}[/dim]")
    return lines


def _queue_columns(queues: Sequence[Row]) -> list[Column]:
    delay = _unit(queues, "delay_mean_s", "delay_p99_s", "delay_max_s")
    columns = [
        _counts("dropped\npackets", queues, "packets_dropped"),
        Column("dropped\n%", [_share(row["packets_dropped"], row["packets_arrived"]) for row in queues], rank=3),
        *_marks(queues),
        _scaled(f"delay mean\n{delay.unit}", queues, "delay_mean_s", delay, rank=1),
        _scaled(f"delay p99\n{delay.unit}", queues, "delay_p99_s", delay),
        _scaled(f"delay max\n{delay.unit}", queues, "delay_max_s", delay, rank=4),
        Column("length mean\npackets", [_number(row["length_mean_packets"]) for row in queues], rank=2),
        _counts("length max\npackets", queues, "length_max_packets", rank=4),
        Column("link used\n%", [f"{100 * row['utilization']:.2f}" for row in queues], rank=5),
        _reasons(queues),
    ]
    disciplines = [row["discipline"] for row in queues]
    if disciplines != [row["queue"] for row in queues]:
        columns.insert(0, Column("discipline", disciplines, rank=7, is_text=True))
    return columns


def _columns_of_one(shown: Mapping[str, Sequence[Row]]) -> list[Column]:
    """All about each flow, at the only queue."""
    (flows,) = shown.values()
    offered, delay = _unit(flows, "offered_bps"), _unit(flows, "delay_mean_s", "delay_p99_s")
    columns = [
        _counts("packets", flows, "packets", rank=1),
        _scaled(f"offered\n{offered.unit}", flows, "offered_bps", offered, rank=2),
        _counts("dropped\npackets", flows, "packets_dropped"),
        *_marks(flows),
        _scaled(f"delay mean\n{delay.unit}", flows, "delay_mean_s", delay, rank=3),
        _scaled(f"delay p99\n{delay.unit}", flows, "delay_p99_s", delay),
    ]
    if any(row["classified_at_s"] is not None for row in flows):
        since = _time(flows, "classified_at_s")
        columns.append(_scaled(f"belligerent\nsince {since.unit}", flows, "classified_at_s", since, rank=1))
    last = _time(flows, "last_drop_s")
    return [*columns, _scaled(f"last drop\n{last.unit}", flows, "last_drop_s", last, rank=7), _reasons(flows)]


def _columns_of_several(shown: Mapping[str, Sequence[Row]]) -> list[Column]:
    """Return columns for several queues: the effect of each on each flow, side by side."""
    first = next(iter(shown.values()))
    offered = _unit(first, "offered_bps")
    delay = _unit([row for flows in shown.values() for row in flows], "delay_p99_s")
    columns = [
        _counts("packets", first, "packets", rank=1),
        _scaled(f"offered\n{offered.unit}", first, "offered_bps", offered, rank=2),
    ]
    for name, flows in shown.items():
        shares = [_share(row["packets_dropped"], row["packets"]) for row in flows]
        columns.append(Column(name, shares, "dropped, %"))
    for name, flows in shown.items():
        if any(row["packets_marked"] for row in flows):
            columns.append(Column(name, [f"{row['packets_marked']:,}" for row in flows], "marked, packets", rank=3))
    for name, flows in shown.items():
        cells = [delay.text(row["delay_p99_s"]) for row in flows]
        columns.append(Column(name, cells, f"delay p99, {delay.unit}"))
    return columns


def _counts(heading: str, rows: Iterable[Row], key: str, rank: int = 0) -> Column:
    return Column(heading, [f"{row[key]:,}" for row in rows], rank=rank)


def _marks(rows: Sequence[Row]) -> list[Column]:
    """Packets marked, where any were."""
    marked = any(row["packets_marked"] for row in rows)
    return [_counts("marked\npackets", rows, "packets_marked", rank=3)] if marked else []


def _scaled(heading: str, rows: Iterable[Row], key: str, unit: Scale, rank: int = 0) -> Column:
    return Column(heading, [unit.text(row[key]) for row in rows], rank=rank)


def _reasons(rows: Iterable[Row]) -> Column:
    return Column("dropped because", [drop_reasons(row) for row in rows], rank=6, is_text=True)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}" if whole else "-"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _unit(rows: Sequence[Row], *quantities: str) -> Scale:
    """Return the unit that columns have in common."""
    return column_scale(quantities[0], [row[quantity] for quantity in quantities for row in rows])


def _time(rows: Sequence[Row], key: str) -> Scale:
    """Return the unit of times within the capture."""
    return time_scale(max((row[key] for row in rows if row[key] is not None), default=0.0))


def _safe(text: str) -> str:
    """Return a text from outside, without what would change the terminal."""
    return escape("".join(letter if letter.isprintable() else "\ufffd" for letter in text))
