"""The cost of a packet-hop against the number of flows, of switch ports, and of packets in flight.

Each point is an ordinary scenario, made here as TOML. The load of a flow or a port is the same at all points; the
simulated time shrinks as they grow, so that a run has about as many packet-hops everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from performance import goals
from performance.goals import Goal
from performance.machine import LoadWatch
from performance.samples import Samples
from performance.simulators import Forebay, Simulator, seconds
from performance.suite import take_turns
from performance.tables import Cell, Table, judged

QUICK_HOPS = 2e5
SHARE_OF_STARTS = 0.25
"""Senders start within this part of a run that is too short for the usual second."""


@dataclass(frozen=True)
class Curve:
    """The varied quantity, its sizes, and the scenario of each size."""

    name: str
    title: str
    unit: str
    sizes: Sequence[int]
    quick_sizes: Sequence[int]
    hops: float
    """A run has about as many, whatever its size."""
    hops_per_simulated_s: float
    """At size 1."""
    least_s: float
    """Simulated time, enough for the senders to start."""
    table: Callable[[int], dict[str, Any]]
    note: str

    def simulated_s(self, size: int, *, quick: bool = False) -> float:
        """Simulated time of a point, two digits of it."""
        hops = QUICK_HOPS if quick else self.hops
        return float(f"{max(hops / (self.hops_per_simulated_s * size), self.least_s):.2g}")

    def scenario(self, size: int, simulated_s: float) -> str:
        """The scenario of a point as TOML."""
        table = self.table(size)
        spread = min(1.0, SHARE_OF_STARTS * simulated_s)
        for group in table["flows"]:
            group["start"] = {"uniform": ["0 s", seconds(spread)]}
        return tomli_w.dumps(
            {
                "name": f"{self.name}-{size}",
                "description": f"Scaling: {size:,} {self.unit}",
                "duration": seconds(simulated_s),
                **table,
            }
        )


TCP = {
    "preset": "basic",
    "segment": "1000 B",
    "max_window_segments": 64,
    "initial_window_segments": 2,
    "min_rto": "200 ms",
    "initial_rto": "3 s",
    "timer_granularity": "10 ms",
}


LEAST_QUEUE = 100
"""In packets, as in scenario c: in a queue of two packets, ten flows would lose much of their load."""


def of_flows(flows: int) -> dict[str, Any]:
    """Scenario c with as many flows; rate and queue of the bottleneck are in proportion to them."""
    return {
        "host_jitter": "none",
        "topology": {
            "dumbbell": {
                "access": {"rate": "25 Mbps", "delay": {"uniform": ["26.5 ms", "51.5 ms"]}},
                "sink_access": {"rate": "25 Mbps", "delay": "1 ms"},
                "bottleneck": {
                    "rate": f"{flows * 2_500_000_000 // 490} bps",
                    "delay": "10 ms",
                    "queue": {"drop_tail": {"limit": f"{max(LEAST_QUEUE, round(flows * 100 / 490))} packets"}},
                },
            }
        },
        "flows": [{"name": "tcp", "count": flows, "transport": {"tcp": {"congestion_control": "newreno", **TCP}}}],
    }


def of_default_flows(flows: int) -> dict[str, Any]:
    """The same network with the senders and hosts that a scenario gets without asking."""
    table = of_flows(flows)
    del table["host_jitter"]
    return {**table, "flows": [{"name": "tcp", "count": flows, "transport": "tcp"}]}


def of_ports(ports: int) -> dict[str, Any]:
    """Scenario d with as many ports, and 490 flows a port."""
    return {
        "host_jitter": "none",
        "topology": {
            "switch": {
                "ports": ports,
                "access": {"rate": "25 Mbps", "delay": {"uniform": ["35.5 ms", "60.5 ms"]}},
                "input": {"rate": "2.5 Gbps", "delay": "1 ms"},
                "output": {"rate": "2.5 Gbps", "delay": "1 ms", "queue": {"drop_tail": {"limit": "14 packets"}}},
                "fabric": {"cioq": {"scheduler": "mwm", "speedup": 1, "voq_limit": "3 packets"}},
            }
        },
        "flows": [{"name": "tcp", "count": 490 * ports, "transport": {"tcp": {"congestion_control": "reno", **TCP}}}],
    }


SENDERS = 10
ROUND_TRIP_S = 0.1


def of_packets(packets: int) -> dict[str, Any]:
    """A bottleneck whose bandwidth-delay product is as many packets, kept full by the windows of ten senders.

    The windows together are the product, and open from the start: nothing is lost, and nothing waits for long.
    """
    rate = round(packets * 8000 / ROUND_TRIP_S)
    window = packets // SENDERS
    tcp = TCP | {"max_window_segments": window, "initial_window_segments": window}
    return {
        "host_jitter": "none",
        "topology": {
            "dumbbell": {
                "access": {"rate": f"{rate} bps", "delay": "1 ms"},
                "bottleneck": {
                    "rate": f"{rate} bps",
                    "delay": "48 ms",
                    "queue": {"drop_tail": {"limit": f"{packets} packets"}},
                },
            }
        },
        "flows": [
            {"name": "tcp", "count": SENDERS, "transport": {"tcp": {"congestion_control": "newreno", **TCP | tcp}}}
        ],
    }


CURVES = (
    Curve(
        "flows",
        "Against the number of flows",
        "flows",
        sizes=(10, 100, 1000, 10_000, 100_000, 1_000_000),
        quick_sizes=(10, 100),
        hops=2e8,
        hops_per_simulated_s=3000,
        least_s=0.4,
        table=of_flows,
        note="Scenario c with more flows or fewer: rate and queue of the bottleneck are in proportion to them, so that "
        "each flow has 5.1 Mb/s. From 100,000 flows on, a run is so short that the senders are still opening their "
        "windows at its end. Memory is that of the process; before results is up to the end of the run phase.",
    ),
    Curve(
        "default-flows",
        "Against the number of flows, as on Linux",
        "flows",
        sizes=(1000, 10_000, 100_000),
        quick_sizes=(10,),
        hops=5e7,
        hops_per_simulated_s=3000,
        least_s=0.4,
        table=of_default_flows,
        note="The same network with the defaults of a scenario: the preset `linux` with CUBIC, SACK, RACK-TLP and "
        "small queues, and hosts with jitter. Such a sender has more state, and more timers.",
    ),
    Curve(
        "ports",
        "Against the number of switch ports",
        "ports",
        sizes=(2, 4, 8, 16, 32),
        quick_sizes=(2, 4),
        hops=2.4e7,
        hops_per_simulated_s=650_000,
        least_s=0.2,
        table=of_ports,
        note="Scenario d with more ports or fewer, 490 flows a port. The maximum weight matching is contained: its "
        "work for a packet grows with the ports.",
    ),
    Curve(
        "in-flight",
        "Against the packets in flight",
        "packets",
        sizes=(10, 100, 1000, 10_000, 100_000, 1_000_000),
        quick_sizes=(10, 100),
        hops=1e8,
        hops_per_simulated_s=60,
        least_s=0.5,
        table=of_packets,
        note="Ten TCP flows whose windows fill a bottleneck with a round-trip time of 0.1 s; its rate is such that "
        "this many packets are on the way.",
    ),
)


def measure_curve(
    curve: Curve,
    forebays: Sequence[Forebay],
    repeats: int,
    folder: Path,
    *,
    quick: bool,
    watch: LoadWatch,
    say: Callable[[str], None],
) -> tuple[list[Samples], list[str]]:
    """All that was measured, and a line for each point that failed. The scenarios are written into the folder."""
    measured, failed = [], []
    for size in curve.quick_sizes if quick else curve.sizes:
        simulated_s = curve.simulated_s(size, quick=quick)
        say(f"[bold]{curve.name}[/]: {size:,} {curve.unit}, {simulated_s:g} s")
        path = folder / f"{curve.name}-{size}.toml"
        path.write_text(curve.scenario(size, simulated_s), encoding="utf-8")
        turns: dict[Simulator, Samples] = {
            forebay: Samples(path.stem, forebay.name, forebay.threads, simulated_s, size) for forebay in forebays
        }
        kept = list(turns.values())
        failed += take_turns(path, turns, repeats, watch)
        measured += [samples for samples in kept if len(samples.runs) == repeats]
    return measured, failed


def curve_table(curve: Curve, measured: Sequence[Samples]) -> Table:
    """A row for each size."""
    of_one = [samples for samples in measured if samples.threads == 1]
    of_more = {samples.size: samples for samples in measured if samples.threads > 1}
    threads = sorted({samples.threads for samples in of_more.values()})
    by_flow = curve.unit == "flows"
    is_judged = curve.name == "flows"
    columns = [curve.unit, "simulated", "Mhops/s", "ns a hop", "start-up, s", "memory, MB"]
    columns += ["bytes a flow", "before results, MB"] if by_flow else []
    table = Table(
        curve.title, [*columns, *(f"wall time shorter with {count} threads" for count in threads)], note=curve.note
    )
    for samples in of_one:
        goal = goals.FLOWS if is_judged and samples.size == goals.FLOWS_JUDGED else Goal()
        most = is_judged and samples.size == goals.MOST_FLOWS
        gigabytes = goals.MOST_FLOWS_GB if most else None
        cells: list[Cell | str] = [
            f"{samples.size:,}",
            f"{samples.simulated_s:g} s",
            judged(samples.mhops_per_cpu_s, 1, goal.mhops_per_cpu_s),
            f"{samples.ns_per_hop:.1f}",
            judged(samples.setup_wall_s, 2, goals.MOST_FLOWS_START_S if most else None, at_least=False),
            judged(samples.peak_mb, 0, None if gigabytes is None else 1000 * gigabytes, at_least=False),
        ]
        if by_flow:
            cells += [bytes_a_flow(samples, of_one[0]), f"{samples.run_peak_mb:,.0f}"]
        if threads:
            more = of_more.get(samples.size)
            shorter = None if more is None else samples.run_wall_s / more.run_wall_s
            least = goal.times_faster_with_two_threads
            cells.append("" if shorter is None else judged(shorter, 2, least, unit=" times"))
        table.add(*cells)
    return table


def bytes_a_flow(samples: Samples, smallest: Samples) -> str:
    """Memory above that of the smallest number of flows, divided among the others."""
    more = samples.size - smallest.size
    return f"{(samples.peak_mb - smallest.peak_mb) * 1e6 / more:,.0f}" if more else ""
