"""Five kernel TCP flows, a flood and a ping through each discipline: live, simulated, and in the kernel."""

import statistics
from dataclasses import asdict
from typing import Any

from tests.live import kernel
from tests.live.lab import Lab, need
from tests.live.outcome import Options, Outcome
from tests.live.plane import Plane, by_reason, direction
from tests.live.simulated import SEEDS, simulate
from tests.live.traffic import FRAMING_BYTES, FULL, QUICK, Measured, Times, congestion_control, idle_rtt_s, measure

# Settings for a wire of 100 Mb/s; everything else has its default.
QUEUES: dict[str, dict[str, Any]] = {
    "drop_tail": {"limit": "1000 packets"},
    "red": {"min_threshold": "20 packets", "max_threshold": "60 packets", "max_probability": 0.1, "gentle": True},
    "dbl": {"max_packet_size": "1538 B"},
    "afd": {},
    "sfb": {},
    "fq_codel": {},
    "fq_pie": {},
    "fq": {},
    "hhf": {},
    "dualpi2": {},
    # A cap above the fair share of 16.7 Mb/s: BREATHe requires it.
    "breathe": {"flow_rate_limit": "25 Mbps"},
    # Shapers, behind a faster port.
    "tbf": {"rate": "100 Mbps", "burst": "15380 B", "limit": "1538000 B"},
    "htb": {
        "default_class": "all",
        "classes": [
            {"name": "line", "rate": "100 Mbps"},
            {"name": "all", "parent": "line", "rate": "50 Mbps", "ceil": "100 Mbps"},
        ],
    },
    "cake": {"bandwidth": "100 Mbps"},
}

FLOWS = 6
FAIR_TCP_MBPS = 100 / FLOWS * 1448 / (1514 + FRAMING_BYTES)
FAIR_UDP_MBPS = 100 / FLOWS * 1472 / (1514 + FRAMING_BYTES)
COLUMNS = ("queue", "where", "TCP flows, Mb/s", "TCP together", "flood, Mb/s", "ping median, 99 %, ms", "dropped")


def port_rate(name: str) -> str:
    """The rate of the port with this queue."""
    return "1 Gbps" if name in kernel.SHAPERS else "100 Mbps"


def live(name: str, times: Times, flood: bool = True) -> tuple[Measured, float]:
    """Through forebay-live; returns the idle round trip as well."""
    with Lab() as lab, Plane(lab, direction({name: QUEUES[name]}, port_rate(name))) as plane:
        rtt_s = idle_rtt_s(lab)
        before = by_reason(plane.stats()["dropped"])
        measured = measure(lab, name, "live", times, flood)
        stats = plane.stats()
        after = by_reason(stats["dropped"])
        measured.drops = {reason: count - before.get(reason, 0) for reason, count in after.items()}
        measured.notes["missed_frames"] = stats["missed_frames"]
        measured.notes["refused"] = sum(by_reason(stats["refused"]).values())
        measured.notes["lateness_p99_us"] = 1e6 * stats["lateness"]["p99_s"]
        return measured, rtt_s


def in_kernel(name: str, times: Times) -> Measured | None:
    """Through the kernel's discipline of that name, if it has one."""
    with Lab() as lab:
        if not kernel.send_through(lab, name):
            return None
        measured = measure(lab, name, "kernel", times)
        measured.drops = {"all": kernel.dropped(lab)}
        return measured


def row(measured: Measured) -> list[str]:
    """A row of the table."""
    drops = ", ".join(f"{reason} {count}" for reason, count in measured.drops.items())
    return [
        f"`{measured.queue}`",
        measured.where,
        " ".join(f"{rate:.1f}" for rate in measured.tcp_mbps),
        f"{measured.tcp_total_mbps:.1f}",
        f"{measured.flood_mbps:.1f}",
        f"{measured.ping_p50_ms:.2f}, {measured.ping_p99_ms:.2f}",
        drops or "none",
    ]


