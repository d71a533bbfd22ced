"""A comparison as a page of its own: table, figure, definitions and the scenario, in one HTML file."""

from __future__ import annotations

import io
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

import matplotlib as mpl

from forebay import _core
from forebay.figure import style
from forebay.measured import Column

from .figure import draw
from .table import columns_of, measured_text

if TYPE_CHECKING:
    from .result import Comparison

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --soft: #5b6570; --line: #d9dee3; --faint: #eef1f4;
  --shade: #f6f8fa; --bar: #d3e8f6; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181c; --ink: #e3e7eb; --soft: #9aa5b0; --line: #3a434c;
  --faint: #262d34; --shade: #1d2329; --bar: #1f4a66; } figure svg { filter: invert(.91) hue-rotate(180deg); } }
*, ::before, ::after { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2.5rem auto;
  max-width: 116rem; padding: 0 2rem; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2.5rem 0 .6rem; }
p { max-width: 60rem; } p.facts { color: var(--soft); margin: .2rem 0 1.4rem; }
figure { margin: 0; } figure svg { display: block; width: 100%; height: auto; }
figure.narrow { display: none; max-width: 36rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .8rem; white-space: nowrap; }
th, td { padding: .28rem .45rem; text-align: right; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--paper); }
thead th { font-weight: 600; vertical-align: bottom; border-bottom: 1px solid var(--line); }
thead tr:first-child th { border-bottom: 0; color: var(--soft); }
thead tr:last-child th { cursor: pointer; user-select: none; }
tbody tr:hover td { background-color: var(--shade); } td { border-bottom: 1px solid var(--faint); }
.first { border-left: 1px solid var(--line); } .unit, .ci { color: var(--soft); font-weight: 400; }
.ci { font-size: .9em; white-space: nowrap; }
thead th { white-space: normal; } .hint { display: none; color: var(--soft); font-size: .86rem; }
@media (max-width: 105rem) { .ci { display: block; } }
td.bar { background: linear-gradient(to left, var(--bar) var(--part), transparent var(--part)); }
dl { max-width: 60rem; } dt { font-weight: 600; } dd { margin: 0 0 .4rem 1.2rem; color: var(--soft); }
pre { background: var(--shade); padding: 1rem; overflow-x: auto; font-size: .82rem; }
summary { cursor: pointer; } footer { color: var(--soft); margin-top: 3rem; font-size: .82rem; }
@media (max-width: 60rem) { body { margin: 1.2rem auto; padding: 0 1rem; }
  .hint { display: block; } figure.broad { display: none; } figure.narrow { display: block; }
  th:first-child, td:first-child { max-width: 9rem; white-space: normal; } }
@media print { body { margin: 0; max-width: none; } details { display: none; } .wide { overflow: visible; }
  table { font-size: .6rem; } }
