"""Instructions, cache misses and mispredicted branches of a packet-hop, as valgrind's callgrind counts them.

A scenario is run at two lengths, and the longer one's additional cost is divided by its additional packet-hops: the
cost of the start cancels. The counts hardly depend on the machine or on its load: the caches and the branch predictor
are
callgrind's models.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from performance import goals, machine
from performance.callgrind import Profile, read_profile
from performance.processes import first_line, measure
from performance.simulators import seconds
from performance.suite import Scenario
from performance.tables import Table, judged

CORE_RUN = Path(__file__).with_name("core_run.py")
CACHES = {"I1": "32768,8,64", "D1": "32768,8,64", "LL": "1048576,16,64"}
"""Size, ways and line in bytes. Callgrind has two levels: the second is as large as the private cache of one core."""
CACHES_IN_WORDS = "32 KiB, 8-way, and 1 MiB, 16-way, behind it, with lines of 64 bytes"
LEAST_SHARE = 0.01
"""Modules below this part of the instructions of every scenario are shown together."""
MISSES = {
    "first-level data misses": ("D1mr", "D1mw"),
    "last-level misses": ("ILmr", "DLmr", "DLmw"),
    "mispredicted branches": ("Bcm", "Bim"),
}


def missing(library: Path) -> str | None:
    """Why nothing can be profiled, or None."""
    if shutil.which("valgrind") is None:
        return "valgrind is not installed (Debian package valgrind)"
    if not library.exists():
        return f"{library} is not built: run `make profile`"
    return None


def profile_suite(chosen: Sequence[Scenario], library: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """The stored document of the profile."""
    scenarios = []
    for scenario in chosen:
        if scenario.profile_s is None:
            continue
        say(f"[bold]{scenario.name}[/]: {scenario.profile_s[0]:g} s and {scenario.profile_s[1]:g} s under valgrind")
        shorter, longer = (profile_run(scenario.path, it, library) for it in scenario.profile_s)
        scenarios.append({"scenario": scenario.name, "simulated_s": scenario.profile_s, **difference(shorter, longer)})
    return {
        "date": machine.now(),
        "commit": machine.commit(),
        "valgrind": first_line(["valgrind", "--version"]),
        "caches": CACHES,
        "scenarios": scenarios,
    }


def profile_run(scenario: Path, simulated_s: float, library: Path) -> tuple[int, Profile]:
    """Packet-hops and costs of a run."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        valgrind = [
            "valgrind",
            "--tool=callgrind",
            "--cache-sim=yes",
            "--branch-sim=yes",
            f"--callgrind-out-file={out}",
        ]
        caches = [f"--{level}={shape}" for level, shape in CACHES.items()]
        core = [sys.executable, "-S", str(CORE_RUN), str(library), str(scenario), seconds(simulated_s)]
        # The order of Python's dictionaries of texts would add noise.
        usage = measure([*valgrind, *caches, *core], timeout_s=3600, environment={"PYTHONHASHSEED": "0"})
        with out.open(encoding="utf-8", errors="replace") as lines:
            return int(json.loads(usage.stdout)["packet_hops"]), read_profile(lines)


def difference(shorter: tuple[int, Profile], longer: tuple[int, Profile]) -> dict[str, Any]:
    """The excess of the longer run."""
    more = longer[1].since(shorter[1])
    return {
        "packet_hops": longer[0] - shorter[0],
        "events": dict(more.totals),
        "instructions_by_module": {name: costs["Ir"] for name, costs in more.modules.items() if costs["Ir"]},
    }


def profile_table(profile: dict[str, Any]) -> Table:
    """A row for each scenario."""
    table = Table("Counts a packet-hop (goal)", ("", "instructions", *MISSES))
    table.note = (
        f"{profile['valgrind']}, on a build for x86-64-v3 of commit {profile['commit']}, {profile['date']}. Caches: "
        f"{CACHES_IN_WORDS}. Each figure is the difference of two run lengths, divided by that of their packet-hops."
    )
    for entry in profile["scenarios"]:
        events, hops = entry["events"], entry["packet_hops"]
        goal = goals.SUITE[entry["scenario"]].instructions_per_hop
        misses = [f"{sum(events.get(event, 0) for event in counted) / hops:.2f}" for counted in MISSES.values()]
        table.add(entry["scenario"], judged(events["Ir"] / hops, 0, goal, at_least=False), *misses)
    return table


def module_table(profile: dict[str, Any]) -> Table:
    """A row for each module of the source, the most expensive first."""
    entries = profile["scenarios"]
    table = Table("Instructions a packet-hop by module", ("module", *(entry["scenario"] for entry in entries)))
    table.note = (
        "A module is a source file in `crates/`. Inlined code is counted in the file that defines it; Rust's own "
        "library, with the code before it in the compiled function."
    )
    names = {name for entry in entries for name in entry["instructions_by_module"]}
    per_hop = {
        name: [entry["instructions_by_module"].get(name, 0) / entry["packet_hops"] for entry in entries]
        for name in names
    }
    wholes = [entry["events"]["Ir"] / entry["packet_hops"] for entry in entries]
    shown = [
        name
        for name, values in per_hop.items()
        if any(value >= LEAST_SHARE * whole for value, whole in zip(values, wholes, strict=True))
    ]
    for name in sorted(shown, key=lambda name: (-max(per_hop[name]), name)):
        table.add(f"`{name}`" if "/" in name else name, *map(count, per_hop[name]))
    rest = [whole - sum(per_hop[name][i] for name in shown) for i, whole in enumerate(wholes)]
    table.add("all others", *map(count, rest))
    return table


def count(instructions: float) -> str:
    """A count a packet-hop; nothing for less than a tenth."""
    return f"{instructions:.1f}" if instructions >= 0.05 else ""