def differences(real: Measured, simulated: Measured) -> list[str]:
    """Where the simulator is more than 20 % off."""
    pairs = {
        "TCP together": (real.tcp_total_mbps, simulated.tcp_total_mbps, "Mb/s"),
        "the flood": (real.flood_mbps, simulated.flood_mbps, "Mb/s"),
        "ping median": (real.ping_p50_ms, simulated.ping_p50_ms, "ms"),
        "ping 99 %": (real.ping_p99_ms, simulated.ping_p99_ms, "ms"),
    }
    return [
        f"{real.queue}: {what} is {there:.2f} {unit} live and {here:.2f} {unit} simulated ({here / there - 1:+.0%})"
        for what, (there, here, unit) in pairs.items()
        if there > 0 and abs(here / there - 1) > 0.2
    ]


def check(outcome: Outcome, measured: Measured) -> None:
    """The requirements on DBL and drop-tail."""
    flood, tcp = measured.flood_mbps, measured.tcp_mbps
    if measured.queue == "dbl":
        floor, cap = 0.8 * FAIR_TCP_MBPS, 1.5 * FAIR_UDP_MBPS
        slowest = min(tcp)
        outcome.claim(f"DBL: each TCP flow has at least {floor:.1f} Mb/s", slowest >= floor, f"{slowest:.1f} Mb/s")
        outcome.claim(f"DBL: the flood has at most {cap:.1f} Mb/s", flood <= cap, f"{flood:.1f} Mb/s")
    if measured.queue == "drop_tail":
        outcome.claim("drop-tail: the flood has more than half", flood > 50, f"{flood:.1f} Mb/s")


def run(options: Options) -> Outcome:
    """Measure all of them."""
    need("ping", "tc")
    outcome = Outcome("disciplines")
    times = QUICK if options.quick else FULL
    names = ("drop_tail", "dbl") if options.quick else tuple(QUEUES)
    span_s = times.end_s - times.warm_s
    title = (
        f"Five TCP flows, a UDP flood of 100 Mb/s and a ping through 100 Mb/s, {span_s:g} s; fair: {FAIR_TCP_MBPS:.1f}"
    )
    sheet = outcome.sheet(title, COLUMNS)
    found: list[Measured] = []
    trips_ms: list[float] = []
    for name in names:
        real, rtt_s = live(name, times)
        trips_ms.append(1e3 * rtt_s)
        modelled = simulate(name, QUEUES[name], port_rate(name), rtt_s, times)
        theirs = in_kernel(name, times)
        check(outcome, real)
        if theirs is not None and name in kernel.SHAPERS:
            rates = [measured.tcp_total_mbps + measured.flood_mbps for measured in (real, theirs)]
            claim = f"{name}: the rate of all flows is the kernel's within 2 %"
            outcome.claim(claim, abs(rates[0] / rates[1] - 1) < 0.02, f"{rates[0]:.2f} and {rates[1]:.2f} Mb/s")
        for measured in filter(None, (real, theirs)):
            offered = measured.notes["offered_mbps"]
            if offered < 95:
                outcome.notes.append(f"{name}, {measured.where}: only {offered:.0f} Mb/s of the flood were offered")
        outcome.notes += differences(real, modelled)
        for measured in filter(None, (real, modelled, theirs)):
            found.append(measured)
            sheet.add(*row(measured))
    outcome.notes.insert(0, f"TCP is {congestion_control()}; the simulator's is CUBIC (preset linux), {SEEDS} seeds")
    outcome.notes.insert(1, f"round trip through an idle port: {statistics.median(trips_ms):.2f} ms")
    with Lab() as lab:
        outcome.notes.insert(2, f"this kernel's queue disciplines: {', '.join(kernel.available(lab))}")
    outcome.numbers = {"measured": [asdict(measured) for measured in found], "rtt_ms": trips_ms}
    return outcome
