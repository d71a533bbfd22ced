"""Kill the data plane under traffic, and let it end, ten times each: how long nothing arrives."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

from tests.live.lab import SERVER_ADDRESS, Lab, LabError, end
from tests.live.outcome import Options, Outcome, Sheet
from tests.live.plane import Plane, Table, direction

RATE_PPS = 1000
BACKGROUND_PPS = 15_000
WINDOW_S = 1.0
LONGEST_MS = 200
# Of the numbered packets, in a whole run; other work of a loaded machine costs more.
MOST_LOST = 20
COLUMNS = ("method", "event", "times", "longest gap, ms", "median gap, ms", "lost, packets", "twice, packets")


@dataclass
class Arrivals:
    """Which numbers have arrived, and when."""

    times_s: list[float]
    numbers: list[int]

    def gap_ms(self, when_s: float) -> float:
        """The longest time without an arrival from then on, for as long as we look."""
        within = [time_s for time_s in self.times_s if when_s - 0.01 <= time_s <= when_s + WINDOW_S]
        edges = [when_s, *within, when_s + WINDOW_S]
        return 1e3 * max(after - before for before, after in pairwise(edges))

    def lost(self, when_s: float) -> int:
        """How many are missing around then."""
        found = {number for time_s, number in self.near(when_s)}
        return max(found) - min(found) + 1 - len(found) if found else 0

    def twice(self, when_s: float) -> int:
        """How many have arrived more than once around then."""
        found = [number for _, number in self.near(when_s)]
        return len(found) - len(set(found))

    def near(self, when_s: float) -> list[tuple[float, int]]:
        """The packets that arrived around that time."""
        pairs = zip(self.times_s, self.numbers, strict=True)
        return [(time_s, number) for time_s, number in pairs if when_s - 0.1 <= time_s <= when_s + WINDOW_S]


def events(plane: Plane, rounds: int) -> dict[str, list[float]]:
    """Kill it, start it, let it end and start it, several times. Returns when what happened."""
    ends: tuple[tuple[str, Callable[[], object], str], ...] = (
        ("kill -9", plane.kill, "start after it"),
        ("SIGTERM", plane.stop, "start after that"),
    )
    found: dict[str, list[float]] = {name: [] for what, _, after in ends for name in (what, after)}
    for (what, stop, after), _ in product(ends, range(rounds)):
        time.sleep(WINDOW_S + 0.1)
        found[what].append(time.monotonic())
        stop()
        time.sleep(WINDOW_S + 0.1)
        found[after].append(time.monotonic())
        plane.start()
    time.sleep(WINDOW_S + 0.1)
    return found


def measure(outcome: Outcome, sheet: Sheet, io: Table, label: str, rounds: int, quick: bool) -> None:
    """All of it with one method."""
    with Lab() as lab, Plane(lab, direction("dbl", "500 Mbps"), io={"fail_open": True, **io}) as plane:
        until_s = time.monotonic() + 4 * (rounds + 1) * (WINDOW_S + 2)
        receiver = lab.worker("server", "numbered_receive", port=5003, until_s=until_s)
        goal: dict[str, Any] = {"address": SERVER_ADDRESS, "port": 5003, "payload_bytes": 200}
        sender = lab.worker("client", "numbered_send", rate_pps=RATE_PPS, until_s=until_s, **goal)
        background = lab.worker("client", "generate", interface="c0", rate_pps=BACKGROUND_PPS, batch=8)
        found = events(plane, rounds)
        end(background)
        end(sender)
        noted = end(receiver)
    arrivals = Arrivals(noted["times_s"], noted["numbers"])
    for what, times_s in found.items():
        gaps = sorted(arrivals.gap_ms(when_s) for when_s in times_s)
        lost = sorted(arrivals.lost(when_s) for when_s in times_s)
        twice = [arrivals.twice(when_s) for when_s in times_s]
        outcome.numbers[f"{label}: {what}"] = {"gaps_ms": gaps, "lost": lost, "twice": twice}
        spread = f"{lost[0]} to {lost[-1]}", f"{min(twice)} to {max(twice)}"
        sheet.add(label, what, len(times_s), f"{gaps[-1]:.0f}", f"{gaps[len(gaps) // 2]:.0f}", *spread)
        if what in ("kill -9", "SIGTERM"):
            good = sum(gap <= LONGEST_MS for gap in gaps)
            claim = f"{label}: traffic flows again within {LONGEST_MS} ms of {what}"
            outcome.claim(claim, good == len(gaps), f"{good} times of {len(gaps)}")
        if what == "SIGTERM" and not quick:
            claim = f"{label}: a clean end loses at most {MOST_LOST} of {RATE_PPS} packets a second"
            outcome.claim(claim, lost[-1] <= MOST_LOST, f"{lost[-1]} at most")


def run(options: Options) -> Outcome:
    """Kill it."""
    outcome = Outcome("failover")
    title = (
        f"{RATE_PPS} numbered packets a second with {BACKGROUND_PPS} others, through a bridge when the process is gone"
    )
    sheet = outcome.sheet(title, COLUMNS)
    rounds = options.count(10, 3)
    measure(outcome, sheet, {}, "packet sockets", rounds, options.quick)
    if not options.quick:
        try:
            measure(outcome, sheet, {"method": "af_xdp"}, "AF_XDP", rounds, options.quick)
        except LabError as error:
            outcome.notes.append(f"AF_XDP was not measured: {error}")
            outcome.claim("AF_XDP with fail_open runs", False, str(error)[:200])
    return outcome
