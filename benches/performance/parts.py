"""Benchmarks that are programs of their own: each prints a JSON document with a list under its name."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from performance import goals
from performance.processes import ProcessFailedError, explain_exit
from performance.tables import Table, judged

BENCHES = Path(__file__).resolve().parents[1]
Entries = list[dict[str, Any]]


@dataclass(frozen=True)
class Part:
    """A measurement, its command, and its presentation."""

    description: str
    command: list[str]
    table: Callable[[Entries], Table]
    when_quick: Sequence[str] = ()
    """Arguments of a quick run."""


def measured_by(part: Part, name: str, *, quick: bool) -> Entries:
    """The measurements of the part's command."""
    command = [*part.command, *(part.when_quick if quick else ())]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=BENCHES.parent)
    if done.returncode != 0:
        message = f"the benchmark of {name}: {explain_exit(done.returncode, done.stderr)}"
        raise ProcessFailedError(message)
    measured: Entries = json.loads(done.stdout)[name]
    return measured


def discipline_table(disciplines: Entries) -> Table:
    """A row for each discipline."""
    flows = [f"{cost['flows']:,} flows" for cost in disciplines[0]["costs"]]
    table = Table(
        "CPU time of a discipline for each packet offered, ns (goal)", ("discipline", *flows, "state at most")
    )
    table.note = "100 Mb/s offered 1.2 times as much, evenly from all flows; enqueue or drop, and dequeue."
    for entry in disciplines:
        most = goals.MOST_NS.get(entry["name"], goals.MOST_NS_OF_OTHERS)
        cells = [
            judged(
                cost["ns_per_packet"],
                0,
                most if cost["flows"] == goals.DISCIPLINES_FLOWS else None,
                at_least=False,
            )
            for cost in entry["costs"]
        ]
        state = max(cost["state_bytes"] for cost in entry["costs"])
        table.add(entry["name"], *cells, f"{state / 1000:,.1f} kB")
    return table


def scheduler_table(schedulers: Entries) -> Table:
    """A row for each scheduler and load."""
    ports = [f"{cost['ports']} ports" for cost in schedulers[0]["costs"]]
    table = Table("CPU time of a scheduler for each slot, ns (goal)", ("scheduler", "load", *ports), left=2)
    table.note = "A slotted switch, load 0.95 of Bernoulli cells, one phase a slot; the phase alone."
    for entry in schedulers:
        most = goals.MOST_NS_A_SLOT.get(entry["name"])
        cells = [
            judged(
                cost["ns_per_slot"],
                0,
                most if cost["ports"] == goals.SCHEDULERS_PORTS else None,
                at_least=False,
            )
            for cost in entry["costs"]
        ]
        table.add(entry["name"], entry["load"], *cells)
    return table


def guest_table(guests: Entries) -> Table:
    """A row for each class."""
    table = Table(
        "Decisions of disciplines written in Python (goal)", ("class", "ns a packet", "millions a CPU second")
    )
    table.note = "100 Mb/s offered 1.2 times as much, from 16 flows; the queue behind the decision is part of it."
    for entry in guests:
        goal = goals.LEAST_MDECISIONS.get(entry["name"])
        table.add(entry["name"], f"{entry['ns_per_packet']:.0f}", judged(1e3 / entry["ns_per_packet"], 1, goal))
    return table


def sweep_table(sweeps: Entries) -> Table:
    """The overhead of a sweep over its runs."""
    table = Table(
        "CPU time of a sweep above that of its bare runs (goal)", ("runs", "ms a bare run", "percent more"), left=0
    )
    table.note = "`examples/first.toml` for 60 s, 34 time series of 1200 samples, one thread."
    for entry in sweeps:
        percent = judged(100 * (entry["ratio"] - 1), 1, goals.MOST_SWEEP_PERCENT, at_least=False)
        table.add(f"{entry['runs']:,}", f"{entry['ms_per_bare_run']:.1f}", percent)
    return table


def browser_table(runs: Entries) -> Table:
    """The speed in a browser compared with that of the command line."""
    table = Table(
        "Packet-hops per second in the lab, millions (goal)", ("scenario", "command line", "browser", "ratio")
    )
    table.note = "The engine of the lab in a worker of its page, in Chromium, and `forebay run`; one thread each."
    for entry in runs:
        ratio = judged(entry["browser"] / entry["native"], 2, goals.LEAST_SHARE_IN_BROWSER)
        table.add(entry["scenario"], f"{entry['native']:.1f}", f"{entry['browser']:.1f}", ratio)
    return table


def delay_table(delays: Entries) -> Table:
    """How long a reader of the lab waits."""
    table = Table("Time until the lab shows it, ms (goal for the longest)", ("delay", "median", "longest"))
    table.note = "`examples/first.toml` in Chromium, from this machine; the page loaded 5 times, 24 moves of a slider."
    for entry in delays:
        goal = goals.MOST_MS_IN_LAB.get(entry["what"])
        table.add(entry["what"], f"{entry['median_ms']:.0f}", judged(entry["longest_ms"], 0, goal, at_least=False))
    return table


def example(package: str, name: str) -> list[str]:
    """The command that runs an example of a crate."""
    return ["cargo", "run", "--release", "--locked", "--quiet", "--package", package, "--example", name]


def script(name: str) -> list[str]:
    """The command that runs a script next to `run.py`."""
    return [sys.executable, str(BENCHES / name)]


PARTS = {
    # See crates/scenario/src/cost.rs.
    "disciplines": Part("CPU time of each for a packet", example("forebay-scenario", "disciplines"), discipline_table),
    "schedulers": Part("CPU time of each for a slot", example("forebay-switching", "schedulers"), scheduler_table),
    "guests": Part("decisions of disciplines written in Python", script("guests.py"), guest_table),
    "sweep": Part("CPU time of a sweep above that of its runs", script("sweep.py"), sweep_table, ["--runs", "50"]),
    "browser": Part("speed in a browser", script("lab_speed.py"), browser_table),
    "delays": Part("delays of the lab", script("lab_delays.py"), delay_table),
}
