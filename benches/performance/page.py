"""Writes the page `docs/performance.md` and its figures from the stored measurements."""

from __future__ import annotations

import textwrap
import tomllib
from pathlib import Path
from typing import Any

from performance import results
from performance.instructions import module_table, profile_table
from performance.plots import draw
from performance.results import Bench, NoResultsError
from performance.suite import FOLDER
from performance.tables import Table, for_page, missed

PAGE = "performance.md"
STANDS_BETWEEN = Path(__file__).with_name("stands_between.md")
"""The reasons for the gaps between figures and goals, written by hand."""
TOP = """<!-- `make bench` writes this page; `benches/run.py --page` draws it from performance.json. Do not edit it. -->

# Performance

Forebay's speed compared with ns-2 and ns-3, the growth of its cost, and a profile. `make bench` measures all of it and
writes this page; `make profile` adds the counts of instructions.
"""
HOW = """
## How it is measured

A packet-hop is one packet, data or ACK, that crossed one link. Speed is packet-hops per second of CPU time in the run
phase. Forebay reports the hops and the CPU time of its run. The hops of ns-2 and ns-3 come from `benches/peers`, which
explains how they are counted; their CPU time comes from the operating system, less that of a run of no simulated time.
Both come from the machine's distribution; the program that calls ns-3 is compiled with `-O2`. "With set-up" divides by
the CPU time of the whole process on all sides. Ratios are those of the run phases. The peers simulate less time: only
rates are compared, and all are far beyond their start.

Every figure is {repeats}. The simulators take turns on each scenario, each repeat with another seed, so that a machine
whose speed drifts slows all of them. With two threads the measure is the reduction of the wall time of the run phase.
Memory is the peak resident set of the process, as the operating system reports it.

A goal is in parentheses after its figure. Goals apply to a quiet machine and, unless stated otherwise, to one thread.
Missed goals are in bold.
"""
SUITE = """
## Compared with ns-2 and ns-3

The scenarios are ordinary scenario files in `benches/scenarios`:
"""
SCALING = """
## Scaling

Forebay alone. Start-up is the wall time of a `forebay run` of no simulated time: it reads the scenario, builds the
network, and prints the tables.
"""


def write(folder: Path) -> Path:
    """Writes page and figures into the folder of the documentation. Raises NoResultsError."""
    stored = results.load(folder)
    if "bench" not in stored:
        message = f"{folder / results.FILE} holds no results of a benchmark\nhint: measure with `make bench`"
        raise NoResultsError(message)
    bench = Bench(stored["bench"])
    pictures = draw(bench.suite, bench.curves, folder / "images")
    path = folder / PAGE
    path.write_text(text(bench, stored.get("profile"), pictures), encoding="utf-8")
    return path


def text(bench: Bench, profile: dict[str, Any] | None, pictures: dict[str, Path]) -> str:
    """The page."""
    counted = [profile_table(profile), module_table(profile)] if profile else []
    goals = missed([*bench.tables(), *counted])
    parts = [TOP, state_of(bench, goals), how(bench)]
    parts.append(machine_section(bench.document))
    if suite := bench.suite_tables():
        parts += [SUITE, described(bench), picture("suite", pictures), *map(section, suite)]
    if curves := bench.curve_tables():
        parts.append(SCALING)
        parts += [section(table, picture(name, pictures)) for name, table in curves.items()]
    if counted:
        parts += ["## Where the instructions go", *map(section, counted)]
    else:
        parts += ["## Where the instructions go", "Not measured: `make profile` does, where valgrind is installed."]
    if goals[0]:
        parts.append(STANDS_BETWEEN.read_text(encoding="utf-8"))
    if others := bench.part_tables():
        parts += ["## Disciplines, schedulers, sweeps, the lab", *map(section, others)]
    if skipped := bench.document["skipped"]:
        parts += ["## Not measured", "\n".join(f"- {line}" for line in skipped)]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def state_of(bench: Bench, goals: tuple[int, int]) -> str:
    """When and what was measured, and how many goals are missed."""
    document = bench.document
    few = "**These are the figures of a quick run, of small sizes and short times: they are not to be quoted.** "
    lost, asked = goals
    verdict = f"all {asked} goals are reached" if not lost else f"{lost} of {asked} goals are missed"
    return filled(
        f"{few if document['quick'] else ''}Measured on {document['date']} at commit {document['commit']}: {verdict}. "
        f"The [measurements](performance.json) of every repeat are stored next to the page."
    )


def how(bench: Bench) -> str:
    """How it was measured."""
    repeats = bench.document["repeats"]
    words = f"the median of {repeats} runs" if repeats > 1 else "that of one run"
    return "\n\n".join(map(filled, HOW.format(repeats=words).strip().split("\n\n")))


def filled(paragraph: str) -> str:
    """Broken into lines as long as those of other pages."""
    return textwrap.fill(paragraph, 120, break_long_words=False, break_on_hyphens=False)


def machine_section(document: dict[str, Any]) -> str:
    """The machine, the tools, and how busy the machine was."""
    load = document["load"]
    busy = (
        f"{load['load_before']:.2f} before, {load['load_median']:.2f} in the middle, {load['load_highest']:.2f} at "
        f"most; the benchmark itself adds about 1"
    )
    rows = document["machine"] | {"load average": busy, "stolen by the host": f"{load['stolen_percent']:.1f} %"}
    rows |= {"duration": f"{load['minutes']:.0f} minutes"}
    lines = ["## The machine", "", "| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())]
    return "\n".join(lines)


def described(bench: Bench) -> str:
    """A line for each scenario that was run."""
    names = dict.fromkeys(samples.scenario for samples in bench.suite)
    files = {name: tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8")) for name in names}
    return "\n".join(f"- **{name}**: {file['description']}" for name, file in files.items())


def section(table: Table, above: str = "") -> str:
    """A table under its title."""
    return "\n\n".join(part for part in (f"### {table.title}", above, filled(table.note), for_page(table)) if part)


def picture(name: str, pictures: dict[str, Path]) -> str:
    """The figure of that name."""
    return f"![{name}](images/{pictures[name].name})" if name in pictures else ""
