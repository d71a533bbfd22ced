"""A comparison of queues as a section."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from forebay.comparison.contenders import word_of
from forebay.comparison.table import columns_of, delay_columns, even_share, measured_text
from forebay.display.figure import is_wide
from forebay.display.measured import Column, link_section
from forebay.folder import SCENARIO_FILE
from forebay.scenario import toml_value

from .differences import of_comparison
from .parts import Cell, Charts, Head, Mark, Part, Rows, Section, Table, Terms, Text, Values
from .repeat import options_of
from .tables import NONE, name_cell

if TYPE_CHECKING:
    from forebay.comparison.numbers import Numbers

_MEANINGS = {
    "Goodput of a flow": "TCP: payload delivered in order to the application, per second. UDP, cells and frames: whole "
    "packets delivered, headers included; calls and games without headers. The mean over the flows of a group",
    "Fairness": "Jain's index of the flows' goodputs: 1 if all are equal, 1/n if one of n has everything",
    "Loss": "packets dropped at the queue, as a share of those that arrived there",
    "Delay": "one-way delay of delivered packets, from the source's sending to the sink; median and 99th percentile of "
    "each flow, averaged over the flows of a group by the packets they delivered",
    "Jitter": "of UDP: the mean difference between the delays of consecutive packets (RFC 3550)",
    "Link": "share of the time in which the link behind the queue was sending; packets waiting, averaged over time",
    "State": "the most memory that the discipline's own tables and books were seen to take; the packets queued, and "
    "their queue, are not part of it",
    "CPU": "time that the discipline itself takes for each packet offered: enqueue or drop, and dequeue. Measured "
    "apart from the simulator, in a loop that offers packets of the same flows in the same proportions at the same "
    "load as in the runs",
    "±": "half the 95 % confidence interval of the mean over seeds (Student's t)",
}


def comparison_section(comparison: Numbers, folder: Path | None = None) -> Section:
    """Charts, the table, what its words mean, the queues as they were run, and the scenario.

    `folder` is where the comparison is saved.
    """
    columns = columns_of(comparison, every=True)
    after = max(place for place, column in enumerate(columns) if column.section == "Delay") + 1
    columns[after:after] = delay_columns(comparison)
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
        f"{comparison.scenario}: queues compared",
        conclusion=of_comparison(comparison),
        facts=[("Link", link), ("Measured", measured.removeprefix("measured ")), ("Runs of each queue", seeds)],
        about=[text for text in (comparison.description, *comparison.left_out) if text],
        repeat=_repeat(comparison, folder),
        parts=parts,
    )


def _repeat(comparison: Numbers, folder: Path | None) -> str:
    """Return a command that makes the same table: the queues with all their parameters, whatever options set them."""
    queues = [_queue_word(label, text) for label, text in comparison.parameters.items()]
    words = [word for word in queues if word is not None]
    own = options_of(comparison.toml) if comparison.toml else None
    if own is None or len(words) < len(queues):
        return ""
    if "python" in comparison.table.get_column("discipline"):
        own = ["--allow-python"]
    seeds = max(comparison.table.get_column("seeds").to_list())
    file = SCENARIO_FILE if folder is None else str(folder / SCENARIO_FILE)
    at = ["--at", comparison.at] if comparison.at else []
    first = shlex.join(["forebay", "compare", file, *at, "--seeds", str(seeds), *own, "--out", "again"])
    command = " ".join([first, *(f"\\\n  --queue {shlex.quote(word)}" for word in words)])
    return command if folder else f"# {SCENARIO_FILE} contains the scenario above.\n{command}"


def _queue_word(label: str, text: str) -> str | None:
    """Return the queue as `--queue` takes it, or None if it has no such form."""
    try:
        queue = tomllib.loads(f"queue = {text}")["queue"]
    except tomllib.TOMLDecodeError:
        return None
    (name, parameters), *more = queue.items() if isinstance(queue, dict) else [(queue, {})]
    texts = {key: toml_value(value) for key, value in parameters.items()}
    return word_of("" if more else label, str(name), texts)


def _charts(comparison: Numbers, columns: Sequence[Column]) -> list[Rows]:
    names = comparison.table.get_column("queue").to_list()
    of: dict[str, list[Column]] = {}
    for column in columns:
        of.setdefault(column.section, []).append(column)
    several = comparison.several_queues
    even = None if several else _even_share(comparison, of["Goodput of a flow"])
    goodput, loss = of["Goodput of a flow"], [it for it in of["Loss"] if it.heading != "all"]
    state, cpu = of["Cost"]
    charts = [
        _marks("Goodput of a flow", f"Per flow ({goodput[0].unit})", names, goodput, even),
        _bars("Fairness: Jain's index of all flows", "Jain's index", names, of["Fairness"][0]),
        _marks("Loss", "Packets at the queue (%)", names, loss),
        _spans(names, of["Delay"]),
        *(_marks(it, _axis_label(of[it]), names, of[it]) for it in ("Mean delay", "Jitter") if it in of),
        _bars(
            "Mean utilization of all ports" if several else "Link used",
            "Share of the time (%)",
            names,
            of[link_section(several_queues=several)][0],
        ),
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


def _axis_label(columns: Sequence[Column]) -> str:
    """Return the section of columns with its unit, and the name of the group if there is only one."""
    first = columns[0]
    whose = f" of {first.heading}" if len(columns) == 1 else ""
    return f"{first.section}{whose} ({first.unit})"


def _bars(heading: str, x_label: str, names: Sequence[str], column: Column) -> Rows:
    mark = Mark(column.heading, *_with_interval(column))
    return Rows(heading, x_label, names, [mark], "bars", most=column.most)


def _spans(names: Sequence[str], columns: Sequence[Column]) -> Rows:
    """From the median to the 99th percentile, of each group of flows."""
    pairs = list(zip(columns[::2], columns[1::2], strict=True))
    marks = []
    for median, tail in pairs:
        name = median.heading.removeprefix("p50").strip() or "all flows"
        marks.append(Mark(name, median.numbers, None, tail.numbers))
    wide = is_wide(np.concatenate([ends for mark in marks for ends in (mark.values, mark.high) if ends is not None]))
    unit = columns[0].unit
    return Rows("Delay: median to 99th percentile", f"One-way delay ({unit})", names, marks, "spans", x_log=wide)


def _even_share(comparison: Numbers, columns: Sequence[Column]) -> tuple[str, float]:
    """Return the link's rate divided by the number of flows."""
    return "the link's rate divided by the number of flows", even_share(comparison, columns[0])


def _with_interval(column: Column) -> tuple[Values, Values, Values]:
    values = column.numbers
    halves = np.nan_to_num(column.halves)
    return values, values - halves, values + halves


def _table(comparison: Numbers, columns: Sequence[Column]) -> Table:
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
