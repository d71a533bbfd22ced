"""The scenarios in `benches/scenarios`, run by Forebay and by the peers that can."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from performance import goals
from performance.goals import Goal
from performance.machine import LoadWatch
from performance.processes import ProcessFailedError
from performance.samples import Samples
from performance.simulators import Simulator
from performance.tables import Cell, Table, judged

FOLDER = Path(__file__).resolve().parents[1] / "scenarios"
QUICK_SHARE, QUICK_S = 0.05, 2.0
"""A quick run simulates this part of the time, or as much as is enough to be past the start."""


@dataclass(frozen=True)
class Scenario:
    """A benchmark, and for how many simulated seconds each simulator runs it; 0 where a peer does not."""

    name: str
    forebay_s: float
    ns2_s: float = 0
    ns3_s: float = 0
    peers_lack: str = ""
    """A feature that no peer has, if none can run the scenario."""
    profile_s: tuple[float, float] | None = None
    """The two lengths whose difference is profiled; both are past the start."""

    @property
    def path(self) -> Path:
        """The scenario file."""
        return FOLDER / f"{self.name}.toml"

    @property
    def description(self) -> str:
        """The description in the scenario file."""
        return str(tomllib.loads(self.path.read_text(encoding="utf-8"))["description"])

    def simulated_s(self, simulator: Simulator, *, quick: bool) -> float:
        """For how long a simulator runs it."""
        whole = {"Forebay": self.forebay_s, "ns-2": self.ns2_s}.get(simulator.name, self.ns3_s)
        return max(QUICK_SHARE * whole, min(whole, QUICK_S)) if quick else whole


# The peers run for less simulated time: only rates are compared, and all are far beyond their start.
SCENARIOS = (
    Scenario("a", 3000, ns2_s=300, ns3_s=30, profile_s=(10, 30)),
    Scenario("b", 1000, ns2_s=200, ns3_s=30, profile_s=(10, 40)),
    Scenario("c", 30, ns2_s=10, ns3_s=2, profile_s=(2, 3)),
    # Goal and simulated time are those of ns-2's run.
    Scenario("breathe", 1000, ns2_s=1000),
    Scenario("d", 8, peers_lack="switch with a crossbar", profile_s=(1.2, 1.4)),
    Scenario("e", 1, peers_lack="Ethernet with these schemes", profile_s=(0.05, 0.1)),
    Scenario("f", 0.01, peers_lack="patterns of a fabric"),
    Scenario("f-uec", 0.01, peers_lack="Ultra Ethernet"),
    Scenario("f-lossless", 0.01, peers_lack="RoCE"),
)


def measure_suite(
    chosen: Sequence[Scenario],
    simulators: Sequence[Simulator],
    repeats: int,
    *,
    quick: bool,
    watch: LoadWatch,
    say: Callable[[str], None],
) -> tuple[list[Samples], list[str]]:
    """All that was measured, and a line for each simulator that did not run a scenario.

    The simulators take turns: a machine whose speed drifts slows all of them.
    """
    measured, skipped = [], []
    for scenario in chosen:
        say(f"[bold]{scenario.name}[/]: {scenario.description}")
        peers = [simulator.name for simulator in simulators if simulator.name != "Forebay"]
        if scenario.peers_lack and peers:
            skipped.append(f"{' and '.join(peers)} on {scenario.name}: have no {scenario.peers_lack}")
        turns = {
            simulator: Samples(scenario.name, simulator.name, simulator.threads, simulated_s)
            for simulator in simulators
            if (simulated_s := scenario.simulated_s(simulator, quick=quick))
        }
        skipped += take_turns(scenario.path, turns, repeats, watch)
        measured += [samples for samples in turns.values() if samples.runs]
    return measured, skipped


def take_turns(scenario: Path, turns: dict[Simulator, Samples], repeats: int, watch: LoadWatch) -> list[str]:
    """Fills the samples; one that fails is emptied and out. Returns a line for each of these."""
    failed = []
    for seed in range(1, repeats + 1):
        for simulator, samples in list(turns.items()):
            watch.note()
            try:
                samples.starts.append(simulator.start(scenario))
                samples.runs.append(simulator.run(scenario, samples.simulated_s, seed))
            except ProcessFailedError as failure:
                failed.append(f"{simulator.name} on {samples.scenario}: {failure}")
                del turns[simulator]
    return failed


def of(measured: Sequence[Samples], scenario: str, simulator: str, threads: int = 1) -> Samples | None:
    """The samples of a simulator whose name begins with this."""
    found = (it for it in measured if it.scenario == scenario and it.threads == threads)
    return next((it for it in found if it.simulator.startswith(simulator)), None)


def speed_table(measured: Sequence[Samples]) -> Table:
    """A row for each scenario and simulator."""
    table = Table(
        "Packet-hops per CPU second, millions (goal)",
        ("", "simulator", "simulated", "Mhops/s", "lowest to highest", "with set-up", "set-up", "Forebay is"),
        left=2,
    )
    for samples in measured:
        goal = goals.SUITE.get(samples.scenario, Goal())
        one_thread = of(measured, samples.scenario, "Forebay")
        alone = samples.simulator == "Forebay" and samples.threads == 1
        speed = samples.mhops_per_cpu_s
        digits = 1 if samples.simulator == "Forebay" else 3
        table.add(
            samples.scenario,
            name_of(samples),
            f"{samples.simulated_s:g} s",
            speed_cell(speed, goal) if alone else f"{speed:.{digits}f}",
            f"{min(samples.speeds):.{digits}f} to {max(samples.speeds):.{digits}f}",
            f"{samples.whole_process_mhops_per_cpu_s:.{digits}f}",
            f"{samples.setup_cpu_s:.2f} s",
            times_cell(one_thread, samples, goal),
        )
    return table


def name_of(samples: Samples) -> str:
    """The simulator, with its threads where it has several."""
    return samples.simulator if samples.threads == 1 else f"{samples.simulator}, {samples.threads} threads"


def speed_cell(speed: float, goal: Goal) -> Cell:
    """Forebay's speed; a missed stretch is stated, but is no miss if the required goal is reached."""
    stretch = judged(speed, 1, goal.mhops_per_cpu_s)
    if goal.least_mhops_per_cpu_s is None or stretch.reached:
        return stretch
    least = judged(speed, 1, goal.least_mhops_per_cpu_s)
    return Cell(least.text, f"{least.goal}, not the stretch {stretch.goal}", least.reached)


