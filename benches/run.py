"""Speed and memory of Forebay, beside ns-2 and ns-3 on the same scenarios: `make bench`.

What is counted. A packet-hop is one packet, data or ACK, that crossed one link. Speed is packet-hops per second of CPU
time. Forebay reports its own hops and the CPU time of its run; the peers' hops come from `peers/` (how they are counted
stands there), their CPU time from the operating system. The peers' set-up (network, routes) is measured by a second run
of zero simulated seconds and taken off their time; ratios are of these run phases. "With set-up" is over the CPU time
of the whole process on all sides. Memory is the peak resident set; Forebay's is that of the whole of `forebay run` less
that of a Python process that does nothing.

Clocks on shared machines are noisy: every figure is the median of some repeats, and a ratio is one of medians.
"""

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
FOREBAY = Path(sys.executable).with_name("forebay")
NS3_LIBRARIES = (
    "applications",
    "core",
    "internet",
    "network",
    "nix-vector-routing",
    "point-to-point",
    "traffic-control",
)


@dataclass(frozen=True)
class Goal:
    """What a scenario is to reach; None where nothing is asked."""

    mhops_per_cpu_s: float | None
    memory_mb: float | None
    times_ns2: float
    times_ns3: float


@dataclass(frozen=True)
class Scenario:
    """A benchmark: its file, its goals, and for how many simulated seconds each peer runs it."""

    name: str
    goal: Goal
    ns2_seconds: float
    ns3_seconds: float
    """0 where ns-3 does not run it."""
    peers_lack: str = ""
    """What no peer has, where none can run it."""

    @property
    def path(self) -> Path:
        """The scenario file."""
        return HERE / "scenarios" / f"{self.name}.toml"

    @property
    def description(self) -> str:
        """What the scenario file says of itself."""
        return str(tomllib.loads(self.path.read_text())["description"])


# The peers run for less simulated time: what is compared is a rate, and all are far beyond their start.
SCENARIOS = (
    Scenario("a", Goal(40, 20, 6, 40), ns2_seconds=300, ns3_seconds=30),
    Scenario("b", Goal(20, 20, 4, 40), ns2_seconds=200, ns3_seconds=30),
    Scenario("c", Goal(20, 30, 8, 40), ns2_seconds=10, ns3_seconds=2),
    # Its goal is an eighth of ns-2's CPU time for the same 1000 s.
    Scenario("breathe", Goal(None, None, 8, 0), ns2_seconds=1000, ns3_seconds=0),
    Scenario("d", Goal(12, 300, 0, 0), ns2_seconds=0, ns3_seconds=0, peers_lack="switch with a crossbar"),
    Scenario("e", Goal(15, None, 0, 0), ns2_seconds=0, ns3_seconds=0, peers_lack="Ethernet with these schemes"),
)


JUDGED_FLOWS = 1000
MOST_NS = {"sfb": 60.0, "dbl": 60.0}
MOST_NS_OF_OTHERS = 150.0
"""Goals of disciplines at that number of flows."""

JUDGED_PORTS = 32
MOST_NS_A_SLOT = {"mwm": 20_000.0}
"""Goal of schedulers at that number of ports."""

LEAST_MDECISIONS = {"Threshold": 2.0, "CompiledThreshold": 20.0}
"""Goals of disciplines written in Python, in millions."""

MOST_PERCENT = 5.0
"""Goal of a sweep above its bare runs."""


class ProcessFailedError(Exception):
    """A measured process did not end well."""


@dataclass(frozen=True)
class Usage:
    """What a finished process printed and used."""

    stdout: str
    cpu_s: float
    peak_mb: float


@dataclass(frozen=True)
class Speed:
    """Medians over repeats of one simulator on one scenario."""

    mhops_per_cpu_s: float
    whole_process_mhops_per_cpu_s: float
    peak_mb: float
    simulated_s: float
    setup_s: float


