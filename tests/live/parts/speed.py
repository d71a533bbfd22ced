"""Packets per second: bare forwarding, a DBL port, the kernel; in turns, so that all see the same machine.

Twice: each drains a full ring by itself, and each forwards the frames of a generator.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.live import drain, kernel
from tests.live.lab import Lab, LabError, end
from tests.live.outcome import Options, Outcome
from tests.live.plane import EXAMPLES, Plane, Table, direction

COLUMNS = ("frames", "configuration", "packets/s, median", "lowest", "highest", "Gb/s")
SETTLING_S = 0.7
# Below what a veth pair claims to have, above all that is reached here.
RATE = "9 Gbps"

Way = Callable[[Lab], "Iterator[None]"]


def cores() -> tuple[int | None, int | None]:
    """A core for the generator, and one for what forwards."""
    allowed = sorted(os.sched_getaffinity(0))
    return (allowed[0], allowed[1]) if len(allowed) > 1 else (None, None)


def pinned(table: Table) -> Table:
    """A direction on its own core."""
    _, core = cores()
    return table if core is None else {**table, "cpu": core}


@contextmanager
def bare(lab: Lab, method: str) -> Iterator[None]:
    """The example that forwards and does nothing else."""
    _, core = cores()
    pin = [] if core is None else ["taskset", "-c", str(core)]
    process = lab.start("forebay", *pin, str(EXAMPLES / "forward"), method, "lan0", "wan0")
    time.sleep(0.5)
    if process.poll() is not None:
        raise LabError(f"the example `forward` ended with status {process.returncode}")
    yield
    process.kill()
    process.wait()


@contextmanager
def unqueued(lab: Lab, method: str) -> Iterator[None]:
    """forebay-live with nothing to do in this direction."""
    with Plane(lab, None, inbound=direction("drop_tail", RATE), io={"method": method}):
        yield


@contextmanager
def port(lab: Lab, method: str) -> Iterator[None]:
    """A DBL port."""
    with Plane(lab, pinned(direction("dbl", RATE)), io={"method": method}):
        yield


@contextmanager
def bridged(lab: Lab, qdisc: str) -> Iterator[None]:
    """The kernel's bridge, with a shaper and a queue discipline of its own if one is named."""
    kernel.bridge(lab, firewall=False)
    if qdisc:
        limit = () if qdisc == "fq_codel" else ("limit", "1000")
        kernel.shape(lab, (qdisc, *limit), "9gbit")
    yield


def measure(way: Callable[[Lab, str], object], argument: str, frame_bytes: int, span_s: float) -> tuple[float, float]:
    """Packets per second at the server, and offered, from a generator that sends as fast as it can."""
    with Lab() as lab, way(lab, argument):  # type: ignore[attr-defined]
        core, _ = cores()
        worker = lab.worker("client", "generate", interface="c0", frame_bytes=frame_bytes, cpu=core)
        time.sleep(SETTLING_S)
        begin, first = time.monotonic(), lab.counters("server", "s0").rx_packets
        first_sent = lab.counters("client", "c0").tx_packets
        time.sleep(span_s)
        last = lab.counters("server", "s0").rx_packets
        last_sent = lab.counters("client", "c0").tx_packets
        seconds = time.monotonic() - begin
        end(worker)
    return (last - first) / seconds, (last_sent - first_sent) / seconds


def ways() -> dict[str, tuple[Callable[[Lab, str], object], str]]:
    """The compared configurations, by name."""
    found: dict[str, tuple[Callable[[Lab, str], object], str]] = {}
    for label, method in (("packet sockets", "af_packet"), ("AF_XDP", "af_xdp")):
        if (EXAMPLES / "forward").exists():
            found[f"{label}, bare"] = (bare, method)
        found[f"{label}, no queue"] = (unqueued, method)
        found[f"{label}, DBL"] = (port, method)
    found["kernel bridge"] = (bridged, "")
    found["kernel bridge, HTB and pfifo"] = (bridged, "pfifo")
    with Lab() as lab:
        if "fq_codel" in kernel.available(lab):
            found["kernel bridge, HTB and fq_codel"] = (bridged, "fq_codel")
    return found


def ratios(outcome: Outcome, rates: dict[str, list[float]], frame_bytes: int) -> None:
    """Medians of the ratios of each round."""
    wanted = (
        ("packet sockets, DBL", "packet sockets, bare"),
        ("packet sockets, DBL", "packet sockets, no queue"),
        ("AF_XDP, DBL", "AF_XDP, bare"),
        ("AF_XDP, DBL", "AF_XDP, no queue"),
        ("AF_XDP, bare", "packet sockets, bare"),
        ("AF_XDP, DBL", "packet sockets, DBL"),
        ("packet sockets, DBL", "kernel bridge, HTB and fq_codel"),
        ("packet sockets, DBL", "kernel bridge, HTB and pfifo"),
    )
    sheet = outcome.sheet(
        f"Ratios within a round with one generator, frames of {frame_bytes} B",
        ("configuration", "compared with", "ratio"),
    )
    for above, below in wanted:
        if not rates.get(above) or not rates.get(below):
            continue
        ratio = statistics.median(a / b for a, b in zip(rates[above], rates[below], strict=False))
        outcome.numbers[f"{frame_bytes} B: {above} / {below}"] = ratio
        sheet.add(above, below, f"{ratio:.2f}")


def beside_a_generator(outcome: Outcome, rounds: int, span_s: float) -> None:
    """Measure all of them in turns, each with a generator that sends as fast as it can."""
    chosen = ways()
    table = outcome.sheet(f"Forwarded from one generator, {rounds} rounds of {span_s:g} s in turns", COLUMNS)
    if not (EXAMPLES / "forward").exists():
        outcome.notes.append("bare forwarding is not there: the example `forward` is not built")
    for frame_bytes in (60, 1514):
        rates: dict[str, list[float]] = {name: [] for name in chosen}
        broken: set[str] = set()
        bound: dict[str, int] = {}
        for _ in range(rounds):
            for name, (way, argument) in chosen.items():
                if name in broken:
                    continue
                try:
                    rate, offered = measure(way, argument, frame_bytes, span_s)
                    rates[name].append(rate)
                    bound[name] = bound.get(name, 0) + (rate > 0.98 * offered)
                except LabError as error:
                    broken.add(name)
                    outcome.notes.append(f"{name}, {frame_bytes} B: {error}")
        for name, found in rates.items():
            if found:
                middle = statistics.median(found)
                spread = f"{min(found):,.0f}", f"{max(found):,.0f}"
                table.add(f"{frame_bytes} B", name, f"{middle:,.0f}", *spread, f"{8e-9 * frame_bytes * middle:.2f}")
        outcome.numbers[f"{frame_bytes} B"] = rates
        limited = [name for name, times in bound.items() if times]
        if limited:
            text = "every frame arrived, so the ratio is limited by the generator. This applies to"
            outcome.notes.append(f"{frame_bytes} B: {text}: {', '.join(limited)}")
        ratios(outcome, rates, frame_bytes)


def run(options: Options) -> Outcome:
    """Measure both."""
    outcome = Outcome("speed")
    drain.run(outcome, options.count(200, 20))
    beside_a_generator(outcome, options.count(5, 1), 1.0 if options.quick else 3.0)
    return outcome