def times_cell(forebay: Samples | None, samples: Samples, goal: Goal) -> Cell | str:
    """How many times a peer's speed Forebay's with one thread is."""
    if forebay is None or samples.simulator == "Forebay":
        return ""
    least = goal.times_ns2 if samples.simulator == "ns-2" else goal.times_ns3
    return judged(forebay.mhops_per_cpu_s / samples.mhops_per_cpu_s, 1, least, unit=" times")


def thread_table(measured: Sequence[Samples]) -> Table:
    """A row for each scenario: the wall time of the run phase with one thread and with more."""
    table = Table(
        "Wall time of the run phase with more threads (goal)", ("", "threads", "one thread", "more", "shorter")
    )
    for more in measured:
        one = of(measured, more.scenario, "Forebay")
        if more.threads == 1 or one is None:
            continue
        least = goals.SUITE.get(more.scenario, Goal()).times_faster_with_two_threads
        shorter = judged(one.run_wall_s / more.run_wall_s, 2, least, unit=" times")
        table.add(more.scenario, str(more.threads), f"{one.run_wall_s:.2f} s", f"{more.run_wall_s:.2f} s", shorter)
    return table


def memory_table(measured: Sequence[Samples], bare_mb: float) -> Table:
    """A row for each scenario: the memory of each simulator."""
    names = list(dict.fromkeys(map(name_of, measured)))
    table = Table("Peak memory, MB (goal)", ("", *names))
    table.note = f"Forebay's is above the {bare_mb:.1f} MB of a Python process that does nothing."
    for scenario in dict.fromkeys(samples.scenario for samples in measured):
        cells: dict[str, Cell | str] = dict.fromkeys(names, "")
        for samples in measured:
            if samples.scenario != scenario:
                continue
            if samples.simulator != "Forebay":
                cells[name_of(samples)] = f"{samples.peak_mb:.0f}"
                continue
            most = goals.SUITE.get(scenario, Goal()).memory_mb if samples.threads == 1 else None
            cells[name_of(samples)] = judged(samples.peak_mb - bare_mb, 1, most, at_least=False)
        table.add(scenario, *cells.values())
    return table
