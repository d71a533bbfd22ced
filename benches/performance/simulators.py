"""How each simulator is called: Forebay with one thread or more, ns-2, ns-3."""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from performance.machine import ns3_version
from performance.processes import ProcessFailedError, measure
from performance.samples import Run, Start

PEERS = Path(__file__).resolve().parents[1] / "peers"
FOREBAY = [sys.executable, "-m", "forebay"]
NS3_LIBRARIES = (
    "applications",
    "core",
    "internet",
    "network",
    "nix-vector-routing",
    "point-to-point",
    "traffic-control",
)
NO_TIME = "1 ns"
"""Of simulated time: the network is built and the tables are made, and nothing is simulated."""

COST = re.compile(r"^(?P<hops>[\d,]+) packet-hops in (?P<cpu>\S+) s of CPU time: .*?; (?P<mb>\d+) MB;\s", re.MULTILINE)
"""The line that ends what `forebay run` prints."""


class SimulatorMissingError(Exception):
    """A peer that cannot be run here, and why."""


class Simulator(Protocol):
    """A program that runs a benchmark. A scenario is a file for Forebay, and known to a peer by the file's name."""

    @property
    def name(self) -> str:
        """As the tables call it."""

    @property
    def threads(self) -> int:
        """How many it runs with."""

    def start(self, scenario: Path) -> Start:
        """A run of no simulated time."""

    def run(self, scenario: Path, simulated_s: float, seed: int) -> Run:
        """A run to the end."""


@dataclass(frozen=True)
class Forebay:
    """`forebay run`, as a user calls it."""

    threads: int = 1
    option: bool = False
    """Whether the command takes `--threads`."""

    @property
    def name(self) -> str:
        """As the tables call it."""
        return "Forebay"

    def command(self, scenario: Path, duration: str) -> list[str]:
        """The command for as much simulated time. The scenario's warm-up, if any, must not be longer than it."""
        threads = ["--threads", str(self.threads)] if self.option else []
        return [*FOREBAY, "run", str(scenario), "--set", f"duration={duration}", *threads]

    def start(self, scenario: Path) -> Start:
        """A run of no simulated time."""
        usage = measure(self.command(scenario, NO_TIME))
        return Start(usage.cpu_s, usage.wall_s, usage.peak_mb)

    def run(self, scenario: Path, simulated_s: float, seed: int) -> Run:
        """A run to the end. The clock of the run phase counts one thread: with more, the process's is taken."""
        usage = measure([*self.command(scenario, seconds(simulated_s)), "--seed", str(seed)])
        hops, cpu_s, core_mb = cost_line(usage.stdout)
        run_cpu_s = cpu_s if self.threads == 1 else None
        return Run(hops, run_cpu_s, usage.cpu_s, usage.wall_s, usage.peak_mb, core_mb)


def seconds(simulated_s: float) -> str:
    """A duration as a scenario writes it."""
    return f"{simulated_s:.9f}".rstrip("0").rstrip(".") + " s"


def cost_line(printed: str) -> tuple[int, float, float]:
    """Packet-hops, CPU seconds, and the peak memory at the end of the run phase, from what `forebay run` prints."""
    found = COST.search(printed)
    if found is None:
        message = f"no line like `1,234 packet-hops in 1.2 s of CPU time: …; 30 MB; …` ends {printed[-200:]!r}"
        raise ProcessFailedError(message)
    return int(found["hops"].replace(",", "")), float(found["cpu"]), float(found["mb"])


def forebays() -> list[Forebay]:
    """Forebay with one thread, and with two where `forebay run` takes their number."""
    usage = measure([*FOREBAY, "run", "--help"], environment={"COLUMNS": "200", "NO_COLOR": "1"})
    if "--threads" in usage.stdout:
        return [Forebay(1, option=True), Forebay(2, option=True)]
    return [Forebay()]


def bare_python_mb(repeats: int) -> float:
    """Peak memory of a Python process that does nothing."""
    return statistics.median(measure([sys.executable, "-c", "pass"]).peak_mb for _ in range(repeats))


@dataclass(frozen=True)
class Peer:
    """A program in `peers/`, called with the scenario's name, the simulated seconds and the seed."""

    name: str
    command: tuple[str, ...]
    threads: int = 1

    def start(self, scenario: Path) -> Start:
        """A run of no simulated time."""
        usage = measure([*self.command, scenario.stem, "0", "1"])
        return Start(usage.cpu_s, usage.wall_s, usage.peak_mb)

    def run(self, scenario: Path, simulated_s: float, seed: int) -> Run:
        """A run to the end."""
        usage = measure([*self.command, scenario.stem, f"{simulated_s:g}", str(seed)])
        return Run(json.loads(usage.stdout)["packet_hops"], None, usage.cpu_s, usage.wall_s, usage.peak_mb)


def ns2() -> Peer:
    """ns-2."""
    if shutil.which("ns") is None:
        message = "no `ns` on the path (Debian package ns2)"
        raise SimulatorMissingError(message)
    return Peer("ns-2", ("ns", str(PEERS / "ns2" / "bench.tcl")))


def ns3(folder: Path) -> Peer:
    """ns-3; its program is compiled into the folder."""
    compiler = shutil.which("g++")
    version = ns3_version()
    if compiler is None or version is None or not Path("/usr/include/ns3/core-module.h").exists():
        message = "needs g++ and ns-3's headers in /usr/include/ns3 (Debian packages g++, libns3-dev)"
        raise SimulatorMissingError(message)
    program = folder / "bench"
    # Not by pkg-config: Debian's ns-3 names libraries there that its package does not depend on.
    libraries = [f"-lns3-{name}" for name in NS3_LIBRARIES]
    built = subprocess.run(
        [compiler, "-std=c++17", "-O2", str(PEERS / "ns3" / "bench.cc"), "-o", str(program), *libraries],
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode != 0:
        reason = (built.stderr.strip().splitlines() or ["no message"])[-1]
        message = f"the program does not compile against the ns-3 found here: {reason}"
        raise SimulatorMissingError(message)
    return Peer(f"ns-{version}", (str(program),))
