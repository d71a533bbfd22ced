"""A comparison of queues as a section."""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Sequence

import numpy as np

from forebay.comparison.result import Comparison
from forebay.comparison.table import columns_of, measured_text
from forebay.measured import Column

from .differences import of_comparison
from .parts import Cell, Charts, Head, Mark, Part, Rows, Section, Table, Terms, Text, Values, is_wide
from .tables import NONE, name_cell

_MEANINGS = {
    "Goodput of a flow": "TCP: payload delivered in order to the application, per second. UDP, cells and frames: whole "
    "packets delivered, headers included. The mean over the flows of a group",
    "Fairness": "Jain's index of the flows' goodputs: 1 if all are equal, 1/n if one of n has everything",
    "Loss": "packets dropped at the queue, as a share of those that arrived there",
    "Delay": "one-way delay of delivered packets, from the source's sending to the sink; median and 99th percentile of "
    "each flow, averaged over the flows of a group by the packets they delivered",
    "Link": "share of the time in which the link behind the queue was sending; packets waiting, averaged over time",
    "State": "the most memory that the discipline's own tables and books were seen to take; the packets queued, and "
    "their queue, are not part of it",
    "CPU": "time that the discipline itself takes for each packet offered: enqueue or drop, and dequeue. Measured "
    "apart from the simulator, in a loop that offers packets of the same flows in the same proportions at the same "
    "load as in the runs",
    "±": "half the 95 % confidence interval of the mean over seeds (Student's t)",
}


def title_of(comparison: Comparison) -> str:
    """Return the heading of a comparison."""
    return f"{comparison.scenario}: queues compared"


def comparison_section(comparison: Comparison) -> Section:
    """Charts, the table, what its words mean, the queues as they were run, and the scenario."""
    columns = columns_of(comparison, every=True)
    queues = "\n".join(f"{label}: {queue}" for label, queue in comparison.parameters.items())
    parts: list[Part] = [
        Charts("Figures", _charts(comparison, columns)),
        _table(comparison, columns),
        Terms("Meanings", list(_MEANINGS.items())),
        Text("Queues as they were run", "parameters that differ from the defaults", queues),
    ]
    if comparison.toml:
        parts.append(Text("Scenario", "the file", comparison.toml))
    link, measured, seeds = measured_text(comparison).split("   ")
    return Section(
        title_of(comparison),
        conclusion=of_comparison(comparison),
        facts=[("Link", link), ("Measured", measured.removeprefix("measured ")), ("Runs of each queue", seeds)],
        about=[text for text in (comparison.description, *comparison.left_out) if text],
        repeat=_repeat(comparison),
        parts=parts,
    )


def _repeat(comparison: Comparison) -> str:
    """Return a command that makes the same table: the queues with all their parameters, whatever options set them."""
    queues = [_queue_word(label, text) for label, text in comparison.parameters.items()]
    words = [word for word in queues if word is not None]
    if not comparison.toml or len(words) < len(queues):
        return ""
    seeds = max(comparison.table.get_column("seeds").to_list())
    options = " ".join(f"\\\n  --queue {shlex.quote(word)}" for word in words)
    command = f"forebay compare scenario.toml --seeds {seeds} --out again"
    return f"# scenario.toml holds the scenario above.\n{command} {options}"


def _queue_word(label: str, text: str) -> str | None:
    """Return the queue as `--queue` takes it, or None if its label or a value has no such form."""
    try:
        queue = tomllib.loads(f"queue = {text}")["queue"]
    except tomllib.TOMLDecodeError:
        return None
    (name, parameters), *more = queue.items() if isinstance(queue, dict) else [(queue, {})]
    if more or set(label) & set("=,:") or not label.strip():
        # A label that repeats the parameters is made again from them.
        label = ""
    values = ",".join(f"{key}={_inline(value)}" for key, value in parameters.items())
    word = f"{name}:{values}" if values else str(name)
    return word if label in ("", name) else f"{label}={word}"


def _inline(value: object) -> str:
    """Return a value as TOML on one line."""
    match value:
        case bool():
            return str(value).lower()
        case dict():
            return "{ " + ", ".join(f"{key} = {_inline(one)}" for key, one in value.items()) + " }"
        case list():
            return "[" + ", ".join(map(_inline, value)) + "]"
        case str():
            return json.dumps(value, ensure_ascii=False)
    return str(value)