"""

# A click on a column's head sorts by it; a second click turns the order round.
_SORT = """
document.querySelectorAll("thead tr:last-child th").forEach((head, column) => head.addEventListener("click", () => {
  const body = document.querySelector("tbody"), up = head.dataset.up !== "1";
  const key = (row) => { const text = row.cells[column].dataset.value; const number = parseFloat(text);
    return text === "" ? Infinity : Number.isNaN(number) ? text : number; };
  [...body.rows].sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1);
  }).forEach((row) => body.append(row));
  head.dataset.up = up ? "1" : "0";
}));
"""

_MEANINGS = {
    "Goodput of a flow": "payload that reached the application, per second; the mean over the flows of a group",
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


def html_page(comparison: Comparison) -> str:
    """The page. It needs no other file and no network."""
    title = escape(f"{comparison.scenario}: queues compared")
    facts = escape(measured_text(comparison).replace("   ", " · "))
    about = f"<p>{escape(comparison.description)}</p>" if comparison.description else ""
    left_out = "".join(f"<p>{escape(line)}</p>" for line in comparison.left_out)
    meanings = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in _MEANINGS.items())
    queues = "\n".join(f"{label}: {queue}" for label, queue in comparison.parameters.items())
    record = _folded("Queues as they were run", "parameters that differ from the defaults", queues)
    if comparison.toml:
        record += _folded("Scenario", "the file", comparison.toml)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>\n'
        f'<body><h1>{title}</h1>\n<p class="facts">{facts}</p>{about}\n'
        f'<figure class="broad">{_svg(comparison, narrow=False)}</figure>\n'
        f'<figure class="narrow">{_svg(comparison, narrow=True)}</figure>\n<h2>Numbers</h2>\n'
        f'<p class="hint">The table moves sideways.</p>\n'
        f'<div class="wide">{_table(columns_of(comparison, every=True), comparison)}</div>\n{left_out}'
        f"<h2>What they mean</h2><dl>{meanings}</dl>\n{record}\n"
        f"<footer>Forebay {escape(_core.__version__)}: simulated packet by packet.</footer>\n"
        f"<script>{_SORT}</script></body></html>\n"
    )


def _folded(heading: str, summary: str, text: str) -> str:
    return f"<h2>{heading}</h2><details><summary>{summary}</summary><pre>{escape(text)}</pre></details>"


def _svg(comparison: Comparison, *, narrow: bool) -> str:
    """The figure. It has no ground of its own: the page's shows through."""
    picture = io.StringIO()
    figure = draw(comparison, narrow=narrow)
    # Of two figures on one page no part may have the name of a part of the other.
    with style(), mpl.rc_context({"svg.hashsalt": f"forebay narrow={narrow}"}):
        figure.savefig(picture, format="svg", metadata={"Date": None}, transparent=True)
    text = picture.getvalue()
    return text[text.index("<svg") :]


def _table(columns: list[Column], comparison: Comparison) -> str:
    """The table with a head of two lines, sections and columns."""
    sections, heads = ["<th></th>"], ['<th data-up="0">queue</th>']
    for section, members in groupby(columns, key=lambda column: column.section):
        group = list(members)
        sections.append(f'<th class="first" colspan="{len(group)}" style="text-align:left">{escape(section)}</th>')
        for index, column in enumerate(group):
            unit = f'<br><span class="unit">{escape(column.unit)}</span>' if column.unit else ""
            heads.append(f"<th{_edge(index)}>{escape(column.heading)}{unit}</th>")
    rows = []
    for row, (name, discipline) in enumerate(comparison.table.select("queue", "discipline").iter_rows()):
        cells = [f'<td data-value="{escape(name)}" title="{escape(discipline)}">{escape(name)}</td>']
        for _, members in groupby(columns, key=lambda column: column.section):
            cells += [_cell(column, row, index) for index, column in enumerate(members)]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    head = f"<thead><tr>{''.join(sections)}</tr><tr>{''.join(heads)}</tr></thead>"
    return f"<table>{head}<tbody>{''.join(rows)}</tbody></table>"


def _edge(index: int, *more: str) -> str:
    names = (["first"] if index == 0 else []) + list(more)
    return f' class="{" ".join(names)}"' if names else ""


def _cell(column: Column, row: int, index: int) -> str:
    value = column.values[row]
    text, sign, interval = column.cell(row).partition(" ±")
    inner = escape(text) + (f' <span class="ci">{sign.strip()}{interval}</span>' if sign else "")
    known = [abs(it) for it in column.values if it is not None]
    most = column.most or max(known, default=0.0)
    sort_key = "" if value is None else f"{value:.9g}"
    if value is None or most <= 0:
        return f'<td{_edge(index)} data-value="{sort_key}">{inner}</td>'
    part = f"{100 * min(1.0, abs(value) / most):.1f}%"
    return f'<td{_edge(index, "bar")} style="--part:{part}" data-value="{sort_key}">{inner}</td>'