# Linux lets a process start with the peak memory of the one that forked it: a large parent would hide a small child.
# This launcher is no larger than what is measured here. It writes exit status, CPU seconds and peak KiB to its first
# argument.
LAUNCHER = """
import os, sys
_, status, usage = os.wait4(os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ), 0)
with open(sys.argv[1], "w") as report:
    print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss, file=report)
"""


def measure(command: Sequence[str], timeout_s: float = 600) -> Usage:
    """Runs a command to its end; its CPU time and peak memory as the operating system counts them."""
    with tempfile.NamedTemporaryFile() as report:
        launched = [sys.executable, "-I", "-S", "-c", LAUNCHER, report.name, *command]
        process = subprocess.Popen(
            launched, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            output, errors = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as expired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            message = f"stopped after {timeout_s:g} s"
            raise ProcessFailedError(message) from expired
        exit_code, cpu_s, peak_kib = Path(report.name).read_text().split()
    if exit_code != "0":
        raise ProcessFailedError(explain_exit(int(exit_code), errors))
    return Usage(output, float(cpu_s), float(peak_kib) * 1024 / 1e6)


def explain_exit(exit_code: int, errors: str) -> str:
    """One line about a process that did not end well."""
    last_line = (errors.strip().splitlines() or [""])[-1]
    what = f"crashed with {signal.Signals(-exit_code).name}" if exit_code < 0 else f"exit status {exit_code}"
    return f"{what}: {last_line}" if last_line else what


def bare_python_mb(repeats: int) -> float:
    """Peak memory of a Python process that does nothing."""
    return statistics.median(measure([sys.executable, "-c", "pass"]).peak_mb for _ in range(repeats))


def bench_forebay(scenario: Scenario, repeats: int, bare_mb: float) -> Speed:
    """Forebay on a scenario; `peak_mb` is what it takes above the bare process."""
    rates, whole, peaks = [], [], []
    simulated_s = 0.0
    for _ in range(repeats):
        usage = measure([str(FOREBAY), "run", str(scenario.path), "--json"])
        result: dict[str, Any] = json.loads(usage.stdout)
        engine = result["engine"]
        rates.append(engine["packet_hops"] / engine["cpu_s"] / 1e6)
        whole.append(engine["packet_hops"] / usage.cpu_s / 1e6)
        peaks.append(usage.peak_mb - bare_mb)
        simulated_s = float(result["duration_s"])
    return Speed(statistics.median(rates), statistics.median(whole), statistics.median(peaks), simulated_s, 0.0)


def bench_peer(command: Sequence[str], scenario: Scenario, simulated_s: float, repeats: int) -> Speed:
    """A peer on a scenario: `command` is followed by the scenario's name, the simulated seconds and the seed."""
    setup_s = statistics.median(measure([*command, scenario.name, "0", "1"]).cpu_s for _ in range(repeats))
    rates, whole, peaks = [], [], []
    for seed in range(1, repeats + 1):
        usage = measure([*command, scenario.name, f"{simulated_s:g}", str(seed)])
        hops = json.loads(usage.stdout)["packet_hops"]
        rates.append(hops / max(usage.cpu_s - setup_s, 1e-3) / 1e6)
        whole.append(hops / usage.cpu_s / 1e6)
        peaks.append(usage.peak_mb)
    return Speed(statistics.median(rates), statistics.median(whole), statistics.median(peaks), simulated_s, setup_s)


def ns2_command() -> list[str] | str:
    """How ns-2 is called, or why it is left out."""
    if shutil.which("ns") is None:
        return "no `ns` on the path (Debian package ns2)"
    return ["ns", str(HERE / "peers" / "ns2" / "bench.tcl")]


def ns3_command(folder: Path) -> list[str] | str:
    """Compiles the ns-3 program; how it is called, or why ns-3 is left out."""
    headers = Path("/usr/include/ns3/core-module.h")
    compiler = shutil.which("g++")
    if compiler is None or not headers.exists():
        return "needs g++ and ns-3's headers in /usr/include/ns3 (Debian packages g++, libns3-dev)"
    program = folder / "bench"
    source = HERE / "peers" / "ns3" / "bench.cc"
    # Not by pkg-config: Debian's ns-3 names libraries there that its package does not depend on.
    libraries = [f"-lns3-{name}" for name in NS3_LIBRARIES]
    built = subprocess.run(
        [compiler, "-std=c++17", "-O2", str(source), "-o", str(program), *libraries],
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode != 0:
        return f"the program does not compile against the ns-3 found here: {built.stderr.strip().splitlines()[-1]}"
    return [str(program)]


def ns3_version() -> str:
    """The version in the name of ns-3's core library, such as 3.37."""
    found = (re.search(r"libns3-core\.so\.(\d+)$", path.name) for path in Path("/usr/lib").glob("**/libns3-core.so.*"))
    return next((f"3.{match[1]}" for match in found if match), "3")


def judged(value: float, digits: int, goal: float | None, *, at_least: bool = True) -> str:
    """A value with its goal, in colour."""
    if goal is None:
        return f"{value:.{digits}f}"
    reached = value >= goal if at_least else value < goal
    sign = ">=" if at_least else "<"
    return f"{value:.{digits}f} [{'green' if reached else 'red'}]({'' if reached else 'missed: '}{sign} {goal:g})[/]"


class Report:
    """Collects the rows of all scenarios, for a table and for JSON."""

    def __init__(self) -> None:
        self.table = Table(title="Packet-hops per CPU second, millions (goal)", title_justify="left")
        self.table.add_column("")
        self.table.add_column("simulator", no_wrap=True)
        for column in ("simulated", "Mhops/s", "with set-up", "set-up", "peak memory", "Forebay is"):
            self.table.add_column(column, justify="right", no_wrap=True)
        self.rows: list[dict[str, Any]] = []
        self.skipped: list[str] = []
        self.parts: dict[str, list[dict[str, Any]]] = {}

    def add_forebay(self, scenario: Scenario, speed: Speed) -> None:
        """Forebay's row."""
        self.table.add_row(
            scenario.name,
            "Forebay",
            f"{speed.simulated_s:g} s",
            judged(speed.mhops_per_cpu_s, 1, scenario.goal.mhops_per_cpu_s),
            f"{speed.whole_process_mhops_per_cpu_s:.1f}",
            "",
            f"{judged(speed.peak_mb, 1, scenario.goal.memory_mb, at_least=False)} MB over bare",
        )
        self.rows.append({"scenario": scenario.name, "simulator": "forebay", **vars(speed)})

    def add_peer(self, scenario: Scenario, peer: str, speed: Speed, forebay: Speed | None, goal: float) -> None:
        """A peer's row, with how many times faster Forebay is."""
        ratio = None if forebay is None else forebay.mhops_per_cpu_s / speed.mhops_per_cpu_s
        self.table.add_row(
            scenario.name,
            peer,
            f"{speed.simulated_s:g} s",
            f"{speed.mhops_per_cpu_s:.3f}",
            f"{speed.whole_process_mhops_per_cpu_s:.3f}",
            f"{speed.setup_s:.2f} s",
            f"{speed.peak_mb:.0f} MB",
            "" if ratio is None else f"{judged(ratio, 1, goal)} times",
        )
        self.rows.append({"scenario": scenario.name, "simulator": peer, "forebay_times": ratio, **vars(speed)})

    def show(self, repeats: int, *, as_json: bool) -> None:
        """Prints what was measured."""
        if as_json:
            document = {
                "repeats": repeats,
                "rows": self.rows,
                **self.parts,
                "skipped": self.skipped,
            }
            print(json.dumps(document, indent=2))
            return
        output = Console()
        if not output.is_terminal:
            output.width = 160
        if self.rows:
            output.print(self.table)
        for name, entries in self.parts.items():
            output.print(PARTS[name].table(entries))
        for line in self.skipped:
            output.print(f"skipped: {line}", style="yellow", highlight=False)

    def skip(self, what: str) -> None:
        """Something that was not measured, with the reason."""
        self.skipped.append(what)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Speed and memory of Forebay, beside ns-2 and ns-3 where installed.")
    parser.add_argument(
        "scenarios",
        nargs="*",
        default=[*(s.name for s in SCENARIOS), *PARTS],
        help=f"{', '.join([*(s.name for s in SCENARIOS), *PARTS])}; default: all",
    )
    parser.add_argument("--repeats", type=int, default=3, help="runs of each, of which the median counts (default 3)")
    parser.add_argument("--peers", default="ns2,ns3", help="ns2,ns3 (default), one of them, or nothing")
    parser.add_argument("--no-forebay", action="store_true", help="measure the peers alone")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output instead of the table")
    return parser.parse_args()


def main() -> int:
    """Measures, prints, and answers 0: a goal that is missed is shown, not an error."""
    options = arguments()
    console = Console(stderr=True)
    chosen = [scenario for scenario in SCENARIOS if scenario.name in options.scenarios]
    wanted = options.peers.split(",")
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        peers: dict[str, list[str] | str] = {}
        if "ns2" in wanted:
            peers["ns-2"] = ns2_command()
        if "ns3" in wanted:
            peers[f"ns-{ns3_version()}"] = ns3_command(Path(folder))
        for peer, command in peers.items():
            if isinstance(command, str):
                report.skip(f"{peer}: {command}")
        bare_mb = 0.0 if options.no_forebay else bare_python_mb(options.repeats)
        for scenario in chosen:
            console.print(f"[bold]{scenario.name}[/]: {scenario.description}")
            forebay = None
            if not options.no_forebay:
                forebay = bench_forebay(scenario, options.repeats, bare_mb)
                report.add_forebay(scenario, forebay)
            bench_peers(scenario, peers, forebay, options.repeats, report)
    for name, part in PARTS.items():
        if name in options.scenarios and not options.no_forebay:
            console.print(f"[bold]{name}[/]: {part.description}")
            report.parts[name] = measured_by(part.command, name)
    report.show(options.repeats, as_json=options.json)
    return 0


def measured_by(command: list[str], name: str) -> list[dict[str, Any]]:
    """What a command measured: the list under this name in the document that it prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE.parent)
    if done.returncode != 0:
        message = f"the benchmark of {name}: {explain_exit(done.returncode, done.stderr)}"
        raise ProcessFailedError(message)
    measured: list[dict[str, Any]] = json.loads(done.stdout)[name]
    return measured


def discipline_table(disciplines: list[dict[str, Any]]) -> Table:
    """A row for each discipline; those beyond their goal are marked."""
    table = Table(title="CPU time of a discipline for each packet offered, ns (goal)", title_justify="left")
    table.caption = "100 Mb/s offered 1.2 times as much, evenly from all flows; enqueue or drop, and dequeue"
    table.caption_justify = "left"
    table.add_column("discipline", no_wrap=True)
    for cost in disciplines[0]["costs"]:
        table.add_column(f"{cost['flows']:,} flows", justify="right", no_wrap=True)
    table.add_column("state at most", justify="right", no_wrap=True)
    for entry in disciplines:
        most = MOST_NS.get(entry["name"], MOST_NS_OF_OTHERS)
        cells = [
            judged(cost["ns_per_packet"], 0, most if cost["flows"] == JUDGED_FLOWS else None, at_least=False)
            for cost in entry["costs"]
        ]
        state = max(cost["state_bytes"] for cost in entry["costs"])
        table.add_row(entry["name"], *cells, f"{state / 1000:,.1f} kB")
    return table


def scheduler_table(schedulers: list[dict[str, Any]]) -> Table:
    """A row for each scheduler and load; those beyond their goal are marked."""
    table = Table(title="CPU time of a scheduler for each slot, ns (goal)", title_justify="left")
    table.caption = "a slotted switch, load 0.95 of Bernoulli cells, one phase a slot; the phase alone"
    table.caption_justify = "left"
    table.add_column("scheduler", no_wrap=True)
    table.add_column("load", no_wrap=True)
    for cost in schedulers[0]["costs"]:
        table.add_column(f"{cost['ports']} ports", justify="right", no_wrap=True)
    for entry in schedulers:
        most = MOST_NS_A_SLOT.get(entry["name"])
        cells = [
            judged(cost["ns_per_slot"], 0, most if cost["ports"] == JUDGED_PORTS else None, at_least=False)
            for cost in entry["costs"]
        ]
        table.add_row(entry["name"], entry["load"], *cells)
    return table


def guest_table(guests: list[dict[str, Any]]) -> Table:
    """A row for each class; those short of their goal are marked."""
    table = Table(title="Decisions of disciplines written in Python (goal)", title_justify="left")
    table.caption = "100 Mb/s offered 1.2 times as much, from 16 flows; the queue behind the decision is part of it"
    table.caption_justify = "left"
    table.add_column("class", no_wrap=True)
    table.add_column("ns a packet", justify="right", no_wrap=True)
    table.add_column("millions a CPU second", justify="right", no_wrap=True)
    for entry in guests:
        goal = LEAST_MDECISIONS.get(entry["name"])
        millions = 1e3 / entry["ns_per_packet"]
        table.add_row(entry["name"], f"{entry['ns_per_packet']:.0f}", judged(millions, 1, goal))
    return table


def sweep_table(sweeps: list[dict[str, Any]]) -> Table:
    """What a sweep adds to its runs."""
    table = Table(title="CPU time of a sweep above that of its bare runs (goal)", title_justify="left")
    table.caption = "examples/first.toml for 60 s, 34 time series of 1200 samples, one thread"
    table.caption_justify = "left"
    for column in ("runs", "ms a bare run", "percent"):
        table.add_column(column, justify="right", no_wrap=True)
    for entry in sweeps:
        percent = judged(100 * (entry["ratio"] - 1), 1, MOST_PERCENT, at_least=False)
        table.add_row(f"{entry['runs']:,}", f"{entry['ms_per_bare_run']:.1f}", percent)
    return table


@dataclass(frozen=True)
class Part:
    """A benchmark of its own, which prints a JSON document with a list under its name."""

    description: str
    command: list[str]
    table: Callable[[list[dict[str, Any]]], Table]


def example(package: str, name: str) -> list[str]:
    """The command that runs an example of a crate."""
    return ["cargo", "run", "--release", "--locked", "--quiet", "--package", package, "--example", name]


def script(name: str) -> list[str]:
    """The command that runs a script beside this one."""
    return [sys.executable, str(HERE / name)]


PARTS = {
    # See crates/scenario/src/cost.rs.
    "disciplines": Part("CPU time of each for a packet", example("forebay-scenario", "disciplines"), discipline_table),
    "schedulers": Part("CPU time of each for a slot", example("forebay-switching", "schedulers"), scheduler_table),
    "guests": Part("decisions of disciplines written in Python", script("guests.py"), guest_table),
    "sweep": Part("CPU time of a sweep above that of its runs", script("sweep.py"), sweep_table),
}
"""Also measured."""


def bench_peers(
    scenario: Scenario, peers: dict[str, list[str] | str], forebay: Speed | None, repeats: int, report: Report
) -> None:
    """All installed peers on one scenario; one that cannot run it, or fails, is skipped with the reason."""
    if scenario.peers_lack and peers:
        report.skip(f"{' and '.join(peers)} on {scenario.name}: have no {scenario.peers_lack}")
        return
    for peer, command in peers.items():
        if isinstance(command, str):
            continue
        is_ns2 = peer == "ns-2"
        simulated_s = scenario.ns2_seconds if is_ns2 else scenario.ns3_seconds
        if not simulated_s:
            continue
        goal = scenario.goal.times_ns2 if is_ns2 else scenario.goal.times_ns3
        try:
            speed = bench_peer(command, scenario, simulated_s, repeats)
        except ProcessFailedError as failure:
            report.skip(f"{peer} on {scenario.name}: {failure}")
        else:
            report.add_peer(scenario, peer, speed, forebay, goal)


if __name__ == "__main__":
    sys.exit(main())