def _charts(comparison: Comparison, columns: Sequence[Column]) -> list[Rows]:
    names = comparison.table.get_column("queue").to_list()
    of = {section: [column for column in columns if column.section == section] for section in _MEANINGS | {"Cost": ""}}
    goodput, loss = of["Goodput of a flow"], [it for it in of["Loss"] if it.heading != "all"]
    state, cpu = of["Cost"]
    charts = [
        _marks("Goodput of a flow", f"Per flow ({goodput[0].unit})", names, goodput, _even_share(comparison, goodput)),
        _bars("Fairness: Jain's index of all flows", "Jain's index", names, of["Fairness"][0]),
        _marks("Loss", "Packets at the queue (%)", names, loss),
        _spans(names, of["Delay"]),
        _bars("Link used", "Share of its time (%)", names, of["Link"][0]),
        _marks("Memory of the discipline", "State (B)", names, [state]),
        _bars("CPU time of the discipline", "Per packet (ns)", names, cpu),
    ]
    return [chart for chart in charts if chart is not None]


def _marks(
    heading: str, x_label: str, names: Sequence[str], columns: Sequence[Column], level: tuple[str, float] | None = None
) -> Rows | None:
    if not columns:
        return None
    marks = [Mark(column.heading, *_with_interval(column)) for column in columns]
    every = [mark.values for mark in marks]
    note = f"Dotted: {level[0]}." if level else ""
    return Rows(
        heading,
        x_label,
        names,
        marks,
        x_log=columns[0].most is None and is_wide(np.concatenate(every)),
        most=columns[0].most,
        level=level,
        note=note,
    )


def _bars(heading: str, x_label: str, names: Sequence[str], column: Column) -> Rows:
    mark = Mark(column.heading, *_with_interval(column))
    return Rows(heading, x_label, names, [mark], "bars", most=column.most)


def _spans(names: Sequence[str], columns: Sequence[Column]) -> Rows:
    """From the median to the 99th percentile, of each group of flows."""
    pairs = list(zip(columns[::2], columns[1::2], strict=True))
    marks = []
    for median, tail in pairs:
        name = median.heading.removeprefix("p50").strip() or "all flows"
        marks.append(Mark(name, _numbers(median.values), None, _numbers(tail.values)))
    wide = is_wide(np.concatenate([ends for mark in marks for ends in (mark.values, mark.high) if ends is not None]))
    unit = columns[0].unit
    return Rows("Delay: median to 99th percentile", f"One-way delay ({unit})", names, marks, "spans", x_log=wide)


def _even_share(comparison: Comparison, columns: Sequence[Column]) -> tuple[str, float]:
    """Return the link's rate divided by the number of flows."""
    flows = sum(int(comparison.of_group(name).get_column("flows")[0]) for name in comparison.group_names)
    divisor = {"k": 1e3, "M": 1e6, "G": 1e9}.get(columns[0].unit[:1], 1.0)
    return "the link's rate divided by the number of flows", comparison.rate_bps / flows / divisor


def _with_interval(column: Column) -> tuple[Values, Values, Values]:
    values = _numbers(column.values)
    halves = np.nan_to_num(_numbers(column.intervals))
    return values, values - halves, values + halves


def _numbers(values: Sequence[float | None]) -> Values:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _table(comparison: Comparison, columns: Sequence[Column]) -> Table:
    heads = [Head("Queue", is_text=True), *(Head(it.heading, it.unit, it.section) for it in columns)]
    names = comparison.table.select("queue", "discipline").rows()
    rows = [
        [name_cell(name, discipline), *(_cell(column, row) for column in columns)]
        for row, (name, discipline) in enumerate(names)
    ]
    return Table("Numbers", heads, rows)


def _cell(column: Column, row: int) -> Cell:
    value = column.values[row]
    if value is None:
        return NONE
    text, _, interval = column.cell(row).partition(" ±")
    most = column.most or max(abs(it) for it in column.values if it is not None)
    return Cell(text, value, interval, min(1.0, abs(value) / most) if most > 0 else None)
